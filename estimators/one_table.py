"""One table with odd rows inside: an answer for each of its rows.

Rows that the fit holds are left out. Of many rows it holds a sample, and the others are new rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..inference import threads
from ..inference.warning import collected
from ..models.odd_rows import OddRows, Tail
from . import inputs
from .fit import Fit, surprises
from .rows.blocks import is_lazy

BLOCK = 2000  # rows whose values over the draws are in memory at once


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of the table that a fit was fitted to.

    Attributes
    ----------
    fit : Fit
    rows : ndarray of shape (n, p)
        In the form that the kernel expects.
    held : ndarray of bool, shape (n,)
        Which of them the fit holds, in the same order.
    """

    fit: Fit
    rows: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, fit: Fit, X: Any = None, y: Any = None) -> Self:
        """Return the table X with labels y; without X, the rows of the fit.

        A ValueError if the fit is of another table.
        """
        data = fit.data
        # a fit holds all rows of a kernel matrix, and often those of a dask collection
        if X is None or data.kernel.pairwise or (data.all_rows and is_lazy(X)):
            return cls(fit, data.rows, np.ones(len(data.rows), dtype=bool))
        said = "use fit, then predict, which is lazy"
        inputs.in_memory(X, "the rows that a sample does not hold are answered at once", said)
        if isinstance(y, str):
            y = X[y]
        with collected():  # the fit has said what these rows lack
            rows = inputs.table(data, X)
        n = len(rows)
        minority = np.zeros(n, dtype=bool) if y is None else fit.minority_of(y, n)
        held = np.zeros(n, dtype=bool)
        held[slice(None) if data.all_rows else data.dictionary.held_rows(minority, data.seed)] = 1
        known = data.gaps is None or ~data.gaps  # a training row fills its gaps without itself
        if held.sum() != len(data.rows) or not (rows[held] == data.rows)[known].all():
            raise ValueError(
                f"X, with {n} rows, must be the table that the estimator was fitted to, with a "
                "label in each row if there are labels; fit it to X by est.fit_predict(X)"
            )
        if held.all():
            return cls(fit, data.rows, held)
        rows = rows.copy()
        rows[held] = data.rows
        return cls(fit, rows, held)

    def answers(self, held: np.ndarray, as_new: inputs.Summary) -> np.ndarray:
        """Return an answer for each row: those of held rows, and of the others as new rows."""
        if self.held.all():
            return held
        found = np.empty(len(self.rows), held.dtype)
        found[self.held], found[~self.held] = held, as_new(self.rows[~self.held])
        return found

    @cached_property
    def surprises(self) -> np.ndarray:
        """The surprise t of each row, shape (n,); see :mod:`bsvdd.models.odd_rows`."""
        return self.answers(self.fit.surprises, self._as_new)

    def _as_new(self, rows: np.ndarray) -> np.ndarray:
        score, found = self.fit.learned.score, np.empty(len(rows))
        with threads.one():
            for start in range(0, len(rows), BLOCK):
                block = slice(start, start + BLOCK)
                found[block] = surprises(score, score.values_of_draws(rows[block]))
        return found

    @cached_property
    def order(self) -> np.ndarray:
        """What orders the rows, the oddest largest: t, or the surprise of a score without t."""
        if not np.isnan(self.surprises).all():
            return self.surprises
        fit = self.fit
        return -self.answers(fit.left_out, lambda rows: fit.score.scores(rows, fit.level))

    @property
    def tail(self) -> Tail:
        """Their tail; a ValueError for a fit that counts all rows as normal."""
        return self.fit.tail_of(self.surprises)

    @cached_property
    def odd(self) -> OddRows:
        """Which of the rows are odd."""
        return self.fit.odd if self.held.all() else OddRows.of(self.tail)

    @cached_property
    def core(self) -> np.ndarray:
        """Which of the rows are in the core, shape (n,)."""
        core = self.fit.data.core
        found = self.held.copy()
        found[self.held] = self.fit.data.described if core is None else core.rows
        return found
