"""Every model of the registry keeps one contract."""

import math
from dataclasses import replace

import numpy as np
import pytest
from bsvdd.estimators.registry import REGISTRY
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import parametrize_with_checks

import bsvdd
from bsvdd import BDD, SVDD, Cutoff, Views, as_published, cutoffs, kernels, priors
from tests.scores import (
    as_values,
    distance_of,
    is_logarithmic,
    margins_of,
    median_distance,
    score_of,
    scores_left_out,
    scores_of,
    sphere_value,
    values_of,
    weights_of,
)

N0, N1 = 40, 12
QUICK = dict(draws=30, tune=30, chains=2)
RBF = kernels.RBF(1.5)
NEED_ROWS = {"DSVM-CIL", "IDLSSVM-CIL"}  # density weights are taken of rows
BAYESIAN = sorted(name for name, record in REGISTRY.items() if record.bayesian)
VARIANTS = {
    "BDD on the simplex": ("BDD", {"simplex": True}),
    "BDD with groups": ("BDD", {"dictionary": 15}),
}

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]

F1 = cutoffs.Best("f1")
each_model = pytest.mark.parametrize("name", sorted(REGISTRY))
each_case = pytest.mark.parametrize("name", [*sorted(REGISTRY), *VARIANTS])
each_bayesian = pytest.mark.parametrize("name", BAYESIAN)


def make(name, **changes):
    name, variant = VARIANTS.get(name, (name, {}))
    record = REGISTRY[name]
    arguments = {"kernel": RBF, **(QUICK if record.bayesian else {}), **variant, **changes}
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
        bsvdd.p_value(est, rows),
    )


def assert_same(one, other, rows):
    for ours, theirs in zip(outputs(one, rows), outputs(other, rows), strict=True):
        np.testing.assert_array_equal(ours, theirs)


# what a fit holds


@each_case
def test_groups_dims_and_coordinates(fitted, data, name):
    X, y = data
    est = fitted(name)
    has_distance, sampled = hasattr(est, "distance"), "draws" in est.get_params()
    simplex = sampled and getattr(est, "simplex", False)
    w = est.idata_["posterior"]["w"]
    assert w.dims == ("chain", "draw", "point")
    assert w.shape[:2] == ((2, 30) if sampled and not simplex else (1, 1))
    assert {"posterior", "constant_data", "decision"} <= set(est.idata_.children)
    assert ("prior" in est.idata_.children) == (w.size > w.shape[-1])
    np.testing.assert_array_equal(est.idata_["constant_data"]["X"], X)
    np.testing.assert_array_equal(est.idata_["constant_data"]["minority"], y == 1)
    if has_distance:
        d = est.idata_["distance"]["d"]
        assert d.dims == ("chain", "draw", "obs") and d.shape == (*w.shape[:2], len(X))
        np.testing.assert_array_equal(d["obs"], np.arange(len(X)))
        np.testing.assert_allclose(d, est.distance(X), rtol=1e-12)
    decision = est.idata_["decision"]
    assert (float(decision["cutoff"]), float(decision["level"])) == (est.cutoff_, est.fit_.level)
    np.testing.assert_array_equal(decision["normal"], est.predict(X) == 1)
    np.testing.assert_array_equal(decision["probability_normal"], est.probability_normal(X))
    with pytest.raises(ValueError, match="read-only"):
        est.idata_["constant_data"]["X"].values[0, 0] = 1.0


@each_case
def test_distance_is_the_formula_on_the_draws(fitted, data, new, name):
    """d_z^2 = k(z, z) - 2 sum_j w_j k(u_j, z) + w'Kw."""
    est = fitted(name)
    if not hasattr(est, "distance"):
        return
    w, points = est.idata_["posterior"]["w"].values, est.gram_.points
    rows, group = points.rows, points.point_of_member
    if points.are_rows:
        np.testing.assert_array_equal(rows, data[0] if name.endswith("-M") else data[0][:N0])
    mean = np.equal.outer(group, np.arange(len(points))) / np.bincount(group)
    norm = np.einsum("cdi,ij,cdj->cd", w, mean.T @ RBF(rows) @ mean, w)
    d = est.distance(new)
    assert d.dims == ("chain", "draw", "obs")
    expected = 1 - 2 * w @ mean.T @ RBF(rows, new) + norm[..., None]
    np.testing.assert_allclose(d**2, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("name", "scale"), [("BDD", 0.7), ("BSVDD", 3.0), ("BSVDD-M", 1.0)])
