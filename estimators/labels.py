"""Labels: which rows are minority, by fixed rules and without guessing."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..inference.warning import DataWarning, warn

INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,17})")  # digits that fit into 64 bits
TRUTH = {"True": True, "False": False, "true": True, "false": False}


def read_labels(texts: Sequence[str]) -> np.ndarray:
    """Return the labels of a column of texts, all of one type.

    They are integers if all texts are integers without a leading zero, booleans if all are
    ``True`` or ``False``, and floats if all are finite numbers and one has a decimal point or an
    exponent. Otherwise all labels stay texts: ``01`` is not ``1``, and ``NA`` is a label. An empty
    text is a missing label.

    Parameters
    ----------
    texts : sequence of str

    Examples
    --------
    >>> from bsvdd.estimators.labels import read_labels
    >>> read_labels(["0", "1", "1"]).tolist(), read_labels(["0", "1", "unknown"]).tolist()
    ([0, 1, 1], ['0', '1', 'unknown'])
    """
    distinct = {text.strip() for text in texts} - {""}
    as_type: Any = str
    if all(INTEGER.fullmatch(text) for text in distinct):
        as_type = int
    elif distinct <= set(TRUTH):
        as_type = TRUTH.__getitem__
    elif all(map(_is_float, distinct)):
        as_type = float
    if as_type is str:
        return np.array([text if text.strip() else None for text in texts], dtype=object)
    if not all(text.strip() for text in texts):
        values = [as_type(text.strip()) if text.strip() else None for text in texts]
        return np.array(values, dtype=object)
    return np.array([as_type(text.strip()) for text in texts])


def _is_float(text: str) -> bool:
    digits = re.sub(r"[.eE].*", "", text)  # with a leading zero the text is a code, not a number
    try:
        number = float(text)
    except ValueError:
        return False
    return bool(np.isfinite(number)) and (not digits or INTEGER.fullmatch(digits) is not None)


def warn_of_classes(minority: np.ndarray, minor_label: Any) -> None:
    """Warn if the class that counts as the minority has more rows, and nobody named it."""
    n1 = int(minority.sum())
    if minor_label is None and n1 > len(minority) - n1:
        warn(
            f"the minority, -1 in {{-1, 1}} or 1 in {{0, 1}}, has {n1} of {len(minority)} rows, "
            "and the model describes the other class as normal; if the labels are the other way "
            "round, name the minority's label by minor_label=",
            DataWarning,
        )


def missing_labels(y: Any, n_rows: int) -> np.ndarray:
    """Return a boolean array that is True for rows without a label: NaN, None or pandas.NA.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or None
        ``None``: all rows are majority, and none lacks a label.
    n_rows : int

    Raises
    ------
    ValueError
        The labels are of the wrong number, or a mix of numbers and texts.
    """
    if y is None:
        return np.zeros(n_rows, dtype=bool)
    _refuse_mixed(y)
    values = _values(y)
    if values.shape != (n_rows,):
        raise ValueError(
            f"y must have shape ({n_rows},), one label for each row, got {np.asarray(y).shape}"
        )
    return np.asarray(pd.isna(values))


def labels_of(y: Any, which: np.ndarray) -> Any:
    """Return the labels of the rows ``which``; those of a list as a list."""
    labels = _values(y)[which]
    return labels if hasattr(y, "dtype") else labels.tolist()


def _values(y: Any) -> np.ndarray:
    """Return y as an array; in a list of texts NaN is a gap, in an array of texts a text."""
    if not hasattr(y, "dtype"):
        return np.asarray(y, dtype=object)
    # whole numbers of pandas with a gap would become floats, and large ones the same float
    gaps = not isinstance(y.dtype, np.dtype) and pd.isna(y).any()
    return np.asarray(y, dtype=object if gaps else None)


def minority_rows(y: Any, n_rows: int, minor_label: Any = None) -> np.ndarray:
    """Return a boolean array that is True for minority rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or None
        ``None``: all rows are majority. {-1, +1}: -1 is minority (scikit-learn's outliers).
        {0, 1} and bool: 1 is minority. Anything else needs ``minor_label``.
    n_rows : int
    minor_label : optional
        The label of the minority, or a list, tuple or array of the labels of its kinds; every other
        label is majority.

    Raises
    ------
    ValueError
        The labels are ambiguous, missing, of the wrong number, a mix of numbers and texts, or they
        leave one class empty.
    """
    if y is None:
        return np.zeros(n_rows, dtype=bool)
    missing = np.flatnonzero(missing_labels(y, n_rows))
    y = np.asarray(y)
    if len(missing):
        raise ValueError(
            f"y has no label (NaN) in row {missing[0]} ({len(missing)} in all); leave out these "
            "rows of X and y, or give them a label; a Bayesian model, such as BSVDD, with "
            "prior=priors.GraphLaplacian() takes unlabelled rows"
        )
    labels = pd.unique(y)
    if not len(labels):
        raise ValueError("y has no label in any row; omit y if all rows are majority")
    shown = ", ".join(f"{v!r:.80}" for v in labels.tolist()[:5]) + (
        ", ..." if len(labels) > 5 else ""
    )
    if minor_label is not None:
        kinds = _kinds(minor_label)
        rows_of = [np.asarray(y == kind) for kind in kinds]
        for kind, rows in zip(kinds, rows_of, strict=True):
            absent = rows.shape != y.shape or not rows.any()
            other_type = {isinstance(v, str) for v in labels} == {not isinstance(kind, str)}
            if absent and (len(labels) > 1 or len(kinds) > 1 or other_type):
                raise ValueError(f"minor_label={kind!r} does not occur in y, which has {shown}")
        minority = np.any(rows_of, axis=0) & np.ones(n_rows, dtype=bool)
    elif len(labels) == 1:
        raise ValueError(
            f"y has one class only, the label {shown}, which could be either class; omit y if all "
            "rows are majority, or name the minority's label by minor_label=, in the command line "
            "--minor"
        )
    elif set(labels.tolist()) == {-1, 1}:
        minority = y == -1
    elif set(labels.tolist()) == {0, 1}:  # False == 0 and True == 1
        minority = y == 1
    else:
        raise ValueError(
            f"y has the labels {shown}; only {{-1, 1}}, {{0, 1}} and booleans are accepted without "
            "minor_label=; name the minority's label by minor_label=, in the command line --minor"
        )
    if minority.all():
        raise ValueError("y has one class only: every row is minority, and no majority row is left")
    return minority


def _kinds(minor_label: Any) -> list[Any]:
    """Return the labels of the minority that ``minor_label`` names, each once."""
    if not _are_several(minor_label):
        return [minor_label]
    kinds = minor_label.tolist() if isinstance(minor_label, np.ndarray) else list(minor_label)
    plain = all(isinstance(label, Hashable) for label in kinds)
    texts = [isinstance(label, str) for label in kinds]
    if not (plain and texts and (all(texts) or not any(texts)) and len(set(kinds)) == len(kinds)):
        raise ValueError(
            "minor_label must be one label, or a list of different labels of one type, got "
            f"{minor_label!r}"
        )
    return kinds


def _are_several(minor_label: Any) -> bool:
    return isinstance(minor_label, list | tuple) or (
        isinstance(minor_label, np.ndarray) and minor_label.ndim > 0
    )


def seen(y: Any, minority: np.ndarray, minor_label: Any = None) -> dict[str, Any]:
    """Return what a fit keeps of its labels, by the names of ``TrainingData``.

    Parameters
    ----------
    y : array-like of shape (n,) or None
        Labels that :func:`minority_rows` accepts.
    minority : ndarray of bool, shape (n,)
        Its result.
    minor_label : optional

    Returns
    -------
    dict
        ``kind``, of shape (n,): 0 for majority rows, and k for rows with the k-th label of the
        minority. ``kind_labels``: the labels of the minority, in the order of ``minor_label``; none
        without minority rows. ``labels``: the distinct labels of y, those of the minority first.
    """
    kind = minority.astype(int)
    if y is None:
        return {"kind": kind, "kind_labels": (), "labels": ()}
    y = np.asarray(y)
    if minority.any() and not _are_several(minor_label):
        first = tuple(y[minority][:1].tolist())
    else:
        named = _kinds(minor_label)
        first = tuple(v.item() if isinstance(v, np.generic) else v for v in named)
        for k, label in enumerate(named):
            kind[y == label] = k + 1
    labels = (*first, *np.unique(y[~minority]).tolist())
    return {"kind": kind, "kind_labels": first if minority.any() else (), "labels": labels}


def to_save(labels: tuple[Any, ...], as_text: bool = False) -> list[Any]:
    """Return labels for a saved fit: none if some are no numbers and texts, or those as text."""
    plain = [isinstance(label, bool | int | float | str) for label in labels]
    if not (as_text or all(plain)):
        return []
    return [x if is_plain else str(x) for x, is_plain in zip(labels, plain, strict=True)]


def _refuse_mixed(y: Any) -> None:
    """Raise a ValueError if y mixes numbers and texts: 1 and "1" may be one class or two."""
    dtype = getattr(y, "dtype", np.dtype(object))
    if dtype != np.dtype(object) and not isinstance(dtype, pd.CategoricalDtype):
        return
    values = np.asarray(y, dtype=object)
    if values.ndim != 1:
        return
    texts = np.array([isinstance(value, str) for value in values], dtype=bool)
    numbers = ~texts & ~pd.isna(values)
    if texts.any() and numbers.any():
        first, other = int(np.argmax(texts)), int(np.argmax(numbers))
        raise ValueError(
            f"y mixes texts and numbers: row {first} is {values[first]!r}, row {other} is "
            f"{values[other]!r}; give labels of one type, for instance y.astype(str)"
        )
