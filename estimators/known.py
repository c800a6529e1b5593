"""Rows that are training rows: they are known again, and answered without themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Answers = Callable[[np.ndarray], np.ndarray]  # of rows, or of numbers of training rows

AUTO, AS_NEW = "auto", "as new"
# share of training rows that differ, above which an equal row is no coincidence: at .902 a fifth of
# new normal rows equalled a training row
DISTINCT = 0.99


def check(training: str) -> None:
    """Raise a ValueError for an unknown way to answer training rows."""
    if training not in (AUTO, AS_NEW):
        raise ValueError(f"training must be {AUTO!r} or {AS_NEW!r}, got {training!r}")


def single(rows: np.ndarray) -> dict[bytes, int]:
    """Return the number of each row (n, p) that equals no other; none where many rows repeat."""
    found: dict[bytes, list[int]] = {}
    for number, row in enumerate(_as_bytes(rows)):
        found.setdefault(row, []).append(number)
    if len(found) < DISTINCT * len(rows):
        return {}
    return {row: numbers[0] for row, numbers in found.items() if len(numbers) == 1}


def places(known: dict[bytes, int], rows: np.ndarray) -> np.ndarray:
    """Return the number of the training row that each row (m, p) equals; -1 for none."""
    if not known:  # no row needs to be looked up
        return np.full(len(rows), -1)
    return np.array([known.get(row, -1) for row in _as_bytes(rows)], dtype=int)


def _as_bytes(rows: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in rows.astype(float) + 0.0]  # -0.0 is 0.0


def answered(
    rows: np.ndarray, place: np.ndarray, as_new: Answers, of_training: Answers
) -> np.ndarray:
    """Return answers (..., m) of rows: as new ones where ``place`` is -1.

    Parameters
    ----------
    rows : ndarray of shape (m, p)
    place : ndarray of int, shape (m,)
        The number of the training row that each row is; -1 for none.
    as_new : callable
        Takes rows.
    of_training : callable
        Takes numbers of training rows.
    """
    is_known = place >= 0
    if not is_known.any():
        return as_new(rows)
    known = of_training(place[is_known])
    found = np.empty((*known.shape[:-1], len(rows)), known.dtype)
    found[..., is_known] = known
    if not is_known.all():
        found[..., ~is_known] = as_new(rows[~is_known])
    return found
