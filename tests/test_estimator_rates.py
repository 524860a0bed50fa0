"""The classifier's weights, true positive rates, promises and probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.model_selection import cross_val_score

from pauc_core import PartialAUCClassifier, pauc, pauc_scorer
from pauc_core.models.scaled_rows import ScaledRows
from pauc_core.own_data.calibration import calibrate, probabilities
from pauc_core.own_data.promise import needed, promised
from pauc_core.own_data.threshold import at_least_cost, at_tpr
from pauc_core.solver.path import Training, fit_band, fit_logistic
from tests.test_estimator import BAND, two_kinds

ONE = {"loss": "sigmoid", "penalty": 1.0, "random_state": 0}


# ---- weights -------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_weighted_fit_is_that_of_repeated_rows(form):
    x, y = two_kinds(30, rows=600)
    x[np.abs(x) < 4] = 0.0
    times = np.random.default_rng(0).integers(4, size=len(y))
    rows = ScaledRows.fit(form(x), weights=times.astype(float))
    many = ScaledRows.fit(form(np.repeat(x, times, axis=0)))
    np.testing.assert_allclose(rows.center, many.center)
    np.testing.assert_allclose(rows.scale, many.scale)
    many_y = np.repeat(y, times)
    # A band whose ends are whole ranks of the repeated negatives.
    total = int(times[~y].sum())
    band = (round(0.05 * total) / total, round(0.5 * total) / total)
    weighted = Training(rows, y, np.ones(len(y), dtype=bool), *band, times.astype(float))
    repeated = Training(many, many_y, np.ones(len(many_y), dtype=bool), *band)
    start = np.zeros(rows.width + 1)
    one, two = (fit_logistic(each, (0.7, 1.9), start, 200)[0] for each in (weighted, repeated))
    np.testing.assert_allclose(one, two, atol=1e-4)
    limits = {"loss": "logistic", "penalty": 2.0, "max_iter": 5, "tol": 0.0}
    one, two = (fit_band(each, one[:-1], **limits)[0] for each in (weighted, repeated))
    np.testing.assert_allclose(one, two, rtol=1e-6)


def test_weights_of_zero_leave_rows_out():
    x, y = two_kinds(31, rows=1500)
    weights = np.ones(len(y))
    weights[::5] = 0.0
    model = PartialAUCClassifier(**ONE).fit(x, y, sample_weight=weights)
    x[::5], x[::10, 0] = 1e9, 3.0
    other = PartialAUCClassifier(**ONE).fit(x, y, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert not set(model.held_out_) & set(range(0, len(y), 5))


def test_weights_move_the_model_towards_the_heavy_rows():
    """Two kinds of positives that different columns tell: each fit prefers what weighs."""
    rng = np.random.default_rng(0)
    y, kind = rng.random(3000) < 0.3, rng.random(3000) < 0.5
    x = rng.normal(size=(3000, 2))
    x[y & kind, 0] += 2.0
    x[y & ~kind, 1] += 2.0
    for heavy in (kind, ~kind):
        weights = np.where(heavy, 1.0, 0.05)
        model = PartialAUCClassifier(random_state=0).fit(x, y, sample_weight=weights)
        plain = PartialAUCClassifier(random_state=0).fit(x, y)
        assert model.score(x, y, weights) > plain.score(x, y, weights) + 0.02
        assert model.score(x, y, weights) == pytest.approx(
            pauc(y, model.decision_function(x), sample_weight=weights, **BAND)
        )


def test_the_weighted_threshold_and_scorer_are_weighted():
    x, y = two_kinds(32, rows=3000)
    weights = np.where(x[:, 3] > 5.0, 1.0, 0.1)
    model = PartialAUCClassifier(predict_fpr=0.2, **ONE).fit(x, y, sample_weight=weights)
    called = model.predict(x)
    assert np.average(called[~y], weights=weights[~y]) == pytest.approx(0.2, abs=0.02)
    scorer = pauc_scorer(0.1, 0.3)
    expected = pauc(y, model.decision_function(x), fpr_low=0.1, fpr_high=0.3, sample_weight=weights)
    assert scorer(model, x, y, sample_weight=weights) == expected
    costs = (1.0, 3.0)
    scores, heavy = np.round(x[:300, 0], 1), np.arange(300) % 4
    many = [np.repeat(each, heavy) for each in (y[:300], scores)]
    assert at_least_cost(y[:300], scores, costs, heavy) == pytest.approx(
        at_least_cost(*many, costs)
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-1.0, "holds a number below 0"),
        (0.0, "holds no weight but zero"),
        (np.nan, "NaN or infinite"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    x, y = two_kinds(9, rows=500)
    with pytest.raises(ValueError, match=message):
        PartialAUCClassifier().fit(x, y, sample_weight=np.full(len(y), weights))
    with pytest.raises(ValueError, match=r"shape \(3,\): expected one weight a row"):
        PartialAUCClassifier().fit(x, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="only one class"):
        PartialAUCClassifier().fit(x, y, sample_weight=y.astype(float))


# ---- true positive rates -------------------------------------------------------------------------
def test_a_band_of_true_positive_rates_is_the_exchanged_problem():
    x, y = two_kinds(33, rows=2000)
    model = PartialAUCClassifier(tpr_low=0.8, random_state=0, max_iter=10).fit(x, y)
    assert model.band_ == {"tpr_low": 0.8, "tpr_high": 1.0}
    assert model.score(x, y) == pauc(y, model.decision_function(x), tpr_low=0.8)
    other = PartialAUCClassifier(0.0, 1 - 0.8, random_state=0, max_iter=10).fit(x, ~y)
    np.testing.assert_allclose(model.coef_, -other.coef_)
    assert model.validation_score_ == pytest.approx(other.validation_score_)
    assert model.score(x, y) == pytest.approx(other.score(x, ~y))
    scorer = pauc_scorer(tpr_low=0.8)
    assert scorer(model, x, y) == model.score(x, y)
    one = PartialAUCClassifier(tpr_low=0.8, **ONE)
    assert cross_val_score(one, x, y, scoring=scorer, cv=2).min() > 0.3


def test_recall_first_beats_a_band_of_false_positive_rates_there():
    """Some positives look healthy: a band of high true positive rates ends before them."""

    def draw(seed: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = two_kinds(seed)
        return -x, ~y

    (x, y), (test_x, test_y) = draw(0), draw(1)
    recall = PartialAUCClassifier(tpr_low=0.5, tpr_high=0.95, random_state=0).fit(x, y)
    other = PartialAUCClassifier(0.0, 0.05, random_state=0).fit(x, y)
    ours, theirs = (
        pauc(test_y, model.decision_function(test_x), tpr_low=0.5, tpr_high=0.95)
        for model in (recall, other)
    )
    assert ours > theirs + 0.01


def test_predict_keeps_a_true_positive_rate():
    x, y = two_kinds(5)
    test_x, test_y = two_kinds(6)
    for rate in (0.5, 0.9, 1.0):
        model = PartialAUCClassifier(predict_tpr=rate, **ONE).fit(x, y)
        assert model.predict(test_x[test_y]).mean() == pytest.approx(rate, abs=0.03)
        assert (model.predict_tpr_, np.isnan(model.predict_fpr_)) == (rate, True)
    usual = PartialAUCClassifier(tpr_low=0.8, **ONE).fit(x, y)
    assert usual.predict_tpr_ == 0.95
    assert PartialAUCClassifier(tpr_high=0.9, **ONE).fit(x, y).predict_tpr_ == 0.9
    scores, truth = np.arange(10.0), np.arange(10) % 2 == 1
    assert (scores[truth] > at_tpr(truth, scores, 0.8, None)).mean() == 0.8


# ---- promises ------------------------------------------------------------------------------------
def test_how_many_negatives_a_promise_needs():
    assert (needed(0.05, 0.95), needed(0.001, 0.95)) == (59, 2995)
    for fpr, confidence in ((0.05, 0.95), (0.013, 0.5), (0.3, 0.99)):
        n = needed(fpr, confidence)
        assert (1 - fpr) ** n <= 1 - confidence < (1 - fpr) ** (n - 1)


@pytest.mark.parametrize("n", [59, 60, 93, 94, 500, 5000])
def test_the_promised_threshold_is_the_lowest_that_keeps_it(n):
    values = np.arange(float(n))
    exceeding = int((values > promised(values, 0.05, 0.95)).sum())
    assert binom.cdf(exceeding, n, 0.05) <= 0.05 < binom.cdf(exceeding + 1, n, 0.05)


def test_the_promise_is_kept_over_many_draws():
    """The true rate above a threshold is known here: negatives are uniform."""
    rng = np.random.default_rng(0)
    rates = np.array([1.0 - promised(rng.random(300), 0.1, 0.9) for _ in range(4000)])
    assert np.mean(rates > 0.1) == pytest.approx(0.1, abs=0.04)
    assert np.mean(rates > 0.1) <= 0.115


def test_the_promise_is_kept_over_fits():
    rng = np.random.default_rng(0)
    settings = {"loss": "logistic", "penalty": 1.0, "max_iter": 5, "n_jobs": 1}
    broken = {0.95: 0, None: 0}
    for seed in range(20):
        y = rng.random(400) < 0.3
        x = rng.normal(size=(400, 2)) + y[:, None] * [1.5, 0.5]
        fresh = rng.normal(size=(20000, 2))
        for confidence in broken:
            model = PartialAUCClassifier(
                predict_fpr=0.1, confidence=confidence, random_state=seed, **settings
            ).fit(x, y)
            broken[confidence] += model.predict(fresh).mean() > 0.1
    assert broken[0.95] <= binom.ppf(0.999, 20, 0.05)
    assert broken[None] > binom.ppf(0.999, 20, 0.05)


def test_rows_of_a_promise_are_neither_chosen_by_nor_fitted_to():
    x, y = two_kinds(34, rows=1500)
    settings = {"predict_fpr": 0.05, "confidence": 0.95, **ONE}
    model = PartialAUCClassifier(**settings).fit(x, y)
    apart = model.set_apart_
    assert not y[apart].any()
    assert len(apart) == round(0.2 * np.sum(~y))
    assert not set(apart) & set(model.held_out_)
    x[apart] += 100.0
    moved = PartialAUCClassifier(**settings).fit(x, y)
    np.testing.assert_array_equal(model.coef_, moved.coef_)
    assert moved.validation_score_ == model.validation_score_
    assert moved.intercept_ != model.intercept_


def test_promises_that_cannot_be_kept():
    x, y = two_kinds(35, rows=1500)
    promise = {"predict_fpr": 0.001, "confidence": 0.95}
    with pytest.raises(ValueError, match=r"needs 2995 negatives set apart, more than half of the"):
        PartialAUCClassifier(**promise).fit(x, y)
    promise["predict_fpr"] = 0.05
    for name in ("groups", "sample_weight"):
        with pytest.raises(ValueError, match=f"confidence=0.95 and {name} do not go together"):
            PartialAUCClassifier(**promise).fit(x, y, **{name: np.arange(len(y)) % 7 + 1})
    for wrong in ({"predict_fpr": 0.0}, {"predict_tpr": 0.9}, {"class_weight": "balanced"}):
        with pytest.raises(ValueError, match="promises a false positive rate between 0 and 1"):
            PartialAUCClassifier(confidence=0.95, **wrong).fit(x, y)


# ---- probabilities -------------------------------------------------------------------------------
def test_probabilities_rank_as_the_decision_and_are_calibrated():
    x, y = two_kinds(36)
    test_x, test_y = two_kinds(37)
    for settings in ({}, {"tpr_low": 0.8}, {"predict_fpr": 0.2, "confidence": 0.9}):
        model = PartialAUCClassifier(random_state=0, **settings).fit(x, y)
        both = model.predict_proba(test_x)
        np.testing.assert_allclose(both.sum(axis=1), 1.0)
        order = np.argsort(model.decision_function(test_x))
        assert (np.diff(both[order, 1]) >= 0).all()
        assert both[:, 1].mean() == pytest.approx(test_y.mean(), abs=0.02)
        base = np.full(len(test_y), y.mean())
        brier, by_chance = (np.mean((p - test_y) ** 2) for p in (both[:, 1], base))
        assert brier < 0.8 * by_chance


def test_calibration_finds_the_true_log_odds():
    rng = np.random.default_rng(0)
    scores = 3 * rng.normal(size=20000) + 1
    truth = 1 / (1 + np.exp(1.5 - 0.8 * scores))
    y = rng.random(20000) < truth
    knots, log_odds = calibrate(y, scores, None)
    assert (np.diff(knots) > 0).all()
    assert (np.diff(log_odds) > 0).all()
    found = probabilities(scores, knots, log_odds)[:, 1]
    assert np.abs(found - truth).mean() < 0.02
    times = rng.integers(1, 3, size=20000)
    many = calibrate(np.repeat(y, times), np.repeat(scores, times), None)
    heavy = probabilities(scores, *calibrate(y, scores, times.astype(float)))[:, 1]
    assert np.abs(heavy - probabilities(scores, *many)[:, 1]).max() < 0.03
    # The ranking stays, whatever it is worth and however far it goes.
    far = np.array([-1e4, -1e3, 0.0, 1e3, 1e4])
    assert (np.diff(probabilities(far, *calibrate(scores < 0, scores, None))[:, 1]) > 0).all()


# ---- the file ------------------------------------------------------------------------------------
def test_the_model_file_keeps_all_of_it(tmp_path):
    x, y = two_kinds(38, rows=1500)
    frame = pd.DataFrame(x, columns=list("abcdef"))
    for k, (settings, weights) in enumerate(
        [
            ({"tpr_low": 0.7, "predict_tpr": 0.8}, np.linspace(0, 2, len(y))),
            ({"predict_fpr": 0.1, "confidence": 0.9}, None),
        ]
    ):
        model = PartialAUCClassifier(**settings, **ONE).fit(frame, y, sample_weight=weights)
        model.save(tmp_path / f"{k}.npz")
        back = PartialAUCClassifier.load(tmp_path / f"{k}.npz")
        assert back.get_params() == model.get_params()
        assert back.band_ == model.band_
        np.testing.assert_array_equal(back.predict_proba(frame), model.predict_proba(frame))
        np.testing.assert_array_equal(back.set_apart_, model.set_apart_)
        assert back.score(frame, y) == model.score(frame, y)
        assert (back.predict_fpr_, back.predict_tpr_) == pytest.approx(
            (model.predict_fpr_, model.predict_tpr_), nan_ok=True
        )
