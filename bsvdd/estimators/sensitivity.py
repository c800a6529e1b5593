r"""How decisions hang on the prior and on the weight of each training row.

With f the score of a row z in each draw at a held cutoff, :math:`\beta \sim N(m,
\Sigma)` the prior of the majority's variable, and d_i the distance of training row i,

.. math:: \frac{\partial E f}{\partial m} = \Sigma^{-1} \mathrm{Cov}(\beta - m, f),
    \qquad
    \frac{\partial E f}{\partial t_i} = -\frac{\lambda}{2} \mathrm{Cov}(d_i^2, f)

are derivatives of the posterior mean, by the draws that there are: no model is fitted
again (Gustafson 1996, Annals of Statistics 24, 174-195). :math:`t_i` is the weight of
row i in the likelihood; the prior and the cutoff stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..base import threads
from ..inference.boundary import Boundary, lower_median
from ..inference.cutoffs import Printed
from ..inference.fit import Fit
from ..models.priors import Gaussian
from ..models.rows import CompleteRows
from ..models.signed import ZERO
from ..models.weights import Weights
from .bayesian import names_of_new
from .checks import positions, require_one_fit

if TYPE_CHECKING:
    import xarray as xr

    from .description import Description

BATCHES = 20  # of draws: their means vary as the mean of all (Flegal and Jones 2010)
MOST_SHOWN = 10


def sensitivity(
    est: Description,
    Z: ArrayLike | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
) -> xr.Dataset:
    """Return how each decision hangs on each row's prior and weight.

    Parameters
    ----------
    est : fitted description with draws
    Z : array-like of shape (m, p), optional
        By default the training rows, each left out.
    rows : sequence of int, optional
        Positions of training rows in place of Z. Default: all.

    Returns
    -------
    xarray.Dataset
        - ``prior`` (obs, point): what the score of z gains, in nats, if the prior mean
          of the variable of an atom is larger by 1: of its log weight in BSVDD and
          BSVDDM, else of its weight. Absent for a prior that is not normal, as a
          function, and for draws of ``with_draws``, whose prior may be another one;
        - ``weight`` (obs, row): what it gains if a training row counts once more in the
          likelihood;
        - ``prior_se``, ``weight_se``: their Monte Carlo standard errors;
        - ``score`` (obs): the posterior mean of the score at the held cutoff.

        The attribute ``variable`` is "log weight" or "weight".

    Raises
    ------
    TypeError
        The estimator has one estimate of the weights, or joins several fits.
    ValueError
        The draws came back without the variables of the model; both Z and rows are
        given.

    See Also
    --------
    bsvdd.plots.plot_sensitivity
    bsvdd.estimators.sensitivity.largest : The rows that matter most, as a table.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> est = bsvdd.BSVDD().fit(np.random.default_rng(0).normal(size=(30, 2)))
    >>> found = bsvdd.sensitivity(est, [[0.0, 2.5]])
    >>> found["prior"].dims, found["weight"].dims
    (('obs', 'point'), ('obs', 'row'))
    """
    import xarray as xr

    model = _model_of_draws(est)
    fit = est.fit_
    if Z is not None and rows is not None:
        raise ValueError("rows= are training rows, in place of Z; give one of them")
    new = None if Z is None else est._new_rows(Z, warned=False)
    which = slice(None) if rows is None else positions(rows, len(est.fit_.rows.X))
    with threads.one():
        f = _scores(fit, new)[:, which]
        i = np.sort(fit.rows.majority)
        printed = Fit(fit.draws, Printed(1.0))  # as in the likelihood
        squares = printed.distances(fit.rows.X[i]) ** 2
    names = fit.rows.unique_names
    obs = names[which] if Z is None else names_of_new(Z, f.shape[1])
    of_weight = _covariances(f, -model.likelihood_scale / 2.0 * squares)
    found = {
        "weight": (("obs", "row"), of_weight[0]),
        "weight_se": (("obs", "row"), of_weight[1]),
        "score": ("obs", f.mean(axis=0)),
    }
    prior = model.variables[model.variable][0]
    m = fit.dictionary.m
    if isinstance(prior, Gaussian) and fit.draws.knows_prior:
        _, x = fit.draws.variables[model.variable]
        moved = (x - prior.m) / prior.sd**2
        if prior.root is not None:
            moved = (x - prior.m) @ prior.precision
        of_prior = _covariances(f, moved)
        found |= {
            "prior": (("obs", "point"), of_prior[0]),
            "prior_se": (("obs", "point"), of_prior[1]),
        }
    coords = {"obs": obs, "row": names[i], "point": fit.dictionary.names[:m]}
    variable = "log weight" if model.on_simplex else "weight"
    return xr.Dataset(found, coords, {"variable": variable})


def _model_of_draws(est: Description) -> Weights:
    """Return the model whose variables the draws of a fit have."""
    require_one_fit(est, "sensitivity")
    fit = est.fit_
    model = fit.draws.model
    if not (fit.has_draws and isinstance(model, Weights)):
        raise TypeError(
            f"{type(est).__name__} has one estimate of the weights here, and a "
            "sensitivity needs draws: take BSVDD, BSVDDM, BDD or BDDM with "
            "sampler='auto'"
        )
    if model.variable not in fit.draws.variables:
        raise ValueError(
            f"the draws have the weights w and not {model.variable!r}; give with_draws "
            "the whole tree of pm.sample(est.model_), or take a fit of the package"
        )
    return model


def _scores(fit: Fit, rows: CompleteRows | None) -> np.ndarray:
    """Return the scores (S, rows) at the median cutoff, without unseen rows."""
    known = fit.boundary
    middle = np.broadcast_to(
        lower_median(known.threshold[:, None]), known.threshold.shape
    )
    held = Boundary(middle, np.full(len(middle), -ZERO))
    return np.asarray(fit.ask(lambda parts: held.margins(parts).T, rows).T)


def _covariances(f: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return covariances (rows, q) of f (S, rows) and x (S, q), and their errors."""
    f = f - f.mean(axis=0)
    x = x - x.mean(axis=0)
    ends = np.linspace(0, len(f), BATCHES + 1).astype(int)
    means = np.stack([f[a:b].T @ x[a:b] / (b - a) for a, b in pairwise(ends)])
    return f.T @ x / len(f), means.std(axis=0, ddof=1) / np.sqrt(BATCHES)


