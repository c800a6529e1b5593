"""Compiled functions of a PyMC model, one compilation per model structure and process.

A model's log density is compiled with its ``pm.Data`` and the lengths of its dims as inputs,
so the same function serves other rows, another number of rows, and other prior numbers.
Two models have the same structure if their graphs are equal, so this is correct for any prior that
a user writes.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, override

import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.logprob.basic import conditional_logp
from pymc.logprob.utils import local_check_parameter_to_ninf_switch
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode, get_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import disconnected_grad
from pytensor.graph.basic import Apply, Variable, equal_computations
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace, vectorize_graph
from pytensor.graph.rewriting.basic import dfs_rewriter, in2out, node_rewriter
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.tensor.math import Dot

try:
    from pytensor.compile.rewriting import inline_ofg_node
except ModuleNotFoundError:  # before PyTensor 3.3
    from pytensor.tensor.rewriting.ofg import inline_ofg_node

from ..models.potential import prior_potentials
from ..models.quadratic_form import QuadraticForm
from . import compile_folder
from .structure import recalled

compile_folder.ensure()


@node_rewriter([OpFromGraph])
def _inlined(fgraph: Any, node: Apply) -> list[Variable]:
    """Replace a composite operation by its parts; it would be compiled as a separate function."""
    return inline_ofg_node(node)


@node_rewriter([Dot])
def _products_of_vectors(fgraph: Any, node: Apply) -> list[Variable] | None:
    """Replace a product of two vectors by a sum.

    PyTensor writes it as a product of a row and a column, and numba would compile a product of
    matrices for it, which takes 15 s.
    """
    row, column = node.inputs
    if row.type.shape[0] != 1 or column.type.shape[1] != 1:
        return None
    return [pt.sum(row.T * column, keepdims=True)]


# functions that are called a few hundred times, or on batches, run in NumPy: nothing has to be
# compiled, and BLAS computes the matrix products
NUMPY = (
    Mode(linker="py", optimizer="fast_run")
    .excluding("fusion", "inplace")
    .register((dfs_rewriter(_inlined), 3.0))
)
# positions among PyTensor's rewrites
EARLY = -0.5  # before composite operations are replaced by their parts
SIMPLE = 1.5  # when products have their simplest form, and before those of BLAS replace them


def numba_mode() -> Mode:
    """Return the mode for functions that are called often: machine code by numba."""
    from .symmetric import by_one_triangle  # late: numba is slow to import

    mode: Mode = get_mode("NUMBA").register(
        (in2out(by_one_triangle), EARLY), (in2out(_products_of_vectors), SIMPLE)
    )
    # without a C compiler PyTensor fuses loops of at most 32 operands, and warns
    return mode if pytensor.config.cxx else mode.excluding("fusion")


@dataclass(frozen=True)
class Graph:
    """The log density and the named quantities of a model as symbolic expressions."""

    values: list[Variable]  # unconstrained parameters
    shared: list[SharedVariable]  # pm.Data and lengths of dims
    logp: Variable
    named: dict[str, Variable]  # free variables, then deterministics
    free: list[Variable]  # the free random variables
    potentials: list[Variable]  # those that priors add, as functions of the free variables
    w: Variable  # the weights, as a function of the free variables

    @classmethod
    def of(cls, model: pm.Model) -> Graph:
        """Return the graph of ``model``."""
        with lock:
            return cls._of(model)

    @classmethod
    def _of(cls, model: pm.Model) -> Graph:
        logp = model.logp()
        variables = [*model.free_RVs, *model.deterministics]
        values = model.replace_rvs_by_values(variables)
        named = {v.name: value for v, value in zip(variables, values, strict=True)}
        inputs = graph_inputs([logp, *values])
        shared = [v for v in inputs if isinstance(v, SharedVariable)]
        potentials = prior_potentials(model)
        free = list(model.free_RVs)
        return cls(list(model.value_vars), shared, logp, named, free, potentials, model["w"])

    @property
    def outputs(self) -> list[Variable]:
        """The log density, then the named quantities."""
        return [self.logp, *self.named.values()]

    @cached_property
    def has_quadratic_form(self) -> bool:
        """Whether the log density is made of w'Kw by one :class:`.QuadraticForm`."""
        nodes = {v.owner for v in ancestors([self.logp]) if v.owner is not None}
        return sum(isinstance(node.op, QuadraticForm) for node in nodes) == 1

    def same_structure(self, other: Graph) -> bool:
        """Return whether the two graphs are equal up to their data."""
        mine, theirs = [*self.values, *self.shared], [*other.values, *other.shared]
        return (
            len(mine) == len(theirs)
            and list(self.named) == list(other.named)
            and all(
                a.name == b.name and a.type == b.type for a, b in zip(mine, theirs, strict=True)
            )
            and equal_computations(self.outputs, other.outputs, in_xs=mine, in_ys=theirs)
        )


# PyTensor's rewriters hold state, so only one thread at a time may rewrite graphs and compile
lock = threading.RLock()


