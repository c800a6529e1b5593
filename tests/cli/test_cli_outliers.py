"""``bsvdd outliers``: the odd rows of one table, as its user asks for them."""

import re
import shlex
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bsvdd
from bsvdd import BSVDD
from tests.test_screens import NUMBER

from .helpers import call

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
FEW = ["--draws", 50, "--tune", 100]
ODD = {3: ("cost", 250.0), 17: ("version", 40), 41: ("size", -15.0)}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "name": [f"n{i:02d}" for i in range(60)],
            "cost": np.exp(rng.normal(size=60)).round(2),
            "size": rng.normal(size=60).round(3),
            "city": rng.choice(["Bonn", "Rom", "Oslo"], 60),
            "version": 3 + np.arange(60) % 4,
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


@pytest.mark.parametrize("width", [80, 120])
def test_the_oddest_rows_are_printed_first_with_their_columns(csv, width):
    result = call("outliers", csv, "--id", "name", "--top", 3, *FEW, COLUMNS=str(width))
    lines = result.output.splitlines()
    commands = [line for line in lines if line.startswith("next, ")]  # to be pasted
    assert max(len(line) for line in lines if line not in commands) <= width
    assert len(commands) == 1 and "--kept kept.csv" in commands[0]
    assert "label" not in result.stderr  # a column with two values is none here
    shown = [line.split() for line in lines if re.match(r"n\d", line.strip())]
    assert sorted(each[0] for each in shown) == ["n03", "n17", "n41"]
    for name, odd, _, *reason in shown:
        column, value = ODD[int(name[1:])]
        assert reason[:3] == [column, "=", f"{value:g}"]
        assert 0.0 <= float(odd) <= 1.0
    text = " ".join(result.output.split())
    for words in ("of 60 rows stand", "listed", "a smooth tail"):
        assert words in text


def clump(table):
    """Return 285 rows: 20 odd ones are alike, and some are odd by a long tail."""
    rng = np.random.default_rng(1)
    many = pd.concat([table.drop(index=list(ODD))] * 5, ignore_index=True)
    many["cost"] = np.exp(rng.normal(size=len(many))).round(2)
    many["size"] = rng.normal(size=len(many)).round(3)
    many.loc[:19, ["cost", "size", "city"]] = 9.0, -4.0, "Rom"
    many.loc[:19, "cost"] += rng.normal(0.0, 0.2, 20).round(2)
    many["name"] = [f"r{i}" for i in range(len(many))]
    return many.sample(frac=1.0, random_state=0)


def test_the_page_has_the_list_the_findings_and_how_columns_were_read(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(70.0, 9.0, (120, 2)).round(1), columns=["kg", "cm"])
    X["city"] = rng.choice(["Bonn", "<b>Rom"], 120)
    X.loc[7, "kg"] = 700.0
    X.loc[9, "city"] = "<b>Rmo"
    X.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "page.html"
    said = call("outliers", tmp_path / "t.csv", *FEW, "--report", page).stdout
    assert f"saved {page}\n" in said
    text = page.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:)', text)  # nothing is fetched
    assert text.count("data:image/png") == 2 and "<b>R" not in text
    assert "kg = 700 (" in text and "city = &lt;b&gt;Rmo, else &lt;b&gt;Rom" in text
    assert "<td>cm</td><td>numbers</td>" in text
    assert said.splitlines()[-1].partition("next, ")[2].split(": ")[1] in unescape(text)


