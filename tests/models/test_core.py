"""The core of a table: against brute force, and on tables with odd rows that are alike."""

import math

import numpy as np
import pytest
from bsvdd.models import core
from bsvdd.models.core import Core, concentrated, wide
from bsvdd.models.kernels import tabular
from bsvdd.models.kernels.tabular import LongSide
from scipy.special import logsumexp, ndtri

from bsvdd import kernels

RNG = np.random.default_rng(4)
NUMBERS = kernels.Tabular(kernels.RBF("wide"), decorrelated=True)


def by_loops(rows, categories, share):
    """The core by its definition: in logarithms, row by row."""
    n = len(rows)
    d2 = np.array([[((a - b) ** 2).sum() for b in rows] for a in rows])
    differ = np.array([[(a != b).sum() for b in categories] for a in categories])
    m = np.median([d2[i, j] for i in range(n) for j in range(i) if d2[i, j] > 0])
    inside = set(range(n))
    for s2, steps in ((math.inf, 2), (m / 2, 2), (m / 4, 2), (m / 8, 6)):
        for _ in range(steps):
            value = np.empty(n)
            for i in range(n):
                others = sorted(inside - {i})
                log_rho, wide = math.log(0.01) / 8, s2 == math.inf
                scale = m if wide else s2
                terms = [-d2[i, j] / (2 * scale) + log_rho * differ[i, j] for j in others]
                value[i] = np.mean(terms) if wide else logsumexp(terms) - math.log(len(others))
            edge = np.sort(value)[n - math.ceil(share * n)]
            inside = {i for i in range(n) if value[i] >= edge - 1e-9}
    return np.array([i in inside for i in range(n)])


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("seed", range(4))
def test_concentration_is_its_definition(share, seed):
    rng = np.random.default_rng(seed)
    rows, categories = rng.normal(size=(30, 2)), rng.integers(0, 3, size=(30, 1))
    rows[:4] = 4.0 + 0.1 * rng.normal(size=(4, 2))
    kernel = kernels.Tabular(kernels.RBF(1.0), categorical=(2,))
    kernel = kernel.resolve(np.column_stack([rows, categories]))
    coordinates = kernel.columns(np.column_stack([rows, categories]))
    squared, of_categories = kernel.apart(*2 * [np.column_stack([rows, categories])])
    found = concentrated(squared, of_categories, share)
    assert (found == by_loops(coordinates, categories, share)).all()
    assert found.sum() == math.ceil(30 * share)
    assert (concentrated(3.7 * squared, of_categories, share) == found).all()  # in any unit


def test_rows_that_tie_at_the_edge_are_all_in():
    squared = np.zeros((20, 20))
    assert concentrated(squared, 0.0, 0.5).all()
    x = np.r_[np.zeros(4), np.ones(4), 9.0, 9.5]
    found = concentrated((x[:, None] - x) ** 2, 0.0, 0.5)
    assert not found[8:].any() and found[:4].all() == found[:4].any()


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_equal_rows_are_in_together_and_the_order_of_rows_does_not_matter(share):
    rows = RNG.normal(size=(60, 3)).round(1)
    rows[40:] = rows[20:40]
    found, _ = Core.find(NUMBERS, rows, share, 0)
    assert (found.rows[40:] == found.rows[20:40]).all()
    assert found.rows.mean() >= share
    order = RNG.permutation(60)
    other, _ = Core.find(NUMBERS, rows[order], share, 0)
    assert (other.rows == found.rows[order]).all()


@pytest.mark.parametrize(("share", "least"), [(0.05, 15), (0.10, 12)])
def test_a_clump_in_a_random_direction_is_not_in_the_core(share, least):
    """The correlated columns of the table hide it from each column alone."""
    free = 0
    for seed in range(16):
        rng = np.random.default_rng(seed)
        n1 = round(600 * share)
        L = np.linalg.cholesky(0.7 ** np.abs(np.subtract.outer(range(6), range(6))))
        rows = rng.normal(size=(600, 6)) @ L.T
        direction = rng.normal(size=6)
        rows[:n1] = 4.5 * direction / np.linalg.norm(direction) + 0.15 * rng.normal(size=(n1, 6))
        free += not Core.find(NUMBERS, rows, 0.8, 0)[0].rows[:n1].any()
    assert free >= least


