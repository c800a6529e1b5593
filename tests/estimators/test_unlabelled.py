"""Rows without a label in y: the same fit, to the bit, as with the rows given to the prior."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bsvdd as package
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, Cutoff, kernels, priors, read_table

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

MODELS = (BDD, BSVDD, BDDM, BSVDDM)
STANDARDIZED = kernels.Standardized(kernels.RBF("median"))
GRAPH = priors.GraphLaplacian(sd=0.5, neighbors=3, smoothness=5.0)


@pytest.fixture(scope="module")
def table():
    """Rows in columns of different scales, and labels 0, 1 and NaN in turns."""
    rng = np.random.default_rng(70)
    X = rng.normal(size=(45, 2)) * [1.0, 100.0]
    y = np.tile([0.0, 0.0, np.nan, 0.0, np.nan], 9)
    y[[0, 10, 20, 30, 40]] = 1.0
    X[y == 1] += [3.0, 300.0]
    return X, y


def make(cls, unlabelled=(), **others):
    prior = priors.GraphLaplacian(GRAPH.sd, unlabelled, GRAPH.neighbors, GRAPH.smoothness)
    short = {"draws": 60, "tune": 60, "chains": 2, "kernel": STANDARDIZED, "prior": prior}
    if cls is BDDM:
        short["minority_prior"] = priors.TruncatedNormal()
    return cls(**short | others)


def assert_same(est, by_hand, new):
    """Weights, left-out scores and scores of new rows, to the bit."""
    names = ("posterior", "w"), ("decision", "left_out"), ("decision", "probability_normal")
    for group, name in names:
        if name in by_hand.idata_[group].dataset:
            pair = (e.idata_[group][name].values for e in (est, by_hand))
            np.testing.assert_array_equal(*pair)
    assert est.cutoff_ == by_hand.cutoff_ and est.kernel_ == by_hand.kernel_
    np.testing.assert_array_equal(est.score_samples(new), by_hand.score_samples(new))


@pytest.fixture(scope="module")
def fits(table):
    """Return the fit with gaps in y, and the fit by hand, of a model."""
    X, y = table
    made = {}

    def of(cls):
        if cls not in made:
            gap = np.isnan(y)
            with_gaps = make(cls).fit(X, y)
            made[cls] = with_gaps, make(cls, X[gap]).fit(X[~gap], y[~gap].astype(int))
        return made[cls]

    return of


@pytest.mark.parametrize("cls", MODELS)
def test_the_fit_is_the_one_by_hand(fits, table, cls, tmp_path):
    X, y = table
    est, by_hand = fits(cls)
    assert_same(est, by_hand, X)
    assert est.prior == GRAPH and clone(est).prior == GRAPH  # the caller's parameter is unchanged
    gap = np.isnan(y)
    without = make(cls).fit(X[~gap], y[~gap])
    assert np.abs(without.gram_.K - est.gram_.K).max() == 0.0
    assert (without.idata_["posterior"]["w"].values != est.idata_["posterior"]["w"].values).any()
    assert est.idata_["constant_data"]["name"].values.tolist() == np.flatnonzero(~gap).tolist()

    loaded = []  # with draws in single precision, both
    for each in (est, by_hand):
        each.save(tmp_path / "model.nc")
        loaded.append(package.load(tmp_path / "model.nc"))
    assert_same(*loaded, X)
    folds = Cutoff(cv=3)
    assert_same(*(each.with_cutoff(folds) for each in loaded), X)
    assert_same(est.with_cutoff(folds), by_hand.with_cutoff(folds), X)


def test_another_prior_keeps_the_rows(fits, table, tmp_path):
    X, y = table
    est, _ = fits(BDD)
    gap = np.isnan(y)
    rougher = priors.GraphLaplacian(sd=0.5, neighbors=3, smoothness=0.5)
    other = est.with_prior(rougher)
    same = {"cutoff": other.cutoff}  # the rate of the first fit
    laplacian = priors.GraphLaplacian(0.5, X[gap], 3, 0.5)
    by_hand = make(BDD, prior=laplacian, **same).fit(X[~gap], y[~gap])
    assert_same(other, by_hand, X)
    # a prior that takes no unlabelled rows does without, and the next one has them again
    flat = est.with_prior(priors.Flat())
    assert_same(flat, make(BDD, prior=priors.Flat(), **same).fit(X[~gap], y[~gap]), X)
    flat.save(tmp_path / "model.nc")
    assert_same(package.load(tmp_path / "model.nc").with_prior(rougher), by_hand, X)


def test_rows_beside_those_that_the_prior_names(table):
    X, y = table
    gap = np.isnan(y)
    own = np.random.default_rng(71).normal(size=(6, 2)) * [1.0, 100.0]
    est = make(BDD, own).fit(X, y)
    by_hand = make(BDD, np.concatenate([own, X[gap]])).fit(X[~gap], y[~gap])
    assert_same(est, by_hand, X)
    assert est.prior == make(BDD, own).prior
    assert_same(clone(est).fit(X, y), by_hand, X)  # a second fit does not add the rows twice
    assert_same(est.fit(X, y), by_hand, X)


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
@pytest.mark.parametrize("kind", [list, pd.Series, lambda y: np.array(y, dtype=object)])
def test_every_kind_of_gap(fits, table, missing, kind):
    """Nullable columns of a data frame too."""
    X, y = table
    texts = [missing if np.isnan(v) else "bad" if v else "good" for v in y]
    assert_same(make(BDD, minor_label="bad").fit(X, kind(texts)), fits(BDD)[1], X)
    numbers = [missing if np.isnan(v) else int(v) for v in y]
    assert_same(make(BDD).fit(X, kind(numbers)), fits(BDD)[1], X)
    for dtype in ("Int64", "boolean", "category"):
        assert_same(make(BDD).fit(X, pd.Series(y).astype(dtype)), fits(BDD)[1], X)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_label_column_of_a_file(table, tmp_path, ending):
    X, y = table
    texts = [None if np.isnan(v) else "bad" if v else "good" for v in y]
    frame = pd.DataFrame({"a": X[:, 0], "state": texts, "b": X[:, 1]})
    path, full = tmp_path / f"table.{ending}", tmp_path / f"full.{ending}"
    for file, part in ((path, frame), (full, frame[frame["state"].notna()])):
        part.to_csv(file, index=False) if ending == "csv" else part.to_parquet(file, index=False)
    rows, labels = read_table(path, "state")
    est = make(BDD, minor_label="bad").fit(rows, labels)
    by_hand = make(BDD, X[np.isnan(y)], minor_label="bad").fit(*read_table(full, "state"))
    assert_same(est, by_hand, rows)
    assert est.labels_ == by_hand.labels_ == ("bad", "good")
    with pytest.raises(ValueError, match=r"y has no label \(NaN\) in row 2"):
        make(BDD, prior=priors.Flat(), minor_label="bad").fit(rows, labels)


def test_categories_of_unlabelled_rows(table):
    X, y = table
    gap = np.isnan(y)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(city=np.where(gap, "only here", "x"))
    frame.loc[::2, "city"] = "z"
    kernel = kernels.Tabular(STANDARDIZED)
    est = make(BDD, kernel=kernel).fit(frame, y)
    codes = make(BDD, kernel=kernel).fit(frame[gap]).idata_["constant_data"]["X"].values
    assert_same(est, make(BDD, codes, kernel=kernel).fit(frame[~gap], y[~gap]), frame)


# errors


@pytest.mark.parametrize(
    ("est", "change", "message"),
    [
        (SVDD(), {}, r"y has no label \(NaN\) in row 2 \(18 in all\).*prior=priors.GraphLaplacian"),
        (BDD(), {}, r"y has no label \(NaN\) in row 2 \(18 in all\).*prior=priors.GraphLaplacian"),
        (make(BDD), {"y": np.full(45, np.nan)}, "y has no label in any row; omit y if all rows"),
        (make(BDD), {"y": [1] + [None] * 44}, "could be either class"),
        (make(BDD, minor_label=0), {"y": [1] + [None] * 44}, r"a label in 1 row\(s\); expected at"),
        (make(BDD), {"y": ["a", 1] + [None] * 43}, "y mixes texts and numbers: row 0 is 'a'"),
        (make(BDD), {"y": [0, 1, None]}, r"y must have shape \(45,\)"),
    ],
)
def test_errors(table, est, change, message):
    X, y = table
    with pytest.raises(ValueError, match=message):
        est.fit(X, change.get("y", y))


def test_rows_that_no_graph_takes(monkeypatch, table):
    with pytest.raises(ValueError, match="y has no label in 18 .* with a precomputed kernel"):
        make(BDD, kernel=kernels.Precomputed()).fit(kernels.RBF(1.0)(table[0]), table[1])
    monkeypatch.setattr("bsvdd.estimators.training.MAX_POINTS", 39)
    with pytest.raises(ValueError, match=r"graph of 40 majority and unlabelled rows needs"):
        make(BDD).fit(*table)
