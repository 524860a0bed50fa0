"""The scikit-learn face: its rules, its promises, and what it refuses."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pauc_core import PartialAUCClassifier, pauc, pauc_loss, pauc_loss_grad
from pauc_core.metrics import pauc_pairs, ranks
from pauc_core.own_data import warm_fit

BAND = {"fpr_low": 0.05, "fpr_high": 0.5}


def two_kinds(seed: int, rows: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Some negatives, fewer than the band leaves out, mimic the positives and then some.

    They turn logistic regression away from the first feature; the band does not see them.
    """
    rng = np.random.default_rng(seed)
    y = rng.random(rows) < 0.15
    x = rng.normal(size=(rows, 6))
    x[y, :2] += [1.5, 0.7]
    x[~y & (rng.random(rows) < 0.03), 0] += 8.0
    return x * [1.0, 10.0, 0.1, 1.0, 3.0, 1.0] + 5.0, y


@parametrize_with_checks([PartialAUCClassifier()])
def test_scikit_learn_rules(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_better_than_logistic_regression_in_the_band():
    x, y = two_kinds(0)
    test_x, test_y = two_kinds(1)
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, y)
    ours = model.score(test_x, test_y)
    assert ours == pytest.approx(pauc(test_y, model.decision_function(test_x), **BAND))
    assert ours > pauc(test_y, plain.decision_function(test_x), **BAND) + 0.01


@pytest.mark.parametrize("loss", ["logistic", "sigmoid", "squared_hinge"])
def test_never_validates_below_its_start(loss):
    x, y = two_kinds(2, rows=2000)
    model = PartialAUCClassifier(loss=loss, random_state=1).fit(x, y)
    assert model.validation_score_ >= model.start_score_
    assert model.loss_curve_[-1] <= model.loss_curve_[0]
    held = model.held_out_
    value = pauc_pairs(y[held], model.decision_function(x[held]), **BAND)
    assert value == pytest.approx(model.validation_score_, abs=1e-12)


def test_pure_noise_keeps_a_sane_model():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1500, 4)), rng.random(1500) < 0.3
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    assert np.isfinite(model.coef_).all()
    assert model.validation_score_ >= model.start_score_


def test_start_is_scikit_learns_logistic_regression():
    x, y = two_kinds(3, rows=1500)
    everything = np.ones(len(y), dtype=bool)
    rows = warm_fit.ScaledRows.fit(x, everything)
    weights, _ = warm_fit.logistic_start(rows, y, everything, max_iter=500)
    scaled = StandardScaler().fit_transform(x)
    expected = LogisticRegression(tol=1e-6).fit(scaled, y).coef_[0]
    np.testing.assert_allclose(weights, expected, atol=2e-3)
    np.testing.assert_allclose(rows.scores(weights), scaled @ weights, atol=1e-10)
    slopes = np.random.default_rng(0).normal(size=len(y))
    np.testing.assert_allclose(rows.pull(slopes), scaled.T @ slopes, atol=1e-8)


@pytest.mark.parametrize("kind", ["csr", "csc", "float32", "frame"])
def test_every_form_of_input_gives_the_same_model(kind):
    x, y = two_kinds(4, rows=2500)
    x[np.abs(x) < 4] = 0.0
    form = {
        "csr": sp.csr_array,
        "csc": sp.csc_matrix,
        "float32": lambda a: a.astype(np.float32),
        "frame": lambda a: pd.DataFrame(a, columns=[f"f{i}" for i in range(a.shape[1])]),
    }[kind]
    dense = PartialAUCClassifier(random_state=0).fit(x, y)
    other = PartialAUCClassifier(random_state=0).fit(form(x), y)
    gap = dense.score(x, y) - other.score(form(x), y)
    assert abs(gap) < (2e-3 if kind == "float32" else 1e-3)
    if kind == "frame":
        assert list(other.feature_names_in_) == [f"f{i}" for i in range(6)]


def test_sparse_input_is_never_made_dense(monkeypatch):
    x = sp.random_array((3000, 20000), density=0.001, rng=np.random.default_rng(0), format="csr")
    y = np.asarray(x[:, :2000].sum(axis=1)).ravel() > 1.0

    def refuse(*args, **kwargs):
        raise AssertionError("sparse input was made dense")

    for form in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix):
        monkeypatch.setattr(form, "toarray", refuse)
        if hasattr(form, "todense"):
            monkeypatch.setattr(form, "todense", refuse)
    model = PartialAUCClassifier(random_state=0, max_iter=5).fit(x, y)
    assert model.score(x, y) > 0.6


