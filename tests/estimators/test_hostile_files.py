"""Files that were damaged or made to do harm: refused with a clear message, and nothing runs."""

import json
import os
import shutil
import struct
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
import xarray as xr
from bsvdd.estimators import dictionary
from bsvdd.estimators.storage.container import UnreadableFileError, inspect, seal

import bsvdd
from bsvdd import kernels
from tests.estimators.test_storage import rewrite

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def whole(fitted, tmp_path_factory):
    """The bytes of a saved file."""
    path = tmp_path_factory.mktemp("whole") / "fit.nc"
    fitted("SVDD").save(path)
    return path.read_bytes()


@pytest.fixture
def path(whole, tmp_path):
    """A saved file."""
    path = tmp_path / "fit.nc"
    path.write_bytes(whole)
    return path


# the seal


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


def refuse_mutations(whole, path, count, seed):
    """Check that not one byte of a file can change; h5py is not even called."""
    rng, seen = np.random.default_rng(seed), 0
    while seen < count:
        data = mutated(whole, rng)
        if data == whole:
            continue
        seen += 1
        path.write_bytes(data)
        with pytest.raises(UnreadableFileError, match=r"fit\.nc (is no saved|is damaged|has form)"):
            bsvdd.load(path)


def no_hdf5(monkeypatch):
    def fail(*args, **kwargs):
        pytest.fail("HDF5 was given a file that is not what was saved")

    monkeypatch.setattr(h5py, "File", fail)


def test_mutations_are_refused_before_hdf5_reads_them(whole, path, monkeypatch):
    no_hdf5(monkeypatch)
    refuse_mutations(whole, path, 500, seed=1)


@pytest.mark.slow
def test_five_thousand_mutations(whole, path, monkeypatch):
    no_hdf5(monkeypatch)
    start = time.perf_counter()
    refuse_mutations(whole, path, 5000, seed=2)
    assert time.perf_counter() - start < 60


def test_each_flipped_bit_of_the_seal_is_refused(whole, path):
    for bit in range(8 * (len(whole) - 100), 8 * len(whole)):
        data = bytearray(whole)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        with pytest.raises(UnreadableFileError):
            bsvdd.load(path)


def test_another_version(whole, path):
    path.write_bytes(whole.replace(b"bsvdd format 2 ", b"bsvdd format 99 "))
    message = r"fit\.nc has format 99, and this version reads 2; load it with the version of bsvdd"
    with pytest.raises(UnreadableFileError, match=message):
        bsvdd.load(path)


def test_a_file_of_another_kind_or_version_says_so(path, whole):
    path.write_bytes(whole[:-90])  # as before format 2
    with pytest.raises(UnreadableFileError, match="it does not end with the seal that save writes"):
        bsvdd.load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(UnreadableFileError, match="is no saved bsvdd estimator: it is not a file"):
        bsvdd.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        bsvdd.load("https://example.org/fit.nc")  # xarray would fetch it


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_is_not_waited_for(tmp_path):
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


def huge(file):
    replaced(file, "distance/d", shape=(10**6, 10**6, 10**6), dtype="f8")


def huge_beyond_64_bits(file):
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_layout(h5py.h5d.CHUNKED)
    made.set_chunk((1, 1, 1))
    space = h5py.h5s.create_simple((2**40, 2**20, 2**10))
    del file["distance/d"]
    h5py.h5d.create(file["distance"].id, b"d", h5py.h5t.IEEE_F64LE, space, made)


def bomb(file):
    """80 MB of zeros in a few hundred bytes."""
    replaced(file, "distance/d", data=np.zeros((1, 10**5, 100)), compression="gzip")


def sparse(file):
    replaced(file, "distance/d", shape=(1, 10**6, 10**6), dtype="f8", chunks=(1, 1000, 1000))


def texts(file):
    file["posterior"].attrs.create("texts", ["y"] * 1000, dtype=h5py.string_dtype())


def external_link(file):
    del file["posterior/w"]
    file["posterior/w"] = h5py.ExternalLink("../../secret.h5", "/w")


def external_group(file):
    del file["posterior"]
    file["posterior"] = h5py.ExternalLink("/etc/passwd", "/")


def soft_link(file):
    del file["posterior/w"]
    file["posterior/w"] = h5py.SoftLink("/constant_data/X")


def external_values(file):
    replaced(file, "constant_data/X", shape=(30, 3), dtype="f8", external=[("secret.bin", 0, 720)])


def virtual(file):
    layout = h5py.VirtualLayout(shape=(30, 3), dtype="f8")
    layout[:] = h5py.VirtualSource("secret.h5", "X", shape=(30, 3))
    del file["constant_data/X"]
    file["constant_data"].create_virtual_dataset("X", layout)


