"""What is refused: each call, and words of its message.

A refusal is a ValueError or a TypeError, or says that a file is not there, before
anything is fitted.
"""

import re
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import preliz
import pymc as pm
import pytest
import xarray as xr
from bsvdd.models import svdd
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.rows import Rows
from scipy.sparse import csr_matrix
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture

import bsvdd
from bsvdd import (
    BDD,
    BDDM,
    BSVDD,
    BSVDDM,
    DSVM,
    IDLSSVM,
    LSSVM,
    OCSVM,
    SVDD,
    SVDDM,
    SVM,
    Table,
    Views,
    as_published,
    cutoffs,
    kernels,
    plots,
    priors,
    scorers,
)
from bsvdd.base.warning import DataWarning
from bsvdd.comparison import datasets, models, runner
from bsvdd.comparison.datasets import Shape
from bsvdd.comparison.models import Yardstick
from bsvdd.comparison.slides import Slides
from tests.models.helpers import cauchy

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::pandas.errors.Pandas4Warning"),
    pytest.mark.filterwarnings(
        "ignore:X does not have valid feature names:UserWarning"
    ),
]
ERRORS = (ValueError, TypeError, FileNotFoundError)

RNG = np.random.default_rng(90)
X, Y = RNG.normal(size=(20, 3)), np.repeat([0, 1], [15, 5])
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
TEXTS = FRAME.assign(city=["Bonn", "Rome"] * 10)
HUGE = 10**400
K = kernels.RBF(1.0)(X, X)
NAN, INF = np.nan, np.inf


def changed(value, at=(3, 1), kind=float):
    """Return the rows with another value in one cell."""
    rows = X.astype(kind)
    rows[at] = value
    return rows


@cache
def fitted(cls=SVDD, **parameters):
    """Return a fit to the frame."""
    return cls(**parameters).fit(FRAME, Y if cls in (SVM, SVDDM, BSVDDM) else None)


def bayesian():
    return fitted(BSVDD, draws=100, tune=100)


def fit(rows=X, y=None, cls=SVDD, **parameters):
    return lambda: cls(**parameters).fit(rows, y)


def ask(name, *arguments, **named):
    """Return a call of a method of a fit to the frame."""
    return lambda: getattr(fitted(), name)(*arguments, **named)


ROWS = [
    (fit(X[:, 0]), "Expected 2D array, got 1D array"),
    (fit(X[:2]), "needs 3 majority rows or more, got 2"),
    (fit(X[:1]), "minimum of 2 is required|expected at least 2|1 row"),
    (fit([[1.0], [1.0, 2.0]]), "X must be a table of numbers"),
    (
        fit([["1", "x"], ["2", "3"]]),
        r"X must be a table of numbers \(rows, columns\): could not",
    ),
    (fit([[{}], [{}]]), "X must be a table of numbers .* not 'dict'"),
    (fit(X + 1j), "Complex data not supported"),
    (fit(np.ma.array(X, mask=X > 1.5)), r"X has \d masked values"),
    (fit(csr_matrix(X)), "[Ss]parse"),
    (fit(changed(INF)), r"X\[3, 1\] is inf"),
    (fit(changed(NAN), kernel=kernels.RBF()), r"X\[3, 1\] is nan"),
    (fit([[HUGE, 1.0]] * 20), "a number that is too large for any float"),
    (fit(pd.DataFrame([[HUGE, 1.0]] * 20)), "is inf"),
    (
        fit(np.array([[i % 7, 2**53 + i] for i in range(30)])),
        "whole numbers of 2.53 or more",
    ),
    (
        fit(changed(np.datetime64("2020-01-01"), kind=object)),
        "X must be numbers, got datetime64",
    ),
    (fit(FRAME.set_axis(["a", "b", "a"], axis=1)), "the column 'a' twice"),
    (
        fit(FRAME.assign(d=[{"x": 1}] * 20)),
        r"column 'd' has objects|columns 'd' have objects",
    ),
    (fit(TEXTS, kernel=kernels.RBF()), "column 'city' is not numeric"),
    (fit(X * 1e-200, kernel=kernels.RBF()), "too large or small.*; scale the col"),
    (
        fit(X * 1e160, kernel=kernels.Linear()),
        r"Linear\(\) returned values that are not finite",
    ),
    (fit("rows.csv"), "rows.csv"),
    (fit(np.ones((50, 2)), kernel=kernels.RBF("wide")), "too many of them are equal"),
    (lambda: SVDD().predict(X), "not fitted"),
    (fit(changed(NAN, at=(slice(None), 1))), "has no value in any"),
    (ask("predict", np.full((1, 3), NAN)), r"X\[0\] has no value in any column"),
    (lambda: SVDD(kernel=kernels.Precomputed()).fit(K).table_, "precomputed kernel"),
    (ask("predict", X[:, :2]), "X has 2 features, but SVDD is expecting 3 features"),
    (ask("distance", X[:, 0]), "Expected 2D array"),
    (
        ask("score_samples", FRAME[["a", "c"]]),
        "X lacks column 'b', .*; it has 'a', 'c'",
    ),
    (
        ask("decision", FRAME.rename(columns={"a": "aa"})),
        r"lacks column 'a' \(did you mean 'aa'",
    ),
    (ask("predict", FRAME.assign(d=1.0)), "X has column .d., which the fit has not"),
    (
        ask("predict", FRAME.assign(b="?")),
        "'b': row 0 .* has '\\?', which is no number",
    ),
    (ask("probability_normal", "rows.csv"), r"'rows.csv' is text, expected rows"),
    (lambda: bsvdd.p_value(fitted(), X[:, :2]), "is expecting 3 features"),
]


