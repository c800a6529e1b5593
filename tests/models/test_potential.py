"""The likelihood against distances in an explicit feature space."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m
from bsvdd.models.potential import KernelLikelihood
from scipy import stats

from bsvdd import kernels, priors
from tests import cases

from . import helpers

RNG = np.random.default_rng(40)
MAJORITY = RNG.normal(size=(12, 2)) * [1.0, 1.6]
MINORITY = np.array([[0.4, 0.7], [2.2, -1.0], [-0.2, 3.0]])
N0, N1 = len(MAJORITY), len(MINORITY)
SCALE = 1.7  # lambda


def quadratic(x):
    """Features of (0.6 x'y + 1.5)^2: the constant, the columns, their products."""
    return np.concatenate([[1.5], np.sqrt(2 * 1.5 * 0.6) * x, 0.6 * np.outer(x, x).ravel()])


KERNELS = {
    "linear": kernels.Linear(),
    "polynomial": kernels.Polynomial(2, gamma=0.6, coef0=1.5),
    "RBF": kernels.RBF(1.3),
}
FEATURES = {"linear": np.asarray, "polynomial": quadratic}
each_kernel = pytest.mark.parametrize("space", KERNELS)
in_features = pytest.mark.parametrize("space", FEATURES)


def squared_distances(w, points, rows, space):
    """d^2 of rows to the centre sum_j w_j phi(u_j), by the definition."""
    if space == "RBF":
        k = partial(helpers.rbf, s=1.3)
        return helpers.squared_distances(w, k(points, points), k(points, rows), 1.0)
    center = sum(v * FEATURES[space](u) for v, u in zip(w, points, strict=True))
    return np.array([((FEATURES[space](x) - center) ** 2).sum() for x in rows])


def softmax(b):
    return np.exp(b - b.max()) / np.exp(b - b.max()).sum()


class Case(NamedTuple):
    """A model with its settings."""

    name: str
    total: float | None = None

    @property
    def points(self):
        return np.concatenate([MAJORITY, MINORITY]) if self.name == "bsvdd_m" else MAJORITY

    def density(self, space):
        prior, k = priors.StandardizedRowSum(sd=0.8), KERNELS[space]
        if self.name == "bdd":
            return Density(bdd.Model(prior, SCALE), Gram.from_rows(k, MAJORITY))
        if self.name == "bsvdd":
            return Density(bsvdd.Model(prior, SCALE), Gram.from_rows(k, MAJORITY))
        model = bsvdd_m.Model(prior, SCALE, minority_prior=priors.Beta(2, 3, total=self.total))
        return Density(model, Gram.from_rows(k, MAJORITY, MINORITY))

    def prior(self, x, space):
        """The weights and the log prior density."""
        row_sums = np.array(
            [sum(KERNELS[space]([u], [x])[0, 0] for x in MAJORITY) for u in MAJORITY]
        )
        m = -(row_sums - row_sums.mean()) / row_sums.std()
        log_prior, w = stats.norm(m, 0.8).logpdf(x[:N0]).sum(), x[:N0]
        if self.name != "bdd":
            w = softmax(w)
        if self.name == "bsvdd_m":
            b = stats.norm.cdf(x[N0:])
            log_prior += (stats.beta(2, 3).logpdf(b) + stats.norm.logpdf(x[N0:])).sum()
            alpha1 = b if self.total is None else self.total / N1 * b
            w = np.concatenate([(1 + alpha1.sum()) * w, -alpha1])
        return w, log_prior

    def likelihood(self, w, space):
        """-lambda/2 sum d^2."""
        return -SCALE / 2 * squared_distances(w, self.points, MAJORITY, space).sum()


CASES = [Case("bdd"), Case("bsvdd"), Case("bsvdd_m"), Case("bsvdd_m", 0.7)]


@each_kernel
@pytest.mark.parametrize("case", CASES, ids=str)
def test_density_is_prior_times_likelihood(case, space):
    density = case.density(space)
    for x in np.random.default_rng(41).normal(size=(4, density.size)):
        w, log_prior = case.prior(x, space)
        found = density.value_and_gradient(x[None])[0][0]
        assert found - log_prior == pytest.approx(case.likelihood(w, space), rel=1e-9)
        np.testing.assert_allclose(density.named(x[None])["w"][0], w)


@each_kernel
def test_likelihood_of_a_separate_dictionary_at_any_weights(space):
    points, w = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 3))
    gram = Gram.from_rows(KERNELS[space], MAJORITY, dictionary=points)
    direct = [-squared_distances(v, points, MAJORITY, space).sum() / 2 for v in w]
    np.testing.assert_allclose(KernelLikelihood().value_and_pull(w, gram)[0], direct, rtol=1e-10)
    value = KernelLikelihood(SCALE).value_and_pull(w[0], gram)[0]
    assert value == pytest.approx(SCALE * direct[0], rel=1e-10)


NAMES = {
    "BDD": {"alpha0": "point"},
    "BSVDD": {"beta": "point"},
    "BSVDD-M": {"tau": "majority", "alpha1": "minority"},
    "BDD-M": {"x": "majority", "alpha1": "minority"},
}


@pytest.mark.parametrize("name", NAMES)
def test_variables_have_the_names_of_the_papers_and_the_likelihood_is_one_potential(name):
    prior, minority = priors.Flat(), priors.TruncatedNormal()
    if name in cases.MINORITY_MODELS:
        density = cases.MINORITY_MODELS[name](prior, minority)
    else:
        density = cases.MAJORITY_MODELS[name](prior)
    model = density.pymc
    dims = NAMES[name] | {"r": "point", "w": "point"}
    named = {k: v for k, v in model.named_vars_to_dims.items() if k in dims}
    assert named == {k: (v,) for k, v in dims.items()}
    assert {"K", "r", "T", "n0", "likelihood_scale", "squared_norm"} <= set(model.named_vars)
    assert [v.name for v in model.potentials] == ["kernel"] == [density.likelihood.potential]


def test_one_minority_row_is_enough_and_none_is_refused():
    gram = Gram.from_rows(KERNELS["linear"], MAJORITY, MINORITY[:1])
    assert Density(bsvdd_m.Model(priors.Flat()), gram).size == N0 + 1
    with pytest.raises(ValueError, match=r"none \(n1 = 0\); give"):
        bsvdd_m.build(cases.ONE, priors.Flat(), priors.Beta())
