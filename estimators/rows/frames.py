"""Tables of other libraries as data frames of pandas."""

from __future__ import annotations

from typing import Any

import pandas as pd

OPTIONS = {"integer_object_nulls": True}  # else large whole numbers become the same float


def as_frame(X: Any) -> Any:
    """Return a table of polars, pyarrow or another library of Arrow as a data frame of pandas.

    Anything else is returned as it is. A lazy frame of polars is collected.

    Raises
    ------
    ImportError
        pyarrow is not installed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from bsvdd.estimators.rows.frames import as_frame
    >>> as_frame(pa.table({"size": [1.5, None], "city": ["Bonn", "Rom"]})).shape
    (2, 2)
    """
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        X = X.collect()
    if isinstance(X, pd.DataFrame | pd.Series) or not hasattr(X, "__arrow_c_stream__"):
        return X
    if not hasattr(X, "columns"):  # a column, such as labels
        return X
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError(
            f"a table of {type(X).__module__.partition('.')[0]} needs pyarrow; install it: "
            "pip install 'bsvdd[parquet]', or give X.to_pandas()"
        ) from error
    return pa.table(X).to_pandas(**OPTIONS)
