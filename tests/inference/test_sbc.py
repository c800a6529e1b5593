"""Simulation-based calibration: the truth has a uniform rank among draws.

With a linear kernel and atoms that are fixed beforehand the quasi-likelihood is one:
given w, rows are x_i ~ N(a, I / lambda), a = sum_j w_j u_j (Talts et al. 2018).
"""

import numpy as np
import pytest
from bsvdd.inference import sampling
from bsvdd.models.bdd import BDD
from bsvdd.models.bdd_m import BDDM
from bsvdd.models.bsvdd import BSVDD
from bsvdd.models.bsvdd_m import BSVDDM
from bsvdd.models.dictionary import Dictionary
from scipy import stats

from bsvdd import priors

ATOMS = np.array([[0.0, 0.0], [2.0, 0.5], [-0.5, 1.8], [1.5, 1.7], [-1.0, -0.8]])
N0, SCALE, SIZE, DRAWS, STEPS = 6, 2.0, 1e-4, 63, 4
MEAN, COVARIANCE = (
    np.array([0.5, -0.3, 0.1, 0.0, 0.0]),
    np.eye(5),
)  # of minority rows for nothing
COVARIANCE[:3, :3] = [[1.0, 0.3, 0.0], [0.3, 0.8, -0.2], [0.0, -0.2, 1.2]]
NORMAL, SHARE = priors.Normal(m=MEAN, sigma=COVARIANCE), priors.Beta(2.0, 1.5)
MODELS = {
    "BDD": (BDD, 200),
    "BSVDD": (BSVDD, 80),
    "BDD-M": (BDDM, 60),
    "BSVDD-M": (BSVDDM, 60),
}


class Known(Dictionary):
    """Gram statistics of rows that are no atoms."""

    def __init__(self, M, rows):
        u, one = ATOMS[:M], np.ones(M)
        K, T, of_row = u @ u.T, (rows**2).sum(), np.arange(5)
        of_row[M:] = -1
        vars(self).update(_sums=(K, T, np.diag(K)), r=u @ rows.sum(axis=0), rows=rows)
        vars(self).update(sizes=one, effective=one, n1=M - 3, of_row=of_row)
        vars(self).update(sorted=self, places=np.arange(M))

    @property
    def n0(self):
        return float(len(self.rows))

    def at_points(self, name, values, minority=False):
        v = np.asarray(values)
        return v[(slice(self.m),) * v.ndim] if v.ndim else np.full(self.m, v)


def of_prior(name, rng):
    """Return weights (3,) or (5,), written out."""
    x = rng.multivariate_normal(MEAN[:3], COVARIANCE[:3, :3])
    if name == "BDD":
        return x
    share = np.exp(x) / np.exp(x).sum()
    if name == "BSVDD":
        return share
    alpha1 = rng.beta(2.0, 1.5, size=2)
    total = 1 + alpha1.sum()
    c = COVARIANCE[:3, :3].sum(axis=0) / COVARIANCE[:3, :3].sum()
    alpha0 = total * share if name == "BSVDD-M" else x + c * (total - x.sum())
    return np.append(alpha0, -alpha1)


def quantities(w, rows):
    """Return w_j, two distances and the log likelihood of weights (S, M)."""
    a = w @ ATOMS[: w.shape[1]]
    d = np.linalg.norm(a[:, None] - [[0.4, 0.3], [1.6, -0.7]], axis=2)
    return np.column_stack([w, d, -np.square(a[:, None] - rows).sum(axis=(1, 2))])


def ranks(name, seed, scale=SCALE, repeated=0):
    """Return the ranks of the truth in (0, 1), (replicates, quantities)."""
    rng, u, (model, replicates) = np.random.default_rng(seed), [], MODELS[name]
    for replicate in range(replicates):
        w = of_prior(name, rng)
        M = len(w)
        rows = w @ ATOMS[:M] + rng.standard_normal((N0, 2)) / np.sqrt(SCALE)
        counted = np.vstack([rows, rows[:repeated]])
        gram = Known(M, counted)
        how = dict(
            draws=STEPS * DRAWS, tune=100, chains=1, seed=1000 * seed + replicate
        )
        minority = [SHARE] if M == 5 else []
        drawn = sampling.draw(model(gram, NORMAL, scale, *minority), **how).w[
            STEPS - 1 :: STEPS
        ]
        below = (quantities(drawn, rows) < quantities(w[None], rows)).sum(axis=0)
        u.append((below + rng.uniform(size=len(below))) / (DRAWS + 1))
    return np.array(u)


def p_value(u):
    """Return a p-value: ranks and their distances from the middle are uniform."""
    tested = [v for each in u.T for v in (each, np.abs(2 * each - 1))]
    p = [stats.kstest(v, "uniform", method="asymp").pvalue for v in tested]
    return min(1.0, len(p) * min(p))


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[] if n == "BDD" else pytest.mark.long) for n in MODELS],
)
def test_ranks_are_uniform(name):
    assert p_value(ranks(name, 3)) > SIZE


def test_a_wrong_likelihood_is_seen():
    assert p_value(ranks("BDD", 4, scale=2 * SCALE)) < SIZE
    assert p_value(ranks("BDD", 4, repeated=3)) < SIZE
