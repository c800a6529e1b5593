"""One-class SVM against its theory, scikit-learn, SVDD, and an explicit feature space."""

import numpy as np
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.inference.warning import DataWarning
from bsvdd.models import Gram, one_class_svm
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from bsvdd import OCSVM, SVDD, Cutoff, kernels

from .helpers import interior_points, quadratic_program, rbf

FIVE = ["wine_cultivar3", "glass_headlamps", "ionosphere", "breast_original", "abalone_9v18"]
NUS = [0.03, 0.1, 0.25, 0.5, 0.9]
RNG = np.random.default_rng(21)
X = RNG.normal(size=(60, 2)) * [1.0, 1.5]
Z = RNG.normal(size=(200, 2)) * 2.5


@pytest.fixture(scope="module", params=FIVE)
def rows(request):
    data = datasets.embedded(request.param)
    majority = data.X[~data.minority]
    return StandardScaler().fit_transform(majority[:, np.ptp(majority, axis=0) > 0])


@pytest.mark.parametrize("nu", NUS)
def test_nu_property_and_the_three_cases(rows, nu):
    """Shares and cases are counted anew, by f of a kernel matrix made here.

    The rows that are flagged are the margin errors, up to ties: of equal rows on the hyperplane,
    one can hold the full weight and f = 0.
    """
    est = OCSVM(kernel=kernels.RBF("median"), nu=nu, cutoff="model").fit(rows)
    alpha, case, bound = est.weights_, est.support_case_, 1 / (nu * len(rows))
    f = rbf(rows, rows, est.kernel_.bandwidth) @ alpha - est.rho_
    assert alpha.sum() == pytest.approx(1.0, abs=1e-10)
    assert alpha.min() >= 0
    assert alpha.max() <= (1 + 1e-6) * bound
    np.testing.assert_array_equal(case == "inside", alpha <= 1e-6 * min(bound, 1.0))
    np.testing.assert_array_equal(case == "beyond", alpha >= bound - 1e-6 * min(bound, 1.0))
    assert (f[case == "inside"] >= -1e-6).all()
    np.testing.assert_allclose(f[case == "on the hyperplane"], 0.0, atol=1e-6)
    assert (f[case == "beyond"] <= 1e-6).all()
    assert est.support_vector_share_ == (case != "inside").mean()
    assert est.margin_error_share_ == (case == "beyond").mean()
    assert est.margin_error_share_ <= nu <= est.support_vector_share_
    assert (f < -1e-6).mean() <= est.margin_error_share_
    assert est.support_vector_share_ >= (alpha > 1e-5 * bound).mean() >= nu
    flagged, beyond, tied = est.predict(rows) == -1, case == "beyond", np.abs(f) < 1e-8
    assert not flagged[~beyond].any()
    np.testing.assert_array_equal(flagged[~tied], beyond[~tied])
    if len(np.unique(rows, axis=0)) == len(rows):
        np.testing.assert_array_equal(flagged, beyond)


@pytest.mark.parametrize("nu", NUS)
def test_equals_svdd_and_scikit_learn_for_rbf(nu):
    kernel = kernels.RBF(1.3)
    est = OCSVM(kernel=kernel, nu=nu, cutoff="model").fit(X)
    theirs = OneClassSVM(gamma=1 / (2 * 1.3**2), nu=nu, tol=1e-10).fit(X)
    f = est.decision_function(Z) * est.rho_  # ours is in units of rho
    np.testing.assert_allclose(f * nu * len(X), theirs.decision_function(Z), atol=1e-5)
    clear = np.abs(f) > 1e-6
    assert clear.sum() > 190
    np.testing.assert_array_equal(est.predict(Z)[clear], theirs.predict(Z)[clear])
    sphere = SVDD(kernel=kernel, C=1 / (nu * len(X)), cutoff="model").fit(X)
    clear &= np.abs(sphere.decision_function(Z)) > 1e-6
    np.testing.assert_array_equal(est.predict(Z)[clear], sphere.predict(Z)[clear])
    np.testing.assert_allclose(est.weights_, sphere.weights_, atol=1e-6)
    assert {1, -1} == set(est.predict(Z))


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
    rows = X + np.array([4.0, 3.0])  # away from the origin, so that it can be cut off
    est = OCSVM(kernel=kernels.Linear(), nu=nu, cutoff="model").fit(rows)
    w, rho = primal(rows, nu)
    np.testing.assert_allclose(est.weights_ @ rows, w, rtol=1e-5)
    assert est.rho_ == pytest.approx(rho, rel=1e-5)
    assert est.norm_w_ == pytest.approx(np.linalg.norm(w), rel=1e-5)
    foot = w * rho / (w @ w)  # the nearest point of the hyperplane to the origin
    assert est.distance_from_origin_ == pytest.approx(np.linalg.norm(foot), rel=1e-5)
    assert est.intercept_ == pytest.approx(-est.rho_, rel=1e-12)
    np.testing.assert_allclose(est.decision_function(Z) * est.rho_, Z @ w - rho, atol=1e-4)


