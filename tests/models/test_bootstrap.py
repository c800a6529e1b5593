"""The calibrated weight of the likelihood and the weighted likelihood bootstrap."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pytest
from bsvdd.models import Gram, bootstrap
from bsvdd.models.bootstrap import Calibrated, FreeWeights, SoftmaxWeights
from scipy.optimize import approx_fprime, minimize
from scipy.special import softmax

from bsvdd import kernels, priors

N, SCALE = 15, 30.0


@pytest.fixture(scope="module")
def gram():
    rows = np.random.default_rng(0).normal(size=(N, 2))
    return Gram.from_rows(kernels.RBF(0.8), rows)


PRIORS = [priors.InverseRowSum(sd=0.5), priors.StandardizedRowSum(sd=0.7), priors.Flat(sd=1.5)]


def softmax_loss(gram, prior, beta, shares):
    """Return the loss of the docstring, term by term."""
    n, w = gram.n0, softmax(beta)
    fit = sum(
        n * shares[i] * (1.0 - 2.0 * gram.K[i] @ w + w @ gram.K @ w) for i in range(n)
    )  # k(x, x) = 1
    m = prior.mean(replace(gram, r=n * gram.K @ shares))
    deviation = beta - np.log(n * shares) - m
    return SCALE / 2 * fit + (n * shares * deviation**2).sum() / (2 * prior.sd**2)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_gradient_and_hessian_are_those_of_the_loss(gram, prior):
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(N, 5.0))
    weights = SoftmaxWeights(gram, prior, SCALE, rng.normal(size=N))
    numeric = approx_fprime(
        weights.beta, lambda b: softmax_loss(gram, prior, b, shares), epsilon=1e-7
    )
    assert weights.gradient(weights.beta, shares) == pytest.approx(numeric, abs=1e-4)
    equal, step = np.full(N, 1.0 / N), 1e-5
    ends = [weights.gradient(weights.beta + s * step * np.eye(N), equal) for s in (1, -1)]
    numeric = (ends[0] - ends[1]) / (2 * step)
    assert weights.hessian_times(np.eye(N)) == pytest.approx(numeric, abs=1e-7)


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_mode_of_softmax_weights_is_where_an_independent_search_ends(gram, prior):
    equal = np.full(N, 1.0 / N)
    weights = SoftmaxWeights.of(gram, prior, SCALE)
    found = minimize(
        lambda b: softmax_loss(gram, prior, b, equal), np.zeros(N), options={"gtol": 1e-8}
    )
    assert weights.mode == pytest.approx(softmax(found.x), abs=1e-5)


def free_mode(gram, prior, shares):
    """Return the minimum of the loss of free weights, each row counted n pi_i times."""
    n = gram.n0
    prior_precision = np.diag(prior.sd**-2 / (n * shares))  # of a copy's share of its weight
    m = prior.mean(replace(gram, r=n * gram.K @ shares))
    return np.linalg.solve(
        SCALE * n * gram.K + prior_precision, SCALE * n * gram.K @ shares + m * prior.sd**-2
    )


def softmax_mode(gram, prior, shares):
    start = SoftmaxWeights.of(gram, prior, SCALE).beta + np.log(N * shares)
    return softmax(
        minimize(lambda b: softmax_loss(gram, prior, b, shares), start, options={"gtol": 1e-9}).x
    )


@pytest.mark.filterwarnings("ignore:Desired error not necessarily achieved")
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
@pytest.mark.parametrize(
    ("weights", "exact"), [(FreeWeights, free_mode), (SoftmaxWeights, softmax_mode)]
)
def test_a_draw_is_the_mode_of_the_reweighted_rows_to_first_order(gram, prior, weights, exact):
    of_all = weights.of(gram, prior, SCALE)
    direction = N * np.random.default_rng(2).dirichlet(np.ones(N)) - 1.0
    errors, moves = [], []
    for size in (0.1, 0.05):
        shares = (1.0 + size * direction) / N
        mode = exact(gram, prior, shares)
        errors.append(np.abs(of_all.draw(shares[None])["w"][0] - mode).max())
        moves.append(np.abs(mode - of_all.mode).max())
    assert errors[0] < 0.1 * moves[0]
    # without a change of the norm by K the step of free weights is exact but for the prior
    assert errors[1] < 0.35 * errors[0]  # a quarter, if the error is of second order


def test_norm_of_pairs_has_no_bias_over_samples(gram):
    K, size = gram.K[:8, :8], 4
    equal = np.full(size, 1.0 / size)
    of_samples = [
        bootstrap.norm_of_pairs(equal, K[np.ix_(s, s)]) for s in combinations(range(8), size)
    ]
    pairs = K[~np.eye(8, dtype=bool)].mean()
    assert np.mean(of_samples) == pytest.approx(pairs, rel=1e-12)
    assert equal @ K[:size, :size] @ equal > of_samples[0]  # which a row's own value adds to


def test_norm_of_pairs_of_unequal_weights(gram):
    w = np.array([0.5, 0.3, 0.2])
    K = gram.K[:3, :3]
    pairs = 2 * (0.15 * K[0, 1] + 0.10 * K[0, 2] + 0.06 * K[1, 2])
    assert bootstrap.norm_of_pairs(w, K) == pytest.approx(pairs / (1 - 0.38), rel=1e-12)
    # of twice the centre, four times the squared norm
    assert bootstrap.norm_of_pairs(2 * w, K) == pytest.approx(4 * pairs / (1 - 0.38), rel=1e-12)


def test_ratio_of_variances_against_projections_row_by_row(gram):
    ratios = []
    K = gram.K
    pairs = K[~np.eye(N, dtype=bool)].mean()
    for z in range(N):
        o = np.delete(np.arange(N), z)
        projection = K[z, o] @ np.linalg.solve(K[np.ix_(o, o)], K[z, o])
        f = K[z, o].mean()
        # phi_z - a against each row x, with the mean over the rows other than x as a
        A = [K[z, x] - np.delete(K[x], x).mean() for x in o]
        ratios.append((projection - 2 * f + pairs) / np.var(A))
    assert bootstrap.variance_ratio(gram) == pytest.approx(np.median(ratios), rel=1e-5)


def test_lambda_grows_until_the_prior_pulls_little(gram):
    wide, narrow = (
        Calibrated.of(gram, partial(SoftmaxWeights.of, gram, priors.InverseRowSum(sd=sd)))
        for sd in (100.0, 0.1)
    )
    assert wide.scale == wide.ratio == narrow.ratio
    assert narrow.scale > wide.scale
    for each in (wide, narrow):
        assert each.pull <= bootstrap.PULL
    # a step less was not enough
    before = SoftmaxWeights.of(
        gram, priors.InverseRowSum(sd=0.1), narrow.scale / bootstrap.STEP
    ).mode
    d2, moved = (bootstrap._left_out(gram, w) for w in (np.full(N, 1.0 / N), before))
    error = 2 * np.sqrt(bootstrap.sampling_variance(gram) / N)
    assert np.median(np.abs(moved - d2) / error) > bootstrap.PULL


def test_what_cannot_be_calibrated_is_named(gram):
    assert bootstrap.reason_against(gram, priors.Flat()) is None
    assert "independent normal" in bootstrap.reason_against(gram, priors.GaussianProcess())
    for weights in (FreeWeights, SoftmaxWeights):
        with pytest.raises(TypeError, match="independent normal"):
            weights.of(gram, priors.Normal(), SCALE)
    landmarks = replace(gram, n0=N + 1)
    assert "dictionary must be None" in bootstrap.reason_against(landmarks, priors.Flat())
    same = Gram.from_rows(kernels.RBF(1.0), np.zeros((5, 2)))
    assert "do not vary" in bootstrap.reason_against(same, priors.Flat())
