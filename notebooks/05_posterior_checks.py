# ---
# jupyter:
#   jupytext:
#     formats: py:percent,ipynb
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 5. Posterior checks with ArviZ
#
# **Question.** Can we trust the draws, and what do the data add to the prior?
#
# **Model.** BSVDD on a half moon with 150 majority rows. The quantities of interest are the weights
# $w_j$ and the distances $d_z$ of a few points $z$. Both are functions of $\beta$:
#
# $$w = \mathrm{softmax}(\beta), \quad \beta \sim N(m, \sigma^2 I), \quad
# d_z^2 = k(z, z) - 2 \sum_j w_j k(x_j, z) + w^\top K w .$$
#
# `est.idata_` is an `xarray.DataTree`, the format of all tools of ArviZ 1.

# %%
import logging
import os
import warnings

import arviz as az
import matplotlib.pyplot as plt
import xarray as xr
from bsvdd.comparison import datasets
from sklearn.model_selection import train_test_split

from bsvdd import BSVDD, kernels, priors

DRAWS = int(os.environ.get("BSVDD_DRAWS", "1000"))  # of each chain; tests take fewer
plt.rcParams["figure.dpi"] = 72
logging.getLogger("arviz_stats").setLevel(logging.ERROR)  # its tables say what it would log

moon = datasets.moon(n0=150, n1=15, seed=0)
est = BSVDD(draws=DRAWS, chains=4, random_state=1).fit(moon.X, moon.minority)
print(", ".join(est.idata_.children))
print(est.idata_["posterior"].attrs["why"])

# %% [markdown]
# We look at two distances and two weights: a point in the middle of the moon, a point at its
# border, and the two rows with the largest mean weights. They are put into one tree, together with
# the log prior and the log likelihood.

# %%
names = {"inside": [0.9, 0.45], "border": [0.0, 0.55]}
d = est.distance(list(names.values())).assign_coords(obs=list(names))
w = est.idata_["posterior"]["w"]
largest = w.mean(("chain", "draw")).values.argsort()[-2:].tolist()
watched = xr.Dataset({"d": d.rename(obs="z"), "w": w.sel(point=largest)})
tree = xr.DataTree.from_dict(
    {
        "posterior": watched,
        "log_prior": est.idata_["log_prior"].dataset,
        "log_likelihood": est.idata_["log_likelihood"].dataset,
    }
)
az.summary(tree, round_to=3)

# %% [markdown]
# ## Trace and rank
#
# The densities of the four chains are on the left, and their traces on the right. The distances
# $d_z$ are above (blue inside, orange at the border), and the weights $w_j$ below.

# %%


def size(width, height):
    """Return the size of a figure, with room for all labels."""
    return {"figsize": (width, height), "layout": "constrained"}


panels = az.plot_trace_dist(tree, figure_kwargs=size(7, 4.5))

# %% [markdown]
# The rank plot is a sharper check. If all chains draw from one distribution, the ranks of each
# chain are uniform, and its line stays near zero. The test assumes independent draws. So the chains
# are thinned first, to about their effective number of draws.

# %%
few = az.thin(tree["posterior"].dataset, factor=8)
panels = az.plot_rank(few, figure_kwargs=size(8, 5), col_wrap=2)

# %% [markdown]
# The chains agree: their densities coincide, no trace drifts, and no line leaves its envelope by
# more than chance (p above $\alpha$).
#
# ## What bad draws look like
#
# This example has splinters of glass, the published prior and a wide bandwidth. It asks for the
# published sampler, random-walk Metropolis, which needs many more draws than these.

# %%
glass = datasets.embedded("glass_headlamps")
X, X_new, y, _ = train_test_split(
    glass.X, glass.minority, test_size=0.5, stratify=glass.minority, random_state=0
)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    bad = BSVDD(
        kernel=kernels.Standardized(kernels.RBF("median")),
        prior=priors.RowSum(exponent=1),
        sampler="metropolis",
        draws=DRAWS,
        chains=4,
        random_state=0,
    ).fit(X, y)
