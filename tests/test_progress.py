"""One line of progress from Snakemake's words, and a failure that says what to do."""

from __future__ import annotations

import io

import pytest

from pauc_core.suite.progress import Reader, follow, words_wanted

STARTED = """\
Job stats:
fit_dca        2
total          4
[Wed Nov 18 04:20:43 2026]
localrule fetch:
    output: raw/.fetched/digits
    log: logs/fetch.log
    jobid: 7
    wildcards: stored=digits
[Wed Nov 18 04:20:44 2026]
rule fit_dca:
    input: data/digits/meta.json
    log: {log}
    jobid: 5
    reason: Missing output files: runs/a
    wildcards: experiment=race-gen, dataset=digits, first=0, last=2
"""
FINISHED = """\
[Wed Nov 18 04:20:49 2026]
Finished jobid: 7 (Rule: fetch)
1 of 4 steps (25%) done
"""
BROKEN = """\
DataError: x.npy does not match its checksum.
(details: {log})
RuleException:
CalledProcessError in file "fit.smk", line 27:
[Wed Nov 18 04:20:49 2026]
Error in rule fit_dca:
    message: None
    jobid: 5
    input: data/digits/meta.json
    log: {log} (check log file(s) for error details)
Exiting because a job execution failed. Look above for error messages
"""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def reader_of(text: str, seconds: float = 0.0) -> Reader:
    times = iter([0.0, seconds])
    reader = Reader(lambda: next(times))
    for line in text.splitlines():
        reader.read(line)
    return reader


def test_what_runs_what_is_done_and_the_time_left():
    words = STARTED.format(log="fit.log")
    assert reader_of(words).line() == "now: fetch digits; fit_dca race-gen digits"
    now = reader_of(words + FINISHED, seconds=100.0).line()
    assert now == "1 of 4 done, 5 min left, now: fit_dca race-gen digits"
    assert "left" not in reader_of("1 of 40 steps (2%) done\n", seconds=100.0).line()


def shown(tmp_path, words: str, code: int, out: io.StringIO) -> str:
    log = tmp_path / "words.log"
    log.write_text(words)
    assert follow(log, lambda: code, out) == code
    return out.getvalue()


def test_a_failure_names_the_job_the_end_of_its_log_and_what_to_do(tmp_path):
    own = tmp_path / "fit.log"
    own.write_text("".join(f"line {i}\n" for i in range(40)))
    words = (STARTED + FINISHED + BROKEN).format(log=own)
    told = shown(tmp_path, words, 1, io.StringIO())
    assert "1 of 4 done" in told
    assert "Failed: fit_dca race-gen digits. DataError: x.npy does not match its checksum." in told
    assert "line 39" in told
    assert "line 20" not in told
    assert "give the same command again: what is finished is kept" in told
    assert str(tmp_path / "words.log") in told
    assert "RuleException" not in told


def test_a_sentence_that_is_all_the_log_says_is_told_once(tmp_path):
    own = tmp_path / "fit.log"
    own.write_text("x.npy does not match its checksum.\n")
    told = shown(tmp_path, (STARTED + BROKEN).format(log=own), 1, io.StringIO())
    assert told.count("does not match its checksum") == 1


def test_a_mistake_before_any_job_is_told_as_snakemake_tells_it(tmp_path):
    told = shown(tmp_path, "WorkflowError:\nscale: 'opne' is unknown.\n", 1, io.StringIO())
    assert "scale: 'opne' is unknown." in told


def test_a_terminal_has_one_line_and_a_file_has_plain_ones(tmp_path):
    words = (STARTED + FINISHED).format(log="fit.log")
    assert "\r" in shown(tmp_path, words, 0, Terminal())
    plain = shown(tmp_path, words, 0, io.StringIO())
    assert "\r" not in plain
    assert plain.count("\n") == 1
    assert "Nothing to do" in shown(tmp_path, "Building DAG of jobs...\n", 0, io.StringIO())


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--cores", "2", "linear"], False),
        (["--cores", "2", "-n"], True),
        (["--config", "scale=open", "--", "tables"], False),
        (["--report", "own.html"], True),
    ],
)
def test_snakemakes_own_words_are_shown_where_they_are_asked_for(arguments, wanted):
    assert words_wanted(arguments) is wanted
