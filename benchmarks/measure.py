"""What measurements share: cells that are computed once, real sets, tables of text."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import subprocess
import warnings
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from rich.progress import track

from bsvdd.base.atomic import write
from bsvdd.base.warning import DataWarning, DiagnosticWarning
from bsvdd.comparison import datasets

STORED = Path(__file__).parents[1] / "docs" / "evidence"
Rows = list[dict[str, Any]]


# a class, so that processes can be sent the functions that it decorates
class quietly(ContextDecorator):
    """Leave out our own warnings, which are about small samples; a decorator too."""

    def __enter__(self) -> None:
        self.caught = warnings.catch_warnings(
            action="ignore", category=DiagnosticWarning
        )
        self.caught.__enter__()
        warnings.simplefilter("ignore", DataWarning)

    def __exit__(self, *raised: Any) -> None:
        self.caught.__exit__(*raised)


# cells


@dataclass(frozen=True)
class Run:
    """How a measurement is computed.

    Attributes
    ----------
    name : str
    folder : pathlib.Path
        Has a file for each finished cell.
    sets : pathlib.Path or None
        Folder of the development sets.
    jobs : int
        Processes.
    few : int
        About how many cells of a kind are computed; 0 for all.
    """

    name: str
    folder: Path
    sets: Path | None
    jobs: int
    few: int = 0

    def cells(
        self, cell: Callable[..., Rows], arguments: Iterable[tuple[Any, ...]]
    ) -> Any:
        """Return the rows of ``cell(*each)`` for all arguments, as one table in order.

        A cell that has a file is not computed again.
        """
        cells = list(arguments)
        cells = cells[:: -(-len(cells) // self.few)] if self.few else cells
        files = [self.file(cell, each) for each in cells]
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = [i for i, file in enumerate(files) if not file.exists()]
        work = (delayed(_computed)(cell, cells[i], files[i]) for i in missing)
        pool = Parallel(self.jobs, batch_size=1, return_as="generator_unordered")
        for _ in track(pool(work), f"{self.name}, {cell.__name__}", total=len(missing)):
            pass
        return pd.DataFrame(
            [r for f in files for r in json.loads(f.read_text(encoding="utf-8"))]
        )

    def file(self, cell: Callable[..., Rows], arguments: tuple[Any, ...]) -> Path:
        """Return the file of a cell."""
        text = json.dumps([cell.__name__, *map(str, arguments)])
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


@quietly()
def _computed(
    cell: Callable[..., Rows], arguments: tuple[Any, ...], file: Path
) -> None:
    write(file, json.dumps(cell(*arguments), default=float).encode())


# real sets


def set_names(folder: Path | None) -> list[str]:
    """Return the names of embedded sets, and a number for each set of a folder."""
    others = sorted(folder.glob("*.npz")) if folder else []
    return [*datasets.names(), *(f"other {i}" for i in range(len(others)))]


def real_set(folder: Path | None, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of a set, and which of them are abnormal."""
    if folder is None or not name.startswith("other "):
        data = datasets.embedded(name)
        return data.X, data.minority
    train, test, odd = _of_file(folder, name)
    is_odd = np.concatenate([np.zeros(len(train), bool), odd])
    return np.concatenate([train, test]), is_odd


def clean_set(folder: Path | None, name: str, split: int = 0, most: int = 1000) -> Any:
    """Return normal rows to train on, other rows, and which of these are abnormal.

    A random half of the normal rows of an embedded set trains; other sets have training
    rows. At most ``most`` rows train, and at most twice as many others are taken.
    """
    rng = np.random.default_rng(split)
    if folder is not None and name.startswith("other "):
        X, Z, y = _of_file(folder, name)
    else:
        data = datasets.embedded(name)
        order = rng.permutation(np.flatnonzero(~data.minority))
        test = np.concatenate([order[len(order) // 2 :], np.flatnonzero(data.minority)])
        X = data.X[order[: len(order) // 2]]
        Z = data.X[test]
        y = data.minority[test]
    if len(X) > most:
        X = X[rng.choice(len(X), most, replace=False)]
    if len(Z) > 2 * most:
        share = 2 * most / len(Z)
        of = [
            rng.choice(i, max(1, int(share * len(i))), False)
            for i in map(np.flatnonzero, (~y, y))
        ]
        Z = Z[np.concatenate(of)]
        y = y[np.concatenate(of)]
    return X, Z, y


def _of_file(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    files = sorted(folder.glob("*.npz"))
    with np.load(files[int(name.removeprefix("other "))]) as file:
        rows = np.nan_to_num(file["train"]), np.nan_to_num(file["test"])
        return *rows, file["test_labels"] > 0


def collection(name: str) -> str:
    """Return whether a set is embedded or for development."""
    return "development" if name.startswith("other ") else "embedded"


# tables


def number(value: float, digits: int = 2) -> str:
    """Return a number without the zero before the point; a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:,.{digits}f}"
    return text.removeprefix("0") if 0 <= value < 0.9999 and digits else text


def texts(frame: pd.DataFrame, digits: int | dict[str, int] = 2) -> pd.DataFrame:
    """Return a table with its index as columns, and text in each cell."""
    frame = frame.reset_index()
    found = {}
    for name, column in frame.items():
        places = digits if isinstance(digits, int) else digits.get(str(name), 2)
        if pd.api.types.is_float_dtype(column):
            found[name] = [number(value, places) for value in column]
        else:
            found[name] = [f"{v:,}" if isinstance(v, int) else str(v) for v in column]
    return pd.DataFrame(found)


def store(name: str, tables: dict[str, pd.DataFrame]) -> None:
    """Write the tables of a measurement with command, commit and date."""
    found = {
        "command": f"python -m benchmarks {name}",
        "commit": revision(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "tables": {
            title: [list(map(str, table.columns)), *table.to_numpy().tolist()]
            for title, table in tables.items()
        },
    }
    STORED.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False)
    write(STORED / f"{name}.json", f"{text}\n".encode())


def stored(name: str) -> dict[str, Any]:
    """Return what :func:`store` wrote."""
    text = (STORED / f"{name}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def stored_table(name: str, title: str) -> pd.DataFrame:
    """Return a stored table of text; its first column is the index."""
    head, *lines = stored(name)["tables"][title]
    return pd.DataFrame(lines, columns=head).set_index(head[0])


@cache
def revision() -> str:
    """Return the last commit of the code, with a + if the code is changed."""
    code = ["--", ":/", ":!/docs", ":!/tests", ":!/notebooks", ":!/*.md"]

    def git(*command: str) -> str:
        here = Path(__file__).parent
        done = subprocess.run(
            ["git", *command], cwd=here, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    changed = git("status", "--porcelain", *code)
    return git("log", "-1", "--format=%h", *code) + ("+" if changed else "")
