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
# **Question.** Which model, prior and bandwidth for which data? Three studies answer, each by one
# command, and this page reads what they found:
#
#     bsvdd study slides      # the published table beside ours
#     bsvdd study settings    # generated data, one thing varied at a time
#     bsvdd study real        # data sets
#
# Each writes its results as a table with one row a *cell*, a model on one pair of a training and a
# test set. The results of the runs that the documentation speaks of lie in `docs/study`; with your
# own, give their folder instead.

# %%
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from bsvdd.comparison import (
    advice,
    datasets,
    guidelines,
    published,
    reproduction,
    runner,
    studies,
    table,
)
from bsvdd.comparison.shapes import Shape

STUDY = Path("../docs/study")
slides = runner.read(STUDY / "slides_results.csv")
slides.groupby("model", sort=False)[["accuracy", "f1", "fpr", "fnr", "g_mean", "auc"]].mean().round(
    3
)

# %% [markdown]
# Positive means minority, abnormal. Three rows are no models: *flag all*, *flag none*, and *Bayes
# rule*, which knows the true P(abnormal | x). Read every table with these beside it.
#
# ## The published table
#
# Accuracy, FPR and FNR together tell the share of positive test rows,
#
# $$p = \frac{\mathrm{Accuracy} - 1 + \mathrm{FPR}}{\mathrm{FPR} - \mathrm{FNR}},$$
#
# so each printed row says which data it was computed on.

# %%
study = studies.slides()
ours, sd = reproduction.by_v(study, slides)
shares = reproduction.share_table(study, ours)
figure = reproduction.implied_shares(shares)
shares.round(3)

# %% [markdown]
# In this share three models agree with each other and with our data. BDD's row is one minus the
# others: it calls the other class positive. Here is how far our means are from the printed ones, over
# six metrics and three values of $v$, as they stand and with that set right. Nothing was tuned to
# them. BSVDD agrees in its metrics too; the others flag another part of the rows than theirs do.

# %%
printed = published.table()
pd.DataFrame(
    {
        "as printed": published.distances(printed, ours),
        "minority positive in every row": published.distances(published.recast(printed), ours),
    }
).round(3)

# %%
figure = reproduction.f1_against_flag_all(
    ours, published.recast(printed), shares, reproduction.best_f1(study)
)

# %% [markdown]
# The line is the F1 of flagging every row, $2p/(1 + p)$, and a cross is the best that any threshold
# on the truth itself reaches. There is next to nothing above the line to be found: with $v \ge 5$
# the coefficients are nearly all noise.

# %%
for sentence in reproduction.sentences(ours, printed, shares, reproduction.best_f1(study)):
    print("-", sentence)

# %% [markdown]
# ## Settings with something to find
#
# The second study starts from $v = 0$ and changes one thing at a time. All models follow one
# protocol, and the bandwidth, price and cutoff of each are chosen on its training rows.

# %%
plan = studies.settings()
results = plan.read(STUDY)
sections, rankings = guidelines.all_findings(plan, results)
figure = advice.overview(guidelines.fitted(results[plan.main.name]))
figure.set_dpi(70)

# %% [markdown]
# A row is a setting, a column a model, and the number the mean G-mean. Grey: the model needs
# labelled minority rows, which that setting has not.
#
# Do the models differ by more than chance? Each setting ranks them, and Friedman's test asks whether
# the ranks agree. Models joined by a bar are not told apart by Nemenyi's test.

# %%
figure = advice.critical_difference(rankings["g_mean"])

# %%
figure = advice.critical_difference(rankings["auc"])

# %% [markdown]
# G-mean judges the decision, cutoff and all; AUC judges the order of the distances alone. A model
# that ranks well by AUC and badly by G-mean has a cutoff that does not transfer.
#
# ## The guidelines
#
# Every sentence is made from the results; its evidence is a table that it carries along.

# %%
for title, findings in sections.items():
    print(title)
    print("-", findings[0].sentence, end="\n\n")

# %%
sections["Time"][0].evidence.round(3)

# %% [markdown]
# ## Are the defaults right?
#
# The same settings, with nothing tuned, for each prior and for each criterion of the bandwidth.

# %%
for title in ("Priors", "Bandwidths"):
    for finding in sections[title]:
        print("-", finding.sentence)
    print()

# %%
values = results[f"{plan.main.name}: bandwidths"]
values = guidelines.fitted(values).groupby("model", sort=False)[["g_mean", "auc"]].mean()
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
values.plot.barh(ax=ax, color=["#0072B2", "#E69F00"], width=0.75)
ax.invert_yaxis()
ax.set(xlabel="mean over settings", ylabel="", xlim=(0.4, 1))
legend = ax.legend(["G-mean", "AUC"], frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
# %% [markdown]
# ## Data sets
#
# The same with embedded data sets in place of generated ones, on random halves. Halves of one set
# share rows, so here the sets are what counts, not the replicates.

# %%
plan = studies.real([datasets.embedded(name) for name in datasets.names()])
results = plan.read(STUDY)
sections, rankings = guidelines.all_findings(plan, results)
figure = advice.critical_difference(rankings["g_mean"])
figure.set_dpi(70)

# %%
for title in ("Over all settings", "What labels are worth", "Time", "Priors", "Bandwidths"):
    print(title)
    print("-", sections[title][0].sentence, end="\n\n")

# %% [markdown]
# ## Your own
#
# A study of your own is a list of settings and of candidates under a protocol; its cells are stored
# as they are finished, so that a run that was stopped goes on. Here are two models on one setting.

# %%
mine = runner.Study(
    "mine",
    [Shape("moons", n_test=500)],
    studies.of_models(["SVDD", "BSVDD"]),
    studies.DEFAULTS,
    replicates=2,
)
table.summary(mine.run())

# %% [markdown]
# **What to conclude.** The printed table compares cutoffs on data without signal. Where there is
# signal, what is known of the minority decides which model is best, and the guidelines say by how
# much; they hold for settings like these, and `bsvdd study real --data-dir FOLDER` asks your own data.
