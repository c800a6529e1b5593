"""Derivatives by the prior and by the weights of rows, against refits."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from bsvdd.inference import sampling
from bsvdd.models.bsvdd import BSVDD as Model
from bsvdd.models.dictionary import Dictionary

import bsvdd
from bsvdd import BDD, BSVDD, BSVDDM, SVDD, kernels, plots, priors
from bsvdd.estimators.sensitivity import largest

RNG = np.random.default_rng(12)
X = RNG.normal(size=(30, 2))
Z = np.array([[0.0, 2.5], [0.3, 0.1], [-1.5, -1.0]])
KERNEL, LAMBDA, STEP, MANY = kernels.RBF(0.9), 9.0, 0.25, 6000


def fitted(prior, est=BSVDD, **how):
    return est(
        kernel=KERNEL, prior=prior, likelihood_scale=LAMBDA, draws=MANY, **how
    ).fit(X)


def refits(est, prior, which):
    """Return differences of the mean log similarity of Z, means m_j apart by .5."""
    found = []
    for j in which:
        ends = []
        for step in (STEP, -STEP):
            m = np.zeros(30)
            m[j] = step
            ends.append(fitted(prior(m), est).log_similarity(Z).mean(axis=0))
        found.append((ends[0] - ends[1]) / (2 * STEP))
    return np.array(found).T


@pytest.mark.long
@pytest.mark.parametrize("sigma", [None, 0.4])
def test_by_the_prior_as_refits(sigma):
    S = None if sigma is None else np.eye(30) * (1 - sigma) + sigma

    def prior(m):
        return priors.Normal(sd=1.2, m=m, sigma=S)

    found = bsvdd.sensitivity(fitted(prior(np.zeros(30))), Z)
    which = [0, 7, 20]
    expected = refits(BSVDD, prior, which)
    own = found["prior"].isel(point=which).to_numpy()
    error = found["prior_se"].isel(point=which).to_numpy()
    assert np.abs(expected).max() > 0.03
    assert (np.abs(own - expected) < 5 * error + 0.01).all()


class Heavier(Dictionary):
    """A dictionary in whose likelihood one row weighs more."""

    more: tuple[int, float]

    @property
    def n0(self):
        return super().n0 + self.more[1]

    @property
    def T(self):
        return super().T + self.more[1]

    @property
    def r(self):
        row, more = self.more
        return super().K @ np.ones(30) + more * super().K[row]


@pytest.mark.long
def test_by_the_weight_as_refits():
    est = fitted(priors.Flat(1.2))
    found = bsvdd.sensitivity(est, Z)
    k = np.exp(-((Z[:, None] - X[None]) ** 2).sum(axis=2) / (2 * 0.9**2))
    for row in (3, 11):
        ends = []
        for more in (STEP, -STEP):
            gram = Heavier(**{n: vars(est.gram_)[n] for n in est.gram_.__match_args__})
            vars(gram).update(more=(row, more), sorted=gram, places=np.arange(30))
            model = Model(gram, priors.Flat(1.2), LAMBDA)
            w = sampling.draw(model, draws=MANY).w
            ends.append(np.log(w @ k.T).mean(axis=0))
        expected = (ends[0] - ends[1]) / (2 * STEP)
        own = found["weight"].sel(row=row).to_numpy()
        error = found["weight_se"].sel(row=row).to_numpy()
        assert (np.abs(own - expected) < 5 * error + 0.003).all()


def test_a_normal_posterior_has_a_closed_form():
    """Of BDD: the mean of w moves by the posterior covariance times the precision."""
    prior = priors.EqualWeights(0.3)
    est = fitted(prior, BDD)
    precision, _ = est.fit_.draws.model.posterior
    k = np.exp(-((Z[:, None] - X[None]) ** 2).sum(axis=2) / (2 * 0.9**2))
    D = est.fit_.draws.model.normal_prior.precision
    by_s = k @ np.linalg.solve(precision, D)  # dE[s_z] / dm
    s = est.fit_.draws.w @ k.T
    assert s.min() > 0.0
    expected = by_s / s.mean(axis=0)[:, None]  # to first order of log s
    found = bsvdd.sensitivity(est, Z)
    error = np.abs(found["prior"].to_numpy() - expected)
    assert (error < 5 * found["prior_se"] + 0.03 * np.abs(expected).max()).all()


def test_names_rows_and_pictures():
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"p{i}" for i in range(30)])
    new = pd.DataFrame(Z, columns=["a", "b"], index=["u", "v", "x"])
    est = BSVDD().fit(frame)
    found = bsvdd.sensitivity(est, new)
    assert found["obs"].to_numpy().tolist() == ["u", "v", "x"]
    assert found["point"].to_numpy().tolist() == frame.index.tolist()
    table = largest(found, most=4)
    assert table["derivative"].abs().is_monotonic_decreasing
    assert set(table["row"]) <= set(frame.index)
    axes = plots.plot_sensitivity(found)
    assert [ax.get_title().split(":")[0] for ax in axes] == ["row u", "row v", "row x"]
    names = [t.get_text() for t in axes[0].get_yticklabels()]
    assert names == largest(found.isel(obs=[0]))["row"].tolist()[::-1]
    own = bsvdd.sensitivity(est)
    assert own.sizes["obs"] == 30


def test_minority_rows_answer_and_have_no_weight():
    y = X[:, 0] > 1.2
    found = bsvdd.sensitivity(BSVDDM().fit(X, y), Z)
    assert found.sizes["row"] == found.sizes["point"] == (~y).sum()
    assert np.isfinite(found["prior"]).all()


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
def test_what_has_no_draws_or_no_normal_prior():
    with pytest.raises(TypeError, match="SVDD has one estimate of the weights"):
        bsvdd.sensitivity(SVDD().fit(X), Z)
    with pytest.raises(TypeError, match="BDD has one estimate of the weights"):
        bsvdd.sensitivity(BDD(sampler="mode").fit(X), Z)
    est = BSVDD(draws=50).fit(X)
    w = est.idata_["posterior"]["w"]
    with pytest.raises(ValueError, match="have the weights w and not 'beta'"):
        bsvdd.sensitivity(est.with_draws(w.to_dataset(name="w")), Z)
    import pymc as pm

    own = BSVDD(
        draws=50, prior=lambda gram, name, dims: pm.Normal(name, 0, 1, dims=dims)
    ).fit(X)
    found = bsvdd.sensitivity(own, Z)
    assert "prior" not in found and "weight" in found
    with pytest.raises(ValueError, match="has no 'prior', as the prior is not"):
        largest(found)


def test_some_training_rows_are_answered_as_all_are():
    est = bsvdd.BSVDD().fit(np.random.default_rng(0).normal(size=(30, 2)))
    some = bsvdd.sensitivity(est, rows=[7, 3])
    xr.testing.assert_allclose(some, bsvdd.sensitivity(est).isel(obs=[7, 3]))
    with pytest.raises(ValueError, match="give one of them"):
        bsvdd.sensitivity(est, [[0.0, 0.0]], rows=[1])
