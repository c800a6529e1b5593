"""Which model for which situation: sentences made from the results, each with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..inference.diagnostics import MAX_R_HAT
from ..models.kernels import RBF
from ..models.registry import REGISTRY
from .cell import TRIVIAL
from .pages import listed
from .paired import ALPHA, Lead, Ranking, by_setting, lead, rank
from .protocol import PRIORS, Candidate
from .setting import Setting
from .studies import Design, Plan

METRICS = {"g_mean": "G-mean", "auc": "AUC"}
FEW = 3  # blocks of which fewer tell no models apart: intervals of one degree of freedom
MARGIN = 0.02  # of G-mean within which a faster model is named


@dataclass(frozen=True, eq=False)
class Finding:
    """A sentence and the table that it is read from."""

    sentence: str
    evidence: pd.DataFrame

    @property
    def table(self) -> str:
        """The evidence as HTML."""
        return self.evidence.to_html(
            border=0, classes="table", float_format=lambda x: f"{x:.3f}", na_rep="-"
        )


def fitted(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models, without the trivial rules."""
    return results[~results["model"].isin(TRIVIAL)]


def overall(results: pd.DataFrame) -> Iterator[tuple[Finding, Ranking]]:
    """Yield which models rank best over all settings with labelled minority rows."""
    for metric, title in METRICS.items():
        ranking = rank(results, metric)
        yield Finding(_about(ranking, title), ranking.effects()), ranking
    ranking = rank(results, "brier", larger=False)
    sentence = _about(ranking, "Brier score of P(abnormal)")
    yield Finding(sentence, ranking.effects()), ranking


def _about(ranking: Ranking, title: str) -> str:
    n, k = ranking.values.shape
    equals = ranking.equals(ranking.best)
    worse = [m for m in ranking.ranks.index[1:] if m not in equals]
    sentence = (
        f"Over {n} settings, {ranking.best} has the best mean rank by {title}, "
        f"{ranking.ranks.iloc[0]:.1f} of {k} (Friedman p = {_p(ranking.pvalue)}, Kendall's W = "
        f"{ranking.agreement:.2f})."
    )
    if equals:
        sentence += f" Nemenyi's test does not tell it apart from {listed(equals)}."
    if worse:
        gap = ranking.effects()["median difference to the best"]
        said = [f"{m} ({gap[m]:+.3f})" for m in worse]
        better = "" if ranking.larger else ", where less is better"
        sentence += (
            f" It is ahead of {listed(said)}, with the median difference in brackets{better}."
        )
    if ranking.incomplete:
        sentence += f" Not ranked, as some setting has no result: {listed(ranking.incomplete)}."
    return sentence


def situations(design: Design, results: pd.DataFrame) -> dict[str, list[Finding]]:
    """Return, for each factor, what is best at each of its levels, and how the best changes."""
    out = {}
    for factor, levels in design.items():
        leads, findings = {}, []
        for level, members in levels.items():
            blocks = _blocks(results, members, "g_mean")
            if not blocks.dropna(axis=1).shape[1]:
                continue
            leads[level] = lead(blocks)
            auc = _blocks(results, members, "auc").mean().rename("AUC")
            said = _of_level(factor, level, leads[level], auc, _unit(members))
            findings.append(Finding(said, _evidence(leads[level], auc)))
        if len(leads) > 1:
            findings.insert(0, _change(factor, leads, levels, results))
        out[factor] = findings
    return out


def _blocks(results: pd.DataFrame, members: list[Setting], metric: str) -> pd.DataFrame:
    """Return blocks x models: replicates of one setting, or the means of several."""
    mine = results[results["data"].isin([s.name for s in members])]
    by = "replicate" if len(members) == 1 else "data"
    return mine.pivot_table(metric, by, "model", "mean", sort=False, dropna=False).astype(float)


def _unit(members: list[Setting]) -> str:
    return "replicates" if len(members) == 1 else "settings"


