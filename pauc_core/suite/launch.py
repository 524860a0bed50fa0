"""Starts Snakemake under a lock of the operating system, so that a killed run can simply go on."""

from __future__ import annotations

import contextlib
import getpass
import os
import signal
import subprocess
import sys
from pathlib import Path

from pauc_core.suite.lifetime import CLEANING, FOLDER, LOCK, clean, take
from pauc_core.suite.progress import follow, new_log, words_wanted

BUSY = 3
PATIENCE = 2.0  # seconds


def main(arguments: list[str]) -> int:
    """Run Snakemake with the given arguments; return its exit code."""
    try:
        LOCK.parent.mkdir(exist_ok=True)
        handle = LOCK.open("w")
    except OSError as error:
        print(
            f"{LOCK.absolute()} cannot be written ({error.strerror}): work in a folder of your "
            "own, or as its owner.",
            file=sys.stderr,
        )
        return 1
    with handle:
        if not take(handle, PATIENCE):
            print(
                f"Another run is at work in this folder (it holds {LOCK}): wait for it or stop it.",
                file=sys.stderr,
            )
            return BUSY
        folders = _folder(arguments, "results", "results"), _folder(arguments, "raw", "data/raw")
        if clean(*folders):
            print(CLEANING, file=sys.stderr)
        before = _prepared(arguments)
        code = _snakemake(arguments, handle.fileno())
        if code and not before <= _prepared(arguments):
            print("A damaged dataset was set aside: making it again.", file=sys.stderr)
            code = _snakemake(arguments, handle.fileno())
        return code


def _snakemake(arguments: list[str], lock: int) -> int:
    log = None if words_wanted(arguments) else new_log()
    # Snakemake keeps the lock too: if only this process is killed, the run is still at work. So it
    # writes its log itself, and this process reads it.
    with log.open("w") if log else contextlib.nullcontext() as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", *arguments],
            env=_environment(),
            pass_fds=(lock,),
            stdout=words,
            stderr=words,
        )
    # A terminal sends its interrupt to both; Snakemake then ends its jobs in order.
    kept = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
    }
    try:
        return follow(log, process.poll) if log else process.wait()
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _environment() -> dict[str, str]:
    """This process's, with what Snakemake and its jobs cannot do without."""
    # In a C locale Python would read and write ASCII.
    found = {**os.environ, FOLDER: str(Path.cwd()), "PYTHONUTF8": "1"}
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    try:
        (caches / "snakemake").mkdir(parents=True, exist_ok=True)
        writable = os.access(caches / "snakemake", os.W_OK)
    except (OSError, RuntimeError):
        writable = False
    try:
        getpass.getuser()
    except (KeyError, OSError):  # a user's number without a name, as in a container
        found["LOGNAME"] = str(os.getuid())
    if not writable:  # a home folder that is read-only or not there
        own = Path(".snakemake/caches").absolute()
        own.mkdir(parents=True, exist_ok=True)
        found.update(XDG_CACHE_HOME=str(own), MPLCONFIGDIR=str(own))
    return found


def _folder(arguments: list[str], key: str, default: str) -> Path:
    """A folder of the configuration as the command line has it."""
    given = [word.removeprefix(f"{key}=") for word in arguments if word.startswith(f"{key}=")]
    return Path(given[-1] if given else default)


def _prepared(arguments: list[str]) -> set[Path]:
    """The prepared datasets; a job that finds one damaged removes its meta.json."""
    return set(_folder(arguments, "results", "results").glob("*/data/*/meta.json"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
