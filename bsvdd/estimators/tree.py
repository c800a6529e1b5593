"""The tree of a fit, ``est.idata_``, and draws from a user, ``est.with_draws``.

=================  =====================================================================
group              content
=================  =====================================================================
posterior          draws of ``w``, of a few numbers on the weights, and of ``s``, the
                   similarity of up to 20 left-out training rows near the cutoff:
                   :mod:`bsvdd.estimators.facts`
sample_stats       statistics of the sampler: energy, divergences and others
prior              the same as ``posterior``, from the prior
distance           ``d``, the distances of the training rows in each draw, in the centre
                   and not left out
log_likelihood     ``kernel``, a sum over the rows; no density of rows, so not for
                   ``az.loo``
potential          ``kernel``, the terms of this sum
decision           ``est.decision()``, of the training rows left out, and the cutoff
diagnostics        the largest R-hat and the smallest effective sample size of s at 50
                   atoms, the number of divergences, and medians of the support of the
                   weights
constant_data      the training rows, their classes, weights and groups, and the atom of
                   each
=================  =====================================================================
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from ..base import threads
from ..base.messages import quoted
from ..inference import diagnostics
from ..inference.draws import Draws
from ..inference.fit import Fit
from ..inference.sampling import of_chains
from ..models.weights import Weights
from ..tables.labels import to_save
from ..tables.training import TrainingRows
from .decisions import decision_table

CHAIN_DRAW = ("chain", "draw")
ROUNDED_SUM = 1e-6  # of weights that sum to one
_trees: WeakKeyDictionary[Fit, xr.DataTree] = WeakKeyDictionary()  # each is made once


def tree_of(fit: Fit) -> xr.DataTree:
    """Return the tree of a fit, made when it is first asked for."""
    if fit not in _trees:
        with threads.one():
            _trees[fit] = _tree(fit)
    return _trees[fit]


def by_draw(draws: Draws, values: np.ndarray, *dims: str) -> xr.DataArray:
    """Return values (S, ...) of the draws with the dims ``(chain, draw, *dims)``."""
    shaped = values.reshape(draws.chains, -1, *values.shape[1:])
    coords = {name: np.arange(shaped.shape[i]) for i, name in enumerate(CHAIN_DRAW)}
    return xr.DataArray(shaped, coords, (*CHAIN_DRAW, *dims))


def _tree(fit: Fit) -> xr.DataTree:
    draws = fit.draws
    rows = fit.rows
    obs = np.arange(len(rows.X))
    d = by_draw(draws, fit.distances(rows.X), "obs").assign_coords(obs=obs)
    groups: dict[str, xr.Dataset] = {
        "posterior": _numbers(fit, draws, "posterior"),
        "distance": d.to_dataset(name="d"),
        "constant_data": _constant(fit),
        "decision": _decision(fit),
    }
    if draws.stats:
        dims = {name: (CHAIN_DRAW, v) for name, v in draws.stats.items()}
        groups["sample_stats"] = xr.Dataset(dims)
    if fit.prior is not None:
        groups["prior"] = _numbers(fit, fit.prior, "prior")
    scale = draws.model.likelihood_scale
    if scale is not None:
        i = rows.majority
        weight = xr.DataArray(rows.weight[i], {"obs": i}, "obs")
        terms = -scale / 2.0 * weight * d.sel(obs=i) ** 2
        groups["potential"] = terms.to_dataset(name="kernel")
        groups["log_likelihood"] = groups["potential"].sum("obs")
    groups["diagnostics"] = _diagnostics(fit)
    return xr.DataTree.from_dict(groups)


def _numbers(fit: Fit, draws: Draws, group: str) -> xr.Dataset:
    """Return the weights and what follows from them, of "posterior" or "prior"."""
    w = by_draw(draws, draws.w, "point")
    found = {"w": w.assign_coords(point=np.arange(w.sizes["point"]))}
    if fit.has_draws:
        names = cast("TrainingRows", fit.rows).row_names
        near = names[diagnostics.monitored(fit.dictionary)]
        s = by_draw(draws, diagnostics.similarity(draws), "near")
        found["s"] = s.assign_coords(near=near)
        found |= {n: by_draw(draws, v) for n, v in fit.quantities[group].items()}
    attrs: dict[str, str | float] = {"sampler": draws.sampler} if draws.sampler else {}
    if draws.model.likelihood_scale is not None:
        attrs["likelihood_scale"] = draws.model.likelihood_scale
    return xr.Dataset(found, attrs=attrs)


def _decision(fit: Fit) -> xr.Dataset:
    found = decision_table(fit, None, None, 0.9)
    by_row = found.reset_index(drop=True).rename_axis("obs")
    return xr.Dataset.from_dataframe(by_row).assign(cutoff=fit.D_opt)


def _diagnostics(fit: Fit) -> xr.Dataset:
    quantities = fit.quantities["posterior"]
    names = ("effective_support", "largest_weight")
    found = {name: np.median(quantities[name]) for name in names}
    found |= dict(zip(("r_hat", "ess"), fit.convergence, strict=True))
    if fit.divergences is not None:
        found["divergences"] = fit.divergences
    return xr.Dataset(found)


def _constant(fit: Fit) -> xr.Dataset:
    rows = cast("TrainingRows", fit.rows)
    variables: dict[str, tuple[Any, np.ndarray | None]] = {
        "X": (("obs", "feature"), rows.X),
        "minority": ("obs", rows.minority),
        "weight": ("obs", rows.weight),
        "group": ("obs", rows.group),
        "point_of_row": ("obs", fit.dictionary.of_row),
        "name": ("obs", rows.names),
    }
    attrs = {"labels": json.dumps(to_save(rows.labels))} if rows.labels else {}
    return xr.Dataset(
        {name: of for name, of in variables.items() if of[1] is not None},
        {"obs": np.arange(len(rows.X))},
        {**rows.apart, **attrs},
    )


# draws of the user


def with_draws(known: Fit, draws: Any) -> Fit:
    """Return a fit with draws of the user; see ``est.with_draws``.

    Raises
    ------
    ValueError, TypeError
        Draws that cannot be; the message says what was expected.
    """
    w, stats = weights_of(draws, len(known.dictionary.sizes))
    _require_weights(w, known)
    model = cast("Weights", known.draws.model)
    own = of_chains(model, w, "own", stats)
    own = replace(own, uncalibrated=known.draws.uncalibrated)
    return known.changed(draws=own, seconds=np.nan)


def weights_of(draws: Any, atoms: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return weights (chains, draws, atoms), and statistics of each draw."""
    stats: dict[str, np.ndarray] = {}
    if isinstance(draws, xr.DataTree):
        if "posterior" not in draws.children:
            raise ValueError(
                "draws: expected a DataTree with the group posterior, got "
                f"{quoted(draws.children)}"
            )
        if "sample_stats" in draws.children:
            each = draws["sample_stats"].data_vars.items()
            stats = {str(name): v.to_numpy() for name, v in each if v.ndim == 2}
        draws = draws["posterior"].dataset
    if isinstance(draws, xr.Dataset):
        if "w" not in draws:
            raise ValueError(
                f"draws: expected the weights w, got {quoted(draws.data_vars)}; "
                "est.model_ has them"
            )
        draws = draws["w"]
    if isinstance(draws, xr.DataArray):
        draws = _ordered(draws, atoms)
    return _of_array(draws, atoms), stats


