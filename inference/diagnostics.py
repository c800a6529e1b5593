"""Diagnostics: whether the draws can be trusted, and how many rows the weights rest on."""

from __future__ import annotations

import warnings

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

MAX_R_HAT = 1.01
MIN_ESS_PER_CHAIN = 100
MIN_SUPPORT = 5
POINTS = 100  # training rows, evenly spread, whose d_z are diagnosed
PRIOR_DRAWS = 200


class DiagnosticWarning(UserWarning):
    """The draws or the weights are not to be relied on without a look."""


def effective_support(weights: np.ndarray) -> np.ndarray:
    r"""Return the effective number of support points of each draw, (..., M) -> (...).

    .. math:: \left(\textstyle\sum_j |w_j|\right)^2 / \textstyle\sum_j w_j^2

    which is 1/sum w^2 for weights on the simplex: M for M equal weights, 1 for all weight on
    one point. (Kish 1965, of absolute values, so that signed weights count too.)
    """
    return np.abs(weights).sum(axis=-1) ** 2 / np.square(weights).sum(axis=-1)


def prior_effective_support(model: pm.Model, seed: int | None = None) -> float:
    """Return the median of the effective number of support points over prior draws."""
    w = pm.draw(model["w"], PRIOR_DRAWS, random_seed=seed, mode="FAST_COMPILE")
    return float(np.median(effective_support(w)))


def diagnose(idata: xr.DataTree) -> xr.Dataset:
    """Return the diagnostics of a fit as scalars, one variable each.

    - ``r_hat``: the largest R-hat of d over (up to 100) training rows;
    - ``ess``: the smallest bulk effective sample size of d over the same rows;
    - ``divergences``: number of divergent transitions;
    - ``posterior_effective_support``: posterior median of :func:`effective_support`;
    - ``largest_weight``: posterior median of the largest |w|.

    R-hat and effective sample size are NaN for a single estimate.
    """
    d = idata["distance"]["d"]
    w = idata["posterior"]["w"]
    r_hat = ess = np.nan
    if d.sizes["draw"] >= 4:
        rows = np.linspace(0, d.sizes["obs"] - 1, min(POINTS, d.sizes["obs"])).astype(int)
        chosen = d.isel(obs=rows).to_dataset(name="d")
        # skipna=False: a distance without an R-hat must not hide behind those that have one
        ess = float(az.ess(chosen)["d"].min(skipna=False))
        if d.sizes["chain"] > 1:
            r_hat = float(az.rhat(chosen)["d"].max(skipna=False))
    divergences = 0
    if "sample_stats" in idata.children and "diverging" in idata["sample_stats"]:
        divergences = int(idata["sample_stats"]["diverging"].sum())
    return xr.Dataset(
        {
            "r_hat": r_hat,
            "ess": ess,
            "divergences": divergences,
            "posterior_effective_support": float(np.median(effective_support(w.values))),
            "largest_weight": float(np.median(np.abs(w.values).max(axis=-1))),
        }
    )


def warn(diagnostics: xr.Dataset, chains: int, n_points: int) -> None:
    """Warn of each diagnostic that is out of its bounds, and say what to do."""
    value = {name: float(v) for name, v in diagnostics.items()}
    if value["r_hat"] > MAX_R_HAT:
        _warn(
            f"R-hat of d_z is {value['r_hat']:.3f} (> {MAX_R_HAT}): the chains disagree; use more "
            "tune and draws, or, with minority rows, bound their weights: priors.Beta(total=1)"
        )
    if value["ess"] < MIN_ESS_PER_CHAIN * chains:
        _warn(
            f"the smallest effective sample size of d_z is {value['ess']:.0f} "
            f"(< {MIN_ESS_PER_CHAIN} for each of {chains} chains); use more draws"
        )
    if value["divergences"]:
        _warn(
            f"{value['divergences']:.0f} divergent transitions: parts of the posterior may be "
            "missed; use more tune, or a prior with lighter tails"
        )
    # with few points, few support points are no collapse
    for which in ("prior", "posterior"):
        support = value[f"{which}_effective_support"]
        if support < min(MIN_SUPPORT, n_points / 4):
            _warn(
                f"the {which} weights have collapsed: {support:.1f} effective support points "
                f"of {n_points}; use priors.StandardizedRowSum(), or a smaller "
                "exponent in priors.RowSum"
            )


def _warn(message: str) -> None:
    warnings.warn(message, DiagnosticWarning, stacklevel=4)
