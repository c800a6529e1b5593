"""Reference posteriors: long runs of models, with nothing of the package.

    uv run python tests/references.py

takes rows, kernels and priors of references.json beside this file, and writes their
posteriors into it anew: what the draws of the samplers must agree with in
test_published.py. The rows are drawn once, from four embedded data sets (standardised),
two half circles, and a disc in a ring. Each model is its formula in plain PyMC, each
kernel value a call of a function of two rows; the chains are nutpie's. Of BDD, whose
posterior is normal, the mean and the covariance are checked against the closed form.

BDD-M has the constraint sum(alpha0) = 1 + sum(alpha1). Its density, given alpha1, is
that of the normal vector alpha0 over that of its sum, and its coordinates here are
those of an orthonormal basis of the vectors of sum zero.
"""

import json
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

STORE = Path(__file__).with_name("references.json")

MODELS = ["BDD", "BSVDD", "BDDM", "BSVDDM"]
LEARN_FROM_MINORITY = ["BDDM", "BSVDDM"]
QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]
STATISTICS = ["mean", "sd", *QUANTILES]

SEED = 20_260
CHAINS, TUNE, DRAWS = 4, 1000, 12_000
MIN_ESS, MAX_R_HAT = 10_000, 1.01
MAX_DRAWS = 100_000


def kernel_function(given):
    """Return k(x, y) of two rows."""
    if given["type"] == "RBF":
        return lambda x, y: np.exp(-sum((x - y) ** 2) / (2 * given["bandwidth"] ** 2))
    if given["type"] == "Laplacian":
        return lambda x, y: np.exp(-sum(abs(x - y)) / given["bandwidth"])
    return lambda x, y: (
        (given["gamma"] * sum(x * y) + given["coef0"]) ** given["degree"]
    )


def mean_and_covariance(prior, k_xx):
    """Return m and Sigma of the majority's weights."""
    n, sd, row_sums = len(k_xx), prior.get("sd", 1.0), k_xx.sum(axis=1)
    identity = np.eye(n)
    if prior["type"] == "RowSum":
        return -(row_sums ** prior.get("exponent", 1.0)), sd**2 * identity
    if prior["type"] == "StandardizedRowSum":
        return (row_sums.mean() - row_sums) / np.std(row_sums), sd**2 * identity
    if prior["type"] == "Normal":  # its covariance is that of the kernel
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
            share = pm.Beta(
                "share", minority.get("a", 1.0), minority.get("b", 1.0), shape=n1
            )
            alpha1 = share * minority["total"] / n1 if "total" in minority else share
            e = pm.math.exp(normal("tau", m, Sigma))
            alpha0 = (1 + pm.math.sum(alpha1)) * e / pm.math.sum(e)
            return pm.math.concatenate([alpha0, -alpha1])
        alpha1 = pm.Uniform("alpha1", 0, 1, shape=n1)
        mean1 = np.broadcast_to(minority.get("mean", 0.0), n1)
        Sigma1 = minority.get("sd", 1.0) ** 2 * np.eye(n1)
        pm.Potential("of_alpha1", log_normal(alpha1, mean1, Sigma1))
        total = 1 + pm.math.sum(alpha1)
        u = pm.Flat("u", shape=n0 - 1)
        alpha0 = total / n0 + pt.dot(null_space(np.ones((1, n0))), u)
        pm.Potential("of_alpha0", log_normal(alpha0, m, Sigma))
        pm.Potential(
            "of_total", (total - m.sum()) ** 2 / (2 * Sigma.sum())
        )  # minus its density
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
        return trace["posterior"]["w"].values, int(
            trace["sample_stats"]["diverging"].sum()
        )

    def distances(self, w):
        """Return d_z (chain, draw, rows)."""
        norm = np.einsum("cdi,ij,cdj->cd", w, self.k_uu, w)
        return np.sqrt(self.k_zz - 2 * w @ self.k_zu.T + norm[..., None])

    def closed_form(self):
        """Return mean and covariance of BDD's normal posterior."""
        of_prior = np.linalg.inv(self.Sigma)
        covariance = np.linalg.inv(self.scale * self.n0 * self.k_uu + of_prior)
        return covariance @ (
            self.scale * self.k_xu.sum(axis=0) + of_prior @ self.m
        ), covariance


def statistics(draws):
    """Return statistics of draws (chain, draw, n) and their errors, each (7, n)."""
    data = az.convert_to_dataset({"x": draws})
    values = [draws.mean(axis=(0, 1)), draws.std(axis=(0, 1), ddof=1)]
    values += list(np.quantile(draws, QUANTILES, axis=(0, 1)))
    errors = [az.mcse(data, method=method)["x"].values for method in ("mean", "sd")]
    errors += [az.mcse(data, method="quantile", prob=q)["x"].values for q in QUANTILES]
    return np.array(values), np.array(errors)


def quality(draws):
    """Return the largest R-hat and the smallest effective sample size."""
    data = az.convert_to_dataset({"x": draws})
    sizes = [az.ess(data, method=method) for method in ("bulk", "mean", "sd")]
    sizes += [az.ess(data, method="quantile", prob=q) for q in QUANTILES]
    return float(az.rhat(data)["x"].max()), min(
        float(size["x"].min()) for size in sizes
    )


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
            raise RuntimeError(
                f"{model}: {ess:.0f} effective draws of {CHAINS * draws // 2}"
            )
    if not (r_hat < MAX_R_HAT and divergent == 0):
        raise RuntimeError(
            f"{model}: R-hat {r_hat:.4f}, {divergent} divergent transitions"
        )
    record = {"draws": CHAINS * draws, "ess": round(ess), "r_hat": round(r_hat, 5)}
    for name, values in found.items():
        value, error = statistics(values)
        record[name] = {"value": rounded(value, 6), "error": rounded(error, 2)}
        if model == "BDD" and name == "w":
            mean, covariance = case.closed_form()
            expected = np.array([mean, np.sqrt(np.diag(covariance))])
            worst = float((np.abs(value[:2] - expected) / error[:2]).max())
            if not worst < 5.5:  # 6e-6 all in all, for 380 numbers
                raise RuntimeError(
                    f"BDD: {worst:.2f} standard errors from the closed form"
                )
            record["closed_form"] = round(worst, 2)
    seconds = time.process_time() - start
    print(
        f"  {model}: {ess:.0f} effective, R-hat {r_hat:.4f}, {seconds:.0f} s",
        flush=True,
    )
    return record


def main():
    warnings.simplefilter("error")
    found = json.loads(STORE.read_text(encoding="utf-8"))["sets"]
    for i, (name, given) in enumerate(found.items()):
        print(name, flush=True)
        given["posterior"] = {
            model: posterior(model, given, SEED + 10 * i + j)
            for j, model in enumerate(MODELS)
        }
    made = {
        "by": "uv run python tests/references.py",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "seed": SEED,
        "chains": CHAINS,
        "tune": TUNE,
        "statistics": STATISTICS,
        "versions": {
            p: version(p) for p in ("pymc", "pytensor", "nutpie", "arviz", "numpy")
        },
    }
    text = json.dumps({"made": made, "sets": found}, indent=1)
    text = re.sub(
        r"\[[^][{}]*\]", lambda row: re.sub(r"\s+", "", row[0]), text
    )  # a row a line
    partial = STORE.with_suffix(".part")
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(STORE)


if __name__ == "__main__":
    main()
