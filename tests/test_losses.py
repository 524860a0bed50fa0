import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from pauc_core.objective import pauc_loss, pauc_loss_grad
from pauc_core.objective.losses import LOSSES, Formulas, Loss, Tail, get_loss
from tests.oracles import central_difference

NAMES = sorted(LOSSES)
GAPS = np.array([-1e4, -800.0, -40.0, -1.5, -1e-9, 0.0, 1e-9, 0.5, 1.5, 40.0, 800.0, 1e4])


def test_known_values():
    assert get_loss("logistic").value(0.0) == pytest.approx(np.log(2.0))
    assert get_loss("sigmoid").value(0.0) == 0.5
    np.testing.assert_array_equal(
        get_loss("squared_hinge").value([-1.0, 0.0, 1.0, 2.0]), [4, 1, 0, 0]
    )
    np.testing.assert_allclose(get_loss("logistic").value([50.0, -50.0]), [np.exp(-50.0), 50.0])
    np.testing.assert_allclose(get_loss("sigmoid").value([50.0, -50.0]), [np.exp(-50.0), 1.0])


@pytest.mark.parametrize("name", NAMES)
def test_slope_is_the_derivative(name):
    loss = get_loss(name)
    z = np.linspace(-6, 6, 41) + 0.013
    numeric = central_difference(lambda x: loss.value(x).sum(), z)
    np.testing.assert_allclose(loss.slope(z), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_finite_and_falling_at_any_size(name):
    loss = get_loss(name)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        values, slopes = loss.value(GAPS), loss.slope(GAPS)
    assert np.isfinite(values).all()
    assert (np.diff(values) <= 0).all()
    assert (slopes <= 0).all()


@pytest.mark.parametrize("name", NAMES)
@given(z=st.floats(-700, 700), lam=st.one_of(st.floats(-5, 5), st.floats(0, 1e6), st.just(0.0)))
def test_gap_tells_active_pairs(name, z, lam):
    """l(z) > lam exactly where z < gap_at(lam), but for rounding beside the gap itself."""
    loss = get_loss(name)
    gap = float(loss.gap_at(lam))
    assert not np.isnan(gap)
    # Where the loss is flat to rounding, the gap is known only as well as the loss tells it.
    margin = 1e-9 * (1 + abs(gap)) if np.isfinite(gap) else 0.0
    if lam > 0 and name == "sigmoid" and lam < 1:
        margin += 1e-15 / max(-float(loss.slope(gap)), 1e-300)
    if abs(z - gap) > margin and loss.value(z) != lam:
        assert (loss.value(z) > lam) == (z < gap)


@pytest.mark.parametrize("name", NAMES)
def test_gap_inverts_value(name):
    loss = get_loss(name)
    z = np.linspace(-15, 0.9, 50)
    np.testing.assert_allclose(loss.gap_at(loss.value(z)), z, rtol=1e-8, atol=1e-8)


def test_gap_outside_the_range_of_the_loss():
    for name in NAMES:
        assert get_loss(name).gap_at(-0.1) == np.inf
    assert get_loss("logistic").gap_at(0.0) == np.inf
    assert get_loss("squared_hinge").gap_at(0.0) == 1.0
    np.testing.assert_array_equal(get_loss("sigmoid").gap_at([1.0, 2.0]), [-np.inf, -np.inf])
    assert get_loss("logistic").gap_at(1e4) == pytest.approx(-1e4)


def test_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"Unknown loss 'hinge'.*logistic"):
        get_loss("hinge")


@pytest.mark.parametrize("name", NAMES)
def test_torch_and_the_compiled_scalars_have_the_same_formulas(name):
    loss, theirs = get_loss(name), get_loss(name).formulas(torch)
    z = torch.from_numpy(GAPS)
    lam = np.array([-1.0, 0.0, 1e-12, 0.3, 0.99, 1.0, 7.0, 300.0])
    np.testing.assert_allclose(theirs.value(z), loss.value(GAPS), rtol=1e-13)
    np.testing.assert_allclose(theirs.slope(z), loss.slope(GAPS), rtol=1e-13)
    np.testing.assert_allclose(theirs.gap_at(torch.from_numpy(lam)), loss.gap_at(lam), rtol=1e-12)
    slope, gap = (njit(function) for function in loss.formulas(np)[1:])
    np.testing.assert_allclose([slope(x) for x in GAPS], loss.slope(GAPS), rtol=1e-13)
    np.testing.assert_allclose([gap(x) for x in lam], loss.gap_at(lam), rtol=1e-12)
    if loss.of_sigma is not None:
        z = np.linspace(-8, 8, 33)
        (a, b), sigma = loss.of_sigma, 1.0 / (1.0 + np.exp(z))
        np.testing.assert_allclose(a * sigma + b * sigma**2, -loss.slope(z), rtol=1e-11)


def test_a_new_loss_is_one_entry():
    """exp(-2z)-tailed loss log(1 + exp(-2z)) / 2: its entry alone gives sums and gradients."""

    def define(xp, where):
        def value(z):
            return (where(z < 0, -2 * z, 0.0) + xp.log1p(xp.exp(-xp.abs(2 * z)))) / 2

        def slope(z):
            small = xp.exp(-xp.abs(2 * z))
            return -where(z > 0, small, 1.0) / (1.0 + small)

        return Formulas(value, slope, gap_at=lambda lam: lam)

    def series(k):
        return np.where(k % 2 == 0, -((-1.0) ** (k // 2)) / np.maximum(k, 1), 0.0)

    own = Loss("twice", define, tails=(Tail(0.0, 0.0, series), Tail(0.0, 1.0, series)))
    rng = np.random.default_rng(0)
    p, q = 5 * rng.standard_normal(40), 5 * rng.standard_normal(90)
    value, by_p, by_q = pauc_loss_grad(p, q, m=5, n=60, loss=own)
    band = np.sort(q)[::-1][5:60]
    assert value == pytest.approx(own.value(p[:, None] - band).mean(), rel=1e-9)
    np.testing.assert_allclose(
        by_p, own.slope(p[:, None] - band).sum(1) / (40 * 55), rtol=1e-7, atol=1e-12
    )
    assert by_q.sum() == pytest.approx(-by_p.sum())
    assert pauc_loss(p, q, m=5, n=60, loss=own) == pytest.approx(value, rel=1e-12)


def test_a_loss_without_a_way_to_its_sums_is_refused():
    own = Loss("bare", get_loss("logistic").define)
    with pytest.raises(ValueError, match="'bare' has neither tails nor sums"):
        pauc_loss([1.0], [0.0], m=0, n=1, loss=own)
