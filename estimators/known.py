"""Rows that are asked about: training rows are known again, and answered without themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..models import repeats
from .rows.gaps import Imputations

Answers = Callable[[np.ndarray], np.ndarray]  # of rows, or of numbers of training rows
AnswersOfWays = Callable[[Imputations], np.ndarray]
BLOCK = 1_000  # rows with gaps at once

AUTO, AS_NEW = "auto", "as new"
# share of training rows that differ, above which an equal row is no coincidence: at .902 a fifth of
# new normal rows equalled a training row
DISTINCT = 0.99
FEWEST = 10  # rows of which most equal training rows, so that it is said that they are not left out


def check(training: str) -> None:
    """Raise a ValueError for an unknown way to answer training rows."""
    if training not in (AUTO, AS_NEW):
        raise ValueError(f"training must be {AUTO!r} or {AS_NEW!r}, got {training!r}")


def single(rows: np.ndarray) -> tuple[dict[bytes, int], bool]:
    """Return the number of each row (n, p) that equals no other, and whether many rows repeat."""
    first, number = repeats.distinct(rows)
    alone = first[np.bincount(number) == 1]
    numbers = dict(zip(_as_bytes(rows[alone]), alone.tolist(), strict=True))
    return numbers, len(first) < DISTINCT * len(rows)


def places(known: dict[bytes, int], rows: np.ndarray) -> np.ndarray:
    """Return the number of the training row that each row (m, p) equals; -1 for none."""
    if not known:  # no row needs to be looked up
        return np.full(len(rows), -1)
    return np.array([known.get(row, -1) for row in _as_bytes(rows)], dtype=int)


def _as_bytes(rows: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in rows.astype(float) + 0.0]  # -0.0 is 0.0


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that a fit is asked about: new ones, and training rows, which are left out.

    Attributes
    ----------
    table : ndarray of shape (m, p)
        In the form that the kernel expects.
    place : ndarray of int, shape (m,)
        The number of the training row that each is; -1 for a new row.
    imputations : Imputations or None
        Of the rows with gaps; None if gaps have their middle values only.
    """

    table: np.ndarray
    place: np.ndarray
    imputations: Imputations | None = None

    def __len__(self) -> int:
        return len(self.table)

    @property
    def filled(self) -> Self:
        """The rows with the middle values in their gaps."""
        return replace(self, imputations=None)

    def answered(
        self, as_new: Answers, of_training: Answers, of_ways: AnswersOfWays | None = None
    ) -> np.ndarray:
        """Return an answer to each row, shape (..., m).

        Parameters
        ----------
        as_new : callable
            Takes rows (q, p).
        of_training : callable
            Takes numbers of training rows.
        of_ways : callable, optional
            Takes the imputations of new rows with gaps; None if gaps have their middle values.
        """
        known, new = np.flatnonzero(self.place >= 0), np.flatnonzero(self.place < 0)
        parts = [(known, of_training(self.place[known]))] if len(known) else []
        if self.imputations is not None and of_ways is not None:
            ways = self.imputations.among(new)
            for start in range(0, len(ways), BLOCK):
                some = ways.part(slice(start, start + BLOCK))
                parts.append((new[some.which], of_ways(some)))
            new = np.delete(new, ways.which)
        if len(new) or not parts:
            parts.append((new, as_new(self.table if len(new) == len(self) else self.table[new])))
        if len(parts) == 1:
            return parts[0][1]
        found = np.empty((*parts[0][1].shape[:-1], len(self)), parts[0][1].dtype)
        for which, answers in parts:
            found[..., which] = answers
        return found
