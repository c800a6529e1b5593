"""Distances from draws of the centre, and leave-one-out in closed form."""

import numpy as np
import pytest
from bsvdd.inference import distance
from bsvdd.inference.decision import decisive_distance
from bsvdd.inference.distance import Center, leave_one_out

from bsvdd import Cutoff, kernels

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


def from_scratch(w, K, j, renormalise):
    """Distance of row j from the centre of the other rows."""
    rest = np.arange(len(w)) != j
    v = w[rest] / w[rest].sum() if renormalise else w[rest]
    return np.sqrt(K[j, j] - 2 * v @ K[rest, j] + v @ K[np.ix_(rest, rest)] @ v)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(
    "weights", [simplex_weights(), signed_weights()], ids=["simplex", "signed"]
)
@pytest.mark.parametrize("sum_to_one", [True, False])
def test_left_out_distance_is_that_without_the_row(kernel, weights, sum_to_one):
    assert weights.max() < 1
    K = kernel(ROWS)
    d = Center.of(weights, K, ROWS, kernel).distance(ROWS)
    found = leave_one_out(d, weights, K, sum_to_one)
    expected = [[from_scratch(w, K, j, sum_to_one) for j in range(12)] for w in weights]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not np.allclose(found, d, rtol=1e-3)


def test_weights_of_any_sum_left_as_they_are():
    kernel = KERNELS[0]
    K, weights = kernel(ROWS), np.random.default_rng(53).normal(size=(20, 12))
    d = Center.of(weights, K, ROWS, kernel).distance(ROWS)
    expected = [[from_scratch(w, K, j, False) for j in range(12)] for w in weights]
    np.testing.assert_allclose(leave_one_out(d, weights, K, False), expected, rtol=1e-12)


def test_a_row_with_all_the_weight_is_infinitely_far():
    weights = np.eye(12)[:1]
    K = KERNELS[0](ROWS)
    d = Center.of(weights, K, ROWS, KERNELS[0]).distance(ROWS)
    found = leave_one_out(d, weights, K, True)
    assert found[0, 0] == np.inf
    np.testing.assert_array_equal(found[0, 1:], d[0, 1:])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("values", [1, 50, 4_000_000])
def test_blocks_are_the_whole(monkeypatch, kernel, values):
    monkeypatch.setattr(distance, "BLOCK_VALUES", values)
    weights = signed_weights(5)
    center = Center.of(weights, kernel(ROWS), ROWS, kernel)
    Z = np.random.default_rng(54).normal(size=(23, 3))
    norm = [w @ kernel(ROWS) @ w for w in weights]
    expected = [
        [kernel([z], [z])[0, 0] - 2 * w @ kernel(ROWS, [z])[:, 0] + n for z in Z]
        for w, n in zip(weights, norm, strict=True)
    ]
    np.testing.assert_allclose(center.distance(Z), np.sqrt(expected), rtol=1e-12)
    places = [place for place, _ in center.blocks(Z)]
    assert (len(places) == 1) == (values == 4_000_000)
    np.testing.assert_array_equal(np.concatenate([np.arange(23)[p] for p in places]), np.arange(23))


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("name", ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"])
def test_estimators_leave_out_each_row_of_mixed_classes(make, table, name):
    """Rows of the two classes in any order: each is paired with its own weight."""
    X, y = table
    order = np.random.default_rng(55).permutation(len(X))
    X, y = X[order], y[order]
    kernel = kernels.RBF(1.5)
    est = make(name, kernel=kernel, cutoff=Cutoff("g_mean")).fit(X, y)
    w = est.idata_["posterior"]["w"].values
    w = w.reshape(-1, w.shape[-1])
    dictionary = [*np.flatnonzero(y == 0)] + ([*np.flatnonzero(y == 1)] if name == "BSVDDM" else [])
    K = kernel(X[dictionary])
    left_out = est.distance(X).values.reshape(len(w), -1).copy()
    for place, row in enumerate(dictionary):
        left_out[:, row] = [from_scratch(v, K, place, name != "BDD") for v in w]
    expected = Cutoff("g_mean").choose(decisive_distance(left_out), y == 1)
    assert est.cutoff_ == pytest.approx(expected, rel=1e-10)
