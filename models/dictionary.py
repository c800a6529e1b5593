r"""The dictionary: the atoms of a centre, their Gram statistics, and rows beside them.

An atom is the mean of some rows in kernel space, :math:`u_g = N_g^{-1} \sum_{j \in g}
T_j \phi(x_j)`, over its distinct rows j. Their weights are :math:`T_j = \sum_b C_{jb}`,
a sum over groups b, and :math:`N_g = \sum_j T_j`. A group of several rows is one atom,
equal rows are one atom, and near rows are one where there are many. :math:`e_g = N_g^2
/ \sum_b (\sum_{j \in g} C_{jb})^2` is the effective number of groups behind atom g.
Atoms stand in the order of their first rows, those of the minority last. The Gram
statistics are

.. math::
    n_0 = \sum_g N_g, \qquad T = \sum_i t_i k(x_i, x_i), \qquad
    r_g = \sum_i t_i k(u_g, x_i), \qquad K_{gh} = k(u_g, u_h)

over majority rows :math:`x_i` of weight :math:`t_i` (of mean 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
from scipy import sparse

from ..base.threads import by_block
from .kernels import Kernel
from .rows import Rows, midranks
from .signed import log
from .similarities import Arrays, Similarities, blocks, concatenated, scaled_kernel

STAYS = 1e-12  # a share below which nothing stays
NEAR_CUTOFF = (0.03, 0.33)  # shares of the majority, the least similar first
MOST_NEAR_CUTOFF = 500
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class AtomParts:
    """Parts of atoms: the rows of one group in one atom of the majority.

    Attributes
    ----------
    first : ndarray of int, shape (q,)
        The first training row of each part; parts stand in this order.
    atom : ndarray of int, shape (q,)
    weight : ndarray of shape (q,)
    of_row : ndarray of int, shape (n,)
        The part of each training row; -1 for none.
    """

    first: np.ndarray
    atom: np.ndarray
    weight: np.ndarray
    of_row: np.ndarray


@dataclass(frozen=True, eq=False)
class Dictionary:
    """The atoms of training rows, and their Gram statistics; see the module.

    Attributes
    ----------
    rows : Rows
    kernels : tuple of Kernel
        ``kernels[f]`` has the column scales of the majority rows without fold f, and
        ``kernels[0]`` of all majority rows.
    distinct : ndarray of int, shape (R,)
        One training row for each distinct row of the atoms.
    atom : ndarray of int, shape (R,)
        The atom of each, in rising order.
    group_weights : sparse array of shape (R, B)
        C, the weight of each by group.
    of_row : ndarray of int, shape (n,)
        The atom of each training row; -1 for a row of no atom.
    """

    rows: Rows
    kernels: tuple[Kernel, ...]
    distinct: np.ndarray
    atom: np.ndarray
    group_weights: sparse.csr_array
    of_row: np.ndarray

    @classmethod
    def of(
        cls, kernel: Kernel, rows: Rows, minority: bool = False, most: int = 600
    ) -> Self:
        """Return the dictionary of rows, with the kernel fitted to their majority.

        Minority rows are atoms if ``minority``. Beyond ``most`` groups of several rows,
        or distinct rows of the majority, near rows are one atom.
        """
        i = rows.majority
        kernel = kernel.fit(rows.X[i], rows.weight[i], rows.group[i])
        minor = np.flatnonzero(rows.minority & minority & (rows.weight > 0.0))
        few = len(rows.majority_groups) <= most
        shared = rows.shared_group[i] if few else np.full(len(i), -1)
        # one number for each pair of values and group
        pair = rows.distinct[i] * (rows.n_groups + 1) + shared
        _, first, place = np.unique(pair, return_index=True, return_inverse=True)
        shared = shared[first]
        alone = np.arange(len(first))
        if not (shared >= 0).any():
            alone = nearest_seeds(kernel, kernel.inputs(rows.X)[i[first]], most)
        atom = pd.factorize(np.where(shared < 0, alone, len(first) + shared))[0]
        # atoms, and distinct rows of each, stand in the order of their first rows
        distinct = smallest(i, place)
        atom = np.argsort(np.argsort(smallest(distinct, atom)))[atom]
        order = np.lexsort((distinct, atom))
        atom = atom[order]
        new = np.arange(len(minor))
        counted = np.append(i, minor)
        place = np.append(np.argsort(order)[place], len(first) + new)
        atom = np.append(atom, atom.max() + 1 + new)
        of_row = np.full(len(rows.X), -1)
        of_row[counted] = atom[place]
        C = sparse.csr_array(
            (rows.weight[counted], (place, rows.group[counted])),
            (len(atom), rows.n_groups),
        )
        distinct = np.append(distinct[order], minor)
        return cls.fitted(kernel, rows, distinct, atom, C, of_row)

    @classmethod
    def fitted(cls, kernel: Kernel, rows: Rows, *atoms: Any) -> Self:
        """Return the dictionary of a fitted kernel and of known atoms."""
        i = rows.majority
        fold = rows.fold[i]
        others = (i[fold != f] for f in range(1, fold.max() + 1))
        scaled = (kernel.rescaled(rows.X[j], rows.weight[j]) for j in others)
        return cls(rows, (kernel, *scaled), *atoms)

    @property
    def kernel(self) -> Kernel:
        """The kernel of all majority rows."""
        return self.kernels[0]

    # the atoms

    @cached_property
    def coordinates(self) -> tuple[np.ndarray, ...]:
        """The coordinates of the distinct rows by each kernel, (R, q)."""
        X = self.rows.X[self.distinct]
        return tuple(kernel.inputs(X) for kernel in self.kernels)

    @cached_property
    def n1(self) -> int:
        """The number of minority atoms, each of one row."""
        return int(self.rows.minority[self.distinct].sum())

    @cached_property
    def weights(self) -> np.ndarray:
        """T, (R,)."""
        return np.asarray(self.group_weights.sum(axis=1))

    @cached_property
    def sizes(self) -> np.ndarray:
        """N_g, (M,)."""
        return np.bincount(self.atom, self.weights)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first distinct row of each atom, (M,)."""
        return np.searchsorted(self.atom, np.arange(len(self.sizes)))

    @cached_property
    def share(self) -> sparse.csr_array:
        """1 / N_g for each distinct row and its atom g, (R, M)."""
        each = np.arange(len(self.atom))
        return sparse.csr_array((1.0 / self.sizes[self.atom], (each, self.atom)))

    @cached_property
    def effective(self) -> np.ndarray:
        """e_g, the effective number of groups behind each atom, (M,)."""
        by_group = (self.share.T > 0) @ self.group_weights
        return np.asarray(self.sizes**2 / by_group.power(2).sum(axis=1))

    @property
    def of_majority(self) -> slice:
        """The distinct rows of the majority."""
        return slice(len(self.atom) - self.n1)

    @cached_property
    def leaving(self) -> sparse.csr_array:
        """The weights of distinct rows that leave with each group, (B + 1, R).

        With the last, -1, nothing leaves.
        """
        none = sparse.csr_array((1, len(self.atom)))
        return sparse.vstack([self.group_weights.T, none], format="csr")

    # Gram statistics

    @cached_property
    def _sums(self) -> tuple[np.ndarray, float, np.ndarray]:
        """K, T and ``diag``; a ValueError if the kernel has no finite values."""
        if self.sorted is not self:
            K, T, diag = self.sorted._sums
            return K[np.ix_(self.places, self.places)], T, diag[self.places]
        Y = self.coordinates[0]
        A = self.share.T * self.weights
        some = self.of_majority
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.similarities(self.kernel, Y, Y, np.full(len(Y), -1))
            K = A @ (found.k * np.exp(found.L)[:, None])
            T = float(self.weights[some] @ found.diag[some])
            K = (K + K.T) / 2.0
        if not np.isfinite(K).all():
            raise ValueError(
                f"{self.kernel!r} returned values that are not finite; scale the "
                "columns of X"
            )
        return K, T, np.atleast_1d(A @ found.diag)

    @property
    def K(self) -> np.ndarray:
        """The kernel values of the atoms, (M, M)."""
        return self._sums[0]

    @property
    def T(self) -> float:
        """The sum of k(x, x) over the majority rows, by weight."""
        return self._sums[1]

    @property
    def diag(self) -> np.ndarray:
        """The mean of k(x, x) over the rows of each atom, (M,)."""
        return self._sums[2]

    @cached_property
    def r(self) -> np.ndarray:
        """The sums of kernel values with the majority rows, (M,)."""
        return self.K[:, : self.m] @ self.sizes[: self.m]

    @property
    def m(self) -> int:
        """The number of majority atoms."""
        return len(self.sizes) - self.n1

    @property
    def n0(self) -> float:
        """The weight of the majority, which is its number of rows."""
        return float(self.sizes[: self.m].sum())

    @property
    def groups_in_effect(self) -> float:
        """The effective number of groups behind the majority's atoms."""
        return float(self.effective[: self.m].sum())

    @property
    def minority_weights(self) -> np.ndarray:
        """The weight (n1,) of each minority row."""
        return self.sizes[self.m :]

    @cached_property
    def root(self) -> np.ndarray:
        """N_g / sqrt(e_g), (m,): the sd of an atom's weight if a group's sd is 1."""
        return (self.sizes / np.sqrt(self.effective))[: self.m]

    def squared_norm(self, w: np.ndarray) -> np.ndarray:
        r"""Return :math:`w^\top K w` of weights w (S, M), (S,)."""
        found: np.ndarray = np.vecdot(w @ self.K, w)
        return found

    @cached_property
    def of_themselves(self) -> np.ndarray:
        r"""What groups add to the squared norm by being similar to themselves, (M,).

        .. math:: \kappa_g = (K_{gg} - \rho) / e_g, \qquad
            \rho = \frac{N^\top K N - \sum_g N_g^2 K_{gg} / e_g}
            {n_0^2 - \sum_g N_g^2 / e_g}

        :math:`\rho` is the mean similarity of rows of two groups, so :math:`w^\top K w
        - \sum_g w_g^2 \kappa_g` estimates the squared norm of the population's mean
        without bias. The mean of k(x, x) replaces :math:`K_{gg}` in atoms of several
        groups. Minority atoms have 0.
        """
        m = self.m
        N = self.sizes[:m]
        e = self.effective[:m]
        own = np.where(e > 1.0, self.diag[:m], np.diag(self.K)[:m]) / e
        pairs = N @ self.K[:m, :m] @ N - N**2 @ own
        found = np.zeros(len(self.sizes))
        found[:m] = own - pairs / (self.n0**2 - N**2 @ (1.0 / e)) / e
        return found

    # the atoms by rows

    @cached_property
    def names(self) -> np.ndarray:
        """The names of the atoms, (M,).

        An atom has the name of its first row, and the number of its rows if their
        values differ. Where several rows have one name, atoms are numbered.
        """
        names = self.rows.unique_names[self.first_rows]
        several = np.bincount(self.atom) > 1
        if not several.any():
            return names
        number = np.bincount(self.of_row[self.of_row >= 0])
        texts = [
            f"{name} ({n} rows)" if many else str(name)
            for name, n, many in zip(names, number, several, strict=True)
        ]
        return np.array(texts, dtype=object)

    @cached_property
    def first_rows(self) -> np.ndarray:
        """The first training row of each atom, (M,)."""
        return np.minimum.reduceat(self.distinct, self.starts)

    @cached_property
    def by_value(self) -> np.ndarray:
        """The atoms in the order of their values, minority atoms last, (M,)."""
        some = np.flatnonzero(self.of_row >= 0)
        rank = smallest(self.rows.rank[some], self.of_row[some])
        return np.lexsort((rank, np.arange(len(rank)) >= self.m))

    @cached_property
    def places(self) -> np.ndarray:
        """The place of each atom among ``by_value``, (M,)."""
        return np.argsort(self.by_value)

    @cached_property
    def sorted(self) -> Self:
        """The dictionary with its atoms in the order of their values.

        Draws of its weights do not depend on the order of the rows, to the last bit.
        """
        if (self.by_value[1:] > self.by_value[:-1]).all():
            return self
        atom = self.places[self.atom]
        order = np.lexsort((self.rows.distinct[self.distinct], atom))
        found = type(self)(
            self.rows,
            self.kernels,
            self.distinct[order],
            atom[order],
            self.group_weights[order],
            np.append(self.places, -1)[self.of_row],
        )
        # not computed again
        vars(found)["coordinates"] = tuple(Y[order] for Y in self.coordinates)
        return found

    @cached_property
    def parts(self) -> AtomParts:
        """The rows of one group in one atom of the majority."""
        i = np.sort(self.rows.majority)
        group = self.rows.group[i]
        pair = self.of_row[i] * (self.rows.n_groups + 1) + group
        part, _ = pd.factorize(pair)
        first = i[np.unique(part, return_index=True)[1]]
        of_row = np.full(len(self.of_row), -1)
        of_row[i] = part
        weight = np.bincount(part, self.rows.weight[i])
        return AtomParts(first, self.of_row[first], weight, of_row)

    def at_points(self, name: str, values: Any, minority: bool = False) -> np.ndarray:
        """Return values of training rows at the atoms of a class.

        Parameters
        ----------
        name : str
            What the values are, for errors.
        values : float, array-like of shape (n,) or (n, n), Series, DataArray or dict
            With names they are matched by the names of the rows, else by order.
        minority : bool, default=False
            Whether the atoms of the minority are meant.

        Returns
        -------
        ndarray of shape (m,) or (m, m)
            The mean over the rows of an atom, by their weights.

        Raises
        ------
        ValueError
            There is not one value for each training row.
        """
        of_row = np.where(self.of_row < self.m, self.of_row, -1)
        if minority:
            of_row = np.where(self.of_row < self.m, -1, self.of_row - self.m)
        return self._means(name, values, of_row, self.n1 if minority else self.m)

    def at_rows(self, name: str, values: Any) -> np.ndarray:
        """Return values of training rows at the values that a prior function makes.

        It makes one value for each majority row that has a weight. Rows of one group
        have one, if they are in one atom: their mean. Parameters are as in
        :meth:`at_points`.

        Parameters
        ----------
        name : str
        values : float, array-like, Series, DataArray or dict

        Returns
        -------
        ndarray of shape (q,) or (q, q)

        Raises
        ------
        ValueError
            There is not one value for each training row.
        """
        return self._means(name, values, self.parts.of_row, len(self.parts.first))

    def _means(
        self, name: str, values: Any, of_row: np.ndarray, size: int
    ) -> np.ndarray:
        v = self.rows.in_order(name, values)
        if not v.ndim:
            return np.full(size, float(v))
        i = np.flatnonzero(of_row >= 0)
        weight = self.rows.weight[i]
        share = weight / np.bincount(of_row[i], weight)[of_row[i]]
        A = sparse.csr_array((share, (of_row[i], i)), (size, len(of_row)))
        found = A @ v
        return np.asarray(found if v.ndim == 1 else (A @ found.T).T)

    # rows beside the atoms

    def new(self, X: np.ndarray) -> Similarities:
        """Return the similarities of new rows X (m, p)."""
        Z = self.kernel.inputs(X)
        nobody = np.full(len(Z), -1)
        return self.similarities(self.kernel, self.coordinates[0], Z, nobody)

    @cached_property
    def left_out_problems(self) -> Similarities:
        """The similarities of the left-out problems with which something leaves."""
        first, _ = self.rows.problems
        return self.left_out(first[self.rows.group[first] >= 0])

    @cached_property
    def left_out_copies(self) -> tuple[Similarities, ...]:
        """The similarities of imputed copies of rows, each left out."""
        which = self.rows.incomplete
        each = self.rows.copies if len(which) else ()
        return tuple(self.left_out(which, X) for X in each)

    def left_out(self, which: np.ndarray, X: np.ndarray | None = None) -> Similarities:
        """Return the similarities of training rows ``which`` (m,), each left out.

        X (m, p) may take the place of their values. The group of a row leaves the
        atoms, and its fold leaves the column scales.
        """
        return Similarities.joined(list(self.by_fold(self.similarities, which, X)))

    def by_fold(
        self,
        of_rows: Callable[[Kernel, np.ndarray, np.ndarray, np.ndarray], Answer],
        which: np.ndarray,
        X: np.ndarray | None = None,
    ) -> Iterator[tuple[np.ndarray, Answer]]:
        """Yield the places in ``which`` of each fold, and the answer for these rows.

        ``of_rows(kernel, Y, Z, group)`` answers; Y are coordinates of the distinct rows
        and Z those of the rows.
        """
        fold = self.rows.fold[which]
        X = self.rows.X[which] if X is None else X
        group = self.rows.group[which]
        for f in np.unique(fold):
            i = np.flatnonzero(fold == f)
            kernel = self.kernels[f]
            yield i, of_rows(kernel, self.coordinates[f], kernel.inputs(X[i]), group[i])

    def similarities(
        self, kernel: Kernel, Y: np.ndarray, Z: np.ndarray, group: np.ndarray
    ) -> Similarities:
        """Return the similarities of rows Z (m, q) to distinct rows Y (R, q).

        The ``group`` (m,) of each row has left; -1 for none.
        """
        leaving = self.leaving[group]

        def of_block(i: np.ndarray) -> Arrays:
            return self._similarities(kernel, Y, Z[i], leaving[i].tocoo())

        found = concatenated(
            by_block(of_block, blocks(len(Z), len(Y)), kernel.in_threads)
        )
        some = self.of_majority
        others = self.weights[some].sum() - leaving[:, some].sum(axis=1)
        fields = [*found, np.asarray(others), leaving @ self.share]
        return Similarities(*fields)

    def _similarities(
        self, kernel: Kernel, Y: np.ndarray, Z: np.ndarray, leaving: sparse.coo_array
    ) -> Arrays:
        w = self.weights
        some = self.of_majority
        at = row, place = leaving.coords
        stay = 1.0 - leaving.data / w[place]
        stay[stay <= STAYS] = 0.0
        k, L = scaled_kernel(kernel, Z, Y, (row[stay == 0.0], place[stay == 0.0]))
        nearest = log(k[:, some].max(axis=1)) + L if kernel.normalized else L
        k[at] *= stay
        weighted = k * w
        sums = np.exp(L) * weighted[:, some].sum(axis=1)
        pooled = np.add.reduceat(weighted, self.starts, axis=1) / self.sizes
        return pooled, L, kernel.diag(Z), nearest, sums

    # rows near the cutoff

    @cached_property
    def near_cutoff(self) -> np.ndarray:
        """Majority rows between two quantiles of the mean similarity to the others."""
        i = self.rows.majority
        of_problem = self.left_out_problems
        _, problem = self.rows.problems
        closeness = 2.0 * of_problem.sums / of_problem.others - of_problem.diag
        i = i[np.argsort(closeness[problem[i]], kind="stable")]
        mass = self.rows.mass[i]
        place = midranks(mass) / mass.sum()
        found = i[(place >= NEAR_CUTOFF[0]) & (place <= NEAR_CUTOFF[1])]
        return found[:: max(1, -(-len(found) // MOST_NEAR_CUTOFF))]

    def at_problems(self, which: np.ndarray) -> Similarities:
        """Return the similarities of training rows ``which``, each left out."""
        return self.left_out_problems[self.rows.problems[1][which]]

    def sampling_variance(self, which: np.ndarray) -> np.ndarray:
        """Return n0^2 times the sampling variance of mean similarities, (m,)."""
        found = np.empty(len(which))
        for i, values in self.by_fold(self._sampling_variance, which):
            found[i] = values
        return found

    def sums_by_group(self, which: np.ndarray) -> np.ndarray:
        """Return the sum over groups of their k, and of its square, (2, m).

        The k of a group is the sum of k over its majority rows, by weight.
        """
        found = np.empty((2, len(which)))
        for i, values in self.by_fold(self._sums_by_group, which):
            found[:, i] = values
        return found

    def _sums_by_group(
        self, kernel: Kernel, Y: np.ndarray, Z: np.ndarray, group: np.ndarray
    ) -> np.ndarray:

        def of_block(i: np.ndarray) -> Arrays:
            k, _ = self._of_groups(kernel, Y, Z[i], group[i])
            return k.sum(axis=1), np.vecdot(k, k)

        return np.array(
            concatenated(by_block(of_block, blocks(len(Z), len(Y)), kernel.in_threads))
        )

    def _of_groups(
        self, kernel: Kernel, Y: np.ndarray, Z: np.ndarray, group: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k of the groups that stay (m, b), and which stay.

        A minority group changes no sum, and is left out.
        """
        some = np.sort(self.rows.majority_groups)
        stay = np.ones((len(Z), len(some)))
        stay[np.arange(len(Z)), np.searchsorted(some, group)] = 0.0
        C = self.group_weights[self.of_majority][:, some]
        return (kernel(Z, Y[self.of_majority]) @ C) * stay, stay

    def _sampling_variance(
        self, kernel: Kernel, Y: np.ndarray, Z: np.ndarray, group: np.ndarray
    ) -> np.ndarray:
        r"""Return the variance (m,) of rows Z (m, q), without their groups.

        It is :math:`n_0 n \sum_b s_b^2 (\bar k_b - \bar k)^2 / (1 - \sum_b s_b^2)` over
        the groups that stay, of weight n, shares :math:`s_b` of it and mean
        similarities :math:`\bar k_b` (Liang and Zeger 1986).
        """
        sums, stay = self._of_groups(kernel, Y, Z, group)
        sizes = self.group_weights[self.of_majority].sum(axis=0)
        sizes = sizes[sizes > 0.0]
        n = stay @ sizes
        mean = sums.sum(axis=1) / n
        squares = np.vecdot(stay, (sums - mean[:, None] * sizes) ** 2)
        few = np.maximum(1.0 - stay @ sizes**2 / n**2, STAYS)
        return np.asarray(sizes.sum() / n * squares / few)


def smallest(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return the smallest of the values at each place 0, 1, ..."""
    found = np.full(place.max() + 1, np.iinfo(np.int64).max)
    np.minimum.at(found, place, values)
    return found


def nearest_seeds(kernel: Kernel, Z: np.ndarray, most: int) -> np.ndarray:
    """Return the atom (R,) of rows Z (R, q): the nearest of ``most`` random seeds."""
    if len(Z) <= most:
        return np.arange(len(Z))
    seeds = Z[np.random.default_rng(0).permutation(len(Z))[:most]]
    half = 0.0 if kernel.normalized else kernel.diag(seeds) / 2.0
    of_pairs = kernel.log if kernel.normalized else kernel

    def nearest(i: np.ndarray) -> np.ndarray:
        return np.argmax(of_pairs(Z[i], seeds) - half, axis=1)

    found = by_block(nearest, blocks(len(Z), len(seeds)), kernel.in_threads)
    return np.unique(np.concatenate(found), return_inverse=True)[1]
