"""The explorer in a real browser: Voilà serves a notebook, headless Chromium opens it.

The screenshots are kept in ``test-artifacts/``.
"""

from pathlib import Path

import pytest
from bsvdd.comparison import datasets

from benchmarks.browser import CHROMIUM, SERVER, chromium, served
from bsvdd.explorer import explore, picture

ARTIFACTS = Path(__file__).parents[2] / "test-artifacts"
FIRST, CHANGE = 240, 90  # seconds until a first fit, a change
CELLS = [
    "import bsvdd\n"
    "from bsvdd.comparison import datasets\n"
    "data = datasets.embedded('wine_cultivar3')\n"
    "explorer = bsvdd.explore(data.X, data.minority)\n"
    "explorer"
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.timeout(SERVER + FIRST + 6 * CHANGE),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium found: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with served(CELLS, tmp_path_factory.mktemp("served")) as address:
        yield address


@pytest.fixture(scope="module")
def page():
    with chromium() as page:
        yield page


class Screen:
    """What a person sees of the explorer."""

    def __init__(self, page):
        self.page = page

    def wait_for(self, text):
        code = "text => document.body.innerText.includes(text)"
        self.page.wait_for_function(code, arg=text, timeout=1000 * CHANGE)

    def wait_for_change(self, since=None, seconds=CHANGE):
        """Wait until the picture is another one than ``since``, and up to date."""
        code = """since => {
            const image = document.querySelector("img.bsvdd-picture");
            return image && image.src !== since && document.querySelector(".bsvdd-ready");
        }"""
        self.page.wait_for_function(code, arg=since, timeout=1000 * seconds)

    @property
    def source(self):
        return self.page.get_attribute("img.bsvdd-picture", "src")

    @property
    def picture(self):
        """The bytes of the picture, by way of the browser."""
        code = "async url => Array.from(new Uint8Array(await (await fetch(url)).arrayBuffer()))"
        return bytes(self.page.evaluate(code, self.source))

    def column(self, selector):
        return self.page.locator(f".bsvdd-summary {selector}").all_inner_texts()

    @property
    def figures(self):
        return self.column("tr td:nth-of-type(1)")

    def click(self, x, y):
        """Click on the picture at shares of its width and height."""
        image = self.page.locator("img.bsvdd-picture")
        box = image.bounding_box()
        image.click(position={"x": x * box["width"], "y": y * box["height"]})

    def press(self, control, key):
        handle = self.page.locator(f".bsvdd-{control} .noUi-handle")
        handle.focus()
        handle.press(key)

    def type_number(self, control, text):
        readout = self.page.locator(f".bsvdd-{control} .widget-readout")
        readout.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)
        self.page.keyboard.press("Enter")

    def keep(self, name):
        ARTIFACTS.mkdir(exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"explorer-{name}.png", full_page=True)


@pytest.fixture(scope="module")
def screen(address, page):
    """The explorer with its first picture, on which each test goes on from the one before.

    No error of a script may have been seen at the end.
    """
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address, timeout=1000 * FIRST)
    screen = Screen(page)
    screen.wait_for_change(seconds=FIRST)
    yield screen
    assert not errors


def test_a_slider_moved_by_keyboard_changes_picture_and_numbers(screen):
    page = screen.page
    screen.keep("start")
    source, picture, figures = screen.source, screen.picture, screen.figures
    assert picture.startswith(b"\x89PNG")
    assert figures and not screen.column(".bsvdd-before")

    screen.press("sd", "ArrowRight")
    screen.wait_for_change(source)
    screen.wait_for("prior sd 1.5 → 1.78")
    screen.keep("changed")
    assert screen.picture != picture
    assert screen.figures != figures
    assert page.locator("text=Grey is the setting before").count()
    assert screen.column(".bsvdd-before") == ["setting before", *figures]

    page.click(".bsvdd-show-code")
    page.wait_for_selector(".bsvdd-code textarea", state="visible", timeout=1000 * CHANGE)
    code = page.input_value(".bsvdd-code textarea")
    assert "priors.Flat(sd=1.7" in code and "cutoffs.Best(" in code
    compile(code, "copied", "exec")

    selected = "box => box.value.slice(box.selectionStart, box.selectionEnd)"
    page.evaluate("() => { navigator.clipboard.writeText = async () => { throw Error('no') } }")
    page.click(".bsvdd-clipboard")
    screen.wait_for("selected: press Ctrl+C")
    assert page.eval_on_selector(".bsvdd-code textarea", selected) == code
    page.evaluate("() => { navigator.clipboard.writeText = async t => { window.copied = t } }")
    page.click(".bsvdd-clipboard")
    screen.wait_for("copied")
    assert page.evaluate("window.copied") == code
    with page.expect_download() as download:
        page.click(".bsvdd-save")
    assert download.value.suggested_filename == "bsvdd-explorer.png"
    assert Path(download.value.path()).read_bytes() == screen.picture
    assert page.locator(".bsvdd-why").count() == 1

    source = screen.source
    screen.type_number("level", "7")
    screen.wait_for_change(source)
    screen.wait_for("normal above P 0.5 → 0.95.")
    screen.press("level", "ArrowRight")
    assert float(page.inner_text(".bsvdd-level .widget-readout")) == 0.95
    screen.keep("end")


def place_of(row):
    """Where the picture has a row, as shares of its width and height."""
    data = datasets.embedded("wine_cultivar3")
    plane = explore(data.X, data.minority, draws=100)._plane
    share = (plane.xy[row] - plane.low) / (plane.high - plane.low)
    left, bottom, wide, tall = picture.BOXES["plane"]
    return left + share[0] * wide, 1.0 - bottom - share[1] * tall


def test_a_row_is_clicked(screen):
    page, source = screen.page, screen.source
    lone = 158  # the highest minority row
    screen.click(*place_of(lone))
    screen.wait_for_change(source)
    screen.wait_for(f"why row {lone} is")
    assert page.inner_text(".bsvdd-row .widget-readout") == str(lone)
    assert f"(row {lone}, " in page.inner_text(".bsvdd-summary")
    screen.keep("clicked")


def test_two_settings_stand_side_by_side(screen):
    page, source = screen.page, screen.source
    page.click(".bsvdd-pin")
    screen.wait_for_change(source)
    source = screen.source
    screen.type_number("bandwidth", "1.5")
    screen.wait_for_change(source)
    screen.wait_for("Grey is the pinned setting")
    size = page.eval_on_selector("img.bsvdd-picture", "i => [i.naturalWidth, i.naturalHeight]")
    assert size == [picture.WIDTH, picture.PINNED_HEIGHT]
    screen.keep("pinned")


def test_a_cancelled_fit_leaves_the_screen_as_it_was(screen):
    page = screen.page
    source, picture, figures = screen.source, screen.picture, screen.figures
    page.click(".bsvdd-published input")  # random-walk Metropolis, for a minute or longer
    screen.wait_for("fitting")
    page.wait_for_timeout(3000)
    assert page.locator(".bsvdd-cancel").is_enabled()
    page.click(".bsvdd-cancel")
    screen.wait_for("cancelled; the picture shows the setting before")
    assert not page.locator(".bsvdd-published input").is_checked()
    page.wait_for_timeout(3000)  # nothing of it comes late
    assert (screen.source, screen.picture, screen.figures) == (source, picture, figures)
    screen.keep("cancelled")
    screen.press("sd", "ArrowRight")
    screen.wait_for_change(source)
