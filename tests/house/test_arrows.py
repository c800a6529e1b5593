"""Imports run one way and in no circle, from the last room to the first."""

import ast
import re
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ["models", "inference", "bsvdd"]
ROOMS = [
    *("base", "models", "inference", "tables", "estimators"),
    *("outliers", "questions", "plots", "comparison", "explorer", "cli"),
]
# public names, which texts may have
NAMES = (
    "load read_table Table explore explain report cutoffs kernels priors plots scorers"
)
PUBLIC = {f"bsvdd.{name}" for name in NAMES.split()}


def module_of(path):
    """Return the name by which the file ``path`` is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "bsvdd" else ("bsvdd", *parts)
    return ".".join(part for part in parts if part != "__init__")


FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
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
    """Return the modules that each module imports; packages stay out."""
    found = {}
    for name in modules.keys() - PACKAGES:
        parts = [each.split(".") for each in imported(modules[name], name)]
        known = [
            {".".join(each[:n]) for n in range(1, len(each) + 1)} & set(modules)
            for each in parts
        ]
        longest = {max(each, key=len) for each in known if each}
        found[name] = longest - PACKAGES - {name}
    return found


def room(name):
    """Return the place of a module's room in the order; others stand above all."""
    part = [*name.split("."), ""][1]
    return ROOMS.index(part) if part in ROOMS else len(ROOMS)


def upwards(source, module):
    """Return the names of upper rooms that ``source`` imports, or has in a text."""
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
    return {name for name in ours if room(name) > room(module)}


def test_no_import_is_in_a_circle():
    TopologicalSorter(graph(MODULES)).prepare()
    late = {
        "bsvdd.models.a": "def f():\n    from .b import g",
        "bsvdd.models.b": "from . import a",
    }
    with pytest.raises(CycleError):
        TopologicalSorter(graph(late)).prepare()


def test_no_import_goes_up_and_those_inside_are_relative():
    assert len(MODULES) > 80
    assert {name.split(".")[1] for name in MODULES if "." in name} == {*ROOMS}
    assert {
        name: up for name, source in MODULES.items() if (up := upwards(source, name))
    } == {}
    absolute = re.compile(r"^\s*(?:from|import) bsvdd\b", re.MULTILINE)
    code = {
        name: re.sub(r'(?s)""".*?"""', "", source) for name, source in MODULES.items()
    }
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
    assert upwards(line, "bsvdd.models.gram")
    for line, module, goes_up in (
        ("from ..questions.why import explain", "bsvdd.estimators.description", True),
        ("from .facts import facts", "bsvdd.estimators.description", False),
        ("from ..plots import rows", "bsvdd.questions.why", True),
        ("from ..questions import why", "bsvdd.plots.rows", False),
        ("from ..models import kernels", "bsvdd.base.threads", True),
    ):
        assert bool(upwards(line, module)) == goes_up, line


def test_what_is_imported_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    extras = project.get("optional-dependencies", {}).values()
    declared = {
        re.match(r"[\w.-]+", line)[0].lower().replace("-", "_")
        for line in [
            *project["dependencies"],
            *(line for extra in extras for line in extra),
        ]
    }
    names = {
        each.partition(".")[0]
        for name, source in MODULES.items()
        for each in imported(source, name)
    }
    needed = names - {"bsvdd"} - sys.stdlib_module_names
    assert {{"sklearn": "scikit_learn"}.get(name, name) for name in needed} <= declared
