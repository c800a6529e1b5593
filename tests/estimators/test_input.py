"""Bad input: each message names the argument, says what came, and what to do."""

import re

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.bayesian import BayesianDataDescription
from bsvdd.inference import sampling
from bsvdd.inference.warning import DataWarning

from bsvdd import BDD, BSVDD, BSVDDM, SVDD, Cutoff, kernels, priors

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
    frame = pd.DataFrame(table[0].copy())  # pandas 2 would write into the fixture
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
        ValueError, match=r"C must be at least 1/n0 = 0.0416667 for 24 .* got 0.04: n0 C = 0.96$"
    ):
        make("SVDD", C=0.04).fit(*table)


@pytest.mark.parametrize("y", [None, "majority only"])
def test_bsvdd_m_without_minority_rows(make, table, y):
    X, _ = table
    missing = "it requires y to be passed, but the target y is None; " if y is None else ""
    y = None if y is None else np.zeros(30)
    message = (
        r"BSVDDM learns from minority rows, but there is none \(n1 = 0\); "
        rf"{missing}give y with at least one minority row, or use a one-class model such as BSVDD$"
    )
    with pytest.raises(ValueError, match=message):
        make("BSVDDM", minor_label=1).fit(X, y)


@pytest.mark.parametrize("bandwidth", ["nearest", -1.0, 0, np.nan, None, [1.0, 2.0]], ids=repr)
def test_bandwidth(bandwidth):
    """Found when the kernel is made, so that no estimator ever has such a kernel."""
    message = re.escape(
        "bandwidth must be a positive number or one of ['auto', 'likelihood', "
        "'max_variance_ratio', 'mean', 'median', 'modified_mean', 'peak', 'scale', 'scott', "
        "'silverman'], got "
        f"{bandwidth!r}"
    )
    for kernel in (kernels.RBF, kernels.Laplacian):
        with pytest.raises(ValueError, match=message):
            kernel(bandwidth)


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
    messages = {
        "BDD": r"sampler='exact' needs .* normal priors only .*got prior=Beta.*'auto' or 'nuts'",
        "BDD simplex": "needs a normal prior .*; use draws with sampler='nuts', simplex=False",
    }
    for name, message in messages.items():
        with pytest.raises(TypeError, match=message):
            make(name, prior=priors.Beta(), sampler="exact").fit(*table)


ALL_CUTOFFS = (Cutoff("g_mean", cv="train"), Cutoff("g_mean", cv=2), 0.8)


# PyMC compiles for each fit by Metropolis
@pytest.mark.parametrize(
    ("sampler", "cutoffs"),
    [
        ("nuts", ALL_CUTOFFS),
        ("metropolis", ALL_CUTOFFS[:1]),
        pytest.param("metropolis", ALL_CUTOFFS, marks=pytest.mark.long),
    ],
)
def test_closed_form_of_left_out_rows_with_a_prior_that_is_not_normal(
    make, table, sampler, cutoffs
):
    import pymc as pm

    def prior(gram, name, dims):
        return pm.StudentT(name, 4.0, dims=dims)

    est = make("BDD", prior=prior, sampler=sampler)
    message = "cutoff: BDD has no leave-one-out in closed form here .*; use cv='auto' or a number"
    with pytest.raises(ValueError, match=message):
        est.set_params(cutoff=Cutoff("false_alarm", cv="loo")).fit(*table)
    assert not hasattr(est, "cutoff_")
    for cutoff in cutoffs:
        assert np.isfinite(est.set_params(cutoff=cutoff).fit(*table).cutoff_)
    with pytest.raises(ValueError, match=message):
        est.with_cutoff(Cutoff(cv="loo"))


def test_automatic_left_out_rows_are_five_folds_where_there_is_no_closed_form(make, table):
    import pymc as pm

    def prior(gram, name, dims):
        return pm.StudentT(name, 4.0, dims=dims)

    est = make("BDD", prior=prior, sampler="nuts", cutoff="g_mean").fit(*table)
    assert est.cutoff_ == est.with_cutoff(Cutoff("g_mean", cv=5)).cutoff_


