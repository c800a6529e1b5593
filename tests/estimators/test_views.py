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


def test_reasons(fitted):
    why = bsvdd.explain(fitted, pd.DataFrame(Z, index=["fine", "one", "both"]).to_numpy())
    assert why.rows["cause"].tolist()[1] == "column"
    assert why.rows.loc[1, ["column", "near", "of"]].tolist() == [2, 0, N]
    assert why.rows["view"].iloc[2] in ("standardised", "normal scores", "ratio")
    text = repr(why).splitlines()
    assert "No single value is among the rarest 5%. Nearest" in text[0]
    assert f"Column 2 has a value (60) seen in 0 of {N} rows" in text[1]
    assert " odd" in text[2] and "No single value is among the rarest 5%. Nearest" in text[2]
    top = why.top_columns(2)
    assert top["column_1"].tolist()[1] == 2 and set(top.loc[2, ["column_1", "column_2"]]) == {0, 1}
    np.testing.assert_allclose(why.rarity.sum(axis=1), 1.0)


def test_reasons_of_training_rows_leave_them_out():
    rows = np.vstack([X, Z[1:]])
    est = Views(estimator=MEAN).fit(rows)
    why = bsvdd.explain(est, rows=[N, N + 1])
    assert why.rows["cause"].tolist() == ["column", "combination"]
    assert why.rows["near"].iloc[0] == 0 and why.rows["of"].tolist() == [N + 1] * 2
    expected = est.decision().loc[[N, N + 1], "p_value"]
    np.testing.assert_array_equal(why.rows["p_value"], expected)
    assert "The combination is odd: " in repr(why)
    named = Views(estimator=MEAN).fit(MIXED.set_axis(20_000 + np.arange(N)[::-1]))
    why = bsvdd.explain(named, rows=[3])
    near = [str(each) for each in why.parts[why.rows["view"].iloc[0]].nearest["name"].values[0, :3]]
    assert min(near) >= "20000"
    assert f"Nearest normal training rows: {', '.join(near)}." in repr(why)


@pytest.mark.filterwarnings("ignore:column 'day' has dates")
@pytest.mark.filterwarnings("ignore:row 0 moves the scale")
def test_values_are_shown_as_the_table_has_them():
    days = pd.Series(pd.date_range("2024-01-01", periods=N)).dt.strftime("%d.%m.%Y")
    table = MIXED.assign(day=days, zone=RNG.integers(1, 4, N).astype(str))
    odd = {"a": 250_000.0, "b": 0.0, "c": "green", "day": "24.12.2099", "zone": "77"}
    cases = {"a": "250000", "c": "green", "day": "2099-12-24", "zone": "77"}
    new = pd.concat([table.iloc[[0]].assign(**{c: odd[c]}) for c in cases])
    est = Views(estimator=MEAN, categorical=(2, 4))
    lines = repr(bsvdd.explain(est.fit(table), new)).splitlines()
    for line, (column, text) in zip(lines, cases.items(), strict=True):
        assert f"Column {column} has a value ({text}) seen in 0 of {N} rows" in line
    why = bsvdd.explain(est.fit(pd.concat([table, new])), rows=range(N, N + len(cases)))
    for line, (column, text) in zip(repr(why).splitlines(), cases.items(), strict=True):
        what = "category" if column == "c" else f"value ({text})"  # a fit keeps no texts
        assert f"Column {column} has a {what} seen in 0 of {N + 3} rows" in line


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
    assert bsvdd.explain(est, odd).rows["cause"].tolist() == ["column"]


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
    assert "View 'bad' has no part: " in repr(bsvdd.explain(est, X[:1]))
    assert "View 'bad' has no part: " in str(est).replace("\n          ", " ")
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
    assert repr(bsvdd.explain(same, Z)) == repr(bsvdd.explain(est, Z)) or estimator is DRAWN
    assert repr(same.get_params()) == repr(est.get_params())


def test_a_model_that_learns_from_minority_rows():
    rows, y = np.vstack([X, X[:30] + np.array([0.0, 3.0, 0.0])]), np.repeat([0, 1], [N, 30])
    est = Views(estimator=SVDDM(), views={"one-class": MEAN}).fit(rows, y)
    assert (est.predict(rows[N:]) == -1).mean() > 0.8
    with pytest.raises(ValueError, match="learns from minority rows"):
        Views(estimator=SVDDM()).fit(X)


def test_report_and_picture(fitted, tmp_path):
    page = bsvdd.report(fitted, tmp_path / "views.html", Z).read_text("utf-8")
    assert f"Column 2 has a value (60) seen in 0 of {N} rows" in page
    assert "Views that are joined, with their weights: standardised (0.3)" in page
    assert len(plots.plot_outliers(fitted, most=2).axes[1].texts) == 4


def test_a_value_in_a_gap_says_how_many_are_beyond_it():
    column = np.concatenate([np.arange(190.0), np.full(10, 900.0), [500.0]])
    table = np.column_stack([column, RNG.normal(size=201)])
    est = Views(estimator=MEAN).fit(table[:200])
    for v, text in [(500.0, " (5% are larger)"), (1e4, ""), (-500.0, "")]:
        assert f"({v:.8g}) seen in 0 of 200 rows{text}. " in repr(bsvdd.explain(est, [[v, 0.0]]))
    why = bsvdd.explain(Views(estimator=MEAN).fit(-table), rows=[200])
    assert "(-500) seen in 0 of 200 rows (5% are smaller). " in repr(why)


def test_reasons_of_the_rows_of_one_table_count_its_core():
    rows = np.vstack([X, Z[1:], [[0.0, 0.0, 60.0]]])
    est = Views(MEAN)
    est.fit_predict(rows)
    why = bsvdd.explain(est, rows=[N, N + 1])
    assert "p_value" not in why.rows and ", p = " not in repr(why)
    assert why.rows["cause"].tolist() == ["column", "combination"]
    core = est.fit_.data.described
    assert not core[N] and why.rows["of"].iloc[0] == core.sum()
    found = bsvdd.stand_out(est)
    assert N + 1 in found.order[:2]
    np.testing.assert_allclose(found.surprise, est.decision()["surprise"], atol=1e-9)
    assert "ranks have no tail" in str(found)


def test_the_estimator_is_taken_by_position_and_the_rest_by_name():
    assert Views(MEAN).get_params(deep=False) == Views(estimator=MEAN).get_params(deep=False)
    with pytest.raises(TypeError, match="positional"):
        Views(MEAN, {})
