"""SVM, DSVM-CIL, LS-SVM and IDLSSVM-CIL against their systems and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.models.machines import Classes, density_weights
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bsvdd import DSVM, IDLSSVM, LSSVM, OCSVM, SVM, kernels, scorers
from bsvdd.base.warning import DataWarning
from tests.models import helpers

S = 1.2  # bandwidth
RBF = kernels.RBF(S)
N0, N1 = 40, 12
SIGN = np.repeat([1.0, -1.0], [N0, N1])
RNG = np.random.default_rng(40)
# each class has one far row, whose density weight is 0
MAJORITY, MINORITY = (
    RNG.normal(size=(N0, 2)),
    RNG.normal(size=(N1, 2)) * 0.7 + [1.3, 0.8],
)
MAJORITY[7], MINORITY[3] = [-6.0, 5.0], [6.0, 7.0]
Z = RNG.normal(size=(50, 2)) * 2
X, Y = np.concatenate([MAJORITY, MINORITY]), np.repeat([0, 1], [N0, N1])


def rbf(A, B):
    return helpers.rbf(A, B, S)


def loop_weights(rows, k=5):
    """Density weights by the definition, one row and one distance at a time."""
    d = []
    for i in range(len(rows)):
        others = [j for j in range(len(rows)) if j != i]
        others.sort(key=lambda j: np.linalg.norm(rows[i] - rows[j]))
        neighbour = rows[others[k - 1]]
        farthest = max(np.linalg.norm(row - neighbour) for row in rows)
        d.append(1 - np.linalg.norm(rows[i] - neighbour) / farthest)
    return np.array(d)


def both_classes(k=5):
    return np.concatenate([loop_weights(rows, k) for rows in (MAJORITY, MINORITY)])


def bordered(rows, sign, ridge):
    """Solve [0 y'; y Omega + diag(ridge)] [b; alpha] = [0; 1]; Omega = y y' * K."""
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
    (IDLSSVM, {"C": 0.1}),
    (IDLSSVM, {"C": 50.0}),
    (IDLSSVM, {"C": 1.5, "neighbors": 3, "epsilon": 0.05}),
    (IDLSSVM, {"C": 1.5, "epsilon": 0.2, "zero_weight": "epsilon"}),
    (
        IDLSSVM,
        {"C": 2.0, "density": "train", "balanced": False, "epsilon": 0.001},
    ),  # published
]


@pytest.mark.parametrize(("cls", "arguments"), LEAST_SQUARES, ids=str)
def test_least_squares_solve_the_bordered_system(cls, arguments):
    """Dropped rows change nothing but the density of the others.

    With zero_weight="epsilon" they have the ridge epsilon alone: they are fitted nearly
    exactly.
    """
    d = (
        np.ones(N0 + N1)
        if cls is LSSVM
        else both_classes(arguments.get("neighbors", 5))
    )
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
    np.testing.assert_allclose(
        (SIGN * est.weights_)[keep], alpha, rtol=1e-8, atol=1e-10
    )
    np.testing.assert_array_equal(est.weights_[~keep], 0.0)
    assert np.abs(alpha[zero[keep]]).min(initial=1.0) > 0.01
    assert est.intercept_ == pytest.approx(b, abs=1e-9)
    f = rbf(Z, X[keep]) @ (SIGN[keep] * alpha) + b
    np.testing.assert_allclose(est.decision_function(Z), f, atol=1e-9)
    slack = 1 - SIGN * (rbf(X, X) @ est.weights_ + est.intercept_)
    np.testing.assert_allclose(est.slack_, slack, atol=1e-10)
    residual = max(
        np.abs(slack[keep] - ridge[keep] * alpha).max(), abs(est.weights_.sum())
    )
    assert est.kkt_residual_ == pytest.approx(residual, abs=1e-12) and residual <= 1e-8
    if cls is IDLSSVM:
        np.testing.assert_allclose(est.density_weights_, d, atol=1e-12)


def test_what_is_not_solved_says_so(recwarn):
    with pytest.raises(ValueError, match=r"='epsilon' gives 2 row\(s\) .*epsilon > 0"):
        IDLSSVM(kernel=RBF, zero_weight="epsilon").fit(X, Y)
    for cls in (DSVM, IDLSSVM):
        few = cls(kernel=RBF, neighbors=4).fit(X[: N0 + 5], Y[: N0 + 5])
        assert few.weights_.shape == (N0 + 5,)
        # two minority rows and k = 1: each is the farthest from the other, so both
        # weigh 0
        with pytest.raises(ValueError, match="density|neighbors"):
            cls(kernel=RBF, neighbors=1).fit(X[: N0 + 2], Y[: N0 + 2])
        # neighbours among the majority
        assert (
            cls(kernel=RBF, density="train")
            .fit(X[: N0 + 2], Y[: N0 + 2])
            .weights_.any()
        )
    LSSVM(kernel=RBF, C=1e3).fit(X, Y)
    assert not recwarn.list
    with pytest.warns(
        DataWarning, match=r"of LSSVM has a residual of .*use a smaller C"
    ):
        est = LSSVM(kernel=kernels.Linear(), C=1e12).fit(X, Y)
    assert est.kkt_residual_ > 1e-6


# machines of libsvm


@pytest.mark.parametrize(
    ("cls", "arguments"),
    [
        (SVM, {"C": 0.3}),
        (SVM, {"C": 10.0, "balanced": False}),
        (DSVM, {"C": 0.5, "balanced": False}),
        (DSVM, {"C": 20.0, "balanced": True}),
        (DSVM, {"C": 2.0, "density": "train"}),
        (DSVM, {"C": 2.0, "density": "train", "balanced": False}),  # as published
    ],
    ids=str,
)
def test_support_vector_machines_are_svc_with_a_price_of_each_row(cls, arguments):
    """With balanced classes the prices of either class sum to n / 2."""
    C, price = arguments["C"], np.ones(N0 + N1)
    if cls is DSVM:
        price = loop_weights(X) if "density" in arguments else both_classes()
        assert (price == 0).any() or "density" in arguments
    if arguments.get("balanced", True):
        sums = [price[label == Y].sum() for label in (0, 1)]
        price = price * (N0 + N1) / 2 / np.where(Y == 1, sums[1], sums[0])
    weighted, plain = (
        -SVC(C=C, gamma=1 / (2 * S**2), tol=1e-9)
        .fit(X, Y, sample_weight=w)
        .decision_function(Z)
        for w in (price, None)  # its positive class is 1, our minority
    )
    est = cls(kernel=RBF, **arguments).fit(X, Y)
    np.testing.assert_allclose(est.decision_function(Z), weighted, atol=1e-5)
    clear = np.abs(weighted) > 1e-5
    np.testing.assert_array_equal(
        est.predict(Z)[clear], np.where(weighted > 0, 1, -1)[clear]
    )
    assert est.weights_.sum() == pytest.approx(0.0, abs=1e-8)
    assert (price == 1).all() or np.abs(plain - weighted).max() > 1e-2


@pytest.mark.parametrize("nu", [1e-3, 0.1, 0.5, 1.0])
def test_origin_among_the_rows_is_said_to_be_there(nu):
    """Centred columns and a linear kernel: w = 0, where libsvm alone does not end."""
    rows = np.random.default_rng(22).normal(size=(150, 5))
    rows -= rows.mean(axis=0)
    message = r"origin of the kernel space lies among .*use kernels.RBF"
    with pytest.warns(DataWarning, match=message):
        est = OCSVM(kernel=kernels.Linear(), nu=nu).fit(rows)
    assert np.isnan(est.plane_.distance_from_origin) and est.plane_.norm == 0.0
    assert abs(est.plane_.rho) < 1e-3 and np.linalg.norm(est.weights_ @ rows) < 1e-3
    assert est.weights_.sum() == pytest.approx(1.0, abs=1e-9)
    assert np.isfinite(est.decision_function(rows)).all()


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.27, 0.5, 0.88, 1.0])
def test_one_class_machine_is_the_solution_of_its_program(nu):
    """Against interior points; and each case is where f says that the row lies."""
    est, n = OCSVM(kernel=RBF, nu=nu).fit(X, Y), N0
    K, plane = rbf(MAJORITY, MAJORITY), est.plane_
    alpha = helpers.quadratic_program(K, np.zeros(n), 0.0, 1 / (nu * n))
    np.testing.assert_allclose(est.weights_, alpha, atol=2e-5)
    assert plane.norm == pytest.approx(np.sqrt(alpha @ K @ alpha), rel=1e-6)
    f = est.decision_function(MAJORITY)
    np.testing.assert_allclose(plane.values, f, atol=1e-12)
    assert (f[plane.case == "inside"] > -1e-6).all()
    assert (f[plane.case == "beyond"] < 1e-6).all()
    np.testing.assert_allclose(f[plane.case == "on the hyperplane"], 0.0, atol=1e-6)
    assert plane.margin_error_share <= nu + 1e-12 <= plane.support_vector_share + 2e-12
    assert (est.predict(MAJORITY) == -1).mean() <= nu


# density weights


def classes(majority, minority):
    rows = np.concatenate([majority, minority])
    return Classes(
        rows, np.repeat([1.0, -1.0], [len(majority), len(minority)]), np.eye(len(rows))
    )


@pytest.mark.parametrize("k", [1, 5, 11])
def test_density_weights_by_a_double_loop(k):
    for factor in (1.0, 1000.0):
        rows = classes(factor * MAJORITY + 7.0, factor * MINORITY + 7.0)
        np.testing.assert_allclose(density_weights(rows, k), both_classes(k), atol=1e-9)
        d = density_weights(rows, k, within_class=False)
        np.testing.assert_allclose(d, loop_weights(X, k), atol=1e-9)
    equal = classes(
        np.ones((9, 2)), np.repeat([[0.0, 0.0], [3.0, 4.0]], [6, 4], axis=0)
    )
    np.testing.assert_array_equal(
        density_weights(equal), np.repeat([1.0, 0.0], [15, 4])
    )


def test_density_weights_are_taken_in_the_columns_of_the_kernel():
    """The kernel standardises columns by the majority's mean and sd."""
    stretched = X * [1.0, 1000.0]
    est = IDLSSVM(kernel=kernels.Tabular(RBF, scale="standardised")).fit(stretched, Y)
    V = StandardScaler().fit(stretched[:N0]).transform(stretched)
    expected = np.concatenate([loop_weights(V[:N0]), loop_weights(V[N0:])])
    np.testing.assert_allclose(est.density_weights_, expected, atol=1e-10)


# what all machines have, and what they have not


MACHINES = pytest.mark.parametrize("cls", [OCSVM, SVM, DSVM, LSSVM, IDLSSVM])


@pytest.mark.parametrize("cls", [SVM, DSVM, LSSVM, IDLSSVM])
def test_by_default_new_minority_rows_are_found(cls):
    half = np.arange(N0 + N1) % 2 == 0
    flagged = cls().fit(X[half], Y[half]).predict(X[~half]) == -1
    minority = Y[~half] == 1
    assert flagged[minority].mean() >= 0.5 and flagged[~minority].mean() <= 0.3


@MACHINES
def test_equal_rows_have_equal_weights_and_others_are_kept(cls):
    rows, y = np.concatenate([X, X[[0, 7, 0, N0]]]), np.concatenate([Y, [0, 0, 0, 1]])
    order = np.random.default_rng(0).permutation(len(rows))
    est, moved = (
        cls(kernel=RBF).fit(rows, y),
        cls(kernel=RBF).fit(rows[order], y[order]),
    )
    w = est.weights_
    assert (
        w[0] == w[N0] == w[N0 + 2] and w[7] == w[N0 + 1]
    )  # the new rows of the majority
    if cls is not OCSVM:
        assert w[N0 + 3] == w[-1]
    else:
        assert est.plane_.case[0] == est.plane_.case[N0] == est.plane_.case[N0 + 2]
    np.testing.assert_allclose(
        moved.decision_function(Z), est.decision_function(Z), atol=1e-5
    )


@MACHINES
def test_more_rows_than_a_matrix_may_have_are_refused(cls, monkeypatch):
    monkeypatch.setattr("bsvdd.estimators.machines.MOST_MATRIX_ROWS", N0)
    if cls is OCSVM:
        assert cls().fit(X, Y).weights_.shape == (N0,)
    rows, y = np.concatenate([X, X[:1]]), np.append(Y, 0)
    with pytest.raises(
        ValueError, match=r"the kernel matrix of \d+ rows .*up to 40 rows are"
    ):
        cls().fit(rows, y)


@MACHINES
def test_tables_labels_and_scores_are_those_of_the_descriptions(cls):
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(
        kind=np.where(Y, "x", "y"), label=np.where(Y, "odd", "usual")
    )
    est = cls(minor_label="odd").fit(frame, "label")
    assert est.labels_[0] == "odd" and est.table_.kinds["kind"] == "category"
    assert est.feature_names_in_.tolist() == ["a", "b", "kind"]
    f = est.decision_function(frame)
    np.testing.assert_array_equal(est.predict(frame) == 1, f >= -1e-9)
    np.testing.assert_allclose(est.score_samples(frame.iloc[[3]]), f[[3]], rtol=1e-9)
    assert scorers.roc_auc(est, frame.drop(columns="label"), frame["label"]) > 0.5
    est.set_params(kernel=kernels.RBF(9.0))  # the fit keeps its own
    np.testing.assert_array_equal(est.decision_function(frame), f)
    with pytest.raises(AttributeError, match="scorers.roc_auc"):
        _ = est.classes_


@pytest.mark.parametrize("model", [SVM, LSSVM])
def test_two_rows_of_each_class_make_a_hyperplane(model):
    """A description needs three majority rows, a hyperplane one."""
    rows = np.arange(8.0).reshape(4, 2)
    est = model(kernel=kernels.Linear()).fit(rows, [0, 0, 1, 1])
    assert est.predict(rows).tolist() == [1, 1, -1, -1]
