"""What is learned from training data: a score of rows, and how rows leave it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol, Self, override

import numpy as np

from ..models.gram import Gram
from ..models.model import CALIBRATED, Model
from ..models.potential import KernelLikelihood, Likelihood
from ..models.priors.base import describe
from . import sampling
from .center import Center
from .density import Density
from .draws import OWN, Draws, SamplerSettings
from .leave import Rescaled
from .warning import DiagnosticWarning, warn

MAX_DRAWN = 10**9  # values in an array of draws: 8 GB
MOST_FOLDS = 5  # refitted for the cutoff, if no row can leave in closed form


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned from training data; it never changes.

    Attributes
    ----------
    score : Center
        Without a boundary.
    draws : Draws
        Of the weights: of their posterior, or one estimate.
    leave : Rescaled or None
        How rows leave in closed form; None: only refitted folds leave rows out.
    own : float or None
        The boundary of the model itself, as a value of the score.
    density : Density or None
        Of the posterior that was sampled; its prior has draws.
    solution : object
        Of a solver.
    diagnostics : dict of float
        Of a solver.
    tolerance : float
        By how much a solver may miss a value of the score.
    """

    score: Center
    draws: Draws
    leave: Rescaled | None = None
    own: float | None = None
    density: Density | None = None
    solution: Any = None
    diagnostics: Mapping[str, float] = field(default_factory=dict)
    tolerance: float = 0.0

    @property
    def posterior(self) -> Draws | None:
        """The draws of a posterior, or None if there is none."""
        return self.draws if self.draws.is_posterior else None

    @property
    def is_own(self) -> bool:
        """Whether a user made the draws."""
        return self.draws.report.sampler == OWN

    @property
    def closed_form(self) -> bool:
        """Whether training rows can be left out without a refit."""
        return self.leave is not None


class Data(Protocol):
    """What a learner needs of training data."""

    @property
    def gram(self) -> Gram: ...  # noqa: D102

    @property
    def rows(self) -> np.ndarray: ...  # noqa: D102

    @property
    def seed(self) -> int: ...  # noqa: D102

    @property
    def rows_beside_points(self) -> np.ndarray | None: ...  # noqa: D102


class Learner:
    """A model with all that it needs to learn; a frozen value, the base class of all learners.

    Attributes
    ----------
    folds : int
        The most folds that are refitted for the cutoff, if no row can leave in closed form.
    has_own : bool
        Whether the model has a boundary of its own.
    """

    folds: ClassVar[int] = MOST_FOLDS
    has_own: ClassVar[bool] = False

    @property
    def closed_form(self) -> bool:
        """Whether rows can leave in closed form."""
        return False

    def learn(self, data: Any) -> Learned:
        """Return what is learned from training data."""
        raise NotImplementedError

    def learned(self, draws: Draws, data: Any) -> Learned:
        """Return what draws of the weights say that were made before."""
        raise NotImplementedError

    def resolved(self, data: Any) -> Self:
        """Return the learner with its numbers, such as a calibrated lambda, for training data."""
        return self

    def warn_of(self, learned: Learned) -> None:
        """Warn if what was learned has no meaning."""

    def likelihood(self, gram: Gram) -> Likelihood:
        """Return the likelihood of the weights in numbers."""
        return KernelLikelihood()

    @property
    def attrs(self) -> dict[str, Any]:
        """What a DataTree says of the model beside its draws."""
        return {}


@dataclass(frozen=True)
class Posterior(Learner):
    """A Bayesian model, and the settings of its sampler.

    Attributes
    ----------
    model : Model
    settings : SamplerSettings
        Its seed is that of the training data.
    """

    model: Model
    settings: SamplerSettings = SamplerSettings()

    @property
    @override
    def closed_form(self) -> bool:
        """Always: the other weights of a draw are rescaled."""
        return True

    @override
    def resolved(self, data: Data) -> Self:
        model, reason = self.model.resolved(data.gram, data.rows_beside_points)
        if reason is not None:
            warn(
                f"likelihood_scale='calibrated': {reason}, so lambda is {model.scale:.3g}, and "
                "intervals of d_z need not have the width that samples of this size have; to "
                "choose it yourself, give a number, such as likelihood_scale=1",
                DiagnosticWarning,
            )
        return replace(self, model=model)

    @override
    def learn(self, data: Data) -> Learned:
        self.check_size(data)
        density = Density(self.model, data.gram)
        draws = sampling.draw(density, replace(self.settings, seed=data.seed))
        return self.learned(draws, data, density)

    @override
    def learned(self, draws: Draws, data: Data, density: Density | None = None) -> Learned:
        norm = draws.flat("squared_norm") if "squared_norm" in draws.variables else None
        return Learned(
            Center(draws.weights, data.gram, norm, nonnegative=self.model.nonnegative),
            draws,
            Rescaled(self.model.sums_to_one),
            density=density or Density(self.model, data.gram),
        )

    def check_size(self, data: Data) -> None:
        """Raise a ValueError if draws of the weights or distances would fill the memory."""
        n, settings = max(data.gram.n_points, len(data.rows)), self.settings
        values = settings.chains * max(settings.draws, settings.tune) * n
        if values > MAX_DRAWN:
            raise ValueError(
                f"draws={settings.draws}, tune={settings.tune} and chains={settings.chains} make "
                f"{values:.3g} values for {n} points or rows, {8e-9 * values:.3g} GB, and up to "
                f"{MAX_DRAWN:.0e} are accepted; use fewer draws, or a dictionary"
            )

    def with_scale(self, scale: float) -> Self:
        """Return the learner with a lambda that is known."""
        calibrated = self.model.likelihood_scale == CALIBRATED
        model = replace(self.model, likelihood_scale=scale, is_calibrated=calibrated)
        return replace(self, model=model)

    def with_prior(self, **priors: Any) -> Self:
        """Return the learner of the same model with other priors, by the names of its fields."""
        return replace(self, model=replace(self.model, **priors))

    @override
    def likelihood(self, gram: Gram) -> Likelihood:
        return self.model.likelihood(gram)

    @property
    @override
    def attrs(self) -> dict[str, Any]:
        priors = {name: describe(prior) for name, prior in self.model.priors.items()}
        return {"likelihood_scale": self.model.scale, **priors}
