"""Each plot of ArviZ on each variant: the table of docs/reference/inference.md."""

import re
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, kernels

PAGE = (
    Path(__file__).parents[2].joinpath("docs/reference/inference.md").read_text("utf-8")
)
NUMBERS = {"var_names": ["effective_support", "squared_norm"]}
ONE = {"var_names": "effective_support"}
FOCUS = {"var_names": ["effective_support"], "focus_var": "squared_norm"}
BINARY = {"data_type": "binary"}

# function: what it is given, and how
OF_DRAWS = [
    *(
        "autocorr",
        "convergence_dist",
        "dgof",
        "dgof_dist",
        "dist",
        "ess",
        "ess_evolution",
    ),
    *("forest", "mcse", "pair", "parallel", "prior_posterior", "rank"),
    *("rank_dist", "ridge", "trace", "trace_dist"),
]
WORKS = {
    **{name: ("draws", NUMBERS) for name in OF_DRAWS},
    "bf": ("draws", ONE),
    "pair_focus": ("draws", FOCUS),
    "psense_dist": ("draws", NUMBERS),
    "psense_quantities": ("draws", NUMBERS),
    "compare": ("compare", {}),
    "ecdf_pit": ("p-values", {"group": "posterior"}),
    "ppc_pava": ("decisions", BINARY),
    "ppc_pava_residuals": ("decisions", {"x_var": "x1", **BINARY}),
    "ppc_tstat": ("decisions", {}),
    "ppc_interval": ("decisions", {}),
}
CANNOT = [
    *("khat", "lm", "loo_interval", "loo_pava", "loo_pit", "ppc_censored", "ppc_dist"),
    *("ppc_dist_pit", "ppc_pit", "ppc_rootogram"),
]
VARIANTS = {cls.__name__: cls for cls in (BDD, BDDM, BSVDD, BSVDDM)}
QUICK = ["convergence_dist", "dist", "compare", "ecdf_pit", "ppc_pava"]

pytestmark = pytest.mark.filterwarnings("ignore")  # of ArviZ, of small fits


@pytest.fixture(scope="module", params=VARIANTS)
def inputs(request):
    """Return what functions are given of a small fit of a variant."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(24, 2)), rng.normal(2.5, 0.7, size=(5, 2))])
    y = np.repeat([0, 1], [24, 5])
    est = VARIANTS[request.param](
        kernel=kernels.RBF(1.0), draws=60, tune=30, chains=2
    ).fit(X, y)
    density = BSVDD(kernel=kernels.RBF(1.0), draws=60, tune=30, chains=2).fit(X[:24])
    other = density.with_prior(type(density.prior)(sd=0.9 * density.prior.sd))
    decisions = {
        "posterior_predictive": xr.Dataset(
            {"abnormal": (est.distance(X) > est.cutoff_) * 1}
        ),
        "observed_data": xr.Dataset({"abnormal": ("obs", y)}),
        "constant_data": xr.Dataset({"x1": ("obs", X[:, 0])}),
    }
    p = xr.Dataset({"p": (("chain", "draw"), bsvdd.p_value(est, X[:24])[None])})
    return {
        "draws": est.idata_,
        "compare": az.compare({"a": bsvdd.elpd(density), "b": bsvdd.elpd(other)}),
        "p-values": xr.DataTree.from_dict({"posterior": p}),
        "decisions": xr.DataTree.from_dict(decisions),
    }


@pytest.mark.parametrize(
    "function",
    [f if f in QUICK else pytest.param(f, marks=pytest.mark.long) for f in WORKS],
)
def test_functions_of_arviz(inputs, function):
    what, arguments = WORKS[function]
    getattr(az, f"plot_{function}")(inputs[what], **arguments)
    plt.close("all")


@pytest.mark.long
def test_draws_of_nuts_have_an_energy():
    rows = np.random.default_rng(0).normal(size=(24, 2))
    az.plot_energy(BSVDD(sampler="nuts", draws=20, tune=20, chains=2).fit(rows).idata_)


def test_the_page_has_every_function_of_arviz():
    functions = {
        name.removeprefix("plot_")
        for name in dir(az)
        if name.startswith("plot_") and callable(getattr(az, name))
    }
    assert {*WORKS, "energy", *CANNOT} == functions and len(WORKS) >= 24
    table = "".join(line for line in PAGE.splitlines() if line.startswith("|"))
    named = re.findall(r"`plot_([a-z_]+)`", table)
    assert sorted(named) == sorted(functions)
    cannot = " ".join(line for line in PAGE.splitlines() if "cannot: they need" in line)
    assert sorted(re.findall(r"`plot_([a-z_]+)`", cannot)) == sorted(CANNOT)
