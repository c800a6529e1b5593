"""The store: each cell once, whole files only, damaged ones again; killed runs, full disks.

Whatever dies, what is stored stays as it is, the same study goes on from there, and its table is
that of a run that nothing disturbed.
"""

import errno
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bsvdd.comparison.run import store as stores
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.store import Store, describe
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.generators import Shape
from bsvdd.comparison.scenarios.scenario import Real
from bsvdd.comparison.scenarios.slides import Slides
from bsvdd.inference.warning import DataWarning

from bsvdd import kernels, priors
from tests.bsvdd.test_cli_study import call, small  # noqa: F401
from tests.comparison.helpers import (
    PROCESSES,
    STUDY,
    WAIT,
    N,
    assert_kept,
    assert_same,
    computed_cells,
    kill,
    run_and_die,
    start_run,
    stored,
    wait_for,
)

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
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_one_file_a_cell_and_only_what_is_missing_is_computed(alone, folder, monkeypatch):
    assert len(list(folder.iterdir())) == N
    cells, seen = computed_cells(monkeypatch), []
    assert_same(alone, STUDY.run(Store(folder), on_cell=seen.append))
    assert cells == [] and [p.done for p in seen] == list(range(1, N + 1))
    gone = sorted(folder.iterdir())[2:5]
    for path in gone:
        path.unlink()
    assert_same(alone, STUDY.run(Store(folder)))
    assert len(cells) == 3 and all(path.exists() for path in gone)


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, N),
        ({"replicates": 3}, N),
        ({"seed": 1}, 0),
        ({"protocol": Protocol(draws=51, tune=50)}, 0),
        ({"protocol": Protocol(kernels.Tabular(kernels.RBF("median")), draws=50)}, 0),
        ({"candidates": [Candidate("SVDD", "SVDD", {"C": 0.5}), Candidate("BDD", "SVDD")]}, 0),
        ({"scenarios": [Shape("ring", 60, 81), Slides(v=0.1, n_train=60, n_test=50, p=5)]}, 0),
    ],
)
def test_other_studies_have_other_cells(change, known, finished):
    found = map(Store(finished).get, replace(STUDY, **change).cells())
    assert sum(row is not None for row in found) == known


def test_a_description_tells_what_differs_and_nothing_else():
    data = datasets.moon()
    moved = replace(data, X=data.X + 1e-12)
    classes = replace(data, minority=~data.minority)
    named = replace(data, row_names=np.arange(len(data.X)))
    assert describe(Real(data)) == describe(Real(datasets.moon())) == describe(Real(named))
    assert describe(Real(data)) not in (describe(Real(moved)), describe(Real(classes)))
    labelled = Candidate("BDD, flat", "BDD", choice="flat")
    assert describe(labelled) == describe(Candidate("BDD, flat", "BDD"))
    described = {"prior": priors.RowSum(sd=np.float64(2)), "df": float("inf"), "n": np.int64(3)}
    assert json.loads(describe(described)) == {
        "prior": {"type": "RowSum", "sd": 2.0, "exponent": 1.0},
        "df": float("inf"),
        "n": 3,
    }
    with pytest.raises(TypeError, match="no permanent name"):
        describe(Candidate("x", "BSVDD", {"prior": lambda gram, name, dims: None}))


def test_data_that_cells_share_are_hashed_once(monkeypatch, tmp_path):
    hashed, sha256 = [], hashlib.sha256
    monkeypatch.setattr(
        stores.hashlib, "sha256", lambda content: hashed.append(len(content)) or sha256(content)
    )
    data = datasets.moon()
    study = replace(STUDY, scenarios=[Real(data)])
    study.run(Store(tmp_path))
    assert hashed.count(data.X.nbytes) == 1
    assert len(list(tmp_path.iterdir())) == len(study.cells())


DAMAGED = {
    "empty": b"",
    "pickle": b"\x80\x04\x95cos\nsystem\n",
    "object": b"{}",
    "list": b"[1]",
    "number": b"1",
    "deep": b"[" * 200_000 + b"]" * 200_000,
    "digits": b'{"row": ' + b"9" * 5_000 + b"}",
}


def test_a_damaged_edited_or_renamed_result_is_computed_again(alone, folder, monkeypatch):
    cells = computed_cells(monkeypatch)
    a, b = sorted(folder.iterdir())[:2]
    whole = a.read_bytes()
    record = json.loads(whole)
    edits = ({"g_mean": 0.99}, {"g_mean": True}, {"g_mean": np.nan}, {"data": "another set"})
    edited = (json.dumps(record | {"row": record["row"] | each}).encode() for each in edits)
    contents = [*DAMAGED.values(), whole[:100], b.read_bytes(), *edited]
    for content in contents:
        a.write_bytes(content)
        store = Store(folder)
        with pytest.warns(DataWarning, match=f"{a.name} is damaged; its cell is computed") as told:
            found = [store.get(cell) for cell in STUDY.cells()]
        assert found.count(None) == 1 == len(told)
    with pytest.warns(DataWarning, match=f"{a.name} is damaged"):
        assert_same(alone, STUDY.run(Store(folder)))
    assert len(cells) == 1
    assert_same(alone, STUDY.run(Store(folder)))
    assert len(cells) == 1


