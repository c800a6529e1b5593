"""P(normal) counts weights, cutoff and unseen rows, by the formula of the module's text."""

import numpy as np
import pytest
from bsvdd.comparison import datasets
from bsvdd.estimators.fit import left_out_values
from bsvdd.inference.cutoffs import quantiles
from bsvdd.inference.warning import DiagnosticWarning
from scipy.stats import beta, gamma, ks_2samp, kstest
from sklearn.base import clone

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, Cutoff, cutoffs, kernels, priors
from tests.scores import margins_of, scores_left_out

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


def median_left_out(est):
    """Return the median s of rows without themselves: the others rescaled, or the package's own."""
    if isinstance(est, BSVDD):
        w, K = est.idata_["posterior"]["w"].values.reshape(-1, 99), est.kernel_(ROWS)
        s = np.sort((w @ K - w * K.diagonal()) / (1.0 - w), axis=0)
    else:
        s = np.sort(left_out_values(est.fit_, est.fit_.cutoff).values, axis=0)
        s = np.exp(s) if est.fit_.score.logarithmic else s
    return s[(len(s) - 1) // 2]


def by_hand(est, rate=0.1):
    """Return u and m_*, from the left-out rows near the cutoff, row by row."""
    K = est.kernel_(ROWS)
    np.fill_diagonal(K, 0.0)
    near = np.argsort(median_left_out(est))[int(0.3 * rate * 99) : int(3.3 * rate * 99)]
    kappa = np.mean([sum(K[j] ** 2) / sum(K[j]) for j in near])
    total = np.median(est.idata_["posterior"]["w"].sum("point"))
    return kappa * total / 99, sorted(K[near].max(axis=1))[1]


def cutoffs_by_hand(est, rate, g_of_rows, seed=7):
    """Return 1,000 draws of D_opt, as a similarity."""
    s, (u, nearest), rng = median_left_out(est), by_hand(est, rate), np.random.default_rng(seed)
    K, found = est.kernel_(ROWS), np.empty(1000)
    np.fill_diagonal(K, 0.0)
    r = np.minimum(K.max(axis=1) / nearest, 1.0)
    for t in range(len(found)):
        raised = s + g_of_rows(rng, 99) * u * r
        order, weights = np.argsort(raised), rng.dirichlet(np.ones(99))
        places = np.cumsum(weights[order]) - weights[order] / 2.0
        found[t] = np.interp(rate, places, raised[order])
    return found


def test_probability_is_the_share_of_draws_with_the_unseen_row_within_the_cutoff(est):
    s, at = similarity(est, NEW), est.fit_.score.boundary
    limit = np.exp(at.threshold) if est.fit_.score.logarithmic else at.threshold
    if est.kernel_.normalized:
        u, nearest = by_hand(est)
        np.testing.assert_allclose(np.exp([at.unseen.log_u, at.unseen.log_nearest]), [u, nearest])
        r = np.minimum(est.kernel_(NEW, ROWS).max(axis=1) / nearest, 1.0)
        s = s + np.exp(at.log_half)[:, None] * u * r
    else:
        assert not at.unseen
    share = (s >= limit[:, None]).mean(axis=0)
    np.testing.assert_allclose(est.probability_normal(NEW), share, atol=1.01 / len(limit))
    np.testing.assert_array_equal(est.predict(NEW) == 1, est.probability_normal(NEW) > 0.5)
    np.testing.assert_array_equal(est.score_samples(NEW) >= 0, est.probability_normal(NEW) > 0.5)
    many = np.tile(NEW, (20, 1))  # decided by bounds, where these are enough
    np.testing.assert_array_equal(est.predict(many), np.tile(est.predict(NEW), 20))


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_cutoffs_and_unseen_rows_have_their_distributions(est, rate):
    other = est.with_cutoff(cutoffs.FalseAlarm(rate))
    at = other.fit_.score.boundary
    assert kstest(np.exp(at.log_half), gamma(0.5).cdf).pvalue > 0.001
    assert kstest(np.exp(at.log_whole), gamma(1.0).cdf).pvalue > 0.001
    if not est.kernel_.normalized:
        return
    g_of_rows = {  # Gamma(1/2) is half a squared standard normal
        "threshold": lambda rng, n: rng.standard_normal(n) ** 2 / 2.0,
        "least": lambda rng, n: np.zeros(n),
        "most": lambda rng, n: rng.exponential(size=n),
    }
    for name, g in g_of_rows.items():
        found = getattr(at, name)
        found = np.exp(found) if other.fit_.score.logarithmic else found
        assert ks_2samp(found, cutoffs_by_hand(est, rate, g)).pvalue > 0.001
    assert np.median(at.least) < np.median(at.threshold) < np.median(at.most)


def test_cutoff_of_each_draw_is_a_quantile_under_dirichlet_weights():
    """Of n values, the weights below the k-th smallest are Beta(k - 1, n - k + 1)."""
    values, rate, n = RNG.permutation(40).astype(float), 0.25, 40
    weights = RNG.standard_exponential((20_000, n))
    q = quantiles(np.broadcast_to(values, weights.shape), weights, rate)
    for k in (6, 10, 14):  # the value number k stands between the weights below it and with it
        low, high = (beta.sf(rate, j, n - j) for j in (k - 1, k))
        assert low - 0.01 < (q <= k - 1.0).mean() < high + 0.01
    # a row of weight 0 is not there
    weights[:, values < 10] = 0.0
    of_part = quantiles(np.broadcast_to(values, weights.shape), weights, rate)
    others = values >= 10
    expected = quantiles(np.broadcast_to(values[others], (20_000, 30)), weights[:, others], rate)
    np.testing.assert_allclose(of_part, expected, atol=1e-9)
    logs = quantiles(np.log(np.broadcast_to(values + 1.0, weights.shape)), weights, rate, True)
    np.testing.assert_allclose(np.exp(logs), of_part + 1.0)


@pytest.mark.parametrize(
    "choose",
    [
        *(cutoffs.Best(metric, max_fpr) for metric in ("g_mean", "f1") for max_fpr in (None, 0.2)),
        cutoffs.Cost(3.0),
    ],
    ids=repr,
)
def test_a_criterion_is_applied_in_each_draw_under_weights_of_both_classes(choose):
    """Against the best of all cuts, one by one."""
    rng, minority = np.random.default_rng(3), np.arange(30) >= 22
    values = rng.normal(size=(50, 30)) - 1.5 * minority
    weights = rng.standard_exponential((50, 30))
    found = choose.in_draws(values, minority, weights, -np.inf, False)
    for of_draw, w, cutoff in zip(values, weights, found, strict=True):
        w = np.where(minority, w * 8 / w[minority].sum(), w * 22 / w[~minority].sum())

        def gain(cut, of_draw=of_draw, w=w):
            tp, fp = w[(of_draw < cut) & minority].sum(), w[(of_draw < cut) & ~minority].sum()
            if choose.max_fpr is not None and fp > choose.max_fpr * 22:
                return -np.inf
            return {
                "g_mean": np.sqrt(tp / 8 * max(1 - fp / 22, 0.0)),
                "f1": 2 * tp / (tp + fp + 8),
            }.get(getattr(choose, "metric", ""), -fp - 3.0 * (8 - tp))

        ordered = np.sort(of_draw)
        cuts = [ordered[0], *(ordered[1:] + ordered[:-1]) / 2, ordered[-1] + 1]
        assert gain(cutoff) == pytest.approx(max(map(gain, cuts)), rel=1e-9)
        assert cutoff in cuts or cutoff > ordered[-1]


def test_surprise_is_the_log_of_the_similarity_at_the_cutoff_over_that_of_the_row(est):
    found, margins = est.decision(NEW), margins_of(est, NEW)
    middle = -np.sort(margins, axis=0)[(len(margins) - 1) // 2]
    np.testing.assert_allclose(found["surprise"], middle, rtol=1e-6, atol=1e-9)
    inside = found["surprise_low"] <= found["surprise_high"]
    assert inside.all()
    np.testing.assert_array_equal(found["normal"], found["surprise"] <= 0)
    # D_opt is the distance of a row whose surprise is 0
    np.testing.assert_array_equal(found["distance"] <= est.cutoff_, found["normal"])


def test_interval_ends_have_no_row_or_a_whole_one_on_either_side(est):
    found, s, at = est.decision(NEW), similarity(est, NEW), est.fit_.score.boundary
    log = np.log if est.fit_.score.logarithmic else np.asarray
    raised = s
    if est.kernel_.normalized:
        u, nearest = by_hand(est)
        r = np.minimum(est.kernel_(NEW, ROWS).max(axis=1) / nearest, 1.0)
        raised = s + np.exp(at.log_whole)[:, None] * u * r
    low = np.quantile(at.least[:, None] - log(raised), 0.05, axis=0)
    high = np.quantile(at.most[:, None] - log(s), 0.95, axis=0)
    np.testing.assert_allclose(found["surprise_low"], low, rtol=0.02, atol=0.01)
    np.testing.assert_allclose(found["surprise_high"], high, rtol=0.02, atol=0.01)


def test_one_odd_training_row_does_not_stop_the_unseen_row_from_fading():
    rows = np.concatenate([ROWS[:59], [[60.0, 0.0]]])
    far = np.array([[0.0, 40.0], [-30.0, 30.0]])
    for make in MODELS.values():
        if make.kernel.normalized:
            assert clone(make).fit(rows).probability_normal(far).max() <= 0.03
    few = BSVDD(kernel=KERNEL, likelihood_scale=20.0).fit(np.concatenate([ROWS[:24], [[60, 0]]]))
    assert few.probability_normal(far).max() <= 0.03


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
    assert (scores_left_out(est)[~minority] >= 0).mean() > 0.7


def test_far_rows_and_one_estimate():
    """What is unseen fades: also where cutoffs are so low that one row would lift any."""
    est = BSVDD(kernel=kernels.RBF(0.05), likelihood_scale=20.0, draws=100).fit(ROWS)
    far = np.array([[50.0, 50.0], [4.0, 0.0]])
    assert est.fit_.score.boundary.threshold.max() < np.log(1.0 / 99)
    assert est.probability_normal(far).tolist() == [0.0, 0.0]
    assert (est.decision(far)["surprise_low"] > 0).all()
    one = MODELS["SVDD"].fit(ROWS)
    p, hard = one.probability_normal(NEW), one.with_cutoff(Cutoff(uncertain=False))
    assert ((p > 0.05) & (p < 0.95)).any()
    assert set(hard.probability_normal(NEW)) == {0.0, 1.0}
    with pytest.raises(TypeError, match="uncertain must be True or False"):
        Cutoff(uncertain=1)


@pytest.mark.parametrize("logarithmic", [True, False])
def test_where_no_minority_row_is_within_the_limit_a_draw_has_the_false_alarm_rate(logarithmic):
    rng, minority = np.random.default_rng(0), np.arange(40) >= 35
    values = rng.normal(size=(20, 40))
    values[:, minority] = 9.0 + np.arange(5)  # more normal than all others
    values[:, 3] = -90.0  # a row that resembles no other, as a logarithm
    given = values, minority, rng.standard_exponential((20, 40)), -np.inf, logarithmic
    found = cutoffs.Best("g_mean").in_draws(*given)
    np.testing.assert_array_equal(found, cutoffs.FalseAlarm(0.1).in_draws(*given))


@pytest.mark.parametrize("estimator", [BSVDD, SVDD], ids=["draws", "one estimate"])
def test_a_cutoff_beyond_every_row_is_told_and_all_rows_are_normal(estimator):
    """With a narrow kernel most rows resemble no other, and D_opt is the distance of far rows."""
    rows = np.random.default_rng(0).standard_t(1, size=(60, 6))
    est = estimator(kernel=kernels.RBF(0.3), cutoff=Cutoff(uncertain=False))
    with pytest.warns(DiagnosticWarning, match="too many training rows resemble no other"):
        est.fit(rows)
    new = np.concatenate([rows[:3] + 0.01, rows[:2] + 1e3])
    found = est.decision(new)
    assert found["normal"].all() and np.isneginf(found["surprise"]).all()
    share = (est.distance(new).values.reshape(-1, 5) <= est.cutoff_).mean(axis=0)
    np.testing.assert_array_equal(found["probability_normal"], share)
