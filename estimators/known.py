"""Rows that a fit is asked about, and how many of them are training rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd

from ..inference.warning import DataWarning, warn
from .rows.gaps import Imputations

Answers = Callable[[np.ndarray], np.ndarray]  # of rows (q, p)
AnswersOfWays = Callable[[Imputations], np.ndarray]
BLOCK = 1_000  # rows with gaps at once

# of fewer rows, or a smaller share, nothing is said: they can be equal by chance, or few
FEWEST, SHARE = 10, 0.25


def hashes(rows: np.ndarray) -> np.ndarray:
    """Return a number of 64 bits for each row (n, p), equal for equal rows."""
    frame = pd.DataFrame(rows + 0.0)  # -0.0 is 0.0
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


def single(rows: np.ndarray) -> np.ndarray:
    """Return the hashes of rows (n, p) that equal no other: new rows equal the others by chance."""
    found, count = np.unique(hashes(rows), return_counts=True)
    return found[count == 1]


def warn_of_training(known: np.ndarray, rows: np.ndarray) -> None:
    """Say how many rows (m, p) have known hashes, if these are more than a few."""
    equal = int(np.isin(hashes(rows), known).sum()) if len(rows) >= FEWEST else 0
    if equal > SHARE * len(rows):
        warn(
            f"{equal} of {len(rows)} rows are training rows; decision() answers them left out",
            DataWarning,
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that a fit is asked about, each of them a new one.

    Attributes
    ----------
    table : ndarray of shape (m, p)
        In the form that the kernel expects.
    imputations : Imputations or None
        Of the rows with gaps; None if gaps have their middle values only.
    """

    table: np.ndarray
    imputations: Imputations | None = None

    def __len__(self) -> int:
        return len(self.table)

    @property
    def filled(self) -> Self:
        """The rows with the middle values in their gaps."""
        return replace(self, imputations=None)

    def answered(self, as_they_are: Answers, of_ways: AnswersOfWays) -> np.ndarray:
        """Return an answer to each row, shape (..., m), from those without and with gaps."""
        ways = self.imputations
        if ways is None or not len(ways):
            return as_they_are(self.table)
        whole = np.delete(np.arange(len(self)), ways.which)
        blocks = [ways.part(slice(i, i + BLOCK)) for i in range(0, len(ways), BLOCK)]
        parts = [(some.which, of_ways(some)) for some in blocks]
        if len(whole):
            parts.append((whole, as_they_are(self.table[whole])))
        found = np.empty((*parts[0][1].shape[:-1], len(self)), parts[0][1].dtype)
        for which, answers in parts:
            found[..., which] = answers
        return found
