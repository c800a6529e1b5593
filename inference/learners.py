"""What learns: the posterior of a model of the weights, and the ball of SVDD."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from ..models import svdd
from ..models.calibrate import Calibrated, calibrated
from ..models.data import Data
from ..models.gram import Gram
from .centre import Centre
from .fit import Learned
from .sampling import Draws, draw

CALIBRATED = "calibrated"


def centre_of(data: Data, w: np.ndarray) -> Centre:
    """Return the centre of weights (S, M)."""
    norm = None if data.kernel.normalized else data.gram.squared_norm(w)
    return Centre(w, data.gram.n1, norm)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the posterior of a model.

    Attributes
    ----------
    Model : class of :mod:`bsvdd.models`
    priors : tuple
    likelihood_scale : float or "calibrated"
    how : dict
        Arguments of :func:`bsvdd.inference.sampling.draw`.
    mode : str
        The method of the model that returns a mode in place of draws; empty for draws.
    """

    Model: type
    priors: tuple[Any, ...]
    likelihood_scale: float | str = CALIBRATED
    how: dict[str, Any] = field(default_factory=dict)
    mode: str = ""

    def scale(self, data: Data) -> Calibrated:
        """Return lambda."""
        if isinstance(self.likelihood_scale, str):
            return calibrated(data, self.Model.on_simplex)  # type: ignore[attr-defined]
        return Calibrated(float(self.likelihood_scale))

    def model(self, data: Data, scale: float) -> Any:
        """Return the model of the data."""
        return self.Model(data.gram, *self.priors, scale)

    def learn(self, data: Data, scale: Calibrated | None = None) -> Learned:
        """Return draws of the posterior, with lambda if it is known."""
        scale = self.scale(data) if scale is None else scale
        model = self.model(data, scale.scale)
        if self.mode:
            return Learned(
                centre_of(data, getattr(model, self.mode)()[None]), scale=scale
            )
        return of_draws(data, draw(model, **self.how), scale)


def of_draws(data: Data, draws: Draws, scale: Calibrated | None) -> Learned:
    """Return what draws say."""
    w = draws.w.reshape(-1, draws.w.shape[-1])
    how: dict[str, Any] = {
        "scale": scale,
        "sampler": draws.sampler,
        "stats": draws.stats,
    }
    return Learned(centre_of(data, w), len(draws.w), **how)


@dataclass(frozen=True)
class Ball:
    """SVDD, by costs or shares of rows on the wrong side."""

    C: float | None = None
    outlier_fraction: float = 0.1
    C2: float | None = None
    minority_fraction: float = 0.1

    def solve(self, gram: Gram) -> svdd.Sphere:
        """Return the solution."""
        n1 = float(gram.minority_weights.sum())
        C1 = 1.0 / (gram.n0 * self.outlier_fraction) if self.C is None else self.C
        C2 = 1.0 / (n1 * self.minority_fraction) if self.C2 is None and n1 else self.C2
        return svdd.solve(gram, C1, C2)

    def learn(self, data: Data, scale: Calibrated | None = None) -> Learned:
        """Return the ball, and its weights without what leaves with each answer."""
        sphere = self.solve(data.gram)
        return Learned(
            centre_of(data, sphere.weights[None]),
            left_out=np.vstack([without(sphere, data.rows.gone), sphere.weights]),
            radius=sphere.boundary,
        )


def without(sphere: svdd.Sphere, gone: sparse.csr_array) -> np.ndarray:
    """Return the weights (a, M) when shares of the points ``gone`` (a, M) leave.

    One point leaves by the inverse of a fit to all; without several it is fitted anew.
    """
    number = np.diff(gone.indptr)
    found = np.tile(sphere.weights, (gone.shape[0], 1))
    one = number == 1
    many = number > 1
    found[one] = sphere.without(gone[one].indices, gone[one].data)
    several, same = np.unique(gone[many].toarray(), axis=0, return_inverse=True)
    if len(several):
        fits = np.array([sphere.without_shares(each) for each in several])
        found[many] = fits[same.reshape(-1)]
    return found
