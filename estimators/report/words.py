"""What a fit says of itself, in sentences: rows, convergence, cutoff, citation and rerun."""

from __future__ import annotations

import hashlib
import inspect
import math
import platform
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from ...inference import cutoffs, diagnostics
from ...inference.cutoff import Cutoff, as_cutoff
from ...inference.warning import collected
from ...models import kernels, priors
from ...models.kernels.base import is_number
from ...models.priors.base import describe
from ..fit import Fit, warn_of_far_rows
from ..joined import Joined
from ..registry import ESTIMATORS, Record

PACKAGES = ("bsvdd", "pymc", "pytensor", "numpy", "scipy", "scikit-learn")
SPREAD = (0.8, 1.25)  # of samples, within which intervals are about as wide as they should be
METRICS = {
    "g_mean": "the G-mean of both classes",
    "balanced_accuracy": "the balanced accuracy",
    "f1": "F1 of the minority",
}
SAMPLERS = {
    "exact": "The posterior has a closed form, and its draws are independent.",
    "hmc": "The draws are those of Hamiltonian Monte Carlo, with parallel chains.",
    "nuts": "The draws are those of NUTS.",
    "metropolis": "The draws are those of random-walk Metropolis.",
}


def record_of(est: Any) -> Record | None:
    """Return the record of the model; None for a class that is not in the registry."""
    found = (record for record in ESTIMATORS.values() if record.class_name == type(est).__name__)
    return next(found, None)


def described(est: Any) -> str:
    """Return a fit in some lines: rows, kernel, prior, draws, cutoff, and what to ask it next."""
    fit, parameters = est.fit_, est.get_params(deep=False)
    data, categories = fit.data, len(est.kernel_.categorical_columns)
    n, n1 = len(data.rows), int(data.minority.sum())
    columns = f"{est.n_features_in_} columns"
    if categories:
        columns += f" ({categories} of categories)"
    lines = {
        "rows": f"{n - n1} majority, {n1} minority; {columns}; {data.gram.n_points} points",
        "kernel": "; ".join(
            str(each.kernel_) for each in getattr(est, "views_", {"": est}).values()
        ),
    }
    priors_of = [f"{k} = {describe(v)}" for k, v in parameters.items() if k.endswith("prior")]
    if fit.draws.is_posterior:
        lines["prior"] = f"{', '.join(priors_of)}; λ = {est.likelihood_scale_:.4g}"
    lines["draws"] = " ".join(convergence(est))
    lines["cutoff"] = " ".join(cutoff(est))
    lines["next"] = (
        "est.training_decision() for these rows, est.decision(X) for others, est.explain(X) for "
        "reasons, est.report('model.html') for all"
    )
    filled = [
        textwrap.fill(f"{name:8}{text}", 98, subsequent_indent=" " * 10, break_long_words=False)
        for name, text in lines.items()
    ]
    return "\n".join([f"{type(est).__name__}, fitted", *(f"  {line}" for line in filled)])


def convergence(est: Any) -> list[str]:
    """Return whether the draws can be trusted, and why; of views, one after another."""
    if not isinstance(est.fit_.center, Joined):
        return list(_convergence(est.fit_))
    joined = ", ".join(f"{view.name} ({view.weight:g})" for view in est.fit_.center.views)
    return [
        f"Views that are joined, with their weights: {joined}.",
        *(f"{name}: {' '.join(convergence(each))}" for name, each in est.views_.items()),
        *(f"View {name!r} has no part: {reason}." for name, reason in est.failed_.items()),
    ]


def _convergence(fit: Fit) -> Iterator[str]:
    report, numbers, gram = fit.draws.report, fit.diagnostics, fit.data.gram
    if not fit.draws.is_posterior:
        yield "The model has one solution and no posterior, so there is nothing to converge. " + (
            "P(normal) and the intervals count the uncertainty of the cutoff and of rows that the "
            "sample has not shown."
            if fit.has_center
            else "P(normal) is 0 or 1, and there are no intervals."
        )
    else:
        chains, draws = fit.draws.shape
        time = "" if report.seconds is None else f" in {report.seconds:.2g} s"
        sampler = SAMPLERS.get(report.sampler, report.sampler)
        yield f"{sampler} {chains} chains of {draws} draws{time}."
        if report.why is not None:
            yield f"Why this sampler: {report.why}."
        with collected() as messages:
            diagnostics.warn_of_draws(numbers, chains, draws, gram.n1)
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
    if "effective_support" in numbers:
        support = (lambda: np.nan) if fit.prior is None else fit.prior.effective_support
        with collected() as messages:
            diagnostics.warn_of_collapse(numbers, gram.n_points, support)
        yield from (f"{text[0].upper()}{text[1:]}." for text, _ in messages)
        if not messages:
            yield (
                f"The weights are spread over an effective number of "
                f"{numbers['effective_support']:.1f} of {gram.n_points} points: they have not "
                "collapsed."
            )
    if "nystroem_residual" in numbers:
        yield (
            f"The landmarks miss a share of {numbers['nystroem_residual']:.2g} of the rows' images."
        )