def test_other_files_and_results_of_another_version_are_left(folder, monkeypatch):
    (folder / "file").touch()
    with pytest.raises(OSError, match="file"):
        Store(folder / "file" / "store")
    before = stored(folder)
    monkeypatch.setattr(stores, "version", lambda _: "9.9")
    cells = computed_cells(monkeypatch)
    STUDY.run(Store(folder))
    assert len(cells) == N == len(assert_kept(before, folder)) - N
    assert (folder / "file").read_bytes() == b""


def test_failed_cells_are_kept_and_computed_again_on_request(tmp_path, monkeypatch):
    study = replace(STUDY, candidates=[Candidate("SVDD", "SVDD", {"C": 1e-4})], replicates=1)
    assert study.run(Store(tmp_path))["error"].str.contains("C").sum() == 2
    cells, seen = computed_cells(monkeypatch), []
    study.run(Store(tmp_path), on_cell=seen.append)
    assert cells == [] and seen[-1].failed == 2
    study.run(Store(tmp_path), retry=True)
    assert len(cells) == 2


# killed runs

MANY = replace(STUDY, replicates=11)
FEW = replace(STUDY, replicates=3)


@pytest.fixture(scope="module")
def few():
    """Return the undisturbed table of FEW."""
    return FEW.run()


@pytest.mark.slow
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.usefixtures("forked")
def test_a_runner_killed_many_times_loses_nothing_and_repeats_nothing(tmp_path, kills):
    """At seeded moments between its start and the second cell after those that it finds."""
    start = time.monotonic()
    table = MANY.run()
    seconds = (time.monotonic() - start) / len(MANY.cells())
    rng = np.random.default_rng(20)
    seen = {}
    for _ in range(kills):
        runner, reports = start_run(MANY, tmp_path)
        wait_for(reports, 1 + rng.choice([0, len(seen), len(seen) + 1]))
        time.sleep(rng.uniform(0, seconds))
        kill(runner)
        seen = assert_kept(seen, tmp_path)
        store = Store(tmp_path)
        assert sum(store.get(cell) is not None for cell in MANY.cells()) == len(seen)
    assert 0 < len(seen) < len(MANY.cells())
    assert_same(table, MANY.run(Store(tmp_path)))
    assert len(assert_kept(seen, tmp_path)) == len(MANY.cells())


@pytest.mark.usefixtures("forked")
def test_a_run_killed_while_it_writes_goes_on_from_there(few, tmp_path, monkeypatch):
    runner = PROCESSES.Process(target=run_and_die, args=(FEW, tmp_path))
    runner.start()
    runner.join(WAIT)
    assert runner.exitcode == -signal.SIGKILL
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert len(list(tmp_path.glob(".*.part"))) == 1
    cells = computed_cells(monkeypatch)
    assert_same(few, FEW.run(Store(tmp_path)))
    assert len(cells) == len(FEW.cells()) - 2


# full disks

FULL = r"No space left on device; nothing was written.*unchanged: free some space and try again"


@pytest.mark.parametrize("seed", range(3))
def test_a_disk_that_is_full_at_any_byte_leaves_a_whole_store(seed, few, tmp_path, monkeypatch):
    """The third and the sixth write have room for some bytes only."""
    rng = np.random.default_rng(seed)
    write, written = Path.write_text, []

    def full(path, text, **options):
        written.append(path)
        if len(written) in (3, 6):
            write(path, text[: rng.integers(len(text))], **options)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", full)
    seen = {}
    for n in (2, 4):
        with pytest.raises(OSError, match=FULL) as caught:
            FEW.run(Store(tmp_path))
        assert caught.value.errno == errno.ENOSPC
        seen = assert_kept(seen, tmp_path)
        assert len(seen) == n == len(list(tmp_path.iterdir()))
    assert_same(few, FEW.run(Store(tmp_path)))
    assert len(assert_kept(seen, tmp_path)) == len(FEW.cells())


def leave(folder, room):
    """Leave ``room`` bytes on a disk, in whole pages."""
    (folder / "ballast").write_bytes(b"")
    (folder / "ballast").write_bytes(bytes(max(0, shutil.disk_usage(folder).free - room)))


@pytest.fixture
def disk(tmp_path):
    """A small file system in memory."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk to fill needs the right to mount one (root)")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_tables_and_pages_on_a_full_disk_are_one_line_and_whole(disk, small, monkeypatch):  # noqa: F811
    command = ("study", "slides", "--out", disk / "out", "--jobs", 1)
    out = disk / "out"
    assert call(*command).exit_code == 0
    whole = {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("computed again"))
    for room in range(0, sum(map(len, whole.values())), 150_000):
        for name in whole:
            (out / name).unlink(missing_ok=True)
        leave(disk, room)
        result = call(*command)
        assert result.exit_code == 1
        assert "Traceback" not in result.output
        assert len(re.findall(rf"^Error: .*{FULL}: '{disk}", result.output, re.M)) == 1
        assert all(path.read_bytes() == whole[path.name] for path in out.glob("*.csv"))
        assert not list(out.glob(".*.part"))
    leave(disk, 2**21)
    assert call(*command).exit_code == 0
    assert {p.name for p in out.iterdir() if p.is_file()} == set(whole)