def weighted(weight=None, groups=None):
    return lambda: SVDD().fit(FRAME, sample_weight=weight, groups=groups)


THIRD, TURNED = np.arange(20) == 3, pd.Series(np.linspace(1.0, 2.0, 20))[::-1]
UNITS = [
    (lambda: Table(cyclic=["hour"]), "cyclic must be columns with positive periods"),
    (weighted(Y[:5]), "sample_weight must be 20 numbers, one for each row"),
    (
        weighted(np.where(THIRD, NAN, 1.0)),
        "got nan for row 3; 0 is the weight of a row",
    ),
    (weighted(np.where(THIRD, -1.0, 1.0)), "at least 0, got -1.0 for row 3"),
    (weighted(np.full(20, INF)), "finite numbers of at least 0, got inf for row 0"),
    (weighted(np.zeros(20)), "all majority rows have the weight zero"),
    (weighted(np.eye(20)[0] + 1e-3), "got 20 with a weight, 1 in effect"),
    (weighted(None, Y[:5]), "groups must be 20 labels, one for each row"),
    (weighted(None, np.where(THIRD, NAN, 2.0)), "row 3 has no group; name its group"),
    (weighted(None, np.ones(20)), "of one group, so nothing stays when it leaves"),
    (weighted(TURNED), "has the rows of X in another order; give "),
    (weighted(None, TURNED > 1.5), "has the rows of X in another order; give "),
    (weighted(["x"] * 20), "sample_weight must be numbers, got 'x' for row 0"),
    (
        lambda: SVDDM().fit(X, Y, sample_weight=1.0 - Y),
        "minority rows, but there is none",
    ),
]

SHAPE, UNNAMED = r"y must have shape \(20,\), one label", "without minor_label="
LABELS = [
    *(
        (fit(y=[label] * 20), "y has one class only, the label")
        for label in (1, -1, True, "a")
    ),
    *((fit(y=np.resize(y, 20)), UNNAMED) for y in ([1, 2, 2], ["a", "b"], [-1, 0, 1])),
    *(
        (
            fit(y=np.resize(y, 20), minor_label=minor),
            f"minor_label={minor!r} does not occur in y",
        )
        for y, minor in ((["a", "b"], "c"), ([0, 1], "1"), (["0", "1"], 1))
    ),
    (
        fit(y=np.ones(20), minor_label=1),
        "every row is minority, and no majority row is left",
    ),
    (fit(y=Y[:, None]), SHAPE),
    (fit(y=Y[:7]), SHAPE),
    (fit(y=[0, "1"] * 10, minor_label="1"), r"y mixes texts and numbers: row \d is"),
    (
        fit(y=["ok", "bad", None, "ok"] * 5, minor_label="bad"),
        r"no label \(NaN\) in row 2 \(5 in",
    ),
    *(
        (fit(y=Y, minor_label=minor), r"must be one label, got (?s:.*) numpy\.isin")
        for minor in ({1}, [], [1], (0, 1), range(2), np.array([1]), pd.Series([1]))
    ),
    (fit(TEXTS, "cty"), r"y='cty' is no column of the data frame .*'city'\?"),
    (fit(FRAME[["a"]], "a"), "no column besides 'a'"),
    (fit(y="kind"), "y='kind': the name of a column is for the columns of"),
    *(
        (fit(cls=cls), r"learns from minority rows, but there is none \(n1 = 0\)")
        for cls in (SVDDM, BDDM, BSVDDM, SVM, LSSVM)
    ),
    (fit(cls=Views, estimator=SVDDM()), "learns from minority rows"),
]

