"""The training data of a fit, and its state before the cutoff is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr

from ..inference.draws import Draws
from ..inference.scoring import ScoringRule
from ..models.gram import Gram
from ..models.kernels import Kernel

if TYPE_CHECKING:
    from .dictionary import Dictionary


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingData:
    """The training data of a fit: rows, classes and Gram statistics.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        Training rows in the form that the kernel expects; a read-only copy.
    minority : ndarray of bool, shape (n,)
    gram : Gram
    row_of_point : ndarray of int, shape (M,)
        For each dictionary point its index in ``rows``, or -1 if it is not a row.
    dictionary : Dictionary
        The rule that chose the points.
    seed : int
    all_rows : bool
        Whether ``rows`` has all training rows, or only a sample.
    label : str, optional
        The column of X that held the labels.
    """

    rows: np.ndarray
    minority: np.ndarray
    gram: Gram
    row_of_point: np.ndarray
    dictionary: Dictionary
    seed: int
    all_rows: bool = True
    label: str | None = None

    @property
    def kernel(self) -> Kernel:
        """The resolved kernel, with the bandwidth and scales that it learned from the rows."""
        return self.gram.kernel

    @property
    def majority_rows(self) -> np.ndarray:
        """The majority rows, shape (n0, p)."""
        return self.rows[~self.minority]

    def fold(self, train: np.ndarray) -> Gram:
        """Return the Gram statistics of the rows ``train`` only."""
        return self.dictionary.fold(self, train)

    def dataset(self) -> xr.Dataset:
        """Return the group ``constant_data``."""
        return xr.Dataset(
            {"X": (("obs", "feature"), self.rows), "minority": ("obs", self.minority)},
            {"obs": np.arange(len(self.rows))},
            {} if self.label is None else {"label": self.label},
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FitState:
    """A fit without its cutoff; it never changes.

    Attributes
    ----------
    data : TrainingData
    draws : Draws
    rule : ScoringRule
    values : ndarray of shape (draws, n)
        The values of the training rows under the rule.
    groups : dict of Dataset
        Further groups of the DataTree by name, such as ``distance`` and ``diagnostics``.
    attrs : dict
        Attributes of the group ``posterior`` in addition to those of the draws.
    """

    data: TrainingData
    draws: Draws
    rule: ScoringRule
    values: np.ndarray
    groups: Mapping[str, xr.Dataset] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def tree(self, decision: xr.Dataset) -> xr.DataTree:
        """Return the fit and the decision by the cutoff as a DataTree."""
        groups = {**self.draws.datasets(), "constant_data": self.data.dataset(), **self.groups}
        groups["posterior"] = groups["posterior"].assign_attrs(self.attrs)
        return xr.DataTree.from_dict({**groups, "decision": decision})

    def for_scoring(self) -> Self:
        """Return the fit without its training rows; it still scores new rows."""
        data = replace(self.data, rows=self.data.rows[:0], minority=self.data.minority[:0])
        return replace(self, data=data, values=self.values[:, :0], groups={})
