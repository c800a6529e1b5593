"""Whether false alarms keep their rate where rows repeat: generated tables with ties.

``uv run python -m benchmarks.ties [--repeats 10] [--rows 150 --rows 300] [--model SVDD ...]`` fits
each model to n rows of each of 20 tables, and prints the share of new rows that are flagged at .10
asked: the mean over repeats, the largest, and in brackets the largest share up to .105 that any
cutoff of the same scores would flag, for which a table of few patterns may leave no choice.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from bsvdd import BDD, BSVDD, SVDD, Views

from .shared import computed, quietly

Table = Callable[[np.random.Generator, int], np.ndarray]
RATE, SLACK, NEW_ROWS = 0.1, 0.005, 4000
APART = 1e-5  # scores of patterns on the sphere differ by the tolerance of the solver
MODELS: dict[str, Callable[[], Any]] = {
    "SVDD": SVDD,
    "BSVDD": BSVDD,
    "BDD": BDD,
    "Views": Views,
}


def zeros(share: float, columns: int = 2) -> Table:
    """Return rows whose cells are 0 with a probability, else normal."""
    return lambda rng, n: rng.normal(size=(n, columns)) * (rng.uniform(size=(n, columns)) > share)


def at_rest(share: float) -> Table:
    """Return rows of a sensor, of which a share is the same and the others are bursts."""
    return lambda rng, n: (
        np.array([20.0, 1.0, 0.0])
        + rng.normal(size=(n, 3)) * [5.0, 1.0, 2.0] * (rng.uniform(size=(n, 1)) > share)
    )


def counts(mean: float, columns: int) -> Table:
    """Return rows of Poisson counts."""
    return lambda rng, n: rng.poisson(mean, size=(n, columns)).astype(float)


def likert(columns: int) -> Table:
    """Return answers from 1 to 5, which one trait moves."""

    def rows(rng: np.random.Generator, n: int) -> np.ndarray:
        answers = 3.0 + rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, columns))
        return np.clip(np.round(answers), 1.0, 5.0)

    return rows


def binary(share: float) -> Table:
    """Return rows of three binary columns."""
    return lambda rng, n: (rng.uniform(size=(n, 3)) < share).astype(float)


def beside(*tables: Table) -> Table:
    """Return the columns of tables, beside each other."""
    return lambda rng, n: np.hstack([table(rng, n) for table in tables])


def either(share: float, first: Table, second: Table) -> Table:
    """Return rows of the first table with a probability, else of the second."""

    def rows(rng: np.random.Generator, n: int) -> np.ndarray:
        is_first = rng.uniform(size=(n, 1)) < share
        return np.where(is_first, first(rng, n), second(rng, n))

    return rows


TABLES: dict[str, Table] = {
    **{f"{share:.0%} zeros": zeros(share) for share in (0.3, 0.5, 0.8, 0.9, 0.95)},
    "90% zeros, 5 columns": zeros(0.9, 5),
    "counts of mean .3, 1 column": counts(0.3, 1),
    "counts of mean 1, 2 columns": counts(1.0, 2),
    "counts of mean 3, 3 columns": counts(3.0, 3),
    **{f"answers 1 to 5, {p} columns": likert(p) for p in (1, 2, 4)},
    **{f"binary, {share:.0%} ones": binary(share) for share in (0.1, 0.4)},
    **{f"at rest {share:.0%}": at_rest(share) for share in (0.8, 0.9, 0.97)},
    "70% answers, 30% normal": either(0.7, likert(2), lambda rng, n: rng.normal(size=(n, 2))),
    "counts beside zeros": beside(counts(0.5, 1), zeros(0.9, 1)),
    "normal, rounded to .5": lambda rng, n: np.round(2.0 * rng.normal(size=(n, 2))) / 2.0,
}


@quietly()
def cell(model: str, table: str, n: int, repeats: int) -> dict[str, Any]:
    """Return the realised false alarms of one cell."""
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, n, list(TABLES).index(table)])
        X, Z = TABLES[table](rng, n), TABLES[table](rng, NEW_ROWS)
        try:
            est = MODELS[model]().fit(X)
        except ValueError:  # so many rows are equal that they have no bandwidth
            continue
        scores = np.sort(est.score_samples(Z))
        below = np.append(0, 1 + np.flatnonzero(np.diff(scores) > APART)) / len(scores)
        found.append([(est.predict(Z) == -1).mean(), below[below <= RATE + SLACK].max()])
    rates, reachable = np.transpose(found)
    text = f"{rates.mean():.3f} {rates.max():.2f} ({reachable.mean():.2f})"
    if len(found) < repeats:
        text += f" {repeats - len(found)} refused"
    return {"table": table, "model": model, "n": n, "rate": text}


def main(arguments: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.ties", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--rows", type=int, action="append", help="default: 150, 300 and 1000")
    parser.add_argument("--model", action="append", choices=MODELS, help="default: all but Views")
    chosen = parser.parse_args(arguments)
    sizes, models = chosen.rows or [150, 300, 1000], chosen.model or ["SVDD", "BSVDD", "BDD"]
    cells = [(model, t, n, chosen.repeats) for t, model, n in product(TABLES, models, sizes)]
    frame = pd.DataFrame(computed(cell, cells, chosen.jobs, "ties"))
    wide = frame.pivot_table("rate", "table", ["model", "n"], aggfunc="first", sort=False)
    print(wide.to_string())


if __name__ == "__main__":
    main()
