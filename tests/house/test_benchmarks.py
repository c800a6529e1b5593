"""The frame of the stopwatch: rows by name, one table; files written at once."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from bsvdd.inference.sampling import OfNormals
from bsvdd.models.bsvdd import BSVDD

from benchmarks import published, shared, stopwatch
from benchmarks.stopwatch import Row, gram, naive

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def rows(monkeypatch):
    first = Row(lambda quick: (2.0, {"a": 1.0}), "it", 1.0, "", "the other")
    second = Row(lambda quick: (3.0, {}), "something", 4.0, "s", "")
    monkeypatch.setattr(stopwatch, "ROWS", {"a_row": first, "another": second})


def test_rows_are_printed_and_each_replaces_its_own(rows, tmp_path, capsys):
    stopwatch.main(["--quick", "--out", str(tmp_path)])
    assert not list(tmp_path.iterdir())  # a quick run saves nothing
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


def test_parts_are_stored_one_by_one(tmp_path):
    def first(chosen):
        return chosen.n

    def picture(chosen):
        pass

    def stopped(chosen):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared.by_part("x", "", (first, picture, stopped), ["--out", str(tmp_path)], n=3)
    assert json.loads((tmp_path / "x.json").read_text()) == {"first": 3}


def test_what_is_stored_in_docs_is_recorded(tmp_path, monkeypatch):
    docs = tmp_path / "docs"
    docs.mkdir()
    monkeypatch.setattr(shared, "DOCS", docs)
    monkeypatch.setattr(shared, "revision", lambda: "abc1234")
    shared.write(docs / "x.json", {})
    shared.write(docs / "x.json", {}, part="first")
    shared.write(tmp_path / "y.json", {})
    rows = pd.read_csv(docs / "evidence.csv")
    assert rows["part"].tolist() == ["all", "first"] and set(rows["commit"]) == {"abc1234"}
    assert set(rows["command"]) == {"python -m benchmarks.x"}
    shared.write(docs / "x.json", {})
    assert pd.read_csv(docs / "evidence.csv")["part"].tolist() == ["all"]


@pytest.mark.parametrize("case", stopwatch.CASES)
def test_the_naive_model_is_the_same_posterior(case):
    g, prior = gram(15, 3), stopwatch.CASES[case][1]
    z = np.random.default_rng(0).normal(size=(3, 15))
    f = OfNormals(BSVDD(g, prior))
    ours, ((beta,), _) = f(z)[0] - np.square(z).sum(axis=1) / 2.0, f.values(z)
    # a few calls: nothing has to be compiled
    log_density = naive(g, prior).compile_logp(mode="FAST_COMPILE")
    theirs = [log_density({"beta": each}) for each in beta]
    assert np.diff(ours) == pytest.approx(np.diff(theirs), rel=1e-9)


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
        assert apart <= 0.0015
    assert "differs by .001 at most" in page
