"""The command line, as a user calls it: lists, ``compare``, errors of all commands."""

import errno
import os
import re
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky.process_executor import TerminatedWorkerError

from bsvdd import BDD, SVDD, cutoffs, kernels, priors, stand_out
from bsvdd.comparison import datasets, models
from bsvdd.comparison.advice import BEST_OF_BLOCK, OWN
from bsvdd.comparison.runner import Cell
from bsvdd.comparison.table import METRIC_TITLES as METRICS

from .helpers import COLUMNS, KINDS, SHOWN, call, moon

pytestmark = SHOWN
DESCRIPTIONS = ["SVDD", "BDD", "BSVDD", "BSVDD-M", "SVDD-M", "BDD-M"]
FEW = ["--jobs", 1, "--replicates", 1, "--model", "SVDD"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """moon.csv with a, b and kind, t.csv with name and city too, and bad tables."""
    folder = tmp_path_factory.mktemp("tables")
    x = np.arange(20.0)
    tables = {
        "moon": moon()[["a", "b", "kind"]],
        "t": moon(),
        "NAN/x": pd.DataFrame({"x": np.where(x == 3, np.nan, x), "y": x > 14}),
        "ONE/x": pd.DataFrame({"x": x, "y": 0}),
        "FEW/x": pd.DataFrame({"x": x, "y": x > 18}),
        "TWO/x": pd.DataFrame({"x": x[:2], "z": x[:2] ** 2}),
    }
    for name in ("EMPTY", "NAN", "ONE", "FEW", "TWO"):
        (folder / name).mkdir()
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    (folder / "FILE").touch()
    call("fit", folder / "moon.csv", *KINDS, "--model", "SVDD", "--out", folder / "m")
    SVDD(kernel=kernels.Precomputed()).fit(np.eye(9) + 1.0).save(folder / "k")
    return folder


@pytest.mark.slow
def test_compare_a_csv_prints_a_table_and_writes_a_self_contained_page(
    folder, tmp_path
):
    csv, out = folder / "moon.csv", tmp_path / "report [bold]"
    few = ["--jobs", 1, "--replicates", 2, "--draws", 100, "--tune", 100]
    result = call("compare", csv, *KINDS, "--out", out, *few)
    plan = (
        "36 fits: 18 models on moon (72 rows, 2 columns, 12 minority), 2 random halves"
    )
    assert f"{plan} each" in " ".join(result.stderr.split())
    lines = result.stdout.splitlines()
    shown = re.findall(r"^ (\S+) +(0\.\d+) ", result.stdout, re.M)
    blocks = result.stdout.split(" of labelled rows ")
    assert all(f"\n {name} " in block for name, block in zip(OWN, blocks, strict=True))
    assert len(shown) <= 2 * (BEST_OF_BLOCK + 1) < len(models.NAMES)
    assert all(
        word in result.stdout for word in ("G-mean", "found", "PPV", "AP", "AUC")
    )
    said = " ".join(result.stdout.split())
    assert "moon: 72 rows, 2 columns, base rate 0.167. " in said
    assert "more are in the report." in said
    assert f"report: {out / 'report.html'}" in result.output
    best = max((g_mean, m) for m, g_mean in shown if m in DESCRIPTIONS)[1]
    of_sampler = ["--draws", "100", "--tune", "100"] if best.startswith("B") else []
    words = ["bsvdd", "fit", str(csv), *KINDS, *of_sampler, "--model", best]
    assert shlex.join(words) in lines[-1]
    assert sorted(p.name for p in out.iterdir()) == [
        "cells",
        "report.html",
        "results.csv",
    ]
    text = (out / "report.html").read_text()
    assert all(f"<td>{name}</td>" in text for name in models.NAMES)
    assert text.count("data:image/png;base64,") == 1
    assert not re.search(r'(src|href)="(?!data:)', text)  # nothing is fetched
    assert len(pd.read_csv(out / "results.csv")) == 36


def test_priors_are_compared(tmp_path):
    rows = (
        np.random.default_rng(7).normal(size=(92, 2))
        + np.repeat([0.0, 1.5], [80, 12])[:, None]
    )
    table = pd.DataFrame(rows, columns=["a", "b"])
    csv = tmp_path / "t.csv"
    table.assign(kind=np.repeat(["normal", "odd"], [80, 12])).to_csv(csv, index=False)
    texts = ["Flat(sd=1.5)", "InverseRowSum(sd=0.5)"]
    given = [option for text in texts for option in ("--prior", text)]
    some = ["--model", "BDD", "--model", "SVDD", "--replicates", 1, "--jobs", 1]
    more = ["--false-alarm-rate", 0.2, "--dictionary", 60]
    result = call("compare", csv, *KINDS, *some, *given, *more, "--out", tmp_path)
    found = pd.read_csv(tmp_path / "results.csv").set_index("model")
    names = [f"BDD, {text}" for text in texts]
    assert list(found.index) == [*names, "SVDD"]
    asked = {n: f"--model BDD --prior '{t}'" for n, t in zip(names, texts, strict=True)}
    last, best = result.stdout.splitlines()[-1], found["g_mean"].idxmax()
    assert asked.get(best, "--model SVDD") in last and last.count("--prior") == (
        best in asked
    )
    assert "--dictionary 60" in last and "--false-alarm-rate 0.2" in last
    halves = datasets.Halves(
        datasets.Dataset("t", table, np.repeat([False, True], [80, 12]))
    )
    seed = int(np.random.SeedSequence([0, 0]).generate_state(1)[0] >> 1)
    pair, own = halves.pair(seed), {"random_state": seed, "draws": 500, "chains": 4}
    own |= {"dictionary": 60, "cutoff": cutoffs.FalseAlarm(0.2)}
    for name, prior in zip(
        names, (priors.Flat(1.5), priors.InverseRowSum(sd=0.5)), strict=True
    ):
        est = BDD(prior=prior, **own).fit(pair.train.X, pair.train.minority)
        flagged = est.predict(pair.test.X) == -1
        assert found.loc[name, "found"] == pytest.approx(
            flagged[pair.test.minority].mean()
        )
        assert found.loc[name, "fpr"] == pytest.approx(
            flagged[~pair.test.minority].mean()
        )


def test_compare_of_an_embedded_set_names_the_command_for_ones_own(tmp_path):
    few = ["--jobs", 1, "--replicates", 1, "--model", "OCSVM"]
    result = call("compare", "--data", "glass_headlamps", *few, "--out", tmp_path)
    assert result.stdout.splitlines()[-1].endswith(
        "compare TABLE.csv --label COLUMN --minor VALUE"
    )


@pytest.mark.slow
def test_compare_takes_categories_and_names_of_any_text(folder, tmp_path):
    """Dollars are no formula, brackets no markup, = is no formula of a spreadsheet."""
    path = tmp_path / "=cost_$_per_$unit [red].csv"
    path.write_bytes((folder / "t.csv").read_bytes())
    some = ["--model", "LS-SVM", "--model", "logistic", "--out", tmp_path]
    result = call("compare", path, *COLUMNS[:-2], *FEW, *some)
    assert path.stem in result.output.replace("\n", "")
    lines = (tmp_path / "results.csv").read_text().splitlines()
    assert len(lines) == 4 and all(line.startswith("'=cost") for line in lines[1:])
    assert "(72 rows, 3 columns" in (text := (tmp_path / "report.html").read_text())
    assert "&#39;name&#39; names the rows" in text


def test_what_fails_in_all_halves_is_said_once_and_the_rest_goes_on(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr("bsvdd.estimators.machines.MOST_MATRIX_ROWS", 20)
    some = [f"--model={name}" for name in ("OCSVM", "SVDD", "SVM")]
    options = ["--jobs", 1, "--replicates", 2, *some, "--out", tmp_path]
    result = call("compare", folder / "t.csv", *COLUMNS, *options)
    assert (
        "fits 2/6: failed" not in result.stderr
        and result.stderr.count("failed: t, SVM") == 1
    )
    text = " ".join(result.stdout.split())
    assert text.count("failed in all 2 halves: ValueError: the kernel matrix of") == 2
    assert "SVDD: G-mean" in text and "Take" not in text
    result = call("compare", folder / "t.csv", *COLUMNS, *options[:5], *options[-2:])
    assert "No model has a result in every half" in result.stdout


STOPS = {  # what happens at the third fit, or to its result, and what is told
    "signal": (KeyboardInterrupt, "Aborted!"),
    "worker": (TerminatedWorkerError("killed"), "Error: a worker process ended"),
    "full disk": (OSError(errno.ENOSPC, "full"), "Error: .*No space left on device"),
    "folder": (None, r"Error: .*results\.csv is no file, but a folder"),
}


@pytest.mark.parametrize("how", STOPS)
def test_nothing_fitted_is_lost(how, folder, tmp_path, monkeypatch):
    """A table of what is done is printed, and the same command goes on from there."""
    error, told = STOPS[how]
    names = ["SVDD", "OCSVM", "kNN", "LOF"]
    command = ["compare", folder / "moon.csv", *KINDS, "--replicates", 1, "--jobs", 1]
    command += [*(f"--model={name}" for name in names), "--out", tmp_path]
    ran, run, replaced = [], Cell.run, os.replace

    def at_third(self):
        ran.append(self.model)
        if len(ran) == 3 and how in ("signal", "worker"):
            raise error
        return run(self)

    def replacing(*paths):
        if how == "full disk" and len(ran) == 3 and "cells" in str(paths[1]):
            raise error
        replaced(*paths)

    monkeypatch.setattr(Cell, "run", at_third)
    monkeypatch.setattr("os.replace", replacing)
    if how == "folder":
        (tmp_path / "results.csv").mkdir()
    result = call(*command, code=1)
    rows = {m for m in names if re.search(f"^ {m} ", result.stdout, re.M)}
    assert rows == (set(names) if how == "folder" else set(names[:2]))
    assert re.search(told, result.stderr)
    again = f"stopped after 2 of 4 fits, saved {tmp_path / 'results.csv'}; the same"
    assert (again in result.stdout) == (how != "folder")
    if how == "folder":
        (tmp_path / "results.csv").rmdir()
    del ran[:]
    ran += ["done"] * 3
    call(*command)
    assert ran[3:] == ([] if how == "folder" else ["kNN", "LOF"])
    assert len(pd.read_csv(tmp_path / "results.csv")) == 4


def test_a_page_that_cannot_be_written_loses_no_fit(folder, tmp_path):
    (tmp_path / "report.html").mkdir()
    result = call(
        "compare", folder / "moon.csv", *KINDS, "--out", tmp_path, *FEW, code=1
    )
    assert "report.html" in result.stderr.splitlines()[-1]
    assert "SVDD: G-mean" in result.stdout
    assert pd.read_csv(tmp_path / "results.csv")["model"][0] == "SVDD"


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
    (
        "compare --id x --sep ;",
        "no CSV file is given, which is needed for --id and --sep",
    ),
    ("compare CSV --data yeast_ME2", "give either CSV or --data"),
    ("compare CSV --label nope", "column 'nope' .--label."),
    ("compare CSV --label kind --minor nope", "'nope' never occurs"),
    ("compare CSV --label kind", "minor_label="),
    ("compare --data nope", "unknown data set 'nope'"),
    ("compare --model nope", "unknown model 'nope'"),
    (
        "compare NAN/x.csv --label y",
        "of 20 rows, line 5 .1 such row. has no value; leave",
    ),
    ("compare FEW/x.csv --label y", "at least 2 minority rows"),
    ("compare --jobs 0", "expected at least 1, or -1"),
    ("compare --out FILE/x", "FILE"),
    ("compare T --model OCSVM --dictionary 5", "'OCSVM' has no --dictionary"),
    ("fit T --model SVM", "a separating machine has no draws and no cutoff"),
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
    ("fit CSV --suspect kind=T9", "^Error: --suspect kind=T9: no row has this value"),
    ("fit T --cyclic b", "^Error: --cyclic COLUMN=PERIOD, such as hour=24"),
    ("outliers CSV --out CSV", "would replace"),
    ("outliers CSV --out same --picture same", "name the same file"),
    ("outliers CSV --fdr 1", "fdr must lie between 0 and 1"),
    ("outliers CSV --strata whom", "--strata='whom' is no column"),
    ("outliers TWO/x.csv", "needs 3 majority rows or more, got 2"),
    (
        "outliers CSV --model SVDD-M",
        "it does not look for odd rows in one table; use one of ",
    ),
    ("outliers CSV --model Views", "unknown model 'Views'"),
    ("outliers CSV --model BSVD", r"\(did you mean 'BSVDD'\?\)"),
    ("score CSV CSV", "is no saved bsvdd estimator"),
    ("score k CSV", "its kernel is precomputed; use est.decision in Python"),
    ("score m CSV --out CSV", "would replace .*name another file"),
    ("score m CSV --out m", "would replace .*name another file"),
    ("score m CSV --drop b", "--drop 'b': the model was fitted to this column"),
    ("score m CSV --id kid", "did you mean 'kind'"),
    ("score m ONE/x.csv", "lacks columns 'a', 'b', which the fit has; it has 'x', 'y'"),
    *(
        (f"score m CSV --fdr {rate}", "fdr must lie between 0 and 1")
        for rate in ("0", "1", "-.5")
    ),
    ("score m CSV --category a", "the model was fitted to no columns of categories"),
    ("words xyz", "no word or number has 'xyz'"),
    ("study slides --jobs 0", "expected at least 1, or -1"),
    ("study slides --out FILE/x", "FILE"),
    ("study real --data iris", "unknown data set 'iris'"),
    (
        "study settings --data musk",
        "--data is for real, and settings has generated data",
    ),
    ("study mine", "'mine' is not one of"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=[text for text, _ in BAD])
def test_bad_input_is_one_line_before_the_first_fit(
    folder, text, message, tmp_path, monkeypatch
):
    work = tmp_path / "work"
    shutil.copytree(folder, work)
    shutil.copy(work / "moon.csv", work / "results.csv")
    monkeypatch.chdir(work)
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("fitted first"))
    before = {path: path.read_bytes() for path in work.rglob("*") if path.is_file()}
    words = {"CSV": ["moon.csv"], "T": ["t.csv", *COLUMNS], "KINDS": KINDS}
    result = call(
        *(part for word in text.split() for part in words.get(word, [word])), code=None
    )
    assert result.exit_code in (1, 2), result.output
    assert re.search(message, result.output), result.output
    assert "Traceback" not in result.output
    assert (
        len([each for each in result.output.splitlines() if each.startswith("Error: ")])
        == 1
    )
    assert {
        path: path.read_bytes() for path in work.rglob("*") if path.is_file()
    } == before


def test_a_full_memory_is_one_line(folder, tmp_path, monkeypatch):
    def full(*_):
        raise MemoryError(
            "Unable to allocate 7.45 GiB for an array with shape (10, 10)"
        )

    monkeypatch.setattr("bsvdd.estimators.svdd.SVDD.fit", full)
    words = ["--model", "SVDD", "--drop", "kind", "--out", tmp_path / "m"]
    result = call("fit", folder / "moon.csv", *words, code=1)
    assert not list(tmp_path.iterdir())
    assert re.fullmatch(
        r"Error: the memory is full: Unable .*; use fewer rows.*\n", result.output
    )


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
def evil(tmp_path_factory):
    """Ids, a name and a far value in the first row that a spreadsheet would run."""
    path, rng = tmp_path_factory.mktemp("evil") / "evil.csv", np.random.default_rng(1)
    ids = [*EVIL, *(f"n{i}" for i in range(80 - len(EVIL)))]
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["=cmd()", "b"])
    table.loc[0, "=cmd()"] = 12.0
    table.assign(**{"@id": ids}).to_csv(path, index=False)
    model = path.with_name("m")
    call("fit", path, "--id", "@id", "--model", "SVDD", "--out", model)
    return {"EVIL": path, "M": model}


