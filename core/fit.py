"""A fit as a value: the data, what was learned of them, and the boundary. It never changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from .centre import Centre, Parts, for_and_against
from .cutoffs import Best, FalseAlarm, Printed, Rule
from .data import Data
from .decision import TIE, Boundary, Unseen, median, near
from .points import Arrays, Rows, in_blocks
from .scale import signed

DRAWS = 2000  # of the boundary of a centre without a posterior
FEW_LABELS = 20  # minority rows, below which the cutoff is one of false alarms
OfMargins = Callable[[np.ndarray], Arrays]  # of margins (draws, rows)


@dataclass(frozen=True, eq=False)
class Learned:
    """What a model learned.

    Attributes
    ----------
    centre : Centre
    chains : int, default=1
    left_out : ndarray of shape (a, M), optional
        The weights without what leaves with each answer of ``Data.rows``, of a centre without a
        posterior; by default the other weights keep their sum.
    radius : float, optional
        The model's own boundary, on the scale of d_z.
    stats : dict of str to ndarray, optional
        What a sampler says of each draw, (chains, draws) each.
    """

    centre: Centre
    chains: int = 1
    left_out: np.ndarray | None = None
    radius: float | None = None
    stats: dict[str, np.ndarray] | None = None

    @property
    def draws(self) -> int:
        """The number of draws of the boundary."""
        return len(self.centre.w) if len(self.centre.w) > 1 else DRAWS

    def parts(self, rows: Rows, answers: np.ndarray, draws: Any = slice(None)) -> Parts:
        """Return log p and log q of left-out rows in the place of some answers of the data."""
        if self.left_out is None:
            return self.centre[draws].parts(rows)
        w, m = self.left_out[answers], self.centre.m
        of_majority = np.vecdot(rows.k[:, :m], w[:, :m])[None]
        of_minority = np.vecdot(rows.k[:, m:], w[:, m:])[None]
        return for_and_against(of_majority, of_minority, rows, self.centre.norm)


@dataclass(frozen=True, eq=False)
class Versions:
    """Training rows ``which`` (g,) as several left-out rows: draw t answers version t mod c."""

    which: np.ndarray
    rows: tuple[Rows, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """A description of training rows.

    Attributes
    ----------
    data : Data
    learned : Learned
    rule : rule of :mod:`bsvdd.core.cutoffs`
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
        if rule is None:
            rule = Best() if minority.sum() >= FEW_LABELS else FalseAlarm()
        if rule.needs_minority and not minority.any():
            raise ValueError(
                f"{rule!r} needs minority rows, and there are none; give labels y, or a cutoff "
                "such as cutoffs.FalseAlarm(0.1)"
            )
        found = cls(data, learned, rule, versions)
        _ = found.boundary
        return found

    @cached_property
    def boundary(self) -> Boundary:
        """The boundary in each draw."""
        if isinstance(self.rule, Printed):
            return Boundary.printed(self.D_opt, self._offset)
        (middle,) = self._training(lambda p, q, nearest: (median(signed(p, q)),))
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

    @property
    def squared_norm(self) -> np.ndarray:
        """||a||^2 of each draw, (S,)."""
        w = self.learned.centre.w
        return np.vecdot(w @ self.data.gram.K, w)

    @property
    def _offset(self) -> np.ndarray:
        """What d_z^2 / 2 is without p and q, (draws,)."""
        norm = self.squared_norm
        half = (1.0 + norm) / 2.0 if self.data.kernel.normalized else np.zeros(len(norm))
        return np.broadcast_to(half, (self.learned.draws,))

    def _distance(self, log_p: np.ndarray, log_q: np.ndarray, nearest: np.ndarray) -> Arrays:
        """Return the median distance d of rows."""
        offset = self._offset[: len(log_p), None]
        squared = median(2.0 * (offset - np.exp(log_p) + np.exp(log_q)))
        return (np.sqrt(np.maximum(squared, 0.0)),)

    def distance(self, X: np.ndarray | None = None) -> np.ndarray:
        """Return the median d of new rows, or of the training rows, each left out; (rows,)."""
        return (self._training(self._distance) if X is None else self._new(self._distance, X))[0]

    @cached_property
    def D_opt(self) -> float:
        """The largest distance of a normal row, by a printed rule; else the median over draws."""
        if not isinstance(self.rule, Printed):
            t = self.boundary.threshold
            squared = median(
                (2.0 * (self._offset - np.sign(t) * np.exp(np.abs(t) - 2000.0)))[:, None]
            )
            return float(np.sqrt(np.maximum(squared, 0.0))[0])
        if self.rule.of == "own":
            if self.learned.radius is None:
                raise ValueError("Printed(of='own') is for SVDD and SVDDM, which have a radius")
            return self.learned.radius
        units = self.data.units
        i = np.flatnonzero(units.weight)
        d = self.distance()[i] if self.rule.of == "left-out" else self.distance(units.X[i])
        return self.rule.distance(d, units.mass[i], units.minority[i])

    # answers

    def _training(self, answer: Callable[..., Arrays]) -> Arrays:
        """Return a function's arrays of log p, log q and nearest of training rows, left out."""
        data, learned = self.data, self.learned

        def of_block(i: np.ndarray) -> Arrays:
            rows = data.rows[i]
            return answer(*learned.parts(rows, i), rows.nearest)

        width = max(DRAWS, learned.draws)
        found = tuple(
            each[data.row] for each in in_blocks(of_block, np.arange(len(data.first)), width)
        )
        if self.versions is not None:
            for each, new in zip(found, answer(*self._by_turns(self.versions)), strict=True):
                each[self.versions.which] = new
        return found

    def _by_turns(self, versions: Versions) -> tuple[np.ndarray, ...]:
        """Return log p, log q and nearest of rows in versions, (draws, g) each."""
        answers, c = self.data.row[versions.which], len(versions.rows)
        found = np.empty((3, self.learned.draws, len(answers)))
        for i, rows in enumerate(versions.rows):
            turn = slice(i, None, c)
            one = len(self.learned.centre.w) == 1
            parts = self.learned.parts(rows, answers, slice(None) if one else turn)
            found[0, turn], found[1, turn], found[2, turn] = *parts, rows.nearest
        return tuple(found)

    def _new(self, answer: Callable[..., Arrays], X: np.ndarray) -> Arrays:
        """Return the same of new rows X (m, p)."""

        def of_block(block: np.ndarray) -> Arrays:
            rows = self.data.new(block)
            return answer(*self.learned.centre.parts(rows), rows.nearest)

        return in_blocks(of_block, X, max(self.learned.draws, len(self.data.points.members)))

    def answers(self, of_margins: OfMargins, X: np.ndarray | None = None) -> Arrays:
        """Return arrays of a function of margins (draws, rows), of new rows or of training rows."""

        def of_parts(log_p: np.ndarray, log_q: np.ndarray, nearest: np.ndarray) -> Arrays:
            return of_margins(self.boundary.margins(log_p, log_q, nearest))

        return self._training(of_parts) if X is None else self._new(of_parts, X)

    def margins(self, X: np.ndarray | None = None) -> np.ndarray:
        """Return log(inside / outside) of rows, (draws, rows)."""
        return self.answers(lambda margins: (margins.T,), X)[0].T

    def log_similarity(self, X: np.ndarray | None = None) -> np.ndarray:
        """Return log s_A of rows, whatever the cutoff, (draws, rows).

        It is -log(d^2 / 2) for a kernel that is not normalised.
        """
        draws, normalized = self.learned.draws, self.data.kernel.normalized

        def of_parts(log_p: np.ndarray, log_q: np.ndarray, nearest: np.ndarray) -> Arrays:
            found = log_p if normalized else -log_q
            return (np.broadcast_to(found, (draws, len(nearest))).T,)

        return (self._training(of_parts) if X is None else self._new(of_parts, X))[0].T

    @cached_property
    def left_out_scores(self) -> np.ndarray:
        """The scores of the training rows, each left out, (n,)."""
        return self.answers(lambda margins: (median(margins),))[0]

    def p_values(self, scores: np.ndarray) -> np.ndarray:
        r"""Return the p-values (m,) of new rows with these scores.

        They are :math:`(1 + \sum t_u F_u) / (1 + \sum t_u)`, and F_u is the share of the rows of a
        majority unit of weight t_u whose left-out score is at most that of the row.
        """
        i, units = self.data.units.majority, self.data.units
        others, mass = self.left_out_scores[i], units.mass[i]
        order = np.argsort(others)
        below = np.append(0.0, mass[order].cumsum())
        place = np.searchsorted(others[order], scores + TIE, side="right")
        return np.asarray((below[place] + 1.0) / (below[-1] + 1.0))

    # other fits

    def with_learned(self, learned: Learned) -> Fit:
        """Return the fit of other draws."""
        return Fit.of(self.data, learned, self.rule, self.versions)

    def with_rule(self, rule: Any) -> Fit:
        """Return the fit with another cutoff."""
        return Fit.of(self.data, self.learned, rule, self.versions)

    def with_versions(self, versions: np.ndarray, which: np.ndarray) -> Fit:
        """Return the fit in which training rows ``which`` (g,) answer in versions (c, g, p)."""
        rows = tuple(self.data.left_out(which, version) for version in versions)
        return Fit.of(self.data, self.learned, self.rule, Versions(which, rows))
