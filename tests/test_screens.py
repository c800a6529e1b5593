"""Screens and files, as users see them: each is a golden text in tests/screens.

    WRITE_SCREENS=1 uv run pytest -n 0 tests/test_screens.py

writes them anew. Words must be the same, and numbers to the last printed digit, which
may be one off where a machine rounds another way. Of a number that is written in full,
nine digits count. Seeds are fixed. Chains tune for 100 draws: rounding errors grow
while a sampler tunes, so that after 200 draws another processor would print other
numbers.
"""

import os
import re
from dataclasses import replace
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bsvdd
from bsvdd import BSVDD, SVDD, cutoffs
from bsvdd.comparison import models, studies
from bsvdd.comparison.runner import Cell
from bsvdd.comparison.slides import Slides
from tests.cli.helpers import SHOWN, call

pytestmark = SHOWN

STORE = Path(__file__).with_name("screens")
WRITE = os.environ.get("WRITE_SCREENS") == "1"
NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?(?!\w)")
RNG = np.random.default_rng(3)
N = 80
TABLE = pd.DataFrame(
    {
        "name": [f"n{i:02d}" for i in range(N)],
        "cost": np.exp(RNG.normal(size=N)).round(2),
        "size": RNG.normal(size=N).round(3),
        "city": RNG.choice(["Bonn", "Rome", "Oslo"], N),
        "day": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
        "kind": np.where(np.arange(N) % 8 == 5, "odd", "normal"),
    }
)
TABLE.loc[TABLE["kind"] == "odd", "size"] += 2.5
TABLE.loc[3, "cost"] = 250.0
TABLE.loc[41, "size"] = -15.0
TABLE.loc[60, "city"] = np.nan
COLUMNS = ["cost", "size", "city", "day"]
FEW = {"draws": 300, "tune": 100}


def masked(text, folder):
    """Return a text without what differs between two runs.

    That are the folder, versions of bsvdd and PyMC, seconds, and progress.
    """
    for name in ("bsvdd", "PyMC"):
        text = text.replace(f"{name} {version(name)}", f"{name} VERSION")
    text = text.replace(str(folder), "FOLDER")
    lines = (line.rstrip() for line in text.splitlines() if " so far" not in line)
    return re.sub(r"\d+(\.\d+)? (s|min)\b", "0 s", "\n".join(lines)) + "\n"


def last_digit(number):
    """Return one in the last printed digit, at most nine digits on; 0 for a count."""
    exponent = Decimal(number).as_tuple().exponent
    return max(10.0**exponent, 1e-9 * abs(float(number))) if exponent else 0.0


def check(name, text):
    """Compare a text with the stored one: the words, and the numbers as printed."""
    path = STORE / f"{name.replace(' ', '-')}.txt"
    if WRITE:
        path.write_text(text, encoding="utf-8")
    both = text, path.read_text(encoding="utf-8")
    words = [" ".join(NUMBER.sub("#", each).split()) for each in both]
    assert words[0] == words[1], f"{path}: its words differ; see the top of this file"
    numbers = (NUMBER.findall(each.replace("−", "-")) for each in both)
    changed = [
        (found, stored)
        for found, stored in zip(*numbers, strict=True)
        if abs(float(found) - float(stored))
        > 1.001 * max(last_digit(found), last_digit(stored))
    ]
    assert not changed, f"{path}: (found, stored) {changed}"


# of a fit


FITS = {
    "BSVDD": (BSVDD(**FEW), None),
    "BSVDD with labels": (
        BSVDD(cutoff=cutoffs.Best("g_mean"), minor_label="odd", **FEW),
        TABLE["kind"],
    ),
    "SVDD": (SVDD(), None),
}


