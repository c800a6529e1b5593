"""The quadratic program of weights of sum one, against cvxopt."""

import numpy as np
import pytest
from bsvdd.models import quadratic_program
from numpy.testing import assert_allclose, assert_array_equal

from . import helpers


def program(seed, n, fixed=0):
    """A strictly convex program (one solution) with a bound for each weight."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 3))
    lower = -rng.uniform(0.0, 0.5, n)
    upper = lower + rng.uniform(0.4, 1.5, n) + 1.5 / n
    upper[:fixed] = lower[:fixed]
    return A @ A.T / n, rng.normal(size=n), lower, upper


def minimize(H, b, lower, upper):
    """The solution, with a bound for each weight."""
    bounds = (
        np.array(np.broadcast_to(bound, len(b)), dtype=float)
        for bound in (lower, upper)
    )
    return quadratic_program.minimize(H, b, *bounds)


def assert_feasible(w, lower, upper):
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert (w >= lower - 1e-12).all()
    assert (w <= upper + 1e-9).all()


@pytest.mark.parametrize(
    ("H", "b", "lower", "upper"),
    [
        *(program(seed, n) for n in (2, 5, 30) for seed in (0, 1)),
        *(program(seed, 12, fixed=3) for seed in (0, 1)),
        *(
            (*program(10, 20)[:2], *bounds)
            for bounds in [
                (0.0, 1.0),
                (0.0, 0.1),
                (-0.2, 0.4),
                (-1.0, 5.0),
                (0.02, 0.2),
            ]
        ),
        *((1e6 * H, 1e6 * b, 0.0, 0.5) for H, b, *_ in [program(11, 20)]),
    ],
)
def test_the_solution_is_that_of_interior_points(H, b, lower, upper):
    before = H.copy(), b.copy()
    w = minimize(H, b, lower, upper)
    assert_feasible(w, lower, upper)
    assert_allclose(w, helpers.quadratic_program(H, -b, lower, upper), atol=2e-6)
    low, high = (np.broadcast_to(bound, len(b)) for bound in (lower, upper))
    assert_array_equal(w[low == high], low[low == high])
    for given, was in zip((H, b), before, strict=True):
        assert_array_equal(given, was)


LOWER, UPPER = np.repeat([0.0, -0.1], [25, 5]), np.repeat([0.2, 0.0], [25, 5])


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.0, 0.15), (LOWER, UPPER)], ids=["simplex", "sign"]
)
def test_the_centre_of_rows_far_from_the_origin(lower, upper):
    """Linear kernel, rows shifted by 1e5: K is 1e10, and the centre shifts too."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    best = helpers.quadratic_program(2 * X @ X.T, -(X * X).sum(axis=1), lower, upper)
    Y = X + 1e5
    w = minimize(2 * Y @ Y.T, (Y * Y).sum(axis=1), lower, upper)
    assert_feasible(w, lower, upper)
    assert_allclose(w @ Y - 1e5, best @ X, atol=1e-5)


@pytest.mark.parametrize(
    ("lower", "upper", "only"),
    [
        ([0.5, 0.7, -0.2], 1.0, [0.5, 0.7, -0.2]),
        (-2.0, [0.5, 0.7, -0.2], [0.5, 0.7, -0.2]),
        (0.0, 1 / 3, [1 / 3] * 3),
        (1 / 3, 1.0, [1 / 3] * 3),
        ([0.5, 0.7, -0.2], [0.5, 0.7, -0.2], [0.5, 0.7, -0.2]),
        (
            [0.1, -0.3, -2.0],
            [0.1, -0.3, 2.0],
            [0.1, -0.3, 1.2],
        ),  # one that is not fixed
        (0.0, 1.0, [1.0]),
        (-3.0, 3.0, [1.0]),
    ],
)
def test_the_only_feasible_weights(lower, upper, only):
    H, b, *_ = program(12, len(only))
    w = minimize(H, b, lower, upper)
    assert_allclose(w, only, rtol=0, atol=1e-12)


def test_no_feasible_weights_are_told():
    H, b, *_ = program(12, 3)
    for lower, upper in ((0.0, 0.3), (0.4, 1.0), (0.5, 0.2)):
        with pytest.raises(
            ValueError, match="no weights within their bounds sum to 1: the lower"
        ):
            minimize(H, b, lower, upper)
