"""The numbers that the explorer shows of a fitted estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from ..estimators.bayesian import Bayesian
from ..estimators.plots.common import with_feature_names
from ..estimators.questions.explanation import Explanation
from ..inference.center import Center
from ..inference.diagnostics import effective_support
from .plane import GRID
from .refit import FitResult
from .state import ExplorerState


@dataclass(frozen=True, eq=False)
class View:
    """The numbers of one state of the explorer.

    Attributes
    ----------
    state : ExplorerState
    est : Bayesian
        The fitted estimator.
    warnings : list of str
        The warnings of the fit.
    minority : ndarray of bool, shape (n,)
        Which training rows are minority.
    point : ndarray of shape (1, p)
        The point z: the chosen row, or a new one.
    decision : Series
        The decision on the point z, a row of ``est.decision``.
    p, margin : ndarray of shape (GRID, GRID)
        P(normal), and the score, over the plane.
    d : ndarray of shape (draws,)
        d_z of the point z.
    weights : ndarray of shape (3, M)
        Posterior mean of each weight, and its 5 % and 95 % quantiles.
    prior_d : ndarray
        Draws of the same d_z from the prior; empty for an improper prior.
    why : Explanation
        Why the point z is normal or abnormal.
    support, prior_support : ndarray
        Draws of the effective number of support points; empty for an improper prior.
    counts : ndarray of shape (2, 2)
        Rows by class (majority, minority) and left-out decision (normal, abnormal).
    """

    state: ExplorerState
    est: Bayesian
    warnings: list[str]
    minority: np.ndarray
    point: np.ndarray
    decision: pd.Series
    p: np.ndarray
    margin: np.ndarray
    d: np.ndarray
    prior_d: np.ndarray
    why: Explanation
    weights: np.ndarray
    support: np.ndarray
    prior_support: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls,
        state: ExplorerState,
        fit: FitResult,
        grid: np.ndarray,
        previous: Self | None = None,
    ) -> Self:
        """Return the numbers of a fit.

        Parameters
        ----------
        state : ExplorerState
        fit : FitResult
        grid : ndarray of shape (GRID^2, p)
            The rows of a plane.
        previous : View, optional
            If it has the same estimator, only the numbers of the point z are new.
        """
        est = fit.est
        same = previous if previous is not None and previous.est is est else None
        if same is not None and (same.state.row, same.state.z) == (state.row, state.z):
            return replace(same, state=state)
        data, w, left_out = est.fit_.data, est.fit_.draws.weights, est.fit_.left_out
        row = data.rows[[state.row]] if state.z is None else np.array([state.z])
        named = with_feature_names(est, row)
        prior, prior_d, prior_support = est.fit_.prior, np.empty(0), np.empty(0)
        if prior is not None and prior.draws is not None:  # one estimate, such as a mode, has none
            center = Center.of(prior.draws.weights, data.gram)
            prior_d = center.distances(row).ravel()
            prior_support = effective_support(center.weights)
        of_point: dict[str, Any] = {
            "state": state,
            "point": row,
            "d": est.distance(named).values.ravel(),
            "decision": est.decision(named).iloc[0],
            "prior_d": prior_d,
            "why": est.explain(named, top=3),
        }
        if same is not None:
            return replace(same, **of_point)
        of_plane = est.decision(with_feature_names(est, grid), p_value=None)
        return cls(
            **of_point,
            est=est,
            warnings=fit.messages,
            minority=data.minority,
            p=of_plane["probability_normal"].to_numpy().reshape(GRID, GRID),
            margin=-of_plane["surprise"].to_numpy().reshape(GRID, GRID),
            weights=np.stack([w.mean(axis=0), *np.quantile(w, [0.05, 0.95], axis=0)]),
            support=effective_support(w),
            prior_support=prior_support,
            counts=_counts(left_out, data.minority),
        )

    @property
    def is_minority(self) -> bool | None:
        """Whether the point z is a minority row; None for a new row, whose class is not known."""
        return None if self.state.z is not None else bool(self.minority[self.state.row])

    @property
    def name(self) -> str:
        """What the point z is, with the user's name of a row."""
        if self.state.z is not None:
            return "the new row"
        return f"row {self.est.fit_.data.row_names[self.state.row]}"

    @property
    def class_name(self) -> str:
        """The class of the point z."""
        return {None: "class not known", False: "majority", True: "minority"}[self.is_minority]


def _counts(left_out: Any, minority: np.ndarray) -> np.ndarray:
    """Return the rows by class and decision; NaN is a row that cannot be left out."""
    normal, abnormal = left_out >= 0.0, left_out < 0.0
    return np.array(
        [
            [(members & normal).sum(), (members & abnormal).sum()]
            for members in (~minority, minority)
        ]
    )
