"""Decisions on fresh rows: stored tables of realised rates and of coverage, measured again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import coverage, guarantee

DOCS = Path(__file__).parents[2] / "docs"
STORED = json.loads((DOCS / "guarantee.json").read_text(encoding="utf-8"))["generated"]
COVERED = json.loads((DOCS / "coverage.json").read_text(encoding="utf-8"))
KEY = ("model", "kind", "n", "p", "criterion", "method")


@pytest.mark.parametrize("model", list(guarantee.ONE_CLASS))
@pytest.mark.parametrize("kind", ["normal", "mixture"])
def test_a_stored_rate_is_realised_again(model, kind):
    """The rows are those of the stored cell, so that a change of a rule moves the mean."""
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
    above = []
    for cell in STORED:
        for rate, mean, se in zip(guarantee.RATES, cell["mean"], cell["se"], strict=True):
            if not np.isnan(mean):
                above.append((mean - rate) / max(se, 0.003))
    assert np.mean(np.array(above) > 3.0) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("model", ["BDD", "BSVDD, median bandwidth"])
def test_a_stored_coverage_is_found_again(model):
    stored = next(
        c
        for c in COVERED
        if (c["set"], c["model"], c["n"]) == ("normal", model, 50) and c["scale"] == "calibrated"
    )
    found = [coverage.cell("normal", model, 50, "calibrated", i) for i in range(12)]
    assert np.mean([each["90%"] for each in found]) == pytest.approx(stored["90%"], abs=0.03)
    assert np.mean([each["50%"] for each in found]) == pytest.approx(stored["50%"], abs=0.05)
