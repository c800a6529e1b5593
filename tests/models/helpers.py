"""A solver, kernels by loops and errors of draws that tests of models share."""

import cvxopt
import numpy as np
import pymc as pm
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.rows import Rows

OPTIONS = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-12}


def interior_points(P, q, G, h, A=None, b=None):
    """Minimise x'Px/2 + q'x under Gx <= h and Ax = b, by cvxopt."""
    equality = () if A is None else (np.atleast_2d(A), np.atleast_1d(b))
    arguments = (
        cvxopt.matrix(np.asarray(a, dtype=float)) for a in (P, q, G, h, *equality)
    )
    return np.ravel(cvxopt.solvers.qp(*arguments, options=OPTIONS)["x"])


def quadratic_program(P, q, lower, upper, a=None):
    """Minimise x'Px/2 + q'x under a'x = 1 (default: sum), lower <= x <= upper."""
    n = len(q)
    a = np.ones(n) if a is None else a
    x, upper = (
        np.array(np.broadcast_to(bound, n), dtype=float) for bound in (lower, upper)
    )
    free = upper > x  # interior points need room
    P_free = P[np.ix_(free, free)]
    q_free = q[free] + P[np.ix_(free, ~free)] @ x[~free]
    G, h = np.vstack([-np.eye(n), np.eye(n)])[:, free], np.concatenate([-x, upper])
    kept = np.isfinite(h) & np.tile(free, 2)
    x[free] = interior_points(
        P_free, q_free, G[kept], h[kept], a[free], 1 - a[~free] @ x[~free]
    )
    return x


def gram_of(kernel, rows, y=None, weight=None):
    """Return the Gram statistics of rows, those of the minority as atoms too."""
    return Dictionary.of(kernel, Rows.of(rows, y, weight), minority=True)


def by_loops(k, A, B):
    """Return the matrix k(a, b), one pair at a time."""
    return np.array([[k(a, b) for b in B] for a in A])


def rbf(A, B, s=1.0):
    """Return the Gaussian kernel by its formula."""
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * s**2))


def cauchy(A, B):
    """A kernel of the user's, 1 / (1 + d^2)."""
    return 1.0 / (1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=-1))


def student(gram, name, dims):
    """A prior of the user's."""
    return pm.StudentT(name, nu=4, mu=0, sigma=1.0, dims=dims)


def hierarchical(gram, name, dims):
    """Another prior of the user's."""
    return pm.Normal(name, 0.0, pm.HalfNormal(f"{name}_sd"), dims=dims)


def softmax(b):
    e = np.exp(b - b.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def squared_norm(w, K):
    return np.einsum("...i,ij,...j->...", w, K, w)


def squared_distances(w, K, k_uz, k_zz):
    """Return d^2 (..., z) of weights (..., u), by the formula."""
    return k_zz - 2 * w @ k_uz + squared_norm(w, K)[..., None]


def without_group(K, t, group, i):
    """Return the mean similarity of row i to other groups, and n0 times its variance.

    n0 / n sum_u [sum_{i in u} t_i (k_i - mean)]^2 / (1 - sum_u t_u^2 / n^2), over what
    stays.
    """
    stay = np.where(group == group[i], 0.0, t)
    n, mean = stay.sum(), stay @ K[i] / stay.sum()
    apart = np.bincount(group, stay * (K[i] - mean))
    few = 1.0 - (np.bincount(group, stay) ** 2).sum() / n**2
    return mean, t.sum() / n * (apart**2).sum() / few


def left_out(w, K, group, least=-np.inf):
    """Return s_z (draws, rows) without the row's group: others take its weight.

    It is NaN where these have less than a share.
    """
    s = np.empty(w.shape)
    for i, k in enumerate(K):
        stay = w * (group != group[i])
        share = stay.sum(axis=1) / w.sum(axis=1)
        s[:, i] = np.where(share >= least, stay @ k / share, np.nan)
    return s


def near_cutoff(closeness, mass):
    """Return the rows between .03 and .33 of the mass, the least close first."""
    order = np.argsort(closeness)
    place = (np.cumsum(mass[order]) - mass[order] / 2) / mass.sum()
    return order[(place >= 0.03) & (place <= 0.33)]


def covariance(seed, n):
    """Return a covariance matrix (n, n) that is far from diagonal."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n + 0.3 * np.eye(n)


def moments_z(worst_z, draws, mean, covariance):
    """The larger z of the mean and the covariance of draws (chain, draw, n)."""
    error = draws - mean
    return max(
        worst_z(draws, mean),
        worst_z(error[..., :, None] * error[..., None, :], covariance),
    )
