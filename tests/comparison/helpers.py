"""Shared by the tests of runs: a small study, a scenario that goes wrong, runs that are killed."""

import multiprocessing
import os
import signal
from dataclasses import dataclass

import pandas as pd
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.runner import Study
from bsvdd.comparison.run.store import Store
from bsvdd.comparison.run.workers import Workers
from bsvdd.comparison.scenarios.generators import Shape
from bsvdd.comparison.scenarios.slides import Slides

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


def run(study, folder, reports, where):
    """Run ``study`` in a process of its own, and report each cell."""
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


def kill(process):
    process.kill()
    process.join(WAIT)
    assert process.exitcode == -signal.SIGKILL


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
