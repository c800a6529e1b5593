"""The left-out log predictive density: by loops, against refits, and in compare."""

import arviz as az
import numpy as np
import pytest

import bsvdd
from bsvdd import BSVDD, cutoffs, kernels, priors
from tests.models.helpers import rbf

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
RNG = np.random.default_rng(59)
ROWS = RNG.normal(size=(40, 2)) * [1.0, 0.5]
S = 0.6


def weights_of(est):
    """The weight of each majority row in each draw, (S, n)."""
    points = est.gram_.of_row
    w = est.idata_["posterior"]["w"].values.reshape(-1, len(est.gram_.K))
    return w[:, points[points >= 0]]


def density(rows, w, z, bandwidth=S):
    """Mean over draws w (S, n) of a mixture of normal densities at z."""
    k = rbf(rows, z[None], bandwidth)[:, 0]
    return (w @ k).mean() / (2 * np.pi * bandwidth**2) ** (rows.shape[1] / 2)


def test_it_is_its_formula_by_loops():
    y = np.repeat([0, 1], [36, 4])
    est = BSVDD(kernel=kernels.RBF(S), draws=300).fit(ROWS, y)
    w = weights_of(est)
    expected = []
    for i in range(36):
        others = np.arange(36) != i
        rest = w[:, others] / (1 - w[:, [i]])
        expected.append(np.log(density(ROWS[:36][others], rest, ROWS[i])))
    found = bsvdd.elpd(est)
    np.testing.assert_allclose(found.elpd_i, expected, rtol=1e-9)
    assert found.elpd == pytest.approx(sum(expected))
    assert found.se == pytest.approx(np.sqrt(36) * np.std(expected))
    assert (found.n_data_points, found.n_samples) == (36, 1200)
    # of scaled columns there is no term of the bandwidth
    est = BSVDD(kernel=kernels.Tabular(kernels.RBF(S), scale="standardised")).fit(ROWS)
    similarity = np.exp(est.log_similarity())
    np.testing.assert_allclose(bsvdd.elpd(est).elpd_i, np.log(similarity.mean(axis=0)))


def test_rows_count_by_their_weights_and_chosen_or_new_rows_count_one_each():
    t = np.r_[np.zeros(4), 0.5 + RNG.random(36)]
    est = BSVDD(kernel=kernels.RBF(S), draws=300).fit(ROWS, sample_weight=t)
    w, new = weights_of(est), RNG.normal(size=(5, 2))
    known, rest = est.gram_.of_row >= 0, ROWS[4:]
    assert known.tolist() == [False] * 4 + [True] * 36
    others = [np.arange(36) != i for i in range(36)]
    left_out = [
        np.log(density(rest[o], w[:, o] / (1 - w[:, [i]]), rest[i]))
        for i, o in enumerate(others)
    ]
    bad = [np.log(density(rest, w, z)) for z in ROWS[:4]]
    terms = t[4:] / t[4:].mean() * left_out
    found = bsvdd.elpd(est)
    np.testing.assert_allclose(found.elpd_i, terms, rtol=1e-9)
    assert found.se == pytest.approx(np.sqrt(36 * np.var(terms)))
    mask = np.arange(40) < 7
    for rows in (mask, np.arange(7), range(7)):
        chosen = bsvdd.elpd(est, rows=rows)
        np.testing.assert_allclose(chosen.elpd_i, bad + left_out[:3], rtol=1e-9)
    of_new = bsvdd.elpd(est, new)
    np.testing.assert_allclose(
        of_new.elpd_i, [np.log(density(rest, w, z)) for z in new], rtol=1e-9
    )
    assert (
        of_new.elpd == pytest.approx(float(of_new.elpd_i.sum()))
        and of_new.n_data_points == 5
    )
    # rows of a group are one term
    groups = np.repeat(np.arange(20), 2)[::-1]
    est = BSVDD(kernel=kernels.RBF(S), draws=300).fit(ROWS, groups=groups)
    of_groups, of_rows = bsvdd.elpd(est), est.log_similarity()
    terms = np.log(np.exp(of_rows).mean(axis=0)) - np.log(2.0 * np.pi * S**2)
    np.testing.assert_allclose(of_groups.elpd_i, terms[::2] + terms[1::2], rtol=1e-9)
    assert of_groups.elpd_i["obs"].values.tolist() == list(range(0, 40, 2))
    # the bad rows are in the sum, in which the fit that knows of them loses
    X = np.r_[ROWS[:4] + 4.0, ROWS[4:]]
    fits = {"all": BSVDD(kernel=kernels.RBF(S)).fit(X)}
    fits["known"] = BSVDD(kernel=kernels.RBF(S)).fit(X, sample_weight=t > 0)
    for rows, best in ((np.arange(40), "all"), (np.arange(4, 40), "known")):
        table = az.compare(
            {n: bsvdd.elpd(f, rows=rows) for n, f in fits.items()}, round_to="none"
        )
        assert table.index[0] == best


