"""What is usual in a column, for rows that are alike in the others."""

import re

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.questions import reasons
from bsvdd.estimators.questions.reasons import reason, text_of
from bsvdd.estimators.questions.table_reasons import Reasons
from bsvdd.estimators.questions.usual import Neighbours

import bsvdd
from bsvdd import SVDD, kernels


def people():
    rng = np.random.default_rng(0)
    height = rng.normal(170.0, 10.0, 400)
    table = pd.DataFrame({"height": height, "weight": height - 100.0 + rng.normal(0.0, 3.0, 400)})
    table["kind"] = np.where(height > 170.0, "tall", "short")
    return table


@pytest.fixture(scope="module")
def fit():
    return SVDD().fit(people()).fit_


def test_numbers_have_the_range_of_the_nearest_rows_in_the_other_columns(fit):
    tall = fit.data.rows[fit.data.rows[:, 0] > 170.0][0]
    row = np.array([185.0, 60.0, tall[2]])
    weight = Neighbours.of(fit, row).usual(1)
    others = fit.data.rows[fit.data.rows[:, 2] == tall[2]]
    near = others[np.argsort(np.abs(others[:, 0] - 185.0))[:30], 1]
    low, high = weight.values
    assert low == np.quantile(near, 0.05, method="nearest")
    assert high == np.quantile(near, 0.95, method="nearest")
    assert not weight.has(60.0) and weight.has(85.0)


def test_categories_have_the_most_frequent_ones(fit):
    tall = fit.data.rows[fit.data.rows[:, 0] > 170.0][0, 2]
    short = fit.data.rows[fit.data.rows[:, 0] < 170.0][0, 2]
    kind = Neighbours.of(fit, np.array([190.0, 90.0, short])).usual(2)
    assert kind.values == [tall] and kind.has(tall) and not kind.has(short)


def test_a_training_row_does_not_count_itself(fit):
    row = fit.data.rows[5]
    beside = Neighbours.of(fit, row)
    assert all(len(beside.usual(f).near) == 30 for f in (0, 1))
    assert row[0] not in beside.usual(0).near


def test_an_explanation_says_what_is_usual_as_a_command_does():
    table = people()
    table.loc[3, "weight"] = 40.0 + table.loc[3, "height"]
    est = SVDD()
    est.fit_predict(table)
    weight = Neighbours.of(est.fit_, est.fit_.data.rows[3]).usual(1)
    low, high = (f"{end:.5g}" for end in weight.values)
    text = Reasons.of(est, table, np.array([3])).text(np.array([3]))
    share = bsvdd.explain(est, rows=[3]).top_columns()["share_1"].iloc[0]
    value = f"weight = {table.loc[3, 'weight']:.8g}"
    assert text.startswith(f"{value} ({share:.0%}; rows like it: {low} to {high})")
    why = bsvdd.explain(est, rows=[3])
    assert why.reason(0) == text and f" Columns: {text}." in str(why)


def test_texts_are_known_of_rows_that_are_given_alone():
    table = people()
    est = SVDD().fit(table)
    new = pd.DataFrame({"height": [190.0, 160.0], "weight": [90.0, 60.0], "kind": "short"})
    why = bsvdd.explain(est, new)
    assert "kind = short (" in why.reason(0) and "rows like it: other categories)" in why.reason(0)
    both = bsvdd.explain(est, new.assign(kind=["short", "tall"]))
    assert "rows like it: tall)" in both.reason(0) and "rows like it: short)" in both.reason(1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([np.nan], " is missing and filled"),
        ([np.nan, 2.0, 3.5], " = 2 to 3.5"),
        ([np.nan, 2.0], " = 2"),
        ([4.0], " = 4"),
    ],
)
def test_a_gap_is_said_in_a_reason(fit, values, said):
    cells = pd.DataFrame({"weight": values})
    row = np.array([170.0, 300.0, fit.data.rows[0, 2]])
    assert reason(fit, row, cells, [("weight", 0.5)], {}).startswith(f"weight{said} (50%; rows ")


def test_a_kernel_that_is_no_product_has_reasons_too():
    rows = people()[["height", "weight"]].to_numpy()
    est = SVDD(kernel=kernels.Linear()).fit(rows)
    assert "rows like it: " in bsvdd.explain(est, [[150.0, 150.0]]).reason(0)


def test_the_first_reason_is_odd_given_the_others_and_usual_values_are_none():
    """Without the planted column the row has near rows; without another one it stays alone."""
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(500, 2))
    rows = factor @ rng.normal(size=(2, 5)) + 0.4 * rng.normal(size=(500, 5))
    odd, column = rng.choice(500, 20, replace=False), rng.integers(0, 5, 20)
    rows[odd, column] = 5.0 * rows.std(axis=0)[column]
    est = SVDD().fit(rows)
    why = bsvdd.explain(est, rows=odd, changes=False)
    texts = [why.reason(i) for i in range(20)]
    first = [text.startswith(f"{f} = ") for text, f in zip(texts, column, strict=True)]
    alone = [text.count("rows like it") == 1 for text in texts]
    largest = (why.top_columns(1)["column_1"] == column).mean()
    assert np.mean(first) == 1.0 and np.mean(alone) >= 0.9 and largest < 0.95
    beside = Neighbours.of(est.fit_, est.fit_.data.rows[odd[0]])
    few = [np.sort(beside.total - cost)[:3].mean() for cost in beside.costs]
    expected = np.sort(beside.total)[:3].mean() - few
    np.testing.assert_allclose([beside.nearer(f) for f in range(5)], expected)


@pytest.mark.parametrize("scale", ["both", "standardised", "normal scores"])
def test_costs_are_those_of_each_column(scale):
    est = SVDD(kernel=kernels.Tabular(scale=scale)).fit(people())
    row = est.fit_.data.rows[4]
    beside = Neighbours.of(est.fit_, row)
    assert len({cost.tobytes() for cost in beside.costs}) == 3
    expected = -est.kernel_.log(row[None], beside.rows)[0]
    np.testing.assert_allclose(beside.total, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("cells", "said"), [("abb", " = b or a"), ("abbccc", " = c or b or others")]
)
def test_the_categories_of_alike_rows_are_named(fit, cells, said):
    assert reasons._of_cells(fit, pd.Series(list(cells)), 2) == said


@pytest.mark.filterwarnings("ignore:.*rows have gaps", "ignore:.*has dates")
def test_whole_numbers_and_days_stay_whole_beside_filled_gaps():
    table = people()
    days = np.random.default_rng(8).integers(0, 90, len(table))
    table["day"] = pd.Timestamp("2026-01-05") + pd.to_timedelta(days, unit="D")
    table["pieces"] = days % 7 + 1.0
    table.loc[table.index[::3], ["day", "pieces"]] = None
    fit = SVDD().fit(table).fit_
    assert (fit.data.rows[:, 3:] % 1.0 != 0.0).any()
    day, pieces = (text_of(fit, {}, f, 4.3) for f in (3, 4))
    assert pieces == "4" and re.fullmatch("2026-01-[0-9]{2}", day)
