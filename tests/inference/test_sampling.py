"""Sampling: prior functions, seeds, the library that samples, and interruption."""

import _thread
import signal
import threading
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference import compiled, log_density, sampling
from bsvdd.inference.log_density import LogDensity
from bsvdd.inference.sampling import sample
from bsvdd.models import bsvdd
from threadpoolctl import threadpool_info, threadpool_limits

from bsvdd import BSVDD, priors

QUICK = dict(draws=30, tune=30, chains=2)


@pytest.fixture
def model(toy_gram):
    return bsvdd.build(toy_gram, priors.StandardizedRowSum())


@pytest.mark.parametrize(
    "prior",
    [
        lambda gram, name, dims: pm.StudentT(name, 3.0, dims=dims),
        SimpleNamespace(create_variable=lambda name: pm.Laplace(name, 0, 1, dims="point")),
        lambda gram, name, dims: pm.Deterministic(
            name, pm.HalfNormal(f"{name}_sd") * pm.Normal(f"{name}_raw", dims=dims), dims=dims
        ),
    ],
    ids=["function", "create_variable", "hierarchical"],
)
def test_any_prior_can_be_sampled(toy_gram, prior):
    tree = sample(bsvdd.build(toy_gram, prior), "nuts", seed=1, **QUICK)
    beta, w = tree["posterior"]["beta"].values, tree["posterior"]["w"].values
    e = np.exp(beta - beta.max(axis=-1, keepdims=True))
    np.testing.assert_allclose(w, e / e.sum(axis=-1, keepdims=True), rtol=1e-10)


@pytest.mark.parametrize(("sampler", "library"), [("nuts", "nutpie"), ("metropolis", "pymc")])
def test_shape_dims_and_names_of_the_draws(model, sampler, library):
    tree = sample(model, sampler, seed=1, **QUICK)
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
        sample(model, sampler, seed=seed, **QUICK)["posterior"]["w"].values for seed in (3, 3, 4)
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.allclose(draws[0], draws[2])
    assert not np.allclose(draws[0][0], draws[0][1])  # chains of one run differ


def test_unknown_sampler(model):
    with pytest.raises(ValueError, match="sampler must be one of .*, got 'gibbs'"):
        sample(model, "gibbs", **QUICK)


def test_interruption_while_waiting_stops_the_run(monkeypatch, model):
    import nutpie

    class Run:
        cancelled = False

        def wait(self):
            raise KeyboardInterrupt

        def cancel(self):
            self.cancelled = True

    run = Run()
    monkeypatch.setattr(nutpie, "sample", lambda *args, **kwargs: run)
    with pytest.raises(KeyboardInterrupt):
        sample(model, "nuts", seed=1, **QUICK)
    assert run.cancelled


def test_interruption_from_the_keyboard(model, request):
    """A genuine interrupt of the main thread, in the middle of a long run."""
    # a shell starts what runs in its background with interrupts ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    sample(model, "nuts", seed=1, **QUICK)  # an interrupt while it compiles could be lost there
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sample(model, "nuts", seed=1, draws=300_000, tune=1000, chains=2)
    timer.join()


def test_failure_in_the_density_is_not_swallowed(monkeypatch, model):
    """Draws of a part of the run are never returned."""
    calls = iter(range(10**9))
    genuine = log_density.LogDensity._logp_and_gradient

    def failing(self, *args):
        if next(calls) > 200:
            raise KeyboardInterrupt
        return genuine(self, *args)

    monkeypatch.setattr(log_density.LogDensity, "_logp_and_gradient", failing)
    with pytest.raises(BaseException) as caught:
        sample(model, "nuts", seed=1, **QUICK)
    assert not isinstance(caught.value, pytest.fail.Exception)


def test_interruption_leaves_an_estimator_unfitted(monkeypatch, table):
    import nutpie

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(nutpie, "sample", interrupted)
    est = BSVDD(sampler="nuts", **QUICK)
    with pytest.raises(KeyboardInterrupt):
        est.fit(*table)
    assert not hasattr(est, "cutoff_")


def test_no_thread_of_a_run_is_left(model):
    before = threading.active_count()
    sample(model, "nuts", seed=1, **QUICK)
    assert threading.active_count() <= before


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_priors_of_one_family_compile_once(table):
    est = BSVDD(prior=priors.StandardizedRowSum(), **QUICK).fit(*table)
    before = compiled.compilations()
    for prior in (priors.RowSum(exponent=0.4), priors.Flat(0.5)):
        est = est.with_prior(prior)
    assert compiled.compilations() == before


def test_a_run_that_pymc_ended_early_is_an_interruption(model, monkeypatch):
    """PyMC returns what it has at a keyboard interrupt; a part of a posterior is none."""
    whole = pm.sample

    def ended_early(**settings):
        return whole(**{**settings, "draws": 7})

    monkeypatch.setattr(pm, "sample", ended_early)
    with pytest.raises(KeyboardInterrupt):
        sampling.sample(model, "metropolis", draws=20, tune=5, chains=1, seed=1)


@pytest.mark.parametrize("sampler", ["hmc", "nuts", "auto"])
def test_no_tuning_is_refused(sampler):
    with pytest.raises(ValueError, match=f"tune must be at least 1 for sampler='{sampler}'"):
        sampling.sample(None, sampler, draws=10, tune=0, chains=1)


def test_nuts_has_one_thread_of_blas(model, monkeypatch):
    """Two threads that share a product of K and a vector are slower than one."""
    machine_code, found = LogDensity.machine_code, set()

    def watched(density):
        function = machine_code(density)

        def call(x):
            if not found:
                pools = threadpool_info()
                found.update(p["num_threads"] for p in pools if p["user_api"] == "blas")
            return function(x)

        return call

    monkeypatch.setattr(LogDensity, "machine_code", watched)
    with threadpool_limits(2, user_api="blas"):
        sample(model, "nuts", draws=10, tune=10, chains=1, seed=1)
    assert found == {1}
