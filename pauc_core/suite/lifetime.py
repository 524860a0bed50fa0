"""A run's processes end with it, and the next start finds neither a process nor a lock of it.

Snakemake's own lock is a file and outlives a SIGKILL; a lock of the operating system does not.
Whoever holds the latter may therefore safely remove the former, end the processes that a killed
run left behind and clear away what they had half written. Processes know their run by two
variables of the environment: the folder they work in, and the Snakemake that started them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

LOCK = Path(".snakemake/launch.lock")
FOLDER = "PAUC_LAUNCHED_IN"
MAIN = "PAUC_STARTED_BY"
LOOK_SECONDS = 0.25
# Temporary folders of files.atomic_path and data.prepared.fresh_folder.
HALF_WRITTEN = (".part-*", ".*.partial-*", ".*.old-*")
CLEANING = "An earlier run was killed: cleaning up and going on."
_kept: list[IO[str]] = []  # an open lock that nobody refers to would be released


def claim(*folders: str) -> None:
    """Called by Snakemake's main process: the folder is this run's, and its jobs end with it.

    Cleans up after a killed run below ``folders`` where no launcher has done so.
    """
    launched = os.environ.get(FOLDER) == str(Path.cwd())
    os.environ.update({FOLDER: str(Path.cwd()), MAIN: identity(os.getpid())})
    if not launched:
        LOCK.parent.mkdir(exist_ok=True)
        handle = LOCK.open("w")
        if take(handle, patience=0.0):
            if clean(*folders):
                print(CLEANING, file=sys.stderr)
        else:
            # Another run has the folder, whose lock Snakemake will see; or a command that only
            # looks has it for a moment, and must be followed by this one.
            waiting = threading.Thread(target=fcntl.flock, args=(handle, fcntl.LOCK_EX))
            waiting.daemon = True
            waiting.start()
        _kept.append(handle)
    if os.environ[MAIN]:
        _watch(os.environ[MAIN])


def take(handle: IO[str], patience: float) -> bool:
    """Take the lock; a run that is being killed may hold it for a moment still."""
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)


def clean(*folders: str | Path) -> bool:
    """End and remove what a killed run left in this folder; whether there was anything.

    Only for a process that holds the lock.
    """
    left = _processes({FOLDER: str(Path.cwd())})
    locks, backups = Path(".snakemake/locks"), Path(".snakemake/backups")
    found = bool(left) or any(locks.glob("*"))
    if found:
        end(left)
        for top in map(Path, folders):
            for pattern in HALF_WRITTEN:
                for path in [path for path in top.rglob(pattern) if path.is_dir()]:
                    shutil.rmtree(path, ignore_errors=True)
        # Snakemake fails on finding a backup where it wants to make one.
        shutil.rmtree(backups, ignore_errors=True)
        shutil.rmtree(locks, ignore_errors=True)
    return found


def end(processes: list[int]) -> None:
    """Kill processes and wait until they are gone."""
    for pid in processes:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    deadline = time.monotonic() + 10
    while any(identity(pid) for pid in processes):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)


def _watch(main: str) -> None:
    """Start a process that outlives this one by a moment, to end all that it started."""
    environment = {k: v for k, v in os.environ.items() if k not in (FOLDER, MAIN)}
    subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, main],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what is sent to the whole run must not reach it
    )


def _outlive(main: str) -> None:
    pid = int(main.partition("-")[0])
    while identity(pid) == main:
        time.sleep(LOOK_SECONDS)
    # One that was being started at the first look has started its own at the second.
    for _ in range(2):
        end(_processes({MAIN: main}))
        time.sleep(LOOK_SECONDS)


def identity(pid: int) -> str:
    """A process by its number and its start, as numbers come again; empty where there is none.

    Linux alone shows it: elsewhere nothing is watched.
    """
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state[0] in "ZX" else f"{pid}-{state[19]}"


def _processes(marks: dict[str, str]) -> list[int]:
    """Other processes with these variables in the environment that they were started with."""
    wanted = {f"{name}={value}".encode() for name, value in marks.items()}
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        if int(place.name) in (os.getpid(), os.getppid()):
            continue
        try:
            if wanted <= set((place / "environ").read_bytes().split(b"\0")):
                found.append(int(place.name))
        except OSError:
            continue
    return found


if __name__ == "__main__":
    _outlive(sys.argv[1])
