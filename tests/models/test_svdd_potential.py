"""The potential of SVDD's loss against the loss written out, cvxopt's SVDD, and quadrature."""

import cvxopt
import numpy as np
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bsvdd, bsvdd_m, svdd
from bsvdd.models.potential import KernelLikelihood, likelihood_of
from bsvdd.models.svdd_potential import SVDDLikelihood
from scipy import stats

from bsvdd import kernels, priors

RNG = np.random.default_rng(40)
MAJORITY = RNG.normal(size=(12, 2)) * [1.0, 1.6]
MINORITY = np.array([[0.4, 0.7], [2.2, -1.0], [-0.2, 3.0]])
POINTS = np.concatenate([MAJORITY, MINORITY])
N0, N1 = len(MAJORITY), len(MINORITY)
SCALE = 1.7  # lambda
KERNELS = [kernels.RBF(1.3), kernels.Linear(), kernels.Polynomial(2, gamma=0.3)]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)


def softmax(b):
    e = np.exp(b - b.max())
    return e / e.sum()


def squared_distances(w, points, kernel):
    """d^2 of the points, by the definition."""
    return np.array(
        [
            kernel([u], [u])[0, 0]
            - 2 * sum(v * kernel([x], [u])[0, 0] for v, x in zip(w, points, strict=True))
            + w @ kernel(points) @ w
            for u in points
        ]
    )


def loss(w, R2, points, kernel, C1, C2=0.0):
    """SVDD's loss, slack by slack (Tax and Duin 2004)."""
    d2 = squared_distances(w, points, kernel)
    value = R2
    for j, squared in enumerate(d2):
        value += C1 * max(squared - R2, 0.0) if j < N0 else C2 * max(R2 - squared, 0.0)
    return value


def model_of(kernel, nu, mu=None, prior=None, scale=SCALE):
    prior = prior or priors.Flat(1.2)
    if mu is None:
        return bsvdd.build(Gram.from_rows(kernel, MAJORITY), prior, scale, nu)
    gram = Gram.from_rows(kernel, MAJORITY, MINORITY)
    return bsvdd_m.build(gram, prior, priors.Beta(2, 3), scale, nu, mu)


@each_kernel
@pytest.mark.parametrize(("nu", "mu"), [(0.1, None), (0.6, None), (0.3, 0.2), (0.8, 1.0)])
def test_density_is_prior_times_the_loss_written_out(kernel, nu, mu):
    model = model_of(kernel, nu, mu)
    density = Density.of(model)
    points = MAJORITY if mu is None else POINTS
    for x in np.random.default_rng(41).normal(size=(4, density.size)):
        named = density.named(x[None])
        log_R2 = x[-1]
        log_prior = stats.norm(0, 1.2).logpdf(x[:N0]).sum() + log_R2  # dR^2 = R^2 dlog R^2
        w = softmax(x[:N0])
        if mu is not None:
            b = stats.norm.cdf(x[N0:-1])
            log_prior += (stats.beta(2, 3).logpdf(b) + stats.norm.logpdf(x[N0:-1])).sum()
            w = np.concatenate([(1 + b.sum()) * w, -b])
        C2 = 0.0 if mu is None else 1 / (N1 * mu)
        expected = -SCALE * N0 / 2 * loss(w, np.exp(log_R2), points, kernel, 1 / (N0 * nu), C2)
        found = density.value_and_gradient(x[None])[0][0]
        assert found - log_prior == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(named["w"][0], w)
        assert named["squared_radius"][0] == pytest.approx(np.exp(log_R2))
        assert named["radius"][0] == pytest.approx(np.exp(log_R2 / 2))
        total = likelihood_of(model).total(
            named["w"], Gram.from_rows(kernel, MAJORITY, points[N0:]), named["squared_radius"]
        )
        assert total[0] == pytest.approx(expected, rel=1e-9)


