"""The columns that make rows of one table odd."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..estimators import messages

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..estimators.detector import Detector
    from ..estimators.rows.forms import Form

SHARES = (0.05, 0.1)  # smallest shares of the first column and of others that are reasons


def reasons(
    est: Detector, X: pd.DataFrame, wanted: np.ndarray, given: tuple[str, ...] = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns with the largest shares of wanted rows, and why there are none.

    Parameters
    ----------
    est : Detector
        Fitted to X, or to a sample of its rows.
    X : pandas.DataFrame
        The index has the numbers of the rows.
    wanted : ndarray of int
        Positions of rows.
    given : tuple of str
        Columns that are no reasons.

    Returns
    -------
    pandas.DataFrame
        As ``top_columns`` of an explanation has it, with a row for each of X.
    list of str
    """
    import pandas as pd

    from ..estimators.questions.explain import explain
    from ..estimators.questions.explanation import Explanation

    inside = pd.Index(est.fit_.data.row_names).get_indexer(wanted)
    held, others = inside[inside >= 0], X.loc[wanted[inside < 0]]
    asked: list[dict[str, Any]] = [{"rows": held}] if len(held) else []
    asked += [{"X": others}] if len(others) else []
    found = []
    try:
        for each in asked:
            why = explain(est, **each, changes=False)
            if isinstance(why, Explanation):
                why = replace(why, given=given)
            found.append(why.top_columns())
    except ValueError as error:  # no centre, or no columns
        return pd.DataFrame(index=X.index), [f"No reasons: {error}."]
    return pd.concat(found).reindex(X.index), []


def reason(est: Detector, X: pd.DataFrame, rows: np.ndarray, columns: pd.DataFrame) -> str:
    """Return the columns that make rows of X odd, with their values and shares; - without any.

    Of several alike rows these are the means of the shares, and the ranges of the values. What rows
    have that are like them in the other columns is in brackets; a column with a usual value is no
    reason beside others.
    """
    from ..estimators import inputs
    from ..estimators.questions.usual import usual
    from ..inference.warning import collected

    shares = _mean_shares(columns.loc[rows]).items()
    named = [each for i, each in enumerate(shares) if each[1] >= SHARES[i > 0]]
    with collected():  # the fit has said what these rows lack
        row = inputs.table(est.fit_.data, X.loc[rows[:1]])[0]
    places = [X.columns.get_loc(column) for column, _ in named]
    beside = usual(est.fit_, row, places) if named else []
    parts, forms = [], est.fit_.data.forms
    for (column, share), f, like in zip(named, places, beside, strict=True):
        if like.has(row[f]) and len(rows) == 1:
            continue
        said = _of_values(X.loc[rows, column], like.is_category, forms.get(f))
        own = f"{column}{said} ({share:.0%}"
        between = " or " if like.is_category else " to "
        texts = dict.fromkeys(text_of(est, X, column, value) for value in like.values)
        parts.append(f"{own}; rows like it: {between.join(texts)})")
    if not parts and named:
        column, share = named[0]
        said = _of_values(X.loc[rows, column], beside[0].is_category, forms.get(places[0]))
        parts = [f"{column}{said} ({share:.0%})"]
    return ", ".join(parts) or "-"


def text_of(est: Detector, X: pd.DataFrame, column: str, number: float) -> str:
    """Return a number of the kernel as the column of X has it."""
    from ..estimators.rows.categories import code

    f = X.columns.get_loc(column)
    if f in est.kernel_.categorical_columns:
        return next(str(level) for level in X[column].unique() if code(level) == number)
    form = est.fit_.data.forms.get(f)
    if (est.fit_.data.rows[:, f] % 1.0 == 0.0).all():  # whole numbers, or whole days
        number = round(number)
    if form is None or form.kind != "dates":
        number = float(f"{number:.5g}")
    return messages.of_value(number if form is None else form.cell(number))


def _mean_shares(columns: pd.DataFrame) -> pd.Series:
    """Return the mean share of each column, the largest first; 0 where a row does not name it."""
    import pandas as pd

    shares: dict[str, float] = {}
    for place in range(1, columns.shape[1] // 2 + 1):
        of_place = columns[f"share_{place}"].groupby(columns[f"column_{place}"]).sum()
        for name, share in of_place.items():
            shares[str(name)] = shares.get(str(name), 0.0) + float(share) / len(columns)
    return pd.Series(shares, dtype=float).sort_values(ascending=False, kind="stable")


def _of_values(values: pd.Series, is_category: bool, form: Form | None) -> str:
    """Return the value of one row, or the values of several, after a sign; a code has none."""
    known = values.dropna()
    if known.empty:
        return " is missing and filled"
    first = known.iloc[0]
    if values.nunique() == 1:
        unread = is_category and not isinstance(first, str) and -1.0 < first < 0.0  # of a text
        return "" if unread else f" = {messages.of_value(first)}"
    if form is not None:
        numbers = form.numbers(values)
        ends = [messages.of_value(form.cell(end)) for end in (numbers.min(), numbers.max())]
        return f" = {' to '.join(ends)}"
    if is_category or isinstance(first, str):
        return f" ({values.nunique()} values)"
    return f" = {messages.of_value(values.min())} to {messages.of_value(values.max())}"
