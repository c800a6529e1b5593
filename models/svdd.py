r"""SVDD and SVDD-M, support vector data description (Tax and Duin 2004).

.. math:: \min_w \tfrac12 w^\top K w - b^\top w, \qquad \textstyle\sum w = 1, \qquad
    0 \le w_g \le C_1 N_g, \qquad -C_2 N_g \le w_g \le 0

for majority and minority points, with :math:`b_g` half the mean of k(x, x) over the
rows of a point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .gram import Gram
from .quadratic_program import minimize

AT_BOUND = 1e-6  # share of its range within which a weight is at its bound
RIDGE = 1e-8  # of the mean k(x, x)
ROUNDING = 1e-7  # of d^2, relative to k(x, x)


@dataclass(frozen=True, eq=False)
class Sphere:
    """The weights (M,) of the centre, and their bounds (M,)."""

    gram: Gram
    weights: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @cached_property
    def squared_distances(self) -> np.ndarray:
        """d^2 of the points, (M,)."""
        Kw = self.gram.K @ self.weights
        return np.asarray(self.gram.diag - 2.0 * Kw + self.weights @ Kw)

    @property
    def on(self) -> np.ndarray:
        """The points on the sphere, whose weights are at no bound."""
        room = AT_BOUND * (self.upper - self.lower)
        w = self.weights
        return np.flatnonzero((w > self.lower + room) & (w < self.upper - room))

    @property
    def squared_radius(self) -> float:
        """R^2, the mean of d^2 on the sphere; without such points the middle of what is optimal."""
        d2 = self.squared_distances
        if len(self.on):
            return float(d2[self.on].mean())
        majority = np.arange(len(d2)) < self.gram.m
        outside = majority == (
            np.abs(self.weights) > AT_BOUND * (self.upper - self.lower)
        )
        ends = [d2[~outside].max()] if not outside.all() else []
        return float(np.mean([*ends, d2[outside].min()] if outside.any() else ends))

    @property
    def boundary(self) -> float:
        """The largest distance of a normal row: the radius, and rounding."""
        largest = float(np.abs(self.gram.diag).max())
        return float(np.sqrt(max(self.squared_radius, 0.0) + ROUNDING * largest))

    def without(self, point: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the weights (m, M) without a share (m,) of one point (m,).

        What stays of point g keeps what it has room for. The rest moves to the affine
        combination of the points F on the sphere that is nearest to u_g (Vapnik and
        Chapelle 2000). With J the inverse of the matrix [K_FF, 1; 1', 0], its weights
        are J [K_Fg; 1], or -J_ig / J_gg if g itself is one of them. If the centre is
        one point, what stays of it keeps all.
        """
        w = self.weights
        K = self.gram.K
        F = self.on
        each = np.arange(len(point))
        F = (
            F
            if len(F) > 1
            else np.flatnonzero(np.abs(w) > AT_BOUND * (self.upper - self.lower))
        )
        stay = (1.0 - share) * np.where(w < 0.0, self.lower, self.upper)[point]
        out = w[point] - stay
        rest = np.where(w[point] < 0.0, np.minimum(out, 0.0), np.maximum(out, 0.0))
        if len(F) == 1:
            rest = np.where(share < 1.0, 0.0, rest)
            F = np.arange(len(w))
        f = len(F)
        one = np.ones((1, len(w)))
        ridge = RIDGE * self.gram.diag.mean() * np.eye(f)
        J = np.block(
            [[K[np.ix_(F, F)] + ridge, one.T[F]], [one[:, F], np.zeros((1, 1))]]
        )
        J = np.linalg.inv(J)
        nearest = J[:f] @ np.vstack([K[F], one])
        if f > 1:
            nearest[:, F] = np.eye(f) - J[:f, :f] / np.diag(J)[:f]
        found = np.tile(w, (len(point), 1))
        found[:, F] += rest[:, None] * nearest[:, point].T
        found[each, point] -= rest
        found[each, point] /= np.where(
            share < 1.0, 1.0 - share, 1.0
        )  # of the rows that stay
        return found

    def without_shares(self, gone: np.ndarray) -> np.ndarray:
        """Return the weights (M,) of a fit without the shares ``gone`` (M,) of the points."""
        gram = self.gram
        stay = np.flatnonzero(gone < 1.0 - 1e-12)
        rest = (1.0 - gone)[stay]
        found = np.zeros(len(gone))
        less = replace(
            gram,
            K=gram.K[np.ix_(stay, stay)],
            diag=gram.diag[stay],
            sizes=gram.sizes[stay] * rest,
            effective=gram.effective[stay],
            n1=int((stay >= gram.m).sum()),
        )
        n0 = less.n0 / gram.n0
        n1 = less.minority_weights.sum() / (gram.sizes[gram.m :].sum() or 1.0)
        majority = stay < gram.m
        lower = self.lower[stay] * np.where(majority, 0.0, rest / (n1 or 1.0))
        upper = self.upper[stay] * np.where(majority, rest / n0, 0.0)
        found[stay] = minimize(less.K, less.diag / 2.0, lower, upper) / rest
        return found


def solve(gram: Gram, C1: float, C2: float | None = None) -> Sphere:
    """Return the solution.

    Parameters
    ----------
    gram : Gram
    C1 : float
        Penalty on the slack of a majority row, and its largest weight.
    C2 : float, optional
        The same for a minority row; required if there are minority rows.

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
    return Sphere(gram, minimize(gram.K, gram.diag / 2.0, lower, upper), lower, upper)
