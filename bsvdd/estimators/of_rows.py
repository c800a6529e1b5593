"""What every estimator knows of its training rows, and what scikit-learn asks of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..models.kernels import Kernel
from ..models.rows import FEWEST_ROWS, Rows
from ..tables.group_centres import group_texts
from ..tables.labels import LABELS_OF_PREDICT, minority_of
from ..tables.table import Table
from ..tables.training import TrainingRows, TrainingTable

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.utils import Tags

    # scikit-learn has no types, and a base of unknown type takes any keyword argument

    class BaseEstimator:
        """The part of scikit-learn's that is used."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...  # noqa: D102
        def set_params(self, **params: object) -> Self: ...  # noqa: D102
        def _validate_params(self) -> None: ...
        def __sklearn_tags__(self) -> Tags: ...

    class OutlierMixin:
        """It has fit_predict only, which is overridden."""

    def clone[T](est: T, *, safe: bool = True) -> T: ...  # noqa: D103

else:
    from sklearn.base import BaseEstimator, OutlierMixin, clone

__all__ = ["BaseEstimator", "Constraints", "OfRows", "OutlierMixin", "clone"]

Constraints = dict[str, list[object]]  # of parameters, for scikit-learn


class HasRows(Protocol):
    """What a fit has, whatever the model."""

    @property
    def rows(self) -> Rows:
        """The training rows."""

    @property
    def kernel(self) -> Kernel:
        """The kernel, fitted."""


class OfRows[F: HasRows](BaseEstimator):
    """An estimator whose fit, the frozen value ``fit_``, has training rows."""

    kernel: Kernel | Callable[..., np.ndarray]
    minor_label: object
    table: Table | None
    group_centres: bool = False
    fit_: F

    _learns_from_minority: ClassVar[bool] = False
    _fewest_rows: ClassVar[int] = FEWEST_ROWS
    _parameter_constraints: ClassVar[Constraints]

    def _require_rows(self, minority: np.ndarray, labelled: bool) -> None:
        """Raise a ValueError if so many rows of each class cannot be fitted."""
        if self._learns_from_minority and not minority.any():
            without = "; it requires y to be passed, but the target y is None"
            raise ValueError(
                f"{type(self).__name__} learns from minority rows, but there is none "
                f"(n1 = 0){without * (not labelled)}; give y with at least one "
                "minority row, or use a one-class model such as BSVDD"
            )

    @property
    def _training(self) -> TrainingRows:
        return cast("TrainingRows", self.fit_.rows)

    @property
    def kernel_(self) -> Kernel:
        """The kernel, with its bandwidth as a number."""
        return self.fit_.kernel

    @property
    def table_(self) -> TrainingTable:
        """The training rows as they were given, and what each column is."""
        check_is_fitted(self)
        return self._training.given.copy()

    @property
    def groups_(self) -> pd.DataFrame:
        """What a fit with ``group_centres`` knows of each group.

        Sorted by ``distance``, the distance of the group's centre from the population's
        in standard deviations within groups, with ``low`` and ``high``, the ends of its
        90 % interval; ``rows``; and ``borrowed``, the share of its centre that comes
        from the population. Columns of numbers that vary within groups count.
        """
        check_is_fitted(self)
        training = self._training
        if training.centres is None:
            raise AttributeError(
                f"this {type(self).__name__} has one centre for all rows; groups_ is "
                "of a fit with group_centres=True"
            )
        labels = group_texts(training.group_labels)
        return training.centres.summary(labels[training.counts_in_centre > 0.0])

    @property
    def group_column_(self) -> Hashable | None:
        """The column of the groups that have centres; None without name, or centres."""
        check_is_fitted(self)
        training = self._training
        return training.apart.get("groups") if training.group_centres else None

    @property
    def labels_(self) -> tuple[Any, ...]:
        """The labels of y in ``fit``, those of the minority first; empty without y."""
        return self._training.labels

    @property
    def n_features_in_(self) -> int:
        """The number of columns in ``fit``."""
        return self._training.n_columns

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns in ``fit``, if they have names."""
        names = self._training.table.names
        if names is None:
            raise AttributeError("the columns in fit had no names")
        return np.array(names, dtype=object)

    @property
    def classes_(self) -> np.ndarray:
        """The values of ``predict``, [-1, 1], for scorers and calibration.

        Raises
        ------
        AttributeError
            y had other labels in ``fit``; scikit-learn's tools would read scores and
            decisions the wrong way round.
        """
        check_is_fitted(self)
        if self.labels_ not in LABELS_OF_PREDICT:
            minor, *others = self.labels_
            shown = ", ".join(map(repr, others[:3])) + ", ..." * (len(others) > 3)
            raise AttributeError(
                "scikit-learn's own scorers and calibration need the labels of "
                f"predict, -1 for abnormal and 1 for normal; this fit has {minor!r} "
                f"for abnormal and {shown} for normal, which they would read the wrong "
                "way round: use scoring=scorers.roc_auc, or another of bsvdd.scorers, "
                f"or fit with np.where(y == {minor!r}, -1, 1)"
            )
        return np.array([-1, 1])

    def minority_of(self, y: ArrayLike | None, n: int) -> np.ndarray:
        """Return which of n rows with labels y are minority, by the labels of the fit.

        Parameters
        ----------
        y : array-like of shape (n,)
        n : int

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        training = self._training
        return minority_of(training.labels, training.minor_label, y, n)

    # answers

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return the score of each row; it is at least 0 for normal rows.

        Parameters
        ----------
        X : array-like of shape (m, p), or data frame

        Returns
        -------
        ndarray of shape (m,)
        """
        raise NotImplementedError

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return ``score_samples(X)``.

        Parameters
        ----------
        X : array-like of shape (m, p), or data frame

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.score_samples(X)

    @property
    def _rounding(self) -> float:
        """What a score of 0 may be too small, by rounding."""
        return 0.0

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return +1 (normal) where the score is at least 0, else -1.

        Parameters
        ----------
        X : array-like of shape (m, p), or data frame

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.where(self.score_samples(X) >= -self._rounding, 1, -1)

    # scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        return "fit_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if isinstance(self.kernel, Kernel):  # and no function
            tags.input_tags.pairwise = self.kernel.pairwise
            tags.input_tags.allow_nan = self.kernel.of_tables
        tags.target_tags.required = self._learns_from_minority
        return tags
