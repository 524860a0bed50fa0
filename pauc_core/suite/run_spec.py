"""A run's specification: one method on one dataset in one experiment, resolved."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field, replace
from typing import Any

from pauc_core.suite.choice import OBJECTIVE, VALIDATION
from pauc_core.suite.configuration import Experiment, Grid, Suite

# Fields of an experiment that are about its other runs, or that a specification holds resolved.
NOT_OF_ONE_RUN = (
    "title", "track", "datasets", "methods", "seeds", "seeds_per_job", "epochs", "looks", "params",
    "grids", "tune", "tune_epochs", "tune_on", "tune_cores", "league", "training_claims",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """What is run, but for the data, the code and the seed.

    ``stages`` are the grids that a tuned one tries, ``choices`` are the rules by which a trial is
    chosen: for each of them there is a run.
    """

    experiment: Experiment
    dataset: str
    method: str
    label: str
    use: str
    params: dict[str, Any]
    budget: dict[str, float]
    looks: tuple[float, ...]
    device: str = "auto"
    tuned: bool = False
    stages: list[Grid] = field(default_factory=list)
    choices: tuple[str, ...] = (VALIDATION,)

    @property
    def task(self) -> str | None:
        return self.dataset.partition("@")[2] or None

    def decides(self) -> dict[str, Any]:
        """All of it that decides the run's numbers, as nested plain data.

        Snakemake compares plain data alone between two starts: an object among a rule's params
        reaches the script and is otherwise passed over in silence.
        """
        plain = dataclasses.asdict(self)
        for name in NOT_OF_ONE_RUN:
            del plain["experiment"][name]
        return plain


def run_of(suite: Suite, experiment: Experiment, dataset: str, method: str) -> RunSpec:
    """Resolve one run from the configuration."""
    line = suite.methods[method]
    budget = line.get("budget", {"epochs": experiment.epochs})
    tuned = suite.tuned(experiment, method)
    # Networks would take twice their hours, SoRR is chosen by the objective as it is, and neither a
    # control nor a guest is among those that the paper compares in training.
    compared = experiment.training_claims and experiment.model == "linear"
    both = tuned and compared and experiment.goal == "pauc"
    both = both and not (line.get("control", False) or "joins" in line)
    return RunSpec(
        experiment=experiment,
        dataset=dataset,
        method=method,
        label=line["label"],
        use=line.get("use", ""),
        params=suite.fit_params(experiment, method),
        budget=budget,
        # A method with a budget of its own is looked at all along it.
        looks=look_epochs(
            budget.get("epochs", experiment.epochs), experiment.looks, experiment.track
        ),
        device=suite.settings.get("device", "auto"),
        tuned=tuned,
        stages=suite.stages(experiment, method) if experiment.tune else [],
        choices=(VALIDATION, OBJECTIVE) if both else (VALIDATION,),
    )


def trial_of(suite: Suite, experiment: Experiment, dataset: str, method: str) -> RunSpec:
    """The run that is tuned: on the dataset named for it, with the trials' budget.

    A trial is looked at where the run that it chooses for is, as far as it goes, and at its end:
    the best of more looks would be better by chance alone.
    """
    run = run_of(suite, experiment, experiment.tune_on or dataset, method)
    if experiment.tune_epochs is None or "budget" in suite.methods[method]:
        return run
    end = experiment.tune_epochs
    looks = (*(epoch for epoch in run.looks if epoch < end), end)
    return replace(run, budget={"epochs": end}, looks=looks)


def look_epochs(epochs: float, count: int, track: str, smallest: float = 0.05) -> tuple[float, ...]:
    """Epochs to look at, the last one included.

    Evenly spaced for networks; for the convex tracks dense at the beginning, where methods differ.
    """
    if track == "deep":
        return tuple(round(epochs * (i + 1) / count, 6) for i in range(count))
    first = min(smallest, epochs / count)
    ratio = (epochs / first) ** (1.0 / max(count - 1, 1))
    return (*(round(first * ratio**i, 6) for i in range(count - 1)), float(epochs))
