"""Labels are read by rule: -1 of {-1, 1}, 1 of {0, 1} and booleans, else minor_label."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.labels import (
    SAVED,
    kinds_as_text,
    kinds_of_text,
    kinds_seen,
    labels_as_text,
    labels_of_text,
    labels_seen,
    minority_rows,
)
from bsvdd.inference.warning import DataWarning

from bsvdd import SVDD

MIXED = [False, True, True, False]


@pytest.mark.parametrize(
    ("y", "minor_label"),
    [
        ([1, -1, -1, 1], None),
        ([1.0, -1.0, -1.0, 1.0], None),
        ([0, 1, 1, 0], None),
        ([0.0, 1.0, 1.0, 0.0], None),
        ([False, True, True, False], None),
        (pd.Series([0, 1, 1, 0], index=[9, 8, 7, 6]), None),
        (pd.Series([1, -1, -1, 1], dtype="Int64"), None),
        (["ok", "bad", "bad", "ok"], "bad"),
        (pd.Series(["a", "b", "b", "c"]), "b"),
        (pd.Categorical(["a", "b", "b", "a"]), "b"),
        ([3, 7, 7, 5], 7),
        ([1, 0, 0, 1], 0),
        ([1, -1, -1, 1], -1),
        ([-1, 1, 1, -1], 1),
    ],
    ids=repr,
)
def test_rules(y, minor_label):
    found = minority_rows(y, 4, minor_label)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, MIXED)


def test_without_y_all_rows_are_majority():
    np.testing.assert_array_equal(minority_rows(None, 3), [False, False, False])


def test_one_class_is_clear_when_the_minority_is_named():
    np.testing.assert_array_equal(minority_rows([0, 0], 2, 1), [False, False])
    np.testing.assert_array_equal(minority_rows(["a", "a"], 2, "b"), [False, False])


@pytest.mark.parametrize("y", [[1, 1, 1], [0, 0, 0], [-1, -1, -1], [True] * 3, ["a"] * 3], ids=repr)
def test_one_class_only_is_ambiguous(y):
    with pytest.raises(ValueError, match=r"y has one class only, the label .*name .* minor_label="):
        minority_rows(y, 3)


@pytest.mark.parametrize("y", [[1, 2, 2], ["a", "b", "b"], [-1, 0, 1], [0, 1, 2]], ids=repr)
def test_other_labels_need_minor_label(y):
    with pytest.raises(
        ValueError, match=rf"labels {re.escape(repr(y[0]))}, .*without minor_label="
    ):
        minority_rows(y, 3)


@pytest.mark.parametrize(
    ("y", "minor_label"),
    [(["a", "b"], "c"), ([0, 1], "1"), (["0", "1"], 1), ([1, 1], "1"), (["1", "1"], 1)],
    ids=repr,
)
def test_minor_label_must_occur(y, minor_label):
    """Of one class too, if it has another type: 1 and "1" would both be what the user means."""
    message = rf"minor_label={minor_label!r} does not occur in y, which has "
    with pytest.raises(ValueError, match=message):
        minority_rows(y, 2, minor_label)


def test_every_row_minority():
    with pytest.raises(ValueError, match="every row is minority, and no majority row is left"):
        minority_rows(["a", "a"], 2, "a")


@pytest.mark.parametrize("y", [[0, 1], [[0], [1], [0]], 0], ids=repr)
def test_one_label_for_each_row(y):
    message = (
        rf"y must have shape \(3,\), one label for each row, got {re.escape(str(np.shape(y)))}"
    )
    with pytest.raises(ValueError, match=message):
        minority_rows(y, 3)


@pytest.mark.parametrize("missing", [np.nan, None])
def test_missing_label_names_its_row(missing):
    with pytest.raises(ValueError, match=r"y has no label \(NaN\) in row 1 \(2 in all\)"):
        minority_rows([0, missing, 1, missing], 4)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
@pytest.mark.parametrize("kind", [list, tuple, lambda y: np.array(y, dtype=object), pd.Series])
def test_a_gap_among_texts_is_no_label(kind, missing):
    """An array of texts that NumPy makes of the list would have the text "nan"."""
    y = kind(["good", "bad", missing, "good"])
    with pytest.raises(ValueError, match=r"y has no label \(NaN\) in row 2 \(1 in all\)"):
        minority_rows(y, 4, "bad")


def test_a_minority_with_more_rows_is_warned_of():
    """Nobody named it: the counts are said, and what to do."""
    rows = np.random.default_rng(92).normal(size=(40, 2))
    y = np.repeat([0, 1], [12, 28])
    with pytest.warns(DataWarning, match=r"has 28 of 40 rows.*minor_label="):
        SVDD().fit(rows, y)
    with pytest.warns(DataWarning, match=r"has 28 of 40 rows"):
        SVDD().fit(rows, np.where(y, -1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        SVDD(minor_label=1).fit(rows, y)
        SVDD().fit(rows, 1 - y)
        SVDD().fit(rows, np.repeat([0, 1], 20))  # as many as the others


SEEN = np.array(["ok", "b", "a", "ok", "b", "rare"])


@pytest.mark.parametrize(
    ("y", "minor_label", "kind", "names", "labels"),
    [
        (SEEN, ["b", "rare"], [0, 1, 0, 0, 1, 2], ("b", "rare"), ("b", "rare", "a", "ok")),
        (SEEN, ("rare", "b"), [0, 2, 0, 0, 2, 1], ("rare", "b"), ("rare", "b", "a", "ok")),
        (SEEN, "b", [0, 1, 0, 0, 1, 0], ("b",), ("b", "a", "ok", "rare")),
        ([0, 1, 1, 0, 1, 0], None, [0, 1, 1, 0, 1, 0], (1,), (1, 0)),
        ([1, -1, 1, 1, -1, 1], None, [0, 1, 0, 0, 1, 0], (-1,), (-1, 1)),
        ([0] * 6, 1, [0] * 6, (), (1, 0)),
    ],
)
def test_kinds_and_labels(y, minor_label, kind, names, labels):
    """Each row has the number of its kind, in the user's order; the minority's labels are first."""
    minority = minority_rows(y, 6, minor_label)
    found, found_names = kinds_seen(y, minority, minor_label)
    assert found.dtype.kind == "i"
    assert (found.tolist(), found_names) == (kind, names)
    np.testing.assert_array_equal(found > 0, minority)
    seen = labels_seen(y, minority, minor_label)
    assert seen == labels and all(isinstance(v, int | str) for v in seen)  # no types of NumPy
    assert labels_of_text(labels_as_text(seen)) == seen
    assert kinds_of_text(kinds_as_text(names), seen, minority) == names


def test_no_labels_and_no_kinds():
    none = np.zeros(4, dtype=bool)
    assert labels_seen(None, none, None) == ()
    assert kinds_seen(None, none)[1] == kinds_of_text(None, ("b", "a"), none) == ()
    assert kinds_seen(None, none)[0].dtype.kind == "i"
    assert len(kinds_seen(None, none)[0]) == 4


def test_what_a_file_keeps_of_labels():
    """Many labels, and labels that JSON has no type for, are left out; their kinds are texts."""
    many = tuple(range(SAVED + 1))
    assert labels_of_text(labels_as_text(many)) == ()
    assert labels_of_text(labels_as_text(many[:SAVED])) == many[:SAVED]
    assert labels_of_text(labels_as_text((1, (2, 3)))) == ()
    minority = np.array([True, False])
    date = pd.Timestamp("2020-01-02")
    assert kinds_of_text(kinds_as_text((date, 2.5)), (), minority) == (str(date), 2.5)
    # a file of an earlier version has no kinds
    assert kinds_of_text(None, ("b", "a"), minority) == ("b",)
    assert kinds_of_text(None, (), minority) == ("minority",)


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', '"abc"', "3", "[[1]]", '[1, {"a": 2}]'],
    ids=["dict", "text", "number", "list", "dict in a list"],
)
def test_labels_of_a_file_are_a_list_of_numbers_and_texts(text):
    with pytest.raises(ValueError, match="labels: expected a list of numbers and texts, got"):
        labels_of_text(text)
