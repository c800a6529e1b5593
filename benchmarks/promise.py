"""Where the promise would break: copies, series, groups, wild values, thin shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from bsvdd import BSVDD, copies, facts, stand_out

from .measure import Rows, Run, texts
from .one_table import normal_rows

TABLES = 20
SHAPES_OF = 40  # tables of each clean shape
NEW = 1000
SERIES = (0.0, 0.8, 0.9, 0.98)  # correlations with the row before
ROWS_OF_SERIES = (200, 600)
LATER = 100  # rows between a series and its new rows
GROUPS = ((20, 10), (60, 5))  # their number, and rows of each
WITHIN = (0.35, 1.0)  # sd; between groups it is 1
VALUES = (8.0, 1e3, 1e12, 1e100, -1e308)
# clean tables of many rows: their kind, share of missing cells in two columns, and rows
COUNTS = "counts, mostly zero"
PAYROLL = "sums of products (a payroll)"
CLEAN = (
    *product(("correlated", "mixed"), (0.0, 0.4)),
    *product((COUNTS, PAYROLL), (0.0,)),
)
MANY = (300, 1000, 3000)
COPIES: dict[str, tuple[int, float, float]] = {  # copies, their noise, share of rows
    "none": (0, 0.0, 1.0),
    "all rows twice": (1, 0.0, 1.0),
    "all rows five times": (4, 0.0, 1.0),
    "30 % of the rows twice": (1, 0.0, 0.3),
    "with .1 sd of noise": (1, 0.1, 1.0),
    "with .01 sd of noise": (1, 0.01, 1.0),
    "with .001 sd of noise": (1, 0.001, 1.0),
}


def flagged(est: BSVDD, rows: np.ndarray) -> float:
    """Return the share of rows that are called abnormal."""
    return float((est.predict(rows) == -1).mean())


def of_copies(kind: str, table: int) -> Rows:
    """Return what a fit to rows and their copies says and flags, at .10 asked."""
    times, noise, share = COPIES[kind]
    rng = np.random.default_rng([table, 5])
    X = rng.normal(size=(50, 5))
    some = np.repeat(X[: round(share * len(X))], times, axis=0)
    X = np.vstack([X, some + noise * rng.normal(size=some.shape)])
    Z = rng.normal(size=(NEW, 5))
    untold = BSVDD().fit(X)
    told = BSVDD().fit(X, groups=copies(X))
    said = "have copies" in " ".join(facts(untold).warnings)
    row = {"copies": kind, "said": said, "flagged": flagged(untold, Z)}
    return [row | {"flagged, groups=copies(X)": flagged(told, Z)}]


def series(rho: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows of 4 columns, each correlated with the row before by rho."""
    X = rng.normal(size=(n, 4))
    for i in range(1, n):
        X[i] = rho * X[i - 1] + np.sqrt(1.0 - rho**2) * X[i]
    return X


