"""Distributions that PyMC lacks: a beta variable on the probit scale, a normal one on a cube."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.transforms import Interval
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from .. import truncated_normal as exact
from .numbers import TRUNCATED_TUNE, beta_probits


def log_phi(x: TensorVariable) -> TensorVariable:
    """Return log Phi(x), with more digits than PyMC's ``normal_lcdf``, which has only 6 to 8."""
    tail = pt.erfcx(-pt.minimum(x, 0.0) / math.sqrt(2.0)) / 2.0
    upper = pt.erfc(pt.maximum(x, 0.0) / math.sqrt(2.0)) / 2.0
    return pt.switch(x < 0.0, pt.log(tail) - x**2 / 2.0, pt.log1p(-upper))


def log_normal(x: TensorVariable) -> TensorVariable:
    """Return the log density of a standard normal x."""
    return -0.5 * x**2 - 0.5 * math.log(2.0 * math.pi)


class ProbitBetaRV(RandomVariable):
    """Draws of the probits of a beta variable."""

    name = "bsvdd_probit_beta"
    signature = "(),()->()"
    dtype = "floatX"
    _print_name = ("ProbitBeta", "\\operatorname{ProbitBeta}")

    @classmethod
    def rng_fn(  # type: ignore[no-untyped-def]
        cls, rng, a, b, size=None
    ) -> np.ndarray:
        """Return draws of shape ``size``."""
        return beta_probits(a, b, size, rng)


class ProbitBeta(pm.Continuous):
    r"""The probit x of :math:`u \sim \mathrm{Beta}(a, b)`, :math:`u = \Phi(x)`.

    Its density is that of :class:`.numbers.Probits`. For a uniform u, x is normal. This helps a
    sampler: log odds would have longer tails. The density is written in x because u rounds to 1 for
    x > 8.3. A variable stores the log Jacobian of u as ``tag.log_jacobian``.

    It is a class and not ``pm.CustomDist``, which makes a new class for each model and keeps it
    for ever: 60 kB a fit.
    """

    rv_op = ProbitBetaRV()

    @classmethod
    def dist(cls, a: Any, b: Any, **kwargs: Any) -> TensorVariable:
        """Return the variable outside of a model."""
        return super().dist([pt.as_tensor(a), pt.as_tensor(b)], **kwargs)

    def support_point(  # noqa: D102 - PyMC calls it as a function
        rv: TensorVariable, size: Any, a: TensorVariable, b: TensorVariable
    ) -> TensorVariable:
        return pt.zeros(rv.shape)

    def logp(  # noqa: D102
        x: TensorVariable, a: TensorVariable, b: TensorVariable
    ) -> TensorVariable:
        log_beta = pt.gammaln(a) + pt.gammaln(b) - pt.gammaln(a + b)
        return (a - 1.0) * log_phi(x) + (b - 1.0) * log_phi(-x) + log_normal(x) - log_beta


class Cube(Interval):
    """The transform of an interval, applied to each coordinate of one vector."""

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
        """Return the log determinant of the Jacobian."""
        return pt.sum(super().log_jac_det(value, *inputs), axis=-1)


class TruncatedNormalRV(RandomVariable):
    """Draws of a correlated normal vector on the cube."""

    name = "bsvdd_truncated_normal"
    signature = "(n),(n,n)->(n)"
    dtype = "floatX"
    _print_name = ("TruncatedNormal", "\\operatorname{TruncatedNormal}")

    @classmethod
    def rng_fn(  # type: ignore[no-untyped-def]
        cls, rng, mean, precision, size=None
    ) -> np.ndarray:
        """Return draws, with the shape ``size`` before that of a vector."""
        n = int(np.prod(size or ()))  # one chain for each draw
        x = exact.draw(precision, precision @ mean, 1, TRUNCATED_TUNE, n, rng)
        return x.reshape(*(size or ()), len(mean))


class TruncatedNormal(pm.Continuous):
    """A correlated normal vector on the cube [0, 1]^n.

    Its log density lacks a constant, which needs the probability of the cube.
    """

    rv_op = TruncatedNormalRV()

    @classmethod
    def dist(cls, mean: Any, precision: Any, **kwargs: Any) -> TensorVariable:
        """Return the variable outside of a model."""
        return super().dist([pt.as_tensor(mean), pt.as_tensor(precision)], **kwargs)

    def support_point(  # noqa: D102 - PyMC calls it as a function
        rv: TensorVariable, size: Any, mean: TensorVariable, precision: TensorVariable
    ) -> TensorVariable:
        return pt.full_like(mean, 0.5)

    def logp(  # noqa: D102
        x: TensorVariable, mean: TensorVariable, precision: TensorVariable
    ) -> TensorVariable:
        e = x - mean
        inside = pt.all(pt.ge(x, 0.0) & pt.le(x, 1.0))
        return pt.switch(inside, -e @ precision @ e / 2, -np.inf)
