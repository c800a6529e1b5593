"""Every model of the registry keeps one contract."""

import inspect

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.bayesian import BayesianDataDescription
from bsvdd.estimators.registry import REGISTRY
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import bsvdd
from bsvdd import BDDM, DSVM, IDLSSVM, LSSVM, OCSVM, SVDDM, SVM, Cutoff, kernels, priors
from tests.scores import common_norm, distance_of, median_distance, score_of, sphere_score

N0, N1 = 40, 12
QUICK = dict(draws=30, tune=30, chains=2)
RBF = kernels.RBF(1.5)
NEED_ROWS = {"DSVM-CIL", "IDLSSVM-CIL"}  # density weights are taken of rows

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]

each_model = pytest.mark.parametrize("name", sorted(REGISTRY))


def make(name, **changes):
    record = REGISTRY[name]
    arguments = {"kernel": RBF, **(QUICK if record.bayesian else {}), **changes}
    return record.estimator()(**arguments)


@pytest.fixture(scope="module")
def data():
    """Rows, majority first, with y in {0, 1}."""
    rng = np.random.default_rng(60)
    X = np.concatenate([rng.normal(size=(N0, 3)), rng.normal(size=(N1, 3)) * 0.8 + 1.5])
    return X, np.repeat([0, 1], [N0, N1])


@pytest.fixture(scope="module")
def new():
    return np.random.default_rng(61).normal(size=(25, 3)) * 1.5 + 0.5


@pytest.fixture(scope="module")
def fitted(data):
    """Return a function that gives the fitted estimator of a name; do not change it."""
    known = {}

    def fitted(name):
        if name not in known:
            known[name] = make(name).fit(*data)
        return known[name]

    return fitted


def outputs(est, rows):
    return (
        est.score_samples(rows),
        est.decision_function(rows),
        est.predict(rows),
        est.probability_normal(rows),
    )


@each_model
def test_the_decision_is_what_the_methods_say_by_one_pass(fitted, new, name, monkeypatch):
    est = fitted(name).with_cutoff(float(np.median(fitted(name).decision(new)["distance"])))
    passes = []
    rule = type(est._fit.rule)
    raw = rule._raw
    monkeypatch.setattr(rule, "_raw", lambda *a, **k: passes.append(1) or raw(*a, **k))
    decision = est.decision(new)
    assert len(passes) == 1
    np.testing.assert_array_equal(decision["score"], est.score_samples(new))
    np.testing.assert_array_equal(decision["probability_normal"], est.probability_normal(new))
    np.testing.assert_array_equal(np.where(decision["normal"], 1, -1), est.predict(new))
    assert (decision["cutoff"] == est.cutoff_).all() and 0 < decision["normal"].sum() < len(new)
    assert (decision["level"] == est.level_).all()
    assert len(passes) == 4
    np.testing.assert_allclose(decision["distance"], median_distance(est, new), rtol=1e-9)


def test_the_decision_on_a_data_frame_has_its_index(data, new):
    X, y = data
    est = make("BDD").fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    shuffled = pd.DataFrame(new, columns=["a", "b", "c"]).sample(frac=1, random_state=0)
    decision = est.decision(shuffled)
    pd.testing.assert_index_equal(decision.index, shuffled.index)
    np.testing.assert_array_equal(
        shuffled.assign(s=decision["score"])["s"], est.score_samples(shuffled)
    )
    of_training_rows = {"left_out", "left_out_score", "offset"}
    found = set(est.idata_["decision"].data_vars)
    assert found - of_training_rows == set(decision) - {"distance", "score"}
    assert found >= of_training_rows


# the record


def test_registry_is_complete():
    """Every estimator that the package exports has one record, and the other way around."""
    exported = {
        name
        for name in dir(bsvdd)
        if inspect.isclass(getattr(bsvdd, name)) and hasattr(getattr(bsvdd, name), "fit")
    }
    assert {record.class_name for record in REGISTRY.values()} == exported
    assert len(exported) == len(REGISTRY) >= 11
    for name, record in REGISTRY.items():
        assert record.name == name


