"""The dictionary, the points of the centre: all training rows, or landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from ..inference.warning import DataWarning, warn
from ..models.gram import Gram
from ..models.kernels import Kernel
from ..models.landmarks import Landmarks, as_landmarks, check_number, choose, residual
from .rows.blocks import ArrayRows, Rows
from .training import Dictionary, TrainingData

MAX_POINTS = 20_000  # their kernel matrix takes 3.2 GB
KEPT_ROWS = 10_000  # per class, drawn at random, that a fit with landmarks holds
RESIDUAL_ROWS = 1000  # for the mean Nystroem residual
LARGE_RESIDUAL = 0.5  # above this, the user's own points get a warning


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

    reads_blocks = False
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

    def gram(self, kernel: Kernel, rows: np.ndarray, minority: np.ndarray) -> Gram:
        """Return the Gram statistics of rows."""
        majority = rows[~minority]
        minority_points = rows[minority] if self.with_minority else rows[:0]
        n_points = len(majority) + len(minority_points)
        if self.matrix_free_above is not None and n_points > self.matrix_free_above:
            return Gram.matrix_free(kernel, majority, minority_points)
        return Gram.from_rows(kernel, majority, minority_points)

    def statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        source: Rows,
        minority_of_all: np.ndarray,
        seed: int,
    ) -> tuple[Gram, np.ndarray]:
        """Return the Gram statistics, and the index in ``rows`` of each point."""
        return self.gram(kernel, rows, minority), self.row_of_point(minority)

    def row_of_point(self, minority: np.ndarray) -> np.ndarray:
        """Return the row of each point: majority rows first, then minority rows."""
        majority = np.flatnonzero(~minority)
        if not self.with_minority:
            return majority
        return np.concatenate([majority, np.flatnonzero(minority)])

    def fold(self, data: TrainingData, train: np.ndarray, kernel: Kernel | None = None) -> Gram:
        """Return the Gram statistics of the rows ``train`` of ``data``."""
        minority = data.minority[train]
        gram = self.gram(kernel or data.kernel, data.rows[train], minority)
        index = np.cumsum(~data.minority)[train][~minority] - 1
        minority_index = np.cumsum(data.minority)[train][minority][: gram.n1] - 1
        return replace(gram, index_in_full_fit=index, minority_index_in_full_fit=minority_index)

    def groups(self, data: TrainingData) -> dict[str, xr.Dataset]:
        """Return no group, because all statistics follow from the rows."""
        return {}

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

    reads_blocks = True
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
        """Return the Gram statistics from one pass over all rows, and the row of each point."""
        points, row_of_point, n1 = self._points(kernel, rows, minority, seed)
        sums = source.sums(kernel, points, minority_of_all, self.progressbar)
        return Gram.from_sums(kernel, sums, points, n1), row_of_point

    def _points(
        self, kernel: Kernel, rows: np.ndarray, minority: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Return the points, the row of each point, and the number of minority points."""
        landmarks = as_landmarks(self.dictionary)
        members = np.flatnonzero(~minority)
        if isinstance(landmarks, Landmarks):
            points, chosen = choose(kernel, rows[members], landmarks, seed)
            row_of_point = np.where(chosen < 0, -1, members[chosen])
        else:
            points, landmarks = landmarks, Landmarks(len(landmarks))
            row_of_point = np.full(len(points), -1)
            if points.shape[1] != rows.shape[1]:
                raise ValueError(
                    f"dictionary has {points.shape[1]} columns, but X has {rows.shape[1]}"
                )
        if not self.with_minority:
            return points, row_of_point, 0
        members = np.flatnonzero(minority)
        minority_points, minority_rows = rows[members], members
        if len(members) > landmarks.n:
            minority_points, chosen = choose(kernel, minority_points, landmarks, seed)
            minority_rows = np.where(chosen < 0, -1, members[chosen])
        return (
            np.concatenate([points, minority_points]),
            np.concatenate([row_of_point, minority_rows]),
            len(minority_points),
        )

    def fold(self, data: TrainingData, train: np.ndarray, kernel: Kernel | None = None) -> Gram:
        """Return the Gram statistics of the rows ``train``, without points that are other rows.

        With a kernel, landmarks are chosen among these rows anew.
        """
        if kernel is not None:
            rows, minority = data.rows[train], data.minority[train]
            chosen, _, n1 = self._points(kernel, rows, minority, data.seed)
            cut = len(chosen) - n1
            return Gram.from_rows(kernel, rows[~minority], chosen[cut:], chosen[:cut])
        stays = (data.row_of_point < 0) | np.isin(data.row_of_point, train)
        m, points = data.gram.n_majority_points, data.gram.points
        majority = data.rows[train][~data.minority[train]]
        gram = Gram.from_rows(data.kernel, majority, points[m:][stays[m:]], points[:m][stays[:m]])
        return replace(
            gram,
            index_in_full_fit=np.flatnonzero(stays[:m]),
            minority_index_in_full_fit=np.flatnonzero(stays[m:]),
        )

    def groups(self, data: TrainingData) -> dict[str, xr.Dataset]:
        """Return the Gram statistics, which do not follow from the held rows."""
        gram = data.gram
        statistics = xr.Dataset(
            {
                "points": (("point", "feature"), gram.points),
                "place": ("point", data.row_of_point),
                "r": ("point", gram.r),
                "T": gram.T,
                "n0": gram.n0,
                "n1": gram.n1,
                "whole": data.all_rows,
            }
        )
        return {"gram": statistics}

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


def separated(
    source: Rows,
    labelled: np.ndarray,
    minority: np.ndarray,
    dictionary: Dictionary,
    pairwise: bool,
) -> tuple[Rows, np.ndarray]:
    """Return the rows with a label as a source of their own, and those without one, shape (u, p).

    Parameters
    ----------
    source : Rows
        All rows.
    labelled : ndarray of bool, shape (n,)
        Which of them have a label.
    minority : ndarray of bool
        Which of those with a label are minority.
    dictionary : Dictionary
    pairwise : bool
        Whether the kernel is precomputed.

    Raises
    ------
    ValueError
        The kernel is precomputed, the rows are read in blocks, one row only has a label, or the
        rows are too many for a graph.
    """
    u = int((~labelled).sum())
    if pairwise:
        raise ValueError(
            f"y has no label in {u} row(s), and with a precomputed kernel priors.GraphLaplacian "
            "takes no unlabelled rows; leave out these rows and columns of X and these labels, or "
            "use a kernel of rows such as kernels.RBF"
        )
    if dictionary.reads_blocks:
        raise ValueError(
            f"y has no label in {u} row(s), but a fit with landmarks reads rows in blocks and "
            "takes no unlabelled rows from y; give these rows by "
            "priors.GraphLaplacian(unlabelled=rows), or use dictionary=None (up to "
            f"{MAX_POINTS} rows)"
        )
    n = u + int((~minority).sum())
    if n > MAX_POINTS:
        raise ValueError(
            f"y has no label in {u} row(s), and the graph of {n} majority and unlabelled rows "
            f"needs {8e-9 * n * n:.1f} GB; up to {MAX_POINTS} rows are accepted: leave out some "
            "of the rows without a label"
        )
    if len(minority) < 2:
        raise ValueError(f"y has a label in {len(minority)} row(s); expected at least 2")
    rows = source.take(slice(None))
    with_label = ArrayRows(rows[labelled], is_checked=True)
    with_label.categorical = source.categorical
    return with_label, rows[~labelled]
