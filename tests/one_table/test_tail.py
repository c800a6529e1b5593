"""The tail of surprises: its grid against random points, and against PyMC; rows that are wild."""

import math

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
from bsvdd.estimators.one_table.odd_rows import OddRows, Posterior
from bsvdd.estimators.one_table.tail import NONE, POWER, SHAPE, Tail
from pytensor.compile.mode import Mode


def tail_of(seed=3, odd=(1.25, 1.4, 1.55)):
    log_t = np.append(0.4 * np.random.default_rng(seed).normal(size=200), odd)
    return Tail.of(np.exp(log_t))


def quadrature(tail, n=30_000):
    """P(no row is odd) and P(odd) by random points of the prior, the densities written again."""
    rng, x, m = np.random.default_rng(0), tail.x, len(tail.x)
    log_h = math.log(1.0 / np.median(x)) + rng.uniform(-1.5, 1.5, (n, 1))
    xi, a = rng.normal(-0.05, 0.1, (n, 1)), np.exp(rng.uniform(*np.log([2.0, 32.0]), (n, 1)))
    e = np.exp(rng.uniform(math.log(0.5 / len(tail.u)), math.log(0.3), (n, 1))) * len(tail.u) / m
    y, U = np.maximum(1.0 + xi * np.exp(log_h) * x, 1e-300), x.max() * (1.0 + 1.0 / m)
    normal = np.exp(log_h) * y ** (-1.0 / xi - 1.0) * (y > 1e-300)
    odd = e * a * x ** (a - 1.0) / U**a
    with np.errstate(divide="ignore"):
        some, none = (np.log(d).sum(axis=1) for d in ((1.0 - e) * normal + odd, normal))
    some, none = (np.exp(d - max(some.max(), none.max())) for d in (some, none))
    share = some @ (odd / ((1.0 - e) * normal + odd)) / some.sum()
    nobody = none.mean() / (none.mean() + some.mean())
    return nobody, (1.0 - nobody) * share


@pytest.mark.parametrize("odd", [(), (1.25, 1.4, 1.55)])
def test_the_grid_is_the_integral(odd):
    tail = tail_of(odd=odd)
    posterior, (none, share) = Posterior.of(tail), quadrature(tail)
    assert posterior.none == pytest.approx(none, abs=0.03)
    np.testing.assert_allclose(posterior.padded(len(tail.x)), share, atol=0.03)


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
        odd = log_a + pt.expm1(log_a) * np.log(x / tail.end) - math.log(tail.end)
        both = pt.logaddexp(pt.log1p(-pt.exp(log_e)) + normal, log_e + odd)
        somebody = math.log1p(-NONE) + (both * count).sum()
        total = pt.logaddexp(somebody, math.log(NONE) + (normal * count).sum())
        pm.Potential("likelihood", total)
        none = pm.Deterministic("none", 1.0 - pt.exp(somebody - total))
        pm.Deterministic("odd", (1.0 - none) * pt.exp(log_e + odd - both), dims="tail")
    return model


def test_the_density_in_pymc_is_that_of_the_grid():
    tail = tail_of()
    model, at = in_pymc(tail), {"xi": 0.07, "log_h": 0.9, "log_share": -4.0, "log_a": 1.5}
    points = [np.array([v]) for v in at.values()]
    both = tail.with_odd(*points).item(), tail.without_odd(*points[:2]).item()
    free = {"xi": at["xi"], "log_h": at["log_h"]}
    for name, (low, high) in {"log_share": tail.shares, "log_a": (2.0, 32.0)}.items():
        rise, fall = at[name] - math.log(low), math.log(high) - at[name]
        free[f"{name}_interval__"] = math.log(rise / fall)
    logp = model.compile_logp(vars=model.potentials, mode=Mode(linker="py", optimizer=None))
    assert float(logp(free)) == pytest.approx(np.logaddexp(*both) - math.log(2.0), rel=1e-9)


def test_wild_rows_are_averaged_out_and_rows_set_aside_are_odd():
    t = np.exp(np.random.default_rng(0).normal(1.25, 0.35, size=300))
    t[:5], t[5:7] = 45.0, (200.0, 1e6)
    found = OddRows.of(Tail.of(t), np.zeros(300, dtype=bool))
    assert np.flatnonzero(found.listed(0.1)).tolist() == list(range(7))
    assert 5 <= found.at_least <= 7 and found.expected == pytest.approx(7.0, abs=1.0)
    aside = np.arange(301) == 300
    more = OddRows.of(Tail.of(t), aside)
    assert more.probability[300] == 1.0 and more.none == 0.0
    assert more.at_least == found.at_least + 1


def test_the_list_is_the_longest_head_that_keeps_the_rate():
    odd = OddRows(np.array([0.99, 0.2, 0.95, 0.8, 0.75, 0.6, 0.45]), 0, 0.0, 0.0)
    assert np.flatnonzero(odd.listed(0.1)).tolist() == [0, 2, 3]
    assert np.flatnonzero(odd.listed(0.3)).tolist() == [0, 2, 3, 4, 5]
    ties = OddRows(np.array([0.99, 0.7, 0.7, 0.7]), 0, 0.0, 0.0)
    assert ties.listed(0.2).tolist() == [True, False, False, False]


@pytest.mark.parametrize(
    "t",
    [np.ones(100), np.r_[np.zeros(60), np.arange(1, 41.0)], np.arange(30.0)],
    ids=["all equal", "most equal", "few"],
)
def test_too_few_different_rows_have_no_tail(t):
    assert Tail.of(t) is None
    found = OddRows.of(None, t == 29.0)
    assert found.at_least == found.listed(0.5).sum() == (t == 29.0).sum()


def test_the_tail_of_many_rows_begins_later_and_its_bins_change_little(monkeypatch):
    rng = np.random.default_rng(0)
    sizes = {200: 100, 2000: 1000, 2500: 1000, 20_000: 6000}
    assert {n: Tail.of(rng.exponential(size=n)).m for n in sizes} == sizes
    log_t = np.append(0.4 * rng.normal(size=1500), 1.6 + 0.2 * rng.normal(size=30))
    none = np.zeros(1530, dtype=bool)
    one = OddRows.of(Tail.of(np.exp(log_t)), none)
    monkeypatch.setattr("bsvdd.estimators.one_table.tail.EXACT", 10_000)
    other = OddRows.of(Tail.of(np.exp(log_t)), none)
    np.testing.assert_allclose(one.probability, other.probability, atol=0.01)
    assert abs(one.at_least - other.at_least) <= 1
