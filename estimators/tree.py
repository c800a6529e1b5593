"""The DataTree of a fit, ``est.idata_``.

=================  =====================================================================
group              content
=================  =====================================================================
posterior          draws of ``w``, its parameters and deterministic variables; of a few numbers
                   on the weights, and of ``log_s`` (or ``s``), the similarity of up to 20 left-out
                   training rows near the cutoff: :mod:`bsvdd.estimators.questions.summary`
log_prior          log prior density of each free variable in each draw
sample_stats       statistics of the sampler
prior              the same from the prior, if it is proper
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
from .fit import Fit
from .questions import summary
from .training import TrainingData


def of_fit(est: Any) -> xr.DataTree:
    """Return the tree of a fitted estimator."""
    fit: Fit = est.fit_
    data, draws, center = fit.data, fit.draws, fit.center
    groups = {**draws.datasets(), **data.groups()}
    groups["posterior"] = groups["posterior"].assign_attrs(fit.attrs)
    if isinstance(center, Center):
        d = draws.of_rows(center.distances(data.rows))
        groups["distance"] = d.to_dataset()
        groups["log_likelihood"] = _log_likelihood(fit.likelihood, draws, d, data)
    else:
        obs = {"obs": np.arange(len(data.rows))}
        groups["score"] = xr.Dataset({"f": ("obs", center.values(data.rows))}, obs)
    if draws.is_posterior:
        prior = None if fit.prior is None else fit.prior.draws
        if prior is not None:
            drawn = prior.datasets()["posterior"]
            groups["prior"] = drawn[[v for v in drawn if v in draws.variables]]
        for group, of_group in summary.variables(fit, est._leaves_out == "rescaled").items():
            groups[group] = groups[group].assign(of_group)
    groups["diagnostics"] = xr.Dataset(dict(fit.diagnostics))
    return xr.DataTree.from_dict({**groups, "decision": _decision(fit)})


def _of_rows(fit: Fit, decision: np.ndarray) -> dict[str, Any]:
    """Return the variables of a decision on rows, as ``center.decision`` has it."""
    score, probability, low, high = decision
    return {
        "probability_normal": ("obs", probability),
        "normal": ("obs", score >= 0.0),
        "surprise": ("obs", 0.0 - score),
        "surprise_low": ("obs", low),
        "surprise_high": ("obs", high),
        "cutoff": fit.distance,
        "level": fit.level,
    }


def _decision(fit: Fit) -> xr.Dataset:
    variables = _of_rows(fit, fit.decision)
    if fit.left_out is not None:
        variables["left_out"] = ("obs", fit.center.distance_of(fit.left_out))
        variables["left_out_surprise"] = ("obs", 0.0 - fit.left_out)
    obs = {"obs": np.arange(len(fit.data.rows))}
    return xr.Dataset(variables, obs, {} if fit.left_out is None else {"cv": str(fit.cv)})


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
