"""Points that are groups of rows, against all rows as points."""

import re

import numpy as np
import pytest
from bsvdd.models import Gram, bdd, bsvdd, calibration, groups
from bsvdd.models.points import Points
from bsvdd.models.priors.base import OfGroups, of_points
from bsvdd.models.repeats import distinct
from scipy.stats import lognorm

from bsvdd import kernels, priors

RNG = np.random.default_rng(57)
NUMBERS = RNG.normal(size=(90, 3))
ROWS = np.column_stack([NUMBERS[:, :2], RNG.integers(0, 3, 90)])[np.r_[0:90, 0:20, 5, 5, 5]]
KERNELS = {
    "RBF": kernels.RBF(1.1),
    "linear": kernels.Linear(),
    "tabular": kernels.Tabular(kernels.RBF(1.1), categorical=[2]),
}


def grouped(kernel, rows, number):
    points, member = groups.of_rows(kernel, rows, number, 0)
    return Gram.from_points(kernel, points, member)


def shares(gram):
    """The share of each row in each point, (n, M)."""
    of_row = np.equal.outer(gram.point_of_row, np.arange(gram.n_points))
    return of_row / of_row.sum(axis=0)


@pytest.mark.parametrize("number", [None, 30])
@pytest.mark.parametrize("name", KERNELS)
def test_statistics_are_means_over_the_rows(name, number, monkeypatch):
    monkeypatch.setattr("bsvdd.models.gram.BLOCK_VALUES", 1000)
    kernel = KERNELS[name].resolve(ROWS)
    gram, every = grouped(kernel, ROWS, number), Gram.from_rows(kernel, ROWS)
    A, how = shares(gram), dict(rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(gram.points.rows[gram.member_of_row], ROWS)
    np.testing.assert_allclose(gram.K, A.T @ every.K @ A, **how)
    np.testing.assert_allclose(gram.r, A.T @ every.r, **how)
    assert pytest.approx(every.T) == gram.T and gram.n0 == len(ROWS)
    np.testing.assert_allclose(gram.row_sums[gram.member_of_row], every.r, **how)
    np.testing.assert_allclose(
        gram.row_squares[gram.member_of_row], (every.K**2).sum(axis=1), **how
    )
    other = kernel.leaving_out(ROWS, ROWS)
    np.fill_diagonal(other, 0.0)
    np.testing.assert_allclose(gram.K_left_out[gram.member_of_row], other @ A, **how)
    new = RNG.normal(size=(7, 3))
    new[:, 2] = 1.0
    np.testing.assert_allclose(gram.points.k(kernel, new), kernel(new, ROWS) @ A, **how)
    if kernel.normalized:
        np.testing.assert_allclose(
            np.exp(gram.points.log_k(kernel, new)), gram.points.k(kernel, new), **how
        )
    some = gram.points[np.array([3, 7, 8])]
    np.testing.assert_allclose(some.k(kernel, new), (kernel(new, ROWS) @ A)[:, [3, 7, 8]], **how)


def test_equal_rows_are_one_point_and_near_rows_a_group():
    kernel = KERNELS["RBF"]
    points, member = groups.of_rows(kernel, ROWS, None, 0)
    assert len(points) == len(np.unique(ROWS, axis=0)) == 90 and points.single_members
    np.testing.assert_array_equal(points.rows, ROWS[:90])  # in the order of their first rows
    assert points.sizes[5] == 5 and points.sizes.sum() == len(ROWS)
    points, member = groups.of_rows(kernel, ROWS, 20, 0)
    assert len(points) <= 20 and points.sizes.sum() == len(ROWS)
    again, same = groups.of_labels(ROWS, points.point_of_member[member])
    np.testing.assert_array_equal(again.rows, points.rows)
    np.testing.assert_array_equal(same, member)
    apart = kernel(ROWS, ROWS) @ shares(Gram.from_points(kernel, points, member))
    own = apart[np.arange(len(ROWS)), points.point_of_member[member]]
    assert own.mean() > 2.0 * apart.mean()


def test_minus_zero_is_zero():
    _, member = distinct(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0]]))
    assert member.tolist() == [0, 0, 1]


