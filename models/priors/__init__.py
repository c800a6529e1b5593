"""Priors of the weights: descriptions that become PyMC variables inside a model.

A prior is any callable ``prior(gram, name, dims)`` that makes and returns, inside a PyMC model,
the variable of that name, for instance::

    lambda gram, name, dims: pm.StudentT(name, nu=3, dims=dims)

A distribution of PreliZ and an object with ``create_variable(name)`` are priors too, see
:func:`.base.make_variable`.

The priors here pass their numbers as ``pm.Data``. Another prior of the same form changes only
these numbers, so a compiled model is reused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ..gram import Gram
from .base import CorrelatedPrior, GaussianPrior
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
    "CorrelatedPrior",
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
    "from_dict",
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


def from_dict(description: Mapping[str, Any]) -> Any:
    """Return the prior that ``description`` describes.

    Parameters
    ----------
    description : dict
        ``type``, the name of a prior of this module, and its parameters by name.

    Raises
    ------
    ValueError
        The type is unknown, or a key is not one of its parameters.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.from_dict({"type": "RowSum", "exponent": 0.5})
    RowSum(sd=1.0, exponent=0.5)
    """
    families = {cls.__name__: cls for cls in FAMILIES}
    if not isinstance(description, Mapping) or description.get("type") not in families:
        raise ValueError(
            "a prior is described by a dict with a type, one of "
            f"{', '.join(families)}, and its parameters; got {description!r}"
        )
    cls = families[description["type"]]
    parameters = {key: value for key, value in description.items() if key != "type"}
    names = [field.name for field in fields(cls)]
    unknown = [key for key in parameters if key not in names]
    if unknown:
        raise ValueError(
            f"{cls.__name__}: unknown parameter {unknown[0]!r}; expected {', '.join(names)}"
        )
    return cls(**parameters)
