"""Files as people have them, with signs and encodings; and those not read."""

import re
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows.files import Layout
from bsvdd.estimators.rows.tables import read_features, read_own
from bsvdd.inference.warning import DataWarning
from click.testing import CliRunner

import bsvdd
from bsvdd.cli import main

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
    "hint.csv": (lambda p: written(p, "sep=;\n" + TABLE.to_csv(index=False, sep=";")), None),
    "latin.csv": (
        lambda p: written(p, CSV.encode("latin-1")),
        "Windows-1252 .* '000,0.0,Köln,2024-' in line 2",
    ),
    "x.parquet": (lambda p: TABLE.to_parquet(p) or p, None),
    "x.feather": (lambda p: TABLE.to_feather(p) or p, None),
    "x.xlsx": (lambda p: TABLE.to_excel(p, index=False) or p, None),
}


@pytest.mark.parametrize("name", WAYS)
def test_files_that_are_read(name, tmp_path):
    """Every file has the same rows, by Python and by the commands, and so has its score."""
    make, line = WAYS[name]
    path = make(tmp_path / name)

    def read(reader, *arguments):
        if line is None:
            return reader(*arguments)
        with pytest.warns(DataWarning, match=line):
            return reader(*arguments)

    X, y = read(bsvdd.read_table, path, "kind")
    assert y.tolist() == TABLE["kind"].tolist() and list(X) == ["nr", "a", "place", "day"]
    assert X["nr"].tolist() == TABLE["nr"].tolist() and X["place"].tolist() == list(TABLE["place"])
    np.testing.assert_allclose(X["a"], TABLE["a"])
    assert pd.to_datetime(X["day"]).tolist() == TABLE["day"].tolist()
    X, minority = read(read_features, path, Layout("kind", "nr"))
    assert minority.tolist() == (TABLE["kind"] == 1).tolist()
    assert X.index.tolist() == TABLE["nr"].tolist() and X["place"].dtype == "category"


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")
def test_the_commands_read_every_file(tmp_path):
    surprises = []
    for name in ("x.csv", "x.parquet", "x.xlsx"):
        path, model, out = WAYS[name][0](tmp_path / name), tmp_path / "m", tmp_path / "scores.csv"
        for arguments in (
            ("fit", path, "--id", "nr", "--label", "kind", "--model", "SVDD", "--out", model),
            ("score", model, path, "--id", "nr", "--out", out),
        ):
            done = CliRunner().invoke(main, list(map(str, arguments)))
            assert done.exit_code == 0, done.output
        scores = pd.read_csv(out, dtype={"nr": str})
        assert scores["nr"].tolist() == TABLE["nr"].tolist()
        surprises.append(scores["surprise"])
    np.testing.assert_allclose(surprises[1:], [surprises[0]] * 2)


NOT_READ = {
    "x.json": (b"{}", "a file '.json' is not read; expected one of '.csv', '.tsv', '.txt', '.parq"),
    "x.sav": (b"$FL2", "in Python pandas.read_spss(path).to_csv('table.csv', index=False)"),
    "x.xls": (b"\xd0\xcf", "in Python pandas.read_excel(path).to_csv("),
    "x.feather": (b"abc", "x.feather is damaged, or not Feather"),
    "x.xlsx": (b"abc", "x.xlsx is damaged, or not Xlsx"),
    "x.zip": (b"abc", "a file '.zip' is not read"),
    "x.csv.gz": (
        b"abc",
        "a file '.gz' is not read; expected one of '.csv', '.tsv', '.txt', '.parq",
    ),
    "title.csv": (
        f"Sales\n# in EUR\n\n{CSV}",
        "line 1 has 1 fields, and line 4 has 5; expected a h",
    ),
    "cells.csv": (f"Sales 2024,,,,\n{CSV}", "column 1 (counted from 0) has no name in the header"),
    "note.csv": (f"# a, in EUR\n{CSV}", "has 5; expected a header that names every field, without"),
    "town.csv": (
        b"Report, of 2024\nname,a,b,size\nu,1,2,3\n",
        "line 1 has 2 fields, and line 2 has 4",
    ),
    "german.csv": (b"town;amount;pieces\nBonn;1,5;2,5\nRome;2,5;3,5\n", "the separator: --sep ';'"),
    "utf16.csv": (CSV.encode("utf-16"), "has NUL bytes, so it is not CSV in UTF-8"),
    "semicolon.csv": (b"Title\na;b\n1;2\n", "name the separator: --sep ';'"),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_files_that_are_not_read(name, tmp_path):
    content, message = NOT_READ[name]
    path = written(tmp_path / name, content)
    for read in (bsvdd.read_table, read_own):
        with pytest.raises(ValueError, match=re.escape(message)):
            read(path)


def test_names_in_quotes_are_quoted_once(tmp_path):
    path = written(tmp_path / "x.csv", "'Clin LR','it''s'\n1,2\n")
    assert list(bsvdd.read_table(path)) == list(read_own(path)) == ["Clin LR", "it''s"]


def test_other_sheets_are_named(tmp_path):
    with pd.ExcelWriter(tmp_path / "x.xlsx") as book:
        TABLE.to_excel(book, sheet_name="first", index=False)
        TABLE.to_excel(book, sheet_name="second", index=False)
    with pytest.warns(DataWarning, match="sheet 'first' is read, and not 'second'"):
        bsvdd.read_table(tmp_path / "x.xlsx")
    pd.DataFrame().to_excel(tmp_path / "empty.xlsx")
    with pytest.raises(ValueError, match="sheet 'Sheet1' is empty"):
        bsvdd.read_table(tmp_path / "empty.xlsx")


def test_a_header_of_numbers_is_said(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("2.041,-1.639,low\n1.5,2.5,high\n3.5,1.5,low\n")
    with pytest.warns(DataWarning, match="are numbers, such as '2.041'; if the file has no header"):
        bsvdd.read_table(path)


def test_blank_cells_are_gaps(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n1.5, ,u\n2.5,3,  \n3.5,4,v\n")
    found = bsvdd.read_table(path)
    assert np.argwhere(found.isna().to_numpy()).tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize(("codes", "is_code"), [(["DE", "FR", "US"], True), (["OK", "NO"], False)])
def test_na_is_a_code_beside_codes_in_text_and_in_excel(codes, is_code, tmp_path):
    cells = ["NA", *codes, "n/a", *codes]
    table = pd.DataFrame({"country": cells, "a": np.arange(len(cells)) / 2})
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_excel(tmp_path / "x.xlsx", index=False)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DataWarning)
        found = [bsvdd.read_table(tmp_path / name)["country"] for name in ("x.csv", "x.xlsx")]
    for column in found:
        gaps = [0] * (not is_code) + [len(codes) + 1]
        assert np.flatnonzero(column.isna()).tolist() == gaps
    assert sum("NA in 1 of its cells is one" in str(line.message) for line in said) == 2 * is_code


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    path = WAYS["x.xlsx"][0](tmp_path / "x.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"pip install 'bsvdd\[excel\]'"):
        bsvdd.read_table(path)
