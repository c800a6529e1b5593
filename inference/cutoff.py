"""The cutoff D_opt of the distance: what chooses it, from which left-out rows, and the level."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..models.kernels.base import is_number
from .cutoffs import METRICS, Best, Chooser, FalseAlarm

INSTEAD = {  # of a name
    **{metric: f'Best("{metric}")' for metric in METRICS},
    **{"cost": "Cost(5)", "rank": "Rank(0.9)", "model": "Own()"},
}


@dataclass(frozen=True)
class Cutoff:
    r"""The rule that chooses the cutoff D_opt; it is independent of the fit.

    Parameters
    ----------
    choose : float or object of :mod:`bsvdd.cutoffs`, optional
        D_opt itself, or what chooses it. None is ``FalseAlarm(0.1)`` without minority rows, and
        ``Best("g_mean")`` with them; for the printed rule ``Best("g_mean", max_fpr=None)``.
        ``Best`` and ``Cost`` compare the classes: where weights may be negative, they take the best
        cutoff that a row far from all training rows exceeds.
    cv : "auto", "loo", int or "train", default="auto"
        ``"loo"``: leave-one-out in closed form, from one fit. The row leaves the centre, whose
        other weights are rescaled, and stays in the posterior. For BDD with a normal
        prior it leaves the posterior too, as in a refit, but prior means made of row sums still
        use all rows. A number: that many folds are refitted, with the bandwidth of all rows.
        ``"train"``: the training distances, with no row left out. ``"auto"``: ``"loo"`` if the
        model has it, else folds (5 or 10, by the model; fewer if a class has fewer rows).
    level : float, default=0.5
        Normal means P(normal) > level, with 0 <= level < 1.
    uncertain : bool, default=True
        Whether P(normal) counts the uncertainty of the cutoff and of rows that the sample has not
        shown, see :mod:`bsvdd.inference.decision`. False, or a number as the cutoff, is the
        printed rule: P(normal) is ``(est.distance(X) <= est.cutoff_).mean()`` over the draws, each
        with the norm of its own centre.
    undecided : tuple of two floats, optional
        (low, high), around ``level``: a row is abnormal if P(normal) is at most low, normal if
        it is at least high, and undecided between; see
        :func:`bsvdd.inference.decision.three_way`. P(normal) is the probability that the row lies
        within the cutoff, not that it is of the normal class, so costs of the classes do not
        give low and high.

    Raises
    ------
    ValueError, TypeError
        ``choose`` is no such object, or a number is out of its range.

    Examples
    --------
    >>> from bsvdd import BSVDD, Cutoff, cutoffs
    >>> est = BSVDD(cutoff=Cutoff(cutoffs.Best("f1"), cv=5))
    >>> simple = BSVDD(cutoff=cutoffs.FalseAlarm(0.05)), BSVDD(cutoff=0.9)
    """

    choose: Chooser | float | None = None
    cv: Literal["auto", "loo", "train"] | int = "auto"
    level: float = 0.5
    uncertain: bool = True
    undecided: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        choose: Any = self.choose
        if not (choose is None or isinstance(choose, Chooser) or is_number(choose)):
            known = INSTEAD.get(choose) if isinstance(choose, str) else None
            raise TypeError(
                "cutoff must be None, a number, a Cutoff or an object of bsvdd.cutoffs, such as "
                f"cutoffs.{known or 'FalseAlarm(0.1)'}, got {choose!r}"
            )
        if is_number(choose) and not math.isfinite(choose):
            raise ValueError(f"cutoff: a number must be finite, got {choose!r}")
        folds = isinstance(self.cv, int) and not isinstance(self.cv, bool) and self.cv >= 2
        if not (folds or self.cv in ("auto", "loo", "train")):
            raise ValueError(
                "cutoff: cv must be 'auto', 'loo', 'train' or a number of folds from 2, got "
                f"{self.cv!r}"
            )
        if not (is_number(self.level) and 0 <= self.level < 1):
            raise ValueError(f"cutoff: level must lie in [0, 1), got {self.level!r}")
        if not isinstance(self.uncertain, bool):
            raise TypeError(f"cutoff: uncertain must be True or False, got {self.uncertain!r}")
        if self.undecided is not None:
            self._check_undecided(self.undecided)

    def _check_undecided(self, undecided: Any) -> None:
        pair = isinstance(undecided, tuple | list) and len(undecided) == 2
        if not (pair and all(map(is_number, undecided))):
            raise ValueError(
                f"cutoff: undecided must be None or two numbers (low, high), got {undecided!r}"
            )
        low, high = undecided
        if not 0 <= low <= self.level <= high <= 1:
            raise ValueError(
                "cutoff: undecided=(low, high) must enclose the level, 0 <= low <= level <= high "
                f"<= 1, got {undecided!r} with level={self.level!r}"
            )
        object.__setattr__(self, "undecided", (float(low), float(high)))

    @property
    def of_rows(self) -> bool:
        """Whether left-out rows choose the cutoff."""
        return self.choose is None or (isinstance(self.choose, Chooser) and self.choose.of_rows)

    @property
    def rate(self) -> float:
        """The rate of false alarms that is asked of rows without labels, for words on it."""
        return self.choose.rate if isinstance(self.choose, FalseAlarm) else FalseAlarm.rate

    def chooser(self, minority: np.ndarray) -> Chooser:
        """Return what chooses the cutoff, if it is no number; None stands for one of two."""
        if isinstance(self.choose, Chooser):
            return self.choose
        if not minority.any():
            return FalseAlarm()
        return Best() if self.uncertain else Best(max_fpr=None)

    def check(self, minority: np.ndarray) -> None:
        """Raise a ValueError if the classes have too few rows to choose, or for the folds."""
        if self.of_rows:
            self.chooser(minority).check(minority)
        for name, members in (("majority", ~minority), ("minority", minority)):
            if isinstance(self.cv, int) and 0 < members.sum() < self.cv:
                raise ValueError(
                    f"cutoff: cv={self.cv} folds need at least {self.cv} {name} rows, got "
                    f"{members.sum()}; use fewer folds, cv='loo' if the model has it, or a number "
                    "as the cutoff"
                )


def as_cutoff(cutoff: Any) -> Cutoff:
    """Return a Cutoff: itself, or that of an object of bsvdd.cutoffs, a number or None."""
    return cutoff if isinstance(cutoff, Cutoff) else Cutoff(cutoff)
