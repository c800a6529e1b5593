"""BSVDD-M: the probit form of the minority weights is ``pm.Beta``, up to the Jacobian."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.models import Gram, bsvdd_m
from scipy import stats

from bsvdd import kernels, priors

RNG = np.random.default_rng(5)
GRAM = Gram.from_rows(kernels.RBF(1.0), RNG.normal(size=(8, 2)), RNG.normal(2.0, 1.0, size=(3, 2)))


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (2.0, 5.0)])
def test_pm_beta_itself_has_the_same_posterior(a, b):
    """The densities differ by that of the probit, which is the Jacobian of the weight."""

    def beta(gram, name, dims):
        return pm.Beta(name, a, b, dims=dims)

    ours = bsvdd_m.build(GRAM, priors.RowSum(), priors.Beta(a, b))
    theirs = bsvdd_m.build(GRAM, priors.RowSum(), beta)
    assert [v.name for v in ours.free_RVs] == ["tau", "alpha1_probit"]
    assert [v.name for v in theirs.free_RVs] == ["tau", "alpha1"]
    tau, probit = RNG.normal(size=8), RNG.normal(size=3)
    alpha1 = stats.norm.cdf(probit)
    log_odds = np.log(alpha1 / (1 - alpha1))
    mode = "FAST_COMPILE"  # one call of each: no machine code
    density = ours.compile_logp(mode=mode)({"tau": tau, "alpha1_probit": probit})
    other = theirs.compile_logp(jacobian=False, mode=mode)(
        {"tau": tau, "alpha1_logodds__": log_odds}
    )
    assert density - stats.norm.logpdf(probit).sum() == pytest.approx(
        float(other), rel=1e-8
    )  # of PyMC's Beta
