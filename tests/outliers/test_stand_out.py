"""One table with odd rows inside: what is listed by each description."""

import math
import re

import numpy as np
import pandas as pd
import pytest
from bsvdd.models.kernels.decorrelated import (
    Decorrelated,
    inverse_root,
    mid_quantiles,
    of_nearest,
)
from scipy.stats import norm
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bsvdd import BDD, BSVDD, SVDD, Table, explain, facts, kernels, load, stand_out
from bsvdd.outliers.core_rows import core_of

# few draws
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

QUICK = BDD(simplex=True)
ALL = {"SVDD": SVDD(), "BDD": BDD(draws=50, tune=60), "mode": QUICK}
ALL["BSVDD"] = BSVDD(draws=50, tune=60)
ODD = np.arange(8)


def table(seed=0, n=300, p=4):
    """Correlated normal rows; in the first 8 one value is 7 sd away."""
    rng = np.random.default_rng([seed, n, p])
    X = 0.6 * rng.normal(size=(n, p)) + 0.8 * rng.normal(size=(n, 1))
    X[ODD, rng.integers(0, p, 8)] = 7.0 * rng.choice([-1.0, 1.0], 8)
    return X


# what is listed


@pytest.mark.parametrize("name", ALL)
def test_planted_rows_are_listed_and_the_estimator_has_the_weights_of_the_core(name):
    X, est = table(), ALL[name]
    found = stand_out(est, X)
    assert found.listed[ODD].all() and found.listed.sum() <= 11
    assert 4 <= found.at_least <= 8 and found.none < 0.01 and not found.reason
    assert not found.weight[ODD].any() and 0.8 <= found.weight.mean() < 0.85
    assert not hasattr(est, "fit_") and type(found.estimator) is type(est)
    assert isinstance(found.estimator.kernel, Decorrelated)
    # weights 0 and 1 are those of a fit to the rows of the core
    again = type(est)(**found.estimator.get_params(deep=False)).fit(X[found.weight > 0])
    inside = found.estimator.log_similarity()[:, found.weight > 0]
    np.testing.assert_allclose(again.log_similarity(), inside, rtol=1e-6)
    new = -np.median(again.log_similarity(X[ODD]), axis=0)
    np.testing.assert_allclose(found.surprise[ODD], new, rtol=0.01)


def test_a_clean_table_has_hardly_ever_a_list():
    tables = (
        np.random.default_rng([seed, 5]).normal(size=(200, 4)) for seed in range(5)
    )
    found = [stand_out(QUICK, X) for X in tables]
    assert sum(each.listed.any() for each in found) <= 1
    assert all(each.at_least == 0 for each in found if not each.listed.any())
    assert np.median([each.none for each in found]) > 0.4


@pytest.mark.parametrize(
    "far",
    [10.0, 1e308, *(pytest.param(v, marks=pytest.mark.long) for v in (25.0, 1e3))],
)
def test_one_wild_value_hides_no_planted_rows(far):
    plain, power = 0, 0
    for seed in range(3):
        X = table(seed, n=150)
        plain += stand_out(QUICK, X).listed[ODD].sum()
        X[149, 1] = far * (-1.0) ** seed
        found = stand_out(QUICK, X)
        power += found.listed[ODD].sum()
        assert (
            found.listed[149]
            and found.probability[149] > 0.99
            and found.listed.sum() <= 12
        )
    assert plain >= 20 and power >= 0.9 * plain


def amounts(rng, n, share):
    return np.where(rng.random(n) < share, np.exp(rng.normal(3.0, 1.0, n)), 0.0)


