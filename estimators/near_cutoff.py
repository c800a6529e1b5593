"""Training rows near the cutoff, each left out: what posterior, prior and samples say of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from ..inference.decision import near
from ..inference.draws import monitored_rows
from ..inference.leave import Leaving
from .training import TrainingData

RATE = 0.1  # of false alarms: the rows lie near its cutoff


@dataclass(frozen=True, eq=False)
class NearCutoff:
    """Up to 20 described rows whose left-out similarity lies between its 3 % and 33 % quantiles.

    Attributes
    ----------
    data : TrainingData
    indices : ndarray of int, shape (q,)
        Their indices among all training rows.
    rescales : bool
        Whether the other weights are rescaled when a row leaves. Weights of no fixed sum are not:
        the sum of a draw of their prior may be 0.
    """

    data: TrainingData
    indices: np.ndarray
    rescales: bool

    @classmethod
    def of(cls, data: TrainingData, weights: np.ndarray, rescales: bool) -> Self:
        """Return the rows near the cutoff, by the mean of the weights (S, M)."""
        majority, mean = np.flatnonzero(data.described), weights.mean(axis=0, keepdims=True)
        leaving = data.leaving(majority)
        s = (leaving.similarity(mean) if rescales else mean @ leaving.k.T)[0]
        if not data.kernel.normalized:
            s -= data.kernel.diag(data.rows[majority]) / 2.0
        chosen = near(s, RATE)
        return cls(data, majority[chosen[monitored_rows(len(chosen))]], rescales)

    @cached_property
    def leaving(self) -> Leaving:
        """The rows, as they leave the centre."""
        return self.data.leaving(self.indices)

    @cached_property
    def _k(self) -> tuple[np.ndarray, np.ndarray]:
        """Kernel values (q, M) with the points, divided by exp of the second, (q,)."""
        if not self.data.kernel.normalized:
            return self.leaving.k, np.zeros(len(self.indices))
        log_k = self.leaving.log_k(np.arange(self.data.gram.n_points))
        largest = log_k.max(axis=1)
        log_scale = np.where(np.isneginf(largest), 0.0, largest)
        return np.exp(log_k - log_scale[:, None]), log_scale

    @property
    def log_scale(self) -> np.ndarray:
        """The logarithm of what similarities are divided by, (q,): they keep their digits."""
        return self._k[1]

    def similarity(self, weights: np.ndarray) -> np.ndarray:
        """Return s_z (S, q) for draws of the weights (S, M), divided by the scale.

        It is 0 in a draw where the row has all of the weight, or more.
        """
        k = self._k[0]
        if not self.rescales:
            return weights @ k.T
        s = self.leaving.similarity(weights, k)
        s[np.isneginf(s)] = 0.0
        return s

    def variance_ratio(self, posterior: np.ndarray, prior: np.ndarray) -> float:
        """Return the posterior variance of s_z over its prior variance, from draws of weights."""
        return _median(self.similarity(posterior).var(axis=0), self.similarity(prior).var(axis=0))

    def against_samples(self, weights: np.ndarray) -> tuple[float, float]:
        """Return ``spread`` and ``pull`` of draws of the weights (S, M)."""
        data, m = self.data, self.data.gram.n_majority_points
        majority, s = np.flatnonzero(data.described), self.similarity(weights)
        if len(majority) < 2:  # no other row
            return np.nan, np.nan
        kernel, rows = data.kernel.leaving_out, data.rows[self.indices]
        itself = self.indices[:, None] == majority
        if kernel.normalized:
            log_k = kernel.log(rows, data.rows[majority]) - self.log_scale[:, None]
            k = np.exp(np.where(itself, np.nan, log_k))
        else:
            k = np.where(itself, np.nan, kernel(rows, data.rows[majority]))
        mean, variance = np.nanmean(k, axis=1), np.nanvar(k, axis=1)
        total = weights[:, :m].sum(axis=1)
        flat = total.mean() * mean + weights[:, m:].mean(axis=0) @ self._k[0][:, m:].T
        sd = s.std(axis=0)
        of_samples = abs(float(np.median(total))) * np.sqrt(variance / data.gram.n0)
        return _median(sd, of_samples), _median(s.mean(axis=0) - flat, sd)


def _median(over: np.ndarray, under: np.ndarray) -> float:
    """Return the median ratio of the rows that have one."""
    found = over[under > 0.0] / under[under > 0.0]
    return float(np.median(found)) if len(found) else np.nan
