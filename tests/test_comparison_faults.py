"""A study under faults: killed runners and workers, lost clusters, full disks.

Whatever dies, what is stored stays as it is, the same study goes on from there, and its table is
that of a run that nothing disturbed.
"""

import asyncio
import errno
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, replace
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import psutil
import pytest
from bsvdd.comparison import workers
from bsvdd.comparison.cell import Cell
from bsvdd.comparison.protocol import Candidate, Protocol
from bsvdd.comparison.runner import Study
from bsvdd.comparison.shapes import Shape
from bsvdd.comparison.slides import Slides
from bsvdd.comparison.store import Store
from bsvdd.comparison.workers import Workers
from distributed import Scheduler, Worker
from test_cli_study import call, small  # noqa: F401
from test_comparison_store import assert_same

STUDY = Study(
    "faults",
    [Shape("ring", 60, 80), Slides(v=0, n_train=60, n_test=50, p=5)],
    [Candidate(name, name) for name in ("SVDD", "OCSVM", "BDD")],
    Protocol(draws=50, tune=50),
    replicates=11,
)
FEW = replace(STUDY, replicates=3)
N = len(STUDY.cells())
KILLS = 20
WAIT = 120  # seconds, for what takes one

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

PROCESSES = multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module", autouse=True)
def server():
    """Start the process that others are forked from: it has imported all that they need."""
    PROCESSES.set_forkserver_preload([__name__, "arviz_stats", "bsvdd.models.symbolic"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent))
        forkserver.ensure_running()


@dataclass(frozen=True)
class Poison(Shape):
    """Kills each process that asks for rows, but ``spared``, until the file ``cured`` is there."""

    spared: int = 0
    cured: str = ""

    def pair(self, seed):
        if os.getpid() != self.spared and not os.path.exists(self.cured):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().pair(seed)


@dataclass(frozen=True)
class Growing(Shape):
    """Leaves .4 GB in each process that asks for rows, and the process's number in ``asked``."""

    asked: str = ""

    def pair(self, seed):
        KEPT.append(np.ones(50_000_000))
        with open(self.asked, "a", encoding="utf-8") as file:
            print(os.getpid(), file=file)
        time.sleep(1.1)  # loky looks at the memory once a second
        return super().pair(seed)


KEPT = []


def test_a_process_that_grows_goes_on(tmp_path):
    """It keeps what it has compiled; by itself loky starts another one at .3 GB."""
    setting = Growing("ring", 60, 80, asked=str(tmp_path / "asked"))
    cells = [Cell(setting, Candidate("SVDD", "SVDD"), Protocol(), i, 0) for i in range(6)]
    assert len(list(Workers(2).run(cells))) == 6
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert len(asked) == 6
    assert len(set(asked)) <= 2


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


def stored(folder):
    """Return {name: bytes} of the results in ``folder``."""
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


def assert_kept(before, folder):
    """Check that nothing that was stored is gone or written again; return what is there now."""
    now = stored(folder)
    assert {name: now.get(name) for name in before} == before
    return now


def run(folder, told, where=Workers()):
    """Run STUDY in a process of its own, which tells of each cell."""
    workers.IDLE = 1
    told.send("started")
    STUDY.run(Store(folder), where, on_cell=told.send)


def start_run(folder, *arguments):
    ours, theirs = PROCESSES.Pipe(duplex=False)
    runner = PROCESSES.Process(target=run, args=(folder, theirs, *arguments))
    runner.start()
    theirs.close()
    return runner, ours


def wait_for(told, n):
    for _ in range(n):
        assert told.poll(WAIT)
        told.recv()


def kill(process):
    process.kill()
    process.join(WAIT)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_runner_killed_twenty_times_loses_nothing_and_repeats_nothing(alone, tmp_path):
    """At seeded moments between its start and the second cell after those that it finds."""
    table, seconds = alone
    rng = np.random.default_rng(20)
    seen = {}
    for _ in range(KILLS):
        runner, told = start_run(tmp_path)
        wait_for(told, 1 + rng.choice([0, len(seen), len(seen) + 1]))
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


@pytest.mark.long
def test_processes_of_a_killed_runner_end_too(alone, tmp_path):
    runner, told = start_run(tmp_path, Workers(2))
    wait_for(told, 4)
    theirs = psutil.Process(runner.pid).children(recursive=True)
    assert len(theirs) >= 2
    kill(runner)
    seen = stored(tmp_path)
    assert len(seen) >= 3
    _, alive = psutil.wait_procs(theirs, timeout=WAIT)
    assert alive == []
    assert_same(alone[0], STUDY.run(Store(tmp_path)))
    assert_kept(seen, tmp_path)


@pytest.mark.slow
def test_a_cell_that_kills_its_process_is_named_and_the_rest_is_stored(tmp_path):
    """Within seconds, as a worker that is killed for memory, or crashes, would."""
    cured = tmp_path / "cured"
    poison = Poison("moons", 60, 80, spared=os.getpid(), cured=str(cured))
    study = replace(FEW, settings=[*FEW.settings, poison], replicates=1)
    folder = tmp_path / "cells"
    with pytest.raises(ChildProcessError, match=r"died at .*moons n=60.*fewer jobs.*goes on from"):
        study.run(Store(folder), Workers(2))
    seen = stored(folder)
    assert Store(folder).foreign == {}
    cured.touch()
    assert_same(study.run(), study.run(Store(folder)))
    assert len(assert_kept(seen, folder)) == len(study.cells())


