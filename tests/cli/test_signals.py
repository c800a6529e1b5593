"""Signals end a command and its worker processes, and the same command goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from bsvdd.cli import main
from bsvdd.cli.main import ENDING

WAIT = 240  # seconds for the first cells, as workers compile


def start(out):
    bsvdd = Path(sys.executable).with_name("bsvdd")
    command = [bsvdd, "study", "slides", "--quick", "--jobs", "2", "--out", out]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def stored(out):
    return {path.name: path.read_bytes() for path in (out / "cells").glob("*.json")}


def wait_for_cells(process, out, n):
    end = time.monotonic() + WAIT
    while len(stored(out)) < n:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.1)
    return stored(out)


def shared():
    return {path.name for path in Path("/dev/shm").glob("*") if "joblib" in path.name}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_study_that_gets_a_signal_ends_whole_and_goes_on(name, tmp_path):
    memory = shared()
    process = start(tmp_path)
    before = wait_for_cells(process, tmp_path, 2)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    process.send_signal(getattr(signal, name))
    began = time.monotonic()
    _, said = process.communicate(timeout=30)
    _, alive = psutil.wait_procs(children, timeout=15)
    assert alive == [] and time.monotonic() - began < 20
    assert process.returncode == 1
    assert "Aborted!" in said and "leaked" not in said
    assert shared() <= memory
    assert not list(tmp_path.rglob("*.part"))
    seen = stored(tmp_path)
    assert before.items() <= seen.items()

    again = start(tmp_path)
    more = wait_for_cells(again, tmp_path, len(seen) + 1)
    assert seen.items() <= more.items()
    again.terminate()
    again.communicate(timeout=30)


@pytest.mark.parametrize("name", ENDING)
@pytest.mark.parametrize("nohup", [False, True])
def test_a_signal_aborts_a_command_unless_it_is_ignored(name, nohup, monkeypatch):
    number = getattr(signal, name)
    module = "bsvdd.comparison.datasets.records"
    monkeypatch.setattr(module, lambda: os.kill(os.getpid(), number) or {})
    before = signal.signal(number, signal.SIG_IGN if nohup else signal.SIG_DFL)
    try:
        result = CliRunner().invoke(main, ["data"])
        left = signal.getsignal(number)
    finally:
        signal.signal(number, before)
    assert left is (signal.SIG_IGN if nohup else signal.SIG_DFL)  # as it was
    assert ("Aborted!" in result.output) != nohup
    assert result.exit_code == (0 if nohup else 1)
