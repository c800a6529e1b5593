"""What is usual in a column, for rows that are alike in the others."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.questions.usual import usual

from bsvdd import SVDD


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    height = rng.normal(170.0, 10.0, 400)
    table = pd.DataFrame({"height": height, "weight": height - 100.0 + rng.normal(0.0, 3.0, 400)})
    table["kind"] = np.where(height > 170.0, "tall", "short")
    return SVDD().fit(table).fit_


def test_numbers_have_the_range_of_the_nearest_rows_in_the_other_columns(fit):
    tall = fit.data.rows[fit.data.rows[:, 0] > 170.0][0]
    row = np.array([185.0, 60.0, tall[2]])
    (weight,) = usual(fit, row, [1])
    others = fit.data.rows[fit.data.rows[:, 2] == tall[2]]
    near = others[np.argsort(np.abs(others[:, 0] - 185.0))[:30], 1]
    low, high = weight.values
    assert low == np.quantile(near, 0.05, method="nearest")
    assert high == np.quantile(near, 0.95, method="nearest")
    assert not weight.has(60.0) and weight.has(85.0)


def test_categories_have_the_most_frequent_ones(fit):
    tall = fit.data.rows[fit.data.rows[:, 0] > 170.0][0, 2]
    short = fit.data.rows[fit.data.rows[:, 0] < 170.0][0, 2]
    (kind,) = usual(fit, np.array([190.0, 90.0, short]), [2])
    assert kind.values == [tall] and kind.has(tall) and not kind.has(short)


def test_a_training_row_does_not_count_itself(fit):
    row = fit.data.rows[5]
    for each in usual(fit, row, [0, 1]):
        assert len(each.near) == 30
    assert row[0] not in usual(fit, row, [0])[0].near
