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
# **Question.** Can the draws be trusted, and what do the data say beyond the prior?
#
# **Model.** BSVDD on a half moon, 150 majority rows. What matters are the weights $w_j$ and the
# distances $d_z$ of a few points $z$, both functions of $\beta$:
#
# $$w = \mathrm{softmax}(\beta), \quad \beta \sim N(m, I), \quad
# d_z^2 = k(z, z) - 2 \sum_j w_j k(x_j, z) + w^\top K w .$$
#
# `est.idata_` is an `xarray.DataTree`, as every tool of ArviZ 1 takes it.

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
# Two distances and two weights to look at: a point amid the moon, a point at its border, and the
# two rows with the largest mean weights. They go into one tree, with the log densities that belong
# to them.

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
# Left the densities of the four chains, right their course. Above $d_z$ (blue inside, orange at
# the border), below $w_j$.

# %%


def size(width, height):
    """Return the size of a figure, with room for all labels."""
    return {"figsize": (width, height), "layout": "constrained"}


panels = az.plot_trace_dist(tree, figure_kwargs=size(7, 4.5))

# %% [markdown]
# The rank plot asks the same more sharply: if all chains draw from one distribution, the ranks of
# each are uniform, and its line stays near zero. The test behind it takes draws to be independent,
# so the chains are thinned first, to about their effective number of draws.

# %%
few = az.thin(tree["posterior"].dataset, factor=8)
panels = az.plot_rank(few, figure_kwargs=size(8, 5), col_wrap=2)

# %% [markdown]
# The chains agree: their densities lie on each other, no trace wanders, no line leaves its
# envelope by more than chance (p above $\alpha$).
#
# ## What bad draws look like
#
# Splinters of glass, the published prior at a wide bandwidth, and Laplace's approximation with
# Metropolis-Hastings asked for where the default, `sampler="auto"`, would refuse it and take NUTS.

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
        sampler="laplace",
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
# The lines cross the envelope: each chain has stayed for a while at a distance of its own. The two
# splinters look alike, as all distances rise and fall together from a centre of two or three rows
# ([swapping priors](03_swapping_priors.ipynb)). Take NUTS here, or better another prior.
#
# ## Effective sample size
#
# How many independent draws the good chains are worth, for the bulk (blue) and the tails (orange)
# of each quantity. It should grow with the number of draws and end above the dashed line.

# %%
panels = az.plot_ess_evolution(tree, figure_kwargs=size(8, 5), col_wrap=2)

# %% [markdown]
# All four do, and half of the draws would have been enough.
#
# ## Forest: the largest weights
#
# The circle is the posterior mean; the thick bar holds half of the mass, the thin one 89 %.

# %%
order = w.mean(("chain", "draw")).values.argsort()[::-1][:12].tolist()
some = xr.Dataset({"w": w.sel(point=order)})
panels = az.plot_forest(some, combined=True, figure_kwargs=size(7, 4))

# %% [markdown]
# No row stands alone: the intervals overlap, and even the largest weight is about .06 of the
# whole.
#
# ## Pair: how the quantities hang together

# %%
panels = az.plot_pair(tree, figure_kwargs=size(7, 7))

# %% [markdown]
# No ridge and no second cloud: nothing here that a sampler would get lost in.
#
# ## Sensitivity by power-scaling
#
# The posterior with a little more or less of the prior, and of the likelihood. Above .05 a
# quantity is sensitive.

# %%
az.psense_summary(tree)

# %% [markdown]
# Both prior and data move all four quantities, the prior more. ArviZ calls that a potential
# conflict of the two. Here it says: 150 log weights have a prior each, 150 rows are the data, and
# the answer is a compromise. `est.sensitivity(Z)` gives the same for the $d_z$ of any rows, and
# for P(normal).
#
# ## Leave-one-out
#
# `idata_["log_likelihood"]` has the term $-\frac{\lambda}{2} d_i^2$ of each majority row. The
# likelihood is a quasi-likelihood, as $N(a, I)$ has no density in kernel space: differences of
# `elpd` say how near rows that were left out lie to the centre, and nothing absolute.

# %%
others = {
    "StandardizedRowSum": est,
    "Flat": est.with_prior(priors.Flat()),
    "RowSum, exponent 1/4": est.with_prior(priors.RowSum(exponent=0.25)),
}
az.loo(est.idata_)

# %%
az.compare({name: other.idata_ for name, other in others.items()})

# %% [markdown]
# All Pareto $\hat k$ are below .7, so the estimate can be used; `p_loo` of .1 says that no single
# row moves the centre much. Flat and exponent 1/4 bring the centre equally near to left-out
# majority rows, the standardised prior less so (5 units, standard error .9): it gives remote rows
# more weight. That is a fact about the centre. Which prior tells the minority apart is another
# question, and `elpd` never sees a minority row.
#
# **What to conclude.** Look at $d_z$ and at `w`, not at $\beta$ alone. R-hat, ranks and effective
# sample size say whether the draws can be trusted; `fit` checks the first and the last by itself
# and warns. Power scaling says how much of the answer is the prior; here a good part, so report
# the prior with the answer.
