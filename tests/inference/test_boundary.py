"""P(normal) counts weights, cutoff and unseen rows, by the formula of the module's text."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.comparison import datasets
from bsvdd.inference import decision
from scipy.stats import beta, gamma, kstest
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, Cutoff, cutoffs, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(61)
ROWS, NEW = RNG.normal(size=(99, 2)), 1.5 * RNG.normal(size=(200, 2))
KERNEL = kernels.RBF(0.8)
MODELS = {
    "BSVDD": BSVDD(kernel=KERNEL, prior=priors.Flat(1.0), likelihood_scale=20.0),
    "SVDD": SVDD(kernel=KERNEL),
    "BDD": BDD(kernel=KERNEL, likelihood_scale=20.0),
    "linear": BDD(kernel=kernels.Linear(), likelihood_scale=20.0),
}


@pytest.fixture(scope="module", params=MODELS)
def est(request):
    return MODELS[request.param].fit(ROWS)


def similarity(est, rows):
    """Return s_z of all draws, (draws, rows), from the weights in idata_."""
    w = est.idata_["posterior"]["w"].values
    s = w.reshape(-1, w.shape[-1]) @ est.kernel_(est.gram_.points.rows, rows)
    return s if est.kernel_.normalized else s - est.kernel_.diag(rows) / 2.0


def parts(est):
    """Return q e^c and the threshold of each draw, on the scale of similarities."""
    center = est.fit_.score
    at, scale = center.boundary, np.exp if center.logarithmic else np.asarray
    return scale(at.reference), scale(at.threshold)


def test_probability_is_the_share_of_draws_with_the_unseen_row_beyond_the_cutoff(est):
    limit, threshold = parts(est)
    s = similarity(est, NEW)
    unseen = np.zeros(len(limit))  # g u s_0^(-1/9), by which the threshold is the limit
    positive = threshold > 0
    unseen[positive] = (limit - threshold)[positive] / threshold[positive] ** (1 / 9)
    count = s + unseen[:, None] * np.maximum(s, 0) ** (1 / 9) >= limit[:, None]
    np.testing.assert_allclose(est.probability_normal(NEW), count.mean(axis=0), atol=2 / len(count))
    np.testing.assert_array_equal(est.predict(NEW) == 1, est.probability_normal(NEW) > 0.5)
    np.testing.assert_array_equal(est.score_samples(NEW) >= 0, est.probability_normal(NEW) > 0.5)


def test_unseen_rows_are_half_a_neighbour_at_the_cutoff_and_a_whole_one_in_intervals(est):
    limit, threshold = parts(est)
    if not est.kernel_.normalized:
        np.testing.assert_allclose(limit, threshold)
        return
    K = est.kernel_(ROWS)
    np.fill_diagonal(K, 0.0)
    scores = bsvdd.left_out(est)
    near = np.argsort(scores)[int(0.03 * 99) : int(0.33 * 99)]
    kappa = np.quantile(np.square(K[near]).sum(axis=1) / K[near].sum(axis=1), 0.75)
    total = np.median(est.idata_["posterior"]["w"].sum("point"))
    # the cutoff as one number: the 9-th lowest of the 99 medians of the left-out similarities
    w = est.idata_["posterior"]["w"].values.reshape(-1, 99)
    of_left_out = np.sort(w @ K / (1 - w), axis=0)[(len(w) - 1) // 2]
    at_cutoff = np.sort(of_left_out)[8]
    u, whole = kappa * total / 99, np.exp(est.fit_.score.boundary.log_whole)
    g = (limit - threshold) * (at_cutoff / threshold) ** (1 / 9) / u
    assert kstest(g, gamma(0.5).cdf).pvalue > 0.001
    assert kstest(whole * at_cutoff ** (1 / 9) / u, gamma(1.0).cdf).pvalue > 0.001


def test_cutoff_of_each_draw_is_a_quantile_under_dirichlet_weights():
    """Of n values, the weights below the k-th smallest are Beta(k - 1, n - k + 1)."""
    values, rate, n = np.arange(40.0)[None], 0.25, 40
    q = decision._quantiles(values, rate, 20_000, np.random.default_rng(2))
    for k in (6, 10, 14):  # the value number k stands between the weights below it and with it
        low, high = (beta.sf(rate, j, n - j) for j in (k - 1, k))
        assert low - 0.01 < (q <= values[0, k - 1]).mean() < high + 0.01
    many = decision._quantiles(np.repeat(values, 5000, axis=0), rate, 5000, RNG)
    assert np.abs(np.quantile(many, [0.1, 0.5, 0.9]) - np.quantile(q, [0.1, 0.5, 0.9])).max() <= 1


def test_printed_rule_is_the_share_of_distances_within_the_cutoff(est):
    for policy in (
        Cutoff(uncertain=False),
        Cutoff(cutoffs.FalseAlarm(0.3), uncertain=False),
        Cutoff(cutoffs.Rank(0.9), cv="train", uncertain=False),
        Cutoff(float(np.median(est.distance(ROWS)))),
    ):
        other = est.with_cutoff(policy)
        for rows in (NEW, ROWS):
            share = (other.distance(rows) <= other.cutoff_).mean(("chain", "draw")).values
            np.testing.assert_array_equal(other.probability_normal(rows), share)
            np.testing.assert_array_equal(other.predict(rows) == 1, share > 0.5)


def test_surprise_is_the_log_of_the_similarity_at_the_cutoff_over_that_of_the_row(est):
    found, s, at = est.decision(NEW), similarity(est, NEW), est.fit_.score.boundary
    values = np.log(s) if est.fit_.score.logarithmic else s
    surprise = at.threshold[:, None] - values
    middle = np.sort(surprise, axis=0)[len(surprise) // 2]
    np.testing.assert_allclose(found["surprise"], middle, rtol=1e-6, atol=1e-9)
    inside = found["surprise_low"] <= found["surprise_high"]
    assert inside.all()
    np.testing.assert_array_equal(found["normal"], found["surprise"] <= 0)
    # D_opt is the distance of a row whose surprise is 0
    np.testing.assert_array_equal(found["distance"] <= est.cutoff_, found["normal"])


def test_interval_ends_are_a_quantile_of_the_draws_and_of_the_draws_with_a_whole_row(est):
    zero = np.zeros_like(est.fit_.score.boundary.threshold)
    at_zero = replace(est.fit_.score.boundary, threshold=zero, reference=zero)
    low, high = -est.fit_.score.with_boundary(at_zero).decision(NEW, prob=0.9)[:1:-1]
    s = similarity(est, NEW)
    whole = np.exp(est.fit_.score.boundary.log_whole)
    raised = s + whole[:, None] * np.maximum(s, 0) ** (1 / 9)
    log = np.log if est.fit_.score.logarithmic else np.asarray
    expected = log(np.quantile(s, 0.05, axis=0)), log(np.quantile(raised, 0.95, axis=0))
    np.testing.assert_allclose(low, expected[0], rtol=0.05, atol=0.02)
    np.testing.assert_allclose(high, expected[1], rtol=0.05, atol=0.02)


@pytest.mark.parametrize(("rate", "level"), [(0.1, 0.5), (0.3, 0.3), (0.3, 0.8)])
def test_rule_keeps_the_asked_rate_on_left_out_rows(est, rate, level):
    other = est.with_cutoff(Cutoff(cutoffs.FalseAlarm(rate), level=level))
    assert (bsvdd.left_out(other) < 0).sum() == int(rate * 100 + 1e-9) - 1
    np.testing.assert_array_equal(bsvdd.p_value(other, NEW) <= rate, other.predict(NEW) == -1)


@pytest.mark.parametrize("model", [BSVDDM(), BDDM()], ids=["BSVDDM", "BDDM"])
@pytest.mark.parametrize("seed", range(2))
def test_with_labels_far_rows_are_abnormal(model, seed):
    """The best G-mean alone would call rows far from all training rows normal."""
    data = datasets.embedded("wine_cultivar3")
    some = np.random.default_rng(seed).permutation(len(data.X))[:89]
    rows, minority = data.X[some], data.minority[some]
    far = rows[~minority].mean(axis=0) + 1e3 * rows[~minority].std(axis=0)
    est = clone(model).fit(rows, minority)
    assert est.predict([far]) == -1 and est.probability_normal([far]) <= 0.5
    assert (bsvdd.left_out(est)[~minority] >= 0).mean() > 0.7


def test_far_rows_and_one_estimate():
    """What is unseen falls off: also where cutoffs are so low that one row would lift any."""
    est = BSVDD(kernel=kernels.RBF(0.05), likelihood_scale=20.0, draws=100).fit(ROWS)
    far = np.array([[50.0, 50.0], [4.0, 0.0]])
    assert est.fit_.score.boundary.threshold.max() < np.log(1.0 / 99)
    assert est.probability_normal(far).tolist() == [0.0, 0.0]
    assert (est.decision(far)["surprise_low"] > 0).all()
    one = MODELS["SVDD"].fit(ROWS)
    p, hard = one.probability_normal(NEW), one.with_cutoff(Cutoff(uncertain=False))
    assert ((p > 0.05) & (p < 0.95)).any()
    np.testing.assert_array_equal(hard.predict(NEW), one.predict(NEW))
    assert set(hard.probability_normal(NEW)) == {0.0, 1.0}
    with pytest.raises(TypeError, match="uncertain must be True or False"):
        Cutoff(uncertain=1)
