r"""Choosers of a cutoff, functions of the values of left-out rows.

A value is a similarity, its logarithm or a score: larger is more normal. A chooser is called with
left-out values (n,), a mask of the minority rows (n,), and the value of a row that resembles no
training row, which is minus infinity if left out. It returns the cutoff c: a row is normal if its
value is at least c. An increasing function of the values gives the same decisions. In draws of the
values, :meth:`Chooser.in_draws`, each row has a weight in each draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np
from numpy.typing import ArrayLike

from ..models.kernels.base import is_number

__all__ = ["Best", "Cost", "FalseAlarm", "Own", "Rank"]

METRICS = ("g_mean", "balanced_accuracy", "f1")


@dataclass(frozen=True)
class Chooser:
    """The base class of all choosers."""

    of_rows: ClassVar[bool] = True  # whether it needs left-out rows

    def __call__(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        far: float = -math.inf,
        weight: np.ndarray | None = None,
    ) -> float:
        """Return the cutoff: a row is normal if its value is at least this.

        Only a rate of false alarms counts rows with their ``weight`` (n,).
        """
        raise NotImplementedError

    def in_draws(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        weight: np.ndarray,
        far: float,
        logarithmic: bool,
    ) -> np.ndarray:
        """Return the cutoff in each draw, (draws,), of values and weights (draws, n).

        Values that are ``logarithmic`` are logarithms. The cutoff is not finite where too few
        values are.
        """
        raise NotImplementedError

    def check(self, minority: np.ndarray) -> None:
        """Raise a ValueError if the classes have too few rows."""

    def rate_at(self, cutoff: float, values: np.ndarray, minority: np.ndarray) -> float:
        """Return the rate of false alarms that is asked, or that a cutoff has on these rows.

        It is at least 1/(n0 + 1).
        """
        majority = values[~minority]
        return max(float((majority < cutoff).mean()), 1.0 / (len(majority) + 1))


class _Numbered(Chooser):
    """A chooser of a value of the majority by its number in descending order."""

    def _number(self, n: int) -> int:
        """Return the number among n values, from 1; a ValueError if there is none."""
        raise NotImplementedError

    def _rate(self, n: int) -> float:
        """Return the share of the majority beyond the value among n, at least 1/(n + 1)."""
        return max(1.0 - self._number(n) / n, 1.0 / (n + 1))

    @override
    def check(self, minority: np.ndarray) -> None:
        self._number(int((~minority).sum()))

    @override
    def __call__(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        far: float = -math.inf,
        weight: np.ndarray | None = None,
    ) -> float:
        majority = np.sort(values[~minority])
        return float(majority[-self._number(len(majority))])

    @override
    def in_draws(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        weight: np.ndarray,
        far: float,
        logarithmic: bool,
    ) -> np.ndarray:
        values, weight = np.broadcast_to(values, weight.shape)[:, ~minority], weight[:, ~minority]
        return quantiles(values, weight, self._rate(values.shape[1]), logarithmic)


@dataclass(frozen=True)
class FalseAlarm(_Numbered):
    r"""The cutoff for a rate of false alarms; it needs no minority rows.

    It is the left-out value of the majority that is number
    :math:`\lceil (1 - \alpha)(n_0 + 1) \rceil` in descending order.

    Parameters
    ----------
    rate : float, default=0.1
        :math:`\alpha`, the share of new normal rows that may be called abnormal, between 0 and 1.
        It needs at least 1/rate - 1 majority rows: 9 for 0.1, 19 for 0.05, 99 for 0.01.

    Raises
    ------
    ValueError
        The rate does not lie between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import cutoffs
    >>> cutoffs.FalseAlarm(0.25)(np.array([0.9, 0.8, 0.7]), np.zeros(3, dtype=bool))
    0.7
    """

    rate: float = 0.1

    def __post_init__(self) -> None:
        if not (is_number(self.rate) and 0 < self.rate < 1):
            raise ValueError(
                "cutoff: the false-alarm rate must lie between 0 and 1, without 0 and 1, got "
                f"{self.rate!r}; no cutoff from data promises a rate of 0"
            )

    @override
    def __call__(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        far: float = -math.inf,
        weight: np.ndarray | None = None,
    ) -> float:
        cutoff = super().__call__(values, minority, far)
        if weight is not None:
            order = np.argsort(values[~minority], kind="stable")
            below = weight[~minority][order].cumsum()
            target = self.rate * (below[-1] + 1.0) + 1e-9
            number = np.searchsorted(below, target, side="right")
            cutoff = float(values[~minority][order[max(min(number, len(order)), 1) - 1]])
        if not math.isfinite(cutoff):
            raise ValueError(
                "cutoff: too many left-out distances are infinite for a false-alarm rate of "
                f"{self.rate:g}; the weights have collapsed on a few rows: use another prior"
            )
        return cutoff

    @override
    def rate_at(self, cutoff: float, values: np.ndarray, minority: np.ndarray) -> float:
        return self.rate

    @override
    def _rate(self, n: int) -> float:
        return self.rate

    @override
    def _number(self, n: int) -> int:
        number = math.ceil((1.0 - self.rate) * (n + 1) - 1e-9)  # .9 * 10 is 9, not 9.000000000002
        if number > n:
            raise ValueError(
                f"cutoff: a false-alarm rate of {self.rate:g} needs at least "
                f"{math.ceil(1.0 / self.rate - 1.0 - 1e-9)} left-out majority rows, got {n}; use "
                f"a rate of {math.ceil(1e4 / (n + 1)) / 1e4:g} or more, another of bsvdd.cutoffs, "
                "or a number"
            )
        return number


class _Comparing(Chooser):
    """A chooser that compares the classes.

    It takes the best cutoff that a row far from all training rows does not reach, unless no
    majority row reaches such a cutoff.

    Attributes
    ----------
    max_fpr : float or None
        The largest share of the majority rows that may be flagged; None for no limit.
    """

    max_fpr: float | None = None

    def _gain(self, *counts: np.ndarray) -> np.ndarray:
        """Return what is largest at the best of cutoffs, from TP, FP, FN and TN of each."""
        raise NotImplementedError

    def _most(self, minority: np.ndarray) -> int:
        """Return how many majority rows may be flagged."""
        n0 = int((~minority).sum())
        # .2 * 15 is 3, not 2.9999999
        return n0 if self.max_fpr is None else int(self.max_fpr * n0 + 1e-9)

    def _otherwise(self, minority: np.ndarray) -> FalseAlarm:
        """Return the rule where no cutoff within the limit flags a minority row."""
        return FalseAlarm(max(FalseAlarm.rate, 1.0 / (int((~minority).sum()) + 1)))

    def finds_some(self, values: np.ndarray, minority: np.ndarray) -> bool:
        """Return whether a cutoff within the limit flags a minority row.

        There is no limit where more majority rows than it allows have no value.
        """
        most, majority = self._most(minority), np.sort(values[~minority])
        if most == len(majority) or np.isneginf(majority[most]):
            return True
        return bool(values[minority].min() < majority[most])

    @override
    def check(self, minority: np.ndarray) -> None:
        if not minority.any():
            raise ValueError(
                f"cutoff: {self!r} compares majority with minority rows, but there is no minority "
                "row; use cutoffs.FalseAlarm(0.1)"
            )

    @override
    def __call__(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        far: float = -math.inf,
        weight: np.ndarray | None = None,
    ) -> float:
        self.check(minority)
        if not np.isfinite(values).any():
            raise ValueError(
                "cutoff: every left-out distance is infinite; the weights have collapsed on a few "
                "rows: use another prior, or a number as the cutoff"
            )
        if not self.finds_some(values, minority):
            return self._otherwise(minority)(values, minority)
        once = np.ones((1, len(values)))
        # some cut flags a minority row, so nothing is interpolated, as logarithms or otherwise
        return float(self.in_draws(values[None], minority, once, far, False)[0])

    @override
    def in_draws(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        weight: np.ndarray,
        far: float,
        logarithmic: bool,
    ) -> np.ndarray:
        all_values, all_weight = np.broadcast_to(values, weight.shape), weight
        values, n0, n1 = all_values, (~minority).sum(), minority.sum()
        none_beyond = values[:, ~minority].max(axis=1, keepdims=True) <= far
        far_row, no_weight = np.full((len(values), 1), far), np.zeros((len(values), 1))
        values, weight = np.hstack([values, far_row]), np.hstack([weight, no_weight])
        order = np.argsort(values, axis=1)
        values, weight = (np.take_along_axis(v, order, axis=1) for v in (values, weight))
        is_minority, cutoffs = np.append(minority, False)[order], candidates(values)
        fp, tp = _below(weight * ~is_minority, n0), _below(weight * is_minority, n1)
        gain = self._gain(tp, fp, n1 - tp, n0 - fp)
        within = np.isfinite(cutoffs) & ((cutoffs > far) | none_beyond)
        fewest = np.where(within, fp, np.inf).min(axis=1, keepdims=True)
        limit = n0 if self.max_fpr is None else self.max_fpr * n0
        within &= fp <= np.maximum(limit, fewest) + 1e-9
        gain = np.where(within, gain, -np.inf)
        most = gain.max(axis=1, keepdims=True)
        best = gain >= most - 1e-12 * np.maximum(1.0, np.abs(most))  # ties, up to rounding
        found = cutoffs[np.arange(len(cutoffs)), best.argmax(axis=1)]
        none = ~(within & (tp > 0.0)).any(axis=1)  # no minority row within the limit
        if self.max_fpr is not None and none.any():
            rule = self._otherwise(minority)
            given = all_values[none], minority, all_weight[none], far, logarithmic
            found[none] = rule.in_draws(*given)
        return found


@dataclass(frozen=True)
class Best(_Comparing):
    r"""The cutoff with the best value of a metric; it needs minority rows.

    Parameters
    ----------
    metric : str, default="g_mean"
        - ``"g_mean"``: :math:`\sqrt{\mathrm{TPR} \cdot \mathrm{TNR}}`;
        - ``"balanced_accuracy"``: (TPR + TNR)/2, that is Youden's J;
        - ``"f1"``: F1 of the minority (without a limit and with a weak signal it flags all rows).

    max_fpr : float or None, default=0.2
        The largest share of left-out majority rows that may be flagged, from 0 to 1; None for no
        limit. With a dozen minority rows the best cutoff may flag a third of the normal rows. If no
        minority row lies beyond the cutoffs within the limit, all of them have the same value of
        the metric, and the cutoff is that of ``FalseAlarm(0.1)``.

    Raises
    ------
    ValueError
        The metric is unknown, or the share does not lie between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import cutoffs
    >>> values, minority = np.array([0.9, 0.8, 0.6, 0.1]), np.array([False, False, True, True])
    >>> round(cutoffs.Best("g_mean")(values, minority), 2)
    0.7
    """

    metric: str = "g_mean"
    max_fpr: float | None = 0.2

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise ValueError(
                f"cutoff: the metric of Best must be one of {METRICS}, got {self.metric!r}"
            )
        share: Any = self.max_fpr
        if not (share is None or (is_number(share) and 0 <= share <= 1)):
            raise ValueError(
                f"cutoff: max_fpr of Best must be None or a share from 0 to 1, got {share!r}"
            )

    @override
    def _gain(self, *counts: np.ndarray) -> np.ndarray:
        return rates(*counts)[self.metric]


@dataclass(frozen=True)
class Cost(_Comparing):
    """The cutoff with the smallest sum, false alarms + ``miss`` x misses; it needs minority rows.

    Parameters
    ----------
    miss : float, default=1
        Cost of a missed minority row; a false alarm costs 1.

    Raises
    ------
    ValueError
        The cost is not positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import cutoffs
    >>> values, minority = np.array([0.9, 0.8, 0.85, 0.1]), np.array([False, False, True, True])
    >>> [round(cutoffs.Cost(miss)(values, minority), 3) for miss in (5, 0.5)]
    [0.875, 0.45]
    """

    miss: float = 1.0

    def __post_init__(self) -> None:
        if not (is_number(self.miss) and 0 < self.miss < np.inf):
            raise ValueError(
                f"cutoff: the cost of a miss must be positive and finite, got {self.miss!r}"
            )

    @override
    def _gain(self, *counts: np.ndarray) -> np.ndarray:
        _, fp, fn, _ = counts
        return -(fp + self.miss * fn)


@dataclass(frozen=True)
class Rank(_Numbered):
    r"""The value of the majority that is number c in descending order: the distance number c.

    With ``Cutoff(Rank(c), cv="train")`` it is the rule :math:`d_z \le d_{(c)}` of BDD.

    Parameters
    ----------
    c : int or float
        c itself, from 1 to n0, or a share between 0 and 1 of the majority rows: ceil(share n0).

    Raises
    ------
    ValueError
        c is neither.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import cutoffs
    >>> cutoffs.Rank(2)(np.array([0.9, 0.8, 0.7]), np.zeros(3, dtype=bool))
    0.8
    """

    c: int | float

    def __post_init__(self) -> None:
        c: Any = self.c
        whole = isinstance(c, int | np.integer) and not isinstance(c, bool) and c >= 1
        if not (whole or (is_number(c) and 0 < c < 1)):
            raise ValueError(
                "cutoff: c of Rank must be a whole number from 1 to the number of majority rows, "
                f"or a share of them, between 0 and 1 without 0 and 1; got {c!r}"
            )

    @override
    def _number(self, n: int) -> int:
        if self.c < 1:
            return math.ceil(self.c * n - 1e-9)  # .7 * 10 is 7, not 7.000000000000001
        if self.c > n:
            raise ValueError(
                f"cutoff: {self!r} is out of range: there are {n} majority rows with a distance; "
                f"use a whole number from 1 to {n}, or a share such as Rank(0.9)"
            )
        return int(self.c)


@dataclass(frozen=True)
class Own(Chooser):
    """The model's own boundary, such as the radius of SVDD, or f = 0 of an SVM.

    Examples
    --------
    >>> from bsvdd import SVDD, cutoffs
    >>> est = SVDD(cutoff=cutoffs.Own())
    """

    of_rows: ClassVar[bool] = False

    @override
    def __call__(
        self,
        values: np.ndarray,
        minority: np.ndarray,
        far: float = -math.inf,
        weight: np.ndarray | None = None,
    ) -> float:
        raise ValueError(
            "cutoff: Own() is the model's own boundary and needs no left-out values; use another "
            "of bsvdd.cutoffs"
        )


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


def candidates(values: np.ndarray) -> np.ndarray:
    """Return the cutoffs (draws, n + 1) that part values (draws, n), both in ascending order.

    The first is the smallest value (no row is flagged). The next lie half-way between two
    neighbours, so that they suit new rows too; NaN between two that are equal. The last lies above
    the largest (all are flagged).
    """
    low, high = values[:, :-1], values[:, 1:]
    with np.errstate(invalid="ignore"):  # minus infinity, twice
        between = (low + high) / 2.0
    between = np.where((low < between) & (between < high), between, high)  # adjacent floats
    between[low == high] = np.nan
    return np.hstack([values[:, :1], between, np.nextafter(values[:, -1:], np.inf)])


def _below(weight: np.ndarray, n: int) -> np.ndarray:
    """Return the sums (draws, rows + 1) of weights before each row and of all, which are n."""
    sums = np.pad(weight.cumsum(axis=1), ((0, 0), (1, 0)))
    of_class: np.ndarray = np.minimum(sums * (n / sums[:, -1:]), n)  # of rounding, no more
    return of_class


def quantiles(
    values: np.ndarray, weight: np.ndarray, rate: float, logarithmic: bool = False
) -> np.ndarray:
    """Return the quantile (draws,) at ``rate`` of values with weights, (draws, n) both.

    A value stands at the weight below it and half its own. Between two values the quantile is
    linear, so that it ties with no row; between logarithms it is the logarithm of what is linear,
    so that a row which resembles no other does not draw it away.
    """
    n, draw = values.shape[1], np.arange(len(values))
    if n == 1:
        return values[:, 0]
    order = np.argsort(values, axis=1)
    weight = np.take_along_axis(weight, order, axis=1)
    places = weight.cumsum(axis=1)
    target = rate * places[:, -1]
    places -= weight / 2.0
    above = np.clip((places < target[:, None]).sum(axis=1), 1, n - 1)
    low, high = places[draw, above - 1], places[draw, above]
    share = np.divide(target - low, high - low, where=high > low, out=np.zeros(len(values)))
    share = np.clip(share, 0.0, 1.0)
    below, beyond = values[draw, order[draw, above - 1]], values[draw, order[draw, above]]
    with np.errstate(divide="ignore", invalid="ignore"):  # minus infinity: see the caller
        if logarithmic:
            return np.logaddexp(below + np.log1p(-share), beyond + np.log(share))
        found: np.ndarray = below + share * (beyond - below)
    return found
