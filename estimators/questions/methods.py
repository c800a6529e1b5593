"""The sentences on a fit that the methods section of a paper needs, with references."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np

from ...inference.draws import OWN
from ...inference.sampling import parallel_chains
from ...models.kernels import Tabular
from ...models.kernels.base import Wrapper, as_kernel
from ...models.kernels.numeric import DistanceKernel
from ..detector import Detector, require_description
from ..fit import LISTED, Fit, is_calibrated, leaves_rows
from ..joined import Joined
from ..registry import find
from ..rows.gaps import counted
from ..words import chosen_by

RUBIN = "Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134."
R_HAT = (
    "Vehtari, A., Gelman, A., Simpson, D., Carpenter, B. and Buerkner, P.-C. (2021). "
    "Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of "
    "MCMC. Bayesian Analysis 16, 667-718."
)
PYMC = (
    "Abril-Pla, O. et al. (2023). PyMC: a modern and comprehensive probabilistic programming "
    "framework in Python. PeerJ Computer Science 9, e1516."
)
LONG = re.compile(r"\d+\.\d{5,}")  # a number with more digits than a reader wants
WEIGHTS = {
    "": "those of the model",
    "BSVDD": "the softmax of log weights with the prior {prior}",
    "BSVDD-M": (
        "the softmax of log weights with the prior {prior}, times one plus the total of the "
        "weights of the abnormal rows, which are subtracted and have the prior {minority_prior}"
    ),
    "BDD": "free, with the prior {prior}",
    "BDD-M": (
        "normal with the prior {prior}, given that all weights sum to one; those of the abnormal "
        "rows are subtracted and have the prior {minority_prior}"
    ),
}
SAMPLERS = {
    OWN: "a sampler of our own",
    "exact": "independent draws, as it has a closed form",
    "hmc": "Hamiltonian Monte Carlo, {} parallel chains that were joined",
    "nuts": "the no-U-turn sampler",
    "metropolis": "random-walk Metropolis",
}
SCALES = {
    "both": "standardised columns and their normal scores, side by side",
    "standardised": "standardised columns",
    "normal scores": "normal scores of the columns",
}
CRITERIA = {
    "likelihood": "the left-out likelihood of the normal rows",
    "mean": "the mean criterion",
    "modified_mean": "the modified mean criterion",
    "median": "the median distance of the normal rows",
    "scale": "the variance of the columns",
    "wide": "an eighth of the median squared distance, as odd rows may be among them",
}


PICKANDS = (
    "Pickands, J. (1975). Statistical inference using extreme order statistics. Annals of "
    "Statistics 3, 119-131."
)


@dataclass
class References:
    """References in the order in which a text has them."""

    texts: list[str] = field(default_factory=list)

    def cite(self, text: str) -> str:
        """Return the number of a reference, as the text has it."""
        if text not in self.texts:
            self.texts.append(text)
        return f"[{self.texts.index(text) + 1}]"


def methods(est: Detector) -> str:
    """Return what a methods section says of a fit: a paragraph, and its references.

    It has the model and its source, prior, lambda, kernel, bandwidth, draws, sampler, R-hat, the
    cutoff, and what P(normal) is. What the columns are, where the rows are from and why the model
    suits them is yours to add.

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
    require_description(est, "paragraph on its methods")
    fit, references = est.fit_, References()
    sentences = [*_model(fit, references), *_kernel(fit)]
    if fit.learned.posterior is not None:
        sentences += _posterior(fit, references)
    sentences += _cutoff(fit, references)
    numbered = [f"[{i}] {text}" for i, text in enumerate(references.texts, 1)]
    return "\n".join([" ".join(sentences), "", *numbered])


def _model(fit: Fit, references: References) -> list[str]:
    data, record = fit.data, find(fit.spec.name)
    n1, learns = int(data.minority.sum()), data.gram is not None and data.gram.n1 > 0
    what = f"a model of our own, {fit.spec.name}"
    if record is not None and record.reference:
        source, title = references.cite(record.reference), record.title
        if "SVM" in title:
            title = f"{'an' if title.startswith('Im') else 'a'} {title[0].lower()}{title[1:]}"
        elif not title.startswith("Bayesian"):
            title = f"{title[0].lower()}{title[1:]}"
        what = f"{title} {source}"
    separates = learns and not fit.has_center
    done = "Normal and abnormal rows were separated" if separates else "Normal rows were described"
    rows = f"{len(data.rows) - n1} normal" + (f" and {n1} abnormal" if learns else "")
    package = f"bsvdd {version('bsvdd')}"
    if fit.learned.posterior is not None:
        package += f", a package on PyMC {version('pymc')} {references.cite(PYMC)}"
    found = [
        f"{done} by {what}, learned from {rows} rows of {data.columns.n} columns with {package}."
    ]
    if data.core is not None:
        found.append(
            f"As odd rows may be among them, it rests on the {int(data.core.rows.sum())} rows that "
            "are most alike."
        )
    if data.gaps is not None:
        judged = ""
        if fit.has_center and leaves_rows(fit.cutoff):
            judged = "; each draw judged a row with the value of another of these, without that row"
        found.append(
            f"{counted(data.gaps, data.columns.labels)}; they were filled by the median, or the "
            f"most frequent category, of the 10 nearest rows{judged}."
        )
    if n1 and not learns:
        found.append(f"The {n1} abnormal rows had no part in the description.")
    return found


