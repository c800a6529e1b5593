"""Named readings of what the slides leave open, and how far each is from the printed table.

The slides (Kim 2024) name no kernel, no C, no c of BDD's rule, no criterion of D_opt, and not which
rows train. Each reading fills these in, and all readings are listed before any result:

- kernel: RBF with the modified mean or the "scale" bandwidth, or a quadratic polynomial of the raw
  columns;
- training rows: those with y = 0, or those of the near component;
- SVDD: at most a tenth of the rows outside (C = 1/(.1 n0)), or hard margin (C = 1);
- BDD: the mode with d <= d_(c), for several c; or draws, with D_opt by cross-validation;
- BSVDD and BSVDD-M: D_opt by F1, G-mean or accuracy, on folds or on training rows. They are sampled
  by sampler="auto", not by random-walk Metropolis, which takes minutes a fit;
- the class that the metrics of a row call positive.

A choice of the nearest reading is made in hindsight, and says so in its column.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from joblib import delayed
from threadpoolctl import threadpool_limits

from ...estimators.as_published import PUBLICATIONS
from ...estimators.detector import Detector
from ...estimators.registry import REGISTRY
from ...inference.cutoff import Cutoff
from ...inference.metrics import evaluate
from ...inference.warning import DataWarning, DiagnosticWarning
from ...models.kernels import RBF, Kernel, Polynomial, Standardized
from ..run.cell import replicate_seed
from ..run.workers import processes
from ..scenarios.scenario import Pair
from ..scenarios.slides import Slides
from . import published
from .published import COMPARED

KERNELS: dict[str, Kernel] = {
    "RBF, modified mean": Standardized(RBF()),
    "RBF, scale": Standardized(RBF("scale")),
    "polynomial 2, raw": Polynomial(2),
}
ROWS = ("y = 0", "near component")
RANKS = (0.1, 0.3, 0.5, 0.7, 0.9)  # c / n0
# the smallest number of errors is the best accuracy
CRITERIA = {"F1": "f1", "G-mean": "g_mean", "accuracy": "cost"}
LEFT_OUT: dict[str, Any] = {"5 folds": 5, "training rows": "train"}
POSITIVE = ("minority", "majority")
FILE = "slides_readings.csv"  # beside the page of the study


@dataclass(frozen=True)
class Reading:
    """What the slides leave open, filled in.

    Attributes
    ----------
    model : str
        Name in the registry.
    kernel : str
        A name in ``KERNELS``.
    rows : {"y = 0", "near component"}
        Which rows train.
    fit : str
        How the centre is found: of SVDD "C = 1/(.1 n0)" or "hard margin"; "mode" or "draws" else.
    rule : str
        How the boundary is found: "sphere", "c = .7 n0" and the like, or criterion and rows.
    positive : {"minority", "majority"}
        The class that the metrics call positive.
    """

    model: str
    kernel: str
    rows: str
    fit: str
    rule: str
    positive: str

    @property
    def name(self) -> str:
        """All of it in words."""
        return (
            f"{self.model}: {self.kernel}; {self.rows}; {self.fit}; {self.rule}; "
            f"positive = {self.positive}"
        )


def readings(models: list[str] | None = None) -> list[Reading]:
    """Return all readings of the models of the slides, or of some of them."""
    by_rank = [f"c = {share:g} n0" for share in RANKS]
    by_criterion = [f"{name}, {rows}" for name in CRITERIA for rows in LEFT_OUT]
    ways: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {
        "SVDD": [(fit, "sphere", ROWS) for fit in ("C = 1/(.1 n0)", "hard margin")],
        "BDD": [
            *(("mode", rule, ROWS) for rule in by_rank),
            *(("draws", rule, ROWS[:1]) for rule in by_criterion),
        ],
        "BSVDD": [("draws", rule, ROWS[:1]) for rule in by_criterion],
        "BSVDD-M": [("draws", rule, ROWS[:1]) for rule in by_criterion],
    }
    return [
        Reading(model, kernel, rows, fit, rule, positive)
        for model in models or ways
        for kernel in KERNELS
        for fit, rule, possible in ways[model]
        for rows in possible
        for positive in POSITIVE
    ]


def measure(readings: list[Reading], pair: Pair, seed: int = 0) -> pd.DataFrame:
    """Return the metrics of each reading on one pair of data sets, a row for each reading.

    Readings that differ in rule or positive class only share a fit.
    """
    flagged: dict[tuple[str, ...], np.ndarray] = {}
    rows = []
    for reading in readings:
        key = reading.model, reading.kernel, reading.rows, reading.fit
        if (*key, reading.rule) not in flagged:
            alike = [r.rule for r in readings if (r.model, r.kernel, r.rows, r.fit) == key]
            for rule, calls in _calls(reading, list(dict.fromkeys(alike)), pair, seed):
                flagged[(*key, rule)] = calls
        calls, minority = flagged[(*key, reading.rule)], pair.test.minority
        if reading.positive == "majority":
            calls, minority = ~calls, ~minority
        metrics = evaluate(minority, calls)
        rows.append({"reading": reading.name, **{name: metrics[name] for name in COMPARED}})
    return pd.DataFrame(rows).set_index("reading")


def _calls(
    reading: Reading, rules: list[str], pair: Pair, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield each rule with the test rows that it calls abnormal, by one fit."""
    train = pair.train
    with warnings.catch_warnings():
        for category in (DataWarning, DiagnosticWarning):
            warnings.simplefilter("ignore", category)
        est = _unfitted(reading, seed)
        if reading.fit == "draws":
            for rows in LEFT_OUT:
                mine = [rule for rule in rules if rule.endswith(rows)]
                if not mine:
                    continue
                est.set_params(cutoff=Cutoff("f1", cv=LEFT_OUT[rows], uncertain=False))
                est.fit(train.X, train.minority.astype(int))
                scores: Any = est.fit_.left_out
                left_out = est.fit_.center.distance_of(scores)
                for rule in mine:
                    criterion = CRITERIA[rule.partition(",")[0]]
                    D_opt = Cutoff(criterion).choose(left_out, train.minority)
                    yield rule, est.with_cutoff(D_opt).predict(pair.test.X) == -1
            return
        if reading.rows == "y = 0":
            members = ~train.minority
        elif pair.far is not None:
            members = ~pair.far[0]
        else:
            raise ValueError("the near component is known for the generator of the slides only")
        est.fit(train.X[members])
        for rule in rules:
            if rule.startswith("c = "):
                share = float(rule.split()[2])
                rank = Cutoff("rank", cv="train", rank=share, uncertain=False)
                yield rule, est.with_cutoff(rank).predict(pair.test.X) == -1
            else:
                yield rule, est.predict(pair.test.X) == -1


