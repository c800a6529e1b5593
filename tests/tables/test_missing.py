"""Missing cells are filled by the nearest training rows; a row's answer is its own."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.draws import Parts
from bsvdd.models.rows import CompleteRows

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, kernels
from bsvdd.base.warning import DataWarning
from bsvdd.tables.missing import DONORS, imputed

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
RNG = np.random.default_rng(2)
N = 60
ROWS = RNG.normal(size=(N, 4))
ROWS[:, 1] += ROWS[:, 0]
ROWS[:, 3] = RNG.integers(0, 3, N)
KNOWN = np.where(RNG.random(ROWS.shape) < 0.15, np.nan, ROWS)
KNOWN[:, 0] = np.where(np.isnan(KNOWN).all(axis=1), 0.0, KNOWN[:, 0])
SAID = "rows? ha(s|ve) missing values, in"
quiet = pytest.mark.filterwarnings(f"ignore:.*{SAID}")


def by_hand(row, known, categorical):
    """Return the row filled, with loops and no array of ranks."""
    result = row.copy()
    for f in np.flatnonzero(np.isnan(row)):
        near = []
        for other in known:
            if np.isnan(other[f]):
                continue
            terms = []
            for g in range(len(row)):
                if np.isnan(row[g]) or np.isnan(other[g]):
                    continue
                if g in categorical:
                    terms.append(float(row[g] != other[g]))
                else:
                    values = [v[g] for v in known if not np.isnan(v[g])]
                    rank = [
                        sum(v < z for v in values) + sum(v == z for v in values) / 2
                        for z in (row[g], other[g])
                    ]
                    terms.append(abs(rank[0] - rank[1]) / len(values))
            near.append((np.mean(terms) if terms else np.inf, other[f]))
        last = sorted(d for d, _ in near)[min(DONORS, len(near)) - 1]
        values = [v for d, v in near if d <= last + 1e-12]
        if f in categorical:
            counts = {v: values.count(v) for v in sorted(values)}
            result[f] = max(counts, key=counts.get)
        else:
            result[f] = np.median(values)
    return result


def test_missing_cells_are_filled_as_by_hand():
    new = np.array([[np.nan, 1.0, 0.0, 1.0], [0.5, np.nan, np.nan, np.nan], KNOWN[3]])
    expected = [by_hand(row, KNOWN, (3,)) for row in new]
    np.testing.assert_allclose(imputed(new, KNOWN, (3,)).X, expected, rtol=1e-12)
    inside = imputed(KNOWN, KNOWN, (3,)).X
    # a row has no value where it lacks one, so it cannot fill its own cell
    np.testing.assert_allclose(
        inside, [by_hand(row, KNOWN, (3,)) for row in KNOWN], rtol=1e-12
    )


def test_no_order_of_rows_and_no_other_row_matters():
    new = np.where(RNG.random(ROWS.shape) < 0.2, np.nan, ROWS)
    new[:, 0] = ROWS[:, 0]
    whole, order = imputed(new, KNOWN, (3,)), RNG.permutation(N)
    for of in (order, *whole.which[[0, 5, 9], None]):
        found = imputed(new[of], KNOWN[order], (3,))
        np.testing.assert_array_equal(found.X, whole.X[of])
        places = np.searchsorted(whole.which, of[found.which])
        np.testing.assert_array_equal(found.copies, whole.copies[:, places])
    few = imputed(
        np.array([[np.nan, 2.0]]), np.array([[1.0, 1.0], [3.0, 2.0]])
    )  # fewer than ten
    assert few.X[0, 0] == 2.0 and few.copies[:, 0, 0].tolist() == [3.0] * 5 + [1.0] * 5


@quiet
@pytest.mark.parametrize("make", [SVDD, BSVDD])
def test_a_fit_fills_missing_cells_of_its_rows_and_of_new_ones(make, tmp_path):
    frame = pd.DataFrame(KNOWN[:, :3], columns=list("abc"))
    frame["t"] = pd.Series(KNOWN[:, 3]).map({0.0: "u", 1.0: "v", 2.0: "w"})
    with pytest.warns(DataWarning, match=rf"of 60 {SAID} 'a' \(\d+\), 'b'"):
        est = make().fit(frame)
    training = est.fit_.rows
    np.testing.assert_array_equal(training.missing, frame.isna())
    expected = imputed(training.observed, training.observed, (3,)).X
    np.testing.assert_array_equal(training.X, expected)
    assert len(set(expected[:, 3])) == 3
    new = frame.iloc[:9].assign(a=[None, *range(8)])
    new.loc[2, "t"] = None
    est.save(tmp_path / "m")
    answers = est.decision(new)
    pd.testing.assert_frame_equal(
        bsvdd.load(tmp_path / "m").decision(new), answers, atol=1e-4
    )
    for i in range(9):
        pd.testing.assert_frame_equal(est.decision(new.iloc[[i]]), answers.iloc[[i]])


@quiet
def test_missing_cells_beside_minority_rows_are_filled_by_the_majority():
    y = np.r_[np.ones(10), np.zeros(N - 10)]
    rows = KNOWN[:, :3].copy()
    rows[:, 0] = ROWS[:, 0]
    est = SVDD().fit(rows, y)
    expected = imputed(rows, rows[10:]).X
    np.testing.assert_array_equal(est.fit_.rows.X, expected)


@quiet
def test_planted_rows_are_found_and_missing_cells_are_no_reason():
    """500 rows, ten planted cells; a fifth of the other cells are missing at random."""
    found, flagged = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(500, 6)) @ (np.eye(6) + 0.5 * rng.normal(size=(6, 6)))
        odd, column = rng.choice(500, 10, replace=False), rng.integers(0, 6, 10)
        rows[odd, column] = 5.0 * rows.std(axis=0)[column]
        missing = rng.random(rows.shape) < 0.2
        missing[odd, column] = missing[:, 0] = False
        ranks = []
        for table in (rows, np.where(missing, np.nan, rows)):
            surprise = SVDD().fit(table).decision()["surprise"]
            ranks.append(surprise.rank(ascending=False).to_numpy())
        found.append([(each[odd] <= 20).mean() for each in ranks])
        top, incomplete = ranks[1] <= 50, missing.any(axis=1)
        normal = ~np.isin(np.arange(500), odd)
        flagged.append([top[normal & of].mean() for of in (incomplete, ~incomplete)])
    complete, filled_rows = np.mean(found, axis=0)
    assert complete > 0.8 and filled_rows >= 0.9 * complete
    assert 0.5 <= np.mean(flagged, axis=0)[0] / np.mean(flagged, axis=0)[1] <= 1.5


NUMBERS = KNOWN[:, :3]
INCOMPLETE = np.array([[np.nan, 1.0, 0.3], [0.5, np.nan, np.nan], [0.1, 0.2, 0.3]])
LINEAR = kernels.Tabular(kernels.Linear(), scale="standardised")
DESCRIPTIONS = [SVDD(), BSVDD(), BDD(), BDD(simplex=True), BDD(kernel=LINEAR)]


def lower_median(margins):
    """Return the score of margins (draws, rows)."""
    return np.sort(margins, axis=0)[(len(margins) - 1) // 2]


@quiet
@pytest.mark.parametrize("make", DESCRIPTIONS, ids=repr)
def test_each_draw_fills_missing_cells_of_a_new_row_by_one_of_the_nearest_rows(make):
    est = make.fit(NUMBERS)
    known = est.fit_.rows.observed
    filled = imputed(INCOMPLETE, known)
    assert filled.which.tolist() == [0, 1]
    missing = np.isnan(INCOMPLETE[:2])
    for copy in filled.copies:
        np.testing.assert_array_equal(copy[~missing], INCOMPLETE[:2][~missing])
        assert all(np.isin(copy[i, f], known[:, f]) for i, f in np.argwhere(missing))
    np.testing.assert_array_equal(filled.X[2], INCOMPLETE[2])
    fit = est.fit_
    plain = replace(fit.boundary, spread=None)

    def of_complete(rows):
        return fit.ask(lambda parts: plain.margins(parts).T, CompleteRows.of(rows)).T

    of_copy = [of_complete(rows) for rows in filled.copies]
    turns = np.arange(len(of_copy[0]))
    margins = np.array(of_copy)[turns % DONORS, turns]
    middle = lower_median(margins)
    if fit.boundary.spread is not None:
        margins = middle + fit.boundary.spread[:, None] * (margins - middle)
    found = est.decision(INCOMPLETE).iloc[:2]
    np.testing.assert_allclose(
        est.margins(INCOMPLETE)[:, :2], margins, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        found["surprise"], -lower_median(margins), rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        found["probability_normal"], (margins >= 0.0).mean(axis=0)
    )
    np.testing.assert_allclose(
        est.score_samples(INCOMPLETE)[:2], -found["surprise"], atol=1e-12
    )
    np.testing.assert_array_equal(est.predict(INCOMPLETE)[:2] > 0, found["normal"])
    np.testing.assert_allclose(
        est.probability_normal(INCOMPLETE)[:2], found["probability_normal"]
    )
    np.testing.assert_array_equal(bsvdd.p_value(est, INCOMPLETE)[:2], found["p_value"])
    complete = est.decision(np.r_[INCOMPLETE[2:], filled.X[:2]])
    same = est.decision(INCOMPLETE).loc[2, "surprise"], complete.loc[0, "surprise"]
    assert same[0] == pytest.approx(same[1], rel=1e-12)
    assert (complete["surprise"][1:] != found["surprise"].to_numpy()).any()
    np.testing.assert_array_equal(est.distance(INCOMPLETE), est.distance(filled.X))


@quiet
@pytest.mark.parametrize("make", [BSVDD(), BDD(), BDD(simplex=True)], ids=repr)
def test_a_training_row_is_left_out_in_each_way_to_fill_it(make):
    est = make.fit(NUMBERS)
    rows, boundary = est.fit_.rows, est.fit_.boundary
    expected = imputed(rows.observed, rows.observed)
    np.testing.assert_array_equal(rows.copies, expected.copies)
    w = est.idata_["posterior"]["w"].values.reshape(-1, N)[:, est.gram_.of_row]
    turns = np.arange(len(boundary.threshold))
    w = np.broadcast_to(w, (len(turns), N))
    for i in (0, 4):
        j, draws = rows.incomplete[i], []
        kernel = est.gram_.kernels[rows.fold[j]]
        others = np.arange(N) != j
        for t, row in zip(turns, rows.copies[turns % DONORS, i], strict=True):
            k = kernel(kernel.inputs(row[None]), kernel.inputs(rows.X[others]))[0]
            s = w[t, others] @ k * w[t].sum() / w[t, others].sum()
            draws.append([max(s, 0.0), max(-s, 0.0), 0.0, np.log(k.max())])
        margins = boundary.margins(Parts(*np.array(draws).T[:, :, None]))[:, 0]
        expected = -lower_median(margins)
        assert est.decision()["surprise"][j] == pytest.approx(expected, rel=1e-9)


@quiet
@pytest.mark.parametrize("make", [SVDD(), BSVDD(draws=400, tune=200)], ids=repr)
def test_the_value_of_a_far_donor_leaves_no_scale(make):
    """One of the nearest rows has a value far off, which stays in the scale."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    rows[7], rows[8, :2] = [0.0, 0.0, 15.0], [0.01, 0.01]
    rows[8, 2] = np.nan
    est = make.fit(rows)
    found = est.decision().iloc[8]
    of_tree = est.idata_["decision"]["surprise"].values
    np.testing.assert_array_equal(of_tree, est.decision()["surprise"])
    others = make.fit(np.delete(rows, 8, axis=0)).decision(rows[[8]]).iloc[0]
    assert found["high"] == pytest.approx(others["high"], abs=0.5)
    assert found["probability_normal"] == pytest.approx(
        others["probability_normal"], abs=0.05
    )


