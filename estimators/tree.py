"""The DataTree of a fit, ``est.idata_``.

=================  =====================================================================
group              content
=================  =====================================================================
posterior          draws of ``w``, its parameters and deterministic variables; of a few numbers
                   on the weights, and of ``log_s`` (or ``s``), the similarity of up to 20 left-out
                   training rows near the cutoff: :mod:`bsvdd.estimators.questions.facts`
log_prior          log prior density of each free variable in each draw
sample_stats       statistics of the sampler
prior              the same from the prior, if it is proper
distance           ``d``, the distances of the training rows in each draw
log_likelihood     ``kernel``, the sum over the rows; no density of rows, so not for ``az.loo``
potential          ``kernel``, its terms
score              ``f``, the score of each training row; for models without a centre
decision           P(normal) and decision of the training rows, as ``est.decision()`` has them, the
                   left-out surprises and distances that chose the cutoff, and the cutoff
diagnostics        see :func:`bsvdd.inference.diagnostics.diagnose`
constant_data      the training rows, their classes, and the point of each where they are grouped
=================  =====================================================================
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import xarray as xr

from ..inference.center import Center
from ..inference.diagnostics import effective_support
from ..inference.draws import SAMPLE
from ..models.potential import Likelihood
from .fit import Fit
from .training import TrainingData

_trees: WeakKeyDictionary[Fit, xr.DataTree] = WeakKeyDictionary()  # each is made once


def of_fit(fit: Fit) -> xr.DataTree:
    """Return the tree of a fit, made when it is first asked for."""
    if fit not in _trees:
        _trees[fit] = _of_fit(fit)
    return _trees[fit]


def _of_fit(fit: Fit) -> xr.DataTree:
    data, draws = fit.data, fit.draws
    groups: dict[str, Any] = {**data.groups(), **draws.datasets()}
    groups["posterior"] = groups["posterior"].assign_attrs(fit.attrs)
    d = draws.of_rows(fit.score.distances(data.rows))
    groups["distance"] = d.to_dataset()
    groups["potential"] = _terms(fit.learner.likelihood(data.gram), d, data)
    groups["log_likelihood"] = groups["potential"].sum("obs")
    if fit.learned.posterior is not None:
        if fit.prior is not None:
            drawn = fit.prior.datasets()["posterior"]
            names = fit.learned.posterior.variables
            groups["prior"] = drawn[[v for v in drawn if v in names]]
        for group in quantities(fit):
            groups[group] = groups[group].assign(_variables(fit, group))
    groups["diagnostics"] = xr.Dataset(dict(fit.diagnostics))
    return xr.DataTree.from_dict({**groups, "decision": _decision(fit)})


def quantities(fit: Fit) -> dict[str, dict[str, np.ndarray]]:
    """Return the quantities of a summary, one number per draw, of prior and posterior.

    The prior is not there if it has no draws.
    """
    found = {"posterior": quantities_of(fit.score, fit.data)}
    if fit.prior is not None:
        of_prior = Center(fit.prior.weights, fit.data.gram)
        found = {"prior": quantities_of(of_prior, fit.data), **found}
    return found


def quantities_of(center: Center, data: TrainingData) -> dict[str, np.ndarray]:
    """Return summaries of the weights and distances by name, one number per draw."""
    w, n1, sizes = center.weights, data.gram.n1, data.gram.points.sizes
    values = {
        "effective_support": effective_support(w, sizes),
        "largest_weight": np.abs(w / sizes).max(axis=1),
    }
    if n1:
        values["minority_total"] = -w[:, -n1:].sum(axis=1)
    values["squared_norm"] = center.squared_norm
    values["typical_distance"] = np.median(center.distances(data.majority_rows), axis=1)
    return values


def _variables(fit: Fit, group: str) -> dict[Any, xr.DataArray]:
    """Return the quantities with draws and the similarity of rows near the cutoff, of a group.

    The similarity, of dims (chain, draw, near), is ``log_s`` where no weight or kernel value is
    negative, else ``s``.
    """
    draws, near = fit.prior if group == "prior" else fit.learned.posterior, fit.near_cutoff
    assert draws is not None  # else it has no quantities
    s = near.similarity(draws.weights)
    with np.errstate(divide="ignore"):
        s = np.log(s) + near.log_scale if fit.score.logarithmic else s * np.exp(near.log_scale)
    names = {"near": fit.data.row_names[near.indices]}
    of_near = xr.DataArray(s.reshape(*draws.shape, -1), names, (*SAMPLE, "near"))
    of_weights = draws.by_draw(quantities(fit)[group]).data_vars
    return {**of_weights, "log_s" if fit.score.logarithmic else "s": of_near}


def _decision(fit: Fit) -> xr.Dataset:
    score, probability, low, high = fit.training_decision()
    variables: dict[str, Any] = {
        "probability_normal": ("obs", probability),
        "normal": ("obs", score >= 0.0),
        "surprise": ("obs", 0.0 - score),
        "surprise_low": ("obs", low),
        "surprise_high": ("obs", high),
        "cutoff": fit.distance,
        "level": fit.level,
    }
    left_out, attrs = fit.chosen.left_out, {}
    if left_out is not None:
        variables["left_out"] = ("obs", fit.score.distance_of(left_out))
        variables["left_out_surprise"] = ("obs", 0.0 - left_out)
        attrs = {"cv": str(fit.cutoff.cv)}
    return xr.Dataset(variables, {"obs": np.arange(len(fit.data.rows))}, attrs)


def _terms(likelihood: Likelihood, d: xr.DataArray, data: TrainingData) -> xr.Dataset:
    """Return the log-likelihood's terms of majority rows.

    They are in a group of their own: in ``log_likelihood``, ``az.loo`` and ``az.compare`` would
    take them for log densities of the rows.
    """
    obs, majority = np.arange(len(data.rows)), data.described
    values = likelihood.pointwise(d.values if majority.all() else d.values[..., majority])
    return xr.Dataset({"kernel": (d.dims, values)}, {**d.coords, "obs": obs[majority]})
