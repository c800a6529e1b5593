r"""SVDD and SVDD-M, support vector data description (Tax and Duin 2004).

.. math:: \min_w \tfrac12 w^\top K w - b^\top w, \qquad \textstyle\sum w = 1, \qquad
    0 \le w_g \le C_1 N_g, \qquad -C_2 N_g \le w_g \le 0

for majority and minority atoms, with :math:`b_g` half the mean of k(x, x) over the rows
of an atom.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from .dictionary import Dictionary
from .quadratic_program import minimize

ON_BOUND = 1e-6  # share of its range within which a weight is at its bound
RIDGE_OF_SPHERE = 1e-8  # of the mean k(x, x)
ROUNDED_DISTANCE = 1e-7  # of d^2, relative to k(x, x)


@dataclass(frozen=True, eq=False)
class Sphere:
    """The weights (M,) of the centre, and their bounds (M,)."""

    gram: Dictionary
    weights: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    likelihood_scale: ClassVar[None] = None

    @cached_property
    def squared_distances(self) -> np.ndarray:
        """d^2 of the atoms, (M,)."""
        Kw = self.gram.K @ self.weights
        return np.asarray(self.gram.diag - 2.0 * Kw + self.weights @ Kw)

    @property
    def on(self) -> np.ndarray:
        """The atoms on the sphere, whose weights are at no bound."""
        room = ON_BOUND * (self.upper - self.lower)
        w = self.weights
        return np.flatnonzero((w > self.lower + room) & (w < self.upper - room))

    @property
    def with_weight(self) -> np.ndarray:
        """Which atoms (M,) have a weight."""
        return np.abs(self.weights) > ON_BOUND * (self.upper - self.lower)

    @property
    def squared_radius(self) -> float:
        """R^2, the mean of d^2 on the sphere, else the middle of the optimal values."""
        d2 = self.squared_distances
        if len(self.on):
            return float(d2[self.on].mean())
        majority = np.arange(len(d2)) < self.gram.m
        outside = majority == self.with_weight
        ends = [d2[~outside].max()] if not outside.all() else []
        return float(np.mean([*ends, d2[outside].min()] if outside.any() else ends))

    @property
    def radius(self) -> float:
        """The largest distance of a normal row: R, and rounding."""
        largest = float(np.abs(self.gram.diag).max())
        squared = max(self.squared_radius, 0.0) + ROUNDED_DISTANCE * largest
        return float(np.sqrt(squared))

    @cached_property
    def left_out(self) -> np.ndarray:
        """The weights (a + 1, M) for each left-out problem; the last are the sphere's.

        If one atom leaves, the inverse of the solution gives them; if several leave,
        the sphere is solved anew.
        """
        gone = self.gram.left_out_problems.gone
        number = np.diff(gone.indptr)
        one = number == 1
        many = number > 1
        found = np.tile(self.weights, (gone.shape[0], 1))
        found[one] = self.without(gone[one].indices, gone[one].data)
        shares, same = np.unique(gone[many].toarray(), axis=0, return_inverse=True)
        if len(shares):
            solved = np.array([self.without_shares(each) for each in shares])
            found[many] = solved[same.reshape(-1)]
        return np.vstack([found, self.weights])

    def without(self, atom: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the weights (m, M) without a share (m,) of one atom (m,).

        What stays of atom g keeps what it has room for. The rest moves to the affine
        combination of the atoms F on the sphere that is nearest to u_g (Vapnik and
        Chapelle 2000). With J the inverse of the matrix [K_FF, 1; 1', 0], its weights
        are J [K_Fg; 1], or -J_ig / J_gg if g itself is one of them. If the centre is
        one atom, what stays of it keeps all.
        """
        w = self.weights
        K = self.gram.K
        each = np.arange(len(atom))
        F = self.on if len(self.on) > 1 else np.flatnonzero(self.with_weight)
        stay = (1.0 - share) * np.where(w < 0.0, self.lower, self.upper)[atom]
        out = w[atom] - stay
        rest = np.where(w[atom] < 0.0, np.minimum(out, 0.0), np.maximum(out, 0.0))
        if len(F) == 1:
            rest = np.where(share < 1.0, 0.0, rest)
            F = np.arange(len(w))
        f = len(F)
        one = np.ones((1, len(w)))
        ridge = RIDGE_OF_SPHERE * self.gram.diag.mean() * np.eye(f)
        corner = np.zeros((1, 1))
        J = np.block([[K[np.ix_(F, F)] + ridge, one.T[F]], [one[:, F], corner]])
        J = np.linalg.inv(J)
        nearest = J[:f] @ np.vstack([K[F], one])
        if f > 1:
            nearest[:, F] = np.eye(f) - J[:f, :f] / np.diag(J)[:f]
        found = np.tile(w, (len(atom), 1))
        found[:, F] += rest[:, None] * nearest[:, atom].T
        found[each, atom] -= rest
        stays = np.where(share < 1.0, 1.0 - share, 1.0)
        found[each, atom] /= stays  # of the rows that stay
        return found

    def without_shares(self, gone: np.ndarray) -> np.ndarray:
        """Return the weights (M,) of the sphere when shares ``gone`` (M,) have left."""
        gram = self.gram
        stay = gram.by_value[gone[gram.by_value] < 1.0 - 1e-12]
        rest = (1.0 - gone)[stay]
        sizes = gram.sizes[stay] * rest
        majority = stay < gram.m
        n0 = float(sizes[majority].sum()) / gram.n0
        n1 = sizes[~majority].sum() / (gram.minority_weights.sum() or 1.0)
        lower = self.lower[stay] * np.where(majority, 0.0, rest / (n1 or 1.0))
        upper = self.upper[stay] * np.where(majority, rest / n0, 0.0)
        found = np.zeros(len(gone))
        K = gram.K[np.ix_(stay, stay)]
        found[stay] = minimize(K, gram.diag[stay] / 2.0, lower, upper) / rest
        return found


def solve(gram: Dictionary, C1: float, C2: float | None = None) -> Sphere:
    """Return the sphere.

    Parameters
    ----------
    gram : Dictionary
    C1 : float
        Penalty on the slack of a majority row, and its largest weight.
    C2 : float, optional
        The same for a minority row; required if there are minority rows.

    Returns
    -------
    Sphere

    Raises
    ------
    ValueError
        n0 C1 < 1, so that no weights sum to one; or C2 is missing.
    """
    if gram.n1 and C2 is None:
        raise ValueError(
            "C2, the penalty on the slack of a minority row, is required where there "
            f"are minority rows, got C2=None and n1 = {gram.n1}"
        )
    if not C1 * gram.n0 >= 1.0 - 1e-12:
        raise ValueError(
            f"C must be at least 1/n0 = {1 / gram.n0:.6g} for {gram.n0:g} majority "
            "rows (their weights, of at most C each, must sum to 1 or more), got "
            f"{C1!r}: n0 C = {gram.n0 * C1:.6g}"
        )
    majority = np.arange(len(gram.K)) < gram.m
    total = 1.0 + (C2 or 0.0) * gram.minority_weights.sum()  # as all weights sum to one
    upper = np.where(majority, np.minimum(C1 * gram.sizes, total), 0.0)
    lower = np.where(majority, 0.0, -(C2 or 0.0) * gram.sizes)
    w = minimize(gram.K, gram.diag / 2.0, lower, upper, order=gram.by_value)
    return Sphere(gram, w, lower, upper)
