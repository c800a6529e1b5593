"""The comparison: one protocol, independent cells, an honest table."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison import datasets, runner, table
from bsvdd.comparison.datasets import Dataset
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
        [moon], replicates=2, protocol=SMALL, done=lambda cell, row: seen.append(cell.model)
    )
    assert seen == list(runner.MODELS) * 2
    return frame


def test_every_model_and_both_trivial_rules_are_in_every_replicate(results):
    expected = {*runner.MODELS, runner.FLAG_ALL, runner.FLAG_NONE}
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
    cell = runner.Cell(moon, "BDD", 1, 0, SMALL)
    train, test = cell.split()
    assert not set(train) & set(test)
    est = SMALL.estimator("BDD", 1).fit(moon.X[train], moon.minority[train].astype(int))
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
    for name in runner.MODELS:
        est = protocol.estimator(name, 7)
        assert est.cutoff == Cutoff("f1", level=0.3)
        assert est.random_state == 7


def test_warnings_of_a_fit_are_kept_in_its_row(moon):
    data = Dataset("constant", np.column_stack([moon.X, np.ones(len(moon.X))]), moon.minority)
    row = runner.Cell(data, "SVDD", 0, 0, SMALL).run()
    assert "constant over the majority rows (2)" in row["notes"]


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
