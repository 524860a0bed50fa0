"""Starts Snakemake under a lock of the operating system, so that a killed run can simply go on.

Snakemake's own lock is a file and outlives a SIGKILL; the system's lock does not. Whoever holds
the latter may therefore safely remove the former.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

LOCK = Path(".snakemake/launch.lock")


def main(arguments: list[str]) -> int:
    """Run Snakemake with the given arguments; return its exit code."""
    LOCK.parent.mkdir(exist_ok=True)
    with LOCK.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                f"Another run is at work in this folder (it holds {LOCK}): wait for it or stop it.",
                file=sys.stderr,
            )
            return 3
        snakemake = [sys.executable, "-m", "snakemake"]
        if any(Path(".snakemake/locks").glob("*")):
            print("An earlier run was killed: unlocking and going on.", file=sys.stderr)
            subprocess.run([*snakemake, "--unlock", "--quiet", *arguments], check=False)
        return subprocess.run([*snakemake, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
