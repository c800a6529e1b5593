r"""Several views of the same rows, joined to one answer.

A view gives each row a value, larger for more normal rows, and left-out values to the training
rows. The p-value of row z under view v is the share of n left-out majority rows with a value at
most that of z, and the score of z joins the views,

.. math:: -\log \sum_v \frac{c_v}{p_v(z)} - 10^{-4} \sum_v c_v \frac{m_v - t_v(z)}{s_v}, \qquad
    p_v(z) = \frac{1 + \#\{j : t_{vj} \le t_v(z)\}}{n + 1},

by the weighted harmonic mean of p-values (Good 1958; Wilson 2019). The second term ranks rows
beyond all training rows, with :math:`m_v, s_v` the mean and the standard deviation of the left-out
values. A left-out row is compared with the other n - 1. The harmonic mean is no p-value itself:
the left-out scores of the training rows choose the cutoff and give p-values, as in all models.

Where the draws of a description leave rows out in closed form, each draw has its own p-values, so
the joined score has draws too.

**References**

Good, I. J. (1958). Significance tests in parallel and in series. Journal of the American
Statistical Association 53, 799-813. doi:10.1080/01621459.1958.10501480

Wilson, D. J. (2019). The harmonic mean p-value for combining dependent tests. Proceedings of the
National Academy of Sciences 116, 1195-1200. doi:10.1073/pnas.1814092116
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import override

import numpy as np

from ..inference import ties
from ..inference.center import Score, level_quantile
from ..models.rarity import Rarity
from .fit import Fit
from .p_values import p_values

BEYOND = 1e-4  # weight of the z-scores, which rank rows beyond all training rows

Values = Callable[[np.ndarray], np.ndarray]  # of rows (m, p), in each draw (draws, m)


@dataclass(frozen=True, eq=False)
class View:
    """The values of rows under one view.

    Attributes
    ----------
    name : str
    weight : float
        c.
    values : callable
        Takes rows (m, p), and returns values (draws, m), larger for more normal rows.
    left_out : ndarray of shape (draws, n)
        Those of the training rows, each left out; NaN if a row cannot be left out.
    majority : ndarray of bool, shape (n,)
    unit : float, default=1.0
        Of the values, see :mod:`bsvdd.inference.ties`; 1 for logarithms.
    """

    name: str
    weight: float
    values: Values
    left_out: np.ndarray
    majority: np.ndarray
    unit: float = 1.0

    @cached_property
    def _ordered(self) -> np.ndarray:
        """The left-out values of the majority in ascending order, shape (draws, n0)."""
        known = self.majority & ~np.isnan(self.left_out).any(axis=0)
        return np.sort(self.left_out[:, known], axis=1)

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the finite left-out values, shape (draws, 1) each."""
        finite = np.isfinite(self._ordered)
        mean = self._ordered.mean(axis=1, where=finite, keepdims=True)
        sd = self._ordered.std(axis=1, where=finite, keepdims=True)
        return mean, np.where(sd > ties.tolerance(mean, self.unit), sd, 1.0)  # of equal values

    def p_values(self, values: np.ndarray, itself: np.ndarray | bool = False) -> np.ndarray:
        """Return the p-values of values (draws, m); rows that are left out count themselves."""
        pairs = zip(values, self._ordered, strict=True)
        p = [p_values(of_draw, left_out, itself, self.unit) for of_draw, left_out in pairs]
        return np.where(np.isnan(values), np.nan, p)

    def terms(self, values: np.ndarray, itself: np.ndarray | bool) -> tuple[np.ndarray, np.ndarray]:
        """Return c / p and the z-scores times c of values (draws, m)."""
        mean, sd = self._moments
        return self.weight / self.p_values(values, itself), self.weight * (mean - values) / sd


@dataclass(frozen=True, eq=False)
class Joined(Score):
    """The score of several views.

    Attributes
    ----------
    views : tuple of View
    fits : dict of str to Fit
        The fits among the views.
    failed : dict of str to str
        Views that could not be fitted, and why.
    rarity : Rarity
        How many majority rows have a value near to a given one, by column.
    """

    views: tuple[View, ...]
    fits: Mapping[str, Fit]
    failed: Mapping[str, str]
    rarity: Rarity

    uncertain = True

    @property
    @override
    def n_draws(self) -> int:
        return max(len(view.left_out) for view in self.views)

    @override
    def values(self, rows: np.ndarray) -> np.ndarray:
        return level_quantile(self.values_of_draws(rows))

    @override
    def values_of_draws(self, rows: np.ndarray) -> np.ndarray:
        return self._joined([view.values(rows) for view in self.views])

    @property
    def left_out(self) -> np.ndarray:
        """The values of the training rows, each left out, shape (draws, n)."""
        return self._joined([v.left_out for v in self.views], self.views[0].majority)

    def _joined(self, values: list[np.ndarray], itself: np.ndarray | bool = False) -> np.ndarray:
        terms = [view.terms(v, itself) for view, v in zip(self.views, values, strict=True)]
        harmonic, z = (sum(parts) for parts in zip(*terms, strict=True))
        joined: np.ndarray = -np.log(harmonic) - BEYOND * z
        return joined
