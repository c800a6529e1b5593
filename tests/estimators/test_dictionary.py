"""Atoms that are means of rows, or all rows: answers, samples, saving."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, cutoffs, kernels, priors
from bsvdd.base.warning import DataWarning
from bsvdd.tables import training
from tests.models.helpers import squared_distances

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

KERNEL = kernels.RBF(1.5)
QUICK = dict(kernel=KERNEL, draws=40, tune=60, chains=2)
RNG = np.random.default_rng(80)
X = np.concatenate([RNG.normal(size=(70, 3)), RNG.normal(1.5, 1, size=(12, 3))])
Y = np.repeat([0, 1], [70, 12])
Z = RNG.normal(size=(9, 3))
MODELS = {
    "BDD": lambda **k: BDD(**QUICK, **k),
    "BDD simplex": lambda **k: BDD(kernel=KERNEL, simplex=True, **k),
    "BSVDD": lambda **k: BSVDD(**QUICK, **k),
    "BSVDDM": lambda **k: BSVDDM(**QUICK, minority_prior=priors.Beta(total=1), **k),
}
SAMPLED = {**MODELS, "BDDM": lambda **k: BDDM(**QUICK, **k)}


@pytest.mark.parametrize("name", MODELS)
def test_as_many_atoms_as_rows_are_all_rows(name):
    """What fewer atoms are: tests/models/test_dictionary.py."""
    ours, theirs = (MODELS[name](dictionary=d).fit(X, Y) for d in (70, "all"))
    np.testing.assert_array_equal(ours.gram_.K, theirs.gram_.K)
    np.testing.assert_array_equal(ours.score_samples(Z), theirs.score_samples(Z))
    assert ours.cutoff_ == theirs.cutoff_


@pytest.mark.parametrize("name", ["BDD", "BDD simplex", "BSVDD"])
def test_one_atom_is_the_mean_of_all_rows(name):
    est = MODELS[name](dictionary=1).fit(X)
    similar = np.exp(est.log_similarity(Z).mean(axis=0))
    mean = est.kernel_(Z, X).mean(axis=1)
    np.testing.assert_allclose(similar / similar[0], mean / mean[0], rtol=1e-6)


@pytest.mark.long
def test_few_atoms_come_near_to_all_rows():
    """1,500 rows: decisions, scores and the spread of the posterior."""
    rows, new = (
        np.random.default_rng(i).normal(size=(n, 3)) for i, n in ((1, 1500), (2, 3000))
    )
    every, few = (BSVDD(dictionary=d).fit(rows) for d in ("all", "auto"))
    assert (len(every.gram_.K), len(few.gram_.K)) == (1500, 600)
    assert (every.predict(new) != few.predict(new)).mean() < 0.015
    assert spearmanr(every.score_samples(new), few.score_samples(new)).statistic > 0.999
    for est in (every, few):
        assert 0.9 < est.summary().loc["spread", "posterior"] < 1.1
    p = [bsvdd.p_value(est, new) for est in (every, few)]
    assert np.abs(p[0] - p[1]).max() < 0.04


@pytest.mark.parametrize("model", [BSVDD, BDD])
def test_many_equal_rows_are_one_atom(model):
    """270 equal rows of 300: the posterior is that of 300 atoms as near."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(300, 2))
    rows[:270] = 0.0
    how = dict(kernel=kernels.RBF(0.8), draws=2000)
    one = model(**how).fit(rows)
    every = model(**how, dictionary="all", likelihood_scale=one.likelihood_scale_)
    every.fit(rows + 1e-6 * rng.normal(size=(300, 2)))
    assert (len(one.gram_.K), len(every.gram_.K)) == (31, 300)
    z = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, -1.0], [2.0, 1.0]])
    s = [np.exp(est.log_similarity(z)) for est in (one, every)]
    sd = s[1].std(axis=0)
    assert (np.abs(s[0].mean(axis=0) - s[1].mean(axis=0)) < 0.15 * sd).all()
    np.testing.assert_allclose(s[0].std(axis=0), sd, rtol=0.15)


