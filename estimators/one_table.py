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
from .fit import Fit, Fitted, leaves_rows, of_ways, surprises
from .known import Rows
from .rows.gaps import Imputations

BLOCK = 2000  # rows whose values over the draws are in memory at once


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of the table that a fit was fitted to.

    Attributes
    ----------
    fit : Fit
    rows : ndarray of shape (n, p)
        In the form that the kernel expects.
    place : ndarray of int, shape (n,)
        The number of the training row that each is; -1 for the rows that the fit does not hold.
    names : ndarray of shape (n,)
        The names of the rows.
    imputations : Imputations, optional
        Of the rows with gaps.
    """

    fit: Fit
    rows: np.ndarray
    place: np.ndarray
    names: np.ndarray
    imputations: Imputations | None = None

    @classmethod
    def of(cls, est: Fitted, X: Any = None, y: Any = None) -> Self:
        """Return the table X with labels y; without X, the rows of the fit.

        A ValueError if the fit is of another table.
        """
        fit, data = est.fit_, est.fit_.data
        if X is None or data.kernel.pairwise:  # a fit holds all rows of a kernel matrix
            return cls(fit, data.rows, np.arange(len(data.rows)), data.row_names)
        if isinstance(y, str):
            y = X[y]
        with collected():  # the fit has said what these rows lack
            rows, imputations = inputs.completed(data, X)
        n = len(rows)
        minority = np.zeros(n, dtype=bool) if y is None else fit.minority_of(y, n)
        held = np.zeros(n, dtype=bool)
        held[slice(None) if data.all_rows else data.dictionary.held_rows(minority, data.seed)] = 1
        if held.sum() != len(data.rows) or not np.array_equal(rows[held], data.rows):
            raise ValueError(
                f"X, with {n} rows, must be the table that the estimator was fitted to, with a "
                "label in each row if there are labels; fit it to X by est.fit_predict(X)"
            )
        rows, place = rows.copy(), np.full(n, -1)
        rows[held], place[held] = data.rows, np.arange(len(data.rows))
        return cls(fit, rows, place, inputs.row_names(X, n), imputations)

    @property
    def _is_held(self) -> bool:
        return bool((self.place >= 0).all())

    @cached_property
    def _new(self) -> Rows:
        """The rows that the fit does not hold."""
        new = np.flatnonzero(self.place < 0)
        ways = None if self.imputations is None else self.imputations.among(new)
        return Rows(self.rows[new], ways)

    def _joined(self, of_training: np.ndarray, of_new: np.ndarray) -> np.ndarray:
        """Return the answers of rows (n,) that the fit holds, and of the others."""
        found = of_training[self.place]
        found[self.place < 0] = of_new
        return found

    @cached_property
    def surprises(self) -> np.ndarray:
        """The surprise t of each row, shape (n,); see :mod:`bsvdd.models.odd_rows`."""
        if self._is_held:
            return self.fit.surprises
        fit = self.fit
        score = fit.learned.score

        def with_gaps(ways: Imputations) -> np.ndarray:
            return surprises(score, of_ways(score, ways).values)

        return self._joined(fit.surprises, self._new.answered(self._as_new, with_gaps))

    def _as_new(self, rows: np.ndarray) -> np.ndarray:
        score, found = self.fit.learned.score, np.empty(len(rows))
        with threads.one():
            for start in range(0, len(rows), BLOCK):
                block = slice(start, start + BLOCK)
                found[block] = surprises(score, score.values_of_draws(rows[block]))
        return found

    @cached_property
    def scores(self) -> np.ndarray:
        """The score of each row, shape (n,)."""
        fit = self.fit
        new = self._new if leaves_rows(fit.cutoff) else self._new.filled
        return self._joined(fit.training_scores, fit.scores(new))

    @property
    def tail(self) -> Tail:
        """Their tail; a ValueError for a fit that counts all rows as normal."""
        return self.fit.tail_of(self.surprises)

    @cached_property
    def odd(self) -> OddRows:
        """Which of the rows are odd."""
        return self.fit.odd if self._is_held else OddRows.of(self.tail)

    @cached_property
    def core(self) -> np.ndarray:
        """Which of the rows are in the core, shape (n,)."""
        core, place = self.fit.data.core, self.place
        described = self.fit.data.described if core is None else core.rows
        return (place >= 0) & described[place]
