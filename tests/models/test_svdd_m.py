"""SVDD with minority rows against a general QP solver and its own optimality conditions."""

import cvxopt
import numpy as np
import pytest
from bsvdd.models import Gram, svdd
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from bsvdd import SVDD, SVDDM, Cutoff, kernels

KERNELS = [kernels.RBF(1.3), kernels.Linear(), kernels.Polynomial(2, 0.3)]
PENALTIES = [(0.052, 0.045), (0.047, 1.0), (0.21, 0.3), (1.0, 0.04), (3.0, 2.0)]
FALLING = (1.0, 0.5, 0.2, 0.1, 0.05, 0.03, 0.02)


def instance(seed, n0=30, n1=6):
    """Rows of a majority, and of a minority of which some lie inside the majority's cloud."""
    rng = np.random.default_rng(seed)
    majority = rng.normal(size=(n0, 2)) * [1.0, 1.5]
    minority = rng.normal(size=(n1, 2)) * np.linspace(0.3, 2.5, n1)[:, None]
    return majority, minority, rng.normal(size=(60, 2)) * 2


def quadratic_program(K, n0, C1, C2):
    """Maximise the dual in alpha0 and alpha1 as it is printed, by cvxopt's interior points."""
    n = len(K)
    n1 = n - n0
    y = np.repeat([1.0, -1.0], [n0, n1])
    P = np.empty((n, n))
    P[:n0, :n0], P[:n0, n0:] = 2 * K[:n0, :n0], -2 * K[:n0, n0:]
    P[n0:, :n0], P[n0:, n0:] = -2 * K[n0:, :n0], 2 * K[n0:, n0:]
    q = -y * np.diag(K)
    G = np.vstack([-np.eye(n), np.eye(n)])
    h = np.concatenate([np.zeros(n), np.full(n0, C1), np.full(n1, C2)])
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    solution = cvxopt.solvers.qp(
        *map(cvxopt.matrix, (P, q, G, h, y[None], np.ones(1))), options=options
    )
    alpha = np.ravel(solution["x"])
    return alpha[:n0], alpha[n0:]


def dual(alpha0, alpha1, K):
    """The objective with its six sums, class by class."""
    m = len(alpha0)
    k = np.diag(K)
    linear = alpha0 @ k[:m] - alpha1 @ k[m:]
    own = alpha0 @ K[:m, :m] @ alpha0 + alpha1 @ K[m:, m:] @ alpha1
    return linear - own + 2 * alpha0 @ K[:m, m:] @ alpha1


def squared_distances(alpha0, alpha1, K, k_uz, k_zz):
    w = np.concatenate([alpha0, -alpha1])
    return k_zz - 2 * w @ k_uz + w @ K @ w


