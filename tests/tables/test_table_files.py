"""Tables in files and in memory: each way in has the same answers, or errors."""

import os
import re
import shlex
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

import click
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from click import ClickException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone

import bsvdd
from bsvdd import (
    BDD,
    BSVDD,
    SVDD,
    Table,
    explain,
    kernels,
    load,
    p_value,
    read_table,
    select,
)
from bsvdd.base.messages import advising
from bsvdd.base.warning import DataWarning
from bsvdd.cli.errors import plain_errors
from bsvdd.cli.options import of_table
from bsvdd.cli.wording import in_options
from bsvdd.cli.wording import layout as in_layout
from bsvdd.tables.files import Layout, read_features, read_own
from bsvdd.tables.labels import read_minority
from tests.cases import warned
from tests.cli.helpers import call
from tests.tables.test_tables import pasted

pytestmark = pytest.mark.filterwarnings("ignore:. rows are few")
quiet = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
N = 12
TABLE = pd.DataFrame(
    {
        "nr": [f"{i:03d}" for i in range(N)],
        "a": np.arange(N) ** 1.5,
        "place": ["Köln", "Rom", "Ulm"] * 4,
        "day": pd.date_range("2024-01-30", periods=N),
        "kind": [0, 0, 1] * 4,
    }
)
CSV = TABLE.to_csv(index=False)


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


WAYS = {  # how the file is made, and the line that is said
    "x.csv": (lambda p: written(p, CSV), None),
    "x.CSV": (lambda p: written(p, CSV), None),
    "index.csv": (lambda p: TABLE.set_axis(list("abcdefghijkl")).to_csv(p) or p, None),
    "index.xlsx": (lambda p: TABLE.to_excel(p) or p, None),
    "x.txt": (lambda p: written(p, CSV), None),
    "x.tsv": (lambda p: written(p, TABLE.to_csv(index=False, sep="\t")), None),
    "latin.csv": (
        lambda p: written(p, CSV.encode("latin-1")),
        "Windows-1252: '000,0.0,Köln,2024-",
    ),
    "x.parquet": (lambda p: TABLE.to_parquet(p) or p, None),
    "x.xlsx": (lambda p: TABLE.to_excel(p, index=False) or p, None),
}


@pytest.mark.parametrize("name", WAYS)
def test_files_that_are_read(name, tmp_path):
    make, line = WAYS[name]
    path = make(tmp_path / name)
    layout = Layout("kind", "nr", sep="\t" if name == "x.tsv" else ",")
    (X, y), said = warned(partial(read_table, text=["nr"]), path, "kind")
    (features, minority), more = warned(read_features, path, layout)
    assert [line in each for each in [*said, *more]] == [True, True] * bool(line)
    assert y.tolist() == TABLE["kind"].tolist() and list(X) == [
        "nr",
        "a",
        "place",
        "day",
    ]
    assert X["nr"].tolist() == TABLE["nr"].tolist() and X["place"].tolist() == list(
        TABLE["place"]
    )
    np.testing.assert_allclose(X["a"], TABLE["a"])
    assert pd.to_datetime(X["day"]).tolist() == TABLE["day"].tolist()
    assert minority.tolist() == (TABLE["kind"] == 1).tolist()
    assert features.index.tolist() == TABLE["nr"].tolist()
    assert list(features) == ["a", "place", "day"]


@quiet
def test_the_commands_read_every_file(tmp_path):
    surprises = []
    for name in ("x.csv", "x.parquet", "x.xlsx"):
        path, model, out = (
            WAYS[name][0](tmp_path / name),
            tmp_path / "m",
            tmp_path / "scores.csv",
        )
        for arguments in (
            (
                "fit",
                path,
                "--id",
                "nr",
                "--label",
                "kind",
                "--model",
                "SVDD",
                "--out",
                model,
            ),
            ("score", model, path, "--id", "nr", "--out", out),
        ):
            call(*arguments)
        scores = pd.read_csv(out, dtype={"nr": str})
        assert scores["nr"].tolist() == TABLE["nr"].tolist()
        surprises.append(scores["surprise"])
    np.testing.assert_allclose(surprises[1:], [surprises[0]] * 2)


