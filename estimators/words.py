"""What a fit says of itself, in sentences: rows, convergence, cutoff, citation and rerun."""

from __future__ import annotations

import hashlib
import inspect
import platform
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.stats import beta

from ..inference import cutoffs, diagnostics
from ..inference.cutoff import Cutoff
from ..inference.draws import OWN
from ..inference.sampling import parallel_chains
from ..inference.warning import collected
from ..models import kernels, priors
from ..models.kernels.base import is_number
from .fit import Fit, is_calibrated, prior_support, support_ratio
from .fitting import warn_of_far_rows, warn_of_limit, warn_of_prior
from .joined import Joined

PACKAGES = ("bsvdd", "pymc", "pytensor", "numpy", "scipy", "scikit-learn")
SPREAD = (0.8, 1.25)  # of samples, within which intervals are about as wide as they should be
METRICS = {
    "g_mean": "the G-mean of both classes",
    "balanced_accuracy": "the balanced accuracy",
    "f1": "F1 of the minority",
}
SAMPLERS = {
    OWN: "The draws are your own.",
    "exact": "The posterior has a closed form, and its draws are independent.",
    "hmc": "The draws are those of Hamiltonian Monte Carlo, {} parallel chains that were joined.",
    "nuts": "The draws are those of NUTS.",
    "metropolis": "The draws are those of random-walk Metropolis.",
}


def described(fit: Fit) -> str:
    """Return a fit in some lines: rows, kernel, prior, draws, cutoff, and what to ask it next."""
    data = fit.data
    n, n1 = len(data.rows), int(data.minority.sum())
    categories = len(data.kernel.categorical_columns)
    columns = f"{data.columns.n} columns"
    if categories:
        columns += f" ({categories} of categories)"
    points = "" if data.gram is None else f"; {data.gram.n_points} points"
    parts = fit.learned.score.fits if isinstance(fit.learned.score, Joined) else {"": fit}
    lines = {
        "rows": f"{n - n1} majority, {n1} minority; {columns}{points}",
        "job": job(fit),
        "kernel": "; ".join(str(part.data.kernel) for part in parts.values()),
    }
    if fit.learned.posterior is not None:
        attrs = dict(fit.attrs)
        scale = attrs.pop("likelihood_scale")
        priors_of = ", ".join(f"{name} = {prior}" for name, prior in attrs.items())
        lines["prior"] = f"{priors_of or 'that of your draws'}; λ = {scale:.4g}"
    lines["draws"] = " ".join(convergence(fit))
    lines["cutoff"] = " ".join(cutoff(fit))
    lines["next"] = (
        "est.decision() for these rows, est.decision(X) for others, bsvdd.explain(est, X) for "
        "reasons, bsvdd.report(est, 'model.html') for all"
    )
    filled = [
        textwrap.fill(f"{name:8}{text}", 98, subsequent_indent=" " * 10, break_long_words=False)
        for name, text in lines.items()
    ]
    return "\n".join([f"{fit.spec.name}, fitted", *(f"  {line}" for line in filled)])


def job(fit: Fit) -> str:
    """Return which job was done: new rows against normal ones, or odd rows in one table."""
    data = fit.data
    if data.core is None:
        return "new rows: all majority rows count as normal"
    n, inside = len(data.rows), int(data.core.rows.sum())
    return (
        f"one table: odd rows may be among its {n}; the description rests on the {inside} that "
        f"are most alike (core={data.core.share:g})"
    )


def convergence(fit: Fit) -> list[str]:
    """Return whether the draws can be trusted, and why; of views, one after another."""
    score = fit.learned.score
    if not isinstance(score, Joined):
        return list(_convergence(fit))
    joined = ", ".join(f"{view.name} ({view.weight:g})" for view in score.views)
    return [
        f"Views that are joined, with their weights: {joined}.",
        *(f"{name}: {' '.join(convergence(each))}" for name, each in score.fits.items()),
        *(f"View {name!r} has no part: {reason}." for name, reason in score.failed.items()),
    ]


