"""SVDD and SVDD-M: by hand, against interior points, and without a row."""

from types import SimpleNamespace

import numpy as np
import pytest
from bsvdd.models import svdd
from bsvdd.models.kernels import RBF, Laplacian, Linear, Polynomial
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from bsvdd import SVDD, SVDDM, cutoffs

from .helpers import gram_of, quadratic_program

KERNELS = [RBF(1.3), Laplacian(1.0), Linear(), Polynomial(2, 0.3)]


def instance(seed, n0=30, n1=6):
    """Rows of a majority, and a minority with some rows inside its cloud."""
    rng = np.random.default_rng(seed)
    majority = rng.normal(size=(n0, 2)) * [1.0, 1.5]
    minority = rng.normal(size=(n1, 2)) * np.linspace(0.3, 2.5, n1)[:, None]
    return np.concatenate([majority, minority]), np.repeat([False, True], [n0, n1])


BY_HAND = {
    # C = 1/2: no weight is free, and any R^2 in [1, 16] is optimal: the middle
    "no free weight": ([-4, -1, 1, 4], [], 0.5, None, [0.5, 0, 0, 0.5], 8.5),
    # C = 1/n: every weight is at its bound, and the nearest row gives the only end
    "one end": ([-3, -1, 4], [], 1 / 3, None, [1 / 3] * 3, 1.0),
    # R = max(c + 1, 2 - c), and its square plus C2 times the minority's slack, 1.75 - c
    # for c < .5 and 5c - 1.25 above, is least at c = .5; alpha0 follows from sum = 1 +
    # C2 and centre = .5
    **{
        f"C2={C2}": (
            [-1, 0, 2],
            [1.5],
            10,
            C2,
            [0.5 + C2 / 6, 0, 0.5 + 5 * C2 / 6, -C2],
            2.25,
        )
        for C2 in (0.3, 0.9, 2.4)
    },
}


@pytest.mark.parametrize(
    ("majority", "minority", "C1", "C2", "weights", "R2"), BY_HAND.values(), ids=BY_HAND
)
def test_rows_on_a_line_by_hand(majority, minority, C1, C2, weights, R2):
    rows = np.array([[*majority, *minority]], dtype=float).T
    y = np.repeat([False, True], [len(majority), len(minority)])
    gram = gram_of(Linear(), rows, y)
    sphere = svdd.solve(gram, C1, C2)
    assert_allclose(sphere.weights[gram.of_row], weights, atol=1e-6)
    assert sphere.squared_radius == pytest.approx(R2, abs=2e-6)
    assert sphere.radius**2 == pytest.approx(R2, abs=4e-6)
    d2 = (rows[:, 0] - np.dot(weights, rows[:, 0])) ** 2
    assert_allclose(sphere.squared_distances[gram.of_row], d2, atol=2e-5)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_centre_is_that_of_interior_points(kernel, seed):
    """With weights and equal rows: an atom's bound is the sum of its rows' bounds."""
    rows, y = instance(seed)
    rows[3] = rows[4]
    t = np.random.default_rng(seed).uniform(0.5, 2.0, 36)
    gram, C1, C2 = gram_of(kernel, rows, y, t), 0.15, 0.4
    sphere, K = svdd.solve(gram, C1, C2), kernel(rows, rows)
    t /= t[~y].mean()
    lower, upper = np.where(y, -C2 * t, 0.0), np.where(y, 0.0, C1 * t)
    best = quadratic_program(2 * K, -np.diag(K), lower, upper)
    of_atoms = np.bincount(gram.of_row, best)
    a = sphere.weights @ gram.K @ sphere.weights
    b, cross = (
        best @ K @ best,
        best @ K @ np.eye(36)[[*map(list(gram.of_row).index, range(35))]].T,
    )
    assert a - 2 * cross @ sphere.weights + b == pytest.approx(
        0.0, abs=1e-5 * np.diag(K).mean()
    )
    if kernel.normalized:  # whose matrix is not singular
        assert_allclose(sphere.weights, of_atoms, atol=1e-4)


