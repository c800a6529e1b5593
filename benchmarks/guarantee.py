"""Whether decisions keep their promise: false alarms, p-values, false discoveries.

``uv run python -m benchmarks.guarantee [--part NAME ...] [--data-dir FOLDER]``

- ``generated``: share of new normal rows with p <= .01, .05, .1, and of those that cutoffs for .05,
  .1, .2 flag, for four distributions, n = 20, 50 and 200 training rows, 2, 20 and 50 columns, two
  bandwidth criteria and several models.
- ``real``: the same share at .1, and the G-mean, on the embedded sets and on those of a folder:
  .npz files of X and y, or of train, test and test_labels.
- ``discoveries``: false discovery rate and power of ``select``, beside the package nonconform.
- ``needed``: how many rows are needed. For n training rows of 5 normal columns: the median width of
  the 90 % interval of the surprise of new normal rows near the cutoff (p from .03 to .33), mean and
  standard deviation over samples of the realised false alarms at .10, and the share of rows shifted
  by 1 sd in each column that are flagged.
- ``cost``: time of ``p_value`` against that of ``probability_normal``.

Results go to docs/guarantee.json, part by part, and docs/guarantee.png shows them. ``--scale``
multiplies the number of repetitions.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from bsvdd import BDD, BSVDD, BSVDDM, SVDD, SVDDM, cutoffs, kernels, p_value, select

from .shared import band, by_part, computed, found, quietly, ratio, real_sets, write

RATES = (0.01, 0.05, 0.1)
KINDS = ("normal", "t3", "cube", "mixture")
REPETITIONS = {20: 200, 50: 100, 200: 50}
CRITERIA = ("likelihood", "mean")
LEAST = 4  # repetitions of a cell, for a standard error
COLUMNS = (2, 20, 50)
NEW_ROWS = 2000
NEEDED, NEEDED_SAMPLES, NEEDED_COLUMNS = (20, 50, 100, 300, 1000), 20, 5
ASKED = (0.05, 0.1, 0.2)  # of cutoffs

Maker = Callable[[Any], Any]  # an estimator, from a kernel
ONE_CLASS: dict[str, Maker] = {
    "SVDD": lambda kernel: SVDD(kernel=kernel),
    "BDD": lambda kernel: BDD(kernel=kernel),
    "BDD simplex": lambda kernel: BDD(kernel=kernel, simplex=True),
    "BSVDD": lambda kernel: BSVDD(kernel=kernel),
}
WITH_MINORITY: dict[str, Maker] = {
    "SVDD-M": lambda kernel: SVDDM(kernel=kernel),
    "BSVDD-M": lambda kernel: BSVDDM(kernel=kernel),
}


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


def realised(est: Any, Z: np.ndarray) -> list[float]:
    """Return the share of rows with p <= each rate; NaN if n is too small for the rate."""
    p = p_value(est, Z)
    smallest = 1.0 / (est.gram_.n0 + 1.0)
    return [
        float((p <= rate + 1e-12).mean()) if rate >= smallest - 1e-12 else float("nan")
        for rate in RATES
    ]


@quietly()
def cell(model: str, kind: str, n: int, p: int, criterion: str, repetitions: int) -> dict[str, Any]:
    """Return mean and standard error of the realised false alarms of one cell."""
    shares, flagged = [], []
    for repetition in range(repetitions):
        rng = np.random.default_rng([repetition, n, p, KINDS.index(kind)])
        X, Z = rows(kind, n, p, rng), rows(kind, NEW_ROWS, p, rng)
        kernel = kernels.Tabular(kernels.RBF(criterion))
        y = None
        if model in WITH_MINORITY:
            minority = rows(kind, max(2, n // 10), p, rng) + 1.0
            y = np.repeat([0, 1], [n, len(minority)])
            X = np.concatenate([X, minority])
        est = (ONE_CLASS | WITH_MINORITY)[model](kernel).fit(X, y)
        shares.append(realised(est, Z))
        strict = [est.with_cutoff(cutoffs.FalseAlarm(rate)) for rate in ASKED]
        flagged.append([(each.predict(Z) == -1).mean() for each in strict])
    array = np.array(shares)
    return {
        **dict(model=model, kind=kind, n=n, p=p, criterion=criterion),
        "repetitions": repetitions,
        "flagged": np.mean(flagged, axis=0).round(4).tolist(),
        "mean": array.mean(axis=0).round(4).tolist(),
        "se": (array.std(axis=0, ddof=1) / np.sqrt(repetitions)).round(4).tolist(),
    }


def generated(chosen: Namespace) -> list[dict[str, Any]]:
    """Return the realised false alarms of all cells."""
    grid = product(ONE_CLASS, KINDS, REPETITIONS, COLUMNS, CRITERIA)
    cells = [
        (model, kind, n, p, criterion, max(LEAST, int(chosen.scale * REPETITIONS[n])))
        for model, kind, n, p, criterion in grid
    ]
    cells += [
        (model, kind, n, p, "likelihood", max(LEAST, int(chosen.scale * 20)))
        for model, kind, n, p in product(WITH_MINORITY, KINDS, (50, 200), COLUMNS)
    ]
    return computed(cell, cells, chosen.jobs, "generated")


@quietly()
def real_cell(
    name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray, model: str, criterion: str
) -> dict[str, Any]:
    """Return false alarms, hits and G-mean at .1 on one set, and the band of the false alarms."""
    kernel = kernels.Tabular(kernels.RBF(criterion))
    est = ONE_CLASS[model](kernel).fit(X)
    metrics = found(est, Z, y)
    # of m new rows so many are flagged, given that the cutoff is an order statistic of n rows
    n, m = len(X), int((~y).sum())
    low, high = band(n, m, 0.1, [0.025, 0.975])
    numbers = {
        **{"false_alarms": metrics["false_alarms"], "hits": metrics["found"]},
        **{"low": low, "high": high, "g_mean": metrics["g_mean"]},
    }
    key = dict(set=name, model=model, criterion=criterion, n=n, m=m)
    return key | {name: round(float(number), 4) for name, number in numbers.items()}


def real(chosen: Namespace) -> list[dict[str, Any]]:
    """Return the results on real sets."""
    cells = product(real_sets(chosen.data_dir), ONE_CLASS, CRITERIA)
    return computed(real_cell, ((*each, *rest) for each, *rest in cells), chosen.jobs, "real")


@quietly()
def discovery_cell(n: int, p: int, repetition: int) -> list[dict[str, Any]]:
    """Return false discovery proportion and power of the methods on one batch of 200 rows."""
    from nonconform import ConformalDetector, Split
    from sklearn.svm import OneClassSVM

    rng = np.random.default_rng([repetition, n, p])
    X = rng.normal(size=(n, p))
    Z = np.concatenate([rng.normal(size=(180, p)), rng.normal(size=(20, p)) + 4.0 / np.sqrt(p) + 1])
    y = np.repeat([False, True], [180, 20])
    fits = {"BSVDD": BSVDD().fit(X), "SVDD": SVDD().fit(X)}
    selected = {name: select(est, Z, 0.1) for name, est in fits.items()}
    theirs = ConformalDetector(
        detector=OneClassSVM(nu=0.1, gamma="scale"), strategy=Split(n_calib=0.5), seed=repetition
    )
    theirs.fit(X)
    selected["nonconform, OneClassSVM, split"] = theirs.select(Z, alpha=0.1)
    return [
        {
            **dict(name=name, n=n, p=p),
            "fdp": float((mask & ~y).sum() / max(1, mask.sum())),
            "power": float(mask[y].mean()),
        }
        for name, mask in selected.items()
    ]


def discoveries(chosen: Namespace) -> list[dict[str, Any]]:
    """Return false discovery rate and power, means over batches."""
    cells = product((200, 1000), (2, 10), range(max(2, int(chosen.scale * 100))))
    batches = computed(discovery_cell, cells, chosen.jobs, "discoveries")
    frame = pd.DataFrame([row for batch in batches for row in batch])
    groups = frame.groupby(["name", "n", "p"])
    table = groups[["fdp", "power"]].mean()
    table["se"] = groups["fdp"].sem()
    return table.reset_index().to_dict("records")


@quietly()
def needed_cell(n: int, repetition: int) -> dict[str, float]:
    """Return what a sample of n rows is good for."""
    rng = np.random.default_rng([repetition, n])
    X, Z = rng.normal(size=(n, NEEDED_COLUMNS)), rng.normal(size=(NEW_ROWS, NEEDED_COLUMNS))
    est = BSVDD().fit(X)
    decided = est.decision(Z)
    near = decided[decided["p_value"].between(0.03, 0.33)]
    return {
        "n": n,
        "width": float((near["high"] - near["low"]).median()),
        "false_alarms": float((~decided["normal"]).mean()),
        "found": float((est.predict(Z + 1.0) == -1).mean()),
    }


def needed(chosen: Namespace) -> list[dict[str, float]]:
    """Return the means over samples of each number of rows."""
    samples = max(LEAST, int(chosen.scale * NEEDED_SAMPLES))
    cells = list(product(NEEDED, range(samples)))
    frame = pd.DataFrame(computed(needed_cell, cells, chosen.jobs, "needed"))
    of_n = frame.groupby("n")
    table = of_n.mean().assign(false_alarms_sd=of_n["false_alarms"].std())
    return table.round(4).reset_index().to_dict("records")


def cost(_: Namespace) -> dict[str, float]:
    """Return the time of p_value over that of probability_normal, 10,000 rows and n = 900."""
    rng = np.random.default_rng(0)
    est = BSVDD().fit(rng.normal(size=(900, 10)))
    Z = rng.normal(size=(10_000, 10))
    value, seconds = ratio(
        {"p_value": lambda: p_value(est, Z), "probability": lambda: est.probability_normal(Z)}, 7
    )
    return seconds | {"ratio": value}


def picture(results: dict[str, Any]) -> plt.Figure:
    """Show the realised false alarms of the generated cells and of the real sets."""
    fig, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    frame = pd.DataFrame(results["generated"])
    frame["mean"] = [rates[RATES.index(0.1)] for rates in frame["mean"]]
    for i, model in enumerate(ONE_CLASS):
        of_model = frame[frame.model == model]
        for j, (n, of_n) in enumerate(of_model.groupby("n")):
            x = i + (j - 1.5) * 0.18 + np.linspace(-0.05, 0.05, len(of_n))
            label = f"n = {n:,}" if i == 0 else None
            axes[0].plot(x, of_n["mean"], ".", markersize=3, color=f"C{j}", label=label)
    axes[0].axhline(0.1, color="#333333", linewidth=1)
    axes[0].set_xticks(range(len(ONE_CLASS)), list(ONE_CLASS))
    axes[0].set(ylabel="realised false alarms", title="generated rows, .10 asked; one dot a cell")
    axes[0].legend(markerscale=3, fontsize=8)
    real = pd.DataFrame(results["real"])
    real = real[(real.model == "BSVDD") & (real.criterion == "likelihood")].sort_values("n")
    place = np.arange(len(real))
    axes[1].fill_between(place, real.low, real.high, color="#dddddd", label="95 % band of the set")
    axes[1].plot(place, real.false_alarms, "o", markersize=3, label="BSVDD")
    axes[1].axhline(0.1, color="#333333", linewidth=1)
    axes[1].set(title="real sets, in the order of their rows", xlabel="data set")
    axes[1].legend(fontsize=8)
    return fig


def main(arguments: list[str] | None = None) -> None:
    """Measure, save, draw."""
    parts = (generated, real, discoveries, needed, cost)
    chosen, results = by_part("guarantee", __doc__, parts, arguments, scale=1.0)
    if {"generated", "real"} <= set(results):
        write(chosen.out / "guarantee.png", picture(results))


if __name__ == "__main__":
    main()
