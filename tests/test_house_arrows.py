"""Imports run one way, comparison -> inference -> models, and lead to declared packages."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = {
    "models": {"bsvdd.inference", "bsvdd.comparison", "bsvdd.cli"},
    "inference": {"bsvdd.comparison", "bsvdd.cli"},
    "comparison": {"bsvdd.cli"},
}
SOURCES = [path for folder in FORBIDDEN for path in sorted((ROOT / folder).rglob("*.py"))]


def imported(source, package):
    """Return the full names that ``source``, a module of ``package``, imports anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            base += node.module.split(".") if node.module else []
            names |= {".".join([*base, alias.name]) for alias in node.names}
    return names


def package_of(path):
    return ".".join(["bsvdd", *path.relative_to(ROOT).parent.parts])


def against_the_arrows(names, folder):
    return {
        name
        for name in names
        for forbidden in FORBIDDEN[folder]
        if name == forbidden or name.startswith(forbidden + ".")
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_follow_the_arrows(path):
    names = imported(path.read_text(encoding="utf-8"), package_of(path))
    assert not against_the_arrows(names, path.relative_to(ROOT).parts[0])


@pytest.mark.parametrize(
    "line",
    [
        "from ..inference import base",
        "from .. import inference",
        "import bsvdd.inference.detector",
        "def f():\n    from bsvdd import comparison",
        "from ..cli import main",
    ],
)
def test_a_wrong_import_is_seen(line):
    assert against_the_arrows(imported(line, "bsvdd.models"), "models")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_inside_are_relative(path):
    absolute = imported(path.read_text(encoding="utf-8"), package="relative")
    assert not {name for name in absolute if name.partition(".")[0] == "bsvdd"}


def test_what_is_imported_is_a_dependency():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    declared = {
        re.match(r"[\w.-]+", line)[0].lower().replace("-", "_")
        for line in [*project["dependencies"], *(line for extra in extras for line in extra)]
    }
    names = {
        name.partition(".")[0]
        for path in [*SOURCES, *(ROOT / "bsvdd").rglob("*.py")]
        for name in imported(path.read_text(encoding="utf-8"), package_of(path))
    }
    needed = names - {"bsvdd"} - sys.stdlib_module_names
    assert {{"sklearn": "scikit_learn"}.get(name, name) for name in needed} <= declared
