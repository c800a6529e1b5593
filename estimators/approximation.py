"""What a dictionary of landmarks costs: the same fit beside one with more of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .bayesian import BayesianDataDescription


@dataclass(frozen=True)
class Change:
    """How much the results of one fit differ from those of another, over some rows.

    Attributes
    ----------
    root_mean_square, largest : float
        Of the change of the decisive distance (at level 0.5: the posterior median of d_z).
    decisions : float
        Share of rows that are normal by one fit and abnormal by the other.
    """

    root_mean_square: float
    largest: float
    decisions: float


def change(few: BayesianDataDescription, more: BayesianDataDescription, Z: Any) -> Change:
    """Return how much the rows Z change from a fit with few landmarks to one with more.

    Parameters
    ----------
    few, more : fitted estimators
        See :meth:`.BayesianDataDescription.with_dictionary`.
    Z : array-like of shape (q, p)

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD
    >>> from bsvdd.inference import approximation
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> few = BDD(dictionary=40).fit(X)
    >>> found = approximation.change(few, few.with_dictionary(80, X), X)
    >>> found.largest < 0.1
    True
    """
    d = more.score_samples(Z) - few.score_samples(Z)
    return Change(
        root_mean_square=float(np.sqrt(np.mean(np.square(d)))),
        largest=float(np.abs(d).max()),
        decisions=float((more.predict(Z) != few.predict(Z)).mean()),
    )
