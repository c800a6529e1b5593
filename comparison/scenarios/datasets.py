"""Data sets: the embedded ones, and the user's own in .csv and .npz files."""

from __future__ import annotations

import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_moons

from ...estimators.messages import printable
from ...estimators.rows import columns
from ...estimators.rows.files import Layout, require_file
from ...estimators.rows.tables import minority_of, read_features
from .collection import DEFAULT as DEFAULT
from .collection import QUICK as QUICK
from .collection import Dataset
from .collection import Source as Source
from .collection import embedded as embedded
from .collection import names as names
from .collection import sources as sources

UNREADABLE = (
    *(KeyError, ValueError, EOFError, TypeError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)
EXPANSION = 100  # times the size of a compressed file that its arrays may need,
EXPANDED = 2**26  # or these bytes


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


def from_csv(
    path: str | Path,
    label: str | None,
    minor: str | None,
    id: str | None = None,
    drop: tuple[str, ...] = (),
    sep: str = ",",
    decimal: str = ".",
    categories: tuple[str, ...] = (),
    missing: str = "error",
) -> Dataset:
    """Return the user's data set in ``path``; columns of text are categories.

    Parameters
    ----------
    path : str or path
        A CSV file with a header.
    label, minor : str or None
        As in :func:`~bsvdd.estimators.rows.tables.minority_of`; without a label no row is
        minority, and a column with two values is a category.
    id, drop, sep, decimal, categories
        As in :class:`~bsvdd.estimators.rows.files.Layout`.
    missing : {"error", "drop", "impute"}
        As in :func:`~bsvdd.estimators.rows.tables.read_features`. With "impute" the gaps stay
        until a training half fills them.

    Raises
    ------
    ValueError
        As in :func:`~bsvdd.estimators.rows.tables.read_features`; the message names the file.

    Warns
    -----
    DataWarning
        As in :func:`~bsvdd.estimators.rows.tables.read_features`.
    """
    layout = Layout(label, id, drop, sep, decimal, categories)
    X, minority = read_features(path, layout, minor, missing)
    text, dates = columns.found(X)
    numbers = columns.numbers(X, text, dates).to_numpy(dtype=float)
    imputed = bool(np.isnan(numbers).any()) or None
    names = X.index.to_numpy()
    classes = np.zeros(len(X), dtype=bool) if minority is None else np.asarray(minority)
    named = [str(c) for c in X.columns]
    return Dataset(_name(path), numbers, classes, text or None, imputed, names, named)


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
        size = os.path.getsize(path)
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
    minority = minority_of(pd.Series(y, name="y"), minor)
    return Dataset(_name(path), X.astype(float), minority)


def _name(path: str | Path) -> str:
    """Return the name of the data set in a file; it is shown in terminals and on pages."""
    return printable(Path(path).stem)


def from_folder(folder: str | Path, label: str | None, minor: str | None) -> list[Dataset]:
    """Return the data sets in the .npz and .csv files of ``folder``, sorted by name.

    Parameters
    ----------
    folder : path
    label : str or None
        Name of the class column in the .csv files; in .npz files it is y.
    minor : str or None
        Value of the minority class in all files, as in :func:`from_csv`.

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
