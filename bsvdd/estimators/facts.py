r"""What a fit is worth: ``bsvdd.facts(est)``, which its print, its summary and its report read.

Of quantities with draws there are the median of their prior, and the median and a 90 %
interval of their posterior (``prior``, ``posterior``, ``low``, ``high``):

- ``effective_support``, :math:`(\sum |w_j|)^2 / \sum w_j^2 / n_j`: the effective number
  of rows, with :math:`n_j` the rows of a point;
- ``largest_weight``, :math:`\max_j |w_j| / n_j`;
- ``minority_total``, :math:`\sum_j \alpha_{1j}`, if there are minority points;
- ``squared_norm``, :math:`\|a\|^2 = w^\top K w`;
- ``typical_distance``, the median of d over the majority's training rows.

``variance_ratio``, ``spread`` and ``pull`` are those of :mod:`bsvdd.inference.diagnostics`.
The spread is 1 if an interval has the width that samples of this size give. A variance
ratio of 1, with the same support, says that the posterior is its prior; the prior's sd
sets how small it can be. A flat prior hardly moves the mean of s_z, so the pull is that
of an informative prior.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import textwrap
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.stats import beta

from ..inference import cutoffs
from ..inference.diagnostics import variance_ratio
from ..inference.fit import Fit
from ..models.priors import describe
from ..models.rows import effective_number as effective
from .checks import require_one_fit
from .decisions import how_chosen, is_given
from .fit_warnings import fit_warnings
from .registry import find

PACKAGES = ("bsvdd", "pymc", "pytensor", "numpy", "scipy", "scikit-learn")
AS_WIDE = (
    0.8,
    1.25,
)  # spread, within which intervals are about as wide as they should be
SAMPLERS = {
    "own": "a sampler of your own",
    "exact": "independent draws of a posterior in closed form",
    "hmc": "Hamiltonian Monte Carlo",
    "nuts": "the no-U-turn sampler",
    "metropolis": "random-walk Metropolis",
}
SCALES = {
    "both": "standardised columns and their normal scores, side by side",
    "standardised": "standardised columns",
    "normal scores": "normal scores of the columns",
}
NEXT = (
    "est.decision() for these rows, est.decision(X) for others, bsvdd.explain(est, X) "
    "for reasons, bsvdd.report(est, 'model.html') for all"
)


def facts(est: Any) -> dict[str, Any]:
    """Return what a fit is worth, by name.

    Parameters
    ----------
    est : fitted estimator

    Returns
    -------
    dict
        Numbers, texts, and lists and dicts of them, ready for ``json.dumps``. What a
        fit has not is not there.

        - ``model``, ``name``, ``title``, ``reference``: class, name in tables, what it
          is, source;
        - ``rows``, ``minority``: numbers of training rows, and of minority rows among
          them; ``learns_from_minority``; ``points``: how many carry weights;
          ``without_weight``: how many majority rows have the weight 0, if some have;
          ``effective_rows``: how many rows they are in effect, if weights differ;
          ``batches``: how many batches leave, if several rows leave together;
          ``smallest_rate``: the smallest rate of false alarms that so many rows or
          batches can hold, 1/(n + 1); ``one_table``: whether odd rows may be among the
          rows, so that they count by their weights;
        - ``columns``: how each is read; ``rows_with_gaps``, and ``gaps``: how many each
          column has;
        - ``kernel``, ``kernel_name``, ``kernel_columns``: what it sees of the columns;
          ``bandwidth``, and the criterion that chose it, ``bandwidth_by``, None if it
          was given;
        - ``priors``; ``likelihood_scale``, λ, and whether it is ``calibrated``;
        - ``sampler``, ``sampler_name``, ``seconds``; ``chains`` of ``draws``; ``r_hat``
          and ``ess``, the largest R-hat and the smallest effective sample size of s at
          50 points, NaN for one chain, and for a value that never changes;
          ``divergences``;
        - ``variance_ratio``, ``spread``, ``pull`` and ``quantities``, see
          :mod:`bsvdd.estimators.facts`; ``effective_support``;
        - ``cutoff``, the median of D_opt; ``cutoff_rule``, and whether left-out
          training rows chose it, ``chosen_on_rows``; ``uncertain``: whether P(normal)
          counts what is uncertain of the cutoff and of rows that the sample has not
          shown; ``beyond``: how many rows of each class lie beyond the cutoff, each
          left out, with their share and its 90 % interval;
        - ``doubts``: why not to trust the fit, and what to do: the fit warned of them;
        - ``call``: the model with its parameters; ``seed``, ``sha256`` of the rows,
          ``versions``.

    Raises
    ------
    sklearn.exceptions.NotFittedError

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> est = bsvdd.BSVDD().fit(np.random.default_rng(0).normal(size=(99, 2)))
    >>> found = bsvdd.facts(est)
    >>> found["rows"], found["chains"], found["draws"], found["doubts"]
    (99, 4, 500, [])
    >>> found["r_hat"] < 1.01 and 0.5 < found["spread"] < 2.0
    True
    """
    require_one_fit(est, "summary")
    fitted: Fit = est.fit_
    training = fitted.rows
    units = fitted.rows
    name = type(fitted.estimator).__name__
    record = find(name)
    kinds = {} if training.kernel.pairwise else training.table.kinds
    by_column = (
        zip(kinds, training.missing.sum(axis=0).tolist(), strict=True) if kinds else ()
    )
    weight = units.weight[~units.minority]
    counted = weight[weight > 0.0]
    found = {
        "model": name,
        "name": name if record is None else record.name,
        "title": record and record.title,
        "reference": record and (record.reference or None),
        "call": call(fitted.estimator),
        "rows": len(units.X),
        "minority": int(units.minority.sum()),
        "learns_from_minority": fitted.dictionary.n1 > 0,
        "points": len(fitted.dictionary.sizes),
        "without_weight": len(weight) - len(counted) or None,
        "effective_rows": None if np.ptp(counted) == 0.0 else effective(counted),
        "batches": len(units.majority_groups)
        if (units.shared_group >= 0).any()
        else None,
        "smallest_rate": 1.0 / (units.effective_groups + 1.0),
        "one_table": fitted.dictionary.kernel.of_core or None,
        "columns": {str(column): kind for column, kind in kinds.items()},
        "gaps": {str(column): count for column, count in by_column if count},
        "rows_with_gaps": int(training.missing.any(axis=1).sum()),
        **_kernel(fitted),
        **_posterior(fitted),
        **_cutoff(fitted),
        "seed": fitted.estimator.get_params(deep=False).get("random_state"),
        "sha256": hashlib.sha256(units.X.tobytes()).hexdigest(),
        "versions": {
            "python": platform.python_version(),
            **{p: version(p) for p in PACKAGES},
        },
        "doubts": list(fit_warnings(fitted)),
    }
    return {name: value for name, value in found.items() if value is not None}


def call(est: Any) -> str:
    """Return the code that makes an estimator: its parameters that differ from their defaults."""
    defaults = type(est)().get_params(deep=False)
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        given = {n: (v, repr(v)) for n, v in est.get_params(deep=False).items()}
        changed = {n: v for n, v in given.items() if v[1] != repr(defaults[n])}
    texts = (f"{n}={getattr(v, '__name__', text)}" for n, (v, text) in changed.items())
    return f"{type(est).__name__}({', '.join(texts)})"


def _kernel(fitted: Fit) -> dict[str, Any]:
    inner: Any = (kernel := fitted.dictionary.kernel)
    columns = "the columns as they are"
    if kernel.scale:
        inner = kernel.inner
        columns = SCALES[kernel.scale]
    return {
        "kernel": str(kernel),
        "kernel_name": type(inner).__name__,
        "kernel_columns": columns,
        "bandwidth": float(inner.bandwidth) if hasattr(inner, "bandwidth") else None,
        "bandwidth_by": getattr(inner, "criterion", None),
    }


def _posterior(fitted: Fit) -> dict[str, Any]:
    learned = fitted.draws
    of_weights = fitted.quantities
    support = float(np.median(of_weights["posterior"]["effective_support"]))
    if not fitted.has_draws:
        return {"effective_support": support}
    est = fitted.estimator
    own = learned.sampler == "own"
    prior = {
        name: float(np.median(v)) for name, v in of_weights.get("prior", {}).items()
    }
    ratio = np.nan if fitted.prior is None else variance_ratio(learned, fitted.prior)
    ends = ("posterior", 0.5), ("low", 0.05), ("high", 0.95)
    return {
        "effective_support": support,
        "likelihood_scale": learned.model.likelihood_scale,
        "calibrated": est.likelihood_scale == "calibrated",
        "priors": {}
        if own
        else {name: describe(getattr(est, name)) for name in est._priors},
        "sampler": learned.sampler,
        "sampler_name": SAMPLERS[learned.sampler],
        "seconds": None if np.isnan(fitted.seconds) else fitted.seconds,
        **dict(zip(("chains", "draws"), learned.by_chain.shape[:2], strict=True)),
        "r_hat": fitted.convergence[0],
        "ess": fitted.convergence[1],
        "divergences": fitted.divergences,
        "variance_ratio": ratio,
        **dict(zip(("spread", "pull"), fitted.spread_and_pull, strict=True)),
        "quantities": {
            name: {"prior": prior.get(name, np.nan)}
            | {end: float(np.quantile(values, share)) for end, share in ends}
            for name, values in of_weights["posterior"].items()
        },
    }


def _cutoff(fitted: Fit) -> dict[str, Any]:
    units = fitted.rows
    counts = units.weight > 0.0
    classes = {
        "majority": counts & ~units.minority,
        "minority": counts & units.minority,
    }
    return {
        "cutoff": fitted.D_opt,
        "cutoff_rule": how_chosen(fitted.cutoff),
        "chosen_on_rows": not is_given(fitted.cutoff),
        "uncertain": not isinstance(fitted.cutoff, cutoffs.Printed),
        "beyond": {
            name: share(fitted.left_out_scores[of] < 0.0, units.mass[of])
            for name, of in classes.items()
            if of.any()
        },
    }


def share(rows: np.ndarray, weight: np.ndarray | None = None) -> dict[str, float]:
    """Return how many of some rows are so, their share by their weights, and its 90 % interval.

    It is for the effective number of rows, and that of the prior of Jeffreys, Beta(1/2,
    1/2); it starts at 0 if no row counts, and ends at 1 if all do (Brown, Cai and
    DasGupta 2001, Statistical Science 16, 101-133).

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.facts import share
    >>> found = share(np.arange(12) < 2)
    >>> found["count"], found["rows"], round(found["low"], 2), round(found["high"], 2)
    (2, 12, 0.05, 0.39)
    """
    t = np.ones(len(rows)) if weight is None else weight
    count = int(rows.sum())
    n = effective(t)
    part = float(t @ rows / t.sum())
    low, high = map(
        float, beta(n * part + 0.5, n * (1.0 - part) + 0.5).ppf([0.05, 0.95])
    )
    ends = {"low": low if count else 0.0, "high": high if count < len(rows) else 1.0}
    return {"count": count, "rows": len(rows), "share": part, **ends}


# what reads them


def described(found: Mapping[str, Any]) -> str:
    """Return a fit in some lines: rows, kernel, prior, draws, cutoff, and what to ask it next."""
    every = [
        *lines(found),
        *(("doubt", text) for text in found["doubts"]),
        ("next", NEXT),
    ]
    filled = [
        textwrap.fill(
            f"  {name:8}{text}", 100, subsequent_indent=" " * 12, break_long_words=False
        )
        for name, text in every
    ]
    return "\n".join([f"{found['model']}, fitted", *filled])


def lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a fit is worth in words, each text with the name of its subject."""
    n = found["rows"]
    n1 = found["minority"]
    columns = found["columns"]
    categories = sum(kind == "category" for kind in columns.values())
    size = f"{n - n1} majority, {n1} minority" if n1 else f"{n} rows"
    of = f" ({categories} of categories)" * bool(categories)
    size += f"; {len(columns)} columns{of}; {found['points']} points"
    return [
        ("rows", size),
        ("job", job(found)),
        *_learned(found),
        ("cutoff", decided(found)),
    ]


