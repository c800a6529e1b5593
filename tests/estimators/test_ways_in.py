"""One table by every way in: equal results, or the same error."""

import io
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bsvdd.estimators.rows.tables import features, read_own
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bsvdd import SVDD, kernels, read_table

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


def by_npy(table, folder):
    np.save(folder / "x.npy", table.to_numpy(dtype=float))
    return folder / "x.npy"


WAYS = {
    "list": lambda table, folder: table.to_numpy(dtype=float).tolist(),
    "frame": lambda table, folder: table,
    "nullable frame": lambda table, folder: table.convert_dtypes(),
    "csv": lambda table, folder: read_table(by_csv(table, folder)),
    "command": lambda table, folder: features(read_own(by_csv(table, folder)))[0],
    "parquet": lambda table, folder: read_table(by_parquet(table, folder)),
    "npy": by_npy,
    "memory map": lambda table, folder: np.load(by_npy(table, folder), mmap_mode="r"),
    "fortran": lambda table, folder: np.asfortranarray(table.to_numpy(dtype=float)),
    "dask": lambda table, folder: da.from_array(table.to_numpy(dtype=float), chunks=(5, -1)),
    "objects": lambda table, folder: table.to_numpy(dtype=float).astype(object),
    "masked": lambda table, folder: np.ma.array(table.to_numpy(dtype=float), mask=False),
    "xarray": lambda table, folder: xr.DataArray(table.to_numpy(dtype=float)),
    "dask frame": lambda table, folder: dd.from_pandas(table, npartitions=2),
}


@pytest.fixture
def est():
    return SVDD(kernel=kernels.RBF(1.0), cutoff=1.0)


