"""AUC and time of a fit against the number of training rows, up to all that a set has.

``uv run python -m benchmarks.size [--data-dir FOLDER]`` fits the default to n0 normal rows of the
large sets (3,000 normal rows or more, or the largest embedded ones), beside a density of all these
rows with the same kernel, the mean distance of 5 neighbours, and a one-class SVM of scikit-learn.
Then it times fits of generated rows up to 100,000, and of 1,000,000 beside Nystroem and a one-class
SVM by stochastic gradients. It prints and stores all in docs/size.json, and draws docs/size.png;
``--part`` computes one of these.
"""

from __future__ import annotations

import json
import time
from argparse import Namespace
from typing import Any
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bsvdd.comparison import datasets
from bsvdd.comparison.models import Yardstick
from bsvdd.estimators import training
from scipy.special import logsumexp
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

from bsvdd import BSVDD, facts, kernels

from .shared import by_part, computed, quietly, raw_sets, write

SIZES = [300, 1000, 3000, 12_000]
TIMED = [*SIZES, 30_000, 100_000]
LARGEST_EMBEDDED = ("landsat_cotton71", "musk", "ctg_pathologic", "digits_0")
MANY, MOST_TEST = 3000, 4000
PLAIN = kernels.Tabular(kernels.Linear(), scale="standardised")
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
        est, seconds = timed(BSVDD(), train)
        kernel = est.kernel_
        inputs = kernel.inputs(train), kernel.inputs(Z)
        scores = {
            "BSVDD": -est.score_samples(Z),
            "density of all rows": -logsumexp(kernel.log(*inputs[::-1]), axis=1),
            "5 neighbours": -Yardstick("mean kNN", PLAIN).fit(train).score_samples(Z),
            "one-class SVM": -OneClassSVM(nu=0.1).fit(inputs[0]).score_samples(inputs[1]),
        }
        found = facts(est)
        row = {"set": name, "embedded": name in datasets.names(), "n0": n0, "all": n0 == len(X)}
        row |= {"points": len(est.gram_.K), "seconds": seconds}
        row |= {"spread": found["spread"], "r_hat": found["r_hat"]}
        rows.append(row | {m: float(roc_auc_score(y, s)) for m, s in scores.items()})
    return rows


def sets(chosen: Namespace) -> dict[str, Any]:
    """Return the means of the sets, and how the default differs from the density of all rows."""
    large = [s for s in raw_sets(chosen.data_dir) if len(s[1]) >= MANY or s[0] in LARGEST_EMBEDDED]
    frame = pd.DataFrame([r for of in computed(of_set, large, chosen.jobs, "sets") for r in of])
    frame["size"] = np.array(SIZES)[np.searchsorted(SIZES, frame["n0"])]  # that was asked for
    last = frame[frame["all"]]
    less = last["BSVDD"] - last["density of all rows"]
    shown = last.assign(less=less).drop(columns=["all", "embedded"])
    print(shown.round(4).to_string(index=False))
    print(f"less the density of all rows: mean {less.mean():.4f}, least {less.min():.4f}")
    collections = {"embedded": frame["embedded"], "development": ~frame["embedded"]}
    columns = [*MODELS, "points", "seconds", "spread", "r_hat"]
    found: dict[str, Any] = {
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
    return found | {"all rows, less their density": of_all}


@quietly()
def generated(chosen: Namespace) -> dict[str, list[float]]:
    """Return the seconds of a fit of n0 rows of 10 columns."""
    rows = []
    for n0 in TIMED:
        X = np.random.default_rng(0).normal(size=(n0, 10)) @ (np.eye(10) + 0.3)
        est, seconds = timed(BSVDD(), X)
        rows.append({"n0": n0, "seconds": seconds, "points": len(est.gram_.K)})
    frame = pd.DataFrame(rows)
    print(frame.round(2).to_string(index=False))
    return frame.to_dict("list")


@quietly()
def million(chosen: Namespace) -> dict[str, float]:
    """Return seconds and AUC of fits of 1,000,000 rows, and of all of 20,000 of them.

    The columns of normal rows are dependent, those of odd rows are not; all have the variance 1.
    """
    rng, mixed = np.random.default_rng(0), np.eye(20) + 0.3
    mixed /= np.linalg.norm(mixed, axis=0)  # columns of variance 1
    X = (rng.normal(size=(1_000_000, 20)) @ mixed).astype(np.float32)  # float64: 8 GB on one side
    Z, y = rng.normal(size=(20_000, 20)), np.repeat([0, 1], 10_000)
    Z[y == 0] = Z[y == 0] @ mixed
    BSVDD().fit(X[:1000])  # imports
    est, seconds = timed(BSVDD(), X)
    with patch.object(training, "MOST_ROWS", 20_000):
        all_of_some, of_some = timed(BSVDD(), X[:20_000])
    features = Nystroem(gamma=est.kernel_.kernel.gamma, n_components=500, random_state=0)
    other = make_pipeline(features, SGDOneClassSVM(nu=0.1, random_state=0))
    other, of_other = timed(other, X)
    found = {
        "seconds": seconds,
        "of all of 20,000 rows": of_some,
        "of Nystroem + SGDOneClassSVM": of_other,
        "ratio to Nystroem + SGDOneClassSVM": seconds / of_other,
        "AUC": roc_auc_score(y, -est.score_samples(Z)),
        "AUC of all of 20,000 rows": roc_auc_score(y, -all_of_some.score_samples(Z)),
        "AUC of Nystroem + SGDOneClassSVM": roc_auc_score(y, -other.score_samples(Z)),
    }
    print(pd.Series(found).round(4).to_string())
    return found


def timed(est: Any, X: np.ndarray) -> tuple[Any, float]:
    """Return an estimator fitted to X, and its processor seconds."""
    start = time.process_time()
    est.fit(X)
    return est, time.process_time() - start


def picture(chosen: Namespace) -> None:
    """Draw AUC and time against the number of training rows."""
    stored = json.loads((chosen.out / "size.json").read_text(encoding="utf-8"))
    fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    of_sets, of_time = stored["sets"], stored["generated"]
    means = of_sets["development" if "development" in of_sets else "embedded"]
    for model in MODELS:
        left.plot(means["size"], means[model], marker="o", label=model)
    left.set(xscale="log", xlabel="training rows", ylabel="mean AUC")
    left.legend(frameon=False)
    right.plot(of_time["n0"], of_time["seconds"], marker="o")
    right.set(
        xscale="log", yscale="log", xlabel="training rows", ylabel="processor seconds of a fit"
    )
    write(chosen.out / "size.png", fig)


if __name__ == "__main__":
    by_part("size", __doc__, (sets, generated, million, picture))
