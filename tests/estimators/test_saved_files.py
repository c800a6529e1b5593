"""Saved fits come back the same; a file that was damaged or made to do harm is refused."""

import errno
import json
import os
import re
import subprocess
import sys
import time

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bsvdd.estimators.storage.atomic import atomic
from bsvdd.estimators.storage.container import UnreadableFileError, inspect, seal

import bsvdd
from bsvdd import BDD, LSSVM, OCSVM, SVDD, Cutoff, Landmarks, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


def saved_and_loaded(est, folder, functions=None):
    est.save(folder / "fit.nc")
    assert [p.name for p in folder.iterdir()] == ["fit.nc"]
    return bsvdd.load(folder / "fit.nc", functions)


# what comes back


@pytest.mark.parametrize(
    "changes",
    [
        {"kernel": kernels.RBF("median"), "cutoff": 0.8},
        {"kernel": kernels.Standardized(kernels.Laplacian(2.0)), "cutoff": "f1"},
        {"kernel": kernels.Linear(), "prior": priors.Flat(0.3)},
        {"kernel": kernels.Polynomial(3, 0.2, 0.5), "draws": np.int64(50), "dictionary": None},
        {"prior": priors.RowSum(sd=0.4, exponent=0.5), "likelihood_scale": np.float32(2.0)},
        {"cutoff": Cutoff("cost", cv="train", level=0.2, miss_cost=4.0), "progressbar": False},
        {"minor_label": ["b", "c"], "random_state": None, "dictionary": Landmarks(9, "kmeans")},
    ],
    ids=repr,
)
def test_parameters_come_back(make, table, new_rows, tmp_path, changes):
    labels = np.array(["a", "b", "c"])[table[1] * (1 + np.arange(30) % 2)]
    y = labels if "minor_label" in changes else table[1]
    est = make("BDD", **changes).fit(table[0], y)
    new = saved_and_loaded(est, tmp_path)
    for name, value in est.get_params().items():
        found = new.get_params()[name]
        assert found == (tuple(value) if isinstance(value, list) else value)
    np.testing.assert_array_equal(
        new.probability_normal(new_rows), est.probability_normal(new_rows)
    )


def test_points_kernel_matrices_and_names_of_columns_come_back(make, table, new_rows, tmp_path):
    X, y = table
    points = make("BDD", dictionary=new_rows[:9]).fit(X, y)
    new = saved_and_loaded(points, tmp_path)
    np.testing.assert_array_equal(new.dictionary, new_rows[:9])
    np.testing.assert_array_equal(new.predict(X), points.predict(X))
    kernel = kernels.RBF(1.5)
    given = make("SVDD", kernel=kernels.Precomputed(diagonal=1.0)).fit(kernel(X), y)
    k = kernel(new_rows, X)
    np.testing.assert_array_equal(
        saved_and_loaded(given, tmp_path).score_samples(k), given.score_samples(k)
    )
    framed = make("SVDD").fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    new = saved_and_loaded(framed, tmp_path)
    np.testing.assert_array_equal(new.feature_names_in_, ["a", "b", "c"])
    with pytest.raises(ValueError, match="feature names"):
        new.predict(pd.DataFrame(new_rows, columns=["c", "b", "a"]))


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
    needs = rf"fit\.nc was saved with {re.escape(hole)}, prior, which are not stored: .*"
    for wrong, got in [
        (None, "none"),
        ({"prior": student}, r"\['prior'\]"),
        ({**given, "cutoff": 1.0}, r".*'cutoff'.*"),
    ]:
        with pytest.raises(ValueError, match=f"{needs}got {got}$") as caught:
            bsvdd.load(path, wrong)
        assert caught.type is ValueError  # the file is whole
    for _ in range(2):  # and it can be saved again
        new = bsvdd.load(path, given)
        assert (new.prior, new.kernel_, new.cutoff_) == (student, est.kernel_, est.cutoff_)
        np.testing.assert_array_equal(new.score_samples(new_rows), est.score_samples(new_rows))
        new.save(path)


