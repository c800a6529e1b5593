"""Smallest changes against a fine grid and a closed form."""

import numpy as np
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.inference import counterfactual

from bsvdd import BDD, BSVDD, SVDD, Cutoff, kernels

DATA = datasets.moon(n0=100, n1=1)
X = DATA.X[~DATA.minority] * [1.0, 40.0]


def region_of(est, rows=X):
    normal = est.idata_["decision"]["normal"].values
    return counterfactual.Region.of(rows, normal)


@pytest.mark.parametrize(
    ("est", "worst"),
    [
        (BSVDD(kernel=kernels.Standardized(kernels.RBF(0.3))), 1.1),
        (BSVDD(kernel=kernels.RBF("likelihood")), 1.1),
        (SVDD(kernel=kernels.Standardized(kernels.RBF(0.5))), 1.01),
        (BDD(kernel=kernels.Standardized(kernels.RBF(0.5))), 1.1),
        (BSVDD(kernel=kernels.Standardized(kernels.Laplacian(0.7))), 1.1),
        (BDD(kernel=kernels.Standardized(kernels.Polynomial(2))), 1.2),
    ],
    ids=["BSVDD", "raw columns", "SVDD", "BDD", "Laplacian", "Polynomial"],
)
def test_no_normal_row_of_a_grid_is_much_nearer(est, worst):
    est = est.fit(X)
    region = region_of(est)
    span = region.high - region.low
    Z = np.random.default_rng(1).uniform(region.low - span, region.high + span, size=(40, 2))
    Z = Z[est.predict(Z) == -1][:12]
    assert len(Z) == 12
    x = counterfactual.smallest_change(est._fit.rule, Z, est._limit, region)
    assert (est.predict(x) == 1).all()
    assert (x >= region.low).all() and (x <= region.high).all()
    axes = [np.linspace(low, high, 200) for low, high in zip(region.low, region.high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    grid = grid[est.predict(grid) == 1]
    smallest = np.array([region.size(grid - z).min() for z in Z])
    size = region.size(x - Z)
    assert (size <= worst * smallest).all()
    assert np.median(size / smallest) < 1.01


def test_one_row_as_description_has_a_ball_as_normal_region():
    """All weight on one point: normal rows are a ball, and the nearest is on the line to it."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)  # equal units
    est = BDD(kernel=kernels.Linear(), sampler="map", cutoff=Cutoff(1.0)).fit(rows)
    a = est._fit.draws.weights[0] @ rows
    Z = a + np.array([[0.0, 1.7], [1.2, 1.2]])
    x = counterfactual.smallest_change(est._fit.rule, Z, est._limit, region_of(est, rows))
    expected = a + (Z - a) / np.linalg.norm(Z - a, axis=1, keepdims=True)
    np.testing.assert_allclose(x, expected, atol=1e-3)


def test_the_range_binds():
    """z is beyond the range in one column, where the training rows are constant."""
    rows = np.column_stack([np.random.default_rng(0).normal(size=50), np.full(50, 2.0)])
    with pytest.warns(Warning, match="constant"):
        est = BSVDD(kernel=kernels.RBF(0.5)).fit(rows)
    region = region_of(est, rows)
    x = counterfactual.smallest_change(
        est._fit.rule, np.array([[0.0, 9.0], [5.0, 9.0]]), est._limit, region
    )
    assert (x[:, 1] == 2.0).all()
    assert x[0, 0] == pytest.approx(0.0, abs=1e-4)
    assert est.predict(x).tolist() == [1, 1]


def test_without_a_normal_row_there_is_no_change():
    est = SVDD(kernel=kernels.RBF(0.5), cutoff=1e-3).fit(X)
    region = region_of(est)
    assert not len(region.normal_rows)
    assert np.isnan(counterfactual.smallest_change(est._fit.rule, X[:2], est._limit, region)).all()