def test_pointwise_log_likelihood(data, name, scale):
    """-lambda/2 d^2 of each majority row, of which ArviZ reads the sum."""
    est = make(name, likelihood_scale=scale, draws=200).fit(*data)
    pointwise = est.idata_["potential"]["kernel"]
    np.testing.assert_array_equal(pointwise["obs"], np.arange(N0))
    d = est.idata_["distance"]["d"].sel(obs=pointwise["obs"])
    np.testing.assert_allclose(pointwise, -scale / 2 * d**2, rtol=1e-12)
    np.testing.assert_allclose(est.idata_["log_likelihood"]["kernel"], pointwise.sum("obs"))


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
        none = r"learns from minority rows, but there is none \(n1 = 0\)"
        with pytest.raises(ValueError, match=f"{none}.*requires y to be passed"):
            make(name).fit(X)
        with pytest.raises(ValueError, match=none):
            make(name, minor_label=1).fit(X, np.zeros(len(X), dtype=int))
    else:
        assert weights.shape[-1] == N0
        np.testing.assert_array_equal(weights, other)
        alone = make(name).fit(X[y == 0])
        np.testing.assert_allclose(alone.idata_["posterior"]["w"].values, weights, atol=1e-12)
        expected = alone.with_cutoff(cutoffs.FalseAlarm(0.1)).cutoff_
        assert alone.cutoff_ == expected  # the default without minority rows


# outputs


@each_case
@pytest.mark.parametrize("level", [None, 0.0, 0.9])
def test_all_outputs_agree(fitted, data, new, name, level):
    est = fitted(name)
    if level is not None:
        est = est.with_cutoff(Cutoff(cutoffs.Best("g_mean"), level=level))
        assert est.fit_.level == level
    score, decision, label, p, p_value = outputs(est, new)
    for values in (score, decision, label, p):
        assert values.shape == (len(new),) and np.isfinite(values).all()
    np.testing.assert_array_equal(label, np.where(decision >= 0, 1, -1))
    np.testing.assert_array_equal(label == 1, p > est.fit_.level)
    np.testing.assert_array_equal(decision, score)
    assert est.offset_ == 0.0
    assert p.min() >= 0 and p.max() <= 1 and p_value.min() > 0 and p_value.max() <= 1
    if level is None:
        assert set(label) == {1, -1}
        np.testing.assert_allclose(score, scores_of(est, new), rtol=1e-8, atol=1e-10)
        assert est.cutoff_ == pytest.approx(float(distance_of(est, 0.0)), rel=1e-9)
    np.testing.assert_array_equal(p, (margins_of(est, new) >= 0.0).mean(axis=0))
    assert hasattr(est, "distance") or set(np.unique(p)) <= {0.0, 1.0}
    ones = np.concatenate([est.score_samples(row[None]) for row in new])  # one row at a time
    np.testing.assert_allclose(ones, score, rtol=1e-9, atol=1e-12)
    table = est.decision(new)
    np.testing.assert_array_equal(table["surprise"], -score)
    np.testing.assert_array_equal(table["p_value"], p_value)
    assert ("surprise_low" in table) == hasattr(est, "distance")
    np.testing.assert_array_equal(table["probability_normal"], p)
    np.testing.assert_array_equal(np.where(table["normal"], 1, -1), label)
    assert (table["cutoff"] == est.cutoff_).all() and (table["level"] == est.fit_.level).all()
    if level is None:
        np.testing.assert_allclose(table["distance"], distance_of(est, score), rtol=1e-9)


# the cutoff


