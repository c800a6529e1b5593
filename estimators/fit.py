"""A fit: training rows and labels as they are read, and all that is learned from them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from ..inference import left_out
from ..inference.center import Center, Score
from ..inference.cutoff import Cutoff, as_cutoff
from ..inference.density import LazyPrior
from ..inference.draws import Draws
from ..inference.warning import DataWarning, DiagnosticWarning, warn
from ..models.kernels import Kernel, as_kernel
from ..models.potential import KernelLikelihood, Likelihood, likelihood_of
from ..models.priors import GraphLaplacian
from . import training
from .inputs import numbers_of, training_names, validated, warn_of_columns
from .labels import classes_of
from .rows import files
from .rows.blocks import ArrayRows, Rows, is_lazy
from .training import Dictionary, TrainingData


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Fit:
    """A fit; it never changes.

    Attributes
    ----------
    data : TrainingData
        Rows, classes and Gram statistics.
    draws : Draws
        Of the weights; one for a model without a posterior.
    center : Score
        The score of a row, with its boundary: of a description, a
        :class:`bsvdd.inference.center.Center`.
    diagnostics : dict of float
        See :func:`bsvdd.inference.diagnostics.diagnose`.
    distance : float
        D_opt.
    level : float
        A row is normal if its score at this level is at least 0.
    left_out : ndarray of shape (n,) or None
        Scores of the training rows when they are left out, from which the cutoff was chosen; NaN
        if a row cannot be left out. None if the cutoff needs none.
    cv : str or int
        How rows are left out, as in :class:`bsvdd.Cutoff`.
    prior : LazyPrior or None
        The prior, whose draws are made when they are first asked for; None without a posterior.
    attrs : dict
        What ``idata_["posterior"]`` says of the model beside its draws, such as its priors.
    """

    data: TrainingData
    draws: Draws
    center: Score
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    distance: float = np.nan
    level: float = 0.5
    left_out: np.ndarray | None = None
    cv: str | int = "auto"
    prior: LazyPrior | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = f"{len(self.data.rows)} rows, {self.center.gram.n_points} points"
        return f"Fit({sizes}, {len(self.center.weights)} draws, distance={self.distance:.6g})"

    @property
    def has_center(self) -> bool:
        """Whether the score is the similarity to a centre in kernel space."""
        return isinstance(self.center, Center)

    @cached_property
    def decision(self) -> np.ndarray:
        """What ``center.decision`` has of the training rows, shape (4, n)."""
        return self.center.decision(self.data.rows, self.level)

    @cached_property
    def likelihood(self) -> Likelihood:
        """The likelihood of the weights in numbers; made when it is first asked for."""
        if self.prior is None:
            return KernelLikelihood(self.attrs.get("likelihood_scale", 1.0))
        return likelihood_of(self.prior.build())

    def for_scoring(self) -> Self:
        """Return the fit without its training rows; it still scores new rows."""
        return replace(self, data=self.data.part(slice(0)), left_out=None, prior=None)


def read(est: Any, X: Any, y: Any, policy: Cutoff) -> TrainingData:
    """Return the training data of an estimator: rows, labels, columns and Gram statistics.

    A row or label that cannot be, or a number of rows that cutoff and model cannot have, is a
    ValueError.
    """
    kernel = as_kernel(est.kernel)
    source, labels = _source(est, kernel, X, y)
    may_lack = isinstance(getattr(est, "prior", None), GraphLaplacian)
    classes = classes_of(labels, source.n_rows, est.minor_label, may_lack)
    minority_of_all, gap, n1 = classes.minority, classes.gap, int(classes.minority.sum())
    n = len(minority_of_all)
    if est.minor_label is None and n1 > n - n1:
        warn(
            f"the minority, -1 in {{-1, 1}} or 1 in {{0, 1}}, has {n1} of {n} rows, and the model "
            "describes the other class as normal; if the labels are the other way round, name the "
            "minority's label by minor_label=",
            DataWarning,
        )
    seed = int(check_random_state(est.random_state).randint(2**31 - 1))
    dictionary = _dictionary(est, minority_of_all)
    held = _held_rows(est, dictionary, minority_of_all, policy, seed, y is None)
    minority, unlabelled, row_numbers = minority_of_all[held], None, held
    if gap.any():
        source, unlabelled = _separated(source, gap, minority_of_all, dictionary, kernel)
        row_numbers = np.flatnonzero(~gap)[held]
    rows = np.array(source.take(held), order="C")  # a copy: the caller may change X
    rows.setflags(write=False)
    # columns: bandwidth and scales, learned from the majority rows
    warn_of_columns(kernel, rows[~minority])
    kernel = resolved_kernel(est, rows[~minority], source.categorical)
    gram, row_of_point = dictionary.statistics(
        kernel, rows, minority, source, minority_of_all, seed
    )
    return TrainingData(
        rows=rows,
        gram=replace(gram, unlabelled=unlabelled),
        row_of_point=row_of_point,
        dictionary=dictionary,
        seed=seed,
        all_rows=len(minority) == n,
        label=y if isinstance(y, str) else None,
        labels=classes.labels,
        kind=classes.kind[held],
        kind_labels=classes.kind_labels,
        names=training_names(X, row_numbers, len(rows)),
        dates=source.dates,
    )


def of_rows(est: Any, data: TrainingData) -> TrainingData:
    """Return the training data of another estimator of the same rows, with its own points."""
    rows, minority = data.rows, data.minority
    dictionary = _dictionary(est, minority)
    kernel = resolved_kernel(est, rows[~minority], data.kernel.categorical_columns)
    source = ArrayRows(rows, is_checked=True)
    gram, row_of_point = dictionary.statistics(kernel, rows, minority, source, minority, data.seed)
    return replace(data, gram=gram, row_of_point=row_of_point, dictionary=dictionary)


def resolved_kernel(est: Any, majority: np.ndarray, categorical: tuple[int, ...]) -> Kernel:
    """Return the kernel of an estimator with what it learns from majority rows."""
    names = getattr(est, "feature_names_in_", None)
    return as_kernel(est.kernel).with_columns(names, categorical).resolve(majority)


def check_rows(est: Any, minority: np.ndarray) -> None:
    """Raise a ValueError if so many rows of each class cannot be fitted, whatever they are.

    Nothing is computed, so that a model can be refused before others are fitted.

    Parameters
    ----------
    est : estimator
    minority : ndarray of bool, shape (n,)
        Which of the training rows are minority.

    Raises
    ------
    ValueError
        Too many rows without a ``dictionary``, too few for the cutoff, or no minority row for a
        model that learns from them. The message says what to do.
    """
    policy = as_cutoff(est.cutoff)
    est._check_policy(policy)
    _held_rows(est, _dictionary(est, minority), minority, policy, 0)


def _dictionary(est: Any, minority: np.ndarray) -> Dictionary:
    """Return the dictionary of an estimator for so many rows of each class."""
    n = len(minority) if est._learns_from_minority else int((~minority).sum())
    dictionary: Dictionary = est._dictionary(n)
    return dictionary


def _held_rows(
    est: Any,
    dictionary: Dictionary,
    minority: np.ndarray,
    policy: Cutoff,
    seed: int,
    no_labels: bool = False,
) -> np.ndarray | slice:
    """Return the rows that a fit holds, after all checks that need no values of rows."""
    if est._learns_from_minority and not minority.any():
        raise ValueError(
            f"{type(est).__name__} learns from minority rows, but there is none (n1 = 0)"
            + ("; it requires y to be passed, but the target y is None" if no_labels else "")
            + "; give y with at least one minority row, or use a one-class model such as BSVDD"
        )
    held = dictionary.held_rows(minority, seed)
    of_held = minority[held]
    left_out.check(policy, of_held, len(of_held) == len(minority), est._auto_cv)
    return held


def _source(est: Any, kernel: Kernel, X: Any, y: Any) -> tuple[Rows, Any]:
    """Return the training rows and their labels; blocks are not read yet."""
    is_path = isinstance(X, str | os.PathLike)
    if is_path:
        X = files.open_npy(Path(X))
    elif hasattr(X, "columns") and isinstance(y, str):
        X, y = files.split(X, y, "y", "the data frame")
        y = y.compute().to_numpy() if is_lazy(y) else y
    in_blocks = (
        is_path
        or not isinstance(X, np.ndarray)
        or not est._dictionary(len(X) if X.ndim else 0).points_are_rows
    )
    source = _in_blocks(X) if in_blocks and not kernel.pairwise else None
    if isinstance(y, str):
        raise ValueError(
            f"y={y!r}: the name of a column is for the columns of a data frame (of a file: "
            "bsvdd.read_table); give one label for each row"
        )
    if source is None:
        X, categorical, dates = numbers_of(kernel, X)
        X = validated(est, X, True, kernel.pairwise)
        rows = ArrayRows(kernel.training_rows(X), is_checked=True)
        rows.categorical, rows.dates = categorical, dates
        return rows, y
    if kernel.takes_categories:
        source.categorical = kernel.categorical_columns or source.found_categories()
    if source.n_rows < 2:
        raise ValueError(f"X has {source.n_rows} row(s); expected at least 2")
    head = np.zeros((1, source.n_columns))
    validate_data(est, head if source.names is None else pd.DataFrame(head, None, source.names))
    return source, y


def _in_blocks(X: Any) -> Rows | None:
    """Return a source that reads X in blocks, or None if X must become an array first."""
    if is_lazy(X):
        from .rows.dask import DaskRows

        return DaskRows(X)
    plain = isinstance(X, np.ndarray) and not np.ma.isMaskedArray(X)
    if plain and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return ArrayRows(X)
    return None


def _separated(
    source: Rows, gap: np.ndarray, minority: np.ndarray, dictionary: Dictionary, kernel: Kernel
) -> tuple[Rows, np.ndarray]:
    """Return the rows with a label as a source of their own, and those without one, shape (u, p).

    A ValueError if the kernel is precomputed, rows are read in blocks, one row only has a label,
    or the rows are too many for a graph.
    """
    u = int(gap.sum())
    n = u + int((~minority).sum())
    no_label = f"y has no label in {u} row(s), and"
    if kernel.pairwise:
        raise ValueError(
            f"{no_label} with a precomputed kernel priors.GraphLaplacian takes no unlabelled rows; "
            "leave out these rows and columns of X and these labels, or use a kernel of rows such "
            "as kernels.RBF"
        )
    if not dictionary.points_are_rows:
        raise ValueError(
            f"{no_label} a fit with landmarks reads rows in blocks and takes no unlabelled rows "
            "from y; give these rows by priors.GraphLaplacian(unlabelled=rows), or use "
            f"dictionary=None (up to {training.MAX_POINTS} rows)"
        )
    if n > training.MAX_POINTS:
        raise ValueError(
            f"{no_label} the graph of {n} majority and unlabelled rows needs {8e-9 * n * n:.1f} "
            f"GB; up to {training.MAX_POINTS} rows are accepted: leave out some of the rows "
            "without a label"
        )
    if len(minority) < 2:
        raise ValueError(f"y has a label in {len(minority)} row(s); expected at least 2")
    rows = source.take(slice(None))
    with_label = ArrayRows(rows[~gap], is_checked=True)
    with_label.categorical = source.categorical
    return with_label, rows[gap]


def warn_of_far_rows(fit: Fit) -> None:
    """Warn if rows that resemble no training row are normal."""
    center = fit.center
    if not isinstance(center, Center) or center.logarithmic or not fit.data.kernel.normalized:
        return
    if (center.boundary.threshold <= 0.0).mean() > fit.level:
        warn(
            f"the cutoff, {fit.distance:.6g}, exceeds the distance of rows far from all training "
            "rows, so these are called normal: negative weights make some normal rows more "
            "remote; use a larger bandwidth, or a larger likelihood_scale",
            DiagnosticWarning,
        )
