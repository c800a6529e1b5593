"""Guidelines: which model for which situation, as tables with a verdict in each row.

Over many settings models are ranked (Friedman's and Nemenyi's tests); over the replicates of one
setting they are compared by paired differences. The verdict counts the models that the test does
not tell apart from the best one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...estimators.doubts import MAX_R_HAT
from ...estimators.registry import REGISTRY
from ...models.priors import describe
from ..run.protocol import PRIORS, Candidate
from ..run.studies import Plan
from ..scenarios.scenario import Scenario
from .paired import Ranking, lead, rank, scenario_means
from .table import heat_map, model_rows

METRICS = {"g_mean": "G-mean", "auc": "AUC"}
MARGIN = 0.02  # of G-mean within which a faster model is named
FEW = 3  # with fewer blocks nothing is tested: an interval would have one degree of freedom
HIGH = f"R-hat above {MAX_R_HAT}"


def sections(plan: Plan, results: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables with their verdicts, by title.

    Parameters
    ----------
    plan : Plan
    results : dict
        Results of each study of the plan, by name.
    """
    main = model_rows(results[plan.main.name])
    labelled = labelled_rows(plan, main)
    kernels = {name: REGISTRY[name].parameters["kernel"] for name in REGISTRY}
    return {
        "Over all settings": overall(labelled),
        "One class: models and yardsticks": one_class(labelled, plan.main.candidates),
        "What labels are worth": labels(labelled, plan.main.candidates),
        **{
            f"Situation: {factor}": situation(levels, main)
            for factor, levels in plan.design.items()
        },
        "Time": cost(labelled),
        "Priors": defaults(
            model_rows(results[plan.priors.name]), plan.priors.candidates, default_prior
        ),
        "Bandwidths": defaults(
            model_rows(results[plan.bandwidths.name]),
            plan.bandwidths.candidates,
            lambda model: str(kernels[model].kernel.bandwidth),
        ),
        "Can the fits be trusted": reliability(
            pd.concat([model_rows(table) for table in results.values()])
        ),
    }


