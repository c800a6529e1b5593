"""Shared by the tests of runs: a small study, scenarios that go wrong, processes, clusters."""

import asyncio
import multiprocessing
import os
import signal
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from bsvdd.comparison.run import workers
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.runner import Study
from bsvdd.comparison.run.store import Store
from bsvdd.comparison.run.workers import Workers
from bsvdd.comparison.scenarios.shapes import Shape
from bsvdd.comparison.scenarios.slides import Slides
from distributed import Scheduler, Worker

TIMES = ["fit_seconds", "score_seconds"]
STUDY = Study(
    "small",
    [Shape("ring", 60, 80), Slides(v=0, n_train=60, n_test=50, p=5)],
    [Candidate("SVDD", "SVDD"), Candidate("BDD", "BDD")],
    Protocol(draws=50, tune=50),
    replicates=2,
)
N = 8  # cells of STUDY
WAIT = 120  # seconds, for what takes one
PROCESSES = multiprocessing.get_context("forkserver")


def assert_same(a, b):
    pd.testing.assert_frame_equal(
        a.drop(columns=TIMES), b.drop(columns=TIMES), check_exact=True, check_like=True
    )


def stored(folder):
    """Return {name: bytes} of the results in ``folder``."""
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


def assert_kept(before, folder):
    """Check that no stored result is gone or written again; return the results there are now."""
    now = stored(folder)
    assert {name: now.get(name) for name in before} == before
    return now


def computed_cells(monkeypatch):
    """Return the list to which cells are added when they are computed."""
    cells, run = [], Cell.run

    def recorded(self):
        cells.append(self)
        return run(self)

    monkeypatch.setattr(Cell, "run", recorded)
    return cells


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
    """Leaves .8 GB in each process that asks for rows twice, and its number in ``asked``."""

    asked: str = ""

    def pair(self, seed):
        if len(KEPT) < 2:  # loky counts from what it sees first
            KEPT.append(np.ones(50_000_000))
        with open(self.asked, "a", encoding="utf-8") as file:
            print(os.getpid(), file=file)
        time.sleep(1.1)  # loky looks at the memory once a second
        return super().pair(seed)


KEPT = []


def kill(process):
    process.kill()
    process.join(WAIT)
    assert process.exitcode == -signal.SIGKILL


def run(study, folder, reports, where):
    """Run ``study`` in a process of its own, and report each cell."""
    workers.IDLE = 1
    reports.send("started")
    study.run(Store(folder), where, on_cell=reports.send)


def start_run(study, folder, where=Workers()):
    """Return the process that runs ``study``, and the connection to its reports."""
    ours, theirs = PROCESSES.Pipe(duplex=False)
    runner = PROCESSES.Process(target=run, args=(study, folder, theirs, where))
    runner.start()
    theirs.close()
    return runner, ours


def wait_for(reports, n):
    for _ in range(n):
        assert reports.poll(WAIT)
        reports.recv()


def run_and_die(study, folder):
    """Run ``study``, and kill this process when it renames its third file."""
    renamed, rename = [], os.replace

    def killing(*names):
        renamed.append(names)
        if len(renamed) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(*names)

    os.replace = killing
    study.run(Store(folder))


def serve_scheduler(address, **options):
    async def serve():
        async with Scheduler(port=0, dashboard=False, **options) as scheduler:
            address.send(scheduler.address)
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
