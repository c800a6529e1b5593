r"""Another prior without another fit: importance resampling of the draws.

Draws of the posterior under one prior p become draws under another prior p' by the importance
weights

.. math:: \omega_s \propto \frac{p'(\theta_s)}{p(\theta_s)},

because the likelihood is the same. The largest weights are smoothed by a Pareto distribution. Its
shape k shows whether the draws cover the new posterior: above 0.7, no practical number of draws is
enough (Vehtari, Simpson, Gelman, Yao and Gabry 2024, Pareto smoothed importance sampling, Journal
of Machine Learning Research 25).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from .diagnostics import effective_support
from .draws import SAMPLE, Draws

MAX_PARETO_K = 0.7
MIN_DRAWS = 100
ROUNDING = 1e-8  # rounding error of a log ratio


class RefitNeededError(ValueError):
    """The draws cannot be reweighted to the new prior: a refit is needed."""


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
