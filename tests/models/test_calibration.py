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


def moment(sd, a, b, of):
    """E of ``of(beta)`` under the mean-field density, by adaptive quadrature."""

    def log_density(beta):
        return -(beta**2) / (2 * sd**2) - a * np.exp(2 * beta) + b * np.exp(beta)

    grid = np.linspace(-10 * sd, 10 * sd, 1000)
    largest = log_density(grid).max()
    total, mean = (
        quad(
            lambda x, g=g: g(x) * np.exp(log_density(x) - largest),
            *grid[[0, -1]],
            points=[-2, 0, 2],
            limit=400,
        )[0]
        for g in (lambda x: 1.0, of)
    )
    return mean / total


def curvature_and_variance(sd, a):
    b = brentq(lambda b: moment(sd, a, b, lambda x: x), 0.0, 3 * a * np.exp(1.5 * sd**2))
    mean = moment(sd, a, b, np.exp)
    return 2 * a * mean**2, moment(sd, a, b, lambda x: np.exp(2 * x)) / mean**2 - 1.0


@pytest.mark.parametrize("a", [1e-4, 0.01, 0.1, 0.5, 1.2])
def test_the_variance_of_one_weight_by_another_quadrature(a):
    A, V = curvature_and_variance(SD, a)
    assert calibration.variance(A) == pytest.approx(V, rel=1e-5)


def test_without_data_the_log_weights_have_the_variance_of_the_prior():
    assert calibration.variance(1e-12) == pytest.approx(np.expm1(SD**2), rel=1e-3)


TABLE = {1.0: 0.079, 1.25: 0.219, 1.5: 0.344, 2.0: 0.543, 2.5: 0.694, 3.0: 0.814}


@pytest.mark.parametrize(("sd", "curvature"), TABLE.items())
def test_the_curvature_with_the_spread_of_the_dirichlet(sd, curvature, monkeypatch):
    monkeypatch.setattr(calibration, "SD", sd)
    cached = (calibration._mean_field, calibration._log_variance, calibration.curvature_of_one)
    try:
        for function in cached:
            function.cache_clear()
        assert calibration.curvature_of_one() == pytest.approx(curvature, abs=6e-4)
    finally:
        for function in cached:
            function.cache_clear()


def test_rows_that_are_alone_have_the_root_of_the_identity():
    gram = Gram.from_rows(kernels.RBF(1e-3), ROWS)
    found = calibrated(gram)
    assert found.scale == pytest.approx(calibration.curvature_of_one() * N)
    assert found.reason is None
    assert calibrated(gram, on_simplex=False).scale == pytest.approx((1 - SD**-2) * N)
    nearly = Gram(0.9999 * np.eye(N) + 1e-4, gram.r, N, N, ROWS, gram.kernel)
    noise = 1e-3 * np.random.default_rng(1).normal(size=(N, N))
    nearly = replace(nearly, K=nearly.K + noise @ noise.T)
    assert calibrated(nearly).scale == pytest.approx(found.scale, rel=0.02)


@pytest.mark.parametrize("on_simplex", [True, False])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_root_by_inverses_without_each_row(kernel, on_simplex):
    gram = Gram.from_rows(kernel, ROWS)
    found = calibrated(gram, on_simplex=on_simplex)
    K, scale = gram.K, found.scale / N
    own, ratios, closeness = np.diag(K), [], []
    precision = SD**-2
    if on_simplex:
        precision = calibration.prior_precision(scale * np.linalg.eigvalsh(K))
        P = np.linalg.inv(scale * K + precision * np.eye(N))
        A = brentq(lambda A: calibration.variance(A) - np.trace(P) / N, 1e-10, 4.0, xtol=1e-14)
        assert precision == pytest.approx(1 / calibration.variance(A) - A, abs=1e-5)
    for j in range(N):
        o = np.delete(np.arange(N), j)
        k, P = K[o, j], np.linalg.inv(scale * K[np.ix_(o, o)] + precision * np.eye(N - 1))
        variance = k @ P @ k
        if on_simplex:
            variance -= (k @ P.sum(axis=1)) ** 2 / P.sum()
        ratios.append(variance / (N * k.var()))
        closeness.append(2 * k.mean() - own[j])
    low, high = np.quantile(closeness, [0.03, 0.33])
    near = (closeness >= low) & (closeness <= high) & (np.array(ratios) > 0)
    assert found.reason is None
    assert np.median(np.log(np.array(ratios)[near])) == pytest.approx(0.0, abs=2e-5)


@pytest.mark.parametrize("on_simplex", [True, False])
def test_the_root_of_landmarks_by_inverses(on_simplex):
    rows = np.random.default_rng(2).normal(size=(150, 2))
    is_point = np.arange(150) % 6 == 0
    gram = Gram.from_rows(kernels.RBF(0.8), rows, dictionary=rows[is_point])
    found = calibrated(gram, rows, is_point, on_simplex)
    M, k = gram.n_points, gram.kernel(rows, gram.points)
    scale = found.scale * 150 / M**2
    precision = SD**-2
    if on_simplex:
        precision = calibration.prior_precision(scale * np.linalg.eigvalsh(gram.K))
    P = np.linalg.inv(scale * gram.K + precision * np.eye(M))
    projected = k @ np.linalg.solve(gram.K, k.T)
    np.fill_diagonal(projected, np.nan)
    variance = np.einsum("zi,ij,zj->z", k, P, k)
    if on_simplex:
        variance -= (k @ P.sum(axis=1)) ** 2 / P.sum()
    ratio = np.log(variance / M**2 * 150 / np.nanvar(projected, axis=1))[~is_point]
    similarity = np.nanmean(projected, axis=1)[~is_point]
    low, high = np.quantile(similarity, [0.03, 0.33])
    near = (similarity >= low) & (similarity <= high)
    assert np.median(ratio[near]) == pytest.approx(0.0, abs=1e-4)


def test_landmarks_that_are_all_rows_have_the_root_of_the_rows():
    kernel = kernels.RBF(0.8)
    plain = calibrated(Gram.from_rows(kernel, ROWS))
    landmarks = Gram.from_rows(kernel, ROWS, dictionary=ROWS)
    assert calibrated(landmarks, ROWS, np.ones(N, dtype=bool)).scale == pytest.approx(plain.scale)


def test_the_unit_of_lambda_is_one_over_the_kernel():
    gram = Gram.from_rows(kernels.RBF(0.8), ROWS)
    for factor in (1e-150, 1e150):
        large = replace(gram, K=factor * gram.K, r=factor * gram.r)
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