def _unfitted(reading: Reading, seed: int) -> Detector:
    published = PUBLICATIONS[reading.model].parameters
    names = [n for n in published if n.endswith("prior") or n == "likelihood_scale"]
    parameters: dict[str, Any] = {n: published[n] for n in names}
    parameters |= {"kernel": KERNELS[reading.kernel], "random_state": seed}
    if reading.model == "SVDD":
        parameters |= {"cutoff": "model", "C": 1.0 if reading.fit == "hard margin" else None}
    elif reading.fit == "mode":
        parameters |= {"sampler": "map", "cutoff": published["cutoff"]}
    else:
        parameters |= {"draws": 300, "tune": 100, "minor_label": 1}
    est: Detector = REGISTRY[reading.model].estimator()(**parameters)
    return est


def run(
    readings: list[Reading],
    base: Slides = Slides(),
    variances: tuple[float, ...] = (5.0, 10.0, 20.0),
    replicates: int = 10,
    seed: int = 0,
    jobs: int = 1,
    on_pair: Callable[[], None] = lambda: None,
) -> pd.DataFrame:
    """Return the distance of each reading from the printed row of its model, nearest first.

    Parameters
    ----------
    readings : list of Reading
    base : Slides
        The generator, whose v is replaced.
    variances : tuple of float
        v.
    replicates : int, default=10
        Pairs of data sets for each v.
    seed : int, default=0
    jobs : int, default=1
        Number of worker processes; -1 is one for each processor.
    on_pair : callable
        Called after each pair of data sets.

    Returns
    -------
    pandas.DataFrame
        A row for each reading: ``model``; the means of the six metrics over pairs and v;
        ``distance``, the mean absolute difference from the printed means over metrics and v;
        ``nearest``, whether it is the nearest of its model, which is a choice in hindsight; and
        ``pairs``, the number of pairs of data sets for each v.
    """
    pairs = [(v, replicate_seed(each, seed)) for v in variances for each in range(replicates)]
    found: dict[float, list[pd.DataFrame]] = {v: [] for v in variances}
    work = (delayed(_measure_pair)(readings, replace(base, v=v), number) for v, number in pairs)
    for (v, _), part in zip(pairs, processes(jobs, "generator")(work), strict=True):
        found[v].append(part)
        on_pair()
    printed = published.table()
    gaps, means = [], []
    for v, parts in found.items():
        mean = sum(parts[1:], parts[0]) / len(parts)
        rows = [printed.loc[(reading.model, v), list(COMPARED)] for reading in readings]
        gaps.append(np.abs(mean.to_numpy() - np.array(rows, dtype=float)))
        means.append(mean)
    out = sum(means[1:], means[0]) / len(means)
    out.insert(0, "model", [reading.model for reading in readings])
    out["distance"] = np.nanmean(np.concatenate(gaps, axis=1), axis=1)
    out["pairs"] = replicates
    return by_distance(out)


def _measure_pair(readings: list[Reading], scenario: Slides, seed: int) -> pd.DataFrame:
    with threadpool_limits(1, user_api="blas"):
        return measure(readings, scenario.pair(seed), seed)


def by_distance(table: pd.DataFrame) -> pd.DataFrame:
    """Return the readings of each model in the order of their distances, the nearest marked."""
    table = table.sort_values(["model", "distance"], kind="stable")
    table["nearest"] = ~table["model"].duplicated()
    return table
