"""Draws of the prior are those of PyMC, whatever was compiled before."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference import prior_draws
from bsvdd.inference.compiled import without_c
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m

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


def custom(random):
    """The same density, drawn in another way."""

    def prior(gram, name, dims):
        return pm.CustomDist(name, logp=lambda x: -(x**2) / 2, random=random, dims=dims)

    return prior


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


@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
def test_the_draws_are_those_of_pymc_in_any_order(order, monkeypatch):
    monkeypatch.setattr(prior_draws, "_compiled", [])
    for name in [*MODELS][::order] * 2:
        model = MODELS[name]()
        with without_c():  # the last digits of C differ
            expected = pm.draw(model["w"], 5, random_seed=7, mode="FAST_COMPILE")
        found = prior_draws.draw(model, 5, 7)
        np.testing.assert_array_equal(found, expected, err_msg=name)


def test_numbers_and_rows_compile_nothing_new(monkeypatch):
    monkeypatch.setattr(prior_draws, "_compiled", [])
    for n0, sd in ((12, 1.0), (15, 0.3)):
        prior_draws.draw(bsvdd.build(gram(n0), priors.Flat(sd)), 2, 1)
        minority = priors.Beta(1 + sd, 2, total=sd)
        prior_draws.draw(bsvdd_m.build(gram(n0, 3), priors.Flat(sd), minority), 2, 1)
    assert len(prior_draws._compiled) == 2


def test_one_density_drawn_in_two_ways_is_two_structures():
    ways = [lambda rng, size: np.ones(size), lambda rng, size: np.arange(size[0]) / 9]
    for random in ways:
        model = bsvdd.build(gram(), custom(random))
        expected = pm.draw(model["w"], 2, random_seed=7, mode="FAST_COMPILE")
        np.testing.assert_array_equal(prior_draws.draw(model, 2, 7), expected)


def test_the_seed_decides():
    model = bsvdd.build(gram(), priors.Flat())
    found = prior_draws.draw(model, 3, 1)
    np.testing.assert_array_equal(found, prior_draws.draw(model, 3, 1))
    assert not np.array_equal(found, prior_draws.draw(model, 3, 2))


def test_an_improper_prior_has_no_draws():
    model = bsvdd.build(gram(), lambda gram, name, dims: pm.Flat(name, dims=dims))
    with pytest.raises(NotImplementedError):
        prior_draws.draw(model, 3, 1)
