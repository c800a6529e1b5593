"""The page in Chromium, from the command's server and from Jupyter's widget.

The screenshots are kept in ``test-artifacts/``.
"""

import http.client
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bsvdd
from bsvdd.comparison import datasets
from bsvdd.explorer.server import Server
from tests.cli.helpers import call
from tests.explorer.browser import CHROMIUM, SERVER, chromium, served

ARTIFACTS = Path(__file__).parents[2] / "test-artifacts"
FIRST, CHANGE = 200, 60  # seconds until a first fit, a change
CELLS = [
    "import bsvdd\n"
    "from bsvdd.comparison import datasets\n"
    "data = datasets.embedded('wine_cultivar3')\n"
    "bsvdd.explore(data.X[:60, :2], est=bsvdd.BDD(draws=200), own=False)"
]
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*:bsvdd.base.warning.DiagnosticWarning"
)


@pytest.fixture(scope="module")
def server():
    wines = datasets.embedded("wine_cultivar3").X[:60, :3]
    frame = pd.DataFrame(wines, columns=["a", "b", "c"]).rename(index="wine {}".format)
    explorer = bsvdd.explore(frame, est=bsvdd.BSVDD(draws=200), own=False)
    with Server("wines & <more>") as made:
        made.explorer = explorer
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def asked(server, path, body=None, **headers):
    """Return the status, and the body, of an answer."""
    link = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    given = {"Content-Type": "application/json"} if body else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    link.request("POST" if body else "GET", path, body, given | named)
    answer = link.getresponse()
    return answer.status, answer.read()


def test_only_the_token_opens_the_page(server):
    own = f"/{server.token}/"
    assert asked(server, own)[0] == 200
    assert asked(server, f"{own}page.js")[0] == 200
    for path in ("/", "/page.js", f"/{server.token[:-1]}/", "/x/state"):
        for body in (None, "{}"):
            assert asked(server, path, body) == (403, b"")
    for headers in ({"Host": "evil.org"}, {"Origin": "http://evil.org"}):
        assert asked(server, own, **headers) == (403, b"")
        assert asked(server, f"{own}state", "{}", **headers) == (403, b"")
    assert asked(server, f"{own}../secret")[0] == 404
    for body in ("no JSON", "[]", "x" * 20_000):
        assert asked(server, f"{own}state", body) == (400, b"")
    text = asked(server, f"{own}state", '{"own prior": "1/0"}')[1].decode()
    assert "no control is named" in text and "ZeroDivision" not in text


def changed_row(page, name, move):
    """Return P(normal) of the row in focus before and after a move of a control."""
    idle = ".bsvdd:not(.waiting):not(.drawing) .row b"
    page.wait_for_selector(idle, timeout=1000 * FIRST)
    before = page.inner_text(".bsvdd .row p >> nth=0")
    move(page.locator(f".bsvdd [name='{name}']"))
    page.wait_for_function(
        "was => !document.querySelector('.bsvdd.waiting, .bsvdd.drawing') && "
        "document.querySelector('.bsvdd .row p').innerText !== was",
        arg=before,
        timeout=1000 * CHANGE,
    )
    after = page.inner_text(".bsvdd .row p >> nth=0")
    was, now = re.search(r"P\(normal\) ([\d.]+) → ([\d.]+)", after).groups()
    assert f"P(normal) {was}," in before
    return was, now


@pytest.mark.browser
@pytest.mark.timeout(SERVER + 2 * CHANGE)
@pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium found: apt-get install chromium"
)
def test_a_prior_changes_a_row_on_the_page_of_the_command(server):
    server.explorer.set(row="wine 3")
    decided = server.explorer.now.decision["probability_normal"]
    row = (decided - 0.5).abs().idxmin()
    server.explorer.set(row=row)
    errors = []
    with chromium() as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(server.address)
        was, now = changed_row(page, "prior", lambda c: c.select_option("RowSum"))
        P = server.explorer.now.decision["probability_normal"]
        assert f"{P[row]:.2f}" == now != was == f"{decided[row]:.2f}"
        assert page.evaluate("document.documentElement.scrollHeight") <= 900
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / "explore.png")
    assert not errors


@pytest.mark.browser
@pytest.mark.timeout(SERVER + FIRST + 2 * CHANGE)
@pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium found: apt-get install chromium"
)
@pytest.mark.long
def test_a_slider_moved_by_keyboard_changes_the_widget(tmp_path):
    errors = []
    with served(CELLS, tmp_path) as address, chromium() as page:
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address, timeout=1000 * FIRST)
        page.wait_for_selector(".bsvdd .decisions tr", timeout=1000 * FIRST)
        page.locator(".bsvdd .decisions tr >> nth=1").click()  # the least sure
        page.wait_for_function(
            "document.querySelector('.bsvdd .decisions tr.focus')",
            timeout=1000 * CHANGE,
        )
        was, now = changed_row(page, "false alarms", lambda c: c.press("ArrowRight"))
        assert was != now and "rate=0.11" in page.inner_text(".bsvdd .code")
        assert not page.locator(".bsvdd [name='own prior']").count()
    assert not errors


def test_what_the_command_says(tmp_path, server):
    path = tmp_path / "one.csv"
    one = {"a": np.random.default_rng(0).normal(size=30)}
    pd.DataFrame(one).to_csv(path, index=False)
    said = call("explore", path, "--port", server.server_port, "--no-browser", code=1)
    assert "give another port" in said.output and "is the only column" in said.output
    bad = tmp_path / "bad.csv"
    bad.write_bytes(b"")
    said = call("explore", bad, code=1)
    assert str(bad) in said.output and "Traceback" not in said.output
    assert "does not exist" in call("explore", tmp_path / "no.csv", code=2).output
    assert "--label" in call("explore", path, "--minor", "1", code=2).output


def test_the_command_without_a_browser_names_its_address(tmp_path):
    path = tmp_path / "two.csv"
    pd.DataFrame(datasets.moon().X, columns=["a", "b"]).to_csv(path, index=False)
    program = (
        "import webbrowser; webbrowser.open = lambda address: False; "
        "from bsvdd.cli import main; main()"
    )
    command = [sys.executable, "-c", program, "explore", path, "--draws", "20"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        lines = [process.stdout.readline() for _ in range(2)]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{32}/\n", lines[0])
        said = next(line for line in process.stderr if "no browser" in line)
        process.terminate()
        process.communicate(timeout=30)
    assert said == "no browser was found: open this address in one\n"