def of_series(rho: float, n: int, table: int) -> Rows:
    """Return what a fit to a series says, and flags later, at .10 asked."""
    rng = np.random.default_rng([table, n, round(100 * rho)])
    X = series(rho, n + LATER + NEW, rng)
    X, Z = X[:n], X[n + LATER :]
    est = BSVDD().fit(X)
    text = " ".join(facts(est).warnings)
    advice = re.search(r"arange\(len\(X\)\) // (\d+)", text)
    few = "too few" in text
    by_blocks = np.nan
    if advice and not few:
        by_blocks = flagged(BSVDD().fit(X, groups=np.arange(n) // int(advice[1])), Z)
    row = {"correlation": f"{rho:g}", "rows": n, "said": bool(advice)}
    row |= {"no block holds it": few, "flagged": flagged(est, Z)}
    return [row | {"flagged, by the blocks that hold it": by_blocks}]


def of_groups(number: int, each: int, within: float, table: int) -> Rows:
    """Return the flagged rows of new groups, and whether the interval holds them."""
    rng = np.random.default_rng([table, number, round(100 * within)])

    def rows(k: int, m: int) -> np.ndarray:
        centers = np.repeat(rng.normal(size=(k, 4)), m, axis=0)
        return np.asarray(centers + within * rng.normal(size=(k * m, 4)))

    est = BSVDD().fit(rows(number, each), groups=np.repeat(np.arange(number), each))
    rate = flagged(est, rows(NEW, 1))
    beyond = facts(est).beyond["majority"]
    row = {"groups": number, "rows of each": each, "sd within": within}
    row |= {"flagged": rate, "low": beyond.low, "high": beyond.high}
    return [row | {"interval holds it": beyond.low <= rate <= beyond.high}]


def of_value(value: float, table: int) -> Rows:
    """Return the found rows 6 sd out in a column with one wild value, and flagged."""
    rng = np.random.default_rng(table)
    X = rng.normal(size=(200, 3))
    X[17, 1] = value
    est = BSVDD().fit(X)
    Z = rng.normal(size=(NEW, 3))
    far = Z + np.array([0.0, 6.0, 0.0])
    return [
        {"value": f"{value:g}", "found": flagged(est, far), "flagged": flagged(est, Z)}
    ]


def curve(rng: np.random.Generator) -> np.ndarray:
    """Return rows of a curve in space."""
    t = rng.uniform(-2.0, 2.0, 200)
    X = np.column_stack([t, t**2, np.sin(2.0 * t)])
    return np.asarray(X + 0.1 * rng.normal(size=X.shape))


def sphere(rng: np.random.Generator) -> np.ndarray:
    """Return rows of unit length."""
    X = rng.normal(size=(200, 4))
    return np.asarray(X / np.linalg.norm(X, axis=1, keepdims=True))


def moons(rng: np.random.Generator) -> np.ndarray:
    """Return rows of two half circles."""
    angle = np.pi * rng.uniform(size=200)
    second = (rng.uniform(size=200) < 0.5)[:, None]
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where(second, [1.0, 0.5] - X, X)
    return np.asarray(X + 0.05 * rng.normal(size=X.shape))


def parabola(rng: np.random.Generator) -> np.ndarray:
    """Return rows of a parabola."""
    t = rng.normal(size=200)
    return np.column_stack([t, t**2 + 0.3 * rng.normal(size=200)])


def categories(rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of five columns of categories."""
    levels = np.array(list("abcdef"))
    share = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    columns = {f"c{j}": rng.choice(levels, 200, p=share) for j in range(5)}
    return pd.DataFrame(columns)


SHAPES: dict[str, Callable[[np.random.Generator], np.ndarray | pd.DataFrame]] = {
    "curve": curve,
    "sphere": sphere,
    "two moons": moons,
    "parabola": parabola,
    "categories": categories,
}


def of_list(X: np.ndarray | pd.DataFrame) -> dict[str, bool]:
    """Return whether a clean table has a list, and a row that stands out."""
    found = stand_out(BSVDD(random_state=0), X)
    return {"has a list": found.listed.any(), '"at least" one': found.at_least > 0}


def of_shape(shape: str, table: int) -> Rows:
    """Return what is said of a clean table of a shape."""
    X = SHAPES[shape](np.random.default_rng([table, 9]))
    return [{"clean table": shape} | of_list(X)]


def counts(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return n rows of four numbers and two counts that are mostly zero."""
    X = pd.DataFrame(rng.normal(size=(n, 4)) + 0.7 * rng.normal(size=(n, 1)))
    found = {"defects": rng.poisson(0.2, n), "stops": rng.geometric(0.7, n) - 1}
    return X.add_prefix("x").assign(**found)


def payroll(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return n rows of hours, overtime, rate, gross, tax and net."""
    hours = rng.choice([20.0, 38.5, 40.0], n, p=[0.15, 0.25, 0.6])
    overtime = np.where(rng.random(n) < 0.3, rng.gamma(2.0, 3.0, n).round(1), 0.0)
    rate = rng.lognormal(3.0, 0.3, n).round(2)
    X = pd.DataFrame({"hours": hours, "overtime": overtime, "rate": rate})
    X["gross"] = ((hours + 1.25 * overtime) * rate).round(2)
    X["tax"] = (X["gross"] * np.where(X["gross"] > 1000.0, 0.3, 0.2)).round(2)
    return X.assign(net=X["gross"] - X["tax"])


def of_many(kind: str, gaps: float, n: int, table: int) -> Rows:
    """Return what is said of n clean rows, of which some cells are missing."""
    rng = np.random.default_rng([table, n])
    own = {COUNTS: counts, PAYROLL: payroll}
    X = own[kind](n, rng) if kind in own else normal_rows(kind, n, rng)
    some = X.columns[:2]
    X[some] = X[some].where(rng.random((n, 2)) >= gaps)
    return [{"clean rows": kind, "gaps": f"{gaps:.0%}", "rows": n} | of_list(X)]


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return means over tables."""
    tables = range(TABLES)
    groups = [(*of, within) for of, within in product(GROUPS, WITHIN)]
    of_kinds = {
        "copies": run.cells(of_copies, product(COPIES, tables)),
        "series": run.cells(of_series, product(SERIES, ROWS_OF_SERIES, tables)),
        "groups": run.cells(of_groups, [(*of, i) for of in groups for i in tables]),
        "wild values": run.cells(of_value, product(VALUES, range(TABLES // 2))),
        "clean shapes": run.cells(of_shape, product(SHAPES, range(SHAPES_OF))),
        "many rows": run.cells(
            of_many,
            [(*of, n, i) for of, n, i in product(CLEAN, MANY, range(TABLES // 2))],
        ),
    }
    keys = {"series": 2, "groups": 3, "many rows": 3}
    found = {}
    for name, frame in of_kinds.items():
        by = list(frame.columns[: keys.get(name, 1)])
        found[name] = texts(frame.groupby(by, sort=False).mean())
    return found
