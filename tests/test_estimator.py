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
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pauc_core import PartialAUCClassifier, pauc, pauc_scorer
from pauc_core.own_data.classifier import PENALTIES
from pauc_core.own_data.folds import equal_rows, group_codes, held_out_masks, kept_together
from pauc_core.own_data.threshold import at_least_cost

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


class WithoutProbabilities(PartialAUCClassifier):
    """The rest of the rules that a probability of one half fails."""

    @property
    def predict_proba(self):
        raise AttributeError("left out")


def cannot_be_kept(estimator: PartialAUCClassifier) -> dict[str, str]:
    weights = "folds are drawn from rows, and a row repeated is not a row of more weight"
    found = {
        "check_sample_weight_equivalence_on_dense_data": weights,
        "check_sample_weight_equivalence_on_sparse_data": weights,
    }
    if not isinstance(estimator, WithoutProbabilities):
        found["check_classifiers_train"] = "predict works at a rate, not at a probability of 0.5"
    return found


@parametrize_with_checks(
    [PartialAUCClassifier(max_iter=10), WithoutProbabilities(max_iter=10)],
    expected_failed_checks=cannot_be_kept,
)
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


def test_the_path_holds_every_candidate_and_the_best_one_wins():
    x, y = two_kinds(2, rows=2000)
    model = PartialAUCClassifier(random_state=1).fit(x, y)
    path = model.path_
    assert len(path["loss"]) == 2 + 2 * len(PENALTIES)
    assert path["loss"][:2].tolist() == ["logistic regression", "balanced logistic regression"]
    assert model.start_score_ == path["pauc"][0]
    assert model.validation_score_ == path["pauc"][model.best_index_]
    assert (path["standard_error"] > 0).all()
    best = int(np.argmax(path["pauc"]))
    behind = path["pauc"][best] - model.validation_score_
    assert behind <= 0.25 * path["below_chosen_error"][best]
    assert (model.loss_, model.penalty_) == (
        path["loss"][model.best_index_],
        path["penalty"][model.best_index_],
    )


@pytest.mark.parametrize("loss", ["logistic", "sigmoid", "squared_hinge"])
def test_a_loss_and_a_penalty_may_be_set(loss):
    x, y = two_kinds(2, rows=2000)
    model = PartialAUCClassifier(loss=loss, random_state=1).fit(x, y)
    assert set(model.path_["loss"]) == {loss}
    assert model.penalty_ in PENALTIES
    one = PartialAUCClassifier(loss=loss, penalty=2.0, random_state=1).fit(x, y)
    assert (one.loss_, one.penalty_, len(one.path_["pauc"])) == (loss, 2.0, 1)
    both = PartialAUCClassifier(penalty=2.0, random_state=1).fit(x, y)
    assert sorted(both.path_["loss"]) == ["logistic", "sigmoid"]


def test_pure_noise_keeps_a_sane_model():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1500, 4)), rng.random(1500) < 0.3
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    assert np.isfinite(model.coef_).all()
    assert model.validation_score_ == pytest.approx(0.275, abs=0.06)


def test_where_logistic_regression_is_right_nothing_is_lost():
    """Two normal classes of one covariance: nothing ranks better than the log-odds."""

    def draw(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.random(rows) < 0.3
        return rng.normal(size=(rows, 5)) + y[:, None] * [1.0, 0.5, 0.2, 0.0, 0.0], y

    rng = np.random.default_rng(3)
    (x, y), (test_x, test_y) = draw(rng, 3000), draw(rng, 20000)
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    plain = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-6)).fit(x, y)
    ours = model.score(test_x, test_y)
    assert ours > pauc(test_y, plain.decision_function(test_x), **BAND) - 0.0015


def test_the_chosen_one_is_fitted_to_all_rows():
    x, y = two_kinds(23, rows=1500)
    model = PartialAUCClassifier(loss="sigmoid", penalty=3.0, random_state=0).fit(x, y)
    other = PartialAUCClassifier(loss="sigmoid", penalty=3.0, random_state=1).fit(x, y)
    # Other folds, another start of the last fit: the same rows, and so nearly the same end.
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=0.1, atol=0.02)


