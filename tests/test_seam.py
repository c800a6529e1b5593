"""What rooms above the estimators may ask of a fit."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bsvdd import BDD, BSVDD, SVDD

ROOT = Path(__file__).parents[1]
# rooms above the estimators
ABOVE = [
    f"bsvdd/{room}" for room in ("questions", "plots", "comparison", "cli", "explorer")
]
# no inside of a fit: what users choose, and metrics of labels
PUBLIC = r"(priors|kernels|cutoffs|metrics)\b"
INSIDE = re.compile(
    rf"\bfit_\b(?!_)|from \.+(models|inference)\.(?!{PUBLIC})", re.MULTILINE
)


def table(n=60):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "kind": rng.choice(["a", "b"], n),
            "day": pd.date_range("2020-01-01", periods=n),
            "weight": [f"{v:.1f} kg" for v in rng.normal(50.0, 3.0, n)],
            "grade": pd.Categorical(
                rng.choice(["lo", "hi"], n), ["lo", "hi"], ordered=True
            ),
        }
    )
    frame.loc[3, "x"], frame.loc[5, "kind"], frame.loc[7, "day"] = np.nan, None, None
    return frame


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [SVDD, BDD(draws=200), BSVDD(draws=200, tune=200)])
def test_table_margins_and_similarities_say_what_the_decision_says(model):
    est = (model() if isinstance(model, type) else model).fit(table())
    found = est.table_
    assert found.kinds == {
        "x": "numbers",
        "kind": "category",
        "day": "dates",
        "weight": "numbers",
        "grade": "levels",
    }
    assert found.frame.isna().sum().tolist() == [1, 1, 1, 0, 0]
    new = table().assign(x=np.linspace(-3.0, 9.0, 60))
    for rows in (None, new):
        decision, margins = est.decision(rows), est.margins(rows)
        assert_allclose((margins >= 0).mean(axis=0), decision["probability_normal"])
        middle = np.sort(margins, axis=0)[(len(margins) - 1) // 2]
        assert_allclose(-middle, decision["surprise"], rtol=1e-12, atol=1e-12)
        similarity = np.median(est.log_similarity(rows), axis=0)
        order = np.corrcoef(
            np.argsort(np.argsort(similarity)), np.argsort(np.argsort(middle))
        )
        assert order[0, 1] > 0.9
    again = found.frame.assign(x=new["x"])
    assert_array_equal(est.score_samples(new), est.score_samples(again))


def test_rooms_above_the_estimators_ask_publicly():
    rooms = [ROOT / room for room in ABOVE]
    files = [
        p for room in rooms for p in (room.rglob("*.py") if room.is_dir() else [room])
    ]
    assert [p for p in files if INSIDE.search(p.read_text("utf-8"))] == []
