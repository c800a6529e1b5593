"""Bad input: each message names the argument, says what came, and what to do."""

import re

import dask.array as da
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr
from bsvdd.inference.warning import DataWarning
from scipy.sparse import csr_matrix

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, Cutoff, kernels, priors

NAMES = ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"]
BAYESIAN = ["BDD", "BSVDD", "BSVDDM"]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
each = pytest.mark.parametrize("name", NAMES)


def student(gram, name, dims):
    return pm.StudentT(name, 4.0, dims=dims)


# rows


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@each
def test_missing_and_infinite_values_name_their_row(make, fitted, table, name, value):
    X, y = table
    X = X.copy()
    X[7, 1] = X[9, 0] = value
    message = rf"X contains NaN or infinity: X\[7, 1\] is {value} \(2 such rows\); drop or impute"
    with pytest.raises(ValueError, match=message):
        make(name).fit(X, y)
    with pytest.raises(ValueError, match=message):
        fitted(name).predict(X)


@each
def test_number_of_columns(fitted, new_rows, name):
    est = fitted(name)
    for method in ("predict", "score_samples", "probability_normal", "distance", "p_value"):
        with pytest.raises(ValueError, match=r"X has 2 features, but B?\w+ is expecting 3 feature"):
            getattr(est, method)(new_rows[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        est.predict(new_rows[:, 0])
    with pytest.raises(TypeError, match="[Ss]parse"):
        est.fit(csr_matrix(new_rows))


DAY, SPAN = np.datetime64("2020-01-01"), np.timedelta64(3, "D")
RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(20, 2))


def with_objects(value):
    rows = ROWS.astype(object)
    rows[3, 1] = value
    return rows


@pytest.mark.parametrize("value", [DAY, SPAN], ids=["date", "span"])
@pytest.mark.parametrize(
    "form",
    [
        with_objects,
        lambda value: with_objects(value).tolist(),
        lambda value: ((value, value),) * 20,
        lambda value: np.full((20, 2), value),
    ],
    ids=["objects", "list", "tuple", "array"],
)
def test_dates_are_no_numbers(value, form):
    kind = type(value).__name__
    with pytest.raises(TypeError, match=rf"X must be numbers, got {kind}.*days since the first"):
        SVDD(cutoff=1.0).fit(form(value))
    with pytest.raises(TypeError, match=rf"X must be numbers, got {kind}"):
        SVDD(cutoff=1.0).fit(ROWS).predict(form(value))


TEXTS = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "n": ["1", "2"], "d": ["u", None]})


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (ROWS[:1], ValueError, "(minimum of 2 is required|expected at least 2)"),
        ([[1.0], [1.0, 2.0]], ValueError, "X must be a table of numbers"),
        (
            [["1", "x"], ["2", "3"]],
            ValueError,
            r"^X must be a table of numbers \(rows, columns\): c",
        ),
        ([[{}], [{}]], TypeError, "X must be a table of numbers .* not 'dict'$"),
        (TEXTS, ValueError, r"X contains NaN or infinity: X\[1, 3\] is nan"),
        (
            pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([None, None], dtype=object)}),
            ValueError,
            r"X contains NaN or infinity: X\[0, 1\] is nan \(2 such",
        ),
        (ROWS + 1j, ValueError, "Complex data not supported"),
        (np.ma.array(ROWS, mask=ROWS > 1.5), ValueError, r"^X has \d masked values, which would"),
        (xr.DataArray(da.from_array(ROWS)), TypeError, r"'xarray.*an xarray object by \.data"),
    ],
    ids=range(9),
)
def test_tables_that_are_none(X, error, message):
    for est in (SVDD(cutoff=1.0), BDD(draws=20, dictionary=1, cutoff=1.0)):
        with pytest.raises(error, match=message):
            est.fit(X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_rows_without_the_names_of_the_fit_say_what_to_give():
    dates = pd.date_range("2023-03-23", periods=12)
    X = pd.DataFrame({"a": np.arange(12.0), "day": dates.astype(str)})
    est = SVDD(cutoff=1.0).fit(X)
    for bad in (X.to_numpy(), X.iloc[0], X.assign(day=dates).to_numpy()):
        with pytest.raises(
            (ValueError, TypeError), match=r"named columns: give a data frame \(one"
        ):
            est.p_value(bad)
    assert est.p_value(X.iloc[[0]]).shape == (1,)


def test_every_table_of_numbers_is_one():
    """By its decisions; values are float64 inside."""
    X = np.round(8.0 * ROWS)
    expected = BDD(cutoff=1.0, draws=50).fit(X)
    for rows in (
        X.tolist(),
        X.astype(np.float32),
        X.astype(int),
        X.astype(object),
        np.ma.array(X, mask=False),
        xr.DataArray(X, dims=("row", "column")),
        pd.DataFrame(X).astype({0: "Int64", 1: "category"}).to_numpy(),
    ):
        est = BDD(cutoff=1.0, draws=50).fit(rows)
        np.testing.assert_allclose(est.decision_function(rows), expected.decision_function(X))
        assert est.idata_["constant_data"]["X"].dtype == np.float64
        np.testing.assert_array_equal(est.select(rows), expected.select(X))


@each
def test_rows_far_from_the_origin_leave_few_digits(make, table, name):
    X, y = table
    far = "kernel values of up to .* leave few digits to distances of .*; centre the columns of X"
    prior = {"prior": priors.StandardizedRowSum()} if name.startswith("BSVDD") else {}
    prior |= {"likelihood_scale": 1.0} if name in ("BDD", "BSVDD") else {}
    with pytest.warns(DataWarning, match=far) as caught:
        make(name, kernel=kernels.Linear(), **prior).fit(X + 1e6, y)
    assert [w.filename for w in caught if w.category is DataWarning] == [__file__]
    for kernel in (kernels.Standardized(kernels.Linear()), kernels.RBF(1.5)):
        make(name, kernel=kernel, **prior).fit(X + 1e6, y)  # pytest takes a warning for an error
    make(name, kernel=kernels.Linear(), **prior).fit(X, y)


@each
def test_constant_columns_warn_and_work(make, table, new_rows, name):
    """But for the default kernel, which says what they are worth."""
    X, y = table
    kernel = kernels.Standardized(kernels.RBF())
    for constant in ([1], [0, 2], range(3)):
        found = f"{len(constant)} column(s) of X are constant over the majority rows"
        found += f" ({', '.join(map(str, constant))}), and this kernel"
        broad = X.copy()
        broad[:, list(constant)] = 5.0
        if len(constant) == 3:
            broad, found = np.insert(X, [0] * 6, 5.0, axis=1), "rows (0, 1, 2, 3, 4, ...), and"
        with pytest.warns(DataWarning, match=re.escape(found)) as caught:
            est = make(name, kernel=kernel).fit(broad, y)
        assert [w.filename for w in caught if w.category is DataWarning] == [__file__]
        assert np.isfinite(est.score_samples(broad[:4])).all()


@pytest.mark.parametrize("cls", [SVDD, BDD, BSVDD])
def test_a_row_that_breaks_a_constant_column_is_abnormal_by_that_column(cls):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"]).assign(k=0.1)
    est = cls(random_state=0).fit(X)
    new = pd.DataFrame(np.zeros((2, 4)), columns=X.columns).assign(k=[0.1, 0.1001])
    assert est.predict(new).tolist() == [1, -1]
    if cls is not BDD:  # whose weights may be negative: no shares of columns
        assert est.explain(new).top_columns(1)["column_1"].iloc[1] == "k"
    change = est.explain(new).changes["change"].values[1]
    assert change[3] == pytest.approx(-0.0001)
    np.testing.assert_allclose(change[:3], 0.0, atol=0.05)


@pytest.mark.parametrize("kernel", [kernels.RBF(), kernels.Laplacian()], ids=repr)
def test_a_raw_kernel_of_columns_of_very_different_scales_warns(kernel):
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 150.0, 20.0] + 1e3
    message = (
        r"column 1 of X is 1\d\d, that of column 0 .*\d: .*use kernels.Tabular\(\) or kernels.S"
    )
    with pytest.warns(DataWarning, match=message):
        SVDD(kernel=kernel, cutoff=1.0).fit(X)
    for known in (kernels.Tabular(kernel), kernels.Standardized(kernel)):
        SVDD(kernel=known, cutoff=1.0).fit(X)
    SVDD(kernel=kernel, cutoff=1.0).fit(X / [1.0, 2.0, 1.0])


