"""est.explain: each part against its definition, planted shifts, and a population's centre."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.yardsticks import KNN
from scipy.special import logsumexp, rel_entr
from scipy.stats import rankdata

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, OCSVM, SVDD, SVDDM, SVM, Cutoff, Landmarks, kernels
from tests.scores import thresholds, upper_median

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(47, 3)) * [1.0, 10.0, 0.1]
SCALED = ROWS / [1.0, 10.0, 0.1]
NAMES = ["a", "b", "c"]
NEW = pd.DataFrame(
    np.concatenate([ROWS[:2] + 0.01, [[0.0, 60.0, 0.0], [4.0, 0.0, 0.9], [-9.0, 5.0, 0.1]]]),
    columns=NAMES,
    index=["in", "also in", "b", "c", "a"],
)
BANDWIDTH = 1.4


@pytest.fixture(scope="module")
def est():
    kernel = kernels.Standardized(kernels.RBF(BANDWIDTH))
    return SVDD(kernel=kernel).fit(pd.DataFrame(ROWS, columns=NAMES))


@pytest.fixture
def why(est):
    return est.explain(NEW, top=4)


def costs(Z, U):
    """Minus the logarithm of the kernel in each column, (rows, points, columns)."""
    return ((Z[:, None] - U) / ROWS.std(axis=0)) ** 2 / (2.0 * BANDWIDTH**2)


def surprise(w, cost):
    """Return the surprise, its terms of columns and the shares of the points of one row."""
    q = w * np.exp(-cost.sum(axis=1))
    return -np.log(q.sum()), q @ cost / q.sum(), q / q.sum()


def test_rows_and_columns_are_terms_of_the_surprise(est, why):
    w = est.idata_["posterior"]["w"].values.ravel()
    assert (why.kind, why.draws, why.prob, why.without_columns) == ("surprise", 1, 0.9, "")
    parts = ["normal", "mean", "low", "high", "base", "remainder"]
    assert why.rows.columns.tolist() == parts and why.rows.index.tolist() == NEW.index.tolist()
    assert why.rows["normal"].tolist() == (est.predict(NEW) == 1).tolist()
    assert why.rows["normal"].nunique() == 2
    assert (why.rows["normal"] == (why.rows["mean"] <= 0.0)).all()
    log_cutoff = upper_median(thresholds(est))
    np.testing.assert_allclose(why.rows["base"], log_cutoff)
    assert why.columns["column"].values.tolist() == NAMES
    assert why.columns["obs"].values.tolist() == NEW.index.tolist()
    for i, cost in enumerate(costs(NEW.to_numpy(), ROWS)):
        total, columns, q = surprise(w, cost)
        of_row, of_columns = why.rows.iloc[i], why.columns.isel(obs=i)
        for end in ("mean", "low", "high"):  # one draw
            assert of_row[end] == pytest.approx(total + log_cutoff, rel=1e-9)
            np.testing.assert_allclose(of_columns[end], columns, rtol=1e-9)
            share = of_columns["share" if end == "mean" else f"share_{end}"]
            np.testing.assert_allclose(share, columns / total, rtol=1e-9)
        assert of_row["remainder"] == pytest.approx(rel_entr(q, w).sum(), rel=1e-8)
        best = np.argsort(-q)[: why.points.sizes["rank"]]
        points = why.points.isel(obs=i)
        assert points["rank"].values.tolist() == list(range(len(best))) and len(best) == 4
        assert points["point"].values.tolist() == points["row"].values.tolist() == best.tolist()
        for end in ("mean", "low", "high"):
            np.testing.assert_allclose(points[end], q[best], rtol=1e-9)
        assert not points["minority"].any()


@pytest.mark.parametrize("inner", [kernels.RBF(0.7), kernels.Laplacian(0.9)], ids=repr)
@pytest.mark.parametrize("standardised", [False, True])
def test_the_identity_is_exact_in_each_draw(inner, standardised):
    """The surprise is its base, the columns and KL(q || w); means and quantiles over the draws."""
    kernel = kernels.Standardized(inner) if standardised else inner
    est = BSVDD(kernel=kernel, draws=20, tune=20).fit(SCALED)
    Z = np.concatenate([NEW.to_numpy() / [1.0, 10.0, 0.1], [[30.0, 0.0, 0.0]]])
    found = est.explain(Z, draws=40, prob=0.8, top=5, changes=False)
    w = est.idata_["posterior"]["w"].values.reshape(40, 47)
    away = np.abs(Z[:, None] - SCALED) / (SCALED.std(axis=0) if standardised else 1.0)
    s = inner.bandwidth
    c = away**2 / (2 * s**2) if isinstance(inner, kernels.RBF) else away / s
    log_q = np.log(w)[:, None] - c.sum(axis=2)  # (draws, rows, points)
    total = -logsumexp(log_q, axis=2)
    q = np.exp(log_q + total[..., None])
    columns = np.einsum("dzj,zjf->dzf", q, c)
    divergence = rel_entr(q, w[:, None]).sum(axis=2)
    np.testing.assert_allclose(total, columns.sum(axis=2) + divergence, rtol=1e-9, atol=1e-10)
    of_points = np.take_along_axis(q, found.points["point"].values[None], axis=2)
    for name, quantile in (("mean", None), ("low", 0.1), ("high", 0.9)):

        def of(x, quantile=quantile):
            return x.mean(0) if quantile is None else np.quantile(x, quantile, 0)

        surprise = total + thresholds(est)[:, None]
        np.testing.assert_allclose(found.rows[name], of(surprise), rtol=1e-9)
        np.testing.assert_allclose(found.columns[name], of(columns), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.points[name], of(of_points), rtol=1e-8, atol=1e-13)
        share = "share" if quantile is None else f"share_{name}"
        shares = columns / total[..., None]
        np.testing.assert_allclose(found.columns[share], of(shares), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.rows["remainder"], divergence.mean(0), rtol=1e-7, atol=1e-9)
    best = np.argsort(-q.mean(axis=0), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(found.points["point"].values[:5], best[:5])


def test_typical_terms_are_those_of_majority_rows_without_themselves():
    minority = np.arange(47) % 9 == 4
    kernel = kernels.Standardized(kernels.RBF(BANDWIDTH))
    est = SVDD(kernel=kernel).fit(ROWS, minority)
    majority = np.flatnonzero(~minority)  # 42 rows
    U, w = ROWS[majority], est.idata_["posterior"]["w"].values.ravel()[: len(majority)]
    scale = np.array(est.kernel_.scale)
    terms = []
    for j in range(len(majority)):
        others = np.arange(len(majority)) != j  # a row is not its own neighbour
        cost = ((U[j] - U[others]) / scale) ** 2 / (2.0 * BANDWIDTH**2)
        terms.append(surprise(w[others], cost)[1])
    typical = est.explain(ROWS[:1], changes=False).columns["typical"]
    np.testing.assert_allclose(typical, np.mean(terms, axis=0), rtol=1e-9)


def test_typical_terms_of_a_linear_kernel_leave_the_row_out():
    """By the definition: the centre of the other points, with rescaled weights."""
    est = SVDD(kernel=kernels.Linear()).fit(ROWS)
    w = est.idata_["posterior"]["w"].values.ravel()
    terms = [
        (ROWS[i] - np.delete(w, i) @ np.delete(ROWS, i, axis=0) / (1.0 - w[i])) ** 2
        for i in range(len(ROWS))
    ]
    typical = est.explain(ROWS[:1], changes=False).columns["typical"]
    np.testing.assert_allclose(typical, np.mean(terms, axis=0), rtol=1e-9)


def test_typical_terms_of_free_weights_are_comparable_with_those_of_rows():
    """Both have the posterior variance of the centre, which is large where units are small."""
    rows = ROWS / ROWS.std(axis=0) * 0.01
    est = BDD(kernel=kernels.Linear(), draws=500).fit(rows)
    found = est.explain(rows, changes=False).columns
    np.testing.assert_allclose(found["typical"], found["mean"].mean("obs"), rtol=1e-9)
    means = est.idata_["posterior"]["w"].values.mean(axis=(0, 1))
    assert (found["typical"] > np.square(rows - means @ rows).mean(axis=0)).all()


def test_top_columns_are_in_the_order_of_their_shares(why):
    share = why.columns["share"].to_pandas()
    table = why.top_columns()
    assert table.columns.tolist() == [
        f"{part}_{i}" for i in (1, 2, 3) for part in ("column", "share")
    ]
    assert table.index.tolist() == NEW.index.tolist()
    for row in NEW.index:
        order = share.loc[row].sort_values(ascending=False)
        assert [table.loc[row, f"column_{i}"] for i in (1, 2, 3)] == order.index.tolist()
        assert [table.loc[row, f"share_{i}"] for i in (1, 2, 3)] == order.tolist()
    assert table.loc[["b", "c", "a"], "column_1"].tolist() == ["b", "c", "a"]
    assert why.top_columns(1).columns.tolist() == ["column_1", "share_1"]


@pytest.mark.parametrize("kernel", [kernels.RBF(1.5), kernels.Linear(), kernels.Polynomial(2)])
def test_nearest_rows_are_normal_and_the_most_similar(kernel):
    rows, new = SCALED, NEW.to_numpy() / [1.0, 10.0, 0.1]
    minority = np.arange(47) % 9 == 4
    est = BDD(kernel=kernel, draws=40).fit(rows, minority)
    normal = np.flatnonzero(est.idata_["decision"]["normal"].values & ~minority)
    assert 0 < len(normal) < (~minority).sum()
    nearest = est.explain(new, top=6, changes=False).nearest
    assert nearest["rank"].values.tolist() == list(range(6))
    k = kernel(new, rows[normal])
    between = -2.0 * k + kernel.diag(
        rows[normal]
    )  # the squared distance in kernel space, up to k(z, z)
    best = np.argsort(between, axis=1)[:, :6]
    np.testing.assert_array_equal(nearest["row"], normal[best])
    np.testing.assert_allclose(nearest["similarity"], np.take_along_axis(k, best, 1), rtol=1e-8)
    sd = rows[~minority].std(axis=0)
    away = (new[:, None] - rows[normal][best]) / sd
    np.testing.assert_allclose(nearest["distance"], np.linalg.norm(away, axis=2))
    every = est.explain(new, top=1000, changes=False).nearest
    assert every.sizes["rank"] == len(normal)


def test_categories_have_no_distance_and_no_change():
    frame = pd.DataFrame(ROWS[:, :2], columns=["a", "b"]).assign(kind=["u", "v"] * 23 + ["w"])
    est = SVDD(kernel=kernels.Tabular()).fit(frame)
    found = est.explain(frame[:3], top=5)
    assert found.changes is None
    rows = found.nearest["row"].values
    away = (ROWS[:3, None, :2] - ROWS[rows][..., :2]) / ROWS[:, :2].std(axis=0)
    np.testing.assert_allclose(found.nearest["distance"], np.linalg.norm(away, axis=2))


@pytest.mark.parametrize(
    "model", [BDDM(), BSVDDM(), SVDDM(kernel=kernels.RBF())], ids=["BDDM", "BSVDDM", "SVDDM"]
)
def test_signed_weights_are_explained_by_terms_of_points_that_add_up(model):
    """d^2 - D_opt^2 of a row, less the mean of the normal rows, in terms of the points."""
    y = np.arange(47) >= 40
    rows = SCALED + [0.8, 0.8, 0.8] * y[:, None]
    est = model.fit(rows, y)
    Z = rows[[0, 44]] + 0.1
    found = est.explain(Z, draws=10**6, top=100)
    assert (found.kind, found.columns) == ("distance", None)
    assert found.rows.columns.tolist()[-2:] == ["base", "remainder"]
    similarity = est.fit_.center.similarity(Z)
    cutoff = thresholds(est) if len(similarity) > 1 else [upper_median(thresholds(est))]
    margin = 2.0 * (np.mean(cutoff) - similarity.mean(axis=0))
    np.testing.assert_allclose(found.rows["mean"], margin, rtol=1e-6, atol=1e-9)
    added = found.rows["base"] + found.rows["remainder"] + found.points["mean"].sum("rank").values
    np.testing.assert_allclose(added, margin, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found.points["minority"], found.points["row"] >= 40)
    assert found.points["minority"].any() and not found.points["minority"].all()
    assert (found.nearest["row"] < 40).all()
    with pytest.raises(ValueError, match="no exact shares of columns for weights that may be neg"):
        found.top_columns()
    if (est.idata_["decision"]["normal"].values & ~y).any():
        assert (est.predict(found.changes["value"].values) == 1).all()


class Rational(kernels.Kernel):
    """A normalised kernel that is no product over columns."""

    normalized = True

    def _matrix(self, X, Y):
        return 1.0 / (1.0 + ((X[:, None] - Y) ** 2).sum(axis=-1))

    def _diag(self, X):
        return np.ones(len(X))

    def log(self, X, Y):
        return np.log(self(X, Y))


def test_other_kernels():
    for kernel in (kernels.Polynomial(2), Rational()):
        est = BDD(kernel=kernel, draws=20).fit(SCALED)
        found = est.explain(SCALED[:2], changes=False)
        assert (found.kind, found.columns) == ("distance", None)
        with pytest.raises(ValueError, match="is no product over columns"):
            found.top_columns()
    linear = BDD(kernel=kernels.Linear(), draws=20).fit(SCALED)
    found = linear.explain(SCALED[:2], changes=False)
    assert found.kind == "distance" and found.without_columns == ""
    assert found.top_columns().shape == (2, 6)
    d2 = (linear.distance(SCALED[:2]) ** 2).mean(("chain", "draw"))
    np.testing.assert_allclose(found.columns["mean"].sum("column"), d2, rtol=1e-9)
    np.testing.assert_allclose(found.columns["share"].sum("column"), 1.0)


def test_landmarks_are_points_and_rows_where_they_are_rows():
    rows = np.tile(SCALED, (3, 1)) + 0.05 * RNG.normal(size=(141, 3))
    for method in ("kmeans", "random"):
        est = BDD(dictionary=Landmarks(9, method=method), draws=20).fit(rows)
        points = est.explain(rows[:2] + 1.0, top=3, changes=False).points
        if method == "kmeans":
            assert (points["row"] == -1).all()
        else:
            held = est.idata_["constant_data"]["X"].values
            np.testing.assert_array_equal(
                held[points["row"].values], est.gram_.points[points["point"].values]
            )


def test_without_a_normal_row_there_is_none_to_compare_with(est):
    none = est.with_cutoff(0.0)
    assert not none.idata_["decision"]["normal"].values.any()
    found = none.explain(NEW)
    assert found.nearest.sizes["rank"] == 0 and not found.rows["normal"].any()
    assert np.isnan(found.changes["value"]).all() and np.isnan(found.changes["size"]).all()


@pytest.mark.parametrize("seed", range(3))
def test_the_decision_on_the_row_that_is_the_cutoff_is_one_everywhere(seed):
    """P(normal), predict and the explanation; the cutoff is the score of a training row."""
    rows = np.random.default_rng(seed).normal(size=(60, 3))
    for cls, more in ((SVDD, {}), (BDD, {"simplex": True}), (BDD, {})):
        est = cls(cutoff=Cutoff("rank", rank=0.8, cv="train"), **more).fit(rows)
        normal = est.predict(rows) == 1
        np.testing.assert_array_equal(est.probability_normal(rows) > 0.5, normal)
        np.testing.assert_array_equal(est.explain(rows, changes=False).rows["normal"], normal)


# the smallest change that makes a row normal


def test_changes_make_rows_normal(est, why):
    changes, normal = why.changes, why.rows["normal"].to_numpy()
    value, sd = changes["value"].values, ROWS.std(axis=0)
    assert (est.predict(pd.DataFrame(value, columns=NAMES)) == 1).all()
    assert (value[normal] == NEW.to_numpy()[normal]).all()
    np.testing.assert_array_equal(changes["change"], value - NEW.to_numpy())
    np.testing.assert_allclose(changes["standardized"], changes["change"].values / sd)
    size = np.linalg.norm(changes["standardized"], axis=1)
    np.testing.assert_allclose(changes["size"], size)
    assert (size[~normal] > 0.0).all()
    assert changes["column"].values.tolist() == NAMES
    assert changes["obs"].values.tolist() == NEW.index.tolist()
    assert est.explain(NEW, changes=False).changes is None


MOON = datasets.moon(n0=100, n1=1)
MOON_ROWS = MOON.X[~MOON.minority] * [1.0, 40.0]


@pytest.mark.parametrize(
    ("model", "worst"),
    [
        (BSVDD(kernel=kernels.Standardized(kernels.RBF(0.3))), 1.1),
        (BSVDD(kernel=kernels.RBF("likelihood")), 1.1),
        (SVDD(kernel=kernels.Standardized(kernels.RBF(0.5))), 1.01),
        (BSVDD(kernel=kernels.Standardized(kernels.Laplacian(0.7))), 1.1),
        (BDD(kernel=kernels.Standardized(kernels.Polynomial(2))), 1.2),
    ],
    ids=["BSVDD", "raw columns", "SVDD", "Laplacian", "Polynomial"],
)
def test_no_normal_row_of_a_grid_is_much_nearer(model, worst):
    est = model.fit(MOON_ROWS)
    low, high, sd = (f(MOON_ROWS, axis=0) for f in (np.min, np.max, np.std))
    Z = np.random.default_rng(1).uniform(2 * low - high, 2 * high - low, size=(40, 2))
    Z = Z[est.predict(Z) == -1][:12]
    assert len(Z) == 12
    changes = est.explain(Z).changes
    x = changes["value"].values
    assert (est.predict(x) == 1).all() and ((low <= x) & (x <= high)).all()
    axes = [np.linspace(*ends, 200) for ends in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    grid = grid[est.predict(grid) == 1]
    smallest = np.array([np.linalg.norm((grid - z) / sd, axis=1).min() for z in Z])
    size = changes["size"].values
    assert (size <= worst * smallest).all()
    assert np.median(size / smallest) < 1.01
    # nor is the last normal row before the first abnormal one, on the way from the nearest row
    normal, share = MOON_ROWS[est.predict(MOON_ROWS) == 1], np.linspace(0.0, 1.0, 500)[:, None]
    for z, found in zip(Z, size, strict=True):
        start = normal[np.linalg.norm((normal - z) / sd, axis=1).argmin()]
        line = start + share * (np.clip(z, low, high) - start)
        last = line[np.argmin(np.append(est.predict(line) == 1, False)) - 1]
        assert found <= np.linalg.norm((last - z) / sd) + 1e-9


def test_one_row_as_description_has_a_ball_as_normal_region():
    """All weight on one point: normal rows are a ball, and the nearest is on the line to it."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)  # equal units
    est = SVDD(kernel=kernels.Linear(), cutoff=Cutoff(1.0)).fit(rows)
    a = est.idata_["posterior"]["w"].values.ravel() @ rows
    Z = a + np.array([[0.0, 1.7], [1.2, 1.2]])
    expected = a + (Z - a) / np.linalg.norm(Z - a, axis=1, keepdims=True)
    np.testing.assert_allclose(est.explain(Z).changes["value"], expected, atol=1e-3)


