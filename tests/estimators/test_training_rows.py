"""A training row among new rows is answered without itself, whatever the other rows are."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.warning import DataWarning

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, OCSVM, SVDD, Cutoff, Views, as_published, cutoffs
from tests.scores import scores_left_out

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3))
X[5] = 4.0
Y = np.arange(80) % 10 == 5
NEW = RNG.normal(size=(4, 3))
MIXED = np.concatenate([X[3:7], NEW])
SMALL = {"draws": 200}
MODELS = {
    "BSVDD": (BSVDD(**SMALL), None),
    "BDD": (BDD(**SMALL), None),
    "SVDD": (SVDD(), None),
    "OCSVM": (OCSVM(), None),
    "Views": (Views(estimator=BSVDD(**SMALL)), None),
    "BSVDD, labels": (BSVDD(**SMALL), Y),
    "BSVDD-M": (BSVDDM(**SMALL), Y),
}


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    est, y = MODELS[request.param]
    return est.fit(X, y)


def test_all_answers_are_those_of_the_table_of_training_rows(fitted):
    expected = fitted.decision()
    pd.testing.assert_frame_equal(pd.DataFrame(fitted.decision(X)), pd.DataFrame(expected))
    np.testing.assert_array_equal(fitted.score_samples(X), scores_left_out(fitted))
    np.testing.assert_array_equal(fitted.predict(X) == 1, expected["normal"])
    np.testing.assert_array_equal(bsvdd.p_value(fitted, X), expected["p_value"])
    p = fitted.probability_normal(X)
    np.testing.assert_allclose(p, expected["probability_normal"], rtol=1e-12)
    if not isinstance(fitted, OCSVM):
        new = bsvdd.explain(fitted, X[:9], changes=False)
        known = bsvdd.explain(fitted, rows=range(9), changes=False)
        pd.testing.assert_frame_equal(new.rows, known.rows, check_index_type=False)


def test_a_mixed_batch_has_the_answers_of_both(fitted):
    mixed, as_new = fitted.decision(MIXED), fitted.decision(MIXED, training="as new")
    assert mixed["left_out"].tolist() == [True] * 4 + [False] * 4
    assert not as_new["left_out"].any()
    surprise = mixed["surprise"].to_numpy()
    assert (surprise[:4] > as_new["surprise"].to_numpy()[:4]).any()  # a row pulls the centre
    np.testing.assert_allclose(surprise[4:], as_new["surprise"][4:], rtol=1e-12)
    alone = np.concatenate([fitted.score_samples(row[None]) for row in MIXED])
    np.testing.assert_allclose(fitted.score_samples(MIXED), alone, rtol=1e-12)
    np.testing.assert_allclose(-surprise, alone, rtol=1e-12)
    assert "4 training rows left out]" in repr(mixed)
    assert "training" not in repr(as_new)
    if not isinstance(fitted, OCSVM):
        why = bsvdd.explain(fitted, MIXED, changes=False)
        assert why.rows["normal"].tolist() == mixed["normal"].tolist()
        if getattr(why, "kind", "") == "surprise":  # reasons are of the same surprise
            np.testing.assert_allclose(why.rows["value"], surprise, rtol=1e-9, atol=1e-12)


def test_an_in_sample_answer_is_the_score_of_the_fit(fitted):
    as_new = fitted.score_samples(X, training="as new")
    np.testing.assert_array_equal(as_new, fitted.fit_.score.scores(X, fitted.fit_.level))
    with pytest.raises(ValueError, match="training must be 'auto' or 'as new', got 'new'"):
        fitted.predict(X, training="new")


def test_rows_that_repeat_are_no_single_training_row():
    rows = RNG.normal(size=(300, 3))
    est = SVDD().fit(np.concatenate([rows, rows[:2]]))
    assert est.decision(rows[:4])["left_out"].tolist() == [False] * 2 + [True] * 2
    often = np.concatenate([X, X[:2]])  # equal rows say nothing
    est = SVDD().fit(often)
    with pytest.warns(DataWarning, match="78 of 80 rows equal a training row, and are answered as"):
        assert not est.decision(X)["left_out"].any()
    assert not est.decision(X[:4])["left_out"].any()  # a few may be equal by chance
    est = SVDD().fit(often)
    est.predict(X[:4])
    assert "left_out" not in vars(est.fit_)  # which could be left out does not matter


@pytest.mark.filterwarnings("ignore:.*rows have gaps, in")
def test_a_value_that_fills_a_gap_makes_no_training_row():
    gaps = X.copy()
    gaps[:9, 1] = np.nan
    filled = bsvdd.estimators.rows.gaps.filled(gaps, X)
    same = X.copy()
    same[:9] = filled[:9]
    est = SVDD().fit(same)
    assert est.decision(same)["left_out"].all()
    with_gaps = est.decision(gaps)
    assert not with_gaps["left_out"][:9].any() and with_gaps["left_out"][9:].all()
    est = SVDD().fit(gaps)
    assert est.decision(gaps)["left_out"].all()
    assert not est.decision(est.fit_.data.rows)["left_out"][:9].any()


@pytest.mark.parametrize(
    "cutoff",
    [0.9, Cutoff(uncertain=False), Cutoff(cutoffs.Rank(0.8), cv="train")],
    ids=["number", "printed rule", "training distances"],
)
def test_the_printed_rule_has_training_rows_as_new_ones(cutoff):
    est = BSVDD(**SMALL, cutoff=cutoff).fit(X)
    inside = (est.distance(X).values.reshape(-1, len(X)) <= est.cutoff_).mean(axis=0)
    if not (isinstance(cutoff, Cutoff) and cutoff.uncertain):
        np.testing.assert_allclose(est.probability_normal(X), inside)
    assert not est.decision(X)["left_out"].any()
    assert est.decision()["left_out"].all()


def test_as_published_has_training_rows_as_new_ones():
    est = as_published("SVDD").fit(X)
    np.testing.assert_array_equal(est.predict(X), est.predict(X, training="as new"))


def test_a_split_has_seen_training_rows():
    est = SVDD().fit(X)
    with pytest.warns(DataWarning, match="4 of 8 rows are training rows, of which a fit to half"):
        warned = bsvdd.p_value(est, MIXED, "split")
    as_new = bsvdd.p_value(est, MIXED, "split", training="as new")
    np.testing.assert_array_equal(warned, as_new)


def test_selection_leaves_training_rows_out():
    est = BSVDD(**SMALL).fit(X)
    with pytest.warns(DataWarning, match="smallest possible p-value, 0.0125:"):  # 1/80, not 1/81
        assert not bsvdd.select(est, X[5:6], fdr=0.0124).any()


def test_training_rows_with_gaps_are_known_again():
    rows = X.copy()
    rows[[2, 2, 9], [0, 1, 2]] = np.nan
    with pytest.warns(DataWarning, match="2 of 80 rows have gaps"):
        est = SVDD().fit(rows)
    with pytest.warns(DataWarning, match="2 of 80 rows have gaps"):
        assert est.decision(rows)["left_out"].all()


def test_a_loaded_fit_has_the_same_answers(tmp_path):
    est = BSVDD(**SMALL).fit(X)
    est.save(tmp_path / "m.safetensors")
    again = bsvdd.load(tmp_path / "m.safetensors")
    for name in ("predict", "score_samples", "probability_normal"):
        expected = getattr(est, name)(MIXED)
        np.testing.assert_allclose(getattr(again, name)(MIXED), expected, rtol=1e-3, atol=2e-3)