def test_left_out_rows_with_such_a_prior_are_refused_before_sampling(make, table, no_draws):
    est = make("BDD", prior=lambda gram, name, dims: None, sampler="nuts")
    with pytest.raises(ValueError, match="cutoff: BDD has no leave-one-out in closed form"):
        est.set_params(cutoff=Cutoff("false_alarm", cv="loo")).fit(*table)


def test_bdd_says_that_its_precision_is_not_positive_definite(table):
    X, _ = table
    est = BDD(kernel=kernels.Linear(), prior=priors.Flat(), likelihood_scale=1e9)
    with pytest.raises(ValueError, match="precision of BDD is not positive definite in double"):
        est.fit(X + 1e3)
    assert not hasattr(est, "cutoff_")


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
    with pytest.raises(ValueError, match=r"rows of 31 columns.*k\(z, z\), got 30 columns; if k"):
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
    ],
    ids=repr,
)
def test_parameters(make, table, name, changes, message):
    with pytest.raises(ValueError, match=message):
        make(name, **changes).fit(*table)


BAD_CUTOFFS = [
    ("youden", ValueError, "cutoff: criterion must be a number or one of .*, got 'youden'"),
    ("radius", ValueError, "cutoff: criterion must be a number or one of .*, got 'radius'"),
    (np.nan, ValueError, "cutoff: a number must be finite, got nan"),
    (np.inf, ValueError, "cutoff: a number must be finite, got inf"),
    (-0.5, ValueError, "cutoff: a distance is at least 0, got -0.5"),
    (Cutoff(-0.5, level=0.2), ValueError, "cutoff: a distance is at least 0, got -0.5"),
    (True, TypeError, "cutoff must be None, a criterion's name, a Cutoff or a number, got True"),
    ([1.0], TypeError, "cutoff must be None, a criterion's name, a Cutoff or a number, got"),
    (Cutoff("g_mean", cv=7), ValueError, "cv=7 folds need at least 7 minority rows, got 6; use"),
    (Cutoff(0.7, cv=25), ValueError, "cv=25 folds need at least 25 majority rows, got 24; use"),
]
OF_NO_MODEL = ("model", ValueError, "'model' is for models with a boundary .* has none: use")
OF_TWO_CLASSES = [
    (c, ValueError, f"criterion='{c}' compares .*no minority row; use criterion='false_alarm'")
    for c in ("g_mean", "balanced_accuracy", "f1", "cost")
]


@pytest.fixture
def no_draws(monkeypatch):
    """Nothing may be drawn or solved: a typing error must not cost the run before it."""

    def fail(*args, **kwargs):
        pytest.fail("sampled first")

    monkeypatch.setattr(sampling, "draw", fail)
    for cls in (SVDD, BDD, BayesianDataDescription):
        monkeypatch.setattr(cls, "_draw", fail)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("cutoff", "error", "message"), [*BAD_CUTOFFS, OF_NO_MODEL], ids=repr)
def test_a_cutoff_that_cannot_be_is_found_before_sampling(
    make, table, no_draws, name, cutoff, error, message
):
    if (name, cutoff) == ("SVDD", "model"):
        return  # the one that has a boundary
    est = make(name, cutoff=cutoff)
    with pytest.raises(error, match=message):
        est.fit(*table)
    assert not hasattr(est, "cutoff_")


@pytest.mark.parametrize("name", ["SVDD", "BDD", "BDD simplex", "BSVDD"])
@pytest.mark.parametrize(("cutoff", "error", "message"), OF_TWO_CLASSES, ids=repr)
def test_criteria_of_two_classes_without_minority_rows(
    make, table, no_draws, name, cutoff, error, message
):
    X, y = table
    for policy in (cutoff, Cutoff(cutoff, cv="train"), Cutoff(cutoff, cv=3)):
        with pytest.raises(error, match=message):
            make(name, cutoff=policy).fit(X[y == 0])


@pytest.fixture
def est(fitted, name):
    """The fitted quick estimator of ``name``; requested before ``no_draws``, it is fitted then."""
    return fitted(name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("cutoff", "error", "message"), [*BAD_CUTOFFS, OF_NO_MODEL], ids=repr)
