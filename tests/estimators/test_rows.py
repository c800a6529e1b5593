"""Rows from arrays, memory maps, files and a dask cluster: one result, whatever the source."""

import subprocess
import sys

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.rows import blocks as rows_module

import bsvdd
from bsvdd import BDD, SVDD, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(90)
X = np.concatenate([RNG.normal(size=(280, 4)), RNG.normal(1.5, 1, size=(40, 4))])
Y = np.repeat([0, 1], [280, 40])
mixed = RNG.permutation(320)
X, Y = X[mixed], Y[mixed]
NAMES = ["a", "b", "c", "d"]
FRAME = pd.DataFrame(X, columns=NAMES).assign(label=np.where(Y == 1, "bad", "good"))


def make(**changes):
    settings = dict(draws=40, chains=2, dictionary=25, minor_label="bad")
    return BDD(**{**settings, **changes})


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_VALUES", 4 * 50)  # blocks of 50 rows


@pytest.fixture(scope="module")
def expected():
    return make().fit(X, FRAME["label"])


def npy(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def memory_map(folder):
    return np.load(npy(folder), mmap_mode="r")


def fortran(folder):
    np.save(folder / "x.npy", np.asfortranarray(X))
    return np.load(folder / "x.npy", mmap_mode="r")


def unknown_chunks(folder):
    data = da.from_array(X, chunks=(60, 2))
    return data[data[:, 0] > -np.inf]


ARRAYS = {
    "array": lambda folder: X,
    "data frame": lambda folder: FRAME[NAMES],
    "text path": lambda folder: str(npy(folder)),
    ".npy": npy,
    "memory map": memory_map,
    "part of a memory map": lambda folder: np.load(stacked(folder), mmap_mode="r")[3:-2],
    "fortran memory map": fortran,
    "dask array": lambda folder: da.from_array(X, chunks=(70, 3)),
    "dask array, chunks unknown": unknown_chunks,
}


def stacked(folder):
    np.save(folder / "x.npy", np.concatenate([X[:3], X, X[:2]]))
    return folder / "x.npy"


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("make_source", ARRAYS.values(), ids=ARRAYS)
def test_arrays(expected, tmp_path, make_source):
    same(make().fit(make_source(tmp_path), FRAME["label"]), expected)


def same(est, expected):
    assert est.kernel_.kernel.bandwidth == pytest.approx(
        expected.kernel_.kernel.bandwidth, rel=1e-9
    )
    np.testing.assert_array_equal(est.gram_.points, expected.gram_.points)
    np.testing.assert_allclose(est.gram_.r, expected.gram_.r, rtol=1e-10)
    assert (est.gram_.n0, est.gram_.T) == (280, 280.0)
    np.testing.assert_allclose(est.score_samples(X), expected.score_samples(X), rtol=1e-8)
    assert est.cutoff_ == pytest.approx(expected.cutoff_, rel=1e-8)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "dask"])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_named_columns(expected, tmp_path, suffix):
    table = FRAME[["a", "b", "label", "c", "d"]]  # the label may stand anywhere
    if suffix == "dask":
        data = dd.from_pandas(table, npartitions=5)
    else:
        data = tmp_path / f"x.{suffix}"
        getattr(table, f"to_{suffix}")(data, index=False)
    est = make().fit(data, "label")
    assert list(est.feature_names_in_) == NAMES
    same(est, expected)
    data = data if suffix != "dask" else data[NAMES]
    if suffix != "dask":
        getattr(FRAME[NAMES], f"to_{suffix}")(data, index=False)
    est = make().fit(data, FRAME["label"])  # labels given apart
    same(est, expected)


def test_float32_stays_float32(tmp_path):
    est = make().fit(X.astype(np.float32), FRAME["label"])
    exact = make().fit(X.astype(np.float32).astype(float), FRAME["label"])
    np.testing.assert_allclose(est.gram_.r, exact.gram_.r, rtol=1e-5)
    assert (est.gram_.r != exact.gram_.r).any()
    assert est.gram_.r.dtype == est.gram_.K.dtype == est.gram_.points.dtype == np.float64


