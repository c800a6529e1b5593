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

A group of n rows has the spread :math:`\sigma_n` of the sum of its rows
(:mod:`bsvdd.models.groups`), so V and A are its own, and :math:`\Lambda_n`; for BDD it is
:math:`n / \sigma^2`.

**The spread of a similarity.** With the share of the rows :math:`p_g = n_g / n_0` and
:math:`v_g = w_g / p_g`, v has the precision :math:`\lambda n_0 D K D + \mathrm{diag}(\Lambda_g)`,
D = diag(p). With :math:`\Lambda_g = \Lambda \ell_g`, where :math:`\ell` is the profile,

.. math::
    P = \left(c \tilde K + \Lambda I\right)^{-1}, \qquad c = \lambda n_0 / M^2, \qquad
    \tilde K_{gh} = \frac{M p_g}{\sqrt{\ell_g}} K_{gh} \frac{M p_h}{\sqrt{\ell_h}}, \qquad
    \frac{\operatorname{tr} P}{M} = \tau\, \mathrm{mean}_g \frac{\ell_g}{n_g}, \qquad
    \Lambda = \mathrm{mean}_g \frac{\Lambda_{n_g}(\tau)}{\ell_g}.

:math:`\tau` is the variance of :math:`v_g` times :math:`n_g`, and :math:`\Lambda_n(\tau) = 1/V -
A_n(V)` at :math:`V = \tau / n`. The profile :math:`\ell_g = \Lambda_{n_g}` is that of a first
:math:`\tau`, and then of the one that was found. Points that are rows have :math:`\ell = 1`,
:math:`\tilde K = K` and :math:`\tau = V(A)`.

For a row z that is no point, with :math:`k_g = M p_g k(u_g, z) / \sqrt{\ell_g}` and
:math:`e_g = M p_g / \sqrt{\ell_g}`,

.. math::
    M^2 \operatorname{Var} s_z = q - h^2 / t, \qquad
    q = k^\top P k, \qquad h = k^\top P e, \qquad t = e^\top P e,

where :math:`h^2 / t` is there as the weights of BSVDD sum to one, and not for BDD. A row of a group
of n rows leaves it: k has the mean of the other rows, whose prior is that of n - 1 rows. So the
weight of the group gains the precision :math:`\delta = \Lambda (\ell_{n-1} n^2 / (\ell_n (n-1)^2)
- 1)`, and P loses :math:`P_{\cdot g} P_{g \cdot} \delta / (1 + \delta P_{gg})`. With n = 1 this
takes row j, which is a point, out of all of them: with
:math:`R_j = \sum_{i \ne j} P_{ij} e_i`,

.. math::
    e_j^2 q_j = \frac{\tilde K_{jj}}{c} - \frac{1 / P_{jj} - \Lambda}{c^2}, \qquad
    e_j h_j = -\frac{R_j}{c P_{jj}}, \qquad
    t_j = e^\top P e - 2 e_j R_j - e_j^2 P_{jj} - \frac{R_j^2}{P_{jj}}.

