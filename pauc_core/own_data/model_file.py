"""A fitted classifier as a plain .npz file: arrays and one line of JSON, nothing pickled."""

from __future__ import annotations

import json
import zipfile
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pauc_core.files import atomic_path
from pauc_core.own_data.classifier import PartialAUCClassifier

FORMAT = 3
FITTED = (
    "coef_",
    "intercept_",
    "held_out_",
    "loss_",
    "penalty_",
    "predict_fpr_",
    "predict_tpr_",
    "calibration_",
    "set_apart_",
    "best_index_",
    "start_score_",
    "validation_score_",
    "n_iter_",
    "n_features_in_",
)
PATH = "path_."

Classifier = TypeVar("Classifier", bound=PartialAUCClassifier)


def save_model(
    model: PartialAUCClassifier,
    path: str | PathLike[str],
    origin: dict[str, Any] | None = None,
) -> None:
    """Write a fitted classifier; a ``random_state`` that is a generator is left out.

    ``origin`` says where its rows came from (the command keeps the name of the label column).
    """
    check_is_fitted(model)
    settings = model.get_params()
    if not isinstance(settings["random_state"], int | np.integer | None):
        settings["random_state"] = None
    if isinstance(settings["class_weight"], dict):  # JSON would turn its keys into words
        settings["class_weight"] = list(settings["class_weight"].items())
    arrays = {name: np.asarray(getattr(model, name)) for name in FITTED}
    arrays.update({PATH + name: column for name, column in model.path_.items()})
    arrays["classes_"] = _plain(model.classes_)
    if hasattr(model, "feature_names_in_"):
        arrays["feature_names_in_"] = _plain(model.feature_names_in_)
    with atomic_path(Path(path)) as draft, open(draft, "wb") as file:
        np.savez(
            file,
            format=np.array(FORMAT),
            origin=np.array(json.dumps(origin or {})),
            settings=np.array(json.dumps(settings, default=_number)),
            **arrays,  # type: ignore[arg-type]
        )


def load_model(path: str | PathLike[str], kind: type[Classifier]) -> Classifier:
    """Read what `save_model` wrote."""
    try:
        with np.load(path, allow_pickle=False) as file:
            content = {name: file[name] for name in file.files}
        if int(content["format"]) != FORMAT:
            raise ValueError(f"its format is {int(content['format'])}")
        settings = json.loads(str(content["settings"]))
        if isinstance(settings["class_weight"], list):
            settings["class_weight"] = dict(settings["class_weight"])
        model = kind(**settings)
        for name in FITTED:
            value = content[name]
            setattr(model, name, value if value.ndim else value.item())
        model.classes_ = content["classes_"]
        model.band_ = model._rates()
        model.path_ = {
            name.removeprefix(PATH): value
            for name, value in content.items()
            if name.startswith(PATH)
        }
        if "feature_names_in_" in content:
            model.feature_names_in_ = content["feature_names_in_"].astype(object)
    except (ValueError, TypeError, KeyError, AttributeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path} is not a model saved by this version of pauc ({error}): fit it again."
        ) from error
    return model


def load_origin(path: str | PathLike[str]) -> dict[str, Any]:
    """What `save_model` was told about the rows of a model that loads."""
    with np.load(path, allow_pickle=False) as file:
        origin: dict[str, Any] = json.loads(str(file["origin"]))
    return origin


def _plain(values: np.ndarray) -> np.ndarray:
    if values.dtype == object:
        if not all(isinstance(value, str) for value in values):
            raise ValueError(f"Labels of mixed types cannot be saved: {values.tolist()}.")
        return values.astype(str)
    return values


def _number(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"A setting of type {type(value).__name__} cannot be saved.")