PARAMETERS = [
    (fit(C=0.04), "C must be at least 1/n0 = 0.05 for 20 .* got 0.04: n0 C = 0.8"),
    (
        lambda: svdd.solve(
            Dictionary.of(kernels.RBF(1.0), Rows.of(X, Y == 1), True), 1.0
        ),
        "C2, the penalty .* is required .* n1 = 5",
    ),
    (fit(outlier_fraction=1.5), "'outlier_fraction' parameter of SVDD"),
    *(
        (
            fit(TEXTS, table=Table(cyclic={name: 2})),
            f"'{name}' is none of the columns of n",
        )
        for name in ("city", "d")
    ),
    *(
        (partial(Table, **how), words)
        for how, words in (
            ({"cyclic": {"hour": 0}}, "positive periods"),
            ({"cyclic": {"hour": "24"}}, "positive periods"),
            ({"missing": -999}, "missing must be a list, such as .-999., got -999"),
            ({"missing": "?"}, "missing must be a list"),
        )
    ),
    (fit(table={"hour": 24}), r"table must be a bsvdd\.Table, got \{'hour': 24\}"),
    (
        fit(table=Table(missing=[1.0]), kernel=kernels.RBF(), rows=np.ones((9, 2))),
        "is nan",
    ),
    (fit(C=HUGE), "C is a whole number that is too large"),
    (fit(y=Y, cls=SVDDM, C2=0.0), "C2"),
    (fit(cls=OCSVM, nu=1.2), r"'nu' parameter of OCSVM must be"),
    *((fit(y=Y, cls=cls, neighbors=0), "neighbors") for cls in (DSVM, IDLSSVM)),
    *(
        (fit(y=Y, cls=cls), "at least 6 rows of each class .*got 5")
        for cls in (DSVM, IDLSSVM)
    ),
    *(
        (fit(X[12:17], Y[12:17], cls, density="train"), "6 rows .*, in all.*, got 5")
        for cls in (DSVM, IDLSSVM)
    ),
    (fit(y=Y, cls=IDLSSVM, epsilon=-0.1), "epsilon"),
    (fit(y=Y, cls=IDLSSVM, zero_weight="keep"), "zero_weight"),
    (fit(kernel="rbf"), "kernel must be a kernel such as .*, got 'rbf'"),
    (fit(kernel=kernels.RBF), r"kernel is the class RBF; make one: RBF\(\)"),
    (
        fit(cls=BSVDD, random_state=HUGE),
        "random_state is a whole number that is too large",
    ),
    (fit(cls=BSVDD, draws=0), "'draws' parameter"),
    *(
        (fit(cls=BSVDD, **{name: 10**12}), f"The '{name}' par")
        for name in ("draws", "tune", "chains")
    ),
    (fit(cls=BSVDD, sampler="exact"), "'sampler' parameter of BSVDD"),
    (fit(cls=BSVDD, likelihood_scale="calibrate"), "'likelihood_scale' parameter"),
    *(
        (
            fit(y=Y, cls=cls, likelihood_scale="calibrated"),
            "'likelihood_scale' parameter",
        )
        for cls in (BDDM, BSVDDM)  # whose scale is the published 1
    ),
    (fit(cls=BDD, likelihood_scale=INF), r"likelihood_scale.*range \(0\.0, 1e\+20\]"),
    (fit(cls=BDD, dictionary="many"), "The 'dictionary' parameter of BDD must be"),
    (
        lambda: SVDD(kernel=kernels.RBF()).set_params(kernel__nope=1),
        "is no parameter of .*bandw",
    ),
    *(
        (lambda how=how: Views(**{"estimator": SVDD(), **how}).fit(X), words)
        for how, words in (
            ({"estimator": "BSVDD"}, "not seem to be a scikit-learn estimator"),
            ({"weights": {"standardized": 1.0}}, "for 'standardised', 'normal scores'"),
            ({"weights": {"columns": -1.0}}, "expected 0 or more"),
            ({"weights": {"standardised": 0, "normal scores": 0}}, "not all 0"),
            (
                {"estimator": SVDD(kernel=kernels.Precomputed())},
                "needs a kernel of col",
            ),
            ({"estimator": SVDD(C=-1.0)}, "'C' parameter"),
            ({"false_alarm_rate": 1.0}, "false_alarm_rate must lie between"),
        )
    ),
    (lambda: Views(SVDD(), {}), "positional"),
    (lambda: as_published("BSVD"), r"a model 'BSVD' \(did you mean 'BSVDD'\?\)"),
    (
        lambda: as_published("LSSVM"),
        "no publication sets the parameters of a model 'LSSVM'",
    ),
]

ONE_OF = "cutoff must be None or one of bsvdd.cutoffs, .* a distance is Printed"
CUTOFFS = [
    *(
        (fit(cutoff=wrong), ONE_OF)
        for wrong in ("g_mean", cutoffs.Best, True, [1.0], 0.9, NAN, HUGE)
    ),
    (ask("with_cutoff", "g_mean"), ONE_OF),
    *(
        (
            partial(cutoffs.Printed, wrong),
            "FalseAlarm, Best, Cost or a distance of at least 0, got",
        )
        for wrong in (NAN, -0.5, "radius", None)
    ),
    (
        partial(cutoffs.Printed, of="sphere"),
        "'left-out', 'training' or 'own', got 'sphere'",
    ),
    (
        fit(cls=BSVDD, cutoff=cutoffs.Printed(of="own")),
        r"is for SVDD and SVDDM, which have a rad",
    ),
    (
        fit(cutoff=cutoffs.Best("f1")),
        r"Best\(metric='f1', .* needs minority rows.*give labels y",
    ),
    (fit(cutoff=cutoffs.Printed(cutoffs.Cost(2.0))), "needs minority rows"),
    (fit(cls=BDD, cutoff=cutoffs.Cost()), "needs minority rows, and there are none"),
    *(
        (partial(cutoffs.FalseAlarm, r), "FalseAlarm: rate must lie between")
        for r in (0.0, 1.5, NAN, True)
    ),
    *(
        (partial(cutoffs.Cost, m), "Cost: miss must be a positive number, got")
        for m in (0.0, INF)
    ),
    (partial(cutoffs.Best, "youden"), "Best: metric must be one of .* got 'youden'"),
    (partial(cutoffs.Best, max_fpr=0.0), "Best: max_fpr must lie in"),
]


