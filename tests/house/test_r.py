"""The R code of the guide runs, where R has a reticulate that knows this Python."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "beside_others.md"
# reticulate must know this Python, and find its shared library
USABLE = """
library(reticulate)
known <- packageVersion("reticulate") >= "1.41"
quit(status = !(known && py_available(initialize = TRUE)))
"""


@pytest.fixture
def in_r(tmp_path):
    """Return a function that runs R code with this Python; skip where R cannot call it."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")

    def run(code):
        script = tmp_path / "script.R"
        script.write_text(code, encoding="utf-8")
        return subprocess.run(
            ["Rscript", str(script)],
            cwd=tmp_path,
            env={**os.environ, "RETICULATE_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
        )

    if run(USABLE).returncode:
        pytest.skip("R has no reticulate of at least 1.41 that can load this Python")
    return run


@pytest.mark.slow
def test_the_r_code_of_the_guide_runs(in_r):
    blocks = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    done = in_r("\n".join([*blocks, "stopifnot(est$predict(new) == c(1, -1, -1))"]))
    assert done.returncode == 0, done.stderr
