"""The embedded data sets, with their sources and licences; nothing heavy is imported."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from ...estimators.messages import did_you_mean

DATA = files(__package__) / "data"
DEFAULT = ["breast_original", "wine_cultivar3", "abalone_9v18"]
QUICK = ["wine_cultivar3", "glass_headlamps", "ecoli_imU", "abalone_9v18"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and their classes; two sets are equal if their names and contents are.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n, p)
    minority : ndarray of bool, shape (n,)
        Whether a row belongs to the minority class.
    categorical : tuple of int, optional
        Positions of the columns of categories, for :class:`bsvdd.kernels.Tabular`.
    imputed : bool, optional
        True if NaN in X are gaps, to fill by what the majority rows of a training half have.
    row_names : ndarray of shape (n,), optional
        The user's names of the rows, for pictures; by default their numbers.
    columns : list of str, optional
        The user's names of the columns.
    """

    name: str
    X: np.ndarray
    minority: np.ndarray
    categorical: tuple[int, ...] | None = None
    imputed: bool | None = None
    row_names: np.ndarray | None = field(default=None, compare=False)
    columns: list[str] | None = field(default=None, compare=False)

    @cached_property
    def _digest(self) -> tuple[str, tuple[int, ...], str]:
        content = np.ascontiguousarray(self.X).tobytes() + np.packbits(self.minority).tobytes()
        content += repr(self.categorical).encode() if self.categorical else b""
        return self.name, self.X.shape, hashlib.sha256(content).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    @property
    def base_rate(self) -> float:
        """Share of minority rows."""
        return float(self.minority.mean())


@dataclass(frozen=True)
class Source:
    """The source of an embedded data set, as recorded in data/sets.json.

    Attributes
    ----------
    origin, url, doi : str
        Name, authors and address at the UCI Machine Learning Repository; some sets have no doi.
    licence : str
        As stated by the repository and by the copy.
    copy : str
        Where the embedded copy was taken from.
    conversion : str
        What was changed in the original, and which class is the minority (y=1).
    known_as : str or None
        Its name elsewhere.
    """

    origin: str
    url: str
    doi: str | None
    licence: str
    copy: str
    conversion: str
    known_as: str | None


def sources(folder: Traversable = DATA) -> dict[str, Source]:
    """Return the sources and licences of the embedded sets in ``folder``, by name."""
    return {
        name: Source(**{f.name: record[f.name] for f in fields(Source)})
        for name, record in records(folder).items()
    }


def records(folder: Traversable) -> dict[str, dict[str, Any]]:
    """Return what the sets.json of ``folder`` says of each set, by name."""
    return dict(sorted(json.loads((folder / "sets.json").read_text(encoding="utf-8")).items()))


def names() -> list[str]:
    """Return the names of the embedded real data sets."""
    return list(records(DATA))


def require_known(what: str, name: str, names: Iterable[str]) -> None:
    """Raise a ValueError that lists the names, if ``name`` is not one of them."""
    if name not in (known := list(names)):
        raise ValueError(
            f"unknown {what} {name!r}{did_you_mean(name, known)}; expected one of "
            f"{', '.join(map(repr, known))}"
        )


def embedded(name: str) -> Dataset:
    """Return the embedded data set ``name``.

    Raises
    ------
    ValueError
        There is no data set of that name; the message lists the names.

    Examples
    --------
    >>> from bsvdd.comparison import datasets
    >>> data = datasets.embedded("wine_cultivar3")
    >>> data.X.shape, int(data.minority.sum())
    ((178, 13), 48)
    """
    require_known("data set", name, names())
    with as_file(DATA / f"{name}.npz") as path, np.load(path) as arrays:
        return Dataset(name, arrays["X"], arrays["y"] == 1)
