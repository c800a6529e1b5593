"""Known groups have their own centre: residuals, answers, refusals."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import bsvdd
from bsvdd import facts
from bsvdd.base.warning import DataWarning
from bsvdd.estimators.unnamed_groups import correlation_with_order
from bsvdd.tables.group_centres import (
    NEW,
    GroupCentres,
    Levels,
    steady_values,
    variances,
)


def table_of(seed=0, groups=30, visits=6, ratio=3.0):
    """Return rows of two columns, whose groups differ, their groups and new rows."""
    rng = np.random.default_rng(seed)
    centre = ratio * rng.normal(size=(groups, 2))
    of = np.repeat(np.arange(groups), visits)
    X = centre[of] + rng.normal(size=(len(of), 2))
    Z = centre[of] + rng.normal(size=(len(of), 2))
    return X, np.array([f"p{g}" for g in of], dtype=object), Z


def frame_of(X, patient):
    return pd.DataFrame(X, columns=["a", "b"]).assign(patient=patient)


@pytest.fixture(scope="module")
def fitted():
    X, g, Z = table_of()
    est = bsvdd.BSVDD(draws=100, group_centres=True)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return est.fit(frame_of(X, g), groups="patient"), frame_of(Z, g)


def centres_of(X, g, weight=None):
    t = np.ones(len(X)) if weight is None else weight
    return GroupCentres.of(np.asarray(X, float), np.asarray(g, object), t)


def test_large_values_have_the_variances_of_small_ones():
    """Seconds since 1970 had a variance within groups of 273, in place of 1."""
    X, g, _ = table_of()
    small, large = centres_of(X, g), centres_of(X + 2.0**31, g)
    assert large.mu - 2.0**31 == pytest.approx(small.mu, abs=1e-6)
    assert large.tau2 == pytest.approx(small.tau2, rel=1e-5)
    assert large.sigma2 == pytest.approx(small.sigma2, rel=1e-5)


def test_a_residual_is_the_prediction_of_a_normal_model():
    """The conditional normal distribution of z given the m known rows of its group."""
    X, g, _ = table_of(visits=3)
    own = centres_of(X, g)
    own = type(own)(**{**vars(own), "nu": np.inf})
    mu, tau2, sigma2 = (v[0] for v in (own.mu, own.tau2, own.sigma2))
    z = 1.7
    J = X[g == "p4", 0]
    cov = np.full((4, 4), tau2) + np.eye(4) * sigma2
    k = np.linalg.solve(cov[1:, 1:], cov[0, 1:])
    sd = np.sqrt(cov[0, 0] - k @ cov[0, 1:])
    r = own.residuals(np.array([[z, 0.0]]), own.groups(np.array(["p4"], object)))
    assert r[0, 0] == pytest.approx((z - mu - k @ (J - mu)) / sd)
    joint = multivariate_normal(np.full(4, mu), cov).logpdf([z, *J])
    known = multivariate_normal(np.full(3, mu), cov[1:, 1:]).logpdf(J)
    assert -(r[0, 0] ** 2) / 2 - np.log(sd * np.sqrt(2 * np.pi)) == pytest.approx(
        joint - known
    )


def test_a_row_of_a_new_group_is_standardised_by_the_population():
    X, g, _ = table_of()
    own = centres_of(X, g)
    r = own.residuals(X[:5], np.full(5, NEW))
    plain = (X[:5] - own.mu) / np.sqrt(own.sigma2 + own.tau2)
    assert r == pytest.approx(own.of_new * plain)
    # by hand: mean sizes of the rows as they are, and as rows of new groups
    known = own.residuals(X, own.groups(g), np.ones(len(X)))
    new = (X - own.mu) / np.sqrt(own.sigma2 + own.tau2)
    ratio = np.abs(known).mean(axis=0) / np.abs(new).mean(axis=0)
    assert own.of_new == pytest.approx(np.minimum(ratio, 1.0))
    assert (own.of_new > 0.85).all()


def test_what_all_rows_of_a_group_share_says_nothing_against_a_new_group():
    X, g, _ = table_of(groups=40)
    rng = np.random.default_rng(1)
    place = np.unique(g, return_inverse=True)[1]
    sex = rng.choice(["f", "m"], 40)
    height = rng.normal(170.0, 10.0, 40)
    frame = frame_of(X, g)
    own = frame.assign(sex=sex[place], height=height[place])
    plain, shared = (
        bsvdd.BSVDD(group_centres=True).fit(each, groups="patient")
        for each in (frame, own)
    )
    Z = pd.DataFrame(3.2 * rng.normal(size=(200, 2)), columns=["a", "b"])
    Z["patient"] = [f"new {i}" for i in range(200)]
    new = Z.assign(sex=rng.choice(["f", "m"], 200), height=rng.normal(170.0, 10.0, 200))
    assert (shared.predict(new) == plain.predict(Z)).mean() > 0.9
    assert 0.02 < (shared.predict(new) == -1).mean() < 0.2
    # of a known group they say much, as does a category that no row has
    assert (shared.predict(own.assign(height=own["height"] + 20.0)) == -1).all()
    assert (shared.predict(new.assign(sex="x")) == -1).all()


def test_moments_are_those_of_analysis_of_variance():
    X, _, _ = table_of(visits=5)
    x = X[:, 0].reshape(-1, 5)
    n = np.full((30, 1), 5.0)
    S = x.sum(axis=1, keepdims=True)
    Q = (x**2).sum(axis=1, keepdims=True)
    mu, tau2, sigma2 = variances(n, n, S, Q)
    within = x.var(axis=1, ddof=1).mean()
    assert mu[0] == pytest.approx(x.mean())
    assert sigma2[0] == pytest.approx(within)
    assert tau2[0] == pytest.approx(x.mean(axis=1).var(ddof=1) - within / 5)


def test_a_training_row_leaves_its_own_group():
    X, g, _ = table_of()
    whole = centres_of(X, g)
    codes = whole.groups(g)
    left_out = whole.residuals(X, codes, np.ones(len(X)))
    first = np.flatnonzero(g == "p7")
    J = X[first[1:]]
    m = len(J)
    L = m * whole.tau2 / (m * whole.tau2 + whole.sigma2)
    sd = np.sqrt(whole.sigma2 + whole.tau2 * (1 - L))
    centre = whole.mu + L * (J.mean(axis=0) - whole.mu)
    if not np.isfinite(whole.nu):
        assert left_out[first[0]] == pytest.approx((X[first[0]] - centre) / sd)
    assert left_out.std(axis=0) == pytest.approx([1, 1], abs=0.15)


def test_weights_stand_for_copies_of_rows_in_a_mean():
    X, g, _ = table_of()
    t = np.where(np.arange(len(X)) % 6 == 0, 0.0, 1.0)
    some = t > 0
    a, b = centres_of(X, g, t), centres_of(X[some], g[some])
    assert a.mu == pytest.approx(b.mu)
    assert a.sums == pytest.approx(b.sums)


def test_a_wild_value_is_in_no_centre():
    """New rows of its group were abnormal."""
    X, g, _ = table_of()
    wild, gap = X.copy(), X.copy()
    wild[4, 0], gap[4, 0] = 1e9, np.nan
    a, b = centres_of(gap, g), centres_of(wild, g)
    for name in ("mu", "tau2", "sigma2", "sums"):
        np.testing.assert_allclose(getattr(b, name), getattr(a, name), rtol=1e-9)


def test_a_wild_value_is_named_in_its_own_units():
    X, g, _ = table_of()
    rows = frame_of(X, g).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    rows.loc[3, "a"] = np.nan
    est = bsvdd.BSVDD(draws=50, group_centres=True)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        clean = est.fit(rows, groups="patient")
        assert not any("others lie" in w for w in facts(clean).warnings)
    rows.loc[4, "a"] = 1e6
    low, high = rows["a"].min(), rows["a"].drop(4).max()
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        wild = est.fit(rows, groups="patient")
    said = next(w for w in facts(wild).warnings if "others lie" in w)
    assert said.startswith("row 4 has ") and "in 'a'" in said
    ends = said.partition("lie from ")[2].partition(":")[0].split(" to ")
    assert [float(end) for end in ends] == pytest.approx([low, high], rel=0.01)
    assert "without such values, as are centres of groups, but" in said


def test_a_category_is_judged_by_the_counts_of_its_group():
    x = np.array([0, 0, 0, 1, 1, 1, 1, 0], float)
    group = np.repeat([0, 1], 4)
    found = Levels.of(x, group, np.ones(8), 2)
    excess = found.excess(np.array([0.0, 1.0]), np.array([0, 0]), np.zeros(2))
    k, q = found.kappa, 4.5 / 9.5
    share = found.share
    assert share == pytest.approx(np.array([4.5, 4.5, 0.5]) / 9.5)
    assert excess == pytest.approx([0, np.log((k * q + 3) / (k * q + 1))])


def test_answers_are_for_the_own_group(fitted):
    est, Z = fitted
    own = est.predict(Z)
    assert 0.02 < (own == -1).mean() < 0.2
    shifted = Z.assign(a=Z["a"] + 4.0)
    assert (est.predict(shifted) == -1).mean() > 0.7
    swapped = Z.assign(patient=Z["patient"].to_numpy()[::-1])
    assert (est.predict(swapped) == -1).mean() > 0.6


def test_groups_are_a_column_or_labels(fitted):
    est, Z = fitted
    rows = Z.drop(columns="patient")
    own = est.score_samples(Z)
    assert np.array_equal(est.score_samples(Z, groups="patient"), own)
    assert np.array_equal(est.score_samples(rows, groups=Z["patient"]), own)
    other = Z.rename(columns={"patient": "who"})
    assert np.array_equal(est.score_samples(other, groups="who"), own)
    table = est.decision(Z)
    assert np.allclose(-table["surprise"], own)
    assert np.allclose(bsvdd.p_value(est, rows, Z["patient"]), table["p_value"])
    margins = est.margins(rows, groups=Z["patient"])
    assert np.allclose((margins >= 0).mean(axis=0), table["probability_normal"])


def test_an_unknown_label_is_a_new_group(fitted):
    est, Z = fitted
    new = est.score_samples(Z.assign(patient="nobody"))
    with pytest.warns(UserWarning, match="no 'patient': all rows are answered"):
        without = est.score_samples(Z.drop(columns="patient"))
    assert np.array_equal(new, without)
    assert not np.allclose(new, est.score_samples(Z))


def test_numbers_and_texts_are_the_same_labels():
    X, g, Z = table_of()
    number = np.array([int(v[1:]) for v in g])
    est = bsvdd.BSVDD(draws=50, group_centres=True)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        est.fit(X, groups=number)
        own = est.score_samples(Z, groups=number)
        assert np.array_equal(est.score_samples(Z, groups=number.astype(str)), own)
        assert np.array_equal(est.score_samples(Z, groups=number.astype(float)), own)


def test_shuffled_groups_find_no_more_than_none():
    X, g, Z = table_of(ratio=1.0)
    odd = np.add(Z, [4.0, 0.0])
    shuffled = np.random.default_rng(1).permutation(g)
    found = {}
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        for name, labels in {"own": g, "shuffled": shuffled}.items():
            est = bsvdd.BSVDD(draws=100, group_centres=True).fit(X, groups=labels)
            found[name] = (est.predict(odd, groups=labels) == -1).mean()
        none = (bsvdd.BSVDD(draws=100).fit(X).predict(odd) == -1).mean()
    assert found["own"] > none + 0.1
    assert found["shuffled"] == pytest.approx(none, abs=0.08)


def test_missing_cells_and_categories_and_a_saved_fit(tmp_path):
    X, g, Z = table_of()
    rows = frame_of(X, g).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    rows.loc[3, "a"] = np.nan
    rows.loc[8, "kind"] = None
    est = bsvdd.BSVDD(draws=50, group_centres=True)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        est.fit(rows, groups="patient")
        est.save(tmp_path / "model.safetensors")
        same = bsvdd.load(tmp_path / "model.safetensors")
        new = frame_of(Z, g).assign(kind="u")
        assert np.allclose(same.score_samples(new), est.score_samples(new), atol=1e-5)
        assert np.isfinite(est.decision()["surprise"]).all()
    assert est.table_.frame["kind"].dropna().isin(["u", "v"]).all()


@pytest.mark.parametrize("levels", [["am", "pm"], ["day 0", "day 7", "day 28"]])
def test_a_category_that_each_group_has_once_says_nothing(levels):
    """Every new row was abnormal, and P(normal) of known rows .6."""
    k = len(levels)
    X, g, Z = table_of(groups=30, visits=k)
    rows, new = (frame_of(v, g).assign(when=levels * 30) for v in (X, Z))
    code = np.tile(np.arange(float(k)), 30)
    group = np.repeat(np.arange(30), k)
    of = Levels.of(code, group, np.ones(30 * k), 30)
    assert np.isinf(of.kappa) and not of.moves(code, group, np.ones(30 * k)).any()
    np.testing.assert_array_equal(of.excess(code, group, np.ones(30 * k)), 0.0)
    est = bsvdd.BSVDD(draws=100, group_centres=True)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        est.fit(rows, groups="patient")
        assert 0.03 < (est.predict(new) == -1).mean() < 0.2
        unknown = new.assign(patient="unknown")
        assert (est.predict(unknown) == -1).mean() < 0.2
        assert est.decision()["probability_normal"].median() > 0.9


GROUPS = ((0, 50), (0, 50), (50, 90))  # known, known again, new
STEADY = {
    "a height": lambda rng, g: rng.normal(170.0, 9.0, 90).round()[g],
    "a sex": lambda rng, g: rng.integers(0, 2, 90)[g],
    "a dose": lambda rng, g: rng.choice([5.0, 10.0, 20.0], 90)[g],
    "a rare flag": lambda rng, g: (rng.random(len(g)) < 0.01) * 1.0,
    "a flag of one group": lambda rng, g: (g == 5) * (np.arange(len(g)) % 2.0),
    "a constant": lambda rng, g: np.ones(len(g)),
}


@pytest.mark.parametrize("name", STEADY)
def test_a_number_that_hardly_varies_within_groups_is_no_scale(name):
    """Heights with one wrong one made all rows of new groups abnormal."""
    rng = np.random.default_rng(8)
    known, later, new = (np.repeat(np.arange(*ends), 6) for ends in GROUPS)
    g = np.concatenate([known, later, new])
    X = 2.0 * rng.normal(size=(90, 2))[g] + rng.normal(size=(len(g), 2))
    X = np.column_stack([X, STEADY[name](rng, g)])
    n = len(known)
    X[3, 2] += 1.0
    est = bsvdd.BSVDD(draws=100, group_centres=True)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        est.fit(X[:n], groups=known)
        found = est.decision(X[n:], groups=g[n:])
    flagged = ~found["normal"].to_numpy()
    assert 0.03 < flagged[: len(later)].mean() < 0.2
    assert flagged[len(later) :].mean() < 0.2
    assert found["probability_normal"][: len(later)].mean() > 0.8
    assert found["surprise"].abs().quantile(0.9) < 10.0
    table = est.groups_
    assert table["distance"].between(0.0, 20.0).all() and len(table) == 50
    other = X[n : n + 20].copy()
    other[:, 2] += 20.0
    assert not est.decision(other, groups=g[n : n + 20])["normal"].any()


def test_steady_numbers_are_medians_of_groups_of_two_rows_or_more():
    X = np.array(
        [[1.0, 0.0], [1.0, 5.0], [1.0, 2.0], [4.0, 3.0], [4.0, 9.0], [7.0, 1.0]]
    )
    found = steady_values(X, np.array([0, 0, 0, 1, 1, 2]), 3, [])
    np.testing.assert_array_equal(found[:, 0], [1.0, 4.0, 7.0, np.nan])
    assert np.isnan(found[:, 1]).all()
    assert np.isnan(steady_values(X, np.array([0, 0, 0, 1, 1, 2]), 3, [0])).all()


def test_the_list_of_one_table_takes_no_centres(fitted):
    _, rows = fitted
    with pytest.raises(ValueError, match=r"odd for their own group say fit\(X"):
        bsvdd.stand_out(bsvdd.BSVDD(group_centres=True), rows, groups="patient")


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_dates_and_tuples_are_labels_also_in_a_file(unit, tmp_path):
    X, g, _ = table_of(groups=8)
    number = pd.Series(g).str[1:].astype(int)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(number, unit="D")
    est = bsvdd.BSVDD(draws=50, group_centres=True)
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        est.fit(X, groups=days.astype(f"datetime64[{unit}]"))
        est.save(tmp_path / "model.safetensors")
        same = bsvdd.load(tmp_path / "model.safetensors")
        for one in (est, same):
            known = one.known_groups(X[[0, 7]], groups=days[[0, 7]])
            assert known.tolist() == ["2024-01-01 00:00:00", "2024-01-02 00:00:00"]
        pairs = number.map(lambda i: (i, "a"))
        assert est.fit(X, groups=pairs).known_groups()[7] == "(1, 'a')"


def test_draws_of_the_prior_answer_rows_of_known_groups_for_them(fitted):
    est, new = fitted
    rows = est.table_.frame.assign(patient=est.known_groups())
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        found = bsvdd.prior_draws(
            bsvdd.BSVDD(group_centres=True), rows, Z=new, groups="patient", draws=400
        )
    d = est.distance(new).mean(axis=0)
    of_prior = found["d"].mean(("chain", "draw")).to_numpy()
    assert np.corrcoef(d, of_prior)[0, 1] > 0.95


def test_what_is_known_of_each_group(fitted):
    est, _ = fitted
    said = " ".join(bsvdd.methods(est).split())
    assert "30 groups, each of which was left out whole and has its own centre" in said
    assert "rows of a new group" not in said
    X, g, _ = table_of()
    table = est.groups_
    assert table["rows"].eq(6).all()
    assert table["distance"].is_monotonic_decreasing
    assert (table["low"] <= table["distance"]).all()
    assert table["borrowed"].between(0, 0.1).all()
    ax = bsvdd.plots.plot_groups(est, most=5)
    assert [t.get_text() for t in ax.get_yticklabels()][-1] == f"{table.index[0]} (6)"
    with pytest.raises(AttributeError, match="group_centres=True"):
        _ = bsvdd.SVDD().fit(X, groups=g).groups_


@pytest.mark.filterwarnings("ignore:column 'patient' has 30 different texts")
def test_known_rows_of_another_table_are_answered_for_their_own_groups(fitted):
    est, Z = fitted
    why = bsvdd.explain(est, X=Z[::-1], rows=[-1, 3])
    asked = -est.decision_function(Z[::-1].iloc[[-1, 3]])
    np.testing.assert_allclose(why.surprise, asked)
    start = why.walks.surprise(np.ones((2, 10, 3), dtype=int), [0], range(2))
    np.testing.assert_allclose(start[:, :, 0], np.repeat(asked[:, None], 10, axis=1))
    last = bsvdd.explain(est, rows=[-1]).walks.own
    assert last.sum() == 5


def test_reasons_are_by_the_rows_of_the_own_group(fitted):
    est, Z = fitted
    X, g, _ = table_of()
    odd = Z.iloc[[0]].assign(a=Z["a"].iloc[0] + 8.0)
    why = bsvdd.explain(est, odd)
    own = est.table_.frame["a"][Z["patient"].to_numpy() == Z["patient"].iloc[0]]
    assert f"; its {len(own)} rows: {own.min():.4g} to " in why.reason(0)
    assert set(why.nearest.iloc[0]) <= set(own.index)
    same = bsvdd.explain(est, odd.drop(columns="patient"), groups=odd["patient"])
    assert same.reason(0) == why.reason(0)
    assert np.isclose(why.surprise.iloc[0], est.decision(odd)["surprise"].iloc[0])
    with pytest.raises(ValueError, match="group_centres=True"):
        bsvdd.explain(bsvdd.SVDD().fit(X, groups=g), X[:1], groups=g[:1])


@pytest.mark.parametrize(
    ("of_rows", "message"),
    [
        ({}, "name the column, fit"),
        ({"groups": np.arange(180)}, "names each of 180 rows"),
        ({"groups": [None] * 180}, "row 0 has no group"),
        ({"groups": "patient", "y": np.arange(180) % 2}, "rows of both classes"),
    ],
)
def test_groups_that_have_no_centres_are_refused(of_rows, message):
    X, g, _ = table_of()
    rows = frame_of(X, g)
    if "groups" not in of_rows or not isinstance(of_rows["groups"], str):
        rows = rows.drop(columns="patient")
    with pytest.raises(ValueError, match=message):
        bsvdd.BSVDD(group_centres=True).fit(rows, **of_rows)


def test_groups_need_a_fit_with_centres(fitted):
    est, Z = fitted
    X, g, _ = table_of()
    with pytest.raises(ValueError, match="row 0 has no group"):
        est.predict(Z, groups=[None] * len(Z))
    with pytest.raises(ValueError, match="new rows"):
        est.decision(groups=g)
    with pytest.raises(ValueError, match="group_centres=True"):
        bsvdd.SVDD().fit(X, groups=g).predict(X, groups=g)


def drifting(drift, seed=0):
    rng = np.random.default_rng(seed)
    X, g, _ = table_of(seed, groups=40, visits=8)
    X[:, 1] += drift * np.tile(np.arange(8), 40) / 8.0
    visit = np.tile(np.arange(8), 40)
    order = np.lexsort([rng.random(40 * 8), visit])  # by visits, and any patients
    return X[order], g[order]


def warnings_of(X, g):
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        est = bsvdd.BSVDD(draws=50, group_centres=True).fit(X, groups=g)
    return " ".join(facts(est).warnings)


@pytest.mark.parametrize("scale", [1.0, 50.0])
def test_copies_in_groups_are_told_of(scale):
    """With two visits four times each .77 of later visits were abnormal."""
    X, g, _ = table_of()
    X *= scale
    assert "copies" not in warnings_of(X, g)
    half = np.arange(len(X)) % 6 < 3
    said = warnings_of(np.concatenate([X, X[half]]), np.concatenate([g, g[half]]))
    assert "67% of the rows have copies, equal or nearly, in their groups" in said


def test_equal_rows_by_chance_and_near_groups_are_no_copies():
    X, g, _ = table_of()
    flags = np.column_stack([X[:, 0], X[:, 1] > 0.0])
    for rows, group in ((X.round(), g), (flags, g), (X[::3], g[::3])):
        assert "copies" not in warnings_of(rows, group)


def test_the_size_of_a_drift_is_that_of_permutations_within_groups():
    X, g = drifting(1.0)
    group = np.unique(g, return_inverse=True)[1]
    r, z = correlation_with_order(X, group, np.arange(320.0))
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        turned = np.lexsort([rng.random(len(g)), group])
        place = np.lexsort([np.arange(len(g)), group])
        Y = np.empty_like(X)
        Y[place] = X[turned]
        found.append(correlation_with_order(Y, group, np.arange(320.0))[0])
    assert z == pytest.approx(r / np.std(found, axis=0), rel=0.15)
    assert abs(z[0]) < 3.0 < z[1]


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
def test_a_drift_is_said_with_its_column_and_what_to_do():
    X, g = drifting(1.5)
    est = bsvdd.BSVDD(draws=100, group_centres=True)
    said = "column 'b' has a correlation of 0.* with their order"
    with pytest.warns(DataWarning, match=said):
        est.fit(frame_of(X, g), groups="patient")
    assert any("rows drift within their groups" in w for w in facts(est).warnings)
    # by dates, where there are some, whatever the order of the table
    dated = pd.DataFrame(X).add_prefix("x")
    dated["seen"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)), "D")
    mixed = np.random.default_rng(0).permutation(len(X))
    with pytest.warns(DataWarning, match="'x1' .* with their dates in 'seen'"):
        est.fit(dated.iloc[mixed], groups=g[mixed])
    recent = 0.5 ** (np.arange(len(X))[::-1] / 40.0)  # the advice was taken
    est.fit(frame_of(X, g), groups="patient", sample_weight=recent)
    assert not any("drift" in w for w in facts(est).warnings)
    X, g = drifting(0.0)
    steady = bsvdd.BSVDD(draws=100, group_centres=True).fit(X, groups=g)
    assert not any("drift" in w for w in facts(steady).warnings)


def test_residuals_move_as_centres_are_uncertain():
    """The conditional variance of b given its m rows and the row z itself."""
    X, g, Z = table_of(visits=3)
    own = centres_of(X, g)
    own = type(own)(**{**vars(own), "nu": np.inf})
    group = own.groups(g)
    group[0] = NEW
    moves = own.moves(Z, group)
    tau2, s2 = own.tau2, own.sigma2
    of_centre = 1 / (1 / tau2 + 4 / s2)
    d2 = s2 + 1 / (1 / tau2 + 3 / s2)
    assert moves.mean(axis=0) == pytest.approx(np.zeros(Z.shape))
    assert not moves[:, 0].any()
    assert moves[:, 1:].var(axis=0) == pytest.approx(
        np.broadcast_to(of_centre / d2, (len(Z) - 1, 2))
    )
    left_out = own.moves(X, own.groups(g), np.ones(len(X))).var(axis=0)[0]
    d2 = s2 + 1 / (1 / tau2 + 2 / s2)
    assert left_out == pytest.approx(1 / (1 / tau2 + 3 / s2) / d2)


def test_an_excess_moves_less_the_more_rows_a_group_has():
    group = np.repeat([0, 1], [4, 400])
    x = np.tile([0.0, 0.0, 0.0, 1.0], 101)
    found = replace(Levels.of(x, group, np.ones(404), 2), kappa=2.0)
    moves = found.moves(
        np.array([1.0, 1.0, np.nan, 1.0]), np.array([0, 1, 0, NEW]), np.zeros(4)
    )
    few, many, missing, new = np.ptp(moves, axis=0)
    assert few > 3 * many > 0
    assert missing == new == 0


def test_few_known_rows_widen_what_is_said_and_change_no_decision():
    answers = {}
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        for visits in (2, 20):
            X, g, Z = table_of(visits=visits)
            est = bsvdd.BSVDD(draws=100, group_centres=True).fit(X, groups=g)
            rows = est._new_rows(Z, groups=g)
            table = est.decision(Z, groups=g)
            sure = est.fit_.decided(0.9, replace(rows, moves=None))
            assert np.array_equal(-table["surprise"], sure[0])
            assert np.array_equal(est.score_samples(Z, groups=g), sure[0])
            P = table["probability_normal"].to_numpy()
            assert ((P >= 0.5) == table["normal"]).all()
            width = (table["high"] - table["low"]).to_numpy() / (sure[3] - sure[2])
            answers[visits] = np.abs(P - 0.5).mean() - np.abs(sure[1] - 0.5).mean()
            assert np.median(width) > 1.0
            own = est.decision()
            assert np.array_equal(-own["surprise"], est.fit_.left_out_scores)
    assert answers[2] < answers[20] < 0.0


def test_rows_of_new_groups_are_answered_as_before(fitted):
    est, Z = fitted
    mixed = Z.assign(patient=np.where(np.arange(len(Z)) % 2, "nobody", Z["patient"]))
    found = est.margins(mixed)[:, 1::2]
    rows = est._new_rows(mixed)
    assert rows.moves is not None
    assert np.array_equal(found, est.fit_.margins(replace(rows, moves=None))[:, 1::2])
    assert est._new_rows(mixed.iloc[1::2]).moves is None


def test_a_saved_fit_answers_as_uncertain(fitted, tmp_path):
    est, Z = fitted
    est.save(tmp_path / "model.safetensors")
    same = bsvdd.load(tmp_path / "model.safetensors")
    assert np.allclose(*(e.decision(Z).astype(float) for e in (same, est)), atol=0.03)
    one = same.decision(Z.iloc[[5]]).astype(float)
    assert np.allclose(one, same.decision(Z).iloc[[5]].astype(float))
    assert np.allclose(*(e.decision().astype(float) for e in (same, est)), atol=0.03)
