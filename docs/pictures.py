"""Pictures of each model, of each plot, and of three numbers of a row."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import arviz as az
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from PIL import Image

import bsvdd
from bsvdd import BSVDD, SVDD, cutoffs, kernels, plots, priors, stand_out
from bsvdd.base.atomic import atomic
from bsvdd.comparison import datasets
from bsvdd.comparison.models import model
from bsvdd.estimators.registry import REGISTRY
from bsvdd.plots.common import figure_of

FOLDER = Path(__file__).parent
SEED = 0
COLOURS = 200  # a third of the bytes, and no difference to see
# rows of the picture of three numbers
THREE = {"A": (0.3, 0.2), "B": (1.8, 1.6), "C": (2.6, 2.2)}
TONES = ("tab:green", "tab:orange", "tab:red")


def draw() -> None:
    """Write all pictures."""
    matplotlib.use("agg")
    others = [("three_numbers", three_numbers()), ("odd_rows", odd_rows())]
    others += [("known_rows", known_rows()), ("psense", psense())]
    others += [("normal_for_whom", normal_for_whom())]
    for name, figure in chain(models(), gallery().items(), others):
        write(FOLDER / f"{name}.png", figure)


def write(path: Path, figure: Figure) -> None:
    """Write a picture, all or nothing."""
    stream = io.BytesIO()
    figure.savefig(stream, dpi=110, metadata={"Software": None})
    plt.close(figure)
    image = Image.open(stream).convert("RGB")
    with atomic(path) as temporary:
        image = image.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=0)
        image.save(temporary, format="PNG", optimize=True)


def models() -> Iterator[tuple[str, Figure]]:
    """Fit each model of the registry to the half moon, and give its picture."""
    data = datasets.moon(seed=SEED)
    for record in REGISTRY.values():
        est = model(record.name, random_state=SEED).fit(data.X, data.minority)
        axes = plots.plot_boundary({record.name: est}, data.X, data.minority)
        yield f"pictures/{type(est).__name__}", figure_of(axes)


def gallery() -> dict[str, Figure]:
    """Return the picture of each plot."""
    moon = datasets.moon(seed=SEED)
    y = moon.minority.astype(int)
    wide = kernels.Tabular(kernels.RBF("mean"), scale="standardised")
    half_moon = {
        "SVDD": SVDD(kernel=wide).fit(moon.X, y),
        "BSVDD": BSVDD(kernel=wide).fit(moon.X, y),
    }
    data = datasets.embedded("wine_cultivar3")
    wines = pd.DataFrame(data.X, columns=[f"x{i}" for i in range(data.X.shape[1])])
    wines.index = [f"wine {i}" for i in range(len(wines))]
    narrow = kernels.Tabular(scale="standardised")
    est = BSVDD(kernel=narrow).fit(wines, data.minority)
    bayes = half_moon["BSVDD"]
    d = np.median(bayes.distance(moon.X).values.reshape(-1, len(y)), axis=0)
    three = [int(d.argmin()), int(np.abs(d - bayes.cutoff_).argmin()), int(d.argmax())]
    titles = ["most central row", "row at the cutoff", "most remote row"]
    new = pd.DataFrame(datasets.moon(seed=SEED + 1).X).rename(index="row {}".format)
    strict = bayes.with_cutoff(cutoffs.FalseAlarm(0.25))
    odd = pd.read_csv(FOLDER / "invoices.csv", index_col="invoice")
    return {
        "gallery/plot_boundary": figure_of(plots.plot_boundary(half_moon, moon.X, y)),
        "gallery/plot_margin": figure_of(
            plots.plot_margin(bayes, moon.X[three], titles)
        ),
        "gallery/plot_decisions": figure_of(plots.plot_decisions(bayes, strict, new)),
        "gallery/plot_distances": figure_of(plots.plot_distances(est)),
        "gallery/plot_outliers": figure_of(plots.plot_outliers(est)),
        "gallery/plot_roc": figure_of(plots.plot_roc(est)),
        "gallery/plot_explanation": figure_of(
            plots.plot_explanation(est, wines.iloc[[158]])
        ),
        "gallery/plot_weights": figure_of(plots.plot_weights(est)),
        "gallery/plot_sensitivity": figure_of(
            plots.plot_sensitivity(bsvdd.sensitivity(est).isel(obs=[158, 20, 100]))
        ),
        "gallery/plot_columns": figure_of(plots.plot_columns(est, ["x0", "x9"])),
        "gallery/plot_surprises": figure_of(plots.plot_surprises(strict, bayes)),
        "gallery/plot_prior_posterior": figure_of(
            plots.plot_prior_posterior(bayes.with_prior(priors.Flat(sd=0.5)), bayes)
        ),
        "gallery/plot_cells": figure_of(plots.plot_cells(bsvdd.stand_out(bayes, odd))),
        "gallery/plot_groups": figure_of(plots.plot_groups(of_patients()[0], most=12)),
    }


def of_patients() -> tuple[BSVDD, pd.DataFrame]:
    """Return a fit with the centres of 30 patients, and their visits."""
    rng = np.random.default_rng(SEED)
    patient = np.repeat(np.arange(30), rng.choice([2, 4, 8], 30))
    between = rng.normal(size=(30, 2)) * [60.0, 1.0]
    rows = between[patient] + rng.normal(size=(len(patient), 2)) * [20.0, 0.35]
    visits = pd.DataFrame(
        np.array([250.0, 5.5]) + rows, columns=["platelets", "glucose"]
    )
    visits["patient"] = [f"P{i:02d}" for i in patient]
    return BSVDD(group_centres=True).fit(visits, groups="patient"), visits


def normal_for_whom() -> Figure:
    """Return what is normal for three patients, and how far patients differ."""
    est, visits = of_patients()
    figure = plt.figure(figsize=(10.5, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1.0])
    names = ["platelets", "glucose"]
    beside = np.array([40.0, 0.8])
    low, high = visits[names].min() - beside, visits[names].max() + beside
    lines = [np.linspace(*ends, 90) for ends in zip(low, high, strict=True)]
    mesh = np.stack(np.meshgrid(*lines), axis=-1).reshape(-1, 2)
    left.plot(*visits[names].to_numpy().T, ".", color="0.8", zorder=1)
    ends = est.groups_.query("rows >= 4").index
    most = visits.groupby("patient")["glucose"].mean()[ends].sort_values().index
    new = pd.DataFrame(mesh, columns=names).assign(patient="new patient")
    chosen = {most[0]: "tab:blue", most[-1]: "tab:orange", "new patient": "0.3"}
    for name, colour in chosen.items():
        surprise = est.decision(new.assign(patient=name))["surprise"].to_numpy()
        left.contour(*lines, surprise.reshape(90, 90), [0.0], colors=[colour])
        own = visits.loc[visits["patient"] == name, names].to_numpy()
        left.plot(*own.T, "o", color=colour, markersize=5)
        left.plot([], [], "-", color=colour, label=f"{name}, {len(own)} rows known")
    left.set(xlabel="platelets", ylabel="glucose", title="normal for whom")
    left.legend(frameon=False, fontsize=8, loc="lower left")
    plots.plot_groups(est, most=14, ax=right)
    return figure


def psense() -> Figure:
    """Return how prior and likelihood move the default's posterior on wine."""
    data = datasets.embedded("wine_cultivar3")
    est = BSVDD(random_state=SEED).fit(data.X[~data.minority])
    found = az.plot_psense_dist(
        est.idata_,
        var_names=["effective_support"],
        figure_kwargs={"figsize": (9.0, 4.5)},
    )
    figure: Figure = found.viz["figure"].item()
    return figure


