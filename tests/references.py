"""Reference posteriors: long runs of models written out anew, with nothing of the package.

    uv run python tests/references.py

writes references.json beside this file, from which inference/test_references.py reads the rows, the
priors, and what the draws of the samplers must agree with. Each model is its formula in plain
PyMC, each kernel value a call of a function of two rows; the chains are nutpie's. Of BDD, whose
posterior is normal, the mean and the covariance are checked against the closed form.

BDD-M has the constraint sum(alpha0) = 1 + sum(alpha1). Its density, given alpha1, is that of the
normal vector alpha0 over that of its sum, and its coordinates here are those of an orthonormal
basis of the vectors of sum zero.
"""

import json
import os
import re
import time
import warnings
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from scipy.linalg import null_space

HERE = Path(__file__).parent
STORE = HERE / "references.json"
DATA = HERE.parent / "comparison" / "scenarios" / "data"

MODELS = ["BDD", "BSVDD", "BDDM", "BSVDDM"]
LEARN_FROM_MINORITY = ["BDDM", "BSVDDM"]
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]
STATISTICS = ["mean", "sd", *QUANTILES]

SEED = 20_260
CHAINS, TUNE, DRAWS = 4, 1000, 12_000
MIN_ESS, MAX_R_HAT = 10_000, 1.01
MAX_DRAWS = 100_000


def embedded(name, majority, minority, columns=None):
    """Rows of an embedded data set, and more of them to be scored."""
    with np.load(DATA / f"{name}.npz") as file:
        X, y = file["X"][:, columns or slice(None)], file["y"]
    rng = np.random.default_rng(SEED)
    X0, X1 = (rng.permutation(X[y == label]) for label in (0, 1))
    X0, X1 = ((x - X0.mean(axis=0)) / X0.std(axis=0) for x in (X0, X1))
    return X0[:majority], X1[:minority], X0[majority : majority + 3], X1[minority : minority + 2]


def moons(majority, minority):
    """Two half circles with noise."""
    rng = np.random.default_rng(SEED)

    def half(n, side):
        t = rng.uniform(0, np.pi, n)
        x = np.column_stack([np.cos(t), np.sin(t)])
        return (x if side > 0 else [1.0, 0.5] - x) + rng.normal(0, 0.15, (n, 2))

    return half(majority, 1), half(minority, -1), half(3, 1), half(2, -1)


def ring(majority, minority):
    """A disc inside of a ring."""
    rng = np.random.default_rng(SEED)

    def around(n, low, high):
        t, r = rng.uniform(0, 2 * np.pi, n), rng.uniform(low, high, n)
        return r[:, None] * np.column_stack([np.cos(t), np.sin(t)])

    disc, outer = (0.0, 1.0), (0.9, 1.6)
    return (
        around(majority, *disc),
        around(minority, *outer),
        around(3, *disc),
        around(2, *outer),
    )


