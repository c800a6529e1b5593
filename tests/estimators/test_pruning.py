"""Scoring by fewer points, with a bound on the error of every distance."""

import numpy as np
import pytest
from sklearn.base import clone

import bsvdd
from bsvdd import OCSVM, SVDD, Cutoff, kernels, priors
from tests.scores import common_norm, median_distance

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.mark.parametrize("kernel", [kernels.RBF(1.1), kernels.Polynomial(2), kernels.Linear()])
@pytest.mark.parametrize("name", ["SVDD", "BDD", "BSVDDM"])
def test_no_distance_is_off_by_more_than_the_bound(make, table, new_rows, name, kernel):
    """The largest sum over the dropped points of |w_j| sqrt(k_jj) over the draws."""
    prior = {} if name == "SVDD" else {"prior": priors.Flat(0.5)}
    est = make(name, kernel=kernel, cutoff=1.0, **prior).fit(*table)
    w = est.idata_["posterior"]["w"].values
    w = w.reshape(-1, w.shape[-1])
    size = np.abs(w) * np.sqrt(np.diag(est.gram_.K))
    Z = np.concatenate([3 * new_rows, est.gram_.points])
    for tolerance in (1e-6, 0.03, 0.3, 3.0, 1e6):
        pruned = est.pruned(tolerance)
        dropped = np.setdiff1d(np.arange(w.shape[1]), pruned.support_)
        assert len(pruned.support_) and pruned.pruning_error_ <= tolerance
        assert pruned.pruning_error_ == pytest.approx(size[:, dropped].sum(axis=1).max())
        error = np.abs(pruned.distance(Z) - est.distance(Z))
        assert float(error.max()) <= pruned.pruning_error_ + 1e-7
        if name == "SVDD":  # one draw drops as many as can be
            others = np.sort(size[0, pruned.support_])
            assert pruned.pruning_error_ + others[0] > tolerance or len(others) == 1


@pytest.mark.parametrize(("name", "tolerance"), [("BDD", 3.0), ("BSVDD", 0.15), ("BSVDDM", 0.3)])
def test_pruned_is_a_fitted_estimator(fitted, new_rows, tmp_path, name, tolerance):
    est = fitted(name)
    before = est.probability_normal(new_rows)
    pruned = est.pruned(tolerance)
    assert 0 < len(pruned.support_) < len(est.support_)
    assert est.pruning_error_ == 0.0 < pruned.pruning_error_ and pruned.cutoff_ == est.cutoff_
    assert "pruning" not in est.idata_.children
    np.testing.assert_array_equal(est.probability_normal(new_rows), before)
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
    np.testing.assert_array_equal(loaded.score_samples(new_rows), pruned.score_samples(new_rows))
    assert not hasattr(clone(pruned), "cutoff_")
    # from the pruned one as from the whole one: nothing of the posterior is lost
    again = pruned.pruned(0.0)
    np.testing.assert_array_equal(again.support_, est.pruned(0.0).support_)
    np.testing.assert_allclose(again.distance(new_rows), est.distance(new_rows), rtol=1e-12)
    policy = Cutoff("false_alarm", false_alarm_rate=0.2)
    for one in (pruned, loaded):
        new = one.with_cutoff(policy)
        assert new.cutoff_ == est.with_cutoff(policy).cutoff_
        np.testing.assert_array_equal(new.support_, pruned.support_)


@pytest.mark.parametrize("cls", [SVDD, OCSVM])
def test_points_without_weight_are_not_scored_by(cls):
    """The kernel is asked for its values with the support vectors only."""
    asked = []

    def kernel(X, Y):
        asked.append(len(Y))
        return kernels.RBF(1.0)(X, Y)

    est = cls(kernel=kernel).fit(np.random.default_rng(3).normal(size=(80, 2)))
    np.testing.assert_array_equal(est.support_, np.flatnonzero(est.weights_))
    assert 0 < len(est.support_) < 40
    asked.clear()
    scores = est.score_samples([[0.0, 0.0], [1.0, 2.0]])
    assert len(est.support_) in asked and 80 not in asked
    assert scores[0] > scores[1]
