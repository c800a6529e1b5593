"""Rows on the samplers: seconds for each effective draw of d_z, and whether chains agree."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
from bsvdd.comparison.scenarios import datasets
from bsvdd.inference.warning import DataWarning, DiagnosticWarning

from bsvdd import BSVDD, BSVDDM, kernels, priors

from .baselines import gram, naive, rows, sample_metropolis, sample_naive, smallest_ess
from .measure import Row, quietly, touch_memory

# the published prior collapses with the bandwidth "scale", and does not with the default one
CASES: dict[str, tuple[kernels.Kernel, priors.GaussianPrior]] = {
    "default prior": (kernels.RBF(), priors.StandardizedRowSum()),
    "published prior": (kernels.RBF("scale"), priors.RowSum()),
}
SETTINGS = {"default prior": dict(draws=2000, chains=4), "published prior": dict(draws=4000)}


def fit(case: str, n0: int, seed: int) -> tuple[float, float]:
    """Return seconds and the smallest effective sample size of one whole fit."""
    kernel, prior = CASES[case]
    settings: dict[str, Any] = SETTINGS[case]
    est = BSVDD(kernel=kernel, prior=prior, random_state=seed, **settings)
    start = time.perf_counter()
    with quietly(DiagnosticWarning):
        est.fit(rows(n0))
    seconds = time.perf_counter() - start
    return seconds, smallest_ess(est.fit_.draws.w, est.gram_)


@functools.cache
def measured(case: str, quick: bool) -> dict[str, float]:
    """Return the medians of five fits and of plain ``pm.sample`` in turn, warm caches."""
    n0, repeats = (200, 1) if quick else (900, 5)
    kernel, prior = CASES[case]
    model = naive(gram(n0, kernel=kernel), prior)
    fit(case, n0, 0)
    sample_naive(model, draws=10, tune=10)
    measures: dict[str, list[float]] = {}
    for seed in range(repeats):
        touch_memory()
        seconds, ess = fit(case, n0, seed)
        touch_memory()
        tree, naive_seconds = sample_naive(model, seed=seed)
        naive_ess = smallest_ess(tree["posterior"]["w"].values, gram(n0, kernel=kernel))
        for name, value in {
            "seconds": seconds,
            "smallest effective sample size": ess,
            "effective draws a second": ess / seconds,
            "pm.sample: seconds": naive_seconds,
            "pm.sample: smallest effective sample size": naive_ess,
            "pm.sample: effective draws a second": naive_ess / naive_seconds,
        }.items():
            measures.setdefault(name, []).append(value)
    return {name: float(np.median(values)) for name, values in measures.items()}


def _against_pymc(case: str, target: float, quick: bool) -> Row:
    details = measured(case, quick)
    value = details["pm.sample: effective draws a second"] / details["effective draws a second"]
    what = f"seconds for each effective draw of d_z, whole fit of BSVDD, {case}"
    return Row(what, "pm.sample() of the naive model", value, 1 / target, "", details)


def seconds_default(quick: bool) -> Row:
    """Measure seconds for each effective draw of d_z, default prior."""
    return _against_pymc("default prior", 60, quick)


def seconds_published(quick: bool) -> Row:
    """Measure seconds for each effective draw of d_z, published prior."""
    return _against_pymc("published prior", 20, quick)


def seconds_metropolis(quick: bool) -> Row:
    """Measure the same against random-walk Metropolis, the published sampler."""
    ours = measured("default prior", quick)
    n0 = 200 if quick else 900
    model = naive(gram(n0), priors.StandardizedRowSum())
    rates = []
    for seed in range(1 if quick else 5):
        # few, as it moves one weight after the other: a draw takes n0 densities
        tree, seconds = sample_metropolis(model, draws=20, tune=20, seed=seed)
        rates.append(smallest_ess(tree["posterior"]["w"].values, gram(n0)) / seconds)
    details = ours | {"pm.Metropolis: effective draws a second": float(np.median(rates))}
    value = float(np.median(rates)) / ours["effective draws a second"]
    what = "seconds for each effective draw of d_z, whole fit of BSVDD, default prior"
    return Row(what, "pm.Metropolis, the published sampler", value, 1 / 1000, "", details)


def _curved(quick: bool) -> dict[str, tuple[BSVDD | BSVDDM, tuple[np.ndarray, ...]]]:
    """Return models and rows whose posteriors are far from normal, by name."""
    n0, many = (100, 5_000) if quick else (300, 200_000)
    scale = kernels.RBF("scale")
    minority = rows(40, seed=1) + 1.5
    both = np.concatenate([rows(n0), minority]), np.repeat([0, 1], [n0, 40])
    stiff = BSVDD(
        kernel=kernels.RBF("mean"), prior=priors.StandardizedRowSum(), likelihood_scale=100.0
    )
    published = dict(kernel=scale, prior=priors.RowSum())
    return {
        "500 landmarks of 200,000 rows": (BSVDD(dictionary=500), (rows(many, 20),)),
        "published prior, 300 rows": (BSVDD(**published), (rows(n0),)),
        "lambda = 100, 300 rows": (stiff, (rows(n0),)),
        "lambda = 100, 900 rows": (stiff, (rows(3 * n0),)),
        "BSVDD-M, published priors, 300 + 40 rows": (
            BSVDDM(**published, minority_prior=priors.Beta()),
            both,
        ),
    }


def parallel_chains(quick: bool) -> Row:
    """Measure sampling by parallel chains against NUTS."""
    details, ratios = {}, []
    for name, (est, data) in _curved(quick).items():
        rates: dict[str, list[float]] = {"hmc": [], "nuts": []}
        with quietly(DiagnosticWarning), quietly(DataWarning):
            for sampler in rates:  # NUTS compiles
                est.set_params(sampler=sampler, draws=10, tune=10).fit(*data)
            for seed in range(1 if quick else 5):
                for sampler, found in rates.items():
                    est.set_params(sampler=sampler, draws=1000, tune=500, random_state=seed)
                    drawn = est.fit(*data).fit_.draws
                    ess = (
                        smallest_ess(drawn.w, est.gram_, 20, method) for method in ("bulk", "tail")
                    )
                    found.append(min(ess) / drawn.report.seconds)
        medians = {sampler: float(np.median(found)) for sampler, found in rates.items()}
        ratios.append(medians["nuts"] / medians["hmc"])
        details |= {
            f"{name}, {sampler}: effective draws a second": v for sampler, v in medians.items()
        }
    what = "seconds of sampling for each effective draw of d_z, parallel chains, largest ratio"
    return Row(what, "NUTS", max(ratios), 0.5, "", details)


def _mixing(model: type[BSVDD] | type[BSVDDM], quick: bool) -> Row:
    """Measure the largest R-hat of d_z over the embedded data sets, all settings at default."""
    details = {}
    for name in datasets.names()[:: 6 if quick else 1]:
        data = datasets.embedded(name)
        rng = np.random.default_rng(0)
        halves = [rng.permutation(np.flatnonzero(c)) for c in (~data.minority, data.minority)]
        train = np.concatenate([half[: min(900, len(half) // 2)] for half in halves])
        est = model()
        start = time.perf_counter()
        with quietly(DiagnosticWarning), quietly(DataWarning):
            est.fit(data.X[train], data.minority[train])
        details |= {
            f"{name}: R-hat": float(est.fit_.diagnostics["r_hat"]),
            f"{name}: by NUTS": float(est.fit_.draws.report.sampler == "nuts"),
            f"{name}: seconds": time.perf_counter() - start,
        }
    worst = max(value for name, value in details.items() if name.endswith("R-hat"))
    what = f"largest R-hat of d_z, {model.__name__}, defaults, embedded data sets"
    return Row(what, "", worst, 1.01, "", details)


def mixing_bsvdd(quick: bool) -> Row:
    """Measure the largest R-hat of BSVDD over the embedded data sets."""
    return _mixing(BSVDD, quick)


def mixing_bsvdd_m(quick: bool) -> Row:
    """Measure the largest R-hat of BSVDD-M over the embedded data sets."""
    return _mixing(BSVDDM, quick)


ROWS = [
    seconds_default,
    seconds_published,
    seconds_metropolis,
    parallel_chains,
    mixing_bsvdd,
    mixing_bsvdd_m,
]
