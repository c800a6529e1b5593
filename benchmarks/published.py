"""The slides' study with the slides' methods: Metropolis, five folds, BDD's mode and rule.

``uv run python -m benchmarks.published`` draws pairs of data sets as Kim (2024) has them (1,000
rows train, 10,000 test, 50 features, v = 5, 10, 20), as they come and with the share 1/10 of the
minority, and v = 0, where the classes can be told apart. Four models are fitted as published
(:func:`bsvdd.as_published`): SVDD by its own sphere, BDD by its mode and the c-th smallest training
distance, BSVDD and BSVDD-M by random-walk Metropolis, with D_opt by five folds. Kernel
(``RBF("scale")``), criterion (F1), c and the number of steps are not in the slides and are ours.
PyMC's Metropolis proposes each weight in turn, so a step of 570 weights takes 570 log densities.
Both models are beside themselves with the default sampler. The metrics, R-hat, the
effective draws of d_z and the seconds of each fit go to docs/published.json.

Kim (2024), A comparative study on Bayesian SVDD models, slides.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.comparison.scenarios.slides import Slides
from bsvdd.inference.metrics import evaluate

from bsvdd import Cutoff, as_published, kernels

from .shared import computed, options, quiet, write

FOLDS = {"cutoff": Cutoff("f1", cv=5, uncertain=False)}
STEPS = {"draws": 250, "tune": 250, "chains": 2}  # each proposes every weight once, in turn
DEFAULT = {"sampler": "auto", "draws": 1000, "tune": 500, "chains": 2}
CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "SVDD": ("SVDD", {}),
    "BDD": ("BDD", {}),
    "BSVDD, Metropolis": ("BSVDD", FOLDS | STEPS),
    "BSVDD, default sampler": ("BSVDD", FOLDS | DEFAULT),
    "BSVDD-M, Metropolis": ("BSVDD-M", FOLDS | STEPS),
    "BSVDD-M, default sampler": ("BSVDD-M", FOLDS | DEFAULT),
}
SETTINGS = [{"v": v, "share": share} for share in (None, 0.1) for v in (5.0, 10.0, 20.0)]
SETTINGS.append({"v": 0.0, "share": None})


def cell(setting: dict[str, Any], pair: int, name: str, rows: int, new: int) -> dict[str, Any]:
    """Return metrics and diagnostics of one model on one pair of data sets."""
    data = Slides(**setting, n_train=rows, n_test=new).pair(seed=pair)
    model, parameters = CANDIDATES[name]
    est = quiet(
        lambda: as_published(
            model, kernel=kernels.RBF("scale"), random_state=pair, minor_label=1, **parameters
        )
    )
    start = time.perf_counter()
    quiet(lambda: est.fit(data.train.X, data.train.minority.astype(int)))
    seconds = time.perf_counter() - start
    y, flagged = data.test.minority, quiet(lambda: est.predict(data.test.X)) == -1
    found = {key: float(est.fit_.diagnostics.get(key, np.nan)) for key in ("r_hat", "ess")}
    return {
        **setting,
        "pair": pair,
        "model": name,
        **{key: float(value) for key, value in evaluate(y, flagged).items()},
        "share of the minority": float(y.mean()),
        **found,
        "seconds": seconds,
    }


def main() -> None:
    """Measure, print, save."""
    chosen = options("published", __doc__, pairs=3, rows=1000, new=10_000)
    cells = [
        (setting, pair, name, chosen.rows, chosen.new)
        for setting in SETTINGS
        for name in CANDIDATES
        for pair in range(1 if name.endswith("Metropolis") else chosen.pairs)
    ]
    frame = pd.DataFrame(computed(cell, cells, chosen.jobs, "fits"))
    means = frame.groupby(["share", "v", "model"], sort=False, dropna=False).mean()
    print(means.round(3).to_string())
    records = frame.to_json(orient="records", indent=0, double_precision=4)
    write(chosen.out / "published.json", records)


if __name__ == "__main__":
    main()
