"""Makes what is published: collected frames in, tables, figures, comparison, claims and page out.

``python -m pauc_core.suite.publish results/published [results/open]`` first collects the finished
runs of a scale, where one is named, and puts them in the place of those published;
without it everything is made again from the frames that are there. No solver runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pauc_core.report.frames import load_reports
from pauc_core.report.report import build_report, write_report
from pauc_core.suite.collect import collect
from pauc_core.suite.columns import ColumnError
from pauc_core.suite.configuration import load
from pauc_core.suite.frames import read_frames, write_frames
from pauc_core.suite.merging import merge
from pauc_core.suite.provenance import is_stale

REFERENCE, REPORTS = Path("reference"), Path("config/reports.yaml")


def publish(published: Path, scale: Path | None = None) -> None:
    """Write everything that follows from ``published/collected``."""
    collected = published / "collected"
    if scale is not None:
        _take(scale, published)
    if not (collected / "meta.json").exists():
        raise SystemExit(f"{collected} holds no collected frames; name the folder of a scale.")
    mark_stale(collected)
    write_report(build_report(collected, REFERENCE, REPORTS), published)


def _take(scale: Path, published: Path) -> None:
    """Collect the runs that are finished, and put them beside the others: see `merge`."""
    settings = {"scale": scale.name.partition("-subset-")[0], "results": "results"}
    suite = load(Path.cwd(), {**settings, "raw": "data/raw"})
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
        leagues=suite.leagues(),
    )
    experiments = suite.experiments.items()
    merge(
        scale / "collected",
        published / "collected",
        wanted={(n, d, m) for n, e in experiments for d in e.datasets for m in e.methods},
        shown={s.experiment for s in load_reports(REPORTS, scale.name).sources.values()},
    )


def mark_stale(collected: Path) -> None:
    """Find anew which runs' code has changed since: at every publication, not only at a new one."""
    frames, meta = read_frames(collected)
    summaries = frames["summaries"]
    # Seeds and datasets share their code, and a digest takes a millisecond.
    decides = ["use", "model", "params", "tuned", "code_digest"]
    judged = summaries[decides].drop_duplicates()
    judged["stale"] = [is_stale(line) for line in judged.to_dict("records")]
    summaries["stale"] = summaries[decides].merge(judged, how="left")["stale"].to_numpy()
    write_frames(collected, frames, meta)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m pauc_core.suite.publish results/published [results/SCALE]")
    try:
        publish(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None)
    except ColumnError as error:
        sys.exit(str(error))
