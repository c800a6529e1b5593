"""The boundary by hand: bootstrap of groups, the unseen row, missing cells."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.inference.boundary import Boundary, above_zero, near_rank
from bsvdd.inference.draws import Draws, Parts
from bsvdd.inference.fit import Fit
from bsvdd.models.bsvdd import BSVDD
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.kernels import RBF, Laplacian
from bsvdd.models.rows import CompleteRows, Rows
from bsvdd.models.signed import signed_parts
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import chi2, expon, gamma, ks_2samp, kstest

from bsvdd import BDD, BSVDDM, SVDD, cutoffs, priors
from tests.models.helpers import left_out, rbf, squared_distances

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

RNG = np.random.default_rng(61)
ROWS, NEW = RNG.normal(size=(99, 2)), 1.5 * RNG.normal(size=(200, 2))
K = rbf(ROWS, ROWS, 0.8)
CASES = {
    "rows": (np.ones(99), np.arange(99)),
    "weights": (RNG.exponential(size=99), np.arange(99)),
    "groups": (RNG.uniform(0.5, 2.0, 99), np.arange(99) % 33),
}


def draws_of(gram, w):
    return Draws(BSVDD(gram, priors.Flat()), w)


def fit_of(case, rate=0.1, draws=2000):
    """Return a fit whose weights are drawn here, on and off the simplex."""
    t, group = CASES[case]
    gram = Dictionary.of(RBF(0.8), Rows.of(ROWS, None, t, group))
    rng, sizes = np.random.default_rng(1), gram.sizes
    w = sizes * np.maximum(1.0 + 0.5 * rng.normal(size=(draws, len(sizes))), 0.1) / 99.0
    return Fit.of(draws_of(gram, w), cutoffs.FalseAlarm(rate))


def middle_left_out(fit, case):
    """Return the lower median of s_z of rows without their groups."""
    (t, group), w, of_row = CASES[case], fit.draws.w, fit.dictionary.of_row
    s = left_out(w[:, of_row] * t / np.bincount(of_row, t)[of_row], K, group)
    return np.sort(s, axis=0)[(len(s) - 1) // 2]


def mass_of(case):
    """Return the weight of rows in a cutoff: a group has the mean of its weights."""
    t, group = CASES[case]
    mass = t / np.bincount(group)[group]
    return mass * (group.max() + 1) / mass.sum()


def unseen_by_hand(fit, case, rate):
    """Return u_j, their weights, m_*, r and nu, from left-out rows near the cutoff."""
    (t, group), s, mass = CASES[case], middle_left_out(fit, case), mass_of(case)
    weight, order, close, nearest = t / t.mean(), np.argsort(s), [], np.empty(99)
    kappa, in_effect, end = np.empty(99), np.empty(99), 0.0
    for j in range(99):
        stay = np.where(group == group[j], 0.0, weight)
        sums = np.bincount(group, stay * K[j])
        kappa[j] = sums @ sums / sums.sum()
        in_effect[j] = sums.sum() ** 2 / (sums @ sums)
        nearest[j] = K[j][stay > 0].max()
    for j in order:
        end += mass[j]
        if end > 0.3 * rate * mass.sum() and end - mass[j] <= 3.3 * rate * mass.sum():
            close.append(j)
    u = kappa[close] * np.median(fit.draws.w.sum(axis=1)) / 99
    share = mass[close] / mass[close].sum()
    nu = np.median(in_effect[close])
    close = sorted(close, key=lambda j: nearest[j])
    place = np.cumsum(mass[close]) - mass[close] / 2
    log_near = np.interp(0.05 * mass[close].sum(), place, np.log(nearest[close]))
    r = np.minimum(nearest / np.exp(log_near), 1.0)
    return u, share, np.exp(log_near), r, nu


@pytest.mark.parametrize("rate", [0.1, 0.3])
@pytest.mark.parametrize("case", CASES)
def test_the_unseen_row_and_the_cutoffs_are_those_by_hand(case, rate):
    """Cutoffs are quantiles under weights Exp(1) of groups, with an unseen group."""
    fit, group, mass = fit_of(case, rate), CASES[case][1], mass_of(case)
    u, share, nearest, r, nu = unseen_by_hand(fit, case, rate)
    boundary = fit.boundary
    assert_allclose(np.exp(boundary.log_near), nearest, rtol=1e-9)
    mixture = lambda x: share @ expon(scale=u[:, None]).cdf(x)  # noqa: E731
    assert kstest(np.exp(boundary.log_unseen), mixture).pvalue > 1e-3
    assert kstest(nu / boundary.spread**2, chi2(nu).cdf).pvalue > 1e-3
    s, rng, theta = middle_left_out(fit, case), np.random.default_rng(7), np.empty(2000)
    for t in range(len(theta)):
        raised = s + rng.exponential(size=99) * rng.choice(u, 99, p=share) * r
        order, weight = np.argsort(raised), mass * rng.exponential(size=99)[group]
        places = np.cumsum(weight[order]) - weight[order] / 2.0
        theta[t] = np.interp(rate * weight.sum(), places, np.log(raised[order]))
    above, below = signed_parts(boundary.threshold)
    assert np.isneginf(below).all()
    assert ks_2samp(above, theta).pvalue > 1e-3
    plain = [np.log(np.quantile(s, rate)), np.median(theta)]
    assert plain[1] - plain[0] > 4.0 * theta.std() / np.sqrt(
        len(theta)
    )  # the unseen row counts


def test_answers_are_the_lower_quantiles_of_the_margins_of_the_draws():
    fit = fit_of("rows", draws=501)
    score, P, low, high, distance = fit.decided(0.5, CompleteRows.of(NEW))
    margins = np.sort(fit.margins(CompleteRows.of(NEW)), axis=0)
    assert_array_equal(score, margins[250])
    assert_array_equal([low, high], margins[[125, 375]])
    assert_array_equal(P, (margins >= 0).mean(axis=0))
    d = np.sort(fit.distances(NEW), axis=0)[250]
    assert_allclose(distance, d, rtol=1e-12)
    w, atoms = fit.draws.w, ROWS[fit.dictionary.distinct]
    k = rbf(atoms, NEW, 0.8)
    d2 = squared_distances(w, fit.dictionary.K, k, 1.0)
    printed = fit.changed(cutoff=cutoffs.Printed(1.0))
    assert_allclose(printed.distances(NEW) ** 2, d2, rtol=1e-9, atol=1e-12)
    norm = norm_by_hand(w[:, np.argsort(fit.dictionary.distinct)], K, np.arange(99))
    d2 = 1.0 - 2.0 * w @ k + norm[:, None]
    assert_allclose(fit.distances(NEW) ** 2, d2, rtol=1e-9, atol=1e-12)


def norm_by_hand(w, K, group):
    """Return ||a||^2 if the similarity of a group to itself is that of two groups."""
    same = group[:, None] == group
    rho = K[~same].mean()
    return np.einsum("si,sj,ij->s", w, w, np.where(same, rho, K))


@pytest.mark.parametrize("case", ["rows", "groups"])
def test_a_group_is_not_similar_to_itself_in_the_norm(case):
    _, group = CASES[case]
    gram = Dictionary.of(RBF(0.8), Rows.of(ROWS, None, None, group))
    w = np.random.default_rng(0).dirichlet(np.ones(len(gram.sizes)), size=5)
    of_row = w[:, gram.of_row] / gram.sizes[gram.of_row]
    found = draws_of(gram, w).norm_between
    assert_allclose(found, norm_by_hand(of_row, K, group), rtol=1e-9)


def test_the_norm_is_that_of_the_mean_of_the_population():
    """E k(x, x') of normal rows is (1 + 2 / s^2)^(-p/2)."""
    rng, found, plain = np.random.default_rng(3), [], []
    for _ in range(300):
        gram = Dictionary.of(RBF(0.8), Rows.of(rng.normal(size=(15, 2))))
        draws = draws_of(gram, rng.dirichlet(np.ones(15), size=20))
        found.append(draws.norm_between.mean())
        plain.append(draws.squared_norm.mean())
    wanted = 1.0 / (1.0 + 2.0 / 0.8**2)
    error = np.std(found) / np.sqrt(300)
    assert abs(np.mean(found) - wanted) < 4.0 * error
    assert np.mean(plain) - wanted == pytest.approx(
        2.0 * (1.0 - wanted) / 16.0, rel=0.1
    )


def test_margins_spread_as_students_t_and_keep_their_median():
    fit, new = fit_of("rows", draws=501), CompleteRows.of(NEW)
    plain = replace(fit.boundary, spread=None)
    before = fit.ask(lambda parts: plain.margins(parts).T, new).T
    middle = np.sort(before, axis=0)[250]
    wanted = middle + fit.boundary.spread[:, None] * (before - middle)
    assert_allclose(fit.margins(new), wanted, rtol=1e-9, atol=1e-9)
    assert_array_equal(fit.scores(new), middle)


def test_distances_at_the_cutoff_are_D_opt():
    """A row of margin 0 has the distance D_opt in each draw, if none is unseen."""
    fit = fit_of("rows", draws=501)
    above, _ = signed_parts(fit.boundary.threshold)
    squares = np.sort(1.0 + fit.draws.norm_between - 2.0 * np.exp(above))
    assert fit.D_opt == pytest.approx(np.sqrt(squares[250]), rel=1e-12)


def test_ties_up_to_rounding_count_in_p_values():
    fit = fit_of("rows", draws=200)
    others = np.sort(fit.left_out_scores)
    place = np.arange(99)
    for step, share in (
        (1e-10, place + 2.0),
        (-1e-10, place + 2.0),
        (-1e-7, place + 1.0),
    ):
        assert_allclose(fit.p_values(others + step), share / 100.0)
    assert_allclose(fit.p_values(np.array([-np.inf, np.inf])), [0.01, 1.0])


def test_a_threshold_below_zero_is_the_smallest_value_above():
    """A row that is like none has the value 0; distances are all below it, and stay."""
    values = np.array([[-3.0, 2.0, 5.0], [-3.0, 0.0, 1.0], [-3.0, -2.0, -1.0]])
    found = above_zero(np.array([-1.0, 4.0, -2.0]), values)
    assert_array_equal(found, [2.0, 4.0, -2.0])
    none = np.zeros((2, 0))
    # what is unseen fades
    fading = Boundary(*none, -2.0).fading(np.array([-5.0, -2.0, 0.0]))
    assert_allclose(fading, [-3.0, 0.0, 0.0])
    # rows near the cutoff: of 99 and a rate of .1 it has the rank 9.9: from 3 to 33, or
    # 3 rows
    rows, middle = Rows.of(ROWS), RNG.normal(size=99)
    order = np.argsort(middle)
    assert_array_equal(near_rank(cutoffs.FalseAlarm(0.1), middle, rows), order[2:33])
    assert_array_equal(near_rank(cutoffs.FalseAlarm(0.001), middle, rows), order[:4])


@pytest.mark.parametrize("seed", range(2))
def test_with_labels_far_rows_are_abnormal(seed):
    """The best G-mean alone would call rows far from all training rows normal."""
    rng = np.random.default_rng(seed)
    rows, y = rng.normal(size=(90, 4)), np.arange(90) >= 60
    rows[y] += [2.5, 0.0, 0.0, 0.0]
    est = BSVDDM(draws=60, tune=60, cutoff=cutoffs.Best()).fit(rows, y)
    assert (est.predict([[-1e3] * 4, [0.0, 50.0, 0.0, 0.0]]) == -1).all()
    assert (est.margins()[:, ~y] >= 0).mean() > 0.7


# digits


@pytest.mark.parametrize("kernel", [RBF(0.7), Laplacian(0.7)], ids=repr)
@pytest.mark.parametrize("spread", [1.0, 10.0, 1000.0])
def test_left_out_and_far_rows_have_all_digits(kernel, spread):
    """Also where k underflows."""
    atoms = spread * np.cumsum(np.linspace(0.1, 1.2, 12))[:, None]
    gram = Dictionary.of(kernel, Rows.of(atoms))
    w = np.random.default_rng(0).dirichlet(np.full(12, 0.5), size=7)
    log_k = kernel.log(atoms, atoms)
    draws, expected = draws_of(gram, w), np.empty((7, 12))
    parts = draws.parts(gram.left_out_problems)
    log_p, log_q = parts.log_p, parts.log_q
    of_atom = w[:, gram.of_row]
    for j in range(12):
        left = np.delete(of_atom, j, axis=1)
        left /= left.sum(axis=1, keepdims=True)
        expected[:, j] = logsumexp(np.delete(log_k[j], j), axis=1, b=left)
    found = log_p[:, gram.rows.problems[1]]
    clear = expected > log_p.min() - 1.0
    assert_allclose(found[clear], expected[clear], rtol=1e-9, atol=1e-9)
    assert clear.mean() > 0.8 and (log_q < log_p).all()
    far = gram.new(np.array([[1e4], [1e5], [1e6]]) * spread)
    assert (np.diff(draws.parts(far).log_p, axis=1) < -1e3).all()


def test_one_centre_spreads_as_a_bootstrap_of_the_groups_near_a_row():
    """Gamma(1 / v) v, by the cube of a normal variable; the mean p is kept."""
    n = 20_000
    centre = np.random.default_rng(0).standard_normal(n)
    known = {"centre": centre, "log_u": np.log(0.01), "share": 0.02}
    boundary = Boundary(np.zeros(n), np.zeros(n), **known)
    p = np.array([[0.02, 0.1, 0.5]])
    parts = Parts(p / 0.5, p, np.log(np.full(3, 0.5)), np.zeros(3))
    found = boundary.bootstrapped(parts) * 0.5
    v, shares = 0.01 / p[0] - 0.02, [0.05, 0.5, 0.95]
    of = [gamma(1.0 / v[j], scale=v[j]).ppf(shares) for j in (0, 1)]
    quantiles = np.quantile(found[:, :2], shares, axis=0).T
    assert_allclose(quantiles, p[0, :2, None] * of, rtol=0.03)
    assert_allclose(found[:, 2], 0.5, rtol=1e-7)  # as even as it can be


def test_svdd_has_the_spread_of_its_centre_and_a_posterior_its_own():
    rng = np.random.default_rng(2)
    X, Z = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    est = SVDD().fit(X)
    assert est.fit_.boundary.centre is not None
    assert BDD().fit(X).fit_.boundary.centre is None
    plain = replace(est.fit_.boundary, centre=None)
    before = est.fit_.ask(lambda parts: plain.margins(parts).T, CompleteRows.of(Z))
    width = np.ptp(np.quantile(est.margins(Z), [0.05, 0.95], axis=0), axis=0)
    narrow = np.ptp(np.quantile(before, [0.05, 0.95], axis=1), axis=0)
    assert np.median(width / narrow) > 1.2