NO_CSV = "is no CSV in UTF-8 with a header that names every field of the rows: "
FILES = {  # the content, and what it is: rows, or words of the error
    "byte order mark.csv": ("\ufeffa,b\n1,2\n3,4\n5,7\n", None),
    "CRLF.csv": ("a,b\r\n1,2\r\n3,4\r\n5,7\r\n", None),
    "CR.csv": ("a,b\r1,2\r3,4\r5,7\r", None),
    "no newline at the end.csv": ("a,b\n1,2\n3,4\n5,7", None),
    "blank lines.csv": ("a,b\n1,2\n\n3,4\n\n5,7\n\n", None),
    "quoted numbers.csv": ('a,b\n"1","2"\n"3","4"\n5,7\n', None),
    "spaces around values.csv": ("a,b\n 1, 2\n 3 , 4\n5 ,7\n", None),
    "plus signs.csv": ("a,b\n+1,2\n3,+4\n5,7\n", None),
    "exponents.csv": ("a,b\n1e0,2E0\n3.0e+0,4\n.5e1,7\n", None),
    "newline in a name.csv": ('a,"b\nc"\n1,2\n3,4\n5,7\n', None),
    "numbers as names.csv": ("1,2\n1,2\n3,4\n5,7\n", None),
    "percent.csv": ("a,b\n1%,2\n3%,4\n5%,7\n", None),
    "an index.csv": (",a,b\n0,1,2\n1,3,4\nx,5,7\n", None),
    "another encoding.csv": ("a,é\n1,2\n3,4\n5,7\n".encode("latin1"), None),
    "underscores.csv": (
        "a,b\n1_0,2\n3,4\n5,7\n",
        "'1_0' in row 0 .*texts beside numbers",
    ),
    "full-width digits.csv": ("a,b\n\uff11,2\n3,4\n5,7\n", None),
    "comment.csv": ("a,b\n#x\n1,2\n3,4\n5,7\n", "'#x' in row 0 .*texts beside numbers"),
    "yes and no.csv": ("a,b\nyes,2\nno,4\nyes,7\n", "column 'a' is not numeric"),
    "NA.csv": ("a,b\n1,2\nNA,4\n5,7\n", "NaN"),
    "short row.csv": ("a,b\n1,2\n3\n5,7\n", "NaN"),
    "infinity.csv": ("a,b\n1,2\n-Infinity,4\n5,7\n", "'a' has an infinite value"),
    "overflow.csv": ("a,b\n1e400,2\n3,4\n5,7\n", "'a' has an infinite value"),
    "tabs.csv": ("a\tb\n1\t2\n3\t4\n5\t7\n", "name the separator: read_table"),
    "blanks.csv": (
        "a b\n1 2\n3 4\n5 7\n",
        r"name the separator: read_table\(path, sep=' '\)",
    ),
    "bars.csv": (
        "a|b\n1|2\n3|4\n5|7\n",
        r"name the separator: read_table\(path, sep='\|'\)",
    ),
    "german.csv": (
        "town;amount\nBonn;1,5\nRome;2,5\n",
        r"separator: read_table\(path, sep=';'\)",
    ),
    "trailing comma.csv": ("a,b\n1,2,\n3,4,\n", NO_CSV + ".*2 fields in line 2, saw 3"),
    "trailing commas.csv": ("a,b,\n1,2,\n3,4,\n5,7,\n", None),
    "a value without a name.csv": ("a,b,\n1,2,3\n", "has a column without a name"),
    "long row.csv": ("a,b\n1,2\n3,4,5\n5,7\n", NO_CSV + ".*2 fields in line 3, saw 3"),
    "title.csv": (f"Sales\n# in EUR\n\n{CSV}", NO_CSV),
    "title in cells.csv": (f"Sales 2024,,,,\n{CSV}", "has a column without a name"),
    "open quote.csv": ('a,b\n"1,2\n3,4\n5,7\n', NO_CSV + ".*EOF inside string"),
    "one name twice.csv": (
        "a,a\n1,2\n3,4\n5,7\n",
        "the header has the column 'a' twice; rename",
    ),
    "empty.csv": ("", NO_CSV + "No columns"),
    "no names.csv": ("\n\n", NO_CSV),
    "NUL.csv": (b"a,b\n1\x00,2\n3,4\n", NO_CSV + "it has NUL bytes"),
    "only a header.csv": ("a,b\n", "has no rows"),
    "x.json": (
        b"{}",
        r"a file '.json', which is not read; expected .csv, .tsv, .txt, .par",
    ),
    "x.csv.gz": (b"abc", "a file '.gz', which is not read; .* read it by pandas"),
    "bad.parquet": (b"PAR1 and so on", "bad.parquet is damaged, or no parquet file"),
    "bad.xlsx": (b"abc", "bad.xlsx is damaged, or no excel file"),
    "folder.parquet": (Path.mkdir, "is no regular file"),
    "rows.parquet": (
        lambda path: pd.DataFrame({"a": []}).to_parquet(path),
        "has no rows",
    ),
    "pipe.csv": (os.mkfifo, "is no regular file"),
    "empty.xlsx": (lambda path: pd.DataFrame().to_excel(path), "column without a name"),
}


