"""Whether a posterior says something: samples of a population, and the population as the truth.

``uv run python -m benchmarks.posterior [--data-dir FOLDER]``

The populations are generated rows, and the majority rows of the largest embedded sets and of those
of a folder (see :mod:`.guarantee`). A sample of 100 or 300 rows is fitted. The truth are 2,000
other rows: their mean in the kernel space of the fit is the centre, and a new row is inside if it
is among the 90 % of rows that are most similar to this centre. New rows near the cutoff are those
whose score lies between the 3 % and the 33 % quantile of the left-out scores.

- ``learnt``: posterior over prior variance of s_z near the cutoff, median. A posterior that is its
  prior has 1, and fails the gate above .9.
- ``spread``: posterior sd of s_z near the cutoff over that of the Bayesian bootstrap (Rubin 1981),
  median. Dirichlet(1, ..., 1) weights of n rows have Var_x k(z, x) / (n + 1).
- ``covered``: share of 90 % intervals that contain the population's s_z, of new rows whose true s_z
  lies between the 3 % and the 33 % quantile. ``covered_estimated``: of new rows near the cutoff of
  the fit. These are chosen by a low estimate, so that it is too low for more of them.
- ``covered_surprise``: share of 90 % intervals of the surprise that contain the surprise by the
  population's s_z and the population's 10 % quantile, of the same rows as ``covered``.
- ``brier``, ``hard_brier``: mean squared error of P(normal), and of the decision without the
  uncertainty of the cutoff and without unseen rows, which is 0 or 1. ``wrong``, ``hard_wrong``:
  shares of wrong decisions by both.
- ``count``, ``p``, ``inside``: number of rows, sum of P(normal) and rows inside, in ten bins of P.
- ``risk``, ``hard_risk``, ``log_risk``: share of wrong decisions among the 5, 10, ..., 100 % of the
  rows that are most certain, by |P - .5| and by the margin of the hard decision in s and in log s.
  ``aurc`` and so on: mean over all shares, the area under the curve (Geifman and El-Yaniv 2017).
- ``false_alarms``: share of new rows called abnormal, for each of RATES asked.

Results go to docs/posterior.json: a row for each population, n, sample and model, and what they
pool to. docs/posterior.png shows them.

Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.

Geifman, Y. and El-Yaniv, R. (2017). Selective classification for deep neural networks. Advances in
Neural Information Processing Systems 30.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bsvdd.models.scale import split
from scipy.stats import spearmanr

from bsvdd import BDD, BSVDD, SVDD, cutoffs

from .shared import computed, options, quietly, raw_sets, write

SIZES, TRUTH, NEW = (100, 300), 2000, 1000
LEAST = max(SIZES) + TRUTH + 500  # rows of a population, of which at least 500 are new
LARGEST = 5  # sets of a folder
RATES = (0.05, 0.1, 0.15, 0.2, 0.3)
RATE = 0.1
NEAR = (0.03, 0.33)
BINS = 10
SHARES = np.linspace(0.05, 1.0, 20)
DEFAULT = "BSVDD"
MODELS: dict[str, Callable[[], Any]] = {
    DEFAULT: BSVDD,
    "BSVDD, likelihood_scale=1": lambda: BSVDD(likelihood_scale=1.0),
    "BDD": BDD,
    "SVDD": SVDD,
}


# the populations


def clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows of a wide cluster and of a narrow one, 3 columns."""
    narrow = rng.uniform(size=(n, 1)) < 0.3
    rows: np.ndarray = np.where(narrow, 4.0, 0.0) + rng.normal(size=(n, 3)) * np.where(
        narrow, 0.4, 1.0
    )
    return rows


def ring(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n rows of a ring in the plane."""
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, n), rng.normal(3.0, 0.4, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def skewed(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return n log-normal rows, 10 columns of different scales that share a factor."""
    factor = rng.normal(size=(n, 1))
    rows: np.ndarray = np.exp(0.6 * factor + 0.6 * rng.normal(size=(n, 10))) * 10.0 ** np.arange(10)
    return rows


GENERATED: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "normal": lambda n, rng: rng.normal(size=(n, 5)),
    "t3": lambda n, rng: rng.standard_t(3, size=(n, 6)),
    "clusters": clusters,
    "ring": ring,
    "skewed": skewed,
}


def populations(folder: Path | None) -> dict[str, np.ndarray]:
    """Return the rows of each population."""
    rows_of = {name: make(10 * LEAST, np.random.default_rng(0)) for name, make in GENERATED.items()}
    sets = [
        (name, np.concatenate([X, Z[~y]])) for name, X, Z, y in raw_sets(folder) if X.shape[1] > 1
    ]
    large = sorted((each for each in sets if len(each[1]) >= LEAST), key=lambda each: -len(each[1]))
    others = [each for each in large if each[0].startswith("other")][:LARGEST]
    return rows_of | dict([each for each in large if not each[0].startswith("other")] + others)


# the measures


def risk(wrong: np.ndarray, certainty: np.ndarray) -> np.ndarray:
    """Return the share of wrong decisions among the k most certain rows, k = 1, ..., n.

    Equally certain rows come in random order: each has the mean of them all.
    """
    frame = pd.DataFrame({"certainty": certainty, "wrong": wrong.astype(float)})
    frame["wrong"] = frame.groupby("certainty")["wrong"].transform("mean")
    ordered = frame.sort_values("certainty", ascending=False)["wrong"]
    return ordered.cumsum().to_numpy() / np.arange(1, len(wrong) + 1)


def curve(name: str, wrong: np.ndarray, certainty: np.ndarray) -> dict[str, Any]:
    """Return the risk at the shares and its mean over all of them."""
    risks = risk(wrong, certainty)
    at = np.maximum(np.round(SHARES * len(risks)).astype(int), 1) - 1
    return {f"{name}risk": risks[at].round(4).tolist(), f"{name}aurc": float(risks.mean())}


def spreads(est: Any, X: np.ndarray, Z: np.ndarray) -> dict[str, float]:
    """Return the variance of s_z over that of the prior, and its sd over that of samples."""
    variance = np.exp(est.log_similarity(Z)).var(axis=0)
    of_prior = est.fit_.prior.parts(est.fit_.data.new(Z))
    prior = np.exp(of_prior.log_p).var(axis=0)
    kernel = est.kernel_
    of_samples = kernel(kernel.inputs(Z), kernel.inputs(X)).var(axis=1) / (len(X) + 1)
    with np.errstate(invalid="ignore"):
        learnt, spread = np.nanmedian(variance / prior), np.nanmedian(variance / of_samples)
    return {"learnt": float(learnt), "spread": float(np.sqrt(spread))}


def covered(est: Any, Z: np.ndarray, s: np.ndarray) -> float:
    """Return the share of 90 % intervals of the rows Z that contain their true similarities s.

    The upper end counts a whole row beside z that the sample has not shown.
    """
    log_cut, _ = split(est.fit_.fit.boundary.threshold)
    low, high = np.quantile(est.margins(Z) + log_cut[:, None], (0.05, 0.95), axis=0)
    return float(((low <= np.log(s)) & (np.log(s) <= high)).mean())


def covered_surprise(est: Any, Z: np.ndarray, s: np.ndarray, cut: float) -> float:
    """Return the share of 90 % intervals of the surprise that contain that of s at the cutoff."""
    found = est.decision(Z)
    true = np.log(cut / s)
    return float(((found["low"] <= true) & (true <= found["high"])).mean())


@quietly()
def measured(est: Any, X: np.ndarray, T: np.ndarray, Z: np.ndarray) -> dict[str, Any]:
    """Fit ``est`` to a sample X, and return what its posterior says of new rows Z; T is the truth.

    Figures that need draws of the weights are absent for a model that has none.
    """
    est.fit(X)
    kernel = est.kernel_
    inputs, of_T = kernel.inputs(Z), kernel.inputs(T)
    s = kernel(inputs, of_T).mean(axis=1)
    of_truth = (kernel(of_T, of_T).sum(axis=1) - 1.0) / (len(T) - 1)
    cut = np.quantile(of_truth, RATE)
    inside = s >= cut
    score, p, normal = est.score_samples(Z), est.probability_normal(Z), est.predict(Z) == 1
    low, high = np.quantile(-est.decision()["surprise"], NEAR, method="inverted_cdf")
    near = (low <= score) & (score <= high)
    low, high = np.quantile(of_truth, NEAR)
    truly = (low <= s) & (s <= high)
    result = {"covered_surprise": covered_surprise(est, Z[truly], s[truly], cut)}
    if est.fit_.has_draws:
        result |= spreads(est, X, Z[near]) | {
            "covered": covered(est, Z[truly], s[truly]),
            "covered_estimated": covered(est, Z[near], s[near]),
        }
    hard = est.with_cutoff(cutoffs.Printed()).decision(Z)
    hard_wrong = hard["normal"].to_numpy() != inside
    margin = -hard["surprise"].to_numpy()  # in log s, where the score is a logarithm
    in_s = np.expm1(margin)  # in units of the cutoff
    place = np.minimum((p * BINS).astype(int), BINS - 1)
    flagged = [est.with_cutoff(cutoffs.FalseAlarm(r)).predict(Z) == -1 for r in RATES]
    return {
        **result,
        "brier": float(np.square(p - inside).mean()),
        "hard_brier": float(hard_wrong.mean()),
        "wrong": float((normal != inside).mean()),
        "count": np.bincount(place, minlength=BINS).tolist(),
        "p": np.bincount(place, p, BINS).round(4).tolist(),
        "inside": np.bincount(place, inside, BINS).astype(int).tolist(),
        **curve("", normal != inside, np.round(np.abs(p - 0.5), 9)),
        **curve("hard_", hard_wrong, np.abs(in_s)),
        **curve("log_", hard_wrong, np.abs(margin)),
        "false_alarms": [round(float(each.mean()), 4) for each in flagged],
    }