def cycle(file):
    file["again"] = file["/"]


def own_parent(file):
    file["posterior/again"] = file["posterior"]


def nested(file):
    group = file
    for _ in range(2000):
        group = group.create_group("g")


def named_type(file):
    file["posterior/type"] = np.dtype("f8")


def variable_texts(file):
    file["posterior"].create_dataset("names", data=["a"] * 10, dtype=h5py.string_dtype())


def structures(file):
    file["posterior"].create_dataset("pairs", data=np.zeros(3, [("a", "f8"), ("b", "i4")]))


def references(file):
    file["posterior"].create_dataset("to", data=[file["posterior"].ref], dtype=h5py.ref_dtype)


def many_groups(file):
    for i in range(1200):
        file.create_group(f"g{i}")


HARM = {
    huge: "would make the content larger than the",
    huge_beyond_64_bits: "is in chunks, compressed, or in another file",
    bomb: "is in chunks, compressed, or in another file",
    sparse: "is in chunks, compressed, or in another file",
    texts: "attribute 'texts' of /posterior has 1000 values",
    external_link: "/posterior has 'w', a ExternalLink to another place",
    external_group: "/ has 'posterior', a ExternalLink to another place",
    soft_link: "/posterior has 'w', a SoftLink to another place",
    external_values: "is in chunks, compressed, or in another file",
    virtual: "is in chunks, compressed, or in another file",
    cycle: "expected a Dataset: a file has groups, and groups have variables only",
    own_parent: "is a Group, expected a Dataset",
    nested: "is a Group, expected a Dataset",
    named_type: "is a Datatype, expected a Dataset",
    variable_texts: "is of type object, expected numbers or characters",
    structures: "is of type .*, expected numbers or characters",
    references: "is of type object, expected numbers or characters",
    many_groups: "/ has 12.. members, expected at most 1000",
}


@pytest.mark.parametrize("harm", HARM, ids=lambda harm: harm.__name__)
def test_harmful_files_are_refused_before_values_are_read(path, monkeypatch, harm):
    (path.parent / "secret.bin").write_bytes(bytes(720))
    crafted(path, harm)

    def fail(*args, **kwargs):
        pytest.fail("values were read")

    monkeypatch.setattr(xr, "open_datatree", fail)
    monkeypatch.setattr(h5py.Dataset, "__getitem__", fail)
    message = rf"fit\.nc is refused, because bsvdd never saves such a file: .*{HARM[harm]}"
    with pytest.raises(UnreadableFileError, match=message):
        bsvdd.load(path)


def test_one_text_that_is_read_many_times(tmp_path):
    """16 references to one text of 100 KB, in a file that is little larger."""
    n, path = 100_000, tmp_path / "texts.h5"
    with h5py.File(path, "w", libver="earliest") as file:  # whose headers have no checksum
        attrs = file.create_group("posterior").attrs
        attrs.create("many", ["y" * n, *map(str, range(15))], dtype=h5py.string_dtype())
    data = path.read_bytes()
    at = data.index(struct.pack("<I", n))  # a length of 4 bytes and a place of 12 bytes for each
    path.write_bytes(data[:at] + data[at : at + 16] * 16 + data[at + 256 :])
    with h5py.File(path) as file:
        assert [len(text) for text in file["posterior"].attrs["many"]] == [n] * 16
    with (
        open(path, "rb") as file,
        pytest.raises(ValueError, match="'many' of /posterior is longer than the file"),
    ):
        inspect(file)


def test_a_dictionary_of_too_many_points(make, table, tmp_path, monkeypatch):
    path = tmp_path / "fit.nc"
    make("BDD", dictionary=8).fit(*table).save(path)
    monkeypatch.setattr(dictionary, "MAX_POINTS", 3)
    with pytest.raises(UnreadableFileError, match=r"gram/r: expected up to 6 points, got 8"):
        bsvdd.load(path)


def values(name, change):
    def edit(file):
        file[name][...] = change(file[name][...])

    return edit


def set_one(value):
    def change(values):
        values.flat[0] = value
        return values

    return change


