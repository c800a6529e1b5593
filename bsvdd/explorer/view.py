"""What the explorer shows of a fit: the plane of the rows, and the numbers of one state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy
from sklearn.decomposition import PCA

from ..estimators.bayesian import Bayesian
from ..estimators.plots.common import with_feature_names
from ..estimators.questions.explanation import Explanation
from ..inference.center import Center
from ..inference.diagnostics import effective_support
from ..models.kernels import Tabular
from .state import ExplorerState, Fitted

GRID = 40  # points of the grid along each axis
MARGIN = 0.22  # space around the rows, as a share of their range
FAR = 2.0  # widths of the middle 90 % beyond which a row lies outside the picture


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane through the rows: their two columns, or their first two principal components.

    Attributes
    ----------
    center : ndarray of shape (p,)
        A point of the plane, in the coordinates (x - shift) / scale.
    axes : ndarray of shape (2, p)
        Orthonormal directions, in the same coordinates.
    shift, scale : ndarray of shape (p,)
        Mean and standard deviation of a column, or 0 and 1. A column of categories has its most
        frequent category, and no direction.
    low, high : ndarray of shape (2,)
        The smallest and the largest coordinates of the picture.
    xy : ndarray of shape (n, 2)
        The rows, projected onto the plane; those outside the picture are on its edge.
    names : list of str
        Names of the two axes.
    caption : str
        How to read the plane.
    """

    center: np.ndarray
    axes: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    xy: np.ndarray
    names: list[str]
    caption: str

    @classmethod
    def of(cls, est: Bayesian) -> Self:
        """Return the plane of the training rows of ``est``, in the units of its kernel."""
        X, kernel = est.fit_.data.rows, est.kernel_
        p, categorical = X.shape[1], list(kernel.categorical_columns)
        numbers = np.delete(np.arange(p), categorical)
        center, shift, scale, axes = np.zeros(p), np.zeros(p), np.ones(p), np.zeros((2, p))
        shift[categorical] = scipy.stats.mode(X[:, categorical]).mode
        if isinstance(kernel, Tabular):
            shift[numbers] = [column.mean for column in kernel.numbers or ()]
            scale[numbers] = [column.sd or 1.0 for column in kernel.numbers or ()]
        Z = (X - shift) / scale
        caption = "P(normal | data) over the columns of X."
        if len(numbers) <= 2:
            columns = getattr(est, "feature_names_in_", range(p))
            unit = " (sd)" if isinstance(kernel, Tabular) else ""
            names = [f"column {columns[f]}{unit}" for f in numbers] + [""] * 2
            axes[range(len(numbers)), numbers] = 1.0
        else:
            pca = PCA(2, svd_solver="full").fit(Z[:, numbers])
            center[numbers], axes[:, numbers] = pca.mean_, pca.components_
            share = pca.explained_variance_ratio_
            names = [f"principal component {i + 1} ({share[i]:.0%})" for i in range(2)]
            caption = (
                "P(normal | data) on the plane of the first two principal components, through the "
                f"mean of the rows ({share.sum():.0%} of the variance). The rows are projected "
                "onto this plane: a row inside the boundary may lie far from the plane, and be "
                "abnormal."
            )
        if categorical:
            caption += " The plane has the most frequent category of each column of categories."
        xy = (Z - center) @ axes.T
        low, high = _limits(xy)
        outside = int(((xy < low) | (xy > high)).any(axis=1).sum())
        if outside:
            caption += f" Rows outside the picture, drawn on its edge: {outside}."
        xy = xy.clip(low, high)
        return cls(center, axes, shift, scale, low, high, xy, names[:2], caption)

    def project(self, rows: np.ndarray) -> np.ndarray:
        """Return the coordinates of rows on the plane as ``xy`` has them, (rows, 2)."""
        on_plane: np.ndarray = ((rows - self.shift) / self.scale - self.center) @ self.axes.T
        return on_plane.clip(self.low, self.high)

    @property
    def ticks(self) -> np.ndarray:
        """The two coordinates of the grid, (2, GRID)."""
        return np.linspace(self.low, self.high, GRID).T

    def grid(self) -> np.ndarray:
        """Return the points of the grid as rows, (GRID^2, p)."""
        on_plane = np.stack(np.meshgrid(*self.ticks), axis=-1).reshape(-1, 2)
        rows: np.ndarray = (self.center + on_plane @ self.axes) * self.scale + self.shift
        return rows


