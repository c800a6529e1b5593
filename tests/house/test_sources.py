"""Texts on the sources: titles, slides that were read, and what no source says.

The slides are by Kim (2024). A text that names another slide needs it to be read first.
"""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TURKOZ = "Multi-class Bayesian support vector data description with anomalies"
OH = "이상치 탐지를 위한 베이지안 Support vector data description"
BAE = "Minor class를 이용한 베이지안 Support vector data description"
TITLES = {
    "paper/paper.bib": [TURKOZ, OH, BAE],
    "bsvdd/estimators/bayesian.py": [TURKOZ, OH, BAE],
}
SLIDES = {  # some words or symbols of each slide that a text names
    4: "rows with Y = 0",
    12: "d ≤ d_(c)",
    14: "Σα = 1; Σ = I; 0 < α < 1",
    15: "Σ = I",
    19: "P(d_z ≤ D_opt | data) > .5; P(a | data), P(d_z | data)",
    20: "cross-validation, D_opt = 19.9",
    23: "Σα0 − Σα1 = 1; 0 ≤ α1 ≤ 1",
    24: "mean of τ; Σ = I; Beta(1, 1)",
    28: "no cross-validation",
    29: "abnormal/all",
    47: "β_1 ~ N(.96, v)",
    48: "references",
}
UNSUPPORTED = [  # what no source says
    "authors' code",
    "author's code",
    'in the code"',
    "epsilon only (as in the note",
    "They do not say which rows train",
    "Sigma = I is ours",
    "nu = .5 and Sigma = I",
    "the mean of BSVDD and Sigma",
    'what "ratio 1/10" means',
    "nothing in the model asks for it",
    "Oh (2023), Bayesian",
    "Oh, Bayesian support vector data description",
    "Bae (2024), Bayesian",
    "Turkoz and Kim (2022), Bayesian data description",
]
ROOMS = ("models", "inference", "bsvdd", "notebooks")
TEXTS = [
    path.relative_to(ROOT).as_posix()
    for path in [
        *(path for room in ROOMS for path in (ROOT / room).rglob("*.py")),
        *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
        *(ROOT / "README.md", ROOT / "paper" / "paper.bib"),
    ]
]


@cache
def read(path):
    """Return the text in one line: no comment signs, joins of strings, TeX braces."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".bib"):
        text = re.sub(r"[{}]", "", text)
    text = re.sub(r'"\s*\n\s*"', "", text)
    return re.sub(r"\s*\n(?:# |\s)*", " ", text)


@pytest.mark.parametrize("path", TITLES)
def test_the_titles_of_the_sources(path):
    assert [title for title in TITLES[path] if title not in read(path)] == []


@pytest.mark.parametrize("words", UNSUPPORTED)
def test_what_no_source_says_stands_nowhere(words):
    assert [path for path in TEXTS if words in read(path)] == []


def test_every_slide_that_a_text_names_has_a_row():
    for path in TEXTS:
        named = {int(number) for number in re.findall(r"[Ss]lide (\d+)", read(path))}
        assert named <= set(SLIDES), path
