"""Bad input: each message names the argument, says what came, and what to do."""

import re
from contextlib import nullcontext
from functools import partial

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from bsvdd.estimators.reading import check_rows
from bsvdd.inference.warning import DataWarning
from scipy.sparse import csr_matrix

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, SVDDM, Cutoff, cutoffs, kernels, priors

NAMES = ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"]
BAYESIAN = ["BDD", "BSVDD", "BSVDDM"]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
each = pytest.mark.parametrize("name", NAMES)


def student(gram, name, dims):
    return pm.StudentT(name, 4.0, dims=dims)


# rows


@each
def test_rows_of_another_shape_or_with_gaps(make, fitted, table, new_rows, name):
    X, y = table
    X = X.copy()
    X[7, 1] = X[9, 0] = np.nan
    gaps = r"X contains NaN or infinity: X\[7, 1\] is nan \(2 such rows\); drop or impute"
    est = fitted(name)
    with pytest.raises(ValueError, match=gaps):
        make(name).fit(X, y)
    with pytest.raises(ValueError, match=gaps):
        est.predict(X)
    methods = est.predict, est.score_samples, est.probability_normal, est.distance
    for ask in (*methods, partial(bsvdd.p_value, est)):
        with pytest.raises(ValueError, match=r"X has 2 features, but B?\w+ is expecting 3 feature"):
            ask(new_rows[:, :2])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        est.predict(new_rows[:, 0])
    with pytest.raises(TypeError, match="[Ss]parse"):
        make(name).fit(csr_matrix(new_rows))


RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(20, 2))


def with_objects(value):
    rows = ROWS.astype(object)
    rows[3, 1] = value
    return rows


TEXTS = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "n": ["1", "2"], "d": ["u", None]})
EMPTY = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([None, None], dtype=object)})
NO_TABLE = r"^X must be a table of numbers \(rows, columns\): "
TABLES = [
    (ROWS[:1], ValueError, "(minimum of 2 is required|expected at least 2)"),
    ([[1.0], [1.0, 2.0]], ValueError, "X must be a table of numbers"),
    ([["1", "x"], ["2", "3"]], ValueError, NO_TABLE + "c"),
    ([[{}], [{}]], TypeError, "X must be a table of numbers .* not 'dict'$"),
    (TEXTS, ValueError, r"X contains NaN or infinity: X\[1, 3\] is nan"),
    (EMPTY, ValueError, r"X contains NaN or infinity: X\[0, 1\] is nan \(2 such"),
    (ROWS + 1j, ValueError, "Complex data not supported"),
    (np.ma.array(ROWS, mask=ROWS > 1.5), ValueError, r"^X has \d masked values, which would"),
    *(
        (rows, TypeError, f"X must be numbers, got {type(value).__name__}.*days since the first")
        for value in (np.datetime64("2020-01-01"), np.timedelta64(3, "D"))
        for rows in (
            with_objects(value),
            with_objects(value).tolist(),
            ((value, value),) * 20,
            np.full((20, 2), value),
        )
    ),
]