def test_nu_of_one_is_the_mean_of_all_rows():
    est = OCSVM(kernel=kernels.RBF(0.8), nu=1.0, cutoff="model").fit(X)
    np.testing.assert_allclose(est.weights_, 1 / 60)
    assert est.support_vector_share_ == 1.0
    f = est.decision_function(Z) * est.rho_  # a kernel density estimate but for its offset
    np.testing.assert_allclose(f, rbf(Z, X, 0.8).mean(axis=1) - est.rho_, atol=1e-12)


@pytest.mark.parametrize("nu", [1e-12, 1e-7, 1e-3, 1 / 61])
def test_nu_below_one_row_is_the_hard_margin(nu):
    """No weight can reach 1/(nu n) > 1, so every such nu has one solution, without errors."""
    est = OCSVM(kernel=kernels.RBF(1.3), nu=nu, cutoff="model").fit(X)
    assert est.margin_error_share_ == 0.0
    assert (est.predict(X) == 1).all()
    assert set(est.support_case_) == {"inside", "on the hyperplane"}
    K = rbf(X, X, 1.3)
    alpha = quadratic_program(K, np.zeros(60), 0.0, np.inf)
    assert est.norm_w_**2 == pytest.approx(alpha @ K @ alpha, rel=1e-5)
    assert est.rho_ == pytest.approx(alpha @ K @ alpha, rel=1e-5)
    assert est.distance_from_origin_ == pytest.approx(np.sqrt(alpha @ K @ alpha), rel=1e-5)


@pytest.mark.parametrize("factor", [1e-8, 1e-6, 1.0, 1e6, 1e8])
def test_the_size_of_the_kernel_does_not_matter(factor):
    gram = Gram.from_rows(kernels.RBF(1.3), X)
    K, r, T = gram.K * factor, gram.r * factor, gram.T * factor
    scaled = Gram(K, r, T, gram.n0, gram.points, gram.kernel)
    plane, other = one_class_svm.solve(gram, 0.2), one_class_svm.solve(scaled, 0.2)
    np.testing.assert_allclose(plane.alpha, other.alpha, atol=1e-6)
    assert other.rho == pytest.approx(plane.rho * factor, rel=1e-6)
    assert np.isfinite(other.distance_from_origin)  # small values are no origin among the rows


@pytest.mark.parametrize(("n", "p"), [(60, 2), (300, 5)])
@pytest.mark.parametrize("nu", [1e-3, 0.1, 0.5, 1.0])
def test_origin_among_the_rows_is_said_to_be_there(n, p, nu):
    """Centred columns and a linear kernel: w = 0, for which libsvm alone finds no end."""
    rows = np.random.default_rng(22).normal(size=(n, p))
    rows -= rows.mean(axis=0)
    message = r"origin of the kernel space lies among .*use kernels.RBF"
    with pytest.warns(DataWarning, match=message):
        est = OCSVM(kernel=kernels.Linear(), nu=nu).fit(rows)
    assert np.isnan(est.distance_from_origin_)
    assert est.norm_w_ == 0.0
    assert abs(est.rho_) < 1e-3
    assert np.linalg.norm(est.weights_ @ rows) < 1e-3
    assert est.weights_.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(est.decision_function(rows)).all()


def test_the_default_cutoff_is_a_false_alarm_rate_by_refitted_folds():
    est = OCSVM(kernel=kernels.RBF(0.8), nu=0.1).fit(X)
    assert est.cutoff is None
    assert est.cutoff_ == est.with_cutoff(Cutoff("false_alarm", cv=10)).cutoff_
    assert est.cutoff_ > est.with_cutoff("model").cutoff_ == 0.0
    assert (est.idata_["decision"]["left_out"].values > est.cutoff_).sum() == 5  # 55 of 61 within
    np.testing.assert_array_equal(est.predict(Z) == 1, est.score_samples(Z) >= 0)
    both = np.concatenate([X, Z[:10]])  # minority rows are not learnt from
    same = OCSVM(kernel=kernels.RBF(0.8), nu=0.1).fit(both, np.arange(70) >= 60)
    np.testing.assert_array_equal(est.weights_, same.weights_)


@pytest.mark.parametrize("nu", [0.0, -0.1, 1.2, "a"])
def test_nu_out_of_range(nu):
    with pytest.raises(ValueError, match=r"'nu' parameter of OCSVM must be .*\(0\.?0?, 1\.?0?\]"):
        OCSVM(nu=nu).fit(X)
