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
# # 1. Quick start
#
# **Question.** A laboratory has measured 13 chemical properties of 178 wines. 130 come from two
# cultivars that the laboratory knows well, and 48 come from a third cultivar. Suppose that the
# third cultivar is rare, and that the laboratory has seen only a few of its wines. Which new wines
# do not belong to the two known cultivars, and how sure are we?
#
# **Model.** BSVDD describes the normal class by one centre in kernel space. The centre is a
# weighted mean of the normal rows,
#
# $$a = \sum_j w_j\,\phi(x_j), \qquad w = \mathrm{softmax}(\beta), \qquad
# \beta_j \sim N(0, 1.5^2),$$
#
# $$\log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2 .$$
#
# The distance of a row $z$ from the centre is $d_z = \|\phi(z) - a\|$. The weights have a
# posterior, so $d_z$ has a posterior too, and
#
# $$P(d_z \le D_\mathrm{opt} \mid \text{data}) > 0.5 \quad\Longrightarrow\quad z
# \text{ is called normal.}$$
#
# $D_\mathrm{opt}$ is the cutoff.

# %%
import os

import numpy as np
import pandas as pd
import xarray as xr
from bsvdd.inference.metrics import evaluate
from sklearn.model_selection import train_test_split

from bsvdd import BSVDD, cutoffs, plots
from bsvdd.comparison import datasets

DRAWS = int(os.environ.get("BSVDD_DRAWS", "500"))  # of each chain; tests take fewer

wine = datasets.embedded("wine_cultivar3")
X, X_new, y, y_new = train_test_split(
    wine.X, wine.minority, test_size=0.5, stratify=wine.minority, random_state=0
)
pd.DataFrame(
    {"majority": [(~y).sum(), (~y_new).sum()], "minority": [y.sum(), y_new.sum()]},
    index=["training", "new"],
)

# %% [markdown]
# ## The fit
#
# The columns have different units; the default kernel puts all on one scale. `y` is `True`
# for the minority. BSVDD learns its centre from the majority rows only. The minority rows help to
# choose $D_\mathrm{opt}$, and have no other effect.

# %%
est = BSVDD(draws=DRAWS, random_state=0).fit(X, y)
print(est.kernel_)
print(f"lambda = {est.likelihood_scale_:.1f}, by calibration")
print(f"D_opt = {est.cutoff_:.4f}, by {cutoffs.Best()} over left-out rows")
est.summary().round(3)

# %% [markdown]
# Look at three numbers first. `r_hat` is near 1 and `ess` is in the hundreds or more, so the chains
# agree. `effective_support` is the number of rows that the centre rests on, $1/\sum_j w_j^2$. The
# prior has half as many. `spread` compares the posterior with repeated samples of 65 wines: the
# similarity of a wine near the cutoff has the standard deviation that such samples give it. The
# calibration of $\lambda$ sees to that.
#
# ## New wines

# %%
axes = plots.plot_distances(est, X_new, y_new)

# %% [markdown]
# Each dot is one wine. The surprise is the log of the similarity at the cutoff over the similarity of
# the wine, $s_z = \sum_j w_j k(x_j, z)$, and $d_z^2 = 1 + \|a\|^2 - 2 s_z$. It is 0 at the
# cutoff. All wines of the third cultivar are above the line. The cutoff was chosen on training
# rows, so this figure is a fair test of it. The lower ends of the intervals lie far below the dots:
# they allow for a wine beside $z$ that the 65 training wines do not show.

# %%
p = est.probability_normal(X_new)
counts = evaluate(y_new, est.predict(X_new) == -1, -est.score_samples(X_new))
pd.Series(counts).round(3).to_frame("new wines")

# %% [markdown]
# In all metrics *positive* means minority, abnormal. To flag a wine is to call it abnormal. `fpr`
# is the share of the known cultivars that is flagged. `fnr` is the share of the third cultivar that
# is missed.
#
# Three wines are the one with the largest P(normal), the one nearest to 0.5, and the one with the
# smallest:

