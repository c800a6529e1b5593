"""What gaps cost: cells of the embedded sets are hidden, in training and in new rows.

``uv run python -m benchmarks.gaps`` hides a share of the cells, at random or among the large
values of each column, fits BSVDD to half of the normal rows of each set, and asks for the other
rows. It stores in docs/gaps.json, for each share and way, means over the sets:

- ``auc``, ``complete_auc``: with the gaps, and of the complete tables;
- ``with_gaps``, ``without``: the share of new normal rows with and without a gap that are flagged
  at .10 asked;
- ``held``: how often the interval of the surprise, of .90, holds the surprise of the complete row
  by the same fit, of normal rows with gaps.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from bsvdd import BSVDD

from .shared import computed, options, quietly, real_sets, write

SHARES, LARGE = (0.05, 0.2), 0.5  # of cells; share of a column's values that count as large


def hidden(rows: np.ndarray, share: float, way: str, middle: np.ndarray, seed: int) -> np.ndarray:
    """Return rows with gaps, but for one column of each: at random, or among the large values."""
    rng = np.random.default_rng(seed)
    chance = np.full(rows.shape, share)
    if way == "large values":
        chance = np.where(rows > middle, share / LARGE, 0.0)
    gap = rng.random(rows.shape) < chance
    gap[np.arange(len(rows)), rng.integers(0, rows.shape[1], len(rows))] = False
    return np.where(gap, np.nan, rows)


@quietly()
def of_set(
    name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray, share: float, way: str
) -> dict[str, Any]:
    """Return the results of one set."""
    middle = np.median(X, axis=0)
    train, new = (hidden(rows, share, way, middle, seed) for seed, rows in enumerate((X, Z)))
    small = {"draws": 500, "random_state": 0}
    est, complete = BSVDD(**small).fit(train), BSVDD(**small).fit(X)
    found, truth = (est.decision(rows, p_value=None, training="as new") for rows in (new, Z))
    gaps, flagged = np.isnan(new).any(axis=1), ~found["normal"].to_numpy()
    inside = truth["surprise"].between(found["surprise_low"], found["surprise_high"]).to_numpy()
    return {
        "set": name,
        "share": share,
        "way": way,
        "auc": roc_auc_score(y, found["surprise"]),
        "complete_auc": roc_auc_score(y, -complete.score_samples(Z, training="as new")),
        "with_gaps": flagged[gaps & ~y].mean(),
        "without": flagged[~gaps & ~y].mean() if (~gaps & ~y).any() else np.nan,
        "held": inside[gaps & ~y].mean(),
    }


def main() -> None:
    """Measure, print, save."""
    chosen = options("gaps", __doc__)
    hiding = product(SHARES, ("at random", "large values"))
    cells = [(*each, *how) for how in hiding for each in real_sets(chosen.data_dir)]
    found = pd.DataFrame(computed(of_set, cells, chosen.jobs, "sets"))
    means = found.groupby(["share", "way"]).mean(numeric_only=True).round(4).reset_index()
    print(means.to_string(index=False))
    write(chosen.out / "gaps.json", means.to_dict("records"))


if __name__ == "__main__":
    main()