KERNELS = [
    *(
        (partial(k, 0.0), "bandwidth must be a number from 1e-100 to")
        for k in (kernels.RBF, kernels.Laplacian)
    ),
    (
        partial(kernels.RBF, "nearest"),
        "bandwidth must be a number .* or one of .*'nearest'",
    ),
    *(
        (partial(kernels.RBF, s), "a number from 1e-100 to")
        for s in (1e101, 1e-101, True, None)
    ),
    *(
        (partial(kernels.Tabular, **how), words)
        for how, words in (
            ({"rho": 1.0}, "rho must lie between 0 and 1, got 1.0"),
            (
                {"scale": "log"},
                r"must be one of \['both', 'standardised', 'normal scores'\]",
            ),
            *(
                ({"categorical": c}, "a sequence of positions of col")
                for c in (1, (-1,), (0.5,))
            ),
            *(
                ({"categorical": c}, "a sequence of positions of col")
                for c in (("c",), ((1,),))
            ),
            (
                {"kernel": kernels.Precomputed()},
                "Tabular needs a kernel of columns of numbers",
            ),
            (
                {"kernel": kernels.Tabular()},
                "Tabular needs a kernel of columns of numbers",
            ),
        )
    ),
    (
        fit(kernel=kernels.Tabular(categorical=(3,))),
        r"categorical=\(3,\): there are 3 columns",
    ),
    (
        partial(kernels.Polynomial, 1.5),
        "degree must be a whole number of at least 1, got 1.5",
    ),
    (partial(kernels.Polynomial, gamma=0), "gamma must be positive and finite, got 0"),
    (
        partial(kernels.Polynomial, coef0=-1),
        "coef0 must be at least 0 and finite, got -1",
    ),
    (
        partial(kernels.Precomputed, diagonal=-0.5),
        "diagonal must be a number of at least 0, got",
    ),
    (lambda: kernels.RBF("median")(X, X), "'median' is no number yet; fit the kernel"),
    (
        fit(K[:, :9], kernel=kernels.Precomputed()),
        r"fitted on a square matrix, got \(20, 9\)",
    ),
    (fit(np.triu(K), kernel=kernels.Precomputed()), r"must be symmetric, but K\["),
    (
        fit(K - 2 * np.eye(20), kernel=kernels.Precomputed()),
        "matrix of 20 training rows has the eigenvalue -1",
    ),
    (
        lambda: SVDD(kernel=kernels.Precomputed()).fit(K).predict(K),
        r"rows of 21 columns.*k\(z, z\), got 20 columns",
    ),
    *(
        (fit(kernel=function), words)
        for function, words in (
            (
                lambda A, B: np.ones(len(A)),
                r"of shape \(20, 20\), but returned float64 of shape",
            ),
            (lambda A, B: cauchy(A, B) * NAN, "returned values that are not finite"),
            (
                lambda A, B: cauchy(A, B) * (1 + 1j),
                "must return real values .* returned complex",
            ),
            (
                lambda A, B: cauchy(A, 2 * B),
                r"symmetric, but k\(x, y\) and k\(y, x\) differ",
            ),
            (
                lambda A, B: -(A @ B.T),
                "must be positive semi-definite, .* use another kernel",
            ),
            (
                lambda A, B: cauchy(A, B) ** -1,
                "its values are least at k.*use lambda A, B: np.exp",
            ),
            (
                lambda A, B: cauchy(A / np.abs(A).max(), B / np.abs(B).max()),
                "a function of two rows alone, but .* depends on the other rows",
            ),
        )
    ),
]

NO_VARIABLE = "must return the PyMC variable .* under the name 'beta'"
FEW = {"cls": BSVDD, "draws": 20, "tune": 20}


def of_function(function, **named):
    return fit(prior=function, **FEW, **named)


POSITIONS = [
    (partial(of_rows, rows), "rows must be a mask of 20 booleans, or different pos")
    for rows in ([70], [], [0.5], 3, "odd", [1, 1], [1, -19], Y[:5] > 0, Y)
    for of_rows in (
        lambda rows: bsvdd.sensitivity(bayesian(), rows=rows),
        lambda rows: bsvdd.explain(bayesian(), rows=rows),
        lambda rows: bsvdd.elpd(bayesian(), rows=rows),
    )
]

