r"""What a posterior is worth, in a short table: ``est.summary()``.

Quantities with draws have the median of their prior, and the median and a 90 % interval of their
posterior:

- ``effective_support``, :math:`(\sum |w_j|)^2 / \sum w_j^2 / n_j`: the effective number of rows,
  with :math:`n_j` the rows of a point;
- ``largest_weight``, :math:`\max_j |w_j| / n_j`;
- ``minority_total``, :math:`\sum_j \alpha_{1j}`, if there are minority points;
- ``squared_norm``, :math:`\|a\|^2 = w^\top K w`;
- ``typical_distance``, the median of d over the majority's training rows.

Others are one number, in the column ``posterior``. Three are medians over (up to 20) training rows
near the cutoff: majority rows whose left-out similarity lies between the 3 % and the 33 % quantile.
Each row z leaves the points, so that :math:`s_z` is the similarity of a new row in its place. The
mean, the variance and the sum are over the posterior draws, and x runs over the other majority rows
that the fit holds.

- ``variance_ratio``, the posterior variance of :math:`s_z` over its prior variance: 1 if the
  posterior is its prior. The prior's sd sets how small it can be, so it is no measure of learning;
- ``spread``, the posterior sd of :math:`s_z` over its sd between samples of this size,
  :math:`t \sqrt{\mathrm{Var}_x\, k(z, x) / n_0}` with t the total of the majority's weights: 1 if
  an interval has the width that a sample of n0 rows gives;
- ``pull``, the shift of the mean of :math:`s_z` in posterior sd, away from equal weights of the
  majority, :math:`t\, \mathrm{mean}_x\, k(z, x)`. A flat prior hardly moves this mean, so the pull
  is that of an informative prior, and of given points that lie apart from the rows. The mean of
  :math:`\log s_z` would move for its skewness alone.

``r_hat`` and ``ess`` are R-hat and the effective draws of
:func:`bsvdd.inference.diagnostics.diagnose`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ..inference.center import Center
from ..inference.diagnostics import effective_support
from ..inference.draws import SAMPLE, Draws
from .fit import Fit
from .training import TrainingData

if TYPE_CHECKING:
    import xarray as xr

INTERVAL = {"low": 0.05, "high": 0.95}
NUMBERS = ("variance_ratio", "spread", "pull", "r_hat", "ess")


def quantities(center: Center, data: TrainingData) -> dict[str, np.ndarray]:
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


def groups(fit: Fit) -> dict[str, tuple[Draws, dict[str, np.ndarray]]]:
    """Return draws with their quantities, of the prior if it has draws, and of the posterior.

    A ValueError if there is no posterior.
    """
    posterior, found = fit.require_posterior(), {}
    center = fit.require_center("which a summary is of")
    if fit.prior is not None:
        found["prior"] = fit.prior, quantities(Center(fit.prior.weights, fit.data.gram), fit.data)
    return {**found, "posterior": (posterior, quantities(center, fit.data))}


def of_groups(fit: Fit) -> dict[str, dict[str, np.ndarray]]:
    """Return the quantities with draws, by group."""
    return {group: values for group, (_, values) in groups(fit).items()}


def table(fit: Fit) -> pd.DataFrame:
    """Return the table of ``est.summary()``."""
    values = of_groups(fit)
    found = pd.DataFrame(index=list(values["posterior"]), columns=["prior"], dtype=float)
    for group, of_group in values.items():
        found[group] = {name: np.median(v) for name, v in of_group.items()}
    for end, share in INTERVAL.items():
        found[end] = {name: np.quantile(v, share) for name, v in values["posterior"].items()}
    numbers = pd.DataFrame({"posterior": worth(fit)})
    return pd.concat([found, numbers]).rename_axis("quantity")


def worth(fit: Fit) -> dict[str, float]:
    """Return what the posterior is worth: variance ratio, spread, pull, R-hat and draws."""
    near, w, prior = fit.near_cutoff, fit.require_posterior().weights, fit.prior
    ratio = np.nan if prior is None else near.variance_ratio(w, prior.weights)
    numbers = [ratio, *near.against_samples(w)]
    numbers += [fit.diagnostics[name] for name in ("r_hat", "ess")]
    return dict(zip(NUMBERS, numbers, strict=True))


def variables(fit: Fit) -> dict[str, dict[Any, xr.DataArray]]:
    """Return the quantities with draws and the similarity of rows near the cutoff, by group.

    The similarity, of dims (chain, draw, near), is ``log_s`` where no weight or kernel value is
    negative, else ``s``.
    """
    import xarray as xr

    rows, found = fit.near_cutoff, {}
    logarithmic = fit.score.logarithmic
    for group, (draws, values) in groups(fit).items():
        s = rows.similarity(draws.weights)
        with np.errstate(divide="ignore"):
            s = np.log(s) + rows.log_scale if logarithmic else s * np.exp(rows.log_scale)
        near = {"near": fit.data.row_names[rows.indices]}
        of_near = xr.DataArray(s.reshape(*draws.shape, -1), near, (*SAMPLE, "near"))
        name = "log_s" if logarithmic else "s"
        found[group] = {**draws.by_draw(values).data_vars, name: of_near}
    return found
