"""SVM, DSVM-CIL, LS-SVM and IDLSSVM-CIL: their systems written out, and scikit-learn."""

import numpy as np
import pytest
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.estimators import svm as machines
from bsvdd.estimators.registry import REGISTRY
from bsvdd.inference.warning import DataWarning, DiagnosticWarning
from bsvdd.models import Gram, ls_svm, svm
from scipy.sparse.linalg import LinearOperator
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bsvdd import DSVM, IDLSSVM, LSSVM, SVM, kernels

from . import helpers

S = 1.2  # bandwidth
RBF = kernels.RBF(S)
N0, N1 = 40, 12
SIGN = np.repeat([1.0, -1.0], [N0, N1])
RNG = np.random.default_rng(40)
# each class has one far row, whose density weight is 0
MAJORITY, MINORITY = RNG.normal(size=(N0, 2)), RNG.normal(size=(N1, 2)) * 0.7 + [1.3, 0.8]
MAJORITY[7], MINORITY[3] = [-6.0, 5.0], [6.0, 7.0]
Z = RNG.normal(size=(50, 2)) * 2
X, Y = np.concatenate([MAJORITY, MINORITY]), np.repeat([0, 1], [N0, N1])


def rbf(A, B):
    return helpers.rbf(A, B, S)


def loop_weights(rows, k=5, count_self=False):
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


def both_classes(k=5, count_self=False):
    return np.concatenate([loop_weights(rows, k, count_self) for rows in (MAJORITY, MINORITY)])


def bordered(rows, sign, ridge):
    """Solve [0 y'; y Omega + diag(ridge)] [b; alpha] = [0; 1] with Omega_ij = y_i y_j K_ij."""
    n = len(sign)
    A = np.zeros((n + 1, n + 1))
    A[0, 1:] = A[1:, 0] = sign
    A[1:, 1:] = np.outer(sign, sign) * rbf(rows, rows)
    A[np.arange(1, n + 1), np.arange(1, n + 1)] += ridge
    solution = np.linalg.solve(A, np.concatenate([[0.0], np.ones(n)]))
    return solution[1:], solution[0]


# least squares: the given arguments, and which rows' weights are 0 by them

LEAST_SQUARES = [
    (LSSVM, {"C": 50.0}),
    (LSSVM, {"C": 2.0, "epsilon": 0.3, "balanced": False}),
    (IDLSSVM, {"C": 0.1, "count_self": False}),
    (IDLSSVM, {"C": 50.0, "count_self": True}),
    (IDLSSVM, {"C": 1.5, "neighbors": 3, "count_self": True, "epsilon": 0.05}),
    (IDLSSVM, {"C": 1.5, "epsilon": 0.2, "zero_weight": "epsilon"}),
    (IDLSSVM, {"C": 2.0, "density": "train", "balanced": False}),
]


