"""The models by their names in tables, in files and on the command line.

A class that is derived from one of ours, in a project of yours, is known by its own
name as soon as it is imported. Nothing heavy is imported here, so that the names are
there at once.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .of_rows import OfRows


@dataclass(frozen=True)
class Record:
    """A model.

    Attributes
    ----------
    name : str
        In tables.
    place : type or str
        Its class, or where the class stands, "module:class".
    """

    name: str
    place: type[OfRows] | str

    @property
    def class_name(self) -> str:
        """Name of the class, also in :mod:`bsvdd`."""
        if isinstance(self.place, str):
            return self.place.partition(":")[2]
        return self.place.__name__

    def estimator(self) -> type[OfRows]:
        """Return the class, which is imported.

        Returns
        -------
        type
        """
        if isinstance(self.place, type):
            return self.place
        found: type[OfRows] = pkgutil.resolve_name(f"{__package__}.{self.place}")
        return found

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the class and their defaults, by name."""
        signature = inspect.signature(self.estimator())
        return {name: p.default for name, p in signature.parameters.items()}

    @property
    def needs_minority(self) -> bool:
        """Whether the weights depend on minority rows, which may tune any cutoff."""
        return self.estimator()._learns_from_minority

    @property
    def bayesian(self) -> bool:
        """Whether the weights have a posterior."""
        return hasattr(self.estimator(), "with_prior")

    @property
    def title(self) -> str:
        """What the model is, by the first line of its docstring."""
        return re.split("[:,.;]", inspect.getdoc(self.estimator()) or "")[0]

    @property
    def reference(self) -> str:
        """The first reference of the docstring, in one line; empty if it has none."""
        docstring = inspect.getdoc(self.estimator()) or ""
        found = docstring.partition("References\n----------\n")[2]
        return " ".join(found.partition("\n\n")[0].split())


PLACES = {
    "SVDD": "svdd:SVDD",
    "BDD": "bayesian:BDD",
    "BSVDD": "bayesian:BSVDD",
    "BSVDD-M": "bayesian:BSVDDM",
    "SVDD-M": "svdd:SVDDM",
    "BDD-M": "bayesian:BDDM",
    "OCSVM": "machines:OCSVM",
    "SVM": "machines:SVM",
    "DSVM-CIL": "machines:DSVM",
    "LS-SVM": "machines:LSSVM",
    "IDLSSVM-CIL": "machines:IDLSSVM",
}
REGISTRY = {name: Record(name, place) for name, place in PLACES.items()}


def find(name: str) -> Record | None:
    """Return the record of a model.

    Parameters
    ----------
    name : str
        A name in tables, or of a class, of yours too.

    Returns
    -------
    Record or None
        None for another name.
    """
    for record in REGISTRY.values():
        if name in (record.name, record.class_name):
            return record
    base = Record("any", "description:Description").estimator()
    own = (cls for cls in _derived(base) if cls.__name__ == name)
    return next((Record(name, cls) for cls in own), None)


def _derived(cls: type[OfRows]) -> Iterator[type[OfRows]]:
    for each in cls.__subclasses__():
        yield each
        yield from _derived(each)
