"""Explorers opened and closed in one Jupyter kernel: the kernel's memory stays flat.

BSVDD_SESSIONS is their number: BSVDD_SESSIONS=9 uv run pytest -n 0 -m long -s FILE
"""

import os

import psutil
import pytest
from jupyter_client.manager import start_new_kernel

SESSIONS = int(os.environ.get("BSVDD_SESSIONS", "50"))
WARM = 5  # sessions after which nothing may grow
MOST = 20  # MB
FILES = 20  # ipykernel closes the sockets of threads that have ended only now and then
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
explorer.change(bandwidth=explorer.allowed["bandwidth"].low)
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

    def hear(message):
        assert message["msg_type"] != "error", "\n".join(message["content"]["traceback"])
        said.append(message["content"].get("text", ""))

    client.execute_interactive(code, timeout=WAIT, output_hook=hear)
    return "".join(said)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_memory_of_a_kernel_stays_flat():
    # one arena of malloc, as the memory that ended threads leave in others hides what is kept
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"}
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=120, env=environment)
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
    memory, widgets, files = zip(*seen, strict=True)
    assert min(widgets) == 0  # others are of one or two explorers whose fit has not yet stopped
    assert max(widgets) <= 2 * min((each for each in widgets if each), default=0)
    assert max(memory[WARM:]) - memory[WARM - 1] <= MOST
    assert max(files[WARM:]) - files[WARM - 1] <= FILES
