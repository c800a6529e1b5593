"""Atoms, Gram statistics and left-out rows, against brute force."""

import numpy as np
import pytest
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.kernels import RBF, Laplacian, Linear, Polynomial, Tabular
from bsvdd.models.kernels.tabular import Column
from bsvdd.models.rows import Rows

from tests.cases import GROUPS, T, X, Y, close, fitted
from tests.models.helpers import without_group

# few draws
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")


def by_hand(est, y, t, group):
    """Return s_A + s_B (draws, n), each row left out with its group, one row at a time.

    Column scales are those without the fold of the group; what stays keeps the sum of
    the weights.
    """
    fit = est.fit_
    order, t = np.lexsort(X.T[::-1]), t / t[(y == 0) & (t > 0)].mean()
    fits = order[((y == 0) & (t > 0))[order]]
    groups = list(dict.fromkeys(group[fits]))
    w, gram = fit.draws.w, fit.dictionary
    found = np.empty((len(w), 60))
    for i in range(60):
        stay = fits
        if group[i] in groups:
            of_fold = {
                groups[k] for k in range(groups.index(group[i]) % 10, len(groups), 10)
            }
            stay = np.array([j for j in fits if group[j] not in of_fold])
        scales = [Column.of(x, t[stay]) for x in X[stay].T]
        pairs = [column.coordinates(x) for column, x in zip(scales, X.T, strict=True)]
        R = np.column_stack([side for pair in pairs for side in pair]) / np.sqrt(2.0)
        k = np.exp(-((R - R[i]) ** 2).sum(axis=1) / 2.0 / gram.kernel.inner.s**2)
        s_A, s_B, v_A, v_B = np.zeros((4, len(w)))
        for j in gram.distinct:
            atom = gram.of_row[j]
            share = t[j] / t[np.flatnonzero(gram.of_row == atom)].sum()
            leaves, value = group[j] == group[i], w[:, atom] * share
            if y[j]:
                s_B, v_B = s_B + value * k[j] * (not leaves), v_B + value * leaves
            else:
                s_A, v_A = s_A + value * k[j] * (not leaves), v_A + value * leaves
        total = fit.draws.total[:, 0]
        found[:, i] = s_A * (total + v_B) / (total - v_A) + s_B
    return found


@pytest.mark.parametrize("groups", [1, 11, 23], ids=["rows", "11 groups", "23 groups"])
@pytest.mark.parametrize("name", ["BSVDD", "BDD", "BSVDDM", "BDDM"])
def test_groups_leave_with_all_that_they_have(name, groups):
    group = np.arange(60) % groups if groups > 1 else np.arange(60)
    t = T.copy()
    t[[3, 20, 44]] = 0.0
    est = fitted(name, weight=t, groups=group)
    y = Y if name.endswith("M") else np.zeros(60, dtype=int)
    assert len(est.fit_.dictionary.left_out_problems.L) == (
        57 if groups == 1 else 60
    )  # three leave nothing
    against = est.fit_.ask(lambda parts: parts.against.T)
    close(-against.T, by_hand(est, y, t, group), 1e-10)


@pytest.mark.parametrize(
    "kernel", [RBF(1.0), Laplacian(1.5), Linear(), Polynomial()], ids=repr
)
def test_gram_statistics_are_sums_over_rows(kernel):
    rows, t = np.vstack([X, X[:20]]), np.append(T, T[:20] + 0.3)
    y = np.append(Y, Y[:20]).astype(bool)
    gram = Dictionary.of(kernel, Rows.of(rows, y, t), minority=True, most=20)
    t /= t[~y].mean()
    K, m = kernel(rows, rows), gram.m
    A = np.zeros((len(gram.K), 80))  # the rows of each atom, by weight
    A[gram.of_row, np.arange(80)] = t
    A /= A.sum(axis=1, keepdims=True)
    assert m == 20 and gram.n1 == y.sum()
    close(gram.K, A @ K @ A.T)
    close(gram.T, t[~y] @ np.diag(K)[~y])
    close(gram.r, A @ K[:, ~y] @ t[~y])
    close(gram.n0, (~y).sum())
    close(gram.sizes, [t[gram.of_row == g].sum() for g in range(len(A))])
    square = [
        gram.sizes[g] ** 2 / (t[gram.of_row == g] ** 2).sum() for g in range(len(A))
    ]
    close(gram.effective, square)


def test_a_group_is_one_atom_as_sure_as_one_row():
    gram = Dictionary.of(RBF(1.0), Rows.of(X, None, T, GROUPS))
    assert len(gram.K) == 11
    close(gram.effective, np.ones(11))
    # more groups than atoms
    rows = Dictionary.of(RBF(1.0), Rows.of(X, None, T, GROUPS), most=10)
    assert len(rows.K) == 10 and rows.effective.max() > 1.0


@pytest.mark.parametrize("groups", [np.arange(60), GROUPS], ids=["rows", "groups"])
def test_the_spread_of_similarities_is_by_groups(groups):
    t = T / T.mean()
    gram = Dictionary.of(RBF(1.0), Rows.of(X, None, T, groups))
    K = RBF(1.0)(X, X)
    for i, value in enumerate(gram.sampling_variance(np.arange(60))):
        close(value, without_group(K, t, groups, i)[1])


def test_remote_rows_do_not_underflow():
    gram = Dictionary.of(Tabular(), Rows.of(X))
    far = gram.new(np.full((3, 3), [[50.0], [500.0], [5000.0]]))
    assert (np.diff(far.L) < -1e3).all() and np.isfinite(far.k).all()
    close(far.k.max(axis=1), np.ones(3))


def test_values_of_rows_at_atoms():
    gram = Dictionary.of(
        RBF(1.0), Rows.of(np.vstack([X, X[:5]]), np.append(Y, np.zeros(5))), True
    )
    v = np.append(np.arange(60.0), np.arange(5.0))
    majority = gram.at_points("m", v)
    close(np.sort(majority), np.sort(np.unique(np.append(v[8:60], v[60:]))))
    close(np.sort(gram.at_points("m", v, minority=True)), np.arange(8.0))
    v = np.append(np.arange(60.0), np.arange(5.0) + 0.5)
    with pytest.raises(ValueError, match="one value for each of the 65 training rows"):
        gram.at_points("m", v[:7])
    t = np.append(np.ones(60), np.arange(1.0, 11.0))
    twice = Dictionary.of(RBF(1.0), Rows.of(np.vstack([X, X[50:]]), None, t))
    found = twice.at_points("m", np.arange(70.0))
    second = np.arange(1.0, 11.0)
    means = (np.arange(50.0, 60.0) + second * np.arange(60.0, 70.0)) / (1.0 + second)
    close(found, np.append(np.arange(50.0), means))  # by the weights of the rows
    S = np.add.outer(np.arange(70.0), np.arange(70.0))
    close(twice.at_points("S", S), np.add.outer(found, found))
