r"""The long side of a skewed column, shortened by the inverse of Tukey's g distribution.

With :math:`q_{.1}, q_{.5}, q_{.9}` of a standardised column and :math:`c = \Phi^{-1}(.9)`, a value
v on the long side, here the upper one, becomes

.. math:: q_{.5} + \frac{u}{g} \log\left(1 + g\, \frac{v - q_{.5}}{u}\right), \qquad
    g = \frac1c \log \frac{q_{.9} - q_{.5}}{q_{.5} - q_{.1}}, \qquad
    u = \frac{g\, (q_{.5} - q_{.1})}{1 - e^{-g c}}.

Odd rows make a column look skewed, and so do clusters if a core lacks one of them. So g is the one
of the core or of all rows that is nearer to 0, each less two standard errors
(:math:`1.62 / \sqrt n` for normal values), and 0 if they differ in sign.

**References**

Hoaglin, D. C. (1985). Summarizing shape numerically: the g-and-h distributions. In Exploring Data
Tables, Trends, and Shapes, 461-513. Wiley. doi:10.1002/9781118150702.ch11
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

EDGES, C = (0.1, 0.5, 0.9), 1.2815515655446004  # quantiles that tell g, and Phi^-1(.9)
SURE, STANDARD_ERROR = 2.0, 1.62  # of g, times sqrt n, for normal values, by the delta method


@dataclass(frozen=True)
class LongSide:
    """How the long side of a standardised column is shortened.

    Attributes
    ----------
    g : float
        Below 0 if the lower side is the long one.
    middle, unit : float
        The median, and u.
    mean, sd : float
        Of the shortened values; they are standardised again.
    """

    g: float
    middle: float
    unit: float
    mean: float = 0.0
    sd: float = 1.0

    @classmethod
    def of(cls, core: np.ndarray, x: np.ndarray) -> Self | None:
        """Return that of values x (n,), of which (m,) are in the core; None if no side is long."""
        of_core, of_all = sure_skewness(core), sure_skewness(x)
        if of_core * of_all <= 0.0:
            return None
        g = math.copysign(min(abs(of_core), abs(of_all)), of_core)
        low, middle, high = np.quantile(core, EDGES)
        short = middle - low if g > 0.0 else high - middle
        return cls(g, float(middle), float(short * abs(g) / -math.expm1(-abs(g) * C)))

    def standardised(self, mean: float, sd: float) -> Self:
        """Return the same, after which values have the mean 0 and the sd 1."""
        return replace(self, mean=mean, sd=sd or 1.0)

    def __call__(self, v: np.ndarray) -> np.ndarray:
        """Return the values v (m,) with the long side shortened."""
        scale = self.unit / self.g
        beyond = np.maximum((v - self.middle) / scale, 0.0)
        shortened = np.where(beyond > 0.0, self.middle + scale * np.log1p(beyond), v)
        return np.asarray((shortened - self.mean) / self.sd)


def sure_skewness(x: np.ndarray) -> float:
    """Return g of values x (n,), nearer to 0 by two standard errors."""
    low, middle, high = np.quantile(x, EDGES)
    if not low < middle < high:
        return 0.0
    g = math.log((high - middle) / (middle - low)) / C
    return math.copysign(max(abs(g) - SURE * STANDARD_ERROR / math.sqrt(len(x)), 0.0), g)
