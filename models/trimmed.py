r"""Linear regressions that some odd rows do not move: least trimmed squares.

The coefficients minimise the sum of the :math:`h = \lceil .8 n \rceil` smallest squared residuals
(Rousseeuw 1984), by concentration steps from the fit to all rows (Rousseeuw and Van Driessen 2006).

**References**

Rousseeuw, P. J. (1984). Least median of squares regression. Journal of the American Statistical
Association 79, 871-880. doi:10.1080/01621459.1984.10477105

Rousseeuw, P. J. and Van Driessen, K. (2006). Computing LTS regression for large data sets. Data
Mining and Knowledge Discovery 12, 29-45. doi:10.1007/s10618-005-0024-4
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

KEPT = 0.8  # share of rows that the sum is of
STEPS = 20  # of concentration, of which a few are enough


@dataclass(frozen=True, eq=False)
class Trimmed:
    """A regression of a column on others.

    Attributes
    ----------
    coefficients : ndarray of shape (q + 1,)
        Of the intercept and of the q regressors.
    explained : float
        One less the trimmed sum of squares over that of the column alone: 1 for an exact relation.
    """

    coefficients: np.ndarray
    explained: float

    @classmethod
    def of(cls, regressors: np.ndarray, y: np.ndarray) -> Self:
        """Return the regression of y (n,) on regressors (n, q)."""
        h = math.ceil(KEPT * len(y))
        coefficients, left = _concentrated(regressors, y, h)
        _, alone = _concentrated(regressors[:, :0], y, h)
        return cls(coefficients, 1.0 - left / alone if alone > 0.0 else 0.0)

    def expected(self, regressors: np.ndarray) -> np.ndarray:
        """Return the values that rows with these regressors (m, q) have, shape (m,)."""
        found: np.ndarray = self.coefficients[0] + regressors @ self.coefficients[1:]
        return found


def _concentrated(x: np.ndarray, y: np.ndarray, h: int) -> tuple[np.ndarray, float]:
    """Return the coefficients, and the sum of the h smallest squared residuals."""
    kept, slopes, intercept = np.ones(len(y), dtype=bool), np.zeros(x.shape[1]), 0.0
    squares = np.square(y)
    for _ in range(STEPS):
        mean, mean_y = x[kept].mean(axis=0), y[kept].mean()
        # centred, so that of regressors that depend on each other those that tell nothing have 0
        slopes = np.linalg.lstsq(x[kept] - mean, y[kept] - mean_y)[0]
        intercept = float(mean_y - mean @ slopes)
        squares = np.square(y - intercept - x @ slopes)
        new = np.zeros(len(y), dtype=bool)
        new[np.argsort(squares, kind="stable")[:h]] = True
        if np.array_equal(new, kept):
            break
        kept = new
    return np.concatenate([[intercept], slopes]), float(np.sort(squares)[:h].sum())