@each_model
def test_record(name):
    record = REGISTRY[name]
    cls = record.estimator()
    assert cls is getattr(bsvdd, record.class_name)
    assert record.title
    assert record.reference
    assert 1990 <= record.year <= 2026
    assert str(record.year) in cls.__doc__.partition("References")[2]
    if record.doi is not None:
        assert record.doi.startswith("10.")
        assert record.doi.lower() in cls.__doc__.lower()
    assert set(record.learns_from) <= {"majority", "minority", "unlabelled"}
    assert "majority" in record.learns_from


@each_model
def test_bayesian_models_have_draws(fitted, name):
    est = fitted(name)
    w = est.idata_["posterior"]["w"]
    assert REGISTRY[name].bayesian == isinstance(est, BayesianDataDescription)
    assert REGISTRY[name].bayesian == (w.sizes["chain"] * w.sizes["draw"] > 1)
    p = est.probability_normal(est.gram_.points)
    if not REGISTRY[name].bayesian:
        assert set(np.unique(p)) <= {0.0, 1.0}


@each_model
def test_learns_from_the_minority_or_needs_none(fitted, data, name):
    X, y = data
    weights = fitted(name).idata_["posterior"]["w"].values
    moved = X.copy()
    moved[y == 1] -= 1.0  # among the majority rows: all of them matter
    other = make(name, cutoff=Cutoff(1.0)).fit(moved, y).idata_["posterior"]["w"].values
    if REGISTRY[name].needs_minority:
        assert weights.shape[-1] == N0 + N1
        assert np.abs(weights - other).max() > 1e-6
        message = (
            r"learns from minority rows, but there is none \(n1 = 0\).*requires y to be passed"
        )
        with pytest.raises(ValueError, match=message):
            make(name).fit(X)
        with pytest.raises(ValueError, match=r"learns from minority rows, but there is none"):
            make(name, minor_label=1).fit(X, np.zeros(len(X), dtype=int))
    else:
        assert weights.shape[-1] == N0
        np.testing.assert_array_equal(weights, other)
        alone = make(name).fit(X[y == 0])
        np.testing.assert_allclose(alone.idata_["posterior"]["w"].values, weights, atol=1e-12)


@each_model
def test_learns_from_unlabelled_rows_by_its_prior(data, name):
    """The one way in is the prior's covariance over a graph with unlabelled rows."""
    takes_prior = "prior" in REGISTRY[name].estimator()().get_params()
    assert ("unlabelled" in REGISTRY[name].learns_from) == takes_prior
    if takes_prior:
        X, y = data
        rows = np.random.default_rng(62).normal(size=(15, 3))
        with_rows, without = (
            make(name, prior=priors.GraphLaplacian(unlabelled=u, smoothness=5.0), cutoff=1.0).fit(
                X, y
            )
            for u in (rows, ())
        )
        w = with_rows.idata_["posterior"]["w"].values
        assert np.abs(w - without.idata_["posterior"]["w"].values).max() > 1e-6


# outputs


@each_model
def test_outputs(fitted, new, name):
    est = fitted(name)
    score, decision, label, p = outputs(est, new)
    for values in (score, decision, label, p):
        assert values.shape == (len(new),)
        assert np.isfinite(values).all()
    np.testing.assert_array_equal(label, np.where(decision >= 0, 1, -1))
    assert set(label) == {1, -1}
    assert p.min() >= 0
    assert p.max() <= 1
    np.testing.assert_array_equal(label == 1, p > est.level_)
    np.testing.assert_allclose(decision, score - est.offset_)
    np.testing.assert_allclose(score, score_of(est, median_distance(est, new)), rtol=1e-8)
    assert est.offset_ == pytest.approx(score_of(est, est.cutoff_), rel=1e-9)
    if hasattr(est, "distance"):
        d = est.distance(new)
        assert d.dims == ("chain", "draw", "obs")
        assert float(d.min()) >= 0
        np.testing.assert_array_equal(p, (common_norm(est, d) <= est.cutoff_).mean(axis=0))
    # one row at a time
    ones = np.concatenate([est.score_samples(row[None]) for row in new])
    np.testing.assert_allclose(ones, score, rtol=1e-9, atol=1e-12)