def outcome(X, new):
    """Return the scores of new rows by a fit to X, or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = SVDD(kernel=kernels.Standardized(kernels.RBF(1.0)), cutoff=1.0).fit(X)
            names = getattr(est, "feature_names_in_", None)
            rows = new if names is None else pd.DataFrame(new, columns=names)
            return "scores", est.score_samples(rows)
    except (ValueError, TypeError) as error:
        return type(error).__name__, re.sub(r"\s*\(column .*?\)", "", str(error))


# what pandas makes of a CSV, and what a fit must make of it: the rows, or a word of the error
ODDITIES = {
    "byte order mark": ("\ufeffa,b\n1,2\n3,4\n5,7\n", None),
    "CRLF": ("a,b\r\n1,2\r\n3,4\r\n5,7\r\n", None),
    "CR": ("a,b\r1,2\r3,4\r5,7\r", None),
    "no newline at the end": ("a,b\n1,2\n3,4\n5,7", None),
    "blank lines": ("a,b\n1,2\n\n3,4\n\n5,7\n\n", None),
    "quoted numbers": ('a,b\n"1","2"\n"3","4"\n5,7\n', None),
    "spaces around values": ("a,b\n 1, 2\n 3 , 4\n5 ,7\n", None),
    "plus signs": ("a,b\n+1,2\n3,+4\n5,7\n", None),
    "exponents": ("a,b\n1e0,2E0\n3.0e+0,4\n.5e1,7\n", None),
    "newline in a name": ('a,"b\nc"\n1,2\n3,4\n5,7\n', None),
    "numbers as names": ("1,2\n1,2\n3,4\n5,7\n", None),
    "underscores": ("a,b\n1_0,2\n3,4\n5,7\n", "not numeric"),
    "hexadecimal": ("a,b\n0x1,2\n3,4\n5,7\n", "not numeric"),
    "percent": ("a,b\n1%,2\n3%,4\n5%,7\n", None),
    "yes and no": ("a,b\nyes,2\nno,4\nyes,7\n", "not numeric"),
    "full-width digits": ("a,b\n\uff11,2\n3,4\n5,7\n", None),
    "comment": ("a,b\n#x\n1,2\n3,4\n5,7\n", "not numeric"),
    "tabs": ("a\tb\n1\t2\n3\t4\n5\t7\n", r"'\\t' 1 times; name the separator: --sep 'tab'"),
    "bars": ("a|b\n1|2\n3|4\n5|7\n", r"name the separator: --sep '\|'"),
    "NA": ("a,b\n1,2\nNA,4\n5,7\n", "NaN"),
    "empty field": ("a,b\n1,2\n,4\n5,7\n", "NaN"),
    "short row": ("a,b\n1,2\n3\n5,7\n", "NaN"),
    "infinity": ("a,b\n1,2\n-Infinity,4\n5,7\n", "infinity"),
    "overflow": ("a,b\n1e400,2\n3,4\n5,7\n", "infinity"),
    "decimal comma": ("a;b\n1,5;2\n3,5;4\n5;7\n", "name the separator: --sep ';'"),
    "trailing comma": ("a,b\n1,2,\n3,4,\n5,7,\n", "line 1 has 2 fields, and line 2 has 3; exp"),
    "trailing comma in the header": ("a,b,\n1,2,\n", r"column 2 \(counted from 0\) has no name"),
    "an index": (",a,b\n0,1,2\n1,3,4\nx,5,7\n", None),
    "long row": ("a,b\n1,2\n3,4,5\n5,7\n", "line 1 has 2 fields, and line 3 has 3; exp"),
    "long rows": ("a,b\n1,2,3\n4,5,6\n", "header that names every field"),
    "open quote": ('a,b\n"1,2\n3,4\n5,7\n', r"x\.csv is damaged.* EOF inside string"),
    "one name twice": ("a,a\n1,2\n3,4\n5,7\n", "x.csv: the header has the column 'a' twice"),
    "nothing": ("", r"x\.csv is empty"),
    "no names": ("\n\n", r"x\.csv is damaged, or not CSV .* No columns to parse"),
    "NUL": (b"a,b\n1\x00,2\n3,4\n", r"x\.csv has NUL bytes, so it is not CSV in UTF-8"),
    "another encoding": ("a,é\n1,2\n3,4\n5,7\n".encode("latin1"), None),
    "only a header": ("a,b\n", "row"),
}


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")
@pytest.mark.parametrize(("text", "error"), ODDITIES.values(), ids=ODDITIES)
def test_oddities_of_csv(est, tmp_path, text, error):
    path = tmp_path / "x.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if error is not None:
        with pytest.raises((ValueError, TypeError), match=error):
            est.fit(read_table(path))
        return
    for table in (read_table(path), features(read_own(path))[0]):
        rows = est.fit(table).idata_["constant_data"]["X"]
        assert np.asarray(rows).tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


ROWS = np.arange(46.0).reshape(23, 2) ** 1.5 / 7.0


def parquet_without_its_body(path):
    pd.DataFrame(ROWS, columns=["a", "b"]).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)


def of_negative_shape(content):
    """Return the bytes of a file of the same length, whose shape begins with a minus."""
    at = content.index(b"'shape': (") + len("'shape': (")
    return content[:at] + b"-" + content[at:].replace(b" ", b"", 1)


NO_NPY, PICKLED = r"x.npy is damaged, or not a \.npy file of", "x.npy .*pickled arrays.* not read"
BAD_FILES = [
    ("x.npy", b"", "x.npy is empty"),
    ("x.npy", b"no table at all, but text", PICKLED),
    ("x.npy", saved(ROWS)[:50], NO_NPY),
    ("x.npy", saved(ROWS)[:400], NO_NPY),
    ("x.npy", of_negative_shape(saved(ROWS)), NO_NPY),
    ("x.npy", saved(ROWS[:2].astype(object)), PICKLED),
    ("x.npy", saved(np.ones(5)), r"expected a table of numbers .* shape \(5,\)"),
    ("x.npy", saved(np.array([["a"] * 2] * 3)), "expected a table of numbers .* type <U1"),
    ("x.parquet", b"PAR1 and so on", "x.parquet is damaged, or not Parquet"),
    ("x.parquet", parquet_without_its_body, "x.parquet is damaged, or not Parquet"),
    ("x.parquet", Path.mkdir, "x.parquet is a directory.*dask.dataframe.read_parquet"),
    ("x.parquet", lambda path: pd.DataFrame({"a": []}).to_parquet(path), "x.parquet has no rows"),
    ("x.csv", "\ufeffa,NA,null\n".encode(), "x.csv has no rows"),
    ("x.dat", b"a", r"expected a file named \.csv, \.tsv, .*; open a \.npy file by numpy\.load"),
    *((f"x.{kind}", os.mkfifo, "is no regular file") for kind in ("csv", "npy", "parquet")),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_files(est, tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content) if isinstance(content, bytes) else content(path)
    with pytest.raises(ValueError, match=message) as raised:
        est.fit(path) if path.suffix == ".npy" else read_table(path)
    assert str(path) in str(raised.value) and "allow_pickle" not in str(raised.value)


def test_parquet_needs_pyarrow(tmp_path, monkeypatch):
    path = by_parquet(pd.DataFrame(ROWS, columns=["a", "b"]), tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"needs pyarrow; .*bsvdd\[parquet\]"):
        read_table(path)


def test_the_column_of_the_labels(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "y": ["007", "NA", ""], "b": ["u", "v", None]})
    for way in (by_csv, by_parquet):
        path = way(frame, tmp_path)
        X, y = read_table(path, "y")
        pd.testing.assert_frame_equal(X, read_table(path).drop(columns="y"))
        assert X["a"].tolist() == [1.5, 2.5, 3.5] and X["b"].tolist()[:2] == ["u", "v"]
        assert X["b"].isna().tolist() == [False, False, True]
        assert y.tolist() == ["007", "NA", None if way is by_csv else ""]
        with pytest.raises(ValueError, match=r"label='z' is no column of .*x\..*, which has 'a'"):
            read_table(path, "z")
    with pytest.raises(ValueError, match=r"x\.csv has no column besides that of the labels"):
        read_table(by_csv(frame[["y"]], tmp_path), "y")
    with pytest.raises(FileNotFoundError, match=r"path: there is no file .*no\.csv"):
        read_table(tmp_path / "no.csv")


def test_true_and_false_beside_numbers_are_refused(est, tmp_path):
    values = ["1", "0"] * 30 + ["True", "False"] * 30
    path = by_csv(pd.DataFrame({"a": values, "b": np.arange(120) % 7}), tmp_path)
    with pytest.raises(ValueError, match="'a' has numbers in 60 of 120 rows, but not 'True' of ro"):
        est.fit(read_table(path))


THOUSANDS = [pytest.mark.long, pytest.mark.timeout(7200)]


@pytest.mark.parametrize(
    "examples", [pytest.param(40, marks=pytest.mark.slow), pytest.param(2000, marks=THOUSANDS)]
)
def test_every_way_in_gives_the_same_scores_or_the_same_error(examples):
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(table=tables())
    def check(table):
        array = table.to_numpy(dtype=float)
        new = np.nan_to_num(array)[:2]
        expected = outcome(array, new)
        for name, way in WAYS.items():
            with tempfile.TemporaryDirectory() as folder:
                found = outcome(way(table, Path(folder)), new)
            assert found[0] == expected[0], (name, found, expected)
            if expected[0] == "scores":
                np.testing.assert_allclose(*(each[1] for each in (found, expected)), 1e-12, 1e-12)
            else:
                assert found[1] == expected[1], name

    check()
