"""est.kinds: labels of several minority kinds are kept, and three answers are given."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators import kinds
from bsvdd.estimators.labels import kinds_seen, minority_rows
from bsvdd.inference.warning import DataWarning

import bsvdd
from bsvdd import LSSVM, SVDD, SVDDM, SVM, kernels

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


def test_several_minority_labels_are_kept(fitted):
    assert fitted.labels_ == ("leak", "crack", "fine", "ok")
    data = fitted._fit.data
    assert data.kind_labels == ("leak", "crack")
    assert np.bincount(data.kind).tolist() == [120, 9, 1]
    np.testing.assert_array_equal(data.minority, data.kind > 0)


def test_the_fit_is_that_of_one_minority_class(fitted):
    both = LSSVM().fit(X, np.isin(Y, LABELS))
    np.testing.assert_array_equal(fitted.score_samples(X), both.score_samples(X))


@pytest.mark.parametrize(("most", "of_normal", "of_leak"), [(120, 120, 9), (9, 9, 9), (7, 7, 7)])
def test_a_class_is_described_by_so_many_of_its_rows_at_most(
    fitted, monkeypatch, most, of_normal, of_leak
):
    monkeypatch.setattr(kinds, "DESCRIBED", most)
    data = fitted._fit.data
    rule = kinds.rule_of(data, np.where(data.minority, -1.0, 1.0))
    found = [rule.normal.points, *(kind.center.points for kind in rule.kinds)]
    assert [len(points) for points in found] == [of_normal, of_leak, 1]
    for k, points in enumerate(found):
        rows = X[data.kind == k]
        if len(points) == len(rows):  # all rows, as they are
            np.testing.assert_array_equal(points, rows)
        else:  # different rows
            assert len(np.unique(points, axis=0)) == len(points)
            assert all((row == rows).all(axis=1).any() for row in points)


def test_columns_and_rows(fitted):
    Z = pd.DataFrame([[0.0, 0.0], [5.0, 0.0], [-9.0, -9.0]], index=["a", "b", "c"])
    P = fitted.kinds(Z.to_numpy())
    assert list(P.columns) == ["normal", "leak", "crack", "unknown"]
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.idxmax(axis=1).tolist() == ["normal", "leak", "unknown"]


def test_the_index_is_that_of_the_data_frame():
    table = pd.DataFrame(X, columns=["u", "v"])
    est = SVDD(minor_label="leak").fit(table, Y)
    assert est.kinds(table.tail(2)).index.tolist() == [128, 129]
    assert list(est.kinds(table.head(1)).columns) == ["normal", "leak", "unknown"]


def test_without_labels_there_are_two_answers():
    P = SVDD().fit(X[:120]).kinds([[0.0, 0.0], [30.0, 30.0]])
    assert list(P.columns) == ["normal", "unknown"]
    assert P.idxmax(axis=1).tolist() == ["normal", "unknown"]


def test_the_background_is_calibrated():
    """Of new normal rows about the share of the background is more likely unknown than normal."""
    rng, shares = np.random.default_rng(3), []
    for _ in range(20):
        est = SVDD().fit(rng.normal(size=(150, 2)))
        P = est.kinds(rng.normal(size=(200, 2)), background=0.1)
        shares.append((P["unknown"] > P["normal"]).mean())
    assert np.mean(shares) == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("model", [SVM, SVDDM])
def test_every_model_with_minority_rows_has_three_answers(model):
    P = model(minor_label=LABELS).fit(X, Y).kinds(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert (P.idxmax(axis=1) == "normal")[:120].mean() > 0.9


def test_a_saved_fit_keeps_the_kinds(fitted, tmp_path):
    fitted.save(tmp_path / "fit.nc")
    loaded = bsvdd.load(tmp_path / "fit.nc")
    pd.testing.assert_frame_equal(loaded.kinds(X), fitted.kinds(X))
    assert loaded.labels_ == fitted.labels_


def test_more_than_twenty_kinds(tmp_path):
    y = np.array(["ok"] * 100 + [f"kind {k}" for k in range(30)])
    names = [f"kind {k}" for k in range(30)]
    est = SVDD(minor_label=names).fit(X, y)
    P = est.kinds(X[:3])
    assert list(P.columns) == ["normal", *names, "unknown"]
    est.save(tmp_path / "fit.nc")
    pd.testing.assert_frame_equal(bsvdd.load(tmp_path / "fit.nc").kinds(X[:3]), P)


def test_a_kind_of_copies_of_majority_rows_is_named():
    rows = np.concatenate([X, X[:3]])
    y = np.append(Y, ["copy"] * 3)
    est = SVDD(minor_label=["leak", "copy"]).fit(rows, y)
    with pytest.warns(DataWarning, match="all rows of the kind 'copy' are rows of the majority"):
        P = est.kinds(X[:3])
    assert (P["normal"] > P["copy"]).all()


def test_a_kind_that_training_has_not_seen_is_unknown(fitted):
    P = fitted.kinds(RNG.normal([-6, -6], 0.3, (20, 2)))
    assert (P.idxmax(axis=1) == "unknown").all()


def test_numbers_as_labels():
    y = np.repeat([7, 3, 5], [120, 9, 1])
    est = SVDD(minor_label=[3, 5]).fit(X, y)
    assert list(est.kinds(X[:1]).columns) == ["normal", 3, 5, "unknown"]


@pytest.mark.parametrize(
    ("minor_label", "message"),
    [
        ([], "a list of different labels of one type, got \\[\\]"),
        (["leak", "leak"], "different labels"),
        (["leak", 1], "of one type"),
        (["leak", "tear"], "minor_label='tear' does not occur in y"),
        (["leak", "crack", "ok", "fine"], "every row is minority"),
    ],
)
def test_bad_lists_of_labels(minor_label, message):
    with pytest.raises(ValueError, match=message):
        minority_rows(Y, len(Y), minor_label)


def test_kind_of_each_row_is_in_the_order_of_minor_label():
    y = np.array(["b", "a", "z", "a"])
    kind, labels = kinds_seen(y, np.array([True, True, False, True]), ["a", "b"])
    assert (kind.tolist(), labels) == ([2, 1, 0, 1], ("a", "b"))


def test_names_of_answers_are_not_labels():
    y = np.repeat(["ok", "unknown"], [120, 10])
    with pytest.raises(ValueError, match="a labelled kind has the name 'unknown'"):
        SVDD(minor_label="unknown").fit(X, y).kinds(X)


def test_a_precomputed_kernel_has_no_rows():
    K = kernels.RBF(1.0)(X)
    est = SVDD(kernel=kernels.Precomputed()).fit(K, Y == "leak")
    with pytest.raises(ValueError, match="a precomputed kernel has no rows"):
        est.kinds(K)


@pytest.mark.parametrize("background", [1.0, -1.0, np.nan])
def test_background_is_a_rate(fitted, background):
    with pytest.raises(ValueError, match="background"):
        fitted.kinds(X, background=background)


def test_without_a_background_it_is_platts_sigmoid_of_the_score(fitted):
    P = fitted.kinds(X, background=0)
    assert (P["unknown"] == 0).all()
    low, high = fitted._kinds.span
    odds = fitted._kinds.sigmoid.log_odds(np.clip(fitted.score_samples(X), low, high))
    np.testing.assert_allclose(P["normal"], 1 / (1 + np.exp(odds)))


def test_scikit_learn_is_told_of_all_minority_labels(fitted):
    with pytest.raises(AttributeError, match="np.isin\\(y, \\['leak', 'crack'\\]\\)"):
        _ = fitted.classes_
