"""The columns of the training rows: how many, and their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator


@dataclass(frozen=True)
class Columns:
    """The columns of a table.

    Attributes
    ----------
    estimator : str
        Name of the class that was fitted, for scikit-learn's errors.
    n : int
    names : tuple of str or None
        None for an array.
    """

    estimator: str
    n: int = 0
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, checked: Any) -> Self:
        """Return the columns of an object that scikit-learn's ``validate_data`` has set."""
        names = getattr(checked, "feature_names_in_", None)
        known = None if names is None else tuple(names)
        return cls(type(checked).__name__, checked.n_features_in_, known)

    @property
    def labels(self) -> np.ndarray:
        """The names, or the numbers of columns without names."""
        return np.arange(self.n) if self.names is None else np.array(self.names, dtype=object)

    @property
    def given(self) -> np.ndarray:
        """The names; an AttributeError if the columns have none."""
        if self.names is None:
            raise AttributeError("the columns in fit had no names")
        return self.labels

    def checking(self) -> Any:
        """Return an object for scikit-learn's ``validate_data``, which knows these columns."""
        found = type(self.estimator, (BaseEstimator,), {})()
        if self.n:
            found.n_features_in_ = self.n
        if self.names is not None:
            found.feature_names_in_ = self.labels
        return found
