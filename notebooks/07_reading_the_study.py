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
# # 7. Reading the study
#
# **Question.** Which model, prior and bandwidth for which data? Three studies answer this question,
# with one command each. This notebook reads their results:
#
#     bsvdd study slides      # the published table beside ours
#     bsvdd study settings    # generated data, one thing varied at a time
#     bsvdd study real        # data sets
#
# Each study writes its results as a table with one row for each *cell*. A cell is a model on one
# pair of a training and a test set. The results that the documentation describes are in
# `docs/study`. To read your own results, give their folder instead.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from bsvdd.comparison import (
    datasets,
    guidelines,
    paired,
    reproduction,
    runner,
    studies,
    table,
)
from bsvdd.comparison.report.table import model_rows
from bsvdd.comparison.scenarios.generators import Shape

STUDY = Path("../docs/study")
plt.rcParams["figure.dpi"] = 55  # small pictures
slides = runner.read(STUDY / "slides_results.csv")
slides.groupby("model", sort=False)[["accuracy", "f1", "fpr", "fnr", "g_mean", "auc"]].mean().round(
    3
)

# %% [markdown]
# Positive means minority, abnormal. Three rows of the table are not models: *flag all*, *flag
# none*, and *Bayes rule*, which knows the true P(abnormal | x). Compare the models of every table
# with these rows.
#
# ## The published table
#
# Accuracy, FPR and FNR together determine the share of positive test rows,
#
# $$p = \frac{\mathrm{Accuracy} - 1 + \mathrm{FPR}}{\mathrm{FPR} - \mathrm{FNR}},$$
#
# so each printed row implies a property of the data that it was computed on.

# %%
study = studies.slides()
ours, sd = reproduction.by_v(study, slides)
shares = reproduction.share_table(ours)
figure = reproduction.implied_shares(ours)
shares.round(3)

# %% [markdown]
# In this share three models agree with each other and with our data. The share of BDD is one minus
# that of the others, so its row calls the other class positive. The next table has the distance
# between our means and the printed means, over six metrics and three values of $v$. The first
# column uses the printed rows as they are; in the second column the positive class of BDD is
# corrected. Nothing was tuned to the printed means. The metrics of BSVDD agree too. The other
# models flag another share of the rows than the printed ones do.

# %%
reproduction.distances(ours).round(3)

# %%
best = reproduction.best_f1(study)
figure = reproduction.f1_against_flag_all(ours, best)

# %% [markdown]
# The line is the F1 of flagging every row, $2p/(1 + p)$. A cross is the best F1 that any threshold
# on the true probability reaches. Almost nothing is possible above the line: with $v \ge 5$ the
# coefficients are nearly all noise.

# %%
reproduction.verdicts(ours, best).round(3)

# %% [markdown]
# ## Settings with a signal
#
# The second study starts from $v = 0$ and changes one thing at a time. All models follow one
# protocol. The bandwidth, the regularisation parameter and the cutoff of each model are chosen on
# its training rows.

# %%
plan = studies.settings()
results = plan.read(STUDY)
sections = guidelines.sections(plan, results)
main = model_rows(results[plan.main.name])
figure = guidelines.overview(main)

# %% [markdown]
# A row is a setting, a column is a model, and the number is the mean G-mean. A grey cell means that
# the model needs labelled minority rows, and that the setting has none.
#
# Do the models differ by more than chance? Each setting ranks the models, and Friedman's test asks
# whether the rankings agree. A bar joins models for which Nemenyi's test finds no significant
# difference.

# %%
labelled = guidelines.labelled_rows(plan, main)
figure = guidelines.critical_difference(paired.rank(labelled, "g_mean"))

# %%
figure = guidelines.critical_difference(paired.rank(labelled, "auc"))

# %% [markdown]
# G-mean measures the decision, including the cutoff. AUC measures only the ranking of the
# distances. If a model has a good rank by AUC and a bad rank by G-mean, its cutoff does not carry
# over to new rows.
#
# ## The guidelines
#
# The last column of each table is its verdict: how many models the test does not tell apart from the best one.

# %%
sections["Over all settings"].round(3)

# %%
situations = {
    title.removeprefix("Situation: "): section[["best", "G-mean", "not told apart", "verdict"]]
    for title, section in sections.items()
    if title.startswith("Situation: ")
}
pd.concat(situations).round(3)

# %%
sections["Time"].round(3)

# %% [markdown]
# ## Are the defaults right?
#
# This part uses the same settings without tuning, for each prior and for each bandwidth criterion.

# %%
pd.concat([sections["Priors"], sections["Bandwidths"]])[
    ["best", "not told apart", "default", "its difference", "verdict"]
].round(3)

# %%
values = results[f"{plan.main.name}: bandwidths"]
values = model_rows(values).groupby("model", sort=False)[["g_mean", "auc"]].mean()
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
values.plot.barh(ax=ax, color=["#0072B2", "#E69F00"], width=0.75)
ax.invert_yaxis()
ax.set(xlabel="mean over settings", ylabel="", xlim=(0.4, 1))
legend = ax.legend(["G-mean", "AUC"], frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
# %% [markdown]
# ## Data sets
#
# The same analysis with embedded data sets in place of generated ones, on random halves. Halves of
# one data set share rows. So the number of data sets counts here, not the number of replicates.

# %%
plan = studies.real([datasets.embedded(name) for name in datasets.names()])
results = plan.read(STUDY)
sections = guidelines.sections(plan, results)
labelled = guidelines.labelled_rows(plan, model_rows(results[plan.main.name]))
figure = guidelines.critical_difference(paired.rank(labelled, "g_mean"))

# %%
sections["Over all settings"].round(3)

# %%
sections["What labels are worth"].round(3)

# %%
pd.concat([sections["Priors"], sections["Bandwidths"]])[
    ["best", "not told apart", "default", "its difference", "verdict"]
].round(3)

# %% [markdown]
# ## Your own study
#
# A study of your own is a list of settings and of candidates (models with their parameters) under a
# protocol. Each cell is stored when it is finished, so that a run that was stopped can continue.
# This example has two models on one setting.

# %%
mine = runner.Study(
    "mine",
    [Shape("moons", n_test=500)],
    studies.select_candidates(["SVDD", "BSVDD"]),
    studies.DEFAULTS,
    replicates=2,
)
table.summary(mine.run())

# %% [markdown]
# **What to conclude.** The printed table compares cutoffs on data without signal. With a signal,
# the best model depends on what is known about the minority, and the guidelines say how much. They
# hold for settings like these. `bsvdd study real --data-dir FOLDER` gives the answer for your own
# data.
