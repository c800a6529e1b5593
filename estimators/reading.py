"""Training rows and labels as they are read: checks, columns, Gram statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..inference import left_out, threads
from ..inference.cutoff import Cutoff
from ..inference.learned import Learner
from ..inference.warning import DataWarning, warn
from ..models.core import Core, wide
from ..models.kernels import Kernel
from . import training
from .inputs import (
    numbers_of,
    training_names,
    validated,
    warn_of_columns,
    warn_of_far_values,
    warn_of_gaps,
)
from .labels import classes_of
from .rows import files
from .rows.forms import Form
from .rows.frames import as_frame
from .rows.gaps import imputed
from .rows.names import Columns
from .training import Dictionary, TrainingData


@dataclass(frozen=True, eq=False)
class Asked:
    """What an estimator asks of training data.

    Attributes
    ----------
    name : str
        Of its class.
    kernel : Kernel
    dictionary : callable
        Returns the dictionary for a number of rows.
    with_minority : bool
        Whether the model learns from minority rows.
    minor_label : object
    random_state : int, RandomState or None
    core : float or "auto"
        The least share of rows that the description rests on.
    learner : Learner, optional
        Its numbers are not known yet. None for a model without a cutoff.
    cutoff : Cutoff
    """

    name: str
    kernel: Kernel
    dictionary: Callable[[int], Dictionary]
    with_minority: bool = False
    minor_label: Any = None
    random_state: Any = 0
    core: float | str = 1.0
    learner: Learner | None = None
    cutoff: Cutoff = Cutoff()

    def dictionary_for(self, minority: np.ndarray) -> Dictionary:
        """Return the dictionary for so many rows of each class."""
        return self.dictionary(len(minority) if self.with_minority else int((~minority).sum()))

    def check_cutoff(self, minority: np.ndarray, all_rows: bool) -> None:
        """Raise a ValueError if the cutoff cannot be chosen from the rows that a fit holds."""
        if self.learner is None:
            return
        auto = "loo" if self.learner.closed_form else self.learner.folds
        left_out.check(self.cutoff, minority, all_rows, auto)


ONE_TABLE = 0.8  # share of rows in the core; a group of alike odd rows can be the rest


def read(asked: Asked, X: Any, y: Any, one_table: bool = False) -> TrainingData:
    """Return the training data of an estimator: rows, labels, columns and Gram statistics.

    With ``one_table`` odd rows are among the rows, if nothing else is asked.

    A row or label that cannot be, or a number of rows that cutoff and model cannot have, is a
    ValueError.
    """
    kernel, share = asked.kernel, _share(asked, y is not None, one_table)
    X = as_frame(X)
    table, labels, columns = _table(asked, X, y)
    all_rows, categorical = table.rows, table.categorical
    minority_of_all, classes = classes_of(labels, len(all_rows), asked.minor_label)
    n, n1 = len(minority_of_all), int(minority_of_all.sum())
    if asked.minor_label is None and n1 > n - n1:
        warn(
            f"the minority, -1 in {{-1, 1}} or 1 in {{0, 1}}, has {n1} of {n} rows, and the model "
            "describes the other class as normal; if the labels are the other way round, name the "
            "minority's label by minor_label=",
            DataWarning,
        )
    seed = int(check_random_state(asked.random_state).randint(2**31 - 1))
    dictionary = asked.dictionary_for(minority_of_all)
    held = _held_rows(asked, dictionary, minority_of_all, seed, y is None)
    minority = minority_of_all[held]
    rows = np.array(all_rows[held], order="C")  # a copy: the caller may change X
    if kernel.takes_categories:
        flags = _of_two_values(rows) if share < 1.0 else []
        categorical = tuple(sorted({*categorical, *kernel.categorical_columns, *flags}))
        kernel = kernel.with_params(categorical=categorical)
    gaps, imputations = np.isnan(rows), None
    if gaps.any():
        warn_of_gaps(rows, columns)
        majority = np.flatnonzero(~minority)
        rows, imputations = imputed(rows, rows[majority], categorical, majority)
    rows.setflags(write=False)
    if len(minority) < n:
        warn(
            f"{n} rows are many: {len(minority)} of them, drawn at random, are described",
            DataWarning,
        )
    asked.check_cutoff(minority, len(minority) == n)
    # columns: bandwidth and scales, learned from the majority rows
    warn_of_columns(kernel, rows[~minority])
    names = training_names(X, held, len(rows))
    with threads.one():
        core = None
        if share < 1.0:
            core, kernel = Core.find(wide(kernel), rows, share, seed)
        else:
            of_rows = (np.arange(len(rows)) if names is None else names)[~minority]
            warn_of_far_values(kernel, rows[~minority], columns.labels, of_rows)
            kernel = kernel.resolve(rows[~minority])
        gram, member_of_row = training.statistics(dictionary, kernel, rows, minority, seed, core)
    return TrainingData(
        rows=rows,
        kernel=kernel,
        gram=gram,
        member_of_row=member_of_row,
        columns=columns,
        dictionary=dictionary,
        seed=seed,
        all_rows=len(minority) == n,
        label=y if isinstance(y, str) else None,
        labels=classes,
        minority=minority,
        names=names,
        forms=table.forms,
        gaps=gaps if gaps.any() else None,
        imputations=imputations,
        core=core,
    )


def _of_two_values(rows: np.ndarray) -> list[int]:
    """Return the columns of numbers with two values.

    In one table they are categories. As numbers, the rows with the rarer value would be far from
    all others, and all of them odd.
    """
    return [f for f, x in enumerate(rows.T) if len(np.unique(x[~np.isnan(x)])) == 2]


def _share(asked: Asked, labelled: bool, one_table: bool) -> float:
    """Return the least share of rows in the core; a ValueError for labels beside a core."""
    if asked.core == "auto":
        return ONE_TABLE if one_table and not labelled else 1.0
    share = float(asked.core)
    if share < 1.0 and labelled:
        raise ValueError(
            f"core={asked.core!r} is for rows without labels, some of which are odd, but y has "
            "labels, which say which rows are normal; leave y or core out"
        )
    return share


def check_rows(asked: Asked, minority: np.ndarray) -> None:
    """Raise a ValueError if so many rows of each class cannot be fitted, whatever they are.

    Nothing is computed, so that a model can be refused before others are fitted.

    Parameters
    ----------
    asked : Asked
    minority : ndarray of bool, shape (n,)
        Which of the training rows are minority.

    Raises
    ------
    ValueError
        Too many rows without a ``dictionary``, too few for the cutoff, or no minority row for a
        model that learns from them. The message says what to do.
    """
    held = minority[_held_rows(asked, asked.dictionary_for(minority), minority, 0)]
    asked.check_cutoff(held, len(held) == len(minority))


def _held_rows(
    asked: Asked, dictionary: Dictionary, minority: np.ndarray, seed: int, no_labels: bool = False
) -> np.ndarray | slice:
    """Return the rows that a fit holds, after the check that the model has its minority rows."""
    if asked.with_minority and not minority.any():
        raise ValueError(
            f"{asked.name} learns from minority rows, but there is none (n1 = 0)"
            + ("; it requires y to be passed, but the target y is None" if no_labels else "")
            + "; give y with at least one minority row, or use a one-class model such as BSVDD"
        )
    return dictionary.held_rows(minority, seed)


class _Table(NamedTuple):
    """All training rows as numbers, and how their columns became these."""

    rows: np.ndarray
    categorical: tuple[int, ...]
    forms: Mapping[int, Form]


def _table(asked: Asked, X: Any, y: Any) -> tuple[_Table, Any, Columns]:
    """Return the training rows, their labels and their columns."""
    kernel, checking = asked.kernel, Columns(asked.name).checking()
    if isinstance(y, str):
        if not hasattr(X, "columns"):
            raise ValueError(
                f"y={y!r}: the name of a column is for the columns of a data frame (of a file: "
                "bsvdd.read_table); give one label for each row"
            )
        X, y = files.split(X, y, "y", "the data frame")
    X, categorical, forms = numbers_of(kernel, X)
    X = validated(checking, X, True, kernel.pairwise, kernel.fills_gaps)
    return _Table(kernel.training_rows(X), categorical, forms), y, Columns.of(checking)
