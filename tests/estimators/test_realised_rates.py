"""Decisions on fresh rows: cells of the stored table of realised false alarms, measured again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import guarantee

DOCS = Path(__file__).parents[2] / "docs"
STORED = json.loads((DOCS / "guarantee.json").read_text(encoding="utf-8"))["generated"]
KEY = ("model", "kind", "n", "p", "criterion", "method")


@pytest.mark.slow
@pytest.mark.parametrize("model", list(guarantee.ONE_CLASS))
@pytest.mark.parametrize("kind", ["normal", "mixture"])
def test_a_stored_rate_is_realised_again(model, kind):
    """The rows are those of the stored cell, so a change of a rule moves the mean."""
    key = (model, kind, 50, 2, "modified_mean", "left-out")
    stored = next(cell for cell in STORED if tuple(cell[k] for k in KEY) == key)
    found = guarantee.cell(*key, repetitions=stored["repetitions"])
    for rate, mean, again, se in zip(
        guarantee.RATES, stored["mean"], found["mean"], stored["se"], strict=True
    ):
        if np.isnan(mean):  # 50 rows are too few for .01
            assert np.isnan(again)
            continue
        assert abs(again - mean) <= 0.5 * se
        assert mean <= rate + 3 * se


def test_no_stored_cell_is_far_above_its_rate():
    above = [
        (mean - rate) / max(se, 0.003)  # of few repetitions the standard error is a guess
        for cell in STORED
        for rate, mean, se in zip(guarantee.RATES, cell["mean"], cell["se"], strict=True)
        if not np.isnan(mean)
    ]
    assert len(above) > 2000
    assert np.mean(np.array(above) > 3.0) < 0.01