def without_c() -> AbstractContextManager[None]:
    """Keep PyTensor from compiling in C what is inside of other operations, such as a softmax.

    It does so in modes without C too, and takes seconds for each. The caller has the lock.
    """
    context: AbstractContextManager[None] = pytensor.config.change_flags(cxx="")
    return context


def without_fast_math() -> AbstractContextManager[None]:
    """Keep numba from reordering sums, so that a seed makes the same draws in each process.

    With fast math, code that was just compiled and the same code from the cache on disk round
    differently, and NUTS turns the last digit into other draws. The caller has the lock.
    """
    context: AbstractContextManager[None] = pytensor.config.change_flags(numba__fastmath=False)
    return context


def _unchecked(logps: list[Variable]) -> list[Variable]:
    """Return log densities that are -inf, and no error, for a parameter out of range.

    A sampler may propose such a parameter. PyMC does the same when it compiles; batches need it
    before, because one vector out of range would set the density of the whole batch to 0.
    """
    graph = FunctionGraph(outputs=clone_replace(logps), clone=False)  # with the same inputs
    in2out(local_check_parameter_to_ninf_switch).rewrite(graph)
    outputs: list[Variable] = graph.outputs
    return outputs


def _batches(variables: list[Variable]) -> dict[Variable, Variable]:
    """Return, for each variable, a variable with one more axis, the first."""
    return {v: v.type.clone(shape=(None, *v.type.shape))(name=v.name) for v in variables}


def _vectorized(outputs: list[Variable], batches: dict[Variable, Variable]) -> list[Variable]:
    """Return outputs of batches; one that does not depend on them is repeated."""
    size = next(iter(batches.values())).shape[0]
    return [
        v if v.ndim > output.ndim else pt.broadcast_to(v, (size, *v.shape))
        for v, output in zip(vectorize_graph(outputs, batches), outputs, strict=True)
    ]


def _tangent(w: Variable, Kw: Variable, norm: Variable) -> Variable:
    """Return the tangent of w'Kw: its value, and its gradient 2 Kw by w, without curvature."""
    tangent: Variable = 2.0 * (w @ disconnected_grad(Kw)) - disconnected_grad(norm)
    return tangent


class made_once(cached_property):
    """A cached property that one thread computes while the others wait."""

    @override
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        with lock:
            return super().__get__(instance, owner)


class Function:
    """A PyTensor function that several threads may call at once.

    While it runs, a PyTensor function keeps its inputs and results in its own storage. So each
    call takes a copy that no other call uses; a copy takes milliseconds to make, and is kept.
    """

    def __init__(self, function: Any):
        self._original, self._unused = function, [function]

    @contextmanager
    def copy(self) -> Iterator[Any]:
        """Give a copy, to be used until the block ends; borrowed results end with it."""
        try:
            function = self._unused.pop()
        except IndexError:
            with lock:
                function = self._original.copy()
        try:
            yield function
        finally:
            self._unused.append(function)

    def __call__(self, *inputs: Any) -> Any:
        """Return the results, which no later call changes."""
        with self.copy() as function:
            return function(*inputs)