@pytest.mark.parametrize(("X", "error", "message"), TABLES, ids=range(len(TABLES)))
def test_tables_that_are_none(X, error, message):
    kernel = kernels.Tabular(missing="error")
    asks = [SVDD(cutoff=1.0, kernel=kernel).fit]
    asks += [BDD(draws=20, dictionary=1, cutoff=1.0, kernel=kernel).fit]
    if "must be numbers" in message:
        asks[1] = SVDD(cutoff=1.0).fit(ROWS).predict
    for ask in asks:
        with pytest.raises(error, match=message):
            ask(X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:column 'day' has dates")
def test_rows_without_the_names_of_the_fit_say_what_to_give():
    dates = pd.date_range("2023-03-23", periods=12)
    X = pd.DataFrame({"a": np.arange(12.0), "day": dates.astype(str)})
    est = SVDD(cutoff=1.0).fit(X)
    for bad in (X.to_numpy(), X.iloc[0], X.assign(day=dates).to_numpy()):
        with pytest.raises((ValueError, TypeError), match=r"columns: give a data frame \(one"):
            bsvdd.p_value(est, bad)
    assert bsvdd.p_value(est, X.iloc[[0]]).shape == (1,)


@each
def test_rows_far_from_the_origin_leave_few_digits(make, table, name):
    X, y = table
    far = "kernel values of up to .* leave few digits to distances of .*; centre the columns of X"
    prior = {"prior": priors.StandardizedRowSum()} if name.startswith("BSVDD") else {}
    prior |= {"likelihood_scale": 1.0} if name in ("BDD", "BSVDD") else {}
    with pytest.warns(DataWarning, match=far) as caught:
        make(name, kernel=kernels.Linear(), **prior).fit(X + 1e6, y)
    assert [w.filename for w in caught if w.category is DataWarning] == [__file__]
    # pytest takes a warning for an error
    for kernel in (kernels.Standardized(kernels.Linear()), kernels.RBF(1.5)):
        make(name, kernel=kernel, **prior).fit(X + 1e6, y)
    make(name, kernel=kernels.Linear(), **prior).fit(X, y)


@pytest.mark.parametrize(
    ("constant", "found"),
    [
        ([1], "1 column(s) of X are constant over the majority rows (1), and this kernel"),
        ([0, 2], "2 column(s) of X are constant over the majority rows (0, 2), and this kernel"),
        (range(6), "constant over the majority rows (0, 1, 2, 3, 4, ...), and"),
    ],
)
@each
def test_constant_columns_warn_and_work(make, table, name, constant, found):
    """But for the default kernel, which says what they are worth."""
    X, y = table
    X = np.insert(X, [0] * 6, 5.0, axis=1) if len(constant) == 6 else X.copy()
    X[:, list(constant)] = 5.0
    with pytest.warns(DataWarning, match=re.escape(found)) as caught:
        est = make(name, kernel=kernels.Standardized(kernels.RBF())).fit(X, y)
    assert [w.filename for w in caught if w.category is DataWarning] == [__file__]
    assert np.isfinite(est.score_samples(X[:4])).all()


@pytest.mark.parametrize("cls", [SVDD, BDD, BSVDD])
def test_a_row_that_breaks_a_constant_column_is_abnormal_by_that_column(cls):
    X = np.random.default_rng(0).normal(size=(60, 3))
    X = pd.DataFrame(X, columns=["a", "b", "c"]).assign(k=0.1)
    est = cls(random_state=0).fit(X)
    new = pd.DataFrame(np.zeros((2, 4)), columns=X.columns).assign(k=[0.1, 0.1001])
    assert est.predict(new).tolist() == [1, -1]
    why = bsvdd.explain(est, new)
    if cls is not BDD:  # whose weights may be negative: no shares of columns
        assert why.top_columns(1)["column_1"].iloc[1] == "k"
    change = why.changes["change"].values[1]
    assert change[3] == pytest.approx(-0.0001)
    np.testing.assert_allclose(change[:3], 0.0, atol=0.05)


@pytest.mark.parametrize("kernel", [kernels.RBF(), kernels.Laplacian()], ids=repr)
def test_a_raw_kernel_of_columns_of_very_different_scales_warns(kernel):
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 150.0, 20.0] + 1e3
    scales = (
        r"column 1 of X is 1\d\d, that of column 0 .*\d: .*use kernels.Tabular\(\) or kernels.S"
    )
    with pytest.warns(DataWarning, match=scales):
        SVDD(kernel=kernel, cutoff=1.0).fit(X)
    for known in (kernels.Tabular(kernel), kernels.Standardized(kernel)):
        SVDD(kernel=known, cutoff=1.0).fit(X)
    SVDD(kernel=kernel, cutoff=1.0).fit(X / [1.0, 2.0, 1.0])


# parameters


def three(gram, name, dims):
    return pm.Normal(name, shape=3)


