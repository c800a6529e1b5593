"""The cutoff D_opt of the distance, chosen from the distances of left-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from ..models.kernels.base import is_number

CRITERIA = ["auto", "g_mean", "balanced_accuracy", "f1", "cost", "false_alarm", "rank", "model"]


@dataclass(frozen=True)
class Cutoff:
    r"""The rule that chooses the cutoff D_opt; it is independent of the fit.

    Parameters
    ----------
    criterion : str or float, default="auto"
        D_opt itself as a number, or what the cutoff optimizes over the left-out distances:

        - ``"g_mean"``: :math:`\sqrt{\mathrm{TPR} \cdot \mathrm{TNR}}`;
        - ``"balanced_accuracy"``: (TPR + TNR)/2, that is Youden's J;
        - ``"f1"``: F1 of the minority (with a weak signal it flags all rows);
        - ``"cost"``: the smallest sum, false alarms + ``miss_cost`` x misses;
        - ``"false_alarm"``: the left-out distance of the majority that is number
          :math:`\lceil (1 - \alpha)(n_0 + 1) \rceil` in ascending order, with
          :math:`\alpha` the ``false_alarm_rate``; needs no minority rows;
        - ``"rank"``: the distance of the majority that is number ``rank`` in ascending order; with
          ``cv="train"`` the rule :math:`d_z \le d_{(c)}` of BDD;
        - ``"model"``: the model's own boundary, such as the radius of SVDD;
        - ``"auto"``: ``"g_mean"`` if there are minority rows, else ``"false_alarm"``.

        The first four compare the classes. Where weights may be negative, they take the best
        cutoff that a row far from all training rows exceeds.
    cv : "auto", "loo", int or "train", default="auto"
        ``"loo"``: leave-one-out in closed form, from one fit. The row leaves the centre, whose
        other weights are rescaled, and stays in the posterior. For BDD and BDD-M with normal
        priors it leaves the posterior too, as in a refit, but prior means made of row sums still
        use all rows. A number: that many folds are refitted, with the bandwidth of all rows.
        ``"train"``: the training distances, with no row left out. ``"auto"``: ``"loo"`` if the
        model has it, else folds (5 or 10, by the model; fewer if a class has fewer rows).
    level : float, default=0.5
        Normal means P(d_z <= D_opt) > level, with 0 <= level < 1.
    false_alarm_rate : float, default=0.1
        Share of new normal rows that may be called abnormal, between 0 and 1. It needs at least
        1/rate - 1 majority rows: 9 for 0.1, 19 for 0.05, 99 for 0.01.
    miss_cost : float, default=1
        Cost of a missed minority row; a false alarm costs 1.
    rank : int or float, optional
        For the criterion ``"rank"``: c itself, from 1 to n0, or a share between 0 and 1 of the
        majority rows, with c = ceil(share n0).
    uncertain : bool, default=True
        Whether P(normal) counts the uncertainty of the cutoff and of rows that the sample has not
        shown, see :mod:`bsvdd.inference.decision`. False, or a number as the criterion, is the
        printed rule: P(normal) is ``(est.distance(X) <= est.cutoff_).mean()`` over the draws, each
        with the norm of its own centre.
    undecided : tuple of two floats, optional
        (low, high), around ``level``: a row is abnormal if P(d_z <= D_opt) is at most low, normal
        if it is at least high, and undecided between; see
        :func:`bsvdd.inference.decision.three_way`. P(normal) is the probability that the row lies
        within the cutoff, not that it is of the normal class, so costs of the classes do not
        give low and high.

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
    >>> Cutoff("false_alarm", false_alarm_rate=0.25).choose(distance, minority)
    0.3
    >>> Cutoff("rank", rank=2).choose(distance, minority)
    0.2
    """

    criterion: str | float = "auto"
    cv: Literal["auto", "loo", "train"] | int = "auto"
    level: float = 0.5
    false_alarm_rate: float = 0.1
    miss_cost: float = 1.0
    undecided: tuple[float, float] | None = None
    rank: int | float | None = None
    uncertain: bool = True

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
        if not (is_number(self.false_alarm_rate) and 0 < self.false_alarm_rate < 1):
            raise ValueError(
                "cutoff: false_alarm_rate must lie between 0 and 1, without 0 and 1, got "
                f"{self.false_alarm_rate!r}; no cutoff from data promises a rate of 0"
            )
        if not (is_number(self.miss_cost) and 0 < self.miss_cost < np.inf):
            raise ValueError(
                f"cutoff: miss_cost must be positive and finite, got {self.miss_cost!r}"
            )
        if not isinstance(self.uncertain, bool):
            raise TypeError(f"cutoff: uncertain must be True or False, got {self.uncertain!r}")
        if self.undecided is not None:
            self._check_undecided(self.undecided)
        if self.rank is not None or criterion == "rank":
            self._check_rank(self.rank)

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

    def _check_rank(self, rank: Any) -> None:
        if self.criterion != "rank":
            raise ValueError(
                f"cutoff: rank={rank!r} belongs to criterion='rank', got {self.criterion!r}"
            )
        whole = isinstance(rank, int | np.integer) and not isinstance(rank, bool) and rank >= 1
        if not (whole or (is_number(rank) and 0 < rank < 1)):
            raise ValueError(
                "cutoff: criterion='rank' needs rank=c, a whole number from 1 to the number of "
                "majority rows, or a share of them, between 0 and 1 without 0 and 1; got "
                f"rank={rank!r}"
            )

    def _number(self, n: int) -> int:
        """Return c, the number of the distance among n, for the criterion "rank"."""
        rank: Any = self.rank
        if rank < 1:
            return math.ceil(rank * n - 1e-9)  # .7 * 10 is 7, not 7.000000000000001
        if rank > n:
            raise ValueError(
                f"cutoff: rank={rank} is out of range: there are {n} majority rows with a "
                f"distance; use a rank from 1 to {n}, or a share such as rank=0.9"
            )
        return int(rank)

    def check(self, minority: np.ndarray) -> None:
        """Raise a ValueError if the classes have too few rows for the criterion or the folds."""
        two_class = ("g_mean", "balanced_accuracy", "f1", "cost")
        if self.criterion in two_class and not minority.any():
            raise ValueError(
                f"cutoff: criterion={self.criterion!r} compares majority with minority rows, but "
                "there is no minority row; use criterion='false_alarm'"
            )
        if self.criterion == "rank":
            self._number(int((~minority).sum()))
        for name, members in (("majority", ~minority), ("minority", minority)):
            if isinstance(self.cv, int) and 0 < members.sum() < self.cv:
                raise ValueError(
                    f"cutoff: cv={self.cv} folds need at least {self.cv} {name} rows, got "
                    f"{members.sum()}; use fewer folds, cv='loo' if the model has it, or a number "
                    "as the cutoff"
                )

    def resolved(self, minority: np.ndarray) -> str | float:
        """Return the criterion that "auto" stands for."""
        if self.criterion != "auto":
            return self.criterion
        return "g_mean" if minority.any() else "false_alarm"

    def check_rate(self, minority: np.ndarray) -> None:
        """Raise a ValueError if there are too few majority rows for the rate of false alarms."""
        if self.resolved(minority) == "false_alarm":
            _conformal_number(int((~minority).sum()), self.false_alarm_rate)

    def rate_of(self, chosen: float, distance: np.ndarray, minority: np.ndarray) -> float:
        """Return the rate of false alarms that is asked, or that the chosen cutoff has.

        ``chosen`` is what :meth:`choose` returns from the other two. It is at least 1/(n0 + 1).
        """
        majority = distance[~minority]
        if self.resolved(minority) == "false_alarm":
            return self.false_alarm_rate
        return max(float((majority > chosen).mean()), 1.0 / (len(majority) + 1))

    def choose(self, distance: np.ndarray, minority: np.ndarray, far: float = math.inf) -> float:
        """Return D_opt from left-out distances (n,) and a mask of the minority rows (n,).

        Any increasing function of the distances will do in their place, such as minus the scores
        of left-out rows: the result is a value of the same function. ``far`` is the distance of a
        row that resembles no training row. A criterion that compares the classes takes the best
        cutoff below it, unless each majority row lies beyond it.
        """
        criterion = self.resolved(minority)
        if not isinstance(criterion, str):
            return float(criterion)
        if criterion == "model":
            raise ValueError(
                "cutoff: criterion='model' is the model's own boundary and needs no distances; "
                "use another criterion"
            )
        if criterion == "false_alarm":
            return _conformal_quantile(distance[~minority], self.false_alarm_rate)
        if criterion == "rank":
            majority = np.sort(distance[~minority])
            return float(majority[self._number(len(majority)) - 1])
        self.check(minority)
        cutoffs = candidates(np.append(distance, far))
        if distance[~minority].min() < far:
            cutoffs = cutoffs[cutoffs < far]
        tn = np.searchsorted(np.sort(distance[~minority]), cutoffs, side="right")
        fn = np.searchsorted(np.sort(distance[minority]), cutoffs, side="right")
        fp, tp = (~minority).sum() - tn, minority.sum() - fn
        if criterion == "cost":
            value = -(fp + self.miss_cost * fn)
        else:
            value = rates(tp, fp, fn, tn)[criterion]
        best = value >= value.max() - 1e-12 * max(1.0, abs(value.max()))  # ties, up to rounding
        return float(cutoffs[best][-1])


def rates(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike) -> dict[str, np.ndarray]:
    r"""Return the metrics that follow from the four counts, elementwise for arrays.

    A ratio with denominator 0 (PPV if no row is flagged, FNR without minority rows) is NaN.

    Returns
    -------
    dict
        ``accuracy``, ``f1`` = 2TP/(2TP+FP+FN), ``fpr`` = FP/(FP+TN) (majority rows flagged),
        ``fnr`` = FN/(FN+TP) (minority rows missed), ``ppv`` = TP/(TP+FP),
        ``g_mean`` = :math:`\sqrt{(1-FPR)(1-FNR)}`, ``balanced_accuracy`` = 1 - (FPR+FNR)/2.
    """
    tp, fp, fn, tn = (np.asarray(n, dtype=float) for n in (tp, fp, fn, tn))
    fpr, fnr = _ratio(fp, fp + tn), _ratio(fn, fn + tp)
    return {
        "accuracy": _ratio(tp + tn, tp + fp + fn + tn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "fpr": fpr,
        "fnr": fnr,
        "ppv": _ratio(tp, tp + fp),
        "g_mean": np.sqrt((1 - fpr) * (1 - fnr)),
        "balanced_accuracy": 1 - (fpr + fnr) / 2,
    }


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


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
    low, high = values[:-1], values[1:]
    between = (low + high) / 2
    between = np.where((low < between) & (between < high), between, low)  # adjacent floats
    return np.concatenate([[np.nextafter(values[0], -np.inf)], between, values[-1:]])


def _conformal_quantile(distance: np.ndarray, rate: float) -> float:
    """Return the left-out distance number ceil((1 - rate)(n + 1)), in ascending order."""
    cutoff = float(np.sort(distance)[_conformal_number(len(distance), rate) - 1])
    if not math.isfinite(cutoff):
        raise ValueError(
            "cutoff: too many left-out distances are infinite for a false-alarm rate of "
            f"{rate:g}; the weights have collapsed on a few rows: use another prior"
        )
    return cutoff


def _conformal_number(n: int, rate: float) -> int:
    """Return ceil((1 - rate)(n + 1)); a ValueError if it is more than n, the number of rows."""
    number = math.ceil((1.0 - rate) * (n + 1) - 1e-9)  # 0.9 * 10 is 9, not 9.000000000000002
    if number > n:
        raise ValueError(
            f"cutoff: a false-alarm rate of {rate:g} needs at least {rows_for(rate)} left-out "
            f"majority rows, got {n}; use false_alarm_rate={1 / (n + 1):.3g} or more, another "
            "criterion, or a number as the cutoff"
        )
    return number


def rows_for(rate: float) -> int:
    """Return the fewest left-out rows for a false-alarm rate: n with ceil((1 - rate)(n + 1)) <= n.

    Examples
    --------
    >>> from bsvdd.inference.cutoff import rows_for
    >>> rows_for(0.1), rows_for(0.05), rows_for(0.01)
    (9, 19, 99)
    """
    return math.ceil(1.0 / rate - 1.0 - 1e-9)


def as_cutoff(cutoff: Any) -> Cutoff:
    """Return a Cutoff: itself, ``Cutoff()`` for None, ``Cutoff(x)`` for a name or a number."""
    if isinstance(cutoff, Cutoff):
        return cutoff
    return Cutoff() if cutoff is None else Cutoff(cutoff)
