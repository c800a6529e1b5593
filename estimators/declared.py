"""What the class of an estimator declares, read from its source.

An import of the class also imports scikit-learn, which takes a second or more; a list of models
need not wait for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from typing import Any

PACKAGE = __name__.partition(".")[0]


def declared(path: str) -> dict[str, Any]:
    """Return the annotated names of a class and its bases, with the constants that they are.

    Parameters
    ----------
    path : str
        "module:class", as in a :class:`.registry.Record`.

    Returns
    -------
    dict
        The parameters of the dataclass and its private class attributes, those of its bases first.
        A value that is no constant is None. Bases outside this package are left out.

    Examples
    --------
    >>> from bsvdd.estimators.declared import declared
    >>> "outlier_fraction" in declared("bsvdd.estimators.svdd:SVDD")
    True
    """
    module, _, name = path.partition(":")
    found: dict[str, Any] = {}
    definition = _definitions(module).get(name)
    if isinstance(definition, str):  # imported from another module of the package
        return declared(definition)
    if definition is None:
        return found
    for base in reversed(definition.bases):
        if isinstance(base, ast.Name):
            found |= declared(f"{module}:{base.id}")
    return found | dict(_values(definition))


@cache
def _definitions(module: str) -> dict[str, ast.ClassDef | str]:
    """Return the classes of a module, and the places of those that it imports from the package."""
    spec: Any = find_spec(module)
    package = module if spec.submodule_search_locations else module.rpartition(".")[0]
    found: dict[str, ast.ClassDef | str] = {}
    for node in ast.parse(spec.loader.get_source(module)).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom) and (node.level or node.module == PACKAGE):
            source = resolve_name("." * node.level + (node.module or ""), package)
            found |= {each.asname or each.name: f"{source}:{each.name}" for each in node.names}
    return found


def _values(definition: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    for node in definition.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                yield name, value.value if isinstance(value, ast.Constant) else None
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)):
                yield name, value
