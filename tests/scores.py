"""Scores of distances, computed apart from the package's scoring rules.

For a description the score of a row is UNIT s_z, where c - d^2 = 2 s_z with
c = k(z, z) + ||a||^2, or the logarithm of it; for a hyperplane it is minus the distance. Of
several draws the upper median counts.
"""

import numpy as np
from bsvdd.models.kernels import as_kernel

from bsvdd import BDD, BSVDD, SVDD, kernels

UNIT = 1.0


def upper_median(draws):
    """Return the draw number floor(n/2) + 1 in ascending order; (n, ...) -> (...)."""
    return np.sort(draws, axis=0)[len(draws) // 2]


def weights_of(est):
    """Return the weights of all draws, shape (draws, M)."""
    w = est.idata_["posterior"]["w"].values
    return w.reshape(-1, w.shape[-1])


def thresholds(est):
    """Return the value at the cutoff in each draw, shape (draws,)."""
    return est.fit_.center.boundary.threshold


def squared_norms(est):
    """Return ||a||^2 = w'Kw of all draws, shape (draws,)."""
    w = weights_of(est)
    return np.einsum("si,ij,sj->s", w, est.gram_.K, w)


def has_unit_values(est):
    """Return whether k(z, z) = 1 and k >= 0 for all rows."""
    kernel = est.kernel_
    if isinstance(kernel, kernels.Standardized):
        kernel = as_kernel(kernel.kernel)
    return isinstance(kernel, kernels.RBF | kernels.Laplacian)


def is_logarithmic(est):
    """Return whether the score of a fitted description is the logarithm of the similarity."""
    nonnegative = type(est) in (SVDD, BSVDD) or (type(est) is BDD and est.simplex)
    return has_unit_values(est) and nonnegative


def limit(est):
    """Return c, the squared distance of a row that is similar to no row of the fit."""
    return float(has_unit_values(est)) + upper_median(squared_norms(est))


def score_of(est, distance):
    """Return the scores of distances (their medians over draws) in the fit ``est``."""
    if not hasattr(est, "distance"):  # a hyperplane
        return -distance
    proximity = UNIT / 2.0 * (limit(est) - distance**2)
    return np.log(proximity) if is_logarithmic(est) else proximity


def distance_of(est, score):
    """Return the distances with these scores in the fit ``est``."""
    if not hasattr(est, "distance"):
        return -score
    proximity = np.exp(score) if is_logarithmic(est) else score
    return np.sqrt(limit(est) - 2.0 / UNIT * proximity)


def sphere_score(est):
    """Return the score of the sphere of SVDD, with which scores of folds are compared."""
    return score_of(est, est.with_cutoff("model").cutoff_)


def common_norm(est, d):
    """Return distances (draws, rows) with the squared norm of each draw at its median."""
    norm = squared_norms(est)[:, None]
    d2 = d.values.reshape(len(norm), -1) ** 2 - norm + upper_median(norm)
    return np.sqrt(np.maximum(d2, 0.0))


def median_distance(est, rows):
    """Return the median over the draws of the distance of each row, or of -f for a hyperplane."""
    if hasattr(est, "distance"):
        return upper_median(common_norm(est, est.distance(rows)))
    f = est.kernel_(rows, est.gram_.points) @ weights_of(est)[0]
    return -f - est.idata_["posterior"].attrs["offset"]


def cutoff_of(est, policy, distance, minority):
    """Return D_opt by the policy; it lies half-way between two scores."""
    return distance_of(est, -policy.choose(-score_of(est, distance), minority))