def test_groups_of_the_users_own_come_back(make, table, tmp_path):
    est = make("SVDD").fit(*table)
    names = np.array(["ä", "bc", ""])
    est.idata_["notes"] = xr.Dataset(
        {"name": ("i", names), "object": ("i", names.astype(object)), "n": ("i", [1, 2, 3])},
        attrs={"by": "me", "dims": ["one", "two"], "size": 3},
    )
    for _ in range(2):
        est = saved_and_loaded(est, tmp_path)
        notes = est.idata_["notes"]
        assert notes["name"].values.tolist() == notes["object"].values.tolist() == names.tolist()
        assert notes["n"].values.tolist() == [1, 2, 3]
        assert (notes.attrs["by"], list(notes.attrs["dims"])) == ("me", ["one", "two"])


def test_what_cannot_be_saved_or_loaded(make, fitted, table, tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        make("SVDD").save(tmp_path / "fit.nc")
    est = make("SVDD", random_state=np.random.RandomState(0)).fit(*table)
    with pytest.raises(TypeError, match=r"random_state=.* cannot be saved; expected a number"):
        est.save(tmp_path / "fit.nc")
    est = make("SVDD").fit(*table)
    est.idata_["a/b"] = xr.Dataset({"x": ("i", [1.0])})
    with pytest.raises(ValueError, match="idata_ has content that .*/a/b.*; remove it from idata_"):
        est.save(tmp_path / "fit.nc")
    assert not list(tmp_path.iterdir())
    fitted("SVDD").save(tmp_path / "fit.nc")
    with pytest.raises(ValueError, match=r"with no functions, which .* got \['prior'\]"):
        bsvdd.load(tmp_path / "fit.nc", {"prior": priors.Flat()})


# the seal: a file of which a byte changed is not even given to HDF5


@pytest.fixture(scope="module")
def whole(fitted, tmp_path_factory):
    """The bytes of a saved file."""
    path = tmp_path_factory.mktemp("whole") / "fit.nc"
    fitted("SVDD").save(path)
    return path.read_bytes()


@pytest.fixture
def path(whole, tmp_path):
    path = tmp_path / "fit.nc"
    path.write_bytes(whole)
    return path


def mutated(whole, rng):
    """Return the bytes with one to three mutations: cut, flip, swap, overwrite, insert, append."""
    data = bytearray(whole)
    for _ in range(rng.integers(1, 4)):
        i, j = sorted(int(k) for k in rng.integers(0, max(2, len(data)), 2))
        n = int(rng.integers(1, 300))
        match rng.integers(0, 7):
            case 0:
                del data[i:]
            case 1 if data:
                data[min(i, len(data) - 1)] ^= 1 << int(rng.integers(0, 8))
            case 2:
                data[i : i + n], data[j : j + n] = data[j : j + n], data[i : i + n]
            case 3:
                data[i : i + n] = bytes(len(data[i : i + n]))
            case 4:
                data[i:i] = rng.bytes(n)
            case 5:
                data += rng.bytes(n)
            case _:
                del data[i : i + n]
    return bytes(data)


@pytest.mark.parametrize("count", [500, pytest.param(5000, marks=pytest.mark.slow)])
def test_mutations_are_refused_before_hdf5_reads_them(whole, path, monkeypatch, count):
    monkeypatch.setattr(h5py, "File", lambda *a, **k: pytest.fail("HDF5 was given the file"))
    rng, start = np.random.default_rng(count), time.perf_counter()
    for _ in range(count):
        data = mutated(whole, rng)
        if data == whole:
            continue
        path.write_bytes(data)
        with pytest.raises(UnreadableFileError, match=r"fit\.nc (is no saved|is damaged|has form)"):
            bsvdd.load(path)
    assert time.perf_counter() - start < 60


def test_each_flipped_bit_of_the_seal_is_refused(whole, path):
    for bit in range(8 * (len(whole) - 100), 8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(UnreadableFileError):
            bsvdd.load(path)


NO_SEAL = "is no saved bsvdd estimator: it does not end with the seal that save writes"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.replace(b"bsvdd format 2 ", b"bsvdd format 99 "), "has format 99, and this v"),
        (lambda b: b.replace(b" sha256 ", b" sha256 0"), NO_SEAL),
        (lambda b: b[:1000] + b"!" + b[1001:], r"is damaged: its SHA-256 is [0-9a-f]{12}\.\.\., b"),
        (lambda b: b[:-90], NO_SEAL),
        (lambda b: b[:-1], NO_SEAL),
        (lambda b: b + b"x", NO_SEAL),
        (lambda b: b[: len(b) // 3], NO_SEAL),
        (lambda b: b"", NO_SEAL),
        (lambda b: b"a,b\n1,2\n", NO_SEAL),
    ],
)
def test_files_without_a_right_seal(whole, path, change, message):
    path.write_bytes(change(whole))
    with pytest.raises(UnreadableFileError, match=rf"fit\.nc {message}"):
        bsvdd.load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(UnreadableFileError, match="is no saved bsvdd estimator: it is not a file"):
        bsvdd.load(tmp_path)
    for missing in (tmp_path / "no.nc", "https://example.org/fit.nc"):  # xarray would fetch it
        with pytest.raises(FileNotFoundError):
            bsvdd.load(missing)
    if hasattr(os, "mkfifo"):  # a pipe is not waited for
        os.mkfifo(tmp_path / "fit.nc")
        with pytest.raises(UnreadableFileError, match="it is not a file"):
            bsvdd.load(tmp_path / "fit.nc")


def test_other_programs_read_the_file(path):
    """The seal stands after the last byte of HDF5, which nobody reads."""
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        assert tree["posterior"]["w"].sizes["point"] == 24
    with h5py.File(path) as file:
        assert json.loads(file.attrs["bsvdd"])["estimator"] == "SVDD"


# files with a right seal, made to do harm


def crafted(path, change):
    """Change a saved file by h5py and seal it again, as anyone can."""
    with h5py.File(path, "r+") as file:
        change(file)
    seal(path)


def replaced(file, name, **how):
    del file[name]
    return file.create_dataset(name, **how)


def linked(name, link):
    def change(file):
        del file[name]
        file[name] = link

    return change


def virtual(file):
    layout = h5py.VirtualLayout(shape=(30, 3), dtype="f8")
    layout[:] = h5py.VirtualSource("secret.h5", "X", shape=(30, 3))
    del file["constant_data/X"]
    file["constant_data"].create_virtual_dataset("X", layout)


def huge_beyond_64_bits(file):
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_layout(h5py.h5d.CHUNKED)
    made.set_chunk((1, 1, 1))
    space = h5py.h5s.create_simple((2**40, 2**20, 2**10))
    del file["distance/d"]
    h5py.h5d.create(file["distance"].id, b"d", h5py.h5t.IEEE_F64LE, space, made)


def nested(file):
    group = file
    for _ in range(2000):
        group = group.create_group("g")


def added(name, **how):
    return lambda file: file["posterior"].create_dataset(name, **how)


def attribute(value, **how):
    return lambda file: file["posterior"].attrs.create("odd", value, **how)


TEXT = {"dtype": h5py.string_dtype()}
D, X_OF, ELSEWHERE = "distance/d", "constant_data/X", "is in chunks, compressed, or in another file"
NO_GROUP = "is a Group, expected a Dataset"
HARM = {
    "huge": (lambda f: replaced(f, D, shape=(10**6,) * 3, dtype="f8"), "make the content larger"),
    "huge beyond 64 bits": (huge_beyond_64_bits, ELSEWHERE),
    "bomb": (lambda f: replaced(f, D, data=np.zeros((1, 10**5, 9)), compression="gzip"), ELSEWHERE),
    "sparse": (
        lambda f: replaced(f, D, shape=(1, 10**6, 10**6), dtype="f8", chunks=(1, 99, 99)),
        ELSEWHERE,
    ),
    "external values": (
        lambda f: replaced(f, X_OF, shape=(30, 3), dtype="f8", external=[("secret.bin", 0, 720)]),
        ELSEWHERE,
    ),
    "virtual": (virtual, ELSEWHERE),
    "external link": (linked("posterior/w", h5py.ExternalLink("../../s.h5", "/w")), "'w', a Ext"),
    "external group": (linked("posterior", h5py.ExternalLink("/etc/passwd", "/")), "'posterior', "),
    "soft link": (linked("posterior/w", h5py.SoftLink("/constant_data/X")), "'w', a SoftLink to"),
    "cycle": (lambda f: f.__setitem__("again", f["/"]), "expected a Dataset: a file has groups"),
    "own parent": (lambda f: f.__setitem__("posterior/again", f["posterior"]), NO_GROUP),
    "nested": (nested, NO_GROUP),
    "many groups": (lambda f: [f.create_group(f"g{i}") for i in range(1200)], "/ has 12.. members"),
    "named type": (lambda f: f.__setitem__("posterior/t", np.dtype("f8")), "is a Datatype, expect"),
    "variable texts": (added("odd", data=["a"] * 10, **TEXT), "of type object, expected numbers"),
    "structures": (added("odd", data=np.zeros(3, [("a", "f8")])), "type .*, expected numbers or c"),
    "references": (lambda f: added("odd", data=[f.ref], dtype=h5py.ref_dtype)(f), "type object"),
    "texts": (attribute(["y"] * 1000, **TEXT), "attribute 'odd' of /posterior has 1000 values"),
    "structure": (
        attribute(np.zeros(1, [("a", "f8")])),
        "attribute 'odd' of /posterior is of type",
    ),
    "many numbers": (attribute(np.arange(1001.0)), "'odd' of /posterior has 1001 values"),
}


@pytest.mark.parametrize(("harm", "message"), HARM.values(), ids=HARM)
def test_harmful_files_are_refused_before_values_are_read(path, monkeypatch, harm, message):
    (path.parent / "secret.bin").write_bytes(bytes(720))
    crafted(path, harm)
    for owner, name in ((xr, "open_datatree"), (h5py.Dataset, "__getitem__")):
        monkeypatch.setattr(owner, name, lambda *a, **k: pytest.fail("values were read"))
    refused = rf"fit\.nc is refused, because bsvdd never saves such a file: .*{message}"
    with pytest.raises(UnreadableFileError, match=refused):
        bsvdd.load(path)


def test_one_text_that_is_read_many_times(tmp_path):
    """16 references to one text of 100 KB, in a file that is little larger."""
    n, path = 100_000, tmp_path / "texts.h5"
    with h5py.File(path, "w", libver="earliest") as file:  # whose headers have no checksum
        file.create_group("posterior").attrs.create("m", ["y" * n, *map(str, range(15))], **TEXT)
    data = path.read_bytes()
    at = data.index(n.to_bytes(4, "little"))  # a length of 4 bytes and a place of 12 bytes for each
    path.write_bytes(data[:at] + data[at : at + 16] * 16 + data[at + 256 :])
    with open(path, "rb") as file, pytest.raises(ValueError, match="'m' of .* longer than the fil"):
        inspect(file)


# files with a right seal and wrong values


@pytest.fixture(scope="module")
def originals(fitted, tmp_path_factory):
    """Saved fits of several shapes; "small" has 2 chains, 3 draws, 4 points, 5 + 1 rows."""
    folder, rows = (
        tmp_path_factory.mktemp("originals"),
        np.random.default_rng(5).normal(size=(6, 2)),
    )
    y, kernel = np.array([0, 0, 0, 0, 2, 1]), kernels.RBF(1.0)
    few = {"kernel": kernel, "cutoff": 1.0, "draws": 3, "chains": 2}
    small = BDD(**few, dictionary=4).fit(rows, np.arange(6) == 5)
    fits = {
        "SVDD": fitted("SVDD"),
        "small": small,
        "pruned": small.pruned(0.0),
        "all rows": BDD(**few).fit(rows, np.arange(6) == 5),
        "hyperplane": OCSVM(kernel=kernel, cutoff=1.0).fit(rows),
        "kinds": LSSVM(kernel=kernel, cutoff=0.0, minor_label=[1, 2]).fit(rows, y),
        "matrix": SVDD(kernel=kernels.Precomputed(1.0), cutoff=1.0).fit(kernel(rows)),
    }
    for name, est in fits.items():
        est.save(folder / name)
        bsvdd.load(folder / name)
    return folder


def first(value):
    def change(values):
        values.flat[0] = value
        return values

    return change


def moved(place):
    """Rows of a precomputed kernel end with their place among its columns."""
    return lambda X: first(place)(X[:, ::-1])[:, ::-1]


def rewritten(path, changes):
    """Write the variables of a saved file anew; None deletes one, or a group."""
    tree = xr.open_datatree(path, engine="h5netcdf").load()
    tree.close()
    for name, values in changes.items():
        group, _, variable = name.partition("/")
        if variable:
            old = tree[group].get(variable)
            data = tree[group].to_dataset().drop_vars(variable, errors="ignore")
            if values is not None:
                new = np.asarray(values(old.values.copy()) if callable(values) else values)
                same = old is not None and new.shape == old.shape
                data[variable] = (
                    old.dims if same else [f"{variable}{i}" for i in range(new.ndim)],
                    new,
                )
            tree[group] = xr.DataTree(data)
        else:
            del tree[group]
    os.unlink(path)
    tree.to_netcdf(path, engine="h5netcdf")
    seal(path)


FINITE, OF_0_1 = "expected finite values", "expected finite values from 0 to 1"
WRONG = {
    "SVDD": [
        ({"posterior/w": lambda w: w.astype(int)}, "posterior/w: expected float values"),
        ({"posterior/w": lambda w: w[..., 1:]}, "expected weights of 24 points"),
        ({"posterior/w": lambda w: w[0]}, r"posterior/w: .* \(any, any, any\), got .*"),
        ({"posterior/w": first(np.nan)}, f"posterior/w: {FINITE}, got nan"),
        ({"posterior/w": first(np.inf)}, f"posterior/w: {FINITE}, got inf"),
        ({"posterior": None}, ""),
        ({"constant_data": None}, ""),
        ({"decision": None}, ""),
        ({"log_likelihood": None}, "log_likelihood/kernel is missing"),
        ({"distance": None}, "hyperplane/f is missing"),
    ],
    "small": [
        ({"constant_data/X": np.ones((2, 3, 4))}, r"X: expected float values .* \(any, any\), got"),
        ({"constant_data/X": np.ones((6, 2), int)}, r"X: .* got int64 of shape \(6, 2\)$"),
        ({"constant_data/X": first(np.nan)}, f"constant_data/X: {FINITE}, got nan"),
        ({"constant_data/X": None}, "constant_data/X is missing$"),
        ({"constant_data/minority": np.zeros(5, bool)}, r"expected boolean .* \(6\), got bool"),
        ({"constant_data/minority": np.zeros(6)}, "minority: expected boolean values"),
        ({"constant_data/minority": np.ones(6, bool)}, "expected at least one majority row"),
        ({"constant_data/name": np.arange(5)}, "name: expected 6 whole numbers or texts"),
        ({"constant_data/name": np.ones(6)}, "name: expected 6 whole numbers or texts"),
        ({"constant_data/unlabelled": np.ones((7, 3))}, r"unlabelled: .* \(any, 2\)"),
        ({"gram/points": np.zeros((4, 3))}, r"gram/points: .* \(4, 2\)"),
        ({"gram/points": first(np.nan)}, f"gram/points: {FINITE}"),
        ({"gram/place": np.array([-2, 0, 0, 0])}, "place: .* from -1 to 5, got -2"),
        ({"gram/place": np.array([6, 0, 0, 0])}, "place: .* from -1 to 5, got 6"),
        ({"gram/place": np.zeros(4)}, "place: expected integer values"),
        ({"gram/r": np.ones(3)}, r"gram/r: .* \(4\)"),
        ({"gram/r": first(np.nan)}, f"gram/r: {FINITE}"),
        ({"gram/T": np.inf}, f"gram/T: {FINITE}, got inf"),
        ({"gram/n0": 0}, f"gram/n0: {FINITE} from 1, got 0"),
        ({"gram/n1": 4}, f"gram/n1: {FINITE} from 0 to 3, got 4"),
        ({"gram/n1": -1}, f"gram/n1: {FINITE} from 0 to 3, got -1"),
        ({"gram/whole": 1.0}, "gram/whole: expected boolean"),
        ({"gram/whole": None}, "gram/whole is missing"),
        ({"distance/d": np.ones((2, 3, 5))}, r"distance/d: .* \(2, 3, 6\)"),
        ({"distance/d": first(-1.0)}, f"distance/d: {FINITE} from 0, got -1.0"),
        ({"log_likelihood/kernel": np.ones((2, 3, 4))}, "of 5 majority rows, or of all 6 .* got 4"),
        ({"log_likelihood/kernel": np.ones((2, 5))}, r"log_likelihood/kernel: .* \(2, 3, any\)"),
        ({"decision/cutoff": np.nan}, f"decision/cutoff: {FINITE}, got nan"),
        ({"decision/level": 1.0}, f"decision/level: {OF_0_1}, got 1.0"),
        ({"decision/level": -0.1}, f"decision/level: {OF_0_1}, got -0.1"),
        ({"decision/probability_normal": first(1.1)}, f"probability_normal: {OF_0_1}, got 1.1"),
        ({"decision/probability_normal": np.ones(5)}, r"probability_normal: .* \(6\)"),
        ({"decision/normal": np.ones(6)}, r"normal: expected boolean values of shape \(6\)"),
    ],
    "pruned": [
        ({"pruning/kept": np.zeros(4, bool)}, "kept: expected at least one point"),
        ({"pruning/kept": np.ones(3, bool)}, r"pruning/kept: .* \(4\)"),
        ({"pruning/bound": -1.0}, "bound: .* from 0, got -1.0"),
        ({"pruning/bound": None}, "pruning/bound is missing"),
    ],
    "hyperplane": [({"hyperplane/f": np.ones(5)}, r"hyperplane/f: .* \(6\)")],
    "kinds": [
        ({"constant_data/kind": np.array([0, 0, 0, 0, 0, 1])}, "constant_data/kind: expected"),
        ({"constant_data/kind": np.array([0, 0, 0, 0, 3, 1])}, "constant_data/kind: expected"),
        ({"constant_data/kind": np.zeros(6)}, "constant_data/kind: expected"),
    ],
    "matrix": [
        ({"constant_data/X": moved(place)}, "of a kernel of 6 colu") for place in (10**6, -1.0, 0.5)
    ],
}


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [(name, *row) for name, rows in WRONG.items() for row in rows],
    ids=lambda value: re.sub(r" at 0x\w+", "", str(value))[:50],
)
def test_wrong_values_are_named(originals, tmp_path, name, changes, message):
    path = tmp_path / "fit.nc"
    path.write_bytes((originals / name).read_bytes())
    rewritten(path, changes)
    with pytest.raises(UnreadableFileError, match=rf"fit\.nc is damaged: .*{message}"):
        bsvdd.load(path)


