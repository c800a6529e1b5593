"""The geometry of a weighted centre in kernel space, in NumPy: its norm, and distances to it."""

from __future__ import annotations

import numpy as np

from .gram import Gram

DRAWS_IN_CACHE = 128  # draws in a block that stays in the cache


def potential(w: np.ndarray, gram: Gram, likelihood_scale: float = 1.0) -> np.ndarray:
    r"""Return the kernel potential of the weights, shape (..., M) -> (...).

    .. math:: -\frac{\lambda}{2} \left(T - 2 w^\top r + n_0 w^\top K w\right)

    See :mod:`.potential`.
    """
    return -likelihood_scale / 2 * (gram.T - 2 * w @ gram.r + gram.n0 * squared_norm(w, gram.K))


def squared_norm(w: np.ndarray, K: np.ndarray) -> np.ndarray:
    r"""Return :math:`\|a\|^2 = w^\top K w`, shape (..., M) -> (...)."""
    return np.einsum("...j,...j->...", w @ K, w)


def squared_distance(
    w: np.ndarray,
    norm: np.ndarray,
    k_zu: np.ndarray,
    k_zz: np.ndarray,
    out: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return d_z^2 for each row z and each draw of the weights.

    .. math:: d_z^2 = \|\phi(z) - a\|^2 = k(z, z) - 2 \sum_j w_j k(u_j, z) + w^\top K w

    Parameters
    ----------
    w : ndarray of shape (draws, M)
    norm : ndarray of shape (draws,)
        w'Kw of each draw, see :func:`squared_norm`.
    k_zu : ndarray of shape (q, M)
    k_zz : ndarray of shape (q,)
    out : ndarray of shape (q, draws), optional

    Returns
    -------
    ndarray of shape (q, draws)
        At least 0; negative values, which are rounding errors, are set to 0.
    """
    d2 = np.matmul(k_zu, w.T, out=out)
    d2 *= -2.0
    d2 += norm
    d2 += k_zz[:, None]
    return np.maximum(d2, 0.0, out=d2)


def squared_distance_of_points(Kw: np.ndarray, norm: np.ndarray, k_jj: np.ndarray) -> np.ndarray:
    r"""Return d_j^2 of dictionary points, shape (draws, q).

    .. math:: d_j^2 = k(u_j, u_j) - 2 (K w)_j + w^\top K w

    Parameters
    ----------
    Kw : ndarray of shape (draws, q)
        It is overwritten by the result.
    norm : ndarray of shape (draws,)
    k_jj : ndarray of shape (q,)
    """
    for start in range(0, len(Kw), DRAWS_IN_CACHE):  # a block stays in the cache
        d2 = Kw[start : start + DRAWS_IN_CACHE]
        d2 *= -2.0
        d2 += norm[start : start + DRAWS_IN_CACHE, None]
        d2 += k_jj
        np.maximum(d2, 0.0, out=d2)
    return Kw
