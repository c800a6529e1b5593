"""The tail of surprises: its grid against random points and PyMC; wild rows."""

import math

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from pytensor.compile.mode import Mode

from bsvdd.outliers.odd_rows import OddRows, TailPosterior
from bsvdd.outliers.tail import NO_ODD_CELL, NO_ODD_ROW, POWER, SHAPE, Tail

NONE_KNOWN = np.full((1, 3), np.nan)


def tail_of(seed=3, odd=(1.25, 1.4, 1.55)):
    log_t = np.append(0.4 * np.random.default_rng(seed).normal(size=200), odd)
    return Tail.of(np.exp(log_t))


def quadrature(tail, level, n=60_000):
    """P(nobody is odd), and P(odd) of each stratum, by random points of the prior.

    The densities are written again.
    """
    rng, inside = np.random.default_rng(0), (tail.u > 0)
    U = tail.u.max() * (1.0 + 1.0 / inside.sum())
    off, middle = (
        rng.normal(0.0, 0.25, (n, 1)),
        math.log(math.log(2.0) / np.median(tail.x)),
    )
    h, xi = np.exp(middle + off), rng.normal(-0.05, 0.1, (n, 1))
    a = np.exp(rng.uniform(*np.log([2.0, 32.0]), (n, 1)))
    none, some, share, p = [], [], [], 0.5 ** (0.5 / len(set(level)))
    for each in set(level):
        x, n_l = np.sort(tail.u[inside & (level == each)]), (level == each).sum()
        largest = min(0.3 * len(level) / n_l, 0.99 * len(x) / n_l)
        e = (
            np.exp(rng.uniform(math.log(0.5 / n_l), math.log(largest), (n, 1)))
            * n_l
            / len(x)
        )
        y = np.maximum(1.0 + xi * h * x, 1e-300)
        normal, odd = (
            h * y ** (-1.0 / xi - 1.0) * (y > 1e-300),
            e * a * x ** (a - 1.0) / U**a,
        )
        none.append(p * normal.prod(axis=1))
        some.append((1.0 - p) * ((1.0 - e) * normal + odd).prod(axis=1))
        share.append(odd / ((1.0 - e) * normal + odd))
    weight = np.exp(
        0.5 * (off[:, 0] / 0.25) ** 2
    )  # of which the density is divided out
    both = [a + b for a, b in zip(none, some, strict=True)]
    total = weight * np.prod(both, axis=0)
    shares = [
        (total * s / b) @ p / total.sum()
        for s, b, p in zip(some, both, share, strict=True)
    ]
    return (weight * np.prod(none, axis=0)).sum() / total.sum(), shares


@pytest.mark.parametrize("odd", [(), (1.25, 1.4, 1.55)])
def test_the_grid_is_the_integral(odd):
    tail = tail_of(odd=odd)
    posterior, (none, (share,)) = (
        TailPosterior.of(tail),
        quadrature(tail, np.zeros(len(tail.u))),
    )
    assert posterior.none == pytest.approx(none, abs=0.03)
    np.testing.assert_allclose(posterior.padded(tail.strata[0]), share, atol=0.03)


def two_strata(odd):
    """60 rows, the last of which are odd, and 200 that are not."""
    rng = np.random.default_rng(4)
    log_t = np.r_[0.4 * rng.normal(size=60 - odd), rng.normal(1.0, 0.15, odd)]
    log_t = np.r_[log_t, 0.4 * rng.normal(size=200)]
    return np.exp(log_t), np.repeat([0, 1], [60, 200])


@pytest.mark.parametrize("odd", [0, 6, 25])
def test_strata_have_shares_of_their_own_by_the_whole_integral(odd):
    t, level = two_strata(odd)
    tail = Tail.of(t, level=level)
    posterior, (none, shares) = TailPosterior.of(tail), quadrature(tail, level)
    assert posterior.none == pytest.approx(none, abs=0.03)
    for stratum, share in zip(tail.strata, shares, strict=True):
        np.testing.assert_allclose(posterior.odd[stratum.level], share, atol=0.06)
    # draws of the numbers of both have the means that P(odd) has
    every = {s.level: np.ones(len(s.x), dtype=bool) for s in tail.strata}
    drawn = posterior.numbers(np.random.default_rng(0), 20_000, tail, every).mean(
        axis=0
    )
    np.testing.assert_allclose(
        drawn, [p.sum() for p in posterior.odd.values()], atol=0.15
    )


