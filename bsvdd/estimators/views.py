r"""Several views of the same rows, joined to one answer.

A view gives each row z a value :math:`t_v(z)` in each draw, larger for more normal
rows, and n left-out values :math:`t_{vj}` to the normal training rows. The p-value of z
under view v is the share of these that are at most its own, and the score joins the
views by the weighted harmonic mean of p-values (Good 1958; Wilson 2019),

.. math:: s(z) = -\log \sum_v \frac{c_v}{p_v(z)} - 10^{-4} \sum_v c_v \frac{m_v - t_v(z)}{s_v},
    \qquad p_v(z) = \frac{1 + \#\{j : t_{vj} \le t_v(z)\}}{n + 1}.

The second term ranks rows beyond all training rows, with :math:`m_v, s_v` the mean and
the standard deviation of the left-out values. A left-out row is compared with the other
n - 1. The harmonic mean is no p-value itself: left-out scores choose the cutoff, and
give p-values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..base.messages import check_rate, quoted
from ..base.warning import DataWarning, warn
from ..inference.boundary import SCORE_TIE
from ..inference.cutoffs import FalseAlarm
from ..inference.p_values import p_values
from ..models.kernels import Tabular
from ..models.rarity import Rarity
from ..tables.table import frame_of
from ..tables.training import TrainingTable, unrepeated_hashes, warn_of_training
from .bayesian import BSVDD
from .checks import require_description
from .decisions import DecisionTable
from .of_rows import BaseEstimator, OutlierMixin

# by mean AUC on the embedded and the development sets
WEIGHTS = {
    "standardised": 0.3,
    "normal scores": 0.6,
    "columns": 0.05,
    "rarest column": 0.05,
}
SCALES = "standardised", "normal scores"
# weights of a view of the user, and of the z-scores
FURTHER = 0.3
BEYOND = 1e-4
# that are joined, evenly spaced; rows in memory at once
DRAWS = 500
BLOCK = 2000


@dataclass(frozen=True)
class Columns:
    """The columns one by one: the log frequencies of the values of a row, joined to one number."""

    joined: Callable[..., np.ndarray]

    def values(self, table: TrainingTable, Z: Any = None) -> np.ndarray:
        """Return the values of new rows (m,); of training rows, each without itself."""
        normal = ~table.minority
        is_category = [kind == "category" for kind in table.kinds.values()]
        rare = Rarity.of(table.values[normal].to_numpy(), is_category)
        rows = table.values.to_numpy() if Z is None else table.floats(Z)
        return self.joined(rare.log_frequency(rows, Z is None and normal), axis=1)


COLUMNS = {"columns": Columns(np.sum), "rarest column": Columns(np.min)}


def _values(part: Any, table: TrainingTable, Z: Any = None) -> np.ndarray:
    """Return the values of new rows under a view, (500 or 1, m); left out, of training rows.

    A view is an estimator, a function, or :class:`Columns`. NaN says nothing of a row.
    """
    if hasattr(part, "fit"):
        margins: np.ndarray = part.margins(Z)
        return margins[np.arange(DRAWS) * len(margins) // DRAWS]
    if isinstance(part, Columns):
        return part.values(table, Z)[None]
    rows = table.values if Z is None else frame_of(table.floats(Z), list(table.kinds))
    return -np.asarray(part(rows), dtype=float).reshape(1, len(rows))


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
        frame of the rows as floats (codes for categories, days for dates, NaN for gaps)
        and returns one number for each row, larger for odder rows; NaN says nothing of
        a row. A name from above takes the place of that view.
    weights : mapping of str to float, optional
        c by the names of views, where they differ from .3, .6, .05 and .05, in the
        order above, and .3 for a further view; 0 leaves a view out. Only their ratios
        count.
    false_alarm_rate : float, default=0.1
        The cutoff is the quantile of the left-out scores at this rate, in each draw
        under its own weights of the rows (Bayesian bootstrap, as in :class:`BSVDD`).
    random_state : int, RandomState or None, default=0
        Of these weights; estimators have their own.

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

    estimator: Any = field(default=None, kw_only=False)
    views: dict[str, Any] | None = None
    weights: dict[str, float] | None = None
    false_alarm_rate: float = 0.1
    random_state: Any = 0

    def _parts(self) -> dict[str, tuple[float, Any]]:
        """Return the views by name with their weights c, not yet fitted, estimators first."""
        own = BSVDD() if self.estimator is None else clone(self.estimator)
        both: Any = (
            own.kernel if isinstance(own.kernel, Tabular) else Tabular(own.kernel)
        )
        parts = {
            n: clone(own).set_params(kernel=replace(both, scale=n)) for n in SCALES
        }
        parts |= COLUMNS | (self.views or {})
        c = {name: WEIGHTS.get(name, FURTHER) for name in parts} | dict(
            self.weights or {}
        )
        fits = [name for name in parts if hasattr(parts[name], "fit")]
        if not (
            set(c) == set(parts)
            and min(c.values()) >= 0.0 < max(c[name] for name in fits)
        ):
            raise ValueError(
                f"weights: {self.weights}: expected 0 or more for {quoted(parts)}, not "
                "all 0"
            )
        return {n: (c[n], clone(parts[n], safe=False)) for n in [*fits, *parts] if c[n]}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the views, and choose the cutoff; X, y and errors are those of :class:`BSVDD`."""
        return self._fit("fit", X, y)

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit each view to one table, by its ``fit_predict``; return +1 (normal) or -1 by row.

        Each row is left out.
        """
        return np.where(self._fit("fit_predict", X, y).decision()["normal"], 1, -1)

    def _fit(self, how: str, X: Any, y: Any) -> Self:
        check_rate("false_alarm_rate", self.false_alarm_rate)
        table = cast(Any, None)
        views = {}
        failed = dict[str, Exception]()
        for name, (weight, part) in self._parts().items():
            try:
                if hasattr(part, "fit"):
                    getattr(part, how)(X, y)
                    require_description(part, "view")
                    table = table or part.table_
                views[name] = weight, part, _values(part, table)
            except Exception as error:  # whatever a function of the user raises
                failed[name] = error
        fits = {
            name: part for name, (_, part, _) in views.items() if hasattr(part, "fit")
        }
        if not fits:
            raise next(iter(failed.values()))
        self.table_ = table
        self.views_ = fits
        self.n_features_in_ = len(table.kinds)
        self._views = views
        self._cutoff = cast(Any, 0.0)
        self.failed_ = {
            name: f"{type(error).__name__}: {error}" for name, error in failed.items()
        }
        for name, why in self.failed_.items():
            warn(
                f"view {name!r} cannot be fitted, and the others answer: {why}",
                DataWarning,
            )
        scores = self.margins()[:, ~table.minority]
        weight = check_random_state(self.random_state).dirichlet(
            np.ones(scores.shape[1]), DRAWS
        )
        rule = FalseAlarm(self.false_alarm_rate)
        nobody = np.zeros(scores.shape[1], dtype=bool)
        self._cutoff = rule(scores, weight, nobody)[:, None] - SCORE_TIE
        self._scores = np.quantile(scores - self._cutoff, 0.5, axis=0, method="lower")
        return self

    def margins(self, Z: Any = None) -> np.ndarray:
        """Return the joined score less the cutoff in each draw, shape (500, m).

        Z are new rows, by default the training rows, each left out.
        """
        check_is_fitted(self)
        (harmonic, z) = np.zeros((2, 1, 1))
        normal = ~self.table_.minority
        for weight, part, left_out in self._views.values():
            values = left_out if Z is None else _values(part, self.table_, Z)
            others = left_out[:, normal]  # NaN counts as the most normal
            finite: Any = {"axis": 1, "where": np.isfinite(others), "keepdims": True}
            mean = others.mean(**finite)
            sd = others.std(**finite)
            each = zip(values, others, strict=True)
            itself = Z is None and normal
            harmonic = harmonic + weight / np.array(
                [p_values(v, o, itself=itself) for v, o in each]
            )
            z = z + weight * np.nan_to_num(
                (mean - values) / np.where(sd > 0.0, sd, 1.0)
            )
        return -np.log(harmonic) - BEYOND * z - self._cutoff

    def decision(self, Z: Any = None, prob: float = 0.9) -> DecisionTable:
        """Return p-value, P(normal), surprise with its interval, and normal, of each row.

        Z are new rows, by default the training rows, each left out, which have no
        p-value; as in
        :class:`BSVDD`.
        """
        check_is_fitted(self)
        table = self.table_
        rows = self.table_.frame
        blocks = [None]
        found = []
        if Z is not None:
            warn_of_training(
                unrepeated_hashes(table.values.to_numpy()), table.floats(Z)
            )
            rows = frame_of(Z, rows.columns)
            blocks = [rows.iloc[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
        for m in map(self.margins, blocks):
            ends = np.quantile(
                m, [0.5, (1 - prob) / 2, (1 + prob) / 2], axis=0, method="lower"
            )
            found.append([*ends, (m >= 0.0).mean(axis=0)])
        score, low, high, share = np.concatenate(found, axis=1)
        answers = {"probability_normal": share, "surprise": 0.0 - score}
        answers |= {"low": -high, "high": -low, "normal": score >= 0.0}
        if Z is not None:
            answers = {"p_value": p_values(score, self._scores)} | answers
        return DecisionTable(answers, rows.index)

    def probability_normal(self, Z: Any) -> np.ndarray:
        """Return the share of the draws in which each new row is normal, shape (m,)."""
        return self.decision(Z)["probability_normal"].to_numpy()

    def score_samples(self, Z: Any) -> np.ndarray:
        """Return minus the surprise of each new row, shape (m,): at least 0 for normal rows."""
        return -self.decision(Z)["surprise"].to_numpy()

    decision_function = score_samples

    def predict(self, Z: Any) -> np.ndarray:
        """Return +1 (normal) where the surprise is at most 0, else -1, shape (m,)."""
        return np.where(self.decision(Z)["normal"], 1, -1)
