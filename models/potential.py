r"""The published likelihood of all models: the kernel potential of a weighted centre.

With a = sum_j w_j phi(u_j) the majority rows contribute

.. math::
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2
                     = -\frac{\lambda}{2} \left(T - 2 w^\top r + n_0 w^\top K w\right).

In kernel space N(a, I) has no density, so this is a quasi-likelihood; its weight lambda
against the prior is a choice (Ghasemi et al. 2012 and the later models take 1).

A model carries its likelihood as numbers too: :func:`likelihood_of` returns the object that gives
the log-likelihood of single rows and of all rows. A model with another potential brings its own
(:class:`Likelihood` says what it must have); a potential without one is an error, because nothing
else could know its pointwise terms. :class:`WeightMap` and :class:`ClosedForm` say what else a
model may have in numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from .gram import Gram, squared_norm

if TYPE_CHECKING:
    import pymc as pm
    from pytensor.tensor.variable import TensorVariable


class NoDensityError(Exception):
    """A model has no density in numbers; the message says why."""


class Likelihood(Protocol):
    """What a model says of its likelihood, in numbers.

    A likelihood of more variables than the weights names the others in ``parameters``, a tuple of
    str, and all methods take their draws by these names. If minority rows have terms too, the
    method ``minority_pointwise`` gives them as ``pointwise`` does. With the method
    ``value_and_pull`` (see :class:`KernelLikelihood`) its model is sampled without a compiler.
    """

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


class ClosedForm(Protocol):
    """The posterior of the weights where it is known and needs no general sampler.

    Attributes
    ----------
    reason : str
        Why the posterior is known.
    dims : dict of tuple of str
        Dimensions of the variables that are drawn.
    """

    reason: ClassVar[str]
    dims: ClassVar[dict[str, tuple[str, ...]]]

    def draw(
        self, draws: int, tune: int, chains: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Return draws of the model's variables and of w, each (chains, draws, length)."""
        ...

    def log_prior(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """Return the log prior densities of weights (..., M) by variable, each (...)."""
        ...

    def leave_one_out(
        self, w: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray | None]:
        r"""Return the kernel sum of each point with the posterior centre without it.

        Parameters
        ----------
        w : ndarray of shape (draws, M)
            Draws of the posterior of all rows.
        rng : Generator

        Returns
        -------
        tuple
            Kernel sums :math:`f_j = \langle \varphi_j, a_{-j} \rangle`, shape (draws, M), and the
            log importance weights of the draws (draws, M), or None where all draws count the same.
        """
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

    def pointwise(self, d: np.ndarray) -> np.ndarray:
        """Return the log-likelihood of each row from its distance, shape (..., n)."""
        value = np.square(d)
        value *= -self.scale / 2
        return value

    def total(self, w: np.ndarray, gram: Gram) -> np.ndarray:
        """Return the log-likelihood of all rows from the weights, shape (..., M) -> (...)."""
        norm = squared_norm(w, gram.K)
        return -self.scale / 2 * (gram.T - 2 * w @ gram.r + gram.n0 * norm)

    def value_and_pull(self, w: np.ndarray, gram: Gram) -> tuple[np.ndarray, np.ndarray]:
        r"""Return the log-likelihood (S,) of weights (S, M), and its gradient by them.

        .. math:: \mathrm{pull} = \lambda \left(r - n_0 K w\right)
        """
        pull = w @ gram.K
        pull *= -gram.n0 * self.scale
        pull += self.scale * gram.r  # lambda (r - n0 K w)
        value = np.vecdot(w, pull)
        value += self.scale * (w @ gram.r - gram.T)
        value /= 2.0
        return value, pull


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
    added = pm.Potential("kernel", -scale / 2 * (T - 2 * (w @ r) + n0 * norm))
    added.tag.likelihood, added.tag.gram = KernelLikelihood(float(likelihood_scale)), gram


def parameters_of(likelihood: Likelihood) -> tuple[str, ...]:
    """Return the names of the variables, beside the weights, that ``likelihood`` takes."""
    return getattr(likelihood, "parameters", ())


def prior_potentials(model: pm.Model) -> list[TensorVariable]:
    """Return the potentials that priors have added: those that carry no likelihood."""
    return [p for p in model.potentials if not hasattr(p.tag, "likelihood")]


def likelihood_of(model: pm.Model) -> Likelihood:
    """Return the likelihood that a potential of ``model`` carries as ``tag.likelihood``.

    Raises
    ------
    NotImplementedError
        Not exactly one potential carries a likelihood, so the pointwise log-likelihood and the
        sensitivity to the likelihood are unknown.
    """
    carried = [p.tag.likelihood for p in model.potentials if hasattr(p.tag, "likelihood")]
    if len(carried) != 1:
        names = ", ".join(p.name for p in model.potentials) or "no potential"
        raise NotImplementedError(
            f"{len(carried)} potentials of the model carry a likelihood (it has {names}), expected "
            "exactly one; add the likelihood by kernel_potential, or set tag.likelihood of your "
            "own potential to an object with the methods pointwise and total"
        )
    return carried[0]
