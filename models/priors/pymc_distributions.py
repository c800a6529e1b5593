"""What PyMC lacks: the probit transform."""

from __future__ import annotations

import math
from typing import Any

import pytensor.tensor as pt
from pymc.distributions.transforms import Transform
from pytensor.tensor.variable import TensorVariable

from .numbers import SHARES


class Probit(Transform):
    r"""The transform of a share u in (0, 1) to its probit x, :math:`u = \Phi(x)`.

    For a uniform u, x is normal. This helps a sampler: log odds would have longer tails. u is kept
    between the smallest number and the largest one below 1, where its logarithms are finite.
    """

    name = "probit"

    def forward(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
        """Return x."""
        return -math.sqrt(2.0) * pt.erfcinv(2.0 * value)

    def backward(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
        """Return u."""
        return pt.clip(pt.erfc(-value / math.sqrt(2.0)) / 2.0, *SHARES)

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
        """Return the log density of a standard normal x."""
        return -0.5 * value**2 - 0.5 * math.log(2.0 * math.pi)
