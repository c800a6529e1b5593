"""SVDD, without and with minority rows, and the one-class SVM: against general solvers, by hand."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.inference.warning import DataWarning
from bsvdd.models import Gram, one_class_svm, svdd
from sklearn.base import clone
from sklearn.svm import OneClassSVM

from bsvdd import OCSVM, SVDD, SVDDM, Cutoff, cutoffs, kernels

from .helpers import interior_points, quadratic_program, rbf, squared_distances

RNG = np.random.default_rng(6)
X = RNG.normal(size=(40, 2)) * [1.0, 1.5]
Z = RNG.normal(size=(30, 2)) * np.repeat([3.0, 0.5], 15)[:, None]
ROWS = np.random.default_rng(21).normal(size=(60, 2)) * [1.0, 1.5]
KERNELS = [kernels.RBF(1.3), kernels.Linear(), kernels.Polynomial(2, 0.3)]
PENALTIES = [(0.052, 0.045), (0.047, 1.0), (0.21, 0.3), (1.0, 0.04), (3.0, 2.0)]


def instance(seed, n0=30, n1=6):
    """Rows of a majority, and of a minority of which some lie inside the majority's cloud."""
    rng = np.random.default_rng(seed)
    majority = rng.normal(size=(n0, 2)) * [1.0, 1.5]
    minority = rng.normal(size=(n1, 2)) * np.linspace(0.3, 2.5, n1)[:, None]
    return np.concatenate([majority, minority]), np.repeat([0, 1], [n0, n1])


def solved(kernel, rows, y, C1, C2):
    return svdd.solve(Gram.from_rows(kernel, rows[y == 0], rows[y == 1]), C1, C2)


def dual(w, K):
    return w @ np.diag(K) - w @ K @ w


@pytest.mark.parametrize("penalties", PENALTIES, ids=str)
@pytest.mark.parametrize("n1", [0, 6])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_the_sphere_is_that_of_a_general_solver_and_meets_its_conditions(kernel, n1, penalties):
    """The dual in alpha0 and alpha1 as printed, by interior points."""
    rows, y = instance(1, n1=n1)
    K, sign = kernel(rows), np.where(y == 0, 1.0, -1.0)
    penalty = np.where(y == 0, *penalties)
    sphere = solved(kernel, rows, y, *penalties)
    w, alpha = sphere.weights, sign * sphere.weights
    best = quadratic_program(2 * np.outer(sign, sign) * K, -sign * np.diag(K), 0.0, penalty, sign)
    theirs = sign * best
    assert w.sum() == pytest.approx(1.0, abs=1e-10)
    assert alpha.min() >= -1e-12
    assert (alpha <= penalty * (1 + 1e-8)).all()
    rel = 1e-6 if n1 else 1e-9
    assert dual(w, K) == pytest.approx(dual(theirs, K), rel=rel, abs=rel)
    # the same sphere: R^2 from their own free weights
    free = (best > 1e-4 * penalty) & (best < (1 - 1e-4) * penalty)
    assert free.any()
    R2 = squared_distances(theirs, K, K, np.diag(K))[free].mean()
    assert sphere.radius**2 == pytest.approx(R2, rel=1e-5)
    # the largest slack that is not as the weight of its row says, and the case by the weights
    zero, full = alpha <= 1e-6 * penalty, alpha >= (1 - 1e-6) * penalty
    excess = sign * (np.diag(K) - 2 * K @ w + w @ K @ w - sphere.radius**2)
    wrong = np.where(zero, excess, np.where(full, -excess, np.abs(excess)))
    assert sphere.kkt_residual == pytest.approx(max(wrong.max(), 0.0), abs=1e-12)
    assert sphere.kkt_residual <= 1e-6 * np.abs(K).max()
    np.testing.assert_array_equal(sphere.case == "inside", np.where(y == 0, zero, full))
    np.testing.assert_array_equal(sphere.case == "outside", np.where(y == 0, full, zero))
    # the same decisions, away from the boundary
    cls, more = (SVDDM, {"C2": penalties[1]}) if n1 else (SVDD, {})
    est = cls(kernel=kernel, C=penalties[0], cutoff=cutoffs.Own(), **more).fit(
        rows, y if n1 else None
    )
    np.testing.assert_array_equal(est.weights_, w)
    d = np.sqrt(squared_distances(theirs, K, kernel(rows, Z), kernel.diag(Z)))
    clear = np.abs(d - R2**0.5) > 1e-6
    np.testing.assert_array_equal(est.predict(Z)[clear], np.where(d <= R2**0.5, 1, -1)[clear])
    np.testing.assert_array_equal(est.support_case_, sphere.case)
    flagged = est.predict(rows[y == 0]) == -1  # majority rows on the sphere are not
    np.testing.assert_array_equal(flagged, sphere.case[y == 0] == "outside")


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


