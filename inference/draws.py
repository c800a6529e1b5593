r"""Draws of a centre a = sum_g w_g u_g, and what speaks for a row and against it.

The similarity of z to the centre is :math:`s_z = \langle \phi(z), a \rangle = s_A -
s_B`, with the parts of the majority's and of the minority's atoms. p speaks for z, and
q against it: z is within a cutoff if p - q is.

- For a normalised kernel p - q = s_A - s_B; a class counts in p where its part is
  positive, and in q where it is negative.
- Else p = 0 and :math:`q = \|\phi(z) - a\|^2 / 2 = (k(z, z) - 2 s_z + \|a\|^2) / 2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd

from ..models.dictionary import STAYS, Dictionary
from ..models.rows import CompleteRows, Rows
from ..models.signed import log
from ..models.similarities import Similarities, blocks
from ..models.svdd import Sphere
from ..models.weights import Weights

Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]  # dims, and values (S, ...)
Coords = dict[str, np.ndarray]  # by dimension
ALL = slice(None)
NOTHING = np.zeros((1, 1))
ROWS_WITH_COPIES = 1000  # at once
BOUNDARY_DRAWS = 2000  # of a centre without a posterior


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
    moved : callable, optional
        Returns the parts (K, rows) of K moves of each row, at the mean weights.
    """

    p: np.ndarray
    q: np.ndarray
    L: np.ndarray
    nearest: np.ndarray
    moved: Callable[[], Parts] | None = None

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
        found = self.q - self.p
        found *= np.exp(self.L)
        return found


