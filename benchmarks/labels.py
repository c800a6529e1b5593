"""What a few labelled minority rows are good for: the cutoff that they choose, and P(normal).

``uv run python -m benchmarks.labels [--data-dir FOLDER]`` fits BSVDD to half of the normal rows of
each embedded set and to 12 labelled minority rows, with the best G-mean as the cutoff, within the
limit of false alarms that is the default and without a limit. The test rows are all others. It
stores in docs/labels.json, for both:

- ``g_mean``, ``false_alarms``: means on the test rows; ``above``: how often more than .25 of the
  normal test rows are flagged;
- ``p``, ``inside``, ``rows``: in five bins of P(normal) of test rows, its mean, the share of rows
  within the cutoff that the same criterion chooses by the test rows, and their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from bsvdd.inference.metrics import evaluate

from bsvdd import BSVDD, cutoffs

from .shared import computed, options, quietly, raw_sets, write

LABELS, DRAWS, BINS = 12, 5, 5
FAR = 0.25  # share of flagged normal rows that nobody asked for
CUTOFFS = {"at most .2": cutoffs.Best("g_mean"), "no limit": cutoffs.Best("g_mean", max_fpr=1.0)}


@quietly()
def of_draw(
    name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray, draw: int
) -> list[dict[str, Any]]:
    """Return the results of one draw of the labelled rows."""
    known = np.random.default_rng(draw).choice(np.flatnonzero(y), min(LABELS, y.sum() // 2), False)
    rows = np.concatenate([X, Z[known]])
    labels = np.repeat([0, 1], [len(X), len(known)])
    test, truth = np.delete(Z, known, axis=0), np.delete(y, known)
    first, results = BSVDD(random_state=draw).fit(rows, labels), []
    for limit, choose in CUTOFFS.items():
        est = first.with_cutoff(choose)
        decision = est.decision(test)
        score, p = -decision["surprise"].to_numpy(), decision["probability_normal"].to_numpy()
        metrics = evaluate(truth, ~decision["normal"].to_numpy())
        place = np.minimum((p * BINS).astype(int), BINS - 1)
        least = choose(score[None], np.ones((1, len(score))), truth)[0]
        inside = score >= least
        results.append(
            {"set": name, "limit": limit, "g_mean": metrics["g_mean"]}
            | {"false_alarms": metrics["fpr"], "above": metrics["fpr"] > FAR}
            | {
                what: np.bincount(place, weights, BINS)
                for what, weights in (("rows", None), ("p", p), ("inside", inside))
            }
        )
    return results


def main() -> None:
    """Measure, print, save."""
    chosen = options("labels", __doc__, repetitions=DRAWS)
    sets = [each for each in raw_sets(chosen.data_dir) if each[3].sum() >= 2 * LABELS]
    cells = [(*each, draw) for each in sets for draw in range(chosen.repetitions)]
    found = [row for of_one in computed(of_draw, cells, chosen.jobs, "draws") for row in of_one]
    stored: dict[str, Any] = {"sets": len(sets), "draws": chosen.repetitions, "labels": LABELS}
    for limit, of_limit in pd.DataFrame(found).groupby("limit", sort=False):
        rows, p, inside = (
            np.sum(of_limit[what].tolist(), axis=0) for what in ("rows", "p", "inside")
        )
        means = (
            of_limit[["g_mean", "false_alarms", "above"]].astype(float).mean().round(4).to_dict()
        )
        shares = {"p": (p / rows).round(4).tolist(), "inside": (inside / rows).round(4).tolist()}
        stored[str(limit)] = means | shares | {"rows": rows.astype(int).tolist()}
    print(pd.DataFrame({limit: stored[limit] for limit in CUTOFFS}).to_string())
    write(chosen.out / "labels.json", stored)


if __name__ == "__main__":
    main()
