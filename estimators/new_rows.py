"""New rows, as a fit expects them: from arrays, data frames, files or dask."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..inference.center import Score
from ..models.kernels import Kernel
from .inputs import matched, validated
from .rows import columns
from .rows.blocks import is_lazy
from .rows.columns import Dates
from .rows.files import chunks, naming

Summary = Callable[[Score, np.ndarray], np.ndarray]  # one number per row


def blocks(est: Any, X: Any) -> Iterator[np.ndarray]:
    """Yield new rows in the form that the kernel of a fit expects; a file's block by block."""
    kernel, dates = est.kernel_, est.fit_.data.dates
    if not isinstance(X, str | os.PathLike):
        yield expected(est, kernel, _without_label(est, X), dates)
        return
    names = getattr(est, "feature_names_in_", np.arange(est.n_features_in_))
    texts = [str(names[i]) for i in (*kernel.categorical_columns, *dates)]
    with naming(X):
        for start, part in chunks(Path(X), texts):
            yield expected(est, kernel, _without_label(est, part), dates, start)


def table(est: Any, X: Any) -> np.ndarray:
    """Return all new rows in the form that the kernel of a fit expects, shape (n, p)."""
    return np.concatenate(list(blocks(est, X)))


def expected(
    est: Any, kernel: Kernel, X: Any, dates: Mapping[int, Dates], start: int = 0
) -> np.ndarray:
    """Return new rows in the form that ``kernel``, resolved by a fit, expects.

    ``dates`` are the columns that were dates in the fit, and ``start`` is the number of the first
    row, for errors.
    """
    X = matched(est, X)
    if isinstance(X, pd.DataFrame) and X.shape[1] == est.n_features_in_:
        X = columns.numbers(X, kernel.categorical_columns, dates, start)
    X = validated(est, X, reset=False, pairwise=kernel.pairwise, start=start)
    return kernel.new_rows(X, est.n_features_in_)


def by_row(est: Any, X: Any, summary: Summary) -> np.ndarray:
    """Return one number per row of X; for a dask collection, as a lazy array."""
    check_is_fitted(est)
    if is_lazy(X):
        from .rows.dask import by_block

        scorer = copy.copy(est)  # workers get the score without the training rows
        scorer.fit_ = est.fit_.for_scoring()
        scorer.__dict__.pop("idata_", None)
        lazy: Any = by_block(_without_label(est, X), partial(_of_blocks, scorer, summary=summary))
        return lazy
    return _of_blocks(est, X, summary)


def in_memory(X: Any, what: str, instead: str) -> None:
    """Raise a TypeError if X is a dask collection, for an answer that is computed at once."""
    if is_lazy(X):
        raise TypeError(f"X is a dask collection, but {what}; {instead}")


def _of_blocks(est: Any, X: Any, summary: Summary) -> np.ndarray:
    return np.concatenate([summary(est.fit_.center, rows) for rows in blocks(est, X)])


def _without_label(est: Any, X: Any) -> Any:
    """Return X; without the column of the labels if it is a data frame with this column."""
    label = est.fit_.data.label
    if label is not None and hasattr(X, "columns") and label in X.columns:
        return X[[name for name in X.columns if name != label]]
    return X
