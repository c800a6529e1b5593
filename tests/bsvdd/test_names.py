"""Every public name is there when it is asked for, and the arrays need no PyMC."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import bsvdd

STUB = Path(__file__).parents[2] / "bsvdd" / "__init__.pyi"


def public_names():
    """Return (module, name) for each name the stub re-exports."""
    return [
        ("bsvdd" + (f".{node.module}" if node.module else ""), alias.asname or alias.name)
        for node in ast.parse(STUB.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def test_the_array_core_needs_no_pymc():
    floors = {
        "models": ("kernels", "gram", "quadratic_program", "svdd"),
        "inference": ("center", "decision", "cutoff"),
        "estimators": ("registry", "labels"),
    }
    names = [f"{floor}.{name}" for floor, modules in floors.items() for name in modules]
    code = "import sys, " + ", ".join(f"bsvdd.{name}" for name in names)
    code += "; print(*{name.partition('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "numpy" in loaded
    assert not {"pymc", "pytensor", "arviz", "nutpie", "matplotlib"} & loaded


def test_public_names_can_be_imported():
    names = public_names()
    assert names, "the stub names nothing"
    for module, name in names:
        there = getattr(importlib.import_module(module), name, None)
        assert getattr(bsvdd, name) is (there or importlib.import_module(f"{module}.{name}"))


def test_dir_and_all_list_the_public_names():
    names = {name for _, name in public_names()}
    assert names <= set(bsvdd.__all__)
    assert names <= set(dir(bsvdd))
