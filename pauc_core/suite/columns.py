"""The columns of every file and frame of the suite, declared once; a wrong one is a sentence."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pauc_core.solver.trace import COLUMNS as LOOK
from pauc_core.solver.trace import MEASURES, OWN

Kind = Literal["text", "json", "whole", "number", "truth"]


class ColumnError(ValueError):
    """A column that is unknown, missing or of another kind, in one sentence."""


@dataclass(frozen=True)
class Column:
    """A name, what lies in it, what it means; ``needed``: a run's file without it is refused."""

    name: str
    kind: Kind
    meaning: str
    needed: bool = False


def _needed(name: str, kind: Kind, meaning: str) -> Column:
    return Column(name, kind, meaning, needed=True)


KEYS = ("experiment", "dataset", "method")
_KEYS = (
    _needed("experiment", "text", "name in config/experiments.yaml"),
    _needed("dataset", "text", "name in config/datasets.yaml, with @task where it has tasks"),
    _needed("method", "text", "name in config/methods.yaml"),
)
_CHOSEN_BY = Column("chosen_by", "text", "by what its trial was chosen: validation or objective")
_SEED = _needed("seed", "whole", "of the split, the start and the steps")
_LOOK = {name: _needed(name, "number", meaning) for name, meaning in LOOK.items()}
_AT_W = tuple(
    Column(f"{name}_w", "number", f"{_LOOK[name].meaning}; at w^(k) of AGD-SBCD")
    for name in MEASURES
)
_OUTCOME = (
    _needed("outcome", "text", "how the run ended"),
    _needed("reason", "text", "the same in a sentence"),
)
_LAST = {
    f"last_{name}": Column(f"last_{name}", "number", f"at the last look: {_LOOK[name].meaning}")
    for name in (*MEASURES, "epoch", "step")
}
_LEAGUE = (
    _needed("league", "text", "experiments that train for several bands on the same data"),
    _needed("fpr_low", "number", "lower end of the band that is scored"),
    _needed("fpr_high", "number", "upper end of the band that is scored"),
)
_PARAMS = _needed("params", "json", "hyper-parameters as used")

