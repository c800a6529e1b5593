"""The model of the tail of surprises: its grid against quadrature, and against nutpie."""

import math

import numpy as np
import pymc as pm
import pytest
from bsvdd.models import odd_rows
from bsvdd.models.odd_rows import OddRows, Tail, build

RNG = np.random.default_rng(3)
CLEAN = np.exp(0.4 * RNG.normal(size=200))
SOME = np.concatenate([CLEAN, np.exp(2.0 + 0.1 * RNG.normal(size=8))])
UNSURE = np.concatenate([CLEAN, np.exp([1.25, 1.4, 1.55])])
TABLES = {"clean": CLEAN, "some": SOME, "unsure": UNSURE}


def test_odd_rows_are_found_and_none_in_a_clean_table():
    some, clean = OddRows.of(Tail.of(SOME)), OddRows.of(Tail.of(CLEAN))
    assert some.listed(0.1)[200:].all() and some.listed(0.1).sum() <= 9
    assert 4 <= some.at_least <= 8 and some.none < 0.01
    assert not clean.listed(0.1).any() and clean.at_least == 0 and clean.none > 0.5
    order = np.argsort(SOME)
    assert (np.diff(some.probability[order]) >= 0).all()


def test_the_tail_of_many_rows_begins_later():
    t = np.random.default_rng(0).exponential(size=20_000)
    sizes = {200: 100, 2000: 1000, 2500: 1000, 20_000: 6000}
    assert {n: Tail.of(t[:n]).inside.sum() for n in sizes} == sizes
    assert Tail.of(t, 0.9).inside.sum() == 2000
    assert Tail.of(t).u[t == np.quantile(t, 0.7, method="higher")] > 0.0


def test_many_clean_rows_have_hardly_an_odd_one():
    """Of squared distances of 10,000 normal rows, beyond the median 3 to 14 would be called odd."""
    for seed, most in enumerate((0, 0, 1, 0)):
        t = np.random.default_rng(seed).chisquare(6, size=10_000) + 3.0
        assert OddRows.of(Tail.of(t)).at_least <= most
        assert 3 <= OddRows.of(Tail.of(t, 0.5)).at_least <= 14


def by_logp(tail, n=40_000, seed=0):
    """P(odd) by importance sampling, row by row, with the densities written again."""
    rng = np.random.default_rng(seed)
    x, m, rows = tail.x, len(tail.x), len(tail.u)
    log_h = math.log(1 / np.median(x)) + rng.uniform(-1.5, 1.5, n)
    xi, log_a = rng.normal(-0.05, 0.1, n), rng.uniform(math.log(2), math.log(32), n)
    e = np.exp(rng.uniform(math.log(0.5 / rows), math.log(0.3), n)) * rows / m
    U, total, odd, empty = x.max() * (1 + 1 / m), [], [], []
    for i in range(n):
        y = 1 + xi[i] * math.exp(log_h[i]) * x
        gpd = np.where(y > 0, math.exp(log_h[i]) * np.maximum(y, 1e-300) ** (-1 / xi[i] - 1), 0.0)
        a = math.exp(log_a[i])
        power = e[i] * a * x ** (a - 1) / U**a
        both = (1 - e[i]) * gpd + power
        with np.errstate(divide="ignore"):
            total.append(np.log(both).sum())
            empty.append(np.log(gpd).sum())
        odd.append(power / both)
    largest = max(max(total), max(empty))
    with_odd, without = np.exp(np.array(total) - largest), np.exp(np.array(empty) - largest)
    nobody, somebody = without.mean(), with_odd.mean()
    none = nobody / (nobody + somebody)
    return none, (1 - none) * (with_odd @ np.array(odd)) / with_odd.sum()


@pytest.mark.parametrize("name", ["clean", "unsure"])
def test_the_grid_is_the_integral(name):
    tail = Tail.of(TABLES[name])
    found = OddRows.of(tail)
    none, odd = by_logp(tail)
    assert found.none == pytest.approx(none, abs=0.03)
    of_tail = np.sort(found.probability[tail.inside])
    np.testing.assert_allclose(of_tail, np.maximum.accumulate(odd), atol=0.03)