@quiet
@pytest.mark.parametrize("name", FILES)
def test_oddities_of_files(name, tmp_path):
    content, error = FILES[name]
    path, est = tmp_path / name, SVDD(kernel=kernels.RBF(1.0))
    content(path) if callable(content) else written(path, content)
    if error is None:
        rows = est.fit(read_table(path)).idata_["constant_data"]["X"]
        assert np.asarray(rows).tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]
        return
    with pytest.raises((ValueError, TypeError), match=error) as raised:
        est.fit(read_table(path))
    assert any(words in str(raised.value) for words in (str(path), "row", "column"))


PLAIN = "nr,a,kind\n1,2,0\n2,3,1\n"
REFUSED = [  # text, layout, words
    ("a,b\n1,2\n", {"sep": ";"}, "name the separator: --sep ','"),
    (
        PLAIN,
        {"label": "kindd"},
        "column 'kindd' (--label) is not in the table (did you mean",
    ),
    (PLAIN, {"id": "nrr"}, "column 'nrr' (--id) is not in the table (did you mean"),
    (PLAIN, {"drop": ("zzz",)}, "'zzz' (--drop) is not in the table; it has 'nr', 'a'"),
    (PLAIN, {"category": ("n",)}, "'n' (--category) is not in the table"),
    (PLAIN, {"order": ("n=a<b",)}, "'n' (--order) is not in the table"),
    (
        PLAIN,
        {"order": ("kind=0<2",)},
        "--order: 'kind' is '1' in line 3 (1 such",
    ),
    (
        PLAIN,
        {"order": ("kind",)},
        "--order must be as 'size=small<medium<large', got 'kind'",
    ),
    (
        PLAIN,
        {"label": "kind", "drop": ("kind",)},
        "--label and --drop both name 'kind'",
    ),
    (PLAIN, {"id": "nr", "category": ("nr",)}, "--id and --category both name 'nr'"),
    (PLAIN, {"cyclic": ("hour",)}, "--cyclic COLUMN=PERIOD, such as hour=24"),
    *((PLAIN, {"sep": sign}, "--sep must be one sign") for sign in ("", ",,", ".")),
    ("y\n0\n1\n", {"label": "y"}, "the table has no feature columns"),
    (
        "a;b\n1.5;2\n",
        {"sep": ";", "decimal": ","},
        "'a' has '1.5', without a decimal comma",
    ),
    (
        "x,y\n1,a\n2,b\n",
        {"label": "y", "minor": "c"},
        "'c' never occurs in column 'y'; it has 'a'",
    ),
    ("x,y\n1,0\n2,1\n", {"label": "y", "minor": "one"}, "'one' never occurs"),
    ("x,y\n1,a\n2,b\n", {"label": "y"}, "minor_label="),
    (
        "nr,a,y\nu,1,0\nv,2,\nw,3,1\n",
        {"label": "y", "id": "nr"},
        "'y' of 3 rows has no label in row 1 (counted from 0; 1 such row), where 'nr' "
        "is 'v'; leave",
    ),
]


@quiet
@pytest.mark.parametrize(("text", "layout", "words"), REFUSED)
def test_layouts_that_cannot_be(text, layout, words, tmp_path):
    path, minor = written(tmp_path / "x.csv", text), layout.get("minor")
    layout = {name: value for name, value in layout.items() if name != "minor"}
    with pytest.raises(ClickException, match=re.escape(words)), plain_errors():
        read_features(path, in_layout(**layout), minor)


