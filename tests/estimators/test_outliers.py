"""Rows of one table: decisions and explanations of training rows, each left out."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp, rel_entr
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, SVDD, kernels

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
    found = est.decision()
    expected = est.decision(ROWS[MINORITY])
    shared = [c for c in expected if c != "p_value"]
    assert list(found) == list(expected)
    same = found.loc[MINORITY, shared].reset_index(drop=True)
    pd.testing.assert_frame_equal(same, expected[shared], rtol=1e-9)
    assert found["surprise"].between(found["surprise_low"], found["surprise_high"]).all()
    np.testing.assert_array_equal(found["probability_normal"] > est.fit_.level, found["normal"])


@pytest.mark.parametrize("kernel", [RBF, kernels.Tabular()], ids=["RBF", "Tabular"])
def test_a_training_row_is_explained_without_itself(kernel):
    """By the definition: the other weights sum to one, and the row leaves the ranks."""
    est = BSVDD(kernel=kernel, **SMALL).fit(ROWS, MINORITY)
    data, w = est.fit_.data, est.fit_.learned.draws.weights
    rows = [0, 1, 2, 4, 13, 7]  # 4 and 13 are minority rows, which are new to the centre
    why = bsvdd.explain(est, rows=rows, draws=10**6, top=60)
    every = bsvdd.explain(est, draws=10**6, changes=False)
    np.testing.assert_allclose(every.rows.loc[rows, "value"], why.rows["value"], rtol=1e-12)
    decided = est.decision()
    for row in rows:
        point = data.point_of_row[row]
        weights, learned = w.copy(), est.kernel_ if MINORITY[row] else est.kernel_.leaving_out
        if point >= 0:
            weights[:, point] = 0.0
            weights /= weights.sum(axis=1, keepdims=True)
        at = ROWS[[row]], data.gram.points.rows
        with np.errstate(divide="ignore"):
            terms = np.log(weights) + learned.log(*at)
        total = -logsumexp(terms, axis=1)
        q = np.exp(terms + total[:, None])
        assert why.rows["value"][row] == decided["surprise"].iloc[row]
        terms = why.rows["value"][row] - why.rows[["base", "unseen"]].loc[row].sum()
        assert terms == pytest.approx(total.mean(), rel=1e-9)
        columns = [(q @ c[0]).mean() for c in learned.by_column(*at)]
        np.testing.assert_allclose(why.columns["mean"].sel(obs=row), columns)
        divergence = rel_entr(q, weights).sum(axis=1).mean()
        assert why.rows["remainder"][row] == pytest.approx(divergence, rel=1e-7)
        neighbours = why.nearest["row"].sel(obs=row).values
        assert row not in neighbours and est.decision()["normal"][neighbours].all()
        # the other rows share all
        assert float(why.points["mean"].sel(obs=row).sum()) == pytest.approx(1.0, rel=1e-9)
    assert why.top_columns(1)["column_1"].tolist()[:3] == [0, 1, 2]
    # the change of an odd row, whose range it set itself, makes it normal without itself
    assert why.rows["normal"].tolist()[:3] == [False] * 3
    changed = why.changes.isel(obs=slice(3))
    assert np.isfinite(changed["size"]).all() and (changed["size"] > 1.0).all()
    assert abs(changed["standardized"]).argmax("column").values.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "est",
    [BDD(), BSVDDM(**SMALL), SVDD(kernel=kernels.Linear()), BSVDD(dictionary=20)],
    ids=["BDD", "BSVDDM", "SVDD, linear", "BSVDD, groups"],
)
def test_all_models_explain_training_rows_and_the_parts_add_up(est):
    why = bsvdd.explain(est.fit(ROWS, MINORITY), top=60, changes=False)
    assert why.rows["normal"].tolist() == est.decision()["normal"].tolist()
    of_columns = why.kind == "surprise"
    terms = why.columns["mean"].sum("column") if of_columns else why.points["mean"].sum("rank")
    parts = terms.values + why.rows[["remainder", "unseen", "base"]].sum(axis=1)
    np.testing.assert_allclose(parts, why.rows["value"], rtol=1e-8, atol=1e-10)


@pytest.fixture(scope="module")
def named():
    """A fit to rows of which each of four has a column at fault."""
    columns = {
        "amount": np.exp(RNG.normal(size=80)),
        "city": RNG.choice(["Bonn", "Rom"], 80),
        "version": 3,
        "size": RNG.normal(size=80),
    }
    frame = pd.DataFrame(columns, [f"n{i}" for i in range(80)])
    for row, (column, value) in enumerate(ODD.items()):
        frame.loc[f"n{row}", column] = value
    return BSVDD(**SMALL).fit(frame)


@pytest.fixture(scope="module")
def of_rows():
    return SVDD(kernel=RBF).fit(ROWS)


ODD = {"amount": 99.0, "city": "Oslo", "version": 4, "size": -9.0}


def test_the_column_at_fault_is_named_first(named):
    why = bsvdd.explain(named, rows=range(4), changes=False)
    assert why.top_columns(1)["column_1"].tolist() == list(ODD)
    assert set(named.decision()["surprise"].nlargest(3).index) == {"n0", "n2", "n3"}


def test_a_fit_says_what_it_is(named):
    unfitted = BSVDD(**SMALL)
    text = str(named)
    assert repr(named) == repr(unfitted) == str(unfitted) == repr(clone(named))
    for said in (
        *("80 majority, 0 minority; 4 columns (1 of categories)", "RBF(bandwidth=", "prior = Flat"),
        *("2 chains of 50 draws", "Why this sampler", "majority rows lie beyond it"),
        *("est.decision()", "est.decision(X)", "bsvdd.explain(est, X)"),
    ):
        assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100


def test_explanations_say_what_they_are(named, of_rows):
    why = bsvdd.explain(named, rows=[2, 9], changes=False)
    lines, tidy = repr(why).splitlines(), why.to_frame()
    assert [line.partition(":")[0] for line in lines] == ["n2", "n9"]
    assert "abnormal, surprise" in lines[0] and "Columns: version" in lines[0]
    assert repr(bsvdd.explain(named, changes=False)).splitlines()[10:] == ["... and 70 more rows"]
    assert tidy["obs"].tolist() == ["n2"] * 4 + ["n9"] * 4
    assert tidy["column"].tolist() == [*ODD] * 2
    np.testing.assert_allclose(tidy["share"], why.columns["share"].values.ravel())
    changed = bsvdd.explain(of_rows, rows=[0])
    assert "Normal with 0 = " in repr(changed) and {"value", "change"} < set(changed.to_frame())
    of_points = bsvdd.explain(BDD().fit(ROWS), rows=[0], top=2)
    assert len(of_points.to_frame()) == 2 and "squared distance" in repr(of_points)
