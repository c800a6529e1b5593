"""Draws of weights and distances from the prior alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from sklearn.base import clone

from ..inference import sampling, threads
from ..inference.cutoffs import FalseAlarm
from ..inference.fit import Fit, Learned
from ..inference.learners import centre_of
from ..models.data import Data
from ..models.kernels import as_kernel
from .bayesian import Bayesian
from .description import seed_of
from .fitted import PRIOR_DRAWS
from .training import Training


def prior_draws(
    est: Bayesian, X: Any, y: Any = None, Z: Any = None, draws: int = PRIOR_DRAWS
) -> xr.Dataset:
    """Return draws of the weights and of d_z from the prior, without a fit.

    Parameters
    ----------
    est : estimator with a posterior
        Its parameters count; it need not be fitted.
    X, y
        Training rows and labels, as in ``fit``.
    Z : array-like of shape (m, p), optional
        The rows z. Default: the training rows.
    draws : int, default=1000

    Returns
    -------
    xarray.Dataset
        ``w`` of dims (chain, draw, point), and ``d`` of dims (chain, draw, obs).

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> prior = bsvdd.prior_draws(bsvdd.BSVDD(), np.random.default_rng(0).normal(size=(50, 2)))
    >>> prior["w"].dims, bool(np.allclose(prior["w"].sum("point"), 1.0))
    (('chain', 'draw', 'point'), True)
    """
    est, seed = clone(est), seed_of(est.random_state)
    est._validate_params()
    training = Training.read(est, as_kernel(est.kernel), X, y)
    training = training.thinned(est._learns_from_minority, seed)
    rows = training.filled.rows if Z is None else training.new(Z).rows
    with threads.one():
        most = est._most(len(training.minority))
        data = Data.of(training.kernel, training.units, est._learns_from_minority, most)
        learner = est._learner(seed)
        w = sampling.of_prior(learner.model(data, learner.scale(data).scale), draws, seed)
        d = Fit(data, Learned(centre_of(data, w)), FalseAlarm()).distances(rows)
    dims = "chain", "draw"
    coords = {"chain": [0], "draw": np.arange(draws)}
    return xr.Dataset({"w": ((*dims, "point"), w[None]), "d": ((*dims, "obs"), d[None])}, coords)
