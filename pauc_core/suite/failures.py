"""Why jobs failed: told when it happens, and once more as a run's last words."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
from pathlib import Path

FAILED = Path(".snakemake/failed-jobs")
SHOWN = 200  # characters of a job's input and output files on the screen


def note(log: Path, sentence: str) -> None:
    """Keep the reason of a failed job for the end of the run."""
    line = f"{log}: {sentence}\n".encode(errors="backslashreplace")
    # The disk may be full; a line as one write stays whole beside those of other jobs.
    with contextlib.suppress(OSError):
        handle = os.open(FAILED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)


def reasons() -> list[str]:
    """A line a job that failed in this run: its log and its reason."""
    try:
        return FAILED.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def tell_at_the_end() -> None:
    """Called by Snakemake's main process: its last words are the reasons of failed jobs."""
    with contextlib.suppress(OSError):
        FAILED.unlink(missing_ok=True)
    atexit.register(_tell)
    for handler in logging.getLogger("snakemake.logging").handlers:
        if handler.formatter is not None and handler.name == "DefaultStreamHandler":
            handler.setFormatter(_Brief(handler.formatter))


def _tell() -> None:
    for line in dict.fromkeys(reasons()):
        print(f"Failed: {line}", file=sys.stderr)


class _Brief(logging.Formatter):
    """Snakemake's words with its lists of files cut short; its log has them whole."""

    def __init__(self, whole: logging.Formatter) -> None:
        super().__init__()
        self.whole = whole

    def format(self, record: logging.LogRecord) -> str:
        brief = logging.makeLogRecord(record.__dict__)
        for name in ("input", "output"):
            files = getattr(brief, name, None)
            if isinstance(files, list | tuple) and len(", ".join(map(str, files))) > SHOWN:
                more = f"and {len(files) - 1} more (see the log)"
                setattr(brief, name, [str(files[0]), more])
        reason = getattr(brief, "reason", None)
        if isinstance(reason, str) and len(reason) > SHOWN:
            brief.reason = f"{reason[:SHOWN]} ... (see the log)"
        return self.whole.format(brief)