def test_a_fitted_estimator_refuses_such_a_cutoff_and_stays_as_it_is(
    est, no_draws, name, cutoff, error, message
):
    if (name, cutoff) == ("SVDD", "model"):
        return
    before = est.cutoff_, est.level_, est.cutoff
    with pytest.raises(error, match=message):
        est.with_cutoff(cutoff)
    assert (est.cutoff_, est.level_, est.cutoff) == before
    assert float(est.idata_["decision"]["cutoff"]) == est.cutoff_


@pytest.mark.parametrize("name", NAMES)
def test_rows_far_from_the_origin_leave_few_digits(make, table, name):
    X, y = table
    far = "kernel values of up to .* leave few digits to distances of .*; centre the columns of X"
    prior = {"prior": priors.StandardizedRowSum()} if name.startswith("BSVDD") else {}
    with pytest.warns(DataWarning, match=far) as caught:
        make(name, kernel=kernels.Linear(), **prior).fit(X + 1e6, y)
    assert [w.filename for w in caught if w.category is DataWarning] == [__file__]
    for kernel in (kernels.Standardized(kernels.Linear()), kernels.RBF(1.5)):
        make(name, kernel=kernel, **prior).fit(X + 1e6, y)  # pytest takes a warning for an error
    make(name, kernel=kernels.Linear(), **prior).fit(X, y)


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
    prior = {"prior": priors.StandardizedRowSum()} if name.startswith("BSVDD") else {}
    est = make(name, kernel=kernel, **prior).fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    p = est.probability_normal(new_rows)
    assert np.isfinite(est.score_samples(new_rows)).all()
    assert ((p >= 0) & (p <= 1)).all()


def test_all_rows_equal():
    X = np.ones((20, 2))
    for cls in (SVDD, BDD, BSVDD):
        message = (
            "bandwidth='(modified_mean|likelihood)' gives 0.0 .*give the bandwidth as a number"
        )
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


@pytest.mark.parametrize(
    ("est", "n0", "n1", "message"),
    [
        (SVDD(), 20_001, 0, "the kernel matrix of 20001 rows"),
        (BSVDD(dictionary=None), 20_001, 5, "the kernel matrix of 20001 rows"),
        (BSVDDM(dictionary=None), 19_998, 3, "the kernel matrix of 20001 rows"),
        (BSVDDM(), 50, 0, "BSVDDM learns from minority rows"),
        (BSVDD(dictionary=51), 50, 9, "51 landmarks cannot be chosen from 50 rows"),
        (BSVDD(), 8, 0, "a false-alarm rate of 0.1 needs at least 9 .* got 8"),
        (SVDD(cutoff=Cutoff(false_alarm_rate=0.05)), 18, 0, "needs at least 19 .* got 18"),
        (SVDD(cutoff=Cutoff("false_alarm")), 8, 5, "needs at least 9"),
        (SVDD(cutoff=Cutoff("g_mean")), 50, 0, "there is no minority row"),
    ],
)
def test_numbers_of_rows_that_no_fit_takes_are_refused_without_rows(est, n0, n1, message):
    with pytest.raises(ValueError, match=message):
        est.check_rows(np.repeat([False, True], [n0, n1]))


@pytest.mark.parametrize(
    ("est", "n0", "n1"),
    [
        (SVDD(), 20_000, 100),
        (BSVDD(dictionary=500), 200_000, 0),
        (BSVDD(), 9, 0),
        (SVDD(), 8, 2),
        (BSVDDM(), 8, 2),
    ],
)
def test_numbers_of_rows_that_a_fit_takes_pass(est, n0, n1):
    est.check_rows(np.repeat([False, True], [n0, n1]))


def test_columns_of_text_of_a_data_frame_are_named():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "city": ["u", "v", "u"], "n": ["1", "2", "3"]})
    with pytest.raises(
        ValueError, match="X must be a table of numbers .*; column 'city' is not nu"
    ):
        BDD().fit(X)
