"""SVDD against scikit-learn's one-class SVM and against a general QP solver."""

import cvxopt
import numpy as np
import pytest
from bsvdd.models import Gram, svdd
from sklearn.svm import OneClassSVM

from bsvdd import SVDD, Cutoff, kernels

RNG = np.random.default_rng(6)
X = RNG.normal(size=(40, 2)) * [1.0, 1.5]
Z = RNG.normal(size=(30, 2)) * 3


def quadratic_program(K, C):
    """Solve the dual of SVDD as it stands, by cvxopt's interior points."""
    n = len(K)
    P, q = cvxopt.matrix(2 * K), cvxopt.matrix(-np.diag(K))
    G = cvxopt.matrix(np.vstack([-np.eye(n), np.eye(n)]))
    h = cvxopt.matrix(np.r_[np.zeros(n), np.full(n, C)])
    A, b = cvxopt.matrix(np.ones((1, n))), cvxopt.matrix(1.0)
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-12}
    return np.ravel(cvxopt.solvers.qp(P, q, G, h, A, b, options=options)["x"])


def distances(w, K, k_uz, k_zz):
    return np.sqrt(np.maximum(k_zz - 2 * w @ k_uz + w @ K @ w, 0))


@pytest.mark.parametrize("C", [0.05, 0.1, 0.37, 1.0])
def test_rbf_is_the_one_class_svm(C):
    est = SVDD(kernel=kernels.RBF(1.3), C=C, cutoff="model").fit(X)
    svm = OneClassSVM(gamma=kernels.RBF(1.3).gamma, nu=1 / (C * len(X)), tol=1e-10).fit(X)
    theirs = svm.decision_function(Z)
    # R^2 - d^2 = 2 (sum_j w_j k(u_j, z) - rho'), and libsvm scales w by nu n
    ours = est.radius_**2 - est.distance(Z).values[0, 0] ** 2
    np.testing.assert_allclose(ours, 2 * theirs * C, atol=1e-7)
    np.testing.assert_array_equal(est.predict(Z), svm.predict(Z))
    assert {-1, 1} == set(est.predict(Z))