WRONG = [
    ("posterior/w", set_one(np.nan), "posterior/w: expected finite values, got nan"),
    ("posterior/w", set_one(np.inf), "posterior/w: expected finite values, got inf"),
    ("constant_data/X", set_one(np.nan), "constant_data/X: expected finite values, got nan"),
    ("constant_data/minority", lambda v: v | 1, "expected at least one majority row"),
    ("decision/cutoff", lambda v: np.nan, "decision/cutoff: expected finite values, got nan"),
    ("decision/level", lambda v: 1.0, "decision/level: expected finite values from 0 to 1, got 1"),
    ("decision/level", lambda v: -0.5, "decision/level: .* from 0 to 1, got -0.5"),
    ("decision/probability_normal", set_one(1.5), "probability_normal: .* from 0 to 1, got 1.5"),
    ("distance/d", set_one(-1.0), "distance/d: expected finite values from 0, got -1"),
]


@pytest.mark.parametrize(("name", "change", "message"), WRONG)
def test_values_out_of_range(path, name, change, message):
    crafted(path, values(name, change))
    with pytest.raises(UnreadableFileError, match=rf"fit\.nc is damaged: .*{message}"):
        bsvdd.load(path)


def test_shapes_that_disagree_and_types(fitted, tmp_path):
    def dropped(group, **which):
        def change(header, tree):
            tree[group] = xr.DataTree(tree[group].to_dataset().isel(which))

        return change

    def as_type(group, name, dtype):
        def change(header, tree):
            tree[group] = xr.DataTree(
                tree[group].to_dataset().assign({name: tree[group][name].astype(dtype)})
            )

        return change

    path = tmp_path / "fit.nc"
    for change, message in [
        (dropped("distance", obs=slice(1, None)), "distance/d: expected .* got .*29"),
        (dropped("posterior", point=slice(1, None)), "expected weights of 24 points"),
        (dropped("decision", obs=slice(0, 3)), "decision/probability_normal: expected .*30"),
        (dropped("log_likelihood", obs=slice(0, 3)), "log_likelihood/kernel: expected"),
        (dropped("posterior", draw=0), "posterior/w: expected float .*any, any, any"),
        (as_type("constant_data", "minority", float), "minority: expected boolean values"),
        (as_type("posterior", "w", int), "posterior/w: expected float values"),
    ]:
        fitted("SVDD").save(path)
        rewrite(path, change)
        with pytest.raises(UnreadableFileError, match=rf"fit\.nc is damaged: .*{message}"):
            bsvdd.load(path)


def test_the_statistics_of_a_dictionary(make, table, tmp_path):
    path, good = tmp_path / "fit.nc", tmp_path / "good.nc"
    make("BDD", dictionary=8).fit(*table).save(good)
    for name, change, message in [
        ("gram/r", set_one(np.nan), "gram/r: expected finite values"),
        ("gram/T", lambda v: np.inf, "gram/T: expected finite values"),
        ("gram/n0", lambda v: 0, "gram/n0: expected finite values from 1, got 0"),
        ("gram/n1", lambda v: 8, "gram/n1: expected finite values from 0 to 7, got 8"),
        ("gram/n1", lambda v: -1, "gram/n1: expected finite values from 0 to 7, got -1"),
        ("gram/place", set_one(30), "gram/place: expected finite values from -1 to 29, got 30"),
        ("gram/points", set_one(np.nan), "gram/points: expected finite values"),
    ]:
        shutil.copy(good, path)
        crafted(path, values(name, change))
        with pytest.raises(UnreadableFileError, match=rf"fit\.nc is damaged: {message}"):
            bsvdd.load(path)


def test_rows_of_a_precomputed_kernel(make, table, tmp_path):
    path = tmp_path / "fit.nc"
    est = make("SVDD", kernel=kernels.Precomputed())
    est.fit(kernels.RBF(1.5)(table[0]), table[1]).save(path)

    def move(file):
        file["constant_data/X"][3, -1] = 10**6

    crafted(path, move)
    with pytest.raises(UnreadableFileError, match="expected rows of a kernel of 30 columns"):
        bsvdd.load(path)


def header(change):
    def edit(file):
        found = json.loads(file.attrs["bsvdd"])
        file.attrs["bsvdd"] = change(found)

    return edit


def with_key(key, value):
    return lambda h: json.dumps({**h, key: value})


def with_parameter(name, value):
    return lambda h: json.dumps({**h, "parameters": {**h["parameters"], name: value}})


