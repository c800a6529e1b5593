"""All timings as one table: ``uv run python -m benchmarks``.

Each row is a ratio of two sides measured in the same run, in turn (medians of at least 5), or a
number, beside the most it is to be. With names only those rows are measured, and replace theirs
in the file. ``--before FOLDER`` compares this tree with another one that has an environment in
.venv, such as ``git worktree add FOLDER COMMIT``; it prints and stores nothing.
"""

from __future__ import annotations

import argparse
import functools
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import threadpoolctl
import xarray as xr
from bsvdd.comparison import datasets, studies
from bsvdd.inference.sampling import OfNormals
from bsvdd.models.bsvdd import BSVDD as Model
from bsvdd.models.data import Data
from bsvdd.models.gram import Gram
from bsvdd.models.units import Units
from rich.console import Console
from sklearn.svm import OneClassSVM

import bsvdd
from bsvdd import BSVDD, BSVDDM, SVDD, cutoffs, kernels, priors

from .browser import chromium, served
from .shared import DOCS, in_turn, quietly, ratio, write

Measured = tuple[float, dict[str, float]]  # the value, and the numbers behind it


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    measure : callable
        Takes whether sizes are to be small; returns the value and the numbers behind it.
    what, against : str
        What is measured, and what it is compared with.
    target : float
        The most that the value is to be.
    unit : str
        Empty for a ratio.
    """

    measure: Callable[[bool], Measured]
    what: str
    target: float
    unit: str
    against: str


ROWS: dict[str, Row] = {}


def row(
    what: str, target: float, unit: str = "", against: str = "", name: str = ""
) -> Callable[[Callable[..., Measured]], Callable[..., Measured]]:
    """Add the row that a function measures; it has the name of the function, or ``name``."""

    def added(measure: Callable[..., Measured]) -> Callable[..., Measured]:
        ROWS[name or measure.__name__] = Row(measure, what, target, unit, against)
        return measure

    return added


# what is measured


def rows(n0: int = 900, p: int = 50, seed: int = 0) -> np.ndarray:
    """Return standard normal rows, (n0, p)."""
    return np.random.default_rng(seed).normal(size=(n0, p))


def gram(n0: int = 900, p: int = 50, kernel: kernels.Kernel = kernels.RBF()) -> Gram:
    """Return the statistics of :func:`rows`."""
    return Data.of(kernel, Units.of(rows(n0, p)), most=n0).gram


def dirichlet(draws: int, points: int) -> np.ndarray:
    """Return weights of sum one that no sampler makes, (draws, points)."""
    return np.random.default_rng(1).dirichlet(np.ones(points), size=draws)


def in_new_process(code: str, *arguments: Any, tree: Path = Path()) -> dict[str, float]:
    """Run ``code`` in a process of its own; return the dictionary ``found`` that it leaves.

    In another ``tree`` it runs by the environment .venv there.
    """
    python = sys.executable if tree == Path() else tree.resolve() / ".venv" / "bin" / "python"
    run = [python, "-c", f"{PREAMBLE}{code}\n{REPORT}", *map(str, arguments)]
    done = subprocess.run(run, cwd=tree, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"a measured process failed:\n{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


# The peak of a process itself: ru_maxrss would count that of the one it was forked from.
PREAMBLE = """
import sys, time
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
clock, found = time.perf_counter, {}
"""
REPORT = "import json; print(json.dumps(found))"


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Return b of cost = a size^b, by least squares on logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def growing(cost: Callable[[int], float], sizes: list[int]) -> Measured:
    """Return the exponent with which a cost grows, and the costs."""
    costs = [cost(n) for n in sizes]
    return exponent(sizes, costs), {f"n = {n:,}": c for n, c in zip(sizes, costs, strict=True)}


def command(*arguments: object) -> float:
    """Return the seconds of a command in a process of its own."""
    start = time.perf_counter()
    program = Path(sys.executable).parent / "bsvdd"
    subprocess.run([program, *map(str, arguments)], capture_output=True, check=True)
    return time.perf_counter() - start


# another tree


@dataclass(frozen=True)
class Pair:
    """A number of this tree over that of another, each measured by public names in new processes.

    Attributes
    ----------
    what : str
    target : float
        The most that the ratio is to be.
    code : str
        Leaves the number in ``found["it"]``, and others beside it.
    arguments : tuple
        Of ``code``, and those of a quick run.
    """

    what: str
    target: float
    code: str
    arguments: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())

    def measure(self, before: Path, quick: bool) -> Measured:
        """Return the ratio, and the medians of both trees, measured in turn."""
        sides = {"this tree": Path(), "the other tree": before}
        found: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
        for _ in range(1 if quick else 5):
            for name, tree in sides.items():
                found[name].append(in_new_process(self.code, *self.arguments[quick], tree=tree))
        means = {name: pd.DataFrame(each).median() for name, each in found.items()}
        details = {f"{k}, {name}": float(v) for name, m in means.items() for k, v in m.items()}
        return float(means["this tree"]["it"] / means["the other tree"]["it"]), details


GENERATED = """
import warnings
import numpy as np
from bsvdd import BSVDD, priors
warnings.simplefilter("ignore")
def rows(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))
def spent(do):
    start = time.process_time()
    do()
    return time.process_time() - start
