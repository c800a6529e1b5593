"""Values and scores of rows, computed apart from the package's scoring rules.

For a description the value of a row in a draw is its similarity s_z, less k(z, z)/2 where that
varies, or the logarithm of s_z where weights and kernel values are at least 0; for a hyperplane it
is f(z). The score is the quantile over the draws of the value less the threshold of the draw.
"""

import numpy as np
from bsvdd.models.kernels import as_kernel

from bsvdd import BDD, BSVDD, SVDD, cutoffs, kernels


def upper_median(draws):
    """Return the draw number floor(n/2) + 1 in ascending order; (n, ...) -> (...)."""
    return np.sort(draws, axis=0)[len(draws) // 2]


def weights_of(est):
    """Return the weights of all draws, shape (draws, M)."""
    w = est.idata_["posterior"]["w"].values
    return w.reshape(-1, w.shape[-1])


def thresholds(est):
    """Return the value at the cutoff in each draw, shape (draws,)."""
    return est.fit_.score.boundary.threshold


def squared_norms(est):
    """Return ||a||^2 = w'Kw of all draws, shape (draws,)."""
    w = weights_of(est)
    return np.einsum("si,ij,sj->s", w, est.gram_.K, w)


def has_unit_values(est):
    """Return whether k(z, z) = 1 and k >= 0 for all rows."""
    kernel = est.kernel_
    if isinstance(kernel, kernels.Standardized | kernels.Tabular):
        kernel = as_kernel(kernel.kernel)
    return isinstance(kernel, kernels.RBF | kernels.Laplacian)


def is_logarithmic(est):
    """Return whether the values of a fitted description are logarithms."""
    nonnegative = type(est) in (SVDD, BSVDD) or (type(est) is BDD and est.simplex)
    return has_unit_values(est) and nonnegative


def as_values(est, similarity, k_zz):
    """Return the values of similarities (draws, rows); k_zz are k(z, z) of the rows."""
    if is_logarithmic(est):
        return np.log(similarity)
    return similarity if has_unit_values(est) else similarity - k_zz / 2.0


def values_of(est, rows):
    """Return the values of rows in all draws, shape (draws, rows)."""
    points = est.gram_.points
    s = weights_of(est) @ points.mean(est.kernel_(points.rows, rows).T).T
    if not hasattr(est, "distance"):
        return s + est.idata_["posterior"].attrs["offset"]
    return as_values(est, s, est.kernel_.diag(rows))


def score_of(est, values):
    """Return the scores of values (draws, rows), shape (rows,)."""
    return -upper_median(thresholds(est)[:, None] - values)


def scores_of(est, rows):
    """Return the scores of rows, shape (rows,)."""
    return score_of(est, values_of(est, rows))


def distance_of(est, score):
    """Return the distances that are shown for these scores."""
    middle = upper_median(thresholds(est))
    if not hasattr(est, "distance"):
        return -(score + middle)
    value = score + middle
    similarity = np.exp(value) if is_logarithmic(est) else value
    limit = float(has_unit_values(est)) + upper_median(squared_norms(est))
    return np.sqrt(np.maximum(limit - 2.0 * similarity, 0.0))


def sphere_value(est):
    """Return the value of the sphere of SVDD, with which values of folds are compared."""
    limit = float(has_unit_values(est)) + upper_median(squared_norms(est))
    similarity = (limit - est.with_cutoff(cutoffs.Own()).cutoff_ ** 2) / 2.0
    return np.log(similarity) if is_logarithmic(est) else similarity


def median_distance(est, rows):
    """Return the median over the draws of the distance of each row, or -f of a hyperplane."""
    if not hasattr(est, "distance"):
        return -values_of(est, rows)[0]
    return upper_median(est.distance(rows).values.reshape(-1, len(rows)))
