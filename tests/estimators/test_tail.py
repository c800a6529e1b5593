"""p-values beyond the sample: against a quadrature, simulated tails, and what rows say."""

import numpy as np
import pytest
from bsvdd.estimators.questions.tail import DOUBTFUL, Tail
from bsvdd.inference.warning import DataWarning, DiagnosticWarning
from scipy.stats import genpareto

import bsvdd
from bsvdd import BDD, SVDD

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("xi", [-0.3, 0.0, 0.6])
def test_p_values_are_the_posterior_predictive_ones(xi):
    """By a quadrature over xi and log sigma, under a flat prior of both."""
    x = genpareto(xi, scale=2.0).rvs(300, random_state=1)
    tail = Tail.of(x)
    y, v = tail.excesses, np.array([0.5, 2.0, 5.0, 12.0])
    grid, log_sigma = np.linspace(-1.2, 2.2, 171)[:, None], np.linspace(-1.5, 3.5, 151)
    grid, sigma = np.broadcast_arrays(grid + 1e-9, np.exp(log_sigma))
    log_density = sum(genpareto.logpdf(each, grid, scale=sigma) for each in y)
    weight = np.exp(log_density - log_density.max())
    beyond = [(weight * genpareto.sf(each, grid, scale=sigma)).sum() / weight.sum() for each in v]
    found = tail.p_values(tail.threshold + v)
    np.testing.assert_allclose(found, 31 / 301 * np.array(beyond), rtol=2e-3)


def test_the_tail_starts_at_the_rank_and_falls():
    tail = Tail.of(RNG.exponential(size=200))
    p = tail.p_values(tail.threshold + np.array([0.0, 1e-9, 1.0, 10.0, 1e3, 1e9, np.inf]))
    assert p[0] == pytest.approx(21 / 201)
    assert (np.diff(p[1:]) < 0).all() and p[-2] < 1e-9


@pytest.mark.filterwarnings("ignore:tail='pareto'")  # one check in a hundred
@pytest.mark.parametrize("rvs", [RNG.exponential, RNG.uniform, lambda size: RNG.pareto(2, size)])
def test_p_values_of_new_values_are_seldom_small(rvs):
    """Over samples of 200; with estimates in place of a posterior the shares are 4 and 20 times."""
    shares = []
    for _ in range(150):
        tail, new = Tail.of(rvs(size=200)), rvs(size=20_000)
        p = tail.p_values(new[new > tail.threshold])
        shares.append([(p <= rate).sum() / 20_000 for rate in (0.01, 0.001, 0.0001)])
    mean, error = np.mean(shares, axis=0), np.std(shares, axis=0) / np.sqrt(150)
    assert (mean <= np.array([0.01, 0.001, 0.0001]) + 3 * error).all()
    assert mean[0] > 0.006 and mean[1] > 0.0003
    assert mean[2] < 0.0005


@pytest.mark.filterwarnings("ignore:tail='pareto'")
def test_the_check_warns_where_the_tail_is_another_one():
    of_model = [Tail.of(RNG.exponential(size=200)).check for _ in range(60)]
    assert 0.3 < np.mean(of_model) < 0.7 and np.mean(np.array(of_model) <= 0.2) < 0.4
    lump = np.concatenate([RNG.uniform(size=190), 30 + 0.01 * RNG.uniform(size=15)])
    with pytest.warns(DiagnosticWarning, match="not of a generalised Pareto distribution"):
        assert Tail.of(lump).check <= DOUBTFUL


@pytest.mark.parametrize(
    "surprises",
    [np.arange(90.0), np.repeat([0.0, 1.0], 500), [*np.arange(190.0), *[np.inf] * 12]],
    ids=["few", "copies", "infinite"],
)
def test_a_tail_needs_ten_values(surprises):
    with pytest.raises(ValueError, match="needs at least 10 finite left-out surprises"):
        Tail.of(np.array(surprises))


@pytest.fixture(scope="module")
def est():
    return SVDD().fit(np.random.default_rng(5).normal(size=(200, 2)))


@pytest.mark.parametrize("method", ["left-out", "split"])
def test_below_the_threshold_it_is_the_rank(est, method):
    Z = RNG.normal(size=(300, 2)) * 1.5
    rank, pareto = bsvdd.p_value(est, Z, method), bsvdd.p_value(est, Z, method, tail="pareto")
    n = 200 if method == "left-out" else 100
    inside = rank > (n // 10 + 1.5) / (n + 1)
    np.testing.assert_array_equal(pareto[inside], rank[inside])
    assert (pareto[~inside] < (n // 10 + 1.5) / (n + 1)).all() and (~inside).sum() > 50


def test_discoveries_among_many_rows_after_few(est):
    """By ranks, 50 rows of 10,000 would be needed."""
    batch = np.random.default_rng(6).normal(size=(10_000, 2))
    batch[:20] += 20.0
    with pytest.warns(DataWarning, match="of 10000 .*: 498 would have to"):
        assert not bsvdd.select(est, batch, 0.1).any()
    found = bsvdd.select(est, batch, 0.1, tail="pareto")
    assert found[:20].all() and found[20:].sum() <= 4


def test_a_tail_that_there_is_not(est):
    with pytest.raises(ValueError, match="tail must be 'rank' or 'pareto', got 'normal'"):
        bsvdd.select(est, np.zeros((1, 2)), tail="normal")


def test_few_rows_have_no_tail():
    with pytest.raises(ValueError, match="use tail='rank'"):
        bsvdd.p_value(BDD().fit(RNG.normal(size=(60, 2))), [[0.0, 0.0]], tail="pareto")