def test_the_range_binds():
    """z is beyond the range in one column, where the training rows are constant."""
    rows = np.column_stack([np.random.default_rng(0).normal(size=50), np.full(50, 2.0)])
    with pytest.warns(Warning, match="constant"):
        est = BSVDD(kernel=kernels.RBF(0.5)).fit(rows)
    x = est.explain(np.array([[0.0, 9.0], [5.0, 9.0]])).changes["value"].values
    assert (x[:, 1] == 2.0).all() and x[0, 0] == pytest.approx(0.0, abs=1e-4)
    assert est.predict(x).tolist() == [1, 1]


# planted shifts


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
def bayes(rows):
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


def test_the_smallest_change_is_in_the_planted_column(bayes, planted):
    Z, column = planted
    why = bayes.explain(Z)
    abnormal = ~why.rows["normal"].to_numpy()
    changes = why.changes
    largest = np.abs(changes["standardized"]).values.argmax(axis=1)
    assert (largest == column)[abnormal].mean() >= 0.95
    assert (changes["change"].values[~abnormal] == 0.0).all()


def test_it_agrees_with_the_scores_and_the_decision(bayes, planted):
    Z = np.concatenate([planted[0][:20], np.zeros((2, 5))])
    why = bayes.explain(Z, draws=2000, changes=False)
    np.testing.assert_array_equal(why.rows["normal"], bayes.predict(Z) == 1)
    assert why.rows["normal"].iloc[-1]  # rows inside the description are explained
    assert why.changes is None
    assert why.draws == 2000
    middle = bayes.explain(Z, prob=1e-9, draws=2000, changes=False).rows
    np.testing.assert_allclose(middle["low"], bayes.decision(Z)["surprise"], atol=0.01)
    total = why.columns["mean"].sum("column") + why.rows[["base", "remainder"]].sum(axis=1)
    np.testing.assert_allclose(total, why.rows["mean"], rtol=1e-9, atol=1e-12)
    assert (why.columns["share_low"] <= why.columns["share"]).all()
    assert (why.columns["share"] <= why.columns["share_high"]).all()


