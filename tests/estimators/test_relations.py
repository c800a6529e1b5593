"""Whether columns go with each other: planted rows that break a relation, and none."""

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.questions.relations import Relations

import bsvdd
from bsvdd import BDD

PRICES = {"a": 2.0, "b": 5.0, "c": 9.0, "d": 14.0}
UNITS = {"a": "kg", "b": "litre", "c": "kg", "d": "piece"}


def orders(seed, n=400):
    """Return orders with four relations, and the rows that break one each."""
    rng = np.random.default_rng(seed)
    product = rng.choice(list(PRICES), n, p=[0.4, 0.3, 0.2, 0.1])
    price = np.round([PRICES[p] for p in product] * np.exp(0.05 * rng.normal(size=n)), 2)
    table = pd.DataFrame(
        {
            "product": product,
            "unit": pd.Series(product).map(UNITS),
            "pieces": 1.0 + rng.poisson(9, n),
            "price": price,
            "ordered": rng.integers(0, 365, n).astype(float),
        }
    )
    table["net"] = (table["pieces"] * table["price"]).round(2)
    table["delivered"] = table["ordered"] + rng.poisson(6, n)
    table["height"] = rng.normal(size=n)
    rows = dict(zip(("net", "unit", "delivered"), rng.choice(n, 3, replace=False), strict=True))
    table.loc[rows["net"], "net"] = round(1.6 * table["net"][rows["net"]], 2)
    own = table["unit"][rows["unit"]]
    table.loc[rows["unit"], "unit"] = "kg" if own != "kg" else "litre"
    table.loc[rows["delivered"], "delivered"] = table["ordered"][rows["delivered"]] - 20.0
    return table, rows


@pytest.mark.parametrize("seed", range(10))
def test_broken_relations_come_first(seed):
    table, rows = orders(seed)
    est = BDD(simplex=True).fit(table)
    found = bsvdd.relations(est)
    assert "height" not in found.follows and {"net", "unit", "delivered"} <= set(found.follows)
    ranks = found.table["excess"].rank(ascending=False)
    assert max(ranks[row] for row in rows.values()) <= 12
    broken = found.table.loc[list(rows.values())]
    assert broken["column"].iloc[0] in ("net", "price", "pieces")
    assert broken["column"].iloc[1] in ("unit", "product")
    assert broken["column"].iloc[2] in ("delivered", "ordered")
    expected = found.table["p_value"]
    n = len(table)
    p = (1.0 + (found.table["excess"].to_numpy() >= broken["excess"].iloc[0] - 1e-12).sum() - 1) / n
    assert expected[rows["net"]] == pytest.approx(p)


