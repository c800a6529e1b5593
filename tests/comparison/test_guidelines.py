"""Guidelines follow the results: planted winners are named, and no others."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import defaults, guidelines, guidelines_page
from bsvdd.comparison.report.findings import model_rows
from bsvdd.comparison.report.situations import situations
from bsvdd.comparison.run import runner, studies
from bsvdd.comparison.run.cell import trivial_rules
from bsvdd.comparison.run.protocol import PRIORS, Candidate
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.scenario import Unlabelled
from bsvdd.comparison.scenarios.shapes import Shape
from bsvdd.estimators.registry import REGISTRY, YARDSTICKS

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
                "data": setting,
                "model": model,
                "replicate": cell.replicate,
                "base_rate": 0.1,
                "g_mean": g,
                "auc": g + 0.05,
                "brier": 1 - g,
                "fit_seconds": seconds(model),
                "score_seconds": 0.1,
                "r_hat": 1.0,
                "effective_support": 50.0,
                "error": "",
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
def test_the_planted_order_is_what_the_sentences_say(plan, order):
    sections, rankings = guidelines.all_findings(plan, results_of(plan, order))
    assert list(rankings["g_mean"].ranks.index) == order
    first = sections["Over all settings"][0].sentence
    assert f"{order[0]} has the best mean rank by G-mean, 1.0 of 6" in first
    gap = re.search(rf"\b{order[-1]} \((-[0-9.]+)\)", first)  # the median difference
    assert float(gap[1]) == pytest.approx(-0.5, abs=0.02)  # but for the noise
    for title, findings in sections.items():
        if title.startswith("Situation: ") and title != "Situation: labelled minority":
            for finding in findings[1:]:
                said = rf": {order[0]} has the highest mean G-mean, 0\.(89|9)"
                assert re.search(said, finding.sentence)
                assert order[0] == finding.evidence.index[0]
                assert finding.evidence["difference to the best"].iloc[0] == 0


def test_differences_over_two_blocks_are_not_tested():
    """Intervals of one degree of freedom would join what lies far apart."""
    setting = Unlabelled(Shape("ring"))
    rows = [
        {"data": setting.name, "model": model, "replicate": i, "g_mean": value + 0.01 * i, "auc": 1}
        for i in range(3)
        for model, value in (("A", 0.9), ("B", 0.5 - 0.3 * i))
    ]
    design = {"boundary": {"ring": [setting]}}
    said = [situations(design, pd.DataFrame(rows[:n]))["boundary"][0].sentence for n in (4, 6)]
    assert "over 2 replicates. Too few replicates to test differences." in said[0]
    assert "Not significantly worse: B." in said[1] and "Too few" not in said[1]


def test_without_labels_the_best_one_class_model_is_named(plan):
    found, _ = guidelines.all_findings(plan, results_of(plan, ORDERS[2]))
    change, *levels = found["Situation: labelled minority"]
    assert "none: BDD has the highest" in levels[-1].sentence
    assert "SVM" not in levels[-1].evidence.index
    assert "lowest at none, 0." in change.sentence and "(SVM)" in change.sentence


def test_models_that_tie_do_not_differ_significantly(plan):
    # seed 0 is one of the twenty in which two models that tie differ at the 5 % level
    same = planted(plan.main, lambda *_: 0.5, noise=0.05, seed=1)
    labelled = [s.name for s in plan.main.scenarios if s.labelled]
    (finding, ranking), *_ = guidelines.overall(model_rows(same[same["data"].isin(labelled)]))
    assert len(ranking.indistinguishable(ranking.best)) == 5
    assert "does not distinguish it from" in finding.sentence
    assert "significantly better" not in finding.sentence


def test_the_worth_of_labels_is_counted(plan):
    labelled = {s.name for s in plan.main.scenarios if s.labelled}
    one = sorted(labelled)[0]

    def value(setting, model):
        learns = model in ("SVM", "BSVDD-M")
        return 0.5 + (0.2 if learns != (setting == one) else 0.0)

    results = planted(plan.main, value, noise=0.0)
    finding = guidelines.labels(
        model_rows(results[results["data"].isin(labelled)]), plan.main.candidates
    )
    n = len(labelled)
    assert f"in {n - 1} of {n} settings; the median gain is +0.200" in finding.sentence
    assert f"-0.200 ({one})" in finding.sentence


def test_a_faster_model_within_the_margin_is_named(plan):
    values = {m: 0.5 for m in MODELS} | {"BSVDD": 0.8, "SVDD": 0.79}
    seconds = {m: 0.1 for m in MODELS} | {"BSVDD": 3.0, "SVDD": 0.5}
    results = planted(plan.main, lambda _, m: values[m], seconds.get, noise=0.0)
    sentence = guidelines.cost(model_rows(results)).sentence
    assert (
        "BSVDD has the highest mean G-mean over settings with labels, 0.800, and fits in 3.00 s"
        in sentence
    )
    assert "SVDD is the fastest: 0.790 in 0.50 s, 6.0 times as fast" in sentence


def test_failures_and_chains_that_disagree_are_counted(plan):
    results = planted(plan.main, lambda *_: 0.5)
    bsvdd = results.index[results["model"] == "BSVDD"]
    results.loc[bsvdd[:3], "r_hat"] = 1.2
    results.loc[results.index[results["model"] == "SVM"][:2], "error"] = "ValueError: no"
    sentence = guidelines.reliability(model_rows(results)).sentence
    assert "2 failed (SVM: 2)" in sentence
    assert "the chains of 3 disagree (R-hat of d_z above 1.01): BSVDD: 3" in sentence


def test_a_study_without_a_fit_that_succeeded_says_so(plan):
    results = {}
    for study in plan.studies:
        table = planted(study, lambda *_: 0.5)
        failed = ~table["model"].str.startswith("flag")
        measured = ["g_mean", "auc", "brier", "fit_seconds", "score_seconds", "r_hat"]
        table.loc[failed, measured] = np.nan
        table.loc[failed, "error"] = "ValueError: no"
        results[study.name] = table
    sections, rankings = guidelines.all_findings(plan, results)
    assert rankings == {}
    assert sections["Over all settings"][0].sentence.startswith("Not compared: ranking by g_mean")
    assert sections["Time"][0].sentence == "Time: no fit succeeded."
    assert "no setting has results of both" in sections["What labels are worth"][0].sentence
    total = sum(len(study.cells()) for study in plan.studies)
    assert f"Of {total} fits, {total} failed" in sections["Can the fits be trusted"][0].sentence


def defaults_study(n=12):
    shapes = [Shape("ring", noise=0.01 * (i + 1)) for i in range(n)]
    candidates = [
        Candidate(f"{model}, {prior}", model, choice=prior)
        for model in ("BDD", "BSVDD")
        for prior in PRIORS
        if prior not in studies.PRIOR_OF
    ]
    return runner.Study("d", shapes, candidates, studies.DEFAULTS, 2)


def verdict(order, auc=lambda planted: planted):
    study = defaults_study()
    results = planted(study, lambda _, name: 0.8 - 0.1 * order.index(name.rpartition(", ")[2]))
    results["auc"] = auc(results["auc"])
    return defaults.defaults(model_rows(results), study.candidates, "prior", lambda _: "scaled")


def test_a_default_that_wins_stays_and_one_that_loses_is_to_be_replaced():
    kept = verdict(["scaled", "flat", "published", "Gaussian process"])
    assert (
        "scaled for BDD and BSVDD: the default is the best in 4 of 4 rankings" in kept[0].sentence
    )
    assert "so it stays" in kept[0].sentence
    lost = verdict(["flat", "published", "Gaussian process", "scaled"])
    assert (
        "the default is the best in 0 of 4 rankings (a model by a metric), flat in its place in 4"
        in lost[0].sentence
    )
    assert lost[0].sentence.endswith(
        "by each metric for BDD and BSVDD, where it should be replaced."
    )
    assert "worse for BDD by G-mean (flat), BDD by AUC (flat), BSVDD by" in lost[0].sentence
    assert "flat has the best mean rank (1.0" in lost[1].sentence
    assert lost[1].sentence.endswith(": significantly worse).")


def test_a_default_that_loses_by_one_metric_stays():
    found = verdict(["flat", "published", "Gaussian process", "scaled"], lambda auc: 1 - auc)
    assert "worse for BDD by G-mean (flat) and BSVDD by G-mean (flat)" in found[0].sentence
    assert found[0].sentence.endswith("but for no model by each metric, so it stays.")


def test_defaults_are_those_of_the_package():
    of = {"BSVDD": "flat", "BSVDD-M": "inverse row sum", "BDD": "equal weights", "BDD-M": "scaled"}
    for model, prior in of.items():
        assert defaults.default_prior(model) == prior
        assert f"{model}, {prior}" in [c.name for c in studies.prior_candidates()]
    for model in studies.BANDWIDTH_MODELS:
        assert defaults.default_bandwidth(model) == "likelihood"
    kernels = [c.parameters["kernel"] for c in studies.bandwidth_candidates()]
    assert REGISTRY["BSVDD"].parameters["kernel"] in kernels


def test_too_few_settings_are_said_and_not_hidden(plan):
    results = results_of(plan, MODELS)
    one = plan.priors.scenarios[0].name
    name = plan.priors.name
    results[name] = results[name][results[name]["data"] == one]
    sections, _ = guidelines.all_findings(plan, results)
    assert "its prior cannot be compared: ranking by g_mean needs" in sections["Priors"][0].sentence


def test_the_page_is_self_contained_and_shows_every_sentence(plan, tmp_path):
    results = results_of(plan, MODELS)
    page = guidelines_page.write(tmp_path, plan, results).read_text()
    sections, _ = guidelines.all_findings(plan, results)
    text = page.replace("&#39;", "'").replace("&gt;", ">")
    for findings in sections.values():
        for finding in findings:
            assert finding.sentence in text
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert page.count("data:image/png;base64,") == 4
    pictures = {p.name for p in tmp_path.glob("*.png")}
    assert {"overview.png", "time.png", "critical_difference_g_mean.png"} <= pictures


def test_designs_cover_what_is_asked_for():
    plan = studies.settings()
    assert set(plan.design) == {
        "rows in training",
        "features",
        "features with v = 5",
        "minority share",
        "boundary",
        "tails",
        "mislabelled minority",
        "labelled minority",
    }
    assert {"50", "100", "200"} <= set(plan.design["features"])
    assert set(plan.design["minority share"]) == {"1/3", "1/5", "1/10", "1/20", "1/50", "1/100"}
    with_v = [s for (s,) in plan.design["features with v = 5"].values()]
    assert [(s.v, s.p, s.share) for s in with_v] == [(5, 50, None), (5, 100, None), (5, 200, None)]
    assert {s.name for s in with_v}.isdisjoint(s.name for (s,) in plan.design["features"].values())
    assert set(plan.design["boundary"]) == {"linear", "ring", "moons", "clover", "modes"}
    assert [c.name for c in plan.main.candidates] == [*REGISTRY, *YARDSTICKS]
    assert any(isinstance(s, Unlabelled) for s in plan.main.scenarios)
    for each in plan.studies:
        each.check()
    bayesian = [n for n, r in REGISTRY.items() if r.bayesian]
    assert {c.model for c in plan.priors.candidates} == set(bayesian)


def test_real_sets_are_grouped_by_size_features_and_share():
    data = [datasets.embedded(name) for name in ("wine_cultivar3", "yeast_ME2", "musk")]
    plan = studies.real(data)
    level = {
        factor: {s.name: level for level, members in levels.items() for s in members}
        for factor, levels in plan.design.items()
    }
    assert level["rows of the data set"] == {
        "wine_cultivar3": "up to 500",
        "yeast_ME2": "501 to 1500",
        "musk, 1000 training rows": "above 1500",
    }
    assert level["features"]["musk, 1000 training rows"] == "above 40"
    assert level["minority share"]["wine_cultivar3"] == "above 15%"
    assert level["minority share"]["yeast_ME2"] == "up to 5%"


def test_trivial_rules_are_no_candidates(plan):
    rows = list(trivial_rules(plan.main.scenarios[0], 0, 0))
    assert model_rows(pd.DataFrame(rows)).empty


def test_labels_of_times_cover_neither_points_nor_each_other():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"median fit, s": 10 ** rng.normal(-1, 1, 17), "mean G-mean": rng.uniform(0.7, 0.72, 17)},
        [f"model {i}" for i in range(17)],
    )
    figure = guidelines_page.against_time(table)
    (ax,) = figure.axes
    boxes = [text.get_window_extent() for text in ax.texts]
    assert [text.get_text() for text in ax.texts] == list(table.index)
    points = ax.transData.transform(table.to_numpy())
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.contains(*point) for point in points)
    plt.close(figure)
