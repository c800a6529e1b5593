"""Fits to one table with odd rows inside: the core, the rows beside it, and both jobs."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.detector import Detector
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, cutoffs, kernels, priors
from tests.scores import scores_left_out

RNG = np.random.default_rng(2)
X = RNG.normal(size=(120, 3)) @ np.linalg.cholesky(0.6 * np.ones((3, 3)) + 0.4 * np.eye(3)).T
X[:6] = [3.0, -3.0, 3.0] + 0.1 * RNG.normal(size=(6, 3))
NEW = RNG.normal(size=(20, 3))
QUICK = {"draws": 400, "tune": 300}
ALL = {
    "BSVDD": BSVDD(**QUICK),
    "groups": BSVDD(dictionary=30, **QUICK),
    "given points": BSVDD(dictionary=X[6:80], **QUICK),
    "every row a point": BSVDD(prior=priors.StandardizedRowSum(), **QUICK),
    "BDD": BDD(**QUICK),
    "simplex": BDD(simplex=True),
    "SVDD": SVDD(),
    "own kernel": SVDD(kernel=kernels.Standardized(kernels.RBF(1.5))),
    "linear": SVDD(kernel=kernels.Linear()),
}


def of_core(est: Detector, rows: np.ndarray = X) -> Detector:
    """Return the estimator as fit_predict fits it."""
    new = clone(est)
    new.fit_predict(rows)
    return new


@pytest.mark.parametrize("name", ALL)
def test_a_group_of_odd_rows_that_are_alike_is_first(name):
    if name == "linear":
        pytest.skip("the mean of the rows does not tell them apart by their correlation")
    left_out = scores_left_out(of_core(ALL[name]))
    assert np.isfinite(left_out).all()
    found = set(np.argsort(left_out)[:6]) & set(range(6))
    assert len(found) == 6


def test_a_change_of_a_unit_changes_no_surprise():
    other = X * [1e6, 1.0, 1.0] + [0.0, 5.0, 0.0]
    a, b = (scores_left_out(of_core(BDD(simplex=True), rows)) for rows in (X, other))
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_a_pipeline_asks_for_the_odd_rows_of_one_table():
    found = make_pipeline(StandardScaler(), SVDD()).fit_predict(X)
    assert (found[:6] == -1).all()


# what stands out

MANY = RNG.normal(size=(300, 3)) @ np.linalg.cholesky(0.6 * np.ones((3, 3)) + 0.4 * np.eye(3)).T
ODD = MANY.copy()
ODD[:12] = [3.0, -3.0, 3.0] + 0.1 * RNG.normal(size=(12, 3))
ODD[12] = [0.0, 9.0, -9.0]


@pytest.mark.parametrize("name", ["BSVDD", "simplex", "SVDD"])
def test_fit_predict_returns_the_list(name):
    est = clone(ALL[name])
    found = est.fit_predict(ODD)
    answer = bsvdd.stand_out(est)
    assert ((found == -1) == answer.listed).all()
    assert answer.listed[:13].all() and answer.listed.sum() <= 15
    assert 3 <= answer.at_least <= 13 and answer.none < 0.01
    assert set(answer.group[:12]) == {0} and answer.group[12] == -1
    assert (answer.group[~answer.listed] == -1).all()
    assert answer.table.index[:13].isin(range(13)).all()
    assert str(answer).startswith(f"At least {answer.at_least} of 300 rows stand out")
    assert bsvdd.stand_out(est, fdr=0.3).listed.sum() >= answer.listed.sum()
    table = est.decision()
    assert "p_value" not in table and (table["listed"] == answer.listed).all()
    assert (table["normal"] == ~answer.listed).all()
    assert "probability_odd" in repr(table)


def test_a_cutoff_that_is_given_decides():
    est = BDD(simplex=True, cutoff=cutoffs.FalseAlarm(0.2))
    found = est.fit_predict(ODD)
    assert (found == np.where(scores_left_out(est) >= 0, 1, -1)).all() and (found == -1).sum() > 40
    few = clone(ALL["simplex"])
    assert (few.fit_predict(ODD[:30]) == 1).all()
    assert "too few different rows" in str(bsvdd.stand_out(few))
    assert not bsvdd.stand_out(few).listed.any()


@pytest.mark.parametrize("share", [0.0, 0.05, 0.1])
def test_the_cutoff_for_new_rows_counts_rows_as_far_as_they_are_normal(share):
    rng, flagged = np.random.default_rng(5), []
    for _ in range(6):
        rows, n1 = rng.normal(size=(300, 3)), round(300 * share)
        rows[:n1] = [3.2, -3.2, 0.0] + 0.15 * rng.normal(size=(n1, 3))
        est = BDD(simplex=True, core=0.8).fit(rows)
        flagged.append((est.predict(rng.normal(size=(2000, 3))) == -1).mean())
        assert "approximate" in str(est)
    assert 0.07 < np.mean(flagged) < 0.135


def test_what_one_table_cannot_be_asked():
    est = clone(ALL["simplex"])
    est.fit_predict(ODD)
    with pytest.raises(ValueError, match="counts all training rows as normal"):
        bsvdd.stand_out(clone(ALL["simplex"]).fit(ODD))
    with pytest.raises(ValueError, match="fdr must lie between 0 and 1"):
        bsvdd.stand_out(est, fdr=1.0)


def test_the_pymc_model_of_the_tail_is_beside_the_description():
    est = clone(ALL["simplex"])
    est.fit_predict(ODD)
    assert set(est.tail_model_.named_vars) >= {"log_h", "xi", "log_share", "log_a", "odd", "none"}
    few = clone(ALL["simplex"])
    few.fit_predict(ODD[:30])
    with pytest.raises(AttributeError, match="too few different rows"):
        _ = few.tail_model_


@pytest.mark.parametrize("X", [ODD, np.exp(0.8 * ODD)], ids=["normal", "skewed"])
def test_a_saved_fit_lists_the_same_rows(X, tmp_path):
    est = clone(ALL["BSVDD"])
    found = est.fit_predict(X)
    assert (est.kernel_.numbers[0].long_side is None) == (X is ODD)
    est.save(tmp_path / "fit")
    same = bsvdd.load(tmp_path / "fit")
    assert same.kernel_ == est.kernel_
    again = bsvdd.stand_out(same)
    assert (again.listed == (found == -1)).all()
    np.testing.assert_allclose(again.probability, bsvdd.stand_out(est).probability, atol=1e-3)


def bad_tables():
    rng = np.random.default_rng(4)
    normal = rng.normal(size=(200, 3))
    scattered, alike, two, almost, equal = (normal.copy() for _ in range(5))
    scattered[:80] = rng.uniform(-8.0, 8.0, (80, 3))
    alike[:80] = 6.0 + 0.2 * normal[:80]
    two[:100] += 8.0
    almost[1:] = 0.0
    equal[:160] = equal[0]
    letters = pd.DataFrame(rng.choice(list("abc"), (200, 3)), columns=list("xyz"))
    return {
        "no odd row": normal,
        "40 % scattered": scattered,
        "40 % alike": alike,
        "two clusters": two,
        "all equal but one": almost,
        "80 % equal": equal,
        "three binary columns": rng.integers(0, 2, (200, 3)).astype(float),
        "one column": normal[:, :1],
        "12 rows": normal[:12],
        "categories only": letters,
    }


BAD_TABLES = bad_tables()


@pytest.mark.parametrize("name", BAD_TABLES)
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")
def test_a_table_of_any_kind_has_an_answer_and_never_a_list_of_half_of_it(name):
    X = BAD_TABLES[name]
    est = bsvdd.SVDD()
    found = est.fit_predict(X)
    answer = bsvdd.stand_out(est)
    assert len(found) == len(X) and np.isfinite(answer.surprise).all()
    assert answer.listed.sum() <= (0.4 if name == "40 % scattered" else 0.02) * len(X)
    assert ((found == -1) == answer.listed).all()
    assert str(answer).endswith(".")
    order_only = "80 % equal", "three binary columns", "all equal but one", "12 rows"
    assert np.isnan(answer.none) == (name in order_only or name == "categories only")


def test_a_precomputed_kernel_has_a_list_without_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[:5] = 5.0 + 0.1 * X[:5]
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4.0)
    est = bsvdd.SVDD(kernel=bsvdd.kernels.Precomputed())
    assert set(np.flatnonzero(est.fit_predict(K) == -1)) >= set(range(5))
    assert (bsvdd.stand_out(est).group == -1).all()


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("name", ["simplex", "SVDD"])
def test_few_columns_without_odd_rows_have_no_list(name, p):
    """The points of a sphere have one surprise: the smooth tail begins beyond them."""
    for seed in range(3):
        est = clone(ALL[name])
        est.fit_predict(np.random.default_rng(seed).normal(size=(200, p)))
        assert bsvdd.stand_out(est).listed.sum() <= 1


FLAGS = {
    "int64": lambda v: v,
    "bool": lambda v: v.astype(bool),
    "Int64": lambda v: pd.array(v, dtype="Int64"),
    "float64": lambda v: v.astype(float),
}


@pytest.mark.parametrize(
    ("dtype", "shares"),
    [(dtype, [0.1]) for dtype in [*FLAGS, "array"]]
    + [("int64", [share]) for share in (0.01, 0.05, 0.2)]
    + [("int64", [0.01, 0.05, 0.1, 0.2])],
)
def test_rows_with_the_rarer_value_of_a_flag_are_no_odd_rows(dtype, shares):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    frame.iloc[:5] += 10.0 * np.eye(5, 4) + 10.0 * np.eye(5, 4, -1)
    for j, share in enumerate(shares):
        flag = (rng.random(400) < share).astype(int)
        flag[5] = 1  # a flag that nobody has would be a constant
        frame[f"flag{j}"] = FLAGS.get(dtype, FLAGS["int64"])(flag)
    X = frame.to_numpy(float) if dtype == "array" else frame
    est = SVDD()
    est.fit_predict(X)
    found = bsvdd.stand_out(est)
    assert found.listed[:5].all()
    assert found.listed[5:].sum() <= 1
    assert found.at_least <= 5


@pytest.mark.parametrize("own", [(), ("kind",)], ids=["none", "named"])
def test_a_flag_is_a_category_beside_columns_that_the_kernel_names(own):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    frame.loc[:2, ["a", "b"]] = [[9.0, -9.0]] * 3
    frame["flag"] = (rng.random(300) < 0.07).astype(int)
    frame["kind"] = rng.choice(["x", "y"], 300)
    frame = frame if own else frame.drop(columns="kind")
    positions = tuple(frame.columns.get_loc(name) for name in own)
    est = SVDD(kernel=kernels.Tabular(kernels.RBF("likelihood"), categorical=positions))
    est.fit_predict(frame)
    found = bsvdd.stand_out(est)
    assert found.listed[:3].all() and found.listed[3:].sum() <= 1
    assert 3 in est.kernel_.categorical
