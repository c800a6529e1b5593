"""Draws of a model from elsewhere: a DataTree of PyMC or nutpie, or an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike

from ..base.messages import quoted
from ..models.rows import matched
from ..models.weights import Weights
from .draws import Coords, Draws, Variables
from .hmc import Stats

CHAIN_DRAW = ("chain", "draw")
Array = np.ndarray | list | tuple
ROUNDED_SUM = 1e-6  # of weights that sum to one


def of_chains(model: Weights, draws: Any, sampler: str, about: str = "draws") -> Draws:
    """Return draws of a model from a tree, a dataset, or an array of weights.

    Parameters
    ----------
    model : Weights
    draws : xarray.DataTree, xarray.Dataset, data frame or array (..., draws, M)
    sampler : str
        See :class:`bsvdd.inference.draws.Draws`.
    about : str, default="draws"
        What the draws are, for errors.

    Returns
    -------
    Draws
        With all variables of the tree, and its statistics of the sampler.

    Raises
    ------
    ValueError
        The draws are of another model, or have values that cannot be.
    """
    stats: Stats = {}
    if isinstance(draws, pd.DataFrame):
        names = {"point": draws.columns.to_flat_index()}
        draws = xr.DataArray(draws.to_numpy(), names, ("draw", "point"), name="w")
    if not isinstance(draws, xr.DataTree | xr.Dataset | xr.DataArray | Array):
        raise ValueError(
            f"{about}: expected a DataTree, as pm.sample returns it, a dataset, or an "
            f"array of numbers, got {draws!r:.80}"
        )
    if isinstance(draws, xr.DataTree):
        draws, stats = _posterior(draws, about)
    variables: Variables = {}
    coords: Coords = {}
    if isinstance(draws, xr.Dataset):
        variables, coords = _variables(draws, model, about)
        draws = draws["w"]
    if isinstance(draws, xr.DataArray):
        wanted = ("chain" in draws.dims) + 2
        if "draw" not in draws.dims or draws.ndim != wanted:
            raise ValueError(
                f"{about}: expected the dims chain, draw and point, got {draws.dims}; "
                ".unstack('sample') gives them back to draws that were stacked"
            )
        draws = _ordered(draws, model, about).to_numpy()
    w = _of_array(draws, len(model.gram.sizes), about)
    _require_weights(w, model, about)
    flat = w.reshape(-1, w.shape[-1])
    # a tree whose posterior was thinned has others
    stats = {name: v for name, v in stats.items() if v.shape == w.shape[:2]}
    return Draws(model, flat, len(w), sampler, stats, "", variables, coords)


def _posterior(tree: xr.DataTree, about: str) -> tuple[xr.Dataset, Stats]:
    """Return the group posterior of a tree, and the statistics of its sampler."""
    if "posterior" not in tree.children:
        raise ValueError(
            f"{about}: expected a DataTree with the group posterior, got "
            f"{quoted(tree.children)}"
        )
    stats: Stats = {}
    if "sample_stats" in tree.children:
        for name, v in tree["sample_stats"].data_vars.items():
            if v.ndim == 2 and v.dtype.kind in "fiub":  # numbers of each draw
                stats[str(name)] = v.to_numpy()
    return tree["posterior"].to_dataset(), stats


def _variables(
    posterior: xr.Dataset, model: Weights, about: str
) -> tuple[Variables, Coords]:
    """Return the variables beside w, and their coordinates that a model lacks."""
    if "w" not in posterior:
        raise ValueError(
            f"{about}: expected the weights w, got {quoted(posterior.data_vars)}; "
            "est.model_ has them"
        )
    variables: Variables = {}
    coords: Coords = {}
    for name, x in posterior.data_vars.items():
        if name != "w" and "draw" in x.dims:
            x = _ordered(x, model, about)
            dims = tuple(map(str, x.dims[2:]))
            variables[str(name)] = dims, x.to_numpy().reshape(-1, *x.shape[2:])
            known = {d: x[d].to_numpy() for d in dims if d in x.coords}
            coords |= {d: v for d, v in known.items() if d not in model.coords}
    return variables, coords


def _ordered(x: xr.DataArray, model: Weights, about: str) -> xr.DataArray:
    """Return draws of dims (chain, draw, ...), atoms and rows as in the fit."""
    if "chain" not in x.dims:
        x = x.expand_dims("chain")
    x = x.transpose(*CHAIN_DRAW, ...)
    for dim in x.dims[2:]:
        # w may have a dimension of another name
        names = model.coords.get("point" if x.name == "w" else str(dim))
        if names is not None and dim in x.coords and x.sizes[dim] == len(names):
            place = matched(f"{about}: {dim!r}", x[dim].to_numpy().tolist(), names)
            x = x.isel({dim: place})
    return x


def _of_array(draws: ArrayLike, atoms: int, about: str) -> np.ndarray:
    """Return weights (chains, draws, M)."""
    try:
        w = np.array(draws, dtype=float)  # the caller may change draws
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{about}: expected a DataTree, a dataset, or an array of numbers, got "
            f"{draws!r:.80} ({error})"
        ) from error
    w = w[None] if w.ndim == 2 else w
    if w.ndim != 3 or w.shape[-1] != atoms or not w.size:
        raise ValueError(
            f"{about}: expected weights of shape (draws, {atoms}), one for each atom "
            f"of the fit, got shape {np.shape(draws)}"
        )
    return w


def _require_weights(w: np.ndarray, model: Weights, about: str) -> None:
    """Raise a ValueError for weights that a model cannot have."""
    name = type(model).__name__
    on_simplex = model.on_simplex
    if not np.isfinite(w).all():
        raise ValueError(f"{about}: the weights w are not finite in all draws")
    if on_simplex and not model.gram.n1 and w.min() < -1e-9:
        raise ValueError(
            f"{about}: the weights of {name} are at least 0, got {w.min():.3g}"
        )
    total = w.sum(axis=-1)
    if (on_simplex or model.gram.n1) and np.abs(total - 1.0).max() > ROUNDED_SUM:
        worst = total.ravel()[np.abs(total - 1.0).argmax()]
        raise ValueError(
            f"{about}: the weights of {name} sum to 1 in each draw, got {worst:.6g}"
        )