def test_predict_holds_its_false_positive_rate_on_held_out_rows():
    x, y = two_kinds(5)
    test_x, test_y = two_kinds(6)
    for rate in (0.0, 0.02, 0.2):
        model = PartialAUCClassifier(predict_fpr=rate, random_state=0).fit(x, y)
        held = model.held_out_
        negatives = x[held][~y[held]]
        assert model.predict(negatives).mean() <= rate
        assert model.predict(test_x[~test_y]).mean() == pytest.approx(rate, abs=0.03)
    one_more = PartialAUCClassifier(predict_fpr=0.2, random_state=0).fit(x, y)
    assert one_more.predict(negatives).mean() > 0.2 - 1.5 / len(negatives)


def test_labels_of_any_kind():
    x, y = two_kinds(7, rows=1500)
    plain = PartialAUCClassifier(random_state=0).fit(x, y)
    for labels in (np.where(y, 1, -1), np.where(y, 2, 1), np.where(y, "yes", "no")):
        model = PartialAUCClassifier(random_state=0).fit(x, labels)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        assert set(model.predict(x)) <= set(labels)
        assert model.score(x, labels) == plain.score(x, y)


def test_groups_are_never_cut():
    x, y = two_kinds(8, rows=3000)
    groups = np.random.default_rng(0).integers(300, size=len(y))
    model = PartialAUCClassifier(random_state=0).fit(x, y, groups=groups)
    held = np.zeros(len(y), dtype=bool)
    held[model.held_out_] = True
    assert not set(groups[held]) & set(groups[~held])
    assert held.mean() == pytest.approx(0.1, abs=0.02)
    with pytest.raises(ValueError, match="at least two"):
        model.fit(x, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="No split by group"):
        model.fit(x, y, groups=y.astype(int))


def test_sample_weight_is_refused_with_a_sentence():
    x, y = two_kinds(9, rows=500)
    with pytest.raises(TypeError, match=r"does not take sample_weight.*repeat or drop rows"):
        PartialAUCClassifier().fit(x, y, sample_weight=np.ones(len(y)))


def test_few_negatives_in_the_band_warn():
    x, y = two_kinds(10, rows=1000)
    with pytest.warns(UserWarning, match="training negatives lie in the band"):
        PartialAUCClassifier(0.0, 0.01, random_state=0).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PartialAUCClassifier(random_state=0).fit(x, y)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"fpr_low": 0.5, "fpr_high": 0.5}, "empty"),
        ({"fpr_low": -0.1}, r"fpr_low is -0.1: expected a number in \[0, 1\)"),
        ({"fpr_high": float("nan")}, "fpr_high is nan"),
        ({"fpr_high": "half"}, "fpr_high is 'half'"),
        ({"max_iter": 0}, "max_iter is 0: expected a whole number of at least 1"),
        ({"max_iter": 2.5}, r"max_iter is 2\.5"),
        ({"penalty": -1.0}, "penalty is -1.0"),
        ({"random_state": "seed"}, "seed"),
        ({"loss": "hinge"}, "loss"),
        ({"validation_fraction": 0.0}, "validation_fraction"),
        ({"fpr_low": 0.0, "fpr_high": 1e-6}, "negative"),
    ],
)
def test_bad_settings_are_refused(settings, word):
    x, y = two_kinds(11, rows=300)
    with pytest.raises((ValueError, TypeError), match=word):
        PartialAUCClassifier(**settings).fit(x, y)


def test_constant_features_and_empty_rows():
    x, y = two_kinds(12, rows=1500)
    x[:, 3] = 7.0
    x[:5] = 0.0
    x[:, 4] = 1e6
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    assert np.isfinite(model.decision_function(x)).all()
    assert model.score(x, y) > 0.6


def test_separable_data():
    x, y = two_kinds(13, rows=1000)
    x[:, 2] = np.where(y, 1.0, -1.0)
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    assert model.score(x, y) == pytest.approx(1.0)
    assert (model.predict(x) == y).mean() > 0.9


