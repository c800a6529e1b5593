"""The wheel holds the package and nothing else, with the lowest versions too."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.cases import run

ROOT, PYTHON = Path(__file__).parents[2], sys.executable
FOLDERS = {"bsvdd": "bsvdd"} | {
    each: f"bsvdd/{each}" for each in ("models", "inference")
}
# what decides the wheel, and folders that must stay out of it
COPIED = [*FOLDERS, "tests", "notebooks", "benchmarks", "docs"]
IGNORED = shutil.ignore_patterns("__pycache__", ".*", "_build")
OLDEST = "3.12"  # Python
SMOKE = """
import warnings
import numpy as np
import pandas as pd
import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, OCSVM, SVDD, plots, priors

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(2.5, 0.7, size=(8, 2))])
X, y = pd.DataFrame(X, columns=["a", "b"]), np.repeat([0, 1], [60, 8])
for model in (SVDD, OCSVM, BDD, BDDM, BSVDD, BSVDDM):
    est = model().fit(X, y)
    est.save("fit.safetensors")
    old, new = est.decision(X), bsvdd.load("fit.safetensors").decision(X)
    # draws are saved in single precision
    pd.testing.assert_frame_equal(old, new, atol=1e-6)
    if hasattr(est, "with_prior"):
        est.with_prior(priors.Flat()).summary()
        plots.plot_distances(est)
        est.idata_.to_netcdf("draws.nc")
    bsvdd.report(est, "report.html")
BSVDD(sampler="nuts", draws=100, tune=100).fit(X)
print("all fits")
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Return a copy: a build leaves files behind, and stale ones would get in."""
    source = tmp_path_factory.mktemp("parent") / "bsvdd"  # the name of a clone
    source.mkdir()
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, source)
        elif path.name in COPIED:
            shutil.copytree(path, source / path.name, ignore=IGNORED)
    return source


@pytest.fixture(scope="module")
def wheel(source):
    run(
        PYTHON,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        source / "dist",
        cwd=source,
    )
    (path,) = (source / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def editable(source, tmp_path_factory):
    """Return the folder where the editable wheel of the copy is unpacked."""
    folder = tmp_path_factory.mktemp("editable")
    build = f"from hatchling import build; print(build.build_editable({str(folder)!r}))"
    run(PYTHON, "-c", build, cwd=source)
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    return folder


def test_a_script_beside_a_clone_finds_the_package(source, editable):
    script = source.parent / "script.py"
    script.write_text(
        "import importlib.util, site\n"
        f"site.addsitedir({str(editable)!r})  # as Python does at its start\n"
        "print(importlib.util.find_spec('bsvdd').origin)\n"
    )
    said = run(PYTHON, "-ES", script, cwd=source.parent)  # without PYTHONPATH
    assert said.strip() == str(source / "bsvdd" / "__init__.py")


def test_wheel_holds_every_file_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        members = set(archive.namelist())
    wanted = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    wanted.add("bsvdd/words.md")  # docs/guide/words.md, which bsvdd words prints
    assert {name for name in members if ".dist-info/" not in name} == wanted
    assert sum(name.endswith(".npz") for name in members) == 13
    assert {
        "bsvdd/__init__.pyi",
        *(f"{each}/py.typed" for each in FOLDERS.values()),
    } <= members
    assert sum(name.endswith(".dist-info/licenses/LICENSE") for name in members) == 1


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Return the folder of an environment: the wheel beside today's packages."""
    folder = tmp_path_factory.mktemp("environment")
    run(PYTHON, "-m", "venv", "--without-pip", folder, cwd=folder)
    (site,) = {
        Path(path) for path in folder.rglob("site-packages") if not path.is_symlink()
    }
    (site / "parent.pth").write_text("\n".join(path for path in sys.path if path))
    with zipfile.ZipFile(
        wheel
    ) as archive:  # a wheel without scripts is installed by unpacking it
        archive.extractall(site)
    return folder


def mypy(environment, *arguments, cwd):
    (python,) = [
        *environment.glob("bin/python"),
        *environment.glob("Scripts/python.exe"),
    ]
    return subprocess.run(
        [
            *(PYTHON, "-m", "mypy", "--python-executable", python),
            *(
                "--config-file",
                ROOT / "pyproject.toml",
                "--cache-dir",
                environment / "cache",
            ),
            *arguments,
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
    )


@pytest.mark.long
def test_types_hold_on_the_installed_wheel_and_reach_the_user(environment, tmp_path):
    (package,) = environment.rglob("site-packages/bsvdd")
    done = mypy(environment, "-p", "bsvdd", cwd=package.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "user.py").write_text(
        "from bsvdd import BSVDD, kernels\n"
        "right = BSVDD(kernel=kernels.RBF(1.0), draws=10)\n"
        "wrong = BSVDD(drows=10)\n"
    )
    done = mypy(environment, "user.py", cwd=tmp_path)
    assert done.stdout.count("error:") == 1, done.stdout + done.stderr
    assert (
        'user.py:3: error: Unexpected keyword argument "drows" for "BSVDD"'
        in done.stdout
    )


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_models_and_commands_run_with_the_lowest_versions(source, tmp_path):
    if (
        shutil.which("uv") is None
        or subprocess.run(["uv", "python", "find", OLDEST]).returncode
    ):
        pytest.skip(f"uv or Python {OLDEST} is not installed")
    folder = tmp_path / "lowest"
    run("uv", "venv", "--python", OLDEST, folder, cwd=ROOT)
    (python,) = [*folder.glob("bin/python"), *folder.glob("Scripts/python.exe")]
    lowest = ["--resolution", "lowest-direct", source]  # of a wheel it takes the newest
    run("uv", "pip", "install", "--python", python, *lowest, cwd=ROOT)
    how = {"cwd": tmp_path, "MPLBACKEND": "agg", "PYTHONPATH": ""}
    assert "all fits" in run(python, "-c", SMOKE, **how)
    few = ["--data", "wine_cultivar3", "--replicates", "1"]
    run(python.with_name("bsvdd"), "compare", *few, **how)
    run(python.with_name("bsvdd"), "study", "slides", "--quick", **how)
