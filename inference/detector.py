"""What all estimators share: rows and labels in, one cutoff, a decision out."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ..models.gram import Gram
from ..models.kernels import RBF, Kernel, as_kernel
from . import left_out
from .cutoff import Cutoff, as_cutoff
from .decision import decisive_distance, is_normal, probability_normal
from .distance import Expansion, leave_one_out
from .labels import minority_rows
from .rows import ArrayRows, Rows, tables
from .rows import source as rows_of
from .warning import DataWarning, warn

if TYPE_CHECKING:
    # scikit-learn has no types, and a base of unknown type takes any keyword argument

    class BaseEstimator:
        """What is used of scikit-learn's."""

        n_features_in_: int

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **params: Any) -> Self: ...  # noqa: D102
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Any: ...

    class OutlierMixin:
        """Only fit_predict, which Detector has itself."""

else:
    from sklearn.base import BaseEstimator, OutlierMixin

AUTO_FOLDS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """What a fit starts from.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        Training rows, as the kernel takes them.
    minority : ndarray of bool, shape (n,)
    gram : Gram
    place : ndarray of int, shape (M,)
        Which of ``rows`` each dictionary point is, -1 for one that is none.
    seed : int
    whole : bool
        Whether ``rows`` are all training rows, and not a sample of more.
    label : str, optional
        The column of X that held the labels.
    """

    rows: np.ndarray
    minority: np.ndarray
    gram: Gram
    place: np.ndarray
    seed: int
    whole: bool = True
    label: str | None = None

    @property
    def kernel(self) -> Kernel:
        """The kernel, resolved."""
        return self.gram.kernel


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(Training):
    """All that a fit is, apart from the cutoff: made at once, and never changed.

    Attributes
    ----------
    rule : Expansion
    idata : xarray.DataTree
    """

    rule: Expansion
    idata: xr.DataTree


