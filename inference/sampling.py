"""Draws of the weights from a PyMC model, by the sampler that suits its posterior.

``auto`` uses the first of ``laplace``, ``hmc`` and ``nuts`` that is safe:

- ``laplace``: independence Metropolis-Hastings with proposals from Laplace's approximation
  (:mod:`.samplers.laplace`);
- ``hmc``: Hamiltonian Monte Carlo around Laplace's approximation, many chains in step
  (:mod:`.samplers.hmc`);
- ``nuts``: the No-U-Turn sampler, by nutpie (:mod:`.samplers.nuts`);
- ``metropolis``: random-walk Metropolis, as published for BSVDD and BSVDD-M
  (:mod:`.samplers.metropolis`).

Laplace's approximation searches for modes from several starting points. Chains start dispersed
around these modes, and those of NUTS in different modes if there are several: R-hat does not detect
a mode that no chain visits. A likelihood with kinks, such as that of SVDD's loss, is for NUTS:
searches stop at the kinks, and the curvature there says nothing of the width.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..models.potential import has_kinks
from . import threads
from .draws import Draws, SamplerReport, SamplerSettings
from .warning import DiagnosticWarning, warn

if TYPE_CHECKING:
    import pymc as pm

    from .log_density import LogDensity
    from .samplers.hmc import TrajectoryDiagnostics
    from .samplers.laplace import Laplace, ProposalDiagnostics

SAMPLERS = ["auto", "laplace", "hmc", "nuts", "metropolis"]
OF_ONE_MODE = {"laplace": "Laplace's approximation is", "hmc": "the chains are"}

# NUTS omits a dictionary point if its weight is at most NEGLIGIBLE in each of DRAWS_PER_MODE draws
# from Laplace's approximation at each mode
DRAWS_PER_MODE = 200
NEGLIGIBLE = 1e-8
FEW_ACTIVE = 1 / 4  # of the points; then NUTS, which moves these only, is quicker than ``hmc``

Monitor = Callable[[dict[str, np.ndarray]], np.ndarray]


def sample(
    model: pm.Model,
    sampler: str,
    draws: int,
    tune: int,
    chains: int,
    seed: int | None = None,
    progressbar: bool = False,
    monitor: Monitor | None = None,
) -> xr.DataTree:
    """Sample ``model``.

    Parameters
    ----------
    model : pymc.Model
    sampler : {"auto", "laplace", "hmc", "nuts", "metropolis"}
    draws, tune, chains : int
        ``tune`` is for ``hmc``, ``nuts`` and ``metropolis``.
    seed : int, optional
    progressbar : bool, default=False
    monitor : callable, optional
        As in :func:`draw`.

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
    settings = SamplerSettings(sampler, draws, tune, chains, seed, progressbar)
    return xr.DataTree.from_dict(draw(model, settings, monitor).datasets())


def draw(model: pm.Model, settings: SamplerSettings, monitor: Monitor | None = None) -> Draws:
    """Return draws of ``model``, with the log prior density of each.

    Parameters
    ----------
    model : pymc.Model
    settings : SamplerSettings
    monitor : callable, optional
        Takes the named quantities of S draws and returns values (S, q). Whether ``laplace`` or
        ``hmc`` is safe depends on R-hat and effective sample size of these values. Default: all
        weights.
    """
    sampler = settings.sampler
    if sampler not in SAMPLERS:
        raise ValueError(f"sampler must be one of {SAMPLERS}, got {sampler!r}")
    if settings.tune < 1 and sampler in ("hmc", "nuts", "auto"):
        raise ValueError(f"tune must be at least 1 for sampler={sampler!r}, got {settings.tune}")
    from .log_density import LogDensity

    start = time.perf_counter()
    density = LogDensity(model)
    with threads.one_if_small(density.size):
        density.check()
        if sampler == "metropolis":
            from .samplers import metropolis

            rng = np.random.default_rng(settings.seed)
            starts = density.jittered_points(settings.chains, rng)
            result = metropolis.sample(density, starts, settings)
        else:
            result = _around_modes(density, settings, monitor or _weights)
        why = result.report.why or "asked for"
        report = replace(result.report, why=why, seconds=time.perf_counter() - start)
        return replace(result, report=report, log_prior=log_prior(density, result))


def log_prior(density: LogDensity, draws: Draws) -> dict[str, np.ndarray]:
    """Return the log prior density of each free variable, each of shape (chains, draws)."""
    flat = {name: draws.flat(name) for name in draws.variables}
    return {name: v.reshape(draws.shape) for name, v in density.log_prior(flat).items()}


def _weights(named: dict[str, np.ndarray]) -> np.ndarray:
    return named["w"]