@each_model
@pytest.mark.parametrize(
    "policy",
    [F1, Cutoff(cutoffs.Best("g_mean"), cv=3), Cutoff(cutoffs.Cost(), cv="train"), 0.25],
)
def test_with_cutoff(fitted, data, new, name, policy):
    est = fitted(name)
    before = outputs(est, new)
    cutoff, parameters, groups = est.cutoff_, est.get_params(), est.idata_["decision"].copy()
    other = est.with_cutoff(policy)
    assert type(other) is type(est) and other is not est
    assert other.cutoff == policy and np.isfinite(other.cutoff_)
    normal = other.predict(new) == 1
    np.testing.assert_array_equal(normal, scores_of(other, new) >= 0)
    np.testing.assert_array_equal(
        normal, distance_of(other, scores_of(other, new)) <= other.cutoff_
    )
    np.testing.assert_array_equal(
        other.idata_["decision"]["normal"].values, other.predict(data[0]) == 1
    )
    assert (est.cutoff_, est.get_params()) == (cutoff, parameters)
    assert est.idata_["decision"].identical(groups)
    for ours, old in zip(outputs(est, new), before, strict=True):
        np.testing.assert_array_equal(ours, old)
    normal = np.sort(scores_left_out(other)[:N0])
    at_most = (normal <= scores_of(other, new)[:, None] + 1e-12).sum(axis=1)
    np.testing.assert_allclose(bsvdd.p_value(other, new), (1 + at_most) / (N0 + 1))
    if policy == 0.25:
        assert other.cutoff_ == 0.25


@each_model
def test_folds_are_those_of_refits_by_hand(data, name):
    """Cutoff(cv=3): values of rows that an estimator fitted to the other folds gives.

    Those of SVDD are compared by their differences from that of the sphere.
    """
    X, y = data
    est = make(name, cutoff=Cutoff(cutoffs.Best("g_mean", None), cv=3)).fit(X, y)
    seed = int(check_random_state(0).randint(2**31 - 1))
    values = np.empty((len(weights_of(est)), len(X)))
    same = {"likelihood_scale": est.likelihood_scale_} if name in BAYESIAN else {}
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        part = make(name, cutoff=1.0, **same).fit(X[train], y[train])
        values[:, test] = values_of(part, X[test])
        if name == "SVDD":  # logarithms
            values[:, test] += sphere_value(est) - sphere_value(part)
        if name == "SVDD-M":
            values[:, test] *= sphere_value(est) / sphere_value(part)
    score, decision = score_of(est, values), est.idata_["decision"]
    np.testing.assert_allclose(-decision["left_out_surprise"].values, score, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(decision["left_out"].values, distance_of(est, score), rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "published"),
    [*((name, False) for name in sorted(REGISTRY)), *((name, True) for name in BAYESIAN)],
)
def test_distances_of_folds_have_the_norm_of_their_fold(data, name, published):
    """Cutoff(cv=3, uncertain=False): D_opt is chosen on the median d of each row by its fold."""
    X, y = data
    choose, limits = cutoffs.Best("balanced_accuracy"), Cutoff(cutoffs.FalseAlarm(0.3), cv=3)
    parameters = as_published(name).get_params(deep=False) if published else {}
    prior = {k: v for k, v in parameters.items() if k.endswith("prior")}
    est = make(name, cutoff=Cutoff(choose, cv=3, uncertain=False), **prior).fit(X, y)
    seed = int(check_random_state(0).randint(2**31 - 1))
    same = {"likelihood_scale": est.likelihood_scale_} if name in BAYESIAN else {}
    d = np.empty(len(X))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        part = make(name, cutoff=1.0, **same, **prior).fit(X[train], y[train])
        d[test] = median_distance(part, X[test])
    assert est.cutoff_ == pytest.approx(-choose(-d, y == 1), rel=1e-6)
    other = est.with_cutoff(replace(limits, uncertain=False))
    number = math.ceil(0.7 * (N0 + 1))
    assert other.cutoff_ == pytest.approx(np.sort(d[y == 0])[number - 1], rel=1e-6)
    found = other.idata_["decision"]["left_out_surprise"].values
    np.testing.assert_array_equal(found <= 0, d <= other.cutoff_)


