"""Sources of rows by themselves: the blocks they give, rows by number, and sums, without a fit."""

import io
import mmap
import os
import re
import sys
import threading
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows import blocks
from bsvdd.estimators.rows.blocks import ArrayRows, as_array, checked, pick, release
from bsvdd.estimators.rows.categories import codes
from bsvdd.estimators.rows.dask import DaskRows, by_block
from bsvdd.estimators.rows.files import CsvFormat, naming, open_file, tables
from bsvdd.estimators.rows.source import is_lazy, source

from bsvdd import kernels

X = np.arange(46.0).reshape(23, 2) ** 1.5 / 7.0
NAMES = ["a", "b"]
DASK = ["dask", "dask of unknown lengths", "dask frame"]
KINDS = ["npy", "csv", "parquet", "array", *DASK]


def rows_of(kind, folder, table=X):
    path, frame = folder / f"x.{kind}", pd.DataFrame(table, columns=NAMES)
    if kind == "array":
        return source(table)
    if kind == "dask frame":
        return source(dd.from_pandas(frame, npartitions=3))
    if kind in DASK:
        chunked = da.from_array(table, chunks=(9, 1))
        return source(chunked if kind == "dask" else chunked[chunked[:, 0] > -1.0])
    if kind == "npy":
        np.save(path, table)
    else:
        getattr(frame, f"to_{kind}")(path, index=False)
    return source(str(path))