LAYOUTS = {  # text, layout, columns, minority
    "ids are text and no feature": (
        "nr,a,note,y\n007,1.5,u,0\n7,2.5,v,1\nNA,3.5,,0\n",
        *(Layout("y", "nr", ("note",)), {"a": [1.5, 2.5, 3.5]}, [False, True, False]),
    ),
    "semicolons and decimal commas": (
        "a;b;c;d;y\n1,5;-2;1.234,5 kg;24.12.2023;0\n1e1;0,25;2 kg;01.01.2024;1\n",
        Layout("y", sep=";", decimal=","),
        {"a": [1.5, 10], "c": ["1,234.5 kg", "2 kg"], "d": ["24.12.2023", "01.01.2024"]}
        | {"b": [-2, 0.25]},
        [False, True],
    ),
    "blanks": (
        "a b\n1.5 u\n2.5 v\n",
        Layout(sep=" "),
        {"a": [1.5, 2.5], "b": ["u", "v"]},
        None,
    ),
    "blanks in a name": (
        "body mass\n1.5\n2.5\n",
        Layout(),
        {"body mass": [1.5, 2.5]},
        None,
    ),
    "another sign in a name": (
        '"l; cm"\n1.5\n2.5\n3\n',
        Layout(),
        {"l; cm": [1.5, 2.5, 3]},
        None,
    ),
    "categories beside a label": (
        "a,sex,nr,y\n1,m,07,0\n2,f,7,1\n3,f,7,1\n",
        Layout("y", category=("nr",)),
        {"sex": ["m", "f", "f"], "nr": ["07", "7", "7"]},
        [False, True, True],
    ),
    "gaps": (
        *("a,b\n1.5, \n-9,u\n", Layout(missing=("-9",))),
        *({"a": [1.5, None], "b": [None, "u"]}, None),
    ),
    "truth": ("a,b\nTrue,1\nFalse,2\n", Layout(), {"a": [True, False]}, None),
    "large": (
        *(f"a,b\n{2**60 + 1},1\n{2**60},\n", Layout()),
        *({"a": [str(2**60 + 1), str(2**60)]}, None),
    ),
}


@pytest.mark.filterwarnings("ignore:the minority")
@pytest.mark.parametrize("case", LAYOUTS)
def test_layouts(case, tmp_path):
    text, layout, columns, expected = LAYOUTS[case]
    X, minority = read_features(written(tmp_path / "x.csv", text), layout)
    for name, values in columns.items():
        assert X[name].astype(object).where(X[name].notna(), None).tolist() == values
    assert (None if minority is None else minority.tolist()) == expected
    if layout.id is not None:
        assert X.index.tolist() == ["007", "7", "NA"] and X.index.name == "nr"


SIGNS = {  # cells, the signs that are read as missing, and how often
    "a country": (["NA", "DE", "FR", "US"] * 3, {"NA": 3}),
    "several": (["n/a", "u", "null", "v", "None", "", "u", "v"], {"n/a": 1, "null": 1}),
    "numbers": (["1", "NA", "2.5", "None"], {}),
}


@pytest.mark.parametrize("case", SIGNS)
def test_a_sign_that_is_read_as_a_gap_is_named(case, tmp_path):
    cells, signs = SIGNS[case]
    frame = pd.DataFrame({"c": cells, "a": np.arange(len(cells)) / 2})
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    for name in ("x.csv", "x.xlsx"):
        X, lines = warned(read_table, tmp_path / name)
        column = X["c"]
        for sign, n in signs.items():
            assert f"column 'c': '{sign}' in {n} rows is read as missing; " in " ".join(
                lines
            )
        assert len(lines) == len(signs)
        gaps = {*signs, "", *(["NA", "None"] if case == "numbers" else [])}
        assert column.isna().tolist() == [cell in gaps for cell in cells]
        with warnings.catch_warnings(action="error"):
            text = read_table(tmp_path / name, text=["c"])["c"]
        assert text.isna().tolist() == [cell == "" for cell in cells]


