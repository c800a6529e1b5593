"""A new model enters the house by one file with one class."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from bsvdd.inference.sampling import draw
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.rows import Rows

from bsvdd import kernels, priors
from docs import example_model
from tests.cases import run

ROOT = Path(__file__).parents[2]
FLOORS = ["models", "inference"]
USE = """
import sys
from pathlib import Path
import numpy as np
import bsvdd
from bsvdd.comparison import datasets, runner
from bsvdd.estimators.softplus import SoftplusDD

X = np.random.default_rng(0).normal(size=(40, 2))
est = SoftplusDD(draws=100, tune=100).fit(X)
assert est.predict([[0.0, 0.0], [9.0, 9.0]]).tolist() == [1, -1]
est.save(Path(sys.argv[1]) / "model.nc")
assert abs(bsvdd.load(Path(sys.argv[1]) / "model.nc").cutoff_ - est.cutoff_) < 1e-6
assert est.with_prior(bsvdd.priors.Flat()).kernel_ == est.kernel_
assert "softplus weights" in bsvdd.methods(est)
wine = datasets.embedded("wine_cultivar3")
results = runner.compare([wine], ["SoftplusDD"], replicates=1)
assert results["error"].eq("").all(), results["error"].tolist()
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the package with the model of the contributor's guide."""
    copy = tmp_path_factory.mktemp("house")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "bsvdd", copy / "bsvdd", ignore=ignored)
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, copy / "bsvdd" / floor, ignore=ignored)
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=ignored)
    for name in ("benchmarks", "docs"):  # which the tests import
        (copy / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", copy)
    code = (ROOT / "docs" / "example_model.py").read_text(encoding="utf-8")
    code = code.replace("from bsvdd.", "from ..")
    (copy / "bsvdd" / "estimators" / "softplus.py").write_text(code, encoding="utf-8")
    return copy


@pytest.mark.slow
def test_estimator_study_and_files_know_it(house, tmp_path):
    words = [sys.executable, "-W", "ignore", "-c", USE, tmp_path]
    run(*words, cwd=house, PYTHONPATH=str(house))


def test_the_example_model_against_a_quadrature(worst_z):
    """E[w | x] of two atoms, one of three equal rows, over a grid of both betas."""
    rows = np.array([[0.0], [0.0], [0.0], [0.7]])
    gram = Dictionary.of(kernels.RBF(0.5), Rows.of(rows))
    sd, scale, number = 1.5, 3.0, gram.sizes
    assert sorted(number) == [1.0, 3.0]
    variance = np.log1p(np.expm1(sd**2) / number)
    mean = np.log(number) + (sd**2 - variance) / 2
    beta = np.stack(
        np.meshgrid(*[np.linspace(-9.0, 9.0, 301)] * 2, indexing="ij"), axis=-1
    )
    s = np.log1p(np.exp(beta))
    w = s / s.sum(axis=-1, keepdims=True)
    squares = gram.T - 2 * w @ gram.r + 4 * np.einsum("abi,ij,abj->ab", w, gram.K, w)
    log_density = -scale / 2 * squares - (np.square(beta - mean) / (2 * variance)).sum(
        axis=-1
    )
    density = np.exp(log_density - log_density.max())[..., None]
    truth = (density * w).sum(axis=(0, 1)) / density.sum()

    model = example_model.Softplus(gram, priors.Flat(sd), scale)
    assert worst_z(draw(model, "auto", 4000, 500, 2, seed=1).by_chain, truth) < 4
    assert (
        worst_z(draw(model, "auto", 4000, 500, 2, seed=1).by_chain, np.full(2, 0.5)) > 4
    )