@pytest.mark.parametrize("values", [2**20, 10, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_by_number_and_sums_do_not_depend_on_blocks(kind, values, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", values)
    monkeypatch.setattr(blocks, "SCATTERED", 4)
    rows = rows_of(kind, tmp_path)
    assert (rows.n_rows, rows.n_columns) == X.shape
    assert rows.names == (NAMES if kind in ("csv", "parquet", "dask frame") else None)
    for which in (slice(None), slice(3, 17, 5), np.array([0, 4, 5, 9, 22]), np.array([22])):
        found = rows.take(which)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, X[which], rtol=1e-15)
    minority = np.arange(23) % 7 == 3
    kernel = kernels.RBF(20.0)
    sums = rows.sums(kernel, X[:5], minority)
    majority = X[~minority]
    assert sums.n == sums.T == len(majority)  # k(x, x) = 1
    np.testing.assert_allclose(sums.r, kernel(X[:5], majority).sum(axis=1), rtol=1e-12)
    assert rows.found_categories() == ()
    if kind not in DASK:
        starts = [(start, len(block)) for start, block in rows.blocks()]
        step = max(1, values // 2)
        assert starts == [(i, min(step, 23 - i)) for i in range(0, 23, step)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_value_is_named_by_its_row_in_all_rows(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 10)
    bad = X.copy()
    bad[[13, 14], 1] = np.nan, np.inf
    rows = rows_of(kind, tmp_path, bad)
    with pytest.raises(ValueError, match=r"X contains NaN or infinity: X\[13, 1\] is nan"):
        rows.take(slice(11, None))
    with pytest.raises(ValueError, match=r"X\[14, 1\] is inf \(1 such rows\)"):
        rows.take(np.array([2, 14]))
    assert rows.take(slice(0, 13)).shape == (13, 2)
    with pytest.raises(ValueError, match=r"X\[13, 1\] is nan"):
        rows.sums(kernels.RBF(1.0), X[:2], np.zeros(23, dtype=bool))


@pytest.mark.parametrize("kind", ["csv", "parquet", "dask"])
def test_the_column_of_the_labels_leaves_the_rows(kind, tmp_path):
    def rows_of_frame(frame):
        if kind == "dask":
            return DaskRows(dd.from_pandas(frame, npartitions=2))
        getattr(frame, f"to_{kind}")(tmp_path / f"x.{kind}", index=False)
        return open_file(tmp_path / f"x.{kind}")

    frame = pd.DataFrame({"a": X[:, 0], "y": np.arange(23) % 3, "b": X[:, 1]})
    rows = rows_of_frame(frame)
    origin = "the data frame" if kind == "dask" else re.escape(str(tmp_path / f"x.{kind}"))
    assert rows.names == ["a", "y", "b"]
    assert rows.labels("y").tolist() == frame["y"].tolist()
    assert (rows.names, rows.n_columns) == (["a", "b"], 2)
    np.testing.assert_allclose(rows.take(slice(None)), X, rtol=1e-15)
    with pytest.raises(
        ValueError, match=f"y='z' is no column of {origin}, which has 'a', 'y', 'b'$"
    ):
        rows.labels("z")
    with pytest.raises(
        ValueError, match=rf"is no column of {origin} \(did you mean 'y'\?\), which"
    ):
        rows.labels("Y")
    with pytest.raises(ValueError, match=f"{origin} has no column besides that of the labels"):
        rows_of_frame(frame[["y"]]).labels("y")


def test_rows_without_names_have_no_column_of_labels():
    for rows in (X, da.from_array(X)):
        with pytest.raises(ValueError, match="y='y': the name of a column is for rows with named"):
            source(rows).labels("y")


def test_what_becomes_a_source():
    assert isinstance(source(X), ArrayRows)
    assert source(X.tolist()) is None and source(X[:, 0]) is None and source(X[:0]) is None
    assert source(X.astype(object)) is None and source(np.ma.array(X)) is None
    assert source(pd.DataFrame(X)) is None and source(X + 1j) is None
    for kind in (np.float32, np.int8, np.uint16, bool):
        assert isinstance(source(X.astype(kind)), ArrayRows)
    assert is_lazy(da.from_array(X)) and not is_lazy(X) and not is_lazy("x.csv")


def test_rows_known_to_be_right_are_given_as_they_are():
    assert np.shares_memory(ArrayRows(X, is_checked=True).take(slice(2, 5)), X)
    bad = np.full((3, 2), np.nan)
    assert np.isnan(ArrayRows(bad, is_checked=True).take(slice(None))).all()
    with pytest.raises(ValueError, match="NaN"):
        ArrayRows(bad).take(slice(None))


def test_single_precision_stays_and_other_types_become_double():
    assert checked(X.astype(np.float32), range(23)).dtype == np.float32
    for kind in (np.int8, np.uint64, bool, np.float16):
        assert checked(np.ones((2, 2), dtype=kind), range(2)).dtype == np.float64
    large = np.full((2, 2), 1e308)  # finite, though their sum is not
    assert checked(large, range(2)) is large
    assert pick(X[5:9], 5, np.array([6, 8])).tolist() == X[[6, 8]].tolist()


def test_blocks_of_frames_are_numbers():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    assert as_array(frame, 0).tolist() == [[1.0, 0.5, 1.0], [2.0, 1.5, 0.0]]
    frame["a"] = pd.array([1, None], dtype="Int64")
    found = as_array(frame, 0)
    assert found.dtype == float and np.isnan(found[1, 0]) and found[0, 0] == 1.0
    frame["d"] = ["x", "y"]
    with pytest.raises(TypeError, match=r"column 'd' is not numeric \(rows 40 to 41 are .*y='name"):
        as_array(frame, 40)
    frame["e"] = pd.to_datetime(["2020", "2021"])
    with pytest.raises(TypeError, match="columns 'd', 'e' are not numeric"):
        as_array(frame, 0)


def test_a_copy_on_write_map_keeps_its_changes(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6000.0).reshape(3000, 2))  # several pages
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[1000] = 7.0
    release(private)
    assert private[1000].tolist() == [7.0, 7.0]


def test_a_map_of_any_length_and_part_can_be_released(tmp_path):
    for table in (X, np.ones((3001, 3), dtype=np.int8)):
        np.save(tmp_path / "x.npy", table)
        shared = np.load(tmp_path / "x.npy", mmap_mode="r")
        release(shared[4:])
        release(shared[:, :1])
        np.testing.assert_array_equal(shared, table)


def test_scattered_rows_of_a_map_are_read_a_few_at_a_time(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)
    shared = np.load(tmp_path / "x.npy", mmap_mode="r")
    monkeypatch.setattr(blocks, "SCATTERED", 4)
    read, freed = [], []

    def counted(rows, numbers):
        read.append(numbers.tolist())
        return checked(rows, numbers)

    monkeypatch.setattr(blocks, "checked", counted)
    monkeypatch.setattr(blocks, "release", freed.append)
    which = np.arange(0, 23, 2)
    np.testing.assert_array_equal(ArrayRows(shared).take(which[:-1]), X[which[:-1]])
    assert read == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20]]
    assert len(freed) == 3 and all(each is shared for each in freed)
    read.clear()
    np.testing.assert_array_equal(ArrayRows(X).take(which), X[which])  # it has no pages to free
    assert read == [which.tolist()] and len(freed) == 3


class Watched(mmap.mmap):
    """A memory map that notes which of its bytes are given back."""

    def madvise(self, option, start, length):
        freed.append((option, start, start + length))
        super().madvise(option, start, length)


freed = []


@pytest.mark.skipif(not hasattr(mmap, "MADV_DONTNEED"), reason="no pages are freed")
@pytest.mark.parametrize(("first", "last"), [(0, 3000), (100, 1300), (700, 701), (1, 5)])
def test_the_whole_pages_of_a_block_are_freed(first, last, tmp_path, monkeypatch):
    table = np.arange(6000.0).reshape(3000, 2)
    np.save(tmp_path / "x.npy", table)
    monkeypatch.setattr(mmap, "mmap", Watched)
    shared = np.load(tmp_path / "x.npy", mmap_mode="r")
    freed.clear()
    release(shared[first:last])
    # the table ends the file; each row has 16 bytes
    end = os.path.getsize(tmp_path / "x.npy") - 16 * (3000 - last)
    start = end - 16 * (last - first)
    pages = range(0, end, mmap.PAGESIZE)
    expected = [(mmap.MADV_DONTNEED, page, end) for page in pages if page >= start][:1]
    assert freed == expected
    release(shared[first:last:2])  # a page may have other rows too
    assert freed == expected
    np.testing.assert_array_equal(shared, table)


def test_sums_are_quiet_unless_asked(capsys):
    for rows in (source(X), source(da.from_array(X, chunks=(9, 2)))):
        rows.sums(kernels.RBF(1.0), X[:2], np.zeros(23, dtype=bool))
        assert capsys.readouterr() == ("", "")
        rows.sums(kernels.RBF(1.0), X[:2], np.zeros(23, dtype=bool), progressbar=True)
        out, err = capsys.readouterr()
        assert out == "" and "100%" in err


def test_blocks_are_summed_with_one_thread_of_blas(monkeypatch):
    from threadpoolctl import threadpool_info, threadpool_limits

    of_block, found = blocks.sums_of_block, []

    def watched(*args):
        found.extend(e["num_threads"] for e in threadpool_info() if e["user_api"] == "blas")
        return of_block(*args)

    monkeypatch.setattr(blocks, "sums_of_block", watched)
    monkeypatch.setattr("bsvdd.estimators.rows.dask.sums_of_block", watched)
    with threadpool_limits(2):
        for rows in (source(X), source(da.from_array(X, chunks=(9, 2)))):
            rows.sums(kernels.RBF(1.0), X[:2], np.zeros(23, dtype=bool))
    assert set(found) == {1}


@pytest.mark.parametrize("sign", ["", ",,", '"', "\n", "\r", "\0", "a", "1", "äö"])
def test_signs_that_separate_no_fields(sign):
    with pytest.raises(ValueError, match="sep must be one character between fields, such as ';'"):
        CsvFormat(sign)


def test_signs_of_a_file():
    assert CsvFormat("tab").sep == CsvFormat("\\t").sep == CsvFormat("\t").sep == "\t"
    with pytest.raises(ValueError, match=r"decimal must be '\.' or ',', got ';'"):
        CsvFormat(",", ";")
    with pytest.raises(ValueError, match="sep and decimal are both ','"):
        CsvFormat(",", ",")
    texts = pd.Series(["1,5", "2", "1.5", "x", None, "1.000,5"])
    comma = CsvFormat(";", ",").numbers(texts)
    assert comma.dtype == float and comma.iloc[:2].tolist() == [1.5, 2.0]
    assert comma.iloc[2:].isna().all()
    point = CsvFormat().numbers(texts)
    assert point.iloc[[1, 2]].tolist() == [2.0, 1.5] and point.iloc[[0, 3, 4, 5]].isna().all()
    assert CsvFormat(";", ",").numbers(pd.Series([1, 2])).tolist() == [1.0, 2.0]


def test_errors_name_the_file_once(tmp_path):
    with pytest.raises(ValueError, match="^x.csv: wrong$"), naming("x.csv"):
        raise ValueError("wrong")
    with pytest.raises(ValueError, match="^x.csv is wrong$"), naming("x.csv"):
        raise ValueError("x.csv is wrong")
    with pytest.raises(TypeError, match="^x.csv: wrong$"), naming("x.csv"):
        raise TypeError("wrong")
    with pytest.raises(ValueError, match="^wrong$"), naming(X):
        raise ValueError("wrong")


@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_blocks_to_score(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 10)
    rows_of(kind, tmp_path)
    path = tmp_path / f"x.{kind}"
    found = list(tables(path, "b"))
    left = X if kind == "npy" else X[:, :1]
    np.testing.assert_allclose(np.concatenate(found), left, rtol=1e-15)
    assert len(found) == 5
    rows_of(kind, tmp_path, np.where(np.arange(46).reshape(23, 2) == 30, np.nan, X))
    with pytest.raises(ValueError, match=rf"x\.{kind}: X contains NaN .* X\[15, 0\] is nan"):
        list(tables(path, None))


def test_a_pipe_is_no_file(tmp_path):
    for name in ("x.csv", "x.npy", "x.parquet"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(ValueError, match="is no regular file"):
            open_file(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b\n1;2\n", r"it has ';' 1 times; name the separator: --sep ';'"),
        ("a\tb\tc\n1\t2\t3\n", r"it has '\\t' 2 times; name the separator: --sep 'tab'"),
        ("a|b\n1|2\n", r"--sep '\|'"),
    ],
)
def test_another_separator_is_named(text, message, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        open_file(tmp_path / "x.csv")


def test_a_name_with_a_sign_is_a_name(tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n1\n2\n")
    assert open_file(tmp_path / "x.csv").names == ["a;b"]


def test_blas_has_its_threads_again_after_the_sums():
    from threadpoolctl import threadpool_info

    before = [each["num_threads"] for each in threadpool_info()]
    source(X).sums(kernels.RBF(1.0), X[:2], np.zeros(23, dtype=bool))
    assert [each["num_threads"] for each in threadpool_info()] == before
    assert threading.active_count() < 20


@pytest.mark.parametrize("kind", ["csv", "parquet", "dask"])
def test_texts_and_categories_are_found(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 4 * 6)
    # numbers in some blocks, by themselves; "01" is another category than 1
    text, other = ["01", "1"] * 11 + ["w"], ["u"] + ["2"] * 22
    frame = pd.DataFrame({"a": X[:, 0], "t": text, "b": X[:, 1], "c": other})
    frame["c"] = frame["c"].astype("category")
    if kind == "dask":
        data = dd.from_pandas(frame, npartitions=2)
    else:
        data = str(tmp_path / f"x.{kind}")
        getattr(frame, f"to_{kind}")(data, index=False)
    for label, expected in ((None, (1, 3)), ("a", (0, 2)), ("t", (2,))):
        rows = source(data)
        if label is not None:
            rows.labels(label)
        assert rows.found_categories() == expected
    rows = source(data)
    rows.categorical = (1, 3)
    expected = np.column_stack([X[:, 0], codes(text), X[:, 1], codes(other)])
    for which in (slice(None), np.array([0, 7, 22])):
        np.testing.assert_allclose(rows.take(which), expected[which], rtol=1e-15)
    if kind != "dask":
        found = list(tables(data, "c", ["t"]))
        assert all(list(block.columns) == ["a", "t", "b"] for block in found)
        np.testing.assert_allclose(np.concatenate(found), expected[:, :3], rtol=1e-15)
        with pytest.raises(TypeError, match=rf"x\.{kind}: column 't' is not numeric \(rows \d+ to"):
            list(tables(data, "c"))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_block_of_text_is_named_by_its_rows(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 10)
    frame = pd.DataFrame({"a": X[:, 0], "t": ["1"] * 11 + ["x"] + ["1"] * 11})
    getattr(frame, f"to_{kind}")(tmp_path / f"x.{kind}", index=False)
    first = 10 if kind == "csv" else 0  # a column of Parquet has one type
    with pytest.raises(TypeError, match=rf"\(rows {first} to {first + 4} are"):
        list(tables(tmp_path / f"x.{kind}", None))


def test_the_pages_of_a_block_are_freed_when_it_was_scored(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", 10)
    rows_of("npy", tmp_path)
    freed, counts = [], []
    monkeypatch.setattr("bsvdd.estimators.rows.files.release", freed.append)
    for _ in tables(tmp_path / "x.npy", None):
        counts.append(len(freed))
    assert counts == [0, 1, 2, 3, 4] and len(freed) == 5
    np.testing.assert_array_equal(np.concatenate(freed), X)


def test_files_without_rows(tmp_path):
    frame = pd.DataFrame(X[:0], columns=NAMES)
    for kind in ("csv", "parquet"):
        path = tmp_path / f"x.{kind}"
        getattr(frame, f"to_{kind}")(path, index=False)
        rows = open_file(path)
        assert (rows.n_rows, rows.n_columns) == (0, 2)
        assert rows.labels("b").shape == (0,) and rows.n_rows == 0
        with pytest.raises(ValueError, match=rf"x\.{kind} has no rows$"):
            list(tables(path, None))


def test_parquet_needs_pyarrow(tmp_path, monkeypatch):
    pd.DataFrame(X, columns=NAMES).to_parquet(tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"needs pyarrow; .*bsvdd\[parquet\]"):
        open_file(tmp_path / "x.parquet")


def test_there_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"X: there is no file .*x\.csv"):
        open_file(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("X", "got"),
    [
        (da.from_array(X[:, 0]), r"got an array of float64, \(23,\); convert a dask series"),
        (da.from_array(X + 1j), r"got an array of complex128, \(23, 2\);"),
        (da.from_array(X[None]), r"got an array of float64, \(1, 23, 2\);"),
        (dask.delayed(X), "got <class 'dask.delayed.*'>; convert"),
        (dd.from_pandas(pd.Series(X[:, 0]), npartitions=2), "got <class 'dask.*Series'>; convert"),
    ],
)
def test_other_dask_collections_are_refused(X, got):
    with pytest.raises(TypeError, match=rf"X must be a dask array \(rows.*, or a dask .*, {got}"):
        DaskRows(X)


def test_a_chunk_of_another_length_is_named():
    short = da.from_delayed(dask.delayed(X[:7]), (9, 2), float)
    rows = DaskRows(da.concatenate([da.from_array(X[:9]), short]))
    text = "block of X that starts with row 9 has 7 rows, but its chunk size is 9; give X its true"
    with pytest.raises(ValueError, match=text):
        rows.sums(kernels.RBF(1.0), X[:2], np.zeros(18, dtype=bool))
    with pytest.raises(ValueError, match=text):
        rows.take(np.array([1, 12]))
    assert rows.take(np.array([1, 8])).tolist() == X[[1, 8]].tolist()  # the other is not read


def total(block):
    values = np.asarray(block)
    if (values > 42.0).any():
        raise ValueError("too large")
    return values.sum(axis=1)


def test_scores_by_block_are_lazy_and_in_order():
    small = X[X[:, 1] <= 42.0]
    parts = da.from_array(small, chunks=(9, 1))
    frame = pd.DataFrame(small, columns=NAMES)
    empty = da.concatenate([parts[:4], parts[:0], parts[4:]])
    unknown = parts[parts[:, 0] > -1.0]
    for rows in (parts, empty, unknown, dd.from_pandas(frame, npartitions=3)):
        scores = by_block(rows, total)
        assert isinstance(scores, da.Array) and scores.dtype == float and scores.ndim == 1
        np.testing.assert_allclose(scores.compute(), small.sum(axis=1), rtol=1e-15)
    filtered = dd.from_pandas(frame, npartitions=3)
    filtered = filtered[filtered["a"] > 20.0]  # the first partition becomes empty
    kept = small[small[:, 0] > 20.0]
    np.testing.assert_allclose(by_block(filtered, total).compute(), kept.sum(axis=1), rtol=1e-15)


def test_errors_of_scores_name_the_block():
    place = "whose rows are counted from 0: too large$"
    chunks = da.from_array(X, chunks=(9, 1))
    with pytest.raises(ValueError, match=rf"^in block 2 of X \(row 18 of X and on\), {place}"):
        by_block(chunks, total).compute()
    with pytest.raises(ValueError, match=f"^in block 2 of X, {place}"):
        by_block(chunks[chunks[:, 0] > -1.0], total).compute()
    frame = dd.from_pandas(pd.DataFrame(X, index=np.arange(23) * 10), npartitions=3)
    with pytest.raises(ValueError, match=f"^in the partition of X from index 160 on, {place}"):
        by_block(frame, total).compute()


def write(folder, name, content):
    path = folder / name
    if isinstance(content, str):
        path.write_text(content)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, np.ndarray):
        np.save(path, content)
    else:
        content(path)
    return path


def saved(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def body_lost(path):
    pd.DataFrame(X, columns=NAMES).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "error", "message"),
    [
        ("x.csv", "", ValueError, r"x\.csv is empty"),
        ("x.npy", "", ValueError, r"x\.npy is empty"),
        ("x.csv", "\n\n", ValueError, r"x\.csv is damaged, or not CSV .* No columns to parse"),
        ("x.csv", "a,b\n1,2\n1,x\n", TypeError, r"column 'b' is not numeric \(rows 0 to 1 are"),
        ("x.csv", "a,b\n1,2\n1,\n", ValueError, r"X\[1, 1\] is nan"),
        ("x.csv", "a,b\n1,2,3\n4,5,6\n", ValueError, r"x\.csv .* header that names every field"),
        ("x.csv", "a,b\n1,2,\n4,5,\n", ValueError, "x.csv .* Expected 2 fields in line 2, saw 3"),
        ("x.csv", "a,b\n1,2,3\n4,5\n", ValueError, "x.csv .* Expected 2 fields in line 2, saw 3"),
        ("x.csv", "a,b\n1,2\n4,5,6\n", ValueError, "x.csv .* Expected 2 fields in line 3, saw 3"),
        ("x.csv", "a,b,a\n1,2,3\n", ValueError, "x.csv: the header has the column 'a' twice"),
        ("x.csv", ",a\n0,1\n", ValueError, r"x.csv: column 0 .* no name .* to_csv\(index=False\)"),
        ("x.csv", "a,,\n0,1,2\n", ValueError, r"x.csv: column 1 \(counted from 0\) has no name"),
        ("x.csv", 'a,b\n1,2\n4,"5\n', ValueError, r"x\.csv is damaged.* EOF inside string"),
        ("x.csv", "a,é\n1,2\n".encode("latin1"), ValueError, r"x\.csv .* not CSV in UTF-8"),
        ("x.csv", "a,b\n1,2\n3,é\n".encode("latin1"), ValueError, r"x\.csv .* not CSV in UTF-8"),
        (
            "x.npy",
            b"no table at all, but text",
            ValueError,
            r"x\.npy .*pickled arrays.* not read",
        ),
        ("x.npy", saved(X)[:50], ValueError, r"x\.npy is damaged, or not a \.npy file of numbers"),
        ("x.npy", saved(X)[:400], ValueError, r"x\.npy is damaged, or not a \.npy file of numbers"),
        ("x.npy", saved(X[:2].astype(object)), ValueError, r"x\.npy .*pickled arrays.* not read"),
        ("x.parquet", b"PAR1 and so on", ValueError, r"x\.parquet is damaged, or not Parquet"),
        ("x.parquet", body_lost, ValueError, r"x\.parquet is damaged, or not Parquet"),
        (
            "x.parquet",
            Path.mkdir,
            ValueError,
            r"x\.parquet is a directory.*dask.dataframe.read_parquet",
        ),
        ("x.npy", np.ones(5), ValueError, r"expected a table of numbers .* shape \(5,\)"),
        ("x.npy", np.array([["a"] * 2] * 3), ValueError, "expected a table of numbers .* type <U1"),
        ("x.xls", "a", ValueError, r"expected a file named \.npy, \.parquet, \.csv"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_files(tmp_path, name, content, error, message):
    path = write(tmp_path, name, content)
    with pytest.raises(error, match=message) as raised, naming(path):
        open_file(path).take(slice(None))
    assert str(path) in str(raised.value) and "allow_pickle" not in str(raised.value)
