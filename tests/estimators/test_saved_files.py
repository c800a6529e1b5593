"""Saved fits come back the same; a file that was damaged or made to do harm is refused."""

import contextlib
import copy
import errno
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bsvdd.estimators.atomic import atomic
from bsvdd.estimators.loading import UnreadableFileError
from bsvdd.estimators.registry import REGISTRY
from bsvdd.estimators.saved_file import _digest
from safetensors import numpy as safetensors

import bsvdd
from bsvdd import BDD, BSVDD, LSSVM, OCSVM, SVDD, Cutoff, cutoffs, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


def contents(path):
    """Return the header and the tensors of a file."""
    content = path.read_bytes()
    start = content[8 : 8 + int.from_bytes(content[:8], "little")]
    return json.loads(start)["__metadata__"]["bsvdd"], safetensors.load(content)


def assert_same_files(*paths):
    """Check that nothing more was lost, bit for bit."""
    (header, ours), (other, theirs) = map(contents, paths)
    assert header == other and set(ours) == set(theirs)
    for name, values in ours.items():
        if name != "sha256":
            np.testing.assert_array_equal(values, theirs[name])


def saved_and_loaded(est, folder, functions=None):
    est.save(folder / "fit.nc")
    assert [p.name for p in folder.iterdir()] == ["fit.nc"]
    return bsvdd.load(folder / "fit.nc", functions)


# what comes back


F1 = cutoffs.Best("f1")
NEIGHBORS = {"neighbors": 2}  # of 6 minority rows


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, NEIGHBORS if "D" in name[:3] and "SVM" in name else {}) for name in REGISTRY),
        *(("BSVDD", {"sampler": s}) for s in ("nuts", "metropolis")),
        ("BSVDD", {"dictionary": 9, "draws": np.int64(50), "chains": 1}),
        ("BDD", {"simplex": True}),
        ("BDD", {"prior": priors.Flat()}),
        ("BDD", {"dictionary": 9}),
        ("BDD", {"dictionary": np.linspace(0.0, 1.0, 27).reshape(9, 3)}),
        ("BDD", {"kernel": kernels.RBF("median"), "cutoff": 0.8}),
        ("BDD", {"kernel": kernels.Standardized(kernels.Laplacian(2.0)), "cutoff": F1}),
        ("BDD", {"kernel": kernels.Linear(), "prior": priors.Flat(0.3)}),
        ("BDD", {"kernel": kernels.Polynomial(3, 0.2, 0.5), "dictionary": None}),
        ("BDD", {"cutoff": Cutoff(cutoffs.Cost(4.0), cv="train", level=0.2)}),
        ("BDD", {"minor_label": ["b", "c"], "random_state": None, "likelihood_scale": 2.0}),
    ],
    ids=str,
)
def test_a_fit_comes_back(table, new_rows, tmp_path, name, changes):
    X, y = table
    if "minor_label" in changes:
        y = np.array(["a", "b", "c"])[y * (1 + np.arange(30) % 2)]
    X = pd.DataFrame(X, [f"row {i}" for i in range(30)], ["ä", "b", "c"])
    Z = pd.DataFrame(new_rows, columns=X.columns)
    record, few = REGISTRY[name], {"draws": 60, "tune": 60, "chains": 2}
    few = {"kernel": kernels.RBF(1.5), **(few if record.bayesian else {})}
    est = record.estimator()(**few | changes).fit(X, y)
    new = saved_and_loaded(est, tmp_path)
    for parameter, value in est.get_params().items():
        found = new.get_params()[parameter]
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found, value)
        else:
            assert found == (tuple(value) if isinstance(value, list) else value)
    for group, values in est.idata_.children.items():  # draws are in single precision
        xr.testing.assert_allclose(
            new.idata_[group].to_dataset(), values.to_dataset(), rtol=1e-4, atol=1e-4
        )
        assert set(new.idata_[group].attrs) == set(values.attrs)
    # whatever is said of the fit is said of the loaded one
    public = {a for a in dir(type(est)) if a.endswith("_") and not a.startswith("_")}
    for attribute in public - {"gram_", "model_", "idata_", "tail_model_"}:
        ours, theirs = (getattr(e, attribute, None) for e in (new, est))
        is_numbers = isinstance(theirs, np.ndarray | float) and np.asarray(theirs).dtype.kind == "f"
        (partial(np.testing.assert_allclose, rtol=1e-4) if is_numbers else np.array_equal)(
            ours, theirs
        )
    assert new.labels_ == est.labels_
    if hasattr(est, "distance"):
        pd.testing.assert_frame_equal(*(bsvdd.explain(e, Z[:2]).rows for e in (new, est)))
    asks = [lambda e: e.predict(Z), lambda e: bsvdd.p_value(e, Z)]
    if "sampler" not in changes:  # ten fits of some seconds, which the default sampler makes too
        asks += [
            lambda e: bsvdd.p_value(e, Z, "split"),
            lambda e: e.with_prior(priors.Flat(0.5)).distance(Z) if record.bayesian else 0,
        ]
        policy = Cutoff(F1, cv=3, level=0.7)
        found = [e.with_cutoff(policy).cutoff_ for e in (new, est)]
        assert found[0] == pytest.approx(found[1], rel=1e-4)
    for ask in asks:
        np.testing.assert_array_equal(ask(new), ask(est))
    np.testing.assert_array_equal(new.predict(Z[["b", "ä", "c"]]), new.predict(Z))
    new.save(tmp_path / "again.nc")
    assert_same_files(tmp_path / "again.nc", tmp_path / "fit.nc")


