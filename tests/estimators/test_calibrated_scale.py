"""likelihood_scale="calibrated": intervals of d_z that cover, and all that follows a fit."""

from __future__ import annotations

import warnings

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.warning import DiagnosticWarning

import bsvdd
from bsvdd import BDD, BSVDD, kernels, priors
from tests.scores import UNIT

COLUMNS, WIDTH = 3, 1.5
MODELS = [BDD, BSVDD]


def student(gram, name, dims):
    """A prior that is not normal."""
    return pm.StudentT(name, nu=5.0, sigma=0.5, dims=dims)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(90, COLUMNS))


@pytest.fixture(scope="module", params=MODELS)
def est(request, rows):
    return request.param(likelihood_scale="calibrated").fit(rows)


def true_distance(Z):
    """Return d_z from the centre of N(0, I), by the integrals of the Gaussian kernel."""

    def expected(variance, squared):
        return (WIDTH**2 / (WIDTH**2 + variance)) ** (COLUMNS / 2) * np.exp(
            -squared / (2 * (WIDTH**2 + variance))
        )

    return np.sqrt(1.0 - 2.0 * expected(1.0, (Z**2).sum(axis=1)) + expected(2.0, 0.0))


@pytest.mark.parametrize("model", MODELS)
def test_intervals_cover_the_distance_from_the_centre_of_the_population(model):
    rng = np.random.default_rng(1)
    Z = 2.0 * rng.normal(size=(40, COLUMNS))
    truth, covered = true_distance(Z), {"calibrated": [], 1.0: []}
    for _ in range(40):
        X = rng.normal(size=(80, COLUMNS))
        for scale, shares in covered.items():
            if scale == 1.0 and len(shares) == 5:
                continue
            est = model(kernel=kernels.RBF(WIDTH), likelihood_scale=scale, cutoff=1.0).fit(X)
            d = est.distance(Z)
            low, high = d.quantile([0.05, 0.95], ("chain", "draw")).values
            shares.append(((low <= truth) & (truth <= high)).mean())
    assert 0.82 <= np.mean(covered["calibrated"]) <= 0.96
    assert np.mean(covered[1.0]) < 0.6


def test_the_number_is_kept_and_goes_on(est, rows, tmp_path):
    assert est.likelihood_scale_ > 1.0 and est.likelihood_scale == "calibrated"
    assert float(est.model_["likelihood_scale"].eval()) == est.likelihood_scale_
    assert type(est)(likelihood_scale=2).fit(rows[:20]).likelihood_scale_ == 2.0
    est.save(tmp_path / "fit.nc")
    loaded = bsvdd.load(tmp_path / "fit.nc")
    assert loaded.likelihood_scale_ == est.likelihood_scale_
    assert np.array_equal(loaded.distance(rows), est.distance(rows))
    assert est.with_prior(priors.Flat(sd=0.5)).likelihood_scale_ > 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = type(est)(likelihood_scale="calibrated").fit(rows)
    assert again.likelihood_scale_ == est.likelihood_scale_


def test_asked_false_alarms_hold_and_scores_keep_their_order(est, rows):
    new = np.random.default_rng(2).normal(size=(2000, COLUMNS))
    assert (est.predict(new) == -1).mean() == pytest.approx(0.1, abs=0.06)
    assert (est.p_value(new) <= 0.1).mean() == pytest.approx(0.1, abs=0.06)
    plain = type(est)().fit(rows)
    assert np.corrcoef(plain.score_samples(new), est.score_samples(new))[0, 1] > 0.98


def test_left_out_scores_are_those_of_refits_without_each_row(rows):
    few = rows[:25]
    shared = dict(kernel=kernels.RBF(WIDTH), cutoff="false_alarm")
    est = BDD(likelihood_scale="calibrated", prior=priors.Flat(), **shared).fit(few)
    scale = est.likelihood_scale_
    left_out = est.idata_["decision"]["left_out_score"].values
    for j in (0, 7, 20):
        others = np.delete(few, j, axis=0)
        mode = BDD(likelihood_scale=scale, prior=priors.Flat(), **shared).fit(others)
        f = kernels.RBF(WIDTH)(few[[j]], others) @ mode.map_weights_
        assert left_out[j] == pytest.approx(UNIT * f[0], abs=0.02)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"prior": student}, "must be normal"),
        ({"dictionary": 20}, "dictionary must be None"),
        ({"simplex": True}, "simplex=True"),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_what_cannot_be_calibrated_warns_and_takes_one(model, parameters, reason, rows):
    if "simplex" in parameters and model is BSVDD:
        return
    with pytest.warns(DiagnosticWarning, match=reason):
        est = model(likelihood_scale="calibrated", **parameters).fit(rows)
    assert est.likelihood_scale_ == 1.0
    plain = model(**parameters).fit(rows)
    assert np.array_equal(plain.distance(rows[:3]), est.distance(rows[:3]))


def test_a_prior_that_cannot_be_outweighed_warns(rows):
    with pytest.warns(DiagnosticWarning, match="standard errors"):
        BSVDD(likelihood_scale="calibrated", prior=priors.RowSum(sd=1e-4)).fit(rows)


def test_unsuitable_settings_are_errors(rows):
    with pytest.raises(ValueError, match="needs sampler='auto', got 'nuts'"):
        BSVDD(likelihood_scale="calibrated", sampler="nuts").fit(rows)
    with pytest.raises(ValueError, match="'likelihood_scale' parameter"):
        BSVDD(likelihood_scale="calibrate").fit(rows)
    with pytest.raises(ValueError, match="'likelihood_scale' parameter"):
        bsvdd.BSVDDM(likelihood_scale="calibrated").fit(rows, rows[:, 0] > 1)
