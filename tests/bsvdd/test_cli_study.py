"""``bsvdd study``, called as a user calls it."""

from dataclasses import replace

import pandas as pd
import pytest
from bsvdd.comparison import models, studies
from bsvdd.comparison.runner import Cell
from click.testing import CliRunner

from bsvdd.cli import main

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("default::bsvdd.inference.warning.DataWarning"),
]


def call(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture(params=["slides", "settings", "real"])
def small(request, monkeypatch):
    """A quick study of models that fit in milliseconds."""
    own = getattr(studies, request.param)(quick=True)
    fast = {"SVDD": own.models["SVDD"], "BDD": own.models["BDD"]}
    if request.param != "slides":
        fast |= models.by_name(["OCSVM", "kNN"])
    study = replace(own, scenarios=own.scenarios[:3], models=fast, replicates=1)
    monkeypatch.setattr(studies, request.param, lambda *_: study)
    return request.param


def test_a_study_prints_and_writes_its_tables_and_a_second_run_computes_nothing(
    small, tmp_path, monkeypatch
):
    out = tmp_path / "out"
    result = call("study", small, "--out", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert {p.name for p in out.iterdir()} == {"cells", "results.csv", "table.txt"}
    text = (out / "table.txt").read_text(encoding="utf-8")
    assert text.strip() in result.stdout and text.startswith("Positive = minority")
    words = ["mean ranks over 3 data sets", "Which model when", "not told apart"]
    words = ["0.167 (0.034)", "slides, recast", "distance"] if small == "slides" else words
    assert [each for each in words if each not in text] == []
    results = pd.read_csv(out / "results.csv")
    assert len(results) == len(list((out / "cells").iterdir())) == (6 if small == "slides" else 12)
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("computed again"))
    again = call("study", small, "--out", out, "--jobs", 1)
    assert again.exit_code == 0 and again.stdout == result.stdout
