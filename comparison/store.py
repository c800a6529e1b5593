"""The results of a study on disk: one JSON file for each finished cell.

A file is named by the hash of all that its cell depends on (setting, candidate, protocol,
replicate, seed, version of bsvdd), and written under another name first, so that a run that is
killed leaves whole files only, and the next one computes what is missing. Files are read as
JSON and never executed; one that is no result is left untouched.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from ..inference.files import atomic, remove_stale

FORMAT = 1
Row = dict[str, str | float | None]


def describe(value: Any) -> Any:
    """Return ``value`` as JSON that is the same for equal values: what a cell depends on.

    Raises
    ------
    TypeError
        It is, or holds, a function or another object without a lasting name.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: describe(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, dict):
        return {str(key): describe(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [describe(each) for each in value]
    if isinstance(value, np.ndarray):
        content = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"))
        digest = hashlib.sha256(content.tobytes()).hexdigest()
        return {"type": "array", "shape": list(value.shape), "sha256": digest}
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"{value!r} cannot be part of a stored study, as it has no name that lasts; use numbers, "
        "strings, and the kernels and priors of bsvdd"
    )


class Store:
    """The finished cells in a folder.

    Parameters
    ----------
    folder : path
        Made if it is not there.

    Attributes
    ----------
    foreign : dict of str to str
        Names of files in the folder that are no results, and why not.

    Raises
    ------
    ValueError
        The folder holds results of another version of bsvdd, or of another format.
    OSError
        The folder cannot be made, or cannot be written to.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.version = version("bsvdd")
        self.foreign: dict[str, str] = {}
        self._rows: dict[str, Row] = {}
        usable(folder)
        remove_stale(folder)
        for path in sorted(folder.iterdir()):
            if path.name.startswith(".") and path.name.endswith(".part"):
                continue  # of a run that was killed, or of one that runs now
            try:
                self._rows[path.name] = self._read(path)
            except (OSError, NoResultError) as error:
                self.foreign[path.name] = str(error)

    def name(self, cell: Any) -> str:
        """Return the name of the file of ``cell``."""
        return _name(describe(cell), self.version)

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def __getitem__(self, name: str) -> Row:
        return self._rows[name]

    def check(self, names: list[str]) -> None:
        """Raise a ValueError where a foreign file stands in the place of one of these results."""
        for name in names:
            if name in self.foreign:
                raise ValueError(
                    f"{self.folder / name} stands in the place of a result, but is none "
                    f"({self.foreign[name]}); it is left as it is: move it away and run again"
                )

    def put(self, cell: Any, row: Row) -> None:
        """Write the result of ``cell``, all or nothing."""
        key = describe(cell)
        name = _name(key, self.version)
        record = {"format": FORMAT, "bsvdd": self.version, "cell": key, "row": row}
        with atomic(self.folder / name) as temporary:
            temporary.write_text(json.dumps(record, allow_nan=False) + "\n", encoding="utf-8")
        self._rows[name] = row

    def _read(self, path: Path) -> Row:
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            found, written, key, row = (record[k] for k in ("format", "bsvdd", "cell", "row"))
        except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError) as error:
            raise NoResultError(f"no result of a study: {type(error).__name__} {error}") from error
        if (found, written) != (FORMAT, self.version):
            raise ValueError(
                f"{path.parent} holds results of bsvdd {written} (format {found}), and this is "
                f"bsvdd {self.version} (format {FORMAT}), whose numbers may differ; give another "
                "folder, or go on with the version that wrote it"
            )
        if path.name != _name(key, self.version) or not isinstance(row, dict):
            raise NoResultError("its name is not that of its content")
        return row


class NoResultError(ValueError):
    """A file in the store is no result of a cell."""


def _name(key: Any, version: str) -> str:
    said = json.dumps([FORMAT, version, key], sort_keys=True, allow_nan=False)
    return hashlib.sha256(said.encode()).hexdigest()[:32] + ".json"


def usable(folder: Path) -> None:
    """Make ``folder``, and raise an OSError where files cannot be written there."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder):
        pass