def largest(
    found: xr.Dataset, of: str = "prior", most: int = MOST_SHOWN
) -> pd.DataFrame:
    """Return the largest derivatives of a sensitivity, as a table.

    Parameters
    ----------
    found : xarray.Dataset
        Of :func:`bsvdd.sensitivity`.
    of : {"prior", "weight"}, default="prior"
    most : int, default=10

    Returns
    -------
    pandas.DataFrame
        The columns are ``obs``, the row that is decided; ``row``, the training row or
        atom; ``derivative`` of the score, in nats; and its standard error ``se``.

    Raises
    ------
    ValueError
        The sensitivity has no such derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> from bsvdd.estimators.sensitivity import largest
    >>> est = bsvdd.BSVDD().fit(np.random.default_rng(0).normal(size=(30, 2)))
    >>> largest(bsvdd.sensitivity(est, [[0.0, 2.5]]), most=3).shape
    (3, 4)
    """
    if of not in ("prior", "weight"):
        raise ValueError(f'of must be "prior" or "weight", got {of!r}')
    if of not in found:
        raise ValueError(
            f"the sensitivity has no {of!r}, as the prior is not a normal one of "
            "bsvdd.priors, or is not known; it has "
            f"{', '.join(map(str, found.data_vars))}"
        )
    values = found[of]
    order = np.argsort(-np.abs(values.to_numpy()), axis=None, kind="stable")[:most]
    i, j = np.unravel_index(order, values.shape)
    return pd.DataFrame(
        {
            "obs": found["obs"].to_numpy()[i],
            "row": found[values.dims[1]].to_numpy()[j],
            "derivative": values.to_numpy()[i, j],
            "se": found[f"{of}_se"].to_numpy()[i, j],
        }
    )