def with_key(key, value):
    return lambda h: json.dumps({**h, key: value})


def without(key):
    return lambda h: json.dumps({k: v for k, v in h.items() if k != key})


def with_parameter(name, value):
    return lambda h: json.dumps({**h, "parameters": {**h["parameters"], name: value}})


def kernel_of(type_, **fields):
    return with_key("kernel", {"type": type_, "fields": fields})


KERNELS = '{"type": "Standardized", "fields": {"kernel": ' * 5000 + "0" + "}}" * 5000
HEADERS = {
    "deep nesting": lambda h: "[" * 100_000 + "]" * 100_000,
    "deep nesting of kernels": lambda h: json.dumps({**h, "kernel": "@"}).replace('"@"', KERNELS),
    "a number of 10,000 digits": lambda h: json.dumps(h).replace(
        f'"seed": {h["seed"]}', '"seed": ' + "9" * 10_000
    ),
    "no JSON": lambda h: "__import__('os').system('true')",
    **{f"the text {text}": lambda h, t=text: t for text in ("[]", "null", "3", '"x"', '{"format"')},
    **{
        f"no {key}": without(key)
        for key in ("estimator", "parameters", "kernel", "seed", "features")
    },
    "another key": with_key("more", 1),
    **{f"seed {s!r}": with_key("seed", s) for s in (-1, True, 2**80, "x")},
    **{f"features {f!r}": with_key("features", f) for f in ({"a": 1}, [1, 2, 3], ["a"])},
    **{f"estimator {e!r}": with_key("estimator", e) for e in (["SVDD"], "os.system", "Exec")},
    **{
        f"kernel {k!r}": with_key("kernel", k)
        for k in ("RBF", {"type": "RBF"}, [1], None, {"type": "function", "name": [1]})
    },
    "kernel of the system": kernel_of("os.system"),
    "kernel that is a prior": kernel_of("Flat", sd=1.0),
    "field of a kernel": kernel_of("RBF", bandwidth=1.0, x=1),
    **{f"bandwidth {b!r}": kernel_of("RBF", bandwidth=b) for b in ("x", "mean", [1])},
    "no dict of parameters": with_key("parameters", [1]),
    "unknown parameter": with_parameter("unknown", 1),
    "lost parameter": lambda h: (h["parameters"].pop("C") and json.dumps(h)) or json.dumps(h),
    "outlier fraction of -1": with_parameter("outlier_fraction", -1),
    "cutoff of a list": with_parameter("cutoff", {"type": "array", "items": [1.0]}),
    "cutoff of NaN": with_parameter("cutoff", float("nan")),
    "random_state of a text": with_parameter("random_state", "x"),
    **{
        f"C {c!r}": with_parameter("C", c)
        for c in (
            "x",
            [1.0],
            {"type": "array", "items": ["x"]},
            {"type": "array", "items": [[1], [1, 2]]},
            {"items": [1]},
            {"type": ["RBF"], "fields": {}},
        )
    },
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_headers_that_are_never_saved(path, change):
    def edit(file):
        file.attrs["bsvdd"] = change(json.loads(file.attrs["bsvdd"]))

    crafted(path, edit)
    with pytest.raises(UnreadableFileError, match=r"fit\.nc (is damaged|is refused)"):
        bsvdd.load(path)


def test_a_tree_of_another_program(tmp_path):
    other = xr.DataTree.from_dict({"a": xr.Dataset({"x": ("row", np.arange(3.0))})})
    other.to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    seal(tmp_path / "other.nc")
    with pytest.raises(UnreadableFileError, match=r"other\.nc is damaged: .*bsvdd"):
        bsvdd.load(tmp_path / "other.nc")


def test_more_points_than_are_accepted(make, table, tmp_path, monkeypatch):
    path = tmp_path / "fit.nc"
    make("BDD", dictionary=8).fit(*table).save(path)
    monkeypatch.setattr("bsvdd.estimators.dictionary.MAX_POINTS", 3)
    with pytest.raises(UnreadableFileError, match=r"gram/r: expected up to 6 points, got 8"):
        bsvdd.load(path)


@pytest.mark.slow
@pytest.mark.parametrize("count", [40, pytest.param(400, marks=pytest.mark.long)])
def test_other_values_and_headers_with_a_right_seal_are_refused_or_harmless(whole, path, count):
    """The structure of HDF5 is left as it is: docs/security.md says why."""
    with h5py.File(path) as file:
        variables = [v.id for group in file.values() for v in group.values()]
        spans = [(v.get_offset(), v.get_storage_size()) for v in variables if v.get_offset()]
    header = whole.index(b'{"estimator"')
    spans += [(header, whole.index(b'"seed": ') - header)] * len(spans)
    rng, refused = np.random.default_rng(3), 0
    for _ in range(count):
        start, length = spans[rng.integers(len(spans))]
        data = bytearray(whole)
        for at in start + rng.integers(0, length, rng.integers(1, 4)):
            data[at] = int(rng.integers(32, 127))
        path.write_bytes(data)
        seal(path)
        try:
            est = bsvdd.load(path)
        except UnreadableFileError:
            refused += 1
        except ValueError as error:
            assert "which are not stored" in str(error)  # a type became that of a hole
        else:
            assert np.isfinite(est.score_samples(np.zeros((2, 3)))).all()
    assert 0.3 * count < refused < count


# a save is all or nothing


@pytest.mark.parametrize("where", [(os, "replace"), (xr.DataTree, "to_netcdf")])
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
    before = os.umask(0o022)
    try:
        (tmp_path / "plain").write_text("")
        fitted("SVDD").save(tmp_path / "fit.nc")
    finally:
        os.umask(before)
    assert (tmp_path / "fit.nc").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "fit.nc").chmod(0o600)
    link = tmp_path / "latest.nc"
    link.symlink_to(tmp_path / "fit.nc")
    fitted("SVDD").save(link)
    assert link.is_symlink() and not list(tmp_path.glob(".*.part"))
    assert (tmp_path / "fit.nc").stat().st_mode & 0o777 == 0o600


