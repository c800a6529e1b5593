"""The command line, called as a user calls it."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.run import runner
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.registry import REGISTRY, YARDSTICKS
from click.testing import CliRunner
from rich.console import Console

from bsvdd import SVDD
from bsvdd.cli import main
from bsvdd.cli.compare import print_results

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    """A file with columns a, b and the classes 'normal' and 'odd'."""
    data = datasets.moon(n0=60, n1=12)
    frame = pd.DataFrame(data.X, columns=["a", "b"])
    frame["kind"] = np.where(data.minority, "odd", "normal")
    path = tmp_path_factory.mktemp("csv") / "moon.csv"
    frame.to_csv(path, index=False)
    return path


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.mark.slow
def test_compare_a_csv_prints_a_table_and_writes_a_self_contained_report(csv, tmp_path):
    out = tmp_path / "report [bold]"
    few = ["--jobs", 1, "--replicates", 2, "--draws", 100, "--tune", 100]
    result = call("compare", csv, "--label", "kind", "--minor", "odd", "--out", out, *few)
    assert result.exit_code == 0, result.output
    for name in ["SVDD", "BDD", "BSVDD", "BSVDD-M", "flag all", "flag none", "base rate 0.167"]:
        assert name in result.output
    assert f"report: {out / 'report.html'}" in result.output
    pictures = [
        *("boundary.png", "calibration.png", "distance_posterior.png"),
        *("distances.png", "weights.png"),
        *("differences_1.png", "distances_1.png", "roc_1.png"),
    ]
    assert sorted(p.name for p in out.iterdir()) == sorted(
        [*pictures, "report.html", "results.csv"]
    )
    page = (out / "report.html").read_text()
    assert page.count("data:image/png;base64,") == len(pictures)
    assert not re.search(r'(src|href)="(?!data:)', page)  # nothing is fetched
    assert len(pd.read_csv(out / "results.csv")) == 2 * (len(runner.DEFAULT_MODELS) + 2)


def test_compare_as_published(csv, tmp_path, monkeypatch):
    """Each model by its source; the draws that are given replace ours."""
    from bsvdd.comparison import report

    asked = []
    monkeypatch.setattr(report, "pictures", lambda *a: asked.append(a) or {})
    out = tmp_path / "report"
    some = ["--model", "SVDD", "--model", "BDD", "--model", "BSVDD", "--replicates", 1, "--jobs", 1]
    numbers = ["--draws", 50, "--tune", 50]
    file = [csv, "--label", "kind", "--minor", "odd", "--out", out]
    result = call("compare", *file, "--published", *some, *numbers)
    assert result.exit_code == 0, result.output
    page = (out / "report.html").read_text()
    for words in ("random-walk Metropolis", "slide 12", "our choice", "as its"):
        assert words in page
    pictured = {c.name: c.parameters for c in asked[0][2]}
    assert pictured["BSVDD"]["sampler"] == "metropolis" and "draws" not in pictured["BSVDD"]
    assert pictured["BSVDD"]["chains"] == 2
    results = pd.read_csv(out / "results.csv").set_index("model")
    assert results.loc["BDD", "r_hat"] != results.loc["BDD", "r_hat"]  # one estimate
    result = call("compare", *file, "--published", "--model", "SVM")
    assert result.exit_code == 1 and "SVM is here for comparison" in result.output


def test_models_shows_learning_and_parameters_of_each(monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    result = call("models")
    assert result.exit_code == 0, result.output
    lines = {line.split()[0]: line for line in result.output.splitlines() if line[0] != " "}
    assert list(lines)[1:-2] == list(REGISTRY)
    assert all(f"{name} (" in lines["yardsticks,"] for name in YARDSTICKS)
    assert "majority, minority, unlabelled" in lines["BDD-M"]
    assert "minority_prior" in lines["BDD-M"]
    assert "nu " in lines["OCSVM"]
    assert "kernel, cutoff" in lines["parameters"]


def test_models_are_read_at_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("models").output.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) < 70
    for record in REGISTRY.values():
        (start,) = [i for i, line in enumerate(lines) if line.startswith(f"{record.name} ")]
        block = "".join(line.strip() for line in lines[start : start + 6])
        assert f"{record.class_name}; learns from" in block
        assert all(parameter in block for parameter in record.own)


@pytest.mark.parametrize(("command", "part"), [("models", "doi:10.1023/B:MACH"), ("data", "UCI")])
def test_in_a_pipe_a_record_is_one_line(monkeypatch, command, part):
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = call(command).output.splitlines()
    name = {"models": "SVDD ", "data": "breast_original "}[command]
    (line,) = [each for each in lines if each.startswith(name)]
    assert part in line


@pytest.mark.parametrize("width", [80, 120])
def test_the_printed_table_has_the_best_model_first_and_what_tells_it_apart(width):
    values = {"LOF": 0.6, "isolation forest": 0.91, "robust Gaussian": 0.9, "BDD-M": 0.9}
    rows = [
        {"data": "moon", "model": m, "replicate": r, "auc": v + 0.01 * r, "g_mean": v, "f1": v}
        | {"fpr": 0.1, "fnr": 0.2 + r * (m == "LOF"), "fit_seconds": 12.3456, "error": ""}
        for m, v in [*values.items(), ("flag all", 0.95)]
        for r in range(3)
    ]
    console = Console(width=width, file=io.StringIO())
    print_results(console, pd.DataFrame(rows), [datasets.moon()])
    lines = console.file.getvalue().splitlines()
    assert "…" not in "".join(lines) and max(map(len, lines)) <= width
    cells = [re.split(r"  +", line.strip()) for line in lines]
    named = [each for each in cells if each[0] in [*values, "flag all"]]
    assert [each[0] for each in named] == [
        *("isolation forest", "robust Gaussian", "BDD-M", "LOF", "flag all")
    ]
    assert named[0][1:] == ["0.920", "0.910", "0.910", "0.100", "0.200", "12.346"]
    assert named[1][2] == "-0.010 ± 0.000" and named[3][2] == "-0.310 ± 0.000"
    text = " ".join(" ".join(lines).split())
    assert "By AUC, isolation forest is best: 0.920 on average over 3 halves. It is told" in text
    assert "isolation forest, robust Gaussian and BDD-M decide alike." in text


def test_fit_then_score_gives_the_probabilities_of_the_estimator(csv, tmp_path):
    model, scored = tmp_path / "m.nc", tmp_path / "p.csv"
    result = call("fit", csv, "--label", "kind", "--minor", "odd", "--model", "BDD", "--out", model)
    assert result.exit_code == 0, result.output
    assert "Tabular(RBF(" in result.output and "criterion='likelihood'" in result.output
    n1 = int((pd.read_csv(csv)["kind"] == "odd").sum())
    n0 = len(pd.read_csv(csv)) - n1
    assert f"{n0} majority and {n1} minority rows; columns 'a', 'b'; label kind\n" in result.output
    result = call("score", model, csv, "--out", scored)  # the label column is no feature
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(scored)
    from bsvdd import load

    est, X = load(model), pd.read_csv(csv)[["a", "b"]]
    np.testing.assert_allclose(frame["probability_normal"], est.probability_normal(X))
    assert (frame["normal"] == (est.predict(X) == 1)).all()
    assert (frame["normal"] == (frame["distance"] <= frame["cutoff"])).all()
    np.testing.assert_allclose(frame["surprise"], -est.score_samples(X))
    np.testing.assert_allclose(frame["p_value"], est.p_value(X))
    printed = call("score", model, csv)
    numbers = "p_value,probability_normal,surprise,surprise_low,surprise_high"
    header = f"row,{numbers},normal,distance,cutoff,level,problem"
    assert printed.output.splitlines()[0] == header
    result = call("score", model, csv, "--out", scored, "--fdr", "0.2", "--p-value", "split")
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(scored)
    np.testing.assert_array_equal(frame["selected"], est.select(X, 0.2, "split"))
    assert f"{int(frame['selected'].sum())} selected" in result.output
    for wrong in ("0", "1", "-0.5"):
        result = call("score", model, csv, "--fdr", wrong)
        assert result.exit_code != 0
        assert "fdr must lie between 0 and 1" in result.output


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_score_watches_the_rows_as_a_stream(tmp_path, shift):
    """A row with a gap is not of the stream; the row of the alarm is that of the file."""
    rng, names = np.random.default_rng(4), ["a", "b"]
    rows, new = rng.normal(size=(150, 2)), rng.normal(size=(90, 2))
    new[40:] += shift
    new[3, 1] = np.nan
    SVDD().fit(pd.DataFrame(rows, columns=names)).save(tmp_path / "m.safetensors")
    pd.DataFrame(new, columns=names).to_csv(tmp_path / "new.csv", index=False)
    result = call("score", tmp_path / "m.safetensors", tmp_path / "new.csv", "--watch")
    assert result.exit_code == 0, result.output
    (line,) = (each for each in result.stderr.splitlines() if each.startswith("89 rows: "))
    monitor = SVDD().fit(rows).monitor()
    monitor.update(np.delete(new, 3, axis=0))
    assert (monitor.alarm is not None) == (shift > 0)
    assert ("no alarm" in line) if not shift else (f"told at row {monitor.alarm + 1} (" in line)


def test_score_explains_the_abnormal_rows(csv, tmp_path):
    model, scored = tmp_path / "m.nc", tmp_path / "p.csv"
    call("fit", csv, "--label", "kind", "--minor", "odd", "--model", "SVDD", "--out", model)
    result = call("score", model, csv, "--out", scored, "--explain")
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(scored)
    from bsvdd import load

    why = load(model).explain(pd.read_csv(csv)[["a", "b"]], changes=False).top_columns()
    abnormal = ~frame["normal"]
    assert abnormal.any() and not abnormal.all()
    names = ["column_1", "share_1", "column_2", "share_2", "problem"]
    assert frame.columns[-5:].tolist() == names
    assert frame.loc[~abnormal, "column_1"].isna().all()
    assert (frame["column_1"] == why["column_1"])[abnormal].all()
    np.testing.assert_allclose(frame.loc[abnormal, "share_2"], why.loc[abnormal, "share_2"])
    call("fit", csv, "--label", "kind", "--minor", "odd", "--model", "BDD", "--out", model)
    result = call("score", model, csv, "--explain")
    assert result.exit_code != 0
    assert "no exact shares of columns" in result.output


def test_an_explanation_of_a_model_without_names_has_those_of_the_file(tmp_path):
    """A model that Python saved may have been fitted to an array, and a row may have a gap."""
    from bsvdd import SVDD

    model, table, scored = (tmp_path / name for name in ("m.nc", "t.csv", "p.csv"))
    est = SVDD().fit(np.random.default_rng(0).normal(size=(60, 2)))
    est.save(model)
    table.write_text("a,b\n0.1,0.2\n,1.0\n0.1,9.0\n9.0,0.1\n")
    result = call("score", model, table, "--out", scored, "--explain")
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(scored)
    assert frame["normal"].tolist()[2:] == [False, False]
    assert frame["column_1"].tolist()[2:] == ["b", "a"]
    why = est.explain([[0.1, 9.0], [9.0, 0.1]], changes=False).top_columns()
    np.testing.assert_allclose(frame.loc[2:, "share_1"], why["share_1"])


def test_an_explanation_holds_no_formula(csv, tmp_path):
    """The name of a column, here of a formula, is text to a spreadsheet too."""
    table, model, scored = (tmp_path / name for name in ("t.csv", "m.nc", "p.csv"))
    pd.read_csv(csv).rename(columns={"a": "=cmd|' /C calc'!A0", "b": "@b"}).to_csv(
        table, index=False
    )
    call("fit", table, "--label", "kind", "--minor", "odd", "--model", "SVDD", "--out", model)
    result = call("score", model, table, "--out", scored, "--explain")
    assert result.exit_code == 0, result.output
    cells = pd.read_csv(scored)[["column_1", "column_2"]].stack().dropna()
    assert set(cells) == {"'=cmd|' /C calc'!A0", "'@b"}


def test_score_offers_all_methods_of_p_values():
    """The command has a list of its own, so that it need not import the estimators to show help."""
    from bsvdd.estimators.questions import p_values

    from bsvdd.cli.score import METHODS

    assert tuple(METHODS) == p_values.METHODS


def test_fit_without_labels_takes_all_rows_as_majority(csv, tmp_path):
    bare = tmp_path / "bare.csv"
    pd.read_csv(csv).drop(columns="kind").to_csv(bare, index=False)
    result = call("fit", bare, "--model", "SVDD", "--out", tmp_path / "m.nc")
    assert result.exit_code == 0, result.output
    assert "and 0 minority rows; columns 'a', 'b'\n" in result.output


def test_the_larger_class_as_minority_is_told(csv, tmp_path):
    table = pd.read_csv(csv)
    larger = table["kind"].mode()[0]
    out = tmp_path / "m.nc"
    result = call("fit", csv, "--label", "kind", "--minor", larger, "--model", "SVDD", "--out", out)
    assert (
        "minority rows (the minority is the larger class: check --minor); columns" in result.output
    )


def test_an_output_that_is_an_input_is_refused(csv, tmp_path):
    model = tmp_path / "m.nc"
    labelled = ("--label", "kind", "--minor", "odd", "--model", "SVDD")
    assert call("fit", csv, *labelled, "--out", model).exit_code == 0
    before = csv.read_bytes(), model.read_bytes()
    for arguments in (
        ("fit", csv, *labelled, "--out", csv),
        ("score", model, csv, "--out", csv),
        ("score", model, csv, "--out", model),
    ):
        result = call(*arguments)
        assert result.exit_code == 1
        assert "would replace" in result.output and "name another file" in result.output
    assert (csv.read_bytes(), model.read_bytes()) == before
    for arguments in (("fit", csv, *labelled), ("score", model, csv)):
        result = call(*arguments, "--out", tmp_path / "none" / "x")
        assert result.exit_code == 1 and "there is no folder" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "CSV", "--minor", "odd"], "needs --label"),
        (["compare", "CSV", "--published"], "needs --label"),
        (["compare", "CSV", "--model", "SVM"], "'SVM' learns from minority rows"),
        (["compare", "--label", "kind"], "no"),
        (["compare", "CSV", "--label", "nope"], "label column 'nope'"),
        (["compare", "CSV", "--label", "kind", "--minor", "nope"], "'nope' never occurs"),
        (["compare", "CSV", "--label", "kind"], "minor_label="),
        (["compare", "--data", "nope"], "unknown data set 'nope'"),
        (["compare", "--model", "nope"], "unknown model 'nope'"),
        (["fit", "CSV"], "column 'kind' is not numeric"),
        (["fit", "CSV", "--minor", "odd"], "--label"),
        (["fit", "missing.csv"], "does not exist"),
        (["score", "CSV", "CSV"], "is no saved bsvdd estimator"),
    ],
)
def test_bad_input_is_one_clear_line(csv, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*(csv if a == "CSV" else a for a in arguments))
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())  # nothing is left behind


def test_score_names_a_missing_column(csv, tmp_path):
    model, lacking = tmp_path / "m.nc", tmp_path / "lacking.csv"
    call("fit", csv, "--label", "kind", "--minor", "odd", "--model", "SVDD", "--out", model)
    pd.read_csv(csv)[["a"]].to_csv(lacking, index=False)
    result = call("score", model, lacking)
    assert result.exit_code == 1
    assert "lacks column 'b'; it has 'a'" in result.output


def test_interrupting_a_report_leaves_no_half_written_file(csv, tmp_path, monkeypatch):
    from bsvdd.comparison import report

    out = tmp_path / "report"
    monkeypatch.setattr(report, "pictures", lambda *_: {})

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    few = ["--jobs", 1, "--replicates", 1, "--model", "SVDD"]
    result = call("compare", csv, "--label", "kind", "--minor", "odd", "--out", out, *few)
    assert result.exit_code != 0
    assert list(out.iterdir()) == []


def test_an_output_that_would_replace_the_input_is_refused_before_any_fit(csv, tmp_path):
    mine = tmp_path / "results.csv"
    mine.write_bytes(csv.read_bytes())
    result = call("compare", mine, "--label", "kind", "--minor", "odd", "--out", tmp_path)
    assert result.exit_code == 1
    assert "its results.csv would replace" in result.output
    assert mine.read_bytes() == csv.read_bytes()
    result = call(
        "study",
        "real",
        "--data-dir",
        tmp_path,
        "--label",
        "kind",
        "--minor",
        "odd",
        "--out",
        tmp_path,
    )
    assert result.exit_code == 1
    assert "is the folder that is read" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]


def test_a_picture_that_cannot_be_written_loses_no_fit(csv, tmp_path, monkeypatch):
    from bsvdd.comparison import report

    monkeypatch.setattr(report, "pictures", lambda *_: {})
    (tmp_path / "roc_1.png").mkdir()
    few = ["--jobs", 1, "--replicates", 1, "--model", "SVDD"]
    result = call("compare", csv, "--label", "kind", "--minor", "odd", "--out", tmp_path, *few)
    assert result.exit_code == 1 and "roc_1.png" in result.stderr.splitlines()[-1]
    assert "By AUC, SVDD is best" in result.stdout
    assert runner.read(tmp_path / "results.csv")["model"][0] == "SVDD"
    assert (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_compare_without_a_label_says_which_rows_most_models_call_odd(csv, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path, out = tmp_path / "t.csv", tmp_path / "out"
    table = pd.read_csv(csv)[["a", "b"]].assign(p_value=[f"=n{i}" for i in range(72)])
    table.loc[5, "a"] = 9.0
    table.to_csv(path, index=False)
    few = ["--jobs", 1, "--draws", 100, "--tune", 100]
    result = call("compare", path, "--id", "p_value", "--out", out, *few)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines()[:-1])) <= 80
    assert re.search(r"=n5 +10 of 10 +0\.\d", result.stdout)
    assert "No model is called best" in result.stdout and "SVDD and OCSVM are one" in result.stdout
    names = ["agreement.png", "report.html", "results.csv", "rows.csv"]
    assert sorted(p.name for p in out.iterdir()) == names
    rows = pd.read_csv(out / "rows.csv").set_index("p_value")  # the ids have this name in the file
    assert len(rows) == 72 and rows.index[0] == "'=n5" and rows["odd_by"].iloc[0] == 10
    from bsvdd import BSVDD

    est = BSVDD(draws=100, tune=100).fit(table[["a", "b"]])  # as bsvdd outliers
    expected = est.training_decision()["p_value"].set_axis("'" + table["p_value"])
    np.testing.assert_allclose(rows["p_value BSVDD"], expected[rows.index], rtol=1e-4)
    results = pd.read_csv(out / "results.csv")
    assert results["model"].isin(list(REGISTRY) + list(YARDSTICKS)).all() and "odd" not in results
    page = (out / "report.html").read_text()
    assert "odd by most of the 10 models" in page and page.count("data:image/png;base64,") == 1


@pytest.mark.slow
def test_a_name_of_any_text_stays_a_text(csv, tmp_path):
    """Dollars are no formula of matplotlib, brackets no markup, = no formula of a spreadsheet."""
    path = tmp_path / "=cost_$_per_$unit [red].csv"
    path.write_bytes(csv.read_bytes())
    out = tmp_path / "out"
    few = ["--jobs", 1, "--replicates", 1, "--draws", 100, "--tune", 100, "--model", "SVDD"]
    result = call("compare", path, "--label", "kind", "--minor", "odd", "--out", out, *few)
    assert result.exit_code == 0, result.output
    assert path.stem in result.output.replace("\n", "")
    lines = (out / "results.csv").read_text().splitlines()
    assert all(line.startswith("'=cost") for line in lines[1:])
    assert set(runner.read(out / "results.csv")["data"]) == {path.stem}
