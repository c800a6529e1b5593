"""Draws of the weights from a PyMC model.

``auto`` takes ``laplace`` where that is safe, else ``nuts``. ``laplace`` is independence
Metropolis-Hastings with proposals from Laplace's approximation, see :mod:`.laplace`; ``nuts`` is
the No-U-Turn sampler, by nutpie where it is installed and by PyMC otherwise; ``metropolis`` is
the published random-walk Metropolis.

Chains of NUTS start dispersed around the modes that the searches of :mod:`.laplace` find, in
different ones where there are several: R-hat does not see a mode in which no chain has been.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from .latest import checkpoint, stoppable
from .warning import DiagnosticWarning, warn

if TYPE_CHECKING:
    import pymc as pm

    from .compilation import Density
    from .laplace import Chains, Judgement

SAMPLERS = ["auto", "laplace", "nuts", "metropolis"]
SHARED_STATS = ["diverging", "energy", "n_steps", "step_size"]  # of nutpie and of PyMC alike
LAPLACE_STATS = ["accepted", "log_ratio"]

# NUTS leaves out points whose weight is negligible in all of AROUND draws of Laplace's
# approximation around each mode, unless that changes the log density of a draw of its own by more
# than MAX_GAP
AROUND = 200
NEGLIGIBLE = 1e-8
MAX_GAP = 1e-3

POLL = 0.05  # seconds between looks at whether anybody still waits for the draws

Watch = Callable[[dict[str, np.ndarray]], np.ndarray]


def sample(
    model: pm.Model,
    sampler: str,
    draws: int,
    tune: int,
    chains: int,
    seed: int | None = None,
    progressbar: bool = False,
    watch: Watch | None = None,
) -> xr.DataTree:
    """Sample ``model``.

    Parameters
    ----------
    model : pymc.Model
    sampler : {"auto", "laplace", "nuts", "metropolis"}
    draws, tune, chains : int
        ``tune`` is for NUTS and Metropolis.
    seed : int, optional
    progressbar : bool, default=False
    watch : callable, optional
        Takes the named quantities of S draws to values (S, q) whose R-hat and effective sample
        size say whether ``laplace`` is safe; all weights when left out.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior``, ``log_prior`` and ``sample_stats``; ``posterior.attrs`` names the
        ``sampler``, ``why`` it was taken, its ``library``, the ``seconds`` it took, the
        ``products`` K w (a batch of S weights counts as S; unknown, NaN, for what PyMC samples
        itself) and, but for Metropolis, the number of ``modes`` found (NaN: the search failed).

    Raises
    ------
    KeyboardInterrupt
        When interrupted: draws of a part of the run are never returned.
    """
    if sampler not in SAMPLERS:
        raise ValueError(f"sampler must be one of {SAMPLERS}, got {sampler!r}")
    if tune < 1 and sampler in ("nuts", "auto"):
        raise ValueError(f"tune must be at least 1 for sampler={sampler!r}, got {tune}")
    from .compilation import Density

    start = time.perf_counter()
    settings: dict[str, Any] = {
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "progressbar": progressbar,
    }
    density = Density(model)
    density.check()
    if sampler == "metropolis":
        starts = density.jittered_points(chains, np.random.default_rng(seed))
        tree = _pymc(model, density, sampler, seed, starts, **settings)
    else:
        tree = _laplace_or_nuts(model, density, sampler, seed, watch or _weights, **settings)
    attrs = tree["posterior"].attrs
    attrs.setdefault("why", "asked for")
    attrs["seconds"] = time.perf_counter() - start
    tree["log_prior"] = log_prior(density, tree["posterior"].dataset)
    return tree


def log_prior(density: Density, posterior: xr.Dataset) -> xr.Dataset:
    """Return the log prior density of each free variable, dims (chain, draw)."""
    return by_draw(density.log_prior(by_name(posterior)), posterior)


def by_name(posterior: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the draws (chains * draws, ...) of each variable."""
    return {
        str(name): v.values.reshape(-1, *v.shape[2:]) for name, v in posterior.data_vars.items()
    }


def by_draw(values: dict[str, np.ndarray], posterior: xr.Dataset) -> xr.Dataset:
    """Return one number for each draw of ``posterior`` by name, dims (chain, draw)."""
    coords = {dim: posterior[dim].values for dim in ("chain", "draw")}
    shape = tuple(len(at) for at in coords.values())
    return xr.Dataset({k: (tuple(coords), v.reshape(shape)) for k, v in values.items()}, coords)


def _weights(named: dict[str, np.ndarray]) -> np.ndarray:
    return named["w"]


