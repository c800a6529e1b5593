"""The user's own table: ids, dropped columns, signs, gaps, and what is said of columns."""

import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison import datasets
from bsvdd.estimators.rows.cells import as_numbers
from bsvdd.estimators.rows.files import Layout
from bsvdd.estimators.rows.tables import minority_of, read_features, read_own, read_table
from bsvdd.inference.warning import DataWarning

GERMAN = Layout("y", sep=";", decimal=",")


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "x.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return written


def rows_of(*columns):
    """Return 12 rows of text of these columns, of which each gives its cell of row i."""
    return "".join(",".join(str(column(i)) for column in columns) + "\n" for i in range(12))


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
def test_labels_are_read_by_value(column, minor, expected):
    assert minority_of(pd.Series(column, name="y"), minor).tolist() == expected


READ = {
    "ids are text and no feature": (
        "nr,a,note,y\n007,1.5,u,0\n7,2.5,v,1\nNA,3.5,,0\n",
        Layout("y", "nr", ("note",)),
        {"a": [1.5, 2.5, 3.5]},
        [False, True, False],
    ),
    "semicolons and decimal commas": (
        "a;b;y\n1,5;-2;0\n1e1;0,25;1\n",
        GERMAN,
        {"a": [1.5, 10.0], "b": [-2.0, 0.25]},
        [False, True],
    ),
    "tabs": ("a\tb\n1\t3\n2\t4\n5\t6\n", Layout(sep="tab"), {"a": [1, 2, 5]}, None),
    "another sign in a name": ('"l; cm"\n1.5\n2.5\n3\n', Layout(), {"l; cm": [1.5, 2.5, 3]}, None),
    "categories beside a label": (
        "a,sex,nr,y\n1,m,07,0\n2,f,7,1\n3,f,7,1\n",
        Layout("y", categories=("nr",)),
        {"sex": ["m", "f", "f"], "nr": ["07", "7", "7"]},
        [False, True, True],
    ),
    "two values are no question": ("sex\nm\nf\nf\n", Layout(), {"sex": ["m", "f", "f"]}, None),
}


@pytest.mark.filterwarnings("ignore:the minority")
@pytest.mark.parametrize("case", READ)
def test_tables_that_are_read(case, write):
    text, layout, columns, expected = READ[case]
    path = write(text)
    X, minority = read_features(path, layout)
    for name, values in columns.items():
        assert X[name].tolist() == values
    assert (None if minority is None else minority.tolist()) == expected
    if layout.id is not None:
        table = read_own(path, layout)
        assert table.index.tolist() == ["007", "7", "NA"] and table.index.name == "nr"
        data = datasets.read(path, Layout("y", "nr", ("note",)))
        np.testing.assert_array_equal(data.X, [[1.5], [2.5], [3.5]])


def test_numbers_have_one_decimal_sign():
    texts = pd.Series(["1,5", "1.5", "1.000,5", "x", None, "-2"])
    nan = np.nan
    np.testing.assert_array_equal(as_numbers(texts, ","), [1.5, nan, 1000.5, nan, nan, -2.0])
    np.testing.assert_array_equal(as_numbers(texts, "."), [nan, 1.5, nan, nan, nan, -2.0])
    assert as_numbers(pd.Series([0.5, 2.0]), ",").tolist() == [0.5, 2.0]


