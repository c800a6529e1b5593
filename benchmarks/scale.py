"""Rows on scale: landmarks, and more rows than memory holds."""

from __future__ import annotations

import functools
import itertools
import tempfile
from pathlib import Path

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.pipeline import make_pipeline

from bsvdd import BSVDD

from .baselines import rows
from .measure import PEAK, Row, exponent, in_new_process, in_turn

COLUMNS, LANDMARKS = 20, 500


def million(quick: bool) -> Row:
    """Measure a fit of a million rows with 500 landmarks."""
    n = 50_000 if quick else 1_000_000
    X = rows(n, COLUMNS)
    est = BSVDD(dictionary=LANDMARKS)
    gamma = est.fit(X[:2000]).kernel_.gamma
    linear = make_pipeline(
        Nystroem(gamma=gamma, n_components=LANDMARKS, random_state=0),
        SGDOneClassSVM(nu=0.1, random_state=0),
    )
    sides = {"BSVDD": lambda: est.fit(X), "Nystroem + SGDOneClassSVM": lambda: linear.fit(X)}
    seconds = in_turn(sides, 5)
    value = seconds["BSVDD"] / seconds["Nystroem + SGDOneClassSVM"]
    what = f"fit of BSVDD with {LANDMARKS} landmarks, {n:,} x {COLUMNS}"
    return Row(what, "Nystroem(500) + SGDOneClassSVM", value, 1 / 5, "", seconds)


FROM_A_FILE = f"""
import json, sys, time
import numpy as np
from bsvdd import BSVDD
{PEAK}
path, landmarks, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X = np.load(path, mmap_mode="r")
U = np.array(X[:landmarks]).T
BSVDD(dictionary=landmarks).fit(X[:20_000])
ours, plain = [], []
for _ in range(repeats):
    start = time.perf_counter()
    BSVDD(dictionary=landmarks).fit(path)
    ours.append(time.perf_counter() - start)
    resident = peak()
    start = time.perf_counter()
    for i in range(0, len(X), 10_000):
        X[i : i + 10_000] @ U
    plain.append(time.perf_counter() - start)
print(json.dumps({{"fit": np.median(ours), "read and product": np.median(plain), "MB": resident}}))
"""


@functools.cache
def _from_a_file(n: int, dtype: str, repeats: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        X = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(n, COLUMNS))
        rng = np.random.default_rng(0)
        for i in range(0, n, 100_000):
            X[i : i + 100_000] = rng.normal(size=X[i : i + 100_000].shape)
        X.flush()
        del X
        # the peak is read before the plain product maps the whole file: one repeat for it
        seconds = in_new_process(FROM_A_FILE, path, LANDMARKS, repeats)
        alone = in_new_process(FROM_A_FILE, path, LANDMARKS, 1)
    return seconds | {"MB": alone["MB"]}


def _file_row(quick: bool, dtype: str) -> Row:
    n = 200_000 if quick else 10_000_000
    details = _from_a_file(n, dtype, 1 if quick else 5)
    value = details["fit"] / details["read and product"]
    what = f"fit with {LANDMARKS} landmarks, {n:,} x {COLUMNS} {dtype} from a memory map"
    return Row(what, "one plain read and product X @ U", value, 4.0, "", details)


def file_double(quick: bool) -> Row:
    """Measure a fit of ten million rows in a file, double precision."""
    return _file_row(quick, "float64")


def file_single(quick: bool) -> Row:
    """Measure the same in single precision."""
    return _file_row(quick, "float32")


def file_memory(quick: bool) -> Row:
    """Measure the peak of a process that fits ten million rows from a file."""
    n = 200_000 if quick else 10_000_000
    details = _from_a_file(n, "float64", 1 if quick else 5)
    what = f"peak of a process that fits {n:,} x {COLUMNS} from a memory map"
    return Row(what, "", details["MB"], 1500.0, "MB", details)


def growth_landmarks(quick: bool) -> Row:
    """Measure how a fit grows with the landmarks, and what more of them change."""
    sizes = [50, 100, 200] if quick else [100, 200, 400, 800]
    X, Z = rows(20_000 if quick else 100_000, 5), rows(5000, 5, seed=1)
    fits = {M: BSVDD(dictionary=M) for M in sizes}
    costs = [in_turn({"it": lambda M=M: fits[M].fit(X)}, 5)["it"] for M in sizes]
    details = {f"M = {M}": cost for M, cost in zip(sizes, costs, strict=True)}
    for few, more in itertools.pairwise(sizes):
        few_d, more_d = (fits[M].decision(Z)["distance"].to_numpy() for M in (few, more))
        changed = (fits[few].predict(Z) != fits[more].predict(Z)).mean()
        rms = np.sqrt(np.square(more_d - few_d).mean())
        details[f"M = {few} to {more}: root mean square change of d_z"] = float(rms)
        details[f"M = {few} to {more}: decisions changed"] = float(changed)
    value = exponent(sizes, costs)
    return Row("fit of BSVDD with M landmarks: exponent of M", "", value, 2.2, "", details)


ROWS = [million, file_double, file_single, file_memory, growth_landmarks]
