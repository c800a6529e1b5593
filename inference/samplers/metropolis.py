"""Random-walk Metropolis by PyMC, the sampler of BSVDD and BSVDD-M as published."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import pymc as pm
from pymc.backends import NDArray

from ..cancellation import checkpoint
from ..compiled import numba_mode
from ..draws import Draws, SamplerReport, SamplerSettings
from ..log_density import LogDensity


class Parameters(NDArray):
    """The unconstrained parameters of a chain's draws.

    PyMC's own trace has all named quantities too, by a function that numba compiles for 20 s.
    """

    @classmethod
    def of(cls, model: pm.Model) -> Self:
        """Return an empty trace of ``model``."""

        def values(*parameters: Any, **initial_point: Any) -> list[Any]:
            return list(parameters) or [initial_point[v.name] for v in model.value_vars]

        return cls(model=model, vars=model.value_vars, fn=values)

    def __copy__(self) -> Self:
        """Return an empty trace: PyMC copies the given one for each chain."""
        return self.of(self.model)


def sample(density: LogDensity, starts: np.ndarray, settings: SamplerSettings) -> Draws:
    """Return draws of the model of ``density``.

    Parameters
    ----------
    density : LogDensity
    starts : ndarray of shape (chains, size)
        Where the chains start, on the unconstrained scale.
    settings : SamplerSettings

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted: PyMC returns a partial run, which is discarded.
    """
    model, chains = density.model, settings.chains
    named = density.named(starts)
    trace = pm.sample(
        draws=settings.draws,
        tune=settings.tune,
        chains=chains,
        cores=1,  # chains in one process: a fork of a process with threads can hang
        step=pm.Metropolis(model=model, compile_kwargs={"mode": numba_mode()}),
        initvals=[{name: named[name][chain] for name in density.free} for chain in range(chains)],
        model=model,
        trace=Parameters.of(model),
        idata_kwargs={"include_transformed": True},
        random_seed=settings.seed,
        progressbar=settings.progressbar,
        quiet=not settings.progressbar,
        compute_convergence_checks=False,
        callback=lambda **_: checkpoint(),  # called after each draw
    )
    posterior = trace.children["posterior"].dataset
    shape = chains, settings.draws
    if (posterior.sizes["chain"], posterior.sizes["draw"]) != shape:
        raise KeyboardInterrupt
    parts = [posterior[v.name].values.reshape(math.prod(shape), -1) for v in model.value_vars]
    quantities = density.named(np.concatenate(parts, axis=1))
    variables = {name: v.reshape(*shape, *v.shape[1:]) for name, v in quantities.items()}
    report = SamplerReport("metropolis", library="pymc", products=np.nan)
    return Draws.of_model(variables, model, report, {})