def test_a_fit_of_500_rows_and_5_columns_takes_5_megabytes(tmp_path):
    X = np.random.default_rng(2).normal(size=(500, 5))
    for est in (BSVDD(), BDD()):
        est.fit(X).save(tmp_path / "fit.nc")
        assert (tmp_path / "fit.nc").stat().st_size < 5e6


@pytest.mark.parametrize("where", ["/dev/null", "pipe", "folder"])
def test_a_device_a_pipe_or_a_folder_is_never_replaced_or_read(fitted, tmp_path, where):
    path = tmp_path / where
    if where != "/dev/null":
        (os.mkfifo if where == "pipe" else os.mkdir)(path)
    kind = stat.S_IFMT(path.stat().st_mode)
    with pytest.raises(OSError, match="is no file, but a folder, device or pipe; name another"):
        fitted("SVDD").save(path)
    assert stat.S_IFMT(path.stat().st_mode) == kind
    with pytest.raises(UnreadableFileError, match="because it is not a file"):
        bsvdd.load(path)


def test_points_and_kernel_matrices_come_back(make, table, new_rows, tmp_path):
    X, y = table
    points = make("BDD", dictionary=new_rows[:9]).fit(X, y)
    new = saved_and_loaded(points, tmp_path)
    np.testing.assert_array_equal(new.dictionary, new_rows[:9])
    np.testing.assert_array_equal(new.predict(X), points.predict(X))
    kernel = kernels.RBF(1.5)
    given = make("SVDD", kernel=kernels.Precomputed(diagonal=1.0)).fit(kernel(X), y)
    new, k = saved_and_loaded(given, tmp_path), kernel(new_rows, X)
    np.testing.assert_array_equal(new.score_samples(k), given.score_samples(k))


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        lambda w: np.repeat(w, 2, axis=-1)[..., ::2],
        lambda w: w[:, ::-1, ::-1],
        lambda w: np.broadcast_to(w[:1, :1], w.shape),
        lambda w: w.astype(">f8"),
    ],
    ids=["Fortran", "strided", "reversed", "broadcast", "big endian"],
)
def test_any_order_in_memory_is_written_right(fitted, tmp_path, layout):
    est = copy.copy(fitted("BDD"))
    w, more = layout(est.fit_.learned.draws.w), layout(est.fit_.learned.draws.w + 1.0)
    variables = {"w": w, "__metadata__": more}  # a name with a meaning to safetensors
    draws = replace(est.fit_.learned.draws, variables=variables)
    est.fit_ = replace(est.fit_, learned=est.fit_.learner.learned(draws, est.fit_.data))
    new = saved_and_loaded(est, tmp_path).fit_.learned.draws.variables
    np.testing.assert_array_equal(new["w"], w.astype(np.float32))
    np.testing.assert_array_equal(new["__metadata__"], more.astype(np.float32))