for warning in caught:
    print(f"{warning.category.__name__}: {warning.message}\n")

# %%
two = bad.distance(X_new[:2]).assign_coords(obs=["splinter 0", "splinter 1"]).rename(obs="z")
few = az.thin(two.to_dataset(name="d"), factor=8)
panels = az.plot_rank(few, figure_kwargs=size(8, 2.8), col_wrap=2)

# %% [markdown]
# The lines cross the envelope: each chain has stayed for a while at a distance of its own. The
# plots of the two splinters are similar, because the centre consists of two or three rows and all
# distances from it rise and fall together ([swapping priors](03_swapping_priors.ipynb)). Use the
# default sampler here, or better, another prior.
#
# ## Effective sample size
#
# The effective sample size is the number of independent draws that the good chains are worth. It is
# shown for the bulk (blue) and the tails (orange) of each quantity. It should grow with the number
# of draws and end above the dashed line.

# %%
panels = az.plot_ess_evolution(tree, figure_kwargs=size(8, 5), col_wrap=2)

# %% [markdown]
# This holds for all four quantities, and half of the draws would have been enough.
#
# ## Forest plot: the largest weights
#
# The circle is the posterior mean. The thick bar has half of the mass, and the thin bar 89 %.

# %%
order = w.mean(("chain", "draw")).values.argsort()[::-1][:12].tolist()
some = xr.Dataset({"w": w.sel(point=order)})
panels = az.plot_forest(some, combined=True, figure_kwargs=size(7, 4))

# %% [markdown]
# No row dominates: the intervals overlap, and even the largest weight is only about .02 of the
# total.
#
# ## Pair plot: how the quantities depend on each other

# %%
panels = az.plot_pair(tree, figure_kwargs=size(7, 7))

# %% [markdown]
# There is no ridge and no second cloud, so nothing here is difficult for a sampler.
#
# ## Sensitivity by power-scaling
#
# Power-scaling gives the posterior with a little more or less of the prior, and of the likelihood.
# A quantity with a value above .05 is sensitive.

# %%
az.psense_summary(tree)

# %% [markdown]
# The prior influences all four quantities, and the data change them little. ArviZ calls this a
# strong prior or a weak likelihood. Here the reason is simple: each of 150 log weights has a prior
# with a standard deviation of .5, and with $\lambda = 1$ a row of data counts little.
# `est.sensitivity(Z)` gives the same for the $d_z$ of any rows, and for P(normal).
#
# ## Leave-one-out
#
# `idata_["log_likelihood"]` has the term $-\frac{\lambda}{2} d_i^2$ of each majority row. The
# likelihood is a quasi-likelihood, because $N(a, I)$ has no density in kernel space. So differences
# of `elpd` say how near left-out rows are to the centre, but the value of `elpd` alone has no
# meaning.

# %%
others = {
    "InverseRowSum": est,
    "StandardizedRowSum": est.with_prior(priors.StandardizedRowSum()),
    "Flat": est.with_prior(priors.Flat()),
    "RowSum, exponent 1/4": est.with_prior(priors.RowSum(exponent=0.25)),
}
az.loo(est.idata_)

# %%
az.compare({name: other.idata_ for name, other in others.items()})

# %% [markdown]
# All Pareto $\hat k$ are below .7, so the estimate can be used. `p_loo` of .01 says that no single
# row changes the centre much. With every other prior the centre is farther from left-out majority
# rows: by .4 and .5 units with the flat prior and exponent 1/4, and by 2.5 units with standardised
# row sums, which give more weight to remote rows. Each difference is many of its standard errors.
# This is a result about the centre. It does not say which prior separates the minority best, because
# `elpd` does not use any minority row.
#
# **What to conclude.** Look at $d_z$ and `w`, not only at $\beta$. R-hat, the ranks and the
# effective sample size say whether you can trust the draws. `fit` checks R-hat and the effective
# sample size itself, and warns. Power-scaling says how much the answer depends on the prior. Here
# it depends on the prior to a large part, so report the prior with the answer.