@pytest.mark.parametrize(("cls", "arguments"), LEAST_SQUARES, ids=str)
def test_least_squares_solve_the_bordered_system(cls, arguments):
    """Dropped rows are as if they had not been there, but for the density of the others.

    With zero_weight="epsilon" they have the ridge epsilon alone: they are fitted nearly exactly.
    """
    k, count_self = arguments.get("neighbors", 5), arguments.get("count_self", False)
    d = np.ones(N0 + N1) if cls is LSSVM else both_classes(k, count_self)
    if "density" in arguments:
        d = loop_weights(X)
    zero, C, epsilon = d <= 0, arguments["C"], arguments.get("epsilon", 0.0)
    if arguments.get("balanced", True):
        sums = [(d[label == Y] ** 2).sum() for label in (0, 1)]
        C = C * (N0 + N1) / 2 / np.where(Y == 1, sums[1], sums[0])
    assert zero.sum() == (0 if cls is LSSVM or "density" in arguments else 2)
    ridge = np.where(zero, 0.0, 1 / (C * np.where(zero, 1.0, d) ** 2)) + epsilon
    keep = ~zero | (arguments.get("zero_weight") == "epsilon")
    est = cls(kernel=RBF, **arguments).fit(X, Y)
    alpha, b = bordered(X[keep], SIGN[keep], ridge[keep])
    np.testing.assert_allclose((SIGN * est.weights_)[keep], alpha, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(est.weights_[~keep], 0.0)
    assert np.abs(alpha[zero[keep]]).min(initial=1.0) > 0.01
    assert est.intercept_ == pytest.approx(b, abs=1e-9)
    f = rbf(Z, X[keep]) @ (SIGN[keep] * alpha) + b
    np.testing.assert_allclose(est.decision_function(Z), f, atol=1e-9)
    slack = 1 - SIGN * (rbf(X, X) @ est.weights_ + est.intercept_)
    np.testing.assert_allclose(est.slack_, slack, atol=1e-10)
    residual = max(np.abs(slack[keep] - ridge[keep] * alpha).max(), abs(est.weights_.sum()))
    assert est.kkt_residual_ == pytest.approx(residual, abs=1e-12) and residual <= 1e-8
    if cls is IDLSSVM:
        np.testing.assert_allclose(est.density_weights_, d, atol=1e-12)


@pytest.mark.parametrize(
    "est",
    [
        IDLSSVM(kernel=RBF, C=3.0),
        IDLSSVM(kernel=RBF, C=3.0, zero_weight="epsilon", epsilon=0.1),
        IDLSSVM(kernel=kernels.Standardized(RBF), C=0.2, count_self=True),
    ],
    ids=repr,
)
def test_without_a_kernel_matrix(monkeypatch, est):
    """Conjugate gradients on products K v give what the Cholesky factor gives."""
    dense = clone(est).fit(X, Y)
    monkeypatch.setattr(machines, "DENSE_ROWS", 10)
    monkeypatch.setattr("bsvdd.models.gram.BLOCK", 7)  # more than one block of rows
    free = est.fit(X, Y)
    assert isinstance(free.gram_.K, LinearOperator)
    np.testing.assert_allclose(free.weights_, dense.weights_, atol=1e-8)
    assert free.intercept_ == pytest.approx(dense.intercept_, abs=1e-8)
    np.testing.assert_allclose(free.decision_function(Z), dense.decision_function(Z), atol=1e-8)
    assert free.kkt_residual_ <= 1e-8
    f = free.decision_function(free.gram_.points.rows)
    np.testing.assert_allclose(free.slack_, 1 - SIGN * f, atol=1e-10)


def test_what_is_not_solved_says_so(monkeypatch, recwarn):
    gram = Gram.matrix_free(RBF, MAJORITY, MINORITY)
    monkeypatch.setattr(ls_svm, "cg", lambda A, b, **how: (b, 1))
    with pytest.raises(RuntimeError, match="conjugate gradients did not reach"):
        ls_svm.solve(gram, np.ones(N0 + N1))
    for message, wrong in (
        (r"zero_weight='epsilon' gives 2 row\(s\) .*epsilon > 0", {"zero_weight": "epsilon"}),
        ("epsilon", {"epsilon": -0.1}),
        ("zero_weight", {"zero_weight": "keep"}),
    ):
        with pytest.raises(ValueError, match=message):
            IDLSSVM(kernel=RBF, **wrong).fit(X, Y)
    LSSVM(kernel=RBF, C=1e3).fit(X, Y)
    assert not recwarn.list
    with pytest.warns(DataWarning, match=r"of LSSVM has a residual of .*use a smaller C"):
        est = LSSVM(kernel=kernels.Linear(), C=1e12).fit(X, Y)
    assert est.kkt_residual_ > 1e-6


# machines of libsvm


@pytest.mark.parametrize(
    ("cls", "arguments"),
    [
        (SVM, {"C": 0.3}),
        (SVM, {"C": 10.0, "balanced": False}),
        (DSVM, {"C": 0.5, "balanced": False, "count_self": True}),
        (DSVM, {"C": 20.0, "balanced": True, "count_self": False}),
        (DSVM, {"C": 2.0, "density": "train", "count_self": True}),
    ],
    ids=str,
)
def test_support_vector_machines_are_svc_with_a_price_of_each_row(cls, arguments):
    """With balanced classes the prices of either class sum to n / 2."""
    C, price = arguments["C"], np.ones(N0 + N1)
    if cls is DSVM:
        own = arguments["count_self"]
        price = loop_weights(X, 5, own) if "density" in arguments else both_classes(5, own)
        assert (price == 0).any() or "density" in arguments
    if arguments.get("balanced", True):
        sums = [price[label == Y].sum() for label in (0, 1)]
        price = price * (N0 + N1) / 2 / np.where(Y == 1, sums[1], sums[0])
    weighted, plain = (
        -SVC(C=C, gamma=1 / (2 * S**2), tol=1e-9).fit(X, Y, sample_weight=w).decision_function(Z)
        for w in (price, None)  # its positive class is 1, our minority
    )
    est = cls(kernel=RBF, **arguments).fit(X, Y)
    np.testing.assert_allclose(est.decision_function(Z), weighted, atol=1e-5)
    clear = np.abs(weighted) > 1e-5
    np.testing.assert_array_equal(est.predict(Z)[clear], np.where(weighted > 0, 1, -1)[clear])
    assert est.weights_.sum() == pytest.approx(0.0, abs=1e-8)
    assert (price == 1).all() or np.abs(plain - weighted).max() > 1e-2


# density weights


@pytest.mark.parametrize("count_self", [False, True])
@pytest.mark.parametrize("k", [1, 5, 11])
def test_density_weights_by_a_double_loop(monkeypatch, k, count_self):
    monkeypatch.setattr(svm, "BLOCK", 7)
    for rows in (MAJORITY, MINORITY):
        d = svm.density_weights(rows, k, count_self)
        np.testing.assert_allclose(d, loop_weights(rows, k, count_self), atol=1e-12)
        moved = svm.density_weights(1000.0 * rows + 7.0, k, count_self)
        np.testing.assert_allclose(moved, d, atol=1e-9)
    if k == 5 and not count_self:  # rows that are equal
        np.testing.assert_array_equal(svm.density_weights(np.ones((9, 2)), k), 1.0)
        rows = np.repeat([[0.0, 0.0], [3.0, 4.0]], [6, 4], axis=0)
        np.testing.assert_array_equal(svm.density_weights(rows, k), np.repeat([1.0, 0.0], [6, 4]))


def test_density_weights_are_taken_in_the_columns_of_the_kernel():
    """Standardised columns where the kernel standardises; by the majority's mean and sd."""
    stretched = X * [1.0, 1000.0]
    est = IDLSSVM(kernel=kernels.Standardized(RBF)).fit(stretched, Y)
    V = StandardScaler().fit(stretched[:N0]).transform(stretched)
    expected = np.concatenate([loop_weights(V[:N0]), loop_weights(V[N0:])])
    np.testing.assert_allclose(est.density_weights_, expected, atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "n0", "n1", "message"),
    [
        ({"neighbors": 0}, N0, N1, "neighbors"),
        ({"C": 0.0}, N0, N1, "C"),
        ({}, N0, 5, r"neighbors=5 need at least 6 rows of each class, got 5"),
        ({"count_self": True}, N0, 5, None),
        ({"neighbors": 4}, N0, 5, None),
        ({"density": "train"}, N0, 2, None),  # neighbours among the majority
        ({"density": "train"}, 3, 2, "need at least 6 rows of the training set, got 5"),
        # two minority rows and k = 1: each is the farthest from the other, so both weigh 0
        ({"neighbors": 1}, N0, 2, "density|neighbors"),
    ],
)
@pytest.mark.parametrize("cls", [DSVM, IDLSSVM])
def test_rows_that_density_weights_need(cls, arguments, n0, n1, message):
    rows, y = X[N0 - n0 : N0 + n1], Y[N0 - n0 : N0 + n1]
    if message is None:
        assert cls(kernel=RBF, **arguments).fit(rows, y).weights_.shape == y.shape
        return
    with pytest.raises(ValueError, match=message):
        cls(kernel=RBF, **arguments).fit(rows, y)


