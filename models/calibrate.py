r"""The likelihood scale that gives the posterior of s_z the spread of samples.

At lambda, s_z has the same variance in the posterior and between samples of groups: the
median ratio over left-out rows near the cutoff is 1.

The weight of a group, divided by its prior mean, has in mean field the precision Lambda
of its prior. Lambda is :math:`\sigma^{-2}` for free weights. For weights on the simplex
it is 1 / V - A. V is the variance of :math:`e^\beta / E e^\beta` under the density
:math:`e^{-\beta^2 / 2 \sigma^2 - a e^{2 \beta} + b e^\beta}` with :math:`E \beta = 0`,
and :math:`A = 2 a (E e^\beta)^2`.

The e_g groups of an atom have one place in kernel space, so :math:`n_0 w_g = N_g y_g /
\sqrt{e_g}`, and y has the covariance :math:`(c B + \Lambda)^{-1}`, with :math:`c =
\lambda / n_0` and :math:`B_{gh} = N_g N_h K_{gh} / \sqrt{e_g e_h}`. Only M of the
:math:`\sum e_g` directions have likelihood information; A is solved so that the mean
variance over all is V. A group that leaves takes a share :math:`\tau` of the prior
variance of y_g with it. So the precision of y_g gains :math:`\Lambda \tau / (1 -
\tau)`, and a row alone leaves entirely.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import brentq

from .dictionary import STAYS, Dictionary
from .signed import TINY
from .similarities import Similarities

SD = 1.5  # of the log weight of a row
FEWEST_VARYING = 3  # rows near the cutoff
CURVATURES = np.geomspace(1e-6, 1.5, 80)
LAMBDAS = np.geomspace(1e-6, 1e8, 15)


def calibrated(dictionary: Dictionary, on_simplex: bool) -> tuple[float, str]:
    """Return lambda, and why it is not calibrated, or an empty text.

    If the similarities of rows near the cutoff do not vary, lambda is computed as if
    each row were similar to itself only.
    """
    near = dictionary.near_cutoff
    rows = dictionary.at_problems(near)
    variance = dictionary.sampling_variance(near)
    n0 = dictionary.n0
    varies = variance > 1e-8 * n0 * rows.diag**2
    if varies.sum() < FEWEST_VARYING:
        of_diagonal = float(dictionary.root**2 @ dictionary.diag[: dictionary.m])
        found = n0 * of_alone(on_simplex) * dictionary.groups_in_effect / of_diagonal
        return found, "fewer than 3 rows near the cutoff have similarities that vary"
    ratio = log_ratio(dictionary, rows[varies], variance[varies], on_simplex)
    grid = np.log(LAMBDAS / np.mean(dictionary.diag))
    first = int(np.argmax(np.array([ratio(at) for at in grid]) <= 0.0))
    if first:
        root = brentq(ratio, *grid[[first - 1, first]], xtol=1e-5)
        # rounded, so that sums in another order of rows give the same draws
        return n0 * float(f"{np.exp(root):.9g}"), ""
    wide = ratio(grid[-1]) > 0.0
    width = "wider" if wide else "narrower"
    reason = f"the posterior is {width} than samples at any scale"
    return n0 * float(np.exp(grid[-1 if wide else 0])), reason


def log_ratio(
    gram: Dictionary, rows: Similarities, between: np.ndarray, on_simplex: bool
) -> Callable[[float], float]:
    """Return the median log ratio of variances of n0 s_z, a function of log c."""
    root = gram.root
    values, U = np.linalg.eigh(root[:, None] * gram.K[: gram.m, : gram.m] * root)
    values = np.maximum(values, 0.0)
    e = root @ U
    gone = rows.gone[:, : gram.m].tocoo()
    i, g = gone.coords
    k = rows.k[:, : gram.m] * np.exp(rows.L)[:, None]
    k[i, g] /= np.maximum(1.0 - gone.data, STAYS)
    k = (k * root) @ U
    u = U[g]
    # of the variance of y_g
    share = np.minimum((gram.sizes[g] * gone.data / root[g]) ** 2, 1.0)

    def at(log_c: float) -> float:
        c = np.exp(log_c)
        prior = precision(c * values, gram.groups_in_effect) if on_simplex else SD**-2
        d = 1.0 / (c * values + prior)
        of_k = (k[i] * u) @ d
        of_e = u @ (d * e)
        falls = share * prior / (1.0 - share + share * prior * (u**2 @ d))

        def left(whole: np.ndarray, what: np.ndarray) -> np.ndarray:
            return whole - np.bincount(i, falls * what, len(k))

        variance = left(k**2 @ d, of_k**2)
        if on_simplex:
            variance -= left(k @ (d * e), of_k * of_e) ** 2 / left(d @ e**2, of_e**2)
        return float(np.median(np.log(np.maximum(variance, TINY) / between)))

    return at


@cache
def of_one_weight() -> np.ndarray:
    """Return A and V (2, 80) of one weight on the simplex, by quadrature."""
    beta = np.arange(-9.0 * SD, 2.0 * SD**2 + 9.0 * SD, 0.02)
    weight = np.exp(beta)
    found = []

    def moments(a: float, b: float) -> np.ndarray:
        log_f = -(beta**2) / (2.0 * SD**2) - a * weight**2 + b * weight
        f = np.exp(log_f - log_f.max())
        return np.array([beta, weight, weight**2]) @ (f / f.sum())

    for a in CURVATURES:
        b = brentq(lambda b, a=a: moments(a, b)[0], 0.0, 3.0 * a * np.exp(1.5 * SD**2))
        _, mean, square = moments(a, b)
        found.append([2.0 * a * mean**2, square / mean**2 - 1.0])
    return np.array(found).T


def precision(values: np.ndarray, groups: float) -> float:
    """Return Lambda of groups on the simplex, from the eigenvalues (M,) of c B."""
    A, V = of_one_weight()
    each = 1.0 / V - A
    trace = (1.0 / (values + each[:, None])).sum(axis=1) + (groups - len(values)) / each
    return float(np.interp(0.0, trace / groups - V, each))


def of_alone(on_simplex: bool) -> float:
    """Return c if each row is similar to itself only: 1 / (c + Lambda) = 1."""
    A, V = of_one_weight()
    return float(np.interp(-1.0, -V, A)) if on_simplex else 1.0 - SD**-2