def cauchy(A, B):
    return 1.0 / (1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=-1))


def student(gram, name, dims):
    import pymc as pm

    return pm.StudentT(name, 3.0, dims=dims)


@pytest.mark.parametrize(
    ("kernel", "hole"),
    [
        (cauchy, "kernel.function"),
        (kernels.Standardized(kernels.Custom(cauchy)), "kernel.kernel.function"),
    ],
    ids=["function", "standardized custom"],
)
def test_functions_are_given_again_by_their_place(make, table, new_rows, tmp_path, kernel, hole):
    est = make("BSVDD", prior=student, kernel=kernel, cutoff=1.0, draws=4, tune=4).fit(*table)
    path, given = tmp_path / "fit.nc", {"prior": student, hole: cauchy}
    est.save(path)
    needs = rf"fit\.nc was saved with {re.escape(hole)}, prior, which are not stored: .*got "
    for wrong, got in (
        (None, "none$"),
        ({"prior": student}, r"\['prior'\]$"),
        ({**given, "cutoff": 1.0}, r".*'cutoff'.*$"),
    ):
        with pytest.raises(ValueError, match=needs + got) as caught:
            bsvdd.load(path, wrong)
        assert caught.type is ValueError  # the file is whole
    for _ in range(2):  # and it can be saved again
        new = bsvdd.load(path, given)
        assert (new.prior, new.kernel_, new.cutoff_) == (student, est.kernel_, est.cutoff_)
        scores = est.score_samples(new_rows)
        np.testing.assert_allclose(new.score_samples(new_rows), scores, rtol=1e-5, atol=1e-6)
        new.save(path)


def test_what_cannot_be_saved_or_loaded(make, fitted, table, tmp_path):
    X, y = table
    path, moving = tmp_path / "fit.nc", make("SVDD", random_state=np.random.RandomState(0))
    long_names = pd.DataFrame(X, ["x" * 4_000_000 + str(i) for i in range(30)])
    for est, error, message in (
        (make("SVDD"), ValueError, "not fitted"),
        (moving.fit(X, y), TypeError, "random_state=.* cannot be saved; expected a number"),
        (make("SVDD").fit(long_names, y), ValueError, "names of rows .* take 120 MB, which is too"),
    ):
        with pytest.raises(error, match=message):
            est.save(path)
        assert not list(tmp_path.iterdir())
    fitted("SVDD").save(path)
    with pytest.raises(ValueError, match=r"with no functions, which .* got \['prior'\]"):
        bsvdd.load(path, {"prior": priors.Flat()})
    with pytest.raises(FileNotFoundError):
        bsvdd.load("https://example.org/fit.nc")


def test_arviz_writes_and_reads_the_tree(fitted, tmp_path):
    """As docs/format.md says."""
    idata = fitted("BSVDD").idata_
    idata.to_netcdf(tmp_path / "idata.nc")
    with xr.open_datatree(tmp_path / "idata.nc") as read:
        xr.testing.assert_equal(read.load(), idata)


# damaged files


@pytest.fixture(scope="module")
def originals(fitted, tmp_path_factory):
    """Saved fits of several shapes; "small" has 2 chains, 3 draws, 4 points, 5 + 1 rows."""
    folder = tmp_path_factory.mktemp("originals")
    rows = np.random.default_rng(5).normal(size=(6, 2))
    y, kernel = np.array([0, 0, 0, 0, 2, 1]), kernels.RBF(1.0)
    few = {"kernel": kernel, "cutoff": 1.0, "draws": 3, "chains": 2}
    fits = {
        "SVDD": fitted("SVDD"),
        "small": BDD(**few, dictionary=4).fit(rows, np.arange(6) == 5),
        "chains": BSVDD(**few, tune=4, sampler="hmc").fit(rows),
        "plane": OCSVM(kernel=kernel, cutoff=1.0).fit(rows),
        "kinds": LSSVM(kernel=kernel, cutoff=0.0, minor_label=[1, 2]).fit(rows, y),
        "matrix": SVDD(kernel=kernels.Precomputed(1.0), cutoff=1.0).fit(kernel(rows)),
    }
    for name, est in fits.items():
        est.save(folder / name)
        bsvdd.load(folder / name)
    return {name: (folder / name).read_bytes() for name in fits}


