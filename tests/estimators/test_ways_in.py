"""One table by every way in: equal results, or the same error."""

import os
import re
import sys
import tempfile
import warnings
from functools import partial
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
from sklearn.base import clone

from bsvdd import BDD, BSVDD, SVDD, explain, kernels, load, p_value, read_table, select

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


WAYS = {
    "list": lambda table, folder: table.to_numpy(dtype=float).tolist(),
    "frame": lambda table, folder: table,
    "nullable frame": lambda table, folder: table.convert_dtypes(),
    "csv": lambda table, folder: read_table(by_csv(table, folder)),
    "command": lambda table, folder: features(read_own(by_csv(table, folder)))[0],
    "parquet": lambda table, folder: read_table(by_parquet(table, folder)),
    "fortran": lambda table, folder: np.asfortranarray(table.to_numpy(dtype=float)),
    "objects": lambda table, folder: table.to_numpy(dtype=float).astype(object),
    "masked": lambda table, folder: np.ma.array(table.to_numpy(dtype=float), mask=False),
    "xarray": lambda table, folder: xr.DataArray(table.to_numpy(dtype=float)),
}


@pytest.fixture
def est():
    return SVDD(kernel=kernels.RBF(1.0))


def outcome(X, new):
    """Return the scores of new rows by a fit to X, or the error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            est = SVDD(kernel=kernels.Tabular(kernels.RBF(1.0), scale="standardised")).fit(X)
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


ROWS = np.arange(46.0).reshape(23, 2) ** 1.5 / 7.0


def parquet_without_its_body(path):
    pd.DataFrame(ROWS, columns=["a", "b"]).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)


BAD_FILES = [
    ("x.parquet", b"PAR1 and so on", "x.parquet is damaged, or not Parquet"),
    ("x.parquet", parquet_without_its_body, "x.parquet is damaged, or not Parquet"),
    ("x.parquet", Path.mkdir, "x.parquet is a directory.*pandas.read_parquet"),
    ("x.parquet", lambda path: pd.DataFrame({"a": []}).to_parquet(path), "x.parquet has no rows"),
    ("x.csv", "\ufeffa,NA,null\n".encode(), "x.csv has no rows"),
    ("x.dat", b"a", r"expected a file named \.csv, \.tsv, .*; open a \.npy file by numpy\.load"),
    *((f"x.{kind}", os.mkfifo, "is no regular file") for kind in ("csv", "parquet")),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES, ids=range(len(BAD_FILES)))
def test_bad_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content) if isinstance(content, bytes) else content(path)
    with pytest.raises(ValueError, match=message) as raised:
        read_table(path)
    assert str(path) in str(raised.value)


# rows that a fit takes, or refuses, from a table with its labels


N = 60
FRAME = pd.DataFrame(np.random.default_rng(90).normal(size=(N, 3)), columns=["a", "b", "c"])
LABELLED = FRAME.assign(label=["good"] * 50 + ["bad"] * 10)[["a", "label", "b", "c"]]
BDD_ = BDD(draws=40, tune=40, chains=2, dictionary=25, minor_label="bad")


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("way", [lambda table, folder: table, by_csv, by_parquet])
def test_the_column_of_the_labels_is_left_out(way, tmp_path):
    data = way(LABELLED, tmp_path)
    data = data if data is LABELLED else read_table(data)
    expected = clone(BDD_).fit(FRAME, LABELLED["label"])
    est = clone(BDD_).fit(data, "label")
    assert list(est.feature_names_in_) == ["a", "b", "c"] and est.cutoff_ == expected.cutoff_
    est.save(tmp_path / "fit")
    for fit in (est, load(tmp_path / "fit"), est.with_cutoff(est.cutoff)):
        for rows in (data, LABELLED):
            pd.testing.assert_frame_equal(fit.decision(rows), fit.decision(FRAME))
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        est.predict(LABELLED.assign(other=1.0))


NULLS = FRAME.convert_dtypes().assign(n=pd.array([pd.NA, *range(1, N)], "Int64"))
LAZY = dd.from_pandas(LABELLED, npartitions=3)
DASK = r"X is a dask collection, .* in memory: .*X\.map_partitions\(est\.decision\)"
PATH = r"X='.*' is text, expected rows; .*bsvdd\.read_table\(path\) .*numpy\.load\(path\)"
NO_FIT = [  # X, y, the error
    (LABELLED, "class", "y='class' is no column of the data frame, which has 'a', 'label', 'b'"),
    (LABELLED, "Label", r"is no column of .* \(did you mean 'label'\?\), which"),
    (LABELLED[["label"]], "label", "has no column besides that of the labels"),
    (LABELLED, None, "column 'label' is not numeric.* y='name'"),
    (FRAME.to_numpy(), "label", "the name of a column is for the columns of a data .*read_table"),
    (FRAME, LABELLED["label"][1:], r"y must have shape \(60,\), .* got \(59,\)"),
    (FRAME[:1], None, "a minimum of 2 is required"),
    (NULLS, None, r"X\[0, 3\] is nan \(1 such rows\); drop or impute"),
    (FRAME.replace(FRAME["c"][41], np.inf), None, r"X\[41, 2\] is inf \(1 such rows\); drop"),
    (LAZY, "label", DASK),
    (LAZY[["a", "b", "c"]].to_dask_array(), None, DASK),
    (xr.DataArray(da.from_array(FRAME.to_numpy())), None, DASK),
    (Path("x.csv"), None, PATH),
]


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


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_a_dask_data_frame_is_answered_partition_by_partition():
    """The recipe of the guide on many rows: texts, index and all columns as of one frame."""
    frame = FRAME.assign(kind=["x", "y"] * (N // 2)).set_index(np.arange(N) + 100)
    lazy = dd.from_pandas(frame, npartitions=4)
    est = BSVDD(draws=40, tune=40, chains=2).fit(lazy.sample(frac=0.9, random_state=0).compute())
    found = lazy.map_partitions(est.decision, meta=est.decision(frame[:1])).compute()
    pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(est.decision(frame)))


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
