"""Single cells of a table against what the other columns lead to."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, poisson

import bsvdd
from bsvdd.outliers.cells import Cells
from bsvdd.tables.training import TrainingTable


def cells_of(X):
    given = TrainingTable.read(pd.DataFrame(X))
    is_category = np.array([kind == "category" for kind in given.kinds.values()])
    return Cells.of(given, is_category, np.ones(len(given.values), dtype=bool))


def test_sizes_of_independent_columns_are_those_of_a_normal_variable():
    X = np.random.default_rng(0).normal(size=(1000, 4))
    z = np.quantile(cells_of(X).excess, [0.5, 0.9, 0.99])
    np.testing.assert_allclose(z, [0.674, 1.645, 2.576], atol=0.1)


def test_steps_do_not_stretch_the_tail_of_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    X[:, 0] = np.where(rng.random(600) < 0.8, 0, rng.integers(3, 6, 600))
    X[7, 0] = 8
    assert 2.3 < cells_of(X).excess[7, 0] < 3.5


def test_counts_have_the_sizes_of_their_probabilities():
    """Of 3,000 counts the eight of 1 had 4.4, where a normal variable has 2.8."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 3))
        X[:, 2] = rng.poisson(8, 3000)
        z = cells_of(X).excess[:, 2]
        for k, tail in ((1, poisson.cdf(1, 8)), (2, poisson.cdf(2, 8))):
            size = norm.isf(tail)
            assert size - 0.3 < z[X[:, 2] == k].max() < size + 0.8
        for k in (16, 17):
            size = norm.isf(poisson.sf(k - 1, 8))
            assert z[X[:, 2] == k].max() == pytest.approx(size, abs=0.3)


def test_one_cell_of_many_columns_keeps_its_size():
    """Fifty columns of noise would explain a third of a column of 200 rows."""
    X = np.random.default_rng(0).normal(size=(200, 50))
    X[7, 30] = 6.5
    found = cells_of(X)
    assert 5.0 < found.excess[7, 30] < 8.0 and found.suspects([7])[7][0] == 30
    assert max(each.explained for each in found.found.values()) < 0.25


def test_a_difference_is_found_of_two_columns_that_tell_nothing_alone():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 40))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    X[:, 2] = X[:, 0] - X[:, 1] + 0.01 * X[:, 2]
    follows = bsvdd.relations(pd.DataFrame(X)).follows
    assert follows.loc[2, "by"] == [0, 1] and follows.loc[2, "explained"] > 0.95


def test_classes_that_overlap_contradict_no_row_and_a_wrong_class_is_contradicted():
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c"], 600)
    centre = pd.Series({"a": (0.0, 0.0), "b": (2.5, 1.0), "c": (5.0, 0.0)})[kind]
    X = pd.DataFrame(np.array(centre.tolist()) + rng.normal(size=(600, 2)))
    X["kind"] = kind
    assert np.nanmax(cells_of(X).excess[:, 2]) < 3.5  # of 600 normal sizes: 3.2
    X["code"] = X["kind"].map({"a": "u", "b": "v", "c": "u"})
    X.loc[9, "code"] = "u" if X.loc[9, "kind"] == "b" else "v"
    found = cells_of(X)
    largest = np.nan_to_num(found.excess).max(axis=1)
    assert largest.argmax() == 9 and found.breaks(found.suspects([9])[9][0])


def test_the_flag_that_lacks_is_named_and_not_the_one_with_the_largest_excess():
    """A row without a flag lacks the rarest, by the flags; its flow tells which."""
    rng = np.random.default_rng(9)
    state = rng.choice(3, 400, p=[0.3, 0.6, 0.1])
    flow = np.array([2.0, 14.0, 7.0])[state] + rng.normal(size=400)
    X = pd.DataFrame({"flow": flow, "heat": 20.0 + 0.8 * flow + rng.normal(size=400)})
    for j, name in enumerate(["idle", "running", "fault"]):
        X[name] = (state == j).astype(int)
    row = X.index[X["running"] == 1][0]
    X.loc[row, "running"] = 0
    found = cells_of(X)
    assert X.columns[np.nanargmax(found.excess[row])] == "fault"
    first = found.suspects([row])[row][0]
    assert X.columns[first] == "running" and found.expected(first)[row] == 1


