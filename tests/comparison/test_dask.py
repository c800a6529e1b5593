"""The same study on a dask cluster."""

import re
import sys
import time

import pytest
from bsvdd.comparison.run import workers
from bsvdd.comparison.run.store import Store
from bsvdd.comparison.run.workers import Workers
from distributed import Client, LocalCluster

from tests.comparison.helpers import STUDY, Cluster, N, assert_same


@pytest.fixture(scope="module")
def cluster(forked):
    cluster = Cluster(2)
    yield cluster
    cluster.stop()


def test_a_cluster_of_two_processes_gives_the_same_table(cluster, alone, tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT", 20)
    with Client(cluster.address, set_as_default=False) as client:
        client.wait_for_workers(2)
        seen = []
        where = Workers(scheduler=cluster.address)
        there = STUDY.run(Store(tmp_path), where, on_cell=seen.append)
        computed = client.run(lambda dask_worker: dask_worker.state.executed_count)
    assert [p.done for p in seen] == list(range(1, N + 1))
    assert len(list(tmp_path.iterdir())) == N
    assert len(computed) == 2 and all(computed.values()) and sum(computed.values()) >= N
    assert_same(alone, there)


def test_workers_of_another_version_are_refused(cluster, monkeypatch):
    monkeypatch.setattr(workers, "version", lambda _: "9.9")
    monkeypatch.setattr(Client, "run", lambda *_, **__: {"tcp://a": "9.8"})
    with pytest.raises(ValueError, match=r"worker tcp://a has bsvdd 9.8, and this is bsvdd 9.9"):
        STUDY.run(workers=Workers(scheduler=cluster.address))


def test_workers_with_threads_are_refused():
    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        pytest.raises(ValueError, match="has 2 threads.*--nthreads 1"),
    ):
        STUDY.run(workers=Workers(scheduler=cluster.scheduler_address))


def test_a_scheduler_without_workers_is_said(monkeypatch):
    monkeypatch.setattr(workers, "CONNECT", 1)
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster,
        pytest.raises(ValueError, match="has no worker; start some with `dask worker"),
    ):
        STUDY.run(workers=Workers(scheduler=cluster.scheduler_address))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "127.0.0.1:9", "nonsense://x"])
def test_a_scheduler_that_cannot_be_reached_fails_in_seconds(address, monkeypatch):
    monkeypatch.setattr(workers, "CONNECT", 1)
    start = time.monotonic()
    with pytest.raises(ValueError, match="no dask scheduler answers at"):
        STUDY.run(workers=Workers(scheduler=address))
    assert time.monotonic() - start < 10


def test_dask_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'bsvdd\[dask\]'"):
        STUDY.run(workers=Workers(scheduler="tcp://127.0.0.1:9"))


def test_a_finished_study_asks_for_no_scheduler(tmp_path):
    table = STUDY.run(Store(tmp_path))
    assert_same(table, STUDY.run(Store(tmp_path), Workers(scheduler="tcp://127.0.0.1:9")))


def test_an_error_lists_four_cells_and_counts_the_rest():
    assert workers._names(STUDY.cells()[:2]).count(";") == 1
    assert re.fullmatch(r"([^;]+; ){4}4 more", workers._names(STUDY.cells()))
