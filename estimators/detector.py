"""The one class of all estimators: they fit rows, and decide by a score and a cutoff."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from numbers import Number
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..inference import diagnostics, left_out
from ..inference.center import Boundary, Center, Score
from ..inference.cutoff import Cutoff, as_cutoff
from ..inference.cutoffs import FalseAlarm, Own, Rank
from ..inference.decision import LeftOut
from ..inference.draws import Draws, spread
from ..inference.warning import DataWarning, warn
from ..models.gram import Gram
from ..models.kernels import Kernel, Tabular, as_kernel
from ..models.kernels.base import LARGEST, is_number
from ..models.potential import WeightMap
from . import inputs, tree
from .fit import Fit, of_rows, read, resolved_kernel, warn_of_far_rows
from .questions import decision, explanation, kinds, p_values, selection, stream
from .saved_file import save
from .training import AllRows, Dictionary, TrainingData

if TYPE_CHECKING:
    # scikit-learn has no types, and a base of unknown type takes any keyword argument

    class BaseEstimator:
        """The part of scikit-learn's that is used."""

        n_features_in_: int
        feature_names_in_: np.ndarray

        @classmethod
        def _get_param_names(cls) -> list[str]: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **params: Any) -> Self: ...  # noqa: D102
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...

    class OutlierMixin:
        """It has fit_predict only, which Detector overrides."""

else:
    from sklearn.base import BaseEstimator, OutlierMixin

FEW_DIGITS = 1e-4  # rounding error, relative to a squared distance, that leaves few digits