COLUMNS = {
    **{
        f"flag {s}": lambda r, n, s=s: 1.0 * (r.random(n) < s) for s in (0.01, 0.1, 0.4)
    },
    "four flags": lambda r, n: 1.0 * (r.random((n, 4)) < 0.1),
    "amounts": lambda r, n: amounts(r, n, 0.3),
    "rare amounts": lambda r, n: amounts(r, n, 0.05),
    "counts": lambda r, n: 1.0 * r.poisson(0.4, n),
    "three values": lambda r, n: r.choice([0.0, 1.0, 2.0], n, p=[0.8, 0.15, 0.05]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_a_column_in_which_most_rows_are_equal_makes_no_other_row_odd(kind):
    X = table(1, n=400)
    more = COLUMNS[kind](np.random.default_rng(2), 400)
    found = stand_out(QUICK, np.column_stack([X, more]))
    assert found.listed[ODD].sum() >= 7 and found.listed[8:].sum() <= 2


def test_counts_that_are_mostly_zero_make_no_row_odd():
    """Of 2,000 rows seven with 3 or 4 of binomial counts were listed, 4 at least."""
    rng = np.random.default_rng(0)
    listed = 0
    for draw in (
        lambda: rng.poisson(0.05, 2000),
        lambda: rng.poisson(0.2, 2000),
        lambda: rng.binomial(4, 0.1, 2000),
        lambda: rng.geometric(0.7, 2000) - 1,
    ):
        X = rng.normal(size=(2000, 4)) + 0.7 * rng.normal(size=(2000, 1))
        found = stand_out(QUICK, np.column_stack([X, draw()]))
        assert found.at_least == 0
        listed += found.listed.any()
    assert listed <= 1


def test_quantiles_of_counts_are_those_of_a_continuous_variable():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    found = mid_quantiles(x)
    np.testing.assert_allclose(found, np.quantile(x, [0.1, 0.5, 0.9]), atol=0.01)
    np.testing.assert_allclose(mid_quantiles((2.0 * x).round() / 2.0), found, atol=0.1)
    assert mid_quantiles(np.ones(9)) == [1.0, 1.0, 1.0]
    # shares .25 and .75 of 0 and 1, and a line through them
    np.testing.assert_allclose(mid_quantiles(np.array([0.0, 1.0])), [-0.3, 0.5, 1.3])
    # most of the values are equal: the others are not many standard deviations away
    mean, sd = of_nearest(np.repeat([1.0, 2.0, 3.0], [952, 121, 6]))
    assert (2.0 - mean) / sd == pytest.approx(norm.isf(0.062), abs=0.3)
    assert (3.0 - mean) / sd == pytest.approx(norm.isf(0.003), abs=0.4)


@pytest.mark.parametrize("far", [1e6, 1e200])
def test_a_rare_amount_that_is_far_from_the_others_is_listed(far):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(300, 2)), amounts(rng, 300, 0.3)])
    X[0, 2] = far
    found = stand_out(QUICK, X)
    assert np.flatnonzero(found.listed).tolist() == [0]
    assert "One row is listed, with P(odd) = 1.00." in str(found)


def test_clumps_are_listed_rows_that_are_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:12] = [4.0, -4.0, 4.0] + 0.1 * X[:12]
    X[12:16] = [-5.0, -5.0, 0.0] + 0.1 * X[12:16]
    X[16] = 0.0, 0.0, 7.0
    found = stand_out(QUICK, X)
    assert found.listed[:17].all()
    assert found.clump[:17].tolist() == [0] * 12 + [1] * 4 + [-1]
    assert [len(rows) for rows in found.lines(3)].count(12) == 1
    assert len(np.concatenate(found.lines(300))) == 300


# tables, order, names, words


