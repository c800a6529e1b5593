"""Labels: which rows are minority, by fixed rules and without guessing."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..base.messages import advised, did_you_mean, quoted
from .columns import LINE, first_row, numbered

TRUTH = {"True": True, "False": False, "true": True, "false": False}
INTEGER = r"[+-]?(?:0|[1-9][0-9]{0,17})"  # of 64 bits, without leading zeros
FLOAT = rf"(?=[+-]?\.?[0-9])(?:{INTEGER}|[+-])?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{{1,2}})?"
FORMS: tuple[tuple[Callable[[str], float], str], ...] = (  # of all texts of a column
    (int, INTEGER),
    (TRUTH.__getitem__, "|".join(TRUTH)),
    (float, FLOAT),
)
LABELS_OF_PREDICT = ((), (-1, 1))


def read_labels(texts: Sequence[str]) -> np.ndarray:
    """Return the labels of a column of texts, all of one type.

    They are integers if all texts are integers without a leading zero, booleans if all
    are ``True`` or ``False``, and floats if all are finite numbers and one has a
    decimal point or an exponent. Otherwise all labels stay texts: ``01`` is not ``1``,
    and ``NA`` is a label. An empty text is a missing label.

    Parameters
    ----------
    texts : sequence of str of length n

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> from bsvdd.tables.labels import read_labels
    >>> read_labels(["0", "1", "1"]).tolist()
    [0, 1, 1]
    >>> read_labels(["0", "1", "unknown"]).tolist()
    ['0', '1', 'unknown']
    """
    cells = [text.strip() for text in texts]
    known = set(cells) - {""}
    for as_type, form in FORMS:
        if all(re.fullmatch(form, cell) for cell in known):
            values = [as_type(cell) if cell else None for cell in cells]
            return np.array(values, dtype=object if None in values else None)
    given = zip(texts, cells, strict=True)
    return np.array([text if cell else None for text, cell in given], dtype=object)


def classes_of(
    y: ArrayLike | None, n_rows: int, minor_label: object = None
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return which rows are minority, and the distinct labels, the minority's first.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or None
        ``None``: all rows are majority, and there are no labels. {-1, +1}: -1 is
        minority (scikit-learn's outliers). {0, 1} and bool: 1 is minority. Anything
        else needs ``minor_label``.
    n_rows : int
    minor_label : object, optional
        The label of the minority; every other label is majority.

    Returns
    -------
    minority : ndarray of bool, shape (n_rows,)
    labels : tuple

    Raises
    ------
    ValueError
        The labels are ambiguous, missing, of the wrong number, of several types, or
        all of the minority.
    """
    if y is None:
        return np.zeros(n_rows, dtype=bool), ()
    number, labels = factorized(y, n_rows)
    minor, found = _minor_of(labels, minor_label)
    minority = found[number]
    if minority.all():
        raise ValueError(
            "y has one class only: every row is minority, and no majority row is left"
        )
    try:
        others = np.unique(labels[~found]).tolist()
    except TypeError as error:
        raise ValueError(
            "the labels of y must be of one type, got types without an order: "
            f"{error}; give numbers or texts, for instance y.astype(str)"
        ) from error
    return minority, (minor, *others)


