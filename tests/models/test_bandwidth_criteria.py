"""Bandwidth criteria against direct formulas and independent solvers; conventions of s."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from bsvdd.models.kernels import bandwidth
from scipy.spatial.distance import pdist, squareform
from scipy.stats import gaussian_kde
from sklearn.svm import SVC, OneClassSVM

from bsvdd import kernels, plots

RNG = np.random.default_rng(60)
X = RNG.normal(size=(120, 3)) * [1.0, 2.0, 0.5]


def test_auto_is_that_of_scikit_learn():
    y = np.arange(len(X)) % 2
    gamma = SVC(gamma="auto").fit(X, y)._gamma
    assert kernels.RBF("auto").resolve(X).gamma == pytest.approx(gamma)


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_density_rules_are_those_of_scipy_on_the_mean_sd(rule):
    factor = gaussian_kde(X.T, bw_method=rule).factor
    sd = math.sqrt(np.mean([np.var(column, ddof=1) for column in X.T]))
    assert bandwidth.resolve(rule, X) == pytest.approx(factor * sd)


def test_max_variance_ratio_is_no_worse_than_any_bandwidth_of_a_fine_grid():
    d2 = pdist(X, "sqeuclidean")

    def ratio(s):
        k = np.exp(-d2 / (2 * s**2))
        return k.var() / (k.mean() + 1 / len(X))

    found = bandwidth.resolve("max_variance_ratio", X)
    grid = np.geomspace(0.01, 10, 400) * np.median(np.sqrt(d2))
    assert ratio(found) >= max(ratio(s) for s in grid) - 1e-6


def test_peak_is_where_the_svdd_objective_falls_fastest():
    found = bandwidth.resolve("peak", X)
    D2 = squareform(pdist(X, "sqeuclidean"))

    def objective(s):  # by scikit-learn: the hard-margin SVDD is a one-class SVM with nu = 1/n
        K = np.exp(-D2 / (2 * s**2))
        svm = OneClassSVM(kernel="precomputed", nu=1 / len(X), tol=1e-8).fit(K)
        w = np.zeros(len(X))
        w[svm.support_] = svm.dual_coef_[0]
        return 1 - w @ K @ w / w.sum() ** 2

    grid = np.linspace(0.05, 2.0, 40) * np.median(np.sqrt(D2[np.triu_indices(len(X), 1)]))
    slope = np.gradient([objective(s) for s in grid], grid)
    valleys = np.flatnonzero((slope[1:-1] < slope[:-2]) & (slope[1:-1] < slope[2:])) + 1
    assert abs(found - grid[valleys[0]]) <= 1.5 * (grid[1] - grid[0])


def test_every_criterion_scales_with_the_rows_and_ignores_their_place():
    for name in bandwidth.CRITERIA:
        s = bandwidth.resolve(name, X)
        if name == "auto":  # looks at no row
            continue
        assert bandwidth.resolve(name, 3.0 * X) == pytest.approx(3.0 * s, rel=1e-3), name
        if name != "scale":  # the variance of all entries holds the means of the columns
            assert bandwidth.resolve(name, X + 5.0) == pytest.approx(s, rel=1e-3), name


@pytest.mark.parametrize("s", [0.3, 1.0, 7.0])
def test_conventions_convert_into_each_other(s):
    kernel = kernels.RBF(s)
    assert kernel.gamma == pytest.approx(1 / (2 * s**2))
    assert kernels.RBF.from_gamma(kernel.gamma).bandwidth == pytest.approx(s)


@pytest.mark.parametrize("name", sorted(set(bandwidth.CRITERIA) - {"auto"}))
def test_equal_rows_are_a_clear_error(name):
    with pytest.raises(ValueError, match="give the bandwidth as a number"):
        bandwidth.resolve(name, np.ones((10, 2)))


def test_the_picture_shows_every_criterion_at_its_value():
    figure = plots.plot_bandwidths(X)
    by_label = {ax.get_xlabel(): ax for ax in figure.axes}
    dots, curve = by_label["bandwidth s, and distance"], by_label["bandwidth s"]
    names = [text.get_text().split(":")[0] for text in dots.get_yticklabels()]
    shown = dict(zip(names, dots.collections[-1].get_offsets()[:, 0], strict=True))
    assert shown == {name: bandwidth.resolve(name, X) for name in bandwidth.CRITERIA}
    density, best = curve.lines
    s, values = density.get_data()
    assert set(best.get_xdata()) == {s[values.argmax()]} == {shown["likelihood"]}
    plt.close(figure)


def left_out_log_density(X, s):
    """Sum over rows of the log density of all rows that differ from it, one by one."""
    total = 0.0
    for x in X:
        d2 = ((X - x) ** 2).sum(axis=1)
        others = d2[d2 > 0]
        total += np.log(np.exp(-others / (2 * s**2)).sum() / (s ** X.shape[1]))
    return total


def test_likelihood_is_the_largest_left_out_log_density():
    found = bandwidth.resolve("likelihood", X)
    grid, values = bandwidth.log_density(X)
    expected = np.array([left_out_log_density(X, s) for s in grid])
    np.testing.assert_allclose(np.diff(values) * len(X), np.diff(expected), rtol=1e-8, atol=1e-8)
    assert found == grid[expected.argmax()]
    assert 0 < expected.argmax() < len(grid) - 1
    fine = np.geomspace(grid[0], grid[-1], 200)
    best = fine[np.argmax([left_out_log_density(X, s) for s in fine])]
    assert abs(np.log(found / best)) <= np.log(grid[1] / grid[0])


def test_likelihood_leaves_out_a_row_with_its_copies():
    """Each row twice: the density of the copies would grow without bound as s goes to zero."""
    twice = np.concatenate([X, X])
    grid, values = bandwidth.log_density(twice)
    alone, _ = bandwidth.log_density(X)
    np.testing.assert_allclose(grid[-1], alone[-1], rtol=0.01)
    expected = np.array([left_out_log_density(twice, s) for s in grid]) / 240
    np.testing.assert_allclose(np.diff(values), np.diff(expected), rtol=1e-8)
    assert bandwidth.resolve("likelihood", twice) == pytest.approx(
        bandwidth.resolve("likelihood", X), rel=0.25
    )


def test_likelihood_of_few_values_and_of_many_rows():
    """Ones and zeros have many copies; beyond 1,000 rows, a sample is used."""
    binary = (np.random.default_rng(61).random((300, 8)) < 0.3).astype(float)
    assert 0.1 < bandwidth.resolve("likelihood", binary) < 2.0
    many = np.random.default_rng(62).normal(size=(1500, 3)) * [1.0, 2.0, 0.5]
    assert 0.4 < bandwidth.resolve("likelihood", many) / bandwidth.resolve("likelihood", X) < 1.0
    constant = np.column_stack([X, np.full(len(X), 7.0)])  # a column that counts for nothing
    assert bandwidth.resolve("likelihood", constant) == bandwidth.resolve("likelihood", X)
    with pytest.raises(ValueError, match="too many of them are equal"):
        bandwidth.resolve("likelihood", np.ones((20, 3)))
    assert bandwidth.resolve("likelihood", X[:2]) > 0
