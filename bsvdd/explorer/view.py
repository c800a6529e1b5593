"""The numbers that the explorer shows of a fitted estimator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ..estimators.bayesian import BayesianDataDescription
from ..estimators.explanation import Explanation
from ..estimators.plots.common import with_feature_names
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
    est : BayesianDataDescription
        The fitted estimator.
    warnings : list of str
        The warnings of the fit.
    minority : ndarray of bool, shape (n,)
        Which training rows are minority.
    p, margin : ndarray of shape (GRID, GRID)
        P(normal), and the score minus that of the cutoff, over the plane.
    d : ndarray of shape (draws,)
        d_z of the chosen row, with a common norm of the centre.
    weights : ndarray of shape (3, M)
        Posterior mean of each weight, and its 5 % and 95 % quantiles.
    prior_d : ndarray
        Draws of the same d_z from the prior; empty for an improper prior.
    why : Explanation
        Why the chosen row is normal or abnormal.
    support, prior_support : ndarray
        Draws of the effective number of support points; empty for an improper prior.
    counts : ndarray of shape (2, 2)
        Rows by class (majority, minority) and left-out decision (normal, abnormal).
    """

    state: ExplorerState
    est: BayesianDataDescription
    warnings: list[str]
    minority: np.ndarray
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
            If it has the same estimator, only d_z of the chosen row is new.
        """
        est = fit.est
        groups = {name: group.dataset for name, group in est.idata_.children.items()}
        d = est.training_distance().values[..., state.row].ravel()
        row = groups["constant_data"]["X"].values[[state.row]]
        same = previous if previous is not None and previous.est is est else None
        if same is not None and same.state.row == state.row:
            return replace(same, state=state, d=d)
        why = est.explain(with_feature_names(est, row), top=3)
        prior = groups.get("prior")  # one estimate, such as a mode, has none
        prior_d = np.empty(0)
        if prior is not None and "w" in prior:
            center = est._center("prior")
            prior_d = center.with_common_norm(center.values(row)).ravel()
        if same is not None:
            return replace(same, state=state, d=d, prior_d=prior_d, why=why)
        decision = est.decision(with_feature_names(est, grid))
        w = groups["posterior"]["w"].values
        w = w.reshape(-1, w.shape[-1])
        prior_support = np.empty(0)
        if prior is not None and "w" in prior:
            prior_support = effective_support(prior["w"].values)
        minority = groups["constant_data"]["minority"].values
        return cls(
            state=state,
            est=est,
            warnings=fit.messages,
            minority=minority,
            p=decision["probability_normal"].to_numpy().reshape(GRID, GRID),
            margin=(decision["score"].to_numpy() - est.offset_).reshape(GRID, GRID),
            d=d,
            prior_d=prior_d,
            why=why,
            weights=np.stack([w.mean(axis=0), *np.quantile(w, [0.05, 0.95], axis=0)]),
            support=effective_support(w),
            prior_support=prior_support.ravel(),
            counts=_counts(groups["decision"]["left_out"].values, est.cutoff_, minority),
        )

    @property
    def is_minority(self) -> bool:
        """Whether the chosen row is a minority row."""
        return bool(self.minority[self.state.row])

    @property
    def p_row(self) -> float:
        """P(normal) of the chosen row."""
        decision = self.est.idata_.children["decision"].dataset
        return float(decision["probability_normal"].values[self.state.row])


def _counts(left_out: np.ndarray, cutoff: float, minority: np.ndarray) -> np.ndarray:
    """Return the rows by class and decision; NaN is a row that cannot be left out."""
    normal, abnormal = left_out <= cutoff, left_out > cutoff
    return np.array(
        [
            [(members & normal).sum(), (members & abnormal).sum()]
            for members in (~minority, minority)
        ]
    )
