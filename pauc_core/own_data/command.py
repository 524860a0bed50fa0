"""The command ``pauc``: fit a model to one's own table, score it, predict with it, compare two.

Exit codes: 0 done, 1 something is wrong with the data or a file, 2 with the command line, 130
interrupted. Each command makes one dictionary, which is printed as lines or as JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pauc_core.own_data import arguments as command_line
from pauc_core.own_data import printed

Result = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = command_line.read(None if argv is None else list(argv))
    run, show = COMMANDS[arguments.command]
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _one_line
            if getattr(arguments, "roc", None):
                import matplotlib  # noqa: F401
            result = run(arguments)
    except ImportError as error:
        return _fail(f"This needs the package {error.name}: pip install {error.name}.")
    except (OSError, ValueError) as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return _fail("Interrupted; nothing was written.", code=130)
    print(json.dumps(_plain(result), indent=1) if arguments.json else show(result))
    return 0


def fit(arguments: argparse.Namespace) -> Result:
    """``pauc fit``: train on one file and write the model."""
    from pauc_core.own_data.classifier import PartialAUCClassifier
    from pauc_core.own_data.model_file import save_model
    from pauc_core.own_data.rows import label_values, training_rows

    _check_output(arguments.output)
    path = arguments.train
    rows = training_rows(
        path,
        label=arguments.label,
        drop=arguments.drop,
        group=arguments.group,
        weight=arguments.weight,
        text=arguments.text,
        number=arguments.number,
        missing=arguments.missing,
    )
    y = label_values(np.asarray(rows.labels), arguments.positive, path)
    model = PartialAUCClassifier(
        **(arguments.band or {}),
        loss=arguments.loss,
        predict_fpr=arguments.predict_fpr,
        predict_tpr=arguments.predict_tpr,
        confidence=arguments.confidence,
        random_state=arguments.seed,
        verbose=not arguments.quiet,
    )
    model.fit(rows.x, y, sample_weight=rows.weights, groups=rows.groups)
    others = set(np.asarray(rows.labels)[~y].tolist()) if arguments.positive else set()
    origin = {
        "label": arguments.label,
        "positive": arguments.positive,
        "negative": str(others.pop()) if len(others) == 1 else None,
        "encoding": rows.encoding and rows.encoding.to_json(),
    }
    save_model(model, arguments.output, origin)
    best = model.best_index_
    return {
        "rows": len(y),
        "positives": int(np.sum(y == model.classes_[1])),
        "columns": _columns(rows.encoding, model.n_features_in_),
        "left_out": [] if rows.encoding is None else list(rows.encoding.left_out),
        "positive_class": arguments.positive or str(model.classes_[1]),
        "band": model.band_,
        "held_out_pauc": model.validation_score_,
        "standard_error": model.path_["standard_error"][best],
        "logistic_regression": model.start_score_,
        "loss": model.loss_,
        "penalty": model.penalty_,
        "predict_fpr": model.predict_fpr_,
        "predict_tpr": model.predict_tpr_,
        "confidence": model.confidence,
        "set_apart": len(model.set_apart_),
        "model": str(arguments.output),
    }


def score(arguments: argparse.Namespace) -> Result:
    """``pauc score``: pAUC with its interval, rates at thresholds, a ROC plot if asked for."""
    from pauc_core.intervals import pauc_interval
    from pauc_core.metrics import auc, threshold_at_fpr
    from pauc_core.own_data.comparing import positives
    from pauc_core.own_data.rows import SavedModel, model_rows

    model = SavedModel.load(arguments.model)
    path = arguments.test
    rows = model_rows(
        model, path, label=arguments.label, group=arguments.group, weight=arguments.weight
    )
    positive, weights = positives(model, rows.labels, path), rows.weights
    scores = model.classifier.decision_function(rows.x)
    band: dict[str, Any] = model.classifier.band_
    found = pauc_interval(positive, scores, groups=rows.groups, sample_weight=weights, **band)
    of_negatives = None if weights is None else weights[~positive]
    rates = []
    for rate in sorted(arguments.at):
        # One step down is the highest score that is refused: a yes is a score above it.
        step = threshold_at_fpr(scores[~positive], rate, sample_weight=of_negatives)
        threshold = float(np.nextafter(step, -np.inf))
        rates.append(_rates(rate, positive, scores > threshold, threshold, weights))
    rates.append(_rates("predict", positive, scores > 0, 0.0, weights))
    if arguments.roc:
        from pauc_core.own_data.roc_picture import draw_rocs

        name = f"pAUC {found.value:.3f} ({found.low:.3f} to {found.high:.3f})"
        draw_rocs(arguments.roc, positive, {name: scores}, band, weights)
    return {
        "rows": len(positive),
        "positives": int(positive.sum()),
        "band": band,
        **_interval(found),
        "auc": auc(positive, scores, sample_weight=weights),
        "rates": rates,
        "roc": arguments.roc and str(arguments.roc),
    }


def predict(arguments: argparse.Namespace) -> Result:
    """``pauc predict``: write a score and an answer for every row, with labels or without."""
    import pandas as pd

    from pauc_core.files import atomic_path
    from pauc_core.own_data.rows import SavedModel, model_rows

    _check_output(arguments.output)
    model = SavedModel.load(arguments.model)
    rows = model_rows(
        model, arguments.table, label=arguments.label, labelled=False, keep=arguments.keep
    )
    scores = model.classifier.decision_function(rows.x)
    label = arguments.label or model.label
    columns: dict[str, Any] = dict(rows.kept)
    if rows.labels is not None and label:
        columns[label] = rows.labels
    for name in ("score", "probability", "predicted"):
        if name in columns:
            raise ValueError(
                f"{arguments.table}: its column {name!r} would take the place of ours of that "
                "name: rename it, or leave it out."
            )
    negative, positive = model.words
    columns["score"] = scores
    columns["probability"] = model.classifier.predict_proba(rows.x)[:, 1]
    columns["predicted"] = np.where(scores > 0, positive, negative)
    frame, ending = pd.DataFrame(columns), arguments.output.suffixes
    with atomic_path(arguments.output) as draft:
        if ".parquet" in ending:
            frame.to_parquet(draft, index=False)
        else:
            frame.to_csv(draft, index=False, sep="\t" if ".tsv" in ending else ",")
    return {
        "rows": len(scores),
        "predicted": {positive: int((scores > 0).sum()), negative: int((scores <= 0).sum())},
        "scores": str(arguments.output),
    }


def compare(arguments: argparse.Namespace) -> Result:
    """``pauc compare``: two pAUCs with intervals, and their paired difference."""
    from pauc_core.intervals import compare_pauc, pauc_interval
    from pauc_core.own_data.comparing import of_files, of_models

    paths, band = arguments.files, arguments.band
    beside = {"label": arguments.label, "group": arguments.group, "weight": arguments.weight}
    if len(paths) == 3:
        for name in ("positive", "id", "score"):
            if getattr(arguments, name):
                raise ValueError(
                    f"--{name} is for two files of scores, and here are two models: leave it out."
                )
        pair, models = of_models(paths[:2], paths[2], **beside)
        bands = [model.classifier.band_ for model in models]
        if band is None and bands[0] != bands[1]:
            raise ValueError("The models were fitted for different bands: name one with --fpr.")
        band = band or bands[0]
    else:
        pair = of_files(
            paths,
            positive=arguments.positive,
            identifier=arguments.id,
            scores=arguments.score,
            **beside,
        )
    where = {**band, "groups": pair.groups, "sample_weight": pair.weights}
    sides = (pair.first, pair.second)
    found = [pauc_interval(pair.positive, scores, **where) for scores in sides]
    paired = compare_pauc(pair.positive, *sides, **where)
    names = [str(path) for path in paths[:2]]
    if len(arguments.score) == 2:
        names = [f"{name}, {score}" for name, score in zip(names, arguments.score, strict=True)]
    if arguments.roc:
        from pauc_core.own_data.roc_picture import draw_rocs

        titles = [f"{side}: {Path(name).name}" for side, name in zip("AB", names, strict=True)]
        curves = dict(zip(titles, sides, strict=True))
        draw_rocs(arguments.roc, pair.positive, curves, band, pair.weights)
    return {
        "rows": len(pair.positive),
        "positives": int(pair.positive.sum()),
        "band": band,
        "first": {"from": names[0], **_interval(found[0])},
        "second": {"from": names[1], **_interval(found[1])},
        "difference": paired.difference,
        "standard_error": paired.standard_error,
        "interval": [paired.low, paired.high],
        "p_value": paired.p_value,
        "doubt": paired.doubt,
        "roc": arguments.roc and str(arguments.roc),
    }


def _columns(encoding: Any, width: int) -> dict[str, int]:
    """How many columns were read, of which kinds, and how many the model has."""
    if encoding is None:
        return {"numbers": width, "words": 0, "features": width}
    of_words = len(encoding.text)
    return {"numbers": len(encoding.columns) - of_words, "words": of_words, "features": width}


def _interval(found: Any) -> Result:
    return {
        "pauc": found.value,
        "standard_error": found.standard_error,
        "interval": [found.low, found.high],
        "doubt": found.doubt,
    }


def _rates(
    name: float | str,
    positive: np.ndarray,
    chosen: np.ndarray,
    threshold: float,
    weights: np.ndarray | None,
) -> Result:
    fpr, tpr = (
        float(np.average(chosen[mine], weights=None if weights is None else weights[mine]))
        for mine in (~positive, positive)
    )
    return {"at": name, "fpr": fpr, "tpr": tpr, "threshold": threshold}


def _check_output(path: Path) -> None:
    """Refuse a place where nothing can be written before the work is done."""
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give the name of a file.")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}: make it first.")


def _plain(value: Any) -> Any:
    """What JSON can hold: a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value


def _one_line(message: object, *_: object, **__: object) -> None:
    print(f"pauc: warning: {' '.join(str(message).split())}", file=sys.stderr)


def _fail(sentence: str, code: int = 1) -> int:
    print(f"pauc: {' '.join(sentence.split())}", file=sys.stderr)
    return code


Runner = Callable[[argparse.Namespace], Result]
COMMANDS: dict[str, tuple[Runner, Callable[[Result], str]]] = {
    "fit": (fit, printed.fit),
    "score": (score, printed.score),
    "predict": (predict, printed.predict),
    "compare": (compare, printed.compare),
}

if __name__ == "__main__":
    sys.exit(main())
