"""The store: each cell once, whole files only, nothing of others touched."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from bsvdd.comparison.run import store as stores
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.store import Store, describe
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.generators import Shape
from bsvdd.comparison.scenarios.scenario import Real
from bsvdd.comparison.scenarios.slides import Slides

from bsvdd import kernels, priors
from tests.comparison.helpers import STUDY, N, assert_same, computed_cells

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


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


def test_one_file_a_cell_and_a_second_run_computes_nothing(alone, finished, monkeypatch):
    assert len(list(finished.iterdir())) == N
    cells, seen = computed_cells(monkeypatch), []
    again = STUDY.run(Store(finished), on_cell=seen.append)
    assert cells == []
    assert [p.done for p in seen] == list(range(1, N + 1))
    assert_same(alone, again)


def test_only_what_is_missing_is_computed(alone, folder, monkeypatch):
    gone = sorted(folder.iterdir())[2:5]
    for path in gone:
        path.unlink()
    cells = computed_cells(monkeypatch)
    assert_same(alone, STUDY.run(Store(folder)))
    assert len(cells) == 3
    assert all(path.exists() for path in gone)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"protocol": Protocol(draws=51, tune=50)},
        {"protocol": Protocol(kernels.Standardized(kernels.RBF("median")), draws=50, tune=50)},
        {"candidates": [Candidate("SVDD", "SVDD", {"C": 0.5}), Candidate("BDD", "SVDD")]},
        {"scenarios": [Shape("ring", 60, 81), Slides(v=0.1, n_train=60, n_test=50, p=5)]},
    ],
)
def test_other_studies_have_other_cells(change, finished):
    store = Store(finished)
    assert all(map(store.get, store.keys(STUDY.cells())))
    assert not any(map(store.get, store.keys(replace(STUDY, **change).cells())))


def test_more_replicates_keep_what_is_there(finished):
    store = Store(finished)
    more = replace(STUDY, replicates=3).cells()
    assert sum(store.get(key) is not None for key in store.keys(more)) == N


def test_rows_of_a_real_set_are_part_of_its_name():
    data = datasets.moon()
    moved = datasets.Dataset(data.name, data.X + 1e-12, data.minority)
    assert describe(Real(data)) == describe(Real(datasets.moon()))
    assert describe(Real(data)) != describe(Real(moved))
    assert describe(Real(data)) != describe(Real(datasets.Dataset("moon", data.X, ~data.minority)))


def test_data_that_cells_share_are_hashed_once(monkeypatch, tmp_path):
    hashed, sha256 = [], hashlib.sha256

    def counted(content):
        hashed.append(len(content))
        return sha256(content)

    monkeypatch.setattr(stores.hashlib, "sha256", counted)
    data = datasets.moon()
    study = replace(STUDY, scenarios=[Real(data)])
    study.run(Store(tmp_path))
    assert hashed.count(data.X.nbytes) == 1
    assert len(list(tmp_path.iterdir())) == len(study.cells())


def test_a_label_of_a_name_is_no_part_of_a_cell():
    labelled = Candidate("BDD, flat", "BDD", choice="flat")
    assert describe(labelled) == describe(Candidate("BDD, flat", "BDD"))


def test_functions_cannot_be_part_of_a_store():
    with pytest.raises(TypeError, match="no permanent name"):
        describe(Candidate("x", "BSVDD", {"prior": lambda gram, name, dims: None}))
    description = describe({"prior": priors.RowSum(sd=np.float64(2)), "df": float("inf")})
    assert json.loads(json.dumps(description, allow_nan=False)) == {
        "prior": {"type": "RowSum", "sd": 2.0, "exponent": 1.0},
        "df": "inf",
    }


@pytest.mark.parametrize(
    "content",
    [b"", b"\x80\x04\x95cos\nsystem\n", b"{}", b"[1]", b'{"format": 1', b'"text"'],
)
def test_a_file_that_is_no_result_is_named_and_left(content, folder, monkeypatch):
    (folder / "notes.txt").write_bytes(content)
    store = Store(folder)
    assert "no result of a study" in store.foreign["notes.txt"]
    cells = computed_cells(monkeypatch)
    STUDY.run(store)
    assert cells == []
    assert (folder / "notes.txt").read_bytes() == content


def test_a_damaged_result_is_not_overwritten(folder, monkeypatch):
    path = sorted(folder.iterdir())[0]
    path.write_bytes(path.read_bytes()[:100])
    cells = computed_cells(monkeypatch)
    with pytest.raises(ValueError, match=rf"{path.name} has the name of a result.*move it"):
        STUDY.run(Store(folder))
    assert cells == [] and len(path.read_bytes()) == 100


def test_a_result_under_the_name_of_another_is_none(folder):
    a, b = sorted(folder.iterdir())[:2]
    a.write_bytes(b.read_bytes())
    assert Store(folder).foreign == {a.name: "its name is not the hash of its content"}


def test_a_store_of_another_version_is_explained(folder, monkeypatch):
    monkeypatch.setattr(stores, "version", lambda _: "9.9")
    with pytest.raises(ValueError, match=r"holds results of bsvdd 0\..* and this is bsvdd 9.9"):
        Store(folder)
    assert len(list(folder.iterdir())) == N


def test_failed_cells_are_kept_and_computed_again_on_request(tmp_path, monkeypatch):
    study = replace(STUDY, candidates=[Candidate("SVDD", "SVDD", {"C": 1e-4})], replicates=1)
    table = study.run(Store(tmp_path))
    assert table["error"].str.contains("C").sum() == 2
    cells = computed_cells(monkeypatch)
    seen = []
    study.run(Store(tmp_path), on_cell=seen.append)
    assert cells == [] and seen[-1].failed == 2
    study.run(Store(tmp_path), retry=True)
    assert len(cells) == 2


def test_a_folder_that_cannot_be_written_to_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        Store(tmp_path / "file" / "store")


@pytest.mark.parametrize("edit", [0.99, True, float("nan"), "another set"], ids=repr)
def test_an_edited_value_is_not_believed(edit, tmp_path):
    study = replace(STUDY, replicates=1)
    study.run(Store(tmp_path))
    path = sorted(tmp_path.glob("*.json"))[0]
    record = json.loads(path.read_text())
    record["row"]["data" if isinstance(edit, str) else "g_mean"] = edit
    path.write_text(json.dumps(record))
    assert "values are not those that were written" in Store(tmp_path).foreign[path.name]