COLUMNS: dict[str, tuple[Column, ...]] = {
    # One row a seed; the numbers of a run are those of its best look on validation.
    "summaries": (
        *_KEYS,
        _needed("label", "text", "name of the method in tables"),
        _needed("use", "text", "module:Class, or the path of a guest's program"),
        _needed("goal", "text", "pauc or sorr"),
        _needed("loss", "text", "surrogate loss"),
        _needed("model", "text", "linear, or the network's name"),
        _needed("tuned", "truth", "whether params were chosen by trials"),
        _CHOSEN_BY,
        _SEED,
        _PARAMS,
        _needed("budget", "json", "epochs or seconds that the run might take"),
        Column("threads", "whole", "numeric threads"),
        Column("precision", "text", "in which a network was trained"),
        _needed("code_digest", "text", "of the code that decides the numbers"),
        _needed("versions", "json", "of Python and packages"),
        Column("n_train_pos", "whole", "positive training rows"),
        Column("n_train_neg", "whole", "negative training rows"),
        Column("n_valid", "whole", "validation rows"),
        Column("n_test", "whole", "test rows"),
        Column("m", "whole", "lower rank of the band, excluded"),
        Column("n", "whole", "upper rank of the band, included"),
        Column("fpr_low", "number", "lower end of the band"),
        Column("fpr_high", "number", "upper end of the band"),
        Column("look_rows", "whole", "training rows that looks are taken at"),
        Column("data_checksum", "text", "of the prepared arrays"),
        Column("provenance", "text", "paper, stand-in, generated or own data"),
        *_OUTCOME,
        *(
            Column(name, "number", f"at the best look: {_LOOK[name].meaning}")
            for name in ("step", "epoch", "work", *MEASURES)
        ),
        Column("epoch_w", "number", "epoch of w's own best look"),
        *_AT_W,
        *_LAST.values(),
        Column("seconds", "number", "process time of the whole run"),
        Column("wall", "number", "elapsed time of the whole run"),
        Column("peak_mb", "number", "largest resident memory"),
        Column("test_low", "number", "lower end of the test pAUC's interval"),
        Column("test_high", "number", "upper end of the test pAUC's interval"),
        Column("test_se", "number", "standard error of the test pAUC over the test rows"),
        Column("stale", "truth", "whether the code has changed since"),
        Column("path", "text", "of the line's file below the scale's folder"),
    ),
    # One row a look.
    "traces": (*_KEYS, _CHOSEN_BY, _SEED, *_LOOK.values(), *_AT_W),
    # One row a point of a curve that is thinned to what a plot can show.
    "roc": (
        *_KEYS,
        _CHOSEN_BY,
        _SEED,
        _needed("fpr", "number", "false positive rate"),
        _needed("tpr", "number", "true positive rate"),
    ),
    # One row a trial.
    "trials": (
        *_KEYS,
        Column("seed", "whole", "whose split it was tried on"),
        _needed("trial", "whole", "place in the grid"),
        _PARAMS,
        _needed("pauc_valid", "number", "at the best look: pAUC on validation"),
        _needed("epoch", "number", "epoch of the best look"),
        *(
            replace(_LAST[name], needed=True)
            for name in ("last_objective", "last_pauc_train", "last_epoch")
        ),
        _needed("seconds", "number", "process time of the trial"),
        *_OUTCOME,
        _needed("chosen", "truth", "whether runs take its values"),
    ),
    # One row a task of a stored dataset.
    "datasets": (
        _needed("dataset", "text", "name in config/datasets.yaml"),
        _needed("task", "text", "name of the task, where there are several"),
        _needed("title", "text", "name in tables"),
        _needed("kind", "text", "which loader read it"),
        _needed("provenance", "text", "paper, stand-in, generated or own data"),
        _needed("generated", "truth", "whether the numbers were made up"),
        _needed("n", "whole", "rows published for training"),
        _needed("width", "whole", "features of a row"),
        _needed("positives", "whole", "positives among them"),
        _needed("negatives", "whole", "negatives among them"),
        *(
            _needed(f"{part}_{what}", "whole", f"{what} of the {part} part")
            for part in ("train", "test", "valid")
            for what in ("rows", "positives")
        ),
        _needed("checksum", "text", "of the prepared arrays"),
        _needed("details", "json", "what the loader tells besides"),
    ),
    # One row a pair of methods on a task: test pAUC of the method less that of its rival.
    "pairwise": (
        *_KEYS,
        _needed("rival", "text", "name in config/methods.yaml"),
        _CHOSEN_BY,
        _needed("seeds", "whole", "seeds that both have run"),
        _needed("difference", "number", "mean difference of the test pAUC"),
        _needed("standard_error", "number", "of it, over seeds and test rows; infinite: unknown"),
        _needed("df", "number", "degrees of freedom of Student's t"),
        _needed("seeds_share", "number", "share of the variance that is training's"),
        _needed("rows_share", "number", "share of the variance that is the test rows'"),
        _needed("design", "text", "seeds (on the same test rows) or folds"),
    ),
    # One row a method, task and band that it is scored on, values chosen on validation.
    "bands": (
        *_KEYS,
        *_LEAGUE,
        _needed("own_band", "truth", "whether it was trained for this band"),
        _needed("seeds", "whole", "seeds that ran"),
        _needed("pauc", "number", "mean test pAUC in this band"),
        _needed("standard_error", "number", "of it, over seeds and test rows; infinite: unknown"),
        _needed("df", "number", "degrees of freedom of Student's t"),
        _needed("design", "text", "seeds (on the same test rows) or folds"),
    ),
    # One row a method, task and rival band: the experiment trained for the band less the other.
    "across": (
        *_KEYS,
        *_LEAGUE,
        _needed("rival_experiment", "text", "which trained for another band"),
        _needed("seeds", "whole", "seeds that both have run"),
        _needed("difference", "number", "mean difference of the test pAUC in this band"),
        _needed("standard_error", "number", "of it, over seeds and test rows; infinite: unknown"),
        _needed("df", "number", "degrees of freedom of Student's t"),
        _needed("design", "text", "seeds (on the same test rows) or folds"),
    ),
    # One row a scored row of a run's best look; a file, not a frame.
    "scores": (
        _SEED,
        _CHOSEN_BY,
        _needed("part", "text", "valid or test"),
        _needed("row", "whole", "number of the stored row"),
        _needed("label", "whole", "1 for a positive"),
        _needed("score", "number", "what the run's best iterate gives it"),
    ),
}
FRAMES = ("summaries", "traces", "roc", "trials", "datasets", "pairwise", "bands", "across")

# Besides those declared, a run's summaries and traces have what its method brings: the measures of
# an iterate beside the scored one (pauc_test_kept) and numbers of its own (own_gap).
BROUGHT = re.compile(rf"({'|'.join(('epoch', *MEASURES))})_\w+|{OWN}\w+")
BROUGHT_TO = ("summaries", "traces")


def names(frame: str) -> list[str]:
    """The declared columns of a frame, in their order."""
    return [column.name for column in COLUMNS[frame]]


def check(frame: str, found: Iterable[str], place: str | Path, *, every: bool = False) -> None:
    """Raise where a column is unknown, or where a needed one (or ``every`` one) is missing."""
    there = list(found)
    known = names(frame)
    for name in there:
        if name in known or (frame in BROUGHT_TO and BROUGHT.fullmatch(name)):
            continue
        raise ColumnError(
            f"{place}: {frame}: the column {name!r} is unknown{_nearest(name, known)}; columns are "
            f"declared in pauc_core/suite/columns.py, and a method's own begin with {OWN!r}."
        )
    for column in COLUMNS[frame]:
        if (every or column.needed) and column.name not in there:
            raise ColumnError(
                f"{place}: {frame}: the column {column.name!r} ({column.meaning}) is missing"
                f"{_nearest(column.name, there)}."
            )


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"; the nearest known name is {near[0]!r}" if near else ""
