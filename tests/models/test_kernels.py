"""Kernels against double loops, and identities that all of them keep."""

import copy
import math
import pickle

import numpy as np
import pytest
from bsvdd.models.kernels import bandwidth
from bsvdd.models.kernels.tabular import without_far
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri
from sklearn.base import clone

from bsvdd import SVDD, kernels

from .helpers import by_loops, cauchy

RNG = np.random.default_rng(1)
X = RNG.normal(size=(40, 4))
Y = 2.0 * RNG.normal(size=(25, 4))  # some beyond the range of X
for each in (X, Y):  # numbers in columns 0 and 2, and what can be categories in 1 and 3
    each[:, 1], each[:, 3] = (
        RNG.integers(0, 3, len(each)),
        RNG.integers(0, 5, len(each)) - 0.5,
    )
T = RNG.exponential(size=40)


def fit(kernel, rows=X, weight=None):
    weight = np.ones(len(rows)) if weight is None else weight
    return kernel.fit(rows, weight, np.arange(len(rows)))


def values(kernel, A, B):
    return kernel(kernel.inputs(A), kernel.inputs(B))


def logs(kernel, A, B):
    return kernel.log(kernel.inputs(A), kernel.inputs(B))


def gauss(x, y, s=1.7):
    return math.exp(-sum((x - y) ** 2) / (2 * s**2))


def laplace(x, y):
    return math.exp(-sum(abs(x - y)) / 0.8)


class Scales:
    """The coordinates of one column, by loops over rows of weights t of mean 1."""

    def __init__(self, x, t):
        self.x, self.t = x, t / t.mean()
        self.mean, self.sd = (
            self.average(x),
            math.sqrt(self.average((x - self.average(x)) ** 2)),
        )
        scores = np.array([self.score(v) for v in x])
        self.middle = self.average(scores)
        self.unit = math.sqrt(self.average((scores - self.middle) ** 2))

    def average(self, values):
        return self.t @ values / len(self.t)

    def score(self, v):
        """The normal score of v in the ranks of x, with linear tails."""

        def of(value):
            below, upto = self.t[self.x < value].sum(), self.t[self.x <= value].sum()
            return ndtri(((below + upto) / 2 + 0.5) / (len(self.x) + 1))

        low, high = self.x.min(), self.x.max()
        if not low <= v <= high:
            end = np.clip(v, low, high)
            return of(end) + (v - end) / self.sd
        a, b = self.x[self.x <= v].max(), self.x[self.x >= v].min()
        share = 0.0 if a == b else (v - a) / (b - a)
        return (1 - share) * of(a) + share * of(b)

    def __call__(self, v, scales):
        both = (v - self.mean) / self.sd, (self.score(v) - self.middle) / self.unit
        return np.array(both)[list(scales)] / math.sqrt(len(scales))


BOTH, STANDARDISED, NORMAL_SCORES = (0, 1), (0,), (1,)


def tabular(k, categorical=(1, 3), scales=BOTH, t=None):
    numbers = [f for f in range(4) if f not in categorical]
    columns = {f: Scales(X[:, f], np.ones(40) if t is None else t) for f in numbers}

    def product(x, y):
        u, v = (
            np.concatenate([columns[f](z[f], scales) for f in numbers]) for z in (x, y)
        )
        return k(u, v) * 0.3 ** sum(x[c] != y[c] for c in categorical)

    return product


def of_columns(inner, **how):
    return kernels.Tabular(inner, rho=0.3, categorical=(1, 3), **how)


