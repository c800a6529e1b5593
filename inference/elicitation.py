r"""Numbers of a prior from statements on what it implies, by root finding on draws of the prior.

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq, least_squares

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
