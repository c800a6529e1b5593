"""Rows on speed and memory. Each function measures one row of the table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from bsvdd.inference.center import Center
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bsvdd
from sklearn.svm import OneClassSVM

from bsvdd import BSVDD, SVDD, kernels, priors

from .baselines import gram, rows
from .measure import PEAK, Row, exponent, in_new_process, in_turn

CHAINS = 16  # that the sampler moves at once


def dirichlet(draws: int, points: int) -> np.ndarray:
    """Return weights of sum one that no sampler makes, (draws, points)."""
    return np.random.default_rng(1).dirichlet(np.ones(points), size=draws)


def import_time(quick: bool) -> Row:
    """Measure ``import bsvdd``, and what a process does before it can score."""
    timed = (
        "import json, time; start = time.perf_counter(); {}; "
        "print(json.dumps({{'s': time.perf_counter() - start}}))"
    )
    codes = {
        "import bsvdd": "import bsvdd",
        "from bsvdd import load, BSVDD": "from bsvdd import load, BSVDD",
        "import pymc, arviz": "import pymc, arviz",
    }
    seconds: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(5):
        for name, code in codes.items():
            seconds[name].append(in_new_process(timed.format(code))["s"])
    medians = {name: float(np.median(s)) for name, s in seconds.items()}
    return Row("import bsvdd", "", medians["import bsvdd"], 0.3, "s", medians)


def _density(n0: int, calls: int) -> Row:
    g = gram(n0)
    density = Density.of(bsvdd.build(g, priors.StandardizedRowSum()))
    x = np.random.default_rng(2).normal(size=(CHAINS, n0))
    w = dirichlet(CHAINS, n0)

    def repeated(function: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(calls):
                function()

        return run

    sides = {
        "logp and gradient": repeated(lambda: density.value_and_gradient(x)),
        "w @ K": repeated(lambda: w @ g.K),
    }
    seconds = {name: s / calls for name, s in in_turn(sides, 11).items()}
    value = seconds["logp and gradient"] / seconds["w @ K"]
    what = f"logp and gradient of {CHAINS} vectors, n0 = {n0:,}"
    return Row(what, "one product w @ K", value, 1.3, details=seconds)


def density_900(quick: bool) -> Row:
    """Measure the log density that the samplers call, at 900 points."""
    return _density(900, 200)


def density_3000(quick: bool) -> Row:
    """Measure it at 3,000 points."""
    return _density(3000, 20)


def distances(quick: bool) -> Row:
    """Measure draws x rows of distances, and what predict and probability_normal make of them."""
    draws, n, M = (1000, 4000, 900) if quick else (4000, 10_000, 900)
    g = gram(M, 20)
    center = Center.of(dirichlet(draws, M), g)
    Z = rows(n, 20, seed=1)
    K = g.kernel(g.points, Z)
    cutoff = center.score_of(0.9)
    sides = {
        "distances": lambda: center.distances(Z),
        "predict": lambda: center.is_normal(Z, cutoff, 0.5),
        "probability_normal": lambda: center.probability_normal(Z, cutoff),
        "product": lambda: center.weights @ K,
    }
    seconds = in_turn(sides, 5)
    what = f"distances, {draws:,} draws x {n:,} rows, n0 = {M}"
    value = seconds["distances"] / seconds["product"]
    return Row(what, "one matrix product of that shape", value, 1.4, details=seconds)


def memory(quick: bool) -> Row:
    """Measure the peak of a process that loads a model and scores many rows."""
    n = 100_000 if quick else 1_000_000
    est = BSVDD(draws=1000, chains=2, cutoff=0.9)
    code = f"""
import json, sys
import numpy as np
import bsvdd
{PEAK}
est = bsvdd.load(sys.argv[1])
X = np.random.default_rng(0).normal(size=(int(sys.argv[2]), 20))
before = peak()
est.predict(X), est.probability_normal(X)
print(json.dumps({{"rows": X.nbytes / 2**20, "before": before, "peak": peak()}}))
"""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        est.fit(rows(900, 20)).save(path)
        megabytes = in_new_process(code, path, n)
    what = f"peak of a process that scores {n:,} x 20 rows by 2,000 draws, n0 = 900"
    value = megabytes["peak"] - megabytes["rows"]
    return Row(what, "the rows themselves", value, 300.0, "MB more", megabytes)


def svdd(quick: bool) -> Row:
    """Measure SVDD against scikit-learn's one-class SVM, the same problem."""
    n, nu, details = (1000 if quick else 5000), 0.1, {}
    for p in (5, 20):
        X = rows(n, p)
        est = SVDD(C=1 / (nu * n))
        gamma = est.fit(X).kernel_.gamma
        sides = {
            "SVDD": lambda est=est, X=X: est.fit(X),
            "default tol": lambda X=X, g=gamma: OneClassSVM(nu=nu, gamma=g).fit(X),
            # its weights sum to nu n, ours to 1
            "equal tol": lambda X=X, g=gamma: OneClassSVM(nu=nu, gamma=g, tol=1e-8 * nu * n).fit(X),
        }
        details |= {f"{name}, {p} columns": s for name, s in in_turn(sides, 5).items()}
        for name in ("default tol", "equal tol"):
            ours, theirs = details[f"SVDD, {p} columns"], details[f"{name}, {p} columns"]
            details[f"ratio at {name}, {p} columns"] = ours / theirs
    value = details["ratio at default tol, 20 columns"]
    what = f"SVDD, RBF, {n:,} rows, 20 columns"
    return Row(what, "OneClassSVM at its default tol", value, 1.3, details=details)


