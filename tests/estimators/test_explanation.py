"""est.explain: each part against its definition, planted shifts, and a population's centre."""

from operator import itemgetter

import numpy as np
import pandas as pd
import pytest
from bsvdd.models.kernels.tabular import Column
from scipy.special import logsumexp, rel_entr
from scipy.stats import rankdata

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, SVDDM, SVM, kernels
from tests.scores import log_nearest_of, raised, thresholds, upper_median

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
NEW_SCALED = NEW.to_numpy() / [1.0, 10.0, 0.1]
MINORITY = np.arange(47) % 9 == 4
BANDWIDTH = 1.4


def assert_same_as_the_decision(why, decided):
    numbers = decided[["surprise", "surprise_low", "surprise_high"]]
    np.testing.assert_allclose(why.rows[["value", "low", "high"]], numbers, rtol=1e-12)


def test_tables_have_the_names_of_rows_and_columns():
    kernel = kernels.Standardized(kernels.RBF(BANDWIDTH))
    est = SVDD(kernel=kernel).fit(pd.DataFrame(ROWS, columns=NAMES))
    why, names = bsvdd.explain(est, NEW, top=4), NEW.index.tolist()
    assert (why.kind, why.draws, why.prob, why.without_columns) == ("surprise", 1, 0.9, "")
    parts = ["normal", "value", "low", "high", "base", "remainder", "unseen"]
    assert why.rows.columns.tolist() == parts and why.rows.index.tolist() == names
    normal = why.rows["normal"].to_numpy()
    assert (normal == (est.predict(NEW) == 1)).all() and (normal == (why.rows["value"] <= 0)).all()
    assert_same_as_the_decision(why, est.decision(NEW))
    for each in (why.columns, why.changes):
        assert each["column"].values.tolist() == NAMES and each["obs"].values.tolist() == names
    assert not why.points["minority"].any() and why.points.sizes["rank"] == 4
    np.testing.assert_array_equal(why.points["point"], why.points["row"])
    table, share = why.top_columns(), why.columns["share"].to_pandas()
    assert table.loc[["b", "c", "a"], "column_1"].tolist() == ["b", "c", "a"]
    for row in names:
        order = share.loc[row].sort_values(ascending=False)
        assert table.loc[row].tolist() == [v for pair in order.items() for v in pair]
    changes = why.changes
    value, change = changes["value"].to_pandas(), changes["change"].values
    assert (est.predict(value) == 1).all()
    np.testing.assert_array_equal(change, value - NEW.to_numpy())
    size = np.linalg.norm(change / ROWS.std(axis=0), axis=1)
    np.testing.assert_allclose(changes["size"], size)
    np.testing.assert_array_equal(size == 0.0, normal)
    none = bsvdd.explain(est.with_cutoff(0.0), NEW)  # there is no normal row to compare with
    assert none.nearest.sizes["rank"] == 0 and not none.rows["normal"].any()
    assert np.isnan(none.changes["value"]).all() and np.isnan(none.changes["size"]).all()


@pytest.mark.parametrize("inner", [kernels.RBF(0.7), kernels.Laplacian(0.9)], ids=repr)
@pytest.mark.parametrize("standardised", [False, True])
def test_the_identity_is_exact_in_each_draw(inner, standardised):
    """The surprise is its base, the columns and KL(q || w); means and quantiles over the draws."""
    kernel = kernels.Standardized(inner) if standardised else inner
    est = BSVDD(kernel=kernel, draws=20, tune=20).fit(SCALED)
    Z = np.concatenate([NEW_SCALED, [[30.0, 0.0, 0.0]]])
    found = bsvdd.explain(est, Z, draws=40, prob=0.8, top=5, changes=False)
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
    assert_same_as_the_decision(found, est.decision(Z, prob=0.8))
    terms = found.rows["value"] - found.rows["base"] - found.rows["unseen"]
    np.testing.assert_allclose(terms, total.mean(0), rtol=1e-9)
    added = raised(est, -total, log_nearest_of(est, Z)) + total
    np.testing.assert_allclose(found.rows["unseen"], -added.mean(0), rtol=1e-9, atol=1e-12)
    assert (found.rows["unseen"] < -0.001).any()
    shares = columns / total[..., None]
    for name, share, of in (
        ("mean", "share", lambda x: x.mean(0)),
        ("low", "share_low", lambda x: np.quantile(x, 0.1, 0)),
        ("high", "share_high", lambda x: np.quantile(x, 0.9, 0)),
    ):
        np.testing.assert_allclose(found.columns[name], of(columns), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.points[name], of(of_points), rtol=1e-8, atol=1e-13)
        np.testing.assert_allclose(found.columns[share], of(shares), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.rows["remainder"], divergence.mean(0), rtol=1e-7, atol=1e-9)
    best = np.argsort(-q.mean(axis=0), axis=1, kind="stable")[:, :5]
    np.testing.assert_array_equal(found.points["point"].values[:5], best[:5])


