"""Explanations against the direct sums of their formulas."""

from contextlib import nullcontext

import numpy as np
import pytest
from bsvdd.inference import explanation
from bsvdd.inference.scoring import CenterDraws, Limit
from bsvdd.models import Gram
from scipy.special import logsumexp, rel_entr

from bsvdd import kernels

RNG = np.random.default_rng(3)
U = RNG.normal(size=(40, 3)) * [1.0, 5.0, 0.2]
Z = np.concatenate([U[:3], 1.5 * RNG.normal(size=(9, 3)) * [1.0, 5.0, 0.2], [[30.0, 0.0, 0.0]]])
W = RNG.dirichlet(np.full(40, 0.3), size=20)
KERNELS = [
    kernels.RBF(1.3),
    kernels.Laplacian(0.9),
    kernels.Standardized(kernels.RBF(0.7)).resolve(U),
    kernels.Standardized(kernels.Laplacian(0.7)).resolve(U),
]
SOME = Limit(1.0, 0.0, 0.5)


def center(kernel, w=W, nonnegative=True, n1=0):
    m = len(U) - n1
    gram = Gram.from_rows(kernel, U[:m], U[m:] if n1 else None)
    return CenterDraws.of(w, gram, nonnegative=nonnegative)


def costs(kernel, Z):
    """-log k by column, (rows, points, columns), from the formulas."""
    standardised = isinstance(kernel, kernels.Standardized)
    inner = kernel.kernel if standardised else kernel
    scale = np.array(kernel.scale) if standardised else 1.0
    difference = np.abs(Z[:, None] - U) / scale
    s = inner.bandwidth
    return difference**2 / (2 * s**2) if isinstance(inner, kernels.RBF) else difference / s


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_identity_is_exact_in_each_draw(kernel):
    """-log sum w k = sum of columns + KL(q || w), all three by direct sums."""
    total, columns = explanation.surprise_of_columns(center(kernel), Z)
    c = costs(kernel, Z)
    for draw, w in enumerate(W):
        log_q = np.log(w) - c.sum(axis=2)
        surprise = -logsumexp(log_q, axis=1)
        q = np.exp(log_q + surprise[:, None])
        of_columns = np.einsum("zj,zjf->zf", q, c)
        divergence = rel_entr(q, w).sum(axis=1)
        tolerance = {"rtol": 1e-10, "atol": 1e-10}
        np.testing.assert_allclose(surprise, of_columns.sum(axis=1) + divergence, **tolerance)
        np.testing.assert_allclose(total[:, draw], surprise, **tolerance)
        np.testing.assert_allclose(columns[:, draw], of_columns, **tolerance)
        remainder = total[:, draw] - columns[:, draw].sum(axis=1)
        np.testing.assert_allclose(remainder, divergence, **tolerance)


@pytest.mark.parametrize(("w", "nonnegative"), [(W, True), (W - 0.01, False)])
def test_the_terms_do_not_depend_on_threads(monkeypatch, w, nonnegative):
    rule = center(KERNELS[0], w, nonnegative)
    monkeypatch.setattr(explanation, "BLOCK_VALUES", 400)  # a few rows a block
    found = {}
    for n in (1, 3):
        monkeypatch.setattr(explanation.threads, "one", lambda n=n: nullcontext(n))
        found[n] = explanation.terms(rule, Z, SOME, 0.8, 5)
    for name in vars(found[1]):
        np.testing.assert_array_equal(getattr(found[1], name), getattr(found[3], name))


def test_shares_of_points_are_q_and_intervals_are_quantiles():
    kernel = KERNELS[0]
    terms = explanation.terms(center(kernel), Z, SOME, 0.8, 5)
    log_q = np.log(W)[:, None] - costs(kernel, Z).sum(axis=2)
    q = np.exp(log_q - logsumexp(log_q, axis=2, keepdims=True))  # (draws, rows, points)
    order = np.argsort(-q.mean(axis=0), axis=1)[:, :5]
    np.testing.assert_array_equal(terms.point, order)
    of_points = np.take_along_axis(q, order[None], axis=2)
    low, high = np.quantile(of_points, [0.1, 0.9], axis=0)
    expected = np.stack([of_points.mean(axis=0), low, high], axis=-1)
    np.testing.assert_allclose(terms.points, expected, rtol=1e-9, atol=1e-14)
    total, columns = explanation.surprise_of_columns(center(kernel), Z)
    np.testing.assert_allclose(terms.total[:, 1], np.quantile(total, 0.1, axis=1))
    share = columns / total[..., None]
    np.testing.assert_allclose(terms.shares[..., 0], share.mean(axis=1))
    np.testing.assert_allclose(terms.shares[..., 2], np.quantile(share, 0.9, axis=1))
    assert (terms.shares >= 0).all() and (terms.shares.sum(axis=1)[:, 0] <= 1).all()


