r"""Differences v = p - q of two parts p, q >= 0, known by their logarithms, as one number.

.. math:: t(v) = \operatorname{sign}(v)\, \max(\log|v| + 2000, 0)

grows with v. Where q = 0 it is log p but for a constant, so nothing underflows, and
where v < 0 it is below all of these. A difference smaller than e^-2000 counts as 0.
"""

from __future__ import annotations

import numpy as np

TINY = float(np.finfo(float).tiny)
ZERO = 2000.0


def log(x: np.ndarray | float) -> np.ndarray:
    """Return log x, and that of the smallest positive number for x <= 0."""
    found: np.ndarray = np.log(np.maximum(x, TINY))
    return found


def signed(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Return t(p - q)."""
    apart = np.abs(log_p - log_q)
    size = np.maximum(log_p, log_q) + log(-np.expm1(-apart))
    return np.sign(log_p - log_q) * np.maximum(size + ZERO, 0.0)


def signed_parts(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log p and log q of the smallest p, q with t(p - q) = t; minus infinity for 0."""
    size = np.abs(t) - ZERO
    return np.where(t > 0, size, -np.inf), np.where(t < 0, size, -np.inf)
