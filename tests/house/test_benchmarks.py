"""The frame of the stopwatch: rows by name, one table; and the figures that the guide quotes."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import bsvdd

from benchmarks import published, shared, stopwatch
from benchmarks.stopwatch import Row, gram, naive

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def rows(monkeypatch):
    first = Row(lambda quick: (2.0, {"a": 1.0}), "it", 1.0, "", "the other")
    second = Row(lambda quick: (3.0, {}), "something", 4.0, "s", "")
    monkeypatch.setattr(stopwatch, "ROWS", {"a_row": first, "another": second})


def test_rows_are_printed_and_each_replaces_its_own(rows, tmp_path, capsys):
    for names in (["another"], ["a_row"], [], ["--quick", "a_row"]):
        stopwatch.main(["--out", str(tmp_path), *names])
    output = capsys.readouterr().out
    assert "something" in output and "threads" in output
    saved = json.loads((tmp_path / "benchmarks.json").read_text())["rows"]
    assert list(saved) == ["a_row", "another"]
    assert (saved["a_row"]["value"], saved["another"]["unit"]) == (2.0, "s")
    assert saved["a_row"]["threads"] == stopwatch.threads()
    assert {p.name for p in tmp_path.iterdir()} == {"benchmarks.json", "benchmarks.png"}
    with pytest.raises(SystemExit):
        stopwatch.main(["nothing"])
    assert "a_row, another" in capsys.readouterr().err


def test_a_quick_run_saves_nothing(rows, tmp_path):
    stopwatch.main(["--quick", "--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_parts_are_stored_one_by_one(tmp_path):
    def stopped(chosen):
        raise KeyboardInterrupt

    parts = {"a": lambda chosen: chosen.n, "picture": lambda chosen: None, "b": stopped}
    with pytest.raises(KeyboardInterrupt):
        shared.by_part("x", "", parts, ["--out", str(tmp_path)], n=3)
    assert json.loads((tmp_path / "x.json").read_text()) == {"a": 3}


def test_exponent():
    assert stopwatch.exponent([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)


@pytest.mark.parametrize("case", stopwatch.CASES)
def test_the_naive_model_is_the_same_posterior(case):
    g, prior = gram(15, 3), stopwatch.CASES[case][1]
    x = np.random.default_rng(0).normal(size=(3, 15))
    ours, _ = Density.of(bsvdd.build(g, prior)).value_and_gradient(x)
    # a few calls: nothing has to be compiled
    log_density = naive(g, prior).compile_logp(mode="FAST_COMPILE")
    theirs = [log_density({"beta": each}) for each in x]
    assert np.diff(ours) == pytest.approx(np.diff(theirs), rel=1e-9)


@pytest.mark.parametrize("name", ["ecoli_imU", "abalone_9v18", "vehicle_van"])
def test_the_guide_quotes_the_stored_modes(name):
    rows = json.loads((DOCS / "modes.json").read_text())["rows"]
    by_priors = {
        row["priors"]: row for row in rows if (row["data set"], row["bandwidth"]) == (name, "scale")
    }
    lines = (DOCS / "guide" / "which_model.md").read_text().splitlines()
    (line,) = (line for line in lines if re.match(rf"\| {name}, \d+ and \d+ \|", line))
    for priors, cell in zip(("default", "published"), line.split("|")[3:5], strict=True):
        row = by_priors[priors]
        auc, r_hat, ess = map(float, cell.replace("*", "").split(","))
        lowest, highest = row["auc"]  # of the chains; the guide has that of all draws
        assert lowest - 0.001 <= auc <= highest + 0.001
        assert (r_hat, ess) == (round(row["r_hat"], 3), round(row["ess"]))


def share(value, digits=2):
    text = f"{value:.{digits}f}"
    return text if value >= 0.9999 else text.removeprefix("0")


def of_given(stored):
    for r in stored["given"]:
        numbers = [
            share(r[f"{name} {what}"]) for what in ("found", "false") for name in ("joint", "given")
        ]
        yield f"| {r['relation']} | {r['columns']} | {' | '.join(numbers)} |"


def of_tail(stored):
    for r in stored["tail"]:
        rates = [
            ", ".join(f"{r[f'{name} {q}'] / float(q):.1f}" for q in ("0.01", "0.001", "0.0001"))
            for name in ("predictive", "plugged in")
        ]
        power = [share(r[f"pareto {what}"]) for what in ("fdp", "power")]
        yield f"| {r['kind']} | {r['columns']:.0f} | {' | '.join([*rates, *power])} |"
    for r in stored["bounds"]:
        counts = [r[name] for name in ("sure", "selected by BH", "false of these", "false at most")]
        numbers = " | ".join(f"{each:.1f}" for each in counts)
        yield f'| {r["n"]} | `"{r["method"]}"` | {share(r["broken"])} | {numbers} |'


def of_stream(stored):
    of_streams = stored["stream"]
    yield f"{share(of_streams['false alarms'], 3)} of {of_streams['streams']:,} streams"
    yield f"{share(of_streams['by ranks'], 4)} of 100,000 streams of ranks"
    delays = of_streams["delays"]
    for first, later in zip(delays[::2], delays[1::2], strict=True):
        cells = [
            f"{share(r['told'])}, {'–' if r['median'] is None else round(r['median'])}"
            for r in (first, later)
        ]
        yield f"| {first['n']:,} | {first['columns']} | {' | '.join(cells)} |"


@pytest.mark.parametrize("lines", [of_given, of_tail, of_stream], ids=lambda f: f.__name__)
def test_the_guide_has_the_stored_answers_to_questions(lines):
    stored = json.loads((DOCS / "questions.json").read_text(encoding="utf-8"))
    page = (DOCS / "guide" / f"{lines.__name__.removeprefix('of_')}.md").read_text(encoding="utf-8")
    assert [line for line in lines(stored) if line not in page] == []


def test_the_page_of_the_slides_has_the_stored_study():
    frame = pd.read_json(DOCS / "published.json", orient="records")
    page = (DOCS / "published.md").read_text(encoding="utf-8")
    assert published.table(frame) in page and published.outcomes(frame) in page
    by_metropolis = frame["model"].str.endswith("Metropolis")
    many = (frame["r_hat"] > 1.01).groupby(by_metropolis).sum()
    assert f"in each of its {many[True]} fits" in page and many[True] == by_metropolis.sum()
    fits = frame["model"].str.endswith("default sampler").sum()
    assert f"in {many[False]} of {fits}\nfits" in page
    first = frame[frame["pair"] == 0].fillna({"share": 0.0})
    f1 = first.pivot_table(index=["share", "v"], columns="model", values="f1")
    for model in ("BSVDD", "BSVDD-M"):
        apart = (f1[f"{model}, Metropolis"] - f1[f"{model}, default sampler"]).abs().max()
        assert apart <= 0.0145
    assert "differs by .014 at most" in page
