"""The calibrated scale, the default: a posterior with the spread of samples."""

import numpy as np
import pytest
from bsvdd.models import calibrate, dictionary

import bsvdd
from bsvdd import BDD, BSVDD, cutoffs, kernels, priors
from bsvdd.base.warning import DiagnosticWarning

MODELS = [BDD, BSVDD]


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(90, 3))


@pytest.fixture(scope="module", params=MODELS)
def est(request, rows):
    return request.param().fit(rows)


POPULATIONS = {
    "normal": lambda rng, n: rng.normal(size=(n, 5)),
    "t": lambda rng, n: rng.standard_t(3, size=(n, 10)) / 1.7,
    "lognormal": lambda rng, n: np.exp(rng.normal(size=(n, 2))) / 2.0,
    "binary": lambda rng, n: 2.0 * (rng.random((n, 8)) < 0.3),
}
QUICK = "normal", "binary"


def spread(model, population, n, kernel, seed=1, **parameters):
    """Return the median ratio of the posterior sd of s_z and its sd over samples.

    z is new, and near the cutoff.
    """
    rng = np.random.default_rng(seed)
    X, Z = POPULATIONS[population](rng, n), POPULATIONS[population](rng, 400)
    est = model(kernel=kernel, draws=1000, **parameters).fit(X)
    assert not est.fit_.convergence[0] > 1.011
    K = est.kernel_(Z, X)
    low, high = np.quantile(K.mean(axis=1), dictionary.NEAR_CUTOFF)
    near = (K.mean(axis=1) >= low) & (K.mean(axis=1) <= high)
    posterior = np.exp(est.log_similarity(Z[near])).std(axis=0)
    return np.median(posterior / (K[near].std(axis=1) / np.sqrt(n)))


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(kernels.RBF(), id="narrow"),
        pytest.param(kernels.RBF("median"), id="wide", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(
    ("population", "n"),
    [
        *(
            pytest.param(p, 200, marks=[pytest.mark.long] * (p not in QUICK))
            for p in POPULATIONS
        ),
        ("normal", 50),
    ],
)
def test_the_posterior_has_the_spread_of_samples(population, n, kernel):
    assert 0.9 <= spread(BSVDD, population, n, kernel) <= 1.1
    if n == 200:
        of_samples = [spread(BDD, population, n, kernel, seed) for seed in range(6)]
        assert 0.95 <= np.mean(of_samples) <= 1.05


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "population",
    [pytest.param(p, marks=[pytest.mark.long] * (p not in QUICK)) for p in POPULATIONS],
)
def test_groups_have_it_too(population, model):
    assert 0.85 <= spread(model, population, 400, kernels.RBF(), dictionary=200) <= 1.15


@pytest.mark.filterwarnings("ignore:the posterior is its prior")
def test_the_number_is_kept_and_goes_on(est, rows, tmp_path):
    found, _ = calibrate.calibrated(est.gram_, on_simplex=isinstance(est, BSVDD))
    assert est.likelihood_scale_ == pytest.approx(found)
    assert est.likelihood_scale == "calibrated"
    assert est.idata_["posterior"].attrs["likelihood_scale"] == est.likelihood_scale_
    assert type(est)(likelihood_scale=2).fit(rows[:20]).likelihood_scale_ == 2.0
    est.save(tmp_path / "fit.nc")
    loaded = bsvdd.load(tmp_path / "fit.nc")
    assert loaded.likelihood_scale_ == est.likelihood_scale_
    np.testing.assert_allclose(loaded.distance(rows), est.distance(rows), rtol=1e-6)
    for fit in (est, loaded):  # also with other priors
        assert (
            fit.with_prior(priors.Flat(sd=0.5)).likelihood_scale_
            == est.likelihood_scale_
        )
        assert (
            fit.with_cutoff(cutoffs.FalseAlarm(0.2)).likelihood_scale_
            == est.likelihood_scale_
        )
    number = (
        type(est)(likelihood_scale=1.0)
        .fit(rows)
        .set_params(likelihood_scale="calibrated")
    )
    assert (
        number.with_prior(est.prior).likelihood_scale_ == 1.0
    )  # the parameters of the fit


def test_single_estimates_have_the_lambda_of_the_draws(rows):
    draws = BDD().fit(rows)
    for one in (BDD(simplex=True), BDD(sampler="mode")):
        assert one.fit(rows).likelihood_scale_ == draws.likelihood_scale_
    assert one.idata_["posterior"]["w"].values[0, 0] == pytest.approx(
        draws.map_weights_
    )
    # the prior's mean is the mean of the rows, and so is the mode
    np.testing.assert_allclose(draws.map_weights_, 1.0 / len(rows), atol=1e-12)


@pytest.mark.parametrize(
    ("X", "kernel"),
    [
        (np.random.default_rng(3).normal(size=(6, 2)), kernels.RBF(1.0)),
        (np.random.default_rng(3).normal(size=(30, 2)), kernels.RBF(1e6)),
        (np.ones((20, 2)), kernels.RBF(1.0)),
    ],
    ids=["few", "wide", "equal"],
)
@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
@pytest.mark.filterwarnings("ignore:6 rows are few")
def test_without_a_root_a_fit_says_so(X, kernel):
    with pytest.warns(
        DiagnosticWarning,
        match="could not be learned: fewer than 3 rows near the cutoff",
    ):
        est = BDD(kernel=kernel).fit(X)
    assert est.likelihood_scale_ == pytest.approx((1 - 1.5**-2) * len(X))
