"""Who may import whom, who may touch files and the clock, and how long a file may grow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STANDARD = set(sys.stdlib_module_names)
NUMERICS = {"numpy", "scipy", "numba", "torch", "sklearn", "pauc_core"}
ROOMS = {
    "pauc_core/*.py": NUMERICS | {"tqdm", "pandas"},
    "pauc_core/models/*.py": {"numpy", "torch", "pauc_core"},
    "pauc_core/data/*.py": NUMERICS | {"pandas", "pooch", "PIL", "libsvm", "tqdm", "requests"},
    "pauc_core/suite/*.py": NUMERICS | {"pandas", "tqdm", "yaml", "jsonschema", "threadpoolctl"},
    "pauc_core/report/*.py": {"numpy", "pandas", "scipy", "matplotlib", "seaborn", "plotly"}
    | {"jinja2", "yaml", "pauc_core", "markupsafe"},
    "baselines/*.py": {"numpy", "scipy", "sklearn", "torch", "pauc_core"},
}
# The faces for people are allowed what the mathematics is not.
FACES = {"command.py", "estimator.py", "model_file.py", "provenance.py"}


def files(pattern: str) -> list[Path]:
    return sorted(ROOT.glob(pattern))


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("pattern", ROOMS)
def test_a_room_imports_only_what_it_may(pattern):
    for path in files(pattern):
        if path.name in FACES:
            continue
        tops = {name.partition(".")[0] for name in imports(path)}
        extra = tops - STANDARD - ROOMS[pattern]
        assert not extra, f"{path.relative_to(ROOT)} imports {sorted(extra)}"


def test_the_mathematics_knows_no_room_around_it():
    for path in [*files("pauc_core/*.py"), *files("pauc_core/models/*.py")]:
        if path.name in FACES | {"__init__.py"}:
            continue
        for name in imports(path):
            assert not re.match(r"pauc_core\.(suite|report)", name), f"{path} imports {name}"


def test_the_data_room_knows_no_method():
    methods = r"pauc_core\.(agd|solver|suite|report)|baselines"
    for path in files("pauc_core/data/*.py"):
        bad = {n for n in imports(path) if re.match(methods, n)}
        bad -= {"pauc_core.suite.files", "pauc_core.solver"}
        assert not bad, f"{path} imports {bad}"


def test_a_baseline_knows_no_other():
    for path in files("baselines/*.py"):
        assert not {n for n in imports(path) if n.startswith("baselines")}, path


@pytest.mark.parametrize("pattern", ["pauc_core/*.py", "pauc_core/models/*.py", "baselines/*.py"])
def test_numerics_never_print_or_open_or_read_the_clock(pattern):
    for path in files(pattern):
        if path.name in FACES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "open"), f"{path}:{node.lineno}"
        if path.name != "solver.py":
            assert "time" not in imports(path), f"{path} reads the clock"


def test_nobody_uses_a_global_generator():
    pattern = re.compile(
        r"np\.random\.(seed|rand|randn|randint|choice|shuffle)\(|torch\.manual_seed"
    )
    for path in [*files("pauc_core/**/*.py"), *files("baselines/*.py")]:
        assert not pattern.search(path.read_text()), path


def test_scripts_take_everything_through_the_rule():
    for path in files("workflow/scripts/*.py"):
        assert "snakemake.config" not in path.read_text(), path


def test_files_stay_short():
    for path in [*files("pauc_core/**/*.py"), *files("workflow/**/*.py")]:
        assert path.read_text().count("\n") <= 350, f"{path} is two rooms in one"
    for path in files("baselines/*.py"):
        assert path.read_text().count("\n") <= 160, f"{path}: the runner should own more of it"
    assert (ROOT / "Snakefile").read_text().count("\n") < 60


def test_the_metric_costs_neither_torch_nor_scikit_learn():
    code = (
        "import sys; from pauc_core import pauc; pauc([0, 1], [0.0, 1.0]);"
        "print({'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "set()", done.stdout + done.stderr


def test_no_program_writes_the_reference():
    for path in [*files("pauc_core/**/*.py"), *files("workflow/scripts/*.py")]:
        assert not re.search(r"reference.*\.write|to_csv\([^)]*reference", path.read_text()), path