@pytest.mark.parametrize(
    "prior",
    [pytest.param(priors.Flat(sd=0.5), marks=pytest.mark.long), priors.Flat(sd=1.5)],
    ids=str,
)
def test_against_refits_without_each_row(prior):
    est = BSVDD(kernel=kernels.RBF(S), prior=prior, draws=500).fit(ROWS)
    chosen = range(0, 40, 4)
    refits = []
    for i in chosen:
        rest = np.delete(ROWS, i, axis=0)
        w = weights_of(est.set_params(likelihood_scale=est.likelihood_scale_).fit(rest))
        refits.append(np.log(density(rest, w, ROWS[i])))
    whole = BSVDD(kernel=kernels.RBF(S), prior=prior, draws=500).fit(ROWS)
    found = bsvdd.elpd(whole).elpd_i.values[list(chosen)]
    np.testing.assert_allclose(found, refits, atol=0.06)
    assert abs((found - refits).mean()) * 40 < 0.5  # nats of 40 rows


def test_flat_priors_tie_and_row_sums_lose():
    est = BSVDD(kernel=kernels.RBF(S)).fit(ROWS)
    found = {
        sd: bsvdd.elpd(est.with_prior(priors.Flat(sd=sd))) for sd in (0.01, 1.5, 3.0)
    }
    assert np.ptp([each.elpd for each in found.values()]) < 2.0
    found["row sums"] = bsvdd.elpd(est.with_prior(priors.StandardizedRowSum(sd=1.5)))
    table = az.compare(found, round_to="none")
    assert table.index[-1] == "row sums"
    assert table.loc["row sums", "elpd_diff"] < -2 * table.loc["row sums", "dse"]


def test_bandwidths_are_ordered_as_new_rows_order_them():
    new = np.random.default_rng(60).normal(size=(2000, 2)) * [1.0, 0.5]
    left_out, of_new = [], []
    for bandwidth in (0.1, 0.35, 2.0):
        est = BSVDD(kernel=kernels.RBF(bandwidth)).fit(ROWS)
        w = weights_of(est)
        left_out.append(bsvdd.elpd(est).elpd / 40)
        of_new.append(np.mean([np.log(density(ROWS, w, z, bandwidth)) for z in new]))
    assert np.argsort(left_out).tolist() == np.argsort(of_new).tolist()
    np.testing.assert_allclose(left_out[1:], of_new[1:], atol=0.25)


def test_loo_finds_no_log_densities_of_rows():
    """The likelihood is two terms a draw, which psense adds up and loo refuses."""
    est = BSVDD(kernel=kernels.RBF(S)).fit(ROWS)
    tree = est.idata_
    terms = tree["log_likelihood"]
    assert terms["similarity"].dims == terms["norm"].dims == ("chain", "draw")
    printed = est.with_cutoff(cutoffs.Printed(1.0))
    squares = (printed.distance(ROWS) ** 2).sum("obs")
    whole = -est.likelihood_scale_ / 2.0 * squares
    np.testing.assert_allclose(terms["similarity"] + terms["norm"], whole)
    with pytest.raises(TypeError, match="several log likelihood arrays"):
        az.loo(tree)
    for group in ("likelihood", "prior"):
        assert np.isfinite(az.psense(tree, var_names="s", group=group)["s"]).all()