@pytest.mark.parametrize("C", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("kernel", [kernels.Linear(), kernels.Polynomial(2)], ids=repr)
def test_other_kernels_solve_the_qp(kernel, C):
    gram = Gram.from_rows(kernel, X)
    w, reference = svdd.solve(gram, C).weights, quadratic_program(gram.K, C)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert w.min() >= 0
    assert w.max() <= C * (1 + 1e-8)

    def dual(v):
        return v @ np.diag(gram.K) - v @ gram.K @ v

    # several w can give one centre (a linear kernel of rank 2), so compare what is unique
    assert dual(w) == pytest.approx(dual(reference), rel=1e-9)
    k_uz, k_zz = kernel(X, Z), kernel.diag(Z)
    np.testing.assert_allclose(
        distances(w, gram.K, k_uz, k_zz), distances(reference, gram.K, k_uz, k_zz), rtol=1e-5
    )


@pytest.mark.parametrize("C", [0.05, 0.1, 0.15])
def test_radius_is_that_of_free_support_vectors_only(C):
    gram = Gram.from_rows(kernels.RBF(1.3), X)
    w = svdd.solve(gram, C).weights
    d = distances(w, gram.K, gram.K, np.diag(gram.K))
    R = svdd.describe(w, gram, C).radius
    free, bounded = (w > 1e-5 * C) & (w < C * (1 - 1e-5)), w > C * (1 - 1e-5)
    assert free.any()
    assert bounded.any()
    np.testing.assert_allclose(d[free], R, atol=1e-6)
    assert (d[bounded] >= R - 1e-6).all()
    assert d[bounded].mean() > R + 1e-3  # so a radius averaged over them would be too large
    assert (d[w <= 1e-5 * C] <= R + 1e-6).all()


def test_radius_without_a_free_support_vector_is_the_middle():
    """Points -4, -1, 1, 4 and C = 1/2: w = (1/2, 0, 0, 1/2), centre 0, R^2 in [1, 16]."""
    points = np.array([[-4.0], [-1.0], [1.0], [4.0]])
    gram = Gram.from_rows(kernels.Linear(), points)
    w = svdd.solve(gram, 0.5).weights
    np.testing.assert_allclose(w, [0.5, 0, 0, 0.5], atol=1e-9)
    assert svdd.describe(w, gram, 0.5).radius ** 2 == pytest.approx((1 + 16) / 2)


def test_radius_with_one_end_only():
    """C = 1/n: every weight is at its bound, and the nearest row gives the only end."""
    points = np.array([[-3.0], [-1.0], [4.0]])
    gram = Gram.from_rows(kernels.Linear(), points)
    w = svdd.solve(gram, 1 / 3).weights
    np.testing.assert_allclose(w, 1 / 3)
    assert svdd.describe(w, gram, 1 / 3).radius == pytest.approx(1.0)


@pytest.mark.parametrize("C", [1.0, 5.0, 1e4])
@pytest.mark.parametrize("kernel", [kernels.RBF(1.3), kernels.Linear()], ids=repr)
def test_hard_margin_encloses_every_row(kernel, C):
    est = SVDD(kernel=kernel, C=C).fit(X)
    assert est.distance(X).values.max() <= est.radius_ * (1 + 1e-6)
    np.testing.assert_allclose(est.weights_, SVDD(kernel=kernel, C=1.0).fit(X).weights_)


@pytest.mark.parametrize("kernel", [kernels.RBF(0.9), kernels.Polynomial(2)], ids=repr)
@pytest.mark.parametrize("C", [0.04, 0.1, 0.3, 1.0])
def test_boundary_is_the_largest_distance_of_a_row_below_its_bound(kernel, C):
    gram = Gram.from_rows(kernel, X)
    w = svdd.solve(gram, C).weights
    d = distances(w, gram.K, gram.K, np.diag(gram.K))
    below = w < C * (1 - 1e-6)
    boundary, R = svdd.describe(w, gram, C).boundary, svdd.describe(w, gram, C).radius
    assert boundary == pytest.approx(max(R, d[below].max()), rel=1e-12)
    assert R <= boundary <= R * (1 + 1e-5)  # above the radius by no more than rounding
    assert (d[below] <= boundary * (1 + 1e-12)).all()
    est = SVDD(kernel=kernel, C=C, cutoff="model").fit(X)
    assert est.cutoff_ == pytest.approx(boundary, rel=1e-12)


def test_boundary_without_a_row_below_its_bound_is_the_radius():
    points = np.array([[-3.0], [-1.0], [4.0]])
    gram = Gram.from_rows(kernels.Linear(), points)
    w = svdd.solve(gram, 1 / 3).weights
    assert svdd.describe(w, gram, 1 / 3).boundary == pytest.approx(
        svdd.describe(w, gram, 1 / 3).radius, rel=1e-12
    )


def test_boundary_without_a_free_support_vector_lets_rows_inside_in():
    """Points -4, -1, 1, 4 and C = 1/2: R^2 = 17/2 is beyond both rows with w < C."""
    gram = Gram.from_rows(kernels.Linear(), np.array([[-4.0], [-1.0], [1.0], [4.0]]))
    w = svdd.solve(gram, 0.5).weights
    assert svdd.describe(w, gram, 0.5).boundary ** 2 == pytest.approx(17 / 2)


SEVERAL = [
    kernels.RBF(),
    kernels.RBF("median"),
    kernels.Laplacian("median"),
    kernels.Linear(),
    kernels.Polynomial(2),
    kernels.Standardized(kernels.RBF()),
]


@pytest.mark.parametrize("kernel", SEVERAL, ids=repr)
def test_hard_margin_flags_no_training_row(kernel):
    """Nor when the rows are scored one by one, whose digits are not quite the same."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(5, 120), rng.integers(1, 8)
        rows = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 3) + rng.normal(size=p)
        est = SVDD(kernel=kernel, C=1, cutoff="model").fit(rows)
        assert (est.predict(rows) == 1).all()
        assert (est.predict(rows[rng.permutation(n)]) == 1).all()
        assert all(est.predict(rows[[i]])[0] == 1 for i in range(0, n, 7))
        assert est.radius_ <= est.cutoff_ <= est.radius_ * (1 + 1e-5)


@pytest.mark.parametrize("kernel", SEVERAL, ids=repr)
def test_no_more_rows_are_flagged_than_the_outlier_fraction(kernel):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(rng.integers(20, 120), rng.integers(1, 8)))
        for fraction in (0.05, 0.1, 0.3, 0.5, 1.0):
            est = SVDD(kernel=kernel, outlier_fraction=fraction, cutoff="model").fit(rows)
            assert (est.predict(rows) == -1).mean() <= fraction + 1e-12


def test_c_below_one_over_n():
    with pytest.raises(
        ValueError, match=r"C must be at least 1/n0 = 0.025 for 40 .*got 0.02: n0 C = 0.8$"
    ):
        SVDD(C=0.02).fit(X)


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
def test_outlier_fraction_is_nu(fraction):
    """At most nu n rows are outside, and at least nu n are support vectors."""
    est = SVDD(kernel=kernels.RBF(0.6), outlier_fraction=fraction).fit(X)
    assert pytest.approx(1 / (40 * fraction)) == est.C_
    outside = (est.distance(X).values[0, 0] > est.radius_ + 1e-6).mean()
    assert outside <= fraction <= (est.weights_ > 1e-8).mean()


def test_the_default_cutoff_is_a_false_alarm_rate_by_refitted_folds():
    est = SVDD(kernel=kernels.RBF(0.6)).fit(X)
    assert est.cutoff is None
    folds = est.with_cutoff(Cutoff("false_alarm", cv=10))
    assert est.cutoff_ == folds.cutoff_ == est.with_cutoff(Cutoff(cv="auto")).cutoff_
    assert est.cutoff_ > est.with_cutoff("model").cutoff_  # new rows lie outside of the sphere
    assert (est.idata_["decision"]["left_out"].values > est.cutoff_).sum() == 3  # 37 of 41 within


def test_a_row_is_left_out_by_a_refit_only():
    """Without a support vector, the other weights are those of another problem."""
    message = r"cutoff: SVDD has no leave-one-out in closed form.*use cv='auto' or a number"
    with pytest.raises(ValueError, match=message):
        SVDD(cutoff=Cutoff(cv="loo")).fit(X)
    with pytest.raises(ValueError, match=message):
        SVDD(cutoff="model").fit(X).with_cutoff(Cutoff("false_alarm", cv="loo"))


def test_a_parameter_that_is_set_after_the_fit_changes_nothing_of_it():
    est = SVDD(kernel=kernels.RBF(1.0)).fit(X)
    case, boundary = est.support_case_.tolist(), est.with_cutoff("model").cutoff_
    est.set_params(outlier_fraction=0.5)
    assert est.support_case_.tolist() == case
    assert est.with_cutoff("model").cutoff_ == boundary


def test_a_second_fit_is_the_first():
    est = SVDD(C=0.1)
    first = est.fit(X).weights_.copy()
    np.testing.assert_array_equal(est.fit(X).weights_, first)
    assert est.C == 0.1
