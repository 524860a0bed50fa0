"""Hostile environments: in each a run ends with the same results, or says what to set."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.digests import differences
from tests.projects import tiny_project

METHODS = ["logistic_regression", "random_scores"]
OTHER = "12345"  # a user without a name, a home or rights


@dataclass(frozen=True)
class Environment:
    """What is hostile: variables (None: not set), a prefix, what is done to the folder.

    ``says`` is the sentence that a start ends with where it cannot work.
    """

    variables: dict[str, str | None]
    prefix: tuple[str, ...] = ()
    folder: str = "project"
    prepare: Callable[[Path], None] = lambda project: None
    says: str = ""
    other_user: bool = False


def _give_away(project: Path) -> None:
    subprocess.run(["chown", "-R", f"{OTHER}:{OTHER}", str(project)], check=True)


AS_OTHER = ("setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups")
ENVIRONMENTS = {
    "home that cannot be written": Environment({"HOME": "/proc/nowhere"}),
    "C locale without UTF-8": Environment(
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ),
    "odd time zone": Environment({"TZ": "XXX-13:37:11"}),
    "unknown time zone": Environment({"TZ": "Nowhere/Nothing"}),
    "no network": Environment({}, ("unshare", "-n")),
    "no variables but PATH": Environment({"HOME": None, "LANG": None, "TERM": None, "USER": None}),
    "no folder for temporary files": Environment({"TMPDIR": "/nonexistent"}),
    "Python without docstrings and asserts": Environment({"PYTHONOPTIMIZE": "2"}),
    "another user, without root, name or home": Environment(
        {"HOME": "/nonexistent"}, AS_OTHER, prepare=_give_away, other_user=True
    ),
    "project of somebody else": Environment(
        {}, AS_OTHER, says=r"launch.lock cannot be written .* work in a folder of your own",
        other_user=True,
    ),
    "space in the project's path": Environment(
        {}, folder="a project", says=r"has a space in it, with which no job can start: move the"
    ),
}  # fmt: skip


def python_for_others() -> tuple[str, str] | None:
    """A Python that every user may start, and the path to this one's packages; None without one."""
    packages = next((p for p in sys.path if p.endswith("site-packages")), "")
    for place in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        # What setpriv starts still has root's right to find files; what that starts has not.
        again = "subprocess.check_call([sys.executable, '-V'])"
        probe = [*AS_OTHER, place, "-c", f"import numpy, snakemake, subprocess, sys; {again}"]
        env = {"PYTHONPATH": packages, "PATH": os.environ["PATH"]}
        if (
            shutil.which(place)
            and not subprocess.run(probe, env=env, capture_output=True).returncode
        ):
            return place, packages
    return None


class Hostile:
    """A small project, run in peace once and then in each environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o755)  # for another user
        self.plain = tiny_project(folder / "plain", METHODS)
        self.peace = folder / "peace"
        shutil.copytree(self.plain, self.peace)
        done = self._run(self.peace, Environment({}), sys.executable, "")
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]

    def survives(self, name: str) -> str:
        """'identical', 'told', a reason for not trying, or what went wrong."""
        hostile = ENVIRONMENTS[name]
        python, packages = sys.executable, ""
        if hostile.prefix:
            if os.geteuid() or shutil.which(hostile.prefix[0]) is None:
                return "not tried: needs root"
            if hostile.other_user:
                found = python_for_others()
                if found is None:
                    return "not tried: this Python is not for other users"
                python, packages = found
        project = self.folder / re.sub(r"\W+", "-", name) / hostile.folder
        shutil.copytree(self.plain, project)
        hostile.prepare(project)
        done = self._run(project, hostile, python, packages)
        said = done.stdout + done.stderr
        if hostile.says:
            told = done.returncode and re.search(hostile.says, said) and "Traceback" not in said
            return "told" if told else f"not told: {said[-2000:]}"
        if done.returncode:
            return f"failed: {said[-2000:]}"
        if not (project / "results/default/report/index.html").is_file():
            return "no page"
        different = differences(self.peace / "results/default", project / "results/default")
        different = [] if hostile.other_user and _versions_alone(different) else different
        return f"{len(different)} files differ" if different else "identical"

    def _run(
        self, project: Path, hostile: Environment, python: str, packages: str
    ) -> subprocess.CompletedProcess[str]:
        kept = ("PATH", "HOME", "LANG", "USER", "TERM", "TMPDIR", "LD_LIBRARY_PATH")
        variables = {name: os.environ.get(name) for name in kept}
        variables |= {"OMP_NUM_THREADS": "1", **hostile.variables}
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(project), packages]))
        return subprocess.run(
            [*hostile.prefix, python, "-m", "pauc_core.suite.launch", "--cores", "2"],
            cwd=project,
            env={name: value for name, value in variables.items() if value is not None},
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )


def _versions_alone(different: list[str]) -> bool:
    """Whether only summaries differ, which name the other Python's version."""
    return all(name.endswith("summary.jsonl") for name in different)