@pytest.mark.long
@pytest.mark.parametrize("name", ["unsure", "some"])
def test_the_grid_is_the_pymc_model(name):
    tail = Tail.of(TABLES[name])
    found = OddRows.of(tail)
    with build(tail):
        drawn = pm.sample(
            20_000, tune=2000, chains=4, nuts_sampler="nutpie", random_seed=1, progressbar=False
        )
    posterior = drawn["posterior"]
    assert found.none == pytest.approx(float(posterior["none"].mean()), abs=0.01)
    odd = posterior["odd"].mean(("chain", "draw")).values
    of_tail = np.sort(found.probability[tail.inside])
    np.testing.assert_allclose(of_tail, np.maximum.accumulate(odd), atol=0.01)


def test_the_density_of_the_pymc_model_is_that_of_the_grid():
    tail = Tail.of(UNSURE)
    model = build(tail)
    point = {"log_h": 0.9, "xi": 0.07, "log_share": -4.0, "log_a": 1.5}
    at = [np.array([v]) for v in (0.07, 0.9, -4.0, 1.5)]
    count = np.ones(len(tail.x))
    with_odd = odd_rows._with(tail.x, count, tail, *at).item()
    without = odd_rows._without(tail.x, count, *at[:2]).item()
    expected = np.logaddexp(with_odd, without) + math.log(0.5)
    low, high = np.log([0.5 / len(tail.u), 0.3])
    first, last = np.log([2.0, 32.0])
    values = {
        "log_h": np.array(point["log_h"]),
        "xi": np.array(point["xi"]),
        "log_share_interval__": np.log((point["log_share"] - low) / (high - point["log_share"])),
        "log_a_interval__": np.log((point["log_a"] - first) / (last - point["log_a"])),
    }
    found = model.compile_logp(vars=model.potentials)(values)
    assert float(found) == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("wild", [1e2, 1e8])
def test_one_wild_value_hides_no_other_odd_row(wild):
    """A surprise is as large as the square of a value, and beyond an end all are alike."""
    surprise = np.exp(np.random.default_rng(0).normal(1.25, 0.35, size=300))
    surprise[:5] = 45.0
    surprise[5] = wild
    found = OddRows.of(Tail.of(surprise))
    assert np.flatnonzero(found.listed(0.1)).tolist() == [0, 1, 2, 3, 4, 5]
    assert found.at_least >= 5


def test_bins_change_little(monkeypatch):
    t = np.concatenate(
        [np.exp(0.4 * RNG.normal(size=1500)), np.exp(1.6 + 0.2 * RNG.normal(size=30))]
    )
    binned = OddRows.of(Tail.of(t))
    monkeypatch.setattr(odd_rows, "EXACT", 10_000)
    exact = OddRows.of(Tail.of(t))
    np.testing.assert_allclose(binned.probability, exact.probability, atol=0.01)
    assert abs(binned.at_least - exact.at_least) <= 1


@pytest.mark.parametrize(
    "t",
    [np.ones(100), np.r_[np.zeros(60), np.arange(1, 41.0)], np.arange(30.0), np.full(50, np.nan)],
    ids=["all equal", "most equal", "few", "no surprise"],
)
def test_too_few_different_rows_have_no_probability(t):
    tail = Tail.of(t)
    found = OddRows.of(tail)
    assert not tail.is_known and np.isnan(found.probability).all() and math.isnan(found.none)
    assert not found.listed(0.5).any() and found.at_least == 0


def test_the_list_is_the_longest_head_that_keeps_the_rate():
    p = np.array([0.99, 0.2, 0.95, 0.8, 0.75, 0.6, 0.45])
    odd = OddRows(p, 0, 0.0)
    assert odd.listed(0.1).tolist() == [True, False, True, True, False, False, False]
    assert odd.listed(0.3).tolist() == [True, False, True, True, True, True, False]
    assert not odd.listed(0.005).any()
    ties = OddRows(np.array([0.99, 0.7, 0.7, 0.7]), 0, 0.0)
    assert ties.listed(0.2).tolist() == [True, False, False, False]
