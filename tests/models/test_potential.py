"""The likelihoods against distances in an explicit feature space, slack by slack, and cvxopt."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bdd, bdd_m, bsvdd, bsvdd_m, svdd
from bsvdd.models.potential import KernelLikelihood, likelihood_of
from bsvdd.models.svdd_potential import SVDDLikelihood
from scipy import stats

from bsvdd import kernels, priors

from . import helpers

RNG = np.random.default_rng(40)
MAJORITY = RNG.normal(size=(12, 2)) * [1.0, 1.6]
MINORITY = np.array([[0.4, 0.7], [2.2, -1.0], [-0.2, 3.0]])
N0, N1 = len(MAJORITY), len(MINORITY)
SCALE = 1.7  # lambda


def quadratic(x):
    """Features of (0.6 x'y + 1.5)^2: the constant, the columns, their products."""
    return np.concatenate([[1.5], np.sqrt(2 * 1.5 * 0.6) * x, 0.6 * np.outer(x, x).ravel()])


KERNELS = {
    "linear": kernels.Linear(),
    "polynomial": kernels.Polynomial(2, gamma=0.6, coef0=1.5),
    "RBF": kernels.RBF(1.3),
}
FEATURES = {"linear": np.asarray, "polynomial": quadratic}
each_kernel = pytest.mark.parametrize("space", KERNELS)
in_features = pytest.mark.parametrize("space", FEATURES)


def squared_distances(w, points, rows, space):
    """d^2 of rows to the centre sum_j w_j phi(u_j), by the definition."""
    if space == "RBF":
        k = partial(helpers.rbf, s=1.3)
        return helpers.squared_distances(w, k(points, points), k(points, rows), 1.0)
    center = sum(v * FEATURES[space](u) for v, u in zip(w, points, strict=True))
    return np.array([((FEATURES[space](x) - center) ** 2).sum() for x in rows])


def softmax(b):
    return np.exp(b - b.max()) / np.exp(b - b.max()).sum()


class Case(NamedTuple):
    """A model with its settings; n0 and n1 times nu and mu are the ends of the penalties."""

    name: str
    nu: float = 1.0
    mu: float = 1.0
    total: float | None = None

    @property
    def points(self):
        return np.concatenate([MAJORITY, MINORITY]) if self.name == "bsvdd_m" else MAJORITY

    def build(self, space):
        prior, gram = priors.StandardizedRowSum(sd=0.8), Gram.from_rows(KERNELS[space], MAJORITY)
        if self.name == "bdd":
            return bdd.build(gram, prior, SCALE)
        if self.name == "bsvdd":
            return bsvdd.build(gram, prior, SCALE, self.nu)
        gram = Gram.from_rows(KERNELS[space], MAJORITY, MINORITY)
        beta = priors.Beta(2, 3, total=self.total)
        return bsvdd_m.build(gram, prior, beta, SCALE, self.nu, self.mu)

    def prior(self, x, space):
        """The weights, R^2 (None in the published likelihood) and the log prior density."""
        row_sums = np.array(
            [sum(KERNELS[space]([u], [x])[0, 0] for x in MAJORITY) for u in MAJORITY]
        )
        m = -(row_sums - row_sums.mean()) / row_sums.std()
        log_prior, w, R2 = stats.norm(m, 0.8).logpdf(x[:N0]).sum(), x[:N0], None
        if self.nu < 1:
            R2, log_prior, x = np.exp(x[-1]), log_prior + x[-1], x[:-1]  # dR^2 = R^2 dlog R^2
            # half-normal, with 10 times the mean d^2 of the majority from its plain mean, and more
            plain = np.zeros(len(self.points))
            plain[:N0] = 1 / N0
            d2 = squared_distances(plain, self.points, MAJORITY, space).mean()
            log_prior += stats.halfnorm.logpdf(R2, scale=10 * (d2 + 2 / (SCALE * N0)))
        if self.name != "bdd":
            w = softmax(w)
        if self.name == "bsvdd_m":
            b = stats.norm.cdf(x[N0:])
            log_prior += (stats.beta(2, 3).logpdf(b) + stats.norm.logpdf(x[N0:])).sum()
            alpha1 = b if self.total is None else self.total / N1 * b
            w = np.concatenate([(1 + alpha1.sum()) * w, -alpha1])
        return w, R2, log_prior

    def likelihood(self, w, R2, space):
        """-lambda n0/2 times SVDD's loss (Tax and Duin 2004); -lambda/2 sum d^2 for nu = 1."""
        d2 = squared_distances(w, self.points, self.points, space)
        if R2 is None:
            return -SCALE / 2 * d2[:N0].sum()
        loss = R2 + sum(max(v - R2, 0.0) for v in d2[:N0]) / (N0 * self.nu)
        return -SCALE * N0 / 2 * (loss + sum(max(R2 - v, 0.0) for v in d2[N0:]) / (N1 * self.mu))


CASES = [
    Case("bdd"),
    *(Case("bsvdd", nu) for nu in (1.0, 0.1, 0.6)),
    *(Case("bsvdd_m", *given) for given in ((), (0.3, 0.2), (0.8, 1.0), (1.0, 1.0, 0.7))),
]


@each_kernel
@pytest.mark.parametrize("case", CASES, ids=str)
def test_density_is_prior_times_likelihood(case, space):
    model = case.build(space)
    density = Density.of(model)
    for x in np.random.default_rng(41).normal(size=(4, density.size)):
        w, R2, log_prior = case.prior(x, space)
        expected = case.likelihood(w, R2, space)
        found = density.value_and_gradient(x[None])[0][0]
        assert found - log_prior == pytest.approx(expected, rel=1e-9)
        named = density.named(x[None])
        np.testing.assert_allclose(named["w"][0], w)
        if R2 is not None:
            assert named["squared_radius"][0] == pytest.approx(R2)
            assert named["radius"][0] == pytest.approx(R2**0.5)
            gram = Gram.from_rows(KERNELS[space], MAJORITY, case.points[N0:])
            total = likelihood_of(model).total(named["w"], gram, named["squared_radius"])
            assert total[0] == pytest.approx(expected, rel=1e-9)


@each_kernel
def test_potential_at_any_weights_and_of_a_separate_dictionary(space):
    gram, rng = Gram.from_rows(KERNELS[space], MAJORITY), np.random.default_rng(23)
    draws = np.stack([svdd.solve(gram, 0.4).weights, *rng.normal(size=(3, N0))])
    expected = [Case("bdd").likelihood(w, None, space) for w in draws]
    total = KernelLikelihood(SCALE).total
    np.testing.assert_allclose(total(draws, gram), expected, rtol=1e-10)
    np.testing.assert_allclose(total(draws[0], gram), expected[0], rtol=1e-10)
    points, w = rng.normal(size=(3, 2)), np.array([0.2, 1.1, -0.4])
    gram = Gram.from_rows(KERNELS[space], MAJORITY, dictionary=points)
    direct = -squared_distances(w, points, MAJORITY, space).sum() / 2
    assert KernelLikelihood().total(w, gram) == pytest.approx(direct, rel=1e-10)


@each_kernel
@pytest.mark.parametrize(("nu", "mu"), [(0.13, None), (0.4, None), (0.3, 0.9), (0.22, 0.5)])
def test_the_mode_is_the_solution_of_svdd(space, nu, mu):
    """Weak duality: no loss is below the dual optimum, so where the two meet is the mode."""
    case = Case("bsvdd", nu) if mu is None else Case("bsvdd_m", nu, mu)
    C1, C2 = 1 / (N0 * nu), None if mu is None else 1 / (N1 * mu)
    gram = Gram.from_rows(KERNELS[space], MAJORITY, None if mu is None else MINORITY)
    K, n1 = gram.K, gram.n1
    lower, upper = np.repeat([0.0, -(C2 or 0.0)], [N0, n1]), np.repeat([C1, 0.0], [N0, n1])
    dual = helpers.quadratic_program(2 * K, -np.diag(K), lower, upper)
    optimum = dual @ np.diag(K) - dual @ K @ dual
    sphere, likelihood = svdd.solve(gram, C1, C2), likelihood_of(case.build(space))
    w, R2 = sphere.weights, np.array(sphere.radius**2)
    best = likelihood.total(w, gram, R2)
    assert best == pytest.approx(-SCALE * N0 / 2 * optimum, rel=1e-6)
    rng = np.random.default_rng(43)
    for step in (1e-3, 1e-2, 0.1, 1.0):
        move = step * rng.normal(size=(200, len(w)))
        move -= move.mean(axis=1, keepdims=True)  # weights that sum to one
        radii = R2 * np.exp(step * rng.normal(size=200))
        assert (likelihood.total(w + move, gram, radii) <= best + 1e-9 * abs(best)).all()


@each_kernel
def test_towards_an_outlier_fraction_of_one_the_likelihood_is_the_published_one(space):
    """At nu -> 1 and R^2 inside all rows; its largest value over R^2 at any nu is a CVaR."""
    gram = Gram.from_rows(KERNELS[space], MAJORITY)
    w = np.random.default_rng(44).dirichlet(np.ones(N0), size=5)
    d2 = np.array([squared_distances(each, MAJORITY, MAJORITY, space) for each in w])
    for share in (0.0, 0.4, 1.0):
        found = SVDDLikelihood(1 - 1e-12, 1.0, SCALE).total(w, gram, share * d2.min(axis=1))
        np.testing.assert_allclose(found, KernelLikelihood(SCALE).total(w, gram), rtol=1e-9)
    for k in (1, 3, 6):  # nu = k / n0: the mean of the k largest
        at_rows = [SVDDLikelihood(k / N0, 1.0, SCALE).total(w, gram, d2[:, j]) for j in range(N0)]
        cvar = np.sort(d2, axis=1)[:, -k:].mean(axis=1)
        np.testing.assert_allclose(np.max(at_rows, axis=0), -SCALE * N0 / 2 * cvar, rtol=1e-9)


ONE = Gram.from_rows(KERNELS["linear"], MAJORITY)
TWO = Gram.from_rows(KERNELS["linear"], MAJORITY, MINORITY)
FLAT, TRUNCATED = priors.Flat(), priors.TruncatedNormal()
MODELS = {
    "bdd": (partial(bdd.build, ONE, FLAT), {"alpha0": "point"}),
    "bsvdd": (partial(bsvdd.build, ONE, FLAT), {"beta": "point"}),
    "bsvdd_m": (
        partial(bsvdd_m.build, TWO, FLAT, TRUNCATED),
        {"tau": "majority", "alpha1": "minority"},
    ),
    "bdd_m": (partial(bdd_m.build, TWO, FLAT, TRUNCATED), {"alpha1": "minority"}),
}


@pytest.mark.parametrize("name", MODELS)
def test_variables_have_the_names_of_the_papers_and_the_likelihood_counts_once(name):
    build, dims = MODELS[name]
    dims = dims | {"r": "point", "w": "point"}
    model = build()
    named = {k: v for k, v in model.named_vars_to_dims.items() if k in dims}
    assert named == {k: (v,) for k, v in dims.items()}
    assert {"K", "r", "T", "n0", "likelihood_scale", "squared_norm"} <= set(model.named_vars)
    assert [v.name for v in model.potentials] == ["kernel"]
    x = np.random.default_rng(5).normal(size=(1, Density.of(model).size))
    default, once, twice = (
        Density.of(each).value_and_gradient(x)[0][0]
        for each in (model, build(likelihood_scale=1.0), build(likelihood_scale=2.0))
    )
    assert default == pytest.approx(once, rel=1e-14) and twice != pytest.approx(once)


def test_one_minority_row_is_enough_and_equal_rows_have_a_start():
    gram = Gram.from_rows(KERNELS["linear"], MAJORITY, MINORITY[:1])
    model = bsvdd_m.build(gram, FLAT, priors.Beta())
    assert model["alpha1"].type.ndim == 1 and Density.of(model).size == N0 + 1
    model = bsvdd.build(Gram.from_rows(KERNELS["RBF"], np.ones((4, 2))), FLAT, 1.0, 0.5)
    density = Density.of(model)
    assert np.isfinite(density.value_and_gradient(density.prior.start[None])[0]).all()


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5, np.nan])
def test_fractions_outside_their_range_are_errors(fraction):
    for case in (Case("bsvdd", fraction), Case("bsvdd_m", fraction)):
        with pytest.raises(ValueError, match=r"outlier_fraction must lie in \(0, 1\], got"):
            case.build("RBF")
    with pytest.raises(ValueError, match=r"minority_fraction must lie in \(0, 1\], got"):
        Case("bsvdd_m", 0.5, fraction).build("RBF")


@pytest.mark.parametrize("dictionary", [MAJORITY[:5], MAJORITY + 0.1])
def test_points_that_are_not_the_rows_are_an_error(dictionary):
    gram = Gram.from_rows(KERNELS["RBF"], MAJORITY, dictionary=dictionary)
    with pytest.raises(ValueError, match=r"every row must be a point .*use dictionary=None"):
        bsvdd.build(gram, FLAT, 1.0, 0.5)
