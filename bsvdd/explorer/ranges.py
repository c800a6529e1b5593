"""The numbers that sliders can reach and show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

DIGITS = 3  # of a number on a slider; the code has the same digits


@dataclass(frozen=True)
class Range:
    """The numbers that a slider can reach.

    Attributes
    ----------
    low, high : float
        The smallest and the largest number.
    step : float
        Distance between two numbers; with ``log``, between their logarithms to base 10.
    log : bool
        Whether the slider is logarithmic.
    whole : bool
        Whether the slider has whole numbers only.
    """

    low: float
    high: float
    step: float
    log: bool = False
    whole: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise an error unless ``value`` is a number in the range."""
        number = int | np.integer if self.whole else int | float | np.number
        if isinstance(value, bool) or not isinstance(value, number):
            kind = "a whole number" if self.whole else "a number"
            raise TypeError(f"{name} must be {kind}, got {value!r}")
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{name} must lie between {self.low:g} and {self.high:g}, got {value!r}"
            )

    def rounded(self, value: float) -> float | int:
        """Return ``value`` as the slider shows it."""
        if self.whole:
            return int(value)
        return float(min(max(round_significant(value), self.low), self.high))


def round_significant(value: float) -> float:
    """Return ``value`` with as many digits as a slider shows."""
    return float(f"{value:.{DIGITS}g}")


def bandwidth_range(bandwidth: float) -> Range:
    """Return the range from 1/5 to 10 times ``bandwidth``, that of the first fit."""
    low, high = round_significant(bandwidth / 5), round_significant(bandwidth * 10)
    return Range(low, high, 0.02, log=True)


def log10_limits(limits: Range) -> tuple[float, float]:
    """Return the logarithms to base 10 of the smallest and the largest number of a range."""
    return math.log10(limits.low), math.log10(limits.high)
