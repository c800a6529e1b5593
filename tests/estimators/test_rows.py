"""Rows from arrays, memory maps, files and a dask cluster: one result, whatever the source."""

import subprocess
import sys
from functools import partial

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows import blocks as rows_module

import bsvdd
from bsvdd import BDD, SVDD, kernels, priors

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),
    pytest.mark.filterwarnings("ignore:X has feature names, but BDD was fitted without"),
]

RNG = np.random.default_rng(90)
X = np.concatenate([RNG.normal(size=(280, 4)), RNG.normal(1.5, 1, size=(40, 4))])
Y = np.repeat([0, 1], [280, 40])
mixed = RNG.permutation(320)
X, Y = X[mixed], Y[mixed]
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=np.where(Y == 1, "bad", "good"))
LABELS, TABLE = FRAME["label"], FRAME[NAMES]
LABELLED = FRAME[["a", "label", "b", "c", "d"]]  # the label may stand anywhere


def make(**changes):
    settings = dict(draws=40, chains=2, dictionary=25, minor_label="bad")
    return BDD(**{**settings, **changes})


def with_bad(value, row=311, column=2):
    bad = X.copy()
    bad[row, column] = value
    return bad


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows_module, "SCATTERED", 50)


@pytest.fixture(scope="module")
def expected():
    return make().fit(X, LABELS)


@pytest.fixture(scope="module")
def named():
    return make().fit(TABLE, LABELS)


def same(est, expected):
    bandwidth = expected.kernel_.kernel.bandwidth
    assert est.kernel_.kernel.bandwidth == pytest.approx(bandwidth, rel=1e-9)
    np.testing.assert_array_equal(est.gram_.points.rows, expected.gram_.points.rows)
    np.testing.assert_allclose(est.gram_.r, expected.gram_.r, rtol=1e-10)
    assert (est.gram_.n0, est.gram_.T) == (280, 280.0)
    np.testing.assert_allclose(est.score_samples(X), expected.score_samples(X), rtol=1e-8)
    assert est.cutoff_ == pytest.approx(expected.cutoff_, rel=1e-8)


