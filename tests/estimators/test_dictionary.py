"""Points that are groups of rows, all rows or given ones: answers, samples, saving, bad input."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators import bayesian, training
from bsvdd.inference.warning import DataWarning
from scipy.stats import spearmanr
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, Cutoff, kernels, priors
from tests.scores import scores_left_out

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

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


@pytest.fixture(scope="module")
def fitted():
    known = {}

    def fitted(name, dictionary=20):
        key = name, repr(dictionary)
        if key not in known:
            known[key] = MODELS[name](dictionary=dictionary).fit(X, Y)
        return known[key]

    return fitted


@pytest.mark.parametrize("name", MODELS)
def test_all_rows_as_dictionary_are_none(fitted, name):
    ours, theirs = fitted(name, 70), fitted(name, None)
    np.testing.assert_allclose(ours.gram_.r, theirs.gram_.r, rtol=1e-12)
    np.testing.assert_array_equal(ours.gram_.K, theirs.gram_.K)
    # draws of NUTS part ways by rounding: the posterior is the same, the chain need not be
    rtol = 1e-8 if name.startswith("BDD") else 0.05
    np.testing.assert_allclose(ours.score_samples(Z), theirs.score_samples(Z), rtol=rtol)
    assert ours.cutoff_ == pytest.approx(theirs.cutoff_, rel=rtol)


@pytest.mark.parametrize("name", MODELS)
def test_every_row_counts(fitted, name):
    gram, data = fitted(name).gram_, fitted(name).fit_.data
    n1 = 12 if name == "BSVDDM" else 0
    assert (gram.n0, gram.n_majority_points, gram.n1) == (70, 20, n1)
    inside = np.equal.outer(data.point_of_row, np.arange(20 + n1))
    mean = inside / inside.sum(axis=0)
    np.testing.assert_allclose(gram.r, mean.T @ KERNEL(X, X[:70]).sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(inside.sum(axis=0), gram.points.sizes)
    np.testing.assert_array_equal(gram.points.rows[data.member_of_row[:70]], X[:70])


@pytest.mark.long
def test_groups_come_near_to_all_rows():
    """1,500 rows: decisions, scores and the spread of the posterior."""
    rows, new = (np.random.default_rng(i).normal(size=(n, 3)) for i, n in ((1, 1500), (2, 3000)))
    every, groups = (BSVDD(dictionary=d).fit(rows) for d in (None, "auto"))
    assert (every.gram_.n_points, groups.gram_.n_points) == (1500, 500)
    assert (every.predict(new) != groups.predict(new)).mean() < 0.015
    assert spearmanr(every.score_samples(new), groups.score_samples(new)).statistic > 0.999
    for est in (every, groups):
        assert 0.9 < est.summary().loc["spread", "posterior"] < 1.1
    p = [bsvdd.p_value(est, new) for est in (every, groups)]
    assert np.abs(p[0] - p[1]).max() < 0.04


@pytest.mark.parametrize("model", [BSVDD, BDD])
def test_many_equal_rows_are_one_point(model):
    """270 equal rows of 300: the posterior is that of 300 points."""
    rows = np.random.default_rng(3).normal(size=(300, 2))
    rows[:270] = 0.0
    kernel = kernels.RBF(0.8)
    one = model(kernel=kernel, draws=2000).fit(rows)
    scale = one.likelihood_scale_
    prior = priors.Flat(1.5) if model is BSVDD else priors.EqualWeights()
    by_row = priors.Normal(  # of single rows: no groups
        sd=prior.sd if model is BSVDD else prior.sd / 300,
        m=0.0 if model is BSVDD else 1 / 300,
        sigma=np.eye(300).tolist(),
    )
    every = model(kernel=kernel, draws=2000, prior=by_row, likelihood_scale=scale).fit(rows)
    assert (one.gram_.n_points, every.gram_.n_points) == (31, 300)
    z = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, -1.0], [2.0, 1.0]])
    s = [est.fit_.score.similarity(z) for est in (one, every)]
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
    left_out, p = scores_left_out(est), est.decision()
    _, same = np.unique(rows, axis=0, return_inverse=True)
    for each in (left_out, p["probability_normal"], p["surprise"]):
        values = pd.Series(np.asarray(each)).groupby(same)
        tied = values.transform("count")[y == 0] > 1
        spread = (values.transform("max") - values.transform("min"))[y == 0]
        assert tied.sum() == 50 and spread.max() < 1e-12


def test_a_prior_of_single_rows_makes_them_points_and_another_groups_them(tmp_path):
    rows = np.concatenate([X[:70], X[:5]])
    est = BDD(**QUICK).fit(rows)
    assert est.gram_.n_points == 70
    smooth = est.with_prior(priors.Normal(sd=0.01, sigma=np.eye(75).tolist()))
    assert smooth.gram_.n_points == 75
    again = smooth.with_prior(priors.EqualWeights())
    np.testing.assert_array_equal(again.score_samples(Z), est.score_samples(Z))
    for fit in (est, smooth):
        fit.save(tmp_path / "m")
        np.testing.assert_array_equal(bsvdd.load(tmp_path / "m").predict(Z), fit.predict(Z))


def test_points_of_the_user():
    est = BDD(**QUICK, dictionary=Z).fit(X, Y)
    np.testing.assert_array_equal(est.gram_.points.rows, Z)
    assert (est.fit_.data.point_of_row == -1).all()
    np.testing.assert_array_equal(clone(est).dictionary, Z)
    # no row is a point, so all are left out
    np.testing.assert_allclose(scores_left_out(est), est.score_samples(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(
        BDD(**QUICK, dictionary=Z.tolist()).fit(X, Y).predict(Z), est.predict(Z)
    )


def test_precomputed():
    given = BDD(**{**QUICK, "kernel": kernels.Precomputed()}, dictionary=10)
    ours = given.fit(KERNEL(X), Y)
    theirs = BDD(**QUICK, dictionary=10).fit(X, Y)
    rows = np.column_stack([KERNEL(Z, X), np.ones(len(Z))])
    np.testing.assert_allclose(ours.distance(rows), theirs.distance(Z), rtol=1e-10)
    # a precomputed kernel is not known to lie between 0 and 1, and has no unseen row
    ours, theirs = (each.with_cutoff(Cutoff(uncertain=False)) for each in (ours, theirs))
    np.testing.assert_allclose(ours.score_samples(rows), theirs.score_samples(Z), atol=1e-10)
    assert ours.cutoff_ == pytest.approx(theirs.cutoff_, rel=1e-10)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(training, "MOST_ROWS", 30)
    monkeypatch.setattr(training, "MOST_MINORITY", 15)


@pytest.mark.parametrize("name", ["BDD", "BDDM", "BSVDDM"])
def test_a_sample_of_many_rows_is_described_and_said(few, tmp_path, name):
    X_, with_minority = np.concatenate([X, X + 0.01, X - 0.02]), name.endswith("M")
    held = 45 if with_minority else 60
    said = rf"246 rows are many: {held} of them, drawn at random, are described"
    with pytest.warns(DataWarning, match=said):
        est = SAMPLED[name](dictionary=10).fit(X_, np.tile(Y, 3))
    constant = est.idata_["constant_data"]
    assert constant["X"].shape == (held, 3) and int(constant["minority"].sum()) == held - 30
    gram = est.gram_
    assert (gram.n0, gram.n_majority_points, gram.n1) == (30, 10, 15 * with_minority)
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(new.gram_.r, gram.r)
    np.testing.assert_array_equal(new.predict(Z), est.predict(Z))
    for fit in (est, new):
        with pytest.raises(ValueError, match=f"cv=3 folds are refitted .* sample of {held} rows"):
            fit.with_cutoff(Cutoff(cv=3))
    with pytest.raises(ValueError, match="cv=3 folds are refitted"), pytest.warns(DataWarning):
        SAMPLED[name](dictionary=10, cutoff=Cutoff(cv=3)).fit(X_, np.tile(Y, 3))


def test_points_far_from_the_rows():
    with pytest.warns(DataWarning, match=r"dictionary miss a share of 1 of the rows.*scaling of X"):
        BDD(**QUICK, dictionary=X[:9] * 1000).fit(X, Y)


@pytest.mark.parametrize("kernel", [KERNEL, kernels.Linear()], ids=repr)
@pytest.mark.parametrize("dictionary", [None, 5])
def test_equal_rows(kernel, dictionary):
    """One warning, of what is the matter; with a number as the cutoff the decisions are right."""
    rows = np.ones((30, 2))
    with pytest.warns(DataWarning) as warned:
        est = BSVDD(kernel=kernel, cutoff=0.1, dictionary=dictionary, draws=40, tune=60).fit(rows)
    (text,) = [str(w.message) for w in warned if w.category is DataWarning]
    assert text.startswith("all 30 majority rows are equal: ")
    np.testing.assert_array_equal(est.predict([[1.0, 1.0], [3.0, 3.0]]), [1, -1])


MANY = np.random.default_rng(7).normal(size=(140, 2))


@pytest.mark.parametrize(
    "est",
    [
        BDD(kernel=KERNEL, prior=priors.Normal(sd=0.1, sigma=np.eye(140).tolist())),
        BSVDD(kernel=KERNEL, prior=priors.SVDDWeights(), draws=20, tune=20),
    ],
    ids=["covariance of rows", "weights of SVDD"],
)
def test_where_rows_cannot_be_groups_they_are_points(monkeypatch, est):
    rows = np.concatenate([MANY[:-3], MANY[:3]])
    assert est.fit(rows).gram_.n_points == 140
    if "sigma" not in repr(est):  # and a sample of many rows is described
        monkeypatch.setattr(bayesian, "MANY_POINTS", 120)
        with pytest.warns(DataWarning, match="140 rows are many: 120 of them"):
            assert est.fit(rows).gram_.n_points == 120


def test_more_groups_than_rows_are_rows():
    assert BDD(kernel=KERNEL, dictionary=500).fit(MANY).gram_.points.are_rows
