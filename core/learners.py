"""What learns: the posterior of a model of the weights, and the ball of SVDD."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .calibrate import Calibrated, calibrated
from .centre import Centre
from .data import Data
from .fit import Learned
from .models import svdd
from .models.bdd import BDD
from .sampling import Draws, Model, draw

CALIBRATED = "calibrated"


def centre_of(data: Data, w: np.ndarray) -> Centre:
    """Return the centre of weights (S, M)."""
    K = data.gram.K
    return Centre(w, data.gram.n1, None if data.kernel.normalized else np.vecdot(w @ K, w))


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the posterior of a model.

    Attributes
    ----------
    Model : class of :mod:`bsvdd.core.models`
    priors : tuple
    likelihood_scale : float or "calibrated"
    how : dict
        Arguments of :func:`bsvdd.core.sampling.draw`.
    """

    Model: type
    priors: tuple[Any, ...]
    likelihood_scale: float | str = CALIBRATED
    how: dict[str, Any] = field(default_factory=dict)

    def scale(self, data: Data) -> Calibrated:
        """Return lambda."""
        if isinstance(self.likelihood_scale, str):
            return calibrated(data, self.Model.on_simplex)  # type: ignore[attr-defined]
        return Calibrated(float(self.likelihood_scale))

    def model(self, data: Data, scale: float) -> Any:
        """Return the model of the data."""
        return self.Model(data.gram, *self.priors, scale)

    def learn(self, data: Data, scale: float) -> Learned:
        """Return draws of the posterior."""
        model: Model = self.model(data, scale)
        return of_draws(data, draw(model, **self.how))


def of_draws(data: Data, draws: Draws) -> Learned:
    """Return what draws say."""
    w = draws.w.reshape(-1, draws.w.shape[-1])
    return Learned(centre_of(data, w), len(draws.w), stats=draws.stats)


def mode_on_simplex(data: Data, prior: Any, scale: float) -> Learned:
    """Return the mode of BDD on the simplex, one set of weights."""
    return Learned(centre_of(data, BDD(data.gram, prior, scale).simplex_mode()[None]))


@dataclass(frozen=True)
class Ball:
    """SVDD, by costs or shares of rows on the wrong side."""

    C: float | None = None
    outlier_fraction: float = 0.1
    C2: float | None = None
    minority_fraction: float = 0.1

    def learn(self, data: Data) -> Learned:
        """Return the ball, and its weights without what leaves with each answer."""
        gram = data.gram
        n1 = float(gram.minority_weights.sum())
        C1 = 1.0 / (gram.n0 * self.outlier_fraction) if self.C is None else self.C
        C2 = 1.0 / (n1 * self.minority_fraction) if self.C2 is None and n1 else self.C2
        sphere = svdd.solve(gram, C1, C2)
        return Learned(
            centre_of(data, sphere.weights[None]),
            left_out=without(sphere, data.rows.gone),
            radius=sphere.boundary,
        )


def without(sphere: svdd.Sphere, gone: sparse.csr_array) -> np.ndarray:
    """Return the weights (a, M) when shares of the points ``gone`` (a, M) leave.

    One point leaves by the inverse of a fit to all; without several it is fitted anew.
    """
    number = np.diff(gone.indptr)
    found, one, many = np.tile(sphere.weights, (gone.shape[0], 1)), number == 1, number > 1
    found[one] = sphere.without(gone[one].indices, gone[one].data)
    several, same = np.unique(gone[many].toarray(), axis=0, return_inverse=True)
    if len(several):
        fits = np.array([sphere.without_shares(each) for each in several])
        found[many] = fits[same.reshape(-1)]
    return found
