"""The stored coverage of intervals, measured again on fresh rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import coverage

DOCS = Path(__file__).parents[2] / "docs"
COVERED = json.loads((DOCS / "coverage.json").read_text(encoding="utf-8"))


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
