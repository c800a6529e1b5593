"""The calibrated weight of the likelihood and the bootstrap of the centre."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from bsvdd.models import Gram, bdd, bootstrap, bsvdd
from bsvdd.models.bootstrap import Calibrated
from scipy.optimize import minimize
from scipy.special import softmax

from bsvdd import kernels, priors

N, SCALE = 15, 30.0
EQUAL = np.full(N, 1.0 / N)


@pytest.fixture(scope="module")
def gram():
    rows = np.random.default_rng(0).normal(size=(N, 2))
    return Gram.from_rows(kernels.RBF(0.8), rows)


PRIORS = [priors.InverseRowSum(sd=0.5), priors.StandardizedRowSum(sd=0.7), priors.GaussianProcess()]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_mode_of_bsvdd_is_where_an_independent_search_of_the_pymc_model_ends(gram, prior):
    density = bsvdd.build(gram, prior, SCALE).compile_logp(mode="FAST_COMPILE")
    found = minimize(lambda b: -density({"beta": b}), np.zeros(N), options={"gtol": 1e-7})
    assert bsvdd.mode(gram, prior, SCALE) == pytest.approx(softmax(found.x), abs=1e-4)


def bsvdd_mode(gram, sd):
    return partial(bsvdd.mode, gram, priors.InverseRowSum(sd=sd))


def bdd_mode(gram, sd):
    return lambda scale: bdd.NormalPosterior(gram, priors.Flat(sd=sd), scale).mean


def test_norm_of_pairs_has_no_bias_and_depends_on_the_centre_and_the_shares_only(gram):
    K, size = gram.K[:8, :8], 4
    equal = np.full(size, 1.0 / size)
    of_samples = [
        bootstrap.norm_of_pairs(equal, equal, K[np.ix_(s, s)]) for s in combinations(range(8), size)
    ]
    assert np.mean(of_samples) == pytest.approx(K[~np.eye(8, dtype=bool)].mean(), rel=1e-12)
    assert equal @ K[:size, :size] @ equal > of_samples[0]  # which a row's own value adds to
    # of unequal weights, and of several centres at once
    w, K = np.array([0.5, 0.3, 0.2]), gram.K[:3, :3]
    pairs = 2 * (0.15 * K[0, 1] + 0.10 * K[0, 2] + 0.06 * K[1, 2]) / (1 - 0.38)
    norms = bootstrap.norm_of_pairs(np.array([[w, 2 * w]]), np.array([[w, w]]), K)
    np.testing.assert_allclose(norms, [[pairs, 4 * pairs]], rtol=1e-12)
    rows = np.random.default_rng(3).normal(size=(6, 2))
    K, shares = rows @ rows.T, np.full(6, 1.0 / 6.0)
    # a move that moves neither the centre nor the sum
    null = np.linalg.svd(np.column_stack([rows, np.ones(6)]).T)[2][-1]
    w = shares + np.linspace(0.0, 0.1, 6)
    first, second = (bootstrap.norm_of_pairs(v, shares, K) for v in (w, w + 50.0 * null))
    assert second == pytest.approx(first, rel=1e-9)


def ratio_row_by_row(gram):
    ratios, K = [], gram.K
    for z in range(N):
        o = np.delete(np.arange(N), z)
        projection = K[z, o] @ np.linalg.solve(K[np.ix_(o, o)], K[z, o])
        d2 = projection - 2 * K[z, o].mean() + K[np.ix_(o, o)].mean()  # of Pi phi_z
        # phi_z - a against each row x, with the mean over the rows other than x as a
        A = [K[z, x] - np.delete(K[x], x).mean() for x in o]
        ratios.append(d2 / np.var(A))
    return np.median(ratios)


@pytest.mark.parametrize("width", [0.3, 0.8, 2.0])
def test_ratio_of_variances_against_projections_row_by_row(gram, width):
    gram = Gram.from_rows(kernels.RBF(width), gram.points)
    assert bootstrap.variance_ratio(gram) == pytest.approx(ratio_row_by_row(gram), rel=1e-4)


def test_the_ratio_has_a_limit_and_the_unit_of_one_over_the_kernel(gram):
    """Also where rows are alike, so that the jitter of the projection counts."""
    alone, wide = (Gram.from_rows(kernels.RBF(width), gram.points) for width in (0.01, 20.0))
    assert bootstrap.variance_ratio(alone) == bootstrap.MOST_RATIO
    hundredfold = kernels.Custom(lambda X, Y: 100.0 * wide.kernel(X, Y))
    large = Gram.from_rows(hundredfold, gram.points)
    assert bootstrap.variance_ratio(large) == pytest.approx(
        bootstrap.variance_ratio(wide) / 100.0, rel=1e-8
    )


@pytest.mark.parametrize("mode", [bsvdd_mode, bdd_mode])
def test_lambda_grows_until_the_prior_pulls_little(gram, mode):
    simplex = mode is bsvdd_mode
    wide, narrow = (Calibrated.of(gram, mode(gram, sd), simplex) for sd in (100.0, 0.05))
    assert wide.scale == wide.ratio == narrow.ratio
    assert narrow.scale > wide.scale
    for each in (wide, narrow):
        assert each.pull <= bootstrap.PULL
        assert each.mode == pytest.approx(mode(gram, 100.0 if each is wide else 0.05)(each.scale))
    # the move of d_z^2 of each left-out row, against that of equal weights
    error = 2 * np.sqrt(bootstrap.sampling_variance(gram) / N)

    def pull(w):
        moves = []
        for j in range(N):
            o = np.delete(np.arange(N), j)
            f, equal = gram.K[j, o] @ w[o], gram.K[j, o].mean()
            f /= 1.0 - (w[j] if simplex else 1.0 / N)
            norms = [
                bootstrap.norm_of_pairs(v, v if simplex else EQUAL, gram.K) for v in (w, EQUAL)
            ]
            moves.append(abs(norms[0] - norms[1] - 2 * (f - equal)))
        return np.median(moves / error)

    for each in (wide, narrow):
        assert each.pull == pytest.approx(pull(each.mode), rel=1e-6)
    # a step less was not enough
    assert pull(mode(gram, 0.05)(narrow.scale / bootstrap.STEP)) > bootstrap.PULL


def test_lambda_grows_by_so_many_steps_at_most(gram, monkeypatch):
    monkeypatch.setattr(bootstrap, "PULL", 0.0)
    monkeypatch.setattr(bootstrap, "MOST_STEPS", 3)
    found = Calibrated.of(gram, bdd_mode(gram, 0.05), False)
    assert found.scale == pytest.approx(found.ratio * bootstrap.STEP**3)


def test_draws_of_weights_are_those_of_rows_counted_by_chance(gram):
    rng = np.random.default_rng(4)
    for mode, simplex in ((bsvdd_mode(gram, 0.5), True), (bdd_mode(gram, 1.0), False)):
        calibrated = Calibrated.of(gram, mode, simplex)
        draws = calibrated.draw(20_000, rng)
        w = draws["w"]
        assert w.shape == (20_000, N)
        assert w.mean(axis=0) == pytest.approx(calibrated.mode, abs=0.01)
        # of n shares of Dirichlet(1, .., 1) each has the variation sqrt((n - 1) / (n + 1))
        assert (w / calibrated.mode).std() == pytest.approx(np.sqrt(14 / 16), abs=0.15)
        if simplex:
            assert w.min() >= 0.0
            assert w.sum(axis=1) == pytest.approx(1.0)


def test_what_cannot_be_calibrated_is_named(gram):
    assert bootstrap.reason_against(gram, priors.GaussianProcess()) is None
    assert "must be normal" in bootstrap.reason_against(gram, lambda gram, name, dims: None)
    landmarks = replace(gram, n0=N + 1)
    assert "dictionary must be None" in bootstrap.reason_against(landmarks, priors.Flat())
    # as many other points as rows
    others = replace(gram, K=gram.kernel(gram.points + 1.0, gram.points + 1.0) ** 2)
    assert "dictionary must be None" in bootstrap.reason_against(others, priors.Flat())
    same = Gram.from_rows(kernels.RBF(1.0), np.zeros((5, 2)))
    assert "do not vary" in bootstrap.reason_against(same, priors.Flat())
