"""Findings by situation: the best model at each level of a factor, and how the best changes."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from ..scenarios.designs import Design
from ..scenarios.scenario import Scenario
from .findings import Finding, listed
from .paired import Lead, lead

FEW = 3  # with fewer blocks nothing is tested: an interval would have one degree of freedom


@dataclass(frozen=True, eq=False)
class _Level:
    """The results of one level of a factor.

    Its blocks are the replicates of one scenario, or the means of several scenarios.
    """

    name: str
    g_mean: pd.DataFrame  # blocks x models
    auc: pd.Series  # mean over blocks, by model
    lead: Lead
    unit: str


def situations(design: Design, results: pd.DataFrame) -> dict[str, list[Finding]]:
    """Return, for each factor, the best model at each of its levels, and how the best changes.

    Parameters
    ----------
    design : dict
        The scenarios of each level of each factor.
    results : pandas.DataFrame
        Rows of models, without the trivial rules.
    """
    findings = {}
    for factor, members in design.items():
        levels = [
            level
            for name, scenarios in members.items()
            if (level := _level(name, scenarios, results)) is not None
        ]
        change = [_change(factor, levels)] if len(levels) > 1 else []
        findings[factor] = change + [_best_at(factor, level) for level in levels]
    return findings


def _level(name: str, scenarios: list[Scenario], results: pd.DataFrame) -> _Level | None:
    """Return the level, or None if no model has a result in each of its blocks."""
    mine = results[results["data"].isin([s.name for s in scenarios])]
    block, unit = ("replicate", "replicates") if len(scenarios) == 1 else ("data", "settings")
    g_mean, auc = (
        mine.pivot_table(metric, block, "model", "mean", sort=False, dropna=False).astype(float)
        for metric in ("g_mean", "auc")
    )
    if not g_mean.dropna(axis=1).shape[1]:
        return None
    return _Level(name, g_mean, auc.mean().rename("AUC"), lead(g_mean), unit)


def _best_at(factor: str, level: _Level) -> Finding:
    best = level.lead
    sentence = (
        f"{factor.capitalize()}, {level.name}: {best.best} has the highest mean G-mean, "
        f"{best.mean:.3f} over {best.blocks} {level.unit}."
    )
    if best.blocks < FEW:
        sentence += f" Too few {level.unit} to test differences."
    else:
        sentence += _significance(best)
    ranked = level.auc.dropna().sort_values(ascending=False, kind="stable")
    if len(ranked) and ranked.index[0] != best.best:
        sentence += f" By AUC the best is {ranked.index[0]}, {ranked.iloc[0]:.3f}."
    return Finding(sentence, _evidence(level))


def _significance(best: Lead) -> str:
    same = best.indistinguishable
    sentence = f" Not significantly worse: {listed(same)}." if same else ""
    worse = best.others[best.others["significant"]]
    if len(worse):
        first = worse.iloc[0]
        sentence += (
            f" The best model that is significantly worse is {worse.index[0]}, by "
            f"{-first['difference']:.3f} (95 % interval {-first['high']:.3f} to "
            f"{-first['low']:.3f})."
        )
    return sentence


def _evidence(level: _Level) -> pd.DataFrame:
    best = level.lead
    table = best.others.rename(
        columns={"difference": "difference to the best", "low": "2.5 %", "high": "97.5 %"}
    )
    first = pd.DataFrame(
        {"difference to the best": 0.0, "2.5 %": 0.0, "97.5 %": 0.0, "significant": False},
        index=[best.best],
    )
    table = pd.concat([first, table]) if len(table) else first
    table.insert(0, "G-mean", best.mean + table["difference to the best"])
    table["AUC"] = level.auc
    table["significant"] = table["significant"].map({True: "yes", False: "no"})
    return table


def _change(factor: str, levels: list[_Level]) -> Finding:
    table = pd.DataFrame({level.name: level.g_mean.mean() for level in levels})
    hard, easy = (f(levels, key=lambda level: level.lead.mean) for f in (min, max))
    sentence = (
        f"{factor.capitalize()}: the best G-mean is lowest at {hard.name}, {hard.lead.mean:.3f} "
        f"({hard.lead.best}), and highest at {easy.name}, {easy.lead.mean:.3f} "
        f"({easy.lead.best})."
    )
    spread = table.dropna().max(axis=1) - table.dropna().min(axis=1)
    if len(spread) > 1:
        most, least = spread.idxmax(), spread.idxmin()
        sentence += (
            f" Of the models with a result at every level, {most} depends on it most (its G-mean "
            f"spans {spread[most]:.3f}) and {least} least ({spread[least]:.3f})."
        )
    return Finding(sentence, table)
