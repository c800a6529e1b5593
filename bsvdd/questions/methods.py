"""The sentences on a fit that the methods section of a paper needs, with references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..estimators.facts import facts

RUBIN = "Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134."
R_HAT = (
    "Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Buerkner, P.-C. (2021). "
    "Rank-normalization, folding, and localization: an improved R-hat for assessing "
    "convergence of MCMC. Bayesian Analysis 16, 667-718."
)
PYMC = (
    "Abril-Pla, O. et al. (2023). PyMC: a modern and comprehensive probabilistic "
    "programming framework in Python. PeerJ Computer Science 9, e1516."
)
PICKANDS = (
    "Pickands, J. (1975). Statistical inference using extreme order statistics. Annals "
    "of Statistics 3, 119-131."
)
WEIGHTS = {
    "BSVDD": "the softmax of log weights with the prior {prior}",
    "BSVDD-M": (
        "the softmax of log weights with the prior {prior}, times one plus the total "
        "of the weights of the abnormal rows, which are subtracted and have the prior "
        "{minority_prior}"
    ),
    "BDD": "free, with the prior {prior}",
    "BDD-M": (
        "normal with the prior {prior}, given that all weights sum to one; those of "
        "the abnormal rows are subtracted and have the prior {minority_prior}"
    ),
}
CALIBRATED = (
    "calibrated so that under the model's default prior the posterior spread of the "
    "similarity of rows near the cutoff is their spread between samples of this size"
)
CRITERIA = {
    "given": "given",
    "likelihood": "chosen by the left-out likelihood of the normal rows",
    "wide": "set by an eighth of the median squared distance, as odd rows may be among them",
}


class References(list[str]):
    """References in the order in which a text has them."""

    def __call__(self, text: str) -> str:
        """Return the number of a reference, as the text has it."""
        self += [] if text in self else [text]
        return f"[{self.index(text) + 1}]"


def methods(est: Any) -> str:
    """Return what a methods section says of a fit: a paragraph, and its references.

    It has the model and its source, prior, lambda, kernel, bandwidth, draws, sampler,
    R-hat, the cutoff, and what P(normal) is. What the columns are, where the rows are
    from and why the model suits them is yours to add.

    Parameters
    ----------
    est : fitted estimator

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
    sentences = [*_rows(found, cite), *_kernel(found), *_posterior(found, cite)]
    sentences += _decision(found, cite)
    numbered = [f"[{i}] {text}" for i, text in enumerate(cite, 1)]
    return "\n".join([" ".join(sentences), "", *numbered])


def _rows(found: Mapping[str, Any], cite: References) -> Iterator[str]:
    n = found["rows"]
    n1 = found["minority"]
    learns = found["learns_from_minority"]
    what = f"a model of our own, {found['model']}"
    package = f"bsvdd {found['versions']['bsvdd']}"
    if "reference" in found:
        first, *rest = found["title"]
        first = first if found["title"].startswith("Bayesian") else first.lower()
        what = f"{first}{''.join(rest)} {cite(found['reference'])}"
    if "draws" in found:
        package += f", a package on PyMC {found['versions']['pymc']} {cite(PYMC)}"
    yield (
        f"Normal rows were described by {what}, learned from {n - n1} normal"
        f"{f' and {n1} abnormal' if learns else ''} rows of {len(found['columns'])} "
        f"columns with {package}."
    )
    rest = n - n1 - found.get("without_weight", 0)
    if "one_table" in found:
        core = f"it rests on the {rest} rows that are most alike"
        core = (
            core
            if "without_weight" in found
            else "each counts with one minus its P(odd)"
        )
        yield f"As odd rows may be among them, {core}."
    elif "without_weight" in found:
        yield f"{found['without_weight']} of the normal rows count nothing; {rest} rows count."
    if "batches" in found:
        yield (
            f"The rows are of {found['batches']} batches, each of which was left out "
            "whole, so that false alarms are those of rows of a new batch."
        )
    if found["gaps"]:
        each = ", ".join(f"{name!r} ({count})" for name, count in found["gaps"].items())
        ways = "; each draw judged a row with the value of another of these"
        yield (
            f"{found['rows_with_gaps']} of {n} rows have gaps, in {each}; they were "
            "filled by the median, or the most frequent category, of the 10 nearest "
            f"rows{ways if found['uncertain'] and 'effective_support' in found else ''}."
        )
    if n1 and not learns:
        yield f"The {n1} abnormal rows had no part in the description."


def _kernel(found: Mapping[str, Any]) -> Iterator[str]:
    if "bandwidth" in found:
        criterion = found.get("bandwidth_by", "given")
        by = CRITERIA.get(criterion, f"chosen by the criterion {criterion!r}")
        kernel = f"{found['kernel_name']} on {found['kernel_columns']}"
        bandwidth = f"its bandwidth, {found['bandwidth']:.4g}, was {by}"
        yield f"Rows were compared by the kernel {kernel}; {bandwidth}."
    elif "kernel" in found:
        yield f"Rows were compared by the kernel {found['kernel']}."


def _posterior(found: Mapping[str, Any], cite: References) -> Iterator[str]:
    if "draws" not in found:
        return
    priors = {
        name: text.replace(", total=None", "") for name, text in found["priors"].items()
    }
    weights = WEIGHTS.get(found["name"] if priors else "", "those of the model").format(
        **priors
    )
    how = (
        "as published" if found["likelihood_scale"] == 1.0 else "a number that we chose"
    )
    how = CALIBRATED if found["calibrated"] else how
    yield (
        f"The weights of the centre are {weights}; the weight λ of the likelihood is "
        f"{found['likelihood_scale']:.4g}, {how}."
    )
    sampler = found["sampler_name"].replace("your own", "our own")
    yield f"The posterior has {found['chains']} chains of {found['draws']} draws by {sampler}."
    if np.isfinite(found["r_hat"]):
        yield (
            f"R-hat of the similarities is at most {found['r_hat']:.3f}, and the "
            f"smallest effective sample size {found['ess']:.0f} {cite(R_HAT)}."
        )


def _decision(found: Mapping[str, Any], cite: References) -> Iterator[str]:
    within = "the distance of the row from the centre is at most"
    what = f"the share of draws in which {within} {found['cutoff']:.6g}"
    if found["uncertain"]:
        kind, weights = (
            ("posterior ", "of the weights, ") if "draws" in found else ("", "")
        )
        what = (
            f"the {kind}probability that the row lies within the cutoff, which counts "
            f"the uncertainty {weights}of the cutoff, by a Bayesian bootstrap of "
            f"left-out rows {cite(RUBIN)}, and of rows that the sample has not shown"
        )
    yield f"The cutoff {found['cutoff_rule']}."
    yield f"A row is called normal if P(normal) exceeds .5: {what}."
    if "one_table" in found:
        yield (
            "Of the rows themselves, those are called odd that a model of the tail of "
            "their surprises lists at a false discovery rate that was asked: a "
            f"generalised Pareto distribution of the normal rows {cite(PICKANDS)} "
            "beside a density of odd ones, with even prior odds that there is none."
        )
