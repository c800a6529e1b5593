"""What the stored measurements promise: rates, posteriors, probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import guarantee, posterior

ROOT = Path(__file__).parents[2]
STORED = json.loads((ROOT / "docs" / "guarantee.json").read_text(encoding="utf-8"))["generated"]


def test_stored_cells_are_not_above_their_rates():
    """Few rows of long tails in many columns among them: a left-out row leaves its scales too."""
    above, ratio = [], []
    for cell in STORED:
        for rate, mean in zip(guarantee.RATES, cell["mean"], strict=True):
            if not np.isnan(mean):
                # the share beyond an order statistic of n rows is a Beta variable
                se = np.sqrt(rate * (1 - rate) / (cell["n"] + 2) / cell["repetitions"])
                above.append(mean > rate + 3.0 * se)
                ratio.append(mean / rate)
    assert len(above) > 750
    assert np.mean(above) < 0.005
    assert max(ratio) < 1.45


@pytest.fixture(scope="module")
def said():
    """Return the stored table of :mod:`benchmarks.posterior`."""
    return json.loads((ROOT / "docs" / "posterior.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("figure", "least", "most"),
    [
        ("learnt", 0.0, 0.3),
        ("most_like_prior", 0.0, 0.9),
        ("spread_right", 0.9, 1.0),
        ("covered_surprise", 0.84, 0.97),
        ("brier_ratio", 0.0, 0.75),  # .72 was aimed at
        ("spearman", 0.9, 1.0),
    ],
)
def test_the_stored_posterior_says_something(said, figure, least, most):
    assert least <= said["pooled"][posterior.DEFAULT][figure] <= most


def test_a_stored_probability_is_the_share_inside_and_figures_are_pooled_from_the_rows(said):
    of_bins = [said["pooled"][posterior.DEFAULT][name] for name in ("p", "inside", "count")]
    p, inside, count = map(np.array, of_bins)
    assert count.min() > 100
    assert np.abs(p - inside).max() <= 0.15
    rows = said["rows"]
    default = [row for row in rows if row["model"] == posterior.DEFAULT]
    assert {row["n"] for row in default} == set(posterior.SIZES)
    assert len({row["population"] for row in default}) >= 10
    again = posterior.pooled(rows)
    for model, figures in said["pooled"].items():
        for name, value in figures.items():
            if value is not None:
                assert again[model][name] == pytest.approx(value, abs=2e-3), (model, name)
