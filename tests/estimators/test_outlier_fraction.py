"""BSVDD and BSVDD-M with SVDD's loss: from rows to decision, saved files, and bad input."""

import numpy as np
import pytest
from bsvdd.inference.compiled import compilations
from sklearn.base import clone

import bsvdd
from bsvdd import BSVDD, Cutoff, priors

NU, MU, SCALE = 0.3, 0.4, 2.0
NAMES = ["BSVDD", "BSVDDM"]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@pytest.fixture(scope="module")
def spheres(make, table):
    """Fits with SVDD's loss; do not change them."""
    changes = {"BSVDD": {}, "BSVDDM": {"minority_fraction": MU}}
    return {
        name: make(
            name, outlier_fraction=NU, likelihood_scale=SCALE, draws=400, **changes[name]
        ).fit(*table)
        for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_radius_has_a_posterior_beside_the_weights(spheres, name):
    est = spheres[name]
    posterior = est.idata_["posterior"]
    assert posterior["radius"].dims == posterior["squared_radius"].dims == ("chain", "draw")
    np.testing.assert_allclose(posterior["radius"] ** 2, posterior["squared_radius"])
    assert posterior["radius"].values.std() > 0
    assert posterior.attrs["sampler"] == "nuts" and "kinks" in posterior.attrs["why"]
    assert float(est.idata_["diagnostics"]["r_hat"]) < 1.05


def test_pointwise_log_likelihood_of_each_row(spheres, table):
    y = table[1]
    for name, rows in (("BSVDD", y == 0), ("BSVDDM", y <= 1)):
        est = spheres[name]
        found = est.idata_["log_likelihood"]["kernel"]
        np.testing.assert_array_equal(found["obs"], np.flatnonzero(rows))
        d2 = est.idata_["distance"]["d"].values ** 2
        R2 = est.idata_["posterior"]["squared_radius"].values[..., None]
        outside = R2 + np.where(d2 > R2, d2 - R2, 0) / NU
        inside = 24 / 6 / MU * np.where(d2 < R2, R2 - d2, 0)
        expected = -SCALE / 2 * np.where(y == 0, outside, inside)[..., rows]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        model, w = est.model_, est.idata_["posterior"]["w"].values
        likelihood = model["svdd"].tag.likelihood
        total = likelihood.total(w, est.gram_, R2[..., 0])
        np.testing.assert_allclose(found.sum("obs"), total, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_fit_is_the_same_and_can_go_on(spheres, table, new_rows, tmp_path, name):
    est = spheres[name]
    est.save(tmp_path / "fit.nc")
    new = bsvdd.load(tmp_path / "fit.nc")
    assert new.get_params() == est.get_params() and new.outlier_fraction == NU
    assert new.idata_["posterior"]["radius"].identical(est.idata_["posterior"]["radius"])
    np.testing.assert_array_equal(new.score_samples(new_rows), est.score_samples(new_rows))
    np.testing.assert_array_equal(new.sensitivity(new_rows[:2]), est.sensitivity(new_rows[:2]))
    near = [e.reweighted(priors.InverseRowSum(sd=0.51)) for e in (est, new)]
    np.testing.assert_array_equal(*[e.score_samples(new_rows) for e in near])


def test_other_rows_fractions_and_scales_use_the_compiled_model_again(spheres, table):
    X, y = table
    before = compilations()
    est = clone(spheres["BSVDD"]).set_params(outlier_fraction=0.7, likelihood_scale=1.0, draws=60)
    assert est.set_params(cutoff=Cutoff("false_alarm", false_alarm_rate=0.2, cv=2)).fit(X[:20])
    est = clone(spheres["BSVDDM"]).set_params(minority_fraction=0.9, draws=60)
    est.fit(X[:28], y[:28])
    assert compilations() == before


@pytest.mark.parametrize(
    ("scale", "draws", "tune"),
    [(5.0, 60, 100), pytest.param(20.0, 200, 200, marks=pytest.mark.long)],
)
def test_dear_minority_rows_lie_outside(make, table, scale, draws, tune):
    """The smaller the fraction of minority rows that may lie inside, the smaller the share is."""
    X, y = table
    X, inside = np.where(y[:, None] == 1, X[np.arange(30) - 24] + 0.3, X), []  # among the others
    for fraction in (1.0, 0.02):
        est = make("BSVDDM", outlier_fraction=NU, minority_fraction=fraction)
        p = est.set_params(likelihood_scale=scale, draws=draws, tune=tune).fit(X, y).idata_
        d = p["distance"]["d"].values[..., y == 1]
        inside.append((d < p["posterior"]["radius"].values[..., None]).mean())
    assert inside[0] > 0.4 and inside[1] < 0.1


@pytest.mark.parametrize("value", [0, 0.0, -0.1, 1.2, np.nan, "a half", None])
def test_a_fraction_outside_its_range_is_an_error(make, table, value):
    with pytest.raises(ValueError, match="'outlier_fraction' parameter of BSVDD must be a float"):
        make("BSVDD", outlier_fraction=value).fit(*table)
    with pytest.raises(ValueError, match="'minority_fraction' parameter of BSVDDM must be a float"):
        make("BSVDDM", outlier_fraction=0.5, minority_fraction=value).fit(*table)


@pytest.mark.parametrize("name", NAMES)
def test_landmarks_are_refused(make, table, name):
    X, y = table
    for dictionary in (8, X[:8]):
        message = "needs the distance of every training row.*dictionary=None, or outlier_frac"
        with pytest.raises(ValueError, match=message):
            make(name, outlier_fraction=0.5, dictionary=dictionary).fit(X, y)
    make("BSVDD", outlier_fraction=1, dictionary=8).fit(X)


def test_the_default_is_the_published_likelihood(fitted):
    assert BSVDD().outlier_fraction == 1.0
    assert "squared_radius" not in fitted("BSVDD").idata_["posterior"]