def test_one_stratum_is_none_and_neither_order_nor_binning_matters(monkeypatch):
    t, level = two_strata(25)
    none = np.zeros(len(t), dtype=bool)
    one, same = (OddRows.of(Tail.of(t, level=v), none, v) for v in (None, 0 * level))
    np.testing.assert_array_equal(one.probability, same.probability)
    found, order = OddRows.of(Tail.of(t, level=level), none, level), np.argsort(-t)
    moved = OddRows.of(Tail.of(t[order], level=level[order]), none, level[order])
    np.testing.assert_allclose(moved.probability, found.probability[order], rtol=1e-9)
    np.testing.assert_array_equal(moved.numbers, found.numbers)
    middle, low, high = found.numbers.T
    assert (low <= middle).all() and (middle <= high).all()
    assert low[0] <= 25 <= high[0] and high[1] <= 3
    monkeypatch.setattr("bsvdd.outliers.tail.MOST_EXACT", 40)
    monkeypatch.setattr("bsvdd.outliers.tail.TAIL_BINS", 60)
    coarse = OddRows.of(Tail.of(t, level=level), none, level)
    np.testing.assert_allclose(coarse.probability, found.probability, atol=0.03)


def test_a_stratum_whose_rows_are_all_wild_or_all_inside_has_an_answer():
    t = np.r_[
        np.exp(0.4 * np.random.default_rng(0).normal(size=200)), 30.0, 31.0, 0.1, 0.2
    ]
    level = np.r_[np.zeros(200, dtype=int), 1, 1, 2, 2]
    found = OddRows.of(Tail.of(t, level=level), np.zeros(204, dtype=bool), level)
    assert found.probability[200:202].min() > 0.9 and not found.probability[202:].any()
    assert found.numbers[1].tolist() == [2, 2, 2] and found.numbers[2].tolist() == [
        0,
        0,
        0,
    ]
    aside = np.arange(205) == 204
    for last in (2, 3):  # one of a stratum, or all
        more = OddRows.of(Tail.of(t, level=level), aside, np.append(level, last))
        assert (
            more.numbers[last].tolist() == [1, 1, 1] and len(more.numbers) == last + 1
        )
        assert more.at_least == found.at_least + 1


@pytest.mark.parametrize(
    "nearer",
    [
        [12.0, 5.2, 3.9, 3.9, 3.8, 3.7],
        5.0 + np.arange(20) / 20.0,
        [5.2, 3.9, 3.9, 3.8, 3.7, 3.6, 7.0, 13.0, 25.0, 45.0],
    ],
    ids=["six errors", "twenty alike", "no gap"],
)
def test_alike_rows_far_away_hide_no_nearer_ones(nearer):
    """As fifteen codes for "not known" beside errors: these had P(odd) = 0."""
    rng, odd = np.random.default_rng(0), len(nearer) + 15
    t = np.r_[np.exp(0.2 * rng.normal(size=580)), nearer, 77.0 + rng.normal(size=15)]
    found = OddRows.of(Tail.of(t), np.zeros(len(t), dtype=bool))
    assert found.probability[580:].min() > 0.9 and found.probability[:580].max() < 0.5
    assert odd - 6 <= found.at_least <= odd and found.none < 1e-9


def test_the_density_of_a_group_beyond_a_gap_is_its_integral():
    tail = tail_of(odd=(2.1, 2.15, 2.2))
    (v,), U, m = tail.gaps, tail.until(tail.gaps[0]).end, tail.m
    x = tail.x[v:]
    assert len(x) == 3 and pytest.approx(tail.x[v - 1] * (1.0 + 1.0 / (m - 3.0))) == U
    share, a = (np.linspace(*np.log(ends), 4000) for ends in ((1e-9, 1.0), POWER))
    of_share = np.exp(3.0 * share) * (1.0 - np.exp(share)) ** (m - 3.0)
    end = x[-1] / np.linspace(1e-6, 1.0, 4000)  # U / end^2 d end is U / x[-1] of these
    of_a = np.prod(np.exp(a) * x[:, None] ** np.expm1(a), axis=0)
    of_end = (
        np.trapezoid(end[:, None] ** (-3.0 * np.exp(a)), x[-1] / end, axis=0)
        * U
        / x[-1]
    )
    group = np.trapezoid(of_share, share) / np.log(0.6 * len(tail.u))
    group *= np.trapezoid(of_a * of_end, a) / np.log(16.0)
    assert tail.log_group(v) == pytest.approx(np.log(group), abs=0.02)


