"""The scikit-learn face: a linear classifier trained for a band of false positive rates."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from pauc_core.bands import fpr_band
from pauc_core.labelled import check_weights
from pauc_core.metrics import pauc
from pauc_core.models.scaled_rows import ScaledRows, exact_product
from pauc_core.objective.losses import LOSSES
from pauc_core.own_data.calibration import probabilities
from pauc_core.own_data.decision import Aim, HeldOut, decide
from pauc_core.own_data.doubts import doubt_band, doubt_fit
from pauc_core.own_data.folds import group_codes, group_names, held_out_masks, kept_together
from pauc_core.own_data.promise import promise_rows
from pauc_core.own_data.scorer import which_positive
from pauc_core.own_data.search import Found, Plan, search, without_choice
from pauc_core.own_data.settings import USUAL, check_choice, check_count, check_number, named_rates
from pauc_core.solver.path import Training

SURROGATES = ("sigmoid", "logistic")
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
USUAL_PENALTY = 1.0  # where there are too few rows to choose one
USUAL_FPR = 0.05


class PartialAUCClassifier(ClassifierMixin, BaseEstimator):
    """Linear classifier that maximises the ROC area between two false positive rates.

    It standardises inside (sparse input stays sparse) and chooses by itself: logistic regression,
    plain and balanced, and from its weights a path of fits of the exact partial-AUC objective, two
    surrogates at rising penalties, compete on held-out rows; the one with the best held-out pAUC
    is fitted again to all rows. Ties, within a quarter of the paired standard error, go to the
    larger penalty, logistic regression counting as the largest.

    Parameters
    ----------
    fpr_low, fpr_high : float, default 0.05 and 0.5
        The band of false positive rates.
    tpr_low, tpr_high : float, optional
        The band as true positive rates instead; one that is left out is 0 or 1. The classifier is
        then fitted with classes and signs exchanged: TPR [c, d] is FPR [1 - d, 1 - c] there.
    loss : {"sigmoid", "logistic", "squared_hinge"}, optional
        The surrogate of the score gap; the paper's is "logistic". Left out, it is chosen.
    penalty : float, optional
        Weight of half the squared weights, divided by the number of positives. Left out, it is
        chosen. With `loss` or `penalty` set, logistic regression is only where the path starts.
    predict_fpr : float, optional
        False positive rate at which `predict` works; its threshold is learned on held-out rows.
        Left out it is 0.05, or the nearest rate in the band.
    predict_tpr : float, optional
        True positive rate at which `predict` works instead. With a band of true positive rates and
        neither of them given it is 0.95, or the nearest rate in the band.
    confidence : float, optional
        A promise: the true false positive rate of `predict` exceeds `predict_fpr` with a chance of
        at most 1 - `confidence`, for new rows that come as the training rows did. It costs a
        `validation_fraction` of the negatives, or as many as the promise needs: they place the
        threshold, by the binomial distribution, and nothing is chosen by them or fitted to them.
    class_weight : dict, "balanced" or None
        Costs of a wrong answer for a row of each class: where given, `predict` works at the
        threshold of least cost on held-out rows instead of `predict_fpr`, and logistic regression
        is weighted so. A ranking has no class weights: the band's objective stays as it is.
    validation_fraction : float, default 0.2
        Share of the rows in a fold. Folds are used until a thousand rows of the smaller class have
        been held out, all of them where there are fewer.
    max_iter : int, default 100
        Most iterations on the partial-AUC objective for each penalty.
    tol : float, default 1e-5
        Fall of the objective in five iterations below which to stop.
    n_jobs : int or None, default -1
        Threads for folds and surrogates; all cores unless told. The numbers do not depend on it.
    random_state : int, RandomState or None
        Draws the folds.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    band_ : dict
        The band as `pauc` takes it: `fpr_low`, `fpr_high` or `tpr_low`, `tpr_high`.
    classes_ : array of shape (2,)
        The second one is the positive class.
    coef_, intercept_ : arrays of shape (1, n_features) and (1,)
        For unscaled features; the decision is 0 at the threshold that `predict` uses.
    loss_, penalty_ : str and float
        What was chosen; "logistic regression" has no penalty of ours (NaN).
    path_ : dict of arrays
        Every candidate: `loss`, `penalty`, held-out `pauc` with its `standard_error`, and how far
        it lies `below_chosen`, with the paired `below_chosen_error`. `plot_path` draws it.
    best_index_ : int
        Which of them was chosen.
    validation_score_, start_score_ : float
        Held-out pAUC of the chosen candidate and of plain logistic regression.
    predict_fpr_, predict_tpr_ : float
        The rate that `predict` aims at, the other one being NaN; both where `class_weight` decides.
    calibration_ : array of shape (2, knots)
        `predict_proba`'s log-odds (second row) at decisions (first row), from held-out rows.
    held_out_ : array of row numbers
        Rows that some fold held out; all rows where there were too few to hold any out.
    set_apart_ : array of row numbers
        Negatives that placed the threshold of a promise; none without `confidence`.
    n_iter_ : int
        Iterations of the last fit, to all rows.
    """

    def __init__(
        self,
        fpr_low: float = USUAL[0],
        fpr_high: float = USUAL[1],
        *,
        tpr_low: float | None = None,
        tpr_high: float | None = None,
        loss: str | None = None,
        penalty: float | None = None,
        predict_fpr: float | None = None,
        predict_tpr: float | None = None,
        confidence: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        validation_fraction: float = 0.2,
        max_iter: int = 100,
        tol: float = 1e-5,
        n_jobs: int | None = -1,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.fpr_low = fpr_low
        self.fpr_high = fpr_high
        self.tpr_low = tpr_low
        self.tpr_high = tpr_high
        self.loss = loss
        self.penalty = penalty
        self.predict_fpr = predict_fpr
        self.predict_tpr = predict_tpr
        self.confidence = confidence
        self.class_weight = class_weight
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Learn from rows X with two kinds of labels y; no fold cuts a group or parts equals.

        With weights rates are shares of weight, and a row of weight 0 is left out.
        """
        self._check_settings()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        weights, random = (
            check_weights(sample_weight, len(y)),
            check_random_state(self.random_state),
        )
        names = None if groups is None else group_names(groups, len(y))
        used = np.ones(len(y), dtype=bool) if weights is None else weights > 0
        self._learn_classes(y[used])
        self.band_ = self._rates()
        self.set_apart_ = self._set_apart(y, random, sample_weight, groups)
        used[self.set_apart_] = False
        apart, x = X[self.set_apart_], X if used.all() else X[used]
        y, weights = y[used], None if weights is None else weights[used]

        positive, band = y == self.classes_[1], fpr_band(**self.band_)
        kept = kept_together(x, positive) if names is None else group_codes(names[used])
        masks = held_out_masks(positive, kept, self.validation_fraction, random)
        del kept  # a number a row; a fit of many rows holds little beside them
        doubt_band(positive ^ band.exchanged, masks, band, list(self.band_.values()), weights)
        costs = self._costs(y, weights)
        rows = ScaledRows.fit(x, getattr(self, "feature_names_in_", None), weights)
        # Here, and for the weights that come back, a band of true positive rates is exchanged.
        target, everyone = positive ^ band.exchanged, np.ones(len(y), dtype=bool)
        everything = Training(rows, target, everyone, band.low, band.high, weights)
        found = self._search(everything, masks, costs[::-1] if band.exchanged else costs)
        doubt_fit(found)

        found = found.signed(band)
        seen = HeldOut.of(rows, positive, weights, masks, found)
        self.predict_fpr_, self.predict_tpr_ = self._aim()
        aim = Aim(self.predict_fpr_, self.predict_tpr_, costs, self.confidence)
        coef, intercept, self.calibration_ = decide(
            rows, found, seen, aim, apart, (~positive).sum()
        )
        self.coef_, self.intercept_ = coef[np.newaxis], np.array([intercept])
        self.path_, self.best_index_ = found.table, found.chosen
        self.loss_ = str(self.path_["loss"][found.chosen])
        self.penalty_ = float(self.path_["penalty"][found.chosen])
        self.start_score_ = found.start
        self.validation_score_ = float(self.path_["pauc"][found.chosen])
        self.held_out_ = np.flatnonzero(used)[np.any(masks, axis=0) if masks else ...]
        self.n_iter_ = max(found.iterations, 1)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, 0 at the threshold of `predict`; higher means more likely positive."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return exact_product(X, self.coef_[0]) + self.intercept_[0]

    def predict(self, X: Any) -> np.ndarray:
        """Labels at the threshold for `predict_fpr`, `predict_tpr` or the costs."""
        decision = self.decision_function(X)
        return np.asarray(self.classes_[(decision > 0).astype(np.intp)])

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of both classes, calibrated on held-out rows; they rank as the decision.

        `predict` works at a rate and not at a probability of one half.
        """
        return probabilities(self.decision_function(X), *self.calibration_)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Area under the ROC curve in the band, divided by the band's width."""
        positive = which_positive(y, self.classes_)
        decision = self.decision_function(X)
        band: dict[str, Any] = self.band_
        return pauc(positive, decision, sample_weight=sample_weight, **band)

    def plot_path(self, ax: Any = None) -> Any:
        """Draw the held-out pAUC of every candidate on matplotlib axes and return them."""
        check_is_fitted(self)
        from pauc_core.own_data.plots import draw_path

        return draw_path(self.path_, self.best_index_, ax)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to an .npz file that needs no pickle."""
        from pauc_core.own_data.model_file import save_model

        save_model(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that `save` wrote."""
        from pauc_core.own_data.model_file import load_model

        return load_model(path, cls)

    def _check_settings(self) -> None:
        check_number("fpr_low", self.fpr_low, 0, 1, ends="[)")
        check_number("fpr_high", self.fpr_high, 0, 1, ends="(]")
        if self.fpr_low >= self.fpr_high:
            raise ValueError(
                f"The band [{self.fpr_low}, {self.fpr_high}] is empty: expected fpr_low < fpr_high."
            )
        if self.loss is not None:
            check_choice("loss", self.loss, LOSSES)
        if self.penalty is not None:
            check_number("penalty", self.penalty, 0, ends="[)")
        for name in ("tpr_low", "tpr_high", "predict_fpr", "predict_tpr"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 0, 1)
        if self.predict_fpr is not None and self.predict_tpr is not None:
            raise ValueError("predict_fpr and predict_tpr are both given: leave out one of them.")
        if self.confidence is not None:
            check_number("confidence", self.confidence, 0, 1, ends="()")
        check_number("validation_fraction", self.validation_fraction, 0, 0.5, ends="(]")
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, 0, ends="[)")
        check_random_state(self.random_state)

    def _rates(self) -> dict[str, float]:
        return named_rates(self.fpr_low, self.fpr_high, self.tpr_low, self.tpr_high)

    def _learn_classes(self, y: np.ndarray) -> None:
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        if kind != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}."
            )
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(
                "This classifier needs samples of 2 classes; the data hold only one class: "
                f"{self.classes_[0]!r}."
            )

    def _aim(self) -> tuple[float, float]:
        """The false and the true positive rate that `predict` is to have, one or both NaN."""
        low, high = self.band_.values()
        if self.class_weight is not None:
            return math.nan, math.nan
        if self.predict_tpr is not None:
            return math.nan, float(self.predict_tpr)
        if self.predict_fpr is not None:
            return float(self.predict_fpr), math.nan
        if "fpr_low" in self.band_:
            return min(max(USUAL_FPR, low), high), math.nan
        return math.nan, min(max(1.0 - USUAL_FPR, low), high)

    def _set_apart(self, y: np.ndarray, random: Any, sample_weight: Any, groups: Any) -> np.ndarray:
        """Numbers of the negatives that place the threshold of a promise."""
        if self.confidence is None:
            return np.empty(0, dtype=np.intp)
        if sample_weight is not None or groups is not None:
            which = "sample_weight" if groups is None else "groups"
            raise ValueError(
                f"confidence={self.confidence} and {which} do not go together: the promise counts "
                "rows that are drawn one by one; leave out one of them."
            )
        return promise_rows(
            np.flatnonzero(y == self.classes_[0]),
            self._aim()[0],
            self.confidence,
            self.validation_fraction,
            random,
        )

    def _costs(self, y: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
        given = {"classes": self.classes_, "y": y, "sample_weight": weights}
        costs = compute_class_weight(self.class_weight, **given)
        for label, cost in zip(self.classes_, costs, strict=True):
            check_number(f"class_weight of {label}", float(cost), 0, ends="()")
        return float(costs[0]), float(costs[1])

    def _search(
        self, everything: Training, masks: list[np.ndarray], costs: tuple[float, float]
    ) -> Found:
        penalties = PENALTIES if masks else (USUAL_PENALTY,)
        plan = Plan(
            losses=SURROGATES if self.loss is None else (self.loss,),
            penalties=penalties if self.penalty is None else (float(self.penalty),),
            starts=self.loss is None and self.penalty is None,
            max_iter=self.max_iter,
            tol=self.tol,
            class_weights=costs,
        )
        if not masks:
            return without_choice(everything, plan)
        total = len(masks) * (2 + len(plan.losses) * len(plan.penalties)) + 1
        with tqdm(total=total, disable=not self.verbose, desc="pAUC", unit="fit") as bar:
            found = search(everything, masks, plan, self.n_jobs, bar.update)
            bar.set_postfix_str(f"held-out pAUC {found.table['pauc'][found.chosen]:.4f}")
        return found
