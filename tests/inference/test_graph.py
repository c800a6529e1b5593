"""The graph is what is sampled, whoever wrote it, and all its variables are kept."""

import re
import sys

import numpy as np
import pandas as pd
import preliz
import pymc as pm
import pytest
import xarray as xr
from bsvdd.inference import sampling
from bsvdd.inference.user_priors import OfPyMC
from bsvdd.models import bdd, bdd_m, bsvdd, bsvdd_m
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.kernels import RBF
from bsvdd.models.rows import Rows
from numpy.testing import assert_allclose, assert_array_equal

from bsvdd import BSVDD, load, priors, sensitivity
from bsvdd.base.warning import DiagnosticWarning
from tests.cases import close, run

RNG = np.random.default_rng(86)
X = RNG.normal(size=(24, 2))
TWICE = np.vstack([X, X[:6]])
MANY = RNG.normal(size=(120, 2))
T = np.arange(30.0) % 4 + 0.5
GRAM = Dictionary.of(RBF(1.0), Rows.of(X))
QUICK = {"draws": 150, "tune": 100, "chains": 2}
LONG = pytest.mark.long
FEW = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")


def flat(gram, name, dims):
    return pm.Normal(name, 0.0, 1.5, dims=dims)


class Narrow(bsvdd.BSVDD):
    """A model of a user's: the first half may not weigh much.

    Its numbers follow, as an added Potential is a part of the prior.
    """

    def build(self):
        model = super().build()
        with model:
            pm.Potential("more", -40.0 * pm.math.sum(model["w"][:12]))
        return model


class Doubled(bsvdd.BSVDD):
    """A model of a user's with another map to the weights in the graph alone."""

    def of(self, beta):
        return pm.math.softmax(beta - 1.5 * (np.arange(24) < 12))


class Renamed(bsvdd.BSVDD):
    """A model of a user's that is the same one."""

    def build(self):
        return super().build()


def with_potential(gram, name, dims):
    beta = flat(gram, name, dims)
    pm.Potential("more", -2.0 * (pm.math.sum(beta[:12]) + 12.0) ** 2)
    return beta


def with_data(gram, name, dims):
    beta = flat(gram, name, dims)
    pm.Normal(f"{name}_seen", beta[:12], 0.1, observed=-2.0 * np.ones(12))
    return beta


# the rows of atoms


def rows_of(case):
    if case == "groups":
        return Rows.of(TWICE, None, None, np.arange(30) // 3), 600
    if case == "weights":
        return Rows.of(TWICE, None, T), 600
    if case == "near":
        return Rows.of(MANY), 20
    return Rows.of(TWICE), 600


@pytest.mark.parametrize("case", ["twice", "groups", "weights", "near"])
@pytest.mark.parametrize("of", [bsvdd.BSVDD, bdd.BDD])
def test_graph_and_numbers_pool_the_rows_of_an_atom(case, of):
    rows, most = rows_of(case)
    gram = Dictionary.of(RBF(1.0), rows, most=most)
    model = of(gram, flat, 1.3)
    parts = gram.parts
    x = RNG.normal(size=(3, len(parts.first)))
    w = model.of_variables(x)
    built = model.build()
    assert built.named_vars_to_dims[model.variable] == (model.dims[model.variable],)
    name = built.rvs_to_values[built[model.variable]].name
    f = built.compile_fn(
        built.replace_rvs_by_values([built["w"]])[0], inputs=built.value_vars
    )
    for row, weights in zip(x, w, strict=True):
        close(f({name: row}), weights, 1e-12)
    # written out: sums of weights over rows
    each = parts.weight * (np.exp(x) if model.on_simplex else x)
    direct = np.array([[v[parts.atom == g].sum() for g in range(gram.m)] for v in each])
    total = direct.sum(axis=1, keepdims=True) if model.on_simplex else 1.0
    close(w, direct / total, 1e-10)
    f, difference = OfPyMC.of(model)
    assert difference == "" and f.size == len(parts.first)
    z = RNG.normal(size=f.size)
    steps = z + 1e-5 * np.vstack([np.eye(f.size), -np.eye(f.size)])
    up, down = np.split(f(steps)[0], 2)
    close((up - down) / 2e-5, f(z[None])[1][0], 2e-5)


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=LONG) for c in ("twice", "groups", "weights")]
)
def test_a_function_and_preliz_have_the_posterior_of_a_built_in_prior(case, worst_z):
    """The sums of lognormal weights agree up to the built-in one's normal form."""
    rows, most = rows_of(case)
    gram = Dictionary.of(RBF(1.0), rows, most=most)
    drawn = {
        name: sampling.draw(bsvdd.BSVDD(gram, prior, 9.0), draws=1500, seed=3).w
        for name, prior in {
            "built in": priors.Flat(1.5),
            "function": flat,
            "PreliZ": preliz.Normal(0.0, 1.5),
        }.items()
    }
    expected = drawn["built in"]
    for w in (drawn["function"], drawn["PreliZ"]):
        assert np.abs(w.mean(axis=0) - expected.mean(axis=0)).max() < 0.006
        assert_allclose(w.std(axis=0), expected.std(axis=0), rtol=0.15)
    doubled = drawn["function"][:, :6].sum(axis=1).mean()
    assert abs(doubled - expected[:, :6].sum(axis=1).mean()) < 0.012