def test_alike_odd_rows_are_one_line(table, tmp_path):
    path, out, picture = tmp_path / "t.csv", tmp_path / "o.csv", tmp_path / "o.png"
    many = clump(table)
    many.to_csv(path, index=False)
    files = ["--out", out, "--picture", picture]
    result = call("outliers", path, "--id", "name", *FEW, *files, "--label", "version")
    assert f"saved {out}\nsaved {picture}\nnext, " in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    found = pd.read_csv(out, index_col="name")
    group = found.index[found["clump"] == 0]
    odd = found["probability_odd"]
    assert odd[odd >= 0.1].is_monotonic_decreasing and (odd < 0.1).tolist() == sorted(
        odd < 0.1
    )
    assert set(group) == {f"r{i}" for i in range(20)} and found["listed"][group].all()
    text = " ".join(result.output.split())
    assert f"Alike: {', '.join(group)}; " in text and "... (20 rows)" in text
    assert "Column 'version' is left out: no label is used." in text
    line = next(line for line in result.output.splitlines() if "(20 rows)" in line)
    assert "size = -4 (other rows mostly" in line
    # as Python has them
    X = many.drop(columns=["version"]).set_index("name")
    est = BSVDD(draws=50, tune=100)
    assert (est.fit_predict(X) == np.where(found["listed"][X.index], -1, 1)).all()
    expected = bsvdd.stand_out(est, X).table
    assert found["column_1"].notna()[group].all() and found["column_1"].isna().any()
    assert found.index.tolist() == expected.index.tolist()
    np.testing.assert_allclose(
        found["probability_odd"], expected["probability_odd"], atol=1e-9
    )
    np.testing.assert_allclose(found["surprise"], expected["surprise"], rtol=1e-9)
    more = call("outliers", path, "--id", "name", *FEW, "--top", 1, "--fdr", 0.5)
    assert (
        f"{bsvdd.stand_out(est, X, fdr=0.5).listed.sum() - 20} more rows are"
        in more.output
    )


def test_suspects_are_a_stratum_and_their_column_is_no_feature(tmp_path):
    rng, path, out = np.random.default_rng(0), tmp_path / "t.csv", tmp_path / "o.csv"
    X, away = rng.normal(size=(150, 3)), rng.normal(size=(12, 3))
    X[:12] += 4.5 * away / np.linalg.norm(away, axis=1, keepdims=True)
    who = np.repeat(["T3", "T1", "T2"], [25, 121, 4])
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.assign(who=who).to_csv(path, index=False)
    result = call("outliers", path, "--strata", "who", "--model", "SVDD", "--out", out)
    expected = bsvdd.stand_out(bsvdd.SVDD(), pd.read_csv(path)[list("abc")], strata=who)
    sentence = next(s for s in str(expected).split(". ") if "rows odd" in s)
    assert sentence in " ".join(result.output.split()) and "others: " in sentence
    found = pd.read_csv(out)
    np.testing.assert_allclose(
        found["probability_odd"], expected.table["probability_odd"]
    )
    assert "column_1" in found and "who" not in set(found["column_1"])


@pytest.mark.filterwarnings("ignore:.*have missing values, in")
def test_filled_cells_are_named_row_by_row(table, tmp_path):
    holed, path, out = table.copy(), tmp_path / "t.csv", tmp_path / "o.csv"
    holed.loc[4, "size"] = holed.loc[[4, 9], "city"] = np.nan
    holed.to_csv(path, index=False)
    few = ["--model", "BDD", "--dictionary", 20, "--draws", 50]
    call("outliers", path, "--id", "name", *few, "--out", out)
    filled = pd.read_csv(out, index_col="name", keep_default_na=False)["filled"]
    assert filled[filled != ""].to_dict() == {"n04": "size, city", "n09": "city"}


@pytest.mark.filterwarnings("default::bsvdd.base.warning.DataWarning")
def test_columns_that_are_no_features_are_left_out_and_kept_if_asked(table, tmp_path):
    """Findings stand below the list, and in the file; ids are no reason."""
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    frame = table.assign(number=np.arange(60), why=[f"{i} days" for i in "ab" * 30])
    frame.loc[8, "city"] = "Olso"
    copied = ["cost", "size", "city", "version", "why"]
    frame.loc[30, copied] = frame.loc[20, copied].to_numpy()
    frame.to_csv(path, index=False)
    few = ["--model", "SVDD", "--top", 4]
    result = call("outliers", path, *few, "--out", out)
    for name, what in (("name", "names the rows"), ("number", "counts on")):
        line = next(s for s in result.stderr.splitlines() if f"'{name}'" in s)
        assert what in line and f"left out; --keep '{name}' makes it" in line
    found = pd.read_csv(out, index_col="line", keep_default_na=False)
    assert not set(found["column_1"]) & {"name", "number"}
    text = " ".join(result.stdout.split())
    assert "10 spelling city = Olso, else Oslo" in text
    assert "22, 32 duplicate 2 rows are equal in all but 'name', 'number'" in text
    assert found["findings"][lambda x: x != ""].to_dict() == {
        22: "duplicate",
        32: "duplicate",
        10: "spelling",
    }
    kept = call("outliers", path, *few, "--keep", "name", "--keep", "number")
    assert "left out" not in kept.stderr


