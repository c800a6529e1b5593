"""The slides' study with the slides' methods: Metropolis, one D_opt, BDD's mode and rule.

``uv run python -m benchmarks.published`` draws pairs of data sets as Kim (2024) has them (1,000
rows train, 10,000 test, 50 features, v = 5, 10, 20), as they come and with the share 1/10 of the
minority, and v = 0, where the classes can be told apart. Four models are fitted as published
(:func:`bsvdd.as_published`): SVDD by its own sphere, BDD by its mode, on the convex set and of free
weights, and the c-th smallest training distance, BSVDD and BSVDD-M by random-walk Metropolis, with
D_opt by left-out rows. Kernel (``RBF("scale")``; SVDD has the modified mean too, which is that of
``as_published``), criterion (F1), c and the number of steps are not in the slides and are ours.
PyMC's Metropolis proposes each weight in turn, so a step of 570 weights takes 570 log densities.
Both models are beside themselves with the default sampler. The metrics, R-hat, the effective draws
of d_z and the processor time of each fit go to docs/published.json; :func:`table` and
:func:`outcomes` are the tables of docs/published.md.

Kim (2024), A comparative study on Bayesian SVDD models, slides.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.comparison import reproduction
from bsvdd.comparison.slides import Slides
from bsvdd.inference.metrics import evaluate

from bsvdd import as_published, cutoffs, kernels

from .shared import computed, options, quietly, write

PRINTED = {"cutoff": cutoffs.Printed(cutoffs.Best("f1", max_fpr=1.0))}
STEPS = {"draws": 125, "tune": 125, "chains": 2}  # each proposes every weight once, in turn
DEFAULT = {"sampler": "auto", "draws": 500, "tune": None, "chains": 4}
CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "SVDD": ("SVDD", {}),
    "SVDD, modified mean": ("SVDD", {"kernel": kernels.RBF("modified_mean")}),
    "BDD": ("BDD", {}),
    "BDD, free weights": ("BDD", {"simplex": False}),
    "BSVDD, Metropolis": ("BSVDD", PRINTED | STEPS),
    "BSVDD, default sampler": ("BSVDD", PRINTED | DEFAULT),
    "BSVDD-M, Metropolis": ("BSVDD-M", PRINTED | STEPS),
    "BSVDD-M, default sampler": ("BSVDD-M", PRINTED | DEFAULT),
}
LONG = ("BSVDD, Metropolis", "BSVDD-M, Metropolis", "BSVDD-M, default sampler")  # one pair
SETTINGS = [{"v": v, "share": share} for share in (None, 0.1) for v in (5.0, 10.0, 20.0)]
SETTINGS.append({"v": 0.0, "share": None})


@quietly()
def cell(setting: dict[str, Any], pair: int, name: str, rows: int, new: int) -> dict[str, Any]:
    """Return metrics and diagnostics of one model on one pair of data sets."""
    data = Slides(**setting, n_train=rows, n_test=new).pair(seed=pair)
    model, parameters = CANDIDATES[name]
    kernel = {"kernel": kernels.RBF("scale")}
    seed = {} if model == "SVDD" else {"random_state": pair}
    est = as_published(model, minor_label=1, **kernel | seed | parameters)
    start = time.process_time()
    est.fit(data.train.X, data.train.minority.astype(int))
    seconds = time.process_time() - start
    y, flagged = data.test.minority, est.predict(data.test.X) == -1
    return {
        **setting,
        "pair": pair,
        "model": name,
        **{key: float(value) for key, value in evaluate(y, flagged).items()},
        "share of the minority": float(y.mean()),
        "r_hat": est.fit_.chains.r_hat,
        "ess": est.fit_.chains.ess,
        "seconds": seconds,
    }


def table(frame: pd.DataFrame) -> str:
    """Return the means of each setting and model as a Markdown table, with the printed F1."""
    printed, lines = reproduction.published()["f1"], []
    keys = ["share", "v", "model"]
    for (share, v, model), rows in frame.groupby(keys, sort=False, dropna=False):
        means = rows.mean(numeric_only=True)
        key = (model.split(",")[0], int(v))
        in_slides = f"{printed[key]:.3f}" if np.isnan(share) and key in printed.index else ""
        mixed = "" if np.isnan(means.r_hat) else f"{means.r_hat:.3f} / {means.ess:.0f}"
        each = [f"{means[name]:.3f}" for name in ("f1", "fpr", "fnr", "g_mean")]
        setting = "as it comes" if np.isnan(share) else f"{share:g}"
        cells = [f"{v:g}", setting, model, str(len(rows)), each[0], in_slides, *each[1:], mixed]
        seconds = f"{means.seconds:.{0 if means.seconds >= 10 else 2}f}"
        lines.append(f"| {' | '.join([*cells, seconds])} |")
    head = (
        "v | share | model | pairs | F1 | printed F1 | FPR | FNR | G-mean | R-hat / ESS | seconds"
    )
    return "\n".join([f"| {head} |", "|---" * 11 + "|", *lines])


def outcomes(frame: pd.DataFrame) -> str:
    """Return the outcomes that slide 32 names, each with yes or no and its figures, in Markdown."""
    known = frame.fillna({"share": 0.0})
    means = known.groupby(["share", "v", "model"]).mean(numeric_only=True)

    def f1(model: str, share: float = 0.0) -> list[float]:
        return [float(means.loc[(share, v, model), "f1"]) for v in (5.0, 10.0, 20.0)]

    def said(values: list[float]) -> str:
        return ", ".join(f"{value:.3f}" for value in values)

    bayes = "BSVDD, Metropolis", "BSVDD-M, Metropolis"
    svdd, bdd = f1("SVDD"), f1("BDD")
    least = min(min(f1(name)) for name in bayes)
    rows = [("SVDD has a low F1", max(svdd) < least, said(svdd))]
    other = f1("SVDD, modified mean")
    rows.append(
        ("SVDD with the modified mean bandwidth has a low F1", max(other) < least, said(other))
    )
    for name, values in (("BDD", bdd), ("BDD, free weights,", f1("BDD, free weights"))):
        rows.append((f"F1 of {name} falls with v", values[0] > values[1] > values[2], said(values)))
    for name in bayes:
        values = f1(name)
        rises = values[0] < values[1] < values[2]
        rows.append((f"F1 of {name}, rises with v", rises, said(values)))
    share = "share of the minority"
    for name in bayes:
        p = [float(means.loc[(0.0, v, name), share]) for v in (5.0, 10.0, 20.0)]  # of its own pair
        flag_all = [2 * each / (1 + each) for each in p]
        more = all(a - b > 0.01 for a, b in zip(f1(name), flag_all, strict=True))
        what = f"{name}: F1 is above that of flagging every row ({said(flag_all)}) by .01"
        rows.append((what, more, said(f1(name))))
    for name in bayes:
        lost = min(a - b for a, b in zip(f1(name), f1(name, 0.1), strict=True))
        what = f"{name}, is robust: F1 with the share 1/10 is as large"
        rows.append((what, lost < 0.01, said(f1(name, 0.1))))
    lines = [f"| {what} | {'yes' if holds else '**no**'} | {said} |" for what, holds, said in rows]
    return "\n".join(["| outcome | here | F1 at v = 5, 10, 20 |", "|---|---|---|", *lines])


def main() -> None:
    """Measure, print, save."""
    chosen = options("published", __doc__, pairs=3, rows=1000, new=10_000)
    cells = [
        (setting, pair, name, chosen.rows, chosen.new)
        for setting in SETTINGS
        for name in CANDIDATES
        for pair in range(1 if name in LONG else chosen.pairs)
    ]
    frame = pd.DataFrame(computed(cell, cells, chosen.jobs, "fits"))
    print(table(frame), outcomes(frame), sep="\n\n")
    records = frame.to_json(orient="records", indent=0, double_precision=4)
    write(chosen.out / "published.json", records)


if __name__ == "__main__":
    main()
