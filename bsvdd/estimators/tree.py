r"""The tree of a fit, ``est.idata_``, and draws from a user, ``est.with_draws``.

=================  =====================================================================
group              content
=================  =====================================================================
posterior          draws of the variables of ``est.model_`` under their names, and of
                   ``w``; of a few numbers on the weights, and of ``s``, the similarity
                   of up to 20 left-out training rows near the cutoff:
                   :mod:`bsvdd.estimators.facts`
sample_stats       statistics of the sampler: energy, divergences and others
prior              the same as ``posterior``, from the prior
log_prior          the log prior density of each free variable; not of draws that came
                   by ``with_draws``, whose prior may be another one
log_likelihood     what the data say of a draw, as two terms, ``similarity``,
                   :math:`\lambda w^\top r`, and ``norm``,
                   :math:`-\lambda (T + n_0 w^\top K w) / 2`. ``az.psense_summary`` adds
                   them up. They are no densities of rows, and ``az.loo``, which takes
                   one variable, refuses them
distance           ``d``, the distances of the training rows in each draw, in the centre
                   and not left out
decision           ``est.decision()``, of the training rows left out, and the cutoff
diagnostics        the largest R-hat and the smallest effective sample size of s at 50
                   atoms and of hyperparameters, the number of divergences, and medians
                   of the support of the weights
constant_data      the training rows, their classes, weights and groups, and the atom of
                   each; K, r, T and n0, the data of the model
=================  =====================================================================

The coordinates ``point``, ``obs`` and ``near`` are names of rows: those of the data
frame, or numbers. A point is an atom of the dictionary. It has the name of its first
row, and the number of its rows if their values differ.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr

from ..base import threads
from ..inference import diagnostics
from ..inference.density import of_normals
from ..inference.draws import Draws
from ..inference.fit import Fit
from ..inference.own_draws import CHAIN_DRAW, of_chains
from ..models.priors import NormalMap
from ..models.weights import Weights
from ..tables.labels import to_save
from ..tables.training import TrainingRows
from .decisions import decision_table

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
    d = by_draw(draws, fit.distances(rows.X), "obs")
    d = d.assign_coords(obs=rows.unique_names)
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
    if isinstance(draws.model, Weights):
        scale = draws.model.likelihood_scale
        gram = fit.dictionary
        similarity = by_draw(draws, scale * (draws.w @ gram.r))
        norm = by_draw(draws, scale / -2.0 * (gram.T + gram.n0 * draws.squared_norm))
        terms = {"similarity": similarity, "norm": norm}
        groups["log_likelihood"] = xr.Dataset(terms)
        known = set(draws.model.variables) <= set(draws.variables)
        if known and draws.knows_prior:
            groups["log_prior"] = _log_prior(draws, groups["posterior"])
    groups["diagnostics"] = _diagnostics(fit)
    return xr.DataTree.from_dict(groups)


def of_variables(draws: Draws) -> dict[str, xr.DataArray]:
    """Return the variables of draws, and w, with their coordinates."""
    known = {"point": draws.dictionary.names} | draws.coords
    if isinstance(draws.model, Weights):
        known |= draws.model.coords
    named = {**draws.variables, "w": (("point",), draws.w)}
    found = {}
    for name, (dims, values) in named.items():
        x = by_draw(draws, values, *dims)
        found[name] = x.assign_coords({d: known[d] for d in dims if d in known})
    return found


def _numbers(fit: Fit, draws: Draws, group: str) -> xr.Dataset:
    """Return variables, weights and what follows, of "posterior" or "prior"."""
    found = of_variables(draws)
    if fit.has_draws:
        names = fit.rows.unique_names
        near = names[diagnostics.monitored(fit.dictionary)]
        s = by_draw(draws, diagnostics.similarity(draws), "near")
        found["s"] = s.assign_coords(near=near)
        found |= {n: by_draw(draws, v) for n, v in fit.quantities[group].items()}
    attrs: dict[str, str | float] = {"sampler": draws.sampler} if draws.sampler else {}
    if draws.model.likelihood_scale is not None:
        attrs["likelihood_scale"] = draws.model.likelihood_scale
    return xr.Dataset(found, attrs=attrs)


def _log_prior(draws: Draws, posterior: xr.Dataset) -> xr.Dataset:
    """Return the log prior density of each free variable in each draw."""
    model = cast("Weights", draws.model)
    if of_normals(model) is None:
        from ..inference.user_priors import log_prior

        return log_prior(model, posterior)
    found = {}
    for name, (prior, _) in model.variables.items():
        x = draws.variables[name][1]
        free, value = next(iter(cast("NormalMap", prior).named(name, x).items()))
        density = cast("NormalMap", prior).log_density(value)
        dims = (model.dims[name],) * (density.ndim - 1)
        found[free] = by_draw(draws, density, *dims)
    whole = xr.Dataset(found)
    known = {d: names for d, names in model.coords.items() if d in whole.dims}
    return whole.assign_coords(known)


def _decision(fit: Fit) -> xr.Dataset:
    found = decision_table(fit, None, None, 0.9)
    by_row = found.set_axis(fit.rows.unique_names).rename_axis("obs")
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
    gram = fit.dictionary
    variables: dict[str, tuple[Any, np.ndarray]] = {
        "X": (("obs", "feature"), rows.X),
        "minority": ("obs", rows.minority),
        "weight": ("obs", rows.weight),
        "group": ("obs", rows.group),
        "point_of_row": ("obs", fit.dictionary.of_row),
        "K": (("point", "other_point"), gram.K),
        "r": ("point", gram.r),
        "T": ((), np.asarray(gram.T)),
        "n0": ((), np.asarray(gram.n0)),
    }
    attrs = {"labels": json.dumps(to_save(rows.labels))} if rows.labels else {}
    coords = {"obs": rows.unique_names, "point": gram.names, "other_point": gram.names}
    return xr.Dataset(variables, coords, {**rows.apart, **attrs})


# draws of the user


def with_draws(known: Fit, draws: Any) -> Fit:
    """Return a fit with draws of the user; see ``est.with_draws``.

    Raises
    ------
    ValueError, TypeError
        Draws that cannot be; the message says what was expected.
    """
    own = of_chains(cast("Weights", known.draws.model), draws, "own")
    own = replace(own, uncalibrated=known.draws.uncalibrated)
    return known.changed(draws=own, seconds=np.nan)
