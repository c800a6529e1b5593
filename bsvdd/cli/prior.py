"""Priors as the command line has them: a name, with or without parameters."""

from __future__ import annotations

import ast
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..models.priors import Beta, Flat, TruncatedNormal

OF_MINORITY = ("Beta", "TruncatedNormal")
LONGEST_PRIOR = 1000  # characters
SHOWN_OF_PRIOR = 80  # characters in an error


def read_prior(text: str, minority: bool = False) -> Flat | Beta | TruncatedNormal:
    """Return the prior that a text names. Nothing is evaluated.

    Parameters
    ----------
    text : str
        Name of a prior of :mod:`bsvdd.priors`, such as ``Flat``, or with parameters by
        name, such as ``InverseRowSum(sd=0.5)``. A parameter is a number, or a list of
        numbers.
    minority : bool
        Whether it is the prior of the minority's weights, which lie in [0, 1]: ``Beta``
        or ``TruncatedNormal``, which no other weights have.

    Returns
    -------
    prior
        Of :mod:`bsvdd.priors`.

    Raises
    ------
    ValueError
        The text is not written like this, or there is no such prior or parameter.
    TypeError
        A parameter has the wrong type.

    Examples
    --------
    >>> from bsvdd.cli.prior import read_prior
    >>> read_prior("InverseRowSum(sd=0.5)")
    InverseRowSum(sd=0.5, power=0.5)
    """
    from ..base.messages import did_you_mean, quoted
    from ..models import priors

    kind, parameters = _described(text)
    families = [name for name in priors.__all__ if (name in OF_MINORITY) == minority]
    if kind not in families:
        raise ValueError(
            f"{kind!r} is no prior of the {'minority' if minority else 'majority'}'s "
            f"weights{did_you_mean(kind, families)}; expected one of {quoted(families)}"
        )
    cls = getattr(priors, kind)
    names = [field.name for field in fields(cls)]
    if unknown := [name for name in parameters if name not in names]:
        raise ValueError(
            f"{kind}: unknown parameter {unknown[0]!r}; expected {', '.join(names)}"
        )
    found: Flat | Beta | TruncatedNormal = cls(**parameters)
    return found


def _described(text: str) -> tuple[str, dict[Any, Any]]:
    """Return the name and the parameters of a prior."""
    shown = text[:SHOWN_OF_PRIOR]
    wrong = f"a prior is written as a name, or as InverseRowSum(sd=0.5); got {shown!r}"
    if len(text) > LONGEST_PRIOR:
        raise ValueError(f"{wrong} and {len(text) - SHOWN_OF_PRIOR} more characters")
    try:
        match ast.parse(text.strip(), mode="eval").body:
            case ast.Name(id=name):
                return name, {}
            case ast.Call(func=ast.Name(id=name), args=[], keywords=given):
                parameters = {k.arg: ast.literal_eval(k.value) for k in given}
                if None not in parameters:
                    return name, parameters
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(wrong) from error
    raise ValueError(wrong)
