"""One table with odd rows inside: which rows are found, and whether the list keeps its promises.

``uv run python -m benchmarks.one_table [--data-dir FOLDER] [--scale .2] [--part lists ...]`` fits
tables without labels as ``fit_predict`` does, and stores in docs/one_table.json:

- ``sets``: AUC and average precision on the real sets (odd share <= .10, at most 1,000 rows),
  beside a fit that counts all rows as normal, isolation forest, 20 neighbours and LOF;
- ``alike``: the share of alike odd rows among the first n1 rows of ten generated tables;
- ``planted``: the planted rows of ``benchmarks.planted`` among the first 50;
- ``lists``: false discoveries and power of the list, "at least L", the Brier score and the bins of
  P(odd), on generated tables with shares of odd rows from 0 to .20;
- ``clean``: the share of listed rows in Gaussian tables without odd rows;
- ``new_rows``: the rate at which new normal rows are flagged at .10 asked, by the core;
- ``large``: 20,000 rows of 8 columns with 300 alike odd rows, and the seconds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.comparison import datasets
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from bsvdd import BSVDD, stand_out

from . import planted as planted_rows
from .shared import by_part, computed, quietly

MOST_ROWS, MOST_ODD = 1000, 0.1
SIZES, SHARES, FDR, BINS = (200, 600), (0.0, 0.02, 0.05, 0.1, 0.2), 0.1, 10


def surprise_of_all(X: Any) -> np.ndarray:
    """Return the surprise of each row where all rows count as normal, each left out."""
    return BSVDD().fit(X).decision()["surprise"].to_numpy()


def ranking(X: Any) -> np.ndarray:
    """Return a number for each row that orders them as ``stand_out`` does, larger for odder."""
    found = stand_out(BSVDD(), X)
    return -np.argsort(found.order)


def numbers(X: Any) -> np.ndarray:
    """Return the standardised columns of X, of text one for each value, for other packages."""
    if isinstance(X, pd.DataFrame):
        text = X.select_dtypes(exclude="number")
        coded = OneHotEncoder(sparse_output=False).fit_transform(text)
        X = np.hstack([X.select_dtypes("number").to_numpy(float), coded])
    scaled: np.ndarray = StandardScaler().fit_transform(X)
    return scaled


def by_neighbours(X: Any, k: int = 20) -> np.ndarray:
    """Return the distance of each row from its k-th neighbour."""
    rows = numbers(X)
    near = NearestNeighbors(n_neighbors=min(k, len(rows) - 1)).fit(rows)
    farthest: np.ndarray = near.kneighbors()[0][:, -1]
    return farthest


RANKINGS: dict[str, Callable[[Any], np.ndarray]] = {
    "BSVDD, core": ranking,
    "BSVDD, all rows": surprise_of_all,
    "isolation forest": lambda X: (
        -IsolationForest(random_state=0).fit(numbers(X)).score_samples(numbers(X))
    ),
    "20 neighbours": by_neighbours,
    "local outlier factor": lambda X: (
        -LocalOutlierFactor(20).fit(numbers(X)).negative_outlier_factor_
    ),
}


# real sets


def real_tables(folder: Any) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return name, rows and which are odd: at most 1,000 rows with an odd share of at most .10."""
    tables = []
    for name in datasets.names():
        data = datasets.embedded(name)
        tables.append((name, data.X, data.minority))
    for number, path in enumerate(sorted(folder.glob("*.npz")) if folder else [], 1):
        with np.load(path) as file:
            if "test_labels" in file:
                rows = np.nan_to_num(np.concatenate([file["train"], file["test"]]))
                odd = np.concatenate([np.zeros(len(file["train"]), bool), file["test_labels"] > 0])
                tables.append((f"other {number}", rows, odd))
    return [_thinned(*each) for each in tables]


