"""A model with another potential, other weights or a third prior works, or fails clearly."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pymc as pm
import pytest
from bsvdd.estimators.bayesian import Bayesian
from bsvdd.models.bsvdd import Softmax
from bsvdd.models.model import Model
from bsvdd.models.potential import kernel_potential
from bsvdd.models.priors.base import make_variable

from bsvdd import SVM, Cutoff, cutoffs, kernels, priors

QUICK = dict(draws=120, tune=60, kernel=kernels.RBF(1.5))
pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@dataclass(frozen=True)
class Cubic:
    """The numbers of a potential of the first point only, -scale/3 d^3."""

    scale: float

    potential: ClassVar[str] = "cubic"

    def pointwise(self, d):
        return -self.scale / 3 * d**3


@dataclass(frozen=True)
class OtherPotential(Model):
    def build(self, gram):
        with pm.Model(coords={"point": range(gram.n_points)}) as model:
            beta = make_variable(self.prior, gram, "beta", "point")
            w = pm.Deterministic("w", pm.math.softmax(beta), dims="point")
            gram_matrix = pm.Data("gram_matrix", gram.K)
            Kw = gram_matrix @ w
            d2 = gram_matrix[0, 0] - 2 * Kw[0] + w @ Kw
            pm.Potential("cubic", -self.scale / 3 * d2**1.5)
        return model

    def weight_map(self, gram):
        return Softmax()

    def likelihood(self, gram):
        return Cubic(self.scale)


@dataclass(frozen=True)
class Silent(OtherPotential):
    def likelihood(self, gram):
        return super(OtherPotential, self).likelihood(gram)


@dataclass(frozen=True)
class DoubledWeights(Model):
    sums_to_one: ClassVar[bool] = True

    def build(self, gram):
        with pm.Model(coords={"point": range(gram.n_points)}) as model:
            beta = make_variable(self.prior, gram, "beta", "point")
            w = pm.Deterministic("w", 2 * pm.math.softmax(beta), dims="point")
            kernel_potential(w, gram, self.scale)
        return model


@dataclass(frozen=True)
class DoubledOnPurpose(DoubledWeights):
    sums_to_one: ClassVar[bool] = False


@dataclass(frozen=True)
class ThreePriors(Model):
    minority_prior: object = None
    scale_prior: object = None

    def build(self, gram):
        coords = {
            "point": range(gram.n_points),
            "majority": range(gram.n_majority_points),
            "minority": range(gram.n1),
        }
        with pm.Model(coords=coords) as model:
            tau = make_variable(self.prior, gram, "tau", "majority")
            alpha1 = make_variable(self.minority_prior, gram, "alpha1", "minority")
            scale = make_variable(self.scale_prior, gram, "scale", "majority")
            alpha0 = (1 + pm.math.sum(alpha1)) * pm.math.softmax(tau + scale)
            w = pm.math.concatenate([alpha0, -alpha1])
            kernel_potential(pm.Deterministic("w", w, dims="point"), gram, self.scale)
        return model


@dataclass(kw_only=True, eq=False, repr=False)
class OfThreePriors(Bayesian):
    _model = ThreePriors
    _learns_from_minority: ClassVar[bool] = True

    minority_prior: object = priors.Beta(total=1)
    scale_prior: object = priors.Flat(sd=0.1)


def estimator(model, **parameters):
    """Return an estimator of a model with the parameters of Bayesian."""
    cls = dataclass(kw_only=True, eq=False, repr=False)(
        type(model.__name__, (Bayesian,), {"_model": model})
    )
    return cls(**QUICK | parameters)


@pytest.mark.parametrize("sampler", ["auto", "metropolis"])
def test_the_log_likelihood_is_the_models_own(table, sampler):
    X, y = table
    est = estimator(OtherPotential, sampler=sampler, cutoff=0.9).fit(X, y)
    d = est.idata_["distance"]["d"].values[..., y == 0]
    np.testing.assert_allclose(est.idata_["potential"]["kernel"], -(d**3) / 3)


def test_a_potential_that_says_no_likelihood_is_an_error(table):
    for sampler in ("auto", "nuts"):
        with pytest.raises(
            NotImplementedError, match=r"potential 'kernel', .* PyMC model .* has 'cubic'; "
        ):
            estimator(Silent, sampler=sampler, cutoff=0.9).fit(*table)


def test_weights_that_do_not_sum_to_one_are_not_renormalised(table):
    with pytest.raises(ValueError, match=r"weights that sum to one, .* sum to 2; "):
        estimator(DoubledWeights).fit(*table)
    folds = Cutoff(cutoffs.Best("g_mean"), cv=3)
    assert np.isfinite(estimator(DoubledWeights, cutoff=folds).fit(*table).cutoff_)
    with pytest.raises(ValueError, match="no leave-one-out in closed form here .* a number of fo"):
        estimator(DoubledOnPurpose, cutoff=Cutoff(cutoffs.FalseAlarm(), cv="loo")).fit(*table)


def test_a_third_prior_is_swapped_and_shown(table):
    est = OfThreePriors(**QUICK | {"draws": 200}).fit(*table)
    assert "scale_prior=Flat(sd=0.1)" in repr(est)
    attrs = est.idata_["posterior"].attrs
    assert attrs["scale_prior"] == "Flat(sd=0.1)" and "prior" in attrs and "minority_prior" in attrs
    other = est.with_prior(scale_prior=priors.Flat(sd=0.2))
    assert other.scale_prior == priors.Flat(sd=0.2) and other.prior == est.prior
    spread = [e.idata_["posterior"]["scale"].values.std() for e in (est, other)]
    assert spread[1] > 1.5 * spread[0]
    with pytest.raises(
        ValueError, match="has no parameter 'other_prior'; its priors are prior, min"
    ):
        est.with_prior(other_prior=priors.Flat())


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_one_minority_row_cannot_be_left_out():
    rows, y = np.random.default_rng(3).normal(size=(40, 2)), np.arange(40) == 39
    est = SVM().fit(rows, y)
    assert set(est.predict(rows)) == {-1, 1}
    assert "No row can be left out" in str(est)
    with pytest.raises(ValueError, match=r"a fold with .* rows cannot be fitted; use"):
        est.decision(rows)
