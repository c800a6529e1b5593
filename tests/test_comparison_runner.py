"""The comparison: one protocol, independent cells, an honest table."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison import datasets, runner, table
from bsvdd.comparison.datasets import Dataset
from bsvdd.models.registry import REGISTRY
from sklearn.metrics import f1_score, roc_auc_score

from bsvdd import Cutoff

SMALL = runner.Protocol(draws=150, tune=150)
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def moon():
    return datasets.moon(n0=60, n1=12)


@pytest.fixture(scope="module")
def results(moon):
    seen = []
    frame = runner.compare(
        [moon], replicates=2, protocol=SMALL, on_cell=lambda cell, row: seen.append(cell.model)
    )
    assert seen == list(REGISTRY) * 2
    return frame


def test_every_model_and_both_trivial_rules_are_in_every_replicate(results):
    expected = {*runner.DEFAULT_MODELS, runner.FLAG_ALL, runner.FLAG_NONE}
    for _, rows in results.groupby("replicate"):
        assert set(rows["model"]) == expected
        assert len(rows) == len(expected)


def test_trivial_rules_have_the_values_of_the_base_rate(results, moon):
    rows = results.set_index("model")
    share = 6 / 36
    assert rows.loc[runner.FLAG_ALL, "accuracy"].tolist() == pytest.approx([share] * 2)
    assert rows.loc[runner.FLAG_ALL, "f1"].tolist() == pytest.approx([2 * share / (1 + share)] * 2)
    assert rows.loc[runner.FLAG_NONE, "accuracy"].tolist() == pytest.approx([1 - share] * 2)
    assert rows.loc[runner.FLAG_NONE, "ppv"].isna().all()


def test_a_row_is_what_the_estimator_says_on_the_test_half(results, moon):
    train, test = runner.split(moon, 1, 0)
    seed = runner.replicate_seed(1, 0)
    est = SMALL.estimator("BDD", seed).fit(moon.X[train], moon.minority[train].astype(int))
    row = results[(results.model == "BDD") & (results.replicate == 1)].iloc[0]
    flagged = est.predict(moon.X[test]) == -1
    assert row["f1"] == pytest.approx(f1_score(moon.minority[test], flagged))
    score = -est.score_samples(moon.X[test])
    assert row["auc"] == pytest.approx(roc_auc_score(moon.minority[test], score))


def test_workers_do_not_change_the_results(moon):
    names = ["SVDD", "BDD"]
    alone = runner.compare([moon], names, 2, SMALL)
    together = runner.compare([moon], names, 2, SMALL, jobs=2)
    times = ["fit_seconds", "score_seconds"]
    pd.testing.assert_frame_equal(alone.drop(columns=times), together.drop(columns=times))


def test_the_cutoff_of_the_protocol_reaches_every_model(moon):
    protocol = runner.Protocol(cutoff=Cutoff("f1", level=0.3), draws=50, tune=50)
    for name, record in REGISTRY.items():
        est = protocol.estimator(name, 7)
        assert est.cutoff == Cutoff("f1", level=0.3)
        assert est.random_state == 7
        assert type(est) is record.estimator()


@pytest.mark.parametrize("replicate", range(3))
def test_split_is_half_of_each_class(moon, replicate):
    train, test = runner.split(moon, replicate, 5)
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(72))
    assert moon.minority[train].sum() == moon.minority[test].sum() == 6
    again = runner.split(moon, replicate, 5)
    np.testing.assert_array_equal(train, again[0])
    np.testing.assert_array_equal(test, again[1])
    for other in ((replicate + 1, 5), (replicate, 6)):
        assert set(runner.split(moon, *other)[0]) != set(train)


def test_every_replicate_of_every_seed_has_a_seed_of_its_own():
    assert runner.replicate_seed(0, 1) != runner.replicate_seed(1, 0)
    pairs = [(replicate, seed) for replicate in range(40) for seed in range(40)]
    seeds = [runner.replicate_seed(*pair) for pair in pairs]
    assert len(set(seeds)) == len(pairs)
    assert seeds == [runner.replicate_seed(*pair) for pair in pairs]
    assert all(0 <= seed < 2**31 for seed in seeds)  # what scikit-learn takes


def test_names_given_twice_fail_before_a_fit(moon, monkeypatch):
    monkeypatch.setattr(runner.Cell, "run", lambda self: pytest.fail("fitted first"))
    with pytest.raises(ValueError, match="model 'BDD' is given twice"):
        runner.compare([moon], ["BDD", "SVDD", "BDD"])
    other = Dataset("moon", moon.X + 1, moon.minority)
    with pytest.raises(ValueError, match="data set 'moon' is given twice"):
        runner.compare([moon, other], ["SVDD"])


def test_each_finished_cell_is_told_with_its_row(moon):
    told = []
    frame = runner.compare(
        [moon], ["SVDD"], 2, SMALL, seed=3, on_cell=lambda *each: told.append(each)
    )
    assert [(cell.data, cell.model, cell.replicate, cell.seed) for cell, _ in told] == [
        (moon, "SVDD", replicate, 3) for replicate in range(2)
    ]
    fitted = frame[frame["model"] == "SVDD"]
    assert [row["f1"] for _, row in told] == fitted["f1"].tolist()
    assert [row["cutoff"] for _, row in told] == fitted["cutoff"].tolist()


def test_warnings_of_a_fit_are_kept_in_its_row(moon):
    data = Dataset("constant", np.column_stack([moon.X, np.ones(len(moon.X))]), moon.minority)
    row = runner.Cell(data, "SVDD", 0, 0, SMALL).run()
    assert "constant over the majority rows (2)" in row["notes"]


def test_a_fit_that_cannot_be_is_recorded_and_the_rest_goes_on(moon):
    """Four minority rows in a fold are too few for the density weights of DSVM-CIL."""
    results = runner.compare([moon], ["DSVM-CIL", "SVM"], 1, SMALL).set_index("model")
    notes = results.loc["DSVM-CIL", "notes"]
    assert notes.startswith("failed: cutoff: a fold with 28 of 36 rows cannot be fitted")
    assert "density weights with neighbors=5 need at least 6 rows" in notes
    assert np.isnan(results.loc["DSVM-CIL", ["accuracy", "auc"]].astype(float)).all()
    assert results.loc["SVM", "auc"] > 0.5


def test_unknown_model_and_too_few_rows_fail_before_a_fit(moon):
    with pytest.raises(ValueError, match="unknown model 'LOF'.*BSVDD-M"):
        runner.compare([moon], ["LOF"])
    few = Dataset("few", moon.X, np.arange(len(moon.X)) == 0)
    with pytest.raises(ValueError, match="few: a comparison needs at least 2 minority rows"):
        runner.compare([few])


def test_summary_is_mean_and_sd_over_replicates():
    rows = [
        {"data": "a", "model": "M", "replicate": i, **dict.fromkeys(table.METRICS, value)}
        for i, value in enumerate([0.25, 0.75])
    ]
    rows[0]["ppv"] = rows[1]["ppv"] = np.nan
    shown = table.summary(pd.DataFrame(rows))
    assert shown.loc[("a", "M"), "F1"] == "0.500 (0.354)"  # sd with n - 1: .25 * sqrt 2
    assert shown.loc[("a", "M"), "PPV"] == "-"
    once = table.summary(pd.DataFrame(rows[:1]))
    assert once.loc[("a", "M"), "F1"] == "0.250"
