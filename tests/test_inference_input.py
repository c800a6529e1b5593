"""Bad input: each message names the argument, says what came, and what to do."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.warning import DataWarning

from bsvdd import BDD, BSVDD, BSVDDM, SVDD, kernels, priors

NAMES = ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"]
BAYESIAN = ["BDD", "BSVDD", "BSVDDM"]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_missing_and_infinite_values_name_their_row(make, fitted, table, name, value):
    X, y = table
    X = X.copy()
    X[7, 1] = X[9, 0] = value
    message = rf"X contains NaN or infinity: X\[7, 1\] is {value} \(2 such rows\); drop or impute"
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, y)
    with pytest.raises(ValueError, match=message):
        fitted(name).predict(X)


def test_missing_values_of_a_data_frame(make, table):
    frame = pd.DataFrame(table[0])
    frame.iloc[4, 2] = None
    with pytest.raises(ValueError, match=r"X\[4, 2\] is nan \(1 such rows\)"):
        make("SVDD").fit(frame)


@pytest.mark.parametrize("method", ["predict", "score_samples", "probability_normal", "distance"])
def test_number_of_columns(fitted, new_rows, method):
    with pytest.raises(ValueError, match="X has 2 features, but BSVDD is expecting 3 features"):
        getattr(fitted("BSVDD"), method)(new_rows[:, :2])


@pytest.mark.parametrize("name", NAMES)
def test_one_class_only(make, table, name):
    X, _ = table
    with pytest.raises(ValueError, match="y has one class only, the label 0, .*minor_label="):
        make(name).fit(X, np.zeros(30, dtype=int))
    with pytest.raises(ValueError, match="every row is minority, and no majority row is left"):
        make(name, minor_label=1).fit(X, np.ones(30, dtype=int))


def test_price_below_one_over_n0(make, table):
    with pytest.raises(
        ValueError, match=r"C must be at least 1/n0 = 0.0416667 for 24 .* got 0.04$"
    ):
        make("SVDD", C=0.04).fit(*table)


@pytest.mark.parametrize("y", [None, "majority only"])
def test_bsvdd_m_without_minority_rows(make, table, y):
    X, _ = table
    y = None if y is None else np.zeros(30)
    message = (
        r"BSVDDM learns from minority rows, but there is none \(n1 = 0\); give y with at least"
    )
    with pytest.raises(ValueError, match=message):
        make("BSVDDM", minor_label=1).fit(X, y)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bandwidth", ["silverman", -1.0, 0, np.nan])
def test_bandwidth(make, table, name, bandwidth):
    message = rf"bandwidth(={bandwidth!r} is unknown; expected| must be positive and finite, got)"
    with pytest.raises(ValueError, match=message):
        make(name, kernel=kernels.RBF(bandwidth)).fit(*table)


@pytest.mark.parametrize("bandwidth", [None, [1.0, 2.0]], ids=repr)
def test_bandwidth_of_the_wrong_type(make, table, bandwidth):
    with pytest.raises((TypeError, ValueError), match="bandwidth"):
        make("SVDD", kernel=kernels.RBF(bandwidth)).fit(*table)


@pytest.mark.parametrize("name", NAMES)
def test_kernel_of_the_wrong_type(make, table, name):
    with pytest.raises(TypeError, match=r"kernel must be a kernel such as .*, got 'rbf'"):
        make(name, kernel="rbf").fit(*table)


@pytest.mark.parametrize(("name", "variable"), [("BSVDD", "beta"), ("BSVDDM", "tau")])
def test_prior_of_the_wrong_type(make, table, name, variable):
    with pytest.raises(
        TypeError, match=rf"prior of {variable}: expected a prior such as .* 'flat'"
    ):
        make(name, prior="flat").fit(*table)


def test_minority_prior_of_the_wrong_type(make, table):
    with pytest.raises(TypeError, match="prior of alpha1: expected a prior such as .*, got 0.5"):
        make("BSVDDM", minority_prior=0.5).fit(*table)


def test_closed_form_with_a_prior_that_is_not_normal(make, table):
    with pytest.raises(TypeError, match="needs a normal prior .*sample it with sampler='nuts'"):
        make("BDD", prior=priors.Beta()).fit(*table)


@pytest.mark.parametrize(("name", "variable"), [("BSVDD", "beta"), ("BSVDDM", "tau")])
def test_prior_of_the_wrong_shape(make, table, name, variable):
    import pymc as pm

    message = rf"prior of {variable}: .* one value for each of the 24 points .*\(pass dims=dims\)"
    with pytest.raises(ValueError, match=message):
        make(name, prior=lambda gram, name, dims: pm.Normal(name, shape=3)).fit(*table)


@pytest.mark.parametrize("name", BAYESIAN)
def test_negative_row_sums(make, table, name):
    est = make(name, kernel=kernels.Linear(), prior=priors.RowSum(exponent=0.5))
    with pytest.raises(ValueError, match=r"RowSum: row \d+ .* negative sum -.*use another kernel"):
        est.fit(*table)


@pytest.mark.parametrize("name", NAMES)
def test_precomputed_kernels(make, table, name):
    X, y = table
    K = kernels.RBF(1.5)(X)
    est = make(name, kernel=kernels.Precomputed())
    crooked = K.copy()
    crooked[3, 8] += 0.125
    with pytest.raises(ValueError, match=r"must be symmetric, but K\[3, 8\] = .* and K\[8, 3\] ="):
        est.fit(crooked, y)
    with pytest.raises(ValueError, match=r"fitted on a square matrix, got \(30, 20\)"):
        est.fit(K[:, :20], y)
    est.fit(K, y)
    with pytest.raises(ValueError, match=r"rows of 31 columns.*k\(z, z\), got 30 columns; where"):
        est.predict(K)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("SVDD", {"C": -1.0}, "'C' parameter of SVDD"),
        ("SVDD", {"outlier_fraction": 0.0}, "'outlier_fraction' parameter"),
        ("SVDD", {"outlier_fraction": 1.5}, "'outlier_fraction' parameter"),
        ("BSVDD", {"likelihood_scale": 0.0}, "'likelihood_scale' parameter"),
        ("BSVDD", {"sampler": "exact"}, "'sampler' parameter of BSVDD"),
        ("BSVDD", {"draws": 0}, "'draws' parameter"),
        ("BSVDD", {"tune": -1}, "'tune' parameter"),
        ("BSVDDM", {"chains": 0}, "'chains' parameter"),
        ("BDD", {"simplex": "yes"}, "'simplex' parameter"),
        ("BSVDD", {"random_state": "x"}, "'random_state' parameter"),
        ("BSVDD", {"cutoff": "youden"}, "cutoff: criterion must be one of"),
        ("BSVDD", {"cutoff": -0.5}, "cutoff: a distance is at least 0 and finite, got -0.5"),
        ("BSVDD", {"cutoff": "radius"}, "criterion='radius' is for SVDD; BSVDD has no radius"),
    ],
    ids=repr,
)
def test_parameters(make, table, name, changes, message):
    with pytest.raises(ValueError, match=message):
        make(name, **changes).fit(*table)


def test_a_cutoff_that_cannot_be_is_found_before_sampling(make, table, monkeypatch):
    """A typing error must not cost the run that comes before it."""
    est = make("BSVDD", cutoff="youden")
    monkeypatch.setattr(BSVDD, "_draw", lambda self, gram: pytest.fail("sampled first"))
    with pytest.raises(ValueError, match="cutoff: criterion must be one of"):
        est.fit(*table)


def test_more_folds_than_rows(make, table):
    from bsvdd import Cutoff

    with pytest.raises(ValueError, match=r"cv=7 folds need at least 7 minority rows, got 6; use"):
        make("SVDD", cutoff=Cutoff("g_mean", cv=7)).fit(*table)


@pytest.mark.parametrize("name", NAMES)
def test_constant_column_warns_and_works(make, table, new_rows, name):
    X, y = table
    X = np.insert(X, 1, 5.0, axis=1)
    with pytest.warns(
        DataWarning, match=r"1 column\(s\) of X are constant .*\(1\): they"
    ) as caught:
        est = make(name).fit(X, y)
    assert [w.filename for w in caught if w.category is DataWarning] == [__file__]
    assert np.isfinite(est.score_samples(np.insert(new_rows, 1, 5.0, axis=1))).all()


@pytest.mark.parametrize("kernel", [kernels.RBF(), kernels.Linear()], ids=repr)
@pytest.mark.parametrize("name", NAMES)
def test_duplicate_rows_work(make, table, new_rows, name, kernel):
    X, y = table
    est = make(name, kernel=kernel).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    p = est.probability_normal(new_rows)
    assert np.isfinite(est.score_samples(new_rows)).all()
    assert ((p >= 0) & (p <= 1)).all()


def test_all_rows_equal():
    X = np.ones((20, 2))
    for cls in (SVDD, BDD, BSVDD):
        message = "bandwidth='modified_mean' gives 0.0 .*give the bandwidth as a number"
        with pytest.warns(DataWarning), pytest.raises(ValueError, match=message):
            cls().fit(X)


@pytest.mark.parametrize("cls", [SVDD, BDD, BSVDD, BSVDDM])
def test_scoring_before_fitting(cls):
    with pytest.raises(ValueError, match=f"This {cls.__name__} instance is not fitted yet"):
        cls().predict([[1.0]])


@pytest.mark.parametrize("name", NAMES)
def test_sparse_and_one_dimensional_tables(make, table, name):
    from scipy.sparse import csr_matrix

    X, y = table
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        make(name).fit(X[:, 0], y)
    with pytest.raises(TypeError, match="[Ss]parse"):
        make(name).fit(csr_matrix(X), y)
