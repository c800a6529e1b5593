"""The potential against sums of squared distances in an explicit feature space."""

from functools import partial

import numpy as np
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bdd, bdd_m, bsvdd, bsvdd_m, svdd
from bsvdd.models.potential import KernelLikelihood
from scipy import stats

from bsvdd import kernels, priors

RNG = np.random.default_rng(20)
MAJORITY = RNG.normal(size=(6, 2)) + 0.5
MINORITY = RNG.normal(size=(2, 2)) - 1.0
SCALE = 1.7  # lambda


def linear(x):
    return x


def quadratic(x):
    """Features of (0.6 x'y + 1.5)^2: the constant, the columns, their products."""
    return np.concatenate([[1.5], np.sqrt(2 * 1.5 * 0.6) * x, 0.6 * np.outer(x, x).ravel()])


SPACES = [(kernels.Linear(), linear), (kernels.Polynomial(2, gamma=0.6, coef0=1.5), quadratic)]


def direct(w, points, features, scale):
    """-lambda/2 sum_i ||phi(x_i) - sum_j w_j phi(u_j)||^2, sum by sum."""
    center = sum(weight * features(u) for weight, u in zip(w, points, strict=True))
    return -scale / 2 * sum(((features(x) - center) ** 2).sum() for x in MAJORITY)


def softmax(b):
    return np.exp(b) / np.exp(b).sum()


def value(density, x):
    """The log density of one vector."""
    return density.value_and_gradient(x[None])[0][0]


@pytest.mark.parametrize(("kernel", "features"), SPACES, ids=["linear", "polynomial"])
@pytest.mark.parametrize("model", ["bdd", "bsvdd"])
def test_density_of_one_class_models_is_prior_times_potential(kernel, features, model):
    gram = Gram.from_rows(kernel, MAJORITY)
    prior = priors.StandardizedRowSum(sd=0.8)
    build, weights = {"bdd": (bdd.build, np.asarray), "bsvdd": (bsvdd.build, softmax)}[model]
    density = Density.of(build(gram, prior, SCALE))
    row_sums = np.array([sum(kernel([u], [x])[0, 0] for x in MAJORITY) for u in MAJORITY])
    m = -(row_sums - row_sums.mean()) / row_sums.std()
    for x in np.random.default_rng(21).normal(size=(4, 6)):
        log_prior = stats.norm(m, 0.8).logpdf(x).sum()
        expected = direct(weights(x), MAJORITY, features, SCALE)
        assert value(density, x) - log_prior == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("kernel", "features"), SPACES, ids=["linear", "polynomial"])
@pytest.mark.parametrize("total", [None, 0.7])
def test_density_of_bsvdd_m_is_prior_times_potential(kernel, features, total):
    gram = Gram.from_rows(kernel, MAJORITY, MINORITY)
    model = bsvdd_m.build(gram, priors.Flat(1.3), priors.Beta(2, 3, total=total), SCALE)
    density = Density.of(model)
    points = np.concatenate([MAJORITY, MINORITY])
    for x in np.random.default_rng(22).normal(size=(4, 8)):
        tau, b = x[:6], stats.norm.cdf(x[6:])
        log_prior = stats.norm(0, 1.3).logpdf(tau).sum()
        log_prior += (stats.beta(2, 3).logpdf(b) + stats.norm.logpdf(x[6:])).sum()
        alpha1 = b if total is None else total / 2 * b
        w = np.concatenate([(1 + alpha1.sum()) * softmax(tau), -alpha1])
        assert w.sum() == pytest.approx(1.0)
        expected = direct(w, points, features, SCALE)
        assert value(density, x) - log_prior == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(("kernel", "features"), SPACES, ids=["linear", "polynomial"])
def test_numpy_twin_at_any_weights(kernel, features):
    gram = Gram.from_rows(kernel, MAJORITY)
    draws = np.stack(
        [svdd.solve(gram, 0.4).weights, *np.random.default_rng(23).normal(size=(3, 6))]
    )
    expected = [direct(w, MAJORITY, features, SCALE) for w in draws]
    np.testing.assert_allclose(KernelLikelihood(SCALE).total(draws, gram), expected, rtol=1e-10)
    np.testing.assert_allclose(
        KernelLikelihood(SCALE).total(draws[0], gram), expected[0], rtol=1e-10
    )


@pytest.mark.parametrize(("kernel", "features"), SPACES, ids=["linear", "polynomial"])
def test_potential_of_a_separate_dictionary(kernel, features):
    points = np.random.default_rng(24).normal(size=(3, 2))
    gram = Gram.from_rows(kernel, MAJORITY, dictionary=points)
    w = np.array([0.2, 1.1, -0.4])
    expected = direct(w, points, features, 1.0)
    assert KernelLikelihood().total(w, gram) == pytest.approx(expected, rel=1e-10)


ONE, TWO = Gram.from_rows(SPACES[0][0], MAJORITY), Gram.from_rows(SPACES[0][0], MAJORITY, MINORITY)
MODELS = {
    "bdd": (partial(bdd.build, ONE, priors.Flat()), {"alpha": "point", "w": "point"}),
    "bsvdd": (partial(bsvdd.build, ONE, priors.Flat()), {"beta": "point", "w": "point"}),
    "bsvdd_m": (
        partial(bsvdd_m.build, TWO, priors.Flat(), priors.TruncatedNormal()),
        {"tau": "majority", "alpha1": "minority", "w": "point"},
    ),
    "bdd_m": (
        partial(bdd_m.build, TWO, priors.Flat(), priors.TruncatedNormal()),
        {"alpha1": "minority", "w": "point"},
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_variables_have_the_names_of_the_papers_and_the_likelihood_counts_once(name):
    build, dims = MODELS[name]
    dims = dims | {"r": "point"}
    model = build()
    named = {k: v for k, v in model.named_vars_to_dims.items() if k in dims}
    assert named == {k: (v,) for k, v in dims.items()}
    assert {"K", "r", "T", "n0", "likelihood_scale", "squared_norm"} <= set(model.named_vars)
    x = np.random.default_rng(5).normal(size=Density.of(model).size)
    once = value(Density.of(build(likelihood_scale=1.0)), x)
    assert value(Density.of(model), x) == pytest.approx(once, rel=1e-14)
    assert value(Density.of(build(likelihood_scale=2.0)), x) != pytest.approx(once)


def test_one_minority_row_is_enough():
    gram = Gram.from_rows(SPACES[0][0], MAJORITY, MINORITY[:1])
    model = bsvdd_m.build(gram, priors.Flat(), priors.Beta())
    assert model["alpha1"].type.ndim == 1
    assert Density.of(model).size == 7
