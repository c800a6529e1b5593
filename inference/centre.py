r"""Draws of a centre a = sum_g w_g u_g, and what speaks for a row and against it.

:math:`s_z = \langle \phi(z), a \rangle = s_A - s_B`, of the points of the majority and of the
minority. What speaks for z is p, and against it q, so that z is within a cutoff if p -
q is:

- for a normalised kernel p - q = s_A - s_B, each class on the side of its sign;
- else p = 0 and :math:`q = \|\phi(z) - a\|^2 / 2 = (k(z, z) - 2 s_z + \|a\|^2) / 2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models.points import NONE, Rows
from ..models.scale import log

NOTHING = np.zeros((1, 1))


@dataclass(frozen=True, eq=False)
class Parts:
    """What speaks for rows and against them in each draw.

    Attributes
    ----------
    p, q : ndarray of shape (S, rows), or (1, 1) for 0
        Divided by e^L.
    L : ndarray of shape (rows,) or (S, rows)
    nearest : ndarray of shape (rows,) or (S, rows)
        Log of the largest k with a majority row.
    """

    p: np.ndarray
    q: np.ndarray
    L: np.ndarray
    nearest: np.ndarray

    @property
    def log_p(self) -> np.ndarray:
        """Log p."""
        return self._log(self.p)

    @property
    def log_q(self) -> np.ndarray:
        """Log q."""
        return self._log(self.q)

    def _log(self, part: np.ndarray) -> np.ndarray:
        if part is NOTHING:
            return np.full((1, self.L.shape[-1]), -np.inf)
        return log(part) + self.L

    @property
    def against(self) -> np.ndarray:
        """What speaks against rows, less what speaks for them: q - p, (S, rows)."""
        return np.asarray((self.q - self.p) * np.exp(self.L))


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
        """Return what speaks for rows and against them, each without what leaves with it.

        With t the majority's weight, and :math:`v_A, v_B` the weights that leave, what
        the majority adds is multiplied by :math:`(t + v_B) / (t - v_A)`: the weights
        keep their sum.
        """
        m = self.m
        t = self.total
        of_majority = self.w[:, :m] @ rows.k[:, :m].T
        if rows.gone.nnz:
            v_A = (rows.gone[:, :m] @ self.w[:, :m].T).T
            v_B = (rows.gone[:, m:] @ self.w[:, m:].T).T
            of_majority *= (t + v_B) / staying(t, v_A)
        of_minority = self.w[:, m:] @ rows.k[:, m:].T if self.n1 else NOTHING
        return for_and_against(of_majority, of_minority, rows, self.norm)

    def __getitem__(self, draws: Any) -> Centre:
        return Centre(
            self.w[draws], self.n1, None if self.norm is None else self.norm[draws]
        )


def staying(t: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Return t - gone, what stays of a weight of any sign; infinite where nothing does."""
    rest = t - gone
    return np.where(np.abs(rest) > NONE * np.abs(t), rest, np.inf)


def for_and_against(
    of_majority: np.ndarray,
    of_minority: np.ndarray,
    rows: Rows,
    norm: np.ndarray | None,
) -> Parts:
    """Return the parts, from what both classes add to e^-L s, (S, rows) each."""
    if norm is not None:
        half = (norm[:, None] + rows.diag) / 2.0 - of_majority - of_minority
        return Parts(NOTHING, half, rows.L, rows.nearest)
    if of_minority is NOTHING and of_majority.min(initial=0.0) >= 0.0:
        return Parts(of_majority, NOTHING, rows.L, rows.nearest)
    p = np.maximum(of_majority, 0.0) + np.maximum(of_minority, 0.0)
    q = np.maximum(-of_majority, 0.0) + np.maximum(-of_minority, 0.0)
    return Parts(p, q, rows.L, rows.nearest)