est = BSVDD().fit(rows(100, 10))
"""
FIT = """
import arviz as az
X = rows(int(sys.argv[1]), 10)
found["it"] = spent(lambda: est.fit(X))
d = est.distance(X[:50]).to_dataset(name="d")
found["R-hat"], found["ESS"] = float(az.rhat(d)["d"].max()), float(az.ess(d)["d"].min())
"""
PRIOR = """
est.fit(rows(300, 10))
Z = rows(1000, 10, 1)
def another(sd):
    return est.with_prior(priors.StandardizedRowSum(sd=sd)).probability_normal(Z)
found["it"] = float(np.median([spent(lambda: another(sd)) for sd in (0.7, 0.8, 0.9, 1.1, 1.2)]))
"""
PREDICT = """
est.fit(rows(500, 20))
Z = rows(int(sys.argv[1]), 20, 1)
found["it"] = spent(lambda: est.predict(Z))
"""
MEMORY = """
X = rows(int(sys.argv[1]), 10)
est.fit(X)
found["it"] = peak()
"""
IMPORT = "start = clock(); from bsvdd import BSVDD; found['it'] = clock() - start"
PAIRS = {
    **{
        f"fit_{n}": Pair(
            f"processor seconds of a default fit, {n:,} x 10", 1.1, GENERATED + FIT, ((n,), (200,))
        )
        for n in (300, 1000, 3000, 12_000)
    },
    "prior": Pair("with_prior and 1,000 probabilities, n0 = 300", 0.8, GENERATED + PRIOR),
    "predict": Pair(
        "predict of 60,000 x 20, 500 points", 1.5, GENERATED + PREDICT, ((60_000,), (2000,))
    ),
    "import": Pair("import bsvdd; BSVDD", 1.0, IMPORT),
    "peak": Pair("peak memory of a fit, 12,000 x 10", 1.0, GENERATED + MEMORY, ((12_000,), (500,))),
}


def of_pairs(before: Path) -> dict[str, Row]:
    """Return the rows of both trees."""
    return {
        name: Row(functools.partial(pair.measure, before), pair.what, pair.target, "", str(before))
        for name, pair in PAIRS.items()
    }


# start, commands, whole fits


@row("import bsvdd", 0.3, "s")
def import_time(quick: bool) -> Measured:
    """And what a process does before it can score."""
    codes = ("import bsvdd", "from bsvdd import load, BSVDD", "import pymc, arviz")
    timed = "start = clock(); {}; found = {{'s': clock() - start}}"
    seconds = {
        code: float(np.median([in_new_process(timed.format(code))["s"] for _ in range(5)]))
        for code in codes
    }
    return seconds[codes[0]], seconds


@row("the slowest of bsvdd --help, models and data", 0.5, "s")
def lists(quick: bool) -> Measured:
    seconds = {
        name: float(np.median([command(name) for _ in range(6)][1:])) for name in ("--help", "data")
    }
    return max(seconds.values()), seconds


@row("bsvdd score of 10,000 rows", 2.0, "s")
def score_command(quick: bool) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        model, table = Path(folder) / "model.safetensors", Path(folder) / "new.csv"
        names = [f"x{i}" for i in range(10)]
        BSVDD().fit(pd.DataFrame(rows(300, 10), columns=names)).save(model)
        new = pd.DataFrame(rows(1000 if quick else 10_000, 10, 1), columns=names)
        new.to_csv(table, index=False)
        runs = [command("score", model, table, "--out", f"{folder}/{i}.csv") for i in range(6)]
    return float(np.median(runs[1:])), {"first": runs[0]}


@row("bsvdd compare with its defaults", 60.0, "s")
def compare_command(quick: bool) -> Measured:
    few = ["--replicates", 1] if quick else []
    with tempfile.TemporaryDirectory() as folder:
        first, second = (command("compare", "--out", folder, *few) for _ in range(2))
    return second, {"first": first}


@row("the slowest default fit of BSVDD, 13 embedded sets and 2,457 skewed rows", 15.0, "s")
def slowest_fit(quick: bool) -> Measured:
    sets = {name: datasets.embedded(name) for name in datasets.names()}
    tables = {name: data.X[~data.minority] for name, data in sets.items()}
    rng = np.random.default_rng(0)
    skewed = np.exp(rng.normal(size=(2457, 10)) * rng.uniform(0.3, 1.5, 10))
    tables["skewed, 2457 x 10"] = skewed.round(2)  # heavy tails and near copies
    seconds = {}
    for name, X in tables.items():
        est = BSVDD(kernel=kernels.Tabular(scale="standardised"))
        with quietly():
            est.fit(X[:100])
            start = time.perf_counter()
            est.fit(X[:500] if quick else X)
        seconds[name] = time.perf_counter() - start
    return max(seconds.values()), seconds


@row("fit of BSVDD(), 20,000 x 20", 30.0, "s")
def fit_20000(quick: bool) -> Measured:
    code = """