def test_alike_rows_do_not_vouch_for_each_other_at_the_wide_start():
    """A start at s^2 = m has them in the core of each of these tables."""
    free = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        numbers = 0.5 * rng.normal(size=(800, 1)) + rng.normal(size=(800, 4))
        rows = np.column_stack([numbers, rng.choice(5, 800), rng.choice(3, 800)])
        rows[:70, :4] = [0.0, -3.0, -1.0, -3.0] + 0.15 * rng.normal(size=(70, 4))
        rows[:70, 4:] = 0.0
        kernel = kernels.Tabular(kernels.RBF("wide"), categorical=(4, 5), decorrelated=True)
        free += not Core.find(kernel, rows, 0.8, 0)[0].rows[:70].any()
    assert free == 4


def test_an_eighth_of_the_categories_finds_the_core():
    """Claims that are alike in a rare category stay out, and a rare category alone does not."""
    rng = np.random.default_rng(1)
    rows = np.column_stack(
        [rng.normal(size=(400, 3)), rng.choice(6, 400, p=[0.4, 0.3, *4 * [0.075]])]
    )
    rows[:20, :3] = [2.6, -2.6, 0.0] + 0.1 * rng.normal(size=(20, 3))
    rows[:20, 3] = 5.0
    kernel = kernels.Tabular(kernels.RBF("wide"), categorical=(3,), decorrelated=True)
    found, resolved = Core.find(kernel, rows, 0.8, 0)
    rare = rows[20:, 3] >= 2
    assert not found.rows[:20].any() and found.rows[20:][rare].mean() > 0.7
    squared, of_categories = resolved.apart(rows, rows)
    whole = concentrated(squared, 8.0 * of_categories, 0.8)
    assert whole[20:][rare].mean() < 0.5


def test_a_sample_judges_the_rows_of_a_large_table(monkeypatch):
    rows = RNG.normal(size=(900, 3))
    rows[:30] = 5.0 + 0.1 * RNG.normal(size=(30, 3))
    of_all, _ = Core.find(NUMBERS, rows, 0.8, 0)
    monkeypatch.setattr(core, "MOST_ROWS", 400)
    monkeypatch.setattr(core, "BLOCK_VALUES", 50_000)
    of_some, _ = Core.find(NUMBERS, rows, 0.8, 0)
    assert of_some.rows.sum() == 720
    assert not of_some.rows[:30].any()
    assert (of_all.rows == of_some.rows).mean() > 0.9


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.RBF(0.5),
        kernels.Laplacian(2.0),
        kernels.Linear(),
        kernels.Standardized(kernels.RBF("median")),
        kernels.Tabular(kernels.Linear()),
    ],
)
def test_each_kernel_has_a_core_and_stays_as_it_is_given(kernel):
    rows = RNG.normal(size=(100, 2))
    rows[:5] = 8.0 + 0.1 * RNG.normal(size=(5, 2))
    assert wide(kernel) is kernel
    found, resolved = Core.find(kernel, rows, 0.8, 0)
    assert resolved == kernel.resolve(rows)
    assert found.rows.sum() == 80 and not found.rows[:5].any()


# columns that are adjusted for each other


def test_the_default_kernel_becomes_wide_and_decorrelated():
    kernel = wide(kernels.Tabular(rho=0.1, categorical=(1,)))
    assert kernel == kernels.Tabular(
        kernels.RBF("wide"), rho=0.1, categorical=(1,), decorrelated=True
    )
    assert "decorrelated=True" in repr(kernel)
    own = kernels.Tabular(kernels.RBF(2.0))
    assert wide(own) is own


