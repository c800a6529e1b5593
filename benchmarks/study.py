"""Row on the study of the slides: its time."""

from __future__ import annotations

import time

from bsvdd.comparison.run import studies
from bsvdd.comparison.run.workers import Workers

from .measure import Row

JOBS = 2


def study_seconds(quick: bool) -> Row:
    """Measure the time of the full study of the slides on two processes."""
    study = studies.slides(quick)
    start = time.perf_counter()
    results = study.run(workers=Workers(JOBS))
    seconds = time.perf_counter() - start
    fits = results.groupby("model", sort=False)["fit_seconds"].sum().dropna()
    details = {
        "seconds": seconds,
        "cells": len(study.cells()),
        "failed": float((results["error"] != "").sum()),
        **{f"{model}: seconds of all fits": float(s) for model, s in fits.items()},
    }
    what = f"study of the slides, {details['cells']} cells, {JOBS} processes"
    return Row(what, "", seconds, 300.0, "s", details)


ROWS = [study_seconds]