def test_what_a_killed_save_left_goes_after_a_day(fitted, tmp_path):
    path, removed = tmp_path / "fit[1].nc", tmp_path / f".fit[1].nc.{'0a' * 16}.part"
    names = f".fit[1].nc.{'0b' * 16}.part", f".other.nc.{'0a' * 16}.part", ".fit[1].nc.notes.part"
    for i, left in enumerate([tmp_path / name for name in names] + [removed]):
        left.write_bytes(b"half")
        os.utime(left, (time.time() - (25 if i else 23) * 3600,) * 2)
    fitted("SVDD").save(path)
    assert {p.name for p in tmp_path.iterdir()} == {path.name, *names}


KILLED = """
import os, signal, sys, time
from pathlib import Path
import numpy as np
import bsvdd
path, kills, rng = sys.argv[1], int(sys.argv[2]), np.random.default_rng(4)
both = [bsvdd.load(f"{path}.{which}") for which in "ab"]
seen, path = set(), Path(path)
written = lambda: set(path.parent.glob(".fit.nc.*.part"))
stamp = lambda: path.stat().st_mtime_ns
for _ in range(2):  # the second time nothing has to be imported
    start = time.perf_counter()
    for est in both:
        est.save(path)
saved = (time.perf_counter() - start) / 2
for kill in range(kills):
    before = stamp()
    if (child := os.fork()) == 0:
        while True:
            for est in both:
                est.save(path)
    for _ in range(kill % 3):  # whole saves, of which the second is another file than the first
        while stamp() == before:
            pass
        before = stamp()
    time.sleep(rng.uniform(0.0, saved))
    left = written()
    while kill % 2 and written() == left:  # most of a save is in memory: wait for its file
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen.add(bsvdd.load(path).cutoff_)
assert seen == {est.cutoff_ for est in both}, seen
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("kills", [6, pytest.param(50, marks=pytest.mark.long)])
def test_killed_many_times_while_saving(fitted, tmp_path, kills):
    """After each kill -9 the file is the old or the new one, whole."""
    path = tmp_path / "fit.nc"
    for which, cutoff in (("a", 0.5), ("b", 0.75)):
        fitted("SVDD").with_cutoff(cutoff).save(f"{path}.{which}")
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(path), str(kills)],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert run.returncode == 0, run.stderr
    # killed in the middle, many times
    assert len(list(tmp_path.glob(".fit.nc.*.part"))) >= kills / 5
