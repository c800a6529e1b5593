"""Runs each cell of a study once and collects the results in a table."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from ...estimators.messages import FORMULA, as_cell, quoted
from ...estimators.registry import REGISTRY
from ..scenarios.datasets import Dataset
from ..scenarios.scenario import Real, Scenario
from .cell import Cell, replicate_pair, trivial_rules
from .protocol import Candidate, Protocol
from .store import Row, Store
from .workers import Workers
from .yardsticks import YARDSTICKS

SUMS_OVER_PAIRS, MANY_ROWS = "KDE", 20_000  # this yardstick compares each row with all
DEFAULT_MODELS = [*REGISTRY, *YARDSTICKS]


@dataclass(frozen=True)
class Progress:
    """The progress of a run.

    Attributes
    ----------
    done, failed, total : int
        Number of cells with a result, of failed cells among them, and of all cells.
    cell : Cell
        The cell that was finished last.
    row : dict
        Its row of results.
    stored : bool
        Whether the row was in the store, and not computed.
    """

    done: int
    failed: int
    total: int
    cell: Cell
    row: Row
    stored: bool = False


@dataclass(frozen=True)
class Study:
    """Scenarios x candidates x replicates, under one protocol.

    Parameters
    ----------
    name : str
    scenarios : list of Scenario
    candidates : list of Candidate
        Models that learn from minority rows are left out of scenarios without any in training.
    protocol : Protocol
    replicates : int
    seed : int
    left_out : frozenset of (scenario, candidate)
        Names of pairs that have no cells.
    """

    name: str
    scenarios: list[Scenario]
    candidates: list[Candidate]
    protocol: Protocol
    replicates: int = 10
    seed: int = 0
    left_out: frozenset[tuple[str, str]] = frozenset()

    def file(self, folder: Path, name: str) -> Path:
        """Return the path in ``folder`` of a file of this study, such as its "results.csv"."""
        return folder / f"{self.name.replace(': ', '_')}_{name}"

    @property
    def data(self) -> list[Dataset]:
        """The data sets of the scenarios, of those that are real."""
        return [scenario.data for scenario in self.scenarios if isinstance(scenario, Real)]

    def cells(self) -> list[Cell]:
        """Return the cells, in the order of the table."""
        return [
            Cell(scenario, candidate, self.protocol, replicate, self.seed)
            for scenario in self.scenarios
            for replicate in range(self.replicates)
            for candidate in self.candidates
            if scenario.labelled or not candidate.needs_minority
            if (scenario.name, candidate.name) not in self.left_out
        ]

    def refusals(self, slow: bool = False) -> dict[tuple[str, str], str]:
        """Return why models cannot be fitted to real data, by (scenario, candidate); no fit is run.

        Generated data are not looked at. With ``slow``, KDE is there too if more than 20,000 rows
        train: it compares each row with all of them.
        """
        reasons: dict[tuple[str, str], str] = {}
        for cell in self.cells():
            if cell.replicate or not isinstance(cell.scenario, Real):
                continue
            train, key = replicate_pair(cell.scenario, 0, self.seed).train, cell.candidate.name
            n = len(train.X)
            try:
                if cell.candidate.is_yardstick:
                    self.protocol.yardstick(cell.candidate, self.seed).rule(train.minority)
                else:
                    est = self.protocol.estimator(cell.candidate, self.seed)
                    est._require_rows(train.minority, True)
            except ValueError as error:
                reasons[cell.scenario.name, key] = str(error)
            else:
                if slow and n > MANY_ROWS and cell.candidate.model == SUMS_OVER_PAIRS:
                    reasons[cell.scenario.name, key] = (
                        f"{n} rows train, and more than {MANY_ROWS} take long; name the model by "
                        "--model to fit it all the same"
                    )
        replicate_pair.cache_clear()
        return reasons

    def without_refused(self, chosen: bool) -> tuple[Study, list[str]]:
        """Return the study of the models that can be fitted soon, and why others are left out.

        Parameters
        ----------
        chosen : bool
            Whether the user named the models: then slow ones are fitted.

        Raises
        ------
        ValueError
            A model that the user named cannot be fitted, or no model can.
        """
        refused = self.refusals(slow=not chosen)
        smaller = replace(self, left_out=frozenset(refused))
        groups: dict[tuple[str, str], list[str]] = {}
        for (data, model), reason in refused.items():
            groups.setdefault((data, reason), []).append(model)
        reasons = [f"{quoted(m)} on {data}: {reason}" for (data, reason), m in groups.items()]
        if refused and (chosen or not smaller.cells()):
            raise ValueError(f"nothing was fitted: {'; '.join(reasons)}")
        return smaller, reasons

    def check(self) -> None:
        """Raise a ValueError if names are repeated, or some cell cannot be fitted."""
        for kind, given in (("data set", self.scenarios), ("model", self.candidates)):
            name, n = Counter(each.name for each in given).most_common(1)[0]
            if n > 1:
                raise ValueError(f"{kind} {name!r} is given twice")
        for scenario in self.scenarios:
            scenario.check()
        for candidate in self.candidates:
            self.protocol.check(len(self.protocol.choices(candidate)))

    def run(
        self,
        store: Store | None = None,
        workers: Workers = Workers(),
        retry: bool = False,
        on_cell: Callable[[Progress], None] | None = None,
    ) -> pd.DataFrame:
        """Return the results, one row for each cell, in an order that does not depend on workers.

        Rows of the trivial rules come last.

        Parameters
        ----------
        store : Store, optional
            Stored cells are not computed again, and each finished cell is stored.
        workers : Workers
        retry : bool
            Whether to compute cells again that failed before.
        on_cell : callable, optional
            Called with the :class:`Progress`, first for stored cells, then after each new one.
        """
        self.check()
        cells = self.cells()
        rows: dict[int, Row] = {}
        failed = 0

        def finish(i: int, row: Row, stored: bool = False) -> None:
            nonlocal failed
            rows[i] = row
            failed += "error" in row
            if on_cell is not None:
                on_cell(Progress(len(rows), failed, len(cells), cells[i], row, stored))

        for i, cell in enumerate(cells):
            row = None if store is None else store.get(cell)
            if row is not None and not (retry and "error" in row):
                finish(i, row, stored=True)
        missing = [i for i in range(len(cells)) if i not in rows]
        with closing(workers.run([cells[i] for i in missing])) as computed:
            for k, row in computed:
                if store is not None:
                    store.put(cells[missing[k]], row)
                finish(missing[k], row)
        trivial = [
            row
            for scenario in self.scenarios
            for replicate in range(self.replicates)
            for row in trivial_rules(scenario, replicate, self.seed)
        ]
        replicate_pair.cache_clear()
        return frame([rows[i] for i in range(len(cells))] + trivial)


TEXT = ("data", "model", "chosen", "notes", "error")


def frame(rows: list[Row]) -> pd.DataFrame:
    """Return rows of results as a table of text and numbers; a missing number is NaN."""
    table = pd.DataFrame(rows)
    for name in TEXT:
        table[name] = table[name].fillna("") if name in table else ""
    numbers = [name for name in table.columns if name not in TEXT]
    table[numbers] = table[numbers].astype(float)
    return table.astype({"replicate": int})


def to_csv(results: pd.DataFrame) -> str:
    """Return results as CSV with 7 digits, in which no text is a formula to a spreadsheet.

    A text that starts with ``=``, ``+``, ``-``, ``@``, a tab or a quote gets a quote before it,
    which :func:`read` takes away.
    """
    safe = results.copy()
    for name in TEXT:
        safe[name] = [as_cell(text) for text in safe[name]]
    return str(safe.to_csv(index=False, float_format="%.7g"))


def read(path: str | Path) -> pd.DataFrame:
    """Return the results that a study wrote to the CSV file ``path``, exactly as its run did."""

    def text(cell: str) -> str:
        return cell[1:] if cell.startswith("'") and cell[1:].startswith(FORMULA) else cell

    with open(path, newline="", encoding="utf-8") as file:
        rows: list[Row] = [
            {
                name: text(cell) if name in TEXT else float(cell or "nan")
                for name, cell in row.items()
            }
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
    """Return the results of models on random halves of data sets, as ``bsvdd compare`` does.

    Parameters
    ----------
    data : list of Dataset
    models : list of str, optional
        Names in the registry, or of yardsticks; by default ``DEFAULT_MODELS``, all of them.
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
        One row for each fit, with its metrics, processor time and diagnostics; ``table.summary``
        summarises them. The last rows are those of flagging all rows and of flagging none.

    Raises
    ------
    ValueError
        A model is unknown, a model or data set is given twice, or a data set has NaN or too few
        rows. A fit that fails raises nothing: its row has the ``error``.

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
    models: Sequence[str | Candidate] | None = None,
    replicates: int = 5,
    protocol: Protocol | None = None,
    seed: int = 0,
) -> Study:
    """Return the study that :func:`compare` runs."""
    candidates = [
        Candidate(each, each) if isinstance(each, str) else each
        for each in models or DEFAULT_MODELS
    ]
    scenarios: list[Scenario] = [Real(each) for each in data]
    return Study("compare", scenarios, candidates, protocol or Protocol(), replicates, seed)