FORMULAS = [
    (kernels.RBF(1.7), gauss),
    (kernels.Laplacian(0.8), laplace),
    (kernels.Linear(), lambda x, y: sum(x * y)),
    (
        kernels.Polynomial(3, gamma=0.5, coef0=2.0),
        lambda x, y: (0.5 * sum(x * y) + 2.0) ** 3,
    ),
    (kernels.Polynomial(), lambda x, y: (sum(x * y) + 1.0) ** 2),
    (kernels.Polynomial(1, coef0=0.0), lambda x, y: sum(x * y)),
    (kernels.Custom(cauchy), lambda x, y: 1.0 / (1.0 + sum((x - y) ** 2))),
    (of_columns(kernels.RBF(1.7)), tabular(gauss)),
    (of_columns(kernels.Laplacian(0.8)), tabular(laplace)),
    (of_columns(kernels.Linear()), tabular(lambda x, y: sum(x * y))),
    (kernels.Tabular(kernels.RBF(1.7)), tabular(gauss, ())),
    (kernels.Tabular(cauchy), tabular(lambda x, y: 1 / (1 + sum((x - y) ** 2)), ())),
    (
        of_columns(kernels.RBF(1.7), scale="standardised"),
        tabular(gauss, scales=STANDARDISED),
    ),
    (
        kernels.Tabular(kernels.Laplacian(0.8), scale="normal scores"),
        tabular(laplace, (), NORMAL_SCORES),
    ),
]
FITTED = [fit(kernel) for kernel, _ in FORMULAS]


