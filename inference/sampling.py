"""Draws of a model: independent, by the package's HMC, by PyMC, or by a function.

The density is written in NumPy too, because the compiled PyMC graph takes three times
as long. A test holds both equal for built-in models and priors; where a user wrote a
part, both are compared at each fit, and nutpie samples the graph where they differ.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import threads
from ..base.warning import DiagnosticWarning, warn
from ..models.priors import describe
from ..models.weights import Weights
from .density import Density, of_normals
from .draws import Draws, Variables
from .hmc import hmc

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

TUNE = {"auto": 100, "nuts": 500, "metropolis": 1000}  # of each sampler, by default
Sampler = str | Callable[["pm.Model"], "xr.DataTree"]


def draw(
    model: Weights,
    sampler: Sampler = "auto",
    draws: int = 500,
    tune: int | None = None,
    chains: int = 4,
    seed: int = 0,
) -> Draws:
    """Return draws of a model.

    Parameters
    ----------
    model : Weights
        A model of :mod:`bsvdd.models`.
    sampler : {"auto", "nuts", "metropolis"} or callable
        "auto" draws independently from a normal posterior, and else by HMC; "nuts" is
        nutpie, and "metropolis" is PyMC's random walk. A function takes the PyMC model,
        and returns a DataTree with the group posterior.
    draws, chains, seed : int
        As in ``pymc.sample``.
    tune : int, optional
        As in ``pymc.sample``; by default what the sampler needs (``TUNE``).

    Returns
    -------
    Draws

    Raises
    ------
    ValueError
        The sampler is unknown, or a function returns no draws of the model.

    Warns
    -----
    DiagnosticWarning
        A user's part of the model is not what the numbers beside the graph say, so
        "auto" takes nutpie.
    """
    if callable(sampler) and not isinstance(sampler, type):
        about = f"sampler {describe(sampler)}"
        try:
            inspect.signature(sampler).bind("model")
        except TypeError as error:
            raise ValueError(
                f"{about} must take the PyMC model and return the DataTree of its "
                f"draws ({error})"
            ) from error
        with threads.steps(f"draws by {about}"):
            tree = sampler(model.build())
        return of_tree(model, tree, "function", about)
    if sampler not in TUNE:
        raise ValueError(
            f"sampler must be one of {list(TUNE)}, or a function of the PyMC model, "
            f"got {sampler!r}"
        )
    f = None
    rng = np.random.default_rng(seed)
    if sampler == "auto":
        if model.normal_prior is not None and not model.is_own:
            w = by_value(model).draw(chains * draws, rng)
            name, dim = next(iter(model.dims.items()))
            found = Draws(model, w, chains, "exact", variables={name: ((dim,), w)})
            return by_row(found)
        f = density(model)
        sampler = sampler if f is not None else "nuts"
    tune = TUNE[sampler] if tune is None else tune
    if f is None:
        tree = by_pymc(model.build(), sampler, draws, tune, chains, seed)
        return of_tree(model, tree, sampler)
    z, stats = hmc(f, f.size, draws, tune, chains, rng)
    w, variables, coords = f.draws(z.reshape(-1, f.size))
    found = Draws(model, w, chains, "hmc", stats, "", variables, coords)
    return found if f.model is model else by_row(found)


def by_value(model: Weights) -> Weights:
    """Return the model with atoms in the order of values.

    So no draw depends on the order of the rows.
    """
    return replace(model, gram=model.gram.sorted)


def by_row(draws: Draws) -> Draws:
    """Return draws with atoms in the order of rows, of draws of :func:`by_value`."""
    gram = draws.dictionary
    of_majority, of_minority = np.split(gram.places, [gram.m])
    places = {"point": gram.places, "majority": of_majority}
    places["minority"] = of_minority - gram.m
    variables: Variables = {
        name: ((dim,), x[:, places[dim]])
        for name, ((dim,), x) in draws.variables.items()
    }
    return replace(draws, w=draws.w[:, gram.places], variables=variables)


def density(model: Weights) -> Density | None:
    """Return the density of a model; None, with a warning, where the graph differs."""
    found = of_normals(by_value(model))
    if found is not None:
        return found
    from .user_priors import OfPyMC  # PyTensor is slow to import

    with threads.steps("density of the prior"):
        own, difference = OfPyMC.of(model)
    if difference:
        warn(
            f"the PyMC model is another one than its numbers ({difference}), so the "
            "no-U-turn sampler samples it as it is, which takes longer; "
            "sampler='nuts' does so without this warning",
            DiagnosticWarning,
        )
    return own


def of_tree(model: Weights, tree: Any, sampler: str, about: str = "draws") -> Draws:
    """Return draws from a tree, a dataset or an array of weights."""
    from .own_draws import of_chains  # xarray is slow to import

    return of_chains(model, tree, sampler, about)


def by_pymc(
    built: pm.Model, sampler: str, draws: int, tune: int, chains: int, seed: int
) -> xr.DataTree:
    """Return the draws of nutpie, or of PyMC's Metropolis algorithm."""
    import pymc as pm

    task = f"{chains} chains of {tune} + {draws} draws by {sampler}"
    with built, threads.steps(task):
        how: dict[str, Any] = {"nuts_sampler": "nutpie"}
        if sampler == "metropolis":
            how = {"step": pm.Metropolis(), "cores": 1}
        return pm.sample(
            draws,
            tune=tune,
            chains=chains,
            random_seed=seed,
            progressbar=False,
            quiet=True,
            **how,
        )


class ImproperPriorError(ValueError):
    """A prior has no draws."""


def draw_prior(model: Weights, draws: int, seed: int) -> Draws:
    """Return draws of a model from the prior alone."""
    rng = np.random.default_rng(seed)
    f = of_normals(by_value(model))
    if f is not None:
        w, variables, _ = f.draws(rng.standard_normal((draws, f.size)))
        return by_row(Draws(model, w, variables=variables))
    from .user_priors import draws_of_prior

    try:
        w, variables, coords = draws_of_prior(model, draws, rng)
    except NotImplementedError as error:
        raise ImproperPriorError(
            "the prior is improper, as pm.Flat is, so it has no draws"
        ) from error
    return Draws(model, w, variables=variables, coords=coords)
