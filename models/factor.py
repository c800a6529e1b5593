"""Cholesky factors of posterior precisions, with an error that says what to do."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky


def upper(precision: np.ndarray, model: str) -> np.ndarray:
    """Return the upper triangular U of the posterior precision U'U of ``model``.

    Raises
    ------
    ValueError
        The precision is not positive definite in double precision.
    """
    try:
        factor: np.ndarray = cholesky(precision)
    except LinAlgError as error:
        raise ValueError(
            f"the posterior precision of {model} is not positive definite in double precision: the "
            "kernel matrix is nearly singular, and the prior precision is too small compared with "
            "likelihood_scale x n0; use a smaller likelihood_scale or prior sd, or centre and "
            "scale the columns"
        ) from error
    return factor