def split(w, n0):
    return w[:n0], -w[n0:]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalties", PENALTIES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_solves_the_quadratic_program(kernel, penalties, seed):
    majority, minority, Z = instance(seed)
    X, n0 = np.concatenate([majority, minority]), len(majority)
    gram = Gram.from_rows(kernel, majority, minority)
    sphere = svdd.solve(gram, *penalties)
    alpha0, alpha1 = split(sphere.weights, n0)
    theirs = quadratic_program(kernel(X), n0, *penalties)
    # feasible
    assert alpha0.sum() - alpha1.sum() == pytest.approx(1.0, abs=1e-10)
    assert min(alpha0.min(), alpha1.min()) >= -1e-12
    assert alpha0.max() <= penalties[0] * (1 + 1e-8)
    assert alpha1.max() <= penalties[1] * (1 + 1e-8)
    # optimal
    ours = dual(alpha0, alpha1, kernel(X))
    assert ours == pytest.approx(dual(*theirs, kernel(X)), rel=1e-6, abs=1e-6)
    # the same sphere: R^2 from their own free weights
    d2 = squared_distances(*theirs, kernel(X), kernel(X), kernel.diag(X))
    bound = np.concatenate([theirs[0] / penalties[0], theirs[1] / penalties[1]])
    free = (bound > 1e-4) & (bound < 1 - 1e-4)
    assert free.any()
    R = np.sqrt(d2[free].mean())
    assert sphere.radius == pytest.approx(R, rel=1e-5)
    # the same decisions, away from the boundary
    est = SVDDM(kernel=kernel, C=penalties[0], C2=penalties[1], cutoff="model")
    est.fit(X, np.arange(len(X)) >= n0)
    for rows in (Z, X[~free]):
        d = np.sqrt(squared_distances(*theirs, kernel(X), kernel(X, rows), kernel.diag(rows)))
        clear = np.abs(d - R) > 1e-6
        np.testing.assert_array_equal(est.predict(rows)[clear], np.where(d <= R, 1, -1)[clear])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalties", PENALTIES, ids=str)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_optimality_conditions_from_the_gradient_of_each_class(kernel, penalties, seed):
    """One multiplier mu of the sum: gradient = mu where free, <= mu at 0, >= mu at the bound.

    For alpha1 the constraint enters with -1, so -gradient is what mu is compared with.
    """
    majority, minority, _ = instance(seed)
    n0 = len(majority)
    gram = Gram.from_rows(kernel, majority, minority)
    sphere = svdd.solve(gram, *penalties)
    alpha0, alpha1 = split(sphere.weights, n0)
    K, scale = gram.K, np.abs(gram.K).max()
    gradient0 = np.diag(K)[:n0] - 2 * K[:n0, :n0] @ alpha0 + 2 * K[:n0, n0:] @ alpha1
    gradient1 = -np.diag(K)[n0:] + 2 * K[n0:, :n0] @ alpha0 - 2 * K[n0:, n0:] @ alpha1
    w = sphere.weights
    mu = sphere.radius**2 - w @ K @ w
    tol = 1e-6 * scale
    for alpha, excess, penalty in (
        (alpha0, gradient0 - mu, penalties[0]),
        (alpha1, gradient1 + mu, penalties[1]),
    ):
        zero, full = alpha <= 1e-6 * penalty, alpha >= (1 - 1e-6) * penalty
        np.testing.assert_allclose(excess[~zero & ~full], 0.0, atol=tol)
        assert (excess[zero] <= tol).all()
        assert (excess[full] >= -tol).all()
    assert 0 <= sphere.kkt_residual <= tol


@pytest.mark.parametrize("seed", range(4))
def test_minority_rows_inside_the_cloud_leave_the_sphere_as_c1_falls(seed):
    """With minority rows ignored (sum alpha = 1) every one of them would have weight 0."""
    rng = np.random.default_rng(seed)
    majority, minority = rng.normal(size=(60, 2)), rng.uniform(-0.9, 0.9, size=(12, 2))
    plain = SVDD(kernel=kernels.RBF(2.0), C=1.0, cutoff="model").fit(majority)
    assert (plain.predict(minority) == 1).all()  # they do lie inside of the target's cloud
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [60, 12])
    left, inside_cost = [], []
    for C1 in FALLING:
        est = SVDDM(kernel=kernels.RBF(2.0), C=C1, C2=1.0, cutoff="model").fit(X, y)
        alpha1, d = -est.weights_[60:], est.distance(minority).values[0, 0]
        assert alpha1.max() > 1e-3
        left.append((d >= est.radius_ - 1e-6).sum())
        inside_cost.append(est.radius_**2 + np.maximum(est.radius_**2 - d**2, 0).sum())
    assert (np.diff(left) >= 0).all()
    assert left[-1] > left[0] > 0
    # of min F + C1 G, F at the solution cannot grow as C1 falls
    assert (np.diff(inside_cost) <= 1e-6).all()
    assert inside_cost[-1] < inside_cost[0] - 0.1


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
@pytest.mark.parametrize("C", [0.05, 0.3, 1.0])
def test_without_minority_rows_it_is_svdd(kernel, C):
    majority = instance(8)[0]
    gram = Gram.from_rows(kernel, majority)
    sphere = svdd.solve(gram, C, 0.7)  # a C2 that nobody pays
    alpha0, none = quadratic_program(kernel(majority), len(majority), C, 0.7)
    assert not len(none)
    ours = dual(sphere.weights, none, gram.K)
    assert ours == pytest.approx(dual(alpha0, none, gram.K), rel=1e-6, abs=1e-6)
    est = SVDD(kernel=kernel, C=C).fit(majority)
    np.testing.assert_array_equal(sphere.weights, est.weights_)
    assert sphere.radius == est.radius_
    np.testing.assert_array_equal(sphere.case, est.support_case_)


