"""Advice that works: the line of code or the option in a message is taken out of it, and run.

What is followed makes its message go away. Lines on odd cells are run in test_tables.py
too.
"""

import re
import shlex
import warnings
from dataclasses import replace

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pymc as pm
import pytest
from bsvdd.inference.worth import Chains
from click.testing import CliRunner
from sklearn import model_selection

import bsvdd
from bsvdd import BSVDD, SVDD, cli, cutoffs, kernels, priors
from bsvdd.estimators.doubts import doubts

RNG, n = np.random.default_rng(0), np.arange(60)
X, Y = RNG.normal(size=(60, 3)), (n >= 50).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
LIMIT, TEXT = (
    FRAME.assign(a=["<1", *map(str, n[1:])]),
    FRAME.assign(a=[f"A{i % 25}" for i in n]),
)
TABLE = FRAME.assign(
    kind=np.where(Y, "odd", "ok"), code=np.where(n % 8 == 3, -999, n % 7 + 30.5)
)
TABLE = TABLE.assign(nr=n + 7, city=np.resize(["DE", "FR", "NA"], 60), day=n % 28)
COMPARE = "compare t.csv --label kind --minor odd --model SVDD --replicates 1 --jobs 1 --out c"
FIT = "fit t.csv --model SVDD --out m "
# a call ~ the pattern of a line in its message ~ calls that follow it with {} ~ why it
# fails
CASES = r"""
ball(X * [1, 500, 2], kernel=kernels.RBF('median')) ~ use (kernels.*) ~ ball(X * 9, kernel={})
ball(X * [1, 500, 2], kernel=kernels.RBF(1.5)) ~ use (kernels.*) ~ ball(X * 9, kernel={})
ball(np.c_[X, n > 99], kernel=kernels.RBF()) ~ value there; (kernels\S*),
    ~ ball(np.c_[X, n > 99], kernel={})
ball(TEXT, kernel=kernels.RBF()) ~ use kernel=(kernels\S*), ~ ball(TEXT, kernel={})
ball(np.where(X > 2, np.nan, X), kernel=kernels.RBF()) ~ (kernels\S*) fills
    ~ ball(np.where(X > 2, np.nan, X), kernel={})
ball(kernel=kernels.RBF) ~ make one: (RBF\(\)) ~ ball(kernel=kernels.{})
ball(kernel=distance) ~ use (lambda.*) ~ scale = 2.0; ball(kernel={})
ball(np.c_[2**53 + n, n]) ~ with (X\[0\]\S+\)),
    ~ X = pd.DataFrame(np.c_[2**53 + n, n]); X[0] = {}; ball(X)
ball(X, y).classes_ ~ fit with (np\.where.*) ~ ball(X, {}).classes_
refused('roc_auc') ~ use scoring=(\S+), ~ search({}).best_score_
    ~ scikit-learn asks for the labels after each fit, and takes nan
scorers.roc_auc(ball(X, y), X[:9], y[:9]) ~ told: cv=(.*\))
    ~ search(scorers.roc_auc, {}).best_score_
ball(X, n % 3, minor_label=[1, 2]) ~ such as (numpy.isin\(y, labels\))
    ~ y = n % 3; labels = [1, 2]; ball(X, {}, minor_label=True)
ball(X, TABLE['kind']) ~ by (minor_label=), ~ ball(X, TABLE['kind'], {}'odd')
ball(X, 1 - y) ~ by (minor_label=) ~ ball(X, 1 - y, {}0)
ball(cutoff=0.9) ~ a distance is (Printed\S+) ~ ball(cutoff=cutoffs.{})
ball(cutoff=cutoffs.Cost()) ~ such as (cutoffs\S+\)) ~ ball(cutoff={})
ball(0 * X, kernel=kernels.RBF(1.0)) ~ distance, (cutoffs\S+\))
    ~ ball(0 * X, kernel=kernels.RBF(1.0), cutoff={})
BSVDD(draws=5, tune=5).fit(X) ~ use (draws=500) ~ BSVDD({}).fit(X)
BSVDD(likelihood_scale=1e-4).fit(X) ~ use (likelihood_scale='calibrated') ~ BSVDD({}).fit(X)
BDDM(draws=60, tune=60).fit(X, y) ~ weights: (priors\S+\)) ~ BDDM(minority_prior={}).fit(X, y)
after_nuts() ~ several modes; use ([^;]*) ~ require("'nuts'" not in "{}")
of_r_hat(1.0109) ~ R-hat of s_z is (\S+) \(> 1.01\) ~ require({} > 1.01)
BSVDD(prior=two).fit(X) ~ name it '(beta_sd)'
    ~ BSVDD(prior=lambda gram, name, dims: pm.Normal(name, 0, pm.HalfNormal('{}'), dims=dims),
    draws=50, tune=50).fit(X)
BSVDD(prior=lambda gram: 1).fit(X) ~ write (def prior.*) ~ {}; BSVDD(prior=prior).fit(X)
BSVDD(prior=priors.Normal(m=n), dictionary=20).fit(X) ~ by (dictionary='all')
    ~ BSVDD(prior=priors.Normal(m=n), {}).fit(X)
ball(LAZY) ~ (X\.sample\S+), ~ X = LAZY; ball({})
ball(LAZY) ~ (X\.map_partitions\S+) ~ est = ball(FRAME); X = LAZY; {}.compute()
ball('t.npy') ~ by (numpy\.load\(path\)) ~ path = 't.npy'; ball({})
ball('t.csv') ~ by (bsvdd\.read_table\(path\)) ~ path = 't.csv'; {}
plots.plot_roc(ball()) ~ rows, (plot_roc\(est, X, y\)) ~ est = ball(); plots.{}
str(ball()) ~ next (est\.decision\(\)) ~ est = ball(); {}
str(ball()) ~ (bsvdd\.explain\(est, X\)) ~ est = ball(); {}
str(ball()) ~ (bsvdd\.report\(est, 'model.html'\)) ~ est = ball(); {}
chosen(4, 0.1) ~ (\d+) would have to ~ chosen({}, 0.1)
ball(LIMIT) ~ (X\['a'\] = \[float.*?\]) takes ~ X = LIMIT.copy(); {}; ball(X)
ball(TEXT) ~ in Python (X = X.drop\S+)\) ~ X = TEXT; {}; ball(X)
ball(TABLE) ~ in Python (table=bsvdd\S+\))\) makes gaps ~ ball(TABLE, {})
ball(TABLE) ~ in Python (X = X.set_index\S+)\) ~ X = TABLE; {}; ball(X)
read_table('t.csv') ~ in Python (read_table\S+ text=\S+\]\)) ~ path = 't.csv'; {}
read_table('g.csv') ~ in Python (read_table\(path, sep=';'\)) ~ path = 'g.csv'; {}
run('outliers g.csv') ~ separator: (--sep ';') ~ run("outliers g.csv {}")
run(FIT) ~ (--missing -999) ~ run(FIT + "{}")
run(FIT) ~ (--id 'nr') ~ run(FIT + "{}")
run(FIT) ~ (--category 'city') ~ run(FIT + "{}")
run(FIT) ~ (--label 'kind' --minor )VALUE ~ run(FIT + "{} odd")
run(FIT); run('score m new.csv') ~ (--drop 'day') ~ run(FIT + "{}"); run('score m new.csv')
run(COMPARE) ~ bsvdd (fit .*?); bsvdd score m ~ run("{}"); run('score model.safetensors t.csv')
told(BSVDD(random_state=7)) ~ call: (.*) ~ same({})
told(BDD(draws=90, table=Table())) ~ call: (.*) ~ same({})
told(SVDD(cutoff=cutoffs.Printed(of='own'), C=0.1)) ~ call: (.*) ~ same({})
told(SVDD(kernel=kernels.RBF(1.5))) ~ call: (.*) ~ same({})
told(BSVDD(prior=priors.Normal(m=n))) ~ call: (.*) ~ same({})
told(BSVDD(random_state=None)) ~ call: (.*) ~ same({})
told(BSVDD()) ~ seed: (.*) ~ same(BSVDD(random_state={}))
"""
BLOCKS = [
    each.split(" ~ ") for each in CASES.strip().replace("\n    ", " ").splitlines()
]


