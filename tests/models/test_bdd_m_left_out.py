"""Leave-one-out of BDD-M against refits without each row, and the cutoff that it makes."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.comparison.scenarios.datasets import embedded
from bsvdd.comparison.scenarios.scenario import Real
from bsvdd.inference.decision import deciding_quantile
from bsvdd.inference.metrics import evaluate
from bsvdd.inference.warning import DiagnosticWarning
from bsvdd.models import Gram, bdd_m_posterior
from bsvdd.models.bdd_m_posterior import TruncatedNormalPosterior
from numpy.polynomial.legendre import leggauss
from scipy import stats

from bsvdd import BDDM, Cutoff, kernels, priors
from tests.scores import cutoff_of, upper_median

quiet = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
QUICK = dict(kernel=kernels.RBF(1.0), draws=50, tune=50, chains=2)
N0, N1, SCALE = 10, 5, 1.3
RNG = np.random.default_rng(40)
ROWS = RNG.normal(size=(N0 + N1, 2)) * np.repeat([1.0, 0.8], [N0, N1])[:, None]


def covariance(n):
    A = RNG.normal(size=(n, n))
    return A @ A.T / n + 0.2 * np.eye(n)


FULL = priors.Normal(sd=1.2, m=RNG.normal(size=N0) * 0.3, sigma=covariance(N0))
FULL_MINORITY = priors.TruncatedNormal(RNG.uniform(0, 1, N1), 0.5, covariance(N1))
CASES = [
    pytest.param(FULL, FULL_MINORITY, id="correlated"),
    pytest.param(priors.Flat(0.7), priors.TruncatedNormal(), id="independent"),
    pytest.param(priors.Flat(2.0), FULL_MINORITY, id="mixed"),
]


def whole():
    return Gram.from_rows(kernels.RBF(1.0), ROWS[:N0], ROWS[N0:])


def without(j):
    """Statistics of the other rows, which know their place in the priors, and which these are."""
    rest = np.arange(N0 + N1) != j
    gram = Gram.from_rows(kernels.RBF(1.0), ROWS[:N0][rest[:N0]], ROWS[N0:][rest[N0:]])
    place, minority_index_in_full_fit = np.flatnonzero(rest[:N0]), np.flatnonzero(rest[N0:])
    return replace(
        gram, index_in_full_fit=place, minority_index_in_full_fit=minority_index_in_full_fit
    ), rest


def log_density(found, alpha1):
    """Of alpha1 on the cube, but for a constant; itself tested by quadrature."""
    return alpha1 @ found.shift1 - np.einsum("...i,ij,...j", alpha1, found.precision1, alpha1) / 2


def draws(found, seed, chains=2, n=500):
    return found.draw(n, 100, chains, np.random.default_rng(seed))["w"]


def leave_one_out(gram, prior, minority_prior, w, seed=0):
    form = TruncatedNormalPosterior(gram, prior, minority_prior, SCALE)
    return form.leave_one_out(w, np.random.default_rng(seed))


@pytest.mark.parametrize(("prior", "minority_prior"), CASES)
def test_weights_of_the_draws_are_ratios_of_densities(prior, minority_prior):
    """Without a minority row the density with it is integrated over that row's own weight."""
    gram = whole()
    found = TruncatedNormalPosterior(gram, prior, minority_prior, SCALE)
    w = draws(found, 41).reshape(-1, N0 + N1)
    alpha1 = -w[:, N0:]
    _, log_weight = leave_one_out(gram, prior, minority_prior, w)
    x, weight = leggauss(60)
    for j in range(N0 + N1):
        others, rest = without(j)
        refit = log_density(
            TruncatedNormalPosterior(others, prior, minority_prior, SCALE), alpha1[:, rest[N0:]]
        )
        if j < N0:
            with_row = log_density(found, alpha1)
        else:
            along = np.repeat(alpha1[:, None], 60, axis=1)
            along[:, :, j - N0] = (x + 1) / 2
            with_row = np.log(np.exp(log_density(found, along)) @ weight)
        expected = refit - with_row
        assert np.ptp(expected) > 1e-3
        centred = log_weight[:, j] - log_weight[:, j].mean()
        np.testing.assert_allclose(centred, expected - expected.mean(), atol=1e-9)


