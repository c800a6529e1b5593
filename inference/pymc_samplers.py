"""Samplers of libraries, on the PyMC model: NUTS by nutpie, random-walk Metropolis by PyMC."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import threads
from .draws import Draws, SamplerReport, SamplerSettings

if TYPE_CHECKING:
    import pymc as pm
    import xarray as xr

STATISTICS = ["diverging", "energy", "n_steps", "step_size"]
POLL = 0.05  # seconds between two checks for Ctrl-C


@threads.one()  # threads that share one product of K and a vector take longer than one alone
def nuts(model: pm.Model, settings: SamplerSettings, starts: np.ndarray | None = None) -> Draws:
    """Return draws by the No-U-Turn sampler.

    Parameters
    ----------
    model : pymc.Model
    settings : SamplerSettings
    starts : ndarray of shape (chains, n), optional
        Where the chains start, on the unconstrained scale. By default around PyMC's initial point.

    Raises
    ------
    RuntimeError
        nutpie failed.
    KeyboardInterrupt
        The run was interrupted.
    """
    import nutpie
    import xarray as xr

    compiled = nutpie.compile_pymc_model(model, var_names=[v.name for v in model.free_RVs])
    seeds = np.random.SeedSequence(settings.seed).generate_state(settings.chains)
    runs: list[Any] = []
    try:
        for chain, seed in enumerate(seeds):
            if starts is not None:  # nutpie does not say which chain asks for its start
                start = np.ascontiguousarray(starts[chain])
                compiled = replace(compiled, initial_point_func=lambda seed, start=start: start)
            run = nutpie.sample(
                compiled,
                draws=settings.draws,
                tune=settings.tune,
                chains=1,
                seed=int(seed),
                progress_bar=False,
                save_warmup=False,
                blocking=False,
            )
            runs.append(run)
        traces = [_result(run) for run in runs]
    except BaseException as error:
        for run in runs:
            run.cancel()
        if type(error).__name__ == "PanicException":  # of Rust; ``except Exception`` misses it
            raise RuntimeError(
                f"nutpie failed ({error}): the posterior may be improper, or its scales too "
                "far apart; use another prior, or sampler='metropolis'"
            ) from error
        raise

    def joined(group: str) -> xr.Dataset:
        return xr.concat([trace[group].dataset for trace in traces], "chain")

    statistics = joined("sample_stats")
    return Draws.of_trace(
        joined("posterior").assign_coords(chain=np.arange(settings.chains)),
        model,
        SamplerReport("nuts", library="nutpie"),
        {name: statistics[name].values for name in STATISTICS},
    )


def _result(run: Any) -> Any:
    """Return the result of a nutpie run, which Ctrl-C can interrupt."""
    while True:
        with suppress(TimeoutError):
            return run.wait(timeout=POLL)


def metropolis(model: pm.Model, settings: SamplerSettings) -> Draws:
    """Return draws by random-walk Metropolis, as published for BSVDD and BSVDD-M.

    Each chain starts at a draw of the prior, if the prior is proper.

    Raises
    ------
    KeyboardInterrupt
        The run was interrupted: PyMC returns a partial run, which is discarded.
    """
    import pymc as pm

    from .prior_density import draw

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
        progressbar=False,
        quiet=True,
        compute_convergence_checks=False,
    )
    posterior = trace.children["posterior"].dataset
    if (posterior.sizes["chain"], posterior.sizes["draw"]) != (settings.chains, settings.draws):
        raise KeyboardInterrupt
    return Draws.of_trace(posterior, model, SamplerReport("metropolis", library="pymc"), {})