def _kernel(fit: Fit) -> list[str]:
    kernel = fit.data.kernel
    if isinstance(fit.learned.score, Joined):
        return []
    inner = as_kernel(kernel.kernel) if isinstance(kernel, Wrapper) else kernel
    if not isinstance(inner, DistanceKernel):
        return [f"Rows were compared by the kernel {kernel}."]
    columns = "the columns as they are"
    if isinstance(kernel, Wrapper):
        columns = "standardised columns"
        if isinstance(kernel, Tabular):
            columns = SCALES[kernel.scale]
    by = CRITERIA.get(str(inner.criterion), f"the criterion {inner.criterion!r} of the package")
    chosen = "was given" if inner.criterion is None else f"was chosen by {by}"
    return [
        f"Rows were compared by the kernel {type(inner).__name__} on {columns}; its bandwidth, "
        f"{float(inner.bandwidth):.4g}, {chosen}."
    ]


def _posterior(fit: Fit, references: References) -> list[str]:
    draws, attrs = fit.require_posterior(), dict(fit.attrs)
    scale = attrs.pop("likelihood_scale")
    record, (chains, n) = find(fit.spec.name), draws.shape
    shown = {
        name: LONG.sub(lambda m: f"{float(m[0]):.4g}", text).replace(", total=None", "")
        for name, text in attrs.items()
    }
    name = "" if record is None or not attrs else record.name
    weights = WEIGHTS.get(name, WEIGHTS[""]).format(**shown)
    how = "a number that we chose"
    if scale == 1.0:
        how = "as published"
    if is_calibrated(fit):
        how = (
            "calibrated so that under the model's default prior the posterior spread of the "
            "similarity of rows near the cutoff is their spread between samples of this size"
        )
    numbers, report = fit.diagnostics, draws.report
    sampler = SAMPLERS.get(report.sampler, report.sampler).format(parallel_chains(chains))
    found = [
        f"The weights of the centre are {weights}; the weight λ of the likelihood is {scale:.4g}, "
        f"{how}.",
        f"The posterior has {chains} chains of {n} draws by {sampler}.",
    ]
    if chains > 1 and np.isfinite(numbers["r_hat"]):
        found.append(
            f"R-hat of the distances is at most {numbers['r_hat']:.3f}, and the smallest effective "
            f"sample size {numbers['ess']:.0f} {references.cite(R_HAT)}."
        )
    return found


def _cutoff(fit: Fit, references: References) -> list[str]:
    policy = fit.cutoff
    found = [f"The cutoff {chosen_by(policy, fit.data.minority)}."]
    if not fit.has_center and not isinstance(fit.learned.score, Joined):
        return [*found, "A row is called normal if its score is at least that of the cutoff."]
    if not policy.uncertain or not policy.of_rows:
        what = "the share of draws in which the distance of the row from the centre is at most "
        what += f"{fit.distance:.6g}"
    else:
        what = (
            "the posterior probability that the row lies within the cutoff, which counts the "
            "uncertainty of the weights, of the cutoff, by a Bayesian bootstrap of left-out rows "
            f"{references.cite(RUBIN)}, and of rows that the sample has not shown"
        )
        if fit.learned.posterior is None:
            what = what.replace("of the weights, ", "").replace("posterior ", "")
    found.append(f"A row is called normal if P(normal) exceeds {fit.level:g}: {what}.")
    if fit.lists:
        found.append(
            "Of the rows themselves, those are called odd that a model of the tail of their "
            f"surprises lists at a false discovery rate of {LISTED:g}: a generalised Pareto "
            f"distribution of the normal rows {references.cite(PICKANDS)} beside a density of odd "
            "ones, with even prior odds that there is none."
        )
    return found
