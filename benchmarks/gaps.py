"""What gaps cost: cells of the embedded sets are hidden, in training and in new rows.

``uv run python -m benchmarks.gaps`` hides a share of the cells, at random, among the large values
of each column, or the same share of each new row with training complete. It fits BSVDD to half of
the normal rows of each set, and asks for the other rows. It stores in docs/gaps.json, for each
share and way, means over the sets:

- ``auc``, ``complete_auc``: with the gaps, and of the complete tables;
- ``flagged``, ``complete_flagged``: the share of new normal rows with gaps that are flagged at .10
  asked, and that of the same rows complete, by the same fit;
- ``probability``, ``complete_probability``: their means of P(normal);
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

RANDOM, LARGE, NEW = "at random", "large values", "new rows only"
SHARES = {RANDOM: (0.05, 0.2), LARGE: (0.05, 0.2), NEW: (0.25, 0.5, 0.75)}  # of cells


def hidden(rows: np.ndarray, share: float, way: str, middle: np.ndarray, seed: int) -> np.ndarray:
    """Return rows with gaps, but for one column of each."""
    rng = np.random.default_rng(seed)
    if way == NEW:
        order = np.argsort(rng.random(rows.shape), axis=1)
        return np.where(order < round(share * (rows.shape[1] - 1)), np.nan, rows)
    chance = np.full(rows.shape, share)
    if way == LARGE:
        chance = np.where(rows > middle, 2.0 * share, 0.0)
    gap = rng.random(rows.shape) < chance
    gap[np.arange(len(rows)), rng.integers(0, rows.shape[1], len(rows))] = False
    return np.where(gap, np.nan, rows)


@quietly()
def of_set(
    name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray, share: float, way: str
) -> dict[str, Any]:
    """Return the results of one set."""
    middle = np.median(X, axis=0)
    train = X if way == NEW else hidden(X, share, way, middle, 0)
    new = hidden(Z, share, way, middle, 1)
    est, complete = BSVDD().fit(train), BSVDD().fit(X)
    found, truth = (est.decision(rows) for rows in (new, Z))
    normal = np.isnan(new).any(axis=1) & ~y
    inside = truth["surprise"].between(found["low"], found["high"]).to_numpy()
    return {
        "set": name,
        "share": share,
        "way": way,
        "auc": roc_auc_score(y, found["surprise"]),
        "complete_auc": roc_auc_score(y, -complete.score_samples(Z)),
        "flagged": (~found["normal"][normal]).mean(),
        "complete_flagged": (~truth["normal"][normal]).mean(),
        "probability": found["probability_normal"][normal].mean(),
        "complete_probability": truth["probability_normal"][normal].mean(),
        "held": inside[normal].mean(),
    }


def main() -> None:
    """Measure, print, save."""
    chosen = options("gaps", __doc__)
    hiding = [(share, way) for way, shares in SHARES.items() for share in shares]
    cells = [(*each, *how) for how, each in product(hiding, real_sets(chosen.data_dir))]
    found = pd.DataFrame(computed(of_set, cells, chosen.jobs, "sets"))
    means = found.groupby(["share", "way"]).mean(numeric_only=True).round(4).reset_index()
    print(means.to_string(index=False))
    write(chosen.out / "gaps.json", means.to_dict("records"))


if __name__ == "__main__":
    main()