def test_workbooks_and_packages(tmp_path, monkeypatch):
    with pd.ExcelWriter(tmp_path / "x.xlsx") as book:
        TABLE.to_excel(book, sheet_name="first", index=False)
        TABLE.to_excel(book, sheet_name="second", index=False)
    with pytest.warns(DataWarning, match="sheet 'first' is read, not 'second'"):
        read_table(tmp_path / "x.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"pip install 'bsvdd\[excel\]'"):
        read_table(tmp_path / "x.xlsx")
    TABLE.to_parquet(tmp_path / "x.parquet")
    frame = pl.from_pandas(TABLE)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(
        ImportError, match=r"needs pyarrow: pip install 'bsvdd\[parquet\]'"
    ):
        read_table(tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        ImportError, match=r"a table of polars needs pyarrow; install it: pip inst"
    ):
        SVDD().fit(frame)
    with pytest.raises(FileNotFoundError, match=r"path: there is no file .*no\.csv"):
        read_table(tmp_path / "no.csv")


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
    assert read_minority(pd.Series(column, name="y"), minor).tolist() == expected


@pytest.mark.filterwarnings("ignore:column 'y'. 'NA' in 1 rows is read as missing")
def test_labels_and_ids_of_files(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.5, 2.5, 3.5], "y": ["007", "NA", ""], "b": ["u", "v", None]}
    )
    for way in (by_csv, by_parquet):
        path = way(frame, tmp_path)
        X, y = read_table(path, "y")
        assert list(X) == ["a", "b"] and X["b"].isna().tolist() == [False, False, True]
        assert y.tolist() == ["007", "NA", None if way is by_csv else ""]
        with pytest.raises(
            ValueError, match=r"label='z' is no column of .*x\..*, which has 'a'"
        ):
            read_table(path, "z")
    with pytest.raises(ValueError, match=r"x\.csv has no column besides 'y'"):
        read_table(by_csv(frame[["y"]], tmp_path), "y")
    path = written(tmp_path / "i.csv", "nr,a\nu,1.5\nv,2.5\nu,3.5\n,4.5\n,5.5\n")
    with pytest.warns(DataWarning, match="several rows have the id 'u' in 'nr'"):
        read_own(path, Layout(id="nr"))


# files as people have them: read, or refused with a line that works when pasted


HOURS = np.array([0.0, 23.75, 12.25, *range(1, 20), 11.5])
MONEY = np.array([-3.0, 1234.5, -1e6, *np.linspace(-9.0, 9.0, 20).round(2)])
SIZES = np.array([1.5, 2.25, 3.0, *range(20)])
GROUPED = [f"{v:,.2f}" for v in MONEY]


def clock(form):
    """Return the hours as a clock writes them, with a.m. and p.m."""
    day = pd.Timestamp("2024-01-31")
    cells = [(day + pd.Timedelta(hours=h)).strftime(form) for h in HOURS]
    return [re.sub("([AP])M", lambda half: f"{half[1].lower()}.m.", c) for c in cells]


def csv_of(cells, before="", names="a,x", sep=","):
    """Return CSV whose second column has the cells."""
    rows = [f'{i % 7 / 4}{sep}"{cell}"' for i, cell in enumerate(cells)]
    return before + "\n".join([names.replace(",", sep), *rows])


def last(form, cells):
    """Return numbers whose sign stands as in the form."""
    return [form.format(c[1:]) if c.startswith("-") else c for c in cells]


