"""The user's own table: ids, dropped columns, signs, and what is said of columns."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.scenario import Real, halves, subset
from bsvdd.estimators.messages import quoted
from bsvdd.estimators.rows import tables
from bsvdd.estimators.rows.columns import as_numbers
from bsvdd.estimators.rows.files import CsvFormat, read_csv
from bsvdd.estimators.rows.gaps import typical_values
from bsvdd.estimators.rows.tables import Layout, read_features, read_table
from bsvdd.inference.warning import DataWarning

GERMAN = CsvFormat(";", ",")


def write(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


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
    X, minority = tables.split_label(pd.DataFrame({"x": [1, 2, 3], "y": column}), "y", minor)
    assert list(X.columns) == ["x"]
    assert minority.tolist() == expected


@pytest.mark.parametrize(
    ("table", "label", "minor", "message"),
    [
        ({"x": [1], "y": [0]}, "z", None, "label column 'z' is not in the table; it has 'x', 'y'"),
        (
            {"x": [1, 2], "y": ["a", "b"]},
            "y",
            "c",
            "'c' never occurs in column 'y'; it has 'a', 'b'",
        ),
        ({"x": [1, 2], "y": [0, 1]}, "y", "one", "'one' never occurs"),
        ({"x": [1, 2], "y": ["a", "b"]}, "y", None, "minor_label="),
        ({"x": ["u", "v"], "y": [0, 1]}, "y", None, "'x' is not numeric; encode .*--drop 'x'"),
        ({"x": [1, 2, "n/a"], "y": [0, 1, 1]}, "y", None, "numbers in 2 of 3 rows, but not 'n/a'"),
        ({"x": [1, 2], "y": [0, np.nan]}, "y", "0", "no label"),
        ({"y": [0, 1]}, "y", None, "no feature columns"),
    ],
)
def test_bad_tables_are_named(table, label, minor, message):
    with pytest.raises(ValueError, match=message):
        tables.split_label(pd.DataFrame(table), label, minor)


def test_columns_are_taken_by_name_in_the_order_of_the_fit():
    table = pd.DataFrame({"b": [1.0], "extra": ["text"], "a": [2.0]})
    assert tables.features(table, ["a", "b"]).to_numpy().tolist() == [[2.0, 1.0]]
    with pytest.raises(ValueError, match="lacks column 'c'; it has 'b', 'extra', 'a'"):
        tables.features(table, ["a", "c"])


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
        tables.read_table(path)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x01", b'a,b\n1,2\n"3'])
def test_a_file_that_is_no_csv_is_said_to_be_none(tmp_path, content):
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not CSV in UTF-8"):
        tables.read_table(path)


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
    nan = np.nan
    np.testing.assert_array_equal(as_numbers(texts, ","), [1.5, nan, 1000.5, nan, nan, -2.0])
    np.testing.assert_array_equal(as_numbers(texts, "."), [nan, 1.5, nan, nan, nan, -2.0])
    assert as_numbers(pd.Series([0.5, 2.0]), ",").tolist() == [0.5, 2.0]


def test_fields_as_text_are_those_of_the_file(tmp_path):
    path = write(tmp_path, "a;b\n01,50;NA\n;x\n")
    assert read_csv(path, GERMAN, raw=None).to_numpy().tolist() == [["01,50", "NA"], ["", "x"]]


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


@pytest.mark.filterwarnings("ignore:the minority")
def test_whole_numbers_that_count_the_rows_may_be_an_id(tmp_path):
    rows = "".join(f"{100 + 2 * i},{i / 7},{i % 3},{i % 2}\n" for i in range(12))
    path = write(tmp_path, "nr,a,b,y\n" + rows)
    with pytest.warns(DataWarning, match=r"^column 'nr' counts the rows, like an id.*--id 'nr'"):
        datasets.from_csv(path, "y", None)
    datasets.from_csv(path, "y", None, id="nr")  # no warning
    datasets.from_csv(path, "y", None, drop=("nr",))


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
            {"b": [f"{i}.5" for i in range(11)] + ["n/a?"]},
            None,
            ["'b' has numbers in 11 of 12 rows, but not 'n/a?' of row 11 (counted from 0): mend"],
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


def test_other_columns_of_text_are_categories(tmp_path):
    """Two values are no question beside a label, and named columns are none at all."""
    path = write(tmp_path, "a,sex,city,nr,y\n" + "1,m,Bonn,07,0\n2,f,Rom,7,1\n3,f,Oslo,7,1\n" * 6)
    X, _ = read_features(path, Layout("y", categories=("nr",)))
    assert X["sex"].tolist()[:3] == ["m", "f", "f"] and X["nr"].tolist()[:2] == ["07", "7"]
    X, _ = read_features(path, Layout(drop=("y",), categories=("sex", "nr")))
    assert X["city"].tolist()[:3] == ["Bonn", "Rom", "Oslo"]
    data = datasets.from_csv(path, "y", None, categories=("nr",))
    assert data.categorical == (1, 2, 3)
    assert len(np.unique(data.X[:, 1])) == 2 and len(np.unique(data.X[:, 3])) == 2
    assert data != datasets.from_csv(path, "y", None, drop=("nr",))
    with pytest.raises(
        ValueError, match=r"columns 'sex', 'city' are not .*: --drop 'sex' --drop 'city'"
    ):
        tables.features(X[["sex", "city"]].astype(str))
    with pytest.raises(ValueError, match=r"'nope' \(--category\) is not in the table"):
        read_features(path, Layout(categories=("nope",)))


GAPS = "a,c,y\n" + "1,u,0\n2,v,0\n,v,0\n9,,1\n4,v,\n" * 4


def test_rows_with_gaps_are_left_out_and_counted(tmp_path):
    path = write(tmp_path, GAPS)
    with pytest.warns(DataWarning, match="12 of 20 rows have gaps and are left out"):
        X, minority = read_features(path, Layout("y"), "0", "drop")
    assert X["a"].tolist() == [1.0, 2.0] * 4 and minority.all()
    full = write(tmp_path, "a,y\n1,0\n3,1\n")
    assert len(read_features(full, Layout("y"), None, "drop")[0]) == 2  # no warning
    none = write(tmp_path, "a,b,y\n1,,0\n,3,1\n")
    with pytest.raises(ValueError, match="all 2 rows have a gap, so that none is left"):
        read_features(none, Layout("y"), None, "drop")


def test_gaps_are_filled_by_the_training_half(tmp_path):
    rows = pd.DataFrame({"a": np.arange(40.0) ** 2, "c": list("uuvw") * 10, "y": [0, 0, 0, 1] * 10})
    rows.loc[::5, "a"], rows.loc[3::7, "c"] = np.nan, None
    path = tmp_path / "x.csv"
    rows.to_csv(path, index=False)
    with pytest.warns(DataWarning, match="13 of 40 rows have gaps .14 values.*approximately"):
        data = datasets.from_csv(path, "y", None, missing="impute")
    assert data.imputed and np.isnan(data.X).any(axis=1).sum() == 13
    scenario = Real(data)
    scenario.check()
    pair, raw = scenario.pair(3), [subset(data, part) for part in halves(data, 3)]
    expected = raw[0].X[~raw[0].minority]
    median, counts = np.nanmedian(expected[:, 0]), np.unique(expected[:, 1], return_counts=True)
    for part, before in zip((pair.train, pair.test), raw, strict=True):
        gap = np.isnan(before.X)
        assert (part.X[gap[:, 0], 0] == median).all() and gap.any()
        assert (part.X[gap[:, 1], 1] == counts[0][counts[1].argmax()]).all()
        np.testing.assert_array_equal(part.X[~gap], before.X[~gap])


@pytest.mark.parametrize("missing", ["error", "drop", "impute"])
def test_a_column_without_a_value_is_an_error(missing, tmp_path):
    path = write(tmp_path, "a,b,y\n1,,0\n2,,1\n")
    with pytest.raises(ValueError, match="column 'b' has no value in any row; .*--drop 'b'"):
        read_features(path, Layout("y"), None, missing)


def test_infinite_values_are_no_gaps_to_impute(tmp_path):
    path = write(tmp_path, "a,b,y\n1,,0\ninf,3,1\n")
    with pytest.raises(ValueError, match="1 of 2 rows have gaps or infinite values, in 'a'"):
        read_features(path, Layout("y"), None, "impute")


def test_typical_values_need_a_value():
    with pytest.raises(ValueError, match="column 1 .* no value in any of 2 majority rows"):
        typical_values(np.array([[1.0, np.nan], [2.0, np.nan]]))


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
