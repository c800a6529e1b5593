"""Scoring by fewer points, with a bound on the error of every distance."""

import numpy as np
import pytest
from bsvdd.inference.scoring import CenterDraws
from bsvdd.models import Gram
from sklearn.base import clone

import bsvdd
from bsvdd import OCSVM, SVDD, Cutoff, kernels
from tests.scores import common_norm, median_distance

KERNELS = [kernels.RBF(1.1), kernels.Polynomial(2), kernels.Linear()]
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


def center(kernel, seed=0, draws=7, points=25, signed=True):
    rng = np.random.default_rng(seed)
    w = rng.dirichlet(np.full(points, 0.2), size=draws)
    if signed:
        w[:, -4:] *= -1
    return CenterDraws.of(w, Gram.from_rows(kernel, rng.normal(size=(points, 3))))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-3, 0.03, 0.3, 100.0])
@pytest.mark.parametrize("seed", range(3))
def test_no_distance_is_off_by_more_than_the_bound(kernel, tolerance, seed):
    full = center(kernel, seed)
    dropped, bound = full.negligible(tolerance)
    assert bound <= tolerance
    kept = np.setdiff1d(np.arange(25), dropped)
    pruned = full.restricted(kept)
    norms = np.sqrt(np.diag(full.gram.K))
    assert bound == pytest.approx((np.abs(full.weights[:, dropped]) * norms[dropped]).sum(1).max())
    Z = np.concatenate([np.random.default_rng(9).normal(size=(60, 3)) * 3, full.gram.points])
    error = np.abs(full.values(Z) - pruned.values(Z))
    assert error.max() <= bound + 1e-12
    assert len(kept)
    # the centre of the kept points with the others at 0, and of nothing else
    w = full.weights.copy()
    w[:, dropped] = 0.0
    np.testing.assert_allclose(pruned.values(Z), CenterDraws.of(w, full.gram).values(Z), atol=1e-7)


@pytest.mark.parametrize("tolerance", [0.01, 0.1, 0.5])
def test_one_draw_drops_as_many_as_can_be(tolerance):
    full = center(kernels.RBF(1.0), draws=1)
    dropped, bound = full.negligible(tolerance)
    ascending = np.sort(np.abs(full.weights[0]))
    assert len(dropped) == (np.cumsum(ascending) <= tolerance).sum()
    assert bound == pytest.approx(ascending[: len(dropped)].sum())


def test_the_bound_is_over_the_worst_draw():
    w = np.array([[0.5, 0.5, 0.0], [0.5, 0.1, 0.4]])
    full = CenterDraws.of(w, Gram.from_rows(kernels.RBF(1.0), np.eye(3)))
    assert full.negligible(0.39)[1] == 0.0  # the third point weighs nothing, but only in one draw
    dropped, bound = full.negligible(0.4)
    assert (dropped.tolist(), bound) == ([2], 0.4)


@pytest.mark.parametrize(("name", "tolerance"), [("BDD", 3.0), ("BSVDD", 0.15), ("BSVDDM", 0.3)])
def test_pruned_is_a_fitted_estimator(fitted, table, new_rows, tmp_path, name, tolerance):
    est = fitted(name)
    before = est.probability_normal(new_rows)
    pruned = est.pruned(tolerance)
    assert 0 < len(pruned.support_) < len(est.support_)
    assert 0 < pruned.pruning_error_ <= tolerance
    assert est.pruning_error_ == 0.0
    assert "pruning" not in est.idata_.children
    np.testing.assert_array_equal(est.probability_normal(new_rows), before)
    error = np.abs(pruned.distance(new_rows) - est.distance(new_rows))
    assert float(error.max()) <= pruned.pruning_error_ + 1e-12
    assert pruned.cutoff_ == est.cutoff_
    # the decision compares the distances from the pruned centre with that cutoff
    d = median_distance(pruned, new_rows)
    np.testing.assert_allclose(pruned.decision(new_rows)["distance"], d, rtol=1e-9)
    np.testing.assert_array_equal(pruned.predict(new_rows) == 1, d <= pruned.cutoff_)
    within = common_norm(pruned, pruned.distance(new_rows)) <= pruned.cutoff_
    np.testing.assert_array_equal(pruned.probability_normal(new_rows), within.mean(axis=0))
    # what is said of the training rows stays that of the whole posterior
    for group in ("distance", "log_likelihood", "decision"):
        assert pruned.idata_[group].identical(est.idata_[group])

    pruned.save(tmp_path / "pruned.nc")
    loaded = bsvdd.load(tmp_path / "pruned.nc")
    np.testing.assert_array_equal(loaded.support_, pruned.support_)
    assert loaded.pruning_error_ == pruned.pruning_error_
    np.testing.assert_array_equal(
        loaded.probability_normal(new_rows), pruned.probability_normal(new_rows)
    )
    assert not hasattr(clone(pruned), "cutoff_")
    # from the pruned one as from the whole one: nothing of the posterior is lost
    again = pruned.pruned(0.0)
    np.testing.assert_array_equal(again.support_, est.pruned(0.0).support_)
    np.testing.assert_allclose(again.distance(new_rows), est.distance(new_rows), rtol=1e-12)


@pytest.mark.parametrize("dictionary", [None, 8], ids=["all rows", "dictionary"])
@pytest.mark.parametrize(
    "policy",
    [Cutoff("false_alarm", false_alarm_rate=0.2), Cutoff(cv="train"), Cutoff("f1", level=0.3)],
    ids=["left out", "train", "level"],
)
def test_a_new_cutoff_of_a_pruned_estimator(make, table, tmp_path, dictionary, policy):
    """By the whole posterior, whichever rows the cutoff is chosen by."""
    est = make("BSVDD", dictionary=dictionary).fit(*table)
    pruned = est.pruned(0.6)
    assert pruned.pruning_error_ > 0.0
    pruned.save(tmp_path / "pruned.nc")
    whole = est.with_cutoff(policy)
    for one in (pruned, bsvdd.load(tmp_path / "pruned.nc")):
        again = one.with_cutoff(policy)
        assert again.cutoff_ == whole.cutoff_
        np.testing.assert_array_equal(again.support_, pruned.support_)
        for group in ("distance", "log_likelihood", "decision"):
            assert again.idata_[group].identical(whole.idata_[group])


@pytest.mark.parametrize("tolerance", [-0.1, np.nan, np.inf, "much", None])
def test_a_tolerance_is_a_number(fitted, tolerance):
    with pytest.raises(ValueError, match="tolerance must be a number"):
        fitted("BSVDD").pruned(tolerance)


@pytest.mark.parametrize("cls", [SVDD, OCSVM])
def test_points_without_weight_are_not_scored_by(cls):
    """The kernel is asked for its values with the support vectors only."""
    asked = []

    def kernel(X, Y):
        asked.append(len(Y))
        return kernels.RBF(1.0)(X, Y)

    X = np.random.default_rng(3).normal(size=(80, 2))
    est = cls(kernel=kernel).fit(X)
    np.testing.assert_array_equal(est.support_, np.flatnonzero(est.weights_))
    assert 0 < len(est.support_) < 40
    asked.clear()
    scores = est.score_samples([[0.0, 0.0], [1.0, 2.0]])
    assert len(est.support_) in asked
    assert 80 not in asked
    assert scores[0] > scores[1]
