r"""Another prior for the draws of a fit: reweighting instead of a refit, and sensitivity.

Draws of the posterior under one prior p become draws under another prior p' by the importance
weights

.. math:: \omega_s \propto \frac{p'(\theta_s)}{p(\theta_s)},

because the likelihood is the same. The largest weights are smoothed by a Pareto distribution. Its
shape k shows whether the draws cover the new posterior: above 0.7, no practical number of draws is
enough (Vehtari, Simpson, Gelman, Yao and Gabry 2024, Pareto smoothed importance sampling, Journal
of Machine Learning Research 25).

The sensitivity to a slightly stronger or weaker prior or likelihood is that of power-scaling: the
posterior :math:`\propto p(\theta)^{\alpha}\, p(x \mid \theta)` for alpha near 1, and the
counterpart with a power of the likelihood, follow from the draws by importance weights too
(Kallioinen, Paananen, Buerkner and Vehtari 2024, Detecting and diagnosing prior and likelihood
sensitivity with power-scaling, Statistics and Computing 34. doi:10.1007/s11222-023-10366-5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from ...inference import prior as prior_of
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
        The draws do not cover the posterior under the new prior.
    """
    weights = Weights.of(log_ratio(log_prior, draws.log_prior))
    weights.check()
    report = SamplerReport(
        "reweighted",
        why=f"asked for; Pareto k {weights.pareto_k:.2f}",
        pareto_k=weights.pareto_k,
        r_hat=diagnostics["r_hat"],
        ess=diagnostics["ess"] * weights.effective,
        divergences=int(diagnostics["divergences"]),
    )
    return resampled(replace(draws, log_prior=log_prior, report=report), weights, seed)


@dataclass(frozen=True, eq=False)
class Weights:
    """Smoothed importance weights of draws.

    Attributes
    ----------
    values : ndarray of shape (S,)
        They sum to one.
    pareto_k : float
        Pareto k of the unsmoothed weights.
    """

    values: np.ndarray
    pareto_k: float

    @classmethod
    def of(cls, log_ratio: np.ndarray) -> Weights:
        """Return the smoothed weights of log ratios, new density over old, (S,)."""
        from arviz_stats.base import array_stats

        if len(log_ratio) < MIN_DRAWS:
            raise RefitNeededError(
                f"{len(log_ratio)} draws are too few to be weighted; expected at least {MIN_DRAWS}"
            )
        if np.ptp(log_ratio) <= ROUNDING:  # the same prior: there is no tail
            return cls(np.full(len(log_ratio), 1.0 / len(log_ratio)), -np.inf)

        # psislw takes log likelihoods, whose negative is the log ratio
        log_weights, k = array_stats.psislw(-log_ratio)
        return cls(np.exp(log_weights), float(k))

    @property
    def effective(self) -> float:
        """The effective sample size as a share of the draws, 1 / (S sum of squared weights)."""
        return float(effective_support(self.values) / len(self.values))

    def check(self) -> None:
        """Raise a RefitNeededError if Pareto k is too large."""
        # "not <=" instead of ">", so that NaN is an error too
        if not self.pareto_k <= MAX_PARETO_K:
            raise RefitNeededError(
                "the draws do not cover the posterior under the new prior: Pareto k of the "
                f"importance weights is {self.pareto_k:.2f}, and should be at most {MAX_PARETO_K}, "
                "so reweighted results would be unreliable; refit, with est.with_prior(...)"
            )


def log_ratio(new: dict[str, np.ndarray], old: dict[str, np.ndarray]) -> np.ndarray:
    """Return the log of the new prior density over the old one, shape (S,).

    Parameters
    ----------
    new, old : dict of ndarray of shape (chains, draws)
        Log prior densities of the draws, by variable.

    Raises
    ------
    RefitNeededError
        The two priors are densities of different variables.
    """
    if set(new) != set(old):
        raise RefitNeededError(
            f"the new prior is a density of {', '.join(new)}, and the draws have a density of "
            f"{', '.join(old)}; refit, with est.with_prior(...)"
        )
    return np.sum([new[name] - old[name] for name in new], axis=0).ravel()