EXACT = r"sampler='exact' needs .* normal priors only .*got prior=Beta.*'auto' or 'nuts'"
ON_SIMPLEX = "needs a normal prior .*; use draws with sampler='nuts', simplex=False"
SHAPE = r"prior of (beta|tau): .* one value for each of the 24 points .*\(pass dims=dims\)"
ROW_SUM = r"RowSum: row \d+ .* negative sum -.*use another kernel"
NO_LOO = "cutoff: BDD has no leave-one-out in closed form here .*; use cv='auto' or a number"
PARAMETERS = [  # test_bad_inputs.py has what no parameter takes
    ("SVDD", {"C": 0.04}, "C must be at least 1/n0 = 0.0416667 for 24 .* got 0.04: n0 C = 0.96$"),
    ("SVDD", {"outlier_fraction": 0.0}, "'outlier_fraction' parameter"),
    ("SVDD", {"outlier_fraction": 1.5}, "'outlier_fraction' parameter"),
    ("SVDDM", {"minority_fraction": 0.0}, "'minority_fraction' parameter of SVDDM must be a"),
    ("BSVDD", {"likelihood_scale": 0.0}, "'likelihood_scale' parameter"),
    ("BSVDDM", {"likelihood_scale": 1e300}, r"likelihood_scale.*range \(0\.0, 1e\+20\]"),
    ("BDD", {"likelihood_scale": np.inf}, r"likelihood_scale.*range \(0\.0, 1e\+20\]"),
    ("BSVDD", {"sampler": "exact"}, "'sampler' parameter of BSVDD"),
    ("BSVDD", {"draws": 0}, "'draws' parameter"),
    *(
        ("BDD", {name: 10**12}, rf"{name}=1000000000000\b.* make .* GB, and up to 1e[+]09 are")
        for name in ("draws", "tune", "chains")
    ),
    ("BSVDDM", {"chains": 0}, "'chains' parameter"),
    ("BSVDD", {"kernel": "rbf"}, r"kernel must be a kernel such as .*, got 'rbf'"),
    ("BSVDD", {"prior": "flat"}, "prior of beta: expected a prior such as .* 'flat'"),
    ("BDD", {"prior": priors.Beta(), "sampler": "exact"}, EXACT),
    ("BDD simplex", {"prior": priors.Beta(), "sampler": "exact"}, ON_SIMPLEX),
    ("BSVDD", {"prior": three}, SHAPE),
    ("BSVDDM", {"prior": three}, SHAPE),
    ("BSVDDM", {"kernel": kernels.Linear(), "prior": priors.RowSum(exponent=0.5)}, ROW_SUM),
    ("BDD", {"prior": student, "sampler": "nuts", "cutoff": Cutoff(cv="loo")}, NO_LOO),
]


@pytest.mark.parametrize(("name", "changes", "message"), PARAMETERS, ids=range(len(PARAMETERS)))
def test_parameters(make, table, name, changes, message):
    est = make(name, **changes)
    with pytest.raises((ValueError, TypeError), match=message):
        est.fit(*table)
    assert not hasattr(est, "cutoff_")


# the cutoff


OWN = cutoffs.Own()
ONE_OF = "cutoff must be None, a number, a Cutoff or an object of bsvdd.cutoffs, such as cutoffs."
BAD_CUTOFFS = [
    ("radius", rf"{ONE_OF}FalseAlarm\(0.1\), got 'radius'"),
    ("g_mean", rf"{ONE_OF}Best\(\"g_mean\"\), got 'g_mean'"),
    ("model", rf"{ONE_OF}Own\(\), got 'model'"),
    (cutoffs.Own, rf"{ONE_OF}FalseAlarm\(0.1\), got <class"),
    (np.nan, "cutoff: a number must be finite, got nan"),
    (np.inf, "cutoff: a number must be finite, got inf"),
    (-0.5, "cutoff: a distance is at least 0, got -0.5"),
    (Cutoff(-0.5, level=0.2), "cutoff: a distance is at least 0, got -0.5"),
    (True, rf"{ONE_OF}FalseAlarm\(0.1\), got True"),
    ([1.0], ONE_OF),
    (Cutoff(cutoffs.Best("g_mean"), cv=7), "cv=7 folds need at least 7 minority rows, got 6; use"),
    (Cutoff(0.7, cv=25), "cv=25 folds need at least 25 majority rows, got 24; use"),
    (OWN, r"Own\(\) is for models with a boundary .* has none: use"),
]


@pytest.mark.parametrize(
    ("name", "cutoff", "message"),
    [(name, *row) for name in NAMES for row in BAD_CUTOFFS if (name, row[0]) != ("SVDD", OWN)],
)
def test_cutoffs_that_cannot_be(make, fitted, table, name, cutoff, message):
    """Refused before sampling, and a fitted estimator stays as it is."""

    def prior(gram, name, dims):
        pytest.fail("sampled first")

    changes = {"prior": prior, "sampler": "nuts"} if name in BAYESIAN else {}
    est, unfitted = fitted(name), make(name, cutoff=cutoff, **changes)
    before = est.cutoff_, est.fit_.level, est.cutoff
    error = TypeError if ONE_OF in message else ValueError
    with pytest.raises(error, match=message):
        unfitted.fit(*table)
    with pytest.raises(error, match=message):
        est.with_cutoff(cutoff)
    assert not hasattr(unfitted, "cutoff_")
    assert (est.cutoff_, est.fit_.level, est.cutoff) == before
    assert float(est.idata_["decision"]["cutoff"]) == est.cutoff_


