"""``bsvdd fit`` and ``bsvdd score``: they write what Python has, for any table."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import bsvdd
from bsvdd import SVDD, cutoffs, load, priors
from bsvdd.base.warning import DataWarning

from .helpers import COLUMNS, KINDS, SHOWN, call, moon

pytestmark = SHOWN


@pytest.fixture(scope="module")
def table():
    return moon().round(3)


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    """t.csv, g.csv in the German way, gaps.csv, and models of both fits to t.csv."""
    folder = tmp_path_factory.mktemp("tables")
    table.to_csv(folder / "t.csv", index=False)
    table.to_csv(folder / "g.csv", index=False, sep=";", decimal=",")
    gaps = table.astype({"a": object, "b": object})
    gaps.loc[2, "a"], gaps.loc[4, "b"], gaps.loc[5, "a"] = "", "n/a?", "inf"
    gaps.to_csv(folder / "gaps.csv", index=False)
    for model in ("BDD", "SVDD"):
        result = call(
            "fit", folder / "t.csv", *COLUMNS, "--model", model, "--out", folder / model
        )
        assert (
            "Tabular(RBF(" in result.output
            and "criterion='likelihood'" in result.output
        )
        said = "60 majority and 12 minority rows; columns 'a', 'b'; label kind; id name"
        said += "; dropped"
        assert f"{said} 'city'\n" in result.output
    return folder


@pytest.fixture
def scores(tmp_path):
    def of(model, csv, *options, **read):
        result = call("score", model, csv, *options, "--out", tmp_path / "scores.csv")
        return result, pd.read_csv(tmp_path / "scores.csv", dtype={"name": str}, **read)

    return of


@pytest.mark.parametrize("model", ["BDD", "SVDD"])
def test_ids_and_the_decision_are_in_the_result(folder, table, scores, model):
    _, frame = scores(folder / model, folder / "t.csv", "--id", "name")
    assert frame["name"].tolist() == table["name"].tolist()  # 007 stays 007
    expected = load(folder / model).decision(table[["a", "b"]])
    assert list(frame) == ["name", *expected]
    pd.testing.assert_frame_equal(expected, frame[list(expected)], rtol=1e-6, atol=1e-9)
    assert (frame["low"] < frame["high"]).all()
    head, first, *_ = call("score", folder / model, folder / "t.csv").stdout.split()
    assert head == ",".join(["line", *expected])
    assert first.startswith("2,")


def test_a_cell_that_cannot_be_read_is_a_gap_and_is_counted(
    folder, table, scores, tmp_path
):
    model, csv = folder / "BDD", folder / "gaps.csv"
    result, frame = scores(model, csv, "--id", "name", "--fdr", "0.3")
    said = "2 cells cannot be read and count as missing; the first is 'n/a?' in 'b'"
    said += " of name 004, no number"
    assert "72 rows scored" in result.output and said in result.stderr
    assert (
        "3 of 72 rows have missing values, in 'a' (2), 'b' (1), filled" in result.stderr
    )
    assert frame["filled"].dropna().to_dict() == {2: "a", 4: "b", 5: "a"}
    X = table[["a", "b"]].copy()
    X.loc[[2, 5], "a"] = X.loc[4, "b"] = np.nan
    with pytest.warns(DataWarning, match="3 of 72 rows have missing values"):
        expected = load(model).decision(X)
        selected = bsvdd.select(load(model), X, 0.3)
    np.testing.assert_allclose(frame["distance"], expected["distance"], rtol=1e-6)
    assert selected.any() and f"{int(selected.sum())} selected" in result.output
    np.testing.assert_array_equal(frame["selected"], selected)


def test_a_table_with_other_signs_has_the_same_scores(folder, table, scores, tmp_path):
    """Answers have the signs of the table."""
    signs, model = ["--sep", ";", "--decimal", ","], tmp_path / "m"
    call("fit", folder / "g.csv", *COLUMNS, *signs, "--model", "SVDD", "--out", model)
    _, german = scores(model, folder / "g.csv", *signs, sep=";", decimal=",")
    _, plain = scores(folder / "SVDD", folder / "t.csv")
    pd.testing.assert_frame_equal(german, plain)
    table.to_csv(tmp_path / "tabs.csv", index=False, sep="\t")
    _, tabs = scores(folder / "SVDD", tmp_path / "tabs.csv", "--sep", "tab", sep="\t")
    pd.testing.assert_frame_equal(tabs, plain)
    result = call("score", model, folder / "g.csv", "--sep", ";", code=1)
    assert "columns 'a', 'b' cannot be read; the first is " in result.output
    assert "is ',' the decimal sign, --decimal ','?" in result.output


def test_a_fit_to_rows_without_names_takes_all_columns(folder, scores, tmp_path):
    """A row may have a gap, and reasons have the names of the file."""
    model, new = tmp_path / "m", tmp_path / "new.csv"
    est = SVDD().fit(np.random.default_rng(0).normal(size=(60, 2)))
    est.save(model)
    others = ["--id", "name", "--drop", "city"]
    result = call("score", model, folder / "t.csv", *others, code=1)
    assert (
        "2 columns without names, and here are 3, columns 'a', 'b', 'kind'"
        in result.output
    )
    new.write_text("a,b\n0.1,0.2\n,1.0\n0.1,9.0\n9.0,0.1\n")
    _, frame = scores(model, new, "--explain")
    assert frame["normal"].tolist()[2:] == [False, False]
    assert frame["column_1"].tolist()[2:] == ["b", "a"]
    rows = [[0.1, 9.0], [9.0, 0.1]]
    np.testing.assert_allclose(frame["surprise"][2:], -est.score_samples(rows))
    why = bsvdd.explain(est, rows).top_columns()
    np.testing.assert_allclose(frame.loc[2:, "share_1"], why["share_1"])


def test_reasons_of_the_abnormal_rows_hold_no_formula(folder, table, scores, tmp_path):
    """The name of a column, here of a formula, is text to a spreadsheet too."""
    path, model, names = (
        tmp_path / "t.csv",
        tmp_path / "m",
        {"a": "=cmd|' /C calc'!A0", "b": "@b"},
    )
    renamed = table.drop(columns="city").rename(columns=names)
    renamed.to_csv(path, index=False)
    call("fit", path, *COLUMNS[:-2], "--model", "SVDD", "--out", model)
    _, frame = scores(model, path, "--explain")
    why = bsvdd.explain(load(model), renamed[list(names.values())]).top_columns()
    abnormal = ~frame["normal"]
    assert abnormal.any() and not abnormal.all()
    four = ["column_1", "share_1", "column_2", "share_2"]
    assert frame.columns[-4:].tolist() == four
    assert frame.loc[~abnormal, "column_1"].isna().all()
    assert (frame["column_1"] == "'" + why["column_1"])[abnormal].all()
    np.testing.assert_allclose(
        frame.loc[abnormal, "share_2"], why.loc[abnormal, "share_2"]
    )
    _, frame = scores(
        folder / "BDD", folder / "t.csv", "--explain"
    )  # weights of both signs
    assert (frame["column_1"].notna() == ~frame["normal"]).all()


def test_columns_of_text_are_categories_and_others_can_be(table, scores, tmp_path):
    """'city' is left out elsewhere; 'code' has numbers, also in a file of new rows."""
    path, new, model = (tmp_path / name for name in ("t.csv", "n.csv", "m"))
    table.assign(code=["07", "7"] * 36).to_csv(path, index=False)
    options = [*KINDS, "--id", "name", "--category", "code"]
    result = call("fit", path, *options, "--model", "SVDD", "--out", model)
    assert (
        "columns 'a', 'b', 'city', 'code'; categories 'city', 'code'; label"
        in result.output
    )
    assert "categorical=(2, 3))" in result.output
    rows = table.head(4).assign(
        code=["7", "07", "7", "8"], city=["Rom", "Rom", None, "Lima"]
    )
    rows.to_csv(new, index=False)
    result, frame = scores(model, new, "--id", "name", "--explain")
    assert frame["filled"].tolist()[2] == "city"
    said = "1 of 4 rows has a category that no training row has, in 'city', 'code'"
    assert result.stderr.count(said) == 1
    rows = rows[["a", "b", "city", "code"]]
    with pytest.warns(DataWarning, match=said):
        load(model).decision(rows)
    expected = load(model).score_samples(rows.drop(index=2))
    np.testing.assert_allclose(frame["surprise"].drop(index=2), -expected)
    assert frame["column_1"][3] in ("city", "code") and not frame["normal"].tolist()[3]
    result = call("score", model, new, "--category", "a", code=1)
    assert "fitted to columns 'city', 'code' of" in result.output


def test_gaps_are_filled_and_a_row_without_a_label_is_refused(table, scores, tmp_path):
    path, model, rows = tmp_path / "t.csv", tmp_path / "m", table.copy()
    rows.loc[3:8, "a"], rows.loc[5, "city"], rows.loc[70, "kind"] = None, None, None
    rows.to_csv(path, index=False)
    fit = ["fit", path, *COLUMNS[:-2], "--model", "SVDD", "--out", model]
    assert "no label in row 70" in call(*fit, code=1).output
    rows.loc[70, "kind"] = "odd"
    rows.to_csv(path, index=False)
    result = call(*fit)
    assert (
        "6 of 72 rows have missing values, in 'a' (6), 'city' (1), filled by the near"
        in result.output
    )

    rows.loc[9, ["a", "b", "city"]], rows.loc[10, "b"] = None, None
    rows.to_csv(path, index=False)
    _, frame = scores(model, path, "--id", "name")
    of_a = dict.fromkeys((3, 4, 6, 7, 8), "a")
    frame = frame.set_index(frame.pop("name").astype(int))
    assert frame["filled"].dropna().to_dict() == of_a | {5: "a, city", 10: "b"}
    assert 9 not in frame.index and len(frame) == 71  # a row without any value
    with pytest.warns(DataWarning, match="1 of 1 rows has missing values"):
        expected = -load(model).score_samples(rows.loc[[3], ["a", "b", "city"]])
    np.testing.assert_allclose(frame["surprise"][3], expected, rtol=1e-6)


def test_a_closed_pipe_ends_quietly(folder):
    """As in ``bsvdd score ... | head -1``."""
    command = [sys.executable, "-c", "from bsvdd.cli import main; main()", "score"]
    files, pipe = [folder / "BDD", folder / "t.csv"], subprocess.PIPE
    with subprocess.Popen(
        [*command, *files], stdout=pipe, stderr=pipe, text=True
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=60)
    said = "Warning: 72 of 72 rows equal one training row each, and are answered "
    assert errors.startswith(said) and errors.count("\n") == 1


def test_parameters_of_the_model_and_the_cutoff(folder, tmp_path):
    options = [
        "--prior",
        "InverseRowSum(sd=0.4)",
        "--dictionary",
        20,
        "--false-alarm-rate",
        "0.2",
    ]
    out = ["--out", tmp_path / "m", "--report", tmp_path / "r.html"]
    call("fit", folder / "t.csv", *COLUMNS, "--model", "BSVDD", *options, *out)
    est = load(tmp_path / "m")
    assert est.prior == priors.InverseRowSum(sd=0.4) and len(est.gram_.K) == 20
    assert est.cutoff == cutoffs.FalseAlarm(0.2)


def test_what_fit_says_of_classes_and_columns(folder, table, tmp_path):
    """Warnings are sentences without a path."""
    path, out = tmp_path / "t.csv", ["--model", "SVDD", "--out", tmp_path / "m"]
    result = call(
        "fit",
        folder / "t.csv",
        "--id",
        "name",
        "--drop",
        "city",
        "--drop",
        "kind",
        *out,
    )
    assert "72 rows; columns 'a', 'b'; id name" in result.output
    result = call("fit", folder / "t.csv", "--id", "name", "--drop", "city", *out)
    assert "column 'kind' has two values, and no label is named" in result.stderr
    assert "72 rows; columns 'a', 'b', 'kind'; categories" in result.output
    larger = ["--label", "kind", "--minor", "normal", *COLUMNS[4:]]
    said = "minority rows (the minority is the larger class: check --minor); columns"
    assert said in call("fit", folder / "t.csv", *larger, *out).output
    table.assign(nr=range(72), name="u").to_csv(path, index=False)
    output = call("fit", path, *COLUMNS, *out).output
    warned = [line for line in output.splitlines() if "Warning" in line]
    assert len(warned) == 2 and all(line.startswith("Warning: ") for line in warned)
    assert "several rows have the id 'u' in 'name'" in warned[0]
    assert "left out; --keep 'nr' makes it a feature, --id 'nr' names the" in warned[1]


def test_a_code_among_categories_is_no_gap(table, scores, tmp_path):
    path, model, rows = tmp_path / "t.csv", tmp_path / "m", table.copy()
    rows["city"] = np.resize(["DE", "FR", "IT", "US", "SE", "NA"], len(rows))
    rows.loc[[4, 5], "city"], rows.loc[5, "a"] = "", None
    rows.to_csv(path, index=False)
    fit = ["fit", path, *COLUMNS[:-2], "--model", "SVDD", "--out", model]
    result = call(*fit)
    assert (
        "'NA' in 11 rows is read as missing; if it is a category, --cat"
        in result.output
    )
    result = call(*fit, "--category", "city")
    assert (
        "2 of 72 rows have missing values, in 'a' (1), 'city' (2), filled by the near"
        in result.output
    )
    rows.iloc[3:7].to_csv(path, index=False)  # the model knows that NA is one
    result, frame = scores(model, path, "--id", "name", "--explain")
    assert frame["filled"].dropna().tolist() == ["city", "a, city"] and len(frame) == 4
    assert result.stderr.count("have missing values, in") == 1


def test_what_the_cells_do_not_say_is_kept_with_the_model(table, scores, tmp_path):
    """Codes for 'not known' and periods, and a column that has moved since the fit."""
    path, model, rows = tmp_path / "t.csv", tmp_path / "m", table.copy()
    rows["hour"], rows["day"] = np.arange(72) % 3 - 1, np.arange(72) % 28
    rows["hour"] %= 24
    rows.loc[::9, "a"] = -999
    rows.to_csv(path, index=False)
    fit = ["fit", path, *COLUMNS, "--model", "SVDD", "--out", model]
    result = call(*fit)
    assert "column 'a' has -999 in 8 rows, alone beyond the others" in result.stderr
    result = call(*fit, "--missing", "-999", "--cyclic", "hour=24")
    assert (
        "8 of 72 rows have missing values, in 'a' (8)" in result.stderr
        and "-999" not in result.stderr
    )
    rows["hour"], rows["day"] = 23.5, np.arange(72) + 28
    rows.to_csv(path, index=False)
    result, frame = scores(model, path)
    assert frame["filled"].notna().sum() == 8
    moved = "72 rows lie beyond the training rows in column 'day': if it counts"
    assert result.stderr.count(f"all {moved}") == 1
    assert "a date does, fit without it, --drop 'day'" in result.stderr
    with pytest.warns(DataWarning, match=r"X = X\.drop\(columns='day'\)"):
        load(model).decision(rows[list(load(model).table_.kinds)])
    rows["day"] -= 10
    rows.to_csv(path, index=False)
    assert f"most of the {moved}" in scores(model, path)[0].stderr


def test_rows_of_known_groups_are_scored_by_their_own_centre(tmp_path):
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(20), 5)
    x = 5.0 * rng.normal(size=(20, 2))[of] + rng.normal(size=(100, 2))
    visits = pd.DataFrame(x, columns=["a", "b"]).assign(patient=of)
    new = visits.iloc[[0, 5, 10]].copy()
    new["a"] += [0.0, 9.0, 0.0]
    new.loc[10, "patient"] = 99
    visits.to_csv(tmp_path / "visits.csv", index=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    model = tmp_path / "model.safetensors"
    how = ("--group", "patient", "--group-centres", "--out", model)
    said = call("fit", tmp_path / "visits.csv", *how).output
    assert "each group has its own centre" in said
    out = tmp_path / "out.csv"
    call("score", model, tmp_path / "new.csv", "--explain", "--out", out)
    found = pd.read_csv(out)
    assert found["own"].tolist() == ["5 earlier rows"] * 2 + ["new patient"]
    assert not found["normal"][1]
    assert "its 5 rows: " in found["reason"][1]
    said = call("score", model, tmp_path / "new.csv").stderr
    assert "1 of 3 rows have a 'patient' without rows that count in the fit" in said
    new.assign(patient=[None, 1, 2]).to_csv(tmp_path / "none.csv", index=False)
    refused = call("score", model, tmp_path / "none.csv", code=1)
    assert "line 2 has no 'patient'" in refused.output
    new.drop(columns="patient").to_csv(tmp_path / "none.csv", index=False)
    call("score", model, tmp_path / "none.csv", "--explain", "--out", out)
    other = pd.read_csv(out)
    assert (other["own"] == "new patient").all() and "reason" in other
    call("score", model, tmp_path / "new.csv", "--id", "patient", "--out", out)
    assert pd.read_csv(out)["surprise"].tolist() == found["surprise"].tolist()
    refused = call("fit", tmp_path / "visits.csv", "--group-centres", code=2)
    assert "give --group COLUMN" in refused.output


def test_a_model_reads_its_columns_as_it_was_fitted(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"hour": rng.integers(0, 24, 60), "a": rng.normal(size=60)})
    X["size"] = rng.choice(["s", "m", "l"], 60)
    path, model = tmp_path / "t.csv", tmp_path / "m"
    X.to_csv(path, index=False)
    own = ["--cyclic", "hour=24", "--order", "size=s<m<l"]
    call("fit", path, *own, "--model", "SVDD", "--out", model)
    new = tmp_path / "new.csv"
    (X[:5] + X[:5].replace({"size": ".*"}, "", regex=True)).to_csv(new, index=False)
    plain = call("score", model, new).stdout
    assert call("score", model, new, *own).stdout == plain
    for other in (
        ["--cyclic", "a=3"],
        ["--cyclic", "hour=12"],
        ["--order", "size=l<m<s"],
    ):
        said = call("score", model, new, *other, code=1).stderr
        assert "the model reads its columns as it was fitted" in said