@pytest.mark.parametrize(("prior", "minority_prior"), CASES)
def test_left_out_centre_given_alpha1_is_that_of_a_refit(prior, minority_prior):
    """Mean and variance of the kernel sum: the refit's normal alpha0 on its hyperplane."""
    gram, n = whole(), 20_000
    found = TruncatedNormalPosterior(gram, prior, minority_prior, SCALE)
    alpha1 = np.array([0.3, 0.0, 0.9, 0.05, 1.0])
    mean, C = on_hyperplane(found, alpha1)
    rng = np.random.default_rng(42)
    alpha0 = rng.multivariate_normal(mean, C, n, method="eigh")
    w = np.hstack([alpha0, np.broadcast_to(-alpha1, (n, N1))])
    f, _ = leave_one_out(gram, prior, minority_prior, w)
    stayed = []
    for j in range(N0 + N1):
        others, rest = without(j)
        refit = TruncatedNormalPosterior(others, prior, minority_prior, SCALE)
        mean, C = on_hyperplane(refit, alpha1[rest[N0:]])
        u, k, m = np.concatenate([mean, -alpha1[rest[N0:]]]), gram.K[rest, j], len(mean)
        expected, variance = u @ k, k[:m] @ C @ k[:m]
        error = f[:, j] - expected
        assert abs(error.mean()) < 4.5 * (variance / n) ** 0.5
        assert abs((error**2).mean() - variance) < 4.5 * (error**2).std() / n**0.5
        stayed.append(abs((w @ gram.K[j]).mean() - expected) / (variance / n) ** 0.5)
    assert max(stayed) > 15  # leaving a row out makes a difference


def on_hyperplane(found, alpha1):
    """Mean and covariance of alpha0 given alpha1."""
    C = np.linalg.inv(found.precision0)
    g = C.sum(axis=1)
    return found.weights(alpha1)[: len(C)], C - np.outer(g, g) / g.sum()


@pytest.mark.parametrize(("prior", "minority_prior"), CASES[:2])
def test_left_out_kernel_sums_are_those_of_refits(prior, minority_prior):
    """Weighted mean and mean square, with errors from independent chains, row by row."""
    gram, chains = whole(), 24
    found = TruncatedNormalPosterior(gram, prior, minority_prior, SCALE)
    w = draws(found, 43, chains, 800)
    f, log_weight = leave_one_out(gram, prior, minority_prior, w.reshape(-1, N0 + N1))
    f = f.reshape(chains, -1, N0 + N1)
    weight = np.exp(log_weight).reshape(f.shape)
    unweighted = []
    for j in range(N0 + N1):
        others, rest = without(j)
        refit = TruncatedNormalPosterior(others, prior, minority_prior, SCALE)
        v = draws(refit, 100 + j, chains, 800)
        expected = v @ gram.K[rest, j]
        for power in (1, 2):
            ours = np.average(f[..., j] ** power, axis=1, weights=weight[..., j])
            assert abs(stats.ttest_ind(ours, (expected**power).mean(axis=1)).statistic) < 4.5
        plain = stats.ttest_ind(f[..., j].mean(axis=1), expected.mean(axis=1))
        unweighted.append(abs(plain.statistic))
    assert max(unweighted) > 5  # the weights matter


def test_density_of_a_minority_weight_at_zero():
    """Against SciPy's truncated normal, far into both tails."""
    for mean in (-40.0, -3.0, -0.2, 0.0, 0.4, 1.0, 1.3, 30.0):
        for precision in (0.5, 20.0, 900.0):
            root = precision**0.5
            expected = stats.truncnorm.logpdf(0.0, -mean * root, (1 - mean) * root, mean, 1 / root)
            expected -= np.log(root / (2 * np.pi) ** 0.5)
            found = bdd_m_posterior._log_density_at_zero(np.array([mean]), np.array([precision]))
            np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)


def test_the_only_row_of_a_class():
    rows = ROWS[:4]
    gram = Gram.from_rows(kernels.RBF(1.0), rows[:1], rows[1:])
    arguments = priors.Flat(), priors.TruncatedNormal()
    w = draws(TruncatedNormalPosterior(gram, *arguments, SCALE), 44).reshape(-1, 4)
    f, _ = leave_one_out(gram, *arguments, w)
    assert (f[:, 0] == -np.inf).all()  # there is no centre without it
    assert np.isfinite(f[:, 1:]).all()
    # the only minority row: what is left is the posterior of the majority alone
    gram = Gram.from_rows(kernels.RBF(1.0), rows[:3], rows[3:])
    w = draws(TruncatedNormalPosterior(gram, *arguments, SCALE), 45, n=10_000).reshape(-1, 4)
    f, log_weight = leave_one_out(gram, *arguments, w)
    assert np.ptp(log_weight[:, 3]) < 1e-9
    alone = Gram.from_rows(kernels.RBF(1.0), rows[:3])
    v = draws(TruncatedNormalPosterior(alone, *arguments, SCALE), 46, n=10_000).reshape(-1, 3)
    assert abs(stats.ttest_ind(f[:, 3], v @ gram.K[:3, 3]).statistic) < 4.5


X = np.random.default_rng(30).normal(size=(32, 2)) * np.repeat([1.0, 0.8], [24, 8])[:, None]
Y = np.repeat([0, 1], [24, 8])


