"""How many rows of a table are training rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..inference.warning import DataWarning, warn

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