PRIOR_TO_PROBABILITY = """
import json, time, warnings
import numpy as np
from bsvdd import BSVDD, priors
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(300, 10)), rng.normal(size=(1000, 10))
start = time.perf_counter()
est = BSVDD().fit(X)
first = time.perf_counter() - start
seconds = []
for sd in (0.7, 0.8, 0.9, 1.1, 1.2, 1.3):
    start = time.perf_counter()
    est.with_prior(priors.StandardizedRowSum(sd=sd)).probability_normal(Z)
    seconds.append(time.perf_counter() - start)
print(json.dumps({"first fit": first, "new prior": float(np.median(seconds[1:]))}))
"""


def new_prior(quick: bool) -> Row:
    """Measure new prior numbers to new probabilities."""
    seconds = in_new_process(PRIOR_TO_PROBABILITY)
    what = "new prior to probabilities of 1,000 rows, n0 = 300"
    return Row(what, "", seconds["new prior"], 0.15, "s", seconds)


def new_prior_share(quick: bool) -> Row:
    """Measure it against the first fit of the process."""
    seconds = in_new_process(PRIOR_TO_PROBABILITY)
    value = seconds["new prior"] / seconds["first fit"]
    return Row("new prior to probabilities", "first fit of a process", value, 1 / 50, "", seconds)


def _sizes(quick: bool) -> list[int]:
    return [500, 1000, 2000] if quick else [1000, 2000, 4000, 8000]


def _growth(
    what: str, target: float, quick: bool, make: Callable[[int], Callable[[], object]]
) -> Row:
    sizes = _sizes(quick)
    costs = [in_turn({"it": make(n)}, 5)["it"] for n in sizes]
    details = {f"n0 = {n:,}": cost for n, cost in zip(sizes, costs, strict=True)}
    return Row(f"{what}: exponent of n0", "", exponent(sizes, costs), target, "", details)


def growth_gram(quick: bool) -> Row:
    """Measure how the Gram statistics grow, with all rows as dictionary."""

    def make(n: int) -> Callable[[], object]:
        X = rows(n, 20)
        kernel = kernels.RBF().resolve(X)
        return lambda: Gram.from_rows(kernel, X)

    return _growth("Gram statistics", 2.2, quick, make)


def growth_density(quick: bool) -> Row:
    """Measure how the gradients of one batch grow."""

    def make(n: int) -> Callable[[], object]:
        density = Density.of(bsvdd.build(gram(n, 20), priors.StandardizedRowSum()))
        x = np.zeros((CHAINS, n))
        return lambda: [density.value_and_gradient(x) for _ in range(5)]

    return _growth("logp and gradient", 2.2, quick, make)


def growth_svdd(quick: bool) -> Row:
    """Measure how a whole fit of SVDD grows."""

    def make(n: int) -> Callable[[], object]:
        X = rows(n, 20)
        return lambda: SVDD().fit(X)

    return _growth("SVDD, the whole fit", 2.5, quick, make)


def growth_scoring(quick: bool) -> Row:
    """Measure how the scoring of 1,000 rows by 1,000 draws grows."""

    def make(n: int) -> Callable[[], object]:
        g = gram(n, 20)
        center, Z = Center.of(dirichlet(1000, n), g), rows(1000, 20, seed=1)
        return lambda: center.scores(Z, 0.5)

    return _growth("predict 1,000 rows by 1,000 draws", 1.2, quick, make)


def growth_memory(quick: bool) -> Row:
    """Measure how the peak of a process that fits SVDD grows, above that of the imports."""
    code = f"""
import json, sys
import numpy as np
from bsvdd import SVDD
{PEAK}
X = np.random.default_rng(0).normal(size=(int(sys.argv[1]), 20))
SVDD().fit(X[:100])
before = peak()
SVDD().fit(X)
print(json.dumps({{"MB": peak() - before}}))
"""
    sizes = _sizes(quick)
    peaks = [in_new_process(code, n)["MB"] for n in sizes]
    details = {f"n0 = {n:,}, MB": peak for n, peak in zip(sizes, peaks, strict=True)}
    what = "memory of SVDD, the whole fit: exponent of n0"
    return Row(what, "", exponent(sizes, peaks), 2.2, "", details)


ROWS = [
    import_time,
    density_900,
    density_3000,
    distances,
    memory,
    svdd,
    new_prior,
    new_prior_share,
    growth_gram,
    growth_density,
    growth_svdd,
    growth_scoring,
    growth_memory,
]
