"""Fit and score every model on every split of every data set, by one protocol.

The protocol: half of each class trains, the other half tests, stratified and repeated. All
models get the same columns (standardised on the majority rows that train), the same kernel
and bandwidth criterion, and choose their cutoff by the same criterion on the training rows.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import StratifiedShuffleSplit

from ..inference.base import DataWarning, Description
from ..inference.cutoff import Cutoff
from ..inference.diagnostics import DiagnosticWarning
from ..inference.estimators import BDD, BSVDD, BSVDDM, SVDD
from ..inference.metrics import evaluate
from ..models.kernels import RBF, Kernel, Standardized
from .datasets import Dataset

MODELS: dict[str, type[Description]] = {
    "SVDD": SVDD,
    "BDD": BDD,
    "BSVDD": BSVDD,
    "BSVDD-M": BSVDDM,
}
FLAG_ALL, FLAG_NONE = "flag all", "flag none"


@dataclass(frozen=True)
class Protocol:
    """What is the same for all models.

    Parameters
    ----------
    kernel : Kernel
    cutoff : Cutoff
    draws, tune, chains : int
        Of the models that have a posterior.
    """

    kernel: Kernel = Standardized(RBF())
    cutoff: Cutoff = Cutoff()
    draws: int = 1000
    tune: int = 500
    chains: int = 2

    def estimator(self, model: str, seed: int) -> Description:
        """Return the unfitted estimator of ``model`` under this protocol."""
        if model not in MODELS:
            raise ValueError(f"unknown model {model!r}; expected one of {', '.join(MODELS)}")
        est = MODELS[model](
            kernel=self.kernel, cutoff=self.cutoff, minor_label=1, random_state=seed
        )
        sampling = {"draws": self.draws, "tune": self.tune, "chains": self.chains}
        known = est.get_params(deep=False)
        return est.set_params(**{k: v for k, v in sampling.items() if k in known})


@dataclass(frozen=True, eq=False)
class Cell:
    """One model on one split of one data set: the unit of work, independent of all others."""

    data: Dataset
    model: str
    replicate: int
    seed: int
    protocol: Protocol

    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """Return training and test rows; the same for every model of this replicate."""
        halves = StratifiedShuffleSplit(1, test_size=0.5, random_state=self.seed + self.replicate)
        train, test = next(halves.split(self.data.X, self.data.minority))
        return train, test

    def run(self) -> dict[str, Any]:
        """Fit, score, and return one row of results."""
        train, test = self.split()
        X, minority = self.data.X, self.data.minority
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            est = self.protocol.estimator(self.model, self.seed + self.replicate)
            est.fit(X[train], minority[train].astype(int))
            fitted = time.perf_counter()
            score = -est.score_samples(X[test])
            scored = time.perf_counter()
        ours = (DataWarning, DiagnosticWarning)
        for other in caught:
            if not issubclass(other.category, ours):
                warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        return {
            "data": self.data.name,
            "model": self.model,
            "replicate": self.replicate,
            **evaluate(minority[test], score > est.cutoff_, score),
            "cutoff": est.cutoff_,
            "fit_seconds": fitted - start,
            "score_seconds": scored - fitted,
            **{name: float(v) for name, v in est.idata_["diagnostics"].items()},
            "notes": "\n".join(str(w.message) for w in caught if issubclass(w.category, ours)),
        }


def trivial_rules(data: Dataset, replicate: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of results of flagging everything and of flagging nothing."""
    _, test = Cell(data, "", replicate, seed, Protocol()).split()
    minority = data.minority[test]
    for name, flag in ((FLAG_ALL, True), (FLAG_NONE, False)):
        constant = np.full(len(test), flag)
        result = evaluate(minority, constant, constant.astype(float))
        yield {"data": data.name, "model": name, "replicate": replicate, **result}


def check(data: Dataset) -> None:
    """Raise a ValueError where ``data`` is too small to be split in halves of both classes."""
    n1, n0 = int(data.minority.sum()), int((~data.minority).sum())
    for name, n, least in (("minority", n1, 2), ("majority", n0, 6)):
        if n < least:
            raise ValueError(
                f"{data.name}: a comparison needs at least {least} {name} rows (half of them "
                f"train), got {n}"
            )


def compare(
    data: list[Dataset],
    models: list[str] | None = None,
    replicates: int = 5,
    protocol: Protocol | None = None,
    seed: int = 0,
    jobs: int = 1,
    done: Callable[[Cell, dict[str, Any]], None] | None = None,
) -> pd.DataFrame:
    """Return the results of all cells, one row each, in an order that ``jobs`` does not change.

    Parameters
    ----------
    data : list of Dataset
    models : list of str, optional
        Names in ``MODELS``; all of them when left out.
    replicates : int, default=5
    protocol : Protocol, optional
    seed : int, default=0
    jobs : int, default=1
        Worker processes.
    done : callable, optional
        Called with each finished cell and its row, for progress.
    """
    models = list(MODELS) if models is None else models
    protocol = protocol or Protocol()
    for each in data:
        check(each)
    for model in models:
        protocol.estimator(model, seed)  # an unknown name fails before the first fit
    cells = [
        Cell(each, model, replicate, seed, protocol)
        for each in data
        for replicate in range(replicates)
        for model in models
    ]
    rows = []
    results = Parallel(n_jobs=jobs, return_as="generator")(delayed(Cell.run)(c) for c in cells)
    for cell, row in zip(cells, results, strict=True):
        rows.append(row)
        if done is not None:
            done(cell, row)
    for each in data:
        for replicate in range(replicates):
            rows.extend(trivial_rules(each, replicate, seed))
    return pd.DataFrame(rows)
