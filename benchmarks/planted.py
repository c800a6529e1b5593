"""Why planted rows are odd: which columns ``bsvdd.explain`` names.

``uv run python -m benchmarks.planted`` fits four generated tables of 400 rows and 9 columns
(skewed and plain numbers, counts, dates, categories, an ordered column, gaps; two numbers with a
correlation of .97, and a price that follows from the product). It explains 30 new rows of each of
four kinds, and stores in docs/planted.json how often a right column is named first, how often all
right columns are named; beside them the figures of commit e93990da,
whose shares were the terms of one kernel's logarithm.

:func:`table` is another table, with five planted rows, for :mod:`.one_table` and :mod:`.views`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from bsvdd import BSVDD, explain

from .shared import computed, options, quietly, write

N, TABLES, EACH = 400, 4, 30
PRODUCTS = {"milk": "litre", "flour": "kg", "eggs": "piece", "oil": "litre"}
PRICES = {"milk": 10.0, "flour": 20.0, "eggs": 30.0, "oil": 40.0}
FAR = {"amount": 250.0, "days": 45.0, "pulse": 120.0}  # some 6 standard deviations
BEFORE = {  # of e93990da on these rows: a right column first, all right columns named
    "one far value": {"first": 1.0, "all": 1.0},
    "two far values": {"first": 1.0, "all": 0.875},
    "broken correlation": {"first": 1.0, "all": 0.758},
    "price of another product": {"first": 0.767, "all": 0.0},
}


def table(seed: int, n: int = 500) -> tuple[pd.DataFrame, dict[str, tuple[int, tuple[str, ...]]]]:
    """Return a table, and for each planted kind its row and the columns at fault."""
    rng = np.random.default_rng(seed)
    height, noise = rng.normal(size=(2, n))
    product = rng.choice(list(PRODUCTS), n, p=[0.4, 0.3, 0.2, 0.1])
    frame = pd.DataFrame(
        {
            "amount": np.exp(3.0 + 0.8 * rng.normal(size=n)).round(2),
            "days": rng.gamma(2.0, 4.0, n).round(),
            "height": (170.0 + 10.0 * height).round(1),
            "weight": (70.0 + 12.0 * (0.97 * height + 0.243 * noise)).round(1),
            "product": product,
            "unit": pd.Series(product).map(PRODUCTS),
            "region": rng.choice(["north", "south", "east", "west"], n),
            "version": 3,
        }
    )
    far, broken, unseen, constant, rare = map(int, rng.choice(n, 5, replace=False))
    column = str(rng.choice(["amount", "days", "height"]))
    values = frame[column]
    frame.loc[far, column] = values.max() + 3.0 * values.std()
    if column == "height":  # its weight follows, so that only these two are at fault
        frame.loc[far, "weight"] = round(70.0 + 1.2 * (frame["height"][far] - 170.0), 1)
    sign = rng.choice([-1.0, 1.0])
    frame.loc[broken, ["height", "weight"]] = 170.0 + 18.0 * sign, 70.0 - 20.0 * sign
    frame.loc[unseen, "region"] = "abroad"
    frame.loc[constant, "version"] = 4
    frame.loc[rare, ["product", "unit"]] = "milk", "kg"
    planted = {
        "far": (far, (column,) if column != "height" else ("height", "weight")),
        "broken correlation": (broken, ("height", "weight")),
        "unseen category": (unseen, ("region",)),
        "constant broken": (constant, ("version",)),
        "rare combination": (rare, ("product", "unit")),
    }
    return frame, planted


def rows(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return normal rows of mixed columns."""
    height, noise = rng.normal(size=(2, n))
    product = pd.Series(rng.choice(list(PRICES), n, p=[0.4, 0.3, 0.2, 0.1]))
    days = pd.to_timedelta(rng.integers(0, 365, n), unit="D")
    frame = pd.DataFrame(
        {
            "amount": np.exp(3.0 + 0.8 * rng.normal(size=n)).round(2),
            "days": rng.gamma(2.0, 4.0, n).round(),
            "pulse": rng.normal(70.0, 8.0, n).round(1),
            "height": (170.0 + 10.0 * height).round(1),
            "weight": (70.0 + 12.0 * (0.97 * height + 0.243 * noise)).round(1),
            "product": product,
            "price": (product.map(PRICES) + rng.normal(size=n)).round(2),
            "day": pd.Timestamp("2024-01-01") + days,
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
        }
    )
    for column in ("amount", "pulse"):
        frame.loc[rng.random(n) < 0.02, column] = None
    return frame


def plant(rng: np.random.Generator, X: pd.DataFrame, kind: str) -> list[set[str]]:
    """Make the rows X odd, and return the columns at fault of each."""
    faults = []
    for i in X.index:
        if kind == "broken correlation":
            sign = rng.choice([-1.0, 1.0])
            changed = {"height": 170.0 + 20.0 * sign, "weight": 70.0 - 24.0 * sign}
            faults.append(set(changed))
        elif kind == "price of another product":
            other = rng.choice([p for p in PRICES if p != X["product"][i]])
            changed = {"price": PRICES[other]}
            faults.append({"product", "price"})
        else:
            names = rng.choice(list(FAR), 1 if kind == "one far value" else 2, replace=False)
            changed = {name: FAR[name] for name in names}
            faults.append(set(changed))
        X.loc[i, list(changed)] = list(changed.values())
    return faults


@quietly()
def of_table(seed: int) -> list[dict[str, Any]]:
    """Return which columns are named of the planted rows of one table."""
    rng = np.random.default_rng(seed)
    est = BSVDD().fit(rows(rng, N))
    found = []
    for kind in BEFORE:
        Z = rows(rng, EACH)
        faults = plant(rng, Z, kind)
        why = explain(est, Z)
        said = [why.reason(i) for i in range(EACH)]
        named = [re.findall(r"(?:^|[,:] | and )(\w+) = ", text) for text in said]
        found += [
            {"kind": kind, "first": own[0] in fault, "all": fault <= set(own)}
            for own, fault in zip(named, faults, strict=True)
        ]
    return found


def main() -> None:
    """Measure, print, save."""
    chosen = options("planted", __doc__)
    results = computed(of_table, [(seed,) for seed in range(TABLES)], chosen.jobs, "tables")
    frame = pd.DataFrame([row for of_one in results for row in of_one])
    means = frame.groupby("kind", sort=False)[["first", "all"]].mean().to_dict("index")
    stored = {"rows": TABLES * EACH, "kinds": means, "kinds in e93990da": BEFORE}
    write(chosen.out / "planted.json", stored)


if __name__ == "__main__":
    main()
