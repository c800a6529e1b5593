"""Thousands of fits and scores in one process: memory and file handles stay flat.

BSVDD_FITS is their number: BSVDD_FITS=300 uv run pytest -n 0 -m long -s FILE
"""

import json
import os
import subprocess
import sys

import pytest

FITS = int(os.environ.get("BSVDD_FITS", "2000"))
WARM = 200  # fits after which nothing may grow
MOST = 20  # MB

CODE = """
import gc, json, sys, tempfile, warnings
from pathlib import Path
import numpy as np, psutil
import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, SVDDM, load

warnings.simplefilter("ignore")
few = dict(draws=50, tune=50, chains=2)
models = [SVDD, SVDDM, BDD, BSVDD, BSVDDM, BDDM]
process, seen = psutil.Process(), []
X = np.random.default_rng(0).normal(size=(30, 3))
for model in (BSVDD, BSVDDM):  # the compiler of NUTS stays in memory
    model(sampler="nuts", **few).fit(X, np.arange(30) < 6)
with tempfile.TemporaryDirectory() as folder:
    for i in range(int(sys.argv[1])):
        rng = np.random.default_rng(i)
        X = rng.normal(size=(30 + i % 11, 3))
        y = np.arange(len(X)) < 6
        model = models[i % len(models)]
        drawn = "draws" in model().get_params()
        est = model(**(few | {"random_state": i} if drawn else {})).fit(X, y)
        est.decision(X)
        bsvdd.p_value(est, X[:5])
        if i % 10 == 0:
            est.save(Path(folder) / "model.nc")
            load(Path(folder) / "model.nc").predict(X)
        if (i + 1) % 50 == 0:
            del est
            gc.collect()
            of_unix = hasattr(process, "num_fds")
            files = process.num_fds() if of_unix else process.num_handles()
            memory = process.memory_info().rss / 1e6
            seen.append((i + 1, memory, files, process.num_threads()))
            print(seen[-1], file=sys.stderr, flush=True)
print(json.dumps(seen))
"""


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_memory_and_files_stay_flat():
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(FITS)],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0
    later = [each for each in json.loads(done.stdout) if each[0] >= WARM]
    assert later[-1][0] >= FITS - 50
    _, first, files, threads = later[0]
    assert max(megabytes for _, megabytes, _, _ in later) - first <= MOST
    assert {each[2] for each in later} == {files}
    assert max(each[3] for each in later) <= threads