def cvxopt_svdd(K, C1, C2=0.0):
    """The dual optimum and its weights, by cvxopt: max w'diag(K) - w'Kw."""
    n, m = len(K), N0
    y = np.repeat([1.0, -1.0], [m, n - m])
    G = np.vstack([-np.diag(y), np.diag(y)])
    h = np.concatenate([np.zeros(n), np.repeat([C1, C2], [m, n - m])])
    options = {"show_progress": False, "abstol": 1e-12, "reltol": 1e-12, "feastol": 1e-12}
    arrays = (2 * K, -np.diag(K).copy(), G, h, np.ones((1, n)), np.ones(1))
    solution = cvxopt.solvers.qp(*map(cvxopt.matrix, arrays), options=options)
    w = np.ravel(solution["x"])
    return w, w @ np.diag(K) - w @ K @ w


@each_kernel
@pytest.mark.parametrize(("nu", "mu"), [(0.13, None), (0.4, None), (0.3, 0.9), (0.22, 0.5)])
def test_the_mode_is_the_solution_of_svdd(kernel, nu, mu):
    """Weak duality: no loss is below the dual optimum, so where the two meet is the mode."""
    C1, C2 = 1 / (N0 * nu), None if mu is None else 1 / (N1 * mu)
    gram = Gram.from_rows(kernel, MAJORITY, None if mu is None else MINORITY)
    sphere = svdd.solve(gram, C1, C2)
    _, optimum = cvxopt_svdd(gram.K, C1, C2 or 0.0)
    likelihood = likelihood_of(model_of(kernel, nu, mu))
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
def test_towards_an_outlier_fraction_of_one_the_likelihood_is_the_published_one(kernel):
    """At nu -> 1 and R^2 inside all rows; its largest value over R^2 at any nu is a CVaR."""
    gram = Gram.from_rows(kernel, MAJORITY)
    w = np.random.default_rng(44).dirichlet(np.ones(N0), size=5)
    d2 = np.array([squared_distances(each, MAJORITY, kernel) for each in w])
    for share in (0.0, 0.4, 1.0):
        found = SVDDLikelihood(1 - 1e-12, 1.0, SCALE).total(w, gram, share * d2.min(axis=1))
        np.testing.assert_allclose(found, KernelLikelihood(SCALE).total(w, gram), rtol=1e-9)
    for k in (1, 3, 6):  # nu = k / n0: the mean of the k largest
        at_rows = [SVDDLikelihood(k / N0, 1.0, SCALE).total(w, gram, d2[:, j]) for j in range(N0)]
        cvar = np.sort(d2, axis=1)[:, -k:].mean(axis=1)
        np.testing.assert_allclose(np.max(at_rows, axis=0), -SCALE * N0 / 2 * cvar, rtol=1e-9)


def test_an_outlier_fraction_of_one_is_the_published_model():
    model = bsvdd.build(Gram.from_rows(KERNELS[0], MAJORITY), priors.Flat(), 1.0, 1.0)
    assert [v.name for v in model.free_RVs] == ["beta"]
    assert [v.name for v in model.potentials] == ["kernel"]


@pytest.mark.parametrize("fraction", [0.0, -0.1, 1.5, np.nan])
def test_fractions_outside_their_range_are_errors(fraction):
    with pytest.raises(ValueError, match=r"outlier_fraction must lie in \(0, 1\], got"):
        model_of(KERNELS[0], fraction)
    with pytest.raises(ValueError, match=r"minority_fraction must lie in \(0, 1\], got"):
        model_of(KERNELS[0], 0.5, fraction)


@pytest.mark.parametrize("dictionary", [MAJORITY[:5], MAJORITY + 0.1])
def test_points_that_are_not_the_rows_are_an_error(dictionary):
    gram = Gram.from_rows(KERNELS[0], MAJORITY, dictionary=dictionary)
    with pytest.raises(ValueError, match=r"every row must be a point .*use dictionary=None"):
        bsvdd.build(gram, priors.Flat(), 1.0, 0.5)


def test_equal_rows_have_a_start():
    model = bsvdd.build(Gram.from_rows(KERNELS[0], np.ones((4, 2))), priors.Flat(), 1.0, 0.5)
    density = Density.of(model)
    assert np.isfinite(density.value_and_gradient(density.prior.start[None])[0]).all()
