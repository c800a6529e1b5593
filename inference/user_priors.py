"""Models of which a user wrote a part, evaluated by PyTensor without compiling.

The likelihood is not in the graph. Its gradient g by the variables v(x) of the model is
an input, and the gradient of the posterior is the gradient of log p(x) + <g, v(x)>.
Whether this is the density of the whole graph is tried at two points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from pymc.logprob.utils import ParameterValueError
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Variable
from pytensor.graph.replace import vectorize_graph

from ..models.weights import Weights
from .draws import Coords, Variables

MODE_OF_PYTENSOR = Mode(linker="py", optimizer="fast_run").excluding(
    "fusion", "inplace"
)
SAME = 1e-6  # relative difference of two densities, and of their gradients


@dataclass(frozen=True, eq=False)
class OfPyMC:
    """A density N(z) e^f(z), with x = start + z the free vector of a PyMC model."""

    model: Weights
    built: pm.Model
    start: np.ndarray
    values: Callable[..., Sequence[np.ndarray]]
    prior: Callable[..., Sequence[np.ndarray]]

    @classmethod
    def of(cls, model: Weights) -> tuple[Self | None, str]:
        """Return the density, or None and in what the PyMC model is another one.

        Raises
        ------
        ValueError
            A variable is discrete or has a wrong length, or the density is not finite
            at the start.
        """
        built = model.build()
        if built.discrete_value_vars:
            names = ", ".join(v.name for v in built.discrete_value_vars)
            raise ValueError(
                f"sampler='auto' is for continuous priors, and {names} is discrete; "
                "take sampler='metropolis', or a function as sampler, such as "
                "lambda model: pm.sample(model=model)"
            )
        lacking = [name for name in model.variables if name not in built.named_vars]
        if lacking:
            return None, f"it has no variable {lacking[0]}"
        point = start_of(built)
        others = [v for v in built.potentials if v.name != "kernel"]
        named = [built[name] for name in model.variables]
        outputs = [
            built.logp(vars=[*built.free_RVs, *others]),
            *built.replace_rvs_by_values(named),
            built.logp(),
        ]
        (log_p, *values, whole), x = pm.pytensorf.join_nonshared_inputs(
            point, outputs, built.value_vars
        )
        g = [v.type() for v in values]
        pulled = sum(pt.sum(v * each) for v, each in zip(values, g, strict=True))
        gradient = pt.grad(log_p + pulled, x)
        start = np.concatenate([np.ravel(point[v.name]) for v in built.value_vars])
        found = cls(
            model,
            built,
            start,
            vectorized(values, [x]),
            vectorized([log_p, gradient], [x, *g]),
        )
        found._require_values()
        found._require_density()
        graph = compiled([x], [whole, pt.grad(whole, x)])
        difference = found._difference(graph)
        return (None if difference else found), difference

    def _require_values(self) -> None:
        """Raise a ValueError if a variable has another number of values than places."""
        made = self.values(self.start[None])
        for (name, (_, n)), values in zip(
            self.model.variables.items(), made, strict=True
        ):
            if values.shape != (1, n):
                raise ValueError(
                    f"prior of {name}: it must make one value for each of the {n} "
                    f"names of {self.model.dims[name]!r} (pass dims=dims), but made "
                    f"values of shape {values.shape[1:]}"
                )

    def _require_density(self) -> None:
        """Raise a ValueError if there is no finite density at the start."""
        x = self.start[None]
        value, gradients = self.model.value_and_gradient(*self.values(x))
        try:
            log_p = self.prior(x, *gradients)[0]
        except ParameterValueError as error:
            condition = str(error).partition("\n")[0]
            raise ValueError(
                f"the parameters of a prior must meet {condition}"
            ) from error
        if not np.isfinite(value + log_p).all():
            raise ValueError(
                f"the log density is not finite at the start: {self._not_finite()}; "
                "check the priors"
            )

    def _not_finite(self) -> str:
        """Return the variables whose log density is not finite, with their values."""
        terms = [self.built.logp(vars=[v]) for v in self.built.basic_RVs]
        terms += [self.built.logp(vars=[v]) for v in self.built.potentials]
        names = [v.name for v in [*self.built.basic_RVs, *self.built.potentials]]
        point = start_of(self.built)
        values = compiled(self.built.value_vars, terms)(**point)
        each = zip(names, values, strict=True)
        return ", ".join(f"{n} has {v:.4g}" for n, v in each if not np.isfinite(v))

    def _difference(self, graph: Callable[..., Sequence[np.ndarray]]) -> str:
        """Return in what the density of the graph differs from this one, or nothing."""
        noise = np.random.default_rng(0).standard_normal(self.size) / 2.0
        for z in (np.zeros(self.size), noise):
            x = self.start + z
            value, gradient = (each[0] for each in self(z[None]))
            value -= z @ z / 2.0
            gradient = gradient - z
            try:
                log_p, of_graph = graph(x)
            except ParameterValueError:
                continue
            if not (np.isfinite(value) or np.isfinite(log_p)):
                continue
            if not abs(value - log_p) <= SAME * max(1.0, abs(value)):
                return f"its log density is {log_p:.6g}, in numbers {value:.6g}"
            most = np.abs(gradient).max(initial=1.0)
            if not np.abs(gradient - of_graph).max(initial=0.0) <= SAME * most:
                return "the gradient of its log density is another one"
        return ""

    @property
    def size(self) -> int:
        """The number of values of x."""
        return len(self.start)

    def draws(self, z: np.ndarray) -> tuple[np.ndarray, Variables, Coords]:
        """Return w (S, M) of z (S, n), the variables, and coordinates of the user's."""
        named = beside_weights(self.built)
        point = start_of(self.built)
        outputs, x = pm.pytensorf.join_nonshared_inputs(
            point,
            self.built.replace_rvs_by_values(list(named.values())),
            self.built.value_vars,
        )
        found = vectorized(outputs, [x])(self.start + z)
        values = dict(zip(named, found, strict=True))
        w = self.model.of_variables(*(values[name] for name in self.model.variables))
        coords = own_coords(self.model, self.built)
        return np.asarray(w), with_dims(self.built, values), coords

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (S,) of z (S, n), and its gradient (S, n)."""
        x = self.start + z
        value, gradients = self.model.value_and_gradient(*self.values(x))
        log_p, gradient = self._of_prior(x, gradients)
        return value + log_p + np.vecdot(z, z) / 2.0, gradient + z

    def _of_prior(
        self, x: np.ndarray, gradients: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, ...]:
        """Return the log density at x (S, n), and its gradient.

        Where PyMC refuses a parameter of a distribution, the density is 0.
        """
        try:
            log_p, gradient = self.prior(x, *gradients)
        except ParameterValueError:
            if len(x) == 1:
                return np.array([-np.inf]), np.zeros_like(x)
            rows = [slice(i, i + 1) for i in range(len(x))]
            each = [self._of_prior(x[i], [g[i] for g in gradients]) for i in rows]
            log_p, gradient = map(np.concatenate, zip(*each, strict=True))
        return log_p, gradient


def start_of(built: pm.Model) -> dict[str, np.ndarray]:
    """Return the start of PyMC's samplers, by the names of value variables."""
    with pytensor.config.change_flags(cxx="", linker="py"):
        found: dict[str, np.ndarray] = built.initial_point()
    return found


