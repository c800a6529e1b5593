r"""The numbers of a prior from statements on what it implies.

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

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import brentq, least_squares

from ...inference import density
from ...inference.center import Center
from ...inference.density import PRIOR_DRAWS, Density, proper
from ...inference.learned import Posterior
from ...models.kernels.base import is_number
from ...models.priors import Prior
from ...models.priors.base import describe
from .. import inputs
from ..bayesian import Bayesian
from ..fit import Fit
from ..reading import read
from ..summary import quantities
from ..training import TrainingData

QUANTILES = {"effective_support": 0.5, "largest_weight": 0.95, "typical_distance": 0.5}
WORDS = {
    "effective_support": "a median effective support of",
    "largest_weight": "weights that in 95 % of the draws are all at most",
    "typical_distance": "a median typical distance of",
}
GRID = 9  # values of a number at which the sign of q - asked is looked at
CLOSE = 0.01  # relative difference to what was asked

NUMBERS = {  # the numbers of a prior that can be found, their ranges, and whether on a log scale
    "sd": (1e-3, 30.0, True),
    "power": (0.0, 1.0, False),
    "exponent": (0.01, 1.0, False),
    "outlier_fraction": (0.01, 0.9, False),
}

Quantities = Callable[[dict[str, float]], dict[str, np.ndarray]]


def prior_draws(
    est: Bayesian, X: Any, y: Any = None, Z: Any = None, draws: int = PRIOR_DRAWS
) -> xr.Dataset:
    """Return draws of the weights and of d_z from the prior, without a fit.

    Parameters
    ----------
    est : Bayesian
        Its parameters count; it need not be fitted.
    X, y
        Training rows and labels, as in ``fit``.
    Z : array-like of shape (m, p), optional
        The rows z. Default: the training rows.
    draws : int, default=200

    Returns
    -------
    xarray.Dataset
        ``w`` of dims (chain, draw, point), ``d`` of dims (chain, draw, obs), and the free
        variables of the model.

    Raises
    ------
    ValueError
        The prior is improper, or the draws of ``est`` are the user's own.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> prior = bsvdd.prior_draws(bsvdd.BSVDD(), np.random.default_rng(0).normal(size=(50, 2)))
    >>> prior["w"].dims, bool(np.allclose(prior["w"].sum("point"), 1.0))
    (('chain', 'draw', 'point'), True)
    """
    fit: Fit | None = vars(est).get("fit_")
    if fit is not None and fit.learned.is_own:
        raise ValueError(
            "the draws are your own, and only the model that you changed knows their prior: use "
            "pm.sample_prior_predictive"
        )
    learner, data = _read(est, X, y)
    rows = data.rows if Z is None else inputs.table(data, Z)
    drawn = proper(density.prior_draws(Density(learner.model, data.gram), draws, data.seed))
    d = Center(drawn.weights, data.gram).distances(rows)
    return drawn.datasets()["posterior"].assign(d=drawn.of_rows(d))


def elicit_prior(
    est: Bayesian,
    X: Any,
    y: Any = None,
    *,
    effective_support: float | None = None,
    largest_weight: float | None = None,
    typical_distance: float | None = None,
    draws: int = PRIOR_DRAWS,
) -> Prior:
    """Return this estimator's prior with the numbers that imply what is stated, without a fit.

    One statement sets ``sd``. Two set ``sd`` and the prior's other number, such as ``power`` of
    ``priors.InverseRowSum``. It takes about half a second for each of 10 to 40 evaluations.

    Parameters
    ----------
    est : Bayesian
        Its parameters count; it need not be fitted.
    X, y
        Training rows and labels, as in ``fit``.
    effective_support : float, optional
        The prior median of the effective number of support points, above 1.
    largest_weight : float, optional
        The weight that no row exceeds in 95 % of the draws of the prior, such as 0.05.
    typical_distance : float, optional
        The prior median of the median distance of the majority rows.
    draws : int, default=200
        Of the prior; all evaluations have the same random numbers.

    Returns
    -------
    prior
        For ``est.set_params(prior=...)`` or ``est.with_prior(...)``.

    Raises
    ------
    ValueError
        Nothing is stated, or more than the prior has numbers for; no numbers give what is
        stated, and the message says the nearest that do; the prior is improper.
    TypeError
        The prior is not one of ``bsvdd.priors`` with an ``sd``.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> from bsvdd import BSVDD, priors
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> est = BSVDD(prior=priors.Flat())
    >>> prior = bsvdd.elicit_prior(est, X, largest_weight=0.05)
    >>> w = bsvdd.prior_draws(est.set_params(prior=prior), X)["w"]
    >>> bool(0.9 < (w.max("point") <= 0.05).mean() <= 1.0)
    True
    """
    stated = {
        "effective_support": effective_support,
        "largest_weight": largest_weight,
        "typical_distance": typical_distance,
    }
    asked = {name: value for name, value in stated.items() if value is not None}
    present: Any = est.prior  # a dataclass, as it has numbers
    numbers = numbers_of(present, asked)
    learner, data = _read(est, X, y)

    def of_numbers(values: dict[str, float]) -> dict[str, np.ndarray]:
        model = learner.with_prior(prior=replace(present, **values)).model
        drawn = proper(density.prior_draws(Density(model, data.gram), draws, data.seed))
        return quantities(Center(drawn.weights, data.gram), data)

    found = solve(of_numbers, numbers, asked, type(present).__name__)
    prior: Prior = replace(present, **found)
    return prior


def _read(est: Bayesian, X: Any, y: Any) -> tuple[Posterior, TrainingData]:
    """Return the model of an estimator with its numbers, and the training data."""
    asked = est._asked()
    data = read(asked, X, y)
    learner: Any = asked.learner
    return learner.resolved(data), data


def numbers_of(prior: Any, asked: Mapping[str, float]) -> list[str]:
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
    named = {each.name for each in fields(prior)}
    numbers = [name for name in NUMBERS if name in named]
    if not asked or len(asked) > len(numbers):
        raise ValueError(
            f"state 1 to {len(numbers)} of {', '.join(QUANTILES)}, as many as "
            f"{type(prior).__name__} has numbers ({', '.join(numbers)}); got {len(asked)}"
        )
    for name, value in asked.items():
        if not (is_number(value) and 0 < value < math.inf):
            raise ValueError(f"{name} must be a positive number, got {value!r}")
    return numbers[: len(asked)]


def solve(
    quantities: Quantities, numbers: Sequence[str], asked: Mapping[str, float], family: str
) -> dict[str, float]:
    """Return the numbers at which a prior has the quantities that are asked.

    Parameters
    ----------
    quantities : callable
        Of the numbers by name; it returns draws of the quantities by name.
    numbers : sequence of str
        Of ``NUMBERS``, as many as there are statements.
    asked : dict
        Quantities of ``QUANTILES`` with their values.
    family : str
        Name of the prior, for the error.

    Raises
    ------
    ValueError
        No numbers in their ranges give what is asked. The message says the nearest that do.
    """
    wanted = np.array(list(asked.values()), dtype=float)
    known: dict[tuple[float, ...], np.ndarray] = {}  # relative errors, by places in the unit cube

    def at(place: tuple[float, ...]) -> dict[str, float]:
        """Return the numbers at a place."""
        found = {}
        for name, x in zip(numbers, place, strict=True):
            low, high, log = NUMBERS[name]
            found[name] = float(low * (high / low) ** x if log else low + (high - low) * x)
        return found

    def error(x: Any) -> np.ndarray:
        place = tuple(np.atleast_1d(x).tolist())
        if place not in known:
            draws = quantities(at(place))
            q = np.array([np.quantile(draws[name], QUANTILES[name]) for name in asked])
            known[place] = q / wanted - 1.0
        return known[place]

    if len(numbers) == 1:
        grid = np.linspace(0.0, 1.0, GRID)
        signs = np.sign([error(x)[0] for x in grid])
        changes = np.flatnonzero(signs[:-1] * signs[1:] <= 0.0)
        if len(changes):  # of several roots, the one nearest to the middle of the range
            i = changes[np.argmin(np.abs(changes + 0.5 - (GRID - 1) / 2))]
            brentq(lambda x: error(x)[0], grid[i], grid[i + 1], xtol=1e-4, rtol=1e-4)
    else:
        places = itertools.product(np.linspace(0.1, 0.9, 4), repeat=len(numbers))
        start = min(places, key=lambda x: float(np.square(error(x)).sum()))
        least_squares(error, start, bounds=(0.0, 1.0), diff_step=1e-3, xtol=1e-4, max_nfev=20)
    best = min(known, key=lambda place: float(np.abs(known[place]).max()))
    if np.abs(known[best]).max() > CLOSE:
        q = wanted * (1.0 + np.array([known[best], *known.values()]))
        reach = zip(q.min(axis=0), q.max(axis=0), strict=True)
        ranges = " and ".join("{} from {:g} to {:g}".format(n, *NUMBERS[n][:2]) for n in numbers)
        raise ValueError(
            f"no {family} with {ranges} has "
            + " and ".join(f"{WORDS[name]} {value:g}" for name, value in asked.items())
            + f"; the nearest has {' and '.join(f'{v:.3g}' for v in q[0])}, with "
            + ", ".join(f"{name}={value:.3g}" for name, value in at(best).items())
            + f". It can have {' and '.join(f'{low:.3g} to {high:.3g}' for low, high in reach)}"
            + ": ask for that, or take another prior"
        )
    return at(best)
