"""Where a number comes from: the code it used, the versions, the machine."""

from __future__ import annotations

import ast
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import subprocess
from functools import cache
from pathlib import Path

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "torch", "pandas")
PROJECT = ("pauc_core", "baselines")


def code_digest(use: str) -> str:
    """Digest of the syntax trees of ``module[:Class]`` and of the project modules it imports.

    Comments, docstrings and layout do not count, so rewording changes nothing; a change of the
    mathematics changes the digest of every method that uses it.
    """
    digest = hashlib.sha256()
    for name in sorted(_closure(use.partition(":")[0])):
        digest.update(f"{name}\n{_tree(_source(name) or '')}\n".encode())
    return digest.hexdigest()[:16]


def _closure(name: str) -> set[str]:
    seen: set[str] = set()
    todo = [name]
    while todo:
        module = todo.pop()
        if module in seen or _source(module) is None:
            continue
        seen.add(module)
        todo.extend(_imports(module))
    return seen


@cache
def _imports(module: str) -> tuple[str, ...]:
    """Project modules that a module imports anywhere in its text; relative imports are not used."""
    found: set[str] = set()
    top = module.partition(".")[0]
    for node in ast.walk(ast.parse(_source(module) or "")):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        found.update(name for name in names if name.partition(".")[0] in {*PROJECT, top})
    return tuple(sorted(found))


@cache
def _source(module: str) -> str | None:
    """Text of a module, or None where the name is no module (say, a function in one)."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin).read_text()


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
