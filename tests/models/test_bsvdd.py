"""The posterior mode of BSVDD, the centre behind ``est.kinds``."""

import numpy as np
import pytest
from bsvdd.models import Gram, bsvdd
from scipy.optimize import minimize
from scipy.special import softmax

from bsvdd import kernels, priors

N, SCALE = 15, 30.0
PRIORS = [priors.InverseRowSum(sd=0.5), priors.StandardizedRowSum(sd=0.7), priors.GaussianProcess()]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_mode_is_where_an_independent_search_of_the_pymc_model_ends(prior):
    gram = Gram.from_rows(kernels.RBF(0.8), np.random.default_rng(0).normal(size=(N, 2)))
    density = bsvdd.build(gram, prior, SCALE).compile_logp(mode="FAST_COMPILE")
    found = minimize(lambda b: -density({"beta": b}), np.zeros(N), options={"gtol": 1e-7})
    assert bsvdd.mode(gram, prior, SCALE) == pytest.approx(softmax(found.x), abs=1e-4)
