"""Priors of the weights: descriptions that become PyMC variables inside a model.

A prior is anything that can be called as ``prior(gram, name, dims)`` inside a model and
returns a PyMC variable of that name, for instance::

    lambda gram, name, dims: pm.StudentT(name, nu=3, dims=dims)

Besides functions, a distribution of PreliZ and an object with ``create_variable(name)`` are
priors too, see :mod:`.variable`.

The priors here hold their numbers as ``pm.Data``: from one of them to another only numbers
change, and a compiled model is used again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from .gaussian import (
    CorrelatedPrior,
    Flat,
    GaussianPrior,
    GaussianProcess,
    GraphLaplacian,
    Normal,
    RowSum,
    StandardizedRowSum,
)
from .gram import Gram
from .minority import Beta, TruncatedNormal

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

__all__ = [
    "Beta",
    "CorrelatedPrior",
    "Flat",
    "GaussianPrior",
    "GaussianProcess",
    "GraphLaplacian",
    "Normal",
    "Prior",
    "RowSum",
    "StandardizedRowSum",
    "TruncatedNormal",
    "from_dict",
]

Prior = Callable[[Gram, str, str], "TensorVariable"]
FAMILIES = [
    StandardizedRowSum,
    RowSum,
    Flat,
    Normal,
    GaussianProcess,
    GraphLaplacian,
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
        The type is unknown, or a key is no parameter of it.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.from_dict({"type": "RowSum", "exponent": 0.5})
    RowSum(sd=1.0, exponent=0.5)
    """
    known = {cls.__name__: cls for cls in FAMILIES}
    if not isinstance(description, Mapping) or description.get("type") not in known:
        raise ValueError(
            "a prior is described by a dict with a type, one of "
            f"{', '.join(known)}, and its parameters; got {description!r}"
        )
    cls = known[description["type"]]
    parameters = {key: value for key, value in description.items() if key != "type"}
    names = [field.name for field in fields(cls)]
    unknown = [key for key in parameters if key not in names]
    if unknown:
        raise ValueError(
            f"{cls.__name__}: unknown parameter {unknown[0]!r}; expected {', '.join(names)}"
        )
    return cls(**parameters)
