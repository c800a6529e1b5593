"""The base of all estimators: they take rows and labels, and decide by a distance and a cutoff."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..inference.cutoff import Cutoff, as_cutoff
from ..inference.decision import is_normal, probability_normal
from ..inference.draws import Draws
from ..inference.scoring import ScoringRule
from ..models.gram import Gram
from ..models.kernels import RBF, Kernel, as_kernel
from . import leave_out
from .dictionary import AllRows, restored_data
from .inputs import validated, warn_of_constant_columns
from .labels import minority_rows
from .leave_out import LeaveOneOut
from .rows.blocks import ArrayRows, Rows
from .rows.files import tables
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
            ``minor_label`` otherwise. Without y, all rows are majority. One-class models learn from
            the majority rows; minority rows only tune their cutoff.

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
        minority_of_all = minority_rows(labels, source.n_rows, self.minor_label)
        if self._learns_from_minority and not minority_of_all.any():
            raise ValueError(
                f"{type(self).__name__} learns from minority rows, but there is none (n1 = 0)"
                + ("; it requires y to be passed, but the target y is None" if y is None else "")
                + "; give y with at least one minority row, or use a one-class model such as BSVDD"
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        dictionary = self._dictionary()
        row_numbers = dictionary.held_rows(minority_of_all, seed)
        minority = minority_of_all[row_numbers]
        all_rows = len(minority) == source.n_rows
        leave_out.check(policy, minority, all_rows, self._has_loo, type(self).__name__)
        rows = np.array(source.take(row_numbers), order="C")  # a copy: the caller may change X
        rows.setflags(write=False)
        kernel = as_kernel(self.kernel)
        if not kernel.pairwise:
            warn_of_constant_columns(rows[~minority])
        kernel = kernel.resolve(rows[~minority])
        gram, row_of_point = dictionary.statistics(
            kernel, rows, minority, source, minority_of_all, seed
        )
        return TrainingData(
            rows=rows,
            minority=minority,
            gram=gram,
            row_of_point=row_of_point,
            dictionary=dictionary,
            seed=seed,
            all_rows=all_rows,
            label=y if isinstance(y, str) else None,
        )

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

    def _dictionary(self) -> Dictionary:
        """Return the dictionary, which chooses the points of the centre."""
        return AllRows(self._learns_from_minority)

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

    def _finish(self, state: FitState, policy: Cutoff) -> None:
        """Choose the cutoff for ``state``, and only then set the fitted attributes."""
        left_out = None
        own_cutoff = self._own_cutoff(state) if policy.criterion == "model" else None
        if own_cutoff is not None:
            cutoff = own_cutoff
        elif not isinstance(policy.criterion, str):
            cutoff = float(policy.criterion)
        else:
            left_out = leave_out.distance_quantiles(
                state, policy, self._leave_one_out(state.data), partial(self._refit, state.data)
            )
            usable = ~np.isnan(left_out)
            cutoff = policy.choose(left_out[usable], state.data.minority[usable])
        decision = xr.Dataset(
            {
                "probability_normal": ("obs", probability_normal(state.values, cutoff)),
                "normal": ("obs", is_normal(state.values, cutoff, policy.level)),
                "cutoff": cutoff,
                "level": policy.level,
            },
            {"obs": np.arange(len(state.data.rows))},
        )
        if left_out is not None:
            decision = decision.assign(left_out=("obs", left_out))
        self._set_fitted(state, state.tree(decision))

    def _set_fitted(self, state: FitState, tree: xr.DataTree) -> None:
        """Set the fitted attributes from a state and its DataTree, which includes the decision."""
        decision = tree.children["decision"].dataset
        self._fit, self.idata_ = state, tree
        self.cutoff_, self.level_ = float(decision["cutoff"]), float(decision["level"])
        self.offset_ = -self.cutoff_

    def _refit(self, data: TrainingData, train: np.ndarray) -> ScoringRule:
        """Return the scoring rule of a fit to the rows ``train`` of ``data``."""
        gram = data.fold(train)
        return self._rule(self._draw(gram, data.seed), gram)

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
        leave_out.check(policy, data.minority, data.all_rows, new._has_loo, type(self).__name__)
        new._finish(self._fit, policy)
        return new

    # fitted attributes

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
            Share of the posterior draws of d_z at or below the cutoff, in [0, 1]. For a model
            without a posterior it is 0 or 1.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity.
        sklearn.exceptions.NotFittedError
        """
        check_is_fitted(self)
        return self._by_row(X, partial(_probability_normal, cutoff=self.cutoff_))

    def score_samples(self, X: Any) -> np.ndarray:
        """Return minus the distance quantile (at level 0.5: the posterior median of d_z).

        Larger is more normal; shape (n,), on the scale of d_z. A row is normal exactly if its score
        is at least ``-cutoff_``. X and errors are those of :meth:`probability_normal`.
        """
        return -self._distance_quantile(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X) - offset_``, shape (n,): at least 0 for normal rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) where ``P(d_z <= cutoff_ | data) > level_``, else -1 (abnormal).

        Shape (n,). X and errors are those of :meth:`probability_normal`.
        """
        return np.where(self._distance_quantile(X) <= self.cutoff_, 1, -1)

    def _distance_quantile(self, X: Any) -> np.ndarray:
        """Return the distance quantile that decides each row."""
        check_is_fitted(self)
        return self._by_row(X, partial(_distance_quantile, level=self.level_))

    def decision(self, X: Any) -> pd.DataFrame:
        """Return the decision on each row, with its probability and distance, from one pass.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file

        Returns
        -------
        pandas.DataFrame
            For new rows what ``idata_["decision"]`` has for the training rows. It has the index of
            X if X is a data frame, and the columns ``probability_normal``, as
            :meth:`probability_normal`; ``distance``, the distance quantile, which is minus
            :meth:`score_samples`; ``cutoff`` and ``level``; and ``normal``, as :meth:`predict`.

        Raises
        ------
        ValueError
            X has another number of columns than in ``fit``, NaN or infinity, or no rows (a file).
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
        if hasattr(X, "__dask_graph__"):
            raise TypeError(
                "X is a dask collection, but decision computes its result at once; use "
                "probability_normal, score_samples or predict, which return lazy dask arrays"
            )
        parts = [
            self._fit.rule.decision(rows, self.cutoff_, self.level_) for rows in self._new_rows(X)
        ]
        distance, probability = np.concatenate(parts, axis=1)
        columns = {
            "probability_normal": probability,
            "distance": distance,
            "cutoff": self.cutoff_,
            "level": self.level_,
            "normal": distance <= self.cutoff_,
        }
        return pd.DataFrame(columns, X.index if isinstance(X, pd.DataFrame) else None)

    def _by_row(self, X: Any, summary: Summary) -> np.ndarray:
        """Return one number per row of X; for a dask collection, as a lazy array."""
        if hasattr(X, "__dask_graph__"):
            from .rows.dask import by_block

            scorer = copy.copy(self)  # workers get the rule without the training rows
            scorer._fit, scorer.idata_ = self._fit.for_scoring(), xr.DataTree()
            lazy: Any = by_block(self._without_label(X), partial(_scores, scorer, summary=summary))
            return lazy
        return _scores(self, X, summary)

    def _new_rows(self, X: Any) -> Iterator[np.ndarray]:
        """Yield new rows in the form that the fit's kernel expects; a file's block by block."""
        check_is_fitted(self)
        blocks = tables(X, self._fit.data.label) if isinstance(X, str | os.PathLike) else [X]
        for block in blocks:
            yield self._rows_for(self.kernel_, self._without_label(block))

    def _rows_for(self, kernel: Kernel, X: Any) -> np.ndarray:
        """Return new rows in the form that ``kernel``, resolved by a fit, expects."""
        X = validated(self, X, reset=False, pairwise=kernel.pairwise)
        return kernel.new_rows(X, self.n_features_in_)

    def _source(self, X: Any, y: Any) -> tuple[Rows, Any]:
        """Return the training rows and their labels; blocks are not read yet."""
        kernel = as_kernel(self.kernel)
        in_blocks = self._dictionary().reads_blocks or not isinstance(X, np.ndarray)
        source = rows_of(X) if in_blocks and not kernel.pairwise else None
        if source is None:
            X = validated(self, X, reset=True, pairwise=kernel.pairwise)
            return ArrayRows(kernel.training_rows(X), is_checked=True), y
        labels = source.labels(y) if isinstance(y, str) else y
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

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cutoff_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self.kernel, "pairwise", False)
        if self._learns_from_minority:
            tags.estimator_type = None  # scikit-learn's outlier detectors must fit without labels
            tags.target_tags.required = True
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
        data = restored_data(est._dictionary(), tree, kernel, seed)
        est.n_features_in_ = columns if isinstance(columns, int) else len(columns)
        if not isinstance(columns, int):
            est.feature_names_in_ = np.array(columns, dtype=object)
        est._set_fitted(est._restored(data, tree), tree)
        return est

    def _restored(self, data: TrainingData, tree: xr.DataTree) -> FitState:
        """Return the state of a saved fit from its DataTree."""
        raise NotImplementedError


# functions of this module, which can be sent to workers


def _scores(est: BaseDetector, X: Any, summary: Summary) -> np.ndarray:
    return np.concatenate([summary(est._fit.rule, rows) for rows in est._new_rows(X)])


def _probability_normal(rule: ScoringRule, rows: np.ndarray, cutoff: float) -> np.ndarray:
    return rule.probability_normal(rows, cutoff)


def _distance_quantile(rule: ScoringRule, rows: np.ndarray, level: float) -> np.ndarray:
    return rule.distance_quantile(rows, level)
