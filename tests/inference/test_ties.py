"""Ties: what rounding alone tells apart is equal, whatever the unit of the scores."""

import numpy as np
import pytest
from bsvdd.estimators.p_values import p_values
from bsvdd.inference.center import Boundary
from bsvdd.inference.cutoffs import candidates
from bsvdd.inference.ties import merged, tolerance

import bsvdd
from bsvdd import SVDD, kernels
from tests.scores import scores_left_out

ROUNDING = 1e-14 * np.array([0.0, 1.0, -2.0, 3.0])


def test_the_tolerance_by_hand():
    values = np.array([0.0, 0.5, -3.0, 1e6, np.inf, -np.inf, np.nan])
    expected = [1e-9, 1e-9, 3e-9, 1e-3, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(tolerance(values), expected, rtol=1e-12)
    np.testing.assert_allclose(tolerance(values, 0.0)[:3], [0.0, 5e-10, 3e-9], rtol=1e-12)


def test_merged_values_are_ties_as_their_smallest():
    values = np.concatenate([0.5 + ROUNDING, [-np.inf, 2.0, -np.inf, -7.0], -7.0 + ROUNDING])
    found = merged(values)
    assert len(set(found)) == 4 and (found <= values).all()
    np.testing.assert_allclose(found, values, atol=1e-13)
    of_ties, of_all = (np.isfinite(candidates(np.sort(v)[None])).sum() for v in (found, values))
    assert of_ties == 4 < of_all  # no cutoff parts ties
    apart = np.array([0.0, 1e-6, 2e-6])
    np.testing.assert_array_equal(merged(apart), apart)
    np.testing.assert_array_equal(merged(1e-9 * apart, unit=0.0), 1e-9 * apart)
    assert merged(np.empty(0)).shape == (0,)


def test_ties_count_in_p_values_and_lie_within_a_cutoff():
    left_out = np.sort(np.concatenate([[0.1, 0.9], 0.5 + ROUNDING]))
    np.testing.assert_array_equal(p_values(0.5 + ROUNDING, left_out), 6 / 7)
    np.testing.assert_array_equal(
        p_values(np.array([0.5 - 1e-6, -np.inf]), left_out), [2 / 7, 1 / 7]
    )
    assert (Boundary.at(0.5, 1.0).threshold <= 0.5 + ROUNDING).all()
    assert (Boundary.at(0.0, 1.0).threshold <= ROUNDING).all()
    assert Boundary.at().threshold == 0.0


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_follow_a_kernel_that_is_multiplied(scale):
    """The tolerance is no number in the units of the kernel, so p-values stay as they are."""
    X, p = np.random.default_rng(6).normal(size=(40, 2)), []
    for s in (1.0, scale):
        p.append(bsvdd.p_value(SVDD(kernel=lambda a, b, s=s: s * (a @ b.T)).fit(X), X))
    assert len(np.unique(p[0])) > 10
    np.testing.assert_array_equal(*p)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_rows_far_from_the_origin_are_told_apart(offset):
    """Of a linear kernel, whose values are then far larger than their differences."""
    X = np.random.default_rng(7).normal(size=(40, 2))
    est = SVDD(kernel=kernels.Linear()).fit(X + offset)
    assert est.fit_.score.unit * 1e-9 < 1e-5 * np.abs(scores_left_out(est)).mean()