PRIORS = [
    *(
        (partial(cls, sd=sd), f"{cls.__name__}: sd must be a positive number whose")
        for cls in (priors.Flat, priors.RowSum, priors.TruncatedNormal)
        for sd in (0, INF)
    ),
    (
        partial(priors.InverseRowSum, power=-0.1),
        r"InverseRowSum: power must lie in \[0, 1\]",
    ),
    (partial(priors.Flat, sd="1"), "Flat: sd must be a positive number .* got '1'"),
    (partial(priors.Beta, total=0), "Beta: total must be a positive number"),
    (
        lambda: BSVDD().set_params(prior__sd=0.3),
        r"prior is a value, .* such as prior=Flat\(sd=1.5\)",
    ),
    *(
        (lambda draws=draws: bsvdd.prior_draws(BSVDD(), X, draws=draws), "draws must")
        for draws in (0, -1, 1.5, "a")
    ),
    (partial(priors.RowSum, exponent=1.5), "RowSum: exponent must lie in"),
    (partial(priors.SVDDWeights, floor=2), "SVDDWeights: floor must lie in"),
    (
        partial(priors.Normal, m=[0.0, NAN]),
        "Normal: m must be a finite number, or a list",
    ),
    (
        partial(priors.Normal, sigma=np.ones(3)),
        "sigma must be a symmetric and positive",
    ),
    (
        partial(priors.Normal, sigma=[[1.0, 2.0], [2.0, 1.0]]),
        "must be .* positive definite",
    ),
    (
        of_function(priors.Normal(m=np.zeros(7))),
        r"one value for each of .* got shape \(7,\)",
    ),
    *(
        (of_function(prior), "prior of the majority weights: expected a")
        for prior in ("flat", 3.0)
    ),
    (
        of_function(priors.Beta()),
        "prior of the majority weights: expected a prior .*got Beta",
    ),
    (of_function(lambda g, n, dims: None), NO_VARIABLE),
    (of_function(lambda g, n, dims: pm.Normal("other", dims=dims)), NO_VARIABLE),
    (
        of_function(lambda g, n, dims: pm.Normal(n)),
        "one value for each of the 20 names of 'point'",
    ),
    (
        of_function(lambda g, n, dims: pm.Normal(n, np.zeros(7), dims=dims)),
        r"prior of beta: it .* 20 names of .* \(7,\)",
    ),
    (
        of_function(lambda gram: pm.Normal("beta")),
        r"is called with \(gram, name, dims\), and can",
    ),
    (
        of_function(lambda g, n, dims: pm.Poisson(n, 3.0, dims=dims)),
        "for continuous priors, and beta is discrete; take sampler='metropolis'",
    ),
    (
        of_function(lambda g, n, dims: pm.Normal(n, NAN, 1.0, dims=dims)),
        "density is not finite at the start: beta has nan",
    ),
    (
        of_function(lambda g, n, dims: pm.Normal(n, pm.HalfNormal("sd"), dims=dims)),
        "'sd'; .* name it 'beta_sd'",
    ),
    (
        of_function(priors.Normal(sigma=np.eye(20)), dictionary=9),
        "is a covariance of single rows",
    ),
    (
        of_function(priors.Normal(m=pd.Series(0.0, [f"r{i}" for i in range(30)]))),
        r"m: expected one for each of the 20 names of the fit, got 30 .* for '0', '1'",
    ),
    (
        lambda: priors.Normal(m=pd.Series([0.0, NAN], ["a", "b"])),
        "Normal: m must be finite, and 'b' has nan",
    ),
    (
        lambda: priors.Normal(m=pd.DataFrame({"a": [0.0]})),
        r"m has 2 dimensions; give one column, such as frame\['column'\]",
    ),
    (
        lambda: priors.TruncatedNormal(m=["a", "b"]),
        "TruncatedNormal: m must be numbers",
    ),
    (
        lambda: priors.Normal(m=pd.Series(0.0, ["a", "b", "a"])),
        "Normal: m: two values have the name 'a'; give names that differ",
    ),
    (of_function(priors.Flat), "prior of the majority weights: expected a prior"),
    (
        of_function(priors.InverseRowSum(), kernel=kernels.Linear()),
        "only a positive sum has a log",
    ),
    (
        of_function(preliz.Normal(mu=0)),
        r"prior of beta: .*lacks .* parameters \(mu, sigma\)",
    ),
    (
        of_function(preliz.Normal(0, -1)),
        "the parameters of a prior must meet sigma > 0",
    ),
    (
        of_function(priors.RowSum(exponent=0.5), kernel=kernels.Linear()),
        r"RowSum: atom \d+ has the negative row sum",
    ),
    (
        fit(y=Y, cls=BSVDDM, minority_prior=priors.Flat()),
        "of the minority weights: expected .*got Flat",
    ),
    (lambda: bayesian().with_prior(), r"needs at least one of prior=\.\.\."),
    (
        lambda: bayesian().with_prior(minority_prior=priors.Beta()),
        "has no parameter 'minority_pr",
    ),
    (
        lambda: bsvdd.prior_draws(
            BSVDD(prior=lambda g, n, dims: pm.Flat(n, dims=dims)), X
        ),
        "the prior is improper, as pm.Flat is",
    ),
]

SET = datasets.Dataset("w", np.eye(20), np.arange(20) < 13)
OF_COMPARISON = [
    (lambda: datasets.embedded("iris"), "unknown data set 'iris'.*wine_cultivar3"),
    (lambda: Shape("star"), "kind must be one of ring"),
    (lambda: Shape("ring", share=0.0), "share must be .* one row or more, got 0.0"),
    (lambda: Shape("ring", n_train=20, share=0.01), "one row or more, got 0.01"),
    (lambda: Slides(v=-1), "v must be at least 0"),
    (lambda: Slides(p=3), "p must be at least 4"),
    (lambda: Slides(share=1.0), "share must be in"),
    (lambda: Slides(df=2), "df must be above 2"),
    (
        lambda: datasets.Halves(replace(SET, minority=Y > 1)),
        "at least 2 minority rows.* got 0 and 20",
    ),
    (
        lambda: datasets.Halves(SET, 6),
        "w: 6 training rows are too few for 13 minority rows of 20",
    ),
    (
        lambda: datasets.Halves(datasets.embedded("yeast_ME2"), 10),
        "51 minority rows of 1484; draw more",
    ),
    (lambda: Yardstick("logistic").fit(X), "learns from minority rows.*there is none"),
    (lambda: Yardstick("kNN", cutoff=cutoffs.Best()).fit(X), "needs minority rows"),
    (lambda: runner.compare([SET, SET], ["SVDD"]), "data set 'w' is given twice"),
    (lambda: models.model("XGBoost"), "unknown model 'XGBoost'.*BSVDD-M.*logistic"),
]

