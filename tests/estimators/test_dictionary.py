"""Fits with a dictionary: all rows as points, left-out rows, folds, saving, bad input."""

import numpy as np
import pytest
from bsvdd.estimators import bayesian, training
from bsvdd.inference.warning import DataWarning
from bsvdd.models import Gram, bdd
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, Cutoff, Landmarks, kernels, priors
from tests.scores import (
    median_distance,
    weights_of,
)

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
def test_the_likelihood_counts_all_rows(fitted, name):
    gram = fitted(name).gram_
    n1 = 12 if name == "BSVDDM" else 0
    assert (gram.n0, gram.n_majority_points, gram.n1) == (70, 20, n1)
    np.testing.assert_allclose(gram.r, KERNEL(gram.points, X[:70]).sum(axis=1), rtol=1e-12)
    row = fitted(name).fit_.data.row_of_point
    np.testing.assert_array_equal(gram.points, X[row])
    assert (row[:20] < 70).all()


@pytest.mark.parametrize("method", ["random", "kmeans", "leverage"])
def test_many_points_come_near_to_all(method):
    exact = BDD(kernel=KERNEL, draws=2000).fit(X, Y)
    far, near = (
        BDD(kernel=KERNEL, draws=2000, dictionary=Landmarks(n, method)).fit(X, Y) for n in (3, 60)
    )
    d = median_distance(exact, Z)
    change = [np.abs(median_distance(e, Z) - d).max() for e in (far, near)]
    assert change[1] < 0.03
    share = [float(e.idata_["diagnostics"]["nystroem_residual"]) for e in (far, near)]
    assert 0 <= share[1] < 0.1 < share[0] < 1
    assert "nystroem_residual" not in exact.idata_["diagnostics"]


def test_points_of_the_user():
    est = BDD(**QUICK, dictionary=Z).fit(X, Y)
    np.testing.assert_array_equal(est.gram_.points, Z)
    assert (est.idata_["gram"]["point_of_row"].values == -1).all()
    np.testing.assert_array_equal(clone(est).dictionary, Z)
    # no row is a point, so all are left out
    np.testing.assert_allclose(bsvdd.left_out(est), est.score_samples(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(
        BDD(**QUICK, dictionary=Z.tolist()).fit(X, Y).predict(Z), est.predict(Z)
    )


def test_left_out_points_of_bdd_are_refits():
    published = dict(prior=priors.StandardizedRowSum(), likelihood_scale=1.0)
    est = BDD(kernel=KERNEL, **published, draws=20_000, chains=1, dictionary=8).fit(X[:70])
    data, leave = est.fit_.data, est.fit_.learned.leave
    row = data.row_of_point
    left_out = np.median(leave.similarity(weights_of(est), data.leaving(row)), axis=0)
    mean = -(est.gram_.r - est.gram_.r.mean()) / est.gram_.r.std()  # the prior's mean stays
    for j in (0, 3):
        others = np.delete(np.arange(8), j)
        gram = Gram.from_rows(KERNEL, np.delete(X[:70], row[j], axis=0), None, X[row[others]])
        posterior = bdd.NormalPosterior(gram, priors.Normal(m=mean[others]))
        w = posterior.draw(20_000, 1, np.random.default_rng(1))[0]
        score = w @ KERNEL(X[[row[j]]], gram.points)[0]
        # the standard error of a median is 1.25 of that of a mean, and there are two of them
        error = 9 * score.std() / 20_000**0.5
        assert left_out[j] == pytest.approx(np.median(score), abs=error)


@pytest.mark.parametrize("method", ["random", "leverage"])
def test_precomputed(method):
    given = BDD(**{**QUICK, "kernel": kernels.Precomputed()}, dictionary=Landmarks(10, method))
    ours = given.fit(KERNEL(X), Y)
    theirs = BDD(**QUICK, dictionary=Landmarks(10, method)).fit(X, Y)
    rows = np.column_stack([KERNEL(Z, X), np.ones(len(Z))])
    np.testing.assert_allclose(ours.distance(rows), theirs.distance(Z), rtol=1e-10)
    # a precomputed kernel is not known to lie between 0 and 1, and has no unseen row
    ours, theirs = (each.with_cutoff(Cutoff(uncertain=False)) for each in (ours, theirs))
    np.testing.assert_allclose(ours.score_samples(rows), theirs.score_samples(Z), atol=1e-10)
    assert ours.cutoff_ == pytest.approx(theirs.cutoff_, rel=1e-10)
    with pytest.raises(ValueError, match="a precomputed kernel has none"):
        given.set_params(dictionary=Landmarks(10, "kmeans")).fit(KERNEL(X), Y)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(training, "KEPT_ROWS", 30)


@pytest.mark.parametrize("name", ["BDD", "BDDM", "BSVDDM"])
def test_a_sample_of_many_rows_is_held(few, tmp_path, name):
    X_ = np.concatenate([X, X + 0.01, X - 0.02])
    est = SAMPLED[name](dictionary=10).fit(X_, np.tile(Y, 3))
    constant = est.idata_["constant_data"]
    assert constant["X"].shape == (60, 3) and int(constant["minority"].sum()) == 30
    gram = est.gram_
    assert (gram.n0, gram.n_majority_points, gram.n1) == (210, 10, 10 * name.endswith("M"))
    majority = X_[np.tile(Y, 3) == 0]
    np.testing.assert_allclose(gram.r, KERNEL(gram.points, majority).sum(axis=1), rtol=1e-12)
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(new.gram_.r, gram.r)
    for fit in (est, new):
        with pytest.raises(ValueError, match="cv=3 folds are refitted .* a sample of 60 rows only"):
            fit.with_cutoff(Cutoff(cv=3))
    with pytest.raises(ValueError, match="cv=3 folds are refitted"):
        SAMPLED[name](dictionary=10, cutoff=Cutoff(cv=3)).fit(X_, np.tile(Y, 3))


def test_rows_that_are_no_points_choose_the_cutoff_where_points_cannot_be_left_out(few):
    import pymc as pm

    def prior(gram, name, dims):
        return pm.Laplace(name, 0.0, 0.1, dims=dims)

    est = BDD(**QUICK, sampler="nuts", dictionary=10, prior=prior).fit(X)
    rows = np.flatnonzero(est.fit_.data.point_of_row < 0)
    left_out = bsvdd.left_out(est)
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(left_out)), rows)
    np.testing.assert_allclose(
        left_out[rows], est.score_samples(est.fit_.data.rows)[rows], atol=1e-12
    )
    assert (left_out[rows] < 0).sum() == 1  # of 20, at .10: number floor(.1 * 21) is the cutoff


