"""Random-walk Metropolis by PyMC, the sampler of BSVDD and BSVDD-M as published."""

from __future__ import annotations

import numpy as np

from ..cancellation import checkpoint
from ..draws import Draws, SamplerReport, SamplerSettings
from ..log_density import LogDensity


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
    import pymc as pm

    model, chains = density.model, settings.chains
    named = density.named(starts)
    trace = pm.sample(
        draws=settings.draws,
        tune=settings.tune,
        chains=chains,
        cores=1,  # chains in one process: a fork of a process with threads can hang
        step=pm.Metropolis(model=model),
        initvals=[{name: named[name][chain] for name in density.free} for chain in range(chains)],
        model=model,
        random_seed=settings.seed,
        progressbar=settings.progressbar,
        quiet=not settings.progressbar,
        compute_convergence_checks=False,
        callback=lambda **_: checkpoint(),  # called after each draw
    )
    sizes = trace.children["posterior"].sizes
    if (sizes["chain"], sizes["draw"]) != (chains, settings.draws):
        raise KeyboardInterrupt
    names = [v.name for v in [*model.free_RVs, *model.deterministics]]
    variables = {name: trace["posterior"][name].values for name in names}
    report = SamplerReport("metropolis", library="pymc", products=np.nan)
    return Draws.of_model(variables, model, report, {})
