"""Whether a posterior is worth something: a word, a grade and a sentence for each part.

The bounds are those of the warnings of ``fit`` and of its print.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..inference.diagnostics import similarity
from .checks import require_one_fit
from .facts import PosteriorFacts
from .fit_warnings import FEWEST_EFFECTIVE, FEWEST_SUPPORT, LARGEST_R_HAT, SPREAD
from .sentences import RIGHT_SPREAD

if TYPE_CHECKING:
    from .bayesian import Bayesian

FAIR_R_HAT = 1.05
FEW_ROWS = 0.1  # share of the rows that carry weight
LARGE_RATIO = 0.9  # of a posterior variance to its prior variance
LARGE_PULL = 1.0  # of the prior, in posterior sd
ORDER = ("bad", "fair", "good", "unknown")
TOTAL = {
    "bad": "do not rely on it",
    "fair": "use it with care",
    "good": "sound",
    "unknown": "unknown",
}


@dataclass(frozen=True)
class PosteriorCheck:
    """One part of what a posterior is worth.

    Attributes
    ----------
    name, word : str
        What is checked, and what is found.
    grade : {"good", "fair", "bad", "unknown"}
    sentence : str
        The number, and what to do if it is not good.
    """

    name: str
    word: str
    grade: str
    sentence: str


def posterior_checks(found: PosteriorFacts, rows: int) -> list[PosteriorCheck]:
    """Return what a posterior is worth, part by part.

    Parameters
    ----------
    found : PosteriorFacts
        ``facts(est).posterior``.
    rows : int
        The number of training rows.

    Returns
    -------
    list of PosteriorCheck
    """
    return [
        _chains(found),
        _effective(found),
        *_divergences(found),
        _intervals(found),
        _support(found, rows),
        _data(found),
    ]


def prior_and_posterior(est: Bayesian) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return effective support and similarity of "prior" and "posterior", (S,) each.

    The similarity is the mean over rows near the cutoff. An improper prior is absent.
    """
    require_one_fit(est, "posterior")
    fit = est.fit_
    each = {"prior": fit.prior, "posterior": fit.draws}
    return {
        name: (fit.support(draws), similarity(draws).mean(axis=1))
        for name, draws in each.items()
        if draws is not None
    }


def have_same_draws(est: Bayesian, other: Bayesian) -> bool:
    """Return whether two fits differ in their cutoff at most."""
    return est.fit_.draws is other.fit_.draws


def posterior_facts(est: Bayesian) -> PosteriorFacts:
    """Return the facts that do not change with the cutoff."""
    return PosteriorFacts.of(est.fit_)


def false_alarm_rate(est: Bayesian) -> float | None:
    """Return the rate of false alarms that the cutoff asks for; None by a metric."""
    return est.fit_.cutoff.rate


def worst(checks: list[PosteriorCheck]) -> str:
    """Return the worst grade of some checks."""
    return min((each.grade for each in checks), key=ORDER.index)


def monte_carlo_error(found: PosteriorFacts) -> float:
    """Return the largest Monte Carlo error of P(normal); NaN without a known one."""
    return float(0.5 / np.sqrt(found.ess)) if found.ess > 0.0 else np.nan


def _chains(found: PosteriorFacts) -> PosteriorCheck:
    r_hat = found.r_hat
    if not np.isfinite(r_hat):
        text = "R-hat is undefined: one chain, or draws that never change."
        return PosteriorCheck("chains", "unknown", "unknown", text)
    text = f"R-hat {r_hat:.3f}; at most {LARGEST_R_HAT} is good."
    if round(r_hat, 3) <= LARGEST_R_HAT:
        return PosteriorCheck("chains", "agree", "good", text)
    word, grade = (
        ("disagree", "bad") if r_hat > FAIR_R_HAT else ("nearly agree", "fair")
    )
    return PosteriorCheck("chains", word, grade, f"{text} Take more draws and tune.")


def _effective(found: PosteriorFacts) -> PosteriorCheck:
    ess = found.ess
    if not np.isfinite(ess):
        text = "The effective number of draws is undefined."
        return PosteriorCheck("draws", "unknown", "unknown", text)
    needed = FEWEST_EFFECTIVE * found.chains
    text = f"{ess:.0f} effective draws; P(normal) ± {monte_carlo_error(found):.2f}."
    if ess >= needed:
        return PosteriorCheck("draws", "enough", "good", text)
    word, grade = ("few", "fair") if ess >= needed / 2 else ("too few", "bad")
    text = f"{text} {needed} are needed: take more draws."
    return PosteriorCheck("draws", word, grade, text)


def _divergences(found: PosteriorFacts) -> list[PosteriorCheck]:
    if not found.divergences:
        return []
    text = f"{found.divergences} divergent transitions: use more tune."
    return [PosteriorCheck("divergences", "some", "bad", text)]


def _intervals(found: PosteriorFacts) -> PosteriorCheck:
    spread = found.spread
    good = " to ".join(f"{end:g}" for end in RIGHT_SPREAD)
    text = f"{spread:.2f} of the spread between samples; {good} is good."
    if not np.isfinite(spread):
        return PosteriorCheck("intervals", "unknown", "unknown", "Width unknown.")
    if RIGHT_SPREAD[0] <= spread <= RIGHT_SPREAD[1]:
        return PosteriorCheck("intervals", "right width", "good", text)
    side = "narrow" if spread < 1.0 else "wide"
    if SPREAD[0] <= spread <= SPREAD[1]:
        return PosteriorCheck("intervals", f"rather {side}", "fair", text)
    text = f"{text} Take another likelihood_scale or prior."
    return PosteriorCheck("intervals", f"too {side}", "bad", text)


def _support(found: PosteriorFacts, rows: int) -> PosteriorCheck:
    support = found.quantities["effective_support"]["posterior"]
    text = f"The weights rest on {support:.0f} effective rows of {rows}."
    if support < min(FEWEST_SUPPORT, rows / 4):
        text = f"{text} Take another prior."
        return PosteriorCheck("weights", "collapsed", "bad", text)
    if support < FEW_ROWS * rows:
        return PosteriorCheck("weights", "on few rows", "fair", text)
    return PosteriorCheck("weights", "spread out", "good", text)


def _data(found: PosteriorFacts) -> PosteriorCheck:
    ratio = found.variance_ratio
    if not np.isfinite(ratio):
        text = "No draws of the prior: it is improper, or not known."
        return PosteriorCheck("data", "unknown", "unknown", text)
    text = f"The rows remove {max(1.0 - ratio, 0.0):.0%} of the prior's variance"
    if np.isfinite(found.pull):
        text += f"; the prior moves similarities by {found.pull:+.2f} sd"
    if ratio > LARGE_RATIO:
        return PosteriorCheck("data", "hardly count", "fair", f"{text}.")
    if abs(found.pull) > LARGE_PULL:
        return PosteriorCheck("data", "pulled by the prior", "fair", f"{text}.")
    return PosteriorCheck("data", "outweigh the prior", "good", f"{text}.")
