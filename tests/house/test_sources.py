"""Each statement on a source, beside a few words or symbols of the slide that has it.

The slides are those of Kim (2024). A row is the statement, what the slide has, and its
number. A statement that changes needs the slide to be read again.
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
STATEMENTS = {
    "bsvdd/estimators/as_published.py": [
        ("mode on the convex set (sum 1, all in", "Σα = 1", 14),
        ("Sigma = I (slide 14 of Kim 2024)", "Σ = I", 14),
        ("Sigma = I (slide 15 of Kim 2024)", "Σ = I", 15),
        ("tau has the mean of BSVDD's beta", "mean of τ", 24),
        ("and Sigma = I, and a = b = 1 (slide 24", "Σ = I", 24),
        ("the mode on the convex set, sum 1 and all in (0, 1)", "0 < α < 1", 14),
        ("the c-th smallest training distance (slide 12", "d ≤ d_(c)", 12),
        ("a = b = 1 (slide 24 of Kim 2024)", "Beta(1, 1)", 24),
        ("P(d <= D_opt) > .5 (slide 19 of Kim 2024)", "P(d_z ≤ D_opt | data) > .5", 19),
        ("D_opt by cross-validation (slide 20)", "cross-validation, D_opt = 19.9", 20),
        ("P(d <= D_opt) > .5 (slide 28 of Kim 2024)", "no cross-validation", 28),
        ("the weights sum to one (slide 23 of Kim 2024)", "Σα0 − Σα1 = 1", 23),
        ("MVN(m1, Sigma1) on [0, 1] (slide 23", "0 ≤ α1 ≤ 1", 23),
    ],
    "notebooks/05_as_published.py": [
        (r"\alpha \sim N(m, I)$ (slide 14)", "Σ = I", 14),
        (r"\beta \sim N(m, I)$ (slide 15)", "Σ = I", 15),
        (
            r"\tau \sim N(m, I)$ and $\alpha_1 \sim \mathrm{Beta}(1, 1)$ (slide 24)",
            "Σ = I, Beta",
            24,
        ),
        ("Slide 14 has it on the convex set", "0 < α < 1", 14),
        (r"d \le d_{(c)}$ (slide 12)", "d ≤ d_(c)", 12),
        (r"D_\mathrm{opt} = 19.9", "D_opt = 19.9", 20),
        ("the picture of slide 19", "P(a | data), P(d_z | data)", 19),
        ("the rule is on slide 28", "no cross-validation", 28),
    ],
    "docs/guide/concepts.md": [
        ("as BDD's own rule does (slide 12 of Kim 2024)", "d ≤ d_(c)", 12),
        ("is the rule of slide 19 of Kim (2024)", "P(d_z ≤ D_opt | data) > .5", 19),
        ("Slide 20 of Kim (2024) says cross-validation", "cross-validation", 20),
    ],
    "bsvdd/comparison/slides.py": [
        ("Slide 29 defines the imbalance ratio", "abnormal/all", 29),
        ("Slide 47 has beta_j ~ N(b_j, v)", "β_1 ~ N(.96, v)", 47),
        ("slide 4 has x_0 as the rows with y = 0", "rows with Y = 0", 4),
    ],
    "bsvdd/estimators/bayesian.py": [
        ("the rule of BDD (slide 12 of Kim 2024)", "d ≤ d_(c)", 12)
    ],
}
UNSUPPORTED = [  # what no source says
    *("authors' code", "author's code", 'in the code"', "epsilon only (as in the note"),
    "They do not say which rows train",
    *("Sigma = I is ours", "nu = .5 and Sigma = I", "the mean of BSVDD and Sigma"),
    *(
        'what "ratio 1/10" means',
        "nothing in the model asks for it",
        "Oh (2023), Bayesian",
    ),
    *("Oh, Bayesian support vector data description", "Bae (2024), Bayesian"),
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


@pytest.mark.parametrize("path", STATEMENTS | TITLES)
def test_the_statements_stand_where_they_are_said(path):
    said = [statement for statement, _, _ in STATEMENTS.get(path, [])] + TITLES.get(
        path, []
    )
    assert [statement for statement in said if statement not in read(path)] == []


@pytest.mark.parametrize("words", UNSUPPORTED)
def test_what_no_source_says_stands_nowhere(words):
    assert [path for path in TEXTS if words in read(path)] == []


def test_every_slide_that_a_text_names_has_a_row():
    known = {slide for rows in STATEMENTS.values() for _, _, slide in rows} | {
        48
    }  # references
    for path in TEXTS:
        named = {int(number) for number in re.findall(r"[Ss]lide (\d+)", read(path))}
        assert named <= known, path
