"""Data sets: the embedded ones, and tables of the user's."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets


def test_embedded_set_has_its_published_counts():
    data = datasets.embedded("wine_cultivar3")
    assert data.X.shape == (178, 13)
    assert data.minority.sum() == 48
    assert data.base_rate == pytest.approx(48 / 178)


def test_there_are_thirteen_sets_and_the_defaults_are_among_them():
    assert len(datasets.names()) == 13
    assert set(datasets.DEFAULT) <= set(datasets.names())


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown data set 'iris'.*wine_cultivar3"):
        datasets.embedded("iris")


def test_moon_is_the_same_for_the_same_seed_and_imbalanced():
    a, b = datasets.moon(seed=3), datasets.moon(seed=3)
    np.testing.assert_array_equal(a.X, b.X)
    assert (a.minority.sum(), (~a.minority).sum()) == (15, 150)


@pytest.fixture
def folder(tmp_path):
    data = datasets.moon(n0=20, n1=5)
    np.savez(tmp_path / "b.npz", X=data.X, y=data.minority.astype(int))
    pd.DataFrame(data.X, columns=["u", "v"]).assign(kind=data.minority.astype(int)).to_csv(
        tmp_path / "a.csv", index=False
    )
    (tmp_path / "notes.txt").write_text("no data")
    return tmp_path


def test_a_folder_gives_its_npz_and_csv_files(folder):
    a, b = datasets.from_folder(folder, "kind", None)
    truth = datasets.moon(n0=20, n1=5)
    for data, name in ((a, "a"), (b, "b")):
        assert data.name == name
        np.testing.assert_allclose(data.X, truth.X)
        np.testing.assert_array_equal(data.minority, truth.minority)


def test_labels_of_npz_files_can_be_text(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(3), y=np.array(["in", "out", "in"]))
    assert datasets.from_npz(tmp_path / "x.npz", "out").minority.tolist() == [False, True, False]


class Loud:
    def __reduce__(self):
        return print, ("executed",)


def test_pickled_arrays_are_refused_and_not_executed(tmp_path, capsys):
    np.savez(tmp_path / "x.npz", X=np.array([[Loud()]], dtype=object), y=np.zeros(1))
    with pytest.raises(ValueError, match=r"x.npz cannot be read as .npz with arrays X and y"):
        datasets.from_npz(tmp_path / "x.npz")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(2)}, "cannot be read as .npz with arrays X and y"),
        ({"X": np.eye(2), "y": np.zeros(3)}, r"got X \(2, 2\) of float64, y \(3,\)"),
        ({"X": np.array([["a"]]), "y": np.zeros(1)}, "must be a table of numbers"),
        ({"X": np.eye(2), "y": np.zeros(2)}, "x.npz: .*minor_label="),
    ],
)
def test_bad_npz_files_are_named(tmp_path, arrays, message):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        datasets.from_folder(tmp_path, None, None)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"\x80\x04cos"])
def test_a_file_that_is_no_npz_is_said_to_be_none(tmp_path, content):
    (tmp_path / "x.npz").write_bytes(content)
    with pytest.raises(ValueError, match="cannot be read as .npz"):
        datasets.from_npz(tmp_path / "x.npz")


def test_a_folder_without_data_or_without_label_is_an_error(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="has no .npz and no .csv file"):
        datasets.from_folder(tmp_path / "empty", None, None)
    with pytest.raises(ValueError, match=r"a.csv needs .* --label COLUMN"):
        datasets.from_folder(folder, None, None)
