r"""Points of a centre: means of rows in kernel space, and how rows compare with them.

A member is a set of equal rows, and :math:`u_g = N_g^{-1} \sum_{j \in g} T_j \phi(x_j)`
over the members j of point g, :math:`T_j = \sum_u C_{ju}` the weights of their rows by
units and :math:`N_g
= \sum T_j`. A batch is one point, equal rows are one, and of many points similar members are one.
:math:`e_g = N_g^2 / \sum_u (\sum_{j \in g} C_{ju})^2` is the number of equal units of which the
point is as sure. Minority points are the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse

from .kernels import Kernel
from .scale import log
from .units import Units

BLOCK = 2**21
NONE = 1e-12
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows (m,) beside the points, without the rows themselves, as far as they have not left.

    Attributes
    ----------
    k, L : ndarray of shape (m, M) and (m,)
        e^L k are the kernel values with the points.
    diag : ndarray of shape (m,)
        k(z, z).
    nearest : ndarray of shape (m,)
        Log of the largest k with a majority row.
    sums, squares, others : ndarray of shape (m,)
        Sums of k, of k^2 and of 1 over the majority that stays, by weight.
    gone : sparse array of shape (m, M)
        The share of each point that leaves with the row; 0 if the row is new.
    """

    k: np.ndarray
    L: np.ndarray
    diag: np.ndarray
    nearest: np.ndarray
    sums: np.ndarray
    squares: np.ndarray
    others: np.ndarray
    gone: sparse.csr_array

    def __getitem__(self, rows: Any) -> Rows:
        return replace(
            self, **{name: value[rows] for name, value in vars(self).items()}
        )

    @classmethod
    def joined(cls, parts: Iterable[tuple[np.ndarray, Rows]]) -> Rows:
        """Return the rows of parts (places, rows), each in its place."""
        places, found = zip(*parts, strict=True)
        whole = {
            name: np.concatenate([getattr(part, name) for part in found])
            for name in vars(found[0])
            if name != "gone"
        }
        gone = sparse.vstack([part.gone for part in found], format="csr")
        return cls(**whole, gone=gone)[np.argsort(np.concatenate(places))]