def test_models_without_a_dictionary_read_files_whole(tmp_path):
    FRAME.to_parquet(tmp_path / "x.parquet")
    est = SVDD(minor_label="bad").fit(tmp_path / "x.parquet", "label")
    np.testing.assert_array_equal(
        est.predict(FRAME[NAMES]), SVDD(minor_label="bad").fit(X, FRAME["label"]).predict(X)
    )
    lazy = SVDD(minor_label="bad").fit(da.from_array(X, chunks=90), FRAME["label"])
    np.testing.assert_array_equal(lazy.predict(X), est.predict(FRAME[NAMES]))


def test_progress_is_shown_on_stderr(capfd):
    make(progressbar=True).fit(X, FRAME["label"])
    make().fit(X, FRAME["label"])
    out, err = capfd.readouterr()
    assert not out and err.count("rows") == 1


# --- bad input


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["array", ".npy", "csv", "parquet", "dask", "dask frame"])
def test_not_finite_in_the_seventh_block(monkeypatch, tmp_path, kind, value):
    monkeypatch.setattr("bsvdd.estimators.training.KEPT_ROWS", 5)  # the sample misses it
    bad = np.where(np.arange(320)[:, None] == 311, [0, 0, value, 0], X)
    frame = pd.DataFrame(bad, columns=NAMES)
    np.save(tmp_path / "x.npy", bad)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    data = {
        "array": bad,
        "dask": da.from_array(bad, chunks=50),
        "dask frame": dd.from_pandas(frame, npartitions=6),
    }.get(kind, tmp_path / f"x.{kind.removeprefix('.')}")
    message = rf"X contains NaN or infinity: X\[311, 2\] is {value} \(1 such rows\); drop or impute"
    with pytest.raises(ValueError, match=message):
        make(dictionary=3).fit(data)


@pytest.mark.parametrize(
    ("name", "content", "n"),
    [
        ("x.csv", "a,b\n", 0),
        ("x.csv", "a,b\n1,2\n", 1),
        ("x.csv", "\ufeffa,NA,null\n", 0),
        ("x.npy", X[:1], 1),
        ("x.parquet", FRAME[:0], 0),
    ],
)
def test_files_of_too_few_rows(tmp_path, name, content, n):
    path = tmp_path / name
    if isinstance(content, str):
        path.write_text(content)
    else:
        np.save(path, content) if name == "x.npy" else content.to_parquet(path)
    with pytest.raises(ValueError, match=rf"X has {n} row\(s\); expected at least 2"):
        make(dictionary=2).fit(path)


@pytest.mark.parametrize("kind", ["parquet", "dask"])
def test_columns_that_may_have_nulls(tmp_path, kind):
    def data(frame):
        if kind == "dask":
            return dd.from_pandas(frame, npartitions=3)
        frame.to_parquet(tmp_path / "x.parquet")
        return tmp_path / "x.parquet"

    counts = RNG.poisson(5.0, size=60)
    frame = pd.DataFrame({"a": pd.array(counts, "Int64"), "b": pd.array(counts > 5, "boolean")})
    found = make(dictionary=9, kernel=kernels.RBF(1.0)).fit(data(frame)).gram_
    expected = make(dictionary=9, kernel=kernels.RBF(1.0)).fit(frame.to_numpy(float)).gram_
    np.testing.assert_allclose(found.r, expected.r, rtol=1e-12)
    frame.loc[31, "a"] = pd.NA
    with pytest.raises(ValueError, match=r"X\[31, 0\] is nan \(1 such rows\); drop or impute"):
        make(dictionary=9).fit(data(frame))