# a changed model


@pytest.mark.filterwarnings("ignore:the PyMC model is another one")
@FEW
@pytest.mark.parametrize(
    "change",
    [pytest.param(c, marks=LONG) for c in (Doubled, with_data, Narrow, with_potential)],
)
def test_a_changed_model_is_sampled_as_it_is(change):
    is_class = isinstance(change, type)
    of, prior = (change, priors.Flat(1.5)) if is_class else (bsvdd.BSVDD, change)
    model = of(GRAM, prior, 9.0)
    drawn = sampling.draw(model, draws=400, seed=1)
    own = pm.sample(
        400,
        tune=400,
        model=model.build(),
        nuts_sampler="nutpie",
        progressbar=False,
        random_seed=2,
        quiet=True,
    )["posterior"]
    first = own["w"].isel(point=slice(12)).sum("point").to_numpy().ravel()
    close(drawn.w[:, :12].sum(axis=1).mean(), first.mean(), 0.03)
    ends = [0.1, 0.5, 0.9]
    of_draws = np.quantile(drawn.w[:, :12].sum(axis=1), ends)
    assert_allclose(of_draws, np.quantile(first, ends), atol=0.03)
    unchanged = sampling.draw(bsvdd.BSVDD(GRAM, priors.Flat(1.5), 9.0), draws=400)
    assert abs(unchanged.w[:, :12].sum(axis=1).mean() - first.mean()) > 0.05


@FEW
def test_a_changed_model_is_said_and_nuts_silences_it(recwarn):
    model = bsvdd.BSVDD(GRAM, with_data, 9.0)
    with pytest.warns(DiagnosticWarning, match="its log density is -.*, in numbers -"):
        drawn = sampling.draw(model, **QUICK)
    assert drawn.sampler == "nuts" and "diverging" in drawn.stats
    recwarn.clear()
    assert sampling.draw(model, "nuts", **QUICK).sampler == "nuts"
    assert not [w for w in recwarn if "another one" in str(w.message)]


def test_a_model_of_a_user_that_is_the_same_is_not_sampled_by_nuts():
    drawn = sampling.draw(Renamed(GRAM, priors.Flat(1.5), 9.0), **QUICK)
    assert drawn.sampler == "hmc"


@pytest.mark.parametrize("of", [bdd.BDD, bdd_m.BDDM, bsvdd.BSVDD, bsvdd_m.BSVDDM])
def test_built_in_models_are_not_compared(of):
    assert not of(GRAM, priors.Flat()).is_own and of.__module__.startswith("bsvdd.")


