"""Another prior for the draws of a fit: its log density in them, and their reweighting by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..inference import reweighting, sampling
from ..inference.draws import Draws, SamplerReport
from ..inference.reweighting import RefitNeededError

if TYPE_CHECKING:
    import pymc as pm


def changed_priors(
    priors: Mapping[str, Any], names: Sequence[str], estimator: str
) -> dict[str, Any]:
    """Return the priors that are not None, by the names of their parameters.

    Parameters
    ----------
    priors : dict
    names : sequence of str
        The parameters of the estimator that are priors.
    estimator : str
        Its name, for errors.

    Raises
    ------
    ValueError
        There is no new prior, or the estimator has no prior of that name.
    """
    changes = {name: prior for name, prior in priors.items() if prior is not None}
    if not changes:
        needed = ", ".join(f"{name}=..." for name in names)
        raise ValueError(f"another prior needs at least one of {needed}")
    if unknown := sorted(set(changes) - set(names)):
        raise ValueError(
            f"{estimator} has no parameter {unknown[0]!r}; its priors are {', '.join(names)}"
        )
    return changes


def log_prior(draws: Draws, model: pm.Model) -> dict[str, np.ndarray]:
    """Return the log prior density of ``model`` in draws of another model, by variable.

    Parameters
    ----------
    draws : Draws
    model : pymc.Model
        The model with the new prior, for the same dictionary.

    Raises
    ------
    RefitNeededError
        The draws lack a free variable of ``model``, or ``model`` gives other weights for the same
        variables.
    """
    lacking = sorted(set(sampling.free(model)) - set(draws.variables))
    if lacking:
        raise RefitNeededError(
            f"the new prior has the free variable(s) {', '.join(lacking)}, of which the fit "
            "has no draws; refit, with est.with_prior(...)"
        )
    if not np.allclose(sampling.weights(model, draws), draws.weights, rtol=1e-6, atol=1e-9):
        raise RefitNeededError(
            "the new prior makes other weights of the same variables, as Beta with another "
            "total does, so the draws cannot be reweighted; refit, with est.with_prior(...)"
        )
    return sampling.log_prior(model, draws)


def reweighted_draws(
    draws: Draws, log_prior: dict[str, np.ndarray], diagnostics: xr.Dataset, seed: int
) -> Draws:
    """Return the draws, resampled to the prior with the log densities ``log_prior``.

    Parameters
    ----------
    draws : Draws
    log_prior : dict of ndarray of shape (chains, draws)
        Log densities of the new prior, by variable.
    diagnostics : Dataset
        Diagnostics of the fit, with ``r_hat``, ``ess`` and ``divergences``.
    seed : int

    Raises
    ------
    RefitNeededError
        The draws do not cover the posterior under the new prior.
    """
    weights = reweighting.Weights.of(reweighting.log_ratio(log_prior, draws.log_prior))
    weights.check()
    report = SamplerReport(
        "reweighted",
        why=f"asked for; Pareto k {weights.pareto_k:.2f}",
        pareto_k=weights.pareto_k,
        r_hat=float(diagnostics["r_hat"]),
        ess=float(diagnostics["ess"]) * weights.effective,
        divergences=int(diagnostics["divergences"]),
    )
    draws = replace(draws, log_prior=log_prior, report=report)
    return reweighting.resampled(draws, weights, seed)
