"""What a fit says of itself, in sentences: rows, convergence, cutoff, citation and rerun."""

from __future__ import annotations

import hashlib
import inspect
import platform
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from scipy.stats import binomtest

from ...inference import diagnostics
from ...inference.cutoff import Cutoff, as_cutoff
from ...inference.warning import collected
from ...models import kernels, priors
from ..plots.common import Fitted
from ..registry import MODELS, Record

PACKAGES = ("bsvdd", "pymc", "pytensor", "numpy", "scipy", "scikit-learn")
SAMPLERS = {
    "exact": "The posterior has a closed form, and its draws are independent.",
    "laplace": "The draws are those of Laplace's approximation, corrected by independence "
    "Metropolis-Hastings.",
    "hmc": "The draws are those of Hamiltonian Monte Carlo around Laplace's approximation, with "
    "many chains in step.",
    "nuts": "The draws are those of NUTS.",
    "metropolis": "The draws are those of random-walk Metropolis.",
    "reweighted": "The draws are those of another prior, reweighted.",
    "bootstrap": "The draws are those of the weighted likelihood bootstrap, with a calibrated "
    "weight of the likelihood.",
}


def record_of(est: Any) -> Record | None:
    """Return the record of the model; None for a class that is not in the registry."""
    name = type(est).__name__
    found = [record for record in MODELS.values() if record.class_name == name]
    return found[0] if found else None


def convergence(est: Fitted) -> list[str]:
    """Return whether the draws can be trusted, and why."""
    return list(_convergence(est))


def _convergence(est: Fitted) -> Iterator[str]:
    posterior = est.idata_.children["posterior"]
    value = est.idata_.children["diagnostics"].to_dataset()
    numbers = {str(name): float(v) for name, v in value.items()}
    M = posterior.dataset.sizes.get("point", 0)
    sampler = str(posterior.attrs.get("sampler", "none"))
    if sampler == "none":
        yield (
            "The model has one solution and no posterior, so there is nothing to converge. "
            "P(normal) is 0 or 1, and there are no intervals."
        )
    else:
        chains, draws = posterior.dataset.sizes["chain"], posterior.dataset.sizes["draw"]
        seconds = posterior.attrs.get("seconds")
        time = "" if seconds is None else f" in {float(seconds):.2g} s"
        yield f"{SAMPLERS.get(sampler, sampler)} {chains} chains of {draws} draws{time}."
        if "why" in posterior.attrs:
            yield f"Why this sampler: {posterior.attrs['why']}."
        with collected() as messages:
            diagnostics.warn_of_draws(value, chains, draws, est.gram_.n1)
        if messages:
            yield from (f"Do not trust the draws yet: {text}." for text, _ in messages)
        else:
            agree = (
                f"The chains agree: R-hat of d is at most {numbers['r_hat']:.3f}, below "
                f"{diagnostics.MAX_R_HAT}. "
                if chains > 1
                else ""
            )
            error = 0.5 / np.sqrt(numbers["ess"])
            yield (
                f"{agree}The smallest effective sample size of d is {numbers['ess']:.0f} of "
                f"{chains * draws} draws, so the Monte Carlo error of P(normal) is at most "
                f"{error:.2g}. No diagnostic gave a warning."
            )
        if "pareto_k" in posterior.attrs:
            yield f"Pareto k of the importance weights is {float(posterior.attrs['pareto_k']):.2f}."
    if "effective_support" in numbers:
        with collected() as messages:
            diagnostics.warn_of_collapse(value, M)
        yield from (f"{text[0].upper()}{text[1:]}." for text, _ in messages)
        if not messages:
            yield (
                f"The weights are spread over an effective number of "
                f"{numbers['effective_support']:.1f} of {M} points: they have not collapsed."
            )
    if "nystroem_residual" in numbers:
        yield (
            f"The landmarks miss a share of {numbers['nystroem_residual']:.2g} of the rows' images."
        )


