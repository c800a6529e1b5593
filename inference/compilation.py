"""Compiled functions of a PyMC model, one compilation per model structure and process.

A model's log density is compiled with its ``pm.Data`` and the lengths of its dims as inputs,
so the same function serves other rows, another number of rows, and other prior numbers.
Whether two models have the same structure is asked of their graphs, which makes it right for
any prior a user writes.
"""

from __future__ import annotations

import copy
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
from pymc.logprob.utils import ParameterValueError, local_check_parameter_to_ninf_switch
from pytensor.compile.builders import OpFromGraph
from pytensor.compile.mode import Mode, get_mode
from pytensor.compile.rewriting import inline_ofg_node
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Variable, equal_computations
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace, vectorize_graph
from pytensor.graph.rewriting.basic import dfs_rewriter, in2out, node_rewriter
from pytensor.graph.traversal import ancestors, graph_inputs

from ..models.symbolic import QuadraticForm
from .latest import checkpoint


@node_rewriter([OpFromGraph])
def _opened(fgraph: Any, node: Apply) -> list[Variable]:
    """Replace an operation by what it is made of, which else is compiled as a function apart."""
    return inline_ofg_node(node)


# NumPy's own functions, for what is called some hundred times, or on batches: there is nothing
# to compile, and products of matrices are BLAS's
_NUMPY = (
    Mode(linker="py", optimizer="fast_run")
    .excluding("fusion", "inplace")
    .register((dfs_rewriter(_opened), 3.0))
)
EARLY = -0.5  # among PyTensor's rewrites: before operations are replaced by what they are made of
BATCH_VALUES = 200_000  # of a batch that is evaluated at once: its copies stay in the cache
HESSIAN_VALUES = 2_000_000  # of second derivatives that are taken at once


@dataclass(frozen=True)
class _Graph:
    """The log density and the named quantities of a model as symbolic expressions."""

    values: list[Variable]  # unconstrained parameters
    shared: list[SharedVariable]  # pm.Data and lengths of dims
    logp: Variable
    named: dict[str, Variable]  # free variables, then deterministics
    free: list[Variable]  # the free random variables
    potentials: list[Variable]  # of these, those that priors have made
    w: Variable  # of the free random variables

    @classmethod
    def of(cls, model: pm.Model) -> _Graph:
        logp = model.logp()
        variables = [*model.free_RVs, *model.deterministics]
        values = model.replace_rvs_by_values(variables)
        named = {v.name: value for v, value in zip(variables, values, strict=True)}
        inputs = graph_inputs([logp, *values])
        shared = [v for v in inputs if isinstance(v, SharedVariable)]
        potentials = [v for v in model.potentials if v.name != "kernel"]
        free = list(model.free_RVs)
        return cls(list(model.value_vars), shared, logp, named, free, potentials, model["w"])

    @property
    def outputs(self) -> list[Variable]:
        return [self.logp, *self.named.values()]

    def of_active_points(self) -> _Graph:
        """Return the log density with the weights of some points only in the likelihood.

        One more of the shared variables, the last, says which points K and r are of.
        """
        forms = (v.owner for v in ancestors([self.logp]) if v.owner is not None)
        w = next(node.inputs[0] for node in forms if isinstance(node.op, QuadraticForm))
        active = pytensor.shared(np.arange(0), name="active")
        logp = clone_replace(self.logp, {w: w[active]})
        return replace(self, shared=[*self.shared, active], logp=logp, named={})

    def same_structure(self, other: _Graph) -> bool:
        mine, theirs = [*self.values, *self.shared], [*other.values, *other.shared]
        return (
            len(mine) == len(theirs)
            and list(self.named) == list(other.named)
            and all(
                a.name == b.name and a.type == b.type for a, b in zip(mine, theirs, strict=True)
            )
            and equal_computations(self.outputs, other.outputs, in_xs=mine, in_ys=theirs)
        )


lock = threading.Lock()  # PyTensor compiles in one thread at a time


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


class _Functions:
    """The functions of one structure, each compiled when it is first called for.

    They take the unconstrained parameters, or batches of them, and then the shared data.
    """

    def __init__(self, graph: _Graph):
        self.graph = graph
        self._placeholders = [v.type(name=v.name) for v in graph.shared]

    def _function(self, inputs: list[Variable], outputs: Any, mode: Any = _NUMPY) -> Any:
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
_compiled: list[_Functions] = []
_count = 0


def compilations() -> int:
    """Return how many model structures this process has compiled."""
    return _count


