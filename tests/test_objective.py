import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pauc_core.objective import (
    exact_lam,
    f_l,
    f_l_grad,
    g_l,
    moreau_gradient,
    pauc_loss,
    pauc_loss_grad,
    sorr_loss,
    sorr_loss_grad,
)
from pauc_core.objective.losses import LOSSES, get_loss
from tests.oracles import (
    central_difference,
    pauc_loss_by_pairs,
    pauc_loss_grad_by_pairs,
)

NAMES = sorted(LOSSES)


def close(found, expected, floor=1e-16):
    """Within 1e-10 of max(|expected|, floor), entry by entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert np.isfinite(found).all()
    np.testing.assert_array_less(
        np.abs(found - expected), 1e-10 * np.maximum(np.abs(expected), floor) + 5e-324
    )


def check_against_pairs(p, q, m, n, loss):
    expected = pauc_loss_by_pairs(p, q, m, n, loss)
    close(pauc_loss(p, q, m=m, n=n, loss=loss), expected)
    value, by_p, by_q = pauc_loss_grad(p, q, m=m, n=n, loss=loss)
    close(value, expected)
    expected_p, expected_q = pauc_loss_grad_by_pairs(p, q, m, n, loss)
    close(by_p, expected_p)
    close(by_q, expected_q)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("spread", [1e-6, 1e-3, 1.0, 5.0, 30.0, 1e3, 1e4])
@pytest.mark.parametrize("shift", [0.0, 3.0, -40.0, 45.0, 1e4])
def test_exact_at_every_spread(loss, spread, shift):
    rng = np.random.default_rng(7)
    p, q = spread * rng.normal(size=150) + shift, spread * rng.normal(size=400)
    check_against_pairs(p, q, 20, 200, loss)
    check_against_pairs(spread * rng.standard_cauchy(150), q, 0, 400, loss)


@st.composite
def problems(draw):
    """Scores from a coarse lattice (ties, cell borders), a line, or several far clusters."""
    kind = draw(st.sampled_from(["lattice", "line", "clusters"]))
    scale = 10.0 ** draw(st.integers(-6, 4))
    element = {
        "lattice": st.integers(-6, 6).map(float),
        "line": st.floats(-3, 3).map(lambda x: scale * x),
        "clusters": st.tuples(st.sampled_from([-1e4, -45.0, 0.0, 2.0, 1e4]), st.floats(-2, 2)).map(
            sum
        ),
    }[kind]
    p = np.array(draw(st.lists(element, min_size=1, max_size=12)))
    q = np.array(draw(st.lists(element, min_size=1, max_size=25)))
    m = draw(st.integers(0, q.size - 1))
    return p, q, m, draw(st.integers(m + 1, q.size))


@settings(max_examples=150)
@given(problem=problems(), loss=st.sampled_from(["logistic", "sigmoid"]))
def test_exact_on_awkward_scores(problem, loss):
    check_against_pairs(*problem, loss)


@settings(max_examples=100)
@given(problem=problems())
def test_squared_hinge_on_awkward_scores(problem):
    p, q, m, n = problem
    # Margins within rounding of 0 are known only to the rounding of the scores themselves.
    rounding = 4 * np.spacing(max(np.abs(p).max(), np.abs(q).max(), 1.0))
    value, by_p, by_q = pauc_loss_grad(p, q, m=m, n=n, loss="squared_hinge")
    expected = pauc_loss_by_pairs(p, q, m, n, "squared_hinge")
    expected_p, expected_q = pauc_loss_grad_by_pairs(p, q, m, n, "squared_hinge")
    assert value == pytest.approx(
        expected, rel=1e-10, abs=rounding * np.sqrt(expected) + rounding**2
    )
    np.testing.assert_allclose(by_p, expected_p, rtol=1e-10, atol=2 * rounding)
    np.testing.assert_allclose(by_q, expected_q, rtol=1e-10, atol=2 * rounding)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize(
    ("p", "q", "m", "n"),
    [
        (np.zeros(5), np.zeros(9), 2, 6),  # constant
        (np.full(3, 1e4), np.full(4, -1e4), 0, 4),
        (np.array([0.3]), np.arange(6.0), 0, 6),  # one positive, m = 0, n = N-
        (np.array([0.3]), np.array([0.2]), 0, 1),
        (np.repeat([0.0, 1.0, 5.0], 40), np.repeat([-1.0, 1.0, 3.0], 70), 35, 180),  # duplicates
        (np.array([1e15, 0.0, -3.0]), np.array([-1e15, 2.0, 1e15, 1.0]), 1, 4),  # outliers
        (np.array([2.0**53, 2.0**53 + 2]), np.array([2.0**53, 2.0**53 + 4, 0.0]), 0, 3),
    ],
)
def test_exact_on_edge_cases(p, q, m, n, loss):
    check_against_pairs(p, q, m, n, loss)


def test_rates_are_rounded_to_ranks():
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=30), rng.normal(size=40)
    assert pauc_loss(p, q, fpr_low=0.05, fpr_high=0.5) == pauc_loss(p, q, m=2, n=20)
    assert pauc_loss(p, q, fpr_low=0.0, fpr_high=1.0) == pauc_loss(p, q, m=0, n=40)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64])
def test_always_float64(dtype):
    rng = np.random.default_rng(0)
    p = (10 * rng.normal(size=30)).astype(dtype)
    q = (10 * rng.normal(size=40)).astype(dtype)
    value, by_p, by_q = pauc_loss_grad(p, q, m=2, n=30)
    assert value == pauc_loss_grad(p.astype(float), q.astype(float), m=2, n=30)[0]
    assert by_p.dtype == by_q.dtype == np.float64


@pytest.mark.parametrize("loss", NAMES)
def test_gradient_against_finite_differences(loss):
    rng = np.random.default_rng(1)
    p, q = rng.normal(size=8), rng.permutation(np.linspace(-2, 2, 15)) + 0.003
    _, by_p, by_q = pauc_loss_grad(p, q, m=3, n=11, loss=loss)
    numeric_p = central_difference(lambda x: pauc_loss(x, q, m=3, n=11, loss=loss), p)
    numeric_q = central_difference(lambda x: pauc_loss(p, x, m=3, n=11, loss=loss), q)
    np.testing.assert_allclose(by_p, numeric_p, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(by_q, numeric_q, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("loss", NAMES)
def test_objective_is_the_difference_of_its_parts(loss):
    """Equation (5), and with it the nesting of the two sets of negatives under ties."""
    rng = np.random.default_rng(2)
    p, q = rng.normal(size=20), rng.integers(-3, 3, size=50).astype(float)
    value, by_p, by_q = pauc_loss_grad(p, q, m=10, n=30, loss=loss)
    upper, lower = f_l_grad(p, q, 30, loss=loss), f_l_grad(p, q, 10, loss=loss)
    pairs = 20 * 20
    assert value * pairs == pytest.approx(upper[0] - lower[0], rel=1e-12)
    np.testing.assert_allclose(by_p * pairs, upper[1] - lower[1], rtol=1e-10)
    np.testing.assert_allclose(by_q * pairs, upper[2] - lower[2], rtol=1e-10, atol=1e-12)


@given(problem=problems(), loss=st.sampled_from(NAMES), seed=st.integers(0, 99))
def test_f_is_the_least_g(problem, loss, seed):
    """Equation (12): f^l = min over lam of g^l, reached at the exact lam."""
    p, q, l, _ = problem
    least = f_l(p, q, l, loss=loss)
    lam = exact_lam(p, q, l, loss=loss)
    scale = max(1.0, g_l(p, q, np.zeros(p.size), q.size, loss=loss))
    assert g_l(p, q, lam, l, loss=loss) == pytest.approx(least, rel=1e-9, abs=1e-9 * scale)
    other = lam + np.random.default_rng(seed).normal(size=p.size) * (1 + np.abs(lam))
    assert g_l(p, q, other, l, loss=loss) >= least - 1e-9 * scale


@pytest.mark.parametrize("loss", NAMES)
def test_f_sums_the_largest_losses_of_each_positive(loss):
    rng = np.random.default_rng(4)
    p, q = rng.normal(size=9), rng.normal(size=14)
    s = np.sort(get_loss(loss).value(p[:, None] - q), axis=1)[:, ::-1]
    for l in (0, 1, 6, 14):
        assert f_l(p, q, l, loss=loss) == pytest.approx(s[:, :l].sum(), rel=1e-12)
        value, by_p, by_q = f_l_grad(p, q, l, loss=loss)
        assert value == pytest.approx(s[:, :l].sum(), rel=1e-12)
        assert by_p.sum() == pytest.approx(-by_q.sum(), rel=1e-10)
        assert np.count_nonzero(by_q) <= l
        np.testing.assert_array_equal(exact_lam(p, q, l, loss=loss), s[:, max(l, 1) - 1])


@given(
    losses=st.lists(st.integers(0, 6).map(float), min_size=1, max_size=20),
    cut=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_sorr_is_the_mean_of_the_ranked_range(losses, cut):
    s = np.array(losses)
    m = int(cut[0] * (s.size - 1))
    n = m + 1 + int(cut[1] * (s.size - m - 1))
    value, weights = sorr_loss_grad(s, m, n)
    expected = np.sort(s)[::-1][m:n].mean()
    assert value == sorr_loss(s, m, n) == pytest.approx(expected)
    assert weights @ s == pytest.approx(expected)
    assert np.count_nonzero(weights) == n - m
    np.testing.assert_allclose(weights[weights > 0], 1 / (n - m))
    # The first among equals ranks higher, on every machine.
    np.testing.assert_array_equal(
        np.flatnonzero(weights), np.sort(np.argsort(-s, kind="stable")[m:n])
    )


def test_moreau_gradient_of_two_quadratics():
    """f^m = |v|^2 / 2 and f^n = |v|^2: the envelopes are known in closed form (Lemma 2)."""
    w, mu = np.array([1.0, -2.0]), 0.3
    v_m, v_n = w / (1 + mu), w / (1 + 2 * mu)
    expected = w * (2 / (1 + 2 * mu) - 1 / (1 + mu))
    np.testing.assert_allclose(moreau_gradient(v_m, v_n, mu), expected)


@pytest.mark.parametrize(
    ("band", "message"),
    [
        ({}, "either fpr_low and fpr_high, or m and n"),
        ({"m": 0}, "either"),
        ({"fpr_low": 0.0}, "either"),
        ({"fpr_low": 0.0, "fpr_high": 1.0, "n": 2}, "either"),
        ({"m": 2, "n": 2}, "m = 2, n = 2"),
        ({"m": 0, "n": 5}, "0 <= m < n <= 4"),
        ({"m": -1, "n": 3}, "m = -1"),
        ({"m": 0.5, "n": 3}, "whole numbers"),
        ({"fpr_low": 0.4, "fpr_high": 0.45}, "holds none of the 4 negatives"),
        ({"fpr_low": 0.4, "fpr_high": 0.2}, "0 <= fpr_low < fpr_high <= 1"),
    ],
)
def test_bands_without_negatives_are_refused(band, message):
    for call in (pauc_loss, pauc_loss_grad):
        with pytest.raises(ValueError, match=message):
            call([1.0], [0.0, 1.0, 2.0, 3.0], **band)


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([], [1.0, 2.0], "scores_pos has shape"),
        ([1.0], [], "scores_neg has shape"),
        ([[1.0]], [1.0, 2.0], "scores_pos has shape"),
        ([np.nan], [1.0, 2.0], "scores_pos holds NaN"),
        ([1.0], [1.0, np.inf], "scores_neg holds NaN or infinite"),
    ],
)
def test_bad_scores_are_refused(p, q, message):
    for call in (pauc_loss, pauc_loss_grad):
        with pytest.raises(ValueError, match=message):
            call(p, q, m=0, n=1)


def test_ranks_of_f_are_checked():
    for call in (f_l, f_l_grad, exact_lam):
        with pytest.raises(ValueError, match="l = 3"):
            call([1.0], [0.0, 1.0], 3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("spread", [1e-6, 1.0, 20.0, 1e4])
def test_exact_on_thousands_of_scores(loss, spread):
    rng = np.random.default_rng(11)
    p, q = spread * (rng.normal(size=3_000) + 1), spread * rng.normal(size=9_000)
    check_against_pairs(p, q, 450, 4_500, loss)
