"""Data sets: the embedded ones, and tables of the user's."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison import datasets


def test_embedded_set_has_its_published_counts():
    data = datasets.embedded("wine_cultivar3")
    assert data.X.shape == (178, 13)
    assert data.minority.sum() == 48
    assert data.base_rate == pytest.approx(48 / 178)


def test_there_are_thirteen_sets_and_the_defaults_are_among_them():
    assert len(datasets.names()) == 13
    assert set(datasets.DEFAULT) <= set(datasets.names())


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown data set 'iris'.*wine_cultivar3"):
        datasets.embedded("iris")


def test_moon_is_the_same_for_the_same_seed_and_imbalanced():
    a, b = datasets.moon(seed=3), datasets.moon(seed=3)
    np.testing.assert_array_equal(a.X, b.X)
    assert (a.minority.sum(), (~a.minority).sum()) == (15, 150)


@pytest.mark.parametrize(
    ("column", "minor", "expected"),
    [
        (["a", "b", "a"], "b", [False, True, False]),
        ([1, 2, 3], "2", [False, True, False]),
        ([1.0, 2.0, 3.0], "2", [False, True, False]),
        ([True, False, False], "True", [True, False, False]),
        ([0, 1, 0], None, [False, True, False]),
        ([1, -1, 1], None, [False, True, False]),
    ],
)
def test_label_column_is_read_by_value(column, minor, expected):
    X, minority = datasets.split_label(pd.DataFrame({"x": [1, 2, 3], "y": column}), "y", minor)
    assert list(X.columns) == ["x"]
    assert minority.tolist() == expected


@pytest.mark.parametrize(
    ("table", "label", "minor", "message"),
    [
        ({"x": [1], "y": [0]}, "z", None, "label column 'z' is not in the table; it has x, y"),
        ({"x": [1, 2], "y": ["a", "b"]}, "y", "c", "'c' never occurs in column 'y'; it has a, b"),
        ({"x": [1, 2], "y": [0, 1]}, "y", "one", "'one' never occurs"),
        ({"x": [1, 2], "y": ["a", "b"]}, "y", None, "minor_label="),
        ({"x": ["u", "v"], "y": [0, 1]}, "y", None, "column.s. x are not numeric"),
        ({"x": [1, 2], "y": [0, np.nan]}, "y", "0", "no label"),
        ({"y": [0, 1]}, "y", None, "no feature columns"),
    ],
)
def test_bad_tables_are_named(table, label, minor, message):
    with pytest.raises(ValueError, match=message):
        datasets.split_label(pd.DataFrame(table), label, minor)


def test_columns_are_taken_by_name_in_the_order_of_the_fit():
    table = pd.DataFrame({"b": [1.0], "extra": ["text"], "a": [2.0]})
    assert datasets.features(table, ["a", "b"]).to_numpy().tolist() == [[2.0, 1.0]]
    with pytest.raises(ValueError, match=r"lacks the column\(s\) c"):
        datasets.features(table, ["a", "c"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n", "has a header but no rows"),
        ("a,b\n9,1,2\n9,3,4\n", "Expected 2 fields in line 2, saw 3"),
        ("a,b\n1,2,3\n4,5,6\n7,8,9\n", "Expected 2 fields in line 2, saw 3"),  # even steps
        ("a,b\n1,2\n4,5,6\n", "Expected 2 fields in line 3, saw 3"),
        ("a,y,y\n1,2,3\n", "the column 'y' twice"),
    ],
)
def test_tables_that_would_be_read_wrongly_are_refused(tmp_path, content, message):
    path = tmp_path / "x.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        datasets.read_table(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01", b'a,b\n1,2\n"3'])
def test_a_file_that_is_no_csv_is_said_to_be_none(tmp_path, content):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as CSV"):
        datasets.read_table(path)