@pytest.mark.parametrize("name", FITS)
def test_what_a_fit_says(name):
    est, y = FITS[name]
    est.fit(TABLE[COLUMNS].fillna({"city": "Rome"}), y)
    lines = [f"repr: {est!r}", "", f"unfitted: {type(est)()!s}", "", str(est), ""]
    lines += [bsvdd.methods(est), ""]
    if name.startswith("BSVDD"):
        lines += [est.summary().round(3).to_string(max_rows=8), ""]
    if hasattr(est, "decision"):
        lines += [
            repr(est.decision().head(4)),
            "",
            repr(est.decision(TABLE[COLUMNS].head(3))),
        ]
    check(f"fit {name}", masked("\n".join(lines), STORE))


def test_what_one_table_says():
    est = BSVDD(**FEW)
    rows = TABLE.set_index("name")[COLUMNS].fillna({"city": "Rome"})
    est.fit_predict(rows)
    found = bsvdd.stand_out(est, rows)
    check("one table", masked(f"{est!s}\n\n{found!s}\n\n{bsvdd.methods(est)}\n", STORE))


# of the command


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screens")
    TABLE.to_csv(folder / "t.csv", index=False)
    new = TABLE.iloc[:6].assign(size=[0.1, -0.2, 9.0, np.nan, 0.0, 1.0])
    new.to_csv(folder / "new.csv", index=False)
    return folder


KINDS = "--id name --label kind --minor odd"
LINES = {  # one after the other: score reads what fit has saved
    "outliers": "t.csv --id name --drop kind --draws 200 --tune 200 --top 5"
    " --out outliers.csv",
    "fit": f"t.csv {KINDS} --model SVDD --out m",
    "score": "m new.csv --id name --out score.csv",
    "compare": f"t.csv {KINDS} --model SVDD --model OCSVM --out c --replicates 2"
    " --jobs 1",
}
CALLS = {name: [name, *line.split()] for name, line in LINES.items()}


def called(arguments, folder, monkeypatch):
    """Return a command's screen at 80 columns, and the head of its CSV."""
    monkeypatch.chdir(folder)
    result = call(*arguments, COLUMNS="80")
    text = f"$ bsvdd {' '.join(arguments)}\n{result.stdout}\n-- stderr\n{result.stderr}"
    if arguments[-1].endswith(".csv"):
        lines = (folder / arguments[-1]).read_text().splitlines()
        text += "\n".join(["-- file", *lines[:6], ""])
    return masked(text, folder)


def test_the_screens_of_the_command(folder, monkeypatch, subtests):
    for name, arguments in CALLS.items():
        with subtests.test(name):
            check(f"command {name}", called(arguments, folder, monkeypatch))


@pytest.mark.parametrize(
    "name", ["slides", "real", pytest.param("settings", marks=pytest.mark.long)]
)
def test_the_screen_of_a_study(name, folder, monkeypatch):
    """A second run prints the same, and computes nothing."""
    own = getattr(studies, name)(quick=True)
    small = models.by_name(["SVDD", "BDD", "SVM", "logistic"], draws=40, tune=40)
    rows = own.scenarios if name == "real" else own.scenarios[:3]
    if name == "slides":
        small = {model: own.models[model] for model in ("SVDD", "BDD")}
        rows = [Slides(v=v, n_train=60, n_test=200, p=5) for v in (5.0, 10.0, 20.0)]
    study = replace(own, scenarios=rows, models=small, replicates=2)
    monkeypatch.setattr(studies, name, lambda *_: study)
    out = folder / f"s_{name}"
    run = ["study", name, "--jobs", "1", "--out", out.name]
    text = called(run, folder, monkeypatch)
    if name != "settings":
        check(f"command study {name}", text)
    assert {p.name for p in out.iterdir()} == {"cells", "results.csv", "table.txt"}
    assert len(pd.read_csv(out / "results.csv")) == len(study.cells())
    monkeypatch.setattr(Cell, "run", lambda self: pytest.fail("computed again"))
    again = called(run, folder, monkeypatch)
    assert again.partition("-- stderr")[0] == text.partition("-- stderr")[0]


@pytest.mark.parametrize("name", ["", *CALLS, "study"])
def test_help(name):
    check(f"help {name}".strip(), call(*name.split(), "--help", COLUMNS="80").output)
