"""Tables and pages: means, intervals, ranks, advice, studies, the published table."""

import re

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.metrics import evaluate
from scipy.stats import studentized_range, ttest_rel
from scipy.stats import t as student
from sklearn.metrics import precision_recall_curve

from bsvdd import cutoffs
from bsvdd.comparison import advice, datasets, reproduction, studies, table
from bsvdd.comparison.advice import Advice
from bsvdd.comparison.slides import Slides

VALUES = pd.DataFrame(
    np.random.default_rng(1).normal([0.5, 0.7, 0.4, 0.68], 0.05, size=(12, 4)),
    columns=list("ABCD"),
)


# intervals and ranks


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_a_lead_has_the_interval_of_the_paired_t_test_or_that_of_nadeau_and_bengio(
    ratio,
):
    found = table.lead(VALUES, ratio)
    best = VALUES.mean().idxmax()
    assert found.index[0] == best and found["mean"].to_dict() == VALUES.mean().to_dict()
    for m in found.index[1:]:
        gap = VALUES[m] - VALUES[best]
        half = student.ppf(0.975, 11) * np.sqrt((1 / 12 + ratio) * gap.var(ddof=1))
        limits = [gap.mean() - half, gap.mean() + half]
        if not ratio:
            test = ttest_rel(VALUES[m], VALUES[best]).confidence_interval(0.95)
            assert limits == pytest.approx([test.low, test.high])
        assert found.loc[m, ["low", "high"]].tolist() == pytest.approx(limits)
        assert found.loc[m, "worse"] == (limits[1] < 0)
    assert set(table.not_told_apart(table.lead(VALUES))) == {"B", "D"} - {best}


def test_a_lead_of_one_block_of_equal_models_and_of_none():
    one = table.lead(pd.DataFrame([[0.5, 0.9, np.nan]], columns=list("ABC")))
    assert one.index.tolist() == ["B", "A"] and table.not_told_apart(one) == ["A"]
    same = table.lead(
        pd.DataFrame({"A": [0.5, 0.6], "B": [0.25, 0.35], "C": [0.5, 0.6]})
    )
    assert same.loc["B", ["low", "high"]].tolist() == pytest.approx([-0.25, -0.25])
    assert table.not_told_apart(same) == ["C"]
    assert table.lead(pd.DataFrame({"A": [np.nan]})).empty


def test_ranks_friedman_and_nemenyi_follow_their_formulas():
    found, (n, k) = table.mean_ranks(VALUES), VALUES.shape
    ranks = ((-VALUES).to_numpy().argsort(axis=1).argsort(axis=1) + 1).mean(axis=0)
    mean = dict(zip("ABCD", ranks, strict=True))
    assert found["mean rank"].to_dict() == pytest.approx(mean)
    assert list(found.index) == sorted(mean, key=mean.get)
    first = found.index[0]
    for m in found.index:
        q = (mean[m] - mean[first]) / np.sqrt(k * (k + 1) / (6 * n)) * np.sqrt(2)
        assert found.loc[m, "p"] == pytest.approx(
            studentized_range.sf(q, k, np.inf), abs=1e-9
        )
    assert set(table.not_told_apart(found)) == {"B", "D"} - {first}
    assert table.friedman(VALUES) < 1e-4
    with pytest.raises(ValueError, match="2 data sets and 3 models .* got 12 and 2"):
        table.mean_ranks(VALUES[["A", "B"]].assign(C=np.nan))


def test_means_are_of_the_replicates_and_a_dash_is_no_value():
    rows = [
        {"data": d, "model": m, "replicate": i, "auc": v + i / 4}
        for i in range(2)
        for d in ("50 %", "c")
        for m, v in (("A", 0.25), ("B", np.nan))
    ]
    mean = table.means(pd.DataFrame(rows), ["auc"])
    assert mean.index.tolist() == [(d, m) for d in ("50 %", "c") for m in "AB"]
    assert mean.loc[("c", "A"), "auc"] == 0.375
    assert table.mean_sd(0.375, 0.1768) == "0.375 (0.177)"
    assert [table.mean_sd(np.nan, 0.1), table.mean_sd(0.5, np.nan)] == ["-", "0.500"]


# advice on one's own data


def results_of(values, failed=(), **others):
    """Return results with these G-means; ``failed`` are (model, replicate)."""
    fixed = {"found": 0.5, "ppv": 0.5, "fpr": 0.1, "average_precision": 0.5, "auc": 0.5}
    return pd.DataFrame(
        [
            {"data": "moon", "model": m, "replicate": r, "g_mean": np.nan if bad else v}
            | (fixed | {"f1": 1 - v, "fit_seconds": 1.0, "notes": ""})
            | {name: each[m] for name, each in others.items() if m in each}
            | {"error": f"ValueError: {m[:2]} has no room" if bad else ""}
            for m, of_model in values.items()
            for r, v in enumerate(of_model)
            for bad in [(m, r) in failed]
        ]
    )