def odd_rows() -> Figure:
    """Return the odd rows of the invoices that come with the documentation."""
    invoices = pd.read_csv(FOLDER / "invoices.csv", index_col="invoice")
    return figure_of(plots.plot_outliers(stand_out(BSVDD(random_state=SEED), invoices)))


def known_rows() -> Figure:
    """Return P(normal) of visits of new patients, without and with groups."""
    rng = np.random.default_rng(SEED)
    patient = np.repeat(np.arange(20), 15)
    visits = rng.normal(size=(20, 4))[patient] + 0.3 * rng.normal(size=(300, 4))
    new = pd.DataFrame(rng.normal(size=(16, 4)) * np.sqrt(1.09))
    new.index = [f"P{i}" for i in range(100, 116)]
    new.iloc[:3] += [4.0, -4.0, 0.0, 0.0]  # abnormal
    before = BSVDD().fit(visits)
    after = BSVDD().fit(visits, groups=patient)
    ax = plots.plot_decisions(before, after, new)
    ax.set(xlabel="P(normal), patients not told", ylabel="P(normal), groups=patient")
    return figure_of(ax)


def three_numbers() -> Figure:
    """Return the places of three rows, and their p-value, surprise and P(normal)."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(200, 2))
    rows = np.array(list(THREE.values()))
    est = BSVDD(random_state=SEED).fit(X)
    found = est.decision(rows)
    left_out = est.decision()["surprise"]
    draws = -est.margins(rows)
    figure = plt.figure(figsize=(10, 5.6), layout="constrained")
    grid = figure.add_gridspec(3, 2, width_ratios=[1, 1.25])
    ax = figure.add_subplot(grid[:, 0])
    lines = np.linspace(-3.4, 3.4, 90)
    mesh = np.stack(np.meshgrid(lines, lines), axis=-1).reshape(-1, 2)
    population, others = rng.normal(size=(2, 3000, 2))
    kernel = est.kernel_
    truth = kernel.inputs(population)
    of_mesh, of_others = (
        np.concatenate([kernel(part, truth).mean(axis=1) for part in np.split(Z, 30)])
        for Z in map(kernel.inputs, (mesh, others))
    )
    cut = [np.quantile(of_others, 0.1)]
    shape = (len(lines), len(lines))
    ax.plot(*X.T, ".", color="0.7")
    ax.contour(lines, lines, est.score_samples(mesh).reshape(shape), [0.0], colors="k")
    ax.contour(
        lines, lines, of_mesh.reshape(shape), cut, colors="k", linestyles="dashed"
    )
    ax.set_title(
        "line: the cutoff\ndashed: the cutoff of the population", fontsize="medium"
    )
    ax.set_aspect("equal")
    panels = [figure.add_subplot(grid[0, 1])]
    panels += [figure.add_subplot(grid[i, 1], sharex=panels[0]) for i in (1, 2)]
    bins = np.arange(-26, 49) / 10.0  # one edge is 0: the filled area is P(normal)
    panels[0].hist(left_out, bins, color="0.7")
    for i, (name, tone) in enumerate(zip(THREE, TONES, strict=True)):
        ax.plot(*rows[i], "o", color=tone)
        ax.annotate(
            name, rows[i], (6, 4), textcoords="offset points", color=tone, weight="bold"
        )
        row = found.iloc[i]
        end = dict(color=tone, va="center", ha="left")
        panels[0].axvline(row["surprise"], color=tone)
        panels[0].text(
            row["surprise"] + 0.05,
            12 - 3 * i,
            f"{name}: p = {row['p_value']:.3f}",
            **end,
        )
        panels[1].plot(row[["low", "high"]], [-i, -i], color=tone)
        panels[1].plot(row["surprise"], -i, "o", color=tone)
        panels[1].text(row["high"] + 0.1, -i, f"{name}: {row['surprise']:.2f}", **end)
        inside = np.clip(draws[:, i], bins[0], bins[-1])
        height, _ = np.histogram(np.nextafter(inside, -np.inf), bins, density=True)
        panels[2].stairs(height, bins, color=tone)
        panels[2].stairs(
            np.where(bins[1:] <= 0.0, height, 0.0),
            bins,
            fill=True,
            color=tone,
            alpha=0.5,
        )
        at = float(np.median(draws[:, i]))
        panels[2].text(
            at,
            1.05 * height.max(),
            f"{name}: {row['probability_normal']:.2f}",
            color=tone,
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
    panels[2].set(
        xlabel="surprise, log(s_cut / s_z); 0 is the cutoff", xlim=(-2.6, 4.8)
    )
    panels[2].margins(y=0.25)
    return figure