@pytest.mark.parametrize("groups", [None, 15])
@pytest.mark.parametrize("name", ["BDD on the simplex", "BSVDD", "BSVDD-M"])
def test_left_out_rows_of_mixed_classes_in_closed_form(data, name, groups):
    """Without a row the other majority weights grow until all sum to one, in each draw.

    A group's weight is that of its rows in equal parts. Rows that are no points are in no sum.
    """
    order = np.random.default_rng(55).permutation(N0 + N1)
    X, y = data[0][order], data[1][order]
    est = make(name, cutoff=cutoffs.Best("g_mean"), dictionary=groups).fit(X, y)
    point, gram = est.fit_.data.point_of_row, est.gram_
    assert gram.n_majority_points == (groups or N0)
    assert gram.n1 == N1 * (name == "BSVDD-M")
    inside = np.flatnonzero(point >= 0)
    w = (weights_of(est) / gram.points.sizes)[:, point[inside]]  # of rows
    majority, K = y[inside] == 0, RBF(X[inside])
    values = as_values(est, w @ RBF(X[inside], X), 1.0)
    for j, row in enumerate(inside):
        v = w.copy()
        v[:, j] = 0.0
        rest = (1.0 - v[:, ~majority].sum(axis=1)) / v[:, majority].sum(axis=1)
        v[:, majority] *= rest[:, None]
        values[:, row] = as_values(est, v @ K[j], 1.0)
    score = score_of(est, values)
    np.testing.assert_allclose(scores_left_out(est), score, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(est.idata_["decision"]["left_out"], distance_of(est, score))
    assert is_logarithmic(est) == (name != "BSVDD-M")


@each_model
def test_cutoffs_that_need_minority_rows(data, name):
    X, y = data
    if not REGISTRY[name].needs_minority:
        with pytest.raises(ValueError, match=r"cutoff: Best\(metric='f1', .*no minority row"):
            make(name, cutoff=F1).fit(X[y == 0])
    with pytest.raises(ValueError, match=r"cutoff: cv=13 folds need at least 13 minority rows"):
        make(name, cutoff=Cutoff(F1, cv=13)).fit(X, y)
    try:  # a single one: a fit, or an error that says what is missing, and none of another library
        est = make(name, cutoff=F1).fit(X[: N0 + 1], y[: N0 + 1])
    except ValueError as error:
        assert "minority" in str(error) or "rows of each class" in str(error)
    else:
        assert np.isfinite(est.cutoff_)


# another prior


@each_bayesian
def test_with_prior_is_a_fit_with_that_prior(fitted, data, new, name):
    est = fitted(name)
    before, prior = est.distance(new).copy(deep=True), est.prior
    changes = {"prior": priors.Flat(0.6)}
    if name == "BSVDD-M":
        changes["minority_prior"] = priors.Beta(2, 5, total=0.3)
    other = est.with_prior(**changes)
    fresh = make(name, **changes, cutoff=other.cutoff).fit(*data)  # the rate of the first fit
    np.testing.assert_array_equal(other.distance(new), fresh.distance(new))
    assert other.cutoff_ == fresh.cutoff_ and est.prior is prior
    np.testing.assert_array_equal(est.distance(new), before)
    assert not np.array_equal(other.distance(new), before)
    if not name.endswith("-M"):
        with pytest.raises(ValueError, match="minority_prior"):
            est.with_prior(minority_prior=priors.Beta())


# as a value


@each_case
def test_clone_and_a_second_fit_are_the_same(fitted, data, new, name):
    est = fitted(name)
    copy = clone(est)
    assert copy.get_params() == est.get_params()
    with pytest.raises(ValueError, match="not fitted"):
        copy.predict(new)
    assert_same(copy.fit(*data), est, new)
    np.testing.assert_array_equal(copy.fit(*data).score_samples(new), est.score_samples(new))
    if name in BAYESIAN:
        other = clone(est).set_params(random_state=1).fit(*data)
        assert not np.array_equal(other.distance(new), est.distance(new))


@each_model
def test_fit_predict_reads_the_labels(fitted, data, name):
    """Rows are answered by their left-out scores, and fit_predict does not drop y."""
    (X, y), est = data, fitted(name)
    left_out = scores_left_out(est)
    known = ~np.isnan(left_out)
    expected = np.where(known, np.where(left_out >= 0, 1, -1), est.predict(X))
    np.testing.assert_array_equal(make(name).fit_predict(X, y), expected)
    table = est.decision()
    np.testing.assert_array_equal(table["normal"], expected == 1)
    np.testing.assert_array_equal(table["surprise"][known], -left_out[known])


# kernels


@each_model
def test_precomputed_kernel(fitted, data, new, name):
    """The distances are those of the kernel; k(z, z) may vary, so it is no part of the scores."""
    X, y = data
    policy = Cutoff(cutoffs.Rank(0.8), cv="train", uncertain=False)
    est = make(name, kernel=kernels.Precomputed(diagonal=1.0), cutoff=policy)
    assert est.__sklearn_tags__().input_tags.pairwise
    assert not make(name).__sklearn_tags__().input_tags.pairwise
    K, k_new = RBF(X), RBF(new, X)
    if name in NEED_ROWS:
        with pytest.raises(ValueError, match=r"precomputed kernel has no columns, .*density weigh"):
            est.fit(K, y)
        return
    est.fit(K, y)
    expected = fitted(name).with_cutoff(policy)
    score = est.score_samples(k_new)
    np.testing.assert_allclose(est.probability_normal(k_new), expected.probability_normal(new))
    if hasattr(est, "distance"):
        np.testing.assert_allclose(est.distance(k_new), expected.distance(new), atol=1e-6)
    assert est.cutoff_ == pytest.approx(expected.cutoff_, rel=1e-6, abs=1e-6)
    # rows in another order, minority first: the positions stay with the kernel's rows
    order = np.concatenate([np.arange(N0, N0 + N1), np.arange(N0)])
    turned = make(name, kernel=kernels.Precomputed(diagonal=1.0), cutoff=policy)
    turned.fit(K[np.ix_(order, order)], y[order])
    np.testing.assert_allclose(turned.score_samples(k_new[:, order]), score, rtol=1e-6, atol=1e-6)
    crooked = K.copy()
    crooked[2, 5] += 0.1
    with pytest.raises(ValueError, match=r"must be symmetric, but K\[(2, 5|5, 2)\]"):
        est.fit(crooked, y)
    indefinite = K.copy()
    indefinite[0, 1] = indefinite[1, 0] = 3.0
    smallest = np.linalg.eigvalsh(indefinite)[0]
    with pytest.raises(ValueError, match=f"but its smallest eigenvalue is {smallest:.6g}"):
        est.fit(indefinite, y)
    with pytest.raises(ValueError, match=r"fitted on a square matrix, got \(52, 20\)"):
        est.fit(K[:, :20], y)


@pytest.mark.parametrize("cv", ["auto", 3])
@pytest.mark.parametrize("name", ["SVDD", "BDD", "BDD on the simplex"])
def test_kernel_values_of_rows_with_their_diagonal(data, new, name, cv):
    (X, y), cutoff = data, Cutoff(cutoffs.Best("g_mean"), cv=cv)
    kernel = kernels.Polynomial(2, gamma=0.3)  # k(z, z) is not one number
    direct = make(name, kernel=kernel, cutoff=cutoff).fit(X, y)
    given = make(name, kernel=kernels.Precomputed(), cutoff=cutoff).fit(kernel(X), y)
    Z = np.column_stack([kernel(new, X), kernel.diag(new)])
    np.testing.assert_allclose(given.distance(Z), direct.distance(new), rtol=1e-6, atol=1e-7)
    assert given.cutoff_ == pytest.approx(direct.cutoff_, rel=1e-6)
    np.testing.assert_array_equal(given.predict(Z), direct.predict(new))
    with pytest.raises(ValueError, match=r"rows of 53 columns.*k\(z, z\), got 52 columns; if k"):
        given.predict(kernel(new, X))


# scikit-learn's own checks


FEW = dict(draws=20, tune=20, chains=1)
CHECKED = {
    "BDD": {},  # its draws cost nothing
    "BDD-M": {**FEW, "cutoff": Cutoff(cv="train")},
    "BSVDD": FEW,
    "BSVDD-M": FEW,
    # some checks have three minority rows only
    "DSVM-CIL": {"neighbors": 2},
    "IDLSSVM-CIL": {"neighbors": 2},
}


def not_kept(est):
    """Return what scikit-learn asks of outlier detectors, and a description does not keep."""
    by_name = "columns of a data frame in another order are matched by their names"
    of_core = "fit_predict describes the core of one table, and predict is for new rows"
    return {
        "check_dataframe_column_names_consistency": by_name,
        "check_outliers_fit_predict": of_core,
    }


@parametrize_with_checks(
    [
        *(
            r.estimator()(minor_label=1, **CHECKED.get(n, FEW if r.bayesian else {}))
            for n, r in REGISTRY.items()
        ),
        BDD(simplex=True, minor_label=1, **FEW),
        Views(estimator=SVDD(outlier_fraction=1.0), minor_label=1),
    ],
    expected_failed_checks=not_kept,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
