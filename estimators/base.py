"""The base of all estimators: they take rows and labels, and decide by a distance and a cutoff."""

from __future__ import annotations

import copy
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..inference import conformal
from ..inference.cutoff import Cutoff, as_cutoff
from ..inference.decision import (
    compared,
    probability_error,
    three_way,
)
from ..inference.draws import Draws
from ..inference.kinds import Kinds
from ..inference.scoring import Limit, ScoringRule
from ..inference.warning import DiagnosticWarning, warn
from ..models.gram import Gram
from ..models.kernels import RBF, Kernel, as_kernel
from . import kinds, leave_out, p_values
from .dictionary import AllRows, restored_data
from .explanation import Explanation
from .inputs import categorical_columns, training_names, validated, warn_of_constant_columns
from .labels import kinds_seen, labels_seen, minority_rows, warn_of_classes
from .leave_out import LeaveOneOut
from .rows.blocks import ArrayRows, Rows
from .rows.files import naming, tables
from .rows.source import is_lazy
from .rows.source import source as rows_of
from .storage.saving import save
from .training import Dictionary, FitState, TrainingData

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
        """It has fit_predict only, which BaseDetector overrides."""

else:
    from sklearn.base import BaseEstimator, OutlierMixin


AT_CUTOFF = 1e-12  # relative difference of a value from the cutoff that rounding explains
Summary = Callable[[ScoringRule, np.ndarray], np.ndarray]  # one number per row, from a rule


