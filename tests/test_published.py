"""Models as published, against programs that share nothing with the package.

Weights of spheres, of machines and of BDD on the simplex come from general solvers too
(cvxopt, scikit-learn, linear systems written out); draws have the moments of sums over
a grid, of long runs of the formulas in plain PyMC (references.py), and of PyMC's own
sampler on ``est.model_``.
"""

import json
import warnings
from functools import cache

import arviz as az
import numpy as np
import pymc as pm
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.svm import OneClassSVM

from bsvdd import (
    BDD,
    BDDM,
    BSVDD,
    BSVDDM,
    as_published,
    cutoffs,
    kernels,
    prior_draws,
    priors,
)
from bsvdd.base.warning import DiagnosticWarning
from tests.models.helpers import (
    quadratic_program,
    rbf,
    softmax,
    squared_distances,
    squared_norm,
)
from tests.references import MODELS, STORE, statistics

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

RNG = np.random.default_rng(21)
N0, N1, S = 40, 12, 1.3
X = np.concatenate(
    [RNG.normal(size=(N0, 2)) * [1.0, 1.5], 0.8 * RNG.normal(size=(N1, 2)) + 1.0]
)
X[7], X[N0 + 3] = [-6.0, 5.0], [6.0, 7.0]  # a far row of each class
Y, SIGN = np.repeat([0, 1], [N0, N1]), np.repeat([1.0, -1.0], [N0, N1])
Z = 2.0 * RNG.normal(size=(50, 2))
RBF = kernels.RBF(S)
KERNELS = {
    "RBF": RBF,
    "Linear": kernels.Linear(),
    "Polynomial": kernels.Polynomial(2, 0.3),
}


def weights(est):
    """Return w (draws, rows) in the order of the training rows, each an atom."""
    w = est.idata_["posterior"]["w"].values
    place = est.idata_["constant_data"]["point_of_row"].values
    assert sorted(place[place >= 0]) == list(range(w.shape[-1]))
    return w.reshape(-1, w.shape[-1])[:, place[place >= 0]]


def same_decisions(est, values, boundary, margin=1e-5):
    """Rows are normal whose value is at most the boundary; rows on it are free."""
    clear = np.abs(values - boundary) > margin
    assert clear.sum() > 40
    assert_array_equal((est.predict(Z) == 1)[clear], (values <= boundary)[clear])


# what the sources say, apart from the formulas

OF_SPHERE = {"cutoff": cutoffs.Printed(of="own"), "outlier_fraction": 0.1}
OF_DENSITY = {
    "density": "train",
    "neighbors": 5,
    "balanced": False,
}  # solved in test_machines.py
OF_BSVDD = {
    "sampler": "metropolis",
    "prior": priors.RowSum(exponent=1),
    "likelihood_scale": 1,
}
SAID = {
    "SVDD": OF_SPHERE,
    "SVDD-M": OF_SPHERE | {"minority_fraction": 0.1},
    "OCSVM": {"nu": 0.1},
    "DSVM-CIL": OF_DENSITY,
    "IDLSSVM-CIL": OF_DENSITY | {"epsilon": 0.001, "zero_weight": "drop"},
    "BDD": {
        "prior": priors.RowSum(exponent=0.5),
        "likelihood_scale": 1,
        "simplex": True,
    },
    "BDD-M": {
        "prior": priors.RowSum(exponent=0.5),
        "minority_prior": priors.TruncatedNormal(),
    },
    "BSVDD": OF_BSVDD,
    "BSVDD-M": {**OF_BSVDD, "minority_prior": priors.Beta(1, 1)},
}


@pytest.mark.parametrize("name", SAID)
def test_what_the_sources_say(name):
    est = as_published(name)
    assert {parameter: getattr(est, parameter) for parameter in SAID[name]} == SAID[
        name
    ]


