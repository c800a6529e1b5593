"""Draws of the user take the place of those of the fit: ``est.with_draws``."""

import numpy as np
import pytest
import xarray as xr

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, cutoffs, kernels, priors
from bsvdd.base.warning import DiagnosticWarning

quiet = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
RNG = np.random.default_rng(21)
ROWS, NEW = RNG.normal(size=(40, 2)), RNG.normal(0.3, 1.3, size=(25, 2))
FEW = {"kernel": kernels.RBF(1.2), "draws": 300, "tune": 200, "chains": 2}
ANSWERS = ("score_samples", "probability_normal", "predict", "distance")


@pytest.fixture(scope="module")
def est():
    """BSVDD of 40 rows: 2 chains of 300 draws."""
    return BSVDD(**FEW).fit(ROWS)


@pytest.fixture(scope="module")
def w(est):
    return est.idata_["posterior"]["w"].values


def assert_same(found, expected, answers=ANSWERS):
    """Assert that two fits answer the same of training rows and of new rows."""
    np.testing.assert_allclose(found.cutoff_, expected.cutoff_, rtol=1e-12)
    np.testing.assert_allclose(
        found.margins(), expected.margins(), rtol=1e-12, atol=1e-12
    )
    np.testing.assert_allclose(bsvdd.p_value(found, NEW), bsvdd.p_value(expected, NEW))
    for name in answers:
        ours, theirs = (getattr(e, name)(NEW) for e in (found, expected))
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12, err_msg=name)


# the same answers


@quiet
def test_draws_of_the_fit_give_its_answers(est, w):
    """As a tree, a dataset, a variable or an array."""
    tree, flat = est.idata_, w.reshape(-1, 40)
    posterior = tree["posterior"].to_dataset()
    for given in (tree, posterior, posterior["w"], posterior["w"].values, w):
        own = est.with_draws(given)
        assert_same(own, est)
        assert own.idata_["posterior"]["w"].shape == (2, 300, 40)
    one = est.with_draws(posterior["w"].isel(chain=0))
    assert one.fit_.draws.by_chain.shape[:2] == (1, 300)
    of_labels = BSVDDM(**FEW).fit(ROWS, np.arange(40) % 8 == 5)
    for signed in (BDD(**FEW).fit(ROWS), of_labels):
        assert_same(signed.with_draws(signed.idata_), signed)
    one_chain = est.with_draws(flat)
    assert one_chain.fit_.draws.by_chain.shape[:2] == (1, 600)
    assert_same(one_chain, est, ANSWERS[:3])


@quiet
def test_atoms_are_matched_by_their_coordinate(est):
    w = est.idata_["posterior"]["w"]
    order = np.random.default_rng(0).permutation(40)
    own = est.with_draws(w.isel(point=order))
    assert_same(own, est)
    np.testing.assert_array_equal(own.idata_["posterior"]["point"], np.arange(40))
    without = w.isel(point=order).drop_vars(
        "point"
    )  # matched by their order, which is wrong
    assert not np.allclose(
        est.with_draws(without).score_samples(NEW), est.score_samples(NEW)
    )


@quiet
def test_draws_with_texts_among_their_statistics_are_saved(est, tmp_path):
    """nutpie has the message of each divergence, mostly None."""
    tree = est.idata_.copy(deep=True)
    message = np.full((2, 300), None, dtype=object)
    stats = {"diverging": np.zeros((2, 300), dtype=bool), "message": message}
    dims = {name: (("chain", "draw"), v) for name, v in stats.items()}
    tree["sample_stats"] = xr.DataTree(xr.Dataset(dims))
    own = est.with_draws(tree)
    assert list(own.fit_.draws.stats) == ["diverging"]
    own.save(tmp_path / "own")
    same = bsvdd.load(tmp_path / "own")
    np.testing.assert_allclose(same.score_samples(NEW), own.score_samples(NEW), 1e-4)


@quiet
def test_draws_of_a_fit_do_not_change(est):
    """In-place arithmetic of xarray changed decisions."""
    W = RNG.dirichlet(np.ones(40), size=(2, 30))
    own = est.with_draws(W)
    before = own.score_samples(NEW)
    W[:] = 1.0 / 40.0
    w = own.idata_["posterior"]["w"]
    with pytest.raises(ValueError, match="read-only"):
        w -= w.mean()
    np.testing.assert_array_equal(own.score_samples(NEW), before)


# warnings


@quiet
@pytest.mark.parametrize(
    ("concentration", "words"),
    [
        (500.0, r"is 0\.\d+ times that between samples .* too narrow"),
        (0.03, r"is [2-9].* times that between samples .* too wide"),
    ],
)
def test_draws_of_another_width_than_samples_warn(est, concentration, words):
    """Chains that disagree, divergences, collapsed weights: test_facts.py."""
    draws = np.random.default_rng(3).dirichlet(np.full(40, concentration), (2, 500))
    with pytest.warns(DiagnosticWarning, match=words):
        est.with_draws(draws)


# what stays


@quiet
def test_a_fit_says_whose_draws_it_has_and_keeps_them(est, tmp_path):
    W = RNG.dirichlet(np.ones(40), size=(2, 30))
    own = est.with_draws(W)
    assert "by a sampler of your own" in " ".join(str(own).split())
    assert "of your own" not in str(est)
    assert "prior" not in own.idata_.children and "prior" in est.idata_.children
    assert "the prior of your draws; λ = " in str(own) and "Flat(sd=1.5); λ = " in str(
        est
    )
    np.testing.assert_allclose(own.idata_["posterior"]["w"], W)
    table = own.summary()
    assert table["prior"].isna().all() and np.isfinite(table.loc["spread", "posterior"])
    strict = own.with_cutoff(cutoffs.FalseAlarm(0.3))
    assert strict.fit_.draws is own.fit_.draws and strict.cutoff_ < own.cutoff_
    anew = own.with_prior(priors.Flat(0.5))
    assert anew.fit_.draws.sampler != "own" and len(anew.fit_.draws.w) == 600
    assert_same(anew, est.with_prior(priors.Flat(0.5)))
    own.save(tmp_path / "own")
    new = bsvdd.load(tmp_path / "own")
    assert new.fit_.draws.sampler == "own" and str(new) == str(own)
    np.testing.assert_allclose(
        new.score_samples(NEW), own.score_samples(NEW), atol=1e-5
    )