# places of rows in an answer, which of the parts are theirs, and what returns the parts
Blocks = Iterator[tuple[np.ndarray, np.ndarray | slice, Callable[[], Parts]]]


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the weights of a model.

    Attributes
    ----------
    model : Weights or Sphere
        With the dictionary and lambda.
    w : ndarray of shape (S, M)
    chains : int, default=1
    sampler : str, optional
        "exact", "hmc", "nuts", "metropolis", "function" for a sampler of the user's, or
        "own" for draws from elsewhere; empty for one estimate of the weights.
    stats : dict of str to ndarray, optional
        What a sampler says of each draw, (chains, draws) each.
    uncalibrated : str, optional
        Why lambda is no calibrated one, though it was asked for.
    variables : dict of str to (tuple of str, ndarray of shape (S, ...)), optional
        The variables of the PyMC model beside w, by name, with their dimensions.
    coords : dict of str to ndarray, optional
        Coordinates of dimensions that are not the model's.
    """

    model: Weights | Sphere
    w: np.ndarray
    chains: int = 1
    sampler: str = ""
    stats: dict[str, np.ndarray] = field(default_factory=dict)
    uncalibrated: str = ""
    variables: Variables = field(default_factory=dict)
    coords: Coords = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in (self.w, *(values for _, values in self.variables.values())):
            each.setflags(write=False)

    @property
    def dictionary(self) -> Dictionary:
        """The atoms that are weighed, and the rows."""
        return self.model.gram

    @property
    def by_chain(self) -> np.ndarray:
        """The weights (chains, draws, M)."""
        return self.w.reshape(self.chains, -1, self.w.shape[1])

    @property
    def knows_prior(self) -> bool:
        """Whether the draws have the priors of the model: of a user, nobody knows."""
        return self.sampler != "own"

    @property
    def n_boundary(self) -> int:
        """The number of draws of the boundary."""
        return len(self.w) if len(self.w) > 1 else BOUNDARY_DRAWS

    @cached_property
    def total(self) -> np.ndarray:
        """The weight (S, 1) of the majority."""
        return self.w[:, : self.dictionary.m].sum(axis=1, keepdims=True)

    @cached_property
    def squared_norm(self) -> np.ndarray:
        """||a||^2 of each draw, (S,)."""
        return self.dictionary.squared_norm(self.w)

    @cached_property
    def norm_between(self) -> np.ndarray:
        """||a||^2 of each draw, without what groups add by themselves, (S,).

        The noise of the sample and that of the posterior each add to it. SVDD's centre
        is no mean, and keeps all.
        """
        if isinstance(self.model, Sphere):
            return self.squared_norm
        return self.squared_norm - self.w**2 @ self.dictionary.of_themselves

    # what speaks for rows and against them

    def parts(
        self,
        rows: Similarities,
        problems: np.ndarray | None = None,
        draws: slice = ALL,
    ) -> Parts:
        """Return what speaks for rows and against them, without what leaves with each.

        ``problems`` are the left-out problems of training rows; new rows have none.
        With t the majority's weight, and :math:`v_A, v_B` the weights of both classes
        that leave, the part of the majority is multiplied by :math:`(t + v_B) / (t -
        v_A)`, so the weights keep their sum. SVDD is solved without them instead.
        """
        m = self.dictionary.m
        norm = None
        if not self.dictionary.kernel.normalized:
            norm = self.squared_norm[draws]
        if problems is not None and self.model.left_out is not None:
            known = self.model.left_out
            w = known[np.minimum(problems, len(known) - 1)]
            of_majority = np.vecdot(rows.k[:, :m], w[:, :m])[None]
            of_minority = np.vecdot(rows.k[:, m:], w[:, m:])[None]
            return for_and_against(of_majority, of_minority, rows, norm)
        w = self.w[draws]
        t = self.total[draws]
        # the draws of a row lie side by side in memory, which makes medians quick
        of_majority = (rows.k[:, :m] @ w[:, :m].T).T
        if rows.gone.nnz:
            v_A = (rows.gone[:, :m] @ w[:, :m].T).T
            v_B = (rows.gone[:, m:] @ w[:, m:].T).T
            of_majority *= (t + v_B) / staying(t, v_A)
        of_minority = NOTHING
        if self.dictionary.n1:
            of_minority = (rows.k[:, m:] @ w[:, m:].T).T
        return for_and_against(of_majority, of_minority, rows, norm)

    # the parts of rows, block by block

    def of_new(self, X: CompleteRows) -> Blocks:
        """Yield blocks of new rows with their parts, and those with copies again."""
        dictionary = self.dictionary

        def of_rows(i: np.ndarray) -> Parts:
            return self._with_moves(self.parts(dictionary.new(X.X[i])), X, i)

        def of_copies(some: slice) -> Parts:
            each = [dictionary.new(copy) for copy in X.copies[:, some]]
            return self._with_moves(self._by_turns(each), X, X.which[some])

        for i in blocks(len(X.X), max(self.n_boundary, len(dictionary.distinct))):
            yield i, ALL, partial(of_rows, i)
        for start in range(0, len(X.which), ROWS_WITH_COPIES):
            some = slice(start, start + ROWS_WITH_COPIES)
            yield X.which[some], ALL, partial(of_copies, some)

    def of_left_out(self, which: np.ndarray) -> Blocks:
        """Yield blocks of places in ``which`` (m,) with parts of rows, left out.

        Equal rows have one left-out problem. Rows that had missing cells come again,
        with their copies.
        """
        rows = self.dictionary.rows
        first, problem = rows.problems
        known = self.dictionary.left_out_problems
        needed, place = np.unique(problem[which], return_inverse=True)
        order = np.argsort(place, kind="stable")
        ends = np.searchsorted(place[order], np.arange(len(needed) + 1))
        leaving = int(np.searchsorted(needed, len(known.L)))

        def of_problems(i: np.ndarray) -> Parts:
            parts = self.parts(known[needed[i]], needed[i])
            return self._with_moves(parts, rows, first[needed[i]])

        def of_copies(some: np.ndarray) -> Parts:
            i = rows.incomplete[some]
            parts = self._by_turns([copy[some] for copy in copies], problem[i])
            return self._with_moves(parts, rows, i)

        for i in blocks(leaving, max(BOUNDARY_DRAWS, self.n_boundary)):
            if len(i):
                some = order[ends[i[0]] : ends[i[-1] + 1]]
                yield some, place[some] - i[0], partial(of_problems, i)
        if leaving < len(needed):  # nothing leaves
            others = CompleteRows.of(rows.X[first[needed[leaving:]]])
            for i, _, parts in self.of_new(others):
                some = order[ends[leaving + i[0]] : ends[leaving + i[-1] + 1]]
                yield some, place[some] - leaving - i[0], parts
        at = pd.Index(which).get_indexer(rows.incomplete)
        asked = np.flatnonzero(at >= 0)
        if len(asked):
            copies = self.dictionary.left_out_copies
        for start in range(0, len(asked), ROWS_WITH_COPIES):
            some = asked[start : start + ROWS_WITH_COPIES]
            yield at[some], ALL, partial(of_copies, some)

    def _with_moves(
        self, parts: Parts, rows: CompleteRows | Rows, i: np.ndarray
    ) -> Parts:
        """Return the parts of rows i, and with them those of their moves, if any."""
        moves = rows.moves
        if moves is None:
            return parts

        def moved() -> Parts:
            X = rows.X[i] + moves(i)
            K, m, p = X.shape
            middle = replace(self, w=self.w.mean(axis=0, keepdims=True))
            if isinstance(rows, Rows):
                at = np.tile(i, K)
                known = self.dictionary.left_out(at, X.reshape(-1, p))
                found = middle.parts(known, rows.problems[1][at])
            else:
                found = middle.parts(self.dictionary.new(X.reshape(-1, p)))
            of_moves = (found.p, found.q, found.L, found.nearest)
            shaped = (np.broadcast_to(v, (1, K * m)).reshape(K, m) for v in of_moves)
            p_, q, L, nearest = shaped
            return Parts(p_, q, L, nearest)

        return replace(parts, moved=moved)

    def _by_turns(
        self, copies: Sequence[Similarities], problems: np.ndarray | None = None
    ) -> Parts:
        """Return the parts of rows with c imputations each, (draws, g).

        Draw t uses imputation t mod c, so intervals include the imputation.
        """
        c = len(copies)
        found = np.empty((4, self.n_boundary, len(copies[0].L)))
        for i, rows in enumerate(copies):
            turn = slice(i, None, c)
            draws = ALL if len(self.w) == 1 else turn
            parts = self.parts(rows, problems, draws)
            values = (parts.p, parts.q, parts.L, parts.nearest)
            for part, value in zip(found, values, strict=True):
                part[turn] = value
        return Parts(*found)


def staying(t: np.ndarray, gone: np.ndarray) -> np.ndarray:
    """Return t - gone, what stays of a weight of any sign; infinite for nothing."""
    rest = t - gone
    return np.where(np.abs(rest) > STAYS * np.abs(t), rest, np.inf)


def for_and_against(
    of_majority: np.ndarray,
    of_minority: np.ndarray,
    rows: Similarities,
    norm: np.ndarray | None,
) -> Parts:
    """Return the parts, from e^-L s_A and -e^-L s_B, (S, rows) each."""
    if norm is not None:
        half = (norm[:, None] + rows.diag) / 2.0 - of_majority - of_minority
        return Parts(NOTHING, half, rows.L, rows.nearest)
    if of_minority is NOTHING and of_majority.min(initial=0.0) >= 0.0:
        return Parts(of_majority, NOTHING, rows.L, rows.nearest)
    p = np.maximum(of_majority, 0.0) + np.maximum(of_minority, 0.0)
    q = np.maximum(-of_majority, 0.0) + np.maximum(-of_minority, 0.0)
    return Parts(p, q, rows.L, rows.nearest)
