"""The command line, called as a user calls it: lists, ``compare``, and errors of all commands."""

import errno
import io
import os
import re
import shlex
import shutil
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.run import runner, workers
from bsvdd.comparison.run.cell import Cell, replicate_pair, replicate_seed
from bsvdd.comparison.scenarios import datasets
from bsvdd.comparison.scenarios.scenario import Real
from bsvdd.estimators.tables.files import Layout
from click.testing import CliRunner
from rich.console import Console

from bsvdd import BDD, priors
from bsvdd.cli import main
from bsvdd.cli.compare import print_results

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("default::bsvdd.inference.warning.DataWarning"),
]
KINDS = ["--label", "kind", "--minor", "odd"]
TABLE = [*KINDS, "--id", "name", "--drop", "city"]
FEW = ["--jobs", 1, "--replicates", 1, "--model", "SVDD"]


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """moon.csv with columns a, b, kind, t.csv with name and city too, and tables that are bad."""
    folder = tmp_path_factory.mktemp("tables")
    data = datasets.moon(n0=60, n1=12)
    frame = pd.DataFrame(data.X, columns=["a", "b"])
    frame["kind"] = np.where(data.minority, "odd", "normal")
    x = np.arange(20.0)
    tables = {
        "moon": frame,
        "t": frame.assign(name=[f"n{i}" for i in range(72)], city=["Bonn", "Rom", "Oslo"] * 24),
        "NAN/x": pd.DataFrame({"x": np.where(x == 3, np.nan, x), "y": x > 14}),
        "ONE/x": pd.DataFrame({"x": x, "y": 0}),
        "FEW/x": pd.DataFrame({"x": x, "y": x > 18}),
    }
    for name in ("EMPTY", "NAN", "ONE", "FEW"):
        (folder / name).mkdir()
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    (folder / "FILE").touch()
    result = call("fit", folder / "moon.csv", *KINDS, "--model", "SVDD", "--out", folder / "m")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def csv(folder):
    return folder / "moon.csv"


@pytest.fixture
def no_pictures(monkeypatch):
    from bsvdd.comparison import report

    asked = []
    monkeypatch.setattr(report.own_data, "example", lambda *a: asked.append(a) or {})
    return asked


@pytest.mark.slow
def test_compare_a_csv_prints_a_table_and_writes_a_self_contained_report(csv, tmp_path):
    out = tmp_path / "report [bold]"
    few = ["--jobs", 1, "--replicates", 2, "--draws", 100, "--tune", 100]
    result = call("compare", csv, *KINDS, "--out", out, *few)
    assert result.exit_code == 0, result.output
    for name in ["SVDD", "BDD", "BSVDD", "BSVDD-M", "flag all", "flag none", "base rate 0.167"]:
        assert name in result.output
    assert f"report: {out / 'report.html'}" in result.output
    assert "G-mean: root of" in result.stdout and "halves: one trains" in result.stdout
    best = re.search("By AUC, (.*) is best", result.stdout)[1]
    of_sampler = ["--draws", "100", "--tune", "100"] if best.startswith("B") else []
    words = ["bsvdd", "fit", str(csv), *KINDS, *of_sampler, "--model", best]
    assert shlex.join(words) in result.stdout.splitlines()[-1]
    pictures = [
        *("boundary.png", "distances.png", "margin.png"),
        *("weights.png", "differences_1.png", "distances_1.png", "roc_1.png"),
    ]
    expected = sorted([*pictures, "cells", "report.html", "results.csv"])
    assert sorted(p.name for p in out.iterdir()) == expected
    page = (out / "report.html").read_text()
    assert page.count("data:image/png;base64,") == len(pictures)
    assert not re.search(r'(src|href)="(?!data:)', page)  # nothing is fetched
    assert len(pd.read_csv(out / "results.csv")) == 2 * (len(runner.DEFAULT_MODELS) + 2)


def test_compare_as_published(csv, tmp_path, no_pictures):
    """Each model by its source; the draws that are given replace ours."""
    some = ["--model", "SVDD", "--model", "BDD", "--model", "BSVDD", "--replicates", 1, "--jobs", 1]
    file = [csv, *KINDS, "--out", tmp_path]
    result = call("compare", *file, "--published", *some, "--draws", 50, "--tune", 50)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text()
    assert all(w in page for w in ("sampler=&#39;metropolis&#39;", "our choice", "as its"))
    pictured = {c.name: c.parameters for c in no_pictures[0][2]}["BSVDD"]
    assert pictured["sampler"] == "metropolis" and pictured["chains"] == 2
    assert "draws" not in pictured
    results = pd.read_csv(tmp_path / "results.csv").set_index("model")
    assert results.loc["BDD", "r_hat"] != results.loc["BDD", "r_hat"]  # one estimate


