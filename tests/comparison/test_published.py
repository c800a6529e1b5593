"""What the published table implies, by arithmetic on its printed numbers."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import published, reproduction
from bsvdd.comparison.run import runner, studies
from bsvdd.inference.decision import evaluate

PRINTED = published.table()


def test_the_table_has_four_models_three_v_and_six_metrics():
    assert PRINTED.shape == (12, 12)
    assert PRINTED.loc[("BSVDD", 10), "f1"] == 0.6262
    assert PRINTED.loc[("BSVDD-M", 20), "fnr_sd"] == 0.0317


def test_implied_shares_are_those_of_the_generator_and_bdd_has_the_other_class():
    share = published.implied_share(PRINTED)
    for model in ("SVDD", "BSVDD", "BSVDD-M"):
        assert share.loc[model].to_numpy() == pytest.approx([0.444, 0.455, 0.460], abs=0.0015)
    assert share.loc["BDD"].to_numpy() == pytest.approx([0.556, 0.545, 0.541], abs=0.0015)
    turned = published.other_class_positive(PRINTED)
    assert turned[turned].index.tolist() == ["BDD"]


def test_recast_rows_are_those_of_the_minority():
    found = published.recast(PRINTED)
    assert found.loc["BDD", "f1"].to_numpy() == pytest.approx([0.396, 0.389, 0.377], abs=0.001)
    others = [key for key in found.index if key[0] != "BDD"]
    pd.testing.assert_frame_equal(found.loc[others], PRINTED.loc[others, list(published.COMPARED)])


def test_recasting_turns_the_metrics_of_one_class_into_those_of_the_other():
    rng = np.random.default_rng(0)
    y, flagged = rng.random(5000) < 0.44, rng.random(5000) < 0.6
    straight, turned = evaluate(y, flagged), evaluate(~y, ~flagged)
    keys = pd.MultiIndex.from_tuples([("A", 1), ("B", 1), ("C", 1)], names=["model", "v"])
    printed = pd.DataFrame([straight, turned, straight], index=keys)
    got = published.recast(printed).loc[("B", 1)]
    for name in published.COMPARED:
        assert got[name] == pytest.approx(straight[name])


def test_flagging_everything_has_the_published_f1():
    share = published.implied_share(PRINTED)
    assert published.flag_all_f1(share.loc["BSVDD"]).to_numpy() == pytest.approx(
        PRINTED.loc["BSVDD", "f1"].to_numpy(), abs=0.001
    )


def test_distance_is_the_mean_absolute_difference():
    moved = PRINTED.copy()
    moved.loc[["SVDD"], "f1"] += 0.06
    moved.loc[("BDD", 5), "ppv"] = np.nan
    found = published.distances(PRINTED, moved)
    assert found["SVDD"] == pytest.approx(0.01)
    assert found[["BDD", "BSVDD", "BSVDD-M"]].tolist() == [0, 0, 0]


def test_rows_that_flag_everything_are_called_so():
    """By the stored study of the slides."""
    study, path = studies.slides(), Path(__file__).parents[2] / "docs/study/slides_results.csv"
    ours, sd = reproduction.by_v(study, runner.read(path))
    table = reproduction.verdicts(ours, ours.loc["flag all", "f1"] + 0.001)
    words = table["verdict"].xs("published", level="source")
    assert words["BSVDD"] == words["BSVDD-M"] == "as flagging all"
    assert words["SVDD"] == "other than flagging all"
    assert words["BDD"] == "other than flagging all; calls the other class positive"
    assert table.loc[("Bayes rule", "ours"), "F1 - F1 of flagging all"] == "0.001, 0.001, 0.001"
    both = reproduction.beside(ours, sd)
    assert both.loc[("SVDD", 5.0, "slides"), "F1"] == "0.167 (0.034)"
    assert both.loc[("flag all", 5.0, "ours"), "FPR"] == "1.000 (0.000)"
    assert [s for m, _, s in both.index if m == "BDD"] == ["slides", "slides, recast", "ours"] * 3
