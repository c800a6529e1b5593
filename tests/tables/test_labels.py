"""Labels are read by rule: -1 of {-1, 1}, 1 of {0, 1} and booleans, else minor_label.

Labels of a file have one type for the whole column, the same rows by every way in.
"""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from bsvdd import SVDD, kernels, load, read_table, scorers
from bsvdd.base.warning import DataWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning"),
]


def minority_rows(y, n, minor_label=None):
    """Return which rows a fit takes as those of the minority."""
    rows = np.random.default_rng(n).normal(size=(n, 2))
    est = SVDD(kernel=kernels.RBF(1.0), minor_label=minor_label).fit(rows, y)
    return est.idata_["constant_data"]["minority"].values


MIXED = [False, True, True, False, False]


@pytest.mark.parametrize(
    ("y", "minor_label"),
    [
        ([1, -1, -1, 1, 1], None),
        ([1.0, -1.0, -1.0, 1.0, 1.0], None),
        ([0, 1, 1, 0, 0], None),
        ([0.0, 1.0, 1.0, 0.0, 0.0], None),
        (MIXED, None),
        (pd.Series([0, 1, 1, 0, 0], index=[9, 8, 7, 6, 5]), None),
        (pd.Series([1, -1, -1, 1, 1], dtype="Int64"), None),
        (["ok", "bad", "bad", "ok", "ok"], "bad"),
        (pd.Series(["a", "b", "b", "c", "a"]), "b"),
        (pd.Categorical(["a", "b", "b", "a", "a"]), "b"),
        ([3, 7, 7, 5, 3], 7),
        ([1, 0, 0, 1, 1], 0),
        ([1, -1, -1, 1, 1], -1),
        ([-1, 1, 1, -1, -1], 1),
        *((None, None), ([0] * 5, 1), (["a"] * 5, "b")),  # all are majority
    ],
    ids=repr,
)
def test_rules(y, minor_label):
    found = minority_rows(y, 5, minor_label)
    assert found.dtype == bool
    one_class = y is None or len(set(y)) == 1
    np.testing.assert_array_equal(found, [False] * 5 if one_class else MIXED)


def test_a_minority_with_more_rows_is_warned_of():
    """Where nobody named it; labels 0 and 1: test_refusals.py."""
    rows = np.random.default_rng(92).normal(size=(40, 2))
    y = np.repeat([0, 1], [12, 28])
    with pytest.warns(DataWarning, match=r"has 28 of 40 rows"):
        SVDD().fit(rows, np.where(y, -1, 1))
    with warnings.catch_warnings(action="error", category=DataWarning):
        SVDD(minor_label=1).fit(rows, y)
        SVDD().fit(rows, 1 - y)
        SVDD().fit(rows, np.repeat([0, 1], 20))  # as many as the others


LARGE = 2**53  # from here on floats cannot tell whole numbers apart
SEEN = np.array(["ok", "b", "a", "ok", "b", "rare"])


@pytest.mark.parametrize(
    ("y", "minor_label", "labels"),
    [
        (SEEN, "b", ("b", "a", "ok", "rare")),
        ([0, 1, 1, 0, 1, 0], None, (1, 0)),
        ([1, -1, 1, 1, -1, 1], None, (-1, 1)),
        ([0] * 6, 1, (1, 0)),
        (None, None, ()),
        (np.arange(40), 0, tuple(range(40))),
        (SEEN, np.str_("rare"), ("rare", "a", "b", "ok")),
        (np.array([np.int8(0), np.int8(1)] * 6, dtype=object), None, (1, 0)),
        (np.array([Decimal(0), Decimal(1)] * 6), None, ("1", "0")),
        ([LARGE, LARGE + 1, LARGE + 2] * 2, LARGE + 1, (LARGE + 1, LARGE, LARGE + 2)),
    ],
)
def test_labels_of_a_fit_and_of_its_file(y, minor_label, labels, tmp_path):
    """The minority's label is first; they are no types of NumPy."""
    rows = np.random.default_rng(6).normal(size=(6 if y is None else len(y), 2))
    est = SVDD(kernel=kernels.RBF(1.0), minor_label=minor_label).fit(rows, y)
    assert est.labels_ in (
        labels,
        tuple(map(type(est.labels_[0]), labels)) if labels else (),
    )
    est.set_params(minor_label=None).save(tmp_path / "fit.nc")
    same = load(tmp_path / "fit.nc")
    assert same.labels_ == labels
    if y is not None and len(set(y)) > 1:
        unseen = "unseen" if isinstance(y[0], str) else -7
        with pytest.raises(
            ValueError, match="y has the label"
        ):  # the guard of the scorers
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
        (
            ["9007199254740993", "9007199254740992"],
            [9007199254740993, 9007199254740992],
        ),
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
