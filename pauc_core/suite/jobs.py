"""What every job of the workflow does: a log file, and a failure in one sentence."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def job(log: str | Path) -> Iterator[None]:
    """Send the job's words to its log; on an error print one sentence and leave with code 1."""
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", buffering=1) as handle:
        try:
            with contextlib.redirect_stdout(handle):
                yield
        except Exception as error:
            traceback.print_exc(file=handle)
            sentence = str(error).strip() or type(error).__name__
            print(f"{type(error).__name__}: {sentence}\n(details: {path})", file=sys.stderr)
            sys.exit(1)