def test_the_numbers_do_not_depend_on_the_threads():
    x, y = two_kinds(21, rows=1200)
    one, two = (PartialAUCClassifier(n_jobs=n, random_state=0).fit(x, y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.path_["pauc"], two.path_["pauc"])


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
    assert (other.loss_, other.penalty_) == (dense.loss_, dense.penalty_)
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


def test_predict_holds_its_false_positive_rate_on_new_rows():
    x, y = two_kinds(5)
    test_x, test_y = two_kinds(6)
    for rate in (0.0, 0.02, 0.2):
        model = PartialAUCClassifier(
            loss="sigmoid", penalty=1.0, predict_fpr=rate, random_state=0
        ).fit(x, y)
        assert model.predict(test_x[~test_y]).mean() == pytest.approx(rate, abs=0.02)


@pytest.mark.parametrize(
    ("band", "rate"), [((0.0, 0.5), 0.05), ((0.1, 0.5), 0.1), ((0, 0.02), 0.02)]
)
def test_predict_works_in_the_band_unless_told_otherwise(band, rate):
    x, y = two_kinds(5, rows=3000)
    model = PartialAUCClassifier(*band, loss="sigmoid", penalty=1.0, random_state=0).fit(x, y)
    assert model.predict_fpr_ == rate
    assert model.predict(x[~y]).mean() == pytest.approx(rate, abs=0.02)


def test_class_weights_are_costs():
    x, y = two_kinds(5, rows=3000)
    shares = [
        PartialAUCClassifier(
            class_weight={False: cost, True: 1.0}, loss="sigmoid", penalty=1.0, random_state=0
        )
        .fit(x, y)
        .predict(x)
        .mean()
        for cost in (0.01, 1.0, 100.0)
    ]
    assert shares[0] > 0.8
    assert shares[2] < 0.01
    assert shares[0] > shares[1] > shares[2]


@pytest.mark.parametrize("costs", [(1.0, 1.0), (0.2, 3.0), (5.0, 0.1), (1e-9, 1.0), (1.0, 1e-9)])
def test_the_threshold_of_least_cost_is_the_least_of_all(costs):
    rng = np.random.default_rng(0)
    positive, scores = rng.random(200) < 0.3, rng.normal(size=200).round(1)
    scores += positive

    def cost(threshold: float) -> float:
        yes = scores > threshold
        return costs[0] * (yes & ~positive).sum() + costs[1] * (~yes & positive).sum()

    found = cost(at_least_cost(positive, scores, costs))
    assert found == pytest.approx(min(map(cost, [*scores, -np.inf])))


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
    assert len(model.held_out_) == len(y)  # 450 positives: every fold is used
    for mask in held_out_masks(y, group_codes(groups), 0.2, 0):
        assert not set(groups[mask]) & set(groups[~mask])
        assert mask.mean() == pytest.approx(0.2, abs=0.05)
    with pytest.raises(ValueError, match="at least two"):
        model.fit(x, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="No split by group"):
        model.fit(x, y, groups=y.astype(int))


def test_folds_are_used_until_a_thousand_rows_of_the_smaller_class_decide():
    counts = {}
    for positives in (9, 12, 300, 2000, 8000):
        y = np.arange(40000) < positives
        masks = held_out_masks(y, np.arange(len(y)), 0.2, 0)
        counts[positives] = len(masks)
        assert not masks or max(np.sum(masks, axis=0)) == 1
    assert counts == {9: 0, 12: 5, 300: 5, 2000: 3, 8000: 1}


def test_folds_share_both_classes_and_no_equal_rows():
    rng = np.random.default_rng(0)
    x = rng.integers(3, size=(4000, 6)) * rng.integers(2, size=(4000, 1)).astype(float)
    x[:3000, 0] = rng.normal(size=3000)
    y = rng.random(4000) < 0.1
    kinds = equal_rows(x)
    distinct, expected = np.unique(x, axis=0, return_inverse=True)
    assert len(np.unique(kinds)) == kinds.max() + 1 == len(distinct)
    assert len(np.unique(np.stack([kinds, expected.ravel()]), axis=1).T) == len(distinct)
    np.testing.assert_array_equal(kinds, equal_rows(sp.csr_array(x)))
    np.testing.assert_array_equal(kinds, equal_rows(np.where(x == 0, -0.0, x)))
    zeros = ~x.any(axis=1)
    assert np.bincount(kinds)[kinds[zeros]].min() > 400
    together = kept_together(x, y)
    assert len(np.unique(together[zeros])) == zeros.sum(), "rows that are common are dealt singly"
    assert len(np.unique(together[~zeros])) == len(np.unique(kinds[~zeros]))
    masks = held_out_masks(y, together, 0.2, 0)
    assert np.sum(masks, axis=0).tolist() == [1] * 4000
    for mask in masks:
        assert not set(together[mask]) & set(together[~mask])
        for part in (mask[y], mask[~y], mask[zeros]):
            assert part.mean() == pytest.approx(0.2, abs=0.04)


def test_rare_rows_that_were_repeated_stay_together_and_so_do_doubles():
    rng = np.random.default_rng(0)
    few = rng.normal(size=(20, 3)) + 1
    x = np.concatenate([np.repeat(few, 100, axis=0), rng.normal(size=(3000, 3))])
    y = np.arange(5000) < 2000
    np.testing.assert_array_equal(kept_together(x, y), equal_rows(x))
    np.testing.assert_array_equal(kept_together(x, ~y), equal_rows(x))
    y[::7] = False
    assert len(np.unique(kept_together(x, y))) == 5000
    doubled = np.repeat(rng.normal(size=(100, 3)), 5, axis=0)
    np.testing.assert_array_equal(
        kept_together(doubled, np.arange(500) % 2 == 0), equal_rows(doubled)
    )


def test_a_table_of_a_few_answers_is_held_out_as_it_is_met():
    rng = np.random.default_rng(0)

    def drawn(rows):
        answers = np.c_[rng.integers(1, 5, rows), rng.integers(0, 2, rows)].astype(float)
        odds = 0.6 * (answers[:, 0] - 2) + 0.8 * answers[:, 1] - 1.5
        return answers, rng.random(rows) < 1 / (1 + np.exp(-odds))

    model = PartialAUCClassifier(0.0, 0.2, predict_fpr=0.1, random_state=0).fit(*drawn(8000))
    x, y = drawn(40000)
    assert model.validation_score_ == pytest.approx(model.score(x, y), abs=0.03)
    assert 0.0 < model.predict(x)[~y].mean() < 0.13


def test_a_surrogate_that_leads_to_zero_is_told_and_not_followed_to_the_end():
    rng = np.random.default_rng(5)
    y = rng.random(1500) < 0.2
    x = rng.normal(size=(1500, 5)) + 0.7 * np.outer(y, np.eye(5)[0])
    with pytest.warns(UserWarning, match=r"worse than logistic regression does .pAUC 0\.1\d\d "):
        model = PartialAUCClassifier(0.0, 0.1, loss="sigmoid", random_state=0).fit(x, y)
    assert model.validation_score_ < model.start_score_
    assert model.score(x, y) > 0.1, "the fit to all rows alone ends below chance"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        free = PartialAUCClassifier(0.0, 0.1, random_state=0).fit(x, y)
    assert free.validation_score_ >= free.start_score_ - 0.01


def test_what_no_fit_can_use_is_refused_before_it():
    x, y = two_kinds(60, rows=400)
    groups = np.arange(400) // 2 + 0.0
    groups[7] = np.nan
    for names in (groups, np.where(np.isnan(groups), None, "g")):
        with pytest.raises(ValueError, match="Groups have no value in row 7"):
            PartialAUCClassifier().fit(x, y, groups=names)
    with pytest.raises(ValueError, match=r"class_weight of False is -1\.0: expected a number in"):
        PartialAUCClassifier(class_weight={0: -1, 1: 1}).fit(x, y)
    with pytest.raises(ValueError, match="promises a false positive rate between 0 and 1"):
        PartialAUCClassifier(predict_fpr=1.0, confidence=0.9).fit(x, y)
    few = np.concatenate([np.flatnonzero(y), np.flatnonzero(~y)[:95]])
    with pytest.raises(ValueError, match=r"none of the 95 negatives .* \(95\)"):
        PartialAUCClassifier(0.3, 0.31, loss="sigmoid").fit(x[few], y[few])


def test_few_negatives_in_the_band_warn():
    x, y = two_kinds(10, rows=1000)
    with pytest.warns(UserWarning, match="training negatives lie in the band"):
        PartialAUCClassifier(0.0, 0.01, random_state=0).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PartialAUCClassifier(random_state=0).fit(x, y)
    few = np.flatnonzero(y)[9:]
    with pytest.warns(UserWarning, match="fewer than 10 rows: nothing is held out"):
        small = PartialAUCClassifier().fit(np.delete(x, few, 0), np.delete(y, few))
    assert small.loss_ == "logistic regression"


def test_a_narrow_band_is_refused_for_the_rows_that_are_meant():
    x, y = two_kinds(10, rows=4000)
    total = np.count_nonzero(~y)
    with pytest.warns(UserWarning, match="Only 3 training negatives"):
        PartialAUCClassifier(0.0, 0.001, random_state=0).fit(x, y)
    with pytest.warns(
        UserWarning, match=r"none of the \d+ negatives of a held-out fold: the choice"
    ):
        PartialAUCClassifier(0.0, 0.001, random_state=0).fit(x, y)
    sentence = rf"none of the \d+ negatives that there are to learn from \({total} less those of a"
    with pytest.raises(ValueError, match=sentence):
        PartialAUCClassifier(0.0, 0.0001, random_state=0).fit(x, y)


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
        ({"class_weight": "heavy"}, "class_weight"),
        ({"tpr_low": 0.9, "tpr_high": 0.8}, "0 <= tpr_low < tpr_high <= 1"),
        ({"tpr_low": 0.9, "fpr_low": 0.1}, "The band is given twice"),
        ({"tpr_low": "most"}, "tpr_low is 'most'"),
        ({"predict_tpr": 1.5}, r"predict_tpr is 1\.5"),
        ({"predict_tpr": 0.9, "predict_fpr": 0.1}, "both given"),
        ({"confidence": 1.0}, r"confidence is 1\.0: expected a number in \(0, 1\)"),
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


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_column_far_from_zero_drowns_no_other(form):
    x, y = two_kinds(22, rows=1500)
    settings = {"loss": "sigmoid", "penalty": 1.0, "random_state": 0}
    reference = PartialAUCClassifier(**settings).fit(x, y).score(x, y)
    far = np.random.default_rng(0).normal(size=len(y))
    for mean, deviation in ((1e15, 1e6), (1.7e18, 1e15), (-1e9, 1e-3)):
        wide = form(np.column_stack([x, mean + deviation * far]))
        model = PartialAUCClassifier(**settings).fit(wide, y)
        assert model.score(wide, y) == pytest.approx(reference, abs=0.01)


def test_a_constant_column_weighs_nothing():
    x, y = two_kinds(22, rows=1500)
    settings = {"loss": "sigmoid", "penalty": 1.0, "random_state": 0}
    plain = PartialAUCClassifier(**settings).fit(x, y)
    for value in (0.0, 0.1, 1e15, -1e200):
        wide = np.column_stack([x, np.full(len(y), value)])
        model = PartialAUCClassifier(**settings).fit(wide, y)
        assert model.coef_[0, -1] == 0.0
        np.testing.assert_allclose(model.coef_[0, :-1], plain.coef_[0], rtol=1e-3)


@pytest.mark.parametrize(
    ("size", "word"), [(1e155, "large"), (1e-200, "small"), (1.7e308, "large")]
)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_numbers_that_cannot_be_squared_name_their_column(size, word, form):
    x, y = two_kinds(22, rows=300)
    x[:, 4] *= size / np.abs(x[:, 4]).max()
    with pytest.raises(ValueError, match=f"The column number 5 holds numbers too {word}"):
        PartialAUCClassifier().fit(form(x), y)
    frame = pd.DataFrame(x, columns=list("abcdef"))
    with pytest.raises(ValueError, match="The column 'e' holds"):
        PartialAUCClassifier().fit(frame, y)


def test_separable_data():
    x, y = two_kinds(13, rows=1000)
    x[:, 2] = np.where(y, 1.0, -1.0)
    model = PartialAUCClassifier(random_state=0).fit(x, y)
    assert model.score(x, y) == pytest.approx(1.0)
    assert (model.predict(x) == y).mean() > 0.9


def test_a_large_penalty_shrinks_the_weights():
    x, y = two_kinds(18, rows=1500)
    sizes = [
        np.linalg.norm(
            PartialAUCClassifier(loss="sigmoid", penalty=p, random_state=0).fit(x, y).coef_
            * x.std(0)
        )
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


def test_the_scorer_serves_any_classifier():
    x, y = two_kinds(16, rows=1200)
    words = np.where(y, "yes", "no")
    scorer = pauc_scorer(0.1, 0.3)
    for model in (LogisticRegression(), GaussianNB()):
        model.fit(x, words)
        expected = pauc(y, model.predict_proba(x)[:, 1], fpr_low=0.1, fpr_high=0.3)
        assert scorer(model, x, words) == pytest.approx(expected)
    with pytest.raises(ValueError, match="The label 'maybe' is none of the classifier's"):
        scorer(model, x, np.where(np.arange(len(x)) == 3, "maybe", words))
    three = LogisticRegression().fit(x, np.arange(len(x)) % 3)
    with pytest.raises(ValueError, match="knows 3 classes: expected two"):
        scorer(three, x, np.arange(len(x)) % 3)
    grid = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=scorer, cv=2)
    assert grid.fit(x, words).best_score_ > 0.5
