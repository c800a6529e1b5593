"""The evidence: cells are computed once, and pages show stored tables."""

import json
import re
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import before, false_alarms, measure, one_table, page, published
from benchmarks.__main__ import MEASUREMENTS, main
from benchmarks.measure import Run, number, texts

ROOT = Path(__file__).parents[2]
SHOWN = {
    (name, title)
    for path in (ROOT / "docs").rglob("*.md")
    for _, name, title, _ in page.BLOCK.findall(path.read_text(encoding="utf-8"))
}


def square(folder, n):
    with (folder / "calls").open("a") as calls:
        calls.write(f"{n}\n")
    if n == 3 and len((folder / "calls").read_text().splitlines()) <= 3:
        raise KeyboardInterrupt
    return [{"n": n, "square": n * n}]


def test_a_run_that_was_stopped_goes_on(tmp_path):
    run, cells = (
        Run("x", tmp_path / "cells", None, 1),
        [(tmp_path, n) for n in (1, 2, 3)],
    )
    with pytest.raises(KeyboardInterrupt):
        run.cells(square, cells)
    assert run.cells(square, cells)["square"].tolist() == [1, 4, 9]
    assert (tmp_path / "calls").read_text().split() == ["1", "2", "3", "3"]
    few = Run("x", tmp_path / "few", None, 1, few=2).cells(square, cells)
    assert few["n"].tolist() == [1, 3]


def test_tables_are_stored_with_command_commit_and_date(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "STORED", tmp_path)
    monkeypatch.setattr(page, "STORED", tmp_path)
    frame = pd.DataFrame(
        {"a": [0.12, 12.5, np.nan], "b": [1, 2000, 3]}, ["x", "y", "z"]
    )
    measure.store("some", {"first": texts(frame.rename_axis("of"))})
    found = measure.stored("some")
    assert found["tables"]["first"][1:] == [
        ["x", ".12", "1"],
        ["y", "12.50", "2,000"],
        ["z", "–", "3"],
    ]
    assert re.fullmatch(r"[0-9a-f]{7,}\+?", found["commit"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"])
    text = "a\n<!-- table: some, first -->\nold\n<!-- end -->\nb"
    new = page.rewritten(text)
    assert (
        "| of | a | b |\n| --- | --- | --- |\n| x | .12 | 1 |" in new
        and "old" not in new
    )
    assert "`python -m benchmarks some`, " in new and page.rewritten(new) == new


def test_numbers():
    assert [number(v) for v in (0.5, 1.0, -0.25, 1234.5, None)] == [
        ".50",
        "1.00",
        "-0.25",
        "1,234.50",
        "–",
    ]


def test_every_table_is_stored_and_shown():
    stored = {
        (path.stem, title)
        for path in measure.STORED.glob("*.json")
        for title in json.loads(path.read_text(encoding="utf-8"))["tables"]
    }
    assert stored == SHOWN and {name for name, _ in SHOWN} == set(MEASUREMENTS)
    # of one run; a new measurement has its own commit until all are made anew
    assert len({measure.stored(name)["commit"] for name in MEASUREMENTS}) <= 3
    for path in (ROOT / "docs").rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        assert page.rewritten(text) == text, f"{path}: uv run python -m benchmarks.page"


def test_an_unknown_measurement_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["cleen"])
    assert "no measurement cleen; there are clean, " in capsys.readouterr().err


@pytest.mark.long
def test_cells_measure():
    """One cell of a few measurements; the others differ in the rows only."""
    (row,) = false_alarms.of_sample(30, 0)
    assert 0.0 < row["alarms"] < 0.4
    (row,) = one_table.of_wild("correlated", "clump", 200, 1000.0)
    assert row["listed"] == 1.0
    rows = pd.DataFrame(published.reading(5.0, "polynomial 2, raw", "one class"))
    assert len(rows) == 28 and rows["f1"].between(0, 1).all()
    ends = published.nearest(rows)
    assert ends["model"].tolist() == ["BDD", "BDD", "SVDD", "SVDD"]


def test_before_times_both_trees(capsys, monkeypatch):
    monkeypatch.setattr(before, "MEASURED", {"it": before.IMPORT})
    before.main([str(ROOT), "--repeats", "1"])
    (ratio,) = re.findall(r"it: (\S+)", capsys.readouterr().out)
    assert float(ratio) > 0.0


def test_kinds_of_generated_tables():
    for kind, odd in product(one_table.NORMAL, one_table.ODD):
        X, truth = one_table.table(kind, odd, 60, 0.1, 0)
        assert len(X) == 60 and truth.sum() == 6 and X.notna().all(axis=None)
