"""The product with one triangle of a symmetric matrix, as it is and in machine code."""

import warnings

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from bsvdd.inference import compiled
from bsvdd.inference.log_density import LogDensity
from bsvdd.inference.symmetric import SymmetricProduct
from bsvdd.models import Gram, bsvdd, bsvdd_m
from pytensor.tensor.math import Dot

from bsvdd import kernels, priors


@pytest.fixture(scope="module", params=["py", "NUMBA"])
def product(request):
    K, w = pt.dmatrix("K"), pt.dvector("w")
    mode = pytensor.compile.mode.Mode(linker="py") if request.param == "py" else "NUMBA"
    return pytensor.function([K, w], SymmetricProduct()(K, w), mode=mode)


@pytest.mark.parametrize("n", [1, 2, 3, 64, 257])
def test_product(product, n):
    rng = np.random.default_rng(n)
    A, w = rng.normal(size=(n, n)), rng.normal(size=n)
    K = A @ A.T
    np.testing.assert_allclose(product(K, w), K @ w, rtol=1e-12, atol=1e-12 * np.abs(K).sum())
    np.testing.assert_allclose(product(K[::-1, ::-1], w), (K @ w[::-1])[::-1], rtol=1e-9)


def test_one_triangle_is_read(product):
    """Which is what makes it cheap: what stands in the other one does not count."""
    rng = np.random.default_rng(0)
    A, w = rng.normal(size=(9, 9)), rng.normal(size=9)
    sides = [side + np.triu(side, 1).T for side in (np.triu(A), np.triu(A.T))]
    assert min(np.abs(product(A, w) - K @ w).max() for K in sides) < 1e-12


def test_machine_code_reads_one_triangle_too(toy_gram):
    density = LogDensity(bsvdd.build(toy_gram, priors.StandardizedRowSum()))
    x = np.random.default_rng(1).normal(size=density.size)
    expected, slope = density.logp_and_gradient(x)
    at, values = density._shared.index("K"), []
    for K in (toy_gram.K, np.triu(toy_gram.K), np.tril(toy_gram.K)):
        density._data[at] = np.ascontiguousarray(K)
        values.append(density.machine_code()(x))
    assert values[0][0] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(values[0][1], slope, rtol=1e-9, atol=1e-12)
    same = [
        value == values[0][0] and (gradient == values[0][1]).all() for value, gradient in values
    ]
    assert same.count(True) == 2


@pytest.mark.parametrize("compiler", [True, False])
def test_machine_code_is_quick_to_compile(monkeypatch, compiler):
    """It has no product of matrices, which numba compiles for 15 s.

    No warning comes from PyTensor's rewriting. An error there is only logged, so warnings are
    recorded here.
    """
    made, make = [], compiled.CompiledFunctions._compiled
    monkeypatch.setattr(
        compiled.CompiledFunctions,
        "_compiled",
        lambda *arguments: made.append(make(*arguments)) or made[-1],
    )
    rows = np.random.default_rng(2).normal(size=(14, 2))
    gram = Gram.from_rows(kernels.RBF(1.2), rows[:8], rows[8:])
    model = bsvdd_m.build(gram, priors.StandardizedRowSum(), priors.Beta(total=1))
    cxx = {} if compiler else {"cxx": ""}
    with (
        pytensor.config.change_flags(**cxx),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        compiled.CompiledFunctions(compiled.Graph.of(model)).machine_code  # noqa: B018
    ops = [node.op for node in made[0].maker.fgraph.apply_nodes]
    assert sum(isinstance(op, SymmetricProduct) for op in ops) == 1
    assert not any(isinstance(op, Dot) for op in ops)
    assert not [w for w in caught if "fusion" in str(w.message)]
