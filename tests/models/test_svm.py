"""SVM, DSVM-CIL, LS-SVM and IDLSSVM-CIL: their systems written out, and scikit-learn."""

import numpy as np
import pytest
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.estimators.registry import REGISTRY
from bsvdd.models import svm

from bsvdd import DSVM, IDLSSVM, LSSVM, SVM, kernels

N0, N1 = 40, 12
RNG = np.random.default_rng(40)
# each class has one far row, whose density weight is 0
MAJORITY, MINORITY = RNG.normal(size=(N0, 2)), RNG.normal(size=(N1, 2)) * 0.7 + [1.3, 0.8]
MAJORITY[7], MINORITY[3] = [-6.0, 5.0], [6.0, 7.0]
X, Y = np.concatenate([MAJORITY, MINORITY]), np.repeat([0, 1], [N0, N1])


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


# the defaults


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
