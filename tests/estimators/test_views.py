"""Views joined to one answer: formula, failed views, weights, functions, refusals."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bsvdd
from bsvdd import BSVDD, SVDD, SVDDM, Views, kernels
from bsvdd.base.warning import DataWarning
from bsvdd.estimators.views import JOINED_DRAWS, VIEW_WEIGHTS, Z_WEIGHT

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

RNG = np.random.default_rng(43)
N = 150
x, e = RNG.normal(size=(2, N))
X = np.column_stack([x, x + 0.2 * e, RNG.gamma(1.5, size=N)])
Z = np.array(
    [[0.3, 0.4, 1.0], [0.0, 0.0, 60.0], [1.2, -1.2, 1.0]]
)  # usual, column, combination
MIXED = pd.DataFrame({"a": x, "b": X[:, 1], "c": RNG.choice(["red", "blue"], N)})
SCALES, OFF = ("standardised", "normal scores"), {"columns": 0.0, "rarest column": 0.0}


def ratio(rows):
    return abs(rows.iloc[:, 0] - rows.iloc[:, 1])


def raises(rows):
    raise KeyError("no such column")


@pytest.fixture(scope="module", params=["one estimate", "draws"])
def fitted(request):
    est = SVDD() if request.param == "one estimate" else BSVDD(draws=150, tune=100)
    return Views(est, views={"ratio": ratio}, weights=OFF).fit(X)


def joined(parts):
    """The joined score of parts: c, value of the row, of the others, of all rows."""
    harmonic = z = 0.0
    for c, value, others, all_rows in parts:
        upto = value + 1e-9 * max(
            np.std(all_rows), abs(value)
        )  # sums in another order are equal
        harmonic += c * (len(others) + 1) / (1 + sum(other <= upto for other in others))
        z += c * (np.mean(all_rows) - value) / np.std(all_rows)
    return -math.log(harmonic) - Z_WEIGHT * z


def test_margins_are_the_formula_on_the_margins_of_the_views(fitted):
    margins, left_out = fitted.margins(Z), fitted.margins()
    assert margins.shape == (JOINED_DRAWS, len(Z)) and left_out.shape == (
        JOINED_DRAWS,
        N,
    )
    for t in (0, 77, JOINED_DRAWS - 1):
        views = []
        for name in SCALES:
            own = fitted.views_[name].margins()
            draw = t * len(own) // JOINED_DRAWS
            views.append(
                (VIEW_WEIGHTS[name], fitted.views_[name].margins(Z)[draw], own[draw])
            )
        frame = pd.DataFrame(X)
        views.append(
            (0.3, -ratio(pd.DataFrame(Z)).to_numpy(), -ratio(frame).to_numpy())
        )
        new = [joined([(c, v[i], lo, lo) for c, v, lo in views]) for i in range(len(Z))]
        own = [
            joined([(c, lo[i], np.delete(lo, i), lo) for c, v, lo in views])
            for i in range(20)
        ]
        cutoff = new[0] - margins[t, 0]
        np.testing.assert_allclose(margins[t], new - cutoff, rtol=1e-9)
        np.testing.assert_allclose(left_out[t, :20], own - cutoff, rtol=1e-9)


def test_a_view_of_a_scale_is_the_estimator_by_this_scale(fitted):
    for name in SCALES:
        alone = (
            clone(fitted.estimator)
            .set_params(kernel=kernels.Tabular(scale=name))
            .fit(X)
        )
        np.testing.assert_array_equal(
            alone.score_samples(Z), fitted.views_[name].score_samples(Z)
        )


def test_decisions_are_shares_of_draws(fitted):
    margins, found = fitted.margins(Z), fitted.decision(Z)
    share = (margins >= 0.0).mean(axis=0)
    np.testing.assert_array_equal(found["probability_normal"], share)
    np.testing.assert_array_equal(fitted.probability_normal(Z), share)
    np.testing.assert_array_equal(fitted.predict(Z) == 1, share > 0.5)
    np.testing.assert_array_equal(fitted.decision_function(Z), -found["surprise"])
    assert fitted.predict(Z).tolist() == [1, -1, -1]
    ends = found[["low", "surprise", "high"]].to_numpy()
    assert (np.diff(ends, axis=1) >= 0.0).all()
    own = fitted.decision()
    assert (~own["normal"]).sum() == pytest.approx(N / 10, abs=3)
    p = (
        1 + (own["surprise"].to_numpy() >= found["surprise"].to_numpy()[:, None]).sum(1)
    ) / (N + 1)
    np.testing.assert_allclose(bsvdd.p_value(fitted, Z), p)
    assert "p_value" not in own
    batch = np.vstack([np.tile(Z[0], (20, 1)), np.tile(Z[1], (3, 1))])
    assert np.flatnonzero(bsvdd.select(fitted, batch)).tolist() == [20, 21, 22]


def test_new_normal_rows_are_flagged_at_the_rate():
    rng = np.random.default_rng(1)
    new = rng.normal(size=(2, 4000))
    rows = np.column_stack([new[0], new[0] + 0.2 * new[1], rng.gamma(1.5, size=4000)])
    for rate in (0.1, 0.3):
        flagged = Views(SVDD(), false_alarm_rate=rate).fit(X).predict(rows) == -1
        assert 0.4 * rate < flagged.mean() < 1.7 * rate


BAD = {
    "one column": (x[:, None], [[30.0]]),
    "constants": (np.column_stack([x, np.full(N, 2.0)]), [[0.0, 3.0]]),
    "categories only": (MIXED[["c"]], pd.DataFrame({"c": ["green"]})),
    "12 rows": (X[:12], [[0.0, 0.0, 90.0]]),
    "more columns than rows": (RNG.normal(size=(40, 60)), np.full((1, 60), 30.0)),
    "gaps": (
        MIXED.mask(RNG.random(MIXED.shape) < 0.05),
        MIXED[:1].assign(b=90.0, a=np.nan),
    ),
}


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
@pytest.mark.parametrize("case", BAD)
def test_tables_with_little_in_them(case):
    rows, odd = BAD[case]
    est = Views(SVDD(), views={"first": lambda frame: frame.iloc[:, 0]}).fit(rows)
    assert not est.failed_ and np.isfinite(est.score_samples(rows)).all()
    assert est.predict(odd).tolist() == [-1]


@pytest.mark.parametrize(
    ("view", "why"),
    [
        (raises, "KeyError: 'no such column'"),
        (lambda rows: 1.0, "cannot reshape array of size 1"),
        (SVDD(C=1e-9), "C"),
        (bsvdd.SVM(), "SVM learns from minority rows"),
        (3, "'int' object is not callable"),
    ],
)
def test_a_view_that_fails_leaves_the_answer_to_the_others(view, why):
    with pytest.warns(
        DataWarning, match=f"view 'bad' cannot be fitted, and the others.*{why}"
    ):
        est = Views(SVDD(), views={"bad": view}).fit(X)
    assert list(est.failed_) == ["bad"]
    np.testing.assert_array_equal(est.margins(Z), Views(SVDD()).fit(X).margins(Z))


def test_weights_choose_views_and_only_their_ratios_count():
    one = Views(SVDD(), weights=OFF | {"normal scores": 0.0}).fit(X)
    assert list(one.views_) == ["standardised"]
    twice = Views(
        SVDD(), weights=OFF | {"normal scores": 0.0, "standardised": 0.6}
    ).fit(X)
    np.testing.assert_array_equal(one.decision()["normal"], twice.decision()["normal"])
    np.testing.assert_array_equal(bsvdd.p_value(one, Z), bsvdd.p_value(twice, Z))
    own = {"own": SVDD(kernel=kernels.RBF(1.0))}
    own = Views(SVDD(), views=own, weights=dict.fromkeys(VIEW_WEIGHTS, 0))
    assert list(own.fit(X).views_) == ["own"]
    replaced = Views(SVDD(), views={"columns": ratio}).fit(X)
    assert not np.allclose(replaced.margins(Z), Views(SVDD()).fit(X).margins(Z))


def test_a_model_that_learns_from_minority_rows():
    rows, y = (
        np.vstack([X, X[:30] + np.array([0.0, 3.0, 0.0])]),
        np.repeat([0, 1], [N, 30]),
    )
    est = Views(SVDDM(), views={"one-class": SVDD()}).fit(rows, y)
    assert (est.predict(rows[N:] + 0.01) == -1).mean() > 0.8


def test_reasons_and_order_of_the_rows_of_one_table():
    rows = np.vstack([X, Z[1:], [[0.0, 0.0, 60.0]]])
    est = Views(SVDD())
    found = est.fit_predict(rows)
    assert "p_value" not in est.decision() and "p_value" in est.decision(Z)
    np.testing.assert_array_equal(found == 1, est.decision()["normal"])
    oddest = np.argsort(-est.decision()["surprise"].to_numpy())[:3]
    assert (found[N:] == -1).all() and set(oddest) == {N, N + 1, N + 2}
    top = bsvdd.explain(est, rows=[N, N + 1]).top_columns(2)
    assert top["column_1"].iloc[0] == 2 and set(top.iloc[1, [0, 2]]) == {0, 1}
    assert bsvdd.stand_out(SVDD(), rows).listed[N:].any()


def test_what_needs_one_fit_asks_a_view_and_a_fit_is_a_value(fitted):
    for ask in (bsvdd.facts, bsvdd.elpd, bsvdd.methods):
        with pytest.raises(TypeError, match="Views joins several fits.*est.views_"):
            ask(fitted)
    assert bsvdd.facts(fitted.views_["standardised"]).rows == N
    same = pickle.loads(pickle.dumps(fitted))
    same.set_params(weights=None, estimator=None)
    np.testing.assert_array_equal(same.margins(Z), fitted.margins(Z))
