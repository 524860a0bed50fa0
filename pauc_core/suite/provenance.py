"""Where a number comes from: the code it used, the versions, the machine."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "pandas", "xgboost-cpu")
PROJECT = ("pauc_core", "baselines")

# What decides the numbers of every run besides its method: how stored arrays are read and split,
# what the specification makes of the configuration, and how problem, loop and summary follow from
# it. They import the loop, the metric and the objective.
EVERY_RUN = (
    "pauc_core.data.prepared",
    "pauc_core.data.splits",
    "pauc_core.suite.run_spec",
    "pauc_core.suite.one_run",
)
TUNED_RUN = ("pauc_core.suite.choice",)
GUEST = ("pauc_core.suite.guests", "pauc_core.suite.guest_files")
# A run's imports are followed into the mathematics, and into the package that its method is from.
# Not into other rooms: a configuration's values are among a rule's params, what arrays hold has a
# checksum.
DECIDING = (
    "bands", "labelled", "metrics", "influence", "intervals", "repeats", "objective", "solver",
    "models", "agd_sbcd",
)  # fmt: skip


def run_digest(use: str, *, model: str, params: Mapping[str, Any], tuned: bool) -> str:
    """Digest of all code that decides the numbers of a run of the method ``module:Class``."""
    code = _digest(run_modules(use, model=model, params=params, tuned=tuned))
    return code if ":" in use else _with_program(code, use)


def _with_program(code: str, use: str) -> str:
    """A guest's digest: what the suite does with it, and the bytes of its program."""
    path = Path(__file__).parents[2] / use
    program = path.read_bytes() if path.is_file() else b""
    return hashlib.sha256(code.encode() + program).hexdigest()[:16]


def run_modules(use: str, *, model: str, params: Mapping[str, Any], tuned: bool) -> set[str]:
    """The modules whose text decides a run's numbers.

    Imports inside functions are of what needs torch: they count for networks, and for a linear
    model that was given a device.
    """
    method = (use.partition(":")[0],) if ":" in use else GUEST
    rooms = {f"pauc_core.{room}" for room in DECIDING} | (
        {method[0].partition(".")[0]} - {"pauc_core"}
    )
    return _closure(
        [*method, *EVERY_RUN, *(TUNED_RUN if tuned else ())],
        follow=lambda name: any(name == room or name.startswith(f"{room}.") for room in rooms),
        inner=model != "linear" or params.get("device") is not None,
    )


def is_stale(line: Mapping[Any, Any]) -> bool:
    """Whether the code that decides a summary line's numbers is no longer what made them."""
    params = line["params"]
    present = run_digest(
        line["use"],
        model=line["model"],
        params=json.loads(params) if isinstance(params, str) else params,
        tuned=bool(line["tuned"]),
    )
    return present != line["code_digest"]


def code_digest(module: str) -> str:
    """Digest of a module and of all project modules that it imports: for what makes no run."""
    follow = {*PROJECT, module.partition(".")[0]}
    return _digest(_closure([module], lambda name: name.partition(".")[0] in follow, inner=True))


def _digest(modules: set[str]) -> str:
    """Of the modules' syntax trees: comments, docstrings and layout do not count."""
    digest = hashlib.sha256()
    for name in sorted(modules):
        digest.update(f"{name}\n{_tree(_source(name) or '')}\n".encode())
    return digest.hexdigest()[:16]


def _closure(modules: list[str], follow: Callable[[str], bool], inner: bool) -> set[str]:
    """The modules and those that they import and that are to be followed."""
    seen: set[str] = set()
    todo = list(modules)
    while todo:
        module = todo.pop()
        text = None if module in seen else _source(module)
        if text is not None:
            seen.add(module)
            todo.extend(name for name in _imports(text, inner) if follow(name))
    return seen


@cache
def _imports(text: str, inner: bool) -> tuple[str, ...]:
    """What a module's text imports, inside its functions too where wanted; not for types alone."""
    reader = _Imports(inner)
    reader.visit(ast.parse(text))
    return tuple(sorted(reader.found))


class _Imports(ast.NodeVisitor):
    def __init__(self, inner: bool) -> None:
        self.inner = inner
        self.found: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        self.found.update(alias.name for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module:  # relative imports are not used
            self.found.update((node.module, *(f"{node.module}.{a.name}" for a in node.names)))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if self.inner:
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            self.generic_visit(node)


@cache
def _source(module: str) -> str | None:
    """Text of a module, or None where the name is no module (say, a function in one).

    Python's own search would import what stands before the last dot, torch with it.
    """
    top, *inner = module.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None:
        return None
    if not inner:
        path = Path(spec.origin or "")
        return path.read_text(encoding="utf-8") if path.suffix == ".py" else None
    for place in spec.submodule_search_locations or ():
        path = Path(place, *inner)
        for file in (path.with_name(f"{path.name}.py"), path / "__init__.py"):
            if file.is_file():
                return file.read_text(encoding="utf-8")
    return None


@cache
def _tree(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
            and isinstance(body[0].value.value, str)
        ):
            node.body = body[1:]
    return ast.dump(tree)


@cache
def versions() -> dict[str, str]:
    """Python's version and those of the packages that numbers depend on."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def machine() -> dict[str, str | int]:
    """Cores and processor, without a name that would tell whose machine it was."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return {"cores": os.cpu_count() or 1, "cpu": model, "system": platform.system()}


def commit(folder: Path) -> str:
    """The checked-out commit, with a mark where the tree differs from it; or "unknown"."""
    git = ["git", "-C", str(folder)]
    try:
        head = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True
        )
        dirty = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True
        )
    except OSError:
        return "unknown"
    if head.returncode:
        return "unknown"
    return head.stdout.strip() + ("+changes" if dirty.stdout.strip() else "")
