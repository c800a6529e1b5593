"""Compiled functions of a PyMC model, one compilation per model structure and process.

A model's log density is compiled with its ``pm.Data`` and the lengths of its dims as inputs,
so the same function serves other rows, another number of rows, and other prior numbers.
Whether two models have the same structure is asked of their graphs, which makes it right for
any prior a user writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable, equal_computations
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import graph_inputs

_PYTHON = Mode(linker="py", optimizer="fast_compile")  # for what is called once per fit


@dataclass(frozen=True)
class _Graph:
    """The log density and the named quantities of a model as symbolic expressions."""

    values: list[Variable]  # unconstrained parameters
    shared: list[SharedVariable]  # pm.Data and lengths of dims
    logp: Variable
    named: list[Variable]  # free variables, then deterministics

    @classmethod
    def of(cls, model: pm.Model) -> _Graph:
        logp = model.logp()
        named = model.replace_rvs_by_values([*model.free_RVs, *model.deterministics])
        inputs = graph_inputs([logp, *named])
        shared = [v for v in inputs if isinstance(v, SharedVariable)]
        return cls(list(model.value_vars), shared, logp, named)

    def same_structure(self, other: _Graph) -> bool:
        mine, theirs = [*self.values, *self.shared], [*other.values, *other.shared]
        return (
            len(mine) == len(theirs)
            and len(self.named) == len(other.named)
            and all(
                a.name == b.name and a.type == b.type for a, b in zip(mine, theirs, strict=True)
            )
            and equal_computations(
                [self.logp, *self.named], [other.logp, *other.named], in_xs=mine, in_ys=theirs
            )
        )


@dataclass(frozen=True)
class _Functions:
    logp_and_gradient: Callable  # (*values, *shared) -> (logp, *gradients)
    named: Callable  # (*batches of values, *shared) -> batches of named quantities


KEPT = 32  # structures; a notebook's lambdas could pile up
_compiled: list[tuple[_Graph, _Functions]] = []
_count = 0
_lock = threading.Lock()


def compilations() -> int:
    """Return how many model structures this process has compiled."""
    return _count


def _functions(graph: _Graph) -> _Functions:
    """Return the compiled functions of ``graph``; they take the inputs in its order."""
    global _count
    with _lock:
        for i, (known, functions) in enumerate(_compiled):
            if graph.same_structure(known):
                _compiled.append(_compiled.pop(i))  # the most recently used last
                return functions
        functions = _compile(graph)
        _count += 1
        _compiled.append((graph, functions))
        del _compiled[:-KEPT]
        return functions


def _compile(graph: _Graph) -> _Functions:
    placeholders = [v.type(name=v.name) for v in graph.shared]
    givens = dict(zip(graph.shared, placeholders, strict=True))
    logp_and_gradient = pytensor.function(
        [*graph.values, *placeholders],
        [graph.logp, *pt.grad(graph.logp, graph.values)],
        givens=givens,
        mode="NUMBA",
        trust_input=True,
        on_unused_input="ignore",
    )
    batches = [v.type.clone(shape=(None, *v.type.shape))(name=v.name) for v in graph.values]
    named = pytensor.function(
        [*batches, *placeholders],
        vectorize_graph(graph.named, dict(zip(graph.values, batches, strict=True))),
        givens=givens,
        mode=_PYTHON,
        on_unused_input="ignore",
    )
    # the bare jitted function keeps nothing between calls, so chains can share it
    return _Functions(logp_and_gradient.vm.jit_fn, named)


class Density:
    """The log density of one model with its data, as functions of one flat vector.

    Attributes
    ----------
    size : int
        Number of unconstrained parameters.
    """

    def __init__(self, model: pm.Model):
        graph = _Graph.of(model)
        self._functions = _functions(graph)
        self._data = [v.get_value(borrow=True) for v in graph.shared]
        self._model = model
        self._point = model.initial_point()
        self._shapes = [self._point[v.name].shape for v in graph.values]
        self._names = [v.name for v in graph.values]
        self._bounds = np.cumsum([0, *(int(np.prod(s)) for s in self._shapes)])
        self.size = int(self._bounds[-1])

    def _split(self, x: np.ndarray) -> list[np.ndarray]:
        """Take the last axis of ``x`` apart into the model's parameters."""
        return [
            x[..., a:b].reshape(x.shape[:-1] + shape)
            for a, b, shape in zip(self._bounds[:-1], self._bounds[1:], self._shapes, strict=True)
        ]

    def logp_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log density and gradient at the unconstrained vector ``x``."""
        logp, *gradients = self._functions.logp_and_gradient(*self._split(x), *self._data)
        if len(gradients) == 1:
            return float(logp), gradients[0].ravel()
        return float(logp), np.concatenate([g.ravel() for g in gradients])

    def initial_point(self, rng: np.random.Generator) -> np.ndarray:
        """Return PyMC's initial point with its jitter, U(-1, 1) on the unconstrained scale."""
        center = np.concatenate([np.ravel(self._point[name]) for name in self._names])
        return center + rng.uniform(-1.0, 1.0, self.size)

    def named(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return all named quantities at a batch of unconstrained vectors, (S, size)."""
        values = self._functions.named(*self._split(x), *self._data)
        variables = [*self._model.free_RVs, *self._model.deterministics]
        return {v.name: value for v, value in zip(variables, values, strict=True)}
