"""Distances from draws of the centre, their scores, and leave-one-out in closed form."""

import math
from fractions import Fraction

import numpy as np
import pytest
from bsvdd.inference import scoring as distance
from bsvdd.inference.decision import distance_quantile
from bsvdd.inference.leave_one_out import leave_one_out
from bsvdd.inference.scoring import CenterDraws
from bsvdd.models import Gram, bdd
from scipy.special import logsumexp

from bsvdd import Cutoff, kernels, priors
from tests.scores import common_norm, upper_median

RNG = np.random.default_rng(50)
ROWS = RNG.normal(size=(12, 3))
KERNELS = [kernels.RBF(1.1), kernels.Polynomial(2)]


def simplex_weights(draws=20):
    return np.random.default_rng(51).dirichlet(np.ones(12), size=draws)


def signed_weights(draws=20):
    """Weights that sum to one: nine at least 0, three negative, as of BSVDD-M."""
    rng = np.random.default_rng(52)
    negative = rng.uniform(0, 0.5, size=(draws, 3))
    positive = rng.dirichlet(np.full(9, 4.0), size=draws) * (1 + negative.sum(1, keepdims=True))
    return np.hstack([positive, -negative])


def without(w, j, n1=0):
    """Weights without point j: those left of the majority grow or shrink until all sum to one."""
    v = w.copy()
    v[j] = 0.0
    m = len(w) - n1
    v[:m] *= (1.0 - v[m:].sum()) / v[:m].sum()
    assert v.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_array_equal(np.delete(v, j)[m - (j < m) :], np.delete(w, j)[m - (j < m) :])
    return v


def from_scratch(w, K, j, n1=0):
    """Inner product of point j with the centre without it."""
    return without(w, j, n1) @ K[j]


@pytest.mark.parametrize("kernel", [*KERNELS, kernels.Linear()], ids=repr)
@pytest.mark.parametrize(
    ("weights", "n1"), [(simplex_weights(), 0), (signed_weights(), 3)], ids=["simplex", "signed"]
)
def test_left_out_kernel_sum_is_that_without_the_point(kernel, weights, n1):
    assert weights[:, : 12 - n1].max() < 0.9 * (1 - weights[:, 12 - n1 :].sum(axis=1)).min()
    gram = Gram.from_rows(kernel, ROWS[: 12 - n1], ROWS[12 - n1 :])
    found = leave_one_out(weights, gram.K, n1)
    expected = [[from_scratch(w, gram.K, j, n1) for j in range(12)] for w in weights]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not np.allclose(found, weights @ gram.K, rtol=1e-3)
    from_products = leave_one_out(weights, gram.K, n1, weights @ gram.K)
    np.testing.assert_allclose(from_products, found, rtol=1e-11)


@pytest.mark.parametrize("bandwidth", [0.05, 0.2, 1.0])
def test_known_products_save_no_digits(bandwidth):
    """Differences that have none left, those of narrow kernels, are summed again."""
    weights, K = simplex_weights(300), kernels.RBF(bandwidth)(ROWS)
    weights[-1] = np.where(np.arange(12) == 3, 1.0 - 1e-9, 1e-9 / 11)  # nearly all on one point
    expected = [[from_scratch(w, K, j) for j in range(12)] for w in weights]
    assert (weights @ K - weights)[0, 0] == 0.0 or bandwidth > 0.05
    np.testing.assert_allclose(
        leave_one_out(weights, K, Kw=weights @ K), expected, rtol=1e-10, atol=1e-300
    )


def test_a_left_out_kernel_sum_has_all_its_digits():
    """Rows so far apart that k is 1e-40: (Kw)_j - w_j would have no digit left."""
    points = np.array([[0.0], [9.6], [19.3]])
    K, w = kernels.RBF(0.7)(points), np.array([[0.3, 0.5, 0.2]])
    expected = [0.5 * K[0, 1] / 0.7, 0.6 * K[0, 1] + 0.4 * K[1, 2], 0.5 * K[1, 2] / 0.8]
    assert max(expected) < 1e-40
    np.testing.assert_allclose(leave_one_out(w, K)[0], expected, rtol=1e-13)