def test_other_bad_input(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"X: there is no file .*no\.npy"):
        make().fit(tmp_path / "no.npy")
    FRAME.to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"y='class' is no column of .*, which has 'a', 'b'"):
        make().fit(tmp_path / "x.parquet", "class")
    with pytest.raises(ValueError, match=r"is no column of .* \(did you mean 'label'\?\), which"):
        make().fit(tmp_path / "x.parquet", "Label")
    FRAME[["label"]].to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(ValueError, match="has no column besides that of the labels"):
        make().fit(tmp_path / "x.csv", "label")
    with pytest.raises(ValueError, match="column 'label' is not numeric.* y='name'"):
        make(kernel=kernels.RBF(1.0)).fit(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="the name of a column is for rows with named columns"):
        make().fit(npy(tmp_path), "label")
    with pytest.raises(ValueError, match=r"y must have shape \(320,\), .* got \(319,\)"):
        make().fit(npy(tmp_path), Y[1:])
    with pytest.raises(TypeError, match="X must be a dask array"):
        make().fit(da.from_array(X[0], chunks=2))
    frame, fit = dd.from_pandas(FRAME, npartitions=2), make().fit(X, FRAME["label"])
    for odd in (frame["a"], dask.delayed(X), da.from_array(X + 1j)):
        with pytest.raises(TypeError, match="X must be a dask array .* or a dask data frame"):
            make().fit(odd)
        with pytest.raises(TypeError, match="X must be a dask array .* or a dask data frame"):
            fit.predict(odd)
    wide = make(kernel=kernels.RBF(1.0)).fit(X, FRAME["label"])
    with pytest.raises(ValueError, match="X has 3 features, but BDD is expecting 4"):
        wide.predict(X[:, :3])
    with pytest.raises(ValueError, match="X has 3 features, but BDD is expecting 4"):
        wide.predict(da.from_array(X[:, :3], chunks=90)).compute()
    with pytest.raises(ValueError, match="could not convert string to float: 'a'"):
        make().fit(np.concatenate([X.astype(object), [["a", 1, 1, 1]]]))


# --- dask


@pytest.mark.parametrize("method", ["predict", "score_samples", "probability_normal"])
def test_scores_of_dask_are_lazy(expected, method):
    lazy = getattr(expected, method)(da.from_array(X, chunks=(70, 3)))
    assert isinstance(lazy, da.Array) and lazy.shape == (320,)
    np.testing.assert_allclose(lazy.compute(), getattr(expected, method)(X), rtol=1e-12)


def test_the_decision_of_dask_is_refused(expected):
    with pytest.raises(TypeError, match="decision computes .*; use probability_normal, .* lazy"):
        expected.decision(da.from_array(X, chunks=(70, 3)))


def test_scores_of_a_dask_frame():
    est = make().fit(FRAME[NAMES], FRAME["label"])
    frame = dd.from_pandas(FRAME[NAMES], npartitions=4)
    lazy = est.probability_normal(frame[frame.a > 0])
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(
        lazy.compute(), est.probability_normal(FRAME[NAMES][FRAME.a > 0]), rtol=1e-12
    )
    turned = est.probability_normal(frame[["a", "c", "b", "d"]]).compute()
    np.testing.assert_array_equal(turned, est.probability_normal(FRAME[NAMES]))
    texts = FRAME[NAMES].assign(a=FRAME["a"].astype(str))
    with pytest.raises(ValueError, match="column 'a' is text that has numbers or dates"):
        make().fit(dd.from_pandas(texts, npartitions=2), FRAME["label"])


def test_a_missing_value_is_found_in_its_block(expected):
    bad = np.where(np.arange(320)[:, None] == 311, np.nan, X)
    text = r"in block 4 of X \(row 280 of X and on\), whose rows are counted from 0: .*X\[31, 0\]"
    with pytest.raises(ValueError, match=text):
        expected.predict(da.from_array(bad, chunks=70)).compute()
    unknown = da.from_array(bad, chunks=70)
    unknown = unknown[~(unknown[:, 0] > np.inf)]
    with pytest.raises(ValueError, match=r"in block 4 of X, whose rows are .*X\[31, 0\]"):
        expected.predict(unknown).compute()
    frame = dd.from_pandas(pd.DataFrame(bad, columns=NAMES), npartitions=4)
    est = make().fit(FRAME[NAMES], FRAME["label"])
    with pytest.raises(ValueError, match=r"partition of X from index 240 on, .*X\[71, 0\]"):
        est.predict(frame).compute()


