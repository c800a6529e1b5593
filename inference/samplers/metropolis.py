"""Random-walk Metropolis by PyMC, the sampler of BSVDD and BSVDD-M as published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..draws import Draws, SamplerReport, SamplerSettings
from ..threads import checkpoint

if TYPE_CHECKING:
    import pymc as pm


def sample(model: pm.Model, settings: SamplerSettings) -> Draws:
    """Return draws of ``model``, each chain from a draw of its prior, if the prior is proper.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted: PyMC returns a partial run, which is discarded.
    """
    import pymc as pm

    from ..prior_density import draw

    names = [v.name for v in model.free_RVs]
    try:
        starts = draw(model, names, settings.chains, settings.seed)
        initvals = [{n: v[chain] for n, v in starts.items()} for chain in range(settings.chains)]
    except NotImplementedError:
        initvals = None
    trace = pm.sample(
        draws=settings.draws,
        tune=settings.tune,
        chains=settings.chains,
        cores=1,  # chains in one process: a fork of a process with threads can hang
        step=pm.Metropolis(model=model),
        initvals=initvals,
        model=model,
        var_names=names,
        random_seed=settings.seed,
        progressbar=settings.progressbar,
        quiet=not settings.progressbar,
        compute_convergence_checks=False,
        callback=lambda **_: checkpoint(),  # called after each draw
    )
    posterior = trace.children["posterior"].dataset
    if (posterior.sizes["chain"], posterior.sizes["draw"]) != (settings.chains, settings.draws):
        raise KeyboardInterrupt
    return Draws.of_trace(posterior, model, SamplerReport("metropolis", library="pymc"), {})
