"""The figures in pages are those of the stored tables; the guide is one sitting."""

from pathlib import Path

import pytest

from docs import figures

ROOT = Path(__file__).parents[2]
PAGES = [p for p in (ROOT / "docs").rglob("*.md") if "<!-- figures:" in p.read_text("utf-8")]
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_figures_are_as_stored(path):
    text = path.read_text(encoding="utf-8")
    assert figures.rewritten(text) == text, "uv run python -m docs figures"


def test_each_figure_stands_in_a_page():
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    named = {found[2] for text in texts for found in figures.BLOCK.finditer(text)}
    assert named == set(figures.FIGURES)


def test_lengths():
    words = {path.stem: len(path.read_text(encoding="utf-8").split()) for path in GUIDE}
    assert sum(words.values()) <= 12_000 and len(words) <= 13
    assert words["which_model"] <= 400
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900