@pytest.mark.long
@quiet
def test_intervals_of_incomplete_rows_hold_the_surprise_of_the_complete_row():
    """300 rows of six correlated columns, a fifth of the cells missing at random."""
    held, flagged = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        mix = np.eye(6) + 0.5 * np.random.default_rng(9).normal(size=(6, 6))
        rows, new = (rng.normal(size=(n, 6)) @ mix for n in (300, 600))
        missing = [
            (rng.random(each.shape) < 0.2) & (np.arange(6) > 0) for each in (rows, new)
        ]
        tables = [
            np.where(cells, np.nan, each)
            for cells, each in zip(missing, (rows, new), strict=True)
        ]
        est = BSVDD(random_state=0).fit(tables[0])
        found, truth = est.decision(tables[1]), est.decision(new)["surprise"]
        incomplete = np.isnan(tables[1]).any(axis=1)
        inside = (found["low"] <= truth) & (truth <= found["high"])
        held.append(inside[incomplete].mean())
        flagged.append((~found["normal"]).mean())
    assert np.mean(held) >= 0.9  # .8 with the middle value alone
    assert 0.07 <= np.mean(flagged) <= 0.14


@pytest.mark.filterwarnings("ignore:1 of 21 rows has missing values")
def test_a_missing_code_of_an_array_is_one_of_the_codes():
    """Not their median: of the ten nearest rows, five have 1 and five have 9."""
    x = np.append(np.arange(20.0), -1.0)
    rows = np.column_stack([x, np.append(np.tile([1.0, 9.0], 10), np.nan)])
    est = SVDD(kernel=kernels.Tabular(categorical=(1,))).fit(rows)
    assert est.fit_.rows.X[20, 1] in (1.0, 9.0)