def settings():
    """Return what each data set is, and the kernel and the priors that it is met with."""
    correlated = (
        0.5 * np.eye(8) + 0.5 * 0.6 ** np.abs(np.subtract.outer(range(8), range(8)))
    ).tolist()
    table = {
        # the defaults of the package, with a bounded total
        "wine": (
            embedded("wine_cultivar3", 24, 5),
            {"type": "RBF", "bandwidth": 2.5},
            1.0,
            {"type": "StandardizedRowSum"},
            {"type": "Beta", "total": 1.0},
            {"type": "TruncatedNormal"},
        ),
        # the published prior
        "glass": (
            embedded("glass_headlamps", 30, 6),
            {"type": "RBF", "bandwidth": 1.5},
            2.0,
            {"type": "RowSum"},
            {"type": "Beta", "a": 2.0, "b": 3.0, "total": 2.0},
            {"type": "TruncatedNormal", "mean": 0.2, "sd": 0.3},
        ),
        "ecoli": (
            embedded("ecoli_imU", 36, 7, [0, 1, 2, 4, 5, 6]),
            {"type": "Laplacian", "bandwidth": 4.0},
            0.5,
            {"type": "Flat", "sd": 0.7},
            {"type": "Beta", "a": 0.8, "b": 1.5, "total": 1.0},
            {"type": "TruncatedNormal", "mean": -0.3, "sd": 0.5},
        ),
        # the published minority prior too
        "moons": (
            moons(28, 6),
            {"type": "RBF", "bandwidth": 0.6},
            3.0,
            {"type": "RowSum", "sd": 1.5, "exponent": 0.5},
            {"type": "Beta"},
            {"type": "TruncatedNormal"},
        ),
        # correlated priors
        "ring": (
            ring(32, 8),
            {"type": "RBF", "bandwidth": 0.7},
            2.0,
            {"type": "GaussianProcess", "sd": 1.2, "nugget": 0.2},
            {"type": "Beta", "total": 3.0},
            {
                "type": "TruncatedNormal",
                "mean": [0.1, 0.3, -0.1, 0.5, 0.2, 0.0, 0.4, 0.8],
                "sd": 0.4,
                "sigma": correlated,
            },
        ),
        # a kernel whose k(z, z) is not 1
        "abalone": (
            embedded("abalone_9v18", 40, 4, [3, 4, 5, 6, 7, 8, 9]),
            {"type": "Polynomial", "degree": 2, "gamma": 0.1, "coef0": 1.0},
            0.2,
            {"type": "StandardizedRowSum", "sd": 0.8},
            {"type": "Beta", "a": 3.0, "b": 1.0, "total": 0.8},
            {"type": "TruncatedNormal", "sd": 0.5},
        ),
    }
    found = {}
    for name, ((X0, X1, Z0, Z1), kernel, scale, prior, beta, truncated) in table.items():
        Z = np.concatenate([X0[:2], X1[:1], Z0, Z1])
        found[name] = {
            "majority": X0.round(4).tolist(),
            "minority": X1.round(4).tolist(),
            "rows": Z.round(4).tolist(),
            "kernel": kernel,
            "likelihood_scale": scale,
            "prior": prior,
            "minority_prior": {"BSVDDM": beta, "BDDM": truncated},
        }
    return found


def kernel_function(given):
    """Return k(x, y) of two rows."""
    if given["type"] == "RBF":
        return lambda x, y: np.exp(-sum((x - y) ** 2) / (2 * given["bandwidth"] ** 2))
    if given["type"] == "Laplacian":
        return lambda x, y: np.exp(-sum(abs(x - y)) / given["bandwidth"])
    return lambda x, y: (given["gamma"] * sum(x * y) + given["coef0"]) ** given["degree"]


def mean_and_covariance(prior, k_xx):
    """Return m and Sigma of the majority's weights."""
    n, sd, row_sums = len(k_xx), prior.get("sd", 1.0), k_xx.sum(axis=1)
    identity = np.eye(n)
    if prior["type"] == "RowSum":
        return -(row_sums ** prior.get("exponent", 1.0)), sd**2 * identity
    if prior["type"] == "StandardizedRowSum":
        return (row_sums.mean() - row_sums) / np.std(row_sums), sd**2 * identity
    if prior["type"] == "GaussianProcess":
        return np.zeros(n), sd**2 * (k_xx + prior["nugget"] * identity)
    assert prior["type"] == "Flat"
    return np.zeros(n), sd**2 * identity


def log_normal(x, m, Sigma):
    """Return log N(x; m, Sigma) but for its constant."""
    e = x - m
    return -pt.dot(e, pt.dot(np.linalg.inv(Sigma), e)) / 2


def normal(name, m, Sigma):
    """Make a normal vector in the model in context."""
    x = pm.Flat(name, shape=len(m))
    pm.Potential(f"of_{name}", log_normal(x, m, Sigma))
    return x