@pytest.mark.parametrize("kernel", [kernels.RBF(BANDWIDTH), kernels.Linear()], ids=repr)
def test_typical_terms_are_those_of_rows_without_themselves(kernel):
    """By the definition: the centre of the other majority points, with rescaled weights."""
    est, U = SVDD(kernel=kernel).fit(SCALED, MINORITY), SCALED[~MINORITY]
    w, terms = est.idata_["posterior"]["w"].values.ravel()[: len(U)], []
    for j, u in enumerate(U):
        v, others = np.delete(w, j) / (1.0 - w[j]), np.delete(U, j, axis=0)
        cost = (u - others) ** 2 / (2.0 * BANDWIDTH**2)
        q = v * np.exp(-cost.sum(axis=1))
        linear = isinstance(kernel, kernels.Linear)
        terms.append((u - v @ others) ** 2 if linear else q @ cost / q.sum())
    typical = bsvdd.explain(est, SCALED[:1], changes=False).columns["typical"]
    np.testing.assert_allclose(typical, np.mean(terms, axis=0), rtol=1e-9)


def test_typical_terms_of_free_weights_are_comparable_with_those_of_rows():
    """Both have the posterior variance of the centre, which is large where units are small."""
    rows = ROWS / ROWS.std(axis=0) * 0.01
    est = BDD(kernel=kernels.Linear(), draws=500).fit(rows)
    found = bsvdd.explain(est, rows, changes=False).columns
    np.testing.assert_allclose(found["typical"], found["mean"].mean("obs"), rtol=1e-9)
    means = est.idata_["posterior"]["w"].values.mean(axis=(0, 1))
    assert (found["typical"] > np.square(rows - means @ rows).mean(axis=0)).all()


@pytest.mark.parametrize("kernel", [kernels.RBF(1.5), kernels.Linear(), kernels.Polynomial(2)])
def test_nearest_rows_are_normal_and_the_most_similar(kernel):
    est = BDD(kernel=kernel, draws=40).fit(SCALED, MINORITY)
    normal = np.flatnonzero(est.idata_["decision"]["normal"].values & ~MINORITY)
    assert 0 < len(normal) < (~MINORITY).sum()
    nearest = bsvdd.explain(est, NEW_SCALED, top=6, changes=False).nearest
    assert nearest["rank"].values.tolist() == list(range(6))
    rows, k = SCALED[normal], kernel(NEW_SCALED, SCALED[normal])
    # the squared distance in kernel space, up to k(z, z)
    best = np.argsort(kernel.diag(rows) - 2.0 * k, axis=1)[:, :6]
    np.testing.assert_array_equal(nearest["row"], normal[best])
    np.testing.assert_allclose(nearest["similarity"], np.take_along_axis(k, best, 1), rtol=1e-8)
    away = (NEW_SCALED[:, None] - rows[best]) / SCALED[~MINORITY].std(axis=0)
    np.testing.assert_allclose(nearest["distance"], np.linalg.norm(away, axis=2))
    every = bsvdd.explain(est, NEW_SCALED, top=1000, changes=False).nearest
    assert every.sizes["rank"] == len(normal)


