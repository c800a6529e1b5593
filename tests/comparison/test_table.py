"""Measures and tables against other definitions, and the four formats of one table."""

import io

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import table
from bsvdd.comparison.run import cell, measures, runner
from bsvdd.comparison.scenarios.generators import Shape
from bsvdd.comparison.scenarios.slides import Slides
from sklearn.calibration import calibration_curve
from sklearn.metrics import average_precision_score


@pytest.fixture(scope="module")
def truth():
    rng = np.random.default_rng(0)
    P = rng.beta(0.5, 1.5, 5000)
    return rng.random(5000) < P, P


def test_measures_are_those_of_scikit_learn(truth):
    y, P = truth
    found = measures.measure(y, P > 0.5, P, P)
    assert found["brier"] == pytest.approx(np.mean((P - y) ** 2))
    assert found["average_precision"] == pytest.approx(average_precision_score(y, P))


def test_calibration_error_is_the_gap_of_the_reliability_curve(truth):
    y, P = truth
    for p in (P, P**2, 1 - P):
        observed, said = calibration_curve(y, p, n_bins=10)
        n = np.histogram(p, bins=np.linspace(0, 1, 11))[0]
        expected = np.sum(n[n > 0] / len(p) * np.abs(observed - said))
        assert measures.calibration_error(y, p) == pytest.approx(expected)
    assert measures.calibration_error(y, P) < 0.02
    assert measures.calibration_error(y, y.astype(float)) == 0
    assert measures.calibration_error(y, 1.0 - y) == 1


def test_trivial_rules_and_the_rule_that_knows_the_truth():
    scenario = Slides(v=0, n_train=2, n_test=4000)
    flag_all, flag_none, bayes = cell.trivial_rules(scenario, 0, 1)
    share = flag_all["base_rate"]
    assert flag_all["f1"] == pytest.approx(2 * share / (1 + share))
    assert flag_all["fpr"] == flag_none["fnr"] == 1
    assert flag_all["brier"] == pytest.approx(1 - share)
    assert flag_none["brier"] == flag_none["calibration_error"] == pytest.approx(share)
    assert flag_all["average_precision"] == pytest.approx(share)
    assert flag_none["ppv"] is None
    assert bayes["auc"] > 0.97 and bayes["calibration_error"] < 0.02
    assert bayes["accuracy"] > flag_none["accuracy"] + 0.05


def results():
    rows = [
        {
            "data": data,
            "model": model,
            "replicate": i,
            "base_rate": 0.25,
            "auc": value + i / 4,
            "error": "ValueError: no" if (model, i) == ("B_1", 1) else "",
        }
        for data in ("50% a_b", "c")
        for model, value in (("A & A", 0.25), ("B_1", 0.5))
        for i in range(2)
    ]
    for row in rows:
        if row["error"]:
            row["auc"] = None
    return runner.frame(rows)


def test_the_formats_hold_the_same_numbers_with_base_rate_and_failures():
    made = table.formats(results())
    read = pd.read_csv(io.StringIO(made["csv"]), index_col=["setting", "model"])
    a = read.loc[("50% a_b", "A & A")]
    assert (a["base_rate"], a["auc_mean"]) == (0.25, 0.375)
    assert a["auc_sd"] == pytest.approx(0.25 / np.sqrt(2))
    assert read.loc[("c", "B_1"), "fits"] == "1 of 2"
    assert read.loc[("c", "B_1"), "auc_mean"] == 0.5
    for shown in ("txt", "html", "tex"):
        assert "0.375 (0.177)" in made[shown]
        assert "1 of 2" in made[shown]
        assert "0.250" in made[shown]
    assert r"50\% a\_b" in made["tex"] and r"A \& A" in made["tex"]
    assert "A &amp; A" in made["html"]


def test_scenarios_stand_in_their_order():
    rows = [
        row
        for scenario in (Shape("ring", 40, 40), Shape("moons", 40, 40))
        for row in cell.trivial_rules(scenario, 0, 0)
    ]
    assert [d for d, _ in table.full(runner.frame(rows)).index] == [
        "ring n=40 share=0.1 noise=0.15"
    ] * 2 + ["moons n=40 share=0.1 noise=0.15"] * 2
