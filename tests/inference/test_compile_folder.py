"""A Bayesian fit in an environment without a home directory that can be written to."""

import os
import subprocess
import sys

import pytest

CODE = """
import sys
import numpy as np
from bsvdd import BSVDD
X = np.random.default_rng(0).normal(size=(20, 2))
print(BSVDD(draws=20, tune=20, chains=1, cutoff=1.0).fit(X).predict(X).shape)
from pytensor import config
print(config.compiledir)
from pytensor.link.numba.cache import NUMBA_CACHE_PATH  # made at the import
print(NUMBA_CACHE_PATH)
"""


def fit(**environment):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::UserWarning", "-c", CODE],
        env={**os.environ, "PYTENSOR_FLAGS": "", **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    shape, folder, of_numba = done.stdout.splitlines()
    assert shape == "(20,)"
    return folder, of_numba, done.stderr


@pytest.mark.slow
def test_a_home_that_cannot_be_written_to_costs_a_line(tmp_path):
    (tmp_path / "home").write_text("no folder", encoding="utf-8")
    folder, of_numba, said = fit(HOME=str(tmp_path / "home"), TMPDIR=str(tmp_path))
    assert of_numba == os.path.join(folder, "numba")
    assert said.count("PyTensor cannot write its compiled code (Unable to create") == 1
    assert "set PYTENSOR_FLAGS=base_compiledir=FOLDER" in said
    assert folder.startswith(str(tmp_path / "bsvdd-pytensor-"))
    assert not os.path.exists(folder)


@pytest.mark.slow
def test_a_home_is_used_where_it_can_be(tmp_path):
    folder, of_numba, said = fit(HOME=str(tmp_path))
    assert of_numba == str(tmp_path / ".pytensor" / "numba")
    assert folder.startswith(str(tmp_path / ".pytensor"))
    assert "compiled code" not in said


DRAWS = """
import hashlib
import numpy as np
from bsvdd import BSVDD
X = np.random.default_rng(0).normal(size=(40, 2))
est = BSVDD(sampler="nuts", draws=100, tune=100, random_state=1).fit(X)
print(hashlib.sha256(est.idata_["posterior"]["w"].values.tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_a_seed_makes_the_same_draws_by_code_that_an_earlier_process_compiled(tmp_path):
    """To the last digit: NUTS amplifies any difference."""
    first, second = (
        subprocess.run(
            [sys.executable, "-W", "ignore::UserWarning", "-c", DRAWS],
            env={**os.environ, "PYTENSOR_FLAGS": f"base_compiledir={tmp_path}"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert len(first) == 65
    assert first == second