@dataclass(frozen=True, eq=False)
class Points:
    """The members of the points.

    Attributes
    ----------
    members : ndarray of int, shape (R,)
        A training row of each member.
    point : ndarray of int, shape (R,)
        That of each member, in rising order.
    C : sparse array of shape (R, U)
        The weight of each member by unit.
    n1 : int
        The number of minority points, the last ones.
    of_row : ndarray of int, shape (n,)
        The point of each training row; -1 for rows that are of none.
    """

    members: np.ndarray
    point: np.ndarray
    C: sparse.csr_array
    n1: int
    of_row: np.ndarray

    @classmethod
    def of(
        cls, kernel: Kernel, Z: np.ndarray, units: Units, minority: bool, most: int
    ) -> Self:
        """Return the points of rows with coordinates Z (n, q).

        Minority rows are points if ``minority``. Beyond ``most`` batches, or other
        members of the majority, similar members are one point.
        """
        i = units.majority
        minor = units.counted(units.minority & minority)
        batch = units.batch[i] if len(units.taught) <= most else np.full(len(i), -1)
        pair = (
            units.value[i] * (len(units) + 1) + batch
        )  # one number for the rows of a member
        _, first, member = np.unique(pair, return_index=True, return_inverse=True)
        of_batch = batch[first]
        alone = np.arange(len(first))
        single = alone if (batch >= 0).any() else grouped(kernel, Z[i[first]], most)
        point = pd.factorize(np.where(of_batch < 0, single, len(first) + of_batch))[0]
        order = np.argsort(point, kind="stable")
        first = first[order]
        point = point[order]
        member = np.argsort(order)[member]
        new = np.arange(len(minor))
        counted = np.append(i, minor)
        point = np.append(point, point.max() + 1 + new)
        member = np.append(member, len(first) + new)
        C = sparse.csr_array(
            (units.weight[counted], (member, units.unit[counted])),
            (len(point), len(units)),
        )
        of_row = np.full(len(Z), -1)
        of_row[counted] = point[member]
        return cls(np.append(i[first], minor), point, C, len(minor), of_row)

    @cached_property
    def weights(self) -> np.ndarray:
        """T, (R,)."""
        return np.asarray(self.C.sum(axis=1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """N_g, (M,)."""
        return np.bincount(self.point, self.weights)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first member of each point, (M,)."""
        return np.searchsorted(self.point, np.arange(len(self.sizes)))

    @cached_property
    def share(self) -> sparse.csr_array:
        """What a weight of 1 of each member is of its point, (R, M)."""
        each = np.arange(len(self.point))
        return sparse.csr_array((1.0 / self.sizes[self.point], (each, self.point)))

    @cached_property
    def effective(self) -> np.ndarray:
        """e_g, (M,)."""
        by_unit = (self.share.T > 0) @ self.C
        return np.asarray(self.sizes**2 / by_unit.power(2).sum(axis=1))

    @property
    def majority(self) -> slice:
        """The members of the majority."""
        return slice(len(self.point) - self.n1)

    @cached_property
    def leaving(self) -> sparse.csr_array:
        """The weights of the members that leave with each unit, and none, (U + 1, R)."""
        return sparse.vstack(
            [self.C.T, sparse.csr_array((1, len(self.point)))], format="csr"
        )

    def rows(
        self, kernel: Kernel, Y: np.ndarray, rows: np.ndarray, unit: np.ndarray
    ) -> Rows:
        """Return rows (m, q) beside the members Y (R, q); ``unit`` (m,) leaves, -1 for none."""
        leaving = self.leaving[unit]

        def of_block(i: np.ndarray) -> Arrays:
            return self._rows(kernel, Y, rows[i], leaving[i])

        parts = in_blocks(of_block, np.arange(len(rows)), len(Y))
        others = self.weights[self.majority].sum() - leaving[:, self.majority].sum(
            axis=1
        )
        k, L, diag, nearest, sums, squares = parts
        gone = leaving @ self.share
        return Rows(k, L, diag, nearest, sums, squares, np.asarray(others), gone)

    def _rows(
        self, kernel: Kernel, Y: np.ndarray, Z: np.ndarray, leaving: Any
    ) -> Arrays:
        leaving = leaving.tocoo()
        w = self.weights
        majority = self.majority
        at = row, member = leaving.coords
        stay = 1.0 - leaving.data / w[member]
        stay[stay <= NONE] = 0.0
        k, L = scaled(kernel, Z, Y, (row[stay == 0.0], member[stay == 0.0]))
        nearest = log(k[:, majority].max(axis=1)) + L if kernel.normalized else L
        part = np.where(
            member < majority.stop, w[member] * stay * (1.0 - stay) * k[at] ** 2, 0.0
        )
        k[at] *= stay
        weighted = k * w
        sums = np.exp(L) * weighted[:, majority].sum(axis=1)
        squares = np.vecdot(weighted[:, majority], k[:, majority])
        squares = np.exp(2.0 * L) * (squares + np.bincount(row, part, len(Z)))
        pooled = np.add.reduceat(weighted, self.starts, axis=1) / self.sizes
        return pooled, L, kernel.diag(Z), nearest, sums, squares

    def spread(
        self, kernel: Kernel, Y: np.ndarray, rows: np.ndarray, unit: np.ndarray
    ) -> np.ndarray:
        r"""Return n0^2 times the variance (m,) of a row's mean similarity between samples of units.

        It is :math:`n_0 n \sum_u s_u^2 (\bar k_u - \bar k)^2 / (1 - \sum_u s_u^2)` over
        the units that stay, of weight n, shares :math:`s_u` of it and mean similarities
        :math:`\bar k_u` (Liang and Zeger 1986).
        """
        C = self.C[self.majority]
        some = np.flatnonzero(
            C.sum(axis=0) > 0.0
        )  # so that minority units change no sum
        C = C[:, some]
        stay = np.ones((len(rows), len(some)))
        stay[np.arange(len(rows)), np.searchsorted(some, unit)] = 0.0
        sums = kernel(rows, Y[self.majority]) @ C
        sizes = C.sum(axis=0)
        n = stay @ sizes
        mean = np.vecdot(stay, sums) / n
        squares = np.vecdot(stay, (sums - mean[:, None] * sizes) ** 2)
        few = np.maximum(1.0 - stay @ sizes**2 / n**2, NONE)
        return np.asarray(sizes.sum() / n * squares / few)


def scaled(
    kernel: Kernel, Z: np.ndarray, Y: np.ndarray, hidden: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return e^-L k (m, R) and L (m,); the largest of a row is 1 if k has a logarithm.

    k is 0 at the hidden places.
    """
    if not kernel.normalized:
        k = kernel(Z, Y)
        k[hidden] = 0.0
        return k, np.zeros(len(k))
    k = kernel.log(Z, Y)
    k[hidden] = -np.inf
    L = k.max(axis=1)
    L[np.isneginf(L)] = 0.0
    k -= L[:, None]
    return np.exp(k, out=k), L


def blocks(n: int, width: int) -> Iterator[np.ndarray]:
    """Yield the numbers 0, ..., n - 1 in blocks, one empty block for n = 0."""
    step = max(1, BLOCK // max(1, width))
    for start in range(0, max(1, n), step):
        yield np.arange(start, min(start + step, n))


def in_blocks(
    function: Callable[[np.ndarray], Arrays], rows: np.ndarray, width: int
) -> Arrays:
    """Return the joined arrays of a function of blocks of rows that returns several."""
    parts = [function(rows[i]) for i in blocks(len(rows), width)]
    return (
        parts[0]
        if len(parts) == 1
        else tuple(map(np.concatenate, zip(*parts, strict=True)))
    )


def grouped(kernel: Kernel, members: np.ndarray, most: int) -> np.ndarray:
    """Return the point (R,) of each member: of many, each joins the nearest of ``most`` seeds."""
    if len(members) <= most:
        return np.arange(len(members))
    seeds = members[np.random.default_rng(0).permutation(len(members))[:most]]
    half = 0.0 if kernel.normalized else kernel.diag(seeds) / 2.0
    of_pairs = kernel.log if kernel.normalized else kernel

    def nearest(Z: np.ndarray) -> Arrays:
        return (np.argmax(of_pairs(Z, seeds) - half, axis=1),)

    return np.unique(in_blocks(nearest, members, len(seeds))[0], return_inverse=True)[1]
