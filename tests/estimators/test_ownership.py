"""What a fit holds is its own: changing the arguments afterwards changes no later result."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.registry import REGISTRY

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, SVDD, Cutoff, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
QUICK = {"draws": 40, "tune": 40}


def results(est, Z, tmp_path):
    """Return what can still be asked of a fitted estimator, also by fits to its rows."""
    path = tmp_path / f"{np.random.default_rng().integers(1 << 40)}.nc"
    est.save(path)
    loaded = bsvdd.load(path)
    numbers = {
        "score": est.score_samples(Z),
        "probability": est.probability_normal(Z),
        "loaded": loaded.score_samples(Z),
        "rows": loaded.idata_["constant_data"]["X"].values,
        "folds": np.array(est.with_cutoff(Cutoff("g_mean", cv=3)).cutoff_),
        "cutoff": np.array(est.with_cutoff(Cutoff("f1", cv="train")).cutoff_),
    }
    if hasattr(est, "with_prior"):
        other = est.with_prior(priors.Flat(0.8))
        numbers |= {"prior": other.score_samples(Z), "health": est.prior_health().to_numpy()}
        numbers["sensitivity"] = est.sensitivity(Z[:2]).to_numpy()
    return numbers


def assert_same(before, after):
    assert before.keys() == after.keys()
    for name, values in before.items():
        np.testing.assert_array_equal(values, after[name], err_msg=name)


@pytest.mark.parametrize("name", REGISTRY)
def test_rows_and_labels(name, table, new_rows, tmp_path):
    X, y = (each.copy() for each in table)
    cls = REGISTRY[name].estimator()
    settings = {**QUICK, "neighbors": 2}
    est = cls(**{k: v for k, v in settings.items() if k in REGISTRY[name].parameters})
    if name == "BSVDD-M":
        est.set_params(minority_prior=priors.Beta(total=1))
    est.fit(X, y)
    before = results(est, new_rows, tmp_path)
    X *= 10
    y[:] = 1 - y
    assert_same(before, results(est, new_rows, tmp_path))


@pytest.mark.parametrize("make", [SVDD, BDD, BSVDD], ids=lambda cls: cls.__name__)
def test_a_data_frame(make, table, new_rows, tmp_path):
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"])
    labels = pd.Series(table[1])
    new = pd.DataFrame(new_rows, columns=frame.columns)
    est = make(**({} if make is SVDD else QUICK)).fit(frame, labels)
    before = results(est, new, tmp_path)
    frame.iloc[:, :] = 0.0
    labels[:] = 0
    assert_same(before, results(est, new, tmp_path))


def test_points_of_a_dictionary(table, new_rows, tmp_path):
    points = table[0][:8].copy()
    est = BDD(dictionary=points, **QUICK).fit(*table)
    before = results(est, new_rows, tmp_path)
    points *= 3
    after = results(est, new_rows, tmp_path)
    assert_same(before, after)


def test_arrays_of_priors(table, new_rows, tmp_path):
    m, sigma, mean = np.linspace(-1, 1, 24), np.eye(24), np.full(6, 0.1)
    majority = priors.Normal(m=m, sigma=sigma)
    est = BSVDDM(prior=majority, minority_prior=priors.TruncatedNormal(mean=mean), **QUICK).fit(
        *table
    )
    before = results(est, new_rows, tmp_path)
    m += 1
    sigma *= 5
    mean += 0.5
    assert_same(before, results(est, new_rows, tmp_path))


def test_a_precomputed_kernel(table):
    X, y = table
    K = kernels.RBF(1.5)(X)
    est = BDD(kernel=kernels.Precomputed(), **QUICK).fit(K, y)
    Z = np.column_stack([K[:4], np.ones(4)])
    before = est.score_samples(Z), est.with_cutoff(Cutoff("g_mean", cv=3)).cutoff_
    kept = Z.copy()
    K *= 2
    np.testing.assert_array_equal(est.score_samples(kept), before[0])
    assert est.with_cutoff(Cutoff("g_mean", cv=3)).cutoff_ == before[1]


def test_the_rows_that_a_fit_shows_cannot_be_written_to(fitted):
    rows = fitted("SVDD").idata_["constant_data"]["X"].values
    with pytest.raises(ValueError, match="read-only"):
        rows[0, 0] = 1.0


def test_a_refused_refit_leaves_the_fit_as_it_was(table, new_rows, tmp_path):
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"])
    est = SVDD().fit(frame)
    new = pd.DataFrame(new_rows, columns=["a", "b", "c"])
    before = est.predict(new)
    bad = frame[["c", "b", "a"]].copy()
    bad.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        est.fit(bad)
    assert list(est.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(est.predict(new), before)
    with pytest.raises(ValueError, match="criterion"):
        est.set_params(cutoff="nothing").fit(bad.fillna(0.0))
    np.testing.assert_array_equal(est.predict(new), before)