def test_the_kernel_of_a_fit_is_not_checked_twice():
    calls = []

    def cauchy(A, B):
        calls.append(len(A))
        return 1.0 / (1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=-1))

    SVDD(kernel=kernels.Custom(cauchy), cutoff=1.0).fit(ROWS)
    assert calls.count(10) == 1  # half of the rows, in the check only


# labels


# parameters


def three(gram, name, dims):
    return pm.Normal(name, shape=3)


EXACT = r"sampler='exact' needs .* normal priors only .*got prior=Beta.*'auto' or 'nuts'"
ON_SIMPLEX = "needs a normal prior .*; use draws with sampler='nuts', simplex=False"
SHAPE = r"prior of (beta|tau): .* one value for each of the 24 points .*\(pass dims=dims\)"
NO_LOO = "cutoff: BDD has no leave-one-out in closed form here .*; use cv='auto' or a number"
PARAMETERS = [
    ("SVDD", {"C": 0.04}, "C must be at least 1/n0 = 0.0416667 for 24 .* got 0.04: n0 C = 0.96$"),
    ("SVDD", {"C": -1.0}, "'C' parameter of SVDD"),
    ("SVDD", {"outlier_fraction": 0.0}, "'outlier_fraction' parameter"),
    ("SVDD", {"outlier_fraction": 1.5}, "'outlier_fraction' parameter"),
    ("BSVDD", {"likelihood_scale": 0.0}, "'likelihood_scale' parameter"),
    ("BSVDDM", {"likelihood_scale": 1e300}, r"likelihood_scale.*range \(0\.0, 1e\+20\]"),
    ("BDD", {"likelihood_scale": np.inf}, r"likelihood_scale.*range \(0\.0, 1e\+20\]"),
    ("BSVDD", {"sampler": "exact"}, "'sampler' parameter of BSVDD"),
    ("BSVDD", {"draws": 0}, "'draws' parameter"),
    ("BSVDD", {"tune": -1}, "'tune' parameter"),
    ("BSVDDM", {"chains": 0}, "'chains' parameter"),
    ("BDD", {"simplex": "yes"}, "'simplex' parameter"),
    ("BSVDD", {"random_state": "x"}, "'random_state' parameter"),
    *(
        (name, {"kernel": "rbf"}, r"kernel must be a kernel such as .*, got 'rbf'")
        for name in NAMES
    ),
    ("BSVDD", {"prior": "flat"}, "prior of beta: expected a prior such as .* 'flat'"),
    ("BSVDDM", {"prior": "flat"}, "prior of tau: expected a prior such as .* 'flat'"),
    ("BSVDDM", {"minority_prior": 0.5}, "prior of alpha1: expected a prior such as .*, got 0.5"),
    ("BDD", {"prior": priors.Beta(), "sampler": "exact"}, EXACT),
    ("BDD simplex", {"prior": priors.Beta(), "sampler": "exact"}, ON_SIMPLEX),
    ("BSVDD", {"prior": three}, SHAPE),
    ("BSVDDM", {"prior": three}, SHAPE),
    *(
        (
            name,
            {"kernel": kernels.Linear(), "prior": priors.RowSum(exponent=0.5)},
            r"RowSum: row \d+ .* negative sum -.*use another kernel",
        )
        for name in BAYESIAN
    ),
    ("BDD", {"prior": student, "sampler": "nuts", "cutoff": Cutoff(cv="loo")}, NO_LOO),
]