def test_priors_are_compared(tmp_path, no_pictures):
    rows = np.random.default_rng(7).normal(size=(92, 2)) + np.repeat([0.0, 1.5], [80, 12])[:, None]
    table = pd.DataFrame(rows, columns=["a", "b"])
    csv = tmp_path / "t.csv"
    table.assign(kind=np.repeat(["normal", "odd"], [80, 12])).to_csv(csv, index=False)
    texts = ["Flat(sd=1.5)", "InverseRowSum(sd=0.5)"]
    given = [option for text in texts for option in ("--prior", text)]
    some = ["--model", "BDD", "--model", "SVDD", "--replicates", 1, "--jobs", 1]
    result = call("compare", csv, *KINDS, *some, *given, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "results.csv").set_index("model")
    names = [f"BDD, {text}" for text in texts]
    assert set(found.index) == {*names, "SVDD", "flag all", "flag none"}
    best = found.loc[[*names, "SVDD"], "auc"].idxmax()
    asked = {n: f"--model BDD --prior '{t}'" for n, t in zip(names, texts, strict=True)}
    last = result.stdout.splitlines()[-1]
    assert asked.get(best, "--model SVDD") in last and last.count("--prior") == (best in asked)
    data = datasets.from_csv(csv, Layout("kind"), "odd")
    train = replicate_pair(Real(data), 0, 0).train
    common = {"random_state": replicate_seed(0, 0), "minor_label": 1}
    y = train.minority.astype(int)
    first = BDD(prior=priors.Flat(sd=1.5), **common).fit(train.X, y)
    other = BDD(prior=priors.InverseRowSum(sd=0.5), **common)
    other = other.fit(train.X, y)
    for name, est in zip(names, (first, other), strict=True):
        assert found.loc[name, "cutoff"] == pytest.approx(est.cutoff_, rel=1e-6), name
    args = ["compare", csv, *KINDS, *some, *given, "--out", tmp_path / "rate"]
    asked_rate = call(*args, "--false-alarm-rate", 0.2, "--dictionary", 40)
    assert asked_rate.exit_code == 0
    last = asked_rate.stdout.splitlines()[-1]
    assert " --false-alarm-rate 0.2 --model " in last
    assert " --dictionary 40 " in last


