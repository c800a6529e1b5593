"""Fits to one table with odd rows inside: the core, the rows beside it, and both jobs."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.detector import Detector
from bsvdd.models.core import Core, wide
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, OCSVM, SVDD, Cutoff, Views, cutoffs, kernels, priors
from tests import scores
from tests.scores import scores_left_out

RNG = np.random.default_rng(2)
X = RNG.normal(size=(120, 3)) @ np.linalg.cholesky(0.6 * np.ones((3, 3)) + 0.4 * np.eye(3)).T
X[:6] = [3.0, -3.0, 3.0] + 0.1 * RNG.normal(size=(6, 3))
NEW = RNG.normal(size=(20, 3))
QUICK = {"draws": 400, "tune": 300}
ALL = {
    "BSVDD": BSVDD(**QUICK),
    "groups": BSVDD(dictionary=30, **QUICK),
    "given points": BSVDD(dictionary=X[6:80], **QUICK),
    "every row a point": BSVDD(prior=priors.StandardizedRowSum(), **QUICK),
    "BDD": BDD(**QUICK),
    "simplex": BDD(simplex=True),
    "SVDD": SVDD(),
    "OCSVM": OCSVM(),
    "Views": Views(estimator=SVDD()),
    "own kernel": SVDD(kernel=kernels.Standardized(kernels.RBF(1.5))),
    "linear": SVDD(kernel=kernels.Linear()),
}


def of_core(est: Detector, rows: np.ndarray = X) -> Detector:
    """Return the estimator as fit_predict fits it."""
    new = clone(est)
    new.fit_predict(rows)
    return new


@pytest.mark.parametrize("name", ALL)
def test_fit_predict_describes_the_core_and_fit_all_rows(name):
    est = of_core(ALL[name])
    core = est.fit_.data.core
    assert core is not None and core.share == 0.8
    assert core.rows.sum() == 96 and not core.rows[:6].any()
    if est.gram_ is not None:
        assert est.gram_.n0 == 96
        inside = est.fit_.data.member_of_row >= 0
        assert not inside[~core.rows].any()
        if name != "given points":
            assert (inside == core.rows).all()
    assert "96 that are" in str(est) and "core=0.8" in str(est)
    assert "96 in the core" in repr(est.fit_)
    of_all = clone(ALL[name]).fit(X)
    assert of_all.fit_.data.core is None
    assert "all majority rows count as normal" in str(of_all)
    same = clone(ALL[name]).set_params(core=0.8).fit(X)
    np.testing.assert_array_equal(same.score_samples(NEW), est.score_samples(NEW))
    np.testing.assert_array_equal(scores_left_out(same), scores_left_out(est))
    whole = clone(ALL[name]).set_params(core=1)
    whole.fit_predict(X)
    np.testing.assert_array_equal(whole.score_samples(NEW), of_all.score_samples(NEW))


@pytest.mark.parametrize("name", ALL)
def test_a_group_of_odd_rows_that_are_alike_is_first(name):
    if name == "linear":
        pytest.skip("the mean of the rows does not tell them apart by their correlation")
    left_out = scores_left_out(of_core(ALL[name]))
    assert np.isfinite(left_out).all()
    found = set(np.argsort(left_out)[:6]) & set(range(6))
    assert len(found) >= (5 if name == "Views" else 6)


@pytest.mark.parametrize("name", ["BSVDD", "groups", "BDD", "SVDD", "OCSVM", "Views"])
def test_a_saved_fit_has_its_core(name, tmp_path):
    est = of_core(ALL[name])
    est.save(tmp_path / "fit")
    same = bsvdd.load(tmp_path / "fit")
    core, found = est.fit_.data.core, same.fit_.data.core
    assert (core.rows == found.rows).all() and core.share == found.share
    assert core.asked == found.asked and same.fit_.data.asked == est.fit_.data.asked
    assert same.kernel_ == est.kernel_
    np.testing.assert_allclose(same.score_samples(NEW), est.score_samples(NEW), atol=1e-4)
    np.testing.assert_array_equal(scores_left_out(same), scores_left_out(est))
    np.testing.assert_array_equal(
        same.fit_.data.fold(np.arange(90), True).core.rows,
        est.fit_.data.fold(np.arange(90), True).core.rows,
    )


def test_the_default_kernel_is_wide_and_decorrelated_and_another_stays():
    est = of_core(SVDD())
    core, kernel = Core.find(wide(kernels.Tabular(categorical=())), X, 0.8, 0)
    assert est.kernel_ == kernel and (est.fit_.data.core.rows == core.rows).all()
    own = kernels.Tabular(kernels.RBF(0.9), categorical=())
    assert of_core(SVDD(kernel=own)).kernel_ == own.resolve(X)


def test_rows_beside_the_core_are_judged_as_new_ones_and_core_rows_are_left_out():
    """Against sums over the core without the row, in the coordinates without it."""
    est = of_core(BDD(simplex=True))
    core, w = est.fit_.data.core.rows, est.fit_.draws.weights[0]
    k = est.kernel_.leaving_out(X, X[core])
    place = np.cumsum(core) - 1
    expected = k @ w
    for i in np.flatnonzero(core):
        others = np.delete(w, place[i])
        expected[i] = np.delete(k[i], place[i]) @ others / others.sum()
    nearest = np.where(place[:, None] == np.arange(len(w)), k * ~core[:, None], k).max(axis=1)
    expected = scores.score_of(est, np.log(expected)[None], np.log(nearest))
    np.testing.assert_allclose(scores_left_out(est), expected, atol=1e-9)


def test_a_core_is_for_rows_without_labels():
    y = np.r_[np.ones(6), np.zeros(114)]
    with pytest.raises(ValueError, match=r"core=0.8 is for rows without labels"):
        SVDD(core=0.8).fit(X, y)
    with pytest.raises(ValueError, match=r"core=0.8 is for rows without labels"):
        BSVDDM(core=0.8).fit(X, y)
    with_labels = SVDD()
    with_labels.fit_predict(X, y)
    assert with_labels.fit_.data.core is None
    for wrong in (0.0, 1.2, "all", None):
        with pytest.raises(ValueError, match="core"):
            SVDD(core=wrong).fit(X)
    with pytest.raises(ValueError, match="the views have one core"):
        Views(estimator=SVDD(core=0.8)).fit(X)


def test_views_have_one_core_by_the_joint_kernel():
    est = of_core(ALL["Views"])
    joint = of_core(SVDD())
    core = est.fit_.data.core.rows
    assert (core == joint.fit_.data.core.rows).all()
    for name, view in est.views_.items():
        half = wide(kernels.Tabular(categorical=(), scale=name))
        assert (view.fit_.data.core.rows == core).all()
        assert view.kernel_ == joint.fit_.data.core.kernel(half, X)


def test_another_prior_another_cutoff_and_draws_keep_the_core():
    est = of_core(BSVDD(**QUICK))
    core = est.fit_.data.core.rows
    others = [
        est.with_prior(priors.Flat(sd=0.5)),
        est.with_prior(priors.StandardizedRowSum()),
        est.with_cutoff(cutoffs.FalseAlarm(0.2)),
        est.with_cutoff(Cutoff(cv=4)),
        est.with_draws(RNG.dirichlet(np.ones(96), size=1000)),
    ]
    for other in others:
        assert (other.fit_.data.core.rows == core).all()
        assert np.isfinite(scores_left_out(other)).all()


def test_explanations_name_columns_whose_shares_add_up():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["d"] = pd.Categorical(np.where(np.arange(120) < 6, "x", "y"))
    est = SVDD()
    est.fit_predict(frame)
    why = bsvdd.explain(est, rows=list(range(12)))
    total = np.asarray(why.columns["mean"]).reshape(12, -1).sum(axis=1)
    rest = why.rows["value"] - why.rows[["base", "remainder", "unseen"]].sum(axis=1)
    np.testing.assert_allclose(total, rest, rtol=1e-9)
    assert set(np.asarray(why.columns["column"]).ravel()) == {"a", "b", "c", "d"}
    with pytest.raises(ValueError, match="adjusts each for the others"):
        bsvdd.given(est, frame, ["a"])


def test_a_change_of_a_unit_changes_no_surprise():
    other = X * [1e6, 1.0, 1.0] + [0.0, 5.0, 0.0]
    a, b = (scores_left_out(of_core(BDD(simplex=True), rows)) for rows in (X, other))
    np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("unit", [1e160, 1e-170, 1e305])
def test_a_column_in_any_unit_has_the_same_long_side(unit):
    rows = np.random.default_rng(4).normal(size=(200, 3))
    rows[:, 0] = np.exp(rows[:, 0])
    fits = [of_core(SVDD(), rows * [factor, 1.0, 1.0]) for factor in (1.0, unit)]
    sides = [est.kernel_.numbers[0].long_side for est in fits]
    assert sides[0].g == pytest.approx(sides[1].g, rel=1e-9)
    np.testing.assert_allclose(*(est.fit_.surprises for est in fits), atol=1e-9)


def test_a_pipeline_asks_for_the_odd_rows_of_one_table():
    found = make_pipeline(StandardScaler(), SVDD()).fit_predict(X)
    assert (found[:6] == -1).all()


def test_the_tree_has_the_core():
    est = of_core(BSVDD(**QUICK))
    tree = est.idata_
    assert (tree["constant_data"]["core"].values == est.fit_.data.core.rows).all()
    assert tree["potential"]["kernel"].sizes["obs"] == 96
    assert "core" not in BSVDD(**QUICK).fit(X).idata_["constant_data"]


# what stands out

MANY = RNG.normal(size=(300, 3)) @ np.linalg.cholesky(0.6 * np.ones((3, 3)) + 0.4 * np.eye(3)).T
ODD = MANY.copy()
ODD[:12] = [3.0, -3.0, 3.0] + 0.1 * RNG.normal(size=(12, 3))
ODD[12] = [0.0, 9.0, -9.0]


@pytest.mark.parametrize("name", ["BSVDD", "simplex", "SVDD", "OCSVM"])
def test_fit_predict_returns_the_list(name):
    est = clone(ALL[name])
    found = est.fit_predict(ODD)
    answer = bsvdd.stand_out(est)
    assert ((found == -1) == answer.listed).all()
    assert answer.listed[:13].all() and answer.listed.sum() <= 15
    assert 3 <= answer.at_least <= 13 and answer.none < 0.01
    assert set(answer.group[:12]) == {0} and answer.group[12] == -1
    assert (answer.group[~answer.listed] == -1).all()
    assert answer.table.index[:13].isin(range(13)).all()
    assert str(answer).startswith(f"At least {answer.at_least} of 300 rows stand out")
    assert bsvdd.stand_out(est, fdr=0.3).listed.sum() >= answer.listed.sum()
    table = est.decision()
    assert "p_value" not in table and (table["listed"] == answer.listed).all()
    assert (table["normal"] == ~answer.listed).all()
    assert "probability_odd" in repr(table)


def test_no_row_of_a_clean_table_is_listed():
    est = clone(ALL["simplex"])
    assert (est.fit_predict(MANY) == 1).all()
    answer = bsvdd.stand_out(est)
    assert answer.at_least == 0 and str(answer).startswith(
        "It is not .99 sure that a row stands out"
    )


def test_a_cutoff_that_is_given_decides_and_views_have_one():
    est = BDD(simplex=True, cutoff=cutoffs.FalseAlarm(0.2))
    found = est.fit_predict(ODD)
    assert (found == np.where(scores_left_out(est) >= 0, 1, -1)).all() and (found == -1).sum() > 40
    views = clone(ALL["Views"])
    assert (views.fit_predict(ODD) == -1).sum() > 20
    assert "joins ranks" in str(bsvdd.stand_out(views))
    few = clone(ALL["simplex"])
    assert (few.fit_predict(ODD[:30]) == 1).all()
    assert "too few different rows" in str(bsvdd.stand_out(few))
    assert not bsvdd.stand_out(few).listed.any()


@pytest.mark.parametrize("share", [0.0, 0.05, 0.1])
def test_the_cutoff_for_new_rows_counts_rows_as_far_as_they_are_normal(share):
    rng, flagged = np.random.default_rng(5), []
    for _ in range(6):
        rows, n1 = rng.normal(size=(300, 3)), round(300 * share)
        rows[:n1] = [3.2, -3.2, 0.0] + 0.15 * rng.normal(size=(n1, 3))
        est = BDD(simplex=True, core=0.8).fit(rows)
        flagged.append((est.predict(rng.normal(size=(2000, 3))) == -1).mean())
        assert "approximate" in str(est)
    assert 0.07 < np.mean(flagged) < 0.135


def test_ranks_among_the_rows_of_the_table_are_refused():
    est = clone(ALL["simplex"])
    est.fit_predict(ODD)
    for question in (bsvdd.p_value, bsvdd.select):
        with pytest.raises(ValueError, match=r"use stand_out"):
            question(est, ODD)
        assert len(question(est, NEW)) == 20
    with pytest.raises(ValueError, match="counts all training rows as normal"):
        bsvdd.stand_out(clone(ALL["simplex"]).fit(ODD))
    with pytest.raises(ValueError, match="fdr must lie between 0 and 1"):
        bsvdd.stand_out(est, fdr=1.0)


def test_the_pymc_model_of_the_tail_is_beside_the_description():
    est = clone(ALL["simplex"])
    est.fit_predict(ODD)
    assert set(est.tail_model_.named_vars) >= {"log_h", "xi", "log_share", "log_a", "odd", "none"}
    few = clone(ALL["simplex"])
    few.fit_predict(ODD[:30])
    with pytest.raises(AttributeError, match="too few different rows"):
        _ = few.tail_model_


def test_another_prior_of_the_tail():
    est = clone(ALL["simplex"])
    est.fit_predict(ODD)
    usual, prior = bsvdd.stand_out(est), priors.TailPrior(largest_share=0.02)
    answer = bsvdd.stand_out(est, prior=prior)
    assert answer.probability.sum() < usual.probability.sum() and answer.prior == prior
    assert "TailPrior" not in str(usual) and str(answer).endswith(f"The prior is {prior}.")
    again = bsvdd.stand_out(est, ODD, prior=priors.TailPrior())
    np.testing.assert_array_equal(again.probability, usual.probability)


@pytest.mark.parametrize("X", [ODD, np.exp(0.8 * ODD)], ids=["normal", "skewed"])
def test_a_saved_fit_lists_the_same_rows(X, tmp_path):
    est = clone(ALL["BSVDD"])
    found = est.fit_predict(X)
    assert (est.kernel_.numbers[0].long_side is None) == (X is ODD)
    est.save(tmp_path / "fit")
    same = bsvdd.load(tmp_path / "fit")
    assert same.kernel_ == est.kernel_
    again = bsvdd.stand_out(same)
    assert (again.listed == (found == -1)).all()
    np.testing.assert_allclose(again.probability, bsvdd.stand_out(est).probability, atol=1e-3)


def bad_tables():
    rng = np.random.default_rng(4)
    normal = rng.normal(size=(200, 3))
    scattered, alike, two, almost, equal = (normal.copy() for _ in range(5))
    scattered[:80] = rng.uniform(-8.0, 8.0, (80, 3))
    alike[:80] = 6.0 + 0.2 * normal[:80]
    two[:100] += 8.0
    almost[1:] = 0.0
    equal[:160] = equal[0]
    letters = pd.DataFrame(rng.choice(list("abc"), (200, 3)), columns=list("xyz"))
    return {
        "no odd row": normal,
        "40 % scattered": scattered,
        "40 % alike": alike,
        "two clusters": two,
        "all equal but one": almost,
        "80 % equal": equal,
        "three binary columns": rng.integers(0, 2, (200, 3)).astype(float),
        "one column": normal[:, :1],
        "12 rows": normal[:12],
        "categories only": letters,
    }


BAD_TABLES = bad_tables()


@pytest.mark.parametrize("name", BAD_TABLES)
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")
def test_a_table_of_any_kind_has_an_answer_and_never_a_list_of_half_of_it(name):
    X = BAD_TABLES[name]
    est = bsvdd.SVDD()
    found = est.fit_predict(X)
    answer = bsvdd.stand_out(est)
    assert len(found) == len(X) and np.isfinite(answer.surprise).all()
    assert answer.listed.sum() <= (0.4 if name == "40 % scattered" else 0.02) * len(X)
    assert ((found == -1) == answer.listed).all()
    assert str(answer).endswith(".")
    order_only = "80 % equal", "three binary columns", "all equal but one", "12 rows"
    assert np.isnan(answer.none) == (name in order_only or name == "categories only")


@pytest.mark.filterwarnings("ignore:all 50 majority rows are equal")
def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(ValueError, match="too many of them are equal"):
        bsvdd.SVDD().fit_predict(np.ones((50, 2)))


def test_a_precomputed_kernel_has_a_list_without_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    X[:5] = 5.0 + 0.1 * X[:5]
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 4.0)
    est = bsvdd.SVDD(kernel=bsvdd.kernels.Precomputed())
    assert set(np.flatnonzero(est.fit_predict(K) == -1)) >= set(range(5))
    assert (bsvdd.stand_out(est).group == -1).all()


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("name", ["simplex", "SVDD", "OCSVM"])
def test_few_columns_without_odd_rows_have_no_list(name, p):
    """The points of a sphere have one surprise: the smooth tail begins beyond them."""
    for seed in range(3):
        est = clone(ALL[name])
        est.fit_predict(np.random.default_rng(seed).normal(size=(200, p)))
        assert bsvdd.stand_out(est).listed.sum() <= 1


FLAGS = {
    "int64": lambda v: v,
    "bool": lambda v: v.astype(bool),
    "Int64": lambda v: pd.array(v, dtype="Int64"),
    "float64": lambda v: v.astype(float),
}


@pytest.mark.parametrize(
    ("dtype", "shares"),
    [(dtype, [0.1]) for dtype in [*FLAGS, "array"]]
    + [("int64", [share]) for share in (0.01, 0.05, 0.2)]
    + [("int64", [0.01, 0.05, 0.1, 0.2])],
)
def test_rows_with_the_rarer_value_of_a_flag_are_no_odd_rows(dtype, shares):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    frame.iloc[:5] += 10.0 * np.eye(5, 4) + 10.0 * np.eye(5, 4, -1)
    for j, share in enumerate(shares):
        flag = (rng.random(400) < share).astype(int)
        flag[5] = 1  # a flag that nobody has would be a constant
        frame[f"flag{j}"] = FLAGS.get(dtype, FLAGS["int64"])(flag)
    X = frame.to_numpy(float) if dtype == "array" else frame
    est = SVDD()
    est.fit_predict(X)
    found = bsvdd.stand_out(est)
    assert found.listed[:5].all()
    assert found.listed[5:].sum() <= 1
    assert found.at_least <= 5
