"""Warnings of ``fit``: why a fit is unreliable, and what to do."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ..base.messages import advised
from ..inference.cutoffs import Best, Printed
from ..inference.diagnostics import FEWEST_DRAWS, variance_ratio
from ..inference.fit import Fit
from ..models.priors import StandardizedRowSum

LARGEST_R_HAT = 1.01
FEWEST_EFFECTIVE = 100
FEWEST_SUPPORT = 5
SPREAD = (0.5, 2.0)  # posterior sd over the sd between samples, without a warning
ROUNDED_COUNT = 1e-9  # of a number of rows
WIDER = "; a kernel with a larger bandwidth, or likelihood_scale=NUMBER, helps"
IS_PRIOR = (0.9, 1.1)  # ratios to the prior within which a posterior is its prior


def fit_warnings(fit: Fit) -> Iterator[str]:
    """Yield why a fit is unreliable, and what to do.

    Without minority rows lambda is calibrated, so the spread is right, or the user gave
    a number. With minority rows the posterior may be the prior: a large lambda would
    switch the labels off.
    """
    draws = fit.draws
    if draws.uncalibrated:
        yield (
            f"how sure a similarity is could not be learned: {draws.uncalibrated}; "
            "P(normal) and intervals are rough, decisions and p-values hold"
            f"{advised('wider', WIDER)}"
        )
    if fit.has_draws:
        yield from _of_draws(fit)
        yield from _of_collapse(fit)
        if not fit.dictionary.n1 and fit.prior is not None:
            yield from _of_prior(fit)
        if fit.dictionary.n1 or not draws.knows_prior:
            yield from _of_spread(fit)
    yield from _of_rate(fit)
    yield from _of_cutoff(fit)


def _of_draws(fit: Fit) -> Iterator[str]:
    chains, draws, _ = fit.draws.by_chain.shape
    r_hat, ess = fit.convergence
    other = ", or sampler='nuts', which may take minutes"
    other *= fit.draws.sampler in ("hmc", "metropolis")
    if draws < FEWEST_DRAWS:
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
        if round(r_hat, 3) > LARGEST_R_HAT:  # as it is printed
            yield (
                f"R-hat of s_z is {r_hat:.3f} (> {LARGEST_R_HAT}): the chains "
                "disagree, as they do if the posterior has several modes; use more "
                f"draws and more tune{other}{_bound(fit)}"
            )
        if ess < FEWEST_EFFECTIVE * chains:
            yield (
                f"the smallest effective sample size of s_z is {ess:.0f}, and "
                f"{FEWEST_EFFECTIVE * chains} are needed, {FEWEST_EFFECTIVE} for each "
                f"of {chains} chains; use more draws{other}"
            )
    if fit.divergences:
        yield (
            f"{fit.divergences} divergent transitions: parts of the posterior may "
            "be missed; use more tune, or a prior with lighter tails"
        )


def _bound(fit: Fit) -> str:
    """Return the advice to bound the minority weights, where they may sum to more."""
    prior = getattr(fit.estimator, "minority_prior", None)
    bound = getattr(prior, "total", None)
    total = math.inf if bound is None else bound
    text = ", or bound the minority weights: minority_prior=priors.Beta(total=1)"
    return text * (prior is not None and total > 1.0)


def _of_collapse(fit: Fit) -> Iterator[str]:
    """Yield that the weights rest on few rows, with the cause and a remedy."""
    n = fit.dictionary.sizes.sum()
    few = min(FEWEST_SUPPORT, n / 4)  # with few rows, few support rows are no collapse
    found = float(np.median(fit.support(fit.draws)))
    before = float(np.median(fit.support(fit.prior)))
    if not found < few:
        return
    cause = (
        "because the likelihood, n0 rows times likelihood_scale, outweighs the prior"
    )
    remedy = "use a smaller likelihood_scale, or a smaller sd of the prior"
    if before < few:
        cause = (
            f"like the prior weights, {before:.1f} before any likelihood, because the "
            "prior means or sd are so large that a few atoms outweigh all others"
        )
        remedy = (
            "use priors.StandardizedRowSum(), or a smaller exponent in priors.RowSum"
        )
        if isinstance(fit.estimator.prior, StandardizedRowSum):
            remedy = "use a smaller sd of the prior"
    yield (
        f"the posterior weights have collapsed: {found:.1f} effective support rows of "
        f"{n:.0f}, {cause}; {remedy}"
    )


def _of_prior(fit: Fit) -> Iterator[str]:
    """Yield that a posterior is its prior.

    Two ratios must be near 1: with other weights than the prior's, the variance of s_z
    alone may be as large.
    """
    assert fit.prior is not None
    ratio = variance_ratio(fit.draws, fit.prior)
    after, before = (np.median(fit.support(d)) for d in (fit.draws, fit.prior))
    of_support = float(after) / float(before)
    low, high = IS_PRIOR
    if low <= ratio <= high and low <= of_support <= high:
        remedy = "likelihood_scale='calibrated'"
        if fit.estimator.likelihood_scale == "calibrated":
            remedy = "a prior with a larger sd"
        yield (
            "the posterior is its prior: near the cutoff the similarity of a row to "
            f"the centre has {ratio:.2f} of its prior variance, and the weights rest "
            f"on {of_support:.2f} times as many rows, so the training rows said next "
            "to nothing of the weights, and intervals and P(normal) are those of the "
            f"prior; use {remedy}, or a kernel with a larger bandwidth"
        )


def _of_spread(fit: Fit) -> Iterator[str]:
    """Yield that the posterior sd of s_z is far from its sd between samples."""
    spread, _ = fit.spread_and_pull
    if spread < SPREAD[0] or spread > SPREAD[1]:
        width, other = ("wide", "larger") if spread > 1.0 else ("narrow", "smaller")
        yield (
            "near the cutoff the posterior standard deviation of the similarity of a "
            f"row to the centre is {spread:.2g} times that between samples of this "
            f"size, so intervals and P(normal) are too {width}; use a {other} "
            f"likelihood_scale, or another prior{_bound(fit) * (spread < 1.0)}"
        )


def _of_rate(fit: Fit) -> Iterator[str]:
    """Yield that so few rows or groups cannot hold the rate of false alarms."""
    rows = fit.rows
    asked = 1.0 if fit.cutoff.rate is None else fit.cutoff.rate
    n = int(rows.effective_groups + 0.5)
    what = "groups" if (rows.shared_group >= 0).any() else "rows"
    needed = math.ceil(1.0 / asked - 1.0 - ROUNDED_COUNT)
    if n < needed:
        weighted = " in effect, by their weights,"
        weighted *= n < len(rows.majority_groups)
        yield (
            f"{n} {what}{weighted} are few for a false-alarm rate of {asked:g}: the "
            "cutoff lies at the farthest of them, left out, and a new normal row lies "
            f"beyond it with a probability of about {1.0 / (n + 1.0):.2g} or less; "
            f"{asked:g} needs {needed} {what}"
        )


def _of_cutoff(fit: Fit) -> Iterator[str]:
    """Yield that ``max_fpr`` lets no cutoff flag a left-out minority row."""
    chosen = fit.cutoff
    cutoff = chosen.cutoff if isinstance(chosen, Printed) else chosen
    if not isinstance(cutoff, Best):
        return
    if not (fit.left_out_scores[fit.rows.minority] < 0.0).any():
        learner = "a model that learns from minority rows, such as BSVDDM, or "
        learner *= not fit.dictionary.n1
        yield (
            "no minority row is among the oddest majority rows that max_fpr="
            f"{cutoff.max_fpr:g} lets the cutoff flag, each left out, so the cutoff "
            "has a false-alarm rate of .1 instead: this model hardly tells the classes "
            f"apart; use {learner}another kernel{_bound(fit)}"
        )