@pytest.mark.parametrize("penalties", [(0.05, 0.05), (0.1, 0.05), (0.3, 0.1)], ids=str)
def test_support_case_agrees_with_distance_and_weight(penalties):
    majority, minority, _ = instance(1, n0=40, n1=12)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [40, 12])
    kernel = kernels.RBF(1.3)
    est = SVDDM(kernel=kernel, C=penalties[0], C2=penalties[1], cutoff="model").fit(X, y)
    case, d = est.support_case_, est.distance(X).values[0, 0]
    assert case.shape == (52,)
    excess = d**2 - est.radius_**2
    assert (excess[case == "inside"] <= 1e-6).all()
    assert (excess[case == "outside"] >= -1e-6).all()
    np.testing.assert_allclose(excess[case == "on the sphere"], 0.0, atol=1e-6)
    alpha0, alpha1 = split(est.weights_, 40)
    zero, full = alpha0 <= 1e-6 * penalties[0], alpha0 >= (1 - 1e-6) * penalties[0]
    np.testing.assert_array_equal(case[:40] == "inside", zero)
    np.testing.assert_array_equal(case[:40] == "outside", full)
    zero, full = alpha1 <= 1e-6 * penalties[1], alpha1 >= (1 - 1e-6) * penalties[1]
    np.testing.assert_array_equal(case[40:] == "outside", zero)
    np.testing.assert_array_equal(case[40:] == "inside", full)
    assert set(case[:40]) == set(case[40:]) == {"inside", "on the sphere", "outside"}
    # what is not near the boundary is decided as its case says
    clear = np.abs(excess) > 1e-6
    np.testing.assert_array_equal(est.predict(X)[clear] == 1, (case != "outside")[clear])


@pytest.mark.parametrize("C", [0.05, 0.08])
def test_radius_is_that_of_free_weights_of_both_classes(C):
    majority, minority, _ = instance(3, n0=40, n1=10)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [40, 10])
    est = SVDDM(kernel=kernels.RBF(1.3), C=C, C2=0.06).fit(X, y)
    alpha0, alpha1 = split(est.weights_, 40)
    d = est.distance(X).values[0, 0]
    free = np.concatenate(
        [
            (alpha0 > 1e-6 * C) & (alpha0 < C * (1 - 1e-6)),
            (alpha1 > 1e-6 * 0.06) & (alpha1 < 0.06 * (1 - 1e-6)),
        ]
    )
    assert free[:40].any()
    assert est.radius_ == pytest.approx(np.sqrt((d[free] ** 2).mean()), abs=1e-9)
    np.testing.assert_allclose(d[free], est.radius_, atol=1e-6)
    support = np.abs(est.weights_) > 1e-8
    assert (support & ~free).any()
    assert abs(d[support].mean() - est.radius_) > 1e-3  # bounded ones would move it


@pytest.mark.parametrize("C2", [0.3, 0.9, 2.4])
def test_three_rows_by_hand(C2):
    """Majority at -1 and 2, minority at 1.5, linear kernel, C1 so high that it never binds.

    R = max(c + 1, 2 - c), and its square plus C2 times the minority's slack, 1.75 - c for
    c < .5 and 5c - 1.25 above, is least at c = .5: R = 1.5, alpha1 = C2, and alpha0 follows from
    sum = 1 + C2 and centre = .5.
    """
    gram = Gram.from_rows(kernels.Linear(), np.array([[-1.0], [2.0]]), np.array([[1.5]]))
    sphere = svdd.solve(gram, 10.0, C2)
    expected = [0.5 + C2 / 6, 0.5 + 5 * C2 / 6, -C2]
    np.testing.assert_allclose(sphere.weights, expected, atol=1e-6)
    np.testing.assert_allclose(sphere.squared_distances, [2.25, 2.25, 1.0], atol=1e-6)
    assert sphere.radius == pytest.approx(1.5, abs=1e-6)
    assert sphere.case.tolist() == ["on the sphere", "on the sphere", "inside"]


