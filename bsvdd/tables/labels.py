"""Labels: which rows are minority, by fixed rules and without guessing."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from ..base.messages import did_you_mean, quoted

TRUTH = {"True": True, "False": False, "true": True, "false": False}
# how all texts of a column are written, without leading zeros; whole numbers have 64
# bits
FORMS: tuple[tuple[Any, str], ...] = (
    (int, r"[+-]?(?:0|[1-9][0-9]{0,17})"),
    (TRUTH.__getitem__, "|".join(TRUTH)),
    (
        float,
        r"(?=[+-]?\.?[0-9])[+-]?(?:0|[1-9][0-9]{0,17})?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?",
    ),
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
    texts : sequence of str

    Examples
    --------
    >>> from bsvdd.tables.labels import read_labels
    >>> read_labels(["0", "1", "1"]).tolist(), read_labels(["0", "1", "unknown"]).tolist()
    ([0, 1, 1], ['0', '1', 'unknown'])
    """
    cells = [text.strip() for text in texts]
    known = set(cells) - {""}
    fits = (of for of, form in FORMS if all(re.fullmatch(form, cell) for cell in known))
    if (as_type := next(fits, None)) is None:
        return np.array(
            [text if text.strip() else None for text in texts], dtype=object
        )
    values = [as_type(cell) if cell else None for cell in cells]
    return np.array(values, dtype=object if None in values else None)


def classes_of(
    y: Any, n_rows: int, minor_label: Any = None
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return which rows are minority, and the distinct labels, that of the minority first.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or None
        ``None``: all rows are majority, and there are no labels. {-1, +1}: -1 is
        minority (scikit-learn's outliers). {0, 1} and bool: 1 is minority. Anything
        else needs ``minor_label``.
    n_rows : int
    minor_label : optional
        The label of the minority; every other label is majority.

    Raises
    ------
    ValueError
        The labels are ambiguous, missing, of the wrong number, of several types, or
        they leave one class empty.
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

    Raises
    ------
    ValueError
        As :func:`classes_of`: labels that lack, of the wrong number, or of several
        types.
    """
    of_pandas = isinstance(y, pd.Series | pd.Index | pd.api.extensions.ExtensionArray)
    is_list = not hasattr(y, "dtype")
    if np.ma.is_masked(y):
        mask = y.mask
        y = y.data.astype(object)
        y[mask] = None
    if not of_pandas:  # in a list of texts NaN is a gap, in an array of texts a text
        y = np.asarray(y, dtype=object if is_list else None)
    if y.shape != (n_rows,):
        raise ValueError(
            f"y must have shape ({n_rows},), one label for each row, got {y.shape}"
        )
    if y.dtype == object:
        for row, label in enumerate(y):
            if not isinstance(label, Hashable):
                raise ValueError(
                    f"y must have one label for each row, got {label!r} in row {row}"
                )
    number, distinct = pd.factorize(y)
    gap = number < 0
    labels = np.array(distinct)
    if gap.all():
        raise ValueError("y has no label in any row; omit y if all rows are majority")
    if gap.any():
        raise ValueError(
            f"y has no label (NaN) in row {np.argmax(gap)} ({gap.sum()} in all); leave "
            "out these rows of X and y, or give them a label"
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
    if is_list:
        labels = np.asarray(labels.tolist())  # of one type: True beside 2 is 1
    if labels.dtype == object:
        for i, label in enumerate(labels):
            labels[i] = label.item() if isinstance(label, np.generic) else label
    return number, labels


def minority_of(
    known: tuple[Any, ...], minor_label: Any, y: Any, n_rows: int
) -> np.ndarray:
    """Return which rows are minority, by the labels that a fit has, shape (n_rows,).

    ``known`` are its labels, that of the minority first; without labels,
    ``minor_label`` decides.

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

    Raises
    ------
    ValueError
        The label does not occur, a row has no label, or the labels are ambiguous.
    """
    missing = y.isna().to_numpy()
    if missing.any():
        name = (
            ""
            if y.index.name is None
            else f"; {y.index.name!r} is {y.index[missing][0]!r:.80}"
        )
        raise ValueError(
            f"label column {y.name!r} has no label in row {missing.argmax()} (counted "
            f"from 0{name}), and in {missing.sum()} of {len(y)} rows; leave them out, "
            "or label them"
        )
    labels = y.to_numpy()
    value = cast(Any, minor)
    if minor is not None:
        value = (
            minor
            if any(isinstance(v, str) for v in labels)
            else read_labels([minor])[0]
        )
        if (
            isinstance(value, np.bool_) != (labels.dtype == bool)
            or not (labels == value).any()
        ):
            values = pd.unique(labels)
            raise ValueError(
                f"the minority value {minor!r} never occurs in column {y.name!r}"
                f"{did_you_mean(minor, values)}; it has {quoted(values)}"
            )
    return classes_of(labels, len(labels), value)[0]


def split(frame: Any, label: str, argument: str, origin: str) -> tuple[Any, Any]:
    """Return a table without its column of labels, and this column.

    ``argument`` is what the user named the column by, and ``origin`` where the table is
    from.
    """
    if label not in frame.columns:
        raise ValueError(
            f"{argument}={label!r} is no column of "
            f"{origin}{did_you_mean(label, frame.columns)}, which has "
            f"{quoted(frame.columns)}"
        )
    if frame.shape[1] == 1:
        raise ValueError(f"{origin} has no column besides that of the labels")
    return frame.drop(columns=label), frame[label]


def _minor_of(labels: np.ndarray, minor_label: Any) -> tuple[Any, np.ndarray]:
    """Return the label of the minority, and which of the distinct labels it is."""
    shown = ", ".join(f"{v!r:.80}" for v in labels[:5].tolist()) + ", ..." * (
        len(labels) > 5
    )
    if np.ndim(minor_label) or not isinstance(minor_label, Hashable):
        raise ValueError(
            f"minor_label must be one label, got {minor_label!r}; for several, give y "
            "with two classes, such as numpy.isin(y, labels)"
        )
    if minor_label is not None:
        minor = (
            minor_label.item() if isinstance(minor_label, np.generic) else minor_label
        )
    elif set(labels.tolist()) == {-1, 1}:
        minor = -1
    elif set(labels.tolist()) == {0, 1}:  # False == 0 and True == 1
        minor = 1
    elif len(labels) == 1:
        raise ValueError(
            f"y has one class only, the label {shown}, which could be either class; "
            "omit y if all rows are majority, or name the minority's label by "
            "minor_label=, in the command line --minor"
        )
    else:
        raise ValueError(
            f"y has the labels {shown}; only {{-1, 1}}, {{0, 1}} and booleans are "
            "accepted without minor_label=; name the minority's label by minor_label=, "
            "in the command line --minor"
        )
    found = np.array([bool(label == minor) for label in labels])
    other_type = all(
        isinstance(label, str) != isinstance(minor, str) for label in labels
    )
    if not found.any() and (len(labels) > 1 or other_type):
        raise ValueError(
            f"minor_label={minor_label!r} does not occur in y, which has {shown}"
        )
    return (labels[found].tolist() or [minor])[0], found


def to_save(labels: tuple[Any, ...]) -> list[Any]:
    """Return labels for a saved fit: those that are no numbers and texts as their text."""
    return [x if isinstance(x, bool | int | float | str) else str(x) for x in labels]
