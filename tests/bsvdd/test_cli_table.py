"""One's own table on the command line: ids, columns, signs, gaps, parameters of models."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.run.cell import Cell
from bsvdd.comparison.scenarios import datasets
from bsvdd.inference.cutoff import Cutoff
from click.testing import CliRunner

from bsvdd import load, priors
from bsvdd.cli import main

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("default::bsvdd.inference.warning.DataWarning"),
]
COLUMNS = ["--label", "kind", "--minor", "odd", "--id", "name", "--drop", "city"]


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def table():
    data = datasets.moon(n0=60, n1=12)
    frame = pd.DataFrame(data.X, columns=["a", "b"]).round(3)
    frame.insert(0, "name", [f"{i:03d}" for i in range(72)])
    frame["city"] = ["Bonn", "Rom", "Oslo"] * 24
    frame["kind"] = np.where(data.minority, "odd", "normal")
    return frame


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
        result = call("fit", folder / "t.csv", *COLUMNS, "--model", model, "--out", folder / model)
        assert result.exit_code == 0, result.output
        assert "; columns 'a', 'b'; label kind; id name; dropped 'city'\n" in result.output
    return folder


def scores(*arguments, read=None):
    result = call("score", *arguments)
    assert result.exit_code == 0, result.output
    return result, pd.read_csv(arguments[-1], dtype={"name": str}, **(read or {}))


@pytest.mark.parametrize("model", ["BDD", "SVDD"])
def test_ids_and_the_decision_are_in_the_result(folder, table, tmp_path, model):
    _, frame = scores(folder / model, folder / "t.csv", "--id", "name", "--out", tmp_path / "s")
    assert list(frame.columns[:2]) == ["name", "row"]
    assert frame["name"].tolist() == table["name"].tolist()  # 007 stays 007
    assert frame["row"].tolist() == list(range(72))
    expected = load(folder / model).decision(table[["a", "b"]])
    assert list(frame.columns[2:-1]) == list(expected)
    pd.testing.assert_frame_equal(expected, frame[list(expected)], rtol=1e-6, atol=1e-9)
    assert (frame["surprise_low"] < frame["surprise_high"]).all()
    assert frame["problem"].isna().all()


def test_rows_that_cannot_be_scored_are_marked_and_counted(folder, table, tmp_path):
    out = tmp_path / "s.csv"
    result, frame = scores(
        folder / "BDD", folder / "gaps.csv", "--id", "name", "--fdr", "0.2", "--out", out
    )
    assert "69 rows scored" in result.output
    assert "3 of 72 rows not scored, the first is row 2 (counted from 0): 'a' is missing" in (
        result.output
    )
    problems = frame["problem"].dropna()
    assert problems.to_dict() == {2: "'a' is missing", 4: "'b' is 'n/a?'", 5: "'a' is 'inf'"}
    good = frame["problem"].isna()
    numbers = frame.drop(columns=["name", "row", "problem"])
    assert numbers[~good].isna().all(axis=None) and numbers[good].notna().all(axis=None)
    est, X = load(folder / "BDD"), table.loc[good, ["a", "b"]]
    np.testing.assert_allclose(frame["distance"][good], est.decision(X)["distance"], rtol=1e-6)
    assert (frame["selected"][good].astype(bool) == est.select(X, 0.2)).all()


def test_strict_stops_at_such_a_row_and_writes_nothing(folder, tmp_path):
    out = tmp_path / "s.csv"
    result = call("score", folder / "BDD", folder / "gaps.csv", "--strict", "--out", out)
    assert result.exit_code == 1 and not out.exists()
    assert "gaps.csv: 3 of 72 rows cannot be scored, the first is row 2" in result.output


def test_a_table_with_other_signs_has_the_same_scores(folder, tmp_path):
    signs = ["--sep", ";", "--decimal", ","]
    model = tmp_path / "m.nc"
    result = call("fit", folder / "g.csv", *COLUMNS, *signs, "--model", "SVDD", "--out", model)
    assert result.exit_code == 0, result.output
    _, german = scores(
        model, folder / "g.csv", *signs, "--out", tmp_path / "g", read={"sep": ";", "decimal": ","}
    )
    _, plain = scores(folder / "SVDD", folder / "t.csv", "--out", tmp_path / "t")
    pd.testing.assert_frame_equal(german, plain)
    result = call("score", model, folder / "g.csv", "--sep", ";")
    assert result.exit_code == 1
    assert "72 of 72 rows cannot be scored" in result.output
    assert "is ',' the decimal sign, --decimal ','?" in result.output


def test_the_columns_of_the_file_are_written_as_they_are(folder, table, tmp_path):
    path = tmp_path / "t.csv"
    table.assign(surprise="01.50", row="x").to_csv(path, index=False)
    out = tmp_path / "s.csv"
    options = ["--id", "name", "--drop", "kind", "--input-columns"]
    result = call("score", folder / "SVDD", path, *options, "--out", out)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(out, dtype=str)
    own = ["a", "b", "city", "input_surprise", "input_row"]
    assert list(frame.columns[:7]) == ["name", "row", *own]
    assert frame["input_surprise"].tolist() == ["01.50"] * 72
    assert frame["a"].tolist() == pd.read_csv(path, dtype=str)["a"].tolist()
    table.assign(surprise=1, input_surprise=2).to_csv(path, index=False)
    result = call("score", folder / "SVDD", path, *options, "--out", out)
    assert result.exit_code == 1 and "'input_surprise' is there too; rename" in result.output


def test_an_id_with_a_name_of_the_result_is_told_from_it(folder, table, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "s.csv"
    table.rename(columns={"name": "row"}).to_csv(path, index=False)
    result = call("score", folder / "SVDD", path, "--id", "row", "--out", out)
    assert result.exit_code == 0, result.output
    assert list(pd.read_csv(out).columns[:2]) == ["input_row", "row"]


def test_score_names_columns_that_the_model_needs(folder):
    result = call("score", folder / "SVDD", folder / "t.csv", "--drop", "b")
    assert result.exit_code == 1
    assert "--drop 'b': the model was fitted to this column" in result.output
    result = call("score", folder / "SVDD", folder / "t.csv", "--id", "nme")
    assert result.exit_code == 1 and "did you mean 'name'?" in result.output


def test_a_fit_to_rows_without_names_takes_all_columns(folder, table, tmp_path):
    from bsvdd import SVDD

    est = SVDD().fit(table[["a", "b"]].to_numpy())
    est.save(tmp_path / "m.nc")
    others = ["--id", "name", "--drop", "city"]
    result = call("score", tmp_path / "m.nc", folder / "t.csv", *others)
    assert result.exit_code == 1
    assert "2 columns without names, and here are 3, columns 'a', 'b', 'kind'" in result.output
    out = tmp_path / "s.csv"
    _, frame = scores(tmp_path / "m.nc", folder / "t.csv", *others, "--drop", "kind", "--out", out)
    scored = est.score_samples(table[["a", "b"]].to_numpy())
    np.testing.assert_allclose(frame["surprise"], -scored)


def test_columns_of_text_are_categories_and_others_can_be(folder, table, tmp_path):
    """'city' is left out elsewhere; 'code' has numbers, and a file of new rows has no others."""
    path, new, model, out = (tmp_path / name for name in ("t.csv", "n.csv", "m.nc", "s.csv"))
    table.assign(code=["07", "7"] * 36).to_csv(path, index=False)
    options = ["--label", "kind", "--minor", "odd", "--id", "name", "--category", "code"]
    result = call("fit", path, *options, "--model", "SVDD", "--out", model)
    assert result.exit_code == 0, result.output
    assert "columns 'a', 'b', 'city', 'code'; categories 'city', 'code'; label" in result.output
    assert "categorical=(2, 3))" in result.output
    rows = table.head(4).assign(code=["7", "07", "7", "8"], city=["Rom", "Rom", None, "Lima"])
    rows.to_csv(new, index=False)
    result, frame = scores(model, new, "--id", "name", "--explain", "--out", out)
    assert frame["problem"].tolist()[2] == "'city' is missing"
    assert "1 of 3 rows have a category that no training row has, in 'city', 'code'" in (
        result.output
    )
    est = load(model)
    columns = ["a", "b", "city", "code"]
    expected = -est.score_samples(rows[columns].drop(index=2))
    np.testing.assert_allclose(frame["surprise"].dropna(), expected)
    assert frame["column_1"][3] in ("city", "code") and not frame["normal"].tolist()[3]
    result = call("score", model, new, "--category", "a")
    assert result.exit_code == 1 and "fitted to columns 'city', 'code' of" in result.output


@pytest.mark.slow
def test_compare_takes_categories(folder, tmp_path, monkeypatch):
    from bsvdd.comparison import report

    monkeypatch.setattr(report, "pictures", lambda *_: {})
    options = ["--model", "SVDD", "--model", "LS-SVM", "--model", "kNN", "--replicates", 1]
    result = call("compare", folder / "t.csv", *COLUMNS[:-2], *options, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("column 'city' is a category: kernels.Tabular(rho=0.01)")
    chosen = pd.read_csv(tmp_path / "results.csv")["chosen"].dropna()
    assert len(chosen) == 3 and chosen.str.startswith("kernel=Tabular(").all()


def test_rows_without_a_label_by_the_prior_that_takes_them(table, tmp_path):
    path, model, full = tmp_path / "t.csv", tmp_path / "m.nc", tmp_path / "full.csv"
    rows, gap = table.copy(), np.arange(72) % 6 == 1
    rows.loc[gap, "kind"] = None
    rows.to_csv(path, index=False)
    rows[~gap].to_csv(full, index=False)
    fit = ["fit", path, *COLUMNS, "--model", "BDD", "--out", model, "--prior"]
    result = call(*fit, "GraphLaplacian(sd=0.5)")
    assert result.exit_code == 0, result.output
    assert "49 majority and 11 minority rows; 12 unlabelled rows; columns" in result.output
    est = load(model)
    by_hand = tmp_path / "by_hand.nc"
    unlabelled = tuple(map(tuple, table.loc[gap, ["a", "b"]].to_numpy().tolist()))
    prior = f"GraphLaplacian(sd=0.5, unlabelled={unlabelled})"
    result = call("fit", full, *COLUMNS, "--model", "BDD", "--out", by_hand, "--prior", prior)
    assert result.exit_code == 0, result.output
    X = table[["a", "b"]]
    np.testing.assert_array_equal(est.score_samples(X), load(by_hand).score_samples(X))
    assert est.cutoff_ == load(by_hand).cutoff_
    # the other policies, another prior, and labels that are numbers
    assert call(*fit, "GraphLaplacian", "--missing", "drop").exit_code == 0
    assert load(model).gram_.unlabelled is None
    result = call(*fit, "Flat")
    assert result.exit_code == 1 and "--prior GraphLaplacian" in result.output
    rows.loc[0, "a"] = None
    for labels in ({"odd": 1, "normal": 0}, {"odd": True, "normal": False}):
        rows.assign(kind=rows["kind"].map(labels, na_action="ignore")).to_csv(path, index=False)
        for minor in ([], ["--minor", str(labels["odd"])]):
            named = ["--label", "kind", *minor, *COLUMNS[4:], "--missing", "impute"]
            result = call("fit", path, *named, *fit[10:], "GraphLaplacian")
            assert "12 unlabelled rows" in result.output, result.output


def test_missing_values_by_each_policy(folder, table, tmp_path):
    path, model, out = tmp_path / "t.csv", tmp_path / "m.nc", tmp_path / "s.csv"
    rows = table.assign(city=table["city"])
    rows.loc[3:8, "a"], rows.loc[5, "city"], rows.loc[70, "kind"] = None, None, None
    rows.to_csv(path, index=False)
    fit = ["fit", path, *COLUMNS[:-2], "--model", "SVDD", "--out", model]
    result = call(*fit)
    assert result.exit_code == 1 and "--missing drop" in result.output
    result = call(*fit, "--missing", "drop")
    assert result.exit_code == 0, result.output
    assert "7 of 72 rows have gaps and are left out" in result.output
    result = call(*fit, "--missing", "impute")
    assert result.exit_code == 1 and "no label in row 70" in result.output
    rows.loc[70, "kind"] = "odd"
    rows.to_csv(path, index=False)
    result = call(*fit, "--missing", "impute")
    assert result.exit_code == 0, result.output
    assert "6 of 72 rows have gaps (7 values), filled by" in result.output

    median = rows["a"][rows["kind"] == "normal"].median()
    rows.loc[9, ["a", "b", "city"]], rows.loc[10, "b"] = None, None
    rows.to_csv(path, index=False)
    score = [model, path, "--id", "name"]
    result, frame = scores(*score, "--missing", "impute", "--out", out)
    assert frame["imputed"].dropna().to_dict() == {
        **dict.fromkeys((3, 4, 6, 7, 8), "'a'"),
        5: "'a', 'city'",
        10: "'b'",
    }
    assert frame["problem"].dropna().index.tolist() == [9]  # a row without any value
    like = table.loc[[3], ["a", "b", "city"]].assign(a=median)
    expected = -load(model).score_samples(like)
    np.testing.assert_allclose(frame["surprise"][3], expected, rtol=1e-6)
    result, frame = scores(*score, "--missing", "drop", "--out", out)
    assert frame["problem"].notna().sum() == 8
    assert call("score", *score, "--missing", "error").exit_code == 1
    assert call("score", *score, "--missing", "drop", "--strict").exit_code == 2


def test_a_closed_pipe_ends_quietly(folder):
    """As in ``bsvdd score ... | head -1``."""
    command = [sys.executable, "-c", "from bsvdd.cli import main; main()", "score"]
    with subprocess.Popen(
        [*command, folder / "BDD", folder / "t.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=60)
    assert errors == ""


def test_parameters_of_the_model_and_the_cutoff(folder, tmp_path):
    model = tmp_path / "m.nc"
    options = ["--prior", "InverseRowSum(sd=0.4)", "--dictionary", 20, "--false-alarm-rate", "0.2"]
    result = call("fit", folder / "t.csv", *COLUMNS, "--model", "BSVDD", *options, "--out", model)
    assert result.exit_code == 0, result.output
    est = load(model)
    assert est.prior == priors.InverseRowSum(sd=0.4)
    assert est.gram_.n_points == 20
    assert est.cutoff == Cutoff("false_alarm", false_alarm_rate=0.2)


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("fit", ["--model", "SVDD", "--prior", "Flat"], "'SVDD' has no --prior; it is for 'BDD'"),
        ("fit", ["--prior", "Falt"], "--prior: 'Falt' is no prior .*did you mean 'Flat'"),
        ("fit", ["--model", "BSVDD-M", "--minority-prior", "Flat"], "--minority-prior: 'Flat' is"),
        ("fit", ["--dictionary", 61], "61 landmarks cannot be chosen from 60 rows"),
        ("fit", ["--false-alarm-rate", 1], "false_alarm_rate must lie between 0 and 1"),
        ("fit", ["--sep", ";;"], "sep must be one character"),
        ("fit", ["--sep", ";"], "name the separator: --sep ','"),
        ("fit", ["--drop", "kind"], "--label and --drop both name the column 'kind'"),
        ("fit", ["--drop", "nope"], r"column 'nope' \(--drop\) is not in the table; it has"),
        ("compare", ["--model", "SVDD", "--dictionary", 5], "'SVDD' has no --dictionary"),
        (
            "compare",
            ["--model", "BSVDD", "--dictionary", 31],
            "nothing was fitted: 'BSVDD' on t: dictionary: 31 landmarks .* from 30 rows",
        ),
        (
            "compare",
            ["--false-alarm-rate", "0.001"],
            "nothing was fitted: 'SVDD', .*needs at least 999 left-out majority rows, got 30",
        ),
        ("compare", ["--published", "--prior", "Flat"], "--published .* without --prior"),
    ],
)
def test_bad_options_are_one_line_before_the_first_fit(
    command, options, message, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))
    result = call(command, folder / "t.csv", *COLUMNS, *options)
    assert result.exit_code in (1, 2), result.output
    assert re.search(message, result.output), result.output
    assert not list(tmp_path.iterdir())


def test_options_of_a_table_need_a_table():
    result = call("compare", "--id", "x", "--sep", ";")
    assert result.exit_code == 2
    assert "no CSV file is given, which is needed for --id and --sep" in result.output


def test_warnings_are_sentences_without_a_path(folder, table, tmp_path):
    path = tmp_path / "t.csv"
    table.assign(nr=range(72), name="u").to_csv(path, index=False)
    result = call("fit", path, *COLUMNS, "--model", "SVDD", "--out", tmp_path / "m.nc")
    assert result.exit_code == 0, result.output
    warned = [line for line in result.output.splitlines() if "Warning" in line]
    assert len(warned) == 2 and all(line.startswith("Warning: ") for line in warned)
    assert "'u' names rows 0 and 1 (counted from 0), and 72 of 72 rows share" in warned[0]
    assert "--id 'nr', or leave it out by --drop 'nr'" in warned[1]


@pytest.mark.slow
def test_compare_says_its_plan_and_each_fit_and_reports_columns(folder, tmp_path, monkeypatch):
    from bsvdd.comparison import report

    monkeypatch.setattr(report, "pictures", lambda *_: {})
    out = tmp_path / "r"
    models = ["--model", "SVDD", "--model", "BSVDD", "--dictionary", 20, "--draws", 100]
    result = call(
        "compare",
        folder / "t.csv",
        *COLUMNS,
        *models,
        "--replicates",
        2,
        "--tune",
        50,
        "--out",
        out,
    )
    assert result.exit_code == 0, result.output
    # a busy machine also has lines of the time so far
    lines = [line for line in result.stderr.splitlines() if ": running, " not in line]
    assert lines[0] == "parameters: dictionary=20 of 'BSVDD'"
    size = "t (72 rows, 2 columns, 12 minority)"
    assert lines[1] == f"plan: 4 fits of 2 models on {size}, 2 random halves each"
    assert [line.partition(": t, ")[0] for line in lines[2:6]] == [
        f"fits {i}/4" for i in range(1, 5)
    ]
    assert "fits" not in result.stdout and "base rate" in result.stdout
    page = Path(out / "report.html").read_text()
    for words in (
        "column &#39;city&#39; left out",
        "&#39;name&#39; names the rows",
        "dictionary=20",
    ):
        assert words in page


def test_models_that_cannot_take_the_rows_are_left_out_before_the_first_fit(
    folder, tmp_path, monkeypatch
):
    """MAX_POINTS stands for a table that is too large: Bayesian models take landmarks."""
    monkeypatch.setattr("bsvdd.estimators.training.MAX_POINTS", 20)
    monkeypatch.setattr("bsvdd.estimators.bayesian.MANY_POINTS", 20)
    monkeypatch.setattr("bsvdd.estimators.bayesian.AUTO_LANDMARKS", 10)
    ran = []

    def run(self):
        ran.append(self.candidate.name)
        raise KeyboardInterrupt

    monkeypatch.setattr(Cell, "run", run)
    options = ["--jobs", 1, "--out", tmp_path / "r"]
    result = call("compare", folder / "t.csv", *COLUMNS, *options)
    assert ran == ["BDD"]
    assert "left out: 'SVDD', 'OCSVM' on t: the kernel matrix of 30 rows" in result.output
    assert "left out: 'LS-SVM', 'IDLSSVM-CIL', 'KDE' on t: 36 rows train" in result.output
    assert "plan: 45 fits of 9 models on t" in result.output
    result = call("compare", folder / "t.csv", *COLUMNS, "--model", "SVDD", *options)
    assert result.exit_code == 1 and ran == ["BDD"]
    assert "nothing was fitted: 'SVDD' on t: the kernel matrix of 30 rows" in result.output
