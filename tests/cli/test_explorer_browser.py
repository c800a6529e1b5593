"""The explorer in a browser: Voilà serves a notebook, Chromium moves a slider.

The screenshots are kept in ``test-artifacts/``.
"""

from pathlib import Path

import pytest

from tests.cli.browser import CHROMIUM, SERVER, chromium, served

ARTIFACTS = Path(__file__).parents[2] / "test-artifacts"
FIRST, CHANGE = 200, 60  # seconds until a first fit, a change
CELLS = [
    "import bsvdd\n"
    "from bsvdd.comparison import datasets\n"
    "data = datasets.embedded('wine_cultivar3')\n"
    "bsvdd.explore(data.X[:, :2], est=bsvdd.BDD(draws=200), own=False)"
]


@pytest.mark.browser
@pytest.mark.timeout(SERVER + FIRST + 2 * CHANGE)
@pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium found: apt-get install chromium"
)
def test_a_slider_moved_by_keyboard_changes_picture_numbers_and_code(tmp_path):
    errors: list[str] = []
    with served(CELLS, tmp_path) as address, chromium() as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address, timeout=1000 * FIRST)
        page.wait_for_selector("img.bsvdd-picture", timeout=1000 * FIRST)
        first = page.get_attribute("img.bsvdd-picture", "src")
        assert not page.locator("text=before").count()
        handle = page.locator(".bsvdd-rate .noUi-handle")
        handle.focus()
        handle.press("ArrowRight")
        changed = "since => document.querySelector('img.bsvdd-picture').src !== since"
        page.wait_for_function(changed, arg=first, timeout=1000 * CHANGE)
        page.wait_for_selector("th:has-text('before')", timeout=1000 * CHANGE)
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / "explorer.png", full_page=True)
        assert "FalseAlarm(rate=0.11)" in page.locator("textarea").first.input_value()
        assert not page.locator(".bsvdd-own").count()
    assert not errors
