"""The prior of the odd rows of one table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .base import is_number, require_positive


@dataclass(frozen=True)
class TailPrior:
    r"""Prior of the model of the tail of surprises, :mod:`bsvdd.models.odd_rows`.

    .. math:: \log h \text{ flat}, \quad \xi \sim N(\mu, \sigma^2), \quad \log a \text{ flat}, \quad
        \varepsilon \sim \pi_0 \delta_0 + (1 - \pi_0) \text{ log-uniform}

    Parameters
    ----------
    none : float, default=0.5
        The probability that no row is odd, between 0 and 1.
    least_rows : float, default=0.5
        The least number of odd rows, if there are any: a share of 1/n of it.
    largest_share : float, default=0.3
        The largest share of odd rows, below 1.
    shape : tuple of float, default=(-0.05, 0.1)
        Mean and sd of the shape of the tail of normal rows. The logarithm of a surprise has a light
        tail for rows of a normal distribution, and a heavier one for skewed rows.
    power : tuple of float, default=(2, 32)
        The least and the largest a, at least 1: with a large one, odd rows are all far away.

    Raises
    ------
    ValueError, TypeError
        A parameter is out of its range; in a fit, ``largest_share`` is less than ``least_rows``.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.TailPrior(none=0.9, largest_share=0.05).shares(200, 100)
    (0.0025, 0.05)
    """

    none: float = 0.5
    least_rows: float = 0.5
    largest_share: float = 0.3
    shape: tuple[float, float] = (-0.05, 0.1)
    power: tuple[float, float] = (2.0, 32.0)

    def __post_init__(self) -> None:
        require_positive(self, "least_rows", self.least_rows)
        for field in ("none", "largest_share"):
            value = getattr(self, field)
            if not (is_number(value) and 0.0 < value < 1.0):
                raise ValueError(f"TailPrior: {field} must lie between 0 and 1, got {value!r}")
        for field in ("shape", "power"):
            object.__setattr__(self, field, _as_pair(field, getattr(self, field)))
        require_positive(self, "the sd of shape", self.shape[1])
        if not 1.0 <= self.power[0] < self.power[1]:
            raise ValueError(f"TailPrior: power must be an interval above 1, got {self.power}")

    def shares(self, n: int, m: int) -> tuple[float, float]:
        """Return the least and the largest share of odd rows, of n rows with m in the tail."""
        least, largest = self.least_rows / n, min(self.largest_share, 0.99 * m / n)
        if not least < largest:
            raise ValueError(f"{self!r}: of {n} rows, largest_share is less than least_rows")
        return least, largest


def _as_pair(field: str, value: Any) -> tuple[float, float]:
    """Return ``value`` as two finite numbers."""
    pair = tuple(value) if isinstance(value, tuple | list) else ()
    if len(pair) != 2 or not all(is_number(each) and math.isfinite(each) for each in pair):
        raise ValueError(f"TailPrior: {field} must be two finite numbers, got {value!r}")
    return float(pair[0]), float(pair[1])