def test_points_without_weight_near_a_far_row_do_not_underflow():
    """In one draw the weight of the near points is 0, and k of the others underflows."""
    w = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    points = np.array([[0.0, 0.0], [100.0, 0.0]])
    gram = Gram.from_rows(kernels.RBF(1.0), points)
    rule = CenterDraws.of(w, gram, nonnegative=True)
    total, columns = explanation.surprise_of_columns(rule, np.array([[100.0, 2.0]]))
    np.testing.assert_allclose(total[0], [5002.0, 2.0, 2.0 + np.log(2.0)])
    np.testing.assert_allclose(columns[0], [[5000.0, 2.0], [0.0, 2.0], [0.0, 2.0]])
    terms = explanation.terms(rule, np.array([[100.0, 2.0]]), SOME, 0.9, 2)
    assert terms.point.tolist() == [[1, 0]]
    np.testing.assert_allclose(terms.points[0, :, 0], [2 / 3, 1 / 3])


def test_typical_columns_are_those_of_rows_without_themselves():
    kernel, own = KERNELS[0], np.arange(10)
    typical = explanation.typical_columns(center(kernel), U[:10], own)
    w, expected = W.mean(axis=0), []
    for j in own:
        others = np.arange(len(U)) != j
        c = costs(kernel, U[j : j + 1])[0, others]
        q = w[others] * np.exp(-c.sum(axis=1))
        expected.append(q @ c / q.sum())
    np.testing.assert_allclose(typical, np.mean(expected, axis=0), rtol=1e-10)
    total, _ = explanation.surprise_of_columns(center(kernel), U[:1], own[:1])
    k = np.exp(-costs(kernel, U[:1])[0].sum(axis=1))
    left_out = (W[:, 1:] @ k[1:]) / (1 - W[:, 0])
    np.testing.assert_allclose(total[0], -np.log(left_out))


SIGNED = np.concatenate([W[:, :35] * 1.4, -W[:, 35:]], axis=1)


@pytest.mark.parametrize(
    "kernel", [kernels.RBF(1.3), kernels.Linear(), kernels.Polynomial(2)], ids=repr
)
def test_terms_of_points_add_up_to_the_squared_distance_less_that_of_the_cutoff(kernel):
    rule = center(kernel, SIGNED, nonnegative=False, n1=5)
    D = 1.2 * np.sqrt(rule.squared_norm.max())  # no draw has a cutoff of 0
    limit = rule.limit(D, 0.5)
    terms = explanation.terms(rule, Z, limit, 0.9, len(U))
    d2, cutoff2 = rule.values(Z) ** 2, rule.cutoffs(D)[:, None] ** 2
    margin = (d2 - cutoff2).mean(axis=0)
    np.testing.assert_allclose(terms.total[:, 0], margin, rtol=1e-9, atol=1e-9)
    added = explanation.base(rule, limit) + terms.remainder[:, 0] + terms.points[..., 0].sum(axis=1)
    np.testing.assert_allclose(added, margin, rtol=1e-9, atol=1e-9)
    # the base is the mean of normal training rows
    rows = U[:35]
    of_rows = (rule.values(rows) ** 2 - cutoff2).mean()
    np.testing.assert_allclose(explanation.base(rule, limit), of_rows, rtol=1e-9)
    # the term of one point
    kappa = kernel(rows, U).mean(axis=0)
    term = -2 * SIGNED.mean(axis=0) * (kernel(Z, U) - kappa)
    expected = np.take_along_axis(term, terms.point, axis=1)
    np.testing.assert_allclose(terms.points[..., 0], expected, rtol=1e-9, atol=1e-12)
    assert (np.diff(np.abs(expected), axis=1) <= 1e-12).all()


@pytest.mark.parametrize("standardised", [False, True])
def test_columns_of_a_linear_kernel_add_up_to_the_squared_distance(standardised):
    kernel = kernels.Linear()
    if standardised:
        kernel = kernels.Standardized(kernels.Standardized(kernel)).resolve(U)
    rule = center(kernel, SIGNED, nonnegative=False)
    terms = explanation.terms(rule, Z, rule.limit(1.0, 0.5), 0.9, 3)
    np.testing.assert_allclose(
        terms.columns[..., 0].sum(axis=1), (rule.values(Z) ** 2).mean(axis=0), rtol=1e-9
    )
    np.testing.assert_allclose(terms.shares[..., 0].sum(axis=1), 1.0)


def test_a_cutoff_of_a_logarithmic_rule_without_a_product_kernel():
    """A normalised kernel that is no product is explained by its distance."""

    class Rational(kernels.Kernel):
        normalized = True

        def _matrix(self, X, Y):
            return 1.0 / (1.0 + ((X[:, None] - Y) ** 2).sum(axis=-1))

        def _diag(self, X):
            return np.ones(len(X))

        def log(self, X, Y):
            return np.log(self(X, Y))

    rule = center(Rational())
    limit = rule.limit(0.9, 0.5)
    terms = explanation.terms(rule, Z, limit, 0.9, 3)
    margin = (rule.values(Z) ** 2 - rule.cutoffs(0.9)[:, None] ** 2).mean(axis=0)
    np.testing.assert_allclose(terms.total[:, 0], margin, rtol=1e-9)
    assert terms.columns.shape == (len(Z), 0, 3)