W = RNG.dirichlet(np.ones(20), size=(2, 30))
POINTS = xr.DataArray(W, dims=("chain", "draw", "point"))
DRAWS = [
    (lambda draws=draws: bayesian().with_draws(draws), words)
    for draws, words in (
        (W[..., 1:], r"shape \(draws, 20\), .* got shape \(2, 30, 19\)"),
        (W[0, 0], r"shape \(draws, 20\), .* got shape \(20,\)"),
        (W[:, :0], r"shape \(draws, 20\), .* got shape \(2, 0, 20\)"),
        (2 * W, "the weights of BSVDD sum to 1 in each draw, got 2"),
        (W - 1.0, "the weights of BSVDD are at least 0, got -"),
        (W * NAN, "the weights w are not finite in all draws"),
        (xr.DataTree.from_dict({"prior": xr.Dataset()}), "with the group posterior"),
        (
            xr.Dataset({"v": POINTS}),
            "expected the weights w, got 'v'; est.model_ has them",
        ),
        (
            POINTS.isel(point=slice(1, None)),
            r"shape \(draws, 20\), .* got shape \(2, 30, 19\)",
        ),
        (
            POINTS.assign_coords(point=np.arange(1, 21)),
            "'point': expected one for each of the 20 names .* there is none for '0'",
        ),
        ("no draws", "a dataset, or an array of numbers, got 'no draws'"),
    )
]