def shown(value):
    """Return a parameter without its address, the same in all processes."""
    return re.sub(r" at 0x\w+", "", str(value))


@pytest.mark.parametrize(("name", "changes", "message"), PARAMETERS, ids=shown)
def test_parameters(make, table, name, changes, message):
    est = make(name, **changes)
    with pytest.raises((ValueError, TypeError), match=message):
        est.fit(*table)
    assert not hasattr(est, "cutoff_")


@pytest.mark.long
def test_left_out_rows_of_a_prior_that_is_not_normal_are_five_folds(make, table):
    est = make("BDD", prior=student, cutoff="g_mean", draws=20, tune=20).fit(*table)
    assert est.cutoff_ == est.with_cutoff(Cutoff("g_mean", cv=5)).cutoff_
    assert np.isfinite(est.with_cutoff(Cutoff("g_mean", cv="train")).cutoff_)
    with pytest.raises(ValueError, match=NO_LOO):
        est.with_cutoff(Cutoff(cv="loo"))


# the cutoff


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
    ("model", ValueError, "'model' is for models with a boundary .* has none: use"),
]


@each
@pytest.mark.parametrize(("cutoff", "error", "message"), BAD_CUTOFFS, ids=repr)
def test_cutoffs_that_cannot_be(make, fitted, table, name, cutoff, error, message):
    """Refused before sampling, and a fitted estimator stays as it is."""
    if (name, cutoff) == ("SVDD", "model"):
        return  # the one that has a boundary

    def prior(gram, name, dims):
        pytest.fail("sampled first")

    changes = {"prior": prior, "sampler": "nuts"} if name in BAYESIAN else {}
    est = make(name, cutoff=cutoff, **changes)
    with pytest.raises(error, match=message):
        est.fit(*table)
    assert not hasattr(est, "cutoff_")
    est = fitted(name)
    before = est.cutoff_, est.level_, est.cutoff
    with pytest.raises(error, match=message):
        est.with_cutoff(cutoff)
    assert (est.cutoff_, est.level_, est.cutoff) == before
    assert float(est.idata_["decision"]["cutoff"]) == est.cutoff_