def worth(est: Any, value: Mapping[str, float]) -> list[str]:
    """Return what the posterior is worth: ``value`` are the posterior's of the summary."""
    sentences = []
    ratio, spread, pull = (float(value[name]) for name in ("variance_ratio", "spread", "pull"))
    with collected() as messages:
        diagnostics.warn_of_prior(ratio, getattr(est, "likelihood_scale", 1) == "calibrated")
    sentences += [f"{text[0].upper()}{text[1:]}." for text, _ in messages]
    if ratio <= diagnostics.IS_PRIOR:
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


def cutoff(est: Any) -> list[str]:
    """Return how the cutoff was chosen, and how many left-out rows lie on its wrong side."""
    is_minority = est.fit_.data.minority
    try:
        scores = est.left_out_scores()
    except ValueError as error:  # the fit has a cutoff of its own, and rows cannot be left out
        return [f"A row is normal if its score is at least 0. No row can be left out: {error}."]
    known, normal, policy = ~np.isnan(scores), scores >= 0.0, as_cutoff(est.cutoff)
    majority, minority = known & ~is_minority, known & is_minority
    within = f"d ≤ {est.cutoff_:.6g}" if est.fit_.has_center else "score ≥ 0"
    rule, display = f"P({within} | data)", ""
    if policy.uncertain and est.fit_.has_center:
        rule, display = "P(normal)", f"As a distance, the cutoff is {est.cutoff_:.6g}. "
    beyond = f"{(majority & ~normal).sum()} of {majority.sum()} majority rows lie beyond it"
    if minority.any():
        beyond += f", and {(minority & normal).sum()} of {minority.sum()} minority rows within it"
    with collected() as far:
        warn_of_far_rows(est.fit_)
    return [
        f"A row is normal if {rule} exceeds {est.fit_.level:g}. {display}"
        + _chosen(policy, is_minority),
        f"Left out, {beyond}. The cutoff was chosen on these rows, so this is no independent "
        "evidence; new rows with labels, est.report(path, X, y), are.",
        *(f"{text[0].upper()}{text[1:]}." for text, _ in far),
    ]


def none_beyond(n: int, rate: float) -> str:
    """Return that none of n left-out rows can lie beyond the cutoff, or nothing if some can.

    The cutoff is row number ceil((1 - rate)(n + 1)), which is at most n - 1 if n >= 2/rate - 1.

    Examples
    --------
    >>> from bsvdd.estimators.report.words import none_beyond
    >>> none_beyond(18, 0.1)
    'With fewer than 19 rows the cutoff lies at the oddest left-out row, so none can lie beyond it.'
    >>> none_beyond(19, 0.1)
    ''
    """
    enough = math.ceil(2.0 / rate - 1.0 - 1e-9)
    if n >= enough:
        return ""
    return (
        f"With fewer than {enough} rows the cutoff lies at the oddest left-out row, so none can "
        "lie beyond it."
    )


def _chosen(policy: Cutoff, minority: np.ndarray) -> str:
    if is_number(policy.choose):
        return "This cutoff was given as a number."
    best, said = "", "is the model's own boundary"
    match policy.chooser(minority):
        case cutoffs.Best(metric):
            best = METRICS[metric]
        case cutoffs.Cost(miss):
            best = f"the cost, with a miss at {miss:g} false alarms"
        case cutoffs.FalseAlarm(rate):
            said = f"asks for a false-alarm rate of {rate:g}, by the conformal quantile of "
            said += "left-out rows"
        case cutoffs.Rank(c):
            said = f"is the distance number {c!r} of the majority"
    return f"This cutoff {f'has the best value of {best} on left-out rows' if best else said}."


def code(est: Any) -> str:
    """Return code that fits the same model to the same rows.

    A function of the user, such as a prior, is its name, and an array is ``array``. A random state
    that is no number is left out: it is the caller's, and has moved on.
    """
    defaults = inspect.signature(type(est)).parameters
    parameters = est.get_params(deep=False)
    drawn = not isinstance(parameters["random_state"], int | np.integer)
    arguments = {
        name: _code(value)
        for name, value in parameters.items()
        if repr(value) != repr(defaults[name].default) and not (drawn and name == "random_state")
    }
    call = f"{type(est).__name__}({', '.join(f'{k}={v}' for k, v in arguments.items())})"
    names = dict.fromkeys(re.findall(r"\b(cutoffs|kernels|priors|(?<!\.)[A-Z]\w*)[.(]", call))
    label = est.fit_.data.label
    fit = "est.fit(X, y)" if label is None else f"est.fit(X, {label!r})"
    if not est.labels_:
        fit = "est.fit(X)"
    if est.minor_label is not None:  # ``bsvdd fit`` has 1 for what --minor names
        fit += f"  # y is {est.minor_label!r} in minority rows"
    return f"from bsvdd import {', '.join(names)}\n\nest = {call}\n{fit}"


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


def rerun(est: Any) -> dict[str, str]:
    """Return what has to be the same for the same numbers."""
    data = est.fit_.data
    return {
        "seed of the fit": str(data.seed),
        "SHA-256 of the rows that the fit holds": hashlib.sha256(data.rows.tobytes()).hexdigest(),
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }
