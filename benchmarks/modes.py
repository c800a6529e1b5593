"""Whether the chains of BSVDD-M agree: several modes with published priors, one with the default.

``uv run python -m benchmarks.modes`` writes docs/modes.json and docs/modes.md: half of each class
of six embedded data sets, columns standardised, chains that start dispersed.
"""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import Any

import numpy as np
from bsvdd.comparison import datasets
from bsvdd.inference.warning import DataWarning, DiagnosticWarning
from sklearn.metrics import roc_auc_score

from bsvdd import BSVDDM, kernels, priors

from .shared import computed, options, write

SETS = [
    "ecoli_imU",
    "abalone_9v18",
    "vehicle_van",
    "glass_headlamps",
    "wine_cultivar3",
    "ionosphere",
]
BANDWIDTHS = ["scale", "modified_mean"]  # the second is the default
PRIORS: dict[str, dict[str, Any]] = {
    "published": {"prior": priors.RowSum(), "minority_prior": priors.Beta()},
    "published, total 1": {"prior": priors.RowSum(), "minority_prior": priors.Beta(total=1.0)},
    "default": {},
}
SETTINGS: dict[str, Any] = dict(draws=500, chains=4)
SHOWN = {  # columns of the table that have other titles, or digits
    "r_hat": ("R-hat", "{:.3f}"),
    "ess": ("ESS", "{:.0f}"),
    "spread": ("spread", "{:.2f}"),
    "auc": ("AUC", "{0[0]:.3f} to {0[1]:.3f}"),
    "seconds": ("seconds", "{:.1f}"),
}
TEXT = f"""# Modes of BSVDD-M

The table is made by `uv run python -m benchmarks.modes`, with {SETTINGS["chains"]} chains of
{SETTINGS["draws"]} draws. Half of each class is for training; the AUC is that of the other half.
Chains start dispersed, so that R-hat can detect chains that stay in different modes.

- Priors: published (`RowSum()` and `Beta()`), the same with a bounded total of the minority's
  weights (`Beta(total=1)`), and the default priors (`Flat(sd=0.83)` and `Beta()`).
- R-hat, ESS: the worst values of s_z over 50 points (bounds: 1.01, and 100 for each chain).
- Spread: the standard deviation between chains of the mean d_z, divided by the posterior standard
  deviation of d_z; the worst of the rows. Independent draws have about .08.
- AUC: of the mean d_z of the test rows, the smallest and the largest of the chains.
- Seconds: on one core.
- Warned: whether the fit warns that its draws cannot be trusted.

"""


def halves(name: str, seed: int = 0) -> tuple[datasets.Dataset, np.ndarray]:
    """Return a data set, and which of its rows are for training: half of each class."""
    data, rng = datasets.embedded(name), np.random.default_rng(seed)
    members = [rng.permutation(np.flatnonzero(c)) for c in (~data.minority, data.minority)]
    train = np.zeros(len(data.X), dtype=bool)
    train[np.concatenate([each[: len(each) // 2] for each in members])] = True
    return data, train


def fit(name: str, bandwidth: str, chosen: str, seed: int = 0) -> dict[str, Any]:
    """Return one line of the table."""
    data, train = halves(name)
    est = BSVDDM(
        kernel=kernels.Tabular(kernels.RBF(bandwidth), scale="standardised"),
        random_state=seed,
        **PRIORS[chosen],
        **SETTINGS,
    )
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", DataWarning)
        warnings.simplefilter("always", DiagnosticWarning)
        est.fit(data.X[train], data.minority[train])
    seconds = time.process_time() - start
    d = est.distance(data.X[train]).values
    means = d[:, :, :: max(1, d.shape[2] // 20)].mean(axis=1)
    sd = d[:, :, :: max(1, d.shape[2] // 20)].std(axis=(0, 1))
    test = est.distance(data.X[~train]).values.mean(axis=1)
    auc = [roc_auc_score(data.minority[~train], chain) for chain in test]
    return {
        "data set": name,
        "n0": round(est.gram_.n0),
        "n1": est.gram_.n1,
        "bandwidth": bandwidth,
        "priors": chosen,
        "sampler": est.fit_.learned.sampler,
        "r_hat": est.fit_.chains.r_hat,
        "ess": est.fit_.chains.ess,
        "spread": float((means.std(axis=0, ddof=1) / sd).max()),
        "auc": [float(min(auc)), float(max(auc))],
        "divergences": est.fit_.divergences,
        "seconds": seconds,
        "warned": any(str(each.message).startswith(("R-hat", "the smallest")) for each in caught),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table of Markdown."""
    rows = [row | {"warned": "yes" if row["warned"] else "no"} for row in rows]
    titles = [SHOWN.get(name, (name,))[0] for name in rows[0]]
    lines = [titles, ["---"] * len(titles)]
    lines += [[SHOWN.get(name, ("", "{}"))[1].format(row[name]) for name in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Fit, print, save."""
    chosen = options("modes", __doc__)
    rows = computed(fit, product(SETS, BANDWIDTHS, PRIORS), chosen.jobs, "fits")
    print(table(rows))
    write(chosen.out / "modes.json", {"rows": rows})
    write(chosen.out / "modes.md", TEXT + table(rows))


if __name__ == "__main__":
    main()
