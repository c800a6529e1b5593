"""Views joined to one answer: the formula, its draws, bad input, files and reasons."""

import math

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.joined import BEYOND
from bsvdd.estimators.views import WEIGHTS
from bsvdd.inference.warning import DataWarning
from sklearn.base import clone

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, SVDDM, Cutoff, Views, cutoffs, kernels, plots
from tests.scores import scores_left_out

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(43)
N = 150
x, e = RNG.normal(size=(2, N))
X = np.column_stack([x, x + 0.2 * e, RNG.gamma(1.5, size=N)])
NORMAL, COLUMN, COMBINATION = [0.3, 0.4, 1.0], [0.0, 0.0, 60.0], [1.2, -1.2, 1.0]
Z = np.array([NORMAL, COLUMN, COMBINATION])
MIXED = pd.DataFrame({"a": x, "b": X[:, 1], "c": RNG.choice(["red", "blue"], N)})
LANDMARKS = BDD(simplex=True, dictionary=30)
MEAN = SVDD(outlier_fraction=1.0)  # equal weights, left out by folds
DRAWN = BSVDD(draws=150, tune=100)


def ratio(rows):
    return abs(rows.iloc[:, 0] - rows.iloc[:, 1])


def raises(rows):
    raise KeyError("no such column")


@pytest.fixture(scope="module", params=["one estimate", "draws"])
def fitted(request):
    est = MEAN if request.param == "one estimate" else DRAWN
    return Views(estimator=est, views={"ratio": ratio}).fit(X)


def joined(parts):
    """The joined values of a list of (c, value of the row, values of the others)."""
    harmonic = z = 0.0
    for c, value, others, all_rows in parts:
        upto = value + 1e-9 * max(1.0, abs(value))  # sums in another order are equal
        p = (1 + sum(other <= upto for other in others)) / (len(others) + 1)
        harmonic += c / p
        z += c * (np.mean(all_rows) - value) / np.std(all_rows)
    return -math.log(harmonic) - BEYOND * z


def test_values_are_the_formula(fitted):
    views = fitted.fit_.score.views
    assert [view.name for view in views] == [*WEIGHTS, "ratio"]
    for t in (0, fitted.fit_.score.n_draws - 1):
        every = [(v.weight, v.values(Z), v.left_out) for v in views]
        of_draw = [(c, *(a[min(t, len(a) - 1)] for a in pair)) for c, *pair in every]
        new = [joined([(c, v[i], lo, lo) for c, v, lo in of_draw]) for i in range(len(Z))]
        np.testing.assert_allclose(fitted.fit_.score.values_of_draws(Z)[t], new, rtol=1e-10)
        own = [
            joined([(c, lo[i], np.delete(lo, i), lo) for c, v, lo in of_draw]) for i in range(20)
        ]
        np.testing.assert_allclose(fitted.fit_.score.left_out[t, :20], own, rtol=1e-10)


def test_a_description_for_each_scale_and_shares_of_draws(fitted):
    center, has_draws = fitted.fit_.score, not isinstance(fitted.estimator, SVDD)
    for name in ("standardised", "normal scores"):
        alone = clone(fitted.estimator).set_params(kernel=kernels.Tabular(scale=name))
        alone.set_params(cutoff=fitted.views_[name].cutoff).fit(X)
        np.testing.assert_array_equal(alone.score_samples(Z), fitted.views_[name].score_samples(Z))
        if has_draws:
            pd.testing.assert_frame_equal(fitted.summary()[name], fitted.views_[name].summary())
    values = center.values_of_draws(X)
    share = (values >= center.boundary.threshold[:, None]).mean(axis=0)
    np.testing.assert_array_equal(fitted.probability_normal(X), share)
    np.testing.assert_array_equal(fitted.predict(X) == 1, share > 0.5)
    assert ((share > 0.0) & (share < 1.0)).any() or not has_draws
    found = fitted.decision(X)[["surprise_low", "surprise", "surprise_high"]].to_numpy()
    assert (np.diff(found, axis=1) >= -1e-9).all()
    if not has_draws:
        with pytest.raises(ValueError, match="no view has a posterior"):
            fitted.summary()


