"""The user's own table: ids, dropped columns, signs, and what is said of columns."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.tables import Layout, read_features, read_table, read_texts
from bsvdd.estimators.names import quoted
from bsvdd.estimators.rows.files import CsvFormat
from bsvdd.inference.warning import DataWarning

GERMAN = CsvFormat(";", ",")


def write(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_ids_are_the_index_as_text_and_no_feature(tmp_path):
    path = write(tmp_path, "nr,a,note,y\n007,1.5,u,0\n7,2.5,v,1\nNA,3.5,,0\n")
    table = read_table(path, layout=Layout("y", "nr", ("note",)))
    assert list(table.columns) == ["a", "y"]
    assert table.index.tolist() == ["007", "7", "NA"] and table.index.name == "nr"
    X, minority = read_features(path, Layout("y", "nr", ("note",)))
    assert X["a"].tolist() == [1.5, 2.5, 3.5]
    assert minority.tolist() == [False, True, False]
    data = datasets.from_csv(path, "y", None, id="nr", drop=("note",))
    np.testing.assert_array_equal(data.X, [[1.5], [2.5], [3.5]])


def test_semicolons_and_decimal_commas(tmp_path):
    path = write(tmp_path, "a;b;y\n1,5;-2;0\n1e1;0,25;1\n")
    X, minority = read_features(path, Layout("y", form=GERMAN))
    assert X.to_numpy().tolist() == [[1.5, -2.0], [10.0, 0.25]]
    assert minority.tolist() == [False, True]
    tabs = write(tmp_path, "a\tb\n1\t2\n")
    assert read_table(tabs, layout=Layout(form=CsvFormat("tab"))).to_numpy().tolist() == [[1, 2]]


def test_numbers_have_one_decimal_sign():
    texts = pd.Series(["1,5", "1.5", "1.000,5", "x", None, "-2"])
    np.testing.assert_array_equal(GERMAN.numbers(texts), [1.5] + [np.nan] * 4 + [-2.0])
    np.testing.assert_array_equal(
        CsvFormat().numbers(texts), [np.nan, 1.5, np.nan, np.nan, np.nan, -2.0]
    )
    assert GERMAN.numbers(pd.Series([0.5, 2.0])).tolist() == [0.5, 2.0]


def test_fields_as_text_are_those_of_the_file(tmp_path):
    path = write(tmp_path, "a;b\n01,50;NA\n;x\n")
    assert read_texts(path, GERMAN).to_numpy().tolist() == [["01,50", "NA"], ["", "x"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "."), "sep must be one character"),
        ((";;", "."), "sep must be one character"),
        (('"', "."), "sep must be one character"),
        ((";", ";"), "decimal must be '.' or ','"),
        ((",", ","), "a number with decimals and two fields look the same"),
    ],
)
def test_signs_that_no_file_can_have_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        CsvFormat(*arguments)


@pytest.mark.parametrize(
    ("text", "form", "sign"),
    [
        ("a;b\n1,5;2,5\n", CsvFormat(), "';' 1 times; name the separator: --sep ';'"),
        ("a\tb\tc\n1\t2\t3\n", CsvFormat(), "2 times; name the separator: --sep 'tab'"),
        ("a,b\n1,2\n", CsvFormat(";"), "',' 1 times; name the separator: --sep ','"),
    ],
)
def test_a_separator_that_gives_one_column_is_named(text, form, sign, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match="header is one column") as caught:
        read_table(path, layout=Layout(form=form))
    assert sign in str(caught.value) and str(path) in str(caught.value)


def test_one_column_with_another_sign_in_its_name_is_read(tmp_path):
    table = read_table(write(tmp_path, '"length; cm"\n1.5\n2.5\n'))
    assert table["length; cm"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (
            {"label": "kindd"},
            r"label column 'kindd' \(--label\) .*did you mean 'kind'\?\); it has 'nr'",
        ),
        ({"id": "nrr"}, r"column 'nrr' \(--id\) is not in the table \(did you mean 'nr'\?\)"),
        (
            {"drop": ("zzz",)},
            r"column 'zzz' \(--drop\) is not in the table; it has 'nr', 'a', 'kind'",
        ),
    ],
)
def test_a_column_that_is_not_there_is_named_with_the_one_that_was_meant(layout, message, tmp_path):
    path = write(tmp_path, "nr,a,kind\n1,2,0\n")
    with pytest.raises(ValueError, match=message) as caught:
        read_table(path, layout=Layout(**layout))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("layout", "options"),
    [
        ({"label": "y", "drop": ("y",)}, "--label and --drop"),
        ({"label": "y", "id": "y"}, "--label and --id"),
        ({"id": "y", "drop": ("x", "y")}, "--id and --drop"),
    ],
)
def test_a_column_is_one_thing(layout, options):
    with pytest.raises(ValueError, match=f"{options} both name the column 'y'"):
        Layout(**layout)


def test_long_lists_say_how_many_more():
    assert quoted(range(15)).endswith("'11' and 3 more")
    assert quoted(range(12)).endswith("'10', '11'")


def test_ids_that_repeat_are_told(tmp_path):
    path = write(tmp_path, "nr,a\nu,1.5\nv,2.5\nu,3.5\n,4.5\n,5.5\n")
    with pytest.warns(DataWarning, match=r"'u' names rows 0 and 2 \(counted from 0\), and 2 of 5"):
        table = read_table(path, layout=Layout(id="nr"))
    assert table.index.tolist() == ["u", "v", "u", "", ""]


def test_whole_numbers_that_all_differ_may_be_an_id(tmp_path):
    rows = "".join(f"{100 + i},{i / 7},{i % 3}\n" for i in range(12))
    path = write(tmp_path, "nr,a,b\n" + rows)
    with pytest.warns(DataWarning, match=r"^column 'nr' has another .* in each of 12 .*--id 'nr'"):
        read_features(path, Layout())
    read_features(path, Layout(id="nr"))  # no warning
    read_features(path, Layout(drop=("nr",)))


def test_a_column_of_two_values_may_be_the_label(tmp_path):
    path = write(tmp_path, "a,kind\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(12)))
    with pytest.warns(DataWarning, match="column 'kind' has two values .*0 and 1.*--label 'kind'"):
        read_features(path, Layout())
    read_features(path, Layout("kind"))  # no warning


@pytest.mark.parametrize(
    ("columns", "label", "messages"),
    [
        ({"name": [f"n{i}" for i in range(12)]}, None, ["column 'name' names each row once: --id"]),
        ({"kind": ["u", "v"] * 6}, None, ["column 'kind' has two values: --label 'kind'"]),
        (
            {"city": ["Bonn", "Rom", "Oslo"] * 4, "street": ["x", "y", "z"] * 4},
            None,
            [
                "columns 'city', 'street' are not numeric: 'city' of row 0 (counted from 0) is",
                "encode categories as numbers, or leave them out: --drop 'city' --drop 'street'",
            ],
        ),
        (
            {"b": [f"{i}.5" for i in range(11)] + ["n/a?"]},
            None,
            ["'b' of row 11 (counted from 0) is 'n/a?'; 'b' has numbers in 11 of 12 rows: mend"],
        ),
        ({"b": ["1,5"] * 12}, None, ["column 'b' has ',' as decimal sign: --decimal ','"]),
    ],
)
def test_columns_of_text_are_all_named_with_what_to_do(columns, label, messages, tmp_path):
    path = tmp_path / "x.csv"
    pd.DataFrame({"a": np.arange(12.0), **columns}).to_csv(path, index=False)
    with pytest.raises(ValueError, match="not numeric") as caught:
        read_features(path, Layout(label))
    for message in [str(path), *messages]:
        assert message in str(caught.value)


def test_two_values_are_no_question_beside_a_label(tmp_path):
    path = write(tmp_path, "sex,y\n" + "m,0\nf,1\n" * 6)
    with pytest.raises(ValueError, match="'sex' is not numeric") as caught:
        read_features(path, Layout("y"))
    assert "--label" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nr,a,b\nu,1,\nv,2,\n", r"column 'b' has no value in any row; leave out by --drop 'b'"),
        (
            "nr,a,b\nu,1,2\nv,,\nw,3,inf\n",
            r"2 of 3 rows .* in 'a' \(1\), 'b' \(2\); the first is row 1 \(counted from 0; 'nr' is "
            r"'v'\), whose 'a' is nan; drop or impute",
        ),
    ],
)
def test_gaps_are_counted_and_named(text, message, tmp_path):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        read_features(path, Layout(id="nr"))
    assert str(path) in str(caught.value)


def test_a_label_column_with_gaps_names_the_first(tmp_path):
    path = write(tmp_path, "nr,a,y\nu,1,0\nv,2,\nw,3,1\n")
    message = (
        r"'y' has no label in row 1 \(counted from 0; 'nr' is 'v'\), and in 1 of 3 rows in all"
    )
    with pytest.raises(ValueError, match=message):
        read_features(path, Layout("y", "nr"))