def supplies(seed, n=600):
    """Return orders of four suppliers with a unit each; rows 17, 33 and 50 break a relation."""
    rng = np.random.default_rng(seed)
    pieces, price = rng.integers(1, 50, n), rng.gamma(3, 8, n).round(2)
    net = (pieces * price).round(2)
    net[17] = round(1.3 * net[17], 2)
    units = dict(zip(["Kaeser", "Atlas", "Bosch", "Sick"], ["m3", "pcs", "box", "kg"], strict=True))
    supplier = rng.choice(list(units), n)
    unit = np.array([units[name] for name in supplier], object)
    unit[33] = "kg" if unit[33] != "kg" else "m3"
    ordered = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D")
    delivered = pd.Series(ordered + pd.to_timedelta(rng.integers(2, 9, n), "D"))
    delivered[50] = ordered[50] - pd.Timedelta(days=20)
    return pd.DataFrame(
        {
            "pieces": pieces,
            "price": price,
            "net": net,
            "supplier": supplier,
            "unit": unit,
            "ordered": ordered,
            "delivered": delivered,
            "weight": rng.gamma(9, 1, n).round(1),
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_numbers_far_from_all_others_hide_no_wrong_category_and_make_none(seed):
    found = bsvdd.relations(bsvdd.SVDD().fit(supplies(seed)))
    table = found.table.sort_values("p_value")
    assert set(table.index[:3]) == {17, 33, 50}
    assert table["column"][33] in ("supplier", "unit")
    categories = np.delete(found.excess[:, 3:5], 33, axis=0)
    assert table["excess"][33] > 4.0 and categories.max() < 0.1


def squares(wrong, gaps=()):
    """Return 15 rows of each of 9 pairs that determine a third category, some wrong, and noise."""
    pairs = [(a, b) for a in range(3) for b in range(3)] * 15
    table = pd.DataFrame(pairs, columns=["a", "b"])
    third = (table["a"] + table["b"] + table.index.isin(wrong)) % 3
    table = pd.DataFrame(
        {
            "a": table["a"].map(dict(enumerate("pqr"))),
            "b": table["b"].map(dict(enumerate("uvw"))),
            "c": third.map(dict(enumerate("xyz"))),
            "noise": np.random.default_rng(0).gamma(1.0, 1.0, len(table)),
        }
    )
    table.loc[list(gaps), "a"] = None
    return table


def surprise(table, row):
    """Return the surprise of category c of a row given a and b, by counts in other rows."""
    same = [r.c for r in table.itertuples() if r.Index != row.name and (r.a, r.b) == (row.a, row.b)]
    return -np.log((same.count(row.c) + 1 / 3) / (len(same) + 1))


@pytest.mark.parametrize("wrong", [[40], [10, 40, 70, 100, 130]])
def test_the_surprise_by_counts_is_that_of_one_more_row_shared_out(wrong):
    table = squares(wrong)
    est = bsvdd.SVDD().fit(table)
    found = bsvdd.relations(est)
    by_hand = np.array([surprise(table, row) for _, row in table.iterrows()])
    unit = np.quantile(by_hand, 0.99)
    assert (unit > np.log(3.0)) == (len(wrong) > 1)
    np.testing.assert_allclose(found.excess[:, 2], by_hand / max(unit, np.log(3.0)))
    if len(wrong) == 1:  # 14 other rows of this pair have another category
        assert found.excess[40, 2] == pytest.approx(np.log(45.0) / np.log(3.0))
        assert found.follows == ["a", "b", "c"]
    new = table.iloc[:60].set_axis(range(1000, 1060))
    by_hand = np.array([surprise(table, row) for _, row in new.iterrows()])
    excess = bsvdd.relations(est, new).excess[:, 2]
    np.testing.assert_allclose(excess, by_hand / max(unit, np.log(3.0)))


@pytest.mark.filterwarnings("ignore:.*rows have gaps, in")
def test_a_row_with_a_gap_is_not_counted_and_judged_in_the_way_that_surprises_least():
    gaps = [0, 22, 60]
    table = squares([40], gaps)
    found = bsvdd.relations(bsvdd.SVDD().fit(table))
    by_hand = np.array([surprise(table, row) for _, row in table.iterrows()])
    for i in gaps:  # of all ways to fill the gap; the right one is among the nearest rows
        by_hand[i] = min(surprise(table, table.loc[i].replace({None: a})) for a in "pqr")
    np.testing.assert_allclose(found.excess[:, 2], by_hand / np.log(3.0))


@pytest.mark.filterwarnings("ignore:.*rows have gaps, in")
@pytest.mark.parametrize("seed", range(3))
def test_gaps_break_no_relation_and_hide_none(seed):
    """A sixth of the cells of five columns are missing, none in the rows that are broken."""
    table, rows = orders(seed)
    rng = np.random.default_rng(seed + 100)
    names = ["product", "unit", "pieces", "net", "delivered"]
    gap = pd.DataFrame(rng.random((len(table), len(names))) < 0.15, columns=names)
    gap.loc[list(rows.values())] = False
    gaps = table.mask(gap.reindex(columns=table.columns, fill_value=False))
    est = BDD(simplex=True).fit(gaps)
    found = bsvdd.relations(est)
    ranks = found.table["excess"].rank(ascending=False)
    assert max(ranks[row] for row in rows.values()) <= 12
    missing = found.excess[gaps.isna().to_numpy()]
    assert len(missing) > 100 and np.isnan(missing).all()
    new = bsvdd.relations(est, gaps.iloc[:200])
    assert np.isnan(new.excess[gaps.iloc[:200].isna().to_numpy()]).all()
    # of rows with gaps about as many are odd as of others
    with_gaps = gaps.isna().any(axis=1).to_numpy()
    beyond = found.table["excess"].to_numpy() > 1.0
    assert beyond[with_gaps].mean() <= 0.08 and beyond[~with_gaps].mean() <= 0.08


def test_new_rows_are_judged_by_the_relations_of_the_training_rows():
    table, rows = orders(0)
    clean = table.drop(index=list(rows.values())).reset_index(drop=True)
    est = BDD(simplex=True).fit(clean)
    new = clean.iloc[:3].copy()
    new.loc[0, "net"] = 2.0 * new.loc[0, "net"]
    new.loc[1, "unit"] = "kg" if new.loc[1, "unit"] != "kg" else "litre"
    found = bsvdd.relations(est, new).table
    assert (found["p_value"][:2] < 0.02).all() and found["p_value"][2] > 0.02
    alone = [bsvdd.relations(est, new.iloc[[i]]).table for i in range(3)]
    pd.testing.assert_frame_equal(pd.concat(alone), found, rtol=1e-9)
    net = clean["net"][0]
    assert found["column"][0] in ("net", "price", "pieces")
    if found["column"][0] == "net":
        assert found["expected"][0] == pytest.approx(net, rel=0.02)


def test_of_columns_of_one_equation_the_first_is_named():
    """Their excess is equal; the last digits, which differ between machines, do not decide."""
    excess = np.array([[50.0, 50.0 + 1e-13, 2.0], [np.nan, 3.0, 9.0], [np.nan, np.nan, np.nan]])
    p = np.array([0.1, 0.2, 1.0])
    found = Relations(
        excess, np.arange(9.0).reshape(3, 3), p, np.array(["a", "b", "c"], object), [7, 8, 9]
    )
    assert found.table["column"].tolist()[:2] == ["a", "c"] and found.table["column"].isna()[9]
    assert found.table["expected"].iloc[:2].tolist() == [0.0, 5.0]


def test_where_nothing_follows_all_p_values_are_one():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    table["kind"] = rng.choice(list("uvw"), 200)
    found = bsvdd.relations(BDD(simplex=True).fit(table))
    assert found.follows == [] and (found.p_value == 1.0).all()
    few = bsvdd.relations(BDD(simplex=True).fit(table.iloc[:12, :3]))
    assert few.follows == []


def test_one_p_value_is_the_rank_of_the_largest_excess():
    rates = []
    for seed in range(5):
        table, rows = orders(seed, 300)
        clean = table.drop(index=list(rows.values()))
        est = BDD(simplex=True).fit(clean.iloc[:200])
        rates.append((bsvdd.relations(est, clean.iloc[200:]).p_value <= 0.1).mean())
    assert 0.03 <= np.mean(rates) <= 0.17