def labelled_rows(plan: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of scenarios with labelled minority rows, which all models can use."""
    return rows[rows["data"].isin([s.name for s in plan.main.scenarios if s.labelled])]


def verdict(same: Sequence[str], others: int) -> str:
    """Return how many of the ``others`` are not told apart from the best: ``same``."""
    if not others:
        return "no other model"
    if not same:
        return "best alone"
    return "none told apart" if len(same) == others else f"as good: {len(same)} of {others}"


def _by_ranks(results: pd.DataFrame, metric: str, larger: bool = True) -> dict[str, Any]:
    """Return the row of a ranking, with its effects; if there is none, the row says why."""
    try:
        ranking = rank(results, metric, larger)
    except ValueError as error:
        return {"verdict": f"not ranked: {error}"}
    same = ranking.indistinguishable(ranking.best)
    n, k = ranking.values.shape
    return {
        "best": ranking.best,
        "mean rank": ranking.ranks.iloc[0],
        "settings": n,
        "models": k,
        "p (Friedman)": ranking.pvalue,
        "Kendall's W": ranking.agreement,
        "not told apart": ", ".join(same),
        "not ranked": ", ".join(ranking.incomplete),
        "verdict": verdict(same, k - 1),
        "effects": ranking.effects(),
    }


def _table(rows: dict[str, dict[str, Any]]) -> pd.DataFrame:
    table = pd.DataFrame.from_dict(rows, orient="index").drop(columns="effects", errors="ignore")
    return table[[c for c in table if c != "verdict"] + ["verdict"]]


def overall(results: pd.DataFrame) -> pd.DataFrame:
    """Return how the models rank over all scenarios with labelled minority rows."""
    rows = {title: _by_ranks(results, metric) for metric, title in METRICS.items()}
    return _table({**rows, "Brier score of P(abnormal)": _by_ranks(results, "brier", False)})


def one_class(results: pd.DataFrame, candidates: list[Candidate]) -> pd.DataFrame:
    """Return how one-class models and yardsticks rank, and whether a yardstick is enough."""
    simple = [c.name for c in candidates if c.is_yardstick]
    names = [c.name for c in candidates if c.is_yardstick or not c.needs_minority]
    rows = {}
    for metric, title in METRICS.items():
        row = rows[title] = _by_ranks(results[results["model"].isin(names)], metric)
        if "best" in row:
            enough = {row["best"], *row["not told apart"].split(", ")} & set(simple)
            row["verdict"] += f"; {'a' if enough else 'no'} yardstick is as good"
    return _table(rows)


def labels(results: pd.DataFrame, candidates: list[Candidate]) -> pd.DataFrame:
    """Return the gain by labelled minority rows: the best model of each kind, by AUC."""
    learns = {c.name: c.needs_minority for c in candidates}
    values = results.pivot_table("auc", "data", "model", "mean", sort=False).astype(float)
    with_, without = (
        values[[m for m in values if learns[str(m)] is wanted]] for wanted in (True, False)
    )
    both = with_.notna().any(axis=1) & without.notna().any(axis=1)
    if not both.any():
        return pd.DataFrame({"verdict": ["no setting has results of both kinds"]})
    with_, without = with_[both], without[both]
    table = pd.DataFrame(
        {
            "best that learns from minority rows": with_.idxmax(axis=1),
            "its AUC": with_.max(axis=1),
            "best one-class model": without.idxmax(axis=1),
            "AUC of that": without.max(axis=1),
        }
    )
    gain = table["gain"] = table["its AUC"] - table["AUC of that"]
    row = {
        "settings": len(gain),
        "with gain": int((gain > 0).sum()),
        "median gain": gain.median(),
        "smallest": f"{gain.min():+.3f} ({gain.idxmin()})",
        "largest": f"{gain.max():+.3f} ({gain.idxmax()})",
        "verdict": "labels help" if gain.median() > 0 else "labels do not help",
    }
    return pd.DataFrame([row], ["AUC"])


def situation(design: dict[str, list[Scenario]], results: pd.DataFrame) -> pd.DataFrame:
    """Return the best model at each level of a factor.

    Blocks are the replicates of the scenario of a level, or the means of its several scenarios.

    Parameters
    ----------
    design : dict
        The scenarios of each level.
    results : pandas.DataFrame
        Rows of models, without the trivial rules.
    """
    rows: dict[str, dict[str, Any]] = {}
    for level, scenarios in design.items():
        mine = results[results["data"].isin([s.name for s in scenarios])]
        block = "replicate" if len(scenarios) == 1 else "data"
        g_mean, auc = (
            mine.pivot_table(metric, block, "model", "mean", sort=False, dropna=False)
            for metric in METRICS
        )
        if not g_mean.dropna(axis=1).shape[1]:
            continue
        best = lead(g_mean.astype(float))
        by_auc = auc.astype(float).mean()
        same = best.indistinguishable
        rows[level] = {
            "best": best.best,
            "G-mean": best.mean,
            "blocks": f"{best.blocks} {'settings' if block == 'data' else 'replicates'}",
            "not told apart": "" if best.blocks < FEW else ", ".join(same),
            "best by AUC": by_auc.idxmax() if by_auc.notna().any() else "",
            "AUC": by_auc.max(),
            "verdict": "too few to test" if best.blocks < FEW else verdict(same, len(best.others)),
        }
    return _table(rows) if rows else pd.DataFrame({"verdict": ["no result"]})


def cost(results: pd.DataFrame) -> pd.DataFrame:
    """Return the time that the models take, and the fastest model near the best.

    The mean G-mean is over scenarios; a model without a result in some scenario has none.
    """
    table = results.groupby("model", sort=False).agg(
        **{
            "median fit, s": ("fit_seconds", "median"),
            "longest fit, s": ("fit_seconds", "max"),
            "median scoring, s": ("score_seconds", "median"),
        }
    )
    table["mean G-mean"] = scenario_means(results, "g_mean").mean(skipna=False)
    table = table.sort_values("mean G-mean", ascending=False, kind="stable")
    near = table.dropna()
    near = near[near["mean G-mean"] >= near["mean G-mean"].max() - MARGIN]
    table["verdict"] = ""
    table.loc[near.index, "verdict"] = f"within {MARGIN} of the best"
    if len(near):
        table.loc[near["median fit, s"].idxmin(), "verdict"] += ", the fastest of these"
    return table


def defaults(
    results: pd.DataFrame, candidates: list[Candidate], default_of: Callable[[str], str]
) -> pd.DataFrame:
    """Return, for each model, how its default ranks among the other choices.

    The verdict is "replace" for a model whose default Nemenyi's test finds worse by each metric.

    Parameters
    ----------
    results : pandas.DataFrame
        Rows of the candidates, without the trivial rules.
    candidates : list of Candidate
        Each has a ``choice``.
    default_of : callable
        Takes the name of a model and returns the choice that is its default.
    """
    rows: dict[str, dict[str, Any]] = {}
    present = set(results["model"])
    for model in dict.fromkeys(c.model for c in candidates if c.name in present):
        choices = {c.name: c.choice for c in candidates if c.model == model}
        mine = results[results["model"].isin(choices)].replace({"model": choices})
        own, default = {}, default_of(model)
        for metric, title in METRICS.items():
            row = own[f"{model}, {title}"] = _by_ranks(mine, metric) | {"default": default}
            if "best" not in row:
                continue
            if default not in row["effects"].index:
                row["verdict"] = f"{default} was not tried"
                continue
            row["its difference"] = row["effects"].loc[default, "median difference to the best"]
            as_good = default in row["not told apart"].split(", ")
            row["verdict"] = "best" if row["best"] == default else "keep" if as_good else "worse"
        if all(row["verdict"] == "worse" for row in own.values()):
            own = {name: row | {"verdict": "replace"} for name, row in own.items()}
        rows |= own
    return _table(rows)


def default_prior(model: str) -> str:
    """Return the name of a model's default prior among those compared, or what it is."""
    prior = REGISTRY[model].parameters["prior"]
    return next((name for name, each in PRIORS.items() if each == prior), describe(prior))


def reliability(results: pd.DataFrame) -> pd.DataFrame:
    """Return how many fits failed, and in how many the chains disagree."""
    by_model = results.assign(
        failed=results["error"] != "", high=results["r_hat"] > MAX_R_HAT
    ).groupby("model", sort=False)
    table = by_model.agg(
        **{
            "fits": ("failed", "size"),
            "failed": ("failed", "sum"),
            HIGH: ("high", "sum"),
            "largest R-hat": ("r_hat", "max"),
            "median effective support": ("effective_support", "median"),
        }
    )
    failed = table["failed"].map(lambda n: f"{n:.0f} failed" if n else "")
    high = table[HIGH].map(lambda n: f"chains of {n:.0f} disagree" if n else "")
    words = (failed + ", " + high).str.strip(", ").replace("", "trusted")
    return table.assign(verdict=words)


def text(tables: dict[str, pd.DataFrame]) -> str:
    """Return the tables as text."""
    shown = (
        f"{title}\n\n{table.to_string(float_format='{:.3f}'.format, na_rep='-')}"
        for title, table in tables.items()
    )
    return "\n\n".join(shown)


# pictures


def critical_difference(ranking: Ranking) -> Figure:
    """Show mean ranks; a bar joins models that do not differ significantly."""
    from scikit_posthocs import critical_difference_diagram

    k = len(ranking.ranks)
    figure, ax = plt.subplots(figsize=(8, 1.2 + 0.22 * k), layout="constrained")
    critical_difference_diagram(
        ranking.ranks,
        ranking.nemenyi,
        ax=ax,
        label_fmt_left="{label} ({rank:.1f})",
        label_fmt_right="({rank:.1f}) {label}",
    )
    return figure


def overview(results: pd.DataFrame) -> Figure:
    """Show the mean G-mean, scenarios x models."""
    values = scenario_means(results, "g_mean")
    size = 3.0 + 0.42 * values.shape[1], 1.6 + 0.26 * len(values)

    def said(value: float) -> str:
        return "" if np.isnan(value) else f"{value:.2f}".removeprefix("0")

    figure, ax = heat_map(values, size, said, cmap="viridis", vmin=0, vmax=1)
    figure.colorbar(ax.images[0], ax=ax, label="G-mean", shrink=0.6)
    return figure
