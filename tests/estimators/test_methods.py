"""The paragraph for a paper: it has the numbers of the fit, and cites each of its references."""

import re

import numpy as np
import pytest
from bsvdd.estimators.registry import ESTIMATORS

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, Cutoff, cutoffs, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
RNG = np.random.default_rng(8)
ROWS = np.concatenate([RNG.normal(size=(60, 2)), RNG.normal(2.0, 0.7, size=(12, 2))])
Y = np.repeat([0, 1], [60, 12])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_reference_is_cited_once_at_least_and_in_order(name):
    cls = ESTIMATORS[name].estimator()
    few = {"draws": 40, "tune": 40} if ESTIMATORS[name].bayesian else {}
    est = cls(**few).fit(ROWS, Y)
    text, references = bsvdd.methods(est).split("\n\n")
    cited = list(dict.fromkeys(re.findall(r"\[\d+\]", text)))
    assert cited == [line.split()[0] for line in references.splitlines()]
    assert ESTIMATORS[name].reference in references and "60 normal" in text
    assert "None" not in text and "nan" not in text


def test_it_has_the_numbers_of_the_fit():
    est = BSVDD(draws=400, prior=priors.Flat(sd=1.2)).fit(ROWS, Y)
    text, found = bsvdd.methods(est), est.fit_.diagnostics
    for part in (
        "The 12 abnormal rows had no part in the description",
        f"{est.kernel_.kernel.bandwidth:.4g}, was chosen by the left-out likelihood",
        "softmax of log weights with the prior Flat(sd=1.2)",
        f"is {est.likelihood_scale_:.4g}, calibrated",
        "2 chains of 400 draws by Hamiltonian Monte Carlo, 8 parallel chains that were joined",
        f"at most {found['r_hat']:.3f}, and the smallest effective sample size {found['ess']:.0f}",
        "best value of the G-mean of both classes with at most 0.2",
        "Bayesian bootstrap",
    ):
        assert part in text
    with_minority = bsvdd.methods(BSVDDM(draws=40).fit(ROWS, Y))
    assert "60 normal and 12 abnormal rows" in with_minority
    assert "Flat(sd=0.83)" in with_minority and "is 1, as published" in with_minority


def test_the_printed_rule_and_own_choices_are_said():
    rule = Cutoff(cutoffs.FalseAlarm(0.05), uncertain=False)
    est = BDD(kernel=kernels.RBF(0.7), likelihood_scale=3.0, cutoff=rule).fit(ROWS[:60])
    text = bsvdd.methods(est)
    assert "its bandwidth, 0.7, was given" in text and "is 3, a number that we chose" in text
    assert "false-alarm rate of 0.05" in text and "bootstrap" not in text
    assert f"distance of the row from the centre is at most {est.cutoff_:.6g}" in text
