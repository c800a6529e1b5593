"""Runs each model on each pair of data sets once, with a file for each finished cell.

A cell is one model on one replicate of a scenario. Its file is written whole or not at
all, so a run that was stopped goes on from there. Cells run by joblib: in processes of
this machine, or by ``joblib.parallel_config("dask")`` on a cluster.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..base import threads
from ..base.atomic import write
from ..base.messages import AdviceWords, advising, words_of_advice
from ..base.warning import DataWarning, DiagnosticWarning
from ..estimators.protocols import LeavesOut, RowScorer
from ..inference.metrics import evaluate
from .datasets import Dataset, Halves, Pair
from .models import NAMES, by_name

Row = dict[str, Any]
KEY = ("data", "model", "replicate")
MOST_IDLE = 10  # seconds without work, after which a process ends


class Scenario(Protocol):
    """Pairs of data sets: equal seeds give equal pairs, and ``repr`` tells all."""

    @property
    def name(self) -> str:
        """Name in tables."""

    def pair(self, seed: int) -> Pair:
        """Return the training and the test set of ``seed``.

        Parameters
        ----------
        seed : int

        Returns
        -------
        Pair
        """


@dataclass(frozen=True)
class Cell:
    """One model on one replicate of a scenario.

    Its random numbers follow from ``seed`` and ``replicate`` alone, and it has one
    thread, so its result does not depend on what else is running.

    Attributes
    ----------
    scenario : Scenario
    model : str
        Name in tables.
    estimator : estimator
        Not fitted.
    replicate, seed : int
    """

    scenario: Scenario
    model: str
    estimator: RowScorer
    replicate: int
    seed: int

    @property
    def names(self) -> Row:
        """Scenario, model and replicate, as a row of results has them."""
        values = (self.scenario.name, self.model, self.replicate)
        return dict(zip(KEY, values, strict=True))

    def run(self) -> Row:
        """Return the row of results of a fit and its answers on the test rows.

        Returns
        -------
        dict
            A failure is its ``error``.
        """
        try:
            with threads.one():
                found = self._measured()
        except Exception as error:  # whatever it is, it belongs to this cell
            found = {"error": f"{type(error).__name__}: {error}"}
        return self.names | found

    def _measured(self) -> Row:
        state = np.random.SeedSequence([self.seed, self.replicate]).generate_state(1)
        seed = int(state[0] >> 1)
        pair = self.scenario.pair(seed)
        train = pair.train
        est = clone(self.estimator)
        if "random_state" in est.get_params(deep=False):
            est.set_params(random_state=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            start = time.process_time()  # processor time: what else runs does not count
            fit_dataset(est, train)
            fitted = time.process_time()
            found = measure(est, pair.test)
        ours = (DataWarning, DiagnosticWarning)
        texts = (str(w.message) for w in caught if issubclass(w.category, ours))
        return {
            **{key: v if math.isfinite(v) else None for key, v in found.items()},
            "base_rate": pair.test.base_rate,
            "n": len(train.X),
            "p": train.X.shape[1],
            "n1": int(train.minority.sum()),
            "fit_seconds": fitted - start,
            "score_seconds": time.process_time() - fitted,
            "notes": "\n".join(dict.fromkeys(texts)),
        }

    def file(self, folder: Path) -> Path:
        """Return the file of the result, named by a hash of what the cell depends on.

        Parameters
        ----------
        folder : pathlib.Path

        Returns
        -------
        pathlib.Path

        Raises
        ------
        ValueError
            A parameter is a function, which has no permanent name.
        """
        est = self.estimator
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            parameters = repr(sorted(est.get_params(deep=False).items()))
        if " at 0x" in parameters:
            raise ValueError(
                f"{self.model}: results of a model with a function cannot be stored, "
                "as it has no permanent name; run without a folder, or use the kernels "
                "and priors of bsvdd"
            )
        kind = f"{type(est).__module__}.{type(est).__qualname__}"
        parts = [version("bsvdd"), repr(self.scenario), self.model, kind, parameters]
        text = json.dumps([*parts, self.replicate, self.seed])
        return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def stored(self, folder: Path) -> Row | None:
        """Return the stored result.

        Parameters
        ----------
        folder : pathlib.Path

        Returns
        -------
        dict or None
            None if there is no result, or its file is damaged.
        """
        file = self.file(folder)
        try:
            row = json.loads(file.read_text(encoding="utf-8"))
            return row if {key: row[key] for key in KEY} == self.names else None
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None


def fit_dataset(est: RowScorer, train: Dataset) -> None:
    """Fit an estimator to a data set.

    An estimator that takes no weights is fitted to the rows that have weight.

    Parameters
    ----------
    est : estimator
    train : Dataset
    """
    if has_fit_parameter(est, "sample_weight"):
        est.fit(train.X, train.minority, **train.of_rows)
    else:
        some = train.take(np.flatnonzero(train.counts))
        est.fit(some.X, some.minority)


def measure(est: RowScorer, test: Dataset) -> dict[str, float]:
    """Return the metrics of a fitted estimator on test rows.

    Parameters
    ----------
    est : fitted estimator
    test : Dataset

    Returns
    -------
    dict of str: float
        The metrics of :func:`bsvdd.inference.metrics.evaluate`, ``found`` = 1 - FNR,
        the average precision of the minority, and the Brier score of P(abnormal) if the
        estimator has it.
    """
    from sklearn.metrics import average_precision_score, brier_score_loss

    y = test.minority
    more: dict[str, float] = {}
    if isinstance(est, LeavesOut):
        found = est.decision(test.X)
        flagged = ~found["normal"].to_numpy()
        score = found["surprise"].to_numpy()
        abnormal = 1.0 - found["probability_normal"].to_numpy()
        more["brier"] = float(brier_score_loss(y.astype(int), abnormal, pos_label=1))
    else:
        flagged = est.predict(test.X) == -1
        score = -est.decision_function(test.X)
    more["average_precision"] = float(average_precision_score(y, score))
    rates = evaluate(y, flagged, score)
    return {**rates, "found": 1.0 - rates["fnr"], **more}


@dataclass(frozen=True)
class Study:
    """Scenarios x models x replicates.

    Parameters
    ----------
    scenarios : list of Scenario
    models : dict of str: estimator
        Unfitted estimators by their names in tables. ``predict`` gives +1 or -1, and
        ``decision_function`` is larger for more normal rows.
    replicates : int, default=5
    seed : int, default=0

    Examples
    --------
    >>> from bsvdd.comparison import datasets, models, runner
    >>> halves = [datasets.Halves(datasets.embedded("wine_cultivar3"))]
    >>> compared = models.by_name(["SVDD", "logistic"])
    >>> results = runner.Study(halves, compared, replicates=2).run()
    >>> results["model"].tolist()
    ['SVDD', 'logistic', 'SVDD', 'logistic']
    """

    scenarios: Sequence[Scenario]
    models: Mapping[str, RowScorer]
    replicates: int = 5
    seed: int = 0

    def cells(self) -> list[Cell]:
        """Return the cells, in the order of the table.

        Returns
        -------
        list of Cell

        Raises
        ------
        ValueError
            Two scenarios have one name.
        """
        name, n = Counter(each.name for each in self.scenarios).most_common(1)[0]
        if n > 1:
            raise ValueError(f"data set {name!r} is given twice")
        return [
            Cell(scenario, name, est, replicate, self.seed)
            for scenario in self.scenarios
            for replicate in range(self.replicates)
            for name, est in self.models.items()
        ]

    def run(
        self,
        folder: str | Path | None = None,
        jobs: int | None = None,
        on_cell: Callable[[Row, bool], None] = lambda row, stored: None,
    ) -> pd.DataFrame:
        """Return the results, one row for each cell, in the order of the cells.

        Parameters
        ----------
        folder : path, optional
            Has a file for each finished cell, which is not computed again. Failed cells
            are.
        jobs : int, optional
            Processes, -1 for one a processor. Default: as ``joblib.parallel_config``
            says, else 1.
        on_cell : callable, optional
            Called with each row of results, and whether it was stored.

        Returns
        -------
        pandas.DataFrame
            Scenario, model, replicate, metrics, sizes, seconds of the processor,
            ``notes`` (warnings of the fit) and ``error``. A fit that failed has only
            the ``error``.

        Raises
        ------
        ValueError
            Two scenarios have one name, or a model cannot be stored.
        OSError
            A file cannot be written.
        """
        cells = self.cells()
        rows: dict[int, Row] = {}
        if folder is not None:
            folder = Path(folder)
            folder.mkdir(parents=True, exist_ok=True)
            for i, cell in enumerate(cells):
                if row := cell.stored(folder):
                    rows[i] = row
                    on_cell(row, True)
        pool = Parallel(
            jobs,
            batch_size=1,
            return_as="generator_unordered",
            idle_worker_timeout=MOST_IDLE,
        )
        words = words_of_advice()
        open_cells = [i for i in range(len(cells)) if i not in rows]
        others = (delayed(_run)(i, cells[i], words) for i in open_cells)
        with closing(pool(others)) as computed:
            for i, row in computed:
                if folder is not None and "error" not in row:
                    write(cells[i].file(folder), json.dumps(row).encode())
                rows[i] = row
                on_cell(row, False)
        return frame([rows[i] for i in range(len(cells))])


def _run(i: int, cell: Cell, words: AdviceWords | None) -> tuple[int, Row]:
    """Return the result of a cell, whose notes speak the caller's words."""
    with advising(words):
        return i, cell.run()