@pytest.mark.parametrize(
    ("kernel", "k"),
    list(zip(FITTED, [k for _, k in FORMULAS], strict=True)),
    ids=map(repr, FITTED),
)
def test_values_and_diagonal_are_the_formula(kernel, k):
    expected = by_loops(k, X, Y)
    assert_allclose(values(kernel, X, Y), expected, rtol=1e-10, atol=1e-13)
    assert_allclose(kernel.diag(kernel.inputs(X)), [k(x, x) for x in X], rtol=1e-12)
    if kernel.normalized:
        assert_allclose(logs(kernel, X, Y), np.log(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", FITTED, ids=repr)
def test_identities_of_every_kernel(kernel):
    """Symmetric, positive semi-definite, and a value that copies and files keep."""
    K = values(kernel, X, X)
    assert_allclose(K, K.T, rtol=1e-13, atol=1e-13)
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues.min() > -1e-10 * eigenvalues.max()
    for twin in (
        copy.deepcopy(kernel),
        pickle.loads(pickle.dumps(kernel)),
        clone(kernel),
    ):
        assert_array_equal(values(twin, X, X), K)
        assert repr(twin) == repr(kernel) and twin.normalized == kernel.normalized
    assert kernel.normalized == ("RBF" in repr(kernel) or "Lapl" in repr(kernel))


def test_a_row_of_weight_two_is_two_rows():
    """A weight counts in the scales of a column; ranks are of n rows."""
    kernel = fit(of_columns(kernels.RBF(1.7)), weight=T)
    k = tabular(gauss, t=T)
    assert_allclose(values(kernel, X, Y), by_loops(k, X, Y), rtol=1e-10)
    one, other = (fit(of_columns(kernels.RBF(1.7)), weight=f * T) for f in (1.0, 5.0))
    assert_allclose(values(one, X, Y), values(other, X, Y), rtol=1e-12)


@pytest.mark.parametrize("cls", [kernels.RBF, kernels.Laplacian])
def test_a_bandwidth(cls):
    """A number, or the name of a criterion, which a fit turns into a number."""
    known = fit(cls("median"))
    assert known.criterion == "median" and fit(known, 10 * X) == known  # a number stays
    assert known.s == bandwidth.of(
        "median",
        bandwidth.Sample(X, np.ones(40), np.arange(40), 4),
        cls.metric,
        cls.power,
    )
    for part in (f"{known.s:.6g}", "'median'"):
        assert part in repr(known)
    assert cls(2.0).gamma == (0.125 if cls is kernels.RBF else 0.5)
    assert repr(cls(1 / 3)) == f"{cls.__name__}(bandwidth={1 / 3})"  # code


@pytest.mark.parametrize("power", [1, 2])  # of the distance in the exponent
def test_the_logarithm_does_not_underflow(power):
    kernel = (kernels.Laplacian if power == 1 else kernels.RBF)(1.0)
    for each in (kernel, fit(kernels.Tabular(kernel))):
        assert values(each, X[:2] + 1e5, X).max() == 0.0
        ratio = logs(each, X[:2] + 2e5, X) / logs(each, X[:2] + 1e5, X)
        assert_allclose(ratio, 2.0**power, rtol=1e-2)


@pytest.mark.parametrize(
    ("s", "centres", "shift", "tolerance"),
    [
        (1.0, (0.0, 1e7), 1e6, 1e-10),
        (1.3, (-1e4, 1e4), 0.0, 1e-9),
        (1.3, (-1e8, 1e8), 0.0, 1e-9),
        *((1.3, (0.0, 3.0), shift, 1e-9) for shift in (0.0, 1e3, 1e8)),
    ],
)
def test_rbf_keeps_its_digits_for_rows_far_apart_for_their_bandwidth(
    s, centres, shift, tolerance
):
    """Two far clusters: the product form of distances would lose all digits."""
    steps = np.round(np.random.default_rng(8).normal(size=(24, 3)) * 1024) / 1024
    rows = steps + np.repeat(centres, 12)[:, None] + shift
    others, kernel = rows[::3] + 0.25, kernels.RBF(s)
    near = by_loops(lambda x, y: gauss(x, y, s), rows, others)
    assert_allclose(kernel(rows, others), near, rtol=tolerance, atol=tolerance)
    K = kernel(rows, rows)
    assert_allclose(np.diag(K), 1.0, rtol=tolerance)
    assert 0.01 < K[0, 1:12].max() < 1  # rows of one cluster do see each other


# functions of the user's


def test_a_function_as_a_kernel():
    assert (
        kernels.as_kernel(cauchy)
        == kernels.Tabular(cauchy).kernel
        == kernels.Custom(cauchy)
    )
    assert kernels.as_kernel(kernels.Linear()) == kernels.Linear()
    assert repr(kernels.Custom(cauchy)) == "Custom(function=cauchy)"
    many = np.vstack([X] * 6)  # several blocks
    poly = kernels.Custom(lambda A, B: (A @ B.T + 1.0) ** 2)
    assert_allclose(poly.diag(many), [(x @ x + 1.0) ** 2 for x in many], rtol=1e-13)


# a matrix of the user's


def test_precomputed_rows_choose_their_entries():
    K, kernel = cauchy(X, X), kernels.Precomputed()
    rows = kernel.training_rows(K)
    assert_array_equal(kernel(rows, rows), K)
    assert_array_equal(kernel(rows[[4, 1]], rows[[0, 6, 2]]), K[[4, 1]][:, [0, 6, 2]])
    assert_array_equal(kernel.diag(rows[[3, 5]]), K[[3, 5], [3, 5]])
    given = kernel, np.column_stack([cauchy(Y, X), np.full(25, 0.5)])
    for known, those in (
        given,
        (kernels.Precomputed(diagonal=np.float32(0.5)), cauchy(Y, X)),
    ):
        new = known.new_rows(those, 40)
        assert_array_equal(known(new, rows[2:4]), cauchy(Y, X)[:, 2:4])
        assert_array_equal(known.diag(new), np.full(25, 0.5))


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize(
    ("off", "error", "negative", "problem"),
    [
        (0.0, 0.0, 5e-9, None),
        (0.0, 0.0, 2e-8, "must be positive semi-definite"),
        (0.5, 4e-9, 0.0, None),
        (0.5, 1e-8, 0.0, r"must be symmetric, but K\[0, 2\] = .* and K\[2, 0\] ="),
        (0.0, 5e-11, 0.0, None),
        (0.0, 2e-10, 0.0, "symmetric"),
    ],
)
def test_precomputed_may_be_asymmetric_or_negative_by_rounding(
    size, off, error, negative, problem
):
    """The smallest eigenvalue is in units of n times the largest entry."""
    K = np.diag([1.0, 1.0, 1.0, 1.0, -5 * negative if negative else 1.0])
    K[0, 2], K[2, 0] = off + error, off
    if problem is None:
        assert kernels.Precomputed().training_rows(size * K).shape == (5, 7)
        return
    with pytest.raises(ValueError, match=problem):
        kernels.Precomputed().training_rows(size * K)


# tables


def test_an_unseen_category_differs_from_all_and_names_do_not_matter():
    kernel, z = fit(of_columns(kernels.RBF(1.7))), X[:1].copy()
    z[0, 1] = 77.0
    assert_allclose(values(kernel, z, X), by_loops(tabular(gauss), z, X), rtol=1e-10)
    coded = X.copy()
    coded[:, 1], coded[:, 3] = (
        1e6 * X[:, 1],
        -X[:, 3],
    )  # other names of the same categories
    of_numbers = fit(kernels.Tabular(kernels.RBF("mean")), X[:, [0, 2]])
    for rows in (X, coded):
        assert fit(of_columns(kernels.RBF("mean")), rows).kernel == of_numbers.kernel


def columns_of(n, seed=3):
    """Columns: skew, ties, two values, a tie at each end, constant."""
    rng = np.random.default_rng(seed)
    skew, normal = np.exp(2.0 * rng.normal(size=n)), rng.normal(size=n)
    return np.column_stack(
        [
            skew,
            rng.integers(0, 5, n),
            rng.integers(0, 2, n),
            np.clip(normal, -1, 1),
            np.full(n, 7),
        ]
    )


def test_a_unit_or_an_origin_changes_nothing():
    rows = columns_of(60)
    new = np.concatenate([rows[:5] * 1.1, rows.max(axis=0)[None] + [[5, 1, 1, 2, 0]]])
    expected = fit(kernels.Tabular(), rows)
    for scale, shift, tolerance in (
        (1e-150, 0.0, 1e-9),
        (1e150, 0.0, 1e-9),
        (1.0, 1e8, 1e-5),
    ):
        kernel = fit(kernels.Tabular(), rows * scale + shift)
        assert kernel.kernel.s == pytest.approx(expected.kernel.s, rel=tolerance)
        found = kernel.inputs(new * scale + shift)
        assert_allclose(found, expected.inputs(new), atol=tolerance)


def far_values(x, t):
    """Which values are far, by the definition."""
    order = np.argsort(x)
    middle = np.interp(t.sum() / 2, np.cumsum(t[order]) - t[order] / 2, x[order])
    d = np.abs(x - middle)

    def is_edge(each):
        beyond = d > each
        few = t[beyond].sum() <= 0.1 * t[d > 0].sum()
        return each > 0 and beyond.any() and few and d[beyond].min() > 10 * each

    return d > min(filter(is_edge, d), default=np.inf)


WILD = {
    "one": [1e3],
    "below": [-1e308],
    "two sides": [1e100, -1e50, 400.0],
    "six": 60.0 + 1e12 * np.arange(6.0),
    "a step, and no jump": [20.0, 150.0],
}


@pytest.mark.parametrize("name", WILD)
@pytest.mark.parametrize("t", [np.ones(60), RNG.uniform(0.5, 1.5, 60)], ids=["1", "t"])
def test_a_far_value_moves_no_scale_and_no_bandwidth(name, t):
    """They are those of the column with the nearest other value in its place."""
    wild, x = WILD[name], np.random.default_rng(4).normal(size=(60, 2))
    x[: len(wild), 0] = wild
    far, near = far_values(x[:, 0], t), x.copy()
    near[:, 0] = np.clip(
        x[:, 0], *x[~far, 0][[x[~far, 0].argmin(), x[~far, 0].argmax()]]
    )
    assert far.any() == (name != "a step, and no jump")
    kernel, expected = (fit(kernels.Tabular(), rows, t) for rows in (x, near))
    assert kernel == expected and np.isfinite(kernel.inputs(x) ** 2).all()
    # units and order
    other = fit(kernels.Tabular(), x[::-1] * [-1e-3, 1.0], t[::-1])
    assert other.kernel.s == pytest.approx(kernel.kernel.s, rel=1e-6)


KINDS = {
    "flags": lambda r: r.random(400) < 0.4,
    "rare flags": lambda r: r.random(400) < 0.02,
    "one flag": lambda r: np.arange(400) == 7,
    "constant": lambda r: np.full(400, 3.0),
    "amounts": lambda r: np.exp(r.normal(3.0, 1.0, 400)) * (r.random(400) < 0.3),
    "rare amounts": lambda r: np.exp(r.normal(3.0, 1.0, 400)) * (r.random(400) < 0.03),
    "counts": lambda r: r.poisson(0.3, 400),
    "lognormal": lambda r: np.exp(2.0 * r.normal(size=400)),
    "Pareto": lambda r: r.pareto(2.0, 400),
    "t3": lambda r: r.standard_t(3.0, 400),
    "two states": lambda r: r.normal(size=400) + 1e4 * (r.random(400) < 0.2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_value_of_an_ordinary_column_is_far(kind):
    tables = (1.0 * KINDS[kind](np.random.default_rng(seed)) for seed in range(20))
    same = [without_far(x, np.ones(400)) is x for x in tables]
    assert sum(same) >= 19


def test_a_constant_column_says_of_other_values_that_they_are_far():
    rows = np.column_stack([X[:, 0], np.full(40, 0.1), np.zeros(40)])
    kernel = fit(kernels.Tabular(), rows)
    z = rows[[0, 0, 0, 0]]
    z[1, 1], z[2, 1], z[3, 2] = 0.1 * (1 + 1e-15), 0.1001, -1e-300
    found = kernel.inputs(z)[:, 2:] * math.sqrt(2)
    assert_allclose(found, [[0] * 4, [0] * 4, [5, 5, 0, 0], [0, 0, 5, 5]])
    assert_allclose(logs(kernel, z, z)[0, 2], -(5.0**2) * kernel.kernel.gamma)


def test_only_categories_vary():
    rows = np.column_stack([X[:, [1, 3]], np.ones(40)])
    for these in (rows, rows[:, :2]):
        kernel = fit(kernels.Tabular(categorical=(0, 1)), these)
        differ = (these[:, None, :2] != these[:9, :2]).sum(axis=2)
        assert_allclose(values(kernel, these, these[:9]), 0.01**differ, rtol=1e-12)
        found = logs(kernel, these, these[:9])
        assert_allclose(found, np.log(0.01) * differ, rtol=1e-12, atol=1e-12)


def test_a_bandwidth_of_a_table_counts_columns_and_not_coordinates():
    """A column's two coordinates keep the mean squared distance of the column."""
    x = X[:, [0]]
    two = fit(kernels.Tabular(kernels.RBF("likelihood"), scale="both"), x)
    Z, ones = two.inputs(x), np.ones(40)
    rows = bandwidth.Sample(Z, ones, np.arange(40), 1)
    assert two.kernel.s == bandwidth.of("likelihood", rows, "euclidean", 2)
    as_two = bandwidth.Sample(Z, ones, np.arange(40), 2)
    assert two.kernel.s > bandwidth.of("likelihood", as_two, "euclidean", 2)


def test_parameters_by_name():
    kernel = of_columns(kernels.RBF(1.7)).with_params(kernel__bandwidth=2.0, rho=0.1)
    assert (kernel.kernel.bandwidth, kernel.rho, kernel.categorical) == (
        2.0,
        0.1,
        (1, 3),
    )
    assert kernel.get_params()["kernel__bandwidth"] == 2.0
    assert kernels.Tabular(categorical=[3, np.int64(1)]).categorical == (1, 3)
    est = SVDD(kernel=kernels.RBF(2.0))
    assert est.get_params()["kernel__bandwidth"] == 2.0
    new = clone(est).set_params(kernel__bandwidth=0.5, C=0.3)
    assert new.kernel == kernels.RBF(0.5) and est.kernel == kernels.RBF(2.0)
