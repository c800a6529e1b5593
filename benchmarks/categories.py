"""The default rho of kernels.Tabular: AUC of one centre with equal weights, on generated tables.

``python -m benchmarks.categories`` prints the table, in half a minute.

A table has ``p`` columns of numbers and ``q`` of five categories with shares .5 to .03; the first
category moves the mean of the first number. Abnormal rows have a category that no training row has,
the numbers of another category, categories that are all equally frequent, or numbers with twice the
spread.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score

from bsvdd import kernels

SHARES = np.array([0.5, 0.25, 0.15, 0.07, 0.03])
SIZES = ((1, 1), (1, 6), (3, 3), (8, 2), (2, 10))  # columns of numbers, of categories
CRITERIA = ("mean", "likelihood", "modified_mean")
KINDS = ("unseen category", "other combination", "rare categories", "wide numbers")
RHOS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01)
N_TRAIN, N_NORMAL, N_ABNORMAL, SHIFT = 200, 500, 200, 1.5


def normal_rows(rng: np.random.Generator, n: int, p: int, q: int) -> np.ndarray:
    """Return rows (n, p + q): numbers, then categories, the first of which moves a number."""
    categories = rng.choice(len(SHARES), size=(n, q), p=SHARES)
    numbers = rng.normal(size=(n, p))
    numbers[:, 0] += SHIFT * categories[:, 0]
    return np.hstack([numbers, categories])


def abnormal_rows(rng: np.random.Generator, kind: str, n: int, p: int, q: int) -> np.ndarray:
    """Return abnormal rows of one of the ``KINDS``."""
    rows = normal_rows(rng, n, p, q)
    if kind == "unseen category":
        rows[:, p + rng.integers(q)] = 99.0
    elif kind == "other combination":
        rows[:, p] = (rows[:, p] + rng.integers(1, 5, n)) % len(SHARES)
    elif kind == "rare categories":
        rows[:, 0] -= SHIFT * rows[:, p]
        rows[:, p:] = rng.integers(0, len(SHARES), (n, q))
        rows[:, 0] += SHIFT * rows[:, p]
    else:
        rows[:, :p] += 2.0 * rng.normal(size=(n, p))
    return rows


def measured(replicates: int = 3) -> pd.DataFrame:
    """Return the AUC of each setting, one column for each rho."""
    results = []
    for criterion in CRITERIA:
        for p, q in SIZES:
            for kind in KINDS:
                for seed in range(replicates):
                    rng = np.random.default_rng(seed)
                    train, normal = (normal_rows(rng, n, p, q) for n in (N_TRAIN, N_NORMAL))
                    rows = np.concatenate([normal, abnormal_rows(rng, kind, N_ABNORMAL, p, q)])
                    y = np.repeat([0, 1], [N_NORMAL, N_ABNORMAL])
                    table = kernels.Tabular(kernels.RBF(criterion), categorical=range(p, p + q))
                    kernel = table.fit(train, np.ones(N_TRAIN), np.arange(N_TRAIN))
                    Z, T = kernel.inputs(rows), kernel.inputs(train)
                    for rho in RHOS:
                        log_k = replace(kernel, rho=rho).log(Z, T)
                        auc = roc_auc_score(y, -logsumexp(log_k, axis=1))
                        results.append((criterion, f"{p}+{q}", kind, rho, auc))
    table = pd.DataFrame(results, columns=["criterion", "columns", "abnormal rows", "rho", "AUC"])
    return table.pivot_table("AUC", ["criterion", "columns", "abnormal rows"], "rho")


if __name__ == "__main__":
    auc = measured()
    print(auc.groupby("abnormal rows").mean().round(3).to_string())
    print(auc.groupby("columns").mean().round(3).to_string())
    print(auc.mean().round(3).to_string())
