"""Tables and stores that were made to do harm: refused with the file's name, in bounded memory."""

import io
import os
import resource
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from bsvdd.comparison.run.store import Store
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.rows.files import read
from click.testing import CliRunner

from bsvdd import SVDD, kernels
from bsvdd.cli import main

DEEP = 200_000
MANY = "9" * 5_000


def header(shape):
    """Return the bytes of a .npy file that says it has ``shape`` and has one value."""
    file = io.BytesIO()
    np.lib.format.write_array_header_2_0(
        file, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + bytes(8)


def archive(path, compression=zipfile.ZIP_STORED, **members):
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)


def refused(path, call, message):
    start = time.monotonic()
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 600
    assert time.monotonic() - start < 10


def test_an_archive_that_expands_is_refused_before_it_does(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, X=np.zeros((1_200_000, 10)), y=np.zeros(10))
    assert path.stat().st_size < 200_000
    refused(path, datasets.from_npz, r"need 9.6e\+07 bytes, expected at most 6.71e\+07 for a file")
    refused(tmp_path, lambda folder: datasets.from_folder(folder, None, None), "bomb.npz.*need 9")


def test_an_archive_of_constant_columns_is_read(tmp_path):
    path = tmp_path / "constant.npz"
    np.savez_compressed(path, X=np.ones((100_000, 5)), y=np.repeat([0, 1], [90_000, 10_000]))
    assert path.stat().st_size < 5_000_000 / 100
    assert datasets.from_npz(path).base_rate == 0.1


@pytest.mark.parametrize("shape", [(10**9, 10**3), (10**15, 2)])
def test_a_header_that_claims_more_than_there_is_is_refused(shape, tmp_path):
    path = tmp_path / "claim.npz"
    archive(path, X=header(shape), y=header((10,)))
    refused(path, datasets.from_npz, "cannot be read as .npz")


def test_a_header_that_is_too_long_is_named_without_advice_to_trust_it(tmp_path):
    path = tmp_path / "long.npz"
    shape = (1,) * 10_000
    archive(path, X=header(shape), y=header((10,)))
    with pytest.raises(ValueError, match="long.npz cannot be read as .npz") as raised:
        datasets.from_npz(path)
    assert len(str(raised.value)) < 500 and "trust" not in str(raised.value)


def test_a_name_of_a_million_characters_does_not_fill_the_terminal(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a" * 1_000_000 + ",b\n1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(ValueError, match="'y' .*is not in the table") as raised:
        datasets.from_csv(path, "y", None)
    assert len(str(raised.value)) < 1000


def test_the_name_of_a_file_says_nothing_to_a_terminal(tmp_path):
    rows = "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(9))
    path = tmp_path / "a\x1b[2Jb.csv"
    path.write_text(rows, encoding="utf-8")
    assert datasets.from_csv(path, "y", None).name == r"a\x1b[2Jb"
    result = CliRunner().invoke(main, ["compare", str(path), "--label", "z"], color=True)
    assert result.exit_code == 1 and "\x1b" not in result.output
    assert r"a\x1b[2Jb.csv: label column 'z'" in result.output


def test_an_archive_with_damaged_streams_is_refused(tmp_path):
    path = tmp_path / "damaged.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(50, 2)), y=np.zeros(50))
    content = bytearray(path.read_bytes())
    content[300:320] = bytes(20)
    path.write_bytes(content)
    refused(path, datasets.from_npz, "cannot be read as .npz")


@pytest.mark.parametrize("name", ["rows.csv", "rows.npz", "rows.npy", "rows.parquet"])
def test_a_pipe_does_not_block(name, tmp_path):
    path = tmp_path / name
    os.mkfifo(path)
    if not name.endswith("npz"):
        refused(path, read, "is no regular file")
    if name in ("rows.csv", "rows.npz"):
        refused(path, lambda p: datasets.from_folder(p.parent, "y", "1"), "is no regular file")


def test_a_file_with_holes_is_refused_in_little_memory(tmp_path):
    path = tmp_path / "holes.csv"
    path.write_text("a,b,y\n1,2,0\n", encoding="utf-8")
    os.truncate(path, 6 * 2**30)
    code = f"""
import resource
from bsvdd.comparison.scenarios import datasets
from bsvdd import SVDD
import pandas, sklearn.model_selection
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for call in (lambda p: datasets.from_csv(p, "y", "1"), lambda p: SVDD().fit(p, "y")):
    try:
        call({str(path)!r})
    except ValueError as error:
        print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    *errors, kilobytes = done.stdout.splitlines()
    assert errors == [f"{path} has NUL bytes, so it is not CSV in UTF-8; expected a text file"] * 2
    assert int(kilobytes) < 200_000


def test_numbers_of_thousands_of_digits_in_a_table(tmp_path):
    path = tmp_path / "digits.csv"
    path.write_text(f"a,b,y\n{MANY},1,0\n" + "1,2,0\n3,4,1\n" * 9, encoding="utf-8")
    numeric = SVDD(kernel=kernels.Standardized(kernels.RBF()))  # no kernel of categories
    refused(path, lambda p: numeric.fit(p, "y"), "column 'a' is not numeric")
    with pytest.raises(ValueError, match=r"but not '9{39} of row 0 .counted from 0.: mend"):
        datasets.from_csv(path, "y", "1")
    path.write_text(f"a,b,y\n1,1,{MANY}\n" + "1,2,0\n3,4,1\n" * 9, encoding="utf-8")
    refused(path, lambda p: SVDD().fit(p, "y"), "y has the labels '99")


STORED = {
    "deep": "[" * DEEP + "]" * DEEP,
    "digits": '{"format": ' + MANY + "}",
    "large": "[" + "1," * 600_000 + "1]",
}


@pytest.mark.parametrize("name", STORED)
def test_a_hostile_result_in_a_store_is_left_as_it_is(name, tmp_path):
    (tmp_path / "bad.json").write_text(STORED[name], encoding="utf-8")
    assert list(Store(tmp_path).foreign) == ["bad.json"]


def test_pipes_and_holes_in_a_store_are_left_as_they_are(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "holes.json").touch()
    os.truncate(tmp_path / "holes.json", 6 * 2**30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert set(Store(tmp_path).foreign) == {"pipe.json", "holes.json"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