@pytest.mark.parametrize("command", OUTPUTS.values(), ids=OUTPUTS)
def test_no_cell_and_no_name_is_a_formula(evil, command, tmp_path):
    out = tmp_path / "out.csv"
    call(*(evil.get(word, word) for word in command), out)
    written = pd.read_csv(out, dtype=str, keep_default_na=False)
    assert set(EVIL.values()) <= set(written["'@id"])
    assert not [name for name in written if name.startswith(("=", "@"))]
    cells = written.to_numpy().ravel()
    number = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?")
    assert not [
        c for c in cells if c.startswith(tuple("=+-@\t")) and not number.fullmatch(c)
    ]
    if "outliers" in command:  # a training row is normal as a new one
        assert "'=cmd()" in [*written, *cells]


def test_a_full_disk_leaves_the_table_on_the_screen(evil, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("os.replace", full)
    words = (evil.get(word, word) for word in OUTPUTS["outliers"])
    result = call(*words, tmp_path / "out.csv", code=1)
    assert not list(tmp_path.iterdir())
    assert re.search(r"@SUM\(A1\).*=cmd\(\) = 12", result.stdout)
    assert re.search(r"Error: .*No space left on device.*out\.csv", result.stderr)


def test_fit_takes_what_is_known_of_rows(tmp_path):
    """New rows need no column of groups, weights, dates or suspects."""
    rng, batch = np.random.default_rng(0), np.repeat(np.arange(20), 6)
    rows = rng.normal(size=(20, 2))[batch] + 0.3 * rng.normal(size=(120, 2))
    table = pd.DataFrame(rows, columns=["a", "b"]).assign(
        day=[f"D{i}" for i in batch],
        by=np.where(np.arange(120) % 5 == 0, "T3", "T1"),
        taken=pd.date_range("2025-01-01", periods=120),
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--group", "day", "--suspect", "by=T3", "--recent", "taken=60D"]
    options += ["--draws", 50, "--tune", 100]
    result = call("fit", tmp_path / "t.csv", *options, "--out", tmp_path / "m")
    first, second = result.output.splitlines()[:2]
    assert first == (
        "120 rows; columns 'a', 'b'; group day; recent taken=60D; suspect by=T3"
    )
    assert "; 24 rows count nothing, 96 rows count; by their weights they are" in second
    assert (
        "--group-centres asks of each known one): 20 groups leave one by one" in second
    )
    table[["b", "a"]].head(5).to_csv(tmp_path / "new.csv", index=False)
    scored = call("score", tmp_path / "m", tmp_path / "new.csv")
    assert len(scored.stdout.splitlines()) == 6


# what the numbers mean


def test_each_printed_number_is_on_the_page_of_words(folder):
    found = call(
        "score", folder / "m", folder / "moon.csv", "--out", folder / "words.csv"
    )
    assert found.stderr.splitlines()[-1] == "what the numbers mean: bsvdd words"
    page = call("words").stdout
    est = BDD(draws=60, tune=10).fit(datasets.moon().X)
    printed = [*est.decision().columns, *est.summary().index, *METRICS.values()]
    printed += [*stand_out(est, datasets.moon().X).table.columns[:3]]
    assert not [name for name in printed if name not in page]
    assert "p_value" in call("words", "P_VALUE").stdout
    assert "ess" not in call("words", "P_VALUE").stdout.split()
