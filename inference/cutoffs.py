"""Cutoffs: each chooses one value in each draw, from left-out values of training rows.

A row is normal if its value is at least the cutoff. A cutoff takes values (S, n), a
weight of each row in each draw, and which rows are minority, and returns its value in
each draw (S,).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from ..models.kernels.base import is_number

__all__ = ["Best", "Cost", "FalseAlarm", "Printed"]

FEW_LABELS = 20  # minority rows, below which the cutoff is one of false alarms
METRICS = ("g_mean", "balanced_accuracy", "f1")


class Cutoff(Protocol):
    """What chooses a cutoff."""

    @property
    def needs_minority(self) -> bool:
        """Whether there must be minority rows."""

    @property
    def rate(self) -> float | None:
        """The rate of false alarms that it asks for, if it asks for one."""

    def __call__(
        self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray
    ) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""


@dataclass(frozen=True)
class FalseAlarm:
    """The cutoff for a rate of false alarms: a quantile of the majority's values.

    Parameters
    ----------
    rate : float, default=0.1
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, cutoffs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> est = SVDD(cutoff=cutoffs.FalseAlarm(0.2)).fit(X)
    >>> int((~est.decision()["normal"]).sum())
    31
    """

    rate: float = 0.1

    needs_minority: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (is_number(self.rate) and 0.0 < self.rate < 1.0):
            raise ValueError(
                f"FalseAlarm: rate must lie between 0 and 1, got {self.rate!r}"
            )

    def __call__(
        self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray
    ) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""
        values = values[:, ~minority]
        weight = weight[:, ~minority]
        order = np.argsort(values, axis=1)
        values, weight = (
            np.take_along_axis(each, order, 1) for each in (values, weight)
        )
        place = weight.cumsum(axis=1) - weight / 2.0
        at = self.rate * weight.sum(axis=1)
        return np.array(
            [np.interp(*each) for each in zip(at, place, values, strict=True)]
        )


@dataclass(frozen=True)
class Best:
    """The cutoff of the largest metric, among those with so few false alarms.

    Parameters
    ----------
    metric : {"g_mean", "balanced_accuracy", "f1"}, default="g_mean"
        Of the decisions on left-out rows, abnormal rows positive.
    max_fpr : float, default=0.2
        The largest rate of false alarms, above 0 and at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, cutoffs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> est = SVDD(cutoff=cutoffs.Best("balanced_accuracy")).fit(X, X[:, 0] > 2.0)
    >>> est.predict([[0.0, 0.0], [3.0, 0.0]])
    array([ 1, -1])
    """

    metric: str = "g_mean"
    max_fpr: float = 0.2

    needs_minority: ClassVar[bool] = True
    rate: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(
                f"Best: metric must be one of {list(METRICS)}, got {self.metric!r}"
            )
        if not (is_number(self.max_fpr) and 0.0 < self.max_fpr <= 1.0):
            raise ValueError(f"Best: max_fpr must lie in (0, 1], got {self.max_fpr!r}")

    def gain(self, fp: np.ndarray, tp: np.ndarray, n0: float, n1: float) -> np.ndarray:
        """Return the metric of numbers of false alarms and of minority rows found."""
        tpr = tp / n1
        tnr = 1.0 - fp / n0
        if self.metric == "f1":
            return 2.0 * tp / (tp + fp + n1)
        return np.sqrt(tpr * tnr) if self.metric == "g_mean" else (tpr + tnr) / 2.0

    def __call__(
        self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray
    ) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""
        return best_cut(self, self.max_fpr, values, weight, minority)


@dataclass(frozen=True)
class Cost:
    """The cutoff of the smallest cost, false alarms + miss x misses.

    Parameters
    ----------
    miss : float, default=1
        What a miss costs, in false alarms.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, cutoffs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> cheap = SVDD(cutoff=cutoffs.Cost(1)).fit(X, X[:, 0] > 1.0)
    >>> dear = cheap.with_cutoff(cutoffs.Cost(20))
    >>> bool(dear.cutoff_ < cheap.cutoff_)
    True
    """

    miss: float = 1.0

    needs_minority: ClassVar[bool] = True
    rate: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not (is_number(self.miss) and self.miss > 0.0):
            raise ValueError(f"Cost: miss must be a positive number, got {self.miss!r}")

    def gain(self, fp: np.ndarray, tp: np.ndarray, n0: float, n1: float) -> np.ndarray:
        """Return minus the cost of so many false alarms and minority rows found."""
        return -(fp + self.miss * (n1 - tp))

    def __call__(
        self, values: np.ndarray, weight: np.ndarray, minority: np.ndarray
    ) -> np.ndarray:
        """Return the cutoff of each draw (S,)."""
        return best_cut(self, 1.0, values, weight, minority)


@dataclass(frozen=True)
class Printed:
    """The cutoff of the sources: a row is normal if d_z <= D_opt, one number.

    Parameters
    ----------
    cutoff : FalseAlarm, Best, Cost or float, default=FalseAlarm()
        D_opt, or what chooses it from distances of the training rows.
    of : {"left-out", "training", "own"}, default="left-out"
        Distances of left-out rows, or of rows in the centre; "own" is the radius of
        SVDD's sphere, which no cutoff chooses.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, cutoffs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> est = SVDD(cutoff=cutoffs.Printed(0.9)).fit(X)
    >>> est.cutoff_
    0.9
    >>> sphere = est.with_cutoff(cutoffs.Printed(of="own"))
    >>> bool(abs(sphere.cutoff_ - est.radius_) < 1e-6)
    True
    """

    cutoff: FalseAlarm | Best | Cost | float = FalseAlarm()
    of: str = "left-out"

    rate: ClassVar[None] = None

    def __post_init__(self) -> None:
        if self.of not in ("left-out", "training", "own"):
            raise ValueError(
                f"Printed: of must be 'left-out', 'training' or 'own', got {self.of!r}"
            )
        cutoff = self.cutoff
        if isinstance(cutoff, FalseAlarm | Best | Cost):
            return
        if not (is_number(cutoff) and cutoff >= 0.0):
            raise ValueError(
                "Printed: cutoff must be FalseAlarm, Best, Cost or a distance of at "
                f"least 0, got {cutoff!r}"
            )
        object.__setattr__(self, "cutoff", float(cutoff))  # of NumPy's types too

    @property
    def is_number(self) -> bool:
        """Whether the cutoff is a distance, which no rows choose."""
        return isinstance(self.cutoff, int | float)

    @property
    def needs_minority(self) -> bool:
        """Whether there must be minority rows."""
        return not isinstance(self.cutoff, int | float) and self.cutoff.needs_minority

    def distance(self, d: np.ndarray, mass: np.ndarray, minority: np.ndarray) -> float:
        """Return D_opt from distances d (n,) of rows that count ``mass`` (n,)."""
        if isinstance(self.cutoff, int | float):
            return float(self.cutoff)
        if isinstance(self.cutoff, FalseAlarm):
            # of the majority, the distance number (1 - rate) n
            beyond = 1.0 - self.cutoff.rate
            how: Any = {"method": "inverted_cdf", "weights": mass[~minority]}
            return float(np.quantile(d[~minority], beyond, **how))
        return -float(self.cutoff(-d[None], mass[None], minority)[0])


AnyCutoff = FalseAlarm | Best | Cost | Printed


def resolved(cutoff: AnyCutoff | None, n1: int) -> AnyCutoff:
    """Return the cutoff for n1 minority rows that have weight; None is the default.

    Raises
    ------
    ValueError
        The cutoff needs minority rows, and there are none.
    """
    if cutoff is None:
        return Best() if n1 >= FEW_LABELS else FalseAlarm()
    if cutoff.needs_minority and not n1:
        raise ValueError(
            f"{cutoff!r} needs minority rows, and there are none; give labels y, or a "
            "cutoff such as cutoffs.FalseAlarm(0.1)"
        )
    return cutoff


def best_cut(
    of: Best | Cost,
    max_fpr: float,
    values: np.ndarray,
    weight: np.ndarray,
    minority: np.ndarray,
) -> np.ndarray:
    """Return the cut with the largest gain, between two values, in each draw.

    Cuts with a rate of false alarms above ``max_fpr`` do not count. If no other cut
    finds a minority row, FalseAlarm() chooses.
    """
    order = np.argsort(values, axis=1)
    v, w = (np.take_along_axis(each, order, axis=1) for each in (values, weight))

    def counted(which: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the number of rows of a class, and of those below each cut."""
        size = float(weight[:, which].sum(axis=1).mean())
        below = (w * which[order]).cumsum(axis=1)
        return size, below[:, :-1] / below[:, -1:] * size

    n0, fp = counted(~minority)
    n1, tp = counted(minority)
    may = (v[:, 1:] > v[:, :-1]) & (fp <= max_fpr * n0)
    best = np.where(may, of.gain(fp, tp, n0, n1), -np.inf).argmax(axis=1)[:, None]
    ends = (np.take_along_axis(v, best + i, axis=1)[:, 0] for i in (0, 1))
    found = (may & (tp > 0)).any(axis=1)
    return np.where(found, sum(ends) / 2.0, FalseAlarm()(values, weight, minority))
