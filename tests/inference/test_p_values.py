"""p-values against counting and refits by brute force, and what is decided by them."""

import numpy as np
import pytest
from bsvdd.inference.p_values import p_values
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, SVDDM, cutoffs, kernels, priors
from bsvdd.questions.selection import discoveries

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

RNG = np.random.default_rng(70)
X = RNG.normal(size=(25, 2))
NEW = np.concatenate(
    [RNG.normal(size=(30, 2)), RNG.normal(size=(10, 2)) * 3, [[1e4, 0.0]]]
)
KERNEL = kernels.RBF(0.9)
QUICK = {"draws": 100, "tune": 100, "chains": 2}


def test_a_p_value_counts_the_left_out_rows_at_or_below():
    left_out = np.array([1.0, 2.0, 2.0, 5.0])
    found = p_values(np.array([0.0, 1.0, 1.5, 2.0, 5.0, 6.0]), left_out)
    assert_array_equal(found, np.array([1, 2, 2, 4, 5, 5]) / 5)


@given(st.integers(9, 60), st.integers(1, 30))
def test_every_rank_is_one_step_of_the_p_value(n, alpha):
    """Of n + 1 rows at most a share alpha has a p-value of at most alpha."""
    rate, scores = alpha / 100, np.arange(1.0, n + 2)
    p = [p_values(np.array([s]), np.delete(scores, i))[0] for i, s in enumerate(scores)]
    assert np.mean(np.array(p) <= rate + 1e-12) <= rate + 1e-12


# of fits


def test_left_out_is_by_refits_where_weights_are_equal():
    """Density estimates without each row: rescaled weights equal a refit's."""
    prior = priors.Normal(
        sd=1e-4, m=(1 / 25,) * 25
    )  # so large a precision makes weights equal
    est = BDD(kernel=KERNEL, simplex=True, prior=prior).fit(X)
    assert_allclose(est.idata_["posterior"]["w"], 1 / 25, rtol=1e-5)
    K, k_zu = KERNEL(X, X), KERNEL(NEW, X)
    left_out = np.array([K[np.arange(25) != j, j].mean() for j in range(25)])
    assert_allclose(np.exp(est.log_similarity()[0]), left_out, rtol=1e-6)
    scores, others = est.score_samples(NEW), -est.decision()["surprise"].to_numpy()
    expected = (1 + (others[:, None] <= scores + 1e-9).sum(axis=0)) / 26
    assert_allclose(bsvdd.p_value(est, NEW), expected)
    # what is unseen is a draw beside each row, so ranks of similarities differ by a few
    # rows
    of_similarity = (1 + (left_out[:, None] <= k_zu.mean(axis=1)).sum(axis=0)) / 26
    assert np.abs(expected - of_similarity).max() <= 3 / 26


def test_a_group_counts_as_one_row_of_its_weight():
    groups, weight = (
        np.arange(25) // 3,
        np.where(np.arange(25) < 22, np.arange(25) % 4 + 1.0, 0.0),
    )
    est = SVDD(kernel=KERNEL).fit(X, sample_weight=weight, groups=groups)
    score, others = est.score_samples(NEW), -est.decision()["surprise"].to_numpy()
    mean, upto = [], []
    for group in np.unique(groups[weight > 0]):
        of = (groups == group) & (weight > 0)
        at_most = others[of][:, None] <= score + 1e-9
        mean.append(weight[of].mean())
        upto.append(np.average(at_most, axis=0, weights=weight[of]))
    t = np.array(mean) / np.mean(mean)
    expected = (1.0 + t @ np.array(upto)) / (1.0 + len(t))
    assert_allclose(bsvdd.p_value(est, NEW), expected)


@pytest.mark.parametrize("width", [0.05, 0.02])
def test_a_narrow_kernel_takes_no_digits(width):
    """A row that is similar to no training row has the smallest p-value."""
    est = BSVDD(kernel=kernels.RBF(width), **QUICK).fit(X)
    assert bsvdd.p_value(est, [[1.2, 1.9], [0.5, 0.5]]).max() < 0.9


