"""The training data of a fit, and the rule that chooses the points of the centre."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Protocol, Self

import numpy as np
import xarray as xr

from ..models.gram import Gram
from ..models.kernels import Kernel
from .labels import kinds_to_save, labels_to_save
from .rows.blocks import Rows
from .rows.columns import Dates


class Dictionary(Protocol):
    """The rule that chooses the points of the centre."""

    @property
    def reads_blocks(self) -> bool:
        """Whether rows are read in blocks and never as a whole."""
        ...

    @property
    def points_are_rows(self) -> bool:
        """Whether every majority row is a point."""
        ...

    def held_rows(self, minority: np.ndarray, seed: int) -> np.ndarray | slice:
        """Return the training rows that the fit holds; a ValueError if they are too many."""
        ...

    def statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        source: Rows,
        minority_of_all: np.ndarray,
        seed: int,
    ) -> tuple[Gram, np.ndarray]:
        """Return the Gram statistics, and the index in ``rows`` of each point (-1: not a row).

        Parameters
        ----------
        kernel : Kernel
            Resolved kernel.
        rows, minority
            The rows that the fit holds.
        source, minority_of_all
            All training rows.
        seed : int
        """
        ...

    def fold(self, data: TrainingData, train: np.ndarray, kernel: Kernel | None = None) -> Gram:
        """Return the Gram statistics of the rows ``train`` of ``data``.

        With a kernel, which is that of these rows, landmarks are chosen among them anew.
        """
        ...

    def groups(self, data: TrainingData) -> dict[str, xr.Dataset]:
        """Return the groups of the DataTree that do not follow from the held rows."""
        ...

    def diagnostics(self, data: TrainingData) -> dict[str, float]:
        """Return what is known of the points' reach; it may warn."""
        ...


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
    labels : tuple
        The distinct labels, those of the minority first; empty without labels.
    kind : ndarray of int, shape (n,)
        0 for majority rows, and k for those with the k-th label of the minority.
    kind_labels : tuple
        The labels of the minority.
    names : ndarray of shape (n,), optional
        The user's names of the rows: the index of a data frame, or the numbers of sampled rows.
        None if the names are 0, 1, ..., n - 1.
    dates : dict of int to Dates
        The columns that were dates, by their positions: how they became numbers.
    """

    rows: np.ndarray
    minority: np.ndarray
    gram: Gram
    row_of_point: np.ndarray
    dictionary: Dictionary
    seed: int
    all_rows: bool = True
    label: str | None = None
    labels: tuple[Any, ...] = ()
    kind: np.ndarray
    kind_labels: tuple[Any, ...] = ()
    names: np.ndarray | None = None
    dates: Mapping[int, Dates] = MappingProxyType({})

    @property
    def row_names(self) -> np.ndarray:
        """The user's names of the rows, shape (n,); their numbers if they have no others."""
        return np.arange(len(self.rows)) if self.names is None else self.names

    @property
    def kernel(self) -> Kernel:
        """The resolved kernel, with the bandwidth and scales that it learned from the rows."""
        return self.gram.kernel

    @property
    def majority_rows(self) -> np.ndarray:
        """The majority rows, shape (n0, p)."""
        return self.rows[~self.minority]

    @cached_property
    def point_of_row(self) -> np.ndarray:
        """The point that each row is, shape (n,); -1 if it is none."""
        found, is_row = np.full(len(self.rows), -1), self.row_of_point >= 0
        found[self.row_of_point[is_row]] = np.flatnonzero(is_row)
        return found

    def fold(self, train: np.ndarray, kernel: Kernel | None = None) -> Gram:
        """Return the Gram statistics of the rows ``train`` only; see :meth:`Dictionary.fold`."""
        gram = self.dictionary.fold(self, train, kernel)
        return replace(gram, unlabelled=self.gram.unlabelled)

    def part(self, train: np.ndarray) -> Self:
        """Return the data of some rows, before :func:`bsvdd.estimators.fit.of_rows`."""
        names = None if self.names is None else self.names[train]
        rows, minority = self.rows[train], self.minority[train]
        return replace(self, rows=rows, minority=minority, kind=self.kind[train], names=names)

    def without_rows(self) -> Self:
        """Return the data without rows; Gram statistics and kernel stay."""
        return replace(
            self,
            rows=self.rows[:0],
            minority=self.minority[:0],
            kind=self.kind[:0],
            names=None,
        )

    def dataset(self) -> xr.Dataset:
        """Return the group ``constant_data``."""
        kinds = {"kind": ("obs", self.kind)} if len(self.kind_labels) > 1 else {}
        unlabelled = self.gram.unlabelled
        named = {"labels": labels_to_save(self.labels), "kinds": kinds_to_save(self.kind_labels)}
        return xr.Dataset(
            {
                "X": (("obs", "feature"), self.rows),
                "minority": ("obs", self.minority),
                **kinds,
                **({} if self.names is None else {"name": ("obs", self.names)}),
                **({} if unlabelled is None else {"unlabelled": (("row", "feature"), unlabelled)}),
            },
            {"obs": np.arange(len(self.rows))},
            {
                **({} if self.label is None else {"label": self.label}),
                **{name: json.dumps(labels) for name, labels in named.items() if labels},
            },
        )
