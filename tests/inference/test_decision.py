"""The boundary: signs, the unseen row, cutoffs, P(normal) and p-values."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.models.kernels import RBF, Custom, Laplacian, Linear, Polynomial, Tabular
from bsvdd.models.rows import CompleteRows
from bsvdd.models.signed import signed, signed_parts
from numpy.testing import assert_allclose, assert_array_equal

from bsvdd import BDD, cutoffs
from tests.cases import ALL, GROUPS, T, X, Z, close, fitted
from tests.models.helpers import cauchy, squared_distances

# few draws
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

FAR = np.array([[5.0], [10.0], [50.0], [500.0]]) * np.ones(3)


@pytest.mark.parametrize(
    "kernel", [RBF(1.0), Polynomial()], ids=["normalised", "other"]
)
@pytest.mark.parametrize("name", ALL)
def test_a_row_is_normal_in_a_draw_if_it_is_within_the_cutoff(name, kernel):
    """s_A + g u r_z - s_B >= theta, or d_z^2 <= D^2 of other kernels."""
    est = fitted(name, kernel=kernel)
    fit, new = est.fit_, Z / 2.0
    w, boundary, gram = fit.draws.w, fit.boundary, fit.dictionary
    above, below = signed_parts(boundary.threshold)
    theta = (np.exp(above) - np.exp(below))[:, None]
    K = kernel(new, gram.rows.X[gram.distinct])
    s = w @ K.T
    if kernel.normalized:
        nearest = np.log(K[:, gram.of_majority].max(axis=1)) - boundary.log_near
        unseen = np.exp(boundary.log_unseen)[:, None]
        apart = s + unseen * np.exp(np.minimum(nearest, 0.0)) - theta
    else:
        apart = -2.0 * theta - squared_distances(w, gram.K, K.T, kernel.diag(new))
    clear = np.abs(apart) > 1e-12 * np.abs(theta)
    plain = replace(boundary, spread=None, centre=None)
    margins = fit.ask(lambda parts: plain.margins(parts).T, CompleteRows.of(new)).T
    assert ((margins >= 0) == (apart >= 0))[clear].all() and clear.mean() > 0.999
    assert 0.01 < (apart >= 0).mean() < 0.99


@pytest.mark.parametrize("name", ALL)
def test_remote_rows_are_odder_the_farther_they_are(name):
    est = fitted(name)
    found = est.decision(FAR)
    assert (np.diff(found["surprise"]) > 1.0).all() and not found["normal"].any()
    rows = est.fit_.rows
    close(found["p_value"], 1.0 / (1.0 + rows.mass[rows.majority].sum()))
    assert (est.decision(Z)["p_value"] >= found["p_value"].min() - 1e-12).all()


KERNELS = (
    RBF(),
    Laplacian(),
    Linear(),
    Polynomial(),
    Custom(cauchy),
    Tabular(Laplacian("median")),
)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("name", ["BSVDD", "BDD", "SVDD", "BSVDDM", "SVDDM"])
def test_every_kernel_is_finite(name, kernel):
    est = fitted(name, kernel=kernel, groups=np.arange(60) % 20)
    assert np.isfinite(est.margins(Z)).all() and np.isfinite(est.margins()).all()


def test_a_row_is_answered_as_itself_whatever_rows_are_asked_beside_it():
    """The logarithm of q = 0 does not depend on other rows that have q > 0."""
    rng, weight = np.random.default_rng(0), np.ones(60)
    rows = rng.normal(size=(60, 3))
    rows[50:] += 2.5
    weight[[8, 20]] = 0.0
    est = BDD(kernel=RBF(1.0), draws=100, cutoff=cutoffs.Printed(1.2)).fit(
        rows, sample_weight=weight
    )
    alone = est.decision(rows[[8, 20]])
    for others in (est.decision(rows), est.decision()):
        among = others.iloc[[8, 20]].to_numpy(float)
        assert_allclose(among, alone[others.columns].to_numpy(float), rtol=1e-9)


def test_printed_cutoffs_compare_distances_with_one_number():
    est = fitted("BSVDD")
    fit = est.fit_
    rows = fit.dictionary.new(Z)
    k = (rows.k * np.exp(rows.L)[:, None]).T
    d2 = squared_distances(fit.draws.w, fit.dictionary.K, k, 1.0)
    given = est.with_cutoff(cutoffs.Printed(0.9))
    assert_array_equal(given.margins(Z) >= 0.0, d2 <= 0.81)
    training = est.with_cutoff(
        cutoffs.Printed(cutoffs.FalseAlarm(0.2), of="training")
    ).fit_
    left_out = est.with_cutoff(cutoffs.Printed(cutoffs.FalseAlarm(0.2))).fit_
    d = training.distance(CompleteRows.of(X))
    assert (d > training.D_opt).mean() == pytest.approx(0.2, abs=0.03)
    d = left_out.distance()
    assert (d > left_out.D_opt).mean() == pytest.approx(0.2, abs=0.03)
    assert left_out.D_opt > training.D_opt
    ball = fitted("SVDD", kernel=RBF(1.0), C=1.0).with_cutoff(cutoffs.Printed(of="own"))
    inside = ball.fit_.distance(CompleteRows.of(X)) <= ball.fit_.D_opt
    assert inside.all()  # a hard ball has all rows


def test_the_default_cutoff_is_one_of_false_alarms_below_20_labels():
    y = np.repeat([1, 0], [20, 40])
    assert fitted("BSVDDM").fit_.cutoff == cutoffs.FalseAlarm()
    assert fitted("BSVDDM", labels=y).fit_.cutoff == cutoffs.Best()


def test_one_number_for_a_difference():
    p, q = (
        np.array([1.0, 1e-300, 0.5, 0.0, 2.0]),
        np.array([0.5, 0.0, 0.5, 1e-300, 3.0]),
    )
    with np.errstate(divide="ignore"):
        t = signed(np.log(p), np.log(q))
    assert list(np.argsort(t)) == [4, 3, 2, 1, 0]
    below, above = np.exp(signed_parts(t)[1]), np.exp(signed_parts(t)[0])
    close(above - below, p - q, 1e-12)


@pytest.mark.parametrize(
    "kernel", [RBF(1.0), Polynomial()], ids=["normalised", "other"]
)
def test_the_similarity_has_no_cutoff_in_it(kernel):
    """log s_A, or -log(d^2 / 2)."""
    est = fitted("BSVDD", kernel=kernel)
    w, gram = est.fit_.draws.w, est.fit_.dictionary
    k = kernel(gram.rows.X[gram.distinct], Z)
    d2 = squared_distances(w, gram.K, k, kernel.diag(Z))
    wanted = np.log(w @ k) if kernel.normalized else -np.log(d2 / 2.0)
    close(est.log_similarity(Z), wanted, 1e-9)
    other = est.with_cutoff(cutoffs.FalseAlarm(0.4))
    assert_array_equal(other.log_similarity(), est.log_similarity())


def test_svdd_left_out_is_nearly_a_refit():
    apart = []
    for groups, weight in ((GROUPS, None), (np.arange(60), T)):
        est = fitted("SVDD", kernel=RBF(1.0), groups=groups, weight=weight)
        left = est.fit_.log_similarity()[0]
        for group in range(groups.max() + 1):
            stay = groups != group
            more = {
                "weight": None if weight is None else weight[stay],
                "groups": groups[stay],
            }
            refit = fitted("SVDD", rows=X[stay], kernel=RBF(1.0), **more)
            apart.extend(np.abs(left[~stay] - refit.log_similarity(X[~stay])[0]))
    assert np.median(apart) < 0.02 and np.quantile(apart, 0.9) < 0.2


@pytest.mark.filterwarnings("ignore:each row is like the next")
def test_groups_make_lambda_small_and_bandwidths_wide():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(20), 8)
    rows = rng.normal(size=(20, 4))[group] + 0.3 * rng.normal(size=(160, 4))
    apart, told = fitted("BDD", rows=rows), fitted("BDD", rows=rows, groups=group)
    new = rng.normal(size=(200, 4)).repeat(5, axis=0) + 0.3 * rng.normal(size=(1000, 4))
    alarms = [(est.predict(new) == -1).mean() for est in (apart, told)]
    assert told.fit_.dictionary.kernel.inner.s > apart.fit_.dictionary.kernel.inner.s
    assert alarms[0] > 0.4 and alarms[1] < 0.25
