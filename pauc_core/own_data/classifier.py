"""The scikit-learn face: a linear classifier trained for a band of false positive rates."""

from __future__ import annotations

import warnings
from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GroupShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data
from tqdm import tqdm

from pauc_core.metrics import pauc, ranks, threshold_at_fpr
from pauc_core.objective.losses import LOSSES
from pauc_core.own_data.settings import check_choice, check_count, check_number
from pauc_core.own_data.warm_fit import Band, ScaledRows, Watch, logistic_start, polish

FEW_IN_BAND = 30  # negatives in the band below which a pAUC is mostly noise
FEW_HELD_OUT = 5  # rows of a class below which nothing is held out
GROUP_DRAWS = 20  # random splits by group, of which the most balanced one is taken


class PartialAUCClassifier(ClassifierMixin, BaseEstimator):
    """Linear classifier that maximises the ROC area between two false positive rates.

    It standardises inside (sparse input stays sparse), fits a logistic regression, and goes on
    from there with L-BFGS on the exact partial-AUC objective. Of the iterates it keeps the last
    one whose held-out pAUC is no worse than the start's and cannot be told from the best one's.

    Parameters
    ----------
    fpr_low, fpr_high : float, default 0.05 and 0.5
        The band of false positive rates.
    loss : {"sigmoid", "logistic", "squared_hinge"}, default "sigmoid"
        The surrogate of the score gap; the paper's is "logistic".
    predict_fpr : float, default 0.05
        False positive rate at which `predict` works; its threshold is learned on held-out rows.
    validation_fraction : float, default 0.1
        Share of the rows held out, by class, or by group where `fit` is given groups.
    penalty : float, default 0.1
        Weight of half the squared weights, divided by the number of positives. Try 1 to 10 where
        positives are few beside the features.
    max_iter : int, default 100
        Most iterations on the partial-AUC objective.
    n_iter_no_change : int, default 10
        Iterations clearly below the best held-out pAUC after which to stop.
    tol : float, default 1e-6
        Fall of the objective in one iteration below which to stop.
    random_state : int, RandomState or None
        Draws the held-out rows.
    verbose : bool, default False
        Show a progress bar.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The second one is the positive class.
    coef_, intercept_ : arrays of shape (1, n_features) and (1,)
        For unscaled features; the decision is 0 at the threshold that `predict` uses.
    held_out_ : array of row numbers
        All rows where there were too few to hold any out.
    validation_score_, start_score_ : float
        Held-out pAUC of the kept iterate and of the logistic regression it started from.
    loss_curve_, validation_curve_ : arrays
        Training objective and held-out pAUC; the first entry is the start.
    best_iter_ : int
        Which of them was kept; 0 is the logistic regression.
    n_iter_ : int
        Iterations of both stages.
    """

    def __init__(
        self,
        fpr_low: float = 0.05,
        fpr_high: float = 0.5,
        *,
        loss: str = "sigmoid",
        predict_fpr: float = 0.05,
        validation_fraction: float = 0.1,
        penalty: float = 0.1,
        max_iter: int = 100,
        n_iter_no_change: int = 10,
        tol: float = 1e-6,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.fpr_low = fpr_low
        self.fpr_high = fpr_high
        self.loss = loss
        self.predict_fpr = predict_fpr
        self.validation_fraction = validation_fraction
        self.penalty = penalty
        self.max_iter = max_iter
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None, **refused: Any) -> Self:
        """Learn from rows X with two kinds of labels y; rows of one group are split together."""
        if refused:
            names = ", ".join(sorted(refused))
            raise TypeError(
                f"PartialAUCClassifier.fit does not take {names}: the band is a range of ranks, "
                "which weights would blur; repeat or drop rows instead."
            )
        self._check_settings()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        positive = self._learn_classes(y)
        train, held_out = self._split(X, positive, groups)
        self._check_band(int(np.count_nonzero(~positive & train)))

        rows = ScaledRows.fit(X, train)
        start, first = logistic_start(rows, positive, train, max_iter=1000)
        negatives = np.flatnonzero(~positive & held_out)
        m, n = ranks(len(negatives), self.fpr_low, self.fpr_high)
        bar = tqdm(total=self.max_iter, disable=not self.verbose, desc="pAUC", unit="step")
        with bar:
            path = polish(
                rows,
                positive,
                train,
                Band(np.flatnonzero(positive & held_out), negatives, m, n),
                start,
                fpr_low=self.fpr_low,
                fpr_high=self.fpr_high,
                loss=self.loss,
                penalty=self.penalty,
                max_iter=self.max_iter,
                patience=self.n_iter_no_change,
                tol=self.tol,
                watch=_progress(bar),
            )
        scores = rows.scores(path.weights[path.kept])
        threshold = _between(
            scores[held_out], threshold_at_fpr(scores[negatives], self.predict_fpr)
        )
        coef, offset = rows.unscaled(path.weights[path.kept])
        self.coef_ = coef[np.newaxis]
        self.intercept_ = np.array([offset - threshold])
        self.held_out_ = np.flatnonzero(held_out)
        self.loss_curve_ = np.array(path.losses)
        self.validation_curve_ = np.array(path.held_out)
        self.best_iter_ = path.kept
        self.start_score_ = self.validation_curve_[0]
        self.validation_score_ = self.validation_curve_[path.kept]
        self.n_iter_ = first + len(path.weights) - 1
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, 0 at the threshold of `predict`; higher means more likely positive."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        product = X @ self.coef_[0].astype(X.dtype, copy=False)
        return np.asarray(product, dtype=np.float64) + self.intercept_[0]

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
        check_choice("loss", self.loss, LOSSES)
        check_number("predict_fpr", self.predict_fpr, 0, 1)
        check_number("validation_fraction", self.validation_fraction, 0, 1, ends="()")
        check_number("penalty", self.penalty, 0, ends="[)")
        check_count("max_iter", self.max_iter)
        check_count("n_iter_no_change", self.n_iter_no_change)
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

    def _split(self, X: Any, positive: np.ndarray, groups: Any) -> tuple[np.ndarray, np.ndarray]:
        """Masks of training and of held-out rows; both are all rows where there are few."""
        everything = np.ones(len(positive), dtype=bool)
        smaller = min(np.count_nonzero(positive), np.count_nonzero(~positive))
        fraction = self.validation_fraction
        if min(fraction, 1 - fraction) * smaller < FEW_HELD_OUT and groups is None:
            return everything, everything
        if groups is None:
            split = StratifiedShuffleSplit(1, test_size=fraction, random_state=self.random_state)
            rows = next(split.split(X, positive))[1]
        else:
            rows = self._rows_of_groups(positive, np.asarray(groups))
        held_out = np.zeros(len(positive), dtype=bool)
        held_out[rows] = True
        return ~held_out, held_out

    def _rows_of_groups(self, positive: np.ndarray, groups: np.ndarray) -> np.ndarray:
        if groups.shape != positive.shape or len(np.unique(groups)) < 2:
            raise ValueError(
                f"Groups of shape {groups.shape} with {len(np.unique(groups))} different values "
                f"cannot split {len(positive)} rows: expected one value a row and at least two."
            )
        split = GroupShuffleSplit(
            GROUP_DRAWS,
            test_size=self.validation_fraction,
            random_state=check_random_state(self.random_state),
        )
        totals = np.array([np.count_nonzero(positive), np.count_nonzero(~positive)])

        def imbalance(rows: np.ndarray) -> float:
            held = np.count_nonzero(positive[rows])
            counts = np.array([held, len(rows) - held])
            if (counts == 0).any() or (counts == totals).any():
                return np.inf
            return float(np.abs(counts / totals - self.validation_fraction).sum())

        best = min((rows for _, rows in split.split(positive, groups=groups)), key=imbalance)
        if not np.isfinite(imbalance(best)):
            raise ValueError(
                "No split by group leaves both classes on both sides: use more groups, or fit "
                "without groups."
            )
        return best

    def _check_band(self, negatives: int) -> None:
        m, n = ranks(negatives, self.fpr_low, self.fpr_high)
        if n - m < FEW_IN_BAND:
            warnings.warn(
                f"Only {n - m} training negatives lie in the band [{self.fpr_low}, "
                f"{self.fpr_high}]: with fewer than {FEW_IN_BAND} its area is mostly noise; widen "
                "the band or add negatives.",
                UserWarning,
                stacklevel=3,
            )


def _progress(bar: tqdm[Any]) -> Watch:
    def watch(iteration: int, loss: float, held_out: float) -> None:
        bar.n = iteration
        bar.set_postfix_str(f"loss {loss:.4f}, held-out pAUC {held_out:.4f}")

    return watch


def _between(scores: np.ndarray, threshold: float) -> float:
    """The middle of the gap between held-out scores in which the threshold lies.

    Any place in the gap has the same rates on the held-out rows; the middle is the safest one.
    """
    above, below = scores[scores >= threshold], scores[scores < threshold]
    if not len(above):
        return float(threshold)
    if not len(below):
        return float(above.min() - 1.0)
    return float((above.min() + below.max()) / 2)
