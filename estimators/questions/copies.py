"""Copies: rows that are training rows."""

from __future__ import annotations

import numpy as np

from ..fit import Fit

DISTINCT = 0.9  # share of training rows that differ, above which an equal row is no coincidence


def _as_bytes(rows: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in rows + 0.0]  # -0.0 is 0.0


def are_training_rows(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Return which rows (m, p) equal a training row in all columns; none where most rows do.

    ``rows`` are in the form that the kernel expects.
    """
    known = set(_as_bytes(fit.data.rows))
    by_chance = fit.data.kernel.pairwise or len(known) < DISTINCT * len(fit.data.rows)
    return np.array([row in known and not by_chance for row in _as_bytes(rows)], dtype=bool)