class CompiledFunctions:
    """The functions of one model structure, each compiled on first use.

    Their inputs are the unconstrained parameters, or batches of them, and then the shared data.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self._placeholders = [v.type(name=v.name) for v in graph.shared]
        for placeholder, v in zip(self._placeholders, graph.shared, strict=True):
            # what PyTensor may assume: PyMC tags the factor of a covariance as triangular
            placeholder.tag = copy.copy(v.tag)

    def _function(self, inputs: list[Variable], outputs: Any) -> Function:
        """Return a function that runs in NumPy."""
        with without_c():
            return Function(self._compiled(inputs, outputs, NUMPY))

    def _compiled(self, inputs: list[Variable], outputs: Any, mode: Any) -> Any:
        return pytensor.function(
            [*inputs, *self._placeholders],
            outputs,
            givens=dict(zip(self.graph.shared, self._placeholders, strict=True)),
            mode=mode,
            on_unused_input="ignore",
            trust_input=True,
        )

    @made_once
    def _logp(self) -> Variable:
        return _unchecked([self.graph.logp])[0]

    @property
    def _logp_and_gradient(self) -> list[Variable]:
        return [self._logp, *pt.grad(self._logp, self.graph.values)]

    def _machine_code(self, inputs: list[Variable], outputs: Any) -> Callable:
        """Return a function compiled by numba."""
        with without_fast_math():
            # the bare jitted function keeps no state between calls, so chains can share it
            return self._compiled(inputs, outputs, numba_mode()).vm.jit_fn

    @made_once
    def machine_code(self) -> Callable:
        """Log density and gradients as a function, compiled by numba."""
        return self._machine_code(self.graph.values, self._logp_and_gradient)

    @made_once
    def weights_in_machine_code(self) -> Callable:
        """The weights w of the quadratic form w'Kw of a batch as a function, compiled by numba."""
        (w, _), _, _ = self._quadratic_form
        batches = _batches(self.graph.values)
        return self._machine_code(list(batches.values()), _vectorized([w], batches))

    @made_once
    def of_product_in_machine_code(self) -> Callable:
        """Log densities and gradients of a batch and its Kw as a function, compiled by numba.

        The products with K are the caller's, who makes one product of matrices of them.
        """
        (w, _), norm, _ = self._quadratic_form
        Kw = w.type(name="product_with_K")
        logp = clone_replace(self._logp, {norm: _tangent(w, Kw, w @ Kw)})
        outputs = [logp, *pt.grad(logp, self.graph.values)]
        batches = _batches([*self.graph.values, Kw])
        return self._machine_code(list(batches.values()), _vectorized(outputs, batches))

    @made_once
    def logp_and_gradient(self) -> Function:
        """Log density and gradients as a function, run in NumPy."""
        return self._function(self.graph.values, self._logp_and_gradient)

    @made_once
    def batch(self) -> Function:
        """The log densities and the named quantities of a batch, as a function."""
        batches = _batches(self.graph.values)
        outputs = vectorize_graph(_unchecked(self.graph.outputs), batches)
        return self._function(
            list(batches.values()), [pytensor.Out(v, borrow=True) for v in outputs]
        )

    @made_once
    def log_prior(self) -> Function:
        """The log prior densities of a batch of the free variables, as a function.

        They are densities of the variables themselves, with no Jacobian of the transform to
        unconstrained parameters, or of a share to its probit. The potentials that priors add come
        after the densities of the free variables.
        """
        values = {rv: rv.type(name=rv.name) for rv in self.graph.free}
        logps = conditional_logp(values)
        potentials = clone_replace([pt.sum(v) for v in self.graph.potentials], values)
        batches = _batches(list(values.values()))
        inputs = list(batches.values())
        densities = []
        for rv, value in values.items():
            density = logps[value]
            if hasattr(rv.tag, "log_jacobian"):
                density = density - clone_replace(rv.tag.log_jacobian, values)
            densities.append(pt.sum(density))
        sums = _unchecked([*densities, *potentials])
        return self._function(inputs, _vectorized(sums, batches))

    @made_once
    def weights(self) -> Function:
        """The weights of a batch of the free variables, as a function."""
        batches = _batches(self.graph.free)
        return self._function(list(batches.values()), vectorize_graph(self.graph.w, batches))

    @made_once
    def hessian_products(self) -> Function:
        """The products of the Hessian at one point with a batch of vectors, as a function."""
        return self._hessian_products(self._logp)

    def _hessian_products(self, logp: Variable) -> Function:
        values = self.graph.values
        vectors = [v.type(name=f"vector_{v.name}") for v in values]
        gradients = pt.grad(logp, values)
        slope = sum(pt.sum(g * v) for g, v in zip(gradients, vectors, strict=True))
        products = pt.grad(slope, values, disconnected_inputs="ignore")
        batches = _batches(vectors)
        return self._function([*values, *batches.values()], vectorize_graph(products, batches))

    @made_once
    def tangent_hessian_products(self) -> Function:
        """:attr:`hessian_products` of the log density with w'Kw replaced by its tangent.

        The tangent at the point has the value and the gradient of w'Kw by w, and no curvature.
        """
        (w, _), norm, Kw = self._quadratic_form
        return self._hessian_products(clone_replace(self._logp, {norm: _tangent(w, Kw, norm)}))

    @made_once
    def jacobian_products(self) -> Function:
        """Products with the Jacobian J of the weights, as a function of a point, u and x.

        It returns J x, a vector with the length of the weights, J'u, in the parts of the
        parameters, and the derivative of the log density by w'Kw.
        """
        (w, _), norm, _ = self._quadratic_form
        values, u = self.graph.values, pt.vector("u")
        vectors = [v.type(name=f"vector_{v.name}") for v in values]
        transposed = pt.grad(w @ u, values, disconnected_inputs="zero")
        slope = sum(pt.sum(g * v) for g, v in zip(transposed, vectors, strict=True))
        of_norm = pt.grad(self._logp, norm)
        return self._function([*values, u, *vectors], [pt.grad(slope, u), *transposed, of_norm])

    @property
    def _quadratic_form(self) -> tuple[list[Variable], Variable, Variable]:
        """The inputs w and K, and the outputs w'Kw and Kw of the quadratic form."""
        nodes = {v.owner for v in ancestors([self._logp]) if v.owner is not None}
        (node,) = (node for node in nodes if isinstance(node.op, QuadraticForm))
        return node.inputs, *node.outputs


_compiled: list[CompiledFunctions] = []
_count = 0


def compilations() -> int:
    """Return how many model structures this process has compiled."""
    return _count


def compiled(graph: Graph) -> CompiledFunctions:
    """Return the compiled functions of ``graph``, with inputs in the order of its variables."""

    def make() -> CompiledFunctions:
        global _count
        _count += 1
        return CompiledFunctions(graph)

    with lock:
        return recalled(_compiled, lambda known: graph.same_structure(known.graph), make)