# spheres


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize(
    ("C1", "C2"), [(0.052, None), (0.21, None), (0.052, 0.045), (0.3, 0.04)]
)
def test_spheres(kernel, C1, C2):
    """The dual of Tax and Duin, by interior points."""
    n = N0 if C2 is None else N0 + N1
    rows, sign, K = X[:n], SIGN[:n], kernel(X[:n], X[:n])
    penalty = np.where(sign > 0, C1, C2 or 0.0)
    theirs = quadratic_program(
        2 * np.outer(sign, sign) * K, -sign * np.diag(K), 0.0, penalty, sign
    )
    free = (theirs > 1e-4 * penalty) & (theirs < (1 - 1e-4) * penalty)
    w, z = sign * theirs, (kernel(rows, Z), kernel.diag(Z))
    radius = np.sqrt(squared_distances(w, K, K, np.diag(K))[free].mean())
    if C2 is None:
        est = as_published("SVDD", kernel=kernel, C=C1).fit(rows)
    else:
        est = as_published("SVDD-M", kernel=kernel, C=C1, C2=C2).fit(rows, Y)
    d = np.sqrt(squared_distances(w, K, *z))
    assert_allclose(est.distance(Z).values.ravel(), d, rtol=2e-6, atol=2e-6)
    assert est.radius_ == pytest.approx(radius, rel=1e-5)
    slack = 1.1e-7 * np.abs(np.diag(K)).max()  # rows on the sphere are not beyond it
    assert 0.0 <= est.cutoff_**2 - est.radius_**2 <= slack
    same_decisions(est, d, radius)


@pytest.mark.filterwarnings("ignore:.*of the rows have copies")
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))]
)
@pytest.mark.parametrize("name", ["SVDD", "BDD"])
def test_what_leaves_a_centre_where_it_is(name, seed):
    """With sum w = 1: a constant in the kernel, a shift of a linear one, rows twice."""
    rows = np.random.default_rng(seed).normal(size=(18, 2))

    def distances(rows, kernel, new, copies=1):
        changes = {"C": 0.2 / copies} if name == "SVDD" else {"prior": priors.Flat(1e4)}
        est = as_published(name, kernel=kernel, **changes).fit(rows)
        return est.distance(new).values.ravel()

    K, given = RBF(rows, rows), kernels.Precomputed()
    new = np.column_stack([RBF(Z, rows), np.ones(50)])
    expected = distances(rows, RBF, Z)
    for c in (0.0, 3.0):
        assert_allclose(distances(K + c, given, new + c), expected, atol=1e-4)
    if name == "SVDD":
        twice = distances(np.repeat(rows, 2, axis=0), RBF, Z, copies=2)
        assert_allclose(twice, expected, atol=1e-4)
    linear = [distances(rows + b, kernels.Linear(), Z + b) for b in (0.0, 3.0)]
    assert_allclose(*linear, atol=2e-3)


@pytest.mark.parametrize("nu", [0.06, 0.27, 0.88])
def test_the_one_class_machine(nu):
    """Its hyperplane is scikit-learn's up to a factor; its decisions are SVDD's."""
    est = as_published("OCSVM", kernel=RBF, nu=nu).fit(X[:N0])
    theirs = OneClassSVM(gamma=1 / (2 * S**2), nu=nu, tol=1e-10).fit(X[:N0])
    f, expected = est.decision_function(Z), theirs.decision_function(Z)
    factor = (f @ expected) / (expected @ expected)
    assert factor > 0
    assert_allclose(f, factor * expected, atol=1e-5)
    same_decisions(est, -expected, 0.0)
    sphere = as_published("SVDD", kernel=RBF, C=1 / (nu * N0)).fit(X[:N0])
    same_decisions(est, sphere.distance(Z).values.ravel(), sphere.cutoff_)


# BDD: its normal posterior, and the mode on the simplex


def test_bdd_is_its_mode_on_the_convex_set():
    """The cutoff has nine tenths of the training distances within it."""
    K = rbf(X[:N0], X[:N0], S)
    r = K.sum(axis=1)
    H, b = (
        N0 * K + np.eye(N0),
        r - np.sqrt(r),
    )  # of the normal posterior, by the formula
    est = as_published("BDD", kernel=RBF).fit(X[:N0])
    expected = quadratic_program(H, -b, 0.0, np.inf)
    assert_allclose(weights(est)[0], expected, atol=1e-6)
    d = np.sort(np.sqrt(squared_distances(expected, K, K, 1.0)))
    assert est.cutoff_ == pytest.approx(d[35], rel=1e-5)
    free = as_published("BDD", kernel=RBF, simplex=False, sampler="mode").fit(X[:N0])
    w = np.linalg.solve(H, b)
    assert_allclose(weights(free)[0], w, rtol=1e-7, atol=1e-9)
    d = np.sort(np.sqrt(squared_distances(w, K, K, 1.0)))
    assert free.cutoff_ == pytest.approx(d[35], rel=1e-6)
    same_decisions(
        free, np.sqrt(squared_distances(w, K, rbf(X[:N0], Z, S), 1.0)), d[35]
    )


# the printed decision: P(d_z <= D_opt | data) > .5, D_opt by cross-validation


