"""Priors as they are written on the command line: a name, with or without parameters."""

from __future__ import annotations

import ast
from typing import Any

OF_MINORITY = ("Beta", "TruncatedNormal")
LONGEST = 1000  # characters of a prior


def read_prior(text: str, minority: bool = False) -> Any:
    """Return the prior that ``text`` names. Nothing is evaluated.

    Parameters
    ----------
    text : str
        Name of a prior of :mod:`bsvdd.priors`, such as ``Flat``, or with parameters by name, such
        as ``InverseRowSum(sd=0.5)``. A parameter is a number, text, or a kernel written the same
        way.
    minority : bool
        Whether it is the prior of the minority's weights, which lie in [0, 1]: ``Beta`` or
        ``TruncatedNormal``, which no other weights have.

    Raises
    ------
    ValueError
        It is not written like this, or there is no such prior or parameter.
    TypeError
        A parameter has the wrong type.

    Examples
    --------
    >>> from bsvdd.cli.prior import read_prior
    >>> read_prior("InverseRowSum(sd=0.5)")
    InverseRowSum(sd=0.5, power=0.5)
    """
    from ..estimators.encoding import decode
    from ..estimators.messages import did_you_mean, quoted
    from ..models import priors

    kind, fields = _described(text)
    families = [f.__name__ for f in priors.FAMILIES if (f.__name__ in OF_MINORITY) == minority]
    if kind not in families:
        raise ValueError(
            f"{kind!r} is no prior of the {'minority' if minority else 'majority'}'s weights"
            f"{did_you_mean(kind, families)}; expected one of {quoted(families)}"
        )
    return priors.from_dict({"type": kind, **{n: decode(v, {}) for n, v in fields.items()}})


def _described(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the encoded parameters of a prior."""
    wrong = f"a prior is written as a name, or as InverseRowSum(sd=0.5); got {text[:80]!r}"
    if len(text) > LONGEST:
        raise ValueError(f"{wrong} and {len(text) - 80} more characters")
    try:
        encoded = _encoded(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(wrong) from error
    if not isinstance(encoded, dict) or encoded["type"] == "tuple":
        raise ValueError(wrong)
    return encoded["type"], encoded["fields"]


def _encoded(node: ast.expr) -> Any:
    """Return a value as :func:`bsvdd.estimators.encoding.encode` encodes it."""
    match node:
        case ast.Name():
            return {"type": node.id, "fields": {}}
        case ast.Call(func=ast.Name(id=name), args=[]) if all(k.arg for k in node.keywords):
            fields = {str(k.arg): _encoded(k.value) for k in node.keywords}
            return {"type": name, "fields": fields}
        case ast.Tuple() | ast.List():
            return {"type": "tuple", "items": [_encoded(item) for item in node.elts]}
        case _:
            return ast.literal_eval(node)
