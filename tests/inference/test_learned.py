"""What a posterior learns: from data and their seed alone, and with priors that users write."""

from dataclasses import dataclass, replace

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.draws import SamplerSettings
from bsvdd.inference.learned import Posterior
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m

from bsvdd import kernels, priors
from tests.cases import MAJORITY, ONE, TWO, student

from ..models.helpers import moments_z

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@dataclass(frozen=True)
class Rows:
    """All that a posterior asks of training data."""

    gram: Gram
    seed: int = 5
    rows_beside_points = None

    @property
    def rows(self):
        return self.gram.points.rows


def learned(model, data, seed=None, draws=40):
    settings = SamplerSettings("hmc", draws, draws, 2, seed)
    return Posterior(model, settings).resolved(data).learn(data)


MODELS = {
    "BSVDD": (bsvdd.Model(priors.Flat(1.5), "calibrated"), ONE),
    "BSVDD, user's prior": (bsvdd.Model(student, 2.0), ONE),
    "BSVDD-M": (bsvdd_m.Model(priors.Flat(), 2.0), TWO),
    "BDD": (bdd.Model(priors.Flat(), 2.0), ONE),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_learned_is_a_function_of_the_data_and_their_seed(name):
    """Not of the seed of the settings, of NumPy's own, or of what was learned before."""
    model, gram = MODELS[name]
    data, found = Rows(gram), []
    for seed, seed_of_data in ((None, 5), (None, 6), (1, 5)):
        np.random.seed(seed)  # noqa: NPY002
        found.append(learned(model, replace(data, seed=seed_of_data), seed))
    first, other, second = (one.draws.variables for one in found)
    assert set(first) == set(second) and found[0].posterior is found[0].draws
    for variable, values in first.items():
        np.testing.assert_array_equal(second[variable], values)
    assert not np.allclose(first["w"], other["w"])
    rows = np.random.default_rng(1).normal(size=(5, 2))
    values = [one.score.values_of_draws(rows) for one in found[::2]]
    np.testing.assert_array_equal(*values)
    assert values[0].shape == (80, 5)


def test_a_prior_that_pytensor_alone_knows_has_the_posterior_of_its_formula(worst_z):
    """Normal, as that of BDD: the mean and the covariance are known."""
    gram = Gram.from_rows(kernels.RBF(1.2), MAJORITY)

    def normal(gram, name, dims):
        return pm.Normal(name, 0.4, 0.7, dims=dims)

    drawn = learned(bdd.Model(normal, 2.0), Rows(gram), draws=2000).draws
    C = np.linalg.inv(2.0 * gram.n0 * gram.K + np.eye(gram.n0) / 0.7**2)
    mean = C @ (2.0 * gram.r + 0.4 / 0.7**2)
    assert moments_z(worst_z, drawn.w, mean, C) < 4.5