def job(found: Mapping[str, Any]) -> str:
    """Return what a fit is for, and which rows count."""
    n = found["rows"]
    n1 = found["minority"]
    some = "without_weight" in found
    rest = n - n1 - found.get("without_weight", 0)
    text = f"new rows: all {'majority ' * bool(n1)}rows count as normal"
    if "one_table" in found:
        core = f"the description rests on the {rest} that are most alike"
        core = core if some else "each counts with the weight 1 - P(odd)"
        text = f"one table: odd rows may be among its {n}; {core}"
    elif some:
        of = "majority rows" if n1 else "rows"
        text += f"; {found['without_weight']} {of} count nothing, {rest} {of} count"
    if "effective_rows" in found and "one_table" not in found:
        text += (
            f"; by their weights they are {found['effective_rows']:.0f} rows in effect"
        )
    if "batches" in found:
        text += f"; asked of rows of a new batch: {found['batches']} batches leave one by one, and "
        text += f"the smallest rate that they can hold is {found['smallest_rate']:.2g}"
    return text


def _learned(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "kernel", found["kernel"]
    if "chains" in found:
        priors = ", ".join(f"{name} = {text}" for name, text in found["priors"].items())
        yield (
            "prior",
            f"{priors or 'that of your draws'}; λ = {found['likelihood_scale']:.4g}",
        )
        draws = (
            f"{found['chains']} chains of {found['draws']} by {found['sampler_name']}"
        )
        draws += f" in {found['seconds']:.2g} s" if "seconds" in found else ""
        if np.isfinite(found["r_hat"]):
            draws += f"; R-hat of s is at most {found['r_hat']:.3f}"
        if np.isfinite(found["ess"]):
            draws += f"; its effective sample size is at least {found['ess']:.0f}, so the Monte "
            draws += (
                f"Carlo error of P(normal) is at most {0.5 / np.sqrt(found['ess']):.2g}"
            )
        yield "draws", f"{draws}; {found['divergences']:.0f} divergences"
    else:
        unseen = (
            "what is uncertain of the cutoff and of rows that the sample has not shown"
        )
        counts = f"; P(normal) counts {unseen}" if found["uncertain"] else ""
        yield "draws", f"none: one estimate of the weights{counts}"
    yield "worth", worth(found)


def worth(found: Mapping[str, Any]) -> str:
    """Return what the posterior is worth in sentences."""
    sentences = []
    spread = found.get("spread", np.nan)
    pull = found.get("pull", np.nan)
    if np.isfinite(spread):
        width = f"too {'narrow' if spread < 1.0 else 'wide'}"
        if AS_WIDE[0] <= spread <= AS_WIDE[1]:
            width = "about as wide as they should be"
        sentences.append(
            "Near the cutoff, the posterior standard deviation of the similarity to "
            f"the centre is {spread:.2f} times that between samples of this size: its "
            f"intervals are {width}."
        )
    if np.isfinite(pull):
        sentences.append(f"The prior moves its mean by {pull:+.2f} of them.")
    before = (
        found.get("quantities", {}).get("effective_support", {}).get("prior", np.nan)
    )
    of_prior = f"; those of the prior on {before:.1f}" if np.isfinite(before) else ""
    support = f"{found['effective_support']:.1f} effective rows of {found['rows']}"
    return " ".join([*sentences, f"The weights rest on {support}{of_prior}."])


def decided(found: Mapping[str, Any]) -> str:
    """Return how the cutoff was chosen, and how many left-out rows lie on its wrong side."""
    text = (
        f"A row is normal if P(normal) exceeds .5. The cutoff {found['cutoff_rule']}. "
    )
    text += f"As a distance it is {found['cutoff']:.6g}. "
    if "one_table" in found:
        return (
            f"{text}It is for new rows; stand_out says which rows of the table are odd."
        )
    labelled = found["minority"] > 0
    by = "by weight " * ("effective_rows" in found)
    said = " and ".join(
        f"{of['count']} of {of['rows']} {f'{name} ' * labelled}rows "
        f"({by}{of['share']:.2f} [{of['low']:.2f}, {of['high']:.2f}])"
        for name, of in found["beyond"].items()
    )
    of_rows = " It was chosen on these rows: only new rows are independent evidence."
    text += f"Left out, with 90 % intervals, {said} lie beyond it."
    return text + of_rows if found["chosen_on_rows"] else text
