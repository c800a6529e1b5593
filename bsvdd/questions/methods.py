"""The sentences on a fit that the methods section of a paper needs, with references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ..estimators.bayesian import Bayesian
from ..estimators.description import Description
from ..estimators.facts import Facts, PosteriorFacts, facts
from ..models.priors import describe

RUBIN = "Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134."
R_HAT = (
    "Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Buerkner, P.-C. (2021). "
    "Rank-normalization, folding, and localization: an improved R-hat for assessing "
    "convergence of MCMC. Bayesian Analysis 16, 667-718."
)
PYMC = (
    "Abril-Pla, O. et al. (2023). PyMC: a modern, and comprehensive probabilistic "
    "programming framework in Python. PeerJ Computer Science 9, e1516."
)
PICKANDS = (
    "Pickands, J. (1975). Statistical inference using extreme order statistics. Annals "
    "of Statistics 3, 119-131."
)
PRIORS_IN_WORDS = {
    "BSVDD": "the softmax of log weights with the prior {prior}",
    "BSVDD-M": (
        "the softmax of log weights with the prior {prior}, times one plus the total "
        "of the weights of the abnormal rows, which are subtracted and have the prior "
        "{minority_prior}"
    ),
    "BDD": "free, with the prior {prior}",
    "BDD-M": (
        "normal with the prior {prior}, given that all weights sum to one; the weights "
        "of the abnormal rows are subtracted and have the prior {minority_prior}"
    ),
}
CALIBRATED = (
    "calibrated so that under the model's default prior the posterior spread of the "
    "similarity of rows near the cutoff is their spread between samples of this size"
)
BANDWIDTHS_IN_WORDS = {
    "given": "given",
    "likelihood": "chosen by the left-out likelihood of the normal rows",
    "wide": (
        "set by an eighth of the median squared distance, as odd rows may be among them"
    ),
}


class References(list[str]):
    """References in the order in which a text has them."""

    def __call__(self, text: str) -> str:
        """Return the number of a reference, as the text has it."""
        self += [] if text in self else [text]
        return f"[{self.index(text) + 1}]"


def methods(est: Description) -> str:
    """Return what a methods section says of a fit: a paragraph, and its references.

    It has the model and its source, prior, lambda, kernel, bandwidth, draws, sampler,
    R-hat, the cutoff, and what P(normal) is. What the columns are, where the rows are
    from and why the model suits them is yours to add.

    Parameters
    ----------
    est : Description
        Fitted.

    Returns
    -------
    str

    Raises
    ------
    sklearn.exceptions.NotFittedError
    TypeError
        The estimator has neither draws nor left-out rows, or joins several fits.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> est = bsvdd.SVDD().fit(np.random.default_rng(0).normal(size=(100, 2)))
    >>> print(bsvdd.methods(est)[:71])
    Normal rows were described by support vector data description [1], lear
    """
    found = facts(est)
    cite = References()
    sentences = [_model(found, cite), *_rows(found), _kernel(found)]
    if found.posterior:
        sentences += _posterior(found.posterior, found.name, cite)
    elif isinstance(est, Bayesian):
        sentences.append(_estimate(est, found.name))
    sentences += _decision(found, cite)
    numbered = [f"[{i}] {text}" for i, text in enumerate(cite, 1)]
    return "\n".join([" ".join(sentences), "", *numbered])


def _model(found: Facts, cite: References) -> str:
    n1 = found.minority
    model = f"a model of our own, {found.model}"
    if found.title and found.reference:
        title = found.title
        if not title.startswith("Bayesian"):
            title = title[0].lower() + title[1:]
        model = f"{title} {cite(found.reference)}"
    package = f"bsvdd {found.versions['bsvdd']}"
    if found.posterior:
        package += f", a package on PyMC {found.versions['pymc']} {cite(PYMC)}"
    abnormal = f" and {n1} abnormal" if found.learns_from_minority else ""
    columns = f" of {len(found.columns)} columns" if found.columns else ""
    return (
        f"Normal rows were described by {model}, learned from {found.rows - n1} normal"
        f"{abnormal} rows{columns} with {package}."
    )


def _rows(found: Facts) -> Iterator[str]:
    rest = found.majority_with_weight
    if found.one_table:
        core = "each counts with one minus its P(odd)"
        if found.without_weight:
            core = f"it rests on the {rest} rows that are most alike"
        yield f"As odd rows may be among them, {core}."
    elif found.without_weight:
        yield (
            f"{found.without_weight} of the normal rows count nothing; {rest} rows "
            "count."
        )
    if found.effective_rows is not None and not found.one_table:
        effect = f"{found.effective_rows:.0f} rows in effect"
        yield f"Rows count by their weights, by which they are {effect}."
    if found.groups is not None:
        what = ", so that the rate of false alarms holds for rows of a new group"
        if found.group_centres:
            what = " and has its own centre: a row is compared with that of its group"
        groups = f"{found.groups} groups, each of which was left out whole"
        yield f"The rows are of {groups}{what}."
    if found.missing:
        each = ", ".join(f"{name!r} ({count})" for name, count in found.missing.items())
        ways = "; each draw judged a row with the value of another of these"
        yield (
            f"{found.rows_with_missing} of {found.rows} rows have missing values, in "
            f"{each}; they were filled by the median, or the most frequent category, "
            f"of the 10 nearest rows{ways * ('the cutoff' in found.uncertain)}."
        )
    if found.minority and not found.learns_from_minority:
        yield f"The {found.minority} abnormal rows had no part in the description."


def _kernel(found: Facts) -> str:
    if found.bandwidth is None:
        return f"Rows were compared by the kernel {found.kernel}."
    criterion = found.bandwidth_by or "given"
    by = BANDWIDTHS_IN_WORDS.get(criterion, f"chosen by the criterion {criterion!r}")
    return (
        f"Rows were compared by the kernel {found.kernel_name} on "
        f"{found.kernel_columns}; its bandwidth, {found.bandwidth:.4g}, was {by}."
    )


def _weights(priors: Mapping[str, str], model: str) -> str:
    if not priors or model not in PRIORS_IN_WORDS:
        return "as the model has them"
    texts = {name: text.replace(", total=None", "") for name, text in priors.items()}
    return PRIORS_IN_WORDS[model].format(**texts)


def _scale(scale: float, calibrated: bool) -> str:
    how = "as published" if scale == 1.0 else "a number that we chose"
    how = CALIBRATED if calibrated else how
    return f"the weight λ of the likelihood is {scale:.4g}, {how}"


def _estimate(est: Bayesian, model: str) -> str:
    """Return a sentence on the one estimate of a Bayesian model."""
    priors = {name: describe(getattr(est, name)) for name in est._priors}
    simplex = " among positive weights that sum to one" * getattr(est, "simplex", False)
    scale = _scale(est.likelihood_scale_, est.likelihood_scale == "calibrated")
    return (
        f"The weights of the centre are {_weights(priors, model)}; of their posterior "
        f"the mode{simplex} was taken; {scale}."
    )


def _posterior(
    posterior: PosteriorFacts, model: str, cite: References
) -> Iterator[str]:
    weights = _weights(posterior.priors, model)
    scale = _scale(posterior.likelihood_scale, posterior.calibrated)
    yield f"The weights of the centre are {weights}; {scale}."
    sampler = posterior.sampler_name.replace("your own", "our own")
    yield (
        f"The posterior has {posterior.chains} chains of {posterior.draws} draws by "
        f"{sampler}."
    )
    if np.isfinite(posterior.r_hat):
        yield (
            f"R-hat of the similarities is at most {posterior.r_hat:.3f}, and the "
            f"smallest effective sample size {posterior.ess:.0f} {cite(R_HAT)}."
        )


def _decision(found: Facts, cite: References) -> Iterator[str]:
    yield f"The cutoff {found.cutoff_words}."
    called = "A row is called normal if P(normal) exceeds .5: the"
    if "the cutoff" in found.uncertain:
        kind = "posterior " * bool(found.posterior)
        yield (
            f"{called} {kind}probability that the row lies within the cutoff. "
            f"It counts what is uncertain: {', '.join(found.uncertain)}. The cutoffs "
            f"are of a Bayesian bootstrap of left-out rows {cite(RUBIN)}."
        )
    else:
        yield (
            f"{called} share of draws in which the distance of the row from the "
            f"centre is at most {found.cutoff:.6g}."
        )
    if found.one_table:
        yield (
            "Of the rows themselves, those are called odd that models of two tails "
            "list at a false discovery rate that was asked: the tail of the rows' "
            "surprises, and that of the distances of their cells from what the other "
            "columns lead to. Each has a generalised Pareto distribution of the normal "
            f"rows {cite(PICKANDS)} beside a density of odd ones; the prior "
            "probability that there is none is 2/3."
        )
