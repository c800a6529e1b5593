"""An estimator of several views of the same rows; see :mod:`bsvdd.estimators.joined`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar, Literal, override

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..inference.center import Center, Score
from ..inference.cutoff import Cutoff
from ..inference.cutoffs import Rank
from ..inference.draws import thinned
from ..inference.learned import Learned, Learner
from ..inference.warning import DataWarning, collected, warn
from ..models.kernels import Tabular, as_kernel
from ..models.kernels.base import is_number
from ..models.rarity import Rarity
from .bsvdd import BSVDD
from .detector import COORDINATES, Detector
from .fit import Fit, Spec, left_out_values
from .fitting import fitted
from .joined import Joined, Values, View
from .messages import did_you_mean, quoted
from .reading import Asked
from .training import Dictionary, NoPoints, TrainingData

# of kernels.Tabular, a view each
SCALES: tuple[Literal["standardised", "normal scores"], ...] = ("standardised", "normal scores")
COLUMNS, RAREST = "columns", "rarest column"
# by mean AUC on the embedded and the development sets, see benchmarks.views
WEIGHTS = {"standardised": 0.3, "normal scores": 0.6, COLUMNS: 0.05, RAREST: 0.05}
FURTHER = 0.3  # weight of a view of the user
CUTOFF = Rank(0.9)  # of an estimator itself, which any number of rows has
DRAWS = 500  # of a description, evenly spaced, that are joined


@dataclass(frozen=True, eq=False)
class Part:
    """An estimator among the views: what was asked for, and what it asks of data."""

    spec: Spec
    asked: Asked


@dataclass(frozen=True, eq=False)
class Joiner(Learner):
    """Fits the views, and joins their answers.

    Attributes
    ----------
    parts : dict of str to Part
        Estimators by the names of their views.
    functions : dict of str to callable
        Views that are functions of a data frame of rows.
    weights : dict of str to float
        c of all views by name, in the order in which they are joined.
    """

    parts: Mapping[str, Part]
    functions: Mapping[str, Callable[[pd.DataFrame], Any]]
    weights: Mapping[str, float]

    @property
    @override
    def closed_form(self) -> bool:
        """Rows leave each view in its own way."""
        return True

    @override
    def learn(self, data: TrainingData) -> Learned:
        fits: dict[str, Fit] = {}
        failed: dict[str, str] = {}
        for name, part in self.parts.items():
            asked = part.asked
            with collected() as messages:
                try:
                    own = data.seen_by(asked.kernel, asked.dictionary_for(data.minority))
                    learner = asked.learner.resolved(own)
                    fits[name] = fitted(part.spec, learner, own, asked.cutoff)
                except ValueError as error:
                    failed[name] = str(error)
            for message, category in messages:
                warn(f"view {name!r}: {message}", category)
        return self.joined(data, fits, failed)

    def joined(
        self, data: TrainingData, fits: Mapping[str, Fit], failed: Mapping[str, str]
    ) -> Learned:
        """Return the joined score of views that are fitted to ``data``."""
        rarity = Rarity.of(data.rows[data.described], data.kernel.categorical_columns)
        found, failed = [], dict(failed)
        columns = data.columns.labels.tolist()
        for name, weight in self.weights.items():
            unit = 1.0
            if name in fits:
                values, of_rows, unit = _of_fit(fits[name])
            elif name in (COLUMNS, RAREST):
                values = partial(_frequency, rarity, name)
                of_rows = values(data.rows, data.described)
            elif name in self.functions:
                values = partial(_of_function, self.functions[name], name, columns)
                try:
                    of_rows, unit = values(data.rows), 0.0  # of which nothing is known
                except Exception as error:  # whatever a function of the user raises
                    failed[name] = f"{type(error).__name__}: {error}"
                    continue
            else:
                continue
            if weight:
                found.append(View(name, weight, values, of_rows, ~data.minority, unit))
        if not found:
            raise ValueError(f"no view can be fitted: {next(iter(failed.values()))}")
        score = Joined(tuple(found), fits, failed, rarity)
        of_fits = [each.diagnostics for each in fits.values()]
        diagnostics = {
            name: worst(each[name] for each in of_fits)
            for name, worst in (("r_hat", max), ("ess", min))
            if of_fits and all(name in each for each in of_fits)
        }
        return Learned(score, left_out=score.left_out, diagnostics=diagnostics)

    @override
    def warn_of(self, learned: Learned) -> None:
        for name, reason in joined_of(learned).failed.items():
            warn(f"view {name!r} cannot be fitted, and the others answer: {reason}", DataWarning)


def joined_of(learned: Learned) -> Joined:
    """Return the joined score that was learned."""
    assert isinstance(learned.score, Joined)
    return learned.score


def _of_fit(fit: Fit) -> tuple[Values, np.ndarray, float]:
    """Return the values of rows under a fit, those of its left-out rows, and their unit.

    Gaps of rows have their middle values.
    """
    center = fit.learned.score
    if isinstance(center, Center) and fit.learned.posterior:
        weights = center.weights[thinned(len(center.weights), DRAWS)]
        some = replace(fit.learned, score=center.with_weights(weights))
        values = left_out_values(replace(fit, learned=some), Cutoff(), imputed=False).values
        return some.score.values_of_draws, values, some.score.unit
    scores = fit.left_out
    if fit.data.imputations is not None and isinstance(center, Center):
        scores = left_out_values(fit, fit.cutoff, imputed=False).scores(fit.score, fit.level)
    return partial(_scores, fit.score, fit.level), scores[None], fit.score.unit


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
    categorical : sequence of str or int, optional
        Columns of categories by name or position, as in :class:`~bsvdd.kernels.Tabular`.
    core : float or "auto", default="auto"
        The least share of the rows that the description rests on, as in :class:`BSVDD`;
        the views have one core, that of both scales side by side.
    cutoff, minor_label, random_state : optional
        As in :class:`BSVDD`. ``Cutoff(cv=K)`` refits all views.

    Attributes
    ----------
    views_ : dict of str to estimator
        The fitted estimators: ``est.views_["standardised"].idata_``.
    failed_ : dict of str to str
        Views that could not be fitted, and why. The others answer.
    kernel_, idata_, cutoff_
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
    own left-out rows. Estimators without a posterior have one p-value; then P(normal) counts the
    uncertainty of the cutoff.

    References
    ----------
    Good, I. J. (1958). Significance tests in parallel and in series. Journal of the American
    Statistical Association 53, 799-813. doi:10.1080/01621459.1958.10501480

    Wilson, D. J. (2019). The harmonic mean p-value for combining dependent tests. Proceedings of
    the National Academy of Sciences 116, 1195-1200. doi:10.1073/pnas.1814092116

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

    estimator: Detector | None = field(default=None, kw_only=False)
    views: Mapping[str, Any] | None = None
    weights: Mapping[str, float] | None = None
    categorical: Sequence[Any] = ()
    core: float | str = "auto"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Detector._parameter_constraints,
        "core": [Interval(Real, 0, 1, closed="right"), StrOptions({"auto"})],
    }

    # the views

    @property
    def _estimator(self) -> Detector:
        return BSVDD() if self.estimator is None else self.estimator

    @property
    def _tabular(self) -> Tabular:
        """The kernel of both scales side by side."""
        kernel = as_kernel(self._estimator.get_params(deep=False)["kernel"])
        return kernel if isinstance(kernel, Tabular) else Tabular(kernel)

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
        estimator, kernel = self._estimator, self._tabular
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
        if as_kernel(self._estimator.get_params(deep=False)["kernel"]).categorical_columns:
            raise ValueError(
                "estimator: give the columns of categories to all views, Views(categorical=...)"
            )
        if self._estimator.get_params(deep=False).get("core", "auto") != "auto":
            raise ValueError("estimator: the views have one core, Views(core=...)")
        for each in self._estimators().values():
            each._validate_params()

    @property
    def _learns_from_minority(self) -> bool:  # type: ignore[override]
        if self.__sklearn_is_fitted__():
            fits = joined_of(self.fit_.learned).fits.values()
            return any(each.spec.estimator._learns_from_minority for each in fits)
        return any(each._learns_from_minority for each in self._estimators().values())

    @override
    def _asked(self) -> Asked:
        asked = super()._asked()  # after its checks
        own = tuple(self.categorical) if len(self.categorical) else None
        kernel = replace(COORDINATES, categorical=own)
        joint = replace(self._tabular, categorical=kernel.categorical)
        return replace(asked, kernel=kernel, joint=joint)

    @override
    def _dictionary(self, n_points: int) -> Dictionary:
        return NoPoints()

    @override
    def _learner(self) -> Learner:
        parts = {
            name: Part(Spec(type(each), each.get_params(deep=False)), each._asked())
            for name, each in self._estimators().items()
        }
        own = {k: v for k, v in (self.views or {}).items() if not isinstance(v, Detector)}
        return Joiner(parts, own, self._weights())

    @property
    def views_(self) -> dict[str, Detector]:
        """The fitted estimators among the views, by name."""
        fits = joined_of(self.fit_.learned).fits
        return {name: each.spec.estimator()._with_fit(each) for name, each in fits.items()}

    @property
    def failed_(self) -> dict[str, str]:
        """The views that could not be fitted, and why."""
        return dict(joined_of(self.fit_.learned).failed)

    # why

    def summary(self) -> pd.DataFrame:
        """Return what the posteriors are worth: the tables of the views, side by side.

        Returns
        -------
        pandas.DataFrame
            A row for each quantity, see :mod:`bsvdd.estimators.questions.facts`. The columns are
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
        from .questions import facts  # a fit needs no summary

        check_is_fitted(self)
        views = facts.of_fit(self.fit_)["views"]
        drawn = {name: facts.summary(view) for name, view in views.items() if "draws" in view}
        if not drawn:
            raise ValueError("no view has a posterior; use a Bayesian estimator such as BSVDD")
        return pd.concat(drawn, axis=1)
