"""A study under faults: killed runs and full disks.

Whatever dies, what is stored stays as it is, the same study goes on from there, and its table is
that of a run that nothing disturbed.
"""

import errno
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
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.runner import Study
from bsvdd.comparison.run.store import Store
from bsvdd.comparison.scenarios.generators import Shape
from bsvdd.comparison.scenarios.slides import Slides

from tests.bsvdd.test_cli_study import call, small  # noqa: F401
from tests.comparison.helpers import (
    PROCESSES,
    WAIT,
    assert_kept,
    assert_same,
    computed_cells,
    kill,
    run_and_die,
    start_run,
    stored,
    wait_for,
)

STUDY = Study(
    "faults",
    [Shape("ring", 60, 80), Slides(v=0, n_train=60, n_test=50, p=5)],
    [Candidate(name, name) for name in ("SVDD", "OCSVM", "BDD")],
    Protocol(draws=50, tune=50),
    replicates=11,
)
FEW = replace(STUDY, replicates=3)
N = len(STUDY.cells())
KILLS = [4, pytest.param(20, marks=pytest.mark.long)]

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.usefixtures("forked"),
]


@pytest.fixture(scope="module")
def alone():
    """Return the undisturbed table of STUDY, and the seconds that a cell takes."""
    start = time.monotonic()
    table = STUDY.run()
    assert (table["error"] == "").all()
    return table, (time.monotonic() - start) / N


def few(table):
    """Return the rows of FEW in the table of STUDY."""
    return table[table["replicate"] < FEW.replicates].reset_index(drop=True)


@pytest.mark.slow
@pytest.mark.parametrize("kills", KILLS)
def test_a_runner_killed_many_times_loses_nothing_and_repeats_nothing(alone, tmp_path, kills):
    """At seeded moments between its start and the second cell after those that it finds."""
    table, seconds = alone
    rng = np.random.default_rng(20)
    seen = {}
    for _ in range(kills):
        runner, reports = start_run(STUDY, tmp_path)
        wait_for(reports, 1 + rng.choice([0, len(seen), len(seen) + 1]))
        time.sleep(rng.uniform(0, seconds))
        kill(runner)
        seen = assert_kept(seen, tmp_path)
        assert Store(tmp_path).foreign == {}
    assert 0 < len(seen) < N
    assert_same(table, STUDY.run(Store(tmp_path)))
    assert len(assert_kept(seen, tmp_path)) == N
    again = STUDY.run(Store(tmp_path))
    assert again[["fit_seconds", "score_seconds"]].equals(
        STUDY.run(Store(tmp_path))[["fit_seconds", "score_seconds"]]
    )


def test_a_run_killed_while_it_writes_goes_on_from_there(alone, tmp_path, monkeypatch):
    runner = PROCESSES.Process(target=run_and_die, args=(FEW, tmp_path))
    runner.start()
    runner.join(WAIT)
    assert runner.exitcode == -signal.SIGKILL
    assert len(list(tmp_path.glob("*.json"))) == 2
    assert len(list(tmp_path.glob(".*.part"))) == 1
    cells = computed_cells(monkeypatch)
    assert_same(few(alone[0]), FEW.run(Store(tmp_path)))
    assert len(cells) == len(FEW.cells()) - 2


# --- full disks ---------------------------------------------------------------------------

FULL = r"No space left on device; nothing was written.*unchanged: free some space and try again"


@pytest.mark.parametrize("seed", range(3))
def test_a_disk_that_is_full_at_any_byte_leaves_a_whole_store(seed, alone, tmp_path, monkeypatch):
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
        assert Path(caught.value.filename).parent == tmp_path
        seen = assert_kept(seen, tmp_path)
        assert len(seen) == n == len(list(tmp_path.iterdir()))
    assert_same(few(alone[0]), FEW.run(Store(tmp_path)))
    assert len(assert_kept(seen, tmp_path)) == len(FEW.cells())


class Disk:
    """A small file system in memory, of which some may be taken by ballast."""

    def __init__(self, folder):
        self.folder, self.ballast = folder, folder / "ballast"

    def leave(self, room):
        """Leave ``room`` bytes, in whole pages."""
        self.ballast.write_bytes(b"")
        self.ballast.write_bytes(bytes(max(0, shutil.disk_usage(self.folder).free - room)))


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk to fill needs the right to mount one (root)")
    yield Disk(folder)
    subprocess.run(["umount", str(folder)], check=True)


def test_a_study_on_a_full_disk_goes_on_when_there_is_room(disk, alone):
    cells = disk.folder / "cells"
    store = Store(cells)
    disk.leave(6 * 4096)
    with pytest.raises(OSError, match=FULL):
        FEW.run(store)
    seen = stored(cells)
    assert 0 < len(seen) == len(list(cells.iterdir())) < len(FEW.cells())
    disk.leave(2**20)
    assert_same(few(alone[0]), FEW.run(Store(cells)))
    assert len(assert_kept(seen, cells)) == len(FEW.cells())


def test_tables_and_pages_on_a_full_disk_are_one_line_and_whole(disk, small, monkeypatch):  # noqa: F811
    command = ("study", "slides", "--out", disk.folder / "out", "--jobs", 1)
    out = disk.folder / "out"
    assert call(*command).exit_code == 0
    whole = {p.name: p.read_bytes() for p in out.iterdir() if p.is_file()}
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("computed again"))
    for room in range(0, sum(map(len, whole.values())), 150_000):
        for name in whole:
            (out / name).unlink(missing_ok=True)
        disk.leave(room)
        result = call(*command)
        assert result.exit_code == 1
        assert "Traceback" not in result.output
        assert len(re.findall(rf"^Error: .*{FULL}: '{disk.folder}", result.output, re.M)) == 1
        for path in out.glob("*.csv"):
            assert path.read_bytes() == whole[path.name]
        assert not list(out.glob(".*.part"))
    disk.leave(2**21)
    assert call(*command).exit_code == 0
    assert {p.name for p in out.iterdir() if p.is_file()} == set(whole)


def test_an_estimator_is_saved_whole_or_not_at_all(disk, fitted):
    from bsvdd import load

    est, path = fitted("BDD"), disk.folder / "model.nc"
    est.save(path)
    whole = path.read_bytes()
    for room in np.linspace(0, len(whole) - 8192, 8).astype(int):
        disk.leave(room)
        with pytest.raises(OSError, match=FULL):
            est.save(path)
        assert path.read_bytes() == whole
    assert load(path).cutoff_ == est.cutoff_
    assert sorted(p.name for p in disk.folder.iterdir()) == ["ballast", "model.nc"]
