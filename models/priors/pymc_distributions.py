"""What PyMC lacks: the probit transform, and a correlated normal vector on a cube."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.transforms import Interval, Transform
from pytensor.tensor.variable import TensorVariable

from .. import truncated_normal as exact
from .numbers import SHARES, TRUNCATED_TUNE


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


class Cube(Interval):
    """The transform of an interval, applied to each coordinate of one vector."""

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
        """Return the log determinant of the Jacobian."""
        return pt.sum(super().log_jac_det(value, *inputs), axis=-1)


def truncated_normal(name: str, mean: Any, precision: Any, dims: str) -> TensorVariable:
    """Make a correlated normal vector on the cube [0, 1]^n in the PyMC model in context.

    Its log density lacks a constant, which needs the probability of the cube.
    """
    return pm.CustomDist(
        name,
        mean,
        precision,
        logp=_logp,
        random=_draws,
        support_point=lambda rv, size, mean, precision: pt.full_like(mean, 0.5),
        signature="(n),(n,n)->(n)",
        class_name="TruncatedNormal",
        transform=Cube(0.0, 1.0),
        dims=dims,
    )


def _logp(x: TensorVariable, mean: TensorVariable, precision: TensorVariable) -> TensorVariable:
    e = x - mean
    inside = pt.all(pt.ge(x, 0.0) & pt.le(x, 1.0))
    return pt.switch(inside, -e @ precision @ e / 2, -np.inf)


def _draws(
    mean: np.ndarray, precision: np.ndarray, rng: Any = None, size: Any = None
) -> np.ndarray:
    """Return draws, with the shape ``size`` before that of a vector."""
    shape = tuple(size or ())
    n = int(np.prod(shape))  # one chain for each draw
    x = exact.draw(precision, precision @ mean, 1, TRUNCATED_TUNE, n, rng)
    return x.reshape(*shape, len(mean))