def _of_level(factor: str, level: str, found: Lead, auc: pd.Series, unit: str) -> str:
    sentence = (
        f"{factor.capitalize()}, {level}: {found.best} has the highest mean G-mean, "
        f"{found.mean:.3f} over {found.blocks} {unit}."
    )
    few = f" Too few {unit} to tell models apart."
    sentence += few if found.blocks < FEW else _told_apart(found)
    top = auc.dropna().sort_values(ascending=False, kind="stable")
    if len(top) and top.index[0] != found.best:
        sentence += f" By AUC the best is {top.index[0]}, {top.iloc[0]:.3f}."
    return sentence


def _told_apart(found: Lead) -> str:
    sentence = f" Not told apart from it: {listed(found.equals)}." if found.equals else ""
    apart = found.behind[found.behind["apart"]]
    if len(apart):
        first = apart.iloc[0]
        sentence += (
            f" The first that is behind is {apart.index[0]}, by {-first['difference']:.3f} "
            f"(95 % interval {-first['high']:.3f} to {-first['low']:.3f})."
        )
    return sentence


def _evidence(found: Lead, auc: pd.Series) -> pd.DataFrame:
    table = found.behind.rename(
        columns={"difference": "difference to the best", "low": "2.5 %", "high": "97.5 %"}
    )
    best = pd.DataFrame(
        {"difference to the best": 0.0, "2.5 %": 0.0, "97.5 %": 0.0, "apart": False},
        index=[found.best],
    )
    table = pd.concat([best, table]) if len(table) else best
    table.insert(0, "G-mean", found.mean + table["difference to the best"])
    table["AUC"] = auc
    table["apart"] = table["apart"].map({True: "yes", False: "no"})
    return table


def _change(
    factor: str, leads: dict[str, Lead], levels: dict[str, list[Setting]], results: pd.DataFrame
) -> Finding:
    table = pd.DataFrame(
        {level: _blocks(results, levels[level], "g_mean").mean() for level in leads}
    )
    hard, easy = (f(leads, key=lambda level: leads[level].mean) for f in (min, max))
    sentence = (
        f"{factor.capitalize()}: the best G-mean is lowest at {hard}, {leads[hard].mean:.3f} "
        f"({leads[hard].best}), and highest at {easy}, {leads[easy].mean:.3f} "
        f"({leads[easy].best})."
    )
    spread = table.dropna().max(axis=1) - table.dropna().min(axis=1)
    if len(spread) > 1:
        most, least = spread.idxmax(), spread.idxmin()
        sentence += (
            f" Of the models with a result at every level, {most} depends on it most (its G-mean "
            f"spans {spread[most]:.3f}) and {least} least ({spread[least]:.3f})."
        )
    return Finding(sentence, table)


def labels(results: pd.DataFrame, candidates: list[Candidate]) -> Finding:
    """Return what labelled minority rows are worth: the best of either kind, by AUC."""
    kind = {c.name: c.learns_from_minority for c in candidates}
    values = results.pivot_table("auc", "data", "model", "mean", sort=False).astype(float)
    with_, without = (
        values[[m for m in values if kind[str(m)] is learns]].dropna(how="all")
        for learns in (True, False)
    )
    both = with_.index.intersection(without.index, sort=False)
    if both.empty:
        return Finding("Labelled minority rows: no setting has results of both kinds.", values)
    with_, without = with_.loc[both], without.loc[both]
    table = pd.DataFrame(
        {
            "best that learns from minority rows": with_.idxmax(axis=1),
            "its AUC": with_.max(axis=1),
            "best one-class model": without.idxmax(axis=1),
            "AUC of that": without.max(axis=1),
        }
    )
    gain = table["its AUC"] - table["AUC of that"]
    table["gain"] = gain
    sentence = (
        "Labelled minority rows: the best model that learns from them has a higher AUC than the "
        f"best one-class model in {int((gain > 0).sum())} of {len(gain)} settings; the median gain "
        f"is {gain.median():+.3f}, from {gain.min():+.3f} ({gain.idxmin()}) to {gain.max():+.3f} "
        f"({gain.idxmax()})."
    )
    return Finding(sentence, table)