def _ordered(draws: xr.DataArray, atoms: int) -> np.ndarray:
    """Return draws of dims (chain, draw, point), atoms in the order of the fit."""
    if "draw" not in draws.dims or draws.ndim != 2 + ("chain" in draws.dims):
        raise ValueError(
            f"draws: expected the dims chain, draw and point, got {draws.dims}"
        )
    if "chain" not in draws.dims:
        draws = draws.expand_dims("chain")
    draws = draws.transpose(*CHAIN_DRAW, ...)
    dim = draws.dims[2]
    if draws.sizes[dim] == atoms and dim in draws.coords:
        own = draws[dim].values.tolist()
        if set(own) != set(range(atoms)):
            raise ValueError(
                f"draws: the coordinate {dim!r} names other atoms than the fit, which "
                f"has 0 to {atoms - 1}; got {own[:3]}, ...; drop it to match atoms "
                "by their order"
            )
        draws = draws.sel({dim: np.arange(atoms)})
    return draws.to_numpy()


def _of_array(draws: ArrayLike, atoms: int) -> np.ndarray:
    try:
        w = np.asarray(draws, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "draws: expected a DataTree, a dataset, or an array of numbers, got "
            f"{draws!r:.80} ({error})"
        ) from error
    w = w[None] if w.ndim == 2 else w
    if w.ndim != 3 or w.shape[-1] != atoms or not w.size:
        raise ValueError(
            f"draws: expected weights of shape (draws, {atoms}), one for each atom "
            f"of the fit, got shape {np.shape(draws)}"
        )
    return w


def _require_weights(w: np.ndarray, known: Fit) -> None:
    """Raise a ValueError for weights that the model of a fit cannot have."""
    name = type(known.estimator).__name__
    gram = known.dictionary
    on_simplex = cast("Weights", known.draws.model).on_simplex
    if not np.isfinite(w).all():
        raise ValueError("draws: the weights w are not finite in all draws")
    if on_simplex and not gram.n1 and w.min() < -1e-9:
        raise ValueError(
            f"draws: the weights of {name} are at least 0, got {w.min():.3g}"
        )
    total = w.sum(axis=-1)
    if (on_simplex or gram.n1) and np.abs(total - 1.0).max() > ROUNDED_SUM:
        worst = total.ravel()[np.abs(total - 1.0).argmax()]
        raise ValueError(
            f"draws: the weights of {name} sum to 1 in each draw, got {worst:.6g}"
        )
