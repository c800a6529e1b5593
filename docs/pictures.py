"""The picture of each model, and the picture of p-value, surprise and P(normal) of three rows."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from bsvdd.comparison.run.protocol import Protocol, candidates
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.atomic import atomic
from matplotlib.figure import Figure
from PIL import Image

from bsvdd import BSVDD, plots

FOLDER = Path(__file__).parent / "pictures"
SEED = 0
THREE = {"A": (0.3, 0.2), "B": (1.8, 1.6), "C": (2.6, 2.2)}  # rows of the picture of three numbers
TONES = ("tab:green", "tab:orange", "tab:red")
COLOURS = 200  # of the palette: a third of the bytes, and no difference to see


def draw() -> None:
    """Fit each model of the registry to the half moon and write its picture."""
    matplotlib.use("agg")
    FOLDER.mkdir(exist_ok=True)
    data = datasets.moon(seed=SEED)
    for candidate in candidates():
        est = Protocol().estimator(candidate, SEED).fit(data.X, data.minority.astype(int))
        figure = plots.plot_boundary({candidate.name: est}, data.X, data.minority)
        save(figure, FOLDER / f"{type(est).__name__}.png")
        plt.close(figure)
    save(three_numbers(), FOLDER.parent / "three_numbers.png")


def three_numbers() -> Figure:
    """Return where three rows lie, and how p-value, surprise and P(normal) of each are read."""
    rng = np.random.default_rng(SEED)
    X, rows = rng.normal(size=(200, 2)), np.array(list(THREE.values()))
    est = BSVDD(random_state=SEED).fit(X)
    found, left_out = est.decision(rows), est.training_decision()["surprise"]
    center = est.fit_.center
    draws = center.boundary.threshold[:, None] - center.values_of_draws(rows)
    figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=[1, 1.25])
    ax = figure.add_subplot(grid[:, 0])
    lines = np.linspace(-3.4, 3.4, 90)
    mesh = np.stack(np.meshgrid(lines, lines), axis=-1).reshape(-1, 2)
    population, others = rng.normal(size=(2, 3000, 2))
    of_mesh, of_others = (
        np.concatenate([est.kernel_(part, population).mean(axis=1) for part in np.split(Z, 30)])
        for Z in (mesh, others)
    )
    cut = [np.quantile(of_others, 0.1)]
    shape = (len(lines), len(lines))
    ax.plot(*X.T, ".", color="0.7")
    ax.contour(lines, lines, est.score_samples(mesh).reshape(shape), [0.0], colors="k")
    ax.contour(lines, lines, of_mesh.reshape(shape), cut, colors="k", linestyles="dashed")
    ax.set_title("line: the cutoff\ndashed: the cutoff of the population", fontsize="medium")
    ax.set_aspect("equal")
    panels = [figure.add_subplot(grid[0, 1])]
    panels += [figure.add_subplot(grid[i, 1], sharex=panels[0]) for i in (1, 2)]
    bins = np.linspace(-2.6, 4.8, 75)
    panels[0].hist(left_out, bins, color="0.7")
    for i, (name, tone) in enumerate(zip(THREE, TONES, strict=True)):
        ax.plot(*rows[i], "o", color=tone)
        ax.annotate(name, rows[i], (6, 4), textcoords="offset points", color=tone, weight="bold")
        row = found.iloc[i]
        end = dict(color=tone, va="center", ha="left")
        panels[0].axvline(row["surprise"], color=tone)
        panels[0].text(
            row["surprise"] + 0.05, 12 - 3 * i, f"{name}: p = {row['p_value']:.3f}", **end
        )
        panels[1].plot(row[["surprise_low", "surprise_high"]], [-i, -i], color=tone)
        panels[1].plot(row["surprise"], -i, "o", color=tone)
        panels[1].text(row["surprise_high"] + 0.1, -i, f"{name}: {row['surprise']:.2f}", **end)
        height, _ = np.histogram(draws[:, i], bins, density=True)
        panels[2].stairs(height, bins, color=tone)
        panels[2].stairs(
            np.where(bins[1:] <= 1e-9, height, 0.0), bins, fill=True, color=tone, alpha=0.5
        )
        at = float(np.median(draws[:, i]))
        panels[2].text(
            at, 1.05 * height.max(), f"{name}: {row['probability_normal']:.2f}", color=tone
        )
    titles = (
        "p-value: the share of left-out training rows as far to the right",
        "surprise, with its 90 % interval",
        "P(normal): the share of the draws left of the cutoff",
    )
    for panel, title in zip(panels, titles, strict=True):
        panel.axvline(0.0, color="k")
        panel.set_title(title, loc="left", fontsize="medium")
        panel.set_yticks([])
    panels[1].set_ylim(-2.6, 0.6)
    panels[2].set(xlabel="surprise, log(s_cut / s_z); 0 is the cutoff", xlim=(-2.6, 4.8))
    panels[2].margins(y=0.25)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write ``figure`` with a palette."""
    stream = BytesIO()
    figure.savefig(stream, dpi=110, metadata={"Software": None})
    image = (
        Image.open(stream).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=0)
    )
    with atomic(path) as temporary:
        image.save(temporary, format="PNG", optimize=True)
