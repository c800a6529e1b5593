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


def operations(model):
    """Return the names of the operations in the machine code of a model."""
    functions = compiled.CompiledFunctions(compiled.Graph.of(model))
    function = functions._compiled(
        functions.graph.values, functions._logp_and_gradient, compiled.numba_mode()
    )
    nodes = function.maker.fgraph.apply_nodes
    return [type(getattr(node.op, "core_op", node.op)).__name__ for node in nodes]


@pytest.mark.parametrize("compiler", [True, False])
def test_machine_code_has_no_product_of_matrices(compiler):
    """Numba compiles one for 15 s.

    No warning comes from PyTensor's rewriting. An error there is only logged, so warnings are
    recorded here.
    """
    rows = np.random.default_rng(2).normal(size=(14, 2))
    gram = Gram.from_rows(kernels.RBF(1.2), rows[:8], rows[8:])
    cxx = {} if compiler else {"cxx": ""}
    with (
        pytensor.config.change_flags(**cxx),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        model = bsvdd_m.build(gram, priors.StandardizedRowSum(), priors.Beta(total=1))
        ops = operations(model)
    assert ops.count("SymmetricProduct") == 1 and "Dot" not in ops
    assert not [w for w in caught if "fusion" in str(w.message)]


def test_the_factor_of_a_covariance_is_not_computed_again(toy_gram):
    """PyMC makes the covariance of its factor, so a gradient would take O(n^3)."""
    prior = priors.Normal(sd=0.8, sigma=np.full((8, 8), 0.5) + 0.5 * np.eye(8))
    ops = operations(bsvdd.build(toy_gram, prior))
    assert "SolveTriangular" in ops
    assert not {"Cholesky", "Dot"} & set(ops)