def cutoff(est: Fitted) -> list[str]:
    """Return how the cutoff was chosen, and how often left-out majority rows exceed it."""
    policy = as_cutoff(est.cutoff)
    minority = est._fit.data.minority
    sentences = [
        f"A row is normal if P(d ≤ {est.cutoff_:.6g} | data) exceeds {est.level_:g}. "
        + _chosen(policy, bool(minority.any()))
    ]
    scores = est.left_out_scores()
    known = ~np.isnan(scores)
    flagged = scores < est.offset_
    k, n = int((flagged & ~minority & known).sum()), int((~minority & known).sum())
    sentences.append(
        f"Realised false alarms: {share(k, n)} of the majority rows are called abnormal when they "
        "are left out."
    )
    if minority.any():
        k, n = int((~flagged & minority & known).sum()), int((minority & known).sum())
        if n:
            sentences.append(f"Realised misses: {share(k, n)} of the minority rows are normal.")
        sentences.append(
            "The cutoff was chosen on these rows, so both rates are a little too good; new rows "
            "with labels, est.report(path, X, y), have no such advantage."
        )
    return sentences


def _chosen(policy: Cutoff, labels: bool) -> str:
    criterion = policy.criterion
    if not isinstance(criterion, str):
        return "This cutoff was given as a number."
    if criterion == "model":
        return "This cutoff is the model's own boundary."
    if criterion == "auto":
        criterion = "g_mean" if labels else "false_alarm"
    if criterion == "false_alarm":
        return (
            f"This cutoff asks for a false-alarm rate of {policy.false_alarm_rate:g}, by the "
            "conformal quantile of left-out rows."
        )
    if criterion == "rank":
        return f"This cutoff is the distance number {policy.rank!r} of the majority."
    names = {
        "g_mean": "the G-mean of both classes",
        "balanced_accuracy": "the balanced accuracy",
        "f1": "F1 of the minority",
        "cost": f"the cost, with a miss at {policy.miss_cost:g} false alarms",
    }
    return f"This cutoff has the best value of {names[criterion]} on left-out rows."


def share(k: int, n: int) -> str:
    """Return k of n with its share and the 95 % interval of Clopper and Pearson (1934).

    Examples
    --------
    >>> from bsvdd.estimators.report.words import share
    >>> share(9, 99)
    '9 of 99 (9.1 %, 95 % interval 4.2 to 16.6 %)'
    """
    interval = binomtest(k, n).proportion_ci(0.95, "exact")
    return (
        f"{k} of {n} ({100 * k / n:.1f} %, 95 % interval {100 * interval.low:.1f} to "
        f"{100 * interval.high:.1f} %)"
    )


def code(est: Any) -> str:
    """Return code that fits the same model to the same rows.

    A function of the user, such as a prior, is its name, and an array is ``array``.
    """
    defaults = inspect.signature(type(est)).parameters
    arguments = {
        name: _code(value)
        for name, value in est.get_params(deep=False).items()
        if repr(value) != repr(defaults[name].default)
    }
    call = f"{type(est).__name__}({', '.join(f'{k}={v}' for k, v in arguments.items())})"
    names = list(dict.fromkeys(re.findall(r"\b([A-Z]\w*)\(", call)))
    lines = []
    for place, module in (("bsvdd.kernels", kernels), ("bsvdd.priors", priors)):
        inside = [name for name in names if hasattr(module, name)]
        if inside:
            lines.append(f"from {place} import {', '.join(inside)}")
            names = [name for name in names if name not in inside]
    first = f"from bsvdd import {', '.join(names)}"
    fit = "est.fit(X, y)"
    if est.minor_label is not None:  # ``bsvdd fit`` has 1 for what --minor names
        fit += f"  # y is {est.minor_label!r} in minority rows"
    return "\n".join([first, *lines, "", f"est = {call}", fit])


def _code(value: Any) -> str:
    """Return a parameter as code, with all digits."""
    if is_dataclass(value) and not isinstance(value, type):
        arguments = [
            f"{each.name}={_code(getattr(value, each.name))}"
            for each in fields(value)
            if each.init and repr(getattr(value, each.name)) != repr(each.default)
        ]
        return f"{type(value).__name__}({', '.join(arguments)})"
    if isinstance(value, np.ndarray):
        return "array"
    return getattr(value, "__name__", None) or repr(value)


def rerun(est: Fitted) -> dict[str, str]:
    """Return what has to be the same for the same numbers."""
    rows = np.ascontiguousarray(est._fit.data.rows)
    return {
        "seed of the fit": str(est._fit.data.seed),
        "SHA-256 of the rows that the fit holds": hashlib.sha256(rows.tobytes()).hexdigest(),
        "Python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }
