"""Three answers: normal, of a labelled kind, of a kind that nobody has labelled."""

import numpy as np
import pytest
from bsvdd.inference.kinds import Center, Kind, Kinds, Sigmoid, log_odds, log_shares, temperature
from bsvdd.models import Gram, bsvdd
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from bsvdd import kernels, priors

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(30, 2))
KERNEL = kernels.RBF(0.7)


def test_a_center_has_the_weights_of_the_posterior_mode_of_bsvdd():
    w = bsvdd.mode(Gram.from_rows(KERNEL, ROWS), priors.InverseRowSum(sd=0.5))
    Z = RNG.normal(size=(5, 2))
    np.testing.assert_allclose(
        Center.of(KERNEL, ROWS).log_proximity(Z), np.log(KERNEL(Z, ROWS) @ w)
    )


def test_left_out_rows_meet_the_other_weights_rescaled():
    center = Center.of(KERNEL, ROWS)
    w = np.exp(center.log_weights)
    for j in range(3):
        rest = np.delete(w, j) / np.delete(w, j).sum()
        expected = np.log(KERNEL(ROWS[j : j + 1], np.delete(ROWS, j, axis=0)) @ rest)
        np.testing.assert_allclose(center.left_out()[j], expected[0])


def test_a_single_row_is_a_center_without_a_left_out_row():
    center = Center.of(KERNEL, ROWS[:1])
    assert np.isnan(center.left_out()).tolist() == [True]
    np.testing.assert_allclose(center.log_proximity(ROWS[:1]), 0.0)


def test_a_far_row_has_a_finite_proximity():
    assert np.isfinite(Center.of(KERNEL, ROWS).log_proximity(np.array([[1e3, 0.0]]))).all()


def test_sigmoid_is_logistic_regression_where_classes_overlap():
    """With many rows the targets are 0 and 1, up to 1/n."""
    minority = RNG.random(20_000) < 0.3
    scores = RNG.normal(size=20_000) - 1.5 * minority
    found = Sigmoid.of(scores, minority)
    peer = LogisticRegression(C=np.inf).fit(scores[:, None], minority)
    assert found.slope == pytest.approx(peer.coef_[0, 0], rel=5e-3)
    assert found.intercept == pytest.approx(peer.intercept_[0], rel=5e-3)


def test_sigmoid_has_the_best_likelihood_of_platts_targets():
    scores, minority = np.array([3.0, 2.0, 1.0, 2.5, 0.0, -1.0]), np.arange(6) >= 4
    found, t = Sigmoid.of(scores, minority), np.where(minority, 3 / 4, 1 / 6)

    def loss(ab):
        odds = ab[0] * scores + ab[1]
        return (np.logaddexp(0, odds) - t * odds).sum()

    best = minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    np.testing.assert_allclose([found.slope, found.intercept], best.x, rtol=1e-3)


def test_sigmoid_never_calls_larger_scores_more_abnormal():
    assert Sigmoid.of(np.array([0.0, 0.0, 5.0, 6.0]), np.arange(4) >= 2).slope == 0.0


def test_the_odds_are_one_at_the_quantile_of_the_background():
    left_out = np.arange(99.0)
    np.testing.assert_allclose(log_odds(0.05, np.array([3.5]), left_out), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.exp(log_odds(0.05, np.array([-1.0]), left_out)), 5**1.5)


def rule(n_kinds=2, n=8):
    normal = RNG.normal(size=(80, 2))
    kinds = [RNG.normal(size=(n, 2)) * 0.4 + 4 * np.array([k, 1 - k]) for k in range(n_kinds)]
    minority = np.repeat([False, True], [80, n * n_kinds])
    scores = np.where(minority, -1.0, 1.0) + RNG.normal(size=len(minority)) * 0.3
    return Kinds.of(normal, kinds, scores, minority, np.random.default_rng(1)), kinds


