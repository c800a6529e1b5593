r"""One number t for a difference v = p - q of parts p, q >= 0, known by their logs.

.. math:: t(v) = \operatorname{sign}(v)\, \max(\log|v| + 2000, 0)

grows with v. It does not underflow: for q = 0 it is log p but for a constant. A
difference smaller than e^-2000 counts as 0.
"""

from __future__ import annotations

import numpy as np

TINY = float(np.finfo(float).tiny)
ZERO = 2000.0


def log(x: np.ndarray | float) -> np.ndarray:
    """Return log x; for x <= 0 the log of the smallest positive number."""
    found = np.asarray(np.maximum(x, TINY))
    return np.log(found, out=found)


def signed(log_p: np.ndarray, log_q: np.ndarray) -> np.ndarray:
    """Return t(p - q)."""
    apart = np.abs(log_p - log_q)
    size = np.maximum(log_p, log_q) + log(-np.expm1(-apart))
    return np.sign(log_p - log_q) * np.maximum(size + ZERO, 0.0)


def signed_parts(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log p and log q of the smallest p, q >= 0 with t(p - q) = t."""
    size = np.abs(t) - ZERO
    return np.where(t > 0, size, -np.inf), np.where(t < 0, size, -np.inf)