@pytest.mark.parametrize("kept", [5, 1000], ids=["in the sums", "in the sample"])
def test_a_block_shorter_than_declared(monkeypatch, kept):
    monkeypatch.setattr("bsvdd.estimators.training.KEPT_ROWS", kept)
    short = da.from_delayed(dask.delayed(X[:65]), (70, 4), float)
    data = da.concatenate([da.from_array(X[:70]), short, da.from_array(X[:70])])
    text = "block of X that starts with row 70 has 65 rows, but its chunk size is 70; give X its"
    with pytest.raises(ValueError, match=text):
        make(dictionary=4).fit(data)


# --- files and frames with the labels are scored as they are


@pytest.mark.parametrize("kind", ["csv", "parquet", "dask"])
def test_the_column_of_the_labels_is_left_out(expected, tmp_path, kind):
    table = FRAME[["a", "label", "b", "c", "d"]]
    if kind == "dask":
        data = dd.from_pandas(table, npartitions=5)
    else:
        data = tmp_path / f"x.{kind}"
        getattr(table, f"to_{kind}")(data, index=False)
    labels = expected.predict(X)
    est = make().fit(data, "label")
    left_out = np.where(est.training_decision()["normal"], 1, -1)
    np.testing.assert_array_equal(np.asarray(make().fit_predict(data, "label")), left_out)
    est.save(tmp_path / "fit.nc")
    loaded = bsvdd.load(tmp_path / "fit.nc")
    other = loaded.with_prior(priors.Flat(0.5)).with_prior(loaded.prior)
    for fit in (est, loaded, other, est.with_cutoff(est.cutoff)):
        for rows in (data, table):
            np.testing.assert_array_equal(np.asarray(fit.predict(rows)), labels)
    d = est.distance(data if kind != "dask" else table)
    np.testing.assert_allclose(d, expected.distance(X), rtol=1e-8)
    # another column that was not there is an error still
    with pytest.raises(ValueError, match="Feature names unseen at fit time"):
        est.predict(table.assign(other=1.0))


@pytest.mark.filterwarnings("ignore:X has feature names, but BDD was fitted without")
@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_scores_of_a_file(expected, tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    bad = np.where(np.arange(320)[:, None] == 311, [0, 0, np.nan, 0], X)
    for rows in (X, X[:1], bad):
        frame = pd.DataFrame(rows, columns=NAMES)
        np.save(path, rows) if kind == "npy" else getattr(frame, f"to_{kind}")(path, index=False)
        if rows is bad:
            break
        for method in ("predict", "score_samples", "probability_normal", "distance"):
            found = getattr(expected, method)(str(path))
            np.testing.assert_allclose(found, getattr(expected, method)(rows), rtol=1e-12)
        pd.testing.assert_frame_equal(expected.decision(path), expected.decision(rows))
    with pytest.raises(ValueError, match=r"X\[311, 2\] is nan \(1 such rows\); drop or impute"):
        expected.predict(path)
    if kind != "npy":
        getattr(pd.DataFrame(X[:0], columns=NAMES), f"to_{kind}")(path, index=False)
        for method in ("predict", "decision"):
            with pytest.raises(ValueError, match=rf"x\.{kind} has no rows"):
                getattr(expected, method)(path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        expected.predict(tmp_path / "other.csv")


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_cluster_gives_the_same(expected, client):
    address = client.scheduler.address
    assert address.startswith("tcp://") and len(client.scheduler_info()["workers"]) == 2
    same(
        make(minor_label=None).fit(da.from_array(X, chunks=70), da.from_array(Y, chunks=70)),
        expected,
    )
    frame = dd.from_pandas(FRAME, npartitions=5)
    est = make().fit(frame, "label")
    same_ = est.probability_normal(frame[NAMES]).compute()
    np.testing.assert_allclose(same_, est.probability_normal(FRAME[NAMES]), rtol=1e-12)
    bad = da.from_array(np.where(np.arange(320)[:, None] == 311, np.nan, X), chunks=70)
    with pytest.raises(ValueError, match=r"X\[311, 0\] is nan"):
        make(dictionary=3).fit(bad)


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
    assert rows == 1_500_000
    assert more < 100 * 1024, f"{more / 1024:.0f} MB more for a file of 240 MB"
