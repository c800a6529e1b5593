r"""Groups of rows as points: equal rows, and where there are many, near rows.

Rows that are equal are one member with a number of copies. Up to 600 members are a point each. Of
more members, M are drawn as seeds, and each member joins the seed that is nearest in kernel space,
:math:`k(x, x) - 2 k(x, c) + k(c, c)`, which every kernel has.

**The prior of a group** has the mean and the variance of the sum of the weights of its rows. For
log weights, which are :math:`N(m_i, \sigma^2)`,

.. math::
    \sigma_g^2 = \log\left(1 + (e^{\sigma^2} - 1)
    \frac{\sum_i e^{2 m_i}}{(\sum_i e^{m_i})^2}\right), \qquad
    m_g = \log \sum_i e^{m_i} + \frac{\sigma^2 - \sigma_g^2}{2}

(Fenton 1960), and for weights :math:`m_g = \sum_i m_i`, :math:`\sigma_g^2 = n_g \sigma^2`.

**How many.** The prior of the weights must be wide enough for the spread of samples. Over samples,
the similarity of z has the variance of :math:`k(z, x)` over all rows. The weights of groups can
move it by the variance between the groups only, of which the share is

.. math:: \eta_z = \frac{\sum_g n_g (k(u_g, z) - \bar k_z)^2}{\sum_i (k(x_i, z) - \bar k_z)^2}.

M is 500 if the median of this share over rows near the cutoff is so large that the default prior of
BSVDD alone has twice the variance of samples, and that of BDD, which is narrower, 1.5 times. Else M
is 1,000: with 2,000 a fit takes twice the time, and the answers are much the same.

**References**

Fenton, L. F. (1960). The sum of log-normal probability distributions in scatter transmission
systems. IRE Transactions on Communications Systems 8, 57-67.
"""

from __future__ import annotations

import math

import numpy as np

from .calibration import NEAR_QUANTILES, SD
from .kernels import Kernel
from .points import Points
from .repeats import distinct

MOST_SINGLE = 600  # members that are a point each: groups of more are faster
FEWEST, MOST = 500, 1000  # groups, if their number is not given
# shares of the variance that must lie between the groups
SHARE = 2.0 / math.expm1(SD**2)  # e^(sd^2) - 1 is the variance of a log-normal weight of mean 1
SHARE_OF_FREE = 1.5 / SD**2
NEAR_ROWS = 100  # of which the share is the median
BLOCK_VALUES = 2**21  # kernel values at once: 16 MB


def of_rows(
    kernel: Kernel, rows: np.ndarray, number: int | None, seed: int, share: float = SHARE
) -> tuple[Points, np.ndarray]:
    """Return rows as points, and the member that each row is.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    rows : ndarray of shape (n, p)
        In the form that the kernel is called with.
    number : int or None
        Of groups; None for the rule of this module.
    seed : int
    share : float
        Of the variance of kernel values that must lie between the groups, if their number is not
        given.
    """
    first, member = distinct(rows)
    single = rows if len(first) == len(rows) else rows[first]
    copies = np.bincount(member)
    if len(first) <= (MOST_SINGLE if number is None else number):
        return Points(single, copies, np.arange(len(first))), member
    order = np.random.default_rng(seed).permutation(len(first))
    M = FEWEST if number is None else number
    while True:
        seeds = np.sort(order[:M])  # one permutation: more seeds contain fewer
        group, similarity = _nearest(kernel, single, single[seeds], copies[seeds])
        points, place = _sorted(single, copies, group)
        if number is not None or min(MOST, len(first)) <= M:
            break
        if _share_between(kernel, points, place, similarity) >= share:
            break
        M *= 2
    return points, place[member]


def of_labels(rows: np.ndarray, label: np.ndarray) -> tuple[Points, np.ndarray]:
    """Return groups of rows that are known by a label of each row, and the member that each row is.

    The points are in the order of the labels; equal rows have the label of the first.
    """
    first, member = distinct(rows)
    points, place = _sorted(rows[first], np.bincount(member), label[first])
    return points, place[member]


def _nearest(
    kernel: Kernel, rows: np.ndarray, seeds: np.ndarray, copies: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the seed that is nearest to each row, and the mean similarity to the seeds."""
    half = kernel.diag(seeds) / 2.0
    nearest, mean = np.empty(len(rows), dtype=int), np.empty(len(rows))
    step = max(1, BLOCK_VALUES // len(seeds))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        if kernel.normalized:  # the logarithm tells rows that are far from all seeds apart
            log_k = kernel.log(rows[block], seeds)
            nearest[block], k = np.argmax(log_k, axis=1), np.exp(log_k)
        else:
            k = kernel(rows[block], seeds)
            nearest[block] = np.argmax(k - half, axis=1)
        mean[block] = k @ copies / copies.sum()
    return nearest, mean


def _sorted(rows: np.ndarray, copies: np.ndarray, group: np.ndarray) -> tuple[Points, np.ndarray]:
    """Return groups as points, in the order of their first rows, and the new place of each row."""
    order = np.argsort(group, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    return Points(rows[order], copies[order], starts), place


def _share_between(
    kernel: Kernel, points: Points, place: np.ndarray, similarity: np.ndarray
) -> float:
    """Return the median share of the variance of kernel values that lies between the groups.

    ``place`` (n,) has the members of the points in the order of ``similarity``, to the seeds.
    """
    rows = points.rows[place]
    closeness = 2.0 * similarity - kernel.diag(rows)
    low, high = np.quantile(closeness, NEAR_QUANTILES)
    near = np.flatnonzero((closeness >= low) & (closeness <= high))
    near = near[:: max(1, len(near) // NEAR_ROWS)]
    k, n = kernel(rows[near], points.rows), points.copies.sum()
    itself = np.arange(len(near)), place[near]
    mean = (k @ points.copies - k[itself]) / (n - 1)
    k -= mean[:, None]
    k[itself] = 0.0
    all_rows = np.square(k) @ points.copies
    between = np.square(points.mean(k)) @ points.sizes
    varies = all_rows > 0.0
    return float(np.median(between[varies] / all_rows[varies])) if varies.any() else 1.0
