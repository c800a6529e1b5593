"""Bad inputs into public functions: always a ValueError or a TypeError that says of what."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bsvdd
from bsvdd import Cutoff, cutoffs, kernels, priors

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),
]

rng = np.random.default_rng(90)
X = rng.normal(size=(20, 3))
Y = np.repeat([0, 1], [15, 5])
HOLES = [np.where(np.arange(60).reshape(20, 3) == 31, v, X) for v in (np.inf, -np.inf)]


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self):
        return "Odd()"


ROWS = [  # no table of 20 finite rows of 3 numbers
    *HOLES,
    HOLES[0].tolist(),
    pd.DataFrame(HOLES[0]),
    HOLES[0].astype(np.float32),
    np.ma.masked_invalid(HOLES[1]),
    np.empty((0, 3)),
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
]
LABELS = [
    np.where(np.arange(20) == 7, np.nan, Y),
    Y[:7],
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
# what no parameter takes: also numbers that are negative or not finite
VALUES = [np.nan, -np.inf, -1.0, -7, "odd", b"odd", [1.0, "x"], {"a": 1}, Odd(), object, 1j]
OF_CUTOFFS = [value for value in VALUES if value not in (-1.0, -7)]  # which a hyperplane takes

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
    "choose": [Cutoff],
    "metric": [cutoffs.Best],
    "rate": [cutoffs.FalseAlarm],
    "miss": [cutoffs.Cost],
    "c": [cutoffs.Rank],
    "cv": [Cutoff],
    "level": [Cutoff],
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


FITTED = {
    bsvdd.SVDD: {},
    bsvdd.OCSVM: {},
    bsvdd.BDD: {"draws": 30},
}


def calls():
    """Yield bad calls: what is called, and the words of which the error must have one."""
    for cls, names in PARAMETERS.items():
        for rows in ROWS:
            yield f"{cls.__name__}.fit({rows!r:.40})", partial(cls().fit, rows, Y), r"\bX\b"
        for y in LABELS:
            yield f"{cls.__name__}.fit(X, {y!r:.40})", partial(cls().fit, X, y), r"\by\b"
        for name in names:
            words = name.rstrip("2").removeprefix("minority_")
            for value in OF_CUTOFFS if name == "cutoff" else VALUES:
                call = f"{cls.__name__}({name}={value!r})"
                yield call, lambda c=cls, n=name, v=value: c(**{n: v}).fit(X, Y), words
    for name, makes in KERNELS.items():
        for value in OF_CUTOFFS if name == "choose" else VALUES:
            for make in makes:
                call, words = f"{make}({name}={value!r})", f"{name}|cutoff must be|cutoff: a number"
                yield call, partial(make, **{name: value}), words
    for cls, settings in FITTED.items():
        est = cls(kernel=kernels.RBF(1.0), **settings).fit(X, Y)
        for method in filter(partial(hasattr, est), METHODS):
            for rows in ROWS:
                if method == "decision" and rows is None:
                    continue  # of the training rows
                call = f"{cls.__name__}.{method}({rows!r:.40})"
                yield call, partial(getattr(est, method), rows), r"\bX\b"
        for value in OF_CUTOFFS:
            yield f"with_cutoff({value!r})", partial(est.with_cutoff, value), "cutoff"


def test_every_bad_input_is_an_error_that_says_of_what():
    wrong, count = [], 0
    for call, function, words in calls():
        count += 1
        try:
            function()
        except (ValueError, TypeError, FileNotFoundError) as error:
            if not re.search(words, str(error)):
                wrong.append(f"{call}: {type(error).__name__} names nothing: {str(error)[:200]}")
        except Exception as error:
            wrong.append(f"{call}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{call}: no error")
    assert not wrong, "\n".join(wrong)
    assert count > 1500
