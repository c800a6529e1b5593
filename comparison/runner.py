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

from ..inference.cutoff import Cutoff
from ..inference.detector import Detector
from ..inference.metrics import evaluate
from ..inference.warning import DataWarning, DiagnosticWarning
from ..models.kernels import RBF, Kernel, Standardized
from ..models.registry import REGISTRY
from .datasets import Dataset

DEFAULT_MODELS = list(REGISTRY)
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

    def estimator(self, model: str, seed: int) -> Detector:
        """Return the unfitted estimator of ``model`` under this protocol."""
        if model not in REGISTRY:
            raise ValueError(f"unknown model {model!r}; expected one of {', '.join(REGISTRY)}")
        est: Detector = REGISTRY[model].estimator()()
        shared = {
            "kernel": self.kernel,
            "cutoff": self.cutoff,
            "minor_label": 1,
            "random_state": seed,
            "draws": self.draws,
            "tune": self.tune,
            "chains": self.chains,
        }
        known = est.get_params(deep=False)
        return est.set_params(**{name: v for name, v in shared.items() if name in known})


def split(data: Dataset, replicate: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows of a replicate, half of each class; the same for all models."""
    halves = StratifiedShuffleSplit(1, test_size=0.5, random_state=replicate_seed(replicate, seed))
    train, test = next(halves.split(data.X, data.minority))
    return train, test


def replicate_seed(replicate: int, seed: int) -> int:
    """Return the seed of one replicate; another one for every pair (replicate, seed)."""
    return int(np.random.SeedSequence([seed, replicate]).generate_state(1)[0] >> 1)


@dataclass(frozen=True, eq=False)
class Cell:
    """One model on one split of one data set: the unit of work, independent of all others."""

    data: Dataset
    model: str
    replicate: int
    seed: int
    protocol: Protocol

    def run(self) -> dict[str, Any]:
        """Fit, score, and return one row of results; a fit that cannot be is a row of NaN."""
        try:
            return self._run()
        except ValueError as error:
            nothing = np.zeros(0, dtype=bool)
            return {
                "data": self.data.name,
                "model": self.model,
                "replicate": self.replicate,
                **evaluate(nothing, nothing),
                "notes": f"failed: {error}",
            }

    def _run(self) -> dict[str, Any]:
        train, test = split(self.data, self.replicate, self.seed)
        X, minority = self.data.X, self.data.minority
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.perf_counter()
            seed = replicate_seed(self.replicate, self.seed)
            est = self.protocol.estimator(self.model, seed)
            est.fit(X[train], minority[train].astype(int))
            fitted = time.perf_counter()
            f = est.decision_function(X[test])
            scored = time.perf_counter()
        ours = (DataWarning, DiagnosticWarning)
        for other in caught:
            if not issubclass(other.category, ours):
                warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        return {
            "data": self.data.name,
            "model": self.model,
            "replicate": self.replicate,
            **evaluate(minority[test], f < 0, -f),
            "cutoff": est.cutoff_,
            "fit_seconds": fitted - start,
            "score_seconds": scored - fitted,
            **{str(k): float(v) for k, v in est.idata_.children["diagnostics"].dataset.items()},
            "notes": "\n".join(str(w.message) for w in caught if issubclass(w.category, ours)),
        }


def trivial_rules(data: Dataset, replicate: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of results of flagging everything and of flagging nothing."""
    _, test = split(data, replicate, seed)
    minority = data.minority[test]
    for name, flag in ((FLAG_ALL, True), (FLAG_NONE, False)):
        constant = np.full(len(test), flag)
        result = evaluate(minority, constant, constant.astype(float))
        yield {"data": data.name, "model": name, "replicate": replicate, **result}


def check_size(data: Dataset) -> None:
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
    on_cell: Callable[[Cell, dict[str, Any]], None] | None = None,
) -> pd.DataFrame:
    """Return the results of all cells, one row each, in an order that ``jobs`` does not change.

    Parameters
    ----------
    data : list of Dataset
    models : list of str, optional
        Names in the registry; ``DEFAULT_MODELS`` when left out.
    replicates : int, default=5
    protocol : Protocol, optional
    seed : int, default=0
    jobs : int, default=1
        Worker processes.
    on_cell : callable, optional
        Called with each finished cell and its row, for progress.
    """
    models = DEFAULT_MODELS if models is None else models
    protocol = protocol or Protocol()
    for what, given in (("data set", [each.name for each in data]), ("model", models)):
        twice = {name for name in given if given.count(name) > 1}
        if twice:
            raise ValueError(f"{what} {sorted(twice)[0]!r} is given twice")
    for each in data:
        check_size(each)
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
        if on_cell is not None:
            on_cell(cell, row)
    for each in data:
        for replicate in range(replicates):
            rows.extend(trivial_rules(each, replicate, seed))
    return pd.DataFrame(rows)