def of_sample(population: str, n: int, sample: int, rows: np.ndarray) -> list[dict[str, Any]]:
    """Return the results of the models on one sample of the rows of a population."""
    rows = np.random.default_rng([sample, n]).permutation(rows)
    X, T, Z = np.split(rows[: n + TRUTH + NEW], [n, n + TRUTH])
    key = dict(population=population, n=n, sample=sample)
    return [key | {"model": model} | measured(make(), X, T, Z) for model, make in MODELS.items()]


# what they pool to


def pooled(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the figures of each model over all populations, sizes and samples."""
    result = {}
    for model, part in pd.DataFrame(rows).groupby("model", sort=False):
        of_bins = (np.sum(part[name].tolist(), axis=0) for name in ("count", "p", "inside"))
        count, p, inside = of_bins
        seen = count > 0
        names = ["covered", "covered_estimated", "covered_surprise"]
        names += ["brier", "wrong", "hard_brier", "aurc"]
        mean = part[[*names, "hard_aurc", "log_aurc"]].mean()
        result[str(model)] = {
            "cells": len(part),
            "learnt": part["learnt"].median(),
            "most_like_prior": part["learnt"].max(),
            "spread": part["spread"].median(),
            "spread_right": part["spread"].dropna().between(0.9, 1.1).mean(),
            **mean[names].rename({"hard_brier": "hard_wrong"}).to_dict(),
            "brier_ratio": mean["brier"] / mean["hard_brier"],
            "aurc_ratio": mean["aurc"] / mean["hard_aurc"],
            "aurc_ratio_log": mean["aurc"] / mean["log_aurc"],
            "count": count.tolist(),
            "p": (p / np.maximum(count, 1)).tolist(),
            "inside": (inside / np.maximum(count, 1)).tolist(),
            "spearman": spearmanr(p[seen] / count[seen], inside[seen] / count[seen]).statistic,
            "false_alarms": np.mean(part["false_alarms"].tolist(), axis=0).tolist(),
        }
    return result


def picture(results: dict[str, Any]) -> plt.Figure:
    """Show reliability, false alarms, and risk against the share of decided rows."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
    of_models, rows = results["pooled"], pd.DataFrame(results["rows"])
    for number, (model, each) in enumerate(of_models.items()):
        style = dict(marker=".", color=f"C{number}", label=model)
        style |= {"linewidth": 2} if model == DEFAULT else {"linewidth": 1, "alpha": 0.6}
        seen = np.array(each["count"]) > 0
        axes[0].plot(np.array(each["p"])[seen], np.array(each["inside"])[seen], **style)
        axes[1].plot(RATES, each["false_alarms"], **style)
    default = of_models[DEFAULT]
    for p, inside, count in zip(default["p"], default["inside"], default["count"], strict=True):
        axes[0].annotate(f"{count:,}", (p, inside), (4, -10), textcoords="offset points", size=6)
    axes[0].plot([0, 1], [0, 1], color="#333333", linewidth=0.8)
    axes[0].set(xlabel="P(normal)", ylabel="share inside", title=f"ten bins; rows of {DEFAULT}")
    axes[1].plot([0, max(RATES)], [0, max(RATES)], color="#333333", linewidth=0.8)
    axes[1].set(xlabel="false alarms asked", ylabel="realised", title="new rows called abnormal")
    of_default = rows[rows.model == DEFAULT]
    names = {"risk": "by |P - .5|", "hard_risk": "by margin in s", "log_risk": "by margin in log s"}
    for number, (column, label) in enumerate(names.items()):
        risks = np.mean(of_default[column].tolist(), axis=0)
        axes[2].plot(SHARES, risks, color=f"C{number}", label=label)
    axes[2].set(xlabel="most certain rows", ylabel="wrong decisions", title=DEFAULT)
    for ax in axes:
        ax.legend(fontsize=7)
    return figure


def main(arguments: list[str] | None = None) -> None:
    """Measure, save, draw."""
    chosen = options("posterior", __doc__, arguments, samples=3)
    of = product(populations(chosen.data_dir).items(), SIZES, range(chosen.samples))
    cells = [(name, n, sample, rows) for (name, rows), n, sample in of]
    rows = [row for part in computed(of_sample, cells, chosen.jobs, "samples") for row in part]
    results = {"rows": rounded(rows), "pooled": rounded(pooled(rows))}
    write(chosen.out / "posterior.json", results, indent=None)
    write(chosen.out / "posterior.png", picture(results))


def rounded(value: Any) -> Any:
    """Return numbers with six digits after the point, for JSON; NaN is None."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    if isinstance(value, float):
        return round(value, 6) if np.isfinite(value) else None
    return value


if __name__ == "__main__":
    main()
