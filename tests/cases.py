"""Rows, weights and groups that tests share, estimators by name, and calls."""

import os
import subprocess
import warnings

import numpy as np

import bsvdd

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Z = rng.normal(size=(40, 3)) * 2.0
Y = np.repeat([1, 0], [8, 52])
T = rng.exponential(size=60)
GROUPS = np.arange(60) % 11
OF_ONE_CLASS, OF_BOTH = ("BSVDD", "BDD", "SVDD"), ("BSVDDM", "BDDM", "SVDDM")
ALL = (*OF_ONE_CLASS, *OF_BOTH)


def fitted(name, rows=X, labels=None, weight=None, groups=None, **given):
    """Return a quick estimator of a name, fitted; models of both classes get labels."""
    if not name.startswith("SVDD"):
        given = {"draws": 25, "tune": 30, **given}
    y = (Y if labels is None else labels) if name in OF_BOTH else None
    est = getattr(bsvdd, name)(**given)
    return est.fit(rows, y, sample_weight=weight, groups=groups)


def run(*command, cwd=None, **environment):
    """Run a command, which must succeed, and return what it printed."""
    environment = os.environ | environment
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def warned(call, *arguments):
    """Return what a call returns, and the list of its warnings."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        found = call(*arguments)
    return found, [str(each.message) for each in caught]


def close(a, b, tol=1e-10):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)
