"""Data sets: the embedded ones, and the user's own in .csv and .npz files."""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
import zlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_moons

from ...estimators.labels import minority_rows, read_labels
from ...estimators.rows.files import csv_header, csv_options, reading_csv, require_file

DATA = files(__package__) / "data"
DEFAULT = ["breast_original", "wine_cultivar3", "abalone_9v18"]
UNREADABLE = KeyError, ValueError, EOFError, TypeError, RuntimeError
EXPANSION = 100  # times the size of a compressed file that its arrays may need,
EXPANDED = 2**26  # or these bytes
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
    """

    name: str
    X: np.ndarray
    minority: np.ndarray

    @cached_property
    def _digest(self) -> tuple[str, tuple[int, ...], str]:
        content = np.ascontiguousarray(self.X).tobytes() + np.packbits(self.minority).tobytes()
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


def sources() -> dict[str, Source]:
    """Return the sources and licences of the embedded data sets, by name."""
    records = json.loads((DATA / "sets.json").read_text(encoding="utf-8"))
    return {name: Source(**record) for name, record in sorted(records.items())}


def names() -> list[str]:
    """Return the names of the embedded real data sets."""
    return sorted(f.name.removesuffix(".npz") for f in DATA.iterdir() if f.name.endswith(".npz"))


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
    if name not in names():
        raise ValueError(f"unknown data set {name!r}; expected one of {', '.join(names())}")
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
    X, y = make_moons((n0, n1), noise=0.15, random_state=seed)
    return Dataset("moon", X, y == 1)


def read_table(path: str | Path, label: str | None = None) -> pd.DataFrame:
    """Read a CSV file with a header.

    Parameters
    ----------
    path : str or path
    label : str, optional
        The class column, which is read by the rule of :func:`bsvdd.estimators.labels.read_labels`.

    Raises
    ------
    ValueError
        The file is not CSV, its header lacks a name or repeats one, or it has no rows.
    """
    path = Path(path)
    columns = csv_header(path)
    with reading_csv(path) as file:
        table = pd.read_csv(file, **csv_options(columns))
    if label in columns:
        with reading_csv(path) as file:
            texts = pd.read_csv(file, **csv_options(columns, as_text=True))[label].tolist()
        table[label] = pd.Series(read_labels(texts), table.index)
    if table.empty:
        raise ValueError(f"{path} has a header but no rows")
    return table


def features(table: pd.DataFrame, columns: list[str] | None = None) -> pd.DataFrame:
    """Return the named columns, or all; raise a ValueError if one is missing or not numeric."""
    if columns is not None:
        missing = [c for c in columns if c not in table.columns]
        if missing:
            raise ValueError(
                f"the table lacks the column(s) {', '.join(missing)}; it has "
                f"{', '.join(map(str, table.columns))}"
            )
        table = table[columns]
    text = [c for c in table.columns if not pd.api.types.is_numeric_dtype(table[c])]
    if text:
        column = table[text[0]].reset_index(drop=True)
        bad = column[column.notna() & pd.to_numeric(column, errors="coerce").isna()]
        bad = bad if len(bad) else column.dropna()  # True, False and gaps all convert to numbers
        raise ValueError(
            f"column(s) {', '.join(map(str, text))} are not numeric (row {bad.index[0]} of "
            f"{text[0]}, counted from 0, is {bad.iloc[0]!r:.80}); encode or drop them"
        )
    if not table.shape[1]:
        raise ValueError("the table has no feature columns")
    return table


def split_label(
    table: pd.DataFrame, label: str, minor: str | None
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the features, and which rows belong to the minority.

    Parameters
    ----------
    table : pandas.DataFrame
    label : str
        Name of the class column.
    minor : str or None
        Value of the minority class. If None, the labels must be {0, 1} or {-1, 1} and are read by
        the rules of :mod:`bsvdd.estimators.labels`.

    Raises
    ------
    ValueError
        The table has no such column, the value does not occur in it, another column is not
        numeric, or the labels are ambiguous.
    """
    if label not in table.columns:
        raise ValueError(
            f"label column {label!r} is not in the table; it has "
            f"{', '.join(map(str, table.columns))}"
        )
    y = table[label].to_numpy()
    value: Any = minor
    if minor is not None:
        texts = any(isinstance(each, str) for each in y)
        value = minor if texts else read_labels([minor])[0]
        if isinstance(value, np.bool_) != (y.dtype == bool) or not (y == value).any():
            values = ", ".join(map(str, pd.unique(y)[:10]))
            raise ValueError(
                f"the minority value {minor!r} never occurs in column {label!r}; it has {values}"
            )
    return features(table.drop(columns=label)), minority_rows(y, len(y), value)


