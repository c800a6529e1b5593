"""The cutoff D_opt of the distance, chosen from the distances of left-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..models.checks import is_number
from .metrics import rates

CRITERIA = ["auto", "g_mean", "balanced_accuracy", "f1", "cost", "false_alarm", "model"]


@dataclass(frozen=True)
class Cutoff:
    r"""The rule that chooses the cutoff D_opt; it is independent of the fit.

    Parameters
    ----------
    criterion : str or float, default="auto"
        D_opt itself as a number, or what the cutoff optimizes over the left-out distances:

        - ``"g_mean"``: :math:`\sqrt{\mathrm{TPR} \cdot \mathrm{TNR}}`;
        - ``"balanced_accuracy"``: (TPR + TNR)/2, that is Youden's J;
        - ``"f1"``: F1 of the minority, as published (with a weak signal it flags all rows);
        - ``"cost"``: the smallest sum, false alarms + ``miss_cost`` x misses;
        - ``"false_alarm"``: the smallest cutoff with at most ``false_alarm_rate`` of the
          majority rows above it; needs no minority rows;
        - ``"model"``: the model's own boundary, such as the radius of SVDD;
        - ``"auto"``: ``"g_mean"`` if there are minority rows, else ``"false_alarm"``.
    cv : "auto", "loo", int or "train", default="auto"
        ``"loo"``: leave-one-out in closed form, from one fit. The row leaves the centre, whose
        other weights are rescaled, and stays in the posterior. For BDD and BDD-M with normal
        priors it leaves the posterior too, as in a refit, but prior means made of row sums still
        use all rows. A number: that many folds are refitted, with the bandwidth of all rows.
        ``"train"``: the training distances, with no row left out. ``"auto"``: ``"loo"`` if the
        model has it, else 5 folds (fewer if a class has fewer rows).
    level : float, default=0.5
        Normal means P(d_z <= D_opt) > level, with 0 <= level < 1.
    false_alarm_rate : float, default=0.1
    miss_cost : float, default=1
        Cost of a missed minority row; a false alarm costs 1.

    Raises
    ------
    ValueError, TypeError
        An unknown criterion, or a number out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import Cutoff
    >>> distance = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    >>> minority = np.array([False, False, False, True, True])
    >>> round(Cutoff("g_mean").choose(distance, minority), 2)
    0.35
    >>> Cutoff("false_alarm", false_alarm_rate=0).choose(distance, minority)
    0.3
    """

    criterion: str | float = "auto"
    cv: Literal["auto", "loo", "train"] | int = "auto"
    level: float = 0.5
    false_alarm_rate: float = 0.1
    miss_cost: float = 1.0

    def __post_init__(self) -> None:
        criterion: Any = self.criterion
        if isinstance(criterion, str):
            if criterion not in CRITERIA:
                raise ValueError(
                    f"cutoff: criterion must be a number or one of {CRITERIA}, got {criterion!r}"
                )
        elif not is_number(criterion):
            raise TypeError(
                f"cutoff must be None, a criterion's name, a Cutoff or a number, got {criterion!r}"
            )
        elif not math.isfinite(criterion):
            raise ValueError(f"cutoff: a number must be finite, got {criterion!r}")
        folds = isinstance(self.cv, int) and not isinstance(self.cv, bool) and self.cv >= 2
        if not (folds or self.cv in ("auto", "loo", "train")):
            raise ValueError(
                "cutoff: cv must be 'auto', 'loo', 'train' or a number of folds from 2, got "
                f"{self.cv!r}"
            )
        if not (is_number(self.level) and 0 <= self.level < 1):
            raise ValueError(f"cutoff: level must lie in [0, 1), got {self.level!r}")
        if not (is_number(self.false_alarm_rate) and 0 <= self.false_alarm_rate < 1):
            raise ValueError(
                f"cutoff: false_alarm_rate must lie in [0, 1), got {self.false_alarm_rate!r}"
            )
        if not (is_number(self.miss_cost) and 0 < self.miss_cost < np.inf):
            raise ValueError(
                f"cutoff: miss_cost must be positive and finite, got {self.miss_cost!r}"
            )

    def check(self, minority: np.ndarray) -> None:
        """Raise a ValueError if the classes have too few rows for the criterion or the folds."""
        two_class = ("g_mean", "balanced_accuracy", "f1", "cost")
        if self.criterion in two_class and not minority.any():
            raise ValueError(
                f"cutoff: criterion={self.criterion!r} compares majority with minority rows, but "
                "there is no minority row; use criterion='false_alarm'"
            )
        for name, members in (("majority", ~minority), ("minority", minority)):
            if isinstance(self.cv, int) and 0 < members.sum() < self.cv:
                raise ValueError(
                    f"cutoff: cv={self.cv} folds need at least {self.cv} {name} rows, got "
                    f"{members.sum()}; use fewer folds, or cv='loo' if the model has it"
                )

    def choose(self, distance: np.ndarray, minority: np.ndarray) -> float:
        """Return D_opt from left-out distances (n,) and a mask of the minority rows (n,)."""
        if not isinstance(self.criterion, str):
            return float(self.criterion)
        criterion = self.criterion
        if criterion == "auto":
            criterion = "g_mean" if minority.any() else "false_alarm"
        if criterion == "model":
            raise ValueError(
                "cutoff: criterion='model' is the model's own boundary and needs no distances; "
                "use another criterion"
            )
        if criterion == "false_alarm":
            return _smallest_with_rate(distance[~minority], self.false_alarm_rate)
        self.check(minority)
        cutoffs = candidates(distance)
        tn = np.searchsorted(np.sort(distance[~minority]), cutoffs, side="right")
        fn = np.searchsorted(np.sort(distance[minority]), cutoffs, side="right")
        fp, tp = (~minority).sum() - tn, minority.sum() - fn
        if criterion == "cost":
            value = -(fp + self.miss_cost * fn)
        else:
            value = rates(tp, fp, fn, tn)[criterion]
        best = value >= value.max() - 1e-12 * max(1.0, abs(value.max()))  # ties, up to rounding
        return float(cutoffs[best][-1])


def candidates(distance: np.ndarray) -> np.ndarray:
    """Return one cutoff for each way to split the distances, in ascending order.

    A cutoff lies half-way between two neighbours, so that it suits new rows too. The first lies
    below the smallest distance (all rows are flagged), the last at the largest (none is).
    """
    values = np.unique(distance[np.isfinite(distance)])
    if not len(values):
        raise ValueError(
            "cutoff: every left-out distance is infinite; the weights have collapsed on a few "
            "rows: use another prior, or a number as the cutoff"
        )
    middle = (values[:-1] + values[1:]) / 2
    middle = np.where(middle < values[1:], middle, values[:-1])  # adjacent floats have no middle
    return np.concatenate([[np.nextafter(values[0], -np.inf)], middle, values[-1:]])


def _smallest_with_rate(distance: np.ndarray, rate: float) -> float:
    """Return the smallest distance with at most a share ``rate`` of all distances above it."""
    allowed = math.floor(rate * len(distance) + 1e-9)  # 0.1 * 30 is 3, not 3.0000000000000004
    cutoff = float(np.sort(distance)[len(distance) - 1 - allowed])
    if not math.isfinite(cutoff):
        raise ValueError(
            "cutoff: too many left-out distances are infinite for a false-alarm rate of "
            f"{rate:g}; the weights have collapsed on a few rows: use another prior"
        )
    return cutoff


def as_cutoff(cutoff: Any) -> Cutoff:
    """Return a Cutoff: itself, ``Cutoff()`` for None, ``Cutoff(x)`` for a name or a number."""
    if isinstance(cutoff, Cutoff):
        return cutoff
    return Cutoff() if cutoff is None else Cutoff(cutoff)
