"""The calibrated weight of the likelihood: its formulas, its root, and what it is for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.models import Gram, calibration
from bsvdd.models.calibration import SD, calibrated
from scipy.integrate import quad
from scipy.optimize import brentq

from bsvdd import kernels

N = 40
ROWS = np.random.default_rng(0).normal(size=(N, 2))
KERNELS = [
    kernels.RBF(0.3),
    kernels.RBF(0.8),
    kernels.RBF(3.0),
    kernels.Laplacian(1.0),
    kernels.Linear(),
]


def moment(a, b, of):
    """E of ``of(beta)`` under the mean-field density, by adaptive quadrature."""

    def log_density(x):
        return -(x**2) / (2 * SD**2) - a * np.exp(2 * x) + b * np.exp(x)

    ends = -10 * SD, 10 * SD
    largest = log_density(np.linspace(*ends, 1000)).max()
    how = dict(points=[-2, 0, 2], limit=400)
    total = quad(lambda x: np.exp(log_density(x) - largest), *ends, **how)[0]
    return quad(lambda x: of(x) * np.exp(log_density(x) - largest), *ends, **how)[0] / total


@pytest.mark.parametrize("a", [1e-4, 0.1, 1.2])
def test_the_variance_of_one_weight_by_another_quadrature(a):
    b = brentq(lambda b: moment(a, b, lambda x: x), 0.0, 3 * a * np.exp(1.5 * SD**2))
    mean, square = moment(a, b, np.exp), moment(a, b, lambda x: np.exp(2 * x))
    found = calibration.variance(2 * a * mean**2)
    assert found == pytest.approx(square / mean**2 - 1.0, rel=1e-5)
    assert calibration.variance(1e-12) == pytest.approx(np.expm1(SD**2), rel=1e-3)  # the prior's
    assert calibration.variance(calibration.curvature_of_one()) == pytest.approx(1.0, rel=1e-6)


def test_rows_that_are_alone_have_the_root_of_the_identity():
    gram = Gram.from_rows(kernels.RBF(1e-3), ROWS)
    found = calibrated(gram)
    assert found.scale == pytest.approx(calibration.curvature_of_one() * N)
    assert found.reason is None
    assert calibrated(gram, on_simplex=False).scale == pytest.approx((1 - SD**-2) * N)
    noise = 1e-3 * np.random.default_rng(1).normal(size=(N, N))
    K = 0.9999 * np.eye(N) + 1e-4 + noise @ noise.T
    K /= np.sqrt(np.outer(np.diag(K), np.diag(K)))
    nearly = replace(gram, K=K, row_sums=K.sum(axis=1), row_squares=(K**2).sum(axis=1))
    assert calibrated(nearly).scale == pytest.approx(found.scale, rel=0.02)


def log_ratio_near_the_cutoff(ratio, closeness):
    low, high = np.quantile(closeness, [0.03, 0.33])
    near = (closeness >= low) & (closeness <= high) & (ratio > 0)
    return np.median(np.log(ratio[near]))


def spread_of(k, K, scale, precision, on_simplex):
    """M^2 Var s of a row with the kernel values k, by an inverse."""
    P = np.linalg.inv(scale * K + precision * np.eye(len(K)))
    return k @ P @ k - (k @ P.sum(axis=1)) ** 2 / P.sum() * on_simplex


def precision_of(scaled, on_simplex):
    return calibration.prior_precision(np.linalg.eigvalsh(scaled)) if on_simplex else SD**-2


@pytest.mark.parametrize("on_simplex", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_root_by_inverses_without_each_row(kernel, on_simplex):
    gram = Gram.from_rows(kernel, ROWS)
    found, K = calibrated(gram, on_simplex=on_simplex), gram.K
    scale, ratio, closeness = found.scale / N, np.empty(N), np.empty(N)
    precision = precision_of(scale * K, on_simplex)
    if on_simplex:
        trace = np.trace(np.linalg.inv(scale * K + precision * np.eye(N))) / N
        A = brentq(lambda A: calibration.variance(A) - trace, 1e-10, 4.0, xtol=1e-14)
        assert precision == pytest.approx(1 / calibration.variance(A) - A, abs=1e-5)
    for j in range(N):
        o = np.delete(np.arange(N), j)
        k = K[o, j]
        ratio[j] = spread_of(k, K[np.ix_(o, o)], scale, precision, on_simplex) / (N * k.var())
        closeness[j] = 2 * k.mean() - K[j, j]
    assert found.reason is None
    assert log_ratio_near_the_cutoff(ratio, closeness) == pytest.approx(0.0, abs=2e-5)


@pytest.mark.parametrize("on_simplex", [True, False])
def test_the_root_of_given_points_by_inverses(on_simplex):
    rows = np.random.default_rng(2).normal(size=(150, 2))
    gram = Gram.from_rows(kernels.RBF(0.8), rows, dictionary=rows[::6] + 0.05)
    M, k = gram.n_points, gram.kernel(rows, gram.points.rows)
    scale = calibrated(gram, rows, on_simplex).scale * 150 / M**2
    precision = precision_of(scale * gram.K, on_simplex)
    projected = k @ np.linalg.solve(gram.K, k.T)
    np.fill_diagonal(projected, np.nan)
    spread = np.array([spread_of(z, gram.K, scale, precision, on_simplex) for z in k])
    ratio = spread / M**2 * 150 / np.nanvar(projected, axis=1)
    closeness = np.nanmean(projected, axis=1)
    found = log_ratio_near_the_cutoff(ratio, closeness)
    assert found == pytest.approx(0.0, abs=1e-4)


def test_the_unit_of_lambda_is_one_over_the_kernel():
    gram = Gram.from_rows(kernels.RBF(0.8), ROWS)
    for factor in (1e-150, 1e150):
        kernel = kernels.Custom(lambda A, B, c=factor: c * gram.kernel(A, B))
        large = Gram.from_rows(kernel, ROWS)
        assert calibrated(large).scale * factor == pytest.approx(calibrated(gram).scale, rel=1e-6)


def test_copies_count_as_rows():
    """K is singular, and each row has a twin."""
    twice = Gram.from_rows(kernels.RBF(0.8), np.repeat(ROWS, 2, axis=0))
    found = calibrated(twice)
    assert found.reason is None
    assert found.scale == pytest.approx(
        calibrated(Gram.from_rows(twice.kernel, ROWS)).scale, rel=0.5
    )


@pytest.mark.parametrize(
    ("rows", "kernel", "reason"),
    [
        (ROWS[:1], kernels.RBF(1.0), "1 rows are too few"),
        (ROWS[:2], kernels.RBF(1.0), "2 rows are too few"),
        (ROWS[:7], kernels.RBF(1.0), "7 rows are too few"),
        (np.zeros((20, 2)), kernels.RBF(1.0), "do not vary"),
        (ROWS, kernels.RBF(1e6), "do not vary"),
        (np.zeros((20, 2)), kernels.Linear(), "all kernel values are 0"),
    ],
    ids=range(6),
)
@pytest.mark.parametrize("on_simplex", [True, False])
def test_rows_without_a_root_have_that_of_rows_that_are_alone(rows, kernel, reason, on_simplex):
    found = calibrated(Gram.from_rows(kernel, rows), on_simplex=on_simplex)
    assert reason in found.reason
    if "are 0" not in reason:
        alone = calibration.curvature_of_one() if on_simplex else 1 - SD**-2
        assert found.scale == pytest.approx(alone * len(rows))