def test_a_large_penalty_shrinks_the_weights():
    x, y = two_kinds(18, rows=1500)
    sizes = [
        np.linalg.norm(PartialAUCClassifier(penalty=p, random_state=0).fit(x, y).coef_ * x.std(0))
        for p in (0.0, 30.0)
    ]
    assert sizes[1] < 0.5 * sizes[0]


def test_same_seed_same_bits_and_pickle():
    x, y = two_kinds(14, rows=1500)
    one = PartialAUCClassifier(random_state=3).fit(x, y)
    two = clone(one).fit(x, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    back = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(back.decision_function(x), one.decision_function(x))


@pytest.mark.parametrize("labels", [(False, True), (0, 1), ("no", "yes")])
def test_saved_and_loaded_without_pickle(tmp_path: Path, labels):
    x, y = two_kinds(15, rows=1500)
    frame = pd.DataFrame(x, columns=list("abcdef"))
    model = PartialAUCClassifier(0.1, 0.4, random_state=0).fit(frame, np.take(labels, y * 1))
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)
    back = PartialAUCClassifier.load(tmp_path / "model.npz")
    assert back.get_params() == model.get_params()
    np.testing.assert_array_equal(back.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(back.decision_function(frame), model.decision_function(frame))
    assert back.validation_score_ == model.validation_score_
    (tmp_path / "other.npz").write_text("not a model")
    with pytest.raises(ValueError, match="not a model saved by"):
        PartialAUCClassifier.load(tmp_path / "other.npz")


def test_works_in_pipelines_grids_and_cross_validation():
    x, y = two_kinds(16, rows=1200)
    line = make_pipeline(PolynomialFeatures(2), PartialAUCClassifier(random_state=0, max_iter=10))
    assert cross_val_score(line, x, y, cv=3).min() > 0.6
    grid = GridSearchCV(
        PartialAUCClassifier(random_state=0, max_iter=10), {"loss": ["sigmoid", "logistic"]}, cv=2
    ).fit(x, y)
    assert 0.6 < grid.best_score_ <= 1.0


def polished(x: np.ndarray, y: np.ndarray, **settings) -> tuple:
    everything = np.ones(len(y), dtype=bool)
    rows = warm_fit.ScaledRows.fit(x, everything)
    start, _ = warm_fit.logistic_start(rows, y, everything, max_iter=100)
    negatives = np.flatnonzero(~y)
    band = warm_fit.Band(np.flatnonzero(y), negatives, *ranks(len(negatives), **BAND))
    settings = {"penalty": 0.1, "max_iter": 20, "patience": 5, "tol": 1e-8} | settings
    path = warm_fit.polish(rows, y, everything, band, start, **BAND, loss="logistic", **settings)
    return rows, band, path


def test_the_curves_are_the_exact_objective_and_the_metric():
    x, y = two_kinds(17, rows=800)
    rows, _, path = polished(x, y)
    for w, value, held_out in zip(path.weights, path.losses, path.held_out, strict=True):
        scores = rows.scores(w)
        assert value == pytest.approx(pauc_loss(scores[y], scores[~y], **BAND), rel=1e-9)
        assert held_out == pytest.approx(pauc_pairs(y, scores, **BAND))


def test_it_ends_where_the_penalised_objective_is_flat():
    x, y = two_kinds(19, rows=800)
    rows, _, path = polished(x, y, penalty=20.0, max_iter=200, patience=200, tol=0.0)

    def slope(w: np.ndarray) -> float:
        scores, slopes = rows.scores(w), np.empty(len(y))
        _, slopes[y], slopes[~y] = pauc_loss_grad(scores[y], scores[~y], **BAND)
        return float(np.linalg.norm(rows.pull(slopes) + 20.0 / y.sum() * w))

    assert slope(path.weights[-1]) < 0.02 * slope(path.weights[0])


def test_what_validates_below_the_start_is_never_kept():
    x, y = two_kinds(20, rows=800)
    rows, band, path = polished(x, y)
    shares = [band.shares(rows.scores(w)) for w in path.weights]
    # The start is made the best by a hair: the others cannot be told from it, and yet lose.
    path.held_out = [1.0] + [1.0 - 1e-9] * (len(shares) - 1)
    assert warm_fit._keep(path, rows, band, shares[-1]) == 0
    path.held_out[2] = 1.0
    assert warm_fit._keep(path, rows, band, shares[2]) == 2
    # Clearly below the best one: not kept although it beats the start.
    assert warm_fit._keep(path, rows, band, shares[2] + 0.1) == 0
