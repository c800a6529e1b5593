"""Two questions to a fit: given the others, and beyond the sample.

``uv run python -m benchmarks.questions [--part NAME ...]``

- ``given``: 8 tables of x and y = f(x) + noise, y of half of the new rows shifted by 3 sd of the
  noise: how often p <= .10 of the joint score, and of y given x.
- ``tail``: share of new normal rows with p <= .01, .001, .0001 by ``tail="pareto"``, after fits of
  200 rows, beside the same with estimates of maximum likelihood; and false discovery rate and power
  of ``select`` in batches of 10,000 rows, 20 of which are 6 sd off in each column.

Results go to docs/questions.json, part by part, and two pictures beside it show them.
"""

from __future__ import annotations

from argparse import Namespace
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bsvdd.estimators.p_values import fold_of
from bsvdd.estimators.questions.tail import DOUBTFUL, Tail
from scipy.stats import genpareto

import bsvdd

from .guarantee import KINDS, SMALL, rows
from .shared import by_part, computed, quietly, write

RATES = (0.01, 0.001, 0.0001)
NOISE, SHIFT, RATE = 0.3, 3.0, 0.10
TABLES = tuple(product(("linear", "sine"), (2, 5, 10, 20)))
TAILS = tuple(product(KINDS, (2, 10)))


def fitted(X: np.ndarray) -> bsvdd.BSVDD:
    """Return a fit with a quarter of the draws."""
    with quietly():
        return bsvdd.BSVDD(**SMALL).fit(X)


