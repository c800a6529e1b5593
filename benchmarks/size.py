"""AUC and time of a fit against the number of training rows, up to all that a set has.

``uv run python -m benchmarks.size [--data-dir FOLDER]`` fits the default to n0 normal rows of the
large sets (3,000 normal rows or more, or the largest embedded ones), beside a density of all these
rows with the same kernel, the mean distance of 5 neighbours, and a one-class SVM of scikit-learn.
Then it times fits of generated rows up to 100,000. It prints and stores both in docs/size.json, and
draws docs/size.png.
"""

from __future__ import annotations

import time
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.summary import worth
from bsvdd.estimators.yardsticks import MeanKNN
from sklearn.metrics import roc_auc_score
from sklearn.svm import OneClassSVM

from bsvdd import BSVDD, kernels

from .shared import computed, options, quietly, raw_sets, write

SIZES = [300, 1000, 3000, 12_000]
TIMED = [*SIZES, 30_000, 100_000]
LARGEST_EMBEDDED = ("landsat_cotton71", "musk", "ctg_pathologic", "digits_0")
MANY, MOST_TEST = 3000, 4000
MODELS = ("BSVDD", "density of all rows", "5 neighbours", "one-class SVM")


@quietly()
def of_set(name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Return AUC and seconds at each size, and the spread and R-hat of the fit."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    if len(Z) > MOST_TEST:
        some = rng.choice(len(Z), MOST_TEST, replace=False)
        Z, y = Z[some], y[some]
    rows = []
    for n0 in dict.fromkeys(min(n, len(X)) for n in SIZES):
        train = X[order[:n0]]
        start = time.process_time()
        est = BSVDD().fit(train)
        seconds = time.process_time() - start
        kernel = est.kernel_
        inputs = kernel.inputs(train), kernel.inputs(Z)
        scores = {
            "BSVDD": -est.score_samples(Z, training="as new"),
            "density of all rows": -kernel.summed(train, Z),
            "5 neighbours": -MeanKNN(kernel=kernels.Standardized(kernels.Linear()), cutoff=0.0)
            .fit(train)
            .score_samples(Z),
            "one-class SVM": -OneClassSVM(nu=0.1).fit(inputs[0]).score_samples(inputs[1]),
        }
        found = worth(est.fit_)
        row = {"set": name, "embedded": name in datasets.names(), "n0": n0, "all": n0 == len(X)}
        row |= {"points": est.gram_.n_points, "seconds": seconds}
        row |= {"spread": found["spread"], "r_hat": found["r_hat"]}
        rows.append(row | {m: float(roc_auc_score(y, s)) for m, s in scores.items()})
    return rows


def seconds_of_generated() -> list[dict[str, float]]:
    """Return the seconds of a fit of n0 rows of 10 columns."""
    rows = []
    for n0 in TIMED:
        X = np.random.default_rng(0).normal(size=(n0, 10)) @ (np.eye(10) + 0.3)
        with quietly():
            start = time.process_time()
            est = BSVDD().fit(X)
        seconds = time.process_time() - start
        rows.append({"n0": n0, "seconds": seconds, "points": est.gram_.n_points})
    return rows


def main() -> None:
    """Measure, print, save."""
    chosen = options("size", __doc__)
    sets = [s for s in raw_sets(chosen.data_dir) if len(s[1]) >= MANY or s[0] in LARGEST_EMBEDDED]
    frame = pd.DataFrame([r for of in computed(of_set, sets, chosen.jobs, "sets") for r in of])
    frame["size"] = np.array(SIZES)[np.searchsorted(SIZES, frame["n0"])]  # that was asked for
    timed = pd.DataFrame(seconds_of_generated())
    last = frame[frame["all"]]
    less = last["BSVDD"] - last["density of all rows"]
    shown = last.assign(less=less).drop(columns=["all", "embedded"])
    print(shown.round(4).to_string(index=False))
    print(f"less the density of all rows: mean {less.mean():.4f}, least {less.min():.4f}")
    print(timed.round(2).to_string(index=False))
    collections = {"embedded": frame["embedded"], "development": ~frame["embedded"]}
    columns = [*MODELS, "points", "seconds", "spread", "r_hat"]
    stored = {
        name: frame[which].groupby("size")[columns].mean().reset_index().to_dict("list")
        for name, which in collections.items()
        if which.any()
    }
    of_all = {
        "sets": len(last),
        "mean": less.mean(),
        "least": less.min(),
        "r_hat": last.r_hat.max(),
    }
    stored |= {"all rows, less their density": of_all, "generated": timed.to_dict("list")}
    write(chosen.out / "size.json", stored, indent=None)
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    means = frame.groupby("size")[list(MODELS)].mean()
    for model in MODELS:
        left.plot(means.index, means[model], marker="o", label=model)
    left.set(xscale="log", xlabel="training rows", ylabel="mean AUC")
    left.legend(frameon=False)
    right.plot(timed["n0"], timed["seconds"], marker="o")
    right.set(
        xscale="log", yscale="log", xlabel="training rows", ylabel="processor seconds of a fit"
    )
    fig.savefig(chosen.out / "size.png", dpi=150)


if __name__ == "__main__":
    main()