def cost(results: pd.DataFrame) -> Finding:
    """Return what the models cost, and the fastest of those near the best.

    The mean G-mean is one over settings; a model without a result in some setting has none.
    """
    table = results.groupby("model", sort=False).agg(
        **{
            "median fit, s": ("fit_seconds", "median"),
            "longest fit, s": ("fit_seconds", "max"),
            "median scoring, s": ("score_seconds", "median"),
        }
    )
    table["mean G-mean"] = by_setting(results, "g_mean").mean(skipna=False)
    ranked = table.dropna().sort_values("mean G-mean", ascending=False, kind="stable")
    if ranked.empty:
        return Finding("Time: no fit succeeded.", table)
    best = ranked.index[0]
    near = ranked[ranked["mean G-mean"] >= ranked["mean G-mean"].iloc[0] - MARGIN]
    fast = near["median fit, s"].idxmin()
    sentence = (
        f"Time: {best} has the highest mean G-mean over settings with labels, "
        f"{ranked.loc[best, 'mean G-mean']:.3f}, and fits in "
        f"{ranked.loc[best, 'median fit, s']:.2f} s (median, tuning included)."
    )
    if fast != best:
        ratio = ranked.loc[best, "median fit, s"] / ranked.loc[fast, "median fit, s"]
        sentence += (
            f" Within {MARGIN} of it, {fast} is the fastest: {ranked.loc[fast, 'mean G-mean']:.3f} "
            f"in {ranked.loc[fast, 'median fit, s']:.2f} s, {ratio:.1f} times as fast."
        )
    else:
        sentence += f" No model within {MARGIN} of it is faster."
    return Finding(sentence, table)


def health(results: pd.DataFrame) -> Finding:
    """Return how many fits failed, and how many chains disagree."""
    table = pd.DataFrame(
        {
            "fits": results.groupby("model", sort=False).size(),
            "failed": results[results["error"] != ""].groupby("model").size(),
            f"R-hat above {MAX_R_HAT}": results[results["r_hat"] > MAX_R_HAT]
            .groupby("model")
            .size(),
            "largest R-hat": results.groupby("model")["r_hat"].max(),
            "median effective support": results.groupby("model")["effective_support"].median(),
        }
    ).reindex(results["model"].unique())
    counts = ["failed", f"R-hat above {MAX_R_HAT}"]
    table[counts] = table[counts].fillna(0).astype(int)
    failed, apart = (int(table[c].sum()) for c in counts)
    sentence = f"Of {int(table['fits'].sum())} fits, {failed} failed"
    if failed:
        sentence += f" ({listed([f'{m}: {n}' for m, n in table['failed'].items() if n])})"
    sentence += f", and the chains of {apart} disagree (R-hat of d_z above {MAX_R_HAT})"
    if apart:
        sentence += f": {listed([f'{m}: {n}' for m, n in table[counts[1]].items() if n])}"
    return Finding(f"{sentence}.", table)


def defaults(results: pd.DataFrame, what: str, default: str) -> list[Finding]:
    """Return, for each model, whether its default stands against the other choices.

    It is to be replaced for a model where Nemenyi's test puts it behind by each metric.
    Names of models in ``results`` are "MODEL, CHOICE".
    """
    parts = results["model"].str.rpartition(", ")
    out, verdicts = [], []
    for model in parts[0].unique():
        mine = results.assign(model=parts[2])[parts[0] == model]
        for metric, title in METRICS.items():
            try:
                ranking = rank(mine, metric)
            except ValueError as error:
                out.append(Finding(f"{model}: its {what} cannot be compared: {error}.", _empty()))
                continue
            out.append(Finding(_verdict(model, what, title, default, ranking), ranking.effects()))
            if default in ranking.ranks:
                gap = ranking.ranks[default] - ranking.ranks.iloc[0]
                told = default not in [ranking.best, *ranking.equals(ranking.best)]
                verdicts.append((model, title, ranking.best, gap, told))
    if verdicts:
        table = pd.DataFrame(
            verdicts, columns=["model", "by", "best", "ranks behind", "told apart"]
        ).set_index(["model", "by"])
        against = table[table["told apart"]]
        winners = table["best"].value_counts()
        sentence = (
            f"Default {what}: {default} is the best in {int((table['best'] == default).sum())} of "
            f"{len(table)} rankings (a model by a metric)"
        )
        if winners.index[0] != default:
            sentence += f", {winners.index[0]} in {int(winners.iloc[0])}"
        sentence += "; "
        if len(against):
            behind = [f"{m} by {title} ({row.best})" for (m, title), row in against.iterrows()]
            times = against.groupby("model", sort=False).size()
            lost = [str(m) for m, n in times.items() if n == len(METRICS)]
            sentence += f"Nemenyi's test puts it behind for {listed(behind)}, "
            if lost:
                sentence += f"by each metric for {listed(lost)}, where it should be replaced."
            else:
                sentence += "but for no model by each metric, so it stays."
        else:
            sentence += "in none of them Nemenyi's test puts it behind, so it stays."
        out.insert(0, Finding(sentence, table.replace({True: "yes", False: "no"})))
    return out