class Case:
    """One model and one data set: its numbers, and its weights as a PyMC variable."""

    def __init__(self, model, given):
        self.model, self.given, self.scale = model, given, given["likelihood_scale"]
        k = kernel_function(given["kernel"])
        X0, X1, Z = (np.array(given[name]) for name in ("majority", "minority", "rows"))
        U = np.concatenate([X0, X1]) if model in LEARN_FROM_MINORITY else X0

        def matrix(A, B):
            return np.array([[k(a, b) for b in B] for a in A])

        self.n0, self.n1 = len(X0), len(U) - len(X0)
        self.k_uu, self.k_xu, self.k_zu = matrix(U, U), matrix(X0, U), matrix(Z, U)
        self.k_xx, self.k_zz = (np.array([k(a, a) for a in A]) for A in (X0, Z))
        self.m, self.Sigma = mean_and_covariance(given["prior"], matrix(X0, X0))

    def weights(self):
        """Make w in the model in context."""
        n0, n1, m, Sigma = self.n0, self.n1, self.m, self.Sigma
        if self.model == "BDD":
            return normal("alpha0", m, Sigma)
        if self.model == "BSVDD":
            e = pm.math.exp(normal("beta", m, Sigma))
            return e / pm.math.sum(e)
        minority = self.given["minority_prior"][self.model]
        if self.model == "BSVDDM":
            share = pm.Beta("share", minority.get("a", 1.0), minority.get("b", 1.0), shape=n1)
            alpha1 = share * minority["total"] / n1 if "total" in minority else share
            e = pm.math.exp(normal("tau", m, Sigma))
            alpha0 = (1 + pm.math.sum(alpha1)) * e / pm.math.sum(e)
            return pm.math.concatenate([alpha0, -alpha1])
        alpha1 = pm.Uniform("alpha1", 0, 1, shape=n1)
        mean1 = np.broadcast_to(minority.get("mean", 0.0), n1)
        Sigma1 = minority.get("sd", 1.0) ** 2 * np.array(minority.get("sigma", np.eye(n1)))
        pm.Potential("of_alpha1", log_normal(alpha1, mean1, Sigma1))
        total = 1 + pm.math.sum(alpha1)
        u = pm.Flat("u", shape=n0 - 1)
        alpha0 = total / n0 + pt.dot(null_space(np.ones((1, n0))), u)
        pm.Potential("of_alpha0", log_normal(alpha0, m, Sigma))
        pm.Potential("of_total", (total - m.sum()) ** 2 / (2 * Sigma.sum()))  # minus its density
        return pm.math.concatenate([alpha0, -alpha1])

    def sample(self, draws, seed):
        """Return w (chain, draw, M) and the number of divergent transitions."""
        with pm.Model():
            w = pm.Deterministic("w", self.weights())
            norm = pt.dot(w, pt.dot(self.k_uu, w))
            squared_distances = self.k_xx - 2 * pt.dot(self.k_xu, w) + norm
            pm.Potential("likelihood", -self.scale / 2 * pm.math.sum(squared_distances))
            trace = pm.sample(
                draws,
                tune=TUNE,
                chains=CHAINS,
                cores=1,
                nuts_sampler="nutpie",
                target_accept=0.9,
                random_seed=seed,
                progressbar=False,
                compute_convergence_checks=False,
            )
        return trace["posterior"]["w"].values, int(trace["sample_stats"]["diverging"].sum())

    def distances(self, w):
        """Return d_z (chain, draw, rows)."""
        norm = np.einsum("cdi,ij,cdj->cd", w, self.k_uu, w)
        return np.sqrt(self.k_zz - 2 * w @ self.k_zu.T + norm[..., None])

    def closed_form(self):
        """Return mean and covariance of BDD's normal posterior."""
        of_prior = np.linalg.inv(self.Sigma)
        covariance = np.linalg.inv(self.scale * self.n0 * self.k_uu + of_prior)
        return covariance @ (self.scale * self.k_xu.sum(axis=0) + of_prior @ self.m), covariance


