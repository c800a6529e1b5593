"""One record for each model: its name, its class, what it learns from, and its reference.

The records stand in ``registry.toml``.

Nothing heavy is imported, so that a list of models is there at once.
"""

from __future__ import annotations

import inspect
import pkgutil
import tomllib
from collections import ChainMap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("registry.toml")

SHARED = ("kernel", "cutoff", "minor_label", "random_state")
BAYESIAN = ("prior", "likelihood_scale", "sampler", "draws", "tune", "chains", "dictionary")


@dataclass(frozen=True)
class Record:
    """The record of a model.

    Attributes
    ----------
    name : str
        The name in tables and figures.
    path : str
        Place of its estimator, "module:class".
    title, reference : str
    year : int
        Year of the reference.
    needs_minority : bool
        Whether the weights depend on minority rows. They can tune the cutoff of any model.
    bayesian : bool
        Whether the weights have a posterior.
    own : tuple of str
        The parameters beside those of all models (``SHARED``) and of all Bayesian ones
        (``BAYESIAN``).
    doi : str or None
    formula : str or None
        The module whose docstring has the formula. Default: the module of the estimator.
    """

    name: str
    path: str
    title: str
    reference: str
    year: int
    needs_minority: bool = False
    bayesian: bool = False
    own: tuple[str, ...] = ()
    doi: str | None = None
    formula: str | None = None

    @property
    def class_name(self) -> str:
        """Name of the estimator's class, also in :mod:`bsvdd`."""
        return self.path.partition(":")[2]

    @property
    def module(self) -> str:
        """The module whose docstring has the model's formula and reference."""
        return self.formula or self.path.partition(":")[0]

    @property
    def learns_from(self) -> tuple[str, ...]:
        """The rows that the weights depend on."""
        minority = ("minority",) if self.needs_minority else ()
        return ("majority", *minority)

    def estimator(self) -> Any:
        """Import and return the estimator's class."""
        return pkgutil.resolve_name(self.path)

    @property
    def parameters(self) -> dict[str, Any]:
        """The estimator's parameters and their defaults, by name; imports the class."""
        signature = inspect.signature(self.estimator())
        return {name: p.default for name, p in signature.parameters.items()}


def _records(kind: str) -> dict[str, Record]:
    """Return the records of a kind by name; a ValueError if two have the same name."""
    records = [Record(**{**each, "own": tuple(each.get("own", ()))}) for each in _TABLES[kind]]
    by_name = {record.name: record for record in records}
    if len(by_name) < len(records):
        raise ValueError(f"{FILE.name}: a name occurs twice among the {kind}")
    return by_name


_TABLES: dict[str, list[dict[str, Any]]] = tomllib.loads(FILE.read_text(encoding="utf-8"))

REGISTRY = _records("models")
JOINED = _records("joined")  # what is made of other estimators; no study fits it
ESTIMATORS = ChainMap(REGISTRY, JOINED)  # all that a file can have
