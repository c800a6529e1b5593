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
# # 3. Posterior checks with ArviZ
#
# **Question.** Can we trust the draws, what do the data add to the prior, and how much does the
# prior count?
#
# **Model.** BSVDD with its defaults on a half moon. The quantities of interest are functions of
# $\beta$: the weights $w_j$, the similarity $s_z$ and the distance $d_z$ of a row $z$,
#
# $$w = \mathrm{softmax}(\beta), \quad \beta_j \sim N(0, 1.5^2), \quad
# s_z = \sum_j w_j k(x_j, z), \quad d_z^2 = 1 - 2 s_z + w^\top K w .$$
#
# `est.idata_` is an `xarray.DataTree`, the format of all tools of ArviZ 1.

# %%
import logging
import os

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import bsvdd
from bsvdd import BSVDD, priors
from bsvdd.comparison import datasets

DRAWS = int(os.environ.get("BSVDD_DRAWS", "500"))  # of each chain; tests take fewer
plt.rcParams["figure.dpi"] = 72
logging.getLogger("arviz_stats").setLevel(
    logging.ERROR
)  # its tables say what it would log

fits, moons = {}, {}
for n in (20, 150, 500):
    moon = datasets.moon(n0=n, n1=1, seed=0)
    moons[n] = moon.X[~moon.minority]
    fits[n] = BSVDD(draws=DRAWS, random_state=1).fit(moons[n])
est = fits[150]
print(", ".join(est.idata_.children))
print(est.idata_["posterior"].attrs)

# %% [markdown]
# ## Prior beside posterior
#
# The weights are many, so look at a few scalars. `var_names` chooses them; without it ArviZ draws
# every weight. The rows are 20, 150 and 500.

# %%
names = ["effective_support", "squared_norm", "typical_distance"]


def size(width, height):
    """Return the size of a figure, with room for all labels."""
    return {"figsize": (width, height), "layout": "constrained"}


for n, fit in fits.items():
    panels = az.plot_prior_posterior(
        fit.idata_, var_names=names, figure_kwargs=size(8, 2.2)
    )
    title = plt.gcf().suptitle(f"{n} rows", size="medium")

# %% [markdown]
# With 20 rows prior and posterior overlap. With 500 rows the posterior's effective support lies above
# the prior's, and the norm and the distance have narrow posteriors: the data decide.
# `est.summary()` has the numbers, here of 150 rows:

# %%
est.summary().round(3)

# %% [markdown]
# The last numbers are about the similarity $s_z$ of rows near the cutoff.
#
# - `variance_ratio`, the posterior variance over the prior's, is clearly below 1: the posterior is
#   not its prior.
# - `spread` is about 1: the posterior has the standard deviation that samples of this size have. This
#   is what $\lambda$ is calibrated for.
# - `pull` is about 0: a flat prior does not move the mean from equal weights.
#
# ## Where a prior counts
#
# Suppose that we doubt five rows, those farthest to the left, and expect a twentieth of the usual
# weight: their prior mean is -3. The fits keep everything else.

# %%
table = {}
for n, fit in fits.items():
    rows = np.argsort(moons[n][:, 0])[:5]
    mean = np.zeros(n)
    mean[rows] = -3
    doubtful = fit.with_prior(priors.Normal(m=mean, sd=1.5))
    for name, of_prior in (("flat", fit), ("five rows doubted", doubtful)):
        atoms = of_prior.gram_.of_row[rows]
        w = of_prior.idata_["posterior"]["w"].isel(point=atoms).sum("point")
        numbers = of_prior.summary()["posterior"].loc[
            ["variance_ratio", "spread", "pull"]
        ]
        table[n, name] = {
            "weight of the five rows": float(w.mean())
        } | numbers.to_dict()
pd.DataFrame(table).T.rename_axis(["rows", "prior"]).round(3)

# %% [markdown]
# On 20 rows the five have a quarter of the weight, and the doubt takes most of it. On 500 rows they have a
# hundredth, and the doubt changes next to nothing.
#
# ## Trace and rank

# %%
az.summary(est.idata_, var_names=names, round_to=3)

# %%
panels = az.plot_trace_dist(est.idata_, var_names=names, figure_kwargs=size(7, 5))

# %% [markdown]
# The densities of the chains are on the left, and their traces on the right. The rank plot is a
# sharper check. If all chains draw from one distribution, the ranks of each chain are uniform, and its
# line stays near zero. The test assumes independent draws. So the chains are thinned first.

# %%
few = az.thin(est.idata_["posterior"].dataset[names], factor=4)
panels = az.plot_rank(few, figure_kwargs=size(8, 2.4))

# %%
panels = az.plot_ess_evolution(est.idata_, var_names=names, figure_kwargs=size(8, 2.4))

# %% [markdown]
# The chains agree: their densities coincide, no trace drifts, and p is above $\alpha$ in each rank
# plot. The effective number of draws, in the bulk (blue) and in the tails (orange), grows with the
# draws and passes the dashed line at half of them or before. `fit` checks R-hat and the effective draws
# itself, and warns. Bad chains are in [as published](05_as_published.ipynb).
#
# ## The scale of the prior
#
# Three fits with the same $\lambda$ say what the prior's standard deviation changes:

# %%
table = {}
for sd in (1.0, 1.5, 2.0):
    other = est.with_prior(priors.Flat(sd=sd))
    table[sd] = (
        other.summary()["posterior"].loc[["variance_ratio", "spread", "pull"]].to_dict()
    )
pd.DataFrame(table).T.rename_axis("sd of the prior").round(3)

# %% [markdown]
# The prior's standard deviation sets the width of the posterior of $s_z$, and not its
# place. $\lambda$ is calibrated for 1.5.
#
# ## Leave-one-out
#
# The likelihood has the term $-\frac{\lambda}{2} d_i^2$ of each majority row. It is a quasi-likelihood,
# because $N(a, I)$ has no density in kernel space, so `az.loo` on it would compare no predictions: it
# elects the narrowest prior. With weights that sum to one and an RBF kernel the centre itself is a
# density, and `bsvdd.elpd` has its left-out log values for `az.compare`.

# %%
others = {
    "Flat(sd=1.5), the default": est,
    "InverseRowSum": est.with_prior(priors.InverseRowSum(sd=1.5)),
    "StandardizedRowSum": est.with_prior(priors.StandardizedRowSum(sd=1.5)),
    "Flat(sd=0.75)": est.with_prior(priors.Flat(sd=0.75)),
}
az.compare(
    {name: bsvdd.elpd(other) for name, other in others.items()}, round_to="none"
)[["rank", "elpd_diff", "dse"]].round(1)

# %% [markdown]
# Flat priors predict left-out rows alike, whatever their sd. Row sums in the prior give remote rows more
# weight, which costs predictions: a little by their logarithm, more by standardised row sums. This is a result about the
# normal class. It does not say which prior separates a minority best, because `elpd` uses no minority row.
#
# **What to conclude.** Choose scalars by `var_names`, and read `est.summary()` first: `spread` near 1
# says that intervals have the width of samples, `pull` how far the prior moves them. A prior that
# treats all rows alike sets the width; a prior on single rows counts with few rows, and not with
# many. R-hat, the ranks and the effective draws say whether to trust the draws.
