"""Exact draws, and those of all samplers, against the long runs of references.json."""

import json
import warnings

import arviz as az
import numpy as np
import pytest
from bsvdd.inference.warning import DiagnosticWarning
from scipy.stats import norm

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, kernels, priors
from tests.references import MODELS, STORE, statistics

SETS = json.loads(STORE.read_text(encoding="utf-8"))["sets"]
ESTIMATORS = {"BDD": BDD, "BDDM": BDDM, "BSVDD": BSVDD, "BSVDDM": BSVDDM}
SAMPLERS = {
    "BDD": ["exact", "hmc", "nuts"],
    "BDDM": ["hmc", "nuts"],
    "BSVDD": ["hmc", "nuts"],
    "BSVDDM": ["hmc", "nuts"],
}

# of a false alarm of any number in this file, were all of them independent (Bonferroni)
FALSE_ALARM = 1e-6
NUMBERS = sum(
    np.size(SETS[name]["posterior"][model][quantity]["value"]) * len(SAMPLERS[model])
    for name in SETS
    for model in MODELS
    for quantity in ("w", "d")
)
LIMIT = norm.isf(FALSE_ALARM / 2 / NUMBERS)
FEWEST = 400  # effective draws: with fewer an error's own error is no longer small
WIDEST = 0.1  # posterior sd: a wider error could hide what is wrong


def estimator(model, given, **settings):
    described = dict(given["kernel"])
    kernel = getattr(kernels, described.pop("type"))(**described)
    if model in given["minority_prior"]:
        settings["minority_prior"] = priors.from_dict(given["minority_prior"][model])
    prior = dict(given["prior"])
    if "nugget" in prior:  # the covariance is that of the kernel
        K = kernel(np.array(given["majority"]))
        prior["sigma"] = K + prior.pop("nugget") * np.eye(len(K))
    return ESTIMATORS[model](
        kernel=kernel,
        prior=priors.from_dict(prior),
        likelihood_scale=given["likelihood_scale"],
        cutoff=1.0,
        **settings,
    )


def rows(given):
    X0, X1 = given["majority"], given["minority"]
    return np.array(X0 + X1), np.repeat([0, 1], [len(X0), len(X1)])


def fit(model, name, **settings):
    with warnings.catch_warnings():
        # of the published prior, and of weights that are no shares
        ours = ".*weights have collapsed", "the posterior is its prior", "near the cutoff the post"
        for text in ours:
            warnings.filterwarnings("ignore", text, DiagnosticWarning)
        return estimator(model, SETS[name], **settings).fit(*rows(SETS[name]))


def worst(est, model, name):
    """Return the largest error, in Monte Carlo standard errors of both sides."""
    given, found = SETS[name], []
    draws = {
        "w": est.idata_["posterior"]["w"].values,
        "d": est.distance(given["rows"]).values,
    }
    for quantity, values in draws.items():
        reference = {k: np.array(v) for k, v in given["posterior"][model][quantity].items()}
        value, error = statistics(values)
        assert (error[0] < WIDEST * reference["value"][1]).all()
        assert az.ess(az.convert_to_dataset({"x": values}))["x"].min() > FEWEST
        found.append(np.abs(value - reference["value"]) / np.hypot(error, reference["error"]))
    return max(z.max() for z in found)


def cases(*models, sets=tuple(SETS)):
    """Models with data sets."""
    return [(model, name) for model in models for name in sets]


# BDD, which has an exact sampler, on fewer sets
HMC = [*cases("BSVDD", "BSVDDM", "BDDM"), *cases("BDD", sets=("ecoli", "wine"))]
LONG = [("BDDM", "moons"), ("BDDM", "ring")]
NUTS = [*cases("BSVDD", "BSVDDM"), *cases("BDD", "BDDM", sets=("glass", "ring"))]


@pytest.mark.parametrize(
    ("model", "name", "sampler"),
    [
        *((*case, "exact") for case in cases("BDD")),
        *((*case, "hmc") for case in HMC if case not in LONG),
        *(pytest.param(*case, "hmc", marks=pytest.mark.long) for case in LONG),
        *(pytest.param(*case, "nuts", marks=[pytest.mark.long, pytest.mark.slow]) for case in NUTS),
    ],
)
def test_draws_are_those_of_the_long_runs(model, name, sampler):
    tune = 500 if sampler == "nuts" else 1000
    draws = 1000 if sampler == "nuts" else 2500
    est = fit(model, name, sampler=sampler, draws=draws, tune=tune, chains=4)
    assert worst(est, model, name) < LIMIT
