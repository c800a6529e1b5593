"""One table with odd rows: which rows are found, and whether the list is right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bsvdd import BSVDD, stand_out

from .measure import Rows, Run, collection, number, real_set, set_names, texts

MOST_ROWS = 1000
MOST_ODD = 0.1
FDR = 0.1
BINS = 10
NORMAL = ("correlated", "clusters", "amounts", "ring", "mixed")
ODD = ("scattered", "clump", "clumps", "one column")
SIZES = (200, 600)
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)
TABLES = 2
WILD = (10.0, 25.0, 1000.0)  # sd


def numbers(X: Any) -> np.ndarray:
    """Return standardised columns for other packages, one for each value of a text."""
    if isinstance(X, pd.DataFrame):
        text = X.select_dtypes(exclude="number")
        coded = OneHotEncoder(sparse_output=False).fit_transform(text)
        X = np.hstack([X.select_dtypes("number").to_numpy(float), coded])
    return np.asarray(StandardScaler().fit_transform(X))


def by_neighbours(X: Any) -> np.ndarray:
    """Return the distance of each row from its 20th neighbour."""
    rows = numbers(X)
    near = NearestNeighbors(n_neighbors=min(20, len(rows) - 1)).fit(rows)
    return np.asarray(near.kneighbors()[0][:, -1])


RANKINGS: dict[str, Callable[[Any], np.ndarray]] = {  # larger for odder rows
    "`stand_out(BSVDD(), X)`": lambda X: -np.argsort(stand_out(BSVDD(), X).order),
    "BSVDD, all rows normal": lambda X: (
        BSVDD().fit(X).decision()["surprise"].to_numpy()
    ),
    "isolation forest": lambda X: (
        -IsolationForest(random_state=0).fit(numbers(X)).score_samples(numbers(X))
    ),
    "20 neighbours": by_neighbours,
    "local outlier factor": lambda X: (
        -LocalOutlierFactor(20).fit(numbers(X)).negative_outlier_factor_
    ),
}


# the order of rows


def of_set(folder: Path | None, name: str) -> Rows:
    """Return AUC and AP of each ranking on 1,000 rows at most, .10 of them odd."""
    X, odd = real_set(folder, name)
    rng = np.random.default_rng(0)
    n0 = int((~odd).sum())
    n1 = int(odd.sum())
    n = min(MOST_ROWS, n0 + n1, int(n0 / (1.0 - MOST_ODD)))
    k1 = min(n1, max(1, int(min(MOST_ODD, n1 / (n0 + n1)) * n)))
    sizes = zip(map(np.flatnonzero, (~odd, odd)), (min(n0, n - k1), k1), strict=True)
    kept = rng.permutation(
        np.concatenate([rng.choice(i, k, replace=False) for i, k in sizes])
    )
    found = []
    for ranking, rank in RANKINGS.items():
        score = rank(X[kept])
        found.append({"sets": collection(name), "ranking": ranking})
        found[-1]["AUC"] = roc_auc_score(odd[kept], score)
        found[-1]["AP"] = average_precision_score(odd[kept], score)
    return found


def alike_table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of numbers and categories, and which rows are a clump.

    The clump lies beyond the 1 % or 99 % points of two or more columns of numbers.
    """
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(300, 1001))
    p = int(rng.integers(3, 6))
    n1 = round(float(rng.uniform(0.02, 0.1)) * n)
    X = pd.DataFrame(0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, p)))
    X = X.rename(columns="x{}".format)
    X.iloc[:, 0] = np.exp(X.iloc[:, 0])
    names = list(X.columns)
    rows = rng.choice(n, n1, replace=False)
    for name, letters in (("kind", "abcde"), ("place", "uvw")):
        X[name] = rng.choice(
            list(letters), n, p=rng.dirichlet(np.full(len(letters), 5.0))
        )
    sd = X[names].std()
    at = X[names].median() + 0.5 * sd * rng.normal(size=p)
    for column in rng.choice(p, int(rng.integers(2, p + 1)), replace=False):
        high = bool(rng.integers(2)) or column == 0
        edge = X[names[column]].quantile(0.99 if high else 0.01)
        at.iloc[column] = edge + (0.5 if high else -0.5) * sd.iloc[column]
    X.loc[rows, names] = at.to_numpy() + 0.15 * sd.to_numpy() * rng.normal(size=(n1, p))
    X.loc[rows, ["kind", "place"]] = rng.choice(list("abcde")), rng.choice(list("uvw"))
    return X, np.isin(np.arange(n), rows)