LATE = csv_of([*clock("%H:%M"), "late"])
CODE = r"(read_table|pandas\.read_csv|bsvdd\.Table)\(.*?\)"
KINDS = {  # content, what is said, the way that is pasted, the numbers of x
    **{
        f"thousands by {mark!r}": (
            csv_of([cell.replace(",", mark) for cell in GROUPED]),
            *("is read as numbers with thousands", "", MONEY),
        )
        for mark in (" ", "\u00a0", "\u202f", "'", "\u2019")
    },
    **{
        f"the sign of {form}": (
            csv_of(last(form, GROUPED)),
            *("numbers with the sign last beside numbers", "X['x'] = ", MONEY),
        )
        for form in ("({})", "{}-")
    },
    "dollars in parentheses": (
        csv_of(f"${cell}" for cell in last("({})", GROUPED)),
        *("numbers with the sign last", "X['x'] = ", MONEY),
    ),
    "a unit in two cases": (
        csv_of(f"{v} {'kg' if i % 2 else 'KG'}" for i, v in enumerate(SIZES)),
        *("numbers in 'kg' beside", "X['x'] = ", SIZES),
    ),
    "a word in parentheses": (
        csv_of([*SIZES, "12 (est.)"]),
        *("beside numbers", "X['x'] = ", [*SIZES, np.nan]),
    ),
    "24 hours": (csv_of(clock("%H:%M")), "times: --cyclic", "--cyclic", HOURS),
    "hours of a column": (csv_of(clock("%H:%M")), "times", "X['x'] = ", HOURS),
    "a.m.": (csv_of(clock("%I:%M %p")), "times", "--cyclic", HOURS),
    "a.m. and seconds": (csv_of(clock("%I:%M:%S%p")), "times", "--cyclic", HOURS),
    "a text among times": (
        LATE,
        *("'late' in line 25", "--cyclic 'x'=24 --missing", [*HOURS, np.nan]),
    ),
    "hours beside a text": (LATE, "in line 25", "X['x'] = ", [*HOURS, np.nan]),
    "days with a.m.": (
        csv_of(clock("%m/%d/%Y %I:%M %p")),
        *("dates, read as days", "", HOURS / 24.0),
    ),
    "sep=;": (csv_of(SIZES, "sep=;\r\n", sep=";"), "", "", SIZES),
    **{
        f"above the header: {before!r}": (
            csv_of(SIZES, before),
            *(f"if line {n + 1} is the header: ", "--skip", SIZES),
        )
        for before, n in (
            *(("# made by R\n# a.u.\n", 2), ("Sales 2024\n\n", 2)),
            *((",\n,\nSales,\n", 3), ('"a\ntitle"\n', 1)),
        )
    },
    **{
        code: (csv_of(SIZES).encode(code), "is UTF-16", "", SIZES)
        for code in ("utf-16", "utf-16-le", "utf-16-be")
    },
    "no header": (
        csv_of(SIZES[1:], names="0.5,1.5"),
        *("has numbers as the rows below; if it is a row", "--no-header", SIZES),
    ),
    "no header, a number twice": (
        csv_of(SIZES[1:], names="1.5,1.5"),
        *("twice; rename one; if it is a row: ", "--no-header", SIZES),
    ),
    "years in the header": (csv_of(SIZES, names="2019,2020"), "", "", SIZES),
}


def by_options(path, options="", line=""):
    """Return the column x, as cells and as numbers, by options or a line of Python."""
    found = []

    @click.command()
    @of_table
    def read(table):
        found.extend([read_own(path, table), table.table])

    read(shlex.split(options), standalone_mode=False)
    names = {"X": found[0], "pandas": pd}
    exec(line, names)
    table, rows = found[1].fit_floats(names["X"])
    return table.frame(rows).iloc[:, 1].tolist(), rows[:, 1]


def by_python(path, code):
    """Return the numbers of the column x by the Python that a message has."""
    found = eval(
        code, {"read_table": read_table, "path": path, "pandas": pd, "bsvdd": bsvdd}
    )
    is_table = isinstance(found, Table)
    X, table = (read_table(path), found) if is_table else (found, Table())
    return table.fit_floats(X)[1][:, 1]


def answered(read, path):
    """Return what is read, or None; and all that is said."""
    try:
        found, said = warned(read, path)
        return found, " ".join(said)
    except ValueError as error:
        return None, str(error)


@quiet
@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_of_file_loses_a_value(kind, tmp_path):
    content, words, way, values = KINDS[kind]
    path = written(tmp_path / "x.csv", content)
    with advising(in_options):
        found, said = answered(by_options, path)
    assert words in said, said
    if way:
        paste = said[said.index(way) :]
        if way.startswith("--"):
            found = by_options(path, paste.partition(" (in Python ")[0])
            code = re.search(CODE, paste)[0]
            np.testing.assert_allclose(by_python(path, code), values)
        else:
            found = by_options(path, line=pasted(paste)[0])
    cells, x = found
    np.testing.assert_allclose(x, values, atol=1e-9)
    if way == "--cyclic":  # a clock stays a clock
        assert cells == clock("%H:%M")


# every way in


NAMES = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufeff"),
    min_size=1,
    max_size=8,
).filter(lambda name: name == name.strip())
DTYPES = ["float64", "float32", "int64", "int8", "bool"]


