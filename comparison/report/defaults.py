"""Findings on the defaults: whether the default prior and bandwidth stand against others."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from ...estimators.registry import REGISTRY
from ..run.protocol import PRIORS, Candidate
from .findings import METRICS, Finding, format_p, listed
from .paired import ALPHA, Ranking, rank


def defaults(
    results: pd.DataFrame,
    candidates: list[Candidate],
    topic: str,
    default_of: Callable[[str], str],
) -> list[Finding]:
    """Return, for each model, how its default ranks among the other choices.

    The default should be replaced for a model if Nemenyi's test finds it significantly worse by
    each metric.

    Parameters
    ----------
    results : pandas.DataFrame
        Rows of the candidates, without the trivial rules.
    candidates : list of Candidate
        Each has a ``choice``.
    topic : str
        What is chosen: "prior" or "bandwidth".
    default_of : callable
        Takes the name of a model and returns the choice that is its default.
    """
    findings, verdicts = [], []
    present = set(results["model"])
    for model in dict.fromkeys(c.model for c in candidates if c.name in present):
        choices, default = (
            {c.name: c.choice for c in candidates if c.model == model},
            default_of(model),
        )
        mine = results[results["model"].isin(choices)]
        mine = mine.assign(model=mine["model"].map(choices))
        for metric, title in METRICS.items():
            try:
                ranking = rank(mine, metric)
            except ValueError as error:
                findings.append(Finding(f"{model}: its {topic} cannot be compared: {error}."))
                continue
            sentence = _verdict(model, topic, title, default, ranking)
            findings.append(Finding(sentence, ranking.effects()))
            if default in ranking.ranks:
                gap = ranking.ranks[default] - ranking.ranks.iloc[0]
                worse = default not in [ranking.best, *ranking.indistinguishable(ranking.best)]
                verdicts.append((model, title, default, ranking.best, gap, worse))
    if verdicts:
        columns = ["model", "by", "default", "best", "rank difference", "significant"]
        table = pd.DataFrame(verdicts, columns=columns).set_index(["model", "by"])
        findings.insert(0, _summary(table, topic))
    return findings


def _summary(table: pd.DataFrame, topic: str) -> Finding:
    worse = table[table["significant"]]
    is_best = table["best"] == table["default"]
    defaults = table.reset_index().groupby("default", sort=False)["model"].unique()
    names = [f"{name} for {listed(list(models))}" for name, models in defaults.items()]
    sentence = (
        f"Default {topic}, {listed(names)}: the default is the best in {int(is_best.sum())} of "
        f"{len(table)} rankings (a model by a metric)"
    )
    if not is_best.all():
        winners = table["best"][~is_best].value_counts()
        sentence += f", {winners.index[0]} in its place in {int(winners.iloc[0])}"
    sentence += "; "
    if len(worse):
        cases = [f"{m} by {title} ({row.best})" for (m, title), row in worse.iterrows()]
        times = worse.groupby("model", sort=False).size()
        always = [str(m) for m, n in times.items() if n == len(METRICS)]
        sentence += f"Nemenyi's test finds it significantly worse for {listed(cases)}, "
        if always:
            sentence += f"by each metric for {listed(always)}, where it should be replaced."
        else:
            sentence += "but for no model by each metric, so it stays."
    else:
        sentence += "Nemenyi's test finds it significantly worse in none of them, so it stays."
    return Finding(sentence, table.replace({True: "yes", False: "no"}))


def _verdict(model: str, topic: str, title: str, default: str, ranking: Ranking) -> str:
    n = len(ranking.values)
    sentence = (
        f"{model}, {topic}, by {title} over {n} settings: {ranking.best} has the best mean rank "
        f"({ranking.ranks.iloc[0]:.1f}; Friedman p = {format_p(ranking.pvalue)})."
    )
    if default not in ranking.ranks:
        return f"{sentence} The default, {default}, has no result in some setting."
    if ranking.best == default:
        return f"{sentence} It is the default."
    p = ranking.nemenyi.loc[ranking.best, default]
    gap = ranking.effects().loc[default, "median difference to the best"]
    return (
        f"{sentence} The default, {default}, ranks {ranking.ranks[default]:.1f}, with a median "
        f"difference of {gap:+.3f} (Nemenyi p = {format_p(p)}: "
        f"{'significantly worse' if p < ALPHA else 'no significant difference'})."
    )


def default_prior(model: str) -> str:
    """Return the name of a model's default prior among those compared."""
    prior = REGISTRY[model].parameters["prior"]
    return next(name for name, each in PRIORS.items() if each == prior)


def default_bandwidth(model: str) -> str:
    """Return a model's default criterion of the bandwidth."""
    return str(REGISTRY[model].parameters["kernel"].kernel.bandwidth)
