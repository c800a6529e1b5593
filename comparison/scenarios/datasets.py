"""Data sets: the embedded ones, and the user's own in .csv and .npz files.

The sources and licences of the embedded sets are in data/sets.json. Nothing heavy is imported
before a file is read, so that the command line can list the sets at once.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...estimators.messages import did_you_mean, printable

if TYPE_CHECKING:
    from ...estimators.tables.files import Layout

DATA = files(__package__) / "data"
DEFAULT = ["breast_original", "wine_cultivar3", "abalone_9v18"]
QUICK = ["wine_cultivar3", "glass_headlamps", "ecoli_imU", "abalone_9v18"]
EXPANSION = 100  # times the size of an archive that its arrays may have,
EXPANDED = 2**26  # or these bytes
UNREADABLE = (
    *(KeyError, ValueError, EOFError, TypeError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)


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


# the embedded sets


def records() -> dict[str, dict[str, Any]]:
    """Return the record of each set, by name.

    A record has the origin and its ``url``, the ``licence``, where the ``copy`` was taken from, and
    the ``conversion``: what was changed in the original, and which class is the minority.
    """
    return dict(sorted(json.loads((DATA / "sets.json").read_text(encoding="utf-8")).items()))


def names() -> list[str]:
    """Return the names of the sets."""
    return list(records())


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


def moon(n0: int = 150, n1: int = 15, seed: int = 0) -> Dataset:
    """Return two noisy half moons for pictures: the majority on one, the minority on the other.

    Parameters
    ----------
    n0, n1 : int
        Numbers of majority and of minority rows.
    seed : int

    Examples
    --------
    >>> from bsvdd.comparison import datasets
    >>> round(datasets.moon().base_rate, 3)
    0.091
    """
    from sklearn.datasets import make_moons

    X, y = make_moons((n0, n1), noise=0.15, random_state=seed)
    return Dataset("moon", X, y == 1)


# the user's own files


def from_csv(path: str | Path, layout: Layout, minor: str | None = None) -> Dataset:
    """Return the user's data set in ``path``; columns of text are categories.

    Gaps stay until a training half fills them.

    Parameters
    ----------
    path : str or path
        A CSV file with a header.
    layout : Layout
        With the column of the classes as its label.
    minor : str, optional
        As in :func:`~bsvdd.estimators.labels.read_minority`.

    Raises
    ------
    ValueError
        As in :func:`~bsvdd.estimators.tables.files.read_features`; the message names the file.

    Warns
    -----
    DataWarning
        As in :func:`~bsvdd.estimators.tables.files.read_features`.
    """
    from ...estimators.tables import files
    from ...estimators.training import warn_of_gaps

    X, minority = files.read_features(path, layout, minor)
    with files.naming(path):
        table = layout.table.fit(X)
        numbers = table.coordinates(table.floats(X))
    names = [*map(str, X.columns), *table.cyclic]
    if np.isnan(numbers).any():
        warn_of_gaps(numbers, names)
    return Dataset(
        printable(Path(path).stem),
        numbers,
        np.asarray(minority),
        table.categorical or None,
        bool(np.isnan(numbers).any()) or None,
        X.index.to_numpy(),
        names,
    )


def from_npz(path: str | Path, minor: str | None = None) -> Dataset:
    """Return the user's data set in ``path``: arrays X (n, p) and y (n,). Nothing is unpickled.

    Raises
    ------
    ValueError
        The file lacks these arrays of numbers or strings, they would become much larger than the
        file, or the labels are ambiguous.
    """
    import pandas as pd

    from ...estimators.labels import read_minority

    path = Path(path)
    try:
        if not path.is_file():  # a pipe would block, or end too soon
            raise ValueError("it is no regular file")
        size = path.stat().st_size
        with zipfile.ZipFile(path) as archive:  # nothing longer is read, whatever an array claims
            needed = sum(archive.getinfo(name).file_size for name in ("X.npy", "y.npy"))
        if needed > (most := max(EXPANDED, EXPANSION * size)):
            raise ValueError(
                f"its arrays need {needed:.3g} bytes, expected at most {most:.3g} for a file of "
                f"{size} bytes; save them by np.savez, without compression"
            )
        with np.load(path, allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"]
    except UNREADABLE as error:
        why = str(error).partition("\n")[0]  # NumPy goes on to advise to trust the file
        raise ValueError(
            f"{path} cannot be read as .npz with arrays X and y (of numbers or strings, not of "
            f"objects): {why:.200}"
        ) from error
    if X.ndim != 2 or y.shape != X.shape[:1] or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{path}: X must be a table of numbers (n, p) and y have n values, got X {X.shape} of "
            f"{X.dtype}, y {y.shape}"
        )
    minority = read_minority(pd.Series(y, name="y"), minor)
    return Dataset(printable(path.stem), X.astype(float), minority)


def from_folder(folder: str | Path, label: str | None, minor: str | None) -> list[Dataset]:
    """Return the data sets in the .npz and .csv files of ``folder``, sorted by name.

    Parameters
    ----------
    folder : path
    label : str or None
        Name of the class column in the .csv files; in .npz files it is y.
    minor : str or None
        Value of the minority class in all files.

    Raises
    ------
    ValueError
        The folder has no such file, or a file cannot be read; the message names it.
    """
    from ...estimators.tables.files import Layout

    paths = sorted(p for p in Path(folder).iterdir() if p.suffix in (".npz", ".csv"))
    if not paths:
        raise ValueError(f"{folder} has no .npz and no .csv file")
    data = []
    for path in paths:
        if path.suffix == ".csv" and label is None:
            raise ValueError(f"{path} needs the name of its class column: --label COLUMN")
        try:
            is_npz = path.suffix == ".npz"
            data.append(from_npz(path, minor) if is_npz else from_csv(path, Layout(label), minor))
        except (ValueError, TypeError) as error:
            prefix = "" if str(path) in str(error) else f"{path}: "
            raise ValueError(f"{prefix}{error}") from error
    return data
