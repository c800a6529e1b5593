"""Diagnostics: whether the draws are reliable, and how many points the weights rest on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from scipy.special import ndtri
from scipy.stats import rankdata

from ..models.geometry import DRAWS_IN_CACHE
from ..models.potential import prior_potentials
from .draws import Draws
from .warning import DiagnosticWarning, warn

if TYPE_CHECKING:
    import pymc as pm

MAX_R_HAT = 1.01
MIN_ESS_PER_CHAIN = 100
MIN_DRAWS = 8  # in each chain; ArviZ needs 4 in each half for R-hat
MIN_SUPPORT = 5
MIN_LEFT_OUT = 50  # effective draws for a left-out row
POINTS = 20  # evenly spaced training rows whose d_z are monitored
PRIOR_DRAWS = 200


def effective_support(weights: np.ndarray) -> np.ndarray:
    r"""Return the effective number of support points of each draw, (..., M) -> (...).

    .. math:: \left(\textstyle\sum_j |w_j|\right)^2 / \textstyle\sum_j w_j^2

    For weights on the simplex this is 1/sum w^2: M for M equal weights, 1 for all weight on one
    point. It is Kish's effective sample size (1965) of the absolute values, so it holds for signed
    weights too.
    """
    support = np.empty(weights.shape[:-1])
    flat, draws = support.reshape(-1), weights.reshape(-1, weights.shape[-1])
    for start in range(0, len(flat), DRAWS_IN_CACHE):
        w = draws[start : start + DRAWS_IN_CACHE]
        flat[start : start + DRAWS_IN_CACHE] = np.abs(w).sum(axis=1) ** 2 / np.vecdot(w, w)
    return support


def spread(n: int) -> np.ndarray:
    """Return the indices of the monitored rows: at most 20 of n rows, evenly spaced."""
    return np.linspace(0, n - 1, min(POINTS, n)).astype(int)


def mixing(values: np.ndarray) -> tuple[float, float]:
    """Return the largest R-hat and the smallest bulk effective sample size of several values.

    As in ArviZ, both use the normal scores of ranks and split chains (Vehtari et al. 2021).

    Parameters
    ----------
    values : ndarray of shape (chains, draws, q)

    Returns
    -------
    tuple of float
        Both are NaN if a value never changes; R-hat is NaN for one chain too.
    """
    from arviz_stats.base import array_stats

    half = values.shape[1] // 2
    split = np.concatenate([values[:, :half], values[:, -half:]])
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = _normal_scores(split)
        ess = array_stats.ess(scores, chain_axis=0, draw_axis=1, method="identity")
        if len(values) == 1:
            return np.nan, float(ess.min())
        folded = _normal_scores(np.abs(split - np.median(split, axis=(0, 1))))
        bulk, tail = (
            array_stats.rhat(z, chain_axis=0, draw_axis=1, method="identity")
            for z in (scores, folded)
        )
    return float(np.maximum(bulk, tail).max()), float(ess.min())


def reliable(r_hat: float, ess: float, chains: int) -> bool:
    """Return whether chains agree and have enough effective draws; R-hat is none of one chain."""
    return (r_hat <= MAX_R_HAT or chains == 1) and ess >= MIN_ESS_PER_CHAIN * chains


def _normal_scores(values: np.ndarray) -> np.ndarray:
    """Return normal scores of the ranks, for all q values in one call, unlike ArviZ."""
    ranks = rankdata(values.reshape(-1, values.shape[-1]), axis=0)
    return ndtri((ranks - 0.375) / (len(ranks) + 0.25)).reshape(values.shape)


def prior_draws(model: pm.Model, seed: int | None = None, draws: int = PRIOR_DRAWS) -> xr.Dataset:
    """Return draws of the weights ``w`` from their prior, dims (chain, draw, point).

    The dataset is empty for an improper prior, which has no draws. The draws ignore potentials
    that a prior adds, with a warning.
    """
    from .prior_draws import draw  # late: it imports PyMC

    added = [v.name for v in prior_potentials(model)]
    if added:
        warn(
            f"draws of the prior ignore the potential(s) {', '.join(added)} that the prior adds, "
            "so prior_health and the prior's effective support describe the prior without them",
            DiagnosticWarning,
        )
    try:
        w = draw(model, draws, seed)
    except NotImplementedError:
        w = None
    return prior_dataset(None if w is None else w[None])


def prior_dataset(w: np.ndarray | None) -> xr.Dataset:
    """Return draws of the prior, shape (1, draws, M), as a dataset; an empty one without draws."""
    if w is None:
        return xr.Dataset()
    dims = ("chain", "draw", "point")
    coords = {dim: np.arange(n) for dim, n in zip(dims, w.shape, strict=True)}
    return xr.Dataset({"w": (dims, w)}, coords)


def diagnose(
    draws: Draws, monitored: np.ndarray, prior: xr.Dataset | None = None
) -> dict[str, float]:
    """Return the diagnostics of a fit, by name.

    - ``r_hat``: the largest R-hat of s_z over (up to 20) training rows;
    - ``ess``: the smallest bulk effective sample size of s_z over the same rows;
    - ``divergences``: number of divergent transitions;
    - ``effective_support``: posterior median of :func:`effective_support`;
    - ``prior_effective_support``: its prior median, if the prior is proper;
    - ``largest_weight``: posterior median of the largest absolute weight;
    - ``nystroem_residual``, for landmarks only, added by the dictionary: the share of the majority
      rows' images that the points do not span.

    R-hat and effective sample size are NaN for a single estimate, and if a value never changes.

    Parameters
    ----------
    draws : Draws
    monitored : ndarray of shape (chains * draws, q)
        Similarities of q training rows.
    prior : Dataset, optional
        Draws of the prior, with ``w`` unless the prior is improper.
    """
    report, w = draws.report, draws.w
    values: dict[str, float] = {"r_hat": np.nan, "ess": np.nan, "divergences": 0}
    if report.r_hat is not None and report.ess is not None:  # from the sampler
        values["r_hat"], values["ess"] = report.r_hat, report.ess
    elif draws.shape[1] >= MIN_DRAWS:
        values["r_hat"], values["ess"] = mixing(monitored.reshape(*draws.shape, -1))
    if report.divergences is not None:  # from the sampler
        values["divergences"] = report.divergences
    elif "diverging" in draws.statistics:
        values["divergences"] = int(draws.statistics["diverging"].sum())
    values["effective_support"] = float(np.median(effective_support(w)))
    if prior is not None and "w" in prior:
        support = effective_support(prior["w"].values)
        values["prior_effective_support"] = float(np.median(support))
    largest = np.maximum(w.max(axis=-1), -w.min(axis=-1))
    values["largest_weight"] = float(np.median(largest))
    return values


def warn_of_draws(value: Mapping[str, float], chains: int, draws: int, n1: int = 0) -> None:
    """Warn if the draws are unreliable; each warning says what to do."""
    several_modes = value.get("modes", 1) > 1
    if several_modes and chains == 1:
        warn(
            f"the posterior has several modes ({value['modes']:.0f} found), and one chain cannot "
            "show whether it visits them in the right proportion; use chains=4",
            DiagnosticWarning,
        )
    # "not <=" instead of ">", so that NaN counts as out of bounds
    if draws < MIN_DRAWS:
        warn(
            f"{draws} draw(s) per chain are too few to diagnose or to trust; use draws=500 or more",
            DiagnosticWarning,
        )
    elif math.isnan(value["ess"]) or (chains > 1 and math.isnan(value["r_hat"])):
        warn(
            "R-hat of d_z is undefined, because a distance is the same in all draws of a chain: "
            "the weights do not change; check the prior, and look for equal rows",
            DiagnosticWarning,
        )
    else:
        if chains > 1 and not value["r_hat"] <= MAX_R_HAT:
            cause = ", because the posterior has several modes" if several_modes else ""
            bound = ", or bound the minority weights: priors.Beta(total=1)" if n1 else ""
            warn(
                f"R-hat of d_z is {value['r_hat']:.3f} (> {MAX_R_HAT}): the chains disagree"
                f"{cause}; use more draws, and more tune for NUTS{bound}",
                DiagnosticWarning,
            )
        if not value["ess"] >= MIN_ESS_PER_CHAIN * chains:
            warn(
                f"the smallest effective sample size of d_z is {value['ess']:.0f} "
                f"(< {MIN_ESS_PER_CHAIN} for each of {chains} chains); use more draws",
                DiagnosticWarning,
            )
    if value["divergences"]:
        warn(
            f"{value['divergences']:.0f} divergent transitions: parts of the posterior may be "
            "missed; use more tune, or a prior with lighter tails",
            DiagnosticWarning,
        )


def warn_of_collapse(value: Mapping[str, float], n_points: int) -> None:
    """Warn if the weights rest on few points; each warning gives the cause and a remedy."""
    few = min(MIN_SUPPORT, n_points / 4)  # with few points, few support points are no collapse
    prior_collapsed = value.get("prior_effective_support", n_points) < few
    if prior_collapsed:
        warn(
            f"the prior weights have collapsed: {value['prior_effective_support']:.1f} effective "
            f"support points of {n_points}, before any likelihood, because the prior means or sd "
            "are so large that a few points outweigh all others; use priors.StandardizedRowSum(), "
            "or a smaller exponent in priors.RowSum",
            DiagnosticWarning,
        )
    if value["effective_support"] < few:
        cause = (
            "like the prior weights"
            if prior_collapsed
            else "because the likelihood, n0 rows times likelihood_scale, outweighs the prior"
        )
        remedy = (
            "use priors.StandardizedRowSum(), or a smaller exponent in priors.RowSum"
            if prior_collapsed
            else "use a smaller likelihood_scale, or a smaller sd of the prior"
        )
        warn(
            f"the posterior weights have collapsed: {value['effective_support']:.1f} effective "
            f"support points of {n_points}, {cause}; {remedy}",
            DiagnosticWarning,
        )


def warn_of_weights(log_weight: np.ndarray) -> None:
    r"""Warn if left-out distances rest on few draws; log importance weights (draws, rows).

    The effective number of draws of a row is :math:`(\sum \omega)^2 / \sum \omega^2`.
    """
    weight = np.exp(log_weight - log_weight.max(axis=0))
    effective = effective_support(weight.T)
    few = effective < min(MIN_LEFT_OUT, len(weight) / 4)  # few draws have their own warning
    if few.any():
        warn(
            f"cutoff: leave-one-out of {few.sum()} of {len(few)} rows depends on few draws (as few "
            f"as {effective.min():.1f} effective draws of {len(weight)}): these rows change the "
            "posterior strongly; use more draws, or Cutoff(cv=5), which refits",
            DiagnosticWarning,
        )
