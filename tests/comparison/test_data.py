"""Data sets: those that are embedded, and files of the user's, hostile ones too."""

import hashlib
import io
import re
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.datasets import DATA
from bsvdd.estimators.tables.files import Layout
from click.testing import CliRunner

from bsvdd.cli import main

ROW = re.compile(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+)% \|", re.MULTILINE)
TABLE = {row[0]: row[1:] for row in ROW.findall((DATA / "README.md").read_text(encoding="utf-8"))}


def test_files_are_those_that_are_pinned_and_have_sources():
    lines = (DATA / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    sums = dict(reversed(line.split(None, 1)) for line in lines)
    found = datasets.records()
    files = {path.name for path in DATA.iterdir() if path.name.endswith(".npz")}
    assert files == set(sums) == {f"{name}.npz" for name in found} and len(files) == 13
    for name, digest in sums.items():
        assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest
    for source in found.values():
        assert source["url"].startswith("https://archive.ics.uci.edu/dataset/")
        assert all(source[key] for key in ("origin", "licence", "copy", "conversion"))


@pytest.mark.parametrize("name", datasets.names())
def test_embedded_sets_are_as_their_table_says(name):
    n, p, n1, share = TABLE[name]
    data = datasets.embedded(name)
    assert data.X.dtype == np.float64 and data.X.shape == (int(n), int(p))
    assert np.isfinite(data.X).all()
    assert data.minority.sum() == int(n1)
    assert 100 * data.base_rate == pytest.approx(float(share), abs=0.051)
    assert set(datasets.DEFAULT) | set(datasets.QUICK) <= set(datasets.names()) == set(TABLE)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown data set 'iris'.*wine_cultivar3"):
        datasets.embedded("iris")


# files of the user's


def test_a_folder_gives_its_npz_and_csv_files(tmp_path):
    truth = datasets.moon(n0=20, n1=5)
    np.savez(tmp_path / "b.npz", X=truth.X, y=truth.minority.astype(int))
    table = pd.DataFrame(truth.X, columns=["u", "v"]).assign(kind=truth.minority.astype(int))
    table.to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "notes.txt").write_text("no data")
    (tmp_path / "empty").mkdir()
    for data, name in zip(datasets.from_folder(tmp_path, "kind", None), "ab", strict=True):
        assert data.name == name
        np.testing.assert_allclose(data.X, truth.X)
        np.testing.assert_array_equal(data.minority, truth.minority)
    with pytest.raises(ValueError, match=r"has no .npz and no .csv file"):
        datasets.from_folder(tmp_path / "empty", None, None)
    with pytest.raises(ValueError, match=r"a.csv needs .* --label COLUMN"):
        datasets.from_folder(tmp_path, None, None)


def test_archives_of_text_labels_and_of_constant_columns_are_read(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(3), y=np.array(["in", "out", "in"]))
    assert datasets.from_npz(tmp_path / "x.npz", "out").minority.tolist() == [False, True, False]
    path, y = tmp_path / "constant.npz", np.repeat([0, 1], [90_000, 10_000])
    np.savez_compressed(path, X=np.ones((100_000, 5)), y=y)
    assert path.stat().st_size < 5_000_000 / 100
    assert datasets.from_npz(path).base_rate == 0.1


class Loud:
    def __reduce__(self):
        return print, ("executed",)


def header(*shape):
    """Return the bytes of a .npy file that says it has ``shape`` and has one value."""
    file = io.BytesIO()
    of = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(file, of)
    return file.getvalue() + bytes(8)


def claim(*shape):
    def write(path):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("X.npy", header(*shape))
            file.writestr("y.npy", header(10))

    return write


def savez(**arrays):
    return lambda path: np.savez(path, **arrays)


def bomb(path):
    np.savez_compressed(path, X=np.zeros((1_200_000, 10)), y=np.zeros(10))
    assert path.stat().st_size < 200_000


UNREADABLE = "cannot be read as .npz with arrays X and y"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (savez(X=np.eye(2)), UNREADABLE),
        (savez(X=np.eye(2), y=np.zeros(3)), r"got X \(2, 2\) of float64, y \(3,\)"),
        (savez(X=np.array([["a"]]), y=np.zeros(1)), "must be a table of numbers"),
        (savez(X=np.eye(2), y=np.zeros(2)), ".*minor_label="),
        (savez(X=np.array([[Loud()]], dtype=object), y=np.zeros(1)), UNREADABLE),
        (lambda path: path.write_bytes(b""), UNREADABLE),
        (bomb, r"need 9.6e\+07 bytes, expected at most 6.71e\+07 for a file"),
        (claim(10**9, 10**3), UNREADABLE),
    ],
)
def test_bad_archives_are_refused_at_once_and_named(tmp_path, make, message, capsys):
    path, start = tmp_path / "x.npz", time.monotonic()
    make(path)
    with pytest.raises(ValueError, match=message) as raised:
        datasets.from_folder(tmp_path, None, None)
    text = str(raised.value)
    assert str(path) in text and len(text) < 600 and "trust" not in text
    assert capsys.readouterr().out == "" and time.monotonic() - start < 10


def test_the_name_of_a_file_says_nothing_to_a_terminal(tmp_path):
    path = tmp_path / "a\x1b[2Jb.csv"
    path.write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(9)), encoding="utf-8")
    assert datasets.from_csv(path, Layout("y")).name == r"a\x1b[2Jb"
    result = CliRunner().invoke(main, ["compare", str(path), "--label", "z"], color=True)
    assert result.exit_code == 1 and "\x1b" not in result.output
    assert r"a\x1b[2Jb.csv: column 'z' (--label)" in result.output
