"""SVDD, without and with minority rows: against a general solver and by hand.

Against libsvm: test_one_class_svm.
"""

import numpy as np
import pytest
from bsvdd.models import Gram, svdd
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from bsvdd import SVDD, SVDDM, Cutoff, kernels

from .helpers import quadratic_program, squared_distances

RNG = np.random.default_rng(6)
X = RNG.normal(size=(40, 2)) * [1.0, 1.5]
Z = RNG.normal(size=(30, 2)) * 3
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


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalties", PENALTIES, ids=str)
@pytest.mark.parametrize("n1", [0, 6])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_the_sphere_is_that_of_a_general_solver_and_meets_its_conditions(
    kernel, n1, penalties, seed
):
    """The dual in alpha0 and alpha1 as printed, by interior points; then the gradient.

    One multiplier mu of the sum: gradient = mu where free, <= mu at 0, >= mu at the bound.
    For alpha1 the constraint enters with -1, so -gradient is what mu is compared with.
    """
    rows, y = instance(seed, n1=n1)
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
    # the gradient of each class, and the case by the weights
    tolerance = 1e-6 * np.abs(K).max()
    excess = sign * (np.diag(K) - 2 * K @ w) - sign * (sphere.radius**2 - w @ K @ w)
    zero, full = alpha <= 1e-6 * penalty, alpha >= (1 - 1e-6) * penalty
    np.testing.assert_allclose(excess[~zero & ~full], 0.0, atol=tolerance)
    assert (excess[zero] <= tolerance).all()
    assert (excess[full] >= -tolerance).all()
    assert 0 <= sphere.kkt_residual <= tolerance
    np.testing.assert_array_equal(sphere.case == "inside", np.where(y == 0, zero, full))
    np.testing.assert_array_equal(sphere.case == "outside", np.where(y == 0, full, zero))
    # the same decisions, away from the boundary
    cls, more = (SVDDM, {"C2": penalties[1]}) if n1 else (SVDD, {})
    est = cls(kernel=kernel, C=penalties[0], cutoff="model", **more).fit(rows, y if n1 else None)
    np.testing.assert_array_equal(est.weights_, w)
    d = np.sqrt(squared_distances(theirs, K, kernel(rows, Z), kernel.diag(Z)))
    clear = np.abs(d - R2**0.5) > 1e-6
    np.testing.assert_array_equal(est.predict(Z)[clear], np.where(d <= R2**0.5, 1, -1)[clear])
    np.testing.assert_array_equal(est.support_case_, sphere.case)


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


@pytest.mark.parametrize("kernel", [kernels.RBF(0.9), kernels.Polynomial(2)], ids=repr)
@pytest.mark.parametrize("C", [0.04, 0.1, 0.3, 1.0])
def test_boundary_is_the_largest_distance_of_a_row_below_its_bound(kernel, C):
    gram = Gram.from_rows(kernel, X)
    sphere = svdd.solve(gram, C)
    w, R, boundary = sphere.weights, sphere.radius, sphere.boundary
    d = np.sqrt(squared_distances(w, gram.K, gram.K, np.diag(gram.K)))
    below = w < C * (1 - 1e-6)
    assert boundary == pytest.approx(max(R, d[below].max()), rel=1e-12)
    assert R <= boundary <= R * (1 + 1e-5)  # above the radius by no more than rounding
    assert (d[below] <= boundary * (1 + 1e-12)).all()
    est = SVDD(kernel=kernel, C=C, cutoff="model").fit(X)
    assert est.cutoff_ == pytest.approx(boundary, rel=1e-12)


SEVERAL = [
    kernels.RBF(),
    kernels.RBF("median"),
    kernels.Laplacian("median"),
    kernels.Linear(),
    kernels.Polynomial(2),
    kernels.Standardized(kernels.RBF()),
]


