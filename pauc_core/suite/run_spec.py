"""A cell: one method on one dataset in one experiment, as plain data that a job can carry."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pauc_core.data.prepared import Prepared, load_prepared
from pauc_core.data.splits import split
from pauc_core.models.linear import LinearModel
from pauc_core.solver import Budget, Method, Model, Part, Problem
from pauc_core.solver.streams import stream
from pauc_core.suite.configuration import Experiment, Suite, look_epochs, method_class


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Everything that decides a run's numbers, but for the data, the code and the seed."""

    experiment: str
    dataset: str
    method: str
    label: str
    use: str
    params: dict[str, Any]
    goal: str
    band: dict[str, float]
    loss: str
    model: str
    scaling: str
    augmentation: str
    valid_share: float
    use_all: bool
    budget: dict[str, float]
    looks: list[float]
    step_epochs: float
    look_rows: int | None
    threads: int
    precision: str
    device: str
    minutes: float
    memory_mb: int
    tuned: bool = False
    grid: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def task(self) -> str | None:
        return self.dataset.partition("@")[2] or None


def cell_of(suite: Suite, experiment: Experiment, dataset: str, method: str) -> Cell:
    """Resolve one cell from the configuration."""
    line = suite.methods[method]
    budget = line.get("budget", {"epochs": experiment.epochs})
    return Cell(
        experiment=experiment.name,
        dataset=dataset,
        method=method,
        label=line["label"],
        use=line.get("use", ""),
        params=suite.fit_params(experiment, method),
        goal=experiment.goal,
        band=experiment.band,
        loss=experiment.loss,
        model=experiment.model,
        scaling=experiment.scaling,
        augmentation=experiment.augmentation,
        valid_share=experiment.valid_share,
        use_all=experiment.use_all,
        budget=budget,
        looks=_looks(experiment, budget, experiment.looks),
        step_epochs=experiment.step_epochs,
        look_rows=experiment.look_rows,
        threads=experiment.threads,
        precision=experiment.precision,
        device=suite.settings.get("device", "auto"),
        minutes=experiment.minutes,
        memory_mb=experiment.memory_mb,
        tuned=suite.tuned(experiment, method),
        grid=suite.grid(experiment, method) if experiment.tune else {},
    )


def trial_of(suite: Suite, experiment: Experiment, dataset: str, method: str) -> Cell:
    """The cell that is tuned: the same one with the trial budget, on the dataset named for it."""
    cell = cell_of(suite, experiment, experiment.tune_on or dataset, method)
    epochs = experiment.tune_epochs or experiment.epochs
    budget = suite.methods[method].get("budget", {"epochs": epochs})
    return replace(cell, budget=budget, looks=_looks(experiment, budget, experiment.tune_looks))


def _looks(experiment: Experiment, budget: dict[str, float], count: int) -> list[float]:
    """A method with a budget of its own is looked at all along it."""
    return look_epochs(budget.get("epochs", experiment.epochs), count, experiment.track)


def build_method(cell: Cell, params: dict[str, Any]) -> Method:
    """The method with its hyper-parameters; a wrong or missing one is a sentence."""
    cls = method_class(cell.use)
    try:
        method: Method = cls(**params)
    except TypeError as error:
        raise ValueError(
            f"{cell.method}: {cell.use} does not take these params: {error}."
        ) from error
    return method


def build_problem(cell: Cell, folder: Path, seed: int) -> tuple[Problem, Part | None, Prepared]:
    """Problem and test part of a cell at a seed, from a prepared folder."""
    prepared = load_prepared(folder)
    y, train_rows, valid_rows, test_rows = split(
        prepared, cell.task, seed, cell.valid_share, use_all=cell.use_all
    )
    train, valid, test = (
        Part(prepared.x, y, np.asarray(rows)) for rows in (train_rows, valid_rows, test_rows)
    )
    problem = Problem(
        train=train,
        valid=valid if len(valid) else None,
        model=_model(cell, prepared, train),
        goal=cell.goal,
        loss=cell.loss,
        step_epochs=cell.step_epochs,
        look_rows=_look_rows(cell, train, seed),
        **cell.band,  # type: ignore[arg-type]
    )
    return problem, test if len(test) else None, prepared


def build_budget(cell: Cell) -> Budget:
    return Budget(**cell.budget)  # type: ignore[arg-type]


def _model(cell: Cell, prepared: Prepared, train: Part) -> Model:
    if cell.model == "linear":
        return LinearModel.fit_scaling(train, cell.scaling)
    from pauc_core.models.module import ModuleModel
    from pauc_core.models.precision import build_at

    network = build_at(cell.precision, cell.model, in_channels=prepared.x.shape[1])
    return ModuleModel(network, augmentation=cell.augmentation, device=cell.device)


def _look_rows(cell: Cell, train: Part, seed: int) -> np.ndarray | None:
    """A stratified sample of the training rows, the same for all methods at a seed."""
    if cell.look_rows is None or cell.look_rows >= len(train):
        return None
    rng = stream(seed, "looks", cell.dataset)
    share = cell.look_rows / len(train)
    chosen = [
        rng.choice(rows, max(1, round(share * len(rows))), replace=False)
        for rows in (train.positives, train.negatives)
    ]
    return np.sort(np.concatenate(chosen))
