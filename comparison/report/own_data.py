"""The page of ``bsvdd compare``: who won on the user's own data, pictures, warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...estimators import plots
from ...estimators.as_published import CALLS, as_published
from ...estimators.plots.common import MAJORITY, MINORITY, PRIOR, figure_of
from ..run.cell import TRIVIAL, kind_of, replicate_pair, replicate_seed
from ..run.protocol import Candidate, Protocol
from ..run.runner import Study
from ..run.yardsticks import YARDSTICKS
from ..scenarios.datasets import Dataset, moon
from ..scenarios.scenario import Real, halves
from .paired import Lead, lead
from .table import Figures, model_rows, summary, write_page

METRICS = {"auc": "AUC", "g_mean": "G-mean"}
PICTURED = ("SVDD", "BDD", "BSVDD", "BSVDD-M")  # as in the slides of Kim (2024); with the best
HALVES = 1.0  # rows that test, for each row that trains
SAME = 0.01  # difference of FPR and of FNR in each half, up to which models decide alike
WHY = {
    ("SVDD", "OCSVM"): "SVDD and OCSVM are one problem for a kernel with constant k(z, z), as here "
    "(Schoelkopf et al. 2001)",
    ("SVDD", "SVDD-M"): "SVDD-M is SVDD where no minority row lies within the sphere",
    ("BDD", "BSVDD"): "the default priors of BDD and BSVDD both weigh the rows equally on average",
}
UNADJUSTED = (
    "The intervals are not adjusted for the number of models: among many, some exclude 0 by chance."
)


# in words


def winners(results: pd.DataFrame) -> dict[str, Lead]:
    """Return the best model of one data set by each metric, with the paired differences to it.

    Parameters
    ----------
    results : pandas.DataFrame
        The rows of one data set.

    Returns
    -------
    dict
        By the title of the metric. One without a value, as when all fits failed, is not there.
    """
    fitted = model_rows(results)
    found = {}
    for metric, title in METRICS.items():
        blocks = fitted.pivot_table(metric, "replicate", "model", sort=False, dropna=False)
        if blocks.dropna(axis=1).shape[1]:
            found[title] = lead(blocks.astype(float), HALVES)
    return found


def sentence(title: str, best: Lead) -> str:
    """Return which model is best by a metric, and what it is told apart from."""
    as_good = best.indistinguishable
    worse = [m for m in best.others.index if m not in as_good]
    if not len(best.others):
        apart = ""
    elif best.blocks < 2:
        apart = " One half says nothing of the differences to the others; use more replicates."
    elif not worse:
        apart = " It is told apart from no other model: its lead may be chance."
    elif not as_good:
        apart = " It is told apart from all other models."
    else:
        apart = (
            f" It is told apart from {', '.join(worse)}; it is not told apart from "
            f"{', '.join(as_good)}."
        )
    over = f"on average over {best.blocks} halves" if best.blocks > 1 else "in one half"
    return f"By {title}, {best.best} is best: {best.mean:.3f} {over}.{apart}"


def ordered(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with the models of each data set by their mean AUC, and rules at the end.

    A model of which some fits failed stands after those that have a mean of all halves.
    """
    auc = results.groupby(["data", "model"], sort=False)["auc"]
    failed = results["error"].ne("").groupby([results["data"], results["model"]]).transform("any")
    is_rule = results["model"].isin(TRIVIAL)
    keys = [-auc.transform("mean"), failed, is_rule, pd.factorize(results["data"])[0]]
    return results.iloc[np.lexsort(keys)]


def same_decisions(results: pd.DataFrame) -> list[str]:
    """Return sentences on models whose rows of one data set are nearly equal, and why."""
    fitted = model_rows(results[results["error"] == ""])
    rates = fitted.pivot_table(["fpr", "fnr"], "model", "replicate", sort=False).dropna()
    values, names = rates.to_numpy(), list(rates.index)
    near = np.abs(values[:, None] - values).max(axis=2) <= SAME
    return alike(pd.DataFrame(near, names, names))


