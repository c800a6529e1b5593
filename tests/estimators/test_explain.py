"""est.explain: from rows to the reasons, on planted shifts and on the centre of a population."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.yardsticks import KNN
from scipy.stats import rankdata

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, OCSVM, SVDD, SVDDM, SVM, Landmarks, kernels

NAMES = ["a", "b", "c", "d", "e"]
SCALES = np.array([1.0, 100.0, 0.01, 5.0, 1.0])


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(300, 5))


@pytest.fixture(scope="module")
def planted():
    """New rows with a shift of 6 standard deviations in one column each."""
    rng = np.random.default_rng(1)
    Z, column = rng.normal(size=(200, 5)), rng.integers(5, size=200)
    Z[np.arange(200), column] += 6.0 * rng.choice([-1.0, 1.0], size=200)
    return Z, column


@pytest.fixture(scope="module")
def est(rows):
    return BSVDD(kernel=kernels.RBF("likelihood")).fit(rows)


@pytest.mark.parametrize(
    "model",
    [
        BSVDD(kernel=kernels.Standardized(kernels.RBF("likelihood"))),
        BSVDD(kernel=kernels.Standardized(kernels.Laplacian("median"))),
        SVDD(kernel=kernels.Standardized(kernels.RBF("mean"))),
        BDD(simplex=True, kernel=kernels.Standardized(kernels.RBF())),
        BDD(kernel=kernels.Standardized(kernels.Linear())),
    ],
    ids=["BSVDD", "Laplacian", "SVDD", "BDD on the simplex", "linear"],
)
def test_the_planted_column_is_first(rows, planted, model):
    Z, column = planted
    est = model.fit(rows * SCALES)
    why = est.explain(Z * SCALES, changes=False)
    abnormal = ~why.rows["normal"].to_numpy()
    assert abnormal.mean() > 0.9
    first = why.top_columns(1)["column_1"].to_numpy()
    assert (first == column)[abnormal].mean() >= 0.95


def test_the_smallest_change_is_in_the_planted_column(est, planted):
    Z, column = planted
    why = est.explain(Z)
    abnormal = ~why.rows["normal"].to_numpy()
    changes = why.changes
    largest = np.abs(changes["standardized"]).values.argmax(axis=1)
    assert (largest == column)[abnormal].mean() >= 0.95
    assert (est.predict(changes["value"].values) == 1).all()
    assert (changes["change"].values[~abnormal] == 0.0).all()
    np.testing.assert_allclose(changes["value"] - Z, changes["change"], atol=1e-12)
    standardized = changes["standardized"].values
    np.testing.assert_allclose(np.square(standardized).sum(axis=1), changes["size"] ** 2)
    low, high = est._fit.data.rows.min(axis=0), est._fit.data.rows.max(axis=0)
    value = changes["value"].values[abnormal]
    assert ((low <= value) & (value <= high)).all()


def test_it_agrees_with_the_scores_and_the_decision(est, planted):
    Z = np.concatenate([planted[0][:20], np.zeros((2, 5))])
    why = est.explain(Z, draws=2000, changes=False)
    np.testing.assert_array_equal(why.rows["normal"], est.predict(Z) == 1)
    assert why.rows["normal"].iloc[-1]  # rows inside the description are explained
    assert why.changes is None
    assert why.draws == 2000
    middle = est.explain(Z, prob=1e-9, draws=2000, changes=False).rows
    # the score is log 2 less the surprise, and the cutoff likewise
    np.testing.assert_allclose(np.log(2.0) - middle["low"], est.score_samples(Z), atol=1e-3)
    np.testing.assert_allclose(middle["cutoff"], np.log(2.0) - est.offset_)
    total = why.columns["mean"].sum("column") + why.rows["remainder"].to_numpy()
    np.testing.assert_allclose(total, why.rows["mean"], rtol=1e-10)
    assert (why.columns["share_low"] <= why.columns["share"]).all()
    assert (why.columns["share"] <= why.columns["share_high"]).all()


def test_nearest_normal_rows_are_the_nearest(est, rows, planted):
    Z = planted[0][:7]
    normal = np.flatnonzero(est.idata_["decision"]["normal"].values)
    distance = np.linalg.norm(Z[:, None] - rows[normal], axis=2)
    expected = normal[np.argsort(distance, axis=1)[:, :4]]
    nearest = est.explain(Z, top=4, changes=False).nearest
    np.testing.assert_array_equal(nearest["row"], expected)
    k = est.kernel_(Z, rows)
    np.testing.assert_allclose(nearest["similarity"], np.take_along_axis(k, expected, axis=1))
    sd = rows.std(axis=0)
    size = np.linalg.norm((Z[:, None] - rows[expected]) / sd, axis=2)
    np.testing.assert_allclose(nearest["distance"], size)
    linear = BDD(kernel=kernels.Linear()).fit(rows)
    normal = np.flatnonzero(linear.idata_["decision"]["normal"].values)
    distance = np.linalg.norm(Z[:, None] - rows[normal], axis=2)
    nearest = linear.explain(Z, top=4, changes=False).nearest
    np.testing.assert_array_equal(nearest["row"], normal[np.argsort(distance, axis=1)[:, :4]])
    similarity = np.take_along_axis(Z @ rows.T, nearest["row"].values, axis=1)
    np.testing.assert_allclose(nearest["similarity"], similarity, rtol=1e-8, atol=1e-10)


def test_names_are_those_of_the_data_frames(rows):
    est = SVDD().fit(pd.DataFrame(rows, columns=NAMES))
    new = pd.DataFrame([[0.0, 0.0, 0.0, 7.0, 0.0]], columns=NAMES, index=["odd"])
    why = est.explain(new)
    assert why.rows.index.tolist() == ["odd"]
    assert why.columns.sel(obs="odd")["share"].idxmax() == "d"
    assert why.top_columns(2).columns.tolist() == ["column_1", "share_1", "column_2", "share_2"]
    assert why.draws == 1  # one estimate: the ends of the interval are the mean
    assert (why.columns["low"] == why.columns["high"]).all()
    assert why.points["row"].shape == (1, min(5, len(est.support_)))
    assert set(why.points["row"].values[0]) <= set(est.support_)


@pytest.mark.parametrize("model", [BDDM(), BSVDDM(), SVDDM()], ids=["BDDM", "BSVDDM", "SVDDM"])
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_signed_weights_have_terms_of_points_that_add_up(rows, model):
    X = np.concatenate([rows[:80], rows[:8] + np.eye(5)[0] * 4.0])
    y = np.arange(88) >= 80
    est = model.fit(X, y)
    Z = X[[0, 84]] + 0.1
    why = est.explain(Z, draws=10**6, top=88)
    assert why.kind == "distance" and why.columns is None
    d2 = est.distance(Z, common_norm=True) ** 2 - est.cutoff_**2
    margin = d2.mean(("chain", "draw"))
    np.testing.assert_allclose(why.rows["mean"], margin, rtol=1e-6, atol=1e-9)
    added = why.rows["base"] + why.rows["remainder"] + why.points["mean"].sum("rank").values
    np.testing.assert_allclose(added, margin, rtol=1e-6, atol=1e-9)
    points = why.points.isel(obs=1)
    assert (points["minority"] == (points["row"] >= 80)).all()
    # the row resembles labelled minority rows, which push it away
    of_minority = points["mean"].values[points["minority"].values]
    assert of_minority.sum() > 0 or isinstance(est, SVDDM)  # where these rows have no weight
    with pytest.raises(ValueError, match="weights that may be negative"):
        why.top_columns()
    if (est.idata_["decision"]["normal"].values & ~y).any():
        value = why.changes["value"].values
        assert (est.predict(value) == 1).all()


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_landmarks_are_points_and_not_rows(rows):
    X = np.tile(rows, (4, 1)) + np.random.default_rng(5).normal(size=(1200, 5)) / 9
    est = BSVDD(dictionary=Landmarks(20, method="kmeans"), draws=200).fit(X)
    why = est.explain(X[:2] + 9.0, top=3)
    assert (why.points["row"] == -1).all()
    assert ((why.points["point"] >= 0) & (why.points["point"] < 20)).all()
    assert (why.nearest["row"] >= 0).all()  # these are training rows
    assert (est.predict(why.changes["value"].values) == 1).all()
    sampled = BSVDD(dictionary=Landmarks(20, method="random"), draws=200).fit(X)
    points = sampled.explain(X[:2] + 9.0, top=3).points
    held = sampled.idata_["constant_data"]["X"].values
    np.testing.assert_array_equal(
        held[points["row"].values], sampled.gram_.points[points["point"].values]
    )


def test_a_pruned_model_is_explained_with_its_points(est, planted):
    pruned = est.pruned(0.05)
    why = pruned.explain(planted[0][:5], draws=2000, changes=False)
    assert len(pruned.support_) < 300
    assert set(why.points["point"].values.ravel()) <= set(pruned.support_)
    added = why.columns["mean"].sum("column") + why.rows["remainder"].to_numpy()
    np.testing.assert_allclose(added, why.rows["mean"], rtol=1e-10)
    whole = est.explain(planted[0][:5], draws=2000, changes=False)
    np.testing.assert_allclose(why.columns["share"], whole.columns["share"], atol=0.1)


def test_errors_say_why(est, rows):
    with pytest.raises(ValueError, match="no columns to share"):
        SVDD(kernel=kernels.Precomputed(1.0)).fit(est.kernel_(rows)).explain(est.kernel_(rows))
    for other in (OCSVM().fit(rows), KNN().fit(rows)):
        with pytest.raises(ValueError, match=f"{type(other).__name__} has no centre"):
            other.explain(rows)
    with pytest.raises(ValueError, match="no centre"):
        SVM().explain(rows)
    with pytest.raises(ValueError, match="4 features, but BSVDD is expecting 5"):
        est.explain(rows[:, :4])
    for arguments in ({"prob": 1.0}, {"draws": 0}, {"top": 1.5}):
        (name,) = arguments
        with pytest.raises(ValueError, match=name):
            est.explain(rows, **arguments)
    with pytest.raises(ValueError, match="no product over columns"):
        BDD(kernel=kernels.Polynomial(2)).fit(rows).explain(rows[:1]).top_columns()
    import dask.array

    with pytest.raises(TypeError, match="dask"):
        est.explain(dask.array.from_array(rows))


def test_intervals_cover_the_exact_terms_of_the_population():
    """Rows are N(0, I), and the centre of the population is the mean of phi(x).

    Its q is a product of N(z_f / (1 + s^2), s^2 / (1 + s^2)), so all terms are closed forms.
    """
    s, p = 1.5, 2
    Z = np.array([[0.0, 0.0], [1.0, -1.0], [2.0, 0.5], [-1.5, 1.5]])
    variance = s**2 / (1.0 + s**2)
    columns = ((Z - Z / (1.0 + s**2)) ** 2 + variance) / (2.0 * s**2)
    total = (Z**2).sum(axis=1) / (2 * (1 + s**2)) + p / 2 * np.log((1 + s**2) / s**2)
    covered: dict[str, list[float]] = {"columns": [], "shares": [], "total": []}
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(100, p))
        est = BSVDD(kernel=kernels.RBF(s), likelihood_scale="calibrated", cutoff=1.0).fit(X)
        why = est.explain(Z, draws=400, changes=False)
        inside = (why.columns["low"] <= columns) & (columns <= why.columns["high"])
        covered["columns"].append(float(inside.mean()))
        share = columns / total[:, None]
        inside = (why.columns["share_low"] <= share) & (share <= why.columns["share_high"])
        covered["shares"].append(float(inside.mean()))
        inside = (why.rows["low"] <= total) & (total <= why.rows["high"])
        covered["total"].append(float(inside.mean()))
    for name, shares in covered.items():
        assert 0.8 <= np.mean(shares) <= 0.98, (name, np.mean(shares))


def test_shap_ranks_the_columns_alike(est, planted):
    """Shapley values of the surprise."""
    import shap

    Z, column = planted[0][:40], planted[1][:40]
    background = est._fit.data.rows[::10]
    explainer = shap.ExactExplainer(lambda X: -est.score_samples(X), background)
    values = np.asarray(explainer(Z).values)
    terms = est.explain(Z, changes=False).columns
    excess = (terms["mean"] - terms["typical"]).values
    assert (values.argmax(axis=1) == excess.argmax(axis=1)).mean() >= 0.9
    of_planted = values[np.arange(40), column], excess[np.arange(40), column]
    assert (np.sign(of_planted) == 1.0).all()
    pairs = zip(rankdata(values, axis=1), rankdata(excess, axis=1), strict=True)
    assert np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]) > 0.6