# the defaults


def test_a_machine_that_misses_all_left_out_minority_rows_warns():
    """With a kernel so narrow that each row is alone, f of a new row is b, on the normal side."""
    narrow = {"kernel": kernels.RBF(1e-3), "balanced": False}
    for cls in (SVM, LSSVM):
        with pytest.warns(DiagnosticWarning, match=r"none of the 12 minority rows is flagged when"):
            est = cls(**narrow).fit(X, Y)
        assert (est.predict(MINORITY + 1.0) == 1).all()
        assert est.fit_.left_out.min() > 0.0
    with pytest.warns(DiagnosticWarning, match="none of the 2 minority rows"):
        SVM(**narrow).fit(X[: N0 + 2], Y[: N0 + 2])


@pytest.mark.parametrize("cls", [SVM, DSVM, LSSVM, IDLSSVM])
def test_by_default_new_minority_rows_are_found(cls):
    est = cls(count_self=True) if issubclass(cls, DSVM | IDLSSVM) else cls()
    half = np.arange(N0 + N1) % 2 == 0
    flagged = est.fit(X[half], Y[half]).predict(X[~half]) == -1
    minority = Y[~half] == 1
    assert flagged[minority].mean() >= 0.5 and flagged[~minority].mean() <= 0.3
    assert est.kernel == kernels.Tabular(kernels.RBF("median")) and est.balanced
    name = next(r.name for r in REGISTRY.values() if r.class_name == cls.__name__)
    of_commands = Protocol().estimator(name, 0).get_params(deep=False)
    assert of_commands == cls(minor_label=1).get_params(deep=False)
