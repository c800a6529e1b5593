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
# # 6. Cutoffs and costs
#
# **Question.** The model gives a posterior of $d_z$. From which distance on is a row *abnormal*?
# The posterior does not answer this question. The answer depends on the costs of the two errors, so
# the cutoff is chosen after the fit and apart from it.
#
# **Model.** A row is flagged (called abnormal) when $P(d_z \le D_\mathrm{opt} \mid \text{data}) \le 0.5$. A rule
# chooses the cutoff in each draw, on the *left-out* training rows, that is, by a centre that is computed
# without them. TPR is
# the share of the minority rows that are flagged, and TNR is the share of the majority rows that
# are not flagged:
#
# | of `bsvdd.cutoffs` | what is best |
# |---|---|
# | `Best("g_mean")` | $\sqrt{\mathrm{TPR} \cdot \mathrm{TNR}}$ with FPR at most .2 (`max_fpr`), the default from 20 minority rows on |
# | `Best("balanced_accuracy", max_fpr=1)` | $(\mathrm{TPR} + \mathrm{TNR})/2$, which is equivalent to Youden's J |
# | `Best("f1", max_fpr=1)` | $2\,\mathrm{TP}/(2\,\mathrm{TP} + \mathrm{FP} + \mathrm{FN})$ |
# | `Cost(c)` | the smallest $\mathrm{FP} + c\,\mathrm{FN}$ |
# | `FalseAlarm(rate)` | the smallest cutoff with at most this share of majority rows above it; needs no minority rows |

# %%
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bsvdd.comparison import datasets
from bsvdd.inference.metrics import evaluate
from sklearn.model_selection import train_test_split

from bsvdd import BSVDD, cutoffs, kernels

DRAWS = int(os.environ.get("BSVDD_DRAWS", "500"))  # of each chain; tests take fewer

abalone = datasets.embedded("abalone_9v18")
X, X_new, y, y_new = train_test_split(
    abalone.X, abalone.minority, test_size=0.5, stratify=abalone.minority, random_state=0
)
est = BSVDD(
    kernel=kernels.Tabular(kernels.RBF(), scale="standardised"), draws=DRAWS, random_state=0
).fit(X, y)
print(f"training: {(~y).sum()} majority and {y.sum()} minority rows; new: {len(y_new)}")


def on_new_rows(est):
    """Return the cutoff and what it does to the new rows."""
    return {"D_opt": est.cutoff_} | errors(est.predict(X_new) == -1)


def errors(flagged):
    """Return the metrics of the new rows, and their cost where a miss costs 10."""
    found = evaluate(y_new, flagged)
    cost = (flagged & ~y_new).sum() + 10 * (~flagged & y_new).sum()
    return {key: found[key] for key in ("fpr", "fnr", "g_mean", "f1", "ppv")} | {"FP + 10 FN": cost}


# %% [markdown]
# The minority are old abalones (18 rings), and the majority are younger ones (9 rings). The two
# classes overlap, so the cutoff matters here. The kernel is wider than the default, so that distances
# differ in digits that can be read.
#
# ## Criteria
#
# `est.with_cutoff(...)` does not fit the model again: there is one posterior and there are many
# cutoffs.

# %%
policies = {
    "g_mean, FPR up to .2": cutoffs.Best("g_mean"),
    "g_mean": cutoffs.Best("g_mean", max_fpr=1),
    "balanced_accuracy": cutoffs.Best("balanced_accuracy", max_fpr=1),
    "f1": cutoffs.Best("f1", max_fpr=1),
    "cost, c = 2": cutoffs.Cost(2),
    "cost, c = 10": cutoffs.Cost(10),
    "cost, c = 50": cutoffs.Cost(50),
    "false_alarm .10": cutoffs.FalseAlarm(0.10),
    "false_alarm .02": cutoffs.FalseAlarm(0.02),
}
table = pd.DataFrame({k: on_new_rows(est.with_cutoff(c)) for k, c in policies.items()}).T
everything = np.ones(len(y_new), bool)
trivial = pd.DataFrame({"flag all": errors(everything), "flag none": errors(~everything)}).T
pd.concat([table, trivial]).round(3)