QUESTIONS = [
    (lambda: bsvdd.p_value(fitted(), None), "X must be rows"),
    (lambda: bsvdd.select(fitted(), None), "X must be rows"),
    (lambda: scorers.roc_auc(fitted(), FRAME), "y must have the labels of X"),
    (lambda: fitted(BDD, simplex=True).summary(), "one estimate of the weights"),
    *(
        (lambda f=f: bsvdd.select(fitted(), X, f), "fdr must lie between 0 and 1")
        for f in (0.0, 2)
    ),
    *(
        (lambda est=est, rows=rows, how=how: bsvdd.stand_out(est, rows, **how), words)
        for est, rows, how, words in (
            (SVDD(), X, {"fdr": 1.0}, "fdr must lie between 0 and 1"),
            (SVDD(), X[:4], {}, "one table needs 5 rows or more .*, got 4"),
            (SVDD(), X[:0], {}, r"Found array with 0 sample\(s\)"),
            (SVDD(), X[None], {}, "Found array with dim 3"),
            (SVDD(), "rows.csv", {}, r"read a file by bsvdd.read_table\(path\)"),
            (SVDD(), None, {}, "X must be a table of numbers"),
            (SVDD(), changed(NAN, at=4), {}, "has no value in any column"),
            (SVDD(kernel=kernels.Precomputed()), K, {}, "one table needs its rows"),
            (SVDD(kernel=kernels.Tabular(categorical=(3,))), X, {}, "are 3 columns"),
            (OCSVM, X, {}, "use a description such as BSVDD"),
            (
                SVDD(),
                FRAME,
                {"strata": "e"},
                "strata='e' is no column of the data frame",
            ),
            (SVDD(), X, {"strata": "who"}, "strata='who': the name of a column is for"),
            (
                SVDD(),
                X,
                {"strata": ["u"] * 9},
                "strata must be 20 labels, one for each row, got 9",
            ),
            (
                SVDD(),
                X,
                {"strata": range(20)},
                "strata: none of 20 levels has 5 rows or more",
            ),
            (
                SVDD(),
                X,
                {"strata": [*["u"] * 19, None]},
                "row 19 has no level; name it, or give su",
            ),
            (
                SVDD(),
                X,
                {"sample_weight": np.ones(9)},
                "sample_weight must be 20 numbers",
            ),
            (
                SVDD(),
                X,
                {"sample_weight": np.arange(20) < 4},
                "5 rows or more with a weight above 0, got 4",
            ),
            (SVDD(), X, {"groups": ["u"] * 9}, "groups must be 20 labels"),
        )
    ),
    (
        lambda: bsvdd.explain(SVDD(kernel=kernels.Precomputed()).fit(K), K),
        "kernel has no columns",
    ),
    *(
        (lambda est=est, Z=Z, how=how: bsvdd.explain(est(), Z, **how), words)
        for est, Z, how, words in (
            (fitted, X[:, :2], {}, "is expecting 3 features"),
            (fitted, FRAME[["a", "b"]], {}, "X lacks column 'c'"),
            (fitted, FRAME, {"rows": [1]}, "give them without Z"),
            (SVDD, FRAME, {}, "not fitted"),
            (
                lambda: fitted().with_cutoff(cutoffs.Printed(0.0)),
                X,
                {},
                "none of 20 known rows",
            ),
            (
                lambda: IsolationForest().fit(X),
                X,
                {},
                r"rows; give known rows, explain\(est",
            ),
            (lambda: GaussianMixture().fit(X), X, {}, "has no decision_function"),
        )
    ),
    (lambda: plots.plot_explanation(fitted(), X[:2]), "z must be one row, got 2"),
    (lambda: plots.plot_margin(fitted(), X[:2], ["a"]), "one entry for each of 2 rows"),
    (
        lambda: plots.plot_margin(fitted(), rows=[99]),
        "positions of training rows, 0 to 19",
    ),
    (lambda: plots.plot_roc(fitted(SVDDM), X), "needs the labels y of X"),
    (
        lambda: plots.plot_decisions(fitted(), fitted(SVM), X),
        "SVM has neither draws nor",
    ),
    *(
        (lambda plot=plot: plot(fitted(SVM)), "SVM has neither draws nor")
        for plot in (plots.plot_distances, plots.plot_weights)
    ),
    (lambda: bsvdd.elpd(fitted()), "one estimate of the weights and no posterior"),
    (
        lambda: bsvdd.elpd(fitted(BDD, draws=50)),
        "weights of at least 0 that sum to one",
    ),
    (
        lambda: bsvdd.elpd(
            fitted(BSVDD, kernel=kernels.Laplacian(1.0), draws=50, tune=50)
        ),
        "elpd needs an RBF kernel, .* got Laplacian",
    ),
    (lambda: bsvdd.elpd(bayesian(), X, rows=Y > 0), "not both"),
    (lambda: bsvdd.report(fitted(), "nowhere/a.html"), "does not exist; make it"),
    (lambda: fitted().save("nowhere/a.safetensors"), "does not exist; make it"),
    (lambda: bsvdd.report(fitted(), "a.html", y=Y), "X is not given"),
    (lambda: bsvdd.facts(SVDD()), "is not fitted yet"),
    (lambda: plots.plot_roc(fitted()), "majority and minority rows, got 20 and 0"),
    (lambda: plots.plot_weights("why"), "is not an estimator instance"),
    *(
        (
            lambda f=f: f(fitted(OCSVM)),
            "OCSVM has (neither draws nor|no similarities of) left-out",
        )
        for f in (
            *(
                bsvdd.elpd,
                bsvdd.methods,
                bsvdd.facts,
                lambda est: bsvdd.p_value(est, X),
            ),
            *(lambda est: bsvdd.select(est, X), lambda est: bsvdd.stand_out(est, X)),
        )
    ),
    (
        lambda: Views(estimator=SVM()).fit(X, Y),
        "SVM has neither draws nor left-out rows",
    ),
    (lambda: plots.plot_boundary(fitted(), X), "shows two columns, got X of shap"),
    (
        lambda: scorers.roc_auc(SVDD().fit(X, Y), X[:9], Y[:9]),
        "both classes, got 9 majority rows",
    ),
    *(
        (lambda y=y: scorers.g_mean(SVDD().fit(X, Y), X, y), words)
        for y, words in (
            (Y[:, None], r"shape \(20,\), one label"),
            (Y[1:], r"shape \(20,\), one label"),
            (None, "got None"),
            ([*Y[:-1].tolist(), "1"], "y mixes texts and numbers"),
            ([*Y[:-1].tolist(), None], "no label .* in row 19"),
        )
    ),
    (
        lambda: scorers.roc_auc(SVDD().fit(X, Y), X, Y + 1),
        "the label 2, but the labels of fit w",
    ),
    (
        lambda: scorers.roc_auc(LogisticRegression().fit(X, Y), X, Y),
        "for estimators of bsvdd,.*got LogisticRegression",
    ),
    (lambda: SVDD().fit(X, Y).classes_, "the wrong way round"),
]

TABLES = {
    "rows": ROWS,
    "labels": LABELS,
    "units": UNITS,
    "parameters": PARAMETERS,
    "cutoffs": CUTOFFS,
    "kernels": KERNELS,
    "priors": PRIORS,
    "positions": POSITIONS,
    "draws": DRAWS,
    "questions": QUESTIONS,
    "comparison": OF_COMPARISON,
}
CASES = [
    pytest.param(*case, id=f"{name} {i}")
    for name, cases in TABLES.items()
    for i, case in enumerate(cases)
]


@pytest.mark.parametrize(("call", "words"), CASES)
def test_a_call_is_refused(call, words):
    with pytest.raises((*ERRORS, AttributeError), match=words):
        call()


# what is said, and fitted


def moved(column, value):
    rows = RNG.normal(size=(80, 3))
    rows[17, column] = value
    return pd.DataFrame(rows, columns=["a", "amount", "c"])


WARNINGS = [
    (
        fit(X * [1, 150, 20], kernel=kernels.RBF()),
        r"column 1 of X is 1\d\d, that of column 0",
    ),
    (fit(moved(1, 1e3)), "row 17 has 1000 in 'amount', where others lie from -"),
    (fit(moved(1, -1e308)), r"row 17 has -1e\+308 in 'amount', where others"),
    (fit(np.ones((20, 2)), kernel=kernels.RBF(1.0)), "all 20 majority rows are equal"),
    (fit(y=np.repeat([0, 1], [8, 12])), r"has 12 of 20 rows.*minor_label="),
    (
        fit(FRAME.assign(b=FRAME["b"].where(FRAME.index > 1))),
        "2 of 20 rows have missing values",
    ),
]