def statistics(draws):
    """Return statistics of draws (chain, draw, n), and their Monte Carlo errors, each (7, n)."""
    data = az.convert_to_dataset({"x": draws})
    values = [draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1)]
    values += list(np.quantile(draws, QUANTILES, axis=(0, 1)))
    errors = [az.mcse(data, method=method)["x"].values for method in ("mean", "sd")]
    errors += [az.mcse(data, method="quantile", prob=q)["x"].values for q in QUANTILES]
    return np.array(values), np.array(errors)


def quality(draws):
    """Return the largest R-hat, and the smallest effective sample size of any statistic."""
    data = az.convert_to_dataset({"x": draws})
    sizes = [az.ess(data, method=method) for method in ("bulk", "mean", "sd")]
    sizes += [az.ess(data, method="quantile", prob=q) for q in QUANTILES]
    return float(az.rhat(data)["x"].max()), min(float(size["x"].min()) for size in sizes)


def rounded(values, digits):
    return [[float(f"{x:.{digits}g}") for x in row] for row in values]


def posterior(model, given, seed):
    """Return the record of one posterior."""
    case, draws, start = Case(model, given), DRAWS, time.process_time()
    while True:
        w, divergent = case.sample(draws, seed)
        found = {"w": w, "d": case.distances(w)}
        r_hat, ess = quality(np.concatenate(list(found.values()), axis=2))
        if ess >= MIN_ESS:
            break
        draws *= 2
        if draws > MAX_DRAWS:
            raise RuntimeError(f"{model}: {ess:.0f} effective draws of {CHAINS * draws // 2}")
    if not (r_hat < MAX_R_HAT and divergent == 0):
        raise RuntimeError(f"{model}: R-hat {r_hat:.4f}, {divergent} divergent transitions")
    record = {"draws": CHAINS * draws, "ess": round(ess), "r_hat": round(r_hat, 5)}
    for name, values in found.items():
        value, error = statistics(values)
        record[name] = {"value": rounded(value, 6), "error": rounded(error, 2)}
        if model == "BDD" and name == "w":
            mean, covariance = case.closed_form()
            expected = np.array([mean, np.sqrt(np.diag(covariance))])
            worst = float((np.abs(value[:2] - expected) / error[:2]).max())
            if not worst < 5.5:  # 6e-6 all in all, for 380 numbers
                raise RuntimeError(f"BDD: {worst:.2f} standard errors from the closed form")
            record["closed_form"] = round(worst, 2)
    print(f"  {model}: {record['draws']} draws, {ess:.0f} effective, R-hat {r_hat:.4f}, "
          f"{time.process_time() - start:.0f} s", flush=True)  # fmt: skip
    return record


def written(path, document):
    """Write JSON, an array of numbers a line, under a temporary name first."""
    text = json.dumps(document, indent=1)
    text = re.sub(r"\[[^][{}]*\]", lambda found: re.sub(r"\s+", "", found[0]), text)
    partial = path.with_suffix(".part")
    partial.write_text(text + "\n", encoding="utf-8")
    os.replace(partial, path)


def main():
    warnings.simplefilter("error")
    found = settings()
    for i, (name, given) in enumerate(found.items()):
        print(name, flush=True)
        given["posterior"] = {
            model: posterior(model, given, SEED + 10 * i + j) for j, model in enumerate(MODELS)
        }
    made = {
        "by": "uv run python tests/references.py",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seed": SEED,
        "chains": CHAINS,
        "tune": TUNE,
        "statistics": STATISTICS,
        "versions": {p: version(p) for p in ("pymc", "pytensor", "nutpie", "arviz", "numpy")},
    }
    written(STORE, {"made": made, "sets": found})


if __name__ == "__main__":
    main()