def _convergence(fit: Fit) -> Iterator[str]:
    numbers, draws_of = fit.diagnostics, fit.learned.posterior
    if draws_of is None:
        yield "The model has one solution and no posterior, so there is nothing to converge. " + (
            "P(normal) and the intervals count the uncertainty of the cutoff"
            + (" and of rows that the sample has not shown." if fit.score.boundary.unseen else ".")
            if fit.has_center
            else "P(normal) is 0 or 1, and there are no intervals."
        )
    else:
        report, (chains, draws) = draws_of.report, draws_of.shape
        time = "" if report.seconds is None else f" in {report.seconds:.2g} s"
        sampler = SAMPLERS.get(report.sampler, report.sampler).format(parallel_chains(chains))
        yield f"{sampler} {chains} chains of {draws} draws{time}."
        if report.why is not None:
            yield f"Why this sampler: {report.why}."
        with collected() as messages:
            diagnostics.warn_of_draws(numbers, chains, draws, fit.data.gram.n1)
        yield from (f"Do not trust the draws yet: {text}." for text, _ in messages)
        if not messages:
            agree = (
                f"The chains agree: R-hat of d is at most {numbers['r_hat']:.3f}, below "
                f"{diagnostics.MAX_R_HAT}. "
            )
            yield (
                f"{agree if chains > 1 else ''}The smallest effective sample size of d is "
                f"{numbers['ess']:.0f} of {chains * draws} draws, so the Monte Carlo error of "
                f"P(normal) is at most {0.5 / np.sqrt(numbers['ess']):.2g}. No diagnostic of the "
                "draws gave a warning."
            )
        with collected() as messages:
            warn_of_prior(fit)
        yield from (f"{text[0].upper()}{text[1:]}." for text, _ in messages)
    if "effective_support" in numbers:
        gram = fit.data.gram
        n = gram.n0 + gram.n1
        if gram.member_of_row is not None and not gram.points.are_rows:
            yield (
                f"{gram.n0} normal rows are {gram.n_majority_points} points: rows that are equal"
                f"{'' if gram.points.single_members else ', and groups of near rows,'} are one."
            )
        with collected() as messages:
            diagnostics.warn_of_collapse(numbers, n, lambda: prior_support(fit))
        yield from (f"{text[0].upper()}{text[1:]}." for text, _ in messages)
        if not messages:
            yield (
                f"The weights are spread over an effective number of "
                f"{numbers['effective_support']:.1f} of {n} rows: they have not collapsed."
            )
    if "nystroem_residual" in numbers:
        yield (
            f"The points miss a share of {numbers['nystroem_residual']:.2g} of the rows' images."
        )


def worth(fit: Fit, value: Mapping[str, float]) -> list[str]:
    """Return what the posterior is worth: ``value`` are the posterior's of the summary."""
    sentences = []
    ratio, spread, pull = (float(value[name]) for name in ("variance_ratio", "spread", "pull"))
    with collected() as messages:
        diagnostics.warn_of_prior(ratio, support_ratio(fit), is_calibrated(fit))
    sentences += [f"{text[0].upper()}{text[1:]}." for text, _ in messages]
    if np.isfinite(ratio) and not messages:
        sentences.append(
            "Near the cutoff, the similarity of a row to the centre has "
            f"{ratio:.2g} of its prior variance: the posterior is not its prior."
        )
    if np.isfinite(spread):
        width = "about as wide as they should be"
        if not SPREAD[0] <= spread <= SPREAD[1]:
            width = f"too {'narrow' if spread < 1.0 else 'wide'}"
        sentences.append(
            f"The posterior standard deviation of that similarity is {spread:.2g} times that "
            f"between samples of this size: its intervals are {width}."
        )
    if np.isfinite(pull):
        sentences.append(
            f"Against equal weights, the prior moves the mean of that similarity by {pull:+.2g} "
            "posterior standard deviations."
        )
    return sentences


