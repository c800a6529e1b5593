"""The page of ``bsvdd compare``: tables, warnings and pictures in one HTML file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...estimators import plots
from ...estimators.as_published import PUBLICATIONS
from ...estimators.registry import MODELS, YARDSTICKS
from ..run.protocol import Candidate, Protocol
from ..scenarios.datasets import Dataset, moon
from . import own_data, pages
from .pages import Figures
from .table import summary

PICTURED = ["SVDD", "BDD", "BSVDD", "BSVDD-M"]  # side by side, as in the slides of Kim (2024)
NUMBER = re.compile(r"[\d.]+(e[-+]\d+)?")
MOON = ("boundary", "distance_posterior", "distances", "calibration", "weights")


def pictures(
    protocol: Protocol, seed: int = 0, candidates: list[Candidate] | None = None
) -> Figures:
    """Return the figures of a two-dimensional data set: {file name: (figure, caption)}.

    ``candidates`` may give the pictured models other parameters than their defaults.
    """
    data = moon(seed=seed)
    y = data.minority.astype(int)
    special = {candidate.name: candidate for candidate in candidates or []}
    fitted: dict[str, Any] = {
        name: protocol.estimator(special.get(name, name), seed).fit(data.X, y) for name in PICTURED
    }
    bayes = fitted["BSVDD"]
    surprise = bayes.decision(data.X, p_value=None)["surprise"].to_numpy()
    central, border, remote = surprise.argmin(), np.abs(surprise).argmin(), surprise.argmax()
    names = ["most central row", "row nearest to the cutoff", "most remote row"]
    return {
        "boundary": (
            plots.plot_boundary(fitted, data.X, y),
            "P(normal | data) over the plane, with the decision boundary (line) of each model. "
            "It counts the uncertainty of the cutoff, of rows that the sample has not shown, and "
            "of the centre where it has a posterior; that of SVDD has none. "
            f"{len(y)} rows, {int(y.sum())} of them minority.",
        ),
        "distance_posterior": (
            plots.plot_distance_posterior(bayes, data.X[[central, border, remote]], names),
            "BSVDD: the posterior of the distance from the centre for three rows, and the cutoff. "
            "P(normal) counts the uncertainty of the cutoff too; a row is normal when it exceeds "
            ".5.",
        ),
        "distances": (
            plots.plot_distances(bayes),
            "BSVDD: the surprise of each training row, with a 90 % interval. It is 0 at the "
            "cutoff, which was chosen on left-out rows, and .69 for a row half as similar.",
        ),
        "calibration": (
            plots.plot_calibration(fitted, moon(n0=1000, n1=1, seed=seed + 1).X[:1000]),
            "p-values of 1,000 new normal rows: the realised false alarms of a cutoff for each "
            "asked rate. Lines within the band keep their promise as far as these rows can tell.",
        ),
        "weights": (
            plots.plot_weights(fitted["BSVDD-M"]),
            "BSVDD-M: the largest weights (median, 50 % and 90 % intervals). Minority rows weigh "
            "negatively: they push the centre away.",
        ),
    }


def write(
    folder: Path,
    results: pd.DataFrame,
    data: list[Dataset],
    protocol: Protocol,
    seed: int,
    figures: Figures,
    published: bool = False,
    notes: Sequence[str] = (),
) -> Path:
    """Write report.html and the figures as PNG into ``folder``; return the report.

    ``published`` says that each model is as its source has it, and not under the protocol.
    ``notes`` say what else differs from the defaults. Each file is written whole or not at all.
    """
    results = own_data.ordered(results)
    table = summary(results)
    return pages.write(
        folder,
        "report.html",
        "report.html",
        figures,
        protocol=protocol,
        seed=seed,
        yardsticks=list(YARDSTICKS),
        notes=list(notes),
        publications=[
            (name, PUBLICATIONS[name])
            for name in results["model"].unique()
            if published and name in PUBLICATIONS
        ],
        replicates=int(results["replicate"].max()) + 1,
        sections=[_section(k, each, table, results) for k, each in enumerate(data, 1)],
        pictured=list(MOON),
    )


def _section(
    k: int, data: Dataset, table: pd.DataFrame, results: pd.DataFrame
) -> dict[str, object]:
    mine = results[results["data"] == data.name]
    fitted = mine[mine["model"].isin(list(MODELS))]
    behind = {"fit_seconds": "median", "r_hat": "max", "ess": "median"}
    behind |= {"effective_support": "median"}
    columns = fitted.columns.union(list(behind), sort=False)  # no model may have chains
    return {
        "data": data,
        "n1": int(data.minority.sum()),
        "table": table.loc[data.name],
        "diagnostics": fitted.reindex(columns=columns).groupby("model", sort=False).agg(behind),
        "warnings": warnings_of(fitted),
        "winners": own_data.winners(mine),
        "alike": own_data.same_decisions(mine),
        "figures": [f"{kind}_{k}" for kind in ("differences", "roc", "distances")],
    }


def warnings_of(fitted: pd.DataFrame) -> list[str]:
    """Return each warning once per model, with its count; warnings may differ in their numbers."""
    first: dict[tuple[str, str], str] = {}
    count: Counter[tuple[str, str]] = Counter()
    for model, error, notes in zip(*(fitted[c] for c in ("model", "error", "notes")), strict=True):
        for note in filter(None, [error and f"failed: {error}", *notes.split("\n")]):
            kind = (model, NUMBER.sub("#", note))
            first.setdefault(kind, note)
            count[kind] += 1
    return [f"{model} ({n} x): {first[model, kind]}" for (model, kind), n in count.items()]