PLAIN = "nr,a,kind\n1,2,0\n"
REFUSED = [  # text, options of the command line, message
    ("a,b\n", "", "has a header but no rows"),
    ("a,b\n1,2\n", "--sep ;", "name the separator: --sep ','"),
    (PLAIN, "--label kindd", "label column 'kindd' (--label) is not in the"),
    (PLAIN, "--label kindd", "(did you mean 'kind'?); it has 'nr', 'a', 'kind'"),
    (PLAIN, "--id nrr", "column 'nrr' (--id) is not in the table (did you mean"),
    (PLAIN, "--drop zzz", "column 'zzz' (--drop) is not in the table; it"),
    (PLAIN, "--categories n", "'n' (--category) is not in the table"),
    ("y\n0\n1\n", "--label y", "no feature columns"),
    ("x,y\n1,a\n2,b\n", "--label y --minor c", "'c' never occurs in column 'y'; it has 'a'"),
    ("x,y\n1,0\n2,1\n", "--label y --minor one", "'one' never occurs"),
    ("x,y\n1,a\n2,b\n", "--label y", "minor_label="),
    ("x,y\n1,0\n2,1\nn/a?,1\n", "--label y", "in 2 of 3 rows, but not 'n/a?'"),
    (
        "nr,a,y\nu,1,0\nv,2,\nw,3,1\n",
        "--label y --id nr",
        "'y' has no label in row 1 (counted from 0; 'nr' is 'v'), and in 1 of 3 rows in all",
    ),
    ("a,b\n1,\n2,\n", "", "column 'b' has no value in any row"),
    ("a,b\n1,2\n,\n3,4\n", "", "1 of 3 rows have no value in any column, the first"),
    ("a,b\n1,\ninf,3\n", "", "1 of 2 rows have infinite values, in 'a' (1); the"),
    (
        "nr,a,b\nu,1,2\nv,,\nw,3,inf\n",
        "--id nr",
        "1 of 3 rows have no value in any column, the first is row 1 (counted from 0; 'nr' is 'v')",
    ),
    (
        "a,b,n,y\n" + rows_of(lambda i: i or "inf", float, lambda i: f"n{i}", lambda i: i % 3),
        "--label y",
        "y has the labels 0, 1, 2; only {-1, 1}, {0, 1} and booleans are accepted without "
        "minor_label=; name the minority's label by minor_label=, in the command line --minor; "
        "1 of 12 rows have infinite values, in 'a' (1)",
    ),
]


def read_as_command(path, options):
    """Return what ``bsvdd fit PATH`` with these options would fit."""
    words = iter(options.replace("--", "").split())
    given = dict(zip(words, words, strict=True))
    minor = given.pop("minor", None)
    many = {name: (given[name],) for name in ("drop", "categories") if name in given}
    return read_features(path, Layout(**given | many), minor)


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")
@pytest.mark.parametrize(("text", "options", "message"), REFUSED)
def test_tables_that_are_refused(text, options, message, write):
    path = write(text)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        read_as_command(path, options)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        ({"label": "y", "drop": ("y",)}, "--label and --drop both name the column 'y'"),
        ({"label": "y", "id": "y"}, "--label and --id both name"),
        ({"id": "y", "drop": ("x", "y")}, "--id and --drop both name"),
        *(
            ({"sep": sign}, "sep must be one character between fields, such as ';'")
            for sign in ("", ",,", '"', "\n", "\r", "\0", "a", "1", "äö")
        ),
        ({"decimal": ";"}, r"decimal must be '\.' or ',', got ';'"),
        ({"decimal": ","}, "sep and decimal are both ','"),
    ],
)
def test_a_layout_that_cannot_be(layout, message):
    with pytest.raises(ValueError, match=message):
        Layout(**layout)
    assert Layout(sep="tab").sep == Layout(sep="\\t").sep == Layout(sep="\t").sep == "\t"


COUNTED = "nr,a,y\n" + rows_of(lambda i: 100 + 2 * i, lambda i: i / 7, lambda i: i % 2)
WARNED = [  # text, options, and the warning, or None
    ("nr,a\nu,1.5\nv,2.5\nu,3.5\n,4.5\n,5.5\n", "--id nr", "'u' names rows 0 and 2"),
    (COUNTED, "", None),
    ("a,y\n1,0\n3,1\n", "--label y", None),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("text", "options", "message"), WARNED)
def test_what_is_warned_of(text, options, message, write):
    with pytest.warns(DataWarning, match=message) if message else nullcontext():
        read_as_command(write(text), options)


def test_whole_numbers_that_count_the_rows_may_be_an_id(write):
    path = write(COUNTED)
    with pytest.warns(DataWarning, match=r"^column 'nr' counts the rows, like an id.*--id 'nr'"):
        datasets.read(path, Layout("y"))
    datasets.read(path, Layout("y", "nr"))  # no warning


@pytest.mark.parametrize(
    ("levels", "gaps"),
    [("DE FR IT US SE", 0), ("DE FR US", 0), ("DE US", 8), ("DE FR IT US SEK", 8)],
)
def test_NA_is_a_code_among_many_of_two_letters(levels, gaps, tmp_path):
    cells = [*("NA",) * 8, *levels.split() * 8, ""]
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": range(len(cells)), "country": cells}).to_csv(path, index=False)
    how = pytest.warns(DataWarning, match="'country' .* so NA in 8 ") if not gaps else nullcontext()
    with how:
        X = read_table(path)
    assert X["country"].isna().sum() == gaps + 1
    assert X["x"].dtype == int