def test_the_wrong_cell_is_named_and_not_one_that_it_explains():
    """Tax x 1.5: gross, tax and net break two equations as much."""
    rng = np.random.default_rng(0)
    hours, rate = rng.integers(80, 170, 300), rng.uniform(15.0, 40.0, 300).round(2)
    gross = (hours * rate).round(2)
    X = pd.DataFrame({"hours": hours, "rate": rate, "gross": gross})
    X["tax"] = (0.22 * gross).round(2)
    X["net"] = (X["gross"] - X["tax"]).round(2)
    X.loc[7, "tax"] *= 1.5
    X.loc[9, "rate"] *= 2.2
    found = cells_of(X)
    named = {row: X.columns[own] for row, own in found.suspects([7, 9]).items()}
    assert named[7].tolist() == ["tax"] and named[9][0] == "rate"


def test_a_relation_is_learned_from_all_rows_that_have_its_columns():
    """Missing values of other columns left one row of 13."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1000, 7)), columns=list("abcdefy"))
    X["y"] = 2.0 * X["a"] + 0.1 * X["y"]
    X[list("bcdef")] = X[list("bcdef")].where(rng.random((1000, 5)) > 0.4)
    found, alone = (cells_of(table) for table in (X, X[["a", "y"]]))
    assert found.found[6].by == [0]
    np.testing.assert_allclose(found.excess[:, 6], alone.excess[:, 1], atol=1e-6)


def test_a_sum_of_products_is_a_relation_of_most_rows_only():
    """Overtime was expected to be negative, and 0 was 34 standard deviations away."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        hours = rng.choice([160, 168, 120, 80], 700, p=[0.5, 0.3, 0.1, 0.1])
        X = pd.DataFrame({"hours": (hours + rng.normal(0.0, 3.0, 700)).round(1)})
        X["overtime"] = rng.exponential(6.0, 700).round(1) * (rng.random(700) < 0.35)
        X["rate"] = rng.choice([16.2, 18.4, 21.9, 26.3, 33.5], 700)
        X["gross"] = ((X["hours"] + 1.25 * X["overtime"]) * X["rate"]).round(2)
        found = cells_of(X)
        assert np.nanmax(found.excess) < 6.0
        expected = np.array(found.expected(1), dtype=float)
        assert np.nanmin(expected) > -1e-9


def test_exceptions_that_many_rows_have_are_no_errors():
    """Of 1,000 rows 33 had another unit, and sizes of 2.7 and more: 26 were odd."""
    rng = np.random.default_rng(4)
    kind = rng.choice(list("abcde"), 1000, p=[0.35, 0.3, 0.2, 0.1, 0.05])
    X = pd.DataFrame({"kind": kind, "x": rng.normal(size=1000)})
    X["unit"] = np.where(rng.random(1000) < 0.05, "ua", np.char.add("u", kind))
    exception = X["unit"] != "u" + X["kind"]
    largest = np.nan_to_num(cells_of(X).excess[:, [0, 2]]).max(axis=1)
    many = norm.isf(exception.mean() / 2.0)
    assert np.median(largest[exception]) == pytest.approx(many, abs=0.3)
    X["unit"] = np.char.add("u", kind)
    X.loc[7, "unit"] = "ua" if kind[7] != "a" else "ub"
    assert cells_of(X).excess[7, [0, 2]].max() > 3.5


