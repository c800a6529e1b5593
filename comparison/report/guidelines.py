"""Guidelines: which model for which situation, from the results of a plan of studies."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from ...inference.diagnostics import MAX_R_HAT
from ..run.protocol import Candidate
from ..run.studies import Plan
from .defaults import default_bandwidth, default_prior, defaults
from .findings import METRICS, Finding, format_p, listed, model_rows
from .paired import Ranking, rank, scenario_means
from .situations import situations

MARGIN = 0.02  # of G-mean within which a faster model is named


def all_findings(
    plan: Plan, results: dict[str, pd.DataFrame]
) -> tuple[dict[str, list[Finding]], dict[str, Ranking]]:
    """Return the findings of each section, and the rankings by metric for the figures.

    Parameters
    ----------
    plan : Plan
    results : dict
        Results of each study of the plan, by name.
    """
    main = model_rows(results[plan.main.name])
    labelled = labelled_rows(plan, main)
    sections: dict[str, list[Finding]] = {}
    rankings: dict[str, Ranking] = {}
    try:
        ranked = list(overall(labelled))
        sections["Over all settings"] = [finding for finding, _ in ranked]
        rankings = dict(zip(METRICS, (r for _, r in ranked), strict=False))
    except ValueError as error:
        sections["Over all settings"] = [Finding(f"Not compared: {error}.")]
    sections["One class: models and yardsticks"] = one_class(labelled, plan.main.candidates)
    sections["What labels are worth"] = [labels(labelled, plan.main.candidates)]
    for factor, findings in situations(plan.design, main).items():
        sections[f"Situation: {factor}"] = findings
    sections["Time"] = [cost(labelled)]
    for title, study, topic, default_of in (
        ("Priors", plan.priors, "prior", default_prior),
        ("Bandwidths", plan.bandwidths, "bandwidth", default_bandwidth),
    ):
        rows = model_rows(results[study.name])
        sections[title] = defaults(rows, study.candidates, topic, default_of)
    fits = pd.concat([model_rows(table) for table in results.values()])
    sections["Can the fits be trusted"] = [reliability(fits)]
    return {title: findings for title, findings in sections.items() if findings}, rankings


def labelled_rows(plan: Plan, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of scenarios with labelled minority rows, which all models can use."""
    return rows[rows["data"].isin([s.name for s in plan.main.scenarios if s.labelled])]


def overall(results: pd.DataFrame) -> Iterator[tuple[Finding, Ranking]]:
    """Yield how the models rank over all scenarios with labelled minority rows, by each metric."""
    for metric, title in METRICS.items():
        ranking = rank(results, metric)
        yield Finding(_describe_ranking(ranking, title), ranking.effects()), ranking
    ranking = rank(results, "brier", larger=False)
    sentence = _describe_ranking(ranking, "Brier score of P(abnormal)")
    yield Finding(sentence, ranking.effects()), ranking


def _describe_ranking(ranking: Ranking, title: str) -> str:
    n, k = ranking.values.shape
    same = ranking.indistinguishable(ranking.best)
    worse = [m for m in ranking.ranks.index[1:] if m not in same]
    sentence = (
        f"Over {n} settings, {ranking.best} has the best mean rank by {title}, "
        f"{ranking.ranks.iloc[0]:.1f} of {k} (Friedman p = {format_p(ranking.pvalue)}, "
        f"Kendall's W = {ranking.agreement:.2f})."
    )
    if same:
        sentence += f" Nemenyi's test does not distinguish it from {listed(same)}."
    if worse:
        gap = ranking.effects()["median difference to the best"]
        models = [f"{m} ({gap[m]:+.3f})" for m in worse]
        better = "" if ranking.larger else ", where smaller is better"
        sentence += (
            f" It ranks significantly better than {listed(models)}, with the median difference in "
            f"brackets{better}."
        )
    if ranking.incomplete:
        sentence += f" Not ranked, as some setting has no result: {listed(ranking.incomplete)}."
    return sentence


def one_class(results: pd.DataFrame, candidates: list[Candidate]) -> list[Finding]:
    """Return how one-class models and yardsticks rank, and whether a yardstick is enough."""
    yardsticks = [c.name for c in candidates if c.is_yardstick]
    models = [c.name for c in candidates if not (c.is_yardstick or c.needs_minority)]
    findings = []
    for metric, title in METRICS.items():
        means = scenario_means(results, metric).mean(skipna=False).dropna()
        simple, own = (means[means.index.isin(names)] for names in (yardsticks, models))
        if simple.empty or own.empty:
            continue
        sentence = (
            f"By mean {title}, the best one-class model is {own.idxmax()} ({own.max():.3f}), and "
            f"the best yardstick is {simple.idxmax()} ({simple.max():.3f})."
        )
        try:
            ranking = rank(results[results["model"].isin([*models, *yardsticks])], metric)
        except ValueError as error:
            findings.append(Finding(f"{sentence} Not ranked: {error}."))
            continue
        findings.append(
            Finding(f"{sentence} {_describe_ranking(ranking, title)}", ranking.effects())
        )
    return findings


def labels(results: pd.DataFrame, candidates: list[Candidate]) -> Finding:
    """Return the gain by labelled minority rows: the best model of each kind, by AUC."""
    kind = {c.name: c.needs_minority for c in candidates}
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


def reliability(results: pd.DataFrame) -> Finding:
    """Return how many fits failed, and in how many the chains disagree."""
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
    failed, unmixed = (int(table[c].sum()) for c in counts)
    sentence = f"Of {int(table['fits'].sum())} fits, {failed} failed"
    if failed:
        sentence += f" ({listed([f'{m}: {n}' for m, n in table['failed'].items() if n])})"
    sentence += f", and the chains of {unmixed} disagree (R-hat of d_z above {MAX_R_HAT})"
    if unmixed:
        sentence += f": {listed([f'{m}: {n}' for m, n in table[counts[1]].items() if n])}"
    return Finding(f"{sentence}.", table)
