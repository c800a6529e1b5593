r"""What a fit is worth: ``bsvdd.facts(est)``, which its print, its summary and its report read.

Of quantities with draws there are the median of their prior, and the median and a 90 % interval of
their posterior (``prior``, ``posterior``, ``low``, ``high``):

- ``effective_support``, :math:`(\sum |w_j|)^2 / \sum w_j^2 / n_j`: the effective number of rows,
  with :math:`n_j` the rows of a point;
- ``largest_weight``, :math:`\max_j |w_j| / n_j`;
- ``minority_total``, :math:`\sum_j \alpha_{1j}`, if there are minority points;
- ``squared_norm``, :math:`\|a\|^2 = w^\top K w`;
- ``typical_distance``, the median of d over the majority's training rows.

Three numbers are medians over (up to 20) training rows near the cutoff: majority rows whose
left-out similarity lies between the 3 % and the 33 % quantile. Each row z leaves the points, so
that :math:`s_z` is the similarity of a new row in its place. The mean, the variance and the sum are
over the posterior draws, and x runs over the other majority rows that the fit holds.

- ``variance_ratio``, the posterior variance of :math:`s_z` over its prior variance: 1 if the
  posterior is its prior. The prior's sd sets how small it can be, so it is no measure of learning;
- ``spread``, the posterior sd of :math:`s_z` over its sd between samples of this size,
  :math:`t \sqrt{\mathrm{Var}_x\, k(z, x) / n_0}` with t the total of the majority's weights: 1 if
  an interval has the width that a sample of n0 rows gives;
- ``pull``, the shift of the mean of :math:`s_z` in posterior sd, away from equal weights of the
  majority, :math:`t\, \mathrm{mean}_x\, k(z, x)`. A flat prior hardly moves this mean, so the pull
  is that of an informative prior, and of given points that lie apart from the rows. The mean of
  :math:`\log s_z` would move for its skewness alone.
"""

from __future__ import annotations

import hashlib
import platform
import textwrap
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

from ...inference import cutoffs
from ...inference.cutoff import Cutoff
from ...inference.draws import OWN
from ...inference.sampling import parallel_chains
from ...models.kernels import Tabular
from ...models.kernels.base import Wrapper, as_kernel, is_number
from ..fit import LISTED, Fit, Fitted, is_calibrated
from ..fitting import doubts, doubts_of_cutoff
from ..registry import find
from ..table import TrainingTable, require_one_fit
from ..tree import quantities

PACKAGES = ("bsvdd", "pymc", "pytensor", "numpy", "scipy", "scikit-learn")
WORTH = ("variance_ratio", "spread", "pull", "r_hat", "ess")  # one number each in a summary
AS_WIDE = (0.8, 1.25)  # spread, within which intervals are about as wide as they should be
METRICS = {
    "g_mean": "the G-mean of both classes",
    "balanced_accuracy": "the balanced accuracy",
    "f1": "F1 of the minority",
}
SAMPLERS = {
    OWN: "a sampler of your own",
    "exact": "independent draws of a posterior in closed form",
    "hmc": "Hamiltonian Monte Carlo ({} parallel chains that were joined)",
    "nuts": "the no-U-turn sampler",
    "metropolis": "random-walk Metropolis",
}
SCALES = {
    "both": "standardised columns and their normal scores, side by side",
    "standardised": "standardised columns",
    "normal scores": "normal scores of the columns",
}
NEXT = (
    "est.decision() for these rows, est.decision(X) for others, bsvdd.explain(est, X) for reasons, "
    "bsvdd.report(est, 'model.html') for all"
)


