"""The training data of a fit, and the points of its centre: rows, groups of rows, or given ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..inference.leave import Leaving
from ..inference.warning import DataWarning, warn
from ..models import groups
from ..models.core import Core
from ..models.gram import Gram
from ..models.kernels import Kernel
from ..models.linear_algebra import residual
from ..models.points import Points
from .labels import to_save
from .rows.forms import Form
from .rows.gaps import Imputations
from .rows.names import Columns

if TYPE_CHECKING:
    import xarray as xr

MAX_POINTS = 20_000  # their kernel matrix takes 3.2 GB
MOST_ROWS = 12_000  # majority rows that are described, in some ten seconds; of more, a sample
MOST_MINORITY = 1000  # minority rows that are points
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
    gram : Gram
        The Gram statistics.
    member_of_row : ndarray of int, shape (n,)
        The member of the points that each row is; -1 if it is none.
    dictionary : AllRows, GroupedRows or GivenPoints
        The rule that chose the points.
    seed : int
    all_rows : bool
        Whether ``rows`` has all training rows, or only a sample.
    label : str, optional
        The column of X that held the labels.
    labels : tuple
        The distinct labels, that of the minority first; empty without labels.
    minority : ndarray of bool, shape (n,)
        Which rows are minority.
    names : ndarray of shape (n,), optional
        The user's names of the rows: the index of a data frame, or the numbers of sampled rows.
        None if the names are 0, 1, ..., n - 1.
    columns : Columns
        The columns of X.
    forms : dict of int to Form
        How the cells of columns became numbers, by their positions; others were plain numbers.
    gaps : ndarray of bool, shape (n, p), optional
        Which values were missing, and are filled; None if none was.
    imputations : Imputations, optional
        The rows with gaps, filled in other ways.
    core : Core, optional
        The rows that the description rests on, where odd rows are among the training rows; None if
        all majority rows are described.
    """

    rows: np.ndarray
    kernel: Kernel
    gram: Gram
    member_of_row: np.ndarray
    columns: Columns
    dictionary: Dictionary
    seed: int
    all_rows: bool = True
    label: str | None = None
    labels: tuple[Any, ...] = ()
    minority: np.ndarray
    names: np.ndarray | None = None
    forms: Mapping[int, Form] = field(default_factory=dict)
    gaps: np.ndarray | None = None
    imputations: Imputations | None = None
    core: Core | None = None

    @cached_property
    def described(self) -> np.ndarray:
        """Which rows the Gram statistics count as majority: all, or the core; shape (n,)."""
        return ~self.minority if self.core is None else self.core.rows

    @property
    def row_names(self) -> np.ndarray:
        """The user's names of the rows, shape (n,); their numbers if they have no others."""
        return np.arange(len(self.rows)) if self.names is None else self.names

    @cached_property
    def observed(self) -> np.ndarray:
        """The rows with NaN in their gaps, shape (n, p)."""
        return self.rows if self.gaps is None else np.where(self.gaps, np.nan, self.rows)

    @property
    def majority_rows(self) -> np.ndarray:
        """The majority rows, shape (n0, p)."""
        return self.rows[~self.minority]

    @cached_property
    def point_of_row(self) -> np.ndarray:
        """The point that each row belongs to, shape (n,); -1 if it belongs to none."""
        found: np.ndarray = self.gram.points.of_members(self.member_of_row)
        return found

    @cached_property
    def row_of_point(self) -> np.ndarray:
        """The first row of each point, shape (M,); -1 for a point that is no row."""
        return _first_row(self.point_of_row, self.gram.n_points)

    @property
    def rows_beside_points(self) -> np.ndarray | None:
        """The described rows, where the points are others; else None."""
        return self.rows[self.described] if self.gram.member_of_row is None else None

    def leaving(self, which: np.ndarray | slice = slice(None)) -> Leaving:
        """Return some rows, by their numbers, as they leave the centre."""
        return Leaving(self.gram, self.rows[which], self.member_of_row[which], self.minority[which])

    def leaving_filled(self, rows: np.ndarray, which: np.ndarray) -> Leaving:
        """Return some rows, by their numbers, as they leave with other values in their gaps."""
        return replace(self.leaving(which), rows=rows, filled=True)

    def fold(self, train: np.ndarray) -> Self:
        """Return the data of the rows ``train``; points that are rows are these."""
        minority, part = self.minority[train], self.part(train)
        of_rows = self.point_of_row[train][part.described]
        gram, member = statistics(
            self.dictionary, self.kernel, part.rows, minority, self.seed, part.core, of_rows
        )
        of_minority = np.cumsum(self.minority)[train][minority] - 1
        in_full_fit = np.cumsum(self.described)[train] - 1
        gram = replace(
            gram,
            index_in_full_fit=in_full_fit[part.described],
            minority_index_in_full_fit=of_minority[: gram.n1],
        )
        return replace(part, gram=gram, member_of_row=member)

    def with_points(self, dictionary: Dictionary) -> Self:
        """Return the data of the same rows with the points of another rule."""
        gram, member = statistics(
            dictionary, self.kernel, self.rows, self.minority, self.seed, self.core
        )
        return replace(self, gram=gram, member_of_row=member, dictionary=dictionary)

    def part(self, which: np.ndarray | slice) -> Self:
        """Return the data of some rows, with one value in each gap; statistics and kernel stay."""
        return replace(
            self,
            rows=self.rows[which],
            imputations=None,
            minority=self.minority[which],
            member_of_row=self.member_of_row[which],
            names=None if self.names is None else self.names[which],
            gaps=None if self.gaps is None else self.gaps[which],
            core=None if self.core is None else self.core.part(which),
        )

    def groups(self) -> dict[str, xr.Dataset]:
        """Return the group ``constant_data`` of the DataTree."""
        import xarray as xr

        gram = self.gram
        are_rows = gram.points.are_rows
        variables: dict[str, Any] = {
            "X": (("obs", "feature"), self.rows),
            "minority": ("obs", self.minority),
            "name": ("obs", self.names),
            "core": ("obs", None if self.core is None else self.core.rows),
            "point_of_row": ("obs", None if are_rows else self.point_of_row),
        }
        attrs = {"labels": json.dumps(to_save(self.labels))} if self.labels else {}
        constant = xr.Dataset(
            {name: (dims, v) for name, (dims, v) in variables.items() if v is not None},
            {"obs": np.arange(len(self.rows))},
            attrs if self.label is None else {"label": self.label, **attrs},
        )
        return {"constant_data": constant}


