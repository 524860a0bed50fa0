"""A hook of mkdocs: pages from beside docs/ join the site, and every public name is listed."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

PAGES = {
    "reference/deviations.md": "deviations.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
MODULES = ("metrics", "intervals", "objective", "solver", "agd_sbcd", "influence", "repeats")
LINK = re.compile(r"\[([^\]]*)\]\(\.\./([^)#]+)(#[^)]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A page that the contents do not name comes last, so that every page can be reached."""
    named = re.findall(r"[\w-]+\.md", repr(config["nav"]))
    pages = sorted(path.name for path in Path(config["docs_dir"]).glob("*.md"))
    more = [name for name in pages if name not in named]
    if more:
        config["nav"].append({"More": more})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    from mkdocs.structure.files import File  # a test without mkdocs reads the rest

    root = Path(config["config_file_path"]).parent
    for source, name in PAGES.items():
        text = (root / source).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    files.append(File.generated(config, "api.md", content=reference(root / "pauc_core")))
    return files


def reference(package: Path) -> str:
    """Every public name once: those of the package itself first, then those of its modules."""
    homes = _assigned(package / "__init__.py", "_HOMES")
    lines = ["# Reference", "Every public name, from its docstring.", "", "## pauc_core"]
    lines += [f"::: pauc_core.{home}.{name}" for name, home in sorted(homes.items())]
    shown = set(homes)
    for module in MODULES:
        path = package / f"{module}.py"
        path = path if path.is_file() else package / module / "__init__.py"
        names = [name for name in _assigned(path, "__all__") if name not in shown]
        shown |= set(names)
        lines += ["", f"## pauc_core.{module}", f"::: pauc_core.{module}", HEAD]
        lines += [f"::: pauc_core.{module}.{name}" for name in names]
    return "\n".join(lines) + "\n"


HEAD = "    options: {members: false, show_root_heading: false, show_root_toc_entry: false}"


def _assigned(path: Path, name: str) -> Any:
    """The literal value of a module's name, read without importing it."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            assert isinstance(node, ast.Assign)
            return ast.literal_eval(node.value)
    raise ValueError(f"{path} does not say {name} = ... .")


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links out of docs/: to a page of the site where there is one, else the file's name alone."""

    def turned(found: re.Match[str]) -> str:
        words, path, anchor = found.group(1), found.group(2), found.group(3) or ""
        return f"[{words}]({PAGES[path]}{anchor})" if path in PAGES else f"{words} (`{path}`)"

    return LINK.sub(turned, markdown)
