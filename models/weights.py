r"""What the four models share: the priors of variables, and the likelihood.

The centre is :math:`a = \sum_g w_g u_g`, and

.. math:: \log L(w) = -\frac\lambda2 \sum_i t_i \|\phi(x_i) - a\|^2
    = -\frac\lambda2 (T - 2 w^\top r + n_0 w^\top K w)

A model adds three formulas: the weights of its variables, in PyTensor (``of``) and in
numbers (``weights``), and the pull of a gradient by the weights back to the variables
(``pulled``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .dictionary import Dictionary
from .priors import (
    Gaussian,
    InNumbers,
    PriorLike,
    in_numbers,
    make,
    of_log_sums,
    of_sums,
)
from .similarities import Arrays

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, eq=False)
class Weights:
    """A model with Gram statistics, the prior of the majority's variable, and lambda.

    Attributes
    ----------
    gram : Dictionary
    prior : prior
    likelihood_scale : float
        lambda.
    minority_prior : prior, optional
        Of ``alpha1``, for models that learn from minority rows.
    on_simplex : bool
        Whether the majority's weights are positive with a known sum; then ``prior`` is
        the prior of their logarithms.
    variable : str
        The name of the majority's variable.
    """

    gram: Dictionary
    prior: PriorLike
    likelihood_scale: float = 1.0
    minority_prior: PriorLike | None = None

    on_simplex: ClassVar[bool] = False
    variable: ClassVar[str]
    # the weights that stay keep their sum, and there is no radius
    left_out: ClassVar[None] = None
    radius: ClassVar[None] = None

    @property
    def normal_prior(self) -> Gaussian | None:
        """The prior if the posterior is normal, else None."""
        return None

    def draw(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return independent draws (draws, M) of a normal posterior."""
        raise NotImplementedError

    def of(self, *variables: Any) -> Any:
        """Return w (M,) of PyMC variables."""
        raise NotImplementedError

    def weights(self, *values: Any) -> np.ndarray:
        """Return w (S, M) of values of the variables."""
        raise NotImplementedError

    def pulled(self, g: np.ndarray, w: np.ndarray, *values: Any) -> Arrays:
        """Return the gradients by the variables, from a gradient g (S, M) by w."""
        raise NotImplementedError

    @cached_property
    def variables(self) -> dict[str, tuple[InNumbers, int]]:
        """The prior and the number of values of each variable."""
        of_atoms = of_log_sums if self.on_simplex else of_sums
        found = {self.variable: (of_atoms(self.prior, self.gram), self.gram.m)}
        if self.minority_prior is not None:
            alpha1 = in_numbers(self.minority_prior, self.gram)
            found["alpha1"] = (alpha1, self.gram.n1)
        return found

    def build(self) -> pm.Model:
        """Return the PyMC model."""
        import pymc as pm

        gram = self.gram
        coords = {"point": range(len(gram.sizes))}
        dims = ["point"]
        if len(self.variables) == 2:
            dims = ["majority", "minority"]
            coords |= {"majority": range(gram.m), "minority": range(gram.n1)}
        with pm.Model(coords=coords) as model:
            each = zip(self.variables.items(), dims, strict=True)
            made = [make(prior, gram, name, dim) for (name, (prior, _)), dim in each]
            w = pm.Deterministic("w", self.of(*made), dims="point")
            squares = gram.T - 2.0 * (w @ gram.r) + gram.n0 * (w @ gram.K @ w)
            pm.Potential("kernel", -self.likelihood_scale / 2.0 * squares)
        return model

    def value_and_gradient(self, *values: np.ndarray) -> tuple[np.ndarray, Arrays]:
        """Return log L (S,) and its gradients by the variables."""
        w = self.weights(*values)
        value, g = log_likelihood(w, self.gram, self.likelihood_scale)
        return value, self.pulled(g, w, *values)


def log_likelihood(
    w: np.ndarray, gram: Dictionary, likelihood_scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return log L (S,) of w (S, M), and its gradient lambda (r - n0 K w), (S, M)."""
    gradient = w @ gram.K
    gradient *= -gram.n0 * likelihood_scale
    gradient += likelihood_scale * gram.r
    of_sums = likelihood_scale * (w @ gram.r - gram.T)
    return (np.vecdot(w, gradient) + of_sums) / 2.0, gradient