@st.composite
def tables(draw):
    """A table with columns of several types and scales, ties, and sometimes gaps."""
    n, p = draw(st.integers(3, 12)), draw(st.integers(1, 4))
    columns = {}
    for name in draw(st.lists(NAMES, min_size=p, max_size=p, unique=True)):
        dtype = draw(st.sampled_from(DTYPES))
        scale = 10.0 ** draw(st.integers(-12, 12)) if dtype.startswith("float") else 1.0
        steps = draw(hnp.arrays("int8", n, elements=st.integers(-9, 9)))  # with ties
        values = (steps * scale / 7.0 if scale != 1.0 else steps).astype(dtype)
        if dtype == "float64" and draw(st.sampled_from([False] * 9 + [True])):
            values[draw(st.integers(0, n - 1))] = np.nan
        columns[name] = values
    return pd.DataFrame(columns)


def by_csv(table, folder):
    single = table.select_dtypes("float32").columns
    # pandas writes the digits of float32 only; as float64 such a number has more
    table.astype(dict.fromkeys(single, "float64")).to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def by_parquet(table, folder):
    table.to_parquet(folder / "x.parquet")
    return str(folder / "x.parquet")


WAYS_IN = {
    "list": lambda table, folder: table.to_numpy(dtype=float).tolist(),
    "frame": lambda table, folder: table,
    "nullable frame": lambda table, folder: table.convert_dtypes(),
    "csv": lambda table, folder: read_table(by_csv(table, folder)),
    "command": lambda table, folder: read_own(by_csv(table, folder), Layout()),
    "parquet": lambda table, folder: read_table(by_parquet(table, folder)),
    "fortran": lambda table, folder: np.asfortranarray(table.to_numpy(dtype=float)),
    "objects": lambda table, folder: table.to_numpy(dtype=float).astype(object),
    "masked": lambda table, folder: np.ma.array(
        table.to_numpy(dtype=float), mask=False
    ),
    "xarray": lambda table, folder: xr.DataArray(table.to_numpy(dtype=float)),
}


def outcome(X, new):
    """Return the scores of new rows by a fit to X, or the error."""
    try:
        with warnings.catch_warnings(action="ignore"):
            est = SVDD(
                kernel=kernels.Tabular(kernels.RBF(1.0), scale="standardised")
            ).fit(X)
            names = getattr(est, "feature_names_in_", None)
            rows = new if names is None else pd.DataFrame(new, columns=names)
            return "scores", est.score_samples(rows)
    except (ValueError, TypeError) as error:
        return type(error).__name__, re.sub(r"\s*\(column .*?\)", "", str(error))


THOUSANDS = [pytest.mark.long, pytest.mark.timeout(7200)]


@pytest.mark.filterwarnings("ignore:.*has numbers as the rows below")
@pytest.mark.parametrize(
    "examples",
    [pytest.param(8, marks=pytest.mark.slow), pytest.param(2000, marks=THOUSANDS)],
)
def test_every_way_in_gives_the_same_scores_or_the_same_error(examples):
    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(table=tables())
    def check(table):
        array = table.to_numpy(dtype=float)
        new = np.nan_to_num(array)[:2]
        expected = outcome(array, new)
        for name, way in WAYS_IN.items():
            with tempfile.TemporaryDirectory() as folder:
                found = outcome(way(table, Path(folder)), new)
            assert found[0] == expected[0], (name, found, expected)
            if expected[0] == "scores":
                np.testing.assert_allclose(
                    *(each[1] for each in (found, expected)), 1e-12, 1e-12
                )

    check()


# rows that a fit takes, or refuses, from a table with its labels


