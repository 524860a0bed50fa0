"""Guests that fail and guests that break their contract, as shell scripts around an honest one."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
HONEST = "workflow/rules/baselines/class_means.awk"
# What a guest does after the honest one has written scores.csv, and what it is told.
BREACHES = {
    "no_scores": ("rm scores.csv", "scores.csv: was not written"),
    "other_head": (
        "sed -i 1s/score/value/ scores.csv",
        "scores.csv: score: the column is missing",
    ),
    "own_number": (
        "sed -i -e 1s/$/,pauc_test/ -e '2,$s/$/,0.99/' scores.csv",
        "scores.csv: pauc_test: the column is unknown",
    ),
    "left_out": (
        "sed -i '$d' scores.csv",
        r"scores.csv: row: \d+ rows of part test; expected each",
    ),
    "twice": (
        "sed -n 2p scores.csv >> scores.csv",
        r"scores.csv: row: \d+ rows of part valid, among them 1 more than once",
    ),
    "outside": (
        "sed -i 's/^test,1,/test,9999,/' scores.csv",
        r"scores.csv: row: \d+ rows of part test, among them 9999, which is none of them",
    ),
    "half_a_row": (
        "sed -i 's/^test,1,/test,1.5,/' scores.csv",
        r"scores.csv: line \d+: row: '1.5'; expected a whole number",
    ),
    "training_rows": (
        "echo train,1,0.5 >> scores.csv",
        r"scores.csv: line \d+: part: 'train'; expected valid or test",
    ),
    "nan": (
        "sed -i '$s/,[^,]*$/,nan/' scores.csv",
        r"scores.csv: line \d+: score: 'nan'; expected a finite number",
    ),
    "word": (
        "sed -i '2s/,[^,]*$/,high/' scores.csv",
        "scores.csv: line 2: score: 'high'; expected a finite number",
    ),
    "bytes": (
        "printf '\\377\\000\\n' > scores.csv",
        "scores.csv: (cannot be read as CSV|part: the)",
    ),
    "empty": (": > scores.csv", "scores.csv: cannot be read as CSV"),
    "lying_trace": (
        "printf 'step,epoch,pauc_test\\n1,1,0.99\\n' > trace.csv",
        "trace.csv: pauc_test: does not follow from scores",
    ),
    "backward_trace": (
        "printf 'step,epoch\\n2,1\\n1,1\\n' > trace.csv",
        "trace.csv: line 3: step: smaller than the line before",
    ),
}
FAILURES = {
    "exit": ("echo lost its way >&2; exit 3", "failed", "It ended with exit code 3: lost its way."),
    "signal": ("kill -9 $$", "failed", "It ended with signal SIGKILL."),
    "hang": ("sleep 600 & sleep 600", "timeout", "It was ended after its limit of 3 s."),
    "eat": (
        "awk 'BEGIN { while (1) s = s \"0123456789012345678901234567890123456789\" s }'",
        "failed",
        "It was ended at",
    ),
}


def write_guest(folder: Path, name: str, after: str) -> str:
    """A guest's program in a project's folder; returns its path from there."""
    path = folder / f"workflow/rules/baselines/{name}.sh"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nset -e\n{ROOT / HONEST}\n{after}\n")
    path.chmod(0o755)
    return str(path.relative_to(folder))
