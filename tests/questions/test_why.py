"""bsvdd.explain: walks to rows like a row, for each kind of column and estimator."""

import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import OneClassSVM

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, LSSVM, OCSVM, SVDD, Views, kernels
from bsvdd.base.warning import collected
from bsvdd.questions.why import walk_steps

pytestmark = pytest.mark.filterwarnings(
    "ignore::bsvdd.base.warning.DiagnosticWarning",
    "ignore::bsvdd.base.warning.DataWarning",
)


def table(n=200, seed=0):
    """Return rows with columns of each kind, and some missing values."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "cost": np.exp(rng.normal(3.0, 0.5, n)).round(2),
            "age": rng.integers(20, 80, n),
            "kind": rng.choice(["oil", "milk", "flour"], n),
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "size": pd.Categorical(
                rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True
            ),
            "ok": rng.random(n) < 0.97,
        }
    )
    frame.loc[::17, "cost"] = np.nan
    frame.loc[3::19, "kind"] = None
    return frame


MIXED, NEW = table(), table(4, 1).set_axis(["fine", "far", "other", "late"])
NEW.loc["far", "cost"], NEW.loc["other", "kind"] = 900.0, "paint"
NEW.loc["late", ["day", "kind"]] = pd.Timestamp("2031-05-06"), "oil"
NUMBERS = MIXED[["cost", "age"]].fillna(20.0).assign(pulse=table(200, 3)["age"] / 2)
ODD = pd.DataFrame({"cost": [20.0, 300.0], "age": [400.0, 50.0], "pulse": [25.0, 26.0]})
days = FunctionTransformer(
    lambda X: X.apply(lambda x: (x - pd.Timestamp("2024")).dt.days)
)
numbers = make_pipeline(SimpleImputer(), StandardScaler())
columns = make_column_transformer(
    (numbers, ["cost", "age"]),
    (make_pipeline(days, StandardScaler()), ["day"]),
    (OneHotEncoder(handle_unknown="ignore"), ["kind", "size", "ok"]),
)
FOREST = make_pipeline(columns, IsolationForest(random_state=0))
SPHERE = make_pipeline(StandardScaler(), OneClassSVM(nu=0.1))
QUICK = {"draws": 100, "tune": 100}
MINOR = np.arange(200) % 20 == 1
CASES = {
    "BSVDD": (BSVDD(**QUICK), MIXED, None, NEW),
    "SVDD": (SVDD(), MIXED, None, NEW),
    "Views": (Views(BDD(simplex=True, draws=100)), MIXED, None, NEW),
    "BDD": (BDD(draws=100), MIXED, None, NEW),
    "OCSVM": (OCSVM(), NUMBERS, None, ODD),
    "LSSVM": (
        LSSVM(),
        NUMBERS.assign(cost=NUMBERS["cost"] + 300.0 * MINOR),
        MINOR,
        ODD[1:],
    ),
    "BDDM": (BDDM(draws=100), NUMBERS, MINOR, ODD),
    "linear": (
        SVDD(kernel=kernels.Tabular(kernels.Linear(), scale="standardised")),
        NUMBERS,
        None,
        ODD,
    ),
    "forest": (FOREST, MIXED, None, NEW),
    "sphere": (SPHERE, NUMBERS, None, ODD),
}
FIRST = {"far": "cost", "other": "kind", "late": "day", 0: "age", 1: "cost"}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    est, X, y, Z = CASES[request.param]
    est = est.fit(X) if y is None else est.fit(X, y)
    known = None if hasattr(est, "table_") else X
    return est, X, Z, bsvdd.explain(est, Z, known), request.param


def walked(est, why, known, Z):
    """Return the falls of each column on each walk, by each row on the way."""
    rows, order = [], np.argsort(walk_steps(Z.shape[1]), axis=1)
    for i in range(len(Z)):
        ten = [known.loc[label].to_dict() for label in why.nearest.iloc[i]]
        for end, columns in zip(ten, order, strict=True):
            end = {
                c: next((u[c] for u in (end, *ten) if pd.notna(u[c])), None) for c in Z
            }
            row = {
                c: end[c] if pd.isna(v) else v for c, v in Z.iloc[i].to_dict().items()
            }
            rows.append(row)
            for f in columns:
                row = row | {list(Z)[f]: end[list(Z)[f]]}
                rows.append(row)
    surprise = -est.decision_function(pd.DataFrame(rows)).reshape(
        len(Z), len(order), -1
    )
    falls = np.empty(why.falls.shape)
    for j, columns in enumerate(order):
        falls[:, j, columns] = surprise[:, j, :-1] - surprise[:, j, 1:]
    return falls


def test_shares_are_the_mean_falls_of_walks_step_by_step(case):
    est, X, Z, why, _ = case
    known = est.table_.frame if hasattr(est, "table_") else X
    np.testing.assert_allclose(
        why.falls, walked(est, why, known, Z), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(why.shares, why.falls.mean(axis=1))
    complete = ~Z.isna().any(axis=1).to_numpy() & ~known.isna().any(axis=None)
    asked = -est.decision_function(known.loc[why.nearest.to_numpy().ravel()])
    total = -est.decision_function(Z) - asked.reshape(len(Z), -1).mean(axis=1)
    np.testing.assert_allclose(
        why.shares.sum(axis=1)[complete], total[complete], rtol=1e-7
    )


def test_the_odd_column_is_first_and_its_change_is_normal(case):
    est, _, Z, why, name = case
    for i, label in enumerate(Z.index):
        if why.normal.iloc[i]:
            assert (
                why.change(i) == {} and "Normal with" not in repr(why).splitlines()[i]
            )
            continue
        assert (
            why.top_columns(1)["column_1"].iloc[i] == FIRST[label] or name == "forest"
        )
        changed = Z.iloc[[i]].assign(**why.change(i))
        assert len(why.change(i)) <= 2 and est.decision_function(changed)[0] >= 0.0
    assert why.shares.index.equals(Z.index) and (
        name == "forest" or not why.normal.iloc[-1]
    )


def test_the_ten_are_normal_known_rows_like_the_row():
    est = SVDD().fit(NUMBERS)
    why, normal = bsvdd.explain(est, ODD), NUMBERS[est.decision()["surprise"] <= 0.0]
    for i, z in ODD.iterrows():
        far = (normal - z).abs() / normal.std(ddof=0)
        far = (far / (1.0 + far)).sum(axis=1)
        assert far.nsmallest(10).index.tolist() == why.nearest.loc[i].tolist()


def shuffled_table(rng):
    """Return numbers on a grid, categories, gaps and equal rows, some of them odd."""
    n = 150
    kind = rng.choice(list("xyz"), n).astype(object)
    b, c = rng.integers(0, 6, n).astype(float), rng.normal(size=n)
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": b, "kind": kind, "c": c})
    X.iloc[100:140] = X.iloc[60:100].to_numpy()
    X.loc[:19, "b"], X.loc[10:30, "kind"] = np.nan, None
    X.loc[[35, 40, 41, 55], ["a", "b"]] = [[50, np.nan], [9, 40], [-30, -30], [3.0, 9]]
    X.loc[42:43, "c"] = [9.0, 19.0]
    return X.astype({"a": float, "b": float, "c": float})


@pytest.mark.parametrize("est", [SVDD(), BSVDD(**QUICK)], ids=["SVDD", "BSVDD"])
def test_an_order_of_the_rows_changes_no_reason(est):
    rng = np.random.default_rng(1)
    X = shuffled_table(rng)
    said = []
    for order in (np.arange(len(X)), rng.permutation(len(X))):
        why = bsvdd.explain(est.fit(X.iloc[order]))
        lines = [*range(len(X)), [42, 43]]
        said.append([why.reason(np.argsort(order)[line]) for line in lines])
    assert said[0] == said[1] and len(set(said[0])) > 80
    assert said[0][-1].startswith("c = 9 to 19 (") and "; nearest " in said[0][-1]


def test_a_row_beyond_all_has_the_nearest_in_its_column():
    """Also if these are abnormal; more surprising rows do not hide that it is odd."""
    a = np.append(np.linspace(0.0, 10.0, 60), [11.0, 11.5, 19.0, 20.0, 9.0, -30.0])
    known = pd.DataFrame({"a": a, "b": np.linspace(-1.0, 1.0, 66)})
    est = Known(lambda X: 10.2 - X["a"].abs()).fit(known)
    why = bsvdd.explain(est, X=known, Z=known)
    assert why.reason(63) == "a = 20 (100%; nearest 9 to 19)"
    assert why.reason(62) == "a = 19 (100%; nearest 8.983 to 11.5)"
    assert why.reason([62, 63]) == "a = 19 to 20 (100%; nearest 8.983 to 11.5)"
    assert why.reason(65) == "a = -30 (100%; nearest 0 to 1.525)"
    assert "nearest" not in why.reason(59)  # 10 is normal


def test_no_value_lies_amid_the_nearest():
    """12 was said to be odd, with nearest 8.8 to 13."""
    known = pd.DataFrame({"a": [*np.linspace(0.0, 10.0, 60), 11.0, 13.0], "b": 0.0})
    est = Known(lambda X: 10.2 - X["a"].abs() - X["b"].abs()).fit(known)
    why = bsvdd.explain(est, X=known, Z=pd.DataFrame({"a": [12.0, 14.0], "b": 5.0}))
    assert "a = 12 (36%; rows like it: " in why.reason(0)
    assert "a = 14 (49%; nearest " in why.reason(1)


def test_a_value_that_ten_rows_share_is_not_said_to_be_near_itself():
    a = np.append(np.linspace(0.0, 10.0, 60), [50.0] * 12)
    known = pd.DataFrame({"a": a, "b": np.linspace(-1.0, 1.0, 72)})
    est = Known(lambda X: 10.2 - X["a"].abs() - 1e-3 * X["b"]).fit(known)
    why = bsvdd.explain(est, X=known, Z=known)
    assert re.fullmatch(
        r"a = 50 \(100%; rows like it: [\d.]+ to [\d.]+\)", why.reason(71)
    )


class Known(BaseEstimator):
    """An estimator whose score is a function of the rows."""

    def __init__(self, score):
        self.score = score

    def fit(self, X):
        self.fitted_ = True
        return self

    def decision_function(self, X):
        return self.score(pd.DataFrame(X))


def terms(X):
    return np.column_stack(
        [X["a"] ** 2, np.where(X["kind"] == "x", 0.0, 3.0), X["b"].abs()]
    )


def test_a_sum_over_columns_has_its_closed_form():
    rng = np.random.default_rng(0)
    known = pd.DataFrame(
        {"a": rng.normal(size=50), "kind": "x", "b": rng.normal(size=50)}
    )
    known.loc[::5, "kind"] = "y"
    Z = pd.DataFrame({"a": [5.0, 0.1], "kind": ["z", "x"], "b": [0.0, -9.0]})
    why = bsvdd.explain(
        Known(lambda X: 9.0 - terms(X).sum(axis=1)).fit(known), Z, known
    )
    ends = [terms(known.loc[labels]).mean(axis=0) for labels in why.nearest.to_numpy()]
    np.testing.assert_allclose(why.shares, terms(Z) - ends)
    assert (
        why.change(0) == {"a": pytest.approx(why.change(0)["a"])}
        and len(why.change(1)) == 1
    )


def of_pairs(X):
    """A row is odd by 5 where b is not twice a, and by the size of c beyond 3."""
    broken = (X["b"] - 2 * X["a"]).abs() > 0.5
    return 1.0 - 5.0 * broken - np.maximum(X["c"].abs() - 3.0, 0.0)


def test_columns_that_follow_from_each_other_are_named_together():
    rng = np.random.default_rng(0)
    known = pd.DataFrame(
        {"a": rng.integers(1, 4, 60).astype(float), "c": rng.normal(size=60)}
    )
    known["b"] = 2 * known["a"]
    Z = pd.DataFrame({"a": [2.0, 2.0, 2.0], "c": [0.0, 9.0, 6.2], "b": [6.0, 4.0, 6.0]})
    why = bsvdd.explain(Known(of_pairs).fit(known), Z, known)
    # the last has 5 of a and b, which count together, and 3.2 of c
    assert why.top_columns(1)["column_1"].tolist()[2] == "c"
    assert re.match(
        r"(a = 2 and b = 6|b = 6 and a = 2) together \(61%\), c = 6.2", why.reason(2)
    )
    # both values are usual ones
    assert why.reason(0) in (
        "a = 2 and b = 6 together (100%)",
        "b = 6 and a = 2 together (100%)",
    )
    assert re.fullmatch(r"c = 9 \(100%; nearest [-.\d]+ to [-.\d]+\)", why.reason(1))


def test_the_words_say_so_where_no_column_has_a_tenth():
    known = pd.DataFrame(np.zeros((30, 20))).add_prefix("x")
    Z = pd.DataFrame([2.0] * 20, known.columns).T
    Z["x4"], odd = 2.1, "= 2 (5%; rows like it: 0)"
    squares = Known(lambda X: 9.0 - (X**2).sum(axis=1)).fit(known)
    why = bsvdd.explain(squares, pd.concat([Z, 0.0 * Z]), known)
    first = "no column alone; the largest: x4 = 2.1 (5%; rows like it: 0)"
    assert why.reason(0) == f"{first}, x0 {odd}, x1 {odd}"
    assert why.reason(1) == ""


def test_a_gap_has_the_values_of_the_rows_like_it_and_is_no_reason():
    est, Z = SVDD().fit(MIXED), NEW.loc[["far", "fine"]].copy()
    Z["age"] = [np.nan, 30.0]
    why = bsvdd.explain(est, Z)
    filled = [Z.iloc[[0]].assign(age=MIXED.loc[i, "age"]) for i in why.nearest.iloc[0]]
    asked = -est.decision_function(pd.concat(filled))
    assert why.surprise.iloc[0] == pytest.approx(asked.mean())
    assert (why.falls[0, :, 1] == 0.0).all() and "age" not in why.reason(0)
    assert why.value(0, 1) == "missing"


@pytest.mark.parametrize("est", [SVDD(), BSVDD(**QUICK)], ids=["SVDD", "BSVDD"])
def test_a_training_row_is_left_out_and_is_not_like_itself(est):
    X = MIXED.copy()
    X.loc[[7, 17], ["cost", "age"]] = 900.0, np.nan
    X.index = [f"r{i}" for i in range(len(X))]
    why = bsvdd.explain(est.fit(X), rows=[7, 17, 30])
    assert why.shares.index.tolist() == ["r7", "r17", "r30"]
    surprise = est.decision()["surprise"]
    np.testing.assert_array_equal(why.surprise, surprise[["r7", "r17", "r30"]])
    assert not set(why.nearest.to_numpy().ravel()) & {"r7", "r17"}
    assert "r30" not in why.nearest.loc["r30"].tolist()
    assert (surprise[why.nearest.to_numpy().ravel()] <= 0.0).all()
    assert why.top_columns(1)["column_1"].tolist()[:2] == [
        "cost"
    ] * 2 and "cost" in why.change(0)
    assert len(bsvdd.explain(est).shares) == len(X)


@cache
def with_forms():
    """Return a table of columns of more forms, and a fit to it."""
    rng = np.random.default_rng(0)
    known = table(100).assign(
        weight=[f"{v:.1f} kg" for v in rng.normal(50.0, 3.0, 100)],
        number=rng.normal(12.3456789, 0.1, 100),
        large=rng.normal(1234567.891, 1e4, 100),
    )
    return known, SVDD().fit(known)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"ok": False}, r"ok = False \(\d+%; rows like it: True\)"),
        ({"kind": "paint"}, r"kind = paint \(\d+%; rows like it: \w+ or \w+\)"),
        (
            {"weight": "99 kg"},
            r"weight = 99 kg \(\d+%; nearest 5\d(\.\d)? kg to 5\d",
        ),
        (
            {"day": "2031-05-06"},
            r"day = 2031-05-06 \(\d+%; nearest 2024-03-\d\d to 2024-03",
        ),
        (
            {"number": 99.123456},
            r"number = 99.1235 \(\d+%; nearest 12\.\d{1,3} to 12",
        ),
        (
            {"large": 9876543.21},
            r"large = 9876543 \(\d+%; nearest 1\d{6} to 1\d{6}\)",
        ),
        ({"age": 400}, r"age = 400 \(\d+%; nearest 7\d to 7\d\)"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_words_have_the_form_of_the_column(cells, words):
    known, est = with_forms()
    said = bsvdd.explain(est, known.iloc[[0]].assign(**cells)).reason(0)
    assert re.match(words, said), said


def test_new_cells_may_be_written_in_another_way_than_those_of_the_fit(tmp_path):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 200, 60), "D")
    pay = np.round(rng.normal(3000.0, 300.0, 60), 2)
    X = pd.DataFrame({"pay": [f"{v:,.2f}" for v in pay], "on": days})
    X["on"] = X["on"].dt.strftime("%d.%m.%Y")
    new = X.iloc[:3].assign(pay=["9,999.00", "3,000.10", "2,999.90"])
    with collected():
        est = bsvdd.SVDD().fit(X)
        est.save(tmp_path / "m")
        for own in (est, bsvdd.load(tmp_path / "m")):
            why = bsvdd.explain(own, new)
            np.testing.assert_allclose(why.surprise, own.decision(new)["surprise"])
            assert why.reason(0).startswith("pay = 9999 (100%; nearest ")


def test_the_column_at_fault_is_named_first():
    """Of numbers, categories, a column of one value, and signed numbers."""
    rng = np.random.default_rng(11)
    odd = {"amount": 99.0, "city": "Oslo", "version": 4, "size": -9.0}
    X = pd.DataFrame({"amount": np.exp(rng.normal(size=80)), "version": 3})
    X["city"], X["size"] = rng.choice(["Bonn", "Rom"], 80), rng.normal(size=80)
    for row, (column, value) in enumerate(odd.items()):
        X.loc[row, column] = value
    est = BSVDD(**QUICK).fit(X)
    assert bsvdd.explain(est, rows=range(4)).top_columns(1)[
        "column_1"
    ].tolist() == list(odd)
    assert set(est.decision()["surprise"].nlargest(3).index) == {0, 2, 3}


def test_many_columns_are_changed_one_by_one_where_a_row_is_far_and_else_together():
    """One row of 1,000 columns was 3 blocks of rows, of which two were empty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1000))
    X[0, [3, 500]] = 40.0
    est = SVDD().fit(X[1:])
    why = bsvdd.explain(est, X[:1])
    assert set(why.top_columns(2).to_numpy()[0, ::2]) == {3, 500}
    fall = why.falls.sum(axis=2) + why.walks.surprise(
        np.zeros((1, 10, 1000)), [1], [0]
    ).squeeze(-1)
    np.testing.assert_allclose(fall, why.surprise.iloc[0])
    assert why.together.sum() == 900 and not why.turns[why.together].any()
    assert len(np.unique(why.falls[0, 0, why.together[0]])) == 1