def test_a_default_fit_imports_no_pymc():
    code = """
import sys
import numpy as np
from bsvdd import BDD, BDDM, BSVDD, BSVDDM
X = np.random.default_rng(0).normal(size=(40, 2))
for est in (BSVDD(), BDD(), BSVDDM(), BDDM()):
    est.fit(X, X[:, 0] > 1).decision(X + 0.1)
assert not {"pymc", "pytensor", "nutpie"} & set(sys.modules)
"""
    run(sys.executable, "-W", "ignore", "-c", code)


# a function as sampler


def by_metropolis(model):
    with model:
        return pm.sample(
            60,
            tune=60,
            chains=2,
            step=pm.Metropolis(),
            cores=1,
            progressbar=False,
            quiet=True,
            random_seed=1,
        )


@FEW
def test_a_function_samples():
    est = BSVDD(sampler=by_metropolis).fit(X)
    assert est.fit_.draws.sampler == "function"
    assert est.idata_["posterior"].sizes["draw"] == 60
    assert est.fit_.prior is not None and set(est.predict(X)) <= {1, -1}
    assert "a function of your own" in str(est)


DIMS = ("chain", "draw", "point")
SAMPLERS = {
    "no tree": (lambda model: None, "expected a DataTree, .* got None"),
    "no model": (lambda: None, "must take the PyMC model and return the DataTree"),
    "no posterior": (lambda model: xr.DataTree(), "with the group posterior"),
    "another model": (
        lambda model: xr.Dataset({"w": (DIMS, np.ones((1, 9, 3)))}),
        r"one for each atom of the fit, got shape \(1, 9, 3\)",
    ),
    "NaN": (
        lambda model: np.full((9, 24), np.nan),
        "the weights w are not finite",
    ),
}


@pytest.mark.parametrize("case", SAMPLERS)
def test_a_function_that_returns_no_draws_is_refused_and_the_fit_stays(case):
    est = BSVDD().fit(X)
    before = est.fit_
    f, message = SAMPLERS[case]
    with pytest.raises(ValueError, match=message):
        est.set_params(sampler=f).fit(X)
    assert est.fit_ is before


def test_a_discrete_hyperparameter_is_for_metropolis():
    def mixture(gram, name, dims):
        which = pm.Bernoulli(f"{name}_which", 0.5)
        return pm.Normal(name, 0.0, pm.math.switch(which, 0.5, 2.0), dims=dims)

    model = bsvdd.BSVDD(GRAM, mixture, 9.0)
    with pytest.raises(ValueError, match="beta_which is discrete; take sampler='met"):
        sampling.draw(model)
    drawn = sampling.draw(model, "metropolis", draws=50, tune=50, chains=2)
    assert set(np.unique(drawn.variables["beta_which"][1])) <= {0, 1}


# variables, names


def hierarchical(gram, name, dims):
    pm.modelcontext(None).add_coord("half", ["low", "high"])
    sd = pm.HalfNormal(f"{name}_sd", 1.0, dims="half")
    raw = pm.Normal(f"{name}_raw", 0.0, 1.0, dims=dims)
    half = np.arange(len(gram.parts.first)) % 2
    return pm.Deterministic(name, sd[half] * raw, dims=dims)


FRAME = pd.DataFrame(X, columns=["a", "b"], index=[f"r{i}" for i in range(24)])
PRIORS = {
    "built in": priors.Flat(1.5),
    "hierarchical": hierarchical,
    "function": flat,
}


