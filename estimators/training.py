"""What a fit starts from, and what it is once it is made."""

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
    """What a fit starts from.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        Training rows in the form that the kernel takes; a copy that nothing can write to.
    minority : ndarray of bool, shape (n,)
    gram : Gram
    row_of_point : ndarray of int, shape (M,)
        Which of ``rows`` each dictionary point is, -1 for a point that is no row.
    dictionary : Dictionary
        How the points come from the rows.
    seed : int
    all_rows : bool
        Whether ``rows`` are all training rows, and not a sample of them.
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
        """The kernel with everything that it learns from the rows."""
        return self.gram.kernel

    @property
    def majority_rows(self) -> np.ndarray:
        """The majority rows, shape (n0, p)."""
        return self.rows[~self.minority]

    def fold(self, train: np.ndarray) -> Gram:
        """Return the statistics of the rows ``train`` only."""
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
    """A fit without its cutoff: made once, and never changed.

    Attributes
    ----------
    data : TrainingData
    draws : Draws
    rule : ScoringRule
    values : ndarray of shape (draws, n)
        The rule's values of the training rows.
    groups : dict of Dataset
        Further groups of the DataTree by name, such as ``distance`` and ``diagnostics``.
    attrs : dict
        Attributes of the group ``posterior`` beside those of the draws.
    """

    data: TrainingData
    draws: Draws
    rule: ScoringRule
    values: np.ndarray
    groups: Mapping[str, xr.Dataset] = field(default_factory=dict)
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def tree(self, decision: xr.Dataset) -> xr.DataTree:
        """Return all of the fit, and what the cutoff decides, as a DataTree."""
        groups = {**self.draws.datasets(), "constant_data": self.data.dataset(), **self.groups}
        groups["posterior"] = groups["posterior"].assign_attrs(self.attrs)
        return xr.DataTree.from_dict({**groups, "decision": decision})

    def for_scoring(self) -> Self:
        """Return the fit without its training rows: all that scoring new rows needs."""
        data = replace(self.data, rows=self.data.rows[:0], minority=self.data.minority[:0])
        return replace(self, data=data, values=self.values[:, :0], groups={})