@each_model
def test_majority_scores_higher(fitted, data, name):
    X, y = data
    score = fitted(name).score_samples(X)
    assert np.median(score[y == 0]) > np.median(score[y == 1])


@each_model
def test_idata_holds_the_decision_of_the_training_rows(fitted, data, name):
    est = fitted(name)
    decision = est.idata_["decision"]
    np.testing.assert_array_equal(decision["normal"].values, est.predict(data[0]) == 1)
    np.testing.assert_array_equal(
        decision["probability_normal"].values, est.probability_normal(data[0])
    )
    assert float(decision["cutoff"]) == est.cutoff_
    np.testing.assert_array_equal(est.idata_["constant_data"]["minority"].values, data[1] == 1)


@each_model
def test_labels_in_any_form_and_order(fitted, data, new, name):
    """Booleans, {-1, 1} and names; minority rows between the majority's."""
    X, y = data
    expected = fitted(name).score_samples(new)
    for labels, arguments in (
        (y == 1, {}),
        (1 - 2 * y, {}),
        (np.where(y == 1, "b", "a"), {"minor_label": "b"}),
    ):
        est = make(name, cutoff=1.0, **arguments).fit(X, labels)
        np.testing.assert_array_equal(est.score_samples(new), expected)
    mixed = np.random.default_rng(63).permutation(y)
    rows = np.empty_like(X)
    rows[mixed == 0], rows[mixed == 1] = X[y == 0], X[y == 1]
    assert (np.diff(mixed) < 0).any()
    est = make(name, cutoff=1.0).fit(rows, mixed)
    np.testing.assert_array_equal(est.score_samples(new), expected)


# the cutoff


@each_model
@pytest.mark.parametrize("policy", ["f1", Cutoff("g_mean", cv=3), Cutoff("cost", cv="train"), 0.25])
def test_with_cutoff(fitted, data, new, name, policy):
    est = fitted(name)
    before = outputs(est, new)
    cutoff, parameters, groups = est.cutoff_, est.get_params(), est.idata_["decision"].copy()
    other = est.with_cutoff(policy)
    assert type(other) is type(est)
    assert other is not est
    assert other.cutoff == policy
    assert np.isfinite(other.cutoff_)
    np.testing.assert_array_equal(other.predict(new) == 1, other.decision_function(new) >= 0)
    np.testing.assert_array_equal(
        other.predict(new) == 1, other.score_samples(new) >= other.offset_
    )
    np.testing.assert_array_equal(
        other.predict(new) == 1, median_distance(other, new) <= other.cutoff_
    )
    np.testing.assert_array_equal(
        other.idata_["decision"]["normal"].values, other.predict(data[0]) == 1
    )
    assert est.cutoff_ == cutoff
    assert est.get_params() == parameters
    assert est.idata_["decision"].identical(groups)
    for ours, old in zip(outputs(est, new), before, strict=True):
        np.testing.assert_array_equal(ours, old)
    if policy == 0.25:
        assert other.cutoff_ == 0.25


