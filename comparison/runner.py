"""Run the cells of a study, each once, and make them a table."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ..models.registry import REGISTRY
from .cell import Cell, trivial_rules
from .datasets import Dataset
from .protocol import Candidate, Protocol
from .setting import Real, Setting
from .store import Row, Store
from .workers import Workers

DEFAULT_MODELS = list(REGISTRY)


@dataclass(frozen=True)
class Progress:
    """How far a run is: cells of which the results are there, the failed among them, all."""

    done: int
    failed: int
    total: int
    cell: Cell
    row: Row


@dataclass(frozen=True)
class Study:
    """Settings x candidates x replicates, under one protocol.

    Parameters
    ----------
    name : str
    settings : list of Setting
    candidates : list of Candidate
        A model that learns from minority rows is left out where a setting has none in training.
    protocol : Protocol
    replicates : int
    seed : int
    """

    name: str
    settings: list[Setting]
    candidates: list[Candidate]
    protocol: Protocol
    replicates: int = 10
    seed: int = 0

    def file(self, folder: Path, name: str) -> Path:
        """Return the path of a file of this study: of its "results.csv", or "table.tex"."""
        return folder / f"{self.name.replace(': ', '_')}_{name}"

    def cells(self) -> list[Cell]:
        """Return the cells, in the order of the table."""
        return [
            Cell(setting, candidate, self.protocol, replicate, self.seed)
            for setting in self.settings
            for replicate in range(self.replicates)
            for candidate in self.candidates
            if setting.labelled or not candidate.learns_from_minority
        ]

    def check(self) -> None:
        """Raise a ValueError for what no cell could be fitted to."""
        for what, given in (
            ("data set", [setting.name for setting in self.settings]),
            ("model", [candidate.name for candidate in self.candidates]),
        ):
            twice = {name for name in given if given.count(name) > 1}
            if twice:
                raise ValueError(f"{what} {sorted(twice)[0]!r} is given twice")
        folds = self.protocol.cutoff.cv
        for setting in self.settings:
            setting.check()
            n1 = setting.n_minority
            if setting.labelled and isinstance(folds, int) and n1 is not None and n1 < folds:
                raise ValueError(
                    f"{setting.name}: {folds} folds need at least {folds} minority rows in "
                    f"training, got {n1}; give more rows, or use fewer folds"
                )
        for candidate in self.candidates:
            self.protocol.check(len(self.protocol.choices(candidate)))

    def run(
        self,
        store: Store | None = None,
        workers: Workers = Workers(),
        retry: bool = False,
        on_cell: Callable[[Progress], None] | None = None,
    ) -> pd.DataFrame:
        """Return the results, one row a cell, in an order that workers do not change.

        Rows of the trivial rules come last.

        Parameters
        ----------
        store : Store, optional
            Cells that it has are not computed again, and each that is finished is put there.
        workers : Workers
        retry : bool
            Whether cells that failed before are computed again.
        on_cell : callable, optional
            Called with the progress, first for what is stored, then after each cell.
        """
        self.check()
        cells = self.cells()
        rows: list[Row | None] = [None] * len(cells)
        if store is not None:
            names = [store.name(cell) for cell in cells]
            store.check(names)
            for i, name in enumerate(names):
                if name in store and not (retry and "error" in store[name]):
                    rows[i] = store[name]
        done, failed = 0, 0

        def finished(i: int, row: Row) -> None:
            nonlocal done, failed
            rows[i] = row
            done, failed = done + 1, failed + ("error" in row)
            if on_cell is not None:
                on_cell(Progress(done, failed, len(cells), cells[i], row))

        missing = [i for i, row in enumerate(rows) if row is None]
        for i, row in enumerate(rows):
            if row is not None:
                finished(i, row)
        with closing(workers.run([cells[i] for i in missing])) as computed:
            for k, row in computed:
                i = missing[k]
                if store is not None:
                    store.put(cells[i], row)
                finished(i, row)
        trivial = [
            row
            for setting in self.settings
            for replicate in range(self.replicates)
            for row in trivial_rules(setting, replicate, self.seed)
        ]
        return frame([row for row in rows if row is not None] + trivial)


TEXT = ("data", "model", "chosen", "notes", "error")


def frame(rows: list[Row]) -> pd.DataFrame:
    """Return rows as a table: text where it is text, numbers elsewhere, NaN for none."""
    table = pd.DataFrame(rows)
    for name in TEXT:
        table[name] = table[name].fillna("") if name in table else ""
    numbers = [name for name in table.columns if name not in TEXT]
    table[numbers] = table[numbers].astype(float)
    return table.astype({"replicate": int})


def read(path: str | Path) -> pd.DataFrame:
    """Return the results that a study wrote to ``path`` as CSV, as its run gave them."""
    with open(path, newline="", encoding="utf-8") as file:
        rows: list[Row] = [
            {name: text if name in TEXT else float(text or "nan") for name, text in row.items()}
            for row in csv.DictReader(file)
        ]
    return frame(rows)


def compare(
    data: list[Dataset],
    models: list[str] | None = None,
    replicates: int = 5,
    protocol: Protocol | None = None,
    seed: int = 0,
    jobs: int = 1,
    on_cell: Callable[[Progress], None] | None = None,
) -> pd.DataFrame:
    """Return the results of models on random halves of data sets: the study of one command.

    Parameters
    ----------
    data : list of Dataset
    models : list of str, optional
        Names in the registry; ``DEFAULT_MODELS`` when left out.
    replicates : int, default=5
    protocol : Protocol, optional
    seed : int, default=0
    jobs : int, default=1
        Worker processes.
    on_cell : callable, optional
        Called with the :class:`Progress` after each finished cell.

    Returns
    -------
    pandas.DataFrame
        One row a fit, with its metrics, time and diagnostics; :mod:`.table` sums it up. The last
        rows are those of flagging all rows and of flagging none.

    Raises
    ------
    ValueError
        An unknown model, a model or data set given twice, rows with NaN, or too few rows. A fit
        that fails is no error: it is a row with its ``error``.

    Examples
    --------
    >>> from bsvdd.comparison import datasets, runner, table
    >>> data = [datasets.embedded("wine_cultivar3")]
    >>> results = runner.compare(data, ["SVDD", "OCSVM"], replicates=2)
    >>> [model for _, model in table.summary(results, {"auc": "AUC"}).index]
    ['SVDD', 'OCSVM', 'flag all', 'flag none']
    """
    study = comparison(data, models, replicates, protocol, seed)
    return study.run(workers=Workers(jobs), on_cell=on_cell)


def comparison(
    data: list[Dataset],
    models: list[str] | None = None,
    replicates: int = 5,
    protocol: Protocol | None = None,
    seed: int = 0,
) -> Study:
    """Return the study that :func:`compare` runs."""
    chosen = DEFAULT_MODELS if models is None else models
    settings: list[Setting] = [Real(each) for each in data]
    candidates = [Candidate(name, name) for name in chosen]
    return Study("compare", settings, candidates, protocol or Protocol(), replicates, seed)