DEEP = "[" * 100_000 + "]" * 100_000
KERNELS = '{"type": "Standardized", "fields": {"kernel": ' * 5000 + "0" + "}}" * 5000
HEADERS = {
    "deep nesting": lambda h: DEEP,
    "deep nesting of kernels": lambda h: json.dumps({**h, "kernel": "@"}).replace('"@"', KERNELS),
    "a number of 10,000 digits": lambda h: json.dumps(h).replace(
        f'"seed": {h["seed"]}', '"seed": ' + "9" * 10_000
    ),
    "a list": lambda h: "[1, 2]",
    "a text": lambda h: '"x"',
    "no JSON": lambda h: "__import__('os').system('true')",
    "seed of -1": with_key("seed", -1),
    "seed of true": with_key("seed", True),
    "seed of 2^80": with_key("seed", 2**80),
    "features of a dict": with_key("features", {"a": 1}),
    "features of numbers": with_key("features", [1, 2, 3]),
    "one feature": with_key("features", ["a"]),
    "estimator of a list": with_key("estimator", ["SVDD"]),
    "estimator of a path": with_key("estimator", "os.system"),
    "kernel of a text": with_key("kernel", "RBF"),
    "kernel without fields": with_key("kernel", {"type": "RBF"}),
    "kernel of a list": with_key("kernel", [1]),
    "kernel that is a prior": with_key("kernel", {"type": "Flat", "fields": {"sd": 1.0}}),
    "bandwidth of a text": with_key("kernel", {"type": "RBF", "fields": {"bandwidth": "x"}}),
    "bandwidth of a criterion": with_key(
        "kernel", {"type": "RBF", "fields": {"bandwidth": "mean"}}
    ),
    "bandwidth of a list": with_key("kernel", {"type": "RBF", "fields": {"bandwidth": [1]}}),
    "C of a text": with_parameter("C", "x"),
    "C of a list": with_parameter("C", [1.0]),
    "cutoff of a list": with_parameter("cutoff", {"type": "array", "items": [1.0]}),
    "cutoff of NaN": with_parameter("cutoff", float("nan")),
    "random_state of a text": with_parameter("random_state", "x"),
    "an array of texts": with_parameter("C", {"type": "array", "items": ["x"]}),
    "a ragged array": with_parameter("C", {"type": "array", "items": [[1], [1, 2]]}),
    "a dict without a type": with_parameter("C", {"items": [1]}),
    "a type that is a list": with_parameter("C", {"type": ["RBF"], "fields": {}}),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_with_wrong_types(path, name):
    crafted(path, header(HEADERS[name]))
    with pytest.raises(UnreadableFileError, match=r"fit\.nc (is damaged|is refused)"):
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


# saving


def test_texts_and_numbers_of_the_users_own_come_back(make, table, tmp_path):
    est = make("SVDD").fit(*table)
    names = np.array(["ä", "bc", ""])
    est.idata_["notes"] = xr.Dataset(
        {"name": ("i", names), "object": ("i", names.astype(object)), "n": ("i", [1, 2, 3])},
        attrs={"by": "me", "dims": ["one", "two"], "size": 3},
    )
    for path in (tmp_path / "one.nc", tmp_path / "two.nc"):
        est.save(path)
        est = bsvdd.load(path)  # and a loaded one can be saved
        notes = est.idata_["notes"]
        assert notes["name"].values.tolist() == notes["object"].values.tolist() == names.tolist()
        assert notes["n"].values.tolist() == [1, 2, 3]
        assert (notes.attrs["by"], list(notes.attrs["dims"])) == ("me", ["one", "two"])


def test_what_could_not_be_loaded_is_not_saved(make, table, tmp_path):
    est = make("SVDD").fit(*table)
    est.idata_["a/b"] = xr.Dataset({"x": ("i", [1.0])})
    message = "idata_ has content that cannot be saved: .*/a/b.*; remove it from idata_"
    with pytest.raises(ValueError, match=message):
        est.save(tmp_path / "fit.nc")
    assert not list(tmp_path.iterdir())


def test_what_a_killed_save_left_goes_after_a_day(fitted, tmp_path):
    path = tmp_path / "fit[1].nc"
    old = tmp_path / f".fit[1].nc.{'0a' * 16}.part"
    fresh = tmp_path / f".fit[1].nc.{'0b' * 16}.part"
    others = tmp_path / f".other.nc.{'0a' * 16}.part", tmp_path / ".fit[1].nc.notes.part"
    for left in (old, fresh, *others):
        left.write_bytes(b"half")
    for left in (old, *others):
        os.utime(left, (time.time() - 25 * 3600,) * 2)
    fitted("SVDD").save(path)
    assert not old.exists()
    assert {p.name for p in tmp_path.iterdir()} == {p.name for p in (path, fresh, *others)}


KILLED = """
import os, signal, sys, time
from pathlib import Path
import numpy as np
import bsvdd
from bsvdd.estimators.storage.container import UnreadableFileError
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


def test_a_saved_file_passes_its_own_inspection(path):
    with open(path, "rb") as file:
        inspect(file)
