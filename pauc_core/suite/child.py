"""A process of its own for work that may raise, hang or eat memory."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, Literal

POLL_SECONDS = 0.05
MACHINE_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENFILE, errno.EROFS}


class MachineError(RuntimeError):
    """The machine failed, not the method: worth another try elsewhere or later."""


@dataclass(frozen=True)
class Report:
    """What a child left behind."""

    status: Literal["done", "failed", "timeout"]
    value: Any
    reason: str
    peak_mb: float


class Child:
    """One call in a forked process, with limits on its time and its memory."""

    def __init__(
        self, call: Callable[[], Any], *, seconds: float, memory_mb: float, log: Path | None = None
    ) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, there = context.Pipe(duplex=False)
        self.process = context.Process(target=_main, args=(call, there, log), daemon=False)
        self.process.start()
        there.close()
        self.seconds = seconds
        self.end = time.monotonic() + seconds
        self.memory_mb = memory_mb
        self.peak = 0.0

    def poll(self) -> Report | None:
        """The report of an ended child, or None while it runs."""
        self.peak = max(self.peak, resident_mb(self.process.pid))
        if self.pipe.poll():
            return self._receive()
        if not self.process.is_alive():
            # The last message may have arrived between the two looks.
            return self._receive() if self.pipe.poll() else self._died()
        if time.monotonic() > self.end:
            return self._kill("timeout", f"It was ended after its limit of {self.seconds:g} s.")
        if self.peak > self.memory_mb:
            return self._kill(
                "failed", f"It was ended at {self.peak:.0f} MB; its limit is {self.memory_mb:g} MB."
            )
        return None

    def wait(self) -> Report:
        while (report := self.poll()) is None:
            sleep_until_news([self])
        return report

    def _receive(self) -> Report:
        try:
            kind, value, peak = self.pipe.recv()
        except EOFError:
            return self._died()
        self.process.join()
        peak = max(peak, self.peak)
        if kind == "machine":
            raise MachineError(value)
        if kind == "done":
            return Report("done", value, "", peak)
        return Report("failed", None, value, peak)

    def _died(self) -> Report:
        self.process.join()
        code = self.process.exitcode or 0
        if -code in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            raise MachineError(f"A run was stopped by {signal.Signals(-code).name}.")
        what = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return Report("failed", None, f"Its process ended with {what}.", self.peak)

    def _kill(self, status: Literal["failed", "timeout"], reason: str) -> Report:
        self.process.kill()
        self.process.join()
        return Report(status, None, reason, self.peak)


def sleep_until_news(children: list[Child]) -> None:
    """Until one of them has ended, or it is time to look at their memory again."""
    signs = [sign for child in children for sign in (child.pipe, child.process.sentinel)]
    if signs:
        wait_for(signs, POLL_SECONDS)


def run_warmed(
    warm_up: Callable[[], None], work: Callable[[], Any], *, seconds: float, memory_mb: float
) -> Any:
    """``work()`` in a process in which ``warm_up()`` is done, for the children that it forks.

    What hangs, dies or raises in warming up must not take the job with it: then ``work()`` is done
    here, and every child begins cold.
    """
    here, there = multiprocessing.get_context("fork").Pipe(duplex=False)

    def both() -> Any:
        warm_up()
        there.send_bytes(b"warm")
        return work()

    child = Child(both, seconds=float("inf"), memory_mb=memory_mb)
    end = time.monotonic() + seconds
    report = None
    while not here.poll() and report is None and time.monotonic() < end:
        wait_for([here, child.process.sentinel], POLL_SECONDS)
        report = child.poll()
    too_much = report is not None and child.peak > memory_mb  # as it was about to be warm
    if not here.poll() or too_much:
        child.process.kill()
        child.process.join()
        return work()
    child.memory_mb = float("inf")  # each run has its own limit
    report = report or child.wait()
    if report.status != "done":
        raise MachineError(f"The process of a job's runs ended. {report.reason}")
    return report.value


def run_all(calls: list[Callable[[], Child]], at_once: int) -> list[Report]:
    """Start children, a few at a time, and return their reports in the order of the calls."""
    reports: list[Report | None] = [None] * len(calls)
    running: dict[int, Child] = {}
    todo = list(enumerate(calls))
    try:
        while todo or running:
            while todo and len(running) < at_once:
                index, call = todo.pop(0)
                running[index] = call()
            for index, child in list(running.items()):
                if (report := child.poll()) is not None:
                    reports[index] = report
                    del running[index]
            sleep_until_news(list(running.values()))
    finally:
        for child in running.values():
            child.process.kill()
    return [report for report in reports if report is not None]


def _main(call: Callable[[], Any], pipe: Connection, log: Path | None) -> None:
    die_with_parent()
    if log is not None:
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
    try:
        message = ("done", call())
    except OSError as error:
        kind = "machine" if error.errno in MACHINE_ERRORS else "failed"
        message = (kind, f"{type(error).__name__}: {error}")
    except MachineError as error:
        message = ("machine", str(error))
    except BaseException as error:
        traceback.print_exc()
        message = ("failed", f"{type(error).__name__}: {error}".splitlines()[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    pipe.send((*message, peak))
    pipe.close()


def die_with_parent() -> None:
    """Ask Linux to end this process when its parent is killed, so that nothing runs on unseen."""
    import ctypes

    pr_set_pdeathsig = 1
    try:
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
    except (AttributeError, OSError):
        return


def resident_mb(pid: int | None) -> float:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
