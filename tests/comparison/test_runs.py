"""Runs: each cell once, whole files only; a killed run goes on, to the same table."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace
from multiprocessing import forkserver
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    f1_score,
    roc_auc_score,
)

from bsvdd import BDD, DSVM, OCSVM, SVDD, kernels, priors
from bsvdd.comparison import datasets, models, runner
from bsvdd.comparison.datasets import Dataset, Halves, Shape
from bsvdd.comparison.runner import Cell, Study, measure
from bsvdd.comparison.slides import Slides

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
TIMES = ["fit_seconds", "score_seconds"]
SMALL = {"SVDD": SVDD(), "BDD": BDD(draws=50, chains=2)}
STUDY = Study(
    [Shape("ring", 60, 80), Slides(v=0, n_train=60, n_test=50, p=5)], SMALL, 2
)
N = 8  # cells of STUDY
WAIT = 120  # seconds, for what takes one
PROCESSES = multiprocessing.get_context("forkserver")
MOON = datasets.moon(n0=60, n1=12)


@pytest.fixture(scope="session")
def forked():
    """Start the process from which others are forked, with what they import."""
    PROCESSES.set_forkserver_preload([__name__, "pymc"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        forkserver.ensure_running()


@pytest.fixture(scope="module")
def alone():
    """Return the results of the small study, from this process without a folder."""
    table = STUDY.run()
    assert (table["error"] == "").all()
    return table


def assert_same(a, b):
    pd.testing.assert_frame_equal(
        a.drop(columns=TIMES), b.drop(columns=TIMES), check_exact=True, check_like=True
    )


def stored(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


@pytest.fixture
def computed(monkeypatch):
    """Return the list to which cells are added when they are computed."""
    cells, run = [], Cell.run
    monkeypatch.setattr(Cell, "run", lambda self: cells.append(self) or run(self))
    return cells


# one cell


def test_a_row_is_what_the_estimator_says_on_the_test_half():
    cell = Study([Halves(MOON)], SMALL, 2).cells()[3]
    assert (cell.model, cell.replicate) == ("BDD", 1)
    seed = int(np.random.SeedSequence([0, 1]).generate_state(1)[0] >> 1)
    pair = Halves(MOON).pair(seed)
    est = BDD(draws=50, chains=2, random_state=seed).fit(
        pair.train.X, pair.train.minority
    )
    row, y = cell.run(), pair.test.minority
    flagged, score = est.predict(pair.test.X) == -1, -est.score_samples(pair.test.X)
    expected = {
        "f1": f1_score(y, flagged),
        "auc": roc_auc_score(y, score),
        "average_precision": average_precision_score(y, score),
        "found": flagged[y].mean(),
        "fnr": 1 - flagged[y].mean(),
        "fpr": flagged[~y].mean(),
        "ppv": y[flagged].mean(),
        "brier": brier_score_loss(y, 1 - est.probability_normal(pair.test.X)),
        "base_rate": 6 / 36,
        **{"n": 36, "p": 2, "n1": 6},
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    seeds = [
        int(np.random.SeedSequence([s, r]).generate_state(1)[0] >> 1)
        for s in range(40)
        for r in range(40)
    ]
    assert len(set(seeds)) == 1600


def test_a_machine_is_measured_by_its_plane_and_nothing_flagged_has_no_ppv():
    est = OCSVM().fit(MOON.X, MOON.minority)
    found = measure(est, MOON)
    assert "brier" not in found
    assert found["auc"] == roc_auc_score(MOON.minority, -est.decision_function(MOON.X))
    none = replace(
        MOON, X=np.repeat(MOON.X[:1] * 0 + [[0.9, 0.4]], len(MOON.X), axis=0)
    )
    assert np.isnan(measure(est, none)["ppv"])


def test_failures_and_warnings_belong_to_their_cell(tmp_path, computed, monkeypatch):
    """No row has so many neighbours in its class; a constant column is a note."""
    data = Dataset(
        "constant", np.column_stack([MOON.X, np.ones(len(MOON.X))]), MOON.minority
    )
    some = {"many": DSVM(neighbors=30), "SVDD": SVDD(kernel=kernels.RBF(1.0))}
    study, seen = Study([Halves(data)], some, 1), []
    found = study.run(tmp_path, on_cell=lambda *each: seen.append(each)).set_index(
        "model"
    )
    assert found.loc["many", "error"].startswith(
        "ValueError: density weights with neighbors=30"
    )
    assert np.isnan(found.loc["many", ["accuracy", "auc"]].astype(float)).all()
    assert found.loc["SVDD", "auc"] > 0.5 and found.loc["SVDD", "error"] == ""
    assert "constant over the majority rows (2)" in found.loc["SVDD", "notes"]
    assert [was for _, was in seen] == [False, False] and len(computed) == 2
    study.run(tmp_path)  # what failed is tried again
    assert [cell.model for cell in computed[2:]] == ["many"]


def test_compare_takes_names_and_estimators():
    by_name = runner.compare([MOON], ["SVDD", "kNN"], replicates=1)
    given = runner.compare(
        [MOON], {"SVDD": SVDD(), "kNN": models.model("kNN")}, replicates=1
    )
    assert_same(by_name, given)


# the folder


def test_one_file_a_cell_and_only_what_is_missing_is_computed(
    alone, tmp_path, computed
):
    seen = []
    assert_same(alone, STUDY.run(tmp_path))
    assert len(list(tmp_path.iterdir())) == len(computed) == N
    again = STUDY.run(
        tmp_path, on_cell=lambda row, was: seen.append((row["model"], was))
    )
    assert_same(alone, again)
    assert len(computed) == N and seen == [("SVDD", True), ("BDD", True)] * 4
    gone = sorted(tmp_path.iterdir())[2:5]
    for path in gone:
        path.unlink()
    assert_same(alone, STUDY.run(tmp_path))
    assert len(computed) == N + 3 and all(path.exists() for path in gone)


CHANGES = {
    "more replicates": ({"replicates": 3}, N),
    "a seed": ({"seed": 1}, 0),
    "draws": ({"models": {"BDD": BDD(draws=51, chains=2)}}, 0),
    "a prior": ({"models": {"BDD": BDD(prior=priors.RowSum(), draws=50, chains=2)}}, 0),
    "a class": ({"models": {"SVDD": BDD(draws=50, chains=2)}}, 0),
    "rows": ({"scenarios": [Shape("ring", 60, 81), Slides(v=0.1, n_train=60)]}, 0),
    "version": ({}, 0),
    "nothing": ({}, N),
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_studies_have_other_cells(change, tmp_path, monkeypatch):
    row = {"data": "", "model": "", "replicate": 0}
    for cell in STUDY.cells():
        cell.file(tmp_path).write_text(json.dumps(row | cell.names))
    if change == "version":
        monkeypatch.setattr(runner, "version", lambda _: "9.9")
    options, known = CHANGES[change]
    found = [cell.stored(tmp_path) for cell in replace(STUDY, **options).cells()]
    assert sum(each is not None for each in found) == known


def test_arrays_count_to_their_last_digit_and_functions_have_no_name(tmp_path):
    mean = np.zeros(2000)
    other = mean.copy()
    other[1500] = 1e-12
    files = {
        Cell(Halves(MOON), "BDD", BDD(prior=priors.Normal(m=each)), 0, 0).file(tmp_path)
        for each in (mean, mean.copy(), other)
    }
    assert len(files) == 2
    study = Study([Halves(MOON)], {"BDD": BDD(prior=lambda gram, name, dims: None)})
    with pytest.raises(
        ValueError, match="a function cannot be stored.*run without a folder"
    ):
        study.run(tmp_path)


DAMAGED = [
    b"",
    b"\x80\x04\x95cos\nsystem\n",
    b"{}",
    b"[1]",
    b"1",
    b"[" * 200_000 + b"]" * 200_000,
    b'{"data": ' + b"9" * 5_000 + b"}",
]


def test_a_damaged_or_renamed_result_is_computed_again(alone, tmp_path, computed):
    STUDY.run(tmp_path)
    a, b = sorted(tmp_path.iterdir())[:2]
    for content in [*DAMAGED, a.read_bytes()[:100], b.read_bytes()]:
        a.write_bytes(content)
        assert [cell.stored(tmp_path) for cell in STUDY.cells()].count(None) == 1
    del computed[:]
    assert_same(alone, STUDY.run(tmp_path))
    assert len(computed) == 1


# killed runs, full disks, other machines

FEW = replace(STUDY, replicates=3)


def run_and_die(folder):
    """Run FEW, and kill this process when it renames its third file."""
    renamed, rename = [], os.replace

    def killing(*names):
        renamed.append(names)
        if len(renamed) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        rename(*names)

    os.replace = killing
    FEW.run(folder)


@pytest.mark.usefixtures("forked")
def test_a_run_killed_while_it_writes_goes_on_from_there(tmp_path, computed):
    process = PROCESSES.Process(target=run_and_die, args=(tmp_path,))
    process.start()
    process.join(WAIT)
    assert process.exitcode == -signal.SIGKILL
    assert (
        len(seen := stored(tmp_path)) == 2 and len(list(tmp_path.glob(".*.part"))) == 1
    )
    table = FEW.run(tmp_path)
    assert (
        len(computed) == len(FEW.cells()) - 2
        and seen.items() <= stored(tmp_path).items()
    )
    assert_same(FEW.run(), table)


@pytest.mark.long
def test_processes_and_a_dask_cluster_give_the_same_table(alone, tmp_path):
    from distributed import Client, LocalCluster

    seen = []
    assert_same(alone, STUDY.run(tmp_path / "a", 2, lambda row, was: seen.append(row)))
    assert len(seen) == len(stored(tmp_path / "a")) == N
    cluster = LocalCluster(2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster), joblib.parallel_config("dask"):
        assert_same(alone, STUDY.run(tmp_path / "b"))
    assert len(stored(tmp_path / "b")) == N