def cutoff(fit: Fit) -> list[str]:
    """Return how the cutoff was chosen, and how many left-out rows lie on its wrong side."""
    is_minority, policy = fit.data.minority, fit.cutoff
    try:
        scores = fit.left_out
    except ValueError as error:  # the fit has a cutoff of its own, and rows cannot be left out
        return [f"A row is normal if its score is at least 0. No row can be left out: {error}."]
    known, normal = ~np.isnan(scores), scores >= 0.0
    majority, minority = known & ~is_minority, known & is_minority
    within = f"d ≤ {fit.distance:.6g}" if fit.has_center else "score ≥ 0"
    rule, display = f"P({within} | data)", ""
    if policy.uncertain and fit.has_center:
        rule, display = "P(normal)", f"As a distance, the cutoff is {fit.distance:.6g}. "
    beyond = f"{_share(~normal[majority])} majority rows lie beyond it"
    if minority.any():
        beyond += f", and {_share(normal[minority])} minority rows within it"
    chosen_here = (
        " The cutoff was chosen on these rows, so this is no independent evidence; new rows with "
        "labels, bsvdd.report(est, path, X, y), are."
        if policy.of_rows
        else ""
    )
    with collected() as far:
        warn_of_far_rows(fit)
        warn_of_limit(fit)
    chosen = f"This cutoff {chosen_by(policy, is_minority)}."
    if fit.data.core is not None:
        new = "A new row" if fit.lists else "A row"
        return [
            f"{new} is normal if {rule} exceeds {fit.level:g}. {display}{chosen} "
            "It is approximate: each row of the table counts with the weight 1 - P(odd).",
            *(f"{text[0].upper()}{text[1:]}." for text, _ in far),
        ]
    return [
        f"A row is normal if {rule} exceeds {fit.level:g}. {display}{chosen}",
        f"Left out, with 90 % intervals, {beyond}.{chosen_here}",
        *_limit(fit),
        *(f"{text[0].upper()}{text[1:]}." for text, _ in far),
    ]


def _share(rows: np.ndarray) -> str:
    """Return how many of some rows are so, with the share and its interval."""
    count, n = int(rows.sum()), len(rows)
    if not n:
        return "0 of 0"
    low, high = jeffreys(count, n)
    return f"{count} of {n} ({count / n:.2f} [{low:.2f}, {high:.2f}])"


def jeffreys(count: int, n: int, prob: float = 0.9) -> tuple[float, float]:
    """Return the interval of a share, count of n rows, by the prior of Jeffreys, Beta(1/2, 1/2).

    It starts at 0 if no row counts, and ends at 1 if all do (Brown, Cai and DasGupta 2001,
    Statistical Science 16, 101-133).

    Examples
    --------
    >>> from bsvdd.estimators.words import jeffreys
    >>> [round(end, 2) for end in jeffreys(2, 12)]
    [0.05, 0.39]
    >>> jeffreys(0, 5)[0], jeffreys(5, 5)[1]
    (0.0, 1.0)
    """
    posterior = beta(count + 0.5, n - count + 0.5)
    low, high = posterior.ppf([(1.0 - prob) / 2.0, (1.0 + prob) / 2.0])
    return float(low) if count else 0.0, float(high) if count < n else 1.0


def _limit(fit: Fit) -> list[str]:
    """Return what the best cutoff without a limit of false alarms would flag, if it is more."""
    choose, left_out = fit.cutoff.chooser(fit.data.minority), fit.chosen.left_out
    if not isinstance(choose, cutoffs.Best) or choose.max_fpr is None or left_out is None:
        return []
    known = ~np.isnan(left_out)
    scores, minority = left_out[known], fit.data.minority[known]
    alone = replace(choose, max_fpr=None)(scores, minority, fit.far)
    rate = (scores[~minority] < alone).mean()
    if rate <= choose.max_fpr or not choose.finds_some(scores, minority):
        return []
    what = METRICS[choose.metric].partition(" of ")[0]
    return [
        f"{what[0].upper()}{what[1:]} alone would flag {rate:.2f} of the majority rows, more than "
        f"max_fpr={choose.max_fpr:g}."
    ]


