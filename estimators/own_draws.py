"""Draws of the weights that a user made, in place of those of a fit: ``est.with_draws(draws)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inference.center import Center
from ..inference.draws import OWN, SAMPLE, Draws, SamplerReport
from ..inference.learned import Learned, Posterior
from ..inference.leave import Rescaled
from .fit import Fit
from .fitting import judged
from .messages import quoted
from .training import TrainingData

if TYPE_CHECKING:
    import xarray as xr

POINTS = {"point", "majority", "minority"}  # dimensions that number points of the centre
LEAST = -1e-9  # a weight that is 0 but for rounding


def fitted(fit: Fit, draws: Any) -> Fit:
    """Return a fit with draws of the user; see ``est.with_draws``."""
    found = read(draws, fit)
    learned = of_draws(fit.bayesian, found, fit.data)
    return judged(fit.spec, fit.learner, fit.data, learned, fit.cutoff)


def of_draws(learner: Posterior, draws: Draws, data: TrainingData) -> Learned:
    """Return what draws of the user say: rows leave by rescaling, and no prior has draws."""
    center = Center(draws.weights, data.gram, nonnegative=learner.model.nonnegative)
    return Learned(center, draws, Rescaled(learner.model.sums_to_one))


def read(draws: Any, fit: Fit) -> Draws:
    """Return draws of the user, with the weights ``w``.

    Raises
    ------
    ValueError, TypeError
        See ``est.with_draws``.
    """
    import xarray as xr

    data, model, statistics = fit.data, fit.bayesian.model, {}
    if isinstance(draws, xr.DataTree):
        if "posterior" not in draws.children:
            raise ValueError(
                f"draws: expected a DataTree with the group posterior, got {quoted(draws.children)}"
            )
        if "sample_stats" in draws.children and "diverging" in draws["sample_stats"]:
            statistics = {"diverging": np.asarray(draws["sample_stats"]["diverging"])}
        draws = draws["posterior"].dataset
    if isinstance(draws, xr.DataArray):
        draws = draws.to_dataset(name="w")
    if isinstance(draws, xr.Dataset):
        kept = _of_dataset(draws, data)
    else:
        kept = {"w": _of_array(draws, data)}
    variables = {name: v.values for name, v in kept.items()}
    if "w" not in variables:
        rule = model.weight_map(data.gram)
        lacking = [name for name in rule.inputs if name not in variables]
        if lacking:
            raise ValueError(
                f"draws: expected the weights w, or {', '.join(rule.inputs)}, from which they "
                f"follow, got {quoted(variables)}"
            )
        inputs = [variables[name] for name in rule.inputs]
        w = rule.weights(*(v.reshape(-1, v.shape[-1]) for v in inputs))
        variables["w"] = w.reshape(*inputs[0].shape[:2], -1)
    variables.pop("squared_norm", None)  # of the Gram matrix of the fit
    _check(variables["w"], fit)
    dims = {name: tuple(map(str, v.dims[2:])) for name, v in kept.items() if name in variables}
    named = {d for of_variable in dims.values() for d in of_variable}
    coords = {d: kept_coords[d] for d in named if d in (kept_coords := _coords(kept))}
    return Draws(
        variables,
        SamplerReport(OWN),
        statistics=statistics,
        dims=dims | {"w": ("point",)},
        coords=coords | {"point": np.arange(data.gram.n_points)},
    )


def _coords(kept: dict[str, xr.DataArray]) -> dict[str, list[Any]]:
    return {
        str(name): np.asarray(values).tolist()
        for v in kept.values()
        for name, values in v.coords.items()
        if name in v.dims[2:] and np.asarray(values).dtype.kind in "iufbUO"
    }


def _of_dataset(draws: xr.Dataset, data: TrainingData) -> dict[str, xr.DataArray]:
    """Return the variables with dims (chain, draw, ...), their points in the order of the fit."""
    if "draw" not in draws.dims:
        raise ValueError(f"draws: expected the dimension draw, got {quoted(draws.dims)}")
    if "chain" not in draws.dims:
        draws = draws.expand_dims("chain")
    counts = {"point": data.gram.n_points, "majority": data.gram.n_majority_points}
    counts["minority"] = data.gram.n1
    for dim in POINTS & set(draws.dims):
        n = counts[str(dim)]
        if draws.sizes[dim] != n:
            raise ValueError(
                f"draws: the fit has {n} points of {dim!r}, and the draws have {draws.sizes[dim]}; "
                "give draws of est.model_, which has the rows of this fit"
            )
        if dim not in draws.coords:
            continue
        own = draws[dim].values
        known: Any = np.arange(n)
        names = data.row_names[data.row_of_point] if dim == "point" else known
        for expected in (known, names):
            if set(own.tolist()) == set(expected.tolist()):
                draws = draws.sel({dim: expected}).assign_coords({dim: known})
                break
        else:
            raise ValueError(
                f"draws: the coordinate {dim!r} names other points than the fit, which has 0 to "
                f"{n - 1}; got {own[:3].tolist()}, ...; drop it to match points by their order"
            )
    found = {
        str(name): v.transpose(*SAMPLE, ...)
        for name, v in draws.data_vars.items()
        if set(SAMPLE) <= set(v.dims) and v.dtype.kind in "fiub"
    }
    if not found:
        raise ValueError("draws: expected variables of dims (chain, draw, ...), got none")
    return found


def _of_array(draws: Any, data: TrainingData) -> xr.DataArray:
    """Return an array (draws, points) or (chains, draws, points) of weights with its dims."""
    import xarray as xr

    try:
        w = np.asarray(draws, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "draws: expected a DataTree, a dataset, or an array of numbers, got "
            f"{draws!r:.80} ({error})"
        ) from error
    w = w[None] if w.ndim == 2 else w
    if w.ndim != 3 or w.shape[-1] != data.gram.n_points:
        raise ValueError(
            f"draws: expected weights of shape (draws, {data.gram.n_points}), one for each point "
            f"of the fit, got shape {np.shape(draws)}"
        )
    return xr.DataArray(w, dims=(*SAMPLE, "point"))


def _check(w: np.ndarray, fit: Fit) -> None:
    """Raise a ValueError for weights that the model of a fit cannot have."""
    model, name, M = fit.bayesian.model, fit.spec.name, fit.data.gram.n_points
    if not w.size or w.ndim != 3 or w.shape[-1] != M:
        raise ValueError(f"draws: expected draws of {M} weights w, got shape {w.shape}")
    if not np.isfinite(w).all():
        raise ValueError("draws: the weights w are not finite in all draws")
    if model.nonnegative and w.min() < LEAST:
        raise ValueError(f"draws: the weights of {name} are at least 0, got {w.min():.3g}")
    if model.sums_to_one:
        Rescaled().check(w.reshape(-1, M))
