"""Checks of the rows that users give, each called by itself."""

import warnings

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.inputs import (
    row_names,
    training_names,
    validated,
    warn_of_constant_columns,
)
from bsvdd.estimators.messages import columns, did_you_mean, quoted
from bsvdd.inference.warning import DataWarning

from bsvdd import SVDD

TABLE = [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]


@pytest.mark.parametrize(
    "X",
    [
        TABLE,
        np.array(TABLE, dtype=np.float32),
        np.array(TABLE, dtype=int),
        np.array(TABLE, dtype=object),
        np.ma.array(TABLE, mask=False),
        pd.DataFrame(TABLE, columns=["a", "b"]).astype({"a": "Int64", "b": "category"}),
    ],
    ids=["list", "float32", "int", "object", "no mask", "frame"],
)
def test_tables_of_numbers_become_float64(X):
    est = SVDD()
    rows = validated(est, X, reset=True, pairwise=False)
    assert rows.dtype == np.float64 and rows.tolist() == TABLE
    assert est.n_features_in_ == 2
    assert hasattr(est, "feature_names_in_") == isinstance(X, pd.DataFrame)


def test_rows_of_a_fit_are_two_at_least_and_new_rows_one():
    est = SVDD()
    with pytest.raises(ValueError, match="1 sample.* minimum of 2 is required"):
        validated(est, TABLE[:1], reset=True, pairwise=False)
    validated(est, TABLE, reset=True, pairwise=False)
    assert validated(est, TABLE[:1], reset=False, pairwise=False).tolist() == TABLE[:1]
    with pytest.raises(ValueError, match="X has 3 features, but SVDD is expecting 2"):
        validated(est, [[1.0, 2.0, 3.0]], reset=False, pairwise=False)


def test_new_rows_of_a_kernel_have_one_column_more():
    """They are not compared with the columns of the fit, and the fit keeps its own."""
    est = SVDD()
    validated(est, np.eye(3), reset=True, pairwise=True)
    assert validated(est, np.ones((1, 4)), reset=False, pairwise=True).shape == (1, 4)
    assert est.n_features_in_ == 3


def test_columns_of_text_are_named():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"], "c": ["1", "2", "3"]})
    with pytest.raises(ValueError, match="X must be a table of numbers .*; column 'b' is not num"):
        validated(SVDD(), frame, reset=True, pairwise=False)
    frame["d"] = ["u", None, "w"]
    with pytest.raises(ValueError, match="; columns 'b', 'd' are not numeric: for columns of cat"):
        validated(SVDD(), frame, reset=True, pairwise=False)
    with pytest.raises(ValueError, match=r"^X must be a table of numbers \(rows, columns\): could"):
        validated(SVDD(), [["1", "x"], ["2", "3"]], reset=True, pairwise=False)
    with pytest.raises(TypeError, match="X must be a table of numbers .* not 'dict'$"):
        validated(SVDD(), [[{}], [{}]], reset=True, pairwise=False)
    # a column that is empty but for gaps is no text
    gaps = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Series([None, None], dtype=object)})
    with pytest.raises(ValueError, match=r"X contains NaN or infinity: X\[0, 1\] is nan \(2 such"):
        validated(SVDD(), gaps, reset=True, pairwise=False)


def test_masked_values_are_counted():
    X = np.ma.array(TABLE, mask=[[0, 1], [0, 0], [1, 0]])
    with pytest.raises(ValueError, match="^X has 2 masked values, which would count"):
        validated(SVDD(), X, reset=True, pairwise=False)


DAY = np.datetime64("2020-01-02")


@pytest.mark.parametrize(
    ("X", "name"),
    [
        (np.array([[DAY], [DAY]]), r"datetime64\[D\]"),
        (np.array([[DAY], [DAY]]) - DAY, r"timedelta64\[D\]"),
        ([[DAY], [DAY]], r"datetime64\[D\]"),
        ((([DAY]), ([DAY])), r"datetime64\[D\]"),
        (np.array([[1.0, DAY], [2.0, DAY]], dtype=object), "datetime64"),
        ([[1.0, DAY - DAY], [2.0, DAY - DAY]], "timedelta64"),
        (pd.DataFrame({"a": [1.0, 2.0], "b": pd.to_datetime([DAY, DAY])}), "datetime64.*"),
        (pd.DataFrame({"a": [1, 2], "b": pd.Series([1.5, DAY], dtype=object)}), "datetime64"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2]), "b": ["x", "y"]}), "timedelta64.*"),
    ],
    ids=["array", "difference", "list", "tuple", "objects", "list of objects", *"abc"],
)
def test_dates_are_no_numbers(X, name):
    with pytest.raises(TypeError, match=f"^X must be numbers, got {name}; convert dates to number"):
        validated(SVDD(), X, reset=True, pairwise=False)


