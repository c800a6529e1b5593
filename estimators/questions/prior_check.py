r"""What a prior says: summaries of weights and distances, and its numbers from statements.

A statement is on a quantity q that people can see: the effective number of support points, the
largest weight, the typical distance. For a prior with the numbers :math:`\eta` (such as its sd) and
one statement, :math:`\eta` is the root of

.. math:: q(\eta) - q_{asked},

where :math:`q(\eta)` is a quantile over draws of the prior. All evaluations have the same random
numbers, so :math:`q(\eta)` is continuous, and it has a root if it changes sign. Brent's method
finds it. Two statements on two numbers are solved by least squares. See O'Hagan et al. (2006),
Uncertain judgements: eliciting experts' probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.optimize import brentq, least_squares

from ...inference.center import Center
from ...inference.diagnostics import effective_support
from ...models.gram import Gram
from ...models.kernels.base import is_number
from ...models.priors.foreign import describe
from ..fit import Fit

QUANTILES = {"effective_support": 0.5, "largest_weight": 0.95, "typical_distance": 0.5}
WORDS = {
    "effective_support": "a median effective support of",
    "largest_weight": "weights that in 95 % of the draws are all at most",
    "typical_distance": "a median typical distance of",
}
GRID = 9  # values of a number at which the sign of q - asked is looked at
CLOSE = 0.01  # relative difference to what was asked

Quantities = Callable[[dict[str, float]], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Number:
    """A number of a prior that can be found.

    Attributes
    ----------
    name : str
    low, high : float
        Its range.
    log : bool
        Whether it is searched on the log scale.
    """

    name: str
    low: float
    high: float
    log: bool = False

    def value(self, x: float) -> float:
        """Return the number at ``x`` between 0 and 1."""
        if self.log:
            return float(self.low * (self.high / self.low) ** x)
        return float(self.low + (self.high - self.low) * x)


NUMBERS = {
    each.name: each
    for each in (
        Number("sd", 1e-3, 30.0, log=True),
        Number("power", 0.0, 1.0),
        Number("exponent", 0.01, 1.0),
        Number("outlier_fraction", 0.01, 0.9),
    )
}


def solve(
    quantities: Quantities, numbers: Sequence[Number], asked: Mapping[str, float], family: str
) -> dict[str, float]:
    """Return the numbers at which a prior has the quantities that are asked.

    Parameters
    ----------
    quantities : callable
        Of the numbers by name; it returns draws of the quantities by name.
    numbers : sequence of Number
        As many as there are statements.
    asked : dict
        Quantities of ``QUANTILES`` with their values.
    family : str
        Name of the prior, for the error.

    Raises
    ------
    ValueError
        No numbers in their ranges give what is asked. The message says the nearest that do.
    """
    names = list(asked)
    wanted = np.array([asked[name] for name in names], dtype=float)
    known: dict[tuple[float, ...], np.ndarray] = {}

    def q(x: Any) -> np.ndarray:
        place = tuple(float(v) for v in np.atleast_1d(x))
        if place not in known:
            values = {n.name: n.value(v) for n, v in zip(numbers, place, strict=True)}
            draws = quantities(values)
            known[place] = np.array([np.quantile(draws[n], QUANTILES[n]) for n in names])
        return known[place]

    if len(numbers) == 1:
        _solve_one(q, float(wanted[0]))
    else:
        _solve_several(q, wanted, len(numbers))
    best = min(known, key=lambda place: float(np.abs(known[place] / wanted - 1.0).max()))
    found = {n.name: n.value(v) for n, v in zip(numbers, best, strict=True)}
    if np.abs(known[best] / wanted - 1.0).max() > CLOSE:
        reach = np.array(list(known.values()))
        raise ValueError(
            f"no {family} with {_ranges(numbers)} has "
            + " and ".join(f"{WORDS[n]} {asked[n]:g}" for n in names)
            + "; the nearest has "
            + " and ".join(f"{v:.3g}" for v in known[best])
            + f", with {', '.join(f'{k}={v:.3g}' for k, v in found.items())}. It can have "
            + " and ".join(
                f"{low:.3g} to {high:.3g}"
                for low, high in zip(reach.min(axis=0), reach.max(axis=0), strict=True)
            )
            + ": ask for that, or take another prior"
        )
    return found


def _solve_one(q: Callable[[Any], np.ndarray], wanted: float) -> None:
    """Evaluate q near its root, if it has one; ``q`` remembers its values."""
    grid = np.linspace(0.0, 1.0, GRID)
    excess = [float(q(x)[0]) - wanted for x in grid]
    changes = [i for i in range(GRID - 1) if excess[i] * excess[i + 1] <= 0.0]
    if changes:
        # where q has several roots, the one nearest to the middle of the range
        i = min(changes, key=lambda i: abs(i + 0.5 - (GRID - 1) / 2))
        brentq(lambda x: float(q(x)[0]) - wanted, grid[i], grid[i + 1], xtol=1e-4, rtol=1e-4)


def _solve_several(q: Callable[[Any], np.ndarray], wanted: np.ndarray, n: int) -> None:
    """Evaluate q near the numbers with the least squared relative error."""
    starts = np.stack(np.meshgrid(*[np.linspace(0.1, 0.9, 4)] * n), axis=-1).reshape(-1, n)

    def residual(x: Any) -> np.ndarray:
        return q(x) / wanted - 1.0

    start = min(starts, key=lambda x: float(np.square(residual(x)).sum()))
    least_squares(residual, start, bounds=(0.0, 1.0), diff_step=1e-3, xtol=1e-4, max_nfev=20)


def _ranges(numbers: Sequence[Number]) -> str:
    return " and ".join(f"{n.name} from {n.low:g} to {n.high:g}" for n in numbers)


def quantities(center: Center, n1: int, rows: np.ndarray) -> dict[str, np.ndarray]:
    r"""Return summaries of the weights and distances, one number per draw.

    - ``effective_support``: :math:`(\sum |w_j|)^2 / \sum w_j^2`, which is :math:`1 / \sum w_j^2`
      on the simplex;
    - ``largest_weight``: :math:`\max_j |w_j|`;
    - ``minority_total``: :math:`\sum_j \alpha_{1j}`, if there are minority points;
    - ``typical_distance``: the median of d over ``rows``.

    Parameters
    ----------
    center : Center
    n1 : int
        Number of minority points, which come last.
    rows : ndarray of shape (n, p)
    """
    w = center.weights
    summaries = {
        "effective_support": effective_support(w),
        "largest_weight": np.abs(w).max(axis=-1),
    }
    if n1:
        summaries["minority_total"] = -w[:, -n1:].sum(axis=-1)
    summaries["typical_distance"] = np.median(center.distances(rows), axis=1)
    return summaries


def center(draws: xr.Dataset, gram: Gram) -> Center:
    """Return the centre of draws of the prior or the posterior.

    Raises
    ------
    ValueError
        The prior is improper.
    """
    if "w" not in draws:
        raise ValueError("the prior is improper, as pm.Flat is, so it has no draws to show")
    w = draws["w"].values
    return Center.of(w.reshape(-1, w.shape[-1]), gram)


def summaries(est: Any) -> dict[str, dict[str, np.ndarray]]:
    """Return draws of :func:`quantities` under the prior and the posterior of a fit."""
    fit: Fit = est.fit_
    if fit.prior is None:
        raise ValueError(f"{est!r} has one estimate of the weights and no posterior")
    gram, rows = fit.data.gram, fit.data.majority_rows
    posterior: Any = fit.center
    return {
        "prior": quantities(center(fit.prior, gram), gram.n1, rows),
        "posterior": quantities(posterior, gram.n1, rows),
    }


def table(est: Any, prob: float = 0.9) -> pd.DataFrame:
    """Return median and central interval: a row per quantity, columns (group, quantile)."""
    tail, groups = 50 * (1 - prob), summaries(est)
    columns = {
        (group, label): [np.percentile(v, q) for v in draws.values()]
        for group, draws in groups.items()
        for label, q in ((f"{tail:g}%", tail), ("median", 50.0), (f"{100 - tail:g}%", 100 - tail))
    }
    return pd.DataFrame(columns, index=pd.Index(groups["prior"], name="quantity"))


def numbers_of(prior: Any, asked: Mapping[str, float]) -> list[Number]:
    """Return the numbers of a prior that the statements determine, after checks of both.

    Raises
    ------
    TypeError
        The prior is not one of ``bsvdd.priors`` with an ``sd``.
    ValueError
        Nothing is stated, more than the prior has numbers for, or a value that is not positive.
    """
    if not (is_dataclass(prior) and hasattr(prior, "sd")):
        raise TypeError(
            "elicit_prior finds numbers of a prior of bsvdd.priors that has an sd, got "
            f"{describe(prior)}"
        )
    names = [each.name for each in fields(prior)]
    numbers = [number for name, number in NUMBERS.items() if name in names]
    if not asked or len(asked) > len(numbers):
        raise ValueError(
            f"state 1 to {len(numbers)} of {', '.join(QUANTILES)}, as many as "
            f"{type(prior).__name__} has numbers ({', '.join(n.name for n in numbers)}); got "
            f"{len(asked)}"
        )
    for name, value in asked.items():
        if not (is_number(value) and 0 < value < math.inf):
            raise ValueError(f"{name} must be a positive number, got {value!r}")
    return numbers[: len(asked)]