def stored(kind, folder, rows):
    """Return the rows as an array, the path of a .npy file, a frame or a dask collection."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=NAMES)
    path = folder / f"x.{kind}"
    match kind:
        case "array":
            return frame.to_numpy()
        case "dask":
            return da.from_array(frame.to_numpy(), chunks=(70, 3))
        case "dask frame":
            return dd.from_pandas(frame, npartitions=5)
        case "npy":
            np.save(path, frame.to_numpy())
        case "csv" | "parquet":
            getattr(frame, f"to_{kind}")(path, index=False)
            return bsvdd.read_table(path)
    return path


def memory_map(folder, rows):
    np.save(folder / "x.npy", rows)
    return np.load(folder / "x.npy", mmap_mode="r")


def unknown_chunks(rows, chunks):
    data = da.from_array(rows, chunks=chunks)
    return data[~(data[:, 0] > np.inf)]


KINDS = ["array", "npy", "csv", "parquet", "dask", "dask frame"]
SOURCES = {
    **{kind: partial(stored, kind, rows=TABLE) for kind in KINDS},
    "data frame": lambda folder: TABLE,
    "text path": lambda folder: str(stored("npy", folder, X)),
    "memory map": partial(memory_map, rows=X),
    "part of a memory map": lambda folder: memory_map(folder, np.vstack([X[:3], X, X[:2]]))[3:-2],
    "fortran memory map": lambda folder: memory_map(folder, np.asfortranarray(X)),
    "dask array, chunks unknown": lambda folder: unknown_chunks(X, (60, 2)),
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_every_source_has_the_same_fit(expected, tmp_path, source):
    same(make().fit(source(tmp_path), LABELS), expected)


def test_models_without_a_dictionary_read_all_rows(tmp_path):
    est = SVDD(minor_label="bad")
    labels = est.fit(X, LABELS).predict(X)
    for data, y in (
        (stored("parquet", tmp_path, FRAME), "label"),
        (da.from_array(X, chunks=90), LABELS),
    ):
        np.testing.assert_array_equal(est.fit(data, y).predict(X), labels)


# --- bad input


NO_GAPS = kernels.Tabular(missing="error")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_not_finite_in_the_seventh_block(tmp_path, kind, value):
    message = rf"X contains NaN or infinity: X\[311, 2\] is {value} \(1 such rows\); drop or impute"
    with pytest.raises(ValueError, match=message):
        make(dictionary=3, cutoff=1.0, kernel=NO_GAPS).fit(stored(kind, tmp_path, with_bad(value)))


@pytest.mark.parametrize("kind", ["parquet", "dask frame"])
def test_columns_that_may_have_nulls(tmp_path, kind):
    counts, est = RNG.poisson(5.0, size=60), make(dictionary=9, kernel=kernels.RBF(1.0))
    frame = pd.DataFrame({"a": pd.array(counts, "Int64"), "b": pd.array(counts > 5, "boolean")})
    found = est.fit(stored(kind, tmp_path, frame)).gram_.r
    np.testing.assert_allclose(found, est.fit(frame.to_numpy(float)).gram_.r, rtol=1e-12)
    frame.loc[31, "a"] = pd.NA
    with pytest.raises(ValueError, match=r"X\[31, 0\] is nan \(1 such rows\); drop or impute"):
        make(dictionary=9, kernel=NO_GAPS).fit(stored(kind, tmp_path, frame))


NO_DASK = "X must be a dask array .* or a dask data frame"
TEXTS = dd.from_pandas(TABLE.assign(a=TABLE["a"].astype(str)), npartitions=2)
WIDE = make(kernel=kernels.RBF(1.0))
BAD = [  # X, or its format and rows; y; the message
    ("no.npy", None, r"X: there is no file .*no\.npy"),
    (
        "x.csv",
        "label",
        r"X='.*x\.csv': expected rows, or .* \.npy file; .* bsvdd\.read_table",
    ),
    (FRAME, "class", r"y='class' is no column of the data frame, which has 'a', 'b'"),
    (FRAME, "Label", r"is no column of .* \(did you mean 'label'\?\), which"),
    (FRAME[["label"]], "label", "has no column besides that of the labels"),
    (FRAME, None, "column 'label' is not numeric.* y='name'"),
    (("npy", X), "label", "the name of a column is for the columns of a data frame .*read_table"),
    (("npy", X), Y[1:], r"y must have shape \(320,\), .* got \(319,\)"),
    (("npy", X[:1]), None, r"X has 1 row\(s\)"),
    (da.from_array(X[0], chunks=2), None, NO_DASK),
    (da.from_array(X + 1j), None, NO_DASK),
    (dask.delayed(X), None, NO_DASK),
    (TEXTS["a"], None, NO_DASK),
    (TEXTS, LABELS, "column 'a' is text that has numbers or dates"),
    (np.vstack([X.astype(object), ["a", 1, 1, 1]]), None, "could not convert string to float: 'a'"),
]


@pytest.mark.parametrize(("data", "y", "message"), BAD, ids=range(len(BAD)))
def test_bad_tables(expected, tmp_path, data, y, message):
    if isinstance(data, tuple):
        data = stored(data[0], tmp_path, data[1])
    elif isinstance(data, str):
        data = tmp_path / data
    # a kernel of categories takes texts
    est = WIDE if "not numeric" in message else make()
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        est.fit(data, y)
    if message is NO_DASK:
        with pytest.raises(TypeError, match=message):
            expected.predict(data)


# --- dask


@pytest.mark.parametrize("method", ["predict", "score_samples", "probability_normal"])
def test_scores_of_dask_are_lazy(named, method):
    score, positive = getattr(named, method), TABLE["a"] > 0
    expected = score(TABLE)
    frame = dd.from_pandas(TABLE, npartitions=4)
    for data, values in (
        (da.from_array(X, chunks=(70, 3)), expected),
        (frame[["a", "c", "b", "d"]], expected),
        (frame[frame.a > 0], expected[positive]),
    ):
        lazy = score(data)
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), values, rtol=1e-12)
    with pytest.raises(ValueError, match="X has 3 features, but BDD is expecting 4"):
        score(da.from_array(X[:, :3], chunks=90)).compute()
    with pytest.raises(TypeError, match="decision computes .*; use probability_normal, .* lazy"):
        named.decision(da.from_array(X, chunks=(70, 3)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            da.from_array(with_bad(np.inf, column=0), chunks=70),
            r"in block 4 of X \(row 280 of X and on\), whose rows are counted from 0: .*X\[31, 0\]",
        ),
        (
            unknown_chunks(with_bad(np.inf, column=0), 70),
            r"in block 4 of X, whose rows are .*X\[31, 0\]",
        ),
        (
            dd.from_pandas(pd.DataFrame(with_bad(np.inf), columns=NAMES), npartitions=4),
            r"partition of X from index 240 on, .*X\[71, 2\]",
        ),
    ],
    ids=["array", "chunks unknown", "frame"],
)
def test_an_infinite_value_is_found_in_its_block(named, data, message):
    with pytest.raises(ValueError, match=message):
        named.predict(data).compute()


def test_a_block_shorter_than_declared():
    short = da.from_delayed(dask.delayed(X[:65]), (70, 4), float)
    data = da.concatenate([da.from_array(X[:70]), short, da.from_array(X[:70])])
    text = "block of X that starts with row 70 has 65 rows, but its chunk size is 70; give X its"
    with pytest.raises(ValueError, match=text):
        make(dictionary=4).fit(data)


# --- frames with the labels are scored as they are


@pytest.mark.parametrize("kind", ["csv", "parquet", "dask frame"])
def test_the_column_of_the_labels_is_left_out(expected, tmp_path, kind):
    data = stored(kind, tmp_path, LABELLED)
    labels, est = expected.predict(X, training="as new"), make().fit(data, "label")
    same(est, expected)
    assert list(est.feature_names_in_) == NAMES
    left_out = np.where(est.decision()["normal"], 1, -1)
    np.testing.assert_array_equal(np.asarray(make().fit_predict(data, "label")), left_out)
    est.save(tmp_path / "fit.nc")
    loaded = bsvdd.load(tmp_path / "fit.nc")
    other = loaded.with_prior(priors.Flat(0.5)).with_prior(loaded.prior)
    for fit in (est, loaded, other, est.with_cutoff(est.cutoff)):
        for rows in (data, LABELLED):
            differ = np.asarray(fit.predict(rows, training="as new")) != labels
            assert differ.sum() <= (2 if fit is other else 0)  # its cutoff holds the false alarms
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        est.predict(LABELLED.assign(other=1.0))


@pytest.mark.parametrize("kind", ["memory map", "csv", "parquet"])
def test_scores_of_rows_of_a_file(expected, tmp_path, kind):
    for rows in (X, X[:1]):
        new = SOURCES[kind](tmp_path, rows=rows)
        for method in ("predict", "score_samples", "probability_normal", "distance"):
            found = getattr(expected, method)(new)
            np.testing.assert_allclose(found, getattr(expected, method)(rows), rtol=1e-12)
        pd.testing.assert_frame_equal(expected.decision(new), expected.decision(rows))
    with pytest.raises(ValueError, match=r"X\[311, 2\] is inf \(1 such rows\); drop or impute"):
        expected.predict(SOURCES[kind](tmp_path, rows=with_bad(np.inf)))


def test_new_rows_are_no_path(expected, tmp_path):
    names = "predict score_samples decision_function probability_normal distance decision"
    asked = [getattr(expected, name) for name in names.split()]
    questions = bsvdd.p_value, bsvdd.select, bsvdd.explain, bsvdd.kinds
    asked += [partial(question, expected) for question in questions]
    words = r"X='.*' is text, expected rows; .*bsvdd\.read_table\(path\) .*numpy\.load\(path, mm"
    for ask in asked:
        for path in (tmp_path / "x.csv", str(stored("npy", tmp_path, X))):
            with pytest.raises(TypeError, match=words):
                ask(path)


@pytest.mark.slow
def test_a_cluster_gives_the_same(expected, named):
    distributed = pytest.importorskip("distributed")
    workers = dict(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with distributed.LocalCluster(**workers) as cluster, distributed.Client(cluster) as client:
        assert client.scheduler.address.startswith("tcp://")
        assert len(client.scheduler_info()["workers"]) == 2
        data, y = (da.from_array(values, chunks=70) for values in (X, Y))
        same(make(minor_label=None).fit(data, y), expected)
        frame = dd.from_pandas(FRAME, npartitions=5)
        found = make().fit(frame, "label").probability_normal(frame[NAMES]).compute()
        np.testing.assert_allclose(found, named.probability_normal(TABLE), rtol=1e-12)
        with pytest.raises(ValueError, match=r"X\[311, 2\] is inf"):
            make(dictionary=3).fit(da.from_array(with_bad(np.inf), chunks=70))


# --- memory


def test_a_copy_on_write_map_keeps_its_changes(tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(1).normal(size=(3000, 2)))  # several pages
    private = np.load(tmp_path / "x.npy", mmap_mode="c")
    private[1000] = 7.0
    make().fit(private)
    assert private[1000].tolist() == [7.0, 7.0]


MEASURE = """
import resource, sys
import numpy as np
from bsvdd import BDD, kernels
import warnings
warnings.simplefilter("ignore")  # it says that it takes a sample
X = np.load(sys.argv[1], mmap_mode="r")
est = BDD(kernel=kernels.RBF(3.0), dictionary=50, draws=50, chains=2)
est.fit(X[:20_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
est.fit(X)
print(est.gram_.n0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in KiB")
def test_a_memory_map_is_never_in_memory(tmp_path):
    path = tmp_path / "x.npy"
    table = np.lib.format.open_memmap(path, "w+", float, (1_500_000, 20))  # 240 MB
    rng = np.random.default_rng(0)
    for i in range(0, len(table), 100_000):
        table[i : i + 100_000] = rng.normal(size=(100_000, 20))
    table.flush()
    del table
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True
    )
    rows, more = map(int, done.stdout.split())
    assert rows == 12_000
    assert more < 100 * 1024, f"{more / 1024:.0f} MB more for a file of 240 MB"