def test_false_alarms_are_those_asked(fitted):
    alarms = (scores_left_out(fitted) < 0.0).sum()
    assert alarms == pytest.approx(N / 10, abs=3)  # the median of draws of the cutoff
    new = np.random.default_rng(1).normal(size=(2, 4000))
    rows = np.column_stack([new[0], new[0] + 0.2 * new[1], RNG.gamma(1.5, size=4000)])
    assert 0.04 < (fitted.predict(rows) == -1).mean() < 0.17  # of an order statistic, 99.9 %
    assert fitted.predict(Z).tolist() == [1, -1, -1]
    batch = np.vstack([np.tile(NORMAL, (20, 1)), np.tile(COLUMN, (3, 1))])
    assert np.flatnonzero(bsvdd.select(fitted, batch)).tolist() == [20, 21, 22]


def test_folds_refit_the_views():
    est = Views(estimator=MEAN).fit(X)
    train, test = np.arange(100), np.arange(100, N)
    fit = est.fit_
    score = fit.learner.learn(fit.data.fold(train)).score
    alone = Views(estimator=MEAN).fit(X[:100])
    np.testing.assert_allclose(score.values(X[test]), alone.fit_.score.values(X[test]))
    assert est.with_cutoff(Cutoff(cv=3)).predict(Z).tolist() == [1, -1, -1]


BAD = {
    "one column": (x[:, None], [[30.0]]),
    "constants": (np.column_stack([x, np.full(N, 2.0)]), [[0.0, 3.0]]),
    "only constants but one row": (
        np.column_stack([np.full(N, 2.0), np.arange(N) == 0]),
        [[2.0, 9.0]],
    ),
    "categories only": (MIXED[["c"]], pd.DataFrame({"c": ["green"]})),
    "10 rows": (X[:10], [[0.0, 0.0, 90.0]]),
    "more columns than rows": (RNG.normal(size=(40, 60)), np.full((1, 60), 30.0)),
}


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")
@pytest.mark.parametrize("case", BAD)
def test_tables_with_little_in_them(case):
    rows, odd = BAD[case]
    est = Views(estimator=MEAN).fit(rows)
    assert np.isfinite(est.score_samples(rows)).all()
    assert est.predict(odd).tolist() == [-1]


def nan(rows):
    return np.full(len(rows), np.nan)


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (raises, "KeyError: 'no such column'"),
        (nan, "with NaN"),
        (lambda rows: 1.0, r"one number for each of 150 rows, got shape \(\)"),
        (SVDD(C=1e-9), "C"),
    ],
)
def test_a_view_that_fails_leaves_the_answer_to_the_others(view, why):
    with pytest.warns(
        DataWarning, match=f"view 'bad' cannot be fitted, and the others answer.*{why}"
    ):
        est = Views(estimator=MEAN, views={"bad": view}).fit(X)
    assert list(est.failed_) == ["bad"]
    without = Views(estimator=MEAN).fit(X)
    np.testing.assert_allclose(est.predict(X), without.predict(X))
    assert "iew 'bad' cannot be fitted: " in str(est).replace("\n          ", " ")
    only = {name: 0.0 for name in WEIGHTS}
    with pytest.raises(ValueError, match="no view can be fitted"):
        Views(estimator=MEAN, views={"bad": view}, weights=only).fit(X)