GOOD = {"SVDD": [0.9, 0.91, 0.92], "BDD": [0.91, 0.89, 0.9], "kNN": [0.1, 0.11, 0.12]}


@pytest.mark.parametrize(
    ("models", "words"),
    [
        (
            "SVDD BDD kNN",
            "best alone: SVDD has the largest G-mean 0.910, and is not .* BDD[.]",
        ),
        (
            "SVDD kNN",
            "^Take SVDD: G-mean 0.910, told apart from all others. It finds 0.50 of",
        ),
        ("SVDD BDD", "and is not told apart from BDD[.]$"),
        (
            "SVDD",
            "^SVDD: G-mean 0.910. It finds 0.50 of the minority rows and flags 0.10",
        ),
    ],
)
def test_a_model_is_recommended_if_it_is_told_apart(models, words):
    found = advice.ranked(results_of({m: GOOD[m] for m in models.split()}), "g_mean")
    assert re.search(words, advice.advice(found, "g_mean")[0])


def test_among_those_not_told_apart_the_trade_is_named():
    found = advice.ranked(
        results_of(
            GOOD, found={"BDD": 0.7, "kNN": 0.99}, ppv={"SVDD": 0.6, "kNN": 0.99}
        ),
        "g_mean",
    )
    many = GOOD | {f"M{i}": GOOD["SVDD"] for i in range(7)}
    for rest, words in (
        ("kNN", "from kNN of the 9"),
        ("", "not told apart from any of the 8"),
    ):
        some = {m: v for m, v in many.items() if m != "kNN" or rest}
        said = advice.advice(advice.ranked(results_of(some), "g_mean"), "g_mean")[0]
        assert f"told apart {words} others." in said or f"{words} others." in said
    last = advice.advice(found, "g_mean")[-1]
    assert last == (
        "Of the 2 not told apart BDD finds most (0.70), and SVDD has the largest PPV "
        "(0.60)."
    )
    one = advice.ranked(results_of({m: v[:1] for m, v in GOOD.items()}), "g_mean")
    assert "One half tells no models apart" in advice.advice(one, "g_mean")[0]


def test_what_failed_is_said_once_and_recommended_never():
    models = {
        "SVM": GOOD["SVDD"],
        "SVDD": GOOD["SVDD"],
        "BDD": GOOD["BDD"],
        "SVDD-M": [0.99] * 3,
    }
    failed = (
        {("SVM", r) for r in range(3)}
        | {("SVDD", r) for r in range(3)}
        | {("SVDD-M", 1)}
    )
    results = results_of(models, failed)
    found = Advice.of(datasets.moon(), results, None)
    assert found.found.index.tolist() == ["BDD", "SVDD-M"]
    assert [row[0] for row in found.rows] == ["BDD", "SVDD-M (2 of 3)"]
    assert found.rows[1][1:3] == ["0.990", "-"] and found.rows[0][2] == ""
    assert found.said[0].startswith("BDD: G-mean 0.900")
    assert found.said[-2:] == [
        "SVM, SVDD failed in all 3 halves: ValueError: SV has no room",
        "SVDD-M failed in 1 of 3 halves: ValueError: SV has no room",
    ]
    nothing = results_of(models, {(m, r) for m in models for r in range(3)})
    found = Advice.of(datasets.moon(), nothing, None)
    assert found.rows == [] and found.said[0].startswith(
        "No model has a result in every half"
    )


@pytest.mark.parametrize(
    ("n1", "cutoff", "metric", "words"),
    [
        (40, None, "g_mean", "order of G-mean, which chose their cutoffs"),
        (
            39,
            None,
            "g_mean",
            "Cutoffs are for 0.1 false alarms, as 19 minority rows train; .* order of "
            "G-mean",
        ),
        (40, cutoffs.Best("f1"), "f1", "order of F1, which chose"),
        (
            40,
            cutoffs.FalseAlarm(0.02),
            "g_mean",
            "for 0.02 false alarms, as 20 minority",
        ),
        (40, cutoffs.Cost(5), "g_mean", r"Cutoffs are those of Cost\(miss=5\); models"),
    ],
)
def test_models_stand_in_the_order_of_what_chose_the_cutoffs(n1, cutoff, metric, words):
    found = Advice.of(datasets.moon(n1=n1), results_of(GOOD), cutoff)
    assert found.metric == metric
    assert re.search(words, "\n".join(found.said))
    assert found.found.index[0] == {"g_mean": "SVDD", "f1": "kNN"}[metric]