@pytest.mark.parametrize(
    "model", [BDDM(), BSVDDM(), SVDDM(kernel=kernels.RBF())], ids=["BDDM", "BSVDDM", "SVDDM"]
)
def test_signed_weights_are_explained_by_terms_of_points_that_add_up(model):
    """d^2 - D_opt^2 of a row, less the mean of the normal rows, in terms of the points."""
    y = np.arange(47) >= 40
    rows = SCALED + [0.8, 0.8, 0.8] * y[:, None]
    est, Z = model.fit(rows, y), rows[[0, 44]] + 0.1
    found = bsvdd.explain(est, Z, draws=10**6, top=100)
    assert (found.kind, found.columns) == ("distance", None)
    similarity, half = est.fit_.score.similarity(Z), np.exp(est.fit_.score.boundary.log_half)
    cutoff = thresholds(est)
    if len(similarity) == 1:
        half, cutoff = upper_median(half), upper_median(cutoff)
    unseen = -2.0 * np.exp(est.fit_.score.unseen(Z)[0]) * np.mean(half)
    np.testing.assert_allclose(found.rows["unseen"], unseen, rtol=1e-9)
    margin = 2.0 * (np.mean(cutoff) - similarity.mean(axis=0)) + unseen
    np.testing.assert_allclose(found.rows["value"], margin, rtol=1e-6, atol=1e-9)
    added = found.rows[["base", "remainder", "unseen"]].sum(axis=1)
    added += found.points["mean"].sum("rank").values
    np.testing.assert_allclose(added, margin, rtol=1e-6, atol=1e-9)
    minority = found.points["minority"]
    np.testing.assert_array_equal(minority, found.points["row"] >= 40)
    assert minority.any() and not minority.all() and (found.nearest["row"] < 40).all()
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


@pytest.mark.parametrize("kernel", [kernels.Polynomial(2), Rational(), kernels.Linear()], ids=repr)
def test_columns_have_terms_of_a_kernel_that_is_a_sum_or_a_product_over_them(kernel):
    est = BDD(kernel=kernel, draws=20).fit(SCALED)
    found = bsvdd.explain(est, SCALED[:2], changes=False)
    assert found.kind == "distance"
    if not isinstance(kernel, kernels.Linear):
        assert found.columns is None
        with pytest.raises(ValueError, match="is no product over columns"):
            found.top_columns()
        return
    assert found.top_columns().shape == (2, 6)
    d2 = (est.distance(SCALED[:2]) ** 2).mean(("chain", "draw"))
    np.testing.assert_allclose(found.columns["mean"].sum("column"), d2, rtol=1e-9)
    np.testing.assert_allclose(found.columns["share"].sum("column"), 1.0)


def test_categories_have_no_distance_and_no_change():
    frame = pd.DataFrame(ROWS[:, :2], columns=["a", "b"]).assign(kind=["u", "v"] * 23 + ["w"])
    found = bsvdd.explain(SVDD(kernel=kernels.Tabular()).fit(frame), frame[:3], top=5)
    assert found.changes is None
    away = ROWS[:3, None, :2] - ROWS[found.nearest["row"].values][..., :2]
    expected = np.linalg.norm(away / ROWS[:, :2].std(axis=0), axis=2)
    np.testing.assert_allclose(found.nearest["distance"], expected)


def test_nearest_rows_of_groups_are_rows():
    rows = np.tile(SCALED, (3, 1)) + 0.05 * RNG.normal(size=(141, 3))
    est = BSVDD(dictionary=9, draws=20).fit(rows)
    every = bsvdd.explain(est, rows[:2] + 1.0, top=200, changes=False)
    row, data = every.points["row"].values, est.fit_.data
    assert row.shape == (2, 9)  # as many as there are points
    np.testing.assert_array_equal(every.points["point"], data.point_of_row[row])
    w, kernel = est.fit_.draws.weights, est.kernel_
    of_row = (w / data.gram.points.sizes)[:, data.point_of_row]
    terms = kernel(rows[:2] + 1.0, rows)[:, None] * of_row
    q = (terms / terms.sum(axis=2, keepdims=True)).mean(axis=1)
    np.testing.assert_array_equal(row, np.argsort(-q, axis=1, kind="stable")[:, :9])
    np.testing.assert_allclose(every.points["mean"], np.take_along_axis(q, row, axis=1))


