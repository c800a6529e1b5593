"""Sampling: prior functions, seeds, the library that samples, interruption, several modes."""

import _thread
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import nutpie
import pymc as pm
import pytest
from bsvdd.inference import hmc, sampling
from bsvdd.inference.diagnostics import Verdict
from bsvdd.inference.sampling import sample
from bsvdd.inference.warning import DiagnosticWarning
from bsvdd.models import Gram, bsvdd
from scipy.special import softmax
from threadpoolctl import threadpool_info, threadpool_limits

from bsvdd import BSVDD, kernels, priors

QUICK = dict(draws=30, tune=30, chains=2)


@pytest.fixture(scope="module")
def model(toy_gram):
    """A model and its statistics; the PyMC model is built once, for nutpie."""
    return bsvdd.Model(priors.StandardizedRowSum()), toy_gram


@pytest.fixture(scope="module", autouse=True)
def compiled_once():
    """Let nutpie compile each model once for all tests of this file: it takes seconds."""
    known, genuine = {}, nutpie.compile_pymc_model

    def compiled(model, **options):
        names = tuple(v.name for v in model.free_RVs)  # that tell the models of this file apart
        if names not in known:
            known[names] = genuine(model, **options)
        return known[names]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nutpie, "compile_pymc_model", compiled)
        yield


@pytest.mark.parametrize(("sampler", "library"), [("nuts", "nutpie"), ("metropolis", "pymc")])
def test_shape_dims_and_names_of_the_draws(model, sampler, library, monkeypatch):
    """And NUTS has one thread of BLAS, as two that share a product of K and a vector are slower."""
    found, genuine, before = {1}, nutpie.sample, threading.active_count()

    def watched(*args, **kwargs):
        pools = threadpool_info()
        found.update(p["num_threads"] for p in pools if p["user_api"] == "blas")
        return genuine(*args, **kwargs)

    monkeypatch.setattr(nutpie, "sample", watched)
    with threadpool_limits(2, user_api="blas"):
        tree = sample(*model, sampler, seed=1, **QUICK)
    assert found == {1} and threading.active_count() <= before
    posterior = tree["posterior"]
    assert posterior["w"].dims == ("chain", "draw", "point")
    assert dict(posterior.sizes) == {"chain": 2, "draw": 30, "point": 8}
    np.testing.assert_array_equal(posterior["point"], np.arange(8))
    assert posterior.attrs["sampler"] == sampler
    assert posterior.attrs["library"] == library
    assert posterior.attrs["seconds"] > 0
    assert set(tree["sample_stats"].data_vars) <= {"diverging", "energy", "n_steps", "step_size"}
    if sampler == "nuts":
        assert tree["sample_stats"]["diverging"].shape == (2, 30)


