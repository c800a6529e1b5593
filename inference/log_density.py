"""The log density of a PyMC model as a function of one flat vector."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor
from pymc.logprob.utils import ParameterValueError
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors

from . import threads
from .cancellation import checkpoint
from .jacobian import DiagonalAndOuter
from .known_models import compiled_model

BATCH_VALUES = 200_000  # values evaluated at once, so that copies fit into the CPU cache
BATCH_ROWS = 128  # or so many vectors, if these are more: fewer make products of matrices slow
HESSIAN_VALUES = 2_000_000  # second derivatives computed at once by products of matrices


class LogDensity:
    """The log density of one model with its data, as functions of one flat vector.

    Attributes
    ----------
    size : int
        Number of unconstrained parameters.
    products : float
        Number of products of K with a vector so far. A batch of S vectors counts as S, and a
        product with a part of K counts as that share of its entries.
    """

    def __init__(self, model: pm.Model):
        self._functions, shared, self._point = compiled_model(model)
        self._graph = graph = self._functions.graph
        self._shared = [v.name for v in shared]
        self._data = [v.get_value(borrow=True) for v in shared]
        self.model = model
        self._names = [v.name for v in graph.values]
        discrete = [
            v.name for v in graph.values if v.type.dtype.startswith(("int", "uint", "bool"))
        ]
        if discrete or not graph.values:
            raise ValueError(
                "the priors must make continuous free variables, but "
                + (f"{', '.join(discrete)} is discrete" if discrete else "there is none")
            )
        self._center = np.concatenate([np.ravel(self._point[name]) for name in self._names])
        self._lay_out([self._point[name].shape for name in self._names])
        self.products = 0.0
        self._share_of_K = 1.0  # that a product uses

    def _lay_out(self, shapes: list[tuple[int, ...]]) -> None:
        """Lay out parameters of these shapes in one vector."""
        self._shapes = shapes
        ends = np.cumsum([0, *(math.prod(shape) for shape in shapes)]).tolist()
        self._parts = list(map(slice, ends[:-1], ends[1:]))
        self.size = ends[-1]

    # NUTS splits and joins a vector for each gradient, which takes microseconds: no reshape of
    # parts that are vectors
    def _split(self, x: np.ndarray) -> list[np.ndarray]:
        """Split the last axis of ``x`` into the model's parameters."""
        return [
            x[..., part] if len(shape) == 1 else x[..., part].reshape(x.shape[:-1] + shape)
            for part, shape in zip(self._parts, self._shapes, strict=True)
        ]

    def _join(self, parts: list[np.ndarray], batch: tuple[int, ...] = ()) -> np.ndarray:
        """Join the model's parameters, or as many derivatives, on the last axis."""
        vectors = [
            part if len(shape) == 1 else np.reshape(part, (*batch, -1))
            for part, shape in zip(parts, self._shapes, strict=True)
        ]
        return vectors[0] if len(vectors) == 1 else np.concatenate(vectors, axis=-1)

    def _logp_and_gradient(self, function: Callable, x: np.ndarray) -> tuple[float, np.ndarray]:
        checkpoint()
        self.products += self._share_of_K
        logp, *gradients = function(*self._split(x), *self._data)
        return float(logp), self._join(gradients)

    def machine_code(self) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
        """Return :meth:`logp_and_gradient` as machine code, for samplers that call it often."""
        function = self._functions.machine_code
        return lambda x: self._logp_and_gradient(function, x)

    def batches_in_machine_code(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Return a function for log densities (S,) and gradients (S, size) of a batch.

        If the likelihood is the kernel potential, the products with K are one product of matrices.
        """
        if not self.has_kernel_potential:
            logp_and_gradient = self.machine_code()

            def one_by_one(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                logps, gradients = zip(*map(logp_and_gradient, x), strict=True)
                return np.array(logps), np.array(gradients)

            return one_by_one
        data, K = self._data, self._data[self._shared.index("K")]
        weights = self._functions.weights_in_machine_code
        of_product = self._functions.of_product_in_machine_code

        def by_one_product(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            checkpoint()
            self.products += self._share_of_K * len(x)
            parts = self._split(x)
            (w,) = weights(*parts, *data)
            logps, *gradients = of_product(*parts, w @ K, *data)
            return logps, self._join(gradients, (len(x),))

        return by_one_product

    def logp_and_gradient(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return log density and gradient at the unconstrained vector ``x``."""
        return self._logp_and_gradient(self._functions.logp_and_gradient, x)

    def evaluate(self, x: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Return log densities (S,) and all named quantities (S, ...) of a batch (S, size)."""
        self.products += self._share_of_K * len(x)
        step = max(BATCH_ROWS, BATCH_VALUES // self.size)
        outputs: list[np.ndarray] = []

        def of_block(rows: slice) -> None:
            with self._functions.batch.copy() as function:
                parts = function(*self._split(x[rows]), *self._data)
                if not outputs:
                    outputs.extend(self._empty_outputs(parts, len(x)))
                for values, part in zip(outputs, parts, strict=True):
                    values[rows] = part

        of_block(slice(step))  # the first one says the shapes
        threads.each(of_block, len(x), step, start=step)
        return outputs[0], dict(zip(self._graph.named, outputs[1:], strict=True))

    def _empty_outputs(self, parts: list[np.ndarray], n: int) -> list[np.ndarray]:
        """Return empty arrays for a batch of n vectors; ``parts`` are the outputs of some."""
        ndims = [v.type.ndim for v in self._graph.outputs]
        shapes = [v.shape[v.ndim - ndim :] for v, ndim in zip(parts, ndims, strict=True)]
        return [np.empty((n, *s), v.dtype) for v, s in zip(parts, shapes, strict=True)]

    def logp(self, x: np.ndarray) -> np.ndarray:
        """Return the log densities of a batch of unconstrained vectors, (S, size) -> (S,)."""
        return self.evaluate(x)[0]

    def hessian(self, x: np.ndarray) -> np.ndarray:
        r"""Return the second derivatives at the unconstrained vector ``x``, (size, size).

        With J the derivatives of the weights by x, and c that of the log density by
        :math:`w^\top K w`, they are

        .. math:: H = H_t + 2 c\, J^\top K J.

        :math:`H_t` is the Hessian with the tangent of :math:`w^\top K w` in its place. If J is a
        diagonal and an outer product, as that of a softmax, the second term takes
        O(size\ :sup:`2`); else the products of H with all unit vectors take O(size\ :sup:`3`).
        """
        found = self._jacobian(x) if self.has_kernel_potential else None
        if found is None:
            self.products += self._share_of_K * self.size
            H = self._columns(self._functions.hessian_products, x, HESSIAN_VALUES)
        else:
            jacobian, of_norm = found
            self.products += 2 * self._share_of_K  # Kw and Ku
            H = self._columns(self._functions.tangent_hessian_products, x, BATCH_VALUES)
            jacobian.add_congruence(H, self._data[self._shared.index("K")], 2.0 * of_norm)
        H += H.T.copy()  # BLAS makes it symmetric up to rounding only
        H /= 2.0
        return H

    def _columns(self, function: Callable, x: np.ndarray, values: int) -> np.ndarray:
        """Return the products of a symmetric matrix with all unit vectors, (size, size).

        ``values`` of them are computed at once.
        """
        H, step = np.empty((self.size, self.size)), max(1, values // self.size)
        for start in range(0, self.size, step):
            rows = slice(start, min(start + step, self.size))
            vectors = np.eye(rows.stop - start, self.size, k=start)
            products = function(*self._split(x), *self._split(vectors), *self._data)
            H[rows] = self._join(products, (len(vectors),))
        return H

    def _jacobian(self, x: np.ndarray) -> tuple[DiagonalAndOuter, float] | None:
        """Return the derivatives of the weights by x, if they have that form, and c."""
        if self.n_points != self.size:
            return None
        parts, slope = self._split(x), np.nan

        def products(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal slope
            Jv, *parts_of_u, slope = self._functions.jacobian_products(
                *parts, u, *self._split(v), *self._data
            )
            return Jv, self._join(parts_of_u)

        jacobian = DiagonalAndOuter.of(products, self.size)
        return None if jacobian is None else (jacobian, float(slope))

    def jittered_points(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return PyMC's initial point n times, with U(-2, 2) added on the unconstrained scale.

        Stan uses this jitter; PyMC's U(-1, 1) has a smaller sd than a standard normal prior.
        """
        return self._center + rng.uniform(-2.0, 2.0, (n, self.size))

    def check(self) -> None:
        """Raise a ValueError if the density at the initial point is not finite."""
        logp, gradient = self.logp_and_gradient(self._center)
        if not (np.isfinite(logp) and np.isfinite(gradient).all()):
            raise ValueError(
                f"the log density is {logp} at PyMC's initial point, with "
                f"{int((~np.isfinite(gradient)).sum())} gradients that are not finite, so it "
                "cannot be sampled; check the priors: their parameters are not finite, or exclude "
                f"this point. By variable: {self._density_by_variable()}"
            )

    def _density_by_variable(self) -> str:
        """Return each variable's log density at the initial point, or its prior's error."""
        terms, values = [], self.model.value_vars
        mode = Mode(linker="py", optimizer=None)  # raises an error for parameters out of range
        for variable in [*self.model.free_RVs, *self.model.potentials]:
            logp = self.model.logp(vars=variable, jacobian=False)
            function = pytensor.function(values, logp, mode=mode, on_unused_input="ignore")
            try:
                value = float(function(*(self._point[v.name] for v in values)))
                terms.append(f"{variable.name}: log density {value:.6g}")
            except ParameterValueError as error:
                condition = str(error).splitlines()[0]
                terms.append(f"prior of {variable.name}: its parameters must meet {condition}")
        return "; ".join(terms)

    def dispersed_points(self, n: int, width: float, rng: np.random.Generator) -> list[np.ndarray]:
        """Return PyMC's initial point, its average within each variable, and n random points.

        The random points are uniform around the average; their largest deviation is the range of
        the initial point or ``width``, whichever is larger. With prior means far apart, softmax
        weights that start near these means would all rest on the same few points. If there are
        several variables, every second random point also shifts each variable as a whole: noise in
        single parameters hardly changes their sum, such as the total of the minority weights.
        """
        average, reach = np.empty(self.size), np.empty(self.size)
        for part in self._parts:
            values = self._center[part]
            average[part], reach[part] = values.mean(), max(np.ptp(values), width)
        others = average + reach * rng.uniform(-1.0, 1.0, (n, self.size))
        if len(self._names) > 1:
            shifts = rng.uniform(-1.0, 1.0, (n // 2, len(self._names)))
            lengths = [part.stop - part.start for part in self._parts]
            others[1::2] += reach * np.repeat(shifts, lengths, axis=1)
        return [self._center, average, *others]

    def named(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return all named quantities at a batch of unconstrained vectors, (S, size)."""
        return self.evaluate(x)[1]

    def log_prior(self, draws: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return log prior densities (S,), each summed over its elements.

        They are named: the free variables, and the potentials that priors add.

        Parameters
        ----------
        draws : dict of ndarray of shape (S, ...)
            Draws of the free variables, as :meth:`named` has them.
        """
        parts = self._in_batches(self._functions.log_prior, draws)
        names = [*self.free, *(v.name for v in self._graph.potentials)]
        return dict(zip(names, map(np.concatenate, zip(*parts, strict=True)), strict=True))

    def weights(self, draws: dict[str, np.ndarray]) -> np.ndarray:
        """Return the weights (S, M) that follow from draws of the free variables."""
        return np.concatenate(self._in_batches(self._functions.weights, draws))

    def _in_batches(self, function: Callable, draws: dict[str, np.ndarray]) -> list[Any]:
        """Return the outputs of ``function`` for the free variables' draws, batch by batch."""
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
        return len(self.model.coords["point"])

    @property
    def has_kernel_potential(self) -> bool:
        """Whether the likelihood is the kernel potential, of K and r."""
        return {"K", "r"} <= set(self._shared) and self._graph.has_quadratic_form

    @property
    def shapes_without_dims(self) -> list[tuple[int, ...]]:
        """Shapes of constants and of ``pm.Data`` that say no dims; those of K are known."""
        said = {"K", *self.model.named_vars_to_dims}
        data = zip(self._shared, self._data, strict=True)
        constants = (v.data for v in ancestors([self._graph.logp]) if isinstance(v, Constant))
        return [np.shape(v) for v in [*constants, *(v for name, v in data if name not in said)]]

    def parameters_of(self, variable: Variable) -> slice:
        """Return where the unconstrained parameters of a free variable are among all."""
        return self._parts[self._names.index(self.model.rvs_to_values[variable].name)]

    def of_points(self, dim: str, chosen: np.ndarray) -> LogDensity:
        """Return the log density of the model with fewer points, by the same compiled functions.

        Parameters
        ----------
        dim : {"point", "majority"}
            The dim of all points, or of the first ones.
        chosen : ndarray of int
            The points of ``dim`` that are kept. All points after them are kept too.
        """
        after = np.arange(len(self.model.coords[dim]), self.n_points)
        kept = {dim: chosen, "point": np.concatenate([chosen, after])}
        dims = self.model.named_vars_to_dims

        def selected(name: str, value: np.ndarray) -> np.ndarray:
            if name == "K":
                return np.ascontiguousarray(value[np.ix_(kept["point"], kept["point"])])
            if name in kept:  # the length of a dim
                return np.asarray(len(kept[name]), dtype=np.asarray(value).dtype)
            for axis, along in enumerate(dims.get(name, ())):
                if along in kept:
                    value = np.take(value, kept[along], axis)
            return value

        new = copy.copy(self)
        new._data = list(map(selected, self._shared, self._data))
        variables = {value.name: rv.name for rv, value in self.model.rvs_to_values.items()}
        names = [variables[name] for name in self._names]
        new._lay_out(
            [
                selected(name, np.empty(shape)).shape
                for name, shape in zip(names, self._shapes, strict=True)
            ]
        )
        new.products = 0.0
        new._share_of_K = (len(kept["point"]) / self.n_points) ** 2
        return new
