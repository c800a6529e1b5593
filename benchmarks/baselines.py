"""What the samplers are compared with: BSVDD as one would first write it in PyMC."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from bsvdd.inference.center import Center
from bsvdd.models import Gram

from bsvdd import kernels, priors

PRIORS = {"published": priors.RowSum(), "default": priors.StandardizedRowSum()}


def rows(n0: int = 900, p: int = 50, seed: int = 0) -> np.ndarray:
    """Return standard normal rows, (n0, p)."""
    return np.random.default_rng(seed).normal(size=(n0, p))


def gram(n0: int = 900, p: int = 50, seed: int = 0, kernel: kernels.Kernel = kernels.RBF()) -> Gram:
    """Return the statistics of :func:`rows`."""
    X = rows(n0, p, seed)
    return Gram.from_rows(kernel.resolve(X), X)


def naive(gram: Gram, prior: priors.GaussianPrior) -> pm.Model:
    """Return the model with alpha @ K @ alpha as it stands in the paper, numbers as constants."""
    with pm.Model() as model:
        beta = pm.Normal("beta", prior.mean(gram), float(prior.sd), shape=gram.n_points)
        alpha = pm.Deterministic("w", pm.math.softmax(beta))
        quadratic = alpha @ gram.K @ alpha
        pm.Potential("kernel", -0.5 * (gram.T - 2.0 * alpha @ gram.r + gram.n0 * quadratic))
    return model


def sample_naive(
    model: pm.Model, draws: int = 1000, tune: int = 500, chains: int = 2, seed: int = 0
) -> tuple[xr.DataTree, float]:
    """Return what plain ``pm.sample()`` draws, and the seconds it takes."""
    return _sample(model, draws=draws, tune=tune, chains=chains, random_seed=seed)


def sample_metropolis(
    model: pm.Model, draws: int = 1000, tune: int = 500, chains: int = 2, seed: int = 0
) -> tuple[xr.DataTree, float]:
    """Return draws of ``pm.Metropolis``, the published sampler, and the seconds it takes."""
    step = pm.Metropolis(model=model)
    return _sample(model, step=step, draws=draws, tune=tune, chains=chains, random_seed=seed)


def _sample(model: pm.Model, **settings: Any) -> tuple[xr.DataTree, float]:
    start = time.perf_counter()
    quiet = {"progressbar": False, "compute_convergence_checks": False}
    trace = pm.sample(model=model, **quiet, **settings)
    return trace, time.perf_counter() - start


def smallest_ess(w: np.ndarray, gram: Gram, points: int = 100, method: str = "bulk") -> float:
    """Return the smallest ESS of d_z over training rows; w has shape (chain, draw, M)."""
    import arviz as az

    center = Center.of(w.reshape(-1, w.shape[-1]), gram)
    chosen = gram.points[np.linspace(0, gram.n_points - 1, points).astype(int)]
    d = center.distances(chosen).reshape(*w.shape[:2], -1)
    data = xr.Dataset({"d": (("chain", "draw", "obs"), d)})
    return float(az.ess(data, method=method)["d"].min())