def test_compare_of_an_embedded_set_names_the_command_for_ones_own(tmp_path, no_pictures):
    few = ["--jobs", 1, "--replicates", 1, "--model", "OCSVM"]
    result = call("compare", "--data", "glass_headlamps", *few, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith("compare TABLE.csv --label COLUMN --minor VALUE")


@pytest.mark.slow
def test_compare_says_its_plan_and_each_fit_and_reports_columns(folder, tmp_path, no_pictures):
    few = ["--draws", 100, "--tune", 50, "--replicates", 2, "--jobs", 1, "--out", tmp_path]
    models = ["--model", "SVDD", "--model", "BSVDD", "--dictionary", 20]
    result = call("compare", folder / "t.csv", *TABLE, *models, *few)
    assert result.exit_code == 0, result.output
    # a busy machine also has lines of the time so far
    lines = [line for line in result.stderr.splitlines() if " so far" not in line]
    size = "t (72 rows, 2 columns, 12 minority)"
    assert lines[:2] == [
        "parameters: dictionary=20 of 'SVDD', 'BSVDD'",
        f"plan: 4 fits of 2 models on {size}, 2 random halves each",
    ]
    fits = [line.partition(": t, ")[0] for line in lines[2:6]]
    assert fits == [f"fits {i}/4" for i in range(1, 5)]
    assert "fits" not in result.stdout and "base rate" in result.stdout
    page = (tmp_path / "report.html").read_text()
    said = ("column &#39;city&#39; left out", "&#39;name&#39; names the rows", "dictionary=20")
    assert all(words in page for words in said)


@pytest.mark.slow
def test_compare_takes_categories_and_names_of_any_text(folder, tmp_path, no_pictures):
    """Dollars are no formula of matplotlib, brackets no markup, = no formula of a spreadsheet."""
    path = tmp_path / "=cost_$_per_$unit [red].csv"
    path.write_bytes((folder / "t.csv").read_bytes())
    models = ["--model", "LS-SVM", "--model", "kNN", "--out", tmp_path]
    result = call("compare", path, *TABLE[:-2], *FEW, *models)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("column 'city' is a category: kernels.Tabular(rho=0.01)")
    chosen = pd.read_csv(tmp_path / "results.csv")["chosen"].dropna()
    assert len(chosen) == 3 and chosen.str.startswith("kernel=Tabular(").all()
    assert path.stem in result.output.replace("\n", "")
    lines = (tmp_path / "results.csv").read_text().splitlines()
    assert all(line.startswith("'=cost") for line in lines[1:])
    assert set(runner.read(tmp_path / "results.csv")["data"]) == {path.stem}


def test_models_that_cannot_take_the_rows_are_left_out_before_the_first_fit(
    folder, tmp_path, monkeypatch
):
    """As for a table that is too large: descriptions take points, and KDE sums over pairs."""
    monkeypatch.setattr("bsvdd.comparison.run.runner.MANY_ROWS", 20)
    monkeypatch.setattr("bsvdd.estimators.machines.MOST_ROWS", 20)
    ran = []

    def run(self):
        ran.append(self.candidate.name)
        raise KeyboardInterrupt

    monkeypatch.setattr(Cell, "run", run)
    options = ["--jobs", 1, "--out", tmp_path / "r"]
    result = call("compare", folder / "t.csv", *TABLE, *options)
    assert ran == ["SVDD"]
    assert "left out: 'OCSVM' on t: the kernel matrix of 30 rows" in result.output
    assert "'KDE' on t: 36 rows train" in result.output
    assert "plan: 55 fits of 11 models on t" in result.output
    result = call("compare", folder / "t.csv", *TABLE, "--model", "OCSVM", *options)
    assert result.exit_code == 1 and ran == ["SVDD"]
    assert "nothing was fitted: 'OCSVM' on t: the kernel matrix of 30 rows" in result.output


def test_a_picture_that_cannot_be_written_loses_no_fit(csv, tmp_path, monkeypatch, no_pictures):
    (tmp_path / "roc_1.png").mkdir()
    result = call("compare", csv, *KINDS, "--out", tmp_path, *FEW)
    assert result.exit_code == 1 and "roc_1.png" in result.stderr.splitlines()[-1]
    assert "By AUC, SVDD is best" in result.stdout
    assert runner.read(tmp_path / "results.csv")["model"][0] == "SVDD"
    assert (tmp_path / "report.html").exists()


STOPS = {  # what happens at the third fit, or to its result, and what is told
    "signal": (KeyboardInterrupt, "Aborted!"),
    "worker": (BrokenProcessPool, "Error: a worker process died at "),
    "full disk": (OSError(errno.ENOSPC, "full"), "a result is not stored in .*cells: No space"),
    "folder": (None, r"Error: .*results\.csv is no file, but a folder"),
}


@pytest.mark.parametrize("how", STOPS)
def test_nothing_fitted_is_lost(how, folder, tmp_path, monkeypatch, no_pictures):
    """A table of what is done is printed, and the same command goes on from there."""
    error, told = STOPS[how]
    models = [f"--model={name}" for name in ("SVDD", "OCSVM", "kNN", "LOF")]
    command = ["compare", folder / "moon.csv", *KINDS, "--replicates", 1, *models, "--jobs", 1]
    command += ["--out", tmp_path]
    ran, run, replace = [], Cell.run, os.replace

    def at_third(self):
        ran.append(self.candidate.name)
        if len(ran) == 3 and how in ("signal", "worker"):
            raise error
        return run(self)

    def replaced(*paths):
        if how == "full disk" and len(ran) == 3 and "cells" in str(paths[1]):
            raise error
        replace(*paths)

    monkeypatch.setattr(Cell, "run", at_third)
    monkeypatch.setattr("os.replace", replaced)
    if how == "folder":
        (tmp_path / "results.csv").mkdir()
    result = call(*command)
    n = 2 if how in ("signal", "worker") else 4
    rows = [m for m in ("SVDD", "OCSVM", "kNN", "LOF") if re.search(f"^ {m} ", result.stdout, re.M)]
    assert rows == ["SVDD", "OCSVM", "kNN", "LOF"][:n]
    assert re.search(told, result.stderr)
    assert result.exit_code == (how != "full disk")
    again = f"stopped after 2 of 4 fits, which are stored in {tmp_path}; the same command goes on"
    assert (again in result.stderr) == (n == 2)
    if how == "folder":
        (tmp_path / "results.csv").rmdir()
    else:
        assert len(runner.read(tmp_path / "results.csv")) == n + 2 * (n == 4)
    ran.clear()
    ran.extend(["done"] * 3)
    assert call(*command).exit_code == 0
    assert ran[3:] == {2: ["kNN", "LOF"], 4: ["kNN"] if how == "full disk" else []}[n]
    assert len(runner.read(tmp_path / "results.csv")) == 6


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
    order = ["isolation forest", "robust Gaussian", "BDD-M", "LOF", "flag all"]
    assert [each[0] for each in named] == order
    assert named[0][1:] == ["0.920", "0.910", "0.910", "0.100", "0.200", "12.346"]
    assert named[1][2] == "-0.010 ± 0.000" and named[3][2] == "-0.310 ± 0.000"
    text = " ".join(" ".join(lines).split())
    assert "By AUC, isolation forest is best: 0.920 on average over 3 halves. It is told" in text
    assert "isolation forest, robust Gaussian and BDD-M decide alike." in text


@pytest.mark.parametrize("width", [None, 80])
def test_data_are_listed_whole_at_each_width(monkeypatch, width):
    """In a pipe a record is one line."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    lines = call("data").output.splitlines()
    for name, record in datasets.records().items() if width is None else ():
        (line,) = [each for each in lines if each.startswith(f"{name} ")]
        data = datasets.embedded(name)
        assert line.split()[1:4] == [*map(str, data.X.shape), f"{data.base_rate:.3f}"]
        assert record["url"] in line and record["licence"] in line


BAD = [
    ("compare CSV --minor odd", "needs --label"),
    ("compare CSV", "of a table without classes are odd, bsvdd outliers says"),
    ("compare --label kind", "no CSV file is given, which is needed for --label"),
    ("compare --id x --sep ;", "no CSV file is given, which is needed for --id and --sep"),
    ("compare CSV --data yeast_ME2", "give either CSV or --data"),
    ("compare CSV --label nope", "column 'nope' .--label."),
    ("compare CSV --label kind --minor nope", "'nope' never occurs"),
    ("compare CSV --label kind", "minor_label="),
    ("compare CSV KINDS --published --model SVM", "SVM is here for comparison"),
    ("compare --data nope", "unknown data set 'nope'"),
    ("compare --model nope", "unknown model 'nope'"),
    ("compare NAN/x.csv --label y", "1 of 20 rows have no value in any column, the first is row 3"),
    ("compare FEW/x.csv --label y", "at least 2 minority rows"),
    ("compare --jobs 0", "expected at least 1, or -1"),
    ("compare --out FILE/x", "FILE"),
    ("compare T --model OCSVM --dictionary 5", "'OCSVM' has no --dictionary"),
    ("fit T --model SVM", "a separating machine has no draws and no cutoff"),
    ("compare T --published --prior Flat", "--published .* without --prior"),
    ("compare results.csv KINDS --out .", "its results.csv would replace"),
    ("fit CSV --minor odd", "--label"),
    ("fit missing.csv", "does not exist"),
    ("fit CSV KINDS --out CSV", "would replace .*name another file"),
    ("fit CSV KINDS --out none/x", "there is no folder"),
    ("fit T --model SVDD --prior Flat", "'SVDD' has no --prior; it is for 'BDD'"),
    ("fit T --prior Falt", "--prior: 'Falt' is no prior .*did you mean 'Flat'"),
    ("fit T --model BSVDD-M --minority-prior Flat", "--minority-prior: 'Flat' is"),
    ("fit T --false-alarm-rate 1", "rate must lie between 0 and 1, got 1.0"),
    ("fit T --sep ;;", "--sep must be one sign"),
    ("fit T --sep ;", "name the separator: --sep ','"),
    ("fit T --drop kind", "--label and --drop both name 'kind'"),
    ("fit T --drop nope", r"column 'nope' \(--drop\) is not in the table; it has"),
    ("score CSV CSV", "is no saved bsvdd estimator"),
    ("score m CSV --out CSV", "would replace .*name another file"),
    ("score m CSV --out m", "would replace .*name another file"),
    ("score m CSV --drop b", "--drop 'b': the model was fitted to this column"),
    ("score m CSV --id kid", "did you mean 'kind'"),
    ("score m ONE/x.csv", "lacks columns 'a', 'b', which the fit has; it has 'x', 'y'"),
    *((f"score m CSV --fdr {rate}", "fdr must lie between 0 and 1") for rate in ("0", "1", "-.5")),
    ("score m CSV --category a", "the model was fitted to no columns of categories"),
    ("study slides --jobs 0", "expected at least 1, or -1"),
    ("study slides --backend dask", "--backend dask and --scheduler ADDRESS"),
    ("study slides --scheduler x", "--backend dask and --scheduler ADDRESS"),
    ("study slides --backend dask --scheduler 127.0.0.1:9", "no dask scheduler answers at '127.0."),
    ("study slides --out FILE/x", "FILE"),
    ("study slides --protocol mine", "'mine' is not one of"),
    ("study real --data iris", "unknown data set 'iris'"),
    ("study real --label y", "--data-dir"),
    ("study real --data yeast_ME2 --rows 4", "4 training rows would be 0 min"),
    ("study real --data-dir EMPTY", "has no .npz and no .csv file"),
    ("study real --data-dir NAN --label y", "the first is row 3 .counted from 0.; leave"),
    ("study real --data-dir ONE --label y --minor 1", "never occurs"),
    ("study real --data-dir ONE --out ONE --label y", "is the folder that is read"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[text for text, _ in BAD])
def test_bad_input_is_one_line_before_the_first_fit(folder, text, message, tmp_path, monkeypatch):
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    shutil.copy(work / "moon.csv", work / "results.csv")
    monkeypatch.chdir(work)
    monkeypatch.setattr(workers, "CONNECT", 1)
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    words = {"CSV": ["moon.csv"], "T": ["t.csv", *TABLE], "KINDS": KINDS}
    result = call(*(part for word in text.split() for part in words.get(word, [word])))
    assert result.exit_code in (1, 2), result.output
    assert re.search(message, result.output), result.output
    assert "Traceback" not in result.output
    assert len([each for each in result.output.splitlines() if each.startswith("Error: ")]) == 1
    assert {path: path.read_bytes() for path in work.rglob("*") if path.is_file()} == before


def test_a_full_memory_is_one_line(csv, tmp_path, monkeypatch):
    def full(*_):
        raise MemoryError("Unable to allocate 7.45 GiB for an array with shape (10, 10)")

    monkeypatch.setattr("bsvdd.estimators.svdd.SVDD.fit", full)
    result = call("fit", csv, "--model", "SVDD", "--drop", "kind", "--out", tmp_path / "m")
    assert result.exit_code == 1 and not list(tmp_path.iterdir())
    assert re.fullmatch(r"Error: the memory is full: Unable .*; use fewer rows.*\n", result.output)


EVIL = {  # a cell, and as it is written
    "@SUM(A1)": "'@SUM(A1)",
    "=1+1": "'=1+1",
    "-1+1": "'-1+1",
    "\t=1": "'\t=1",
    "-1.5": "-1.5",
    "+3e-5": "+3e-5",
    "plain": "plain",
}
OUTPUTS = {
    "outliers": ["outliers", "EVIL", "--id", "@id", "--out"],
    "score": ["score", "M", "EVIL", "--id", "@id", "--explain", "--out"],
}


@pytest.fixture(scope="module")
def evil(csv_of_evil):
    model = csv_of_evil.with_name("m")
    result = call("fit", csv_of_evil, "--id", "@id", "--model", "SVDD", "--out", model)
    assert result.exit_code == 0, result.output
    return {"EVIL": csv_of_evil, "M": model}


@pytest.fixture(scope="module")
def csv_of_evil(tmp_path_factory):
    """Ids, a name and a far value in the first row that a spreadsheet would run."""
    path, rng = tmp_path_factory.mktemp("evil") / "evil.csv", np.random.default_rng(1)
    ids = [*EVIL, *(f"n{i}" for i in range(80 - len(EVIL)))]
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["=cmd()", "b"])
    table.loc[0, "=cmd()"] = 12.0
    table.assign(**{"@id": ids}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("command", OUTPUTS.values(), ids=OUTPUTS)
def test_no_cell_and_no_name_is_a_formula(evil, command, tmp_path):
    out = tmp_path / "out.csv"
    result = call(*(evil.get(word, word) for word in command), out)
    assert result.exit_code == 0, result.output
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert set(EVIL.values()) <= set(written["'@id"])
    assert not [name for name in written if name.startswith(("=", "@"))]
    cells = written.to_numpy().ravel()
    number = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")
    assert not [c for c in cells if c.startswith(tuple("=+-@\t")) and not number.fullmatch(c)]
    if "outliers" in command:  # a training row is normal as a new one
        assert "'=cmd()" in [*written, *cells]


def test_a_full_disk_leaves_the_table_on_the_screen(evil, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("os.replace", full)
    words = (evil.get(word, word) for word in OUTPUTS["outliers"])
    result = call(*words, tmp_path / "out.csv")
    assert result.exit_code == 1 and not list(tmp_path.iterdir())
    assert re.search(r"@SUM\(A1\).*=cmd\(\) = 12", result.stdout)
    assert re.search(r"Error: .*No space left on device.*out\.csv", result.stderr)
