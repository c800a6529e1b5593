"""Draws of the weights of a model: independent, by the package's HMC, or by PyMC and nutpie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..base import threads
from ..models.priors import Pull
from .hmc import hmc

TUNE = {"auto": 100, "nuts": 500, "metropolis": 1000}  # of each sampler, by default


class Model(Protocol):
    """What samplers ask of a model."""

    @property
    def variables(self) -> dict[str, tuple[Any, int]]:
        """The prior and the number of values of each variable."""

    def build(self) -> Any:
        """Return the PyMC model."""

    def weights(self, *values: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""

    def value_and_gradient(
        self, *values: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return log L (S,) and its gradients."""


@dataclass(frozen=True, eq=False)
class OfNormals:
    """A model whose variables are maps of standard normals z (S, n), as a density N(z) e^f(z)."""

    model: Model

    @property
    def size(self) -> int:
        """The number of values of z."""
        return sum(n for _, n in self.model.variables.values())

    def values(self, z: np.ndarray) -> tuple[list[np.ndarray], list[Pull]]:
        """Return the values of each variable, and the pull of a gradient by each."""
        start = 0
        found = []
        for prior, n in self.model.variables.values():
            found.append(prior.of_normal(z[:, start : start + n]))
            start += n
        return [x for x, _ in found], [pull for _, pull in found]

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""
        return self.model.weights(*self.values(z)[0])

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (S,) of z (S, n), and its gradient (S, n)."""
        values, pulls = self.values(z)
        value, gradients = self.model.value_and_gradient(*values)
        parts = [pull(g) for pull, g in zip(pulls, gradients, strict=True)]
        return value, parts[0] if len(parts) == 1 else np.hstack(parts)


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the weights.

    Attributes
    ----------
    w : ndarray of shape (chains, draws, M)
    stats : dict of str to ndarray
        What the sampler says of each draw, (chains, draws) each.
    sampler : str
        "exact", "hmc", "nuts", "metropolis", or "own" for draws from elsewhere.
    """

    w: np.ndarray
    stats: dict[str, np.ndarray]
    sampler: str = "own"


def draw(
    model: Model,
    sampler: str = "auto",
    draws: int = 500,
    tune: int | None = None,
    chains: int = 4,
    seed: int = 0,
) -> Draws:
    """Return draws of the weights.

    Parameters
    ----------
    model : model of :mod:`bsvdd.models`
    sampler : {"auto", "nuts", "metropolis"}
        "auto" draws independently from a normal posterior, and else by HMC; "nuts" is
        nutpie, and "metropolis" is PyMC's random walk.
    draws, tune, chains, seed : int
        As in ``pymc.sample``; ``tune=None`` is what the sampler needs (``TUNE``).

    Raises
    ------
    ValueError
        The sampler is unknown.
    """
    if sampler not in TUNE:
        raise ValueError(f"sampler must be one of {list(TUNE)}, got {sampler!r}")
    tune = TUNE[sampler] if tune is None else tune
    if sampler != "auto":
        return by_pymc(model.build(), sampler, draws, tune, chains, seed)
    rng = np.random.default_rng(seed)
    if getattr(model, "normal_prior", None) is not None:
        return Draws(
            model.draw(chains * draws, rng).reshape(chains, draws, -1), {}, "exact"
        )  # type: ignore[attr-defined]
    f = density(model)
    z, rate = hmc(f, f.size, draws, tune, chains, rng)
    return Draws(
        np.stack([f.weights(chain) for chain in z]), {"acceptance_rate": rate}, "hmc"
    )


def density(model: Model) -> Any:
    """Return the density that HMC walks on."""
    if all(hasattr(prior, "of_normal") for prior, _ in model.variables.values()):
        return OfNormals(model)
    from .user_priors import OfPyMC  # PyTensor is slow to import

    with threads.steps("density of the prior"):
        return OfPyMC.of(model)


def by_pymc(
    built: Any, sampler: str, draws: int, tune: int, chains: int, seed: int
) -> Draws:
    """Return the draws of nutpie, or of PyMC's Metropolis algorithm."""
    import pymc as pm

    with (
        built,
        threads.steps(f"{chains} chains of {tune} + {draws} draws by {sampler}"),
    ):
        how: dict[str, Any] = {"nuts_sampler": "nutpie"}
        if sampler == "metropolis":
            how = {"step": pm.Metropolis(), "cores": 1}
        found = pm.sample(
            draws,
            tune=tune,
            chains=chains,
            random_seed=seed,
            progressbar=False,
            quiet=True,
            **how,
        )
    stats = found["sample_stats"]
    return Draws(
        found["posterior"]["w"].to_numpy(),
        {
            str(name): stats[name].to_numpy()
            for name in stats.data_vars
            if stats[name].ndim == 2
        },
        sampler,
    )


class ImproperPriorError(ValueError):
    """A prior has no draws."""


def of_prior(model: Model, draws: int, seed: int) -> np.ndarray:
    """Return draws of the weights from the prior alone, (draws, M)."""
    rng = np.random.default_rng(seed)
    if all(hasattr(prior, "of_normal") for prior, _ in model.variables.values()):
        f = OfNormals(model)
        return f.weights(rng.standard_normal((draws, f.size)))
    import pymc as pm

    from .user_priors import MODE

    try:
        w = pm.draw(model.build()["w"], draws, random_seed=rng, mode=MODE)
    except NotImplementedError as error:
        raise ImproperPriorError(
            "the prior is improper, as pm.Flat is, so it has no draws"
        ) from error
    return np.asarray(w).reshape(draws, -1)
