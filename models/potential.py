r"""The likelihood: the kernel potential of a weighted centre.

With a = sum_j w_j phi(u_j) the majority rows contribute

.. math::
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2
                     = -\frac{\lambda}{2} \left(T - 2 w^\top r + n_0 w^\top K w\right).

In kernel space N(a, I) has no density, so this is a quasi-likelihood; its weight lambda
against the prior is a choice (Ghasemi et al. 2012 and the later models take 1).

A model says its likelihood in numbers too (:meth:`bsvdd.models.model.Model.likelihood`), which give
the log-likelihood of single rows and of all rows. A model with another potential brings its own;
:class:`Likelihood` says what it must have, and :class:`WeightMap` what its map to the weights must.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from .gram import Gram

if TYPE_CHECKING:
    import pymc as pm
    from pytensor.tensor.variable import TensorVariable


class NoDensityError(Exception):
    """A model has no density in numbers; the message says why."""


class Likelihood(Protocol):
    """What a model says of its likelihood, in numbers.

    ``potential`` is the name of its potential in the PyMC model; other potentials are of priors.
    With the method ``value_and_pull`` (see :class:`KernelLikelihood`) its model is sampled without
    a compiler.
    """

    @property
    def potential(self) -> str: ...  # noqa: D102

    def pointwise(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the log-likelihood of each majority row from its distance d, shape (..., n)."""
        ...

    def total(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the log-likelihood of all rows from w (..., M) and the Gram statistics, (...)."""
        ...


class WeightMap(Protocol):
    """What a model says of its map from variables to weights, in numbers.

    Attributes
    ----------
    inputs : tuple of str
        The variables that it takes.
    """

    @property
    def inputs(self) -> tuple[str, ...]: ...  # noqa: D102

    def weights(self, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the weights (S, M) of a batch of the variables, each of shape (S, ...)."""
        ...

    def pull(self, *args: Any, **kwargs: Any) -> tuple[np.ndarray, ...]:
        """Return J'g for each variable: from the weights w, a gradient g by w, the variables."""
        ...


@dataclass(frozen=True)
class KernelLikelihood:
    r"""The likelihood of the kernel potential, :math:`-\tfrac{\lambda}{2} d_i^2` for row i.

    Parameters
    ----------
    scale : float, default=1
        lambda.
    """

    scale: float = 1.0

    potential: ClassVar[str] = "kernel"

    def pointwise(self, d: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row from its distance, shape (..., n)."""
        value = np.square(d)
        value *= -self.scale / 2
        return value

    def total(self, w: np.ndarray, gram: Gram) -> np.ndarray:
        """Return the log-likelihood of all rows from the weights, shape (..., M) -> (...)."""
        return self.value_and_pull(w, gram)[0]

    def value_and_pull(self, w: np.ndarray, gram: Gram) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the log-likelihood (...) of weights (..., M), and its gradient by them.

        .. math:: \mathrm{pull} = \lambda \left(r - n_0 K w\right)
        """
        pull = w @ gram.K
        pull *= -gram.n0 * self.scale
        pull += self.scale * gram.r  # lambda (r - n0 K w)
        value = np.vecdot(w, pull) + self.scale * (w @ gram.r - gram.T)
        return value / 2.0, pull


def kernel_potential(w: TensorVariable, gram: Gram, likelihood_scale: float = 1.0) -> None:
    r"""Add the potential of the weights ``w`` to the PyMC model in context.

    The statistics become ``pm.Data`` (``K``, ``r``, ``T``, ``n0``, ``likelihood_scale``).
    ``squared_norm`` is :math:`\|a\|^2 = w^\top K w`.
    """
    import pymc as pm

    # K is read only: no copy
    K, r = pm.Data("K", gram.K, borrow=True), pm.Data("r", gram.r, dims="point")
    T, n0 = pm.Data("T", float(gram.T)), pm.Data("n0", float(gram.n0))
    scale = pm.Data("likelihood_scale", float(likelihood_scale))
    norm = pm.Deterministic("squared_norm", w @ K @ w)
    pm.Potential("kernel", -scale / 2 * (T - 2 * (w @ r) + n0 * norm))


def prior_potentials(model: pm.Model, likelihood: Likelihood) -> list[TensorVariable]:
    """Return the potentials that priors have added: those that are not the likelihood's."""
    return [p for p in model.potentials if p.name != likelihood.potential]
