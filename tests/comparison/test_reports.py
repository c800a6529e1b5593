"""Tables and pages: formats, ranks and intervals, winners, the published table."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import own_data, paired, reproduction, table
from bsvdd.comparison.run import runner, studies
from bsvdd.comparison.run.cell import replicate_seed
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.scenario import halves
from bsvdd.estimators.tables.files import Layout
from bsvdd.inference.metrics import evaluate
from scipy.stats import studentized_range, ttest_rel
from scipy.stats import t as student

STORED = Path(__file__).parents[2] / "docs" / "study"


def test_the_formats_hold_the_same_numbers_with_base_rate_and_failures():
    rows = [
        {
            **{"data": data, "model": model, "replicate": i, "base_rate": 0.25},
            "auc": None if (model, i) == ("B_1", 1) else value + i / 4,
            "error": "ValueError: no" if (model, i) == ("B_1", 1) else "",
        }
        for i in range(2)
        for data in ("50% a_b", "c")
        for model, value in (("A & A", 0.25), ("B_1", 0.5))
    ]
    made = table.formats(runner.frame(rows))
    read = pd.read_csv(io.StringIO(made["csv"]), index_col=["setting", "model"])
    assert read.index.tolist() == [(d, m) for d in ("50% a_b", "c") for m in ("A & A", "B_1")]
    a, b = read.loc[("50% a_b", "A & A")], read.loc[("c", "B_1")]
    assert (a["base_rate"], a["auc_mean"]) == (0.25, 0.375)
    assert a["auc_sd"] == pytest.approx(0.25 / np.sqrt(2))  # n - 1
    assert (b["fits"], b["auc_mean"]) == ("1 of 2", 0.5)
    assert all(words in made["txt"] for words in ("0.375 (0.177)", "1 of 2", "0.250"))
    shown = table.summary(runner.frame(rows))
    assert shown.loc[("c", "B_1"), ["AUC", "PPV"]].tolist() == ["0.500", "-"]


# ranks over scenarios, differences over replicates

VALUES = np.random.default_rng(1).normal([0.5, 0.7, 0.4, 0.68], 0.05, size=(12, 4))


def results_of(values, models="ABCD"):
    return pd.DataFrame(
        [
            {"data": f"set {i}", "model": m, "replicate": r, "g": x + (-1) ** r * 0.1}
            for i, row in enumerate(values)
            for m, x in zip(models, row, strict=True)
            for r in range(2)
        ]
    )


@pytest.mark.parametrize("larger", [True, False])
def test_ranks_friedman_and_nemenyi_follow_their_formulas(larger):
    ranking = paired.rank(results_of(VALUES), "g", larger)
    n, k = VALUES.shape
    ranks = ((-1) ** larger * VALUES).argsort(axis=1).argsort(axis=1) + 1
    mean = dict(zip("ABCD", ranks.mean(axis=0), strict=True))
    assert ranking.ranks.to_dict() == pytest.approx(mean)
    assert list(ranking.ranks.index) == sorted(mean, key=mean.get)
    chi2 = 12 * n / (k * (k + 1)) * (sum(r**2 for r in mean.values()) - k * (k + 1) ** 2 / 4)
    assert ranking.agreement == pytest.approx(chi2 / (n * (k - 1)))
    assert ranking.pvalue < 1e-4
    for a in "ABCD":
        for b in set("ABCD") - {a}:
            q = abs(mean[a] - mean[b]) / np.sqrt(k * (k + 1) / (6 * n)) * np.sqrt(2)
            expected = studentized_range.sf(q, k, np.inf)
            assert ranking.nemenyi.loc[a, b] == pytest.approx(expected, abs=1e-6)
    near = {"B", "D"} if larger else {"A", "C"}
    assert set(ranking.indistinguishable(ranking.best)) == near - {ranking.best}
    effects, best = ranking.effects(), "ABCD".index(ranking.best)
    for j, m in enumerate("ABCD"):
        gap = VALUES[:, j] - VALUES[:, best]
        better = (gap > 0 if larger else gap < 0).sum()
        assert effects.loc[m, "median difference to the best"] == pytest.approx(np.median(gap))
        assert effects.loc[m, "settings where it is better than the best"] == better


def test_models_without_a_result_somewhere_are_named():
    some = results_of(VALUES)
    some.loc[(some["data"] == "set 3") & (some["model"] == "B"), "g"] = np.nan
    ranking = paired.rank(some, "g")
    assert ranking.incomplete == ["B"] and "B" not in ranking.ranks
    with pytest.raises(ValueError, match=r"at least 3 models .* got 2 models and 12 settings"):
        paired.rank(some[some["model"] != "A"], "g")


def test_a_lead_has_the_interval_of_the_paired_t_test_or_that_of_nadeau_and_bengio():
    blocks = pd.DataFrame(VALUES, columns=list("ABCD"))
    for ratio in (0.0, 1.0):
        found = paired.lead(blocks, ratio)
        best = found.best
        assert best == blocks.mean().idxmax()
        assert (found.mean, found.blocks) == (pytest.approx(blocks[best].mean()), 12)
        for m, row in found.others.iterrows():
            gap = blocks[m] - blocks[best]
            half = student.ppf(0.975, 11) * np.sqrt((1 / 12 + ratio) * gap.var(ddof=1))
            limits = [gap.mean() - half, gap.mean() + half]
            if not ratio:
                test = ttest_rel(blocks[m], blocks[best]).confidence_interval(0.95)
                assert limits == pytest.approx([test.low, test.high])
            assert [row["low"], row["high"]] == pytest.approx(limits)
            assert row["significant"] == (limits[1] < 0)
    assert set(paired.lead(blocks).indistinguishable) == {"B", "D"} - {best}
    one = paired.lead(pd.DataFrame([[0.5, 0.9, np.nan]], columns=list("ABC")))
    assert (one.best, one.indistinguishable) == ("B", ["A"])
    same = paired.lead(pd.DataFrame({"A": [0.5, 0.6], "B": [0.25, 0.35], "C": [0.5, 0.6]}))
    assert same.others.loc["B", ["low", "high"]].tolist() == pytest.approx([-0.25, -0.25])
    assert same.indistinguishable == ["C"]


# the user's own data

NAMES = ["SVDD", "OCSVM", "kNN"]
MOON = datasets.moon(n0=60, n1=12)
STUDY = runner.comparison([MOON], NAMES, 3)


@pytest.fixture(scope="module")
def results():
    return STUDY.run()


def test_the_winner_has_the_largest_mean(results):
    found = own_data.winners(results)
    means = results[results["model"].isin(NAMES)].groupby("model")[["auc", "g_mean"]].mean()
    assert [found[title].best for title in ("AUC", "G-mean")] == means.idxmax().tolist()
    said = own_data.sentence("AUC", found["AUC"])
    assert f"{means['auc'].max():.3f} on average over 3 halves" in said
    first = own_data.winners(results[results["replicate"] == 0])
    assert all("One half says nothing" in own_data.sentence(*each) for each in first.items())


@pytest.mark.parametrize(
    ("models", "end"),
    [
        ("SVDD BDD kNN", "told apart from kNN; it is not told apart from BDD."),
        ("SVDD kNN", "It is told apart from all other models."),
        ("SVDD BDD", "It is told apart from no other model: its lead may be chance."),
        ("SVDD", "over 3 halves."),
    ],
)
def test_the_sentence_says_what_the_winner_is_told_apart_from(models, end):
    values = {"SVDD": [0.9, 0.91, 0.92], "BDD": [0.91, 0.89, 0.9], "kNN": [0.1, 0.11, 0.12]}
    rows = [
        {"model": model, "replicate": r, "auc": value, "g_mean": np.nan}
        for model in models.split()
        for r, value in enumerate(values[model])
    ]
    (by_auc,) = own_data.winners(pd.DataFrame(rows)).items()
    assert own_data.sentence(*by_auc).endswith(end)


def test_models_that_are_nearly_equal():
    names = ["A", "B", "C", "BDD", "BSVDD"]
    near = pd.DataFrame(np.eye(5) == 1, names, names)
    assert own_data.alike(near) == []
    near.loc["A", "C"] = near.loc["BDD", "BSVDD"] = True
    first, second = own_data.alike(near)
    assert first == "A and C decide alike."
    assert second.startswith("BDD and BSVDD decide alike: the default priors of")


def test_pictures_and_page_are_of_the_rows_of_the_first_half(results, tmp_path):
    figures = own_data.pictures(STUDY, results)
    assert list(figures) == ["differences_1", "roc_1", "distances_1"]
    first = results[results["replicate"] == 0].set_index("model")["auc"]
    legend = figures["roc_1"][0].axes[0].get_legend().get_texts()
    shown = {own_data.winners(results)["AUC"].best, "SVDD"}
    assert {t.get_text() for t in legend[:-1]} == {f"{m}: AUC {first[m]:.3f}" for m in shown}
    text = own_data.write(tmp_path, results, STUDY, figures).read_text(encoding="utf-8")
    for words in ("Which model won", "Nadeau and Bengio", "What P(normal) is", "first test half"):
        assert words in text
    assert own_data.UNADJUSTED in text
    assert "<td>kNN (yardstick)</td>" in text and '<tr class="trivial"><td>flag all' in text
    assert "A two-dimensional example" not in text  # it was not given
    assert (tmp_path / "roc_1.png").exists()


@pytest.mark.filterwarnings("ignore:1 of 72 rows have gaps")
def test_rows_have_the_ids_of_the_users_file(results, tmp_path):
    rows = pd.DataFrame(MOON.X, columns=["a", "b"]).assign(
        name=[f"id {i}" for i in range(len(MOON.X))], y=MOON.minority.astype(int)
    )
    rows.loc[3, "a"] = np.nan
    rows.to_csv(tmp_path / "moon.csv", index=False)
    by_number, named = (
        datasets.from_csv(tmp_path / "moon.csv", layout)
        for layout in (Layout("y", drop=("name",)), Layout("y", "name"))
    )
    assert by_number.row_names.tolist() == list(range(len(rows)))
    figures = own_data.pictures(runner.comparison([named], NAMES, 3), results)
    ax = figures["distances_1"][0].axes[0]
    ax.figure.canvas.draw()
    ticks = dict(zip(ax.get_xticks(), [t.get_text() for t in ax.get_xticklabels()], strict=True))
    test_rows = np.sort(halves(named, replicate_seed(0, 0))[1])
    shown = {int(place): text for place, text in ticks.items() if text}
    assert shown == {i: f"id {test_rows[i]}" for i in shown} and shown


# the published table

PRINTED = reproduction.published()


def test_implied_shares_are_those_of_the_generator_and_bdd_has_the_other_class():
    assert PRINTED.shape == (12, 12) and PRINTED.loc[("BSVDD", 10), "f1"] == 0.6262
    share = reproduction.implied_share(PRINTED)
    for model in ("SVDD", "BSVDD", "BSVDD-M"):
        assert share.loc[model].to_numpy() == pytest.approx([0.444, 0.455, 0.460], abs=0.0015)
    assert share.loc["BDD"].to_numpy() == pytest.approx([0.556, 0.545, 0.541], abs=0.0015)
    turned = reproduction.other_class_positive(PRINTED)
    assert turned[turned].index.tolist() == ["BDD"]
    f1 = reproduction.flag_all_f1(share.loc["BSVDD"]).to_numpy()
    assert f1 == pytest.approx(PRINTED.loc["BSVDD", "f1"].to_numpy(), abs=0.001)


def test_recasting_turns_the_metrics_of_one_class_into_those_of_the_other():
    rng, columns = np.random.default_rng(0), list(reproduction.COMPARED)
    y, flagged = rng.random(5000) < 0.44, rng.random(5000) < 0.6
    straight, turned = evaluate(y, flagged), evaluate(~y, ~flagged)
    keys = pd.MultiIndex.from_tuples([("A", 1), ("B", 1), ("C", 1)], names=["model", "v"])
    got = reproduction.recast(pd.DataFrame([straight, turned, straight], index=keys))
    assert got.loc[("B", 1)].tolist() == pytest.approx([straight[name] for name in columns])
    found = reproduction.recast(PRINTED)
    assert found.loc["BDD", "f1"].to_numpy() == pytest.approx([0.396, 0.389, 0.377], abs=0.001)
    others = [key for key in found.index if key[0] != "BDD"]
    pd.testing.assert_frame_equal(found.loc[others], PRINTED.loc[others, columns])
    moved = PRINTED.copy()
    moved.loc[["SVDD"], "f1"] += 0.06
    moved.loc[("BDD", 5), "ppv"] = np.nan
    distance = reproduction.distance(PRINTED, moved)[["SVDD", "BDD", "BSVDD", "BSVDD-M"]]
    assert distance.tolist() == pytest.approx([0.01, 0, 0, 0])


def test_rows_that_flag_everything_are_called_so():
    """By the stored study of the slides."""
    stored = runner.read(STORED / "slides_results.csv")
    ours, sd = reproduction.by_v(studies.slides(), stored)
    said = reproduction.verdicts(ours, ours.loc["flag all", "f1"] + 0.001)
    words = said["verdict"].xs("published", level="source")
    assert words["BSVDD"] == words["BSVDD-M"] == "as flagging all"
    assert words["SVDD"] == "other than flagging all"
    assert words["BDD"] == "other than flagging all; calls the other class positive"
    assert said.loc[("Bayes rule", "ours"), "F1 - F1 of flagging all"] == "0.001, 0.001, 0.001"
    both = reproduction.beside(ours, sd)
    assert both.loc[("SVDD", 5.0, "slides"), "F1"] == "0.167 (0.034)"
    assert both.loc[("flag all", 5.0, "ours"), "FPR"] == "1.000 (0.000)"
    assert [s for m, _, s in both.index if m == "BDD"] == ["slides", "slides, recast", "ours"] * 3
