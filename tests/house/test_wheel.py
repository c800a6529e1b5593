"""The wheel holds the whole package and nothing else, and its types hold."""

import base64
import csv
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "bsvdd": "bsvdd",
    "models": "bsvdd/models",
    "inference": "bsvdd/inference",
    "estimators": "bsvdd/estimators",
    "comparison": "bsvdd/comparison",
}
# what decides the wheel, and folders that must stay out of it
COPIED = [*FOLDERS, "backend", "tests", "notebooks", "benchmarks", "docs"]
IGNORED = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info", "_build")

pytestmark = pytest.mark.slow


def run(*command, cwd):
    done = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


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
    run("-m", "build", "--wheel", "--no-isolation", "--outdir", source / "dist", cwd=source)
    (path,) = (source / "dist").glob("*.whl")
    return path


@pytest.fixture(scope="module")
def editable(source, tmp_path_factory):
    """Return the folder where the editable wheel of the copy is unpacked."""
    folder = tmp_path_factory.mktemp("editable")
    build = f"import editable; print(editable.build_editable({str(folder)!r}))"
    run("-c", f"import sys; sys.path.insert(0, 'backend'); {build}", cwd=source)
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
    done = subprocess.run(
        [sys.executable, "-S", script], cwd=source.parent, capture_output=True, text=True
    )
    assert done.stdout.strip() == str(source / "bsvdd" / "__init__.py"), done.stderr


def test_the_record_of_the_editable_wheel_holds(editable):
    (record,) = editable.glob("*.dist-info/RECORD")
    rows = list(csv.reader(record.read_text().splitlines()))
    assert {"__editable___bsvdd_first.py"} < {name for name, *_ in rows}
    for name, digest, size in rows:
        content = (editable / name).read_bytes()
        value = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        assert not digest or (digest, int(size)) == (f"sha256={value}", len(content)), name


@pytest.fixture(scope="module")
def members(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_wheel_holds_every_file_and_nothing_else(members):
    wanted = {
        f"{target}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, target in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in members if ".dist-info/" not in name} == wanted
    assert sum(name.endswith(".npz") for name in members) == 13 + 8
    assert {"bsvdd/__init__.pyi", *(f"{each}/py.typed" for each in FOLDERS.values())} <= members
    assert sum(name.endswith(".dist-info/licenses/LICENSE") for name in members) == 1


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Return the folder of a new environment: the wheel, and what this environment has."""
    folder = tmp_path_factory.mktemp("environment")
    run("-m", "venv", "--without-pip", folder, cwd=folder)
    (site,) = {Path(path) for path in folder.rglob("site-packages") if not path.is_symlink()}
    (site / "parent.pth").write_text("\n".join(path for path in sys.path if path))
    with zipfile.ZipFile(wheel) as archive:  # a wheel without scripts is installed by unpacking it
        archive.extractall(site)
    return folder


def mypy(environment, *arguments, cwd):
    (python,) = [*environment.glob("bin/python"), *environment.glob("Scripts/python.exe")]
    return subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--python-executable", python),
            *("--config-file", ROOT / "pyproject.toml", "--cache-dir", environment / "cache"),
            *arguments,
        ],
        cwd=cwd,
        capture_output=True,
        text=True,
    )


@pytest.mark.long
def test_types_hold_on_the_installed_wheel(environment):
    (package,) = environment.rglob("site-packages/bsvdd")
    done = mypy(environment, "-p", "bsvdd", cwd=package.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_types_reach_the_user(environment, tmp_path):
    (tmp_path / "user.py").write_text(
        "from bsvdd import BSVDD, kernels\n"
        "right = BSVDD(kernel=kernels.RBF(1.0), draws=10)\n"
        "wrong = BSVDD(drows=10)\n"
    )
    done = mypy(environment, "user.py", cwd=tmp_path)
    assert done.stdout.count("error:") == 1, done.stdout + done.stderr
    assert 'user.py:3: error: Unexpected keyword argument "drows" for "BSVDD"' in done.stdout
