"""Processes and dask clusters give the same table to the bit, whichever of them die."""

import os
import sys
import time
from dataclasses import replace

import psutil
import pytest
from bsvdd.comparison.run import workers
from bsvdd.comparison.run.store import Store
from bsvdd.comparison.run.workers import Workers
from distributed import LocalCluster

from tests.comparison.helpers import (
    STUDY,
    WAIT,
    N,
    Poison,
    assert_kept,
    assert_same,
    kill,
    start_run,
    stored,
    wait_for,
)

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
NOWHERE = "tcp://127.0.0.1:9"


@pytest.fixture
def cluster():
    """Two worker processes, which their nannies start again when they are killed."""
    with LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster


@pytest.mark.slow
def test_processes_and_a_cluster_give_the_same_table(alone, cluster, tmp_path):
    for where in (Workers(2), Workers(scheduler=cluster.scheduler_address)):
        seen, store = [], Store(tmp_path / str(where.jobs))
        assert_same(alone, STUDY.run(store, where, on_cell=seen.append))
        assert [each.done for each in seen] == list(range(1, N + 1))
        assert len(stored(store.folder)) == N
    # a finished study asks for no scheduler
    assert_same(alone, STUDY.run(Store(store.folder), Workers(scheduler=NOWHERE)))


def test_a_cell_that_kills_its_process_is_named_and_the_rest_is_stored(tmp_path):
    """Within seconds, as a worker that is killed for memory, or crashes, would."""
    cured = tmp_path / "cured"
    poison = Poison("moons", 60, 80, spared=os.getpid(), cured=str(cured))
    study = replace(STUDY, scenarios=[*STUDY.scenarios, poison], replicates=1)
    folder = tmp_path / "cells"
    with pytest.raises(ChildProcessError, match=r"died at .*moons n=60.*fewer jobs.*goes on from"):
        study.run(Store(folder), Workers(2))
    seen = stored(folder)
    cured.touch()
    assert_same(study.run(), study.run(Store(folder)))
    assert len(assert_kept(seen, folder)) == len(study.cells())


@pytest.mark.long
def test_processes_of_a_killed_runner_end_too(alone, forked, tmp_path):
    runner, reports = start_run(STUDY, tmp_path, Workers(2))
    wait_for(reports, 4)
    theirs = psutil.Process(runner.pid).children(recursive=True)
    assert len(theirs) >= 2
    kill(runner)
    seen = stored(tmp_path)
    assert len(seen) >= 3
    assert psutil.wait_procs(theirs, timeout=WAIT)[1] == []
    assert_same(alone, STUDY.run(Store(tmp_path)))
    assert_kept(seen, tmp_path)


@pytest.mark.long
@pytest.mark.slow
def test_killed_workers_of_a_cluster_cost_only_time(alone, cluster, tmp_path):
    """One of two dies after the second cell, and both after the fourth."""
    seen = [{}]

    def on_cell(progress):
        seen[0] = assert_kept(seen[0], tmp_path)
        assert len(seen[0]) == progress.done
        for nanny in list(cluster.workers.values())[: {2: 1, 4: 2}.get(progress.done, 0)]:
            psutil.Process(nanny.pid).kill()

    where = Workers(scheduler=cluster.scheduler_address)
    assert_same(alone, STUDY.run(Store(tmp_path), where, on_cell=on_cell))
    assert len(assert_kept(seen[0], tmp_path)) == N


@pytest.mark.long
@pytest.mark.slow
def test_a_cell_that_kills_workers_and_a_lost_scheduler_are_named(alone, cluster, tmp_path):
    poison = Poison("moons", 60, 80, spared=os.getpid())
    study = replace(STUDY, scenarios=[poison], candidates=STUDY.candidates[:1], replicates=1)
    where = Workers(scheduler=cluster.scheduler_address)
    with pytest.raises(ChildProcessError, match="each worker died at moons n=60.*goes on from"):
        study.run(Store(tmp_path), where)
    assert stored(tmp_path) == {}
    with pytest.raises(ConnectionError, match="is lost; restart it, and run the same again"):
        STUDY.run(Store(tmp_path), where, on_cell=lambda progress: cluster.close())
    seen = stored(tmp_path)
    assert 0 < len(seen) < N
    assert_same(alone, STUDY.run(Store(tmp_path)))
    assert len(assert_kept(seen, tmp_path)) == N


@pytest.mark.parametrize(
    ("options", "version", "message"),
    [
        ({"threads_per_worker": 2}, None, "has 2 threads .*, expected one thread and bsvdd"),
        ({"threads_per_worker": 1}, "9.9", r"bsvdd 0\..*, expected one thread and bsvdd 9.9"),
        ({"n_workers": 0}, None, "has no worker; start some with `dask worker"),
    ],
)
def test_clusters_that_will_not_do_are_refused(options, version, message, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT", 1)
    given = {"n_workers": 1, "processes": False, "dashboard_address": ":0"} | options
    if version:
        calls = iter([version])
        own = workers.version
        monkeypatch.setattr(workers, "version", lambda name: next(calls, None) or own(name))
    with LocalCluster(**given) as cluster, pytest.raises(ValueError, match=message):
        STUDY.run(workers=Workers(scheduler=cluster.scheduler_address))


@pytest.mark.parametrize(
    ("options", "dask", "message"),
    [
        ({"jobs": 0}, True, "jobs must be at least 1, or -1"),
        ({"jobs": -2}, True, "jobs must be at least 1, or -1"),
        ({"scheduler": NOWHERE}, True, "no dask scheduler answers at"),
        ({"scheduler": "nonsense://x"}, True, "no dask scheduler answers at"),
        ({"scheduler": NOWHERE}, False, r"pip install 'bsvdd\[dask\]'"),
    ],
)
def test_workers_that_cannot_be_had_fail_in_seconds(options, dask, message, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT", 1)
    if not dask:
        monkeypatch.setitem(sys.modules, "dask.distributed", None)
    start = time.monotonic()
    with pytest.raises(ValueError, match=message):
        STUDY.run(workers=Workers(**options))
    assert time.monotonic() - start < 10
