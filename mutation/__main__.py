"""Mutation testing: which change of a formula does no quick test notice.

    uv run --group mutation python -m mutation [GROUP ...]

mutmut changes one operator, number or argument at a time and runs the tests that reach it. It
takes modules by the path of their file, which the folders of this repository are not; so it runs on
a copy under build/mutation in which they are. What has run is not run again, unless the code has
changed.
The counts go to score.json beside this file, and what survived is printed;
``mutmut show NAME`` in build/mutation/GROUP shows it.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "mutation"

# modules, and the test files whose quick tests are to notice a change of one
GROUPS = {
    "decision": (
        ["inference/distance", "inference/decision", "inference/cutoff", "inference/metrics"],
        [
            *("inference_distance", "inference_decision", "inference_cutoff", "inference_metrics"),
            *("inference_pruning", "collection_ocsvm"),
        ],
    ),
    "potential": (
        [
            *("models/potential", "models/geometry", "models/gram", "models/symbolic"),
            *("models/bdd", "models/bsvdd", "models/bsvdd_m", "models/factor"),
        ],
        ["models_potential", "models_gram", "models_bdd", "inference_references"],
    ),
    "bdd_m": (
        ["models/bdd_m", "models/bdd_m_left_out", "models/left_out", "models/truncated"],
        ["models_truncated", "collection_bdd_m", "collection_bdd_m_left_out"],
    ),
    "priors": (["models/gaussian", "models/minority"], ["models_priors", "collection_priors"]),
    "laplace": (["inference/laplace"], ["inference_laplace"]),
    "kernels": (
        ["models/kernels", "models/bandwidth"],
        ["models_kernels", "models_bandwidth", "collection_bandwidth"],
    ),
    "svdd": (["models/svdd", "models/qp"], ["models_svdd", "models_qp", "collection_svdd_m"]),
    "machines": (
        ["models/lssvm", "models/density"],
        ["collection_lssvm", "collection_imbalance"],
    ),
    "landmarks": (["models/landmarks"], ["models_landmarks"]),
    "swapping": (
        ["inference/reweighting", "inference/sensitivity", "inference/health"],
        ["inference_swapping"],
    ),
    "folds": (["inference/left_out"], ["inference_cutoff", "inference_estimators"]),
}

PACKAGES = {
    "bsvdd": "bsvdd",
    "models": "bsvdd/models",
    "inference": "bsvdd/inference",
    "comparison": "bsvdd/comparison",
}
# a function with a decorator is left alone by mutmut, and these change nothing that it computes
DECORATORS = re.compile(r"^ *@(override|numba\.njit)\n", re.MULTILINE)

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
        "pytest_add_cli_args": ["-m", "not slow and not browser", "-p", "no:cacheprovider"],
        "pytest_add_cli_args_test_selection": [f"tests/test_{name}.py" for name in tests],
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


def scores(copy: Path) -> dict[str, dict[str, int]]:
    """Return the counts of mutants by module, of those that have run."""
    found = {}
    for path in sorted((copy / "mutants" / "bsvdd").rglob("*.py.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"].values()
        run = [code for code in codes if code is not None]
        if run:
            module = path.relative_to(copy / "mutants" / "bsvdd").as_posix()
            killed, timeout, no_test = (
                sum(code in which for code in run) for which in (KILLED, TIMEOUT, NO_TEST)
            )
            found[module.removesuffix(".py.meta")] = {
                "mutants": len(codes),
                "run": len(run),
                "killed": killed,
                "timeout": timeout,
                "no_test": no_test,
                "survived": len(run) - killed - timeout - no_test,
            }
    return found


def record(copy: Path) -> None:
    """Write the counts of a group beside those of the others."""
    store = HERE / "score.json"
    known = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted((known | scores(copy)).items())]
    partial = store.with_suffix(".part")
    partial.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    os.replace(partial, store)


def main(groups: list[str]) -> None:
    """Run the groups, one after the other."""
    limits = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for group in groups:
        copy = copied(group)
        subprocess.run(
            [*MUTMUT, "run", "--max-children", "1"],
            cwd=copy,
            env={**os.environ, **limits},
            check=True,
        )
        record(copy)
        subprocess.run([*MUTMUT, "results"], cwd=copy, check=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(GROUPS))