def factorized(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each row's label among the distinct ones, and these.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    n_rows : int

    Returns
    -------
    number : ndarray of int, shape (n_rows,)
    labels : ndarray
        The distinct labels, in the order of the rows.

    Raises
    ------
    ValueError
        As :func:`classes_of`: labels that are missing, of the wrong number, or of
        several types.
    """
    is_list = not hasattr(y, "dtype")
    values = _values_of(y, is_list)
    if values.shape != (n_rows,):
        raise ValueError(
            f"y must have shape ({n_rows},), one label for each row, got {values.shape}"
        )
    if values.dtype == object:
        for row, label in enumerate(values):
            if not isinstance(label, Hashable):
                raise ValueError(
                    f"y must have one label for each row, got {label!r} in row {row}"
                )
    number, distinct = pd.factorize(values)
    labels = np.array(distinct)
    _require_labels(number, labels)
    if is_list:
        labels = np.asarray(labels.tolist())  # of one type: True beside 2 is 1
    if labels.dtype == object:
        for i, label in enumerate(labels):
            labels[i] = label.item() if isinstance(label, np.generic) else label
    return number, labels


def _values_of(y: Any, is_list: bool) -> Any:
    """Return labels as an array of NumPy or pandas; masked ones are missing."""
    if np.ma.is_masked(y):
        mask = y.mask
        y = y.data.astype(object)
        y[mask] = None
    if isinstance(y, pd.Series | pd.Index | pd.api.extensions.ExtensionArray):
        return y
    # NaN is missing in a list of texts, and a text in an array of texts
    return np.asarray(y, dtype=object if is_list else None)


def _require_labels(number: np.ndarray, labels: np.ndarray) -> None:
    """Raise a ValueError if a row has no label, or the labels are of several types."""
    missing = number < 0
    if missing.all():
        raise ValueError("y has no label in any row; omit y if all rows are majority")
    if missing.any():
        raise ValueError(
            f"y has no label (NaN) in row {np.argmax(missing)} ({missing.sum()} in "
            "all); leave out these rows of X and y, or give them a label"
        )
    texts = [isinstance(label, str) for label in labels]
    if any(texts) and not all(texts):  # 1 and "1" may be one class or two
        text = texts.index(True)
        other = texts.index(False)
        raise ValueError(
            f"y mixes texts and numbers: row {np.argmax(number == text)} is "
            f"{labels[text]!r}, row {np.argmax(number == other)} is {labels[other]!r}; "
            "give labels of one type, for instance y.astype(str)"
        )


def minority_of(
    known: tuple[Any, ...], minor_label: object, y: ArrayLike | None, n_rows: int
) -> np.ndarray:
    """Return which rows are minority, by the labels that a fit has.

    Parameters
    ----------
    known : tuple
        The labels of the fit, the minority's first.
    minor_label : object
        Decides if the fit has no labels.
    y : array-like of shape (n_rows,)
    n_rows : int

    Returns
    -------
    ndarray of bool, shape (n_rows,)

    Raises
    ------
    ValueError
        y is None, a row has no label or one that the fit has not seen, or as
        :func:`classes_of`.
    """
    if y is None:
        raise ValueError(
            "y must have the labels of X, which say what rows are minority, got None"
        )
    if not known:
        return classes_of(y, n_rows, minor_label)[0]
    number, labels = factorized(y, n_rows)
    unseen = [label for label in labels.tolist() if label not in known]
    if unseen:
        raise ValueError(
            f"y has the label {unseen[0]!r}, but the labels of fit were "
            f"{', '.join(map(repr, known[:5]))}; give the same labels"
        )
    found = np.array([label == known[0] for label in labels.tolist()], dtype=bool)
    return found[number]


def read_minority(y: pd.Series, minor: str | None = None) -> np.ndarray:
    """Return which rows of a file belong to the minority.

    Parameters
    ----------
    y : pandas.Series
        The column of the classes.
    minor : str, optional
        The label of the minority, as a text. If None, the labels must be {0, 1} or {-1,
        1}.

    Returns
    -------
    ndarray of bool, shape (n,)

    Raises
    ------
    ValueError
        The label does not occur, a row has no label, or the labels are ambiguous.
    """
    missing = y.isna().to_numpy()
    if missing.any():
        own = y.index.name
        of_id = f", where {own!r} is {y.index[missing][0]!r:.80}"
        raise ValueError(
            f"label column {y.name!r} of {len(y)} rows has no label in "
            f"{first_row(numbered(y), missing)}{of_id * (own not in (None, LINE))}; "
            "leave them out, or label them"
        )
    labels = y.to_numpy()
    value: Any = minor
    if minor is not None:
        if not any(isinstance(v, str) for v in labels):
            value = read_labels([minor])[0]
        same_type = isinstance(value, np.bool_) == (labels.dtype == bool)
        if not same_type or not (labels == value).any():
            values = pd.unique(labels)
            raise ValueError(
                f"the minority value {minor!r} never occurs in column {y.name!r}"
                f"{did_you_mean(minor, values)}; it has {quoted(values)}"
            )
    return classes_of(labels, len(labels), value)[0]


def split(
    frame: pd.DataFrame, label: str, argument: str, origin: str
) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table without its column of labels, and this column.

    Parameters
    ----------
    frame : pandas.DataFrame
    label : str
        The name of the column.
    argument : str
        The parameter that named it, for errors.
    origin : str
        Where the table is from, for errors.

    Returns
    -------
    rest : pandas.DataFrame
    labels : pandas.Series

    Raises
    ------
    ValueError
        There is no such column, or no other one.
    """
    if label not in frame.columns:
        near = did_you_mean(label, frame.columns)
        raise ValueError(
            f"{argument}={label!r} is no column of {origin}{near}, which has "
            f"{quoted(frame.columns)}"
        )
    if frame.shape[1] == 1:
        raise ValueError(f"{origin} has no column besides {label!r}")
    return frame.drop(columns=label), frame[label]


def _minor_of(labels: np.ndarray, minor_label: Any) -> tuple[Any, np.ndarray]:
    """Return the label of the minority, and which of the distinct labels it is."""
    shown = ", ".join(f"{v!r:.80}" for v in labels[:5].tolist())
    shown += ", ..." * (len(labels) > 5)
    by_name = f"name the minority's label by {advised('minor_label', 'minor_label=')}"
    if np.ndim(minor_label) or not isinstance(minor_label, Hashable):
        raise ValueError(
            f"minor_label must be one label, got {minor_label!r}; for several, give y "
            "with two classes, such as numpy.isin(y, labels)"
        )
    if minor_label is not None:
        minor: Any = minor_label
        if isinstance(minor_label, np.generic):
            minor = minor_label.item()
    elif set(labels.tolist()) == {-1, 1}:
        minor = -1
    elif set(labels.tolist()) == {0, 1}:  # False == 0 and True == 1
        minor = 1
    elif len(labels) == 1:
        raise ValueError(
            f"y has one class only, the label {shown}, which could be either class; "
            f"omit y if all rows are majority, or {by_name}"
        )
    else:
        raise ValueError(
            f"y has the labels {shown}; only {{-1, 1}}, {{0, 1}} and booleans are "
            f"accepted without minor_label=; {by_name}"
        )
    found = np.array([bool(label == minor) for label in labels])
    is_text = isinstance(minor, str)
    other_type = all(isinstance(label, str) != is_text for label in labels)
    if not found.any() and (len(labels) > 1 or other_type):
        raise ValueError(
            f"minor_label={minor_label!r} does not occur in y, which has {shown}"
        )
    return (labels[found].tolist() or [minor])[0], found


def to_save(labels: tuple[Any, ...]) -> list[Any]:
    """Return labels for a saved fit: numbers and texts as they are, others as texts.

    Parameters
    ----------
    labels : tuple

    Returns
    -------
    list
    """
    return [x if isinstance(x, bool | int | float | str) else str(x) for x in labels]