def ball(X=X, y=None, **how):
    return SVDD(**how).fit(X, y)


def search(scoring, cv=model_selection.StratifiedKFold(3)):
    grid = model_selection.GridSearchCV(
        SVDD(), {"C": [0.1, 0.2]}, scoring=scoring, cv=cv
    )
    return grid.fit(X, Y)


def refused(scoring):
    """Search, and say nothing but an error."""
    with warnings.catch_warnings(action="ignore"):
        search(scoring)


def chosen(k, fdr):
    """Select among 24 rows of which k are far, by 30 rows."""
    return bsvdd.select(ball(X[:30]), np.r_[X[: 24 - k] / 2, np.full((k, 3), 9.0)], fdr)


def after_nuts():
    """Return the doubts of a short run by NUTS: few draws, as that sampler's."""
    with warnings.catch_warnings(action="ignore"):
        fit = BSVDD(draws=60, tune=10).fit(X).fit_.of_parameters(sampler="nuts")
    learned = replace(fit.learned, sampler="nuts")
    return " ".join(doubts(fit.changed(learned=learned)))


def of_r_hat(wanted):
    """Return a fit whose draws have an R-hat: one chain is moved until it has it."""
    est = BSVDD(draws=300, tune=150).fit(X)
    w, low, high = est.idata_["posterior"]["w"].values.copy(), 0.0, 0.2
    first = w[2].copy()
    while high - low > 1e-9:
        share = (low + high) / 2
        w[2] = (1 - share) * first + share * np.eye(60)[7]
        less = Chains.of_points(w, est.gram_.K).r_hat < wanted
        low, high = (share, high) if less else (low, share)
    return est.with_draws(w)


