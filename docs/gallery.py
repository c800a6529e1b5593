"""The gallery: a picture of each function of ``bsvdd.plots``, for its place in the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bsvdd.comparison.scenarios import datasets
from matplotlib.figure import Figure

from bsvdd import BDD, BSVDD, SVDD, kernels, plots, priors

from .pictures import save

FOLDER = Path(__file__).parent / "gallery"
SEED = 0


def draw() -> None:
    """Fit a few models to embedded and generated data and write the pictures."""
    matplotlib.use("agg")
    FOLDER.mkdir(exist_ok=True)
    for name, make in figures().items():
        figure = make()
        save(figure, FOLDER / f"{name}.png")
        plt.close(figure)


def figures() -> dict[str, Callable[[], Figure]]:
    """Return for each function the call that makes its picture; the fits are made here."""
    moon = datasets.moon(seed=SEED)
    y = moon.minority.astype(int)
    wide = kernels.Standardized(kernels.RBF("mean"))
    half_moon = {
        "SVDD": SVDD(kernel=wide).fit(moon.X, y),
        "BSVDD": BSVDD(kernel=wide).fit(moon.X, y),
    }
    data = datasets.embedded("wine_cultivar3")
    wines = pd.DataFrame(data.X, columns=[f"x{i}" for i in range(data.X.shape[1])])
    wines.index = [f"wine {i}" for i in range(len(wines))]
    narrow = kernels.Standardized(kernels.RBF("likelihood"))
    est = BSVDD(kernel=narrow).fit(wines, data.minority)
    bdd = BDD(kernel=wide, prior=priors.Flat()).fit(moon.X[:60])
    bayes = half_moon["BSVDD"]
    d = np.median(bayes.distance(moon.X).values.reshape(-1, len(y)), axis=0)
    three = [int(d.argmin()), int(np.abs(d - bayes.cutoff_).argmin()), int(d.argmax())]
    titles = ["most central row", "row at the cutoff", "most remote row"]
    new = datasets.moon(n0=1000, n1=1, seed=SEED + 1).X[:1000]
    return {
        "plot_boundary": lambda: plots.plot_boundary(half_moon, moon.X, y),
        "plot_distance_posterior": lambda: plots.plot_distance_posterior(
            bayes, moon.X[three], titles
        ),
        "plot_distances": lambda: plots.plot_distances(est),
        "plot_outliers": lambda: plots.plot_outliers(est),
        "plot_calibration": lambda: plots.plot_calibration(half_moon, new),
        "plot_roc": lambda: plots.plot_roc(est),
        "plot_explanation": lambda: plots.plot_explanation(est, wines.iloc[[158]]),
        "plot_weights": lambda: plots.plot_weights(est),
        "plot_weights_pair": lambda: plots.plot_weights_pair(bdd),
        "plot_prior_check": lambda: plots.plot_prior_check(est),
        "plot_bandwidths": lambda: plots.plot_bandwidths(
            est.kernel_.inputs(data.X[~data.minority]), est.kernel_.kernel.bandwidth
        ),
    }