@quiet
def test_automatic_cutoff_is_by_leave_one_out():
    order = np.random.default_rng(47).permutation(32)
    y = Y[order]
    est = BDDM(**QUICK).fit(X[order], y)
    w = est.idata_["posterior"]["w"].values.reshape(100, 32)
    form = TruncatedNormalPosterior(est.gram_, est.prior, est.minority_prior)
    f, log_weight = form.leave_one_out(w, np.random.default_rng(est.fit_.data.seed))
    d2 = 1 - 2 * f + upper_median(np.einsum("di,ij,dj->d", w, est.gram_.K, w))
    left = np.empty(32)
    left[np.argsort(y, kind="stable")] = -deciding_quantile(-d2, 0.3, log_weight)
    changed = est.with_cutoff(Cutoff(level=0.3))
    expected = cutoff_of(changed, Cutoff("g_mean"), left**0.5, y == 1)
    assert changed.cutoff_ == pytest.approx(expected, rel=1e-12)
    assert est.cutoff_ == est.with_cutoff(Cutoff("g_mean", cv="loo")).cutoff_
    for cv in (5, "train"):
        assert est.cutoff_ != est.with_cutoff(Cutoff("g_mean", cv=cv)).cutoff_


@pytest.mark.long
@quiet
def test_another_minority_prior_has_folds():
    est = BDDM(minority_prior=priors.Beta(2, 2), cutoff=1.0, sampler="nuts", **QUICK).fit(X, Y)
    message = r"cutoff: BDDM has no leave-one-out in closed form.*; use cv='auto' or a number"
    with pytest.raises(ValueError, match=message):
        est.with_cutoff(Cutoff(cv="loo"))
    with pytest.raises(ValueError, match=message):
        BDDM(minority_prior=priors.Beta(2, 2), cutoff=Cutoff(cv="loo")).fit(X, Y)
    automatic, folds = est.with_cutoff("g_mean"), est.with_cutoff(Cutoff("g_mean", cv=5))
    assert automatic.cutoff_ == folds.cutoff_


@quiet
def test_draws_of_any_sampler_can_be_left_out():
    exact = BDDM(**{**QUICK, "draws": 1000}).fit(X, Y)
    nuts = BDDM(**{**QUICK, "draws": 1000, "tune": 500}, sampler="nuts").fit(X, Y)
    found = [est.idata_["decision"]["left_out"].values for est in (exact, nuts)]
    np.testing.assert_allclose(*found, atol=0.03)
    inside = np.median(exact.distance(X).values.reshape(-1, 32), axis=0)
    assert np.abs(found[0] - inside).max() > 0.1


def test_few_draws_that_count_are_warned_of(monkeypatch):
    """Weights of one draw in a hundred, for three rows."""
    est = BDDM(cutoff=1.0, **{**QUICK, "draws": 1000}).fit(X, Y)
    true = TruncatedNormalPosterior.leave_one_out

    def uneven(*arguments):
        d, log_weight = true(*arguments)
        log_weight[:, 5:8] = np.where(np.arange(2000)[:, None] % 100 == 0, -900.0, -910.0)
        return d, log_weight

    monkeypatch.setattr(TruncatedNormalPosterior, "leave_one_out", uneven)
    message = (
        r"leave-one-out of 3 of 32 rows depends on few draws \(as few as 20\.\d effective draws of"
    )
    with pytest.warns(DiagnosticWarning, match=message):
        est.with_cutoff("g_mean")
    monkeypatch.undo()
    est.with_cutoff("g_mean")  # and else says nothing


@pytest.mark.long
@quiet
@pytest.mark.filterwarnings("ignore:.* constant over the majority rows")
def test_false_alarms_of_held_out_rows_are_as_many_as_asked_for():
    """Over data sets and splits: 10 %, where folds with a narrow kernel are off."""
    rates = []
    for name in ("abalone_9v18", "breast_original", "glass_headlamps", "ecoli_imU"):
        for seed in range(3):
            pair = Real(embedded(name)).pair(seed)
            est = Protocol(cutoff=Cutoff("false_alarm")).estimator("BDD-M", seed)
            est.fit(pair.train.X, pair.train.minority.astype(int))
            rates.append((est.predict(pair.test.X[~pair.test.minority]) == -1).mean())
    rates = np.reshape(rates, (4, 3))
    # the cutoff is the 10 % point of about 90 to 340 rows: sd .03 to .02, and of means .017
    assert 0.08 < rates.mean() < 0.12
    assert (np.abs(rates.mean(axis=1) - 0.1) < 0.06).all()


@pytest.mark.slow
@quiet
def test_default_cutoff_on_a_narrow_kernel():
    """On breast_original D_opt by refitted folds lay above nearly all rows: G-mean 0 to .13."""
    pair = Real(embedded("breast_original")).pair(0)
    est = Protocol().estimator("BDD-M", 0).fit(pair.train.X, pair.train.minority.astype(int))
    flagged = est.predict(pair.test.X) == -1
    assert evaluate(pair.test.minority, flagged)["g_mean"] > 0.9
