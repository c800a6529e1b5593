"""Quick steps stay quick: public names are there, and nothing is imported early."""

import ast
import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import bsvdd
from tests.cases import run

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
STUB = Path(bsvdd.__file__).with_name("__init__.pyi")
HEAVY = {"pymc", "pytensor", "numba", "nutpie", "matplotlib"}
HEAVY |= {"arviz", "arviz_base", "arviz_stats"}
TREES = {"xarray", "dask"}
# parts of scikit-learn that import half of it; the base of an estimator needs none of
# them
SLOW_PARTS = {
    f"sklearn.{part}" for part in ("impute", "metrics", "neighbors", "preprocessing")
}
NO_LISTS = {"sklearn", "pandas", "xarray", "safetensors", "joblib"}
SAY = "import sys, json; print(json.dumps(sorted(sys.modules)))"
COMMAND = """
import sys
from bsvdd.cli.main import main
main(sys.argv[1:], standalone_mode=False)
"""
SCORE = """
import sys, bsvdd
est = bsvdd.load(sys.argv[1])
est.predict([[0.0, 0.0, 0.0]]), est.probability_normal([[0.0, 0.0, 0.0]])
est.distance([[0.0, 0.0, 0.0]]), est.with_cutoff(bsvdd.cutoffs.Best())
"""
FIT = """
import numpy as np
from bsvdd import OCSVM, SVDD, SVDDM, kernels, priors
X = np.random.default_rng(0).normal(size=(40, 2))
for est in (SVDD(), OCSVM(), SVDDM()):
    est.fit(X, X[:, 0] > 1).predict(X)
"""
CASES = {  # code, its arguments, what it imports, and what it does not
    "import": ("import bsvdd", "", set(), {"numpy", "scipy", *NO_LISTS}),
    "score": (SCORE, "MODEL", {"numpy"}, set()),
    "bsvdd score": (
        COMMAND,
        "score MODEL CSV --out OUT",
        {"numpy"},
        TREES | SLOW_PARTS,
    ),
    "bsvdd outliers": (COMMAND, "outliers CSV --out OUT", {"numpy"}, TREES),
    "models without a posterior": (FIT, "", {"numpy"}, set()),
    "bsvdd --help": (COMMAND, "--help", set(), {"numpy", *NO_LISTS}),
    "bsvdd data": (COMMAND, "data", {"numpy"}, NO_LISTS),
}


@pytest.fixture(scope="module")
def files(fitted, new_rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = {name: str(folder / name.lower()) for name in ("MODEL", "CSV", "OUT")}
    fitted("BSVDD").save(paths["MODEL"])
    np.savetxt(paths["CSV"], new_rows, delimiter=",", header="a,b,c", comments="")
    return paths


@pytest.mark.parametrize("case", CASES)
def test_what_is_imported(case, files):
    code, arguments, some, none = CASES[case]
    words = [files.get(word, word) for word in arguments.split()]
    said = run(sys.executable, "-c", f"{code}\n{SAY}", *words)
    loaded = set(json.loads(said.splitlines()[-1]))
    assert some <= loaded and not loaded & {*HEAVY, *none}
    assert "OUT" not in arguments or Path(files["OUT"]).exists()


def test_every_public_name_can_be_imported_and_is_listed():
    names = [
        (
            "bsvdd" + (f".{node.module}" if node.module else ""),
            alias.asname or alias.name,
        )
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert names, "the stub names nothing"
    for module, name in names:
        there = getattr(importlib.import_module(module), name, None)
        assert getattr(bsvdd, name) is (
            there or importlib.import_module(f"{module}.{name}")
        )
    assert {name for _, name in names} <= set(bsvdd.__all__) & set(dir(bsvdd))


def test_fit_predict_loads_the_room_above_when_it_is_called():
    code = (
        "import sys, warnings\n"
        "from bsvdd import BSVDD\n"
        "import numpy as np\n"
        "warnings.simplefilter('ignore')\n"
        "X = np.random.default_rng(0).normal(size=(40, 2))\n"
        "est = BSVDD(draws=50, tune=50)\n"
        "assert 'bsvdd.outliers.stand_out' not in sys.modules\n"
        "print(set(est.fit_predict(X).tolist()) <= {1, -1})\n"
    )
    assert run(sys.executable, "-c", code).strip() == "True"