@pytest.mark.filterwarnings("ignore:.*no longer as published")
@pytest.mark.parametrize("name", ["BSVDD", "BSVDD-M"])
def test_the_printed_decision(name):
    """D_opt is best for left-out distances: without a row others keep their sum."""
    quick = {
        "kernel": RBF,
        "sampler": "auto",
        "draws": 200,
        "tune": 200,
        "random_state": 1,
    }
    est = as_published(name, **quick).fit(X, Y)
    inside = est.distance(Z).values.reshape(-1, len(Z)) <= est.cutoff_
    assert_allclose(est.probability_normal(Z), inside.mean(axis=0))
    assert_array_equal(est.predict(Z) == 1, inside.mean(axis=0) > 0.5)
    w, n = weights(est), len(est.gram_.K)
    K, found = rbf(X[:n], X[:n], S), np.empty(N0 + N1)
    majority = Y[:n] == 0
    for j, row in enumerate(X):
        v = w.copy()
        if j < n:
            v[:, j] = 0.0
            v[:, majority] *= ((1 - v[:, ~majority].sum(1)) / v[:, majority].sum(1))[
                :, None
            ]
        d2 = 1.0 - 2.0 * v @ rbf(X[:n], row[None], S)[:, 0] + squared_norm(w, K)
        found[j] = np.sqrt(np.sort(d2)[(len(d2) - 1) // 2])

    def g_mean(c):
        return np.sqrt((found[Y == 1] > c).mean() * (found[Y == 0] <= c).mean())

    if name == "BSVDD-M":
        assert g_mean(est.cutoff_) == pytest.approx(max(map(g_mean, found)))
    else:  # at most a tenth of the majority lies beyond
        assert est.cutoff_ == pytest.approx(np.sort(found[Y == 0])[35], rel=1e-9)


# the likelihood and the log prior of a fit, for ArviZ


@pytest.mark.parametrize("name", ["BDD", "BSVDD", "BSVDDM"])
def test_the_tree_has_the_log_likelihood(name):
    """-lambda/2 sum d^2 of the majority rows."""
    m, sigma = np.linspace(-1, 1, N0), np.cov(RNG.normal(size=(N0, 90)))
    settings = {"kernel": RBF, "likelihood_scale": 0.7, "draws": 200, "chains": 2}
    settings["cutoff"] = cutoffs.Printed(1.0)
    if name == "BSVDDM":
        settings["minority_prior"] = priors.Beta(2, 3)
    m, sigma = np.append(m, np.zeros(N1)), np.pad(sigma, (0, N1))  # by training row
    sigma[N0:, N0:] = np.eye(N1)
    est = ESTIMATORS[name](
        prior=priors.Normal(sd=0.8, m=m, sigma=sigma), **settings
    ).fit(X, Y)
    d2 = est.distance(X[:N0]).values ** 2
    terms = est.idata_["log_likelihood"]
    found = (terms["similarity"] + terms["norm"]).values
    assert_allclose(found.reshape(2, 200), -0.35 * d2.sum(axis=2), rtol=1e-9)


def test_prior_draws_have_the_moments_of_the_prior():
    """alpha ~ N(0, s^2 I): E d^2 = k(z, z) + s^2 tr K."""
    est = BDD(prior=priors.Flat(0.4), kernel=RBF, cutoff=cutoffs.Printed(1.0))
    d = prior_draws(est, X[:20], Z=Z[:5], draws=4000)["d"]
    assert d.dims == ("chain", "draw", "obs") and d.sizes["obs"] == 5
    assert_allclose((d**2).mean(("chain", "draw")), 1 + 0.16 * 20, rtol=0.05)
    assert not hasattr(est, "idata_")


# draws against sums over a grid

MAJORITY = np.array([[0.0, 0.0], [0.6, 0.3], [2.0, -1.0]])
MINORITY = np.array([[0.9, 1.1]])
NEW = np.array([[0.2, 0.1], [2.5, 1.5]])
SD, SCALE = 1.4, 5.0  # at lambda = 1 the posterior of so few rows is nearly the prior


def grid(*axes):
    return np.stack(
        [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1
    )


def laplace(gram, name, dims):
    return pm.Laplace(name, 0.0, 0.3, dims=dims)


def of_bsvdd():
    """Three weights by softmax of beta, whose mean are the row sums."""
    m = -np.sqrt(rbf(MAJORITY, MAJORITY, 1.1).sum(axis=1))
    b = grid(*(value + SD * np.linspace(-6.5, 6.5, 61) for value in m))
    prior = priors.RowSum(sd=SD, exponent=0.5)
    return (
        BSVDD(prior=prior),
        MAJORITY,
        3,
        softmax(b),
        stats.norm(m, SD).logpdf(b).sum(axis=1),
    )


def of_bsvdd_m():
    """Two directions of tau, and the minority weight from Beta(2, 3), at midpoints."""
    z1, z2, v = grid(*[np.linspace(-5.5, 5.5, 81)] * 2, (np.arange(80) + 0.5) / 80).T
    directions = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    alpha0 = (1 + v[:, None]) * softmax(SD * np.column_stack([z1, z2]) @ directions)
    est = BSVDDM(prior=priors.Flat(SD), minority_prior=priors.Beta(2, 3))
    log_prior = stats.norm.logpdf([z1, z2]).sum(axis=0) + stats.beta(2, 3).logpdf(v)
    rows = np.concatenate([MAJORITY, MINORITY])
    return est, rows, 3, np.column_stack([alpha0, -v]), log_prior


def of_corners():
    """A Laplace prior of three weights of BDD, on a grid with its corners."""
    w = grid(*[np.linspace(-3.0, 3.0, 121)] * 3)
    return BDD(prior=laplace), MAJORITY, 3, w, -np.abs(w).sum(axis=1) / 0.3


ON_GRIDS = {"BSVDD": of_bsvdd, "BSVDDM": of_bsvdd_m, "corners": of_corners}


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("BSVDD", "auto"),
        ("BSVDDM", "auto"),
        pytest.param("corners", "auto", marks=pytest.mark.long),
        pytest.param("BSVDD", "nuts", marks=pytest.mark.long),
        ("BSVDD", "metropolis"),
    ],
)
def test_draws_have_the_moments_of_sums_over_a_grid(name, sampler, worst_z):
    """Weights and d_z: prior times exp(-lambda/2 sum d^2), written out."""
    est, rows, n0, w, log_prior = ON_GRIDS[name]()
    K = rbf(rows, rows, 1.1)

    def values(w):
        return np.column_stack(
            [w, np.sqrt(squared_distances(w, K, rbf(rows, NEW, 1.1), 1.0))]
        )

    p = np.exp(
        log_prior - SCALE / 2 * squared_distances(w, K, K[:, :n0], 1.0).sum(axis=1)
    )
    v = values(w)
    mean = p @ v / p.sum()
    variance = p @ (v - mean) ** 2 / p.sum()
    draws = 4000
    how = {
        "likelihood_scale": SCALE,
        "cutoff": cutoffs.Printed(1.0),
        "sampler": sampler,
    }
    est.set_params(
        kernel=kernels.RBF(1.1), draws=draws, tune=1000, chains=2, random_state=5, **how
    )
    est.fit(rows, np.arange(len(rows)) >= n0 if name == "BSVDDM" else None)
    assert est.idata_["posterior"].attrs["sampler"] == (
        "hmc" if sampler == "auto" else sampler
    )
    drawn = weights(est)
    found = values(drawn).reshape(2, draws, -1)
    assert_allclose(found[..., len(rows) :], est.distance(NEW).values, atol=1e-6)
    assert worst_z(found, mean) < 4.5
    assert worst_z((found - mean) ** 2, variance) < 4.5
    of_prior = np.exp(log_prior)  # the likelihood has its say
    assert worst_z(found, of_prior @ v / of_prior.sum()) > 10


# draws against long runs of other programs

SETS = json.loads(STORE.read_text(encoding="utf-8"))["sets"]
QUICK_SETS = list(SETS)[::2]
ESTIMATORS = {"BDD": BDD, "BDDM": BDDM, "BSVDD": BSVDD, "BSVDDM": BSVDDM}
# of a false alarm of any number, were all of them independent (Bonferroni)
NUMBERS = 2 * sum(
    np.size(SETS[name]["posterior"][model][quantity]["value"])
    for name in SETS
    for model in MODELS
    for quantity in ("w", "d")
)
LIMIT = stats.norm.isf(1e-6 / 2 / NUMBERS)


def of_set(model, name, **settings):
    """Return a fit to a stored set with its kernel and priors."""
    given = SETS[name]
    described = dict(given["kernel"])
    kernel = getattr(kernels, described.pop("type"))(**described)
    if model in given["minority_prior"]:
        settings["minority_prior"] = prior_of(given["minority_prior"][model])
    est = ESTIMATORS[model](
        kernel=kernel,
        prior=prior_of(
            given["prior"], kernel, np.array(given["majority"]), len(given["minority"])
        ),
        likelihood_scale=given["likelihood_scale"],
        cutoff=cutoffs.Printed(1.0),
        **settings,
    )
    rows = np.array(given["majority"] + given["minority"])
    return est.fit(rows, np.arange(len(rows)) >= len(given["majority"]))


def prior_of(described, kernel=None, majority=None, n1=0):
    """Return a prior; one with a nugget has the covariance K + nugget I."""
    described = {"m" if name == "mean" else name: v for name, v in described.items()}
    if "nugget" in described:
        n0, n = len(majority), len(majority) + n1
        sigma = np.eye(n)  # by training row; those of the minority do not count
        sigma[:n0, :n0] = kernel(majority, majority) + described["nugget"] * np.eye(n0)
        return priors.Normal(sd=described["sd"], sigma=sigma)
    return getattr(priors, described.pop("type"))(**described)


SHORT = [
    *((model, name, "auto") for model in ("BSVDD", "BDD") for name in QUICK_SETS),
    ("BDDM", "wine", "auto"),
]
LONG = [
    *((m, n, "auto") for m in ("BSVDD", "BDD") for n in SETS if n not in QUICK_SETS),
    *(("BSVDDM", name, "auto") for name in SETS),
    *(("BDDM", name, "auto") for name in SETS if name != "wine"),
    *((model, name, "nuts") for model in MODELS for name in ("glass", "ring")),
]


@pytest.mark.parametrize(
    ("model", "name", "sampler"),
    [*SHORT, *(pytest.param(*case, marks=[pytest.mark.long]) for case in LONG)],
)
def test_draws_are_those_of_long_runs(model, name, sampler):
    """Means, standard deviations and quantiles, in Monte Carlo standard errors."""
    draws, tune = (1000, 500) if sampler == "nuts" else (2500, 1000)
    est = of_set(model, name, sampler=sampler, draws=draws, tune=tune, chains=4)
    drawn = {
        "w": weights(est).reshape(4, draws, -1),
        "d": est.with_cutoff(cutoffs.Printed(1.0))
        .distance(np.array(SETS[name]["rows"]))
        .values,
    }
    for quantity, values in drawn.items():
        reference = {
            k: np.array(v) for k, v in SETS[name]["posterior"][model][quantity].items()
        }
        value, error = statistics(values)
        assert (
            error[0] < 0.1 * reference["value"][1]
        ).all()  # else it could hide what is wrong
        assert az.ess(az.convert_to_dataset({"x": values}))["x"].min() > 400
        z = np.abs(value - reference["value"]) / np.hypot(error, reference["error"])
        assert z.max() < LIMIT


# PyMC's own sampler on the model that a fit shows


@cache
def small(model):
    """Return a fit to few rows."""
    settings = {
        "kernel": RBF,
        "draws": 1500,
        "chains": 2,
        "cutoff": cutoffs.Printed(1.0),
    }
    settings["random_state"] = 2
    if model == "BSVDDM":
        settings["minority_prior"] = priors.Beta(total=1)
    rows = np.concatenate([X[:10], X[N0 : N0 + 3]])
    return ESTIMATORS[model](**settings).fit(rows, np.arange(13) >= 10)


ALL = [
    "BSVDD",
    *(pytest.param(m, marks=pytest.mark.long) for m in ("BSVDDM", "BDD", "BDDM")),
]


@pytest.mark.parametrize("model", ALL)
def test_pymc_samples_the_model_of_a_fit(model):
    """The draws agree in d_z, and come back by ``with_draws``."""
    est = small(model)
    with est.model_, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        trace = pm.sample(
            1500,
            tune=500,
            chains=2,
            cores=1,
            random_seed=3,
            progressbar=False,
            target_accept=0.9,
        )
    same = est.with_draws(trace)
    d = [each.distance(Z[:8]).values for each in (est, same)]
    both = az.convert_to_dataset({"d": np.concatenate(d)})
    assert az.rhat(both)["d"].max() < 1.02
    errors = [az.mcse(az.convert_to_dataset({"d": each}))["d"].values for each in d]
    z = (d[0].mean(axis=(0, 1)) - d[1].mean(axis=(0, 1))) / np.hypot(*errors)
    assert np.abs(z).max() < 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DiagnosticWarning)
        assert same.with_cutoff(cutoffs.FalseAlarm()).predict(Z).shape == (50,)