def frame(rows: list[Row]) -> pd.DataFrame:
    """Return rows of results as a table of numbers and texts.

    Parameters
    ----------
    rows : list of dict

    Returns
    -------
    pandas.DataFrame
        A missing number is NaN.
    """
    table = pd.DataFrame(rows)
    for name in ("notes", "error"):
        table[name] = table[name].fillna("") if name in table else ""
    numbers = [name for name in table if name not in (*KEY, "notes", "error")]
    return table.astype(dict.fromkeys(numbers, float))


def compare(
    data: Sequence[Dataset],
    models: Mapping[str, RowScorer] | Sequence[str] | None = None,
    replicates: int = 5,
    seed: int = 0,
    jobs: int | None = None,
) -> pd.DataFrame:
    """Return the results of models on random halves of data sets.

    ``bsvdd compare`` does the same.

    Parameters
    ----------
    data : list of Dataset
    models : list of str or dict, optional
        Names of models, or unfitted estimators by name. Default: all models and
        yardsticks.
    replicates : int, default=5
        Random halves, the same for all models.
    seed : int, default=0
    jobs : int, optional
        As in :meth:`Study.run`.

    Returns
    -------
    pandas.DataFrame
        As in :meth:`Study.run`; :mod:`bsvdd.comparison.table` reads it.

    Raises
    ------
    ValueError
        A model is unknown, a data set is given twice, or has too few rows. A fit that
        fails raises nothing: its row has the ``error``.

    Examples
    --------
    >>> from bsvdd.comparison import datasets, runner
    >>> wine = datasets.embedded("wine_cultivar3")
    >>> results = runner.compare([wine], ["SVDD"], replicates=2)
    >>> bool((results["auc"] > 0.9).all())
    True
    """
    if not isinstance(models, Mapping):
        models = by_name(NAMES if models is None else models)
    halves = [Halves(each) for each in data]
    return Study(halves, models, replicates, seed).run(jobs=jobs)
