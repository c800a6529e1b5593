"""est.kinds: three answers, normal, of a labelled kind, of a kind that nobody has labelled."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.warning import DataWarning
from scipy.optimize import minimize

import bsvdd
from bsvdd import LSSVM, SVDD, SVDDM, SVM, kernels
from tests.scores import scores_left_out

RNG = np.random.default_rng(0)
X = np.concatenate(
    [
        RNG.normal(size=(120, 2)),
        RNG.normal([5, 0], 0.4, (9, 2)),
        RNG.normal([0, 5], 0.4, (1, 2)),
    ]
)
Y = np.array(["ok"] * 100 + ["fine"] * 20 + ["leak"] * 9 + ["crack"])
LABELS = ["leak", "crack"]


@pytest.fixture(scope="module")
def fitted():
    return LSSVM(minor_label=LABELS).fit(X, Y)


def test_the_fit_is_that_of_one_minority_class(fitted):
    assert fitted.labels_ == ("leak", "crack", "fine", "ok")
    both = LSSVM().fit(X, np.isin(Y, LABELS))
    np.testing.assert_array_equal(fitted.score_samples(X), both.score_samples(X))
    with pytest.raises(AttributeError, match="np.isin\\(y, \\['leak', 'crack'\\]\\)"):
        _ = fitted.classes_


def test_columns_and_rows(fitted, tmp_path):
    Z = [[0.0, 0.0], [5.0, 0.0], [-9.0, -9.0]]
    P = bsvdd.kinds(fitted, Z)
    assert list(P.columns) == ["normal", "leak", "crack", "unknown"]
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.idxmax(axis=1).tolist() == ["normal", "leak", "unknown"]
    of_no_kind = bsvdd.kinds(fitted, RNG.normal([-6, -6], 0.3, (20, 2)))
    assert (of_no_kind.idxmax(axis=1) == "unknown").all()
    table = pd.DataFrame(X, columns=["u", "v"])
    est = SVDD(minor_label="leak").fit(table, Y)
    assert bsvdd.kinds(est, table.tail(2)).index.tolist() == [128, 129]
    assert list(bsvdd.kinds(est, table.head(1)).columns) == ["normal", "leak", "unknown"]
    alone = bsvdd.kinds(SVDD().fit(X[:120]), [[0.0, 0.0], [30.0, 30.0]])
    assert list(alone.columns) == ["normal", "unknown"]
    assert alone.idxmax(axis=1).tolist() == ["normal", "unknown"]
    numbers = SVDD(minor_label=[3, 5]).fit(X, np.repeat([7, 3, 5], [120, 9, 1]))
    assert list(bsvdd.kinds(numbers, X[:1]).columns) == ["normal", 3, 5, "unknown"]


@pytest.mark.parametrize("background", [0.02, 0.1])
def test_the_background_is_calibrated(background):
    """Of new normal rows about this share is more likely unknown than normal."""
    rng, shares = np.random.default_rng(3), []
    for _ in range(20):
        est = SVDD().fit(rng.normal(size=(150, 2)))
        P = bsvdd.kinds(est, rng.normal(size=(200, 2)), background=background)
        shares.append((P["unknown"] > P["normal"]).mean())
    assert np.mean(shares) == pytest.approx(background, abs=0.02)


def platt(scores, minority):
    """Return slope and intercept of the best likelihood of Platt's targets."""
    n1, n0 = minority.sum(), (~minority).sum()
    t = np.where(minority, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))

    def loss(ab):
        odds = ab[0] * scores + ab[1]
        return (np.logaddexp(0, odds) - t * odds).sum()

    return minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})


@pytest.mark.parametrize("model", [LSSVM, SVM, SVDDM])
def test_without_a_background_it_is_platts_sigmoid_of_the_score(model):
    """Of the left-out scores, and beyond these no more extreme than they are."""
    fitted = model(minor_label=LABELS).fit(X, Y)
    P = bsvdd.kinds(fitted, X, background=0)
    assert (P["unknown"] == 0).all()
    left_out, minority = scores_left_out(fitted), np.isin(Y, LABELS)
    slope, intercept = platt(left_out, minority).x
    scores = fitted.score_samples(X, training="as new")
    odds = slope * np.clip(scores, left_out.min(), left_out.max()) + intercept
    np.testing.assert_allclose(P["normal"], 1 / (1 + np.exp(odds)), rtol=1e-3)


def test_saved_fits_keep_the_kinds(fitted, tmp_path):
    names = [f"kind {k}" for k in range(30)]
    many = SVDD(minor_label=names).fit(X, np.array(["ok"] * 100 + names))
    assert list(bsvdd.kinds(many, X[:3]).columns) == ["normal", *names, "unknown"]
    for est in (fitted, many):
        est.save(tmp_path / "fit.nc")
        loaded = bsvdd.load(tmp_path / "fit.nc")
        pd.testing.assert_frame_equal(bsvdd.kinds(loaded, X), bsvdd.kinds(est, X))
        assert loaded.labels_ == est.labels_ or est is many


def test_a_kind_of_copies_of_majority_rows_is_named():
    rows, y = np.concatenate([X, X[:3]]), np.append(Y, ["copy"] * 3)
    est = SVDD(minor_label=["leak", "copy"]).fit(rows, y)
    with pytest.warns(DataWarning, match="all rows of the kind 'copy' are rows of the majority"):
        P = bsvdd.kinds(est, X[:3])
    assert (P["normal"] > P["copy"]).all()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "a list of different labels of one type, got \\[\\]"),
        (["leak", "leak"], "different labels"),
        (["leak", 1], "of one type"),
        (["leak", "tear"], "minor_label='tear' does not occur in y"),
        (["leak", "crack", "ok", "fine"], "every row is minority"),
    ],
)
def test_bad_lists_of_labels(labels, message):
    with pytest.raises(ValueError, match=message):
        SVDD(minor_label=labels).fit(X, Y)


def test_what_cannot_be_asked(fitted):
    for background in (1.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="background"):
            bsvdd.kinds(fitted, X, background=background)
    y = np.repeat(["ok", "unknown"], [120, 10])
    with pytest.raises(ValueError, match="a labelled kind has the name 'unknown'"):
        bsvdd.kinds(SVDD(minor_label="unknown").fit(X, y), X)
    K = kernels.RBF(1.0)(X)
    with pytest.raises(ValueError, match="a precomputed kernel has no rows"):
        bsvdd.kinds(SVDD(kernel=kernels.Precomputed()).fit(K, Y == "leak"), K)
