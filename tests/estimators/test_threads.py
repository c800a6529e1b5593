"""Fits and scores in threads are those one after another, to the bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

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
