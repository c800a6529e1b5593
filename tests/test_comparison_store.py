"""The store: each cell once, whole files only, nothing of others touched, run by any workers."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison import datasets
from bsvdd.comparison import store as stores
from bsvdd.comparison.cell import Cell
from bsvdd.comparison.protocol import Candidate, Protocol
from bsvdd.comparison.runner import Study
from bsvdd.comparison.setting import Real
from bsvdd.comparison.shapes import Shape
from bsvdd.comparison.slides import Slides
from bsvdd.comparison.store import Store, describe
from bsvdd.comparison.workers import Workers

from bsvdd import kernels, priors

TIMES = ["fit_seconds", "score_seconds"]
STUDY = Study(
    "small",
    [Shape("ring", 60, 80), Slides(v=0, n_train=60, n_test=50, p=5)],
    [Candidate("SVDD", "SVDD"), Candidate("BDD", "BDD")],
    Protocol(draws=50, tune=50),
    replicates=2,
)
N = 8
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def alone():
    table = STUDY.run()
    assert (table["error"] == "").all()
    return table


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with all results."""
    folder = tmp_path_factory.mktemp("store")
    STUDY.run(Store(folder))
    return folder


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of the folder with all results, to change."""
    for path in finished.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def assert_same(a, b):
    pd.testing.assert_frame_equal(
        a.drop(columns=TIMES), b.drop(columns=TIMES), check_exact=True, check_like=True
    )


def computed(monkeypatch):
    """Return the list that cells add themselves to when they are computed."""
    told, run = [], Cell.run

    def counted(self):
        told.append(self)
        return run(self)

    monkeypatch.setattr(Cell, "run", counted)
    return told


def test_one_file_a_cell_and_a_second_run_computes_nothing(alone, finished, monkeypatch):
    assert len(list(finished.iterdir())) == N
    told, seen = computed(monkeypatch), []
    again = STUDY.run(Store(finished), on_cell=seen.append)
    assert told == []
    assert [p.done for p in seen] == list(range(1, N + 1))
    assert_same(alone, again)


def test_only_what_is_missing_is_computed(alone, folder, monkeypatch):
    gone = sorted(folder.iterdir())[2:5]
    for path in gone:
        path.unlink()
    told = computed(monkeypatch)
    assert_same(alone, STUDY.run(Store(folder)))
    assert len(told) == 3
    assert all(path.exists() for path in gone)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"protocol": Protocol(draws=51, tune=50)},
        {"protocol": Protocol(kernels.Standardized(kernels.RBF("median")), draws=50, tune=50)},
        {"candidates": [Candidate("SVDD", "SVDD", {"C": 0.5}), Candidate("BDD", "SVDD")]},
        {"settings": [Shape("ring", 60, 81), Slides(v=0.1, n_train=60, n_test=50, p=5)]},
    ],
)
def test_other_settings_are_other_cells(change, finished):
    store = Store(finished)
    assert all(store.name(cell) in store for cell in STUDY.cells())
    assert not any(store.name(cell) in store for cell in replace(STUDY, **change).cells())


def test_more_replicates_keep_what_is_there(finished):
    store = Store(finished)
    more = replace(STUDY, replicates=3).cells()
    assert sum(store.name(cell) in store for cell in more) == N


def test_rows_of_a_real_set_are_part_of_its_name():
    data = datasets.moon()
    moved = datasets.Dataset(data.name, data.X + 1e-12, data.minority)
    assert describe(Real(data)) == describe(Real(datasets.moon()))
    assert describe(Real(data)) != describe(Real(moved))
    assert describe(Real(data)) != describe(Real(datasets.Dataset("moon", data.X, ~data.minority)))


def test_functions_cannot_be_part_of_a_store():
    with pytest.raises(TypeError, match="no name that lasts"):
        describe(Candidate("x", "BSVDD", {"prior": lambda gram, name, dims: None}))
    said = describe({"prior": priors.RowSum(sd=np.float64(2)), "df": float("inf")})
    assert json.loads(json.dumps(said, allow_nan=False)) == {
        "prior": {"type": "RowSum", "sd": 2.0, "exponent": 1.0},
        "df": "inf",
    }


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_comparison_store import STUDY
from bsvdd.comparison.store import Store

count, replace = 0, os.replace

def kill(*names):
    global count
    count += 1
    if count == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(*names)

os.replace = kill
STUDY.run(Store(Path(sys.argv[2])))
"""


def test_a_run_killed_while_it_writes_goes_on_from_there(alone, tmp_path, monkeypatch):
    here = os.path.dirname(__file__)
    run = subprocess.run([sys.executable, "-c", KILLED, here, str(tmp_path)], check=False)
    assert run.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert len(list(tmp_path.glob(".*.part"))) == 1
    told = computed(monkeypatch)
    assert_same(alone, STUDY.run(Store(tmp_path)))
    assert len(told) == N - 2


def test_processes_give_the_same_table(alone, tmp_path):
    assert_same(alone, STUDY.run(Store(tmp_path), Workers(2)))
    assert len(list(tmp_path.iterdir())) == N


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x04\x95cos\nsystem\n", b"{}", b"[1]", b'{"format": 1', b'"text"'],
)
def test_a_file_that_is_no_result_is_named_and_left(content, folder, monkeypatch):
    (folder / "notes.txt").write_bytes(content)
    store = Store(folder)
    assert "no result of a study" in store.foreign["notes.txt"]
    told = computed(monkeypatch)
    STUDY.run(store)
    assert told == []
    assert (folder / "notes.txt").read_bytes() == content


def test_a_damaged_result_is_not_overwritten(folder, monkeypatch):
    path = sorted(folder.iterdir())[0]
    path.write_bytes(path.read_bytes()[:100])
    told = computed(monkeypatch)
    with pytest.raises(ValueError, match=rf"{path.name} stands in the place of a result.*move it"):
        STUDY.run(Store(folder))
    assert told == [] and len(path.read_bytes()) == 100


def test_a_result_under_the_name_of_another_is_none(folder):
    a, b = sorted(folder.iterdir())[:2]
    a.write_bytes(b.read_bytes())
    assert Store(folder).foreign == {a.name: "its name is not that of its content"}


def test_a_store_of_another_version_is_explained(folder, monkeypatch):
    monkeypatch.setattr(stores, "version", lambda _: "9.9")
    with pytest.raises(ValueError, match=r"holds results of bsvdd 0\..* and this is bsvdd 9.9"):
        Store(folder)
    assert len(list(folder.iterdir())) == N


def test_failed_cells_are_kept_and_computed_again_on_request(tmp_path, monkeypatch):
    study = replace(STUDY, candidates=[Candidate("SVDD", "SVDD", {"C": 1e-4})], replicates=1)
    table = study.run(Store(tmp_path))
    assert table["error"].str.contains("C").sum() == 2
    told = computed(monkeypatch)
    seen = []
    study.run(Store(tmp_path), on_cell=seen.append)
    assert told == [] and seen[-1].failed == 2
    study.run(Store(tmp_path), retry=True)
    assert len(told) == 2


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        Store(tmp_path / "file" / "store")


@pytest.mark.parametrize("jobs", [0, -2])
def test_jobs_that_are_none_are_refused(jobs):
    with pytest.raises(ValueError, match="jobs must be at least 1, or -1"):
        Workers(jobs)
