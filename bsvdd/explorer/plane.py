"""The plane on which the explorer shows the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from ..estimators.bayesian import Bayesian
from ..models.kernels import Standardized

GRID = 44  # points of the grid along each axis
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
        Of the standardized columns, or 0 and 1.
    xy : ndarray of shape (n, 2)
        The rows, projected onto the plane.
    names : tuple of str
        Names of the two axes.
    share : float
        Share of the rows' variance that lies in the plane.
    """

    center: np.ndarray
    axes: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    xy: np.ndarray
    names: tuple[str, str]
    share: float

    @classmethod
    def of(cls, est: Bayesian) -> Self:
        """Return the plane of the training rows of ``est``, in the units of its kernel."""
        X, kernel = est.fit_.data.rows, est.kernel_
        p = X.shape[1]
        shift, scale = np.zeros(p), np.ones(p)
        if isinstance(kernel, Standardized):
            shift, scale = np.array(kernel.mean), np.array(kernel.scale)
        Z = (X - shift) / scale
        if p <= 2:
            columns = [str(c) for c in getattr(est, "feature_names_in_", range(p))]
            unit = " (sd)" if isinstance(kernel, Standardized) else ""
            names = [f"column {c}{unit}" for c in columns] + [""] * (2 - p)
            axes = np.eye(2, p)
            return cls(np.zeros(p), axes, shift, scale, Z @ axes.T, (names[0], names[1]), 1.0)
        center = Z.mean(axis=0)
        _, length, directions = np.linalg.svd(Z - center, full_matrices=False)
        axes = directions[:2]
        largest = np.abs(axes).argmax(axis=1)
        axes = axes * np.sign(axes[np.arange(2), largest])[:, None]  # the SVD leaves signs open
        variance = length**2 / max(float((length**2).sum()), np.finfo(float).tiny)
        first, second = (f"principal component {i + 1} ({variance[i]:.0%})" for i in range(2))
        share = float(variance[:2].sum())
        return cls(center, axes, shift, scale, (Z - center) @ axes.T, (first, second), share)

    @property
    def caption(self) -> str:
        """How to read the plane."""
        if len(self.center) <= 2:
            return "P(normal | data) over the columns of X." + self._outside
        return (
            "P(normal | data) on the plane of the first two principal components, through the "
            f"mean of the rows ({self.share:.0%} of the variance). The rows are projected onto "
            "this plane: a row inside the boundary may lie far from the plane, and be abnormal."
            + self._outside
        )

    @property
    def _outside(self) -> str:
        outside = int((self.shown_xy != self.xy).any(axis=1).sum())
        return f" Rows outside the picture, drawn on its edge: {outside}." * bool(outside)

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
