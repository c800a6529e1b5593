"""Processes that start at once, and the undisturbed results of the small study."""

from multiprocessing import forkserver
from pathlib import Path

import pytest

from tests.comparison.helpers import PROCESSES, STUDY


@pytest.fixture(scope="session")
def forked():
    """Start the process from which others are forked, with everything imported that they need."""
    PROCESSES.set_forkserver_preload(["tests.comparison.helpers", "arviz_stats", "pymc"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
        forkserver.ensure_running()


@pytest.fixture(scope="session")
def alone():
    """Return the results of the small study, computed in this process without a store."""
    table = STUDY.run()
    assert (table["error"] == "").all()
    return table
