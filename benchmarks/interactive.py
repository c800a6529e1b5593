"""The time that a user of the explorer waits. Each function measures one row of the table."""

from __future__ import annotations

import tempfile
import time
from functools import cache
from pathlib import Path

import numpy as np

import bsvdd

from .baselines import rows
from .browser import chromium, served
from .measure import Row

CHANGES = [
    *(("sd", v) for v in (0.7, 0.8, 0.9, 1.1, 1.2)),
    *(("likelihood_scale", v) for v in (0.5, 0.7, 1.5, 2.0, 1.0)),
    *(("bandwidth", v) for v in (1.1, 1.2, 1.3, 1.4)),
    *(("level", v) for v in (0.4, 0.6, 0.5)),
    *(("row", v) for v in (10, 200, 310)),
]


def explorer(quick: bool) -> Row:
    """Measure the time from the change of a slider to the new picture and numbers."""
    n0 = 100 if quick else 300
    X = np.concatenate([rows(n0, 10), rows(n0 // 10, 10, seed=1) + 1.5])
    shown = bsvdd.explore(X, np.repeat([0, 1], [n0, n0 // 10]))
    seconds: dict[str, list[float]] = {}
    for name, value in CHANGES:
        value = min(value, n0) if name == "row" else value
        start = time.perf_counter()
        shown.controls[name].value = value
        shown.wait()
        seconds.setdefault(name, []).append(time.perf_counter() - start)
        assert getattr(shown.setting, name) == value, shown._page.messages.value
    together = np.concatenate(list(seconds.values()))
    details = {name: float(np.median(s)) for name, s in seconds.items()}
    what = f"slider to refreshed picture, n0 = {n0}, median of {len(together)} changes"
    return Row(what, "", float(np.median(together)), 1.0, "s", details)


IN_BROWSER = """
import time
from IPython.display import HTML, display
started = time.time()
import numpy as np
import bsvdd
X = np.random.default_rng(0).normal(size=({n0} + {n0} // 10, 10))
X[{n0}:] += 1.5
explorer = bsvdd.explore(X, np.repeat([0, 1], [{n0}, {n0} // 10]))
display(HTML(f'<span class="started" data-seconds="{{started}}"></span>'))
explorer
"""
READY = """() => {
    const image = document.querySelector("img.bsvdd-picture");
    if (!image || !image.complete || !image.naturalWidth) return null;
    const started = document.querySelector(".started");
    return started && {seconds: Date.now() / 1000 - Number(started.dataset.seconds)};
}"""
WATCH = """() => {
    const image = document.querySelector("img.bsvdd-picture");
    window.measured = [];
    let pressed = 0;
    document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
    image.addEventListener("load", () => {
        window.measured.push((performance.now() - pressed) / 1000);
    });
}"""
OPENED, MOVED = 3, 9  # times that the page is opened, and that a slider is moved


@cache
def _in_browser(quick: bool) -> tuple[list[float], list[float]]:
    """Return the seconds from the cell's start to its picture, and from a key to the next."""
    first: list[float] = []
    cells = [IN_BROWSER.format(n0=100 if quick else 300)]
    with (
        tempfile.TemporaryDirectory() as folder,
        served(cells, Path(folder)) as address,
        chromium() as page,
    ):
        for _ in range(OPENED):
            page.goto(address, timeout=240_000)
            ready = page.wait_for_function(READY, timeout=240_000, polling=50)
            first.append(ready.json_value()["seconds"])
        page.evaluate(WATCH)
        handle = page.locator(".bsvdd-sd .noUi-handle")
        for i in range(MOVED):
            handle.press("ArrowRight" if i % 2 else "ArrowLeft")
            page.wait_for_function(f"() => window.measured.length > {i}", timeout=90_000)
        seconds: list[float] = page.evaluate("window.measured")
    return first, seconds


def first_picture(quick: bool) -> Row:
    """Measure the time from the run of the cell, in a new kernel, to the picture in Chromium."""
    first, _ = _in_browser(quick)
    details = {f"page {i + 1}": seconds for i, seconds in enumerate(first)}
    what = "cell of a new kernel, with imports, to the explorer's picture in a browser, n0 = 300"
    return Row(what, "", float(np.median(first[1:])), 5.0, "s", details)


def slider_in_browser(quick: bool) -> Row:
    """Measure the time from a key on the slider of the prior's sd to the picture in Chromium."""
    _, moved = _in_browser(quick)
    details = {"shortest": min(moved), "longest": max(moved)}
    what = f"slider to picture in a browser, n0 = 300, median of {MOVED} changes of the prior's sd"
    return Row(what, "", float(np.median(moved)), 0.4, "s", details)


ROWS = [explorer, first_picture, slider_in_browser]
