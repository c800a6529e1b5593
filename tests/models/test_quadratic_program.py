"""The quadratic program of weights that sum to one, against cvxopt's interior points."""

import cvxopt
import numpy as np
import pytest
from bsvdd.models.quadratic_program import minimize


def reference(H, b, lower, upper):
    """Solve the program as it stands, by cvxopt."""
    n = len(b)
    P, q = cvxopt.matrix(H), cvxopt.matrix(-b)
    G = cvxopt.matrix(np.vstack([-np.eye(n), np.eye(n)]))
    h = cvxopt.matrix(np.r_[-np.broadcast_to(lower, n), np.broadcast_to(upper, n)].astype(float))
    A, c = cvxopt.matrix(np.ones((1, n))), cvxopt.matrix(1.0)
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-12}
    return np.ravel(cvxopt.solvers.qp(P, q, G, h, A, c, options=options)["x"])


def program(seed, n, factor=1.0):
    """A strictly convex program, so that its solution is unique."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n + 3))
    return rng, factor * A @ A.T / n, factor * rng.normal(size=n)


def assert_feasible(w, lower, upper):
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert (w >= lower - 1e-12).all()
    assert (w <= upper + 1e-9).all()


@pytest.mark.parametrize("n", [2, 5, 30])
@pytest.mark.parametrize("seed", range(4))
def test_signed_weights_with_a_bound_for_each(seed, n):
    rng, H, b = program(seed, n)
    lower = -rng.uniform(0.0, 0.5, n)
    upper = lower + rng.uniform(0.2, 1.5, n) + 1.5 / n
    assert upper.sum() > 1
    w, best = minimize(H, b, lower, upper), reference(H, b, lower, upper)
    assert_feasible(w, lower, upper)
    assert (best < -1e-3).any() or n == 2  # negative weights are of use
    np.testing.assert_allclose(w, best, atol=2e-6)


@pytest.mark.parametrize(
    ("lower", "upper"), [(0.0, 1.0), (0.0, 0.1), (-0.2, 0.4), (-1.0, 5.0), (0.02, 0.2)]
)
def test_numbers_are_bounds_of_all_weights(lower, upper):
    _, H, b = program(10, 20)
    w = minimize(H, b, lower, upper)
    assert_feasible(w, lower, upper)
    np.testing.assert_allclose(w, reference(H, b, lower, upper), atol=2e-6)
    arrays = minimize(H, b, np.full(20, lower), np.full(20, upper))
    np.testing.assert_allclose(w, arrays, rtol=1e-12)


def test_without_bounds_given_the_weights_are_on_the_simplex():
    _, H, b = program(11, 20)
    np.testing.assert_array_equal(minimize(H, b), minimize(H, b, 0.0, 1.0))


@pytest.mark.parametrize(
    ("lower", "upper", "tolerance"),
    # 1e-7 is what the docstring promises
    [(0.0, 0.1, 1e-8), (0.0, 0.5, 1e-8), (0.0, 1.0, 1e-8), (-0.3, 0.4, 1e-7)],
)
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_optimality_conditions(lower, upper, tolerance, factor):
    """Gradient Hw - b: equal inside the bounds, not smaller at the lower, not larger at the upper.

    The matrix has rank 12 of 30, so the solution need not be unique.
    """
    rng = np.random.default_rng(7)
    A, b = rng.normal(size=(30, 12)), factor * rng.normal(size=30)
    H = factor * A @ A.T
    w = minimize(H, b, lower, upper)
    assert_feasible(w, lower, upper)
    gradient = (H @ w - b) / np.abs(H).max()
    low, high = w <= lower + 1e-9, w >= upper - 1e-9 * (upper - lower)
    free = ~low & ~high
    assert free.any()
    level = gradient[free].mean()
    np.testing.assert_allclose(gradient[free], level, atol=tolerance)
    assert (gradient[low] >= level - tolerance).all()
    assert (gradient[high] <= level + tolerance).all()


LOWER, UPPER = np.repeat([0.0, -0.1], [25, 5]), np.repeat([0.2, 0.0], [25, 5])


@pytest.mark.parametrize("signed", [False, True], ids=["simplex", "signed"])
@pytest.mark.parametrize("seed", range(5))
def test_the_centre_of_rows_far_from_the_origin(seed, signed):
    """Linear kernel, rows shifted by 1e5: K is 1e10, and the centre is where it was, shifted."""
    X = np.random.default_rng(seed).normal(size=(30, 2))
    lower, upper = (LOWER, UPPER) if signed else (0.0, 0.15)
    best = reference(2 * X @ X.T, (X * X).sum(axis=1), lower, upper)
    Y = X + 1e5
    w = minimize(2 * Y @ Y.T, (Y * Y).sum(axis=1), lower, upper)
    assert_feasible(w, lower, upper)
    np.testing.assert_allclose(w @ Y - 1e5, best @ X, atol=1e-5)


@pytest.mark.parametrize(
    ("lower", "upper", "sums"),
    [
        (0.0, 0.2, "the lower bounds sum to 0, the upper bounds to 0.8"),
        (0.3, 1.0, "the lower bounds sum to 1.2, the upper bounds to 4"),
        ([0.0, 0.0, 0.0, 0.6], [1.0, 1.0, 1.0, 0.5], "the lower bounds sum to 0.6, .* to 3.5"),
        (-0.5, [0.1, 0.2, 0.3, 0.3], "the lower bounds sum to -2, the upper bounds to 0.9"),
    ],
)
def test_bounds_that_leave_no_weights(lower, upper, sums):
    with pytest.raises(ValueError, match=f"no weights within their bounds sum to 1: {sums}"):
        minimize(np.eye(4), np.ones(4), lower, upper)


@pytest.mark.parametrize(
    ("lower", "upper", "only"),
    [
        ([0.5, 0.7, -0.2], 1.0, [0.5, 0.7, -0.2]),
        (-2.0, [0.5, 0.7, -0.2], [0.5, 0.7, -0.2]),
        (0.0, 1 / 3, [1 / 3] * 3),
        (1 / 3, 1.0, [1 / 3] * 3),
        ([0.5, 0.7, -0.2], [0.5, 0.7, -0.2], [0.5, 0.7, -0.2]),
    ],
)
def test_the_only_feasible_weights(lower, upper, only):
    _, H, b = program(12, 3)
    np.testing.assert_allclose(minimize(H, b, lower, upper), only, rtol=0, atol=1e-12)


def test_the_answer_is_no_view_of_the_bounds():
    lower = np.array([0.5, 0.5])
    minimize(np.eye(2), np.ones(2), lower)[0] = 9.0
    np.testing.assert_array_equal(lower, [0.5, 0.5])


def test_one_weight():
    np.testing.assert_allclose(minimize(np.array([[4.0]]), np.array([-1.0])), [1.0])


def test_one_weight_with_room():
    np.testing.assert_array_equal(minimize(np.eye(1), np.ones(1), -3.0, 3.0), [1.0])


@pytest.mark.parametrize("seed", range(5))
def test_weights_that_are_fixed_by_their_bounds(seed):
    """What is left is a program of the other weights, with a linear term more."""
    rng, H, b = program(seed, 12)
    lower = -rng.uniform(0.0, 0.5, 12)
    upper = lower + rng.uniform(0.4, 1.5, 12)
    fixed = np.sort(rng.choice(12, 3, replace=False))
    upper[fixed] = lower[fixed]
    free = np.setdiff1d(np.arange(12), fixed)
    s = 1.0 - lower[fixed].sum()  # of the others; divided by it they sum to 1
    shift = b[free] - H[np.ix_(free, fixed)] @ lower[fixed]
    best = lower.copy()
    best[free] = s * reference(s * H[np.ix_(free, free)], shift, lower[free] / s, upper[free] / s)
    w = minimize(H, b, lower, upper)
    assert_feasible(w, lower, upper)
    np.testing.assert_array_equal(w[fixed], lower[fixed])
    np.testing.assert_allclose(w, best, atol=2e-6)


def test_one_weight_that_is_not_fixed():
    w = minimize(np.eye(3), np.ones(3), [0.1, -0.3, -2.0], [0.1, -0.3, 2.0])
    np.testing.assert_allclose(w, [0.1, -0.3, 1.2], rtol=1e-14)


def test_inputs_are_left_as_they_are():
    _, H, b = program(13, 6)
    before = H.copy(), b.copy()
    minimize(H, b, -0.2, 0.7)
    np.testing.assert_array_equal(H, before[0])
    np.testing.assert_array_equal(b, before[1])