**The root.** :math:`\lambda` is where the median of
:math:`\log [n_0 (q - h^2 / t) / (M^2 \operatorname{Var}_x k(z, x))]` over the rows near the cutoff
is zero. For :math:`\lambda \to 0` the ratio is that of the prior, above one, and for
:math:`\lambda \to \infty` it is zero, so there is a root. For K = I it is :math:`\lambda = A n_0`
with V(A) = 1. One eigendecomposition of :math:`\tilde K` makes every :math:`\lambda` cost
:math:`O(M^2)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

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
MOST_NEAR = 500  # rows near the cutoff, of which the median is taken
TAUS = np.geomspace(0.2, 8.4, 40)  # variances of the weight of a row, up to the prior's
LARGE = 64  # rows of a group whose weight is nearly normal, so that its Lambda is the prior's
FIRST_TAU = 2.5  # of the first profile
PROFILES, SAME = 3, 0.25  # most profiles, and the change of log tau that asks for no other
LEAST = 0.02  # of Lambda, as a share of n: where the likelihood leaves next to nothing of the prior
STEP, MOST_STEPS = 8.0, 20  # of the search above the root for K = I
LEAST_STEPS = 4  # below it: with a smaller lambda the posterior is the prior
NARROW = 0.9  # spread of the prior alone, relative to that of samples, that is told
CURVATURES_OF_GROUPS = np.geomspace(1e-4, 20.0, 40)  # a, in units of n
CURVATURES = np.geomspace(1e-14, 1.5, 250)  # a, with V(A) down to .2: Lambda is positive


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
        Of K, weighted by the profile.
    posterior : callable
        M^2 Var s_z of each row near the cutoff, from the eigenvalues of P, c and Lambda.
    samples : ndarray
        Var_x k(z, x) of the same rows.
    groups : GroupPrecision or None
        Where points are groups of rows, and the weights lie on the simplex.
    on_simplex : bool
    """

    eigenvalues: np.ndarray
    posterior: Callable[[np.ndarray, float, float], np.ndarray]
    samples: np.ndarray
    on_simplex: bool
    groups: GroupPrecision | None = None

    def log_ratio(self, c: float) -> float:
        """Return the median of the log ratio of both variances, up to log(n0 / M^2)."""
        precision, _ = self.of_prior(c)
        d = 1.0 / (c * self.eigenvalues + precision)
        variance = np.maximum(self.posterior(d, c, precision), np.finfo(float).tiny)
        return float(np.median(np.log(variance / self.samples)))

    def of_prior(self, c: float) -> tuple[float, float]:
        """Return Lambda of a single row, and tau."""
        if not self.on_simplex:
            return SD**-2, SD**2
        if self.groups is not None:
            return self.groups.solve(c * self.eigenvalues)
        return prior_precision(c * self.eigenvalues), np.nan


def calibrated(gram: Gram, rows: np.ndarray | None = None, on_simplex: bool = True) -> Calibration:
    """Return the calibrated weight of the likelihood.

    Parameters
    ----------
    gram : Gram
        Without minority points.
    rows : ndarray of shape (n, p), optional
        Majority rows, if the points are others.
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
    if not unit > 0.0:
        return Calibration(1.0, "all kernel values are 0")
    if rows is not None:
        return _root(gram, unit, of_rows(gram, unit, rows, on_simplex), on_simplex)[0]
    tau, are_rows, profiles = FIRST_TAU, gram.points.are_rows, 0
    while True:

        def profile(n: np.ndarray, tau: float = tau) -> np.ndarray:
            return precision_of_groups(n, tau) if on_simplex and not are_rows else n.astype(float)

        found, new = _root(gram, unit, of_points(gram, unit, profile, on_simplex), on_simplex)
        profiles += 1
        settled = are_rows or not on_simplex or profiles == PROFILES
        if settled or new is None or abs(np.log(new / tau)) < SAME:
            return found
        tau = new


def _root(
    gram: Gram, unit: float, spread: Spread | str, on_simplex: bool
) -> tuple[Calibration, float | None]:
    """Return the root, and tau there; None if there is no root."""
    alone = curvature_of_one() if on_simplex else 1.0 - SD**-2  # the root for K = I
    per_scale = gram.n0 * unit / gram.n_points**2  # c = per_scale lambda, for K in units of k(z, z)
    if isinstance(spread, str):
        per_row = per_scale if gram.member_of_row is None else gram.T / gram.n0**2
        return Calibration(alone / per_row, spread or None), None
    level = np.log(gram.n0) - 2.0 * np.log(gram.n_points)

    def log_ratio(log_c: float) -> float:
        return spread.log_ratio(float(np.exp(log_c))) + level

    low = high = float(np.log(alone))
    step = np.log(STEP) * (1.0 if log_ratio(low) > 0.0 else -1.0)
    for _ in range(MOST_STEPS if step > 0.0 else LEAST_STEPS):
        low, high = high, high + step
        if log_ratio(high) * step <= 0.0:
            c = float(np.exp(brentq(log_ratio, low, high, xtol=1e-5)))
            return Calibration(c / per_scale), spread.of_prior(c)[1]
    if step > 0.0:
        why = "rounding decides the spread of the posterior for every lambda"
        return Calibration(alone / per_scale, why), None
    sd, c = float(np.exp(log_ratio(high) / 2.0)), float(np.exp(high))
    why = f"the prior of the weights alone has {sd:.2g} of the spread of samples; use more groups"
    return Calibration(c / per_scale, why if sd < NARROW else None), spread.of_prior(c)[1]


# the prior's precision


@cache
def _log_variance(n: int = 1) -> CubicSpline:
    """Return log V as a function of log A, for groups of n rows, by quadrature."""
    sd = SD if n == 1 else float(np.sqrt(np.log1p(np.expm1(SD**2) / n)))
    beta = np.arange(-9.0 * sd, 2.0 * sd**2 + 9.0 * sd, 0.01 if n == 1 else sd / 50.0)
    weight = np.exp(beta)

    def moments(a: float, b: float) -> tuple[float, float, float]:
        log_f = -(beta**2) / (2.0 * sd**2) - a * weight**2 + b * weight
        f = np.exp(log_f - log_f.max())
        f /= f.sum()
        return float(f @ beta), float(f @ weight), float(f @ weight**2)

    curvatures = CURVATURES if n == 1 else n * CURVATURES_OF_GROUPS
    A, V = np.empty(len(curvatures)), np.empty(len(curvatures))
    for i, a in enumerate(curvatures):
        b = brentq(lambda b, a=a: moments(a, b)[0], 0.0, 3.0 * a * np.exp(1.5 * sd**2))
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
    """Return Lambda of single rows for the eigenvalues of c K, such that tr P / M = V(A)."""
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


def precision_of_groups(sizes: np.ndarray, tau: float) -> np.ndarray:
    r"""Return :math:`\Lambda_n = 1/V - A_n(V)` of groups of n rows, at :math:`V = \tau / n`.

    It is interpolated in log n.
    """
    knots = [2**power for power in range(int(np.log2(LARGE)))]
    of_knots: list[float] = []
    for n in knots:
        log_V = _log_variance(n)
        V, log_A = np.exp(log_V(log_V.x)), log_V.x
        at = np.clip(tau / n, V.min(), V.max())
        A = float(np.exp(np.interp(-np.log(at), -np.log(V), log_A)))
        of_knots.append(max(1.0 / at - A, LEAST * n) / n)
    knots, of_knots = [*knots, LARGE], [*of_knots, 1.0 / np.expm1(SD**2)]
    precision: np.ndarray = sizes * np.interp(np.log(sizes), np.log(knots), of_knots)
    return precision


@dataclass(frozen=True, eq=False)
class GroupPrecision:
    r"""Lambda of points of several sizes, for a profile.

    Attributes
    ----------
    sizes, profile : ndarray of shape (M,)
    """

    sizes: np.ndarray
    profile: np.ndarray

    @cached_property
    def _at_taus(self) -> np.ndarray:
        at = [np.mean(precision_of_groups(self.sizes, t) / self.profile) for t in TAUS]
        return np.array(at)

    def solve(self, scaled: np.ndarray) -> tuple[float, float]:
        r"""Return Lambda and :math:`\tau` for the eigenvalues of :math:`c \tilde K`."""
        per_tau, log_taus = float(np.mean(self.profile / self.sizes)), np.log(TAUS)

        def precision(log_tau: float) -> float:
            return float(np.interp(log_tau, log_taus, self._at_taus))

        def excess(log_tau: float) -> float:
            trace = float(np.mean(1.0 / (scaled + precision(log_tau))))
            return trace - per_tau * float(np.exp(log_tau))

        low, high = log_taus[0], log_taus[-1]
        found = low if excess(low) <= 0.0 else high
        if excess(low) > 0.0 > excess(high):
            found = brentq(excess, low, high, xtol=1e-9)
        return precision(found), float(np.exp(found))


# the rows near the cutoff


def of_points(
    gram: Gram, unit: float, profile_of: Callable[[np.ndarray], np.ndarray], on_simplex: bool
) -> Spread | str:
    """Return the spread at the rows near the cutoff, each left out, or why there is none."""
    assert gram.member_of_row is not None and gram.row_sums is not None
    assert gram.row_squares is not None
    points, member, n0 = gram.points, gram.member_of_row, gram.n0
    own = gram.kernel.diag(points.rows) / unit
    mean = (gram.row_sums / unit - own) / max(n0 - 1, 1)
    samples = (gram.row_squares / unit**2 - own**2) / max(n0 - 1, 1) - mean**2
    near = _near(mean[member], own[member], samples[member])
    if isinstance(near, str):
        return near
    near = member[near[:: max(1, len(near) // MOST_NEAR)]]
    profile = profile_of(points.sizes)
    e = len(points) * points.sizes / n0 / np.sqrt(profile)
    weighted = e[:, None] * gram.K / unit * e
    eigenvalues, U = eigh(weighted, driver="evd")
    sums, own, samples, group = e @ U, own[near], samples[near], points.point_of_member[near]
    single = points.sizes[group] == 1
    U_single, e_single = U[group[single]], e[group[single]]
    squares, own_single = U_single**2, np.diag(weighted)[group[single]]
    k = gram.k(points.rows[near[~single]]) / unit
    itself, n = (np.arange(len(k)), group[~single]), points.sizes[group[~single]]
    k[itself] = (n * k[itself] - own[~single]) / (n - 1)
    in_U, of_group = (k * e) @ U, U[group[~single]]
    more = profile_of(n - 1) / profile[group[~single]] * (n / (n - 1)) ** 2 - 1.0

    def posterior(d: np.ndarray, c: float, precision: float) -> np.ndarray:
        P, total = squares @ d, d @ sums**2
        q = np.empty(len(single))
        q[single] = (own_single - (1.0 / P - precision) / c) / c
        in_P = in_U * d
        q[~single] = np.vecdot(in_P, in_U)
        lost = precision * more / (1.0 + precision * more * (of_group**2 @ d))
        of_z = np.vecdot(in_P, of_group)
        q[~single] -= lost * of_z**2
        if on_simplex:
            R = U_single @ (d * sums) - e_single * P
            t = total - 2.0 * e_single * R - e_single**2 * P - R**2 / P
            q[single] -= (R / (c * P)) ** 2 / t
            of_e = of_group @ (d * sums)
            h = in_P @ sums - lost * of_z * of_e
            q[~single] -= h**2 / (total - lost * of_e**2)
        q[single] /= e_single**2
        return q

    groups = None
    if on_simplex and not points.are_rows:
        groups = GroupPrecision(points.sizes, profile)
    return Spread(np.maximum(eigenvalues, 0.0), posterior, samples, on_simplex, groups)


def of_rows(gram: Gram, unit: float, rows: np.ndarray, on_simplex: bool) -> Spread | str:
    """Return the spread at the rows near the cutoff, where no row is a point, or why there is none.

    The spread of samples is that of the similarity to the projection of rows on the points.
    """
    rows = rows[:: max(1, len(rows) // MOST_ROWS)]
    if len(rows) < 2:
        return f"{len(rows)} rows are too few to tell the spread of samples"
    eigenvalues, U = eigh(gram.K / unit, driver="evd")
    eigenvalues = np.maximum(eigenvalues, 0.0)
    in_U = gram.k(rows) / unit @ U
    kept = eigenvalues > np.finfo(float).eps * len(U) * eigenvalues[-1]
    images = in_U[:, kept] / np.sqrt(eigenvalues[kept])
    own = np.square(images).sum(axis=1)
    mean = (images @ images.sum(axis=0) - own) / (len(rows) - 1)
    square = np.vecdot(images @ (images.T @ images), images) - own**2
    samples = square / (len(rows) - 1) - mean**2
    near = _near(mean, gram.kernel.diag(rows) / unit, samples)
    if isinstance(near, str):
        return near
    sums, in_U = U.sum(axis=0), in_U[near]
    squares = in_U**2

    def posterior(d: np.ndarray, c: float, precision: float) -> np.ndarray:
        q: np.ndarray = squares @ d
        return q - (in_U @ (d * sums)) ** 2 / (d @ sums**2) if on_simplex else q

    return Spread(eigenvalues, posterior, samples[near], on_simplex)


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
