"""SVDD, without and with minority rows, and the one-class SVM: against general solvers, by hand."""

import numpy as np
import pytest
from bsvdd.inference.warning import DataWarning
from bsvdd.models import Gram, svdd

from bsvdd import OCSVM, SVDD, SVDDM, cutoffs, kernels

RNG = np.random.default_rng(6)
X = RNG.normal(size=(40, 2)) * [1.0, 1.5]
KERNELS = [kernels.RBF(1.3), kernels.Linear(), kernels.Polynomial(2, 0.3)]


def instance(seed, n0=30, n1=6):
    """Rows of a majority, and of a minority of which some lie inside the majority's cloud."""
    rng = np.random.default_rng(seed)
    majority = rng.normal(size=(n0, 2)) * [1.0, 1.5]
    minority = rng.normal(size=(n1, 2)) * np.linspace(0.3, 2.5, n1)[:, None]
    return np.concatenate([majority, minority]), np.repeat([0, 1], [n0, n1])


def solved(kernel, rows, y, C1, C2):
    return svdd.solve(Gram.from_rows(kernel, rows[y == 0], rows[y == 1]), C1, C2)


BY_HAND = {
    # C = 1/2: no weight is free, and any R^2 in [1, 16] is optimal: the middle
    "no free weight": ([-4, -1, 1, 4], [], 0.5, None, [0.5, 0, 0, 0.5], 8.5),
    # C = 1/n: every weight is at its bound, and the nearest row gives the only end
    "one end": ([-3, -1, 4], [], 1 / 3, None, [1 / 3] * 3, 1.0),
    # R = max(c + 1, 2 - c), and its square plus C2 times the minority's slack, 1.75 - c for c < .5
    # and 5c - 1.25 above, is least at c = .5; alpha0 follows from sum = 1 + C2 and centre = .5
    **{
        f"minority, C2={C2}": ([-1, 2], [1.5], 10, C2, [0.5 + C2 / 6, 0.5 + 5 * C2 / 6, -C2], 2.25)
        for C2 in (0.3, 0.9, 2.4)
    },
}


@pytest.mark.parametrize(
    ("majority", "minority", "C1", "C2", "weights", "R2"), BY_HAND.values(), ids=BY_HAND
)
def test_rows_on_a_line_by_hand(majority, minority, C1, C2, weights, R2):
    rows = np.array([[*majority, *minority]], dtype=float).T
    y = np.repeat([0, 1], [len(majority), len(minority)])
    sphere = solved(kernels.Linear(), rows, y, C1, C2)
    np.testing.assert_allclose(sphere.weights, weights, atol=1e-6 if minority else 1e-9)
    assert sphere.radius**2 == pytest.approx(R2, abs=2e-6)
    assert sphere.boundary**2 == pytest.approx(R2, abs=2e-6)
    d2 = (rows[:, 0] - np.dot(weights, rows[:, 0])) ** 2
    np.testing.assert_allclose(sphere.squared_distances, d2, atol=1e-6)
    if minority:
        assert sphere.case.tolist() == ["on the sphere", "on the sphere", "inside"]


SEVERAL = [kernels.RBF(), kernels.Laplacian("median"), kernels.Linear(), kernels.Polynomial(2)]
EACH = [*SEVERAL, kernels.Standardized(kernels.RBF())]


@pytest.mark.parametrize("kernel", EACH, ids=repr)
def test_no_more_rows_are_flagged_than_the_outlier_fraction_and_none_by_a_hard_margin(kernel):
    """Nor when the rows are scored one by one, whose digits are not quite the same.

    The boundary is the largest distance of a row below its bound.
    """
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(20, 90), rng.integers(1, 8)
        rows = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 3) + rng.normal(size=p)
        for fraction in (0.05, 0.1, 0.3, 0.5, 1.0):
            est = SVDD(kernel=kernel, outlier_fraction=fraction, cutoff=cutoffs.Own()).fit(rows)
            assert (est.predict(rows) == -1).mean() <= fraction + 1e-12
            below = est.distance(rows).values[0, 0][est.weights_ < est.C_ * (1 - 1e-6)]
            boundary = max(est.radius_, below.max(initial=0.0))
            assert est.radius_ <= est.cutoff_ == pytest.approx(boundary, rel=1e-5)
        hard = SVDD(kernel=kernel, C=1, cutoff=cutoffs.Own()).fit(rows)
        for these in (rows[rng.permutation(n)], *(rows[[i]] for i in range(0, n, 7))):
            assert (hard.predict(these) == 1).all()


@pytest.mark.parametrize("fraction", [0.1, 0.5])
def test_fractions_are_the_penalties_of_tax(fraction):
    est = SVDD(kernel=KERNELS[0], outlier_fraction=fraction).fit(X)
    assert pytest.approx(1 / (40 * fraction)) == est.C_
    rows, y = instance(1)
    est = SVDDM(outlier_fraction=fraction, minority_fraction=0.5, kernel=KERNELS[0]).fit(rows, y)
    given = SVDDM(C=1 / (30 * fraction), C2=1 / 3, kernel=KERNELS[0]).fit(rows, y)
    np.testing.assert_allclose(est.weights_, given.weights_, atol=1e-12)


# the one-class SVM


@pytest.mark.parametrize("nu", [1e-3, 0.1, 0.5, 1.0])
def test_origin_among_the_rows_is_said_to_be_there(nu):
    """Centred columns and a linear kernel: w = 0, for which libsvm alone finds no end."""
    rows = np.random.default_rng(22).normal(size=(150, 5))
    rows -= rows.mean(axis=0)
    message = r"origin of the kernel space lies among .*use kernels.RBF"
    with pytest.warns(DataWarning, match=message):
        est = OCSVM(kernel=kernels.Linear(), nu=nu).fit(rows)
    assert (
        np.isnan(est.plane_.distance_from_origin)
        and est.plane_.norm == 0.0
        and abs(est.plane_.rho) < 1e-3
    )
    assert np.linalg.norm(est.weights_ @ rows) < 1e-3
    assert est.weights_.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(est.decision_function(rows)).all()
