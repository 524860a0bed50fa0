"""Makes what is published: collected frames in, tables, figures, comparison, claims and page out.

``python -m pauc_core.suite.publish results/published [results/open]`` first collects the finished
runs of a scale, where one is named; without it everything is made again from the frames that are
there. No solver runs.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from pauc_core.report.claims import make_claims
from pauc_core.report.compare import make_comparison
from pauc_core.report.figures import make_figures
from pauc_core.report.page import make_page
from pauc_core.report.tables import make_tables
from pauc_core.suite.collect import collect

REFERENCE, REPORTS = Path("reference"), Path("config/reports.yaml")


def publish(published: Path, scale: Path | None = None) -> None:
    """Write everything that follows from ``published/collected``."""
    collected = published / "collected"
    if scale is not None:
        _take(scale, published)
    if not (collected / "meta.json").exists():
        raise SystemExit(f"{collected} holds no collected frames; name the folder of a scale.")
    inputs = (collected, REFERENCE, REPORTS)
    make_tables(*inputs, published / "tables")
    make_figures(*inputs, published / "figures")
    make_comparison(*inputs, published / "comparison.csv")
    make_claims(*inputs, published / "claims.csv")
    make_page(
        collected,
        published / "tables",
        published / "figures",
        published / "comparison.csv",
        published / "claims.csv",
        REPORTS,
        published / "report/index.html",
    )


def _take(scale: Path, published: Path) -> None:
    """Collect the runs that are finished, and keep their summary lines beside the frames."""
    summaries = sorted(scale.glob("runs/*/*/*/seeds-*/summary.jsonl"))
    used = {path.parts[-4].partition("@")[0] for path in summaries}
    collect(
        summaries,
        scale.glob("tuned/*/*/*.trials.json"),
        [path for path in scale.glob("data/*/meta.json") if path.parent.name in used],
        scale / "collected",
        scale=scale.name,
        settings={},
        root=Path.cwd(),
    )
    for folder in ("collected", "runs"):
        shutil.rmtree(published / folder, ignore_errors=True)
    shutil.copytree(scale / "collected", published / "collected")
    for path in summaries:
        target = published / path.relative_to(scale)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m pauc_core.suite.publish results/published [results/SCALE]")
    publish(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None)
