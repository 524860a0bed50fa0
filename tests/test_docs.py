"""The documentation: its code runs, its links lead somewhere, every public name is told of."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import shlex
import shutil
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import pauc_core
from pauc_core.own_data.command import main as command

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
MODULES = ("metrics", "intervals", "objective", "solver", "agd_sbcd", "influence", "repeats")


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text("utf-8")) if kind == language]


def named(pages: list[Path], *languages: str) -> list[Any]:
    return [
        pytest.param(page, id=page.stem)
        for page in pages
        if any(blocks(page, language) for language in languages)
    ]


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A folder with the files, and the names, that the pages take as the reader's own."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(800) % 5 == 0
    x = rng.standard_normal((800, 4)) + 1.2 * y[:, None]
    for name, rows in {
        "train": slice(0, 600),
        "test": slice(600, 800),
        "mine": slice(0, 800),
    }.items():
        columns = np.column_stack([x, y, np.arange(len(y)) // 4])[rows]
        np.savetxt(f"{name}.csv", columns, delimiter=",", header="a,b,c,d,y,patient", comments="")
    unlabelled = np.column_stack([x, np.arange(len(y)) // 4])[600:]
    np.savetxt("new.csv", unlabelled, delimiter=",", header="a,b,c,d,patient", comments="")
    first, second = (x[600:] @ rng.random(4) for _ in range(2))
    for name, scores in (("a", first), ("b", second)):
        columns = np.column_stack([scores, y[600:]])
        np.savetxt(f"{name}.csv", columns, delimiter=",", header="score,y", comments="")
    return {
        "__name__": "page", "X": x, "y": y.astype(int), "X_train": x[:600], "y_train": y[:600],
        "X_test": x[600:], "y_test": y[600:], "scores": first, "scores_new": first,
        "scores_old": second, "patients": np.arange(600, 800) // 4,
    }  # fmt: skip


def own_network(names: dict[str, Any]) -> None:
    """For a block about torch: a network, a batch and its labels."""
    import torch

    names["network"] = torch.nn.Linear(4, 1)
    names["x"] = torch.as_tensor(names["X"], dtype=torch.float32)
    names["y"] = torch.as_tensor(names["y"])


@pytest.mark.parametrize("page", named(PAGES, "python"))
def test_the_code_of_a_page_runs(page: Path, given: dict[str, Any]) -> None:
    for number, text in enumerate(blocks(page, "python")):
        if "network(" in text and "network =" not in text:
            own_network(given)
        # Lambdas and classes of a page look their names up in one place, as in a session.
        exec(compile(text, f"{page.name}, block {number + 1}", "exec", dont_inherit=True), given)


def commands(page: Path) -> list[list[str]]:
    """The lines of plain blocks that begin with pauc; a transcript has a test of its own."""
    lines = [line for text in blocks(page, "") for line in text.splitlines()]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("pauc ")]


@pytest.mark.parametrize("page", [pytest.param(p, id=p.stem) for p in PAGES if commands(p)])
def test_the_commands_of_a_page_run(page: Path, given: dict[str, Any]) -> None:
    for arguments in commands(page):
        assert command(arguments) == 0, arguments


def test_entries_shown_are_entries_that_work(given: dict[str, Any]) -> None:
    from pauc_core.data.table_loaders import load_table

    shown = {}
    for page in PAGES:
        for text in blocks(page, "yaml"):
            shown |= yaml.safe_load(text)
    assert {"new", "gradient_descent", "mine"} <= set(shown)
    for name in ("new", "gradient_descent"):
        assert set(shown[name]) == {"use", "label", "params"}
    loaded = load_table("mine", {**shown["mine"], "label": "y"}, Path())
    assert loaded.y.sum() == 160


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_links_lead_to_files(page: Path) -> None:
    for link in LINK.findall(page.read_text("utf-8")):
        if not link.startswith(("http", "#")):
            assert (page.parent / link.partition("#")[0]).exists(), link


def public() -> dict[str, Any]:
    """Every public name with what it is."""
    found = {f"pauc_core.{name}": getattr(pauc_core, name) for name in pauc_core.__all__}
    for module in MODULES:
        home = importlib.import_module(f"pauc_core.{module}")
        found |= {f"pauc_core.{module}.{name}": getattr(home, name) for name in home.__all__}
    return found


@pytest.mark.parametrize("name", public())
def test_public_names_have_docstrings(name: str) -> None:
    what = public()[name]
    if not (inspect.isclass(what) or inspect.isfunction(what)):
        pytest.skip("a value or an alias of a type: explained where it is set.")
    assert inspect.getdoc(what), name
    for member, value in vars(what).items() if inspect.isclass(what) else ():
        told = inspect.isfunction(value) or isinstance(
            value, (property, cached_property, classmethod)
        )
        if told and not member.startswith("_") and member not in CONTRACT:
            assert inspect.getdoc(getattr(what, member)), f"{name}.{member}"


CONTRACT = ("init", "step")  # explained once, in the contract of a method


def test_the_reference_lists_every_public_name() -> None:
    spec = importlib.util.spec_from_file_location("site", ROOT / "docs" / "site_files.py")
    assert spec
    assert spec.loader
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    text = site.reference(ROOT / "pauc_core")
    assert set(site.MODULES) == set(MODULES)
    for name in public():
        assert f".{name.rpartition('.')[2]}\n" in text


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = " ".join(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)).split()
    recipe = makefile.partition("\nhelp:\n")[2].partition("\n\n")[0]
    listed = re.findall(r"make ([a-z][a-z-]*)", recipe)
    assert set(listed) == set(targets) - {"help"}
    rules = re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, re.MULTILINE)
    assert set(rules) == set(targets), "every target is phony, and every phony one is there"


def test_citation_names_what_a_citation_needs() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert str(cited["cff-version"]) == "1.2.0"
    assert {"message", "title", "authors", "version", "license"} <= set(cited)
    assert str(cited["version"]) == pauc_core.__version__
    known = {"article", "book", "conference-paper", "generic", "software", "unpublished"}
    for entry in cited["references"]:
        assert {"type", "title", "authors"} <= set(entry)
        assert entry["type"] in known
        assert all({"family-names", "given-names"} <= set(person) for person in entry["authors"])
    checker = shutil.which("cffconvert")
    if checker:
        subprocess.run([checker, "--validate"], cwd=ROOT, check=True, capture_output=True)


def test_workflows_of_ci_are_well_formed() -> None:
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    assert files
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for path in files:
        flow = yaml.safe_load(path.read_text("utf-8"))
        assert flow["permissions"] == {"contents": "read"}
        for job in flow["jobs"].values():
            assert job["timeout-minutes"] <= 60
            for step in job["steps"]:
                if "uses" in step:
                    assert re.search(r"@[0-9a-f]{40}$", step["uses"]), "pinned by its commit"
                for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
                    assert f"\n{target}:" in makefile, target
    for tool, arguments in {
        "zizmor": ["--offline", "--quiet"],
        "check-jsonschema": ["--builtin-schema", "vendor.github-workflows"],
    }.items():
        found = shutil.which(tool, path=f"{Path(sys.executable).parent}:{ROOT / '.venv-docs/bin'}")
        if found:
            done = subprocess.run([found, *arguments, *files], capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr


def test_every_number_of_the_findings_stands_in_the_results() -> None:
    told = (ROOT / "docs/findings.md").read_text("utf-8")
    found = set(re.findall(r"(?<![\d.])0\.\d{4}(?!\d)", told))
    results = (ROOT / "docs/results.md").read_text("utf-8")
    assert len(found) >= 8
    assert not {number for number in found if number not in results}
