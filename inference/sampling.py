"""Draws of the weights from a PyMC model, by the sampler that suits its posterior.

- ``hmc``: Hamiltonian Monte Carlo with parallel chains, on the density in numbers
  (:mod:`.density`, :mod:`.hmc`);
- ``nuts``: the No-U-Turn sampler, by nutpie on the PyMC model (:mod:`.pymc_samplers`);
- ``metropolis``: random-walk Metropolis, as published for BSVDD and BSVDD-M.

``auto`` is ``hmc``, and ``nuts`` where the model has no density in numbers. The draws are judged by
R-hat and effective sample size of d_z of some points, and by their divergences
(:class:`.diagnostics.Verdict`). Where they are not safe, ``auto`` starts again with a longer
warm-up, and then in the coordinates of the mode; the fit warns if no run is safe. Chains start
dispersed, so several modes show in R-hat.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..models.gram import Gram
from ..models.model import Model
from ..models.potential import NoDensityError
from . import threads
from .coordinates import has_mode
from .density import Density, PackagePrior, as_draws, log_prior
from .diagnostics import Verdict
from .draws import Draws, SamplerReport, SamplerSettings

if TYPE_CHECKING:
    import xarray as xr

    from .hmc import Info, State, Transition

SAMPLERS = ["auto", "hmc", "nuts", "metropolis"]
PARALLEL = 8  # chains of ``hmc``
MIN_DRAWS = 2000  # of ``hmc``, for the verdict; of more than are asked for, a part is kept
MIN_WARM_UP = 48  # trajectories
TUNE_DRAWS = 10  # that are asked for, for each trajectory of the warm-up
LONGER = 4  # times as many trajectories of the warm-up, where the draws are not safe
MOST_THIN = 4  # trajectories for a draw, in chains that are continued until their draws are safe


def sample(
    model: Model,
    gram: Gram,
    sampler: str,
    draws: int,
    tune: int,
    chains: int,
    seed: int | None = None,
) -> xr.DataTree:
    """Sample a model for Gram statistics.

    Parameters
    ----------
    model : Model
    gram : Gram
    sampler : {"auto", "hmc", "nuts", "metropolis"}
    draws, tune, chains : int
    seed : int, optional

    Returns
    -------
    xarray.DataTree
        Groups ``posterior``, ``log_prior`` and ``sample_stats``; ``posterior.attrs`` has the
        fields of :class:`.SamplerReport`.

    Raises
    ------
    ValueError
        An unknown sampler, NUTS without tuning, or a density that cannot be sampled.
    KeyboardInterrupt
        The run was interrupted; the draws of a partial run are never returned.
    """
    import xarray as xr

    settings = SamplerSettings(sampler, draws, tune, chains, seed)
    return xr.DataTree.from_dict(draw(Density(model, gram), settings).datasets())


def draw(density: Density, settings: SamplerSettings) -> Draws:
    """Return draws of a model, with the log prior density of each."""
    sampler = settings.sampler
    if sampler not in SAMPLERS:
        raise ValueError(f"sampler must be one of {SAMPLERS}, got {sampler!r}")
    if settings.tune < 1 and sampler != "metropolis":
        raise ValueError(f"tune must be at least 1 for sampler={sampler!r}, got {settings.tune}")
    start = time.perf_counter()
    if not isinstance(density.prior, PackagePrior):  # those of the package are finite everywhere
        from .prior_density import check

        check(density.pymc)
    with threads.steps(f"draws of {density.gram.n_points} weights") as step:
        drawn, why = _drawn(density, settings, step)
    report = replace(drawn.report, why=why, seconds=time.perf_counter() - start)
    return replace(drawn, report=report, log_prior=log_prior(density, drawn))


def _drawn(
    density: Density, settings: SamplerSettings, step: Callable[[str], None]
) -> tuple[Draws, str]:
    """Return draws, and the reason for their sampler; ``step`` names what begins.

    Raises
    ------
    ValueError
        ``hmc`` is asked for, and the model has no density in numbers.
    """
    from . import pymc_samplers

    sampler, rng = settings.sampler, np.random.default_rng(settings.seed)
    if sampler == "metropolis":
        step("random-walk Metropolis")
        return pymc_samplers.metropolis(density.pymc, settings), "asked for"
    try:
        density.require_numbers()
        step("warm-up")
        warm = _warm(density, settings, rng)
    except NoDensityError as error:
        if sampler == "hmc":
            raise ValueError(f"sampler='hmc' cannot be used: {error}; use 'nuts'") from error
        why = "asked for" if sampler == "nuts" else str(error)
        step("NUTS")
        return pymc_samplers.nuts(density.pymc, settings), why
    if sampler == "nuts":
        step("NUTS")
        start = _apart(*warm, settings.chains)
        return pymc_samplers.nuts(density.pymc, settings, start), "asked for"
    step("parallel chains")
    with threads.one():
        drawn, verdict = _parallel(*warm, settings, rng)
        at_modes = [False, True] if has_mode(density) else [False]
        while sampler == "auto" and not verdict.acceptable and at_modes:
            warm = _warm(density, settings, rng, LONGER, at_modes.pop(0))
            again, other = _parallel(*warm, settings, rng)
            if other.acceptable or other.r_hat < verdict.r_hat:
                drawn, verdict = again, other
    why = f"the chains are {'' if verdict.safe else 'not '}safe: {verdict}"
    return drawn, why if sampler == "auto" else f"asked for; {why}"


def parallel_chains(chains: int) -> int:
    """Return how many chains of ``hmc`` are joined to those that are asked for."""
    return max(1, PARALLEL // chains) * chains


def _warm(
    density: Density,
    settings: SamplerSettings,
    rng: np.random.Generator,
    longer: int = 1,
    at_mode: bool = False,
) -> tuple[Transition, State]:
    """Return what moves the chains, and their states, after a warm-up."""
    from . import hmc

    with threads.one():
        trajectories = longer * max(MIN_WARM_UP, settings.tune // TUNE_DRAWS)
        chains = parallel_chains(settings.chains)
        return hmc.warm_up(density, chains, trajectories, rng, at_mode)


def _parallel(
    kernel: Transition, state: State, settings: SamplerSettings, rng: np.random.Generator
) -> tuple[Draws, Verdict]:
    """Return draws by parallel chains, and the verdict on them.

    The chains are joined to those that are asked for. If the draws are not safe yet, the chains are
    continued, and every second or fourth draw counts.
    """
    density, chains = kernel.density, settings.chains
    parallel = len(state.y) // chains  # of each chain that is asked for
    n = math.ceil(max(settings.draws, MIN_DRAWS / chains) / parallel)
    y: list[np.ndarray] = []
    infos: list[Info] = []
    thin = 1
    while True:
        while len(y) < thin * n:
            state, info = kernel.step(state, rng)
            y.append(state.y)
            infos.append(info)
        every = np.stack(y[thin - 1 :: thin], axis=1)  # (parallel chains, n, parameters)
        named = density.named(kernel.coordinates.x(every.reshape(-1, density.size)))
        divergences = int(np.sum([info.diverging for info in infos]))
        monitored = density.monitored(named).reshape(*every.shape[:2], -1)
        verdict = Verdict.of_parallel(monitored, chains, divergences)
        if thin == MOST_THIN or not verdict.may_improve:
            break
        thin *= 2
    kept = np.linspace(0, parallel * n - 1, settings.draws).round().astype(int)

    def joined(values: np.ndarray) -> np.ndarray:
        """Return the kept values (chains, draws, ...) of all draws, in the order of ``every``."""
        values = values.reshape(chains, parallel * n, *values.shape[2:])
        return values if len(kept) == values.shape[1] else values[:, kept]

    shape, last = every.shape[:2], infos[thin - 1 :: thin]
    statistics = [np.stack(of_all, axis=1) for of_all in zip(*last, strict=True)]
    drawn = as_draws(
        density,
        {name: joined(v.reshape(*shape, *v.shape[1:])) for name, v in named.items()},
        SamplerReport(
            "hmc",
            library="bsvdd",
            r_hat=verdict.r_hat,
            ess=verdict.ess * settings.draws / (parallel * n),  # of the draws that are kept
            divergences=verdict.divergences,
        ),
        {name: joined(v) for name, v in zip(infos[0]._fields, statistics, strict=True)},
    )
    return drawn, verdict


def _apart(kernel: Transition, state: State, chains: int) -> np.ndarray:
    """Return the states of ``chains`` parallel chains that are far apart, (chains, n).

    If the parallel chains are in several modes, so are these, and R-hat shows it.
    """
    x = kernel.coordinates.x(state.y)
    chosen = [int(np.argmax(state.logp))]
    while len(chosen) < chains:
        distance = [np.linalg.norm(state.y - state.y[i], axis=1) for i in chosen]
        chosen.append(int(np.argmax(np.min(distance, axis=0))))
    return x[chosen]