@FEW
@pytest.mark.parametrize("name", PRIORS)
@pytest.mark.parametrize("sampler", ["auto", pytest.param("metropolis", marks=LONG)])
def test_the_tree_has_every_variable_of_the_model(name, sampler, tmp_path):
    est = BSVDD(prior=PRIORS[name], sampler=sampler, **QUICK).fit(FRAME)
    model = est.model_
    own = {v.name for v in [*model.free_RVs, *model.deterministics]}
    free = {v.name for v in model.free_RVs}
    for group in ("posterior", "prior"):
        found = est.idata_[group]
        assert own <= set(found.data_vars)
        assert found["beta"].dims == ("chain", "draw", "point")
        assert found["point"].to_numpy().tolist() == FRAME.index.tolist()
        for v in own - {"w"}:
            assert tuple(found[v].dims[2:]) == (model.named_vars_to_dims.get(v) or ())
    log_prior = est.idata_["log_prior"]
    assert set(log_prior.data_vars) == free
    direct = pm.stats.compute_log_prior(
        est.idata_, model=model, extend_inferencedata=False, progressbar=False
    )
    for v in free:
        assert_allclose(log_prior[v], direct[v], rtol=1e-9)
    if name == "hierarchical":
        assert found["half"].to_numpy().tolist() == ["low", "high"]
    again = est.with_draws(est.idata_)
    kept = again.idata_["posterior"]
    for v in own:
        assert_allclose(kept[v], est.idata_["posterior"][v], rtol=1e-12)
    est.save(tmp_path / "est.safetensors")
    functions = {"prior": PRIORS[name]} if callable(PRIORS[name]) else {}
    same = load(tmp_path / "est.safetensors", functions)
    for v in own:
        of_file = same.idata_["posterior"][v]
        assert_allclose(of_file, est.idata_["posterior"][v], rtol=1e-4, atol=1e-5)


def test_weights_are_not_stored_beside_the_variables_they_follow_from(tmp_path):
    est = BSVDD().fit(RNG.normal(size=(300, 2)))
    est.save(tmp_path / "est.safetensors")
    one = 4 * est.fit_.draws.w.size  # bytes
    assert one < (tmp_path / "est.safetensors").stat().st_size < 1.3 * one


NAMES = {
    "several levels": pd.MultiIndex.from_product([list("ab"), range(12)]),
    "days": pd.date_range("2020-01-01", periods=24),
}


@FEW
@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_a_prior_by_name_is_saved(names, tmp_path):
    m = pd.Series(np.linspace(-1, 1, 24), names)
    est = BSVDD(prior=priors.Normal(m=m), **QUICK).fit(FRAME.set_axis(names))
    est.save(tmp_path / "est.safetensors")
    assert load(tmp_path / "est.safetensors").prior == est.prior


def test_values_of_other_rows_are_refused():
    """Rows without names of their own take as many values, and by no chance others."""
    m = pd.Series(np.linspace(-1, 1, 24))
    rows = Rows.of(X[3:])
    with pytest.raises(ValueError, match="each of the 21 names of the fit, got 24"):
        rows.in_order("m", m)
    assert_array_equal(rows.in_order("m", m[:21].sample(frac=1.0)), m[:21])
    named = BSVDD(**QUICK, prior=priors.Normal(m=m.iloc[:23]))
    with pytest.raises(ValueError, match="there is none for '23'"):
        named.fit(FRAME.reset_index(drop=True).drop(index=3))


@FEW
def test_draws_of_another_prior_have_no_log_prior_of_the_fit():
    est = BSVDD(**QUICK).fit(FRAME)
    own = est.with_draws(est.idata_)
    assert "log_prior" in est.idata_.children
    assert "log_prior" not in own.idata_.children
    assert "prior" not in sensitivity(own) and "weight" in sensitivity(own)