@dataclass(kw_only=True, eq=False, repr=False)
class BaseDetector(OutlierMixin, BaseEstimator):
    """A detector that calls a row abnormal if its distance exceeds a cutoff.

    A subclass computes the weights in ``_draw``, and makes a scoring rule of them in ``_rule``.
    """

    kernel: Kernel | Callable[..., Any] = RBF()
    cutoff: Cutoff | str | float | None = None
    minor_label: Any = None
    random_state: Any = 0

    _learns_from_minority: ClassVar[bool] = False
    _folds: ClassVar[int] = 5  # refitted for the cutoff, if there is no leave-one-out
    _solution: ClassVar[tuple[str, ...]] = ()  # numbers of the solver besides the weights
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"random_state": ["random_state"]}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model and choose the cutoff.

        Parameters
        ----------
        X : array-like of shape (n, p), path of a .npy, .parquet or .csv file, or dask collection
            Training rows; with ``kernels.Precomputed``, their kernel matrix (n, n). With a
            ``dictionary``, an array, a memory map, a file or a dask array or data frame is read in
            blocks and never as a whole, in its own precision (kernel values of float32 rows are
            computed in float32).
        y : array-like of shape (n,), or name of a column of the file or data frame, optional
            Labels. The minority is -1 in {-1, 1}, 1 in {0, 1}, True in booleans, and
            ``minor_label`` otherwise, which may list the labels of several kinds
            (:meth:`kinds`). Without y, all rows are majority. One-class models learn from the
            majority rows; minority rows only tune their cutoff.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Rows with NaN, infinity or masked values, too few or too many rows, ambiguous labels,
            one class only if a model or a cutoff needs two, an invalid kernel, or a parameter out
            of its range. The message says what to do.
        TypeError
            X is not a table of numbers, or a parameter has the wrong type.

        Warns
        -----
        DataWarning
            Constant columns, equal rows, or kernel values so large that distances have few digits.
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, or weights that have collapsed
            on a few rows.
        """
        policy = as_cutoff(self.cutoff)
        new = copy.copy(self)  # a fit that fails leaves this estimator unchanged
        data = new._training_data(X, y, policy)
        new._finish(new._state(data), policy)
        self.__dict__ = new.__dict__
        return self

    def _training_data(self, X: Any, y: Any, policy: Cutoff) -> TrainingData:
        """Return the training data, after all checks of rows, labels and cutoff."""
        self._validate_params()
        self._check_policy(policy)
        source, labels = self._source(X, y)
        with naming(X):
            minority_of_all = minority_rows(labels, source.n_rows, self.minor_label)
        warn_of_classes(minority_of_all, self.minor_label)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        dictionary = self._dictionary(self._n_points(minority_of_all))
        row_numbers = self._held_rows(dictionary, minority_of_all, policy, seed, y is None)
        minority = minority_of_all[row_numbers]
        all_rows = len(minority) == source.n_rows
        with naming(X):
            rows = np.array(source.take(row_numbers), order="C")  # a copy: the caller may change X
        rows.setflags(write=False)
        kernel = as_kernel(self.kernel)
        if not kernel.pairwise:
            warn_of_constant_columns(rows[~minority])
        kernel = kernel.with_categorical(source.categorical).resolve(rows[~minority])
        with naming(X):
            gram, row_of_point = dictionary.statistics(
                kernel, rows, minority, source, minority_of_all, seed
            )
        kind, kind_labels = kinds_seen(labels, minority_of_all, self.minor_label)
        return TrainingData(
            rows=rows,
            minority=minority,
            gram=gram,
            row_of_point=row_of_point,
            dictionary=dictionary,
            seed=seed,
            all_rows=all_rows,
            label=y if isinstance(y, str) else None,
            labels=labels_seen(labels, minority_of_all, self.minor_label),
            kind=kind[row_numbers],
            kind_labels=kind_labels,
            names=training_names(X, row_numbers, len(rows)),
        )

    def _held_rows(
        self,
        dictionary: Dictionary,
        minority: np.ndarray,
        policy: Cutoff,
        seed: int,
        no_labels: bool = False,
    ) -> np.ndarray | slice:
        """Return the rows that a fit holds, after all checks that need no values of rows."""
        if self._learns_from_minority and not minority.any():
            raise ValueError(
                f"{type(self).__name__} learns from minority rows, but there is none (n1 = 0)"
                + ("; it requires y to be passed, but the target y is None" if no_labels else "")
                + "; give y with at least one minority row, or use a one-class model such as BSVDD"
            )
        held = dictionary.held_rows(minority, seed)
        self._check_left_out(policy, minority[held], len(minority[held]) == len(minority))
        return held

    def check_rows(self, minority: np.ndarray) -> None:
        """Raise a ValueError if so many rows of each class cannot be fitted, whatever they are.

        Nothing is computed, so that a model can be refused before others are fitted.

        Parameters
        ----------
        minority : ndarray of bool, shape (n,)
            Which of the training rows are minority.

        Raises
        ------
        ValueError
            Too many rows without a ``dictionary``, too few for the cutoff, or no minority row for
            a model that learns from them. The message says what to do.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD, SVDD
        >>> BSVDD().check_rows(np.zeros(100_000, dtype=bool))
        >>> SVDD().check_rows(np.zeros(100_000, dtype=bool))
        Traceback (most recent call last):
        ValueError: the kernel matrix of 100000 rows needs 80.0 GB, and up to 20000 rows are ...
        """
        policy, minority = as_cutoff(self.cutoff), np.asarray(minority, dtype=bool)
        self._check_policy(policy)
        dictionary = self._dictionary(self._n_points(minority))
        held = self._held_rows(dictionary, minority, policy, 0)
        policy.check_rate(minority[held])

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """Return ``fit(X, y).predict(X)``."""
        return self.fit(X, y, **kwargs).predict(X)

    # hooks of the models

    def _draw(self, gram: Gram, seed: int) -> Draws:
        """Return the weights: a single estimate, or draws of their posterior."""
        raise NotImplementedError

    def _rule(self, draws: Draws, gram: Gram) -> ScoringRule:
        """Return the scoring rule of the draws."""
        raise NotImplementedError

    def _state(self, data: TrainingData) -> FitState:
        """Return the fit to ``data``."""
        raise NotImplementedError

    def _own_cutoff(self, state: FitState) -> float | None:
        """Return the model's own boundary, or None if it has none."""
        return None

    def _dictionary(self, n_points: int) -> Dictionary:
        """Return the dictionary, which chooses the points of the centre.

        ``n_points`` is their number if all rows that the model learns from are points.
        """
        return AllRows(self._learns_from_minority)

    def _n_points(self, minority: np.ndarray) -> int:
        """Return the number of rows that the model learns from."""
        return len(minority) if self._learns_from_minority else int((~minority).sum())

    @property
    def _has_loo(self) -> bool:
        """Whether one fit to all rows gives left-out distances."""
        return False

    def _leave_one_out(self, data: TrainingData) -> LeaveOneOut | None:
        """Return the leave-one-out that needs no refit, or None if only refits leave rows out."""
        return None

    # the cutoff

    def _check_policy(self, policy: Cutoff) -> None:
        """Raise a ValueError for a cutoff that this model cannot have for any rows."""
        if policy.criterion == "model" and type(self)._own_cutoff is BaseDetector._own_cutoff:
            raise ValueError(
                "cutoff: criterion='model' is for models with a boundary of their own, such as "
                f"SVDD; {type(self).__name__} has none: use another criterion"
            )

    def _check_left_out(self, policy: Cutoff, minority: np.ndarray, all_rows: bool) -> None:
        """Raise a ValueError, before any kernel value, if the cutoff cannot be chosen."""
        name = type(self).__name__
        leave_out.check(policy, minority, all_rows, self._has_loo, self._folds, name)

    def _finish(self, state: FitState, policy: Cutoff) -> None:
        """Choose the cutoff for ``state``, and only then set the fitted attributes."""
        rule, level = self._full_rule(state), policy.level
        left_out = None
        own_cutoff = self._own_cutoff(state) if policy.criterion == "model" else None
        if own_cutoff is not None:
            limit = rule.limit(own_cutoff, level)
        elif not isinstance(policy.criterion, str):
            limit = rule.limit(float(policy.criterion), level)
        else:
            left_out = self._left_out_scores(state, policy)
            limit = chosen_limit(rule, policy, left_out, state.data.minority)
        if left_out is not None and policy.criterion in ("auto", "false_alarm", "rank"):
            warn_of_far_rows(rule, limit)
        cutoffs = rule.cutoffs(limit.value)[:, None]
        probability, normal, at_cutoff = compared(state.values, cutoffs, level, AT_CUTOFF)
        if at_cutoff or rule.has_few_digits(limit):  # rounding of the values would decide
            score, probability = rule.decision(state.data.rows, limit)
            normal = score >= limit.score
        decision = xr.Dataset(
            {
                "probability_normal": ("obs", probability),
                "normal": ("obs", normal),
                "cutoff": limit.value,
                "offset": limit.score,
                "level": level,
            },
            {"obs": np.arange(len(state.data.rows))},
        )
        if left_out is not None:
            decision = decision.assign(
                left_out=("obs", rule.value_of(left_out)),
                left_out_score=("obs", left_out),
            ).assign_attrs(cv=str(policy.cv))
        state = replace(state, Kw=None)  # no longer needed
        self._set_fitted(state, state.tree(decision))

    def _full_rule(self, state: FitState) -> ScoringRule:
        """Return the scoring rule of a fit, without pruning."""
        return state.rule

    def _left_out_scores(self, state: FitState, policy: Cutoff) -> np.ndarray:
        """Return the score of each training row when it is left out; NaN if it cannot be."""
        data, level = state.data, policy.level
        loo, rule = self._leave_one_out(data), self._full_rule(state)

        def refit(train: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
            draws, fold = self._refit(data, train)
            reference = self._reference(draws, fold), self._reference(state.draws, rule)
            return lambda rows: fold.aligned(fold.scores(rows, level), *reference)

        return leave_out.scores(data, rule, policy, loo, self._folds, refit, state.Kw)

    def _reference(self, draws: Draws, rule: ScoringRule) -> float | None:
        """Return a score that has the same meaning in fits to all rows and to folds, if needed."""
        return None

    def _set_fitted(self, state: FitState, tree: xr.DataTree) -> None:
        """Set the fitted attributes from a state and its DataTree, which includes the decision."""
        decision = tree.children["decision"].dataset
        self._fit, self.idata_ = state, tree
        self.cutoff_, self.level_ = float(decision["cutoff"]), float(decision["level"])
        if "offset" in decision:
            self.offset_ = float(decision["offset"])
        else:  # a file of a version that compared distances
            self.offset_ = self._full_rule(state).score_of(self.cutoff_)
        self._kinds: Kinds | None = None  # until they are asked for
        self._left_out = None  # unless the cutoff was chosen from them
        if "left_out_score" in decision and decision.attrs.get("cv") in ("auto", "loo"):
            self._left_out = decision["left_out_score"].values

    def _refit(
        self, data: TrainingData, train: np.ndarray, own_kernel: bool = False
    ) -> tuple[Draws, ScoringRule]:
        """Return the draws and the scoring rule of a fit to the rows ``train`` of ``data``.

        With ``own_kernel``, bandwidth and scaling are those of the rows ``train`` too.
        """
        kernel = None
        if own_kernel:
            own = as_kernel(self.kernel).with_categorical(data.kernel.categorical_columns)
            kernel = own.resolve(data.rows[train[~data.minority[train]]])
        gram = data.fold(train, kernel)
        draws = self._draw(gram, data.seed)
        return draws, self._rule(draws, gram)

    def with_cutoff(self, cutoff: Any) -> Self:
        """Return this fitted estimator with another cutoff; the model is not fitted again.

        Parameters
        ----------
        cutoff : Cutoff, str, float or None
            As in the constructor. Only ``Cutoff(cv=K)`` refits, once per fold.

        Raises
        ------
        ValueError
            The criterion needs minority rows and the fit has none, or the folds need more rows.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import SVDD, Cutoff
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> est = SVDD().fit(X)
        >>> strict = est.with_cutoff(Cutoff("false_alarm", false_alarm_rate=0.2))
        >>> bool(strict.cutoff_ < est.with_cutoff("false_alarm").cutoff_)
        True
        """
        check_is_fitted(self)
        new, policy = copy.copy(self), as_cutoff(cutoff)
        new.cutoff = cutoff
        new._check_policy(policy)
        data = self._fit.data
        new._check_left_out(policy, data.minority, data.all_rows)
        new._finish(self._fit, policy)
        return new

    # fitted attributes

    @property
    def _limit(self) -> Limit:
        return Limit(self.cutoff_, self.offset_, self.level_)

    @property
    def kernel_(self) -> Kernel:
        """The kernel with its bandwidth as a number."""
        return self._fit.data.kernel

    @property
    def gram_(self) -> Gram:
        """The Gram statistics of the training rows."""
        return self._fit.data.gram

    @property
    def support_(self) -> np.ndarray:
        """Indices of the dictionary points that scoring uses; all others count with weight 0."""
        return self._fit.rule.support

    # scores of new rows

    def probability_normal(self, X: Any) -> np.ndarray:
        """Return ``P(d_z <= cutoff_ | data)`` for each row of X.

        Parameters
        ----------
        X : array-like of shape (n, p), path of a file, or dask collection
            As in ``fit``. A file is read in blocks. For a dask array or data frame, this method
            and the others with one number per row return lazy dask arrays. If the labels of the
            fit were a column of the file or data frame, this column is ignored.

        Returns
        -------
        ndarray of shape (n,)
            Share of the posterior draws of d_z at or below the cutoff, in [0, 1]. The squared
            norm of the centre, which all rows and the cutoff share, is held at its median: see
            ``distance(X, common_norm=True)``. For a model without a posterior it is 0 or 1.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        sklearn.exceptions.NotFittedError
        """
        check_is_fitted(self)
        return self._by_row(X, partial(_probability_normal, limit=self._limit))

    def score_samples(self, X: Any) -> np.ndarray:
        r"""Return the score of each row, shape (n,); larger is more normal.

        For a description it is the proximity of the row, or its logarithm,

        .. math:: c - d_z^2, \qquad c = k(z, z) + \|a\|^2,

        its quantile over the draws at ``level_`` (at level 0.5, the posterior median). c is the
        squared distance of a row that is similar to no training row; it cancels, so the proximity
        is :math:`2 \sum_j w_j k(u_j, z)`. In a draw the order of the scores is that of minus d_z,
        with all its digits: d_z itself tends to the root of c, and then has no digits left. The
        logarithm is taken where weights and kernel values are at least 0 (SVDD, BSVDD and the
        simplex of BDD, with an RBF or Laplacian kernel), and does not underflow. If k(z, z) differs
        between rows, it does not cancel. For the SVMs the score is f(z).

        A row is normal exactly if its score is at least ``offset_``, the score of the cutoff.
        X and errors are those of :meth:`probability_normal`.
        """
        check_is_fitted(self)
        return self._by_row(X, partial(_score, level=self.level_))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X) - offset_``, shape (n,): at least 0 for normal rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) where ``P(d_z <= cutoff_ | data) > level_``, else -1 (abnormal).

        Shape (n,). X and errors are those of :meth:`probability_normal`.
        """
        return np.where(self.score_samples(X) >= self.offset_, 1, -1)

    def decision(
        self, X: Any, quantiles: Sequence[float] = (), p_value: str | None = None
    ) -> pd.DataFrame:
        """Return the decision on each row, with its probability and distance, from one pass.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        quantiles : sequence of float, default=()
            Also quantiles of the draws of ``distance(X, common_norm=True)``, for models with more
            than one draw.
        p_value : str, optional
            Also the p-values of this method of :meth:`p_value`; "left-out" needs no other pass.

        Returns
        -------
        pandas.DataFrame
            For new rows what ``idata_["decision"]`` has for the training rows. It has the index of
            X if X is a data frame, and the columns ``probability_normal``, as
            :meth:`probability_normal`; ``distance``, the quantile of
            ``distance(X, common_norm=True)`` at ``level_`` (at level 0.5, the posterior median);
            ``score``, as :meth:`score_samples`; ``cutoff`` and ``level``; and ``normal``, as
            :meth:`predict`. With ``Cutoff(undecided=(low, high))`` also ``probability_error``, the
            Monte Carlo standard error of P(normal), and ``decision``: "normal", "abnormal" or
            "undecided", see :func:`bsvdd.inference.decision.three_way`. The quantile .05 is the
            column ``distance_q05``, after ``distance``; the p-value is the column ``p_value``.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity, or no rows (a file);
            a quantile does not lie in [0, 1]; p_value as in :meth:`p_value`.
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
        if is_lazy(X):
            raise TypeError(
                "X is a dask collection, but decision computes its result at once; use "
                "probability_normal, score_samples or predict, which return lazy dask arrays"
            )
        if not all(0.0 <= share <= 1.0 for share in quantiles):
            raise ValueError(f"quantiles must be shares of the draws in [0, 1], got {quantiles!r}")
        method = None if p_value is None else self._p_values(p_value)
        rule, limit = self._fit.rule, self._limit
        shares = quantiles if len(rule.weights) > 1 else ()
        parts = [rule.decision(rows, limit, shares) for rows in self._new_rows(X)]
        score, probability, *between = np.concatenate(parts, axis=1)
        columns = {
            "probability_normal": probability,
            "distance": rule.value_of(score),
            **{
                f"distance_q{100 * share:02.12g}": d
                for share, d in zip(shares, between, strict=True)
            },
            "score": score,
            "cutoff": self.cutoff_,
            "level": limit.level,
            "normal": score >= limit.score,
        }
        undecided = as_cutoff(self.cutoff).undecided
        if undecided is not None:
            diagnostics = self.idata_.children["diagnostics"].dataset
            ess = float(diagnostics["ess"]) if "ess" in diagnostics else float("nan")
            error = probability_error(probability, ess)
            columns["probability_error"] = error
            columns["decision"] = three_way(probability, error, *undecided)
        if isinstance(method, p_values.ByScores) and method.rule is None:
            columns["p_value"] = method.of_scores(score)
        elif method is not None:
            columns["p_value"] = self._by_row(X, method)
        return pd.DataFrame(columns, X.index if isinstance(X, pd.DataFrame) else None)

    def p_value(self, X: Any, method: str = "left-out") -> np.ndarray:
        r"""Return the conformal p-value of "this row is normal" for each row of X.

        .. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

        with :math:`s_z` the score of z and :math:`s_j` those of n left-out normal rows. A row with
        :math:`p(z) \le \alpha` is abnormal at a false-alarm rate of :math:`\alpha`. With the
        cutoff ``Cutoff("false_alarm", false_alarm_rate=alpha)`` and the method "left-out", these
        are exactly the rows that ``predict`` calls abnormal (without pruning).

        Parameters
        ----------
        X : array-like of shape (n, p), path of a file, or dask collection
            As in :meth:`probability_normal`; for a dask collection the result is lazy.
        method : {"left-out", "jackknife+", "cross", "full", "split"}, default="left-out"
            How rows are left out. For a normal row, :math:`P(p(z) \le \alpha)` is

            - "left-out": about :math:`\alpha`, with the left-out scores that choose the cutoff;
            - "jackknife+": below :math:`\alpha`, as it is a mean over draws; z is compared with
              each row under the centre without this row. For BSVDD, BSVDD-M and BDD on the simplex;
            - "cross": at most :math:`2 \alpha`, and about :math:`\alpha`; 10 folds are refitted;
            - "full": at most :math:`\alpha` for a given bandwidth; BDD with an independent normal
              prior is refitted to the rows and z, in :math:`O(n^2)` a row;
            - "split": at most :math:`\alpha`; the model is refitted to half of the majority rows,
              and the other half is left out.

        Returns
        -------
        ndarray of shape (n,)
            At least 1/(n + 1), at most 1. It is the same for all cutoffs of one level.

        Raises
        ------
        ValueError
            An unknown method, or a model or prior that the method does not suit; X as in
            :meth:`probability_normal`.

        Notes
        -----
        All methods need training rows that are normal, and new normal rows from the same
        distribution. Abnormal rows among the training rows make p-values too large, and drift makes
        them too small. "left-out", "jackknife+" and "full" use bandwidth, scaling and row sums of
        all rows, which the bounds do not cover; see :mod:`bsvdd.estimators.p_values`.

        References
        ----------
        Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic learning in a random world.
        Springer.

        Barber, R. F., Candes, E. J., Ramdas, A. and Tibshirani, R. J. (2021). Predictive inference
        with the jackknife+. Annals of Statistics 49, 486-507. doi:10.1214/20-AOS1965

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import BSVDD
        >>> X = np.random.default_rng(0).normal(size=(99, 2))
        >>> BSVDD().fit(X).p_value([[9.0, 9.0]])
        array([0.01])
        """
        check_is_fitted(self)
        return self._by_row(X, self._p_values(method))

    def _p_values(self, method: str) -> Summary:
        """Return the method of :meth:`p_value` for this fit."""
        data, level = self._fit.data, self.level_
        if method == "left-out":
            scores = self.left_out_scores()
            left_out = scores[~data.minority & ~np.isnan(scores)]
            # left-out scores are those of the rule without pruning
            full = self._full_rule(self._fit)
            rule = None if full is self._fit.rule else full
            return p_values.ByScores(np.sort(left_out), level, rule)

        if method == "jackknife+":
            if not isinstance(self._leave_one_out(data), leave_out.Renormalized):
                raise ValueError(
                    "method='jackknife+' is for BSVDD, BSVDD-M and the simplex of BDD, whose other "
                    f"weights are rescaled when a point leaves; {type(self).__name__} has "
                    "method='left-out', 'cross' and 'split'"
                )
            return p_values.Jackknife.of(self._full_rule(self._fit), data)
        if method == "cross":
            return p_values.cross(data, self._fold_rule, level)
        if method == "split":
            return p_values.split(data.rows, data.minority, self._fold_rule, level, data.seed)
        if method == "full":
            return self._full_conformal()
        raise ValueError(
            f"method must be one of {', '.join(map(repr, p_values.METHODS))}, got {method!r}"
        )

    def _fold_rule(self, train: np.ndarray) -> ScoringRule:
        """Return the rule of a fit to the training rows ``train``, with its own bandwidth."""
        return self._refit(self._fit.data, train, own_kernel=True)[1]

    def _full_conformal(self) -> Summary:
        """Return the full conformal method."""
        raise ValueError(
            f"method='full' is for BDD, whose posterior mean has a closed form; "
            f"{type(self).__name__} has method='left-out', 'cross' and 'split'"
        )

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
        >>> int((est.left_out_scores() < est.offset_).sum())  # false alarms, .10 of 99 asked
        9
        """
        check_is_fitted(self)
        if self._left_out is None:
            self._left_out = self._left_out_scores(self._fit, Cutoff(level=self.level_))
        return self._left_out

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
            the p-values of left-out rows. Without it the report takes a few seconds. What
            takes longer than 3 seconds says on stderr what it does.

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

    def explain(
        self,
        X: Any,
        prob: float = 0.9,
        draws: int = 50,
        top: int = 5,
        changes: bool = True,
    ) -> Explanation:
        """Raise a ValueError: only descriptions by a centre explain rows.

        See :meth:`bsvdd.estimators.description.DataDescription.explain`.
        """
        raise ValueError(
            f"{type(self).__name__} has no centre in kernel space, whose distance explain shares "
            "among columns and training rows; use a description such as BSVDD or SVDD"
        )

    def kinds(self, X: Any, background: float = 0.01) -> pd.DataFrame:
        r"""Return the probability that a row is normal, of each labelled kind, or of another kind.

        P(normal) follows from the score of this model, calibrated on left-out rows, and from the
        p-value of the row under a description of the normal class by BSVDD, which no minority row
        has part in: at the p-value ``background`` the odds of an unknown kind to normal are 1. A
        row that the score calls abnormal is of a labelled kind as far as it is like the rows of
        that kind. See :mod:`bsvdd.inference.kinds`.

        The shares of normal and labelled rows are taken to be those of the training rows. The
        p-value of a row far from all training rows is 1/(n0 + 1), so with fewer than
        1/``background`` normal rows it does not make a row more likely unknown than normal. With
        few labelled rows the score is not sure of them either, and a row in their midst that is
        far from all normal rows can be more likely unknown than known.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
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
        if is_lazy(X):
            raise TypeError(
                "X is a dask collection, but kinds returns a data frame in memory; give an array, "
                "or one partition after another"
            )
        if background != 0:
            conformal.check_rate("background", background)
        names = kinds.columns(self._fit.data)
        if self._kinds is None:
            self._kinds = kinds.rule_of(self._fit.data, self.left_out_scores())
        rule, full, kernel = self._kinds, self._full_rule(self._fit), self.kernel_
        parts = [
            rule.probabilities(kernel.inputs(rows), full.scores(rows, self.level_), background)
            for rows in self._new_rows(X)
        ]
        index = X.index if isinstance(X, pd.DataFrame) else None
        return pd.DataFrame(np.concatenate(parts), index, names)

    def select(self, X: Any, fdr: float = 0.1, method: str = "left-out") -> np.ndarray:
        """Return the rows of a batch to call abnormal, with the false discovery rate held.

        Benjamini and Hochberg's procedure on the p-values of X, or on e-values: the expected share
        of normal rows among the rows that are called abnormal is at most ``fdr``. Rows of one
        batch are decided together: a row can be called abnormal in one batch and not in another.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        fdr : float, default=0.1
        method : str, default="left-out"
            As in :meth:`p_value`, or "e-values": the mean of e-values over 10 splits, each with a
            fit of its own, so that the answer does not hang on one split (Bashari et al. 2023).
            There is a theorem for "split" (Bates et al. 2023) and for "e-values"; for the other
            methods the rate was measured (docs/guide/measurements.md) and not proved.

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

        Bashari, M., Epstein, A., Romano, Y. and Sesia, M. (2023). Derandomized novelty detection
        with FDR control via conformal e-values. Advances in Neural Information Processing Systems
        36.

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
        conformal.check_rate("fdr", fdr)
        if method == "e-values":
            return conformal.discoveries_by_e_values(self._e_values(X, fdr), fdr)
        return conformal.discoveries(self._batch_p_values(X, method), fdr)

    def _e_values(self, X: Any, fdr: float) -> np.ndarray:
        """Return the means of the e-values of the rows of X over splits."""
        check_is_fitted(self)
        data, level, e = self._fit.data, self.level_, []
        for seed in range(data.seed, data.seed + p_values.SPLITS):
            split = p_values.split(data.rows, data.minority, self._fold_rule, level, seed)
            scores = _computed(self._by_row(X, split.scores))
            # half the rate for each split, so that their mean can reach the whole (Bashari et al.)
            e.append(conformal.e_values(scores, split.left_out, fdr / 2.0))
        return np.mean(e, axis=0)

    def abnormal_at_least(self, X: Any, confidence: float = 0.9, method: str = "left-out") -> int:
        """Return a lower bound, with confidence, of the number of abnormal rows in a batch.

        By closed testing with Simes' tests on the p-values of X, see
        :func:`bsvdd.inference.conformal.abnormal_at_least`.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file
        confidence : float, default=0.9
        method : str, default="left-out"
            As in :meth:`select`.

        Raises
        ------
        ValueError
            The confidence does not lie between 0 and 1; X and method as in :meth:`p_value`.
        """
        conformal.check_rate("confidence", confidence)
        return conformal.abnormal_at_least(self._batch_p_values(X, method), confidence)

    def _batch_p_values(self, X: Any, method: str) -> np.ndarray:
        return _computed(self.p_value(X, method))

    def _by_row(self, X: Any, summary: Summary) -> np.ndarray:
        """Return one number per row of X; for a dask collection, as a lazy array."""
        if is_lazy(X):
            from .rows.dask import by_block

            scorer = copy.copy(self)  # workers get the rule without the training rows
            scorer._fit, scorer.idata_ = self._fit.for_scoring(), xr.DataTree()
            lazy: Any = by_block(self._without_label(X), partial(_scores, scorer, summary=summary))
            return lazy
        return _scores(self, X, summary)

    def _new_rows(self, X: Any) -> Iterator[np.ndarray]:
        """Yield new rows in the form that the fit's kernel expects; a file's block by block."""
        check_is_fitted(self)
        blocks: Iterable[Any] = [X]
        if isinstance(X, str | os.PathLike):
            names = getattr(self, "feature_names_in_", None)
            categorical = [] if names is None else names[list(self.kernel_.categorical_columns)]
            blocks = tables(X, self._fit.data.label, list(categorical))
        for block in blocks:
            yield self._rows_for(self.kernel_, self._without_label(block))

    def _rows_for(self, kernel: Kernel, X: Any) -> np.ndarray:
        """Return new rows in the form that ``kernel``, resolved by a fit, expects."""
        categorical = categorical_columns(kernel, X, getattr(self, "feature_names_in_", None))
        X = validated(self, X, reset=False, pairwise=kernel.pairwise, categorical=categorical)
        return kernel.new_rows(X, self.n_features_in_)

    def _source(self, X: Any, y: Any) -> tuple[Rows, Any]:
        """Return the training rows and their labels; blocks are not read yet."""
        kernel = as_kernel(self.kernel)
        is_array = isinstance(X, np.ndarray)
        in_blocks = not is_array or self._dictionary(len(X) if X.ndim else 0).reads_blocks
        source = rows_of(X) if in_blocks and not kernel.pairwise else None
        if source is None:
            categorical = categorical_columns(kernel, X)
            X = validated(self, X, True, kernel.pairwise, categorical)
            rows = ArrayRows(kernel.training_rows(X), is_checked=True)
            rows.categorical = categorical
            return rows, y
        labels = source.labels(y) if isinstance(y, str) else y
        source.categorical = categorical_columns(kernel, source)
        if source.n_rows < 2:
            raise ValueError(f"X has {source.n_rows} row(s); expected at least 2")
        head = np.zeros((1, source.n_columns))
        validate_data(
            self, head if source.names is None else pd.DataFrame(head, None, source.names)
        )
        return source, labels

    def _without_label(self, X: Any) -> Any:
        """Return X; without the column of the labels if it is a data frame with this column."""
        label = self._fit.data.label
        if label is not None and hasattr(X, "columns") and label in X.columns:
            return X[[name for name in X.columns if name != label]]
        return X

    @property
    def labels_(self) -> tuple[Any, ...]:
        """The labels of y in ``fit``, those of the minority first; empty without y."""
        check_is_fitted(self)
        return self._fit.data.labels

    @property
    def _has_labels_of_predict(self) -> bool:
        return self._fit.data.labels in ((), (-1, 1))

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
            n_kinds = max(1, len(self._fit.data.kind_labels))
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

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one NetCDF file; see :func:`bsvdd.load`.

        Parameters
        ----------
        path : str or path
            The file is complete or absent: it is written under another name and then renamed.

        Raises
        ------
        TypeError
            A parameter is an object that JSON cannot store.
        ValueError
            ``idata_`` has additions that the format cannot store.
        """
        save(self, path)

    @classmethod
    def from_state(
        cls,
        parameters: dict[str, Any],
        tree: xr.DataTree,
        kernel: Kernel,
        seed: int,
        columns: list[str] | int,
    ) -> Self:
        """Return the fitted estimator of a saved file.

        Parameters
        ----------
        parameters : dict
            Parameters of the constructor.
        tree : DataTree
            ``idata_``, already validated.
        kernel : Kernel
            Resolved kernel.
        seed : int
        columns : list of str or int
            Names of the columns of X, or their number.
        """
        est = cls(**parameters)
        est._validate_params()
        est._check_policy(as_cutoff(est.cutoff))
        # a file with statistics of its own is one of landmarks
        n_points = sys.maxsize if "gram" in tree.children else 0
        data = restored_data(est._dictionary(n_points), tree, kernel, seed)
        est.n_features_in_ = columns if isinstance(columns, int) else len(columns)
        if not isinstance(columns, int):
            est.feature_names_in_ = np.array(columns, dtype=object)
        est._set_fitted(est._restored(data, tree), tree)
        return est

    def _restored(self, data: TrainingData, tree: xr.DataTree) -> FitState:
        """Return the state of a saved fit from its DataTree."""
        raise NotImplementedError


