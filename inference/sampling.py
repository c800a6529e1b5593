"""Draws of the weights from a PyMC model, by the sampler that suits its posterior.

``auto`` uses the first of ``laplace``, ``hmc`` and ``nuts`` that is safe:

- ``laplace``: independence Metropolis-Hastings with proposals from Laplace's approximation
  (:mod:`.samplers.laplace`);
- ``hmc``: Hamiltonian Monte Carlo around Laplace's approximation, many chains in step
  (:mod:`.samplers.hmc`);
- ``nuts``: the No-U-Turn sampler, by nutpie (:mod:`.samplers.nuts`);
- ``metropolis``: random-walk Metropolis, as published for BSVDD and BSVDD-M
  (:mod:`.samplers.metropolis`).

Laplace's approximation searches for modes from several starting points. Chains of ``hmc`` and
``nuts`` start dispersed around these modes, and in different modes if there are several: R-hat does
not detect a mode that no chain visits. ``auto`` has them move the points with some weight only, if
the prior separates these from the others (``inference/active_points.py``). A likelihood with kinks,
such as that of SVDD's loss, is for NUTS: searches stop at the kinks, and the curvature there says
nothing of the width.
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

    from .active_points import ActivePoints, AllPoints
    from .log_density import LogDensity
    from .samplers.hmc import TrajectoryDiagnostics
    from .samplers.laplace import Laplace, ProposalDiagnostics

SAMPLERS = ["auto", "laplace", "hmc", "nuts", "metropolis"]
SUBJECT = {"laplace": "Laplace's approximation is", "hmc": "the chains are"}

# ``auto`` moves a dictionary point by ``hmc`` or NUTS if its weight exceeds NEGLIGIBLE in any of
# DRAWS_PER_MODE draws from Laplace's approximation at each mode
DRAWS_PER_MODE = 200
NEGLIGIBLE = 1e-8
FAR = 10.0  # posterior sd between modes: no chain in step moves so far, and ``auto`` takes NUTS

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


def free(model):
    from .log_density import LogDensity

    return LogDensity(model).free


def weights(model, draws):
    from .log_density import LogDensity

    return LogDensity(model).weights({name: draws.flat(name) for name in draws.variables})


def log_prior(density: LogDensity, draws: Draws) -> dict[str, np.ndarray]:
    """Return the log prior density of each free variable, each of shape (chains, draws)."""
    from .log_density import LogDensity

    if not isinstance(density, LogDensity):
        density = LogDensity(density)
    flat = {name: draws.flat(name) for name in draws.variables}
    return {name: v.reshape(draws.shape) for name, v in density.log_prior(flat).items()}


def _weights(named: dict[str, np.ndarray]) -> np.ndarray:
    w = named["w"]
    return w[:, :: max(1, w.shape[1] // 20)]


def _around_modes(density: LogDensity, settings: SamplerSettings, monitor: Monitor) -> Draws:
    """Return draws by the first sampler that is safe, or by the one that is asked for."""
    from .active_points import AllPoints, NotSeparateError

    rng = np.random.default_rng(settings.seed)
    why, draws, approximation = _by_laplace(density, settings, monitor, rng)
    if draws is not None:
        return draws
    every = AllPoints(density)
    if approximation is None:
        starts = density.jittered_points(settings.chains, rng)
        return _by_nuts(every, starts, settings, np.nan, why)
    starts = approximation.starts(settings.chains, rng)
    active = _active(density, approximation, rng) if settings.sampler == "auto" else None
    arguments = approximation, starts, settings, monitor, rng, why
    try:
        return _by_trajectories(active or every, *arguments)
    except NotSeparateError:
        return _by_trajectories(every, *arguments)


def _by_trajectories(
    moved: AllPoints | ActivePoints,
    approximation: Laplace,
    starts: np.ndarray,
    settings: SamplerSettings,
    monitor: Monitor,
    rng: np.random.Generator,
    why: str,
) -> Draws:
    """Return draws by chains in step if they are safe, else by NUTS.

    ``why`` says why those of Laplace's approximation are not used.

    Raises
    ------
    NotSeparateError
        The draws of the active points are not those of all points.
    """
    from .samplers import hmc, laplace

    modes = len(approximation.modes)
    far = settings.sampler == "auto" and approximation.largest_distance > FAR
    if far or settings.sampler == "nuts":
        return _by_nuts(moved, starts, settings, modes, why)
    try:
        named, statistics, diagnostics = hmc.sample(
            moved, approximation, starts, settings, rng, monitor
        )
    except laplace.NoApproximationError as error:
        if settings.sampler == "hmc":
            raise ValueError(f"sampler='hmc' cannot be used: {error}; use 'nuts'") from error
        return _by_nuts(moved, starts, settings, modes, f"{why}; {error}")
    if diagnostics.safe or settings.sampler == "hmc":
        report = SamplerReport(
            "hmc",
            why=why,
            products=moved.products,
            modes=modes,
            active_points=moved.points,
            divergences=diagnostics.divergences,
        )
        return _monitored(moved.density, settings, report, named, statistics, diagnostics)
    return _by_nuts(moved, starts, settings, modes, f"{why}; {_verdict('hmc', diagnostics)}")


def _by_nuts(
    moved: AllPoints | ActivePoints,
    starts: np.ndarray,
    settings: SamplerSettings,
    modes: float,
    why: str,
) -> Draws:
    """Return draws of NUTS; ``why`` says why those of other samplers are not used."""
    from .samplers import nuts

    if settings.sampler == "nuts":
        why = "; ".join(filter(None, ["asked for", why]))
    elif settings.progressbar:
        print(f"NUTS, because {why}", file=sys.stderr)
    result = nuts.sample(moved, starts, settings)
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
    try:
        if has_kinks(density.model):
            raise laplace.NoApproximationError(
                "the likelihood has kinks, so its curvature at a point does not give its width"
            )
        approximation = laplace.Laplace.of(density, rng)
        if sampler == "laplace" and approximation.several_modes:
            raise laplace.NoApproximationError("the posterior has several modes")
    except laplace.NoApproximationError as error:
        if sampler in ("laplace", "hmc"):
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
    run, diagnostics = laplace.sample(
        density, approximation, settings.draws, chains, rng, monitor, sampler == "auto"
    )
    if not diagnostics.safe and sampler == "auto":
        return _verdict("laplace", diagnostics), None, approximation
    named = dict(run.named)
    energy = named.pop(laplace.ENERGY)
    statistics = {"accepted": run.accepted, "log_ratio": run.log_ratio, laplace.ENERGY: energy}
    report = SamplerReport("laplace", products=density.products, modes=1)
    return "", _monitored(density, settings, report, named, statistics, diagnostics), approximation


def _active(
    density: LogDensity, approximation: Laplace, rng: np.random.Generator
) -> ActivePoints | None:
    """Return the points whose weights are not negligible, if the others can be left out."""
    from .active_points import ActivePoints

    if not density.has_kernel_potential:
        return None
    w = density.named(approximation.draw_at_modes(DRAWS_PER_MODE, rng))["w"]
    return ActivePoints.of(density, np.flatnonzero(np.abs(w).max(axis=0) > NEGLIGIBLE))


def _verdict(sampler: str, diagnostics: ProposalDiagnostics | TrajectoryDiagnostics) -> str:
    """Return whether the draws are safe, as a reason."""
    return f"{SUBJECT[sampler]} {'' if diagnostics.safe else 'not '}safe: {diagnostics}"


def _monitored(
    density: LogDensity,
    settings: SamplerSettings,
    report: SamplerReport,
    named: dict[str, np.ndarray],
    statistics: dict[str, np.ndarray],
    diagnostics: ProposalDiagnostics | TrajectoryDiagnostics,
) -> Draws:
    """Return draws whose quantities were monitored, and warn if they are not safe.

    The report says why those of another sampler are not used.
    """
    from .samplers.laplace import MIN_STEPS

    sampler = report.sampler
    if not diagnostics.safe:
        warn(f"sampler={sampler!r} is not safe here ({diagnostics}); use 'nuts'", DiagnosticWarning)
    why = "; ".join(filter(None, [report.why, _verdict(sampler, diagnostics)]))
    if settings.progressbar:
        print(why, file=sys.stderr)
    report = replace(report, why=why, library="bsvdd")
    if settings.draws >= MIN_STEPS:  # else most of the monitored draws are left out
        report = replace(report, r_hat=diagnostics.r_hat, ess=diagnostics.ess)
    return Draws.of_model(named, density.model, report, statistics)