def alike(near: pd.DataFrame) -> list[str]:
    """Return sentences on groups of models that decide alike, and why those that are known do.

    Parameters
    ----------
    near : pandas.DataFrame of bool
        Models x models.
    """
    lines: list[str] = []
    rest = list(near.index)
    while rest:
        group = [m for m in rest if near.at[rest[0], m]]
        rest = [m for m in rest if m not in group]
        if len(group) > 1:
            why = "; ".join(text for pair, text in WHY.items() if set(pair) <= set(group))
            names = f"{', '.join(group[:-1])} and {group[-1]}"
            lines.append(f"{names} decide alike{why and f': {why}'}.")
    return lines


def warnings_of(fitted: pd.DataFrame) -> list[str]:
    """Return each warning once per model, with its count; warnings may differ in their numbers."""
    first: dict[tuple[str, str], str] = {}
    count: Counter[tuple[str, str]] = Counter()
    for model, error, notes in zip(*(fitted[c] for c in ("model", "error", "notes")), strict=True):
        for note in filter(None, [error and f"failed: {error}", *notes.split("\n")]):
            kind = (model, kind_of(note))
            first.setdefault(kind, note)
            count[kind] += 1
    return [f"{model} ({n} x): {first[model, kind]}" for (model, kind), n in count.items()]


# the page


def write(
    folder: Path,
    results: pd.DataFrame,
    study: Study,
    figures: Figures,
    published: bool = False,
    notes: Sequence[str] = (),
) -> Path:
    """Write report.html and the figures as PNG into ``folder``; return the report.

    ``published`` says that each model is as its source has it, and not under the protocol.
    ``notes`` say what else differs from the defaults. Each file is written whole or not at all.
    """
    results = ordered(results)
    table = summary(results)
    sections = [
        _section(k, data, table, results[results["data"] == data.name])
        for k, data in enumerate(study.data, 1)
    ]
    models = results["model"].unique() if published else ()
    return write_page(
        folder,
        "report.html",
        "report.html",
        figures,
        study=study,
        sections=sections,
        sentence=sentence,
        unadjusted=UNADJUSTED,
        yardsticks=YARDSTICKS,
        publications={name: repr(as_published(name)) for name in models if name in CALLS},
        notes=notes,
    )


def _section(k: int, data: Dataset, table: pd.DataFrame, mine: pd.DataFrame) -> dict[str, Any]:
    """Return what the page says of data set k, from the rows of its results."""
    fitted = model_rows(mine)
    behind = {"fit_seconds": "median", "r_hat": "max", "ess": "median"}
    behind |= {"effective_support": "median"}
    columns = fitted.columns.union(list(behind), sort=False)  # no model may have chains
    by_model = fitted.reindex(columns=columns).groupby("model", sort=False)
    return {
        "data": data,
        "table": table.loc[data.name],
        "diagnostics": by_model.agg(behind),
        "warnings": warnings_of(fitted),
        "winners": winners(mine),
        "alike": same_decisions(mine),
        "figures": [f"{kind}_{k}" for kind in ("differences", "roc", "distances")],
    }


# pictures


def pictures(study: Study, results: pd.DataFrame) -> Figures:
    """Return the figures of each data set, from the first half of the comparison.

    Parameters
    ----------
    study : Study
        The comparison.
    results : pandas.DataFrame
        Its results.

    Returns
    -------
    dict
        ``differences_1``, ``roc_1`` and ``distances_1`` of the first data set, and so on.
    """
    figures: Figures = {}
    for k, data in enumerate(study.data, 1):
        mine = results[results["data"] == data.name]
        found = winners(mine)
        if not found:
            continue
        best = found[next(iter(found))]
        if best.blocks > 1 and len(best.others):
            figures[f"differences_{k}"] = (
                plot_differences(found),
                f"{data.name}: differences to the best model on the same halves, with 95 % "
                "intervals. An interval that includes 0 does not tell the two models apart. "
                f"{UNADJUSTED}",
            )
        first = mine[(mine["replicate"] == 0) & (mine["error"] == "")]["model"].tolist()
        names = [name for name in dict.fromkeys((best.best, *PICTURED)) if name in first]
        figures |= {f"{kind}_{k}": each for kind, each in _of_half(study, data, names).items()}
    return figures