def chosen_limit(
    rule: ScoringRule, policy: Cutoff, left_out: np.ndarray, minority: np.ndarray
) -> Limit:
    """Return the cutoff that the policy chooses from left-out scores (n,); NaN counts as none.

    It is chosen by the scores, which have all digits. Its distance is the one chosen by the
    distances, wherever these have digits enough to agree.
    """
    level, usable = policy.level, ~np.isnan(left_out)
    left_out, minority = left_out[usable], minority[usable]

    def middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return -rule.middle(-low, -high)

    offset = -policy.choose(-left_out, minority, middle)
    value = float(rule.value_of(np.array(offset)))
    by_distance = policy.choose(rule.value_of(left_out), minority)
    agrees = math.isclose(by_distance, value, rel_tol=1e-9)
    return Limit(by_distance if agrees else value, offset, level)


def warn_of_far_rows(rule: ScoringRule, limit: Limit) -> None:
    """Warn if the cutoff lies beyond the distance of a row that is similar to no training row."""
    if limit.value > rule.farthest:
        warn(
            f"the cutoff, {limit.value:.6g}, exceeds the distance of rows far from all training "
            f"rows, {rule.farthest:.6g}, so these are called normal: negative weights "
            "make some normal rows more remote; use a larger bandwidth, or a larger "
            "likelihood_scale",
            DiagnosticWarning,
        )


def _computed(values: Any) -> np.ndarray:
    """Return the values; those of a dask collection are lazy."""
    computed: np.ndarray = values.compute() if is_lazy(values) else values
    return computed


# functions of this module, which can be sent to workers


def _scores(est: BaseDetector, X: Any, summary: Summary) -> np.ndarray:
    return np.concatenate([summary(est._fit.rule, rows) for rows in est._new_rows(X)])


def _probability_normal(rule: ScoringRule, rows: np.ndarray, limit: Limit) -> np.ndarray:
    return rule.probability_normal(rows, limit)


def _score(rule: ScoringRule, rows: np.ndarray, level: float) -> np.ndarray:
    return rule.scores(rows, level)