@pytest.fixture
def put(originals, tmp_path):
    """Return a function that writes the saved fit of a name, by default SVDD."""

    def put(name="SVDD"):
        (tmp_path / "fit.nc").write_bytes(originals[name])
        return tmp_path / "fit.nc"

    return put


@pytest.fixture
def path(put):
    return put()


def of_header(header, data=b"\0" * 8):
    """Return the bytes of a safetensors file with any header."""
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype="F64", shape=(1,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


X = json.dumps({"x": tensor()})[1:-1]
NO_FIT, OTHER_BYTES = "is no saved bsvdd estimator, or it is cut off or damaged; use", "SHA-256"
BYTES = {
    "empty": (b"", NO_FIT),
    "CSV": (b"a,b\n1,2\n", NO_FIT),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(500), NO_FIT),
    "cut": (lambda b: b[:-1], NO_FIT),
    "cut in the header": (lambda b: b[:300], NO_FIT),
    "appended": (lambda b: b + b"x", NO_FIT),
    "another value": (lambda b: b[:-20] + b"!" + b[-19:], OTHER_BYTES),
    "another text": (lambda b: b.replace(b"bandwidth", b"bandwodth"), OTHER_BYTES),
    "another format": (lambda b: b.replace(b'format\\": 1', b'format\\": 3'), "has format 3, and "),
    "a header of 2^60 bytes": (lambda b: (2**60).to_bytes(8, "little") + b[8:], NO_FIT),
    "no header of bsvdd": (of_header({"x": tensor()}), NO_FIT),
    "a list": (of_header([]), NO_FIT),
    "deep nesting": (of_header("[" * 10**5 + "]" * 10**5), NO_FIT),
    "a huge shape": (of_header({"x": tensor(shape=(2**40, 2**40))}), NO_FIT),
    "a shape that lies": (of_header({"x": tensor(shape=(2,))}), NO_FIT),
    "places beyond the end": (of_header({"x": tensor(shape=(9,), offsets=(0, 72))}), NO_FIT),
    "places that overlap": (of_header({"x": tensor(), "y": tensor()}), NO_FIT),
    "a name twice": (of_header(f"{{{X}, {X}}}"), "no saved.*ValueError: a name occurs twice"),
    "__metadata__": (of_header({"__metadata__": tensor()}), NO_FIT),
    **{
        of: (of_header({"x": tensor(of, offsets=(0, size), shape=(1,))}, bytes(size)), NO_FIT)
        for of, size in (("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1), ("C64", 8), ("object", 8))
    },
}


@pytest.mark.parametrize(("change", "message"), BYTES.values(), ids=BYTES)
def test_damaged_files(path, change, message):
    path.write_bytes(change(path.read_bytes()) if callable(change) else change)
    with pytest.raises(UnreadableFileError, match=rf"fit\.nc cannot be read: it .*{message}"):
        bsvdd.load(path)


def test_changed_bytes_are_refused(path):
    whole, rng = path.read_bytes(), np.random.default_rng(300)
    for _ in range(300):
        i, n = int(rng.integers(0, len(whole))), int(rng.integers(1, 300))
        flipped = bytes([whole[i] ^ 1 << int(rng.integers(0, 8))])
        at = [b"", flipped + whole[i + 1 : i + n], bytes(n), rng.bytes(n)][rng.integers(0, 4)]
        path.write_bytes(data := whole[:i] + at + whole[i + n :])
        if data != whole:
            with pytest.raises(UnreadableFileError, match=r"fit\.nc cannot be read: it "):
                bsvdd.load(path)


# files with a right checksum, made to do harm: a checksum is no signature


def crafted(path, change_header=None, **changes):
    """Change header and tensors of a saved file; a tensor of None goes."""
    text, tensors = contents(path)
    if change_header is not None:
        changed = change_header(json.loads(text))
        text = changed if isinstance(changed, str) else json.dumps(changed)
    for name, change in changes.items():
        tensors[name] = change(tensors[name].copy()) if callable(change) else change
    tensors = {n: np.asarray(v, order="C") for n, v in tensors.items() if v is not None}
    tensors["sha256"] = _digest(text, tensors)
    path.write_bytes(safetensors.save(tensors, {"bsvdd": text}))


def first(value, at=0):
    """Return a function that sets one value of an array."""
    return lambda x: np.where(np.arange(x.size).reshape(x.shape) == at % x.size, value, x)


NAN = float("nan")
W, FINITE = "posterior/w", "expected finite values from"
WRONG = [
    ("SVDD", {W: lambda w: w.astype(int)}, r"posterior/w: expected .* kind f and .* got int64"),
    ("SVDD", {W: lambda w: w[..., 1:]}, r"expected draws of 24 weights, got \(1, 1, 23\)"),
    ("SVDD", {W: lambda w: w[0]}, r"shape \(chains, draws, M\), got float64 of shape \(1, 24\)"),
    ("SVDD", {W: lambda w: w[:0]}, r"expected draws of 24 weights, got \(0, 1, 24\)"),
    ("SVDD", {W: first(np.nan)}, f"posterior/w: {FINITE} -inf to below inf, got nan"),
    ("SVDD", {W: None}, "posterior/w: expected draws with the report"),
    ("SVDD", {"more": np.ones(3)}, "more is unknown"),
    ("SVDD", {"posterior": np.ones(3)}, "posterior is unknown"),
    ("SVDD", {"point_of_row": np.zeros(30, int)}, "point_of_row: expected where points are"),
    ("small", {"rows": np.ones((2, 3, 4))}, r"rows: expected .* \(n, p\), got"),
    ("small", {"rows": first(np.nan)}, f"rows: {FINITE}"),
    ("small", {"kind": np.ones(6, int)}, "expected at least one majority row"),
    ("small", {"kind": first(2)}, f"kind: {FINITE} 0 to below 2, got 2"),
    ("small", {"point_of_row": first(-2)}, f"{FINITE} -1 to below 6, got -2"),
    ("small", {"point_of_row": first(6)}, f"{FINITE} -1 to below 6, got 6"),
    ("small", {"point_of_row": first(-1)}, "point_of_row: expected the point of each desc"),
    ("small", {"point_of_row": np.zeros(4, int)}, r"point_of_row: .* \(6\)"),
    (
        "small",
        {"point_of_row": np.zeros(6, int)},
        "there must be 4 points as r has 4 values, got 1",
    ),
    ("small", {"point_of_row": None}, "there must be 4 points as r has 4 values, got 5"),
    ("small", {"boundary/least": None}, "missing 1 required .* 'least'"),
    ("small", {"boundary/threshold": np.ones(5)}, r"boundary/threshold: .* \(6\), got"),
    ("small", {"prior/w": np.ones((1, 3, 4))}, "prior/w is unknown"),
    ("small", {"log_prior/w": np.ones((2, 4))}, r"log_prior/w: .* \(2, 3\)"),
    ("chains", {"sample_stats/energy": np.ones(6)}, r"energy: .* \(2, 3\)"),
    ("chains", {"posterior/more": np.ones((2, 4))}, r"more: .* \(2, 3, \.\.\.\)"),
    ("kinds", {"kind": np.array([0, 0, 0, 0, 3, 1])}, "to below 3, got 3"),
    *(("matrix", {"rows": first(v, -1)}, "a kernel of 6 columns") for v in (10**6, -1, 0.5)),
]


@pytest.mark.parametrize(("name", "changes", "message"), WRONG, ids=[row[2][:30] for row in WRONG])
def test_wrong_values_are_named(put, name, changes, message):
    path = put(name)
    crafted(path, **changes)
    with pytest.raises(UnreadableFileError, match=rf"fit\.nc cannot be read: .*{message}"):
        bsvdd.load(path)


def changed(*keys, value):
    """Return a function that sets ``header[key][key...]``; ... removes it."""

    def change(header):
        inner = header
        for key in keys[:-1]:
            inner = inner[key]
        if value is ...:
            del inner[keys[-1]]
        else:
            inner[keys[-1]] = value
        return header

    return change


KERNELS = '{"type": "Standardized", "fields": {"kernel": ' * 5000 + "0" + "}}" * 5000
VALUES = {  # for each place in the header of SVDD, or of "small", wrong values
    ("estimator",): (..., ["SVDD"], "os.system", "Exec"),
    ("parameters",): (..., [1]),
    ("parameters", "unknown"): (1,),
    ("parameters", "C"): (..., "x", [1.0], {"items": [1]}, {"type": ["RBF"], "fields": {}}),
    ("parameters", "outlier_fraction"): (-1, {"type": "array", "items": [[1], [1, 2]]}),
    ("parameters", "cutoff"): ({"type": "array", "items": [1.0]}, NAN),
    ("parameters", "random_state"): ("x",),
    ("kernel",): (..., "RBF", [1], None, {"type": "RBF"}, {"type": "function", "name": [1]}),
    ("kernel", "type"): ("os.system", "Flat", "Exec"),
    ("kernel", "fields", "x"): (1,),
    ("kernel", "fields", "bandwidth"): ("x", "mean", [1]),
    ("features",): (..., {"a": 1}, [1, 2, 3], ["a"]),
    ("seed",): (..., -1, True, 2**80, "x", 1.5),
    ("label",): (1,),
    ("labels",): (None, [[1]], [{"a": 1}]),
    ("kind_labels",): (7, [None]),
    ("names",): ([1], [0.5] * 30, [[1]] * 30, "x"),
    ("report",): ([], {}, {"sampler": ["x"]}, {"sampler": "x", "unknown": 1}),
    ("solution",): ([1], {"offset": NAN}, {"C": "x"}),
    ("dims",): ({"w": 1}, {"w": ["point", "more"]}),
    ("coords",): ({"point": [1, 2]}, {"point": 1}),
    ("diagnostics",): ({"ess": "x"}, {"ess": None}),
    ("distance",): (NAN, float("inf"), None, "1", True),
    ("likelihood_scale",): (-1.0, NAN, float("inf"), "x"),
    ("more",): (1,),
    ("failed",): (None, {"view": 1}),
    ("small", "likelihood_scale"): (-1.0, None, ...),
    ("small", "all_rows"): (1, ...),
}
HEADERS = {
    "deep nesting": lambda h: "[" * 100_000 + "]" * 100_000,
    "kernels of kernels": lambda h: json.dumps({**h, "kernel": "@"}).replace('"@"', KERNELS),
    "10,000 digits": lambda h: json.dumps({**h, "seed": "@"}).replace('"@"', "9" * 10_000),
    "a key twice": lambda h: json.dumps(h).replace('"seed"', '"seed": 1, "seed"'),
    **{f"the text {t}": lambda h, t=t: t for t in ("[]", "null", '"x"', '{"format"', "exit()")},
    **{f"{keys} {v!r:.40}": changed(*keys[keys[0] == "small" :], value=v)
       for keys, values in VALUES.items() for v in values},
}  # fmt: skip


@pytest.mark.parametrize(("name", "change"), HEADERS.items(), ids=HEADERS)
def test_headers_that_are_never_saved(put, name, change):
    path = put("small" if name.startswith("('small") else "SVDD")
    crafted(path, change)
    with pytest.raises(UnreadableFileError, match=r"fit\.nc cannot be read: \S"):
        bsvdd.load(path)


LONG = {
    "name": changed("names", value=[*range(29), "x" * 2_000_000]),
    "label": changed("label", value="x" * 2_000_000),
    "feature": changed("features", value=["a", "b", "x" * 2_000_000]),
    "names": changed("names", value=["a"] * 400_000),
    "labels": changed("labels", value=list(range(250_000))),
    "array": changed("parameters", "C", value={"type": "array", "items": [1] * 600_000}),
    "coords": changed("coords", "point", value=[1] * 600_000),
    "dims": changed("dims", value={str(i): [] for i in range(150_000)}),
}


@pytest.mark.parametrize("change", LONG.values(), ids=LONG)
def test_a_forged_file_takes_three_times_its_size(path, monkeypatch, change):
    monkeypatch.setattr("bsvdd.estimators.saved_file.ROOM", 1e6)  # the file has 2 MB
    crafted(path, change)

    def load():
        with contextlib.suppress(UnreadableFileError):
            bsvdd.load(path)

    assert peak(load) < 3 * path.stat().st_size + 1e6


def peak(call):
    """Return the bytes that a call takes at most."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_long_name_of_a_row_takes_its_own_length(tmp_path):
    names = [f"row {i}" for i in range(400)]
    names[7] = "x" * 200_000  # 320 MB if all names had its length
    X = pd.DataFrame(np.random.default_rng(3).normal(size=(400, 2)), names, ["a", "b"])

    def ask():
        est = SVDD(cutoff=1.0).fit(X)
        new = saved_and_loaded(est, tmp_path)
        assert new.decision().index[7] == names[7] == bsvdd.explain(new, rows=[7]).rows.index[0]
        assert new.idata_["constant_data"]["name"].values[7] == names[7]

    assert peak(ask) < 3e7


def test_more_points_than_are_accepted(put, monkeypatch):
    monkeypatch.setattr("bsvdd.estimators.training.MAX_POINTS", 1)
    with pytest.raises(UnreadableFileError, match="24 rows needs"):
        bsvdd.load(put("SVDD"))


# a save is all or nothing


@pytest.mark.parametrize("where", [(os, "replace"), (safetensors, "save")])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(fitted, monkeypatch, path, where):
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(*where, fail)
    with pytest.raises(KeyboardInterrupt):
        fitted("SVDD").save(path)
    assert [p.name for p in path.parent.iterdir()] == ["fit.nc"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_named(tmp_path, code):
    path = tmp_path / "x.nc"
    message = "nothing was written, and an existing file is unchanged: free some space and try"
    with pytest.raises(OSError, match=message) as raised, atomic(path):
        raise OSError(code, "full")
    assert (raised.value.errno, raised.value.filename) == (code, str(path))
    assert os.strerror(code) in str(raised.value) and not os.listdir(tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_and_links_stay(fitted, tmp_path):
    path, plain, link = (tmp_path / name for name in ("fit.nc", "plain", "latest.nc"))
    before = os.umask(0o022)
    try:
        plain.write_text("")
        fitted("SVDD").save(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode == plain.stat().st_mode
    path.chmod(0o600)
    link.symlink_to(path)
    fitted("SVDD").save(link)
    assert link.is_symlink() and not list(tmp_path.glob(".*.part"))
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_a_killed_save_left_goes_after_a_day(fitted, tmp_path):
    path, removed = tmp_path / "fit[1].nc", tmp_path / f".fit[1].nc.{'0a' * 16}.part"
    names = f".fit[1].nc.{'0b' * 16}.part", f".other.nc.{'0a' * 16}.part", ".fit[1].nc.notes.part"
    for i, left in enumerate([tmp_path / name for name in names] + [removed]):
        left.write_bytes(b"half")
        os.utime(left, (time.time() - (25 if i else 23) * 3600,) * 2)
    fitted("SVDD").save(path)
    assert {p.name for p in tmp_path.iterdir()} == {path.name, *names}


@pytest.mark.parametrize("name", ["n" * 240, "ü" * 120], ids=["letters", "bytes"])
def test_a_name_as_long_as_a_file_system_takes(path, tmp_path, name):
    left = tmp_path / f".{name.encode()[:200].decode()}.{'0a' * 16}.part"
    left.touch()
    os.utime(left, (0, 0))
    with atomic(tmp_path / name) as temporary:
        temporary.write_bytes(b"whole")
    assert {p.name for p in tmp_path.iterdir()} == {path.name, name}


KILLED = """
import os, signal, sys
from pathlib import Path
from bsvdd.estimators.atomic import atomic
with atomic(Path(sys.argv[1])) as temporary:
    temporary.write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_killed_save_leaves_the_old_file(path):
    before = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=250)
    assert run.returncode == -signal.SIGKILL and path.read_bytes() == before
    assert len(list(path.parent.glob(".fit.nc.*.part"))) == 1