@dataclass(kw_only=True, eq=False, repr=False)
class Detector(OutlierMixin, BaseEstimator):
    """A rule that calls a row abnormal when one number, its distance, exceeds a cutoff.

    A subclass says how the weights are found, in ``_draw``, and what rule they make.
    """

    kernel: Kernel | Callable[..., Any] = RBF()
    cutoff: Cutoff | str | float | None = None
    minor_label: Any = None
    random_state: Any = 0

    _learns_from_minority: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"random_state": ["random_state"]}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the description.

        Parameters
        ----------
        X : array-like of shape (n, p), path of a .npy, .parquet or .csv file, or dask collection
            Training rows; with ``kernels.Precomputed`` their kernel matrix (n, n). With a
            ``dictionary`` an array, a memory map, a file or a dask array or data frame is read
            in blocks, in its own precision (kernel values of float32 rows are computed in
            float32), and never as a whole.
        y : array-like of shape (n,), or name of a column of the file or data frame, optional
            Which rows are minority: -1 in {-1, 1}, 1 in {0, 1} and booleans, else
            ``minor_label``. Without y all rows are majority. One-class models fit on the
            majority rows, and minority rows only tune the cutoff.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Rows with NaN, infinity or masked values, too few or too many rows, labels that are
            ambiguous, one class only where a model or a cutoff needs two, a kernel that is none,
            or a parameter out of its range. The message says what to do.
        TypeError
            X is no table of numbers, or a parameter is of another type.

        Warns
        -----
        DataWarning
            Constant columns, equal rows, kernel values that leave few digits.
        DiagnosticWarning
            Chains that disagree, few effective draws, divergences, weights that have collapsed
            on a few rows.
        """
        training = self._training(X, y)
        tree = self._draw(training.gram, training.seed)
        rule = self._rule(tree, training.gram)
        self._adopt(self._report(Fit(**vars(training), rule=rule, idata=tree)))
        return self

    def _training(self, X: Any, y: Any) -> Training:
        """Return what a fit starts from."""
        self._validate_params()
        source, labels = self._source(X, y)
        all_minority = minority_rows(labels, source.n_rows, self.minor_label)
        if self._learns_from_minority and not all_minority.any():
            raise ValueError(
                f"{type(self).__name__} learns from minority rows, but there is none (n1 = 0)"
                + ("; it requires y to be passed, but the target y is None" if y is None else "")
                + "; give y with at least one minority row, or use a one-class model such as BSVDD"
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        held = self._held(all_minority, seed)
        minority = all_minority[held]
        whole = len(minority) == source.n_rows
        self._check_cutoff(minority, whole)
        rows = source.take(held)
        kernel = as_kernel(self.kernel)
        if not kernel.pairwise:
            _warn_of_constant_columns(rows[~minority])
        kernel = kernel.resolve(rows[~minority])
        gram, place = self._statistics(kernel, rows, minority, source, all_minority, seed)
        return Training(
            rows=rows,
            minority=minority,
            gram=gram,
            place=place,
            seed=seed,
            whole=whole,
            label=y if isinstance(y, str) else None,
        )

    def fit_predict(self, X: Any, y: Any = None, **kwargs: Any) -> np.ndarray:
        """Return ``fit(X, y).predict(X)``."""
        return self.fit(X, y, **kwargs).predict(X)

    @property
    def _leaves_out_in_closed_form(self) -> bool:
        return True

    @property
    def _has_dictionary(self) -> bool:
        return False

    def _source(self, X: Any, y: Any) -> tuple[Rows, Any]:
        """Return the training rows and their labels; what is read in blocks is not read yet."""
        kernel = as_kernel(self.kernel)
        in_blocks = self._has_dictionary or not isinstance(X, np.ndarray)
        source = rows_of(X) if in_blocks and not kernel.pairwise else None
        if source is None:
            return ArrayRows(kernel.training_rows(self._validated(X, reset=True))), y
        labels = source.labels(y) if isinstance(y, str) else y
        if source.n_rows < 2:
            raise ValueError(f"X has {source.n_rows} row(s); expected at least 2")
        head = np.zeros((1, source.n_columns))
        validate_data(
            self, head if source.names is None else pd.DataFrame(head, None, source.names)
        )
        return source, labels

    def _held(self, minority: np.ndarray, seed: int) -> np.ndarray | slice:
        """Return which of the training rows the fit holds."""
        return slice(None)

    def _cv(self, policy: Cutoff, minority: np.ndarray, whole: bool) -> str | int:
        """Return how training rows are left out."""
        cv = policy.cv
        if cv == "auto":
            closed = self._leaves_out_in_closed_form or not whole
            cv = "loo" if closed else _auto_folds(minority)
        if isinstance(cv, int) and not whole:
            raise ValueError(
                f"cutoff: cv={cv} folds are refitted to their rows, but the fit holds a sample of "
                f"{len(minority)} rows only; use cv='auto', or a number as the cutoff"
            )
        return cv

    def _check_cutoff(self, minority: np.ndarray, whole: bool) -> None:
        """Raise a ValueError for a cutoff that cannot be chosen, before anything is fitted."""
        policy = as_cutoff(self.cutoff)
        if policy.criterion == "model" and type(self)._own_cutoff is Detector._own_cutoff:
            raise ValueError(
                "cutoff: criterion='model' is for models that have a boundary of their own, such "
                f"as SVDD; {type(self).__name__} has none"
            )
        if policy.cv == "loo" and not self._leaves_out_in_closed_form:
            raise ValueError(
                f"cutoff: {type(self).__name__} has no leave-one-out in closed form here (BDD has "
                "it for a normal prior, BDD-M for a truncated normal minority_prior); use "
                "cv='auto' or a number of folds"
            )
        if isinstance(policy.criterion, str) and policy.criterion != "model":
            cv: Any = self._cv(policy, minority, whole)
            policy = replace(policy, cv=cv)
        policy.check(minority)

    def _gram(self, kernel: Kernel, rows: np.ndarray, minority: np.ndarray) -> Gram:
        learnt = rows[minority] if self._learns_from_minority else None
        return Gram.from_rows(kernel, rows[~minority], learnt)

    def _statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        source: Rows,
        all_minority: np.ndarray,
        seed: int,
    ) -> tuple[Gram, np.ndarray]:
        """Return the Gram statistics, and which of ``rows`` each dictionary point is."""
        return self._gram(kernel, rows, minority), self._place(minority)

    def _place(self, minority: np.ndarray) -> np.ndarray:
        """Return which row each point is where the rows are the dictionary."""
        majority = np.flatnonzero(~minority)
        if not self._learns_from_minority:
            return majority
        return np.concatenate([majority, np.flatnonzero(minority)])

    def _draw(self, gram: Gram, seed: int) -> xr.DataTree:
        """Return a DataTree whose group ``posterior`` holds w (chain, draw, point)."""
        raise NotImplementedError

    def _rule(self, tree: xr.DataTree, gram: Gram) -> Expansion:
        """Return the rule that the draws in ``tree`` make."""
        raise NotImplementedError

    def _report(self, fit: Fit) -> Fit:
        """Return ``fit`` with what ``idata_`` says of the training rows."""
        fit.idata["constant_data"] = xr.Dataset(
            {"X": (("obs", "feature"), fit.rows), "minority": ("obs", fit.minority)},
            {"obs": np.arange(len(fit.rows))},
            {} if fit.label is None else {"label": fit.label},
        )
        return fit

    def _training_values(self, fit: Fit) -> np.ndarray:
        """Return the values (draws, n) of the training rows that ``_report`` put in ``idata``."""
        raise NotImplementedError

    def _adopt(self, fit: Fit) -> None:
        """Choose the cutoff for ``fit``, and only then change this estimator."""
        policy, d = as_cutoff(self.cutoff), None
        if policy.criterion == "model":
            cutoff = self._own_cutoff(fit)
        elif not isinstance(policy.criterion, str):
            cutoff = float(policy.criterion)
        else:
            d = self._left_out(fit, policy)
            known = ~np.isnan(d)
            cutoff = policy.choose(d[known], fit.minority[known])
        idata = fit.idata.copy()
        decision = self._decision(fit, cutoff, policy.level)
        idata["decision"] = decision if d is None else decision.assign(left_out=("obs", d))
        self._fit, self.idata_ = fit, idata
        self.cutoff_, self.level_, self.offset_ = cutoff, policy.level, -cutoff

    def _decision(self, fit: Fit, cutoff: float, level: float) -> xr.Dataset:
        """Return what the cutoff makes of the training rows."""
        d = self._training_values(fit)
        return xr.Dataset(
            {
                "probability_normal": ("obs", probability_normal(d, cutoff)),
                "normal": ("obs", is_normal(d, cutoff, level)),
                "cutoff": cutoff,
                "level": level,
            },
            {"obs": np.arange(len(fit.rows))},
        )

    def _own_cutoff(self, fit: Fit) -> float:
        raise NotImplementedError

    def _left_out(self, fit: Fit, policy: Cutoff) -> np.ndarray:
        """Return the decisive distance of each row, left out; NaN where it cannot be left out."""
        cv = self._cv(policy, fit.minority, fit.whole)
        if isinstance(cv, int):
            folds = left_out.folds(fit.minority, cv, fit.seed)
            refit = partial(self._refit, fit)
            return left_out.by_refits(fit.rows, folds, refit, policy.level)
        d, out = self._training_values(fit), np.empty(len(fit.rows))
        other = np.ones(len(fit.rows), dtype=bool)
        if cv == "loo":
            is_row = fit.place >= 0
            left = self._points_left_out(fit, policy.level)
            out[fit.place[is_row]], other[fit.place[is_row]] = left[is_row], False
        if other.any():
            out[other] = decisive_distance(d if other.all() else d[:, other], policy.level)
        return out

    def _refit(self, fit: Fit, train: np.ndarray) -> Expansion:
        """Return the rule that the rows ``train`` of ``fit`` make."""
        gram = self._fold(fit, train)
        return self._rule(self._draw(gram, fit.seed), gram)

    def _fold(self, fit: Fit, train: np.ndarray) -> Gram:
        """Return the statistics of the rows ``train`` of ``fit``."""
        rows, minority = fit.rows[train], fit.minority[train]
        gram = self._gram(fit.kernel, rows, minority)
        place = np.cumsum(~fit.minority)[train][~minority] - 1
        minority_place = np.cumsum(fit.minority)[train][minority][: gram.n1] - 1
        return replace(gram, place=place, minority_place=minority_place)

    def _points_left_out(self, fit: Fit, level: float) -> np.ndarray:
        """Return the decisive distance (M,) of each dictionary point from the rule without it.

        The weights sum to one. Rows that are no points need nothing: minority rows of a one-class
        model are left out already, and a majority row beside a dictionary entered by its share
        of r and T only.
        """
        d = None
        if (fit.place >= 0).all():
            d = self._training_values(fit)
            if not np.array_equal(fit.place, np.arange(d.shape[1])):
                d = d[:, fit.place]
        left = leave_one_out(fit.rule.weights, fit.gram.K, fit.gram.n1, d)
        return decisive_distance(left, level)

    def with_cutoff(self, cutoff: Any) -> Self:
        """Return this fitted estimator with another cutoff; nothing is fitted again.

        Parameters
        ----------
        cutoff : Cutoff, str, float or None
            As in the constructor. Only ``Cutoff(cv=K)`` refits, one fit for each fold.

        Raises
        ------
        ValueError
            The criterion needs minority rows, or folds more rows, than the fit has.

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
        new = copy.copy(self)
        new.cutoff = cutoff
        new._check_cutoff(self._fit.minority, self._fit.whole)
        new._adopt(self._fit)
        return new

    @property
    def kernel_(self) -> Kernel:
        """The kernel with its bandwidth as a number."""
        return self._fit.kernel

    @property
    def gram_(self) -> Gram:
        """The Gram statistics of the training rows."""
        return self._fit.gram

    @property
    def support_(self) -> np.ndarray:
        """Which points of the dictionary scoring uses; all others have weight 0."""
        return self._fit.rule.support

    def probability_normal(self, X: Any) -> np.ndarray:
        """Return ``P(d_z <= cutoff_ | data)`` for each row of X.

        Parameters
        ----------
        X : array-like of shape (n, p), path of a file, or dask collection
            As in ``fit``. A file is read in blocks; for a dask array or data frame this and the
            other results of one number a row are lazy dask arrays. The column of a file or data
            frame that held the labels of the fit is left out.

        Returns
        -------
        ndarray of shape (n,)
            Share of the posterior draws of d_z at or below the cutoff, in [0, 1]; 0 or 1 for a
            model without a posterior.

        Raises
        ------
        ValueError
            Another number of columns than in ``fit``, NaN or infinity.
        sklearn.exceptions.NotFittedError
        """
        return self._by_row(X, "probability_normal", "cutoff_")

    def score_samples(self, X: Any) -> np.ndarray:
        """Return minus the decisive distance (at level 0.5: the posterior median of d_z).

        Larger is more normal; shape (n,), on the scale of d_z. A row is normal exactly when it is
        at least ``-cutoff_``. X and errors as in :meth:`probability_normal`.
        """
        return -self._by_row(X, "decisive", "level_")

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``score_samples(X) - offset_``, shape (n,): at least 0 for normal rows."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return +1 (normal) where ``P(d_z <= cutoff_ | data) > level_``, else -1 (abnormal).

        Shape (n,). X and errors as in :meth:`probability_normal`.
        """
        return np.where(self._by_row(X, "decisive", "level_") <= self.cutoff_, 1, -1)

    def decision(self, X: Any) -> pd.DataFrame:
        """Return what decides each row, by one pass over the rows.

        Parameters
        ----------
        X : array-like of shape (n, p), or path of a file

        Returns
        -------
        pandas.DataFrame
            For new rows what ``idata_["decision"]`` has for the training rows, with the index of X
            where that is a data frame: ``probability_normal``, as :meth:`probability_normal`;
            ``distance``, the decisive one, minus :meth:`score_samples`; ``cutoff`` and ``level``;
            and whether the row is ``normal``, as :meth:`predict` says.

        Raises
        ------
        ValueError
            Another number of columns than in ``fit``, NaN or infinity, a file without rows.
        TypeError
            X is a dask collection, of which the methods for one number a row are lazy.
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
                "X is a dask collection, and decision computes; probability_normal, score_samples "
                "and predict give lazy dask arrays"
            )
        parts = [
            self._fit.rule.decided(self._new_rows(block), self.cutoff_, self.level_)
            for block in self._blocks(X)
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

    def _by_row(self, X: Any, summary: str, by: str) -> np.ndarray:
        """Return one number a row, by a method of the rule and an attribute that it takes."""
        check_is_fitted(self)
        if hasattr(X, "__dask_graph__"):
            from .cluster import score

            lazy: Any = score(self, self._without_label(X), summary, by)
            return lazy
        of_rows, value = getattr(self._fit.rule, summary), getattr(self, by)
        return np.concatenate([of_rows(self._new_rows(b), value) for b in self._blocks(X)])

    def _blocks(self, X: Any) -> Iterable[Any]:
        """Return the blocks of a file, or X itself as the only one."""
        return tables(X, self._label) if isinstance(X, str | os.PathLike) else [X]

    def _new_rows(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        if isinstance(X, str | os.PathLike):
            return np.concatenate([self._new_rows(block) for block in tables(X, self._label)])
        return self._rows_of(self._without_label(X), self.kernel_)

    def _rows_of(self, X: Any, kernel: Kernel) -> np.ndarray:
        """Return new rows as ``kernel``, that of a training, takes them."""
        return kernel.new_rows(self._validated(X, reset=False), self.n_features_in_)

    @property
    def _label(self) -> str | None:
        """The column of the training data that held the labels."""
        constant = self.idata_.children.get("constant_data")
        return None if constant is None else constant.attrs.get("label")

    def _without_label(self, X: Any) -> Any:
        """Return X without the column of the labels, if it is a data frame that has it."""
        label = self._label
        if label is not None and hasattr(X, "columns") and label in X.columns:
            return X[[name for name in X.columns if name != label]]
        return X

    def _validated(self, X: Any, reset: bool) -> np.ndarray:
        _refuse(X)
        how: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
        try:
            if not reset and as_kernel(self.kernel).pairwise:  # k(z, z) is one more column
                X = check_array(X, **how)
            else:
                X = validate_data(self, X, reset=reset, ensure_min_samples=2 if reset else 1, **how)
        except (TypeError, ValueError) as error:  # some of which do not say of what they are
            if "X" in str(error):
                raise
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise kind(f"X must be a table of numbers (rows, columns): {error}") from error
        with np.errstate(over="ignore", invalid="ignore"):
            total = X.sum()  # finite where all of X is: no mask of a million rows
        if not np.isfinite(total) and (bad := ~np.isfinite(X)).any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"X contains NaN or infinity: X[{row}, {column}] is {X[row, column]} "
                f"({int(bad.any(axis=1).sum())} such rows); drop or impute these rows"
            )
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "cutoff_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = getattr(self.kernel, "pairwise", False)
        if self._learns_from_minority:  # labels are needed, so by scikit-learn's book it is not
            tags.estimator_type = None  # an outlier detector, which fits without any
            tags.target_tags.required = True
        return tags

    def save(self, path: Any) -> None:
        """Write the fitted estimator to one NetCDF file; see :func:`bsvdd.load`.

        Parameters
        ----------
        path : str or path
            Complete or not there at all: it is written beside its place and renamed.

        Raises
        ------
        TypeError
            A parameter is an object that JSON cannot hold.
        ValueError
            ``idata_`` was given something that the format has no place for.
        """
        from .storage import save

        save(self, path)


def _auto_folds(minority: np.ndarray) -> int:
    """Return 5, or as many folds as the smaller class has rows, but at least 2."""
    counts = [n for n in (int((~minority).sum()), int(minority.sum())) if n]
    return max(2, min(AUTO_FOLDS, *counts))


def _refuse(X: Any) -> None:
    """Raise an error for what would silently become other numbers than meant."""
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError(
            f"X has {np.ma.count_masked(X)} masked values, which would be taken as if they were "
            "not; drop or impute these rows"
        )
    types = X.dtypes if isinstance(X, pd.DataFrame) else [getattr(X, "dtype", None)]
    dates = [dtype for dtype in types if getattr(dtype, "kind", None) in ("m", "M")]
    if dates:
        raise TypeError(
            f"X must be numbers, got {dates[0]}; make dates numbers in a unit of your choice, "
            "such as days since the first"
        )


def _warn_of_constant_columns(X: np.ndarray) -> None:
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if len(constant) == X.shape[1]:
        warn(
            f"all {len(X)} majority rows are equal: their distances are 0 up to rounding, and a "
            "cutoff chosen from these alone calls such rows normal or abnormal by chance; give "
            "rows that differ, or the cutoff as a number",
            DataWarning,
        )
    elif len(constant):
        shown = ", ".join(map(str, constant[:5])) + (", ..." if len(constant) > 5 else "")
        warn(
            f"{len(constant)} column(s) of X are constant over the majority rows ({shown}): they "
            "say nothing about the majority, but a new row that differs there will look abnormal",
            DataWarning,
        )
