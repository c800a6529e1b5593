"""The parts of saving and loading: values as JSON, checks of trees, the seal, atomic writes."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray as xr
from bsvdd.estimators.storage import container, schema
from bsvdd.estimators.storage.atomic import STALE, atomic, remove_stale
from bsvdd.estimators.storage.container import UnreadableFileError, inspect, seal, unsealed
from bsvdd.estimators.storage.encoding import VALUES, decode, encode, function_names

from bsvdd import Cutoff, Landmarks, kernels, priors

# values as JSON


def own(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 3, 0.25, "median", float("inf")),
        kernels.RBF("likelihood"),
        kernels.Standardized(kernels.Laplacian(2.0)),
        priors.RowSum(sd=0.4, exponent=0.5),
        Cutoff("cost", cv="train", level=0.2, miss_cost=4.0),
        Landmarks(9, method="kmeans"),
        (1, "a", None, (2.5,)),
    ],
    ids=repr,
)
def test_a_value_comes_back_with_its_type(value):
    found = decode(json.loads(json.dumps(encode("p", value))), {})
    assert found == value and type(found) is type(value)


def test_values_of_numpy_are_plain_values():
    for value, plain in ((np.int64(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True)):
        found = encode("p", value)
        assert found == plain and type(found) is type(plain)
    for value in (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]):
        found = decode(json.loads(json.dumps(encode("p", value))), {})
        assert found.dtype == float and found.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    # a list with a name is one of labels
    assert decode(encode("minor_label", ["a", "b"]), {}) == ("a", "b")
    assert decode(encode("minor_label", ["a", 1]), {}) == ("a", 1)


def test_a_function_is_its_place():
    encoded = encode("kernel", kernels.Standardized(kernels.Custom(own)))
    assert list(function_names(encoded)) == ["kernel.kernel.function"]
    found = decode(encoded, {"kernel.kernel.function": own})
    assert found == kernels.Standardized(kernels.Custom(own))
    assert encode("prior", own) == {"type": "function", "name": "prior"}
    both = {"parameters": {"a": encode("a", own), "b": [encode("b", own), 3, "function"]}}
    assert list(function_names(both)) == ["a", "b"]
    assert list(function_names({"type": "array", "items": [1.0]})) == []
    assert encode("p", (own,)) == {"type": "tuple", "items": [{"type": "function", "name": "p"}]}


def test_what_cannot_be_encoded_or_decoded():
    with pytest.raises(TypeError, match=r"random_state=.* cannot be saved; expected a number"):
        encode("random_state", np.random.RandomState(0))
    with pytest.raises(ValueError, match="a list has no type; expected a dict with type and items"):
        decode([1], {})
    with pytest.raises(ValueError, match="unknown type 'Exec'"):
        decode({"type": "Exec", "fields": {}}, {})
    assert {"RBF", "Flat", "Landmarks", "Cutoff", "Standardized"} <= set(VALUES)


# shapes, types and ranges; 2 chains, 3 draws, 4 points, 6 rows of which 1 is of the minority


def tree(**changes):
    groups = {
        "constant_data": {
            "X": (("obs", "column"), np.arange(12.0).reshape(6, 2)),
            "minority": ("obs", np.arange(6) == 5),
        },
        "posterior": {"w": (("chain", "draw", "point"), np.full((2, 3, 4), 0.25))},
        "distance": {"d": (("chain", "draw", "obs"), np.ones((2, 3, 6)))},
        "log_likelihood": {"kernel": (("chain", "draw", "row"), np.ones((2, 3, 5)))},
        "decision": {
            "cutoff": ((), 1.0),
            "level": ((), 0.5),
            "probability_normal": ("obs", np.linspace(0.0, 1.0, 6)),
            "normal": ("obs", np.arange(6) < 3),
        },
    }
    for name, values in changes.items():
        group, _, variable = name.partition("__")
        if values is None and not variable:
            del groups[group]
        elif values is None:
            del groups[group][variable]
        else:
            values = np.asarray(values)
            dims = [f"{variable}{i}_{length}" for i, length in enumerate(values.shape)]
            groups.setdefault(group, {})[variable] = (dims, values)
    found = xr.DataTree.from_dict({name: xr.Dataset(v) for name, v in groups.items()})
    if "posterior" in groups:
        found["posterior"].attrs.update(sampler="exact", seed=3, offset=0.5)
    return found


GRAM = {
    "gram__points": np.zeros((4, 2)),
    "gram__place": np.array([-1, 0, 5, 2]),
    "gram__r": np.ones(4),
    "gram__T": 5.0,
    "gram__n0": 5,
    "gram__n1": 1,
    "gram__whole": True,
}
HYPERPLANE = {"distance": None, "log_likelihood": None, "hyperplane__f": np.zeros(6)}
YARDSTICK = {"distance": None, "log_likelihood": None, "yardstick__score": np.zeros(6)}
RIGHT = [
    {},
    GRAM,
    {**GRAM, "gram__n0": 1, "gram__n1": 0, "gram__place": np.array([-1, -1, -1, 5])},
    {**GRAM, "gram__n1": 3},
    HYPERPLANE,
    YARDSTICK,
    {"log_likelihood__kernel": np.ones((2, 3, 6))},
    {"posterior__squared_norm": np.ones((2, 3)), "posterior__squared_radius": np.zeros((2, 3))},
    {"constant_data__unlabelled": np.ones((7, 2))},
    {"constant_data__name": np.arange(6)},
    {"constant_data__name": np.array(list("abcdef"), dtype=object)},
    {"constant_data__name": np.array(list("abcdef"))},
    {"pruning__kept": np.array([True, False, False, False]), "pruning__bound": 0.0},
    {"decision__level": 0.0, "distance__d": np.zeros((2, 3, 6))},
    {"decision__level": np.nextafter(1.0, 0.0)},
]


@pytest.mark.parametrize("changes", RIGHT, ids=lambda changes: ", ".join(changes))
def test_right_trees_pass(changes):
    schema.check(tree(**changes), kernels.RBF(1.0))


WRONG = [
    (
        {"constant_data__X": np.ones((2, 3, 4))},
        r"X: expected float values of shape \(any, any\), g",
    ),
    ({"constant_data__X": np.ones((6, 2), dtype=int)}, r"X: .* got int64 of shape \(6, 2\)$"),
    ({"constant_data__X": None}, "^constant_data/X is missing$"),
    (
        {"constant_data__minority": np.zeros(5, bool)},
        r"minority: expected boolean .* \(6\), got bool",
    ),
    ({"constant_data__minority": np.ones(6, bool)}, "expected at least one majority row"),
    (
        {"constant_data__X": np.ones((0, 2)), "constant_data__minority": np.zeros(0, bool)},
        "expected at least one majority row",
    ),
    (
        {"constant_data__name": np.arange(5)},
        "constant_data/name: expected 6 whole numbers or texts",
    ),
    ({"constant_data__name": np.ones(6)}, "expected 6 whole numbers or texts"),
    ({"constant_data__name": np.array([1, *"abcde"], object)}, "expected 6 whole numbers or texts"),
    ({"constant_data__unlabelled": np.ones((7, 3))}, r"unlabelled: .* \(any, 2\)"),
    ({"posterior": None}, "posterior/w is missing"),
    ({"posterior__w": np.ones((3, 4))}, r"posterior/w: .* \(any, any, any\), got .* \(3, 4\)"),
    ({"posterior__w": np.ones((0, 3, 4))}, "expected at least one draw of one weight"),
    ({"posterior__w": np.ones((2, 0, 4))}, "expected at least one draw of one weight"),
    ({"posterior__w": np.ones((2, 3, 0))}, "expected at least one draw of one weight"),
    ({"posterior__squared_norm": np.ones((3, 2))}, r"squared_norm: expected .* \(2, 3\)"),
    ({"posterior__squared_radius": -np.ones((2, 3))}, "squared_radius: .* values from 0, got -1.0"),
    ({"posterior__squared_radius": np.ones((3, 2))}, r"squared_radius: expected .* \(2, 3\)"),
    ({**GRAM, "gram__points": np.zeros((4, 3))}, r"gram/points: .* \(4, 2\)"),
    ({**GRAM, "gram__points": np.zeros((3, 2))}, r"gram/points: .* \(4, 2\)"),
    ({**GRAM, "gram__place": np.array([-2, 0, 0, 0])}, "place: .* from -1 to 5, got -2"),
    ({**GRAM, "gram__place": np.array([6, 0, 0, 0])}, "place: .* from -1 to 5, got 6"),
    ({**GRAM, "gram__place": np.zeros(4)}, "place: expected integer values"),
    ({**GRAM, "gram__r": np.ones(3)}, r"gram/r: .* \(4\)"),
    ({**GRAM, "gram__T": np.nan}, "gram/T: expected finite values, got nan"),
    ({**GRAM, "gram__T": np.ones(1)}, r"gram/T: expected float values of shape \(\), got"),
    ({**GRAM, "gram__n0": 0}, "gram/n0: expected finite values from 1, got 0"),
    ({**GRAM, "gram__n1": 4}, "gram/n1: expected finite values from 0 to 3, got 4"),
    ({**GRAM, "gram__n1": -1}, "gram/n1: expected finite values from 0 to 3, got -1"),
    ({**GRAM, "gram__whole": 1.0}, "gram/whole: expected boolean"),
    ({k: v for k, v in GRAM.items() if k != "gram__whole"}, "gram/whole is missing"),
    ({"distance__d": np.ones((2, 3, 5))}, r"distance/d: .* \(2, 3, 6\)"),
    ({"distance__d": -np.ones((2, 3, 6))}, "distance/d: expected finite values from 0, got -1.0"),
    ({"log_likelihood__kernel": np.ones((2, 3, 4))}, "of 5 majority rows, or of all 6 rows, got 4"),
    ({"log_likelihood__kernel": np.ones((2, 5))}, r"log_likelihood/kernel: .* \(2, 3, any\)"),
    ({"log_likelihood": None}, "log_likelihood/kernel is missing"),
    ({"distance": None}, "hyperplane/f is missing"),
    ({**HYPERPLANE, "hyperplane__f": np.ones(5)}, r"hyperplane/f: .* \(6\)"),
    ({**YARDSTICK, "yardstick__score": np.ones(5)}, r"yardstick/score: .* \(6\)"),
    (
        {"pruning__kept": np.zeros(4, bool), "pruning__bound": 0.0},
        "kept: expected at least one point",
    ),
    ({"pruning__kept": np.ones(3, bool), "pruning__bound": 0.0}, r"pruning/kept: .* \(4\)"),
    ({"pruning__kept": np.ones(4, bool), "pruning__bound": -1.0}, "bound: .* from 0, got -1.0"),
    ({"pruning__kept": np.ones(4, bool)}, "pruning/bound is missing"),
    ({"decision__cutoff": np.inf}, "decision/cutoff: expected finite values, got inf"),
    ({"decision__level": 1.0}, "decision/level: expected finite values from 0 to 1, got 1.0"),
    ({"decision__level": -0.1}, "decision/level: expected finite values from 0 to 1, got -0.1"),
    (
        {"decision__probability_normal": np.full(6, 1.1)},
        "probability_normal: .* from 0 to 1, got 1.1",
    ),
    ({"decision__probability_normal": np.full(6, -1.0)}, "normal: .* from 0 to 1, got -1.0"),
    ({"decision__probability_normal": np.ones(5)}, r"probability_normal: .* \(6\)"),
    ({"decision__normal": np.ones(6)}, r"decision/normal: expected boolean values of shape \(6\)"),
    (
        {"decision__normal": np.ones(5, bool)},
        r"decision/normal: expected boolean .* got bool .*\(5,\)",
    ),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_wrong_trees_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        schema.check(tree(**changes), kernels.RBF(1.0))


def test_draws_of_the_bootstrap_have_no_likelihood():
    found = tree(log_likelihood=None)
    found["posterior"].attrs["sampler"] = "bootstrap"
    schema.check(found, kernels.RBF(1.0))


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2.0])
def test_seeds_of_a_yardstick(seed):
    found = tree(**YARDSTICK)
    found["posterior"].attrs["seed"] = seed
    schema.check(found, kernels.RBF(1.0))
    for wrong in (-1, 2**31, 0.5, np.inf):
        found["posterior"].attrs["seed"] = wrong
        with pytest.raises(ValueError, match=f"posterior: expected a seed .*, got {wrong!r}"):
            schema.check(found, kernels.RBF(1.0))


def test_the_offset_of_a_hyperplane_is_finite():
    found = tree(**HYPERPLANE)
    found["posterior"].attrs["offset"] = np.nan
    with pytest.raises(ValueError, match="posterior: expected a finite offset, got nan"):
        schema.check(found, kernels.RBF(1.0))


def test_kinds_have_their_names():
    right = np.array([0, 0, 0, 0, 2, 1])
    minority = right > 0
    for kind, names, passes in (
        (right, '["i:1", "i:2"]', True),
        (right, '["i:1"]', False),
        (right, '["i:1", "i:2", "i:3"]', False),
        (np.where(right == 2, 0, right), '["i:1"]', False),  # a minority row of no kind
        (right.astype(float), '["i:1", "i:2"]', False),
        (right - 1, '["i:1"]', False),
    ):
        changes = {"constant_data__kind": kind, "constant_data__minority": minority}
        found = tree(**changes, log_likelihood__kernel=np.ones((2, 3, 4)))
        found["constant_data"].attrs["kinds"] = names
        if passes:
            schema.check(found, kernels.RBF(1.0))
        else:
            with pytest.raises(ValueError, match="constant_data/kind: expected"):
                schema.check(found, kernels.RBF(1.0))


def test_rows_of_a_precomputed_kernel_have_their_place():
    kernel = kernels.Precomputed(1.0)
    rows = np.column_stack([np.zeros((6, 7)), np.arange(6.0)])  # 6 columns of values
    schema.check(tree(constant_data__X=rows), kernel)
    for wrong in (6.0, -1.0, 0.5):
        rows[3, -1] = wrong
        with pytest.raises(ValueError, match="X: expected rows of a kernel of 6 columns"):
            schema.check(tree(constant_data__X=rows), kernel)
    rows[3, -1] = 3.0
    gram = {**GRAM, "gram__points": rows[:4].copy()}
    schema.check(tree(constant_data__X=rows, **gram), kernel)
    gram["gram__points"][0, -1] = 6.0  # points have a place too
    with pytest.raises(ValueError, match="X: expected rows of a kernel of 6 columns"):
        schema.check(tree(constant_data__X=rows, **gram), kernel)
    with pytest.raises(ValueError, match="X: expected rows of a kernel of 0 columns"):
        schema.check(tree(constant_data__X=np.zeros((6, 2))), kernel)


# the seal and the content of the file


@pytest.fixture
def path(tmp_path):
    """A sealed file of two groups."""
    with h5py.File(tmp_path / "x.nc", "w") as file:
        file["a/x"] = np.arange(1000.0)
        file["b/y"] = np.arange(3)
        file["a"].attrs["text"] = "some text"
        file["a"].attrs["numbers"] = np.arange(5.0)
        file["a/x"].attrs["flag"] = True
    seal(tmp_path / "x.nc")
    return tmp_path / "x.nc"


def test_a_sealed_file_is_opened_and_its_digest_is_that_of_its_bytes(path, monkeypatch):
    import hashlib

    content = path.read_bytes()
    digest = hashlib.sha256(content[:-65]).hexdigest()
    assert content[-65:] == f"{digest}\n".encode()
    assert content[:-65].endswith(b"bsvdd format 2 sha256 ")
    monkeypatch.setattr(container, "READ", 100)  # the same in pieces
    with unsealed(path) as file:
        file.seek(0)
        assert file.read() == content


def test_a_broken_seal_is_refused(path):
    content = path.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    of_seal = content.replace(b" sha256 ", b" sha256 0", 1)
    version = content.replace(b"bsvdd format 2 ", b"bsvdd format 99 ")
    for wrong, message in (
        (
            bytes(flipped),
            r"is damaged: its SHA-256 is [0-9a-f]{12}\.\.\., but its seal has [0-9a-f]{12}\.",
        ),
        (content[:-1], "is no saved bsvdd estimator: it does not end with the seal"),
        (content + b"x", "is no saved bsvdd estimator: it does not end with the seal"),
        (of_seal, "is no saved bsvdd estimator: it does not end with the seal"),
        (b"", "is no saved bsvdd estimator: it does not end with the seal"),
        (version, "has format 99, and this version reads 2; load it"),
    ):
        path.write_bytes(wrong)
        with pytest.raises(UnreadableFileError, match=rf"x\.nc {message}"), unsealed(path):
            pass
    with pytest.raises(UnreadableFileError, match="it is not a file"), unsealed(path.parent):
        pass


def refused(path, message):
    with open(path, "rb") as file, pytest.raises(ValueError, match=message):
        inspect(file)


def crafted(path, change):
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def test_content_that_is_never_saved_is_refused_when_it_is_opened(path):
    crafted(path, lambda file: file.create_group("c").create_group("d"))
    seal(path)
    message = "x.nc is refused, because bsvdd never saves such a file: /c/d is a Group, expected"
    with pytest.raises(UnreadableFileError, match=message), unsealed(path):
        pass


def test_as_many_members_attributes_and_texts_as_are_allowed(path, monkeypatch):
    monkeypatch.setattr(container, "MAX_MEMBERS", 5)
    monkeypatch.setattr(container, "MAX_TEXTS", 2)
    with open(path, "rb") as file:
        inspect(file)  # 5 numbers
    for name in "cde":
        crafted(path, lambda file, name=name: file.create_group(name))
    crafted(path, lambda file: file["b"].attrs.create("two", ["u", "v"], dtype=h5py.string_dtype()))
    for i in range(4):
        crafted(path, lambda file, i=i: file["b"].attrs.__setitem__(f"n{i}", i))
    with open(path, "rb") as file:
        inspect(file)  # 5 groups, 5 attributes, 2 texts
    content = path.read_bytes()
    crafted(
        path, lambda file: file["b"].attrs.create("two", list("uvw"), dtype=h5py.string_dtype())
    )
    refused(path, "'two' of /b has 3 values, expected at most 2")
    path.write_bytes(content)
    crafted(path, lambda file: file["b"].attrs.__setitem__("more", 1))
    refused(path, "/b has 6 attributes, expected at most 5")
    path.write_bytes(content)
    crafted(path, lambda file: file["a"].attrs.__setitem__("numbers", np.arange(6.0)))
    refused(path, "'numbers' of /a has 6 values, expected at most 5")
    path.write_bytes(content)
    crafted(path, lambda file: file.create_group("f"))
    refused(path, "/ has 6 members, expected at most 5")
    path.write_bytes(content)
    for name in ("DIMENSION_LIST", "REFERENCE_LIST"):  # HDF5's own, of any type
        crafted(
            path, lambda file, name=name: file["a"].attrs.create(name, np.zeros(1, [("a", "f8")]))
        )
    with open(path, "rb") as file:
        inspect(file)
    crafted(path, lambda file: file["a"].attrs.__setitem__("odd", np.zeros(1, [("a", "f8")])))
    refused(path, r"attribute 'odd' of /a is of type \[.*\], expected numbers or texts")


def test_values_are_no_more_than_the_bytes_of_the_file(tmp_path):
    """Variables that share no byte with the file: space that was never written."""
    path = tmp_path / "x.nc"
    with h5py.File(path, "w") as file:
        file["a/x"] = np.zeros(100)
    size = path.stat().st_size

    def empty(n, dtype="f8"):
        def change(file):
            file["a"].create_dataset("empty", shape=(n,), dtype=dtype)  # takes no space yet

        return change

    content = path.read_bytes()
    crafted(path, empty(size))
    refused(
        path, rf"/a/empty of shape \({size},\) would make the content larger than the \d+ bytes"
    )
    path.write_bytes(content)
    crafted(path, empty(10))
    with open(path, "rb") as file:
        inspect(file)
    path.write_bytes(content)
    crafted(path, lambda file: file["a"].attrs.create("t", "y" * 10**4, dtype=h5py.string_dtype()))
    with open(path, "rb") as file:
        inspect(file)  # the text is in the file


@pytest.mark.parametrize(
    "how",
    [
        {"data": np.zeros(10), "chunks": (5,)},
        {"data": np.zeros(10), "compression": "gzip"},
        {"shape": (10,), "dtype": "f8", "external": [("other.bin", 0, 80)]},
    ],
)
def test_values_lie_in_one_plain_block(path, how):
    crafted(path, lambda file: file["b"].create_dataset("z", **how))
    refused(path, "/b/z is in chunks, compressed, or in another file, expected one plain block")


def test_values_are_numbers_or_characters(path):
    crafted(path, lambda file: file["b"].create_dataset("s", data=np.array([b"x", b"y"])))
    with open(path, "rb") as file:
        inspect(file)
    crafted(path, lambda file: file["b"].create_dataset("o", data=["x"], dtype=h5py.string_dtype()))
    refused(path, "/b/o is of type object, expected numbers or characters")


def test_links_to_another_place_are_refused(path):
    crafted(path, lambda file: file.__setitem__("b/soft", h5py.SoftLink("/a/x")))
    refused(path, "/b has 'soft', a SoftLink to another place")


# atomic writes


def test_a_file_is_written_as_a_whole(tmp_path):
    path = tmp_path / "x.nc"
    with atomic(path) as temporary:
        temporary.write_text("one")
        assert temporary.parent == tmp_path and temporary != path and not path.exists()
    assert path.read_text() == "one"
    with pytest.raises(KeyboardInterrupt), atomic(path) as temporary:
        temporary.write_text("two")
        raise KeyboardInterrupt
    assert path.read_text() == "one"
    path.chmod(0o640)
    with atomic(path) as temporary:
        temporary.write_text("three")
    assert path.read_text() == "three" and path.stat().st_mode & 0o7777 == 0o640
    assert os.listdir(tmp_path) == ["x.nc"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_named(tmp_path, code):
    path = tmp_path / "x.nc"
    message = "nothing was written, and an existing file is unchanged: free some space and try"
    with pytest.raises(OSError, match=message) as raised, atomic(path):
        raise OSError(code, "full")
    assert (raised.value.errno, raised.value.filename) == (code, str(path))
    assert os.strerror(code) in str(raised.value) and not os.listdir(tmp_path)
    with pytest.raises(PermissionError, match="^no$"), atomic(path):
        raise PermissionError("no")


def test_files_left_by_killed_processes_are_removed_after_a_day(tmp_path):
    kept, removed = set(), set()
    for name, age, of_this in (
        (f".x[1].nc.{'a0' * 16}.part", STALE + 60.0, True),
        (f".x[1].nc.{'b1' * 16}.part", STALE - 60.0, False),
        (f".x1.nc.{'a0' * 16}.part", STALE + 60.0, False),
        (".x[1].nc.short.part", STALE + 60.0, False),
        (f"x[1].nc.{'a0' * 16}.part", STALE + 60.0, False),
    ):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (time.time() - age,) * 2)
        (removed if of_this else kept).add(name)
    assert STALE == 24 * 3600
    with atomic(tmp_path / "x[1].nc") as temporary:
        temporary.write_text("")
    assert set(os.listdir(tmp_path)) == kept | {"x[1].nc"}
    remove_stale(tmp_path)  # those of all files
    assert set(os.listdir(tmp_path)) == kept - {f".x1.nc.{'a0' * 16}.part"} | {"x[1].nc"}


def test_a_stale_file_that_another_process_removes_does_no_harm(tmp_path, monkeypatch):
    left = tmp_path / f".x.nc.{'a0' * 16}.part"
    left.write_text("")
    os.utime(left, (0.0, 0.0))

    def gone(self):
        raise FileNotFoundError(self)

    monkeypatch.setattr(Path, "unlink", gone)
    remove_stale(tmp_path)
    assert left.exists()