import numpy as np, warnings
from bsvdd import BSVDD
warnings.simplefilter("ignore")  # it says that it takes landmarks
X = np.random.default_rng(0).normal(size=(int(sys.argv[1]), 20))
start = clock()
BSVDD().fit(X)
found = {"seconds": clock() - start, "MB": peak()}
"""
    found = in_new_process(code, 5000 if quick else 20_000)
    return found["seconds"], found


@row("study of the slides, 120 cells, 2 processes", 300.0, "s")
def study_seconds(quick: bool) -> Measured:
    start = time.perf_counter()
    results = studies.slides(quick).run(jobs=2)
    seconds = time.perf_counter() - start
    fits = results.groupby("model", sort=False)["fit_seconds"].sum().dropna()
    failed = {"failed": float((results["error"] != "").sum())}
    return seconds, failed | {f"{m}: seconds of all fits": float(s) for m, s in fits.items()}


# density, scoring, SVDD, prior


@row("logp and gradient of 16 vectors, n0 = 900", 1.3, against="one product w @ K")
def density(quick: bool) -> Measured:
    g = gram()
    f = OfNormals(Model(g, priors.StandardizedRowSum()))
    x, w = np.random.default_rng(2).normal(size=(16, 900)), dirichlet(16, 900)
    sides = {
        "logp and gradient": lambda: [f(x) for _ in range(200)],
        "w @ K": lambda: [w @ g.K for _ in range(200)],
    }
    return ratio(sides, 11)


@row(
    "distances, 4,000 draws x 10,000 rows, n0 = 900",
    1.4,
    against="one matrix product of that shape",
)
def distances(quick: bool) -> Measured:
    """And what predict and probability_normal make of them."""
    X, Z = rows(900, 20), rows(4000 if quick else 10_000, 20, seed=1)
    w = dirichlet(1000 if quick else 4000, 900)
    with quietly():
        est = BSVDD(kernel=kernels.RBF(), dictionary="all").fit(X).with_draws(w)
    K = est.kernel_(X, Z)
    return ratio(
        {
            "distances": lambda: est.distance(Z),
            "predict": lambda: est.predict(Z),
            "probability_normal": lambda: est.probability_normal(Z),
            "product": lambda: w @ K,
        }
    )


@row(
    "peak of a process that scores 1,000,000 x 20 rows by 2,000 draws, n0 = 900",
    300.0,
    "MB more",
    "the rows themselves",
)
def memory(quick: bool) -> Measured:
    code = """
import numpy as np, bsvdd
est = bsvdd.load(sys.argv[1])
X = np.random.default_rng(0).normal(size=(int(sys.argv[2]), 20))
before = peak()
est.predict(X), est.probability_normal(X)
found = {"rows": X.nbytes / 2**20, "before": before, "peak": peak()}
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        BSVDD(draws=1000, chains=2).fit(rows(900, 20)).save(path)
        found = in_new_process(code, path, 100_000 if quick else 1_000_000)
    return found["peak"] - found["rows"], found


