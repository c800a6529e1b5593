"""Findings without a probability: copies, misspelt words, and codes."""

import numpy as np
import pandas as pd
import pytest

from bsvdd import SVDD, stand_out
from bsvdd.base.warning import collected
from bsvdd.tables.findings import findings
from bsvdd.tables.training import TrainingTable

from .test_copies import INDEPENDENT

WORDS = {
    "compass": ["north", "south", "east", "west"],
    "colours": ["red", "blue", "green", "yellow", "white"],
    "food": ["McDonald's", "Burger King", "Subway", "Taco Bell", "Dairy Queen"],
}


def found(X, kind):
    with collected():
        said = findings(TrainingTable.read(X))
    return said[said["finding"] == kind]


def misspelt(word, rng):
    """Return a word with two letters swapped, one lost, one wrong, or another case."""
    i = int(rng.integers(len(word) - 1))
    letter = chr(97 + rng.integers(26))
    ways = (
        word[:i] + word[i + 1] + word[i] + word[i + 2 :],
        word[:i] + word[i + 1 :],
        word[:i] + letter + word[i + 1 :],
        word.upper(),
        f"{word[:i]} {word[i:]}",
    )
    new = ways[rng.integers(len(ways))]
    return new if new.strip() != word else misspelt(word, rng)


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("n", [300, 2000])
def test_misspelt_rows_are_named_and_no_others(kind, n):
    rng = np.random.default_rng(1)
    x = rng.choice(WORDS[kind], n).astype(object)
    bad = rng.random(n) < 0.12
    right = x[bad].copy()
    x[bad] = [misspelt(word, rng) for word in right]
    said = found(pd.DataFrame({"x": x, "y": rng.choice(["low", "mid"], n)}), "spelling")
    rows = np.concatenate(list(said["rows"]))
    assert bad[rows].sum() >= 0.95 * bad.sum() and (~bad[rows]).sum() <= 0.01 * n
    expected = dict(zip(said["value"], said["expected"], strict=True))
    given = [expected.get(word, "").split(", ") for word in x[bad]]
    assert np.mean([r in e for r, e in zip(right, given, strict=True)]) >= 0.95


@pytest.mark.parametrize(
    "cells",
    [
        [f"B{i % 4}" for i in range(60)] + ["B7"],
        ["male"] * 10 + ["female"] * 60,
        ["A+"] * 30 + ["A-", "B+"] + ["B-"] * 30,
        ["Bonn"] * 30 + ["Rome"] * 30 + ["Lima"],
        ["increase"] * 40 + ["decrease"] * 20,
    ],
)
def test_other_words_are_not_misspelt(cells):
    assert found(pd.DataFrame({"x": cells}), "spelling").empty


def test_a_rare_letter_is_misspelt_beside_few_others():
    said = found(pd.DataFrame({"sex": list("mf") * 40 + ["w", "w"]}), "spelling")
    assert said[["column", "value", "expected"]].to_numpy().tolist() == [
        ["sex", "w", "m, f"]
    ]
    assert said["rows"].iloc[0].tolist() == [80, 81]


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_rows_that_are_equal_by_chance_are_no_duplicates(kind):
    for seed in range(4):
        X = pd.DataFrame(INDEPENDENT[kind](np.random.default_rng(seed))).add_prefix("c")
        assert found(X, "duplicate").empty


@pytest.mark.parametrize("has_id", [False, True])
def test_copied_rows_are_duplicates(has_id):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)).round(2)).add_prefix("c")
    X["city"] = rng.choice(["Bonn", "Rom"], 300)
    X.loc[50:52] = X.loc[10:12].to_numpy()
    X.loc[60] = X.loc[10]
    if has_id:
        X["id"] = rng.permutation(300)
    said = found(X, "duplicate")
    assert [r.tolist() for r in said["rows"]] == [[10, 50, 60], [11, 51], [12, 52]]
    but = "all but 'id'" if has_id else "all columns"
    assert said["value"].iloc[0] == f"3 rows are equal in {but}"


