"""Which model when: the studies ``real`` and ``settings``."""

from __future__ import annotations

from typing import Any

import pandas as pd

from bsvdd.comparison import studies, table
from bsvdd.comparison.models import needs_labels

from .measure import Run, number, texts

METRICS = {"g_mean": "G-mean", "auc": "AUC", "average_precision": "AP"}
BASE = ("base", "300 rows, 50 features, v = 0, share .12")  # of the generated data


def of_study(run: Run, study: Any) -> pd.DataFrame:
    """Return the results of a study, or of its quick form for a few cells."""
    results: pd.DataFrame = study(quick=run.few > 0).run(run.folder, run.jobs)
    return results


def without_labels(results: pd.DataFrame) -> pd.DataFrame:
    """Return the results of models that need no labels."""
    return results[~results["model"].map(needs_labels)]


def means(results: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the mean metrics of each model, the best on real sets first."""
    columns = {
        f"{study}: {title}": table.values_of(rows, metric).mean(skipna=False)
        for study, rows in results.items()
        for metric, title in METRICS.items()
    }
    found = pd.DataFrame(columns).rename_axis("model")
    return texts(found.sort_values("real: G-mean", ascending=False), 3)


def ranks(results: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the first models by mean rank, and the models not told apart from them."""
    lines = []
    for study, rows in results.items():
        some = {"all models": rows, "without labels": without_labels(rows)}
        for which, of in some.items():
            for metric in ("g_mean", "auc"):
                values = table.values_of(of, metric)
                found = table.mean_ranks(values)
                p = table.friedman(values)
                same = table.not_told_apart(found)
                is_all = len(same) == len(found) - 1
                told = "all others" if is_all else ", ".join(same) or "none"
                line = {"models, metric": f"{study}, {which}, {METRICS[metric]}"}
                line |= {"first": found.index[0]}
                line["mean rank"] = f"{found['mean rank'].iloc[0]:.1f} of {len(found)}"
                line["p (Friedman)"] = "< .001" if p < 0.001 else number(p, 3)
                lines.append(line | {"not told apart from it": told})
    return pd.DataFrame(lines)


def when(results: dict[str, pd.DataFrame], quick: bool) -> pd.DataFrame:
    """Return the best model of each situation by G-mean, and how many are as good."""
    lines = []
    for study, rows in results.items():
        once: dict[tuple[str, ...], tuple[str, str]] = {}
        for at, names in studies.scenarios_by_situation(
            getattr(studies, study)(quick=quick)
        ).items():
            once[tuple(names)] = BASE if tuple(names) in once else at
        levels = {at: list(names) for names, at in once.items()}
        some = {"of all": rows, "without labels": without_labels(rows)}
        of = {n: table.situations(each, levels, "g_mean") for n, each in some.items()}
        for situation in of["of all"].index:
            line = {"situation": f"{study}, {': '.join(situation)}"}
            for name, found in of.items():
                best, mean, same = found.loc[situation]
                few = same.startswith("too few")
                others = len(same.split(", ")) if same else 0
                line[f"best {name}"] = best if few else f"{best}; {others} as good"
                line[f"G-mean, {name}"] = number(mean)
            lines.append(line)
    return pd.DataFrame(lines)


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return means, ranks, and which model when."""
    results = {
        name: of_study(run, getattr(studies, name)) for name in ("settings", "real")
    }
    return {
        "means": means(results),
        "ranks": ranks(results),
        "when": when(results, run.few > 0),
    }
