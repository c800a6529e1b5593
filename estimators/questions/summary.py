r"""What a posterior is worth, in a short table: ``est.summary()``.

Quantities with draws have the median of their prior, and the median and a 90 % interval of their
posterior:

- ``effective_support``, :math:`(\sum |w_j|)^2 / \sum w_j^2`: the effective number of points;
- ``largest_weight``, :math:`\max_j |w_j|`;
- ``minority_total``, :math:`\sum_j \alpha_{1j}`, if there are minority points;
- ``squared_norm``, :math:`\|a\|^2 = w^\top K w`;
- ``typical_distance``, the median of d over the majority's training rows;
- ``radius``, if it is a parameter.

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
  is that of an informative prior, and of landmarks that lie apart from the rows. The mean of
  :math:`\log s_z` would move for its skewness alone.

``r_hat`` and ``ess`` are R-hat and the effective draws of
:func:`bsvdd.inference.diagnostics.diagnose`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import pandas as pd
import xarray as xr

from ...inference.center import Center
from ...inference.decision import near
from ...inference.diagnostics import effective_support
from ...inference.draws import SAMPLE, Draws, spread
from ..fit import Fit
from ..training import TrainingData

RATE = 0.1  # of false alarms: the rows lie near its cutoff
INTERVAL = {"low": 0.05, "high": 0.95}
NUMBERS = ("variance_ratio", "spread", "pull", "r_hat", "ess")


@dataclass(frozen=True, eq=False)
class Rows:
    """Majority rows of the training data, each to be left out.

    Attributes
    ----------
    numbers : ndarray of int, shape (q,)
        Their numbers among all training rows.
    own : ndarray of int, shape (q,)
        The points that they are; -1 for none.
    k : ndarray of shape (q, M)
        Kernel values with the points, without the own one (0).
    k_rows : ndarray of shape (q, n)
        Kernel values with the majority rows, without the own one (NaN).
    log_scale : ndarray of shape (q,)
        The kernel values are divided by exp(log_scale): those of a narrow kernel keep their digits.
    n_majority : int
        Number of the points that are the majority's; they come first.
    rescales : bool
        Whether the other weights of the majority are rescaled when a point is left out.
    """

    numbers: np.ndarray
    own: np.ndarray
    k: np.ndarray
    k_rows: np.ndarray
    log_scale: np.ndarray
    n_majority: int
    rescales: bool

    @classmethod
    def of(
        cls, data: TrainingData, numbers: np.ndarray, others: np.ndarray, rescales: bool
    ) -> Self:
        """Return the rows with these numbers, with kernel values of ``others`` (numbers too)."""
        kernel, rows, points = data.kernel.leaving_out, data.rows[numbers], data.gram.points
        own, every = data.point_of_row[numbers], np.concatenate([points, data.rows[others]])
        hidden = np.concatenate(
            [own[:, None] == np.arange(len(points)), numbers[:, None] == others], axis=1
        )
        log_scale = np.zeros(len(rows))
        if kernel.normalized:
            log_k = np.where(hidden, -np.inf, kernel.log(rows, every))
            largest = log_k.max(axis=1)
            log_scale = np.where(np.isneginf(largest), 0.0, largest)
            k = np.exp(log_k - log_scale[:, None])
        else:
            k = np.where(hidden, 0.0, kernel(rows, every))
        k_rows = np.where(hidden, np.nan, k)[:, len(points) :]
        m = data.gram.n_majority_points
        return cls(numbers, own, k[:, : len(points)], k_rows, log_scale, m, rescales)

    def similarity(self, weights: np.ndarray) -> np.ndarray:
        """Return s_z (S, q) for draws of the weights (S, M), divided by the scale."""
        m = self.n_majority
        majority = weights[:, :m] @ self.k[:, :m].T
        if self.rescales:
            total = weights[:, :m].sum(axis=1, keepdims=True)
            rest = total - np.where(self.own >= 0, weights[:, self.own], 0.0)
            majority *= np.divide(total, rest, where=rest > 0.0, out=np.zeros_like(rest))
        return majority + weights[:, m:] @ self.k[:, m:].T


def near_rows(fit: Fit, rescales: bool) -> Rows:
    """Return the rows near the cutoff: by their left-out similarity to the mean of the draws."""
    data, mean = fit.data, cast(Center, fit.center).weights.mean(axis=0, keepdims=True)
    majority = np.flatnonzero(~data.minority)
    every = Rows.of(data, majority, majority[:0], rescales)
    s = every.similarity(mean)[0] * np.exp(every.log_scale)
    if not data.kernel.normalized:
        s -= data.kernel.diag(data.rows[majority]) / 2.0
    chosen = near(s, RATE)
    return Rows.of(data, majority[chosen[spread(len(chosen))]], majority, rescales)


def variance_ratio(rows: Rows, posterior: np.ndarray, prior: np.ndarray) -> float:
    """Return the posterior variance of s_z over its prior variance, from draws of the weights."""
    return _median(rows.similarity(posterior).var(axis=0), rows.similarity(prior).var(axis=0))


def against_samples(rows: Rows, weights: np.ndarray, n0: int) -> tuple[float, float]:
    """Return ``spread`` and ``pull`` of draws of the weights."""
    s, m = rows.similarity(weights), rows.n_majority
    total = weights[:, :m].sum(axis=1)
    mean, variance = np.nanmean(rows.k_rows, axis=1), np.nanvar(rows.k_rows, axis=1)
    flat = total.mean() * mean + weights[:, m:].mean(axis=0) @ rows.k[:, m:].T
    sd = s.std(axis=0)
    of_samples = abs(float(np.median(total))) * np.sqrt(variance / n0)
    return _median(sd, of_samples), _median(s.mean(axis=0) - flat, sd)


def _median(over: np.ndarray, under: np.ndarray) -> float:
    """Return the median ratio of the rows that have one."""
    found = over[under > 0.0] / under[under > 0.0]
    return float(np.median(found)) if len(found) else np.nan


# the table, and the variables of the tree


def quantities(center: Center, data: TrainingData) -> dict[str, np.ndarray]:
    """Return summaries of the weights and distances by name, one number per draw."""
    w, n1 = center.weights, data.gram.n1
    values = {"effective_support": effective_support(w), "largest_weight": np.abs(w).max(axis=1)}
    if n1:
        values["minority_total"] = -w[:, -n1:].sum(axis=1)
    values["squared_norm"] = center.squared_norm
    values["typical_distance"] = np.median(center.distances(data.majority_rows), axis=1)
    return values


def groups(fit: Fit) -> dict[str, tuple[Draws, dict[str, np.ndarray]]]:
    """Return draws with their quantities, of the prior unless it is improper and the posterior."""
    found, center = {}, cast(Center, fit.center)
    if fit.prior is not None and fit.prior.draws is not None:
        prior = fit.prior.draws
        found["prior"] = prior, quantities(Center.of(prior.weights, fit.data.gram), fit.data)
    return {**found, "posterior": (fit.draws, quantities(center, fit.data))}


def of_groups(est: Any) -> dict[str, dict[str, np.ndarray]]:
    """Return the quantities with draws, and the radius if it is a parameter, by group."""
    if not est.fit_.draws.is_posterior:
        raise ValueError(f"{est!r} has one estimate of the weights and no posterior")
    return {
        group: values | ({"radius": draws.flat("radius")} if "radius" in draws.variables else {})
        for group, (draws, values) in groups(est.fit_).items()
    }


def table(est: Any) -> pd.DataFrame:
    """Return the table of ``est.summary()``."""
    values, fit = of_groups(est), est.fit_
    found = pd.DataFrame(index=list(values["posterior"]), columns=["prior"], dtype=float)
    for group, of_group in values.items():
        found[group] = {name: np.median(v) for name, v in of_group.items()}
    for end, share in INTERVAL.items():
        found[end] = {name: np.quantile(v, share) for name, v in values["posterior"].items()}
    rows, w = near_rows(fit, est._leaves_out == "rescaled"), fit.draws.weights
    drawn = "prior" in values
    ratio = variance_ratio(rows, w, fit.prior.draws.weights) if drawn else np.nan
    one = [ratio, *against_samples(rows, w, fit.data.gram.n0)]
    one += [fit.diagnostics[name] for name in ("r_hat", "ess")]
    numbers = pd.DataFrame({"posterior": dict(zip(NUMBERS, one, strict=True))})
    return pd.concat([found, numbers]).rename_axis("quantity")


def variables(fit: Fit, rescales: bool) -> dict[str, dict[Any, xr.DataArray]]:
    """Return the quantities with draws and the similarity of rows near the cutoff, by group.

    The similarity, of dims (chain, draw, near), is ``log_s`` where no weight or kernel value is
    negative, else ``s``.
    """
    rows, found = near_rows(fit, rescales), {}
    logarithmic = cast(Center, fit.center).logarithmic
    for group, (draws, values) in groups(fit).items():
        s = rows.similarity(draws.weights)
        with np.errstate(divide="ignore"):
            s = np.log(s) + rows.log_scale if logarithmic else s * np.exp(rows.log_scale)
        near = {"near": fit.data.row_names[rows.numbers]}
        of_near = xr.DataArray(s.reshape(*draws.shape, -1), near, (*SAMPLE, "near"))
        name = "log_s" if logarithmic else "s"
        found[group] = {**draws.by_draw(values).data_vars, name: of_near}
    return found
