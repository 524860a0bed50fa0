"""What every job of the workflow does: a log file, and a failure in one sentence."""

from __future__ import annotations

import contextlib
import errno
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from pauc_core.data.errors import DataError
from pauc_core.suite.child import MachineError
from pauc_core.suite.columns import ColumnError
from pauc_core.suite.failures import note
from pauc_core.suite.yaml_files import ConfigurationError

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
EXPLAINED = (DataError, ConfigurationError, ColumnError, MachineError)


@contextlib.contextmanager
def job(log: str | Path) -> Iterator[None]:
    """Send the job's words to its log; on an error print one sentence and leave with code 1.

    Where the sentence says all, the log says no more; an unforeseen error leaves its traceback.
    """
    path = Path(log)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            path.open("w", buffering=1, encoding="utf-8", errors="replace") as handle,
            contextlib.redirect_stdout(handle),
        ):
            yield
    except Exception as error:
        full = isinstance(error, OSError) and error.errno in FULL
        sentence = " ".join(str(error).split()) or type(error).__name__
        if full:
            sentence = f"{sentence}: free some disk space and start again; finished work is kept."
        named = full or isinstance(error, EXPLAINED)
        # The log may lie on the disk that is full.
        with (
            contextlib.suppress(OSError),
            path.open("a", encoding="utf-8", errors="replace") as handle,
        ):
            if named:
                handle.write(f"{sentence}\n")
            else:
                traceback.print_exc(file=handle)
        note(path, sentence if named else f"{type(error).__name__}: {sentence}")
        print(f"{type(error).__name__}: {sentence}\n(details: {path})", file=sys.stderr)
        sys.exit(1)
