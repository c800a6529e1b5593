"""Fits with a dictionary: all rows as points, left-out rows, folds, saving, bad input."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators import bayesian, dictionary
from bsvdd.inference.warning import DataWarning
from bsvdd.models import Gram, bdd
from bsvdd.models.landmarks import residual
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, Cutoff, Landmarks, kernels, priors
from tests.scores import (
    common_norm,
    is_logarithmic,
    median_distance,
    score_of,
    squared_norms,
    upper_median,
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
@pytest.mark.parametrize("all_rows", [70, Landmarks(70, "leverage")], ids=["number", "leverage"])
def test_all_rows_as_dictionary_are_none(fitted, name, all_rows):
    ours, theirs = fitted(name, all_rows), fitted(name, None)
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
    place = fitted(name).idata_["gram"]["place"].values
    np.testing.assert_array_equal(gram.points, X[place])
    assert (place[:20] < 70).all()


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
    assert (est.idata_["gram"]["place"].values == -1).all()
    np.testing.assert_array_equal(clone(est).dictionary, Z)
    # no row is a point, so all are left out
    cutoff = Cutoff().choose(median_distance(est, X), Y == 1)
    assert est.cutoff_ == pytest.approx(cutoff, rel=1e-12)
    np.testing.assert_array_equal(
        BDD(**QUICK, dictionary=Z.tolist()).fit(X, Y).predict(Z), est.predict(Z)
    )


@pytest.mark.parametrize("name", ["BSVDD", "BSVDDM"])
def test_left_out_points_and_rows(fitted, name):
    """A point leaves the kernel sum, and the norm of the centre stays that of all points."""
    est = fitted(name)
    w, norm = weights_of(est), squared_norms(est)
    all_in = median_distance(est, X)
    d = all_in.copy()
    place, m = est.idata_["gram"]["place"].values, 20
    for j, row in enumerate(place):  # drop the point from each draw, and scale the majority's
        u = w.copy()
        u[:, j] = 0
        u[:, :m] *= (1 - u[:, m:].sum(axis=1, keepdims=True)) / u[:, :m].sum(axis=1, keepdims=True)
        f = u @ KERNEL(X[[row]], est.gram_.points)[0]
        d[row] = np.sqrt(upper_median(1 - 2 * f) + upper_median(norm))
    assert is_logarithmic(est) == (name == "BSVDD")
    cutoff = Cutoff().choose(d, Y == 1)
    assert est.cutoff_ == pytest.approx(cutoff, rel=1e-10)
    assert est.offset_ == pytest.approx(score_of(est, cutoff), rel=1e-10)
    decision = est.idata_["decision"]
    np.testing.assert_allclose(decision["left_out_score"].values, score_of(est, d), rtol=1e-9)
    np.testing.assert_allclose(decision["left_out"].values, d, rtol=1e-9)
    assert np.abs(d - all_in)[place].min() > 1e-6


def test_left_out_points_of_bdd_are_refits():
    est = BDD(kernel=KERNEL, draws=20_000, chains=1, dictionary=8).fit(X[:70])
    place = est.idata_["gram"]["place"].values
    j = 3
    found, log_weight = est._leave_one_out(est._fit.data).kernel_sums(
        weights_of(est), est._fit.data
    )
    assert log_weight is None
    score = -upper_median(-2 * found)
    left_out = est.idata_["decision"]["left_out_score"].values
    np.testing.assert_allclose(left_out[place], score, rtol=1e-9)
    others = np.delete(np.arange(8), j)
    gram = Gram.from_rows(KERNEL, np.delete(X[:70], place[j], axis=0), None, X[place[others]])
    mean = -(est.gram_.r - est.gram_.r.mean()) / est.gram_.r.std()  # the prior's mean stays
    prior = priors.Normal(m=mean[others])
    w = bdd.draw(*bdd.posterior(gram, prior), 20_000, np.random.default_rng(1))
    k = KERNEL(X[[place[j]]], gram.points)[0]
    refit = w @ k
    # the standard error of a median is 1.25 of that of a mean, and there are two of them
    error = 9 * refit.std() / 20_000**0.5
    assert np.median(found[:, j]) == pytest.approx(np.median(refit), abs=error)
    assert found[:, j].std() == pytest.approx(refit.std(), rel=0.05)


def test_folds_leave_points_out(fitted):
    est = fitted("BDD").with_cutoff(Cutoff(cv=4))
    place, train = est._fit.data.row_of_point, np.arange(0, 82, 2)
    gram = est._fit.data.fold(train)
    stays = np.isin(place, train)
    assert 0 < stays.sum() < 20
    np.testing.assert_array_equal(gram.points, X[place[stays]])
    np.testing.assert_array_equal(gram.place, np.flatnonzero(stays))
    rows = X[train][Y[train] == 0]
    assert gram.n0 == len(rows)
    np.testing.assert_allclose(gram.r, KERNEL(gram.points, rows).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_save_load_and_other_priors(fitted, tmp_path, name):
    est = fitted(name, Landmarks(15, "kmeans"))
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    assert new.get_params() == est.get_params()
    np.testing.assert_array_equal(new.score_samples(Z), est.score_samples(Z))
    for field in ("K", "r", "points", "n0", "n1", "T"):
        np.testing.assert_array_equal(getattr(new.gram_, field), getattr(est.gram_, field))
    assert new.with_cutoff("f1").cutoff_ == est.with_cutoff("f1").cutoff_
    if name == "BDD":
        ours, theirs = (e.with_prior(priors.Flat(0.5)) for e in (est, new))
        np.testing.assert_array_equal(ours.score_samples(Z), theirs.score_samples(Z))
        assert ours.gram_ is est.gram_


def test_save_points_of_the_user(tmp_path):
    est = BDD(**QUICK, dictionary=Z).fit(X)
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(new.dictionary, Z)
    np.testing.assert_array_equal(new.predict(X), est.predict(X))


@pytest.mark.parametrize("method", ["random", "leverage"])
def test_precomputed(method):
    given = BDD(**{**QUICK, "kernel": kernels.Precomputed()}, dictionary=Landmarks(10, method))
    ours = given.fit(KERNEL(X), Y)
    theirs = BDD(**QUICK, dictionary=Landmarks(10, method)).fit(X, Y)
    rows = np.column_stack([KERNEL(Z, X), np.ones(len(Z))])
    # k(z, z) of these rows is 1, which the precomputed kernel does not know of all rows
    np.testing.assert_allclose(ours.score_samples(rows) + 1, theirs.score_samples(Z), rtol=1e-10)
    np.testing.assert_allclose(
        ours.decision(rows)["distance"], theirs.decision(Z)["distance"], rtol=1e-10
    )
    assert ours.cutoff_ == pytest.approx(theirs.cutoff_, rel=1e-10)
    with pytest.raises(ValueError, match="a precomputed kernel has none"):
        given.set_params(dictionary=Landmarks(10, "kmeans")).fit(KERNEL(X), Y)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(dictionary, "KEPT_ROWS", 30)


@pytest.mark.parametrize("name", ["BDD", "BSVDDM"])
def test_a_sample_of_many_rows_is_held(few, tmp_path, name):
    X_ = np.concatenate([X, X + 0.01, X - 0.02])
    est = MODELS[name](dictionary=10).fit(X_, np.tile(Y, 3))
    constant = est.idata_["constant_data"]
    assert constant["X"].shape == (60, 3) and int(constant["minority"].sum()) == 30
    gram = est.gram_
    assert (gram.n0, gram.n_majority_points, gram.n1) == (210, 10, 10 * (name == "BSVDDM"))
    majority = X_[np.tile(Y, 3) == 0]
    np.testing.assert_allclose(gram.r, KERNEL(gram.points, majority).sum(axis=1), rtol=1e-12)
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(new.gram_.r, gram.r)
    for fit in (est, new):
        with pytest.raises(ValueError, match="cv=3 folds are refitted .* a sample of 60 rows only"):
            fit.with_cutoff(Cutoff(cv=3))
    with pytest.raises(ValueError, match="cv=3 folds are refitted"):
        MODELS[name](dictionary=10, cutoff=Cutoff(cv=3)).fit(X_, np.tile(Y, 3))


def test_rows_that_are_no_points_choose_the_cutoff_where_points_cannot_be_left_out(few):
    import pymc as pm

    def prior(gram, name, dims):
        return pm.Laplace(name, 0.0, 0.1, dims=dims)

    est = BDD(**QUICK, sampler="nuts", dictionary=10, prior=prior).fit(X)
    rows = np.setdiff1d(np.arange(30), est.idata_["gram"]["place"].values)
    d = upper_median(common_norm(est, est.idata_["distance"]["d"]))[rows]
    expected = Cutoff().choose(d, np.zeros(20, dtype=bool))
    assert est.cutoff_ == pytest.approx(expected, rel=1e-12)  # another order of sums


@pytest.mark.slow
def test_bdd_m_with_a_sample(few):
    est = BDDM(**QUICK, dictionary=5).fit(X, Y)
    assert est.gram_.n1 == 5
    assert np.isfinite(est.cutoff_)


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
    ],
    ids=["number", "kmeans", "zero", "text", "columns", "one point", "nan"],
)
def test_bad_dictionaries(dictionary, message):
    with pytest.raises(ValueError, match=message):
        BDD(**QUICK, dictionary=dictionary).fit(X, Y)


def test_a_truth_is_no_number_of_points():
    with pytest.raises(ValueError, match=r"dictionary must be None, a number, .*, got True; give"):
        BDD(**QUICK, dictionary=True).fit(X, Y)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (Z + 1j, "a table of finite numbers .* type complex128"),
        ((Z * 9).astype("datetime64[D]"), r"a table of finite numbers .* type datetime64\[D\]"),
        (np.ma.masked_array(Z, Z > 1.0), "a table of finite numbers .* got masked values"),
    ],
    ids=["complex", "dates", "masked"],
)
def test_points_of_odd_types(points, message):
    with pytest.raises(ValueError, match=message):
        BDD(**QUICK, dictionary=points).fit(X, Y)


@pytest.mark.parametrize("dictionary", [None, 20])
@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (X + 1j, ValueError, "Complex data not supported"),
        ((X * 9).astype("datetime64[D]"), TypeError, r"must be numbers, got datetime64\[D\]"),
        ((X * 9).astype("timedelta64[s]"), TypeError, r"must be numbers, got timedelta64\[s\]"),
        (pd.DataFrame((X * 9).astype("datetime64[s]")), TypeError, "must be numbers, got datetime"),
        (np.ma.masked_array(X, X > 2.5), ValueError, r"X has \d+ masked values.*; drop or impute"),
    ],
    ids=["complex", "dates", "durations", "frame of dates", "masked"],
)
def test_rows_of_odd_types(dictionary, rows, error, message):
    with pytest.raises(error, match=message):
        BDD(**QUICK, dictionary=dictionary).fit(rows, Y)


def test_a_masked_array_without_a_masked_value_is_an_array():
    est = BDD(**QUICK, dictionary=20).fit(np.ma.masked_array(X, np.zeros(X.shape)), Y)
    np.testing.assert_array_equal(est.gram_.r, BDD(**QUICK, dictionary=20).fit(X, Y).gram_.r)


def test_points_far_from_the_rows():
    with pytest.warns(DataWarning, match=r"dictionary miss a share of 1 of the rows.*scaling of X"):
        BDD(**QUICK, dictionary=X[:9] * 1000).fit(X, Y)


def tanh(A, B):
    return np.tanh(A @ B.T - 1.0)


@pytest.mark.parametrize("method", ["random", "leverage"])
def test_a_kernel_of_zeros(method):
    rows = np.zeros((30, 2))
    with (
        pytest.warns(DataWarning, match="all 30 majority rows are equal"),
        pytest.raises(ValueError, match=r"Linear\(\) is not positive .*, as all its values are 0"),
    ):
        BDD(draws=40, kernel=kernels.Linear(), dictionary=Landmarks(1, method)).fit(rows)


def test_a_kernel_that_is_not_positive():
    with pytest.raises(ValueError, match="must be positive semi-definite, but its matrix of 70"):
        BDD(draws=40, kernel=tanh, dictionary=Landmarks(20, "leverage")).fit(X, Y)
    with pytest.raises(ValueError, match="is not positive definite, up to rounding, on 9 points;"):
        residual(kernels.Custom(tanh), X[:9], X)


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


@pytest.mark.parametrize("model", [BDD(**QUICK), SVDD(kernel=KERNEL)], ids=["BDD", "SVDD"])
def test_too_many_rows_without_a_dictionary(monkeypatch, model):
    monkeypatch.setattr(dictionary, "MAX_POINTS", 69)
    with pytest.raises(ValueError, match=r"of 70 rows needs 0.0 GB, and up to 69 .*dictionary=500"):
        model.fit(X, Y)


def test_data_frame_with_a_dictionary():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    est = BDD(**QUICK, dictionary=20).fit(frame, Y)
    assert list(est.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(
        est.predict(frame), BDD(**QUICK, dictionary=20).fit(X, Y).predict(X)
    )


def test_more_landmarks_contain_the_fewer_and_are_nearer_to_all_rows():
    settings = dict(kernel=kernels.RBF("median"), draws=40)
    few, more, whole = (BDD(**settings, dictionary=M).fit(X, Y) for M in (10, 30, None))
    assert (few.gram_.n_points, more.gram_.n_points) == (10, 30)
    assert few.kernel_ == more.kernel_ == whole.kernel_
    assert set(few._fit.data.row_of_point) < set(more._fit.data.row_of_point)
    errors = [np.abs(median_distance(e, X) - median_distance(whole, X)).max() for e in (few, more)]
    assert errors[1] < errors[0]


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
        BDD(kernel=KERNEL, likelihood_scale="calibrated"),
    ],
    ids=["asked for", "prior of each row", "calibrated"],
)
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_all_of_many_rows_where_they_are_needed(few_are_many, est):
    assert est.fit(MANY).gram_.n_points == 140


def test_outlier_fractions_and_kernel_matrices_take_all_rows(few_are_many):
    for est in (BSVDD(outlier_fraction=0.5), BSVDD(kernel=kernels.Precomputed())):
        assert est._dictionary(140).points_are_rows
    assert not BSVDD()._dictionary(121).points_are_rows
    assert BSVDD()._dictionary(120).points_are_rows


def test_rows_that_the_model_learns_from_are_counted(few_are_many):
    y = np.arange(140) < 40
    assert BDD(kernel=KERNEL).fit(MANY, y).gram_.n_points == 100  # 100 majority rows
