"""What a question requires of an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted


def require_one_fit(est: Any, answer: str) -> None:
    """Raise an error as :func:`require_description`, and if an estimator joins several fits."""
    require_description(est, answer)
    if not hasattr(est, "fit_"):
        raise TypeError(
            f"{type(est).__name__} joins several fits, so there is no {answer} of all; "
            "ask each of est.views_"
        )


def require_description(est: Any, answer: str) -> None:
    """Raise an error if an estimator is not fitted, or has neither draws nor left-out rows."""
    check_is_fitted(est)
    if not hasattr(est, "margins"):
        raise TypeError(
            f"{type(est).__name__} has neither draws nor left-out rows, so there is no "
            f"{answer}; use a description such as BSVDD, BDD or SVDD"
        )


def training_minority(est: Any) -> np.ndarray:
    """Return which of the training rows of a description are minority."""
    pairwise = get_tags(est).input_tags.pairwise  # a kernel matrix is no table
    return np.asarray(
        (est.idata_["constant_data"] if pairwise else est.table_).minority
    )