def test_rows_of_different_lengths():
    with pytest.raises(ValueError, match="X must be a table of numbers"):
        validated(SVDD(), [[1.0], [1.0, 2.0]], reset=True, pairwise=False)


def shown(X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_constant_columns(np.array(X, dtype=float))
    assert all(w.category is DataWarning for w in caught)
    return [str(w.message) for w in caught]


def test_constant_columns_are_counted_and_listed():
    X = np.arange(21.0).reshape(3, 7)
    assert shown(X) == []
    X[:, [1, 4]] = 2.0
    (text,) = shown(X)
    assert text.startswith("2 column(s) of X are constant over the majority rows (1, 4): they")
    X[:, 1:6] = 0.0
    assert "5 column(s) of X are constant over the majority rows (1, 2, 3, 4, 5):" in shown(X)[0]
    X[:, 0] = -1.0
    assert "rows (0, 1, 2, 3, 4, ...):" in shown(X)[0]
    X[:, 6] = 1.0
    (text,) = shown(X)
    assert text.startswith("all 3 majority rows are equal")


def test_names_of_rows():
    frame = pd.DataFrame({"a": range(4)}, index=["x", "y", "z", "x"])
    assert row_names(frame, 4).tolist() == ["x", "y", "z", "x"]
    assert row_names(np.ones((3, 2)), 3).tolist() == [0, 1, 2]
    levels = frame.set_index(pd.MultiIndex.from_product([["u", "v"], [1, 2]]))
    assert row_names(levels, 4).tolist() == [("u", 1), ("u", 2), ("v", 1), ("v", 2)]


def test_names_that_a_fit_keeps():
    """None stands for 0, 1, ...; whole numbers stay numbers, all others are texts."""
    every, some = slice(None), np.array([1, 3])
    frame = pd.DataFrame({"a": range(4)})
    assert training_names(frame, every, 4) is None
    assert training_names(np.ones((4, 1)), every, 4) is None
    assert training_names(np.ones((4, 1)), np.arange(4), 4) is None
    sampled = training_names(np.ones((4, 1)), some, 2)
    assert sampled.tolist() == [1, 3] and sampled.dtype == np.int64
    assert training_names(frame, some, 2).tolist() == [1, 3]
    later = training_names(frame.set_index([[7, 8, 9, 5]]), some, 2)
    assert later.tolist() == [8, 5] and later.dtype == np.int64
    mixed = training_names(frame.set_index([[7, "b", 9, 5]]), every, 4)
    assert mixed.tolist() == ["7", "b", "9", "5"] and mixed.dtype.kind == "U"
    assert training_names(frame.set_index([[0.0, 1.0, 2.0, 3.0]]), every, 4).tolist() == [
        "0.0",
        "1.0",
        "2.0",
        "3.0",
    ]


def test_many_names_are_counted():
    assert quoted(range(12)).endswith("'11'")
    assert quoted(range(13)) == quoted(range(12)) + " and 1 more"
    assert quoted(range(13), shown=2) == "'0', '1' and 11 more"
    assert quoted([]) == ""
    assert quoted(["it's"]) == '"it\'s"'
    assert (columns([3]), columns([3, "a"]), columns("ab", "is", "are")) == (
        "column '3'",
        "columns '3', 'a'",
        "columns 'a', 'b' are",
    )


def test_the_name_that_was_meant():
    assert did_you_mean("lenght", ["Length", "width"]) == " (did you mean 'Length'?)"
    assert did_you_mean(11, [12, 1.5]) == ""
    assert did_you_mean(1234, [1235, "b"]) == " (did you mean '1235'?)"
    assert did_you_mean("x", []) == ""