# %%
chosen = [int(p.argmax()), int(np.abs(p - 0.5).argmin()), int(p.argmin())]
names = [f"wine {i} ({'third' if y_new[i] else 'known'})" for i in chosen]
shown = ["p_value", "probability_normal", "surprise", "low", "high", "distance"]
est.decision(X_new[chosen])[shown].set_axis(names).round(3)

# %% [markdown]
# The p-value is the rank of the wine among the left-out training wines of the known cultivars.
#
# ## From the PyMC model to P(normal)
#
# `est.model_` is the PyMC model. It is what was sampled.

# %%
print(est.model_.str_repr())

# %% [markdown]
# `w` is the softmax of `beta`, and the potential `kernel` is $\log p(x \mid w)$ above. The draws are in
# `est.idata_`, with `squared_norm`, $\|a\|^2 = w^\top K w$. From there a few lines lead to the decision as
# it is printed at the top of this page, with one number $D_\mathrm{opt}$:

# %%
printed = est.with_cutoff(cutoffs.Printed(cutoffs.Best("g_mean")))
posterior = printed.idata_["posterior"].dataset.drop_vars("point")

kernel, atom = est.kernel_, est.gram_.of_row[~y]  # each training wine is an atom
k = xr.DataArray(
    kernel(kernel.inputs(X_new), kernel.inputs(X[~y])), dims=("wine", "point")
)
d = np.sqrt(1 - 2 * xr.dot(posterior["w"][..., atom], k) + posterior["squared_norm"])
P = (d <= printed.cutoff_).mean(("chain", "draw"))
normal = P > 0.5

print(
    "P as the package has it:      ", np.allclose(P, printed.probability_normal(X_new))
)
print(
    "decision as the package has it:",
    np.array_equal(normal, printed.predict(X_new) == 1),
)

# %%
axes = plots.plot_margin(printed, X_new[chosen], names)

# %% [markdown]
# Each histogram has the draws of $D_\mathrm{opt} - d_z$, and the area right of 0 is P. The second and
# the third wine look alike here, though one is at the cutoff and the other far beyond it. With a
# narrow kernel all remote wines have $d_z^2 \approx 1 + \|a\|^2$, which rises and falls with the norm of the centre, so one number $D_\mathrm{opt}$ gives all of them P near .5.
#
# **What the default adds.** Each draw has its own cutoff, from the left-out wines under random
# weights, so the norm cancels and the uncertainty of the cutoff counts. Beside $z$ it allows for half
# a wine that the 65 do not show.

# %%
bands = ["up to .05", ".05 to .5", ".5 to .95", "above .95"]
cultivar = pd.Series(np.where(y_new, "third", "known"), name="cultivar")
table = {
    how: pd.crosstab(
        pd.cut(values, [0, 0.05, 0.5, 0.95, 1], labels=bands, include_lowest=True),
        cultivar,
    )
    for how, values in {"printed": P.values, "default": p}.items()
}
print("other decision:", int((normal.values != (p > 0.5)).sum()), "of", len(p))
pd.concat(table, axis=1).rename_axis("P(normal)").fillna(0)

# %% [markdown]
# Both cutoffs decide alike on all but a few wines. The default is sure of most wines of each kind, with
# P(normal) above .95 or below .05. The printed cutoff is sure of few known wines, and of none of the third cultivar.
#
# **What to conclude.** The centre of the two known cultivars separates the third one, although it
# was learnt without it: none of its new wines is missed, at the cost of some false alarms.
# P(normal) is not the probability that a wine is of a known cultivar, because nothing says how
# frequent the third one is. It is the probability that $z$ is among the wines that the centre of the
# whole population would call normal.
#
# Next: [swapping priors, and rows in doubt](02_swapping_priors.ipynb).