# numbers of rows


@pytest.mark.parametrize(
    ("est", "n0", "n1", "message"),
    [
        (SVDD(), 20_001, 0, "the kernel matrix of 20001 rows"),
        (BSVDD(dictionary=None), 20_001, 5, "the kernel matrix of 20001 rows"),
        (BSVDDM(dictionary=None), 19_998, 3, "the kernel matrix of 20001 rows"),
        (BSVDDM(), 50, 0, "BSVDDM learns from minority rows"),
        (BDDM(), 50, 0, "BDDM learns from minority rows"),
        (BSVDD(dictionary=51), 50, 9, "51 landmarks cannot be chosen from 50 rows"),
        (BSVDD(), 8, 0, "a false-alarm rate of 0.1 needs at least 9 .* got 8"),
        (SVDD(cutoff=Cutoff(false_alarm_rate=0.05)), 18, 0, "needs at least 19 .* got 18"),
        (SVDD(cutoff=Cutoff("false_alarm")), 8, 5, "needs at least 9"),
        (SVDD(cutoff=Cutoff("g_mean")), 50, 0, "there is no minority row"),
        (SVDD(), 20_000, 100, None),
        (BSVDD(dictionary=500), 200_000, 0, None),
        (BSVDD(), 9, 0, None),
        (SVDD(), 8, 2, None),
        (BSVDDM(), 8, 2, None),
    ],
)
def test_numbers_of_rows_are_checked_without_rows(est, n0, n1, message):
    minority = np.repeat([False, True], [n0, n1])
    if message is None:
        est.check_rows(minority)
    else:
        with pytest.raises(ValueError, match=message):
            est.check_rows(minority)
