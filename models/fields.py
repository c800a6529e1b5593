"""Checks of parameters; the errors of those of priors name the prior and its field."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

SMALLEST = 1e-100  # whose square, and the inverse of that, are finite


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number, which a boolean is not meant as."""
    return isinstance(value, Real) and not isinstance(value, bool)


def require_positive(prior: Any, field: str, value: Any) -> None:
    """Raise an error unless ``value`` is a positive number whose square is one too."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{type(prior).__name__}: {field} must be a number, got {value!r}")
    if not SMALLEST <= value <= 1 / SMALLEST:
        square = " (its square is not)" if 0 < value < np.inf else ""
        raise ValueError(
            f"{type(prior).__name__}: {field} must be positive and finite, got {value!r}{square}"
        )


# tuples, so that a prior stays a value that can be compared, copied and saved


def vector(prior: Any, field: str, given: Any) -> tuple[float, ...]:
    """Return ``given`` as finite numbers."""
    v = np.asarray(given, dtype=float)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise ValueError(
            f"{type(prior).__name__}: {field} must be a list of finite numbers, got {given!r}"
        )
    return tuple(v.tolist())


def covariance(prior: Any, field: str, given: Any) -> tuple[tuple[float, ...], ...]:
    """Return ``given`` as a symmetric and positive definite matrix."""
    name, S = type(prior).__name__, np.asarray(given, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"{name}: {field} must be a square matrix, got shape {S.shape}")
    symmetric = np.isfinite(S).all() and np.allclose(S, S.T)
    if not symmetric or np.linalg.eigvalsh(S)[0] <= 0:
        raise ValueError(f"{name}: {field} must be symmetric and positive definite")
    return tuple(map(tuple, S.tolist()))


def points(
    prior: Any, field: str, given: int, n: int, place: np.ndarray | None, which: str
) -> np.ndarray:
    """Return which of the values given are those of the n points, in a fold or all."""
    if place is not None and place.max() < given:
        return place
    if given != n:
        raise ValueError(
            f"{type(prior).__name__}: {field} has {given} values, but there are {n} {which} rows"
        )
    return np.arange(n)