def _thinned(name: str, X: np.ndarray, odd: np.ndarray) -> tuple[str, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    n0, n1 = int((~odd).sum()), int(odd.sum())
    n = min(MOST_ROWS, n0 + n1, int(n0 / (1.0 - MOST_ODD)))
    share = min(MOST_ODD, n1 / (n0 + n1))
    k1 = min(n1, max(1, int(share * n)))
    k0 = min(n0, n - k1)
    kept = [rng.choice(np.flatnonzero(odd == c), k, replace=False) for c, k in ((0, k0), (1, k1))]
    rows = rng.permutation(np.concatenate(kept))
    return name, X[rows], odd[rows]


@quietly()
def of_set(name: str, X: np.ndarray, odd: np.ndarray) -> list[dict[str, Any]]:
    """Return AUC and AP of each ranking on one set."""
    rows = []
    for candidate, rank in RANKINGS.items():
        start = time.perf_counter()
        score = rank(X)
        rows.append(
            {
                "set": name,
                "candidate": candidate,
                "auc": float(roc_auc_score(odd, score)),
                "ap": float(average_precision_score(odd, score)),
                "seconds": time.perf_counter() - start,
            }
        )
    return rows


def sets(chosen: argparse.Namespace) -> dict[str, Any]:
    """Rank the rows of real sets."""
    found = computed(of_set, real_tables(chosen.data_dir), chosen.jobs, "sets")
    frame = pd.DataFrame([row for rows in found for row in rows])
    frame["embedded"] = ~frame["set"].str.startswith("other")
    means = frame.groupby(["embedded", "candidate"])[["auc", "ap", "seconds"]].mean()
    print(means.round(3).to_string())
    return {
        "embedded" if embedded else "development": table.droplevel(0).to_dict("index")
        for embedded, table in means.groupby(level=0)
    }


# generated tables


def normal_rows(kind: str, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return normal rows of one kind: correlated, clusters, amounts, ring, or mixed."""
    if kind == "correlated":
        noise, common = rng.normal(size=(n, 6)), rng.normal(size=(n, 1))
        return pd.DataFrame((0.6 * noise + 0.8 * common) * [1, 20, 0.1, 3, 5, 2])
    if kind == "clusters":
        centres = np.array([[0, 0, 0, 0], [6, -4, 0, 3], [-5, 5, 4, 0]])
        which = rng.choice(3, n, p=[0.5, 0.3, 0.2])
        return pd.DataFrame(centres[which] + rng.normal(size=(n, 4)))
    if kind == "amounts":
        size = rng.normal(size=(n, 1))
        return pd.DataFrame(np.exp(0.5 * size + 0.6 * rng.normal(size=(n, 4))) * [1, 100, 10, 5])
    if kind == "ring":
        angle, radius = rng.uniform(0.0, 2.0 * np.pi, n), 4.0 + 0.4 * rng.normal(size=n)
        around = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        return pd.DataFrame(np.hstack([around, rng.normal(size=(n, 1))]))
    product = rng.choice(list("abcde"), n, p=[0.35, 0.3, 0.2, 0.1, 0.05])
    unit = np.where(rng.uniform(size=n) < 0.95, np.char.add("u", product), "ua")
    amount = np.exp(rng.normal(3.0, 0.7, n)) * np.where(product == "b", 1.5, 1.0)
    columns = {"amount": amount, "items": rng.poisson(8, n), "days": rng.normal(30.0, 6.0, n)}
    return pd.DataFrame({**columns, "product": product, "unit": unit})


NORMAL = ("correlated", "clusters", "amounts", "ring", "mixed")
ODD = ("scattered", "clump", "clumps", "one column")


def table(
    kind: str, odd: str, n: int, share: float, rng: np.random.Generator
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of n rows, and which of them are odd."""
    n1 = round(share * n)
    X = normal_rows(kind, n, rng).astype({c: float for c in ("items",) if kind == "mixed"})
    reference = normal_rows(kind, 4000, np.random.default_rng(0))
    names = reference.select_dtypes("number").columns
    mean, sd, p = reference[names].mean().to_numpy(), reference[names].std().to_numpy(), len(names)
    rows = rng.permutation(n)[:n1]
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
    if kind == "mixed" and odd == "scattered":
        X.loc[rows, "product"] = rng.choice(list("abcde"), n1)
        X.loc[rows, "unit"] = np.char.add("u", rng.choice(list("abcde"), n1))
    elif kind == "mixed" and odd == "clump":
        X.loc[rows, ["product", "unit"]] = "e", "ub"
    return X, np.isin(np.arange(n), rows)


@quietly()
def of_table(kind: str, odd: str, n: int, share: float, seed: int) -> dict[str, Any]:
    """Return what the list of one generated table has."""
    code = [NORMAL.index(kind), ODD.index(odd), n, round(1000 * share), seed]
    X, truth = table(kind, odd, n, share, np.random.default_rng(code))
    found = stand_out(BSVDD(), X, fdr=FDR)
    p = np.nan_to_num(found.probability)
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    return {
        **{"kind": kind, "odd": odd, "n": n, "share": share, "listed": int(found.listed.sum())},
        "false": int((found.listed & ~truth).sum()),
        "n_odd": int(truth.sum()),
        "at_least": found.at_least,
        "brier": float(((p - truth) ** 2).mean()),
        "of_bin": np.bincount(bins, minlength=BINS).tolist(),
        "odd_of_bin": np.bincount(bins, truth, minlength=BINS).tolist(),
    }


def lists(chosen: argparse.Namespace) -> dict[str, Any]:
    """Measure the promises of the list."""
    repeats = max(1, round(chosen.scale))
    cells = [
        cell
        for cell in product(NORMAL, ODD, SIZES, SHARES, range(repeats))
        if cell[3] or cell[1] == ODD[0]  # without odd rows they have no kind
    ]
    frame = pd.DataFrame(computed(of_table, cells, chosen.jobs, "tables"))
    frame["fdp"] = frame["false"] / frame["listed"].clip(lower=1)
    some = frame[frame["n_odd"] > 0].copy()
    some["power"] = (some["listed"] - some["false"]) / some["n_odd"]
    counts, odd = (np.sum(frame[name].tolist(), axis=0) for name in ("of_bin", "odd_of_bin"))
    true = frame["at_least"] <= frame["n_odd"]
    close = frame["at_least"] <= 1.25 * frame["n_odd"]
    result = {
        "tables": len(frame),
        "fdp": frame["fdp"].mean(),
        "fdp_of_kind": frame.groupby("kind")["fdp"].mean().to_dict(),
        "power": some["power"].mean(),
        "power_of_kind": some.groupby("kind")["power"].mean().to_dict(),
        "power_of_odd": some.groupby("odd")["power"].mean().to_dict(),
        "clean_with_a_list": (frame[frame["n_odd"] == 0]["listed"] > 0).mean(),
        "at_least_true": {str(s): true[frame["share"] == s].mean() for s in SHARES},
        "at_least_close": close.mean(),
        "brier": frame["brier"].mean(),
        "odd_share_of_bin": (odd / np.maximum(counts, 1)).tolist(),
        "rows_of_bin": counts.tolist(),
    }
    print(pd.Series({k: v for k, v in result.items() if np.ndim(v) == 0 and k}).to_string())
    print(result)
    return result


def alike_table(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of numbers and categories, and which rows are a clump.

    The clump lies beyond the 1 % or 99 % points of two or more columns of numbers.
    """
    rng = np.random.default_rng([7, seed])
    n, n1 = int(rng.integers(300, 1001)), 0
    n1 = round(float(rng.uniform(0.02, 0.1)) * n)
    p = int(rng.integers(3, 6))
    common = rng.normal(size=(n, 1))
    X = pd.DataFrame(0.5 * common + rng.normal(size=(n, p))).rename(columns="x{}".format)
    X.iloc[:, 0] = np.exp(X.iloc[:, 0])
    for name, letters in (("kind", "abcde"), ("place", "uvw")):
        X[name] = rng.choice(list(letters), n, p=rng.dirichlet(np.full(len(letters), 5.0)))
    rows, numbers_ = rng.choice(n, n1, replace=False), X.columns[:p]
    beyond = rng.choice(p, int(rng.integers(2, p + 1)), replace=False)
    at = X[numbers_].median() + 0.5 * X[numbers_].std() * rng.normal(size=p)
    for column in beyond:
        high = bool(rng.integers(2)) or column == 0
        edge = X[numbers_[column]].quantile(0.99 if high else 0.01)
        at.iloc[column] = edge + (0.5 if high else -0.5) * X[numbers_[column]].std()
    X.loc[rows, numbers_] = at.to_numpy() + 0.15 * X[numbers_].std().to_numpy() * rng.normal(
        size=(n1, p)
    )
    X.loc[rows, "kind"], X.loc[rows, "place"] = rng.choice(list("abcde")), rng.choice(list("uvw"))
    return X, np.isin(np.arange(n), rows)


@quietly()
def of_alike(seed: int) -> dict[str, float]:
    """Return the share of the alike rows among the first n1, by each ranking."""
    X, odd = alike_table(seed)
    n1 = int(odd.sum())
    return {
        name: float(odd[np.argsort(-rank(X), kind="stable")[:n1]].mean())
        for name, rank in RANKINGS.items()
    }


def alike(chosen: argparse.Namespace) -> dict[str, Any]:
    """Find alike odd rows."""
    frame = pd.DataFrame(computed(of_alike, [(seed,) for seed in range(10)], chosen.jobs, "alike"))
    print(frame.round(2).to_string())
    return {"means": frame.mean().to_dict(), "least": frame.min().to_dict()}


@quietly()
def of_planted(seed: int) -> dict[str, float]:
    """Return the ranks of the planted rows of one table, by kind."""
    X, kinds = planted_rows.table(seed)
    place = np.argsort(stand_out(BSVDD(), X).order)
    return {kind: float(place[row] + 1) for kind, (row, _) in kinds.items()}


def planted(chosen: argparse.Namespace) -> dict[str, Any]:
    """Find planted rows of five kinds among the first 50."""
    frame = pd.DataFrame(computed(of_planted, [(seed,) for seed in range(20)], chosen.jobs, "it"))
    first = (frame <= 50).mean()
    print(frame.median().to_string(), first.to_string(), first.sum(), sep="\n")
    return {"first_50": first.to_dict(), "of_five": first.sum()}


@quietly()
def of_clean(n: int, p: int, seed: int) -> dict[str, Any]:
    """Return the share of listed rows of a Gaussian table."""
    X = np.random.default_rng([n, p, seed]).normal(size=(n, p))
    return {"n": n, "p": p, "listed": float(stand_out(BSVDD(), X).listed.mean())}


def clean(chosen: argparse.Namespace) -> dict[str, float]:
    """List rows of tables without odd rows."""
    cells = list(
        product((100, 200, 600), (5, 20, 60, 200), range(max(1, round(20 * chosen.scale))))
    )
    frame = pd.DataFrame(computed(of_clean, cells, chosen.jobs, "clean tables"))
    means = frame.groupby(["n", "p"])["listed"].mean()
    print(means.to_string())
    return {f"{n} x {p}": value for (n, p), value in means.items()}


@quietly()
def of_new_rows(odd: str, share: float, seed: int) -> dict[str, Any]:
    """Return the rate at which new normal rows are flagged after a fit to the core."""
    rng = np.random.default_rng([seed, round(100 * share), ODD.index(odd)])
    X, _ = table("correlated", odd, 300, share, rng)
    est = stand_out(BSVDD(), X).estimator
    new = normal_rows("correlated", 2000, rng)
    return {"odd": odd, "share": share, "rate": float((est.predict(new) == -1).mean())}


def new_rows(chosen: argparse.Namespace) -> dict[str, float]:
    """Flag new normal rows."""
    repeats = range(max(2, round(10 * chosen.scale)))
    cells = list(product(("clump", "scattered"), (0.0, 0.05, 0.1), repeats))
    frame = pd.DataFrame(computed(of_new_rows, cells, chosen.jobs, "fits"))
    means = frame.groupby(["odd", "share"])["rate"].mean()
    print(means.to_string())
    return {f"{odd}, {share:g}": value for (odd, share), value in means.items()}


@quietly()
def large(chosen: argparse.Namespace) -> dict[str, float]:
    """Find 300 alike rows of 20,000."""
    rng = np.random.default_rng(0)
    n, n1 = 20_000, 300
    X = pd.DataFrame(rng.normal(size=(n, 6)) @ (np.eye(6) + 0.4 * rng.normal(size=(6, 6))))
    X = X.rename(columns="x{}".format)
    X["kind"] = rng.choice(list("uvwxy"), n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    X["place"] = rng.choice(list("NSE"), n)
    rows, names = rng.choice(n, n1, replace=False), list(X.columns[:6])
    at = X[names].std().to_numpy() * [2.5, -2.5, 2.5, 2.5, -2.5, 0.0]
    X.loc[rows, names] = at + 0.2 * rng.normal(size=(n1, 6))
    X.loc[rows, "kind"], X.loc[rows, "place"] = "y", "E"
    start = time.process_time()
    found = stand_out(BSVDD(), X)
    seconds, odd = time.process_time() - start, np.isin(np.arange(n), rows)
    forest = RANKINGS["isolation forest"](X)
    return {
        "first": float(odd[found.order[:n1]].mean()),
        "isolation_forest": float(odd[np.argsort(-forest)[:n1]].mean()),
        "listed": int(found.listed.sum()),
        "at_least": found.at_least,
        "processor_seconds": seconds,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, save."""
    parts = (sets, alike, planted, lists, clean, new_rows, large)
    by_part("one_table", __doc__, parts, arguments, scale=1.0)


if __name__ == "__main__":
    main()
