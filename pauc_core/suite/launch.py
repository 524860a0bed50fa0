"""Starts Snakemake under a lock of the operating system, so that a killed run can simply go on.

Snakemake's own lock is a file and outlives a SIGKILL; the system's lock does not. Whoever holds
the latter may therefore safely remove the former, end the jobs that a killed run left behind and
clear away what they had half written.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

LOCK = Path(".snakemake/launch.lock")
MARK = "PAUC_LAUNCHED_IN"
BUSY = 3
PATIENCE = 2.0  # seconds
# Temporary folders of files.atomic_path and data.prepared.fresh_folder.
HALF_WRITTEN = (".part-*", ".*.partial-*", ".*.old-*")


def main(arguments: list[str]) -> int:
    """Run Snakemake with the given arguments; return its exit code."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as handle:
        if not _take(handle):
            return _refuse(f"it holds {LOCK}")
        locked = any(Path(".snakemake/locks").glob("*"))
        left = _left_behind()
        if locked and not left and (pid := _by_hand()):
            return _refuse(f"Snakemake, process {pid}")
        if locked or left:
            print("An earlier run was killed: cleaning up and going on.", file=sys.stderr)
            _end(left)
            _clear(arguments)
            _snakemake(["--unlock", "--quiet", *arguments], handle.fileno())
        before = _prepared(arguments)
        code = _snakemake(arguments, handle.fileno())
        if code and not before <= _prepared(arguments):
            print("A damaged dataset was set aside: making it again.", file=sys.stderr)
            code = _snakemake(arguments, handle.fileno())
        return code


def _take(handle: IO[str]) -> bool:
    """Take the lock; a run that is being killed may hold it for a moment still."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)


def _refuse(who: str) -> int:
    print(
        f"Another run is at work in this folder ({who}): wait for it or stop it.", file=sys.stderr
    )
    return BUSY


def _snakemake(arguments: list[str], lock: int) -> int:
    # Snakemake keeps the lock too: if only this process is killed, the run is still at work.
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        env={**os.environ, MARK: str(Path.cwd())},
        pass_fds=(lock,),
    )
    # A terminal sends its interrupt to both; Snakemake then ends its jobs in order.
    kept = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
    }
    try:
        return process.wait()
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _processes() -> Iterator[Path]:
    """Where Linux shows this machine's other processes; none elsewhere."""
    for place in Path("/proc").glob("[0-9]*"):
        if int(place.name) not in (os.getpid(), os.getppid()):
            yield place


def _left_behind() -> list[int]:
    """Processes of a run in this folder that outlived it: they carry its mark."""
    mark = f"{MARK}={Path.cwd()}".encode()
    found = []
    for place in _processes():
        try:
            if mark in (place / "environ").read_bytes().split(b"\0"):
                found.append(int(place.name))
        except OSError:
            continue
    return found


def _by_hand() -> int | None:
    """A Snakemake in this folder that was started without this launcher."""
    for place in _processes():
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            if b"snakemake" in map(os.path.basename, words) and (
                (place / "cwd").resolve() == Path.cwd()
            ):
                return int(place.name)
        except OSError:
            continue
    return None


def _end(processes: list[int]) -> None:
    for pid in processes:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}/exe").exists() for pid in processes):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)


def _folder(arguments: list[str], key: str, default: str) -> Path:
    """A folder of the configuration as the command line has it."""
    given = [word.removeprefix(f"{key}=") for word in arguments if word.startswith(f"{key}=")]
    return Path(given[-1] if given else default)


def _clear(arguments: list[str]) -> None:
    """Remove the temporary folders of interrupted writes."""
    for top in (_folder(arguments, "results", "results"), _folder(arguments, "raw", "data/raw")):
        for pattern in HALF_WRITTEN:
            for path in list(top.rglob(pattern)):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)


def _prepared(arguments: list[str]) -> set[Path]:
    """The prepared datasets; a job that finds one damaged removes its meta.json."""
    return set(_folder(arguments, "results", "results").glob("*/data/*/meta.json"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