FRAME = pd.DataFrame(
    np.random.default_rng(90).normal(size=(60, 3)), columns=["a", "b", "c"]
)
LABELLED = FRAME.assign(label=["good"] * 50 + ["bad"] * 10)[["a", "label", "b", "c"]]
BDD_ = BDD(draws=40, tune=40, chains=2, dictionary=25, minor_label="bad")


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
@pytest.mark.parametrize("way", [lambda table, folder: table, by_csv, by_parquet])
def test_the_column_of_the_labels_is_left_out(way, tmp_path):
    data = way(LABELLED, tmp_path)
    data = data if data is LABELLED else read_table(data)
    expected = clone(BDD_).fit(FRAME, LABELLED["label"])
    est = clone(BDD_).fit(data, "label")
    assert (
        list(est.feature_names_in_) == ["a", "b", "c"]
        and est.cutoff_ == expected.cutoff_
    )
    est.save(tmp_path / "fit")
    for fit in (est, load(tmp_path / "fit"), est.with_cutoff(est.cutoff)):
        for rows in (data, LABELLED):
            pd.testing.assert_frame_equal(fit.decision(rows), fit.decision(FRAME))
    with pytest.raises(ValueError, match="X has column 'other', which the fit has not"):
        est.predict(LABELLED.assign(other=1.0))


NULLS = FRAME.convert_dtypes().assign(n=pd.array([pd.NA, *range(1, 60)], "Int64"))
LAZY = dd.from_pandas(LABELLED, npartitions=3)
DASK = r"X is a dask collection, .* in memory: .*X\.map_partitions\(est\.decision\)"
PATH = (
    r"X='.*' is text, expected rows; .*bsvdd\.read_table\(path\) .*numpy\.load\(path\)"
)
NO_FIT = [  # X, y, the error
    (LABELLED, None, "column 'label' is not numeric.* y='name'"),
    (NULLS, None, r"X\[0, 3\] is nan \(1 such rows\); drop or impute"),
    (
        FRAME.replace(FRAME["c"][41], np.inf),
        None,
        r"column 'c' has an infinite value: .* row 41",
    ),
    (LAZY, "label", DASK),
    (LAZY[["a", "b", "c"]].to_dask_array(), None, DASK),
    (xr.DataArray(da.from_array(FRAME.to_numpy())), None, DASK),
    (Path("x.csv"), None, PATH),
]


@quiet
@pytest.mark.parametrize(("X", "y", "message"), NO_FIT, ids=range(len(NO_FIT)))
def test_tables_that_no_fit_takes(X, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        clone(BDD_).set_params(kernel=kernels.RBF(1.0)).fit(X, y)
    if message in (DASK, PATH):
        est = SVDD().fit(FRAME)
        methods = est.predict, est.score_samples, est.distance, est.decision
        for ask in (*methods, *(partial(q, est) for q in (p_value, select, explain))):
            with pytest.raises(TypeError, match=message):
                ask(X)


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
def test_a_dask_data_frame_is_answered_partition_by_partition():
    """The recipe of the guide on many rows: texts, index, columns as of one frame."""
    frame = FRAME.assign(kind=["x", "y"] * 30).set_index(np.arange(60) + 100)
    lazy = dd.from_pandas(frame, npartitions=4)
    est = BSVDD(draws=40, tune=40, chains=2).fit(
        lazy.sample(frac=0.9, random_state=0).compute()
    )
    found = lazy.map_partitions(est.decision, meta=est.decision(frame[:1])).compute()
    pd.testing.assert_frame_equal(
        pd.DataFrame(found), pd.DataFrame(est.decision(frame))
    )


def test_names_of_rows_of_a_file_may_be_equal(tmp_path):
    """As to_csv writes a table that was joined of two, with an empty cell."""
    part = pd.DataFrame({"a": [1.5, None], "city": ["x", "y"]})
    path = tmp_path / "two.csv"
    pd.concat([part, part]).to_csv(path)
    read = bsvdd.read_table(path)
    assert read["a"].isna().tolist() == [False, True] * 2
    assert read["city"].tolist() == ["x", "y"] * 2


def test_a_month_beside_decimal_commas_is_a_category_or_left_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Monat;kWh\n" + "".join(f"0{i}.2024;{i},5\n" for i in range(1, 10)))
    remedy = r"read_table\(path, text=\['Monat'\]\)"
    with pytest.raises(ValueError, match=remedy) as error:
        bsvdd.read_table(path, sep=";", decimal=",")
    assert "'01.2024', without a decimal comma" in str(error.value)
    read = bsvdd.read_table(path, sep=";", decimal=",", text=["Monat"])
    assert read.iloc[0].tolist() == ["01.2024", 1.5]
    own = read_own(path, Layout(sep=";", decimal=",", drop=("Monat",)))
    assert own["kWh"].tolist() == [i + 0.5 for i in range(1, 10)]
