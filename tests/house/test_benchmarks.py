"""The frame of the benchmarks: rows by name, one table, files written at once."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import bsvdd

from benchmarks import __main__ as table
from benchmarks import measure
from benchmarks.baselines import PRIORS, gram, naive


def a_row(quick):
    return measure.Row("it", "the other", 0.5 if quick else 2.0, 1.0, details={"a": 1.0})


def another(quick):
    return measure.Row("something", "", 3.0, 4.0, "s")


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    monkeypatch.setattr(table, "ROWS", {"a_row": a_row, "another": another})


def test_rows_are_printed_and_saved(tmp_path, capsys):
    table.main(["--out", str(tmp_path)])
    output = capsys.readouterr().out
    assert "something" in output
    assert "threads" in output
    saved = json.loads((tmp_path / "benchmarks.json").read_text())["rows"]
    assert (saved["a_row"]["value"], saved["another"]["unit"]) == (2.0, "s")
    assert saved["a_row"]["threads"] == measure.threads()
    assert (tmp_path / "benchmarks.png").stat().st_size > 1000
    assert len(list(tmp_path.iterdir())) == 2


def test_a_row_by_name_replaces_its_own(tmp_path):
    table.main(["--out", str(tmp_path), "another"])
    table.main(["--out", str(tmp_path), "a_row"])
    assert list(json.loads((tmp_path / "benchmarks.json").read_text())["rows"]) == [
        "a_row",
        "another",
    ]


def test_a_quick_run_saves_nothing(tmp_path):
    table.main(["--quick", "--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())


def test_a_wrong_name_is_an_error(capsys):
    with pytest.raises(SystemExit):
        table.main(["nothing"])
    assert "a_row, another" in capsys.readouterr().err


def test_exponent():
    assert measure.exponent([1, 2, 4], [3.0, 12.0, 48.0]) == pytest.approx(2.0)


@pytest.mark.parametrize("name", PRIORS)
def test_the_naive_model_is_the_same_posterior(name):
    g = gram(15, 3)
    x = np.random.default_rng(0).normal(size=(3, 15))
    ours, _ = Density.of(bsvdd.build(g, PRIORS[name])).value_and_gradient(x)
    # a few calls: nothing has to be compiled
    log_density = naive(g, PRIORS[name]).compile_logp(mode="FAST_COMPILE")
    theirs = [log_density({"beta": each}) for each in x]
    assert np.diff(ours) == pytest.approx(np.diff(theirs), rel=1e-9)


@pytest.mark.parametrize("name", ["ecoli_imU", "abalone_9v18", "vehicle_van"])
def test_the_guide_quotes_the_stored_modes(name):
    docs = Path(__file__).parents[2] / "docs"
    rows = json.loads((docs / "modes.json").read_text())["rows"]
    lines = (docs / "measurements.md").read_text(encoding="utf-8").splitlines()
    (line,) = (line for line in lines if re.match(rf"\| {name}, \d+ and \d+ \|", line))
    for priors, cell in zip(("default", "published"), line.split("|")[2:4], strict=True):
        (row,) = (
            row
            for row in rows
            if (row["data set"], row["bandwidth"], row["priors"]) == (name, "scale", priors)
        )
        auc, r_hat, ess = map(float, cell.replace("*", "").split(","))
        lowest, highest = row["auc"]  # of the chains; the guide has that of all draws
        assert lowest - 0.001 <= auc <= highest + 0.001
        assert (r_hat, ess) == (round(row["r_hat"], 3), round(row["ess"]))


def of_given(stored):
    for r in stored["given"]:
        numbers = [
            r[f"{name} {what}"] for what in ("found", "false") for name in ("joint", "given")
        ]
        yield f"| {r['relation']} | {r['columns']} | {' | '.join(map(share, numbers))} |"


def of_tail(stored):
    for r in stored["tail"]:
        rates = [
            ", ".join(
                f"{r[f'{name} {rate}'] / float(rate):.1f}" for rate in ("0.01", "0.001", "0.0001")
            )
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


def share(value, digits=2):
    text = f"{value:.{digits}f}"
    return text if value >= 0.9999 else text.removeprefix("0")


@pytest.mark.parametrize("lines", [of_given, of_tail, of_stream], ids=lambda f: f.__name__)
def test_the_guide_has_the_stored_answers_to_questions(lines):
    docs = Path(__file__).parents[2] / "docs"
    stored = json.loads((docs / "questions.json").read_text(encoding="utf-8"))
    page = (docs / "measurements.md").read_text(encoding="utf-8")
    expected = list(lines(stored))
    assert [line for line in expected if line not in page] == []
