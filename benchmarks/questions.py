"""A question to a fit: what lies beyond the sample.

``uv run python -m benchmarks.questions [--part NAME ...]``

- ``tail``: share of new normal rows with p <= .01, .001, .0001 by ``tail="pareto"``, after fits of
  200 rows, beside the same with estimates of maximum likelihood; and false discovery rate and power
  of ``select`` in batches of 10,000 rows, 20 of which are 6 sd off in each column.

Results go to docs/questions.json, and a picture beside it shows them.
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
TAILS = tuple(product(KINDS, (2, 10)))


def fitted(X: np.ndarray) -> bsvdd.BSVDD:
    """Return a fit with a quarter of the draws."""
    with quietly():
        return bsvdd.BSVDD(**SMALL).fit(X)


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
    """Draw the picture."""
    write(chosen.out / "tail.png", draw_tail())


if __name__ == "__main__":
    by_part("questions", __doc__, (tail, pictures))
