"""Mutation testing: which change of a formula does no quick test notice.

    uv run --group mutation python -m tests.mutation [--sample N | --survivors] [GROUP ...]

mutmut changes one operator, number or argument at a time and runs the tests that reach it. It takes
modules by the path of their file, which the folders of this repository are not; so it runs on a
copy under build/mutation in which they are. What has run is not run again, unless the code has
changed; ``--survivors`` runs those again that no test noticed, for when tests have changed. All
mutants take hours; ``--sample N`` takes N of each module, drawn at random with a fixed seed.
Mutants that differ only in the words of an error or a warning are not counted. The counts go to
score.json beside this file, and what survived is printed; ``mutmut show NAME`` in
build/mutation/GROUP shows it.
"""

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build" / "mutation"

# modules, and the test files whose quick tests are to notice a change of one
GROUPS = {
    "decision": (
        [
            *("inference/scoring", "inference/leave_one_out", "inference/decision"),
            *("inference/metrics", "inference/conformal", "estimators/leave_out"),
        ],
        [
            *("inference/scoring", "inference/decision", "inference/cutoff", "inference/metrics"),
            *("inference/conformal", "estimators/pruning", "models/ocsvm"),
        ],
    ),
    "p_values": (["estimators/p_values"], ["estimators/p_values"]),
    "cutoff": (["inference/cutoff"], ["inference/cutoff", "inference/conformal"]),
    "labels": (["estimators/labels"], ["estimators/labels", "estimators/label_reading"]),
    "inputs": (["estimators/inputs", "estimators/names"], ["estimators/inputs"]),
    "rows": (
        [
            *("estimators/rows/source", "estimators/rows/files"),
            *("estimators/rows/blocks", "estimators/rows/dask"),
        ],
        ["estimators/row_sources", "estimators/ways_in", "estimators/label_reading"],
    ),
    "bootstrap": (["models/bootstrap"], ["models/bootstrap"]),
    "explanation": (
        ["inference/explanation", "estimators/explanation"],
        ["inference/explanation", "estimators/explanation"],
    ),
    "kinds": (
        ["inference/kinds", "estimators/kinds"],
        ["inference/kinds", "estimators/kinds"],
    ),
    "storage": (
        [
            *("estimators/storage/container", "estimators/storage/encoding"),
            *("estimators/storage/schema", "estimators/storage/atomic"),
        ],
        ["estimators/storage_parts"],
    ),
    "saved": (
        ["estimators/storage/loading", "estimators/storage/saving"],
        ["estimators/storage"],
    ),
    "potential": (
        [
            *("models/potential", "models/geometry", "models/gram"),
            *("models/bdd", "models/bsvdd", "models/bsvdd_m", "models/factor"),
        ],
        [
            *("models/potential", "models/gram", "models/bdd", "models/landmarks"),
            *("inference/references", "models/lssvm"),
        ],
    ),
    "bdd_m": (
        [
            *("models/bdd_m", "models/bdd_m_posterior", "models/bdd_m_left_out"),
            *("models/left_out", "models/truncated"),
        ],
        ["models/bdd", "models/truncated", "models/bdd_m", "models/bdd_m_left_out"],
    ),
    "priors": (
        [
            *("models/priors/gaussian", "models/priors/normal", "models/priors/row_sums"),
            *("models/priors/smooth", "models/priors/minority", "models/priors/distributions"),
            "models/quadratic_form",
        ],
        [
            *("models/priors", "models/potential", "models/truncated"),
            *("models/prior_families", "models/bdd_m"),
        ],
    ),
    "laplace": (["inference/samplers/laplace"], ["inference/laplace"]),
    "kernels": (
        [
            *("models/kernels/base", "models/kernels/custom", "models/kernels/distance"),
            *("models/kernels/dot_product", "models/kernels/precomputed"),
            *("models/kernels/standardized", "models/bandwidth"),
        ],
        ["models/kernels", "models/bandwidth", "models/bandwidth_criteria", "models/landmarks"],
    ),
    "svdd": (["models/svdd", "models/qp"], ["models/svdd", "models/qp", "models/svdd_m"]),
    "hyperplanes": (
        ["models/lssvm", "models/density"],
        ["models/lssvm", "comparison/imbalance"],
    ),
    "landmarks": (
        ["models/landmarks", "estimators/dictionary"],
        ["models/landmarks", "estimators/dictionary"],
    ),
    "swapping": (
        ["inference/reweighting", "inference/sensitivity", "inference/weight_summaries"],
        ["estimators/prior_swapping"],
    ),
    "folds": (
        ["inference/cross_validation"],
        ["inference/cutoff", "estimators/estimators"],
    ),
}

PACKAGES = {
    "bsvdd": "bsvdd",
    "models": "bsvdd/models",
    "inference": "bsvdd/inference",
    "estimators": "bsvdd/estimators",
    "comparison": "bsvdd/comparison",
}
# a function with a decorator is left alone by mutmut, and these change nothing that it computes
DECORATORS = re.compile(r"^ *@(override|numba\.njit)\n", re.MULTILINE)

QUICK = "not slow and not long and not browser"
MUTMUT = [sys.executable, "-m", "mutmut"]
KILLED, TIMEOUT, NO_TEST = (1, 3), (-24, 24, 36, 152, 255), (5, 33)  # exit codes