@FEW
def test_draws_and_priors_are_matched_by_name():
    m = pd.Series(np.linspace(-1, 1, 24), FRAME.index)
    mixed = m.sample(frac=1.0, random_state=1)
    by_order = BSVDD(prior=priors.Normal(m=m.to_numpy()), **QUICK).fit(FRAME)
    for values in (mixed, mixed.to_dict(), mixed.rename_axis("obs").to_xarray()):
        est = BSVDD(prior=priors.Normal(m=values), **QUICK).fit(FRAME)
        assert_array_equal(est.fit_.draws.w, by_order.fit_.draws.w)
    w = by_order.idata_["posterior"]["w"]
    other = w.isel(point=RNG.permutation(24))
    assert_array_equal(by_order.with_draws(other).fit_.draws.w, by_order.fit_.draws.w)
    flat_w = w.stack(sample=("chain", "draw")).transpose("sample", "point")
    frame = pd.DataFrame(flat_w.to_numpy(), columns=FRAME.index)
    frame = frame.iloc[:, RNG.permutation(24)]
    assert_array_equal(by_order.with_draws(frame).fit_.draws.w, by_order.fit_.draws.w)
    with pytest.raises(ValueError, match=r"unstack\('sample'\)"):
        by_order.with_draws(flat_w)
    bare = by_order.with_draws(w.to_numpy()).fit_.draws.w
    assert_array_equal(bare, by_order.fit_.draws.w)


@FEW
@pytest.mark.filterwarnings("ignore:.*of the rows have copies")
def test_a_point_has_the_name_of_its_first_row_and_their_number():
    rows = pd.DataFrame(TWICE, columns=["a", "b"], index=[f"r{i}" for i in range(30)])
    est = BSVDD(**QUICK).fit(rows.iloc[::-1])
    assert est.gram_.names.tolist() == [f"r{i}" for i in range(29, 5, -1)]
    est = BSVDD(**QUICK).fit(rows, groups=np.arange(30) // 2)
    assert est.gram_.names[:2].tolist() == ["r0 (2 rows)", "r2 (2 rows)"]
    same = BSVDD(**QUICK).fit(rows.set_axis(["one"] * 30))
    assert same.gram_.names.tolist() == list(range(24))
    assert re.fullmatch(r"r\d+", est.idata_["decision"]["obs"].to_numpy()[3])


def test_values_of_rows_for_a_prior_function():
    rows = Rows.of(TWICE, None, T, np.arange(30) // 3)
    gram = Dictionary.of(RBF(1.0), rows)
    found = gram.at_rows("m", np.arange(30.0))
    assert_allclose(found[0], T[:3] @ np.arange(3.0) / T[:3].sum())
    assert len(found) == len(gram.parts.first)


# containers


@FEW
def test_the_data_of_the_model_are_containers():
    est = BSVDD(**QUICK).fit(FRAME)
    model = est.model_
    assert {v.name for v in model.data_vars} == {"K", "r", "T", "n0"}
    before = model.compile_logp()(model.initial_point())
    with model:
        pm.set_data({"r": 2.0 * est.gram_.r})
    after = model.compile_logp()(model.initial_point())
    close(after - before, est.likelihood_scale_ * est.gram_.r.mean(), 1e-9)
    fixed = pm.do(est.model_, {"beta": np.zeros(24)})
    close(pm.draw(fixed["w"]), np.full(24, 1 / 24), 1e-12)


@FEW
@pytest.mark.filterwarnings("ignore:The effect of Potentials")
def test_distances_of_new_rows_are_variables_of_the_model():
    est = BSVDD(**QUICK).fit(FRAME)
    Z = pd.DataFrame(RNG.normal(size=(5, 2)), columns=["a", "b"], index=list("uvxyz"))
    model = est.model_at(Z)
    with model:
        tree = pm.sample_posterior_predictive(
            est.idata_, var_names=["d"], progressbar=False, random_seed=1
        )
    found = tree["posterior_predictive"]["d"]
    assert_allclose(found, est.distance(Z), rtol=1e-9)
    assert found["obs"].to_numpy().tolist() == list("uvxyz")
    with model:
        pm.set_data({"K_new": np.zeros((5, 24))})
        prior = pm.sample_prior_predictive(50, random_seed=1)["prior"]
    assert prior["d"].min() > 1.0