@pytest.mark.parametrize(
    ("dictionary", "message"),
    [
        (71, "71 landmarks cannot be chosen from 70 rows; use dictionary=70 at most"),
        (Landmarks(71, "kmeans"), "71 landmarks cannot be chosen from 70 rows"),
        (0, "The 'dictionary' parameter of BDD must be"),
        ("many", "The 'dictionary' parameter of BDD must be"),
        (Z[:, :2], "dictionary has 2 columns, but X has 3"),
        (Z[0], r"a table of finite numbers \(points, columns\), got an array of shape \(3,\)"),
        (Z * np.nan, "a table of finite numbers"),
        (True, r"dictionary must be None, a number, .*, got True; give"),
        (Z + 1j, "a table of finite numbers .* type complex128"),
        ((Z * 9).astype("datetime64[D]"), r"a table of finite numbers .* type datetime64\[D\]"),
        (np.ma.masked_array(Z, Z > 1.0), "a table of finite numbers .* got masked values"),
    ],
    ids=range(11),
)
def test_bad_dictionaries(dictionary, message):
    with pytest.raises(ValueError, match=message):
        BDD(**QUICK, dictionary=dictionary).fit(X, Y)


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


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(bayesian, "MANY_POINTS", 120)
    monkeypatch.setattr(bayesian, "AUTO_LANDMARKS", 40)


def test_many_rows_get_landmarks_and_a_line_that_says_so(few_are_many, tmp_path):
    with pytest.warns(DataWarning, match=r"140 majority rows are many, so 40 .*=None") as caught:
        est = BDD(kernel=KERNEL).fit(MANY)
    assert est.gram_.n_points == 40 and est.gram_.n0 == 140
    share = float(est.idata_["diagnostics"]["nystroem_residual"])
    assert f"miss a share of {share:.2g}" in str(caught[0].message)
    asked = BDD(kernel=KERNEL, dictionary=40).fit(MANY)
    np.testing.assert_array_equal(est.distance(MANY), asked.distance(MANY))
    est.save(tmp_path / "m.nc")
    same = bsvdd.load(tmp_path / "m.nc")
    assert same.dictionary == "auto"
    np.testing.assert_array_equal(same.probability_normal(MANY), est.probability_normal(MANY))
    with pytest.warns(DataWarning, match="landmarks"):
        assert same.with_prior(priors.Flat(sd=0.5)).gram_.n_points == 40


@pytest.mark.parametrize(
    "est",
    [
        BDD(kernel=KERNEL, dictionary=None),
        BDD(kernel=KERNEL, prior=priors.Normal(m=(0.0,) * 140)),
        BDD(kernel=kernels.Precomputed(1.0)),
        BSVDD(kernel=KERNEL, outlier_fraction=0.5, draws=20, tune=20),
    ],
    ids=["asked for", "prior of each row", "matrix", "SVDD's loss"],
)
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_all_of_many_rows_where_they_are_needed(few_are_many, est):
    rows = KERNEL(MANY) if isinstance(est.kernel, kernels.Precomputed) else MANY
    assert est.fit(rows).gram_.n_points == 140


def test_rows_that_the_model_learns_from_are_counted(few_are_many):
    y = np.arange(140) < 40
    assert BDD(kernel=KERNEL).fit(MANY, y).gram_.n_points == 100  # 100 majority rows
