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
from pauc_core.suite.columns import KEYS, ColumnError
from pauc_core.suite.configuration import Suite, load
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
    summaries = finished(scale, suite, published / "collected")
    used = sorted({path.parts[-4].partition("@")[0] for path in summaries})
    missing = [name for name in used if not (scale / "data" / name / "meta.json").is_file()]
    if missing:
        raise SystemExit(
            f"{scale / 'data'} lacks {', '.join(missing)}: which rows belong together is read from "
            "there, and no interval is right without it; prepare the data there first."
        )
    collect(
        summaries,
        trials_of(summaries, scale),
        [scale / "data" / name / "meta.json" for name in used],
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


def finished(scale: Path, suite: Suite, collected: Path) -> list[Path]:
    """Every summary but those of a published cell that has jobs to go.

    Its few seeds would take the place of all that are published.
    """
    there: set[tuple[str, ...]] = set()
    if (collected / "meta.json").is_file():
        frame = read_frames(collected)[0]["summaries"]
        there = set(frame[list(KEYS)].itertuples(index=False, name=None))
    found = []
    for folder in sorted(scale.glob("runs/*/*/*")):
        cell = folder.parts[-3:]
        jobs = sorted(folder.glob("seeds-*/summary.jsonl"))
        known = cell[0] in suite.experiments and cell[2] in suite.methods
        wanted = len(suite.groups(suite.experiments[cell[0]], cell[2])) if known else len(jobs)
        if cell in there and len(jobs) < wanted:
            print(
                f"{'/'.join(cell)}: {len(jobs)} of {wanted} jobs have ended; what is published "
                "stays.",
                file=sys.stderr,
            )
        else:
            found += jobs
    return found


def trials_of(summaries: list[Path], scale: Path) -> list[Path]:
    """What was tried for these runs, on their dataset or on another (tune_on): no run, no trial."""
    ran = {(path.parts[-5], path.parts[-3]) for path in summaries}
    return [
        path
        for path in sorted(scale.glob("tuned/*/*/*.trials.json"))
        if (path.parts[-3], path.name.removesuffix(".trials.json")) in ran
    ]


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
