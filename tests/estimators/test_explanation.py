"""Each part of an explanation, against its definition, on fits of one draw."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators import explanation
from scipy.special import rel_entr

from bsvdd import BDD, SVDD, SVDDM, Cutoff, Landmarks, kernels

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(47, 3)) * [1.0, 10.0, 0.1]
NAMES = ["a", "b", "c"]
NEW = pd.DataFrame(
    np.concatenate([ROWS[:2] + 0.01, [[0.0, 60.0, 0.0], [4.0, 0.0, 0.9], [-9.0, 5.0, 0.1]]]),
    columns=NAMES,
    index=["in", "also in", "b", "c", "a"],
)
BANDWIDTH = 1.4


@pytest.fixture(scope="module")
def est():
    kernel = kernels.Standardized(kernels.RBF(BANDWIDTH))
    return SVDD(kernel=kernel).fit(pd.DataFrame(ROWS, columns=NAMES))


@pytest.fixture
def why(est):
    return est.explain(NEW, top=4)


def costs(Z, U):
    """Minus the logarithm of the kernel in each column, (rows, points, columns)."""
    return ((Z[:, None] - U) / ROWS.std(axis=0)) ** 2 / (2.0 * BANDWIDTH**2)


def surprise(w, cost):
    """Return the surprise, its terms of columns and the shares of the points of one row."""
    q = w * np.exp(-cost.sum(axis=1))
    return -np.log(q.sum()), q @ cost / q.sum(), q / q.sum()


def test_rows_and_columns_are_terms_of_the_surprise(est, why):
    w = est.idata_["posterior"]["w"].values.ravel()
    assert (why.kind, why.draws, why.prob, why.without_columns) == ("surprise", 1, 0.9, "")
    parts = ["normal", "mean", "low", "high", "cutoff", "remainder"]
    assert why.rows.columns.tolist() == parts and why.rows.index.tolist() == NEW.index.tolist()
    assert why.rows["normal"].tolist() == (est.predict(NEW) == 1).tolist()
    assert why.rows["normal"].nunique() == 2
    assert (why.rows["normal"] == (why.rows["mean"] <= why.rows["cutoff"])).all()
    np.testing.assert_allclose(why.rows["cutoff"], np.log(2.0) - est.offset_)
    assert why.columns["column"].values.tolist() == NAMES
    assert why.columns["obs"].values.tolist() == NEW.index.tolist()
    for i, cost in enumerate(costs(NEW.to_numpy(), ROWS)):
        total, columns, q = surprise(w, cost)
        of_row, of_columns = why.rows.iloc[i], why.columns.isel(obs=i)
        for end in ("mean", "low", "high"):  # one draw
            assert of_row[end] == pytest.approx(total, rel=1e-9)
            np.testing.assert_allclose(of_columns[end], columns, rtol=1e-9)
            share = of_columns["share" if end == "mean" else f"share_{end}"]
            np.testing.assert_allclose(share, columns / total, rtol=1e-9)
        assert of_row["remainder"] == pytest.approx(rel_entr(q, w).sum(), rel=1e-8)
        best = np.argsort(-q)[: why.points.sizes["rank"]]
        points = why.points.isel(obs=i)
        assert points["rank"].values.tolist() == list(range(len(best))) and len(best) == 4
        assert points["point"].values.tolist() == points["row"].values.tolist() == best.tolist()
        for end in ("mean", "low", "high"):
            np.testing.assert_allclose(points[end], q[best], rtol=1e-9)
        assert not points["minority"].any()


@pytest.mark.parametrize("most", [200, 42, 41, 10])
def test_typical_terms_are_those_of_spread_majority_rows(monkeypatch, most):
    monkeypatch.setattr(explanation, "TYPICAL_ROWS", most)
    minority = np.arange(47) % 9 == 4
    kernel = kernels.Standardized(kernels.RBF(BANDWIDTH))
    est = SVDD(kernel=kernel).fit(ROWS, minority)
    majority = np.flatnonzero(~minority)  # 42 rows
    step = -(-len(majority) // most)
    U, w = ROWS[majority], est.idata_["posterior"]["w"].values.ravel()[: len(majority)]
    scale = np.array(est.kernel_.scale)
    terms = []
    for j in range(0, len(majority), step):
        others = np.arange(len(majority)) != j  # a row is not its own neighbour
        cost = ((U[j] - U[others]) / scale) ** 2 / (2.0 * BANDWIDTH**2)
        terms.append(surprise(w[others], cost)[1])
    typical = est.explain(ROWS[:1], changes=False).columns["typical"]
    np.testing.assert_allclose(typical, np.mean(terms, axis=0), rtol=1e-9)


def test_top_columns_are_in_the_order_of_their_shares(why):
    share = why.columns["share"].to_pandas()
    table = why.top_columns()
    assert table.columns.tolist() == [
        f"{part}_{i}" for i in (1, 2, 3) for part in ("column", "share")
    ]
    assert table.index.tolist() == NEW.index.tolist()
    for row in NEW.index:
        order = share.loc[row].sort_values(ascending=False)
        assert [table.loc[row, f"column_{i}"] for i in (1, 2, 3)] == order.index.tolist()
        assert [table.loc[row, f"share_{i}"] for i in (1, 2, 3)] == order.tolist()
    assert table.loc[["b", "c", "a"], "column_1"].tolist() == ["b", "c", "a"]
    assert why.top_columns(1).columns.tolist() == ["column_1", "share_1"]


@pytest.mark.parametrize("kernel", [kernels.RBF(1.5), kernels.Linear(), kernels.Polynomial(2)])
@pytest.mark.parametrize("block", [512, 2])
def test_nearest_rows_are_normal_and_the_most_similar(kernel, block, monkeypatch):
    monkeypatch.setattr(explanation, "BLOCK", block)
    rows, new = ROWS / [1.0, 10.0, 0.1], NEW.to_numpy() / [1.0, 10.0, 0.1]
    minority = np.arange(47) % 9 == 4
    est = BDD(kernel=kernel, draws=40).fit(rows, minority)
    normal = np.flatnonzero(est.idata_["decision"]["normal"].values & ~minority)
    assert 0 < len(normal) < (~minority).sum()
    nearest = est.explain(new, top=6, changes=False).nearest
    assert nearest["rank"].values.tolist() == list(range(6))
    k = kernel(new, rows[normal])
    between = -2.0 * k + kernel.diag(
        rows[normal]
    )  # the squared distance in kernel space, up to k(z, z)
    best = np.argsort(between, axis=1)[:, :6]
    np.testing.assert_array_equal(nearest["row"], normal[best])
    np.testing.assert_allclose(nearest["similarity"], np.take_along_axis(k, best, 1), rtol=1e-8)
    sd = rows[~minority].std(axis=0)
    away = (new[:, None] - rows[normal][best]) / sd
    np.testing.assert_allclose(nearest["distance"], np.linalg.norm(away, axis=2))
    every = est.explain(new, top=1000, changes=False).nearest
    assert every.sizes["rank"] == len(normal)


def test_changes_make_rows_normal(est, why):
    changes, normal = why.changes, why.rows["normal"].to_numpy()
    value, sd = changes["value"].values, ROWS.std(axis=0)
    assert (est.predict(pd.DataFrame(value, columns=NAMES)) == 1).all()
    assert (value[normal] == NEW.to_numpy()[normal]).all()
    np.testing.assert_array_equal(changes["change"], value - NEW.to_numpy())
    np.testing.assert_allclose(changes["standardized"], changes["change"].values / sd)
    size = np.linalg.norm(changes["standardized"], axis=1)
    np.testing.assert_allclose(changes["size"], size)
    assert (size[~normal] > 0.0).all()
    assert changes["column"].values.tolist() == NAMES
    assert changes["obs"].values.tolist() == NEW.index.tolist()
    assert est.explain(NEW, changes=False).changes is None


def test_categories_have_no_distance_and_no_change():
    frame = pd.DataFrame(ROWS[:, :2], columns=["a", "b"]).assign(kind=["u", "v"] * 23 + ["w"])
    est = SVDD(kernel=kernels.Mixed()).fit(frame)
    found = est.explain(frame[:3], top=5)
    assert found.changes is None
    rows = found.nearest["row"].values
    away = (ROWS[:3, None, :2] - ROWS[rows][..., :2]) / ROWS[:, :2].std(axis=0)
    np.testing.assert_allclose(found.nearest["distance"], np.linalg.norm(away, axis=2))


def test_signed_weights_are_explained_by_distance():
    y = np.arange(47) >= 40
    rows = ROWS / [1.0, 10.0, 0.1] + 0.8 * y[:, None]
    est = SVDDM(kernel=kernels.RBF(BANDWIDTH)).fit(rows, y)
    found = est.explain(rows[[0, 44]] + 0.1, top=100)
    assert (found.kind, found.columns) == ("distance", None)
    assert found.rows.columns.tolist()[-3:] == ["cutoff", "remainder", "base"]
    assert (found.rows["cutoff"] == 0.0).all() and (found.rows["remainder"] == 0.0).all()
    added = found.rows["base"] + found.points["mean"].sum("rank").values
    np.testing.assert_allclose(found.rows["mean"], added, rtol=1e-8, atol=1e-10)
    d = est.distance(rows[[0, 44]] + 0.1).values.ravel()
    np.testing.assert_allclose(found.rows["mean"], d**2 - est.cutoff_**2, rtol=1e-8)
    np.testing.assert_array_equal(found.points["minority"], found.points["row"] >= 40)
    assert found.points["minority"].any() and not found.points["minority"].all()
    assert (found.nearest["row"] < 40).all()
    with pytest.raises(ValueError, match="no exact shares of columns for weights that may be neg"):
        found.top_columns()


def test_other_kernels_have_no_terms_of_columns():
    rows = ROWS / [1.0, 10.0, 0.1]
    found = BDD(kernel=kernels.Polynomial(2), draws=20).fit(rows).explain(rows[:2], changes=False)
    assert found.columns is None
    with pytest.raises(ValueError, match=r"Polynomial\(.*\) is no product over columns"):
        found.top_columns()
    linear = BDD(kernel=kernels.Linear(), draws=20).fit(rows)
    found = linear.explain(rows[:2], changes=False)
    assert found.kind == "distance" and found.without_columns == ""
    assert found.top_columns().shape == (2, 6)


def test_landmarks_are_points_and_rows_where_they_are_rows():
    rows = np.tile(ROWS / [1.0, 10.0, 0.1], (3, 1)) + 0.05 * RNG.normal(size=(141, 3))
    for method in ("kmeans", "random"):
        est = BDD(dictionary=Landmarks(9, method=method), draws=20).fit(rows)
        points = est.explain(rows[:2] + 1.0, top=3, changes=False).points
        if method == "kmeans":
            assert (points["row"] == -1).all()
        else:
            held = est.idata_["constant_data"]["X"].values
            np.testing.assert_array_equal(
                held[points["row"].values], est.gram_.points[points["point"].values]
            )


def test_without_a_normal_row_there_is_none_to_compare_with(est):
    none = est.with_cutoff(0.0)
    assert not none.idata_["decision"]["normal"].values.any()
    found = none.explain(NEW)
    assert found.nearest.sizes["rank"] == 0 and not found.rows["normal"].any()
    assert np.isnan(found.changes["value"]).all() and np.isnan(found.changes["size"]).all()


def test_typical_terms_of_a_linear_kernel_leave_the_row_out():
    """By the definition: the centre of the other points, with rescaled weights."""
    est = SVDD(kernel=kernels.Linear()).fit(ROWS)
    w = est.idata_["posterior"]["w"].values.ravel()
    terms = [
        (ROWS[i] - np.delete(w, i) @ np.delete(ROWS, i, axis=0) / (1.0 - w[i])) ** 2
        for i in range(len(ROWS))
    ]
    typical = est.explain(ROWS[:1], changes=False).columns["typical"]
    np.testing.assert_allclose(typical, np.mean(terms, axis=0), rtol=1e-9)


def test_typical_terms_of_free_weights_are_comparable_with_those_of_rows():
    """Both have the posterior variance of the centre, which is large where units are small."""
    rows = ROWS / ROWS.std(axis=0) * 0.01
    est = BDD(kernel=kernels.Linear(), draws=500).fit(rows)
    found = est.explain(rows, changes=False).columns
    np.testing.assert_allclose(found["typical"], found["mean"].mean("obs"), rtol=1e-9)
    means = est.idata_["posterior"]["w"].values.mean(axis=(0, 1))
    assert (found["typical"] > np.square(rows - means @ rows).mean(axis=0)).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_decision_on_the_row_that_is_the_cutoff_is_one_everywhere(seed):
    """P(normal), predict and the explanation; the cutoff is the score of a training row."""
    rows = np.random.default_rng(seed).normal(size=(60, 3))
    for cls, more in ((SVDD, {}), (BDD, {"simplex": True}), (BDD, {})):
        est = cls(cutoff=Cutoff("rank", rank=0.8, cv="train"), **more).fit(rows)
        normal = est.predict(rows) == 1
        np.testing.assert_array_equal(est.probability_normal(rows) > 0.5, normal)
        np.testing.assert_array_equal(est.explain(rows, changes=False).rows["normal"], normal)
