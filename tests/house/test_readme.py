"""The README's example runs as written, and its commands are those of CI."""

import os
import re
import subprocess
import sys
from pathlib import Path

from bsvdd.estimators.registry import REGISTRY

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_example_runs_as_written(tmp_path):
    first, second = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(first.splitlines()) <= 11
    run = subprocess.run(
        [sys.executable, "-c", first + second],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "likelihood" in run.stdout


def test_ci_runs_the_test_command_of_the_readme():
    command = "uv run pytest"
    assert f"pip install uv && {command}" in README
    assert command in (ROOT / ".ci" / "run").read_text()


def test_links_of_the_readme_exist():
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_table_of_models_is_the_registry():
    rows = re.findall(r"^\| (\S+) \| `(\w+)` \| (.*?) \| (yes|no) \|$", README, re.M)
    assert rows == [
        (r.name, r.class_name, ", ".join(r.learns_from), "yes" if r.bayesian else "no")
        for r in REGISTRY.values()
    ]
