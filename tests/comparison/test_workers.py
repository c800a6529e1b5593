"""Worker processes of this machine. The tests share them, as it takes seconds to start one."""

import os
from dataclasses import replace

import pandas as pd
import pytest
from bsvdd.comparison.run import runner, workers
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.run.protocol import Candidate, Protocol
from bsvdd.comparison.run.store import Store
from bsvdd.comparison.run.workers import Workers
from bsvdd.comparison.scenarios import datasets

from tests.comparison.helpers import (
    STUDY,
    TIMES,
    Growing,
    N,
    Poison,
    assert_kept,
    assert_same,
    stored,
)

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module", autouse=True)
def patient():
    """Keep idle processes between the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "IDLE", 60)
        yield


@pytest.mark.parametrize("jobs", [0, -2])
def test_jobs_that_are_none_are_refused(jobs):
    with pytest.raises(ValueError, match="jobs must be at least 1, or -1"):
        Workers(jobs)


@pytest.mark.slow
def test_processes_give_the_same_table(alone, tmp_path):
    assert_same(alone, STUDY.run(Store(tmp_path), Workers(2)))
    assert len(list(tmp_path.iterdir())) == N


def test_workers_do_not_change_the_results_of_a_real_set():
    moon, names = datasets.moon(n0=60, n1=12), ["SVDD", "BDD"]
    protocol = Protocol(draws=150, tune=150)
    alone = runner.compare([moon], names, 2, protocol)
    together = runner.compare([moon], names, 2, protocol, jobs=2)
    pd.testing.assert_frame_equal(alone.drop(columns=TIMES), together.drop(columns=TIMES))


def test_a_process_that_grows_goes_on(tmp_path):
    """It keeps what it has compiled; by itself loky starts another one at .3 GB."""
    scenario = Growing("ring", 60, 80, asked=str(tmp_path / "asked"))
    cells = [Cell(scenario, Candidate("SVDD", "SVDD"), Protocol(), i, 0) for i in range(6)]
    assert len(list(Workers(2).run(cells))) == 6
    asked = (tmp_path / "asked").read_text(encoding="utf-8").split()
    assert len(asked) == 6
    assert len(set(asked)) <= 2


def test_a_cell_that_kills_its_process_is_named_and_the_rest_is_stored(tmp_path):
    """Within seconds, as a worker that is killed for memory, or crashes, would."""
    cured = tmp_path / "cured"
    poison = Poison("moons", 60, 80, spared=os.getpid(), cured=str(cured))
    study = replace(STUDY, scenarios=[*STUDY.scenarios, poison], replicates=1)
    folder = tmp_path / "cells"
    with pytest.raises(ChildProcessError, match=r"died at .*moons n=60.*fewer jobs.*goes on from"):
        study.run(Store(folder), Workers(2))
    seen = stored(folder)
    assert Store(folder).foreign == {}
    cured.touch()
    assert_same(study.run(), study.run(Store(folder)))
    assert len(assert_kept(seen, folder)) == len(study.cells())
