"""Explorers opened and closed in one Jupyter kernel: the kernel's memory stays flat.

BSVDD_SESSIONS is their number: BSVDD_SESSIONS=9 uv run pytest -n 0 -m long -s FILE
"""

import os
import time
from queue import Empty

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

SESSIONS = int(os.environ.get("BSVDD_SESSIONS", "50"))
WARM = 5  # sessions after which nothing may grow
MOST = 20  # MB
WAIT = 600  # seconds for a cell

START = """
import gc
import time
import numpy as np
from IPython.display import display
from ipywidgets import Widget
import bsvdd
rng = np.random.default_rng(0)
X, y = rng.normal(size=(300, 40)), np.arange(300) < 30
"""
SESSION = """
explorer = bsvdd.explore(X, y, draws=200)
display(explorer)
explorer.change(sd={sd})
explorer.wait()
explorer.change(bandwidth=explorer.ranges["bandwidth"].low)
{last}
explorer.close()
del explorer
time.sleep(1.5)  # a fit that runs ends at its next checkpoint, and the clock at its next second
gc.collect()
"""
COUNT = "print(sum(issubclass(type(each), Widget) for each in gc.get_objects()))"


def run(client, code):
    """Run a cell to its end, and return what it printed."""
    said = []
    message = client.execute(code)
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        try:
            got = client.get_iopub_msg(timeout=1)
        except Empty:
            continue
        if got["parent_header"].get("msg_id") != message:
            continue
        kind, content = got["msg_type"], got["content"]
        assert kind != "error", "\n".join(content["traceback"])
        if kind == "stream":
            said.append(content["text"])
        if kind == "status" and content["execution_state"] == "idle":
            return "".join(said)
    raise AssertionError(f"the cell has run for {WAIT} s")


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_memory_of_a_kernel_stays_flat():
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=120)
    try:
        run(client, START)
        kernel, seen = psutil.Process(manager.provisioner.pid), []
        for i in range(SESSIONS):
            # every other explorer is closed while it fits
            last = "explorer.wait()" if i % 2 else ""
            run(client, SESSION.format(sd=0.4 + 0.01 * i, last=last))
            widgets = int(run(client, COUNT))
            megabytes = kernel.memory_info().rss / 1e6
            seen.append((megabytes, widgets, kernel.num_fds()))
            print(i + 1, seen[-1], flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert len(seen) > WARM
    _, widgets, files = seen[WARM - 1]
    assert {each[1] for each in seen[WARM:]} <= {widgets}
    assert {each[2] for each in seen[WARM:]} <= {files}
    assert max(each[0] for each in seen[WARM:]) - seen[WARM - 1][0] <= MOST
