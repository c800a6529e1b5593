"""Priors that make PyMC variables, evaluated by PyTensor without compiling.

The likelihood is not in the graph. Its gradient g by the variables v(x) of the model is
an input, and the gradient of the posterior is the gradient of log p(x) + <g, v(x)>.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pymc.logprob.utils import ParameterValueError
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Variable
from pytensor.graph.replace import vectorize_graph

from ..models.weights import Weights

MODE_OF_PYTENSOR = Mode(linker="py", optimizer="fast_run").excluding(
    "fusion", "inplace"
)


@dataclass(frozen=True, eq=False)
class OfPyMC:
    """A density N(z) e^f(z), with x = start + z the free vector of a PyMC model."""

    model: Weights
    start: np.ndarray
    values: Callable[..., Sequence[np.ndarray]]
    prior: Callable[..., Sequence[np.ndarray]]

    @classmethod
    def of(cls, model: Weights) -> Self:
        """Return the density of a model whose priors a user wrote."""
        built = model.build()
        if built.discrete_value_vars:
            names = ", ".join(v.name for v in built.discrete_value_vars)
            raise ValueError(f"the priors must be continuous, and {names} is discrete")
        with pytensor.config.change_flags(cxx="", linker="py"):
            point = built.initial_point()
        others = [v for v in built.potentials if v.name != "kernel"]
        named = [built[name] for name in model.variables]
        outputs = [
            built.logp(vars=[*built.free_RVs, *others]),
            *built.replace_rvs_by_values(named),
        ]
        (log_p, *values), x = pm.pytensorf.join_nonshared_inputs(
            point, outputs, built.value_vars
        )
        g = [v.type() for v in values]
        pulled = sum(pt.sum(v * each) for v, each in zip(values, g, strict=True))
        gradient = pt.grad(log_p + pulled, x)
        start = np.concatenate([np.ravel(point[v.name]) for v in built.value_vars])
        found = cls(
            model,
            start,
            vectorized(values, [x]),
            vectorized([log_p, gradient], [x, *g]),
        )
        found._require_values()
        found._require_density()
        return found

    def _require_values(self) -> None:
        """Raise a ValueError if a variable has not one value for each of its atoms."""
        made = self.values(self.start[None])
        for (name, (_, n)), values in zip(
            self.model.variables.items(), made, strict=True
        ):
            if values.shape != (1, n):
                raise ValueError(
                    f"prior of {name}: it must make one value for each of the {n} "
                    "atoms (pass dims=dims), but made values of shape "
                    f"{values.shape[1:]}"
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
                "the log density is not finite at the start; check the priors"
            )

    @property
    def size(self) -> int:
        """The number of values of x."""
        return len(self.start)

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""
        return np.asarray(self.model.weights(*self.values(self.start + z)))

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


def vectorized(
    outputs: Sequence[Variable], inputs: Sequence[Variable]
) -> Callable[..., Sequence[np.ndarray]]:
    """Return a function of inputs (S, ...) with outputs (S, ...)."""
    many = {v: v.type.clone(shape=(None, *v.type.shape))() for v in inputs}
    with pytensor.config.change_flags(cxx=""):
        return pytensor.function(
            list(many.values()),
            vectorize_graph(outputs, many),
            mode=MODE_OF_PYTENSOR,
            on_unused_input="ignore",
        )
