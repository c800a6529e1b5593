r"""The derivatives of the weights by their parameters, if they are a diagonal and an outer product.

.. math:: J = \mathrm{diag}(d) + u v^\top

So it is for softmax weights, :math:`J = \mathrm{diag}(w) - w w^\top`, and for those with minority
weights whose total scales them. Then :math:`J^\top K J` costs what its entries cost,

.. math:: J^\top K J = D K D + a v^\top + v a^\top + (u^\top K u)\, v v^\top, \qquad
    D = \mathrm{diag}(d), \quad a = D K u,

in place of two products of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

ROUNDING = 1e-12  # of the products with random vectors, relative to the largest
BLOCK = 256  # rows that stay in the cache

Products = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True, eq=False)
class DiagonalAndOuter:
    """The matrix diag(d) + u v', with d, u and v of shape (n,)."""

    d: np.ndarray
    u: np.ndarray
    v: np.ndarray

    @classmethod
    def of(cls, products: Products, n: int) -> Self | None:
        """Return the parts of an (n, n) matrix J that is only known by its products.

        Parameters
        ----------
        products : callable
            Takes two vectors u and v, and returns J v and J'u.
        n : int

        Returns
        -------
        DiagonalAndOuter or None
            None if J has another form: products with random vectors differ.
        """
        if n < 3:  # the entries of u and v outside the diagonal do not determine them
            return None
        rng = np.random.default_rng(0)
        left, right = rng.standard_normal((2, n))
        J_right, left_J = products(left, right)
        found = cls._from_rows(products, n)
        for mine, known in (
            (found.d * right + found.u * (found.v @ right), J_right),
            (found.d * left + found.v * (found.u @ left), left_J),
        ):
            # "not <=" instead of ">", so that NaN is another form
            if not np.abs(mine - known).max() <= ROUNDING * np.abs(known).max():
                return None
        return found

    @classmethod
    def _from_rows(cls, products: Products, n: int) -> Self:
        """Return the parts that follow from two rows, two columns and the row sums."""
        unit, sums = np.eye(1, n)[0], products(np.ones(n), np.ones(n))[0]
        probe = np.abs(products(unit, unit)[1])  # the first row
        probe[0] = 0.0
        q = int(probe.argmax())  # a column with a large entry outside the diagonal
        column = products(np.zeros(n), np.eye(1, n, q)[0])[0]
        beside = np.abs(column)
        beside[q] = 0.0
        p = int(beside.argmax())  # and its row
        if column[p] == 0.0:  # no outer product
            return cls(sums, np.zeros(n), np.zeros(n))
        row = products(np.eye(1, n, p)[0], np.zeros(n))[1]
        beside[p] = 0.0
        r = int(beside.argmax())  # another row gives v_p, another column u_q
        other_row = products(np.eye(1, n, r)[0], np.zeros(n))[1]
        at = np.abs(row)
        at[[p, q]] = 0.0
        c = int(at.argmax())
        other_column = products(np.zeros(n), np.eye(1, n, c)[0])[0]
        u, v = column / column[p], row.copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            v[p] = other_row[p] / u[r]
            u[q] = other_column[q] / v[c]
        return cls(sums - u * v.sum(), u, v)

    def add_congruence(self, H: np.ndarray, K: np.ndarray, factor: float) -> None:
        """Add factor J'KJ, for a symmetric K, to the matrix H, all of shape (n, n)."""
        Ku = K @ self.u
        a = self.d * Ku
        b = a + (self.u @ Ku) * self.v
        for start in range(0, len(H), BLOCK):
            rows = slice(start, start + BLOCK)
            part = (factor * self.d[rows, None]) * K[rows]
            part *= self.d
            part += np.outer(factor * a[rows], self.v)
            part += np.outer(factor * self.v[rows], b)
            H[rows] += part