def test_no_tail_is_of_equal_rows():
    """A tail of which 41 rows are equal, before 59 beyond a gap: all 100 were odd."""
    t = np.r_[
        np.linspace(0.5, 1.0, 100),
        np.full(41, math.exp(0.6)),
        np.linspace(6.0, 8.0, 59),
    ]
    tail = Tail.of(t)
    assert tail.gaps == [] and tail.least == 60
    assert OddRows.of(tail, np.zeros(200, dtype=bool)).probability[:141].max() < 0.5


def test_rows_beyond_a_gap_count_by_their_numbers_where_a_tail_has_bins(monkeypatch):
    rng = np.random.default_rng(1)
    t = np.r_[np.exp(0.2 * rng.normal(size=2000)), 40.0 + rng.normal(size=300)]
    monkeypatch.setattr("bsvdd.outliers.tail.MOST_EXACT", 100)
    found = OddRows.of(Tail.of(t), np.zeros(2300, dtype=bool))
    assert found.probability[2000:].min() > 0.99 and 295 <= found.at_least <= 300


def in_pymc(tail):
    """Return the model of a tail in PyMC, whether any row is odd summed out."""
    x, count, scale = tail.x, tail.count, tail.n / tail.m
    with pm.Model(coords={"tail": range(len(x))}) as model:
        log_h = pm.Flat("log_h", initval=-math.log(float(np.median(x))))
        xi = pm.Normal("xi", *SHAPE)
        log_share = pm.Uniform("log_share", *np.log(tail.shares))
        log_a = pm.Uniform("log_a", *np.log(POWER))
        log_e = log_share + math.log(scale)
        y = 1.0 + xi * pt.exp(log_h) * x
        inside = pt.gt(y, 0.0)
        normal = log_h - (1.0 / xi + 1.0) * pt.log(pt.switch(inside, y, 1.0))
        normal = pt.switch(inside, normal, -np.inf)
        a, end = pt.exp(log_a), tail.end
        odd = pt.log(0.9 * a * x ** (a - 1.0) / end**a + 0.1 * 2.0 * x / end**2)
        both = pt.logaddexp(pt.log1p(-pt.exp(log_e)) + normal, log_e + odd)
        somebody = math.log1p(-NO_ODD_ROW) + (both * count).sum()
        total = pt.logaddexp(somebody, math.log(NO_ODD_ROW) + (normal * count).sum())
        pm.Potential("likelihood", total)
        none = pm.Deterministic("none", 1.0 - pt.exp(somebody - total))
        pm.Deterministic("odd", (1.0 - none) * pt.exp(log_e + odd - both), dims="tail")
    return model


def test_the_density_in_pymc_is_that_of_the_grid():
    (tail,) = tail_of().strata
    model, at = (
        in_pymc(tail),
        {"xi": 0.07, "log_h": 0.9, "log_share": -4.0, "log_a": 1.5},
    )
    points = [np.array([v]) for v in at.values()]
    both = tail.with_odd(*points).item(), tail.without_odd(*points[:2]).item()
    free = {"xi": at["xi"], "log_h": at["log_h"]}
    for name, (low, high) in {"log_share": tail.shares, "log_a": (2.0, 32.0)}.items():
        rise, fall = at[name] - math.log(low), math.log(high) - at[name]
        free[f"{name}_interval__"] = math.log(rise / fall)
    logp = model.compile_logp(
        vars=model.potentials, mode=Mode(linker="py", optimizer=None)
    )
    assert float(logp(free)) == pytest.approx(
        np.logaddexp(both[0] + math.log1p(-NO_ODD_ROW), both[1] + math.log(NO_ODD_ROW)),
        rel=1e-9,
    )


def test_wild_rows_are_averaged_out_and_rows_set_aside_are_odd():
    t = np.exp(np.random.default_rng(0).normal(1.25, 0.35, size=300))
    t[:5], t[5:7] = 45.0, (200.0, 1e6)
    found = OddRows.of(Tail.of(t), np.zeros(300, dtype=bool))
    assert np.flatnonzero(found.listed(0.1)).tolist() == list(range(7))
    assert 5 <= found.at_least <= 7 and found.probability.sum() == pytest.approx(
        7.0, abs=1.0
    )
    aside = np.arange(301) == 300
    more = OddRows.of(Tail.of(t), aside)
    assert more.probability[300] == 1.0 and more.none == 0.0
    assert more.at_least == found.at_least + 1


