"""A table without labels: which rows most models call odd."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.report import unlabelled
from bsvdd.comparison.run import runner
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.comparison.scenarios.datasets import Dataset
from bsvdd.estimators.report.words import none_beyond
from bsvdd.inference.cutoff import rows_for

from bsvdd import SVDD, Cutoff

NAMES = ["SVDD", "OCSVM", "kNN"]
DATA = Dataset("t", np.random.default_rng(0).normal(size=(60, 2)), np.zeros(60, dtype=bool))


@pytest.fixture(scope="module")
def results():
    return runner.compare([DATA], NAMES)


def test_each_row_is_judged_by_the_others(results):
    found = unlabelled.votes(results, DATA)
    expected = SVDD(random_state=0).fit(DATA.X).training_decision()
    decided = found.odd["SVDD"].sort_index()
    assert (decided == ~expected["normal"]).all() and decided.any()
    np.testing.assert_allclose(found.p_values["SVDD"].sort_index(), expected["p_value"], rtol=1e-5)
    assert results["model"].tolist() == NAMES  # once each, and no rule that needs classes
    assert len(runner.to_csv(results).splitlines()) == 4


def test_votes_and_agreement_are_those_of_sets(results):
    sets = {"SVDD": {1, 2, 3}, "OCSVM": {1, 2, 3}, "kNN": {3, 4}}
    odd = {m: "".join("1" if i in rows else "0" for i in range(60)) for m, rows in sets.items()}
    p = {m: " ".join(str((i + 1) / 60) for i in range(60)) for m in sets}
    made = results.assign(odd=results["model"].map(odd), p_values=results["model"].map(p))
    found = unlabelled.votes(made, DATA)
    assert found.models.index.tolist() == ["SVDD", "OCSVM", "kNN"]
    assert found.models["agrees"].tolist() == pytest.approx([0.625, 0.625, 0.25])  # 1/4 and 1
    assert found.models["odd"].tolist() == [3, 3, 2] and found.by_most == 3
    assert found.rows["row"].tolist()[:5] == [3, 1, 2, 4, 0]
    assert found.rows["odd_by"].tolist()[:5] == [3, 2, 2, 1, 0]
    assert found.lines(0.1)[1].startswith("SVDD and OCSVM decide alike: SVDD and OCSVM are one")
    assert "p_value kNN" in unlabelled.all_rows(found).splitlines()[0]


def test_where_no_row_is_odd_nothing_agrees(results):
    made = results.assign(odd=["0" * 60, "0" * 60, "0" * 59 + "1"])
    found = unlabelled.votes(made, DATA)
    assert found.agreement.at["SVDD", "OCSVM"] != found.agreement.at["SVDD", "OCSVM"]  # NaN
    assert found.models["agrees"].tolist() == [0.0, 0.0, 0.0]  # with kNN
    assert found.odd_rows["row"].tolist() == [59]
    assert found.count == "No row is odd by most of the 3 models" and len(found.lines(0.1)) == 1
    none = unlabelled.votes(made.iloc[:2], DATA)
    assert none.odd_rows.empty and none.models["agrees"].isna().all()
    plt.close(unlabelled.plot_agreement(none))


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.25, 0.3])
def test_too_few_rows_for_one_beyond_the_cutoff(rate):
    for n in range(rows_for(rate), 60):
        distance = np.arange(float(n))
        cutoff = Cutoff("false_alarm", false_alarm_rate=rate).choose(distance, distance < 0.0)
        assert (none_beyond(n, rate) == "") == (distance > cutoff).any()


def test_gaps_are_filled_and_failed_models_have_no_vote():
    X = DATA.X.copy()
    X[3, 0] = np.nan
    gaps = Dataset("t", X, DATA.minority, imputed=True)
    made = runner.compare([gaps], ["SVDD", "robust Gaussian"])
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    found = unlabelled.votes(made, gaps)
    expected = SVDD(random_state=0).fit(filled).training_decision()["p_value"]
    np.testing.assert_allclose(found.p_values["SVDD"].sort_index(), expected, rtol=1e-5)
    wide = Dataset("t", np.random.default_rng(0).normal(size=(12, 13)), np.zeros(12, dtype=bool))
    made = runner.compare([wide], ["SVDD", "robust Gaussian"])
    assert unlabelled.votes(made, wide).models.index.tolist() == ["SVDD"]
    with pytest.raises(ValueError, match="no model could be fitted: ValueError: a robust"):
        unlabelled.votes(made[made["model"] != "SVDD"], wide)


@pytest.mark.parametrize(("rows", "said"), [(5, "at least 6 rows, got 5"), (9, "drop or impute")])
def test_a_table_that_cannot_be_compared(rows, said):
    X = np.full((rows, 2), np.nan if rows == 9 else 0.0)
    with pytest.raises(ValueError, match=said):
        runner.compare([Dataset("t", X, np.zeros(rows, dtype=bool))], NAMES, protocol=Protocol())


def test_models_that_are_nearly_equal():
    names = ["A", "B", "C", "BDD", "BSVDD"]
    near = pd.DataFrame(np.eye(5) == 1, names, names)
    assert unlabelled.own_data.alike(near) == []
    near.loc["A", "C"] = near.loc["BDD", "BSVDD"] = True
    first, second = unlabelled.own_data.alike(near)
    assert first == "A and C decide alike."
    assert second.startswith("BDD and BSVDD decide alike: the default priors of")