def test_a_warning_is_said_once_whatever_its_numbers():
    results = results_of(GOOD)
    results["notes"] = [f"{i} rows\nR-hat is 1.0{i}" if i < 6 else "" for i in range(9)]
    assert advice.notes(results) == {
        "0 rows": ["SVDD", "BDD"],
        "R-hat is 1.00": ["SVDD", "BDD"],
    }
    # of a study, with what failed
    results = results_of(GOOD, {("kNN", r) for r in range(3)})
    results.loc[:2, "notes"] = "R-hat is 1.02"
    assert studies.failures_and_warnings(results) == [
        "kNN failed on moon: ValueError: kN has no room",
        "SVDD: R-hat is 1.02",
    ]


def test_the_page_has_all_and_fetches_nothing(tmp_path):
    results = results_of(GOOD | {"<b>": GOOD["BDD"]}, {("kNN", r) for r in range(3)})
    found = Advice.of(datasets.moon(), results, None)
    advice.write_page(tmp_path / "x.html", [found], ["plan & all"])
    text = (tmp_path / "x.html").read_text(encoding="utf-8")
    words = [
        "No model is the best alone",
        "plan &amp; all",
        "&lt;b&gt;",
        "failed in all 3 halves",
        "data:image/png;base64,",
        "Nadeau and Bengio",
        "<td>0.910</td>",
        "base rate 0.091",
    ]
    assert [each for each in words if each not in text] == []
    assert "<b></" not in text and 'src="http' not in text and "href=" not in text
    axes = advice.differences(found)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["BDD", "<b>"]


# the studies


@pytest.mark.parametrize("quick", [True, False])
def test_settings_have_the_rows_that_their_levels_say(quick):
    for (factor, level), scenario in studies.design(quick).items():
        if factor == "minority share":
            n = int(level.partition("/")[2])
            assert scenario.pair(0).train.minority.sum() == round(600 / n)
        if factor == "features":
            assert (scenario.p, scenario.v) == (int(level), 0.0)
    study = studies.settings(quick)
    assert len(study.cells()) == len(study.scenarios) * study.replicates * len(
        study.models
    )
    steps = {factor for factor, _ in studies.scenarios_by_situation(study)}
    assert {"features", "minority share", "boundary"} <= steps
    assert quick or {
        s for of in studies.scenarios_by_situation(study).values() for s in of
    } == {each.name for each in study.scenarios}


def test_real_sets_are_grouped_by_their_size():
    study = studies.real(["wine_cultivar3", "yeast_ME2", "musk"])
    assert [s.name for s in study.scenarios][2] == "musk, 1000 training rows"
    assert {
        at: len(sets) for at, sets in studies.scenarios_by_situation(study).items()
    } == {
        **{
            ("rows of the set", x): 1
            for x in ("up to 500", "501 to 1500", "above 1500")
        },
        **{("features", x): 1 for x in ("up to 10", "11 to 40", "above 40")},
        **{("minority share", "up to 5 %"): 2, ("minority share", "above 15 %"): 1},
    }
    assert (
        len(studies.real().scenarios) == 13
        and len(studies.real(quick=True).scenarios) == 4
    )


def test_which_model_when_names_planted_winners():
    study = studies.real(quick=True)
    of = {s.name: ("SVM" if len(s.data.X) > 500 else "BDD") for s in study.scenarios}
    rng = np.random.default_rng(0)
    rows = [
        cell.names
        | {m: 0.5 + 0.2 * (cell.model == of[cell.scenario.name]) + rng.normal(0, 0.001)}
        | {"auc": 0.5, "average_precision": 0.5}
        for cell in study.cells()
        for m in ["g_mean"]
    ]
    found = studies.tables(study, pd.DataFrame(rows))
    titles = list(found)
    assert len(titles) == 5 and titles[0].startswith(
        "G-mean: mean ranks over 4 data sets (Friedm"
    )
    assert found[titles[0]].index[0] == "BDD"
    when = found["Which model when, by G-mean: all models"]
    assert when.loc[("rows of the set", "up to 500")].tolist()[::2] == ["BDD", ""]
    assert when.loc[("rows of the set", "501 to 1500")].tolist()[::2] == [
        "SVM",
        "too few to test",
    ]
    without = found["Which model when, by G-mean: models that need no labels"]
    assert without.loc[("rows of the set", "501 to 1500"), "best"] != "SVM"


def test_the_study_of_the_slides_is_that_of_the_slides():
    study = studies.slides()
    assert study.scenarios == [Slides(v=v) for v in (5, 10, 20)]
    assert (
        list(study.models) == ["SVDD", "BDD", "BSVDD", "BSVDD-M"]
        and len(study.cells()) == 120
    )
    assert all(
        (s.n_train, s.n_test, s.p) == (1000, 10_000, 50) for s in study.scenarios
    )
    assert study.models["BSVDD"].cutoff == cutoffs.Printed(
        cutoffs.Best("f1", max_fpr=1.0)
    )
    assert study.models["SVDD"].cutoff == cutoffs.Printed(of="own")


