"""The No-U-Turn sampler, by nutpie, on the PyMC model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from .. import threads
from ..draws import Draws, SamplerReport, SamplerSettings

if TYPE_CHECKING:
    import pymc as pm

STATISTICS = ["diverging", "energy", "n_steps", "step_size"]
POLL = 0.05  # seconds between two checks whether the computation was superseded


@threads.one()  # threads that share one product of K and a vector take longer than one alone
def sample(model: pm.Model, settings: SamplerSettings, starts: np.ndarray | None = None) -> Draws:
    """Return draws of ``model``.

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

    threads.checkpoint()
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
                progress_bar=settings.progressbar,
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
    """Return the result of a nutpie run; stop if a newer request supersedes it."""
    while threads.stoppable():
        try:
            return run.wait(timeout=POLL)
        except TimeoutError:
            threads.checkpoint()
    return run.wait()
