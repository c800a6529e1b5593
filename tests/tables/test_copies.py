"""Copies: found where there are some, and not where rows are equal by chance."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bsvdd
from bsvdd import BSVDD
from bsvdd.base.warning import DataWarning
from bsvdd.estimators.facts import facts


def on_ring(rng):
    t = rng.uniform(0, 7, 100)
    return np.c_[np.cos(t), np.sin(t)] + 0.02 * rng.normal(size=(100, 2))


def on_curve(rng):
    t = rng.normal(size=200)
    return np.c_[t, t**2, np.sin(2 * t)] + 0.1 * rng.normal(size=(200, 3))


def in_clusters(rng):
    center = rng.normal(size=(10, 3))
    return center[rng.integers(0, 10, 150)] + 0.05 * rng.normal(size=(150, 3))


def mixed(rng):
    return np.c_[rng.normal(size=(100, 2)), rng.integers(0, 4, size=(100, 3))]


def half_zeros(rng):
    return np.exp(rng.normal(size=(100, 2))) * (rng.random((100, 2)) < 0.5)


INDEPENDENT = {
    "numbers": lambda rng: rng.normal(size=(100, 5)),
    "one column": lambda rng: rng.normal(size=(100, 1)),
    "few": lambda rng: rng.normal(size=(15, 5)),
    "heavy tails": lambda rng: rng.standard_cauchy((100, 4)),
    "counts": lambda rng: rng.poisson(2, size=(100, 4)),
    "large counts": lambda rng: rng.poisson(20, size=(200, 1)),
    "flags": lambda rng: rng.integers(0, 2, size=(100, 4)),
    "rounded": lambda rng: np.round(rng.normal(size=(300, 2)), 2),
    "rounded line": lambda rng: np.round(rng.normal(size=(300, 1)) * [1, 2, 3], 2),
    "line": lambda rng: rng.normal(size=(100, 1)) * np.ones(4),
    "ring": on_ring,
    "curve": on_curve,
    "clusters": in_clusters,
    "mixed": mixed,
    "zeros": half_zeros,
}


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_rows_have_no_copies(kind):
    tables = (INDEPENDENT[kind](np.random.default_rng(i)) for i in range(40))
    found = [len(np.unique(bsvdd.copies(X))) < len(X) for X in tables]
    assert sum(found) <= 1


def with_gaps(rng, n):
    X = np.where(rng.random((n, 5)) < 0.1, np.nan, rng.normal(size=(n, 5)))
    return pd.DataFrame(X).assign(kind=rng.choice(["a", "b", "c"], n))


def noisy(X, sd, rng):
    return np.vstack([X, X + sd * rng.normal(size=X.shape)])


COPIED = {
    "twice": lambda X, rng: np.tile(X, (2, 1)),
    "five times": lambda X, rng: np.tile(X, (5, 1)),
    "some": lambda X, rng: np.vstack([X, X[: len(X) * 3 // 10]]),
    "sd .1": lambda X, rng: noisy(X, 0.1, rng),
    "sd .01": lambda X, rng: noisy(X, 0.01, rng),
    "sd .001": lambda X, rng: noisy(X, 0.001, rng),
    "rounded": lambda X, rng: np.tile(X.round(1), (2, 1)),
    "mixed": lambda X, rng: pd.concat([with_gaps(rng, len(X))] * 2),
}


@pytest.mark.parametrize("n", [50, 100])
@pytest.mark.parametrize("kind", COPIED)
def test_copies_leave_together(kind, n):
    for i in range(4):
        rng = np.random.default_rng(i)
        X = COPIED[kind](rng.normal(size=(n, 5)), rng)
        label = bsvdd.copies(X)
        together = label[n:] == label[np.arange(n, len(X)) % n]
        assert together.mean() > (0.6 if kind == "sd .1" else 0.95)
        assert len(np.unique(label)) > 0.7 * n


@pytest.mark.parametrize("sd", [0.0, 0.01])
def test_a_fit_says_what_copies_do_and_groups_hold_the_rate(sd):
    rng = np.random.default_rng(0)
    X = noisy(rng.normal(size=(100, 5)), sd, rng)
    with pytest.warns(DataWarning, match="^100% of the rows have copies") as caught:
        est = BSVDD().fit(X)
    text = str(caught[0].message)
    assert facts(est).warnings[0] == text
    new = rng.normal(size=(1000, 5))
    said = float(text.split("about ")[1].split()[0])
    assert abs(said - (est.predict(new) == -1).mean()) < 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        told = BSVDD().fit(X, groups=bsvdd.copies(X))
    assert 0.05 < (told.predict(new) == -1).mean() < 0.14
    alone = BSVDD().fit(X[:100]).kernel_.inner.bandwidth
    assert told.kernel_.inner.bandwidth == pytest.approx(alone, rel=0.1)
