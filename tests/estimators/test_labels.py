"""Labels are read by rule: -1 of {-1, 1}, 1 of {0, 1} and booleans, else minor_label.

Labels of a file have one type for the whole column, the same rows by every way in.
"""

import warnings
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.rows import tables
from bsvdd.estimators.rows.files import Layout
from bsvdd.inference.warning import DataWarning

from bsvdd import BDD, SVDD, kernels, load, read_table, scorers

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")


def minority_rows(y, n, minor_label=None):
    """Return which rows a fit takes as those of the minority."""
    rows = np.random.default_rng(n).normal(size=(n, 2))
    est = SVDD(kernel=kernels.RBF(1.0), cutoff=1.0, minor_label=minor_label).fit(rows, y)
    return est.idata_["constant_data"]["minority"].values


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
        *(([3, 7, 8, 5], kinds) for kinds in (range(7, 9), pd.Series([7, 8]), pd.array([8, 7]))),
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


@pytest.mark.parametrize(("y", "minor_label"), [(None, None), ([0, 0], 1), (["a", "a"], "b")])
def test_all_rows_are_majority(y, minor_label):
    np.testing.assert_array_equal(minority_rows(y, 2, minor_label), [False, False])


ONE, UNNAMED = "y has one class only, the label .*name .* minor_label=", "without minor_label="
MIX = r"y mixes texts and numbers: row \d is .*, row \d is .*;"
ABSENT, SHAPE = (
    "minor_label={!r} does not occur in y, which has ",
    r"y must have shape \(\d,\), one label",
)
ERRORS = [
    *(([label] * 3, None, ONE) for label in (1, 0, -1, True, "a")),
    *((y, None, UNNAMED) for y in ([1, 2, 2], ["a", "b", "b"], [-1, 0, 1], [0, 1, 2])),
    # of one class too, if it has another type: 1 and "1" would both be what the user means
    *((y, minor, ABSENT.format(minor)) for y, minor in [
        (["a", "b"], "c"), ([0, 1], "1"), (["0", "1"], 1), ([1, 1], "1"), (["1", "1"], 1),
    ]),
    ([1] * 3, 1, "every row is minority, and no majority row is left"),
    *((y, None, SHAPE) for y in ([[0], [1], [0]], [[0, 1]] * 3)),
    *((y, 1, r"one label for each row, got \[1\] in row 0") for y in (
        [[1], [0, 1], 1], pd.Series([[1], [0], 1], index=[7, 8, 9]),
    )),
    (np.array([1, 2, date(2026, 1, 1)], dtype=object), 1, "one type, got types without an order"),
    (np.ma.array([0, 1, 1, 0], mask=[0, 0, 1, 0]), None, r"no label \(NaN\) in row 2"),
    ([None, np.nan, None], None, "y has no label in any row; omit y if all rows are majority"),
    *(([0, 1, 1], minor, "must be one label, or a list of diff") for minor in ({1}, [], [1, 1])),
    *((y, "1", MIX) for y in (
        [0, "1", 1],
        np.array(["x", 1.0], dtype=object),
        [True, "a"],
        pd.Series([0, "1", 1], dtype="category"),
        pd.Categorical([1, "1"]),
    )),
]  # fmt: skip


@pytest.mark.parametrize(("y", "minor_label", "message"), ERRORS)
def test_labels_that_cannot_be_read(y, minor_label, message):
    with pytest.raises(ValueError, match=message):
        minority_rows(y, len(y), minor_label)


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


@pytest.mark.parametrize(
    ("labels", "minor_label"),
    [
        ([np.int8(0), np.int8(1)], None),
        ([Decimal(0), Decimal(1)], None),
        (["ok", "bad"], "bad"),
    ],
)
def test_a_saved_fit_keeps_its_labels(labels, minor_label, tmp_path):
    """Else a loaded fit would take scikit-learn's scorers, which read these labels reversed."""
    rows, y = np.random.default_rng(6).normal(size=(12, 2)), np.array(labels * 6, dtype=object)
    est = SVDD(kernel=kernels.RBF(1.0), cutoff=1.0, minor_label=minor_label).fit(rows, y)
    est.set_params(minor_label=None).save(tmp_path / "fit")
    same = load(tmp_path / "fit")
    assert same.labels_ in (est.labels_, tuple(map(str, est.labels_)))
    with pytest.raises(AttributeError, match="the wrong way round"):
        _ = same.classes_


