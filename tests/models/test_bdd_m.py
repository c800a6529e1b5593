"""BDD-M: its prior, BDD on the hyperplane, and rows that are left out.

Its draws are held against long runs of another program in inference/test_references.py.
"""

import numpy as np
import preliz
import pytest
from bsvdd.inference.center import level_quantile
from bsvdd.inference.density import Density
from bsvdd.inference.leave import Leaving
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd_m

from bsvdd import BDDM, Cutoff, cutoffs, kernels, priors
from tests.cases import covariance
from tests.scores import log_nearest_left_out, raised, scores_left_out, thresholds

from .helpers import moments_z

RBF = kernels.RBF(1.0)
FLAT, TRUNCATED = priors.Flat(), priors.TruncatedNormal()


def rows(seed, n0, n1):
    """Minority rows lie in the middle of the majority's."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n0, 2)), rng.normal(size=(n1, 2)) * 0.8


def conditional(m1, S1):
    """Mean (as a + g s, of the sum s) and covariance of N(m1, S1) given its sum."""
    g = S1.sum(axis=1) / S1.sum()
    return m1 - g * m1.sum(), g, S1 - np.outer(S1.sum(axis=1), g)


def test_alpha0_is_normal_given_the_sum_that_alpha1_asks_for(worst_z):
    gram = Gram.from_rows(RBF, *rows(34, 5, 3))
    m1, S1 = np.random.default_rng(35).normal(size=5), covariance(36, 5)
    minority = priors.TruncatedNormal((0.1, 0.5, 1.2), 0.4)
    model = bdd_m.Model(priors.Normal(m=m1, sigma=S1), minority_prior=minority)
    w = Density(model, gram).prior.draw(4000, seed=4)["w"]
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
    a, g, S = conditional(m1, S1)
    sums = w[:, :5].sum(axis=1, keepdims=True)
    assert sums.std() > 0.1
    rest = (w[:, :5] - g * sums).reshape(2, 2000, 5)
    assert moments_z(worst_z, rest, a, S) < 4.5


def test_without_minority_rows_it_is_bdd_on_the_hyperplane(worst_z):
    """BDD's normal posterior, conditioned on sum 1 by the textbook."""
    gram = Gram.from_rows(kernels.RBF(1.2), rows(31, 7, 0)[0])
    m1, S1 = 1.0 + np.random.default_rng(32).normal(size=7), covariance(33, 7)
    prior, scale = priors.Normal(m=m1, sigma=S1), 0.05  # far from sum 1, and of some weight
    C = np.linalg.inv(scale * 7 * gram.K + np.linalg.inv(S1))
    free = C @ (scale * gram.r + np.linalg.solve(S1, m1))
    a, g, S = conditional(free, C)
    assert abs(free.sum() - 1) > 0.1
    tree = sample(bdd_m.Model(prior, scale), gram, "hmc", 2000, 100, 2, seed=3)
    w = tree["posterior"]["w"].values
    np.testing.assert_allclose(w.sum(axis=2), 1.0, atol=1e-12)
    assert moments_z(worst_z, w, a + g, S) < 4.5
    assert worst_z(w, free) > 20  # of weights with a free sum


def test_which_priors_the_model_needs():
    gram = Gram.from_rows(RBF, *rows(30, 9, 3))
    message = r"prior of alpha0: BDD-M conditions a normal prior .* got "
    for prior in (
        lambda gram, name, dims: None,
        priors.Beta(),
        TRUNCATED,
        preliz.StudentT(4, 0, 1),
    ):
        with pytest.raises(TypeError, match=message):
            bdd_m.build(gram, prior, TRUNCATED)
    assert bdd_m.require_normal(preliz.Normal(0.3, 0.5)) == priors.Normal(sd=0.5, m=0.3)


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("minority_prior", [TRUNCATED, priors.Beta(2, 2)], ids=repr)
def test_automatic_cutoff_is_by_leave_one_out(minority_prior):
    """In the order of the user's rows, with the weights of the draws, for any minority prior."""
    X, y = np.concatenate(rows(30, 24, 8)), np.repeat([0, 1], [24, 8])
    order = np.random.default_rng(47).permutation(32)
    est = BDDM(kernel=RBF, draws=50, tune=50, minority_prior=minority_prior)
    est.fit(X[order], y[order])
    w = est.idata_["posterior"]["w"].values.reshape(100, 32)
    f = Leaving(est.gram_, est.gram_.points.rows, np.arange(32), np.arange(32) >= 24).similarity(w)
    changed, values = est.with_cutoff(Cutoff(level=0.3)), np.empty((100, 32))
    values[:, np.argsort(y[order], kind="stable")] = f
    values = raised(changed, values, log_nearest_left_out(changed))
    left = level_quantile(values - thresholds(changed)[:, None], 0.3)
    np.testing.assert_allclose(scores_left_out(changed), left, rtol=1e-9, atol=1e-12)
    assert est.cutoff_ == est.with_cutoff(Cutoff(cutoffs.Best("g_mean"), cv="loo")).cutoff_
    assert est.cutoff_ != est.with_cutoff(Cutoff(cutoffs.Best("g_mean"), cv="train")).cutoff_