def test_the_minority_weights_stay_when_a_majority_point_goes():
    """By hand: points 0, 1, 3 of the line, then the minority point -2 with weight -1/2."""
    points = np.array([[0.0], [1.0], [3.0], [-2.0]])
    w = np.array([[0.5, 0.75, 0.25, -0.5]])
    # without 0: 1.5 (0.75, 0.25) / 1, centre 1.125 + 1.125 + 1 = 3.25
    # without 1: 1.5 (0.5, 0.25) / 0.75, centre 1.5 + 1 = 2.5; without 3: 1.5 * 0.6 + 1 = 1.9
    # without -2: (0.5, 0.75, 0.25) / 1.5, centre 1; each times its own point
    found = leave_one_out(w, kernels.Linear()(points), 1)
    np.testing.assert_allclose(found, [[0.0, 2.5, 5.7, -2.0]], rtol=1e-14)


@pytest.mark.parametrize("n1", [0, 3])
@pytest.mark.parametrize("left", [1e-12, 1e-9, 1e-6, 5e-5])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_collapsed_draw_keeps_its_digits(kernel, left, n1):
    """One majority weight of 1 - 1e-12: 1 - w has lost its digits, the other weights have not."""
    weights = simplex_weights(6) if n1 == 0 else signed_weights(6)
    m = 12 - n1
    total = 1.0 - weights[:, m:].sum(axis=1)
    for draw, j in enumerate([0, 1, 2, m - 1, 4, 5]):
        others = np.delete(np.arange(m), j)
        weights[draw, others] *= left * total[draw] / weights[draw, others].sum()
        weights[draw, j] = total[draw] * (1.0 - left)
    gram = Gram.from_rows(kernel, ROWS[:m], ROWS[m:])
    found = leave_one_out(weights, gram.K, n1)
    expected = [[from_scratch(w, gram.K, j, n1) for j in range(12)] for w in weights]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("left", [1e-1, 1e-2, 1e-3, 1.01e-4])
@pytest.mark.parametrize("n1", [0, 3])
def test_digits_of_a_nearly_collapsed_draw(left, n1):
    """1/left times the rounding of the sum is what is lost, and not more."""
    weights = simplex_weights(6) if n1 == 0 else signed_weights(6)
    m = 12 - n1
    total = 1.0 - weights[:, m:].sum(axis=1)
    weights[:, 1:m] *= (left * total / weights[:, 1:m].sum(axis=1))[:, None]
    weights[:, 0] = total * (1.0 - left)
    gram = Gram.from_rows(KERNELS[0], ROWS[:m], ROWS[m:])
    found = leave_one_out(weights, gram.K, n1)
    expected = [[from_scratch(w, gram.K, j, n1) for j in range(12)] for w in weights]
    np.testing.assert_allclose(found, expected, rtol=100 * np.finfo(float).eps / left)


