"""The DataTree of a fit, ``est.idata_``.

=================  =====================================================================
group              content
=================  =====================================================================
posterior          draws of ``w``, its parameters and deterministic variables
log_prior          log prior density of each free variable in each draw
sample_stats       statistics of the sampler
prior              draws of the prior, for proper priors
distance           ``d``, the distances of the training rows in each draw
log_likelihood     ``kernel``, pointwise
score              ``f``, the score of each training row; for models without a centre
decision           P(normal) and decision of the training rows, their left-out scores and
                   distances, and the cutoff
diagnostics        see :func:`bsvdd.inference.diagnostics.diagnose`
constant_data      the training rows and their classes
gram               Gram statistics of landmarks, which do not follow from the rows
=================  =====================================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from ..inference.center import Center
from ..inference.draws import Draws
from ..models.potential import Likelihood, parameters_of
from . import new_rows
from .fit import Fit
from .inputs import row_names
from .training import TrainingData


def of_fit(est: Any) -> xr.DataTree:
    """Return the tree of a fitted estimator."""
    fit: Fit = est.fit_
    data, draws, center = fit.data, fit.draws, fit.center
    groups = {**draws.datasets(), "constant_data": data.dataset()}
    groups["posterior"] = groups["posterior"].assign_attrs(fit.attrs)
    if isinstance(center, Center):
        d = draws.of_rows(center.distances(data.rows))
        groups["distance"] = d.to_dataset()
        likelihood = est._likelihood()
        if likelihood is not None:
            groups["log_likelihood"] = _log_likelihood(likelihood, draws, d, data)
    else:
        obs = {"obs": np.arange(len(data.rows))}
        groups["score"] = xr.Dataset({"f": ("obs", fit.decision[0])}, obs)
    if fit.prior is not None:
        groups["prior"] = fit.prior
    groups["diagnostics"] = xr.Dataset(dict(fit.diagnostics))
    groups |= data.dictionary.groups(data)
    return xr.DataTree.from_dict({**groups, "decision": _decision(fit, est.cutoff_)})


def with_predictions(est: Any, X: Any) -> xr.DataTree:
    """Return a copy of the tree with the group ``predictions``, for new rows."""
    fit: Fit = est.fit_
    center: Any = fit.center
    rows = new_rows.table(est, X)
    score, probability = center.decision(rows, fit.cutoff, fit.level)
    d, common = (
        fit.draws.of_rows(center.distances(rows, common_norm)).drop_vars("obs")
        for common_norm in (False, True)
    )
    tree: xr.DataTree = est.idata_.copy()
    tree["predictions"] = xr.Dataset(
        {
            "d": d,
            "d_common_norm": common,
            "probability_normal": ("obs", probability),
            "normal": ("obs", score >= fit.cutoff),
            "score": ("obs", score),
            "cutoff": est.cutoff_,
            "level": fit.level,
        },
        {"obs": row_names(X, len(rows))},
    )
    return tree


def _decision(fit: Fit, cutoff: float) -> xr.Dataset:
    score, probability = fit.decision
    decision = xr.Dataset(
        {
            "probability_normal": ("obs", probability),
            "normal": ("obs", score >= fit.cutoff),
            "cutoff": cutoff,
            "offset": fit.cutoff,
            "level": fit.level,
        },
        {"obs": np.arange(len(score))},
    )
    if fit.left_out is None:
        return decision
    return decision.assign(
        left_out=("obs", fit.center.distance_of(fit.left_out)),
        left_out_score=("obs", fit.left_out),
    ).assign_attrs(cv=str(fit.cv))


def _log_likelihood(
    likelihood: Likelihood, draws: Draws, d: xr.DataArray, data: TrainingData
) -> xr.Dataset:
    """Return the log-likelihood of the majority rows, and of minority rows if they have terms."""
    parameters = {name: draws.variables[name] for name in parameters_of(likelihood)}
    obs, majority = np.arange(len(data.rows)), ~data.minority
    rows = d.values if majority.all() else d.values[..., majority]
    values = likelihood.pointwise(rows, **parameters)
    of_minority = getattr(likelihood, "minority_pointwise", None)
    if of_minority is None or not data.gram.n1:
        return xr.Dataset({"kernel": (d.dims, values)}, {**d.coords, "obs": obs[majority]})
    every = np.empty(d.shape)
    every[..., majority] = values
    every[..., data.minority] = of_minority(d.values[..., data.minority], **parameters)
    return xr.Dataset({"kernel": (d.dims, every)}, d.coords)
