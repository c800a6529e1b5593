"""An estimator of several views of the same rows; see :mod:`bsvdd.estimators.joined`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, override

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..inference.center import Center, Score
from ..inference.cutoff import Cutoff
from ..inference.cutoffs import Rank
from ..inference.decision import LeftOut
from ..inference.draws import Draws
from ..inference.warning import DataWarning, collected, warn
from ..models.gram import Gram
from ..models.kernels import Kernel, Linear, Tabular, as_kernel
from ..models.kernels.base import is_number
from ..models.rarity import Rarity
from .bsvdd import BSVDD
from .detector import Detector
from .fit import Fit, of_rows
from .joined import Joined, Values, View
from .messages import did_you_mean, quoted
from .questions import p_values, summary
from .questions.views import ViewsExplanation, explain
from .training import AllRows, Dictionary, TrainingData

# of kernels.Tabular, a view each
SCALES: tuple[Literal["standardised", "normal scores"], ...] = ("standardised", "normal scores")
COLUMNS, RAREST = "columns", "rarest column"
# by mean AUC on the embedded and the development sets, see benchmarks.views
WEIGHTS = {"standardised": 0.3, "normal scores": 0.6, COLUMNS: 0.05, RAREST: 0.05}
FURTHER = 0.3  # weight of a view of the user
CUTOFF = Rank(0.9)  # of an estimator itself, which any number of rows has
DRAWS = 500  # of a description, evenly spaced, that are joined


@dataclass(kw_only=True, eq=False, repr=False)
class Views(Detector):
    r"""Several views of the same rows, joined to one answer that says which view is surprised.

    .. math:: -\log \sum_v \frac{c_v}{p_v(z)}, \qquad
        p_v(z) = \frac{1 + \#\{j : t_{vj} \le t_v(z)\}}{n + 1}

    The views are

    - "standardised" and "normal scores": the estimator, by the two halves of its kernel
      :class:`~bsvdd.kernels.Tabular`;
    - "columns" and "rarest column": the columns one by one. The value of a column is rare if few
      training rows have a value near to it (:mod:`bsvdd.models.rarity`); the sum of the log
      frequencies, and the smallest.

    Parameters
    ----------
    estimator : estimator, optional
        A description or a machine of this package, fitted once for each scale. Default: BSVDD().
    views : mapping of str to estimator or callable, optional
        Further views by their names: an estimator, with a kernel of its own, or a function that
        takes a data frame of the rows (columns of categories are numbers) and returns one number
        for each row, larger for odder rows.
    weights : mapping of str to float, optional
        c by the names of views, where they differ from .3, .6, .05 and .05, in the order above,
        and .3 for a further view; 0 leaves a view out. Only their ratios count.
    kernel : Kernel, default=Tabular(Linear())
        Only its columns of categories are used, ``Tabular(Linear(), categorical=(1,))`` for an
        array.
    cutoff, minor_label, random_state : optional
        As in :class:`BSVDD`. ``Cutoff(cv=K)`` refits all views.

    Attributes
    ----------
    views_ : dict of str to estimator
        The fitted estimators: ``est.views_["standardised"].idata_``.
    failed_ : dict of str to str
        Views that could not be fitted, and why. The others answer.
    joined_ : tuple of View
        The views with a part in the answer: weight, function of rows, values of left-out rows.
    rarity_ : Rarity
        How many majority rows have a value near to a given one, by column.
    kernel_, gram_, idata_, cutoff_
        As in :class:`BSVDD`; ``idata_["score"]`` has the joined score.

    Warns
    -----
    DataWarning
        A view cannot be fitted.

    See Also
    --------
    BSVDD : one description, of both scales side by side.

    Notes
    -----
    P(normal) is a share of up to 500 draws: draw t of the two descriptions has p-values among its
    own left-out rows. BDD and BDD-M, whose weights may be negative, and estimators without a
    posterior have one p-value; then P(normal) counts the uncertainty of the cutoff.

    References
    ----------
    Good, I. J. (1958). Significance tests in parallel and in series. Journal of the American
    Statistical Association 53, 799-813. doi:10.1080/01621459.1958.10501480

    Wilson, D. J. (2019). The harmonic mean p-value for combining dependent tests. Proceedings of
    the National Academy of Sciences 116, 1195-1200. doi:10.1073/pnas.1814092116

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, Views
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> X = np.column_stack([x, x + 0.1 * rng.normal(size=200)])
    >>> est = Views(estimator=BDD(simplex=True)).fit(X)
    >>> est.predict([[0.0, 0.0], [1.5, -1.5], [9.0, 0.0]])
    array([ 1, -1, -1])
    >>> est.explain([[1.5, -1.5], [9.0, 0.0]]).rows["cause"].tolist()
    ['combination', 'column']
    """

    estimator: Detector | None = None
    views: Mapping[str, Any] | None = None
    weights: Mapping[str, float] | None = None
    kernel: Kernel | Callable[..., Any] = Tabular(Linear())

    _centered = False
    _leaves_out = "closed form"  # each view in its own way

    # the views

    @property
    def _estimator(self) -> Detector:
        return BSVDD() if self.estimator is None else self.estimator

    def _weights(self) -> dict[str, float]:
        """Return the weights of all views by name, in the order in which they are joined."""
        weights = {**WEIGHTS, **dict.fromkeys(self.views or (), FURTHER)}
        for name, weight in (self.weights or {}).items():
            if name not in weights:
                raise ValueError(
                    f"weights: {name!r} is no view{did_you_mean(name, weights)}; there are "
                    f"{quoted(weights)}"
                )
            if not is_number(weight) or not 0.0 <= weight < np.inf:
                raise ValueError(f"weights: expected a number of at least 0, got {weight!r}")
            weights[name] = float(weight)
        if not any(weights.values()):
            raise ValueError("weights: all are 0, so no view is left")
        return weights

    def _estimators(self) -> dict[str, Detector]:
        """Return the estimators of the views, not yet fitted, by name."""
        estimator = self._estimator
        kernel = as_kernel(estimator.kernel)
        if not isinstance(kernel, Tabular):
            kernel = Tabular(kernel)
        found: dict[str, Detector] = {
            name: clone(estimator).set_params(kernel=replace(kernel, scale=name)) for name in SCALES
        }
        own = self.views or {}
        found |= {name: clone(each) for name, each in own.items() if isinstance(each, Detector)}
        weights = self._weights()
        return {
            name: each.set_params(cutoff=CUTOFF) for name, each in found.items() if weights[name]
        }

    @override
    def _validate_params(self) -> None:
        super()._validate_params()
        own = dict(self.views or {})
        if not isinstance(self._estimator, Detector) or isinstance(self._estimator, Views):
            raise TypeError(f"estimator must be one of this package, got {self.estimator!r:.80}")
        for name, each in own.items():
            if not isinstance(name, str) or name in WEIGHTS:
                raise ValueError(f"views: {name!r} is no name for a further view")
            if not isinstance(each, Detector) and (isinstance(each, type) or not callable(each)):
                raise TypeError(f"views: {name!r} must be an estimator or a function, got {each!r}")
        if as_kernel(self._estimator.kernel).categorical_columns:
            raise ValueError(
                "estimator: give the columns of categories to all views, "
                "Views(kernel=kernels.Tabular(kernels.Linear(), categorical=...))"
            )
        for each in self._estimators().values():
            each._validate_params()

    @property
    def _learns_from_minority(self) -> bool:  # type: ignore[override]
        return any(each._learns_from_minority for each in self._estimators().values())

    @override
    def _dictionary(self, n_points: int) -> Dictionary:
        return AllRows(self._learns_from_minority, matrix_free_above=0)

    @override
    def _learn(self, gram: Gram, data: TrainingData) -> None:
        self.views_: dict[str, Detector] = {}
        self.failed_: dict[str, str] = {}
        names = {"n_features_in_", "feature_names_in_"} & set(vars(self))
        for name, each in self._estimators().items():
            vars(each).update({attribute: getattr(self, attribute) for attribute in names})
            with collected() as messages:
                try:
                    self.views_[name] = each._fit_rows(data)
                except ValueError as error:
                    self.failed_[name] = str(error)
            for message, category in messages:
                warn(f"view {name!r}: {message}", category)
        self._join(data)
        for name, reason in self.failed_.items():
            warn(f"view {name!r} cannot be fitted, and the others answer: {reason}", DataWarning)

    def _join(self, data: TrainingData) -> None:
        """Set the views, from the fitted estimators and the training rows."""
        self.rarity_ = Rarity.of(data.majority_rows, data.kernel.categorical_columns)
        own, joined = self.views or {}, []
        columns = list(getattr(self, "feature_names_in_", range(self.n_features_in_)))
        for name, weight in self._weights().items():
            if name in self.views_:
                values, of_rows = _of_estimator(self.views_[name])
            elif name in (COLUMNS, RAREST):
                values = partial(_frequency, self.rarity_, name)
                of_rows = values(data.rows, ~data.minority)
            elif name not in self.failed_ and callable(own.get(name)):
                values = partial(_of_function, own[name], name, columns)
                try:
                    of_rows = values(data.rows)
                except Exception as error:  # whatever a function of the user raises
                    self.failed_[name] = f"{type(error).__name__}: {error}"
                    continue
            else:
                continue
            if weight:
                joined.append(View(name, weight, values, of_rows, ~data.minority))
        if not joined:
            raise ValueError(f"no view can be fitted: {next(iter(self.failed_.values()))}")
        self.joined_ = tuple(joined)

    # the fit

    @override
    def _draw(self, gram: Gram, seed: int) -> Draws:
        return Draws.of_weights(np.full(gram.n_points, 1.0 / gram.n_points))

    @override
    def _score(self, draws: Draws, gram: Gram) -> Joined:
        return Joined(draws.weights, gram, self.joined_)

    @override
    def _diagnose(self, draws: Draws, score: Score, data: TrainingData) -> dict[str, float]:
        found = [each.fit_.diagnostics for each in self.views_.values()]
        return {
            name: worst(each[name] for each in found)
            for name, worst in (("r_hat", max), ("ess", min))
            if found and all(name in each for each in found)
        }

    @override
    def _left_out_rows(self, fit: Fit, policy: Cutoff) -> LeftOut:
        if policy.cv in ("auto", "loo") and isinstance(fit.center, Joined):
            return LeftOut(fit.center.left_out)
        return super()._left_out_rows(fit, policy)

    @override
    def _refit(
        self, data: TrainingData, train: np.ndarray, own_kernel: bool = False
    ) -> tuple[Draws, Score]:
        new = self._copy()
        data = of_rows(new, data.part(train))
        new._learn(data.gram, data)
        draws = new._draw(data.gram, data.seed)
        return draws, new._score(draws, data.gram)

    # why

    def summary(self) -> pd.DataFrame:
        """Return what the posteriors are worth: the tables of the views, side by side.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity, see :mod:`bsvdd.estimators.questions.summary`. The columns are
            (view, column of its table).

        Raises
        ------
        ValueError
            No view has a posterior.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD, Views, priors
        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> table = Views(estimator=BDD(prior=priors.Flat(sd=0.5))).fit(X).summary()
        >>> bool(table.loc["effective_support", ("normal scores", "posterior")] > 1.0)
        True
        """
        check_is_fitted(self)
        drawn = {k: each for k, each in self.views_.items() if each.fit_.draws.is_posterior}
        if not drawn:
            raise ValueError("no view has a posterior; use a Bayesian estimator such as BSVDD")
        return pd.concat({name: summary.table(each) for name, each in drawn.items()}, axis=1)

    def explain(  # type: ignore[override]
        self,
        X: Any = None,
        prob: float = 0.9,
        draws: int = 50,
        top: int = 5,
        *,
        rows: Any = None,
        changes: bool = False,
        given: None = None,
    ) -> ViewsExplanation:
        """Return why rows are abnormal: which view is surprised, by which columns and which rows.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            By default the training rows are explained, each left out.
        prob, draws, top
            As in :meth:`~bsvdd.estimators.detector.Detector.explain`, for the descriptions among
            the views.
        rows : sequence of int, optional
            Positions of the training rows to explain, without X. Default: all.
        changes : bool, default=False
            Whether the descriptions search for the smallest change that makes a row normal to
            them.
        given : None
            ``est.views_["standardised"].explain(X, given=...)`` takes given columns.

        Returns
        -------
        ViewsExplanation
            See :class:`bsvdd.estimators.questions.views.ViewsExplanation`.

        Raises
        ------
        ValueError
            As in :meth:`~bsvdd.estimators.detector.Detector.explain`, but for machines, which have
            no shares of columns; ``given`` is not None.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD, Views
        >>> X = np.random.default_rng(0).normal(size=(200, 2))
        >>> est = Views(estimator=BDD(simplex=True)).fit(X)
        >>> est.explain([[9.0, 0.0]]).rows[["cause", "near"]].values.tolist()
        [['column', 0]]
        """
        check_is_fitted(self)
        return explain(self, X, prob, draws, top, changes, rows, given)


def _of_estimator(est: Detector) -> tuple[Values, np.ndarray]:
    """Return the values of rows under a fitted estimator, and those of its left-out rows."""
    fit = est.fit_
    if isinstance(fit.center, Center) and fit.draws.is_posterior and est._leaves_out == "rescaled":
        kept = p_values.thinned(len(fit.center.weights), DRAWS)
        center = fit.center.with_weights(fit.center.weights[kept])
        left_out = est._left_out_rows(replace(fit, center=center), Cutoff())
        return center.values_of_draws, left_out.values
    return partial(_scores, fit.center, fit.level), est.left_out_scores()[None]


def _scores(score: Score, level: float, rows: np.ndarray) -> np.ndarray:
    return score.scores(rows, level)[None]


def _frequency(rarity: Rarity, name: str, rows: np.ndarray, itself: Any = False) -> np.ndarray:
    frequency = rarity.counts(rows, itself)[2]
    return np.atleast_2d(frequency.sum(axis=1) if name == COLUMNS else frequency.min(axis=1))


def _of_function(
    function: Callable[[pd.DataFrame], Any], name: str, columns: list[Any], rows: np.ndarray
) -> np.ndarray:
    found = np.asarray(function(pd.DataFrame(rows, columns=columns)), dtype=float)
    if found.shape != (len(rows),) or np.isnan(found).any():
        raise ValueError(
            f"view {name!r} must return one number for each of {len(rows)} rows, got shape "
            f"{found.shape}{' with NaN' if np.isnan(found).any() else ''}"
        )
    return -found[None]
