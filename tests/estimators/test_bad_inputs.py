"""Random bad inputs into public functions: always a ValueError or a TypeError that says of what."""

import re
import time

import numpy as np
import pandas as pd
import pytest

import bsvdd
from bsvdd import Cutoff, Landmarks, kernels, priors

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),
]

rng0 = np.random.default_rng(90)
X = rng0.normal(size=(20, 3))
Y = np.repeat([0, 1], [15, 5])


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self):
        return "Odd()"


def bad_rows(rng):
    """Return something that is no table of 20 finite rows of 3 numbers, and what must name it."""
    hole = X.copy()
    hole[rng.integers(20), rng.integers(3)] = rng.choice([np.nan, np.inf, -np.inf])
    empty = np.empty((int(rng.integers(0, 1)), 3))
    choices = [
        hole,
        hole.tolist(),
        pd.DataFrame(hole),
        hole.astype(np.float32),
        empty,
        X[:, :0],
        X[:, 0],
        X[None],
        X.astype(complex),
        X.astype("M8[s]"),
        np.full((20, 3), "x"),
        np.full((20, 3), Odd(), dtype=object),
        [[1.0, 2.0], [3.0]],
        [],
        None,
        3,
        "no-such-file",
        "no-such-file.csv",
        "no-such-file.npy",
        {"a": 1},
        Odd(),
        object,
        np.ma.masked_invalid(hole),
    ]
    return choices[rng.integers(len(choices))]


def bad_labels(rng):
    hole = Y.astype(float)
    hole[rng.integers(20)] = np.nan
    choices = [
        hole,
        Y[: rng.integers(1, 20)],
        np.zeros(20),
        np.ones(20, dtype=int),
        Y + 2,
        Y[:, None],
        np.where(Y, "a", "b"),
        [None] * 20,
        np.arange(20),
        3,
        [],
        Odd(),
        "label",
    ]
    return choices[rng.integers(len(choices))]


def bad_value(rng):
    """Return a value that no parameter takes, or a number that is not finite or negative."""
    choices = [np.nan, -np.inf, -1.0, -7, "odd", b"odd", [1.0, "x"], {"a": 1}, Odd(), object, 1j]
    return choices[rng.integers(len(choices))]


KERNELS = {
    "bandwidth": [kernels.RBF, kernels.Laplacian],
    "degree": [kernels.Polynomial],
    "gamma": [kernels.Polynomial, kernels.RBF.from_gamma],
    "coef0": [kernels.Polynomial],
    "diagonal": [kernels.Precomputed],
    "sd": [priors.Flat, priors.RowSum, priors.StandardizedRowSum],
    "a": [priors.Beta],
    "b": [priors.Beta],
    "total": [priors.Beta],
    "criterion": [Cutoff],
    "cv": [Cutoff],
    "level": [Cutoff],
    "false_alarm_rate": [Cutoff],
    "miss_cost": [Cutoff],
    "n": [Landmarks],
}
PARAMETERS = {
    bsvdd.SVDD: ["C", "outlier_fraction", "random_state", "kernel", "cutoff"],
    bsvdd.SVDDM: ["C2", "minority_fraction", "kernel"],
    bsvdd.OCSVM: ["nu", "random_state", "kernel", "cutoff"],
    bsvdd.SVM: ["C", "balanced", "kernel"],
    bsvdd.DSVM: ["C", "neighbors", "count_self", "kernel"],
    bsvdd.LSSVM: ["C", "epsilon", "kernel"],
    bsvdd.IDLSSVM: ["C", "neighbors", "zero_weight", "kernel"],
    bsvdd.BDD: ["draws", "chains", "tune", "sampler", "likelihood_scale", "simplex", "kernel"],
    bsvdd.BDDM: ["draws", "chains", "tune", "sampler", "minority_prior", "kernel"],
    bsvdd.BSVDD: ["draws", "chains", "tune", "sampler", "prior", "dictionary", "progressbar"],
    bsvdd.BSVDDM: ["draws", "chains", "sampler", "prior", "minority_prior", "likelihood_scale"],
}
METHODS = [
    *("predict", "score_samples", "decision_function", "probability_normal", "decision"),
    "distance",
]


@pytest.fixture(scope="module")
def fitted_ones():
    return [
        bsvdd.SVDD(kernel=kernels.RBF(1.0)).fit(X, Y),
        bsvdd.OCSVM(kernel=kernels.RBF(1.0)).fit(X, Y),
        bsvdd.BDD(kernel=kernels.RBF(1.0), draws=30).fit(X, Y),
    ]


def one_call(rng, fitted_ones):
    """Return a bad call, and the words of which its error must have one."""
    kind = rng.integers(6)
    classes = list(PARAMETERS)
    if kind == 0:
        cls, rows = classes[rng.integers(len(classes))], bad_rows(rng)
        return f"{cls.__name__}.fit(X)", lambda: cls().fit(rows, Y), r"\bX\b"
    if kind == 1:
        cls, y = classes[rng.integers(len(classes))], bad_labels(rng)
        return f"{cls.__name__}.fit(X, y)", lambda: cls().fit(X, y), r"\by\b"
    if kind == 2:
        cls = classes[rng.integers(len(classes))]
        names = PARAMETERS[cls]
        name, value = names[rng.integers(len(names))], bad_value(rng)
        value = "odd" if name == "cutoff" and value in (-1.0, -7) else value  # for a hyperplane
        call = f"{cls.__name__}({name}={value!r})"
        return (
            call,
            lambda: cls(**{name: value}).fit(X, Y),
            name.rstrip("2").removeprefix("minority_"),
        )
    if kind == 3:
        names = list(KERNELS)
        name, value = names[rng.integers(len(names))], bad_value(rng)
        value = "odd" if name == "criterion" and value in (-1.0, -7) else value
        make = KERNELS[name][rng.integers(len(KERNELS[name]))]
        return (
            f"{make}({name}={value!r})",
            lambda: make(**{name: value}),
            f"{name}|cutoff: a number",
        )
    est = fitted_ones[rng.integers(len(fitted_ones))]
    if kind == 4:
        rows = bad_rows(rng)
        method = METHODS[rng.integers(len(METHODS))]
        method = method if hasattr(est, method) else "predict"
        call = f"{type(est).__name__}.{method}"
        return call, lambda: getattr(est, method)(rows), r"\bX\b"
    value = bad_value(rng)
    value = "odd" if value in (-1.0, -7) else value  # which a hyperplane takes
    return f"with_cutoff({value!r})", lambda: est.with_cutoff(value), "cutoff"


def bad_calls(count, seed, fitted_ones):
    rng, slowest, wrong = np.random.default_rng(seed), 0.0, []
    for _ in range(count):
        call, function, words = one_call(rng, fitted_ones)
        start = time.perf_counter()
        try:
            function()
        except (ValueError, TypeError, FileNotFoundError) as error:
            if not re.search(words, str(error)):
                wrong.append(f"{call}: {type(error).__name__} names nothing: {str(error)[:200]}")
        except Exception as error:
            wrong.append(f"{call}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{call}: no error")
        slowest = max(slowest, time.perf_counter() - start)
    assert not wrong, "\n".join(sorted(set(wrong)))
    assert slowest < 20


def test_two_thousand_bad_inputs(fitted_ones):
    bad_calls(2000, 92, fitted_ones)