@each_model
def test_folds_are_those_of_refits_by_hand(data, name):
    """Cutoff(cv=3): scores of rows that an estimator fitted to the other folds gives.

    Scores of SVDD are compared by their differences from that of the sphere.
    """
    from sklearn.model_selection import StratifiedKFold
    from sklearn.utils import check_random_state

    X, y = data
    est = make(name, cutoff=Cutoff("g_mean", cv=3)).fit(X, y)
    seed = int(check_random_state(0).randint(2**31 - 1))
    score = np.empty(len(X))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        part = make(name, cutoff=1.0)
        part = part.fit(X[train], y[train])
        if REGISTRY[name].bayesian:  # a draw has the seed of the whole fit
            assert part._fit.data.seed == seed
        score[test] = score_of(part, median_distance(part, X[test]))
        if name == "SVDD":  # logarithms
            score[test] += sphere_score(est) - sphere_score(part)
        if name == "SVDD-M":
            score[test] *= sphere_score(est) / sphere_score(part)
    d = distance_of(est, score)
    cutoff = Cutoff("g_mean").choose(d, y == 1)
    assert est.cutoff_ == pytest.approx(cutoff, rel=1e-6)
    assert est.offset_ == pytest.approx(score_of(est, cutoff), rel=1e-6)
    decision = est.idata_["decision"]
    np.testing.assert_allclose(decision["left_out_score"].values, score, rtol=1e-6)
    np.testing.assert_allclose(decision["left_out"].values, d, rtol=1e-6)


@each_model
def test_cutoffs_that_need_minority_rows(data, name):
    X, y = data
    if not REGISTRY[name].needs_minority:
        with pytest.raises(ValueError, match=r"cutoff: criterion='f1' .*no minority row"):
            make(name, cutoff="f1").fit(X[y == 0])
    with pytest.raises(ValueError, match=r"cutoff: cv=13 folds need at least 13 minority rows"):
        make(name, cutoff=Cutoff("f1", cv=13)).fit(X, y)


@each_model
def test_a_single_minority_row(data, name):
    """A fit, or an error that says what is missing: in any case none of another library."""
    X, y = data[0][: N0 + 1], data[1][: N0 + 1]
    try:
        est = make(name, cutoff="f1").fit(X, y)
    except ValueError as error:
        assert "minority" in str(error) or "rows of each class" in str(error)
    else:
        assert np.isfinite(est.cutoff_)


# as a value