def of_alike(seed: int) -> Rows:
    """Return the share of alike rows among the first n1 of each ranking."""
    X, odd = alike_table(seed)
    first = {
        name: np.argsort(-rank(X), kind="stable") for name, rank in RANKINGS.items()
    }
    return [
        {"ranking": name, "alike odd rows first": odd[order[: odd.sum()]].mean()}
        for name, order in first.items()
    ]


# the list


def normal_rows(kind: str, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return normal rows of one kind."""
    if kind == "correlated":
        noise = rng.normal(size=(n, 6))
        common = rng.normal(size=(n, 1))
        return pd.DataFrame((0.6 * noise + 0.8 * common) * [1, 20, 0.1, 3, 5, 2])
    if kind == "clusters":
        centres = np.array([[0, 0, 0, 0], [6, -4, 0, 3], [-5, 5, 4, 0]])
        return pd.DataFrame(
            centres[rng.choice(3, n, p=[0.5, 0.3, 0.2])] + rng.normal(size=(n, 4))
        )
    if kind == "amounts":
        size = rng.normal(size=(n, 1))
        return pd.DataFrame(
            np.exp(0.5 * size + 0.6 * rng.normal(size=(n, 4))) * [1, 100, 10, 5]
        )
    if kind == "ring":
        angle = rng.uniform(0.0, 2.0 * np.pi, n)
        radius = 4.0 + 0.4 * rng.normal(size=n)
        around = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        return pd.DataFrame(np.hstack([around, rng.normal(size=(n, 1))]))
    product_ = rng.choice(list("abcde"), n, p=[0.35, 0.3, 0.2, 0.1, 0.05])
    unit = np.where(rng.uniform(size=n) < 0.95, np.char.add("u", product_), "ua")
    amount = np.exp(rng.normal(3.0, 0.7, n)) * np.where(product_ == "b", 1.5, 1.0)
    items = rng.poisson(8, n).astype(float)
    columns = {"amount": amount, "items": items, "days": rng.normal(30.0, 6.0, n)}
    return pd.DataFrame({**columns, "product": product_, "unit": unit})


def table(
    kind: str, odd: str, n: int, share: float, seed: int
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of n rows, and which of them are odd."""
    rng = np.random.default_rng(
        [NORMAL.index(kind), ODD.index(odd), n, round(1000 * share), seed]
    )
    n1 = round(share * n)
    X = normal_rows(kind, n, rng)
    many = normal_rows(kind, 4000, np.random.default_rng(0)).select_dtypes("number")
    names = many.columns
    mean = many.mean().to_numpy()
    sd = many.std().to_numpy()
    rows = rng.permutation(n)[:n1]
    p = len(names)
    if odd == "scattered":
        X.loc[rows, names] = mean + 2.5 * sd * rng.normal(size=(n1, p))
    elif odd == "one column":
        for row, column in zip(rows, rng.integers(0, p, n1), strict=True):
            X.loc[row, names[column]] += 5.0 * sd[column] * rng.choice([-1.0, 1.0])
    elif n1:
        k = 1 if odd == "clump" else 4
        way = rng.normal(size=(k, p))
        way *= (4.5 if p > 3 else 3.5) / np.linalg.norm(way, axis=1, keepdims=True)
        at = (mean + sd * way)[rng.integers(0, k, n1)]
        X.loc[rows, names] = at + 0.15 * sd * rng.normal(size=(n1, p))
    return X, np.isin(np.arange(n), rows)


def of_table(kind: str, odd: str, n: int, share: float, seed: int) -> Rows:
    """Return what the list of one generated table has."""
    X, truth = table(kind, odd, n, share, seed)
    found = stand_out(BSVDD(), X, fdr=FDR)
    p = np.nan_to_num(found.probability)
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    false = (found.listed & ~truth).sum()
    return [
        {
            **{"kind": kind, "odd": odd, "share": share, "lists": found.listed.any()},
            "fdp": false / max(1, found.listed.sum()),
            "power": (found.listed & truth).sum() / truth.sum()
            if truth.any()
            else None,
            "true L": found.at_least <= truth.sum(),
            "brier": np.square(p - truth).mean(),
            "of bin": np.bincount(bins, minlength=BINS).tolist(),
            "odd of bin": np.bincount(bins, truth, BINS).tolist(),
        }
    ]


def of_wild(kind: str, odd: str, n: int, sd: float) -> Rows:
    """Return the listed share of odd rows, beside a row with one value at ``sd``."""
    X, truth = table(kind, odd, n, 0.05, seed=9)
    if sd:
        column = X.select_dtypes("number").columns[0]
        X.loc[np.argmin(truth), column] = X[column].mean() + sd * X[column].std()
    return [{"sd": sd, "listed": stand_out(BSVDD(), X).listed[truth].mean()}]


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return the rankings, and what the list holds."""
    sets = run.cells(of_set, product([run.sets], set_names(run.sets)))
    means = sets.pivot_table(["AUC", "AP"], "ranking", "sets", sort=False)
    means = means.swaplevel(axis=1).sort_index(
        axis=1, ascending=False, sort_remaining=True
    )
    rankings = means.set_axis([", ".join(pair) for pair in means.columns], axis=1)
    alike = run.cells(of_alike, product(range(10))).groupby("ranking").mean()
    cells = product(NORMAL, ODD, SIZES, SHARES, range(TABLES))
    # without odd rows they have no kind
    cells = [c for c in cells if c[3] or c[1] == ODD[0]]
    frame = run.cells(of_table, cells)
    wild = run.cells(of_wild, product(NORMAL, ODD, SIZES, (0.0, *WILD)))
    wild = wild.groupby("sd")["listed"].mean()
    count, odd = (
        np.sum(frame[name].tolist(), axis=0) for name in ("of bin", "odd of bin")
    )

    def by(name: str, key: str, digits: int = 2) -> str:
        of = frame.groupby(key, sort=False)[name].mean()
        return ", ".join(f"{k} {number(v, digits)}" for k, v in of.items() if v == v)

    some = frame[frame["share"] > 0]
    lines = {
        "share of false rows in a list, .10 asked": number(frame["fdp"].mean(), 3),
        "by the kind of normal rows": by("fdp", "kind"),
        "share of the odd rows that are listed": number(some["power"].mean()),
        "listed, by the kind of normal rows": by("power", "kind"),
        "listed, by the kind of odd rows": by("power", "odd"),
        "tables without odd rows with a list": number(
            frame[frame["share"] == 0]["lists"].mean()
        ),
        '"at least L" is true, by the share of odd rows': by("true L", "share"),
        "Brier score of P(odd)": number(frame["brier"].mean(), 3),
        "share of odd rows, P(odd) in ten bins": " ".join(
            map(number, odd / np.maximum(count, 1))
        ),
    }
    beside = "listed of 5 % odd rows; the same beside one value at 10, 25, 1,000 sd"
    lines[beside] = ", ".join(map(number, wild))
    return {
        "rankings": texts(rankings.join(alike), 3),
        "list": pd.DataFrame({"what": lines.keys(), "measured": lines.values()}),
    }
