"""Whether P(normal) and the posterior are right: samples, and their population.

The truth are 2,000 other rows: their mean in the kernel space of the fit is the centre,
and a new row is inside if it is among the 90 % of rows that are most similar to this
centre. Near the cutoff are rows between the 3 % and the 33 % quantile. The spread is
the posterior's standard deviation of s_z, divided by its standard deviation in the
Bayesian bootstrap (Rubin 1981): Dirichlet(1, ..., 1) weights of n rows have the
variance Var_x k(z, x) / (n + 1).

Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.models.signed import signed_parts

from bsvdd import BDD, BSVDD, SVDD, cutoffs

from .measure import Rows, Run, collection, number, real_set, set_names, texts

SIZES = (100, 300)
SAMPLES = 4
TRUTH = 2000
NEW = 1000
LEAST = max(SIZES) + TRUTH + 500  # rows of a population
LARGEST = 5  # development sets
RATE = 0.1
NEAR = (0.03, 0.33)
BINS = 10
MODELS: dict[str, Callable[[], Any]] = {"BSVDD": BSVDD, "BDD": BDD, "SVDD": SVDD}


def clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows of a wide cluster and of a narrow one, 3 columns."""
    narrow = rng.uniform(size=(n, 1)) < 0.3
    width = np.where(narrow, 0.4, 1.0)
    return np.asarray(np.where(narrow, 4.0, 0.0) + rng.normal(size=(n, 3)) * width)


def ring(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows of a ring in the plane."""
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    radius = rng.normal(3.0, 0.4, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def skewed(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n log-normal rows, 10 columns of different scales that share a factor."""
    logs = 0.6 * rng.normal(size=(n, 1)) + 0.6 * rng.normal(size=(n, 10))
    return np.asarray(np.exp(logs) * 10.0 ** np.arange(10))


GENERATED: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "normal": lambda n, rng: rng.normal(size=(n, 5)),
    "t3": lambda n, rng: rng.standard_t(3, size=(n, 6)),
    "clusters": clusters,
    "ring": ring,
    "skewed": skewed,
}


def population(folder: Path | None, name: str) -> np.ndarray:
    """Return the normal rows of a population."""
    if name in GENERATED:
        return GENERATED[name](10 * LEAST, np.random.default_rng(0))
    X, odd = real_set(folder, name)
    return X[~odd]


def populations(folder: Path | None) -> list[str]:
    """Return the names of generated populations, and of sets with enough rows."""
    sizes = {name: population(folder, name).shape for name in set_names(folder)}
    large = [name for name, (n, p) in sizes.items() if n >= LEAST and p > 1]
    large.sort(key=lambda name: -sizes[name][0])
    others = [name for name in large if collection(name) == "development"][:LARGEST]
    return [
        *GENERATED,
        *(name for name in large if collection(name) == "embedded"),
        *others,
    ]


def cell(folder: Path | None, name: str, n: int, sample: int) -> Rows:
    """Return what the posteriors of one sample of n rows say."""
    rows = np.random.default_rng([sample, n]).permutation(population(folder, name))
    X, T, Z = np.split(rows[: n + TRUTH + NEW], [n, n + TRUTH])
    return [
        dict(population=name, n=n, model=model) | of_fit(make().fit(X), X, T, Z)
        for model, make in MODELS.items()
    ]


def of_fit(est: Any, X: np.ndarray, T: np.ndarray, Z: np.ndarray) -> dict[str, Any]:
    """Return what a fit to X says of new rows Z, beside the truth T."""
    kernel = est.kernel_
    inputs = kernel.inputs(Z)
    of_T = kernel.inputs(T)
    s = kernel(inputs, of_T).mean(axis=1)
    of_truth = (kernel(of_T, of_T).sum(axis=1) - 1.0) / (len(T) - 1)
    cut = np.quantile(of_truth, RATE)
    inside = s >= cut
    decided = est.decision(Z)
    p = decided["probability_normal"].to_numpy()
    true = np.log(cut / s)
    low, high = np.quantile(of_truth, NEAR)
    truly = (low <= s) & (s <= high)
    held = ((decided["low"] <= true) & (true <= decided["high"]))[truly].mean()
    hard = est.with_cutoff(cutoffs.Printed()).predict(Z) == 1
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    return {
        "brier": np.square(p - inside).mean(),
        "hard": (hard != inside).mean(),
        "surprise": held,
        "count": np.bincount(place, minlength=BINS).tolist(),
        "p": np.bincount(place, p, BINS).tolist(),
        "inside": np.bincount(place, inside, BINS).tolist(),
        **(spreads(est, X, Z, s, truly) if est.fit_.has_draws else {}),
    }


def spreads(
    est: Any, X: np.ndarray, Z: np.ndarray, s: np.ndarray, truly: np.ndarray
) -> Any:
    """Return the spread, and the share of 90 % intervals that contain the true s_z."""
    left_out = -est.decision()["surprise"]
    low, high = np.quantile(left_out, NEAR, method="inverted_cdf")
    score = est.score_samples(Z)
    near = (low <= score) & (score <= high)
    kernel = est.kernel_
    k = kernel(kernel.inputs(Z[near]), kernel.inputs(X))
    spread = np.exp(est.log_similarity(Z[near])).std(axis=0) / np.sqrt(
        k.var(axis=1) / (len(X) + 1)
    )
    log_cut, _ = signed_parts(est.fit_.boundary.threshold)
    low, high = np.quantile(
        est.margins(Z[truly]) + log_cut[:, None], (0.05, 0.95), axis=0
    )
    held = ((low <= np.log(s[truly])) & (np.log(s[truly]) <= high)).mean()
    return {"spread": np.median(spread) if near.any() else None, "covered": held}


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return the means over populations, sizes and samples, and P(normal) by bins."""
    cells = product([run.sets], populations(run.sets), SIZES, range(SAMPLES))
    frame = run.cells(cell, cells)
    bins = {}
    figures = {}
    for model, rows in frame.groupby("model", sort=False):
        mean = rows.mean(numeric_only=True)
        median = rows.median(numeric_only=True)
        count, p, inside = (
            np.sum(rows[name].tolist(), axis=0) for name in ("count", "p", "inside")
        )
        bins[f"{model}: P(normal)"] = [number(v) for v in p / np.maximum(count, 1)]
        bins[f"{model}: share inside"] = [
            number(v) for v in inside / np.maximum(count, 1)
        ]
        figures[model] = {
            "posterior sd / sd of samples, median": number(median["spread"]),
            "90 % intervals that contain the population's s_z": number(mean["covered"]),
            "90 % intervals of the surprise that contain the population's": number(
                mean["surprise"]
            ),
            "Brier score of P(normal)": number(mean["brier"], 4),
            "wrong decisions by one D_opt, no uncertainty": number(mean["hard"], 4),
            "largest gap of a tenth": number(
                float((np.abs(p - inside) / np.maximum(count, 1)).max())
            ),
        }
    table = pd.DataFrame(figures).rename_axis("what")
    of_bins = pd.DataFrame(bins, [f"tenth {i}" for i in range(1, BINS + 1)])
    return {"posterior": texts(table), "bins": texts(of_bins.rename_axis("rows"))}
