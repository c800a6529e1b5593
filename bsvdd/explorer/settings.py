"""Settings that were tried, two of which are compared."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd
from sklearn.base import clone

from ..estimators.bayesian import Bayesian
from ..estimators.facts import PosteriorFacts, call
from ..estimators.posterior_checks import have_same_draws, posterior_facts
from ..estimators.sensitivity import largest, sensitivity
from ..inference import cutoffs
from ..models import kernels, priors
from ..models.priors import describe
from ..questions.why import Why, explain
from .controls import Controls, Values

JOINED = 2.0  # seconds within which moves of one control are one move
MOST_SETTINGS = 40
HANGS_ON = 3  # rows on whose prior a decision hangs
IMPORTS = "import bsvdd\nfrom bsvdd import cutoffs, kernels, priors"


@dataclass(eq=False)
class Setting:
    """A fitted estimator, and what it answers of its training rows, each left out.

    Attributes
    ----------
    number : int
    values : dict
        Of the controls.
    est : estimator with a posterior
    posterior : PosteriorFacts
        They do not change with the cutoff.
    text : str
        The setting in a few words.
    """

    number: int
    values: Values
    est: Bayesian
    posterior: PosteriorFacts
    text: str
    _why: dict[int, Why | str] = field(default_factory=dict, init=False)

    @cached_property
    def decision(self) -> pd.DataFrame:
        """The decisions on the training rows."""
        return self.est.decision()

    @property
    def flagged(self) -> int:
        """The number of abnormal rows."""
        return int((~self.decision["normal"]).sum())

    def why(self, i: int) -> Why | str:
        """Return why row i is as it is, or why nobody can say.

        Parameters
        ----------
        i : int

        Returns
        -------
        Why or str
        """
        if i not in self._why:
            try:
                self._why[i] = explain(self.est, rows=[i])
            except ValueError as error:  # a kernel matrix has no columns
                self._why[i] = f"There are no reasons: {error}"
        return self._why[i]

    def hangs_on(self, i: int) -> tuple[str, str, pd.DataFrame]:
        """Return the rows on whose prior the decision on row i hangs most.

        Parameters
        ----------
        i : int

        Returns
        -------
        of : {"prior", "weight"}
            The weight in the likelihood counts where the prior has no derivative.
        variable : str
            What has the prior.
        rows : pandas.DataFrame
        """
        found = sensitivity(self.est, rows=[i])
        of = "prior" if "prior" in found else "weight"
        return of, found.attrs["variable"], largest(found, of, HANGS_ON)


class Settings:
    """Settings that were tried, of which two are compared.

    Parameters
    ----------
    fitted : callable
        Fits an estimator to the rows.
    est : estimator with a posterior
        Not fitted.
    own : bool
        Whether a prior can be typed as Python code.

    Attributes
    ----------
    settings : list of Setting
    now, past : Setting
        Two of them; ``past`` is None at the start.
    row : int
        The position of the row in focus.
    columns : list of str
        Two columns that are drawn; empty: the rows by surprise.
    clock : callable
        Seconds, by which moves are joined.
    """

    def __init__(
        self, fitted: Callable[[Bayesian], Bayesian], est: Bayesian, own: bool
    ) -> None:
        self._fitted = fitted
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            first = fitted(est)
            self.controls = Controls(first, own)
            posterior = posterior_facts(first)
        values = self.controls.start()
        self.now = Setting(1, values, first, posterior, self._text(values, first))
        self.past: Setting | None = None
        self.settings = [self.now]
        decision = self.now.decision
        self.names = _unique(decision.index)
        self.row = int(decision["surprise"].to_numpy().argmax())
        kinds = {} if first.kernel_.pairwise else first.table_.kinds
        self.numeric = [str(c) for c, kind in kinds.items() if kind == "numbers"]
        self.columns = self.numeric if len(kinds) == len(self.numeric) == 2 else []
        self.said = said_by(caught)
        self.took = f"fitted in {time.perf_counter() - start:.1f} s"
        self.clock = time.monotonic
        self._last: tuple[list[str], float] = ([], 0.0)
        # now and past where a move began, and what it made until now
        self._from: tuple[Setting, Setting | None] = (self.now, None)
        self._passed: Setting | None = None

    @property
    def est(self) -> Bayesian:
        """The fitted estimator of the setting now."""
        return self.now.est

    @property
    def before(self) -> Bayesian | None:
        """The fitted estimator of the setting before; None at the start."""
        return None if self.past is None else self.past.est

    def set(self, **asked: Any) -> None:
        """Move controls, by the names that the page has.

        Parameters
        ----------
        **asked
            Values of controls, such as ``prior="RowSum"`` and ``{"prior.sd": 0.5}``.
            ``row`` is a row by name, ``x`` and ``y`` are columns to draw, or empty,
            and ``now`` and ``before`` are numbers of settings.

        Raises
        ------
        ValueError, TypeError
            There is no such control or row; the errors of ``fit``.
        """
        if "row" in asked:
            name = str(asked.pop("row"))
            if name not in self.names:
                raise ValueError(f"no row is named {name!r}")
            self.row = self.names.index(name)
        self._draw(asked)
        known = {each.number: each for each in self.settings}
        if {"now", "before"} & set(asked):
            self._last = ([], 0.0)  # the next move is one of its own
        if "now" in asked:
            self.now = known[int(asked.pop("now"))]
        if "before" in asked:
            self.past = known[int(asked.pop("before"))]
        if asked:
            self._show(self.controls.moved(self.now.values, asked), sorted(asked))

    def _draw(self, asked: Values) -> None:
        """Choose the columns of the picture."""
        both = [*self.columns, "", ""][:2]
        chosen = [asked.pop(axis, was) for axis, was in zip("xy", both, strict=True)]
        if chosen == both:
            return
        if unknown := [c for c in chosen if c and c not in self.numeric]:
            raise ValueError(f"no column of numbers is named {unknown[0]!r}")
        if not all(chosen) and not all(both):  # the first of two is chosen
            rest = [c for c in self.numeric if c not in chosen]
            chosen = [c or rest[0] for c in chosen]
        self.columns = chosen if all(chosen) else []

    def _show(self, values: Values, moved: list[str]) -> None:
        """Show the setting of these values; moves of one control are joined."""
        names, when = self._last
        joined = names == moved and self.clock() - when < JOINED
        known = next((each for each in self.settings if each.values == values), None)
        new = known or self._made(values)
        if new is self.now:
            return
        if not joined:
            self._from = self.now, self.past
            self._passed = None
        if self._passed is not None:
            self.settings.remove(self._passed)
        begin, before = self._from
        self.past = before if new is begin else begin
        self.now = new
        self._passed = None if known else new
        if known is None:
            self.settings.append(new)
        both = (self.now, self.past)
        older = self.settings[:-MOST_SETTINGS]
        kept = [each for each in older if each in both]
        self.settings = kept + self.settings[-MOST_SETTINGS:]
        self._last = moved, self.clock()

    def _made(self, values: Values) -> Setting:
        """Return a new setting; only what changed is made again."""
        est = self.est
        wanted = self.controls.priors(values)
        kernel = self.controls.kernel(values)
        cutoff = self.controls.cutoff(values)
        if repr(kernel) != repr(est.kernel):
            own = {"kernel": kernel, "cutoff": cutoff, **wanted}
            est = self._fitted(clone(self.controls.first).set_params(**own))
        else:
            new = {p: v for p, v in wanted.items() if not _same(v, getattr(est, p))}
            est = est.with_prior(**new) if new else est
            est = est if cutoff == est.cutoff else est.with_cutoff(cutoff)
        posterior = self.now.posterior
        if not have_same_draws(est, self.est):
            posterior = posterior_facts(est)
        number = max(each.number for each in self.settings) + 1
        return Setting(number, values, est, posterior, self._text(values, est))

    def _text(self, values: Values, est: Bayesian) -> str:
        names = [describe(getattr(est, p)) for p in est._priors]
        if values.get("own prior"):
            names[0] = values["own prior"]
        names = [re.sub(r"\.0(?=[,)])|, \w+=None", "", name) for name in names]
        if values["bandwidth"] != 1.0 or values["kernel"] != _inner(self.controls):
            names.append(f"{values['kernel']} ×{values['bandwidth']:g}")
        rate = values["false alarms"]
        cutoff = rate if isinstance(rate, str) else f"false alarms {rate:.0%}"
        return ", ".join([*names, cutoff])

    @property
    def code(self) -> str:
        """Python code that makes the estimator of the setting now, unfitted."""
        own = self.now.values.get("own prior")
        typed = {"prior": _Code(own)} if own else {}
        parameters = self.est.get_params(deep=False) | typed
        text = _qualified(call(type(self.est)(**parameters)))
        return f"{IMPORTS}\n\nest = bsvdd.{text}"


def _unique(names: pd.Index) -> list[str]:
    """Return names of rows as texts; of equal ones each has its number beside it."""
    texts = names.map(str)
    again = texts.duplicated(keep=False)
    rows = zip(texts, again, strict=True)
    return [
        f"{name} (row {i})" if same else name for i, (name, same) in enumerate(rows)
    ]


class _Code:
    """A prior whose repr is the code that its user typed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _inner(controls: Controls) -> str:
    return type(controls.first.kernel_.inner).__name__


def _same(prior: object, other: object) -> bool:
    return prior is other or repr(prior) == repr(other)


def said_by(caught: list[warnings.WarningMessage]) -> str:
    """Return the texts of warnings, each once."""
    return "\n".join(dict.fromkeys(str(each.message) for each in caught))


def _qualified(text: str) -> str:
    """Return the repr of a kernel, a prior or a cutoff as code."""
    for module in (kernels, priors, cutoffs):
        classes = "|".join(module.__all__)
        name = module.__name__.rpartition(".")[2]
        text = re.sub(rf"(?<![\w.])({classes})(?=\()", rf"{name}.\1", text)
    return text