def facts(est: Fitted) -> dict[str, Any]:
    """Return what a fit is worth, by name.

    Parameters
    ----------
    est : fitted estimator

    Returns
    -------
    dict
        Numbers, texts, and lists and dicts of them, ready for ``json.dumps``. What a fit has not
        is not there.

        - ``model``, ``name``, ``title``, ``reference``: class, name in tables, what it is, source;
        - ``rows``, ``minority``: numbers of training rows, and of minority rows among them;
          ``learns_from_minority``; ``points``: how many carry weights; ``core``: how many rows the
          description rests on, where odd rows may be among them (``est.fit_predict``), and
          ``core_share``, the least share of them; ``list_rate``: of false discoveries, if a list
          of odd rows decides on these rows, and not the cutoff;
        - ``columns``: how each is read; ``rows_with_gaps``, and ``gaps``: how many each column has;
        - ``kernel``, ``kernel_name``, ``kernel_columns``: what it sees of the columns;
          ``bandwidth``, and the criterion that chose it, ``bandwidth_by``, None if it was given;
        - ``priors``; ``likelihood_scale``, λ, and whether it is ``calibrated``;
        - ``sampler``, ``sampler_name``, ``sampler_why``, ``seconds``; ``chains`` of ``draws``;
          ``r_hat`` and ``ess``, the largest R-hat and the smallest effective sample size of d, NaN
          for one chain, and for a value that never changes; ``divergences``;
        - ``variance_ratio``, ``spread``, ``pull`` and ``quantities``, see
          :mod:`bsvdd.estimators.questions.facts`; ``effective_support``, ``nystroem_residual``: the
          share of the rows' images that given points miss;
        - ``cutoff``, D_opt; ``cutoff_rule``, and whether left-out training rows chose it,
          ``chosen_on_rows``; ``level``: a row is normal if P(normal) exceeds it; ``uncertain``:
          whether P(normal) counts what is uncertain of the cutoff and of rows that the sample has
          not shown; ``beyond``: how many rows of each class lie beyond the cutoff, each left out,
          with their share and its 90 % interval; or ``none_left_out``, the reason;
        - ``doubts``: why not to trust the fit, and what to do: the fit warned of them;
        - ``call``: the model with its parameters; ``seed``, ``sha256`` of the rows, ``versions``.

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
    (99, 2, 1000, [])
    >>> found["r_hat"] < 1.01 and 0.5 < found["spread"] < 2.0
    True
    """
    require_one_fit(est, "summary")
    return of_fit(est.fit_)


def of_fit(fit: Fit) -> dict[str, Any]:
    """Return the facts of a fit."""
    data, spec = fit.data, fit.spec
    record = find(spec.name)
    kinds = {} if data.kernel.pairwise else TrainingTable.of(data).kinds
    by_column = () if data.gaps is None else zip(kinds, data.gaps.sum(axis=0).tolist(), strict=True)
    found = {
        "model": spec.name,
        "name": spec.name if record is None else record.name,
        "title": record and record.title,
        "reference": record and (record.reference or None),
        "call": repr(spec.estimator(**spec.parameters)),
        "rows": len(data.rows),
        "minority": int(data.minority.sum()),
        "learns_from_minority": data.gram.n1 > 0,
        "points": data.gram.n_points,
        "core": data.core and int(data.core.rows.sum()),
        "core_share": data.core and data.core.share,
        "list_rate": LISTED if fit.lists else None,
        "columns": {str(name): kind for name, kind in kinds.items()},
        "gaps": {str(name): count for name, count in by_column if count},
        "rows_with_gaps": 0 if data.gaps is None else int(data.gaps.any(axis=1).sum()),
        **_kernel(fit),
        **_posterior(fit),
        **_cutoff(fit),
        "seed": data.seed,
        "sha256": hashlib.sha256(data.rows.tobytes()).hexdigest(),
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
    }
    found["doubts"] = [*doubts(fit), *doubts_of_cutoff(fit)]
    return {name: value for name, value in found.items() if value is not None}


def _kernel(fit: Fit) -> dict[str, Any]:
    kernel, columns = fit.data.kernel, "the columns as they are"
    inner: Any = kernel
    if isinstance(kernel, Wrapper):
        inner = as_kernel(kernel.kernel)
        columns = SCALES[kernel.scale if isinstance(kernel, Tabular) else "standardised"]
    return {
        "kernel": str(kernel),
        "kernel_name": type(inner).__name__,
        "kernel_columns": columns,
        "bandwidth": float(inner.bandwidth) if hasattr(inner, "bandwidth") else None,
        "bandwidth_by": getattr(inner, "criterion", None),
    }


