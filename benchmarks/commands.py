"""Rows on what a user waits for: the command line, and fits with no argument given."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from bsvdd.comparison.scenarios import collection
from bsvdd.inference.warning import DataWarning

from bsvdd import BSVDD, kernels

from .baselines import rows
from .measure import PEAK, Row, in_new_process

REPEATS = 5


def command(*arguments: str) -> float:
    """Return the seconds of a command in a process of its own."""
    start = time.perf_counter()
    program = Path(sys.executable).parent / "bsvdd"
    subprocess.run([program, *arguments], capture_output=True, check=True)
    return time.perf_counter() - start


def lists(quick: bool) -> Row:
    """Measure the commands that print what there is."""
    sides = {"--help": ["--help"], "models": ["models"], "data": ["data"]}
    for arguments in sides.values():
        command(*arguments)
    seconds = {
        name: float(np.median([command(*arguments) for _ in range(REPEATS)]))
        for name, arguments in sides.items()
    }
    what = "the slowest of bsvdd --help, models and data"
    return Row(what, "", max(seconds.values()), 0.5, "s", seconds)


def score_command(quick: bool) -> Row:
    """Measure ``bsvdd score`` of 10,000 rows, with the start of Python."""
    n = 1000 if quick else 10_000
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder) / "model.safetensors", Path(folder) / "new.csv"
        names = [f"x{i}" for i in range(10)]
        BSVDD().fit(pd.DataFrame(rows(300, 10), columns=names)).save(model)
        pd.DataFrame(rows(n, 10, 1), columns=names).to_csv(table, index=False)
        runs = [
            command("score", str(model), str(table), "--out", str(Path(folder) / f"{i}.csv"))
            for i in range(REPEATS + 1)
        ][1:]
    return Row(f"bsvdd score of {n:,} rows", "", float(np.median(runs)), 2.0, "s")


def compare_command(quick: bool) -> Row:
    """Measure ``bsvdd compare`` with its defaults, after one run that compiles."""
    seconds = []
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            seconds.append(
                command("compare", "--out", folder, *(["--replicates", "1"] if quick else []))
            )
    return Row("bsvdd compare with its defaults", "", seconds[1], 60.0, "s", {"first": seconds[0]})


@functools.cache
def _tables() -> dict[str, np.ndarray]:
    """Return the majority rows of the embedded sets, and rows with heavy tails and near copies."""
    sets = (collection.embedded(name) for name in collection.names())
    tables = {data.name: data.X[~data.minority] for data in sets}
    rng = np.random.default_rng(0)
    skewed = np.exp(rng.normal(size=(2457, 10)) * rng.uniform(0.3, 1.5, 10))
    return tables | {"skewed, 2457 x 10": skewed.round(2)}


def slowest_fit(quick: bool) -> Row:
    """Measure a default fit of BSVDD to each table, on standardised columns."""
    seconds = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # constant columns
        for name, X in _tables().items():
            est = BSVDD(kernel=kernels.Standardized(kernels.RBF("likelihood")))
            est.fit(X[:100])
            start = time.perf_counter()
            est.fit(X[:500] if quick else X)
            seconds[name] = time.perf_counter() - start
    what = "the slowest default fit of BSVDD, 13 embedded sets and 2,457 skewed rows"
    return Row(what, "", max(seconds.values()), 15.0, "s", seconds)


NO_ARGUMENT = f"""
import json, sys, time, warnings
import numpy as np
from bsvdd import BSVDD
{PEAK}
warnings.simplefilter("ignore")  # it says that it takes landmarks
X = np.random.default_rng(0).normal(size=(int(sys.argv[1]), 20))
start = time.perf_counter()
BSVDD().fit(X)
print(json.dumps({{"seconds": time.perf_counter() - start, "MB": peak()}}))
"""


def fit_20000(quick: bool) -> Row:
    """Measure a fit of 20,000 rows with no argument given, in a process of its own."""
    n = 5000 if quick else 20_000
    found = in_new_process(NO_ARGUMENT, n)
    return Row(f"fit of BSVDD(), {n:,} x 20", "", found["seconds"], 30.0, "s", found)


ROWS = [lists, score_command, compare_command, slowest_fit, fit_20000]
