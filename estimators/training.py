"""The training data of a fit, and the points of its centre: all training rows, or landmarks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import xarray as xr

from ..inference.leave import Leaving
from ..inference.warning import DataWarning, warn
from ..models.gram import Gram
from ..models.kernels import Kernel
from ..models.landmarks import Landmarks, as_landmarks, check_number, choose, residual
from .labels import to_save
from .rows.blocks import ArrayRows, Rows
from .rows.columns import Dates
from .rows.names import Columns

MAX_POINTS = 20_000  # their kernel matrix takes 3.2 GB
KEPT_ROWS = 10_000  # per class, drawn at random, that a fit with landmarks holds
RESIDUAL_ROWS = 1000  # for the mean Nystroem residual
LARGE_RESIDUAL = 0.5  # above this, the user's own points get a warning


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingData:
    """The training data of a fit: rows, classes and Gram statistics.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        Training rows in the form that the kernel expects; a read-only copy.
    kernel : Kernel
        With the bandwidth and scales that it learned from the rows.
    asked : Kernel
        The same, before it learned them.
    gram : Gram
        The Gram statistics; without points it is not there.
    point_of_row : ndarray of int, shape (n,)
        The point that each row belongs to; -1 if it belongs to none.
    dictionary : AllRows, LandmarkPoints or NoPoints
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
    columns : Columns
        The columns of X.
    dates : dict of int to Dates
        The columns that were dates, by their positions: how they became numbers.
    """

    rows: np.ndarray
    kernel: Kernel
    asked: Kernel
    gram: Any
    point_of_row: np.ndarray
    columns: Columns
    dictionary: Dictionary
    seed: int
    all_rows: bool = True
    label: str | None = None
    labels: tuple[Any, ...] = ()
    kind: np.ndarray
    kind_labels: tuple[Any, ...] = ()
    names: np.ndarray | None = None
    dates: Mapping[int, Dates] = field(default_factory=dict)

    @cached_property
    def minority(self) -> np.ndarray:
        """Which rows are minority, shape (n,)."""
        return self.kind > 0

    @property
    def row_names(self) -> np.ndarray:
        """The user's names of the rows, shape (n,); their numbers if they have no others."""
        return np.arange(len(self.rows)) if self.names is None else self.names

    @property
    def majority_rows(self) -> np.ndarray:
        """The majority rows, shape (n0, p)."""
        return self.rows[~self.minority]

    @cached_property
    def count(self) -> np.ndarray:
        """The number of rows of each point, shape (M,); 1 for a point that is no row."""
        inside = self.point_of_row[self.point_of_row >= 0]
        return np.maximum(np.bincount(inside, minlength=self.gram.n_points), 1)

    @cached_property
    def row_of_point(self) -> np.ndarray:
        """The first row of each point, shape (M,); -1 for a point that is no row."""
        found, inside = np.full(self.gram.n_points, -1), np.flatnonzero(self.point_of_row >= 0)
        found[self.point_of_row[inside[::-1]]] = inside[::-1]
        return found

    @property
    def rows_beside_points(self) -> tuple[np.ndarray | None, np.ndarray | None]:
        """The majority rows and which of them are points; None where all rows are points."""
        if self.dictionary.points_are_rows:
            return None, None
        majority = ~self.minority
        return self.rows[majority], self.point_of_row[majority] >= 0

    def leaving(self, which: np.ndarray | slice = slice(None)) -> Leaving:
        """Return some rows, by their numbers, as they leave the centre."""
        rows, point, minority = self.rows[which], self.point_of_row[which], self.minority[which]
        return Leaving(self.gram, rows, point, minority, self.count)

    def fold(self, train: np.ndarray, own_kernel: bool = False) -> Self:
        """Return the data of the rows ``train``, without points that are other rows.

        With ``own_kernel`` the kernel learns from these rows, and landmarks are chosen among them.
        """
        kernel = None
        if own_kernel:
            kernel = self.asked.resolve(self.rows[train[~self.minority[train]]])
        gram, point_of_row = self.dictionary.fold(self, train, kernel)
        if gram is not None:
            gram = replace(gram, unlabelled=self.gram.unlabelled)
        kernel = kernel or self.kernel
        return replace(self.part(train), gram=gram, point_of_row=point_of_row, kernel=kernel)

    def seen_by(self, asked: Kernel, dictionary: Dictionary) -> Self:
        """Return the data of the same rows with another kernel and its points."""
        rows, minority = self.rows, self.minority
        asked = asked.with_columns(self.columns.names, self.kernel.categorical_columns)
        kernel = asked.resolve(self.majority_rows)
        source = ArrayRows(rows, is_checked=True)
        gram, point_of_row = dictionary.statistics(
            kernel, rows, minority, source, minority, self.seed
        )
        own = replace(self, kernel=kernel, asked=asked, dictionary=dictionary)
        return replace(own, gram=gram, point_of_row=point_of_row)

    def part(self, which: np.ndarray | slice) -> Self:
        """Return the data of some rows; Gram statistics and kernel stay."""
        return replace(
            self,
            rows=self.rows[which],
            kind=self.kind[which],
            point_of_row=self.point_of_row[which],
            names=None if self.names is None else self.names[which],
        )

    def groups(self) -> dict[str, xr.Dataset]:
        """Return the groups of the DataTree: ``constant_data``, and ``gram`` of landmarks."""
        gram = self.gram
        named = {"labels": to_save(self.labels), "kinds": to_save(self.kind_labels)}
        variables: dict[str, Any] = {
            "X": (("obs", "feature"), self.rows),
            "minority": ("obs", self.minority),
            "kind": ("obs", self.kind if len(self.kind_labels) > 1 else None),
            "name": ("obs", self.names),
            "unlabelled": (("row", "feature"), None if gram is None else gram.unlabelled),
        }
        attrs = {name: json.dumps(labels) for name, labels in named.items() if labels}
        constant = xr.Dataset(
            {name: (dims, v) for name, (dims, v) in variables.items() if v is not None},
            {"obs": np.arange(len(self.rows))},
            attrs if self.label is None else {"label": self.label, **attrs},
        )
        if self.dictionary.points_are_rows:
            return {"constant_data": constant}
        statistics = xr.Dataset(
            {
                "points": (("point", "feature"), gram.points),
                "point_of_row": ("obs", self.point_of_row),
                "r": ("point", gram.r),
                "T": gram.T,
                "n0": gram.n0,
                "n1": gram.n1,
                "whole": self.all_rows,
            }
        )
        return {"constant_data": constant, "gram": statistics}


