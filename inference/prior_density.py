r"""A prior that a user writes, asked through PyTensor in batches.

The prior's log density and the variables that the likelihood takes are functions of one
unconstrained vector x. The likelihood, and with it K, is not part of their graphs: its gradient by
these variables enters as an input, g, and the gradient of the posterior is that of

.. math:: \log p(x) + \sum_v \langle g_v, v(x) \rangle.

All functions run in NumPy: nothing is compiled to machine code.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.mode import Mode
from pytensor.graph.replace import graph_replace, vectorize_graph

from ..models.potential import Likelihood, NoDensityError, prior_potentials

if TYPE_CHECKING:
    from pytensor.graph.basic import Variable

# "fusion" makes loops that are slow without a compiler, and "inplace" costs a copy
NUMPY = Mode(linker="py", optimizer="fast_run").excluding("fusion", "inplace")
SIMPLE = Mode(linker="py", optimizer="fast_compile")  # for functions that are called once
Values = dict[str, np.ndarray]
lock = threading.RLock()  # PyTensor makes one function at a time


def start_of(model: pm.Model) -> Values:
    """Return PyMC's initial point, by the names of the value variables."""
    with lock, pytensor.config.change_flags(cxx="", linker="py"):
        point: Values = model.initial_point()
    return point


@dataclass(frozen=True, eq=False)
class PriorDensity:
    """The prior of a PyMC model as functions of a batch of unconstrained vectors.

    Attributes
    ----------
    model : pymc.Model
    inputs : tuple of str
        The variables that the likelihood takes.
    likelihood : Likelihood
        Whose potential is not of the prior.
    start : ndarray of shape (n,)
        PyMC's initial point.
    """

    model: pm.Model
    inputs: tuple[str, ...]
    likelihood: Likelihood
    start: np.ndarray
    _point: Values

    @classmethod
    def of(cls, model: pm.Model, inputs: Sequence[str], likelihood: Likelihood) -> Self:
        """Return the prior of ``model``."""
        point = start_of(model)
        start = np.concatenate([[], *(np.ravel(point[v.name]) for v in model.value_vars)])
        return cls(model, tuple(inputs), likelihood, start, point)

    # batches

    def _function(
        self, outputs: list[Variable], inputs: list[Variable], one_by_one: bool = False
    ) -> Callable[..., Any]:
        """Return outputs of batches of the inputs as a function.

        Where PyTensor makes no batches it is a loop, if ``one_by_one``; else an error is raised.
        """
        batches = {v: v.type.clone(shape=(None, *v.type.shape))() for v in inputs}
        try:
            many = vectorize_graph(outputs, batches)
        except Exception as error:
            if one_by_one:
                return self._loop(outputs, inputs)
            raise NoDensityError(f"PyTensor cannot make batches of the prior ({error})") from error
        size = next(iter(batches.values())).shape[0]
        many = [
            v if v.type.ndim > one.type.ndim else pt.broadcast_to(v, (size, *v.shape))
            for v, one in zip(many, outputs, strict=True)
        ]
        with lock, pytensor.config.change_flags(cxx=""):
            return pytensor.function(
                list(batches.values()), many, mode=NUMPY, trust_input=True, on_unused_input="ignore"
            )

    def _loop(self, outputs: list[Variable], inputs: list[Variable]) -> Callable[..., Any]:
        with lock, pytensor.config.change_flags(cxx=""):
            one = pytensor.function(inputs, outputs, mode=NUMPY, on_unused_input="ignore")

        def each(*batches: np.ndarray) -> list[np.ndarray]:
            found = [one(*values) for values in zip(*batches, strict=True)]
            return [np.stack(v) for v in zip(*found, strict=True)]

        return each

    @cached_property
    def _joined(self) -> tuple[list[Variable], Variable]:
        """The log prior, then the inputs of the likelihood, and the vector x."""
        model = self.model
        variables = [*model.free_RVs, *prior_potentials(model, self.likelihood)]
        wanted = [model[name] for name in self.inputs]
        outputs = [model.logp(vars=variables), *model.replace_rvs_by_values(wanted)]
        return pm.pytensorf.join_nonshared_inputs(self._point, outputs, list(model.value_vars))

    @cached_property
    def _of_inputs(self) -> Callable[..., Any]:
        (_, *inputs), x = self._joined
        return self._function(inputs, [x])

    @cached_property
    def _value_and_gradient(self) -> Callable[..., Any]:
        (logp, *inputs), x = self._joined
        pulls = [v.type(f"pull_{i}") for i, v in enumerate(inputs)]
        pulled = sum(pt.sum(v * g) for v, g in zip(inputs, pulls, strict=True))
        try:
            gradient = pt.grad(logp + pulled, x)
        except Exception as error:
            raise NoDensityError(f"PyTensor has no gradient of the prior ({error})") from error
        return self._function([logp, gradient], [x, *pulls])

    def variables(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the variables that the likelihood takes, each of shape (S, ...)."""
        found: list[np.ndarray] = self._of_inputs(x)
        return found

    def value_and_gradient(
        self, x: np.ndarray, pulls: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log prior (S,), and the gradient (S, n) of the log posterior.

        ``pulls`` are the gradients of the log-likelihood by the variables that it takes.
        """
        try:
            value, gradient = self._value_and_gradient(x, *pulls)
        except (ValueError, FloatingPointError):  # a parameter out of range, of any of the vectors
            if len(x) == 1:
                return np.full(1, -np.inf), np.zeros_like(x)
            half = len(x) // 2
            parts = [
                self.value_and_gradient(x[rows], [g[rows] for g in pulls])
                for rows in (slice(half), slice(half, None))
            ]
            value, gradient = map(np.concatenate, zip(*parts, strict=True))
        return value, gradient

    @cached_property
    def _named(self) -> Callable[..., Any]:
        model = self.model
        outputs = model.replace_rvs_by_values([model[name] for name in self.names])
        outputs, x = pm.pytensorf.join_nonshared_inputs(
            self._point, outputs, list(model.value_vars)
        )
        return self._function(outputs, [x])

    @property
    def names(self) -> list[str]:
        """The free variables, and the deterministics that do not depend on the likelihood's K."""
        others = [v.name for v in self.model.deterministics if v.name != "squared_norm"]
        return [*(v.name for v in self.model.free_RVs), *others]

    def named(self, x: np.ndarray) -> Values:
        """Return the free variables on their own scale, and the deterministics."""
        return dict(zip(self.names, self._named(x), strict=True))

    # densities and draws of the free variables on their own scale

    @cached_property
    def _log_prior(self) -> Callable[..., Any]:
        free = list(self.model.free_RVs)
        values = {rv: rv.type(name=rv.name) for rv in free}
        logps = [pt.sum(pm.logp(rv, value)) for rv, value in values.items()]
        logps += [pt.sum(potential) for potential in prior_potentials(self.model, self.likelihood)]
        outputs = graph_replace(logps, values, strict=False)
        return self._function(outputs, list(values.values()), one_by_one=True)

    def log_prior(self, free: Values) -> Values:
        """Return the log prior densities (S,), each summed over its elements.

        They are named: the free variables, then the potentials that priors add. They are densities
        of the variables themselves, without the Jacobian of the unconstrained scale.
        """
        names = [v.name for v in self.model.free_RVs]
        keys = [*names, *(v.name for v in prior_potentials(self.model, self.likelihood))]
        values = self._log_prior(*(free[name] for name in names))
        return dict(zip(keys, values, strict=True))

    def draw(self, n: int, seed: int | None = None) -> Values:
        """Return n draws of the free variables and of the weights ``w``.

        Raises
        ------
        NotImplementedError
            The prior is improper, so it has no draws.
        """
        return draw(self.model, [*(v.name for v in self.model.free_RVs), "w"], n, seed)


def draw(model: pm.Model, names: Sequence[str], n: int, seed: int | None) -> Values:
    """Return n draws of the named variables from the prior of ``model``."""
    with lock, pytensor.config.change_flags(cxx=""):
        values = pm.draw([model[name] for name in names], n, random_seed=seed, mode=SIMPLE)
    if n == 1:
        values = [v[None] for v in values]
    return dict(zip(names, values, strict=True))


def check(model: pm.Model) -> None:
    """Raise a ValueError if a model cannot be sampled.

    A free variable is discrete, there is none, or the log density is not finite at PyMC's initial
    point. Then the message has the log density of each variable, or the condition that its
    parameters break.
    """
    values = model.value_vars
    wrong = [v.name for v in values if v.type.dtype.startswith(("int", "uint", "bool"))]
    if wrong or not values:
        raise ValueError(
            "the priors must make continuous free variables, but "
            + (f"{', '.join(wrong)} is discrete" if wrong else "there is none")
        )
    point = start_of(model)
    mode, terms, sound = Mode(linker="py", optimizer=None), [], True
    for variable in [*model.free_RVs, *model.potentials]:
        logp = model.logp(vars=variable, jacobian=False)
        with lock, pytensor.config.change_flags(cxx=""):
            function = pytensor.function(values, logp, mode=mode, on_unused_input="ignore")
        try:
            value = float(function(*(point[v.name] for v in values)))
            terms.append(f"{variable.name}: log density {value:.6g}")
            sound &= bool(np.isfinite(value))
        except ValueError as error:
            condition = str(error).splitlines()[0]
            terms.append(f"prior of {variable.name}: its parameters must meet {condition}")
            sound = False
    if not sound:
        raise ValueError(
            "the log density is not finite at PyMC's initial point, so it cannot be sampled; check "
            "the priors: their parameters are not finite, or exclude this point. By variable: "
            + "; ".join(terms)
        )
