"""Labels of a file: one type for the whole column, the same rows by every way in."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison import datasets
from bsvdd.estimators.labels import minority_rows, read_labels
from bsvdd.estimators.rows.source import source


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
def test_one_rule_for_a_column(texts, expected):
    assert read_labels(texts).tolist() == expected


@pytest.fixture(scope="module")
def blocks(tmp_path_factory):
    """250,000 rows of 0 and 1, and one "unknown" at the end: blocks differ in type."""
    y = np.random.default_rng(0).binomial(1, 0.1, 250_000).astype(str).astype(object)
    y[-1] = "unknown"
    path = tmp_path_factory.mktemp("labels") / "x.csv"
    pd.DataFrame({"a": np.arange(len(y)) % 7 / 8, "y": y}).to_csv(path, index=False)
    return path, int((y == "1").sum())


def test_blocks_of_a_file_agree_on_the_labels(blocks):
    path, count = blocks
    labels = source(path).labels("y")
    assert minority_rows(labels, len(labels), "1").sum() == count
    with pytest.raises(ValueError, match="minor_label=1 does not occur in y, which has '"):
        minority_rows(labels, len(labels), 1)


def test_every_way_in_finds_the_same_minority(blocks):
    path, count = blocks
    assert datasets.from_csv(path, "y", "1").minority.sum() == count
    frame = pd.read_csv(path, dtype={"y": str})
    assert datasets.split_label(frame, "y", "1")[1].sum() == count
    assert minority_rows(frame["y"], len(frame), "1").sum() == count


@pytest.mark.parametrize(
    "y",
    [
        [0, "1", 1],
        np.array(["x", 1.0], dtype=object),
        [True, "a"],
        pd.Series([0, "1", 1], dtype="category"),
        pd.Categorical([1, "1"]),
    ],
    ids=["list", "array", "truth", "series", "categorical"],
)
def test_texts_and_numbers_together_are_refused(y):
    with pytest.raises(ValueError, match=r"y mixes texts and numbers: row \d is .*, row \d is .*;"):
        minority_rows(y, len(y), "1")


def test_codes_stay_as_they_are_written(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,y\n" + "".join(f"{i}.5,{'01' if i < 5 else '1'}\n" for i in range(20)))
    assert datasets.from_csv(path, "y", "01").minority.sum() == 5
    assert datasets.from_csv(path, "y", "1").minority.sum() == 15
    assert minority_rows(source(path).labels("y"), 20, "01").sum() == 5
    path.write_text("a,y\n" + "".join(f"{i}.5,{2**53 + (i < 5)}\n" for i in range(20)))
    assert datasets.from_csv(path, "y", str(2**53 + 1)).minority.sum() == 5


def test_a_class_called_na_is_a_class(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,y\n" + "".join(f"{i}.5,{'NA' if i < 5 else 'EU'}\n" for i in range(20)))
    assert datasets.from_csv(path, "y", "NA").minority.sum() == 5
    assert minority_rows(source(path).labels("y"), 20, "NA").sum() == 5


def test_a_blank_line_of_one_column_is_a_gap(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a\n1.0\n\n2.0\n3.0\n")
    rows = source(path)
    assert rows.n_rows == 4
    with pytest.raises(ValueError, match=r"X\[1, 0\] is nan"):
        rows.take(slice(None))
    assert len(datasets.read_table(path)) == 4
