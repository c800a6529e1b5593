"""The site builds without a warning, and what its pages say holds."""

import doctest
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bsvdd.models.kernels import bandwidth
from sphinx.util.inventory import InventoryFile

import bsvdd
from bsvdd import cutoffs, kernels, plots, priors
from bsvdd.estimators.registry import REGISTRY
from docs.pages import mathml
from tests.house.test_arrows import MODULES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = sorted((DOCS / "guide").glob("*.md"))
MOST = 60_000  # bytes of a picture
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WITHOUT_EXAMPLES = {"words", "concepts"}
OF_COMPARISON = [
    *("datasets", "slides", "models", "runner"),
    *("table", "advice", "studies", "reproduction"),
]


def functions_and_classes(module):
    """Return the public names of a module that it defines, or lists in ``__all__``."""
    listed = getattr(module, "__all__", None)
    return {
        f"{module.__name__}.{name}"
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and (name in listed if listed else value.__module__ == module.__name__)
        and not name.startswith("_")
    }


PARTS = {"cutoffs": cutoffs, "kernels": kernels, "priors": priors, "plots": plots}
PUBLIC = {f"bsvdd.{name}" for name in bsvdd.__all__} | {
    f"bsvdd.{short}.{full.rpartition('.')[2]}"
    for short, module in PARTS.items()
    for full in functions_and_classes(module)
}


# the site