@row("SVDD, RBF, 5,000 rows, 20 columns", 1.3, against="OneClassSVM at its default tol")
def svdd(quick: bool) -> Measured:
    """Scikit-learn's one-class SVM is the same problem."""
    n, nu, details = (1000 if quick else 5000), 0.1, {}
    for p in (5, 20):
        X = rows(n, p)
        own = cutoffs.Printed(of="own")  # the default leaves rows out, the other side does not
        est = SVDD(C=1 / (nu * n), kernel=kernels.RBF(), cutoff=own)
        theirs = functools.partial(OneClassSVM, nu=nu, gamma=est.fit(X).kernel_.gamma)
        sides = {
            "SVDD": lambda est=est, X=X: est.fit(X),
            # its weights sum to nu n, ours to 1
            "equal tol": lambda X=X, make=theirs: make(tol=1e-8 * nu * n).fit(X),
            "default tol": lambda X=X, make=theirs: make().fit(X),
        }
        value, seconds = ratio(sides)
        details |= {f"{name}, {p} columns": s for name, s in seconds.items()}
    return value, details


@row("new prior to probabilities of 1,000 rows, n0 = 300", 0.15, "s")
def new_prior(quick: bool) -> Measured:
    """Beside the first fit of the process."""
    code = """
import numpy as np, warnings
from bsvdd import BSVDD, priors
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(300, 10)), rng.normal(size=(1000, 10))
start = clock()
est = BSVDD().fit(X)
found["first fit"] = clock() - start
seconds = []
for sd in (0.7, 0.8, 0.9, 1.1, 1.2, 1.3):
    start = clock()
    est.with_prior(priors.StandardizedRowSum(sd=sd)).probability_normal(Z)
    seconds.append(clock() - start)
found["new prior"] = float(np.median(seconds[1:]))
"""
    seconds = in_new_process(code)
    return seconds["new prior"], seconds


@row("explain of 100 x 10, n0 = 900", 2.0, against="score_samples of 10,000")
def explain(quick: bool) -> Measured:
    """Of new rows: walks of ten steps to ten rows like each."""
    n = 10 if quick else 100
    est, Z, steps = BSVDD().fit(rows(900, 10)), rows(n, 10, seed=1), rows(100 * n, 10, seed=2)
    return ratio(
        {
            "explain": lambda: bsvdd.explain(est, Z),
            "score_samples of 10,000": lambda: est.score_samples(steps),
        }
    )


# how costs grow


def sizes(quick: bool) -> list[int]:
    """Return numbers of rows."""
    return [500, 1000, 2000] if quick else [1000, 2000, 4000, 8000]


def _gram(n: int) -> Callable[[], Any]:
    return lambda: gram(n, 20)


def _svdd(n: int) -> Callable[[], Any]:
    X = rows(n, 20)
    return lambda: SVDD().fit(X)


def growth_of(make: Callable[[int], Callable[[], Any]], quick: bool) -> Measured:
    return growing(lambda n: in_turn({"it": make(n)}, 5)["it"], sizes(quick))


for _make, _what, _target in (
    (_gram, "Gram statistics", 2.2),
    (_svdd, "SVDD, the whole fit", 2.5),
):
    row(f"{_what}: exponent of n0", _target, name=f"growth{_make.__name__}")(
        functools.partial(growth_of, _make)
    )


@row("memory of SVDD, the whole fit: exponent of n0", 2.2)
def growth_memory(quick: bool) -> Measured:
    """Above that of the imports."""
    code = """
import numpy as np
from bsvdd import SVDD
X = np.random.default_rng(0).normal(size=(int(sys.argv[1]), 20))
SVDD().fit(X[:100])
before = peak()
SVDD().fit(X)
found["MB"] = peak() - before
"""
    return growing(lambda n: in_new_process(code, n)["MB"], sizes(quick))


# samplers: seconds for each effective draw of d_z, and whether chains agree

# the published prior collapses with the bandwidth "scale", and does not with the default one
CASES: dict[str, tuple[kernels.Kernel, Any, dict[str, int]]] = {
    "default": (kernels.RBF(), priors.StandardizedRowSum(), dict(draws=2000, chains=4)),
    "published": (kernels.RBF("scale"), priors.RowSum(), dict(draws=4000)),
}