@pytest.mark.parametrize("sampler", ["hmc", "nuts", "metropolis"])
def test_seeds_reproduce(model, sampler):
    draws = [
        sample(*model, sampler, seed=seed, **QUICK)["posterior"]["w"].values for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.allclose(draws[0], draws[2])
    assert not np.allclose(draws[0][0], draws[0][1])  # chains of one run differ


class PanicException(BaseException):
    """Its name is all that is known of Rust's."""


@pytest.mark.parametrize(
    ("raised", "error", "message"),
    [
        (KeyboardInterrupt(), KeyboardInterrupt, None),
        (PanicException("called `Option::unwrap()`"), RuntimeError, "failed .*; use another prior"),
    ],
    ids=["interrupt", "panic"],
)
def test_what_ends_a_run_of_nutpie_early(monkeypatch, model, raised, error, message):
    cancelled = []

    def wait(timeout):
        raise raised

    run = SimpleNamespace(wait=wait, cancel=lambda: cancelled.append(True))
    monkeypatch.setattr(nutpie, "sample", lambda *args, **kwargs: run)
    with pytest.raises(error, match=message):
        sample(*model, "nuts", seed=1, **QUICK)
    assert cancelled


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interruption_from_the_keyboard(model, request):
    """A genuine interrupt of the main thread, in the middle of a long run."""
    # a shell starts what runs in its background with interrupts ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    sample(*model, "nuts", seed=1, **QUICK)  # an interrupt while it compiles could be lost there
    ended = threading.Event()

    def interrupt():  # again, as one that comes in a callback of the interpreter is lost
        while not ended.wait(3.0):
            _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        try:
            sample(*model, "nuts", seed=1, draws=300_000, tune=1000, chains=2)
        finally:
            ended.set()
    thread.join()


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")  # few draws
def test_an_interrupt_leaves_the_estimator_as_it_was(monkeypatch, table):
    """Draws of a part of the run are never returned."""
    est, new = BSVDD(**QUICK).fit(*table), BSVDD(**QUICK)
    before, calls, genuine = est.idata_, [], hmc.Transition.step

    def failing(self, *args):
        calls.append(1)
        if len(calls) > 70:  # after the warm-up
            raise KeyboardInterrupt
        return genuine(self, *args)

    monkeypatch.setattr(hmc.Transition, "step", failing)
    for each in (est, new):
        with pytest.raises(KeyboardInterrupt):
            each.fit(*table)
    assert est.idata_ is before and not hasattr(new, "cutoff_")


def test_a_run_that_pymc_ended_early_is_an_interruption(model, monkeypatch):
    """PyMC returns what it has at a keyboard interrupt; a part of a posterior is none."""
    whole = pm.sample

    def ended_early(**settings):
        return whole(**{**settings, "draws": 7})

    monkeypatch.setattr(pm, "sample", ended_early)
    with pytest.raises(KeyboardInterrupt):
        sampling.sample(*model, "metropolis", draws=20, tune=5, chains=1, seed=1)


def test_nothing_is_compiled_for_the_parallel_chains():
    """In a process of its own: neither numba nor a C compiler."""
    code = """
import sys, warnings
import numpy as np, pymc as pm, pytensor
from bsvdd import BSVDD, BSVDDM, priors
warnings.simplefilter("ignore")
pytensor.config.cxx = ""
X = np.random.default_rng(0).normal(size=(30, 2))
BSVDDM(draws=50, tune=50).fit(X, X[:, 0] > 1)
BSVDD(draws=50, tune=50, prior=lambda g, n, dims: pm.StudentT(n, 4, dims=dims)).fit(X)
assert "nutpie" not in sys.modules
assert not any(name.startswith("pytensor.link.numba.dispatch") for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# several modes: chains start in different ones, so that R-hat sees what a chain would miss

ROWS = np.random.default_rng(85).normal(size=(12, 2))
GRAM = Gram.from_rows(kernels.RBF(1.0), ROWS)
HALVES = np.repeat([1.0, -1.0], 6)


def two_halves(gram, name, dims):
    """One number, about 0 or about 7, says whether the weights are even, or on the first half.

    PyMC starts at the mean, 2.1; .3 of the prior is about 7.
    """
    which = pm.NormalMixture(f"{name}_which", [0.7, 0.3], mu=[0.0, 7.0], sigma=0.3)
    return pm.Deterministic(name, which * pm.math.constant(HALVES), dims=dims)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_fits_to_two_modes_warn():
    """Two chains of NUTS start in different modes; what a prior makes besides is in the draws."""
    settings = dict(draws=100, tune=100, chains=2, random_state=3)
    est = BSVDD(prior=two_halves, kernel=kernels.RBF(1.0), sampler="nuts", **settings)
    with pytest.warns(DiagnosticWarning, match="the chains disagree, as .* has several modes"):
        est.fit(ROWS)
    posterior = est.idata_["posterior"]
    assert posterior.attrs["sampler"] == "nuts"
    which = posterior["beta_which"].values
    np.testing.assert_allclose(np.sort(which.mean(axis=1)), [0.0, 7.0], atol=0.5)
    assert Verdict.of(posterior["w"].values).r_hat > 1.5
    beta = which[..., None] * HALVES
    np.testing.assert_allclose(posterior["beta"], beta)
    np.testing.assert_allclose(posterior["w"], softmax(beta, axis=-1), rtol=1e-10)


def near_modes(gram, name, dims):
    which = pm.NormalMixture(f"{name}_which", [0.5, 0.5], mu=[-1.3, 1.3], sigma=1.0)
    return pm.Deterministic(name, which * np.repeat([0.01, -0.01], 6), dims=dims)


def test_modes_between_which_chains_move(worst_z):
    """The draws have the mean and the variance of the mixture, whose data say nothing of it."""
    settings = dict(draws=500, tune=300, chains=4, seed=1)
    tree = sample(bsvdd.Model(near_modes, 0.1), GRAM, "auto", **settings)
    posterior = tree["posterior"]
    assert posterior.attrs["sampler"] == "hmc"
    which = posterior["beta_which"].values[..., None]
    assert worst_z(which, [0.0]) < 4.5
    assert worst_z(which**2, [1.0 + 1.3**2]) < 4.5


def test_chains_of_metropolis_start_apart(monkeypatch):
    class Started(Exception):
        pass

    def stopped(**settings):
        raise Started(settings["initvals"])

    monkeypatch.setattr(pm, "sample", stopped)
    with pytest.raises(Started) as caught:
        sample(bsvdd.Model(two_halves, 0.1), GRAM, "metropolis", seed=3, **QUICK)
    first, second = (each["beta_which"] for each in caught.value.args[0])
    assert abs(second - first) > 0.01
