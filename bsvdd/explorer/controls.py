"""The controls of the explorer: their values, and the estimator that they ask for."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np

from ..estimators.bayesian import Bayesian
from ..estimators.facts import facts
from ..estimators.posterior_checks import false_alarm_rate
from ..inference.cutoffs import FalseAlarm
from ..models import kernels, priors
from ..models.kernels import as_kernel

FAMILIES = {
    "prior": (
        *("Flat", "EqualWeights", "StandardizedRowSum"),
        *("InverseRowSum", "RowSum", "SVDDWeights"),
    ),
    "minority_prior": ("Beta", "TruncatedNormal"),
}
SAYS = {
    "Flat": "All rows weigh the same before the data",
    "EqualWeights": "Each row weighs 1 / n before the data",
    "StandardizedRowSum": "Remote rows weigh more",
    "InverseRowSum": "Remote rows weigh more, by a power of their row sums",
    "RowSum": "As published: nearly all weight on a few remote rows",
    "SVDDWeights": "Weights near those of SVDD",
    "Beta": "Each minority weight, or their total, between 0 and a bound",
    "TruncatedNormal": "Minority weights between 0 and 1",
}
KERNELS = {"RBF": kernels.RBF, "Laplacian": kernels.Laplacian}
FACTORS = [float(f"{2.0 ** (k / 4):.3g}") for k in range(-12, 13)]  # of a bandwidth
RATES = [round(0.01 * k, 2) for k in range(1, 51)]
OF_PRIORS = [float(f"{10.0 ** (k / 10):.2g}") for k in range(-20, 11)]  # of a prior
CUTOFF = "cutoff"  # the value of the rate for the cutoff of the first fit
Values = dict[str, Any]  # of the controls, by name


def numbers(prior: object) -> dict[str, float]:
    """Return the positive numbers of a prior of this package by name."""
    values = vars(prior) if is_dataclass(prior) else {}
    return {
        name: v
        for name, v in values.items()
        if isinstance(v, int | float) and not isinstance(v, bool) and v > 0
    }


@dataclass
class Controls:
    """What can be asked of a first fit.

    Attributes
    ----------
    first : estimator with a posterior
        Fitted.
    own : bool
        Whether a prior can be typed as Python code, which is run.
    """

    first: Bayesian
    own: bool
    _typed: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rate = false_alarm_rate(self.first)
        self._rate = CUTOFF if rate is None else rate
        self._share = facts(self.first).beyond["majority"].share

    def start(self) -> Values:
        """Return the values of the first fit."""
        found: Values = {}
        for p in self.first._priors:
            found |= self._of_family(p, getattr(self.first, p))
        if self.own:
            found["own prior"] = ""
        inner = self.first.kernel_.inner
        return found | {
            "kernel": type(inner).__name__,
            "bandwidth": 1.0,
            "false alarms": self._rate,
        }

    def _of_family(self, p: str, prior: object) -> Values:
        own = {f"{p}.{name}": value for name, value in numbers(prior).items()}
        return {p: type(prior).__name__} | own

    def _family(self, p: str, name: str) -> Any:
        first = getattr(self.first, p)
        known = {type(first).__name__: first}
        if name not in known and name not in FAMILIES[p]:
            raise ValueError(f"no {p} is named {name!r}; there are {FAMILIES[p]}")
        return known[name] if name in known else getattr(priors, name)()

    def moved(self, values: Values, asked: Values) -> Values:
        """Return the values after some of them were moved."""
        found = dict(values)
        for p in self.first._priors:
            if any(name == p or name.startswith(f"{p}.") for name in asked):
                found |= {"own prior": ""} if self.own and p == "prior" else {}
            if asked.get(p, found[p]) != found[p]:  # another family has other numbers
                found = {n: v for n, v in found.items() if not n.startswith(f"{p}.")}
                found |= self._of_family(p, self._family(p, asked[p]))
        if unknown := sorted(set(asked) - set(found)):
            raise ValueError(
                f"no control is named {unknown[0]!r}; there are {', '.join(found)}"
            )
        return found | asked

    def priors(self, values: Values) -> dict[str, Any]:
        """Return the priors by the names of their parameters."""
        found = {}
        for p in self.first._priors:
            family = self._family(p, values[p])
            own = {name: float(values[f"{p}.{name}"]) for name in numbers(family)}
            found[p] = replace(family, **own) if own else family
        if text := values.get("own prior", "").strip():
            if text not in self._typed:
                import pymc as pm

                known = {"priors": priors, "pm": pm, "np": np}
                self._typed[text] = eval(text, known)  # of the user, in own=True only
            found["prior"] = self._typed[text]
        return found

    def kernel(self, values: Values) -> Any:
        """Return the kernel, which is that of the first fit until it is changed."""
        asked = self.first.kernel
        inner: Any = self.first.kernel_.inner
        name, factor = values["kernel"], float(values["bandwidth"])
        if name not in KERNELS or (name == type(inner).__name__ and factor == 1.0):
            return asked
        new = KERNELS[name](bandwidth=float(f"{factor * inner.bandwidth:.4g}"))
        return as_kernel(asked).with_inner(new)

    def cutoff(self, values: Values) -> Any:
        """Return the cutoff, which is that of the first fit until it is changed."""
        rate = values["false alarms"]
        return self.first.cutoff if rate == self._rate else FalseAlarm(float(rate))

    # as the page shows them

    def shown(self, values: Values) -> list[dict[str, Any]]:
        """Return the controls, for the page."""
        found = []
        for p in self.first._priors:
            typed = [""] if p == "prior" and values.get("own prior") else []
            names = [*typed, type(getattr(self.first, p)).__name__, *FAMILIES[p]]
            title = SAYS.get(values[p], "")
            found.append(_select(p, names, "" if typed else values[p], title))
            found += [
                _slider(name, OF_PRIORS, value, "{:g}".format)
                for name, value in values.items()
                if name.startswith(f"{p}.")
            ]
        if self.own:
            hint = "priors.Flat(sd=0.3)"
            text = {"kind": "text", "value": values["own prior"], "hint": hint}
            found.append({"name": "own prior", "title": "Python, which is run"} | text)
        inner = type(self.first.kernel_.inner).__name__
        if inner in KERNELS:
            found.append(_select("kernel", [inner, *KERNELS], values["kernel"]))
            times = "×{:.2f}".format
            found.append(_slider("bandwidth", FACTORS, values["bandwidth"], times))
        rate = values["false alarms"]
        found.append(_slider("false alarms", RATES, rate, "{:.0%}".format))
        if self._rate == CUTOFF:
            slider = found[-1]
            at = int(np.searchsorted(RATES, self._share))
            slider["values"].insert(at, CUTOFF)
            slider["texts"].insert(at, f"{self._share:.0%} *")
            slider["value"] = slider["values"].index(rate)
            slider["title"] = "* as the cutoff of the first fit has it"
        return found


def _select(name: str, options: list[str], value: str, title: str = "") -> Values:
    every = [*dict.fromkeys(options)]
    return {
        "name": name,
        "kind": "select",
        "options": every,
        "value": value,
        "title": title,
    }


def _slider(name: str, grid: list[float], value: Any, text: Any) -> Values:
    """Return a slider over a grid, to which its value is added."""
    every = sorted({*grid, value}) if isinstance(value, float | int) else [*grid]
    at = every.index(value) if value in every else 0
    return {
        "name": name,
        "kind": "range",
        "values": every,
        "texts": [text(each) for each in every],
        "value": at,
        "title": "",
    }