# the published table

PRINTED = reproduction.published()


def test_implied_shares_are_those_of_the_generator_and_bdd_has_the_other_class():
    assert PRINTED.shape == (12, 12) and PRINTED.loc[("BSVDD", 10), "f1"] == 0.6262
    share = reproduction.implied_share(PRINTED)
    for model in ("SVDD", "BSVDD", "BSVDD-M"):
        assert share.loc[model].to_numpy() == pytest.approx(
            [0.444, 0.455, 0.460], abs=0.0015
        )
    assert share.loc["BDD"].to_numpy() == pytest.approx(
        [0.556, 0.545, 0.541], abs=0.0015
    )
    turned = reproduction.other_class_positive(PRINTED)
    assert turned[turned].index.tolist() == ["BDD"]
    f1 = reproduction.flag_all_f1(share.loc["BSVDD"]).to_numpy()
    assert f1 == pytest.approx(PRINTED.loc["BSVDD", "f1"].to_numpy(), abs=0.001)


def test_recasting_turns_the_metrics_of_one_class_into_those_of_the_other():
    rng, columns = np.random.default_rng(0), list(reproduction.COMPARED)
    y, flagged = rng.random(5000) < 0.44, rng.random(5000) < 0.6
    straight, turned = evaluate(y, flagged), evaluate(~y, ~flagged)
    keys = pd.MultiIndex.from_tuples(
        [("A", 1), ("B", 1), ("C", 1)], names=["model", "v"]
    )
    got = reproduction.recast(pd.DataFrame([straight, turned, straight], index=keys))
    assert got.loc[("B", 1)].tolist() == pytest.approx(
        [straight[name] for name in columns]
    )
    found = reproduction.recast(PRINTED)
    assert found.loc["BDD", "f1"].to_numpy() == pytest.approx(
        [0.396, 0.389, 0.377], abs=0.001
    )
    others = [key for key in found.index if key[0] != "BDD"]
    pd.testing.assert_frame_equal(found.loc[others], PRINTED.loc[others, columns])
    moved = PRINTED.copy()
    moved.loc[["SVDD"], "f1"] += 0.06
    moved.loc[("BDD", 5), "ppv"] = np.nan
    distance = reproduction.distance(PRINTED, moved)[
        ["SVDD", "BDD", "BSVDD", "BSVDD-M"]
    ]
    assert distance.tolist() == pytest.approx([0.01, 0, 0, 0])


def test_no_rule_is_above_flagging_all_rows():
    pair = Slides(v=5, n_train=2).pair(0)
    precision, recall, _ = precision_recall_curve(pair.test.minority, pair.truth)
    some, p = recall > 0.0, pair.test.base_rate
    best = np.max(2 * (precision * recall)[some] / (precision + recall)[some])
    assert reproduction.flag_all_f1(p) <= best < reproduction.flag_all_f1(p) + 0.003


def test_rows_that_flag_everything_are_called_so():
    """With ours equal to the printed rows, recast."""
    recast, share = reproduction.recast(PRINTED), reproduction.implied_share(PRINTED)
    share = share.where(share < 0.5, 1 - share)
    rows = [
        {"data": Slides(v=v).name, "model": m, "replicate": r, "auc": 0.5 + r / 4}
        | {"base_rate": share[m, v], **recast.loc[(m, v)]}
        for m, v in PRINTED.index
        for r in range(2)
    ]
    sd = reproduction.by_v(pd.DataFrame(rows))[1]
    np.testing.assert_allclose(sd["auc"], 0.25 / np.sqrt(2))  # n - 1
    both, said = reproduction.both_tables(pd.DataFrame(rows)).values()
    words = said["verdict"].xs("slides", level="source")
    assert words["BSVDD"] == words["BSVDD-M"] == "as flagging all"
    assert words["SVDD"] == "other than flagging all"
    assert words["BDD"] == "other than flagging all; calls the other class positive"
    ours = said.xs("ours", level="source")
    assert (
        ours["distance"].max() < 1e-12
        and ours.loc["BSVDD", "verdict"] == "as flagging all"
    )
    assert both.loc[("SVDD", 5.0, "slides"), "F1"] == "0.167 (0.034)"
    assert both.loc[("BSVDD", 5.0, "ours"), "F1"] == "0.616 (0.000)"
    assert [s for m, _, s in both.index if m == "BDD"] == [
        "slides",
        "slides, recast",
        "ours",
    ] * 3


def test_models_that_flag_no_row_have_no_ppv():
    results = results_of({m: GOOD[m] for m in ("SVDD", "BDD")})
    same = results.assign(g_mean=0.0, found=0.0, ppv=np.nan)
    said = advice.advice(advice.ranked(same, "g_mean"), "g_mean")
    assert said[-1] == "None of them flags any row."