def test_rows_that_are_not_listed_are_written_as_they_were_read(table, tmp_path):
    """Lines above the header and blank ones count, so each row has its line."""
    path, out, kept = (tmp_path / name for name in ("t.csv", "o.csv", "k.csv"))
    lines = ["A title", *table.to_csv(index=False, sep=";").splitlines()]
    lines.insert(10, "")  # above row 8
    path.write_text("\n".join(lines))
    own = ["--sep", ";", "--skip", 1, "--drop", "name", *FEW]
    result = call("outliers", path, *own, "--out", out, "--kept", kept)
    found = pd.read_csv(out, sep=";", index_col="line")
    line = np.arange(60) + 3 + (np.arange(60) > 7)
    assert sorted(found.index) == line.tolist()
    listed = found["listed"][line].to_numpy()
    said = f"next, these {60 - listed.sum()} of 60 rows: bsvdd fit {kept}"
    assert said in result.stdout
    assert listed[41] and not listed.all()
    again = pd.read_csv(kept, sep=";")
    pd.testing.assert_frame_equal(again, table[~listed].reset_index(drop=True))


def test_a_table_of_no_features_has_a_remedy(tmp_path):
    path = tmp_path / "t.csv"
    frame = pd.DataFrame({"number": range(60), "name": [f"n{i}" for i in range(60)]})
    frame.to_csv(path, index=False)
    result = call("outliers", path, code=1)
    assert "no column is a feature: 'number' counts on" in result.stderr
    assert "--keep COLUMN" in result.stderr


def test_a_table_without_odd_rows_has_no_list(table, tmp_path):
    path = tmp_path / "t.csv"
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd")).to_csv(
        path, index=False
    )
    text = " ".join(call("outliers", path, *FEW).output.split())
    assert "Some rows may be odd: P(no row is odd) = 0.4" in text
    assert "No row is listed." in text
    table.iloc[20:30].to_csv(path, index=False)
    text = " ".join(call("outliers", path, "--id", "name", *FEW).output.split())
    assert "The rows have an order only: too few different rows." in text


@pytest.mark.filterwarnings("ignore:60 rows are many", "ignore:285 rows are many")
def test_rows_that_a_sample_does_not_hold_are_decided_too(
    csv, table, tmp_path, monkeypatch
):
    from bsvdd.tables import training

    out, path = tmp_path / "o.csv", tmp_path / "t.csv"
    monkeypatch.setattr(training, "MOST_DESCRIBED", 200)
    many = clump(table)
    many.to_csv(path, index=False)
    call("outliers", path, "--id", "name", *FEW, "--out", out)
    found = pd.read_csv(out).set_index("name")
    assert (
        len(found) == found.index.nunique() == 285
        and found["probability_odd"].notna().all()
    )
    odd = found.loc[[f"r{i}" for i in range(20)]]
    assert (odd["clump"] == 0).all() and odd["column_1"].notna().all()
    X = many.set_index("name")
    est = BSVDD(draws=50, tune=100)
    assert ((est.fit_predict(X) == -1) == found["listed"][X.index]).all()


@pytest.mark.filterwarnings("ignore:column 'date' has dates")
def test_the_first_screen_of_the_readme_is_what_the_command_prints(monkeypatch):
    root = Path(__file__).parents[2]
    readme = (root / "README.md").read_text(encoding="utf-8")
    command, shown = re.findall(
        r"```text\n\$ bsvdd outliers (.*?)\n\n(.*?)```", readme, re.S
    )[0]
    monkeypatch.chdir(root)
    result = call("outliers", *command.split(), COLUMNS="92")
    words = [NUMBER.sub("#", text).split() for text in (shown, result.stdout)]
    assert words[0] == words[1]
    said, stored = (
        [float(n) for n in NUMBER.findall(text)] for text in (result.stdout, shown)
    )
    np.testing.assert_allclose(said, stored, rtol=0.02, atol=0.02)


