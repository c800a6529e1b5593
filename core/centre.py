r"""Draws of a centre a = sum_g w_g u_g, and what speaks for a row and against it.

:math:`s_z = \langle \phi(z), a \rangle = s_A - s_B`, of the points of the majority and of the
minority. What speaks for z is p, and against it q, so that z is within a cutoff if p - q is:

- for a normalised kernel p - q = s_A - s_B, each class on the side of its sign;
- else p = 0 and :math:`q = \|\phi(z) - a\|^2 / 2 = (k(z, z) - 2 s_z + \|a\|^2) / 2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .points import Rows
from .scale import log

Parts = tuple[np.ndarray, np.ndarray]  # log p and log q, (S, rows) each


@dataclass(frozen=True, eq=False)
class Centre:
    """Weights (S, M), of which the last n1 are of minority points.

    ``norm`` is the squared norm of the centre (S,) for a kernel that is not normalised.
    """

    w: np.ndarray
    n1: int
    norm: np.ndarray | None = None

    @property
    def m(self) -> int:
        """The number of majority points."""
        return self.w.shape[1] - self.n1

    @property
    def total(self) -> np.ndarray:
        """The weight (S, 1) of the majority."""
        return self.w[:, : self.m].sum(axis=1, keepdims=True)

    def parts(self, rows: Rows) -> Parts:
        """Return log p and log q of rows, each without what leaves with it.

        With t the majority's weight, and :math:`v_A, v_B` the weights that leave, what the majority
        adds is multiplied by :math:`(t + v_B) / (t - v_A)`: the weights keep their sum.
        """
        m, t = self.m, self.total
        of_majority = self.w[:, :m] @ rows.k[:, :m].T
        if rows.gone.nnz:
            v_A = (rows.gone[:, :m] @ self.w[:, :m].T).T
            v_B = (rows.gone[:, m:] @ self.w[:, m:].T).T
            of_majority *= (t + v_B) / np.maximum(t - v_A, 1e-12 * np.abs(t))
        of_minority = self.w[:, m:] @ rows.k[:, m:].T
        return for_and_against(of_majority, of_minority, rows, self.norm)

    def __getitem__(self, draws: Any) -> Centre:
        return Centre(self.w[draws], self.n1, None if self.norm is None else self.norm[draws])


def for_and_against(
    of_majority: np.ndarray, of_minority: np.ndarray, rows: Rows, norm: np.ndarray | None
) -> Parts:
    """Return log p and log q, from what both classes add to e^-L s, (S, rows) each."""
    if norm is not None:
        half = (norm[:, None] + rows.diag) / 2.0 - of_majority - of_minority
        return np.full(half.shape, -np.inf), log(half)
    p = np.maximum(of_majority, 0.0) + np.maximum(of_minority, 0.0)
    q = np.maximum(-of_majority, 0.0) + np.maximum(-of_minority, 0.0)
    return log(p) + rows.L, log(q) + rows.L