@pytest.mark.parametrize("n_kinds", [0, 1, 2, 25])
def test_probabilities_sum_to_one(n_kinds):
    found, _ = rule(n_kinds, 3)
    Z = RNG.normal(size=(9, 2)) * 3
    P = found.probabilities(Z, RNG.normal(size=9))
    assert P.shape == (9, n_kinds + 2)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_probabilities_are_those_of_the_formula():
    found, _ = rule()
    Z, s, q = np.array([[0.5, 1.0], [3.0, 0.5], [-9.0, 0.0]]), np.array([0.2, -0.9, -0.5]), 0.03
    p = [(1 + (found.left_out <= found.normal.log_proximity(z[None])[0]).sum()) / 81 for z in Z]
    for z, score, pz, row in zip(Z, s, p, found.probabilities(Z, s, q), strict=True):
        odds = np.exp(found.sigmoid.slope * score + found.sigmoid.intercept)
        near = [kind.center.log_proximity(z[None])[0] for kind in found.kinds]
        p_k = [
            (1 + (kind.reference <= each).sum()) / (len(kind.reference) + 1)
            for kind, each in zip(found.kinds, near, strict=True)
        ]
        of_unknown = q**1.5 / (q**1.5 + max(p_k) ** 1.5)
        T = found.temperature
        share = np.exp(T * np.array(near)) / np.exp(T * np.array(near)).sum()
        unnormalised = [
            1.0,
            *(odds * (1 - of_unknown) * share),
            (q / pz) ** 1.5 + odds * of_unknown,
        ]
        np.testing.assert_allclose(row, np.array(unnormalised) / np.sum(unnormalised), rtol=1e-9)


def test_each_answer_is_the_likeliest_somewhere():
    found, kinds = rule()
    Z = np.array([[0.0, 0.0], kinds[0].mean(axis=0), kinds[1].mean(axis=0), [-20.0, -20.0]])
    P = found.probabilities(Z, np.array([1.0, -1.0, -1.0, -1.0]), 0.03)
    assert P.argmax(axis=1).tolist() == [0, 1, 2, 3]


def test_a_score_beyond_those_of_left_out_rows_says_no_more_than_theirs():
    found, _ = rule()
    low, high = found.span
    Z = np.zeros((4, 2))
    P = found.probabilities(Z, np.array([low, low - 1e6, high, high + 1e6]))
    np.testing.assert_allclose(P[0], P[1])
    np.testing.assert_allclose(P[2], P[3])


@given(st.floats(0.001, 0.5), st.floats(0.001, 0.5))
def test_a_larger_background_makes_unknown_likelier(a, b):
    found, _ = FIXED
    Z, s = np.array([[2.0, 2.0]]), np.array([0.0])
    small, large = (found.probabilities(Z, s, q)[0, -1] for q in sorted((a, b)))
    assert small <= large + 1e-12


def test_the_reference_of_a_kind_is_of_as_many_normal_rows():
    """New rows of a kind like the normal class have p-values at most .2 as often as .2."""
    rng, below = np.random.default_rng(2), []
    for _ in range(200):
        normal, rows, new = (rng.normal(size=(n, 3)) for n in (60, 5, 20))
        kind = Kind.of(kernels.RBF(0.8), rows, normal, rng)
        rank = np.searchsorted(kind.reference, kind.center.log_proximity(new), side="right")
        below.append(((1 + rank) / (len(kind.reference) + 1) <= 0.2).mean())
    assert np.mean(below) == pytest.approx(0.2, abs=0.04)


def test_temperature_has_the_best_log_score_of_left_out_rows():
    centers = [Center.of(KERNEL, RNG.normal(size=(12, 2)) + shift) for shift in (0.0, 1.0)] + [
        Center.of(KERNEL, np.array([[5.0, 5.0]]))
    ]
    T = temperature(centers)
    assert 0 < T <= 1

    def score(t):
        total = 0.0
        for k in (0, 1):
            values = np.column_stack([c.log_proximity(centers[k].points) for c in centers])
            values[:, k] = centers[k].left_out()
            total += log_shares(values, [12, 12, 1], t)[:, k].sum()
        return total

    best = max(np.linspace(0.01, 1.0, 400), key=score)
    assert pytest.approx(best, abs=0.01) == T


def test_one_kind_needs_no_temperature():
    assert temperature([Center.of(KERNEL, ROWS)]) == 1.0
    assert temperature([Center.of(KERNEL, ROWS[:1]), Center.of(KERNEL, ROWS[1:2])]) == 1.0


FIXED = rule()
