"""Columns that are no features: found by what they are, and no measurement is one."""

import numpy as np
import pandas as pd
import pytest

from bsvdd.base.warning import collected
from bsvdd.comparison import datasets
from bsvdd.tables.columns import TableColumn
from bsvdd.tables.features import no_features
from bsvdd.tables.training import TrainingTable

N = 300
RNG = np.random.default_rng(3)
I = np.arange(N)  # noqa: E741  the number of the row
FIRM = RNG.integers(0, 12, N)
IDS = 36_000_000 + RNG.choice(900_000, N, replace=False)
WORDS = ["please", "call", "back", "on", "monday", "or", "write", "to", "us"]
TEXTS = np.array([" ".join(RNG.choice(WORDS, 5)) for _ in range(60)])
COLUMNS = {  # by name: the cells, and why the column is no feature
    "firm": ([f"Firm {chr(65 + i)}" for i in FIRM], None),
    "visit": (I + 1, "counts on"),
    "seconds": (I / 8, "counts on"),
    "order": (np.sort(RNG.choice(9 * N, N, False)), "counts on"),
    "day": (pd.date_range("2024-01-01", periods=N), "counts on"),
    "shuffled": (RNG.permutation(N), "numbers the rows"),
    "PassengerId": (IDS, "numbers the rows"),
    "twice": (np.where(I == 7, 8, RNG.permutation(3 * N)[:N]), "numbers the rows"),
    "supplier id": (IDS[FIRM], "one value for each value of 'firm'"),
    "short": (np.array(list("QRSTUVWXYZab"))[FIRM], "one value for each"),
    "invoice": ([f"INV-{i}" for i in IDS], "names the rows"),
    "remark": (TEXTS[RNG.integers(0, 60, N)], "free text"),
    "note": (np.where(I % 3, "", "seen"), "has a value in 100 of 300 rows"),
    "old value": (np.where(I % 5, np.nan, RNG.normal(size=N)), "in 60 of 300"),
    "revenue of the firm": ((np.exp(RNG.normal(13, 2, 12)).round())[FIRM], None),
    "measured": (RNG.normal(size=N), None),
    "sorted": (np.sort(RNG.normal(size=N)), None),
    "amount": (np.exp(RNG.normal(12, 1, N)).round(), None),
    "sorted amount": (np.sort(np.exp(RNG.normal(12, 1, N)).round()), None),
    "sorted salary": (np.sort(RNG.normal(5e6, 1e6, N).round()), None),
    "year": (RNG.integers(1900, 2020, N), None),
    "count": (RNG.poisson(4, N), None),
    "large count": (RNG.poisson(4000, N), None),
    "population": (RNG.integers(10_000, 10**8, N), None),
    "any day": (pd.Timestamp("2020-01-01") + pd.to_timedelta(IDS % 997, "D"), None),
    "flag": (I % 2, None),
    "city": (RNG.choice(["Bonn", "Rom", "Oslo"], N), None),
    "half": (np.where(I % 2, np.nan, RNG.normal(size=N)), None),
}


def why(X):
    with collected():
        read = TrainingTable.read(X)
    return no_features(read.frame, read.table.columns, read.values)


def test_columns_that_are_no_features():
    found = why(pd.DataFrame({name: cells for name, (cells, _) in COLUMNS.items()}))
    expected = {name: text for name, (_, text) in COLUMNS.items() if text}
    assert list(found) and set(found) == set(expected)
    for name, text in expected.items():
        assert text in found[name]


def test_dates_in_the_order_of_the_rows_of_each_group_are_no_feature():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, 60), "D")
    X = pd.DataFrame({"who": np.repeat(np.arange(12), 5), "taken": days})
    X["size"] = rng.normal(size=60)
    sorted_ = X.sort_values(["who", "taken"])
    read = TrainingTable.read(sorted_[["taken", "size"]])
    columns = read.frame, read.table.columns, read.values
    assert no_features(*columns) == {}
    found = no_features(*columns, sorted_["who"].to_numpy())
    assert found == {"taken": "counts on from row to row of a group"}
    assert no_features(*columns, rng.permutation(X["who"])) == {}


def test_numbers_that_fall_from_row_to_row_count_on_too():
    X = pd.DataFrame({"left": np.arange(400, 0, -10), "size": RNG.normal(size=40)})
    assert list(why(X)) == ["left"]
    X["left"] = X["left"].where(X.index < 5)
    assert "5 of 40 rows" in why(X)["left"]
    few = pd.DataFrame({"left": [*range(6), *[None] * 5], "size": RNG.normal(size=11)})
    assert why(few) == {}


@pytest.mark.parametrize("distribution", ["uniform", "exponential", "normal"])
def test_whole_numbers_that_differ_by_chance_are_no_ids(distribution):
    """Of n in a range of some n^2 nearly all differ."""
    rng = np.random.default_rng(0)
    draw = getattr(rng, distribution)
    X = {f"x{j}": (draw(size=200) * 40_000).round() for j in range(30)}
    assert why(pd.DataFrame(X)) == {}


def test_the_embedded_sets_have_features_only():
    names = datasets.names()
    assert len(names) == 13
    for name in names:
        X = pd.DataFrame(datasets.embedded(name).X, dtype=float).add_prefix("c")
        assert no_features(X, [TableColumn()] * X.shape[1], X) == {}
