"""The package works with the lowest versions that its bounds allow."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLDEST = "3.12"  # Python
SMOKE = """
import warnings
import numpy as np
import pandas as pd
import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, OCSVM, SVDD, plots, priors

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(2.5, 0.7, size=(8, 2))])
X, y = pd.DataFrame(X, columns=["a", "b"]), np.repeat([0, 1], [60, 8])
for model in (SVDD, OCSVM, BDD, BDDM, BSVDD, BSVDDM):
    est = model().fit(X, y)
    est.save("fit.safetensors")
    old, new = est.decision(X), bsvdd.load("fit.safetensors").decision(X)
    pd.testing.assert_frame_equal(old, new)
    if hasattr(est, "with_prior"):
        est.with_prior(priors.Flat()).summary()
        plots.plot_distances(est)
        est.idata_.to_netcdf("draws.nc")
    est.report("report.html")
BSVDD(sampler="nuts", draws=100, tune=100).fit(X)
print("all fits")
"""


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_every_model_is_fitted_with_the_lowest_versions(tmp_path):
    folder = tmp_path / "lowest"
    if shutil.which("uv") is None or subprocess.run(["uv", "python", "find", OLDEST]).returncode:
        pytest.skip(f"uv or Python {OLDEST} is not installed")
    subprocess.run(["uv", "venv", "--python", OLDEST, folder], check=True, cwd=ROOT)
    (python,) = [*folder.glob("bin/python"), *folder.glob("Scripts/python.exe")]
    source = tmp_path / "source"  # a build leaves files beside the source
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "docs", "tests"))
    install = ["uv", "pip", "install", "--python", python, "--resolution", "lowest-direct", source]
    subprocess.run(install, check=True, cwd=ROOT)
    run = subprocess.run(
        [python, "-c", SMOKE],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg", "PYTHONPATH": ""},
        capture_output=True,
        text=True,
    )
    assert "all fits" in run.stdout, run.stderr