def naive(gram: Gram, prior: Any) -> pm.Model:
    """Return BSVDD as one would first write it: alpha @ K @ alpha, numbers as constants."""
    with pm.Model() as model:
        beta = pm.Normal("beta", prior.mean(gram), float(prior.sd), shape=gram.m)
        alpha = pm.Deterministic("w", pm.math.softmax(beta))
        quadratic = alpha @ gram.K @ alpha
        pm.Potential("kernel", -0.5 * (gram.T - 2.0 * alpha @ gram.r + gram.n0 * quadratic))
    return model


def smallest_ess(w: np.ndarray, gram: Gram, points: int = 100, method: str = "bulk") -> float:
    """Return the smallest ESS of d_z over training rows; w has shape (chain, draw, M)."""
    chosen = np.linspace(0, len(gram.K) - 1, points).astype(int)
    of_points = w @ gram.K
    squared = gram.diag[chosen] - 2.0 * of_points[..., chosen] + np.vecdot(of_points, w)[..., None]
    d = np.sqrt(np.maximum(squared, 0.0))
    data = xr.Dataset({"d": (("chain", "draw", "obs"), d)})
    return float(az.ess(data, method=method)["d"].min())


def touch_memory() -> None:
    """Use a gigabyte and free it, so that what is measured next has memory at once.

    A virtual machine gives free memory back to its host within seconds, and waits for it when it is
    used again: .9 s for 400 MB, against .05 s.
    """
    np.ones(2**27)


def rate_of_pymc(model: pm.Model, g: Gram, seed: int, **settings: Any) -> float:
    """Return effective draws a second of ``pm.sample``."""
    touch_memory()
    quiet = {"progressbar": False, "compute_convergence_checks": False, "chains": 2}
    start = time.perf_counter()
    tree = pm.sample(model=model, random_seed=seed, **quiet, **settings)
    seconds = time.perf_counter() - start
    return smallest_ess(tree["posterior"]["w"].values, g) / seconds


def rate_of_fit(case: str, n0: int, seed: int) -> float:
    """Return effective draws a second of a whole fit."""
    touch_memory()
    kernel, prior, settings = CASES[case]
    est = BSVDD(kernel=kernel, prior=prior, random_state=seed, **settings)
    start = time.perf_counter()
    with quietly():
        est.fit(rows(n0))
    seconds = time.perf_counter() - start
    return smallest_ess(est.fit_.learned.by_chain, est.gram_) / seconds


def against_pymc(case: str, sampler: str, quick: bool) -> Measured:
    """Return the medians of five fits and of a sampler of PyMC in turn, warm caches."""
    n0, repeats = (200, 1) if quick else (900, 5)
    kernel, prior, _ = CASES[case]
    g = gram(n0, kernel=kernel)
    model = naive(g, prior)
    settings: dict[str, Any] = {"draws": 1000, "tune": 500}
    if sampler == "pm.Metropolis":  # moves one weight after the other: n0 densities a draw
        settings = {"draws": 20, "tune": 20, "step": pm.Metropolis(model=model)}
    rate_of_fit(case, n0, 0)
    rate_of_pymc(model, g, 0, **settings | {"draws": 10, "tune": 10})
    pairs = [
        (rate_of_fit(case, n0, seed), rate_of_pymc(model, g, seed, **settings))
        for seed in range(repeats)
    ]
    ours, theirs = np.median(pairs, axis=0).tolist()
    return theirs / ours, {"effective draws a second": ours, f"of {sampler}": theirs}


for _name, _case, _target, _sampler in (
    ("seconds_default", "default", 1 / 60, "pm.sample"),
    ("seconds_published", "published", 1 / 20, "pm.sample"),
    ("seconds_metropolis", "default", 1 / 1000, "pm.Metropolis"),
):
    _what = f"seconds for each effective draw of d_z, whole fit of BSVDD, {_case} prior"
    row(_what, _target, against=f"{_sampler} of the naive model", name=_name)(
        functools.partial(against_pymc, _case, _sampler)
    )


