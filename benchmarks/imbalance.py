"""SVM, LS-SVM, DSVM-CIL and IDLSSVM-CIL on clover- and paw-shaped and on real data.

``uv run python -m benchmarks.imbalance`` prints balanced accuracy and G-mean (the root of TPR x
TNR), mean (sd) over stratified halves, at each model's own hyperplane f = 0.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from bsvdd.comparison.report import table
from bsvdd.comparison.run import runner
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.comparison.scenarios import datasets, generators

from bsvdd import Cutoff

MODELS = ["SVM", "LS-SVM", "DSVM-CIL", "IDLSSVM-CIL"]
METRICS = {"balanced_accuracy": "balanced accuracy", "g_mean": "G-mean", "fpr": "FPR", "fnr": "FNR"}
REAL = ["glass_headlamps", "ecoli_imU", "vehicle_van"]


def sets(overlaps: list[float]) -> list[datasets.Dataset]:
    """Return the generated sets, 600 rows each, and three real ones."""
    made = []
    for name, ratio, overlap in product(("clover", "paw"), (5.0, 7.0), overlaps):
        n1 = round(600 / (ratio + 1.0))
        X = generators.SHAPES[name](600 - n1, n1, overlap, 1)
        title = f"{name}_{ratio:g}to1_overlap{overlap:.0%}"
        made.append(datasets.Dataset(title, X, np.arange(600) >= 600 - n1))
    return made + [datasets.embedded(name) for name in REAL]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--overlaps", type=float, nargs="+", default=[0.0, 0.3, 0.5, 0.7])
    arguments = parser.parse_args()
    data = sets(arguments.overlaps)
    protocol = Protocol(cutoff=Cutoff("model"))
    results = runner.compare(data, MODELS, arguments.replicates, protocol)
    print(table.summary(results, METRICS).to_string())


if __name__ == "__main__":
    main()
