"""Whether the chains of BSVDD-M agree: several modes with published priors, one with the default.

``uv run python -m benchmarks.modes`` writes docs/modes.json and docs/modes.md: half of each class
of six embedded data sets, columns standardised, chains that start dispersed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.atomic import atomic
from bsvdd.inference.warning import DataWarning, DiagnosticWarning
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score

from bsvdd import BSVDDM, kernels, priors

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
SETTINGS: dict[str, Any] = dict(draws=500, tune=400, chains=4)
COLUMNS = {
    "data set": "data set",
    "n0": "n0",
    "n1": "n1",
    "bandwidth": "bandwidth",
    "priors": "priors",
    "sampler": "sampler",
    "r_hat": "R-hat",
    "ess": "ESS",
    "spread": "spread",
    "auc": "AUC",
    "divergences": "divergences",
    "seconds": "seconds",
    "warned": "warned",
}
TEXT = f"""# Modes of BSVDD-M

The table is made by `uv run python -m benchmarks.modes`, with {SETTINGS["chains"]} chains of
{SETTINGS["draws"]} draws. Half of each class is for training; the AUC is that of the other half.
Chains start dispersed, so that R-hat can detect chains that stay in different modes.

- Priors: published (`RowSum()` and `Beta()`), the same with a bounded total of the minority's
  weights (`Beta(total=1)`), and the default priors (`InverseRowSum(sd=0.5)` and `Beta()`).
- R-hat, ESS: the worst values of d_z over 20 training rows (bounds: 1.01, and 100 for each chain).
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
        kernel=kernels.Standardized(kernels.RBF(bandwidth)),
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
    diagnostics = est.fit_.diagnostics
    d = est.distance(data.X[train]).values
    means = d[:, :, :: max(1, d.shape[2] // 20)].mean(axis=1)
    sd = d[:, :, :: max(1, d.shape[2] // 20)].std(axis=(0, 1))
    test = est.distance(data.X[~train]).values.mean(axis=1)
    auc = [roc_auc_score(data.minority[~train], chain) for chain in test]
    return {
        "data set": name,
        "n0": est.gram_.n0,
        "n1": est.gram_.n1,
        "bandwidth": bandwidth,
        "priors": chosen,
        "sampler": est.fit_.draws.report.sampler,
        "r_hat": float(diagnostics["r_hat"]),
        "ess": float(diagnostics["ess"]),
        "spread": float((means.std(axis=0, ddof=1) / sd).max()),
        "auc": [float(min(auc)), float(max(auc))],
        "divergences": int(diagnostics["divergences"]),
        "seconds": seconds,
        "warned": any(str(each.message).startswith(("R-hat", "the smallest")) for each in caught),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as a table of Markdown."""
    formats = {"r_hat": ".3f", "ess": ".0f", "spread": ".2f", "seconds": ".1f"}

    def shown(name: str, value: Any) -> str:
        if name == "auc":
            return f"{value[0]:.3f} to {value[1]:.3f}"
        if name == "warned":
            return "yes" if value else "no"
        return format(value, formats.get(name, ""))

    lines = [list(COLUMNS.values()), ["---"] * len(COLUMNS)]
    lines += [[shown(name, row[name]) for name in COLUMNS] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Fit, print, save."""
    parser = argparse.ArgumentParser("python -m benchmarks.modes", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs")
    arguments = parser.parse_args()
    cells = [(name, b, m) for name in SETS for b in BANDWIDTHS for m in PRIORS]
    rows = Parallel(arguments.jobs, verbose=10)(delayed(fit)(*cell) for cell in cells)
    print(table(rows))
    with atomic(arguments.out / "modes.json") as temporary:
        temporary.write_text(json.dumps({"rows": rows}, indent=1) + "\n", encoding="utf-8")
    with atomic(arguments.out / "modes.md") as temporary:
        temporary.write_text(TEXT + table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
