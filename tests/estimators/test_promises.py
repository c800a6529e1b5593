"""What the stored measurements promise: rates, posteriors, probabilities, lists."""

from __future__ import annotations

import re

import numpy as np
import pytest

from benchmarks.measure import stored_table

RATES = {"flagged, .05 asked": (0.04, 0.0625), "flagged, .10 asked": (0.085, 0.115)}
RATES |= {"flagged, .20 asked": (0.18, 0.22)}


def numbers(text: str) -> list[float]:
    """Return the numbers of a cell."""
    return [
        float(each.replace(",", "")) for each in re.findall(r"-?[\d,]*\.?\d+", text)
    ]


@pytest.mark.parametrize("column", RATES)
def test_stored_rates_are_those_asked(column):
    """19 rows are the fewest for .05, and SVDD flags fewer than .2."""
    table, (low, high) = stored_table("false_alarms", "generated"), RATES[column]
    for model, line in table.iterrows():
        mean, least, most = numbers(line[column])
        few = line["n"] == "20"
        assert least <= mean <= most <= (1.55 if few else 1.4) * high
        assert mean <= (1.2 if few else 1.0) * high
        assert mean >= (0.9 if model == "SVDD" else 1.0) * low


def test_stored_posteriors_have_the_spread_of_samples():
    table = stored_table("probability", "posterior")[["BSVDD", "BDD"]].map(
        lambda text: numbers(text)[0]
    )
    assert table.loc["posterior sd / sd of samples, median"].between(0.9, 1.1).all()
    gaps = table.loc["largest gap of a tenth"]
    assert (gaps <= [0.15, 0.19]).all()  # .15 is missed by BDD
    brier, hard = table.loc["Brier score of P(normal)"], table.iloc[-2]
    assert (brier <= 0.8 * hard).all()


def test_a_stored_probability_is_the_share_inside():
    bins = stored_table("probability", "bins")
    p, inside = (
        bins[f"BSVDD: {name}"].astype(float) for name in ("P(normal)", "share inside")
    )
    assert np.abs(p - inside).round(2).max() <= 0.15  # both have two digits


def test_the_stored_list_keeps_its_promises():
    found = stored_table("one_table", "list")["measured"]
    assert numbers(found["share of false rows in a list, .10 asked"])[0] <= 0.1
    assert numbers(found["tables without odd rows with a list"])[0] <= 0.15
    assert (
        min(numbers(found['"at least L" is true, by the share of odd rows'])[1::2])
        >= 0.95
    )
    alone, *wild = numbers(found.iloc[-1])
    assert min(wild) >= 0.9 * alone


def test_stored_batches_keep_the_rate():
    table = stored_table("rows", "groups")
    assert table["with groups"].astype(float).between(0.07, 0.14).all()