def statistics(
    dictionary: Dictionary,
    kernel: Kernel,
    rows: np.ndarray,
    minority: np.ndarray,
    seed: int,
    core: Core | None = None,
    point_of_row: np.ndarray | None = None,
) -> tuple[Any, np.ndarray]:
    """Return the Gram statistics, and the member that each row is: -1 for rows beside the core.

    Without a core they are those of all rows; ``point_of_row`` is of the described rows.
    """
    if core is None:
        return dictionary.statistics(kernel, rows, minority, seed, point_of_row)
    inside, member = core.rows, np.full(len(rows), -1)
    gram, member[inside] = dictionary.statistics(
        kernel, rows[inside], minority[inside], seed, point_of_row
    )
    return gram, member


def _first_row(place_of_row: np.ndarray, n: int) -> np.ndarray:
    """Return the first row of each of n places; -1 for none."""
    found, inside = np.full(n, -1), np.flatnonzero(place_of_row >= 0)
    found[place_of_row[inside[::-1]]] = inside[::-1]
    return found


@dataclass(frozen=True)
class AllRows:
    """Every training row of the classes that the model learns from is a point.

    Parameters
    ----------
    with_minority : bool
        Whether minority rows are points too.
    most : int or None
        Majority rows of which a sample is taken where there are more.
    """

    with_minority: bool
    most: int | None = None

    def held_rows(self, minority: np.ndarray, seed: int) -> np.ndarray | slice:
        """Return all rows, or a sample; a ValueError if their matrix would be too large."""
        if self.most is not None:
            return _sample(minority, self.most, self.with_minority, seed)
        n = len(minority) if self.with_minority else int((~minority).sum())
        if n > MAX_POINTS:
            raise ValueError(
                f"the kernel matrix of {n} rows needs {8e-9 * n * n:.1f} GB, and up to "
                f"{MAX_POINTS} rows are accepted; use BSVDD or BDD with a prior of independent "
                "weights, such as the default, or fit fewer rows"
            )
        return slice(None)

    def statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        seed: int = 0,
        point_of_row: np.ndarray | None = None,
    ) -> tuple[Gram, np.ndarray]:
        """Return the Gram statistics, and the member that each row is: majority rows first.

        ``point_of_row``, of majority rows, has known points; here they are the rows.
        """
        majority, others = rows[~minority], rows[minority & self.with_minority]
        gram = Gram.from_rows(kernel, majority, others)
        return gram, members(np.arange(len(majority)), minority, gram)


@dataclass(frozen=True, eq=False)
class _Sampled:
    """Points of a fit that describes many rows by a sample of them.

    Parameters
    ----------
    with_minority : bool
        Whether minority rows are points too.
    """

    with_minority: bool

    def held_rows(self, minority: np.ndarray, seed: int) -> np.ndarray | slice:
        """Return all rows, or a random sample of a large class."""
        return _sample(minority, MOST_ROWS, self.with_minority, seed)


