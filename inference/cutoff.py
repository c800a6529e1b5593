"""D_opt: the cutoff of the distance, chosen from distances of rows that were left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .metrics import rates

CRITERIA = ["auto", "g_mean", "balanced_accuracy", "f1", "cost", "false_alarm", "radius"]


@dataclass(frozen=True)
class Cutoff:
    r"""How the cutoff D_opt is chosen, apart from the fit.

    Parameters
    ----------
    criterion : str, default="auto"
        What is best over the left-out distances:

        - ``"g_mean"``: :math:`\sqrt{\mathrm{TPR} \cdot \mathrm{TNR}}`;
        - ``"balanced_accuracy"``: (TPR + TNR)/2, that is Youden's J;
        - ``"f1"``: F1 of the minority, as published (on weak signal it flags everything);
        - ``"cost"``: least false alarms + ``miss_cost`` x misses;
        - ``"false_alarm"``: the smallest cutoff with at most ``false_alarm_rate`` of the
          majority rows above it; needs no minority rows;
        - ``"radius"``: the radius that the model itself has (SVDD);
        - ``"auto"``: ``"g_mean"`` where there are minority rows, else ``"false_alarm"``.
    cv : "loo", int or None, default="loo"
        Leave-one-out in closed form (one fit), that many folds refitted, or the training
        distances as they are.
    level : float, default=0.5
        Normal means P(d_z <= D_opt) > level, with 0 <= level < 1.
    false_alarm_rate : float, default=0.1
    miss_cost : float, default=1
        Cost of a missed minority row; a false alarm costs 1.
    """

    criterion: str = "auto"
    cv: Literal["loo"] | int | None = "loo"
    level: float = 0.5
    false_alarm_rate: float = 0.1
    miss_cost: float = 1.0

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"cutoff: criterion must be one of {CRITERIA}, got {self.criterion!r}")
        folds = isinstance(self.cv, int) and not isinstance(self.cv, bool) and self.cv >= 2
        if not (folds or self.cv is None or self.cv == "loo"):
            raise ValueError(
                f"cutoff: cv must be 'loo', a number of folds from 2, or None, got {self.cv!r}"
            )
        if not 0 <= self.level < 1:
            raise ValueError(f"cutoff: level must lie in [0, 1), got {self.level!r}")
        if not 0 <= self.false_alarm_rate < 1:
            raise ValueError(
                f"cutoff: false_alarm_rate must lie in [0, 1), got {self.false_alarm_rate!r}"
            )
        if not 0 < self.miss_cost < np.inf:
            raise ValueError(
                f"cutoff: miss_cost must be positive and finite, got {self.miss_cost!r}"
            )

    def choose(self, distance: np.ndarray, minority: np.ndarray) -> float:
        """Return D_opt from left-out distances (n,) and which rows are minority (n,)."""
        criterion = self.criterion
        if criterion == "auto":
            criterion = "g_mean" if minority.any() else "false_alarm"
        if criterion == "false_alarm":
            return float(
                np.quantile(distance[~minority], 1 - self.false_alarm_rate, method="inverted_cdf")
            )
        if not minority.any():
            raise ValueError(
                f"cutoff: criterion={criterion!r} compares majority with minority rows, but there "
                "is no minority row; use criterion='false_alarm'"
            )
        cutoffs = candidates(distance)
        tn = np.searchsorted(np.sort(distance[~minority]), cutoffs, side="right")
        fn = np.searchsorted(np.sort(distance[minority]), cutoffs, side="right")
        fp, tp = (~minority).sum() - tn, minority.sum() - fn
        if criterion == "cost":
            value = -(fp + self.miss_cost * fn)
        else:
            value = rates(tp, fp, fn, tn)[criterion]
        return float(cutoffs[np.argmax(value)])


def candidates(distance: np.ndarray) -> np.ndarray:
    """Return one cutoff for each way to split the distances, ascending.

    Half-way between neighbours, so that it transfers to new rows; below the smallest (all are
    flagged) and at the largest (none is) at the ends.
    """
    values = np.unique(distance[np.isfinite(distance)])
    if not len(values):
        raise ValueError("cutoff: every left-out distance is infinite; the weights have collapsed")
    middle = (values[:-1] + values[1:]) / 2
    return np.concatenate([[np.nextafter(values[0], -np.inf)], middle, values[-1:]])


def as_cutoff(cutoff: Any) -> Cutoff | float:
    """Return ``cutoff`` as a policy, or as a number where one was given.

    ``None`` is ``Cutoff()`` and a criterion's name is ``Cutoff(name)``.
    """
    if cutoff is None:
        return Cutoff()
    if isinstance(cutoff, Cutoff):
        return cutoff
    if isinstance(cutoff, str):
        return Cutoff(cutoff)
    if isinstance(cutoff, int | float | np.number) and not isinstance(cutoff, bool):
        if not (np.isfinite(cutoff) and cutoff >= 0):
            raise ValueError(f"cutoff: a distance is at least 0 and finite, got {cutoff!r}")
        return float(cutoff)
    raise TypeError(
        f"cutoff must be None, a criterion's name, a Cutoff or a distance, got {cutoff!r}"
    )
