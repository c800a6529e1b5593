"""What is quick stays quick: nothing heavy is imported before it is needed."""

import json
import subprocess
import sys

import numpy as np
import pytest

HEAVY = {"pymc", "pytensor", "arviz", "arviz_base", "numba", "nutpie", "matplotlib"}
# parts of scikit-learn that import half of it; the base of an estimator needs none of them
SLOW_PARTS = {f"sklearn.{part}" for part in ("impute", "metrics", "neighbors", "preprocessing")}
SAY = "import sys, json; print(json.dumps(sorted(sys.modules)))"


def imported_by(code, *arguments):
    """Return the modules and packages that a fresh process has imported at the end of ``code``."""
    run = [sys.executable, "-c", f"{code}\n{SAY}", *map(str, arguments)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.nc"
    fitted("BSVDD").save(path)
    return path


def test_import_bsvdd_imports_no_arrays():
    assert not imported_by("import bsvdd") & {
        *HEAVY,
        "numpy",
        "scipy",
        "sklearn",
        "xarray",
        "pandas",
    }


def test_scoring_by_a_saved_model_needs_no_pymc(saved):
    code = """
import sys, bsvdd
est = bsvdd.load(sys.argv[1])
est.predict([[0.0, 0.0, 0.0]]), est.probability_normal([[0.0, 0.0, 0.0]])
est.distance([[0.0, 0.0, 0.0]]), est.with_cutoff("g_mean")
"""
    assert not imported_by(code, saved) & HEAVY


def test_the_command_score_needs_no_pymc(saved, new_rows, tmp_path):
    csv = tmp_path / "new.csv"
    np.savetxt(csv, new_rows, delimiter=",", header="a,b,c", comments="")
    code = """
import sys
from bsvdd.cli.main import main
main(["score", *sys.argv[1:]], standalone_mode=False)
"""
    loaded = imported_by(code, saved, csv, "--out", tmp_path / "out.csv")
    assert not loaded & {*HEAVY, *SLOW_PARTS}
    assert (tmp_path / "out.csv").exists()


def test_models_without_a_posterior_need_no_pymc():
    code = """
import numpy as np
from bsvdd import OCSVM, SVDD, SVDDM, kernels, priors
X = np.random.default_rng(0).normal(size=(40, 2))
for est in (SVDD(), OCSVM(), SVDDM()):
    est.fit(X, X[:, 0] > 1).predict(X)
"""
    assert not imported_by(code) & HEAVY


@pytest.mark.parametrize("command", ["models", "data", "--help"])
def test_lists_need_no_scikit_learn(command):
    code = f"""
from bsvdd.cli.main import main
main([{command!r}], standalone_mode=False)
"""
    loaded = imported_by(code)
    assert not loaded & {*HEAVY, "sklearn", "pandas", "xarray", "safetensors", "joblib"}
    assert ("numpy" in loaded) == (command == "data")