# %%
d_new = est.decision(X_new)["distance"].to_numpy()
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 5.4), sharex=True, layout="constrained", height_ratios=[3, 2]
)
grid = np.linspace(d_new.min(), d_new.max(), 400)
top.plot(grid, [(d_new[~y_new] > c).mean() for c in grid], color="#0072B2", label="false alarms")
top.plot(grid, [(d_new[y_new] <= c).mean() for c in grid], color="#D55E00", label="misses")
top.set(ylabel="share of the class", ylim=(0, 1))
top.legend(frameon=False)
for i, cutoff in enumerate(table["D_opt"]):
    bottom.plot(cutoff, i, "o", color="#333333", ms=5)
    for ax in (top, bottom):
        ax.axvline(cutoff, color="#999999", linewidth=0.6)
bottom.set_yticks(range(len(table)), table.index)
bottom.invert_yaxis()
bottom.set(xlabel=r"$D_\mathrm{opt}$")
title = figure.suptitle(
    "Errors on new rows, and the cutoffs chosen on training rows", size="medium"
)

# %% [markdown]
# G-mean and balanced accuracy weigh the two error rates alike, and still choose different cutoffs on
# 21 minority rows. The higher the cost of a miss, the smaller the cutoff, and the more rows are
# flagged. At $c = 50$ nearly two thirds of all rows are flagged. F1 gives no credit for majority rows
# that are not flagged. With a weak signal it can flag everything. The default has a limit for this
# reason: with few labels the best cutoff may flag a third of the normal rows.
#
# Look at the last column. The cutoff chosen for $c = 10$ does not have the smallest such cost on
# new rows. The minority has 21 training rows, so one row changes the miss rate by a twentieth. If misses
# have a high cost, a few rows decide the cutoff. A false-alarm rate is based on 344 majority rows,
# and is more stable if the minority is small.

# %% [markdown]
# ## Left-out rows
#
# A training row pulls the centre towards itself, so its training distance is too small. It must be
# left out. Take row $j$ out of the kernel sum, and multiply the other weights by one factor, so that they
# sum to one again,
#
# $$s_j = \frac{\sum_{i \ne j} w_i k(x_i, x_j)}{1 - w_j},$$
#
# in every draw, without a refit. `est.decision()` answers the training rows so.

# %%
rows = {}
for of in ("training", "left-out"):
    found = on_new_rows(est.with_cutoff(cutoffs.Printed(cutoffs.FalseAlarm(0.1), of=of)))
    rows[of] = {"D_opt": found["D_opt"], "fpr on new rows": found["fpr"]}
pd.DataFrame(rows).T.rename_axis("distances").round(4)

# %% [markdown]
# The weights are small, so leaving a row out changes its distance little. But the distances are close
# together, and training distances give the smaller cutoff and more false alarms. On 345 new majority rows
# the standard error of this rate is $\sqrt{.1 \cdot .9 / 345}$.
#
# ## How sure

# %%
p = est.probability_normal(X_new)
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
bins = np.linspace(0, 1, 21)
for members, color, label in ((~y_new, "#0072B2", "majority"), (y_new, "#D55E00", "minority")):
    share = np.full(members.sum(), 1 / members.sum())
    ax.hist(p[members], bins, weights=share, color=color, alpha=0.6, label=label)
ax.axvline(0.5, color="#333333", linestyle="--", linewidth=1)
ax.set(xlabel="P(normal | data) of new rows", ylabel="share of the class")
legend = ax.legend(frameon=False)
print(f"minority rows with P(normal) above .95: {(p[y_new] > 0.95).mean():.0%}")

# %% [markdown]
# The figure shows a problem that no cutoff can solve. Some of the minority rows
# have P(normal) above .95: the model is sure that they lie among the majority. P(normal) describes
# the position of $z$, not its class. If the classes overlap, these are two different questions.
# Then labelled minority rows in the centre can help: see BSVDD-M in [the four
# models](02_four_models.ipynb).
#
# **What to conclude.**
#
# - Decide what a miss costs, or which false-alarm rate you can accept. If you know neither, start
#   with G-mean.
# - With few minority rows prefer a false-alarm rate, because it is based on the many majority rows.
# - Cutoffs are chosen on left-out rows, which needs no refit.
# - Another cutoff does not need another fit. Try several.
