"""Imports run one way, bsvdd -> comparison -> estimators -> inference -> models, in no circle."""

import ast
import re
import sys
import tomllib
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLOORS = ["models", "inference", "estimators", "comparison", "bsvdd"]  # from the ground up


def module_of(path):
    """Return the name by which the file ``path`` is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "bsvdd" else ("bsvdd", *parts)
    return ".".join(part for part in parts if part != "__init__")


FILES = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
MODULES = {module_of(path): path for path in FILES}


def imported(source, module, is_package=False):
    """Return the full names that ``source`` imports anywhere in it, but for types only."""
    names, tree = set(), ast.parse(source)
    types_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(tree):
        if node in types_only:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            names |= {".".join([*base, alias.name]) for alias in node.names}
    return names


def modules_imported(source, module, modules, is_package=False):
    """Return which of ``modules`` the source imports: the longest part of each name that is one."""
    found = set()
    for name in imported(source, module, is_package):
        parts = name.split(".")
        known = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
        found |= set([known for known in known if known in modules][-1:])
    return found - {module}


def graph(files, types=False):
    """Return the modules that each module imports; packages only list theirs, so they stay out."""

    def source(path):
        text = path.read_text(encoding="utf-8")
        return text.replace("if TYPE_CHECKING:", "if True:") if types else text

    return {
        name: {
            other
            for other in modules_imported(source(path), name, files)
            if files[other].name != "__init__.py"
        }
        for name, path in files.items()
        if path.name != "__init__.py"
    }


def floor(module):
    part = module.split(".")[1] if "." in module else "bsvdd"
    return FLOORS.index(part) if part in FLOORS else FLOORS.index("bsvdd")


def upwards(source, module, is_package=False):
    """Return the names of upper floors that ``source`` imports, for types too, or has in a text."""
    tree = ast.parse(source)
    everything = source.replace("if TYPE_CHECKING:", "if True:")
    names = imported(everything, module, is_package)
    documentation = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node not in documentation
    ]
    names |= {found for text in texts for found in re.findall(r"\bbsvdd\.[\w.]+", text)}
    short = ("load", "explore", "kernels", "priors", "plots", "scorers")
    public = {f"bsvdd.{name}" for name in short}
    return {
        name
        for name in names - public
        if name.split(".")[0] == "bsvdd" and floor(name) > floor(module)
    }


@pytest.mark.parametrize("types", [False, True], ids=["when run", "for types too"])
def test_no_import_is_in_a_circle(types):
    try:
        TopologicalSorter(graph(MODULES, types)).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_a_circle_by_a_late_import_is_seen(tmp_path):
    (tmp_path / "a.py").write_text("def f():\n    from .b import g\n")
    (tmp_path / "b.py").write_text("from . import a\n")
    files = {"bsvdd.models.a": tmp_path / "a.py", "bsvdd.models.b": tmp_path / "b.py"}
    with pytest.raises(CycleError):
        TopologicalSorter(graph(files)).prepare()


@pytest.mark.parametrize("name", MODULES)
def test_no_import_goes_up(name):
    path = MODULES[name]
    is_package = path.name == "__init__.py"
    assert not upwards(path.read_text(encoding="utf-8"), name, is_package)


@pytest.mark.parametrize(
    "line",
    [
        "from ..inference import draws",
        "from .. import inference",
        "import bsvdd.inference.draws",
        "def f():\n    from bsvdd import comparison",
        "from ..cli import main",
        "if TYPE_CHECKING:\n    from ..estimators.detector import Detector",
        "path = 'bsvdd.estimators.bsvdd:BSVDD'",
    ],
)
def test_an_arrow_upwards_is_seen(line):
    assert upwards(line, "bsvdd.models.gram")


@pytest.mark.parametrize("name", MODULES)
def test_imports_inside_are_relative(name):
    source = MODULES[name].read_text(encoding="utf-8")
    tree = ast.parse(source)
    absolute = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    absolute |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level}
    assert not {name for name in absolute if name.partition(".")[0] == "bsvdd"}


def test_what_is_imported_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    declared = {
        re.match(r"[\w.-]+", line)[0].lower().replace("-", "_")
        for line in [*project["dependencies"], *(line for extra in extras for line in extra)]
    }
    names = {
        each.partition(".")[0]
        for name, path in MODULES.items()
        for each in imported(path.read_text(encoding="utf-8"), name, path.name == "__init__.py")
    }
    needed = names - {"bsvdd"} - sys.stdlib_module_names
    assert {{"sklearn": "scikit_learn"}.get(name, name) for name in needed} <= declared