@pytest.mark.parametrize("kernel", SEVERAL, ids=repr)
def test_no_more_rows_are_flagged_than_the_outlier_fraction_and_none_by_a_hard_margin(kernel):
    """Nor when the rows are scored one by one, whose digits are not quite the same."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, p = rng.integers(5, 120), rng.integers(1, 8)
        rows = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 3) + rng.normal(size=p)
        est = SVDD(kernel=kernel, C=1, cutoff="model").fit(rows)
        for these in (rows, rows[rng.permutation(n)], *(rows[[i]] for i in range(0, n, 7))):
            assert (est.predict(these) == 1).all()
        assert est.radius_ <= est.cutoff_ <= est.radius_ * (1 + 1e-5)
        if seed < 20 and n >= 20:
            for fraction in (0.05, 0.1, 0.3, 0.5, 1.0):
                est = SVDD(kernel=kernel, outlier_fraction=fraction, cutoff="model").fit(rows)
                assert (est.predict(rows) == -1).mean() <= fraction + 1e-12


@pytest.mark.parametrize("n0", [60, 150])
@pytest.mark.parametrize("seed", range(8))
def test_majority_rows_on_the_sphere_are_not_flagged(seed, n0):
    """Equal to R but for rounding, they belong to the description."""
    rows, y = instance(seed, n0=n0, n1=12)
    for cls in (SVDDM, SVDD):
        est = cls(kernel=kernels.RBF(1.3), cutoff="model").fit(rows, y)
        flagged = est.predict(rows[:n0]) == -1
        np.testing.assert_array_equal(flagged, est.support_case_[:n0] == "outside")


@pytest.mark.parametrize("fraction", [0.1, 0.3, 0.5])
def test_outlier_fraction_is_nu_and_the_penalties_are_those_of_tax(fraction):
    """At most nu n rows are outside, and at least nu n are support vectors."""
    est = SVDD(kernel=kernels.RBF(0.6), outlier_fraction=fraction).fit(X)
    assert pytest.approx(1 / (40 * fraction)) == est.C_
    outside = (est.distance(X).values[0, 0] > est.radius_ + 1e-6).mean()
    assert outside <= fraction <= (est.weights_ > 1e-8).mean()
    rows, y = instance(1)
    est = SVDDM(outlier_fraction=fraction, minority_fraction=0.5, kernel=KERNELS[0]).fit(rows, y)
    given = SVDDM(C=1 / (30 * fraction), C2=1 / 3, kernel=KERNELS[0]).fit(rows, y)
    np.testing.assert_allclose(est.weights_, given.weights_, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_minority_rows_inside_the_cloud_leave_the_sphere_as_c1_falls(seed):
    """With minority rows ignored (sum alpha = 1) every one of them would have weight 0."""
    rng = np.random.default_rng(seed)
    majority, minority = rng.normal(size=(60, 2)), rng.uniform(-0.9, 0.9, size=(12, 2))
    plain = SVDD(kernel=kernels.RBF(2.0), C=1.0, cutoff="model").fit(majority)
    assert (plain.predict(minority) == 1).all()  # they do lie inside of the target's cloud
    rows, y = np.concatenate([majority, minority]), np.repeat([0, 1], [60, 12])
    left, inside_cost = [], []
    for C1 in (1.0, 0.5, 0.2, 0.1, 0.05, 0.03, 0.02):
        est = SVDDM(kernel=kernels.RBF(2.0), C=C1, C2=1.0, cutoff="model").fit(rows, y)
        d = est.distance(minority).values[0, 0]
        assert est.weights_[60:].min() < -1e-3
        left.append((d >= est.radius_ - 1e-6).sum())
        inside_cost.append(est.radius_**2 + np.maximum(est.radius_**2 - d**2, 0).sum())
    assert (np.diff(left) >= 0).all()
    assert left[-1] > left[0] > 0
    # of min F + C1 G, F at the solution cannot grow as C1 falls
    assert (np.diff(inside_cost) <= 1e-6).all()
    assert inside_cost[-1] < inside_cost[0] - 0.1


def test_errors():
    rows, y = instance(2)
    gram = Gram.from_rows(kernels.RBF(1.0), rows[:30], rows[30:])
    message = r"C must be at least 1/n0 = 0\.0333333 for 30 majority rows .*got 0\.02: n0 C = 0\.6$"
    for fit in (lambda: svdd.solve(gram, 0.02, 0.5), lambda: SVDDM(C=0.02, C2=5.0).fit(rows, y)):
        with pytest.raises(ValueError, match=message):
            fit()
    with pytest.raises(ValueError, match=r"1/n0 = 0.025 for 40 .*got 0.02: n0 C = 0.8$"):
        SVDD(C=0.02).fit(X)
    with pytest.raises(ValueError, match=r"^C2, the penalty on .* is required .* n1 = 6$"):
        svdd.solve(gram, 0.5)
    with pytest.raises(ValueError, match=r"SVDDM learns from minority rows, .*\(n1 = 0\)"):
        SVDDM().fit(rows)
    for wrong in ({"C2": 0.0}, {"C2": -1.0}, {"minority_fraction": 0.0}, {"C": 0.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SVDDM(**wrong).fit(rows, y)


def test_a_row_is_left_out_by_refitted_folds_only():
    """Without a support vector, the other weights are those of another problem."""
    for cls in (SVDD, SVDDM):
        message = rf"cutoff: {cls.__name__} has no leave-one-out in closed form.*use cv='auto' or a"
        est = cls(kernel=kernels.RBF(0.6)).fit(*instance(1, n0=40))
        assert est.cutoff is None
        with pytest.raises(ValueError, match=message):
            est.with_cutoff(Cutoff("false_alarm", cv="loo"))
    assert est.cutoff_ == est.with_cutoff(Cutoff("g_mean", cv=6)).cutoff_  # as minority rows
    est = SVDD(kernel=kernels.RBF(0.6)).fit(X)
    assert est.cutoff_ == est.with_cutoff(Cutoff("false_alarm", cv=10)).cutoff_
    assert est.cutoff_ == est.with_cutoff(Cutoff(cv="auto")).cutoff_
    model = est.with_cutoff("model").cutoff_
    assert est.cutoff_ > model  # new rows lie outside of the sphere
    assert (est.idata_["decision"]["left_out"].values > est.cutoff_).sum() == 3  # 37 of 41 within
    case = est.support_case_.tolist()
    est.set_params(outlier_fraction=0.5)  # changes nothing of a fit
    assert est.support_case_.tolist() == case
    assert est.with_cutoff("model").cutoff_ == model


@pytest.mark.parametrize("seed", [1, 3, 4, 8, 11])
def test_scores_of_folds_with_and_without_negative_weights_are_of_one_kind(seed):
    """A left-out row is about as far as in its fold, also where a fold ignores its minority."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(size=(40, 2)), rng.normal(1.8, 0.8, size=(12, 2))])
    y, kernel = np.repeat([0, 1], [40, 12]), kernels.RBF(1.5)
    est = SVDDM(kernel=kernel, cutoff=Cutoff("g_mean", cv=5)).fit(rows, y)
    d, ignored = np.empty(52), []
    folds = StratifiedKFold(5, shuffle=True, random_state=check_random_state(0).randint(2**31 - 1))
    for train, test in folds.split(rows, y):
        fold = SVDDM(kernel=kernel, cutoff="model").fit(rows[train], y[train])
        d[test] = fold.distance(rows[test]).values[0, 0]
        ignored.append((fold.weights_ >= 0).all())
    assert 0 < sum(ignored) < 5
    np.testing.assert_allclose(est.idata_["decision"]["left_out"].values, d, atol=0.1)
