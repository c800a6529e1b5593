"""The likelihoods against distances in an explicit feature space, slack by slack, and cvxopt."""

from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m, svdd
from bsvdd.models.potential import KernelLikelihood
from scipy import stats

from bsvdd import kernels, priors
from tests import cases

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

    def density(self, space):
        prior, k = priors.StandardizedRowSum(sd=0.8), KERNELS[space]
        if self.name == "bdd":
            return Density(bdd.Model(prior, SCALE), Gram.from_rows(k, MAJORITY))
        own = {"outlier_fraction": self.nu}
        if self.name == "bsvdd":
            return Density(bsvdd.Model(prior, SCALE, **own), Gram.from_rows(k, MAJORITY))
        own |= {"minority_prior": priors.Beta(2, 3, total=self.total), "minority_fraction": self.mu}
        return Density(bsvdd_m.Model(prior, SCALE, **own), Gram.from_rows(k, MAJORITY, MINORITY))

    def build(self, space):
        return self.density(space).pymc

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
    density = case.density(space)
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
            of_all = (named["w"], density.gram, named["squared_radius"])
            (value,) = density.likelihood.value_and_pull(*of_all)[0]
            assert value == pytest.approx(expected, rel=1e-9)


@each_kernel
def test_likelihood_of_a_separate_dictionary_at_any_weights(space):
    points, w = RNG.normal(size=(3, 2)), RNG.normal(size=(4, 3))
    gram = Gram.from_rows(KERNELS[space], MAJORITY, dictionary=points)
    direct = [-squared_distances(v, points, MAJORITY, space).sum() / 2 for v in w]
    np.testing.assert_allclose(KernelLikelihood().value_and_pull(w, gram)[0], direct, rtol=1e-10)
    value = KernelLikelihood(SCALE).value_and_pull(w[0], gram)[0]
    assert value == pytest.approx(SCALE * direct[0], rel=1e-10)


@each_kernel
@pytest.mark.parametrize(("nu", "mu"), [(0.13, None), (0.22, 0.5)])
def test_the_mode_is_the_solution_of_svdd(space, nu, mu):
    """Weak duality: no loss is below the dual optimum, so where the two meet is the mode."""
    case = Case("bsvdd", nu) if mu is None else Case("bsvdd_m", nu, mu)
    C1, C2 = 1 / (N0 * nu), None if mu is None else 1 / (N1 * mu)
    gram = Gram.from_rows(KERNELS[space], MAJORITY, None if mu is None else MINORITY)
    K, n1 = gram.K, gram.n1
    lower, upper = np.repeat([0.0, -(C2 or 0.0)], [N0, n1]), np.repeat([C1, 0.0], [N0, n1])
    dual = helpers.quadratic_program(2 * K, -np.diag(K), lower, upper)
    optimum = dual @ np.diag(K) - dual @ K @ dual
    sphere, likelihood = svdd.solve(gram, C1, C2), case.density(space).likelihood
    w, R2 = sphere.weights, np.array(sphere.radius**2)
    best = likelihood.value_and_pull(w, gram, R2)[0]
    assert best == pytest.approx(-SCALE * N0 / 2 * optimum, rel=1e-6)
    rng = np.random.default_rng(43)
    for step in (1e-3, 1e-2, 0.1, 1.0):
        move = step * rng.normal(size=(200, len(w)))
        move -= move.mean(axis=1, keepdims=True)  # weights that sum to one
        radii = R2 * np.exp(step * rng.normal(size=200))
        value = likelihood.value_and_pull(w + move, gram, radii)[0]
        assert (value <= best + 1e-9 * abs(best)).all()


NAMES = {
    "BDD": {"alpha0": "point"},
    "BSVDD": {"beta": "point"},
    "BSVDD-M": {"tau": "majority", "alpha1": "minority"},
    "BDD-M": {"x": "majority", "alpha1": "minority"},
}


@pytest.mark.parametrize("name", NAMES)
def test_variables_have_the_names_of_the_papers_and_the_likelihood_is_one_potential(name):
    prior, minority = priors.Flat(), priors.TruncatedNormal()
    if name in cases.MINORITY_MODELS:
        density = cases.MINORITY_MODELS[name](prior, minority)
    else:
        density = cases.MAJORITY_MODELS[name](prior)
    model = density.pymc
    dims = NAMES[name] | {"r": "point", "w": "point"}
    named = {k: v for k, v in model.named_vars_to_dims.items() if k in dims}
    assert named == {k: (v,) for k, v in dims.items()}
    assert {"K", "r", "T", "n0", "likelihood_scale", "squared_norm"} <= set(model.named_vars)
    assert [v.name for v in model.potentials] == ["kernel"] == [density.likelihood.potential]


def test_one_minority_row_is_enough_and_equal_rows_have_a_start():
    gram = Gram.from_rows(KERNELS["linear"], MAJORITY, MINORITY[:1])
    assert Density(bsvdd_m.Model(priors.Flat()), gram).size == N0 + 1
    equal = Gram.from_rows(KERNELS["RBF"], np.ones((4, 2)))
    density = Density(bsvdd.Model(priors.Flat(), outlier_fraction=0.5), equal)
    assert np.isfinite(density.value_and_gradient(density.prior.start[None])[0]).all()


def of_points(points):
    gram = Gram.from_rows(KERNELS["RBF"], MAJORITY, dictionary=points)
    return bsvdd.build(gram, priors.Flat(), 1.0, 0.5)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        *(
            (partial(Case(name, *given).build, "RBF"), rf"{field} must lie in \(0, 1\], got")
            for value in (0.0, -0.1, 1.5, np.nan)
            for name, given, field in (
                ("bsvdd", (value,), "outlier_fraction"),
                ("bsvdd_m", (0.5, value), "minority_fraction"),
            )
        ),
        (partial(of_points, MAJORITY[:5]), "every row must be a point .*use dictionary=None"),
        (partial(of_points, MAJORITY + 0.1), "every row must be a point"),
        (partial(bsvdd_m.build, cases.ONE, priors.Flat(), priors.Beta()), r"none \(n1 = 0\); give"),
    ],
)
def test_what_is_refused(use, message):
    with pytest.raises(ValueError, match=message):
        use()