def test_a_value_short_of_what_was_expected_beyond_all_others_is_as_expected():
    """The largest payment, less a discount, was 145 standard deviations away."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"total": rng.lognormal(3.0, 1.0, 4000)})
    X["paid"] = X["total"] * np.where(rng.random(4000) < 0.15, 0.8, 1.0)
    last = X["total"].idxmax()
    X.loc[last, "paid"] = 0.8 * X.loc[last, "total"]
    given = TrainingTable.read(X)
    found = Cells.of(given, np.zeros(2, dtype=bool), np.arange(4000) != last)
    assert found.excess[last, 1] < 3.0


def test_a_column_that_is_constant_where_another_is_known_is_judged_without_it():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"g": rng.normal(size=100), "v": rng.normal(size=100)})
    X.loc[60:, "g"] = np.nan
    X.loc[:59, "v"] = 5.0
    found = cells_of(X)
    assert found.found[1].by == [] and np.isfinite(found.excess[:, 1]).all()


def test_a_row_with_all_of_four_flags_is_far_from_what_they_lead_to():
    """Its excess was 4.6, as flags tell a little of each other in all rows."""
    rng = np.random.default_rng(0)
    on = rng.integers(0, 4, 300)
    X = pd.DataFrame({f"k{j}": (on == j) * 1 for j in range(4)})
    X["x"] = rng.normal(size=300)
    X.loc[5, ["k0", "k1", "k2", "k3"]] = 1
    excess = np.nan_to_num(cells_of(X).excess)
    assert excess[5].max() > 5.5 and excess.max(axis=1).argmax() == 5


@pytest.mark.parametrize("n", [200, 400, 1000])
def test_an_exception_of_a_relation_without_others_is_far(n):
    """By the exceptions of its cell alone it was 4.4 for 1,000 rows."""
    rng = np.random.default_rng(0)
    code = rng.choice(6, n)
    X = pd.DataFrame({"code": np.array(list("abcdef"))[code]})
    X["city"] = np.array(list("uvwxyz"))[code]
    X["x"] = rng.normal(size=n)
    X.loc[5, "city"] = "u" if X.loc[5, "city"] != "u" else "v"
    z = np.nanmax(cells_of(X).excess, axis=1)
    assert z.argmax() == 5
    assert z[5] ** 2 == pytest.approx(2.576**2 * np.log(n + 1) / np.log(6), rel=0.08)


def test_a_return_with_a_wrong_sign_is_expected_below_the_rows_learned_from():
    rng = np.random.default_rng(0)
    n = 400
    quantity, price = rng.integers(1, 5, n), rng.choice([9.9, 14.5, 17.0, 45.0], n)
    sign = np.where(np.arange(n) < 3, -1.0, np.where(rng.random(n) < 0.04, -1.0, 1.0))
    X = pd.DataFrame({"price": price, "quantity": quantity})
    X["subtotal"] = (price * quantity * sign).round(2)
    X["tax"] = (0.19 * X["subtotal"]).round(2)
    X["shipping"] = rng.choice([0.0, 4.9, 9.9], n)
    X["total"] = (X["subtotal"] + X["tax"] + X["shipping"]).round(2)
    right = X.loc[2, "total"]
    X.loc[2, "total"] *= -1.0
    found = cells_of(X)
    assert X.columns[found.suspects([2])[2][0]] == "total"
    assert found.expected(5)[2] == pytest.approx(right, abs=0.5)


def test_one_zero_spoils_no_logarithm():
    rng = np.random.default_rng(0)
    width = np.exp(rng.normal(3.0, 0.6, 200))
    length = np.exp(rng.normal(0.0, 0.3, 200)).round(2)
    X = pd.DataFrame({"length": length, "width": width.round(1)})
    X["weight"] = (2.0 * width * length * rng.normal(1.0, 0.03, 200)).round(1)
    right = X.loc[7, "weight"]
    X.loc[7, "weight"] = 0.0
    found = cells_of(X)
    assert found.found[2].how == "log-linear"
    assert [X.columns[f] for f in found.suspects([7])[7]] == ["weight"]
    assert found.expected(2)[7] == pytest.approx(right, rel=0.15)
