"""Results of a study on disk: one JSON file for each finished cell.

The name of a file is the hash of everything that its cell depends on: scenario, candidate,
protocol, replicate, seed and version of bsvdd. A file is first written under another name, so a
run that is killed leaves only complete files, and the next run computes the missing ones. Files
are read as JSON and never executed. A file that is not a result is left unchanged.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import stat
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from ...estimators.atomic import atomic, remove_stale

FORMAT = 2
LARGEST = 2**20  # bytes of a result; they have a few thousand
Row = dict[str, str | float | None]
Memo = dict[int, tuple[Any, dict[str, Any]]]


def describe(value: Any, memo: Memo | None = None) -> Any:
    """Return JSON that is equal for equal values and describes all that a cell depends on.

    Fields of a dataclass that do not count for its equality are left out.

    Parameters
    ----------
    value : object
    memo : dict, optional
        Descriptions of dataclass objects by id, filled here. Objects that several cells share are
        described, and their arrays hashed, only once.

    Raises
    ------
    TypeError
        The value is, or contains, a function or another object without a permanent name.
    """
    memo = {} if memo is None else memo
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if id(value) not in memo:
            fields = {
                f.name: describe(getattr(value, f.name), memo)
                for f in dataclasses.fields(value)
                if f.compare
            }
            memo[id(value)] = value, {"type": type(value).__name__, **fields}
        return memo[id(value)][1]
    if isinstance(value, dict):
        return {str(key): describe(item, memo) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item, memo) for item in value]
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
        f"{value!r} cannot be part of a stored study, as it has no permanent name; use numbers, "
        "strings, and the kernels and priors of bsvdd"
    )


class Store:
    """The finished cells in a folder.

    Parameters
    ----------
    folder : path
        Created if it does not exist.

    Attributes
    ----------
    foreign : dict of str to str
        Names of the files in the folder that are not results, with the reason.

    Raises
    ------
    ValueError
        The folder holds results of another version of bsvdd, or of another format.
    OSError
        The folder cannot be created or written to.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.version = version("bsvdd")
        self.foreign: dict[str, str] = {}
        self._rows: dict[str, Row] = {}
        ensure_writable(folder)
        remove_stale(folder)
        for path in sorted(folder.iterdir()):
            if path.name.startswith(".") and path.name.endswith(".part"):
                continue  # of a run that was killed, or of one that is running
            try:
                self._rows[path.name] = self._read(path)
            except (OSError, NoResultError) as error:
                self.foreign[path.name] = str(error)

    def keys(self, cells: list[Any]) -> list[dict[str, Any]]:
        """Return the description of each cell; what the cells share is described once."""
        memo: Memo = {}
        return [describe(cell, memo) for cell in cells]

    def get(self, key: dict[str, Any]) -> Row | None:
        """Return the result of a cell; a ValueError if a foreign file has its name."""
        name = _file_name(key, self.version)
        if name in self.foreign:
            raise ValueError(
                f"{self.folder / name} has the name of a result, but is none "
                f"({self.foreign[name]}); it is left as it is: move it away and run again"
            )
        return self._rows.get(name)

    def put(self, key: dict[str, Any], row: Row) -> None:
        """Write the result of a cell, all or nothing."""
        name = _file_name(key, self.version)
        record = {
            "format": FORMAT,
            "bsvdd": self.version,
            "cell": key,
            "row": row,
            "sha256": _digest([key, row]),
        }
        with atomic(self.folder / name) as temporary:
            temporary.write_text(json.dumps(record, allow_nan=False) + "\n", encoding="utf-8")
        self._rows[name] = row

    def _read(self, path: Path) -> Row:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
            raise NoResultError(f"no regular file of at most {LARGEST} bytes")
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            format_, version_, cell, row = (record[k] for k in ("format", "bsvdd", "cell", "row"))
            name, digest = _file_name(cell, self.version), _digest([cell, row])
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise NoResultError(f"no result of a study: {type(error).__name__} {error}") from error
        if (format_, version_) != (FORMAT, self.version):
            raise ValueError(
                f"{path.parent} holds results of bsvdd {version_} (format {format_}), and this is "
                f"bsvdd {self.version} (format {FORMAT}), whose numbers may differ; give another "
                "folder, or go on with the version that wrote it"
            )
        if path.name != name or not isinstance(row, dict):
            raise NoResultError("its name is not the hash of its content")
        if record.get("sha256") != digest:
            raise NoResultError("its values are not those that were written")
        return row


class NoResultError(ValueError):
    """A file in the store is not the result of a cell."""


def ensure_writable(folder: Path) -> None:
    """Create ``folder`` if needed; raise an OSError if files cannot be written to it."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder):
        pass


def _file_name(cell: Any, version: str) -> str:
    return _digest([FORMAT, version, cell])[:32] + ".json"


def _digest(value: Any) -> str:
    content = json.dumps(value, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
