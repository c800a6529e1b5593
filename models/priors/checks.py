"""Checks of the fields of priors; the errors name the prior and its field."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import SMALLEST


def require_positive(prior: Any, field: str, value: Any) -> None:
    """Raise an error unless ``value`` and its square are positive and finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise TypeError(f"{type(prior).__name__}: {field} must be a number, got {value!r}")
    if not SMALLEST <= value <= 1 / SMALLEST:
        square = " (its square is not)" if 0 < value < np.inf else ""
        raise ValueError(
            f"{type(prior).__name__}: {field} must be positive and finite, got {value!r}{square}"
        )


# The next two return tuples, so that a prior stays a value that can be compared and saved.


def as_vector(prior: Any, field: str, value: Any) -> tuple[float, ...]:
    """Return ``value`` as a tuple of finite numbers."""
    v = np.asarray(value, dtype=float)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise ValueError(
            f"{type(prior).__name__}: {field} must be a list of finite numbers, got {value!r}"
        )
    return tuple(v.tolist())


def as_covariance(prior: Any, field: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """Return ``value`` as a symmetric and positive definite matrix."""
    name, S = type(prior).__name__, np.asarray(value, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"{name}: {field} must be a square matrix, got shape {S.shape}")
    symmetric = np.isfinite(S).all() and np.allclose(S, S.T)
    if not symmetric or np.linalg.eigvalsh(S)[0] <= 0:
        raise ValueError(f"{name}: {field} must be symmetric and positive definite")
    return tuple(map(tuple, S.tolist()))


def indices(
    prior: Any, field: str, length: int, n: int, fold: np.ndarray | None, kind: str
) -> np.ndarray:
    """Return the indices of the values of a field that belong to the n points of the dictionary.

    Parameters
    ----------
    prior : prior
    field : str
    length : int
        Number of values in the field.
    n : int
        Number of points.
    fold : ndarray of int, shape (n,), or None
        In a fold, the indices of its points among those of the whole fit.
    kind : {"majority", "minority"}
        The class of the points, for the error.

    Raises
    ------
    ValueError
        The number of values is not the number of points.
    """
    if fold is not None and fold.max() < length:
        return fold
    if length != n:
        raise ValueError(
            f"{type(prior).__name__}: {field} has {length} values, but there are {n} {kind} rows"
        )
    return np.arange(n)