def _of_half(study: Study, data: Dataset, names: list[str]) -> Figures:
    """Return the figures of the named models on the first test half of a data set."""
    special = {candidate.name: candidate for candidate in study.candidates}
    seed, pair = replicate_seed(0, study.seed), replicate_pair(Real(data), 0, study.seed)
    protocol, train = study.protocol.for_data(data), pair.train
    fitted: dict[str, Any] = {
        name: protocol.fit(special[name], train.X, train.minority, seed)[0] for name in names
    }
    y = pair.test.minority.astype(int)
    roc = (
        figure_of(plots.plot_roc(fitted, pair.test.X, y)),
        f"{data.name}: the {len(y)} rows of the first test half, by the best model and by the "
        "models of this package. Positive means minority, abnormal.",
    )
    central = [model for model in ("BSVDD", *fitted) if hasattr(fitted.get(model), "distance")]
    if not central:
        return {"roc": roc}
    numbers = halves(data, seed)[1]
    order = np.argsort(numbers)
    ids = (np.arange(len(data.X)) if data.row_names is None else data.row_names)[numbers]
    rows, labels, shown = pair.test.X[order], y[order], ids[order].tolist()
    distances = (
        figure_of(plots.plot_distances(fitted[central[0]], rows, labels, names=shown)),
        f"{data.name}: the surprise of each row of the first test half by {central[0]}, with a "
        "90 % interval; 0 is the cutoff. A row has its id in your file, or its number from 0.",
    )
    return {"roc": roc, "distances": distances}


def plot_differences(found: dict[str, Lead]) -> Figure:
    """Show the paired differences of all models to the best one, one panel for each metric."""
    most = max(len(each.others) for each in found.values())
    size = 4.8 * len(found), 1.5 + 0.27 * most
    figure, axes = plt.subplots(1, len(found), figsize=size, squeeze=False, layout="constrained")
    for ax, (title, each) in zip(axes[0], found.items(), strict=True):
        others = each.others
        place = np.arange(len(others))
        colors = list(np.where(others["significant"], MINORITY, MAJORITY))
        ax.hlines(place, others["low"], others["high"], color=colors, linewidth=2)
        ax.scatter(others["difference"], place, color=colors, s=26, zorder=3)
        ax.axvline(0.0, color=PRIOR, linewidth=1)
        ax.set_yticks(place, list(others.index), parse_math=False)
        ax.set_ylim(len(others) - 0.5, -0.5)
        ax.xaxis.set_major_locator(MaxNLocator(5))
        ax.set(xlabel=f"{title} minus that of {each.best}", title=f"{title}: {each.best} is best")
    return figure


def example(protocol: Protocol, seed: int = 0, candidates: Sequence[Candidate] = ()) -> Figures:
    """Return the figures of a two-dimensional data set: {file name: (figure, caption)}.

    ``candidates`` may give the pictured models other parameters than their defaults.
    """
    data = moon(seed=seed)
    y = data.minority.astype(int)
    special = {candidate.name: candidate for candidate in candidates}
    fitted: dict[str, Any] = {
        name: protocol.estimator(special.get(name, name), seed).fit(data.X, y) for name in PICTURED
    }
    bayes = fitted["BSVDD"]
    surprise = bayes.decision()["surprise"].to_numpy()
    central, border, remote = surprise.argmin(), np.abs(surprise).argmin(), surprise.argmax()
    names = ["most central row", "row nearest to the cutoff", "most remote row"]
    return {
        "boundary": (
            figure_of(plots.plot_boundary(fitted, data.X, y)),
            "P(normal | data) over the plane, with the decision boundary (line) of each model. "
            "It counts the uncertainty of the cutoff, of rows that the sample has not shown, and "
            "of the centre where it has a posterior; that of SVDD has none. "
            f"{len(y)} rows, {int(y.sum())} of them minority.",
        ),
        "margin": (
            figure_of(plots.plot_margin(bayes, data.X[[central, border, remote]], names)),
            "BSVDD: the draws of D_opt - d_z, by how much three rows lie within the cutoff. The "
            "area right of 0 is P(normal); a row is normal when it exceeds .5.",
        ),
        "distances": (
            figure_of(plots.plot_distances(bayes)),
            "BSVDD: the surprise of each training row, with a 90 % interval. It is 0 at the "
            "cutoff, which was chosen on left-out rows, and .69 for a row half as similar.",
        ),
        "weights": (
            figure_of(plots.plot_weights(fitted["BSVDD-M"])),
            "BSVDD-M: the largest weights (median, 50 % and 90 % intervals). Minority rows weigh "
            "negatively: they push the centre away.",
        ),
    }