def test_rows_are_left_out_by_refitted_folds_only():
    """Without a support vector, the other weights are those of another problem."""
    one_class = OCSVM(kernel=kernels.RBF(0.8), nu=0.1)
    for est, data, choose, folds in (
        (SVDDM(kernel=kernels.RBF(0.6)), instance(1, n0=40), cutoffs.Best("g_mean"), 6),
        (SVDD(kernel=kernels.RBF(0.6)), (X,), cutoffs.FalseAlarm(), 10),
        (one_class, (ROWS,), cutoffs.FalseAlarm(), 10),
    ):
        est.fit(*data)
        with pytest.raises(ValueError, match="no leave-one-out in closed form.*use cv='auto' or a"):
            est.with_cutoff(Cutoff(cutoffs.FalseAlarm(), cv="loo"))
        assert est.cutoff_ == est.with_cutoff(Cutoff(choose, cv=folds)).cutoff_
        # new rows lie outside of the sphere
        assert choose == cutoffs.Best() or est.cutoff_ > est.with_cutoff(cutoffs.Own()).cutoff_
    both = np.concatenate([ROWS, Z[:10]])  # minority rows are not learnt from
    same = clone(one_class).fit(both, np.arange(70) >= 60)
    np.testing.assert_array_equal(one_class.weights_, same.weights_)


GRAM, (PAIRS, LABELS) = Gram.from_rows(kernels.RBF(1.0), X[:30], X[30:36]), instance(2)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (
            lambda: svdd.solve(GRAM, 0.02, 0.5),
            r"C must be at least 1/n0 = 0\.0333333 for 30 majority rows .*got 0\.02: n0 C = 0\.6$",
        ),
        (lambda: svdd.solve(GRAM, 0.5), r"^C2, the penalty on .* is required .* n1 = 6$"),
        (lambda: SVDDM().fit(PAIRS), r"SVDDM learns from minority rows, .*\(n1 = 0\)"),
        *(
            (lambda k=k, v=v: SVDDM(**{k: v}).fit(PAIRS, LABELS), k)
            for k, v in (("C2", 0.0), ("C2", -1.0), ("minority_fraction", 0.0), ("C", 0.0))
        ),
        *(
            (lambda nu=nu: OCSVM(nu=nu).fit(X), r"'nu' parameter of OCSVM must be .*\(0\.?0?, 1\.")
            for nu in (0.0, -0.1, 1.2, "a")
        ),
    ],
)
def test_what_is_refused(use, message):
    with pytest.raises(ValueError, match=message):
        use()


# the one-class SVM

NUS = [0.03, 0.1, 0.25, 0.5, 0.9]


def one_class(nu, kernel=KERNELS[0], rows=ROWS):
    return OCSVM(kernel=kernel, nu=nu, cutoff=cutoffs.Own()).fit(rows)


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("rows", [ROWS, np.repeat(ROWS[:30].round(1), 2, axis=0)], ids=["", "ties"])
def test_nu_property_and_the_three_cases(rows, nu):
    """Shares and cases are counted anew, by f of a kernel matrix made here.

    The rows that are flagged are the margin errors, up to ties: of equal rows on the hyperplane,
    one can hold the full weight and f = 0.
    """
    est = one_class(nu, rows=rows)
    alpha, case, bound = est.weights_, est.plane_.case, 1 / (nu * len(rows))
    f = rbf(rows, rows, 1.3) @ alpha - est.plane_.rho
    assert alpha.sum() == pytest.approx(1.0, abs=1e-10)
    assert alpha.min() >= 0 and alpha.max() <= (1 + 1e-6) * bound
    np.testing.assert_array_equal(case == "inside", alpha <= 1e-6 * min(bound, 1.0))
    np.testing.assert_array_equal(case == "beyond", alpha >= bound - 1e-6 * min(bound, 1.0))
    assert (f[case == "inside"] >= -1e-6).all() and (f[case == "beyond"] <= 1e-6).all()
    np.testing.assert_allclose(f[case == "on the hyperplane"], 0.0, atol=1e-6)
    assert est.plane_.support_vector_share == (case != "inside").mean() >= nu
    assert est.plane_.margin_error_share == (case == "beyond").mean() <= nu
    flagged, tied = est.predict(rows) == -1, np.abs(f) < 1e-8
    assert not flagged[case != "beyond"].any()
    np.testing.assert_array_equal(flagged[~tied], case[~tied] == "beyond")
    if rows is ROWS:
        np.testing.assert_array_equal(flagged, case == "beyond")