# numbers of rows


@pytest.mark.parametrize(
    ("est", "n0", "n1", "message"),
    [
        (SVDD(), 20_001, 0, "the kernel matrix of 20001 rows"),
        (SVDDM(), 19_998, 3, "the kernel matrix of 20001 rows"),
        (BSVDDM(), 50, 0, "BSVDDM learns from minority rows"),
        (BDDM(), 50, 0, "BDDM learns from minority rows"),
        (BSVDD(), 8, 0, "a false-alarm rate of 0.1 needs at least 9 .* got 8"),
        (SVDD(cutoff=cutoffs.FalseAlarm(0.05)), 18, 0, "needs at least 19 .* got 18"),
        (SVDD(cutoff=cutoffs.FalseAlarm()), 8, 5, "needs at least 9"),
        (SVDD(cutoff=cutoffs.Best("g_mean")), 50, 0, "there is no minority row"),
        (SVDD(), 20_000, 100, None),
        (BSVDD(), 200_000, 0, None),
        (BSVDD(dictionary=51), 50, 9, None),
        (BSVDD(), 9, 0, None),
        (SVDD(), 8, 2, None),
        (BSVDDM(), 8, 2, None),
    ],
)
def test_numbers_of_rows_are_checked_without_rows(est, n0, n1, message):
    with nullcontext() if message is None else pytest.raises(ValueError, match=message):
        check_rows(est._asked(), np.repeat([False, True], [n0, n1]))


DIGITS = "whole numbers of 2.53 or more that floats cannot tell apart"
WAYS = {
    "frame": lambda X, _: pd.DataFrame(X.tolist(), columns=["a", "b"]),
    "array": lambda X, _: X,
    "list": lambda X, _: X.tolist(),
    "CSV": lambda X, folder: read(pd.DataFrame(X.tolist(), columns=["a", "b"]), folder),
    "texts": lambda X, _: pd.DataFrame(X.astype(str), columns=["a", "b"]),
}


def read(table, folder):
    table.to_csv(folder / "x.csv", index=False)
    return bsvdd.read_table(folder / "x.csv")


FIRST = 2**53, 10**17, 2**64, 10**22


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("way", WAYS)
def test_whole_numbers_that_floats_merge_are_refused(way, first, tmp_path):
    X = np.array([[i % 7, first + i] for i in range(30)])
    with pytest.raises(ValueError, match=DIGITS):
        SVDD().fit(WAYS[way](X, tmp_path))


@pytest.mark.parametrize("way", WAYS)
def test_large_whole_numbers_that_floats_have_are_numbers(way, tmp_path):
    X = np.array([[i % 7, 2**53 + 2 * (i * i % 11)] for i in range(30)])
    assert SVDD().fit(WAYS[way](X, tmp_path)).fit_.data.rows[3, 1] == 2.0**53 + 18


SCALED = {"default": None, "standardised": kernels.Standardized(kernels.RBF(2.0))}


@pytest.mark.parametrize("kernel", SCALED)
@pytest.mark.parametrize("names", [None, [f"r{i}" for i in range(80)]], ids=["numbers", "texts"])
def test_a_row_that_makes_the_scale_of_a_column_is_named(kernel, names):
    table = np.random.default_rng(4).normal(size=(80, 3))
    table[17, 1] = 1e3
    X = pd.DataFrame(table, names, ["a", "amount", "c"])
    ratio = table[:, 1].std() / np.delete(table[:, 1], 17).std()
    row = "r17" if names else "17"
    said = f"row {row} moves the scale of 'amount': its value, 1000, makes .* {ratio:.3g} times"
    settings = {} if SCALED[kernel] is None else {"kernel": SCALED[kernel]}
    with pytest.warns(DataWarning, match=said):
        SVDD(**settings).fit(X)


def test_no_row_is_named_that_makes_no_scale():
    """Odd rows of one table are what is looked for; equal rows have no other scale."""
    X = np.random.default_rng(4).normal(size=(80, 3))
    X[17, 1] = 8.0
    SVDD().fit(X)
    SVDD().fit(np.where(np.arange(3) == 1, np.arange(80)[:, None] == 17, X))
    X[17, 1] = 1e3
    SVDD().fit_predict(X)
    SVDD(kernel=kernels.Tabular(scale="normal scores")).fit(X)
    SVDD(kernel=kernels.Tabular(categorical=[1])).fit(X)