@row(
    "seconds of learning for each effective draw of d_z, parallel chains, largest ratio",
    0.5,
    against="NUTS",
)
def parallel_chains(quick: bool) -> Measured:
    """On posteriors that are far from normal."""
    n0, many = (100, 5_000) if quick else (300, 200_000)
    published = dict(kernel=kernels.RBF("scale"), prior=priors.RowSum())
    stiff = BSVDD(
        kernel=kernels.RBF("mean"), prior=priors.StandardizedRowSum(), likelihood_scale=100.0
    )
    both = np.concatenate([rows(n0), rows(40, seed=1) + 1.5]), np.repeat([0, 1], [n0, 40])
    curved: dict[str, tuple[Any, tuple[np.ndarray, ...]]] = {
        "200,000 rows": (BSVDD(), (rows(many, 20),)),
        "published prior, 300 rows": (BSVDD(**published), (rows(n0),)),
        "lambda = 100, 300 rows": (stiff, (rows(n0),)),
        "lambda = 100, 900 rows": (stiff, (rows(3 * n0),)),
        "BSVDD-M, published priors, 300 + 40 rows": (
            BSVDDM(**published, minority_prior=priors.Beta()),
            both,
        ),
    }

    def rate(est: Any, data: tuple[np.ndarray, ...], **settings: Any) -> float:
        with quietly():
            fitted = est.set_params(**settings).fit(*data).fit_
        ess = min(
            smallest_ess(fitted.learned.by_chain, est.gram_, 20, method)
            for method in ("bulk", "tail")
        )
        return ess / fitted.seconds

    details, ratios = {}, []
    for name, (est, data) in curved.items():
        medians = {}
        for sampler in ("auto", "nuts"):
            rate(est, data, sampler=sampler, draws=10, tune=10)  # NUTS compiles
            found = [
                rate(est, data, sampler=sampler, draws=1000, tune=500, random_state=seed)
                for seed in range(1 if quick else 5)
            ]
            medians[sampler] = float(np.median(found))
            details[f"{name}, {sampler}: effective draws a second"] = medians[sampler]
        ratios.append(medians["nuts"] / medians["auto"])
    return max(ratios), details