def copied(group: str) -> Path:
    """Lay the sources out by their import paths; a file that is the same keeps its time."""
    copy, (modules, tests) = BUILD / group, GROUPS[group]
    for source, target in {**PACKAGES, "tests": "tests", "benchmarks": "benchmarks"}.items():
        for path in sorted((ROOT / source).rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            content = path.read_bytes()
            if path.suffix == ".py" and source in PACKAGES:
                content = DECORATORS.sub("", content.decode()).encode()
            _put(copy / target / path.relative_to(ROOT / source), content)
    pytest = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    settings = {
        "source_paths": ["bsvdd"],
        "only_mutate": [f"bsvdd/{module}.py" for module in modules],
        "also_copy": ["benchmarks"],
        "pytest_add_cli_args": [
            *("-m", QUICK, "-p", "no:cacheprovider"),
        ],
        "pytest_add_cli_args_test_selection": [
            "tests/{}/test_{}.py".format(*name.split("/")) for name in tests
        ],
    }
    lines = ["[tool.mutmut]", *(f"{key} = {json.dumps(v)}" for key, v in settings.items())]
    lines += ["[tool.pytest.ini_options]"]
    lines += [f"{key} = {json.dumps(v)}" for key, v in pytest.items() if key != "addopts"]
    _put(copy / "pyproject.toml", "\n".join(lines).encode())
    return copy


def _put(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class _Wordless(ast.NodeTransformer):
    """Takes away what an error or a warning says."""

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        if isinstance(node.exc, ast.Call):
            node.exc.args = []
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "warn":
            node.args = node.args[1:]
        return node


def _bodies(path: Path) -> dict[str, str]:
    """Return what each function of a mutated module does, but for its words, by its name."""
    functions = (
        node
        for node in ast.walk(_Wordless().visit(ast.parse(path.read_text(encoding="utf-8"))))
        if isinstance(node, ast.FunctionDef)
    )
    return {f.name: ast.dump(f.args) + "".join(map(ast.dump, f.body)) for f in functions}


def codes(copy: Path) -> dict[str, dict[str, int | None]]:
    """Return the exit codes of the tests by module and mutant; None for what has not run."""
    by_module, folder = {}, copy / "mutants" / "bsvdd"
    for path in sorted(folder.rglob("*.py.meta")):
        bodies = _bodies(path.with_suffix(""))
        of_module = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]

        module = path.relative_to(folder).as_posix().removesuffix(".py.meta")
        by_module[module] = {}
        for name, code in of_module.items():
            mutant = name.rpartition(".")[2]
            original = f"{mutant.rpartition('__mutmut_')[0]}__mutmut_orig"
            if bodies[mutant] != bodies[original]:
                by_module[module][name] = code
    return by_module


def sample(copy: Path, n: int) -> list[str]:
    """Return those of n mutants of each module, drawn at random, that have not run."""
    drawn = []
    for module, of_module in codes(copy).items():
        names = sorted(of_module)
        for name in random.Random(module).sample(names, min(n, len(names))):
            if of_module[name] is None:
                drawn.append(name)
    return drawn


def survivors(copy: Path) -> list[str]:
    """Return the mutants that no test noticed."""
    return [
        name
        for of_module in codes(copy).values()
        for name, code in of_module.items()
        if code is not None and code not in KILLED + TIMEOUT
    ]


def scores(copy: Path) -> dict[str, dict[str, int]]:
    """Return the counts of mutants by module, of those that have run."""
    counts = {}
    for module, of_module in codes(copy).items():
        run = [code for code in of_module.values() if code is not None]
        if run:
            killed, timeout, no_test = (
                sum(code in which for code in run) for which in (KILLED, TIMEOUT, NO_TEST)
            )
            counts[module] = {
                "mutants": len(of_module),
                "run": len(run),
                "killed": killed,
                "timeout": timeout,
                "no_test": no_test,
                "survived": len(run) - killed - timeout - no_test,
            }
    return counts


def record(copy: Path) -> None:
    """Write the counts of a group beside those of the others."""
    store = HERE / "score.json"
    counts = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    counts |= scores(copy)
    lines = [f"{json.dumps(module)}: {json.dumps(n)}" for module, n in sorted(counts.items())]
    partial = store.with_suffix(".part")
    partial.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(partial, store)


def mutmut(copy: Path, *arguments: str, check: bool = True) -> None:
    """Run a command of mutmut in the copy, with one thread of BLAS and none of dask.

    Each mutant runs in a fork of the process that ran the tests before. A fork has no threads, so
    dask would wait there for those of its pool until the time is out.
    """
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "DASK_SCHEDULER": "synchronous"}
    subprocess.run([*MUTMUT, *arguments], cwd=copy, env=os.environ | limits, check=check)


def main(groups: list[str], n: int | None = None, again: bool = False) -> None:
    """Run the groups one after the other: ``n`` mutants of each module, the survivors, or all."""
    run = ["run", "--max-children", "1"]
    for group in groups:
        copy = copied(group)
        if again:  # tests have changed, and with them what each of them reaches
            (copy / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
        if n is None and not again:
            mutmut(copy, *run)
        else:
            # it names mutants only while it makes them, and then stops, as none has this name
            mutmut(copy, *run, "none", check=False)
            if names := survivors(copy) if n is None else sample(copy, n):
                # what is named runs again; as patterns, as for names it first runs their tests
                # alone, by ids that pytest may not find again
                mutmut(copy, *run, *(f"*{name}" for name in names))
        record(copy)
        mutmut(copy, "results")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Mutation testing of the formulas.")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--sample", type=int, metavar="N", help="mutants of each module")
    some.add_argument("--survivors", action="store_true", help="again those that no test noticed")
    chosen = parser.parse_args()
    if unknown := set(chosen.groups) - set(GROUPS):
        parser.error(f"unknown group {', '.join(unknown)}; expected {', '.join(GROUPS)}")
    main(chosen.groups or list(GROUPS), chosen.sample, chosen.survivors)
