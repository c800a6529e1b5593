"""Distances from draws of the centre, and leave-one-out in closed form."""

from functools import partial

import numpy as np
import pytest
from bsvdd.estimators import leave_out
from bsvdd.inference import scoring as distance
from bsvdd.inference.decision import distance_quantile
from bsvdd.inference.leave_one_out import leave_one_out
from bsvdd.inference.scoring import CenterDraws
from bsvdd.models import Gram, bdd

from bsvdd import Cutoff, kernels, priors

RNG = np.random.default_rng(50)
ROWS = RNG.normal(size=(12, 3))
KERNELS = [kernels.RBF(1.1), kernels.Polynomial(2)]


def simplex_weights(draws=20):
    return np.random.default_rng(51).dirichlet(np.ones(12), size=draws)


def signed_weights(draws=20):
    """Weights that sum to one: nine at least 0, three negative, as of BSVDD-M."""
    rng = np.random.default_rng(52)
    negative = rng.uniform(0, 0.5, size=(draws, 3))
    positive = rng.dirichlet(np.full(9, 4.0), size=draws) * (1 + negative.sum(1, keepdims=True))
    return np.hstack([positive, -negative])


def without(w, j, n1=0):
    """Weights without point j: those left of the majority grow or shrink until all sum to one."""
    v = w.copy()
    v[j] = 0.0
    m = len(w) - n1
    v[:m] *= (1.0 - v[m:].sum()) / v[:m].sum()
    assert v.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(np.delete(v, j)[m - (j < m) :], np.delete(w, j)[m - (j < m) :])
    return v


def from_scratch(w, K, j, n1=0):
    """Distance of point j from the centre without it."""
    v = without(w, j, n1)
    return np.sqrt(K[j, j] - 2 * v @ K[j] + v @ K @ v)


@pytest.mark.parametrize("kernel", [*KERNELS, kernels.Linear()], ids=repr)
@pytest.mark.parametrize(
    ("weights", "n1"), [(simplex_weights(), 0), (signed_weights(), 3)], ids=["simplex", "signed"]
)
def test_left_out_distance_is_that_without_the_point(kernel, weights, n1):
    assert weights[:, : 12 - n1].max() < 0.9 * (1 - weights[:, 12 - n1 :].sum(axis=1)).min()
    gram = Gram.from_rows(kernel, ROWS[: 12 - n1], ROWS[12 - n1 :])
    found = leave_one_out(weights, gram.K, n1)
    expected = [[from_scratch(w, gram.K, j, n1) for j in range(12)] for w in weights]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    d = CenterDraws.of(weights, gram).values(ROWS)
    assert not np.allclose(found, d, rtol=1e-3)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_on_the_simplex_the_distance_grows_by_the_weight_left(kernel):
    weights = simplex_weights(200)
    gram = Gram.from_rows(kernel, ROWS)
    d = CenterDraws.of(weights, gram).values(ROWS)
    rest = np.stack([np.delete(weights, j, axis=1).sum(axis=1) for j in range(12)], axis=1)
    clear = rest > 0.05  # what d loses of its digits near the point does not count here
    assert clear.mean() > 0.99
    found = leave_one_out(weights, gram.K)
    np.testing.assert_allclose(found[clear], (d / rest)[clear], rtol=1e-12)


def test_the_minority_weights_stay_when_a_majority_point_goes():
    """By hand: points 0, 1, 3 of the line, then the minority point -2 with weight -1/2."""
    points = np.array([[0.0], [1.0], [3.0], [-2.0]])
    w = np.array([[0.5, 0.75, 0.25, -0.5]])
    # without 0: 1.5 (0.75, 0.25) / 1, centre 1.125 + 1.125 + 1 = 3.25
    # without 1: 1.5 (0.5, 0.25) / 0.75, centre 1.5 + 1 = 2.5; without 3: 1.5 * 0.6 + 1 = 1.9
    # without -2: (0.5, 0.75, 0.25) / 1.5, centre 1
    found = leave_one_out(w, kernels.Linear()(points), 1)
    np.testing.assert_allclose(found, [[3.25, 1.5, 1.1, 3.0]], rtol=1e-14)


@pytest.mark.parametrize("n1", [0, 3])
@pytest.mark.parametrize("left", [1e-12, 1e-9, 1e-6, 5e-5])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_collapsed_draw_keeps_its_digits(kernel, left, n1):
    """One majority weight of 1 - 1e-12: 1 - w has lost its digits, the other weights have not."""
    weights = simplex_weights(6) if n1 == 0 else signed_weights(6)
    m = 12 - n1
    total = 1.0 - weights[:, m:].sum(axis=1)
    for draw, j in enumerate([0, 1, 2, m - 1, 4, 5]):
        others = np.delete(np.arange(m), j)
        weights[draw, others] *= left * total[draw] / weights[draw, others].sum()
        weights[draw, j] = total[draw] * (1.0 - left)
    gram = Gram.from_rows(kernel, ROWS[:m], ROWS[m:])
    found = leave_one_out(weights, gram.K, n1)
    expected = [[from_scratch(w, gram.K, j, n1) for j in range(12)] for w in weights]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("left", [1e-1, 1e-2, 1e-3, 1.01e-4])
