"""Guidelines follow the results: planted winners are named, and no others."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import guidelines, paired
from bsvdd.comparison.report.table import model_rows
from bsvdd.comparison.run import runner, studies
from bsvdd.comparison.run.protocol import PRIORS, Candidate
from bsvdd.comparison.scenarios.generators import Shape
from bsvdd.estimators.registry import REGISTRY

plt.switch_backend("agg")


def planted(study, value, seconds=lambda model: 1.0, noise=0.01, seed=0):
    """Return results in which ``value(setting, model)`` is the G-mean, and AUC is near to it."""
    rng = np.random.default_rng(seed)
    rows = []
    for cell in study.cells():
        setting, model = cell.scenario.name, cell.candidate.name
        g = value(setting, model) + noise * rng.normal()
        rows.append(
            {
                **{"data": setting, "model": model, "replicate": cell.replicate, "base_rate": 0.1},
                **{"g_mean": g, "auc": g + 0.05, "brier": 1 - g, "fit_seconds": seconds(model)},
                **{"score_seconds": 0.1, "r_hat": 1.0, "effective_support": 50.0, "error": ""},
            }
        )
    for setting in study.scenarios:
        rows += [{"data": setting.name, "model": "flag all", "replicate": 0, "base_rate": 0.1}]
    return runner.frame(rows)


@pytest.fixture(scope="module")
def plan():
    return studies.settings(quick=True)


def by_name(order, step=0.1):
    """Return a value that falls by ``step`` along ``order`` of models."""
    return lambda _, model: 0.9 - step * order.index(model)


MODELS = studies.QUICK
ORDERS = [MODELS, MODELS[::-1], ["SVM", "BDD", "SVDD", "BSVDD-M", "OCSVM", "BSVDD"]]


def results_of(plan, order):
    def choice(order):
        return lambda _, name: 0.8 - 0.1 * order.index(name.rpartition(", ")[2])

    return {
        plan.main.name: planted(plan.main, by_name(order)),
        plan.priors.name: planted(plan.priors, choice(list(PRIORS))),
        plan.bandwidths.name: planted(plan.bandwidths, choice(list(studies.BANDWIDTHS))),
    }


@pytest.mark.parametrize("order", ORDERS)
def test_the_planted_order_is_what_the_tables_say(plan, order):
    results = results_of(plan, order)
    found = guidelines.sections(plan, results)
    row = found["Over all settings"].loc["G-mean"]
    assert (row["best"], row["mean rank"], row["models"]) == (order[0], 1.0, 6)
    labelled = guidelines.labelled_rows(plan, model_rows(results[plan.main.name]))
    effects = paired.rank(labelled, "g_mean").effects()
    gap = effects.loc[order[-1], "median difference to the best"]
    assert gap == pytest.approx(-0.5, abs=0.02)  # but for the noise
    for title, table in found.items():
        if title.startswith("Situation: ") and title != "Situation: labelled minority":
            assert (table["best"] == order[0]).all()
            assert table["G-mean"].to_numpy() == pytest.approx(0.9, abs=0.02)
    text = guidelines.text(found)
    assert all(title in text for title in found) and f" {order[0]} " in text


def test_verdicts_count_the_models_not_told_apart_and_two_blocks_are_not_tested():
    """Intervals of one degree of freedom would join what lies far apart."""
    words = {(): "best alone", ("A",): "as good: 1 of 3", tuple("ABC"): "none told apart"}
    assert {same: guidelines.verdict(same, 3) for same in words} == words
    assert guidelines.verdict([], 0) == "no other model"
    setting = Shape("ring", labelled=False)
    rows = [
        {"data": setting.name, "model": model, "replicate": i, "g_mean": value + 0.01 * i, "auc": 1}
        for i in range(3)
        for model, value in (("A", 0.9), ("B", 0.5 - 0.3 * i))
    ]
    said = [
        guidelines.situation({"ring": [setting]}, pd.DataFrame(rows[:n])).loc["ring"]
        for n in (4, 6)
    ]
    assert (said[0]["blocks"], said[0]["verdict"]) == ("2 replicates", "too few to test")
    assert (said[1]["not told apart"], said[1]["verdict"]) == ("B", "none told apart")


def test_models_that_tie_do_not_differ_significantly(plan):
    # seed 0 is one of the twenty in which two models that tie differ at the 5 % level
    same = planted(plan.main, lambda *_: 0.5, noise=0.05, seed=1)
    rows = guidelines.labelled_rows(plan, model_rows(same))
    assert guidelines.overall(rows).loc["G-mean", "verdict"] == "none told apart"


def test_a_yardstick_that_is_enough_is_said(plan):
    candidates = studies.select_candidates(["SVDD", "BDD", "OCSVM", "kNN", "SVM"])
    study = replace(plan.main, candidates=candidates)
    for best, word in (("OCSVM", "; no yardstick is as good"), ("kNN", "; a yardstick is as good")):
        worth = {"SVM": 0.95, best: 0.9, "SVDD": 0.3}
        results = model_rows(planted(study, lambda _, m, of=worth: of.get(m, 0.2)))
        results = guidelines.labelled_rows(plan, results)
        row = guidelines.one_class(results[results["model"] != "BDD"], candidates).loc["AUC"]
        assert row["best"] == best and row["verdict"].endswith(word)


def test_the_worth_of_labels_is_counted(plan):
    labelled = {s.name for s in plan.main.scenarios if s.labelled}
    one = sorted(labelled)[0]

    def value(setting, model):
        learns = model in ("SVM", "BSVDD-M")
        return 0.5 + (0.2 if learns != (setting == one) else 0.0)

    rows = guidelines.labelled_rows(plan, model_rows(planted(plan.main, value, noise=0.0)))
    row = guidelines.labels(rows, plan.main.candidates).loc["AUC"]
    assert (row["settings"], row["with gain"]) == (len(labelled), len(labelled) - 1)
    assert row["median gain"] == pytest.approx(0.2) and row["verdict"] == "labels help"
    assert row["smallest"] == f"-0.200 ({one})"


def test_a_faster_model_within_the_margin_is_named(plan):
    values = {m: 0.5 for m in MODELS} | {"BSVDD": 0.8, "SVDD": 0.79}
    seconds = {m: 0.1 for m in MODELS} | {"BSVDD": 3.0, "SVDD": 0.5}
    results = planted(plan.main, lambda _, m: values[m], seconds.get, noise=0.0)
    table = guidelines.cost(model_rows(results))
    assert table.index[0] == "BSVDD" and table.loc["BSVDD", "median fit, s"] == 3.0
    words = table["verdict"].replace("", np.nan).dropna()
    assert words.to_dict() == {
        "BSVDD": "within 0.02 of the best",
        "SVDD": "within 0.02 of the best, the fastest of these",
    }


def test_failures_and_chains_that_disagree_are_counted(plan):
    results = planted(plan.main, lambda *_: 0.5)
    bsvdd = results.index[results["model"] == "BSVDD"]
    results.loc[bsvdd[:3], "r_hat"] = 1.2
    results.loc[results.index[results["model"] == "SVM"][:2], "error"] = "ValueError: no"
    words = guidelines.reliability(model_rows(results))["verdict"]
    assert words["SVM"] == "2 failed" and words["BSVDD"] == "chains of 3 disagree"
    assert (words.drop(["SVM", "BSVDD"]) == "trusted").all()


def test_a_study_without_a_fit_that_succeeded_says_so(plan):
    results = {}
    for study in plan.studies:
        table = planted(study, lambda *_: 0.5)
        failed = ~table["model"].str.startswith("flag")
        measured = ["g_mean", "auc", "brier", "fit_seconds", "score_seconds", "r_hat"]
        table.loc[failed, measured] = np.nan
        table.loc[failed, "error"] = "ValueError: no"
        results[study.name] = table
    found = guidelines.sections(plan, results)
    words = {title: table["verdict"] for title, table in found.items()}
    assert words["Over all settings"].str.startswith("not ranked: ranking by").all()
    assert (words["Time"] == "").all()
    assert words["What labels are worth"].item() == "no setting has results of both kinds"
    assert words["Can the fits be trusted"].str.endswith(" failed").all()
    assert "no result" in guidelines.text(found)


@pytest.mark.parametrize(
    ("order", "auc", "words"),
    [
        (["scaled", "flat", "published", "inverse row sum"], 1, {"best"}),
        (["flat", "scaled", "published", "inverse row sum"], 1, {"keep"}),
        (["flat", "published", "inverse row sum", "scaled"], 1, {"replace"}),
        (["flat", "published", "inverse row sum", "scaled"], -1, {"worse", "best"}),
        (["flat", "published", "inverse row sum"], 1, {"scaled was not tried"}),
    ],
)
def test_a_default_is_kept_unless_it_is_worse_by_each_metric(order, auc, words):
    candidates = [
        Candidate(f"{model}, {prior}", model, choice=prior)
        for model in ("BDD", "BSVDD")
        for prior in order
    ]
    shapes = [Shape("ring", noise=0.01 * (i + 1)) for i in range(12)]
    study = runner.Study("d", shapes, candidates, studies.DEFAULTS, 2)
    results = planted(study, lambda _, name: 0.8 - 0.1 * order.index(name.rpartition(", ")[2]))
    results["auc"] *= auc
    found = guidelines.defaults(model_rows(results), candidates, lambda _: "scaled")
    assert set(found["verdict"]) == words and len(found) == 4
    assert (found["default"] == "scaled").all()


def test_defaults_are_those_of_the_package():
    of = {"BSVDD": "flat", "BDD": "equal weights", "BDD-M": "equal weights"}
    for model, prior in of.items():
        assert guidelines.default_prior(model) == prior
        assert f"{model}, {prior}" in [c.name for c in studies.prior_candidates()]
    assert guidelines.default_prior("BSVDD-M") == "Flat(sd=0.83)"  # younger than the stored study
    kernels = [c.parameters["kernel"] for c in studies.bandwidth_candidates()]
    assert REGISTRY["BSVDD"].parameters["kernel"] in kernels
