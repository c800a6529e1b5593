"""What questions and plots ask of an estimator, whatever class it is of."""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..tables.training import TrainingTable


class RowScorer(Protocol):
    """Scores new rows: any class of this package, or a pipeline of scikit-learn."""

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit training rows."""

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Return the score of each new row, at least 0 for normal rows, shape (m,)."""

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters by name."""

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return +1 (normal) or -1 for each new row, shape (m,)."""


@runtime_checkable
class HasTable(Protocol):
    """Keeps its training rows: any class of this package."""

    @property
    def table_(self) -> TrainingTable:
        """The training rows as they were given, and what each column is."""


@runtime_checkable
class HasGroups(Protocol):
    """Answers rows by the centres of their groups, where its fit has such centres."""

    def known_groups(
        self, X: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> np.ndarray | None:
        """Return the group of each row; None without centres."""

    def decision_function(
        self, X: ArrayLike, groups: ArrayLike | None = None
    ) -> np.ndarray:
        """Return the score of each row, for its group."""


@runtime_checkable
class LeavesOut(RowScorer, HasTable, Protocol):
    """Answers its training rows left out: a description, or several in ``Views``."""

    def decision(self, X: ArrayLike | None = None, prob: float = 0.9) -> pd.DataFrame:
        """Return the decision on new rows, by default on the training rows."""

    def margins(self, X: ArrayLike | None = None) -> np.ndarray:
        """Return log(inside / outside) in each draw, shape (draws, m)."""

    def probability_normal(self, X: ArrayLike) -> np.ndarray:
        """Return P(normal) of each new row, shape (m,)."""

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Return minus the surprise of each new row, shape (m,)."""

    @property
    def surprise_(self) -> np.ndarray:
        """The surprise of each training row, left out, shape (n,)."""
