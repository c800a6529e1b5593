"""Rows, fitted estimators and Monte Carlo errors that tests share."""

import os
import sys

import arviz as az
import numpy as np
import pytest
import xarray as xr
from hypothesis import settings
from threadpoolctl import threadpool_limits

from bsvdd import BDD, BSVDD, BSVDDM, SVDD, kernels, priors

# two test processes share the cores, and those that they start
threadpool_limits(1)
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
# hundreds of processes start in the tests, and each would compile anew what it imports
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("bsvdd", derandomize=True, deadline=None, database=None)
settings.load_profile("bsvdd")

QUICK = dict(draws=60, tune=60, chains=2)


@pytest.fixture(scope="module", autouse=True)
def closed_figures():
    """Close the figures of a file: matplotlib warns of many open ones."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def table():
    """Rows (30, 3) and y: 24 majority rows (0), then 6 minority rows (1)."""
    rng = np.random.default_rng(10)
    X = np.concatenate([rng.normal(size=(24, 3)), rng.normal(1.5, 0.8, size=(6, 3))])
    return X, np.repeat([0, 1], [24, 6])


@pytest.fixture(scope="session")
def new_rows():
    return np.random.default_rng(11).normal(0.7, 1.3, size=(15, 3))


@pytest.fixture(scope="session")
def make():
    """Return a function that makes an unfitted quick estimator by name."""

    def make(name, **changes):
        one_draw = {"kernel": kernels.RBF(1.5)}
        settings = {
            "SVDD": (SVDD, one_draw),
            "BDD": (BDD, {**one_draw, **QUICK}),
            "BDD simplex": (BDD, {**one_draw, "simplex": True}),
            "BSVDD": (BSVDD, {**one_draw, **QUICK}),
            "BSVDDM": (
                BSVDDM,
                {**one_draw, **QUICK, "minority_prior": priors.Beta(total=1)},
            ),
        }
        cls, arguments = settings[name]
        return cls(**{**arguments, **changes})

    return make


@pytest.fixture(scope="session")
def fitted(make, table):
    """Return a function: name -> fitted quick estimator, which no test changes."""
    known = {}

    def fitted(name):
        if name not in known:
            known[name] = make(name).fit(*table)
        return known[name]

    return fitted


@pytest.fixture(scope="session")
def worst_z():
    """Return a function of draws (chain, draw, ...) and truth (...): the largest |z|.

    z is the error of the mean of the draws, divided by its Monte Carlo standard error.
    """

    def worst_z(draws, truth):
        draws = np.asarray(draws)
        flat = draws.reshape(*draws.shape[:2], -1)
        data = xr.Dataset({"x": (("chain", "draw", "i"), flat)})
        error = flat.mean(axis=(0, 1)) - np.ravel(truth)
        return float(np.abs(error / az.mcse(data)["x"].values).max())

    return worst_z