@pytest.mark.filterwarnings("always:.*equal one training row")
@pytest.mark.filterwarnings("ignore:row .* has .* in 'version'")
def test_score_says_how_many_rows_are_training_rows(table, tmp_path):
    model, new, out = tmp_path / "m", tmp_path / "new.csv", tmp_path / "s.csv"
    BSVDD(draws=50, tune=100).fit(table.drop(columns="name")).save(model)
    known = "10 of 11 rows equal one training row each"
    mixed = pd.concat([table.iloc[:10], table.iloc[:1].assign(size=0.5)])
    for rows, said in ((mixed, True), (mixed.iloc[10:], False)):
        rows.to_csv(new, index=False)
        result = call("score", model, new, "--out", out, "--fdr", 0.012)
        assert (known in result.stderr) == said
        assert (
            f"selected none of {len(rows)} rows: k rows are selected if their p-values "
            f"are at most k * {0.012 / len(rows):.3g}" in result.stderr
        )
        smallest = pd.read_csv(out)["p_value"].nsmallest(3)
        assert (
            f"smallest are {', '.join(f'{p:.3g}' for p in smallest)}; "
            f"the smallest rate that the fit can hold is {1 / (len(table) + 1):.3g}"
            in result.stderr
        )


@pytest.mark.filterwarnings("ignore:column 'total' is read as numbers")
def test_kept_rows_have_the_signs_and_ids_of_their_file(tmp_path):
    rng = np.random.default_rng(0)
    amounts = [f"{v:,.2f} €" for v in rng.uniform(100, 3000, 60)]
    texts = [a.translate(str.maketrans(".,", ",.")) for a in amounts]
    rows = [
        f"{i};{v:.2f};{t}".replace(".", ",", 1)
        for i, v, t in zip(range(60), rng.normal(size=60), texts, strict=True)
    ]
    path, kept = tmp_path / "x.csv", tmp_path / "kept.csv"
    for i in range(3):
        rows[i] = rows[i].replace(f"{i};", f"{i}.10;", 1)
    path.write_text("\n".join(["id;a;total", *rows]), encoding="utf-8")
    layout = ["--sep", ";", "--decimal", ",", "--id", "id"]
    call("outliers", path, *layout, "--model", "SVDD", "--kept", kept)
    written = kept.read_text(encoding="utf-8").splitlines()
    totals = {line.split(";")[2] for line in written[1:]}
    assert totals <= set(texts) and len(totals) > 50
    assert {line.split(";")[0] for line in written} >= {"0.10", "1.10", "2.10"}
    call("fit", kept, *layout, "--model", "SVDD", "--out", tmp_path / "m")


def test_the_next_command_leaves_out_what_the_list_left_out(table, tmp_path):
    path, page = tmp_path / "t.csv", tmp_path / "page.html"
    many = clump(table)
    many.to_csv(path, index=False)
    own = ["--id", "name", *FEW, "--label", "version", "--drop", "city"]
    line = call("outliers", path, *own).stdout.splitlines()[-1]
    fit = line.split(" && ")[1]
    assert shlex.split(fit)[:3] == ["bsvdd", "fit", "kept.csv"]
    assert "--drop city --drop version" in fit and "--label" not in fit
    for other in (["--suspect", "city=Rom"], ["--group", "city"]):
        own = ["--id", "name", *FEW, *other, "--strata", "city", "--top", 1]
        line = call("outliers", path, *own).stdout.splitlines()[-1]
        assert shlex.join(other) in line and "--drop" not in line
    clean = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)))
    clean.add_prefix("x").to_csv(path, index=False)
    said = call("outliers", path, *FEW, "--report", page).stdout
    fit = f"bsvdd fit {path}"
    assert said.splitlines()[-1] == f"next, if all rows are normal: {fit}"
    text = unescape(page.read_text(encoding="utf-8"))
    assert f"<pre>next, if all rows are normal: {fit}</pre>" in text
    assert "the other rows" not in text


@pytest.mark.filterwarnings("always:.*has no cell")
def test_lines_of_separators_are_left_out_and_lines_stay(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(90, 2)).round(2), columns=["a", "b"])
    X.loc[30, "a"] = 90.0
    lines = X.to_csv(index=False).splitlines()
    lines[3:3] = [",", " , "]
    path, kept = tmp_path / "t.csv", tmp_path / "kept.csv"
    path.write_text("\n".join([*lines, ",", ""]))
    result = call("outliers", path, *FEW, "--kept", kept)
    said = "line 4 (3 such rows) has no cell; such rows are left out"
    assert said in " ".join(result.stderr.split())
    assert re.search(r"^ 34 .*a = 90", result.stdout, re.M)  # the line of the file
    assert len(pd.read_csv(kept)) == 89
