"""Sources of rows by themselves: the blocks they give, rows by number, and sums, without a fit."""

import os
import threading

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows import blocks
from bsvdd.estimators.rows.blocks import (
    ArrayRows,
    as_array,
    checked,
    one_blas_thread,
    pick,
    release,
)
from bsvdd.estimators.rows.files import CsvFormat, naming, open_file, tables
from bsvdd.estimators.rows.source import is_lazy, source

from bsvdd import kernels

X = np.arange(46.0).reshape(23, 2) ** 1.5 / 7.0
NAMES = ["a", "b"]
KINDS = ["npy", "csv", "parquet", "array", "dask"]


def rows_of(kind, folder, table=X):
    path = folder / f"x.{kind}"
    if kind == "npy":
        np.save(path, table)
    elif kind == "array":
        return source(table)
    elif kind == "dask":
        return source(da.from_array(table, chunks=(9, 1)))
    else:
        frame = pd.DataFrame(table, columns=NAMES)
        getattr(frame, f"to_{kind}")(path, index=False)
    return source(str(path))


@pytest.mark.parametrize("values", [2**20, 10, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_by_number_and_sums_do_not_depend_on_blocks(kind, values, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_VALUES", values)
    monkeypatch.setattr(blocks, "SCATTERED", 4)
    rows = rows_of(kind, tmp_path)
    assert (rows.n_rows, rows.n_columns) == X.shape
    assert rows.names == (NAMES if kind in ("csv", "parquet") else None)
    for which in (slice(None), slice(3, 17, 5), np.array([0, 4, 5, 9, 22]), np.array([22])):
        found = rows.take(which)
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, X[which], rtol=1e-15)
    minority = np.arange(23) % 7 == 3
    kernel = kernels.RBF(20.0)
    sums = rows.sums(kernel, X[:5], minority)
    majority = X[~minority]
    assert sums.n == len(majority)
    np.testing.assert_allclose(sums.r, kernel(X[:5], majority).sum(axis=1), rtol=1e-12)
    if kind != "dask":
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


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_column_of_the_labels_leaves_the_rows(kind, tmp_path):
    frame = pd.DataFrame({"a": X[:, 0], "y": np.arange(23) % 3, "b": X[:, 1]})
    getattr(frame, f"to_{kind}")(tmp_path / f"x.{kind}", index=False)
    rows = open_file(tmp_path / f"x.{kind}")
    assert rows.names == ["a", "y", "b"]
    assert rows.labels("y").tolist() == frame["y"].tolist()
    assert (rows.names, rows.n_columns) == (["a", "b"], 2)
    np.testing.assert_allclose(rows.take(slice(None)), X, rtol=1e-15)
    with pytest.raises(ValueError, match=r"y='z' is no column of .*, which has 'a', 'y', 'b'$"):
        rows.labels("z")
    with pytest.raises(ValueError, match=r"is no column of .* \(did you mean 'y'\?\), which"):
        rows.labels("Y")
    alone = tmp_path / f"z.{kind}"
    getattr(frame[["y"]], f"to_{kind}")(alone, index=False)
    with pytest.raises(ValueError, match="has no column besides that of the labels"):
        open_file(alone).labels("y")


def test_rows_without_names_have_no_column_of_labels():
    with pytest.raises(ValueError, match="y='y': the name of a column is for rows with named col"):
        source(X).labels("y")


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
    np.save(tmp_path / "x.npy", X)
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[3] = 7.0
    release(private)
    assert private[3].tolist() == [7.0, 7.0]
    shared = np.load(tmp_path / "x.npy", mmap_mode="r")
    release(shared[4:])
    release(shared[:, :1])
    np.testing.assert_array_equal(shared, X)


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


def test_blas_has_its_threads_again_after_passes_that_overlap():
    from threadpoolctl import threadpool_info, threadpool_limits

    with threadpool_limits(2, user_api="blas"):
        before = [each["num_threads"] for each in threadpool_info()]
        first, second = one_blas_thread(), one_blas_thread()
        assert first.__enter__() == 2
        assert second.__enter__() == 2
        first.__exit__(None, None, None)
        assert max(e["num_threads"] for e in threadpool_info() if e["user_api"] == "blas") == 1
        second.__exit__(None, None, None)
        assert [each["num_threads"] for each in threadpool_info()] == before


def test_blas_has_its_threads_again_after_the_sums():
    from threadpoolctl import threadpool_info

    before = [each["num_threads"] for each in threadpool_info()]
    source(X).sums(kernels.RBF(1.0), X[:2], np.zeros(23, dtype=bool))
    assert [each["num_threads"] for each in threadpool_info()] == before
    assert threading.active_count() < 20
