"""What people know about rows: groups, suspects, recent rows, surveys, strata.

Truth is known in each table, and new rows are generated as the rows of the table.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm, t

from bsvdd import BDD, BSVDD, stand_out

from .measure import Rows, Run, texts

MODELS = {"BSVDD": BSVDD, "BDD": BDD}
GROUPS = (10, 20, 60)
WITHIN = (0.1, 0.3, 1.0)
COLUMNS = (2, 6)
TABLES = 2
NEW = 1000
FAR = 4.0
STRATA = {  # rows, rows of the first technician, technicians, bad rows, one direction
    "two technicians, scattered": (150, 25, 2, 12, False),
    "two technicians, a clump": (150, 25, 2, 12, True),
    "two technicians, no bad row": (150, 25, 2, 0, False),
    "20 technicians": (300, 15, 20, 6, False),
    "20 technicians, no bad row": (300, 15, 20, 0, False),
}


def flagged(est: Any, Z: np.ndarray) -> float:
    """Return the share of rows that are called abnormal."""
    return float((est.predict(Z) == -1).mean())


def of_groups(rng: Any, sizes: np.ndarray, within: float, q: int, t3: bool) -> Any:
    """Return rows of groups, and the group of each."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    law = t(3.0) if t3 else norm()
    middles, noise = (
        law.rvs((n, q), random_state=rng) for n in (len(sizes), len(group))
    )
    return middles[group] + within * noise, group


def groups(
    model: str, k: int, within: float, q: int, unequal: bool, t3: bool, i: int
) -> Rows:
    """Return flagged shares of rows of new groups, for one table of k groups."""
    rng = np.random.default_rng([i, k, q, unequal, t3, int(10 * within)])
    X, group = of_groups(
        rng, rng.integers(1, 13, k) if unequal else np.full(k, 6), within, q, t3
    )
    Z, _ = of_groups(rng, np.ones(NEW, dtype=int), within, q, t3)
    far = Z.copy()
    sd = np.sqrt((1.0 + within**2) * (3.0 if t3 else 1.0))
    far[:, :2] += FAR * sd * rng.choice([-1.0, 1.0], (NEW, 2))
    est = MODELS[model](random_state=i).fit(X, groups=group)
    plain = MODELS[model]().fit(X)
    rates = {"without groups": flagged(plain, Z), "with groups": flagged(est, Z)}
    return [
        {
            "model": model,
            "groups": k,
            **rates,
            "rows 4 sd away found": flagged(est, far),
        }
    ]


def doubt(clump: bool, q: int, i: int) -> Rows:
    """Return the flagged share of bad new rows, for a table of 150 rows.

    It has 25 suspects, of which 12 are bad.
    """
    rng = np.random.default_rng([i, q, clump])
    middle = np.full(q, 3.5 / np.sqrt(q) + 1.0)
    width = 0.3 if clump else 1.2
    X = np.concatenate(
        [rng.normal(size=(138, q)), middle + width * rng.normal(size=(12, q))]
    )
    Z = rng.normal(size=(NEW, q))
    new = middle + width * rng.normal(size=(500, q))
    suspect = np.arange(150) >= 125
    bad = np.arange(150) >= 138
    weights = {"1": np.ones(150), ".1": np.where(suspect, 0.1, 1.0), "0": 1.0 - suspect}
    found = []
    for name, weight in (weights | {"bad rows left out": 1.0 - bad}).items():
        est = BSVDD(random_state=i).fit(X, sample_weight=weight)
        row = {"suspects": "a clump" if clump else "scattered", "weight": name}
        found.append(
            row | {"bad rows found": flagged(est, new), "false alarms": flagged(est, Z)}
        )
    return found


def recent(q: int, i: int) -> Rows:
    """Return the share of current rows that is flagged, where a mean drifts by 2 sd."""
    rng = np.random.default_rng([i, q])
    age = np.linspace(1.0, 0.0, 300)
    X = rng.normal(size=(300, q))
    Z = rng.normal(size=(NEW, q))
    X[:, 0] -= 2.0 * age
    half_life = BSVDD().fit(X, sample_weight=0.5 ** (age / 0.3))
    rates = {
        "without weights": flagged(BSVDD().fit(X), Z),
        "with weights": flagged(half_life, Z),
    }
    return [{"what": "a drift of 2 sd; half-life .3 of the span", "columns": q} | rates]


def survey(q: int, i: int) -> Rows:
    """Return the flagged share of a population whose rows are drawn by 1 / weight."""
    rng = np.random.default_rng([i, q])
    population = rng.normal(size=(20_000, q))
    weight = np.exp(
        0.8 * (0.7 * population[:, 0] + np.sqrt(0.51) * rng.normal(size=20_000))
    )
    some = rng.choice(
        20_000, 300, replace=False, p=(1.0 / weight) / (1.0 / weight).sum()
    )
    X = population[some]
    Z = population[rng.choice(20_000, NEW)]
    weighted = BSVDD().fit(X, sample_weight=weight[some])
    rates = {
        "without weights": flagged(BSVDD().fit(X), Z),
        "with weights": flagged(weighted, Z),
    }
    return [{"what": "a survey; weights to the population", "columns": q} | rates]


def strata(kind: str, p: int, seed: int) -> Rows:
    """Return the listed rows of one table, with and without strata of technicians."""
    n, of_first, technicians, bad, one = STRATA[kind]
    rng = np.random.default_rng([seed, p, *STRATA[kind]])
    X = rng.normal(size=(n, p))
    away = rng.normal(size=(1 if one else bad, p))
    X[:bad] += 4.5 * away / np.linalg.norm(away, axis=1, keepdims=True)
    who = np.minimum(np.arange(n) // of_first, technicians - 1)
    is_bad = np.arange(n) < bad
    rows = []
    for told in (None, np.char.zfill(who.astype(str), 2)):
        listed = stand_out(BSVDD(random_state=seed), X, strata=told).listed
        row = {
            "table": kind,
            "strata": "no" if told is None else "yes",
            "has a list": listed.any(),
        }
        row["bad rows listed"] = listed[is_bad].mean() if bad else None
        rows.append(row | {"FDP": (listed & ~is_bad).sum() / max(listed.sum(), 1)})
    return rows


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return the means over tables."""
    kinds = product(
        MODELS, GROUPS, WITHIN, COLUMNS, (False, True), (False, True), range(TABLES)
    )
    of_doubt = run.cells(doubt, product((True, False), COLUMNS, range(10)))
    weighted = [
        run.cells(each, product(COLUMNS, range(20))) for each in (recent, survey)
    ]
    frames = {
        "groups": (run.cells(groups, kinds), ["model", "groups"]),
        "suspects": (of_doubt, ["suspects", "weight"]),
        "weights": (pd.concat(weighted), ["what", "columns"]),
        "strata": (
            run.cells(strata, product(STRATA, COLUMNS, range(10))),
            ["table", "strata"],
        ),
    }
    return {
        name: texts(
            frame.astype({c: float for c in frame if frame[c].dtype == bool})
            .groupby(keys, sort=False)
            .mean()
        )
        for name, (frame, keys) in frames.items()
    }
