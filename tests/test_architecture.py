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
# The rooms of pauc_core in the order in which they build on each other, each with the packages it
# may import. A room knows those before it and none after it.
NUMERICS = {"numpy", "scipy", "numba"}
ROOMS = {
    "bands": {"numpy"},
    "labelled": {"numpy"},
    "metrics": {"numpy"},
    "influence": {"numpy"},
    "intervals": {"numpy", "scipy"},
    "repeats": {"numpy", "scipy"},
    "files": set(),
    "objective": NUMERICS | {"torch"},
    "solver": NUMERICS | {"torch"},
    "models": NUMERICS | {"torch"},
    "agd_sbcd": NUMERICS | {"torch"},
    "data": NUMERICS | {"torch", "sklearn", "pandas", "pooch", "PIL", "libsvm", "tqdm", "requests"},
    "own_data": NUMERICS | {"sklearn", "pandas", "tqdm", "matplotlib", "threadpoolctl"},
    "suite": NUMERICS | {"torch", "pandas", "tqdm", "yaml", "jsonschema", "threadpoolctl"},
    "report": NUMERICS
    | {"pandas", "matplotlib", "seaborn", "plotly", "jinja2", "yaml", "markupsafe"},
}
MATHEMATICS = (
    "bands",
    "labelled",
    "metrics",
    "influence",
    "intervals",
    "repeats",
    "objective",
    "solver",
    "models",
    "agd_sbcd",
)
# What a room may know of rooms after it: the suite writes the report that its runs are for.
BEYOND = {"pauc_core.suite.publish": {"report"}}
BASELINES = {"numpy", "scipy", "numba", "sklearn", "torch", "xgboost", "pauc_core"}


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


def room(path: Path) -> str:
    """The room that a module of pauc_core lies in."""
    return path.relative_to(ROOT / "pauc_core").parts[0].removesuffix(".py")


def modules(*rooms: str) -> list[Path]:
    return [path for path in files("pauc_core/**/*.py") if room(path) in rooms]


def test_every_module_lies_in_a_room():
    assert {room(path) for path in files("pauc_core/**/*.py")} == {*ROOMS, "__init__"}


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_imports_only_what_it_may(name):
    for path in modules(name):
        tops = {found.partition(".")[0] for found in imports(path)}
        extra = tops - STANDARD - ROOMS[name] - {"pauc_core"}
        assert not extra, f"{path.relative_to(ROOT)} imports {sorted(extra)}"


@pytest.mark.parametrize("name", ROOMS)
def test_a_room_knows_only_those_before_it(name):
    order = list(ROOMS)
    for path in modules(name):
        dotted = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        known = {*order[: order.index(name) + 1], *BEYOND.get(dotted, set())}
        for found in imports(path):
            top, _, rest = found.partition(".")
            if top == "pauc_core" and rest:
                assert rest.partition(".")[0] in known, f"{path.relative_to(ROOT)} imports {found}"


def test_the_data_room_knows_no_method():
    for path in modules("data"):
        bad = {n for n in imports(path) if re.match(r"pauc_core\.(agd_sbcd|own_data)|baselines", n)}
        assert not bad, f"{path} imports {bad}"


def test_a_baseline_imports_only_what_it_may():
    for path in files("baselines/*.py"):
        extra = {found.partition(".")[0] for found in imports(path)} - STANDARD - BASELINES
        assert not extra, f"{path.relative_to(ROOT)} imports {sorted(extra)}"


def test_nobody_uses_scikit_learns_private_modules():
    for path in [*files("pauc_core/**/*.py"), *files("baselines/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            private = [n for n in names if n.startswith("sklearn.") and "._" in n]
            assert not private, f"{path.relative_to(ROOT)} imports {private}"


def test_a_baseline_knows_no_other():
    for path in files("baselines/*.py"):
        assert not {n for n in imports(path) if n.startswith("baselines")}, path


def test_numerics_never_print_or_open_or_read_the_clock():
    for path in [*modules(*MATHEMATICS), *files("baselines/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("print", "open"), f"{path}:{node.lineno}"
        if path.relative_to(ROOT) != Path("pauc_core/solver/loop.py"):
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


@pytest.mark.parametrize(
    "name",
    ["benchmarks/latest.csv", "benchmarks/latest.unfinished", "docs/.part-x/table", "data/raw/a9a"],
)
def test_what_programs_write_beside_the_sources_is_ignored_by_git(name):
    if not (ROOT / ".git").exists():
        pytest.skip("no git here")
    done = subprocess.run(["git", "check-ignore", "-q", name], cwd=ROOT)
    assert done.returncode == 0, name
