"""A model that differs from one before in its data only derives nothing, and all is its own."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference import known_models, structure
from bsvdd.inference.log_density import LogDensity
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m

from bsvdd import kernels, priors

RNG = np.random.default_rng(61)
ROWS, MINORITY = RNG.normal(size=(12, 2)), RNG.normal(size=(4, 2))


def gram(n, n1=0):
    return Gram.from_rows(kernels.RBF(1.0), ROWS[:n], MINORITY[:n1])


def by(prior, n=9):
    return bsvdd.build(gram(n), prior)


def assert_is_its_own(model):
    """Density and initial point are those of PyMC for this very model."""
    density, point = LogDensity(model), model.initial_point()
    x = np.concatenate([np.ravel(point[v.name]) for v in model.value_vars])
    np.testing.assert_array_equal(density._center, x)
    x = np.random.default_rng(0).normal(size=x.shape)
    parts = dict(zip([v.name for v in model.value_vars], density._split(x), strict=True))
    expected = model.compile_logp(mode="FAST_COMPILE")(parts)
    assert density.logp_and_gradient(x)[0] == pytest.approx(float(expected), rel=1e-12)


def pairs():
    """Two models of one structure, by name."""
    row_sum, other = priors.StandardizedRowSum(), priors.RowSum(sd=0.5, exponent=0.7)
    beta = priors.Beta(2, 3, total=0.5)
    return {
        "BSVDD": (by(row_sum), by(other, 7)),
        "BDD": (bdd.build(gram(9), row_sum), bdd.build(gram(5), priors.Flat(2.0), 3.0)),
        "BSVDD-M": (
            bsvdd_m.build(gram(9, 3), row_sum, priors.Beta(total=1)),
            bsvdd_m.build(gram(8, 4), other, beta),
        ),
        "own function": tuple(
            by(lambda g, name, dims, nu=nu: pm.StudentT(name, pm.Data("nu", nu), dims=dims))
            for nu in (3.0, 30.0)
        ),
    }


@pytest.mark.parametrize("name", pairs())
def test_a_known_model_derives_nothing(name, monkeypatch):
    first, second = pairs()[name]
    LogDensity(first)
    with monkeypatch.context() as patch:
        patch.setattr(second, "logp", None)
        if name != "BSVDD-M":  # its initial point has the shape of a draw
            patch.setattr(second, "initial_point", None)
        LogDensity(second)
    assert_is_its_own(second)
    assert_is_its_own(first)


def unlike():
    """Models with the random graph of another one, or nearly."""

    def half_normal(g, name, dims, **kwargs):
        return pm.HalfNormal(name, 1.0, dims=dims, **kwargs)

    def observed(g, name, dims, value=0.0):
        scale = pm.HalfNormal(f"{name}_scale")
        pm.Normal("measured", 0.0, scale, observed=value)
        return pm.Normal(name, 0.0, scale, dims=dims)

    def custom(shift):
        def logp(value, *_):
            return -0.5 * (value - shift) ** 2

        return lambda g, name, dims: pm.CustomDist(name, logp=logp, dims=dims)

    return {
        "transforms": [
            by(half_normal),
            by(lambda *args: half_normal(*args, default_transform=None)),
        ],
        "initial values": [
            by(lambda g, name, dims, v=v: pm.Normal(name, 0.0, 1.0, dims=dims, initval=v))
            for v in (None, np.full(9, 0.3), np.full(9, -0.7))
        ],
        "observed values": [by(lambda *args, v=v: observed(*args, value=v)) for v in (0.0, 2.0)],
        "own densities": [by(custom(shift)) for shift in (0.0, 1.5)],
        "names": [
            by(lambda g, name, dims, at=at: pm.Normal(name, pm.Data(at, 0.5), dims=dims))
            for at in ("here", "there")
        ],
    }


@pytest.mark.parametrize("name", unlike())
@pytest.mark.parametrize("order", [1, -1], ids=["forwards", "backwards"])
@pytest.mark.filterwarnings("ignore:Moment not defined", "ignore:Support point not defined")
def test_other_models_are_told_apart(name, order, monkeypatch):
    monkeypatch.setattr(known_models, "_known", [])
    for model in unlike()[name][::order] * 2:
        assert_is_its_own(model)


def test_few_models_are_kept(monkeypatch):
    monkeypatch.setattr(known_models, "_known", [])
    monkeypatch.setattr(structure, "MAX_STRUCTURES", 2)
    for nu in (2.0, 3.0, 4.0):
        LogDensity(by(lambda g, name, dims, nu=nu: pm.StudentT(name, nu, dims=dims)))
    assert len(known_models._known) == 2