def _laplace_or_nuts(
    model: pm.Model,
    density: Density,
    sampler: str,
    seed: int | None,
    watch: Watch,
    draws: int,
    tune: int,
    chains: int,
    progressbar: bool,
) -> xr.DataTree:
    """Return draws by Laplace's approximation, or by NUTS: asked for, or where that is not safe."""
    from . import laplace

    rng = np.random.default_rng(seed)
    modes, active = np.nan, None
    try:
        q = laplace.Laplace.of(density, rng)
        if sampler == "laplace" and q.several_modes:
            raise laplace.NoApproximationError("the posterior has several modes")
    except laplace.NoApproximationError as error:
        if sampler == "laplace":
            raise ValueError(f"sampler='laplace' cannot be used: {error}; use 'nuts'") from error
        why, starts = str(error), density.jittered_points(chains, rng)
    else:
        modes, why = len(q.modes), ""
        if q.several_modes:
            why = f"there are several modes, {q.apart:.3g} posterior sd apart; the chains start in "
            why += f"{min(chains, modes)} of the {modes} found"
        elif sampler != "nuts":
            run, judgement = laplace.sample(density, q, draws, chains, rng, watch)
            if judgement.safe or sampler == "laplace":
                return _laplace(model, density, run, judgement, progressbar)
            why = f"Laplace's approximation is not safe: {judgement}"
        starts = q.starts(chains, rng)
        if sampler == "auto":
            w = density.named(q.around(AROUND, rng))["w"]
            active = np.flatnonzero(np.abs(w).max(axis=0) > NEGLIGIBLE)
    if sampler == "nuts":
        why = "; ".join(["asked for", why] if why else ["asked for"])
    elif progressbar:
        print(f"NUTS, because {why}", file=sys.stderr)
    tree = _nuts(model, density, seed, starts, draws, tune, chains, progressbar, active)
    tree["posterior"].attrs.update(why=why, modes=modes)
    return tree


def _laplace(
    model: pm.Model,
    density: Density,
    run: Chains,
    judgement: Judgement,
    progressbar: bool,
) -> xr.DataTree:
    from . import laplace

    stats = {name: (("chain", "draw"), getattr(run, name)) for name in LAPLACE_STATS}
    tree = posterior_tree(run.named, model, xr.Dataset(stats))
    attrs = tree["posterior"].attrs
    attrs.update(sampler="laplace", library="bsvdd", products=density.products)
    attrs["why"] = f"Laplace's approximation is {'' if judgement.safe else 'not '}safe: {judgement}"
    attrs["modes"] = 1
    if run.accepted.shape[1] >= laplace.MIN_STEPS:  # what was judged is what is returned
        attrs.update(r_hat=judgement.r_hat, ess=judgement.ess)
    if not judgement.safe:
        warn(f"sampler='laplace' is not safe here ({judgement}); use 'nuts'", DiagnosticWarning)
    if progressbar:
        print(attrs["why"], file=sys.stderr)
    return tree


def _nuts(
    model: pm.Model,
    density: Density,
    seed: int | None,
    starts: np.ndarray,
    draws: int,
    tune: int,
    chains: int,
    progressbar: bool,
    active: np.ndarray | None = None,
) -> xr.DataTree:
    """Return draws by NUTS, by way of the ``active`` points where that is as good."""
    if find_spec("nutpie") is None:
        return _pymc(model, density, "nuts", seed, starts, draws, tune, chains, progressbar)
    settings = (seed, starts, draws, tune, chains, progressbar)

    def tree(x: np.ndarray, stats: xr.Dataset, active_points: int) -> xr.DataTree:
        found = posterior_tree(_by_chain(density.named(x), chains), model, stats)
        found["posterior"].attrs.update(
            sampler="nuts",
            library="nutpie",
            products=density.products,
            active_points=active_points,
        )
        return found

    if active is not None and len(active) <= density.n_points / 2:
        part = density.on(active)
        x, stats = _nutpie(part, *settings)
        gap = np.ptp(density.logp(x) - part.logp(x))
        density.products += part.products
        if gap <= MAX_GAP:
            return tree(x, stats, len(active))
    return tree(*_nutpie(density, *settings), density.n_points)