LARGE = 2**53  # from here on floats cannot tell whole numbers apart
SEEN = np.array(["ok", "b", "a", "ok", "b", "rare"])


@pytest.mark.parametrize(
    ("y", "minor_label", "labels"),
    [
        (SEEN, ["b", "rare"], ("b", "rare", "a", "ok")),
        (SEEN, ("rare", "b"), ("rare", "b", "a", "ok")),
        (SEEN, "b", ("b", "a", "ok", "rare")),
        ([0, 1, 1, 0, 1, 0], None, (1, 0)),
        ([1, -1, 1, 1, -1, 1], None, (-1, 1)),
        ([0] * 6, 1, (1, 0)),
        (None, None, ()),
        (np.arange(40), 0, tuple(range(40))),
        (SEEN, np.array(["b", "rare"]), ("b", "rare", "a", "ok")),
        ([LARGE, LARGE + 1, LARGE + 2] * 2, [LARGE + 1, LARGE + 2], (LARGE + 1, LARGE + 2, LARGE)),
    ],
)
def test_labels_of_a_fit_and_of_its_file(y, minor_label, labels, tmp_path):
    """The minority's labels are first, in the user's order; they are no types of NumPy."""
    rows = np.random.default_rng(6).normal(size=(6 if y is None else len(y), 2))
    est = SVDD(kernel=kernels.RBF(1.0), cutoff=1.0, minor_label=minor_label).fit(rows, y)
    assert est.labels_ == labels and all(isinstance(v, int | str) for v in est.labels_)
    est.save(tmp_path / "fit.nc")
    same = load(tmp_path / "fit.nc")
    assert same.labels_ == labels
    if y is not None and len(set(y)) > 1:
        unseen = "unseen" if isinstance(y[0], str) else -7
        with pytest.raises(ValueError, match="y has the label"):  # the guard of the scorers
            scorers.roc_auc(same, rows, [*y[:-1], unseen])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["0", "1", "1"], [0, 1, 1]),
        (["-1", "+1"], [-1, 1]),
        (["True", "False"], [True, False]),
        (["0.0", "1.0"], [0.0, 1.0]),
        (["0", "1.5"], [0.0, 1.5]),
        (["01", "1"], ["01", "1"]),
        (["NA", "None", "x"], ["NA", "None", "x"]),
        (["nan", "1"], ["nan", "1"]),
        (["0", "1", "unknown"], ["0", "1", "unknown"]),
        (["9007199254740993", "9007199254740992"], [9007199254740993, 9007199254740992]),
        (["99999999999999999999", "1"], ["99999999999999999999", "1"]),
        (["True", "true", "False", "false"], [True, True, False, False]),
        (["1E3", "2"], [1000.0, 2.0]),
        (["1e3", "2"], [1000.0, 2.0]),
        (["01e3", "2"], ["01e3", "2"]),
        (["1", ""], [1, None]),
        (["x", "", " "], ["x", None, None]),
    ],
)
def test_one_rule_for_a_column(texts, expected, tmp_path):
    pd.DataFrame({"a": 1.5, "y": texts}).to_csv(tmp_path / "x.csv", index=False)
    assert read_table(tmp_path / "x.csv", "y")[1].tolist() == expected


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_blocks_of_a_file_agree_on_the_labels(tmp_path):
    """250,000 rows of 0 and 1, and one "unknown" at the end: blocks differ in type."""
    y = np.random.default_rng(0).binomial(1, 0.1, 250_000).astype(str).astype(object)
    y[-1] = "unknown"
    path, count = tmp_path / "x.csv", int((y == "1").sum())
    pd.DataFrame({"a": np.arange(len(y)) % 7 / 8, "y": y}).to_csv(path, index=False)
    frame = pd.read_csv(path, dtype={"y": str})
    est = BDD(kernel=kernels.RBF(1.0), cutoff=1.0, dictionary=3, draws=20, minor_label="1")
    for X, labels in (read_table(path, "y"), (frame[["a"]], frame["y"])):
        with pytest.warns(DataWarning, match="250000 rows are many"):
            assert est.fit(X, labels).gram_.n0 == 12_000
    assert datasets.from_csv(path, Layout("y"), "1").minority.sum() == count
    assert tables.minority_of(frame["y"], "1").sum() == count
    with pytest.raises(ValueError, match="minor_label=1 does not occur in y, which has '"):
        est.set_params(minor_label=1).fit(*read_table(path, "y"))
