"""The error of a dictionary of landmarks, by comparison with a fit with more landmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .bayesian import BayesianDataDescription


@dataclass(frozen=True)
class Change:
    """How much the results of two fits differ on some rows.

    Attributes
    ----------
    root_mean_square, largest : float
        Change of the distance quantile (at level 0.5: the posterior median of d_z).
    decisions : float
        Share of rows that one fit calls normal and the other abnormal.
    """

    root_mean_square: float
    largest: float
    decisions: float


def change(few: BayesianDataDescription, more: BayesianDataDescription, Z: Any) -> Change:
    """Return how much the results on the rows Z change with more landmarks.

    Parameters
    ----------
    few, more : fitted estimators
        With few and with more landmarks, see :meth:`.BayesianDataDescription.with_dictionary`.
    Z : array-like of shape (q, p)

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD
    >>> from bsvdd.estimators import approximation
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> few = BDD(dictionary=40).fit(X)
    >>> change = approximation.change(few, few.with_dictionary(80, X), X)
    >>> change.largest < 0.1
    True
    """
    d = (more.decision(Z)["distance"] - few.decision(Z)["distance"]).to_numpy()
    return Change(
        root_mean_square=float(np.sqrt(np.mean(np.square(d)))),
        largest=float(np.abs(d).max()),
        decisions=float((more.predict(Z) != few.predict(Z)).mean()),
    )