@pytest.mark.parametrize(
    "kernel", [RBF(), Laplacian("median"), Linear(), Polynomial()], ids=repr
)
def test_no_more_rows_are_flagged_than_the_outlier_fraction_and_none_by_a_hard_margin(
    kernel,
):
    """Nor when the rows are scored one by one, whose digits are not quite the same."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(20, 60), rng.integers(1, 8)
        rows = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 3) + rng.normal(
            size=p
        )
        own = cutoffs.Printed(of="own")
        for fraction in (0.05, 0.3, 1.0):
            est = SVDD(kernel=kernel, outlier_fraction=fraction, cutoff=own).fit(rows)
            assert (est.predict(rows) == -1).mean() <= fraction + 1e-12
        hard = SVDD(kernel=kernel, C=1.0, cutoff=own).fit(rows)
        for these in (rows[rng.permutation(n)], *(rows[[i]] for i in range(0, n, 9))):
            assert (hard.predict(these) == 1).all()


@pytest.mark.parametrize("fraction", [0.1, 0.5])
def test_fractions_are_the_penalties_of_tax(fraction):
    rows, y = instance(1)
    costs = {"C": 1 / (30 * fraction), "C2": 1 / 3}
    given = svdd.solve(gram_of(KERNELS[0], rows, y), *costs.values())
    for how in ({"outlier_fraction": fraction, "minority_fraction": 0.5}, costs):
        est = SVDDM(kernel=KERNELS[0], **how).fit(rows, y)
        assert_array_equal(est.weights_, given.weights)


def refit(gram, sphere, gone):
    """The weights of the atoms for a centre without their shares, by interior points.

    Costs are shares of the rows that stay of each class; the rest of an atom keeps its
    place.
    """
    stay, m = 1.0 - gone, gram.m
    n0 = gram.sizes[:m] @ stay[:m] / gram.n0
    n1 = gram.sizes[m:] @ stay[m:] / (gram.sizes[m:].sum() or 1.0)
    lower, upper = sphere.lower * stay / (n1 or 1.0), sphere.upper * stay / n0
    return quadratic_program(2.0 * gram.K, -gram.diag, lower, upper)


@pytest.mark.parametrize("minority", [False, True], ids=["one class", "both"])
def test_a_ball_without_a_row_is_nearly_its_refit_and_without_several_is_one(minority):
    """Similarities are exact where the row does not shape the sphere."""
    rows, y = instance(5, 30, 6 if minority else 0)
    gram = gram_of(RBF(1.0), rows, y)
    sphere = svdd.solve(gram, 1 / 6, 1 / 3)
    M = len(gram.K)
    several = np.zeros((2, M))
    several[0, [*range(4), M - 1]], several[1, :3] = 1.0, 0.5
    gone, apart = np.vstack([np.eye(M), several]), []
    problems = SimpleNamespace(gone=sparse.csr_array(gone))
    vars(gram).update(left_out_problems=problems)
    *found, whole = sphere.left_out
    assert_array_equal(whole, sphere.weights)
    for w, each in zip(found, gone, strict=True):
        kept = w * (1.0 - each)  # w is of a whole atom
        best = refit(gram, sphere, each)
        assert kept.sum() == pytest.approx(1.0, abs=1e-6)
        apart.append(np.sqrt((kept - best) @ gram.K @ (kept - best)))
        if each.sum() == 1.0 and sphere.weights @ each == 0.0:
            assert_allclose(kept, sphere.weights, atol=1e-12)
    assert max(apart[-2:]) < 1e-4  # of several atoms
    assert np.median(apart) < 0.05 and max(apart) < 0.3


def test_a_part_of_an_atom_leaves_by_the_inverse_too():
    """An atom of two rows at the bound: what stays has the room of one row."""
    rows = instance(5, 30, 0)[0]
    rows = np.vstack([rows, rows])
    gram = gram_of(RBF(1.0), rows, np.zeros(60, dtype=bool))
    sphere = svdd.solve(gram, 1 / 12)
    full = np.flatnonzero(sphere.weights > sphere.upper - 1e-9)
    free = sphere.on
    for g in (*full[:2], *free[:2]):
        (w,) = sphere.without(np.array([g]), np.array([0.5]))
        kept = w * np.where(np.arange(30) == g, 0.5, 1.0)
        assert kept.sum() == pytest.approx(1.0, abs=1e-6)
        assert kept[g] == pytest.approx(
            min(sphere.weights[g], sphere.upper[g] / 2.0), abs=1e-6
        )