# the smallest change that makes a row normal


@pytest.mark.parametrize(
    "model",
    [
        BSVDD(draws=40, tune=40),
        SVDD(kernel=kernels.Standardized(kernels.Laplacian(0.7))),
        BDD(draws=40),
        BDD(kernel=kernels.Standardized(kernels.Polynomial(2)), draws=40),
    ],
    ids=["BSVDD", "Laplacian", "BDD", "Polynomial"],
)
def test_the_change_is_that_of_its_definition(model):
    """Column after column of a near row, by loops, then the last normal row on the way back."""
    est, rng = model.fit(ROWS, MINORITY), np.random.default_rng(1)
    Z = ROWS[:15] + rng.normal(size=(15, 3)) * [4.0, 40.0, 0.4]
    Z[:3] = ROWS[20:23] + 1e-3
    why, center = bsvdd.explain(est, Z), est.fit_.score
    normal = ROWS[est.idata_["decision"]["normal"].values & ~MINORITY]
    sd = ROWS[~MINORITY].std(axis=0)
    mean = center.with_weights(center.weights.mean(axis=0, keepdims=True))
    assert 0 < why.rows["normal"].sum() < 9
    for z, is_normal, found in zip(Z, why.rows["normal"], why.changes["value"].values, strict=True):
        ways, away = [], np.minimum(np.abs(z - normal) / sd, 2.0).sum(axis=1)
        for u in [] if is_normal else normal[np.argsort(away)[:3]]:
            x = z.copy()
            while est.predict([x])[0] == -1:
                tried = [np.where(np.arange(3) == f, u, x) for f in range(3)]
                scores = [mean.scores(t[None])[0] if (t != x).any() else -np.inf for t in tried]
                x = tried[int(np.argmax(scores))]
            back = [x + share * (z - x) for share in np.arange(1024) / 1024]
            is_last = (est.predict(back) == 1) & (np.append(est.predict(back[1:]), -1) == -1)
            ways += [((x != z).sum(), back[i]) for i in np.flatnonzero(is_last)]
        if is_normal:
            np.testing.assert_array_equal(found, z)
        else:
            fewest = [back for columns, back in ways if columns == min(ways, key=itemgetter(0))[0]]
            assert any(np.allclose(found, back, rtol=1e-9) for back in fewest)
            assert est.predict([found])[0] == 1


@pytest.mark.parametrize("model", [SVDD(), BSVDD(draws=40, tune=40)], ids=["SVDD", "BSVDD"])
def test_remote_rows_have_a_cause_and_a_change(model):
    """The terms are finite and name the column, however far a row is; the base stays log s_cut."""
    est = model.fit(ROWS)
    remote = np.tile(ROWS[0], (3, 1))
    remote[:, 2] = 1e8, 1e12, 1e200
    why = bsvdd.explain(est, remote)
    np.testing.assert_allclose(why.columns["share"].sel(column=2), 1.0)
    assert np.isfinite(why.rows["base"]).all() and np.ptp(why.rows["base"]) < 1.0
    assert (why.changes["change"].values[:, 2] != 0.0).all()
    wide = ROWS.copy()
    wide[7, 2] = 1e200
    assert bsvdd.explain(SVDD().fit(wide), rows=[7]).changes["standardized"].values[0, 2] < -1.0


# planted shifts


SCALES = np.array([1.0, 100.0, 0.01, 5.0, 1.0])
MANY = np.random.default_rng(0).normal(size=(300, 5))
# new rows with a shift of 6 standard deviations in one column each
rng = np.random.default_rng(1)
PLANTED, COLUMN = rng.normal(size=(200, 5)), rng.integers(5, size=200)
PLANTED[np.arange(200), COLUMN] += 6.0 * rng.choice([-1.0, 1.0], size=200)


