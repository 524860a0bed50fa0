"""The transcripts in docs/own-data.md are what the commands print."""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shlex
from pathlib import Path

import pytest

from pauc_core.own_data.command import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/own-data.md"
NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")


def transcript(page: str) -> list[tuple[str, str]]:
    """Each command of the page's console blocks with the lines below it."""
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    steps = re.split(r"^\$ ", "".join(blocks), flags=re.MULTILINE)[1:]
    return [(line, shown) for line, _, shown in (step.partition("\n") for step in steps)]


def run(line: str) -> str:
    """What a shown command prints, here and now."""
    program, *words = shlex.split(line)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if program == "pauc":
            main(words)
        elif program == "python":
            runpy.run_path(str(ROOT / words[0]), run_name="__main__")
        else:
            assert [program, *words[:2]] == ["head", "-n", words[1]], line
            print(*Path(words[2]).read_text().splitlines()[: int(words[1])], sep="\n")
    return printed.getvalue()


def rewritten(page: str) -> str:
    """The page with its transcripts made anew (`python -m tests.test_docs_command`)."""

    def block(found: re.Match[str]) -> str:
        lines = [line for line, _ in transcript(found[0])]
        return "```console\n" + "".join(f"$ {line}\n{run(line)}" for line in lines) + "```"

    return re.sub(r"```console\n.*?```", block, page, flags=re.DOTALL)


def test_the_shown_commands_print_what_is_shown(tmp_path, monkeypatch):
    """Words are the same; another machine may round a number otherwise."""
    monkeypatch.chdir(tmp_path)
    steps = transcript(PAGE.read_text())
    assert {line.split()[1] for line, _ in steps if line.startswith("pauc")} == {
        "fit", "score", "predict", "compare"
    }  # fmt: skip
    for line, shown in steps:
        printed = run(line)
        assert NUMBER.sub("#", printed) == NUMBER.sub("#", shown), line
        here, there = (list(map(float, NUMBER.findall(text))) for text in (printed, shown))
        assert here == pytest.approx(there, abs=2e-3, rel=1e-2), line


if __name__ == "__main__":
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        PAGE.write_text(rewritten(PAGE.read_text()))