def mixed(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    frame["place"] = rng.choice(list("uvw"), n)
    frame.loc[3, "a"], frame.loc[5, "place"], frame.loc[7, "b"] = 9.0, "abroad", None
    return frame.set_axis(pd.Index([f"r{i}" for i in range(n)], name="row"))


@pytest.mark.filterwarnings("ignore:1 of 200 rows has missing values")
def test_a_table_of_numbers_categories_and_gaps():
    X = mixed()
    found = stand_out(QUICK, X)
    assert (
        found.listed[3]
        and found.table.index[0] == "r3"
        and found.table.index.name == "row"
    )
    columns = ["probability_odd", "surprise", "listed", "clump", "weight"]
    columns += ["finding", "column", "value", "expected", "also"]
    assert found.table.columns.tolist() == columns
    order = found.table[["probability_odd", "surprise"]]
    order = order.where(
        order["probability_odd"] >= 0.1, order.assign(probability_odd=0)
    )
    assert order.apply(tuple, axis=1).is_monotonic_decreasing
    assert str(found).startswith(found.headline) and "smooth tail" in str(found)
    assert (
        found.title(found.order, most=2)
        == f"r3, {found.table.index[1]}, ... (200 rows)"
    )


@pytest.mark.filterwarnings(
    "ignore:(1 of 200 rows has missing values|column 'a' has 9 in 5 rows, alone)"
)
def test_no_answer_depends_on_the_order_of_the_rows_and_equal_rows_are_alike():
    X = mixed()
    X.iloc[10:14] = X.iloc[3].tolist()
    X.iloc[20:23] = X.iloc[30].tolist()
    order = np.random.default_rng(1).permutation(len(X))
    found, moved = stand_out(QUICK, X), stand_out(QUICK, X.iloc[order])
    names = X.index
    for name in ("probability_odd", "surprise", "listed", "weight"):
        one, other = (
            each.table[name].loc[names].to_numpy(float) for each in (found, moved)
        )
        np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=name)
        for equal in ([3, 10, 11, 12, 13], [20, 21, 22, 30]):
            assert np.ptp(one[equal]) < 1e-9


def test_the_kernel_keeps_what_was_asked_and_is_fitted_to_the_core_alone():
    X = table()
    X[:, 3] = np.arange(300) % 5
    asked = kernels.Tabular(rho=0.1, categorical=(3,), scale="standardised")
    found = stand_out(BDD(simplex=True, kernel=asked), X)
    kernel = found.estimator.kernel
    of = kernel.tabular
    assert (of.rho, of.categorical, kernel.scale) == (0.1, (3,), "standardised")
    assert kernel.q == 3 and kernel.fit(X[:9], np.ones(9), np.arange(9)) is kernel
    assert kernel.rescaled(X[:9], np.ones(9)) is kernel
    assert repr(kernel).startswith("Decorrelated(RBF")
    again = stand_out(found.estimator, X)
    np.testing.assert_array_equal(again.surprise, found.surprise)
    assert again.estimator.kernel == kernel != stand_out(QUICK, X).estimator.kernel
    plain = stand_out(BDD(simplex=True, kernel=kernels.RBF()), X).surprise
    np.testing.assert_array_equal(plain, stand_out(QUICK, X).surprise)


