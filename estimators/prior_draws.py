"""Draws of weights and distances from the prior alone."""

from __future__ import annotations

from typing import Any

import xarray as xr

from ..inference import density
from ..inference.center import Center
from ..inference.density import PRIOR_DRAWS, Density, proper
from . import inputs
from .bayesian import Bayesian
from .fit import Fit
from .reading import read


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
    asked = est._asked()
    data = read(asked, X, y)
    learner: Any = asked.learner  # a posterior's
    model = learner.resolved(data).model
    rows = data.rows if Z is None else inputs.table(data, Z)
    drawn = proper(density.prior_draws(Density(model, data.gram), draws, data.seed))
    d = Center(drawn.weights, data.gram).distances(rows)
    return drawn.datasets()["posterior"].assign(d=drawn.of_rows(d))
