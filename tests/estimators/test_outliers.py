"""Rows of one table: decisions and explanations of training rows, each left out."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.decision import Boundary
from bsvdd.inference.left_out import LeftOut
from scipy.special import logsumexp, rel_entr
from sklearn.base import clone

from bsvdd import BDD, BSVDD, BSVDDM, SVDD, Landmarks, kernels

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(11)
ROWS = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1]
ROWS[:3] = [[9.0, 0.0, 0.0], [0.0, -80.0, 0.0], [0.0, 0.0, 0.9]]
MINORITY = np.arange(60) % 9 == 4
SMALL = {"draws": 50, "tune": 100}
RBF = kernels.Standardized(kernels.RBF(1.4))


@pytest.mark.parametrize(
    "est",
    [BDD(kernel=RBF), BSVDD(kernel=RBF, **SMALL), BSVDD(**SMALL)],
    ids=["BDD", "BSVDD", "BSVDD of tables"],
)
def test_rows_that_have_no_part_in_the_weights_are_decided_as_new_rows(est):
    est.fit(ROWS, MINORITY)
    found = est.training_decision()
    expected = est.decision(ROWS[MINORITY]).drop(columns=["distance", "cutoff", "level"])
    shared = [c for c in expected if c != "p_value"]
    assert list(found)[:-1] == list(expected)
    pd.testing.assert_frame_equal(
        found.loc[MINORITY, shared].reset_index(drop=True), expected[shared], rtol=1e-9
    )
    assert (found["surprise_low"] <= found["surprise"]).all()
    assert (found["surprise"] <= found["surprise_high"]).all()
    normal = found["probability_normal"] > est.level_
    np.testing.assert_array_equal(normal, found["normal"])


def test_weighted_draws_count_as_often_as_they_say():
    rng = np.random.default_rng(0)
    values, times = rng.normal(size=(20, 4)), rng.integers(1, 4, 20)
    at = Boundary(rng.normal(size=20), rng.normal(size=20), rng.gamma(1.0, size=20))
    weighted = LeftOut(values, np.tile(np.log(times)[:, None], 4))
    repeated = Boundary(*(np.repeat(x, times) for x in (at.threshold, at.reference, at.log_whole)))
    for logarithmic in (True, False):
        np.testing.assert_allclose(
            weighted.decision(at, 0.5, logarithmic),
            LeftOut(np.repeat(values, times, axis=0)).decision(repeated, 0.5, logarithmic),
        )


@pytest.mark.parametrize("kernel", [RBF, kernels.Tabular()], ids=["RBF", "Tabular"])
def test_a_training_row_is_explained_without_itself(kernel):
    """By the definition: the other weights sum to one, and the row leaves the ranks."""
    est = BSVDD(kernel=kernel, **SMALL).fit(ROWS, MINORITY)
    data, w = est.fit_.data, est.fit_.draws.weights
    rows = [0, 1, 2, 4, 13, 7]  # 4 and 13 are minority rows, which are new to the centre
    why = est.explain(rows=rows, draws=10**6, top=60)
    every = est.explain(draws=10**6, changes=False)
    np.testing.assert_allclose(every.rows.loc[rows, "mean"], why.rows["mean"], rtol=1e-12)
    for row in rows:
        point = data.point_of_row[row]
        weights, learned = w.copy(), est.kernel_ if MINORITY[row] else est.kernel_.leaving_out
        if point >= 0:
            weights[:, point] = 0.0
            weights /= weights.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            terms = np.log(weights) + learned.log(ROWS[[row]], data.gram.points)
        total = -logsumexp(terms, axis=1)
        q = np.exp(terms + total[:, None])
        columns = np.stack(
            [q @ c[0] for c in learned.by_column(ROWS[[row]], data.gram.points)], axis=1
        )
        surprise = total.mean() + est.fit_.center.boundary.threshold.mean()
        assert why.rows["mean"][row] == pytest.approx(surprise, rel=1e-9)
        np.testing.assert_allclose(why.columns["mean"].sel(obs=row), columns.mean(axis=0))
        divergence = rel_entr(q, weights).sum(axis=1).mean()
        assert why.rows["remainder"][row] == pytest.approx(divergence, rel=1e-7)
        neighbours = why.nearest["row"].sel(obs=row).values
        assert row not in neighbours
        assert est.training_decision()["normal"][neighbours].all()
        np.testing.assert_allclose(
            why.points["mean"].sel(obs=row).sum(), 1.0, rtol=1e-9
        )  # the other rows share all
    assert why.top_columns(1)["column_1"].tolist()[:3] == [0, 1, 2]
    # the change of an odd row, whose range it set itself, makes it normal without itself
    assert why.rows["normal"].tolist()[:3] == [False] * 3
    changed = why.changes.isel(obs=slice(3))
    assert np.isfinite(changed["size"]).all() and (changed["size"] > 1.0).all()
    assert abs(changed["standardized"]).argmax("column").values.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "est",
    [BDD(), BSVDDM(**SMALL), SVDD(kernel=kernels.Linear()), BSVDD(dictionary=Landmarks(20))],
    ids=lambda e: type(e).__name__ + ("" if isinstance(e.kernel, kernels.Tabular) else ", linear"),
)
def test_all_models_explain_training_rows_and_the_parts_add_up(est):
    why = est.fit(ROWS, MINORITY).explain(top=60, changes=False)
    assert why.rows["normal"].tolist() == est.training_decision()["normal"].tolist()
    of_columns = why.kind == "surprise"
    terms = why.columns["mean"].sum("column") if of_columns else why.points["mean"].sum("rank")
    parts = terms.values + why.rows["remainder"] + why.rows["base"]
    np.testing.assert_allclose(parts, why.rows["mean"], rtol=1e-8, atol=1e-10)


TABLE = pd.DataFrame(
    {
        "amount": np.exp(RNG.normal(size=80)),
        "city": RNG.choice(["Bonn", "Rom"], 80),
        "version": 3,
        "size": RNG.normal(size=80),
    },
    [f"n{i}" for i in range(80)],
)
ODD = {"amount": 99.0, "city": "Oslo", "version": 4, "size": -9.0}


@pytest.mark.parametrize("column", list(ODD))
def test_the_column_at_fault_is_named_first(column):
    frame = TABLE.copy()
    frame.loc["n5", column] = ODD[column]
    est = BSVDD(**SMALL).fit(frame)
    why = est.explain(rows=[5], changes=False)
    assert why.top_columns(1).loc["n5", "column_1"] == column
    assert est.training_decision()["surprise"].idxmax() == "n5" or column == "city"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": ROWS, "rows": [0]}, "rows are positions of training rows; give them without X"),
        ({"rows": [60]}, "rows must lie between 0 and 59"),
        ({"rows": [-1]}, "rows must lie between 0 and 59"),
        ({"rows": [0.5]}, "rows must be positions of training rows, 0 to 59"),
        ({"rows": []}, "rows must be positions of training rows, 0 to 59"),
        ({"rows": ["n5"]}, "rows must be positions of training rows, 0 to 59"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(list(value.values())[-1]),
)
def test_rows_that_are_none_are_refused(arguments, message):
    est = SVDD(kernel=RBF).fit(ROWS)
    with pytest.raises(ValueError, match=message):
        est.explain(**arguments)


def test_a_fit_and_its_explanations_say_what_they_are():
    frame = TABLE.copy()
    frame.loc["n5", "version"] = 4
    est = BSVDD(**SMALL)
    assert str(est) == repr(est)
    unfitted = repr(est)
    text = str(est.fit(frame))
    assert repr(est) == unfitted and repr(clone(est)) == unfitted
    for said in (
        *("80 majority, 0 minority; 4 columns (1 of categories)", "RBF(bandwidth=", "prior = Flat"),
        *("2 chains of 50 draws", "Why this sampler", "Realised false alarms"),
        *("est.training_decision()", "est.decision(X)", "est.explain(X)"),
    ):
        assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
    why = est.explain(rows=[5, 1], changes=False)
    lines = repr(why).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["n5", "n1"]
    assert "abnormal, surprise" in lines[0] and "Columns: version" in lines[0]
    assert repr(est.explain(changes=False)).splitlines()[10:] == ["... and 70 more rows"]
    tidy = why.to_frame()
    assert tidy["obs"].tolist() == ["n5"] * 4 + ["n1"] * 4
    assert tidy["column"].tolist() == [*frame.columns] * 2
    np.testing.assert_allclose(
        tidy["share"].to_numpy().reshape(2, 4), why.columns["share"].to_numpy()
    )
    changed = SVDD(kernel=RBF).fit(ROWS).explain(rows=[0])
    assert "Normal with 0 = " in repr(changed)
    assert {"value", "change"} < set(changed.to_frame())
    of_points = BDD().fit(ROWS).explain(rows=[0], top=2)
    assert len(of_points.to_frame()) == 2 and "squared distance" in repr(of_points)
