"""Rows that leave a centre, each point standing for several rows, by sums over the rows."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from bsvdd.inference.center import Center
from bsvdd.inference.leave import Leaving, Rescaled
from bsvdd.models import Gram
from bsvdd.models.points import Points

from bsvdd import kernels

RNG = np.random.default_rng(90)
POINTS = np.column_stack([RNG.normal(size=(7, 2)), RNG.integers(0, 3, 7)])
COUNT, MINORITY = np.array([3, 1, 2, 1, 4, 2, 1]), np.repeat([False, True], [5, 2])
KERNELS = {
    "RBF": kernels.RBF(1.2),
    "linear": kernels.Linear(),
    "tabular": kernels.Tabular(kernels.RBF(1.1), categorical=[2]),  # which learns from rows
}
WEIGHTS = {
    "simplex": RNG.dirichlet(np.ones(5), size=4),
    "another sum": 2.5 * RNG.dirichlet(np.ones(5), size=4),
    # a row with nearly all the weight, and with all of it
    "nearly all": np.array([[1e-9, 5e-9, 3e-9, 1 - 1e-8, 1e-9], [0.0, 0.0, 0.0, 1.0, 0.0]]),
    # two equal rows with nearly all of it each, and rows with more than all of it
    "signed": np.array([[-0.5, 0.3, 2 - 4e-5, 4e-5 - 0.6, -0.2], [5.0, 1.7, -6.0, 0.3, 0.0]]),
}
WITH_MINORITY = -RNG.uniform(size=(4, 2))
CASES = [
    *((k, w, n1) for k, w, n1 in product(KERNELS, ("simplex", "another sum"), (0, 2))),
    *(("RBF", w, n1) for w, n1 in product(("nearly all", "signed"), (0, 2))),
]


def of_points(kernel, n1, groups=False):
    """Rows that leave their points, and the rows that leave if each is a point of its own.

    The rows of a point are equal, or a group of different rows.
    """
    m = 5 + n1
    count, minority = COUNT[:m], MINORITY[:m]
    point = np.repeat(np.arange(m), count)
    rows, of_row = POINTS[point], minority[point]
    if groups:
        rows = rows + RNG.normal(size=rows.shape) * [0.3, 0.3, 0.0]
    kernel = KERNELS[kernel].resolve(rows[~of_row])
    many = Gram.from_rows(kernel, rows[~of_row], rows[of_row])
    alone = Leaving(many, rows, np.arange(len(rows)), of_row)
    if groups:
        points = Points(rows, np.ones(len(rows), dtype=int), np.cumsum(count) - count)
        member = np.arange(len(rows))
    else:
        points, member = Points(POINTS[:m], count, np.arange(m)), point
    few = Gram.from_points(kernel, points, member[~of_row], n1)
    return Leaving(few, rows, member, of_row), alone


def point_of(leaving):
    """The point that each row belongs to."""
    return leaving.gram.points.of_members(leaving.member)


def weights_of(name, n1):
    """Weights of the points; those of the minority come last, and are negative."""
    w = WEIGHTS[name]
    return np.hstack([w, WITH_MINORITY[: len(w)]]) if n1 else w


def without(v, k, minority, j, *others):
    """Similarity of row j to rows with weights v without itself and others, and what is left."""
    kept = np.delete(np.arange(len(v)), [j, *others])
    majority, kept_minority = kept[~minority[kept]], kept[minority[kept]]
    t, rest = v[~minority].sum(), v[majority].sum()
    if rest <= 0.0:
        return -np.inf, rest
    scale = (t + v[j]) / t if minority[j] else t / rest
    return scale * v[majority] @ k[majority] + v[kept_minority] @ k[kept_minority], rest


@pytest.mark.parametrize("groups", [False, True], ids=["copies", "groups"])
@pytest.mark.parametrize(("kernel", "weights", "n1"), CASES)
def test_each_row_leaves_as_if_it_were_a_point_of_its_own(kernel, weights, n1, groups):
    leaving, alone = of_points(kernel, n1, groups)
    w = weights_of(weights, n1)
    point, minority, n = point_of(leaving), leaving.minority, len(leaving.rows)
    v = (w / leaving.gram.points.sizes)[:, point]
    kernel = leaving.gram.kernel
    K = np.stack([(kernel if minority[j] else kernel.leaving_out)(r[None], leaving.rows)[0]
                  for j, r in enumerate(leaving.rows)])  # fmt: skip
    expected = np.array([[without(each, K[j], minority, j) for j in range(n)] for each in v])
    how = dict(rtol=1e-9, atol=1e-12)
    for each, of_points_ in ((leaving, w), (alone, v)):
        np.testing.assert_allclose(each.similarity(of_points_), expected[..., 0], **how)
        total, rest = each.rest(of_points_)
        np.testing.assert_allclose(total, v[:, ~minority].sum(axis=1, keepdims=True))
        np.testing.assert_allclose(rest, expected[..., 1], rtol=1e-6, atol=1e-12)
        some = each.part(slice(2, None, 3))
        np.testing.assert_allclose(some.similarity(of_points_), expected[:, 2::3, 0], **how)
        if kernel.normalized:
            points = np.arange(each.gram.n_points)
            np.testing.assert_allclose(np.exp(each.log_k(points)), each.k, atol=1e-12)
    for j in np.flatnonzero(~minority & (expected[..., 1] > 0.0).all(axis=0)):
        others = v.copy()
        others[:, j] = 0.0
        majority = others[:, ~minority].sum(axis=1, keepdims=True)
        others[:, ~minority] *= v[:, ~minority].sum(axis=1, keepdims=True) / majority
        found = leaving.part(slice(j, j + 1)).weights(w)
        np.testing.assert_allclose(found, others @ (point[:, None] == np.arange(w.shape[1])), **how)


def test_rows_of_no_point_leave_what_the_kernel_learned_from_them():
    """And nothing of the centre, whose points other rows leave."""
    leaving, _ = of_points("tabular", 2)
    stranger, w = np.flatnonzero(point_of(leaving) == 2)[0], weights_of("simplex", 2)
    member = np.where(np.arange(len(leaving.rows)) == stranger, -1, leaving.member)
    some, kernel = replace(leaving, member=member), leaving.gram.kernel
    row = leaving.rows[stranger, None]
    found, expected = some.similarity(w), leaving.similarity(w)
    assert not np.allclose(kernel.leaving_out(row, POINTS), kernel(row, POINTS))
    expected[:, stranger] = w @ kernel.leaving_out(row, leaving.gram.points.rows)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    total, rest = some.rest(w)
    np.testing.assert_array_equal(rest[:, [stranger]], total)
    points = np.arange(7)
    np.testing.assert_allclose(np.exp(some.log_k(points)), some.k, atol=1e-12)
    np.testing.assert_array_equal(some.part([stranger]).weights(w), w)


@pytest.mark.parametrize("new", [False, True], ids=["training rows", "new rows"])
@pytest.mark.parametrize("groups", [False, True], ids=["copies", "groups"])
@pytest.mark.parametrize(
    ("kernel", "weights", "n1"),
    [*product(KERNELS, ("simplex",), (0, 2)), ("RBF", "nearly all", 2)],
)
def test_donors_leave_with_a_row(kernel, weights, n1, groups, new):
    """Each row leaves with two majority rows, or with one, whose values fill its gaps."""
    leaving, _ = of_points(kernel, n1, groups)
    w, point, minority = weights_of(weights, n1)[:1], point_of(leaving), leaving.minority
    v, kernel, n = (w / leaving.gram.points.sizes)[:, point], leaving.gram.kernel, len(point)
    majority = np.flatnonzero(~minority)
    donors = np.array([[majority[(j + 2) % len(majority)], majority[(j + 5) % len(majority)]]
                       for j in range(n)])  # fmt: skip
    donors[donors == np.arange(n)[:, None]] = -1
    donors[::3, 1] = -1
    of_one = np.flatnonzero(point == 3)  # has nearly all the weight
    donors[minority] = of_one[[0, -1]] if len(of_one) > 1 else [of_one[0], -1]
    assert (donors >= 0).any(axis=1).all()
    member = np.full(n, -1) if new else leaving.member
    of_members = np.append(leaving.member, -1)[donors]
    some = replace(leaving, member=member, donors=of_members)
    itself = minority & ~np.full(n, new)
    K, points = kernel(leaving.rows), np.arange(w.shape[1])
    for j in range(n):
        gone = [i for i in donors[j] if i >= 0] + ([] if new else [j])
        kept = np.delete(np.arange(n), gone)
        of_majority, of_minority = kept[~minority[kept]], kept[minority[kept]]
        t, rest = v[:, ~minority].sum(axis=1), v[:, of_majority].sum(axis=1)
        t_of_a = t + v[:, j] if itself[j] else t
        expected = t_of_a / rest * (v[:, of_majority] @ K[j, of_majority])
        expected = expected + v[:, of_minority] @ K[j, of_minority]
        one = some.part(slice(j, j + 1))
        np.testing.assert_allclose(one.similarity(w)[:, 0], expected, rtol=1e-9)
        np.testing.assert_allclose(some.similarity(w)[:, j], expected, rtol=1e-9)
        np.testing.assert_allclose(one.rest(w)[1][:, 0], rest, rtol=1e-6, atol=1e-12)
        if kernel.normalized:
            np.testing.assert_allclose(np.exp(one.log_k(points)), one.k, atol=1e-15)
            near = [
                K[j, kept[~minority[kept] & (point[kept] == g)]] for g in np.unique(point[majority])
            ]
            expected = max(np.log(k.mean()) for k in near if len(k))
            np.testing.assert_allclose(one.log_nearest, expected, rtol=1e-9, atol=1e-12)


def test_logarithms_of_rows_that_leave_do_not_underflow():
    """A point that is far from all others, and stands for one or for two rows."""
    points = np.array([[0.0, 0.0], [0.5, 0.0], [60.0, 0.0]])
    w = WEIGHTS["simplex"][:, :3]
    w = w / w.sum(axis=1, keepdims=True)
    for count in (1, 2):
        n = np.array([1, 2, count])
        member = np.repeat(np.arange(3), n)
        gram = Gram.from_points(kernels.RBF(1.0), Points(points, n, np.arange(3)), member)
        center = Center(w, gram, nonnegative=True)
        leaving = Leaving(gram, points, np.arange(3), np.zeros(3, dtype=bool))
        log_s = center.log_similarity(points, leaving).T
        found = leaving.similarity(w)
        near = [0, 1] if count == 1 else [0, 1, 2]
        np.testing.assert_allclose(log_s[:, near], np.log(found[:, near]), rtol=1e-12)
        if count == 1:
            assert (found[:, 2] == 0.0).all()
            nearest = -(59.5**2) / 2 + np.log(w[:, 1] / (1 - w[:, 2]))
            np.testing.assert_allclose(log_s[:, 2], nearest, rtol=1e-9)  # but for exp(-59.75 / 2)


@pytest.mark.parametrize(
    ("rule", "factor", "refused"),
    [
        (Rescaled(), 1.0, False),
        (Rescaled(), 1.0 + 1e-5, True),
        (Rescaled(to_one=False), 2.5, False),
    ],
)
def test_which_sums_rescaled_weights_may_have(rule, factor, refused):
    leaving, _ = of_points("RBF", 0)
    w = WEIGHTS["simplex"].copy()
    w[1] *= factor
    if refused:
        with pytest.raises(ValueError, match=r"weights of draw 1 sum to 1.00001; "):
            rule.similarity(w, leaving)
        return
    found, expected = rule.similarity(w, leaving), leaving.similarity(WEIGHTS["simplex"])
    expected[1] *= factor
    np.testing.assert_allclose(found, expected, rtol=1e-12)
