"""How every estimator is fitted: rows and labels, the draws of its model, and the cutoff."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from numbers import Number
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..inference.cutoff import Cutoff, as_cutoff
from ..inference.decision import compared
from ..inference.draws import Draws
from ..inference.kinds import Kinds
from ..inference.scoring import Limit, ScoringRule
from ..inference.warning import DiagnosticWarning, warn
from ..models.gram import Gram
from ..models.kernels import RBF, Kernel, as_kernel
from . import leave_out
from .dictionary import AllRows, separated
from .inputs import categorical_columns, training_names, validated, warn_of_constant_columns
from .labels import (
    kinds_seen,
    labels_of,
    labels_seen,
    minority_rows,
    missing_labels,
    warn_of_classes,
)
from .leave_out import LeaveOneOut
from .rows.blocks import ArrayRows, Rows
from .rows.files import naming
from .rows.source import source as rows_of
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


@dataclass(kw_only=True, eq=False, repr=False)
class FittingDetector(OutlierMixin, BaseEstimator):
    """A detector that learns a scoring rule, and a cutoff from left-out rows.

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
            Constant columns, equal rows, or kernel values so large that distances have few digits.
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, or weights that have collapsed
            on a few rows.
        """
        policy = as_cutoff(self.cutoff)
        new = copy.copy(self)  # a fit that fails leaves this estimator unchanged
        new._own_parameters()
        data = new._training_data(X, y, policy)
        new._finish(new._state(data), policy)
        self.__dict__ = new.__dict__
        return self

    def _own_parameters(self) -> None:
        """Replace the parameters by copies: the caller may change arrays, priors and kernels.

        A RandomState stays the caller's, who shares its stream on purpose; a plain function is
        its own copy.
        """
        for name, value in self.get_params(deep=False).items():
            if name != "random_state":
                setattr(self, name, owned(value))

    def _training_data(self, X: Any, y: Any, policy: Cutoff) -> TrainingData:
        """Return the training data, after all checks of rows, labels and cutoff."""
        self._validate_params()
        self._check_policy(policy)
        source, labels = self._source(X, y)
        n, labelled, unlabelled = source.n_rows, None, None
        with naming(X):
            if self._takes_unlabelled and (missing := missing_labels(labels, n)).any():
                labelled = ~missing
                n, labels = int(labelled.sum()), labels_of(labels, labelled)
            minority_of_all = minority_rows(labels, n, self.minor_label)
        warn_of_classes(minority_of_all, self.minor_label)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        dictionary = self._dictionary(self._n_points(minority_of_all))
        row_numbers = self._held_rows(dictionary, minority_of_all, policy, seed, y is None)
        minority = minority_of_all[row_numbers]
        all_rows = len(minority) == n
        with naming(X):
            if labelled is not None:
                pairwise = as_kernel(self.kernel).pairwise
                source, unlabelled = separated(
                    source, labelled, minority_of_all, dictionary, pairwise
                )
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
            gram=replace(gram, unlabelled=unlabelled),
            row_of_point=row_of_point,
            dictionary=dictionary,
            seed=seed,
            all_rows=all_rows,
            label=y if isinstance(y, str) else None,
            labels=labels_seen(labels, minority_of_all, self.minor_label),
            kind=kind[row_numbers],
            kind_labels=kind_labels,
            names=training_names(
                X,
                row_numbers if labelled is None else np.flatnonzero(labelled)[row_numbers],
                len(rows),
            ),
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
    def _takes_unlabelled(self) -> bool:
        """Whether rows without a label have a part in the fit."""
        return False

    @property
    def _unlabelled(self) -> np.ndarray | None:
        """The rows without a label that have a part in this fit, shape (u, p); None if none has."""
        return self._fit.data.gram.unlabelled if self._takes_unlabelled else None

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
        if policy.criterion == "model" and type(self)._own_cutoff is FittingDetector._own_cutoff:
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
        if rule.has_few_digits(limit):
            at_cutoff[:] = True
        if at_cutoff.any():  # rounding of the values would decide these rows
            score, exact = rule.decision(state.data.rows, limit, needed=at_cutoff)
            probability[at_cutoff] = exact[at_cutoff]
            normal[at_cutoff] = (score >= limit.score)[at_cutoff]
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


def owned(value: Any) -> Any:
    """Return a copy of a parameter, or the value itself if nothing in it can be changed."""
    return copy.deepcopy(value) if _can_change(value) else value


def _can_change(value: Any) -> bool:
    kind: Any = type(value)
    if is_dataclass(value) and kind.__dataclass_params__.frozen:
        return any(_can_change(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, tuple):
        return any(map(_can_change, value))
    return not (value is None or isinstance(value, str | Number | FunctionType))


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