@pytest.mark.parametrize("n1", [0, 3])
def test_digits_of_a_nearly_collapsed_draw(left, n1):
    """(1/left)^2 times the rounding of the sum is what is lost, and not more."""
    weights = simplex_weights(6) if n1 == 0 else signed_weights(6)
    m = 12 - n1
    total = 1.0 - weights[:, m:].sum(axis=1)
    weights[:, 1:m] *= (left * total / weights[:, 1:m].sum(axis=1))[:, None]
    weights[:, 0] = total * (1.0 - left)
    gram = Gram.from_rows(KERNELS[0], ROWS[:m], ROWS[m:])
    found = leave_one_out(weights, gram.K, n1)
    expected = [[from_scratch(w, gram.K, j, n1) for j in range(12)] for w in weights]
    np.testing.assert_allclose(found, expected, rtol=100 * np.finfo(float).eps / left**2)


@pytest.mark.parametrize("n1", [0, 3])
def test_a_point_with_all_the_weight_is_infinitely_far(n1):
    weights = np.zeros((1, 12))
    weights[0, 12 - n1 :] = -0.25
    weights[0, 0] = 1.0 + 0.25 * n1
    K = KERNELS[0](ROWS)
    found = leave_one_out(weights, K, n1)
    assert found[0, 0] == np.inf
    expected = [from_scratch(weights[0], K, j, n1) for j in range(1, 12)]
    np.testing.assert_allclose(found[0, 1:], expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("values", [1, 50, 4_000_000])
def test_blocks_are_the_whole(monkeypatch, kernel, values):
    monkeypatch.setattr(distance, "BLOCK_VALUES", values)
    weights = signed_weights(5)
    center = CenterDraws.of(weights, Gram.from_rows(kernel, ROWS))
    Z = np.random.default_rng(54).normal(size=(23, 3))
    norm = [w @ kernel(ROWS) @ w for w in weights]
    expected = [
        [kernel([z], [z])[0, 0] - 2 * w @ kernel(ROWS, [z])[:, 0] + n for z in Z]
        for w, n in zip(weights, norm, strict=True)
    ]
    np.testing.assert_allclose(center.values(Z), np.sqrt(expected), rtol=1e-12)
    cutoff = float(np.median(np.sqrt(expected)))
    np.testing.assert_array_equal(
        center.probability_normal(Z, cutoff), (center.values(Z) <= cutoff).mean(axis=0)
    )
    np.testing.assert_array_equal(
        center.distance_quantile(Z, 0.3), distance_quantile(center.values(Z), 0.3)
    )
    places = list(center._blocks(23))
    assert (len(places) == 1) == (values == 4_000_000)
    np.testing.assert_array_equal(np.concatenate([np.arange(23)[p] for p in places]), np.arange(23))


def shuffled(table):
    """Rows of the two classes in any order."""
    X, y = table
    order = np.random.default_rng(55).permutation(len(X))
    return X[order], y[order]


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("name", ["SVDD", "BDD simplex", "BSVDD", "BSVDDM"])
def test_estimators_leave_out_each_row_of_mixed_classes(make, table, name):
    """Each row is paired with its own weight."""
    X, y = shuffled(table)
    kernel = kernels.RBF(1.5)
    est = make(name, kernel=kernel, cutoff=Cutoff("g_mean")).fit(X, y)
    w = est.idata_["posterior"]["w"].values
    w = w.reshape(-1, w.shape[-1])
    dictionary = [*np.flatnonzero(y == 0)] + ([*np.flatnonzero(y == 1)] if name == "BSVDDM" else [])
    K, n1 = kernel(X[dictionary]), 6 if name == "BSVDDM" else 0
    left_out = est.distance(X).values.reshape(len(w), -1).copy()
    for place, row in enumerate(dictionary):
        left_out[:, row] = [from_scratch(v, K, place, n1) for v in w]
    expected = Cutoff("g_mean").choose(distance_quantile(left_out), y == 1)
    assert est.cutoff_ == pytest.approx(expected, rel=1e-10)


def left_out(est, policy):
    data = est._fit.data
    return leave_out.distance_quantiles(
        est._fit, policy, est._leave_one_out(data), partial(est._refit, data)
    )


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_bdd_leaves_out_each_majority_row_of_mixed_classes(make, table):
    """Medians of left-out distances against the posterior of the other majority rows."""
    X, y = shuffled(table)
    kernel, prior, draws = kernels.RBF(1.5), priors.Flat(0.7), 8000
    policy = Cutoff("g_mean")
    est = make("BDD", kernel=kernel, prior=prior, likelihood_scale=2.0, draws=draws, cutoff=policy)
    est.fit(X, y)
    found = left_out(est, policy)
    assert est.cutoff_ == policy.choose(found, y == 1)
    inside = est.idata_["distance"]["d"].values.reshape(-1, 30)
    np.testing.assert_array_equal(found[y == 1], distance_quantile(inside)[y == 1])
    for row in np.flatnonzero(y == 0):
        rest = np.setdiff1d(np.flatnonzero(y == 0), [row])
        gram = Gram.from_rows(kernel, X[rest])
        w = bdd.draw(*bdd.posterior(gram, prior, 2.0), draws, np.random.default_rng(row))
        d = CenterDraws.of(w, gram).values(X[[row]])[:, 0]
        # standard error of the median of 2 draws a draw and of draws: 1.25 sd (1/2 + 1)^.5
        assert abs(found[row] - np.median(d)) < 4.5 * 1.25 * d.std() * np.sqrt(1.5 / draws)
