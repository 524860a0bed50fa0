"""The README's findings and docs/results.md, written from the published results alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from pauc_core.files import write_text
from pauc_core.report.frames import ReportError
from pauc_core.report.headlines import answer, overall
from pauc_core.report.tables import plain_md

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
HEAD = """# Results
Written by `make readme` from `results/published`; the page `results/published/report/index.html`
shows the same with the runs behind each number. A table that is not here has no run published.

"""


def claims_of(published_dir: str | Path) -> list[dict[str, Any]]:
    """The published verdicts, one row a claim and regime."""
    path = Path(published_dir) / "claims.csv"
    if not path.is_file():
        raise ReportError(f"{path}: not found; publish a report there first.")
    claims = pd.read_csv(path, keep_default_na=False)
    return [
        {str(key): value for key, value in row.items()}
        for row in claims[claims.scope == "all"].to_dict("records")
    ]


def freshness(published_dir: str | Path) -> str:
    """How many runs are of code that has changed since, and what intervals hold."""
    runs = pd.read_parquet(Path(published_dir) / "collected" / "summaries.parquet")
    stale = int(runs["stale"].fillna(False).astype(bool).sum())
    each = (part for row in claims_of(published_dir) for part in row["basis"].split(", "))
    bases = " or ".join(dict.fromkeys(each))
    return (
        f"Of {len(runs):,} runs {stale:,} are stale: the code has changed since (marked † in the "
        f"tables). Intervals are over {bases}."
    )


def findings(published_dir: str | Path) -> str:
    """What was found, in one line a claim, as Markdown."""
    wholes = claims_of(published_dir)
    lines = [f"{overall(wholes)} {freshness(published_dir)}", ""]
    for name in dict.fromkeys(row["claim"] for row in wholes):
        rows = [row for row in wholes if row["claim"] == name]
        lines.append(f"- **{plain_md(rows[0]['statement'])}** {plain_md(answer(rows))}")
    return "\n".join(lines)


def results(published_dir: str | Path) -> str:
    """Every claim by regime and every published table, as a page of the documentation."""
    published = Path(published_dir)
    lines = [
        "## Claims",
        f"{overall(claims_of(published))} {freshness(published)}",
        "",
        "| claim of the paper | regime | values by | found | measured | interval from |",
        "| --- " * 6 + "|",
    ]
    last = ""
    for row in claims_of(published):
        statement = row["statement"] if row["claim"] != last else ""
        found = f"**{row['verdict']}**"
        values = row["chosen_by"] + (" (check)" if row["check"] else "")
        cells = [statement, row["regime"], values, found, row["note"], row["basis"]]
        lines.append("| " + " | ".join(cells) + " |")
        last = row["claim"]
    lines += ["", "## Tables"]
    # What the paper did not print comes after what it did.
    for path in sorted(
        (published / "tables").glob("*.md"), key=lambda p: (not _printed(p), p.stem)
    ):
        lines += ["", path.read_text(encoding="utf-8").strip()]
    return HEAD + "\n".join(lines) + "\n"


def _printed(table: Path) -> bool:
    return table.stem.startswith("table")


def update_readme(readme_path: str | Path, published_dir: str | Path) -> None:
    """Replace what stands between the markers of the README."""
    readme = Path(readme_path)
    text = readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise ReportError(f"{readme}: expected one line {BEGIN} and after it one line {END}.")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    write_text(readme, f"{head}{BEGIN}\n{findings(published_dir)}\n{END}{tail}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(
            "usage: python -m pauc_core.report.readme README.md docs/results.md results/published"
        )
    update_readme(sys.argv[1], sys.argv[3])
    write_text(Path(sys.argv[2]), results(sys.argv[3]))
