"""What a fitted estimator holds, and what with_cutoff and with_prior may change."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.compiled import compilations
from bsvdd.models.geometry import potential
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from bsvdd import Cutoff, kernels, priors
from tests.scores import common_norm, distance_of, median_distance, score_of, sphere_score

NAMES = ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"]
SAMPLED = ["BDD", "BSVDD", "BSVDDM"]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.mark.parametrize("name", NAMES)
def test_groups_dims_and_coordinates(fitted, table, name):
    X, y = table
    est = fitted(name)
    groups = {"posterior", "distance", "log_likelihood", "constant_data", "decision", "diagnostics"}
    assert groups <= set(est.idata_.children)
    assert ("prior" in est.idata_.children) == (name in SAMPLED)
    if name in SAMPLED:
        assert est.idata_["prior"]["w"].dims == ("chain", "draw", "point")
    assert ("sample_stats" in est.idata_.children) == (name in ("BSVDD", "BSVDDM"))
    chains, draws = (2, 60) if name in SAMPLED else (1, 1)
    points = 30 if name == "BSVDDM" else 24
    assert est.idata_["posterior"]["w"].dims == ("chain", "draw", "point")
    assert est.idata_["posterior"]["w"].shape == (chains, draws, points)
    d = est.idata_["distance"]["d"]
    assert d.dims == ("chain", "draw", "obs")
    assert d.shape == (chains, draws, 30)
    np.testing.assert_array_equal(d["obs"], np.arange(30))
    np.testing.assert_allclose(d, est.distance(X), rtol=1e-12)
    np.testing.assert_array_equal(est.idata_["log_likelihood"]["obs"], np.flatnonzero(y == 0))
    np.testing.assert_array_equal(est.idata_["constant_data"]["X"], X)
    np.testing.assert_array_equal(est.idata_["constant_data"]["minority"], y == 1)
    assert est.idata_["decision"]["probability_normal"].dims == ("obs",)
    assert float(est.idata_["decision"]["cutoff"]) == est.cutoff_


@pytest.mark.parametrize("name", NAMES)
def test_distance_is_the_formula_on_the_draws(fitted, table, new_rows, name):
    X, y = table
    est = fitted(name)
    u = X if name == "BSVDDM" else X[y == 0]
    w = est.idata_["posterior"]["w"].values
    K, k_uz = kernels.RBF(1.5)(u), kernels.RBF(1.5)(u, new_rows)
    norm = np.einsum("cdi,ij,cdj->cd", w, K, w)
    found = est.distance(new_rows)
    assert found.dims == ("chain", "draw", "obs")
    np.testing.assert_allclose(found**2, 1 - 2 * w @ k_uz + norm[..., None], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "scale"), [("BDD", 0.7), ("BSVDD", 3.0), ("BSVDDM", 1.0)])
def test_pointwise_log_likelihood_sums_to_the_potential(make, table, name, scale):
    est = make(name, likelihood_scale=scale).fit(*table)
    pointwise = est.idata_["log_likelihood"]["kernel"]
    expected = potential(est.idata_["posterior"]["w"].values, est.gram_, scale)
    np.testing.assert_allclose(pointwise.sum("obs"), expected, rtol=1e-10)
    d = est.idata_["distance"]["d"].sel(obs=pointwise["obs"])
    np.testing.assert_allclose(pointwise, -scale / 2 * d**2, rtol=1e-12)


@pytest.mark.parametrize("name", SAMPLED)
def test_loo_of_arviz_reads_the_log_likelihood(make, table, name):
    est = make(name, draws=300, tune=300).fit(*table)
    loo = az.loo(est.idata_, var_name="kernel", pointwise=True)
    assert loo.n_data_points == 24
    pointwise = est.idata_["log_likelihood"]["kernel"].values.reshape(-1, 24)
    log_mean = np.log(np.exp(pointwise).mean(axis=0)).sum()
    # the left-out density is below the posterior mean of the density, and here not by much
    assert log_mean - 2 < loo.elpd < log_mean


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_fit(fitted, make, table, new_rows, name):
    again = make(name).fit(*table)
    np.testing.assert_array_equal(again.distance(new_rows), fitted(name).distance(new_rows))
    if name in SAMPLED:
        other = make(name, random_state=1).fit(*table)
        assert not np.array_equal(other.distance(new_rows), again.distance(new_rows))


def test_one_class_models_fit_on_majority_rows_only(fitted, make, table, new_rows):
    X, y = table
    for name in ("SVDD", "BDD", "BSVDD"):
        alone = make(name).fit(X[y == 0])
        np.testing.assert_array_equal(alone.distance(new_rows), fitted(name).distance(new_rows))


@pytest.mark.parametrize("name", NAMES)
def test_with_cutoff_leaves_the_original_and_refits_nothing(fitted, table, new_rows, name):
    est = fitted(name)
    cutoff, level = est.cutoff_, est.level_
    decision = est.idata_["decision"].to_dataset().copy(deep=True)
    new = est.with_cutoff(Cutoff("false_alarm", cv="train", false_alarm_rate=0.25, level=0.8))
    assert (est.cutoff_, est.level_) == (cutoff, level)
    assert est.idata_["decision"].to_dataset().identical(decision)
    assert est.cutoff != new.cutoff
    assert new.level_ == 0.8
    np.testing.assert_array_equal(new.distance(new_rows), est.distance(new_rows))
    d = np.sort(common_norm(est, est.idata_["distance"]["d"]), axis=0)
    decisive = np.sort(d[int(0.8 * len(d))][:24])  # draws above .8 of them, majority rows
    assert new.cutoff_ == pytest.approx(decisive[18], rel=1e-12)  # number .75 (24 + 1)
    assert float(new.idata_["decision"]["cutoff"]) == new.cutoff_
    assert (new.predict(table[0][:24]) == 1).sum() == 19
    assert new.idata_["decision"]["normal"].values[:24].sum() == 19


def test_a_number_is_the_cutoff_itself(fitted, new_rows):
    new = fitted("BSVDD").with_cutoff(0.9)
    assert new.cutoff_ == 0.9
    d = common_norm(new, new.distance(new_rows))
    np.testing.assert_array_equal(new.probability_normal(new_rows), (d <= 0.9).mean(axis=0))


def test_default_cutoff_without_minority_rows_is_a_false_alarm_rate(make, table):
    X, y = table
    X = X[y == 0]
    est = make("BSVDD").fit(X)
    same = est.with_cutoff(Cutoff("false_alarm", cv="loo", false_alarm_rate=0.1))
    assert est.cutoff_ == same.cutoff_


@pytest.mark.parametrize("name", SAMPLED)
def test_with_prior_is_a_fit_with_that_prior(fitted, make, table, new_rows, name):
    est = fitted(name)
    before = est.distance(new_rows).copy(deep=True)
    cutoff, prior, compiled = est.cutoff_, est.prior, compilations()
    new = est.with_prior(priors.Flat(0.6))
    assert compilations() == compiled
    fresh = make(name, prior=priors.Flat(0.6)).fit(*table)
    np.testing.assert_array_equal(new.distance(new_rows), fresh.distance(new_rows))
    assert new.cutoff_ == fresh.cutoff_
    assert est.prior is prior
    assert est.cutoff_ == cutoff
    np.testing.assert_array_equal(est.distance(new_rows), before)
    assert not np.array_equal(new.distance(new_rows), before)


def test_with_minority_prior(fitted, make, table, new_rows):
    new = fitted("BSVDDM").with_prior(minority_prior=priors.Beta(2, 5, total=0.3))
    fresh = make("BSVDDM", minority_prior=priors.Beta(2, 5, total=0.3)).fit(*table)
    np.testing.assert_array_equal(new.distance(new_rows), fresh.distance(new_rows))
    with pytest.raises(ValueError, match="minority_prior"):
        fitted("BSVDD").with_prior(minority_prior=priors.Beta())


@pytest.mark.parametrize("name", ["SVDD", "BSVDD", "BSVDDM"])
def test_folds_are_refitted_as_by_hand(fitted, make, table, name):
    X, y = table
    est = fitted(name).with_cutoff(Cutoff("g_mean", cv=3))
    # the seed that the estimator draws from random_state=0, for its folds and its chains
    seed = int(check_random_state(0).randint(2**31 - 1))
    score = np.empty(30)
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        fold = make(name).fit(X[train], y[train])
        score[test] = score_of(fold, median_distance(fold, X[test]))
        if name == "SVDD":  # its scores are compared by their differences from that of the sphere
            score[test] += sphere_score(est) - sphere_score(fold)
    cutoff = Cutoff("g_mean").choose(distance_of(est, score), y == 1)
    assert est.cutoff_ == pytest.approx(cutoff, rel=1e-12)
    assert est.offset_ == pytest.approx(score_of(est, cutoff), rel=1e-12)


@pytest.mark.parametrize("cutoff", ["g_mean", Cutoff("g_mean", cv=3)], ids=["loo", "folds"])
@pytest.mark.parametrize("name", NAMES)
def test_precomputed_is_the_kernel_it_was_computed_by(make, table, new_rows, name, cutoff):
    X, y = table
    kernel = kernels.Polynomial(2, gamma=0.3)  # k(z, z) is not one number
    # the matrices differ by rounding, which paths of NUTS make larger
    how = {"cutoff": cutoff} | ({"sampler": "laplace"} if name == "BSVDDM" else {})
    direct = make(name, kernel=kernel, **how).fit(X, y)
    given = make(name, kernel=kernels.Precomputed(), **how).fit(kernel(X), y)
    Z = np.column_stack([kernel(new_rows, X), kernel.diag(new_rows)])
    np.testing.assert_allclose(given.distance(Z), direct.distance(new_rows), rtol=1e-6, atol=1e-7)
    assert given.cutoff_ == pytest.approx(direct.cutoff_, rel=1e-6)
    np.testing.assert_array_equal(given.predict(Z), direct.predict(new_rows))


@pytest.mark.parametrize("name", ["SVDD", "BDD", "BDD simplex"])  # a NUTS path follows rounding
def test_a_function_is_a_kernel(fitted, make, table, new_rows, name):
    def rbf(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1) / (2 * 1.5**2))

    est = make(name, kernel=rbf).fit(*table)
    expected = fitted(name).distance(new_rows)
    np.testing.assert_allclose(est.distance(new_rows), expected, rtol=1e-7)


@pytest.mark.parametrize("name", NAMES)
def test_data_frame(fitted, make, table, new_rows, name):
    X, y = table
    columns = ["a", "b", "c"]
    est = make(name).fit(pd.DataFrame(X, columns=columns, index=range(100, 130)), pd.Series(y))
    np.testing.assert_array_equal(est.feature_names_in_, columns)
    Z = pd.DataFrame(new_rows, columns=columns)
    expected = fitted(name).score_samples(new_rows)
    np.testing.assert_allclose(est.score_samples(Z), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        est.predict(Z.rename(columns={"a": "z"}))


def test_bandwidth_is_that_of_the_majority_rows(make, table):
    X, y = table
    est = make("BSVDD", kernel=kernels.RBF("median")).fit(X, y)
    assert est.kernel_ == kernels.RBF("median").resolve(X[y == 0])
    assert est.kernel == kernels.RBF("median")
    assert est.kernel_.criterion == "median"


def test_model_is_the_pymc_model_of_the_fit(fitted):
    est = fitted("BSVDDM")
    assert {v.name for v in est.model_.free_RVs} == {"tau", "alpha1_probit"}
    np.testing.assert_array_equal(est.model_["K"].get_value(), est.gram_.K)


def test_minority_rows_push_the_centre_away(make, table):
    """Distances of minority rows from the centre grow against those of majority rows."""
    X, y = table
    prior = priors.StandardizedRowSum()
    far = make("BSVDDM", prior=prior, minority_prior=priors.Beta(20, 1, total=2.0)).fit(X, y)
    near = make("BSVDDM", prior=prior, minority_prior=priors.Beta(1, 20, total=0.1)).fit(X, y)
    ratio = [
        e.distance(X[y == 1]).mean().item() / e.distance(X[y == 0]).mean().item()
        for e in (far, near)
    ]
    assert ratio[0] > ratio[1] * 1.05