def _has_center(est: Detector) -> bool:
    """Return whether the score is the similarity to a centre; for scikit-learn's available_if."""
    if not est._centered:
        raise AttributeError(f"{type(est).__name__} has no centre in kernel space")
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class Detector(OutlierMixin, BaseEstimator):
    """A detector that learns a score of rows, and a cutoff from left-out rows.

    A subclass computes the weights in ``_draw``; if its score is not the similarity to a centre, it
    says so (``_centered``) and makes the score in ``_score``. The rest of this class is the same
    for all models. A fitted detector has:

    Attributes
    ----------
    fit_ : Fit
        Rows, Gram statistics, draws, score, cutoff; it never changes.
    kernel_ : Kernel
        With its bandwidth as a number.
    gram_ : Gram
        The Gram statistics of the training rows.
    cutoff_, offset_ : float
        D_opt, and the score of the cutoff, 0.
    labels_ : tuple
        The labels of y in ``fit``, those of the minority first; empty without y.
    idata_ : xarray.DataTree
        See :mod:`bsvdd.estimators.tree`.
    """

    kernel: Kernel | Callable[..., Any] = Tabular()
    cutoff: Cutoff | str | float | None = None
    minor_label: Any = None
    random_state: Any = 0

    _learns_from_minority: ClassVar[bool] = False
    _centered: ClassVar[bool] = True
    _folds: ClassVar[int] = 5  # refitted for the cutoff, if there is no leave-one-out
    _has_own_cutoff: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"random_state": ["random_state"]}

    # the fit

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model and choose the cutoff.

        Parameters
        ----------
        X : array-like of shape (n, p), data frame, path of a .npy file, or dask collection
            Training rows; with ``kernels.Precomputed``, their kernel matrix (n, n). With a
            ``dictionary``, an array, a memory map, a .npy file or a dask array or data frame is
            read in blocks and never as a whole, in its own precision (kernel values of float32
            rows are computed in float32). Columns of text are numbers, dates or categories, see
            ``bsvdd.estimators.rows.columns``.
        y : array-like of shape (n,), or name of a column of the data frame, optional
            Labels. The minority is -1 in {-1, 1}, 1 in {0, 1}, True in booleans, and
            ``minor_label`` otherwise, which may list the labels of several kinds
            (:meth:`kinds`). Without y, all rows are majority. One-class models learn from the
            majority rows; minority rows only tune their cutoff. NaN, None and pandas.NA are no
            label: with ``prior=priors.GraphLaplacian()`` such rows are unlabelled rows of the
            prior, beside those that it names (not with landmarks or a precomputed kernel), and all
            else is as without them; other priors and models raise an error.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Rows with NaN, infinity or masked values, too few or too many rows, ambiguous labels,
            rows without a label where the prior takes none, one class only if a model or a cutoff
            needs two, an invalid kernel, or a parameter out of its range. The message says what to
            do.
        TypeError
            X is not a table of numbers, or a parameter has the wrong type.

        Warns
        -----
        DataWarning
            Equal rows, columns that the kernel compares badly (constant ones, very different
            scales), or kernel values so large that distances have few digits.
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, or weights that have collapsed
            on a few rows.
        """
        new = self._copy()  # a fit that fails leaves this estimator unchanged
        data = new._read(X, y)  # checks, columns and Gram statistics
        draws = new._draw(data.gram, data.seed)
        # a copy: CPython 3.13.0 may collect what a dict of a freed object holds
        self.__dict__ = dict(new._described(data, draws).__dict__)
        return self

    def _described(self, data: TrainingData, draws: Draws) -> Self:
        """Set this estimator's fit to the draws of a model of ``data``, and return it."""
        center = self._score(draws, data.gram)
        found = self._diagnose(draws, center, data) | data.dictionary.diagnostics(data)
        fit = Fit(data=data, draws=draws, center=center, diagnostics=found, **self._model_of(data))
        self._warn_of(fit)
        return self._decided(fit)

    def _decided(self, fit: Fit) -> Self:
        """Choose the cutoff of a fit, and only then set the fitted attributes."""
        policy, center, scores = as_cutoff(self.cutoff), fit.center.deciding(Boundary.at()), None
        if isinstance(policy.choose, Own):
            boundary = Boundary.at(self._own_cutoff(fit.draws, center))
            distance = center.deciding(boundary).distance_at_cutoff
        elif policy.of_rows:
            of_rows = self._left_out_rows(fit, policy)
            data = fit.data
            boundary, distance = of_rows.boundary(
                policy, center, data.rows, data.minority, data.point_of_row, data.seed
            )
            scores = of_rows.scores(boundary, policy.level)
        else:
            number: Any = policy.choose
            distance = float(number)
            boundary = center.within(distance)
        fit = replace(
            fit,
            center=center.deciding(boundary),
            distance=distance,
            level=policy.level,
            cv=policy.cv,
            left_out=scores,
        )
        if policy.choose is None or isinstance(policy.choose, FalseAlarm | Rank):
            warn_of_far_rows(fit)
        return self._set(fit)

    def _set(self, fit: Fit) -> Self:
        """Set the fitted attributes."""
        self.fit_, self._left_out = fit, fit.left_out if fit.cv in ("auto", "loo") else None
        self._kinds: kinds.Kinds | None = None  # until they are asked for
        self.kernel_, self.gram_, self.labels_ = fit.data.kernel, fit.data.gram, fit.data.labels
        self.cutoff_, self.offset_ = fit.distance, 0.0
        self.__dict__.pop("idata_", None)
        return self

    @cached_property
    def idata_(self) -> xr.DataTree:
        """The fit as an xarray.DataTree, made when it is first asked for."""
        check_is_fitted(self)
        return tree.of_fit(self)

    def _copy(self) -> Self:
        """Return this estimator with copies of its parameters: the caller may change them.

        A RandomState stays the caller's, who shares its stream on purpose; a plain function is
        its own copy.
        """
        new = copy.copy(self)
        for name, value in self.get_params(deep=False).items():
            if name != "random_state":
                setattr(new, name, owned(value))
        return new

    def _read(self, X: Any, y: Any) -> TrainingData:
        """Return the training data, after all checks of parameters, rows, labels and cutoff."""
        self._validate_params()
        policy = as_cutoff(self.cutoff)
        self._check_policy(policy)
        data = read(self, X, y, policy)
        self._learn(data.gram, data)
        return data

    def _fit_rows(self, data: TrainingData) -> Self:
        """Fit rows that are read, with points, kernel and Gram statistics of this estimator."""
        data = of_rows(self, data)
        self._learn(data.gram, data)
        return self._described(data, self._draw(data.gram, data.seed))

    # hooks of the models

    def _learn(self, gram: Gram, data: TrainingData) -> None:
        """Set what is learned from Gram statistics of ``data`` before the weights."""

    def _draw(self, gram: Gram, seed: int) -> Draws:
        """Return the weights: a single estimate, or draws of their posterior."""
        raise NotImplementedError

    def _score(self, draws: Draws, gram: Gram) -> Score:
        """Return the score of rows by the draws: the similarity to the centre."""
        norm = draws.flat("squared_norm") if "squared_norm" in draws.variables else None
        return Center.of(draws.weights, gram, norm, self._nonnegative)

    def _weight_map(self, variables: Mapping[str, np.ndarray]) -> WeightMap | None:
        """Return the map of draws of ``variables`` to the weights, if the model states one."""
        return None

    @property
    def _nonnegative(self) -> bool:
        """Whether the model has no negative weights."""
        return False

    def _dictionary(self, n_points: int) -> Dictionary:
        """Return the dictionary, which chooses the points of the centre.

        ``n_points`` is their number if all rows that the model learns from are points.
        """
        return AllRows(self._learns_from_minority)

    @property
    def _leaves_out(self) -> str:
        """How rows are left out: "rescaled" (weights), "closed form" (of its own) or "refits"."""
        return "rescaled"

    @property
    def _auto_cv(self) -> str | int:
        """What ``Cutoff(cv="auto")`` stands for: "loo", or the most folds."""
        return self._folds if self._leaves_out == "refits" else "loo"

    def _left_out_sums(
        self, data: TrainingData, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray | None] | None:
        """Return the similarities of left-out points, or None if only refits leave rows out.

        They are of shape (draws, M), with log importance weights of that shape, or None where all
        draws count the same.
        """
        if self._leaves_out != "rescaled":
            return None
        return left_out.leave_one_out(weights, data.gram.K_left_out, data.gram.n1), None

    def _own_cutoff(self, draws: Draws, score: Score) -> float:
        """Return the score of the model's own boundary."""
        raise NotImplementedError

    def _model_of(self, data: TrainingData) -> dict[str, Any]:
        """Return prior and attributes of a model with a posterior, by the names of ``Fit``."""
        return {}

    def _warn_of(self, fit: Fit) -> None:
        """Warn if numbers of the fit are unreliable."""
        _warn_of_rounding(fit)

    def _diagnose(self, draws: Draws, score: Score, data: TrainingData) -> dict[str, float]:
        """Return the diagnostics of the draws."""
        if not isinstance(score, Center):
            return {}
        monitored = score.similarity(data.rows[spread(len(data.rows))])
        return diagnostics.diagnose(draws, monitored)

    # left-out rows and the cutoff

    def _check_policy(self, policy: Cutoff) -> None:
        """Raise a ValueError for a cutoff that this model cannot have for any rows."""
        if isinstance(policy.choose, Own) and not self._has_own_cutoff:
            raise ValueError(
                "cutoff: Own() is for models with a boundary of their own, such as SVDD; "
                f"{type(self).__name__} has none: use another of bsvdd.cutoffs"
            )
        if policy.cv == "loo" and self._leaves_out == "refits":
            raise ValueError(
                f"cutoff: {type(self).__name__} has no leave-one-out in closed form here (BDD has "
                "it for a normal prior); use cv='auto' or a number of folds"
            )
        number: Any = policy.choose
        if self._centered and is_number(number) and number < 0:
            raise ValueError(f"cutoff: a distance is at least 0, got {number!r}")

    def _left_out_rows(self, fit: Fit, policy: Cutoff) -> LeftOut:
        """Return the values of the training rows when they are left out."""
        data, center = fit.data, fit.center
        cv = left_out.resolved(policy, data.minority, data.all_rows, self._auto_cv)
        if isinstance(cv, int):
            folds = left_out.folds(data.minority, cv, data.seed)
            return LeftOut(left_out.refitted_values(folds, partial(self._values_by_refit, fit)))
        if cv == "train" or not isinstance(center, Center):
            return LeftOut(center.values_of_draws(data.rows))
        is_point = data.point_of_row >= 0
        if not is_point.any():
            return LeftOut(center.values_left_out(data.rows, data.minority))
        values, weight = np.full((len(center.weights), len(data.rows)), np.nan), None
        points, others = data.point_of_row[is_point], np.flatnonzero(~is_point)
        sums = self._left_out_sums(data, center.weights)
        if sums is not None:
            similarity, log_weight = sums
            similarity = similarity[:, points]
            if not center.gram.kernel.normalized:
                similarity = similarity - np.diag(data.gram.K)[points] / 2.0
            values[:, is_point] = center.leaving_out.as_values(
                similarity, data.gram.points[points], points
            )
            if log_weight is not None:
                diagnostics.warn_of_weights(log_weight[:, points])
                weight = np.zeros_like(values)
                weight[:, is_point] = log_weight[:, points]
        values[:, others] = center.values_left_out(data.rows[others], data.minority[others])
        return LeftOut(values, weight)

    def _values_by_refit(self, fit: Fit, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """Return the values of the rows ``test`` by a fit to the rows ``train``."""
        data = fit.data
        draws, score = self._refit(data, train)
        found = score.values_left_out(data.rows[test], data.minority[test])
        if not self._has_own_cutoff:
            return found
        own, other = self._own_cutoff(draws, score), self._own_cutoff(fit.draws, fit.center)
        return left_out.aligned(found, score, own, other)

    def _refit(
        self, data: TrainingData, train: np.ndarray, own_kernel: bool = False
    ) -> tuple[Draws, Score]:
        """Return the draws and the score of a fit to the rows ``train`` of ``data``.

        With ``own_kernel``, all that is learned from rows before the weights is learned from the
        rows ``train``: bandwidth, scaling and a calibrated lambda.
        """
        est, kernel = self, None
        if own_kernel:
            majority = data.rows[train[~data.minority[train]]]
            kernel = resolved_kernel(self, majority, data.kernel.categorical_columns)
        gram = data.fold(train, kernel)
        if own_kernel and data.dictionary.points_are_rows:
            est = copy.copy(self)
            est._learn(gram, data)
        draws = est._draw(gram, data.seed)
        return draws, est._score(draws, gram)

    def with_cutoff(self, cutoff: Any) -> Self:
        """Return this fitted estimator with another cutoff; the model is not fitted again.

        Parameters
        ----------
        cutoff : Cutoff, object of bsvdd.cutoffs, float or None
            As in the constructor. Only ``Cutoff(cv=K)`` refits, once per fold.

        Raises
        ------
        ValueError
            The cutoff needs minority rows and the fit has none, or the folds need more rows.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import SVDD, cutoffs
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> est = SVDD().fit(X)
        >>> strict = est.with_cutoff(cutoffs.FalseAlarm(0.2))
        >>> bool(strict.cutoff_ < est.cutoff_)
        True
        """
        check_is_fitted(self)
        new, policy = copy.copy(self), as_cutoff(cutoff)
        new.cutoff = cutoff
        new._check_policy(policy)
        data = self.fit_.data
        left_out.check(policy, data.minority, data.all_rows, self._auto_cv)
        return new._decided(self.fit_)

    def left_out_scores(self) -> np.ndarray:
        """Return the score that each training row would have as a new row, shape (n,).

        Larger is more normal, as in :meth:`score_samples`; NaN if a row cannot be left out. They
        come from leave-one-out in closed form if the model has it, else from refitted folds, at
        most once for a fit.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> est = BSVDD().fit(np.random.default_rng(0).normal(size=(99, 2)))
        >>> int((est.left_out_scores() < 0).sum())  # false alarms, .10 of 99 asked
        9
        """
        check_is_fitted(self)
        if self._left_out is None:
            fit = self.fit_
            of_rows = self._left_out_rows(fit, Cutoff(level=fit.level))
            self._left_out = of_rows.scores(fit.center.boundary, fit.level)
        return self._left_out.copy()  # the caller may change them

    # scores and decisions of new rows

    def probability_normal(self, X: Any) -> np.ndarray:
        r"""Return :math:`P(d_z \le D_{\mathrm{opt}} \mid \mathrm{data})` for each row of X.

        Parameters
        ----------
        X : array-like of shape (n, p), or dask collection
            As in ``fit``; columns of a data frame are taken by their names. For a dask array or
            data frame, this method and the others with one number per row return lazy dask arrays.
            If the labels of the fit were a column of a data frame, this column is ignored.

        Returns
        -------
        ndarray of shape (n,)
            The share of the draws in which the row is normal, in [0, 1]. It counts what is
            uncertain: the weights of the centre, the cutoff, and rows that the sample has not
            shown, see :mod:`bsvdd.inference.decision`. A model with one estimate of the weights
            has the last two. With ``Cutoff(uncertain=False)``, or a number as the cutoff, it is
            ``(est.distance(X) <= est.cutoff_).mean()``. It is 0 or 1 for separating machines, and
            with the cutoff ``Own()``.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        sklearn.exceptions.NotFittedError
        """
        return inputs.by_row(self, X, lambda center, rows: center.probability_normal(rows))

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Return the score of each row, shape (n,); larger is more normal, at least 0 is normal.

        For a description it is minus the surprise of the row (Hyndman 2026),

        .. math:: \log \frac{s_z}{s_{\mathrm{cut}}}, \qquad s_z = \sum_j w_j k(u_j, z), \qquad
            d_z^2 = k(z, z) - 2 s_z + \|a\|^2,

        its quantile over the draws at the level of the cutoff (at level 0.5, the posterior median),
        with the similarity :math:`s_{\mathrm{cut}}` of the cutoff in each draw. It has all its
        digits where d_z, which tends to the distance of a row that resembles no training row, has
        none left. Where weights or kernel values may be negative it is the difference
        :math:`s_z - s_{\mathrm{cut}}`, and where k(z, z) differs between rows,
        :math:`s_z - k(z, z) / 2` takes the place of s_z. For the SVMs it is f(z) less f of the
        cutoff.

        A row is normal exactly if its score is at least ``offset_``, which is 0. X and errors are
        those of :meth:`probability_normal`.

        References
        ----------
        Hyndman, R. J. (2026). arXiv:2603.09318.
        """
        check_is_fitted(self)
        level = self.fit_.level
        return inputs.by_row(self, X, lambda center, rows: center.scores(rows, level))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X)``, shape (n,): at least 0 for normal rows."""
        return self.score_samples(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) where P(normal) exceeds the level of the cutoff, else -1.

        Shape (n,). X and errors are those of :meth:`probability_normal`.
        """
        check_is_fitted(self)
        level = self.fit_.level
        is_normal = inputs.by_row(self, X, lambda center, rows: center.is_normal(rows, level))
        return is_normal * 2 - 1

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """Fit, and return +1 (normal) or -1 (abnormal) for each row of X, by its left-out score.

        A row is inside its own description, so ``fit(X).predict(X)`` finds too few abnormal rows.
        """
        scores = self.fit(X, y, **kwargs).left_out_scores()  # NaN: the row cannot be left out
        return np.where(np.where(np.isnan(scores), self.fit_.decision[0], scores) >= 0.0, 1, -1)

    def training_decision(self) -> pd.DataFrame:
        """Return the decision on each training row, by its left-out score.

        Returns
        -------
        pandas.DataFrame
            With the names of the rows: ``p_value``, ``probability_normal``, ``surprise``,
            ``surprise_low``, ``surprise_high`` (for descriptions) and ``normal``, as in
            :meth:`decision`, and ``left_out``. A row has the p-value that it would have as a new
            row, among the other normal rows. Rows that cannot be left out (``left_out`` is False),
            such as minority rows that a model learns from by a closed form for majority rows
            only, have their decision in the fit. Folds are refitted where there is no closed form.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> X = np.random.default_rng(0).normal(size=(99, 2))
        >>> X[7] = 6.0
        >>> est = BSVDD().fit(X)
        >>> bool(est.training_decision()["normal"][7])
        False
        """
        check_is_fitted(self)
        return decision.of_training(self)

    def _training(self, prob: float = 0.9) -> np.ndarray:
        """Return what ``center.decision`` has, (4, n), of the training rows, each left out."""
        fit, scores = self.fit_, self.left_out_scores()
        of_rows = self._left_out_rows(fit, Cutoff(level=fit.level))
        decided = of_rows.decision(fit.center, fit.level, prob)
        decided[0] = scores
        decided[:, np.isnan(scores)] = fit.decision[:, np.isnan(scores)]
        return decided

    def decision(self, X: Any, prob: float = 0.9, p_value: str | None = "left-out") -> pd.DataFrame:
        r"""Return the decision on each row, with its p-value, P(normal) and surprise.

        Parameters
        ----------
        X : array-like of shape (n, p)
        prob : float, default=0.9
            Probability of the interval of the surprise.
        p_value : str or None, default="left-out"
            The method of :meth:`p_value`; None for none.

        Returns
        -------
        pandas.DataFrame
            For new rows what ``idata_["decision"]`` has for the training rows, with the index of X
            if X is a data frame:

            - ``p_value``, as :meth:`p_value`;
            - ``probability_normal``, as :meth:`probability_normal`;
            - ``surprise``, :math:`\log(s_{\mathrm{cut}} / s_z)` in nats: 0 at the cutoff, .69 for a
              row that is half as similar to the training rows, negative for normal rows. It is
              minus :meth:`score_samples`, and a difference of similarities, or of f, where
              these may be negative;
            - ``surprise_low``, ``surprise_high``, the ends of its interval, for descriptions. The
              lower end counts a whole row beside z that the sample has not shown;
            - ``normal``, as :meth:`predict`;
            - ``distance``, the distance of the surprise, and ``cutoff``, D_opt, which tell rows
              apart worse than the surprise does; and ``level``.

            With ``Cutoff(undecided=(low, high))`` also ``probability_error``, the Monte Carlo
            standard error of P(normal), and ``decision``: "normal", "abnormal" or "undecided", see
            :func:`bsvdd.inference.decision.three_way`.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, or NaN or infinity;
            prob does not lie between 0 and 1; p_value as in :meth:`p_value`.
        TypeError
            X is a dask collection; the methods with one number per row accept it, and are lazy.
        sklearn.exceptions.NotFittedError

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BDD
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> BDD().fit(X).decision([[0.0, 0.0], [9.0, 9.0]])["normal"].tolist()
        [True, False]
        """
        check_is_fitted(self)
        return decision.of_rows(self, X, prob, p_value)

    # distances

    @available_if(_has_center)
    def distance(self, X: Any) -> xr.DataArray:
        r"""Return the draws of d_z for each row of X.

        .. math:: d_z^2 = k(z, z) - 2 \sum_j w_j k(u_j, z) + \|a\|^2

        Parameters
        ----------
        X : array-like of shape (n, p)

        Returns
        -------
        xarray.DataArray of dims (chain, draw, obs)
            d_z is a norm in kernel space, so it does not have the units of X. For a kernel with
            values in [0, 1], k(z, z) = 1 and weights on the simplex, it lies between 0 and the
            square root of 2.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        """
        check_is_fitted(self)
        center: Any = self.fit_.center
        return self.fit_.draws.of_rows(center.distances(inputs.table(self, X)))

    # p-values

    def p_value(
        self, X: Any, method: str = "left-out", given: Any = None, tail: str = "rank"
    ) -> np.ndarray:
        r"""Return the conformal p-value of "this row is normal" for each row of X.

        .. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

        with :math:`s_z` the score of z and :math:`s_j` those of n left-out normal rows. A row with
        :math:`p(z) \le \alpha` is abnormal at a false-alarm rate of :math:`\alpha`. With the
        cutoff ``FalseAlarm(alpha)`` and the method "left-out", these
        are exactly those that ``predict`` calls abnormal.

        Parameters
        ----------
        X : array-like of shape (n, p), or dask collection
            As in :meth:`probability_normal`; for a dask collection the result is lazy.
        method : {"left-out", "split"}, default="left-out"
            How rows are left out. For a normal row, :math:`P(p(z) \le \alpha)` is

            - "left-out": about :math:`\alpha`, with the left-out scores that choose the cutoff;
            - "split": at most :math:`\alpha`; the model is refitted to half of the majority rows,
              and the other half is left out.
        given : name or position of a column, or a sequence of these, optional
            Judge the other columns given these: the score is :math:`\log f(x, y) - \log f(x)`, see
            :mod:`bsvdd.estimators.questions.given`. For weights of at least 0 and kernels that are
            products over columns.
        tail : {"rank", "pareto"}, default="rank"
            "pareto" puts a model, a generalised Pareto distribution, above the .9 quantile of the
            left-out surprises, so that p-values can be smaller than 1/(n + 1). They are as good as
            this model, which is checked, see :mod:`bsvdd.estimators.questions.tail`.

        Returns
        -------
        ndarray of shape (n,)
            At least 1/(n + 1) with tail "rank", at most 1. It depends a little on the cutoff: the
            boundary of each draw is that of its false-alarm rate.

        Raises
        ------
        ValueError
            An unknown method; a model or kernel that ``given`` does not suit; a given column that
            there is not, or all columns; a tail of fewer than 10 rows; X as in
            :meth:`probability_normal`.

        Warns
        -----
        DiagnosticWarning
            With tail "pareto": the largest left-out surprises are of another distribution.

        Notes
        -----
        Both methods need training rows that are normal, and new normal rows from the same
        distribution. Abnormal rows among the training rows make p-values too large, and drift makes
        them too small. "left-out" uses bandwidth, scaling and row sums of all rows; see
        :mod:`bsvdd.estimators.questions.p_values`.

        References
        ----------
        Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic learning in a random world.
        Springer.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> X = np.random.default_rng(0).normal(size=(99, 2))
        >>> X[:, 1] += 2.0 * X[:, 0]
        >>> est = BSVDD().fit(X)
        >>> est.p_value([[9.0, 9.0]])
        array([0.01])
        >>> bool(est.p_value([[9.0, 9.0]], tail="pareto")[0] < 0.01)
        True
        >>> row = [[0.0, 3.0]]  # no column is odd, but the second is far off for this first
        >>> bool(est.p_value(row, given=[0])[0] < est.p_value(row)[0])
        True
        """
        check_is_fitted(self)
        return inputs.by_row(self, X, p_values.method_of(self, method, given, tail))

    def select(
        self,
        X: Any,
        fdr: float = 0.1,
        method: str = "left-out",
        given: Any = None,
        tail: str = "rank",
    ) -> np.ndarray:
        """Return the rows of a batch to call abnormal, with the false discovery rate held.

        Benjamini and Hochberg's procedure on p-values: the expected share of normal rows among the
        rows that are called abnormal is to be at most ``fdr``. Rows of one batch are decided
        together: a row can be called abnormal in one batch and not in another.

        Parameters
        ----------
        X : array-like of shape (n, p)
        fdr : float, default=0.1
        method : {"left-out", "split"}, default="left-out"
            As in :meth:`p_value`. There is a theorem for "split" (Bates et al. 2023); for
            "left-out" the rate was measured (docs/measurements.md) and not proved.
        given, tail : optional
            As in :meth:`p_value`. Among m rows, p-values of at least 1/(n + 1) select at least
            m / (n + 1) / ``fdr`` rows or none; ``tail="pareto"`` has no such limit.

        Returns
        -------
        ndarray of bool, shape (n,)

        Raises
        ------
        ValueError
            fdr does not lie between 0 and 1; X and method as in :meth:`p_value`.

        References
        ----------
        Bates, S., Candes, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for outliers with
        conformal p-values. Annals of Statistics 51, 149-178. doi:10.1214/22-AOS2244

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> rng = np.random.default_rng(0)
        >>> est = BSVDD().fit(rng.normal(size=(99, 2)))
        >>> batch = np.concatenate([rng.normal(size=(20, 2)) / 2, np.full((3, 2), 9.0)])
        >>> np.flatnonzero(est.select(batch, fdr=0.1)).tolist()
        [20, 21, 22]
        """
        check_is_fitted(self)
        return selection.select(self, X, fdr, method, given, tail)

    def monitor(self, level: float = 0.01) -> stream.Monitor:
        """Return a test that tells when rows of a stream are no longer like the training rows.

        It takes batches, in the order of the stream. A stream without a change, of any length, gets
        an alarm with a probability of at most ``level``. The model is refitted to half of the
        majority rows, and the stream is compared with the other half, as in the method "split" of
        :meth:`p_value`; see :mod:`bsvdd.estimators.questions.stream`.

        Parameters
        ----------
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
        >>> from bsvdd import BSVDD
        >>> rng = np.random.default_rng(0)
        >>> monitor = BSVDD().fit(rng.normal(size=(200, 2))).monitor()
        >>> for shift in [0.0, 0.0, 2.0]:
        ...     evidence = monitor.update(rng.normal(size=(50, 2)) + shift)
        >>> monitor.alarm is not None and 100 < monitor.alarm < 150
        True
        """
        check_is_fitted(self)
        return stream.Monitor(self, level)

    # explanations, kinds, reports and files

    def explain(
        self,
        X: Any = None,
        prob: float = 0.9,
        draws: int = 50,
        top: int = 5,
        changes: bool = True,
        *,
        rows: Any = None,
        given: Any = None,
    ) -> explanation.Explanation:
        r"""Return why rows are abnormal: shares of columns and training rows, and what to change.

        With weights of at least 0 and an RBF or Laplacian kernel, the surprise of z is a sum of
        terms of the columns and of the concentration, exactly and for each draw,

        .. math:: \log \frac{s_{\mathrm{cut}}}{s_z} = \log s_{\mathrm{cut}} + \sum_f
            E_q[-\log k_f(u_f, z_f)] + \mathrm{KL}(q \,\|\, w), \qquad q_j \propto w_j k(u_j, z),

        and q are the shares of the training rows. For RBF the term of column f is
        :math:`E_q[(z_f - u_f)^2] / (2 s^2)`, in the coordinates of the kernel. Other kernels and
        signed weights have :math:`d_z^2 - D^2` as a sum of terms of training rows,
        :math:`-2 w_j (k(u_j, z) - \kappa_j)` with :math:`\kappa_j` the mean over normal rows. See
        :mod:`bsvdd.estimators.questions.terms`, and for the change
        :mod:`bsvdd.estimators.questions.smallest_change`.

        Parameters
        ----------
        X : array-like of shape (n, p), optional
            Rows inside the description are explained too. By default the training rows are
            explained, each left out: its own weight leaves the sums, and its values leave the
            ranks of the columns.
        prob : float, default=0.9
            Probability of the equal-tailed posterior intervals.
        draws : int, default=50
            Number of draws over all chains, evenly spaced among those of the fit, that the means
            and intervals are of. The decision is by all draws.
        top : int, default=5
            Number of training rows in ``points`` and ``nearest``.
        changes : bool, default=True
            Whether to search for the change of few columns that makes an abnormal row normal. It
            takes some milliseconds for each abnormal row (500 training rows, 10 columns), and
            grows with the square of the number of columns.
        rows : sequence of int, optional
            Positions of the training rows to explain, without X. Default: all.
        given : optional
            As in :meth:`p_value`. The rows get ``p_given``, the p-value of the other columns given
            these, and only the other columns are named.

        Returns
        -------
        Explanation
            See :class:`bsvdd.estimators.questions.explanation.Explanation`. ``obs`` is the index of
            X if X is a data frame, else the numbers of the rows; of training rows, their names.

        Raises
        ------
        ValueError
            The kernel is precomputed, or the model has no centre; X has another number of columns
            than in ``fit``, NaN or infinity, or no rows; prob, draws or top is out of its range;
            ``rows`` are no positions of training rows, or are given beside X.
        TypeError
            X is a dask collection.
        sklearn.exceptions.NotFittedError

        References
        ----------
        Donsker, M. D. and Varadhan, S. R. S. (1975). Asymptotic evaluation of certain Markov
        process expectations for large time, I. Communications on Pure and Applied Mathematics 28,
        1-47. doi:10.1002/cpa.3160280102

        Examples
        --------
        >>> import numpy as np, pandas as pd
        >>> from bsvdd import BSVDD
        >>> X = np.random.default_rng(0).normal(size=(99, 3))
        >>> est = BSVDD().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
        >>> why = est.explain(pd.DataFrame({"a": [0.0], "b": [6.0], "c": [0.0]}, index=["odd"]))
        >>> why.top_columns(1)["column_1"].tolist()
        ['b']
        >>> str(abs(why.changes["change"]).sel(obs="odd").idxmax().item())
        'b'
        >>> est.explain(rows=[0, 1], changes=False).rows.index.tolist()  # training rows, left out
        [0, 1]
        """
        return explanation.explain(self, X, prob, draws, top, changes, rows, given)

    def _positions(self, rows: Any) -> np.ndarray:
        """Return positions of training rows, all by default; a ValueError if they are none."""
        n = len(self.fit_.data.rows)
        found = np.arange(n) if rows is None else np.atleast_1d(np.asarray(rows))
        if found.ndim != 1 or found.dtype.kind not in "iu" or not len(found):
            raise ValueError(f"rows must be positions of training rows, 0 to {n - 1}, got {rows!r}")
        if found.min() < 0 or found.max() >= n:
            raise ValueError(f"rows must lie between 0 and {n - 1}, got {rows!r:.80}")
        return found

    def kinds(self, X: Any, background: float = 0.01) -> pd.DataFrame:
        r"""Return the probability that a row is normal, of each labelled kind, or of another kind.

        P(normal) follows from the score of this model, calibrated on left-out rows, and from the
        p-value of the row under a description of the normal class by BSVDD, which no minority row
        has part in: at the p-value ``background`` the odds of an unknown kind to normal are 1. A
        row that the score calls abnormal is of a labelled kind as far as it is like the rows of
        that kind. See :mod:`bsvdd.estimators.questions.kinds`.

        The shares of normal and labelled rows are taken to be those of the training rows. The
        p-value of a row far from all training rows is 1/(n0 + 1), so with fewer than
        1/``background`` normal rows it does not make a row more likely unknown than normal. With
        few labelled rows the score is not sure of them either, and a row in their midst that is
        far from all normal rows can be more likely unknown than known.

        Parameters
        ----------
        X : array-like of shape (n, p)
        background : float, default=0.01
            The p-value at which a row is as likely of an unknown kind as normal, in [0, 1): about
            this share of normal rows is more likely unknown. With 0 no row is unknown: P(normal) is
            then the score alone, calibrated by Platt's sigmoid.

        Returns
        -------
        pandas.DataFrame
            A row for each row of X, with its index if X is a data frame. The columns are "normal",
            the labels of the minority, and "unknown"; each row sums to one.

        Raises
        ------
        ValueError
            The kernel is precomputed, a label is "normal" or "unknown", ``background`` is out of
            range, or X is invalid as in :meth:`probability_normal`.
        TypeError
            X is a dask collection.

        Warns
        -----
        DataWarning
            All rows of a kind are majority rows too.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import LSSVM
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(size=(150, 2)), rng.normal([5, 0], 0.5, (20, 2))])
        >>> est = LSSVM(minor_label="leak").fit(X, ["ok"] * 150 + ["leak"] * 20)
        >>> est.kinds([[0.0, 0.0], [5.0, 0.0], [-9.0, 9.0]]).idxmax(axis=1).tolist()
        ['normal', 'leak', 'unknown']
        """
        check_is_fitted(self)
        return kinds.table(self, X, background)

    def report(self, path: Any, X: Any = None, y: Any = None, calibration: bool = True) -> Path:
        """Write a report of this fit as one HTML file, which needs no network.

        It says what was learnt from, and shows kernel and bandwidth, prior beside posterior,
        convergence in words, the cutoff with its realised false alarms, the distances of the rows,
        calibration, ROC and precision-recall where there are labels, the most abnormal rows with
        their explanation, and how to cite and to rerun.

        Parameters
        ----------
        path : str or path
            The file is complete or absent. Its folder must exist.
        X : array-like of shape (m, p), optional
            New rows to report. By default the training rows are reported: their ROC and their
            false alarms are those of left-out rows.
        y : array-like of shape (m,), optional
            Labels of X, with the rules of ``fit``. They are only compared with the decisions.
        calibration : bool, default=True
            Whether to refit the model five times, each time without a fifth of the rows, to show
            the p-values of left-out rows. Without it the report takes a few seconds. Progress is
            printed to stderr after 3 seconds.

        Returns
        -------
        path

        Raises
        ------
        ValueError
            y is given without X; X and y as in :meth:`decision` and ``fit``.
        OSError
            The file cannot be written.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from bsvdd import SVDD
        >>> est = SVDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = est.report(Path(folder) / "model.html", calibration=False)
        ...     "What P(normal) is" in page.read_text(encoding="utf-8")
        True
        """
        from .report import report  # matplotlib and templates, which a fit does not need

        check_is_fitted(self)
        return report.write(self, Path(path), X, y, calibration)

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one safetensors file; see :func:`bsvdd.load`.

        What was added to ``idata_`` is not saved; ``est.idata_.to_netcdf(path)`` writes it.

        Parameters
        ----------
        path : str or path
            The file is complete or absent: it is written under another name and then renamed.

        Raises
        ------
        TypeError
            A parameter is an object that JSON cannot store.
        ValueError
            Names of rows are too long to be stored.
        """
        save(self, path)

    # scikit-learn

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of the kernel too, as in ``kernel__kernel__bandwidth``.

        Raises
        ------
        ValueError
            There is no parameter of that name.

        Examples
        --------
        >>> from bsvdd import SVDD
        >>> SVDD().set_params(kernel__kernel__bandwidth=0.5, kernel__rho=0.1).kernel
        Tabular(RBF(bandwidth=0.5, gamma=2), rho=0.1)
        """
        nested = {name: v for name, v in params.items() if name.startswith("kernel__")}
        super().set_params(**{name: v for name, v in params.items() if name not in nested})
        if nested:
            of_kernel = {name.removeprefix("kernel__"): v for name, v in nested.items()}
            self.kernel = as_kernel(self.kernel).with_params(**of_kernel)
        return self

    def _validate_params(self) -> None:
        for name, value in self.get_params(deep=False).items():
            if isinstance(value, int) and abs(value) > LARGEST and name != "minor_label":
                raise ValueError(f"{name} is a whole number that is too large for any float")
        super()._validate_params()

    @property
    def classes_(self) -> np.ndarray:
        """The values of ``predict``, [-1, 1], for scikit-learn's scorers and calibration.

        Raises
        ------
        AttributeError
            y had other labels in ``fit``; scikit-learn's tools would read scores and decisions the
            wrong way round.
        """
        check_is_fitted(self)
        if not self._has_labels_of_predict:
            n_kinds = max(1, len(self.fit_.data.kind_labels))
            minority, others = list(self.labels_[:n_kinds]), self.labels_[n_kinds:]
            shown = ", ".join(map(repr, others[:3])) + (", ..." if len(others) > 3 else "")
            named = ", ".join(map(repr, minority))
            where = f"y == {named}" if n_kinds == 1 else f"np.isin(y, {minority!r})"
            raise AttributeError(
                "scikit-learn's own scorers and calibration need the labels of predict, -1 for "
                f"abnormal and 1 for normal; this fit has {named} for abnormal and {shown} "
                "for normal, which they would read the wrong way round: use scoring="
                "scorers.roc_auc, or another of bsvdd.scorers, or fit with "
                f"np.where({where}, -1, 1)"
            )
        return np.array([-1, 1])

    @property
    def _has_labels_of_predict(self) -> bool:
        return self.labels_ in ((), (-1, 1))

    def __str__(self) -> str:
        """Return what the fit is and what to ask it; before the fit, its parameters as ``repr``."""
        if not self.__sklearn_is_fitted__():
            return repr(self)
        from .report.words import described  # a fit needs no sentences

        return described(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cutoff_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self.kernel, "pairwise", False)
        if self._learns_from_minority:
            tags.estimator_type = None  # scikit-learn's outlier detectors must fit without labels
            tags.target_tags.required = True
        if self.__sklearn_is_fitted__() and not self._has_labels_of_predict:
            tags.estimator_type = "classifier"  # so scikit-learn's scorers ask for classes_
        return tags


def owned(value: Any) -> Any:
    """Return a copy of a parameter, or the value itself if nothing in it can be changed."""
    return copy.deepcopy(value) if _can_change(value) else value


def _can_change(value: Any) -> bool:
    kind: Any = type(value)
    if isinstance(value, type):
        return False
    if is_dataclass(value) and kind.__dataclass_params__.frozen:
        return any(_can_change(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, tuple):
        return any(map(_can_change, value))
    return not (value is None or isinstance(value, str | Number | FunctionType))


def _warn_of_rounding(fit: Fit) -> None:
    """Warn if kernel values are so large that distances have few digits."""
    gram, rows, center = fit.data.gram, fit.data.majority_rows, fit.center
    if not isinstance(center, Center) or not np.ptp(rows, axis=0).any():
        return  # equal rows, whose distances are all 0
    typical = float(np.median(center.distances(rows[spread(len(rows))])))
    if gram.rounding >= FEW_DIGITS * typical**2:
        warn(
            f"kernel values of up to {gram.largest:.3g} leave few digits to distances of "
            f"{typical:.3g}; centre the columns of X, for instance by "
            "kernels.Standardized(kernel)",
            DataWarning,
        )
