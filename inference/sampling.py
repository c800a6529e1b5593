"""Draws of the weights: independent, by the package's HMC, or by PyMC and nutpie.

The density is written in NumPy too, because the compiled PyMC graph takes three times
as long; a test holds both equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import threads
from ..models.weights import Weights
from .density import density, of_normals
from .draws import Draws
from .hmc import hmc

if TYPE_CHECKING:
    import pymc as pm

TUNE = {"auto": 100, "nuts": 500, "metropolis": 1000}  # of each sampler, by default


def draw(
    model: Weights,
    sampler: str = "auto",
    draws: int = 500,
    tune: int | None = None,
    chains: int = 4,
    seed: int = 0,
) -> Draws:
    """Return draws of the weights.

    Parameters
    ----------
    model : Weights
        A model of :mod:`bsvdd.models`.
    sampler : {"auto", "nuts", "metropolis"}
        "auto" draws independently from a normal posterior, and else by HMC; "nuts" is
        nutpie, and "metropolis" is PyMC's random walk.
    draws, chains, seed : int
        As in ``pymc.sample``.
    tune : int, optional
        As in ``pymc.sample``; by default what the sampler needs (``TUNE``).

    Returns
    -------
    Draws

    Raises
    ------
    ValueError
        The sampler is unknown.
    """
    if sampler not in TUNE:
        raise ValueError(f"sampler must be one of {list(TUNE)}, got {sampler!r}")
    tune = TUNE[sampler] if tune is None else tune
    if sampler != "auto":
        w, stats = by_pymc(model.build(), sampler, draws, tune, chains, seed)
        return of_chains(model, w, sampler, stats)
    rng = np.random.default_rng(seed)
    if model.normal_prior is not None:
        return Draws(model, model.draw(chains * draws, rng), chains, "exact")
    f = density(model)
    z, stats = hmc(f, f.size, draws, tune, chains, rng)
    w = np.stack([f.weights(chain) for chain in z])
    return of_chains(model, w, "hmc", stats)


def of_chains(
    model: Weights, w: np.ndarray, sampler: str, stats: dict[str, np.ndarray]
) -> Draws:
    """Return draws from weights (chains, draws, M)."""
    return Draws(model, w.reshape(-1, w.shape[-1]), len(w), sampler, stats)


def by_pymc(
    built: pm.Model, sampler: str, draws: int, tune: int, chains: int, seed: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return weights and statistics of nutpie, or of PyMC's Metropolis algorithm."""
    import pymc as pm

    task = f"{chains} chains of {tune} + {draws} draws by {sampler}"
    with built, threads.steps(task):
        how: dict[str, Any] = {"nuts_sampler": "nutpie"}
        if sampler == "metropolis":
            how = {"step": pm.Metropolis(), "cores": 1}
        found = pm.sample(
            draws,
            tune=tune,
            chains=chains,
            random_seed=seed,
            progressbar=False,
            quiet=True,
            **how,
        )
    stats = {str(name): v for name, v in found["sample_stats"].data_vars.items()}
    by_draw = {name: v.to_numpy() for name, v in stats.items() if v.ndim == 2}
    return found["posterior"]["w"].to_numpy(), by_draw


class ImproperPriorError(ValueError):
    """A prior has no draws."""


def draw_prior(model: Weights, draws: int, seed: int) -> Draws:
    """Return draws of the weights from the prior alone."""
    rng = np.random.default_rng(seed)
    f = of_normals(model)
    if f is not None:
        return Draws(model, f.weights(rng.standard_normal((draws, f.size))))
    import pymc as pm

    from .user_priors import MODE_OF_PYTENSOR

    try:
        w = pm.draw(model.build()["w"], draws, random_seed=rng, mode=MODE_OF_PYTENSOR)
    except NotImplementedError as error:
        raise ImproperPriorError(
            "the prior is improper, as pm.Flat is, so it has no draws"
        ) from error
    return Draws(model, np.asarray(w).reshape(draws, -1))
