"""The plane on which the explorer shows the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy

from ..estimators.bayesian import Bayesian
from ..models.kernels import Tabular

GRID = 44  # points of the grid along each axis
MARGIN = 0.22  # space around the rows, as a share of their range
COMPONENT = "principal component"
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
    xy : ndarray of shape (n, 2)
        The rows, projected onto the plane.
    names : tuple of str
        Names of the two axes.
    share : float
        Share of the rows' variance that lies in the plane.
    has_categories : bool
        Whether there are columns of categories.
    """

    center: np.ndarray
    axes: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    xy: np.ndarray
    names: tuple[str, str]
    share: float
    has_categories: bool

    @classmethod
    def of(cls, est: Bayesian) -> Self:
        """Return the plane of the training rows of ``est``, in the units of its kernel."""
        X, kernel = est.fit_.data.rows, est.kernel_
        p, categorical = X.shape[1], list(kernel.categorical_columns)
        of_numbers = np.delete(np.arange(p), categorical)
        shift, scale, axes = np.zeros(p), np.ones(p), np.zeros((2, p))
        shift[categorical] = scipy.stats.mode(X[:, categorical]).mode
        if isinstance(kernel, Tabular):
            shift[of_numbers] = [column.mean for column in kernel.numbers or ()]
            scale[of_numbers] = [column.sd or 1.0 for column in kernel.numbers or ()]
        Z = (X - shift) / scale
        center = Z.mean(axis=0)
        center[categorical] = 0.0
        if len(of_numbers) <= 2:
            columns = [str(c) for c in getattr(est, "feature_names_in_", range(p))]
            unit = " (sd)" if isinstance(kernel, Tabular) else ""
            names = [f"column {columns[f]}{unit}" for f in of_numbers] + [""] * 2
            axes[range(len(of_numbers)), of_numbers] = 1.0
            center[:], share = 0.0, 1.0
        else:
            _, length, directions = np.linalg.svd((Z - center)[:, of_numbers], full_matrices=False)
            directions = directions[:2]
            largest = np.abs(directions).argmax(axis=1)  # the SVD leaves signs open
            axes[:, of_numbers] = directions * np.sign(directions[[0, 1], largest])[:, None]
            variance = length**2 / max(float((length**2).sum()), np.finfo(float).tiny)
            names = [f"{COMPONENT} {i + 1} ({variance[i]:.0%})" for i in range(2)]
            share = float(variance[:2].sum())
        xy = (Z - center) @ axes.T
        has_categories = bool(categorical)
        return cls(center, axes, shift, scale, xy, (names[0], names[1]), share, has_categories)

    @property
    def caption(self) -> str:
        """How to read the plane."""
        if not self.names[0].startswith(COMPONENT):
            return "P(normal | data) over the columns of X." + self._rest
        return (
            "P(normal | data) on the plane of the first two principal components, through the "
            f"mean of the rows ({self.share:.0%} of the variance). The rows are projected onto "
            "this plane: a row inside the boundary may lie far from the plane, and be abnormal."
            + self._rest
        )

    @property
    def _rest(self) -> str:
        outside = int((self.shown_xy != self.xy).any(axis=1).sum())
        categories = " The plane has the most frequent category of each column of categories."
        return categories * self.has_categories + (
            f" Rows outside the picture, drawn on its edge: {outside}." * bool(outside)
        )

    @property
    def _limits(self) -> np.ndarray:
        """The smallest and the largest coordinates of the picture, (2, 2).

        A few rows that lie far away would leave the others a corner of it.
        """
        low, high = np.quantile(self.xy, [0.05, 0.95], axis=0)
        width = np.where(high > low, high - low, np.inf)  # of equal rows none is far
        low = np.maximum(self.xy.min(axis=0), low - FAR * width)
        high = np.minimum(self.xy.max(axis=0), high + FAR * width)
        space = MARGIN * np.where(high > low, high - low, 1.0)
        return np.stack([low - space, high + space])

    @property
    def shown_xy(self) -> np.ndarray:
        """The rows where the picture has them: those outside are on its edge."""
        return self.xy.clip(*self._limits)

    def project(self, rows: np.ndarray) -> np.ndarray:
        """Return the coordinates of rows on the plane, (rows, 2)."""
        on_plane: np.ndarray = ((rows - self.shift) / self.scale - self.center) @ self.axes.T
        return on_plane

    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the two coordinates of the grid, and its points as rows (GRID^2, p)."""
        low, high = self._limits
        x1, x2 = np.linspace(low, high, GRID).T
        on_plane = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
        return x1, x2, (self.center + on_plane @ self.axes) * self.scale + self.shift
