"""Metadata that stands in several files says the same in each."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import bsvdd

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENVIRONMENTS = {
    name: yaml.safe_load((ROOT / f"{name}.yml").read_text(encoding="utf-8"))
    for name in ("environment", "environment-dev")
}
RECIPE = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))

CONDA_NAMES = {
    "build": "python-build",
    "lazy-loader": "lazy_loader",
    "matplotlib": "matplotlib-base",
    "playwright": "playwright-python",
}


def bounds(requirements):
    """Return {name: bounds of its version}."""
    return {each.name: each.specifier for each in map(Requirement, requirements)}


def group(name):
    """Return the requirements of a dependency group and of the groups it includes."""
    for line in PYPROJECT["dependency-groups"][name]:
        if isinstance(line, str):
            yield line
        else:
            yield from group(line["include-group"])


def is_listed_once(lines, wanted):
    assert bounds(lines) == {
        CONDA_NAMES.get(name, name): each for name, each in wanted.items()
    }
    assert len(lines) == len(wanted), "a package is listed twice"


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment_equals_pyproject(name):
    """The package itself is installed by a second command, which downloads nothing."""
    project, environment = PYPROJECT["project"], ENVIRONMENTS[name]
    python = f"python{project['requires-python']}"
    wanted = bounds(
        [python, *project["dependencies"], *PYPROJECT["build-system"]["requires"]]
        + [
            line
            for extra in project["optional-dependencies"].values()
            for line in extra
        ]
        + (list(group("dev")) if name == "environment-dev" else [])
    )
    of_no_extra = bounds(["ipykernel>=6.29.5", "python-graphviz", "pip"])
    wanted |= {"distributed": wanted["dask"]} | of_no_extra
    is_listed_once(environment["dependencies"], wanted)
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    newest = {"safetensors": "0.7.0"}  # that conda-forge was seen to have
    asked = bounds(environment["dependencies"])
    assert all(asked[package].contains(version) for package, version in newest.items())
    command = "pip install --no-deps --no-build-isolation -e ."
    for place in ("CONTRIBUTING.md", "docs/guide/first_steps.md", f"{name}.yml"):
        assert command in (ROOT / place).read_text(encoding="utf-8"), place


@pytest.mark.parametrize("extra", PYPROJECT["project"]["optional-dependencies"])
def test_extras_have_the_bounds_of_the_tests(extra):
    tested = bounds(group("dev")) | bounds(["jupyterlab>=4.3"])  # which no test starts
    for name, clauses in bounds(
        PYPROJECT["project"]["optional-dependencies"][extra]
    ).items():
        assert tested[name] == clauses


# the conda recipe


def test_the_recipe_equals_pyproject_and_installs_without_downloads():
    project = PYPROJECT["project"]
    assert (RECIPE["schema_version"], RECIPE["build"]["noarch"]) == (1, "python")
    assert (RECIPE["package"]["version"], RECIPE["source"]) == (
        "${{ version }}",
        {"path": ".."},
    )
    assert RECIPE["package"]["name"] == project["name"]
    assert RECIPE["context"]["version"] == project["version"]
    assert RECIPE["about"]["summary"] == project["description"]
    assert RECIPE["about"]["license"] == project["license"]
    assert [RECIPE["about"]["license_file"]] == project["license-files"]
    scripts = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == scripts
    python = f"python{project['requires-python']}"
    needed = {
        "run": bounds([python, *project["dependencies"]]),
        "host": bounds([python, "pip", *PYPROJECT["build-system"]["requires"]]),
    }
    for section, wanted in needed.items():
        is_listed_once(RECIPE["requirements"][section], wanted)
    script = RECIPE["build"]["script"]
    assert {"--no-deps", "--no-build-isolation"} <= set(script.split())
    imports, commands = RECIPE["tests"]
    for name in imports["python"]["imports"]:
        importlib.import_module(name)
    places = PYPROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["sources"].values()
    folders = {"bsvdd", *(place.replace("/", ".") for place in places)}
    assert folders == set(imports["python"]["imports"])
    assert commands["script"] == ["bsvdd --help"]


def test_bounds_citation_changelog_and_licence():
    assert all(
        ">=" in requirement for requirement in PYPROJECT["project"]["dependencies"]
    )
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION)
    assert CITATION["version"] == PYPROJECT["project"]["version"] == bsvdd.__version__
    assert CITATION["license"] == PYPROJECT["project"]["license"]
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert re.findall(r"^## \[(.+?)\]", changes, re.MULTILINE)[0] == CITATION["version"]
    licence = (ROOT / "LICENSE").read_text()
    for words in (
        "Apache License",
        "Version 2.0, January 2004",
        "END OF TERMS AND CONDITIONS",
    ):
        assert words in licence


def test_ci_runs_the_commands_of_the_readme():
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text(
        encoding="utf-8"
    )
    jobs = yaml.safe_load(workflow)["jobs"].values()
    steps = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in ("uv run --no-dev bsvdd compare", "uv run pytest"):
        for way in (f"pip install uv && {command}", f"pipx run {command}"):
            assert f"    {way}\n" in readme
            assert any(step.startswith(way) for step in steps), way
    assert "uv && uv run pytest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_paper_has_the_sections_that_its_journal_asks_for_and_its_references():
    paper, library = (
        (ROOT / "paper" / name).read_text(encoding="utf-8")
        for name in ("paper.md", "paper.bib")
    )
    assert re.findall(r"^# (.+)$", paper, re.MULTILINE) == [
        *("Summary", "Statement of need", "State of the field", "What is new"),
        *(
            "Software design",
            "Research impact statement",
            "AI usage disclosure",
            "Acknowledgements",
            "References",
        ),
    ]
    assert 750 <= len(paper.partition("# Summary")[2].split()) <= 1750
    entries = re.findall(r"^@\w+\{(\w+),", library, re.MULTILINE)
    assert set(re.findall(r"@(\w+)", paper)) == set(entries)
