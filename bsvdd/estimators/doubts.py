"""Why a fit is unreliable, in sentences, each with what to do; ``fit`` warns of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..inference.centre import Centre
from ..inference.cutoffs import Best, Printed
from ..inference.worth import FEWEST
from .fitted import Fitted

MAX_R_HAT = 1.01
MIN_ESS_PER_CHAIN = 100
MIN_SUPPORT = 5
SPREAD = (0.5, 2.0)  # posterior sd over the sd between samples: outside, a warning
ROUNDING = 1e-9  # of a number of rows
IS_PRIOR = (0.9, 1.1)  # ratios to the prior within which a posterior is its prior


def doubts(fitted: Fitted) -> Iterator[str]:
    """Yield why a fit is unreliable, and what to do.

    Without minority rows a root chose lambda, so the spread is that of the samples, or
    the user gave it as a number. With them a posterior that is its prior is no doubt: a
    large lambda would switch the labels off.
    """
    scale = fitted.learned.scale
    if scale is not None and scale.reason:
        yield (
            f"likelihood_scale='calibrated' found {scale.scale:.3g}, and it is no "
            f"calibration: {scale.reason}; intervals of the similarity have no "
            "frequency meaning: use a kernel with a larger bandwidth, or give "
            "likelihood_scale as a number"
        )
    if fitted.has_draws:
        yield from _of_draws(fitted)
        yield from _of_collapse(fitted)
        if not fitted.gram.n1 and fitted.prior is not None:
            yield from _of_prior(fitted)
        if fitted.gram.n1 or fitted.learned.sampler == "own":
            yield from _of_spread(fitted)
    yield from _of_rate(fitted)
    yield from _of_cutoff(fitted)


def _of_draws(fitted: Fitted) -> Iterator[str]:
    chains, draws, _ = fitted.learned.by_chain.shape
    r_hat = fitted.chains.r_hat
    ess = fitted.chains.ess
    nuts = fitted.learned.sampler == "nuts"
    other = "" if nuts else ", or sampler='nuts', which may take minutes"
    if draws < FEWEST:
        yield (
            f"{draws} draw(s) per chain are too few to diagnose or to trust; use "
            "draws=500 or more"
        )
    elif math.isnan(ess) or (chains > 1 and math.isnan(r_hat)):
        yield (
            "R-hat of s_z is undefined, because a similarity is the same in all draws "
            "of a chain: the weights do not change; check the prior, and look for "
            "equal rows"
        )
    else:
        if round(r_hat, 3) > MAX_R_HAT:  # as it is printed
            bound = ", or bound the minority weights: priors.Beta(total=1)"
            yield (
                f"R-hat of s_z is {r_hat:.3f} (> {MAX_R_HAT}): the chains disagree, as "
                "they do if the posterior has several modes; use more draws and more "
                f"tune{other}{bound * bool(fitted.gram.n1)}"
            )
        if ess < MIN_ESS_PER_CHAIN * chains:
            yield (
                f"the smallest effective sample size of s_z is {ess:.0f}, less than "
                f"{MIN_ESS_PER_CHAIN} for each of {chains} chains; use more "
                f"draws{other}"
            )
    if fitted.divergences:
        yield (
            f"{fitted.divergences} divergent transitions: parts of the posterior may "
            "be missed; use more tune, or a prior with lighter tails"
        )


def support(fitted: Fitted, centre: Centre | None) -> float:
    """Return the median effective support of a centre; NaN without one."""
    return np.nan if centre is None else float(np.median(fitted.support(centre)))


def _of_collapse(fitted: Fitted) -> Iterator[str]:
    """Yield that the weights rest on few points, with the cause and a remedy."""
    n = fitted.gram.sizes.sum()
    few = min(MIN_SUPPORT, n / 4)  # with few rows, few support rows are no collapse
    found = support(fitted, fitted.learned.centre)
    before = support(fitted, fitted.prior)
    if not found < few:
        return
    cause = (
        "because the likelihood, n0 rows times likelihood_scale, outweighs the prior"
    )
    remedy = "use a smaller likelihood_scale, or a smaller sd of the prior"
    if before < few:
        cause = (
            f"like the prior weights, {before:.1f} before any likelihood, because the "
            "prior means or sd are so large that a few points outweigh all others"
        )
        remedy = (
            "use priors.StandardizedRowSum(), or a smaller exponent in priors.RowSum"
        )
    yield (
        f"the posterior weights have collapsed: {found:.1f} effective support rows of "
        f"{n:.0f}, {cause}; {remedy}"
    )


def _of_prior(fitted: Fitted) -> Iterator[str]:
    """Yield that a posterior is its prior.

    One of the ratios alone says little: the variance of s_z may be that of the prior,
    or larger, where the weights are others.
    """
    assert fitted.prior is not None
    ratio = fitted.near.variance_ratio(fitted.learned.centre, fitted.prior)
    of_support = support(fitted, fitted.learned.centre) / support(fitted, fitted.prior)
    low, high = IS_PRIOR
    if low <= ratio <= high and low <= of_support <= high:
        calibrated = fitted.estimator.likelihood_scale == "calibrated"
        remedy = (
            "a prior with a larger sd"
            if calibrated
            else "likelihood_scale='calibrated'"
        )
        yield (
            "the posterior is its prior: near the cutoff the similarity of a row to "
            f"the centre has {ratio:.2f} of its prior variance, and the weights rest "
            f"on {of_support:.2f} times as many rows, so the training rows said next "
            "to nothing of the weights, and intervals and P(normal) are those of the "
            f"prior; use {remedy}, or a kernel with a larger bandwidth"
        )


def _of_spread(fitted: Fitted) -> Iterator[str]:
    """Yield that the posterior sd of s_z near the cutoff is far from its sd between samples."""
    spread, _ = fitted.near.spread_and_pull(fitted.learned.centre)
    if spread < SPREAD[0] or spread > SPREAD[1]:
        width, other = ("wide", "larger") if spread > 1.0 else ("narrow", "smaller")
        yield (
            "near the cutoff the posterior standard deviation of the similarity of a "
            f"row to the centre is {spread:.2g} times that between samples of this "
            f"size, so intervals and P(normal) are too {width}; use a {other} "
            "likelihood_scale, or another prior"
        )


def _of_rate(fitted: Fitted) -> Iterator[str]:
    """Yield that so few rows or batches cannot hold the rate of false alarms."""
    units = fitted.data.units
    asked = getattr(fitted.rule, "rate", 1.0)
    n = int(units.in_effect + 0.5)
    what = "batches" if (units.batch >= 0).any() else "rows"
    needed = math.ceil(1.0 / asked - 1.0 - ROUNDING)
    if n < needed:
        weighted = " in effect, by their weights," if n < len(units.taught) else ""
        yield (
            f"{n} {what}{weighted} are few for a false-alarm rate of {asked:g}: the "
            "cutoff lies at the farthest of them, left out, and a new normal row lies "
            f"beyond it with a probability of about {1.0 / (n + 1.0):.2g} or less; "
            f"{asked:g} needs {needed} {what}"
        )


def _of_cutoff(fitted: Fitted) -> Iterator[str]:
    """Yield that no cutoff within the limit of false alarms flags a left-out minority row."""
    rule = fitted.rule
    minority = fitted.data.units.minority
    rule = rule.rule if isinstance(rule, Printed) else rule  # type: ignore[assignment]
    if isinstance(rule, Best) and not (fitted.left_out_scores[minority] < 0.0).any():
        yield (
            "no minority row is among the oddest majority rows that max_fpr="
            f"{rule.max_fpr:g} lets the cutoff flag, each left out, so the cutoff has "
            "a false-alarm rate of .1 instead: this model hardly tells the classes "
            "apart; use one that learns from minority rows, such as BSVDDM, or another "
            "kernel"
        )