def resampled(draws: Draws, weights: Weights, seed: int) -> Draws:
    """Return the same number of draws S, resampled by ``weights``.

    The resampling is stratified: a draw of weight v occurs S v times, with an error below 2.
    """
    import arviz as az

    S = draws.shape[0] * draws.shape[1]
    index = xr.Dataset({"index": (SAMPLE, np.arange(S).reshape(draws.shape))})
    chosen = az.extract(
        xr.DataTree.from_dict({"posterior": index}),
        var_names="index",
        num_samples=S,
        weights=weights.values,
        resampling_method="stratified",
        random_seed=seed,
    ).values

    def resample(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {
            name: v.reshape(S, *v.shape[2:])[chosen].reshape(v.shape) for name, v in values.items()
        }

    return replace(
        draws,
        variables=resample(draws.variables),
        log_prior=resample(draws.log_prior),
        statistics=resample(draws.statistics),
    )


def power_scaling(
    d: xr.DataArray,
    cutoff: float,
    log_prior: dict[str, np.ndarray],
    log_likelihood: np.ndarray,
    ess: float,
) -> pd.DataFrame:
    """Return the sensitivity of d_z and of P(normal), a row for each row z.

    Parameters
    ----------
    d : DataArray of dims (chain, draw, obs)
        Distances with a common norm.
    cutoff : float
        D_opt, which is held fixed.
    log_prior : dict of ndarray of shape (chains, draws)
        Log prior densities, by variable.
    log_likelihood : ndarray of shape (chains, draws)
    ess : float
        Effective sample size of the draws.
    """
    import arviz as az

    sample = ("chain", "draw")
    densities = {
        "prior": np.sum(list(log_prior.values()), axis=0),
        "likelihood": log_likelihood,
    }
    groups = {f"log_{name}": xr.Dataset({name: (sample, v)}) for name, v in densities.items()}
    tree = xr.DataTree.from_dict({"posterior": d.to_dataset(name="d"), **groups})
    normal = (d <= cutoff).values
    columns: dict[str, Any] = {"probability_normal": normal.mean(axis=(0, 1))}
    for name, values in densities.items():
        noise = NOISE * values.std() / math.sqrt(ess)
        columns[f"d_{name}"], columns[f"d_{name}_noise"] = 0.0, noise
        if np.ptp(values) > 0:  # a constant density, such as that of pm.Flat, has no effect
            psense = az.psense(tree, "d", group=name, alphas=(1 - STEP, 1 + STEP))
            columns[f"d_{name}"] = psense["d"].values
        if noise > SENSITIVE:
            warn(
                f"too few draws: a sensitivity of d_z to the {name} of .05 is below the noise "
                f"(about {noise:.2f}); use {math.ceil((noise / SENSITIVE) ** 2)} times as many "
                f"draws, or compare d_{name} with d_{name}_noise",
                DiagnosticWarning,
            )
    for name, values in densities.items():
        slope, error = _slope(normal, values, ess)
        columns[f"probability_{name}"], columns[f"probability_{name}_se"] = slope, error
    return pd.DataFrame(columns, index=pd.Index(d["obs"].values, name="obs"))


def _slope(
    normal: np.ndarray, log_density: np.ndarray, ess: float
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`\mathrm d P / \mathrm d \log_2 \alpha` at alpha = 1, and its standard error.

    It is the posterior covariance of the indicator d_z <= D_opt with the log density, times
    log 2.
    """
    centred = log_density - log_density.mean()
    products = math.log(2.0) * centred[..., None] * (normal - normal.mean(axis=(0, 1)))
    return products.mean(axis=(0, 1)), products.std(axis=(0, 1)) / math.sqrt(ess)
