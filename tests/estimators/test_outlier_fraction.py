"""BSVDD and BSVDD-M with SVDD's loss."""

import numpy as np
import pymc as pm
import pytest

NU, MU, SCALE = 0.3, 0.4, 2.0
NAMES = ["BSVDD", "BSVDDM"]
DRAWS = ("chain", "draw")
PLAIN = {"mode": "FAST_COMPILE"}  # no compiler

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def spheres(make, table):
    """Fits with SVDD's loss; do not change them."""
    changes = {"BSVDD": {}, "BSVDDM": {"minority_fraction": MU}}
    return {
        name: make(
            name, outlier_fraction=NU, likelihood_scale=SCALE, draws=400, **changes[name]
        ).fit(*table)
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_radius_has_a_posterior_beside_the_weights(spheres, table, name):
    est, y = spheres[name], table[1]
    posterior = est.idata_["posterior"]
    assert posterior["radius"].dims == posterior["squared_radius"].dims == ("chain", "draw")
    np.testing.assert_allclose(posterior["radius"] ** 2, posterior["squared_radius"])
    assert posterior["radius"].values.std() > 0 and posterior.attrs["sampler"] == "hmc"
    assert float(est.idata_["diagnostics"]["r_hat"]) < 1.05
    # R^2 + (d^2 - R^2)+ / nu for the majority, (R^2 - d^2)+ n0 / (n1 mu) for the minority
    rows = y <= 1 if name == "BSVDDM" else y == 0
    found = est.idata_["potential"]["kernel"]
    np.testing.assert_array_equal(found["obs"], np.flatnonzero(rows))
    d2 = est.idata_["distance"]["d"].values ** 2
    R2 = posterior["squared_radius"].values[..., None]
    outside = R2 + np.where(d2 > R2, d2 - R2, 0) / NU
    inside = 24 / 6 / MU * np.where(d2 < R2, R2 - d2, 0)
    expected = -SCALE / 2 * np.where(y == 0, outside, inside)[..., rows]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:The effect of Potentials")
@pytest.mark.parametrize("name", NAMES)
def test_the_prior_of_the_radius_is_proper_and_so_wide_that_no_figure_moves(spheres, name):
    """Draws weighted to a flat prior of R^2 have the same means, within their Monte Carlo error."""
    est = spheres[name]
    R2 = est.idata_["posterior"]["squared_radius"]
    sd = float(est.model_["squared_radius_sd"].get_value())
    weights = np.exp(R2**2 / (2 * sd**2))
    assert float(weights.max() / weights.min()) < 1.05
    d = est.idata_["distance"]["d"]
    for figure in (d, d**2 < R2, np.sqrt(R2)):
        moved = abs(figure.weighted(weights).mean(DRAWS) - figure.mean(DRAWS))
        error = figure.std(DRAWS) / R2.size**0.5  # of independent draws: none is smaller
        assert bool((moved <= 0.2 * error + 1e-12).all())
    prior = pm.sample_prior_predictive(50, est.model_, random_seed=1, compile_kwargs=PLAIN)["prior"]
    assert (prior["squared_radius"] > 0).all() and np.isfinite(prior["radius"]).all()
