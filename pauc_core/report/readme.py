"""The README's measured part, written from the published results alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from pauc_core.files import write_text
from pauc_core.report.frames import ReportError

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
TABLES = ("table2", "table3", "longtail_valid", "race", "race_time")


def measured_part(published_dir: str | Path) -> str:
    """Claims and the main tables of a published report as Markdown."""
    published = Path(published_dir)
    if not (published / "claims.csv").is_file():
        raise ReportError(f"{published}: no claims.csv; publish a report there first.")
    claims = pd.read_csv(published / "claims.csv", keep_default_na=False)
    wholes = claims[claims.scope == "all"]
    lines = [
        "| claim of the paper | regime | found | measured | interval from |",
        "| --- " * 5 + "|",
    ]
    last = ""
    for row in wholes.to_dict("records"):
        statement = row["statement"] if row["claim"] != last else ""
        cells = [statement, row["regime"], f"**{row['verdict']}**", row["note"], row["basis"]]
        lines.append("| " + " | ".join(cells) + " |")
        last = row["claim"]
    for name in TABLES:
        path = published / "tables" / f"{name}.md"
        if path.is_file():
            lines += ["", path.read_text(encoding="utf-8").strip()]
    return "\n".join(lines)


def update_readme(readme_path: str | Path, published_dir: str | Path) -> None:
    """Replace what stands between the markers of the README."""
    readme = Path(readme_path)
    text = readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ReportError(f"{readme}: expected one line {BEGIN} and after it one line {END}.")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    write_text(readme, f"{head}{BEGIN}\n{measured_part(published_dir)}\n{END}{tail}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m pauc_core.report.readme README.md results/published")
    update_readme(sys.argv[1], sys.argv[2])