class Page(HTMLParser):
    """What a page links to, what it fetches, and its anchors."""

    def __init__(self, path):
        super().__init__()
        self.links, self.fetched, self.anchors = set(), set(), {""}
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attrs):
        attrs = {name: value for name, value in attrs if value}
        self.anchors |= {attrs[name] for name in ("id", "name") if name in attrs}
        if "href" in attrs and tag in ("a", "link"):
            (self.links if tag == "a" else self.fetched).add(attrs["href"])
        if "src" in attrs:
            self.fetched.add(attrs["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the site, built with warnings as errors."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "docs", "--out", out]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {path.resolve(): Page(path) for path in site.rglob("*.html")}


@pytest.fixture(scope="module")
def documented(site):
    """Return the names that the site has an entry for, with their pages."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {
        name: item.uri.partition("#")[0]
        for kind, items in inventory.data.items()
        if kind.startswith("py:")
        for name, item in items.items()
    }


@pytest.mark.slow
def test_every_name_has_an_entry(documented):
    assert len(PUBLIC) > 40
    criteria = [each.__name__ for each in bandwidth.CRITERIA.values()]
    wanted = PUBLIC | {f"{bandwidth.__name__}.{name}" for name in criteria}
    for name in OF_COMPARISON:
        wanted |= functions_and_classes(
            importlib.import_module(f"bsvdd.comparison.{name}")
        )
    assert wanted - set(documented) == set()


@pytest.mark.slow
def test_every_model_has_its_page(site, pages, documented):
    from docs.pages import formula

    for record in REGISTRY.values():
        address = f"models/{record.class_name}.html"
        assert documented[f"bsvdd.{record.class_name}"] == address
        text = pages[(site / address).resolve()].text
        first = importlib.import_module(formula(record)).__doc__.partition("\n")[0]
        assert first.rstrip(".").partition(" (")[0].partition(":")[0] in text
        assert (
            "<math" in text.partition('id="formula"')[2].partition('id="reference"')[0]
        )
        assert re.search(rf"<img[^>]*{record.class_name}\.png", text)


@pytest.mark.slow
def test_links_lead_somewhere_and_nothing_is_fetched_from_the_network(pages):
    checked = 0
    for path, page in pages.items():
        for link in page.links | page.fetched:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                assert parts.scheme == "data" or link not in page.fetched, (
                    f"{path.name}: {link}"
                )
                continue
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            assert target.is_file(), f"{path.name}: {link}"
            if target in pages and link in page.links:
                assert unquote(parts.fragment) in pages[target].anchors, (
                    f"{path.name}: {link}"
                )
            checked += 1
    assert checked > 1000


@pytest.mark.slow
def test_formulas_are_whole(pages):
    """latex2mathml shows a command as it stands where it has no rule for it."""
    for path, page in pages.items():
        for formula in re.findall(r"<math.*?</math>", page.text, re.S):
            assert "\\" not in formula and "&amp;" not in formula, (
                f"{path.name}: {formula}"
            )
    assert mathml(r"a &= b \\ c &= d", "block").count("<mtr>") == 2
    assert "<mtr>" not in mathml("a = b", "block")


# pages as they are written


def test_the_page_of_the_house_names_what_is_there():
    page = (DOCS / "contributing" / "house.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", page))
    assert len(named) > 30
    assert not {each for each in named if not (ROOT / each).exists()}
    assert len(page.split()) <= 900


def test_each_model_and_each_plot_has_its_picture():
    drawn = {
        folder: {path.stem: path.stat().st_size for path in (DOCS / folder).iterdir()}
        for folder in ("pictures", "gallery")
    }
    assert set(drawn["pictures"]) == {record.class_name for record in REGISTRY.values()}
    assert set(drawn["gallery"]) == {
        name for name in plots.__all__ if name.startswith("plot_")
    }
    assert (
        5_000
        < min(drawn["pictures"].values())
        <= max(drawn["pictures"].values())
        < MOST
    )
    assert max(drawn["gallery"].values()) < 2 * MOST
    page = (DOCS / "reference" / "plots.md").read_text(encoding="utf-8")
    assert all(f"(../gallery/{name}.png)" in page for name in drawn["gallery"])


def words(text):
    """Return how many words a text has: numbers and signs are none."""
    return sum(bool(re.search(r"[^\W\d]", each)) for each in text.split())


def test_lengths():
    guide = [path.read_text(encoding="utf-8") for path in GUIDE]
    assert sum(map(words, guide)) <= 9_500 and len(guide) <= 12
    assert all(text.count("![") <= 1 for text in guide)
    assert words((DOCS / "measurements.md").read_text(encoding="utf-8")) <= 3_000
    assert len(README.split()) <= 650 and len(README.splitlines()) <= 100


def test_pictures_of_readme_and_guide_are_drawn():
    """By docs/pictures.py, and not by a measurement that takes hours."""
    code = (DOCS / "pictures.py").read_text(encoding="utf-8")
    texts = [README, *(path.read_text(encoding="utf-8") for path in GUIDE)]
    shown = {
        name for text in texts for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    }
    assert shown
    for name in shown:
        stem = name.removeprefix("docs/").removeprefix("../").removesuffix(".png")
        assert f'"{stem}"' in code and (DOCS / f"{stem}.png").is_file(), name


# examples

SLOW_PAGES = ["which_prior"]  # it samples by NUTS


@pytest.mark.parametrize(
    "name", [name for name, source in MODULES.items() if ">>> " in source]
)
def test_examples_of_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert result.attempted and not result.failed


@pytest.mark.parametrize(
    "path",
    [
        *(
            pytest.param(path, marks=[pytest.mark.long] * (path.stem in SLOW_PAGES))
            for path in GUIDE
        ),
        DOCS / "contributing" / "house.md",
        *(
            DOCS / "reference" / f"{name}.md"
            for name in ("comparison", "inference", "scorers")
        ),
    ],
    ids=lambda path: path.stem,
)
def test_examples_of_pages(path):
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
    session = "".join(block for block in blocks if block.startswith(">>> "))
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(session, names, path.name, path.name, 0)
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
    assert not result.failed
    assert result.attempted or path.stem in WITHOUT_EXAMPLES


@pytest.mark.slow
def test_the_r_code_of_the_guide_runs(tmp_path):
    """Where R has a reticulate that knows this Python, and finds its shared library."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not installed")

    def run(code):
        (tmp_path / "script.R").write_text(code, encoding="utf-8")
        environment = {**os.environ, "RETICULATE_PYTHON": sys.executable}
        command = ["Rscript", "script.R"]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    known = 'packageVersion("reticulate") >= "1.41" && py_available(initialize = TRUE)'
    if run(f"library(reticulate)\nquit(status = !({known}))").returncode:
        pytest.skip("R has no reticulate of at least 1.41 that can load this Python")
    page = (DOCS / "reference" / "from_r.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```r\n(.*?)```", page, re.S)
    assert len(blocks) == 5
    done = run("\n".join([*blocks, "stopifnot(est$predict(new) == c(1, -1, -1))"]))
    assert done.returncode == 0, done.stderr


# the README


def test_the_example_of_the_readme_runs_as_written_and_its_links_exist(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(code.splitlines()) <= 11
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert "p_value" in run.stdout and "surprise" in run.stdout
    assert not run.stderr  # a warning would be the first thing that a reader sees
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_table_of_models_is_the_registry():
    rows = re.findall(r"^\| (\S+) \| `(\w+)` \| (.*?) \| (.*?) \|$", README, re.M)
    assert [row[:3] for row in rows] == [
        (r.name, r.class_name, "majority" + ", minority" * r.needs_minority)
        for r in REGISTRY.values()
    ]
    for name, _, _, cell in rows:
        if not REGISTRY[name].bayesian:
            assert cell == "none"
            continue
        known = REGISTRY[name].parameters
        named = [known[p] for p in ("prior", "minority_prior") if p in known]
        assert [
            eval(code, vars(priors)) for code in re.findall("`(.*?)`", cell)
        ] == named
        assert cell.endswith(
            "λ calibrated" if known["likelihood_scale"] == "calibrated" else "λ = 1"
        )
