r"""Several views of the same rows, joined to one answer.

A view gives each row z a value :math:`t_v(z)` in each draw, larger for more normal
rows, and n left-out values :math:`t_{vj}` to the normal training rows. The p-value of z
under view v is the share of these that are at most its own, and the score joins the
views by the weighted harmonic mean of p-values (Good 1958; Wilson 2019),

.. math:: s(z) = -\log \sum_v \frac{c_v}{p_v(z)}
    - 10^{-4} \sum_v c_v \frac{m_v - t_v(z)}{s_v}, \qquad
    p_v(z) = \frac{1 + \#\{j : t_{vj} \le t_v(z)\}}{n + 1}.

The second term ranks rows beyond all training rows, with :math:`m_v, s_v` the mean and
the standard deviation of the left-out values. A left-out row is compared with the other
n - 1. The harmonic mean is no p-value itself: left-out scores choose the cutoff, and
give p-values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..base.messages import check_rate, quoted
from ..base.warning import DataWarning, warn
from ..inference.boundary import SCORE_TIE
from ..inference.cutoffs import FalseAlarm
from ..inference.p_values import p_values
from ..models.kernels import Tabular
from ..models.kernels.base import is_number
from ..models.rarity import Rarity
from ..tables.table import frame_of
from ..tables.training import TrainingTable, unrepeated_hashes, warn_of_training
from .bayesian import BSVDD
from .checks import require_description
from .decisions import DecisionTable
from .description import Description
from .of_rows import BaseEstimator, OutlierMixin, clone

# by mean AUC on the embedded and the development sets
VIEW_WEIGHTS = {
    "standardised": 0.3,
    "normal scores": 0.6,
    "columns": 0.05,
    "rarest column": 0.05,
}
VIEW_SCALES = "standardised", "normal scores"
FURTHER_WEIGHT = 0.3  # of a view of the user
Z_WEIGHT = 1e-4
JOINED_DRAWS = 500  # evenly spaced among the draws of a view
ROWS_AT_ONCE = 2000


@dataclass(frozen=True)
class DescriptionView:
    """The log(inside / outside) of a description, in 500 of its draws."""

    estimator: Description

    def values(self, table: TrainingTable, Z: ArrayLike | None = None) -> np.ndarray:
        """Return the values of new rows, by default of its training rows, left out.

        Parameters
        ----------
        table : TrainingTable
            Not used.
        Z : array-like of shape (m, p), optional

        Returns
        -------
        ndarray of shape (500, m)
        """
        margins = self.estimator.margins(Z)
        return margins[np.arange(JOINED_DRAWS) * len(margins) // JOINED_DRAWS]


@dataclass(frozen=True)
class ColumnsView:
    """The log frequencies of the values of a row, by column, joined to one number."""

    joined: Callable[..., np.ndarray]

    def values(self, table: TrainingTable, Z: ArrayLike | None = None) -> np.ndarray:
        """Return the values of new rows, by default of training rows, left out.

        Parameters
        ----------
        table : TrainingTable
        Z : array-like of shape (m, p), optional

        Returns
        -------
        ndarray of shape (1, m)
        """
        normal = ~table.minority
        is_category = [kind == "category" for kind in table.kinds.values()]
        rare = Rarity.of(table.values[normal].to_numpy(), is_category)
        rows = table.values.to_numpy() if Z is None else table.floats(Z)
        frequency = rare.log_frequency(rows, Z is None and normal)
        return self.joined(frequency, axis=1)[None]


@dataclass(frozen=True)
class FunctionView:
    """Minus a function of the user, which is larger for odder rows."""

    function: Callable[[pd.DataFrame], ArrayLike]

    def values(self, table: TrainingTable, Z: ArrayLike | None = None) -> np.ndarray:
        """Return the values of new rows, by default of training rows.

        Parameters
        ----------
        table : TrainingTable
        Z : array-like of shape (m, p), optional

        Returns
        -------
        ndarray of shape (1, m)
            NaN says nothing of a row.
        """
        rows = table.values
        if Z is not None:
            rows = frame_of(table.floats(Z), list(table.kinds))
        return -np.asarray(self.function(rows), dtype=float).reshape(1, len(rows))


View = DescriptionView | ColumnsView | FunctionView
COLUMNS_VIEWS = {"columns": ColumnsView(np.sum), "rarest column": ColumnsView(np.min)}


@dataclass(kw_only=True, eq=False, repr=False)
class Views(OutlierMixin, BaseEstimator):
    """Several views of the same rows, joined to one answer.

    The formula is in :mod:`bsvdd.estimators.views`. The views are

    - "standardised" and "normal scores": the estimator, by the two halves of its kernel
      :class:`~bsvdd.kernels.Tabular`;
    - "columns" and "rarest column": the columns one by one. The value of a column is
      rare if few training rows have a value near to it (:mod:`bsvdd.models.rarity`);
      the sum of the log frequencies, and the smallest.

    Parameters
    ----------
    estimator : estimator, optional
        A description of this package, fitted once for each scale. Default: BSVDD().
    views : mapping of str to estimator or callable, optional
        Further views by their names: a description, or a function that takes a data
        frame of the rows as floats (codes for categories, days for dates, NaN for
        missing values) and returns one number for each row, larger for odder rows; NaN
        says nothing of a row. A name from above takes the place of that view.
    weights : mapping of str to float, optional
        c by the names of views, where they differ from .3, .6, .05 and .05, in the
        order above, and .3 for a further view; 0 leaves a view out. Only their ratios
        count.
    false_alarm_rate : float, default=0.1
        The cutoff is the quantile of the left-out scores at this rate, in each draw
        under its own weights of the rows (Bayesian bootstrap, as in :class:`BSVDD`).
    random_state : int, RandomState or None, default=0
        The seed of these weights; estimators have their own.

    Attributes
    ----------
    views_ : dict of str to estimator
        The fitted estimators: ``est.views_["standardised"].idata_``.
    failed_ : dict of str to str
        Views that could not be fitted, and why. The others answer.
    table_ : TrainingTable
        As in :class:`BSVDD`.

    Warns
    -----
    DataWarning
        A view cannot be fitted; many of the rows that are asked for are training rows.

    See Also
    --------
    BSVDD : one description, of both scales side by side.

    Notes
    -----
    P(normal) is a share of 500 draws: draw t of each description has p-values among its
    own left-out rows. What needs the inside of one fit, such as ``bsvdd.facts`` and
    ``save``, asks one of ``views_``.

    References
    ----------
    Good, I. J. (1958). Significance tests in parallel and in series. Journal of the
    American Statistical Association 53, 799-813. doi:10.1080/01621459.1958.10501480

    Wilson, D. J. (2019). The harmonic mean p-value for combining dependent tests.
    Proceedings of the National Academy of Sciences 116, 1195-1200.
    doi:10.1073/pnas.1814092116

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> from bsvdd import BDD, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> X = np.column_stack([x, x + 0.1 * rng.normal(size=200)])
    >>> est = Views(BDD(simplex=True)).fit(X)
    >>> est.predict([[0.0, 0.0], [1.5, -1.5], [9.0, 0.0]])
    array([ 1, -1, -1])
    >>> len(bsvdd.explain(est, [[1.5, -1.5]]).change(0))  # one of both mends the pair
    1
    """

    estimator: Description | None = field(default=None, kw_only=False)
    views: Mapping[str, Description | Callable[..., ArrayLike]] | None = None
    weights: Mapping[str, float] | None = None
    false_alarm_rate: float = 0.1
    random_state: int | np.random.RandomState | None = 0

    def _weighted(self) -> dict[str, tuple[float, View]]:
        """Views by name with their weights c, not yet fitted, descriptions first."""
        own = BSVDD() if self.estimator is None else clone(self.estimator)
        kernel = own.kernel if isinstance(own.kernel, Tabular) else Tabular(own.kernel)
        views: dict[str, View] = {}
        for name in VIEW_SCALES:
            scaled = clone(own).set_params(kernel=replace(kernel, scale=name))
            views[name] = DescriptionView(scaled)
        views |= COLUMNS_VIEWS
        for name, part in (self.views or {}).items():
            own_part: Any = clone(part, safe=False)
            is_fit = isinstance(part, BaseEstimator)
            of: type[View] = DescriptionView if is_fit else FunctionView
            views[name] = of(own_part)
        c = {name: VIEW_WEIGHTS.get(name, FURTHER_WEIGHT) for name in views}
        c |= dict(self.weights or {})
        fits = [name for name in views if isinstance(views[name], DescriptionView)]
        if not (
            set(c) == set(views)
            and all(is_number(value) and value >= 0.0 for value in c.values())
            and max(c[name] for name in fits) > 0.0
        ):
            raise ValueError(
                f"weights: {self.weights}: expected 0 or more for {quoted(views)}, not "
                "all 0"
            )
        return {name: (c[name], views[name]) for name in [*fits, *views] if c[name]}

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit the views, and choose the cutoff.

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
            As in :class:`BSVDD`.
        y : array-like of shape (n,), or name of a column of the data frame, optional
            As in :class:`BSVDD`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in :class:`BSVDD`; weights are negative, or of no view.
        """
        return self._fit(lambda est: est.fit(X, y))

    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None) -> np.ndarray:
        """Fit each view to one table by its ``fit_predict``, and decide on its rows.

        Parameters
        ----------
        X : array-like of shape (n, p), or data frame
            As in :meth:`fit`.
        y : array-like of shape (n,), or name of a column of the data frame, optional
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n,)
            +1 (normal) or -1 of each row, left out.
        """
        fitted = self._fit(lambda est: est.fit_predict(X, y))
        return np.where(fitted.decision()["normal"], 1, -1)

    def _fit(self, fit_one: Callable[[Description], object]) -> Self:
        check_rate("false_alarm_rate", self.false_alarm_rate)
        fits: dict[str, Description] = {}
        joined = {}
        failed = dict[str, Exception]()
        for name, (weight, view) in self._weighted().items():
            try:
                if isinstance(view, DescriptionView):
                    fit_one(view.estimator)
                    require_description(view.estimator, "view")
                    fits[name] = view.estimator
                table = next(iter(fits.values())).table_
                joined[name] = weight, view, view.values(table)
            except Exception as error:  # whatever a function of the user raises
                failed[name] = error
        if not fits:
            raise next(iter(failed.values()))
        self.table_ = next(iter(fits.values())).table_
        self.views_ = fits
        self.n_features_in_ = len(self.table_.kinds)
        self.failed_ = {
            name: f"{type(error).__name__}: {error}" for name, error in failed.items()
        }
        for name, why in self.failed_.items():
            warn(
                f"view {name!r} cannot be fitted, and the others answer: {why}",
                DataWarning,
            )
        self._joined = joined
        self._set_cutoff()
        return self

    def _set_cutoff(self) -> None:
        self._cutoff = np.zeros((1, 1))
        scores = self.margins()[:, ~self.table_.minority]
        n = scores.shape[1]
        random = check_random_state(self.random_state)
        weight = random.dirichlet(np.ones(n), JOINED_DRAWS)
        cutoff = FalseAlarm(self.false_alarm_rate)
        self._cutoff = (
            cutoff(scores, weight, np.zeros(n, dtype=bool))[:, None] - SCORE_TIE
        )
        self._scores = np.quantile(scores - self._cutoff, 0.5, axis=0, method="lower")

    def margins(self, Z: ArrayLike | None = None) -> np.ndarray:
        """Return the joined score less the cutoff in each draw.

        Parameters
        ----------
        Z : array-like of shape (m, p), optional
            New rows. By default the training rows, each left out.

        Returns
        -------
        ndarray of shape (500, m)
        """
        check_is_fitted(self)
        normal = ~self.table_.minority
        harmonic = below = np.zeros((1, 1))
        for weight, view, left_out in self._joined.values():
            values = left_out if Z is None else view.values(self.table_, Z)
            others = left_out[:, normal]
            finite = np.isfinite(others)  # NaN counts as the most normal
            mean = others.mean(axis=1, where=finite, keepdims=True)
            sd = others.std(axis=1, where=finite, keepdims=True)
            z = (mean - values) / np.where(sd > 0.0, sd, 1.0)
            each = zip(values, others, strict=True)
            itself = Z is None and normal
            p = np.array([p_values(v, of, itself=itself) for v, of in each])
            harmonic = harmonic + weight / p
            below = below + weight * np.nan_to_num(z)
        return -np.log(harmonic) - Z_WEIGHT * below - self._cutoff

    def decision(self, Z: ArrayLike | None = None, prob: float = 0.9) -> DecisionTable:
        """Return the decision on each row, as the decision of :class:`BSVDD`.

        Parameters
        ----------
        Z : array-like of shape (m, p), optional
            New rows. By default the training rows, each left out, which have no
            p-value.
        prob : float, default=0.9
            Probability of the interval of the surprise.

        Returns
        -------
        pandas.DataFrame
            ``p_value``, ``probability_normal``, ``surprise``, ``low``, ``high`` and
            ``normal``.
        """
        check_is_fitted(self)
        table = self.table_
        rows = table.frame
        blocks = [None]
        if Z is not None:
            warn_of_training(
                unrepeated_hashes(table.values.to_numpy()), table.floats(Z)
            )
            rows = frame_of(Z, rows.columns)
            starts = range(0, len(rows), ROWS_AT_ONCE)
            blocks = [rows.iloc[i : i + ROWS_AT_ONCE] for i in starts]
        shares = [0.5, (1 - prob) / 2, (1 + prob) / 2]
        found = []
        for m in map(self.margins, blocks):
            ends = np.quantile(m, shares, axis=0, method="lower")
            found.append([*ends, (m >= 0.0).mean(axis=0)])
        score, low, high, P = np.concatenate(found, axis=1)
        p_value = {} if Z is None else {"p_value": p_values(score, self._scores)}
        answers = {"probability_normal": P, "surprise": 0.0 - score}
        answers |= {"low": -high, "high": -low, "normal": score >= 0.0}
        return DecisionTable(p_value | answers, rows.index)

    def probability_normal(self, Z: ArrayLike) -> np.ndarray:
        """Return the share of the draws in which each new row is normal.

        Parameters
        ----------
        Z : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.decision(Z)["probability_normal"].to_numpy()

    @property
    def surprise_(self) -> np.ndarray:
        """The surprise of the training rows (n,), each left out."""
        return self.decision()["surprise"].to_numpy()

    def score_samples(self, Z: ArrayLike) -> np.ndarray:
        """Return minus the surprise of each new row: at least 0 for normal rows.

        Parameters
        ----------
        Z : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        return -self.decision(Z)["surprise"].to_numpy()

    decision_function = score_samples

    def predict(self, Z: ArrayLike) -> np.ndarray:
        """Return +1 (normal) where the surprise is at most 0, else -1.

        Parameters
        ----------
        Z : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.where(self.decision(Z)["normal"], 1, -1)