def told(est):
    """Return what a report says to run a fit again, which `same` compares with another."""
    NAMES["fit"], found = est.fit(X), bsvdd.facts(est)
    return f"call: {found.call}\nseed: {found.seed}"


def same(other):
    P = [each.probability_normal(-X) for each in (NAMES["fit"], other.fit(X))]
    np.testing.assert_array_equal(*P)


def require(true):
    assert true


def run(text):
    """Run a command; what it prints is a warning, or an error."""
    done = CliRunner().invoke(cli.main, shlex.split(text))
    if done.exit_code:
        raise ValueError(done.output)
    warnings.warn(done.output, stacklevel=2)


NAMES = (
    {name: getattr(bsvdd, name) for name in bsvdd.__all__}
    | vars(kernels)
    | vars(cutoffs)
)
NAMES |= vars(priors)
NAMES |= globals() | {"numpy": np, "pandas": pd, "y": Y, **vars(model_selection)}
NAMES["LAZY"] = dd.from_pandas(
    pd.DataFrame(RNG.normal(size=(6000, 3)), columns=list("abc")), 2
)
NAMES["distance"] = lambda A, B: np.linalg.norm(A[:, None] - B, axis=2)
NAMES["two"] = lambda gram, name, dims: pm.Normal(
    name, 0.0, pm.HalfNormal("sd"), dims=dims
)


def said(code):
    """Run code, and return the warnings and the value or the error of its last line."""
    (*first, last), names = code.split("; "), dict(NAMES)
    with warnings.catch_warnings(record=True, action="always") as found:
        try:
            exec("\n".join(first), names)
            value = eval(last, names)
        except Exception as error:
            value = error
    return "\n".join([*(str(each.message) for each in found), str(value)]), value


@pytest.mark.parametrize(
    ("case", "pattern", "follow"),
    [
        pytest.param(*b[:3], marks=[pytest.mark.xfail(reason=r) for r in b[3:]])
        for b in BLOCKS
    ],
)
def test_the_line_of_a_message_works(case, pattern, follow, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TABLE.to_csv("t.csv", index=False)
    TABLE.assign(day=n + 60).to_csv("new.csv", index=False)
    FRAME.to_csv("g.csv", index=False, sep=";")
    np.save("t.npy", X)
    text, _ = said(case)
    found = re.search(pattern := pattern.replace(" ", r"\s+"), text)
    assert found, text
    text, value = said(follow.replace("{}", " ".join(found[1].split())))
    assert not isinstance(value, Exception), text
    assert case.startswith("told") or not re.search(pattern, text), text
    assert not (isinstance(value, float) and np.isnan(value)), text