@dataclass(frozen=True)
class AllRows:
    """Every training row of the classes that the model learns from is a point.

    Parameters
    ----------
    with_minority : bool
        Whether minority rows are points too.
    unlimited : bool
        Whether any number of rows is accepted; else at most ``MAX_POINTS``.
    matrix_free_above : int or None
        Largest number of rows for which the kernel matrix is formed.
    """

    with_minority: bool
    unlimited: bool = False
    matrix_free_above: int | None = None

    points_are_rows = True

    def held_rows(self, minority: np.ndarray, seed: int) -> slice:
        """Return all rows; a ValueError if their kernel matrix would be too large."""
        n = len(minority) if self.with_minority else int((~minority).sum())
        if n > MAX_POINTS and not self.unlimited:
            raise ValueError(
                f"the kernel matrix of {n} rows needs {8e-9 * n * n:.1f} GB, and up to "
                f"{MAX_POINTS} rows are accepted; use a Bayesian model such as BSVDD with "
                "dictionary=500, or fit fewer rows"
            )
        return slice(None)

    def statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        source: Rows | None = None,
        minority_of_all: np.ndarray | None = None,
        seed: int = 0,
    ) -> tuple[Gram, np.ndarray]:
        """Return the Gram statistics, and the point of each row: majority rows first."""
        majority = rows[~minority]
        minority_points = rows[minority] if self.with_minority else rows[:0]
        n_points = len(majority) + len(minority_points)
        large = self.matrix_free_above is not None and n_points > self.matrix_free_above
        gram = (Gram.matrix_free if large else Gram.from_rows)(kernel, majority, minority_points)
        return gram, points_of(np.argsort(minority, kind="stable")[:n_points], len(rows))

    def fold(
        self, data: TrainingData, train: np.ndarray, kernel: Kernel | None = None
    ) -> tuple[Gram, np.ndarray]:
        """Return what :meth:`statistics` has of the rows ``train``; see ``TrainingData.fold``."""
        minority = data.minority[train]
        gram, point = self.statistics(kernel or data.kernel, data.rows[train], minority)
        index = np.cumsum(~data.minority)[train][~minority] - 1
        minority_index = np.cumsum(data.minority)[train][minority][: gram.n1] - 1
        gram = replace(gram, index_in_full_fit=index, minority_index_in_full_fit=minority_index)
        return gram, point

    def diagnostics(self, data: TrainingData) -> dict[str, float]:
        """Return no diagnostic: the points span all rows."""
        return {}


