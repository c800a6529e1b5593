"""The part of the report that is about the user's own data."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import comparison_page, own_data, paired
from bsvdd.comparison.run import runner
from bsvdd.comparison.run.cell import replicate_seed
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.scenario import halves
from scipy.stats import t as student
from scipy.stats import ttest_rel

NAMES = ["SVDD", "OCSVM", "kNN"]


@pytest.fixture(scope="module")
def moon():
    return datasets.moon(n0=60, n1=12)


@pytest.fixture(scope="module")
def results(moon):
    return runner.compare([moon], NAMES, replicates=3)


@pytest.fixture(scope="module")
def figures(moon, results):
    made = own_data.pictures([moon], results, Protocol())
    yield made
    plt.close("all")


def test_the_interval_of_independent_blocks_is_that_of_the_paired_t_test():
    rng = np.random.default_rng(0)
    blocks = pd.DataFrame(rng.normal(size=(9, 2)) + np.array([0.0, 0.4]), columns=["A", "B"])
    best = paired.lead(blocks)
    other = best.others.index[0]
    expected = ttest_rel(blocks[other], blocks[best.best]).confidence_interval(0.95)
    assert best.others.loc[other, "low"] == pytest.approx(expected.low)
    assert best.others.loc[other, "high"] == pytest.approx(expected.high)


def test_the_interval_of_halves_is_that_of_nadeau_and_bengio():
    gap = np.array([0.1, 0.3, 0.2, 0.0, 0.4])
    blocks = pd.DataFrame({"A": 0.9 + 0.0 * gap, "B": 0.9 - gap})
    row = paired.lead(blocks, 1.0).others.loc["B"]
    half = student.ppf(0.975, 4) * np.sqrt((1 / 5 + 1) * gap.var(ddof=1))
    assert [row["low"], row["high"]] == pytest.approx([-0.2 - half, -0.2 + half])
    assert not row["significant"]
    assert paired.lead(blocks).others.loc["B", "significant"]  # as if the halves were independent


def test_the_winner_has_the_largest_mean_and_says_what_it_is_told_apart_from(results):
    by_auc, by_g_mean = own_data.winners(results)
    means = results[results["model"].isin(NAMES)].groupby("model")[["auc", "g_mean"]].mean()
    assert by_auc.lead.best == means["auc"].idxmax()
    assert by_g_mean.lead.best == means["g_mean"].idxmax()
    assert f"{means['auc'].max():.3f} on average over 3 halves" in by_auc.sentence
    assert "told apart from" in by_auc.sentence


def test_one_half_tells_nothing_apart(results):
    first = own_data.winners(results[results["replicate"] == 0])
    assert all("One half says nothing" in each.sentence for each in first)


def test_sentences_of_all_and_of_some():
    table = pd.DataFrame(
        [
            {"model": model, "replicate": r, "auc": value + noise, "g_mean": np.nan}
            for model, value, noises in (
                ("SVDD", 0.9, [0.0, 0.01, 0.02]),
                ("BDD", 0.89, [0.02, 0.0, 0.01]),
                ("kNN", 0.1, [0.0, 0.01, 0.02]),
            )
            for r, noise in enumerate(noises)
        ]
    )
    (by_auc,) = own_data.winners(table)
    assert by_auc.sentence.endswith("told apart from kNN; it is not told apart from BDD.")
    (without,) = own_data.winners(table[table["model"] != "BDD"])
    assert without.sentence.endswith("It is told apart from all other models.")


def test_pictures_are_of_the_rows_of_the_first_half(moon, results, figures):
    assert list(figures) == ["differences_1", "roc_1", "distances_1"]
    first = results[results["replicate"] == 0].set_index("model")["auc"]
    legend = figures["roc_1"][0].axes[0].get_legend().get_texts()
    best = own_data.winners(results)[0].lead.best
    assert {t.get_text() for t in legend[:-1]} == {
        f"{name}: AUC {first[name]:.3f}" for name in {best, "SVDD"}
    }
    ax = figures["distances_1"][0].axes[0]
    shown = np.concatenate([c.get_offsets() for c in ax.collections if len(c.get_offsets())])
    assert len(shown) >= 36


@pytest.mark.filterwarnings("ignore:1 of 72 rows have gaps")
def test_rows_have_the_ids_of_the_users_file(moon, results, tmp_path):
    table = pd.DataFrame(moon.X, columns=["a", "b"]).assign(
        name=[f"id {i}" for i in range(len(moon.X))], y=moon.minority.astype(int)
    )
    table.loc[3, "a"] = np.nan
    table.to_csv(tmp_path / "moon.csv", index=False)
    by_number = datasets.from_csv(tmp_path / "moon.csv", "y", None, drop=("name",), missing="drop")
    assert by_number.row_names.tolist() == [i for i in range(len(table)) if i != 3]
    named = datasets.from_csv(tmp_path / "moon.csv", "y", None, id="name", missing="drop")
    made = own_data.pictures([named], results, Protocol())
    ax = made["distances_1"][0].axes[0]
    ax.figure.canvas.draw()
    ticks = dict(zip(ax.get_xticks(), [t.get_text() for t in ax.get_xticklabels()], strict=True))
    test_rows = np.sort(halves(named, replicate_seed(0, 0))[1])
    shown = {int(place): text for place, text in ticks.items() if text}
    assert shown == {i: f"id {test_rows[i] + (test_rows[i] >= 3)}" for i in shown} and shown
    plt.close("all")


def test_the_page_shows_the_users_data_first(moon, results, figures, tmp_path):
    copies = {name: (plt.figure(), caption) for name, (_, caption) in figures.items()}
    page = comparison_page.write(tmp_path, results, [moon], Protocol(), 0, copies)
    text = page.read_text(encoding="utf-8")
    for words in ("Which model won", "Nadeau and Bengio", "What P(normal) is", "first test half"):
        assert words in text
    assert "A two-dimensional example" not in text  # it was not given
    assert (tmp_path / "roc_1.png").exists()