def test_the_list_is_the_longest_head_that_keeps_the_rate():
    odd = OddRows(np.array([0.99, 0.2, 0.95, 0.8, 0.75, 0.6, 0.45]), 0, 0.0, NONE_KNOWN)
    assert np.flatnonzero(odd.listed(0.1)).tolist() == [0, 2, 3]
    assert np.flatnonzero(odd.listed(0.3)).tolist() == [0, 2, 3, 4, 5]
    ties = OddRows(np.array([0.99, 0.7, 0.7, 0.7]), 0, 0.0, NONE_KNOWN)
    assert ties.listed(0.2).tolist() == [True, False, False, False]


def test_two_sources_of_evidence_are_independent_and_share_one_prior():
    assert pytest.approx(2.0 / 3.0, abs=0.01) == NO_ODD_ROW * NO_ODD_CELL
    unknown = math.nan
    one = OddRows(np.array([0.5, 0.0, unknown, unknown]), 3, 0.4, np.array([[3, 2, 4]]))
    other = OddRows(np.array([0.6, 0.2, 0.3, unknown]), 1, 0.5, np.array([[2, 1, 9]]))
    both = one.joined(other)
    np.testing.assert_allclose(both.probability, [0.8, 0.2, 0.3, unknown])
    assert both.none == pytest.approx(0.2) and both.at_least == 3
    assert both.numbers.tolist() == [[3, 2, 9]]
    nothing = OddRows.of(None, np.zeros(4, dtype=bool))
    alone = one.joined(nothing)
    np.testing.assert_array_equal(alone.probability, one.probability)
    assert (alone.none, alone.at_least) == (one.none, one.at_least)


@pytest.mark.parametrize(
    "t",
    [np.ones(100), np.r_[np.zeros(60), np.arange(1, 41.0)], np.arange(30.0)],
    ids=["all equal", "most equal", "few"],
)
def test_too_few_different_rows_have_no_tail(t):
    assert Tail.of(t) is None
    found = OddRows.of(None, t == 29.0)
    assert found.at_least == found.listed(0.5).sum() == (t == 29.0).sum()


def test_the_bins_of_a_tail_change_little(monkeypatch):
    rng = np.random.default_rng(0)
    log_t = np.append(0.4 * rng.normal(size=900), 1.6 + 0.2 * rng.normal(size=30))
    none = np.zeros(930, dtype=bool)
    one = OddRows.of(Tail.of(np.exp(log_t)), none)
    monkeypatch.setattr("bsvdd.outliers.tail.MOST_EXACT", 10_000)
    other = OddRows.of(Tail.of(np.exp(log_t)), none)
    np.testing.assert_allclose(one.probability, other.probability, atol=0.01)
    assert abs(one.at_least - other.at_least) <= 1


def test_the_upper_half_of_a_tail_is_the_tail_that_begins_there():
    rng = np.random.default_rng(0)
    t = np.exp(rng.normal(size=4000))
    level = rng.integers(0, 2, 4000)
    half, later = Tail.of(t, level=level).upper_half, Tail.of(t, 0.75, level)
    assert half.within.sum() == half.m == later.m == 1000
    np.testing.assert_allclose(half.u, later.u, atol=1e-3)  # of quantiles
    np.testing.assert_array_equal(half.count.sum(axis=1), later.count.sum(axis=1))
    assert Tail.of(np.arange(1.0, 60.0)).upper_half is None


@pytest.mark.parametrize("n", [2000, 20_000])
def test_no_row_of_many_clean_rows_is_odd(n):
    """The upper half of a chi-squared is no GPD: most such tables had a list."""
    none = np.zeros(n, dtype=bool)
    found = []
    for seed in range(10):
        t = np.random.default_rng(seed).chisquare(5, n)
        found.append(OddRows.of(Tail.of(t), none))
    assert sum(each.listed().any() for each in found) <= 1
    assert max(each.at_least for each in found) == 0


@pytest.mark.parametrize("share", [0.01, 0.2])
def test_many_odd_rows_of_many_are_listed(share):
    """A tail of 500 of 20,000 rows would have nothing but odd rows."""
    n, odd = 20_000, round(20_000 * share)
    rng = np.random.default_rng(0)
    t = np.append(rng.chisquare(16, n - odd), 100.0 + 5.0 * rng.normal(size=odd))
    found = OddRows.of(Tail.of(t), np.zeros(n, dtype=bool))
    assert found.listed()[n - odd :].mean() > 0.99
    assert found.listed()[: n - odd].sum() <= 0.02 * odd