def _nutpie(
    density: Density,
    seed: int | None,
    starts: np.ndarray,
    draws: int,
    tune: int,
    chains: int,
    progressbar: bool,
) -> tuple[np.ndarray, xr.Dataset]:
    """Return draws (chains * draws, n) of the unconstrained parameters, and their statistics.

    Chain by chain, as nutpie does not say for which chain it asks a start; the log density, a
    Python function, would not run in two threads at once anyway.
    """
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    logp_and_gradient = density.machine_code()
    seeds = np.random.SeedSequence(seed).generate_state(chains)
    traces = []
    for start, chain_seed in zip(starts, seeds, strict=True):
        compiled = from_pyfunc(
            ndim=density.size,
            make_logp_fn=lambda: logp_and_gradient,
            make_expand_fn=lambda *seeds: lambda x: {"x": np.array(x)},
            expanded_dtypes=[np.dtype("float64")],
            expanded_shapes=[(density.size,)],
            expanded_names=["x"],
            make_initial_point_fn=lambda seed, start=start: start,
        )
        run = nutpie.sample(
            compiled,
            draws=draws,
            tune=tune,
            chains=1,
            seed=int(chain_seed),
            progress_bar=progressbar,
            save_warmup=False,
            blocking=False,
        )
        try:
            traces.append(_awaited(run))
        except BaseException as error:
            if type(error).__name__ == "PanicException":  # of Rust, which no one would catch
                raise RuntimeError(
                    f"nutpie failed ({error}): the posterior may be improper, or its scales too "
                    "far apart; use another prior, or sampler='metropolis'"
                ) from error
            run.cancel()
            raise
    x = np.concatenate([trace["posterior"]["x"].values[0] for trace in traces])
    stats = [trace.children["sample_stats"].to_dataset()[SHARED_STATS] for trace in traces]
    together = xr.concat(stats, "chain").assign_coords(chain=np.arange(chains))
    return x, together


def _awaited(run: Any) -> Any:
    """Return what a run of nutpie returns, as long as anybody waits for it."""
    while stoppable():
        try:
            return run.wait(timeout=POLL)
        except TimeoutError:
            checkpoint()
    return run.wait()


def _by_chain(named: dict[str, np.ndarray], chains: int) -> dict[str, np.ndarray]:
    return {name: v.reshape(chains, -1, *v.shape[1:]) for name, v in named.items()}


def _pymc(
    model: pm.Model,
    density: Density,
    sampler: str,
    seed: int | None,
    starts: np.ndarray,
    draws: int,
    tune: int,
    chains: int,
    progressbar: bool,
) -> xr.DataTree:
    import pymc as pm

    step = {"nuts": pm.NUTS, "metropolis": pm.Metropolis}[sampler](model=model)
    named = density.named(starts)
    trace = pm.sample(
        draws=draws,
        tune=tune,
        chains=chains,
        cores=1,  # chains in one process: forking one that has threads can hang
        step=step,
        initvals=[{name: named[name][chain] for name in density.free} for chain in range(chains)],
        model=model,
        random_seed=seed,
        progressbar=progressbar,
        quiet=not progressbar,
        compute_convergence_checks=False,
    )
    sizes = trace.children["posterior"].sizes
    if (sizes["chain"], sizes["draw"]) != (chains, draws):  # PyMC ends an interrupted run early
        raise KeyboardInterrupt
    names = [v.name for v in [*model.free_RVs, *model.deterministics]]
    values = {name: trace["posterior"][name].values for name in names}
    stats = trace.children["sample_stats"].to_dataset()
    tree = posterior_tree(values, model, stats[[s for s in SHARED_STATS if s in stats]])
    tree["posterior"].attrs.update(sampler=sampler, library="pymc", products=np.nan)
    return tree


def posterior_tree(
    values: dict[str, np.ndarray], model: pm.Model, stats: xr.Dataset
) -> xr.DataTree:
    """Return draws (chain, draw, ...) with the dims and coordinates of their model."""
    data: dict[str, Any] = {}
    coords: dict[str, Any] = {}
    for name, v in values.items():
        dims = list(model.named_vars_to_dims.get(name, ()))
        dims += [f"{name}_dim_{i}" for i in range(len(dims), v.ndim - 2)]
        coords |= {d: list(model.coords[d]) for d in dims if d in model.coords}
        data[name] = (["chain", "draw", *dims], v)
    posterior = xr.Dataset(data, {**_draw_coords(next(iter(values.values()))), **coords})
    return xr.DataTree.from_dict({"posterior": posterior, "sample_stats": stats})


def weights_tree(w: np.ndarray, **attrs: str | float) -> xr.DataTree:
    """Return weights (chain, draw, point) that came without a model's sampler."""
    coords = {**_draw_coords(w), "point": np.arange(w.shape[2])}
    posterior = xr.Dataset({"w": (("chain", "draw", "point"), w)}, coords, attrs)
    return xr.DataTree.from_dict({"posterior": posterior})


def _draw_coords(draws: np.ndarray) -> dict[str, np.ndarray]:
    return {"chain": np.arange(draws.shape[0]), "draw": np.arange(draws.shape[1])}
