"""A fit as a value: draws and a cutoff, and what they answer. It never changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator

from ..base import threads
from ..models.dictionary import Dictionary
from ..models.kernels import Kernel
from ..models.rows import CompleteRows, Rows
from ..models.signed import signed, signed_parts
from ..models.weights import Weights
from . import diagnostics
from .boundary import Boundary, lower_median
from .cutoffs import AnyCutoff, Printed, resolved
from .draws import Blocks, Draws, Parts
from .p_values import p_values
from .sampling import ImproperPriorError, draw_prior

PRIOR_DRAWS = 1000
OF_DRAWS = ("convergence", "left_out_medians", "prior", "spread_and_pull")
TYPICAL_ROWS = 200  # whose median distance is the typical one
Answer = Callable[[Parts], np.ndarray]  # to rows, (rows, ...)


@dataclass(frozen=True, eq=False)
class Fit:
    """A description of training rows.

    Attributes
    ----------
    draws : Draws
        Of the weights of a model, which has the dictionary and the rows.
    cutoff : FalseAlarm, Best, Cost or Printed
    estimator : estimator, optional
        Not fitted, with the parameters of the fit.
    seed : int, default=0
    seconds : float, optional
        Processor time of learning.
    """

    draws: Draws
    cutoff: AnyCutoff
    estimator: BaseEstimator = None
    seed: int = 0
    seconds: float = np.nan

    @classmethod
    def of(
        cls,
        draws: Draws,
        cutoff: AnyCutoff | None = None,
        known: dict[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """Return a fit with its boundary; ``None`` is the default cutoff.

        ``known`` are cached properties of another fit, of the same draws.
        """
        rows = draws.dictionary.rows
        minority = rows.minority & (rows.weight > 0.0)
        found = cls(draws, resolved(cutoff, int(minority.sum())), **more)
        vars(found).update(known or {})
        _ = found.boundary
        return found

    def changed(self, **parts: Any) -> Self:
        """Return the fit with other parts, such as ``draws`` or ``cutoff``."""
        own = {each.name: vars(self)[each.name] for each in fields(self)}
        same = () if "draws" in parts else OF_DRAWS
        known = {name: vars(self)[name] for name in same if name in vars(self)}
        return type(self).of(**own | parts, known=known)

    @property
    def dictionary(self) -> Dictionary:
        """The atoms, their Gram statistics, and the kernel."""
        return self.draws.dictionary

    @property
    def kernel(self) -> Kernel:
        """The kernel, fitted."""
        return self.draws.dictionary.kernel

    @property
    def rows(self) -> Rows:
        """The training rows."""
        return self.draws.dictionary.rows

    # answers: a function takes the parts of rows, and returns an array (rows, ...)

    def ask(self, answer: Answer, X: CompleteRows | None = None) -> np.ndarray:
        """Return the answers to new rows, or to the training rows, each left out."""
        if X is not None:
            return self._gathered(answer, self.draws.of_new(X), len(X.X))
        n = len(self.rows.X)
        return self._gathered(answer, self.draws.of_left_out(np.arange(n)), n)

    def _gathered(self, answer: Answer, parts: Blocks, n: int) -> np.ndarray:
        """Return the answers to n rows; a later block replaces earlier answers.

        The first block is answered alone, so that what all need is computed once: the
        boundary, coordinates, norms.
        """
        blocks = list(parts)
        last = np.empty(n, dtype=int)  # block of each row
        for i, (rows, *_) in enumerate(blocks):
            last[rows] = i

        def answers(i: int) -> tuple[np.ndarray, np.ndarray]:
            rows, which, of_rows = blocks[i]
            own = last[rows] == i
            return rows[own], answer(of_rows())[which][own]

        rows, values = answers(0)
        found = np.empty((n, *values.shape[1:]))
        found[rows] = values

        def place(i: int) -> None:
            rows, values = answers(i)
            found[rows] = values

        threads.by_block(place, range(1, len(blocks)), self.kernel.in_threads)
        return found

    def _ask_counted(self, answer: Answer) -> np.ndarray:
        """Return the answers (n,) to training rows, left out; NaN for the weight 0."""
        i = np.flatnonzero(self.rows.weight)
        found = np.full(len(self.rows.X), np.nan)
        found[i] = self._gathered(answer, self.draws.of_left_out(i), len(i))
        return found

    # the cutoff

    @cached_property
    def boundary(self) -> Boundary:
        """The boundary in each draw."""
        if isinstance(self.cutoff, Printed):
            return Boundary.printed(self.D_opt, self._offset)
        return Boundary.drawn(self.cutoff, self.left_out_medians, self.draws)

    @cached_property
    def left_out_medians(self) -> np.ndarray:
        """The median of t (n,) of the training rows, each left out, for a cutoff."""

        def middle(parts: Parts) -> np.ndarray:
            return lower_median(signed(parts.log_p, parts.log_q))

        return self._ask_counted(middle)

    @cached_property
    def D_opt(self) -> float:
        """The largest distance of a normal row: a number, or the median over draws."""
        if not isinstance(self.cutoff, Printed):
            p, q = np.exp(signed_parts(self.boundary.threshold))
            return float(distance_of(lower_median(self._offset - (p - q))))
        if self.cutoff.of == "own":
            if self.draws.model.radius is None:
                raise ValueError(
                    "Printed(of='own') is for SVDD and SVDDM, which have a radius"
                )
            return self.draws.model.radius
        rows = self.rows
        i = np.flatnonzero(rows.weight)
        if self.cutoff.of == "left-out":
            d = self._ask_counted(self._distance)[i]
        else:
            d = self.distance(CompleteRows.of(rows.X[i]))
        return self.cutoff.distance(d, rows.mass[i], rows.minority[i])

    # distances and similarities

    @property
    def is_between(self) -> bool:
        """Whether ||a||^2 in a distance counts pairs of different groups only.

        Not in the printed rule, nor for other kernels, whose score is a ratio of d^2.
        """
        normalized = self.dictionary.kernel.normalized
        return normalized and not isinstance(self.cutoff, Printed)

    @property
    def _offset(self) -> np.ndarray:
        """The part of d_z^2 / 2 beside q - p, (draws,)."""
        half = np.zeros(len(self.draws.w))
        if self.dictionary.kernel.normalized:
            draws = self.draws
            norm = draws.norm_between if self.is_between else draws.squared_norm
            half = (1.0 + norm) / 2.0
        return np.broadcast_to(half, (self.draws.n_boundary,))

    def _half_squared(self, parts: Parts) -> np.ndarray:
        """Return d^2 / 2 of rows in each draw, (S, rows); below 0 by rounding only."""
        found = parts.against
        found += self._offset[: len(found), None]
        return found

    def _distance(self, parts: Parts) -> np.ndarray:
        return distance_of(lower_median(self._half_squared(parts)))

    def distance(self, X: CompleteRows | None = None) -> np.ndarray:
        """Return the median d of rows, (rows,)."""
        return self.ask(self._distance, X)

    def distances(self, X: np.ndarray) -> np.ndarray:
        """Return d of new rows (m, p) in each draw of the weights, (S, m)."""
        new = CompleteRows.of(X)
        return distance_of(self.ask(lambda parts: self._half_squared(parts).T, new).T)

    def log_similarity(self, X: CompleteRows | None = None) -> np.ndarray:
        """Return log s_A of rows, whatever the cutoff, (draws, rows).

        It is -log(d^2 / 2) for a kernel that is not normalised.
        """

        def by_row(parts: Parts) -> np.ndarray:
            found = self._log_similarity(parts)
            return np.broadcast_to(found, (self.draws.n_boundary, found.shape[1])).T

        return self.ask(by_row, X).T

    def _log_similarity(self, parts: Parts) -> np.ndarray:
        return parts.log_p if self.dictionary.kernel.normalized else -parts.log_q

    # decisions

    def _score(self, parts: Parts) -> np.ndarray:
        return lower_median(self.boundary.margins(parts))

    def decided(self, prob: float, X: CompleteRows | None = None) -> np.ndarray:
        """Return score, P(normal), interval of the score, and distance, (5, rows)."""
        shares = np.array([(1.0 - prob) / 2.0, 0.5, (1.0 + prob) / 2.0])

        def of_parts(parts: Parts) -> np.ndarray:
            margins = self.boundary.widened(parts)
            P = (margins >= 0.0).mean(axis=0)
            places = (shares * (len(margins) - 1)).round(6).astype(int)
            margins.sort(axis=0)
            low, score, high = margins[places]
            return np.stack([score, P, low, high, self._distance(parts)], axis=1)

        return self.ask(of_parts, X).T

    @cached_property
    def left_out(self) -> np.ndarray:
        """Medians of log s_A and log(inside / outside) of training rows, (2, n)."""

        def both(parts: Parts) -> np.ndarray:
            middle = lower_median(self._log_similarity(parts))
            return np.stack([middle, self._score(parts)], axis=1)

        return self.ask(both).T

    def scores(self, X: CompleteRows) -> np.ndarray:
        """Return the median log(inside / outside) of new rows, (rows,)."""
        return self.ask(self._score, X)

    def probability_normal(self, X: CompleteRows | None = None) -> np.ndarray:
        """Return the share of the draws in which rows are normal, (rows,)."""

        def share(parts: Parts) -> np.ndarray:
            return (self.boundary.widened(parts) >= 0.0).mean(axis=0)

        return self.ask(share, X)

    def margins(self, X: CompleteRows | None = None) -> np.ndarray:
        """Return log(inside / outside) of rows, (draws, rows)."""
        return self.ask(lambda parts: self.boundary.widened(parts).T, X).T

    @cached_property
    def left_out_scores(self) -> np.ndarray:
        """The scores (n,) of the training rows, each left out; NaN for the weight 0."""
        return self._ask_counted(self._score)

    def p_values(self, scores: np.ndarray) -> np.ndarray:
        """Return the p-values (m,) of new rows with these scores."""
        i = self.rows.majority
        return p_values(scores, self.left_out_scores[i], self.rows.mass[i])

    # diagnostics

    @property
    def has_draws(self) -> bool:
        """Whether there are draws of the weights."""
        return bool(self.draws.sampler)

    @cached_property
    def convergence(self) -> tuple[float, float]:
        """The largest R-hat and the smallest effective sample size."""
        if not self.has_draws:
            return np.nan, np.nan
        return diagnostics.convergence_of_draws(self.draws)

    @property
    def divergences(self) -> int | None:
        """The number of divergent transitions; None where no sampler looked for any."""
        diverging = self.draws.stats.get("diverging")
        return None if diverging is None else int(np.sum(diverging))

    @cached_property
    def prior(self) -> Draws | None:
        """Draws from the prior; None without a proper prior."""
        if not self.has_draws or not self.draws.knows_prior:
            return None
        try:
            model = cast("Weights", self.draws.model)
            return draw_prior(model, PRIOR_DRAWS, self.seed)
        except ImproperPriorError:
            return None

    def support(self, draws: Draws | None) -> np.ndarray:
        """Return the effective number of rows (S,); NaN without draws."""
        if draws is None:
            return np.array([np.nan])
        return diagnostics.effective_support(draws.w, self.dictionary.sizes)

    @cached_property
    def spread_and_pull(self) -> tuple[float, float]:
        """The spread and the pull of the posterior."""
        return diagnostics.spread_and_pull(self.draws)

    @cached_property
    def quantities(self) -> dict[str, dict[str, np.ndarray]]:
        """Numbers of each draw of "posterior" and "prior", (S,) each, by name."""
        each = {"posterior": self.draws, "prior": self.prior}
        return {name: self._quantities(d) for name, d in each.items() if d is not None}

    def _quantities(self, draws: Draws) -> dict[str, np.ndarray]:
        gram = self.dictionary
        values = {
            "effective_support": self.support(draws),
            "largest_weight": np.abs(draws.w / gram.sizes).max(axis=1),
        }
        if gram.n1:
            values["minority_total"] = -draws.w[:, gram.m :].sum(axis=1)
        values["squared_norm"] = draws.squared_norm
        i = self.rows.majority
        some = self.rows.X[i[:: max(1, len(i) // TYPICAL_ROWS)]]
        d = Fit(draws, self.cutoff).distances(some)
        return values | {"typical_distance": np.median(d, axis=1)}


def distance_of(half_squared: np.ndarray) -> np.ndarray:
    """Return d of d^2 / 2."""
    return np.sqrt(np.maximum(2.0 * half_squared, 0.0))
