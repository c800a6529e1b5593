"""Draws of the weights from a PyMC model.

``nuts`` is the No-U-Turn sampler, by nutpie where it is installed and by PyMC otherwise;
``metropolis`` is the published random-walk Metropolis, one weight at a time.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    import pymc as pm

SHARED_STATS = ["diverging", "energy", "n_steps", "step_size"]  # of nutpie and of PyMC alike


def sample(
    model: pm.Model,
    sampler: str,
    draws: int,
    tune: int,
    chains: int,
    seed: int | None = None,
    progressbar: bool = False,
) -> xr.DataTree:
    """Sample ``model``.

    Parameters
    ----------
    model : pymc.Model
    sampler : {"nuts", "metropolis"}
    draws, tune, chains : int
    seed : int, optional
    progressbar : bool, default=False

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` and ``sample_stats``; ``posterior.attrs`` names the sampler, its
        library and the seconds it took.

    Raises
    ------
    KeyboardInterrupt
        When interrupted: draws of a part of the run are never returned.
    """
    import pymc as pm

    settings: dict[str, Any] = {
        "draws": draws,
        "tune": tune,
        "chains": chains,
        "progressbar": progressbar,
    }
    start = time.perf_counter()
    if sampler == "metropolis":
        library, tree = "pymc", _pymc(model, pm.Metropolis(model=model), seed, **settings)
    elif sampler == "nuts" and tune < 1:
        raise ValueError("tune must be at least 1 for sampler='nuts', got 0")
    elif sampler == "nuts" and find_spec("nutpie") is not None:
        library, tree = "nutpie", _nutpie(model, seed, **settings)
    elif sampler == "nuts":
        library, tree = "pymc", _pymc(model, pm.NUTS(model=model), seed, **settings)
    else:
        raise ValueError(f"sampler must be 'nuts' or 'metropolis', got {sampler!r}")
    tree["posterior"].attrs.update(
        sampler=sampler, library=library, seconds=time.perf_counter() - start
    )
    return tree


def _nutpie(
    model: pm.Model, seed: int | None, draws: int, tune: int, chains: int, progressbar: bool
) -> xr.DataTree:
    import nutpie
    from nutpie.compiled_pyfunc import from_pyfunc

    from .compilation import Density

    density = Density(model)
    compiled = from_pyfunc(
        ndim=density.size,
        make_logp_fn=lambda: density.logp_and_gradient,
        make_expand_fn=lambda *seeds: lambda x: {"x": np.array(x)},
        expanded_dtypes=[np.dtype("float64")],
        expanded_shapes=[(density.size,)],
        expanded_names=["x"],
        make_initial_point_fn=lambda seed: density.initial_point(np.random.default_rng(seed)),
    )
    run = nutpie.sample(
        compiled,
        draws=draws,
        tune=tune,
        chains=chains,
        seed=seed,
        progress_bar=progressbar,
        save_warmup=False,
        blocking=False,
    )
    try:
        trace = run.wait()
    except BaseException:
        run.cancel()
        raise
    x = trace["posterior"]["x"].values
    named = density.named(x.reshape(-1, density.size))
    values = {name: v.reshape(chains, draws, *v.shape[1:]) for name, v in named.items()}
    stats = trace.children["sample_stats"].to_dataset()[SHARED_STATS]
    return posterior_tree(values, model, stats)


def _pymc(
    model: pm.Model,
    step: Any,
    seed: int | None,
    draws: int,
    tune: int,
    chains: int,
    progressbar: bool,
) -> xr.DataTree:
    import pymc as pm

    trace = pm.sample(
        draws=draws,
        tune=tune,
        chains=chains,
        cores=1,  # chains in one process: forking one that has threads can hang
        step=step,
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
    return posterior_tree(values, model, stats[[s for s in SHARED_STATS if s in stats]])


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
