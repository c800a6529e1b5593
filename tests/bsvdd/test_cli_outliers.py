"""``bsvdd outliers``: the odd rows of one table, as its user asks for them."""

import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import bsvdd
from bsvdd import BSVDD
from bsvdd.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
FEW = ["--draws", 50, "--tune", 100]
ODD = {3: ("cost", 99.0), 17: ("version", 4), 41: ("size", -9.0)}


def call(*arguments, **env):
    return CliRunner().invoke(main, ["outliers", *map(str, arguments)], env=env)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "name": [f"n{i:02d}" for i in range(60)],
            "cost": np.exp(rng.normal(size=60)).round(2),
            "size": rng.normal(size=60).round(3),
            "city": rng.choice(["Bonn", "Rom", "Oslo"], 60),
            "version": 3,
        }
    )
    for row, (column, value) in ODD.items():
        frame.loc[row, column] = value
    return frame


@pytest.fixture(scope="module")
def csv(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("outliers") / "t.csv"
    table.to_csv(path, index=False)
    return path


def test_rows_are_ordered_by_the_other_columns_given_some(csv, table, tmp_path):
    out, of_both = tmp_path / "o.csv", ["--given", "size", "--given", "city"]
    result = call(csv, "--id", "name", *FEW, "--out", out, *of_both)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "p given: the other columns, given size and city; P(normal), surprise and" in text
    found, X = pd.read_csv(out), table.drop(columns="name")
    est = BSVDD(draws=50, tune=100).fit(X)
    p = bsvdd.explain(est, changes=False, given=["size", "city"]).rows["p_given"].to_numpy()
    expected = pd.Series(p, table["name"])
    np.testing.assert_allclose(found["p_given"], expected[found["name"]], atol=1e-9)
    assert found["p_given"].is_monotonic_increasing
    assert set(found["name"][:2]) == {"n03", "n17"}  # cost and version, not size
    assert (found["column_1"].notna() == (found["p_given"] <= 0.1)).all()
    assert not found["column_1"].isin(["size", "city"]).any()


@pytest.mark.parametrize("width", [80, 120])
def test_the_oddest_rows_are_printed_first_with_their_columns(csv, width):
    result = call(csv, "--id", "name", "--top", 3, *FEW, COLUMNS=str(width))
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert max(map(len, lines)) <= width
    assert result.stderr == ""  # a column with two values is no label here
    shown = [line.split() for line in lines if line.strip().startswith("n")][1:]  # without title
    assert sorted(each[0] for each in shown) == ["n03", "n17", "n41"]
    for name, _, _, _, _, _, *reason in shown:
        column, value = ODD[int(name[1:])]
        assert reason[:3] == [column, "=", f"{value:g}"]
    text = " ".join(result.output.split())
    assert "of 60 rows lie beyond the cutoff. 10% of normal rows do so, about 6 in a table" in text
    assert "hide each other" not in text


def test_ten_rows_are_too_few_for_one_beyond_the_cutoff(table, tmp_path):
    path, folder = tmp_path / "t.csv", tmp_path / "report"
    table.iloc[20:30].to_csv(path, index=False)
    said = "fewer than 19 rows the cutoff lies at the oddest left-out row, so none can lie beyond"
    result = call(path, "--id", "name", *FEW)
    assert said in " ".join(result.output.split()) and "0 of 10 rows lie beyond" in result.output
    assert "-0.00" not in result.output
    models = ["--model", "SVDD", "--model", "OCSVM", "--out", str(folder), "--jobs", "1"]
    result = CliRunner().invoke(main, ["compare", str(path), "--id", "name", *models])
    text = " ".join(result.output.split())
    assert said in text and "No row is odd by most of the 2 models. report:" in text
    assert "0 of 2" not in text and "near the asked" not in text
    page = (folder / "report.html").read_text()
    assert said in page and "<td>-</td>" in page and "odd by</th>" not in page


def test_all_rows_are_written_as_python_has_them(csv, table, tmp_path):
    out, picture = tmp_path / "o.csv", tmp_path / "o.png"
    result = call(csv, "--id", "name", *FEW, "--out", out, "--picture", picture)
    assert result.exit_code == 0, result.output
    assert result.output.endswith(f"saved {out}\nsaved {picture}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = pd.read_csv(out)
    est = BSVDD(draws=50, tune=100).fit(table.drop(columns="name"))
    expected = est.decision().drop(columns="left_out")
    expected.insert(0, "name", table["name"])
    expected = expected.sort_values("surprise", ascending=False, kind="stable")
    pd.testing.assert_frame_equal(
        expected.reset_index(drop=True), found[list(expected)], rtol=1e-6, atol=1e-9
    )
    assert (found["column_1"].notna() == ~found["normal"]).all()
    why = bsvdd.explain(est, rows=[3, 17, 41], changes=False).top_columns(1)["column_1"]
    assert why.tolist() == [column for column, _ in ODD.values()]
    first = found.set_index("name").loc[["n03", "n17", "n41"], "column_1"]
    assert first.tolist() == why.tolist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "BDD"], "No reasons: there are no exact shares of columns"),
        (["--model", "OCSVM"], "No reasons: OCSVM has no centre in kernel space"),
        (["--model", "SVDD", "--false-alarm-rate", 0.2], "20% of normal rows do so, about 12"),
        (["--dictionary", 20], "of 60 rows lie beyond"),
        (["--missing", "impute"], "of 60 rows lie beyond"),
    ],
    ids=lambda value: None if isinstance(value, str) else " ".join(map(str, value)),
)
def test_each_model_ranks_the_rows(csv, tmp_path, arguments, said):
    picture = tmp_path / "o.png"
    result = call(csv, "--id", "name", *FEW, "--picture", picture, *arguments)
    assert result.exit_code == 0, result.output
    assert said in " ".join(result.output.split())
    assert "n17" in result.output and picture.exists()


