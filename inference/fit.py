"""A fit as a value: the data, what was learned of them, and the boundary. It never changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

from ..models.calibrate import Calibrated
from ..models.data import Data, Filled
from ..models.points import Arrays, Rows, in_blocks
from ..models.scale import signed, split
from .centre import Centre, Parts, for_and_against
from .cutoffs import Printed, Rule, resolved
from .decision import Boundary, Unseen, median, near
from .p_values import p_values

GAPS = 1000  # rows with gaps at once
DRAWS = 2000  # of the boundary of a centre without a posterior
OfMargins = Callable[[np.ndarray], Arrays]  # of margins (draws, rows)
OfParts = Callable[[Parts], Arrays]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a model learned.

    Attributes
    ----------
    centre : Centre
    chains : int, default=1
    left_out : ndarray of shape (a + 1, M), optional
        The weights without what leaves with each answer of ``Data.rows``, and if nothing leaves, of
        a centre without a posterior; by default the other weights keep their sum.
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
        w, m = self.left_out[np.minimum(answers, len(self.left_out) - 1)], self.centre.m
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
    def of(cls, data: Data, learned: Learned, rule: Any = None, versions: Any = None) -> Self:
        """Return a fit, whose boundary is chosen; ``None`` is the default rule."""
        minority = data.units.minority & (data.units.weight > 0.0)
        found = cls(data, learned, resolved(rule, int(minority.sum())), versions)
        _ = found.boundary
        return found

    @cached_property
    def boundary(self) -> Boundary:
        """The boundary in each draw."""
        if isinstance(self.rule, Printed):
            return Boundary.printed(self.D_opt, self._offset)
        middle = self._of_counted(lambda parts: (median(signed(parts.log_p, parts.log_q)),))
        return Boundary.drawn(
            self.rule, middle, self.data, self._unseen(middle), self.learned.draws
        )

    def _unseen(self, middle: np.ndarray) -> Unseen:
        """Return what the sample has not shown, from medians t (n,) of left-out rows."""
        data, centre = self.data, self.learned.centre
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
        half = (1.0 + norm) / 2.0 if self.data.kernel.normalized else np.zeros(len(norm))
        return np.broadcast_to(half, (self.learned.draws,))

    def _squared(self, parts: Parts) -> np.ndarray:
        """Return d^2 of rows in each draw, (S, rows)."""
        against = parts.against
        return 2.0 * (self._offset[: len(against), None] + against)

    def _distance(self, parts: Parts) -> Arrays:
        """Return the median distance d of rows."""
        return (np.sqrt(np.maximum(median(self._squared(parts)), 0.0)),)

    def distance(self, X: Filled | None = None) -> np.ndarray:
        """Return the median d of new rows, or of the training rows, each left out; (rows,)."""
        return (self._training(self._distance) if X is None else self._new(self._distance, X))[0]

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return d of new rows (m, p) in each draw of the weights, (S, m)."""

        def of_parts(parts: Parts) -> Arrays:
            return (np.sqrt(np.maximum(self._squared(parts), 0.0)).T,)

        return self._new(of_parts, Filled.whole(X))[0].T

    @cached_property
    def D_opt(self) -> float:
        """The largest distance of a normal row, by a printed rule; else the median over draws."""
        if not isinstance(self.rule, Printed):
            p, q = np.exp(split(self.boundary.threshold))
            squared = median((2.0 * (self._offset - (p - q)))[:, None])
            return float(np.sqrt(np.maximum(squared, 0.0))[0])
        if self.rule.of == "own":
            if self.learned.radius is None:
                raise ValueError("Printed(of='own') is for SVDD and SVDDM, which have a radius")
            return self.learned.radius
        units = self.data.units
        i = np.flatnonzero(units.weight)
        training = Filled.whole(units.X[i])
        left_out = self.rule.of == "left-out"
        d = self._of_counted(self._distance)[i] if left_out else self.distance(training)
        return self.rule.distance(d, units.mass[i], units.minority[i])

    # answers

    def _training(self, answer: OfParts, which: np.ndarray | None = None) -> Arrays:
        """Return a function's arrays of the parts of training rows ``which`` (m,), left out."""
        data, learned = self.data, self.learned
        which = np.arange(len(data.row)) if which is None else which
        needed, place = np.unique(data.row[which], return_inverse=True)
        leaving = np.searchsorted(needed, len(data.rows.L))

        def of_block(i: np.ndarray) -> Arrays:
            return answer(learned.parts(data.rows[i], i))

        found = in_blocks(of_block, needed[:leaving], max(DRAWS, learned.draws))
        if len(needed) > leaving:  # nothing leaves with a row: it is as a new one
            others = Filled.whole(data.units.X[data.first[needed[leaving:]]])
            both = zip(found, self._new(answer, others), strict=True)
            found = tuple(map(np.concatenate, both))
        found = tuple(each[place] for each in found)
        if self.versions is not None:
            of_versions = self.versions.rows, data.row[self.versions.which]
            at = pd.Index(which).get_indexer(self.versions.which)
            for each, new in zip(found, answer(self._by_turns(*of_versions)), strict=True):
                each[at[at >= 0]] = new[at >= 0]
        return found

    def _of_counted(self, answer: OfParts) -> np.ndarray:
        """Return a function's values (n,) of training rows, left out; NaN for the weight 0."""
        i = np.flatnonzero(self.data.units.weight)
        found = np.full(len(self.data.row), np.nan)
        (found[i],) = self._training(answer, i)
        return found

    def _by_turns(self, versions: Sequence[Rows], answers: np.ndarray | None = None) -> Parts:
        """Return the parts of rows in c versions, (draws, g) each.

        Draw t answers version t mod c. The rows are new, or in the place of some answers.
        """
        learned, c = self.learned, len(versions)
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

    def _new(self, answer: OfParts, X: Filled) -> Arrays:
        """Return a function's arrays of the parts of new rows."""

        def of_block(block: np.ndarray) -> Arrays:
            return answer(self.learned.centre.parts(self.data.new(block)))

        width = max(self.learned.draws, len(self.data.points.members))
        found = in_blocks(of_block, X.rows, width)
        for start in range(0, len(X.which), GAPS):
            which = X.which[start : start + GAPS]
            versions = [self.data.new(V[start : start + GAPS]) for V in X.versions]
            for each, new in zip(found, answer(self._by_turns(versions)), strict=True):
                each[which] = new
        return found

    def answers(self, of_margins: OfMargins, X: Filled | None = None) -> Arrays:
        """Return arrays of a function of margins (draws, rows), of new rows or of training rows."""

        def of_parts(parts: Parts) -> Arrays:
            return of_margins(self.boundary.margins(parts))

        return self._training(of_parts) if X is None else self._new(of_parts, X)

    def decided(self, prob: float, X: Filled | None = None) -> Arrays:
        """Return score, P(normal), the ends of the score's interval, and distance of rows."""

        def of_parts(parts: Parts) -> Arrays:
            margins = self.boundary.margins(parts)
            P = (margins >= 0.0).mean(axis=0)
            shares = np.array([(1.0 - prob) / 2.0, 0.5, (1.0 + prob) / 2.0])
            places = (shares * (len(margins) - 1)).round(6).astype(int)
            low, score, high = np.sort(margins, axis=0)[places]
            return score, P, low, high, *self._distance(parts)

        return self._training(of_parts) if X is None else self._new(of_parts, X)

    def margins(self, X: Filled | None = None) -> np.ndarray:
        """Return log(inside / outside) of rows, (draws, rows)."""
        return self.answers(lambda margins: (margins.T,), X)[0].T

    def log_similarity(self, X: Filled | None = None) -> np.ndarray:
        """Return log s_A of rows, whatever the cutoff, (draws, rows).

        It is -log(d^2 / 2) for a kernel that is not normalised.
        """
        draws, normalized = self.learned.draws, self.data.kernel.normalized

        def of_parts(parts: Parts) -> Arrays:
            found = parts.log_p if normalized else -parts.log_q
            return (np.array(np.broadcast_to(found, (draws, found.shape[1]))).T,)

        return (self._training(of_parts) if X is None else self._new(of_parts, X))[0].T

    @cached_property
    def left_out_scores(self) -> np.ndarray:
        """The scores of the training rows, each left out, (n,); NaN for the weight 0."""
        return self._of_counted(lambda parts: (median(self.boundary.margins(parts)),))

    def p_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the p-values (m,) of new rows with these scores."""
        i, units = self.data.units.majority, self.data.units
        return p_values(scores, self.left_out_scores[i], units.mass[i])

    # other fits

    def with_learned(self, learned: Learned) -> Fit:
        """Return the fit of other draws."""
        return Fit.of(self.data, learned, self.rule, self.versions)

    def with_rule(self, rule: Any) -> Fit:
        """Return the fit with another cutoff."""
        return Fit.of(self.data, self.learned, rule, self.versions)