def mixing(model: type[Any], quick: bool) -> Measured:
    """Return the largest R-hat of d_z over the embedded data sets, all settings at default."""
    details = {}
    for name in datasets.names()[:: 6 if quick else 1]:
        data, rng, est = datasets.embedded(name), np.random.default_rng(0), model()
        halves = [rng.permutation(np.flatnonzero(c)) for c in (~data.minority, data.minority)]
        train = np.concatenate([half[: min(900, len(half) // 2)] for half in halves])
        with quietly():
            est.fit(data.X[train], data.minority[train])
        details[f"{name}: R-hat"] = est.fit_.chains.r_hat
    return max(details.values()), details


for _name, _model in (("mixing_bsvdd", BSVDD), ("mixing_bsvdd_m", BSVDDM)):
    _what = f"largest R-hat of d_z, {_model.__name__}, defaults, embedded data sets"
    row(_what, 1.01, name=_name)(functools.partial(mixing, _model))


# the explorer in a browser

CELL = """
import time
from IPython.display import HTML, display
started = time.time()
import numpy as np
import bsvdd
X = np.random.default_rng(0).normal(size=({n0} + {n0} // 10, 10))
X[{n0}:] += 1.5
explorer = bsvdd.explore(X, np.repeat([0, 1], [{n0}, {n0} // 10]))
display(HTML(f'<span class="started" data-seconds="{{started}}"></span>'))
explorer
"""
READY = """() => {
    const image = document.querySelector("img.bsvdd-picture");
    if (!image || !image.complete || !image.naturalWidth) return null;
    const started = document.querySelector(".started");
    return started && {seconds: Date.now() / 1000 - Number(started.dataset.seconds)};
}"""
WATCH = """() => {
    const image = document.querySelector("img.bsvdd-picture");
    window.measured = [];
    let pressed = 0;
    document.addEventListener("keydown", () => { pressed = performance.now(); }, true);
    image.addEventListener("load", () => {
        window.measured.push((performance.now() - pressed) / 1000);
    });
}"""
MOVED = 9  # times that a slider is moved


@functools.cache
def in_browser(quick: bool) -> tuple[list[float], list[float]]:
    """Return the seconds from the cell's start to its picture, and from a key to the next."""
    first: list[float] = []
    cells = [CELL.format(n0=100 if quick else 300)]
    with (
        tempfile.TemporaryDirectory() as folder,
        served(cells, Path(folder)) as address,
        chromium() as page,
    ):
        for _ in range(3):
            page.goto(address, timeout=240_000)
            ready = page.wait_for_function(READY, timeout=240_000, polling=50)
            first.append(ready.json_value()["seconds"])
        page.evaluate(WATCH)
        handle = page.locator(".bsvdd-sd .noUi-handle").first
        for i in range(MOVED):
            handle.press("ArrowRight" if i % 2 else "ArrowLeft")
            page.wait_for_function(f"() => window.measured.length > {i}", timeout=90_000)
        moved: list[float] = page.evaluate("window.measured")
    return first, moved


@row(
    "cell of a new kernel, with imports, to the explorer's picture in a browser, n0 = 300", 5.0, "s"
)
def first_picture(quick: bool) -> Measured:
    first, _ = in_browser(quick)
    return float(np.median(first[1:])), {f"page {i}": s for i, s in enumerate(first, 1)}


@row("slider to picture in a browser, n0 = 300, median of 9 changes of the prior's sd", 0.4, "s")
def slider_in_browser(quick: bool) -> Measured:
    _, moved = in_browser(quick)
    return float(np.median(moved)), {"shortest": min(moved), "longest": max(moved)}


# the table


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, save."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"rows: {', '.join(ROWS)}")
    parser.add_argument("--quick", action="store_true", help="smaller sizes; saves nothing")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of the files (docs)")
    parser.add_argument("--before", type=Path, help="another tree; rows: " + ", ".join(PAIRS))
    chosen = parser.parse_args(arguments)
    of_rows = of_pairs(chosen.before) if chosen.before else ROWS
    unknown = set(chosen.names) - set(of_rows)
    if unknown:
        parser.error(f"no rows {sorted(unknown)}; there are {', '.join(of_rows)}")
    console = Console()
    chosen.out.mkdir(parents=True, exist_ok=True)
    path = chosen.out / "benchmarks.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else {}
    for name in chosen.names or of_rows:
        of = of_rows[name]
        with console.status(name):
            value, details = of.measure(chosen.quick)
        kept[name] = {
            **{"what": of.what, "against": of.against, "value": value, "target": of.target},
            **{"unit": of.unit, "details": details, "date": date.today().isoformat()},
            **{"processor": processor(), "threads": threads()},
        }
        found, most = (shown(number, of.unit) for number in (value, of.target))
        against = f" against {of.against}" if of.against else ""
        style = "red" if value > of.target else None
        console.print(f"{name}: {found} (≤ {most}): {of.what}{against}", style=style)
        if chosen.before:
            console.print(details)
        elif not chosen.quick:
            together = {name: kept[name] for name in ROWS if name in kept}
            write(path, {"rows": together})
            write(path.with_suffix(".png"), picture(together))
    pools = ", ".join(f"{name} {n}" for name, n in threads().items())
    console.print(f"{processor()}; threads: {pools}")


def picture(measured: dict[str, dict[str, Any]]) -> plt.Figure:
    """Show each value as a share of its target."""
    each = list(measured.values())
    figure, ax = plt.subplots(figsize=(9, 0.8 + 0.42 * len(each)), layout="constrained")
    labels = [r["what"] + (f"\nagainst {r['against']}" if r["against"] else "") for r in each]
    share = [r["value"] / r["target"] for r in each]
    color = ["#0072B2" if s <= 1 else "#D55E00" for s in share]
    bars = ax.barh(range(len(each)), share, color=color, height=0.6)
    texts = [f"{shown(r['value'], r['unit'])}  (≤ {shown(r['target'], r['unit'])})" for r in each]
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # over the line, not under it
    ax.bar_label(bars, texts, padding=4, fontsize=8, bbox=box)
    ax.axvline(1, color="#333333", linestyle="--", linewidth=1, zorder=1.5)
    ax.margins(y=0.01)
    ax.set_yticks(range(len(each)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlim(0, 1.45 * max(1.0, *share))
    ax.set(xlabel="value / target; the dashed line is the target")
    return figure


def shown(value: float, unit: str) -> str:
    """Return a number with its unit; a ratio as a multiple."""
    number = f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return f"{number} {unit}".rstrip()


def processor() -> str:
    """Return the kind of processor."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (named or [platform.processor() or platform.machine()])[0]


def threads() -> dict[str, int]:
    """Return the number of threads of each library that has a pool of them."""
    pools = threadpoolctl.threadpool_info()
    return {f"{p['internal_api']} ({p['prefix']})": p["num_threads"] for p in pools}