def test_more_groups_until_the_prior_is_wide_enough():
    """A narrow kernel, for which few groups can not move the similarity of a row."""
    rows = np.random.default_rng(1).normal(size=(3000, 3))
    found = [groups.of_rows(kernels.RBF(s), rows, None, 0)[0] for s in (1.0, 0.06, 0.01)]
    assert [len(points) for points in found] == [500, 1000, 1000]


PRIORS = {
    "flat": priors.Flat(1.5),
    "row sums": priors.RowSum(sd=0.7, exponent=0.5),
    "standardised": priors.StandardizedRowSum(),
    "inverse": priors.InverseRowSum(1.2),
    "a mean for each row": priors.Normal(1.1, m=RNG.normal(size=len(ROWS)).tolist()),
    "equal weights": priors.EqualWeights(),
}


@pytest.mark.parametrize("name", PRIORS)
def test_the_prior_of_a_group_has_the_moments_of_the_sum_of_its_rows(name):
    gram = grouped(kernels.RBF(1.1), ROWS, 15)
    every = Gram.from_rows(kernels.RBF(1.1), ROWS)
    m, sd = PRIORS[name].mean(every), PRIORS[name].scale(every)
    inside = np.equal.outer(gram.point_of_row, np.arange(gram.n_points)).astype(float)
    found = of_points(PRIORS[name], gram, True)
    assert isinstance(found, OfGroups)
    of_sum = lognorm(found.scale(gram), scale=np.exp(found.mean(gram)))
    of_row = lognorm(sd, scale=np.exp(m))
    np.testing.assert_allclose(of_sum.mean(), of_row.mean() @ inside, rtol=1e-9)
    np.testing.assert_allclose(of_sum.var(), of_row.var() @ inside, rtol=1e-9)
    found = of_points(PRIORS[name], gram, False)
    np.testing.assert_allclose(found.mean(gram), m @ inside, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.scale(gram) ** 2, sd**2 * inside.sum(axis=0), rtol=1e-9)


def test_priors_of_single_rows_have_no_groups():
    gram = grouped(kernels.RBF(1.1), ROWS, 15)
    for prior in (
        priors.Normal(sigma=np.eye(60).tolist()),
        priors.SVDDWeights(),
        lambda gram, name, dims: None,
    ):
        with pytest.raises(ValueError, match="says nothing of groups of rows, but 15 points stand"):
            bsvdd.Model(prior).prior_of(gram)
    for model in (bsvdd.Model(priors.Flat()), bdd.Model(priors.EqualWeights())):
        assert model.groups_rows


def test_points_have_a_row_each():
    with pytest.raises(ValueError, match="2 points have 1 rows and 1 numbers of copies"):
        Points(np.zeros((1, 2)), np.ones(1, dtype=int), np.array([0, 0]))


def test_a_bandwidth_where_nearly_all_rows_are_equal():
    """The sample of the likelihood has equal rows only; the others say the bandwidth."""
    rows = np.concatenate([np.ones((5000, 2)), RNG.normal(size=(10, 2))])
    assert 0.0 < kernels.RBF("likelihood").resolve(rows).bandwidth < 10.0


@pytest.mark.parametrize("on_simplex", [True, False])
def test_too_few_groups_are_told_and_lambda_is_never_zero(on_simplex):
    """20 groups of 3,000 rows: the prior of their weights alone is narrower than samples vary."""
    rows = np.random.default_rng(2).normal(size=(3000, 6))
    found = calibration.calibrated(grouped(kernels.RBF(0.5), rows, 20), on_simplex=on_simplex)
    assert found.scale > 0.0
    assert re.search(r"the prior of the weights alone has 0\.\d+ of the spread", found.reason)
    few = np.random.default_rng(3).integers(0, 2, size=(3000, 3)).astype(float)  # 8 patterns
    found = calibration.calibrated(grouped(kernels.RBF(0.7), few, None), on_simplex=on_simplex)
    assert found.reason is None and found.scale > 1.0
