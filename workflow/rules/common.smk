import functools
import math
import os
import sys
from pathlib import Path

# Snakemake puts the Snakefile's folder first on this process's path but last on a script's, where an
# installed pauc_core would come before the one whose digests are taken here, and guests would be
# found by grace. A job on a cluster reads this file too.
ROOT = Path(str(workflow.current_basedir)).parents[1]
given = filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])
os.environ.update(PYTHONPATH=os.pathsep.join(given))

from pauc_core.suite.provenance import code_digest, run_digest
from pauc_core.suite import columns, configuration, failures, lifetime, run_spec
from pauc_core.suite.served import Packed
from pauc_core.suite.yaml_files import ConfigurationError, read_mapping


wildcard_constraints:
    experiment=r"[a-z][a-z0-9-]*",
    dataset=r"[A-Za-z0-9][\w.-]*(@\w+)?",
    stored=r"[A-Za-z0-9][\w.-]*",
    method=r"[a-z][a-z0-9_]*",
    first=r"\d+",
    last=r"\d+",


# Snakemake starts a script's interpreter unquoted: every job would die without saying why.
for place in (ROOT, Path.cwd(), Path(sys.executable).parent):
    if any(mark.isspace() for mark in str(place)):
        raise WorkflowError(
            f"The path {str(place)!r} has a space in it, with which no job can start: move the "
            "project to a folder without one."
        )
ENV = "../envs/suite.yaml"
SETTINGS = configuration.settings(config)
try:
    SUITE = configuration.load(ROOT, SETTINGS)
    # It imports torch, for which the parsing of every job would wait.
    if workflow.is_main_process:
        from pauc_core.suite.named_code import check_names

        read_mapping(ROOT / "config/config.yaml")
        check_names(SUITE)
except ConfigurationError as error:
    raise WorkflowError(str(error)) from None
RESULTS = SUITE.results
if SETTINGS.get("mirror"):
    # Where bytes come from is no reason to fetch them again: not among a rule's params.
    os.environ.update(PAUC_MIRROR=SETTINGS["mirror"])
RAW = SETTINGS["raw"]
if workflow.is_main_process and not workflow.output_settings.dryrun:
    lifetime.claim(SETTINGS["results"], RAW)
    failures.tell_at_the_end()
EXTRACTED = [
    name for name, entry in SUITE.datasets.items() if entry["kind"] == "extracted"
]


def fitted(experiment, name):
    """The files of every run of an experiment."""
    return [
        f"{RESULTS}/runs/{experiment.name}/{dataset}/{method}/seeds-{first}-{last}/{name}"
        for dataset in experiment.datasets
        for method in experiment.methods
        for first, last in SUITE.groups(experiment, method)
    ]


def tuned_files(experiment):
    """What tuning wrote for an experiment; nothing where it has fixed values."""
    return [
        f"{RESULTS}/tuned/{experiment.name}/{experiment.tune_on or dataset}/{method}.trials.json"
        for dataset in experiment.datasets
        for method in experiment.methods
        if SUITE.tuned(experiment, method)
    ]


def of_track(track):
    """Summaries of every experiment of a track."""
    chosen = [e for e in SUITE.experiments.values() if e.track == track]
    return [path for e in chosen for path in fitted(e, "summary.jsonl")]


@functools.cache
def digest(module):
    """The code's digest as a rule parameter, where the scale re-runs on changed mathematics.

    Rules ask through a function, so that a job works out its own digest only.
    """
    return code_digest(module) if SUITE.digests else None


@functools.cache
def digest_of_runs(use, model, device, tuned):
    return run_digest(use, model=model, params={"device": device}, tuned=tuned)


def code_of(spec):
    """The same for the code that decides a run's numbers."""
    if not SUITE.digests:
        return None
    device = spec.params.get("device")
    return digest_of_runs(spec.use, spec.experiment.model, device, spec.tuned)


def specification(wildcards, method):
    """What is run. Rules record what decides its numbers beside it: see RunSpec.decides."""
    experiment = SUITE.experiments[wildcards.experiment]
    return run_spec.run_of(SUITE, experiment, wildcards.dataset, method)


def trial(wildcards):
    """What is tuned."""
    experiment = SUITE.experiments[wildcards.experiment]
    return run_spec.trial_of(SUITE, experiment, wildcards.dataset, wildcards.method)


def packed(spec):
    """The same for a job: its process unpacks it only where it does the work itself."""
    kind = "linear" if spec.experiment.model == "linear" else "network"
    return Packed(spec, kind if spec.experiment.threads == 1 else None)


def tuned_input(wildcards, method):
    """The chosen values of a run, where they were tuned."""
    experiment = SUITE.experiments[wildcards.experiment]
    if not SUITE.tuned(experiment, method):
        return []
    return f"{RESULTS}/tuned/{experiment.name}/{experiment.tune_on or wildcards.dataset}/{method}.json"


def fit_minutes(wildcards):
    """What a scheduler is asked for: the limit of each seed, and a while to start and to write."""
    experiment = SUITE.experiments[wildcards.experiment]
    seeds = experiment.seeds_between(int(wildcards.first), int(wildcards.last))
    return int(experiment.minutes * len(seeds)) + 15


def tune_minutes(wildcards, threads):
    """The limit of each trial, as many at once as there are cores, and a week at most."""
    experiment = SUITE.experiments[wildcards.experiment]
    stages = SUITE.stages(experiment, wildcards.method)
    rounds = sum(math.ceil(math.prod(map(len, g.values())) / threads) for g in stages)
    rounds *= len(SUITE.tuning_seeds(experiment, wildcards.dataset))
    return min(int(experiment.minutes * rounds) + 15, 7 * 24 * 60)
