"""The DataTree of a fit, ``est.idata_``.

=================  =====================================================================
group              content
=================  =====================================================================
posterior          draws of ``w``; of a few numbers on the weights, and of ``s``, the similarity of
                   up to 20 left-out training rows near the cutoff:
                   :mod:`bsvdd.estimators.questions.facts`
sample_stats       statistics of the sampler
prior              the same from the prior
distance           ``d``, the distances of the training rows in each draw, as those of new rows
log_likelihood     ``kernel``, the sum over the rows; no density of rows, so not for ``az.loo``
potential          ``kernel``, its terms
decision           what ``est.decision()`` has of the training rows, each left out, and the cutoff
diagnostics        the largest R-hat and the smallest effective sample size of s at 50 points, the
                   number of divergences, and medians of the support of the weights
constant_data      the training rows, their classes, weights and batches, and the point of each
=================  =====================================================================
"""

from __future__ import annotations

import json
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr

from ..inference import threads
from ..inference.fit import Learned
from . import decisions
from .fitted import Fitted
from .labels import to_save

SAMPLE = "chain", "draw"
_trees: WeakKeyDictionary[Fitted, xr.DataTree] = WeakKeyDictionary()  # each is made once


def of_fit(fitted: Fitted) -> xr.DataTree:
    """Return the tree of a fit, made when it is first asked for."""
    if fitted not in _trees:
        with threads.one():
            _trees[fitted] = _of_fit(fitted)
    return _trees[fitted]


def by_draw(learned: Learned, values: np.ndarray, *dims: str) -> xr.DataArray:
    """Return values (S, ...) of the draws with their dims, ``(chain, draw, *dims)``."""
    chains = learned.chains
    shaped = values.reshape(chains, -1, *values.shape[1:])
    coords = {"chain": np.arange(chains), "draw": np.arange(shaped.shape[1])}
    return xr.DataArray(shaped, coords, (*SAMPLE, *dims))


def _of_fit(fitted: Fitted) -> xr.DataTree:
    learned, data = fitted.learned, fitted.data
    obs = np.arange(len(data.units.X))
    d = by_draw(learned, fitted.fit.distances(data.units.X), "obs").assign_coords(obs=obs)
    groups: dict[str, Any] = {
        "posterior": _draws(fitted, "posterior"),
        "distance": d.to_dataset(name="d"),
        "constant_data": _constant(fitted),
        "decision": _decision(fitted),
    }
    if learned.stats:
        dims = {name: (SAMPLE, v) for name, v in learned.stats.items()}
        groups["sample_stats"] = xr.Dataset(dims)
    if fitted.prior is not None:
        groups["prior"] = _draws(fitted, "prior")
    if learned.scale is not None:
        taught = data.units.majority
        weight = xr.DataArray(data.units.weight[taught], {"obs": taught}, "obs")
        terms = -learned.scale.scale / 2.0 * weight * d.sel(obs=taught) ** 2
        groups["potential"] = terms.to_dataset(name="kernel")
        groups["log_likelihood"] = groups["potential"].sum("obs")
    groups["diagnostics"] = _diagnostics(fitted)
    return xr.DataTree.from_dict(groups)


def _draws(fitted: Fitted, group: str) -> xr.Dataset:
    """Return the weights and what follows from them, of "posterior" or "prior"."""
    learned = fitted.learned
    if group == "prior":
        assert fitted.prior is not None
        learned = Learned(fitted.prior)
    w = by_draw(learned, learned.centre.w, "point")
    found = {"w": w.assign_coords(point=np.arange(w.sizes["point"]))}
    if fitted.has_draws:
        near = fitted.training.row_names[fitted.near.which]
        s = by_draw(learned, fitted.near.similarity(learned.centre), "near")
        found["s"] = s.assign_coords(near=near)
        found |= {n: by_draw(learned, v) for n, v in fitted.quantities[group].items()}
    attrs: dict[str, Any] = {"sampler": learned.sampler} if learned.sampler else {}
    if fitted.learned.scale is not None:
        attrs["likelihood_scale"] = fitted.learned.scale.scale
    return xr.Dataset(found, attrs=attrs)


def _decision(fitted: Fitted) -> xr.Dataset:
    found = decisions.of_fit(fitted, None, None, 0.9)
    columns = {str(name): ("obs", found[name].to_numpy()) for name in found}
    return xr.Dataset({**columns, "cutoff": fitted.fit.D_opt}, {"obs": np.arange(len(found))})


def _diagnostics(fitted: Fitted) -> xr.Dataset:
    of_posterior = fitted.quantities["posterior"]
    found = {
        name: np.median(of_posterior[name]) for name in ("effective_support", "largest_weight")
    }
    found |= {"r_hat": fitted.chains.r_hat, "ess": fitted.chains.ess}
    return xr.Dataset({**found, "divergences": fitted.divergences})


def _constant(fitted: Fitted) -> xr.Dataset:
    training, units = fitted.training, fitted.data.units
    variables: dict[str, Any] = {
        "X": (("obs", "feature"), units.X),
        "minority": ("obs", units.minority),
        "weight": ("obs", units.weight),
        "unit": ("obs", units.unit),
        "point_of_row": ("obs", fitted.gram.of_row),
        "name": ("obs", training.names),
    }
    attrs = {"labels": json.dumps(to_save(training.labels))} if training.labels else {}
    return xr.Dataset(
        {name: of for name, of in variables.items() if of[1] is not None},
        {"obs": np.arange(len(units.X))},
        {**training.apart, **attrs},
    )
