"""PyTensor's folder of compiled code, where the home directory cannot be written to."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

from pytensor.configdefaults import config

from .warning import warn


def ensure() -> None:
    """Make PyTensor use a temporary folder, with a warning, if it cannot write to its own.

    PyTensor makes its folder when it first compiles, and fails if it cannot, for instance for a
    user without a home directory. The temporary folder is removed at the end of the process.
    """
    try:
        _ = config.compiledir  # made here
    except (ValueError, OSError) as error:
        folder = tempfile.mkdtemp(prefix="bsvdd-pytensor-")
        config.compiledir = folder
        # of numba's machine code; PyTensor refuses to set it once it was read
        vars(type(config))["base_compiledir"].val = Path(folder)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        warn(
            f"PyTensor cannot write its compiled code ({error}); this process uses {folder} and "
            "removes it at its end: to compile once for all processes, set "
            "PYTENSOR_FLAGS=base_compiledir=FOLDER to a folder that you can write to",
            RuntimeWarning,
        )