def from_csv(path: str | Path, label: str, minor: str | None) -> Dataset:
    """Return the user's data set in ``path``.

    Parameters
    ----------
    path : str or path
        A CSV file with a header.
    label, minor : str
        As in :func:`split_label`.

    Raises
    ------
    ValueError
        As in :func:`read_table` and :func:`split_label`.
    """
    X, minority = split_label(read_table(path, label), label, minor)
    return Dataset(Path(path).stem, X.to_numpy(dtype=float), minority)


def from_npz(path: str | Path, minor: str | None = None) -> Dataset:
    """Return the user's data set in ``path``: arrays X (n, p) and y (n,). Nothing is unpickled.

    Raises
    ------
    ValueError
        The file lacks these arrays of numbers or strings, they would become much larger than the
        file, or the labels are ambiguous.
    """
    try:
        require_file(Path(path))
        with zipfile.ZipFile(path) as archive:
            _check_sizes(archive, os.path.getsize(path))
        with np.load(path, allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"]
    except (*UNREADABLE, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(
            f"{path} cannot be read as .npz with arrays X and y (of numbers or strings, not of "
            f"objects): {error}"
        ) from error
    if X.ndim != 2 or y.shape != X.shape[:1] or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{path}: X must be a table of numbers (n, p) and y have n values, got X {X.shape} of "
            f"{X.dtype}, y {y.shape}"
        )
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    _, minority = split_label(table.assign(y=y), "y", minor)
    return Dataset(Path(path).stem, X.astype(float), minority)


def _check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Raise a ValueError if X and y need more memory than a file of ``size`` bytes can explain."""
    most = max(EXPANDED, EXPANSION * size)
    needed = 0
    for name in ("X.npy", "y.npy"):
        with archive.open(name) as member:
            version = np.lib.format.read_magic(member)
            read = np.lib.format.read_array_header_1_0
            shape, _, dtype = (
                read(member) if version == (1, 0) else np.lib.format.read_array_header_2_0(member)
            )
        needed += max(archive.getinfo(name).file_size, math.prod(shape) * dtype.itemsize)
    if needed > most:
        raise ValueError(
            f"its arrays need {needed:.3g} bytes, expected at most {most:.3g} for a file of {size} "
            "bytes; save them by np.savez, without compression"
        )


def from_folder(folder: str | Path, label: str | None, minor: str | None) -> list[Dataset]:
    """Return the data sets in the .npz and .csv files of ``folder``, sorted by name.

    Parameters
    ----------
    folder : path
    label : str or None
        Name of the class column in the .csv files; in .npz files it is y.
    minor : str or None
        Value of the minority class in all files, as in :func:`split_label`.

    Raises
    ------
    ValueError
        The folder has no such file, or a file cannot be read; the message names it.
    """
    paths = sorted(p for p in Path(folder).iterdir() if p.suffix in (".npz", ".csv"))
    if not paths:
        raise ValueError(f"{folder} has no .npz and no .csv file")
    tables = [p for p in paths if p.suffix == ".csv"]
    if tables and label is None:
        raise ValueError(f"{tables[0]} needs the name of its class column: --label COLUMN")
    data = []
    for path in paths:
        try:
            is_npz = path.suffix == ".npz"
            data.append(from_npz(path, minor) if is_npz else from_csv(path, str(label), minor))
        except (ValueError, TypeError) as error:
            prefix = "" if str(path) in str(error) else f"{path}: "
            raise ValueError(f"{prefix}{error}") from error
    return data