def _verdict(model: str, what: str, title: str, default: str, ranking: Ranking) -> str:
    n = len(ranking.values)
    sentence = (
        f"{model}, {what}, by {title} over {n} settings: {ranking.best} has the best mean rank "
        f"({ranking.ranks.iloc[0]:.1f}; Friedman p = {_p(ranking.pvalue)})."
    )
    if default not in ranking.ranks:
        return f"{sentence} The default, {default}, has no result in some setting."
    if ranking.best == default:
        return f"{sentence} It is the default."
    p = ranking.nemenyi.loc[ranking.best, default]
    gap = ranking.effects().loc[default, "median difference to the best"]
    return (
        f"{sentence} The default, {default}, ranks {ranking.ranks[default]:.1f}, with a median "
        f"difference of {gap:+.3f} (Nemenyi p = {_p(p)}: "
        f"{'behind' if p < ALPHA else 'not told apart'})."
    )


def default_prior() -> str:
    """Return the name of the package's default prior among those compared."""
    prior = REGISTRY["BSVDD"].parameters["prior"]
    return next(name for name, each in PRIORS.items() if each == prior)


def default_bandwidth() -> str:
    """Return the package's default criterion of the bandwidth."""
    return str(RBF().bandwidth)


def all_findings(
    plan: Plan, results: dict[str, pd.DataFrame]
) -> tuple[dict[str, list[Finding]], dict[str, Ranking]]:
    """Return the findings of each section, and the rankings of which a figure is made.

    Parameters
    ----------
    plan : Plan
    results : dict
        Of each of its studies, by name.
    """
    main = fitted(results[plan.main.name])
    labelled = with_labels(plan, results)
    sections: dict[str, list[Finding]] = {}
    rankings: dict[str, Ranking] = {}
    try:
        ranked = list(overall(labelled))
        sections["Over all settings"] = [finding for finding, _ in ranked]
        rankings = dict(zip(METRICS, (r for _, r in ranked), strict=False))
    except ValueError as error:
        sections["Over all settings"] = [Finding(f"Not compared: {error}.", _empty())]
    sections["What labels are worth"] = [labels(labelled, plan.main.candidates)]
    for factor, findings in situations(plan.design, main).items():
        sections[f"Situation: {factor}"] = findings
    sections["Time"] = [cost(labelled)]
    compared: dict[str, Callable[[], list[Finding]]] = {
        "Priors": lambda: defaults(fitted(results[plan.priors.name]), "prior", default_prior()),
        "Bandwidths": lambda: defaults(
            fitted(results[plan.bandwidths.name]), "bandwidth", default_bandwidth()
        ),
    }
    for title, made in compared.items():
        sections[title] = made()
    every = pd.concat([fitted(r) for r in results.values()])
    sections["Can the fits be trusted"] = [health(every)]
    return {title: found for title, found in sections.items() if found}, rankings


def with_labels(plan: Plan, results: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the rows of models in settings with labelled minority rows, where all models are."""
    main = fitted(results[plan.main.name])
    return main[main["data"].isin([s.name for s in plan.main.settings if s.labelled])]


def _empty() -> pd.DataFrame:
    return pd.DataFrame()


def _p(value: float) -> str:
    if np.isnan(value):
        return "undefined"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"