def _limits(xy: np.ndarray) -> np.ndarray:
    """Return the smallest and the largest coordinates of the picture, (2, 2).

    A few rows that lie far away would leave the others a corner of it.
    """
    low, high = np.quantile(xy, [0.05, 0.95], axis=0)
    width = np.where(high > low, high - low, np.inf)  # of equal rows none is far
    low = np.maximum(xy.min(axis=0), low - FAR * width)
    high = np.minimum(xy.max(axis=0), high + FAR * width)
    space = MARGIN * np.where(high > low, high - low, 1.0)
    return np.stack([low - space, high + space])


@dataclass(frozen=True, eq=False)
class View:
    """The numbers of one state of the explorer.

    Attributes
    ----------
    state : ExplorerState
    fit : Fitted
    point : ndarray of shape (1, p)
        The point z: the chosen row, or a new one.
    decision : Series
        The decision on the point z, a row of ``est.decision``.
    d, prior_d : ndarray of shape (draws,)
        d_z of the point z; draws of it from the prior, empty for an improper prior.
    why : Explanation
        Why the point z is normal or abnormal.
    p, score : ndarray of shape (GRID, GRID)
        P(normal), and the score, over the plane.
    weights : ndarray of shape (3, M)
        Posterior mean of each weight, and its 5 % and 95 % quantiles.
    support, prior_support : ndarray
        Draws of the effective number of support points; empty for an improper prior.
    counts : ndarray of shape (2, 2)
        Rows by class (majority, minority) and left-out decision (normal, abnormal).
    """

    state: ExplorerState
    fit: Fitted
    point: np.ndarray
    decision: pd.Series
    d: np.ndarray
    prior_d: np.ndarray
    why: Explanation
    p: np.ndarray
    score: np.ndarray
    weights: np.ndarray
    support: np.ndarray
    prior_support: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls, state: ExplorerState, fit: Fitted, grid: np.ndarray, previous: Self | None = None
    ) -> Self:
        """Return the numbers of a fit.

        Parameters
        ----------
        state : ExplorerState
        fit : Fitted
        grid : ndarray of shape (GRID^2, p)
            The rows of a plane.
        previous : View, optional
            If it has the same estimator, only the numbers of the point z are new.
        """
        est, data = fit.est, fit.est.fit_.data
        same = previous if previous is not None and previous.est is est else None
        if same is not None and (same.state.row, same.state.z) == (state.row, state.z):
            return replace(same, state=state)
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
            "decision": est.decision(named).iloc[0],
            "d": est.distance(named).values.ravel(),
            "prior_d": prior_d,
            "why": est.explain(named, top=3),
        }
        if same is not None:
            return replace(same, **of_point)
        on_plane, w = with_feature_names(est, grid), est.fit_.draws.weights
        classes = (~data.minority, data.minority)
        left_out: Any = est.fit_.left_out  # NaN is a row that cannot be left out
        return cls(
            **of_point,
            fit=fit,
            p=est.probability_normal(on_plane).reshape(GRID, GRID),
            score=est.score_samples(on_plane).reshape(GRID, GRID),
            weights=np.stack([w.mean(axis=0), *np.quantile(w, [0.05, 0.95], axis=0)]),
            support=effective_support(w),
            prior_support=prior_support,
            counts=np.array(
                [[(left_out[c] >= 0.0).sum(), (left_out[c] < 0.0).sum()] for c in classes]
            ),
        )

    @property
    def est(self) -> Bayesian:
        """The fitted estimator."""
        return self.fit.est

    @property
    def minority(self) -> np.ndarray:
        """Which training rows are minority, shape (n,)."""
        return self.est.fit_.data.minority

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
