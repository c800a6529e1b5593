"""Rows: what leaves together, what it weighs, and that nothing else counts."""

import numpy as np
import pytest
from bsvdd.models.rows import Rows
from numpy.testing import assert_array_equal

from tests.cases import ALL, GROUPS, OF_ONE_CLASS, T, X, Y, Z, close, fitted

# few draws
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
@pytest.mark.parametrize("name", ALL)
def test_only_ratios_of_weights_count(name, groups):
    a, b, c = (fitted(name, weight=f * T, groups=groups) for f in (1.0, 1024.0, 1000.0))
    assert_array_equal(a.margins(Z), b.margins(Z))
    assert_array_equal(a.margins(), b.margins())
    close(a.fit_.dictionary.K, c.fit_.dictionary.K, 1e-12)
    close(a.fit_.dictionary.sizes, c.fit_.dictionary.sizes, 1e-12)
    if name in ("BDD", "SVDD"):  # no chain, which would take a rounding apart
        close(a.margins(Z), c.margins(Z), 1e-9)


@pytest.mark.parametrize("group", [np.arange(60), GROUPS], ids=["rows", "groups"])
@pytest.mark.parametrize("name", OF_ONE_CLASS)
def test_weight_zero_is_left_away_and_answered(name, group):
    t = np.repeat([1.0, 0.0], [50, 10])
    a = fitted(name, weight=t, groups=group)
    b = fitted(name, rows=X[:50], groups=group[:50])
    close(a.fit_.dictionary.K, b.fit_.dictionary.K, 1e-13)
    tol = 1e-7 if name == "BSVDD" else 1e-10  # a chain takes a rounding apart
    close(a.fit_.draws.w, b.fit_.draws.w, tol)
    close(a.margins(Z), b.margins(Z), tol)
    close(a.margins()[:, :50], b.margins(), tol)
    close(a.decision(Z)["p_value"], b.decision(Z)["p_value"])
    if group.max() == 59:
        close(a.margins()[:, 50:], b.margins(X[50:]), tol)
    else:  # it leaves with its group
        fit, like = b.fit_, np.flatnonzero(group == group[50])[:1]
        rows = fit.dictionary.left_out(like, X[[50]])
        parts = fit.draws.parts(rows, fit.rows.problems[1][like])
        close(a.margins()[:, [50]], fit.boundary.margins(parts), tol)


@pytest.mark.parametrize("name", ALL)
def test_groups_of_one_row_are_no_groups(name):
    names = np.array([f"g{i}" for i in np.random.default_rng(1).permutation(60)])
    a, b = fitted(name), fitted(name, groups=names)
    close(a.margins(), b.margins(), 1e-12)
    close(a.margins(Z), b.margins(Z), 1e-12)


@pytest.mark.parametrize(
    "groups", [np.arange(60), np.arange(60) // 2], ids=["rows", "pairs"]
)
@pytest.mark.parametrize("name", ALL)
def test_the_order_of_rows_is_nothing(name, groups):
    order, rows = np.random.default_rng(2).permutation(60), X.copy()
    rows[20:35] = rows[:15]
    a = fitted(name, rows=rows, groups=groups)
    b = fitted(name, rows=rows[order], labels=Y[order], groups=groups[order])
    close(a.margins(Z), b.margins(Z), 1e-6)
    close(a.margins()[:, order], b.margins(), 1e-6)


def test_a_group_counts_the_mean_weight_of_its_rows_in_a_cutoff():
    rows = Rows.of(X, None, T, GROUPS)
    mean = np.array([T[b == GROUPS].mean() for b in GROUPS])
    each = np.bincount(GROUPS, rows.mass)[GROUPS]
    close(each / each[0], mean / mean[0])
    close(np.bincount(GROUPS, rows.mass).sum(), 11.0)
    assert rows.weight.mean() == pytest.approx(1.0)


def test_folds_have_whole_groups_and_do_not_depend_on_the_order_of_rows():
    rows = Rows.of(X, None, None, GROUPS)
    assert all(len(set(rows.fold[b == GROUPS])) == 1 for b in range(11))
    assert set(rows.fold) == set(range(1, 11))
    order = np.random.default_rng(3).permutation(60)
    again = Rows.of(X[order], None, None, GROUPS[order])
    assert_array_equal(rows.fold[order], again.fold)