# --- clusters -----------------------------------------------------------------------------


def serve_scheduler(told, **options):
    async def serve():
        async with Scheduler(port=0, dashboard=False, **options) as scheduler:
            told.send(scheduler.address)
            await scheduler.finished()

    asyncio.run(serve())


def serve_worker(address, nthreads=1):
    async def serve():
        async with Worker(address, nthreads=nthreads, dashboard=False) as worker:
            await worker.finished()

    asyncio.run(serve())


class Cluster:
    """A scheduler and workers without a nanny, each a process that can be killed."""

    def __init__(self, n, **options):
        ours, theirs = PROCESSES.Pipe(duplex=False)
        self.scheduler = PROCESSES.Process(
            target=serve_scheduler, args=(theirs,), kwargs=options, daemon=True
        )
        self.scheduler.start()
        assert ours.poll(WAIT)
        self.address = ours.recv()
        self.workers = []
        self.start(n)

    def start(self, n=1, **options):
        for _ in range(n):
            worker = PROCESSES.Process(
                target=serve_worker, args=(self.address,), kwargs=options, daemon=True
            )
            worker.start()
            self.workers.append(worker)

    def kill(self, which=0):
        kill(self.workers.pop(which))

    def stop(self):
        for process in (*self.workers, self.scheduler):
            process.kill()


@pytest.fixture
def cluster(monkeypatch):
    """Return a function that starts a cluster."""
    monkeypatch.setattr(workers, "CONNECT", 20)
    started = []

    def start(n, **options):
        started.append(Cluster(n, **options))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.mark.slow
def test_twenty_killed_workers_of_a_cluster_cost_only_time(alone, cluster, tmp_path):
    """After every third cell at a seeded moment one of two dies, at one of them both."""
    table, seconds = alone
    rng = np.random.default_rng(21)
    here, seen, killed = cluster(2), [{}], []

    def on_cell(progress):
        seen[0] = assert_kept(seen[0], tmp_path)
        assert len(seen[0]) == progress.done
        if progress.done % 3 == 0 and len(killed) < KILLS:
            time.sleep(rng.uniform(0, seconds))
            for _ in range(2 if len(killed) == 5 else 1):
                here.kill(rng.integers(len(here.workers)))
                killed.append(progress.done)
            here.start(2 - len(here.workers))

    found = STUDY.run(Store(tmp_path), Workers(scheduler=here.address), on_cell=on_cell)
    assert len(killed) == KILLS
    assert_same(table, found)
    assert len(assert_kept(seen[0], tmp_path)) == N


@pytest.mark.slow
def test_runners_killed_on_a_cluster_lose_nothing(alone, cluster, tmp_path):
    table, seconds = alone
    rng = np.random.default_rng(22)
    here, seen = cluster(1), {}
    for _ in range(3):
        runner, told = start_run(tmp_path, Workers(scheduler=here.address))
        wait_for(told, 1 + len(seen) + rng.integers(1, 4))
        time.sleep(rng.uniform(0, seconds))
        kill(runner)
        seen = assert_kept(seen, tmp_path)
    assert_same(table, STUDY.run(Store(tmp_path), Workers(scheduler=here.address)))
    assert len(assert_kept(seen, tmp_path)) == N


@pytest.mark.parametrize("what", ["last worker", "scheduler"])
def test_a_lost_cluster_is_said_and_the_study_goes_on_elsewhere(
    what, alone, cluster, tmp_path, monkeypatch
):
    monkeypatch.setattr(workers, "ABANDONED", 2)
    monkeypatch.setattr(workers, "CONNECT", 5)
    here = cluster(1)

    def on_cell(progress):
        if progress.done == 3:
            kill(here.scheduler) if what == "scheduler" else here.kill()

    start = time.monotonic()
    why = "no worker for 2 s" if what == "last worker" else "scheduler is gone"
    with pytest.raises(ConnectionError, match=rf"{here.address} is lost .*{why}.; start it anew"):
        FEW.run(Store(tmp_path), Workers(scheduler=here.address), on_cell=on_cell)
    assert time.monotonic() - start < WAIT
    seen = stored(tmp_path)
    assert len(seen) >= 3
    assert_same(few(alone[0]), FEW.run(Store(tmp_path)))
    assert len(assert_kept(seen, tmp_path)) == len(FEW.cells())


def test_a_cell_that_kills_workers_of_a_cluster_is_named(cluster, tmp_path):
    here = cluster(2, allowed_failures=1)
    poison = Poison("moons", 60, 80, spared=os.getpid())
    settings, candidates = [FEW.settings[0], poison], FEW.candidates[:1]
    study = replace(FEW, settings=settings, candidates=candidates, replicates=1)
    with pytest.raises(ChildProcessError, match="each worker died at this cell: moons n=60"):
        study.run(Store(tmp_path), Workers(scheduler=here.address))
    assert Store(tmp_path).foreign == {}


def test_a_worker_that_will_not_do_is_refused_when_it_joins(cluster, tmp_path):
    here = cluster(1)

    def on_cell(progress):
        if progress.done == 1:
            here.start(nthreads=2)

    with pytest.raises(ValueError, match="has 2 threads; start workers with one each"):
        STUDY.run(Store(tmp_path), Workers(scheduler=here.address), on_cell=on_cell)


# --- full disks ---------------------------------------------------------------------------

FULL = r"No space left on device; nothing was written.*make room, and run the same again"


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
    """Where HDF5 itself meets a full disk, the process ends."""
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
