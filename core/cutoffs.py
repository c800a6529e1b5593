"""Cutoffs: rules that choose one value in each draw, from left-out values of the training rows.

A row is normal if its value is at least the cutoff. A rule takes values (S, n), a weight of each
row in each draw, and which rows are minority, and returns the cutoff of each draw (S,).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .kernels.base import is_number

METRICS = ("g_mean", "balanced_accuracy", "f1")


class Rule(Protocol):
    """What chooses a cutoff."""

    @property
    def needs_minority(self) -> bool:
        """Whether there must be minority rows."""

    def __call__(self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""


@dataclass(frozen=True)
class FalseAlarm:
    """The cutoff for a rate of false alarms: a quantile of the majority's values.

    Parameters
    ----------
    rate : float, default=0.1
        Between 0 and 1.
    """

    rate: float = 0.1

    needs_minority = False

    def __post_init__(self) -> None:
        if not (is_number(self.rate) and 0.0 < self.rate < 1.0):
            raise ValueError(f"FalseAlarm: rate must lie between 0 and 1, got {self.rate!r}")

    def __call__(self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""
        values, weight = values[:, ~minority], weight[:, ~minority]
        order = np.argsort(values, axis=1)
        values, weight = (np.take_along_axis(each, order, 1) for each in (values, weight))
        place, at = weight.cumsum(axis=1) - weight / 2.0, self.rate * weight.sum(axis=1)
        return np.array([np.interp(*each) for each in zip(at, place, values, strict=True)])


@dataclass(frozen=True)
class Best:
    """The cutoff of the largest metric, among those with so few false alarms.

    Parameters
    ----------
    metric : {"g_mean", "balanced_accuracy", "f1"}, default="g_mean"
        Of the decisions on left-out rows, abnormal rows positive.
    max_fpr : float, default=0.2
        The largest rate of false alarms, above 0 and at most 1.
    """

    metric: str = "g_mean"
    max_fpr: float = 0.2

    needs_minority = True

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(f"Best: metric must be one of {list(METRICS)}, got {self.metric!r}")
        if not (is_number(self.max_fpr) and 0.0 < self.max_fpr <= 1.0):
            raise ValueError(f"Best: max_fpr must lie in (0, 1], got {self.max_fpr!r}")

    def gain(self, fp: np.ndarray, tp: np.ndarray, n0: float, n1: float) -> np.ndarray:
        """Return the metric of numbers of false alarms and of minority rows found."""
        tpr, tnr = tp / n1, 1.0 - fp / n0
        if self.metric == "f1":
            return 2.0 * tp / (tp + fp + n1)
        return np.sqrt(tpr * tnr) if self.metric == "g_mean" else (tpr + tnr) / 2.0

    def __call__(self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""
        return best_cut(self, self.max_fpr, values, weight, minority)


@dataclass(frozen=True)
class Cost:
    """The cutoff of the smallest cost, false alarms + miss x misses.

    Parameters
    ----------
    miss : float, default=1
        What a miss costs, in false alarms.
    """

    miss: float = 1.0

    needs_minority = True

    def __post_init__(self) -> None:
        if not (is_number(self.miss) and self.miss > 0.0):
            raise ValueError(f"Cost: miss must be a positive number, got {self.miss!r}")

    def gain(self, fp: np.ndarray, tp: np.ndarray, n0: float, n1: float) -> np.ndarray:
        """Return minus the cost of numbers of false alarms and of minority rows found."""
        return -(fp + self.miss * (n1 - tp))

    def __call__(self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""
        return best_cut(self, 1.0, values, weight, minority)


@dataclass(frozen=True)
class Printed:
    """The rule d_z <= D_opt with one number D_opt, as the sources print it.

    Parameters
    ----------
    rule : FalseAlarm, Best, Cost or float, default=FalseAlarm()
        D_opt, or what chooses it from distances of the training rows.
    of : {"left-out", "training", "own"}, default="left-out"
        Whether these are left out, or are those of the rows in the centre; "own" is the radius of
        SVDD's sphere, with no rule.
    """

    rule: FalseAlarm | Best | Cost | float = FalseAlarm()
    of: str = "left-out"

    def __post_init__(self) -> None:
        if self.of not in ("left-out", "training", "own"):
            raise ValueError(
                f"Printed: of must be 'left-out', 'training' or 'own', got {self.of!r}"
            )
        a_rule = isinstance(self.rule, FalseAlarm | Best | Cost)
        if not (a_rule or (is_number(self.rule) and self.rule >= 0.0)):  # type: ignore[operator]
            raise ValueError(
                "Printed: rule must be FalseAlarm, Best, Cost or a distance of at least 0, got "
                f"{self.rule!r}"
            )

    @property
    def needs_minority(self) -> bool:
        """Whether there must be minority rows."""
        return not isinstance(self.rule, int | float) and self.rule.needs_minority

    def distance(self, d: np.ndarray, mass: np.ndarray, minority: np.ndarray) -> float:
        """Return D_opt from distances d (n,) of rows that count ``mass`` (n,)."""
        if isinstance(self.rule, int | float):
            return float(self.rule)
        return -float(self.rule(-d[None], mass[None], minority)[0])


def best_cut(
    of: Best | Cost,
    max_fpr: float,
    values: np.ndarray,
    weight: np.ndarray,
    minority: np.ndarray,
) -> np.ndarray:
    """Return the cut between two values of the largest gain, among those with so few false alarms.

    Where none of them finds a minority row it is that of FalseAlarm().
    """
    order = np.argsort(values, axis=1)
    v, w = (np.take_along_axis(each, order, axis=1) for each in (values, weight))

    def counted(which: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the number of rows of a class, and how many of them lie below each cut."""
        size = float(weight[:, which].sum(axis=1).mean())
        below = (w * which[order]).cumsum(axis=1)
        return size, below[:, :-1] / below[:, -1:] * size

    (n0, fp), (n1, tp) = counted(~minority), counted(minority)
    may = (v[:, 1:] > v[:, :-1]) & (fp <= max_fpr * n0)
    best = np.where(may, of.gain(fp, tp, n0, n1), -np.inf).argmax(axis=1)[:, None]
    cut = (np.take_along_axis(v, best, 1) + np.take_along_axis(v, best + 1, 1))[:, 0] / 2.0
    found = (may & (tp > 0)).any(axis=1)
    return np.where(found, cut, FalseAlarm()(values, weight, minority))
