"""A fit as a value: the data, what was learned of them, and the boundary. It never changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from ..models.calibrate import Calibrated
from ..models.data import Data, Filled
from ..models.points import Rows, blocks
from ..models.scale import signed, split
from .centre import Centre, Parts, for_and_against
from .cutoffs import Printed, Rule, resolved
from .decision import Boundary, Unseen, median, near
from .p_values import p_values

GAPS = 1000  # rows with gaps at once
DRAWS = 2000  # of the boundary of a centre without a posterior
Answer = Callable[[Parts], np.ndarray]  # (rows, ...)
Blocks = Iterator[tuple[np.ndarray, Parts]]  # places of rows, and their parts


@dataclass(frozen=True, eq=False)
class Learned:
    """What a model learned.

    Attributes
    ----------
    centre : Centre
    chains : int, default=1
    left_out : ndarray of shape (a + 1, M), optional
        The weights without what leaves with each answer of ``Data.rows``, and if
        nothing leaves, of a centre without a posterior; by default the other weights
        keep their sum.
    radius : float, optional
        The model's own boundary, on the scale of d_z.
    scale : Calibrated, optional
        lambda.
    sampler : str, optional
        That of :class:`bsvdd.inference.sampling.Draws`; empty without draws.
    stats : dict of str to ndarray, optional
        What a sampler says of each draw, (chains, draws) each.
    """

    centre: Centre
    chains: int = 1
    left_out: np.ndarray | None = None
    radius: float | None = None
    scale: Calibrated | None = None
    sampler: str = ""
    stats: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def by_chain(self) -> np.ndarray:
        """The weights (chains, draws, M)."""
        return self.centre.w.reshape(self.chains, -1, self.centre.w.shape[1])

    @property
    def draws(self) -> int:
        """The number of draws of the boundary."""
        return len(self.centre.w) if len(self.centre.w) > 1 else DRAWS

    def parts(self, rows: Rows, answers: np.ndarray, draws: Any = slice(None)) -> Parts:
        """Return the parts of left-out rows in the place of some answers of the data."""
        if self.left_out is None:
            return self.centre[draws].parts(rows)
        w = self.left_out[np.minimum(answers, len(self.left_out) - 1)]
        m = self.centre.m
        of_majority = np.vecdot(rows.k[:, :m], w[:, :m])[None]
        of_minority = np.vecdot(rows.k[:, m:], w[:, m:])[None]
        return for_and_against(of_majority, of_minority, rows, self.centre.norm)


@dataclass(frozen=True, eq=False)
class Versions:
    """Training rows ``which`` (g,) as several left-out rows: draw t answers version t mod c."""

    which: np.ndarray
    rows: tuple[Rows, ...]

    @classmethod
    def of(cls, data: Data, filled: Filled) -> Self | None:
        """Return those of training rows that had gaps; None if none had."""
        which = filled.which
        if not len(which):
            return None
        return cls(which, tuple(data.left_out(which, rows) for rows in filled.versions))


@dataclass(frozen=True, eq=False)
class Fit:
    """A description of training rows.

    Attributes
    ----------
    data : Data
    learned : Learned
    rule : rule of :mod:`bsvdd.inference.cutoffs`
    versions : Versions, optional
    """

    data: Data
    learned: Learned
    rule: Rule | Printed
    versions: Versions | None = None

    @classmethod
    def of(
        cls,
        data: Data,
        learned: Learned,
        rule: Any = None,
        versions: Any = None,
        **more: Any,
    ) -> Self:
        """Return a fit, whose boundary is chosen; ``None`` is the default rule."""
        minority = data.units.minority & (data.units.weight > 0.0)
        found = cls(
            data, learned, resolved(rule, int(minority.sum())), versions, **more
        )
        _ = found.boundary
        return found

    def changed(self, **parts: Any) -> Self:
        """Return the fit with other parts, such as ``learned`` or ``rule``; its boundary anew."""
        return type(self).of(
            **{each.name: getattr(self, each.name) for each in fields(self)} | parts
        )

    @cached_property
    def boundary(self) -> Boundary:
        """The boundary in each draw."""
        if isinstance(self.rule, Printed):
            return Boundary.printed(self.D_opt, self._offset)
        middle = self._of_counted(
            lambda parts: median(signed(parts.log_p, parts.log_q))
        )
        return Boundary.drawn(
            self.rule, middle, self.data, self._unseen(middle), self.learned.draws
        )

    def _unseen(self, middle: np.ndarray) -> Unseen:
        """Return what the sample has not shown, from medians t (n,) of left-out rows."""
        data = self.data
        centre = self.learned.centre
        if not data.kernel.normalized:
            return Unseen()
        assert not isinstance(self.rule, Printed)
        close = near(self.rule, middle, data.units)
        weight = float(np.median(centre.total)) / data.gram.n0
        return Unseen.of(data.rows[data.row[close]], data.units.mass[close], weight)

    # distances

    @cached_property
    def squared_norm(self) -> np.ndarray:
        """||a||^2 of each draw, (S,)."""
        return self.data.gram.squared_norm(self.learned.centre.w)

    @property
    def _offset(self) -> np.ndarray:
        """What d_z^2 / 2 is without p and q, (draws,)."""
        norm = self.squared_norm
        half = (
            (1.0 + norm) / 2.0 if self.data.kernel.normalized else np.zeros(len(norm))
        )
        return np.broadcast_to(half, (self.learned.draws,))

    def _distances(self, parts: Parts) -> np.ndarray:
        """Return d of rows in each draw, (S, rows)."""
        squared = 2.0 * (self._offset[: len(parts.against), None] + parts.against)
        return np.sqrt(np.maximum(squared, 0.0))

    def _distance(self, parts: Parts) -> np.ndarray:
        """Return the median d of rows, (rows,)."""
        return median(self._distances(parts))

    def distance(self, X: Filled | None = None) -> np.ndarray:
        """Return the median d of new rows, or of the training rows, each left out; (rows,)."""
        return self.ask(self._distance, X)

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return d of new rows (m, p) in each draw of the weights, (S, m)."""
        return self.ask(lambda parts: self._distances(parts).T, Filled.whole(X)).T

    @cached_property
    def D_opt(self) -> float:
        """The largest distance of a normal row, by a printed rule; else the median over draws."""
        if not isinstance(self.rule, Printed):
            p, q = np.exp(split(self.boundary.threshold))
            squared = median((2.0 * (self._offset - (p - q)))[:, None])
            return float(np.sqrt(np.maximum(squared, 0.0))[0])
        if self.rule.of == "own":
            if self.learned.radius is None:
                raise ValueError(
                    "Printed(of='own') is for SVDD and SVDDM, which have a radius"
                )
            return self.learned.radius
        units = self.data.units
        i = np.flatnonzero(units.weight)
        training = Filled.whole(units.X[i])
        left_out = self.rule.of == "left-out"
        d = self._of_counted(self._distance)[i] if left_out else self.distance(training)
        return self.rule.distance(d, units.mass[i], units.minority[i])

    # answers: what a function says of the parts of rows, an array (rows, ...)

    def ask(self, answer: Answer, X: Filled | None = None) -> np.ndarray:
        """Return the answers to new rows, or to the training rows, each left out."""
        if X is not None:
            return gathered(answer, self._new(X), len(X.rows))
        return self._left_out(answer, np.arange(len(self.data.row)))

    def _new(self, X: Filled) -> Blocks:
        """Yield new rows with their parts, and then those with gaps again, in their versions."""
        for i in blocks(
            len(X.rows), max(self.learned.draws, len(self.data.points.members))
        ):
            yield i, self.learned.centre.parts(self.data.new(X.rows[i]))
        for i in (
            np.split(X.which, range(GAPS, len(X.which), GAPS)) if len(X.which) else ()
        ):
            at = np.searchsorted(X.which, i)
            yield i, self._by_turns([self.data.new(V[at]) for V in X.versions])

    def _answers(self, needed: np.ndarray) -> Blocks:
        """Yield answers ``needed`` (a,) of the data with their parts, the last ones as new rows."""
        data = self.data
        learned = self.learned
        leaving = int(np.searchsorted(needed, len(data.rows.L)))
        for i in blocks(leaving, max(DRAWS, learned.draws)):
            yield i, learned.parts(data.rows[needed[i]], needed[i])
        if leaving < len(needed):  # nothing leaves
            others = Filled.whole(data.units.X[data.first[needed[leaving:]]])
            yield from ((leaving + i, parts) for i, parts in self._new(others))

    def _left_out(self, answer: Answer, which: np.ndarray) -> np.ndarray:
        """Return the answers to training rows ``which`` (m,); equal rows have one answer."""
        needed, place = np.unique(self.data.row[which], return_inverse=True)
        found = gathered(answer, self._answers(needed), len(needed))[place]
        if self.versions is not None:
            at = pd.Index(which).get_indexer(self.versions.which)
            parts = self._by_turns(
                self.versions.rows, self.data.row[self.versions.which]
            )
            found[at[at >= 0]] = answer(parts)[at >= 0]
        return found

    def _of_counted(self, answer: Answer) -> np.ndarray:
        """Return the answers (n,) to training rows, left out; NaN for the weight 0."""
        i = np.flatnonzero(self.data.units.weight)
        found = np.full(len(self.data.row), np.nan)
        found[i] = self._left_out(answer, i)
        return found

    def _by_turns(
        self, versions: Sequence[Rows], answers: np.ndarray | None = None
    ) -> Parts:
        """Return the parts of rows in c versions, (draws, g) each.

        Draw t answers version t mod c. The rows are new, or in the place of some
        answers.
        """
        learned = self.learned
        c = len(versions)
        found = np.empty((4, learned.draws, len(versions[0].L)))
        for i, rows in enumerate(versions):
            turn = slice(i, None, c)
            draws = slice(None) if len(learned.centre.w) == 1 else turn
            if answers is None:
                parts = learned.centre[draws].parts(rows)
            else:
                parts = learned.parts(rows, answers, draws)
            for part, value in zip(found, vars(parts).values(), strict=True):
                part[turn] = value
        return Parts(*found)

    def decided(self, prob: float, X: Filled | None = None) -> np.ndarray:
        """Return score, P(normal), the ends of the score's interval, and distance, (5, rows)."""

        def of_parts(parts: Parts) -> np.ndarray:
            margins = self.boundary.margins(parts)
            P = (margins >= 0.0).mean(axis=0)
            shares = np.array([(1.0 - prob) / 2.0, 0.5, (1.0 + prob) / 2.0])
            places = (shares * (len(margins) - 1)).round(6).astype(int)
            low, score, high = np.sort(margins, axis=0)[places]
            return np.stack([score, P, low, high, self._distance(parts)], axis=1)

        return self.ask(of_parts, X).T

    def scores(self, X: Filled | None = None) -> np.ndarray:
        """Return the median log(inside / outside) of rows, (rows,)."""
        return self.ask(self._score, X)

    def _score(self, parts: Parts) -> np.ndarray:
        return median(self.boundary.margins(parts))

    def probability_normal(self, X: Filled | None = None) -> np.ndarray:
        """Return the share of the draws in which rows are normal, (rows,)."""
        return self.ask(
            lambda parts: (self.boundary.margins(parts) >= 0.0).mean(axis=0), X
        )

    def margins(self, X: Filled | None = None) -> np.ndarray:
        """Return log(inside / outside) of rows, (draws, rows)."""
        return self.ask(lambda parts: self.boundary.margins(parts).T, X).T

    def log_similarity(self, X: Filled | None = None) -> np.ndarray:
        """Return log s_A of rows, whatever the cutoff, (draws, rows).

        It is -log(d^2 / 2) for a kernel that is not normalised.
        """
        draws = self.learned.draws
        normalized = self.data.kernel.normalized

        def of_parts(parts: Parts) -> np.ndarray:
            found = parts.log_p if normalized else -parts.log_q
            return np.broadcast_to(found, (draws, found.shape[1])).T

        return self.ask(of_parts, X).T

    @cached_property
    def left_out_scores(self) -> np.ndarray:
        """The scores of the training rows, each left out, (n,); NaN for the weight 0."""
        return self._of_counted(self._score)

    def p_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the p-values (m,) of new rows with these scores."""
        i = self.data.units.majority
        units = self.data.units
        return p_values(scores, self.left_out_scores[i], units.mass[i])


def gathered(answer: Answer, blocks: Blocks, n: int) -> np.ndarray:
    """Return the answers to n rows; a later block has the last word on its rows."""
    found = np.empty(0)
    for block, (rows, parts) in enumerate(blocks):
        values = answer(parts)
        found = found if block else np.empty((n, *values.shape[1:]))
        found[rows] = values
    return found
