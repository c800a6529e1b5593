"""The calibrated weight of the likelihood: formulas, root, and purpose."""

import numpy as np
import pytest
from bsvdd.models import calibrate
from bsvdd.models.calibrate import SD
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.kernels import RBF, Custom, Laplacian, Linear
from bsvdd.models.rows import Rows
from scipy.integrate import quad
from scipy.optimize import brentq

from .helpers import near_cutoff, without_group

N = 40
ROWS = np.random.default_rng(0).normal(size=(N, 2))
KERNELS = [RBF(0.3), RBF(0.8), RBF(3.0), Laplacian(1.0), Linear()]
both_models = pytest.mark.parametrize(
    "on_simplex", [True, False], ids=["simplex", "free"]
)


def dictionary_of(kernel, rows=ROWS, weight=None, groups=None, most=600):
    return Dictionary.of(kernel, Rows.of(rows, None, weight, groups), most=most)


def moment(a, b, of):
    """E of ``of(beta)`` under the mean-field density, by adaptive quadrature."""

    def log_density(x):
        return -(x**2) / (2 * SD**2) - a * np.exp(2 * x) + b * np.exp(x)

    ends = -10 * SD, 10 * SD
    largest = log_density(np.linspace(*ends, 1000)).max()
    how = dict(points=[-2, 0, 2], limit=400)
    total = quad(lambda x: np.exp(log_density(x) - largest), *ends, **how)[0]
    return (
        quad(lambda x: of(x) * np.exp(log_density(x) - largest), *ends, **how)[0]
        / total
    )


def variance(A):
    return np.interp(A, *calibrate.of_one_weight())


@pytest.mark.parametrize("place", [0, 30, 60, 79])
def test_the_variance_of_one_weight_by_another_quadrature(place):
    a, (A, V) = calibrate.CURVATURES[place], calibrate.of_one_weight()[:, place]
    b = brentq(lambda b: moment(a, b, lambda x: x), 0.0, 3 * a * np.exp(1.5 * SD**2))
    mean, square = moment(a, b, np.exp), moment(a, b, lambda x: np.exp(2 * x))
    assert pytest.approx(2 * a * mean**2, rel=1e-5) == A
    assert pytest.approx(square / mean**2 - 1.0, rel=1e-5) == V


def test_weights_of_no_likelihood_and_of_one_row_alone():
    A, V = calibrate.of_one_weight()
    assert (np.diff(A) > 0).all() and (np.diff(V) < 0).all()
    assert V[0] < np.expm1(SD**2)  # that of the prior
    assert variance(calibrate.of_alone(True)) == pytest.approx(1.0, rel=1e-6)
    assert 1.0 / (calibrate.of_alone(False) + SD**-2) == pytest.approx(1.0)
    # the precision has the mean variance over M eigenvalues, and those of other groups,
    # which are 0
    eigenvalues, groups = np.geomspace(1e-4, 3.0, 12), 20.0
    found = calibrate.precision(eigenvalues, groups)
    trace = (1.0 / (np.append(eigenvalues, np.zeros(8)) + found)).mean()
    A = brentq(lambda A: variance(A) - trace, 1e-7, 1.6, xtol=1e-14)
    assert found == pytest.approx(1 / variance(A) - A, rel=1e-2)


def root_by_inverses(gram, scale, on_simplex):
    """Return the median log ratio of variances of s_z near the cutoff, row by row.

    The weights of groups are n0 w_g = N_g y_g / sqrt(e_g), of precision c B + Lambda.
    The group of a row leaves the atoms, and takes its share of the prior variance of
    y_g with it.
    """
    group, t = gram.rows.group, gram.rows.weight
    kernel, X, c = gram.kernel, gram.rows.X, scale / gram.n0
    root = gram.sizes / np.sqrt(gram.effective)
    B = root[:, None] * gram.K * root
    values = np.linalg.eigvalsh(c * B)
    precision = (
        calibrate.precision(np.maximum(values, 0), gram.groups_in_effect)
        if on_simplex
        else SD**-2
    )
    K, ratio, closeness = kernel(X, X), np.empty(len(X)), np.empty(len(X))
    A = np.equal.outer(gram.of_row, np.arange(len(B))) * t[:, None]
    for i in range(len(X)):
        stay = np.where(group == group[i], 0.0, t)
        gone = (t - stay) @ (A > 0) / gram.sizes
        rest = np.maximum(1.0 - gone, 1e-12)
        k = (
            (stay * K[i]) @ (A > 0) / gram.sizes * root / rest
        )  # of the atoms without the group
        tau = np.minimum((gram.sizes * gone / root) ** 2, 1.0)
        of_prior = precision * (1.0 + tau / np.maximum(1.0 - tau, 1e-13))
        P = np.linalg.inv(c * B + np.diag(of_prior))
        mean, spread = without_group(K, t, group, i)
        ratio[i] = (
            k @ P @ k - (k @ P @ root) ** 2 / (root @ P @ root) * on_simplex
        ) / spread
        closeness[i] = 2 * mean - K[i, i]
    mass = t / np.bincount(group)[group]
    return np.median(np.log(ratio[near_cutoff(closeness, mass)]))


CASES = {
    **{repr(kernel): (kernel, {}) for kernel in KERNELS},
    "weights": (RBF(0.8), {"weight": np.random.default_rng(1).exponential(size=N)}),
    "groups": (RBF(0.8), {"groups": np.arange(N) % 13}),
    "copies": (RBF(0.8), {"rows": np.repeat(ROWS[:20], 2, axis=0)}),
    "few atoms": (RBF(0.8), {"most": 15}),
}


@both_models
@pytest.mark.parametrize("case", CASES)
def test_at_the_root_the_posterior_is_as_wide_as_samples_differ(case, on_simplex):
    kernel, how = CASES[case]
    dictionary = dictionary_of(kernel, **how)
    scale, reason = calibrate.calibrated(dictionary, on_simplex)
    assert not reason
    apart = root_by_inverses(dictionary, scale, on_simplex)
    assert apart == pytest.approx(0.0, abs=2e-5)


@both_models
def test_rows_that_are_alone_have_the_root_of_the_identity(on_simplex):
    scale, reason = calibrate.calibrated(dictionary_of(RBF(1e-3)), on_simplex)
    assert scale == pytest.approx(calibrate.of_alone(on_simplex) * N)
    assert reason == "fewer than 3 rows near the cutoff have similarities that vary"


def test_the_unit_of_lambda_is_one_over_the_kernel():
    plain, _ = calibrate.calibrated(dictionary_of(RBF(0.8)), False)
    for factor in (1e-100, 1e100):
        kernel = Custom(lambda A, B, c=factor: c * RBF(0.8)(A, B))
        scale, _ = calibrate.calibrated(dictionary_of(kernel), False)
        assert scale * factor == pytest.approx(plain, rel=1e-5)


@both_models
def test_a_posterior_that_is_narrow_at_any_scale_is_told(on_simplex):
    """Few atoms of many rows: their prior alone is narrower than samples vary."""
    rows = np.random.default_rng(2).normal(size=(1500, 6))
    dictionary = dictionary_of(RBF(0.5), rows, most=10)
    scale, reason = calibrate.calibrated(dictionary, on_simplex)
    assert reason == "the posterior is narrower than samples at any scale"
    assert 0.0 < scale < 0.01
