"""Results of a study on disk: one JSON file for each finished cell.

The name of a file is the hash of everything that its cell depends on: scenario, candidate,
protocol, replicate, seed and version of bsvdd. Another study and another version have other files.
A file is written as a whole or not at all, so a study that was killed goes on from there. A file
is read as JSON and never executed, and a damaged one is computed again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from ...estimators.atomic import atomic, remove_stale
from ...inference.warning import DataWarning, warn

Row = dict[str, str | float | None]
Hashed = dict[int, tuple[np.ndarray, str]]


def describe(value: Any, hashed: Hashed | None = None) -> str:
    """Return JSON that is equal for equal values and describes all that a cell depends on.

    Fields of a dataclass that do not count for its equality are left out.

    Parameters
    ----------
    value : object
    hashed : dict, optional
        Hashes of arrays by id, filled here: an array that several cells share is hashed once.

    Raises
    ------
    TypeError
        The value is, or contains, a function or another object without a permanent name.
    """
    hashed = {} if hashed is None else hashed

    def described(value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [f.name for f in dataclasses.fields(value) if f.compare]
            return {"type": type(value).__name__} | {f: getattr(value, f) for f in fields}
        if isinstance(value, np.ndarray):
            if id(value) not in hashed:
                content = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"))
                hashed[id(value)] = value, hashlib.sha256(content.tobytes()).hexdigest()
            return {"type": "array", "shape": value.shape, "sha256": hashed[id(value)][1]}
        if isinstance(value, np.generic):
            return value.item()
        raise TypeError(
            f"{value!r} cannot be part of a stored study, as it has no permanent name; use "
            "numbers, strings, and the kernels and priors of bsvdd"
        )

    return json.dumps(value, default=described, sort_keys=True)


class Store:
    """The finished cells in a folder.

    Parameters
    ----------
    folder : path
        Created if it does not exist. Other files in it are left as they are.
    needed : bool, default=True
        Whether a result that cannot be written is an error. If not, one warning says so.

    Raises
    ------
    OSError
        The folder cannot be created or written to.
    """

    def __init__(self, folder: Path, needed: bool = True):
        self.folder = folder
        self.needed = needed
        self._failed = False
        self._hashed: Hashed = {}
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
        remove_stale(folder)

    def get(self, cell: Any) -> Row | None:
        """Return the result of a cell; None if there is none, or if its file is damaged.

        Warns
        -----
        DataWarning
            The values of the file are not those that were written.
        """
        path, key = self._file(cell)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            row: Row = record["row"]
            if record["sha256"] == _digest([key, row]):
                return row
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError, LookupError, TypeError):
            pass
        warn(f"{path} is damaged; its cell is computed again", DataWarning)
        return None

    def put(self, cell: Any, row: Row) -> None:
        """Write the result of a cell, all or nothing."""
        path, key = self._file(cell)
        record = {"row": row, "sha256": _digest([key, row])}
        try:
            with atomic(path) as temporary:
                temporary.write_text(json.dumps(record, allow_nan=False) + "\n", encoding="utf-8")
        except OSError as error:
            if self.needed:
                raise
            if not self._failed:
                warn(f"a result is not stored in {self.folder}: {error.strerror}", DataWarning)
            self._failed = True

    def _file(self, cell: Any) -> tuple[Path, str]:
        """Return the path of the result of a cell, and the hash of what the cell depends on."""
        key = _digest([version("bsvdd"), describe(cell, self._hashed)])
        return self.folder / f"{key[:32]}.json", key


def _digest(value: Any) -> str:
    content = json.dumps(value, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
