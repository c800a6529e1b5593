"""Saved fits come back the same; a file that is damaged or does harm is refused."""

import errno
import json
import math
import os
import re
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from safetensors import numpy as safetensors

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, cutoffs, kernels, priors
from bsvdd.base.atomic import atomic
from bsvdd.estimators.files import UnreadableFileError, _read, digest
from tests.models.helpers import cauchy, student

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")


# what comes back


@pytest.mark.parametrize(
    ("cls", "changes"),
    [
        (BSVDD, {"dictionary": 9, "draws": np.int64(50), "chains": 1}),
        (BDD, {"simplex": True}),
        (BDD, {"kernel": kernels.RBF("median"), "cutoff": cutoffs.Printed(0.8)}),
        (BDD, {"cutoff": cutoffs.Printed(cutoffs.FalseAlarm(0.2), of="training")}),
        (BDD, {"kernel": kernels.Linear(), "prior": priors.EqualWeights(0.3)}),
        (BDD, {"kernel": kernels.Polynomial(3, 0.2, 0.5), "dictionary": "all"}),
        (BDD, {"minor_label": "b", "random_state": 5, "likelihood_scale": 2.0}),
        (SVDD, {"kernel": kernels.Precomputed(diagonal=1.0)}),
        (SVDD, {"kernel": kernels.Tabular(kernels.Laplacian("median"), rho=0.1)}),
    ],
    ids=str,
)
def test_a_fit_comes_back(table, new_rows, tmp_path, cls, changes):
    """All parameters, the tree and the answers; tests/test_contract.py: each model."""
    (X, y), Z = table, new_rows
    if "minor_label" in changes:
        y = np.array(["a", "b"])[y]
    if isinstance(changes.get("kernel"), kernels.Precomputed):
        X, Z = (kernels.RBF(1.5)(rows, table[0]) for rows in (X, new_rows))
    few = {} if cls is SVDD else {"draws": 60, "tune": 60, "chains": 2}
    est = cls(**{"kernel": kernels.RBF(1.5)} | few | changes).fit(X, y)
    est.save(tmp_path / "fit.nc")
    assert [p.name for p in tmp_path.iterdir()] == ["fit.nc"]
    new = bsvdd.load(tmp_path / "fit.nc")
    for parameter, value in est.get_params().items():
        found = new.get_params()[parameter]
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(found, value)
        else:
            assert found == (tuple(value) if isinstance(value, list) else value)
    for group, values in est.idata_.children.items():  # draws are in single precision
        # two of an even number of draws are equally far from their median: R-hat ranks
        # them
        tol = 2e-3 if group == "diagnostics" else 1e-4
        xr.testing.assert_allclose(
            new.idata_[group].to_dataset(), values.to_dataset(), rtol=tol, atol=1e-4
        )
    ours, theirs = (re.sub(r"R-hat [^;]*;", "", str(e)) for e in (new, est))
    assert new.labels_ == est.labels_ and ours == theirs
    fresh = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(fresh.predict(Z), est.predict(Z))
    if cls is not SVDD:  # K takes long with many rows
        assert "_sums" not in vars(fresh.fit_.dictionary)
    np.testing.assert_array_equal(bsvdd.p_value(new, Z), bsvdd.p_value(est, Z))


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
@pytest.mark.parametrize("kind", ["datetime64[D]", "timedelta64[h]", object])
def test_groups_of_days_are_saved(tmp_path, kind):
    rng = np.random.default_rng(0)
    day = np.arange(20).astype("datetime64[D]" if kind is object else kind)
    groups = np.repeat(day.astype(kind), 2)
    est = BSVDD(draws=60, tune=60).fit(rng.normal(size=(40, 2)), groups=groups)
    est.save(tmp_path / "est.safetensors")
    same = bsvdd.load(tmp_path / "est.safetensors")
    found, known = (each.decision()["surprise"] for each in (same, est))
    np.testing.assert_allclose(found, known, atol=1e-5)  # draws in single precision


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
    with pytest.raises(
        OSError, match="is no file, but a folder, device or pipe; name another"
    ):
        fitted("SVDD").save(path)
    assert stat.S_IFMT(path.stat().st_mode) == kind
    with pytest.raises(UnreadableFileError, match="because it is not a file"):
        bsvdd.load(path)


