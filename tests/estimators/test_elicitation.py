"""est.elicit_prior: the prior has what was stated."""

import numpy as np
import pytest

from bsvdd import BDD, BSVDD, kernels, priors

X = np.random.default_rng(0).normal(size=(400, 3))


def test_equal_log_weights_have_the_support_of_the_closed_form():
    """Log weights N(0, s^2): M E[w]^2 / E[w^2] = M exp(-s^2), for many points."""
    est = BSVDD(prior=priors.Flat(), kernel=kernels.RBF(1.0))
    prior = est.elicit_prior(X, effective_support=400 * np.exp(-(0.6**2)))
    assert isinstance(prior, priors.Flat) and prior.sd == pytest.approx(0.6, rel=0.02)


def test_what_was_stated_holds_for_other_draws():
    est = BDD(prior=priors.Flat(), kernel=kernels.RBF(1.0), random_state=1)
    rows = X[:60]
    before = float(np.median(est.prior_distance(rows).median("obs")))
    prior = est.elicit_prior(rows, typical_distance=2.0 * before)
    other = BDD(prior=prior, kernel=kernels.RBF(1.0), random_state=7)
    d = other.prior_distance(rows, draws=400)
    assert float(np.median(d.median("obs"))) == pytest.approx(2.0 * before, rel=0.05)


def test_the_nearest_is_said():
    est = BSVDD(prior=priors.Flat(), kernel=kernels.RBF(1.0))
    with pytest.raises(ValueError, match=r"no Flat with sd .* the nearest has 60, with sd=0.001"):
        est.elicit_prior(X[:60], effective_support=90)


@pytest.mark.parametrize(
    ("prior", "stated", "error"),
    [
        (priors.Flat(), {}, "state 1 to 1 of"),
        (
            priors.Flat(),
            {"effective_support": 9, "largest_weight": 0.1},
            r"Flat has numbers \(sd\)",
        ),
        (priors.Flat(), {"effective_support": -1}, "must be a positive number"),
        (priors.Flat(), {"effective_support": True}, "must be a positive number"),
    ],
)
def test_bad_statements(prior, stated, error):
    with pytest.raises(ValueError, match=error):
        BSVDD(prior=prior).elicit_prior(X, **stated)


def test_a_prior_without_an_sd_has_no_numbers():
    with pytest.raises(TypeError, match="that has an sd"):
        BSVDD(prior=lambda gram, name, dims: None).elicit_prior(X, effective_support=9)
