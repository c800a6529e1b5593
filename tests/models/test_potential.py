"""The likelihood against distances in an explicit feature space."""

import numpy as np
import pytest
from bsvdd.models import bdd, bdd_m, bsvdd, bsvdd_m, weights
from bsvdd.models.kernels import RBF, Linear, Polynomial

from bsvdd import priors

from . import helpers

RNG = np.random.default_rng(40)
MAJORITY = RNG.normal(size=(12, 2)) * [1.0, 1.6]
MINORITY = np.array([[0.4, 0.7], [2.2, -1.0], [-0.2, 3.0]])
ROWS, Y = np.concatenate([MAJORITY, MINORITY]), np.repeat([False, True], [12, 3])
T = np.append(RNG.uniform(0.5, 2.0, 12), [1.0, 2.0, 0.5])
T /= T[:12].mean()
SCALE = 1.7  # lambda


def quadratic(x):
    """Features of (0.6 x'y + 1.5)^2: the constant, the columns, their products."""
    return np.concatenate(
        [[1.5], np.sqrt(2 * 1.5 * 0.6) * x, 0.6 * np.outer(x, x).ravel()]
    )


KERNELS = {
    "linear": Linear(),
    "polynomial": Polynomial(2, gamma=0.6, coef0=1.5),
    "RBF": RBF(1.3),
}
FEATURES = {"linear": np.asarray, "polynomial": quadratic}


def squared_distances(w, atoms, space):
    """d^2 of the majority rows to the centre sum_j w_j phi(u_j), by the definition."""
    if space == "RBF":
        K, k = helpers.rbf(atoms, atoms, 1.3), helpers.rbf(atoms, MAJORITY, 1.3)
        return helpers.squared_distances(w, K, k, 1.0)
    center = sum(v * FEATURES[space](u) for v, u in zip(w, atoms, strict=True))
    return np.array([((FEATURES[space](x) - center) ** 2).sum() for x in MAJORITY])


@pytest.mark.parametrize("space", KERNELS)
def test_likelihood_is_of_weighted_squared_distances(space):
    gram = helpers.gram_of(KERNELS[space], ROWS, Y, T)
    w = RNG.normal(size=(4, 15))
    value, _ = weights.log_likelihood(w, gram, SCALE)
    atoms = ROWS[np.argsort(gram.of_row)]
    direct = [-SCALE / 2 * T[:12] @ squared_distances(v, atoms, space) for v in w]
    np.testing.assert_allclose(value, direct, rtol=1e-10)


NAMES = {
    "bdd": {"alpha0": "point"},
    "bsvdd": {"beta": "point"},
    "bsvdd_m": {"tau": "majority", "alpha1": "minority"},
    "bdd_m": {"x": "majority", "alpha1": "minority"},
}


@pytest.mark.parametrize("name", NAMES)
def test_variables_have_the_names_of_the_papers_and_the_likelihood_is_one_potential(
    name,
):
    of_both = name.endswith("_m")
    n = 15 if of_both else 12
    gram = helpers.gram_of(RBF(1.3), ROWS[:n], Y[:n], T[:n])
    module = {"bdd": bdd, "bsvdd": bsvdd, "bsvdd_m": bsvdd_m, "bdd_m": bdd_m}[name]
    model = module.build(
        gram, priors.Flat(), *[priors.TruncatedNormal()] * of_both, SCALE
    )
    assert model.named_vars_to_dims == {k: (v,) for k, v in NAMES[name].items()} | {
        "w": ("point",),
        "K": ("point", "other_point"),
        "r": ("point",),
    }
    assert [v.name for v in model.potentials] == ["kernel"]
    assert [v.name for v in model.free_RVs] == list(NAMES[name])