def test_errors_say_why(bayes, rows):
    with pytest.raises(ValueError, match="no columns to share"):
        SVDD(kernel=kernels.Precomputed(1.0)).fit(bayes.kernel_(rows)).explain(bayes.kernel_(rows))
    for other in (OCSVM().fit(rows), KNN().fit(rows)):
        with pytest.raises(ValueError, match=f"{type(other).__name__} has no centre"):
            other.explain(rows)
    with pytest.raises(ValueError, match="no centre"):
        SVM().explain(rows)
    with pytest.raises(ValueError, match="4 features, but BSVDD is expecting 5"):
        bayes.explain(rows[:, :4])
    for arguments in ({"prob": 1.0}, {"draws": 0}, {"top": 1.5}):
        (name,) = arguments
        with pytest.raises(ValueError, match=name):
            bayes.explain(rows, **arguments)
    with pytest.raises(TypeError, match="dask"):
        bayes.explain(da.from_array(rows))


def test_intervals_cover_the_exact_terms_of_the_population():
    """Rows are N(0, I), and the centre of the population is the mean of phi(x).

    Its q is a product of N(z_f / (1 + s^2), s^2 / (1 + s^2)), so all terms are closed forms.
    """
    s, p = 1.5, 2
    Z = np.array([[0.0, 0.0], [1.0, -1.0], [2.0, 0.5], [-1.5, 1.5]])
    variance = s**2 / (1.0 + s**2)
    columns = ((Z - Z / (1.0 + s**2)) ** 2 + variance) / (2.0 * s**2)
    total = (Z**2).sum(axis=1) / (2 * (1 + s**2)) + p / 2 * np.log((1 + s**2) / s**2)
    # of D = 1, where s_cut is half the squared norm of the mean of phi(x)
    surprise = total + p / 2 * np.log(s**2 / (s**2 + 2.0)) - np.log(2.0)
    covered: dict[str, list[float]] = {"columns": [], "shares": [], "total": []}
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(100, p))
        est = BSVDD(kernel=kernels.RBF(s), cutoff=1.0).fit(X)
        why = est.explain(Z, draws=400, changes=False)
        inside = (why.columns["low"] <= columns) & (columns <= why.columns["high"])
        covered["columns"].append(float(inside.mean()))
        share = columns / total[:, None]
        inside = (why.columns["share_low"] <= share) & (share <= why.columns["share_high"])
        covered["shares"].append(float(inside.mean()))
        inside = (why.rows["low"] <= surprise) & (surprise <= why.rows["high"])
        covered["total"].append(float(inside.mean()))
    for name, shares in covered.items():
        assert 0.75 <= np.mean(shares) <= 0.98, (name, np.mean(shares))


def test_shap_ranks_the_columns_alike(bayes, planted):
    """Shapley values of the surprise."""
    import shap

    Z, column = planted[0][:40], planted[1][:40]
    background = bayes.idata_["constant_data"]["X"].values[::10]
    explainer = shap.ExactExplainer(lambda X: -bayes.score_samples(X), background)
    values = np.asarray(explainer(Z).values)
    terms = bayes.explain(Z, changes=False).columns
    excess = (terms["mean"] - terms["typical"]).values
    assert (values.argmax(axis=1) == excess.argmax(axis=1)).mean() >= 0.9
    of_planted = values[np.arange(40), column], excess[np.arange(40), column]
    assert (np.sign(of_planted) == 1.0).all()
    pairs = zip(rankdata(values, axis=1), rankdata(excess, axis=1), strict=True)
    assert np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]) > 0.6
