"""Without torch, without the suite's packages, as a wheel: what `pip install .` alone promises."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.projects import tiny_project
from tests.test_runner import data  # noqa: F401
from tests.test_workflow import NEW, ROOT, copy_project

# What the extras [suite] and [dev] bring and a plain install does not.
EXTRAS = (
    "torch", "snakemake", "pyarrow", "libsvm", "pooch", "PIL", "matplotlib", "seaborn", "plotly",
    "jinja2", "jsonschema", "yaml", "pytest", "hypothesis",
)  # fmt: skip
HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""
TABLE = """
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
y = rng.random(1500) < 0.2
x = rng.normal(size=(1500, 3)) + y[:, None]
pd.DataFrame(x, columns=list("abc")).assign(y=y.astype(int)).to_csv("rows.csv", index=False)
pd.read_csv("rows.csv").to_csv("rows.tsv", index=False, sep="\\t")
open("rows.parquet", "wb").close()
open("rows.txt", "w").write("1 1:2\\n")
"""
LIGHT = """
import pauc_core
from pauc_core.own_data.command import main
model = pauc_core.PartialAUCClassifier(random_state=0).fit(x, y)
print("fitted", model.score(x, y) > 0.7)
assert main(["fit", "rows.csv", "--label", "y", "--quiet", "-o", "model.npz"]) == 0
assert main(["score", "model.npz", "rows.tsv"]) == 0
"""


def without(names: tuple[str, ...], code: str, folder: Path) -> subprocess.CompletedProcess:
    """Run code in a fresh process in which some packages cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", HIDE.format(names=names) + code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


ASK = """
for line in (
    ["fit", "rows.txt", "-o", "m.npz"],
    ["fit", "rows.parquet", "--label", "y", "-o", "m.npz"],
    ["score", "model.npz", "rows.csv", "--roc", "r.png"],
):
    assert main(line) == 1
"""


def test_without_any_extra_the_estimator_fits_and_the_command_scores(tmp_path):
    """What does need an extra says so in one sentence."""
    done = without(EXTRAS, TABLE + LIGHT + ASK, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "fitted True" in done.stdout
    assert "pAUC " in done.stdout
    text, parquet, plot = [x for x in done.stderr.splitlines() if x.startswith("pauc: ")]
    assert "needs the package libsvm-official: pip install libsvm-official, or give" in text
    assert "needs the package pyarrow: pip install pyarrow, or give the rows as CSV" in parquet
    assert "needs the package matplotlib: pip install matplotlib" in plot
    assert "Traceback" not in done.stderr


LINEAR = """
from pathlib import Path
import yaml
from pauc_core.suite.checkpoint import FileKeeper
from pauc_core.suite.one_run import run_one
from tests.test_runner import spec
methods = yaml.safe_load(Path({root!r}, "config/methods.yaml").read_text())
for name in {methods!r}:
    line = methods[name]
    kept = Path(name + ".npz")
    run = spec(line["use"], method=name, budget={{"epochs": 1.0}})
    found = run_one(run, line.get("params", {{}}), 0, Path({data!r}), keeper=FileKeeper(kept, 0.0))
    again = run_one(run, line.get("params", {{}}), 0, Path({data!r}), keeper=FileKeeper(kept, 1e9))
    same = [(a == b).all() for one, two in zip(found["scores"], again["scores"], strict=True)
            for a, b in zip(one[1:], two[1:], strict=True)]
    assert kept.exists() and same and all(same), name
    print(name, found["summary"]["outcome"])
"""
METHODS = (
    "agd_sbcd", "dca", "proximal_dca", "svm_pauc_tight", "exact_lbfgs", "logistic_regression",
    "random_scores",
)  # fmt: skip


def test_linear_methods_run_and_resume_without_torch(data, tmp_path):  # noqa: F811
    code = LINEAR.format(root=str(ROOT), methods=METHODS, data=str(data))
    done = without(("torch",), code, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = dict(text.split() for text in done.stdout.splitlines())
    assert set(outcomes) == set(METHODS)
    assert set(outcomes.values()) <= {"budget", "converged"}


def test_guests_are_found_beside_the_snakefile(tmp_path):
    """Plain `snakemake` and its scripts take guests and package from there, not from an install."""
    project = tiny_project(tmp_path / "project", ["new"], epochs=1)
    (project / "baselines/new.py").write_text(NEW)
    with (project / "config/methods.yaml").open("a") as handle:
        handle.write('new: {use: "baselines.new:New", label: New, params: {sign: 1.0}}\n')
    for name in ("pauc_core", "baselines"):
        (tmp_path / "installed" / name).mkdir(parents=True)
        (tmp_path / "installed" / name / "__init__.py").write_text("raise ImportError('older')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    program = [str(Path(sys.executable).parent / "snakemake"), "--cores", "1", "linear"]
    for more in (["-n"], []):
        done = subprocess.run(
            [*program, *more], cwd=project, env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        assert "fit_new" in done.stdout + done.stderr
    (summary,) = (project / "results/default/runs").rglob("summary.jsonl")
    assert '"outcome": "converged"' in summary.read_text()


@pytest.mark.slow
def test_a_wheel_is_built_installed_and_used(tmp_path):
    """The wheel holds the package with its data files and nothing else, and works by itself.

    Its dependencies are not fetched: a new environment sees those of this one. That they are
    enough is what the tests above show, by hiding all others.
    """
    source = copy_project(tmp_path / "source")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(tmp_path), str(source)],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env/bin/python"
    subprocess.run([*pip, "--python", str(python), "install", "--no-deps", str(wheel)], check=True)
    shown = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    site = Path(shown.stdout.strip())
    tops = {name.partition("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"pauc_core"}
    for name in ("py.typed", "report/page.css", "report/page.html.j2"):
        assert (site / "pauc_core" / name).exists(), name
    # Added to the path as it is: .pth files of that folder, so editable installs, have no effect.
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": sysconfig.get_path("purelib")}
    code = HIDE.format(names=EXTRAS) + TABLE + LIGHT + "print(pauc_core.__file__)"
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(site) in done.stdout
    command = [tmp_path / "env/bin/pauc", "score", "model.npz", "rows.csv"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "pAUC " in done.stdout