def table(relation: str, p: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows of p columns x and of y, whose mean has variance 1 over x."""
    x = rng.normal(size=(n, p))
    mean = x.sum(axis=1) / np.sqrt(p) if relation == "linear" else 2**0.5 * np.sin(2.0 * x[:, 0])
    return np.column_stack([x, mean + NOISE * rng.normal(size=n)])


def given_cell(relation: str, p: int, n: int = 300, m: int = 1000) -> dict[str, Any]:
    """Return what is found of shifted rows, and the false alarms, by both p-values."""
    rng = np.random.default_rng([p, n])
    est, Z = fitted(table(relation, p, n, rng)), table(relation, p, 2 * m, rng)
    Z[:m, -1] += SHIFT * NOISE * rng.choice([-1.0, 1.0], m)
    cell: dict[str, Any] = {"relation": relation, "columns": p, "n": n}
    for name, p_value in (
        ("joint", bsvdd.p_value(est, Z)),
        ("given", bsvdd.given(est, Z, range(p))),
    ):
        flagged = p_value <= RATE
        cell |= {f"{name} found": flagged[:m].mean(), f"{name} false": flagged[m:].mean()}
    return cell


def given(chosen: Namespace) -> list[dict[str, Any]]:
    """Return the results of the 8 tables."""
    return computed(given_cell, TABLES, chosen.jobs, "given")


@quietly()
def both_tails(est: bsvdd.BSVDD, Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the p-values of the package, those of maximum likelihood, and that of the check."""
    left_out = -fold_of(est.fit_, "left-out").left_out
    fitted_tail = Tail.of(left_out)
    surprise, k = -est.score_samples(Z), len(fitted_tail.excesses)
    shape, _, scale = genpareto.fit(fitted_tail.excesses, floc=0.0)
    beyond = genpareto.sf(surprise - fitted_tail.threshold, shape, scale=scale)
    plugged = np.where(surprise > fitted_tail.threshold, beyond * (k + 1) / (len(left_out) + 1), 1)
    return bsvdd.p_value(est, Z, tail="pareto"), plugged, fitted_tail.check


@quietly()
def tail_cell(kind: str, p: int, repetition: int) -> dict[str, Any]:
    """Return realised rates beyond the sample, and discoveries in a batch."""
    rng = np.random.default_rng([repetition, p, KINDS.index(kind)])
    est, Z = fitted(rows(kind, 200, p, rng)), rows(kind, 20_000, p, rng)
    predictive, plugged, check = both_tails(est, Z)
    batch = Z[:10_000].copy()
    batch[:20] += 6.0 * Z.std(axis=0)
    cell: dict[str, Any] = {"kind": kind, "columns": p, "check": check}
    for name, q in (("predictive", predictive), ("plugged in", plugged)):
        cell[name] = [float((q <= rate).mean()) for rate in RATES]
    for tail in ("rank", "pareto"):
        found = bsvdd.select(est, batch, 0.1, tail=tail)
        cell[f"{tail} fdp"] = float(found[20:].sum() / max(1, found.sum()))
        cell[f"{tail} power"] = float(found[:20].mean())
    return cell


def tail(chosen: Namespace) -> list[dict[str, Any]]:
    """Return means over repetitions."""
    waiting = [(*each, r) for each in TAILS for r in range(25)]
    frame = pd.DataFrame(computed(tail_cell, waiting, chosen.jobs, "tail"))
    frame["check"] = frame["check"] <= DOUBTFUL
    for name in ("predictive", "plugged in"):
        frame[[f"{name} {rate:g}" for rate in RATES]] = frame.pop(name).tolist()
    return frame.groupby(["kind", "columns"]).mean().reset_index().to_dict("records")


# pictures


def draw_given() -> plt.Figure:
    """Draw rows of one table, and both p-values of the same shifted rows."""
    rng = np.random.default_rng(0)
    X, Z = table("sine", 1, 300, rng), table("sine", 1, 40, rng)
    Z[:, -1] += SHIFT * NOISE * rng.choice([-1.0, 1.0], len(Z))
    est = fitted(X)
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
    for ax, title, p in zip(
        axes,
        ("the joint p-value", "the p-value of y given x"),
        (bsvdd.p_value(est, Z), bsvdd.given(est, Z, [0])),
        strict=True,
    ):
        ax.plot(*X.T, ".", color="#bbbbbb", markersize=4, label="training rows")
        for found, color, label in ((True, "C3", "p ≤ .10"), (False, "C0", "p > .10")):
            ax.plot(*Z[(p <= RATE) == found].T, "o", color=color, markersize=5, label=label)
        ax.set(xlabel="x", title=f"{title}: {(p <= RATE).sum()} of {len(Z)} shifted rows")
    axes[0].set_ylabel("y")
    axes[0].legend(fontsize=8)
    return figure


def draw_tail(fits: int = 20) -> plt.Figure:
    """Draw the share of new normal rows with p <= each rate, for fits to 200 rows."""
    asked, shares = np.geomspace(1e-4, 0.1, 60), []
    for number in range(fits):
        rng = np.random.default_rng(number)
        est, Z = fitted(rows("normal", 200, 2, rng)), rows("normal", 50_000, 2, rng)
        p = (bsvdd.p_value(est, Z), *both_tails(est, Z)[:2])
        shares.append([(np.sort(each)[:, None] <= asked).mean(axis=0) for each in p])
    figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
    names = ("rank", "generalised Pareto, predictive", "generalised Pareto, plugged in")
    for i, (name, color) in enumerate(zip(names, ("C0", "C1", "#999999"), strict=True)):
        ax.plot(asked, np.mean(shares, axis=0)[i], color=color, linewidth=2, label=name)
        if i == 1:
            ax.plot(asked, np.array(shares)[:, i].T, color=color, linewidth=0.4, alpha=0.6)
    ax.plot(asked, asked, "--", color="#333333", linewidth=1)
    ax.axvline(1 / 201, color="#333333", linestyle=":", linewidth=1)
    ax.set(xscale="log", yscale="log", ylim=(1e-5, 0.2), xlabel="asked")
    ax.set_ylabel("share of new normal rows with p ≤ asked")
    ax.legend(fontsize=8, loc="upper left")
    return figure


def pictures(chosen: Namespace) -> None:
    """Draw the two pictures."""
    for name, draw in (("given", draw_given), ("tail", draw_tail)):
        write(chosen.out / f"{name}.png", draw())


if __name__ == "__main__":
    by_part("questions", __doc__, (given, tail, pictures))