@dataclass(frozen=True, eq=False)
class GroupedRows(_Sampled):
    """Equal rows, and where there are many, near rows, are a point together.

    Parameters
    ----------
    number : int or None
        Of groups, at most; None for the rule of :mod:`bsvdd.models.groups`, with ``share``.
    """

    number: int | None = None
    share: float = groups.SHARE

    def statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        seed: int = 0,
        point_of_row: np.ndarray | None = None,
    ) -> tuple[Gram, np.ndarray]:
        """Return what :meth:`AllRows.statistics` has."""
        points, member, n1 = self.points(kernel, rows, minority, seed, point_of_row)
        gram = Gram.from_points(kernel, points, member, n1)
        return gram, members(member, minority, gram)

    def points(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        seed: int,
        point_of_row: np.ndarray | None,
    ) -> tuple[Points, np.ndarray, int]:
        """Return the points, the member of each majority row, and the number of minority points."""
        majority, others = rows[~minority], rows[minority & self.with_minority]
        if point_of_row is None:
            points, member = groups.of_rows(kernel, majority, self.number, seed, self.share)
        else:
            points, member = groups.of_labels(majority, point_of_row)
        if len(others):
            points = Points.joined(points, Points.of(others))
        return points, member, len(others)


@dataclass(frozen=True, eq=False)
class GivenPoints(_Sampled):
    """Points that the user gives represent the majority.

    Parameters
    ----------
    points : ndarray of shape (M, p)
    """

    points: np.ndarray

    def statistics(
        self,
        kernel: Kernel,
        rows: np.ndarray,
        minority: np.ndarray,
        seed: int = 0,
        point_of_row: np.ndarray | None = None,
    ) -> tuple[Gram, np.ndarray]:
        """Return what :meth:`AllRows.statistics` has; majority rows are no members."""
        if self.points.shape[1] != rows.shape[1]:
            raise ValueError(
                f"dictionary has {self.points.shape[1]} columns, but X has {rows.shape[1]}"
            )
        others = rows[minority & self.with_minority]
        gram = Gram.from_rows(kernel, rows[~minority], others, self.points)
        return gram, members(np.full(int((~minority).sum()), -1), minority, gram)

    def diagnostics(self, data: TrainingData) -> dict[str, float]:
        """Return the share of the rows' images that the points miss; warn of a large one."""
        rows = data.majority_rows[:: max(1, len(data.majority_rows) // RESIDUAL_ROWS)]
        share = residual(data.kernel, self.points, rows)
        if share > LARGE_RESIDUAL:
            warn(
                f"the points given as dictionary miss a share of {share:.3g} of the rows' images "
                "(nystroem_residual), so the centre cannot lie among the rows; give points with "
                "the columns and the scaling of X, such as some of its rows",
                DataWarning,
            )
        return {"nystroem_residual": share}


def _sample(minority: np.ndarray, most: int, with_minority: bool, seed: int) -> np.ndarray | slice:
    """Return the numbers of a random sample of each class that is large, and of all other rows."""
    row_numbers, rng = [], np.random.default_rng(seed)
    for members, size in (~minority, most), (minority, MOST_MINORITY if with_minority else most):
        found = np.flatnonzero(members)
        row_numbers.append(found if len(found) <= size else rng.choice(found, size, replace=False))
    held = np.sort(np.concatenate(row_numbers))
    return slice(None) if len(held) == len(minority) else held


Dictionary = AllRows | GroupedRows | GivenPoints


def members(of_majority: np.ndarray, minority: np.ndarray, gram: Gram) -> np.ndarray:
    """Return the member that each row is, where minority points are the last members."""
    member = np.full(len(minority), -1)
    member[~minority] = of_majority
    if gram.n1:
        member[minority] = np.arange(gram.n_majority_members, len(gram.points.rows))
    return member


def as_points(dictionary: Any) -> np.ndarray:
    """Return points that the user gives as an array (M, p) of finite numbers."""
    expected = (
        "dictionary must be 'auto', None, a number or a table of finite numbers (points, columns), "
        "got "
    )
    if isinstance(dictionary, bool | np.bool_):
        raise ValueError(f"{expected}{dictionary!r}; give the number of points, dictionary=500")
    array = np.asarray(dictionary)
    if array.dtype.kind in "cmM" or np.ma.is_masked(dictionary):
        raise ValueError(f"{expected}masked values or an array of type {array.dtype}")
    try:
        points = array.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{expected}{dictionary!r:.80}") from error
    if points.ndim != 2 or not len(points) or not np.isfinite(points).all():
        raise ValueError(f"{expected}an array of shape {points.shape}")
    return points