@pytest.mark.parametrize("n1", [0, 3])
def test_a_point_with_all_the_weight_has_no_centre_without_it(n1):
    weights = np.zeros((1, 12))
    weights[0, 12 - n1 :] = -0.25
    weights[0, 0] = 1.0 + 0.25 * n1
    K = KERNELS[0](ROWS)
    found = leave_one_out(weights, K, n1)
    assert found[0, 0] == -np.inf
    expected = [from_scratch(weights[0], K, j, n1) for j in range(1, 12)]
    np.testing.assert_allclose(found[0, 1:], expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("values", [1, 50, 4_000_000])
def test_blocks_are_the_whole(monkeypatch, kernel, values):
    monkeypatch.setattr(distance, "BLOCK_VALUES", values)
    weights = signed_weights(5)
    center = CenterDraws.of(weights, Gram.from_rows(kernel, ROWS))
    Z = np.random.default_rng(54).normal(size=(23, 3))
    norm = [w @ kernel(ROWS) @ w for w in weights]
    norm = np.array(norm)
    expected = [
        [kernel([z], [z])[0, 0] - 2 * w @ kernel(ROWS, [z])[:, 0] + n for z in Z]
        for w, n in zip(weights, norm, strict=True)
    ]
    np.testing.assert_allclose(center.values(Z), np.sqrt(expected), rtol=1e-12)
    constant = 1.0 if kernel.normalized else 0.0  # k(z, z), which is the same for all rows
    relative = np.array(expected) - norm[:, None] - constant
    np.testing.assert_allclose(center.raw(Z), relative, rtol=1e-9, atol=1e-12)
    same_norm = np.sqrt(np.array(expected) - norm[:, None] + np.sort(norm)[2])
    np.testing.assert_allclose(center.values(Z, common_norm=True), same_norm, rtol=1e-12)
    np.testing.assert_allclose(center.with_common_norm(np.sqrt(expected)), same_norm, rtol=1e-9)
    cutoff = float(np.median(same_norm)) * 1.0001  # beside the distances, not at one
    score, probability = center.decision(Z, center.limit(cutoff, 0.3))
    np.testing.assert_array_equal(probability, (same_norm <= cutoff).mean(axis=0))
    moved = np.sqrt(expected) <= center.cutoffs(cutoff)[:, None]  # the cutoff moves with the norm
    np.testing.assert_array_equal(probability, moved.mean(axis=0))
    np.testing.assert_array_equal(
        center.probability_normal(Z, center.limit(cutoff, 0.3)), probability
    )
    quantile = distance_quantile(same_norm, 0.3)
    np.testing.assert_allclose(center.value_of(score), quantile, rtol=1e-12)
    np.testing.assert_array_equal(center.scores(Z, 0.3), score)
    shares = (0.0, 0.05, 0.3, 0.95, 1.0)
    again = center.decision(Z, center.limit(cutoff, 0.3), shares)
    np.testing.assert_array_equal(again[:2], [score, probability])
    np.testing.assert_allclose(again[2:], np.quantile(same_norm, shares, axis=0), rtol=1e-12)
    needed = np.arange(23) == 7
    some = center.decision(Z, center.limit(cutoff, 0.3), needed=needed)
    np.testing.assert_array_equal(some[:, 7], [score[7], probability[7]])
    others = np.delete(some, 7, axis=1)  # those of the same block, or none
    assert np.isnan(others).any() == (values != 4_000_000)
    places = []
    center._each(places.append, 23)
    assert (len(places) == 1) == (values == 4_000_000)
    places.sort(key=lambda place: place.start)
    np.testing.assert_array_equal(np.concatenate([np.arange(23)[p] for p in places]), np.arange(23))


def shuffled(table):
    """Rows of the two classes in any order."""
    X, y = table
    order = np.random.default_rng(55).permutation(len(X))
    return X[order], y[order]


def without_row(w, K, j, n1=0):
    """Squared distances (draws,) of point j left out, with the median norm of all rows' centre."""
    f = np.array([from_scratch(v, K, j, n1) for v in w])
    return K[j, j] - 2 * f + upper_median(np.einsum("di,ij,dj->d", w, K, w))


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("name", ["BDD simplex", "BSVDD", "BSVDDM"])
def test_estimators_leave_out_each_row_of_mixed_classes(make, table, name):
    """Each row is paired with its own weight."""
    X, y = shuffled(table)
    kernel = kernels.RBF(1.5)
    est = make(name, kernel=kernel, cutoff=Cutoff("g_mean")).fit(X, y)
    w = est.idata_["posterior"]["w"].values
    w = w.reshape(-1, w.shape[-1])
    dictionary = [*np.flatnonzero(y == 0)] + ([*np.flatnonzero(y == 1)] if name == "BSVDDM" else [])
    K, n1 = kernel(X[dictionary]), 6 if name == "BSVDDM" else 0
    squares = common_norm(est, est.distance(X)) ** 2
    for place, row in enumerate(dictionary):
        squares[:, row] = without_row(w, K, place, n1)
    quantile = distance_quantile(squares) ** 0.5
    np.testing.assert_allclose(est.idata_["decision"]["left_out"], quantile, rtol=1e-10)
    expected = Cutoff("g_mean").choose(quantile, y == 1)
    assert est.cutoff_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_bdd_leaves_out_each_majority_row_of_mixed_classes(make, table):
    """Medians of squared left-out distances: kernel sums of refits, and the norm of all rows."""
    X, y = shuffled(table)
    kernel, prior, draws = kernels.RBF(1.5), priors.Flat(0.7), 8000
    policy = Cutoff("g_mean")
    est = make("BDD", kernel=kernel, prior=prior, likelihood_scale=2.0, draws=draws, cutoff=policy)
    est.fit(X, y)
    found = est.idata_["decision"]["left_out"].values
    assert est.cutoff_ == policy.choose(found, y == 1)
    inside = common_norm(est, est.idata_["distance"]["d"])
    np.testing.assert_allclose(found[y == 1], distance_quantile(inside)[y == 1], rtol=1e-12)
    whole = Gram.from_rows(kernel, X[y == 0])
    mean, upper = bdd.posterior(whole, prior, 2.0)
    for row in np.flatnonzero(y == 0):
        rest = np.setdiff1d(np.flatnonzero(y == 0), [row])
        gram = Gram.from_rows(kernel, X[rest])
        # the same standard normal numbers for both posteriors, but for the point that is gone
        rng = np.random.default_rng(row)
        w = bdd.draw(mean, upper, draws, rng)
        norm = np.einsum("di,ij,dj->d", w, whole.K, w)
        v = bdd.draw(*bdd.posterior(gram, prior, 2.0), draws, rng)
        f = v @ kernel(X[rest], X[[row]])[:, 0]
        # f and the norm depend on each other in our draws: compare the means, not medians
        ours = est._leave_one_out(est._fit.data).kernel_sums(est._fit.rule.weights, est._fit.data)
        place = np.flatnonzero(np.flatnonzero(y == 0) == row)[0]
        error = np.sqrt(2 * f.var() / draws)
        assert abs(ours[0][:, place].mean() - f.mean()) < 4.5 * error
        d2 = 1 - 2 * ours[0][:, place] + upper_median(est._fit.rule.squared_norm)
        assert found[row] ** 2 == pytest.approx(distance_quantile(d2[:, None])[0], rel=1e-12)
        assert abs(np.median(norm) - np.median(est._fit.rule.squared_norm)) < 0.05


def far_rows(*distances):
    """Rows in the direction of the first column."""
    return np.array([[d, 0.0, 0.0] for d in distances])


@pytest.mark.parametrize("kernel", [kernels.RBF(1.1), kernels.Laplacian(0.9)], ids=repr)
@pytest.mark.parametrize("draws", [1, 20])
def test_scores_have_all_digits_and_do_not_underflow(kernel, draws):
    """Against logarithms in exact arithmetic, of each draw."""
    weights = simplex_weights(draws)
    center = CenterDraws.of(weights, Gram.from_rows(kernel, ROWS), nonnegative=True)
    Z = far_rows(3.0, 8.0, 30.0, 60.0, 500.0, 1e5)
    score = center.scores(Z, 0.5)
    assert (np.diff(score) < 0).all()
    for z, found in zip(Z, score, strict=True):
        exponents = np.array([float(kernel.log([z], [u])[0, 0]) for u in ROWS])
        top = exponents.max()
        terms = [
            [
                Fraction(math.exp(e - top)) * Fraction(w)
                for w, e in zip(of_draw, exponents, strict=True)
            ]
            for of_draw in weights
        ]
        decisive = sorted(map(sum, terms), reverse=True)[draws // 2]
        assert found == pytest.approx(math.log(2) + top + math.log(decisive), rel=1e-10)
    assert kernel(Z[-1:], ROWS).max() == 0.0  # where k underflows
    d = distance_quantile(center.values(Z, common_norm=True))
    assert d[-1] == d[-2] == d[-3]  # and distances tie
    near = np.random.default_rng(56).normal(size=(200, 3))
    d2 = distance_quantile(center.values(near, common_norm=True)) ** 2
    limit = 1.0 + upper_median(center.squared_norm)
    np.testing.assert_allclose(center.scores(near, 0.5), np.log(limit - d2), atol=1e-9)


def test_decisions_agree_with_distances_where_these_can_tell():
    """P(normal) is the share of draws at or below D_opt, and a score decides as the median does."""
    for weights in (simplex_weights(21), signed_weights(21)):
        for kernel in (*KERNELS, kernels.RBF(0.3)):
            gram = Gram.from_rows(kernel, ROWS)
            center = CenterDraws.of(weights, gram, nonnegative=bool((weights >= 0).all()))
            Z = np.random.default_rng(57).normal(size=(300, 3)) * 1.5
            d = center.values(Z, common_norm=True)
            for cutoff in np.quantile(np.median(d, axis=0), [0.2, 0.5, 0.9]) * (1 + 1e-9):
                for level in (0.2, 0.5, 0.8):
                    limit = center.limit(cutoff, level)
                    score, p = center.decision(Z, limit)
                    np.testing.assert_array_equal(p, (d <= cutoff).mean(axis=0))
                    np.testing.assert_array_equal(score >= limit.score, p > level)


@pytest.mark.parametrize("level", [0.3, 0.5])
def test_probability_and_score_agree_where_kernel_values_underflow(level):
    """The cutoff itself is at a row whose kernel values are all 0."""
    gram = Gram.from_rows(kernels.RBF(0.05), ROWS)
    center = CenterDraws.of(simplex_weights(20), gram, nonnegative=True)
    Z = far_rows(1.0, 3.0, 4.0, 5.0)
    offset = center.scores(Z, level)[2]
    assert offset < -900
    score, p = center.decision(Z, distance.Limit(center.value_of(offset), offset, level))
    np.testing.assert_array_equal(p > level, score >= offset)
    np.testing.assert_array_equal(score >= offset, [True, True, True, False])


@pytest.mark.parametrize("weights", [simplex_weights(1), simplex_weights(15)], ids=["one", "draws"])
def test_left_out_points_that_underflow_are_ordered_too(weights):
    """Twelve rows, each so far from all others that k underflows."""
    kernel, points = kernels.RBF(0.01), np.cumsum(np.arange(1.0, 13.0))[:, None]
    gram = Gram.from_rows(kernel, points)
    center = CenterDraws.of(weights, gram, nonnegative=True)
    found = center.left_out_scores(leave_one_out(weights, gram.K), 0.5)
    for j in range(12):
        exponents = np.array([float(kernel.log(points[[j]], points[[i]])[0, 0]) for i in range(12)])
        others = np.arange(12) != j
        left = weights[:, others] / (1 - weights[:, [j]])
        f = logsumexp(exponents[others], axis=1, b=left)
        assert found[j] == pytest.approx(np.log(2) - upper_median(-f), rel=1e-12)


def test_a_middle_lies_half_way_in_the_distance():
    for weights in (simplex_weights(5), signed_weights(5)):
        gram = Gram.from_rows(KERNELS[0], ROWS)
        center = CenterDraws.of(weights, gram, nonnegative=bool((weights >= 0).all()))
        a, b = (np.array(center.score_of(d)) for d in (0.8, 0.9))
        assert center.value_of(center.middle(a, b)) == pytest.approx(0.85, rel=1e-12)
    # where distances agree in all digits: half-way between e^-50 and e^-1000000
    gram = Gram.from_rows(KERNELS[0], ROWS)
    center = CenterDraws.of(simplex_weights(5), gram, nonnegative=True)
    found = center.middle(np.array(-50.0), np.array(-1e6))
    assert found == pytest.approx(-50.0 - np.log(2), rel=1e-12)


def test_left_out_scores_of_weighted_draws():
    """A draw with nearly all the weight of its point decides alone."""
    gram = Gram.from_rows(KERNELS[0], ROWS)
    center = CenterDraws.of(signed_weights(9), gram)
    f = leave_one_out(center.weights, gram.K, 3)
    log_weight = np.zeros((9, 12))
    decisive = np.arange(12) % 9
    log_weight[decisive, np.arange(12)] = 50.0
    found = center.left_out_scores(f, 0.5, log_weight)
    np.testing.assert_allclose(found, 2.0 * f[decisive, np.arange(12)], rtol=1e-10)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
@pytest.mark.parametrize(
    ("kernel", "weights", "nonnegative"),
    [
        (KERNELS[0], simplex_weights(), True),
        (KERNELS[0], np.repeat(simplex_weights(1), 7, axis=0), True),
        (KERNELS[0], simplex_weights(1), True),
        (KERNELS[1], signed_weights(), False),
    ],
    ids=["draws", "equal draws", "one draw", "signed"],
)
def test_counts_of_draws_decide_as_scores_do(kernel, weights, nonnegative, level):
    """Also where a cutoff is so close to a score that the counts have no digits left to decide."""
    gram = Gram.from_rows(kernel, ROWS)
    rule = CenterDraws.of(weights, gram, nonnegative=nonnegative)
    rows = np.concatenate([ROWS, 3.0 * ROWS, [[1e3, 0.0, 0.0]]])
    score = rule.scores(rows, level)
    for at in score:
        close = 1e-13 * max(1.0, abs(at))
        for cutoff in (at - close, at + close, -math.inf):
            limit = distance.Limit(math.nan, cutoff, level)
            np.testing.assert_array_equal(rule.is_normal(rows, limit), score >= cutoff)


def test_a_draw_whose_proximity_underflows_to_zero_is_beyond_a_cutoff_that_underflows_too():
    gram = Gram.from_rows(kernels.RBF(1.0), np.array([[0.0], [40.0]]))
    rule = CenterDraws.of(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), gram, nonnegative=True)
    row = np.array([[-0.5]])
    logs = math.log(2.0) + gram.kernel.log(row, np.array([[0.0], [0.0], [40.0]])).ravel()
    assert logs[2] < -745.0  # its exponential is 0
    limit = distance.Limit(math.nan, -760.0, 0.5)
    expected = np.mean(logs >= limit.score)
    assert rule.probability_normal(row, limit)[0] == pytest.approx(expected)
    assert expected == pytest.approx(2 / 3)