def test_each_half_is_multiplied_by_the_symmetric_root_of_its_covariance():
    L = np.linalg.cholesky(0.8 ** np.abs(np.subtract.outer(range(4), range(4))))
    rows = np.column_stack([RNG.normal(size=(200, 4)) @ L.T, np.full(200, 3.0)])
    plain = kernels.Tabular(kernels.RBF("wide")).resolve(rows)
    kernel = NUMBERS.resolve(rows).adjusted_by(rows[:150], rows)
    before = plain.columns(rows).reshape(200, 5, 2) * math.sqrt(2)
    after = kernel.columns(rows).reshape(200, 5, 2) * math.sqrt(2)
    ridge = 0.1 + 2 * 4 / 150
    for half in range(2):
        S = (1 - ridge) * np.cov(before[:150, :4, half].T) + ridge * np.eye(4)
        A = np.array(kernel.adjustment[half])[:4, :4]
        np.testing.assert_allclose(A, A.T, atol=1e-14)
        np.testing.assert_allclose(A @ S @ A, np.eye(4), atol=1e-12)
        np.testing.assert_allclose(after[:, :4, half], before[:, :4, half] @ A, atol=1e-12)
        assert (
            np.diag(np.corrcoef(after[:, :4, half].T, before[:, :4, half].T)[4:, :4]) > 0.7
        ).all()
    assert (after[:, 4] == 0.0).all()
    z = kernel.columns(rows)
    d2 = [((a - b) ** 2).sum() for i, a in enumerate(z) for b in z[:i]]
    assert kernel.kernel.bandwidth == pytest.approx(math.sqrt(np.median(d2) / 8))
    costs = sum(cost.copy() for cost in kernel.by_column(rows[:9], rows[9:20]))
    np.testing.assert_allclose(-costs, kernel.log(rows[:9], rows[9:20]), rtol=1e-12)
    other = rows.copy()
    other[:, 0] *= 1e6
    moved = NUMBERS.resolve(other).adjusted_by(other[:150], other)
    np.testing.assert_allclose(moved(other), kernel(rows), rtol=1e-8)
    assert kernel.adjusts and not plain.adjusts
    assert kernel.leaving_out is kernel and plain.leaving_out is not plain


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_long_side_of_lognormal_values_becomes_normal(sign, monkeypatch):
    monkeypatch.setattr(tabular, "SURE", 0.0)
    z = ndtri((np.arange(20_001) + 0.5) / 20_001)
    x = sign * 40.0 * np.exp(0.8 * z) + 7.0
    side = LongSide.of(x, x)
    assert side.g == pytest.approx(sign * 0.8, rel=1e-4)
    found = side.shortened(x)
    assert found.mean() == pytest.approx(0.0, abs=1e-12)
    assert found.std() == pytest.approx(1.0)
    step = np.polyfit(z[z > 0], found[z > 0], 1)
    np.testing.assert_allclose(found[z > 0], np.polyval(step, z[z > 0]), atol=1e-3)
    other = np.polyfit(x[z < 0], found[z < 0], 1)  # the other side is not changed
    np.testing.assert_allclose(found[z < 0], np.polyval(other, x[z < 0]), atol=1e-9)
    moved = LongSide.of(1e6 * x, 1e6 * x)
    np.testing.assert_allclose(moved.shortened(1e6 * x), found, rtol=1e-9, atol=1e-9)


def test_a_long_side_is_one_of_the_core_and_of_all_rows_beyond_doubt():
    found = []
    for seed in range(400):
        low, middle, high = np.quantile(
            np.random.default_rng(seed).normal(size=1000), [0.1, 0.5, 0.9]
        )
        found.append(math.log((high - middle) / (middle - low)) / ndtri(0.9))
    assert np.std(found) == pytest.approx(tabular.SKEW_ERROR / math.sqrt(1000), rel=0.1)
    normal, skewed = RNG.normal(size=2000), np.exp(RNG.normal(size=2000))
    assert LongSide.of(skewed, skewed) is not None
    assert LongSide.of(normal, np.r_[normal, np.full(200, 3.0)]) is None  # made by odd rows
    assert LongSide.of(skewed[skewed < 5.0], -skewed) is None
    assert LongSide.of(skewed.clip(2.0), skewed.clip(2.0)) is None  # the median is the smallest
    smaller = LongSide.of(np.exp(0.5 * np.log(skewed)), skewed)
    assert smaller.g == LongSide.of(*2 * [np.exp(0.5 * np.log(skewed))]).g


def test_the_core_is_first_sought_in_columns_as_they_are():
    rows = np.column_stack([np.exp(RNG.normal(size=400)), RNG.normal(size=(400, 2))])
    _, kernel = Core.find(NUMBERS, rows, 0.8, 0)
    assert [column.long_side is None for column in kernel.numbers] == [False, True, True]
    assert all(column.long_side is None for column in kernel.plain.numbers)
    raw = kernels.Tabular(kernels.RBF("wide")).resolve(rows)
    assert kernel.plain.numbers == raw.numbers and raw.plain == raw


def test_many_columns_are_not_adjusted_by_few_rows():
    rows = RNG.normal(size=(20, 12))
    kernel = NUMBERS.resolve(rows)
    assert kernel.adjustment is None


def test_the_wide_bandwidth_does_not_count_pairs_of_equal_rows():
    rows = RNG.normal(size=(30, 2))
    copied = np.concatenate([rows, np.tile(rows[:1], (90, 1))])
    d2 = [((a - b) ** 2).sum() for i, a in enumerate(copied) for b in copied[:i]]
    expected = math.sqrt(np.median([d for d in d2 if d > 0]) / 8)
    assert kernels.RBF("wide").resolve(copied).bandwidth == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="too many of them are equal"):
        kernels.RBF("wide").resolve(np.ones((9, 2)))