def _around_modes(density: LogDensity, settings: SamplerSettings, monitor: Monitor) -> Draws:
    """Return draws by the first sampler that is safe, or by the one that is asked for."""
    from .samplers import nuts

    rng = np.random.default_rng(settings.seed)
    sampler, chains = settings.sampler, settings.chains
    why, draws, approximation = _by_laplace(density, settings, monitor, rng)
    if draws is not None:
        return draws
    if approximation is None:
        modes, active, starts = np.nan, None, density.jittered_points(chains, rng)
    else:
        modes, starts = len(approximation.modes), approximation.starts(chains, rng)
        active = _active(density, approximation, rng) if sampler == "auto" else None
        few = active is not None and len(active) <= FEW_ACTIVE * density.n_points
        if sampler == "hmc" or (sampler == "auto" and modes == 1 and not few):
            reason, draws = _by_hmc(density, approximation, settings, monitor, rng, why)
            if draws is not None:
                return draws
            why = f"{why}; {reason}"
    if sampler == "nuts":
        why = "; ".join(["asked for", why] if why else ["asked for"])
    elif settings.progressbar:
        print(f"NUTS, because {why}", file=sys.stderr)
    result = nuts.sample(density, starts, settings, active)
    return replace(result, report=replace(result.report, why=why, modes=modes))


def _by_laplace(
    density: LogDensity, settings: SamplerSettings, monitor: Monitor, rng: np.random.Generator
) -> tuple[str, Draws | None, Laplace | None]:
    """Return why Laplace's draws are not used, or the draws, and the approximation if there is one.

    Raises
    ------
    ValueError
        The sampler that is asked for needs an approximation around one mode, and there is none.
    """
    from .samplers import laplace

    sampler, chains = settings.sampler, settings.chains
    of_one_mode = sampler in ("laplace", "hmc")
    try:
        if has_kinks(density.model):
            raise laplace.NoApproximationError(
                "the likelihood has kinks, so its curvature at a point does not give its width"
            )
        approximation = laplace.Laplace.of(density, rng)
        if of_one_mode and approximation.several_modes:
            raise laplace.NoApproximationError("the posterior has several modes")
    except laplace.NoApproximationError as error:
        if of_one_mode:
            raise ValueError(f"sampler={sampler!r} cannot be used: {error}; use 'nuts'") from error
        return str(error), None, None
    if approximation.several_modes:
        distance, modes = approximation.largest_distance, len(approximation.modes)
        why = (
            f"there are several modes, {distance:.3g} posterior sd apart; the "
            f"chains start in {min(chains, modes)} of the {modes} modes"
        )
        return why, None, approximation
    if sampler not in ("auto", "laplace"):
        return "", None, approximation
    run, diagnostics = laplace.sample(density, approximation, settings.draws, chains, rng, monitor)
    if diagnostics.safe or sampler == "laplace":
        named = dict(run.named)
        energy = named.pop(laplace.ENERGY)
        statistics = {"accepted": run.accepted, "log_ratio": run.log_ratio, laplace.ENERGY: energy}
        draws = _of_one_mode(density, settings, "laplace", named, statistics, diagnostics)
        return "", draws, approximation
    return _verdict("laplace", diagnostics), None, approximation


def _by_hmc(
    density: LogDensity,
    approximation: Laplace,
    settings: SamplerSettings,
    monitor: Monitor,
    rng: np.random.Generator,
    before: str,
) -> tuple[str, Draws | None]:
    """Return why the draws of chains in step are not used, or the draws.

    ``before`` says why those of Laplace's approximation are not used.
    """
    from .samplers import hmc, laplace

    try:
        named, statistics, diagnostics = hmc.sample(density, approximation, settings, rng, monitor)
    except laplace.NoApproximationError as error:
        if settings.sampler == "hmc":
            raise ValueError(f"sampler='hmc' cannot be used: {error}; use 'nuts'") from error
        return str(error), None
    if diagnostics.safe or settings.sampler == "hmc":
        return "", _of_one_mode(density, settings, "hmc", named, statistics, diagnostics, before)
    return _verdict("hmc", diagnostics), None


def _active(
    density: LogDensity, approximation: Laplace, rng: np.random.Generator
) -> np.ndarray | None:
    """Return the dictionary points whose weights are not negligible, if the likelihood is of K."""
    if not density.has_kernel_potential:
        return None
    w = density.named(approximation.draw_at_ends(DRAWS_PER_MODE, rng))["w"]
    return np.flatnonzero(np.abs(w).max(axis=0) > NEGLIGIBLE)


def _verdict(sampler: str, diagnostics: ProposalDiagnostics | TrajectoryDiagnostics) -> str:
    """Return whether the draws around one mode are safe, as a reason."""
    return f"{OF_ONE_MODE[sampler]} {'' if diagnostics.safe else 'not '}safe: {diagnostics}"


def _of_one_mode(
    density: LogDensity,
    settings: SamplerSettings,
    sampler: str,
    named: dict[str, np.ndarray],
    statistics: dict[str, np.ndarray],
    diagnostics: ProposalDiagnostics | TrajectoryDiagnostics,
    before: str = "",
) -> Draws:
    """Return the draws with their report, and warn if they are not safe.

    ``before`` says why those of another sampler are not used.
    """
    from .samplers.laplace import MIN_STEPS

    if not diagnostics.safe:
        warn(f"sampler={sampler!r} is not safe here ({diagnostics}); use 'nuts'", DiagnosticWarning)
    why = "; ".join(filter(None, [before, _verdict(sampler, diagnostics)]))
    if settings.progressbar:
        print(why, file=sys.stderr)
    report = SamplerReport(sampler, why=why, library="bsvdd", products=density.products, modes=1)
    if settings.draws >= MIN_STEPS:  # else most of the monitored draws are left out
        report = replace(report, r_hat=diagnostics.r_hat, ess=diagnostics.ess)
    return Draws.of_model(named, density.model, report, statistics)