def test_one_copy_is_a_duplicate_beside_a_column_of_coarse_steps():
    """Temperatures in tenths meet by chance, and weights to the gram do not."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"weight": rng.normal(70, 9, 600).round(1)})
    X["length"] = (2.1 * X["weight"] + rng.normal(0, 6, 600)).round(1)
    X["temperature"] = rng.normal(37, 0.4, 600).round(1)
    X["line"] = rng.choice(["north", "south", "west"], 600)
    X["batch"] = [f"B{i // 50}" for i in range(600)]
    X.loc[100] = X.loc[99]
    assert [r.tolist() for r in found(X, "duplicate")["rows"]] == [[99, 100]]
    chance = X.drop(columns=["weight", "length"])  # some pairs are equal
    assert chance.duplicated().any() and found(chance, "duplicate").empty


def test_equal_rows_of_few_values_are_duplicates_if_their_id_is():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (200, 3))).add_prefix("c")
    X.index = pd.Index([f"p{i}" for i in range(200)], name="patient")
    assert found(X, "duplicate").empty
    said = found(pd.concat([X, X.iloc[[7]]]), "duplicate")
    assert [r.tolist() for r in said["rows"]] == [[7, 200]]


def test_codes_are_named_in_all_columns_that_have_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(1, 9, (80, 3)).round(1), columns=list("abc"))
    X.loc[:4, "a"] = -200
    X.loc[5:9, "a"] = 999999
    X.loc[10, "b"] = -200  # in one row, as in 'a'
    X.loc[11, "c"] = 500.0  # an odd value
    X.loc[12, "c"] = -999.0  # in one row, but of nines
    X["scale"] = np.r_[np.arange(71) % 5 + 1, [97, 98, 99] * 3]
    X["access"] = np.r_[np.arange(60) % 8 + 1, [24] * 20]  # a quarter is another state
    X["below"] = np.where(np.arange(80) < 20, -200.0, X["b"].clip(1))
    said = found(X, "code").set_index(["column", "value"])["rows"]
    assert said.map(list).to_dict() == {
        ("a", "999999"): [5, 6, 7, 8, 9],
        ("a", "-200"): [0, 1, 2, 3, 4],
        ("b", "-200"): [10],
        ("c", "-999"): [12],
        ("below", "-200"): list(range(20)),
        ("scale", "97"): [71, 74, 77],
        ("scale", "98"): [72, 75, 78],
        ("scale", "99"): [73, 76, 79],
    }


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
def test_the_answer_on_one_table_has_its_findings():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=80), "city": ["Bonn", "Rome"] * 40})
    X.loc[3, "city"] = "Rmoe"
    said = stand_out(SVDD(), X).findings
    assert said[["value", "expected"]].to_numpy().tolist() == [["Rmoe", "Rome"]]


def test_the_nearest_word_is_right_and_zeros_may_be_lost():
    said = found(pd.DataFrame({"sex": [*"MF" * 30, "f"]}), "spelling")
    assert said[["value", "expected"]].values.tolist() == [["f", "F"]]
    assert found(pd.DataFrame({"approved": [*"Y" * 60, "N"]}), "spelling").empty
    for words in (["01", "02"], ["001", "002"], ["1", "2"]):
        few = [*words * 30, words[0][:-1] + "3"]
        assert found(pd.DataFrame({"x": few}, dtype="category"), "spelling").empty
    doses = pd.DataFrame({"x": ["0.5"] * 57 + ["5"] * 3}, dtype="category")
    assert found(doses, "spelling").empty
    codes = ["01067", "04103", "10115"] * 20 + ["1067"]
    said = found(pd.DataFrame({"postcode": codes}), "spelling")
    assert said[["value", "expected"]].values.tolist() == [["1067", "01067"]]


@pytest.mark.parametrize(
    ("others", "code", "rows", "is_code"),
    [
        (range(1, 6), 9, 8, True),
        (range(1, 8), -1, 6, True),
        (range(12000, 60000, 700), 99, 6, True),
        (range(40), -8, 6, True),
        (range(1, 8), 9, 8, False),
        (range(-5, 40), -8, 6, False),
        (range(40), -8, 2, False),
        (np.arange(0.5, 40.0), -8, 6, False),
        (range(1, 60), 99, 6, False),
    ],
)
def test_typical_codes_are_named(others, code, rows, is_code):
    x = np.array([*others] * 20 + [code] * rows, dtype=float)
    said = found(pd.DataFrame({"x": x}), "code")
    assert said["value"].tolist() == [str(code)] * is_code
