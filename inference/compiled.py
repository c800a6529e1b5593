"""Compiled functions of a PyMC model, one compilation per model structure and process.

A model's log density is compiled with its ``pm.Data`` and the lengths of its dims as inputs,
so the same function serves other rows, another number of rows, and other prior numbers.
Whether two models have the same structure is asked of their graphs, which makes it right for
any prior a user writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.logprob.basic import conditional_logp
from pymc.logprob.utils import local_check_parameter_to_ninf_switch
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode, get_mode
from pytensor.compile.rewriting import inline_ofg_node
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Variable, equal_computations
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace, vectorize_graph
from pytensor.graph.rewriting.basic import dfs_rewriter, in2out, node_rewriter
from pytensor.graph.traversal import ancestors, graph_inputs

from ..models.potential import prior_potentials
from ..models.quadratic_form import QuadraticForm


@node_rewriter([OpFromGraph])
def _inlined(fgraph: Any, node: Apply) -> list[Variable]:
    """Replace an operation by what it is made of, which else is compiled as a function apart."""
    return inline_ofg_node(node)


# NumPy's own functions, for what is called some hundred times, or on batches: there is nothing
# to compile, and products of matrices are BLAS's
NUMPY = (
    Mode(linker="py", optimizer="fast_run")
    .excluding("fusion", "inplace")
    .register((dfs_rewriter(_inlined), 3.0))
)
EARLY = -0.5  # among PyTensor's rewrites: before operations are replaced by what they are made of


@dataclass(frozen=True)
class Graph:
    """The log density and the named quantities of a model as symbolic expressions."""

    values: list[Variable]  # unconstrained parameters
    shared: list[SharedVariable]  # pm.Data and lengths of dims
    logp: Variable
    named: dict[str, Variable]  # free variables, then deterministics
    free: list[Variable]  # the free random variables
    potentials: list[Variable]  # of these, those that priors have made
    w: Variable  # of the free random variables

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

    def of_active_points(self) -> Graph:
        """Return the log density with the weights of some points only in the likelihood.

        One more of the shared variables, the last, says which points K and r are of.
        """
        forms = (v.owner for v in ancestors([self.logp]) if v.owner is not None)
        w = next(node.inputs[0] for node in forms if isinstance(node.op, QuadraticForm))
        active = pytensor.shared(np.arange(0), name="active")
        logp = clone_replace(self.logp, {w: w[active]})
        return replace(self, shared=[*self.shared, active], logp=logp, named={})

    def same_structure(self, other: Graph) -> bool:
        """Return whether the two graphs differ in nothing but their data."""
        mine, theirs = [*self.values, *self.shared], [*other.values, *other.shared]
        return (
            len(mine) == len(theirs)
            and list(self.named) == list(other.named)
            and all(
                a.name == b.name and a.type == b.type for a, b in zip(mine, theirs, strict=True)
            )
            and equal_computations(self.outputs, other.outputs, in_xs=mine, in_ys=theirs)
        )


# PyTensor rewrites graphs and compiles in one thread at a time: its rewriters hold state
lock = threading.RLock()


def _unchecked(logps: list[Variable]) -> list[Variable]:
    """Return log densities that are -inf for a parameter out of range, and raise no error.

    A sampler may look there. PyMC does so too, when it compiles; but for batches it has to be
    done before: one member out of range would make the density of all 0.
    """
    graph = FunctionGraph(outputs=clone_replace(logps), clone=False)  # with the same inputs
    in2out(local_check_parameter_to_ninf_switch).rewrite(graph)
    found: list[Variable] = graph.outputs
    return found


def _batches(variables: list[Variable]) -> dict[Variable, Variable]:
    """Return, for each variable, one with a first axis more."""
    return {v: v.type.clone(shape=(None, *v.type.shape))(name=v.name) for v in variables}


class CompiledFunctions:
    """The functions of one structure, each compiled when it is first called for.

    They take the unconstrained parameters, or batches of them, and then the shared data. A function
    of PyTensor keeps its inputs and results in storage of its own while it runs, so two threads
    must not run it at once: who calls one holds ``running`` until its results are copied. Machine
    code keeps nothing between calls and needs no lock.
    """

    def __init__(self, graph: Graph):
        self.graph = graph
        self.running = threading.RLock()
        self._placeholders = [v.type(name=v.name) for v in graph.shared]

    def _function(self, inputs: list[Variable], outputs: Any, mode: Any = NUMPY) -> Any:
        with lock:
            return pytensor.function(
                [*inputs, *self._placeholders],
                outputs,
                givens=dict(zip(self.graph.shared, self._placeholders, strict=True)),
                mode=mode,
                on_unused_input="ignore",
                trust_input=True,
            )

    @cached_property
    def _logp(self) -> Variable:
        return _unchecked([self.graph.logp])[0]

    @property
    def _logp_and_gradient(self) -> list[Variable]:
        return [self._logp, *pt.grad(self._logp, self.graph.values)]

    @cached_property
    def machine_code(self) -> Callable:
        """Return log density and gradients, by numba."""
        from .symmetric import by_one_triangle  # and numba, which takes its time to import

        mode = get_mode("NUMBA").register((in2out(by_one_triangle), EARLY))
        # the bare jitted function keeps nothing between calls, so chains can share it
        return self._function(self.graph.values, self._logp_and_gradient, mode).vm.jit_fn

    @cached_property
    def logp_and_gradient(self) -> Callable:
        """Return log density and gradients, by NumPy."""
        return self._function(self.graph.values, self._logp_and_gradient)

    @cached_property
    def batch(self) -> Callable:
        """Return the log densities and the named quantities of a batch."""
        batches = _batches(self.graph.values)
        outputs = vectorize_graph(_unchecked(self.graph.outputs), batches)
        return self._function(
            list(batches.values()), [pytensor.Out(v, borrow=True) for v in outputs]
        )

    @cached_property
    def log_prior(self) -> Callable:
        """Return the log prior densities of a batch of the free variables.

        Of these variables themselves, unlike the rest: a transform to unconstrained parameters
        has no part in it, nor has that of a share to its probit. After the densities of the free
        variables come the potentials that priors have made.
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
        sums = vectorize_graph(sums, batches)
        # one number for a whole batch, where a density is constant as that of pm.Flat is
        sums = [pt.broadcast_to(one, inputs[0].shape[:1]) for one in sums]
        return self._function(inputs, sums)

    @cached_property
    def weights(self) -> Callable:
        """Return the weights of a batch of the free variables."""
        batches = _batches(self.graph.free)
        return self._function(list(batches.values()), vectorize_graph(self.graph.w, batches))

    @cached_property
    def hessian_products(self) -> Callable:
        """Return products of the Hessian at one point with a batch of vectors."""
        values = self.graph.values
        vectors = [v.type(name=f"vector_{v.name}") for v in values]
        gradients = pt.grad(self._logp, values)
        slope = sum(pt.sum(g * v) for g, v in zip(gradients, vectors, strict=True))
        products = pt.grad(slope, values, disconnected_inputs="ignore")
        batches = _batches(vectors)
        return self._function([*values, *batches.values()], vectorize_graph(products, batches))


KEPT = 32  # structures; a notebook's lambdas could pile up
_compiled: list[CompiledFunctions] = []
_count = 0


def compilations() -> int:
    """Return how many model structures this process has compiled."""
    return _count


def compiled(graph: Graph) -> CompiledFunctions:
    """Return the compiled functions of ``graph``; they take the inputs in its order."""
    global _count
    with lock:
        for i, known in enumerate(_compiled):
            if graph.same_structure(known.graph):
                _compiled.append(_compiled.pop(i))  # the most recently used last
                return known
        functions = CompiledFunctions(graph)
        _count += 1
        _compiled.append(functions)
        del _compiled[:-KEPT]
        return functions