def _posterior(fit: Fit) -> dict[str, Any]:
    numbers, posterior = fit.diagnostics, fit.learned.posterior
    shared = ("effective_support", "nystroem_residual")
    found: dict[str, Any] = {name: float(numbers[name]) for name in shared if name in numbers}
    if posterior is None:
        return found
    attrs, report, near = dict(fit.attrs), posterior.report, fit.near_cutoff
    w, of_weights = posterior.weights, quantities(fit)
    prior = {name: float(np.median(v)) for name, v in of_weights.get("prior", {}).items()}
    ends = ("posterior", 0.5), ("low", 0.05), ("high", 0.95)
    return found | {
        "likelihood_scale": float(attrs.pop("likelihood_scale")),
        "calibrated": is_calibrated(fit),
        "priors": attrs,
        "sampler": report.sampler,
        "sampler_name": SAMPLERS[report.sampler].format(parallel_chains(posterior.shape[0])),
        "sampler_why": report.why,
        "seconds": report.seconds,
        **dict(zip(("chains", "draws"), posterior.shape, strict=True)),
        **{name: float(numbers[name]) for name in ("r_hat", "ess", "divergences")},
        "variance_ratio": near.variance_ratio(w, fit.prior.weights) if fit.prior else np.nan,
        **dict(zip(("spread", "pull"), near.against_samples(w), strict=True)),
        "quantities": {
            name: {"prior": prior.get(name, np.nan)}
            | {end: float(np.quantile(values, share)) for end, share in ends}
            for name, values in of_weights["posterior"].items()
        },
    }


def _cutoff(fit: Fit) -> dict[str, Any]:
    policy, minority = fit.cutoff, fit.data.minority
    found = {
        "cutoff": float(fit.distance),
        "cutoff_rule": rule(policy, minority),
        "chosen_on_rows": policy.of_rows,
        "level": float(fit.level),
        "uncertain": policy.uncertain and policy.of_rows,
    }
    try:
        known = ~np.isnan(fit.left_out)
    except ValueError as error:  # the model's own boundary, and too few rows for folds
        return {**found, "none_left_out": str(error)}
    classes = {"majority": known & ~minority, "minority": known & minority}
    beyond = {name: share(fit.left_out[of] < 0.0) for name, of in classes.items() if of.any()}
    return {**found, "beyond": beyond}


def rule(policy: Cutoff, minority: np.ndarray) -> str:
    """Return the predicate of a sentence on the cutoff: how it was chosen."""
    if is_number(policy.choose):
        return "was given as a number"
    match policy.chooser(minority):
        case cutoffs.Best(metric, max_fpr):
            limit = f" with at most {max_fpr:g} of the majority beyond it," if max_fpr else ""
            return f"has the best value of {METRICS[metric]}{limit} on left-out rows"
        case cutoffs.Cost(miss):
            return f"has the best cost, with a miss at {miss:g} false alarms, on left-out rows"
        case cutoffs.FalseAlarm(rate):
            how = "quantile in each draw" if policy.uncertain else "conformal quantile"
            return f"asks for a false-alarm rate of {rate:g}, by the {how} of left-out rows"
        case cutoffs.Rank(c):
            return f"is the distance number {c!r} of the majority"
    return "is the model's own boundary"


def share(rows: np.ndarray) -> dict[str, float]:
    """Return how many of some rows are so, their share, and its 90 % interval.

    It is that of the prior of Jeffreys, Beta(1/2, 1/2); it starts at 0 if no row counts, and ends
    at 1 if all do (Brown, Cai and DasGupta 2001, Statistical Science 16, 101-133).

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.facts import share
    >>> found = share(np.arange(12) < 2)
    >>> found["count"], found["rows"], round(found["low"], 2), round(found["high"], 2)
    (2, 12, 0.05, 0.39)
    """
    count, n = int(rows.sum()), len(rows)
    low, high = map(float, beta(count + 0.5, n - count + 0.5).ppf([0.05, 0.95]))
    ends = {"low": low if count else 0.0, "high": high if count < n else 1.0}
    return {"count": count, "rows": n, "share": count / n, **ends}


# what reads them


def summary(found: Mapping[str, Any]) -> pd.DataFrame:
    """Return the table of ``est.summary()``; a ValueError if there is no posterior."""
    if "quantities" not in found:
        raise ValueError(f"{found['model']} has one estimate of the weights and no posterior")
    numbers = {name: {"posterior": found[name]} for name in WORTH}
    table = pd.DataFrame.from_dict({**found["quantities"], **numbers}, orient="index")
    return table.rename_axis("quantity")


def described(found: Mapping[str, Any]) -> str:
    """Return a fit in some lines: rows, kernel, prior, draws, cutoff, and what to ask it next."""
    every = [*lines(found), *(("doubt", text) for text in found["doubts"]), ("next", NEXT)]
    filled = [
        textwrap.fill(f"  {name:8}{text}", 100, subsequent_indent=" " * 12, break_long_words=False)
        for name, text in every
    ]
    return "\n".join([f"{found['model']}, fitted", *filled])


