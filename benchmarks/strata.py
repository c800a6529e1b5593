"""Suspects in one table: how many of their bad rows are found if they are a stratum.

``uv run python -m benchmarks.strata`` makes tables of normal rows and of technicians, the first of
whom has bad rows, 4.5 standard deviations away: each in a direction of its own, or all in one. It
asks with and without strata, and stores in docs/strata.json, for each kind of table:

- ``lists``: the share of the tables in which a row is listed;
- ``found``: the share of the bad rows that is listed; ``fdp``: the share of the list that is good;
- ``none``: the mean of P(no row is odd);
- ``held``: how often the interval of a stratum holds its number of bad rows.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from bsvdd import BSVDD, stand_out

from .shared import computed, options, quietly, write

FAR, SEEDS, COLUMNS = 4.5, 10, (2, 6)
KINDS = {  # rows, rows of the first technician, technicians, bad rows, one direction
    "scatter": (150, 25, 2, 12, False),
    "clump": (150, 25, 2, 12, True),
    "clean": (150, 25, 2, 0, False),
    "20 technicians": (300, 15, 20, 6, False),
    "20 technicians, clean": (300, 15, 20, 0, False),
}


@quietly()
def of_table(kind: str, p: int, seed: int) -> list[dict[str, Any]]:
    """Return the results of one table."""
    n, of_first, technicians, bad, one = KINDS[kind]
    rng = np.random.default_rng([seed, p, *KINDS[kind]])
    X, away = rng.normal(size=(n, p)), rng.normal(size=(1 if one else bad, p))
    X[:bad] += FAR * away / np.linalg.norm(away, axis=1, keepdims=True)
    who, is_bad = np.minimum(np.arange(n) // of_first, technicians - 1), np.arange(n) < bad
    rows = []
    for strata in (None, np.char.zfill(who.astype(str), 2)):
        found = stand_out(BSVDD(random_state=seed), X, strata=strata)
        known, truth = found.strata, np.bincount(who if strata is not None else 0 * who, is_bad)
        row = {"table": kind, "columns": p, "strata": strata is not None}
        row |= {"lists": found.listed.any(), "none": found.none}
        row |= {"found": found.listed[is_bad].mean() if bad else np.nan}
        row |= {"fdp": (found.listed & ~is_bad).sum() / max(found.listed.sum(), 1)}
        rows.append(row | {"held": ((known["low"] <= truth) & (truth <= known["high"])).mean()})
    return rows


def main() -> None:
    """Measure, print, save."""
    chosen = options("strata", __doc__, repetitions=SEEDS)
    cells = product(KINDS, COLUMNS, range(chosen.repetitions))
    found = [row for rows in computed(of_table, cells, chosen.jobs, "tables") for row in rows]
    means = pd.DataFrame(found).groupby(["table", "columns", "strata"], sort=False).mean().round(4)
    print(means.to_string())
    stored = means.reset_index().astype(object)
    write(chosen.out / "strata.json", stored.where(stored.notna(), None).to_dict("records"))


if __name__ == "__main__":
    main()
