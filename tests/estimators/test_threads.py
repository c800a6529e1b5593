"""Fits and scores in threads are those one after another, to the bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bsvdd.models import calibration
from bsvdd.models.kernels import Tabular, bandwidth
from threadpoolctl import threadpool_info, threadpool_limits

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, kernels, priors

MODELS = [
    (BSVDD, {}),
    (BDD, {}),
    (BSVDDM, {"minority_prior": priors.Beta(total=1)}),
    (BDDM, {}),
    (BSVDD, {"prior": priors.Flat(0.5)}),
]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


def fit_and_score(number):
    """Return all numbers of one small fit; its rows, their count and the model follow from it."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(12 + number % 4, 2))
    y = np.arange(len(X)) < 3
    cls, parameters = MODELS[number % len(MODELS)]
    settings = dict(draws=30, tune=30, kernel=kernels.RBF(1.0), random_state=number)
    est = cls(**settings, **parameters).fit(X, y)
    other = est.with_prior(priors.Flat(0.7))
    return [
        est.idata_["posterior"]["w"].values,
        est.probability_normal(X + 0.1),
        est.cutoff_,
        other.score_samples(X - 0.1),
    ]


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("n", [10, pytest.param(1000, marks=pytest.mark.long)])
def test_fits_in_eight_threads(n):
    """Ten: each model with two numbers of rows."""
    alone = [fit_and_score(number) for number in range(n)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(fit_and_score, range(n)))
    for one, other in zip(alone, together, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_fit_to_few_rows_and_its_answers_have_one_thread_of_blas(monkeypatch):
    """Two threads that wait for each other are slow beside other processes."""
    seen = []

    def watched(function):
        def called(*args, **kwargs):
            pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
            seen.append((function.__name__, max(pool["num_threads"] for pool in pools)))
            return function(*args, **kwargs)

        return called

    monkeypatch.setattr(calibration, "calibrated", watched(calibration.calibrated))
    monkeypatch.setitem(bandwidth.CRITERIA, "likelihood", watched(bandwidth.likelihood))
    monkeypatch.setattr(Tabular, "_matrix", watched(Tabular._matrix))
    X = np.random.default_rng(0).normal(size=(30, 2))
    with threadpool_limits(2, user_api="blas"):
        est = BSVDD(draws=50, tune=50).fit(X)
        assert {name for name, _ in seen} == {"calibrated", "likelihood", "_matrix"}
        fitted = len(seen)
        est.predict(X + 1.0), est.decision(X)
    assert len(seen) > fitted and {number for _, number in seen} == {1}