@pytest.mark.filterwarnings("ignore:60 rows are many")
def test_rows_that_a_sample_does_not_hold_are_decided_too(csv, tmp_path, monkeypatch):
    from bsvdd.estimators import training

    monkeypatch.setattr(training, "MOST_ROWS", 40)
    out = tmp_path / "o.csv"
    result = call(csv, "--id", "name", *FEW, "--dictionary", 20, "--out", out, "--given", "city")
    assert pd.read_csv(out)["p_given"].notna().all()
    result = call(csv, "--id", "name", *FEW, "--dictionary", 20, "--out", out)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out).set_index("name")
    assert len(found) == found.index.nunique() == 60 and found["p_value"].notna().all()
    assert found.index[:3].isin(["n03", "n17", "n41"]).sum() >= 2
    assert (found["column_1"].notna() == ~found["normal"]).all()


HIDDEN = (
    "3 rows hide each other: they have copies, equal or nearly so, beside which they are normal"
)


@pytest.mark.parametrize(
    ("of", "times", "sizes", "said"),
    [
        (0, 2, [-9.0, -9.0], HIDDEN),
        (0, 2, [-9.0], None),  # a copy, beside which it is odd
        (0, 2, [-7.0, -6.0], None),  # other odd rows
        (60, 2, [], "All 120 rows have copies: each is judged beside its copy; drop duplicates"),
        (31, 5, [], "155 of 184 rows have copies"),
        (15, 2, [], None),
        (60, 6, [], None),  # a part of the normal class
    ],
)
def test_what_is_said_of_copies(table, tmp_path, of, times, sizes, said):
    path = tmp_path / "t.csv"
    more = [table.loc[[41] * len(sizes)].assign(size=sizes), *[table.iloc[:of]] * (times - 1)]
    normal = table.loc[[5, 5]] if sizes else table.iloc[:0]  # copies of a normal row hide nothing
    pd.concat([table, *more, normal]).drop(columns="name").to_csv(path, index=False)
    text = " ".join(call(path, *FEW).stdout.split())
    assert said in text if said else "rows have copies:" not in text
    assert ("hide each other" in text) == (said == HIDDEN) or (of and not said)
    if said == HIDDEN:
        assert "without which they lie beyond the cutoff: rows 41, 60, 61." in text
    assert not re.search(r"\([0-4]%\)", text)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--id name --given name", "--given 'name': the column is named by --id and is no feature"),
        ("--drop name --given name", "'name': the column is named by --drop and is no feature"),
        ("--id name --given sizes", "the table lacks column 'sizes' (did you mean 'size'?)"),
        (
            "--id name --given cost --given size --given city --given version",
            "given names 4 of 4 columns",
        ),
        ("--out t.csv", "would replace"),
        ("--out same --picture same", "name the same file"),
        ("--id name two.csv", "needs at least 9 left-out majority rows, got 2"),
    ],
)
def test_what_is_refused_is_one_line(table, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    table.to_csv("t.csv", index=False)
    table.iloc[20:22].to_csv("two.csv", index=False)
    words = arguments.split()
    file = [] if "two.csv" in words else ["t.csv"]
    result = call(*file, *words, *FEW)
    assert result.exit_code == 1 and said in result.output, result.output
    assert "too few to tell" not in result.output and not (tmp_path / "same").exists()


def test_score_recognises_training_rows(table, tmp_path):
    model, new, out = tmp_path / "m", tmp_path / "new.csv", tmp_path / "s.csv"
    BSVDD(draws=50, tune=100).fit(table.drop(columns="name")).save(model)
    known = "5 of 6 rows equal a training row in all columns"
    mixed = pd.concat([table.iloc[:5], table.iloc[:1].assign(size=0.5)])
    for rows, said in ((mixed, True), (mixed.iloc[5:], False)):
        rows.to_csv(new, index=False)
        arguments = ["score", str(model), str(new), "--out", str(out), "--fdr", "0.012"]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert (known in result.stderr) == said
        assert ("bsvdd outliers" in result.stderr) == said
        why = f"selected none of {len(rows)} rows: k rows are selected if their p-values are at "
        assert f"{why}most k * {0.012 / len(rows):.3g}" in result.stderr
        smallest = pd.read_csv(out)["p_value"].nsmallest(3)
        assert f"smallest are {', '.join(f'{p:.3g}' for p in smallest)}" in result.stderr
        assert ("5 of the 6 are training rows: score the new rows alone" in result.stderr) == said
