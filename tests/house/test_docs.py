"""The documentation: it builds without a warning, names all names, and its examples run."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from bsvdd.estimators.registry import REGISTRY
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram
from bsvdd.models.kernels import bandwidth
from bsvdd.models.potential import KernelLikelihood
from sphinx.util.inventory import InventoryFile

import bsvdd
from bsvdd import kernels, plots, priors
from docs import example_model
from docs.mathml import mathml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN = sorted([*(DOCS / "guide").glob("*.md"), DOCS / "contributing" / "new_model.md"])
MOST = 60_000  # bytes of a picture
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
WITHOUT_EXAMPLES = {"which_model"}
BASES = {"Kernel", "GaussianPrior", "CorrelatedPrior"}  # shown by their subclasses
HELPERS = {"as_kernel", "show_probability"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the site, built with warnings as errors."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "docs", "--out", out]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


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


def functions_and_classes(module):
    """Return the public names of a module that it defines, or lists in ``__all__``."""
    listed = getattr(module, "__all__", None)
    return {
        name
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and (name in listed if listed else value.__module__ == module.__name__)
        and not name.startswith("_")
    }


PUBLIC = {f"bsvdd.{name}" for name in bsvdd.__all__} | {
    f"bsvdd.{short}.{name}"
    for short, module in (("kernels", kernels), ("priors", priors), ("plots", plots))
    for name in functions_and_classes(module)
}


@pytest.mark.slow
def test_every_public_name_has_an_entry(documented):
    assert len(PUBLIC) > 40
    assert set(documented) >= PUBLIC


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_an_example(name):
    value = pkgutil.resolve_name(f"bsvdd:{name.removeprefix('bsvdd.')}")
    if not inspect.ismodule(value) and name.rpartition(".")[2] not in BASES | HELPERS:
        assert "\nExamples\n--------\n" in inspect.getdoc(value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("scenarios.datasets", "scenarios.scenario", "run.runner", "run.protocol"),
        *("run.studies", "report.table"),
    ],
)
def test_the_comparison_has_its_entries(documented, name):
    module = importlib.import_module(f"bsvdd.comparison.{name}")
    wanted = {f"{module.__name__}.{each}" for each in functions_and_classes(module)}
    assert wanted and wanted <= set(documented)


@pytest.mark.slow
def test_every_criterion_of_the_bandwidth_has_an_entry(documented):
    assert {f"{bandwidth.__name__}.{name}" for name in bandwidth.CRITERIA} <= set(documented)


@pytest.mark.slow
@pytest.mark.parametrize("record", REGISTRY.values(), ids=REGISTRY)
def test_every_model_has_its_page(site, documented, record):
    page = f"models/{record.class_name}.html"
    assert documented[f"bsvdd.{record.class_name}"] == page
    text = (site / page).read_text(encoding="utf-8")
    first = importlib.import_module(record.module).__doc__.partition("\n")[0]
    assert first.rstrip(".").partition(" (")[0].partition(":")[0] in text
    assert "<math" in text.partition('id="formula"')[2].partition('id="reference"')[0]
    picture = DOCS / "pictures" / f"{record.class_name}.png"
    assert 5_000 < picture.stat().st_size < MOST
    assert re.search(rf"<img[^>]*{record.class_name}\.png", text)


def test_the_page_of_the_house_names_what_is_there():
    page = (DOCS / "contributing" / "house.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+/[\w/]*(?:\.py)?)`", page))
    assert len(named) > 30
    assert not {each for each in named if not (ROOT / each).exists()}
    assert len(page.splitlines()) < 100  # one screen


def test_pictures_are_those_of_the_models():
    assert {p.stem for p in (DOCS / "pictures").iterdir()} == {
        record.class_name for record in REGISTRY.values()
    }


def test_each_plot_has_its_picture_in_the_gallery():
    drawn = {path.stem for path in (DOCS / "gallery").iterdir()}
    assert drawn == {name for name in plots.__all__ if name.startswith("plot_")}
    page = (DOCS / "reference" / "plots.md").read_text(encoding="utf-8")
    assert all(f"(../gallery/{name}.png)" in page for name in drawn)
    assert max(path.stat().st_size for path in (DOCS / "gallery").iterdir()) < 2 * MOST


class Page(HTMLParser):
    """What a page links to, what it fetches, and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.links, self.fetched, self.anchors = set(), set(), {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors |= {attrs[name] for name in ("id", "name") if attrs.get(name)}
        if tag == "a" and attrs.get("href"):
            self.links.add(attrs["href"])
        self.fetched |= {attrs["src"]} if attrs.get("src") else set()
        self.fetched |= {attrs["href"]} if tag == "link" and attrs.get("href") else set()


@pytest.fixture(scope="module")
def pages(site):
    return {p.resolve(): Page(p.read_text(encoding="utf-8")) for p in site.rglob("*.html")}


@pytest.mark.slow
def test_links_inside_lead_somewhere(pages):
    checked = 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.name}: {link}"
            if target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path.name}: {link}"
            checked += 1
    assert checked > 1000


@pytest.mark.slow
def test_reading_a_page_fetches_nothing_from_the_network(pages):
    for path, page in pages.items():
        for address in page.fetched:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            assert not parts.scheme and not parts.netloc, f"{path.name}: {address}"
            if not parts.path:
                continue
            assert (path.parent / unquote(parts.path)).is_file(), f"{path.name}: {address}"


@pytest.mark.slow
def test_formulas_are_whole(site):
    """latex2mathml shows a command as it stands where it has no rule for it."""
    for path in site.rglob("*.html"):
        for formula in re.findall(r"<math.*?</math>", path.read_text(encoding="utf-8"), re.S):
            assert "\\" not in formula, f"{path.name}: {formula}"
            assert "&amp;" not in formula, f"{path.name}: {formula}"


def test_a_formula_of_two_lines_is_aligned():
    assert mathml(r"a &= b \\ c &= d", "block").count("<mtr>") == 2
    assert "<mtr>" not in mathml("a = b", "block")


@pytest.fixture
def registry():
    """The registry, put back afterwards: an example registers a model."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
@pytest.mark.usefixtures("registry")
def test_examples_of_the_guide_do_what_they_say(path):
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.S)
    session = "".join(block for block in blocks if block.startswith(">>> "))
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(session, names, path.name, path.name, 0)
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
    assert not result.failed
    assert result.attempted or path.stem in WITHOUT_EXAMPLES


def test_the_example_model_against_a_quadrature(worst_z):
    """E[w | x] of two points, over a grid of both betas."""
    rows = np.array([[0.0], [0.1], [0.2], [0.7]])
    gram = Gram.from_rows(kernels.RBF(0.5), rows, dictionary=np.array([[0.0], [1.0]]))
    sd, scale = 1.5, 3.0
    beta = np.stack(np.meshgrid(*[np.linspace(-9.0, 9.0, 301)] * 2, indexing="ij"), axis=-1)
    s = np.log1p(np.exp(beta))
    w = s / s.sum(axis=-1, keepdims=True)
    log_density = KernelLikelihood(scale).total(w, gram) - np.square(beta).sum(axis=-1) / (
        2 * sd**2
    )
    density = np.exp(log_density - log_density.max())[..., None]
    truth = (density * w).sum(axis=(0, 1)) / density.sum()
    assert truth[0] > 0.6  # without the data it is a half

    model = example_model.build(gram, priors.Flat(sd), scale)
    draws = sample(model, "auto", draws=4000, tune=500, chains=2, seed=1)
    assert worst_z(draws["posterior"]["w"].values, truth) < 4
