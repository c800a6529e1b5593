"""The cases that the tests of models and inference share: rows, kernels, priors and models."""

import numpy as np
import preliz
import pymc as pm
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bdd, bdd_m, bsvdd, bsvdd_m

from bsvdd import kernels, priors

RNG = np.random.default_rng(60)
N0, N1, SCALE = 9, 3, 2.5
MAJORITY, MINORITY = RNG.normal(size=(N0, 2)), RNG.normal(1.0, 1.0, size=(N1, 2))
RBF = kernels.RBF(1.2)
ONE, TWO = Gram.from_rows(RBF, MAJORITY), Gram.from_rows(RBF, MAJORITY, MINORITY)
GIVEN = Gram.from_rows(kernels.Linear(), RNG.normal(size=(40, 2)), dictionary=MAJORITY)


def covariance(seed, n):
    """Return a covariance matrix."""
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n + 0.3 * np.eye(n)


# priors that users write


def student(gram, name, dims):
    return pm.StudentT(name, 3, dims=dims)


def hierarchical(gram, name, dims):
    return pm.Normal(name, 0, pm.HalfNormal(f"{name}_sd"), dims=dims)


def not_centred(gram, name, dims):
    raw = pm.Normal(f"{name}_raw", dims=dims)
    return pm.Deterministic(name, pm.HalfNormal(f"{name}_sd") * raw, dims=dims)


def with_potential(gram, name, dims):
    x = pm.Normal(name, dims=dims)
    pm.Potential(f"{name}_sum", -(pm.math.sum(x) ** 2))
    return x


def process(gram, name, dims):
    length = pm.Gamma(f"{name}_length", 4, 2)
    cov = pm.gp.cov.ExpQuad(2, ls=length)(gram.points.rows[: gram.n_majority_points])
    return pm.MvNormal(name, 0, cov + 0.1 * np.eye(gram.n_majority_points), dims=dims)


def uniform(gram, name, dims):
    return pm.Beta(name, 1.5, 2, dims=dims)


def by_row(gram, name, dims):
    """A variable of its own for each minority row."""
    rows = [pm.Beta(f"{name}_{i}", 1 + i, 2) for i in range(gram.n1)]
    return pm.Deterministic(name, pm.math.stack(rows), dims=dims)


NORMAL = {
    "Flat": priors.Flat(1.3),
    "RowSum": priors.RowSum(0.7),
    "StandardizedRowSum": priors.StandardizedRowSum(),
    "InverseRowSum": priors.InverseRowSum(0.5),
    "SVDDWeights": priors.SVDDWeights(),
    "Normal": priors.Normal(m=RNG.normal(size=N0), sigma=covariance(1, N0)),
}
FOREIGN = {
    "student": student,
    "hierarchical": hierarchical,
    "not centred": not_centred,
    "potential": with_potential,
    "process": process,
    "PreliZ": preliz.Logistic(0.2, 1.5),
}
MINORITIES = {
    "Beta": priors.Beta(2, 3),
    "Beta with a total": priors.Beta(0.7, 1.5, total=0.6),
    "TruncatedNormal": priors.TruncatedNormal(0.3, 0.2),
    "TruncatedNormal, by row": priors.TruncatedNormal((0.1, 0.5, 0.8), 0.2),
}

# densities, by name: how each is made from a prior, and from one of each class


def of_both(of, prior, minority_prior, **own):
    return Density(of.Model(prior, SCALE, minority_prior=minority_prior, **own), TWO)


MAJORITY_MODELS = {
    "BSVDD": lambda prior: Density(bsvdd.Model(prior, SCALE), ONE),
    "BDD": lambda prior: Density(bdd.Model(prior, SCALE), ONE),
    "BDD-M without minority": lambda prior: Density(bdd_m.Model(prior), ONE),
}
MINORITY_MODELS = {
    "BSVDD-M": lambda *both: of_both(bsvdd_m, *both),
    "BDD-M": lambda *both: of_both(bdd_m, *both),
}


def package_cases():
    """Models with priors of the package: BSVDD and BSVDD-M with each, the others in turn."""
    found, minorities, others = {}, list(MINORITIES), list(MAJORITY_MODELS)[1:]
    for i, prior in enumerate(NORMAL):
        for model in ("BSVDD", others[i % 2]):
            found[f"{model}, {prior}"] = (MAJORITY_MODELS[model], NORMAL[prior])
        for model, turn in (("BSVDD-M", i), ("BDD-M", i // 2)):
            minority = minorities[turn % 4]
            given = NORMAL[prior], MINORITIES[minority]
            found[f"{model}, {prior}, {minority}"] = (MINORITY_MODELS[model], *given)
    given = lambda prior: Density(bsvdd.Model(prior, SCALE), GIVEN)  # noqa: E731
    return found | {"BSVDD, given": (given, NORMAL["Flat"])}


def foreign_cases():
    """Models with a prior that PyTensor is asked for."""
    found = {f"BSVDD, {name}": (MAJORITY_MODELS["BSVDD"], p) for name, p in FOREIGN.items()}
    found["BDD, student"] = (MAJORITY_MODELS["BDD"], student)
    found["BSVDD-M, student"] = (MINORITY_MODELS["BSVDD-M"], student, priors.Beta(2, 3))
    for prior in (uniform, by_row):
        found[f"BSVDD-M, {prior.__name__}"] = (MINORITY_MODELS["BSVDD-M"], NORMAL["Flat"], prior)
    return found


PACKAGE, STRANGE = package_cases(), foreign_cases()


def density(name):
    """Return the density of a case."""
    make, *given = (PACKAGE | STRANGE)[name]
    return make(*given)