@pytest.mark.parametrize(
    ("changes", "error", "why"),
    [
        ({"weights": {"standardized": 1.0}}, ValueError, "did you mean 'standardised'"),
        ({"weights": {"columns": -1.0}}, ValueError, "a number of at least 0, got -1.0"),
        ({"weights": dict.fromkeys(WEIGHTS, 0)}, ValueError, "no view is left"),
        ({"views": {"columns": ratio}}, ValueError, "'columns' is no name for a further view"),
        ({"views": {"a": 3}}, TypeError, "an estimator or a function, got 3"),
        ({"estimator": "BSVDD"}, TypeError, "estimator must be one of this package"),
        ({"estimator": SVDD(kernel=kernels.Precomputed())}, ValueError, "has no columns"),
        ({"estimator": SVDD(kernel=kernels.Tabular(categorical=0))}, ValueError, "all views"),
        ({"estimator": SVDD(outlier_fraction=3.0)}, ValueError, "outlier_fraction"),
        ({"cutoff": cutoffs.Own()}, ValueError, "boundary of their own"),
    ],
)
def test_wrong_parameters(changes, error, why):
    parameters = {"estimator": MEAN, **changes}
    with pytest.raises(error, match=why):
        Views(**parameters).fit(X)


FILED = [MEAN, DRAWN, BDD(draws=100, tune=50), LANDMARKS]


@pytest.mark.parametrize("estimator", FILED, ids=str)
def test_files(estimator, tmp_path):
    path, functions = tmp_path / "views.safetensors", {"views.ratio": ratio}
    views = {"ratio": ratio, "bad": raises}
    with pytest.warns(DataWarning, match="'bad'"):
        est = Views(estimator=estimator, views=views, weights={"columns": 0.0}).fit(X)
    est.save(path)
    with pytest.raises(ValueError, match="views.bad, views.ratio"):
        bsvdd.load(path)
    same = bsvdd.load(path, functions | {"views.bad": raises})
    tolerance = 0.02 if estimator is DRAWN else 1e-9  # draws are stored in single precision
    for ask in (Views.score_samples, Views.probability_normal, bsvdd.p_value):
        np.testing.assert_allclose(ask(same, Z), ask(est, Z), atol=tolerance)
    np.testing.assert_allclose(scores_left_out(same), scores_left_out(est), atol=tolerance)
    assert (same.failed_, same.cutoff_) == (est.failed_, est.cutoff_)
    assert repr(same.get_params()) == repr(est.get_params())


def test_a_model_that_learns_from_minority_rows():
    rows, y = np.vstack([X, X[:30] + np.array([0.0, 3.0, 0.0])]), np.repeat([0, 1], [N, 30])
    est = Views(estimator=SVDDM(), views={"one-class": MEAN}).fit(rows, y)
    assert (est.predict(rows[N:]) == -1).mean() > 0.8
    with pytest.raises(ValueError, match="learns from minority rows"):
        Views(estimator=SVDDM()).fit(X)


def test_report_and_picture(fitted, tmp_path):
    page = bsvdd.report(fitted, tmp_path / "views.html", Z).read_text("utf-8")
    assert "2 = 60 (" in page
    assert "standardised (0.3), normal scores (0.6)" in page
    assert len(plots.plot_outliers(fitted, most=2).figure.axes[1].texts) == 4


def test_reasons_and_order_of_the_rows_of_one_table():
    rows = np.vstack([X, Z[1:], [[0.0, 0.0, 60.0]]])
    est = Views(MEAN)
    est.fit_predict(rows)
    top = bsvdd.explain(est, rows=[N, N + 1]).top_columns(2)
    assert top["column_1"].iloc[0] == 2 and set(top.iloc[1, [0, 2]]) == {0, 1}
    found = bsvdd.stand_out(est)
    assert N + 1 in found.order[:2]
    np.testing.assert_allclose(found.surprise, est.decision()["surprise"], atol=1e-9)
    assert "ranks have no tail" in str(found)


def test_the_estimator_is_taken_by_position_and_the_rest_by_name():
    assert Views(MEAN).get_params(deep=False) == Views(estimator=MEAN).get_params(deep=False)
    with pytest.raises(TypeError, match="positional"):
        Views(MEAN, {})
