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
# # 2. Four models side by side
#
# **Question.** How do SVDD, BDD, BSVDD and BSVDD-M describe the same rows?
#
# **Models.** All four have one centre $a = \sum_j w_j \phi(u_j)$ in kernel space. They call $z$
# abnormal when its distance from the centre is too large,
#
# $$d_z^2 = k(z, z) - 2 \sum_j w_j k(u_j, z) + w^\top K w .$$
#
# The models differ in the weights $w$.
#
# | model | weights | prior | learns from |
# |---|---|---|---|
# | SVDD | $\max_w \sum_j w_j K_{jj} - w^\top K w$, $\sum w_j = 1$, $0 \le w_j \le C$ | none, one estimate | majority |
# | BDD | $w = \alpha$ | $\alpha \sim N(m, \Sigma)$ | majority |
# | BSVDD | $w = \mathrm{softmax}(\beta)$ | $\beta \sim N(m, \Sigma)$ | majority |
# | BSVDD-M | $w = [(1 + \sum \alpha_1)\,\mathrm{softmax}(\tau),\ -\alpha_1]$ | $\tau \sim N(m, \Sigma)$, $\alpha_1 \sim \mathrm{Beta}$ | majority and minority |
#
# The three Bayesian models have the same likelihood over the majority rows,
# $-\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2$.

# %%
import os

import numpy as np
import pandas as pd
from bsvdd.comparison import datasets
from bsvdd.inference.metrics import evaluate

from bsvdd import BDD, BSVDD, BSVDDM, SVDD, plots, priors

DRAWS = int(os.environ.get("BSVDD_DRAWS", "500"))  # of each chain; tests take fewer

train = datasets.moon(n0=150, n1=15, seed=0)
new = datasets.moon(n0=1000, n1=100, seed=1)

# %% [markdown]
# The rows are a noisy half moon of 150 majority rows, and 15 minority rows on the facing moon. All
# models have their defaults: the same kernel and bandwidth, and with fewer than 20 minority rows the
# cutoff for a tenth of false alarms, by left-out rows, that is, training rows in a centre without
# them. So only the weights differ. The default prior of BDD and BSVDD has the same
# mean for all rows, and $\lambda$ by calibration. BSVDD-M keeps $\lambda = 1$, because a larger one
# switches the minority rows off, and has a prior with the smaller sd that such a $\lambda$ needs. Its minority
# weights have the published prior, `Beta(1, 1)`: their total can grow with the number of minority rows.

# %%
models = {
    "SVDD": SVDD(),
    "BDD": BDD(draws=DRAWS),
    "BSVDD": BSVDD(draws=DRAWS),
    "BSVDD-M": BSVDDM(draws=DRAWS),
}
for est in models.values():
    est.fit(train.X, train.minority)

# %%
axes = plots.plot_boundary(models, train.X, train.minority)
axes[0].figure.set_dpi(70)

# %% [markdown]
# The line is the boundary of the decision. P(normal) changes over a band beside it, where the data
# leave it open. SVDD has one estimate of its weights, so its band is that of the cutoff and of rows
# that the sample has not shown; the others add the weights. The band of BSVDD and BDD is widest at the
# tips of the moon, which have few rows.
#
# ## Where the weights are

# %%
rows = []
for name, est in models.items():
    w = est.idata_["posterior"]["w"].values.reshape(-1, len(est.gram_.K))
    total = w.sum(axis=1)
    support = np.median(np.abs(w).sum(axis=1) ** 2 / np.square(w).sum(axis=1))
    rows.append(
        {
            "model": name,
            "points": w.shape[1],
            "sum of w: mean": total.mean(),
            "sum of w: sd": total.std(),
            "smallest mean weight": w.mean(axis=0).min(),
            "effective support": support,
        }
    )
pd.DataFrame(rows).set_index("model").round(3)

# %% [markdown]
# The weights of SVDD, BSVDD and BSVDD-M sum to one. Those of BDD are free, and their sum has a
# posterior. The effective support is $(\sum_j |w_j|)^2 / \sum_j w_j^2$: the number of equal weights
# with the same concentration. BSVDD-M is the only model that has negative weights by construction:
# those of the minority rows, which push the centre away from these rows. Weights of BDD may be
# negative too, because the model has no constraint on them.

# %%
axes = plots.plot_weights(models["BSVDD-M"])

# %% [markdown]
# ## The decisions on new rows
#
# The new rows are 1,000 majority and 100 minority rows that no model has seen. To flag a row is to
# call it abnormal. The last two lines of the table are two trivial rules, flag all and flag none;
# compare every metric with them. The table has one more model: BSVDD with a prior
# that gives remote rows more weight.

# %%
models["BSVDD, row sums"] = models["BSVDD"].with_prior(priors.StandardizedRowSum(sd=1.5))
table = {
    name: evaluate(new.minority, est.predict(new.X) == -1, -est.score_samples(new.X))
    for name, est in models.items()
}
table["flag all"] = evaluate(new.minority, np.ones(len(new.X), bool))
table["flag none"] = evaluate(new.minority, np.zeros(len(new.X), bool))
pd.DataFrame(table).T.round(3)

# %% [markdown]
# **What to conclude.**
#
# - BSVDD-M has the best ranking (AUC) and the best G-mean here. It is the only model whose centre
#   depends on the minority rows, and the new minority rows are of the kind that it has seen.
# - BDD and BSVDD are alike: under priors that treat all rows alike, both centres are near the plain
#   mean. They find most of the minority, and flag few of the majority.
# - With row sums in the prior, remote rows have more weight. Here the decisions are nearly the same:
#   see [swapping priors](03_swapping_priors.ipynb).
# - SVDD rests on the rows at the border. It has the fewest false alarms, and misses most.
#
# This is one data set of one shape, and half a moon is easy to enclose. On real rows the order of
# the models is different. `bsvdd compare` fits all models to several data sets and splits.
