r"""All numbers of a fit, ``bsvdd.facts(est)``: its print, summary and report read them.

Of quantities with draws there are the median of their prior, and the median and a 90 %
interval of their posterior (``prior``, ``posterior``, ``low``, ``high``):

- ``effective_support``, :math:`(\sum |w_j|)^2 / \sum w_j^2 / n_j`: the effective number
  of rows, with :math:`n_j` the rows of an atom;
- ``largest_weight``, :math:`\max_j |w_j| / n_j`;
- ``minority_total``, :math:`\sum_j \alpha_{1j}`, if there are minority atoms;
- ``squared_norm``, :math:`\|a\|^2 = w^\top K w`;
- ``typical_distance``, the median of d over the majority's training rows.

:mod:`bsvdd.inference.diagnostics` defines ``variance_ratio``, ``spread`` and ``pull``.
The spread is 1 if an interval has the width that samples of this size give. A variance
ratio of 1, with the same support, says that the posterior is its prior; the prior's sd
sets how small it can be. A flat prior hardly moves the mean of s_z, so a large pull
comes from an informative prior.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Protocol, Self, cast

import numpy as np
from scipy.stats import beta, t

from ..inference import cutoffs
from ..inference.diagnostics import variance_ratio
from ..inference.fit import Fit
from ..models.kernels.base import Kernel
from ..models.kernels.decorrelated import Decorrelated
from ..models.kernels.numeric import OfDistance
from ..models.priors import describe
from ..models.rows import effective_number
from ..models.weights import Weights
from ..tables.training import TrainingRows
from .checks import require_one_fit
from .decisions import how_chosen, is_given
from .fit_warnings import fit_warnings
from .of_rows import BaseEstimator
from .registry import find
from .unnamed_groups import unnamed_groups

PACKAGES = ("bsvdd", "pymc", "pytensor", "numpy", "scipy", "scikit-learn")
SAMPLER_NAMES = {
    "own": "a sampler of your own",
    "function": "a function of your own",
    "exact": "independent draws of a posterior in closed form",
    "hmc": "Hamiltonian Monte Carlo",
    "nuts": "the no-U-turn sampler",
    "metropolis": "random-walk Metropolis",
}
KERNEL_COLUMNS = {
    "": "the columns as they are",
    "both": "standardised columns and their normal scores, side by side",
    "standardised": "standardised columns",
    "normal scores": "normal scores of the columns",
}


@dataclass(frozen=True, kw_only=True)
class Share:
    """A number of rows, and their share of all rows by the weights.

    Attributes
    ----------
    count, rows : int
        How many of the rows are so, and of how many.
    share : float
        By their weights.
    low, high : float
        A 90 % interval of the share, for the effective number of rows and the prior of
        Jeffreys, Beta(1/2, 1/2); it starts at 0 if no row counts, and ends at 1 if all
        do (Brown, Cai and DasGupta 2001, Statistical Science 16, 101-133). The
        effective number is p (1 - p) over the variance of the share p between groups,
        times a ratio of quantiles of Student's t for few groups (Korn and Graubard
        1998, Survey Methodology 24, 193-201).

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.facts import Share
    >>> found = Share.of(np.arange(12) < 2, np.ones(12), np.arange(12))
    >>> found.count, found.rows, round(found.low, 2), round(found.high, 2)
    (2, 12, 0.05, 0.39)
    >>> of_groups = Share.of(np.arange(12) < 2, np.ones(12), np.arange(12) // 2)
    >>> round(of_groups.low, 2), round(of_groups.high, 2)
    (0.02, 0.54)
    """

    count: int
    rows: int
    share: float
    low: float
    high: float

    @classmethod
    def of(cls, rows: np.ndarray, weight: np.ndarray, group: np.ndarray) -> Self:
        """Return the share of the rows that are so.

        Parameters
        ----------
        rows : ndarray of bool, shape (n,)
        weight : ndarray of shape (n,)
        group : ndarray of int, shape (n,)

        Returns
        -------
        Share
        """
        count = int(rows.sum())
        share = float(weight @ rows / weight.sum())
        n = effective_number(weight)
        groups = len(np.unique(group))
        if 0 < count < len(rows) and groups > 1:
            apart = np.bincount(group, weight * (rows - share)) / weight.sum()
            variance = share * (1.0 - share)
            n = variance / max(apart @ apart, variance / len(rows))
            few, many = t.ppf(0.95, np.array([groups, len(rows)]) - 1.0)
            n *= (many / few) ** 2
        posterior = beta(n * share + 0.5, n * (1.0 - share) + 0.5)
        low, high = map(float, posterior.ppf([0.05, 0.95]))
        return cls(
            count=count,
            rows=len(rows),
            share=share,
            low=low if count else 0.0,
            high=high if count < len(rows) else 1.0,
        )


@dataclass(frozen=True, kw_only=True)
class PosteriorFacts:
    """The facts of a fit that has draws of the weights.

    Attributes
    ----------
    priors : dict of str to str
        The priors by their parameters; empty for draws of your own.
    likelihood_scale : float
        λ.
    calibrated : bool
        Whether λ is calibrated.
    sampler, sampler_name : str
        The sampler as the parameter names it, and in words.
    seconds : float or None
        Processor time of the draws, if it is known.
    chains, draws : int
        The number of chains, and of draws in each.
    r_hat, ess : float
        The largest R-hat and the smallest effective sample size of s at 50 atoms, and
        of minority weights and hyperparameters; NaN for one chain, and for a value that
        never changes.
    divergences : int, optional
        None where no sampler looked for any.
    variance_ratio, spread, pull : float
        See :mod:`bsvdd.estimators.facts`.
    quantities : dict of str to dict
        ``prior``, ``posterior``, ``low`` and ``high`` of each quantity, see
        :mod:`bsvdd.estimators.facts`.
    """

    priors: dict[str, str]
    likelihood_scale: float
    calibrated: bool
    sampler: str
    sampler_name: str
    seconds: float | None
    chains: int
    draws: int
    r_hat: float
    ess: float
    divergences: int | None
    variance_ratio: float
    spread: float
    pull: float
    quantities: dict[str, dict[str, float]]

    @classmethod
    def of(cls, fit: Fit) -> Self:
        """Return the facts of the draws of a fit."""
        found = fit.draws
        parameters = fit.estimator.get_params(deep=False)
        names = fit.estimator._priors if found.knows_prior else ()
        chains, draws, _ = found.by_chain.shape
        spread, pull = fit.spread_and_pull
        r_hat, ess = fit.convergence
        ratio = np.nan
        if fit.prior is not None:
            ratio = variance_ratio(found, fit.prior)
        return cls(
            priors={name: describe(parameters[name]) for name in names},
            likelihood_scale=cast("Weights", found.model).likelihood_scale,
            calibrated=parameters["likelihood_scale"] == "calibrated",
            sampler=found.sampler,
            sampler_name=SAMPLER_NAMES[found.sampler],
            seconds=None if np.isnan(fit.seconds) else fit.seconds,
            chains=chains,
            draws=draws,
            r_hat=r_hat,
            ess=ess,
            divergences=fit.divergences,
            variance_ratio=ratio,
            spread=spread,
            pull=pull,
            quantities=_quantities(**fit.quantities),
        )


def _quantities(
    posterior: dict[str, np.ndarray], prior: dict[str, np.ndarray] | None = None
) -> dict[str, dict[str, float]]:
    """Prior median, posterior median and interval of each quantity."""
    before = {name: float(np.median(draws)) for name, draws in (prior or {}).items()}
    ends = {"posterior": 0.5, "low": 0.05, "high": 0.95}
    return {
        name: {"prior": before.get(name, np.nan)}
        | {end: float(np.quantile(draws, share)) for end, share in ends.items()}
        for name, draws in posterior.items()
    }


@dataclass(frozen=True, kw_only=True)
class Facts:
    """All numbers of a fit; None, or an empty dict, where the fit has no such number.

    Attributes
    ----------
    model, name : str
        The class, and its name in tables.
    title, reference : str or None
        What the model is, and its source.
    call : str
        The code that makes the model with its parameters.
    seed : int or None
        ``random_state``, if the model has one.
    sha256 : str
        Of the training rows.
    versions : dict of str to str
        Of Python and of packages.
    warnings : list of str
        Why not to trust the fit, and what to do: ``fit`` warned of them.
    rows, minority : int
        The number of training rows, and of minority rows among them.
    learns_from_minority : bool
    without_weight : int
        The number of majority rows of weight 0.
    effective_rows : float or None
        The effective number of majority rows, if weights differ.
    groups : int or None
        The number of groups that leave, if several rows leave together.
    group_centres : bool
        Whether each group has its own centre.
    smallest_rate : float
        The smallest rate of false alarms that so many rows or groups can hold,
        1/(n + 1).
    one_table : bool
        Whether odd rows may be among the rows, so that they count by their weights.
    columns : dict of str to str
        How each column is read; empty for a kernel matrix.
    missing : dict of str to int
        The number of missing values in each column that has some.
    rows_with_missing : int
    kernel, kernel_name, kernel_columns : str
        The kernel; the class of its inner kernel; what it sees of the columns.
    bandwidth : float or None
    bandwidth_by : str or None
        The criterion that chose the bandwidth; None if it was given.
    atoms : int
        The number of atoms in the dictionary, which carry weights.
    effective_support : float
        The posterior median, or of the one estimate of the weights.
    posterior : PosteriorFacts or None
        None if there is one estimate of the weights.
    cutoff : float
        The median of D_opt.
    cutoff_words : str
        How the cutoff was chosen, as the predicate of a sentence.
    chosen_on_rows : bool
        Whether left-out training rows chose the cutoff.
    uncertain : list of str
        What P(normal) counts as uncertain; with nothing it is 0 or 1.
    beyond : dict of str to Share
        The rows of each class beyond the cutoff, each left out.
    """

    model: str
    name: str
    title: str | None
    reference: str | None
    call: str
    seed: int | None
    sha256: str
    versions: dict[str, str]
    warnings: list[str]
    rows: int
    minority: int
    learns_from_minority: bool
    without_weight: int
    effective_rows: float | None
    groups: int | None
    group_centres: bool
    smallest_rate: float
    one_table: bool
    columns: dict[str, str]
    missing: dict[str, int]
    rows_with_missing: int
    kernel: str
    kernel_name: str
    kernel_columns: str
    bandwidth: float | None
    bandwidth_by: str | None
    atoms: int
    effective_support: float
    posterior: PosteriorFacts | None
    cutoff: float
    cutoff_words: str
    chosen_on_rows: bool
    uncertain: list[str]
    beyond: dict[str, Share]

    @property
    def majority_with_weight(self) -> int:
        """The number of majority rows that have weight."""
        return self.rows - self.minority - self.without_weight

    def as_dict(self) -> dict[str, Any]:
        """Return numbers, texts, and lists and dicts of them, ready for ``json.dumps``.

        Returns
        -------
        dict of str
            The facts of the posterior stand among the others. None is left out.
        """
        found = asdict(self)
        found |= found.pop("posterior") or {}
        return {name: value for name, value in found.items() if value is not None}


class OneFit(Protocol):
    """An estimator that holds one fit: a description, but not ``Views``."""

    fit_: Fit


def facts(est: OneFit) -> Facts:
    """Return all numbers of a fit.

    Parameters
    ----------
    est : Description
        Fitted.

    Returns
    -------
    Facts
        Its attributes are described in :class:`bsvdd.estimators.facts.Facts`.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    TypeError
        The estimator has neither draws nor left-out rows, or joins several fits.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> est = bsvdd.BSVDD().fit(np.random.default_rng(0).normal(size=(99, 2)))
    >>> found = bsvdd.facts(est)
    >>> found.rows, found.posterior.chains, found.posterior.draws, found.warnings
    (99, 4, 500, [])
    >>> found.posterior.r_hat < 1.01 and 0.5 < found.posterior.spread < 2.0
    True
    >>> found.as_dict()["chains"]
    4
    """
    require_one_fit(est, "summary")
    fit = est.fit_
    rows = cast("TrainingRows", fit.rows)
    support = fit.quantities["posterior"]["effective_support"]
    return Facts(
        **_model_facts(fit),
        **_row_facts(fit),
        **_kernel_facts(fit.kernel),
        **_cutoff_facts(fit),
        atoms=len(fit.dictionary.sizes),
        effective_support=float(np.median(support)),
        posterior=PosteriorFacts.of(fit) if fit.has_draws else None,
        warnings=[
            *filter(None, [rows.far_values, unnamed_groups(fit)]),
            *fit_warnings(fit),
        ],
    )


def _model_facts(fit: Fit) -> dict[str, Any]:
    name = type(fit.estimator).__name__
    record = find(name)
    return {
        "model": name,
        "name": record.name if record else name,
        "title": record.title if record else None,
        "reference": (record.reference or None) if record else None,
        "call": call(fit.estimator),
        "seed": fit.estimator.get_params(deep=False).get("random_state"),
        "sha256": hashlib.sha256(fit.rows.X.tobytes()).hexdigest(),
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in PACKAGES},
        },
    }


def call(est: BaseEstimator) -> str:
    """Return the code that makes an estimator, with the parameters that differ.

    Parameters
    ----------
    est : estimator

    Returns
    -------
    str
    """
    defaults = type(est)().get_params(deep=False)
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        given = {n: (v, repr(v)) for n, v in est.get_params(deep=False).items()}
        changed = {n: v for n, v in given.items() if v[1] != repr(defaults[n])}
    texts = (f"{n}={getattr(v, '__name__', text)}" for n, (v, text) in changed.items())
    return f"{type(est).__name__}({', '.join(texts)})"


def _row_facts(fit: Fit) -> dict[str, Any]:
    rows = cast("TrainingRows", fit.rows)
    weight = rows.weight[~rows.minority]
    positive = weight[weight > 0.0]
    kinds = {} if rows.kernel.pairwise else rows.table.kinds
    missing = dict(zip(kinds, rows.missing.sum(axis=0).tolist(), strict=False))
    return {
        "rows": len(rows.X),
        "minority": int(rows.minority.sum()),
        "learns_from_minority": fit.dictionary.n1 > 0,
        "without_weight": len(weight) - len(positive),
        "effective_rows": effective_number(positive) if np.ptp(positive) else None,
        "groups": len(rows.majority_groups) if (rows.shared_group >= 0).any() else None,
        "group_centres": rows.group_centres,
        "smallest_rate": 1.0 / (rows.effective_groups + 1.0),
        "one_table": fit.kernel.of_core,
        "columns": {str(column): kind for column, kind in kinds.items()},
        "missing": {str(column): count for column, count in missing.items() if count},
        "rows_with_missing": int(rows.missing.any(axis=1).sum()),
    }


def _kernel_facts(kernel: Kernel) -> dict[str, Any]:
    inner = kernel.inner
    of_distance = inner if isinstance(inner, OfDistance) else None
    columns = KERNEL_COLUMNS[kernel.scale]
    if isinstance(kernel, Decorrelated) and kernel.roots is not None:
        columns += ", decorrelated by the core"
    return {
        "kernel": str(kernel),
        "kernel_name": type(inner).__name__,
        "kernel_columns": columns,
        "bandwidth": of_distance and of_distance.s,
        "bandwidth_by": of_distance and of_distance.criterion,
    }


def _uncertain(fit: Fit) -> list[str]:
    drawn = not isinstance(fit.cutoff, cutoffs.Printed)
    unseen = drawn and fit.dictionary.kernel.normalized
    of_estimate = ["the centre"] * unseen
    return (
        (["the weights of the centre"] if fit.has_draws else of_estimate)
        + ["the cutoff"] * drawn
        + ["rows that the sample has not shown"] * unseen
    )


def _cutoff_facts(fit: Fit) -> dict[str, Any]:
    rows = fit.rows
    flagged = fit.left_out_scores < 0.0
    has_weight = rows.weight > 0.0
    classes = {
        "majority": has_weight & ~rows.minority,
        "minority": has_weight & rows.minority,
    }
    return {
        "cutoff": fit.D_opt,
        "cutoff_words": how_chosen(fit.cutoff),
        "chosen_on_rows": not is_given(fit.cutoff),
        "uncertain": _uncertain(fit),
        "beyond": {
            name: Share.of(flagged[of], rows.mass[of], rows.group[of])
            for name, of in classes.items()
            if of.any()
        },
    }
