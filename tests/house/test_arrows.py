"""Imports run one way and in no circle.

bsvdd -> comparison -> report, plots -> questions -> estimators -> inference -> models.
"""

import ast
import re
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ["models", "inference", "estimators", "comparison", "bsvdd"]  # from the ground up
ROOMS = {"estimators.questions": 2.4, "estimators.plots": 2.8, "estimators.report": 2.8}
FEEDS_REPR = "facts"  # the question that the print and the summary of an estimator ask
NAMES = (
    "load read_table Table explore explain report cutoffs kernels priors plots scorers"  # in texts
)
PUBLIC = {f"bsvdd.{name}" for name in NAMES.split()}


def module_of(path):
    """Return the name by which the file ``path`` is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "bsvdd" else ("bsvdd", *parts)
    return ".".join(part for part in parts if part != "__init__")


FILES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
MODULES = {module_of(path): path.read_text(encoding="utf-8") for path in FILES}
PACKAGES = {module_of(path) for path in FILES if path.name == "__init__.py"}


def imported(source, module):
    """Return the full names that ``source`` imports anywhere in it, for types too."""
    names = set()
    package = module.split(".") if module in PACKAGES else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            names |= {".".join([*base, alias.name]) for alias in node.names}
    return names


def graph(modules):
    """Return the modules that each module imports; packages only list theirs, so they stay out."""
    found = {}
    for name in modules.keys() - PACKAGES:
        parts = [each.split(".") for each in imported(modules[name], name)]
        known = [
            {".".join(each[:n]) for n in range(1, len(each) + 1)} & set(modules) for each in parts
        ]
        longest = {max(each, key=len) for each in known if each}
        found[name] = longest - PACKAGES - {name}
    return found


def upwards(source, module):
    """Return the names of upper floors that ``source`` imports, or has in a text."""

    def floor(name):
        part, room, file, *_ = [*name.split(".")[1:], "", "", ""]
        known = FLOORS.index(part if part in FLOORS else "bsvdd")
        return known if file == FEEDS_REPR else ROOMS.get(f"{part}.{room}", known)

    tree = ast.parse(source)
    documentation = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(next(iter(node.body), None), ast.Expr)
    }
    names = imported(source, module)
    for node in set(ast.walk(tree)) - documentation:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            names |= set(re.findall(r"\bbsvdd\.[\w.]+", node.value))
    ours = {name for name in names - PUBLIC if name.split(".")[0] == "bsvdd"}
    return {name for name in ours if floor(name) > floor(module)}


def test_no_import_is_in_a_circle():
    TopologicalSorter(graph(MODULES)).prepare()
    late = {"bsvdd.models.a": "def f():\n    from .b import g", "bsvdd.models.b": "from . import a"}
    with pytest.raises(CycleError):
        TopologicalSorter(graph(late)).prepare()


def test_no_import_goes_up_and_those_inside_are_relative():
    assert len(MODULES) > 80
    assert {name: up for name, source in MODULES.items() if (up := upwards(source, name))} == {}
    absolute = re.compile(r"^\s*(?:from|import) bsvdd\b", re.MULTILINE)
    code = {name: re.sub(r'(?s)""".*?"""', "", source) for name, source in MODULES.items()}
    assert [name for name, source in code.items() if absolute.search(source)] == []


@pytest.mark.parametrize(
    "line",
    [
        "from ..inference import draws",
        "from .. import inference",
        "import bsvdd.inference.draws",
        "def f():\n    from bsvdd import comparison",
        "from ..cli import main",
        "if TYPE_CHECKING:\n    from ..estimators.detector import Detector",
        "path = 'bsvdd.estimators.bayesian:BSVDD'",
    ],
)
def test_an_arrow_upwards_is_seen(line):
    """Rooms of estimators stand one above the other, too."""
    assert upwards(line, "bsvdd.models.gram")
    for line, module, goes_up in (
        ("from .questions.why import explain", "bsvdd.estimators.description", True),
        ("from .questions.facts import facts", "bsvdd.estimators.description", False),
        ("from ..plots import rows", "bsvdd.estimators.questions.why", True),
        ("from ..questions import why", "bsvdd.estimators.plots.rows", False),
        ("from ..estimators.report import report", "bsvdd.comparison.advice", False),
    ):
        assert bool(upwards(line, module)) == goes_up, line


def test_what_is_imported_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    declared = {
        re.match(r"[\w.-]+", line)[0].lower().replace("-", "_")
        for line in [*project["dependencies"], *(line for extra in extras for line in extra)]
    }
    names = {
        each.partition(".")[0]
        for name, source in MODULES.items()
        for each in imported(source, name)
    }
    needed = names - {"bsvdd"} - sys.stdlib_module_names
    assert {{"sklearn": "scikit_learn"}.get(name, name) for name in needed} <= declared