def chosen_by(policy: Cutoff, minority: np.ndarray) -> str:
    """Return the predicate of a sentence on the cutoff: how it was chosen."""
    if is_number(policy.choose):
        return "was given as a number"
    best, said = "", "is the model's own boundary"
    match policy.chooser(minority):
        case cutoffs.Best(metric, max_fpr):
            best = METRICS[metric]
            if max_fpr is not None:
                best += f" with at most {max_fpr:g} of the majority beyond it,"
        case cutoffs.Cost(miss):
            best = f"the cost, with a miss at {miss:g} false alarms,"
        case cutoffs.FalseAlarm(rate):
            how = "conformal quantile" if not policy.uncertain else "quantile in each draw"
            said = f"asks for a false-alarm rate of {rate:g}, by the {how} of left-out rows"
        case cutoffs.Rank(c):
            said = f"is the distance number {c!r} of the majority"
    return f"has the best value of {best} on left-out rows" if best else said


def code(fit: Fit) -> str:
    """Return code that fits the same model to the same rows.

    A function of the user, such as a prior, is its name, and an array is ``array``. A random state
    that is no number is left out, and the code says so: it is the caller's, and has moved on.
    """
    defaults = inspect.signature(fit.spec.estimator).parameters
    parameters = fit.spec.parameters
    drawn = not isinstance(parameters["random_state"], int | np.integer)
    arguments = {
        name: _code(value)
        for name, value in parameters.items()
        if repr(value) != repr(defaults[name].default) and not (drawn and name == "random_state")
    }
    call = f"{fit.spec.name}({', '.join(f'{k}={v}' for k, v in arguments.items())})"
    names = dict.fromkeys(re.findall(r"\b(cutoffs|kernels|priors|(?<!\.)[A-Z]\w*)[.(]", call))
    label, minor_label = fit.data.label, parameters["minor_label"]
    fitted = "est.fit(X, y)" if label is None else f"est.fit(X, {label!r})"
    if not fit.data.labels:
        one_table = fit.data.core is not None and parameters.get("core") == "auto"
        fitted = "est.fit_predict(X)" if one_table else "est.fit(X)"
    if minor_label is not None and fit.data.labels:  # ``bsvdd fit`` has 1 for what --minor names
        fitted += f"  # y is {minor_label!r} in minority rows"
    if drawn:
        call += "  # random_state was no number"
    return f"from bsvdd import {', '.join(names)}\n\nest = {call}\n{fitted}"


def _code(value: Any) -> str:
    """Return a parameter as code, with all digits."""
    if is_dataclass(value) and not isinstance(value, type):
        arguments = [
            f"{each.name}={_code(getattr(value, each.name))}"
            for each in fields(value)
            if each.init and repr(getattr(value, each.name)) != repr(each.default)
        ]
        name = type(value).__name__
        for module in (cutoffs, kernels, priors):
            if hasattr(module, name):
                name = f"{module.__name__.rpartition('.')[2]}.{name}"
        return f"{name}({', '.join(arguments)})"
    if isinstance(value, np.ndarray):
        return "array"
    return getattr(value, "__name__", None) or repr(value)


def rerun(fit: Fit) -> dict[str, str]:
    """Return what has to be the same for the same numbers."""
    data = fit.data
    return {
        "seed of the fit": str(data.seed),
        "SHA-256 of the rows that the fit holds": hashlib.sha256(data.rows.tobytes()).hexdigest(),
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }
