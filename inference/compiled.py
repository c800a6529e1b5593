"""Compiled functions of a PyMC model, one compilation per model structure and process.

A model's log density is compiled with its ``pm.Data`` and the lengths of its dims as inputs,
so the same function serves other rows, another number of rows, and other prior numbers.
Two models have the same structure if their graphs are equal, so this is correct for any prior that
a user writes.
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
from pymc.initial_point import make_initial_point_expression
from pymc.logprob.basic import conditional_logp
from pymc.logprob.utils import local_check_parameter_to_ninf_switch
from pymc.pytensorf import collect_default_updates
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode, get_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Variable, equal_computations
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace, vectorize_graph
from pytensor.graph.rewriting.basic import dfs_rewriter, in2out, node_rewriter
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType

try:
    from pytensor.compile.rewriting import inline_ofg_node
except ModuleNotFoundError:  # before PyTensor 3.3
    from pytensor.tensor.rewriting.ofg import inline_ofg_node

from ..models.potential import prior_potentials
from ..models.quadratic_form import QuadraticForm
from . import compile_folder

compile_folder.ensure()


@node_rewriter([OpFromGraph])
def _inlined(fgraph: Any, node: Apply) -> list[Variable]:
    """Replace a composite operation by its parts; it would be compiled as a separate function."""
    return inline_ofg_node(node)


# functions that are called a few hundred times, or on batches, run in NumPy: nothing has to be
# compiled, and BLAS computes the matrix products
NUMPY = (
    Mode(linker="py", optimizer="fast_run")
    .excluding("fusion", "inplace")
    .register((dfs_rewriter(_inlined), 3.0))
)
EARLY = -0.5  # position among PyTensor's rewrites: before composite operations are replaced


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

    @property
    def has_quadratic_form(self) -> bool:
        """Whether the log density is made of w'Kw by :class:`.QuadraticForm`."""
        nodes = (v.owner for v in ancestors([self.logp]) if v.owner is not None)
        return any(isinstance(node.op, QuadraticForm) for node in nodes)

    def restricted(self) -> Graph:
        """Return the log density whose likelihood has the weights of some points only.

        It has one more shared variable, the last: the indices of these points.
        """
        forms = (v.owner for v in ancestors([self.logp]) if v.owner is not None)
        w = next(node.inputs[0] for node in forms if isinstance(node.op, QuadraticForm))
        active = pytensor.shared(np.arange(0), name="active")
        logp = clone_replace(self.logp, {w: w[active]})
        return replace(self, shared=[*self.shared, active], logp=logp, named={})

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


class CompiledFunctions:
    """The functions of one model structure, each compiled on first use.

    Their inputs are the unconstrained parameters, or batches of them, and then the shared data. A
    PyTensor function keeps its inputs and results in its own storage while it runs, so two threads
    must not run it at once: a caller holds ``running`` until the results are copied. Machine code
    keeps no state between calls and needs no lock.
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
        """Log density and gradients as a function, compiled by numba."""
        from .symmetric import by_one_triangle  # late: numba is slow to import

        mode = get_mode("NUMBA").register((in2out(by_one_triangle), EARLY))
        # the bare jitted function keeps no state between calls, so chains can share it
        return self._function(self.graph.values, self._logp_and_gradient, mode).vm.jit_fn

    @cached_property
    def logp_and_gradient(self) -> Callable:
        """Log density and gradients as a function, run in NumPy."""
        return self._function(self.graph.values, self._logp_and_gradient)

    @cached_property
    def batch(self) -> Callable:
        """The log densities and the named quantities of a batch, as a function."""
        batches = _batches(self.graph.values)
        outputs = vectorize_graph(_unchecked(self.graph.outputs), batches)
        return self._function(
            list(batches.values()), [pytensor.Out(v, borrow=True) for v in outputs]
        )

    @cached_property
    def log_prior(self) -> Callable:
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
        sums = vectorize_graph(sums, batches)
        # a constant density, such as that of pm.Flat, is one number for the batch
        sums = [pt.broadcast_to(total, inputs[0].shape[:1]) for total in sums]
        return self._function(inputs, sums)

    @cached_property
    def weights(self) -> Callable:
        """The weights of a batch of the free variables, as a function."""
        batches = _batches(self.graph.free)
        return self._function(list(batches.values()), vectorize_graph(self.graph.w, batches))

    @cached_property
    def hessian_products(self) -> Callable:
        """The products of the Hessian at one point with a batch of vectors, as a function."""
        values = self.graph.values
        vectors = [v.type(name=f"vector_{v.name}") for v in values]
        gradients = pt.grad(self._logp, values)
        slope = sum(pt.sum(g * v) for g, v in zip(gradients, vectors, strict=True))
        products = pt.grad(slope, values, disconnected_inputs="ignore")
        batches = _batches(vectors)
        return self._function([*values, *batches.values()], vectorize_graph(products, batches))


MAX_STRUCTURES = 32  # kept in memory: the lambdas of a notebook could pile up
_compiled: list[CompiledFunctions] = []
_count = 0


def compilations() -> int:
    """Return how many model structures this process has compiled."""
    return _count


def compiled(graph: Graph) -> CompiledFunctions:
    """Return the compiled functions of ``graph``, with inputs in the order of its variables."""
    global _count
    with lock:
        for i, functions in enumerate(_compiled):
            if graph.same_structure(functions.graph):
                _compiled.append(_compiled.pop(i))  # the most recently used last
                return functions
        functions = CompiledFunctions(graph)
        _count += 1
        _compiled.append(functions)
        del _compiled[:-MAX_STRUCTURES]
        return functions


@dataclass(frozen=True)
class Written:
    """A model as it is written, before its log density is derived.

    Models that are written alike have the same densities up to their data. To compare them takes
    a small part of the time that it takes to derive a density.
    """

    names: list[str]
    variables: list[Variable]
    transforms: list[Any]
    data: list[SharedVariable]  # pm.Data and lengths of dims
    generators: list[SharedVariable]  # of random numbers
    has_starts: bool  # starting points of the user's own

    @classmethod
    def of(cls, model: pm.Model) -> Written:
        """Return how ``model`` is written."""
        named = [*model.free_RVs, *model.deterministics, *model.potentials]
        jacobians = [v.tag.log_jacobian for v in model.free_RVs if hasattr(v.tag, "log_jacobian")]
        observed = [v for rv in model.observed_RVs for v in (rv, model.rvs_to_values[rv])]
        names = [*(v.name for v in named), *(v.name for v in prior_potentials(model))]
        variables = [*named, *jacobians, *observed]
        shared = [v for v in graph_inputs(variables) if isinstance(v, SharedVariable)]
        return cls(
            names,
            variables,
            [model.rvs_to_transforms[rv] for rv in model.free_RVs],
            [v for v in shared if not isinstance(v.type, RandomType)],
            [v for v in shared if isinstance(v.type, RandomType)],
            any(start is not None for start in model.rvs_to_initial_values.values()),
        )

    def alike(self, other: Written) -> bool:
        """Return whether the two are equal up to their data."""
        mine, theirs = [*self.data, *self.generators], [*other.data, *other.generators]
        return (
            not (self.has_starts or other.has_starts)
            and self.names == other.names
            and [v.name for v in self.data] == [v.name for v in other.data]
            and [v.type for v in mine] == [v.type for v in theirs]
            # bounds inside a transform cannot be compared, so only the same object is the same
            and len(self.transforms) == len(other.transforms)
            and all(a is b for a, b in zip(self.transforms, other.transforms, strict=True))
            and len(self.variables) == len(other.variables)
            and equal_computations(self.variables, other.variables, in_xs=mine, in_ys=theirs)
        )


class Structure:
    """What models that are written alike share.

    Attributes
    ----------
    written : Written
        That of the first such model.
    graph : Graph
    functions : CompiledFunctions
    """

    def __init__(self, model: pm.Model, written: Written):
        self.written = written
        self.graph = Graph.of(model)
        self.functions = compiled(self.graph)
        self._placeholders = [v.type(name=v.name) for v in written.data]
        self._starts = make_initial_point_expression(
            free_rvs=model.free_RVs,
            rvs_to_transforms=model.rvs_to_transforms,
            jitter_rvs=set(),
            initval_strategies=dict(model.rvs_to_initial_values),
            return_transformed=True,
        )

    @cached_property
    def initial_point(self) -> Callable:
        """PyMC's initial point, as a function of the data."""
        pairs = zip(self.written.data, self._placeholders, strict=True)
        place = {id(v.container): placeholder for v, placeholder in pairs}
        shared = [v for v in graph_inputs(self._starts) if isinstance(v, SharedVariable)]
        with lock:
            return pytensor.function(
                self._placeholders,
                self._starts,
                # PyMC copies the data's variables, but not what they hold
                givens={v: place[id(v.container)] for v in shared if id(v.container) in place},
                mode=NUMPY,
                on_unused_input="ignore",
                trust_input=True,
            )

    @cached_property
    def _prior(self) -> tuple[Callable, bool, int]:
        """A function that draws the weights, if it draws many at once, and its generators.

        It takes the number of draws, the generators and the data, and returns the weights, and the
        generators after them.
        """
        with lock:
            w, size = self.graph.w, pt.lscalar("draws")
            updates = collect_default_updates(w)
            batches = _independent_draws(w, size)
            outputs = [w if batches is None else vectorize_graph(w, batches), *updates.values()]
            generators = [v.type() for v in updates]
            replaced = [*updates, *self.written.data]
            inputs = [*generators, *self._placeholders]
            function = pytensor.function(
                [size, *inputs],
                outputs if batches is None else outputs[:1],
                givens=dict(zip(replaced, inputs, strict=True)),
                mode=NUMPY,
                on_unused_input="ignore",
                trust_input=True,
            )
            return function, batches is not None, len(updates)

    def draw_prior(self, data: list[np.ndarray], draws: int, seed: int | None) -> np.ndarray:
        """Return draws of the weights from the prior, shape (draws, M)."""
        function, at_once, n = self._prior
        seeds = np.random.SeedSequence(seed).spawn(n)
        generators, weights = [np.random.Generator(np.random.PCG64(s)) for s in seeds], []
        with self.functions.running:
            size = np.asarray(draws)
            if at_once:
                return np.array(function(size, *generators, *data)[0])
            for _ in range(draws):
                w, *generators = function(size, *generators, *data)
                weights.append(w)
        return np.stack(weights)


def _independent_draws(w: Variable, draws: Variable) -> dict[Variable, Variable] | None:
    """Return, for each random variable of ``w``, that variable with an axis of draws first.

    None if a random variable depends on another one, or is made of others: then one draw of ``w``
    must follow the other.
    """
    random = [
        v
        for v in ancestors([w])
        if v.owner is not None
        and not isinstance(v.type, RandomType)
        and any(isinstance(part.type, RandomType) for part in v.owner.inputs)
    ]
    batches = {}
    for v in random:
        node = v.owner
        above = set(ancestors(node.inputs))
        if not isinstance(node.op, RandomVariable) or any(other in above for other in random):
            return None
        rng, _, *parameters = node.inputs
        own = [v.shape[i] for i in range(v.type.ndim - node.op.ndim_supp)]
        batches[v] = node.op.make_node(rng, pt.stack([draws, *own]), *parameters).outputs[1]
    return batches or None


_structures: list[Structure] = []


def structure_of(model: pm.Model) -> tuple[Structure, list[np.ndarray]]:
    """Return the structure of ``model``, and its data in the order of ``structure.written``."""
    written = Written.of(model)
    data = [v.get_value(borrow=True) for v in written.data]
    with lock:
        for i, structure in enumerate(_structures):
            if structure.written.alike(written):
                _structures.append(_structures.pop(i))  # the most recently used last
                return structure, data
        structure = Structure(model, written)
        _structures.append(structure)
        del _structures[:-MAX_STRUCTURES]
        return structure, data
