"""The log density of a PyMC model as a function of one flat vector."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor
from pymc.logprob.utils import ParameterValueError
from pytensor.compile.mode import Mode

from .cancellation import checkpoint
from .compiled import Graph, compiled

BATCH_VALUES = 200_000  # of a batch that is evaluated at once: its copies stay in the cache
HESSIAN_VALUES = 2_000_000  # of second derivatives that are taken at once


class LogDensity:
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
        self._graph = graph = Graph.of(model)
        self._functions = compiled(graph)
        self._shared = [v.name for v in graph.shared]
        self._data = [v.get_value(borrow=True) for v in graph.shared]
        self.model = model
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
        with self._functions.running:  # compiled once, also when two threads ask for it
            function = self._functions.machine_code
        return lambda x: self._logp_and_gradient(function, x)

    def logp_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log density and gradient at the unconstrained vector ``x``."""
        with self._functions.running:
            return self._logp_and_gradient(self._functions.logp_and_gradient, x)

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return log densities (S,) and all named quantities (S, ...) of a batch (S, size)."""
        self.products += self._part * len(x)
        step = max(1, BATCH_VALUES // self.size)
        whole: list[np.ndarray] = []
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            with self._functions.running:
                parts = self._functions.batch(*self._split(x[rows]), *self._data)
                whole = whole or self._like(parts, len(x))
                for values, part in zip(whole, parts, strict=True):
                    values[rows] = part
        return whole[0], dict(zip(self._graph.named, whole[1:], strict=True))

    def _like(self, parts: list[np.ndarray], n: int) -> list[np.ndarray]:
        """Return empty arrays for n members of a batch of which ``parts`` are some."""
        ndims = [v.type.ndim for v in self._graph.outputs]
        shapes = [v.shape[v.ndim - ndim :] for v, ndim in zip(parts, ndims, strict=True)]
        return [np.empty((n, *s), v.dtype) for v, s in zip(parts, shapes, strict=True)]

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
            with self._functions.running:
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
        found, values = [], self.model.value_vars
        mode = Mode(linker="py", optimizer=None)  # which lets parameters out of range raise
        for variable in [*self.model.free_RVs, *self.model.potentials]:
            logp = self.model.logp(vars=variable, jacobian=False)
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
        with self._functions.running:
            parts = self._of_free(self._functions.log_prior, draws)
            names = [*self.free, *(v.name for v in self._graph.potentials)]
            return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))

    def weights(self, draws: dict[str, np.ndarray]) -> np.ndarray:
        """Return the weights (S, M) that the model makes of draws of its free variables."""
        with self._functions.running:
            return np.concatenate(self._of_free(self._functions.weights, draws))

    def _of_free(self, function: Callable, draws: dict[str, np.ndarray]) -> list[Any]:
        """Return what ``function`` makes of the draws of the free variables, batch by batch."""
        step, free = max(1, BATCH_VALUES // self.size), [draws[name] for name in self.free]
        return [
            function(*(v[i : i + step] for v in free), *self._data)
            for i in range(0, len(free[0]), step)
        ]

    @property
    def free(self) -> list[str]:
        """Names of the free variables."""
        return [v.name for v in self.model.free_RVs]

    @property
    def n_points(self) -> int:
        """Number of dictionary points."""
        return len(self._data[self._shared.index("r")])

    def on(self, active: np.ndarray) -> LogDensity:
        """Return the log density that leaves all points but the ``active`` ones out of K and r."""
        new = copy.copy(self)
        new._graph = self._graph.of_active_points()
        new._functions = compiled(new._graph)
        K, r = (self._data[self._shared.index(name)] for name in ("K", "r"))
        part = {"K": np.ascontiguousarray(K[np.ix_(active, active)]), "r": r[active]}
        shared = zip(self._shared, self._data, strict=True)
        new._data = [*(part.get(name, value) for name, value in shared), active]
        new.products, new._part = 0.0, (len(active) / self.n_points) ** 2
        return new
