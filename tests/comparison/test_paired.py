"""Ranks and paired differences against their formulas."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import paired
from scipy.stats import studentized_range, t


def table(values, models="ABCD"):
    return pd.DataFrame(
        [
            {"data": f"set {i}", "model": m, "replicate": r, "g": x + (-1) ** r * 0.1}
            for i, row in enumerate(values)
            for m, x in zip(models, row, strict=True)
            for r in range(2)
        ]
    )


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(1)
    return rng.normal([0.5, 0.7, 0.4, 0.68], 0.05, size=(12, 4))


def test_ranks_friedman_and_nemenyi_follow_their_formulas(values):
    ranking = paired.rank(table(values), "g")
    n, k = values.shape
    ranks = (-values).argsort(axis=1).argsort(axis=1) + 1
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
    assert set(ranking.indistinguishable(ranking.best)) == {"B", "D"} - {ranking.best}


def test_effects_are_paired_differences_to_the_best(values):
    ranking = paired.rank(table(values), "g")
    effects, best = ranking.effects(), "ABCD".index(ranking.best)
    for j, m in enumerate("ABCD"):
        gap = values[:, j] - values[:, best]
        assert effects.loc[m, "median difference to the best"] == pytest.approx(np.median(gap))
        assert effects.loc[m, "settings where it is better than the best"] == (gap > 0).sum()


def test_smaller_can_be_better(values):
    ranking = paired.rank(table(values), "g", larger=False)
    assert ranking.best == "C"
    better = ranking.effects()["settings where it is better than the best"]
    assert better.to_dict() == dict(zip("ABCD", (values < values[:, [2]]).sum(axis=0), strict=True))
    assert 0 < better["A"] < 12 == better["A"] + (values[:, 0] > values[:, 2]).sum()


def test_models_without_a_result_somewhere_are_named(values):
    some = table(values)
    some.loc[(some["data"] == "set 3") & (some["model"] == "B"), "g"] = np.nan
    ranking = paired.rank(some, "g")
    assert ranking.incomplete == ["B"]
    assert "B" not in ranking.ranks
    with pytest.raises(ValueError, match="at least 3 models .* got 2 models and 12 settings"):
        paired.rank(some[some["model"] != "A"], "g")


def test_a_lead_has_the_interval_of_paired_differences(values):
    blocks = pd.DataFrame(values, columns=list("ABCD"))
    ranking = paired.lead(blocks)
    best = ranking.best
    assert best == blocks.mean().idxmax()
    assert (ranking.mean, ranking.blocks) == (pytest.approx(blocks[best].mean()), 12)
    for m, row in ranking.others.iterrows():
        gap = blocks[m] - blocks[best]
        half = t.ppf(0.975, 11) * gap.std(ddof=1) / np.sqrt(12)
        assert row["low"] == pytest.approx(gap.mean() - half)
        assert row["high"] == pytest.approx(gap.mean() + half)
        assert row["significant"] == (gap.mean() + half < 0)
    assert set(ranking.indistinguishable) == {"B", "D"} - {best}


def test_one_block_shows_no_difference():
    ranking = paired.lead(pd.DataFrame([[0.5, 0.9, np.nan]], columns=list("ABC")))
    assert ranking.best == "B"
    assert ranking.indistinguishable == ["A"]


def test_equal_differences_have_no_width():
    ranking = paired.lead(pd.DataFrame({"A": [0.5, 0.6], "B": [0.25, 0.35], "C": [0.5, 0.6]}))
    assert ranking.others.loc["B", ["low", "high"]].tolist() == pytest.approx([-0.25, -0.25])
    assert ranking.indistinguishable == ["C"]
