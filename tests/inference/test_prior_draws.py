"""Draws of the prior, by NumPy and by PyMC."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.sampling import prior_draws
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m
from scipy import stats

from bsvdd import kernels, priors

RNG = np.random.default_rng(95)


def gram(n0=12, n1=0):
    return Gram.from_rows(
        kernels.RBF(1.0), RNG.normal(size=(n0, 2)), RNG.normal(1.5, 1.0, size=(n1, 2))
    )


def by_row(gram, name, dims):
    """A variable of its own for each minority row."""
    rows = [pm.Beta(f"{name}_{i}", 1 + i, 2) for i in range(gram.n1)]
    return pm.Deterministic(name, pm.math.stack(rows), dims=dims)


def student_t(gram, name, dims):
    return pm.StudentT(name, nu=3, dims=dims)


def hierarchical(gram, name, dims):
    return pm.Normal(name, 0.0, pm.HalfNormal(f"{name}_sd", 1.0), dims=dims)


NORMAL = priors.Normal(m=np.arange(12.0) / 9, sigma=np.eye(12) + 0.5)
MODELS = {
    "flat": lambda: bsvdd.build(gram(), priors.Flat()),
    "flat, more rows": lambda: bsvdd.build(gram(17), priors.Flat(2.0)),
    "row sums": lambda: bsvdd.build(gram(), priors.InverseRowSum()),
    "a vector and a matrix": lambda: bsvdd.build(gram(), NORMAL),
    "bdd": lambda: bdd.build(gram(), priors.Flat()),
    "student": lambda: bsvdd.build(gram(), student_t),
    "hierarchical": lambda: bsvdd.build(gram(), hierarchical),
    "a total": lambda: bsvdd_m.build(gram(12, 4), priors.Flat(), priors.Beta(total=1)),
    "another total": lambda: bsvdd_m.build(gram(12, 5), priors.Flat(), priors.Beta(2, 3, total=4)),
    "no total": lambda: bsvdd_m.build(gram(12, 4), priors.Flat(), priors.Beta()),
    "by row": lambda: bsvdd_m.build(gram(12, 3), priors.Flat(), by_row),
    "by row, more": lambda: bsvdd_m.build(gram(12, 5), priors.Flat(), by_row),
    "a vector": lambda: bsvdd_m.build(
        gram(12, 3), priors.Flat(), priors.TruncatedNormal(mean=(0.1, 0.2, 0.3))
    ),
    "truncated": lambda: bsvdd_m.build(gram(12, 3), priors.Flat(), priors.TruncatedNormal()),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_draws_have_the_distribution_of_those_of_pymc(name):
    model = MODELS[name]()
    expected = pm.draw(model["w"], 400, random_seed=7, mode="FAST_COMPILE")
    found = prior_draws(model, 400, 8)["w"]
    assert found.shape == expected.shape
    for j in (0, -1):
        assert stats.ks_2samp(found[:, j], expected[:, j]).pvalue > 1e-4


@pytest.mark.parametrize("name", ["flat", "student", "a total"])
def test_the_seed_decides(name):
    model = MODELS[name]()
    found = prior_draws(model, 3, 1)["w"]
    np.testing.assert_array_equal(found, prior_draws(model, 3, 1)["w"])
    assert not np.array_equal(found, prior_draws(model, 3, 2)["w"])


def test_every_proper_free_variable_is_drawn():
    model = bsvdd.build(gram(), hierarchical, outlier_fraction=0.5)
    assert set(prior_draws(model, 1, 1)) == {"beta", "beta_sd", "w"}
    model = bsvdd_m.build(gram(12, 3), priors.Flat(), priors.Beta(), outlier_fraction=0.5)
    assert set(prior_draws(model, 2, 1)) >= {"tau", "alpha1_probit", "w"}


def test_an_improper_prior_has_no_draws():
    model = bsvdd.build(gram(), lambda gram, name, dims: pm.Flat(name, dims=dims))
    with pytest.raises(NotImplementedError):
        prior_draws(model, 3, 1)
