"""Whether intervals of s_z cover: samples of a data set, and the centre of all its rows as truth.

``uv run python -m benchmarks.coverage [--repetitions N] [--jobs N]``

The population is up to 4,000 majority rows of a large embedded set, or of a generated one. Samples
of 50, 200 and 800 rows, at most a fifth of it, are drawn and fitted, with the bandwidth that the
fit chooses. The truth is the similarity of z to the mean of the whole population, by the kernel of
the fit. z runs over 200 majority rows that no sample has, and up to 200 minority rows. As samples
have up to a fifth of the population, perfect intervals would cover .50 to .55 and .90 to .93.
Results go to docs/coverage.json.
"""

from __future__ import annotations

import argparse
import json
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.atomic import atomic
from bsvdd.inference.warning import DataWarning, DiagnosticWarning
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.base import clone

from bsvdd import BDD, BSVDD, kernels

DOCS = Path(__file__).parents[1] / "docs"
SETS = ("ctg_pathologic", "digits_0", "landsat_cotton71", "musk", "yeast_ME2", "normal", "t3")
SIZES, LEVELS = (50, 200, 800), (0.5, 0.9)
MODELS = {
    "BDD": BDD(),
    "BSVDD": BSVDD(),
    "BSVDD, median bandwidth": BSVDD(kernel=kernels.RBF("median")),
}
SCALES = ("calibrated", 1.0)
POPULATION, NEW, SHARE = 4000, 200, 0.2


def population(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the population, and new rows z, with standardised columns."""
    rng = np.random.default_rng(0)
    if name in ("normal", "t3"):
        n = POPULATION + 2 * NEW
        X = rng.normal(size=(n, 5)) if name == "normal" else rng.standard_t(3, size=(n, 10))
        X, far = X[:-NEW], 2.0 * X[-NEW:]
    else:
        data = datasets.embedded(name)
        X, far = data.X[~data.minority], data.X[data.minority]
        varies = np.ptp(X, axis=0) > 0
        mean, sd = X[:, varies].mean(axis=0), X[:, varies].std(axis=0)
        X, far = (X[:, varies] - mean) / sd, (far[:, varies] - mean) / sd
    X = rng.permutation(X)[: POPULATION + NEW]
    return X[NEW:], np.concatenate([X[:NEW], rng.permutation(far)[:NEW]])


def cell(name: str, model: str, n: int, scale: float | str, repetition: int) -> dict[str, Any]:
    """Return the share of rows z whose intervals cover, for one sample."""
    X, Z = population(name)
    rng = np.random.default_rng([repetition, n])
    est = clone(MODELS[model]).set_params(likelihood_scale=scale, cutoff=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiagnosticWarning)
        warnings.simplefilter("ignore", DataWarning)
        est.fit(rng.permutation(X)[:n])
    truth = est.kernel_(Z, X).mean(axis=1)
    draws = est.fit_.center.similarity(Z)
    result: dict[str, Any] = dict(set=name, model=model, n=n, scale=str(scale))
    for level in LEVELS:
        low, high = np.quantile(draws, [0.5 - level / 2, 0.5 + level / 2], axis=0)
        result[f"{level:.0%}"] = float(((low <= truth) & (truth <= high)).mean())
    width = float(np.median((high - low) / truth))
    return result | {"lambda": est.likelihood_scale_, "width": width}


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser("python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=12, help="samples in each cell (12)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of the file (docs)")
    chosen = parser.parse_args(arguments)
    cells = [
        (name, model, n, scale, repetition)
        for name, n in product(SETS, SIZES)
        if n <= SHARE * len(population(name)[0])
        for model, scale, repetition in product(MODELS, SCALES, range(chosen.repetitions))
    ]
    results = Parallel(chosen.jobs, return_as="generator")(delayed(cell)(*c) for c in cells)
    frame = pd.DataFrame(track(results, "coverage", total=len(cells)))
    table = frame.groupby(["model", "scale", "n", "set"]).mean()
    with atomic(chosen.out / "coverage.json") as temporary:
        temporary.write_text(
            json.dumps(table.round(4).reset_index().to_dict("records")) + "\n", encoding="utf-8"
        )
    print(table.round(3).to_string())
    print(table.groupby(["model", "scale", "n"]).mean().round(3).to_string())


if __name__ == "__main__":
    main()
