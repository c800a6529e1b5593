"""Coordinates in which a curvature is nearly the identity."""

import numpy as np
import pytest
from bsvdd.inference.samplers import whitening
from bsvdd.inference.samplers.whitening import Whitening
from scipy.linalg import hadamard
from scipy.optimize import approx_fprime

RNG = np.random.default_rng(90)
CENTER = RNG.normal(size=128)


def curvature(n, ties):
    """Diagonal from 1 to 10,000; eigenvalues of the correlation, up to a factor, 1 + each tie."""
    Q = hadamard(128)[:n, : len(ties)] / np.sqrt(n)  # all of its products have one diagonal
    H = np.eye(n) + Q @ np.diag(ties) @ Q.T
    scale = np.geomspace(1.0, 100.0, n) / np.sqrt(np.diag(H))
    return scale[:, None] * H * scale


CURVATURES = {
    "diagonal": (np.diag(4.0 ** (np.arange(128) % 5)), 128),
    "nearly diagonal": (curvature(128, [1e-3]), 16),
    "a few ties": (curvature(128, [5.0, -0.9, 3.0, 0.5, -0.5, 0.02]), 16),
    "few parameters": (curvature(12, [5.0, -0.9]), 12),
    "all tied": (curvature(128, np.geomspace(0.5, 1000.0, 128)), 128),
}


@pytest.mark.parametrize("name", CURVATURES)
def test_the_curvature_in_the_coordinates_is_nearly_the_identity(name):
    """Column i of the map from y to x is the i-th unit vector's; H in y is map' H map."""
    H, directions = CURVATURES[name]
    n = len(H)
    white = Whitening.of(CENTER[:n], H)
    assert len(white.directions) == directions
    columns = white.parameters(np.eye(n)) - CENTER[:n]
    eigenvalues = np.linalg.eigvalsh(columns @ H @ columns.T)
    assert np.abs(eigenvalues - 1.0).max() <= whitening.REST
    if directions == n:
        np.testing.assert_allclose(eigenvalues, 1.0, rtol=1e-9)


@pytest.mark.parametrize("name", CURVATURES)
def test_coordinates_are_of_the_parameters(name):
    H, _ = CURVATURES[name]
    y = RNG.normal(size=(3, len(H)))
    white = Whitening.of(CENTER[: len(H)], H)
    np.testing.assert_allclose(white.coordinates(white.parameters(y)), y, atol=1e-10)
    np.testing.assert_allclose(white.parameters(0 * y), np.tile(CENTER[: len(H)], (3, 1)))


def test_gradients_by_the_coordinates():
    H, _ = CURVATURES["a few ties"]
    white = Whitening.of(CENTER, H)
    y = RNG.normal(size=128)

    def function(y):
        return np.sin(white.parameters(y[None])).sum()

    by_x = np.cos(white.parameters(y[None]))
    np.testing.assert_allclose(white.gradient(by_x)[0], approx_fprime(y, function), atol=1e-5)
