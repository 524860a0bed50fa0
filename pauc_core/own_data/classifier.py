"""The scikit-learn face: a linear classifier trained for a band of false positive rates."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from pauc_core.metrics import pauc, ranks
from pauc_core.models.scaled_rows import ScaledRows, exact_product
from pauc_core.objective.losses import LOSSES
from pauc_core.own_data.folds import FEW, equal_rows, group_codes, held_out_masks
from pauc_core.own_data.search import Found, Plan, search, without_choice
from pauc_core.own_data.settings import check_choice, check_count, check_number
from pauc_core.own_data.threshold import at_least_cost, at_rate

FEW_IN_BAND = 30  # negatives in the band below which a pAUC is mostly noise
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
    loss : {"sigmoid", "logistic", "squared_hinge"}, optional
        The surrogate of the score gap; the paper's is "logistic". Left out, it is chosen.
    penalty : float, optional
        Weight of half the squared weights, divided by the number of positives. Left out, it is
        chosen. With `loss` or `penalty` set, logistic regression is only where the path starts.
    predict_fpr : float, optional
        False positive rate at which `predict` works; its threshold is learned on held-out rows.
        Left out it is 0.05, or the nearest rate in the band.
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
    predict_fpr_ : float
        The rate that `predict` aims at; NaN where `class_weight` decides.
    held_out_ : array of row numbers
        Rows that some fold held out; all rows where there were too few to hold any out.
    n_iter_ : int
        Iterations of the last fit, to all rows.
    """

    def __init__(
        self,
        fpr_low: float = 0.05,
        fpr_high: float = 0.5,
        *,
        loss: str | None = None,
        penalty: float | None = None,
        predict_fpr: float | None = None,
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
        self.loss = loss
        self.penalty = penalty
        self.predict_fpr = predict_fpr
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

    def fit(self, X: Any, y: Any, groups: Any = None, **refused: Any) -> Self:
        """Learn from rows X with two kinds of labels y; no fold cuts a group or parts equals."""
        if refused:
            names = ", ".join(sorted(refused))
            raise TypeError(
                f"PartialAUCClassifier.fit does not take {names}: the band is a range of ranks, "
                "which weights would blur; repeat or drop rows instead."
            )
        self._check_settings()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        positive = self._learn_classes(y)
        costs = self._costs(y)
        kept = equal_rows(X) if groups is None else group_codes(groups, len(y))
        masks = held_out_masks(positive, kept, self.validation_fraction, self.random_state)
        self._check_band(positive, masks)
        rows = ScaledRows.fit(X, getattr(self, "feature_names_in_", None))
        found = self._search(rows, positive, masks, costs)

        self._learn_threshold(rows, positive, masks, found, costs)
        self.loss_ = found.candidates[found.chosen].loss
        self.path_ = found.table()
        self.penalty_ = float(self.path_["penalty"][found.chosen])
        self.best_index_ = found.chosen
        self.start_score_ = found.start.value
        self.validation_score_ = found.seen[found.chosen].value
        self.held_out_ = np.flatnonzero(np.any(masks, axis=0)) if masks else np.arange(len(y))
        self.n_iter_ = max(found.iterations, 1)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, 0 at the threshold of `predict`; higher means more likely positive."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return exact_product(X, self.coef_[0]) + self.intercept_[0]

    def predict(self, X: Any) -> np.ndarray:
        """Labels at the threshold whose held-out false positive rate is at most `predict_fpr`."""
        decision = self.decision_function(X)
        return np.asarray(self.classes_[(decision > 0).astype(np.intp)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Area under the ROC curve in the band, divided by the band's width."""
        if sample_weight is not None:
            raise ValueError("score has no weighted form: pass sample_weight=None.")
        labels = np.asarray(y)
        return pauc(
            labels == self.classes_[1],
            self.decision_function(X),
            fpr_low=self.fpr_low,
            fpr_high=self.fpr_high,
        )

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
        if self.predict_fpr is not None:
            check_number("predict_fpr", self.predict_fpr, 0, 1)
        check_number("validation_fraction", self.validation_fraction, 0, 0.5, ends="(]")
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, 0, ends="[)")
        check_random_state(self.random_state)

    def _learn_classes(self, y: np.ndarray) -> np.ndarray:
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
        return np.asarray(y == self.classes_[1])

    def _costs(self, y: np.ndarray) -> tuple[float, float]:
        costs = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        return float(costs[0]), float(costs[1])

    def _check_band(self, positive: np.ndarray, masks: list[np.ndarray]) -> None:
        """Refuse or doubt a band too narrow for the negatives that a fold leaves to learn from."""
        total = int(np.count_nonzero(~positive))
        left = min((int(np.count_nonzero(~positive & ~held)) for held in masks), default=total)
        band = f"[{self.fpr_low}, {self.fpr_high}]"
        try:
            m, n = ranks(left, self.fpr_low, self.fpr_high)
        except ValueError as error:
            raise ValueError(
                f"The band {band} holds none of the {left} negatives that there are to learn from "
                f"({total} less those of a held-out fold): widen the band or bring more negatives."
            ) from error
        if n - m < FEW_IN_BAND:
            warnings.warn(
                f"Only {n - m} training negatives lie in the band {band}: with fewer than "
                f"{FEW_IN_BAND} its area is mostly noise; widen the band or add negatives.",
                UserWarning,
                stacklevel=3,
            )
        if not masks:
            warnings.warn(
                f"The smaller class has fewer than {FEW} rows: nothing is held out, and nothing "
                "can be chosen by; add rows.",
                UserWarning,
                stacklevel=3,
            )

    def _search(
        self,
        rows: ScaledRows,
        positive: np.ndarray,
        masks: list[np.ndarray],
        costs: tuple[float, float],
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
        band = (self.fpr_low, self.fpr_high)
        if not masks:
            return without_choice(rows, positive, band, plan)
        total = len(masks) * (2 + len(plan.losses) * len(plan.penalties)) + 1
        with tqdm(total=total, disable=not self.verbose, desc="pAUC", unit="fit") as bar:
            found = search(rows, positive, masks, band, plan, self.n_jobs, bar.update)
            bar.set_postfix_str(f"held-out pAUC {found.seen[found.chosen].value:.4f}")
        return found

    def _learn_threshold(
        self,
        rows: ScaledRows,
        positive: np.ndarray,
        masks: list[np.ndarray],
        found: Found,
        costs: tuple[float, float],
    ) -> None:
        """Place the threshold by scores of held-out rows, in units of each model's own spread."""
        spread = float(np.std(rows.scores(found.weights))) or 1.0
        scores, labels = [rows.scores(found.weights) / spread], [positive]
        if masks:
            every = [rows.scores(w) for w in found.fold_weights]
            scores = [s[held] / (np.std(s) or 1.0) for s, held in zip(every, masks, strict=True)]
            labels = [positive[held] for held in masks]
        pooled, truth = np.concatenate(scores), np.concatenate(labels)
        if self.class_weight is None:
            usual = min(max(USUAL_FPR, self.fpr_low), self.fpr_high)
            self.predict_fpr_ = usual if self.predict_fpr is None else float(self.predict_fpr)
            threshold = at_rate(truth, pooled, self.predict_fpr_)
        else:
            self.predict_fpr_ = float("nan")
            threshold = at_least_cost(truth, pooled, costs)
        coef, offset = rows.unscaled(found.weights)
        self.coef_ = coef[np.newaxis]
        self.intercept_ = np.array([offset - threshold * spread])