@dataclass(frozen=True, eq=False)
class LandmarkPoints:
    """A few points represent the majority, and the likelihood still uses all rows.

    Parameters
    ----------
    dictionary : int, Landmarks or array of shape (M, p)
    with_minority : bool
        Whether minority rows are points too, at most as many as there are landmarks.
    progressbar : bool
    automatic : bool
        Whether there are landmarks because there are many rows, and not because they were asked
        for. Then a warning says what they miss.
    """

    dictionary: Any
    with_minority: bool
    progressbar: bool = False
    automatic: bool = False

    points_are_rows = False

    def held_rows(self, minority: np.ndarray, seed: int) -> np.ndarray:
        """Return all rows of a class, or a random sample of a large class.

        A ValueError if there are fewer majority rows than landmarks.
        """
        landmarks = as_landmarks(self.dictionary)
        if isinstance(landmarks, Landmarks):
            check_number(landmarks, min(KEPT_ROWS, int((~minority).sum())))
        row_numbers, rng = [], np.random.default_rng(seed)
        for members in (np.flatnonzero(~minority), np.flatnonzero(minority)):
            large = len(members) > KEPT_ROWS
            row_numbers.append(rng.choice(members, KEPT_ROWS, replace=False) if large else members)
        return np.sort(np.concatenate(row_numbers))

    def statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        source: Rows,
        minority_of_all: np.ndarray,
        seed: int,
    ) -> tuple[Gram, np.ndarray]:
        """Return the Gram statistics from one pass over all rows, and the point of each row.

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
        points, row_of_point, n1 = self._points(kernel, rows, minority, seed)
        sums = source.sums(kernel, points, minority_of_all, self.progressbar)
        return Gram.from_sums(kernel, sums, points, n1), points_of(row_of_point, len(rows))

    def _points(
        self, kernel: Kernel, rows: np.ndarray, minority: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the points, the row of each point (-1: none), and the number of minority ones."""

        def chosen(members: np.ndarray, landmarks: Landmarks) -> tuple[np.ndarray, np.ndarray]:
            points, index = choose(kernel, rows[members], landmarks, seed)
            return points, np.where(index < 0, -1, members[index])

        landmarks = as_landmarks(self.dictionary)
        if isinstance(landmarks, Landmarks):
            points, row_of_point = chosen(np.flatnonzero(~minority), landmarks)
        else:
            points, landmarks = landmarks, Landmarks(len(landmarks))
            row_of_point = np.full(len(points), -1)
            if points.shape[1] != rows.shape[1]:
                raise ValueError(
                    f"dictionary has {points.shape[1]} columns, but X has {rows.shape[1]}"
                )
        others = np.flatnonzero(minority & self.with_minority)
        minority_points = rows[others]
        if len(others) > landmarks.n:
            minority_points, others = chosen(others, landmarks)
        return (
            np.concatenate([points, minority_points]),
            np.concatenate([row_of_point, others]),
            len(others),
        )

    def fold(
        self, data: TrainingData, train: np.ndarray, kernel: Kernel | None = None
    ) -> tuple[Gram, np.ndarray]:
        """Return what :meth:`statistics` has of the rows ``train``; see ``TrainingData.fold``."""
        rows, minority = data.rows[train], data.minority[train]
        if kernel is not None:
            chosen, row_of_point, n1 = self._points(kernel, rows, minority, data.seed)
            cut = len(chosen) - n1
            gram = Gram.from_rows(kernel, rows[~minority], chosen[cut:], chosen[:cut])
            return gram, points_of(row_of_point, len(rows))
        stays = (data.row_of_point < 0) | np.isin(data.row_of_point, train)
        m, points = data.gram.n_majority_points, data.gram.points
        own, others = points[:m][stays[:m]], points[m:][stays[m:]]
        gram = replace(
            Gram.from_rows(data.kernel, rows[~minority], others, own),
            index_in_full_fit=np.flatnonzero(stays[:m]),
            minority_index_in_full_fit=np.flatnonzero(stays[m:]),
        )
        new, point = np.cumsum(stays) - 1, data.point_of_row[train]
        return gram, np.where(point >= 0, new[point], -1)

    def diagnostics(self, data: TrainingData) -> dict[str, float]:
        """Return the share of the rows' images that the points miss, with a warning if needed."""
        gram = data.gram
        majority = data.majority_rows
        sample = majority[:: max(1, len(majority) // RESIDUAL_ROWS)]
        share = residual(data.kernel, gram.points[: gram.n_majority_points], sample)
        if self.automatic:
            warn(
                f"{gram.n0} majority rows are many, so {gram.n_majority_points} of them are the "
                "points of the centre (landmarks), and all rows count in the likelihood; the "
                f"points miss a share of {share:.2g} of the rows' images (nystroem_residual). For "
                f"other points use dictionary=NUMBER, and for all rows, up to {MAX_POINTS}, "
                "dictionary=None",
                DataWarning,
            )
        elif share > LARGE_RESIDUAL and not isinstance(as_landmarks(self.dictionary), Landmarks):
            warn(
                f"the points given as dictionary miss a share of {share:.3g} of the rows' images "
                "(nystroem_residual), so the centre cannot lie among the rows; give points with "
                "the columns and the scaling of X, such as some of its rows, or dictionary=500",
                DataWarning,
            )
        return {"nystroem_residual": share}


class NoPoints:
    """The score of a model has no centre, so there are no points."""

    points_are_rows = True

    def held_rows(self, minority: np.ndarray, seed: int) -> slice:
        """Return all rows."""
        return slice(None)

    def statistics(self, kernel: Kernel, rows: np.ndarray, *others: Any) -> tuple[None, np.ndarray]:
        """Return no Gram statistics."""
        return None, np.full(len(rows), -1)

    def fold(
        self, data: TrainingData, train: np.ndarray, kernel: Kernel | None = None
    ) -> tuple[None, np.ndarray]:
        """Return no Gram statistics."""
        return None, np.full(len(train), -1)

    def diagnostics(self, data: TrainingData) -> dict[str, float]:
        """Return no diagnostic."""
        return {}


Dictionary = AllRows | LandmarkPoints | NoPoints


def points_of(row_of_point: np.ndarray, n: int) -> np.ndarray:
    """Return the point of each of n rows, -1 for none, from the row of each point."""
    point, is_row = np.full(n, -1), row_of_point >= 0
    point[row_of_point[is_row]] = np.flatnonzero(is_row)
    return point
