"""Diagnostics: whether the draws are reliable, and how many points the weights rest on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from .draws import Draws

DRAWS_IN_CACHE = 128  # draws in a block that stays in the cache
MAX_R_HAT = 1.01
HOPEFUL = 1.1  # R-hat: beyond it, a few times as many draws do not help
MIN_ESS_PER_CHAIN = 100
MIN_DRAWS = 8  # in each chain, so 4 in each half
MIN_SUPPORT = 5
SPREAD = (0.5, 2.0)  # posterior sd over the sd between samples: outside, a warning
EQUAL = np.finfo(float).resolution  # scores of a smaller range never change
IS_PRIOR = (0.9, 1.1)  # ratios to the prior within which a posterior is its prior


def effective_support(weights: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    r"""Return the effective number of rows that draws of weights rest on, (..., M) -> (...).

    .. math:: \left(\textstyle\sum_j |w_j|\right)^2 / \textstyle\sum_j w_j^2 / n_j

    with :math:`n_j` the rows of point j, ``sizes``, among which its weight is divided. For weights
    on the simplex of single rows this is 1/sum w^2: M for M equal weights, 1 for all weight on one
    row. It is Kish's effective sample size (1965) of the absolute values, so it holds for signed
    weights too.
    """
    support = np.empty(weights.shape[:-1])
    flat, draws = support.reshape(-1), weights.reshape(-1, weights.shape[-1])
    for start in range(0, len(flat), DRAWS_IN_CACHE):
        w = draws[start : start + DRAWS_IN_CACHE]
        flat[start : start + DRAWS_IN_CACHE] = np.abs(w).sum(axis=1) ** 2 / np.vecdot(w, w / sizes)
    return support


@dataclass(frozen=True)
class Verdict:
    """The judgement of draws.

    Attributes
    ----------
    r_hat, ess : float
        The largest R-hat and the smallest bulk effective sample size of several values, by the
        normal scores of their ranks (Vehtari et al. 2021). Both are NaN if a value never changes;
        R-hat is NaN for one chain too.
    chains : int
        The chains that were asked for.
    divergences : int
    """

    r_hat: float
    ess: float
    chains: int
    divergences: int = 0

    @classmethod
    def of(cls, values: np.ndarray, divergences: int = 0) -> Self:
        """Return the verdict on values (chains, draws, q); as in ArviZ, each chain is split."""
        half = values.shape[1] // 2
        scores, folded = _scores(np.concatenate([values[:, :half], values[:, -half:]]))
        chains = len(values)
        r_hat = np.nan if chains == 1 else max(_r_hat(scores), _r_hat(folded))
        return cls(r_hat, _ess(scores), chains, divergences)

    @classmethod
    def of_parallel(cls, values: np.ndarray, chains: int, divergences: int = 0) -> Self:
        """Return the verdict on many short chains, which make up ``chains``.

        R-hat compares the chains with each other, and their first halves with their second halves:
        halves of single chains are too short to be compared.
        """
        scores, folded = _scores(values)
        q, half = values.shape[2], values.shape[1] // 2
        r_hat = max(
            _r_hat(z)
            for each in (scores, folded)
            for z in (
                each,
                np.stack([part.reshape(-1, q) for part in (each[:, :half], each[:, -half:])]),
            )
        )
        return cls(r_hat, _ess(scores), chains, divergences)

    @property
    def safe(self) -> bool:
        """Whether the chains agree, have enough effective draws, and none diverged."""
        agree = self.r_hat <= MAX_R_HAT or (self.chains == 1 and math.isnan(self.r_hat))
        return agree and self.ess >= MIN_ESS_PER_CHAIN * self.chains and not self.divergences

    @property
    def acceptable(self) -> bool:
        """Whether no other run is needed: safe, or of values that never change."""
        return self.safe or math.isnan(self.r_hat)

    @property
    def may_improve(self) -> bool:
        """Whether more draws might make them safe."""
        hopeful = self.ess >= MIN_ESS_PER_CHAIN and self.r_hat <= HOPEFUL
        return hopeful and not (self.safe or self.divergences)

    def __str__(self) -> str:
        return (
            f"R-hat {self.r_hat:.3f}, effective draws {self.ess:.0f}, "
            f"divergences {self.divergences}"
        )


def _r_hat(scores: np.ndarray) -> float:
    """Return the largest R-hat of scores (chains, draws, q)."""
    n = scores.shape[1]
    within = scores.var(axis=1, ddof=1).mean(axis=0)
    between = n * scores.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((between / within + n - 1) / n).max())


def _ess(scores: np.ndarray) -> float:
    """Return the smallest effective sample size of scores (chains, draws, q), as in ArviZ.

    The autocorrelations are summed in pairs, up to the first pair that is not positive (Geyer
    1992), and no pair counts more than one before it.
    """
    chains, n, q = scores.shape
    size, mean = chains * n, scores.mean(axis=1, keepdims=True)
    frequencies = rfft(scores - mean, next_fast_len(2 * n), axis=1)
    power = frequencies * frequencies.conj()
    covariance = irfft(power, next_fast_len(2 * n), axis=1)[:, :n].mean(axis=0) / n
    total = covariance[0] + (mean.var(axis=0, ddof=1)[0] if chains > 1 else 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1.0 - (covariance[0] * n / (n - 1.0) - covariance) / total
        rho[0] = total / total  # 1, or NaN
    pairs = rho[: (n - 1) // 2 * 2].reshape(-1, 2, q).sum(axis=1)
    ends = pairs <= 0.0
    ends[-1] = True
    end = ends.argmax(axis=0)  # of it only the first of the pair counts
    before = np.arange(len(pairs))[:, None] < end
    last, pair = rho[2 * end, np.arange(q)], pairs[end, np.arange(q)]
    tau = 2.0 * np.where(before, np.minimum.accumulate(pairs), 0.0).sum(axis=0) - 1.0
    tau += np.where(pair < 0.0, np.maximum(last, 0.0), last)
    found = size / np.maximum(tau, 1.0 / math.log10(size))
    return float(np.where(np.ptp(scores, axis=(0, 1)) < EQUAL, size, found).min())


def _scores(values: np.ndarray) -> Iterator[np.ndarray]:
    """Yield normal scores of the ranks of values and of their distances from the median.

    They are for all q values in one call, unlike ArviZ's.
    """
    from scipy.stats import rankdata

    for each in (values, np.abs(values - np.median(values, axis=(0, 1)))):
        ranks = rankdata(each.reshape(-1, each.shape[-1]), axis=0)
        yield ndtri((ranks - 0.375) / (len(ranks) + 0.25)).reshape(each.shape)


def diagnose(draws: Draws, monitored: np.ndarray, sizes: np.ndarray) -> dict[str, float]:
    """Return the diagnostics of a fit, by name.

    - ``r_hat``: the largest R-hat of s_z over (up to 20) training rows;
    - ``ess``: the smallest bulk effective sample size of s_z over the same rows;
    - ``divergences``: number of divergent transitions;
    - ``effective_support``: posterior median of :func:`effective_support`;
    - ``largest_weight``: posterior median of the largest absolute weight of a row;
    - ``nystroem_residual``, for given points only: the share of the majority rows' images that the
      points do not span.

    R-hat and effective sample size are NaN for a single estimate, and if a value never changes.

    Parameters
    ----------
    draws : Draws
    monitored : ndarray of shape (chains * draws, q)
        Similarities of q training rows.
    sizes : ndarray of shape (M,)
        The rows of each point.
    """
    report, w = draws.report, draws.w
    values: dict[str, float] = {"r_hat": np.nan, "ess": np.nan, "divergences": 0}
    if report.ess is None and draws.shape[1] >= MIN_DRAWS:
        verdict = Verdict.of(monitored.reshape(*draws.shape, -1))
        values["r_hat"], values["ess"] = verdict.r_hat, verdict.ess
    for name in ("r_hat", "ess"):  # from the sampler
        if (value := getattr(report, name)) is not None:
            values[name] = value
    if report.divergences is not None:  # from the sampler
        values["divergences"] = report.divergences
    elif "diverging" in draws.statistics:
        values["divergences"] = int(draws.statistics["diverging"].sum())
    values["effective_support"] = float(np.median(effective_support(w, sizes)))
    of_rows = w / sizes
    largest = np.maximum(of_rows.max(axis=-1), -of_rows.min(axis=-1))
    values["largest_weight"] = float(np.median(largest))
    return values


def doubts_of_draws(
    value: Mapping[str, float], chains: int, draws: int, n1: int = 0
) -> Iterator[str]:
    """Yield why draws are unreliable; each doubt says what to do."""
    # "not <=" instead of ">", so that NaN counts as out of bounds
    if draws < MIN_DRAWS:
        yield (
            f"{draws} draw(s) per chain are too few to diagnose or to trust; use draws=500 or more"
        )
    elif math.isnan(value["ess"]) or (chains > 1 and math.isnan(value["r_hat"])):
        yield (
            "R-hat of d_z is undefined, because a distance is the same in all draws of a chain: "
            "the weights do not change; check the prior, and look for equal rows"
        )
    else:
        if value["r_hat"] > MAX_R_HAT:
            bound = ", or bound the minority weights: priors.Beta(total=1)" if n1 else ""
            yield (
                f"R-hat of d_z is {value['r_hat']:.3f} (> {MAX_R_HAT}): the chains disagree, "
                "as they do if the posterior has several modes; use more draws and more tune, or "
                f"sampler='nuts', which may take minutes{bound}"
            )
        if not value["ess"] >= MIN_ESS_PER_CHAIN * chains:
            yield (
                f"the smallest effective sample size of d_z is {value['ess']:.0f} "
                f"(< {MIN_ESS_PER_CHAIN} for each of {chains} chains); use more draws, or "
                "sampler='nuts', which may take minutes"
            )
    if value["divergences"]:
        yield (
            f"{value['divergences']:.0f} divergent transitions: parts of the posterior may be "
            "missed; use more tune, or a prior with lighter tails"
        )


def doubts_of_collapse(
    value: Mapping[str, float], n_rows: int, prior_support: Callable[[], float]
) -> Iterator[str]:
    """Yield that the posterior weights rest on few points, with the cause and a remedy.

    ``prior_support`` returns the prior median of :func:`effective_support`, or NaN.
    """
    few = min(MIN_SUPPORT, n_rows / 4)  # with few rows, few support rows are no collapse
    if not value["effective_support"] < few:
        return
    before = prior_support()
    cause, remedy = (
        "because the likelihood, n0 rows times likelihood_scale, outweighs the prior",
        "use a smaller likelihood_scale, or a smaller sd of the prior",
    )
    if before < few:
        cause, remedy = (
            f"like the prior weights, {before:.1f} before any likelihood, because the prior means "
            "or sd are so large that a few points outweigh all others",
            "use priors.StandardizedRowSum(), or a smaller exponent in priors.RowSum",
        )
    yield (
        f"the posterior weights have collapsed: {value['effective_support']:.1f} effective "
        f"support rows of {n_rows}, {cause}; {remedy}"
    )


def doubts_of_prior(variance_ratio: float, support_ratio: float, calibrated: bool) -> Iterator[str]:
    """Yield that a posterior is its prior.

    Its ratios to the prior are those of the variances of s_z near the cutoff, and of the effective
    supports. One alone says little: the variance of s_z may be that of the prior, or larger, where
    the weights are others. ``calibrated`` tells whether lambda is calibrated, so that the prior is
    the cause.
    """
    low, high = IS_PRIOR
    if low <= variance_ratio <= high and low <= support_ratio <= high:
        remedy = "a prior with a larger sd" if calibrated else "likelihood_scale='calibrated'"
        yield (
            "the posterior is its prior: near the cutoff the similarity of a row to the centre has "
            f"{variance_ratio:.2f} of its prior variance, and the weights rest on "
            f"{support_ratio:.2f} times as many rows, so the training rows said next to nothing of "
            "the weights, and intervals and P(normal) are those of the prior; use "
            f"{remedy}, or a kernel with a larger bandwidth"
        )


def doubts_of_spread(spread: float) -> Iterator[str]:
    """Yield that the posterior sd of s_z near the cutoff is far from its sd between samples."""
    if spread < SPREAD[0] or spread > SPREAD[1]:
        width, other = ("wide", "larger") if spread > 1.0 else ("narrow", "smaller")
        yield (
            "near the cutoff the posterior standard deviation of the similarity of a row to the "
            f"centre is {spread:.2g} times that between samples of this size, so intervals and "
            f"P(normal) are too {width}; use a {other} likelihood_scale, or another prior"
        )