@pytest.mark.parametrize(
    ("kernel", "hole"),
    [
        (cauchy, "kernel"),
        (kernels.Custom(cauchy), "kernel"),
        (kernels.Tabular(cauchy), "kernel.kernel"),
        (kernels.Tabular(kernels.Custom(cauchy)), "kernel.kernel"),
    ],
    ids=["function", "custom", "function of a table", "custom of a table"],
)
def test_functions_are_given_again_by_their_place(
    make, table, new_rows, tmp_path, kernel, hole
):
    est = make("BSVDD", prior=student, kernel=kernel, draws=4, tune=4).fit(*table)
    path, given = tmp_path / "fit.nc", {"prior": student, hole: cauchy}
    est.save(path)
    names = re.escape(hole)
    needs = rf"fit\.nc was saved with {names}, prior, which are not stored: .*got "
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
        assert (new.prior, new.get_params(), new.cutoff_) == (
            student,
            est.get_params(),
            est.cutoff_,
        )
        scores = est.score_samples(new_rows)
        np.testing.assert_allclose(
            new.score_samples(new_rows), scores, rtol=1e-5, atol=1e-6
        )
        new.save(path)


def test_what_cannot_be_saved_or_loaded(make, fitted, tmp_path):
    path = tmp_path / "fit.nc"
    with pytest.raises(ValueError, match="not fitted"):
        make("SVDD").save(path)
    assert not list(tmp_path.iterdir())
    fitted("SVDD").save(path)
    with pytest.raises(
        ValueError, match=r"with no functions, which .* got \['prior'\]"
    ):
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
def original(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("original") / "fit"
    fitted("SVDD").save(path)
    return path.read_bytes()


@pytest.fixture
def path(original, tmp_path):
    """Return the path of a saved fit."""
    (tmp_path / "fit.nc").write_bytes(original)
    return tmp_path / "fit.nc"


def of_header(header, data=b"\0" * 8):
    """Return the bytes of a safetensors file with any header."""
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def tensor(dtype="F64", shape=(1,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


X = json.dumps({"x": tensor()})[1:-1]
NO_FIT, OTHER_BYTES = (
    "is no saved bsvdd estimator, or it is cut off or damaged; use",
    "SHA-256",
)
BYTES = {
    "empty": (b"", NO_FIT),
    "CSV": (b"a,b\n1,2\n", NO_FIT),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(500), NO_FIT),
    "cut": (lambda b: b[:-1], NO_FIT),
    "cut in the header": (lambda b: b[:300], NO_FIT),
    "appended": (lambda b: b + b"x", NO_FIT),
    "another value": (lambda b: b[:-20] + b"!" + b[-19:], OTHER_BYTES),
    "another text": (lambda b: b.replace(b"bandwidth", b"bandwodth"), OTHER_BYTES),
    "a header of 2^60 bytes": (lambda b: (2**60).to_bytes(8, "little") + b[8:], NO_FIT),
    "no header of bsvdd": (of_header({"x": tensor()}), NO_FIT),
    "a list": (of_header([]), NO_FIT),
    "deep nesting": (of_header("[" * 10**5 + "]" * 10**5), NO_FIT),
    "a huge shape": (of_header({"x": tensor(shape=(2**40, 2**40))}), NO_FIT),
    "a shape that lies": (of_header({"x": tensor(shape=(2,))}), NO_FIT),
    "places beyond the end": (
        of_header({"x": tensor(shape=(9,), offsets=(0, 72))}),
        NO_FIT,
    ),
    "places that overlap": (of_header({"x": tensor(), "y": tensor()}), NO_FIT),
    "a name twice": (of_header(f"{{{X}, {X}}}"), NO_FIT),
    "__metadata__": (of_header({"__metadata__": tensor()}), NO_FIT),
    **{
        of: (
            of_header({"x": tensor(of, offsets=(0, size), shape=(1,))}, bytes(size)),
            NO_FIT,
        )
        for of, size in (
            ("BF16", 2),
            ("F8_E4M3", 1),
            ("F8_E5M2", 1),
            ("C64", 8),
            ("object", 8),
        )
    },
}


@pytest.mark.parametrize(("change", "message"), BYTES.values(), ids=BYTES)
def test_damaged_files(path, change, message):
    path.write_bytes(change(path.read_bytes()) if callable(change) else change)
    with pytest.raises(
        UnreadableFileError, match=rf"fit\.nc cannot be read: its? .*{message}"
    ):
        bsvdd.load(path)


def test_changed_bytes_are_refused(path):
    whole, rng = path.read_bytes(), np.random.default_rng(300)
    for _ in range(300):
        i, n = int(rng.integers(0, len(whole))), int(rng.integers(1, 300))
        flipped = bytes([whole[i] ^ 1 << int(rng.integers(0, 8))])
        at = [b"", flipped + whole[i + 1 : i + n], bytes(n), rng.bytes(n)][
            rng.integers(0, 4)
        ]
        path.write_bytes(data := whole[:i] + at + whole[i + n :])
        if data != whole:
            with pytest.raises(
                UnreadableFileError, match=r"fit\.nc cannot be read: its? "
            ):
                bsvdd.load(path)


# files with a right checksum, made to do harm: a checksum is no signature


def crafted(path, change):
    """Change the header and the tensors of a saved file."""
    content = path.read_bytes()
    start = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    header, tensors = (
        json.loads(start["__metadata__"]["bsvdd"]),
        safetensors.load(content),
    )
    text = change(header, tensors) or json.dumps(header)
    about = {"bsvdd": text, "sha256": digest(text, tensors)}
    path.write_bytes(safetensors.save(tensors, about))


def changed(*keys, value):
    """Return a function that sets ``header[key][key...]``."""

    def change(header, tensors):
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return change


def of_weights(change):
    """Return a function that changes the draws of beta, or takes them away."""

    def changed(header, tensors):
        variables = dict(dict(header["draws"]["dict"])["variables"]["dict"])
        name = variables["beta"]["tuple"][1]["array"]
        w = tensors.pop(name)
        if change is not None:
            tensors[name] = np.ascontiguousarray(change(w))

    return changed


CRAFTED = {
    "weights of other atoms": of_weights(lambda w: w[:, 1:]),
    "weights that are NaN": of_weights(lambda w: w * np.nan),
    "no weights": of_weights(None),
    "another class": changed("estimator", value="os.system"),
    "another kernel": changed("kernel", value={"os.system": {}}),
    "a parameter": changed("parameters", "draws", value={"RBF": {}}),
    "columns": changed("rows", "TrainingRows", "table", value={"Columns": {"a": 1}}),
    "an array that is not there": changed(
        "boundary", "Boundary", "log_unseen", value={"array": "x"}
    ),
    "another format": changed("format", value=2),
    "deep nesting": lambda header, tensors: "[" * 100_000 + "]" * 100_000,
    "code": lambda header, tensors: "exit()",
}


@pytest.mark.parametrize("case", CRAFTED)
def test_a_file_that_was_made_to_do_harm_is_refused(fitted, tmp_path, case):
    path = tmp_path / "fit.nc"
    fitted("BSVDD").save(path)
    crafted(path, CRAFTED[case])
    with pytest.raises(UnreadableFileError, match=r"fit\.nc cannot be read: \S"):
        bsvdd.load(path)


def places(tree, place):
    """Yield the places of the arrays in JSON, and their names."""
    if isinstance(tree, dict):
        ((kind, inside),) = tree.items()
        if kind == "array":
            yield place, inside
        elif kind in ("dict", "tuple"):
            each = inside if kind == "dict" else enumerate(inside)
            for key, value in each:
                yield from places(value, f"{place}.{key}")
        elif kind != "objects":
            for key, value in inside.items():
                yield from places(value, f"{place}.{key}")


def with_value(x, value):
    x = x.copy()
    x.flat[0] = value
    return x


MISSING_BY_DESIGN = ("rows.observed", "left_out_scores")
FREE = ("rows.group_labels", "rows.names", "draws.stats", "draws.variables.own")
OTHER_TYPE = {"f": np.int64, "i": float, "b": float}


def edits(place, x):
    """Yield what must be refused, and whether the array itself must be named."""
    yield None, True
    if x.size and place != "rows.copies":  # so many imputations as there are
        yield np.concatenate([x, x[:1]]), False
    if x.ndim > 1 and x.size:
        yield np.ascontiguousarray(x[..., :-1]), False
    if not place.startswith(FREE):
        yield np.nan_to_num(x).astype(OTHER_TYPE[x.dtype.kind]), True
    if x.size and not place.startswith(FREE) and x.dtype.kind != "b":
        wrong = np.inf if place in MISSING_BY_DESIGN else np.nan
        yield with_value(x, 10**9 if x.dtype.kind == "i" else wrong), True


EDITED = {
    "BSVDD": lambda: BSVDD(draws=30, tune=20, chains=2),
    "BSVDDM": lambda: bsvdd.BSVDDM(draws=30, tune=20, chains=2),
    "BDDM": lambda: bsvdd.BDDM(draws=30, tune=20, chains=2),
    "BDD simplex": lambda: BDD(simplex=True),
    "SVDDM": bsvdd.SVDDM,
}


@pytest.fixture(scope="module")
def gaps_and_groups():
    """Return rows with numbers, a missing cell, categories, names, and labels."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    X.loc[4, "a"] = np.nan
    X["c"] = rng.choice(["x", "y"], 30)
    X.index = np.arange(30) + 100
    return X, np.arange(30) > 23, np.minimum(np.arange(30), 28)


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
@pytest.mark.parametrize("name", EDITED)
def test_each_array_must_have_its_values_and_its_shape(gaps_and_groups, tmp_path, name):
    """With a right hash: missing, longer, narrower, of another type, NaN or beyond."""
    X, y, groups = gaps_and_groups
    path = tmp_path / "fit.nc"
    EDITED[name]().fit(X, y, groups=groups).save(path)
    whole = path.read_bytes()
    header, tensors = _read(path)
    parts = {k: header[k] for k in header if k not in ("format", "estimator")}
    found = [each for k in parts for each in places(parts[k], k)]
    assert len({place for place, _ in found}) > 18
    kept = []
    for place, number in found:
        for edit, exact in edits(place, tensors[number]):
            changed_ = {k: v for k, v in tensors.items() if k != number}
            if edit is not None:
                changed_[number] = edit
            text = json.dumps(header)
            about = {"bsvdd": text, "sha256": digest(text, changed_)}
            path.write_bytes(safetensors.save(changed_, about))
            part = place if exact else place.split(".")[0]
            try:
                bsvdd.load(path)
                kept.append((place, edit))
            except UnreadableFileError as error:
                said = re.search(
                    r"fit\.nc cannot be read: its array (\S+) ", str(error)
                )
                if not (said and said[1].startswith(part) and "anew" in str(error)):
                    kept.append((place, str(error)))
    assert not kept, [f"{place}: {what!r:.200}" for place, what in kept]
    path.write_bytes(whole)
    bsvdd.load(path)


FIELDS = {
    "likelihood_scale": changed("likelihood_scale", value="much"),
    "seed": changed("seed", value=None),
    "seconds": changed("seconds", value=[1.0]),
    "estimator": changed("estimator", value=3),
    "cutoff": changed("cutoff", value=0.1),
    "cutoff.rate": changed("cutoff", "FalseAlarm", "rate", value="x"),
    "boundary.log_near": changed("boundary", "Boundary", "log_near", value=math.nan),
    "rows.table": changed("rows", "TrainingRows", "table", value=[]),
    "rows.estimator": changed("rows", "TrainingRows", "estimator", value=1),
    "draws.chains": lambda header, _: header["draws"]["dict"].append(["chains", 7]),
    "draws.sampler": lambda header, _: header["draws"]["dict"].append(["sampler", 0]),
    "left_out_scores": lambda header, _: header.pop("left_out_scores") and None,
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_of_another_type_is_named(fitted, tmp_path, name):
    path = tmp_path / "fit.nc"
    fitted("BSVDD").save(path)
    crafted(path, FIELDS[name])
    message = rf"fit\.nc cannot be read: {re.escape(name)} (must|is missing).*anew"
    with pytest.raises(UnreadableFileError, match=message):
        bsvdd.load(path)


# a save is all or nothing


@pytest.mark.parametrize("where", [(os, "replace"), (safetensors, "save")])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    fitted, monkeypatch, path, where
):
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
    message = "nothing was written, and an existing file is unchanged: free some space"
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
    names = (
        f".fit[1].nc.{'0b' * 16}.part",
        f".other.nc.{'0a' * 16}.part",
        ".fit[1].nc.notes.part",
    )
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
from bsvdd.base.atomic import atomic
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
