r"""What a posterior is worth: agreement of its chains, support of its weights, spread of s_z.

Three numbers are medians over up to 20 left-out rows z near the cutoff, of majority
similarity s_z:

- the variance ratio, the posterior variance of s_z over its prior variance;
- the spread, the posterior sd of s_z over its sd between samples of units,
  :math:`t\, \sigma_z / n_0` with t the weight of the majority and :math:`\sigma_z` of
  :meth:`~bsvdd.models.points.Points.spread`;
- the pull, the shift of the mean of s_z in posterior sd, away from that of equal
  weights, t times the mean similarity of z to the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from ..models import calibrate
from ..models.data import Data
from ..models.points import Rows
from .centre import Centre, staying

# points whose chains are compared; rows near the cutoff
MONITORED = 50
MOST_NEAR = 20
EQUAL = np.finfo(float).resolution  # values of a smaller range never change
FEW = 0.1  # share of free weights: without a unit they may sum to nothing
FEWEST = 8  # draws of a chain, so 4 in each half


def effective_support(w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    r"""Return the effective number of rows that weights rest on, (..., M) -> (...).

    .. math:: \left(\textstyle\sum_g |w_g|\right)^2 / \textstyle\sum_g w_g^2 / N_g

    with :math:`N_g` the weight of the rows of point g (Kish 1965).
    """
    return np.asarray(np.abs(w).sum(axis=-1) ** 2 / np.vecdot(w, w / sizes))


@dataclass(frozen=True)
class Chains:
    """The largest R-hat and the smallest bulk effective sample size of several values.

    By the normal scores of their ranks (Vehtari et al. 2021); NaN if a value never
    changes, and R-hat of one chain.
    """

    r_hat: float = np.nan
    ess: float = np.nan

    @classmethod
    def of(cls, values: np.ndarray) -> Self:
        """Return those of values (chains, draws, q); each chain is split."""
        half = values.shape[1] // 2
        if 2 * half < FEWEST:
            return cls()
        split = np.concatenate([values[:, :half], values[:, -half:]])
        scores = _scores(split)
        folded = _scores(np.abs(split - np.median(split, axis=(0, 1))))
        r_hat = np.nan if len(values) == 1 else max(_r_hat(scores), _r_hat(folded))
        return cls(r_hat, _ess(scores))

    @classmethod
    def of_points(cls, w: np.ndarray, K: np.ndarray) -> Self:
        """Return those of the similarities of 50 points, of weights (chains, draws, M)."""
        some = K[:, :: max(1, len(K) // MONITORED)][:, :MONITORED]
        return cls.of(w @ some)


def _r_hat(scores: np.ndarray) -> float:
    """Return the largest R-hat of scores (chains, draws, q)."""
    n = scores.shape[1]
    within = scores.var(axis=1, ddof=1).mean(axis=0)
    between = n * scores.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((between / within + n - 1) / n).max())


def _ess(scores: np.ndarray) -> float:
    """Return the smallest effective sample size of scores (chains, draws, q), as in ArviZ.

    The autocorrelations are summed in pairs, up to the first pair that is not positive
    (Geyer 1992), and no pair counts more than one before it.
    """
    chains, n, q = scores.shape
    size = chains * n
    mean = scores.mean(axis=1, keepdims=True)
    frequencies = rfft(scores - mean, next_fast_len(2 * n), axis=1)
    power = frequencies * frequencies.conj()
    covariance = irfft(power, next_fast_len(2 * n), axis=1)[:, :n].mean(axis=0) / n
    total = covariance[0] + mean.var(axis=0, ddof=1)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1.0 - (covariance[0] * n / (n - 1.0) - covariance) / total
        rho[0] = total / total  # 1, or NaN
    pairs = rho[: (n - 1) // 2 * 2].reshape(-1, 2, q).sum(axis=1)
    ends = pairs <= 0.0
    ends[-1] = True
    end = ends.argmax(axis=0)  # of it only the first of the pair counts
    before = np.arange(len(pairs))[:, None] < end
    last = rho[2 * end, np.arange(q)]
    pair = pairs[end, np.arange(q)]
    tau = 2.0 * np.where(before, np.minimum.accumulate(pairs), 0.0).sum(axis=0) - 1.0
    tau += np.where(pair < 0.0, np.maximum(last, 0.0), last)
    found = size / np.maximum(tau, 1.0 / math.log10(size))
    return float(np.where(np.ptp(scores, axis=(0, 1)) < EQUAL, size, found).min())


def _scores(values: np.ndarray) -> np.ndarray:
    """Return normal scores of the ranks of values (chains, draws, q)."""
    ranks = rankdata(values.reshape(-1, values.shape[-1]), axis=0)
    return np.asarray(
        ndtri((ranks - 0.375) / (len(ranks) + 0.25)).reshape(values.shape)
    )


@dataclass(frozen=True, eq=False)
class Near:
    """Left-out rows near the cutoff.

    Attributes
    ----------
    which : ndarray of int, shape (c,)
    rows : Rows
    sigma : ndarray of shape (c,)
        n0 times the standard deviation between samples of the mean similarity.
    n0 : float
    """

    which: np.ndarray
    rows: Rows
    sigma: np.ndarray
    n0: float

    @classmethod
    def of(cls, data: Data) -> Self:
        """Return those of the data."""
        which = calibrate.near(data)
        which = which[:: max(1, -(-len(which) // MOST_NEAR))]
        sigma = np.empty(len(which))
        for i, squares in data.by_fold(data.points.spread, which):
            sigma[i] = np.sqrt(squares)
        return cls(which, data.rows[data.row[which]], sigma, data.gram.n0)

    def similarity(self, centre: Centre) -> np.ndarray:
        """Return s_z in each draw, (S, c)."""
        return self._scaled(centre) * np.exp(self.rows.L)

    def _scaled(self, centre: Centre, least: float = 0.0) -> np.ndarray:
        """Return e^-L s_z in each draw, (S, c), which does not underflow.

        NaN where of weights of both signs a smaller share than ``least`` stays.
        """
        m = centre.m
        rows = self.rows
        t = centre.total
        s = centre.w[:, :m] @ rows.k[:, :m].T
        if rows.gone.nnz:
            stays = staying(t, (rows.gone[:, :m] @ centre.w[:, :m].T).T) / t
            s /= stays
            if least and centre.w[:, :m].min() < 0.0:
                s[stays < least] = np.nan
        return np.asarray(s)

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean similarity to the others, (c,)."""
        return np.asarray(self.rows.sums / self.rows.others)

    def variance_ratio(self, centre: Centre, prior: Centre) -> float:
        """Return the variance ratio of a posterior to its prior."""
        with np.errstate(divide="ignore", invalid="ignore"):
            after = self._scaled(centre, FEW)
            before = self._scaled(prior, FEW)
            ratio = np.nanvar(after, axis=0) / np.nanvar(before, axis=0)
        return float(np.median(ratio))

    def spread_and_pull(self, centre: Centre) -> tuple[float, float]:
        """Return the spread and the pull of a posterior."""
        s = self._scaled(centre, FEW) * np.exp(self.rows.L)
        t = float(np.median(centre.total))
        with np.errstate(divide="ignore", invalid="ignore"):
            sd = np.nanstd(s, axis=0)
            spread = sd * self.n0 / (abs(t) * self.sigma)
            pull = (np.nanmean(s, axis=0) - t * self.mean) / sd
        return float(np.median(spread)), float(np.median(pull))