@pytest.mark.parametrize(("call", "words"), WARNINGS, ids=range(len(WARNINGS)))
@pytest.mark.filterwarnings("default::bsvdd.base.warning.DataWarning")
def test_what_is_said_of_rows(call, words):
    with pytest.warns(DataWarning, match=words):
        call()


# each parameter and each method, with what none of them takes


class Odd:
    """An object that is nothing in particular."""

    def __repr__(self):
        return "Odd()"


NO_ROWS = [  # no table of 20 finite rows of 3 numbers
    changed(INF),
    changed(-INF).tolist(),
    pd.DataFrame(changed(INF)),
    np.empty((0, 3)),
    changed(INF).astype(np.float32),
    np.ma.masked_invalid(changed(INF)),
    X[:, :0],
    X[:, 0],
    X[None],
    X.astype(complex),
    X.astype("M8[s]"),
    np.full((20, 3), "x"),
    [[1.0, 2.0], [3.0]],
    np.full((20, 3), Odd(), dtype=object),
    [],
    None,
    3,
    "no-such-file.csv",
    {"a": 1},
    Odd(),
    object,
]
NO_LABELS = [
    np.where(np.arange(20) == 7, NAN, Y),
    Y[:7],
    np.zeros(20),
    Y + 2,
    Y[:, None],
    [None] * 20,
    np.where(Y, "a", "b"),
    np.arange(20),
    3,
    [],
    Odd(),
    "label",
]
# what no parameter takes: also numbers that are negative or not finite
NO_VALUES = [
    NAN,
    -INF,
    -1.0,
    -7,
    "odd",
    b"odd",
    [1.0, "x"],
    {"a": 1},
    Odd(),
    object,
    1j,
]
OF_DRAWS = ["draws", "chains", "tune", "sampler", "prior", "likelihood_scale", "kernel"]
OF_CLASSES = {
    SVDD: ["C", "outlier_fraction", "kernel", "cutoff", "dictionary"],
    SVDDM: ["C2", "minority_fraction", "kernel"],
    OCSVM: ["nu", "kernel"],
    SVM: ["C", "kernel"],
    DSVM: ["C", "neighbors", "kernel"],
    LSSVM: ["C", "kernel"],
    IDLSSVM: ["C", "neighbors", "kernel"],
    BDD: [*OF_DRAWS, "simplex"],
    BDDM: [*OF_DRAWS, "minority_prior"],
    BSVDD: [*OF_DRAWS, "dictionary"],
    BSVDDM: [*OF_DRAWS, "minority_prior"],
}
OF_VALUES = {
    "bandwidth": [kernels.RBF, kernels.Laplacian],
    "degree": [kernels.Polynomial],
    "gamma": [kernels.Polynomial],
    "coef0": [kernels.Polynomial],
    "diagonal": [kernels.Precomputed],
    "sd": [
        priors.Flat,
        priors.RowSum,
        priors.StandardizedRowSum,
        priors.TruncatedNormal,
    ],
    "a": [priors.Beta],
    "b": [priors.Beta],
    "metric": [cutoffs.Best],
    "rate": [cutoffs.FalseAlarm],
    "miss": [cutoffs.Cost],
}
METHODS = [
    "predict",
    "score_samples",
    "decision_function",
    "probability_normal",
    "distance",
]


def bad_calls():
    """Yield bad calls, and words of which the error must have one."""
    for cls, names in OF_CLASSES.items():
        for rows in NO_ROWS:
            yield (
                f"{cls.__name__}.fit({rows!r:.40})",
                partial(cls().fit, rows, Y),
                r"\bX\b",
            )
        for y in NO_LABELS:
            yield (
                f"{cls.__name__}.fit(X, {y!r:.40})",
                partial(cls().fit, X, y),
                r"\by\b",
            )
        for name in names:
            words = name.rstrip("2").removeprefix("minority_")
            for value in NO_VALUES:
                call = f"{cls.__name__}({name}={value!r})"
                yield call, lambda c=cls, n=name, v=value: c(**{n: v}).fit(X, Y), words
    for name, makes in OF_VALUES.items():
        for value in NO_VALUES:
            for make in makes:
                yield f"{make}({name}={value!r})", partial(make, **{name: value}), name
    for cls in (SVDD, OCSVM, BDD):
        est = cls(kernel=kernels.RBF(1.0)).fit(X)
        for method in filter(partial(hasattr, est), METHODS):
            for rows in NO_ROWS:
                call = f"{cls.__name__}.{method}({rows!r:.40})"
                yield call, partial(getattr(est, method), rows), r"\bX\b"


def test_every_bad_value_is_an_error_that_says_of_what():
    wrong, count = [], 0
    for call, function, words in bad_calls():
        count += 1
        try:
            function()
        except ERRORS as error:
            if not re.search(words, str(error)):
                wrong.append(
                    f"{call}: {type(error).__name__} names nothing: {str(error)[:200]}"
                )
        except Exception as error:
            wrong.append(f"{call}: {type(error).__name__}: {error}")
        else:
            wrong.append(f"{call}: no error")
    assert not wrong, "\n".join(wrong)
    assert count > 1200
