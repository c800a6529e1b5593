"""Simulation-based calibration: the truth ranks uniformly among draws of each posterior."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration import CASES, WRONG, p_value, ranks

SIZE = 1e-4  # of the tests, all quantities together; seeds are fixed
# the chains take .1 to .5 s for each replicate, exact draws milliseconds
REPLICATES = {"BDD": 200, "BDD-M": 40, "BSVDD": 120, "BSVDD-M": 80}
REPLICATES |= {f"{name} by hmc": REPLICATES[name] for name in ("BSVDD", "BSVDD-M")}
CHAINS = [name for name in CASES if name != "BDD"]
LONG = [pytest.mark.slow, pytest.mark.long]
ALL = [pytest.param(name, marks=LONG if name in CHAINS else []) for name in CASES]


@pytest.mark.parametrize("name", ALL)
def test_ranks_are_uniform(name):
    assert p_value(ranks(name, REPLICATES[name], seed=3)) > SIZE


WRONG_CASES = [
    pytest.param(name, wrong, marks=LONG if name in CHAINS else [])
    for name in ("BDD", "BDD-M")
    for wrong in WRONG
    if CASES[name].minority or "minority" not in wrong
]


@pytest.mark.parametrize(("name", "wrong"), WRONG_CASES)
def test_a_wrong_likelihood_is_seen(name, wrong):
    """The same check on as many replicates, of a posterior whose likelihood is not the data's."""
    assert p_value(ranks(name, REPLICATES[name], 4, WRONG[wrong])) < SIZE


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("name", CHAINS)
def test_chains_of_a_wrong_likelihood_are_seen(name):
    assert p_value(ranks(name, 15, 5, WRONG["n0 dropped"])) < SIZE
    if CASES[name].minority:
        assert p_value(ranks(name, 40, 6, WRONG["minority added"])) < SIZE


def test_the_check_has_its_size_and_sees_each_kind_of_wrong_rank():
    """Uniform numbers pass as often as they should; shifted, narrow and wide ones do not."""
    rng = np.random.default_rng(7)
    p = [p_value(rng.uniform(size=(200, 5))) for _ in range(100)]
    assert np.mean(np.array(p) < 0.1) < 0.1 + 3 * np.sqrt(0.1 * 0.9 / 100)
    right = rng.uniform(size=(300, 5))
    for a, b in [(1.7, 1.0), (2.0, 2.0), (0.5, 0.5)]:
        u = right.copy()
        u[:, 2] = stats.beta(a, b).rvs(size=300, random_state=rng)
        assert p_value(u) < SIZE