@pytest.fixture(scope="module")
def bayes():
    return BSVDD(kernel=kernels.RBF("likelihood")).fit(MANY)


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
def test_the_planted_column_is_first_and_is_changed(model):
    est = model.fit(MANY * SCALES)
    why = bsvdd.explain(est, PLANTED * SCALES, changes=False)
    abnormal = ~why.rows["normal"].to_numpy()
    assert abnormal.mean() > 0.9
    first = why.top_columns(1)["column_1"].to_numpy()
    assert (first == COLUMN)[abnormal].mean() >= 0.95
    changed = (
        bsvdd.explain(est, PLANTED[:60] * SCALES).changes["change"].values[abnormal[:60]] != 0.0
    )
    assert (changed.sum(axis=1) == 1).mean() >= 0.85  # without the shift, one in ten is abnormal
    assert changed[np.arange(len(changed)), COLUMN[:60][abnormal[:60]]].mean() >= 0.95


MATRIX = SVDD(kernel=kernels.Precomputed(), cutoff=1.0)


@pytest.mark.parametrize(
    ("est", "X", "settings", "message"),
    [
        (MATRIX, np.eye(9), {}, "no columns to share"),
        (SVM(), SCALED, {}, "SVM has no centre"),
        (None, SCALED, {}, "3 features, but BSVDD is expecting 5"),
        (None, np.eye(5), {"prob": 1.0}, "prob"),
        (None, np.eye(5), {"draws": 0}, "draws"),
        (None, np.eye(5), {"top": 1.5}, "top"),
    ],
    ids=range(6),
)
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")
def test_errors_say_why(bayes, est, X, settings, message):
    est = bayes if est is None else est.fit(X, MINORITY if isinstance(est, SVM) else None)
    with pytest.raises((ValueError, TypeError), match=message):
        bsvdd.explain(est, X, **settings)


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
    covered = []
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(100, p))
        est = BSVDD(kernel=kernels.RBF(s), cutoff=1.0).fit(X)
        why = bsvdd.explain(est, Z, draws=400, changes=False)
        of, rows = why.columns, why.rows
        intervals = [
            (of["low"], columns, of["high"]),
            (of["share_low"], columns / total[:, None], of["share_high"]),
            (rows["low"], surprise, rows["high"]),
        ]
        covered.append([float(((a <= x) & (x <= b)).mean()) for a, x, b in intervals])
    shares = np.mean(covered, axis=0)
    assert ((shares >= 0.75) & (shares <= 0.98)).all(), shares


def test_shap_ranks_the_columns_alike(bayes):
    """Shapley values of the surprise."""
    import shap

    Z, column = PLANTED[:40], COLUMN[:40]
    explainer = shap.ExactExplainer(lambda X: -bayes.score_samples(X), MANY[::10])
    values = np.asarray(explainer(Z).values)
    terms = bsvdd.explain(bayes, Z, changes=False).columns
    excess = (terms["mean"] - terms["typical"]).values
    assert (values.argmax(axis=1) == excess.argmax(axis=1)).mean() >= 0.9
    assert (values[np.arange(40), column] > 0).all() and (excess[np.arange(40), column] > 0).all()
    pairs = zip(rankdata(values, axis=1), rankdata(excess, axis=1), strict=True)
    assert np.mean([np.corrcoef(a, b)[0, 1] for a, b in pairs]) > 0.6


def test_the_columns_of_many_rows_are_read_a_few_times(monkeypatch):
    """Each block of rows reads all columns of all points, so blocks are as large as they may be."""
    rows = np.random.default_rng(5).normal(size=(400, 100))
    est = SVDD().fit(rows)
    read, coordinates = [], Column.coordinates
    monkeypatch.setattr(
        Column, "coordinates", lambda *a, **k: read.append(1) or coordinates(*a, **k)
    )
    found = bsvdd.explain(est, rows[:200] + 0.01, changes=False)
    assert len(found.top_columns()) == 200
    before = len(read)
    assert np.isfinite(found.columns["typical"]).all()
    assert before <= 20 * 100 and len(read) - before <= 6 * 100
