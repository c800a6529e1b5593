"""LS-SVM, IDLSSVM-CIL, SVM and DSVM-CIL against their systems written out, and scikit-learn."""

import numpy as np
import pytest
from bsvdd.estimators import svm as machines
from bsvdd.inference.warning import DataWarning
from bsvdd.models import Gram, ls_svm, svm
from scipy.sparse.linalg import LinearOperator
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bsvdd
from bsvdd import DSVM, IDLSSVM, LSSVM, SVM, Cutoff, kernels

S = 1.2  # bandwidth
RBF = kernels.RBF(S)
N0, N1 = 40, 12


def rbf(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * S**2))


@pytest.fixture(scope="module")
def data():
    """Majority, minority, new rows; each class has one far row, whose density weight is 0."""
    rng = np.random.default_rng(40)
    majority = rng.normal(size=(N0, 2))
    minority = rng.normal(size=(N1, 2)) * 0.7 + [1.3, 0.8]
    majority[7], minority[3] = [-6.0, 5.0], [6.0, 7.0]
    return majority, minority, rng.normal(size=(50, 2)) * 2


def stacked(data):
    return np.concatenate(data[:2]), np.repeat([0, 1], [N0, N1])


def loop_weights(rows, k, count_self):
    """Density weights by the definition, one row and one distance at a time."""
    d = []
    for i in range(len(rows)):
        others = [j for j in range(len(rows)) if j != i]
        others.sort(key=lambda j: np.linalg.norm(rows[i] - rows[j]))
        order = [i, *others] if count_self else others
        neighbour = rows[order[k - 1]]
        farthest = max(np.linalg.norm(row - neighbour) for row in rows)
        d.append(1 - np.linalg.norm(rows[i] - neighbour) / farthest)
    return np.array(d)


def both_classes(data, k=5, count_self=False):
    return np.concatenate([loop_weights(rows, k, count_self) for rows in data[:2]])


def bordered(K, y, ridge):
    """Solve [0 y'; y Omega + diag(ridge)] [b; alpha] = [0; 1] with Omega_ij = y_i y_j K_ij."""
    n = len(y)
    A = np.zeros((n + 1, n + 1))
    A[0, 1:] = A[1:, 0] = y
    A[1:, 1:] = np.outer(y, y) * K
    A[np.arange(1, n + 1), np.arange(1, n + 1)] += ridge
    solution = np.linalg.solve(A, np.concatenate([[0.0], np.ones(n)]))
    return solution[1:], solution[0]


SIGN = np.repeat([1.0, -1.0], [N0, N1])


def alpha_of(est):
    return SIGN * est.weights_


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
def test_plain_solves_the_bordered_system(data, C):
    X, y = stacked(data)
    est = LSSVM(kernel=RBF, C=C).fit(X, y)
    alpha, b = bordered(rbf(X, X), SIGN, np.full(N0 + N1, 1 / C))
    np.testing.assert_allclose(alpha_of(est), alpha, rtol=1e-8, atol=1e-10)
    assert est.intercept_ == pytest.approx(b, abs=1e-9)
    f = rbf(data[2], X) @ (SIGN * alpha) + b
    np.testing.assert_allclose(est.decision_function(data[2]), f, atol=1e-9)
    np.testing.assert_array_equal(est.predict(data[2]), np.where(f >= 0, 1, -1))


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_density_of_one_is_the_plain_machine(data, monkeypatch, epsilon):
    X, y = stacked(data)
    monkeypatch.setattr(svm, "density_weights", lambda rows, *args: np.ones(len(rows)))
    est = IDLSSVM(kernel=RBF, C=2.0, epsilon=epsilon).fit(X, y)
    alpha, b = bordered(rbf(X, X), SIGN, np.full(N0 + N1, 1 / 2.0 + epsilon))
    np.testing.assert_allclose(alpha_of(est), alpha, rtol=1e-8, atol=1e-10)
    assert est.intercept_ == pytest.approx(b, abs=1e-9)
    plain = LSSVM(kernel=RBF, C=2.0, epsilon=epsilon).fit(X, y)
    np.testing.assert_array_equal(est.weights_, plain.weights_)


