"""A notebook in a real browser: Voilà serves it, headless Chromium opens it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

CHROMIUM = shutil.which("chromium")
SERVER = 60  # seconds until the server listens


@contextmanager
def served(cells: list[str], folder: Path) -> Iterator[str]:
    """Serve a notebook of these cells, give its address, and end the server.

    Raises
    ------
    RuntimeError
        The server did not listen in time; the message has its log.
    """
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = new_notebook(cells=list(map(new_code_cell, cells)), metadata=kernel)
    path = folder / "explorer.ipynb"
    nbformat.write(notebook, path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {
        f"JUPYTER_{name}_DIR": str(folder / name)
        for name in ("CONFIG", "RUNTIME", "DATA")
    }
    log = folder / "voila.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "voila", path, "--no-browser", f"--port={port}"],
            cwd=folder,
            env={**os.environ, **own, "IPYTHONDIR": str(folder), "MPLBACKEND": "agg"},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # so that what it starts can be ended with it
        )
    try:
        _wait_until_listening(server, port, log)
        yield f"http://127.0.0.1:{port}/"
    finally:
        _end(server)


def _wait_until_listening(
    server: subprocess.Popen[bytes], port: int, log: Path
) -> None:
    deadline = time.monotonic() + SERVER
    while time.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1.0)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(
        f"Voilà did not listen on port {port} in {SERVER} s:\n{log.read_text()}"
    )


def _end(server: subprocess.Popen[bytes]) -> None:
    """End the server's whole process group, kindly first."""
    for how, patience in ((signal.SIGTERM, 10), (signal.SIGKILL, 10)):
        try:
            os.killpg(server.pid, how)
        except ProcessLookupError:
            break
        try:
            server.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    server.wait(10)


@contextmanager
def chromium() -> Iterator[Any]:
    """Give a page of headless Chromium, 1,440 pixels wide."""
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        raise RuntimeError("no chromium found: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            yield browser.new_page(viewport={"width": 1440, "height": 1200})
        finally:
            browser.close()
