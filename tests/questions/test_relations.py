"""Which columns follow from others: planted rows that break a relation, and none."""

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import bsvdd
from bsvdd.cli import main
from tests.questions import broken_relations as planted

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")


# the least excess of a broken row, and the largest of the others in columns of
# categories
@pytest.mark.parametrize(
    ("kind", "least", "others"),
    [
        ("orders", 2.0, 0.5),
        ("orders, 36 of 400 broken", 0.8, 0.5),
        ("orders with gaps", 2.0, 0.5),
        ("skewed orders", 3.6, 0.01),
        ("15 columns of categories", 3.6, 0.01),
        ("80 cities", 3.0, 1.0),
        ("equal columns", 100.0, 0.0),
        ("a pair tells a third", 2.5, 0.01),
        ("sizes and codes", 3.0, 0.1),
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_broken_rows_come_first_with_a_column_of_their_relation(
    kind, least, others, seed
):
    table, broken = planted.KINDS[kind](seed)
    found = bsvdd.relations(table)
    first = found.table.head(len(broken))["column"]
    right = [row in first and first[row] in columns for row, columns in broken.items()]
    assert np.mean(right) >= (0.95 if "36" in kind else 1.0)
    assert found.table["excess"].reindex(list(broken)).min() >= least
    of_texts = found.follows.index[found.follows["how"] == "counts"]
    rest = found.excess.drop(index=list(broken))[of_texts].to_numpy()
    assert np.nanmax(rest, initial=0.0) <= others


@pytest.mark.parametrize("n", [12, 25, 60, 400])
@pytest.mark.parametrize("seed", range(3))
def test_without_a_relation_nothing_follows(n, seed):
    table, _ = planted.independent(seed, n)
    found = bsvdd.relations(table)
    assert (
        found.follows.empty and found.table.empty and found.excess.isna().all(axis=None)
    )
    assert repr(found) == "No column follows from the others."


def test_the_unit_of_numbers_is_what_a_hundredth_of_the_rows_exceed():
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=2000), rng.normal(size=2000)
    table = pd.DataFrame({"x": x, "y": 5.0 - 3.0 * x + noise})
    found = bsvdd.relations(table)
    assert (found.excess["y"] > 1.0).sum() == 20
    np.testing.assert_allclose(
        found.expected["y"].astype(float), 5.0 - 3.0 * x, atol=0.3
    )
    np.testing.assert_allclose(found.excess["y"], np.abs(noise) / 2.576, atol=0.2)
    # of the four fifths that are smallest, of residuals and of values
    assert found.follows.loc["y", "explained"] == pytest.approx(0.9, abs=0.02)
    other = bsvdd.relations(table * [1e6, 1e-3] + [7.0, 3.0])
    np.testing.assert_allclose(other.excess, found.excess, rtol=1e-6)


@pytest.mark.parametrize("wrong", [1, 5])
def test_the_excess_of_a_category_is_by_counts_of_other_rows(wrong):
    table, _ = planted.squares(0, wrong)
    found = bsvdd.relations(table)
    c = table["c"].tolist()

    def chances(columns, before):
        """P(category) by the other rows that are alike in some columns."""
        cells = table[columns].apply(tuple, axis=1).tolist()
        found = []
        for i, cell in enumerate(cells):
            alike = [c[j] for j in range(len(c)) if j != i and cells[j] == cell]
            most = max(map(alike.count, set(alike)), default=0)
            found.append((len(alike), alike.count(c[i]), most))
        n, own, most = np.transpose(found)
        exceptions = own < most
        share = (1 + exceptions.sum() - exceptions) / (1 + len(c))
        m = n - most + np.minimum(np.maximum(n, 1) * share, 1)
        return (own + m * before) / (n + m)

    share = table["c"].map(table["c"].value_counts(normalize=True)).to_numpy()
    single = {k: chances([k], share) for k in "ab"}
    best = min(single, key=lambda k: -np.log(single[k]).mean())
    p = chances(["a", "b"], single[best])
    s = np.maximum(np.log(share) - np.log(p), 0.0)
    unit = max(np.log(3.0), min(np.quantile(s, 0.99), 4.0 * np.quantile(s, 0.95)))
    np.testing.assert_allclose(found.excess["c"], s / unit)
    assert found.follows.loc["c", ["how", "by"]].tolist() == ["counts", ["a", "b"]]
    shuffled = table.sample(frac=1.0, random_state=0)
    again = bsvdd.relations(shuffled).excess
    np.testing.assert_allclose(again.loc[table.index], found.excess)


def test_a_gap_breaks_no_relation_and_hides_no_other_row():
    table, broken = planted.gaps(0)
    found = bsvdd.relations(table)
    for column, by in found.follows["by"].items():
        gap = table[[column, *by]].isna().any(axis=1)
        assert gap.sum() > 30 and found.excess.loc[gap, column].isna().all()
    assert found.excess[found.follows.index].notna().mean().min() > 0.5
    assert not (found.excess.drop(index=list(broken)) > 2.0).any(axis=None)


def test_what_the_others_lead_to_is_a_cell_of_the_table():
    table, broken = planted.orders(1)
    net, unit, date = broken
    table["price"] = table["price"].map("EUR {:.2f}".format)
    table.index = [f"r{i // 2}" for i in range(len(table))]  # names may repeat
    found = bsvdd.relations(table)
    right = table["pieces"].iloc[net] * float(table["price"].iloc[net][4:])
    assert found.expected["net"].iloc[net] == pytest.approx(right, rel=0.01)
    assert found.expected["price"].iloc[net].startswith("EUR ")
    assert (
        found.expected["unit"].iloc[unit] == planted.UNITS[table["product"].iloc[unit]]
    )
    days = found.expected["delivered"].iloc[date] - table["ordered"].iloc[date]
    assert days in (pd.Timedelta("5D"), pd.Timedelta("6D"))
    assert set(found.table.index[:3]) == {f"r{i // 2}" for i in broken}
    assert "height" not in found.follows.index and found.expected["height"].isna().all()
    sizes = bsvdd.relations(planted.sizes(0)[0])
    assert set(sizes.expected["size"]) <= set("SMLX") and set(
        sizes.expected["code"]
    ) <= {
        2,
        3,
        5,
        6,
    }


def test_of_several_columns_the_one_with_the_most_unusual_value_is_named():
    table, (row,) = planted.equal(0)
    first = bsvdd.relations(table).table.iloc[0]
    assert first.name == row and first[["column", "also"]].tolist() == ["net", "vat"]
    table, broken = planted.supplies(0)
    row = bsvdd.relations(table[["pieces", "price", "net"]]).table.loc[
        next(iter(broken))
    ]
    assert row[["column", "also"]].tolist() == ["net", "price, pieces"]


def test_a_wrong_sign_does_not_hide_a_relation():
    table, _ = planted.equal(1)
    table["pieces"] = np.random.default_rng(1).integers(1, 30, len(table))
    table["total"] = (table["net"] * table["pieces"]).round(2)
    table.loc[5, "pieces"] *= -1
    found = bsvdd.relations(table[["net", "pieces", "total"]])
    first = found.table.iloc[0]
    assert first.name == 5 and first["column"] == "pieces"
    assert first["expected"] == pytest.approx(-first["value"], rel=1e-3)
    assert not (found.excess.drop(5) > 2.0).any(axis=None)


def test_a_rare_category_is_no_error_and_a_misspelt_one_is():
    table, _ = planted.categories(0)
    table.loc[:3, ["a0", "b0", "c0"]] = "new"  # a product of its own, with its own unit
    table.loc[9, "b1"] = "b1 misspelt"
    excess = bsvdd.relations(table).excess
    assert not (excess.loc[:3] > 1.0).any(axis=None) and excess.loc[9, "b1"] > 3.5


def test_columns_that_explain_are_named():
    table, _ = planted.orders(0)
    found = bsvdd.relations(table, on=["pieces", "price", "product"])
    assert found.follows["by"].to_dict() == {
        "unit": ["product"],
        "net": ["pieces", "price"],
    }
    assert found.excess[["pieces", "price", "product"]].isna().all(axis=None)
    array = table[["pieces", "net", "price"]].to_numpy(float)
    assert bsvdd.relations(array, on=[0, 2]).follows.index.tolist() == [1]
    assert bsvdd.relations(array, on=2).follows["by"].to_dict() == {1: [2]}
    for on in ("weight", [], [*table], ["net", 7]):
        with pytest.raises(
            ValueError, match="expected some, and not all, of columns 'product', "
        ):
            bsvdd.relations(table, on=on)
    with pytest.raises(TypeError, match="read a file by"):
        bsvdd.relations("orders.csv")


def test_the_command_names_the_column_and_what_the_others_lead_to(tmp_path):
    table, broken = planted.orders(1)
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    table.rename_axis("id").to_csv(path)
    ask = ["outliers", str(path), "--relations", "--id", "id"]
    result = CliRunner().invoke(main, [*ask, "--out", str(out), "--top", "3"])
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "unit follows from product (counts, " in text
    for row, (column, *_) in broken.items():
        assert f" {row} " in text and column in text
    assert text.count("(other columns lead to ") == 3
    found = pd.read_csv(out, index_col="id")
    assert found["excess"].is_monotonic_decreasing and set(found.index[:3]) == set(
        broken
    )
    table[["height", "ordered"]].to_csv(path, index=False)
    result = CliRunner().invoke(main, ask[:3])
    assert (
        result.exit_code == 0 and "No column follows from the others." in result.stdout
    )
    result = CliRunner().invoke(main, [*ask, "--model", "SVDD", "--fdr", ".2"])
    assert (
        result.exit_code == 2
        and "--relations fits no model: leave out --model, --fdr" in result.output
    )
