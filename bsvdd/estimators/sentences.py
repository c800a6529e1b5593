"""A fit in sentences: its print, its report, and the command's answer read them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import numpy as np

from ..base.messages import advised
from .facts import Facts, PosteriorFacts

RIGHT_SPREAD = (0.8, 1.25)  # within it, intervals are about as wide as they should be
NEXT = (
    "est.decision() for these rows, est.decision(X) for others, bsvdd.explain(est, X) "
    "for reasons, bsvdd.report(est, 'model.html') for all"
)


def fit_text(found: Facts) -> str:
    """Return the print of a fit: rows, kernel, prior, draws, cutoff, what to ask next.

    Parameters
    ----------
    found : Facts

    Returns
    -------
    str
    """
    lines = [
        *fit_lines(found),
        *(("warning", text) for text in found.warnings),
        ("next", NEXT),
    ]
    filled = [
        textwrap.fill(
            f"  {name:8}{text}", 100, subsequent_indent=" " * 12, break_long_words=False
        )
        for name, text in lines
    ]
    return "\n".join([f"{found.model}, fitted", *filled])


def fit_lines(found: Facts) -> list[tuple[str, str]]:
    """Return a fit in texts, each with the name of its subject.

    Parameters
    ----------
    found : Facts

    Returns
    -------
    list of (str, str)
    """
    n = found.rows
    n1 = found.minority
    categories = sum(kind == "category" for kind in found.columns.values())
    size = f"{n - n1} majority, {n1} minority" if n1 else f"{n} rows"
    of = f" ({categories} of categories)" * bool(categories)
    size += f"; {len(found.columns)} columns{of}; {found.atoms} atoms"
    return [
        ("rows", size),
        ("job", job(found)),
        ("kernel", found.kernel),
        *_draws(found),
        ("weights", _weights(found)),
        ("cutoff", cutoff_text(found)),
    ]


def job(found: Facts) -> str:
    """Return what a fit is for, and which rows count.

    Parameters
    ----------
    found : Facts

    Returns
    -------
    str
    """
    some = found.without_weight > 0
    rest = found.majority_with_weight
    majority = "majority " * bool(found.minority)
    text = f"new rows: all {majority}rows count as normal"
    if found.one_table:
        core = f"the description rests on the {rest} that are most alike"
        core = core if some else "each counts with the weight 1 - P(odd)"
        text = f"one table: odd rows may be among its {found.rows}; {core}"
    elif some:
        of = f"{majority}rows"
        text += f"; {found.without_weight} {of} count nothing, {rest} {of} count"
    if found.effective_rows is not None and not found.one_table:
        text += f"; by their weights they are {found.effective_rows:.0f} rows in effect"
    if found.groups is not None:
        asked = "asked of rows of a new group"
        if found.group_centres:
            asked = "each group has its own centre"
        elif found.posterior is not None:
            how = advised("centres", "group_centres=True")
            asked += f" ({how} asks of each known one)"
        text += (
            f"; {asked}: {found.groups} groups leave one by one, "
            f"and the smallest rate that they can hold is {found.smallest_rate:.2g}"
        )
    return text


def _draws(found: Facts) -> Iterator[tuple[str, str]]:
    posterior = found.posterior
    if posterior is None:
        text = "none: one estimate of the weights"
        if found.uncertain:
            text += f"; uncertain in P(normal): {', '.join(found.uncertain)}"
        yield "draws", text
        return
    priors = ", ".join(f"{name} = {text}" for name, text in posterior.priors.items())
    scale = f"λ = {posterior.likelihood_scale:.4g}"
    yield "prior", f"{priors or 'the prior of your draws'}; {scale}"
    text = f"{posterior.chains} chains of {posterior.draws} by {posterior.sampler_name}"
    if posterior.seconds is not None:
        text += f" in {posterior.seconds:.2g} s"
    if np.isfinite(posterior.r_hat):
        text += f"; R-hat of s is at most {posterior.r_hat:.3f}"
    if np.isfinite(posterior.ess):
        error = 0.5 / np.sqrt(posterior.ess)
        text += (
            f"; its effective sample size is at least {posterior.ess:.0f}, so the "
            f"Monte Carlo error of P(normal) is at most {error:.2g}"
        )
    if posterior.divergences is not None:
        text += f"; {posterior.divergences} divergences"
    elif posterior.sampler != "exact":  # whose draws are independent
        text += "; divergences are not measured"
    yield "draws", text


def _weights(found: Facts) -> str:
    """How sure the posterior is of the weights, and on how many rows they rest."""
    sentences: list[str] = []
    before = np.nan
    if found.posterior:
        sentences += _spread(found.posterior)
        before = found.posterior.quantities["effective_support"]["prior"]
    of_prior = f"; those of the prior on {before:.1f}" if np.isfinite(before) else ""
    rows = found.rows - found.without_weight
    support = f"{found.effective_support:.1f} effective rows of {rows}"
    return " ".join([*sentences, f"The weights rest on {support}{of_prior}."])


def _spread(posterior: PosteriorFacts) -> Iterator[str]:
    spread = posterior.spread
    if np.isfinite(spread):
        width = f"too {'narrow' if spread < 1.0 else 'wide'}"
        if RIGHT_SPREAD[0] <= spread <= RIGHT_SPREAD[1]:
            width = "about as wide as they should be"
        yield (
            "Near the cutoff, the posterior standard deviation of the similarity to "
            f"the centre is {spread:.2f} times that between samples of this size: its "
            f"intervals are {width}."
        )
    if np.isfinite(posterior.pull):
        yield f"The prior moves its mean by {posterior.pull:+.2f} of them."


def cutoff_text(found: Facts) -> str:
    """Return how the cutoff was chosen, and how many left-out rows lie beyond it.

    Parameters
    ----------
    found : Facts

    Returns
    -------
    str
    """
    text = (
        f"A row is normal if P(normal) exceeds .5. The cutoff {found.cutoff_words}. "
        f"As a distance it is {found.cutoff:.6g}. "
    )
    if found.one_table:
        return (
            f"{text}It is for new rows; stand_out says which rows of the table are odd."
        )
    by = "by groups " * (found.groups is not None)
    if found.effective_rows is not None:
        by = "by weight "
    beyond = " and ".join(
        f"{of.count} of {of.rows} {f'{name} ' * (found.minority > 0)}rows "
        f"({by}{of.share:.2f} [{of.low:.2f}, {of.high:.2f}])"
        for name, of in found.beyond.items()
    )
    text += f"Left out, with 90 % intervals, {beyond} lie beyond it."
    if found.chosen_on_rows:
        text += " It was chosen on these rows: only new rows are independent evidence."
    return text
