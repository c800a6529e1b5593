"""What people know about rows: batches, rows in doubt, recent rows, weights of a survey.

``uv run python -m benchmarks.known [--part NAME ...] [--scale 1]``; truth is known in each table.

- ``batches``: rows of new batches that are flagged at .10, without and with ``groups``; rows 4 sd
  away in two columns that are found; p-values up to .10. For 10, 20, 60 batches: within sd .1, .3,
  1; 2 and 6 columns; equal and unequal sizes; normal and t3.
- ``doubt``: 150 rows, 25 of them suspects, of which 12 are bad, a clump or scattered: bad new rows
  found by the default, at weight .1 and at weight 0, over those of a fit without the bad rows.
- ``recent``: a mean that drifts by 2 sd: current rows flagged, without and with a half-life of .3
  of the span.
- ``survey``: rows drawn with probability 1/weight: rows of the population flagged.
"""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from bsvdd import BDD, BSVDD, p_value

from .shared import by_part, computed, quietly

MODELS = {"BSVDD": BSVDD, "BDD": BDD}
BATCHES, WITHIN, COLUMNS = (10, 20, 60), (0.1, 0.3, 1.0), (2, 6)
NEW, FAR = 2000, 4.0
RNG = np.random.Generator


def of_batches(rng: RNG, sizes: np.ndarray, within: float, q: int, t3: bool) -> Any:
    """Return rows of batches, and the batch of each."""
    batch, law = np.repeat(np.arange(len(sizes)), sizes), t(3.0) if t3 else norm()
    middles, noise = (law.rvs((n, q), random_state=rng) for n in (len(sizes), len(batch)))
    return middles[batch] + within * noise, batch


@quietly()
def batch_cell(model: str, k: int, within: float, q: int, unequal: bool, t3: bool, i: int) -> Any:
    """Return what one table of k batches says of new ones."""
    rng = np.random.default_rng([i, k, q, unequal, t3, int(10 * within)])
    sizes = rng.integers(1, 13, k) if unequal else np.full(k, 6)
    X, batch = of_batches(rng, sizes, within, q, t3)
    Z, _ = of_batches(rng, np.ones(NEW, dtype=int), within, q, t3)
    far, sd = Z.copy(), np.sqrt((1.0 + within**2) * (3.0 if t3 else 1.0))
    far[:, :2] += FAR * sd * rng.choice([-1.0, 1.0], (NEW, 2))
    est, plain = MODELS[model](random_state=i).fit(X, groups=batch), MODELS[model]().fit(X)
    return {
        **dict(model=model, batches=k, within=within, columns=q, unequal=unequal, t3=t3),
        "untold": float((plain.predict(Z) == -1).mean()),
        "flagged": float((est.predict(Z) == -1).mean()),
        "p": float((p_value(est, Z) <= 0.1).mean()),
        "found": float((est.predict(far) == -1).mean()),
    }


def batches(chosen: Namespace) -> list[dict[str, Any]]:
    """Return the means over tables for each number of batches, equal and unequal sizes."""
    kinds = product(MODELS, BATCHES, WITHIN, COLUMNS, (False, True), (False, True))
    cells = [(*kind, i) for kind in kinds for i in range(max(1, round(3 * chosen.scale)))]
    found = pd.DataFrame(computed(batch_cell, cells, chosen.jobs, "batches"))
    groups = found.groupby(["model", "batches", "unequal"])
    table = groups[["untold", "flagged", "p", "found"]].mean()
    return table.assign(tables=groups.size()).round(3).reset_index().to_dict("records")


@quietly()
def doubt_cell(clump: bool, q: int, i: int) -> dict[str, Any]:
    """Return what is found of bad rows in one table."""
    rng = np.random.default_rng([i, q, clump])

    def bad(n: int) -> np.ndarray:
        return np.full(q, 3.5 / np.sqrt(q) + 1.0) + (0.3 if clump else 1.2) * rng.normal(
            size=(n, q)
        )

    X = np.concatenate([rng.normal(size=(138, q)), bad(12)])
    suspect, is_bad = np.arange(150) >= 125, np.arange(150) >= 138
    Z, new = rng.normal(size=(NEW, q)), bad(500)
    weights = {"default": np.ones(150), "0.1": np.where(suspect, 0.1, 1.0)}
    weights |= {"0": 1.0 - suspect, "without": 1.0 - is_bad}
    row: dict[str, Any] = dict(clump=clump, columns=q)
    for name, weight in weights.items():
        est = BSVDD(random_state=i).fit(X, sample_weight=weight)
        row[f"found, {name}"] = float((est.predict(new) == -1).mean())
        row[f"flagged, {name}"] = float((est.predict(Z) == -1).mean())
    return row


def doubt(chosen: Namespace) -> list[dict[str, Any]]:
    """Return the means over tables."""
    cells = product((True, False), (2, 6), range(max(2, round(10 * chosen.scale))))
    found = pd.DataFrame(computed(doubt_cell, cells, chosen.jobs, "doubt"))
    return found.groupby(["clump", "columns"]).mean().round(3).reset_index().to_dict("records")


@quietly()
def recent_cell(q: int, i: int) -> dict[str, Any]:
    """Return the share of current rows that is flagged."""
    rng, n = np.random.default_rng([i, q]), 300
    age = np.linspace(1.0, 0.0, n)
    drift = np.zeros(q)
    drift[0] = 2.0
    X, Z = rng.normal(size=(n, q)) - age[:, None] * drift, rng.normal(size=(NEW, q))
    plain, est = BSVDD().fit(X), BSVDD().fit(X, sample_weight=0.5 ** (age / 0.3))
    flagged = {"all": plain.predict(Z) == -1, "recent": est.predict(Z) == -1}
    return {"columns": q} | {name: float(each.mean()) for name, each in flagged.items()}


def recent(chosen: Namespace) -> list[dict[str, Any]]:
    """Return the means over tables."""
    cells = product((2, 6), range(max(2, round(20 * chosen.scale))))
    found = pd.DataFrame(computed(recent_cell, cells, chosen.jobs, "recent"))
    return found.groupby("columns").mean().round(3).reset_index().to_dict("records")


@quietly()
def survey_cell(q: int, i: int) -> dict[str, Any]:
    """Return the share of rows of the population that is flagged."""
    rng = np.random.default_rng([i, q])
    population = rng.normal(size=(20_000, q))
    weight = np.exp(0.8 * (0.7 * population[:, 0] + np.sqrt(0.51) * rng.normal(size=20_000)))
    some = rng.choice(20_000, 300, replace=False, p=(1.0 / weight) / (1.0 / weight).sum())
    Z = population[rng.choice(20_000, NEW)]
    plain = BSVDD().fit(population[some])
    est = BSVDD().fit(population[some], sample_weight=weight[some])
    flagged = {"plain": plain.predict(Z) == -1, "weighted": est.predict(Z) == -1}
    return {"columns": q} | {name: float(each.mean()) for name, each in flagged.items()}


def survey(chosen: Namespace) -> list[dict[str, Any]]:
    """Return the means over tables."""
    cells = product((2, 6), range(max(2, round(20 * chosen.scale))))
    found = pd.DataFrame(computed(survey_cell, cells, chosen.jobs, "survey"))
    return found.groupby("columns").mean().round(3).reset_index().to_dict("records")


def main(arguments: list[str] | None = None) -> None:
    """Measure, store and print."""
    _, stored = by_part("known", __doc__, (batches, doubt, recent, survey), arguments, scale=1.0)
    for part, rows in stored.items():
        print(f"{part}\n{pd.DataFrame(rows).to_string(index=False)}\n")


if __name__ == "__main__":
    main()
