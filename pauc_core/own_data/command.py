"""The command ``pauc``: fit a model to one's own table, score it on another.

Exit codes: 0 done, 1 something is wrong with the data or a file, 2 with the command line.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pauc_core.objective.losses import LOSSES

RATES = (0.01, 0.05, 0.1, 0.2, 0.5)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    if arguments.command == "fit" and not 0 <= arguments.fpr[0] < arguments.fpr[1] <= 1:
        parser.error(f"--fpr {arguments.fpr[0]} {arguments.fpr[1]}: expected 0 <= LOW < HIGH <= 1")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _one_line
            (fit if arguments.command == "fit" else score)(arguments)
    except ImportError as error:
        return _fail(f"This needs the package {error.name}: pip install {error.name}.")
    except (OSError, ValueError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("Interrupted; nothing was written.", code=130)
    return 0


def fit(arguments: argparse.Namespace) -> None:
    """``pauc fit``: train on one file and write the model."""
    from pauc_core.data.own_rows import read_rows
    from pauc_core.own_data.classifier import PartialAUCClassifier
    from pauc_core.own_data.model_file import save_model

    rows = read_rows(
        arguments.train, label=arguments.label, drop=arguments.drop, group=arguments.group
    )
    y = _labels(rows.labels, arguments.positive, arguments.train)
    model = PartialAUCClassifier(
        *arguments.fpr,
        loss=arguments.loss,
        predict_fpr=arguments.predict_fpr,
        random_state=arguments.seed,
        verbose=not arguments.quiet,
    )
    model.fit(rows.x, y, groups=rows.groups)
    origin = {"label": arguments.label, "positive": arguments.positive}
    save_model(model, arguments.output, origin)
    low, high = arguments.fpr
    print(f"positive class    {arguments.positive or model.classes_[1]}")
    print(f"held-out pAUC     {model.validation_score_:.4f} in [{low:g}, {high:g}]")
    print(f"log. regression   {model.start_score_:.4f}")
    penalty = "" if np.isnan(model.penalty_) else f", penalty {model.penalty_:g}"
    print(f"chosen            {model.loss_}{penalty}")
    print(f"model             {arguments.output}")


def score(arguments: argparse.Namespace) -> None:
    """``pauc score``: pAUC with its interval, rates at thresholds, a ROC plot if asked for."""
    from pauc_core.data.own_rows import read_rows
    from pauc_core.intervals import bootstrap_interval
    from pauc_core.metrics import auc, pauc, threshold_at_fpr
    from pauc_core.own_data.classifier import PartialAUCClassifier
    from pauc_core.own_data.model_file import load_origin

    if not arguments.model.is_file():
        raise ValueError(f"{arguments.model} is not a file: make a model with `pauc fit`.")
    model = PartialAUCClassifier.load(arguments.model)
    origin = load_origin(arguments.model)
    names = getattr(model, "feature_names_in_", None)
    rows = read_rows(
        arguments.test,
        label=arguments.label or origin.get("label"),
        names=None if names is None else list(names),
        width=model.n_features_in_,
    )
    y = _labels(rows.labels, origin.get("positive"), arguments.test)
    strange = ~np.isin(y, model.classes_)
    if strange.any():
        raise ValueError(
            f"{arguments.test}, row {int(strange.argmax()) + 1}: the label {y[strange][0]} is "
            f"none of the model's {model.classes_.tolist()}."
        )
    positive = y == model.classes_[1]
    scores = model.decision_function(rows.x)
    area = pauc(positive, scores, fpr_low=model.fpr_low, fpr_high=model.fpr_high)
    low, high = bootstrap_interval(
        positive,
        scores,
        fpr_low=model.fpr_low,
        fpr_high=model.fpr_high,
        rng=arguments.seed,
        repeats=arguments.repeats,
    )
    print(f"rows       {len(y)}: {positive.sum()} positive, {(~positive).sum()} negative")
    print(f"pAUC       {area:.4f} in [{model.fpr_low:g}, {model.fpr_high:g}]")
    print(f"95 %       {low:.4f} to {high:.4f} (bootstrap, {arguments.repeats} redraws)")
    print(f"AUC        {auc(positive, scores):.4f}")
    print(f"\n{'FPR at most':>11}  {'FPR':>7}  {'TPR':>7}  {'threshold':>10}")
    for rate in sorted(arguments.at):
        threshold = threshold_at_fpr(scores[~positive], rate)
        _rates(f"{rate:g}", positive, scores, threshold)
    _rates("predict", positive, scores, float(np.nextafter(0.0, 1.0)))
    if arguments.roc:
        _draw(arguments.roc, positive, scores, model.fpr_low, model.fpr_high, area)
        print(f"\nROC plot   {arguments.roc}")


def _labels(values: np.ndarray, positive: str | None, path: Path) -> np.ndarray:
    if positive is None:
        kinds = np.unique(values.astype(str))
        if len(kinds) > 2:
            raise ValueError(
                f"{path}: the label takes {len(kinds)} values ({', '.join(kinds[:5])} ..): "
                "expected two, or name the positive one with --positive."
            )
        return values
    wanted = np.asarray([_same(value, positive) for value in values])
    if not wanted.any():
        raise ValueError(f"{path}: no label is {positive!r}, the positive one.")
    return wanted


def _same(value: object, word: str) -> bool:
    """A label in a file and a word on the command line: 1.0 and "1" are the same."""
    if str(value) == word:
        return True
    try:
        return float(value) == float(word)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def _rates(name: str, positive: np.ndarray, scores: np.ndarray, threshold: float) -> None:
    chosen = scores >= threshold
    fpr, tpr = chosen[~positive].mean(), chosen[positive].mean()
    print(f"{name:>11}  {fpr:7.4f}  {tpr:7.4f}  {threshold:10.4g}")


def _draw(
    path: Path, positive: np.ndarray, scores: np.ndarray, low: float, high: float, area: float
) -> None:
    from matplotlib.figure import Figure

    from pauc_core.files import atomic_path
    from pauc_core.metrics import roc_curve_points

    fpr, tpr = roc_curve_points(positive, scores)[:2]
    figure = Figure(figsize=(5, 5), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.axvspan(low, high, color="0.9", label=f"band, pAUC {area:.4f}")
    axes.plot(fpr, tpr, color="black", linewidth=1.2)
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=0.8, linestyle="--")
    axes.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
    axes.legend(loc="lower right", frameon=False)
    with atomic_path(path) as draft:
        figure.savefig(draft, format="png")


def _one_line(message: object, *_: object, **__: object) -> None:
    print(f"pauc: warning: {message}", file=sys.stderr)


def _fail(sentence: str, code: int = 1) -> int:
    print(f"pauc: {' '.join(sentence.split())}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pauc", description="Linear models for a band of false positive rates."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("fit", help="train on a CSV, TSV, Parquet or LIBSVM file")
    one.add_argument("train", type=Path)
    one.add_argument("--label", help="label column (not for LIBSVM)")
    one.add_argument("--positive", help="label of the positives, all others being negative")
    one.add_argument("--fpr", nargs=2, type=float, default=(0.05, 0.5), metavar=("LOW", "HIGH"))
    one.add_argument("--loss", choices=sorted(LOSSES), help="surrogate; chosen unless given")
    one.add_argument("--drop", nargs="+", default=[], metavar="COLUMN", help="no features")
    one.add_argument("--group", help="column of groups (patients) that no split may cut")
    one.add_argument("--predict-fpr", type=_rate, metavar="RATE")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--quiet", action="store_true", help="no progress bar")
    one.add_argument("-o", "--output", type=Path, required=True, metavar="MODEL.npz")
    two = commands.add_parser("score", help="score a saved model on a file with labels")
    two.add_argument("model", type=Path)
    two.add_argument("test", type=Path)
    two.add_argument("--label", help="label column, if not the one of training")
    two.add_argument("--at", nargs="+", type=_rate, default=RATES, metavar="FPR")
    two.add_argument("--repeats", type=_count, default=1000, help="redraws of the bootstrap")
    two.add_argument(
        "--roc", type=Path, metavar="PNG", help="draw the ROC curve (needs matplotlib)"
    )
    two.add_argument("--seed", type=int, default=0)
    return parser


def _rate(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no rate between 0 and 1")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no count of at least 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