@pytest.mark.parametrize("name", SAMPLED)
def test_equal_rows_have_equal_answers(name):
    order = np.random.default_rng(4).permutation(120)
    rows, y = (
        np.concatenate([X, X[:20], X[:10], X[70:78]])[order],
        np.concatenate([Y, Y[:20], Y[:10], Y[70:78]])[order],
    )
    est = SAMPLED[name]().fit(rows, y)
    p = est.decision()
    _, same = np.unique(rows, axis=0, return_inverse=True)
    for each in (p["probability_normal"], p["surprise"], p["low"], p["distance"]):
        values = pd.Series(np.asarray(each)).groupby(same)
        tied = values.transform("count")[y == 0] > 1
        spread = (values.transform("max") - values.transform("min"))[y == 0]
        assert tied.sum() == 50 and spread.max() < 1e-12


@pytest.mark.parametrize("dictionary", ["all", 10])
def test_precomputed(dictionary):
    est = BDD(kernel=kernels.Precomputed(), dictionary=dictionary).fit(KERNEL(X, X), Y)
    inside = np.equal.outer(est.gram_.of_row[:70], np.arange(len(est.gram_.K)))
    mean, w = inside / inside.sum(axis=0), est.idata_["posterior"]["w"].values
    np.testing.assert_allclose(
        est.gram_.K, mean.T @ KERNEL(X[:70], X[:70]) @ mean, rtol=1e-12
    )
    squared = squared_distances(w, est.gram_.K, mean.T @ KERNEL(X[:70], Z), 1.0)
    rows = np.column_stack([KERNEL(Z, X), np.ones(len(Z))])
    np.testing.assert_allclose(est.distance(rows), np.sqrt(squared), rtol=1e-8)


def test_the_printed_cutoff_on_a_matrix_is_that_on_its_rows():
    how = dict(dictionary="all", sampler="mode", cutoff=cutoffs.Printed())
    ours = BDD(kernel=kernels.Precomputed(), **how).fit(KERNEL(X, X), Y)
    theirs = BDD(kernel=KERNEL, **how).fit(X, Y)
    rows = np.column_stack([KERNEL(Z, X), np.ones(len(Z))])
    assert ours.cutoff_ == pytest.approx(theirs.cutoff_, rel=1e-10)
    np.testing.assert_array_equal(ours.predict(rows), theirs.predict(Z))


@pytest.mark.parametrize("name", ["BDD", "BDDM", "BSVDDM"])
def test_a_sample_of_many_rows_is_described_and_said(monkeypatch, tmp_path, name):
    monkeypatch.setattr(training, "MOST_DESCRIBED", 30)
    monkeypatch.setattr(training, "MOST_DESCRIBED_MINORITY", 15)
    X_, with_minority = np.concatenate([X, X + 0.01, X - 0.02]), name.endswith("M")
    held = 45 if with_minority else 60
    said = rf"246 rows are many: {held} of them, drawn at random, are described"
    with pytest.warns(DataWarning, match=said):
        est = SAMPLED[name](dictionary=10).fit(X_, np.tile(Y, 3))
    constant = est.idata_["constant_data"]
    counts = constant["weight"].values > 0.0
    assert (
        counts.sum() == held
        and (counts & constant["minority"].values).sum() == held - 30
    )
    gram = est.gram_
    assert (gram.n0, gram.m, gram.n1) == (30, 10, 15 * with_minority)
    # the others are answered as new rows
    described = gram.of_row >= 0
    left_out, as_new = est.decision()["surprise"], est.decision(X_)["surprise"]
    np.testing.assert_allclose(left_out[~described], as_new[~described], rtol=1e-9)
    assert (left_out[described] != as_new[described]).all()
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(new.gram_.r, gram.r)
    np.testing.assert_array_equal(new.predict(Z), est.predict(Z))
