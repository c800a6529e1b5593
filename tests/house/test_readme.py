"""The README's example runs as written, and its commands are those of CI."""

import os
import re
import subprocess
import sys
from pathlib import Path

from bsvdd.estimators.as_published import PUBLICATIONS
from bsvdd.estimators.registry import REGISTRY

from bsvdd import priors

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
    assert run.stdout.startswith("True\n") and "likelihood" in run.stdout
    assert not run.stderr  # a warning would be the first thing that a reader sees


def test_ci_runs_the_test_command_of_the_readme():
    assert (
        "pip install --quiet --root-user-action=ignore uv && uv run pytest"
        in (ROOT / ".ci" / "run").read_text()
    )


def test_the_readme_is_short_and_its_links_exist():
    assert len(README.splitlines()) <= 150
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_table_of_models_is_the_registry():
    rows = re.findall(r"^\| (\S+) \| `(\w+)` \| (.*?) \| (.*?) \| (.*?)\|$", README, re.M)
    assert [row[:3] for row in rows] == [
        (r.name, r.class_name, ", ".join(r.learns_from)) for r in REGISTRY.values()
    ]
    for name, _, _, *cells in rows:
        if not REGISTRY[name].bayesian:
            assert cells == ["no posterior", ""]
            continue
        for cell, known in zip(
            cells, (REGISTRY[name].parameters, PUBLICATIONS[name].parameters), strict=True
        ):
            named = [known[p] for p in ("prior", "minority_prior") if p in known]
            assert [eval(code, vars(priors)) for code in re.findall("`(.*?)`", cell)] == named
            scale = "λ calibrated" if known["likelihood_scale"] == "calibrated" else "λ = 1"
            assert cell.rstrip().endswith(scale)
