"""Numbers of priors from statements."""

import numpy as np
import pytest
from bsvdd.inference.elicitation import NUMBERS, solve

SD, POWER = NUMBERS["sd"], NUMBERS["power"]


def constant(name, value):
    return lambda numbers: {name: np.full(9, value(numbers["sd"]))}


def test_the_root_is_that_of_the_closed_form():
    """A quantity that is sd itself, and one that falls as 1/sd."""
    asked = {"typical_distance": 2.5}
    same = solve(constant("typical_distance", lambda sd: sd), [SD], asked, "P")
    assert same["sd"] == pytest.approx(2.5, rel=0.01)
    asked = {"effective_support": 4.0}
    falls = solve(constant("effective_support", lambda sd: 1 / sd), [SD], asked, "P")
    assert falls["sd"] == pytest.approx(0.25, rel=0.01)


def test_the_largest_weight_is_a_quantile_and_not_the_median():
    draws = np.linspace(0.0, 1.0, 1001)
    found = solve(lambda v: {"largest_weight": v["sd"] * draws}, [SD], {"largest_weight": 0.5}, "P")
    assert found["sd"] == pytest.approx(0.5 / 0.95, rel=0.01)


def test_two_statements_set_two_numbers():
    def quantities(v):
        return {
            "effective_support": np.full(9, 100 * np.exp(-v["sd"]) + 10 * v["power"]),
            "typical_distance": np.full(9, v["sd"] + v["power"]),
        }

    asked = {k: float(v[0]) for k, v in quantities({"sd": 0.7, "power": 0.3}).items()}
    found = solve(quantities, [SD, POWER], asked, "P")
    got = quantities(found)
    assert {k: float(v[0]) for k, v in got.items()} == pytest.approx(asked, rel=0.01)


def test_what_the_family_does_not_have_is_answered_by_the_nearest():
    def quantities(v):
        return {"effective_support": np.full(9, 5.0 + v["power"])}

    nearest = "of 20; the nearest has 6, with power=1. It can have 5 to 6"
    with pytest.raises(ValueError, match=f"no P with power from 0 to 1 .* {nearest}"):
        solve(quantities, [POWER], {"effective_support": 20.0}, "P")
