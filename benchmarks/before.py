"""This tree beside another one: ``uv run python -m benchmarks.before FOLDER``.

The folder has an environment in .venv, such as ``git worktree add FOLDER COMMIT`` and
``uv sync``. Both sides are timed in turn in new processes, by public names; a ratio is
the median of this tree over the median of the other. Nothing is stored.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd

PREAMBLE = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
clock, found = time.perf_counter, {}
"""
GENERATED = """
import numpy as np
from bsvdd import BSVDD, priors
def rows(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))
def spent(do):
    start = time.process_time()
    do()
    return time.process_time() - start
est = BSVDD().fit(rows(100, 10))
"""
FIT = """
import arviz as az
X = rows({n}, 10)
found["it"] = spent(lambda: est.fit(X))
d = est.distance(X[:50]).to_dataset(name="d")
found["R-hat"], found["ESS"] = float(az.rhat(d)["d"].max()), float(az.ess(d)["d"].min())
"""
PRIOR = """
est.fit(rows(300, 10))
Z = rows(1000, 10, 1)
def another(sd):
    return est.with_prior(priors.StandardizedRowSum(sd=sd)).probability_normal(Z)
sds = (0.7, 0.8, 0.9, 1.1, 1.2)
found["it"] = float(np.median([spent(lambda: another(sd)) for sd in sds]))
"""
PREDICT = """
est.fit(rows(500, 20))
Z = rows(60_000, 20, 1)
found["it"] = spent(lambda: est.predict(Z))
"""
MEMORY = """
est.fit(rows(12_000, 10))
with open("/proc/self/status") as status:
    kB = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
found["it"] = kB / 1024
"""
IMPORT = "start = clock(); from bsvdd import BSVDD; found['it'] = clock() - start"
MEASURED = {
    **{
        f"processor seconds of a default fit, {n:,} x 10": GENERATED + FIT.format(n=n)
        for n in (300, 1000, 3000, 12_000)
    },
    "processor seconds of with_prior and 1,000 probabilities, 300 rows": GENERATED
    + PRIOR,
    "processor seconds of predict of 60,000 x 20, 500 atoms": GENERATED + PREDICT,
    "seconds of import bsvdd; BSVDD": IMPORT,
    "MB at the peak of a fit, 12,000 x 10": GENERATED + MEMORY,
}


def in_new_process(code: str, tree: Path) -> dict[str, float]:
    """Return the dictionary ``found`` of a code that the environment of a tree runs."""
    own = Path(__file__).parents[1]
    python = sys.executable if tree == own else str(tree / ".venv" / "bin" / "python")
    run = [python, "-c", f"{PREAMBLE}{code}\nprint(json.dumps(found))"]
    done = subprocess.run(run, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a measured process failed in {tree}:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(arguments: list[str] | None = None) -> None:
    """Time both trees, and print."""
    parser = argparse.ArgumentParser("python -m benchmarks.before", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args(arguments)
    trees = {"this": Path(__file__).parents[1], "other": chosen.folder.resolve()}
    for what, code in MEASURED.items():
        rows = [
            {"tree": name, **in_new_process(code, tree)}
            for _ in range(chosen.repeats)
            for name, tree in trees.items()
        ]
        medians = pd.DataFrame(rows).groupby("tree").median()
        print(f"\n{what}: {medians['it']['this'] / medians['it']['other']:.2f}")
        print(medians.round(3).to_string())


if __name__ == "__main__":
    main()
