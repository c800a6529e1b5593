"""What samplers walk on is what the PyMC models say: every model with every prior."""

import numpy as np
import preliz
import pytest
from bsvdd.inference import sampling
from bsvdd.inference.user_priors import OfPyMC
from bsvdd.models import bdd, bdd_m, bsvdd, bsvdd_m, priors
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.kernels import RBF
from bsvdd.models.rows import Rows
from pytensor.compile.mode import Mode

from tests.cases import close
from tests.models.helpers import gram_of, hierarchical, student

MODE = Mode(linker="py", optimizer="fast_compile")
rng = np.random.default_rng(0)
X = rng.normal(size=(12, 2))
X[7] = X[6]  # an atom of two rows
Y = np.arange(12) < 3
WEIGHT = np.where(Y, 2.0, 1.0 + (np.arange(12) == 9))
GRAM = gram_of(RBF(1.0), X, Y, WEIGHT)
SINGLE = np.delete(X, 7, axis=0)  # each row is an atom
ALONE = gram_of(RBF(1.0), SINGLE, Y[:11])
SIGMA = 0.5 * np.eye(11) + 0.5


MAJORITY = {
    "Flat": (priors.Flat(0.7), GRAM),
    "EqualWeights": (priors.EqualWeights(), GRAM),
    "Normal": (priors.Normal(sd=2.0, m=0.1 * np.arange(11)), ALONE),
    "Normal with covariance": (priors.Normal(sd=0.8, m=0.3, sigma=SIGMA), ALONE),
    "RowSum": (priors.RowSum(), GRAM),
    "RowSum with exponent": (priors.RowSum(exponent=0.5), GRAM),
    "StandardizedRowSum": (priors.StandardizedRowSum(), GRAM),
    "InverseRowSum": (priors.InverseRowSum(power=1.0), GRAM),
    "SVDDWeights": (priors.SVDDWeights(outlier_fraction=0.3), GRAM),
}
FOREIGN = {
    "function": (student, GRAM),
    "hierarchical": (hierarchical, GRAM),
    "PreliZ": (preliz.Laplace(0.0, 1.0), GRAM),
}
MINORITY = {
    "Beta(1, 1)": (priors.Beta(), GRAM),
    "Beta(2, 5)": (priors.Beta(2.0, 5.0), GRAM),
    "Beta with total": (priors.Beta(total=1.0), GRAM),
    "TruncatedNormal": (priors.TruncatedNormal(), GRAM),
    "TruncatedNormal of rows": (
        priors.TruncatedNormal(m=0.1 * np.arange(11), sd=0.3),
        ALONE,
    ),
}


def models():
    """Return the models by name, of both ways to the density."""
    found = {}
    for name, (prior, gram) in FOREIGN.items():
        found[f"BSVDD, {name}"] = bsvdd.BSVDD(one_class(gram), prior, 1.3)
    found["BDDM, function"] = bdd_m.BDDM(GRAM, student, 1.3, priors.Beta())
    for name, (prior, gram) in MAJORITY.items():
        for of in (bsvdd.BSVDD, bdd.BDD):
            found[f"{of.__name__}, {name}"] = of(one_class(gram), prior, 1.3)
        for of in (bsvdd_m.BSVDDM, bdd_m.BDDM):
            found[f"{of.__name__}, {name}"] = of(gram, prior, 1.3, priors.Beta())
    for name, (prior, gram) in MINORITY.items():
        for of in (bsvdd_m.BSVDDM, bdd_m.BDDM):
            found[f"{of.__name__}, minority {name}"] = of(
                gram, priors.Flat(), 1.3, prior
            )
    return found


def one_class(gram):
    rows, weight = (X, WEIGHT) if gram is GRAM else (SINGLE, None)
    return Dictionary.of(RBF(1.0), Rows.of(rows, Y[: len(rows)], weight))


MODELS = models()


@pytest.mark.parametrize("name", MODELS)
def test_densities_are_those_of_the_pymc_model_and_gradients_are_right(name):
    model = MODELS[name]
    f, differ = sampling.density(model), []
    built = f.model.build()
    whole = built.compile_logp(jacobian=isinstance(f, OfPyMC), mode=MODE)
    for z in np.random.default_rng(1).standard_normal((3, 1, f.size)):
        (value,), gradient = f(z)
        differ.append(float(whole(point_of(built, f, z))) - value + prior_of(f, z))
        steps = np.repeat(z, 2 * f.size, axis=0)
        each = np.arange(f.size)
        steps[2 * each, each] += 1e-5
        steps[2 * each + 1, each] -= 1e-5
        values = f(steps)[0]
        close((values[::2] - values[1::2]) / 2e-5, gradient[0], 2e-5)
        close(f.draws(z)[0][0], weights_of(built, f, z), 1e-9)
    assert np.ptp(differ) < 1e-8


def prior_of(f, z):
    """Return minus the log density of z that HMC adds, and log slopes."""
    if isinstance(f, OfPyMC):
        return (z**2).sum() / 2.0
    slopes, at = 0.0, 0
    for prior, n in f.model.variables.values():
        _, pull = prior.of_normal(z[:, at : at + n])
        jacobian = np.vstack([pull(row[None])[0] for row in np.eye(n)])
        slopes += np.linalg.slogdet(jacobian)[1]
        at += n
    assert at == f.size
    return (z**2).sum() / 2.0 + slopes


def point_of(built, f, z):
    """Return z as the point of the PyMC model."""
    if isinstance(f, OfPyMC):
        x, point, at = f.start + z[0], {}, 0
        for v in built.value_vars:
            shape = built.initial_point()[v.name].shape
            size = int(np.prod(shape))
            point[v.name] = x[at : at + size].reshape(shape)
            at += size
        return point
    point = {}
    for rv, values in zip(built.free_RVs, f.values(z)[0], strict=True):
        prior = f.model.variables[rv.name.removesuffix("_share")][0]
        values = values[0] / (prior.scale if rv.name.endswith("_share") else 1.0)
        to = built.rvs_to_transforms[rv]
        value = values if to is None else to.forward(values, *rv.owner.inputs).eval()
        point[built.rvs_to_values[rv].name] = value
    return point


def weights_of(built, f, z):
    w = built.replace_rvs_by_values([built["w"]])
    how = {"mode": MODE, "on_unused_input": "ignore"}
    return built.compile_fn(w[0], inputs=built.value_vars, **how)(point_of(built, f, z))