def lines(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return what a fit is worth in words, each text with the name of its subject."""
    n, n1, columns = found["rows"], found["minority"], found["columns"]
    categories = sum(kind == "category" for kind in columns.values())
    size = f"{n - n1} majority, {n1} minority; {len(columns)} columns"
    size += f" ({categories} of categories)" if categories else ""
    size += f"; {found['points']} points"
    job = "new rows: all majority rows count as normal"
    if "core" in found:
        job = f"one table: odd rows may be among its {n}; the description rests on the "
        job += f"{found['core']} that are most alike (core={found['core_share']:g})"
    return [("rows", size), ("job", job), *_learned(found), ("cutoff", decided(found))]


def _learned(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "kernel", found["kernel"]
    if "chains" in found:
        priors = ", ".join(f"{name} = {text}" for name, text in found["priors"].items())
        yield "prior", f"{priors or 'that of your draws'}; λ = {found['likelihood_scale']:.4g}"
        draws = f"{found['chains']} chains of {found['draws']} by {found['sampler_name']}"
        draws += f" in {found['seconds']:.2g} s" if "seconds" in found else ""
        if np.isfinite(found["r_hat"]):
            draws += f"; R-hat of d is at most {found['r_hat']:.3f}"
        if np.isfinite(found["ess"]):
            draws += f"; its effective sample size is at least {found['ess']:.0f}, so the Monte "
            draws += f"Carlo error of P(normal) is at most {0.5 / np.sqrt(found['ess']):.2g}"
        yield "draws", f"{draws}; {found['divergences']:.0f} divergences"
    else:
        unseen = "what is uncertain of the cutoff and of rows that the sample has not shown"
        counts = f"; P(normal) counts {unseen}" if found["uncertain"] else ""
        yield "draws", f"none: one estimate of the weights{counts}"
    if text := worth(found):
        yield "worth", text


def worth(found: Mapping[str, Any]) -> str:
    """Return what the posterior is worth in sentences."""
    sentences, spread, pull = [], found.get("spread", np.nan), found.get("pull", np.nan)
    if np.isfinite(spread):
        width = f"too {'narrow' if spread < 1.0 else 'wide'}"
        if AS_WIDE[0] <= spread <= AS_WIDE[1]:
            width = "about as wide as they should be"
        sentences.append(
            "Near the cutoff, the posterior standard deviation of the similarity to the centre is "
            f"{spread:.2f} times that between samples of this size: its intervals are {width}."
        )
    if np.isfinite(pull):
        sentences.append(f"The prior moves its mean by {pull:+.2f} of them.")
    if "effective_support" in found:
        before = found.get("quantities", {}).get("effective_support", {}).get("prior", np.nan)
        of_prior = f"; those of the prior on {before:.1f}" if np.isfinite(before) else ""
        support = f"{found['effective_support']:.1f} effective rows of {found['rows']}"
        sentences.append(f"The weights rest on {support}{of_prior}.")
    if "nystroem_residual" in found:
        sentences.append(f"The points miss {found['nystroem_residual']:.2g} of the rows' images.")
    return " ".join(sentences)


def decided(found: Mapping[str, Any]) -> str:
    """Return how the cutoff was chosen, and how many left-out rows lie on its wrong side."""
    if "none_left_out" in found:
        why = found["none_left_out"]
        return f"A row is normal if its score is at least 0. No row can be left out: {why}."
    new = "A new row" if "list_rate" in found else "A row"
    chosen = f"The cutoff {found['cutoff_rule']}. As a distance it is {found['cutoff']:.6g}."
    text = f"{new} is normal if P(normal) exceeds {found['level']:g}. {chosen} "
    if "core" in found:
        return f"{text}It is approximate: each row of the table counts with the weight 1 - P(odd)."
    said = " and ".join(
        f"{of['count']} of {of['rows']} {name} rows ({of['share']:.2f} [{of['low']:.2f}, "
        f"{of['high']:.2f}])"
        for name, of in found["beyond"].items()
    )
    of_rows = " It was chosen on these rows: only new rows are independent evidence."
    text += f"Left out, with 90 % intervals, {said} lie beyond it."
    return text + of_rows if found["chosen_on_rows"] else text
