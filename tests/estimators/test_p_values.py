"""p-values of fitted models, against refits by brute force, and what is decided by them."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators import training
from bsvdd.estimators.questions.batches import (
    discoveries,
    discoveries_by_e_values,
    e_values,
    false_discoveries,
)
from bsvdd.inference.decision import three_way
from bsvdd.models import Gram, bdd
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

import bsvdd
from bsvdd import (
    BDD,
    BDDM,
    BSVDD,
    BSVDDM,
    OCSVM,
    SVDD,
    SVDDM,
    Cutoff,
    Landmarks,
    kernels,
    priors,
)
from tests import scores

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(70)
X = RNG.normal(size=(25, 2))
NEW = np.concatenate([RNG.normal(size=(30, 2)), RNG.normal(size=(10, 2)) * 3, [[1e4, 0.0]]])
KERNEL = kernels.RBF(0.9)
QUICK = {"draws": 100, "tune": 100, "chains": 2}
SEED = int(check_random_state(0).randint(2**31 - 1))  # of a fit with random_state=0


def count(left_out, new):
    """(1 + the number of left-out scores at or below each new one)/(n + 1), without sorting."""
    return (1 + (np.asarray(left_out)[:, None] <= new).sum(axis=0)) / (len(left_out) + 1)


# each method against refits


def test_jackknife_is_by_refits_where_weights_are_equal():
    """Density estimates without each row in turn: rescaled weights are those of a refit."""
    prior = priors.Normal(sd=1e-4, m=(1 / 25,) * 25)  # so large a precision makes weights equal
    est = BDD(kernel=KERNEL, simplex=True, prior=prior).fit(X)
    np.testing.assert_allclose(est.idata_["posterior"]["w"], 1 / 25, rtol=1e-5)
    K, k_zu = KERNEL(X), KERNEL(NEW, X)
    at_least_as_far = np.zeros(len(NEW))
    for j in range(25):
        rest = np.arange(25) != j
        at_least_as_far += K[rest, j].mean() <= k_zu[:, rest].mean(axis=1)
    np.testing.assert_allclose(est.p_value(NEW, "jackknife+"), (1 + at_least_as_far) / 26)
    left_out = [K[np.arange(25) != j, j].mean() for j in range(25)]
    np.testing.assert_allclose(est.p_value(NEW), count(left_out, k_zu.mean(axis=1)))


def test_jackknife_with_minority_rows_is_by_hand():
    """Majority weights are rescaled without the row, and minority weights stay; mean over draws."""
    y = np.repeat([0, 1], [19, 6])
    est = BSVDDM(kernel=KERNEL, minority_prior=priors.Beta(total=1), **QUICK).fit(X, y)
    draws = np.linspace(0, 199, 50).round().astype(int)
    weights = est.idata_["posterior"]["w"].values.reshape(200, 25)[draws]
    K, k_zu = KERNEL(X), KERNEL(NEW, X)
    expected = np.zeros(len(NEW))
    for w in weights:
        count_ = np.ones(len(NEW))
        for j in range(19):
            v = w.copy()
            v[j] = 0.0
            v[:19] *= w[:19].sum() / v[:19].sum()
            count_ += v @ K[j] <= k_zu @ v
        expected += count_ / 20 / len(weights)
    np.testing.assert_allclose(est.p_value(NEW, "jackknife+"), expected)


@pytest.mark.parametrize("prior", [priors.Flat(0.7), priors.RowSum(0.8, 0.5)], ids=repr)
def test_full_conformal_is_by_refits_with_each_new_row(prior):
    est = BDD(kernel=KERNEL, prior=prior, likelihood_scale=2.0, **QUICK).fit(X)
    expected = []
    for z in NEW:
        gram = Gram.from_rows(KERNEL, np.concatenate([X, [z]]))
        mean = bdd.NormalPosterior(gram, prior, 2.0).mean
        d2 = 1 - 2 * gram.K @ mean
        expected.append((d2 >= d2[-1]).mean())
    np.testing.assert_allclose(est.p_value(NEW, "full"), expected)


@pytest.mark.parametrize("model", [SVDD, OCSVM], ids=lambda model: model.__name__)
def test_cross_and_split_are_by_refits_with_their_own_bandwidth(model):
    est = model(kernel=kernels.Standardized(kernels.RBF("median"))).fit(X)
    count_ = np.ones(len(NEW))
    for train, test in KFold(10, shuffle=True, random_state=SEED).split(X):
        fold = clone(est).set_params(cutoff=1.0).fit(X[train])
        assert fold.kernel_ != est.kernel_
        left_out, new = fold.score_samples(X[test]), fold.score_samples(NEW)
        count_ += (left_out[:, None] <= new).sum(axis=0)
    np.testing.assert_allclose(est.p_value(NEW, "cross"), count_ / 26)
    order = np.random.default_rng(SEED).permutation(25)
    half = clone(est).set_params(cutoff=1.0).fit(X[np.sort(order[:12])])
    expected = count(half.score_samples(X[order[12:]]), half.score_samples(NEW))
    np.testing.assert_allclose(est.p_value(NEW, "split"), expected)


@pytest.mark.parametrize("model", [SVDD, BDD])
def test_e_values_are_the_mean_over_splits_with_fits_of_their_own(model):
    more = {"likelihood_scale": 1e4, "draws": 500} if model is BDD else {}
    est = model(kernel=KERNEL, **more).fit(X)
    total = np.zeros(len(NEW))
    for seed in range(SEED, SEED + 10):
        order = np.random.default_rng(seed).permutation(np.arange(25))
        half = clone(est).set_params(cutoff=1.0).fit(X[np.sort(order[:12])])
        left_out = np.sort(half.score_samples(X[order[12:]]))
        total += e_values(half.score_samples(NEW), left_out, 0.25)
    selected = est.select(NEW, 0.5, "e-values")
    np.testing.assert_array_equal(selected, discoveries_by_e_values(total / 10, 0.5))
    np.testing.assert_array_equal(selected, est.select(da.from_array(NEW), 0.5, "e-values"))


def test_p_values_of_draws_compare_rows_under_the_centre_of_the_draw():
    est = BSVDD(kernel=KERNEL, **QUICK).fit(X)
    found = est.p_value_draws(NEW, draws=20)
    assert found.dims == ("chain", "draw", "obs")
    assert found.sizes == {"chain": 2, "draw": 10, "obs": len(NEW)}
    w = est.idata_["posterior"]["w"]
    K, k_zu = KERNEL(X), KERNEL(NEW, X)
    for chain in (0, 1):
        for draw in found["draw"].values[[0, 4, 9]]:
            v = w.sel(chain=chain).values[draw]
            left_out = [np.delete(v, j) @ np.delete(K[j], j) / (1 - v[j]) for j in range(25)]
            expected = count(left_out, k_zu @ v)
            np.testing.assert_allclose(found.sel(chain=chain, draw=draw), expected)
    assert (found.isel(obs=-1) == 1 / 26).all()  # far from all rows in each draw


def test_left_out_scores_of_svdd_are_relative_to_the_sphere_of_the_fold():
    """log(s/rho) of a fold is that of all rows; rho is s on the sphere."""
    est = SVDD(kernel=KERNEL).fit(X)
    expected = np.empty(25)
    for train, test in KFold(10, shuffle=True, random_state=SEED).split(X):
        fold = SVDD(kernel=KERNEL, cutoff=1.0).fit(X[train])
        log_rho = scores.sphere_value(fold) - scores.sphere_value(est)
        expected[test] = scores.values_of(fold, X[test])[0] - log_rho
    expected = scores.score_of(est, expected[None])
    np.testing.assert_allclose(est.left_out_scores(), expected, atol=1e-6)


# promises


@pytest.mark.parametrize("splits", [200, pytest.param(3000, marks=pytest.mark.long)])
def test_split_keeps_its_promise_exactly(splits):
    """P(p <= .1) of 1/(n + 1) steps, n = 19, is .1, within Monte Carlo error.

    Given a fit, the share of new rows at or below the second smallest of 19 left-out scores is
    Beta(2, 18). So 50 new rows of each fit say as much as 15 fits with a new row each.
    """
    rng = np.random.default_rng(71)
    below = []
    for _ in range(splits):
        rows = rng.standard_t(3, size=(88, 2))
        p = SVDD(cutoff=1.0).fit(rows[:38]).p_value(rows[38:], "split")
        below.append((p <= 0.1).mean())
    variance = stats.beta(2, 18).var() + (0.09 - stats.beta(2, 18).var()) / 50
    assert abs(np.mean(below) - 0.1) < 4 * np.sqrt(variance / splits)
    assert np.var(below) == pytest.approx(variance, rel=0.5)


@pytest.mark.parametrize("width", [0.05, 0.02])
def test_a_narrow_kernel_takes_no_digits_from_any_method(width):
    """A row that is similar to no training row has the smallest p-value."""
    est = BSVDD(kernel=kernels.RBF(width), **QUICK).fit(X)
    for method in ("left-out", "jackknife+", "cross", "split"):
        assert est.p_value([[1.2, 1.9], [0.5, 0.5]], method).max() < 0.9
    # but for the row itself, and for rows with a larger weight than the first in some draw
    assert est.p_value(X[:1] + 1e-3, "jackknife+")[0] >= 0.9


@pytest.mark.parametrize("method", ["split", "cross"])
def test_landmarks_are_chosen_without_the_left_out_rows(method, monkeypatch):
    """K-means centres of all rows would know them."""
    seen = []
    choose = training.choose

    def watched(kernel, rows, landmarks, seed):
        seen.append(len(rows))
        return choose(kernel, rows, landmarks, seed)

    est = BDD(dictionary=Landmarks(6, "kmeans"), cutoff=1.0, **QUICK).fit(X)
    monkeypatch.setattr(training, "choose", watched)
    est.p_value(NEW, method)
    assert seen == ([12] if method == "split" else [22] * 5 + [23] * 5)


ONE_CLASS = [SVDD(), OCSVM(), BDD(**QUICK), BSVDD(**QUICK), BSVDD(dictionary=12, **QUICK)]
TWO_CLASS = [SVDDM(), BDDM(**QUICK), BSVDDM(minority_prior=priors.Beta(total=1), **QUICK)]


@pytest.fixture(scope="module", params=ONE_CLASS + TWO_CLASS, ids=range(8))
def est(request):
    y = np.repeat([0, 1], [19, 6]) if request.param in TWO_CLASS else None
    return clone(request.param).fit(X, y)


@pytest.mark.filterwarnings("ignore:no row is selected")
def test_the_cutoff_of_a_rate_and_p_values_decide_alike_by_every_way_in(est):
    expected = est.p_value(NEW)
    for rate in (0.1, 0.2, 0.5):
        new = est.with_cutoff(Cutoff("false_alarm", false_alarm_rate=rate))
        flagged = new.predict(NEW) == -1
        assert flagged.sum() < len(NEW)
        np.testing.assert_array_equal(new.p_value(NEW) <= rate + 1e-12, flagged)
        np.testing.assert_array_equal(est.select(NEW, rate), discoveries(expected, rate))
    blocks = da.from_array(NEW, chunks=(7, 2))
    lazy = est.p_value(blocks)
    assert hasattr(lazy, "__dask_graph__")
    np.testing.assert_array_equal(lazy.compute(), expected)
    np.testing.assert_array_equal(est.select(blocks), discoveries(expected, 0.1))
    bounds = false_discoveries(expected, (~est.fit_.data.minority).sum())
    pd.testing.assert_frame_equal(est.false_discoveries(blocks), bounds)
    with pytest.raises(ValueError, match=r"method must be one of 'left-out', 'jackknife\+', .*"):
        est.p_value(NEW, "loo")


def test_folds_of_the_cross_method_do_not_depend_on_minority_rows():
    """A one-class model does not learn from them, and a model with them keeps them all."""
    est = SVDD(kernel=KERNEL, cutoff=1.0)
    with_one = est.fit(np.concatenate([X, [[3.0, 3.0]]]), np.repeat([0, 1], [25, 1]))
    p = with_one.p_value(NEW, "cross")
    np.testing.assert_array_equal(p, est.fit(X).p_value(NEW, "cross"))
    few = SVDDM(kernel=KERNEL, cutoff=1.0).fit(X, np.repeat([0, 1], [24, 1]))
    assert few.p_value(NEW, "cross").min() == 1 / 25


def test_undecided_rows_are_in_the_decision():
    table = BSVDD(cutoff=Cutoff(undecided=(0.2, 0.8)), **QUICK).fit(X).decision(NEW)
    p, error = table["probability_normal"], table["probability_error"]
    expected = three_way(p.to_numpy(), error.to_numpy(), 0.2, 0.8)
    assert table["decision"].tolist() == expected.tolist() and "undecided" in expected
    certain = OCSVM(cutoff=Cutoff(undecided=(0.2, 0.8))).fit(X).decision(NEW)
    assert set(certain["decision"]) == {"normal", "abnormal"}
    assert "decision" not in BDD(**QUICK).fit(X).decision(NEW)
    one = SVDD(kernel=KERNEL, cutoff=Cutoff(undecided=(0.2, 0.8))).fit(X).decision(NEW)
    p = one["probability_normal"].to_numpy()  # of 2,000 draws of the cutoff
    np.testing.assert_allclose(one["probability_error"], np.sqrt(p * (1.0 - p) / 2000))


# bad input


SIGMA = priors.Normal(sigma=tuple(map(tuple, np.eye(25) * 2.0)))


@pytest.mark.parametrize(
    ("est", "method", "message"),
    [
        *((e, "jackknife+", r"'jackknife\+' is for BSVDD, BSVDD-M") for e in ONE_CLASS[:3]),
        *((e, "full", "method='full' is for BDD") for e in (BSVDD(**QUICK), SVDD())),
        (BDD(simplex=True), "full", "method='full' is for BDD"),
        (BDD(dictionary=10, **QUICK), "full", "method='full' is for BDD"),
        (BDD(prior=SIGMA, **QUICK), "full", "independent normal prior .* got Normal"),
        (SVDD(), "draws", "leaves rows out by refits only"),
    ],
    ids=range(9),
)
def test_methods_that_are_not_for_a_model(est, method, message):
    est = clone(est).fit(X)
    with pytest.raises(ValueError, match=message):
        est.p_value_draws(NEW) if method == "draws" else est.p_value(NEW, method)


def test_a_cutoff_beyond_all_rows_is_warned_of():
    """BDD with a very narrow kernel: the norm of a draw moves more than rows differ."""
    with pytest.warns(bsvdd.inference.warning.DiagnosticWarning, match="these are called normal"):
        BDD(kernel=kernels.RBF(0.05), random_state=1).fit(X)
