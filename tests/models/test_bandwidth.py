"""Bandwidth criteria against formulas, other programs and repeated rows."""

import math

import numpy as np
import pytest
from bsvdd.models.kernels import RBF, Laplacian, bandwidth
from scipy.spatial.distance import cdist, pdist
from sklearn.svm import SVC

X = np.random.default_rng(60).normal(size=(80, 3)) * [1.0, 2.0, 0.5]
D2 = pdist(X, "sqeuclidean")
N = len(X)
CRITERIA = ["likelihood", *bandwidth.CRITERIA]


def fitted(criterion, rows=X, weight=None, group=None, kernel=RBF):
    weight = np.ones(len(rows)) if weight is None else weight
    group = np.arange(len(rows)) if group is None else group
    return kernel(criterion).fit(rows, weight, group).s


def published_delta(n):
    """The tolerance of Liao et al. (2018), term by term."""
    phi = 1 / math.log(n - 1)
    return (
        -0.14818008 * phi**4
        + 0.284623624 * phi**3
        - 0.252853808 * phi**2
        + 0.159059498 * phi
        - 0.001381145
    )


def by_mean(delta):
    return math.sqrt(D2.mean() / math.log((N - 1) / delta**2))


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("mean", by_mean(math.sqrt(2) * 1e-6)),
        ("modified_mean", by_mean(published_delta(N))),
        ("median", np.median(np.sqrt(D2))),
        ("wide", math.sqrt(np.median(D2) / 8.0)),
        ("scale", (2 * SVC(gamma="scale").fit(X, np.arange(N) % 2)._gamma) ** -0.5),
    ],
)
def test_criteria_are_their_formulas(criterion, expected):
    """And the distances of copies do not count in a median."""
    assert fitted(criterion) == pytest.approx(expected, rel=1e-12)
    if criterion in ("median", "wide"):
        twice = np.repeat(X, 2, axis=0)
        assert fitted(criterion, twice) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("criterion", ["mean", "modified_mean", "scale"])
def test_weights_count_as_shares_with_an_effective_number_of_rows(criterion):
    """Moments under the weights, with n = 1 / sum of squared shares."""
    t = np.random.default_rng(1).exponential(size=N)
    share = t / t.sum()
    n = 1 / (share**2).sum()
    pairs = np.outer(share, share)
    mean_square = (pairs * cdist(X, X, "sqeuclidean")).sum() / (1 - (share**2).sum())
    center = (share @ X).mean()
    expected = {
        "mean": math.sqrt(mean_square / math.log((n - 1) / 2e-12)),
        "modified_mean": math.sqrt(
            mean_square / math.log((n - 1) / published_delta(n) ** 2)
        ),
        "scale": math.sqrt((share @ (X - center) ** 2).sum() / 2),
    }[criterion]
    assert fitted(criterion, weight=t) == pytest.approx(expected, rel=1e-10)
    assert fitted(criterion, weight=7.0 * t) == pytest.approx(expected, rel=1e-10)


def test_the_median_by_weight():
    """Half of the weight of the pairs lies on either side."""
    t = np.random.default_rng(1).exponential(size=N)
    i, j = np.triu_indices(N, 1)
    d, pair = np.sqrt(D2), t[i] * t[j]
    s = fitted("median", weight=t)
    assert abs(pair[d < s].sum() / pair.sum() - 0.5) < pair.max() / pair.sum()
    assert s != fitted("median")


def left_out_log_density(rows, t, group, s, power, metric):
    """Return the sum over rows of t times the log density of other groups' rows."""
    total = 0.0
    for i, x in enumerate(rows):
        d = cdist(x[None], rows, metric)[0]
        others = (group != group[i]) & (d > 0)
        k = np.exp(-((d[others] / s) ** power) / power)
        total += t[i] * (np.log(t[others] @ k) - rows.shape[1] * np.log(s))
    return total


@pytest.mark.parametrize("kernel", [RBF, Laplacian])
@pytest.mark.parametrize("of", ["rows", "each row twice", "weights", "groups"])
def test_likelihood_is_the_largest_left_out_log_density(of, kernel):
    """A row leaves with its copies: as s -> 0 their density has no bound."""
    rows = np.concatenate([X, X]) if of == "each row twice" else X
    t = (
        np.random.default_rng(2).exponential(size=len(rows))
        if of == "weights"
        else np.ones(160)
    )
    t, group = t[: len(rows)], np.arange(len(rows)) // (8 if of == "groups" else 1)
    found = fitted("likelihood", rows, t, group, kernel)
    how = rows, t, group
    fine = found * np.geomspace(0.2, 5.0, 100)
    values = [left_out_log_density(*how, s, kernel.power, kernel.metric) for s in fine]
    best = fine[np.argmax(values)]
    d2 = cdist(X, X, "sqeuclidean" if kernel is RBF else kernel.metric)
    fifth = np.median(np.sort(np.sqrt(d2) if kernel is RBF else d2, axis=1)[:, 5])
    high = math.sqrt((cdist(X, X, kernel.metric) ** 2).sum() / (N * (N - 1)))
    step = math.log(high / (fifth / 4)) / (bandwidth.N_CANDIDATES - 1)
    assert abs(math.log(found / best)) <= 0.6 * step


def test_likelihood_of_equal_rows_of_constant_columns_and_of_many_rows():
    """A constant column counts for nothing; beyond 1,000 rows, a sample is used."""
    alone = fitted("likelihood")
    assert fitted("likelihood", np.column_stack([X, np.full(N, 7.0)])) == alone
    many = np.random.default_rng(62).normal(size=(1500, 3)) * [1.0, 2.0, 0.5]
    assert 0.4 < fitted("likelihood", many) / alone < 1.0
    few = np.concatenate(
        [np.ones((300, 2)), np.random.default_rng(57).normal(size=(10, 2))]
    )
    assert 0.1 < fitted("likelihood", few) < 3.0


@pytest.mark.parametrize("name", CRITERIA)
def test_every_criterion_is_in_the_units_of_the_columns_and_ignores_their_origin(name):
    s = fitted(name)
    for factor, shift in ((1 / 64, 0.0), (10.0, 5.0)):
        assert fitted(name, factor * X + shift) == pytest.approx(factor * s, rel=1e-10)
    with pytest.raises(
        ValueError, match=f"'{name}' gives 0.0 on these 9 .*the bandwidth as a num"
    ):
        fitted(name, np.ones((9, 2)))
    for size in (1e-200, 1e200):  # an error and no warning
        with pytest.raises(ValueError, match="too large or small to be squared"):
            fitted(name, X * size)
