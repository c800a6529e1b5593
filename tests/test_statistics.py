"""The statistics of decisions on two small cells; the full: ``python -m benchmarks``.

New rows: false alarms, the spread of the posterior against that of samples, and
P(normal) by bins. One table: the list at its rate, and "at least L rows stand out".
"""

import numpy as np
import pytest
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BSVDD, SVDD
from bsvdd.base.warning import DataWarning

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning"),
]
SMALL = {"draws": 250, "tune": 250}
RATE = 0.1


def normal(n, rng):
    return rng.normal(size=(n, 4))


def ring(n, rng):
    angle, radius = rng.uniform(0.0, 2.0 * np.pi, n), rng.normal(3.0, 0.4, n)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def long_tails(n, rng):
    return rng.standard_t(3, size=(n, 3))


def counts(n, rng):
    return rng.poisson(2.0, size=(n, 2)).astype(float)


# new rows


def sampled(est, population, seed, n=100):
    """Return a fit to a sample, new rows, and whether the population has them inside.

    The truth is the mean of 2,000 other rows in the kernel space of the fit: a row is
    inside if it is among the 90 % that are most similar to it.
    """
    rng = np.random.default_rng([seed, 5])
    X, T, Z = (population(size, rng) for size in (n, 2000, 500))
    est = clone(est).fit(X)
    similar = [est.kernel_(rows, T).mean(axis=1) for rows in (Z, T)]
    return est, Z, similar[0] >= np.quantile(similar[1], RATE)


@pytest.fixture(scope="module")
def cell():
    """Return P(normal), inside, flagged and spread ratios of BSVDD, over samples."""
    found = {"p": [], "inside": [], "flagged": [], "ratio": []}
    for population in (normal, ring, long_tails):
        for seed in range(4):
            est, Z, inside = sampled(BSVDD(**SMALL), population, seed)
            p = est.probability_normal(Z)
            found["p"].append(p)
            found["inside"].append(inside)
            found["flagged"].append((est.predict(Z) == -1).mean())
            # the spread of s_z beside the Bayesian bootstrap's, of rows near the cutoff
            near = np.abs(p - 0.5) < 0.45
            w = est.fit_.draws.w
            rows = est.fit_.rows.X[np.argsort(est.gram_.of_row)]  # each is an atom
            k = est.kernel_(Z[near], rows)
            found["ratio"].append(
                (w @ k.T).std(axis=0) / (k.std(axis=1) / np.sqrt(len(w.T) + 1))
            )
    return {
        name: np.concatenate([np.atleast_1d(v) for v in each])
        for name, each in found.items()
    }


def test_false_alarms_have_their_rate_and_the_spread_is_that_of_samples(cell):
    assert cell["flagged"].mean() == pytest.approx(RATE, abs=0.025)
    assert 0.7 < np.median(cell["ratio"]) < 1.4
    assert ((cell["ratio"] > 0.5) & (cell["ratio"] < 2.0)).mean() > 0.85


def test_a_probability_is_the_share_inside(cell):
    """In each fifth; and better than the decision alone."""
    p, inside = cell["p"], cell["inside"]
    bins = np.minimum((5 * p).astype(int), 4)
    for b in range(5):
        here = bins == b
        assert here.sum() >= 80
        assert p[here].mean() == pytest.approx(inside[here].mean(), abs=0.15)
    brier = ((p - inside) ** 2).mean()
    assert brier < 0.8 * ((p > 0.5) != inside).mean()


@pytest.mark.parametrize(
    "est", [SVDD(), BDD(draws=200)], ids=lambda e: type(e).__name__
)
def test_other_models_have_the_rate_too(est):
    fits = [
        sampled(est, population, seed)
        for population in (normal, ring)
        for seed in range(3)
    ]
    flagged = [(fit.predict(Z) == -1).mean() for fit, Z, _ in fits]
    assert np.mean(flagged) == pytest.approx(RATE, abs=0.04)


@pytest.mark.parametrize(
    "est", [BSVDD(**SMALL), BDD(draws=200)], ids=lambda e: type(e).__name__
)
def test_where_rows_repeat_false_alarms_have_their_rate(est):
    fits = [sampled(est, counts, seed, n=200) for seed in range(8)]
    flagged = [(fit.predict(Z) == -1).mean() for fit, Z, _ in fits]
    assert np.mean(flagged) == pytest.approx(RATE, abs=0.03)


WILD = [(SVDD(), n, v) for n in (1, 4) for v in (1e3, 1e12, 1e100, -1e308)]


@pytest.mark.parametrize(("est", "n", "value"), [*WILD, (BSVDD(), 4, -1e100)])
def test_wild_values_hide_no_rows_that_are_6_sd_out_and_are_named(est, n, value):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(200, 3)), rng.normal(size=(1000, 3))
    out = new.copy()
    out[:, 1] = rng.choice([-6.0, 6.0], 1000)
    X[90 : 90 + n, 1] = value * np.linspace(1.0, 1.5, n)
    named = f"row {89 + n} has .* in '1', where others lie from -"  # the farthest
    with pytest.warns(DataWarning, match=named) as warned:
        fitted = est.fit(X)
    assert str(warned[0].message) in bsvdd.facts(fitted).warnings
    assert (fitted.predict(out) == -1).mean() >= 0.95
    assert (fitted.predict(new) == -1).mean() == pytest.approx(0.1, abs=0.06)


# one table


def table(population, seed, odd, n=200):
    """Return rows with a share of odd ones: scattered, or a clump for odd seeds."""
    rng = np.random.default_rng([seed, 11])
    X = population(n, rng)
    truth = np.arange(n) < round(odd * n)
    n1, sd = int(truth.sum()), X.std(axis=0)
    way = rng.normal(size=(1 if seed % 2 else n1, X.shape[1]))
    way *= 9.0 / np.linalg.norm(way, axis=1, keepdims=True)
    X[truth] = sd * (way + 0.15 * rng.normal(size=(n1, X.shape[1])))
    return X, truth


@pytest.fixture(scope="module")
def tables():
    """Return of each table what is odd, what is listed, and L."""
    found = []
    for odd in (0.0, 0.05):
        for population in (normal, long_tails):
            for seed in range(3 if odd else 2):
                X, truth = table(population, seed, odd)
                of_table = bsvdd.stand_out(BSVDD(**SMALL), X, fdr=0.1)
                found.append((truth, of_table.listed, of_table.at_least))
    return found


def test_the_list_keeps_its_rate_and_finds_odd_rows(tables):
    false = [
        (listed & ~truth).sum() / max(1, listed.sum()) for truth, listed, _ in tables
    ]
    assert np.mean(false) <= 0.15
    power = [listed[truth].mean() for truth, listed, _ in tables if truth.any()]
    assert np.mean(power) >= 0.5
    # at least so many stand out: never more than are odd; of the odd ones a good part
    odd = np.array([truth.sum() for truth, *_ in tables])
    least = np.array([at_least for *_, at_least in tables])
    assert (least <= odd).all()
    assert least[odd > 0].sum() >= 0.4 * odd.sum()
