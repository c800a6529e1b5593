"""The table of the slides: ours beside the printed rows, and readings of the slides.

The slides name no kernel, C, c of BDD's cutoff, criterion of D_opt or positive class,
and can be read in two ways on which rows are of the major class. A reading makes all
these choices. Its distance is the mean absolute difference from the printed row of its
model, over six metrics and v = 5, 10, 20.

Kim (2024), A comparative study on Bayesian SVDD models, slides.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.inference.metrics import evaluate

from bsvdd import BDD, SVDD, as_published, cutoffs, kernels
from bsvdd.comparison import reproduction, studies
from bsvdd.comparison.slides import Slides

from .measure import Rows, Run, number, texts
from .models import of_study

SIGNALS = (5.0, 10.0, 20.0)
METRICS = list(reproduction.COMPARED)
KERNELS = {
    "RBF, modified mean": kernels.Tabular(kernels.RBF(), scale="standardised"),
    "RBF, scale": kernels.Tabular(kernels.RBF("scale"), scale="standardised"),
    "polynomial 2, raw": kernels.Polynomial(2),
}
RANKS = (0.1, 0.3, 0.5, 0.7, 0.9)  # c / n0
CHOOSERS = {
    "F1": cutoffs.Best("f1", max_fpr=1),
    "G-mean": cutoffs.Best("g_mean", max_fpr=1),
    "accuracy": cutoffs.Cost(1),  # fewest errors
}
DISTANCES = {"left-out rows": "left-out", "training rows": "training"}
# each draw proposes every weight once, in turn
STEPS = {"draws": 125, "tune": 125, "chains": 2}
LONGER = {"sampler": "auto", "draws": 500, "tune": None, "chains": 4}


def one_class(pair: Any, kernel: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield choices and flagged test rows of SVDD and of BDD's mode."""
    majorities = {"y = 0": ~pair.train.minority, "near component": ~pair.far[0]}
    for rows, is_major in majorities.items():
        X = pair.train.X[is_major]
        for name, C in (("C = 1/(.1 n0)", None), ("hard margin", 1.0)):
            est = SVDD(kernel=kernel, C=C, cutoff=cutoffs.Printed(of="own")).fit(X)
            yield f"SVDD: {rows}; {name}", est.predict(pair.test.X) == -1
        mode = as_published("BDD", kernel=kernel).fit(X)
        for share in RANKS:
            c = cutoffs.Printed(cutoffs.FalseAlarm(1 - share), of="training")
            flagged = mode.with_cutoff(c).predict(pair.test.X) == -1
            yield f"BDD: {rows}; mode; c = {share:g} n0", flagged


def by_draws(pair: Any, kernel: Any, model: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield choices and flagged test rows of a model whose D_opt has a criterion."""
    source = as_published(model)
    given = {n: v for n, v in source.get_params().items() if n.endswith("prior")}
    est = type(source)(
        kernel=kernel, **given, draws=300, tune=100, random_state=0, minor_label=1
    )
    if isinstance(est, BDD):
        est.set_params(likelihood_scale=source.likelihood_scale)
    est.fit(pair.train.X, pair.train.minority.astype(int))
    for (rows, of), (name, chooser) in product(DISTANCES.items(), CHOOSERS.items()):
        cut = est.with_cutoff(cutoffs.Printed(chooser, of=of))
        yield f"{model}: y = 0; draws; {name}, {rows}", cut.predict(pair.test.X) == -1


def reading(v: float, kernel: str, which: str) -> Rows:
    """Return the metrics of the readings of one kernel on a pair of data sets."""
    pair = Slides(v=v, n_test=2000).pair(seed=0)
    k = KERNELS[kernel]
    found = one_class(pair, k) if which == "one class" else by_draws(pair, k, which)
    rows = []
    for how, flagged in found:
        minority = pair.test.minority
        for positive, metrics in (
            ("minority", evaluate(minority, flagged)),
            ("majority", evaluate(~minority, ~flagged)),
        ):
            key = {"model": how.partition(":")[0], "v": v}
            key["reading"] = (
                f"{how.partition(': ')[2]}; {kernel}; positive = {positive}"
            )
            rows.append(key | {name: metrics[name] for name in METRICS})
    return rows


def sampled(model: str, sampler: str) -> Rows:
    """Return seconds, R-hat, ESS and F1 of a model as published, by one sampler."""
    pair = Slides(v=10.0).pair(seed=0)
    cutoff = cutoffs.Printed(cutoffs.Best("f1", max_fpr=1.0))
    how = STEPS if sampler == "Metropolis" else LONGER
    est = as_published(
        model, kernel=kernels.RBF("scale"), cutoff=cutoff, minor_label=1, **how
    )
    start = time.process_time()
    est.set_params(random_state=0).fit(pair.train.X, pair.train.minority.astype(int))
    row = {"model": model, "sampler": sampler, "seconds": time.process_time() - start}
    row["R-hat"], row["ESS"] = est.fit_.convergence
    return [
        row | {"F1": evaluate(pair.test.minority, est.predict(pair.test.X) == -1)["f1"]}
    ]


def nearest(readings: pd.DataFrame) -> pd.DataFrame:
    """Return the nearest and the farthest reading of each model."""
    printed = reproduction.published()[METRICS]
    rows = printed.loc[
        [(m, v) for m, v in zip(readings["model"], readings["v"], strict=True)]
    ]
    away = readings[["model", "reading"]].join(
        np.abs(readings[METRICS] - rows.to_numpy(float))
    )
    of = away.groupby(["model", "reading"])[METRICS].mean().mean(axis=1)
    ordered = of.rename("distance").reset_index().sort_values("distance")
    ends = pd.concat(
        [ordered.groupby("model").head(1), ordered.groupby("model").tail(1)]
    )
    means = (
        readings.groupby(["model", "reading"])[["f1", "g_mean"]].mean().reset_index()
    )
    found = (
        ends.merge(means)
        .sort_values(["model", "distance"])
        .set_index(["model", "reading"])
    )
    return texts(found.rename(columns={"f1": "F1", "g_mean": "G-mean"}), 3)


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return ours beside the printed rows, the readings, and both samplers."""
    ours, _ = reproduction.by_v(of_study(run, studies.slides))
    printed = reproduction.recast(reproduction.published())
    both = pd.concat(
        {"slides": printed[METRICS], "ours": ours[METRICS]}, names=["source"]
    )
    both = both.reorder_levels(["model", "v", "source"]).sort_index(
        sort_remaining=False
    )
    both["F1 of flagging all"] = (
        reproduction.flag_all_f1(ours["base_rate"])
        .reindex(both.index.droplevel("source"))
        .to_numpy()
    )
    which = ("one class", "BDD", "BSVDD", "BSVDD-M")
    readings = run.cells(reading, product(SIGNALS, KERNELS, which))
    samplers = run.cells(sampled, product(["BSVDD"], ("default", "Metropolis")))
    shown = both.astype(float).rename(columns=reproduction.COMPARED).reset_index()
    shown["v"] = [number(v, 0) for v in shown["v"]]
    digits = {"seconds": 0, "R-hat": 3, "ESS": 0, "F1": 3}
    return {
        "slides": texts(shown.set_index(["model", "v", "source"]), 3),
        "readings": nearest(readings),
        "samplers": texts(samplers.set_index(["model", "sampler"]), digits),
    }