@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("count_self", [False, True])
def test_optimality_conditions_of_the_density_weighted_machine(data, C, count_self):
    X, y = stacked(data)
    est = IDLSSVM(kernel=RBF, C=C, count_self=count_self).fit(X, y)
    alpha, d = alpha_of(est), both_classes(data, 5, count_self)
    np.testing.assert_allclose(est.density_weights_, d, atol=1e-12)
    assert abs(SIGN @ alpha) <= 1e-8
    keep = d > 0
    assert (~keep).sum() == 2
    f = rbf(X, X) @ (SIGN * alpha) + est.intercept_
    slack = 1 - SIGN * f
    np.testing.assert_allclose(est.slack_, slack, atol=1e-10)
    np.testing.assert_allclose(slack[keep], alpha[keep] / (C * d[keep] ** 2), atol=1e-8)
    np.testing.assert_array_equal(alpha[~keep], 0.0)
    residual = max(np.abs(slack - alpha / (C * d**2 + (~keep)))[keep].max(), abs(SIGN @ alpha))
    assert est.kkt_residual_ <= 1e-8
    assert est.kkt_residual_ == pytest.approx(residual, abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_ridge_stands_on_the_diagonal_only(data, epsilon):
    """Here no density weight is 0; the published note adds the ridge to every entry."""
    majority, minority = np.delete(data[0], 7, axis=0), np.delete(data[1], 3, axis=0)
    X, y = np.concatenate([majority, minority]), np.repeat([0, 1], [N0 - 1, N1 - 1])
    sign, K, C, k = np.where(y == 0, 1.0, -1.0), rbf(X, X), 1.5, 3
    d = np.concatenate([loop_weights(majority, k, True), loop_weights(minority, k, True)])
    keep = d > 0
    assert keep.all()
    ridge = 1 / (C * d**2) + epsilon
    est = IDLSSVM(kernel=RBF, C=C, neighbors=k, count_self=True, epsilon=epsilon).fit(X, y)
    alpha, b = bordered(K, sign, ridge)
    np.testing.assert_allclose(sign * est.weights_, alpha, rtol=1e-8, atol=1e-10)
    assert est.intercept_ == pytest.approx(b, abs=1e-9)
    # slack = (ridge) alpha, which without epsilon is alpha/(C d^2)
    np.testing.assert_allclose(est.slack_, ridge * alpha, atol=1e-8)

    n = len(y)
    A = np.zeros((n + 1, n + 1))
    A[0, 1:] = A[1:, 0] = sign
    A[1:, 1:] = np.outer(sign, sign) * K + ridge[:, None]  # every entry of row i
    wrong = np.linalg.solve(A, np.concatenate([[0.0], np.ones(n)]))
    slack = 1 - sign * (K @ (sign * wrong[1:]) + wrong[0])
    assert np.abs(wrong[1:] - alpha).max() > 1e-2
    assert np.abs(slack - ridge * wrong[1:]).max() > 1e-2


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_zero_weight_drop(data, epsilon):
    """The dropped rows are as if they had not been there, but for the density of the others."""
    X, y = stacked(data)
    C, d = 1.5, both_classes(data)
    keep = d > 0
    np.testing.assert_array_equal(np.flatnonzero(~keep), [7, N0 + 3])
    est = IDLSSVM(kernel=RBF, C=C, epsilon=epsilon, zero_weight="drop").fit(X, y)
    K = rbf(X[keep], X[keep])
    alpha, b = bordered(K, SIGN[keep], 1 / (C * d[keep] ** 2) + epsilon)
    np.testing.assert_allclose(alpha_of(est)[keep], alpha, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(est.weights_[~keep], 0.0)
    f = rbf(data[2], X[keep]) @ (SIGN[keep] * alpha) + b
    np.testing.assert_allclose(est.decision_function(data[2]), f, atol=1e-9)
    assert est.kkt_residual_ <= 1e-8


@pytest.mark.parametrize("epsilon", [0.01, 0.2])
def test_zero_weight_epsilon(data, epsilon):
    """Rows of weight 0 have the ridge epsilon alone: they are fitted nearly exactly."""
    X, y = stacked(data)
    C, d = 1.5, both_classes(data)
    ridge = np.full(len(d), epsilon)
    ridge[d > 0] += 1 / (C * d[d > 0] ** 2)
    est = IDLSSVM(kernel=RBF, C=C, epsilon=epsilon, zero_weight="epsilon").fit(X, y)
    alpha, b = bordered(rbf(X, X), SIGN, ridge)
    np.testing.assert_allclose(alpha_of(est), alpha, rtol=1e-8, atol=1e-10)
    assert np.abs(alpha[d == 0]).min() > 0.01
    assert est.intercept_ == pytest.approx(b, abs=1e-9)
    assert est.kkt_residual_ <= 1e-8


def test_zero_weight_errors(data):
    X, y = stacked(data)
    with pytest.raises(ValueError, match=r"zero_weight='epsilon' gives 2 row\(s\) .*epsilon > 0"):
        IDLSSVM(kernel=RBF, zero_weight="epsilon").fit(X, y)
    with pytest.raises(ValueError, match="zero_weight"):
        IDLSSVM(kernel=RBF, zero_weight="keep").fit(X, y)
    for wrong in ({"C": 0.0}, {"epsilon": -0.1}, {"neighbors": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            IDLSSVM(kernel=RBF, **wrong).fit(X, y)


@pytest.mark.parametrize(
    "est",
    [
        LSSVM(kernel=RBF, C=3.0),
        IDLSSVM(kernel=RBF, C=3.0),
        IDLSSVM(kernel=RBF, C=3.0, zero_weight="epsilon", epsilon=0.1),
        IDLSSVM(kernel=kernels.Standardized(RBF), C=0.2, count_self=True),
    ],
    ids=repr,
)
def test_without_a_kernel_matrix(data, monkeypatch, tmp_path, est):
    """Conjugate gradients on products K v give what the Cholesky factor gives."""
    X, y = stacked(data)
    dense = est.fit(X, y)
    weights, offset, f = dense.weights_, dense.intercept_, dense.decision_function(data[2])
    monkeypatch.setattr(machines, "DENSE_ROWS", 10)
    monkeypatch.setattr("bsvdd.models.gram.BLOCK", 7)  # more than one block of rows
    free = clone(est).fit(X, y)
    assert isinstance(free.gram_.K, LinearOperator)
    np.testing.assert_allclose(free.weights_, weights, atol=1e-8)
    assert free.intercept_ == pytest.approx(offset, abs=1e-8)
    np.testing.assert_allclose(free.decision_function(data[2]), f, atol=1e-8)
    assert free.kkt_residual_ <= 1e-8
    np.testing.assert_allclose(
        free.slack_, 1 - SIGN * free.decision_function(free.gram_.points), atol=1e-12
    )
    assert np.isfinite(free.with_cutoff(Cutoff("f1", cv=2)).cutoff_)
    free.save(tmp_path / "free.nc")
    loaded = bsvdd.load(tmp_path / "free.nc")
    np.testing.assert_array_equal(loaded.score_samples(data[2]), free.score_samples(data[2]))


def test_conjugate_gradients_that_fail_say_so(data, monkeypatch):
    gram = Gram.matrix_free(RBF, *data[:2])
    monkeypatch.setattr(ls_svm, "cg", lambda A, b, **how: (b, 1))
    with pytest.raises(RuntimeError, match="conjugate gradients did not reach"):
        ls_svm.solve(gram, 1.0, np.ones(N0 + N1))


@pytest.mark.parametrize("cls", [LSSVM, IDLSSVM, SVM, DSVM])
@pytest.mark.parametrize("labels", [(0, 1), (1, -1), ("keep", "flag")], ids=str)
def test_f_is_positive_for_the_majority(cls, labels):
    """In whatever order the classes come, and though the minority is the positive label."""
    rng = np.random.default_rng(41)
    X = np.concatenate([rng.normal(size=(12, 2)) + 5.0, rng.normal(size=(40, 2))])
    y = np.repeat([labels[1], labels[0]], [12, 40])
    est = cls(kernel=kernels.RBF(2.0), C=10.0, minor_label=labels[1]).fit(X, y)
    f = est.decision_function(X)
    assert f[12:].mean() > 0.5
    assert f[:12].mean() < -0.5
    np.testing.assert_array_equal(est.predict([[0.0, 0.0], [5.0, 5.0]]), [1, -1])
    np.testing.assert_array_equal(est.score_samples(X) - est.offset_, f)
    assert est.cutoff_ == 0.0


# density weights


@pytest.mark.parametrize("count_self", [False, True])
@pytest.mark.parametrize("k", [1, 3, 5, 11])
def test_density_weights_by_a_double_loop(data, k, count_self):
    for rows in data[:2]:
        d = svm.density_weights(rows, k, count_self)
        np.testing.assert_allclose(d, loop_weights(rows, k, count_self), atol=1e-12)
        assert d.min() >= 0
        assert d.max() <= 1


def test_counting_oneself_is_one_neighbour_less(data):
    np.testing.assert_array_equal(
        svm.density_weights(data[0], 5, count_self=True), svm.density_weights(data[0], 4, False)
    )
    np.testing.assert_array_equal(svm.density_weights(data[0], 1, count_self=True), 1.0)


def test_the_sparsest_row_can_weigh_nothing(data):
    d = svm.density_weights(data[0], 5)
    assert d[7] == 0.0
    assert (np.delete(d, 7) > 0.5).all()


def test_density_weights_in_blocks(data, monkeypatch):
    whole = svm.density_weights(data[0], 5)
    monkeypatch.setattr(svm, "BLOCK", 7)
    np.testing.assert_array_equal(svm.density_weights(data[0], 5), whole)


def test_density_weights_do_not_change_with_units(data):
    moved = svm.density_weights(1000.0 * data[0] + 7.0, 5)
    np.testing.assert_allclose(moved, svm.density_weights(data[0], 5), atol=1e-9)


def test_density_weights_of_equal_rows():
    np.testing.assert_array_equal(svm.density_weights(np.ones((9, 2)), 5), 1.0)
    rows = np.repeat([[0.0, 0.0], [3.0, 4.0]], [6, 4], axis=0)
    # the third neighbour of a row is its copy: weight 1; the fifth of the four is not
    np.testing.assert_array_equal(svm.density_weights(rows, 3), 1.0)
    np.testing.assert_array_equal(svm.density_weights(rows, 5), np.repeat([1.0, 0.0], [6, 4]))


@pytest.mark.parametrize("cls", [DSVM, IDLSSVM])
def test_too_few_rows_for_density_weights(data, cls):
    X, y = np.concatenate([data[0], data[1][:5]]), np.repeat([0, 1], [N0, 5])
    message = r"neighbors=5 need at least 6 rows of each class, got 5"
    with pytest.raises(ValueError, match=message):
        cls(kernel=RBF).fit(X, y)
    cls(kernel=RBF, count_self=True).fit(X, y)
    cls(kernel=RBF, neighbors=4).fit(X, y)
    with pytest.raises(ValueError, match=r"neighbors=5 need at least 5 rows of each class, got 4"):
        svm.density_weights(data[0][:4], 5, count_self=True)


def test_density_weights_are_taken_in_the_columns_of_the_kernel(data):
    """Standardised columns where the kernel standardises; by the majority's mean and sd."""
    X, y = stacked(data)
    stretched = X * [1.0, 1000.0]
    est = IDLSSVM(kernel=kernels.Standardized(RBF)).fit(stretched, y)
    Z = StandardScaler().fit(stretched[:N0]).transform(stretched)
    expected = np.concatenate([loop_weights(Z[:N0], 5, False), loop_weights(Z[N0:], 5, False)])
    np.testing.assert_allclose(est.density_weights_, expected, atol=1e-10)


@pytest.mark.parametrize("count_self", [False, True])
@pytest.mark.parametrize("cls", [DSVM, IDLSSVM])
def test_density_weights_over_the_training_set(data, cls, count_self):
    """Neighbour and maximum among all rows, by a double loop over both classes together."""
    X, y = stacked(data)
    est = cls(kernel=RBF, C=2.0, density="train", count_self=count_self).fit(X, y)
    d = loop_weights(X, 5, count_self)
    assert np.abs(d - both_classes(data, 5, count_self)).max() > 0.05
    if cls is DSVM:
        svc = SVC(C=2.0, kernel="rbf", gamma=1 / (2 * S**2), tol=1e-9).fit(X, y, sample_weight=d)
        expected = -svc.decision_function(data[2])
    else:
        np.testing.assert_allclose(est.density_weights_, d, atol=1e-12)
        keep = d > 0
        alpha, b = bordered(rbf(X[keep], X[keep]), SIGN[keep], 1 / (2.0 * d[keep] ** 2))
        expected = rbf(data[2], X[keep]) @ (SIGN[keep] * alpha) + b
    np.testing.assert_allclose(est.decision_function(data[2]), expected, atol=1e-5)


def test_a_small_minority_has_neighbours_in_the_training_set(data):
    X, y = np.concatenate([data[0], data[1][:2]]), np.repeat([0, 1], [N0, 2])
    est = IDLSSVM(kernel=RBF, density="train").fit(X, y)
    np.testing.assert_allclose(est.density_weights_, loop_weights(X, 5, False), atol=1e-12)
    with pytest.raises(ValueError, match="need at least 6 rows of the training set, got 5"):
        IDLSSVM(kernel=RBF, density="train").fit(X[-5:], y[-5:])


# the supervised yardstick


@pytest.mark.parametrize("C", [0.3, 1.0, 10.0])
def test_svm_is_the_balanced_svc(data, C):
    X, y = stacked(data)
    est = SVM(kernel=RBF, C=C).fit(X, y)
    svc = SVC(C=C, kernel="rbf", gamma=1 / (2 * S**2), class_weight="balanced", tol=1e-9)
    svc.fit(X, y)  # its positive class is 1, our minority
    theirs = -svc.decision_function(data[2])
    np.testing.assert_allclose(est.decision_function(data[2]), theirs, atol=1e-5)
    clear = np.abs(theirs) > 1e-5
    np.testing.assert_array_equal(est.predict(data[2])[clear], 1 - 2 * svc.predict(data[2])[clear])
    assert est.weights_.sum() == pytest.approx(0.0, abs=1e-8)
    alpha = alpha_of(est)
    n = N0 + N1
    assert alpha.min() >= 0
    assert alpha[:N0].max() <= C * n / (2 * N0) * (1 + 1e-9)
    assert alpha[N0:].max() <= C * n / (2 * N1) * (1 + 1e-9)
    unbalanced = SVC(C=C, kernel="rbf", gamma=1 / (2 * S**2), tol=1e-9).fit(X, y)
    assert np.abs(unbalanced.decision_function(data[2]) + theirs).max() > 1e-2
    plain = SVM(kernel=RBF, C=C, balanced=False).fit(X, y)
    np.testing.assert_allclose(
        plain.decision_function(data[2]), -unbalanced.decision_function(data[2]), atol=1e-5
    )


@pytest.mark.parametrize("count_self", [False, True])
@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("C", [0.5, 20.0])
def test_dsvm_is_an_svc_with_the_density_as_sample_weight(data, C, balanced, count_self):
    X, y = stacked(data)
    est = DSVM(kernel=RBF, C=C, balanced=balanced, count_self=count_self).fit(X, y)
    d = both_classes(data, 5, count_self)
    svc = SVC(
        C=C,
        kernel="rbf",
        gamma=1 / (2 * S**2),
        tol=1e-9,
        class_weight="balanced" if balanced else None,
    )
    assert (d == 0).sum() == 2
    if balanced:  # n / (2 n_y) of all rows: SVC would leave those of weight 0 uncounted
        n = N0 + N1
        svc.class_weight, d = None, d * np.repeat([n / (2 * N0), n / (2 * N1)], [N0, N1])
    svc.fit(X, y, sample_weight=d)
    theirs = -svc.decision_function(data[2])
    np.testing.assert_allclose(est.decision_function(data[2]), theirs, atol=1e-5)
    assert (alpha_of(est) <= C * d * (1 + 1e-9) + 1e-12).all()
    without = SVC(C=C, kernel="rbf", gamma=1 / (2 * S**2), tol=1e-9).fit(X, y)
    assert np.abs(without.decision_function(data[2]) + theirs).max() > 1e-2


@pytest.mark.parametrize("factor", [1e-4, 1.0, 1e4])
def test_svm_does_not_depend_on_the_size_of_the_kernel(data, factor):
    """k -> factor k with C -> C / factor leaves f as it is."""
    X, y = stacked(data)
    est = SVM(kernel=lambda A, B: factor * rbf(A, B), C=2.0 / factor).fit(X, y)
    plain = SVM(kernel=RBF, C=2.0).fit(X, y)
    np.testing.assert_allclose(
        est.decision_function(data[2]), plain.decision_function(data[2]), atol=1e-5
    )


@pytest.mark.parametrize("cls", [SVM, DSVM, LSSVM, IDLSSVM])
def test_a_chosen_cutoff_with_few_minority_rows(data, cls):
    """The folds of cv='auto' leave rows of both classes, or an error says what is wrong."""
    X, y = np.concatenate([data[0], data[1][:1]]), np.repeat([0, 1], [N0, 1])
    with pytest.raises(ValueError, match="minority|rows of each class"):
        cls(kernel=RBF, cutoff="f1").fit(X, y)


@pytest.mark.parametrize("cls", [DSVM, IDLSSVM])
def test_density_weights_in_which_a_whole_class_weighs_nothing(data, cls):
    """Two minority rows and k = 1: each is the farthest from the other, so both weigh 0."""
    X, y = np.concatenate([data[0], data[1][:2]]), np.repeat([0, 1], [N0, 2])
    with pytest.raises(ValueError, match="density|neighbors"):
        cls(kernel=RBF, neighbors=1).fit(X, y)


def test_a_large_residual_is_said(data, recwarn):
    X, y = stacked(data)
    LSSVM(kernel=RBF, C=1e3).fit(X, y)
    assert not recwarn.list
    message = r"of LSSVM has a residual of .*use a smaller C"
    with pytest.warns(DataWarning, match=message):
        est = LSSVM(kernel=kernels.Linear(), C=1e12).fit(X, y)
    assert est.kkt_residual_ > 1e-6


@pytest.mark.parametrize("cls", [DSVM, IDLSSVM])
def test_docstring_says_how_many_rows_density_weights_need(cls):
    assert "rows of each class" in " ".join(cls.__doc__.split())
