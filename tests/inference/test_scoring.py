"""Scores of far and of left-out rows have all their digits, and decide as P(normal) does."""

import numpy as np
import pytest
from scipy.special import logsumexp

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, cutoffs, kernels, priors
from tests.scores import score_of, scores_left_out, thresholds, weights_of

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
]

ROWS = np.random.default_rng(50).normal(size=(12, 3))
QUICK = {"draws": 10, "tune": 20, "chains": 2}


def score(est, w, log_k):
    """Return the score by the decisive draw; w is (draws, M), log_k is (1, rows, M)."""
    return score_of(est, logsumexp(log_k, axis=2, b=w[:, None]), log_k[0].max(axis=1))


@pytest.mark.parametrize("kernel", [kernels.RBF(1.1), kernels.Laplacian(0.9)], ids=repr)
@pytest.mark.parametrize("model", [SVDD(), BSVDD(**QUICK)], ids=["one draw", "draws"])
def test_scores_have_all_digits_and_do_not_underflow(kernel, model):
    est = model.set_params(kernel=kernel, cutoff=1.0).fit(ROWS)
    far = np.array([3.0, 8.0, 30.0, 60.0, 500.0, 1e5])[:, None] * [1.0, 0.0, 0.0]
    Z = np.concatenate([far, np.random.default_rng(56).normal(size=(200, 3))])
    found = est.score_samples(Z)
    assert (np.diff(found[:6]) < 0).all()
    log_k = kernel.log(Z, ROWS)
    expected = score(est, weights_of(est), log_k[None])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)
    assert kernel(Z[5:6], ROWS).max() == 0.0  # where k underflows
    d = est.distance(far).values
    assert (d[..., 5] == d[..., 4]).all() and (d[..., 4] == d[..., 3]).all()  # and distances tie


@pytest.mark.parametrize(
    ("model", "sd", "spread"),
    [
        *((BDD(simplex=True), 1.0, spread) for spread in (1.0, 10.0, 1000.0)),
        *((BSVDD(**QUICK), sd, spread) for sd in (0.5, 3.0) for spread in (1.0, 10.0, 1000.0)),
        (BSVDD(**QUICK, sampler="hmc"), 30.0, 10.0),
    ],
    ids=str,
)
def test_left_out_rows_have_all_digits(model, sd, spread):
    """Also where k underflows, and where one point has nearly all the weight of a draw.

    Without a point the other weights grow until they sum to one: 1 - w_j has lost its digits
    there, the other weights have not.
    """
    points = spread * np.cumsum(np.linspace(0.1, 1.2, 12))[:, None]
    kernel = kernels.RBF(0.7)
    how = {"kernel": kernel, "prior": priors.Flat(sd), "likelihood_scale": 1e-3}
    est = model.set_params(**how).fit(points)
    w, log_k = weights_of(est), kernel.log(points, points)
    expected = np.empty(12)
    for j in range(12):
        v = np.delete(w, j, axis=1)
        v /= v.sum(axis=1, keepdims=True)
        expected[j] = score(est, v, np.delete(log_k[j], j)[None, None])[0]
    np.testing.assert_allclose(scores_left_out(est), expected, rtol=1e-9, atol=1e-9)
    if spread == 1000.0:
        assert (kernel(points) == np.eye(12)).all() and thresholds(est).max() < -1000
    if sd == 30.0:
        assert (w.max(axis=1) > 1 - 1e-6).any()
    # the cutoff lies among such rows: all say the same
    new = np.concatenate([points + 0.4 * spread, [[1e6]]])
    normal = est.predict(new) == 1
    np.testing.assert_array_equal(est.probability_normal(new) > est.fit_.level, normal)
    np.testing.assert_array_equal(est.score_samples(new) >= 0, normal)
    rate = est.with_cutoff(cutoffs.FalseAlarm(0.3))
    p, flagged = bsvdd.p_value(rate, new), rate.predict(new) == -1
    assert flagged[-1] and p[flagged].max() <= p[~flagged].min()  # by one order
