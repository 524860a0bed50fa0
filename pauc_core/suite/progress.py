"""What a run is doing, in one line, from the log that Snakemake writes; and what made it fail."""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TextIO

# With one of these Snakemake shows something or tidies up: its own words are what is wanted.
WORDS_WANTED = (
    "-n", "--dry", "--report", "--list", "--summary", "--detailed-summary", "--dag", "--rulegraph",
    "--filegraph", "--unlock", "--lint", "--help", "-h", "--version", "-v", "--verbose",
    "--print-compilation", "--archive", "--cleanup", "--delete", "--touch",
)  # fmt: skip
REFRESH = 0.2  # seconds between two looks into the log
SELDOM = 30.0  # seconds between two lines where there is no terminal
LAST_LINES = 12

STARTED = re.compile(r"^(?:local)?(?:rule|checkpoint) (\w+):$")
KEY = re.compile(r"^    (jobid|wildcards|log): (.*)$")
FINISHED = re.compile(r"^Finished jobid: (\d+)")
DONE = re.compile(r"^(\d+) of (\d+) steps")
FAILED = re.compile(r"^Error in rule (\w+)")
SENTENCE = re.compile(r"^\w+Error: .")
DETAILS = re.compile(r"^\(details: (.*)\)$")


def words_wanted(arguments: Sequence[str]) -> bool:
    """Whether Snakemake is asked for words and not for a run."""
    return any(word.startswith(WORDS_WANTED) for word in arguments)


def new_log(out: TextIO = sys.stderr) -> Path:
    """A file for Snakemake's words, among those it writes itself."""
    log = Path(".snakemake/log", time.strftime("%Y-%m-%dT%H%M%S.words.log"))
    log.parent.mkdir(parents=True, exist_ok=True)
    out.write(f"Snakemake's log: {log}\n")
    out.flush()
    return log


@dataclass
class Job:
    """A job as Snakemake announces it."""

    rule: str
    values: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        named = [part.partition("=") for part in self.values.get("wildcards", "").split(", ")]
        return " ".join([self.rule, *(v for k, _, v in named if k not in ("first", "last"))])


class Reader:
    """Keeps, line by line, what runs now, how much is done, and what failed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.began = clock()
        self.done, self.all = 0, 0
        self.running: dict[str, Job] = {}
        self.failed: list[Job] = []
        self.reasons: dict[str, str] = {}  # by the log that has the details
        self._told: Job | None = None
        self._failing = False
        self._sentence = ""

    def read(self, line: str) -> None:
        if match := STARTED.match(line):
            self._told, self._failing = Job(match[1]), False
        elif match := FAILED.match(line):
            self._told, self._failing = Job(match[1]), True
            self.failed.append(self._told)
        elif self._told is not None and (match := KEY.match(line)):
            if match[1] == "jobid" and self._failing:
                self._told.values.update(self.running.pop(match[2], self._told).values)
            elif match[1] == "jobid":
                self.running[match[2]] = self._told
            self._told.values[match[1]] = match[2]
        elif match := FINISHED.match(line):
            self.running.pop(match[1], None)
        elif match := DONE.match(line):
            self.done, self.all = int(match[1]), int(match[2])
        elif match := DETAILS.match(line):
            self.reasons[match[1]] = self._sentence
        if SENTENCE.match(line):
            self._sentence = line

    def line(self) -> str:
        """Done of all, time left, what runs now."""
        if not self.all:
            return "Looking at what is to be done" if not self.running else f"now: {self.now()}"
        words = [f"{self.done} of {self.all} done"]
        if self.all <= 20 * self.done < 20 * self.all:  # the first few say little of the rest
            words.append(f"{_time((self.clock() - self.began) * (self.all / self.done - 1))} left")
        if self.running:
            words.append(f"now: {self.now()}")
        return ", ".join(words)

    def now(self) -> str:
        return "; ".join(str(job) for job in self.running.values())


def follow(log: Path, ended: Callable[[], int | None], out: TextIO = sys.stderr) -> int:
    """Show the progress of the run that writes ``log`` until it has ended; return its code."""
    reader, shown, when = Reader(), "", 0.0
    terminal = out.isatty()
    with log.open(errors="replace") as lines:
        while True:
            code = ended()  # first: what is written before the end is read below
            _read_new(lines, reader)
            line = reader.line()
            due = terminal or time.monotonic() - when > SELDOM or code is not None
            if line != shown and due and reader.all:
                if terminal:
                    width = shutil.get_terminal_size().columns - 1
                    out.write(f"\r\x1b[K{line[:width]}")
                else:
                    out.write(f"{line}\n")
                out.flush()
                shown, when = line, time.monotonic()
            if code is not None:
                break
            time.sleep(REFRESH)
    if terminal and shown:
        out.write("\n")
    out.write(_end(reader, log) if code else _good_end(reader))
    return code


def _read_new(lines: IO[str], reader: Reader) -> None:
    while line := lines.readline():
        while not line.endswith("\n") and (more := lines.readline()):
            line += more
        reader.read(line.rstrip("\n"))


def _good_end(reader: Reader) -> str:
    return "" if reader.all else "Nothing to do: all is as the present code and settings make it.\n"


def _end(reader: Reader, log: Path) -> str:
    """What failed, the last lines of its log, and what to do."""
    if not reader.failed:
        return f"{_tail(log, 3 * LAST_LINES)}\nSnakemake's log: {log}\n"
    words = []
    for job in reader.failed:
        own = job.values.get("log", "").partition(" (check")[0]
        reason = reader.reasons.get(own, "")
        words.append(f"Failed: {job}. {reason}".rstrip())
        tail = _tail(Path(own), LAST_LINES) if own else ""
        if tail and reason.partition(": ")[2].strip() != tail.strip():
            words.append("\n".join(f"  {line}" for line in tail.splitlines()))
        words.append(f"  ({own})" if own else "")
    return "\n".join(
        [
            *filter(None, words),
            "Correct the cause and give the same command again: what is finished is kept.",
            f"Snakemake's log: {log}\n",
        ]
    )


def _tail(path: Path, count: int) -> str:
    try:
        return "\n".join(path.read_text(errors="replace").rstrip().splitlines()[-count:])
    except OSError:
        return ""


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
