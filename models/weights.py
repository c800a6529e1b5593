"""What the models of the weights share: a prior of each variable, and the likelihood of the centre.

A model adds three formulas: the weights of its variables, in PyTensor and in numbers,
and the pull of a gradient by the weights back to the variables.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from . import likelihood
from .gram import Gram
from .priors import make, of_log_sums, of_minority, of_sums

Arrays = tuple[np.ndarray, ...]


class Weights:
    """A model with Gram statistics, the priors of its variables, and lambda (``scale``).

    Attributes
    ----------
    on_simplex : bool
        Whether weights are positive and sum to one; then ``prior`` is that of their
        logarithms.
    variable : str
        The variable of the majority. That of the minority is ``alpha1``.
    """

    gram: Gram
    prior: Any
    scale: float

    on_simplex: ClassVar[bool] = False
    variable: ClassVar[str]

    def of(self, *variables: Any) -> Any:
        """Return w (M,) of PyMC variables."""
        raise NotImplementedError

    def weights(self, *values: np.ndarray) -> np.ndarray:
        """Return w (S, M) of values of the variables."""
        raise NotImplementedError

    def pulled(self, g: np.ndarray, w: np.ndarray, *values: np.ndarray) -> Arrays:
        """Return the gradients by the variables, of a gradient g (S, M) by w (S, M)."""
        raise NotImplementedError

    @cached_property
    def variables(self) -> dict[str, tuple[Any, int]]:
        """The prior and the number of values of each variable."""
        gram = self.gram
        of_points = of_log_sums if self.on_simplex else of_sums
        found = {self.variable: (of_points(self.prior, gram), gram.m)}
        if hasattr(self, "minority_prior"):
            found["alpha1"] = of_minority(self.minority_prior, gram), gram.n1
        return found

    def build(self) -> Any:
        """Return the PyMC model."""
        import pymc as pm

        gram = self.gram
        dims = ("point",)
        coords = {"point": range(len(gram.K))}
        if len(self.variables) == 2:
            dims = "majority", "minority"
            coords |= {"majority": range(gram.m), "minority": range(gram.n1)}
        with pm.Model(coords=coords) as model:
            each = zip(self.variables.items(), dims, strict=True)
            made = [make(prior, gram, name, dim) for (name, (prior, _)), dim in each]
            w = pm.Deterministic("w", self.of(*made), dims="point")
            likelihood.potential(w, gram, self.scale)
        return model

    def value_and_gradient(self, *values: np.ndarray) -> tuple[np.ndarray, Arrays]:
        """Return log L (S,) and its gradients by the variables."""
        w = self.weights(*values)
        value, g = likelihood.value_and_gradient(w, self.gram, self.scale)
        return value, self.pulled(g, w, *values)
