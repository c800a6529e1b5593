r"""Whether rows of a stream are still like the training rows: a conformal test martingale.

The model is refitted to half of the normal rows, and n rows are left out. Row t of the stream is
ranked among them and the rows of the stream up to it. Ties, of which it is one itself, are broken
by chance (scores that rounding alone tells apart are equal, see :mod:`bsvdd.inference.ties`),

.. math:: p_t = \frac{\#\{i : s_i < s_t\} + U_t\, \#\{i : s_i = s_t\}}{n + t}.

If all these rows are exchangeable, :math:`p_1, p_2, \dots` are independent and uniform (Vovk,
Gammerman and Shafer 2005), and no bet on them wins on average. The simple jumper (Vovk et al. 2021)
spreads its capital over three bets, :math:`\epsilon = -1` on small p, 0, and 1 on large p,

.. math:: M_t = \sum_\epsilon C_t(\epsilon), \qquad C_t(\epsilon) =
    \left((1 - J)\, C_{t-1}(\epsilon) + \tfrac J 3 M_{t-1}\right)
    \left(1 + \epsilon\, (p_t - \tfrac12)\right),

with :math:`J = .01` and :math:`M_0 = 1`. :math:`M` is a martingale, so by Ville's inequality the
probability that it ever reaches :math:`1/\alpha` is at most :math:`\alpha`, in a stream of any
length. This needs left-out rows that the fit has not seen, those of the method "split"; those of
"left-out" are only nearly exchangeable with new rows.

**References**

Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic learning in a random world. Springer.

Vovk, V., Petej, I., Nouretdinov, I., Ahlberg, E., Carlsson, L. and Gammerman, A. (2021). Retrain or
not retrain: conformal test martingales for change-point detection. Proceedings of Machine Learning
Research 152, 191-210.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...inference import ties
from .. import inputs
from ..detector import Detector
from ..fit import Fit
from ..p_values import check_rate, split, warn_of_seen

BETS = (-1.0, 0.0, 1.0)  # epsilon
JUMP = 0.01  # J


def monitor(est: Detector, level: float = 0.01) -> Monitor:
    """Return a test that tells when rows of a stream are no longer like the training rows.

    It takes batches, in the order of the stream. A stream without a change, of any length, gets
    an alarm with a probability of at most ``level``. The model is refitted to half of the
    majority rows, and the stream is compared with the other half, as in the method "split" of
    :func:`bsvdd.p_value`; see :mod:`bsvdd.estimators.questions.stream`.

    Parameters
    ----------
    est : Detector
        Fitted.
    level : float, default=0.01

    Returns
    -------
    bsvdd.estimators.questions.stream.Monitor
        ``update(batch)``, ``alarm``, and a line when it is printed.

    Raises
    ------
    ValueError
        The level does not lie between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> rng = np.random.default_rng(0)
    >>> monitor = bsvdd.monitor(bsvdd.BSVDD().fit(rng.normal(size=(200, 2))))
    >>> for shift in [0.0, 0.0, 2.0]:
    ...     evidence = monitor.update(rng.normal(size=(50, 2)) + shift)
    >>> monitor.alarm is not None and 100 < monitor.alarm < 150
    True
    """
    check_is_fitted(est)
    return Monitor(est.fit_, level)


class Monitor:
    """A test that rows of a stream are like the training rows; made by :func:`bsvdd.monitor`.

    Attributes
    ----------
    rows : int
        Number of rows so far.
    log_martingale : float
        log M of these rows.
    alarm : int or None
        The number of the row, counted from 0, at which M first reached 1/``level``.
    level : float
        Largest probability of a false alarm, in a stream of any length.
    """

    def __init__(self, fit: Fit, level: float) -> None:
        check_rate("level", level)
        self.level, self.rows, self.log_martingale = level, 0, 0.0
        self.alarm: int | None = None
        self._fit, self._fold = fit, split(fit)
        self._known: list[float] = self._fold.left_out.tolist()  # in ascending order
        self._shares = [1.0 / len(BETS)] * len(BETS)  # of the capital in each bet
        self._rng = np.random.default_rng(fit.data.seed)

    def update(self, X: Any) -> np.ndarray:
        """Take the next rows, and return log M after each of them, shape (rows,).

        Batches of one row and of many give the same.

        Parameters
        ----------
        X : array-like of shape (rows, p)
            In the order of the stream.

        Raises
        ------
        ValueError
            X as in :meth:`~bsvdd.estimators.detector.Detector.probability_normal`, such as a row
            with a gap; then no row of X is taken.
        TypeError
            X is a dask collection.

        Warns
        -----
        DataWarning
            X has training rows.
        """
        inputs.in_memory(X, "the rows of a stream have an order", "give one batch after another")
        if hasattr(X, "__len__") and len(X) == 0:
            return np.empty(0)
        rows = inputs.table(self._fit.data, X)
        warn_of_seen(self._fit.asked(rows).place)
        scores = self._fold.scores(rows)
        rounding = ties.tolerance(scores, self._fold.score.unit)
        found = np.empty(len(scores))
        each = zip(scores.tolist(), rounding.tolist(), self._rng.random(len(scores)), strict=True)
        for i, (score, delta, u) in enumerate(each):  # u belongs to the place in the stream
            below = bisect_left(self._known, score - delta)
            upto = bisect_right(self._known, score + delta)
            insort(self._known, score)
            p = (below + u * (upto + 1 - below)) / len(self._known)
            capital = [
                ((1.0 - JUMP) * share + JUMP / len(BETS)) * (1.0 + bet * (p - 0.5))
                for share, bet in zip(self._shares, BETS, strict=True)
            ]
            growth = sum(capital)
            self._shares = [each / growth for each in capital]
            self.log_martingale += math.log(growth)
            if self.alarm is None and self.log_martingale >= -math.log(self.level):
                self.alarm = self.rows
            self.rows += 1
            found[i] = self.log_martingale
        return found

    def __str__(self) -> str:
        """Return what the rows say, in one line."""
        limit = (
            f"{1.0 / self.level:.3g}, which it reaches in at most {self.level:.3g} of streams like "
            "the training rows"
        )
        if self.alarm is None:
            evidence = math.exp(self.log_martingale)
            return (
                f"{self.rows} rows: no alarm that they differ from the training rows; evidence "
                f"{evidence:.3g}, alarm at {limit}"
            )
        return (
            f"{self.rows} rows: they differ from the training rows, told at row {self.alarm} "
            f"(counted from 0), where the evidence reached {limit}"
        )
