"""Training rows and labels as they are read, and the reading of new rows like them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from ..inference.warning import DataWarning, warn
from ..models.data import Filled
from ..models.kernels import Kernel, Tabular
from ..models.units import Units
from . import inputs
from .labels import classes_of, minority_of
from .rows import files
from .rows.columns import numbers
from .rows.forms import Form
from .rows.frames import as_frame
from .rows.gaps import imputed
from .rows.names import Columns

MOST_ROWS = 12_000  # majority rows that are described, in some ten seconds; of more, a sample
MOST_MINORITY = 1000  # minority rows that are points


@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """The training rows of a fit.

    Attributes
    ----------
    columns : Columns
    kernel : Kernel
        With the columns of categories, not yet fitted.
    observed : ndarray of shape (n, p)
        The rows as the kernel takes them, NaN for gaps.
    filled : Filled
        The rows without gaps.
    minority : ndarray of bool, shape (n,)
    weight : ndarray of shape (n,), optional
    groups : ndarray of shape (n,), optional
    labels : tuple
        The distinct labels, that of the minority first; empty without labels.
    minor_label : object
    label : str, optional
        The column of X that held the labels.
    names : ndarray of shape (n,), optional
        The user's names of the rows. None if they are 0, 1, ..., n - 1.
    forms : dict of int to Form
        How the cells of columns became numbers, by their positions; others were plain numbers.
    """

    columns: Columns
    kernel: Kernel
    observed: np.ndarray
    filled: Filled
    minority: np.ndarray
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    labels: tuple[Any, ...] = ()
    minor_label: Any = None
    label: str | None = None
    names: np.ndarray | None = None
    forms: Mapping[int, Form]

    @classmethod
    def read(cls, name: str, kernel: Kernel, X: Any, y: Any, minor_label: Any) -> Self:
        """Return the training rows X of an estimator, with labels y.

        Raises
        ------
        ValueError, TypeError
            A row or a label that cannot be; the message says what to do.
        """
        X, checking, label = as_frame(X), Columns(name).checking(), None
        if isinstance(y, str):
            if not hasattr(X, "columns"):
                raise ValueError(
                    f"y={y!r}: the name of a column is for the columns of a data frame (of a file: "
                    "bsvdd.read_table); give one label for each row"
                )
            label = y
            X, y = files.split(X, y, "y", "the data frame")
        floats, categorical, forms = inputs.numbers_of(kernel, X)
        rows = inputs.validated(checking, floats, True, kernel.pairwise, kernel.of_tables)
        observed = np.array(kernel.training_rows(rows), order="C")  # the caller may change X
        observed.setflags(write=False)
        minority, labels = classes_of(y, len(observed), minor_label)
        _warn_of_classes(minority, minor_label)
        if isinstance(kernel, Tabular):
            codes = sorted({*categorical, *kernel.categorical_columns})
            kernel = replace(kernel, categorical=tuple(codes) or kernel.categorical)
        return cls(
            columns=Columns.of(checking),
            kernel=kernel,
            observed=observed,
            filled=Filled.whole(observed),
            minority=minority,
            labels=labels,
            minor_label=minor_label,
            label=label,
            names=inputs.training_names(X, len(observed)),
            forms=forms,
        )

    def counted(self, weight: Any, groups: Any, minority: bool, seed: int) -> Self:
        """Return these rows with weights and groups, and with their gaps filled.

        Of more than 12,000 majority rows, or of more than 1,000 minority rows of a model that
        learns from them (``minority``), a random sample counts; the others have the weight 0.
        """
        weight, groups = (None if v is None else np.asarray(v) for v in (weight, groups))
        thinned = self._thinned(weight, minority, seed)
        return replace(self, weight=thinned, groups=groups).without_gaps()

    def without_gaps(self) -> Self:
        """Return these rows with their gaps filled."""
        if not np.isnan(self.observed).any():
            return self
        inputs.warn_of_gaps(self.observed, self.columns)
        return replace(self, filled=self._imputed(self.observed))

    def _thinned(self, weight: np.ndarray | None, minority: bool, seed: int) -> np.ndarray | None:
        n, rng, out = len(self.minority), np.random.default_rng(seed), []
        counts = np.ones(n, dtype=bool) if weight is None or weight.shape != (n,) else weight > 0
        for members, most in (
            (~self.minority, MOST_ROWS),
            (self.minority, MOST_MINORITY if minority else MOST_ROWS),
        ):
            found = np.flatnonzero(members & counts)
            if len(found) > most:
                out.append(np.setdiff1d(found, rng.choice(found, most, replace=False)))
        if not out:
            return weight
        without = np.concatenate(out)
        warn(
            f"{n} rows are many: {int(counts.sum()) - len(without)} of them, drawn at random, are "
            "described, and the others are answered as new rows",
            DataWarning,
        )
        weight = np.ones(n) if weight is None else weight.astype(float)
        weight[without] = 0.0
        return weight

    def _imputed(self, rows: np.ndarray) -> Filled:
        donors = ~self.minority if self.weight is None else ~self.minority & (self.weight > 0.0)
        return imputed(rows, self.observed[donors], self.kernel.categorical_columns)

    @property
    def units(self) -> Units:
        """The units of the rows; a ValueError for weights or groups that cannot be."""
        return Units.of(self.filled.rows, self.minority, self.weight, self.groups)

    @property
    def gaps(self) -> np.ndarray:
        """Which values are missing, (n, p)."""
        return np.isnan(self.observed)

    @property
    def row_names(self) -> np.ndarray:
        """The user's names of the rows, shape (n,); their numbers if they have no others."""
        return np.arange(len(self.minority)) if self.names is None else self.names

    # new rows

    def floats(self, X: Any) -> np.ndarray:
        """Return new rows as floats, shape (m, p); NaN for gaps."""
        columns, kernel = self.columns, self.kernel
        X = inputs.matched(columns, self._features(X))
        if isinstance(X, pd.DataFrame) and X.shape[1] == columns.n:
            X = numbers(X, kernel.categorical_columns, self.forms)
        return inputs.validated(columns.checking(), X, False, kernel.pairwise, kernel.of_tables)

    def _features(self, X: Any) -> Any:
        """Return X without the column of the labels, if it is a data frame with this column."""
        X = as_frame(X)
        if self.label is not None and hasattr(X, "columns") and self.label in X.columns:
            return X[[name for name in X.columns if name != self.label]]
        return X

    def new(self, X: Any) -> Filled:
        """Return new rows as the kernel takes them, without gaps."""
        return self.of_floats(self.floats(X))

    def of_floats(self, rows: np.ndarray) -> Filled:
        """Return new rows of floats as the kernel takes them, without gaps."""
        if not np.isnan(rows).any():
            return Filled.whole(self.kernel.new_rows(rows, self.columns.n))
        inputs.warn_of_gaps(rows, self.columns)
        return self._imputed(rows)

    def minority_of(self, y: Any, n: int) -> np.ndarray:
        """Return which of n new rows with labels y are minority, by the labels of the fit."""
        return minority_of(self.labels, self.minor_label, y, n)


def _warn_of_classes(minority: np.ndarray, minor_label: Any) -> None:
    n, n1 = len(minority), int(minority.sum())
    if minor_label is None and n1 > n - n1:
        warn(
            f"the minority, -1 in {{-1, 1}} or 1 in {{0, 1}}, has {n1} of {n} rows, and the model "
            "describes the other class as normal; if the labels are the other way round, name the "
            "minority's label by minor_label=",
            DataWarning,
        )
