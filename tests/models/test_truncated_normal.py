"""Draws of the truncated normal against one-dimensional formulas.

Correlated ones are part of the posteriors of BDD-M in inference/test_references.py.
"""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from bsvdd.models import truncated_normal
from scipy.stats import truncnorm


def chains(mean, covariance, draws=3000, tune=30, seed=0):
    precision = np.linalg.inv(covariance)
    rng = np.random.default_rng(seed)
    return truncated_normal.draw(precision, precision @ mean, draws, tune, 2, rng)


def r_hat(x):
    return float(az.rhat(xr.Dataset({"x": (("chain", "draw", "i"), x)}))["x"].max())


@pytest.mark.parametrize("mean", [-8.0, 0.4, 1.3])
@pytest.mark.parametrize("sd", [0.05, 0.5, 3.0])
def test_independent_coordinates_by_their_formula(worst_z, mean, sd):
    """Also where the mean is 160 sd outside, and a fixed time would be a period of the bounces."""
    x = chains(np.full(3, mean), sd**2 * np.eye(3))
    a, b = (0 - mean) / sd, (1 - mean) / sd
    expected, variance = truncnorm.stats(a, b, loc=mean, scale=sd)
    if not 0 < variance < 1:  # scipy loses the variance that far out: exponential there
        rate = abs(a if a > 0 else b) / sd
        expected, variance = (1 / rate if a > 0 else 1 - 1 / rate), rate**-2.0
        assert abs(x.mean() - expected) < 0.03 / rate
        return
    assert x.min() >= 0 and x.max() <= 1
    assert worst_z(x, np.full(3, expected)) < 4.5
    assert worst_z((x - expected) ** 2, np.full(3, variance)) < 4.5
    assert r_hat(x) < 1.02


def test_draws_are_seeded_and_tuning_is_left_out():
    same, again = (chains(np.zeros(4), np.eye(4), 20, 10) for _ in range(2))
    np.testing.assert_array_equal(same, again)
    assert same.shape == (2, 20, 4)
    assert not np.allclose(same, chains(np.zeros(4), np.eye(4), 20, 10, seed=1))
    assert not np.allclose(same[0], same[1])
    none = truncated_normal.draw(np.eye(0), np.zeros(0), 5, 5, 2, np.random.default_rng(0))
    assert none.shape == (2, 5, 0)


def test_a_chain_without_end_is_an_error(monkeypatch):
    monkeypatch.setattr(truncated_normal, "_move", lambda *_: False)
    with pytest.raises(ValueError, match="met the bounds .* 1000000 times.*a smaller likelihood_s"):
        truncated_normal.draw(np.eye(2), np.zeros(2), 5, 5, 1, np.random.default_rng(0))


def test_a_move_stops_after_its_bounces():
    n = 4
    root = np.linalg.cholesky(np.full((n, n), 1.0) + 1e-9 * np.eye(n))
    rng = np.random.default_rng(0)
    x, v = rng.random(n), 1e9 * root @ rng.standard_normal(n)
    assert not truncated_normal._move(x, v, 1.5, np.full(n, 0.5), root @ root.T)
    assert ((x >= 0) & (x <= 1)).all()