@each_model
def test_clone_and_a_second_fit_are_the_same(fitted, data, new, name):
    est = fitted(name)
    copy = clone(est)
    assert copy.get_params() == est.get_params()
    with pytest.raises(ValueError, match="not fitted"):
        copy.predict(new)
    copy.fit(*data)
    for ours, theirs in zip(outputs(copy, new), outputs(est, new), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    again = copy.fit(*data).score_samples(new)
    np.testing.assert_array_equal(again, est.score_samples(new))


@each_model
def test_save_and_load(fitted, data, new, tmp_path, name):
    est = fitted(name)
    est.save(tmp_path / "fit.nc")
    loaded = bsvdd.load(tmp_path / "fit.nc")
    assert type(loaded) is type(est)
    assert loaded.get_params() == est.get_params()
    for ours, theirs in zip(outputs(loaded, new), outputs(est, new), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    policy = Cutoff("f1", cv=3)
    assert loaded.with_cutoff(policy).cutoff_ == est.with_cutoff(policy).cutoff_
    # whatever is said of the fit is said of the loaded one
    public = [a for a in dir(type(est)) if a.endswith("_") and not a.startswith("_")]
    for attribute in public:
        if attribute in ("gram_", "model_"):
            continue
        # classes_ is refused for these labels, by both
        ours, theirs = getattr(loaded, attribute, None), getattr(est, attribute, None)
        if isinstance(theirs, np.ndarray | float):
            np.testing.assert_array_equal(ours, theirs)
        else:
            assert ours == theirs


@each_model
def test_get_and_set_params(name):
    est = make(name, random_state=3)
    params = est.get_params(deep=False)
    for key, value in params.items():
        assert getattr(est, key) is value
    other = type(est)().set_params(**params)
    assert other.get_params() == est.get_params()
    assert set(params) == set(inspect.signature(type(est)).parameters)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        est.set_params(nonsense=1)
    with pytest.raises(TypeError):
        type(est)(RBF)  # keywords only


@each_model
def test_repr_shows_what_was_changed(name):
    assert repr(make(name, minor_label="rare")).startswith(REGISTRY[name].class_name + "(")
    assert "minor_label='rare'" in repr(make(name, minor_label="rare"))


# kernels


@each_model
def test_precomputed_kernel(fitted, data, new, name):
    """The distances are those of the kernel; k(z, z) may vary, so it is no part of the scores."""
    X, y = data
    policy = Cutoff("g_mean", cv="train")
    est = make(name, kernel=kernels.Precomputed(diagonal=1.0), cutoff=policy)
    K, k_new = RBF(X), RBF(new, X)
    if name in NEED_ROWS:
        with pytest.raises(
            ValueError, match=r"a precomputed kernel has no columns, .*density weights"
        ):
            est.fit(K, y)
        return
    est.fit(K, y)
    expected = fitted(name).with_cutoff(policy)
    d, score = median_distance(expected, new), est.score_samples(k_new)
    np.testing.assert_allclose(est.decision(k_new)["distance"], d, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(score, score_of(est, d), rtol=1e-6, atol=1e-6)
    assert est.cutoff_ == pytest.approx(expected.cutoff_, rel=1e-6, abs=1e-6)
    # rows in another order, minority first: the positions stay with the kernel's rows
    order = np.concatenate([np.arange(N0, N0 + N1), np.arange(N0)])
    turned = make(name, kernel=kernels.Precomputed(diagonal=1.0), cutoff=policy)
    turned.fit(K[np.ix_(order, order)], y[order])
    np.testing.assert_allclose(turned.score_samples(k_new[:, order]), score, rtol=1e-6, atol=1e-6)


@each_model
def test_precomputed_kernel_that_is_none(data, name):
    X, y = data
    indefinite = RBF(X)
    indefinite[0, 1] = indefinite[1, 0] = 3.0
    smallest = np.linalg.eigvalsh(indefinite)[0]
    assert smallest < -1
    message = rf"positive semi-definite, but its smallest eigenvalue is {smallest:.6g}"
    with pytest.raises(ValueError, match=message):
        make(name, kernel=kernels.Precomputed()).fit(indefinite, y)
    asymmetric = RBF(X)
    asymmetric[2, 5] += 0.1
    with pytest.raises(ValueError, match=r"must be symmetric, but K\[(2, 5|5, 2)\]"):
        make(name, kernel=kernels.Precomputed()).fit(asymmetric, y)


@each_model
@pytest.mark.parametrize(
    "kernel",
    [kernels.Standardized(kernels.RBF("median")), kernels.Laplacian(2.0), kernels.Polynomial(2)],
    ids=lambda k: type(k).__name__,
)
def test_other_kernels(data, new, name, kernel):
    est = make(name, kernel=kernel, cutoff=Cutoff("g_mean", cv="train")).fit(*data)
    for values in outputs(est, new):
        assert np.isfinite(values).all()


@each_model
def test_bad_rows(fitted, data, name):
    X, y = data
    wrong = X.copy()
    wrong[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X contains NaN or infinity: X\[3, 1\]"):
        make(name).fit(wrong, y)
    with pytest.raises(ValueError, match=r"X contains NaN or infinity: X\[3, 1\]"):
        fitted(name).predict(wrong)
    with pytest.raises(ValueError, match="3 features"):
        fitted(name).predict(X[:, :2])
    with pytest.raises(ValueError, match=r"only \{-1, 1\}, \{0, 1\} and booleans"):
        make(name).fit(X, np.arange(len(X)) % 3)  # three classes
    with pytest.raises(ValueError, match="y must have shape"):
        make(name).fit(X, y[:-1])


# scikit-learn's own checks


FEW = dict(draws=20, tune=20, chains=1)


@parametrize_with_checks(
    [
        SVDDM(minor_label=1),
        BDDM(minor_label=1, cutoff=Cutoff(cv="train"), **FEW),
        OCSVM(minor_label=1),
        SVM(minor_label=1),
        DSVM(minor_label=1, neighbors=2),  # some checks have three minority rows only
        LSSVM(minor_label=1),
        IDLSSVM(minor_label=1, neighbors=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
