"""A program of any language as one process group, with limits on its time and its memory."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pauc_core.suite.child import MachineError, die_with_parent, resident_mb

POLL_SECONDS = 0.05
WORDS = 300  # characters of a program's last words


@dataclass(frozen=True)
class Ended:
    """What a program took, and why it failed: an empty reason where it did not."""

    reason: str
    late: bool
    seconds: float
    wall: float
    peak_mb: float


def run_program(
    program: Path,
    folder: Path,
    *,
    environment: Mapping[str, str],
    log: Path,
    seconds: float,
    memory_mb: float,
) -> Ended:
    """Start a program in a folder and wait for it; what it says goes to the end of ``log``.

    Its process time and memory include those of what it starts and waits for.
    """
    started = time.monotonic()
    with log.open("ab") as words:
        begin = words.tell()
        try:
            process = subprocess.Popen(
                [str(program)],
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        except OSError as error:
            return Ended(f"It could not be started ({error.strerror}).", False, 0.0, 0.0, 0.0)
    peak, ending = 0.0, ""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        # One that is larger than its limit for less than the time between two looks is not seen.
        now = sum(map(resident_mb, _group(process.pid)))
        peak = max(peak, now)
        late = time.monotonic() - started > seconds
        if not ending and (late or now > memory_mb):
            ending = (
                f"It was ended after its limit of {seconds:g} s."
                if late
                else f"It was ended at {now:.0f} MB; its limit is {memory_mb:g} MB."
            )
            _end(process.pid)
        time.sleep(POLL_SECONDS)
    wall = time.monotonic() - started
    _end(process.pid)  # what it left behind must not outlive it
    process.returncode = code = os.waitstatus_to_exitcode(status)
    if not ending and -code in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        raise MachineError(f"{program.name} was stopped by {signal.Signals(-code).name}.")
    return Ended(
        reason=ending or _why(code, log, begin),
        late=ending.startswith("It was ended after"),
        seconds=usage.ru_utime + usage.ru_stime,
        wall=wall,
        peak_mb=max(peak, usage.ru_maxrss / 1024),
    )


def _why(code: int, log: Path, begin: int) -> str:
    """A program's exit in words, with the last that it said."""
    if not code:
        return ""
    what = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    with log.open("rb") as words:
        words.seek(begin)
        lines = words.read().decode(errors="replace").split("\n")
    said = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
    return f"It ended with {what}" + (f": {said[:WORDS].rstrip('.')}." if said else ".")


def _group(leader: int) -> list[int]:
    """The processes of a program's group."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == leader:
            found.append(int(place.name))
    return found


def _end(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
