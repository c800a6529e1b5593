r"""Another prior for the draws of a fit: reweighting instead of a refit, and sensitivity.

Draws of the posterior under one prior p become draws under another prior p' by the importance
weights

.. math:: \omega_s \propto \frac{p'(\theta_s)}{p(\theta_s)},

because the likelihood is the same. The largest weights are smoothed by a Pareto distribution. Its
shape k shows whether the draws cover the new posterior: above 0.7, no practical number of draws is
enough (Vehtari, Simpson, Gelman, Yao and Gabry 2024, Pareto smoothed importance sampling, Journal
of Machine Learning Research 25).

Power-scaling gives the sensitivity to a slightly stronger or weaker prior or likelihood. The
posterior :math:`\propto p(\theta)^{\alpha}\, p(x \mid \theta)` for alpha near 1 follows from the
draws by importance weights too, and so does the posterior with a power of the likelihood
(Kallioinen, Paananen, Buerkner and Vehtari 2024, Detecting and diagnosing prior and likelihood
sensitivity with power-scaling, Statistics and Computing 34. doi:10.1007/s11222-023-10366-5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from ...inference import density as prior_of
from ...inference.diagnostics import effective_support
from ...inference.draws import SAMPLE, Draws, SamplerReport
from ...inference.warning import DiagnosticWarning, warn

if TYPE_CHECKING:
    import pymc as pm

MAX_PARETO_K = 0.7
MIN_DRAWS = 100
ROUNDING = 1e-8  # rounding error of a log ratio
STEP = 0.01  # of alpha, on either side of 1
SENSITIVE = 0.05  # above this, az.psense calls a posterior sensitive
NOISE = 0.37  # simulated psense of independent values, per sd of the log density / sqrt(ess)


class RefitNeededError(ValueError):
    """The draws cannot be reweighted to the new prior: a refit is needed."""


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
    lacking = sorted(set(prior_of.free(model)) - set(draws.variables))
    if lacking:
        raise RefitNeededError(
            f"the new prior has the free variable(s) {', '.join(lacking)}, of which the fit "
            "has no draws; refit, with est.with_prior(...)"
        )
    if not np.allclose(prior_of.weights(model, draws), draws.weights, rtol=1e-6, atol=1e-9):
        raise RefitNeededError(
            "the new prior makes other weights of the same variables, as Beta with another "
            "total does, so the draws cannot be reweighted; refit, with est.with_prior(...)"
        )
    return prior_of.log_prior(model, draws)


def reweighted(
    draws: Draws, log_prior: dict[str, np.ndarray], diagnostics: Mapping[str, float], seed: int
) -> Draws:
    """Return the draws, resampled to the prior with the log densities ``log_prior``.

    Parameters
    ----------
    draws : Draws
    log_prior : dict of ndarray of shape (chains, draws)
        Log densities of the new prior, by variable.
    diagnostics : dict
        Diagnostics of the fit, with ``r_hat``, ``ess`` and ``divergences``.
    seed : int

    Raises
    ------
    RefitNeededError
        The draws do not cover the posterior under the new prior, are too few, or have a density of
        other variables.
    """
    if set(log_prior) != set(draws.log_prior):
        raise RefitNeededError(
            f"the new prior is a density of {', '.join(log_prior)}, and the draws have a density "
            f"of {', '.join(draws.log_prior)}; refit, with est.with_prior(...)"
        )
    log_ratio = np.sum([log_prior[name] - draws.log_prior[name] for name in log_prior], axis=0)
    weights, pareto_k = smoothed(log_ratio.ravel())
    if not pareto_k <= MAX_PARETO_K:  # not ">": NaN is an error too
        raise RefitNeededError(
            "the draws do not cover the posterior under the new prior: Pareto k of the "
            f"importance weights is {pareto_k:.2f}, and should be at most {MAX_PARETO_K}, "
            "so reweighted results would be unreliable; refit, with est.with_prior(...)"
        )
    report = SamplerReport(
        "reweighted",
        why=f"asked for; Pareto k {pareto_k:.2f}",
        pareto_k=pareto_k,
        r_hat=diagnostics["r_hat"],
        ess=diagnostics["ess"] * float(effective_support(weights) / len(weights)),
        divergences=int(diagnostics["divergences"]),
    )
    return resampled(replace(draws, log_prior=log_prior, report=report), weights, seed)


def smoothed(log_ratio: np.ndarray) -> tuple[np.ndarray, float]:
    """Return smoothed importance weights (S,), which sum to one, and Pareto k of the unsmoothed.

    Parameters
    ----------
    log_ratio : ndarray of shape (S,)
        Log of the new density over the old one.
    """
    from arviz_stats.base import array_stats

    if len(log_ratio) < MIN_DRAWS:
        raise RefitNeededError(
            f"{len(log_ratio)} draws are too few to be weighted; expected at least {MIN_DRAWS}"
        )
    if np.ptp(log_ratio) <= ROUNDING:  # the same prior: there is no tail
        return np.full(len(log_ratio), 1.0 / len(log_ratio)), -math.inf
    # psislw takes log likelihoods, whose negative is the log ratio
    log_weights, k = array_stats.psislw(-log_ratio)
    return np.exp(log_weights), float(k)


def resampled(draws: Draws, weights: np.ndarray, seed: int) -> Draws:
    """Return the same number of draws S, resampled by weights (S,).

    The resampling is stratified: a draw of weight v occurs S v times, with an error below 2.
    """
    import arviz as az

    S = draws.shape[0] * draws.shape[1]
    index = xr.Dataset({"index": (SAMPLE, np.arange(S).reshape(draws.shape))})
    chosen = az.extract(
        xr.DataTree.from_dict({"posterior": index}),
        var_names="index",
        num_samples=S,
        weights=weights,
        resampling_method="stratified",
        random_seed=seed,
    ).values

    def resample(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {k: v.reshape(S, *v.shape[2:])[chosen].reshape(v.shape) for k, v in values.items()}

    return replace(
        draws,
        variables=resample(draws.variables),
        log_prior=resample(draws.log_prior),
        statistics=resample(draws.statistics),
    )


def power_scaling(
    d: xr.DataArray,
    is_normal: xr.DataArray,
    log_prior: dict[str, np.ndarray],
    log_likelihood: np.ndarray,
    ess: float,
) -> pd.DataFrame:
    """Return the sensitivity of d_z and of P(normal), a row for each row z.

    Parameters
    ----------
    d : DataArray of dims (chain, draw, obs)
        Distances.
    is_normal : DataArray of dims (chain, draw, obs)
        Whether the row is normal in the draw.
    log_prior : dict of ndarray of shape (chains, draws)
        Log prior densities, by variable.
    log_likelihood : ndarray of shape (chains, draws)
    ess : float
        Effective sample size of the draws.
    """
    import arviz as az

    densities = {"prior": np.sum(list(log_prior.values()), axis=0), "likelihood": log_likelihood}
    groups = {
        f"log_{name}": xr.Dataset({name: (("chain", "draw"), v)}) for name, v in densities.items()
    }
    tree = xr.DataTree.from_dict({"posterior": d.to_dataset(name="d"), **groups})
    normal = is_normal.values
    of_d: dict[str, Any] = {}
    of_p: dict[str, Any] = {"probability_normal": normal.mean(axis=(0, 1))}
    for name, values in densities.items():
        noise = NOISE * values.std() / math.sqrt(ess)
        of_d[f"d_{name}"], of_d[f"d_{name}_noise"] = 0.0, noise
        if np.ptp(values) > 0:  # a constant density has no effect, such as pm.Flat's
            psense = az.psense(tree, "d", group=name, alphas=(1 - STEP, 1 + STEP))
            of_d[f"d_{name}"] = psense["d"].values
        if noise > SENSITIVE:
            warn(
                f"too few draws: a sensitivity of d_z to the {name} of .05 is below the noise "
                f"(about {noise:.2f}); use {math.ceil((noise / SENSITIVE) ** 2)} times as many "
                f"draws, or compare d_{name} with d_{name}_noise",
                DiagnosticWarning,
            )
        # dP / dlog2(alpha) at alpha = 1 is the posterior covariance of the log density and of
        # whether the row is normal, times log 2
        centred = math.log(2.0) * (values - values.mean())[..., None]
        products = centred * (normal - of_p["probability_normal"])
        of_p[f"probability_{name}"] = products.mean(axis=(0, 1))
        of_p[f"probability_{name}_se"] = products.std(axis=(0, 1)) / math.sqrt(ess)
    first = {"probability_normal": of_p.pop("probability_normal")}
    return pd.DataFrame(first | of_d | of_p, index=pd.Index(d["obs"].values, name="obs"))
