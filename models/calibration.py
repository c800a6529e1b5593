r"""The weight of the likelihood at which the posterior has the spread of samples.

Over samples of n0 rows, the similarity of z to their mean has the variance
:math:`\operatorname{Var}_x k(z, x) / n_0`. The posterior of a quasi-likelihood has the spread that
:math:`\lambda` gives it. :func:`calibrated` returns the :math:`\lambda` at which the two agree for
rows near the cutoff, where decisions are made, under the default prior: normal with the standard
deviation ``SD``, of the log weights of BSVDD and of the weights of BDD in units of 1/M.

**The spread of one weight.** In mean field, one log weight of BSVDD has the density

.. math::
    f(\beta) \propto \exp\left(-\frac{\beta^2}{2 \sigma^2} - a e^{2 \beta} + b e^\beta\right),
    \qquad A = 2 a (\mathrm{E}\, e^\beta)^2, \qquad
    V(A) = \frac{\operatorname{Var} e^\beta}{(\mathrm{E}\, e^\beta)^2},

with b such that :math:`\mathrm{E}\, \beta = 0`. A is the curvature of the likelihood, and V the
variance of M w. So the prior counts as the precision :math:`\Lambda = 1 / V(A) - A` of M w. For BDD
it is :math:`1 / \sigma^2`.

**The spread of a similarity.** M w has the covariance

.. math::
    P = \left(\frac{\lambda n_0}{M^2} K + \Lambda I\right)^{-1}, \qquad
    \frac{\operatorname{tr} P}{M} = V(A).

For a row z that is no point, with :math:`k_z` its kernel values with the points,

.. math::
    M^2 \operatorname{Var} s_z = q - h^2 / t, \qquad
    q = k_z^\top P k_z, \qquad h = k_z^\top P 1, \qquad t = 1^\top P 1,

where :math:`h^2 / t` is there as the weights of BSVDD sum to one, and not for BDD. A row j that is
a point is left out of them first. With :math:`c = \lambda n_0 / M^2` and
:math:`R_j = \sum_{i \ne j} P_{ij}`,

.. math::
    q_j = \frac{k_{jj}}{c} - \frac{1 / P_{jj} - \Lambda}{c^2}
    = -\sum_{i \ne j} \frac{K_{ij} P_{ij}}{c P_{jj}}, \qquad
    h_j = -\frac{R_j}{c P_{jj}}, \qquad
    t_j = 1^\top P 1 - 2 R_j - P_{jj} - \frac{R_j^2}{P_{jj}}.

**The root.** :math:`\lambda` is where the median of
:math:`\log [n_0 (q - h^2 / t) / (M^2 \operatorname{Var}_x k(z, x))]` over the rows near the cutoff
is zero. For :math:`\lambda \to 0` the ratio is that of the prior, above one, and for
:math:`\lambda \to \infty` it is zero, so there is a root. For K = I it is :math:`\lambda = A n_0`
with V(A) = 1. One eigendecomposition of K makes every :math:`\lambda` cost :math:`O(M^2)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.linalg import eigh
from scipy.optimize import brentq

from .gram import Gram

SD = 1.5  # of the default priors of BSVDD and BDD
NEAR_QUANTILES = (0.03, 0.33)  # quantiles of similarity between which a row is near the cutoff
FEWEST = 3  # rows near the cutoff
SMALLEST_VARIANCE = 1e-8  # of the kernel values of a row, in units of k(z, z)^2
MOST_ROWS = 2000  # that are no points, for the spread of samples
STEP, MOST_STEPS = 8.0, 20  # of the search on both sides of the root
CURVATURES = np.geomspace(1e-14, 1.5, 250)  # a, with V(A) down to .2: Lambda is positive

Variances = Callable[[np.ndarray, float, float], np.ndarray]  # from d, c and Lambda


@dataclass(frozen=True)
class Calibration:
    """The calibrated weight of the likelihood.

    Attributes
    ----------
    scale : float
        lambda.
    reason : str or None
        Why there is no root. The number is then that of rows that are similar to none but
        themselves, or 1 if all kernel values are 0.
    """

    scale: float
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Spread:
    """The spread of similarities near the cutoff: of the posterior, and of samples.

    Attributes
    ----------
    eigenvalues : ndarray of shape (M,)
        Of K.
    posterior : callable
        M^2 Var s_z of each row near the cutoff, from the eigenvalues of P, c and Lambda.
    samples : ndarray
        Var_x k(z, x) of the same rows.
    """

    eigenvalues: np.ndarray
    posterior: Variances
    samples: np.ndarray

    def log_ratio(self, c: float, on_simplex: bool) -> float:
        """Return the median of the log ratio of both variances, up to log(n0 / M^2)."""
        precision = prior_precision(c * self.eigenvalues) if on_simplex else SD**-2
        d = 1.0 / (c * self.eigenvalues + precision)
        variance = np.maximum(self.posterior(d, c, precision), np.finfo(float).tiny)
        return float(np.median(np.log(variance / self.samples)))


def calibrated(
    gram: Gram,
    rows: np.ndarray | None = None,
    is_point: np.ndarray | None = None,
    on_simplex: bool = True,
) -> Calibration:
    """Return the calibrated weight of the likelihood.

    Parameters
    ----------
    gram : Gram
        Without minority points.
    rows : ndarray of shape (n, p), optional
        Majority rows, if they are not the points.
    is_point : ndarray of bool, shape (n,), optional
        Which of these rows are points.
    on_simplex : bool, default=True
        Whether the weights are those of BSVDD, and not the free weights of BDD.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> from bsvdd.models import Gram
    >>> from bsvdd.models.calibration import calibrated
    >>> rows = np.random.default_rng(0).normal(size=(100, 2))
    >>> gram = Gram.from_rows(kernels.RBF(0.5), rows)
    >>> round(calibrated(gram).scale, 1)
    12.5
    """
    unit = float(np.mean(np.diag(gram.K)))
    alone = curvature_of_one() if on_simplex else 1.0 - SD**-2  # the root for K = I
    per_scale = gram.n0 * unit / gram.n_points**2  # c = per_scale lambda, for K in units of k(z, z)
    if not unit > 0.0:
        return Calibration(1.0, "all kernel values are 0")
    found: Spread | str = "" if rows is None else of_rows(gram, unit, rows, is_point, on_simplex)
    spread = of_points(gram, unit, on_simplex) if isinstance(found, str) else found
    if isinstance(spread, str):
        return Calibration(alone / per_scale, spread or None)
    level = np.log(gram.n0) - 2.0 * np.log(gram.n_points)

    def log_ratio(log_c: float) -> float:
        return spread.log_ratio(float(np.exp(log_c)), on_simplex) + level

    low = high = float(np.log(alone))
    step = np.log(STEP) * (1.0 if log_ratio(low) > 0.0 else -1.0)
    for _ in range(MOST_STEPS):
        low, high = high, high + step
        if log_ratio(high) * step <= 0.0:
            return Calibration(float(np.exp(brentq(log_ratio, low, high, xtol=1e-5))) / per_scale)
    return Calibration(
        alone / per_scale, "rounding decides the spread of the posterior for every lambda"
    )


# the prior's precision


@cache
def _log_variance() -> CubicSpline:
    """Return log V as a function of log A, from both for the curvatures a by quadrature."""
    beta = np.arange(-9.0 * SD, 2.0 * SD**2 + 9.0 * SD, 0.01)
    weight = np.exp(beta)

    def moments(a: float, b: float) -> tuple[float, float, float]:
        log_f = -(beta**2) / (2.0 * SD**2) - a * weight**2 + b * weight
        f = np.exp(log_f - log_f.max())
        f /= f.sum()
        return float(f @ beta), float(f @ weight), float(f @ weight**2)

    A, V = np.empty(len(CURVATURES)), np.empty(len(CURVATURES))
    for i, a in enumerate(CURVATURES):
        b = brentq(lambda b, a=a: moments(a, b)[0], 0.0, 3.0 * a * np.exp(1.5 * SD**2))
        _, mean, square = moments(a, b)
        A[i], V[i] = 2.0 * a * mean**2, square / mean**2 - 1.0
    return CubicSpline(np.log(A), np.log(V))


def variance(A: float) -> float:
    """Return V(A), the variance of M w where the likelihood has the curvature A."""
    return float(np.exp(_log_variance()(np.log(A))))


@cache
def curvature_of_one() -> float:
    """Return the A with V(A) = 1, which is the spread of the Dirichlet(1, ..., 1)."""
    log_A = _log_variance().x
    return float(np.exp(brentq(_log_variance(), log_A[0], log_A[-1])))


def prior_precision(scaled: np.ndarray) -> float:
    """Return Lambda for the eigenvalues of c K, such that tr P / M = V(A)."""
    spline = _log_variance()

    def precision(log_A: float) -> float:
        return float(np.exp(-spline(log_A)) - np.exp(log_A))

    def excess(log_A: float) -> float:
        return float(np.mean(1.0 / (scaled + precision(log_A))) - np.exp(spline(log_A)))

    low, high = spline.x[0], spline.x[-1]
    if excess(low) >= 0.0:
        return precision(low)
    if excess(high) <= 0.0:
        return precision(high)
    return precision(brentq(excess, low, high, xtol=1e-9))


# the rows near the cutoff


def of_points(gram: Gram, unit: float, on_simplex: bool) -> Spread | str:
    """Return the spread at the points near the cutoff, each left out, or why there is none."""
    M, K = gram.n_points, gram.K / unit
    own = np.diag(K)
    mean = (K.sum(axis=1) - own) / max(M - 1, 1)
    samples = (np.square(K).sum(axis=1) - own**2) / max(M - 1, 1) - mean**2
    near = _near(mean, own, samples)
    if isinstance(near, str):
        return near
    eigenvalues, U = eigh(K, driver="evd")
    sums, U, own = U.sum(axis=0), U[near], own[near]
    squares = U**2

    def posterior(d: np.ndarray, c: float, precision: float) -> np.ndarray:
        P = squares @ d
        q: np.ndarray = (own - (1.0 / P - precision) / c) / c
        if not on_simplex:
            return q
        R = U @ (d * sums) - P
        t = d @ sums**2 - 2.0 * R - P - R**2 / P
        return q - (R / (c * P)) ** 2 / t

    return Spread(np.maximum(eigenvalues, 0.0), posterior, samples[near])


def of_rows(
    gram: Gram, unit: float, rows: np.ndarray, is_point: np.ndarray | None, on_simplex: bool
) -> Spread | str:
    """Return the spread at the rows near the cutoff that are no points, or why there is none.

    The spread of samples is that of the similarity to the projection of rows on the points.
    """
    some = slice(None, None, max(1, len(rows) // MOST_ROWS))
    is_point = np.zeros(len(rows), dtype=bool) if is_point is None else is_point
    rows, is_point = rows[some], is_point[some]
    if (~is_point).sum() < FEWEST:
        return "nearly all rows are points"
    eigenvalues, U = eigh(gram.K / unit, driver="evd")
    eigenvalues = np.maximum(eigenvalues, 0.0)
    in_U = gram.kernel(rows, gram.points) / unit @ U
    kept = eigenvalues > np.finfo(float).eps * len(U) * eigenvalues[-1]
    images = in_U[:, kept] / np.sqrt(eigenvalues[kept])
    own = np.square(images).sum(axis=1)
    mean = (images @ images.sum(axis=0) - own) / (len(rows) - 1)
    square = np.vecdot(images @ (images.T @ images), images) - own**2
    samples = square / (len(rows) - 1) - mean**2
    near = _near(mean[~is_point], gram.kernel.diag(rows[~is_point]) / unit, samples[~is_point])
    if isinstance(near, str):
        return near
    sums, in_U = U.sum(axis=0), in_U[~is_point][near]
    squares = in_U**2

    def posterior(d: np.ndarray, c: float, precision: float) -> np.ndarray:
        q: np.ndarray = squares @ d
        return q - (in_U @ (d * sums)) ** 2 / (d @ sums**2) if on_simplex else q

    return Spread(eigenvalues, posterior, samples[~is_point][near])


def _near(similarity: np.ndarray, own: np.ndarray, samples: np.ndarray) -> np.ndarray | str:
    """Return the rows near the cutoff, or why they are too few: "" if each row is alone.

    Parameters
    ----------
    similarity, own, samples : ndarray of shape (n,)
        Left-out similarity for equal weights, k(z, z), and the variance of kernel values.
    """
    closeness = 2.0 * similarity - own  # minus the squared distance
    low, high = np.quantile(closeness, NEAR_QUANTILES)
    near = (closeness >= low) & (closeness <= high)
    if near.sum() < FEWEST:
        return f"{len(own)} rows are too few to tell the spread of samples"
    varies = near & (samples > SMALLEST_VARIANCE * own**2)
    if varies.sum() >= FEWEST:
        return np.flatnonzero(varies)
    if np.median(np.abs(similarity[near])) < SMALLEST_VARIANCE**0.5 * np.median(own[near]):
        return ""
    return "the kernel values of the rows near the cutoff do not vary"
