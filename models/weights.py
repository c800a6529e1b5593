r"""What the four models share: the priors of variables, and the likelihood.

The centre is :math:`a = \sum_g w_g u_g`, and

.. math:: \log L(w) = -\frac\lambda2 \sum_i t_i \|\phi(x_i) - a\|^2
    = -\frac\lambda2 (T - 2 w^\top r + n_0 w^\top K w)

A model adds three formulas: the weights of its variables, in PyTensor (``of``) and in
numbers (``weights``), and the pull of a gradient by the weights back to the variables
(``pulled``).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .dictionary import Dictionary
from .pooled import Pooled
from .priors import (
    Flat,
    Gaussian,
    InNumbers,
    PriorLike,
    Pull,
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
        """Return w (M,) of PyMC variables of the atoms."""
        raise NotImplementedError

    def weights(self, *values: Any) -> np.ndarray:
        """Return w (S, M) of values of the atoms."""
        raise NotImplementedError

    def pulled(self, g: np.ndarray, w: np.ndarray, *values: Any) -> Arrays:
        """Return the gradients by values of the atoms, from one g (S, M) by w."""
        raise NotImplementedError

    @property
    def is_own(self) -> bool:
        """Whether a user wrote the class, so that the graph says what it is."""
        package, _, _ = __name__.rpartition(".")
        return not type(self).__module__.startswith(f"{package}.")

    @cached_property
    def pooled(self) -> Pooled | None:
        """How values of rows, which a user's prior makes, become those of atoms.

        None where the variable has one value for each atom.
        """
        if isinstance(self.prior, Flat):
            return None
        parts = self.gram.parts
        if len(parts.first) == self.gram.m and (parts.weight == 1.0).all():
            return None
        return Pooled(parts, self.gram.m, self.on_simplex)

    @cached_property
    def variables(self) -> dict[str, tuple[InNumbers, int]]:
        """The prior and the number of values of each variable."""
        of_atoms = of_log_sums if self.on_simplex else of_sums
        n = self.gram.m if self.pooled is None else len(self.gram.parts.first)
        found = {self.variable: (of_atoms(self.prior, self.gram), n)}
        if self.minority_prior is not None:
            alpha1 = in_numbers(self.minority_prior, self.gram)
            found["alpha1"] = (alpha1, self.gram.n1)
        return found

    @cached_property
    def dims(self) -> dict[str, str]:
        """The dimension of each variable."""
        first = "point" if self.minority_prior is None else "majority"
        found = {self.variable: first if self.pooled is None else "row"}
        return found if self.minority_prior is None else found | {"alpha1": "minority"}

    @cached_property
    def coords(self) -> dict[str, np.ndarray]:
        """The names of atoms and of rows, by dimension."""
        names = self.gram.names
        found = {"point": names, "other_point": names}
        if self.minority_prior is not None:
            m = self.gram.m
            found |= {"majority": names[:m], "minority": names[m:]}
        if self.pooled is not None:
            found["row"] = self.gram.rows.unique_names[self.gram.parts.first]
        return found

    def build(self) -> pm.Model:
        """Return the PyMC model.

        K, r, T and n0 are its data, which ``pm.set_data`` changes.
        """
        import pymc as pm

        gram = self.gram
        coords = {dim: names.tolist() for dim, names in self.coords.items()}
        with pm.Model(coords=coords) as model:
            K = pm.Data("K", gram.K, dims=("point", "other_point"))
            r = pm.Data("r", gram.r, dims="point")
            T = pm.Data("T", gram.T)
            n0 = pm.Data("n0", gram.n0)
            each = [
                make(prior, gram, name, self.dims[name])
                for name, (prior, _) in self.variables.items()
            ]
            if self.pooled is not None:
                each[0] = self.pooled.of(each[0])
            w = pm.Deterministic("w", self.of(*each), dims="point")
            squares = T - 2.0 * (w @ r) + n0 * (w @ K @ w)
            pm.Potential("kernel", -self.likelihood_scale / 2.0 * squares)
        return model

    def _of_atoms(self, first: np.ndarray) -> tuple[np.ndarray, Pull | None]:
        """Return the first variable at the atoms, and the pull back from them."""
        return (first, None) if self.pooled is None else self.pooled.in_numbers(first)

    def of_variables(self, *values: np.ndarray) -> np.ndarray:
        """Return w (S, M) of values of the variables."""
        first, *others = values
        return self.weights(self._of_atoms(first)[0], *others)

    def value_and_gradient(self, *values: np.ndarray) -> tuple[np.ndarray, Arrays]:
        """Return log L (S,) and its gradients by the variables."""
        first, *others = values
        first, pull = self._of_atoms(first)
        w = self.weights(first, *others)
        value, g = log_likelihood(w, self.gram, self.likelihood_scale)
        by_first, *by_others = self.pulled(g, w, first, *others)
        return value, (by_first if pull is None else pull(by_first), *by_others)


def with_rows(
    model: pm.Model,
    K_new: np.ndarray,
    k_new: np.ndarray,
    of_themselves: np.ndarray,
    names: Sequence[Hashable],
) -> pm.Model:
    """Add the distances ``d`` of rows to a PyMC model, and return it.

    ``K_new`` (rows, point) are their kernel values with the atoms, and ``k_new``
    (rows,) with themselves; ``of_themselves`` (point,) is what atoms add to the squared
    norm by themselves. The three become data of the model.
    """
    import pymc as pm

    with model:
        model.add_coord("obs", names)
        k = pm.Data("K_new", K_new, dims=("obs", "point"))
        own = pm.Data("k_new", k_new, dims="obs")
        added = pm.Data("of_themselves", of_themselves, dims="point")
        w = model["w"]
        norm = w @ model["K"] @ w - added @ w**2
        squares = own - 2.0 * (k @ w) + norm
        pm.Deterministic("d", pm.math.sqrt(pm.math.maximum(squares, 0.0)), dims="obs")
    return model


def log_likelihood(
    w: np.ndarray, gram: Dictionary, likelihood_scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return log L (S,) of w (S, M), and its gradient lambda (r - n0 K w), (S, M)."""
    gradient = w @ gram.K
    gradient *= -gram.n0 * likelihood_scale
    gradient += likelihood_scale * gram.r
    of_sums = likelihood_scale * (w @ gram.r - gram.T)
    return (np.vecdot(w, gradient) + of_sums) / 2.0, gradient