@pytest.mark.parametrize("n0", [60, 150])
@pytest.mark.parametrize("seed", range(8))
def test_majority_rows_on_the_sphere_are_not_flagged(seed, n0):
    """Equal to R but for rounding, they belong to the description."""
    majority, minority, _ = instance(seed, n0=n0, n1=12)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [n0, 12])
    for cls in (SVDDM, SVDD):
        est = cls(kernel=kernels.RBF(1.3), cutoff="model").fit(X, y)
        flagged = est.predict(majority) == -1
        np.testing.assert_array_equal(flagged, est.support_case_[:n0] == "outside")


def test_default_penalties_are_those_of_tax():
    majority, minority, _ = instance(1)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [30, 6])
    est = SVDDM(outlier_fraction=0.2, minority_fraction=0.5, kernel=kernels.RBF(1.0)).fit(X, y)
    assert pytest.approx(1 / (30 * 0.2)) == est.C_
    given = SVDDM(C=1 / 6, C2=1 / 3, kernel=kernels.RBF(1.0)).fit(X, y)
    np.testing.assert_allclose(est.weights_, given.weights_, atol=1e-12)


def test_errors():
    majority, minority, _ = instance(2)
    gram = Gram.from_rows(kernels.RBF(1.0), majority, minority)
    message = r"C must be at least 1/n0 = 0\.0333333 for 30 majority rows .*got 0\.02: n0 C = 0\.6$"
    with pytest.raises(ValueError, match=message):
        svdd.solve(gram, 0.02, 0.5)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [30, 6])
    with pytest.raises(ValueError, match=message):
        SVDDM(kernel=kernels.RBF(1.0), C=0.02, C2=5.0).fit(X, y)
    with pytest.raises(ValueError, match=r"^C2, the penalty on .* is required .* n1 = 6$"):
        svdd.solve(gram, 0.5)
    with pytest.raises(ValueError, match=r"SVDDM learns from minority rows, .*\(n1 = 0\)"):
        SVDDM().fit(majority)
    for wrong in ({"C2": 0.0}, {"C2": -1.0}, {"minority_fraction": 0.0}, {"C": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SVDDM(**wrong).fit(X, y)


def test_a_row_is_left_out_by_a_refit_only():
    majority, minority, _ = instance(1)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [30, 6])
    message = r"cutoff: SVDDM has no leave-one-out in closed form.*use cv='auto' or a number"
    with pytest.raises(ValueError, match=message):
        SVDDM(kernel=kernels.RBF(1.0), cutoff=Cutoff(cv="loo")).fit(X, y)
    est = SVDDM(kernel=kernels.RBF(1.0)).fit(X, y)
    assert est.cutoff_ == est.with_cutoff(Cutoff("g_mean", cv=6)).cutoff_  # as minority rows


@pytest.mark.parametrize("seed", [1, 3, 4, 8, 11])
def test_scores_of_folds_with_and_without_negative_weights_are_of_one_kind(seed):
    """A left-out row is about as far as in its fold, also where a fold ignores its minority."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(1.8, 0.8, size=(12, 2))])
    y = np.repeat([0, 1], [40, 12])
    kernel = kernels.RBF(1.5)
    est = SVDDM(kernel=kernel, cutoff=Cutoff("g_mean", cv=5)).fit(X, y)
    d, ignored = np.empty(52), []
    folds = StratifiedKFold(5, shuffle=True, random_state=check_random_state(0).randint(2**31 - 1))
    for train, test in folds.split(X, y):
        fold = SVDDM(kernel=kernel, cutoff="model").fit(X[train], y[train])
        d[test] = fold.distance(X[test]).values[0, 0]
        ignored.append((fold.weights_ >= 0).all())
    assert 0 < sum(ignored) < 5
    np.testing.assert_allclose(est.idata_["decision"]["left_out"].values, d, atol=0.1)


def test_a_second_fit_is_the_first():
    majority, minority, _ = instance(2)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [30, 6])
    est = SVDDM()
    first = est.fit(X, y).weights_.copy()
    np.testing.assert_array_equal(est.fit(X, y).weights_, first)
    assert est.C is None
    assert est.C2 is None
