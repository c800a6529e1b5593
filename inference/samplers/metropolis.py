"""Random-walk Metropolis by PyMC, the sampler of BSVDD and BSVDD-M as published."""

from __future__ import annotations

from typing import Self

import numpy as np
import pymc as pm
from pymc.backends import NDArray

from ..cancellation import checkpoint
from ..compiled import NUMPY, numba_mode
from ..draws import Draws, SamplerReport, SamplerSettings
from ..log_density import LogDensity


class Trace(NDArray):
    """The draws of a chain, whose named quantities are computed in NumPy.

    That is once a draw. PyMC's own trace has them compiled by numba, which takes a minute.
    """

    @classmethod
    def of(cls, model: pm.Model) -> Self:
        """Return an empty trace of ``model``."""
        function = model.compile_fn(
            model.unobserved_value_vars,
            inputs=model.value_vars,
            point_fn=False,
            mode=NUMPY,
            on_unused_input="ignore",
        )
        return cls(model=model, fn=function)

    def __copy__(self) -> Self:
        """Return an empty trace for one chain: PyMC copies the trace for each."""
        return type(self)(model=self.model, fn=self.fn)


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
        trace=Trace.of(model),
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
