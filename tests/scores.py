"""Values and scores of rows, computed apart from the package's scoring rules.

For a description the value of a row in a draw is its similarity s_z, less k(z, z)/2 where that
varies, or the logarithm of s_z where weights and kernel values are at least 0; for a hyperplane it
is f(z). The score is the quantile over the draws of the value, with what the sample has not shown
beside the row, less the threshold of the draw.
"""

import numpy as np
from bsvdd.models.kernels import as_kernel
from scipy.special import logsumexp

from bsvdd import BDD, BSVDD, SVDD, cutoffs, kernels


def upper_median(draws):
    """Return the draw number floor(n/2) + 1 in ascending order; (n, ...) -> (...)."""
    return np.sort(draws, axis=0)[len(draws) // 2]


def scores_left_out(est):
    """Return the scores of the training rows, each left out; NaN for a row that cannot leave."""
    return est.fit_.left_out


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


def has_unseen(est):
    """Return whether P(normal) counts rows that the sample has not shown."""
    return hasattr(est, "distance") and bool(est.fit_.score.boundary.unseen)


def log_nearest_of(est, rows):
    """Return log m_z, of the largest kernel value with a majority point, shape (rows,)."""
    points, m = est.gram_.points, est.gram_.n_majority_points
    log_k = est.kernel_.log(rows, points.rows)
    of_point = [points.point_of_member == g for g in range(m)]
    means = [logsumexp(log_k[:, of], b=points.share[of], axis=1) for of in of_point]
    return np.max(means, axis=0)


def log_nearest_left_out(est):
    """Return log m_j of the training rows: the own point of a row is the mean of its other rows."""
    data, m = est.fit_.data, est.gram_.n_majority_points
    of_point = [np.flatnonzero(data.point_of_row == g) for g in range(m)]
    nearest = np.empty(len(data.rows))
    for j, row in enumerate(data.rows):
        kernel = est.kernel_ if data.minority[j] else est.kernel_.leaving_out
        others = [rows[rows != j] for rows in of_point]
        if not any(map(len, others)):  # the points are no rows
            nearest[j] = log_nearest_of(est, row[None])[0]
            continue
        of_row = kernel.log(row[None], data.rows)[0]
        nearest[j] = max(logsumexp(of_row[of]) - np.log(len(of)) for of in others if len(of))
    return nearest


def raised(est, values, log_nearest):
    """Return values (draws, rows) with what is unseen beside rows whose log m_z are given."""
    if not has_unseen(est):
        return values
    at = est.fit_.score.boundary
    log_r = np.minimum(log_nearest - at.unseen.log_nearest, 0.0)
    log_added = at.unseen.log_u + at.log_half[:, None] + log_r
    if is_logarithmic(est):
        return logsumexp(np.stack(np.broadcast_arrays(values, log_added)), axis=0)
    return values + np.exp(log_added)


def margins_of(est, rows):
    """Return by how much rows lie within the cutoff in each draw, (draws, rows)."""
    values = values_of(est, rows)
    if has_unseen(est):
        values = raised(est, values, log_nearest_of(est, rows))
    return values - thresholds(est)[:, None]


def score_of(est, values, log_nearest=None):
    """Return the scores of values (draws, rows), by default of left-out rows, shape (rows,)."""
    if has_unseen(est) and log_nearest is None:
        log_nearest = log_nearest_left_out(est)
    values = raised(est, values, log_nearest)
    return -upper_median(thresholds(est)[:, None] - values)


def sphere_value(est):
    """Return the value of the sphere of SVDD, with which values of folds are compared."""
    limit = float(has_unit_values(est)) + upper_median(squared_norms(est))
    similarity = (limit - est.with_cutoff(cutoffs.Own()).cutoff_ ** 2) / 2.0
    return np.log(similarity) if is_logarithmic(est) else similarity