def test_categories_and_common_values_multiply_the_kernel_by_powers_of_rho():
    X = table(n=400)
    X[:, 2] = np.where(np.arange(400) % 20, 0.0, X[:, 2])  # 5 % have no common value
    X[:, 3] = np.arange(400) % 5
    asked = kernels.Tabular(rho=0.1, categorical=(3,))
    _, kernel = core_of(X, asked)
    Z = kernel.inputs(X[:40])
    q = kernel.q
    squared = np.square(Z[:, None, :q] - Z[:, :q]).sum(axis=2)
    other = X[:40, None, 2:] != X[:40, 2:]
    part = (X[:40, None, 2] == 0.0) != (X[:40, 2] == 0.0)
    factor = max(0.1, min(0.5, 10.0 * 0.05))
    log_k = np.log(0.1) * other[..., 1] + np.log(factor) * part
    log_k -= squared / (2.0 * kernel.inner.s**2)
    np.testing.assert_allclose(kernel.log(Z, Z), log_k, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("levels", [[0, 1], ["no", "yes"], [40, 20]])
def test_a_rare_state_that_is_listed_whole_is_said_to_be_perhaps_normal(levels):
    rng = np.random.default_rng(0)
    is_rare = np.arange(300) < 8
    X = pd.DataFrame({f"x{j}": rng.normal(size=300) + 9.0 * is_rare for j in range(3)})
    X["purge"] = np.where(is_rare, levels[1], levels[0])
    X.loc[9, "x0"] = 12.0  # odd in any state
    found = stand_out(QUICK, X)
    said = str(found)
    assert f"8 of 8 rows with purge = {levels[1]} are listed: perhaps normal" in said
    assert found.listed[[*range(8), 9]].all() and found.at_least == 1


def test_coordinates_of_the_core_are_not_correlated():
    X = table(n=600)
    core, kernel = core_of(X, kernels.Tabular())
    Z = kernel.inputs(X[core])[:, :4] * math.sqrt(2.0)
    between = ~np.eye(4, dtype=bool)
    assert (
        np.corrcoef(Z.T)[between].max()
        < 0.2
        < 0.4
        < np.corrcoef(X[core].T)[between].min()
    )
    root, eta = inverse_root(X[core], np.ones(4, dtype=bool)), 0.1 + 8.0 / core.sum()
    S = (1.0 - eta) * np.cov(X[core].T) + eta * np.eye(4)
    np.testing.assert_allclose(root @ S @ root, np.eye(4), atol=1e-10)
    drawn = np.random.default_rng(0).normal(2, 3, 9999)
    np.testing.assert_allclose(of_nearest(drawn), (2, 3), 0.03)


def test_many_rows_are_judged_by_the_core_of_a_sample():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    X[:100] = [4.0, -4.0, 4.0] + 0.1 * X[:100]
    core, _ = core_of(X, kernels.Tabular())
    assert not core[:100].any() and core.mean() == pytest.approx(0.8, abs=0.001)


# tables with little in them, flags


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
ORDER_ONLY = (
    "80 % equal",
    "three binary columns",
    "all equal but one",
    "12 rows",
    "categories only",
)


@pytest.mark.parametrize("name", BAD_TABLES)
@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
def test_a_table_of_any_kind_has_an_answer_and_never_a_list_of_half_of_it(name):
    X = BAD_TABLES[name]
    found = stand_out(SVDD(), X)
    assert len(found.listed) == len(X) and np.isfinite(found.surprise).all()
    assert found.listed.sum() <= (0.4 if name == "40 % scattered" else 0.02) * len(X)
    assert str(found).endswith(".")
    assert np.isnan(found.none) == (name in ORDER_ONLY)
    assert (1.0 - found.probability[found.listed]).sum() <= 0.1 * len(X[found.listed])


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("name", ["mode", "SVDD"])
def test_few_columns_without_odd_rows_have_no_list(name, p):
    """The points of a sphere have one surprise: the smooth tail begins beyond them."""
    for seed in range(3):
        found = stand_out(ALL[name], np.random.default_rng(seed).normal(size=(200, p)))
        assert found.listed.sum() <= 1


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
    found = stand_out(SVDD(), frame.to_numpy(float) if dtype == "array" else frame)
    assert found.listed[:5].all()
    assert found.listed[5:].sum() <= 1
    assert found.at_least <= 5


# fit_predict, and the fit to the core


@pytest.mark.parametrize(
    "name", ["BSVDD", pytest.param("mode", marks=pytest.mark.long), "SVDD"]
)
def test_fit_predict_returns_the_list_and_describes_new_rows_by_all_that_are_not_odd(
    name,
):
    X, est = table(), clone(ALL[name])
    answer = stand_out(est, X)
    np.testing.assert_array_equal(est.fit_predict(X) == -1, answer.listed)
    with pytest.raises(TypeError, match="takes no groups; use stand_out"):
        est.fit_predict(X, groups=np.arange(len(X)))
    new, weight = table(9, n=50), 1.0 - answer.probability
    same = clone(answer.estimator).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(est.score_samples(new), same.score_samples(new))
    assert facts(est).one_table
    assert "one table: odd rows may be among its 300" in str(est)
    assert (clone(est).fit_predict(X, np.isin(np.arange(300), ODD))[ODD] == -1).all()
    assert (make_pipeline(StandardScaler(), clone(est)).fit_predict(X)[ODD] == -1).all()
    assert stand_out(est, X, fdr=0.3).listed.sum() >= answer.listed.sum()


@pytest.mark.parametrize("skewed", [False, True])
def test_a_saved_fit_to_the_core_answers_the_same(skewed, tmp_path):
    X = np.exp(0.8 * table()) if skewed else table()
    found = stand_out(ALL["BSVDD"], X).estimator
    assert any(found.kernel_.sides) == skewed
    found.save(tmp_path / "fit")
    same = load(tmp_path / "fit")
    Z = found.kernel_.inputs(X)
    np.testing.assert_array_equal(same.kernel_.inputs(X), Z)
    np.testing.assert_array_equal(same.kernel_(Z, Z), found.kernel_(Z, Z))
    np.testing.assert_allclose(
        same.score_samples(X[:20]), found.score_samples(X[:20]), atol=1e-5
    )


def test_reasons_are_those_of_the_fit_to_the_core():
    X = np.random.default_rng(0).normal(size=(150, 3))
    X[:8] = [4.0, 0.0, -5.0] + 0.1 * X[:8]
    why = explain(stand_out(ALL["BSVDD"], X).estimator, rows=range(8))
    assert (
        why.nearest.to_numpy().min() >= 8
    )  # odd rows that are alike are not the rows like them
    assert (
        why.top_columns(2)[["column_1", "column_2"]].sum(axis=1) == 2
    ).all()  # 0 and 2
    said = why.reason(range(8))
    assert said.count("; nearest ") == 2 and " to " in said.split(" (")[0]


# strata, weights, groups


def suspects(seed=0, bad=12):
    """150 rows, 25 of T3; the first are 4.5 sd away, each in its own direction."""
    rng = np.random.default_rng(seed)
    X, away = rng.normal(size=(150, 3)), rng.normal(size=(bad, 3))
    X[:bad] += 4.5 * away / np.linalg.norm(away, axis=1, keepdims=True)
    return X, np.repeat(["T3", "T1"], [25, 125])


def test_suspects_have_a_share_of_odd_rows_of_their_own():
    found = {}
    for seed in range(4):
        X, who = suspects(seed)
        for strata in (None, who):
            each = stand_out(QUICK, X, strata=strata)
            found[seed, strata is not None] = (
                each.listed[:12].sum(),
                each.listed[12:].sum(),
            )
        row = each.strata.set_index("level").loc["T3"]
        assert row["rows"] == 25 and row["low"] <= 12 <= row["high"]
        said = f"T3: {row['odd']} of 25 rows odd ({row['low']} to {row['high']}); T1: "
        assert said in str(each)
    alone, told = (
        np.sum([v for (_, t), v in found.items() if t == is_told], axis=0)
        for is_told in (0, 1)
    )
    assert told[0] >= 40 and told[1] <= 0.15 * told.sum() and alone[0] <= told[0] / 2
    clean, who = suspects(bad=0)
    assert not stand_out(QUICK, clean, strata=who).listed.any()


def test_levels_are_labels_or_a_column_and_small_ones_are_joined():
    X, who = suspects()
    frame = pd.DataFrame(X, columns=list("abc")).assign(who=who)
    named, given = (
        stand_out(QUICK, frame, strata="who"),
        stand_out(QUICK, X, strata=who),
    )
    assert list(named.estimator.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(named.probability, given.probability)
    none = stand_out(QUICK, X)
    same = stand_out(QUICK, X, strata=["all"] * 150)
    np.testing.assert_array_equal(same.probability, none.probability)
    assert (same.none, same.at_least, str(same)) == (
        none.none,
        none.at_least,
        str(none),
    )
    few = np.r_[["x"] * 3, ["y"] * 4, ["z"] * 143]
    assert stand_out(QUICK, X, strata=few).strata[
        ["level", "rows"]
    ].to_numpy().tolist() == [
        ["others", 7],
        ["z", 143],
    ]
    order = np.random.default_rng(1).permutation(150)
    moved, known = (
        stand_out(QUICK, X[order], strata=who[order]),
        stand_out(QUICK, X, strata=who),
    )
    np.testing.assert_allclose(moved.probability, known.probability[order], rtol=1e-9)
    pd.testing.assert_frame_equal(moved.strata, known.strata)
    many = stand_out(QUICK, X, strata=np.arange(150) // 15)
    assert "; 5 more strata." in str(many) and len(many.strata) == 10


def test_rows_of_weight_0_are_never_in_the_core_and_the_fit_has_weights_and_groups():
    X, _ = suspects()
    t, groups = (
        np.r_[np.zeros(25), 0.5 + np.random.default_rng(0).random(125)],
        np.arange(150) // 3,
    )
    found = stand_out(QUICK, X, sample_weight=t, groups=groups)
    assert not found.weight[:25].any() and np.isfinite(found.probability).all()
    core = found.weight > 0
    np.testing.assert_allclose(found.weight[core], t[core] / t[25:].mean())
    same = clone(found.estimator).fit(X, sample_weight=core * t, groups=groups)
    np.testing.assert_allclose(
        found.surprise,
        np.maximum(-np.median(same.log_similarity(), axis=0), 0.0),
        rtol=1e-6,
    )
    equal = stand_out(QUICK, X, sample_weight=np.full(150, 7.0), groups=np.arange(150))
    np.testing.assert_allclose(
        equal.probability, stand_out(QUICK, X).probability, rtol=1e-6
    )


def test_few_or_equal_rows_have_an_order_only():
    for X in (
        np.random.default_rng(0).normal(size=(30, 2)),
        np.repeat(np.eye(3), 30, axis=0),
    ):
        found = stand_out(QUICK, X)
        assert np.isnan(found.probability).all() and not found.listed.any()
        assert str(found) == "The rows have an order only: too few different rows."
        assert len(found.table) == len(X) and math.isnan(found.none)


# shapes that the core cuts, large clumps


def curve(seed):
    rng = np.random.default_rng([86, seed])
    t = rng.uniform(-2.0, 2.0, 200)
    X = np.column_stack([t, t**2, np.sin(2.0 * t)])
    return X + 0.1 * rng.normal(size=(200, 3))


def test_the_end_of_a_curve_that_the_core_has_cut_is_no_list():
    """Without the test of chains L was 20 and 18, of 28 and 29 listed rows."""
    for seed in (14, 8):
        X = curve(seed)
        found = stand_out(QUICK, X)
        assert not found.listed.any() and found.at_least == 0
        assert np.isnan(found.probability).all() and math.isnan(found.none)
        assert str(found).startswith("The rows have an order only: they lie on a thin")
    X[7] = 1000.0  # a row beyond any tail depends on no core
    found = stand_out(QUICK, X)
    assert np.flatnonzero(found.listed).tolist() == [7] and found.at_least == 1
    assert str(found).startswith("At least one of 200 rows stands out. The others ha")


def test_a_second_state_is_one_clump_with_its_values_and_l_is_no_larger_than_the_list():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(0.05 * rng.normal(size=(300, 2)), columns=["a", "b"])
    X[:66] = 3.0 + rng.normal(size=(66, 2))
    X["c"] = np.where(np.arange(300) < 66, "off", "on")
    found = stand_out(QUICK, X)
    assert found.listed[:66].all() and found.at_least <= found.listed.sum() <= 70
    own = X[found.clump == 0]
    assert len(own) >= 60
    low, high = own["a"].quantile([0.1, 0.9], "nearest")
    said = f"{len(own)} rows ({len(own) / 300:.0%}) are a clump: another state, or odd"
    assert f"{said}; a mostly {low:.3g} to {high:.3g} (other rows mostly -0.0" in str(
        found
    )
    assert "c = off" in str(found)


def test_a_cell_that_the_others_contradict_is_named_with_what_they_lead_to():
    rng = np.random.default_rng(1)
    state = rng.integers(0, 3, 300)
    X = pd.DataFrame({f"k{j}": (state == j).astype(int) for j in range(3)})
    X[["a", "b"]] = rng.normal(size=(300, 2))
    X.loc[5, ["k0", "k1", "k2"]] = 1  # of which one is 1 elsewhere: k0 in this row
    X.loc[9, "b"] = 40.0
    found = stand_out(QUICK, X)
    assert set(found.order[:2]) == {5, 9} and found.listed[[5, 9]].all()
    cells = found.table[["finding", "column", "value", "expected"]]
    assert cells.loc[5].tolist() == ["breaks a relation", "k2", 1, 0]
    assert cells.loc[9].tolist()[:3] == ["odd", "b", 40.0] and found.listed.sum() <= 3
    assert abs(cells.loc[9, "expected"]) < 1.0
    assert found.cell_reason(np.array([5])) == "k2 = 1 (other columns lead to 0)"
    assert cells["finding"].notna().sum() == found.listed.sum()


def test_columns_whose_long_tails_are_shortened_are_said():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(np.exp(rng.normal(size=(200, 5)))).add_prefix("amount ")
    X["size"] = rng.normal(size=200)
    X["kind"] = rng.choice(["a", "b"], 200)
    X = X[["kind", "size", *X.columns[:5]]]
    said = str(stand_out(SVDD(), X))
    assert (
        "Long tails are shortened in amount 0, amount 1, amount 2 and 2 more." in said
    )
    assert "Long tails" not in str(stand_out(SVDD(), X[["kind", "size"]]))


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
def test_cells_of_dates_clocks_and_units_have_the_range_of_their_column():
    """Nothing led to them: the others were not "lead to" 2023-03-31."""
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 360, 300), "D")
    X = pd.DataFrame({"when": day.strftime("%Y-%m-%d"), "a": rng.normal(size=300)})
    X["price"] = [f"$ {x:.2f}" for x in rng.normal(50.0, 3.0, 300)]
    X.loc[5, "when"], X.loc[9, "price"] = "2063-05-05", "$ 5000.00"
    found = stand_out(QUICK, X)
    when, price = (found.cell_reason(np.array([i])) for i in (5, 9))
    assert re.fullmatch(
        r"when = 2063-05-05 \(other rows mostly 2023-01-\d\d to 2023-12-\d\d\)", when
    )
    assert re.fullmatch(
        r"price = \$ 5000.0 \(other rows mostly \$ 4.* to \$ 5.*\)", price
    )


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
def test_times_of_reasons_are_those_of_the_table():
    rng = np.random.default_rng(0)
    minutes = rng.uniform(0, 720, 150).round()
    when = pd.Timestamp("2024-03-01 06:00") + pd.to_timedelta(minutes, unit="min")
    X = pd.DataFrame({"when": when, "z": rng.normal(size=150)})
    X["meter"] = 100.0 + 3.0 * minutes / 60.0 + rng.normal(0.0, 0.05, 150)
    X.loc[9, "when"] += pd.Timedelta(hours=9)
    found = stand_out(QUICK, X)
    reason = found.cell_reason(np.array([9]))
    assert reason.startswith(f"when = {X.loc[9, 'when']} (other columns lead to 2024-")
    lead = pd.Timestamp(re.search(r"lead to (.*?)\)", reason)[1])
    assert abs(lead - when[9]) < pd.Timedelta(minutes=10)
    clock = rng.integers(360, 1080, 150)
    X = pd.DataFrame({"start": [f"{k // 60:02d}:{k % 60:02d}" for k in clock]})
    X["meter"], X["z"] = clock / 10.0 + rng.normal(0.0, 0.1, 150), rng.normal(size=150)
    X.loc[9, "start"] = "23:59"
    est = SVDD(table=Table(cyclic={"start": 24}))
    said = stand_out(est, X).common(np.array([9]))
    ends = re.match(r"start = 23:59 \(other rows mostly (.{5}) to (.{5})\)", said)
    assert ends and set(ends.groups()) <= set(X["start"])


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
def test_numbers_that_are_texts_are_no_categories():
    rng = np.random.default_rng(0)
    q = rng.normal(5000.0, 60.0, 300)
    q[:8] = 9000.0 + rng.normal(0.0, 2.0, 8)
    X = pd.DataFrame({"q": q, "b": rng.normal(size=300)})
    told = stand_out(QUICK, X.assign(q=[f"{x:.0f} kg" for x in q]))
    plain = stand_out(QUICK, X.assign(q=q.round()))
    assert told.at_least == plain.at_least >= 7
    rows = np.arange(8)
    assert re.sub(r"(\.0)? kg", "", told.common(rows)) == plain.common(rows)