def beside_weights(built: pm.Model) -> dict[str, Variable]:
    """Return the free variables and the deterministics of a model, without w."""
    each = [*built.free_RVs, *built.deterministics]
    return {v.name: v for v in each if v.name != "w"}


def with_dims(built: pm.Model, values: dict[str, np.ndarray]) -> Variables:
    """Return values (S, ...) with the dimensions of their variables."""
    found: Variables = {}
    for name, x in values.items():
        dims = built.named_vars_to_dims.get(name) or (None,) * (x.ndim - 1)
        each = (dim or f"{name}_dim_{i}" for i, dim in enumerate(dims))
        found[name] = tuple(each), np.asarray(x)
    return found


def own_coords(model: Weights, built: pm.Model) -> Coords:
    """Return the coordinates that a user's prior adds to a model."""
    return {
        dim: np.asarray(labels)
        for dim, labels in built.coords.items()
        if dim not in model.coords and labels is not None
    }


def draws_of_prior(
    model: Weights, draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, Variables, Coords]:
    """Return draws of w (S, M) from the prior, of the variables, and coordinates."""
    built = model.build()
    named = beside_weights(built)
    w, *found = pm.draw(
        [built["w"], *named.values()], draws, random_seed=rng, mode=MODE_OF_PYTENSOR
    )
    values = dict(zip(named, map(np.asarray, found), strict=True))
    coords = own_coords(model, built)
    return np.asarray(w).reshape(draws, -1), with_dims(built, values), coords


def log_prior(model: Weights, posterior: xr.Dataset) -> xr.Dataset:
    """Return the log prior density of each free variable, for draws of all of them."""
    built = model.build()
    lacking = [v.name for v in built.free_RVs if v.name not in posterior]
    if lacking:
        return xr.Dataset()
    tree = xr.DataTree.from_dict({"posterior": posterior})
    found = pm.stats.compute_log_prior(
        tree,
        model=built,
        extend_inferencedata=False,
        progressbar=False,
        compile_kwargs={"mode": MODE_OF_PYTENSOR},
    )
    return found


def compiled(
    inputs: Sequence[Variable], outputs: Sequence[Variable]
) -> Callable[..., Sequence[np.ndarray]]:
    """Return a function of the inputs, in Python."""
    with pytensor.config.change_flags(cxx=""):
        return pytensor.function(
            inputs, outputs, mode=MODE_OF_PYTENSOR, on_unused_input="ignore"
        )


def vectorized(
    outputs: Sequence[Variable], inputs: Sequence[Variable]
) -> Callable[..., Sequence[np.ndarray]]:
    """Return a function of inputs (S, ...) with outputs (S, ...)."""
    many = {v: v.type.clone(shape=(None, *v.type.shape))() for v in inputs}
    return compiled(list(many.values()), vectorize_graph(outputs, many))