ONE_CLASS = [SVDD(), BDD(**QUICK), BSVDD(**QUICK), BSVDD(dictionary=12, **QUICK)]
TWO_CLASS = [
    SVDDM(),
    BDDM(**QUICK),
    BSVDDM(minority_prior=priors.Beta(total=1), **QUICK),
]


@pytest.mark.parametrize("est", ONE_CLASS + TWO_CLASS, ids=repr)
@pytest.mark.filterwarnings("ignore:no row is selected")
def test_the_cutoff_of_a_rate_and_p_values_order_alike(est):
    y = np.arange(25) >= 19
    est = est.fit(X + 3.0 * y[:, None], y) if est in TWO_CLASS else est.fit(X)
    for rate in (0.1, 0.2, 0.5):
        new = est.with_cutoff(cutoffs.FalseAlarm(rate))
        flagged, p = new.predict(NEW) == -1, bsvdd.p_value(new, NEW)
        assert 0 < flagged.sum() < len(NEW)
        assert p[flagged].max(initial=0.0) <= p[~flagged].min()
        near = 2.01 / 20  # D_opt of the draws lies about the quantile
        assert (p[flagged] <= rate + near).all() and (p[~flagged] > rate - near).all()
        assert_array_equal(bsvdd.select(new, NEW, rate), discoveries(p, rate))


# the false discovery rate


def test_nothing_is_selected_under_a_kernel_matrix_too():
    est = SVDD(kernel=kernels.Precomputed(diagonal=1.0)).fit(KERNEL(X, X))
    p = bsvdd.p_value(est, KERNEL(NEW[-2:], X))
    assert p.min() == 1.0 / 26
    with pytest.warns(
        bsvdd.base.warning.DataWarning, match="no row is selected, though"
    ):
        assert not bsvdd.select(est, KERNEL(NEW[-2:], X), fdr=0.01).any()


def by_definition(p, fdr):
    """Reject the k smallest, k the largest number with p_(k) <= k fdr / m."""
    ordered, m = np.sort(p), len(p)
    fitting = [k for k in range(1, m + 1) if ordered[k - 1] <= k * fdr / m]
    return p <= ordered[max(fitting) - 1] if fitting else np.zeros(m, dtype=bool)


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=12),
    st.sampled_from([0.05, 0.1, 0.3]),
)
def test_discoveries_are_those_of_benjamini_and_hochberg(ranks, fdr):
    p = np.array(ranks) / 41
    assert_array_equal(discoveries(p, fdr), by_definition(p, fdr))


def test_edges_of_discoveries():
    none = discoveries(np.empty(0), 0.1)
    assert (none.shape, none.dtype) == ((0,), bool)
    for p, fdr in (
        (7 / 86, 0.1),
        (7 / 43, 0.2),
        (7 / 172, 0.05),
    ):  # p 43 / 35 is the rate
        assert discoveries(np.array([p] * 35 + [1.0] * 8), fdr).sum() == 35


@pytest.mark.parametrize("what", ["groups", "weights"])
def test_the_smallest_p_value_of_groups_and_weights_is_known(what):
    rng = np.random.default_rng(6)
    X, batch = rng.normal(size=(200, 2)), rng.normal(size=(60, 2)) / 2.0
    batch[:2] = 9.0
    own, n = {"groups": np.repeat(np.arange(20), 10)}, 21
    if what == "weights":
        own, n = {"sample_weight": (np.arange(200) < 50) * 1.0}, 51
    est = SVDD().fit(X, **own)
    said = f"though . of 60 have the smallest possible p-value, {1 / n:.3g}"
    with pytest.warns(bsvdd.base.warning.DataWarning, match=said):
        assert not bsvdd.select(est, batch, fdr=0.01).any()
