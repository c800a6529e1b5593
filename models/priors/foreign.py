"""The PyMC variable of a prior: of bsvdd, a function, or an object of another package."""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass
from numbers import Real
from reprlib import Repr
from typing import TYPE_CHECKING, Any

from ..gram import Gram

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

_short = Repr(maxtuple=4, maxother=100)


def is_foreign(prior: Any) -> bool:
    """Return whether ``prior`` is an object of PreliZ or of pymc-extras, or one like it."""
    if isinstance(prior, type):
        return False
    return hasattr(prior, "create_variable") or hasattr(prior, "to_pymc")


def describe(prior: Any) -> str:
    """Return the name of ``prior`` and its parameters, without a memory address."""
    if hasattr(prior, "__qualname__"):  # a function
        return f"{prior.__module__}.{prior.__qualname__}"
    if is_dataclass(prior):  # a field may hold a matrix: shorten it
        shown = (f"{f.name}={_short.repr(getattr(prior, f.name))}" for f in fields(prior))
        return f"{type(prior).__name__}({', '.join(shown)})"
    return repr(prior)


def make_variable(prior: Any, gram: Gram, name: str, dims: str) -> TensorVariable:
    """Let ``prior`` make the variable ``name`` in the PyMC model in context, and check it.

    A prior is a callable ``prior(gram, name, dims)``, such as those of :mod:`bsvdd.priors`, or
    one of two kinds of objects: a distribution of PreliZ (``to_pymc``), whose numbers become
    ``pm.Data``, or an object with ``create_variable(name)`` (the ``Prior`` of pymc-extras),
    whose own dims must be ``dims``.

    A prior may make other free variables, such as the scale of a hierarchical prior, if their
    names start with ``name`` and an underscore.

    Raises
    ------
    TypeError
        The prior is none of these, or it does not return a variable of the model.
    ValueError
        The variable has the wrong shape, or another free variable has a name that does not start
        so.
    """
    import pymc as pm
    from pytensor.tensor.variable import TensorVariable

    model = pm.modelcontext(None)
    before = {v.name for v in model.free_RVs}
    if hasattr(prior, "create_variable") and is_foreign(prior):
        variable = prior.create_variable(name)
    elif is_foreign(prior):
        variable = _from_preliz(prior, name, dims)
    elif callable(prior) and not isinstance(prior, type):
        variable = prior(gram, name, dims)
    else:
        raise TypeError(
            f"prior of {name}: expected a prior such as priors.StandardizedRowSum() or a function "
            f"(gram, name, dims) that makes a PyMC variable, got {prior!r}"
            + ("; see priors.from_dict" if isinstance(prior, dict) else "")
        )
    if not isinstance(variable, TensorVariable) or name not in model.named_vars:
        raise TypeError(
            f"prior of {name}: {prior!r} must return the PyMC variable that it makes under the "
            f"name {name!r}, but returned {variable!r}"
        )
    length, found = len(model.coords[dims]), model.named_vars_to_dims.get(name)
    if found != (dims,) and variable.type.shape != (length,):
        raise ValueError(
            f"prior of {name}: {prior!r} must make one value for each of the {length} points of "
            f"{dims!r} (pass dims=dims), but made a variable of dims {found} and shape "
            f"{variable.type.shape}"
        )
    new = [v.name for v in model.free_RVs if v.name not in before]
    others = [other for other in new if other != name and not other.startswith(f"{name}_")]
    if others:
        raise ValueError(
            f"prior of {name}: {prior!r} makes a second free variable, {others[0]!r}; if this is "
            f"intended, as in a hierarchical prior, name it '{name}_{others[0]}'"
        )
    return variable


def _from_preliz(prior: Any, name: str, dims: str) -> TensorVariable:
    import pymc as pm

    if not prior.is_frozen:
        raise ValueError(
            f"prior of {name}: {prior!r} lacks a value for some of its parameters "
            f"({', '.join(prior.param_names)}); give a value for each"
        )
    if all(isinstance(value, Real) for value in prior.params):
        prior = copy.copy(prior)  # pm.Data, so that a prior of its family reuses the compilation
        prior.params = tuple(
            pm.Data(f"{name}_{field}", float(value))
            for field, value in zip(prior.param_names, prior.params, strict=True)
        )
    return prior.to_pymc(name, dims=dims)