@pytest.mark.parametrize("nu", NUS)
def test_it_is_svdd_and_scikit_learn_for_rbf(nu):
    est, sphere = (
        one_class(nu),
        SVDD(kernel=KERNELS[0], C=1 / (nu * 60), cutoff=cutoffs.Own()).fit(ROWS),
    )
    theirs = OneClassSVM(gamma=1 / (2 * 1.3**2), nu=nu, tol=1e-10).fit(ROWS)
    f = est.decision_function(Z) * est.plane_.rho  # ours is in units of rho
    np.testing.assert_allclose(f * nu * 60, theirs.decision_function(Z), atol=1e-5)
    np.testing.assert_allclose(est.weights_, sphere.weights_, atol=1e-6)
    clear = (np.abs(f) > 1e-6) & (np.abs(sphere.decision_function(Z)) > 1e-6)
    assert clear.sum() > 25 and set(est.predict(Z)) == {1, -1}
    for other in (theirs, sphere):
        np.testing.assert_array_equal(est.predict(Z)[clear], other.predict(Z)[clear])


def primal(X, nu):
    """Minimise ||w||^2/2 + sum xi / (nu n) - rho, w x_i >= rho - xi_i, xi >= 0, in w, xi, rho."""
    n, p = X.shape
    P = np.zeros((p + n + 1, p + n + 1))
    P[:p, :p] = np.eye(p)
    q = np.concatenate([np.zeros(p), np.full(n, 1 / (nu * n)), [-1.0]])
    margin = np.hstack([-X, -np.eye(n), np.ones((n, 1))])
    slack = np.hstack([np.zeros((n, p)), -np.eye(n), np.zeros((n, 1))])
    x = interior_points(P, q, np.vstack([margin, slack]), np.zeros(2 * n))
    return x[:p], x[-1]


@pytest.mark.parametrize("nu", [0.12, 0.33, 0.52])
def test_hyperplane_in_the_feature_space_of_a_linear_kernel(nu):
    rows = ROWS + np.array([4.0, 3.0])  # away from the origin, so that it can be cut off
    est, (w, rho) = one_class(nu, kernels.Linear(), rows), primal(rows, nu)
    np.testing.assert_allclose(est.weights_ @ rows, w, rtol=1e-5)
    assert est.plane_.rho == pytest.approx(rho, rel=1e-5)
    assert est.plane_.norm == pytest.approx(np.linalg.norm(w), rel=1e-5)
    foot = w * rho / (w @ w)  # the nearest point of the hyperplane to the origin
    assert est.plane_.distance_from_origin == pytest.approx(np.linalg.norm(foot), rel=1e-5)
    assert est.intercept_ == pytest.approx(-est.plane_.rho, rel=1e-12)
    np.testing.assert_allclose(est.decision_function(Z) * est.plane_.rho, Z @ w - rho, atol=1e-4)


@pytest.mark.parametrize("nu", [1e-12, 1e-3, 1 / 61, 1.0])
def test_nu_of_less_than_one_row_is_the_hard_margin_and_of_one_the_mean(nu):
    """No weight can reach 1/(nu n) > 1, so every such nu has one solution, without errors."""
    est, K = one_class(nu), rbf(ROWS, ROWS, 1.3)
    alpha = np.full(60, 1 / 60)
    if nu < 1:
        alpha = quadratic_program(K, np.zeros(60), 0.0, np.inf)
        assert est.plane_.margin_error_share == 0.0 and (est.predict(ROWS) == 1).all()
        assert set(est.plane_.case) == {"inside", "on the hyperplane"}
        assert est.plane_.rho == pytest.approx(alpha @ K @ alpha, rel=1e-5)
        assert est.plane_.distance_from_origin == pytest.approx(
            np.sqrt(alpha @ K @ alpha), rel=1e-5
        )
    np.testing.assert_allclose(est.weights_, alpha, atol=1e-5)
    assert est.plane_.norm**2 == pytest.approx(alpha @ K @ alpha, rel=1e-5)


@pytest.mark.parametrize("factor", [1e-8, 1e8])
def test_the_size_of_the_kernel_does_not_matter(factor):
    gram = Gram.from_rows(kernels.RBF(1.3), ROWS)
    K, r, T = gram.K * factor, gram.r * factor, gram.T * factor
    scaled = replace(gram, K=K, r=r, T=T)
    plane, other = one_class_svm.solve(gram, 0.2), one_class_svm.solve(scaled, 0.2)
    np.testing.assert_allclose(plane.alpha, other.alpha, atol=1e-6)
    assert other.rho == pytest.approx(plane.rho * factor, rel=1e-6)
    assert np.isfinite(other.distance_from_origin)  # small values are no origin among the rows


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
