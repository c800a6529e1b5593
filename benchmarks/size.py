"""Size and speed: AUC by the number of rows, seconds beside scikit-learn and PyOD.

PyOD is no dependency: ``uv run --with pyod python -m benchmarks size``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.svm import OneClassSVM

from bsvdd import BSVDD, SVDD, facts
from bsvdd.comparison.models import Yardstick

from .clean import PLAIN
from .measure import (
    Rows,
    Run,
    clean_set,
    collection,
    number,
    real_set,
    set_names,
    texts,
)

SIZES = (300, 1000, 3000, 12_000)
MANY = 3000  # normal rows of a large set
LARGEST_EMBEDDED = ("landsat_cotton71", "musk", "ctg_pathologic", "digits_0")
TIMED = (1000, 10_000)
NEW = 10_000
COLUMNS = 20
MOST = 1_000_000


def of_set(folder: Path | None, name: str) -> Rows:
    """Return AUC and processor seconds at each number of training rows."""
    X, Z, y = clean_set(folder, name, most=SIZES[-1])
    rng = np.random.default_rng(0)
    rows = []
    X = rng.permutation(X)
    some = rng.permutation(len(Z))[:4000]
    Z = Z[some]
    y = y[some]
    for n in (n for i, n in enumerate(SIZES) if not i or len(X) > SIZES[i - 1]):
        train = X[:n]
        start = time.process_time()
        est = BSVDD().fit(train)
        seconds = time.process_time() - start
        kernel = est.kernel_
        inputs = kernel.inputs(train), kernel.inputs(Z)
        scores = {
            "BSVDD": -est.score_samples(Z),
            "density of all rows": -logsumexp(kernel.log(*inputs[::-1]), axis=1),
            "5 neighbours": -Yardstick("mean kNN", PLAIN).fit(train).score_samples(Z),
            "one-class SVM": -OneClassSVM(nu=0.1)
            .fit(inputs[0])
            .score_samples(inputs[1]),
        }
        row = {"sets": collection(name), "training rows, at most": n}
        row |= {model: roc_auc_score(y, score) for model, score in scores.items()}
        row |= {"atoms": float(len(est.gram_.K)), "seconds": seconds}
        posterior = facts(est).posterior
        rows.append(row | {"spread": posterior.spread, "R-hat": posterior.r_hat})
    return rows


def sides() -> dict[str, Callable[[], Any]]:
    """Return the estimators that are timed, as functions that make them."""
    from pyod.models.ecod import ECOD
    from pyod.models.knn import KNN

    return {
        "BSVDD": BSVDD,
        "SVDD": SVDD,
        "scikit-learn, OneClassSVM(nu=.1)": lambda: OneClassSVM(nu=0.1),
        "scikit-learn, LocalOutlierFactor": lambda: LocalOutlierFactor(novelty=True),
        "scikit-learn, IsolationForest": lambda: IsolationForest(random_state=0),
        "PyOD, KNN": KNN,
        "PyOD, ECOD": ECOD,
    }


def speed(n: int) -> Rows:
    """Return processor seconds of a fit and of 10,000 scores, as medians of three."""
    rng = np.random.default_rng(0)
    X, Z = (rng.normal(size=(rows, COLUMNS)) for rows in (n, NEW))
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in sides()}
    for _ in range(4):  # the first warms up
        for name, make in sides().items():
            start = time.process_time()
            est = make().fit(X)
            fitted = time.process_time()
            is_ours = hasattr(est, "score_samples")
            (est.score_samples if is_ours else est.decision_function)(Z)
            spent[name].append((fitted - start, time.process_time() - fitted))
    found = {name: np.median(each[1:], axis=0) for name, each in spent.items()}
    return [{"n": n, "model": m, "fit": f, "score": s} for m, (f, s) in found.items()]


def million() -> Rows:
    """Return seconds and AUC of fits of 1,000,000 rows, float32.

    The columns of normal rows are dependent, and the columns of odd rows are not. All
    have the variance 1.
    """
    rng = np.random.default_rng(0)
    mixed = np.eye(COLUMNS) + 0.3
    mixed /= np.linalg.norm(mixed, axis=0)
    X = rng.normal(size=(MOST, COLUMNS)) @ mixed
    X = X.astype(np.float32)  # float64: 8 GB on one side
    Z = rng.normal(size=(20_000, COLUMNS))
    y = np.repeat([0, 1], 10_000)
    Z[y == 0] = Z[y == 0] @ mixed
    kernel = BSVDD().fit(X[:1000]).kernel_.kernel
    features = Nystroem(gamma=kernel.gamma, n_components=500, random_state=0)
    other = make_pipeline(features, SGDOneClassSVM(nu=0.1, random_state=0))
    rows = []
    for name, est in {"BSVDD": BSVDD(), "Nystroem + SGDOneClassSVM": other}.items():
        start = time.process_time()
        est.fit(X)
        seconds = time.process_time() - start
        auc = roc_auc_score(y, -est.score_samples(Z))
        rows.append({"model": name, "processor seconds": seconds, "AUC": auc})
    return rows


def large(folder: Path | None) -> list[str]:
    """Return the sets with many normal rows, and the largest embedded ones."""
    others = [name for name in set_names(folder) if collection(name) == "development"]
    many = [name for name in others if (~real_set(folder, name)[1]).sum() >= MANY]
    return [*LARGEST_EMBEDDED, *many]


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return AUC by rows, seconds beside others, and a million rows."""
    models = list(sides())  # first: without PyOD nothing is computed
    frame = run.cells(of_set, product([run.sets], large(run.sets)))
    frame = frame[frame["sets"] == frame["sets"].iloc[-1]]
    sizes = frame.groupby("training rows, at most").mean(numeric_only=True)
    sizes.index = sizes.index.map("{:,}".format)
    alone = replace(run, jobs=1)
    timed = alone.cells(speed, product(TIMED)).pivot(index="model", columns="n")
    columns = [
        f"{what}, {n:,} rows" if what == "fit" else f"10,000 scores, fit of {n:,}"
        for what, n in timed
    ]
    seconds = timed.set_axis(columns, axis=1)
    least = frame["BSVDD"] - frame["density of all rows"]
    digits = dict.fromkeys(frame.columns, 3) | {"atoms": 0, "seconds": 1, "spread": 2}
    all_rows = pd.DataFrame(
        {"mean": [number(least.mean(), 4)], "least": [number(least.min(), 4)]}
    )
    return {
        "sizes": texts(sizes, digits),
        "less the density": all_rows,
        "seconds": texts(seconds.loc[models], 3),
        "million": texts(
            alone.cells(million, [()]).set_index("model"),
            {"processor seconds": 1, "AUC": 4},
        ),
    }
