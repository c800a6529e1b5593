"""Whether decisions keep their rate: false alarms and false discoveries."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from bsvdd import BDD, BSVDD, SVDD, cutoffs, p_value, select

from .measure import Rows, Run, number, texts

MODELS = {"BSVDD": BSVDD, "BDD": BDD, "SVDD": SVDD}
KINDS = ("normal", "t3", "cube", "mixture")
SIZES = (20, 50, 200)
COLUMNS = (2, 20)
FITS = 60
NEW = 500
ASKED = (0.05, 0.1, 0.2)
TABLES = 20
FDR = 0.1
NEEDED = (20, 50, 100, 300, 1000)
SAMPLES = 10


def rows(kind: str, n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return n normal rows of p columns."""
    if kind == "normal":
        return rng.normal(size=(n, p))
    if kind == "t3":
        return rng.standard_t(3, size=(n, p))
    if kind == "cube":
        return rng.uniform(size=(n, p))
    centers = 3.0 * np.random.default_rng(3).normal(size=(3, p)) / np.sqrt(p)
    return centers[rng.integers(0, 3, n)] + 0.5 * rng.normal(size=(n, p))


def cell(model: str, kind: str, n: int, p: int) -> Rows:
    """Return mean shares of flagged rows at each rate, and of p-values up to .1."""
    found = []
    for fit in range(FITS):
        rng = np.random.default_rng([fit, n, p, KINDS.index(kind)])
        X = rows(kind, n, p, rng)
        Z = rows(kind, NEW, p, rng)
        est = MODELS[model]().fit(X)
        strict = [est.with_cutoff(cutoffs.FalseAlarm(rate)) for rate in ASKED]
        found.append([(each.predict(Z) == -1).mean() for each in strict])
        found[-1].append((p_value(est, Z) <= 0.1 + 1e-12).mean())
    rates = dict(zip([*map(str, ASKED), "p"], np.mean(found, axis=0), strict=True))
    return [dict(model=model, kind=kind, n=n, p=p) | rates]


def of_table(n: int, p: int, table: int) -> Rows:
    """Return false discoveries and power in 200 new rows, 20 of them abnormal."""
    rng = np.random.default_rng([table, n, p])
    X = rng.normal(size=(n, p))
    y = np.arange(200) >= 180
    Z = rng.normal(size=(200, p))
    Z[y] += 4.0 / np.sqrt(p) + 1.0
    found = []
    for model in ("BSVDD", "SVDD"):
        mask = select(MODELS[model]().fit(X), Z, FDR)
        proportion = (mask & ~y).sum() / max(1, mask.sum())
        row = {"model": model, "rows": n, "columns": p, "FDR, .10 asked": proportion}
        found.append(row | {"power": mask[y].mean()})
    return found


def of_sample(n: int, sample: int) -> Rows:
    """Return false alarms, power and width of the interval of a fit to n normal rows.

    The rows have 5 columns. Near the cutoff the p-value is from .03 to .33.
    """
    rng = np.random.default_rng([sample, n])
    est = BSVDD().fit(rng.normal(size=(n, 5)))
    Z = rng.normal(size=(2000, 5))
    decided = est.decision(Z)
    near = decided[decided["p_value"].between(0.03, 0.33)]
    row = {"rows": n, "alarms": (~decided["normal"]).mean()}
    row["width of the surprise's interval"] = (near["high"] - near["low"]).median()
    return [row | {"found, shifted by 1 sd": (est.predict(Z + 1.0) == -1).mean()}]


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return the rates of each model and number of rows, and the FDR."""
    frame = run.cells(cell, product(MODELS, KINDS, SIZES, COLUMNS))
    titles = {str(rate): f"flagged, {number(rate)} asked" for rate in ASKED} | {
        "p": "p ≤ .10"
    }
    of = frame.groupby(["model", "n"], sort=False)[list(titles)]
    mean, low, high = (
        each.map(partial(number, digits=3)) for each in (of.mean(), of.min(), of.max())
    )
    shown = (mean + " (" + low + " to " + high + ")").rename(columns=titles)
    tables = run.cells(of_table, product((200, 1000), (2, 10), range(TABLES)))
    of_tables = tables.groupby(["model", "rows", "columns"], sort=False)[
        ["FDR, .10 asked", "power"]
    ]
    of = run.cells(of_sample, product(NEEDED, range(SAMPLES))).groupby("rows")
    mean, sd = (each["alarms"].map(number) for each in (of.mean(), of.std()))
    needed = (
        of.mean()
        .drop(columns="alarms")
        .assign(**{"false alarms, .10 asked": mean + " ± " + sd})
    )
    return {
        "generated": texts(shown),
        "discoveries": texts(of_tables.mean()),
        "rows needed": texts(needed),
    }
