"""What a posterior is worth: the table against its definitions, and the variables for ArviZ."""

import warnings

import arviz as az
import numpy as np
import pytest
from bsvdd.estimators import fit, fitting
from bsvdd.inference.warning import DiagnosticWarning

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, kernels, priors

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
RNG = np.random.default_rng(90)
ROWS = np.concatenate([RNG.normal(size=(20, 2)), RNG.normal(2.0, 1.0, size=(5, 2))])
Y = np.repeat([0, 1], [20, 5])
QUICK = dict(draws=250, kernel=kernels.RBF(1.2), random_state=1)
MODELS = {
    "BDD": BDD(prior=priors.Flat(sd=0.1), **QUICK),
    "BSVDD": BSVDD(prior=priors.Flat(sd=1.5), **QUICK),
    "linear": BSVDD(prior=priors.Flat(sd=0.5), **QUICK | {"kernel": kernels.Linear()}),
    "groups": BSVDD(dictionary=8, **QUICK),
    "BDD-M": BDDM(**QUICK),
    "BSVDD-M": BSVDDM(minority_prior=priors.Beta(2, 2), **QUICK),
}
LOGARITHMIC = ("BSVDD", "groups")
GROUPS = ("posterior", "prior")
FREE = {
    "BDD": {"alpha0"},
    "BDD-M": {"x", "alpha1"},
    "BSVDD-M": {"tau", "alpha1"},
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    return request.param, MODELS[request.param].fit(ROWS, Y)


def of_rows(est):
    """Return the rows that the points are made of, their points, and their classes."""
    points = est.gram_.points
    group = points.point_of_member
    return points.rows, group, group < est.gram_.n_majority_points


def left_out(est, w, rows):
    """Return s_z (draws, rows) of rows that leave the points, with loops."""
    U, group, majority = of_rows(est)
    w = (w / est.gram_.points.sizes)[:, group]
    s = np.zeros((len(w), len(rows)))
    for t, weights in enumerate(w):
        for i, row in enumerate(rows):
            terms = weights * est.kernel_(ROWS[[row]], U)[0]
            others = (ROWS[row] != U).any(axis=1) & majority
            rest = weights[others].sum()
            if rest > 0.0:  # the row has not all of the weight
                scale = weights[majority].sum() / rest
                s[t, i] = scale * terms[others].sum() + terms[~majority].sum()
    return s


def test_the_table_is_that_of_its_definitions(case):
    name, est = case
    table, idata = est.summary(), est.idata_
    near = idata["posterior"]["near"].values
    w, of_prior = (idata[g]["w"].values.reshape(-1, est.gram_.n_points) for g in GROUPS)
    s, before = left_out(est, w, near), left_out(est, of_prior, near)
    for group, expected in zip(GROUPS, (s, before), strict=True):
        logarithmic = name in LOGARITHMIC
        found = idata[group]["log_s" if logarithmic else "s"].values.reshape(-1, len(near))
        np.testing.assert_allclose(found, np.log(expected) if logarithmic else expected)
    value, m = table["posterior"], est.gram_.n_majority_points
    assert value["variance_ratio"] == pytest.approx(np.median(s.var(axis=0) / before.var(axis=0)))
    total, spread, pull = w[:, :m].sum(axis=1), [], []
    for i, row in enumerate(near):
        k = np.array([est.kernel_(ROWS[[row]], ROWS[[j]])[0, 0] for j in range(20) if j != row])
        of_points = est.gram_.k(ROWS[[row]])[0]
        of_minority = of_points[m:] @ w[:, m:].mean(axis=0)
        spread.append(s[:, i].std() / (np.median(total) * np.sqrt(k.var() / 20)))
        pull.append((s[:, i].mean() - total.mean() * k.mean() - of_minority) / s[:, i].std())
    assert value["spread"] == pytest.approx(np.median(spread))
    assert value["pull"] == pytest.approx(np.median(pull), abs=1e-9)
    assert [value["r_hat"], value["ess"]] == [est.fit_.diagnostics[n] for n in ("r_hat", "ess")]


def test_quantities_with_draws_are_variables_for_arviz(case):
    name, est = case
    table, idata, K = est.summary(), est.idata_, est.gram_.K
    d, sizes = idata["distance"]["d"].values[..., :20], est.gram_.points.sizes
    for group in GROUPS:
        w = idata[group]["w"].values
        expected = {
            "effective_support": np.abs(w).sum(-1) ** 2 / (w**2 / sizes).sum(-1),
            "largest_weight": np.abs(w / sizes).max(-1),
            "squared_norm": np.einsum("cdi,ij,cdj->cd", w, K, w),
        }
        if est.gram_.n1:
            expected["minority_total"] = -w[..., 20:].sum(-1)
        if group == "posterior":
            expected["typical_distance"] = np.median(d, axis=-1)
        for quantity, draws in expected.items():
            np.testing.assert_allclose(idata[group][quantity], draws)
        for quantity in {*expected, "typical_distance"}:
            ends = np.quantile(idata[group][quantity], [0.05, 0.5, 0.95])
            np.testing.assert_allclose(table.loc[quantity, group], ends[1])
            if group == "posterior":
                np.testing.assert_allclose(table.loc[quantity, ["low", "high"]], ends[[0, 2]])
        assert FREE.get(name, {"beta"}) <= set(idata[group].data_vars)
    scalars = [*expected, "typical_distance", "log_s" if name in LOGARITHMIC else "s"]
    found = az.summary(idata, var_names=scalars)
    assert len(found) == len(scalars) - 1 + idata["posterior"].sizes["near"]
    assert table.index.name == "quantity"


def test_draws_of_the_prior_are_made_when_they_are_asked_for(monkeypatch, tmp_path):
    """The warning of a posterior that is its prior asks for them, once for all fits of a model."""
    asked, genuine = [], fit.prior_draws
    monkeypatch.setattr(fit, "prior_draws", lambda *a, **k: asked.append(1) or genuine(*a, **k))
    est = BSVDD(**QUICK).fit(ROWS[:20])
    est.save(tmp_path / "fit.nc")
    other = est.with_cutoff(0.9)
    assert len(asked) == 1
    BSVDDM(**QUICK).fit(ROWS, np.arange(25) >= 20)
    assert len(asked) == 1  # no warning, no draws
    est.set_params(prior=priors.Flat(sd=9.0))  # the fit keeps its own
    other.idata_, est.summary(), est.idata_
    assert len(asked) == 1  # one fit
    again = bsvdd.load(tmp_path / "fit.nc")
    np.testing.assert_array_equal(again.idata_["prior"]["w"], est.idata_["prior"]["w"])


@pytest.mark.parametrize(
    ("est", "warns"),
    [
        (BSVDD(kernel=kernels.RBF(0.2), prior=priors.Flat(sd=0.5), likelihood_scale=1.0), True),
        (BSVDD(kernel=kernels.RBF(0.02), prior=priors.Flat(sd=0.5), cutoff=1.0), True),
        (BSVDD(kernel=kernels.RBF(1.0), prior=priors.Flat(sd=0.01)), True),
        (BSVDD(kernel=kernels.RBF(1.0), prior=priors.Flat(sd=1.5), likelihood_scale=30.0), False),
        (BDD(prior=priors.Flat(sd=0.01), likelihood_scale=0.01), True),
        (BDD(prior=priors.Flat(sd=1.0)), False),
        (BSVDD(prior=lambda gram, name, dims: pm_flat(name, dims), sampler="metropolis"), False),
        (BDD(simplex=True), False),
    ],
    ids=["narrow", "underflow", "prior", "learnt", "BDD", "BDD learnt", "improper", "one estimate"],
)
def test_a_posterior_that_is_its_prior_is_warned_of(est, warns):
    est.set_params(random_state=0).fit(np.random.default_rng(5).normal(size=(60, 3)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitting.warn_of(est.fit_)
    texts = [str(w.message) for w in caught if "is its prior" in str(w.message)]
    assert len(texts) == warns
    if warns:
        ratio = est.summary().loc["variance_ratio", "posterior"]
        assert "the posterior is its prior: near the cutoff the similarity of a row" in texts[0]
        assert f"has {ratio:.2f} of its prior variance" in texts[0] and ratio > 0.9
        calibrated = est.likelihood_scale == "calibrated"
        remedy = "a prior with a larger sd" if calibrated else "likelihood_scale='calibrated'"
        assert f"use {remedy}, or a kernel with a larger bandwidth" in texts[0]


def pm_flat(name, dims):
    import pymc as pm

    return pm.Flat(name, dims=dims)


@pytest.mark.parametrize("n0", [60, 200])
@pytest.mark.parametrize("cls", [BDDM, BSVDDM])
def test_with_few_labels_the_default_posterior_is_as_wide_as_samples(cls, n0):
    rng = np.random.default_rng(n0)
    rows = np.concatenate([rng.normal(size=(n0, 3)), rng.normal(3.0, 1.0, size=(12, 3))])
    est = cls().fit(rows, np.repeat([0, 1], [n0, 12]))
    assert 0.65 <= est.summary().loc["spread", "posterior"] <= 1.2
    usual = est.probability_normal(0.5 * rng.normal(size=(50, 3)))
    assert usual.mean() >= 0.95


def test_too_many_labels_for_lambda_1_are_told():
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(size=(200, 3)), rng.normal(3.0, 1.0, size=(150, 3))])
    with pytest.warns(DiagnosticWarning, match="are too narrow; use a smaller likelihood_scale"):
        BDDM().fit(rows, np.repeat([0, 1], [200, 150]))
