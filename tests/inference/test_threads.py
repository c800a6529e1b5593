"""BLAS has one thread while few weights are drawn, and as many as before afterwards."""

import numpy as np
import pytest
from bsvdd.inference import sampling, threads
from bsvdd.inference.draws import SamplerSettings
from bsvdd.models import Gram, bsvdd
from threadpoolctl import threadpool_info, threadpool_limits

from bsvdd import kernels, priors


def blas_threads():
    """Return the most threads; a library may be built for one only."""
    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("this BLAS does not take a number of threads")
        yield


@pytest.mark.parametrize(("size", "within"), [(threads.SMALL, 1), (threads.SMALL + 1, 2)])
def test_few_parameters_are_for_one_thread(two_threads, size, within):
    with threads.one_if_small(size):
        assert blas_threads() == within
    assert blas_threads() == 2


def test_the_last_of_several_computations_ends_the_limit(two_threads):
    first, second = threads.one_if_small(10), threads.one_if_small(10)
    assert [first.__enter__(), second.__enter__()] == [2, 2]
    first.__exit__(None, None, None)
    assert blas_threads() == 1
    second.__exit__(None, None, None)
    assert blas_threads() == 2


def test_an_error_ends_the_limit(two_threads):
    with pytest.raises(KeyboardInterrupt), threads.one_if_small(10):
        raise KeyboardInterrupt
    assert blas_threads() == 2


def test_a_posterior_of_few_weights_is_drawn_by_one_thread(two_threads):
    gram = Gram.from_rows(kernels.RBF(1.0), np.random.default_rng(0).normal(size=(20, 2)))
    seen = []

    def monitor(named):
        seen.append(blas_threads())
        return named["w"]

    settings = SamplerSettings("laplace", draws=500, chains=2, seed=0)
    sampling.draw(bsvdd.build(gram, priors.Flat()), settings, monitor)
    assert seen == [1] * len(seen) and seen
    assert blas_threads() == 2
