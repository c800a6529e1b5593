"""Priors of the weights: descriptions that become PyMC variables inside a model.

A prior is any callable ``prior(gram, name, dims)`` that makes and returns, inside a PyMC model,
the variable of that name, for instance::

    lambda gram, name, dims: pm.StudentT(name, nu=3, dims=dims)

A distribution of PreliZ is a prior too, see :func:`.base.make_variable`.

The priors here pass their numbers as ``pm.Data``. Another prior of the same form changes only
these numbers, so a compiled model is reused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..gram import Gram
from .base import GaussianPrior
from .minority import Beta, TruncatedNormal
from .normal import (
    EqualWeights,
    Flat,
    InverseRowSum,
    Normal,
    RowSum,
    StandardizedRowSum,
    SVDDWeights,
)

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

__all__ = [
    "Beta",
    "EqualWeights",
    "Flat",
    "GaussianPrior",
    "InverseRowSum",
    "Normal",
    "Prior",
    "RowSum",
    "SVDDWeights",
    "StandardizedRowSum",
    "TruncatedNormal",
]

Prior = Callable[[Gram, str, str], "TensorVariable"]
FAMILIES = [
    StandardizedRowSum,
    InverseRowSum,
    SVDDWeights,
    RowSum,
    Flat,
    EqualWeights,
    Normal,
    Beta,
    TruncatedNormal,
]