def _functions(graph: _Graph) -> _Functions:
    """Return the compiled functions of ``graph``; they take the inputs in its order."""
    global _count
    with lock:
        for i, known in enumerate(_compiled):
            if graph.same_structure(known.graph):
                _compiled.append(_compiled.pop(i))  # the most recently used last
                return known
        functions = _Functions(graph)
        _count += 1
        _compiled.append(functions)
        del _compiled[:-KEPT]
        return functions


class Density:
    """The log density of one model with its data, as functions of one flat vector.

    Attributes
    ----------
    size : int
        Number of unconstrained parameters.
    products : float
        Products of K with a vector that were taken so far; a batch takes one for each of its
        members, and a product with the active part of K counts as that part.
    """

    def __init__(self, model: pm.Model):
        self._graph = graph = _Graph.of(model)
        self._functions = _functions(graph)
        self._shared = [v.name for v in graph.shared]
        self._data = [v.get_value(borrow=True) for v in graph.shared]
        self._model = model
        self._point = model.initial_point()
        self._shapes = [self._point[v.name].shape for v in graph.values]
        self._names = [v.name for v in graph.values]
        discrete = [
            v.name for v in graph.values if v.type.dtype.startswith(("int", "uint", "bool"))
        ]
        if discrete or not graph.values:
            raise ValueError(
                "the priors must make continuous free variables, but "
                + (
                    f"{', '.join(discrete)} is discrete"
                    if discrete
                    else "there is none that is free"
                )
            )
        self._center = np.concatenate([np.ravel(self._point[name]) for name in self._names])
        self._bounds = np.cumsum([0, *(int(np.prod(s)) for s in self._shapes)])
        self.size = int(self._bounds[-1])
        self.products = 0.0
        self._part = 1.0  # of K that a product takes

    def _split(self, x: np.ndarray) -> list[np.ndarray]:
        """Take the last axis of ``x`` apart into the model's parameters."""
        return [
            x[..., a:b].reshape(x.shape[:-1] + shape)
            for a, b, shape in zip(self._bounds[:-1], self._bounds[1:], self._shapes, strict=True)
        ]

    @staticmethod
    def _join(parts: list[np.ndarray], batch: tuple[int, ...] = ()) -> np.ndarray:
        if len(parts) == 1:
            return np.asarray(parts[0]).reshape(*batch, -1)
        return np.concatenate([np.asarray(p).reshape(*batch, -1) for p in parts], axis=-1)

    def _logp_and_gradient(self, function: Callable, x: np.ndarray) -> tuple[float, np.ndarray]:
        checkpoint()
        self.products += self._part
        logp, *gradients = function(*self._split(x), *self._data)
        return float(logp), self._join(gradients)

    def machine_code(self) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Return :meth:`logp_and_gradient` in machine code, for a sampler that asks often."""
        function = self._functions.machine_code
        return lambda x: self._logp_and_gradient(function, x)

    def logp_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log density and gradient at the unconstrained vector ``x``."""
        return self._logp_and_gradient(self._functions.logp_and_gradient, x)

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return log densities (S,) and all named quantities (S, ...) of a batch (S, size)."""
        self.products += self._part * len(x)
        step = max(1, BATCH_VALUES // self.size)
        whole: list[np.ndarray] = []
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            parts = self._functions.batch(*self._split(x[rows]), *self._data)
            if not whole:
                ndims = [v.type.ndim for v in self._graph.outputs]
                shapes = [v.shape[v.ndim - ndim :] for v, ndim in zip(parts, ndims, strict=True)]
                whole = [
                    np.empty((len(x), *shape), v.dtype)
                    for v, shape in zip(parts, shapes, strict=True)
                ]
            for values, part in zip(whole, parts, strict=True):
                values[rows] = part
        return whole[0], dict(zip(self._graph.named, whole[1:], strict=True))

    def logp(self, x: np.ndarray) -> np.ndarray:
        """Return the log densities of a batch of unconstrained vectors, (S, size) -> (S,)."""
        return self.evaluate(x)[0]

    def hessian(self, x: np.ndarray) -> np.ndarray:
        """Return the second derivatives at the unconstrained vector ``x``, (size, size)."""
        self.products += self._part * self.size
        H, step = np.empty((self.size, self.size)), max(1, HESSIAN_VALUES // self.size)
        for start in range(0, self.size, step):
            rows = slice(start, min(start + step, self.size))
            vectors = np.eye(rows.stop - start, self.size, k=start)
            products = self._functions.hessian_products(
                *self._split(x), *self._split(vectors), *self._data
            )
            H[rows] = self._join(products, (len(vectors),))
        return (H + H.T) / 2.0  # products of BLAS are symmetric up to rounding only

    def jittered_points(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return PyMC's initial point n times, with U(-2, 2) added on the unconstrained scale.

        That is the jitter of Stan; PyMC's, U(-1, 1), has a smaller sd than a standard normal prior.
        """
        return self._center + rng.uniform(-2.0, 2.0, (n, self.size))

    def check(self) -> None:
        """Raise a ValueError where the density of the initial point is not finite."""
        logp, gradient = self.logp_and_gradient(self._center)
        if not (np.isfinite(logp) and np.isfinite(gradient).all()):
            raise ValueError(
                f"the log density is {logp} with {int((~np.isfinite(gradient)).sum())} gradients "
                "that are not finite at PyMC's initial point, so it cannot be sampled; a prior's "
                f"parameters are not finite, or exclude that point. By variable: {self._guilty()}"
            )

    def _guilty(self) -> str:
        """Return what each variable has to do with a density that is not finite."""
        found, values = [], self._model.value_vars
        mode = Mode(linker="py", optimizer=None)  # which lets parameters out of range raise
        for variable in [*self._model.free_RVs, *self._model.potentials]:
            logp = self._model.logp(vars=variable, jacobian=False)
            function = pytensor.function(values, logp, mode=mode, on_unused_input="ignore")
            try:
                value = float(function(*(self._point[v.name] for v in values)))
                found.append(f"{variable.name}: log density {value:.6g}")
            except ParameterValueError as error:
                condition = str(error).splitlines()[0]
                found.append(f"prior of {variable.name}: its parameters must meet {condition}")
        return "; ".join(found)

    def dispersed_points(self, n: int, width: float, rng: np.random.Generator) -> list[np.ndarray]:
        """Return PyMC's initial point, its average in each parameter, and n random points.

        These are uniform around that average, over the range of the initial point or ``width``,
        whichever is more: with prior means far apart, weights of a softmax that start near them
        would all start at the same few points. Of several variables, every other point moves each
        as a whole too: a sum of many parameters, such as the total of the minority weights, is
        hardly dispersed by what moves each of them apart.
        """
        average, reach = np.empty(self.size), np.empty(self.size)
        for a, b in zip(self._bounds[:-1], self._bounds[1:], strict=True):
            part = self._center[a:b]
            average[a:b], reach[a:b] = part.mean(), max(np.ptp(part), width)
        others = average + reach * rng.uniform(-1.0, 1.0, (n, self.size))
        if len(self._names) > 1:
            shifts = rng.uniform(-1.0, 1.0, (n // 2, len(self._names)))
            others[1::2] += reach * np.repeat(shifts, np.diff(self._bounds), axis=1)
        return [self._center, average, *others]

    def named(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return all named quantities at a batch of unconstrained vectors, (S, size)."""
        return self.evaluate(x)[1]

    def log_prior(self, draws: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return log prior densities (S,), each summed over its elements.

        They are those of the free variables and the potentials that priors have made, by name.

        Parameters
        ----------
        draws : dict of ndarray of shape (S, ...)
            Draws of the free variables, as :meth:`named` has them.
        """
        parts = self._of_free(self._functions.log_prior, draws)
        names = [*self.free, *(v.name for v in self._graph.potentials)]
        return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))

    def weights(self, draws: dict[str, np.ndarray]) -> np.ndarray:
        """Return the weights (S, M) that the model makes of draws of its free variables."""
        return np.concatenate(self._of_free(self._functions.weights, draws))

    def _of_free(self, function: Callable, draws: dict[str, np.ndarray]) -> list[Any]:
        """Return what ``function`` makes of the draws of the free variables, batch by batch."""
        step, given = max(1, BATCH_VALUES // self.size), [draws[name] for name in self.free]
        return [
            function(*(v[i : i + step] for v in given), *self._data)
            for i in range(0, len(given[0]), step)
        ]

    @property
    def free(self) -> list[str]:
        """Names of the free variables."""
        return [v.name for v in self._model.free_RVs]

    @property
    def n_points(self) -> int:
        """Number of dictionary points."""
        return len(self._data[self._shared.index("r")])

    def on(self, active: np.ndarray) -> Density:
        """Return the log density that leaves all points but the ``active`` ones out of K and r."""
        new = copy.copy(self)
        new._graph = self._graph.of_active_points()
        new._functions = _functions(new._graph)
        K, r = (self._data[self._shared.index(name)] for name in ("K", "r"))
        part = {"K": np.ascontiguousarray(K[np.ix_(active, active)]), "r": r[active]}
        shared = zip(self._shared, self._data, strict=True)
        new._data = [*(part.get(name, value) for name, value in shared), active]
        new.products, new._part = 0.0, (len(active) / self.n_points) ** 2
        return new
